"""The judge that runs a published model of natural-language inference on this computer: no key, no network after setup.

``reader`` finds a model, in a folder or on the hub, and runs it; ``statements`` chooses what it reads and decides;
``judge`` joins these. What the model cannot answer is left to the embedded judge.
"""

from ragstone.judges.nli.judge import NliJudge

__all__ = ["NliJudge"]

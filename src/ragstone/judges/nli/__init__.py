"""A judge that runs a published natural-language inference (NLI) model locally: no key, no network after setup.

``reader`` finds a model in a folder or on the hub and runs it. ``statements`` chooses what it reads and decides.
``judge`` combines the two. Questions that the model cannot answer are left to the embedded judge.
"""

from ragstone.judges.nli.judge import NliJudge

__all__ = ["NliJudge"]

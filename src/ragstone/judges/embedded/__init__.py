"""The judge that needs no key, no network and no set-up.

``judge`` encodes and decodes, ``compute`` is what its backend runs, ``evidence`` holds statements against
passages, ``relevance`` against questions, ``claims`` and ``trivial`` read responses, ``words`` compares
words, ``model`` reads ``model.json``. Word lists are in ``lexicon.json``.
"""

from ragstone.judges.embedded.judge import EmbeddedBackend, EmbeddedJudge

__all__ = ["EmbeddedBackend", "EmbeddedJudge"]

"""The judge that needs no key, no network and no set-up.

``judge`` encodes and decodes, ``compute`` is what its backend runs. ``evidence`` holds statements
(``statement``) against passages (``library``), ``relevance`` holds texts against questions, ``claims`` and
``trivial`` read responses, ``words`` makes words comparable, ``model`` reads the fitted numbers. The numbers
are in ``model.json``, the word lists in ``lexicon.json``.
"""

from ragstone.judges.embedded.judge import EmbeddedBackend, EmbeddedJudge

__all__ = ["EmbeddedBackend", "EmbeddedJudge"]

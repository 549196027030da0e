"""The judge that needs no key, no network and no set-up.

``judge`` encodes and decodes, ``compute`` is what its backend runs. ``evidence`` holds statements
(``statement``) against passages (``library``), ``relevance`` holds texts against questions, ``claims`` and
``trivial`` read responses, ``words`` makes words comparable, ``model`` reads the fitted numbers. The numbers
are in ``model.json`` and ``relevance.json``, the word lists in ``lexicon.json``.

Nuggets: ``nuggets`` writes them from an answer and ``bank`` from passages, of which ``prose`` keeps the sentences,
``mentions`` names what they point to, and ``standing`` lets through what can be read alone; ``wording`` puts them
and tells which are the same, ``verbs`` knows English verbs, ``closeness`` weighs them, ``assign`` reads slashes.
Their word lists and cuts are in ``nuggets.json``.
"""

from ragstone.judges.embedded.judge import EmbeddedBackend, EmbeddedJudge

__all__ = ["EmbeddedBackend", "EmbeddedJudge"]

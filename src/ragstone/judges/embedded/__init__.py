"""The judge that needs no key, no network and no set-up.

``judge`` encodes and decodes, ``compute`` is what its backend runs. ``support`` judges statements against passages:
``library`` analyses those (``tables``), ``statement`` finds windows, ``evidence`` features, ``slots`` facts stated
differently. ``relevance`` judges texts against questions, ``tracing`` labels traces. ``claims`` writes claims,
``nuggets`` the nuggets of answers and passages. ``stated``, ``abstaining`` and ``verbs`` read single sentences;
``words`` and ``figures`` make words comparable; ``model`` and ``measured`` hold the fitted numbers. Data stands beside
the code, in JSON.
"""

from ragstone.judges.embedded.judge import EmbeddedBackend, EmbeddedJudge

__all__ = ["EmbeddedBackend", "EmbeddedJudge"]

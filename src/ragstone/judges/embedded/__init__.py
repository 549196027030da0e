"""The built-in judge, which needs no key, network or setup.

``judge`` builds calls and decodes replies; ``compute`` computes the replies. ``support`` judges statements against
passages: ``library`` analyses the passages (with ``tables``), ``statement`` finds windows, ``evidence`` computes
features, and ``slots`` finds facts stated differently. ``relevance`` judges texts against questions, and ``tracing``
labels traces. ``claims`` extracts claims; ``nuggets`` extracts nuggets from answers and passages. ``stated``,
``abstaining`` and ``verbs`` analyse single sentences. ``words`` and ``figures`` normalise words and numbers. ``model``
and ``measured`` load the fitted numbers. The data is in JSON files in this package.
"""

from ragstone.judges.embedded.judge import EmbeddedBackend, EmbeddedJudge

__all__ = ["EmbeddedBackend", "EmbeddedJudge"]

"""Context relevance: how well the retrieved passages help to answer the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.passages import passage_relevance
from ragstone.metrics.words import GOOD_RETRIEVAL, RELEVANT, MetricWords
from ragstone.stats.means import rounded
from ragstone.types import Record, Score


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ContextRelevance(Metric):
    """Each passage is graded from 0 to 3. The score is the mean grade divided by 3.

    The result also has the value of each passage.
    """

    name = "context_relevance"
    title = "how well the retrieved passages help to answer the question"
    needs = ("question", "contexts")
    asks = ("relevance",)
    suites = ("triad",)
    source = "the RAG triad (TruLens)"
    elsewhere: ClassVar[Mapping[str, str]] = {
        "TruLens": "context_relevance",
        "ragas": "context_relevance, context_precision",
        "deepeval": "contextual_relevancy, contextual_precision",
    }
    synonyms: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("context_relevancy", "relevancy"), ""),
        **dict.fromkeys(("context_precision", "contextual_precision"), "which ignores passage order"),
    }
    unit = "passage"
    group = GOOD_RETRIEVAL
    rank = 40
    words = MetricWords(labels=RELEVANT)

    reasons: bool = False

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Rate each passage by the question."""
        (rated,) = yield from ask(passage_relevance(record, reasons=self.reasons))
        passages = {v.unit.parent: rounded(v.value) for v in rated.verdicts}
        return (self.mean_score(record, rated.verdicts, detail={"passages": passages}, reason=rated.reason),)

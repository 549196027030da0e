"""Answer relevance: how well the response answers the question, whether or not it is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.words import ANSWERS, RELEVANT, MetricWords
from ragstone.questions import GRADE_0_3
from ragstone.types import Record, Score, Span, Unit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AnswerRelevance(Metric):
    """The whole response is graded from 0 to 3. The score is the grade divided by 3."""

    name = "answer_relevance"
    title = "how well the response answers the question, whether or not it is true"
    needs = ("question", "response")
    asks = ("relevance",)
    suites = ("triad",)
    source = "the RAG triad (TruLens)"
    elsewhere: ClassVar[Mapping[str, str]] = {
        "ragas": "answer_relevancy, response_relevancy",
        "TruLens": "answer_relevance",
        "LlamaIndex": "answer_relevancy",
    }
    synonyms: ClassVar[Mapping[str, str]] = dict.fromkeys(("response_relevance", "relevancy"), "")
    group = ANSWERS
    rank = 30
    words = MetricWords(labels=RELEVANT)

    reasons: bool = False

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Rate the response by the question."""
        text = record.response or ""
        unit = Unit(f"{record.id}/response/1", "response", text, Span(0, len(text)))
        (rated,) = yield from ask(self.rate(record, "relevance", (unit,), GRADE_0_3))
        return (self.mean_score(record, rated.verdicts, reason=rated.reason),)

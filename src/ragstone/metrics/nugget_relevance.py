"""Nugget relevance: how well the response answers the question, nugget by nugget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.nuggetset import NuggetMetric, graded
from ragstone.metrics.words import ANSWERS, RELEVANT, MetricWords
from ragstone.questions import Rate, Task
from ragstone.types import Record, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetRelevance(NuggetMetric):
    """Weighted mean over the response's nuggets of how far each answers the question, on 0 to 3, divided by 3.

    Source: nuggetized feedback (TruLens); nuggets after TREC RAG (arXiv 2504.15068).
    """

    name: ClassVar[str] = "nugget_relevance"
    title: ClassVar[str] = "how well the response answers the question, nugget by nugget; vital ones count twice"
    needs: ClassVar[tuple[str, ...]] = ("question", "response")
    asks: ClassVar[tuple[Task, ...]] = ("nuggetize", "importance", "relevance")
    suites: ClassVar[tuple[str, ...]] = ("nuggets",)
    source: ClassVar[str] = "nuggetized feedback (TruLens); TREC RAG, arXiv 2504.15068"
    group: ClassVar[str] = ANSWERS
    rank: ClassVar[int] = 90
    words: ClassVar[MetricWords] = MetricWords(labels=RELEVANT)

    def question(self, record: Record, nuggets: tuple[Unit, ...]) -> Rate:
        """Each nugget against the question."""
        return graded("relevance", record, nuggets, reasons=self.reasons, batch=self.batch)


METRIC = NuggetRelevance

"""Nugget groundedness: how well the contexts support the response, nugget by nugget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.nuggetset import NuggetMetric, graded
from ragstone.metrics.words import SUPPORTED, TO_CHECK, TRUE_TO_PASSAGES, MetricWords, one_score
from ragstone.questions import Rate, Task
from ragstone.types import Record, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetGroundedness(NuggetMetric):
    """Weighted mean over the response's nuggets of how well the contexts support each, on 0 to 3, divided by 3.

    Source: nuggetized feedback (TruLens); nuggets after TREC RAG (arXiv 2504.15068).
    """

    name: ClassVar[str] = "nugget_groundedness"
    title: ClassVar[str] = "how well the contexts support the response, nugget by nugget; vital ones count twice"
    needs: ClassVar[tuple[str, ...]] = ("question", "response", "contexts")
    asks: ClassVar[tuple[Task, ...]] = ("nuggetize", "importance", "support")
    suites: ClassVar[tuple[str, ...]] = ("nuggets",)
    source: ClassVar[str] = "nuggetized feedback (TruLens); TREC RAG, arXiv 2504.15068"
    group: ClassVar[str] = TRUE_TO_PASSAGES
    rank: ClassVar[int] = 80
    words: ClassVar[MetricWords] = one_score(
        SUPPORTED, "of a response's nuggets are supported by its contexts",
        "{have} a nugget that is not fully supported", "nugget",
    )  # fmt: skip
    found_words: ClassVar[MetricWords] = one_score(
        TO_CHECK, "of a response's nuggets were found in its contexts", "{have} a nugget to check", "nugget",
        title="how much of the response was found in the contexts, nugget by nugget",
    )  # fmt: skip

    def question(self, record: Record, nuggets: tuple[Unit, ...]) -> Rate:
        """Each nugget against all contexts."""
        return graded("support", record, nuggets, reasons=self.reasons, batch=self.batch)


METRIC = NuggetGroundedness

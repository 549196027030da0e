"""Context recall: the share of the reference's claims that the contexts support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.claimset import ClaimMetric, Source
from ragstone.metrics.words import GOOD_RETRIEVAL, TO_CHECK, MetricWords, labels, one_score
from ragstone.questions import Rate, Task
from ragstone.types import Record, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecall(ClaimMetric):
    """Mean over the reference's claims of how well the contexts support each. Source: context recall in RAGAS."""

    name: ClassVar[str] = "context_recall"
    title: ClassVar[str] = "share of the reference's claims that the contexts support"
    needs: ClassVar[tuple[str, ...]] = ("reference", "contexts")
    asks: ClassVar[tuple[Task, ...]] = ("claims", "support")
    suites: ClassVar[tuple[str, ...]] = ("reference",)
    source: ClassVar[str] = "RAGAS, context recall"
    group: ClassVar[str] = GOOD_RETRIEVAL
    elsewhere: ClassVar[Mapping[str, str]] = {
        "RAGAS": "context_recall, llm_context_recall",
        "DeepEval": "contextual_recall",
    }
    claims_of: ClassVar[Source] = "reference"
    unit: ClassVar[str] = "reference claim"
    rank: ClassVar[int] = 45
    words: ClassVar[MetricWords] = one_score(
        labels("in the contexts", "partly in the contexts", "not in the contexts", "not fully in the contexts"),
        "of a reference's claims are supported by the contexts", "{lack} contexts for one of them", "reference claim",
    )  # fmt: skip
    found_words: ClassVar[MetricWords] = one_score(
        TO_CHECK, "of a reference's claims were found in the contexts", "{have} one of them to check",
        "reference claim", title="share of the reference's claims found in the contexts",
    )  # fmt: skip

    def question(self, record: Record, claims: tuple[Unit, ...]) -> Rate:
        """Each claim against all contexts."""
        return Rate(
            "support", claims, self.scale, question=record.question or "", passages=record.passages,
            reasons=self.include_reasoning, evidence=True, batch=self.batch,
        )  # fmt: skip


METRIC = ContextRecall

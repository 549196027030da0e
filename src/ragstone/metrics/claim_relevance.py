"""Claim relevance: the share of the response's claims that help to answer the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.claimset import ClaimMetric
from ragstone.metrics.words import ANSWERS, RELEVANT, MetricWords
from ragstone.questions import Rate, Task
from ragstone.types import Record, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRelevance(ClaimMetric):
    """Mean over claims of how far each contributes to answering the question."""

    name: ClassVar[str] = "claim_relevance"
    title: ClassVar[str] = "share of the response's claims that help to answer the question"
    needs: ClassVar[tuple[str, ...]] = ("question", "response")
    asks: ClassVar[tuple[Task, ...]] = ("claims", "relevance")
    suites: ClassVar[tuple[str, ...]] = ("claims",)
    blocks: ClassVar[tuple[str, ...]] = ("relevance",)
    elsewhere: ClassVar[Mapping[str, str]] = {"DeepEval": "answer_relevancy"}
    group: ClassVar[str] = ANSWERS
    rank: ClassVar[int] = 100
    words: ClassVar[MetricWords] = MetricWords(labels=RELEVANT)

    def question(self, record: Record, claims: tuple[Unit, ...]) -> Rate:
        """Each claim against the question."""
        return Rate(
            "relevance", claims, self.scale,
            question=record.question or "", reasons=self.include_reasoning, batch=self.batch,
        )  # fmt: skip


METRIC = ClaimRelevance

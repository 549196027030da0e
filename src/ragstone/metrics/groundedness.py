"""Groundedness: how far the contexts support the response, sentence by sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.claimset import response_sentences
from ragstone.metrics.words import SUPPORTED, TO_CHECK, TRUE_TO_PASSAGES, MetricWords, one_score
from ragstone.questions import GRADE_0_3, Batch, Rate, Task
from ragstone.types import Record, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Groundedness(Metric):
    """Mean over the response's sentences of a grade from 0 to 3, divided by 3.

    Sentences that state nothing are marked trivial by the same call, left out, counted and listed.
    ``reasons`` asks for one sentence of reason each. ``batch`` is the most sentences that one call rates, or ``all``;
    0 leaves it to the judge. Source: the RAG triad (TruLens).
    """

    name: ClassVar[str] = "groundedness"
    title: ClassVar[str] = "how far the contexts support the response, sentence by sentence"
    needs: ClassVar[tuple[str, ...]] = ("response", "contexts")
    asks: ClassVar[tuple[Task, ...]] = ("support",)
    suites: ClassVar[tuple[str, ...]] = ("triad",)
    source: ClassVar[str] = "the RAG triad (TruLens)"
    elsewhere: ClassVar[Mapping[str, str]] = {"TruLens": "groundedness", "Azure": "groundedness"}
    group: ClassVar[str] = TRUE_TO_PASSAGES
    unit: ClassVar[str] = "sentence"
    rank: ClassVar[int] = 20
    words: ClassVar[MetricWords] = one_score(
        SUPPORTED, "is how far the contexts support a response, sentence by sentence",
        "{have} a sentence that is not fully supported", "sentence",
    )  # fmt: skip
    found_words: ClassVar[MetricWords] = one_score(
        TO_CHECK, "of a response was found in its contexts, sentence by sentence",
        "{have} a sentence to check", "sentence",
        title="how much of the response was found in the contexts, sentence by sentence",
    )  # fmt: skip

    reasons: bool = False
    batch: Batch = 0
    least: ClassVar[Mapping[str, int]] = MappingProxyType({"batch": 0})

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Every sentence against all contexts."""
        units = response_sentences(record)
        (rated,) = yield from ask(
            Rate(
                "support",
                units,
                GRADE_0_3,
                question=record.question or "",
                passages=record.passages,
                reasons=self.reasons,
                evidence=True,
                skippable=True,
                batch=self.batch,
            )
        )
        trivial = [verdict.unit.id for verdict in rated.verdicts if verdict.trivial]
        detail = {"trivial": trivial} if trivial else {}
        return (self.mean_score(record, rated.verdicts, detail=detail, reason=rated.reason),)


METRIC = Groundedness

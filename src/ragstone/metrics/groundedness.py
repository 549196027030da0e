"""Groundedness: how well the passages support the response, sentence by sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from ragstone.metrics import contradiction
from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.claimset import response_sentences
from ragstone.metrics.words import FOUND, SUPPORTED, TRUE_TO_PASSAGES, one_score
from ragstone.questions import GRADE_0_3, SUPPORT_CONTRADICT, Batch
from ragstone.types import Record, Scale, Score

SCALES: Final[Mapping[str, Scale]] = {"scale_0_3": GRADE_0_3, contradiction.MODE: SUPPORT_CONTRADICT}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Groundedness(Metric):
    """Each sentence is graded from 0 to 3 against the passages. The score is the mean grade divided by 3.

    Sentences that state nothing are marked trivial in the same call. They are listed but excluded from the mean.
    ``scoring_mode``: ``scale_0_3``, or ``support_contradict`` for supported, not mentioned or contradicted.
    """

    name = "groundedness"
    title = "how well the passages support the response, sentence by sentence"
    needs = ("response", "contexts")
    asks = ("support",)
    suites = ("triad",)
    source = "the RAG triad (TruLens)"
    elsewhere: ClassVar[Mapping[str, str]] = {"TruLens": "groundedness", "Azure": "groundedness"}
    group = TRUE_TO_PASSAGES
    columns = contradiction.COLUMNS
    columns_with = contradiction.WITH
    lower_is_better = (contradiction.COLUMN,)
    unit = "sentence"
    rank = 20
    words = one_score(
        SUPPORTED, "On average, a response is rated {} for support by its passages, sentence by sentence",
        "{have} a sentence that is not fully supported", "sentence", beside=contradiction.TITLES,
    )  # fmt: skip
    found_words = one_score(
        FOUND, "of a response was found in its passages, sentence by sentence",
        "{have} a sentence that was not fully found", "sentence",
        title="how much of the response was found in the passages, sentence by sentence", beside=contradiction.TITLES,
    )  # fmt: skip

    scoring_mode: str = "scale_0_3"
    reasons: bool = False
    batch: Batch = 0
    choices = MappingProxyType({"scoring_mode": tuple(SCALES)})

    @property
    def scale(self) -> Scale:
        """The scale of the scoring mode."""
        return SCALES[self.scoring_mode]

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Rate each sentence by all passages."""
        (rated,) = yield from ask(self.rate(record, "support", response_sentences(record), self.scale, skippable=True))
        trivial = [verdict.unit.id for verdict in rated.verdicts if verdict.trivial]
        detail = {"trivial": trivial} if trivial else {}
        score = self.mean_score(record, rated.verdicts, detail=detail, reason=rated.reason)
        return contradiction.beside(self, record, score)

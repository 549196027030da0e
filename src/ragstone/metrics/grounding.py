"""Grounding: share of the response's claims that the passages support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics import contradiction
from ragstone.metrics.base import Flow
from ragstone.metrics.claimset import MODES, ClaimMetric
from ragstone.metrics.words import FOUND, SUPPORTED, TRUE_TO_PASSAGES, one_score
from ragstone.questions import SUPPORT_CONTRADICT
from ragstone.types import Record, Scale, Score


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Grounding(ClaimMetric):
    """The mean support value of the response's claims.

    ``scoring_mode``: ``binary_yes_no``, ``scale_1_5``, or ``support_contradict``, which separates contradicted claims
    from those not mentioned.
    """

    name = "grounding"
    title = "share of the response's claims that the passages support"
    needs = ("response", "contexts")
    asks = ("claims", "support")
    suites = ("claims",)
    source = "faithfulness in ragas, arXiv 2309.15217; atomic facts in FActScore, arXiv 2305.14251"
    elsewhere: ClassVar[Mapping[str, str]] = {
        "ragas": "faithfulness",
        "deepeval": "faithfulness",
        "LlamaIndex": "faithfulness",
        "Phoenix": "hallucination",
    }
    synonyms: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("factuality", "factual_consistency"), ""),
        "hallucination": "its opposite: the share of claims that the passages do support",
    }

    group = TRUE_TO_PASSAGES
    modes: ClassVar[Mapping[str, Scale]] = {**MODES, contradiction.MODE: SUPPORT_CONTRADICT}
    columns = contradiction.COLUMNS
    columns_with = contradiction.WITH
    lower_is_better = (contradiction.COLUMN,)
    rank = 10
    words = one_score(
        SUPPORTED, "of a response's claims are supported by its passages",
        "{have} a claim that is not {fully}supported", "claim",
        beside=contradiction.TITLES,
    )  # fmt: skip
    found_words = one_score(
        FOUND, "of a response's claims were found in its passages", "{have} a claim that was not {fully}found", "claim",
        title="share of the response's claims found in the passages", beside=contradiction.TITLES,
    )  # fmt: skip

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Rate the claims; add the share of contradicted ones if the scoring mode allows."""
        (score,) = yield from ClaimMetric.judged(self, record)
        return contradiction.beside(self, record, score)

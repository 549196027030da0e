"""Context recall: share of the reference's claims that the passages support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.claimset import ClaimMetric
from ragstone.metrics.words import FOUND, GOOD_RETRIEVAL, labels, one_score


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ContextRecall(ClaimMetric):
    """The mean support value of the reference's claims."""

    name = "context_recall"
    title = "share of the reference's claims that the passages support"
    needs = ("reference", "contexts")
    asks = ("claims", "support")
    suites = ("reference",)
    source = "ragas: context recall"
    group = GOOD_RETRIEVAL
    elsewhere: ClassVar[Mapping[str, str]] = {
        "ragas": "context_recall, llm_context_recall",
        "deepeval": "contextual_recall",
    }
    claims_of = "reference"
    unit = "reference claim"
    rank = 45
    words = one_score(
        labels("in the passages"), "of a reference's claims are supported by the passages",
        "{lack} passages for one of them", "reference claim",
    )  # fmt: skip
    found_words = one_score(
        FOUND, "of a reference's claims were found in the passages", "{have} a reference claim that was not found",
        "reference claim", title="share of the reference's claims found in the passages",
    )  # fmt: skip

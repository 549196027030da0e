"""Nugget groundedness: how well the passages support the response, nugget by nugget."""

from __future__ import annotations

from dataclasses import dataclass

from ragstone.metrics.nuggetset import NuggetMetric
from ragstone.metrics.words import FOUND, SUPPORTED, TRUE_TO_PASSAGES, one_score


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NuggetGroundedness(NuggetMetric):
    """Each nugget of the response is graded from 0 to 3 against the passages.

    The score is the weighted mean of the grades, divided by 3.
    """

    name = "nugget_groundedness"
    title = "how well the passages support the response, nugget by nugget; vital nuggets count twice"
    needs = ("question", "response", "contexts")
    asks = ("nuggetize", "importance", "support")
    suites = ("nuggets",)
    source = "nuggetized feedback (TruLens); nuggets from TREC RAG, arXiv 2504.15068"
    group = TRUE_TO_PASSAGES
    rank = 80
    words = one_score(
        SUPPORTED, "of a response's nuggets are supported by its passages",
        "{have} a nugget that is not fully supported", "nugget",
    )  # fmt: skip
    found_words = one_score(
        FOUND, "of a response's nuggets were found in its passages",
        "{have} a nugget that was not fully found", "nugget",
        title="how much of the response was found in the passages, nugget by nugget",
    )  # fmt: skip

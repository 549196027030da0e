"""Claim relevance: share of the response's claims that help to answer the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.claimset import ClaimMetric
from ragstone.metrics.words import ANSWERS, RELEVANT, MetricWords


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClaimRelevance(ClaimMetric):
    """The mean relevance of the response's claims to the question."""

    name = "claim_relevance"
    title = "share of the response's claims that help to answer the question"
    needs = ("question", "response")
    asks = ("claims", "relevance")
    suites = ("claims",)
    blocks = ("relevance",)
    elsewhere: ClassVar[Mapping[str, str]] = {"deepeval": "answer_relevancy"}
    group = ANSWERS
    rank = 100
    words = MetricWords(labels=RELEVANT)

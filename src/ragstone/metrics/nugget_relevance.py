"""Nugget relevance: how well the response answers the question, nugget by nugget."""

from __future__ import annotations

from dataclasses import dataclass

from ragstone.metrics.nuggetset import NuggetMetric
from ragstone.metrics.words import ANSWERS, RELEVANT, MetricWords


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NuggetRelevance(NuggetMetric):
    """Each nugget of the response is graded from 0 to 3 on how well it answers the question.

    The score is the weighted mean of the grades, divided by 3.
    """

    name = "nugget_relevance"
    title = "how well the response answers the question, nugget by nugget; vital nuggets count twice"
    needs = ("question", "response")
    asks = ("nuggetize", "importance", "relevance")
    suites = ("nuggets",)
    source = "nuggetized feedback (TruLens); nuggets from TREC RAG, arXiv 2504.15068"
    group = ANSWERS
    rank = 90
    words = MetricWords(labels=RELEVANT)

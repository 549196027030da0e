"""The share of a metric's units that the contexts contradict, beside its own score.

Two metrics of support have it where their ``scoring_mode`` is ``support_contradict``: a unit is supported (1), not
mentioned or contradicted (both 0), so that their own value is what it is with yes and no.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ragstone.metrics.base import Metric
from ragstone.questions import SUPPORT_CONTRADICT
from ragstone.types import Record, Score

MODE: Final = SUPPORT_CONTRADICT.name
COLUMN: Final = "contradicted"
COLUMNS: Final = ("", COLUMN)
WITH: Final[Mapping[str, str]] = MappingProxyType({"scoring_mode": MODE})
TITLES: Final[Mapping[str, str]] = {COLUMN: "share that the contexts contradict"}


def beside(metric: Metric, record: Record, score: Score) -> tuple[Score, ...]:
    """A metric's own score and, if its scale tells it, the share that is contradicted."""
    if COLUMN not in metric.gives():
        return (score,)
    counted = [verdict for verdict in score.verdicts if not verdict.trivial]
    judged = [verdict.label for verdict in counted if not verdict.unjudged]
    if not judged:
        without = metric.without_value(record, score.status, score.reason, column=COLUMN)
        return score, replace(without, asked=score.asked, unjudged=score.unjudged, verdicts_in=score.metric)
    # Only a score that lacks units could be anything, since one of its own is judged.
    against, incomplete = judged.count(COLUMN), (score.low, score.high) == (0.0, 1.0)
    share = replace(
        score, metric=metric.score_name(COLUMN), value=against / len(judged), outcome=None, verdicts=(), detail={},
        verdicts_in=score.metric, low=0.0 if incomplete else against / len(counted),
        high=1.0 if incomplete else (against + len(counted) - len(judged)) / len(counted),
    )  # fmt: skip
    return score, share

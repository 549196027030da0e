"""Compute the share of a metric's units that the passages contradict, in addition to its own score.

Two support metrics have this column if their ``scoring_mode`` is ``support_contradict``: a unit is supported (1), not
mentioned (0) or contradicted (0). Their own value is therefore the same as with yes and no.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from ragstone.metrics.base import Metric
from ragstone.questions import SUPPORT_CONTRADICT
from ragstone.types import Record, Score

MODE: Final = SUPPORT_CONTRADICT.name
COLUMN: Final = "contradicted"
COLUMNS: Final = ("", COLUMN)
WITH: Final[Mapping[str, str]] = MappingProxyType({"scoring_mode": MODE})
TITLES: Final[Mapping[str, str]] = {COLUMN: "share that the passages contradict"}


def beside(metric: Metric, record: Record, score: Score) -> tuple[Score, ...]:
    """Return a metric's own score and, if its scale allows, the share of contradicted units."""
    if COLUMN not in metric.gives():
        return (score,)
    counted = [verdict for verdict in score.verdicts if not verdict.trivial]
    judged = [verdict.label for verdict in counted if not verdict.unjudged]
    if not judged:
        without = metric.without_value(record, score.status, score.reason, column=COLUMN)
        return score, replace(without, asked=score.asked, unjudged=score.unjudged, verdicts_in=score.metric)
    # At least one unit is judged, so only a score with missing units can have the bounds 0 and 1.
    against, incomplete = judged.count(COLUMN), (score.low, score.high) == (0.0, 1.0)
    share = replace(
        score, metric=metric.score_name(COLUMN), value=against / len(judged), outcome=None, verdicts=(), detail={},
        verdicts_in=score.metric, low=0.0 if incomplete else against / len(counted),
        high=1.0 if incomplete else (against + len(counted) - len(judged)) / len(counted),
    )  # fmt: skip
    return score, share

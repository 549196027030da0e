"""What metrics of response against reference share: precision over the one, recall over the other, F1 of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ragstone.metrics.base import Metric
from ragstone.metrics.claimset import CLAIM, Source
from ragstone.metrics.words import Labels, labels
from ragstone.types import Record, Score

OTHER: Final[Mapping[Source, Source]] = {"response": "reference", "reference": "response"}
"""Each text with the one that its units are looked for in."""
SIDE: Final[Mapping[str, Source]] = {"precision": "response", "recall": "reference"}
"""The text whose units are counted, by column."""
COLUMNS: Final = ("f1", *SIDE)


def kind(source: Source, unit: str = "claim") -> str:
    """What units are called in ids that are looked for in the other text: ``claim_by_reference``."""
    return f"{CLAIM[source].replace('claim', unit)}_by_{OTHER[source]}"


def counts_in(column: str, unit: Mapping[str, Any]) -> bool:
    """Return whether a column stands on a unit of a result: precision and recall on those of their side."""
    return column not in SIDE or f"_by_{OTHER[SIDE[column]]}/" in unit["id"]


def side_labels(yes: str, no: str, unit: str = "claim") -> Labels:
    """Labels that name the text that a unit was looked for in."""
    said = {"yes": yes, "partly": f"partly {yes}", "no": no}
    own = {f"{one} {kind(s, unit)}": f"{words} the {OTHER[s]}" for s in OTHER for one, words in said.items()}
    return {
        **labels(f"{yes} the other text", f"partly {yes} the other text", f"{no} the other text", "not in both"),
        **own,
    }


def with_f1(
    metric: Metric, record: Record, sides: Mapping[Source, Score], detail: Mapping[str, Any]
) -> tuple[Score, ...]:
    """The scores by column: F1, which holds the verdicts of both sides, and each side.

    F1 is 0 where one side is 0, also where the other has no value, since none could raise it.
    """
    both = [sides[source] for source in OTHER]
    known = [side if side.status != "empty" else replace(side, value=None, low=0.0, high=1.0) for side in both]
    verdicts = tuple(verdict for side in both for verdict in side.verdicts)
    base = metric.mean_score(record, verdicts, detail=detail)
    reason = "; ".join(dict.fromkeys(side.reason for side in both if side.reason))
    common: dict[str, Any] = {
        "verdicts": verdicts, "detail": base.detail, "asked": base.asked, "unjudged": base.unjudged, "reason": reason,
    }  # fmt: skip
    value, low, high = (f1(*(getattr(side, end) for side in known)) for end in ("value", "low", "high"))
    statuses = {side.status for side in both}
    if value is None:
        lost = metric.without_value(record, "judge_failed" if "judge_failed" in statuses else "empty", "", column="f1")
        score = replace(lost, **common)
    else:
        assert low is not None
        assert high is not None
        partial = bool(statuses & {"partial", "judge_failed"})
        score = metric.valued(record, value, min(low, value), max(high, value), column="f1", partial=partial, **common)
    columns = (replace(sides[source], metric=metric.score_name(column)) for column, source in SIDE.items())
    return metric.together((score, *columns))


def f1(precision: float | None, recall: float | None) -> float | None:
    """The harmonic mean: 0 where either is 0, whatever the other; else None where one is not known."""
    if 0.0 in (precision, recall):
        return 0.0
    return None if precision is None or recall is None else 2 * precision * recall / (precision + recall)

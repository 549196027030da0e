"""Shared code of metrics that compare response and reference: precision, recall and F1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from ragstone.metrics.base import Metric
from ragstone.metrics.claimset import CLAIM, Source
from ragstone.metrics.words import Labels, labels
from ragstone.types import Record, Score

OTHER: Final[Mapping[Source, Source]] = {"response": "reference", "reference": "response"}
"""For each text, the other text, in which its units are searched for."""
SIDE: Final[Mapping[str, Source]] = {"precision": "response", "recall": "reference"}
"""The text whose units each column counts."""
COLUMNS: Final = ("f1", *SIDE)


def kind(source: Source, unit: str = "claim") -> str:
    """Return the word in ids for units that are compared with the other text, e.g. ``claim_by_reference``."""
    return f"{CLAIM[source].replace('claim', unit)}_by_{OTHER[source]}"


def counts_in(column: str, unit: Mapping[str, Any]) -> bool:
    """Return whether a column counts a unit of a result: precision and recall count only those of their text."""
    return column not in SIDE or f"_by_{OTHER[SIDE[column]]}/" in unit["id"]


def side_labels(yes: str, no: str, unit: str = "claim") -> Labels:
    """Return labels that name the text in which a unit was searched for."""
    said = {"yes": yes, "partly": f"partly {yes}", "no": no}
    own = {f"{one} {kind(s, unit)}": f"{words} the {OTHER[s]}" for s in OTHER for one, words in said.items()}
    return {
        **labels(f"{yes} the other text", f"partly {yes} the other text", f"{no} the other text", "not in both"),
        **own,
    }


def with_f1(
    metric: Metric, record: Record, sides: Mapping[Source, Score], detail: Mapping[str, Any]
) -> tuple[Score, ...]:
    """Return the score of each column: F1 with the verdicts of both sides, then precision and recall.

    F1 is 0 if one side is 0, even if the other has no value, since no value could raise it.
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
    """Return the harmonic mean: 0 if either value is 0, else None if one is unknown."""
    if 0.0 in (precision, recall):
        return 0.0
    return None if precision is None or recall is None else 2 * precision * recall / (precision + recall)

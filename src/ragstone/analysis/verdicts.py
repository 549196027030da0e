"""Which verdicts of a result a score stands on, and which of them are wanting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragstone.analysis.run import unit_text
from ragstone.errors import InputError
from ragstone.metrics import column_of, of_score


@dataclass(frozen=True, slots=True)
class Wanting:
    """A unit that is not fully supported (or relevant), with the judge's reason."""

    text: str
    value: float
    reason: str


def with_verdicts(result: Mapping[str, Any], score: Mapping[str, Any]) -> Mapping[str, Any]:
    """A score with the verdicts that it stands on: a column's are held by another score of its metric."""
    holder = next((s for s in result["scores"] if s["metric"] == score.get("verdicts_in")), score)
    metric, column = of_score(score["metric"]), column_of(score["metric"])
    units = {unit["id"]: unit for unit in result["units"]}
    return {**score, "verdicts": [v for v in holder["verdicts"] if metric.stands_on(column, units[v["unit"]])]}


def wanting(result: Mapping[str, Any], metric: str, other: Mapping[str, Any] | None = None) -> tuple[Wanting, ...]:
    """The units that take from a record's score, worst first.

    Where the record has an ``other`` result those that take as much from its score too are left out, unless all do.
    InputError for a result that is not as Ragstone writes it.
    """
    try:
        every = tuple(_wanting(result, metric))
        known = {(unit.text, unit.value) for unit in _wanting(other, metric)} if other is not None else set()
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"the result of '{result['id']}' is not as ragstone writes it ({error!r})") from error
    return tuple(unit for unit in every if (unit.text, unit.value) not in known) or every


def _wanting(result: Mapping[str, Any], metric: str) -> Iterator[Wanting]:
    score = next((score for score in result["scores"] if score["metric"] == metric), None)
    if score is None:
        return
    units = {unit["id"]: unit for unit in result["units"]}
    below = [v for v in with_verdicts(result, score)["verdicts"] if v["value"] is not None and v["value"] < 1]
    for verdict in sorted(below, key=lambda v: v["value"]):
        yield Wanting(unit_text(result, units[verdict["unit"]]), verdict["value"], verdict["reason"] or "")

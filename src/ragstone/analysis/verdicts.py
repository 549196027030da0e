"""Find the verdicts behind a score, and the units that lower it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, cast

from msgspec import Struct

from ragstone.analysis.run import unit_text
from ragstone.errors import InputError
from ragstone.metrics import best_at_zero, column_of, of_score
from ragstone.result_types import ResultDict, ScoreDict, VerdictDict


class Wanting(Struct, frozen=True):
    """A unit that is not fully supported (or not relevant), with the judge's reason."""

    text: str
    value: float
    reason: str


def with_verdicts(result: Mapping[str, Any] | ResultDict, score: Mapping[str, Any] | ScoreDict) -> ScoreDict:
    """Return a score with its verdicts, which another score of the metric may hold for it."""
    holder = next((s for s in result["scores"] if s["metric"] == score.get("verdicts_in")), score)
    metric, column = of_score(score["metric"]), column_of(score["metric"])
    units = {unit["id"]: unit for unit in result["units"]}
    verdicts = [v for v in holder["verdicts"] if metric.stands_on(column, units[v["unit"]])]
    found = cast("ScoreDict", copy(score))  # a copy of a score from a file still names the file
    found["verdicts"] = verdicts
    return found


def with_strict(score: Mapping[str, Any] | ScoreDict) -> list[VerdictDict]:
    """Return a score's own verdicts; in results of earlier versions, their ``strict`` is in its detail."""
    strict = {row["nugget"]: row["strict"] for row in score.get("detail", {}).get("nuggets", ()) if "strict" in row}
    return [v | {"strict": strict[v["unit"]]} if v["unit"] in strict else v for v in score["verdicts"]]


def reason_of(result: Mapping[str, Any] | ResultDict, score: Mapping[str, Any] | ScoreDict) -> str:
    """Return why a score has its value: its own reason, else that of the score that holds its verdicts."""
    holder = next((s for s in result["scores"] if s["metric"] == score.get("verdicts_in")), score)
    return str(score["reason"] or holder["reason"] or "")


def lowers(metric: str, verdict: Mapping[str, Any] | VerdictDict) -> bool:
    """Return whether a verdict makes a score worse: it is below 1 and, if 0 is best, has the column's name as label."""
    below = verdict["value"] is not None and verdict["value"] < 1
    return below and (not best_at_zero(metric) or verdict["label"] == column_of(metric))


def worst_first(result: Mapping[str, Any] | ResultDict, score: Mapping[str, Any] | ScoreDict) -> list[Any]:
    """Return the verdicts that make a score worse: lowest value first, then vital nuggets, then lowest probability."""
    vital = {unit["id"] for unit in result["units"] if unit.get("importance") == "vital"}
    return sorted(
        (verdict for verdict in score["verdicts"] if lowers(score["metric"], verdict)),
        key=lambda verdict: (verdict["value"], verdict["unit"] not in vital, verdict.get("probability") or 0.0),
    )


def wanting(
    result: Mapping[str, Any] | ResultDict, metric: str, other: Mapping[str, Any] | ResultDict | None = None
) -> tuple[Wanting, ...]:
    """Return the units that lower a record's score, worst first.

    Given the record's ``other`` result, units that lower its score equally are omitted, unless none would remain.
    Raise InputError for a result that Ragstone did not write.
    """
    try:
        every = tuple(_wanting(result, metric))
        known = {(unit.text, unit.value) for unit in _wanting(other, metric)} if other is not None else set()
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"the result for '{result['id']}' is not in Ragstone's format ({error!r})") from error
    return tuple(unit for unit in every if (unit.text, unit.value) not in known) or every


def _wanting(result: Mapping[str, Any] | ResultDict, metric: str) -> Iterator[Wanting]:
    score = next((score for score in result["scores"] if score["metric"] == metric), None)
    if score is None:
        return
    units = {unit["id"]: unit for unit in result["units"]}
    for verdict in worst_first(result, with_verdicts(result, score)):
        yield Wanting(unit_text(result, units[verdict["unit"]]), verdict["value"], verdict["reason"] or "")

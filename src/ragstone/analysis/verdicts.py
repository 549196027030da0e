"""The verdicts behind a score, and the units among them that lower it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from ragstone.analysis.run import unit_text
from ragstone.errors import InputError
from ragstone.metrics.nugget_recall import NuggetRecall
from ragstone.metrics.trace import TraceMetric

if TYPE_CHECKING:
    from ragstone.result_types import ResultDict, ScoreDict

STRICT_VITAL: Final = f"{NuggetRecall.name}.strict_vital"
ADHERENCE: Final = f"{TraceMetric.name}.adherence"


@dataclass(frozen=True, slots=True)
class Wanting:
    """A unit that is not fully supported (or not relevant), with the judge's reason."""

    text: str
    value: float
    reason: str


def with_verdicts(result: Mapping[str, Any] | ResultDict, score: Mapping[str, Any] | ScoreDict) -> ScoreDict:
    """A score with its verdicts: those of a metric's further columns are kept in another score of the metric."""
    holder = next((s for s in result["scores"] if s["metric"] == score.get("verdicts_in")), score)
    verdicts = holder["verdicts"]
    if score["metric"] == STRICT_VITAL:
        vital = {unit["id"] for unit in result["units"] if unit.get("importance") == "vital"}
        verdicts = [verdict for verdict in verdicts if verdict["unit"] in vital]
    if score["metric"].startswith(f"{TraceMetric.name}.") and not score["metric"].startswith(ADHERENCE):
        verdicts = []  # they are of the response, and the score is of the contexts
    return cast("ScoreDict", {**score, "verdicts": verdicts})


def wanting(
    result: Mapping[str, Any] | ResultDict, metric: str, other: Mapping[str, Any] | ResultDict | None = None
) -> tuple[Wanting, ...]:
    """The units that lower a record's score, worst first.

    With the record's ``other`` result, units that lower its score as much are left out, unless that leaves none.
    InputError for a result that Ragstone did not write.
    """
    try:
        every = tuple(_wanting(result, metric))
        known = {(unit.text, unit.value) for unit in _wanting(other, metric)} if other is not None else set()
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"the result of '{result['id']}' is not as ragstone writes it ({error!r})") from error
    return tuple(unit for unit in every if (unit.text, unit.value) not in known) or every


def _wanting(result: Mapping[str, Any] | ResultDict, metric: str) -> Iterator[Wanting]:
    score = next((score for score in result["scores"] if score["metric"] == metric), None)
    if score is None:
        return
    units = {unit["id"]: unit for unit in result["units"]}
    judged = ((v["value"], v) for v in with_verdicts(result, score)["verdicts"] if v["value"] is not None)
    for value, verdict in sorted(judged, key=lambda item: item[0]):
        if value < 1:
            yield Wanting(unit_text(result, units[verdict["unit"]]), value, verdict["reason"] or "")

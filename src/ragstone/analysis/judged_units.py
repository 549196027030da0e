"""Get a result's judged units by metric, including the context sentences of a trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import cycle
from typing import Any, Final

from ragstone.analysis.flow_replay import Judging, verdict_of
from ragstone.analysis.run import unit_text
from ragstone.metrics import column_of, known
from ragstone.metrics.base import Metric
from ragstone.questions import YES_NO, Traced
from ragstone.result_types import ResultDict, VerdictDict
from ragstone.stats.means import mean
from ragstone.types import Scale, Unit, Verdict

MARKS: Final = ("relevant", "utilized")
"""A trace's marks on context sentences; each is yes or no for every sentence."""


class JudgedUnits:
    """A metric's scores of one record by name, and its verdicts by unit.

    With ``mark``, the units are the context sentences of a trace, and ``verdicts`` say whether each has the mark. The
    name and the task then end in it, e.g. ``trace.relevant``. ``score`` limits it to that score.
    """

    def __init__(self, cls: type[Metric], result: ResultDict, mark: str = "", score: str = "") -> None:
        self.cls, self.result, self.mark = cls, result, mark
        suffix = f".{mark}" if mark else ""
        self.name, self.task = score or f"{cls.name}{suffix}", f"{cls.task()}{suffix}"
        self.unit = "context sentence" if mark else cls.unit
        self.scores = {
            s["metric"]: s
            for s in result["scores"]
            if score in ("", s["metric"]) and s["metric"].partition(".")[0] == cls.name
        }
        self.detail: dict[str, Any] = next((s["detail"] for s in self.scores.values() if s.get("detail")), {})
        self._own: dict[str, list[VerdictDict]] = defaultdict(list)
        for one in self.scores.values():
            for verdict in one["verdicts"]:
                self._own[verdict["unit"]].append(verdict)
        self.verdicts = {unit: [verdict] for unit, verdict in self._marked()} if mark else self._own

    def texts(self) -> dict[str, str]:
        """Return the texts of its units by id."""
        if not self.mark:
            units = {unit["id"]: unit for unit in self.result["units"]}
            return {unit: unit_text(self.result, units[unit]) for unit in self.verdicts}
        passages = {one["id"]: one["text"] for one in self.result["contexts"]}
        rows = self.detail["contexts"]
        return {self.called(row["key"]): passages[row["passage"]][row["start"] : row["end"]] for row in rows}

    def called(self, key: str) -> str:
        """Return the unit id of a traced sentence from its key."""
        return f"{self.result['id']}/{key}"

    def standing(self) -> set[str]:
        """Return the scores that depend on its verdicts."""
        units = [unit for unit in self.result["units"] if unit["id"] in self.verdicts]
        return {name for name in self.scores if any(self.cls.stands_on(column_of(name), unit) for unit in units)}

    def by_judge(self) -> Judging:
        """Return a ``Judging`` with the judge's own verdicts; a unit asked about in two wordings has one for each."""
        turns = {unit: cycle(verdicts) for unit, verdicts in self._own.items()}

        def judging(unit: Unit, _: Scale) -> Verdict:
            found = turns.get(unit.id)
            return Verdict(unit, None, None, "") if found is None else verdict_of(unit, next(found))

        return judging

    def traced(self) -> Traced:
        """Return the rest of a trace's answer, besides its verdicts."""
        marked = {
            mark: tuple(row["key"] for row in rows if row[mark]) if all(row[mark] is not None for row in rows) else None
            for mark in MARKS
            for rows in [self.detail.get("contexts", [])]
        }
        return Traced(marked["relevant"], marked["utilized"], (), (), overall=self.detail.get("overall"))

    def verdict(self, unit: str, scale: Scale) -> VerdictDict:
        """Return the verdict on a unit; for several verdicts, one with the label nearest to their mean."""
        first, *more = self.verdicts[unit]
        values = [verdict["value"] for verdict in (first, *more) if verdict["value"] is not None]
        return {**first, "label": scale.nearest(mean(values)), "probability": None} if more and values else first

    def _marked(self) -> Iterator[tuple[str, VerdictDict]]:
        judge = next((verdicts[0]["judge"] for verdicts in self._own.values()), "")
        for row in self.detail["contexts"]:
            unit, said = self.called(row["key"]), row[self.mark]
            label = None if said is None else YES_NO.labels[bool(said)]
            yield unit, {
                "unit": unit, "label": label, "value": None if said is None else float(said), "raw": None,
                "probability": None, "judge": judge, "reason": "", "evidence": [],
            }  # fmt: skip


def judged_units(result: ResultDict, tasks: Collection[str]) -> dict[str, JudgedUnits]:
    """Return the units of each installed metric of a result by name, with the marks in ``tasks`` before their trace."""
    names = dict.fromkeys(score["metric"].partition(".")[0] for score in result["scores"])
    found: dict[str, JudgedUnits] = {}
    for cls in (known()[name] for name in names if name in known()):
        if cls.open_columns:  # each score has its own labels
            scores = [score["metric"] for score in result["scores"] if score["metric"].startswith(f"{cls.name}.")]
            found |= {score: JudgedUnits(cls, result, score=score) for score in scores}
            continue
        one = JudgedUnits(cls, result)
        marks = [mark for mark in MARKS if f"{one.task}.{mark}" in tasks and one.detail.get("contexts")]
        for each in (*(JudgedUnits(cls, result, mark) for mark in marks), one):
            found[each.name] = each
    return found


def overall(labels: Collection[str | None], scale: Scale, *, best: bool) -> str | None:
    """Return the label of a whole: the best or the worst label of its units; None means unjudged.

    For the worst, an unjudged unit makes the whole unjudged, unless another unit has the lowest label of the scale.
    """
    known = [scale.labels.index(label) for label in labels if label in scale.labels]
    if not known or (not best and None in labels and min(known) > 0):
        return None
    return scale.labels[max(known) if best else min(known)]

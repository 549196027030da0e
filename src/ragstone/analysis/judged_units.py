"""The units of a result that a judge gave verdicts on, by metric; of a trace also the sentences of the contexts."""

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
"""Marks of a trace on the sentences of the contexts; each is a yes or no on each of them."""


class JudgedUnits:
    """One metric's scores of a record by name, and its verdicts by unit.

    With ``mark``, the units are the sentences of the contexts of a trace, and ``verdicts`` say whether each has it; the
    name and the task then end in it, as in ``trace.relevant``. With ``score``, only of that one.
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
        """The texts of its units by id."""
        if not self.mark:
            units = {unit["id"]: unit for unit in self.result["units"]}
            return {unit: unit_text(self.result, units[unit]) for unit in self.verdicts}
        passages = {one["id"]: one["text"] for one in self.result["contexts"]}
        rows = self.detail["contexts"]
        return {self.called(row["key"]): passages[row["passage"]][row["start"] : row["end"]] for row in rows}

    def called(self, key: str) -> str:
        """The id of a traced sentence by its key."""
        return f"{self.result['id']}/{key}"

    def standing(self) -> set[str]:
        """The scores that stand on its verdicts."""
        units = [unit for unit in self.result["units"] if unit["id"] in self.verdicts]
        return {name for name in self.scores if any(self.cls.stands_on(column_of(name), unit) for unit in units)}

    def by_judge(self) -> Judging:
        """The judge's own verdicts; a unit that was asked about in two wordings has one for each."""
        turns = {unit: cycle(verdicts) for unit, verdicts in self._own.items()}

        def judging(unit: Unit, _: Scale) -> Verdict:
            found = turns.get(unit.id)
            return Verdict(unit, None, None, "") if found is None else verdict_of(unit, next(found))

        return judging

    def traced(self) -> Traced:
        """What a trace says besides its verdicts."""
        marked = {
            mark: tuple(row["key"] for row in rows if row[mark]) if all(row[mark] is not None for row in rows) else None
            for mark in MARKS
            for rows in [self.detail.get("contexts", [])]
        }
        return Traced(marked["relevant"], marked["utilized"], (), (), overall=self.detail.get("overall"))

    def verdict(self, unit: str, scale: Scale) -> VerdictDict:
        """The verdict on a unit; of several the label nearest to their mean."""
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
    """The units of each installed metric of a result, by name; marks that are among ``tasks`` before their trace."""
    names = dict.fromkeys(score["metric"].partition(".")[0] for score in result["scores"])
    found: dict[str, JudgedUnits] = {}
    for cls in (known()[name] for name in names if name in known()):
        if cls.open_columns:  # each has labels of its own
            scores = [score["metric"] for score in result["scores"] if score["metric"].startswith(f"{cls.name}.")]
            found |= {score: JudgedUnits(cls, result, score=score) for score in scores}
            continue
        one = JudgedUnits(cls, result)
        marks = [mark for mark in MARKS if f"{one.task}.{mark}" in tasks and one.detail.get("contexts")]
        for each in (*(JudgedUnits(cls, result, mark) for mark in marks), one):
            found[each.name] = each
    return found


def overall(labels: Collection[str | None], scale: Scale, *, best: bool) -> str | None:
    """The label of a whole: the best of its units, or the worst; None (unjudged) ranks below all labels.

    Of the worst, one that is unjudged leaves the whole so, unless another has the worst label already.
    """
    known = [scale.labels.index(label) for label in labels if label in scale.labels]
    if not known or (not best and None in labels and min(known) > 0):
        return None
    return scale.labels[max(known) if best else min(known)]

"""Get a result's judged units by metric, and replay a metric's flow with other verdicts instead of the judge's.

A metric's flow needs no judge, so its own arithmetic (weights, scoring modes, columns) can compute the value of any
labels. The units are those of the result; no judge is called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import cycle
from typing import Any, Final, cast

from msgspec import Struct, field
from msgspec.structs import replace

from ragstone.analysis.run import unit_text
from ragstone.analysis.verdicts import with_strict
from ragstone.metrics import column_of, known
from ragstone.metrics.base import Metric
from ragstone.questions import YES_NO, Answer, Question, Rate, Rated, Trace, Traced, Write, Written, written_kind
from ragstone.result_types import ResultDict, UnitDict, VerdictDict
from ragstone.stats.means import mean
from ragstone.types import TRIVIAL, Citation, Nugget, Passage, Record, Scale, Score, Span, Unit, Verdict

Judging = Callable[[Unit, Scale], Verdict]
"""Returns the verdict on a unit that a metric asks about, on the question's scale."""


class Replayed(Struct):
    """What a replayed flow asked and returned.

    ``units`` are those it asked about, by id. ``question`` is the metric's own question, the first if there are
    several, or None if it was not asked. ``exact`` is False if it asked about a unit missing from the result: the
    record was evaluated with other settings, or split differently.
    """

    scores: tuple[Score, ...] = ()
    units: dict[str, Unit] = field(default_factory=dict)
    question: Rate | Trace | None = None
    exact: bool = True

    @property
    def scale(self) -> Scale | None:
        """The scale of the question."""
        return YES_NO if isinstance(self.question, Trace) else self.question.scale if self.question else None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its scale, worst first, plus ``trivial`` if people may use it."""
        trivial = isinstance(self.question, Rate) and self.question.trivial_allowed
        return (*(self.scale.labels if self.scale else ()), *([TRIVIAL] if trivial else []))


def replay(metric: Metric, result: ResultDict, judging: Judging, traced: Traced) -> Replayed:
    """Score a record again, with ``judging`` as the judge of the metric's own question.

    Claims and nuggets are those of the result, with their importance. ``traced`` is the rest of a trace's answer,
    besides its verdicts.
    """
    texts = {unit["id"]: unit_text(result, unit) for unit in result["units"]}
    found = Replayed()

    def judged(question: Rate | Trace, asked: Sequence[Unit]) -> tuple[Verdict, ...]:
        found.question = found.question or question
        found.units |= {unit.id: unit for unit in asked}
        found.exact &= all(texts.get(unit.id) == unit.text for unit in asked)
        scales = (question.scale_of(unit) if isinstance(question, Rate) else YES_NO for unit in asked)
        return tuple(judging(unit, scale) for unit, scale in zip(asked, scales, strict=True))

    def answer(question: Question[Any]) -> Answer:
        if isinstance(question, Write):
            return _written(question, result["units"])
        if isinstance(question, Trace):
            verdicts = judged(question, question.response)
            return replace(traced, verdicts=verdicts, support=((),) * len(verdicts))
        asked = cast("Rate", question)
        if asked.task == metric.task():
            return Rated(judged(asked, asked.units))
        return Rated(tuple(Verdict(unit, None, None, "") for unit in asked.units))  # importance missing from the result

    flow = metric.flow(_record(result))
    try:
        questions = next(flow)
        while True:
            questions = flow.send([answer(question) for question in questions])
    except StopIteration as stop:
        found.scores = stop.value
    return found


def verdict_of(unit: Unit, document: VerdictDict) -> Verdict:
    """Return a result's verdict on a unit, without its evidence."""
    return Verdict(
        unit, document["label"], document["value"], document["judge"], document["raw"], document["probability"],
        failure=document.get("failure", ""),
        members=tuple(verdict_of(unit, member) for member in document.get("members", ())),
        strict=document.get("strict"),
    )  # fmt: skip


def _kind(unit: UnitDict) -> str:
    """Return the kind of a unit from its id: ``claim``, ``nugget``, ``bank``, or ``resp`` for a sentence of a trace."""
    *_, kind, name = ["", *unit["id"].split("/")]
    return "resp" if name.startswith("resp_s") else kind


def _written(question: Write, units: Iterable[UnitDict]) -> Written:
    """Return the result's units of the requested level and part; none in a second round."""
    wanted = written_kind(question)
    found = {
        unit["text"]: Unit(
            unit["id"], unit["level"], unit["text"] or "", part=unit["part"], importance=unit.get("importance")
        )
        for unit in units
        if _kind(unit).partition("_by_")[0] == wanted and (unit["part"] or 1) == question.part and not question.known
    }
    return Written(tuple(found.values()))


def _record(result: ResultDict) -> Record:
    """Rebuild the record of a result, with the sentences of a trace and the nuggets of a bank as judged."""
    judged, bank = ([unit for unit in result["units"] if _kind(unit) == kind] for kind in ("resp", "bank"))
    return Record(
        result["id"], result["question"], result["response"],
        None if result.get("contexts_missing")
        else tuple(Passage(one["id"], one["text"], one["rank"]) for one in result["contexts"]),
        result.get("reference"),
        nuggets=tuple(Nugget(unit["text"] or "", unit.get("importance")) for unit in bank) if bank else None,
        citations=tuple(Citation(Span(start, end), tuple(names)) for start, end, names in result.get("citations", ()))
        or tuple(Citation(Span(unit["start"] or 0, unit["end"] or 0), ()) for unit in judged),
        relevant=result.get("relevant"),
        answerable=result.get("answerable"),
        meta=result["meta"],
    )  # fmt: skip


# ---- judged units


MARKS: Final = ("relevant", "utilized")
"""A trace's marks on passage sentences; each is yes or no for every sentence."""


class JudgedUnits:
    """A metric's scores of one record by name, and its verdicts by unit.

    With ``mark``, the units are the passage sentences of a trace, and ``verdicts`` say whether each has the mark. The
    name and the task then end in it, e.g. ``trace.relevant``. ``score`` limits it to that score.
    """

    def __init__(self, cls: type[Metric], result: ResultDict, mark: str = "", score: str = "") -> None:
        self.cls, self.result, self.mark = cls, result, mark
        suffix = f".{mark}" if mark else ""
        self.name, self.task = score or f"{cls.name}{suffix}", f"{cls.task()}{suffix}"
        self.unit = "passage sentence" if mark else cls.unit
        self.scores = {
            s["metric"]: s
            for s in result["scores"]
            if score in ("", s["metric"]) and s["metric"].partition(".")[0] == cls.name
        }
        self.detail: dict[str, Any] = next((s["detail"] for s in self.scores.values() if s.get("detail")), {})
        self._own: dict[str, list[VerdictDict]] = defaultdict(list)
        for one in self.scores.values():
            for verdict in with_strict(one):
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

"""Replay a metric's flow on a finished result with other verdicts instead of the judge's.

A metric's flow needs no judge, so its own arithmetic (weights, scoring modes, columns) can compute the value of any
labels. The units are those of the result; no judge is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from ragstone.analysis.run import unit_text
from ragstone.metrics.base import Metric
from ragstone.questions import YES_NO, Answer, Question, Rate, Rated, Trace, Traced, Write, Written, written_kind
from ragstone.result_types import ResultDict, UnitDict, VerdictDict
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
        """The labels of its scale, worst first, plus ``trivial`` if units may be skipped."""
        skippable = isinstance(self.question, Rate) and self.question.skippable
        return (*(self.scale.labels if self.scale else ()), *([TRIVIAL] if skippable else []))


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

"""What a run will take, before it is made: the same flows and dialogues on the same records, and nobody is asked.

Promises: no network, no key; prompts are rendered as a run renders them; what is in the store is free and its answers
are used; what is not is assumed (see ``assumed``). The first judge of a cascade is asked for real where it computes in
this process, since what is left to the next hangs on its every word. Where no question depends on an assumed answer
the number of calls is exact, but for replies that cannot be read. An unknown price stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ragstone.engine.budget import Amount
from ragstone.engine.calls import Settings
from ragstone.engine.cascading import first_calls
from ragstone.engine.route import Route, Routes
from ragstone.engine.run import Job
from ragstone.forecast.assumed import Assumptions, Length, World, drawn, source
from ragstone.forecast.history import Past
from ragstone.judges.base import Call, Failed, Immediate, Judge, Reply, is_steady, reply_from_json, size_of
from ragstone.judges.cascade import cascade
from ragstone.judges.panel import combine
from ragstone.metrics.base import Metric
from ragstone.prices import PriceBook
from ragstone.questions import Answer, Question, Rate, Rated, Task, Write
from ragstone.store.database import Store
from ragstone.tokens import SURE, TokenCounter
from ragstone.types import NOTHING, Record, Unit

WORLDS: Final[tuple[World, World, World]] = (0, 1, 2)
ROUNDS: Final = 4
"""The most turns of a dialogue that are followed with replies missing."""
REPAIR: Final = 60
"""Tokens of the turn that asks again."""
SECONDS: Final = (0.4, 1.0, 2.5)
"""How much faster and slower than usual an endpoint may answer that was never asked."""
FIRST: Final = 0.8
"""Seconds until an endpoint begins to write, as is usual."""
PER_SECOND: Final = 60.0
"""Tokens that it then writes a second."""
INSIDE: Final = 0.004
"""Seconds that a judge in this process takes for a call."""
NOT_ASKED: Final = Failed("not asked")


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with the ends between which it will be in 19 of 20 runs, if the assumptions hold."""

    low: float
    expected: float
    high: float

    def as_json(self, digits: int = 0) -> dict[str, float]:
        """Plain numbers."""
        low, expected, high = (round(value, digits) for value in (self.low, self.expected, self.high))
        return {"low": low, "expected": expected, "high": high}


@dataclass(slots=True)
class Row:
    """What one metric takes of one judge at one step, by world; ``stored`` calls need not be made.

    Token counts are the expected ones of each world. ``given`` and ``written`` are the ends of the expected world's,
    as shares; ``scatter`` is the variance of what is written. ``shared`` calls are made for another metric anyhow.
    """

    metric: str
    step: Task
    judge: str
    free: bool
    stored: int = 0
    calls: list[int] = field(default_factory=lambda: [0, 0, 0])
    input: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    output: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    dollars: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    given: list[float] = field(default_factory=lambda: [0.0, 0.0])
    written: list[float] = field(default_factory=lambda: [0.0, 0.0])
    for_input: float = 0.0
    scatter: float = 0.0
    repairs: tuple[float, float, float] = (0.0, 0.0, 0.0)
    priced: bool = True


@dataclass(frozen=True, slots=True)
class Sum:
    """Calls, tokens and dollars of some rows; ``dollars`` is None where a price is unknown."""

    calls: Range
    input_tokens: Range
    output_tokens: Range
    dollars: Range | None
    stored: int

    def as_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "calls": self.calls.as_json(),
            "in_store": self.stored,
            "input_tokens": self.input_tokens.as_json(),
            "output_tokens": self.output_tokens.as_json(),
            "dollars": None if self.dollars is None else self.dollars.as_json(6),
        }


@dataclass(slots=True)
class Alone:
    """The calls of one judge, each once, and their expected price: None where it is unknown."""

    judge: str
    calls: int = 0
    dollars: float | None = 0.0
    seen: set[bytes] = field(default_factory=set)

    def add(self, dollars: float | None) -> None:
        """Count a call."""
        self.calls += 1
        self.dollars = None if self.dollars is None or dollars is None else self.dollars + dollars


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run will take.

    ``exact`` says that the calls do not depend on answers. ``worst`` is the most that a single call may take, which a
    budget has to have room for up to the last one; its dollars are 0 where a price is unknown. ``assumed`` maps what
    had to be assumed to how it was, ``counted`` a judge to how its tokens were counted. ``alone`` has, by step with a
    cascade, what asking its last judge everything would take, were nothing in the store.
    """

    rows: Sequence[Row]
    records: int
    set_aside: int
    seconds: Range
    exact: bool
    assumed: Mapping[str, str]
    counted: Mapping[str, str]
    worst: Amount
    alone: Mapping[str, Alone] = field(default_factory=lambda: NOTHING)

    @property
    def total(self) -> Sum:
        """All of it. Calls that no endpoint answers are not counted among the calls."""
        return added(self.rows)

    def of(self, **wanted: str) -> Sum:
        """The rows with this metric, step or judge."""
        return added([row for row in self.rows if all(getattr(row, name) == value for name, value in wanted.items())])


@dataclass(frozen=True, slots=True)
class _New:
    """A call that a run would make."""

    judge: Judge
    given: tuple[float, float, float]
    written: Length
    for_input: float | None
    dollars: float | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, as far as the store answers it; without an ``answer`` it has to be assumed.

    ``worlds`` are calls that depend on an answer which has to be assumed, by world.
    """

    new: tuple[_New, ...]
    stored: tuple[Judge, ...]
    answer: Answer | None
    worlds: tuple[tuple[_New, ...], ...] = ((), (), ())

    def calls(self, world: World) -> tuple[_New, ...]:
        """What a run would make in a world."""
        return self.new + self.worlds[world]


class Forecaster:
    """Adds up what records will take, one after the other."""

    def __init__(self, routes: Routes, store: Store, prices: PriceBook, settings: Settings) -> None:
        self._routes = routes
        self._store = store
        self._prices = prices
        self._times = settings.repeat
        self._repeat = 0
        self._reads = settings.cache != "off"
        # A refresh takes nothing from the store, but what was stored since it began.
        self._since = settings.since or (math.inf if settings.cache == "refresh" else 0.0)
        self._past = Past(store)
        self._assumed = Assumptions(self._past)
        self._counters: dict[tuple[str, Task], TokenCounter] = {}
        self._rows: dict[tuple[str, Task, str], Row] = {}
        self._seen: set[bytes] = set()
        self._longest: dict[Judge, bytes] = {}
        self._abreast = routes.abreast()
        self._records = self._set_aside = 0
        self._exact = True
        self._alone: dict[str, Alone] = {}

    def add(self, job: Job) -> None:
        """Take in what one record needs."""
        if not self._reads and self._records % self._abreast == 0:
            self._seen.clear()  # equal calls are one only while they are under way together
        self._records += 1
        if job.record is None:
            self._set_aside += 1
        elif job.done is None:  # the result of an earlier run costs nothing
            for repeat in range(self._times):
                self._repeat = repeat
                self._add(job, job.record)

    def _add(self, job: Job, record: Record) -> None:
        known: dict[Question[Any], _Asked] = {}
        paid: tuple[set[Question[Any]], ...] = (set(), set(), set())
        for metric, _ in job.metrics:
            questions, assumed = self._follow(metric, record, 1, known)
            worlds = {1: questions}
            for world in WORLDS:
                if world != 1:
                    worlds[world] = self._follow(metric, record, world, known)[0] if assumed else questions
            for world in WORLDS:
                for question in worlds[world]:
                    if question not in paid[world]:
                        paid[world].add(question)
                        self._count(metric.name, question.task, known[question], world)
                        if world == 1:
                            self._reckon_alone(question)

    def forecast(self) -> Forecast:
        """What all of it will take."""
        rows = [row for row in self._rows.values() if any(row.calls) or row.stored]
        judges = {judge.id: judge for judge in self._routes.judges()}
        for row in rows:
            share = self._assumed.repairs(judges[row.judge], row.step)
            row.repairs = (0.0, 0.0, 0.0) if row.free else (share.low, share.value, share.high)
        counted: dict[str, list[str]] = {}
        for (judge, _), counter in self._counters.items():
            counted.setdefault(judge, []).append(counter.how)
        told = {judge: _leading(hows) for judge, hows in counted.items()}
        assumed = {**self._assumed.told, **self._lengths(rows)}
        seconds = self._seconds(rows)
        worst = self._worst()
        return Forecast(rows, self._records, self._set_aside, seconds, self._exact, assumed, told, worst, self._alone)

    # ---- one record

    def _follow(
        self, metric: Metric, record: Record, world: World, known: dict[Question[Any], _Asked]
    ) -> tuple[list[Question[Any]], bool]:
        """The questions that a metric asks of a record, and whether any of them hangs on an assumed answer."""
        asked: list[Question[Any]] = []
        assumed = False
        flow = metric.flow(record)
        try:
            questions = next(flow)
            while True:
                answers = []
                for question in questions:
                    if question not in known:
                        known[question] = self._ask(question, guessed=assumed)
                    answer = known[question].answer
                    if answer is None:
                        assumed = assumed or isinstance(question, Write)
                        answer = self._assumed.answer(self._routes.of(question.task).judges[0], question, world)
                    asked.append(question)
                    answers.append(answer)
                questions = flow.send(answers)
                self._exact = self._exact and not assumed
        except StopIteration:
            return asked, assumed

    def _ask(self, question: Question[Any], *, guessed: bool = False) -> _Asked:
        """Ask the store; ``guessed`` says that the question's units are assumed themselves."""
        route = self._routes.of(question.task)
        if route.error is not None:
            assert isinstance(question, Rate), "a cascade rates; the routes are checked before"
            return self._cascade(route, question, guessed=guessed)
        parts = [self._consult(judge, question) for judge in route.judges]
        new = tuple(call for part in parts for call in part.new)
        stored = tuple(judge for part in parts for judge in part.stored)
        answers = [part.answer for part in parts]
        answer: Answer | None = None
        if len(parts) == 1:
            answer = answers[0]
        elif isinstance(question, Rate) and all(isinstance(each, Rated) for each in answers):
            named = [(judge.name, each) for judge, each in zip(route.judges, answers, strict=True)
                     if isinstance(each, Rated)]  # fmt: skip
            answer = combine(question, named, route.aggregate, route.weights)
        return _Asked(new, stored, answer)

    def _cascade(self, route: Route, question: Rate, *, guessed: bool) -> _Asked:
        """Judge by judge, as far as answers are known; then the last is asked about as much as may be left to it."""
        new: list[_New] = []
        stored: list[Judge] = []
        going = cascade(question, route.bands(question.task))
        try:
            part = next(going)
            for judge in route.judges[:-1]:
                asked = self._consult(judge, part, really=not guessed)
                new += asked.new
                stored += asked.stored
                if guessed or not isinstance(asked.answer, Rated):
                    worlds = self._left_over(route, part)
                    return _Asked(tuple(new), tuple(stored), None, worlds)
                part = going.send(asked.answer)
            asked = self._consult(route.judges[-1], part)
            new += asked.new
            stored += asked.stored
            if isinstance(asked.answer, Rated):
                going.send(asked.answer)
        except StopIteration as stop:
            return _Asked(tuple(new), tuple(stored), stop.value)
        return _Asked(tuple(new), tuple(stored), None)

    def _left_over(self, route: Route, question: Rate) -> tuple[tuple[_New, ...], ...]:
        """What the last judge may be asked, by world: the same units in all where as many are left."""
        self._exact = False
        last = route.judges[-1]
        found: dict[tuple[Unit, ...], tuple[_New, ...]] = {(): ()}
        worlds = []
        for share in self._assumed.left(route, question.task):
            units = tuple(unit for unit in question.units if drawn(unit.text) < share)
            if units not in found:
                found[units] = self._consult(last, replace(question, units=units)).new
            worlds.append(found[units])
        return tuple(worlds)

    def _reckon_alone(self, question: Question[Any]) -> None:
        """What the last judge of a cascade would take for all of the question, were nothing in the store."""
        route = self._routes.of(question.task)
        if route.error is None or not isinstance(question, Rate):
            return
        judge = route.judges[-1]
        alone = self._alone.setdefault(question.task, Alone(judge.id))
        for call in first_calls(judge, question, self._repeat):
            if call.key not in alone.seen:
                alone.seen.add(call.key)
                alone.add(self._new(judge, question, call).dollars)

    def _consult(self, judge: Judge, question: Question[Any], *, really: bool = False) -> _Asked:
        """Talk with a judge as far as the store has its replies; ``really``: and as it answers in this process."""
        dialogue = judge.dialogue(question, repeat=0 if is_steady(judge.backend) else self._repeat)
        new: list[_New] = []
        stored: list[Judge] = []
        missing = False
        try:
            calls = next(dialogue)
            for _ in range(ROUNDS):
                replies: list[Reply | Failed] = []
                for call in calls:
                    reply = self._store.reply(call.key, since=self._since) if self._reads else None
                    if reply is not None:
                        replies.append(reply_from_json(reply))
                        stored.append(judge)
                        continue
                    if really and isinstance(judge.backend, Immediate):
                        replies.append(judge.backend.reply(call))
                    else:
                        missing = True
                        replies.append(NOT_ASKED)
                    if call.key not in self._seen:
                        self._seen.add(call.key)
                        new.append(self._new(judge, question, call))
                        if not judge.backend.free and len(call.body) > len(self._longest.get(judge, b"")):
                            self._longest[judge] = call.body
                calls = dialogue.send(replies)
        except StopIteration as stop:
            return _Asked(tuple(new), tuple(stored), None if missing else stop.value)
        dialogue.close()
        return _Asked(tuple(new), tuple(stored), None)

    def _new(self, judge: Judge, question: Question[Any], call: Call) -> _New:
        if judge.backend.free:
            return _New(judge, (0.0, 0.0, 0.0), Length(0.0, 0.0, 0.0), 0.0, 0.0)
        given = self._counter(judge, question.task).count(size_of(judge.backend, call.body))
        written = self._assumed.length(judge, question, call)
        if self._prices.costs_nothing(judge.id):
            return _New(judge, given, written, 0.0, 0.0)
        cached = self._past.habits(judge, question.task).cached
        for_input, dollars = (
            self._prices.cost(
                judge.id, judge.provider, judge.model,
                input_tokens=round(given[1]), output_tokens=round(output), cached_tokens=round(cached * given[1]),
            )
            for output in (0.0, written.expected)
        )  # fmt: skip
        return _New(judge, given, written, for_input, dollars)

    def _counter(self, judge: Judge, task: Task) -> TokenCounter:
        at = (judge.id, task)
        if at not in self._counters:
            habits = self._past.habits(judge, task)
            self._counters[at] = TokenCounter(judge.provider, judge.model, habits.ratio, habits.kin)
        return self._counters[at]

    def _worst(self) -> Amount:
        worst = Amount()
        for judge, body in self._longest.items():
            size = size_of(judge.backend, body)
            given, written = size.at_most, size.reply or 0
            dollars = self._prices.cost(
                judge.id, judge.provider, judge.model, input_tokens=given, output_tokens=written
            )
            worst = worst.most(Amount(dollars or 0.0, 1, given + written))
        return worst

    # ---- sums

    def _lengths(self, rows: Sequence[Row]) -> dict[str, str]:
        """How long replies were taken to be, by judge and step."""
        told = {}
        for (judge, task), samples in self._assumed.lengths.items():
            own = [row for row in rows if (row.judge, row.step) == (judge, task)]
            calls = sum(row.calls[1] for row in own)
            if not calls:
                continue
            low, mean, high = (
                round(sum(parts) / calls)
                for parts in zip(*((row.written[0], row.output[1], row.written[1]) for row in own), strict=True)
            )
            what = f"{mean} tokens ({low} to {high}), {source(samples, 'call')}"
            told[f"replies to {task} by {judge.partition('@')[0]}"] = what + ("" if samples else ", without reasoning")
        return told

    def _count(self, metric: str, task: Task, asked: _Asked, world: World) -> None:
        for call in asked.calls(world):
            row = self._row(metric, task, call.judge)
            row.calls[world] += 1
            row.input[world] += call.given[1]
            row.output[world] += call.written.expected
            if call.dollars is None or call.for_input is None:
                row.priced = False
            else:
                row.dollars[world] += call.dollars
            if world == 1:
                row.given[0] += call.given[0]
                row.given[1] += call.given[2]
                row.written[0] += call.written.low
                row.written[1] += call.written.high
                row.scatter += call.written.scatter**2
                row.for_input += call.for_input or 0.0
        if world == 1:
            for judge in asked.stored:
                self._row(metric, task, judge).stored += 1

    def _row(self, metric: str, task: Task, judge: Judge) -> Row:
        at = (metric, task, judge.id)
        if at not in self._rows:
            self._rows[at] = Row(metric, task, judge.id, judge.backend.free)
        return self._rows[at]

    def _seconds(self, rows: Sequence[Row]) -> Range:
        """The slowest judge's: judges answer side by side, and one's own places are all in use."""
        low = expected = high = 0.0
        for judge in self._routes.judges():
            own = [row for row in rows if row.judge == judge.id]
            calls = [sum(row.calls[world] for row in own) for world in WORLDS]
            if not any(calls):
                continue
            speed = self._past.speed(judge)
            if speed is not None:
                each = (1 / speed.high, 1 / speed.value, 1 / speed.low)
            elif judge.backend.free:
                each = (INSIDE * SECONDS[0], INSIDE, INSIDE * SECONDS[2])
            else:
                usual = FIRST + sum(row.output[1] for row in own) / max(1, calls[1]) / PER_SECOND
                places = min(judge.backend.concurrency, max(1, calls[1]))
                each = (usual * SECONDS[0] / places, usual / places, usual * SECONDS[2] / places)
            low = max(low, calls[0] * each[0])
            expected = max(expected, calls[1] * each[1])
            high = max(high, calls[2] * each[2])
        return Range(min(low, expected), expected, max(high, expected))


def added(rows: Iterable[Row]) -> Sum:
    """Several rows as one: what is wrong for one of them is wrong for all, and different things go wrong apart."""
    rows = [replace(row) for row in rows if not row.free]
    calls, given, written = _Off(), _Off(), _Off()
    money: _Off | None = _Off()
    for row in rows:
        again = row.repairs
        turn = (row.input[1] + row.output[1] + REPAIR * row.calls[1], row.output[1])
        calls.take("answers", *map(float, row.calls))
        calls.take("repairs", *(share * row.calls[1] for share in again))
        given.take("answers", *row.input)
        given.take("tokens", row.given[0], row.input[1], row.given[1], base=False)
        given.take("repairs", *(share * turn[0] for share in again))
        written.take("answers", *row.output)
        written.take("lengths", row.written[0], row.output[1], row.written[1], base=False)
        written.take("repairs", *(share * turn[1] for share in again))
        written.chance += row.scatter
        if money is None or not row.priced:
            money = None
            continue
        for_output = row.dollars[1] - row.for_input
        money.take("answers", *row.dollars)
        money.take("tokens", *_scaled(row.for_input, row.given[0], row.input[1], row.given[1]), base=False)
        money.take("lengths", *_scaled(for_output, row.written[0], row.output[1], row.written[1]), base=False)
        turned = row.for_input * turn[0] / row.input[1] + for_output if row.input[1] else 0.0
        money.take("repairs", *(share * turned for share in again))
        money.chance += row.scatter * (for_output / row.output[1]) ** 2 if row.output[1] else 0.0
    return Sum(
        calls.range(), given.range(), written.range(), None if money is None else money.range(),
        sum(row.stored for row in rows),
    )  # fmt: skip


@dataclass(slots=True)
class _Off:
    """An expected sum, and how far it may be off by each cause and by chance."""

    expected: float = 0.0
    causes: dict[str, list[float]] = field(default_factory=dict)
    chance: float = 0.0

    def take(self, cause: str, low: float, expected: float, high: float, *, base: bool = True) -> None:
        """Add a part, and how far the cause may move it; ``base`` False: it is in the sum already."""
        if base:
            self.expected += expected
        ends = self.causes.setdefault(cause, [0.0, 0.0])
        ends[0] += expected - low
        ends[1] += high - expected

    def range(self) -> Range:
        """The causes are apart from each other, so their squares add up."""
        chance = SURE**2 * self.chance
        down, up = (
            math.sqrt(sum(max(0.0, ends[side]) ** 2 for ends in self.causes.values()) + chance) for side in (0, 1)
        )
        return Range(max(0.0, self.expected - down), self.expected, self.expected + up)


def _scaled(dollars: float, low: float, expected: float, high: float) -> tuple[float, float, float]:
    if not expected:
        return 0.0, 0.0, 0.0
    return dollars * low / expected, dollars, dollars * high / expected


def _leading(hows: Sequence[str]) -> str:
    """How most was counted; the step with the fewest earlier calls speaks for all."""
    return min(dict.fromkeys(hows), key=lambda how: ("earlier" in how, len(how), how))

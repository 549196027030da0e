"""Estimate a run with the same flows and dialogues on the same records, without calling a judge.

Guarantees: needs no network and no key. Prompts are rendered as in a run. Stored replies are free and their answers are
used; other answers are assumed (see ``assumed``). Exception: an earlier judge of a cascade that computes in this
process is really asked, because the units passed to the next judge depend on its answer. If no question depends on an
assumed answer, the number of calls is exact, except for unreadable replies. An unknown price stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from ragstone.engine.cascading import first_calls
from ragstone.engine.route import Route, Routes
from ragstone.engine.run import Job
from ragstone.engine.settings import Amount, Settings
from ragstone.forecast.assumed import Assumptions, World, drawn, source, thought
from ragstone.forecast.figures import Figure, Range, Row
from ragstone.forecast.history import History
from ragstone.forecast.summary import Alone, Estimate
from ragstone.judges.base import (
    SMALL,
    Call,
    Failed,
    Immediate,
    Judge,
    Reply,
    is_lookup,
    is_steady,
    reply_from_json,
    size_of,
)
from ragstone.judges.cascade import cascade
from ragstone.judges.panel import combine
from ragstone.metrics.base import Metric
from ragstone.prices import PriceBook
from ragstone.questions import Answer, Question, Rate, Rated, Task, Write
from ragstone.records.ids import Hashes
from ragstone.store.database import Store
from ragstone.tokens import TokenCounter
from ragstone.types import Record, Unit

WORLDS: Final[tuple[World, World, World]] = (0, 1, 2)
ROUNDS: Final = 4
"""Maximum number of dialogue turns to follow while replies are missing."""
REPAIR: Final = 60
"""Tokens of the turn that repeats a question after an unreadable reply."""
SECONDS: Final = (0.4, 1.0, 2.5)
"""Low, expected and high factors for the time of an endpoint without earlier calls."""
FIRST: Final = 0.8
"""Default time to the first token, in seconds."""
PER_SECOND: Final = 60.0
"""Default tokens per second after the first."""
INSIDE: Final = 0.004
"""Seconds per call of a judge in this process, unless its backend sets ``seconds``."""
CACHE_STEP: Final = 128
"""Granularity, in tokens, of the prompt prefix that a provider caches."""
NOT_ASKED: Final = Failed("not asked")


class _New(Struct, frozen=True):
    """A call that a run would make."""

    judge: Judge
    given: tuple[float, float, float]
    written: Range
    for_input: float | None
    for_output: float | None
    saving: float = 0.0
    """The most by which the provider's cache may make it cheaper than expected, in dollars."""

    @property
    def dollars(self) -> float | None:
        """The expected price in dollars; None if unknown."""
        return None if self.for_input is None or self.for_output is None else self.for_input + self.for_output


class _Asked(Struct):
    """A question with its new and stored calls; without an ``answer``, the answer must be assumed.

    ``wave`` is the round of batches in which it can be asked. ``worlds`` are the additional calls, by world, that
    depend on an assumed answer.
    """

    new: list[_New] = field(default_factory=list)
    stored: list[Judge] = field(default_factory=list)
    answer: Answer | None = None
    wave: int = 0
    worlds: Sequence[list[_New]] = ([], [], [])

    def add(self, other: _Asked) -> Answer | None:
        """Add the calls of another judge, and return its answer."""
        self.new += other.new
        self.stored += other.stored
        return other.answer

    def calls(self, world: World) -> list[_New]:
        """Return the calls that a run would make in a world."""
        return self.new + self.worlds[world]


class Forecaster:
    """Adds up the calls of records, one record at a time."""

    def __init__(self, routes: Routes, store: Store, prices: PriceBook, settings: Settings, small: int = SMALL) -> None:
        """``small``: after the first round of batches, fewer calls than this are sent live."""
        self._small = small
        self._routes = routes
        self._store = store
        self._prices = prices
        self._limits = settings.limits
        self._times = settings.repeat
        self._repeat = 0
        self._reads = settings.cache != "off"
        # A refresh uses only replies stored since it began.
        self._since = settings.since or (math.inf if settings.cache == "refresh" else 0.0)
        self._history = History(store)
        self._assumed = Assumptions(self._history)
        self._counters: dict[tuple[str, Task], TokenCounter] = {}
        self._rows: dict[tuple[str, Task, str, int], Row] = {}
        self._guessed: World | None = None
        self._seen, self._begun, self._begun_alone = Hashes(), Hashes(), Hashes()  # of keys with their world
        self._longest: dict[Judge, bytes] = {}
        self._abreast = routes.abreast()
        self._records = self._set_aside = 0
        self._exact = True
        self._alone: dict[str, Alone] = {}
        self._seen_alone = Hashes()
        self._again: Mapping[bytes, float] = {}

    def add(self, job: Job) -> None:
        """Count the calls of one record."""
        if not self._reads and self._records % self._abreast == 0:
            self._seen = Hashes()  # equal calls are merged only while in flight together
        self._records += 1
        if job.record is None:
            self._set_aside += 1
        elif job.done is None:  # the result of an earlier run costs nothing
            self._again = job.again or {}
            for repeat in range(self._times):
                self._repeat = repeat
                self._add(job, job.record)

    def _add(self, job: Job, record: Record) -> None:
        known: dict[Question[Any], _Asked] = {}
        paid: tuple[set[Question[Any]], ...] = (set(), set(), set())
        for metric in (metric for metric, _ in job.metrics if metric.asks):
            expected, assumed = self._follow(metric, record, 1, known)
            for world in WORLDS:
                anew = assumed and world != 1
                for question in self._follow(metric, record, world, known)[0] if anew else expected:
                    if question not in paid[world]:
                        paid[world].add(question)
                        self._count(metric.name, question.task, known[question], world)
                        if world == 1:
                            self._reckon_alone(question)

    def estimate(self) -> Estimate:
        """Return the estimate of all records so far."""
        rows = [row for row in self._rows.values() if any(row.calls.worlds) or row.stored]
        judges = {judge.id: judge for judge in self._routes.judges()}
        shares = [self._assumed.repairs(judges[row.judge], row.step)[:3] for row in rows]
        waves, live = self._rounds(
            [(row, judges[row.judge], share[1]) for row, share in zip(rows, shares, strict=True)]
        )
        merged: dict[tuple[str, Task, str], Row] = {}
        for row, share in zip(rows, shares, strict=True):
            row.repair(*share)
            if (first := merged.setdefault((row.metric, row.step, row.judge), row)) is not row:
                first.add(row)
        rows = [*merged.values()]
        counted: dict[str, list[str]] = {}
        for (judge, _), counter in self._counters.items():
            counted.setdefault(judge, []).append(counter.how)
        return Estimate(
            rows, self._records, self._set_aside, self._seconds(rows), self._exact,
            assumed={**self._assumed.told, **self._lengths(rows)},
            counted={judge: _leading(hows) for judge, hows in counted.items()},
            worst=self._worst(), limits=self._limits, alone=self._alone, waves=waves, live=live,
        )  # fmt: skip

    def _rounds(self, rows: Sequence[tuple[Row, Judge, float]]) -> tuple[int, bool]:
        """Return the rounds of batches and whether calls follow live, which then cost what such calls cost.

        ``rows`` come with their judges and the share of calls that is repeated, a round later.
        """
        batched = [one for one in rows if one[0].calls.worlds[1] and getattr(one[1].backend, "batch", False)]
        last = max((row.wave for row, *_ in batched), default=0)
        for wave in range(2, last + 2 if self._small else 0):
            calls = sum(row.calls.worlds[1] for row, *_ in batched if row.wave == wave)
            calls += sum(share * row.again[0] for row, _, share in batched if row.wave == wave - 1)
            if calls < self._small:
                for row, judge, _ in batched:
                    factor = judge.backend.live_rate / judge.backend.rate  # type: ignore[attr-defined]
                    if row.wave >= wave:
                        row.dollars.scale(factor)
                    if row.wave >= wave - 1:
                        row.again[3] *= factor
                return wave - 1, round(calls) > 0
        return last and last + 1, False

    # ---- one record

    def _follow(
        self, metric: Metric, record: Record, world: World, known: dict[Question[Any], _Asked]
    ) -> tuple[list[Question[Any]], bool]:
        """Return the questions that a metric asks about a record, and whether any depends on an assumed answer."""
        asked: list[Question[Any]] = []
        assumed = rated = False
        depth = 0
        flow = metric.flow(record)
        try:
            questions = next(flow)
            while True:
                answers = []
                for question in questions:
                    if question not in known:
                        self._guessed = world if assumed else None
                        known[question] = self._ask(question, guessed=assumed)
                        known[question].wave = depth + 1
                    answer = known[question].answer
                    if answer is None:
                        assumed = assumed or isinstance(question, Write)
                        rated = True  # later questions may depend on its labels
                        answer = self._assumed.answer(self._routes.of(question.task).judges[0], question, world)
                    asked.append(question)
                    answers.append(answer)
                depth += any(
                    getattr(call.judge.backend, "batch", False) for one in questions for call in known[one].calls(world)
                )
                questions = flow.send(answers)
                self._exact = self._exact and not rated
        except StopIteration:
            return asked, assumed

    def _ask(self, question: Question[Any], *, guessed: bool = False) -> _Asked:
        """Look the question up in the store; ``guessed``: the question's units are themselves assumed."""
        route = self._routes.of(question.task)
        if route.error is not None:
            assert isinstance(question, Rate), "a cascade rates; the routes are checked before"
            return self._cascade(route, question, guessed=guessed)
        found = _Asked()
        answers = [found.add(self._consult(judge, question)) for judge in route.judges]
        named = [
            (judge.name, each) for judge, each in zip(route.judges, answers, strict=True) if isinstance(each, Rated)
        ]
        if len(answers) == 1:
            found.answer = answers[0]
        elif isinstance(question, Rate) and len(named) == len(answers):
            found.answer = combine(question, named, route.aggregate, route.weights)
        return found

    def _cascade(self, route: Route, question: Rate, *, guessed: bool) -> _Asked:
        """Follow a cascade as far as answers are known, then assume the share passed to its last judge."""
        found = _Asked()
        going = cascade(question, route.bands(question.task))
        try:
            part = next(going)
            for judge in route.judges[:-1]:
                answer = found.add(self._consult(judge, part, really=not guessed))
                if guessed or not isinstance(answer, Rated):
                    found.worlds = self._left_over(route, part)
                    return found
                part = going.send(answer)
            answer = found.add(self._consult(route.judges[-1], part))
            if isinstance(answer, Rated):
                going.send(answer)
        except StopIteration as stop:
            found.answer = stop.value
        return found

    def _left_over(self, route: Route, question: Rate) -> list[list[_New]]:
        """Return the calls to the last judge by world; which units are passed depends only on the share."""
        self._exact = False
        last = route.judges[-1]
        found: dict[tuple[Unit, ...], list[_New]] = {(): []}
        worlds = []
        for share in self._assumed.left(route, question.task)[:3]:
            units = tuple(unit for unit in question.units if drawn(unit.text) < share)
            if units not in found:
                found[units] = self._consult(last, replace(question, units=units)).new
            worlds.append(found[units])
        return worlds

    def _reckon_alone(self, question: Question[Any]) -> None:
        """Count the calls that the last judge of a cascade would need for the whole question."""
        route = self._routes.of(question.task)
        if route.error is None or not isinstance(question, Rate):
            return
        judge = route.judges[-1]
        alone = self._alone.setdefault(question.task, Alone(judge.id))
        for call in first_calls(judge, question, self._repeat):
            if self._seen_alone.add(hash(call.key)):
                alone.add(self._new(judge, question, call, self._begun_alone).dollars)

    def _consult(self, judge: Judge, question: Question[Any], *, really: bool = False) -> _Asked:
        """Follow a dialogue as far as replies are known; ``really``: also call a judge that runs in this process."""
        dialogue = judge.dialogue(question, repeat=0 if is_steady(judge.backend) else self._repeat)
        found = _Asked()
        missing = False
        try:
            calls = next(dialogue)
            for _ in range(ROUNDS):
                replies: list[Reply | Failed] = []
                for call in calls:
                    since = max(self._since, self._again.get(call.key, 0.0))
                    reply = self._store.reply(call.key, since=since) if self._reads else None
                    if reply is not None:
                        replies.append(reply_from_json(reply))
                        found.stored.append(judge)
                        continue
                    if (really or is_lookup(judge.backend)) and isinstance(judge.backend, Immediate):
                        replies.append(judge.backend.reply(call))
                    else:
                        missing = True
                        replies.append(NOT_ASKED)
                    if self._is_first(call.key, self._seen):
                        found.new.append(self._new(judge, question, call, self._begun))
                        if not judge.backend.free and len(call.body) > len(self._longest.get(judge, b"")):
                            self._longest[judge] = call.body
                calls = dialogue.send(replies)
        except StopIteration as stop:
            found.answer = None if missing else stop.value
        dialogue.close()
        return found

    def _new(self, judge: Judge, question: Question[Any], call: Call, begun: Hashes) -> _New:
        """Price a call; ``begun`` are the prompt prefixes that the provider has cached by then."""
        if judge.backend.free:
            return _New(judge, (0.0, 0.0, 0.0), Range(0.0, 0.0, 0.0), 0.0, 0.0)
        size, shared = size_of(judge.backend, call.body), self._routes.shared(call)
        if getattr(judge.backend, "batch", False):  # calls of a batch do not wait for each other
            shared = None
        given = self._counter(judge, question.task).count(size if shared is None else replace(size, schema=0))
        written = self._assumed.length(judge, question, call)
        if self._prices.costs_nothing(judge.id):
            return _New(judge, given, written, 0.0, 0.0)
        habits = self._history.habits(judge, question.task)
        if habits.cached or habits.saved or shared is None:
            cached, saved = round(habits.cached * given[1]), round(habits.saved * given[1])
        else:
            tokens = int(given[1] / size.usual * shared.tokens) // CACHE_STEP * CACHE_STEP
            cached, saved = (0, tokens) if self._is_first(shared.key, begun) else (tokens, 0)
        # A provider may also have cached the prefix of calls in flight, and all of a call that was made before.
        part = call.shared.tokens / size.usual if call.shared else 0.0
        whole = given[1] * (1.0 if self._repeat or self._since else part)
        for_input, least, dollars = (
            self._prices.cost(
                judge.id, judge.provider, judge.model,
                input_tokens=round(given[1]), output_tokens=round(output),
                cached_tokens=read, saved_tokens=saved,
            )
            for output, read in ((0.0, cached), (0.0, max(cached, int(whole))), (written.expected, cached))
        )  # fmt: skip
        if dollars is None or for_input is None or least is None:
            return _New(judge, given, written, None, None)
        rate = getattr(judge.backend, "rate", 1.0)
        return _New(judge, given, written, rate * for_input, rate * (dollars - for_input), rate * (for_input - least))

    def _is_first(self, key: bytes | int, keys: Hashes) -> bool:
        """Record a key; return whether it is new in the current world, None being all worlds."""
        # A call of every world follows those of the expected one, whose questions are asked first.
        known = hash((key, None)) in keys or hash((key, 1 if self._guessed is None else self._guessed)) in keys
        keys.add(hash((key, self._guessed)))
        return not known

    def _counter(self, judge: Judge, task: Task) -> TokenCounter:
        at = (judge.id, task)
        if at not in self._counters:
            habits = self._history.habits(judge, task)
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
        """Describe the assumed reply lengths by judge and step."""
        told = {}
        for (judge, task), samples in self._assumed.lengths.items():
            written = Figure()
            calls = 0.0
            for row in rows:
                if (row.judge, row.step) == (judge, task):
                    written.add(row.output)
                    calls += row.again[0]
            if not calls:
                continue
            (down, up), expected = written.causes["lengths"], written.worlds[1]
            low, mean, high = (round(tokens / calls) for tokens in (expected - down, expected, expected + up))
            room = 0 if samples else thought(judge)
            ends = f"{low:,} to {high:,}{f', of which up to {room:,} reasoning' if room else ''}"
            told[f"tokens per reply (step {task}) by {judge.partition('@')[0]}"] = (
                f"{mean:,} ({ends}), {source(samples, 'call')}"
            )
        return told

    def _count(self, metric: str, task: Task, asked: _Asked, world: World) -> None:
        for call in asked.calls(world):
            row = self._row(metric, task, call.judge, asked.wave)
            given, written = call.given, call.written
            dollars = (call.for_input or 0.0) + (call.for_output or 0.0)
            row.priced = row.priced and call.for_output is not None
            for figure, value in zip(row.figures, (1.0, given[1], written.expected, dollars), strict=True):
                figure.worlds[world] += value
            if world == 1:
                row.input.vary("tokens", *given)
                row.output.vary("lengths", *written[:3])
                row.output.variance += written.scatter**2
                turn = given[1] + written.expected + REPAIR
                self._vary_price(row, call, turn)
                for number, value in enumerate((1.0, turn, written.expected)):
                    row.again[number] += value
        if world == 1:
            for judge in asked.stored:
                self._row(metric, task, judge, asked.wave).stored += 1

    def _vary_price(self, row: Row, call: _New, turn: float) -> None:
        """Add the variation of a call's price with its tokens, and the cost of a repair with ``turn`` input tokens."""
        given, written = call.given, call.written
        if call.for_input is None or call.for_output is None or not given[1] or not written.expected:
            return
        each, word = call.for_input / given[1], call.for_output / written.expected
        row.dollars.vary("tokens", *(each * tokens for tokens in given))
        row.dollars.vary("lengths", *(word * tokens for tokens in written[:3]))
        row.dollars.saving += call.saving
        row.dollars.variance += (word * written.scatter) ** 2
        row.again[3] += each * turn + call.for_output

    def _row(self, metric: str, task: Task, judge: Judge, wave: int) -> Row:
        at = (metric, task, judge.id, wave)
        if at not in self._rows:
            self._rows[at] = Row(metric, task, judge.id, judge.backend.free, wave=wave)
        return self._rows[at]

    def _seconds(self, rows: Sequence[Row]) -> Range:
        """Estimate the time of the slowest judge: judges work in parallel, each at its full concurrency."""
        ends = [0.0, 0.0, 0.0]
        for judge in self._routes.judges():
            own = [row for row in rows if row.judge == judge.id]
            calls = [sum(row.calls.worlds[world] for row in own) for world in WORLDS]
            if not any(calls):
                continue
            speed = self._history.speed(judge)
            if speed is not None:
                each = (1 / speed.high, 1 / speed.expected, 1 / speed.low)
            else:
                usual = getattr(judge.backend, "seconds", INSIDE)
                if not judge.backend.free:
                    usual = FIRST + sum(row.output.worlds[1] for row in own) / max(1, calls[1]) / PER_SECOND
                    usual /= min(judge.backend.concurrency, max(1, calls[1]))
                each = (usual * SECONDS[0], usual, usual * SECONDS[2])
            ends = [max(end, count * second) for end, count, second in zip(ends, calls, each, strict=True)]
        return Range(min(ends[:2]), ends[1], max(ends[1:]))


def _leading(hows: Sequence[str]) -> str:
    """Return how tokens were counted; if steps differ, for the step with the fewest earlier calls."""
    return min(dict.fromkeys(hows), key=lambda how: ("earlier" in how, len(how), how))

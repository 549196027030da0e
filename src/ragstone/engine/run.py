"""The only event loop: records in, results out, in the order of the input and in flat memory.

Promises: a question that two metrics of a record share is asked once; a call that is in the store is not
sent, and one that is in flight is awaited; a reply is on disk before it is used; a record whose judging fails
has scores that say so and never disturbs another; an endpoint that is dead or refuses the key ends the run
and keeps what was done; so does a budget, which is never passed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal

from ragstone.engine.awaiting import all_of, to_its_end
from ragstone.engine.budget import Budget, Limits
from ragstone.engine.cascading import in_cascade
from ragstone.engine.claims import Claims, Elsewhere
from ragstone.engine.document import CallNote, Note, Weighed, result_document, set_aside_document
from ragstone.engine.flight import Flight
from ragstone.engine.gate import REFUSED, Gate, Gates, Turn
from ragstone.engine.pace import backoff as _backoff
from ragstone.engine.repeats import repeated
from ragstone.engine.route import Route, Routes
from ragstone.engine.tally import Tally
from ragstone.engine.writer import Writer
from ragstone.errors import BackendError, BudgetReached, RagstoneError
from ragstone.judges.base import (
    Backend,
    Call,
    Failed,
    Judge,
    Reply,
    Usage,
    is_inside,
    is_steady,
    reply_from_json,
)
from ragstone.judges.limits import asked_to_wait
from ragstone.judges.panel import combine
from ragstone.metrics.base import Metric
from ragstone.prices import PriceBook
from ragstone.questions import Answer, Question, Rate, Rated, Readout
from ragstone.store import ResultRow, ScoreRow, Store
from ragstone.types import Record, Score

_NO_USAGE = Usage(0, 0)
_KEY: Final = (401, 402, 403)
"""What is refused because of the key or its account, to every judge that has it."""

_Told = Mapping[str, Readout]
Cache = Literal["use", "refresh", "off", "offline"]
"""What stored replies are to a run: used and added to; replaced; neither read nor written; all that there is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the engine works; the configuration gives the values.

    ``tries`` is the most attempts of one call, without those that are refused with HTTP 429, ``deadline`` the most
    seconds from its first attempt to the end of its last, without pauses of the whole endpoint, ``dead_after`` how many
    calls in a row must fail for an endpoint to be called dead.
    ``ahead`` is how many records may wait for an earlier one, so that results keep the order of the input; so many are
    looked at behind one that a budget did not reach.
    ``repeat`` is how many times each question is asked. Replies that were stored before ``since`` (seconds since
    1970) are not used: a refresh begins then.
    ``limits`` is the budget of the run.
    """

    tries: int
    deadline: float
    dead_after: int
    ahead: int
    repeat: int = 1
    cache: Cache = "use"
    since: float = 0.0
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Job:
    """One record with the metrics it is weighed by and their signatures, or why it could not be read.

    ``done`` is its result where that is there already.
    """

    position: int
    id: str
    record: Record | None
    metrics: tuple[tuple[Metric, str], ...] = ()
    error: str = ""
    done: Weighed | None = None


@dataclass(frozen=True, slots=True)
class _Answered:
    answer: Answer
    notes: tuple[Note, ...]


class Engine:
    """Weighs records. One engine serves one run in one event loop."""

    def __init__(self, routes: Routes, store: Store, prices: PriceBook, settings: Settings) -> None:
        self.routes = routes
        self.store = store
        self.settings = settings
        self._since = settings.since or (time.time() if settings.cache == "refresh" else 0.0)
        self.tally = Tally()
        limits = Limits() if settings.cache == "offline" else settings.limits  # nothing is sent, so nothing is spent
        self.budget = Budget(limits, prices, routes.judges(), self.tally, kept=settings.cache != "off")
        self._gates: Gates | None = None
        self._claims = Claims(store, since=self._since)
        self._flying: dict[bytes, Flight] = {}
        self._sending: set[bytes] = set()
        self._opening: dict[int, asyncio.Future[None]] = {}
        self._closing = False
        self._failures: dict[int, int] = {}
        self._down: dict[int, str] = {}
        self._stop: RagstoneError | None = None
        self._wake = asyncio.Event()
        self._writer = Writer(store, self._halt, self._flying, since=self._since)
        self._loop: asyncio.AbstractEventLoop  # that of ``run``

    async def run(self, jobs: Iterable[Job]) -> AsyncGenerator[Weighed, None]:
        """Results in the order of the jobs; raises what ended the run, after everything that was done is out.

        So it is also where the run is cancelled: a record that is done and waits for a slow one before it is not lost.
        """
        self._loop = asyncio.get_running_loop()
        patient = True
        writer = asyncio.create_task(self._writer.write())
        if self.settings.cache in ("use", "refresh") and not all(map(is_inside, self.routes.backends())):
            self._claims.open()
        try:
            async with contextlib.aclosing(self._in_order(iter(jobs), self.routes.abreast())) as results:
                async for weighed in results:
                    yield weighed
        except GeneratorExit:  # whoever reads the results has enough of them, and of the calls for more
            patient = False
            raise
        finally:
            try:
                await self._finish_calls(patient=patient)
            finally:  # also when somebody has no patience left
                await to_its_end(self._end(writer))
        if trouble := self._stop or self.budget.over:
            raise trouble

    async def _end(self, writer: asyncio.Task[None]) -> None:
        opened = [backend for backend in self.routes.backends() if id(backend) in self._opening]
        await asyncio.gather(*(backend.close() for backend in opened), return_exceptions=True)
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
        await self._writer.write_group()
        self._claims.close()

    async def _in_order(self, jobs: Any, active: int) -> AsyncGenerator[Weighed, None]:
        tasks: set[asyncio.Task[None]] = set()
        finished: dict[int, Weighed] = {}
        started = emitted = 0
        exhausted = False
        ended: BaseException | None = None

        async def weigh(number: int, job: Job) -> None:
            try:
                finished[number] = await self._job(job)
            except RagstoneError as error:
                self._halt(error)
            except Exception as error:  # noqa: BLE001 - the edge: a result that cannot be written down is still one
                reason = f"internal error: {type(error).__name__}: {error}"
                finished[number] = set_aside_document(job.id, job.position, reason)
                self.tally.records += 1

        def done(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            self._wake.set()

        try:
            while not (exhausted and not tasks) and self._stop is None:
                # Also where a budget is reached: what costs nothing is there for records as far as one may look ahead.
                while not exhausted and len(tasks) < active and started - emitted < self.settings.ahead:
                    if not self.budget.room(len(tasks)):
                        break
                    job = next(jobs, None)
                    if job is None:
                        exhausted = True
                        break
                    task = asyncio.create_task(weigh(started, job))
                    tasks.add(task)
                    task.add_done_callback(done)
                    started += 1
                if tasks:
                    await self._wake.wait()
                    self._wake.clear()
                elif self.budget.over is not None:
                    exhausted = True
                while emitted in finished:
                    yield finished.pop(emitted)
                    emitted += 1
        except (asyncio.CancelledError, RagstoneError) as error:  # the run is called off, or a record cannot be read
            ended = error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for number in sorted(finished):
            # What is done behind a gap is, of a cascade, what its first judge was sure of: no fair part of the records.
            if number == emitted or not self.routes.cascading():
                yield finished[number]
                emitted += 1
        if ended is not None:
            raise ended

    # ---- one record

    async def _job(self, job: Job) -> Weighed:
        if job.done is not None:
            weighed = job.done
            self.tally.taken_over += 1
        elif job.record is None:
            weighed = set_aside_document(job.id, job.position, job.error)
        else:
            self.budget.begin()
            try:
                weighed = await self._record(job.position, job.record, job.metrics)
            except RagstoneError:
                raise
            except Exception as error:  # noqa: BLE001 - the edge: one record's trouble must not end the run
                failed = [
                    (replace(score, signature=signature), ())
                    for metric, signature in job.metrics
                    for score in _broken(metric, job.record, error)
                ]
                weighed = result_document(job.record, job.position, failed)
            self.budget.finish()
        self.tally.records += 1
        return weighed

    async def _record(self, position: int, record: Record, metrics: Sequence[tuple[Metric, str]]) -> Weighed:
        rounds = await all_of([self._round(record, metrics, number) for number in range(self.settings.repeat)])
        return result_document(record, position, repeated(rounds))

    async def _round(
        self, record: Record, metrics: Sequence[tuple[Metric, str]], repeat: int
    ) -> list[tuple[Score, tuple[Note, ...]]]:
        """The record's scores with their calls, asked for the first time (0) or once more."""
        asked: dict[Question[Any], asyncio.Task[_Answered]] = {}
        try:
            # What one metric asks, another may ask too; a metric alone has nobody to share answers with.
            shared = asked if len(metrics) > 1 else None
            results = await all_of([self._metric(metric, record, shared, repeat) for metric, _ in metrics])
        finally:
            for task in asked.values():
                task.cancel()
        return [
            (replace(score, signature=signature), calls)
            for (_, signature), (scores, calls) in zip(metrics, results, strict=True)
            for score in scores
        ]

    async def _metric(
        self,
        metric: Metric,
        record: Record,
        asked: dict[Question[Any], asyncio.Task[_Answered]] | None,
        repeat: int,
    ) -> tuple[tuple[Score, ...], tuple[Note, ...]]:
        calls: dict[str, Note] = {}
        trouble: Exception
        try:
            flow = metric.flow(record)
            questions = next(flow)
            while True:
                answers = await self._answers(questions, asked, repeat)
                for answered in answers:
                    calls.update((note.key, note) for note in answered.notes)
                questions = flow.send([answered.answer for answered in answers])
        except StopIteration as stop:
            scores = stop.value
            if isinstance(scores, tuple) and all(isinstance(score, Score) for score in scores):
                return scores, tuple(calls.values())
            trouble = TypeError(f"the flow returned {type(scores).__name__}, not a tuple of scores")
        except RagstoneError:
            raise
        except Exception as error:  # noqa: BLE001 - the edge: one metric's trouble must not touch the others
            trouble = error
        return _broken(metric, record, trouble), tuple(calls.values())

    # ---- one question

    async def _answers(
        self,
        questions: Sequence[Question[Any]],
        asked: dict[Question[Any], asyncio.Task[_Answered]] | None,
        repeat: int,
    ) -> list[_Answered]:
        """The answers in the order of the questions; ``asked`` holds those that the record's metrics share."""
        if asked is None:
            return await all_of([self._answer(question, repeat) for question in questions])
        tasks = []
        for question in questions:  # hashing a question is not free: once to look, once to enter
            task = asked.get(question)
            if task is None:
                task = asked[question] = asyncio.create_task(self._answer(question, repeat))
            tasks.append(task)
        return [await task for task in tasks]

    async def _answer(self, question: Question[Any], repeat: int) -> _Answered:
        route = self.routes.of(question.task)
        if len(route.judges) == 1:
            return await self._consult(route.judges[0], question, repeat)
        if route.error is not None:
            assert isinstance(question, Rate), "a cascade rates; the routes are checked before the run"
            return _Answered(*await in_cascade(route, question, repeat, self._consult))
        return await self._panel(route, question, repeat)

    async def _panel(self, route: Route, question: Question[Any], repeat: int) -> _Answered:
        assert isinstance(question, Rate), "a panel rates; the routes are checked before the run"
        members = await all_of([self._consult(judge, question, repeat) for judge in route.judges])
        answers = []
        for judge, member in zip(route.judges, members, strict=True):
            assert isinstance(member.answer, Rated)
            answers.append((judge.name, member.answer))
        notes = tuple(note for member in members for note in member.notes)
        return _Answered(combine(question, answers, route.aggregate, route.weights), notes)

    async def _consult(self, judge: Judge, question: Question[Any], repeat: int) -> _Answered:
        # Who always answers the same is asked once, however often the others are.
        dialogue = judge.dialogue(question, repeat=0 if is_steady(judge.backend) else repeat)
        answered: list[tuple[Call, Reply | Failed]] = []
        paid: set[bytes] = set()
        try:
            calls = next(dialogue)
            while True:
                if len(calls) == 1:
                    replies = [await self._call(judge, calls[0], paid)]
                else:
                    replies = await all_of([self._call(judge, call, paid) for call in calls])
                answered += zip(calls, replies, strict=True)
                calls = dialogue.send(replies)
        except StopIteration as stop:
            answer: Answer = stop.value
            told = {readout.key: readout for readout in answer.readouts}
            return _Answered(answer, tuple([self._note(judge, call, reply, told, paid) for call, reply in answered]))

    def _note(self, judge: Judge, call: Call, reply: Reply | Failed, told: _Told, paid: set[bytes]) -> CallNote:
        key = call.key.hex()
        who = key, call.judge, call.task, call.maker
        if isinstance(reply, Failed):
            return CallNote(*who, _NO_USAGE, "failed", 0.0, reply.reason, told.get(key))
        dollars, read = self.budget.cost(judge, reply.usage), told.get(key)
        if call.key in paid and read and not read.read:
            self.tally.unusable.add(reply.usage, dollars)
        return CallNote(*who, reply.usage, reply.finish, dollars, "", read)

    # ---- one call

    async def _call(self, judge: Judge, call: Call, paid: set[bytes]) -> Reply | Failed:
        """Its reply; the key of a call that is paid for now is added to ``paid``."""
        flight = self._flying.get(call.key)
        if flight is not None:
            self.tally.shared += 1
            return await flight.landing(self._loop)
        stored = None if self.settings.cache == "off" else self.store.reply(call.key, since=self._since)
        if stored is not None:
            self.tally.replayed += 1
            return reply_from_json(stored)
        if self.settings.cache == "offline" and not is_inside(judge.backend):
            self.tally.unseen += 1
            return Failed(f"{judge.name}: offline: this {call.task} call is not in the store")
        flight = self._flying[call.key] = Flight()
        flight.task = self._loop.create_task(self._pay(judge, call, flight, paid))
        return await flight.landing(self._loop)

    async def _pay(self, judge: Judge, call: Call, flight: Flight, paid: set[bytes]) -> None:
        """Send a call and tell those who wait, once its reply is on disk."""
        outcome: Reply | Failed | BaseException
        try:
            sending = partial(self._send, judge, call, flight)
            outcome, elsewhere = await self._claims.once(call.key, sending, self.settings.deadline)
            if elsewhere:
                self.tally.replayed += 1
            elif isinstance(outcome, Reply):
                usage = _NO_USAGE if judge.backend.free and outcome.usage.input is None else outcome.usage
                dollars = self.budget.cost(judge, outcome.usage)
                self.tally.pay(call.judge, call.task, usage, dollars, sent=not is_inside(judge.backend))
                paid.add(call.key)
                if self.settings.cache != "off":
                    self._writer.call(call, outcome, lambda kept: self._land(call, flight, kept))
                    return
        except RagstoneError as error:
            self._halt(error)
            outcome = error
        except asyncio.CancelledError as error:
            self._land(call, flight, error)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: a reply that cannot be written down is its records' trouble
            outcome = error
        self._land(call, flight, outcome)

    def _land(self, call: Call, flight: Flight, outcome: Reply | Failed | BaseException) -> None:
        del self._flying[call.key]
        self._claims.leave(call.key)
        if flight.holds is not None:
            flight.holds.kept()
        flight.land(outcome)

    async def _finish_calls(self, *, patient: bool) -> None:
        """Let calls that are at an endpoint come back and be kept; those that wait for a turn are not made."""
        self._closing = True
        tasks = {key: flight.task for key, flight in self._flying.items() if flight.task is not None}
        for key, task in tasks.items():
            if not patient or key not in self._sending:
                task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _open(self, backend: Backend) -> None:
        """Open a backend before its first call, once: a run that needs none of its answers needs no key of it."""
        opening = self._opening.get(id(backend))
        if opening is None:
            opening = self._opening[id(backend)] = asyncio.ensure_future(backend.open())
        if opening.done():
            opening.result()
        else:
            await asyncio.shield(opening)

    def _gate(self, backend: Backend) -> Gate:
        """Its gate; they are made when the first call is about to be sent, since whose is whose depends on the keys."""
        if self._gates is None:
            named = ((judge.backend, judge.name) for judge in self.routes.judges())
            self._gates = Gates(named, self.settings.dead_after, self.settings.deadline)
            self.tally.limit = self._limit
        return self._gates.of(backend)

    def _limit(self) -> str:
        """What holds the run at this moment, for the user."""
        assert self._gates is not None
        return ", ".join(filter(None, (self.budget.limit(), self._gates.limit())))

    async def _send(self, judge: Judge, call: Call, flight: Flight) -> Reply | Failed:
        """Try until there is a reply, the error is not worth another try, or tries or time are used up."""
        backend = judge.backend
        gate = self._gate(backend)
        end: float | None = None
        tries = 0
        for attempt in itertools.count(1):
            turn: Turn | None = None
            try:
                await self._open(backend)
                if id(backend) in self._down:  # its calls take no turn from those of others at the endpoint
                    return Failed(self._down[id(backend)])
                queued = self._loop.time()
                # Money first, then the turn: what waits for money holds no place at the endpoint, and goes out when
                # the endpoint says so.
                async with self.budget.place(judge, call) as place:
                    turn = await gate.enter(call)
                    if id(backend) in self._down:
                        return Failed(self._down[id(backend)])
                    self._claims.claim(call.key)
                    # Waiting for a turn, and for money that others may not need, is not the call's own time.
                    begun = self._loop.time()
                    end = begun + self.settings.deadline if end is None else end + begun - queued
                    place.send()
                    reply = await self._attempt(backend, call, min(end, gate.breaker.end or end))
                    place.settle(reply.usage, reply.requests)
            except (BudgetReached, Elsewhere):
                raise
            except (BackendError, TimeoutError) as error:
                trouble = _as_backend_error(error, judge, self.settings.deadline)
                if trouble.spent is not None:
                    usage = Usage(*trouble.spent)
                    self.tally.waste(call.judge, call.task, usage, self.budget.cost(judge, usage))
                if turn is not None:
                    gate.refused(turn, call, trouble, _backoff)
                    turn = None
                now = self._loop.time()
                if gone := self._gone(judge, trouble, now):
                    return gone
                tries += trouble.status != REFUSED
                pause = max(trouble.retry_after or 0.0, _backoff(attempt))
                late = gate.breaker.dead(now) or now + max(0.0, pause - gate.quiet()) >= (end or 0.0)
                if not trouble.retryable or late or tries == self.settings.tries or self._closing:
                    return self._give_up(judge, trouble, attempt)
                self.tally.retry(trouble, pause)
                await asyncio.sleep(pause)
                end = (end or 0.0) + gate.was_quiet(now)  # what everybody waits for is not the call's own time
            except Exception as error:  # noqa: BLE001 - the edge: a fault in a backend's code is a failed call
                self.tally.failed += 1
                return Failed(f"{judge.name}: internal error: {type(error).__name__}: {error}")
            else:
                taken, turn = turn, None  # given back here
                self._answered(judge, taken, call, flight, reply)
                return reply
            finally:
                if turn is not None:
                    gate.abandoned(turn)
        raise AssertionError("there is always another attempt, or an end")

    def _answered(self, judge: Judge, turn: Turn, call: Call, flight: Flight, reply: Reply) -> None:
        gate = self._gate(judge.backend)
        if gate.shown:
            self._writer.heed(self._loop.time() - turn.begun)
            flight.holds = gate if self.settings.cache != "off" else None
        gate.answered(turn, call, reply, keep=flight.holds is not None)
        self._failures[id(judge.backend)] = 0
        for note in reply.notes:
            self.tally.notes[f"{judge.name}: {note}"] += 1

    async def _attempt(self, backend: Backend, call: Call, end: float) -> Reply:
        """Send once; for as long as that takes the call is known to be at the endpoint."""
        self._sending.add(call.key)
        try:
            # A backend that gives up by itself in time needs no second clock, which costs as much as parsing.
            if backend.timeout is not None and self._loop.time() + backend.timeout <= end:
                return await backend.send(call)
            async with asyncio.timeout_at(end):
                return await backend.send(call)
        finally:
            self._sending.discard(call.key)

    def _gone(self, judge: Judge, error: BackendError, now: float) -> Failed | None:
        """What becomes of a call where its endpoint is of no use any more."""
        if id(judge.backend) in self._down:
            return Failed(self._down[id(judge.backend)])
        if error.fatal:
            return self._lose(judge, error)
        breaker = self._gate(judge.backend).breaker
        if len(self._flying) > 1 and breaker.dead(now):  # else there is nothing to stop
            return self._lose(judge, self._lost(judge, error, f"{breaker.failures} attempts in a row failed"))
        return None

    def _give_up(self, judge: Judge, error: BackendError, attempts: int) -> Failed:
        self.tally.failed += 1
        if error.retryable and error.status != REFUSED:  # what is refused says nothing about the endpoint's health
            failures = self._failures[id(judge.backend)] = self._failures.get(id(judge.backend), 0) + 1
            if failures >= self.settings.dead_after:
                count = f"{failures} calls in a row failed after up to {self.settings.tries} tries"
                return self._lose(judge, self._lost(judge, error, count))
        tried = f" (tried {attempts} times)" if attempts > 1 else ""
        if (error.retry_after or 0.0) > self.settings.deadline:
            tried = f" ({asked_to_wait(error.retry_after)})"
        return Failed(f"{error}{tried}" + (f"; {error.hint}" if error.hint else ""), too_long=error.too_long)

    def _lose(self, judge: Judge, error: BackendError) -> Failed:
        """Ask this endpoint nothing more. The run goes on while every panel has a judge left, and every cascade all."""
        gates = self._gates
        shared = gates is not None and (not error.status or error.status in _KEY)
        lost = gates.sharing(judge.backend) if gates is not None and shared else [judge.backend]
        self._down.update((id(backend), str(error)) for backend in lost)
        for route in self.routes.in_use():
            down = [id(member.backend) in self._down for member in route.judges]
            if all(down) or (route.error is not None and any(down)):
                raise error
        for member in self.routes.judges():
            if member.backend in lost:
                self._gate(member.backend).dismiss(member.id, BackendError(str(error), judge=member.name, fatal=True))
                self.tally.notes[f"{member.name} is left out from here on: {error}"] += 1
        return Failed(str(error))

    def _lost(self, judge: Judge, error: BackendError, count: str) -> BackendError:
        """What ends the use of an endpoint that does not answer."""
        goes_on = "what was done is kept; the same command goes on from there" if self.settings.cache != "off" else ""
        hint = "; ".join(filter(None, (asked_to_wait(error.retry_after), error.hint, goes_on)))
        return BackendError(f"{error} ({count})", judge=judge.name, fatal=True, hint=hint)

    def keep(self, run: int, row: ResultRow, scores: Sequence[ScoreRow]) -> None:
        """Have a result written with the next group."""
        self.tally.kept += 1
        self._writer.result(run, row, scores)

    def _halt(self, error: RagstoneError) -> None:
        """Stop; where a budget is reached, begin no record any more and let those finish that can."""
        if isinstance(error, BudgetReached):
            self.budget.over = self.budget.over or error
        else:
            self._stop = self._stop or error
        self._wake.set()


def _broken(metric: Metric, record: Record, error: Exception) -> tuple[Score, ...]:
    return metric.nothing(record, "judge_failed", f"internal error: {type(error).__name__}: {error}")


def _as_backend_error(error: BackendError | TimeoutError, judge: Judge, deadline: float) -> BackendError:
    if isinstance(error, BackendError):
        return error.with_traceback(None)  # it holds the reply, and who keeps the error, in a circle
    return BackendError(
        f"{judge.name}: no reply within the deadline of {deadline:g} s", judge=judge.name, retryable=True
    )

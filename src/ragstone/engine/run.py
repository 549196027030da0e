"""The only event loop: read records, yield results in input order, in constant memory.

Guarantees: a question that several metrics of a record share is asked once. A record whose evaluation fails gets
scores that say so and does not affect other records. Whatever ends the run, such as a reached budget, finished
results are kept. ``calls`` gets the replies to a question's calls.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ragstone.engine.budget import Budget
from ragstone.engine.calls import Awaited, Calls, Missing
from ragstone.engine.cascading import Answered, in_cascade
from ragstone.engine.document import CallNote, Note, Weighed, result_document, set_aside_document
from ragstone.engine.leases import Lender
from ragstone.engine.repeats import repeated
from ragstone.engine.route import Route, Routes
from ragstone.engine.settings import Limits, Settings
from ragstone.engine.tally import Tally
from ragstone.errors import BudgetReached, RagstoneError
from ragstone.judges.base import Call, Failed, Judge, Reply, Usage, is_steady
from ragstone.judges.panel import combine
from ragstone.metrics.base import Metric
from ragstone.prices import PriceBook
from ragstone.questions import Answer, Question, Rate, Rated, Readout, Write
from ragstone.store.database import ResultRow, ScoreRow, Store
from ragstone.types import Record, Score

_NO_USAGE = Usage(0, 0)
_Told = Mapping[str, Readout]


class Job(Struct, frozen=True):
    """One record with its metrics and their signatures, or the reason why it could not be read.

    ``done`` is the record's result if it already exists. ``again`` holds the calls to ask again, by key, if their
    replies were stored before that time.
    """

    position: int
    id: str
    record: Record | None
    metrics: tuple[tuple[Metric, str], ...] = ()
    error: str = ""
    done: Weighed | None = None
    again: Mapping[bytes, float] | None = None


class Engine:
    """Evaluates records. One engine serves one run in one event loop.

    With ``missing``, calls that a batch can answer are passed to it first, and records for which it raises Awaited are
    left out of the results. With a ``lender``, the limits are shared with other workers.
    """

    def __init__(
        self,
        routes: Routes,
        store: Store,
        prices: PriceBook,
        settings: Settings,
        missing: Missing | None = None,
        lender: Lender | None = None,
    ) -> None:
        self._batched = missing is not None
        self.routes = routes
        self.store = store
        self.settings = settings
        self.tally = Tally()
        limits = Limits() if settings.cache == "offline" else settings.limits  # sends nothing, spends nothing
        self.budget = Budget(limits, prices, routes.judges(), self.tally, kept=settings.cache != "off")
        self._stop: RagstoneError | None = None
        self._once: dict[tuple[Question[Any], int], asyncio.Task[Answered]] = {}
        self._wake = asyncio.Event()
        self._calls = Calls(routes, store, settings, self.budget, self.tally, self._halt, missing, lender)
        self.prepaid = self._calls.prepaid

    async def run(self, jobs: Iterable[Job]) -> AsyncGenerator[Weighed, None]:
        """Yield results in the order of the jobs, then raise the error that ended the run, if any.

        Cancellation works the same way: finished records that wait for an earlier one are yielded first.
        """
        patient = True
        self._calls.begin()
        try:
            async with contextlib.aclosing(self._in_order(iter(jobs), self.routes.abreast())) as results:
                async for weighed in results:
                    if weighed is not None:
                        yield weighed
        except GeneratorExit:  # the consumer wants no more results
            patient = False
            raise
        finally:
            try:
                await self._calls.finish(patient=patient)
            finally:  # even if waiting is interrupted
                await to_its_end(self._calls.end())
        if trouble := self._stop or self.budget.over:
            raise trouble

    async def _in_order(self, jobs: Any, active: int) -> AsyncGenerator[Weighed | None, None]:
        tasks: set[asyncio.Task[None]] = set()
        finished: dict[int, Weighed | None] = {}
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
                # Continue when a budget is reached: later records may need only stored replies.
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
        except (asyncio.CancelledError, RagstoneError) as error:  # cancelled, or a record cannot be read
            ended = error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for number in sorted(finished):
            # After a gap, a cascade has finished only what its first judge was confident of: a biased sample.
            if number == emitted or not self.routes.cascading():
                yield finished[number]
                emitted += 1
        if ended is not None:
            raise ended

    # ---- one record

    async def _job(self, job: Job) -> Weighed | None:
        """Return the result, or None if it needs a reply from a batch."""
        if job.done is not None:
            weighed = job.done
            self.tally.taken_over += 1
        elif job.record is None:
            weighed = set_aside_document(job.id, job.position, job.error)
        else:
            self.budget.begin()
            self._calls.again.update(job.again or {})
            try:
                weighed = await self._record(job.position, job.record, job.metrics)
            except Awaited:
                return None
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
        """Return the record's scores with their calls; ``repeat`` numbers the rounds from 0."""
        asked: dict[Question[Any], asyncio.Task[Answered]] = {}
        try:
            # Several metrics may ask the same question; a single metric has nothing to share.
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
        asked: dict[Question[Any], asyncio.Task[Answered]] | None,
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
                    calls |= {note.key: note for note in answered.notes}
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
        asked: dict[Question[Any], asyncio.Task[Answered]] | None,
        repeat: int,
    ) -> list[Answered]:
        """Return the answers in order; ``asked`` holds the questions that the record's metrics share."""
        if asked is None:
            return await all_of([self._answer(question, repeat) for question in questions])
        tasks = []
        for question in questions:  # hashing is not free: once for the lookup, once for the insert
            task = asked.get(question)
            if task is None:
                task = asked[question] = asyncio.create_task(self._answer(question, repeat))
            tasks.append(task)
        if self._batched:  # collect all missing calls in one batch
            await asyncio.gather(*tasks, return_exceptions=True)
        return [await task for task in tasks]

    async def _answer(self, question: Question[Any], repeat: int) -> Answered:
        route = self.routes.of(question.task)
        if isinstance(question, Write) and question.criterion is not None:
            return await self._common(route.judges[0], question, repeat)
        if len(route.judges) == 1:
            return await self._consult(route.judges[0], question, repeat)
        if route.error is not None:
            assert isinstance(question, Rate), "a cascade rates; the routes are checked before the run"
            return await in_cascade(route, question, repeat, self._consult)
        return await self._panel(route, question, repeat)

    async def _common(self, judge: Judge, question: Question[Any], repeat: int) -> Answered:
        """Ask a question that concerns no single record once per run, with or without a cache.

        Its calls are attributed to the first record that asks.
        """
        if task := self._once.get((question, repeat)):
            return (await asyncio.shield(task))._replace(notes=())
        task = self._once[question, repeat] = asyncio.create_task(self._consult(judge, question, repeat))
        return await asyncio.shield(task)

    async def _panel(self, route: Route, question: Question[Any], repeat: int) -> Answered:
        assert isinstance(question, Rate), "a panel rates; the routes are checked before the run"
        members = await all_of([self._consult(judge, question, repeat) for judge in route.judges])
        answers = []
        for judge, member in zip(route.judges, members, strict=True):
            assert isinstance(member.answer, Rated)
            answers.append((judge.name, member.answer))
        notes = tuple(note for member in members for note in member.notes)
        return Answered(combine(question, answers, route.aggregate, route.weights), notes)

    async def _consult(self, judge: Judge, question: Question[Any], repeat: int) -> Answered:
        # A deterministic judge is asked once, regardless of ``repeat``.
        dialogue = judge.dialogue(question, repeat=0 if is_steady(judge.backend) else repeat)
        answered: list[tuple[Call, Reply | Failed]] = []
        paid: set[bytes] = set()
        try:
            calls = next(dialogue)
            while True:
                replies = await all_of([self._calls.reply(judge, call, paid) for call in calls])
                answered += zip(calls, replies, strict=True)
                calls = dialogue.send(replies)
        except StopIteration as stop:
            answer: Answer = stop.value
            told = {readout.key: readout for readout in answer.readouts}
            return Answered(answer, tuple([self._note(judge, call, reply, told, paid) for call, reply in answered]))

    def _note(self, judge: Judge, call: Call, reply: Reply | Failed, told: _Told, paid: set[bytes]) -> CallNote:
        key = call.key.hex()
        who = key, call.judge, call.task, call.maker
        if isinstance(reply, Failed):
            return CallNote(*who, _NO_USAGE, "failed", 0.0, reply.reason, told.get(key))
        dollars, read = self.budget.cost(judge, reply.usage), told.get(key)
        if call.key in paid and read and not read.read:
            self.tally.unusable.add(reply.usage, dollars)
        return CallNote(*who, reply.usage, reply.finish, dollars, "", read)

    def keep(self, run: int, row: ResultRow, scores: Sequence[ScoreRow]) -> None:
        """Queue a result for the writer."""
        self.tally.kept += 1
        self._calls.writer.result(run, row, scores)

    def _halt(self, error: RagstoneError) -> None:
        """Stop the run. After BudgetReached, start no record, but let those finish that can."""
        if isinstance(error, BudgetReached):
            self.budget.over = self.budget.over or error
        else:
            self._stop = self._stop or error
        self._wake.set()


def _broken(metric: Metric, record: Record, error: Exception) -> tuple[Score, ...]:
    return metric.nothing(record, "judge_failed", f"internal error: {type(error).__name__}: {error}")


async def to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await the work until it is done, then raise the cancellation that arrived meanwhile, if any."""
    task = asyncio.ensure_future(work)
    called_off: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:  # of the caller, or of the task itself, which is then done
            called_off = error
    task.result()
    if called_off is not None:
        raise called_off


async def all_of(coroutines: Sequence[Any]) -> list[Any]:
    """Await all of them concurrently and cancel the rest if one fails; a single one needs no task."""
    if len(coroutines) == 1:
        return [await coroutines[0]]
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException as error:
        for task in tasks if not isinstance(error, Awaited) else ():  # the others may be missing, too
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise

"""Get the reply to each call: from the store, from an identical call in flight, or from the endpoint.

Guarantees: a stored call is not sent again. A call in flight is awaited, even if another process sent it. A reply is
on disk before it is used. A call is retried only while a retry can succeed. An endpoint that is dead or rejects the
key ends the run, unless every panel has another judge. An endpoint that only certain calls fail at is not dead.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from ragstone.engine.budget import Budget, Reservation
from ragstone.engine.claims import Claims, Elsewhere
from ragstone.engine.leases import Borrower, Lender
from ragstone.engine.pace import backoff as _backoff
from ragstone.engine.queue import Queue, Queues, Turn
from ragstone.engine.route import Routes
from ragstone.engine.settings import Settings
from ragstone.engine.tally import Tally
from ragstone.engine.writer import Writer
from ragstone.errors import BackendError, BudgetReached, RagstoneError, StoreError
from ragstone.judges.base import Backend, Call, Failed, Judge, Reply, Shared, Usage, is_inside, reply_from_json
from ragstone.judges.limits import asked_to_wait
from ragstone.questions import SAMPLE
from ragstone.store.database import Store

_NO_USAGE: Final = Usage(0, 0)
_KEY: Final = (401, 402, 403)
"""HTTP statuses that reject the key or its account, so every judge that uses it is affected."""


class Awaited(RagstoneError):  # noqa: N818 - never shown
    """The reply comes with a batch, so the record cannot be finished in this run."""


Missing = Callable[[Judge, Call], Failed | None]
"""Called with each call that a batch can answer. Raises Awaited if one will, returns why none did, None to send it."""


class Flight:
    """One call in flight, in a task of the engine rather than of a record, so that a paid reply is always kept.

    Everyone who waits for it gets the same outcome, and cancelling one waiter does not affect the others.
    ``shared`` is the prompt prefix it has in common with other calls, if any. ``sent`` is true while an attempt is at
    the endpoint. ``holds`` is the queue that counts its reply as unsaved until it is on disk.
    """

    __slots__ = ("holds", "sent", "shared", "task", "waiting")

    def __init__(self, shared: Shared | None = None) -> None:
        self.shared = shared
        self.sent = False
        self.holds: Queue | None = None
        self.task: asyncio.Task[None] | None = None
        self.waiting: list[asyncio.Future[Reply | Failed]] = []

    def landing(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Reply | Failed]:
        """Return a future of the outcome; ``asyncio.shield`` would need three more loop iterations."""
        waiter: asyncio.Future[Reply | Failed] = loop.create_future()
        self.waiting.append(waiter)
        return waiter

    def land(self, outcome: Reply | Failed | BaseException) -> None:
        """Pass the outcome to all waiters."""
        for waiter in self.waiting:
            if waiter.done():  # called off
                continue
            if isinstance(outcome, asyncio.CancelledError):
                waiter.cancel()
            elif isinstance(outcome, BaseException):
                waiter.set_exception(outcome)
            else:
                waiter.set_result(outcome)


class Calls:
    """The calls of one run, in one event loop.

    ``halt`` is called with the error that ends the run. ``missing`` decides on the calls that a batch can answer.
    """

    def __init__(
        self,
        routes: Routes,
        store: Store,
        settings: Settings,
        budget: Budget,
        tally: Tally,
        halt: Callable[[RagstoneError], None],
        missing: Missing | None = None,
        lender: Lender | None = None,
    ) -> None:
        self._missing = missing
        self._lender = lender
        self._routes = routes
        self._store = store
        self._settings = settings
        self._budget = budget
        self._tally = tally
        self._halt = halt
        self.again: dict[bytes, float] = {}
        """Calls to ask again, by key, if their replies were stored before that time."""
        self.prepaid: set[bytes] = set()
        """Keys of the stored replies that this run pays for; each is removed when it is used."""
        self._fresh = settings.since or (time.time() if settings.cache == "refresh" else 0.0)
        self._queues: Queues | None = None
        self._claims = Claims(store, since=self._since)
        self._flying: dict[bytes, Flight] = {}
        self._leading: dict[int, Flight] = {}
        self._opening: dict[int, asyncio.Future[None]] = {}
        self._closing = self._halted = False
        self._failures: dict[int, int] = {}
        self._known: dict[int, Call] = {}
        self._worked: dict[int, float] = {}
        self._checks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._down: dict[int, str] = {}
        self.writer = Writer(store, halt, self._flying, since=self._since)
        self._writing: asyncio.Task[None]
        self._borrower: Borrower | None = None
        self._loop: asyncio.AbstractEventLoop

    def begin(self) -> None:
        """Start the writer and the sharing of calls and limits with other processes."""
        self._loop = asyncio.get_running_loop()
        if self._lender is not None:
            self._borrower = Borrower(self._lender, self._budget, self._tally, self._halt)
        self._writing = self._loop.create_task(self.writer.write())
        if self._settings.cache in ("use", "refresh") and not all(map(is_inside, self._routes.backends())):
            self._claims.open()

    async def end(self) -> None:
        """Close the backends and write everything to disk."""
        opened = [backend for backend in self._routes.backends() if id(backend) in self._opening]
        await asyncio.gather(*(backend.close() for backend in opened), return_exceptions=True)
        self._writing.cancel()
        await asyncio.gather(self._writing, return_exceptions=True)
        await self.writer.write_group()
        self._claims.close()
        if self._borrower is not None:
            await self._borrower.end()

    def _since(self, key: bytes) -> float:
        """Return the time from which a stored reply to the call is used."""
        if not self.again or self._settings.cache == "offline":
            return self._fresh
        return max(self._fresh, self.again.get(key, 0.0))

    async def reply(self, judge: Judge, call: Call, paid: set[bytes]) -> Reply | Failed:
        """Return the reply; if this run pays for the call, add its key to ``paid``."""
        flight = self._flying.get(call.key)
        if flight is not None:
            self._tally.shared += 1
            return await flight.landing(self._loop)
        stored = None if self._settings.cache == "off" else self._store.reply(call.key, since=self._since(call.key))
        if stored is not None:
            self._tally.replayed += 1
            if call.key in self.prepaid:
                self.prepaid.discard(call.key)
                paid.add(call.key)
            self._known[id(judge.backend)] = call
            return reply_from_json(stored)
        if self._settings.cache == "offline" and not is_inside(judge.backend):
            self._tally.unseen += 1
            return Failed(f"offline; the store has no reply from judge '{judge.name}'")
        if self._missing is not None and getattr(judge.backend, "batch", False):
            refused = self._missing(judge, call)
            if refused is not None:
                self._tally.failed += 1
                return refused
        flight = self._flying[call.key] = Flight(self._routes.shared(call))
        flight.task = self._loop.create_task(self._pay(judge, call, flight, paid))
        return await flight.landing(self._loop)

    async def _pay(self, judge: Judge, call: Call, flight: Flight, paid: set[bytes]) -> None:
        """Send a call and resolve its waiters once the reply is on disk."""
        outcome: Reply | Failed | BaseException
        try:
            if flight.shared is not None:
                await self._follow(flight, flight.shared.key)
            sending = partial(self._send, judge, call, flight)
            outcome, elsewhere = await self._claims.once(call.key, sending, self._settings.deadline)
            if elsewhere:
                self._tally.replayed += 1
            elif isinstance(outcome, Reply):
                self._charge(judge, call, outcome.usage)
                paid.add(call.key)
                if self._settings.cache != "off":
                    self.writer.call(call, outcome, lambda kept: self._land(call, flight, kept))
                    return
            else:
                self._tally.failed += not self._halted  # then, it was only called off
        except RagstoneError as error:
            self._tally.failed += isinstance(error, BackendError) and not self._halted
            self._halted = True
            self._halt(error)
            outcome = error
        except asyncio.CancelledError as error:
            self._land(call, flight, error)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: a reply that cannot be written down is its records' trouble
            outcome = error
        self._land(call, flight, outcome)

    async def _follow(self, flight: Flight, prefix: int) -> None:
        """Wait for a call in flight with the same prefix, so that the provider has cached the prefix."""
        first = self._leading.setdefault(prefix, flight)
        if first is not flight and first.task is not None:
            await asyncio.wait([first.task])

    def _land(self, call: Call, flight: Flight, outcome: Reply | Failed | BaseException) -> None:
        del self._flying[call.key]
        self.again.pop(call.key, None)
        if flight.shared is not None and self._leading.get(flight.shared.key) is flight:
            del self._leading[flight.shared.key]
        self._claims.leave(call.key)
        if flight.holds is not None and not isinstance(outcome, StoreError):  # what can't be saved makes room for none
            flight.holds.kept()
        flight.land(outcome)

    async def finish(self, *, patient: bool) -> None:
        """Wait for calls that were sent and cancel those still waiting for a turn."""
        self._closing = True
        tasks = {flight.task: flight for flight in self._flying.values() if flight.task is not None}
        for task, flight in tasks.items():
            if not patient or not flight.sent:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _opened(self, backend: Backend) -> asyncio.Future[None]:
        """Open a backend before its first call, so that a run that never calls it needs no key."""
        opening = self._opening.get(id(backend))
        if opening is None:
            opening = self._opening[id(backend)] = asyncio.ensure_future(backend.open())
        return opening if opening.done() else asyncio.shield(opening)

    def _queue(self, backend: Backend) -> Queue:
        """Return the backend's queue. Queues are built at the first call because grouping needs the API keys."""
        if self._queues is None:
            named = ((judge.backend, judge.name) for judge in self._routes.judges())
            shared = self._borrower is not None
            self._queues = Queues(named, self._settings.dead_after, self._settings.deadline, shared=shared)
            if self._borrower is not None:
                self._borrower.share(self._queues.lent)
            self._tally.limit = self._limit
        return self._queues.of(backend)

    def _limit(self) -> str:
        """Describe what currently limits the run."""
        assert self._queues is not None
        return ", ".join(filter(None, (self._budget.limit(), self._queues.limit())))

    async def _send(self, judge: Judge, call: Call, flight: Flight) -> Reply | Failed:
        """Retry until a reply arrives, an error is final, or the tries or the time run out."""
        backend = judge.backend
        queue = self._queue(backend)
        end: float | None = None
        attempt, tries, failed = 0, 0, 0.0
        while True:
            attempt += 1
            turn: Turn | None = None
            try:
                await self._opened(backend)
                if id(backend) in self._down:  # take no turn from other judges at this endpoint
                    return Failed(self._down[id(backend)])
                queued = self._loop.time()
                # Reserve budget before entering the queue, so that a call waiting for budget occupies no slot.
                async with Reservation(self._budget, judge, call) as reserved:
                    turn = await queue.enter(call)
                    if id(backend) in self._down:
                        return Failed(self._down[id(backend)])
                    self._claims.claim(call.key)
                    # Time spent waiting for a turn or for budget does not count against the call's deadline.
                    begun = self._loop.time()
                    end = begun + self._settings.deadline if end is None else end + begun - queued
                    turn.sent = True
                    reserved.send()
                    reply = await self._attempt(backend, call, flight, begun, min(end, queue.breaker.end or end))
                    reserved.settle(reply.usage, reply.requests)
            except (BudgetReached, Elsewhere):
                raise
            except (BackendError, TimeoutError) as error:
                trouble = error if isinstance(error, BackendError) else self._expired(judge)
                trouble.__traceback__ = None  # break the reference cycle
                self._waste(judge, call, trouble.spent)
                if turn is not None:
                    queue.refused(turn, call, trouble, _backoff)
                    turn = None
                now = self._loop.time()
                if gone := await self._gone(judge, trouble, now):
                    return gone
                tries += not trouble.busy
                failed = failed or self._loop.time()
                pause = max(trouble.retry_after or 0.0, _backoff(attempt))
                late = (
                    queue.breaker.dead(now)
                    or now + max(0.0, pause - queue.pace.paused(self._loop.time())) >= (end or 0.0)
                    or failed < self._worked.get(id(backend), 0.0)  # failed before the check, and fails after it
                )
                if not trouble.retryable or late or tries == self._settings.tries or self._closing:
                    return await self._give_up(judge, trouble, attempt)
                self._tally.retry(trouble, pause)
                await asyncio.sleep(pause)
                end = (end or 0.0) + queue.pace.paused_since(now, self._loop.time())  # nor does a pause of the endpoint
            except Exception as error:  # noqa: BLE001 - the edge: a fault in a backend's code is a failed call
                return Failed(f"{judge.name}: internal error: {type(error).__name__}: {error}")
            else:
                taken, turn = turn, None  # released in _answered
                self._answered(judge, taken, call, flight, reply)
                return reply
            finally:
                if turn is not None:
                    queue.abandoned(turn)

    def _answered(self, judge: Judge, turn: Turn, call: Call, flight: Flight, reply: Reply) -> None:
        queue = self._queue(judge.backend)
        took = self._loop.time() - turn.begun
        self._tally.took(call.judge, call.task, took)
        if queue.shown:
            self.writer.heed(took)
            flight.holds = queue if self._settings.cache != "off" else None
        queue.answered(turn, call, reply, keep=flight.holds is not None)
        self._failures[id(judge.backend)] = 0
        self._known[id(judge.backend)] = call
        for note in reply.notes:
            self._tally.notes[f"{judge.name}: {note}"] += 1

    async def _attempt(self, backend: Backend, call: Call, flight: Flight, begun: float, end: float) -> Reply:
        """Send once; ``flight.sent`` is true meanwhile."""
        flight.sent = True
        request = call if flight.shared is call.shared else replace(call, shared=None)
        try:
            # A backend with a timeout of its own needs no second timer, which costs as much as parsing.
            if backend.timeout is not None and begun + backend.timeout <= end:
                return await backend.send(request)
            async with asyncio.timeout_at(end):
                return await backend.send(request)
        finally:
            flight.sent = False

    async def _gone(self, judge: Judge, error: BackendError, now: float) -> Failed | None:
        """Return the failure of a call if its endpoint is lost, else None."""
        queue, lost = self._queue(judge.backend), error
        try:
            if id(judge.backend) in self._down:
                return self._lose(judge, error)
            if not error.fatal:
                if len(self._flying) == 1 or not queue.breaker.dead(now):  # a single call has nothing to stop
                    return None
                lost = self._lost(judge, error, f"{queue.breaker.failures} attempts in a row failed")
            return None if await self._works(judge, error) else self._lose(judge, lost)
        finally:
            if error.fatal:
                queue.resume()

    async def _works(self, judge: Judge, error: BackendError) -> bool:
        """Return whether the endpoint answers a call that it answered before, so that only certain calls fail.

        Such calls can be all that is left of a run, and would end it each time it is resumed. If it has answered none
        and refuses all, it gets a call about a short text.
        """
        backend, queue = judge.backend, self._queue(judge.backend)
        known = self._known.get(id(backend))
        if known is None and not (error.general and judge.can(SAMPLE.task)):
            return False
        if error.busy or not (error.status or error.lost or error.spent) or self._closing:
            return False
        answered = queue.breaker.answers
        async with self._checks[id(backend)]:
            if id(backend) in self._down:
                return False
            if queue.breaker.answers > answered:  # while this waited
                return True
            turn: Turn | None = None
            try:
                known = known or next(judge.dialogue(SAMPLE))[0]
                if not self._budget.fits(self._budget.worst(judge, known)):  # calls that wait for a turn may hold it
                    queue.resume(for_good=True)
                async with Reservation(self._budget, judge, known) as reserved:
                    turn = await queue.enter(known, first=True)
                    turn.sent = True
                    reserved.send()
                    begun = self._loop.time()
                    reply = await self._attempt(backend, known, Flight(), begun, begun + self._settings.deadline)
                    reserved.settle(reply.usage, reply.requests)
            except Exception as failure:  # noqa: BLE001 - also if the budget or the judge allows no check
                if known is not None:
                    self._waste(judge, known, getattr(failure, "spent", None))
                return False
            else:
                queue.answered(turn, known, reply)
                turn = None
            finally:
                if turn is not None:
                    queue.abandoned(turn)
            self._charge(judge, known, reply.usage)
            self._tally.notes[f"{judge.name}: checked with a call that it can answer"] += 1
            self._failures[id(backend)] = 0
            self._worked[id(backend)] = begun
            queue.resume(for_good=True)
            return True

    def _expired(self, judge: Judge) -> BackendError:
        said = f"{judge.name}: no reply within the deadline of {self._settings.deadline:g} s"
        return BackendError(said, judge=judge.name, retryable=True)

    def _charge(self, judge: Judge, call: Call, usage: Usage) -> None:
        """Put an answered call on the bill."""
        counted = _NO_USAGE if judge.backend.free and usage.input is None else usage
        dollars = self._budget.cost(judge, usage)
        self._tally.pay(call.judge, call.task, counted, dollars, sent=not is_inside(judge.backend))

    def _waste(self, judge: Judge, call: Call, spent: tuple[Any, ...] | None) -> None:
        """Put an attempt on the bill that was charged but gave no answer."""
        if spent is not None:
            usage = Usage(*spent)
            self._tally.waste(call.judge, call.task, usage, self._budget.cost(judge, usage))

    async def _give_up(self, judge: Judge, error: BackendError, attempts: int) -> Failed:
        if error.retryable and not error.busy:  # a 429 says nothing about the endpoint's health
            failures = self._failures[id(judge.backend)] = self._failures.get(id(judge.backend), 0) + 1
            if failures >= self._settings.dead_after and not await self._works(judge, error):
                count = f"{failures} calls in a row failed after up to {self._settings.tries} tries"
                return self._lose(judge, self._lost(judge, error, count))
        tried = f"tried {attempts} times" if attempts > 1 else ""
        if (error.retry_after or 0.0) > self._settings.deadline:
            tried = asked_to_wait(error.retry_after)
        said = _with(error, tried) if tried else str(error)
        if error.too_long and error.hint:  # what to do first: servers describe it at length
            said = f"{error.hint} ({said})"
        elif error.hint and not error.fatal:
            said = f"{said.rstrip('.')}; {error.hint}"
        return Failed(said, too_long=error.too_long)

    def _lose(self, judge: Judge, error: BackendError) -> Failed:
        """Stop using this endpoint. The run continues if every panel has a judge left and no cascade lost one."""
        if id(judge.backend) in self._down:  # by a call that failed at the same time
            return Failed(self._down[id(judge.backend)])
        queues = self._queues
        shared = queues is not None and (not error.status or error.status in _KEY)
        lost = queues.sharing(judge.backend) if queues is not None and shared else [judge.backend]
        self._down.update((id(backend), str(error)) for backend in lost)
        for route in self._routes.in_use():
            down = [id(member.backend) in self._down for member in route.judges]
            if all(down) or (route.error is not None and any(down)):
                raise error
        for member in self._routes.judges():
            if member.backend in lost:
                self._queue(member.backend).dismiss(member.id, BackendError(str(error), judge=member.name, fatal=True))
                self._tally.notes[f"{member.name} is no longer used: {error}"] += 1
        return Failed(str(error))

    def _lost(self, judge: Judge, error: BackendError, count: str) -> BackendError:
        """Return the error for an endpoint that does not answer."""
        kept = self._settings.cache != "off" and self._tally.asked
        goes_on = "finished work is saved; run the same command to resume" if kept else ""
        said = "check the model and the parameters in the judge's table" if error.general else error.hint
        hint = "; ".join(filter(None, (asked_to_wait(error.retry_after), said, goes_on))).replace("?; ", "? ")
        return BackendError(_with(error, count), judge=judge.name, fatal=True, hint=hint)


def _with(error: BackendError, more: str) -> str:
    """Return a message with more in parentheses, in those at its end if there are any."""
    said = str(error)
    return f"{said[:-1]}; {more})" if said.endswith(")") else f"{said} ({more})"

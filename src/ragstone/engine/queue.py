"""The queue of one endpoint: calls wait here for concurrency, rate limits and pauses.

Every attempt of every call enters the queue; between two attempts a call is not in it. Guarantees: turns are granted
first come, first served. A cancelled call takes nobody's turn. A refused call waits alone; other calls wait only if
the endpoint answers none or reports that its limits are used up, and while the first fatal error is checked.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from ragstone.engine.breaker import GRACE, Breaker
from ragstone.engine.pace import Charge, LentWindow, Pace, TokenUse, Width, request_tokens, room
from ragstone.errors import BackendError
from ragstone.judges.base import Allowance, Backend, Call, Limited, RateLimits, Reply, size_of
from ragstone.tokens import Size

TOO_MANY: Final = (429, 503, 529)
"""HTTP statuses of an overloaded endpoint."""
SLOW: Final = 10.0
"""Seconds without a reply after which the progress line says what the run is waiting for."""


class Turn:
    """One attempt that left the queue; it uses up limits only once it is ``sent``."""

    __slots__ = ("begun", "charge", "number", "sent", "variance")

    def __init__(self, begun: float, number: int, charge: Charge, variance: float) -> None:
        self.begun = begun
        self.number = number
        self.charge = charge
        self.variance = variance
        self.sent = False


class Queue:
    """Admit calls to one endpoint, limited in concurrency and rate, and none during a pause.

    ``shown`` tells whether to report its limits; those of a judge on this machine are not reported. A reply frees its
    slot before it is on disk, unless more replies than there are slots are not saved yet: a kill can lose these and the
    calls in flight.
    """

    def __init__(
        self,
        concurrency: int,
        breaker: Breaker,
        *,
        size: Callable[[bytes], Size],
        rpm: int = 0,
        tpm: int = 0,
        shown: bool = True,
        name: str = "",
        shared: bool = False,
    ) -> None:
        self.name = name
        self.shown = shown
        self.width = Width(concurrency)
        self.pace = Pace(rpm, tpm, shared=shared)
        self.tokens = TokenUse(size)
        self.breaker = breaker
        self.unsaved = 0
        self._doubted = self._trusted = False
        self._loop = asyncio.get_running_loop()
        self._clock = self._loop.time
        self._waiting: deque[tuple[asyncio.Future[Turn], Call, bool]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._held = ""
        self._variance = 0.0
        self._out: dict[int, float] = {}
        self._loading = False

    @property
    def in_flight(self) -> int:
        """Return the number of turns taken."""
        return len(self._out)

    async def enter(self, call: Call, *, first: bool = False) -> Turn:
        """Wait for a turn, to be released with ``answered``, ``refused`` or ``abandoned``.

        ``first``: a check, which goes before all others. Raises the error passed to ``dismiss`` if the judge is
        dismissed.
        """
        if (first or not self._waiting) and (turn := self._turn(call, first)) is not None:
            return turn
        place: asyncio.Future[Turn] = self._loop.create_future()
        (self._waiting.appendleft if first else self._waiting.append)((place, call, first))
        try:
            return await place
        except asyncio.CancelledError:
            # The turn was granted just as the call was cancelled.
            if place.done() and not place.cancelled() and place.exception() is None:
                self.abandoned(place.result())
            raise

    def answered(self, turn: Turn, call: Call, reply: Reply, *, keep: bool = False) -> None:
        """Release the turn of a reply; with ``keep``, the reply counts as unsaved until ``kept`` is called."""
        self._left(turn)
        self.unsaved += keep
        self._loading = False
        self.width.grow()
        self.breaker.answered(turn.number)
        tokens = self.tokens.learn(call, reply) if self.pace.counts_tokens else None
        self.pace.settle(turn.charge, tokens=tokens, requests=reply.requests)
        if reply.allowance is not None:
            self.pace.hear(self._clock(), turn.charge, reply.allowance)
        if self._waiting:
            self.let_in()

    def kept(self) -> None:
        """Count a reply as saved, or as one that will never be."""
        self.unsaved -= 1
        if self._waiting and len(self._out) < self.width.now:
            self.let_in()

    def refused(self, turn: Turn, call: Call, error: BackendError, backoff: Callable[[int], float]) -> None:
        """Release the turn of a failed attempt; ``backoff`` maps a number of tries to seconds."""
        now = self._clock()
        self._left(turn)
        self._loading = error.loading
        alone, limited = self.breaker.alone, error.status == 429 and not error.no_capacity
        # A rejected call produced no output; how many tokens a lost call used is unknown.
        self.pace.settle(turn.charge, tokens=request_tokens(call.body) if error.status else None)
        if isinstance(error.allowance, Allowance):
            self.pace.hear(now, turn.charge, error.allowance)
        if error.status in TOO_MANY:
            self.width.fall(f"HTTP {error.status}")
        if error.fatal:
            self._doubted = not self._trusted  # until ``resume``
        elif not error.retryable and (self.breaker.answers or not error.general):  # it works and rejected this request
            self.breaker.answered(turn.number)
        elif self.breaker.failed(turn.number, turn.begun, refused=error.busy, limited=limited) and error.retryable:
            pause = max(error.retry_after or 0.0, backoff(max(1, self.breaker.tries)))
            if not alone:  # a single call says nothing about the width
                self.width.halve()
            self.pace.pause(now, pause)
            self.breaker.again = now + pause
        if self._waiting:
            self.let_in()

    def resume(self, *, for_good: bool = False) -> None:
        """Admit calls again after a fatal error; if the endpoint is lost, they learn of it at their turn.

        ``for_good``: later fatal errors hold no call back, because this endpoint only refuses certain texts, or
        because the check needs budget that waiting calls hold.
        """
        self._doubted, self._trusted = False, self._trusted or for_good
        self.let_in()

    def abandoned(self, turn: Turn) -> None:
        """Release the turn of a call that was cancelled or not sent."""
        if not turn.sent:
            self.pace.take_back(turn.charge)
        self._left(turn)
        if self._waiting:
            self.let_in()

    def dismiss(self, judge: str, word: BackendError) -> None:
        """Fail all waiting calls of this judge with this error."""
        for place, call, _ in self._waiting:
            if call.judge == judge and not place.done():
                place.set_exception(word)

    def limit(self) -> str:
        """Describe what currently holds calls back; empty if nothing does."""
        late = self._clock() - next(iter(self._out.values())) if self._out else 0.0
        waits = f"waiting {late:.0f} s for a reply" if late >= SLOW else ""
        if not self.shown:
            return ""
        if not self._held and not self._loading:
            return waits
        if self.breaker.alone and self.breaker.failures:
            why = "model loading" if self._loading else "every call refused" if self.breaker.refused else "no reply"
            held = f"{why}, retrying one call at a time"
            return f"{held}, next in {left:.0f} s" if (left := self.pace.paused(self._clock())) >= 1 else held
        if self._held == "rpm" and self.pace.requests is not None:
            return _a_minute(self.pace.requests.limit, "request")
        if self._held == "tpm" and self.pace.tokens is not None:
            return _a_minute(self.pace.tokens.limit, "token")
        if self._held in ("requests left", "tokens left"):
            return f"endpoint has no {self._held}"
        if self.width.now < self.width.most:
            return f"concurrency {int(self.width.now)} of {self.width.most} after {self.width.cause}"
        return f"concurrency {self.width.most}" + (f", {waits}" if waits else "")

    # ---- turns

    def _turn(self, call: Call, first: bool) -> Turn | None:
        """Return a turn if one is available now."""
        width = 1 if self.breaker.alone else int(self.width.now)
        in_flight = len(self._out)
        if self._doubted and not first:
            return None
        if in_flight >= width or in_flight + self.unsaved >= width + self.width.most:
            self._held = "concurrency"
            return None
        now = self._clock()
        tokens, variance = self.tokens.of(call) if self.pace.counts_tokens else (0, 0.0)
        wait = self.pace.wait(now, tokens + room(self._variance + variance) if tokens else 0)
        if wait > 0:
            self._held = self.pace.why
            self._look_again(now + wait)
            return None
        self._variance += variance
        if self.breaker.unsure:
            self._loop.call_later(GRACE, self._accepted)
        turn = Turn(now, self.breaker.send(), self.pace.send(now, tokens), variance)
        self._out[turn.number] = now
        return turn

    def _left(self, turn: Turn) -> None:
        del self._out[turn.number]
        self._variance -= turn.variance

    def let_in(self) -> None:
        """Admit the calls that may go now."""
        waiting = self._waiting
        while waiting:
            place, call, first = waiting[0]
            if place.done():  # cancelled while waiting
                waiting.popleft()
                continue
            turn = self._turn(call, first)
            if turn is None:
                return
            waiting.popleft()
            place.set_result(turn)
        self._held = ""

    def _accepted(self) -> None:
        self.breaker.accepted()
        self.let_in()

    def _look_again(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(max(0.0, at - self._clock()), self.let_in)


class Queues:
    """The queue of each backend. Backends with the same address and key share one, with the strictest limits.

    ``lent`` maps endpoint and unit to the limits ``shared`` with other workers.
    """

    def __init__(
        self, backends: Iterable[tuple[Backend, str]], dead_after: int, deadline: float, *, shared: bool = False
    ) -> None:
        groups: dict[str, list[Backend]] = {}
        names: dict[str, str] = {}
        for backend, name in backends:
            key = backend.limits.endpoint if isinstance(backend, Limited) else f"#{id(backend)}"
            groups.setdefault(key, []).append(backend)
            names.setdefault(key, name)
        self._queues: dict[int, Queue] = {}
        self._sharing: dict[int, list[Backend]] = {}
        self.lent: dict[str, tuple[LentWindow, Queue]] = {}
        for key, group in groups.items():
            limits = [backend.limits for backend in group if isinstance(backend, Limited)]
            queue = Queue(
                min(backend.concurrency for backend in group),
                Breaker(dead_after, deadline, wary=bool(limits)),
                size=partial(size_of, group[0]),
                rpm=_strictest(limits, "rpm"),
                tpm=_strictest(limits, "tpm"),
                shown=bool(limits),
                name=names[key],
                shared=shared,
            )
            for unit, window in (("requests", queue.pace.requests), ("tokens", queue.pace.tokens)):
                if isinstance(window, LentWindow):
                    self.lent[f"{key} {unit}"] = window, queue
            for backend in group:
                self._queues[id(backend)] = queue
                self._sharing[id(backend)] = group

    def of(self, backend: Backend) -> Queue:
        """Return the queue of a backend."""
        return self._queues[id(backend)]

    def sharing(self, backend: Backend) -> list[Backend]:
        """List the backends that share this one's queue, itself included."""
        return self._sharing[id(backend)]

    def limit(self) -> str:
        """Describe what currently holds the run back, by judge if there are several; empty if nothing does."""
        queues = list(dict.fromkeys(self._queues.values()))
        held = [(queue.name, limit) for queue in queues if (limit := queue.limit())]
        several = sum(queue.shown for queue in queues) > 1
        return ", ".join(f"{name}: {limit}" if several else limit for name, limit in held)


def _strictest(limits: list[RateLimits], name: str) -> int:
    return min((limit for one in limits if (limit := getattr(one, name))), default=0)


def _a_minute(limit: int, what: str) -> str:
    return f"{limit:,} {what}{'' if limit == 1 else 's'} a minute"

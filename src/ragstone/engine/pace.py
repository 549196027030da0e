"""Rate limits of one endpoint: requests and tokens per minute, and what its headers say is left.

Time is always an argument, in seconds of a monotonic clock. Guarantees: the endpoint never receives more than the
limit in any 60 seconds, even if requests arrive up to half a second late. An unused limit is available at once, in
full. Whatever is held back has a reason.

A request is charged its expected tokens when it is sent, and corrected to what the endpoint counted when the reply
arrives.
"""

from __future__ import annotations

import math
import random
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

from ragstone.judges.base import Allowance, Call, Left, Reply
from ragstone.tokens import Size

MINUTE: Final = 60.0
LATE: Final = 0.5
"""How much later, in seconds, one request may arrive than another; a window is a minute plus this."""
LONGEST_RESET: Final = 60.0
"""Maximum seconds to wait for a used-up allowance. If the reset is a day away, the refused call says so."""

BYTES_PER_TOKEN: Final = 4
CAREFUL: Final = 1.25
"""Factor applied to the tokens estimated from bytes until the endpoint has counted some requests."""
ENOUGH: Final = 16
"""Replies to a step after which its calls are estimated from them."""
MEMORY: Final = 64
"""Approximate number of recent replies that count."""
DEVIATIONS: Final = 6.0
"""Standard deviations of the tokens in flight to keep free."""


class Window:
    """A sliding window: at most ``limit`` in any minute."""

    def __init__(self, limit: int, span: float = MINUTE + LATE) -> None:
        self.limit = limit
        self.span = span
        self.sum = 0
        self._log: deque[list[float]] = deque()

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until ``amount`` fits; 0 if it fits now. An amount above the limit goes alone."""
        log = self._log
        while log and log[0][0] + self.span <= now:
            self.sum -= int(log.popleft()[1])
        room = self.limit - self.sum
        if amount <= room or not log:
            return 0.0
        for at, charged in log:
            room += int(charged)
            if amount <= room:
                return at + self.span - now
        return log[-1][0] + self.span - now

    def charge(self, now: float, amount: int) -> list[float]:
        """Charge ``amount``; return an entry for ``correct`` and ``take_back``."""
        entry = [now, float(amount)]
        self._log.append(entry)
        self.sum += amount
        return entry

    def correct(self, entry: list[float], amount: int) -> None:
        """Correct a charge if it still counts."""
        if self._log and entry[0] >= self._log[0][0]:
            self.sum += amount - int(entry[1])
            entry[1] = float(amount)

    def take_back(self, entry: list[float]) -> None:
        """Remove a charge for what was never sent."""
        log = self._log
        for at in reversed(range(len(log))):
            if log[at] is entry:
                self.sum -= int(entry[1])
                del log[at]
                return


class LentWindow:
    """One worker's part of a shared limit, used like a ``Window``: blocks lent for a short time.

    ``changes`` holds, by block, how much more was used than the lender knows; negative amounts are returned.
    ``margin`` is kept free in addition to what is charged.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.need = self.margin = 0
        self.changes: Counter[int] = Counter()
        self._asked = self._block = self._left = 0
        self._until = 0.0

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until the next check for ``amount``; 0 if it is available now."""
        self._asked = self.need = amount
        return 0.0 if now < self._until and amount <= self._left else MINUTE  # a new block wakes the queue

    def charge(self, _now: float, amount: int) -> list[float]:
        """Charge ``amount`` to the block; return an entry for ``correct`` and ``take_back``."""
        self.margin = max(0, self._asked - amount)
        self._left -= amount
        return [float(self._block), float(amount)]

    def correct(self, entry: list[float], amount: int) -> None:
        """Correct a charge, even of an expired block."""
        change, entry[1] = amount - int(entry[1]), float(amount)
        if entry[0] == self._block:
            self._left -= change
        else:
            self.changes[int(entry[0])] += change

    def take_back(self, entry: list[float]) -> None:
        """Remove a charge for what was never sent."""
        self.correct(entry, 0)

    def lend(self, block: int, amount: int, until: float) -> None:
        """Use a new block until ``until``; return the rest of the previous one."""
        self.close(math.inf)
        self._block, self._left, self._until, self.need = block, amount, until, 0

    def close(self, now: float) -> None:
        """Return the rest of an expired block."""
        if self._block and now >= self._until:
            self.changes[self._block] -= self._left
            self._block = self._left = 0


class Remaining:
    """What the endpoint says is left, minus what was sent since.

    The estimate is conservative: calls in flight when the endpoint counted may be subtracted twice, until their own
    replies report what is left.
    """

    def __init__(self) -> None:
        self.sent = 0
        self._left: float = 0.0
        self._end = 0.0
        self._limit = 0
        self._span = 0.0

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until ``amount`` may be available again."""
        if amount <= self._left:
            return 0.0
        if now < self._end:
            return self._end - now
        if self._limit:  # assume a full allowance until the endpoint reports it
            self._left, self._end = max(self._limit, amount), now + self._span
        return 0.0

    def spend(self, amount: int) -> None:
        """Count what was sent."""
        self.sent += amount
        self._left -= amount

    def hear(self, now: float, left: Left, sent: int) -> None:
        """Update from the endpoint's headers; ``sent`` is the count when that request was sent."""
        self._left = left.amount - (self.sent - sent)
        self._span = min(left.reset, LONGEST_RESET)
        self._end = now + self._span
        self._limit = left.limit


class Charge:
    """What one call was charged when it was sent."""

    __slots__ = ("requests", "sent_requests", "sent_tokens", "tokens")

    def __init__(self) -> None:
        self.requests: list[float] | None = None
        self.tokens: list[float] | None = None
        self.sent_requests = self.sent_tokens = 0


class Pace:
    """The limits of one endpoint and key: the user's ``rpm`` and ``tpm`` (0: none), and the endpoint's own."""

    def __init__(self, rpm: int = 0, tpm: int = 0, *, shared: bool = False) -> None:
        """``shared``: the limits are shared with other workers."""
        window = LentWindow if shared else Window
        self.requests = window(rpm) if rpm else None
        self.tokens = window(tpm) if tpm else None
        self.why = ""
        """Why the last ``wait`` was not 0."""
        self._pause = self._pause_from = 0.0
        self._requests_left: Remaining | None = None
        self._tokens_left: Remaining | None = None

    @property
    def counts_tokens(self) -> bool:
        """Whether the expected tokens of a call matter."""
        return self.tokens is not None or self._tokens_left is not None

    def wait(self, now: float, tokens: int = 0) -> float:
        """Return the seconds until a call of this many tokens may be sent; 0 if now."""
        longest, self.why = self._pause - now, "asked"
        if longest <= 0:
            longest, self.why = 0.0, ""
        if self.requests is not None and (wait := self.requests.wait(now, 1)) > longest:
            longest, self.why = wait, "rpm"
        if self.tokens is not None and (wait := self.tokens.wait(now, tokens)) > longest:
            longest, self.why = wait, "tpm"
        if self._requests_left is not None and (wait := self._requests_left.wait(now, 1)) > longest:
            longest, self.why = wait, "requests left"
        if self._tokens_left is not None and (wait := self._tokens_left.wait(now, tokens)) > longest:
            longest, self.why = wait, "tokens left"
        return longest

    def send(self, now: float, tokens: int = 0) -> Charge:
        """Charge a call sent now."""
        charge = Charge()
        if self.requests is not None:
            charge.requests = self.requests.charge(now, 1)
        if self.tokens is not None:
            charge.tokens = self.tokens.charge(now, tokens)
        if self._requests_left is not None:
            self._requests_left.spend(1)
            charge.sent_requests = self._requests_left.sent
        if self._tokens_left is not None:
            self._tokens_left.spend(tokens)
            charge.sent_tokens = self._tokens_left.sent
        return charge

    def settle(self, charge: Charge, *, tokens: int | None = None, requests: int = 1) -> None:
        """Correct the charge of an answered call; None keeps the estimate."""
        if requests > 1 and self.requests is not None and charge.requests is not None:
            self.requests.correct(charge.requests, requests)
        if tokens is not None and self.tokens is not None and charge.tokens is not None:
            self.tokens.correct(charge.tokens, tokens)

    def take_back(self, charge: Charge) -> None:
        """Remove the charge of a call that was never sent; the endpoint's next headers correct the rest."""
        if self.requests is not None and charge.requests is not None:
            self.requests.take_back(charge.requests)
        if self.tokens is not None and charge.tokens is not None:
            self.tokens.take_back(charge.tokens)

    def hear(self, now: float, charge: Charge, said: Allowance) -> None:
        """Update from what the endpoint said is left in its reply to the call with this charge."""
        if said.requests is not None:
            if self._requests_left is None:
                self._requests_left = Remaining()
            self._requests_left.hear(now, said.requests, charge.sent_requests)
        if said.tokens is not None:
            if self._tokens_left is None:
                self._tokens_left = Remaining()
            self._tokens_left.hear(now, said.tokens, charge.sent_tokens)

    def pause(self, now: float, seconds: float) -> None:
        """Pause all calls because the endpoint answers none."""
        if now >= self._pause:
            self._pause_from = now
        self._pause = max(self._pause, now + seconds)

    def paused(self, now: float) -> float:
        """Return the seconds left of a pause."""
        return max(0.0, self._pause - now)

    def paused_since(self, then: float, now: float) -> float:
        """Return how many seconds of the last pause came after ``then``."""
        return max(0.0, min(now, self._pause) - max(then, self._pause_from))


class Width:
    """Number of concurrent calls: up to ``most``, fewer while the endpoint refuses calls.

    A refusal removes half a slot, so a round in which every call is refused halves the width. As many answers as there
    are slots add four slots, and one answer never more than one. If a share s of calls is refused at any width, the
    width settles at 8 (1 - s) / s: one random refusal in ten does not reduce a width of 64. A pause halves the width.
    """

    FALL: Final = 0.5
    GROWTH: Final = 4.0

    def __init__(self, most: int) -> None:
        self.most = most
        self.now: float = most
        self.cause = ""

    def grow(self) -> None:
        """Widen after an answer."""
        if self.now < self.most:
            self.now = min(self.most, self.now + min(1.0, self.GROWTH / self.now))

    def fall(self, cause: str) -> None:
        """Narrow after a refusal because of too many calls."""
        self.now = max(1.0, self.now - self.FALL)
        self.cause = cause

    def halve(self) -> None:
        """Halve while no call is answered."""
        self.now = max(1.0, self.now / 2)


def backoff(attempt: int) -> float:
    """Return the seconds before the next try: 0.5, 1, 2, … up to 20, times a random factor of 0.5 to 1."""
    return min(20.0, 0.5 * 2.0 ** min(attempt - 1, 6)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not secrets


# ---- tokens per call


def request_tokens(body: bytes) -> int:
    """Estimate the tokens of a request."""
    return len(body) // BYTES_PER_TOKEN + 1


class RunningFit:
    """Least-squares line through the latest points (x, y), and their scatter about it.

    Exact for the first ``MEMORY`` points; after that, older ones fade.
    """

    __slots__ = ("count", "together", "x", "xx", "y", "yy")

    def __init__(self) -> None:
        self.count = 0
        self.x = self.y = 0.0
        self.xx = self.yy = self.together = 0.0

    def add(self, x: float, y: float) -> None:
        """Add a point (West 1979, with a lower bound on the weight)."""
        self.count = min(self.count + 1, MEMORY)
        weight, dx, dy = 1 / self.count, x - self.x, y - self.y
        self.x += weight * dx
        self.y += weight * dy
        self.xx = (1 - weight) * (self.xx + weight * dx * dx)
        self.yy = (1 - weight) * (self.yy + weight * dy * dy)
        self.together = (1 - weight) * (self.together + weight * dx * dy)

    def at(self, x: float) -> tuple[float, float]:
        """Return the expected value at x and its variance; above the mean, at least proportional to x."""
        proportion = self.y / self.x if self.x else 0.0
        if self.xx <= (0.01 * self.x) ** 2:  # too similar for a slope
            return x * proportion, self.yy
        slope = min(max(0.0, self.together / self.xx), 2 * proportion)
        scatter = self.yy - 2 * slope * self.together + slope * slope * self.xx
        return max(self.y + slope * (x - self.x), x * proportion if x > self.x else 0.0), max(0.0, scatter)


class TokenUse:
    """Expected tokens per call, by judge and step, learned from the latest replies.

    They are estimated from the bytes of a request, together with their variance, so that one margin covers all calls
    in flight. Before ``ENOUGH`` replies, the longest reply that a request allows is reserved.
    """

    def __init__(self, size: Callable[[bytes], Size]) -> None:
        self._size = size
        self._lines: dict[tuple[str, str], RunningFit] = {}

    def of(self, call: Call) -> tuple[int, float]:
        """Return the expected tokens of a call with its reply, and their variance."""
        request = request_tokens(call.body)
        line = self._lines.get((call.judge, call.task))
        if line is None or line.count < ENOUGH:
            return int(request * CAREFUL) + (self._size(call.body).reply or 0), 0.0
        expected, variance = line.at(request)
        # Calls that have all been alike so far may still differ later.
        return math.ceil(expected), max(variance, (0.02 * expected + 4) ** 2)

    def learn(self, call: Call, reply: Reply) -> int:
        """Learn from a reply; return its tokens as counted by the endpoint, else as estimated from bytes."""
        reckoned = request_tokens(call.body)
        usage = reply.usage
        request = reckoned if usage.input is None else usage.input
        written = usage.output
        if written is None:
            written = request_tokens((reply.text + reply.reasoning).encode("utf-8", "replace"))
        step = (call.judge, call.task)
        if step not in self._lines:
            self._lines[step] = RunningFit()
        self._lines[step].add(reckoned, request + written)
        return request + written


def room(variance: float) -> int:
    """Return the tokens to keep free for calls in flight with this total variance."""
    return math.ceil(DEVIATIONS * math.sqrt(max(0.0, variance)))

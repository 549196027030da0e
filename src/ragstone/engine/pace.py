"""When the next call to an endpoint may go: limits by the minute, and what the endpoint itself asks for.

Pure in time: every method is told what time it is, in seconds of any clock that does not go back. Promises:
never more than the limit in any 60 seconds, as the endpoint sees them arrive up to half a second late; a limit
that has not been used is there at once, whole; and what is held back knows why.

A request is charged when it is sent, with what it is expected to cost; when the reply has come the charge
becomes what the endpoint counted.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Final

from ragstone.judges.base import Allowance, Left

MINUTE: Final = 60.0
LATE: Final = 0.5
"""Seconds that a request may take to arrive longer than another: a limit's window is so much longer than a minute."""
LONGEST_RESET: Final = 60.0
"""The most seconds that a used-up allowance is waited for. Some resets are a day's; what is asked then says so."""


class Window:
    """At most ``limit`` in any minute: a log of what was charged, each for as long as it counts."""

    def __init__(self, limit: int, span: float = MINUTE + LATE) -> None:
        self.limit = limit
        self.span = span
        self.sum = 0
        self._log: deque[list[float]] = deque()

    def wait(self, now: float, amount: int) -> float:
        """Seconds until so much more fits, 0 for now; what never could goes alone, when nothing else counts."""
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
        """Count so much from now on; the entry is for ``correct``."""
        entry = [now, float(amount)]
        self._log.append(entry)
        self.sum += amount
        return entry

    def correct(self, entry: list[float], amount: int) -> None:
        """Say what a charge turned out to be. One that counts no more is left as it is."""
        if self._log and entry[0] >= self._log[0][0]:
            self.sum += amount - int(entry[1])
            entry[1] = float(amount)

    def take_back(self, entry: list[float]) -> None:
        """Forget a charge for what was never sent."""
        log = self._log
        for at in reversed(range(len(log))):
            if log[at] is entry:
                self.sum -= int(entry[1])
                del log[at]
                return


class Account:
    """What the endpoint says is left, less what was sent since the request whose reply said so.

    The count is on the careful side: what was on its way when the endpoint counted may be taken off twice, until
    its own reply says what is left then.
    """

    def __init__(self) -> None:
        self.sent = 0
        self._left: float = 0.0
        self._end = 0.0
        self._limit = 0
        self._span = 0.0

    def wait(self, now: float, amount: int) -> float:
        """Seconds until there may be so much left again."""
        if amount <= self._left:
            return 0.0
        if now < self._end:
            return self._end - now
        if self._limit:  # whole again, and no more than that until the endpoint says how much
            self._left, self._end = max(self._limit, amount), now + self._span
        return 0.0

    def spend(self, amount: int) -> None:
        """Something was sent."""
        self.sent += amount
        self._left -= amount

    def hear(self, now: float, left: Left, sent: int) -> None:
        """The endpoint's word, in the reply to a request after which ``sent`` stood where it was."""
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

    def __init__(self, rpm: int = 0, tpm: int = 0) -> None:
        self.requests = Window(rpm) if rpm else None
        self.tokens = Window(tpm) if tpm else None
        self.why = ""
        """Why the last ``wait`` was not 0."""
        self._pause = self._pause_from = 0.0
        self._requests_left: Account | None = None
        self._tokens_left: Account | None = None

    @property
    def counts_tokens(self) -> bool:
        """Whether it matters how many tokens a call is expected to take."""
        return self.tokens is not None or self._tokens_left is not None

    def wait(self, now: float, tokens: int = 0) -> float:
        """Seconds until a call of so many tokens may be sent, 0 for now; not before is it worth asking again."""
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
        """A call goes out."""
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
        """A call came back: what it took; None where that is not known and the charge stands."""
        if requests > 1 and self.requests is not None and charge.requests is not None:
            self.requests.correct(charge.requests, requests)
        if tokens is not None and self.tokens is not None and charge.tokens is not None:
            self.tokens.correct(charge.tokens, tokens)

    def take_back(self, charge: Charge) -> None:
        """The call was never sent. What the endpoint says is left is put right by its next word."""
        if self.requests is not None and charge.requests is not None:
            self.requests.take_back(charge.requests)
        if self.tokens is not None and charge.tokens is not None:
            self.tokens.take_back(charge.tokens)

    def hear(self, now: float, charge: Charge, said: Allowance) -> None:
        """What the endpoint said is left, in its reply to the call of this charge."""
        if said.requests is not None:
            if self._requests_left is None:
                self._requests_left = Account()
            self._requests_left.hear(now, said.requests, charge.sent_requests)
        if said.tokens is not None:
            if self._tokens_left is None:
                self._tokens_left = Account()
            self._tokens_left.hear(now, said.tokens, charge.sent_tokens)

    def pause(self, now: float, seconds: float) -> None:
        """Send nothing for so long: the endpoint answers nobody."""
        if now >= self._pause:
            self._pause_from = now
        self._pause = max(self._pause, now + seconds)

    def paused(self, now: float) -> float:
        """Seconds that are left of a pause."""
        return max(0.0, self._pause - now)

    def paused_since(self, then: float, now: float) -> float:
        """How many of the seconds since then were of the last pause."""
        return max(0.0, min(now, self._pause) - max(then, self._pause_from))


class Width:
    """How many calls at a time: up to ``most``; less while the endpoint refuses calls, and then more again.

    A refusal takes half a place away, so that a round in which all are refused halves the width. Answers give back
    four places for as many answers as there are places, and never more than one each. Where a share s of calls is
    refused at any width, that settles at 8 (1 - s) / s places: one in ten at random costs a width of 64 nothing.
    A pause halves it.
    """

    FALL: Final = 0.5
    GROWTH: Final = 4.0

    def __init__(self, most: int) -> None:
        self.most = most
        self.now: float = most
        self.cause = ""

    def grow(self) -> None:
        """A call was answered."""
        if self.now < self.most:
            self.now = min(self.most, self.now + min(1.0, self.GROWTH / self.now))

    def fall(self, cause: str) -> None:
        """A call was refused because there are too many."""
        self.now = max(1.0, self.now - self.FALL)
        self.cause = cause

    def halve(self) -> None:
        """Nobody is answered."""
        self.now = max(1.0, self.now / 2)


def backoff(attempt: int) -> float:
    """Seconds before the next try: 0.5, 1, 2, … up to 20, each times 0.5 to 1 so that retries do not march in step."""
    return min(20.0, 0.5 * 2.0 ** min(attempt - 1, 6)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not secrets

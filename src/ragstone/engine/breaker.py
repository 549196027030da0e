"""Circuit breaker of one endpoint: send one call alone until it answers, and again when the endpoint fails.

Pure in time, as ``pace``. Promises: a refused key is heard from one call before others are sent; an endpoint that
stops to answer, or refuses every call, is asked by one call at a time, with growing pauses. One that goes on not to
answer is dead after ``dead_after`` such tries, or when it has not answered anybody for as long as a call may take;
one that refuses every call, only then. Failures of some calls while others are taken hold up nobody.
"""

from __future__ import annotations

from typing import Final

GRACE: Final = 0.5
"""Seconds after which a first call that was not refused lets others follow: keys are refused at once."""
DOUBT: Final = 2
"""So many times ``dead_after`` attempts that fail, and none that is answered, and calls go one at a time."""
NEARLY: Final = 0.8
"""The share of attempts that is as good as all."""


class Breaker:
    """State of one endpoint. ``wary``: send the first call alone.

    Attempts are numbered as they are sent. Failures come at once and answers late, so that many failures in a row say
    nothing. What counts is those that were sent after the last one that was answered and before the last one that
    failed: where nearly all of them failed, the endpoint answers nobody; those that still wait were taken.
    """

    def __init__(self, dead_after: int, deadline: float, *, wary: bool) -> None:
        self.dead_after = dead_after
        self.deadline = deadline
        self.alone = wary
        self.tries = 0
        """Attempts that were made alone and brought no answer."""
        self.refusals = 0
        """Those among them that the endpoint refused because it has too many calls."""
        self._sent = self._answered = self._last = self._alone_from = 0
        self.refused = False
        """Whether the last attempt that failed was one of them."""
        self.again = 0.0
        """When the pause ends, if there is one."""
        self._failed: dict[int, float] = {}

    @property
    def failures(self) -> int:
        """Count the failed attempts among those sent after the last one that was answered."""
        return len(self._failed)

    @property
    def unsure(self) -> bool:
        """Whether one call goes alone only because none was answered yet."""
        return self.alone and self.tries == self.refusals and not self._silent

    def send(self) -> int:
        """Return the number of a new attempt, for ``answered`` or ``failed``."""
        self._sent += 1
        return self._sent

    def answered(self, number: int) -> None:
        """Note that the endpoint answered, even if it rejected this request."""
        if number <= self._answered:
            return
        self._answered = number
        if self._failed:
            self._failed = {one: begun for one, begun in self._failed.items() if one > number}
        if not self._silent:
            self.alone = False
            self.tries = self.refusals = 0

    def accepted(self) -> None:
        """Let other calls follow: the first was not refused for a while."""
        if self.unsure:
            self.alone = False

    def failed(self, number: int, begun: float, *, refused: bool = False) -> bool:
        """Note a failed attempt; return whether all calls should pause.

        ``refused``: the endpoint is there, and has too many calls. That the first call alone failed is no outage yet:
        the next one goes at once, alone too.
        """
        if number > self._answered:
            self._failed[number] = begun
            self._last = max(self._last, number)
            self.refused = refused
            if self.alone and number > self._alone_from:  # else it was on its way before
                self.tries += 1
                self.refusals += refused
            elif self._silent and not self.alone:
                self.alone = True
                self._alone_from = self._sent
        return self.alone and (self._silent or self.tries - self.refusals > 1)

    def dead(self, now: float) -> bool:
        """Return whether to give up on the endpoint."""
        if self.tries - self.refusals > self.dead_after:
            return True
        return self._silent and max(now, self.again) >= self._since + self.deadline

    @property
    def end(self) -> float | None:
        """Deadline of a call that is tried alone; None while the endpoint may still answer."""
        return self._since + self.deadline if self.alone and self._silent and not self.refused else None

    @property
    def _silent(self) -> bool:
        """Whether the endpoint answers no call."""
        return self.failures >= max(DOUBT * self.dead_after, NEARLY * (self._last - self._answered))

    @property
    def _since(self) -> float:
        return next(iter(self._failed.values()))

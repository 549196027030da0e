"""Circuit breaker of one endpoint: send a single call until it is answered, and again when the endpoint fails.

Time is always an argument, as in ``pace``. Guarantees: a rejected key is noticed with one call, before others are
sent. An endpoint that stops answering or refuses every call gets one call at a time, with growing pauses. It is dead
if it has answered nothing for as long as a call may take or, unless it is overloaded, after ``dead_after`` single
tries. One that has never answered and limits every call is dead after ``PATIENCE``, when a limit per minute would have
let one pass. If only some calls fail, nothing is held back.
"""

from __future__ import annotations

from typing import Final

GRACE: Final = 0.5
"""Seconds after which other calls follow a first call that was not refused: keys are rejected immediately."""
DOUBT: Final = 2
"""Calls go one at a time after this many times ``dead_after`` failures without an answer."""
PATIENCE: Final = 90.0
"""Seconds for which an endpoint that has answered nothing may refuse every call with HTTP 429."""
NEARLY: Final = 0.8
"""The share of failed attempts that counts as all."""


class Breaker:
    """State of one endpoint. ``wary``: send the first call alone.

    Attempts are numbered in the order they are sent. Failures arrive early and answers late, so many consecutive
    failures prove nothing. Only attempts sent after the last answered one and before the last failed one count: if
    nearly all of them failed, the endpoint answers no calls. Those still waiting were accepted.
    """

    def __init__(self, dead_after: int, deadline: float, *, wary: bool) -> None:
        self.dead_after = dead_after
        self.deadline = deadline
        self.alone = wary
        self.tries = 0
        """Single attempts without an answer."""
        self.refusals = 0
        """Those of them that the endpoint refused because it was overloaded."""
        self.answers = 0
        """Number of answers so far."""
        self._sent = self._answered = self._last = self._alone_from = 0
        self.refused = False
        """Whether the last failed attempt was refused because of overload."""
        self._limited = False
        self.again = 0.0
        """When the current pause ends."""
        self._failed: dict[int, float] = {}

    @property
    def failures(self) -> int:
        """Return the number of failed attempts sent after the last answered one."""
        return len(self._failed)

    @property
    def unsure(self) -> bool:
        """Whether calls go one at a time only because none has been answered yet."""
        return self.alone and self.tries == self.refusals and not self._silent

    def send(self) -> int:
        """Return the number of a new attempt, to pass to ``answered`` or ``failed``."""
        self._sent += 1
        return self._sent

    def answered(self, number: int) -> None:
        """Record that the endpoint answered, even if it rejected this one request."""
        self.answers += 1
        if number <= self._answered:
            return
        self._answered = number
        if self._failed:
            self._failed = {one: begun for one, begun in self._failed.items() if one > number}
        if not self._silent:
            self.alone = False
            self.tries = self.refusals = 0

    def accepted(self) -> None:
        """Let other calls follow because the first was not refused within ``GRACE``."""
        if self.unsure:
            self.alone = False

    def failed(self, number: int, begun: float, *, refused: bool = False, limited: bool = False) -> bool:
        """Record a failed attempt; return whether all calls should pause.

        ``refused``: the endpoint is up but overloaded; ``limited``: it says that this key makes too many calls. A
        failed first call is not an outage yet: the next one is sent at once, again alone.
        """
        if number > self._answered:
            self._failed[number] = begun
            self._last = max(self._last, number)
            self.refused, self._limited = refused, limited
            if self.alone and number > self._alone_from:  # not one sent before
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
        if self._limited and self.failures == self._sent and now >= self._since + PATIENCE:
            return True
        return self._silent and max(now, self.again) >= self._since + self.deadline

    @property
    def end(self) -> float | None:
        """The deadline of a single call; None while the endpoint may still answer."""
        return self._since + self.deadline if self.alone and self._silent and not self.refused else None

    @property
    def _silent(self) -> bool:
        """Whether the endpoint answers no calls."""
        return self.failures >= max(DOUBT * self.dead_after, NEARLY * (self._last - self._answered))

    @property
    def _since(self) -> float:
        return next(iter(self._failed.values()))

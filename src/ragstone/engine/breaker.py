"""Whether an endpoint is worth sending many calls to: one is sent alone until it answers, and again when it fails.

Pure in time, as ``pace``. Promises: a refused key is heard from one call before others are sent; an endpoint that
stops to answer is asked by one call at a time, with growing pauses; one that goes on not to answer is dead after
``dead_after`` such tries, or when it has not answered anybody for as long as a call may take.
"""

from __future__ import annotations

from typing import Final

GRACE: Final = 0.5
"""Seconds after which a first call that was not refused lets others follow: keys are refused at once."""
DOUBT: Final = 2
"""So many times ``dead_after`` attempts in a row that fail, and calls go one at a time."""


class Breaker:
    """The trust in one endpoint. ``wary``: the first call goes alone."""

    def __init__(self, dead_after: int, deadline: float, *, wary: bool) -> None:
        self.dead_after = dead_after
        self.deadline = deadline
        self.alone = wary
        self.failures = 0
        """Attempts in a row that brought no answer."""
        self.tries = 0
        """Those among them that were made alone."""
        self._since = 0.0
        self._alone_since = 0.0

    def answered(self) -> None:
        """The endpoint answered, if only with a refusal."""
        self.alone = False
        self.failures = self.tries = 0

    def accepted(self) -> None:
        """The first call has not been refused for a while: others may follow."""
        if not self.failures:
            self.alone = False

    def failed(self, begun: float, now: float) -> bool:
        """An attempt brought no answer. Returns whether a pause is in order before anybody's next."""
        if not self.failures:
            self._since = begun
        self.failures += 1
        if self.alone:
            self.tries += begun >= self._alone_since  # others were on their way before
        elif self.failures >= DOUBT * self.dead_after:
            self.alone = True
            self._alone_since = now
        return self.alone

    def dead(self, now: float) -> bool:
        """Whether the endpoint is to be given up."""
        if self.tries > self.dead_after:
            return True
        return self.failures >= DOUBT * self.dead_after and now >= self._since + self.deadline

    @property
    def end(self) -> float | None:
        """When a try that is made alone has to be over; None if that is not near."""
        return self._since + self.deadline if self.alone and self.failures >= DOUBT * self.dead_after else None

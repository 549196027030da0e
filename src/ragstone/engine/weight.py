"""How many tokens a call is going to take, before it is sent: what limits by the minute are held with.

It is reckoned from the bytes of its request, by the latest calls of the same step, with how far they scatter, so
that room can be kept for all calls that are on their way together: what one takes more, another takes less. Until
some replies have come, as many tokens as the request allows are kept free for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from ragstone.judges.base import Call, Reply
from ragstone.tokens import Size

BYTES_PER_TOKEN: Final = 4
CAREFUL: Final = 1.25
"""How many times more tokens than its bytes say a request is taken to have until the endpoint has counted some."""
ENOUGH: Final = 16
"""Replies to a step after which its next is reckoned from them."""
MEMORY: Final = 64
"""About how many of the latest replies count."""
DEVIATIONS: Final = 6.0
"""How many standard deviations of what is on its way are kept free."""


def request_tokens(body: bytes) -> int:
    """About how many tokens a request has."""
    return len(body) // BYTES_PER_TOKEN + 1


class Line:
    """The line through the latest points (x, y), by least squares, and how far they scatter about it.

    Exact for the first ``MEMORY`` points, then older ones fade.
    """

    __slots__ = ("count", "together", "x", "xx", "y", "yy")

    def __init__(self) -> None:
        self.count = 0
        self.x = self.y = 0.0
        self.xx = self.yy = self.together = 0.0

    def add(self, x: float, y: float) -> None:
        """Take in another point (West 1979, with a weight that stops to fall)."""
        self.count = min(self.count + 1, MEMORY)
        weight, dx, dy = 1 / self.count, x - self.x, y - self.y
        self.x += weight * dx
        self.y += weight * dy
        self.xx = (1 - weight) * (self.xx + weight * dx * dx)
        self.yy = (1 - weight) * (self.yy + weight * dy * dy)
        self.together = (1 - weight) * (self.together + weight * dx * dy)

    def at(self, x: float) -> tuple[float, float]:
        """What is to be expected there, and the variance of that; beyond the mean not less than in proportion to x."""
        proportion = self.y / self.x if self.x else 0.0
        if self.xx <= (0.01 * self.x) ** 2:  # too much alike to tell a slope
            return x * proportion, self.yy
        slope = min(max(0.0, self.together / self.xx), 2 * proportion)
        scatter = self.yy - 2 * slope * self.together + slope * slope * self.xx
        return max(self.y + slope * (x - self.x), x * proportion if x > self.x else 0.0), max(0.0, scatter)


class Weight:
    """What calls take, by step, learned from the replies."""

    def __init__(self, size: Callable[[bytes], Size]) -> None:
        self._size = size
        self._lines: dict[tuple[str, str], Line] = {}

    def of(self, call: Call) -> tuple[int, float]:
        """The tokens that the call is expected to take, its reply with it, and the variance of that."""
        request = request_tokens(call.body)
        line = self._lines.get((call.judge, call.task))
        if line is None or line.count < ENOUGH:
            return int(request * CAREFUL) + (self._size(call.body).reply or 0), 0.0
        expected, variance = line.at(request)
        # Calls that were all alike so far may differ yet.
        return math.ceil(expected), max(variance, (0.02 * expected + 4) ** 2)

    def learn(self, call: Call, reply: Reply) -> int:
        """Take in what a call took, and return it: as the endpoint counted it, else by its bytes."""
        reckoned = request_tokens(call.body)
        usage = reply.usage
        request = reckoned if usage.input is None else usage.input
        written = usage.output
        if written is None:
            written = request_tokens((reply.text + reply.reasoning).encode("utf-8", "replace"))
        step = (call.judge, call.task)
        if step not in self._lines:
            self._lines[step] = Line()
        self._lines[step].add(reckoned, request + written)
        return request + written


def room(variance: float) -> int:
    """Tokens to keep free for calls on their way whose variances add up to this."""
    return math.ceil(DEVIATIONS * math.sqrt(max(0.0, variance)))

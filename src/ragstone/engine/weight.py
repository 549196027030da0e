"""How many tokens a call is going to take, before it is sent: what limits by the minute are held with.

The request is reckoned from its bytes and its reply from the latest replies to the same step, each with how far
they scatter, so that room can be kept for all calls that are on their way together: what one takes more, another
takes less. Until some replies have come, as many tokens as the request allows are kept free for each.
"""

from __future__ import annotations

import math
from typing import Final

import orjson

from ragstone.judges.base import Call, Reply

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


class Moving:
    """Mean and variance of the latest values: exact for the first ``MEMORY``, then older ones fade."""

    __slots__ = ("count", "mean", "variance")

    def __init__(self) -> None:
        self.count = 0
        self.mean = self.variance = 0.0

    def add(self, value: float) -> None:
        """Take in another value (West 1979, with a weight that stops to fall)."""
        self.count = min(self.count + 1, MEMORY)
        step = (value - self.mean) / self.count
        self.variance = (1 - 1 / self.count) * (self.variance + (value - self.mean) * step)
        self.mean += step


class Weight:
    """What calls take, by step, learned from the replies."""

    def __init__(self) -> None:
        self._replies: dict[tuple[str, str], Moving] = {}
        self._ratios: dict[tuple[str, str], Moving] = {}

    def of(self, call: Call) -> tuple[int, float]:
        """The tokens that the call is expected to take, its reply with it, and the variance of that."""
        step = (call.judge, call.task)
        request = request_tokens(call.body)
        reply = self._replies.get(step)
        if reply is None or reply.count < ENOUGH:
            return int(request * CAREFUL) + _allowed(call.body), 0.0
        ratio = self._ratios[step]
        # Replies that were all alike so far may differ yet.
        scatter = max(reply.variance, (0.1 * reply.mean + 4) ** 2)
        return math.ceil(request * ratio.mean + reply.mean), scatter + request * request * ratio.variance

    def learn(self, call: Call, reply: Reply) -> int:
        """Take in what a call took, and return it: as the endpoint counted it, else by its bytes."""
        step = (call.judge, call.task)
        if step not in self._replies:
            self._replies[step], self._ratios[step] = Moving(), Moving()
        reckoned = request_tokens(call.body)
        usage = reply.usage
        request = reckoned if usage.input is None else usage.input
        written = usage.output
        if written is None:
            written = request_tokens((reply.text + reply.reasoning).encode("utf-8", "replace"))
        self._replies[step].add(written)
        self._ratios[step].add(request / reckoned)
        return request + written


def room(variance: float) -> int:
    """Tokens to keep free for calls on their way whose variances add up to this."""
    return math.ceil(DEVIATIONS * math.sqrt(max(0.0, variance)))


def _allowed(body: bytes) -> int:
    """The most tokens that a request lets its reply have; 0 where it does not say."""
    request = orjson.loads(body)
    limit = request.get("max_completion_tokens", request.get("max_tokens"))
    return limit if isinstance(limit, int) else 0

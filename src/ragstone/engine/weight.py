"""How many tokens a call is going to take, before it is sent: what limits by the minute are held with.

The request is estimated from its bytes, its reply from the replies to the same step before; both are put on the
careful side by the largest of the latest calls. Until the first reply has come, as many tokens as the request
allows for are kept free for it.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import orjson

from ragstone.judges.base import Call, Reply

BYTES_PER_TOKEN: Final = 4
LATEST: Final = 64
"""How many of the latest replies to a step are looked at."""
ROOM: Final = 1.25
"""How much longer than the longest of those a reply may be without having been reckoned with."""


def request_tokens(body: bytes) -> int:
    """About how many tokens a request has."""
    return len(body) // BYTES_PER_TOKEN + 1


class Weight:
    """What calls take, by step, learned from the replies."""

    def __init__(self) -> None:
        self._replies: dict[tuple[str, str], deque[int]] = {}
        self._ratios: dict[tuple[str, str], deque[float]] = {}

    def of(self, call: Call) -> int:
        """The most tokens that the call is expected to take, its reply with it."""
        step = (call.judge, call.task)
        request = request_tokens(call.body) * max(self._ratios.get(step, (1.0,)))
        seen = self._replies.get(step)
        return int(request + (max(seen) * ROOM if seen else _allowed(call.body))) + 1

    def learn(self, call: Call, reply: Reply) -> int:
        """Take in what a call took, and return it: as the endpoint counted it, else by its bytes."""
        step = (call.judge, call.task)
        estimate = request_tokens(call.body)
        usage = reply.usage
        request = estimate if usage.input is None else usage.input
        written = usage.output
        if written is None:
            written = request_tokens((reply.text + reply.reasoning).encode("utf-8", "replace"))
        self._replies.setdefault(step, deque(maxlen=LATEST)).append(written)
        self._ratios.setdefault(step, deque(maxlen=LATEST)).append(request / estimate)
        return request + written


def _allowed(body: bytes) -> int:
    """The most tokens that a request lets its reply have; 0 where it does not say."""
    request = orjson.loads(body)
    limit = request.get("max_completion_tokens", request.get("max_tokens"))
    return limit if isinstance(limit, int) else 0

"""A call on its way: the engine's and not the record's, so that what is paid for is kept, whoever stops waiting.

Promises: all who ask for it hear the same; one who stops waiting stops nobody else.
"""

from __future__ import annotations

import asyncio

from ragstone.engine.gate import Gate
from ragstone.judges.base import Failed, Reply


class Flight:
    """One call on its way, in a task of its own, and the places of those who wait for it.

    ``holds`` is the gate where its reply counts until it is on disk, if there is one.
    """

    __slots__ = ("holds", "task", "waiting")

    def __init__(self) -> None:
        self.holds: Gate | None = None
        self.task: asyncio.Task[None] | None = None
        self.waiting: list[asyncio.Future[Reply | Failed]] = []

    def landing(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Reply | Failed]:
        """What one who asks waits for; ``asyncio.shield`` would do the same with three more turns of the loop."""
        place: asyncio.Future[Reply | Failed] = loop.create_future()
        self.waiting.append(place)
        return place

    def land(self, outcome: Reply | Failed | BaseException) -> None:
        """Tell all who wait."""
        for place in self.waiting:
            if place.done():  # called off
                continue
            if isinstance(outcome, asyncio.CancelledError):
                place.cancel()
            elif isinstance(outcome, BaseException):
                place.set_exception(outcome)
            else:
                place.set_result(outcome)

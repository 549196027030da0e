"""The one place where a call waits for its turn: concurrency, and where rates and budgets belong."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Gate:
    """Lets at most ``concurrency`` calls through to one backend at a time.

    Every attempt of every call to the backend passes here, and a call that waits to be tried again has left.
    """

    def __init__(self, concurrency: int) -> None:
        self._places = asyncio.Semaphore(concurrency)

    async def __aenter__(self) -> None:
        await self._places.acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.release()

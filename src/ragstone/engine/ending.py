"""What is done at the end of a run whatever happens: connections are closed and what came is written.

Promises: no cancellation cuts it short, however often it comes; it is raised after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await the work whole; a cancellation meanwhile waits for it."""
    task = asyncio.ensure_future(work)
    called_off: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:  # of who waits, or of the task itself, which is done then
            called_off = error
    task.result()
    if called_off is not None:
        raise called_off

"""Ways to await: work to its end whatever happens, and several things at once.

Promises: no cancellation cuts work short that is awaited to its end, however often it comes; it is raised after that.
Of several things none goes on when one has failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
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


async def all_of(coroutines: Sequence[Any]) -> list[Any]:
    """Await all of them at once; alone needs no task, and if one fails the others are cancelled."""
    if len(coroutines) == 1:
        return [await coroutines[0]]
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise

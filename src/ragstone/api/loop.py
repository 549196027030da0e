"""An event loop of one's own, and what Ctrl-C does to the work in it.

The first interrupt lets the work end in order, the second stops it at once and still in order; neither breaks into
the middle of a write. An interrupt that finds the loop busy with something else (reading a large input) breaks into
that when it comes a second time, and so does one that comes again and again.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

R = TypeVar("R")
ORDERLY: Final = 2
"""Interrupts that the work is told of."""
PATIENT: Final = 4
"""Interrupts after which a further one is no longer held back."""


def run_here(work: Coroutine[Any, Any, R]) -> R:
    """Run the coroutine to its end in a loop of its own; KeyboardInterrupt after it was interrupted."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        try:
            with _interrupts(loop, task.cancel):
                return loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        except KeyboardInterrupt:
            if task.done() and not task.cancelled():
                task.exception()  # looked at, so that the loop does not report it as lost
            raise


@contextmanager
def _interrupts(loop: asyncio.AbstractEventLoop, end: Callable[[], object]) -> Iterator[None]:
    """Have interrupts call ``end`` in the loop; where somebody else handles them already, leave that as it is."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    come = heard = 0

    def hear() -> None:
        nonlocal heard
        heard += 1
        end()

    def interrupted(_number: int, _frame: object) -> None:
        nonlocal come
        come += 1
        if (come > 1 and not heard) or come > PATIENT:
            raise KeyboardInterrupt
        if come <= ORDERLY:
            loop.call_soon_threadsafe(hear)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

"""Run a coroutine in an event loop of its own, with orderly interrupts and rare garbage collections.

The first interrupt lets the work end in order, the second stops it at once and still in order; neither breaks into
the middle of a write. Until the work waits for the first time, which is while it reads its input, an interrupt breaks
into it at once. One that finds the loop busy later does so when it comes a second time, and so does one that comes
again and again.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, TypeVar

R = TypeVar("R")
YOUNG: Final = 50_000
"""New objects after which the collector looks for cycles while work goes on. Python's own 700 to 2000 suit programs
that are smaller than hundreds of records on their way: it would look through those again and again, and find none."""
ORDERLY: Final = 2
"""Interrupts that the work is told of."""
PATIENT: Final = 4
"""Interrupts after which a further one is no longer held back."""


def run_here(work: Coroutine[Any, Any, R]) -> R:
    """Run the coroutine to its end in a loop of its own; KeyboardInterrupt after it was interrupted."""
    runner = asyncio.Runner()
    loop = runner.get_loop()
    task = loop.create_task(work)
    try:
        with _interrupts(loop, task), runner, _SELDOM:
            return loop.run_until_complete(task)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except KeyboardInterrupt:
        if task.done() and not task.cancelled():
            task.exception()  # looked at, so that the loop does not report it as lost
        raise


class _Seldom:
    """Run the garbage collector less often, on new objects only, from the first ``with`` to the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._usual: tuple[int, int, int] = gc.get_threshold()
        self._froze = False

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside > 1:
                return
            self._usual = gc.get_threshold()
            if 0 < self._usual[0] < YOUNG:
                gc.set_threshold(YOUNG, *self._usual[1:])
            self._froze = gc.get_freeze_count() == 0
            if self._froze:
                gc.freeze()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside:
                return
            gc.set_threshold(*self._usual)
            if self._froze:
                gc.unfreeze()


_SELDOM: Final = _Seldom()


@contextmanager
def _interrupts(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> Iterator[None]:
    """Have interrupts cancel the task in its loop; where somebody else handles them already, leave that as it is.

    Interrupts are all signals that raise KeyboardInterrupt: Ctrl-C, and what the command line adds to it. One that
    comes after the task, while its loop is closed, is raised at the end: a loop half closed complains when it goes.
    """
    ours = threading.current_thread() is threading.main_thread()
    known = signal.valid_signals() if ours else ()
    theirs = [number for number in known if signal.getsignal(number) is signal.default_int_handler]
    come = heard = 0
    begun = broken = late = False

    def begin() -> None:
        nonlocal begun
        begun = True

    def hear() -> None:
        nonlocal heard
        heard += 1
        task.cancel()

    def interrupted(_number: int, _frame: object) -> None:
        nonlocal come, broken, late
        come += 1
        closing = broken or task.done()
        if come > PATIENT or (not closing and (not begun or (come > 1 and not heard))):
            broken = True
            raise KeyboardInterrupt
        if closing:
            late = True
        elif come <= ORDERLY:
            loop.call_soon_threadsafe(hear)

    loop.call_soon(begin)
    for number in theirs:
        signal.signal(number, interrupted)
    try:
        yield
    finally:
        if come:  # an interrupt that breaks into the collector's callbacks is lost, and noisily so
            gc.collect()
        for number in theirs:
            signal.signal(number, signal.default_int_handler)
    if late:
        raise KeyboardInterrupt


def wait_for(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run the coroutine in a loop of its own; on a thread of its own where a loop runs in this one already."""
    if not _in_a_loop():
        return run_here(coroutine)
    with ThreadPoolExecutor(1, "ragstone-evaluate") as thread:
        return thread.submit(run_here, coroutine).result()


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

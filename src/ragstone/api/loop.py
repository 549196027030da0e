"""Run a coroutine in its own event loop, with orderly interrupts and infrequent garbage collection.

The first interrupt lets the work finish in order, the second stops it at once, also in order. Neither interrupts a
write. While the input is still being read, before the work first awaits, an interrupt raises KeyboardInterrupt
immediately. Later, it does so if the loop was too busy to handle the previous one, or after ``PATIENT`` interrupts.
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
"""The number of new objects between garbage collections during a run. With hundreds of records in flight, Python's
default of 700 to 2000 would scan them over and over, and find no cycles."""
ORDERLY: Final = 2
"""The number of interrupts that cancel the task."""
PATIENT: Final = 4
"""After this many interrupts, the next one raises KeyboardInterrupt immediately."""


def run_here(work: Coroutine[Any, Any, R]) -> R:
    """Run the coroutine to completion in its own loop; raise KeyboardInterrupt if it was interrupted."""
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
            task.exception()  # retrieved, so that the loop does not report it as lost
        raise


class _Seldom:
    """Run the garbage collector less often, and on new objects only, while at least one ``with`` is active."""

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
    """Make interrupts cancel the task in its loop; leave existing signal handlers unchanged.

    Interrupts are all signals that raise KeyboardInterrupt: Ctrl-C and those that the command line adds. If one arrives
    after the task has ended, while its loop is being closed, KeyboardInterrupt is raised at the end, because a
    half-closed loop would print errors.
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
        if come:  # an interrupt inside the collector's callbacks would be printed and lost
            gc.collect()
        for number in theirs:
            signal.signal(number, signal.default_int_handler)
    if late:
        raise KeyboardInterrupt


def wait_for(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run the coroutine in its own loop, on a separate thread if a loop is already running in this one."""
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

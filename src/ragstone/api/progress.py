"""Show the progress of ``evaluate``: one updated line in a terminal or notebook, else a new line every 10 seconds."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Final

from msgspec.structs import replace

from ragstone.options import Progress, RunOptions
from ragstone.render.text import flat
from ragstone.render.watch import Watch

OFTEN: Final = 0.25
"""Seconds between updates of a rewritten line."""
SELDOM: Final = 10.0
"""Seconds between permanent lines."""
CLEARED: Final = "\r\x1b[2K"


@contextmanager
def drawn(options: RunOptions) -> Iterator[RunOptions]:
    """Yield the options with an ``on_start`` that shows progress; clear the line when the block ends."""
    write, every = _line(options.progress)
    if write is None:
        yield options
        return
    with ExitStack() as going_on:
        going_on.callback(write, "")

        def start(progress: Progress) -> None:
            if options.on_start is not None:
                options.on_start(progress)
            watch = Watch(progress.tally, progress.total, flat(progress.survey.name))
            write(watch.line())
            going_on.enter_context(again_and_again(lambda: write(watch.line()), every))

        yield replace(options, on_start=start)


@contextmanager
def again_and_again(work: Callable[[], object], every: float) -> Iterator[None]:
    """Call ``work`` every ``every`` seconds on a separate thread until the block ends."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(every):
            work()

    thread = threading.Thread(target=repeat, name="ragstone-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _line(wanted: bool | None) -> tuple[Callable[[str], object] | None, float]:
    """Return what shows a line, and how often; None if turned off, and by default in tests, in CI or off a terminal."""
    unseen = "PYTEST_CURRENT_TEST" in os.environ or bool(os.environ.get("CI"))
    if wanted is False or (wanted is None and unseen):
        return None, OFTEN
    if (notebook := _notebook()) is not None:
        return notebook, OFTEN
    if sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return _rewritten, OFTEN
    return (_added if wanted and sys.stderr is not None else None), SELDOM


def _notebook() -> Callable[[str], object] | None:
    """Return an output of the running cell, or None outside a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    shown = import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: shown.update({"text/plain": text}, raw=True)


def _rewritten(text: str) -> None:
    sys.stderr.write(CLEARED + text[: shutil.get_terminal_size().columns - 1])
    sys.stderr.flush()


def _added(text: str) -> None:
    if text:
        sys.stderr.write(f"{text}\n")

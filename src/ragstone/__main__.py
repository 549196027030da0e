"""``python -m ragstone``, and the console script ``ragstone``."""

from __future__ import annotations

import copy
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typer import Typer

ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a command as Ctrl-C does: of a scheduler, of a terminal that is closed."""


def main() -> None:
    """Run the command line; leaves with its exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this, who wants to read nothing
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - for the whole process
    with _silently_interrupted():
        from typer.main import get_command  # noqa: PLC0415 - takes a moment, in which an interrupt is no traceback

        from ragstone.cli import app  # noqa: PLC0415 - as above
        from ragstone.cli.ending import FAULT, INTERRUPTED, say_fault  # noqa: PLC0415 - as above

        command = get_command(_named(app, sys.argv[1:2]))
    try:
        with _ended_as_by_interrupt():
            command(prog_name="ragstone")
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:  # whoever is impatient shall not make the end noisy, or another code of it
            for number in (signal.SIGINT, *ENDING):
                signal.signal(number, signal.SIG_IGN)
        raise
    except Exception:  # noqa: BLE001 - the edge: Python's own code for a crash, 1, means a failed check here
        say_fault()
        sys.exit(FAULT)


def _named(app: Typer, word: list[str]) -> Typer:
    """The app with the one command that is named, if it is one: putting all of them together takes 60 ms."""
    commands = [c for c in app.registered_commands if c.callback and [c.name or c.callback.__name__] == word]
    groups = [group for group in app.registered_groups if [group.name] == word]
    if not commands and not groups:
        return app
    alone = copy.copy(app)
    alone.registered_commands, alone.registered_groups = commands, groups
    return alone


@contextmanager
def _ended_as_by_interrupt() -> Iterator[None]:
    """While this lasts the system's wish that the process ends is an interrupt; where it is ignored, it stays so."""
    ours = threading.current_thread() is threading.main_thread()
    ending = [number for number in ENDING if ours and signal.getsignal(number) is signal.SIG_DFL]
    for number in ending:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _silently_interrupted() -> Iterator[None]:
    """While this lasts an interrupt ends the process as the system does it, which a shell calls 130: nothing is begun.

    What somebody else has set for interrupts stays, such as that they are ignored in the background.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    main()

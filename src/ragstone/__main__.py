"""Entry point of ``python -m ragstone`` and of the console script ``ragstone``."""

from __future__ import annotations

import copy
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typer import Typer

ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a command like Ctrl-C: sent by a scheduler, or when the terminal is closed."""
YOUNG: Final = 50_000
"""New objects after which the garbage collector looks for cycles. Imports create nearly as many and free none; scanning
them a hundred times takes a fifth of a short command."""


def main() -> None:
    """Run the command line and exit with its exit code."""
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - for the whole process
        # Nothing has started: let an interrupt end the process by the signal, without a traceback; a shell sees 130.
    with _handling((signal.SIGINT,), signal.default_int_handler, signal.SIG_DFL):
        from typer.main import get_command  # noqa: PLC0415 - slow enough to be interrupted

        from ragstone.cli.exit_codes import FAULT, INTERRUPTED, say_fault  # noqa: PLC0415 - as above

        command = get_command(_app(sys.argv[1:2]))
    try:
        with _handling(ENDING, signal.SIG_DFL, signal.default_int_handler):
            command(prog_name="ragstone")
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:  # further interrupts must not change the exit code, or print a traceback
            for number in (signal.SIGINT, *ENDING):
                signal.signal(number, signal.SIG_IGN)
        raise
    except Exception:  # noqa: BLE001 - the edge: Python's own code for a crash, 1, means a failed check here
        say_fault()
        sys.exit(FAULT)


def _app(word: list[str]) -> Typer:
    """Return the app with only the given command, if it exists: loading all commands takes 100 ms."""
    from ragstone.cli.run_commands import app  # noqa: PLC0415 - as above

    named = _named(app, word)
    if named is None:
        import ragstone.cli.app  # noqa: F401, PLC0415 - adds all other commands

        named = _named(app, word)
    return named or app


def _named(app: Typer, word: list[str]) -> Typer | None:
    commands = [c for c in app.registered_commands if c.callback and [c.name or c.callback.__name__] == word]
    groups = [group for group in app.registered_groups if [group.name] == word]
    if not commands and not groups:
        return None
    alone = copy.copy(app)
    alone.registered_commands, alone.registered_groups = commands, groups
    return alone


@contextmanager
def _handling(numbers: Sequence[signal.Signals], usual: Any, handler: Any) -> Iterator[None]:
    """Replace signal handlers temporarily, except those that are not the default, such as ignored signals."""
    ours = threading.current_thread() is threading.main_thread()
    changed = [number for number in numbers if ours and signal.getsignal(number) is usual]
    for number in changed:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, usual)


if __name__ == "__main__":
    main()

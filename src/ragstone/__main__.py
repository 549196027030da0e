"""``python -m ragstone``, and the console script ``ragstone``."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def main() -> None:
    """Run the command line; leaves with its exit code."""
    with _silently_interrupted():
        from typer.main import get_command  # noqa: PLC0415 - takes a moment, in which an interrupt is no traceback

        from ragstone.cli import app  # noqa: PLC0415 - as above
        from ragstone.cli.ending import FAULT, INTERRUPTED, say_fault  # noqa: PLC0415 - as above

        command = get_command(app)
    try:
        command(prog_name="ragstone")
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:  # whoever is impatient shall not make the end noisy, or another code of it
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
    except Exception:  # noqa: BLE001 - the edge: Python's own code for a crash, 1, means a failed check here
        say_fault()
        sys.exit(FAULT)


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

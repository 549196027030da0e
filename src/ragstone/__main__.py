"""``python -m ragstone``, and the console script ``ragstone``."""

from __future__ import annotations

import signal
import sys

from ragstone.cli import app
from ragstone.cli.ending import FAULT, INTERRUPTED, say_fault


def main() -> None:
    """Run the command line; leaves with its exit code."""
    try:
        app(prog_name="ragstone")
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:  # whoever is impatient shall not make the end noisy, or another code of it
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
    except Exception:  # noqa: BLE001 - the edge: Python's own code for a crash, 1, means a failed check here
        say_fault()
        sys.exit(FAULT)


if __name__ == "__main__":
    main()

"""``python -m ragstone``, and the console script ``ragstone``."""

from __future__ import annotations

import sys

from ragstone.cli import app
from ragstone.cli.ending import FAULT, say_fault


def main() -> None:
    """Run the command line; leaves with its exit code."""
    try:
        app(prog_name="ragstone")
    except Exception:  # noqa: BLE001 - the edge: Python's own code for a crash, 1, means a failed check here
        say_fault()
        sys.exit(FAULT)


if __name__ == "__main__":
    main()

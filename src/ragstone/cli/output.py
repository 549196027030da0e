"""Where commands print: pages for people, or one JSON document for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO, Any

import orjson
from rich.console import RenderableType

from ragstone.report.terminal.screen import Look, screen


def show(draw: Callable[[Look], RenderableType]) -> None:
    """Print a page that is drawn for this terminal."""
    console = screen()
    console.print(draw(Look.of(console)))


def show_json(document: Any) -> None:
    """Print one JSON document and nothing else, in UTF-8 whatever the terminal says."""
    data = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=_plain)
    stream = binary_output()
    stream.write(data + b"\n")
    stream.flush()


def binary_output() -> IO[bytes]:
    """Standard output for bytes."""
    sys.stdout.flush()
    return sys.stdout.buffer


def _plain(value: object) -> Any:
    return list(value) if isinstance(value, (tuple, set, frozenset)) else str(value)

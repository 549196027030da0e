"""Create two runs of the example traces, to try Ragstone without your own records."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any, Final

import orjson

from ragstone.analysis.run import Run
from ragstone.api.running import evaluate
from ragstone.segment import sentences

NAMES: Final = ("demo", "demo-copied")
COPIED: Final = 2
"""The number of sentences that the second system copies from the first passage."""


def demo(store: Path | str | None = None) -> tuple[Run, Run]:
    """Evaluate the example traces, and the same questions answered by copying; nothing is sent.

    The second system's responses are the first two sentences of the first passage. Raises StoreError if the store
    cannot be used.
    """
    rows = _traces()
    copied = [{**row, "response": _beginning(row["contexts"][0])} for row in rows]
    first, second = (
        evaluate(source, judge="embedded", name=name, store=store)
        for source, name in zip((rows, copied), NAMES, strict=True)
    )
    return first, second


def _traces() -> list[dict[str, Any]]:
    """Return the example traces, from the package or from the source checkout."""
    found = resources.files("ragstone").joinpath("traces.jsonl")
    lines = found if found.is_file() else Path(__file__).parents[3] / "examples" / "traces.jsonl"
    return [orjson.loads(line) for line in lines.read_bytes().splitlines()]


def _beginning(passage: str) -> str:
    return passage[: sentences(passage)[:COPIED][-1].end]

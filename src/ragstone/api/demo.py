"""Two runs of the example traces, to see what there is to see without records of one's own."""

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
"""Sentences of the first passage that the second system answers with."""


def demo(store: Path | str | None = None) -> tuple[Run, Run]:
    """Evaluate the example traces, and the same questions answered by copying; no judge is sent anything.

    The second system's responses are the first two sentences of the first passage. StoreError for an unusable store.
    """
    rows = _traces()
    copied = [{**row, "response": _beginning(row["contexts"][0])} for row in rows]
    first, second = (
        evaluate(source, judge="embedded", name=name, store=store)
        for source, name in zip((rows, copied), NAMES, strict=True)
    )
    return first, second


def _traces() -> list[dict[str, Any]]:
    """The example traces: in the package, or of a checkout beside it."""
    found = resources.files("ragstone").joinpath("traces.jsonl")
    lines = found if found.is_file() else Path(__file__).parents[3] / "examples" / "traces.jsonl"
    return [orjson.loads(line) for line in lines.read_bytes().splitlines()]


def _beginning(passage: str) -> str:
    return passage[: sentences(passage)[:COPIED][-1].end]

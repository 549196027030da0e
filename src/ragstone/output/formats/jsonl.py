"""The results of a run, line for line as in results.jsonl."""

from __future__ import annotations

from typing import IO, Final

from ragstone.analysis.run import Run
from ragstone.output.export import LINES, ExportFormat, write_lines


def _write(run: Run, _rows: str, target: IO[bytes]) -> None:
    write_lines((line + b"\n" for line in run.lines()), target)


FORMATS: Final = (ExportFormat("jsonl", LINES, "results", _write),)

"""A table of scores or verdicts as CSV, in which no cell is a formula to a spreadsheet."""

from __future__ import annotations

import contextlib
import csv
import io
from typing import IO, Final

from ragstone.analysis.run import Run
from ragstone.output.export import ExportFormat

FORMULA: Final = ("=", "+", "-", "@", "|", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - spreadsheets take the wide forms too
"""What a spreadsheet takes for the beginning of a formula, or for white space before one (OWASP)."""


def harmless(cell: object) -> object:
    """A cell that a spreadsheet takes for text: an apostrophe goes before the start of a formula; numbers stay."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _write(run: Run, rows: str, target: IO[bytes]) -> None:
    columns, source = run.rows(rows)
    text = io.TextIOWrapper(target, encoding="utf-8", errors="replace", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        with contextlib.closing(source):
            for row in source:
                writer.writerow([_cell(row[column]) for column in columns])
        text.flush()
    finally:
        with contextlib.suppress(ValueError, OSError):
            text.detach()  # the stream is the caller's to close


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return harmless(value)


FORMATS: Final = (ExportFormat("csv", (".csv",), "table of --rows", _write),)

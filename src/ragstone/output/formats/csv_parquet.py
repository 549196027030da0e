"""Export tables, such as scores or verdicts, as CSV without spreadsheet formulas, or as typed Parquet."""

from __future__ import annotations

import contextlib
import csv
import io
from itertools import islice
from types import SimpleNamespace
from typing import IO, Any, Final

from ragstone.analysis.run import COLUMN_KINDS, Run
from ragstone.errors import InputError
from ragstone.output.export import ExportFormat

BATCH: Final = 1000
"""Number of Parquet rows held in memory at a time."""
FORMULA: Final = ("=", "+", "-", "@", "|", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - spreadsheets take the wide forms too
"""Characters that spreadsheets treat as the start of a formula, or as white space before one (OWASP)."""


def harmless(cell: object) -> object:
    """Return a cell that spreadsheets treat as text: prefix formulas with an apostrophe; leave numbers unchanged."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _write_csv(run: Run, rows: str, target: IO[bytes]) -> None:
    columns, source = run.rows(rows)
    text = io.TextIOWrapper(target, encoding="utf-8", errors="replace", newline="", write_through=True)
    try:
        # A cell with a carriage return, which also ends rows, is quoted only if rows are written to end in one.
        ends = SimpleNamespace(write=lambda row: text.write(row.removesuffix("\r\n") + "\n"))
        writer = csv.writer(ends, lineterminator="\r\n")
        writer.writerow(columns)
        with contextlib.closing(source):
            for row in source:
                writer.writerow([harmless(row[column]) for column in columns])
        text.flush()
    finally:
        with contextlib.suppress(ValueError, OSError):
            text.detach()  # the caller closes the stream


def _write_parquet(run: Run, rows: str, target: IO[bytes]) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError("Parquet needs pyarrow; install it with: pip install 'ragstone[parquet]'") from error
    types = {"number": pa.float64(), "count": pa.int64(), "truth": pa.bool_()}
    columns, source = run.rows(rows)
    schema = pa.schema([(column, types.get(COLUMN_KINDS.get(column, ""), pa.string())) for column in columns])
    with contextlib.closing(source), pq.ParquetWriter(target, schema) as writer:
        while batch := list(islice(source, BATCH)):
            typed = [{column: _typed(column, row[column]) for column in columns} for row in batch]
            writer.write_table(pa.Table.from_pylist(typed, schema))


def _typed(column: str, value: Any) -> Any:
    return float(value) if value is not None and COLUMN_KINDS.get(column) == "number" else value


FORMATS: Final = (
    ExportFormat("csv", (".csv",), "table of --rows", _write_csv, table=True),
    ExportFormat("parquet", (".parquet",), "table of --rows", _write_parquet, pipes=False, table=True),
)

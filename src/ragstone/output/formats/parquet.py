"""A table of scores or verdicts as Parquet, with types; needs pyarrow, which is loaded when it is written."""

from __future__ import annotations

import contextlib
from itertools import islice
from typing import IO, Any, Final

from ragstone.analysis.run import COLUMN_KINDS, Run
from ragstone.errors import InputError
from ragstone.output.export import ExportFormat

BATCH: Final = 1000
"""Rows that are held at a time."""


def _write(run: Run, rows: str, target: IO[bytes]) -> None:
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


FORMATS: Final = (ExportFormat("parquet", (".parquet",), "table of --rows", _write, pipes=False),)

"""Parquet, a batch of rows at a time; needs the extra ``parquet``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ragstone.errors import ConfigError, RecordError
from ragstone.records.bytestream import Origin, spool
from ragstone.records.ids import first_repeated
from ragstone.records.jsontext import excerpt
from ragstone.records.limits import CHUNK
from ragstone.records.mapping import Mapper, Rows
from ragstone.records.python_values import plain_row

BATCH: Final = 128
"""Rows at a time; a row of a RAG trace has some 10 KB."""

MAGIC: Final = b"PAR1"


def read(origin: Origin, mapper: Mapper) -> Rows:
    """Each row's place (``traces.parquet row 12``) with its values; a damaged file is a RecordError."""
    del mapper  # columns have types of their own
    if not origin.compression:
        yield from _rows(origin.name, origin.path)
        return
    with origin.open() as stream:  # the format is read from its end, so it cannot be streamed
        path = spool(origin.name, stream.chunks(), suffix=".parquet")
    try:
        yield from _rows(origin.name, path)
    finally:
        path.unlink(missing_ok=True)


def _rows(name: str, path: Path) -> Rows:
    arrow, parquet = _libraries()
    try:
        with parquet.ParquetFile(path, buffer_size=CHUNK, pre_buffer=False) as file:
            _check_columns(name, file.schema_arrow.names)
            yield from _batches(name, file)
    except (arrow.ArrowException, OSError) as error:
        raise RecordError(name, f"not readable as Parquet: {_first_line(error)}", "fetch or copy it again") from None


def _batches(name: str, file: Any) -> Rows:
    number = 0
    for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
        for row in batch.to_pylist():
            number += 1
            where = f"{name} row {number}"
            yield where, plain_row(row, where)


def _check_columns(name: str, columns: list[str]) -> None:
    twice = first_repeated(columns)
    if twice is not None:
        raise RecordError(name, f"two columns are named {excerpt(twice)}", "rename one of them")


def _libraries() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - heavy and optional
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise ConfigError("reading Parquet needs pyarrow: pip install 'ragstone[parquet]'") from None
    return pa, parquet


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]

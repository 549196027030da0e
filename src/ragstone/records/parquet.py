"""Read Parquet files in batches of rows. Needs the extra ``parquet``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ragstone.errors import ConfigError, RecordError
from ragstone.records.bytestream import Origin, spool
from ragstone.records.fields import check_columns
from ragstone.records.limits import CHUNK
from ragstone.records.mapping import Mapper, Rows
from ragstone.records.python_values import first_line, plain_rows

BATCH: Final = 128
"""Rows per batch; a row of a RAG trace has about 10 KB."""

MAGIC: Final = b"PAR1"


def read(origin: Origin, _: Mapper) -> Rows:
    """Yield each row with its place (``traces.parquet row 12``); raise RecordError for a damaged file."""
    if not origin.compression:
        yield from _rows(origin.name, origin.path)
        return
    with origin.open() as stream:  # Parquet is read from its end, so it cannot be streamed
        path = spool(origin.name, stream.chunks(), suffix=".parquet")
    try:
        yield from _rows(origin.name, path)
    finally:
        path.unlink(missing_ok=True)


def _rows(name: str, path: Path) -> Rows:
    try:
        import pyarrow as pa  # noqa: PLC0415 - heavy and optional
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise ConfigError("reading Parquet needs pyarrow: pip install 'ragstone[parquet]'") from None
    try:
        with parquet.ParquetFile(path, buffer_size=CHUNK, pre_buffer=False) as file:
            check_columns(name, file.schema_arrow.names)
            batches = file.iter_batches(batch_size=BATCH, use_threads=False)
            yield from plain_rows(name, (row for batch in batches for row in batch.to_pylist()))
    except (pa.ArrowException, OSError) as error:
        raise RecordError(name, f"not readable as Parquet: {first_line(error)}", "fetch or copy it again") from None

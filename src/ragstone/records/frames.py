"""Read records from Python objects, Parquet files and the Hugging Face hub: dicts, Records, a frame, a data set.

Frames are recognised by their methods, so no library is imported. A ``datasets.Dataset`` needs no special support: it
yields dicts and can be read repeatedly. Data sets of the hub, ``hf://org/name[/config][@split]``, are streamed; they
need the extra ``hf``, and Parquet the extra ``parquet``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson
from msgspec import ValidationError, convert
from msgspec.structs import replace

from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records.bytestream import Origin, spool
from ragstone.records.fields import check_columns
from ragstone.records.jsontext import kind
from ragstone.records.limits import CHUNK
from ragstone.records.mapping import Item, Mapper, Rows
from ragstone.records.python_values import dumps, first_line, plain_row, plain_rows
from ragstone.types import Record

BATCH: Final = 128
"""Rows per batch; a row of a RAG trace has about 10 KB."""

PARQUET: Final = b"PAR1"
SCHEME: Final = "hf://"
ADDRESS: Final = re.compile(r"hf://(?P<name>[\w.-]+/[\w.-]+)(?:/(?P<config>[^@/]+))?(?:@(?P<split>[^@/]+))?")


def reader(source: Any) -> tuple[str, Callable[[], Rows]]:
    """Return a display name and a reader for a source that is not a file.

    The source can be read repeatedly, except for an iterator, which must be spooled first. Raise InputError for an
    unsupported object.
    """
    name = type(source).__name__
    splits = source if isinstance(source, Mapping) and all(hasattr(one, "features") for one in source.values()) else {}
    if len(splits) > 1:
        raise InputError(f"a {name} has several splits: choose one of {', '.join(map(str, splits))}")
    if splits:
        return reader(next(iter(splits.values())))
    if callable(getattr(source, "itertuples", None)) or callable(getattr(source, "iter_rows", None)):
        return name, lambda: plain_rows(
            name, _pandas(source) if hasattr(source, "itertuples") else source.iter_rows(named=True)
        )
    if callable(getattr(source, "collect_schema", None)):
        raise InputError(f"a {name} has no rows yet: call collect() first")
    if isinstance(source, Mapping):
        raise InputError(f"a {name} is one record, not a source of records: put it in a list")
    if not isinstance(source, Iterable) or isinstance(source, bytes | bytearray):
        raise InputError(
            f"{kind(source)} is not a source of records: expected a path, '-', hf://..., an iterable of dicts or "
            "Records, a pandas or polars frame, or a datasets.Dataset"
        )
    label = "records" if name in ("list", "tuple") else name
    return label, partial(_items, label, source)


def _items(label: str, rows: Iterable[object]) -> Rows:
    for number, row in enumerate(rows, 1):
        where = f"{label} item {number}"
        if isinstance(row, Record):
            yield row.where or where, row if row.where else replace(row, where=where)
        else:
            yield where, plain_row(row, where)


def _pandas(frame: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame; a named index becomes a column."""
    columns = [str(column) for column in frame.columns]
    index = frame.index.name
    named = index is not None and str(index) not in columns
    check_columns(type(frame).__name__, columns)
    names = [str(index), *columns] if named else columns
    for row in frame.itertuples(index=named, name=None):
        yield dict(zip(names, row, strict=True))


def keep(items: Iterable[Item]) -> Path:
    """Write items that can be read only once to a temporary file for `kept`; the caller deletes it."""
    return spool("records", (_line(where, value) for where, value in items))


def kept(path: Path) -> Rows:
    """Yield the original items from a file written by `keep`."""
    with path.open("rb") as lines:
        for line in lines:
            where, tag, value = orjson.loads(line)
            if tag == "record":
                try:
                    yield where, convert(value, Record)
                except ValidationError as error:
                    yield where, RecordError(where, f"a Record with a field of the wrong type: {error}")
            else:
                yield where, RecordError(where, *value) if tag == "error" else value


def _line(where: str, value: Any) -> bytes:
    if isinstance(value, Record):
        try:
            return dumps([where, "record", value]) + b"\n"
        except TypeError as error:
            value = RecordError(where, f"a Record that JSON cannot represent: {error}", "expected plain values in meta")
    if isinstance(value, RecordError):
        return dumps([where, "error", [value.found, value.expected]]) + b"\n"
    return dumps([where, "row", value]) + b"\n"


# ---- Parquet


def read_parquet(origin: Origin, _: Mapper) -> Rows:
    """Yield each row with its place (``traces.parquet row 12``); raise RecordError for a damaged file."""
    if not origin.compression:
        yield from _parquet_rows(origin.name, origin.path)
        return
    with origin.open() as stream:  # Parquet is read from its end, so it cannot be streamed
        path = spool(origin.name, stream.chunks(), suffix=".parquet")
    try:
        yield from _parquet_rows(origin.name, path)
    finally:
        path.unlink(missing_ok=True)


def _parquet_rows(name: str, path: Path) -> Rows:
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


# ---- the hub


def hub_rows(address: str) -> Rows:
    """Yield each row with its place (``hf://org/name row 12``); only the hub's own cache is kept on disk."""
    data = _data_set(address)
    number = 0
    try:
        for row in plain_rows(address, data):
            number += 1
            yield row
    except (OSError, ValueError) as error:
        raise RecordError(f"{address} after row {number}", f"cannot be read further: {first_line(error)}") from error


def check_hub(address: str) -> None:
    """Raise ConfigError for an invalid address; nothing is fetched."""
    if ADDRESS.fullmatch(address) is None:
        raise ConfigError(f"{address}: expected hf://org/name[/config][@split]")


def _data_set(address: str) -> Any:
    match = ADDRESS.fullmatch(address)
    assert match is not None, "checked when the source was opened"
    try:
        import datasets  # noqa: PLC0415 - heavy and optional
    except ImportError:
        raise ConfigError("hf:// needs the datasets library: pip install 'ragstone[hf]'") from None
    try:
        found = datasets.load_dataset(match["name"], match["config"], split=match["split"], streaming=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{address}: cannot be opened: {first_line(error)}") from error
    if match["split"]:
        return found
    if len(found) == 1:
        return next(iter(found.values()))
    raise InputError(f"{address}: specify a split: " + " or ".join(f"{address}@{split}" for split in found))

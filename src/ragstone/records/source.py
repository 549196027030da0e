"""A source of records: opened once, read as often as wanted, one record in memory at a time."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import orjson

from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records import frames, hub
from ragstone.records.bytestream import Origin, is_pipe, origin_of, pipe, spool, standard_input
from ragstone.records.fields import Fields
from ragstone.records.formats import reader_of
from ragstone.records.mapping import Mapper, Row, Rows
from ragstone.records.names import REPEATED, Names
from ragstone.types import NOTHING, Record

OnError = Literal["stop", "skip"]
Inspect = Callable[[Record], None]
"""Looks at a record and raises InputError if the run cannot use it."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A record that cannot be read, where ``on_error`` is ``skip``: counted, never judged.

    ``id`` is the record's own where it could be read, else its place, and unique among all ids of the
    source; ``error`` is the message, one line.
    """

    id: str
    where: str
    error: str


Reading = Generator[Record | SetAside, None, None]


class Source:
    """Records in the order of the input; each iteration reads anew and gives the same ids.

    ``name`` is for display. Use it as a context manager, or call `close`: it deletes the temporary file
    that standard input, a pipe or an iterator was copied to.
    """

    def __init__(
        self,
        name: str,
        items: Callable[[], Rows],
        mapper: Mapper,
        *,
        on_error: OnError = "stop",
        inspect: Inspect | None = None,
        temporary: Path | None = None,
    ) -> None:
        """Use `open_records`."""
        self.name = name
        self.mapper = mapper
        self.on_error = on_error
        self._items = items
        self._inspect = inspect
        self._closed = False
        self._delete = weakref.finalize(self, _unlink, temporary) if temporary else None

    def __iter__(self) -> Reading:
        return self.read(Names())

    def read(self, names: Names, inspect: Inspect | None = None) -> Reading:
        """One reading, which gives ids by ``names`` and shows each record to ``inspect``.

        RecordError for a record that cannot be read (``stop``), a file of which nothing can be, or an
        input without any record.
        """
        if self._closed:
            raise ValueError("the source is closed")
        inspects = [look for look in (self._inspect, inspect) if look]
        empty = True
        with closing(self._guarded()) as items:
            for where, value in items:
                empty = False
                yield self._outcome(where, value, names, inspects)
        if empty:
            raise RecordError(self.name, "there is no record in it", "expected at least one")

    def close(self) -> None:
        """Delete what was copied; the source cannot be read afterwards."""
        self._closed = True
        if self._delete:
            self._delete()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _guarded(self) -> Rows:
        """The reader's items; where it breaks off after some were read, the rest counts as one that is set aside."""
        count = 0
        try:
            with closing(self._items()) as items:
                for item in items:
                    count += 1
                    yield item
        except RecordError as error:
            if not count or self.on_error == "stop":
                raise
            broken = error.with_traceback(None)
            yield broken.where, broken

    def _outcome(
        self, where: str, value: Row | Record | RecordError, names: Names, inspects: list[Inspect]
    ) -> Record | SetAside:
        try:
            if isinstance(value, RecordError):
                raise value
            record = _whole(value, where) if isinstance(value, Record) else self.mapper.record(where, value)
            for inspect in inspects:
                _inspected(record, inspect)
        except RecordError as error:
            if self.on_error == "stop":
                raise
            return SetAside(names.unique(self._name(where, value)), where, str(error))
        return _named(record, names)

    def _name(self, where: str, value: Row | Record | RecordError) -> str:
        if isinstance(value, Record):
            return value.id.encode("utf-8", "replace").decode()
        return self.mapper.name(where, value) if isinstance(value, dict) else where


def _whole(record: Record, where: str) -> Record:
    """A record that came as an object; RecordError for a text that no file could hold."""
    passages = [text for passage in record.contexts or () for text in (passage.id, passage.text)]
    try:
        orjson.dumps([record.id, record.question, record.response, record.reference, passages])
    except TypeError as error:
        found = "a lone surrogate (half of a character, \\ud800-\\udfff) in a text"
        raise RecordError(where, found, "write the whole character") from error
    return record


def _inspected(record: Record, inspect: Inspect) -> None:
    try:
        inspect(record)
    except RecordError:
        raise
    except InputError as error:
        raise RecordError(record.where, str(error)) from error


def _named(record: Record, names: Names) -> Record:
    name = names.unique(record.id)
    return record if name == record.id else replace(record, id=name, notes=(*record.notes, REPEATED))


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)


def open_records(
    source: Any,
    *,
    fields: Mapping[str, str] | Fields = NOTHING,
    blocks: Mapping[str, str] = NOTHING,
    on_error: OnError = "stop",
    inspect: Inspect | None = None,
) -> Source:
    """Make a source of records of whatever holds them.

    Args:
        source: a path; ``-`` for standard input; ``hf://org/name[/config][@split]``; an iterable of dicts or
            Records; a pandas or polars frame; a ``datasets.Dataset``; or a Source, which is returned.
            What can be read only once is copied to a private temporary file, as JSON lines.
        fields: canonical field to dotted path, see `Fields`.
        blocks: each name under which a row may bring a metric's parameters, and the metric's own name.
        on_error: what a record that cannot be read does: ``stop`` raises, ``skip`` yields a SetAside.
        inspect: shown every record in every reading; the InputError it raises is that record's error.

    Raises:
        RecordError: the file is missing, unreadable, empty or of no known format.
        ConfigError: the mapping, ``on_error`` or the ``hf://`` address is not usable.
        InputError: the object is no source of records.
    """
    if isinstance(source, Source):
        return source
    if on_error not in ("stop", "skip"):
        raise ConfigError(f"on_error: {on_error!r} is not usable; expected stop or skip")
    mapping = fields if isinstance(fields, Fields) else Fields(fields)
    mapper = Mapper(mapping, blocks)
    make = partial(Source, mapper=mapper, on_error=on_error, inspect=inspect)
    if isinstance(source, str) and source.startswith(hub.SCHEME):
        hub.check(source)
        return make(source, partial(hub.read, source))
    if isinstance(source, str) and source == "-":
        return _spooled(make, "stdin", standard_input(), "", mapping)
    if isinstance(source, str | os.PathLike):
        return _file(make, Path(source), mapping)
    name, items = frames.reader(source)
    if not frames.is_iterator(source):
        return make(name, items)
    path = frames.keep(items())
    return make(name, partial(frames.kept, path), temporary=path)


Make = partial[Source]


def _file(make: Make, path: Path, fields: Fields) -> Source:
    if is_pipe(path):
        return _spooled(make, path.name, pipe(path), "".join(path.suffixes[-2:]), fields)
    return _from(make, origin_of(path), fields)


def _spooled(make: Make, name: str, chunks: Iterable[bytes], suffix: str, fields: Fields) -> Source:
    path = spool(name, chunks, suffix=suffix)
    with ExitStack() as undo:
        undo.callback(path.unlink)
        source = _from(make, origin_of(path, name=name), fields, temporary=path)
        undo.pop_all()
    return source


def _from(make: Make, origin: Origin, fields: Fields, temporary: Path | None = None) -> Source:
    read = reader_of(origin, frozenset(fields.paths.values()))
    return make(origin.name, partial(read, origin, make.keywords["mapper"]), temporary=temporary)

"""A source of records: opened once, read as often as wanted, one record in memory at a time."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records import frames, hub
from ragstone.records.bytestream import is_pipe, origin_of, pipe, spool, standard_input
from ragstone.records.fields import Fields
from ragstone.records.formats import reader_of
from ragstone.records.mapping import Item, Mapper, Row
from ragstone.records.names import Names
from ragstone.types import NOTHING, Record

OnError = Literal["stop", "skip"]
Inspect = Callable[[Record], None]


@dataclass(frozen=True, slots=True)
class SetAside:
    """A record that cannot be read, where ``on_error`` is ``skip``: counted, never judged.

    ``id`` is the record's own where it could be read, else its place, and unique among all ids of the
    source; ``error`` is the message, one line.
    """

    id: str
    where: str
    error: str


class Source:
    """Records in the order of the input; each iteration reads anew and gives the same ids.

    ``name`` is for display. Use it as a context manager, or call `close`: it deletes the temporary file
    that standard input, a pipe or an iterator was copied to.
    """

    def __init__(
        self,
        name: str,
        items: Callable[[], Iterator[Item]],
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

    def __iter__(self) -> Iterator[Record | SetAside]:
        return self.read(Names())

    def read(self, names: Names, inspect: Inspect | None = None) -> Iterator[Record | SetAside]:
        """One reading, which gives ids by ``names`` and shows each record to ``inspect``.

        RecordError for a record that cannot be read (``stop``), a file of which nothing can be, or an
        input without any record.
        """
        if self._closed:
            raise ValueError("the source is closed")
        count = 0
        inspects = [look for look in (self._inspect, inspect) if look]
        with closing(self._guarded()) as items:
            for where, value in items:
                yield self._outcome(where, value, names, inspects, last=count)
                count += 1
        if not count:
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

    def _guarded(self) -> Iterator[Item]:
        """The reader's items; where it breaks off after some were read, the rest counts as one that is set aside."""
        count = 0
        try:
            with closing(self._items()) as items:  # type: ignore[type-var]
                for item in items:
                    count += 1
                    yield item
        except RecordError as error:
            if not count or self.on_error == "stop":
                raise
            broken = error.with_traceback(None)
            yield broken.where, broken

    def _outcome(
        self, where: str, value: Row | Record | RecordError, names: Names, inspects: list[Inspect], *, last: int
    ) -> Record | SetAside:
        try:
            if isinstance(value, RecordError):
                raise value
            record = value if isinstance(value, Record) else self.mapper.record(where, value)
            for inspect in inspects:
                _inspected(record, inspect)
        except RecordError as error:
            if self.on_error == "stop":
                raise
            name = self.mapper.name(where, value) if isinstance(value, dict) else where
            return SetAside(names.unique(name), where, str(error))
        return _named(record, names)

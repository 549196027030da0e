"""Open a source of records that can be read any number of times, with one record in memory at a time.

A source may have several parts, such as the runs of several systems, which are read in sequence like one file.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, Final, Literal, NamedTuple, Protocol, Self

import orjson
from msgspec import Struct
from msgspec.structs import replace

from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records import frames, object_stores
from ragstone.records.bytestream import files_in, origin_of, spool, standard_input
from ragstone.records.cut import SEED, Cut, Sample
from ragstone.records.exports import NOT_RECORDS, Layout
from ragstone.records.fields import Fields
from ragstone.records.file_formats import reader_of, stem_of
from ragstone.records.ids import REPEATED, Names, first_repeated
from ragstone.records.mapping import Mapper, Row, Rows
from ragstone.records.span_join import Recognised
from ragstone.records.trec import RUN
from ragstone.types import NOTHING, Record

OnError = Literal["stop", "skip"]
Inspect = Callable[[Record], None]
"""A function that checks a record and raises InputError if the run cannot use it."""

SHOWN: Final = 3
"""Maximum number of part names in a source's name."""


class ByTopic(Protocol):
    """Data added to records by topic: nuggets (`Bank`), questions (`Topics`) or relevant ids (`Qrels`)."""

    def given_to(self, record: Record) -> Record:
        """Return the record with the data of its topic."""


class SetAside(Struct, frozen=True):
    """An unreadable record, if ``on_error`` is ``skip``: counted, never judged.

    ``id`` is the record's own id if it is readable, else its place; it is unique among all ids of the source. ``error``
    is a one-line message, and ``option`` holds the words of the option that would probably make the record readable.
    """

    id: str
    where: str
    error: str
    option: tuple[str, ...] = ()


Reading = Generator[Record | SetAside, None, None]


class InputPart(NamedTuple):
    """One file or object that a source reads.

    ``run`` is the system of records that do not name theirs; ``loose``: the rows share no columns.
    """

    name: str
    items: Callable[[], Rows]
    temporary: tuple[Path, ...] = ()
    run: str = ""
    loose: bool = False


class Source:
    """Records in input order; each iteration reads the input again and gives the same ids.

    ``name`` is for display, ``place`` the absolute path of the input (empty: a stream or an object). Use the source as
    a context manager or call `close` to delete the temporary copies of standard input and iterators.
    """

    def __init__(
        self,
        parts: Sequence[InputPart],
        mapper: Mapper,
        *,
        on_error: OnError = "stop",
        inspect: Inspect | None = None,
        joined: Sequence[ByTopic] = (),
        cut: Cut | None = None,
        layout: Layout | None = None,
        place: str = "",
    ) -> None:
        """Do not call directly; use `open_records`."""
        self.name = _names(parts)
        self.place = place
        self.mapper = mapper
        self.on_error = on_error
        self._parts = tuple(parts)
        self._inspect = inspect
        self._joined = joined
        self._cut = cut or Cut()
        self.layout = layout or Layout()
        self._tallies: dict[str, Recognised] = {}
        self._drawn: dict[int, Sample] = {}
        self._cut_off = False
        self._closed = False
        self._delete = weakref.finalize(self, _unlink, [path for part in parts for path in part.temporary])

    def __iter__(self) -> Reading:
        return self.read(Names())

    def read(self, names: Names, inspect: Inspect | None = None) -> Reading:
        """Read the records once, assigning ids with ``names`` and passing each record to ``inspect``.

        Raise RecordError for an unreadable record (``stop``), an entirely unreadable file, or an input without records.
        """
        if self._closed:
            raise ValueError("the source is closed")
        inspects = [look for look in (self._inspect, inspect) if look]
        for number, part in enumerate(self._parts):
            drawn, place = self._draw(number), 0
            with closing(self._guarded(part)) as items:
                for place, (where, value) in enumerate(islice(items, self._cut.limit), 1):
                    if drawn is None or self._cut.rank(self._name(where, value), place) <= drawn.last:
                        yield self._outcome(where, value, part.run, names, inspects)
            self._cut_off |= place == self._cut.limit
            if not place:
                tally = self._tallies[part.name]
                found = f"no usable records ({tally})" if tally.title else "contains no records"
                raise RecordError(part.name, found, "expected at least one")

    def _draw(self, number: int) -> Sample | None:
        """Sample the records of a part by id; None means all of them."""
        if self._cut.sample is None:
            return None
        if number not in self._drawn:
            with closing(self._guarded(self._parts[number])) as items:
                first = islice(items, self._cut.limit)
                self._drawn[number] = self._cut.draw(self._name(where, value) for where, value in first)
        return self._drawn[number]

    @property
    def loose(self) -> bool:
        """Whether records are dicts or Records with individual fields rather than rows of one table."""
        return all(part.loose for part in self._parts)

    @property
    def recognised(self) -> tuple[str, ...]:
        """One line for each part that is another tool's export, with the counts read so far."""
        several = len(self._parts) > 1
        found = {name: str(tally) for name, tally in self._tallies.items() if tally.title}
        return tuple(f"{name}: {line}" if several else line for name, line in found.items())

    @property
    def within(self) -> str:
        """The start of a path from the input into its rows, if an object wraps them."""
        return next((tally.within for tally in self._tallies.values()), "")

    @property
    def extent(self) -> dict[str, int]:
        """The part of the input that was read; empty if all of it."""
        found = {"limit": self._cut.limit, "files": len(self._parts)} if self._cut.limit and self._cut_off else {}
        sample, whole = (sum(getattr(one, name) for one in self._drawn.values()) for name in ("records", "whole"))
        if sample < whole:
            found |= {"sample": sample, "of": whole, "seed": self._cut.seed or SEED}
        return found

    def close(self) -> None:
        """Delete temporary copies; the source cannot be read afterwards."""
        self._closed = True
        self._delete()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs to read the source; this process still owns the temporary files."""
        return {name: value for name, value in self.__dict__.items() if name != "_delete"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._delete = weakref.finalize(self, _unlink, [])

    def _guarded(self, part: InputPart) -> Rows:
        """Yield the reader's items.

        If the reader fails after some items and errors are skipped, the rest counts as one item that is set aside.
        """
        count = 0
        try:
            tally = self._tallies[part.name] = Recognised()
            with closing(self.layout.rows(part.items, self.mapper.fields, tally)) as items:
                for item in items:
                    count += 1
                    yield item
        except RecordError as error:
            if not count or self.on_error == "stop":
                raise
            broken = error.with_traceback(None)
            yield broken.where, broken

    def _outcome(
        self, where: str, value: Row | Record | RecordError, run: str, names: Names, inspects: list[Inspect]
    ) -> Record | SetAside:
        try:
            if isinstance(value, RecordError):
                raise value
            record = _whole(value, where) if isinstance(value, Record) else self.mapper.record(where, value)
            own = record.meta.get(RUN)
            if run and (own is None or not str(own).strip()):  # the record does not name its system
                record = replace(record, meta={**record.meta, RUN: run})
            for one in self._joined:
                record = one.given_to(record)
            for inspect in inspects:
                _inspected(record, inspect)
        except RecordError as error:
            if self.on_error == "stop":
                error.hint = "to skip unreadable records, add --on-error skip" if names and not error.option else ""
                raise
            return SetAside(names.unique(self._name(where, value)), where, str(error), error.option)
        name = names.unique(record.id)
        if name == record.id:
            return record
        return replace(record, id=name, topic=record.topic or record.id, notes=(*record.notes, REPEATED))

    def _name(self, where: str, value: Row | Record | RecordError) -> str:
        if isinstance(value, Record):
            return value.id.encode("utf-8", "replace").decode()
        return self.mapper.name(where, value) if isinstance(value, dict) else where


def _whole(record: Record, where: str) -> Record:
    """Return a record that was passed as an object; raise RecordError if its texts cannot be encoded as UTF-8."""
    texts = [text for passage in record.contexts or () for text in (passage.id, passage.text)]
    texts += [nugget.text for nugget in record.nuggets or ()]
    try:
        orjson.dumps([record.id, record.topic, record.question, record.response, record.reference, texts])
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


def _unlink(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def open_records(
    source: Any,
    *,
    fields: Mapping[str, str | Sequence[str]] | Fields = NOTHING,
    blocks: Mapping[str, str] = NOTHING,
    on_error: OnError = "stop",
    inspect: Inspect | None = None,
    bank: ByTopic | None = None,
    topics: ByTopic | None = None,
    qrels: ByTopic | None = None,
    cut: Cut | None = None,
    layout: Layout | None = None,
) -> Source:
    """Open a source of records.

    Args:
        source: a path; ``-`` for standard input; ``hf://org/name[/config][@split]``; a list of these, the runs of
            several systems on the same topics; an iterable of dicts or Records; a pandas or polars frame; a
            ``datasets.Dataset``. Input that can be read only once is copied to a private temporary file. In
            a list of files, a record that names no run gets ``meta["run_id"]``: its file's name without extensions,
            including folders if two files have the same name.
        fields: canonical field to dotted path, see `Fields`.
        blocks: maps each key that may hold a metric's parameters to the metric's name.
        on_error: how to handle unreadable records: ``stop`` raises, ``skip`` yields a SetAside.
        inspect: called with every record in every reading; an InputError it raises becomes that record's error.
        bank: nuggets by topic, which replace the records' own.
        topics: questions by topic, for records without their own.
        qrels: relevant ids by topic, which replace the records' own.
        cut: the part of the input to read.
        layout: the export format of the rows (recognised if not given) and the path of the list of rows.

    Raises:
        RecordError: the file is missing, unreadable, empty or of an unknown format.
        ConfigError: the mapping or the ``hf://`` address is invalid, or an input is given twice.
        InputError: the object is not a source of records, or a folder with the results of a run.
    """
    joined = [one for one in (topics, bank, qrels) if one is not None]
    fields = fields if isinstance(fields, Fields) else Fields(fields)
    layout = layout or Layout()
    mapper = Mapper(fields, blocks)
    listed = source if isinstance(source, list | tuple) else (source,)
    paths = [os.fspath(path) for path in listed if isinstance(path, str | os.PathLike)]
    with ExitStack() as undo:  # deletes the copies if a later part cannot be opened
        several = paths and listed is source and len(paths) == len(listed)
        parts = _several(paths, mapper, undo) if several else _parts(source, mapper, undo)
        if not several and len(parts) > 1 and _are_spans(parts, mapper.fields, layout):
            copies = tuple(path for part in parts for path in part.temporary)
            parts = [InputPart(_names(parts), partial(_in_turn, [part.items for part in parts]), copies)]
        undo.pop_all()
    given = [_real(path) for path in paths if path != "-"]
    place = _printable("\n".join(given)) if len(given) == len(listed) else ""
    return Source(
        parts, mapper, on_error=on_error, inspect=inspect, joined=joined, cut=cut, layout=layout, place=place
    )  # fmt: skip


def _real(name: str) -> str:
    no_file = name == "-" or name.startswith(frames.SCHEME) or object_stores.is_address(name)
    return name if no_file else os.path.realpath(name)


def _several(names: Sequence[str], mapper: Mapper, undo: ExitStack) -> list[InputPart]:
    twice = first_repeated(map(_real, names))
    if twice is not None:
        raise ConfigError(f"{twice}: this input is given twice; specify it once")
    alike = first_repeated(PurePath(name).name for name in names) is not None
    return [
        _part(name, mapper, undo, _printable(name) if alike else "")._replace(run=run)
        for name, run in zip(names, _runs(names), strict=True)
    ]


def _parts(source: Any, mapper: Mapper, undo: ExitStack) -> list[InputPart]:
    """Return the parts of one input: one, or those of a folder, which are read as one file."""
    if object_stores.is_address(source):
        names: list[Any] = list(object_stores.parts_of(source))
    elif isinstance(source, str | os.PathLike) and Path(source).is_dir():
        names = [path for path in files_in(Path(source)) if not path.name.startswith("_")]
        if not names:
            raise RecordError(str(source), "this folder contains no files", "expected files with records")
    else:
        names = [source]
    if len(names) > 1 and any(PurePath(name).name == "run.json" for name in names):
        raise InputError(f"{source}: {NOT_RECORDS}")
    return [_part(name, mapper, undo) if name is source else _of_folder(name, mapper, undo) for name in names]


def _of_folder(name: Any, mapper: Mapper, undo: ExitStack) -> InputPart:
    try:
        return _part(name, mapper, undo)
    except RecordError as error:
        expected = "; ".join(filter(None, [error.expected, "a folder may contain only files with records"]))
        raise RecordError(str(name), error.found, expected) from None


def _names(parts: Sequence[InputPart]) -> str:
    more = len(parts) - SHOWN
    return ", ".join(part.name for part in parts[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _are_spans(parts: Sequence[InputPart], fields: Fields, layout: Layout) -> bool:
    """Return whether the files of a folder hold the spans of one format; then a trace may be in several of them."""
    found = set()
    for part in parts:
        export = layout.export_of(part.items, fields)
        if export is not None:
            found.add(export.spans)
        if None in found or len(found) > 1:
            return False
    return bool(found)


def _in_turn(files: Sequence[Callable[[], Rows]]) -> Rows:
    """Yield the items of several files; the rest of a file that cannot be read is one item."""
    for items in files:
        try:
            with closing(items()) as rows:
                yield from rows
        except RecordError as error:
            yield error.where, error.with_traceback(None)


def _runs(names: Sequence[str]) -> list[str]:
    """Return run names for records that do not name their system; empty for standard input alone."""
    if [*names] == ["-"]:
        return [""]
    paths = [PurePath("stdin" if name == "-" else name) for name in names]
    short, long = ([stem_of(path).name for path in paths], [str(stem_of(path)) for path in paths])
    choices = [[*map(_printable, names)] for names in (short, long, map(str, paths))]
    return next((names for names in choices if first_repeated(names) is None), choices[-1])


def _printable(name: str) -> str:
    """Return a file name as valid text, replacing bytes that are not UTF-8."""
    return name.encode("utf-8", "replace").decode()


def _part(source: Any, mapper: Mapper, undo: ExitStack, called: str = "") -> InputPart:
    """Open one input; ``called`` is its name in messages, by default the file name without folders."""
    if isinstance(source, str) and source.startswith(frames.SCHEME):
        frames.check_hub(source)
        return InputPart(source, partial(frames.hub_rows, source))
    copy: Path | None = None
    if object_stores.is_address(source):
        path, name = (copy := object_stores.fetched(source)), called or PurePath(source).name
    elif isinstance(source, str) and source == "-":
        path, name = (copy := spool("stdin", standard_input())), "stdin"
    elif isinstance(source, str | os.PathLike):
        path, name = Path(source), called
        if "://" in str(source) and not path.exists():  # a path would lose a slash
            expected = f"expected a file, {frames.SCHEME}, s3://, gs:// or az://"
            raise RecordError(str(source), "not a supported address", expected)
    else:
        return _of_python(source, undo)
    if copy is not None:
        undo.callback(copy.unlink)
    origin = origin_of(path, name=name)
    columns = frozenset(path for _, path in mapper.fields.each)
    return InputPart(origin.name, partial(reader_of(origin, columns), origin, mapper), (copy,) if copy else ())


def _of_python(source: Any, undo: ExitStack) -> InputPart:
    name, items = frames.reader(source)
    loose = not (hasattr(source, "columns") or hasattr(source, "column_names"))
    if not isinstance(source, Iterator):
        return InputPart(name, items, loose=loose)
    copy = frames.keep(items())
    undo.callback(copy.unlink)
    return InputPart(name, partial(frames.kept, copy), (copy,), loose=loose)

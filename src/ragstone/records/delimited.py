"""CSV and TSV with a header: one record a row; the cells of list columns are JSON, or lists as Python prints them.

A blank cell of a text column is a blank text; of a list column it is as absent. A row may have fewer cells
than the header, as spreadsheets write them, but not more: then the columns cannot be told apart. What a file calls
itself does not bind its delimiter: spreadsheets write semicolons into ``.csv`` wherever a comma is a decimal point.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any, Final

from ragstone.errors import RecordError
from ragstone.records.bytestream import Origin, Stream
from ragstone.records.fields import check_columns
from ragstone.records.jsontext import RefusedError, decode, not_text
from ragstone.records.limits import MAX_CELL_CHARACTERS, MAX_RECORD_BYTES
from ragstone.records.mapping import Mapper, Rows
from ragstone.records.python_values import literal

LOOKS_LIKE_JSON: Final = re.compile(r"""\s*((array\()?\[\s*(["'{\[\]]|null|None|array\(|[A-Z]\w+\()|\{\s*["'}])""")
"""How a list or an object begins, also of printed objects; ``[1] A passage`` does not."""
NOTHING: Final = frozenset(("None", "nan", "NaN", "null"))
"""Cells of a list column that are printed absences."""


DELIMITERS: Final = (",", ";", "\t")


def header_names(line: str, delimiter: str) -> list[str]:
    """The column names of a header line; empty where it is none."""
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter, strict=True), [])]
    except csv.Error:
        return []


def _delimiter(origin: Origin, usual: str) -> str:
    """The usual one, unless the header is a single cell by it and several by another: one column makes no record."""
    with origin.open() as stream:
        line = stream.readline(MAX_RECORD_BYTES + 1).decode(errors="replace")
    if len(header_names(line, usual)) != 1:
        return usual
    found = {other: len(list(filter(None, header_names(line, other)))) for other in DELIMITERS if other != usual}
    most = max(found, key=lambda other: found[other])
    return most if found[most] > 1 else usual


def read(origin: Origin, mapper: Mapper, usual: str) -> Rows:
    """Rows of a table with the usual delimiter of its name; the place of each is the line on which it begins."""
    if csv.field_size_limit() < MAX_CELL_CHARACTERS:  # Python has one limit for the process: it is only raised
        csv.field_size_limit(MAX_CELL_CHARACTERS)
    delimiter = _delimiter(origin, usual)
    with origin.open() as stream:
        lines = _Lines(origin.name, stream)
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        header = _header(origin.name, _next(rows, lines))
        structured = mapper.structured(header)
        while (cells := _next(rows, lines)) is not None:
            if isinstance(cells, RecordError):
                yield cells.where, cells
            elif cells:
                yield lines.where, _row(cells, header, structured, lines.where)


class _Lines:
    """Lines as text for the csv module; an error raised here costs one row and the next line can be read."""

    def __init__(self, name: str, stream: Stream) -> None:
        self._name = name
        self._stream = stream
        self._size = 0
        self.where = name

    def begin(self) -> None:
        """The next line begins a row."""
        self._size = 0
        self.where = f"{self._name}:{self._stream.lines + 1}"

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(MAX_RECORD_BYTES + 1)
        if not line:
            raise StopIteration
        self._size += len(line)
        if self._size > MAX_RECORD_BYTES:
            if not line.endswith(b"\n"):
                self._stream.skip_line()
            raise RefusedError(f"a row of more than {MAX_RECORD_BYTES:,} bytes", "is a quote left open?")
        if wrong := not_text(line, f" of line {self._stream.lines}"):
            raise RefusedError(*wrong)
        return line.decode()


def _next(rows: Iterator[list[str]], lines: _Lines) -> list[str] | RecordError | None:
    """The next row, its error, or None at the end."""
    lines.begin()
    try:
        return next(rows, None)
    except RefusedError as error:
        return RecordError(lines.where, *error.args)
    except csv.Error as error:
        return RecordError(lines.where, f"not CSV: {_REASONS.get(str(error), error)}", 'quotes as in "a ""b"" c"')


_REASONS: Final = {
    "unexpected end of data": "a quote is opened in this row and never closed",
    "',' expected after '\"'": "text between a closing quote and the next comma",
    "';' expected after '\"'": "text between a closing quote and the next semicolon",
    "'\t' expected after '\"'": "text between a closing quote and the next tab",
}


def _header(name: str, cells: list[str] | RecordError | None) -> list[str]:
    """Column names; one without a name is called after its place. RecordError if two are the same."""
    if isinstance(cells, RecordError):
        raise cells
    names = [cell.strip() or f"column_{number}" for number, cell in enumerate(cells or (), 1)]
    if not names:
        raise RecordError(f"{name}:1", "no header", "expected column names in the first line")
    check_columns(f"{name}:1", names)
    return names


def _row(cells: list[str], header: list[str], structured: frozenset[str], where: str) -> dict[str, Any] | RecordError:
    if len(cells) > len(header):
        return RecordError(
            where, f"{len(cells)} cells, but the header has {len(header)}", "quote cells that contain the delimiter"
        )
    found: dict[str, Any] = {}
    for name, cell in zip(header, cells, strict=False):
        if name not in structured:
            found[name] = cell
        elif cell.strip() and cell.strip() not in NOTHING:
            try:
                found[name] = _listed(cell, where, name) if LOOKS_LIKE_JSON.match(cell) else cell
            except RecordError as error:
                return error.with_traceback(None)
    return found


def _listed(cell: str, where: str, name: str) -> Any:
    """A list or an object of a cell: as JSON, or as pandas writes Python's."""
    try:
        return decode(cell.encode(), where, field=name)
    except RecordError:
        if "'" not in cell:
            raise
        try:
            return literal(cell)
        except ValueError as error:
            raise RecordError(where, f"not JSON, and {error}", "write it with json.dumps", field=name) from None

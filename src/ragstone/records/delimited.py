"""Read CSV and TSV with a header: one record per row; cells of list columns are JSON or lists as printed by Python.

A blank cell is a blank text in a text column and a missing value in a list column. A row may have fewer cells than the
header, as written by spreadsheets, but not more, because the columns would be ambiguous. The delimiter does not depend
on the extension alone: spreadsheets write ``.csv`` files with semicolons in locales with a decimal comma.
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
from ragstone.records.limits import MAX_RECORD_BYTES
from ragstone.records.mapping import Mapper, Rows
from ragstone.records.python_values import literal

LOOKS_LIKE_JSON: Final = re.compile(r"""\s*((array\()?\[\s*(["'{\[\]]|null|None|array\(|[A-Z]\w+\()|\{\s*["'}])""")
"""The beginning of a list or an object, including printed Python objects; ``[1] A passage`` is neither."""
NOTHING: Final = frozenset(("None", "nan", "NaN", "null"))
"""Cells of a list column that are printed missing values."""


DELIMITERS: Final = (",", ";", "\t", "|")
_NAMED: Final = re.compile(r'"?sep=([,;|\t])"?\s*\Z', re.IGNORECASE)
"""A first line that names the delimiter for Excel."""


def header_names(line: str, delimiter: str) -> list[str]:
    """Return the column names of a header line; empty if it is not CSV."""
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter, strict=True), [])]
    except csv.Error:
        return []


def _delimiter(origin: Origin, usual: str) -> tuple[str, bool]:
    """Return the delimiter, and whether the first line only names it.

    It is the usual one, unless that gives a single column, which is not enough for a record, and another gives several.
    """
    with origin.open() as stream:
        line = stream.readline(MAX_RECORD_BYTES + 1).decode(errors="replace")
    if named := _NAMED.match(line):
        return named[1], True
    if len(header_names(line, usual)) != 1:
        return usual, False
    found = {other: len(list(filter(None, header_names(line, other)))) for other in DELIMITERS if other != usual}
    most = max(found, key=lambda other: found[other])
    return most if found[most] > 1 else usual, False


def read(origin: Origin, mapper: Mapper, usual: str) -> Rows:
    """Yield the rows of a table, each with the line it begins on; ``usual`` is the delimiter of its extension."""
    # Python's limit of 131,072 characters is too short for long lists of passages; it is process-wide: never lower it.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD_BYTES))
    delimiter, named = _delimiter(origin, usual)
    with origin.open() as stream:
        if named:
            stream.readline(MAX_RECORD_BYTES)
        lines = _Lines(origin.name, stream)
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        header = _header(origin.name, _next(rows, lines))
        structured = mapper.structured(header)
        while (cells := _next(rows, lines)) is not None:
            if isinstance(cells, RecordError):
                yield cells.where, cells
            elif any(map(str.strip, cells)):  # spreadsheets write rows of blank cells
                yield lines.where, _row(cells, header, structured, lines.where)


class _Lines:
    """Lines as text for the csv module; an error raised here costs one row, and reading continues at the next line."""

    def __init__(self, name: str, stream: Stream) -> None:
        self._name = name
        self._stream = stream
        self._size = 0
        self.where = name

    def begin(self) -> None:
        """Start a new row at the next line."""
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
    """Return the next row, its error, or None at the end."""
    lines.begin()
    try:
        return next(rows, None)
    except RefusedError as error:
        return RecordError(lines.where, *error.args)
    except csv.Error as error:
        found = str(error).replace("unexpected end of data", "a quote is opened in this row and never closed")
        found = "text between a closing quote and the next delimiter" if "expected after" in found else found
        return RecordError(lines.where, f"not CSV: {found}", 'write quotes as in "a ""b"" c"')


def _header(name: str, cells: list[str] | RecordError | None) -> list[str]:
    """Return the column names, naming unnamed ones by position; raise RecordError if two are the same."""
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
    """Parse a cell that holds a list or an object, as JSON or as a Python literal (written by pandas)."""
    try:
        return decode(cell.encode(), where, field=name)
    except RecordError:
        if "'" not in cell:
            raise
        try:
            return literal(cell)
        except ValueError as error:
            raise RecordError(where, f"not JSON, and {error}", "write it with json.dumps", field=name) from None

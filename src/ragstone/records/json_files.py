"""Read JSON Lines (``.jsonl``) and JSON files: an array of objects, one object, or concatenated objects.

Blank lines are skipped. Neither JSON parser in use reads arrays incrementally, so this module splits a JSON file into
items and parses each one like a line. Splitting only looks at strings, brackets and commas. The text between two commas
goes to the parser, which reports any error, so that one bad item costs one record.
"""

from __future__ import annotations

import re
from typing import Final

from ragstone.errors import RecordError
from ragstone.records.bytestream import WHITESPACE, Origin, Stream
from ragstone.records.jsontext import row
from ragstone.records.limits import MAX_RECORD_BYTES
from ragstone.records.mapping import Item, Mapper, Rows

# Text that can be skipped in one step: whole strings, and lists and objects without nested ones. Quantifiers are
# possessive, so that untrusted text cannot cause backtracking. Each pattern matches everywhere, possibly empty.
_TAIL: Final = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
_STRING: Final = rb'"' + _TAIL + rb'"'
_FLAT: Final = rb"[\[{](?:[^\"{}\[\]]++|" + _STRING + rb")*+[\]}]"
BETWEEN: Final = re.compile(rb'(?:[^"{}\[\],]++|' + _STRING + rb"|" + _FLAT + rb")*+", re.DOTALL)
WITHIN: Final = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb"|" + _FLAT + rb")*+", re.DOTALL)
OUTSIDE: Final = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+", re.DOTALL)
REST_OF_STRING: Final = re.compile(_TAIL, re.DOTALL)

QUOTE, COMMA, CLOSE = b'",]'
OPENING: Final = frozenset(b"[{")


def read_lines(origin: Origin, mapper: Mapper) -> Rows:
    """Yield each line's place (``traces.jsonl:12``) with its row or error; a bad line does not end the reading.

    Objects over several lines are read as in a JSON file.
    """
    if origin.head().partition(b"\n")[0].strip() == b"{":
        yield from read(origin, mapper)
        return
    with origin.open() as stream:
        for where, line in stream.filled_lines(MAX_RECORD_BYTES, "split the record"):
            yield where, line if isinstance(line, RecordError) else row(line, where)


def read(origin: Origin, mapper: Mapper) -> Rows:
    """Yield each item's place (``traces.json:40 item 3``: its first line and its number) with its row or error."""
    array = origin.head().startswith(b"[")
    if not array and _is_lines(origin):
        yield from read_lines(origin, mapper)
        return
    with origin.open() as stream:
        yield from _Cutter(origin.name, array=array).items(stream)


def _is_lines(origin: Origin) -> bool:
    """Return whether the first non-blank line is a complete object, as in JSON Lines with another extension."""
    with origin.open() as stream:
        _, line = next(stream.filled_lines(MAX_RECORD_BYTES, ""), ("", b"{}"))
        return isinstance(line, bytes) and isinstance(row(line, ""), dict)


def _end(pattern: re.Pattern[bytes], chunk: bytes, at: int) -> int:
    match = pattern.match(chunk, at)
    return match.end() if match else at


class _Cutter:
    """Splits a stream into items, holding one at a time and dropping those above the record size limit."""

    def __init__(self, name: str, *, array: bool) -> None:
        self._name = name
        self._array = array
        self._opened = not array
        self._closed = False
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._parts: list[bytes] = []
        self._size = 0
        self._line = 1
        self._item_line = 1
        self._number = 0

    def items(self, stream: Stream) -> Rows:
        for chunk in stream.chunks():
            yield from self._cut(chunk)
        if self._closed:
            return
        if self._parts:  # the parser reports what is missing
            yield self._taken()
        if self._array:
            raise RecordError(
                f"{self._name}:{self._line}", "the array is not closed", "expected a ] after the last item"
            )

    def _cut(self, chunk: bytes) -> Rows:
        begin = at = self._entered(chunk)
        while at < len(chunk):
            if self._closed:
                if chunk[at:].strip(WHITESPACE):
                    where = f"{self._name}:{self._line}"
                    raise RecordError(where, "text after the end of the array", "expected one array per file")
                return
            if self._in_string:
                at = self._string(chunk, at)
                continue
            between = BETWEEN if self._array else OUTSIDE
            at = _end(WITHIN if self._depth else between, chunk, at)
            if at == len(chunk):
                break
            at += 1
            if self._ends_item(chunk[at - 1]):
                self._keep(chunk[begin : at - self._array])
                if self._parts or not self._closed or self._number:
                    yield self._taken()
                begin = at
        if not self._closed:
            self._keep(chunk[begin:])

    def _entered(self, chunk: bytes) -> int:
        """Return where the items in this chunk begin: after the opening bracket of the array."""
        if self._opened:
            return 0
        at = chunk.find(b"[") + 1
        self._opened = at > 0
        self._line += chunk.count(b"\n", 0, at or len(chunk))
        return at or len(chunk)

    def _string(self, chunk: bytes, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        end = _end(REST_OF_STRING, chunk, at)
        if end == len(chunk):
            return end
        self._escaped = chunk[end] != QUOTE  # a backslash at the end of the chunk
        self._in_string = self._escaped
        return end + 1

    def _ends_item(self, byte: int) -> bool:
        if byte == QUOTE:
            self._in_string = True
            return False
        if byte in OPENING:
            self._depth += 1
            return False
        if self._array and not self._depth:
            self._closed = byte == CLOSE
            return byte in (COMMA, CLOSE)
        self._depth = max(self._depth - 1, 0)
        return not self._array and not self._depth

    def _keep(self, piece: bytes) -> None:
        if not self._parts:
            text = piece.lstrip(WHITESPACE)
            self._line += piece.count(b"\n", 0, len(piece) - len(text))
            self._item_line, piece = self._line, text
        if not piece:
            return
        self._line += piece.count(b"\n")
        self._size += len(piece)
        if self._size > MAX_RECORD_BYTES:
            self._parts = [b""]
        else:
            self._parts.append(piece)

    def _taken(self) -> Item:
        self._number += 1
        where = f"{self._name}:{self._item_line} item {self._number}"
        text, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        if size > MAX_RECORD_BYTES:
            return where, RecordError(where, f"an item of more than {MAX_RECORD_BYTES:,} bytes", "split the record")
        if not text:
            return where, RecordError(where, "nothing before this comma or ]", "each item must be {...}")
        return where, row(text.strip(WHITESPACE), where)

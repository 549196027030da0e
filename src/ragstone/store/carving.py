"""The calls in the bytes of a damaged store, found by what a call looks like and not by way of the file's tables.

Promises: a call is found wherever all of its own bytes are, whatever was cut out, overwritten, doubled or torn off
around it; it is taken only where the hash that is its key and the sums of its two texts agree with it; the file is
only read, and any bytes at all are read to their end. The file format is SQLite's (sqlite.org/fileformat2.html).

No text that a judge or a record holds can pass for a call: the texts of a call are zstd frames, whose first bytes are
no UTF-8, and its key is a hash of what is in them.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from ragstone.errors import StoreError
from ragstone.questions import TASKS
from ragstone.store.rows import MOST_REPEATS, CallRow, call_key

_KEY: Final = 16
_NUMBER: Final = rb"[\x80-\xff]{0,4}[\x00-\x7f]"
# A row begins with its columns' types: 0x2c, 16 bytes, is the key's; three texts, two blobs and a time follow.
_CALL: Final = re.compile(rb"(?<=[\x08-\x20])\x2c((?:" + _NUMBER + rb"){5})([\x01-\x09])", re.DOTALL)
# An entry of the index of keys: its length, and with the key the number of the row.
_ENTRY: Final = re.compile(rb"[\x13-\x1b]\x03\x2c([\x01-\x06\x08\x09])", re.DOTALL)
_WIDTHS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}
"""Bytes of a number by its type; 7 is a float, 8 and 9 are zero and one."""
_LARGEST: Final = 1 << 40
"""No store counts so far: the number of such a row is damaged."""
_LOG_HEAD: Final = 32
_FRAME_HEAD: Final = 24


class Found(NamedTuple):
    """A call with its number (the order in which calls were stored) and the time when it was."""

    number: int
    call: CallRow
    at: float


@dataclass(slots=True)
class Carved:
    """What else was seen: the calls that the index names, and how many bytes the file lacks at its end."""

    named: dict[bytes, int] = field(default_factory=dict)
    short: int = 0


@dataclass(frozen=True, slots=True)
class _Shape:
    """How the file is divided: the size of a page, and how much of it is used."""

    page: int
    used: int

    def here(self, length: int) -> int:
        """How many bytes of a row of this length are in its own page; the others are in a chain of further ones."""
        most = self.used - 35
        if length <= most:
            return length
        least = (self.used - 12) * 32 // 255 - 23
        fitting = least + (length - least) % (self.used - 4)
        return fitting if fitting <= most else least


def carve(path: str, unpacked: Callable[[bytes], bytes], seen: Carved) -> Iterator[Found]:
    """The whole calls of a store's file and its log, in no order, some more than once; ``seen`` is filled on the way.

    Of a call that was asked anew the earlier reply may be found as well. OSError where the file cannot be read.
    """
    with contextlib.ExitStack() as stack:
        data = _mapped(path, stack)
        log = _mapped(f"{path}-wal", stack) if Path(f"{path}-wal").exists() else b""
        whole = _whole_length(data)
        seen.short = max(0, whole - len(data))
        shift = len(data) - whole if whole else 0
        for shape in _shapes(data):
            pages = _Pages(data, log, shape, shift=shift)
            for part in (data, log):
                yield from _calls(part, pages, unpacked)
        page = _shapes(data)[0].page
        for begin in {0, shift % page}:
            seen.named.update(_entries(data, page, begin, page))
        seen.named.update(_entries(log, page, _LOG_HEAD + _FRAME_HEAD, page + _FRAME_HEAD))


def _mapped(path: str, stack: contextlib.ExitStack) -> bytes | mmap.mmap:
    with Path(path).open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return b""
        return stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _shapes(data: bytes | mmap.mmap) -> list[_Shape]:
    """The division that the file's head tells, then others, in case the head is damaged."""
    head = bytes(data[:100]).ljust(100, b"\0")
    (size,) = struct.unpack(">H", head[16:18])
    size = 65536 if size == 1 else size
    told = [_Shape(size, size - head[20])] if size >= 512 and not size & (size - 1) else []
    usual = [_Shape(size, size) for size in (*(shape.page for shape in told), 4096)]
    return list(dict.fromkeys([*told, *usual]))


def _whole_length(data: bytes | mmap.mmap) -> int:
    """How long the file should be by its head; 0 where that does not say."""
    if len(data) < 100 or bytes(data[:16]) != b"SQLite format 3\0":
        return 0
    (size,) = struct.unpack(">H", data[16:18])
    changed, pages = struct.unpack(">I", data[24:28])[0], struct.unpack(">I", data[28:32])[0]
    valid = struct.unpack(">I", data[92:96])[0] == changed
    return pages * (65536 if size == 1 else size) if valid and pages < _LARGEST // 65536 else 0


class _Pages:
    """The pages of a file by their numbers: the latest in its log first, then the one in the file itself.

    Where bytes were cut out of the file or came in, those behind are ``shift`` off their places.
    """

    def __init__(self, data: bytes | mmap.mmap, log: bytes | mmap.mmap, shape: _Shape, *, shift: int) -> None:
        self.shape = shape
        self.size = len(data) + len(log)
        self._data = data
        self._shifts = list(dict.fromkeys([0, shift]))
        self._log = log
        self._logged: dict[int, list[int]] = {}
        for start in range(_LOG_HEAD, len(log) - _FRAME_HEAD - shape.page + 1, _FRAME_HEAD + shape.page):
            self._logged.setdefault(int.from_bytes(log[start : start + 4]), []).insert(0, start + _FRAME_HEAD)

    def chains(self, first: int, length: int) -> Iterator[bytes]:
        """The bytes of a chain of pages, in the ways that they may be meant; one that is not whole is left out."""
        said: set[bytes] = set()
        for way in range(len(self._shifts) + 1 + max(map(len, self._logged.values()), default=0)):
            chain = self._chain(first, length, way)
            if len(chain) == length and chain not in said:
                said.add(chain)
                yield chain

    def _chain(self, number: int, length: int, way: int) -> bytes:
        parts: list[bytes] = []
        while length > 0 and number:
            page = self._page(number, way)
            take = min(length, self.shape.used - 4)
            if len(page) < 4 + take:  # the last page of a file that was cut off may hold all that is needed
                break
            parts.append(page[4 : 4 + take])
            number, length = int.from_bytes(page[:4]), length - take
        return b"".join(parts)

    def _page(self, number: int, way: int) -> bytes:
        logged = self._logged.get(number, ())
        if way < len(logged):
            start = logged[way]
            return bytes(self._log[start : start + self.shape.page])
        shift = self._shifts[min(way - len(logged), len(self._shifts) - 1)]
        start = (number - 1) * self.shape.page + shift
        return bytes(self._data[start : start + self.shape.page]) if start >= 0 else b""


def _calls(part: bytes | mmap.mmap, pages: _Pages, unpacked: Callable[[bytes], bytes]) -> Iterator[Found]:
    for match in _CALL.finditer(part):
        start = match.start() - 1
        kinds = _numbers(match[1])
        if part[start] != 3 + len(match[1]) or any(kind < 12 for kind in kinds):
            continue
        if [kind % 2 for kind in kinds] != [1, 1, 1, 0, 0]:  # texts have odd types
            continue
        widths = [_KEY, *((kind - 12) // 2 for kind in kinds), _WIDTHS[match[2][0]]]
        length = part[start] + sum(widths)
        number = _number_before(part, start, length)
        if number is None:  # it was deleted, or is no row at all
            continue
        for row in _rows(part, start, length, pages):
            if found := _read(row[part[start] :], widths, match[2][0], number, unpacked):
                yield found
                break


def _rows(part: bytes | mmap.mmap, start: int, length: int, pages: _Pages) -> Iterator[bytes]:
    here = pages.shape.here(length)
    row = bytes(part[start : start + here])
    if here == length:
        yield row
        return
    if length > pages.size:  # no chain can be as long
        return
    first = int.from_bytes(part[start + here : start + here + 4])
    for rest in pages.chains(first, length - here):
        yield row + rest


def _numbers(data: bytes) -> list[int]:
    numbers, number = [], 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return numbers


def _number_before(part: bytes | mmap.mmap, start: int, length: int) -> int | None:
    """The number of a row, which stands before it, behind its length; None where no such length is there.

    Where a row is deleted both are overwritten.
    """
    said = _written(length)
    for width in range(1, 7):
        begin = start - width - len(said)
        if begin < 0:
            return None
        if bytes(part[begin : begin + len(said)]) == said:
            numbers = _numbers(bytes(part[start - width : start]))
            if len(numbers) == 1 and part[start - 1] < 0x80 and 0 < numbers[0] < _LARGEST:
                return numbers[0]
    return None


def _written(number: int) -> bytes:
    parts = [number & 0x7F]
    while number := number >> 7:
        parts.append(number & 0x7F | 0x80)
    return bytes(reversed(parts))


def _read(body: bytes, widths: list[int], kind: int, number: int, unpacked: Callable[[bytes], bytes]) -> Found | None:
    """The call in a row's columns, or None where any of it is not as it was stored."""
    columns, start = [], 0
    for width in widths:
        columns.append(body[start : start + width])
        start += width
    if start != len(body):
        return None
    key, *texts, request, reply, time = columns
    try:
        judge, task, maker = (text.decode() for text in texts)
        asked, answered = unpacked(request), unpacked(reply)
        whole = isinstance(orjson.loads(answered), dict) and _is_key(key, judge, maker, asked)
    except (StoreError, ValueError):
        return None
    at = _time(time, kind)
    if not (whole and task in TASKS and math.isfinite(at)):
        return None
    return Found(number, CallRow(key, judge, task, maker, asked, answered), at)


def _is_key(key: bytes, judge: str, maker: str, request: bytes) -> bool:
    return any(call_key(judge, maker, repeat, request) == key for repeat in range(MOST_REPEATS))


def _time(data: bytes, kind: int) -> float:
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    return float(
        kind - 8 if kind >= 8 else int.from_bytes(data, signed=True)
    )  # what is whole is kept as a whole number


def _entries(part: bytes | mmap.mmap, page: int, begin: int, stride: int) -> Mapping[bytes, int]:
    """What the index of keys names: keys and the numbers of their calls; pages begin at ``begin``, every ``stride``."""
    named: dict[bytes, int] = {}
    for match in _ENTRY.finditer(part):
        kind = match[1][0]
        width = _WIDTHS[kind]
        if part[match.start()] != 3 + _KEY + width:
            continue
        start = match.start() - (match.start() - begin) % stride
        if start < 0 or not _is_entry(bytes(part[start : start + page]), match.start() - start):
            continue
        key = bytes(part[match.end() : match.end() + _KEY])
        digits = bytes(part[match.end() + _KEY : match.end() + _KEY + width])
        number = 1 if kind == 9 else int.from_bytes(digits, signed=True)
        if len(digits) == width and 0 < number < _LARGEST:
            named[key] = number
    return named


def _is_entry(page: bytes, at: int) -> bool:
    """Whether a page of an index points to what is there: the rest is left over, and may be overwritten."""
    leaf, inner = page[:1] == b"\x0a", page[:1] == b"\x02"
    if not (leaf or inner) or len(page) < 12:
        return False
    head, place = (8, at) if leaf else (12, at - 4)
    (count,) = struct.unpack(">H", page[3:5])
    pointers = page[head : head + 2 * count]
    return place > 0 and any(
        place == pointer for (pointer,) in struct.iter_unpack(">H", pointers[: len(pointers) // 2 * 2])
    )

"""Read labels from numbered and bulleted lists, YAML, and lines of their own, as models write them.

An entry belongs to the unit with its number. A list without numbers is positional, and accepted only if every entry
looks like a label, so that no sentence of an explanation is mistaken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from ragstone.parsing.label_rows import DASHES, LABEL_NAMES, NOUN, NUMBER_NAMES, OTHER_NAMES, Format, Found, lines
from ragstone.parsing.label_words import Words

_BULLET_SIGN: Final = r"[-*•+\u2013]"
_NUMBERED: Final = re.compile(
    r"(?P<lead>[\s>]*)(?P<bullet>"
    + _BULLET_SIGN
    + r"\s+)?[\s*_`\"'(\[#]*"
    + rf"(?P<noun>{NOUN})"
    + r"(?P<number>[0-9]{1,4})[*_`\"')\]]*"
    r"(?:\s*(?P<sep>[.:)\]|=\u2192\u21d2\u2014\u2013]|->|=>|-(?=\s))[*_`\"']*(?![0-9])|(?P<gap>\s+)(?=\S)|\s*$)\s*(?P<rest>.*)"
)
_MARK: Final = re.compile(rf"(?:(?<=[\s,;(])|^)([0-9]{{1,4}})(?:[.):=]|\s[{DASHES}])\s*")
_SINGLE: Final = re.compile(
    r"[\W_]*(?:[^\W\d_]+\s+){0,3}(?:"
    + "|".join(map(re.escape, (*LABEL_NAMES, "answer", "ответ")))
    + r")[*_\"'`]*\s*[:=]\s*(?P<value>.*)",
    re.IGNORECASE,
)
_TEXT_KEY: Final = re.compile(r"\s*(?:-\s+)?[\"'\u201c](?P<key>[^\n]{1,300})[\"'\u201d]\s*:\s*(?P<value>[^:]*)")
_BULLET: Final = re.compile(r"(?P<lead>[\s>]*)(?P<bullet>" + _BULLET_SIGN + r")\s+(?P<rest>.*)")
_FIELD: Final = re.compile(r"[\s>*_\-•+\"'`]*(?P<name>[^\W\d_]\w{0,20}|[#№])[*_\"'`]*\s*[:=]\s*(?P<value>.*)")
LONGEST: Final = 2_000
"""Maximum number of characters read per line; no label comes later."""
_BLANKS: Final = re.compile(r"[^\S\n]{2,}")
_REPEATED: Final = re.compile(r"([^\w\s]|_)\1{3,}")
WIDEST: Final = 200
"""The widest range of numbers that may share a label on one line."""
_NUMBER: Final = NOUN + r"[0-9]{1,4}"
_MORE: Final = rf"(?:\s*(?:[-\u2013,&]|to|and|и)\s*{_NUMBER})"
"""Matches a further number of units that share a label."""
_GROUP: Final = re.compile(
    rf"[\s*_>\-\u2022]*{NOUN}(?P<numbers>[0-9]{{1,4}}{_MORE}+)[*_]*\s*[:=\u2192\u2014][*_]*\s*(?P<rest>.+)"
)
_GROUPED: Final = re.compile(
    r"[\s*_>\-\u2022]*(?P<rest>[^\W\d][\w -]{0,40}?)[*_\s]*[:=\u2192\u2014][*_\s]*"
    rf"(?P<numbers>{_NUMBER}{_MORE}*)[\s.]*"
)
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_RANGE: Final = re.compile(r"([0-9]{1,4})(?:\s*(?:[-\u2013]|to)\s*([0-9]{1,4}))?")


class _Entry(Struct):
    number: int | None
    reader: Format
    start: int
    end: int
    indent: int
    first: str
    label: str | None = None
    contested: bool = False
    named: bool = False
    below: bool = False
    """Its label is on the next line, alone: that line is not a heading for the numbers after it."""


def listed(text: str, words: Words) -> list[Found]:
    """Return the lists in the text, in order."""
    listing = _Listing(words)
    for start, line in _parted(text, words):
        listing.add(start, line)
    return [found for run in listing.runs if (found := _found(run))]


def numbered(text: str, words: Words) -> tuple[int, str] | None:
    """Return the number and the label of an entry without other text (``1. support``), else None."""
    match = _NUMBERED.fullmatch(text) if len(text) <= 60 else None
    if match is None or match["sep"] is None or (label := words.alone(match["rest"])) is None:
        return None
    return int(match["number"]), label


class _Listing:
    """Groups lines into entries and entries into lists, line by line."""

    def __init__(self, words: Words) -> None:
        self.runs: list[list[_Entry]] = []
        self._words = words
        self._current: _Entry | None = None
        self._broken = True
        self._heading: str | None = None
        self._apart = False
        self._among = False

    def add(self, start: int, line: str) -> None:
        line = _tidy(line)
        if _FENCE.match(line):  # a list in a code block of its own is a separate list
            self._broken, self._current, self._heading = True, None, None
        elif not line.strip():
            self._apart = True
        else:
            end = start + len(line)
            if not (self._goes_on(line, end) or self._numbered(line, start, end) or self._by_place(line, start, end)):
                # Any other line ends a positional list, but a numbered entry may continue after it.
                if self._current is not None and self._current.number is None:
                    self._broken, self._current = True, None
                self._heading, self._among = None, True
            self._apart = False

    def _goes_on(self, line: str, end: int) -> bool:
        """Return whether the line continues the previous entry, i.e. is indented or one of its fields."""
        entry, words = self._current, self._words
        if entry is None:
            return False
        inner = _FIELD.fullmatch(line)
        name = inner["name"].casefold() if inner else ""
        if inner and name in NUMBER_NAMES and entry.number is None and entry.label and not self._apart:
            entry.contested |= _whole(inner["value"]) is not None  # a number after its label: which is whose is unclear
            return entry.contested
        indented = _indent(line) > entry.indent and not _numbered(line, words, within=True)
        field_of = (name in LABEL_NAMES or name in OTHER_NAMES) and (entry.number is not None or entry.named)
        if indented or field_of:
            _continue(entry, line, inner, end, words)
        return indented or field_of

    def _numbered(self, line: str, start: int, end: int) -> bool:
        inner = _FIELD.fullmatch(line)
        if inner and inner["name"].casefold() in NUMBER_NAMES and (number := _whole(inner["value"])) is not None:
            self._begin(_Entry(number, "yaml", start, end, _indent(line), "", named=True))
            return True
        if group := _group(line, self._words):
            numbers, label = group
            for number in numbers:  # "Nuggets 1-3: support"
                self._begin(_Entry(number, "numbered", start, end, _indent(line), label, label))
            return True
        entry = _numbered(line, self._words)
        if entry is None:
            return False
        entry.start, entry.end = start, end
        if self._heading is not None and entry.label is None:
            entry.label = self._heading  # numbers grouped under a label
        self._begin(entry)
        return True

    def _by_place(self, line: str, start: int, end: int) -> bool:
        words, entry = self._words, self._current
        indent = _indent(line)
        under = _SINGLE.fullmatch(line) or _TEXT_KEY.fullmatch(line)
        if under and (label := words.alone(under["value"].partition(" #")[0])) is not None:
            self._begin(_Entry(None, "yaml", start, end, indent, under["value"], label))
            return True
        bullet = _BULLET.fullmatch(line)
        content = bullet["rest"] if bullet else line
        label = words.alone(content)
        if label is None and not bullet:
            return False
        if label is not None and not bullet and entry is not None and entry.number is not None:
            if entry.below and not self._apart:
                entry.contested |= label != entry.label
                return True
            waiting = entry.label is None and not entry.contested
            others = any(one.label is None for one in self.runs[-1] if one is not entry)
            if waiting and not words.numeric and not (self._apart and others):
                entry.label, entry.end, entry.below = label, end, True
                return True
            grouped, self._heading = self._heading is not None, None if waiting else label
            if grouped:
                return True
        elif label is not None and not bullet:
            self._heading = label
        reader: Format = "markdown" if bullet else "csv"
        self._begin(_Entry(None, reader, start, end, indent, content, label or words.beside(content)))
        return True

    def _begin(self, entry: _Entry) -> None:
        run = self.runs[-1] if self.runs else []
        other = not run or (run[0].number is None) != (entry.number is None)
        again = bool(run) and run[0].number == entry.number and (self._among or entry.number != run[-1].number)
        if self._broken or other or again:  # the list starts over
            self.runs.append([])
        self._broken = self._among = False
        self.runs[-1].append(entry)
        self._current = entry


def _tidy(line: str) -> str:
    """Shorten repeated characters in the line, so that no pattern takes long to match."""
    line = line[:LONGEST]
    lead = line[: len(line) - len(line.lstrip())]
    return lead[:40] + _REPEATED.sub(r"\1\1\1", _BLANKS.sub(" ", line[len(lead) :].rstrip()))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t>"))


def _parted(text: str, words: Words) -> Iterator[tuple[int, str]]:
    """Yield the lines with their offsets; split a line of several short entries with consecutive numbers."""
    for start, line in lines(text):
        marks = list(_MARK.finditer(line)) if len(line) <= LONGEST else []
        numbers = [int(mark[1]) for mark in marks]
        if (
            len(marks) > 1
            and not line[: marks[0].start()].strip(" -*>(")
            and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        ):
            ends = [*(mark.start() for mark in marks[1:]), len(line)]
            parts = [line[mark.start() : end] for mark, end in zip(marks, ends, strict=True)]
            if all(words.alone(part[mark.end() - mark.start() :]) for part, mark in zip(parts, marks, strict=True)):
                for part, mark in zip(parts, marks, strict=True):
                    yield start + mark.start(), part.strip(" ,;")
                continue
        yield start, line


def _group(line: str, words: Words) -> tuple[list[int], str] | None:
    """Return numbers that share a label: ``1-3: support``, ``Nuggets 2 and 4: not_support``, ``support: 2, 3``."""
    if len(line) > 300 or words.numeric:
        return None
    match = _GROUP.fullmatch(line)
    label = words.alone(match["rest"]) if match else None
    if label is None:
        match = _GROUPED.fullmatch(line)
        one = match is not None and match["numbers"].isdigit()  # "support: 2" may be a count
        label = words.strong(match["rest"]) if match and not one else None
    if match is None or label is None:
        return None
    numbers: list[int] = []
    for part in _RANGE.finditer(match["numbers"]):
        first = int(part[1])
        last = int(part[2] or first)
        if not first <= last <= first + WIDEST:
            return None
        numbers += range(first, last + 1)
    return numbers, label


def _numbered(line: str, words: Words, *, within: bool = False) -> _Entry | None:
    """Return the line as an entry of a numbered list; ``within`` another entry, only if its text is just a label."""
    match = _NUMBERED.fullmatch(line)
    if match is None or (within and match["noun"]):  # "Part 1: support" is a part of the entry
        return None
    rest = match["rest"]
    label = words.alone(rest)
    closed = line[match.end("number") : match.end("number") + 1] in "*)]_"  # "**1** (the nugget): support"
    if label is None and (within or (match["sep"] is None and rest and not (closed and words.beside(rest)))):
        return None
    if not rest and match["sep"] is None and words.numeric:
        return None
    label = label or words.beside(rest)
    reader: Format = "markdown" if match["bullet"] else "yaml" if match["sep"] == ":" else "numbered"
    return _Entry(int(match["number"]), reader, 0, 0, len(match["lead"]), rest, label)


def _continue(entry: _Entry, line: str, inner: re.Match[str] | None, end: int, words: Words) -> None:
    """Add a line to an entry; its label may be in a field of its own or alone on the line."""
    entry.end = end
    if inner and inner["name"].casefold() in (*LABEL_NAMES, "answer", "ответ"):
        label = words.alone(inner["value"]) or words.beside(inner["value"])
        if label is None:
            return
        if entry.named and entry.label not in (None, label):
            entry.contested = True
        entry.label, entry.named = label, True
    elif entry.label is None and not words.numeric:
        content = _BULLET.fullmatch(line)
        entry.label = words.alone(content["rest"] if content else line)


def _found(run: Sequence[_Entry]) -> Found | None:
    """Return the entries as a list, else None; a positional list needs entries that are labels or as short as one."""
    if all(entry.label is None or entry.contested for entry in run):
        return None
    alike = all(entry.label or (len(entry.first) <= 30 and len(entry.first.split()) <= 2) for entry in run)
    if run[0].number is None and (not alike or any(entry.contested for entry in run)):
        return None
    found = Found(run[0].reader, run[0].start, run[-1].end)
    for entry in run:
        found.add(entry.number, entry.first, None if entry.contested else entry.label, run[-1].end)
    return found


def _whole(text: str) -> int | None:
    text = text.strip().strip("\"'`*,;")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else None

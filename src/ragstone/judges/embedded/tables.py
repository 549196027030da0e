"""Find tables in a passage, with their rows and the headings of their cells.

Supports Markdown, HTML, CSV and TSV. All functions are pure and linear in the text; offsets are into the given text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Final, NamedTuple

from msgspec import Struct

from ragstone.types import Span

LEAST: Final = 3
"""Minimum adjacent lines with equally many delimiters that are a table without a ruler or tag."""

CAPTION: Final = 300  # maximum characters of a caption
COLUMNS: Final = 64  # maximum columns whose headings are read
ROW: Final = 2000  # maximum characters of a row
_RULER: Final = re.compile(r"\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?\s*)?|\|\s*:?-{1,}:?\s*\|?")


def _element(name: str, until: str) -> re.Pattern[str]:
    """Return a pattern for an HTML element up to one of some tags, content as a group; closing tags are optional."""
    return re.compile(rf"<{name}\b[^<>]{{0,200}}>((?:(?!<(?:{until})\b).)*)(?:</{name}>)?", re.IGNORECASE | re.DOTALL)


_HTML_TABLE: Final = re.compile(r"<table\b[^<>]{0,200}>(?:(?!<table\b).)*?</table>", re.IGNORECASE | re.DOTALL)
_HTML_CAPTION: Final = _element("caption", "/caption|tr|/table")
_HTML_ROW: Final = _element("tr", "/?tr|/?table")
_HTML_CELL: Final = _element("t[dh]", "/?t[rdh]|/?table")
_QUOTED: Final = re.compile(r'"(?:[^"\n]|"")*"')
_NUMERIC: Final = re.compile(r"[\d\s.,%$\u20ac\u00a3\u00a5()+\u2212-]*")


class Cell(NamedTuple):
    """A cell of a row with its headings; ``start`` and ``end`` are offsets into the passage."""

    row_heading: str
    column_heading: str
    text: str
    start: int
    end: int


class TextTable(Struct, frozen=True):
    """A table: its place, caption, headings and data rows.

    ``kind``: the delimiter, or "<" for HTML.
    """

    kind: str
    start: int
    end: int
    caption: Span | None
    headings: tuple[Span, ...]
    rows: tuple[Span, ...]

    def cells(self, text: str, row: Span) -> tuple[Cell, ...]:
        """Return the cells of a row of this table in ``text``; the first is the row heading of the others."""
        spans = _cells(text, row.start, row.end, self.kind)
        first = text[spans[0].start : spans[0].end] if spans else ""
        heads = [text[one.start : one.end] for one in self.headings]
        return tuple(
            Cell(first if i else "", heads[i] if i < len(heads) else "", text[one.start : one.end], one.start, one.end)
            for i, one in enumerate(spans)
            if one.start < one.end
        )


def lines_of(text: str) -> list[Span]:
    """Return the lines of a text, trimmed; blank lines have length 0."""
    found: list[Span] = []
    start = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        at = start + line.index(bare) if bare else start
        found.append(Span(at, at + len(bare)))
        start += len(line)
    return found


def tables_of(text: str, lines: Sequence[Span]) -> tuple[TextTable, ...]:
    """Return the tables of a text in order; ``lines``: its lines, or its sentences if already split."""
    found = list(_html(text)) if "<" in text and "<table" in text.lower() else []
    starts = [table.start for table in found]

    def passed(line: Span) -> int:
        return bisect_left(starts, line.end)

    free = [line for line in lines if not (n := passed(line)) or found[n - 1].end <= line.start]
    plain = chain.from_iterable(_plain(text, list(block)) for _, block in groupby(free, key=passed))
    return tuple(sorted([*found, *plain], key=lambda table: table.start))


def _plain(text: str, lines: Sequence[Span]) -> Iterator[TextTable]:
    at = 0
    while at < len(lines):
        kind, stop = _rows(text, lines, at)
        rows = [line for line in lines[at:stop] if not (kind == "|" and _RULER.fullmatch(text, line.start, line.end))]
        if len(rows) >= (2 if len(rows) < stop - at else LEAST):
            heads = tuple(_cells(text, rows[0].start, rows[0].end, kind)[:COLUMNS])
            if all(_NUMERIC.fullmatch(text, one.start, one.end) for one in heads):
                heads = ()
            # at most one blank line away
            above = [line for line in lines[max(0, at - 2) : at] if line.start < line.end]
            caption = above[-1] if above and above[-1].end - above[-1].start <= CAPTION else None
            yield TextTable(kind, rows[0].start, rows[-1].end, caption, heads, tuple(rows[bool(heads) :]))
        at = max(stop, at + 1)


def _rows(text: str, lines: Sequence[Span], at: int) -> tuple[str, int]:
    under = lines[at + 1] if at + 1 < len(lines) else lines[at]
    for sign in "|\t;,":
        ruled = sign == "|" and under is not lines[at] and _RULER.fullmatch(text, under.start, under.end)
        count = _columns(text, lines[at], sign)
        stop = at
        while count and stop < len(lines) and (size := _columns(text, lines[stop], sign)):
            if size != count and not ruled:
                break
            stop += 1
        if stop - at >= LEAST:
            return sign, stop
    return "", at


def _columns(text: str, line: Span, sign: str) -> int:
    """Return the number of cells of a line; 0 if it is not a row: it looks like prose, is too long, or has one cell."""
    if line.end - line.start > ROW or text.find(sign, line.start, line.end) < 0:
        return 0
    row = text[line.start : line.end]
    if sign == "|" and not row.startswith("|") and " | " not in row and not _RULER.fullmatch(row):
        return 0
    if sign in ";," and ((bare := _QUOTED.sub("", row)).count(f"{sign} ") or bare.endswith((".", "!", "?", ":"))):
        return 0
    count = len(_cells(text, line.start, line.end, sign))
    return count if count > 1 or sign == "|" else 0


def _cells(text: str, start: int, end: int, kind: str) -> list[Span]:
    if kind == "<":
        return [_trimmed(text, *cell.span(1)) for cell in _HTML_CELL.finditer(text, start, end)]
    if kind == "|":
        start += text.startswith("|", start, end)
        end -= end > start and text.endswith("|", start, end)
    found: list[Span] = []
    at = start
    while True:
        quoted = _QUOTED.match(text, at, end) if kind != "|" else None
        cut = text.find(kind, quoted.end() if quoted else at, end)
        stop = end if cut < 0 else cut
        found.append(_trimmed(text, at, stop, quotes=quoted is not None))
        if cut < 0:
            return found
        at = cut + 1


def _trimmed(text: str, start: int, end: int, *, quotes: bool = False) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if quotes and end - start > 1 and text[start] == text[end - 1] == '"':
        return Span(start + 1, end - 1)
    return Span(start, end)


# ---- HTML


def _html(text: str) -> Iterator[TextTable]:
    for whole in _HTML_TABLE.finditer(text):
        rows = [Span(*row.span()) for row in _HTML_ROW.finditer(text, *whole.span())]
        caption = _HTML_CAPTION.search(text, *whole.span())
        heads = _cells(text, rows[0].start, rows[0].end, "<")[:COLUMNS] if len(rows) > 1 else []
        if rows:
            named = Span(*caption.span(1)) if caption else None
            yield TextTable("<", *whole.span(), named, tuple(heads), tuple(rows[bool(heads) :]))

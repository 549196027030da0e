"""Tables and lists in a passage: which stretches are rows, and what the headings around a line say of it.

Reads Markdown, HTML, CSV and TSV. Pure; every offset is one into the text given; linear in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ragstone.types import Span

LEAST: Final = 3
"""Neighbouring lines with the same number of delimiters that are a table, where no ruler or tag says so."""

CAPTION: Final = 300  # most characters of a caption, a heading or the introduction of a list
HEADING: Final = 80  # most characters of a heading that no mark shows to be one
COLUMNS: Final = 64  # most columns whose headings are read
ROW: Final = 2000  # most characters of a row
_RULER: Final = re.compile(r"\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?\s*)?|\|\s*:?-{1,}:?\s*\|?")
_HTML: Final = re.compile(r"<(/?)(table|caption|tr|t[dh])\b[^<>]{0,200}>", re.IGNORECASE)
_MARKED: Final = re.compile(r"#{1,6}\s+|(?=\*\*[^*]+\*\*:?$)")
_NUMBERED: Final = re.compile(r"(?i:section|chapter|article|part|appendix)\s+[\dIVX]+\b")
_ITEM: Final = re.compile(r"(?:[-*+\u2022\u25e6\u25aa\u2013]|\(?(?:\d{1,3}|[a-z])[.)])\s+")
_QUOTED: Final = re.compile(r'"(?:[^"\n]|"")*"')
_NUMERIC: Final = re.compile(r"[\d\s.,%$\u20ac\u00a3\u00a5()+\u2212-]*")


class Cell(NamedTuple):
    """A cell of a row, with the headings that say what it is; ``start`` and ``end`` are offsets into the passage."""

    row_heading: str
    column_heading: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table: where it stands, its caption and headings, and its data rows.

    ``kind``: the delimiter, or "<" of HTML.
    """

    kind: str
    start: int
    end: int
    caption: Span | None
    headings: tuple[Span, ...]
    rows: tuple[Span, ...]

    def cells(self, text: str, row: Span) -> tuple[Cell, ...]:
        """The cells of one row of a text that this table stands in; the first is the heading of the others."""
        spans = _cells(text, row.start, row.end, self.kind)
        first = text[spans[0].start : spans[0].end] if spans else ""
        heads = [text[one.start : one.end] for one in self.headings]
        return tuple(
            Cell(first if i else "", heads[i] if i < len(heads) else "", text[one.start : one.end], one.start, one.end)
            for i, one in enumerate(spans)
            if one.start < one.end
        )


def lines_of(text: str) -> list[Span]:
    """The lines of a text, trimmed; blank ones have no length."""
    found: list[Span] = []
    start = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        at = start + line.index(bare) if bare else start
        found.append(Span(at, at + len(bare)))
        start += len(line)
    return found


def tables_of(text: str, lines: Sequence[Span]) -> tuple[Table, ...]:
    """The tables of a text in order; ``lines``: its lines or, where it has been divided already, its sentences."""
    found = list(_html(text)) if "<" in text and "<table" in text.lower() else []
    inside = iter(found)
    current = next(inside, None)
    free: list[Span] = []
    blocks: list[list[Span]] = [free]
    for line in lines:
        while current is not None and current.end <= line.start:
            current = next(inside, None)
        if current is not None and line.end > current.start:
            blocks.append([])
        else:
            blocks[-1].append(line)
    for block in blocks:
        found.extend(_plain(text, block))
    return tuple(sorted(found, key=lambda table: table.start))


def _plain(text: str, lines: Sequence[Span]) -> Iterator[Table]:
    """Tables whose rows are lines."""
    at = 0
    while at < len(lines):
        kind, stop = _rows(text, lines, at)
        rows = [line for line in lines[at:stop] if not (kind == "|" and _RULER.fullmatch(text, line.start, line.end))]
        if len(rows) >= (2 if len(rows) < stop - at else LEAST):
            heads = tuple(_cells(text, rows[0].start, rows[0].end, kind)[:COLUMNS])
            if all(_NUMERIC.fullmatch(text, one.start, one.end) for one in heads):
                heads = ()
            caption = _caption(lines, at)
            yield Table(kind, rows[0].start, rows[-1].end, caption, heads, tuple(rows[bool(heads) :]))
        at = max(stop, at + 1)


def _rows(text: str, lines: Sequence[Span], at: int) -> tuple[str, int]:
    """The delimiter of the rows that begin with a line, and the number of the line behind them."""
    for sign in "|\t;,":
        count = _columns(text, lines[at], sign)
        stop = at
        while count and stop < len(lines) and (size := _columns(text, lines[stop], sign)):
            if size != count and (sign != "|" or not _ruled(text, lines, at)):
                break
            stop += 1
        if stop - at >= LEAST:
            return sign, stop
    return "", at


def _columns(text: str, line: Span, sign: str) -> int:
    """The number of cells of a line, 0 where it is no row: it looks like prose, is too long, or has one cell."""
    if line.end - line.start > ROW or text.find(sign, line.start, line.end) < 0:
        return 0
    row = text[line.start : line.end]
    if sign == "|" and not row.startswith("|") and " | " not in row and not _RULER.fullmatch(row):
        return 0
    if sign in ";," and ((bare := _QUOTED.sub("", row)).count(f"{sign} ") or bare.endswith((".", "!", "?", ":"))):
        return 0
    count = len(_cells(text, line.start, line.end, sign))
    return count if count > 1 or sign == "|" else 0


def _ruled(text: str, lines: Sequence[Span], at: int) -> bool:
    return at + 1 < len(lines) and bool(_RULER.fullmatch(text, lines[at + 1].start, lines[at + 1].end))


def _cells(text: str, start: int, end: int, kind: str) -> list[Span]:
    """The cells of a row, trimmed, without quotation marks around them."""
    if kind == "<":
        return _html_cells(text, start, end)
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


def _caption(lines: Sequence[Span], at: int) -> Span | None:
    """The line before a table, at most one blank line away, unless it is a long one."""
    before = [line for line in lines[max(0, at - 2) : at] if line.start < line.end]
    return before[-1] if before and before[-1].end - before[-1].start <= CAPTION else None


# ---- HTML


def _html(text: str) -> Iterator[Table]:
    """The tables of HTML in a text; of nested ones the innermost."""
    start = -1
    tags: list[re.Match[str]] = []
    for tag in _HTML.finditer(text):
        name = tag[2].lower()
        if name == "table" and not tag[1]:
            start, tags = tag.start(), []
        elif name == "table" and start >= 0:
            made = _html_table(text, start, tag.end(), tags)
            if made is not None:
                yield made
            start = -1
        elif start >= 0:
            tags.append(tag)


def _html_table(text: str, start: int, end: int, tags: Sequence[re.Match[str]]) -> Table | None:
    caption: Span | None = None
    rows: list[Span] = []
    opened = titled = -1
    for tag in tags:
        name, closing = tag[2].lower(), bool(tag[1])
        if name == "caption":
            caption, titled = (Span(titled, tag.start()), -1) if closing and titled >= 0 else (caption, tag.end())
        elif name == "tr":
            if opened >= 0:
                rows.append(Span(opened, tag.end() if closing else tag.start()))
            opened = -1 if closing else tag.start()
    if opened >= 0:
        rows.append(Span(opened, end - len("</table>")))
    heads = tuple(_html_cells(text, rows[0].start, rows[0].end))[:COLUMNS] if len(rows) > 1 else ()
    return Table("<", start, end, caption, heads, tuple(rows[bool(heads) :])) if rows else None


def _html_cells(text: str, start: int, end: int) -> list[Span]:
    found: list[Span] = []
    opened = -1
    for tag in _HTML.finditer(text, start, end):
        if opened >= 0:
            found.append(_trimmed(text, opened, tag.start()))
        opened = tag.end() if tag[2].lower() in {"td", "th"} and not tag[1] else -1
    return found if opened < 0 else [*found, _trimmed(text, opened, end)]


# ---- headings and lists


def context_of(text: str, sentences: Sequence[Span]) -> list[Span | None]:
    """For each sentence the line that says what it belongs to: the introduction of its list, else the heading above."""
    found: list[Span | None] = []
    heading: Span | None = None
    introduction: Span | None = None
    last: Span | None = None
    for span in sentences:
        line = text[span.start : min(span.end, span.start + CAPTION + 1)]
        new = last is None or "\n" in text[last.end : span.start]
        item = bool(new and _ITEM.match(line))
        if new and _is_heading(text, span, line):
            heading, introduction = span, None
            found.append(None)
        elif item or (introduction is not None and not new):
            if item and introduction is None and last is not None and text[last.end - 1] == ":":
                introduction = last if last.end - last.start <= CAPTION else None
            found.append(introduction or heading)
        else:
            introduction = None
            found.append(heading)
        last = span
    return found


def _is_heading(text: str, span: Span, line: str) -> bool:
    """A line marked or numbered as a heading, or a short one between blank lines that does not end as a sentence."""
    behind = text[span.end : span.end + 4]
    if not line or len(line) > CAPTION:
        return False
    if _NUMBERED.match(line) and len(line) <= HEADING:
        return True
    if behind and behind[0] not in "\r\n":
        return False
    alone = len(line) <= HEADING and behind.count("\n") > 1 and line[0].isupper() and line[-1] not in ".:!?,;"
    return alone or bool(_MARKED.match(line))

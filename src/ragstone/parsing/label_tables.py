"""Read labels from tables: Markdown, tab-separated and comma-separated rows, with or without a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Final

from ragstone.parsing.label_entries import numbered
from ragstone.parsing.label_rows import LABEL_NAMES, NOUN, NUMBER_NAMES, UNIT_NAMES, Format, Found, lines
from ragstone.parsing.label_words import Words

_MARKED: Final = re.compile(r"[xX\u2713\u2714\u2705\u2612\u00d7*\u2022+]|yes|true|1", re.IGNORECASE)
"""Matches the mark in the column of the chosen label."""
_Rows = Sequence[tuple[int, int, list[str]]]
"""Start, end and cells of each row."""
_RULE: Final = re.compile(r"[\s|:+=\-\u2013\u2014]*")
TABLES: Final[tuple[Format, ...]] = ("pipe", "tsv", "csv")
"""The formats of tables."""


def _cells(line: str, kind: Format) -> list[str]:
    """Return the cells of a row; empty if the line is not a row."""
    if kind == "tsv":
        cells = line.split("\t" if "\t" in line else "\\t")  # some write the escape instead
        cells = cells if len(cells) > 1 else []
    elif kind == "pipe":
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|")) if "|" in line else []
    else:
        mark = next((mark for mark in (",", ";") if mark in line), "")
        try:
            (cells,) = csv.reader([line.strip().rstrip(mark)], delimiter=mark, skipinitialspace=True) if mark else [[]]
        except (csv.Error, ValueError):
            cells = []
    cells = [cell.strip() for cell in cells]
    return cells if kind != "pipe" or any(cells) else []


def tables(text: str, words: Words, kind: Format) -> list[Found]:
    """Return the tables of one format: consecutive lines that split into cells, with or without a header."""
    found: list[Found] = []
    table: list[tuple[int, int, list[str]]] = []
    for start, line in [*lines(text), (len(text), "")]:
        if kind == "pipe" and table and _RULE.fullmatch(line) and "|" in line:
            continue
        cells = _cells(line, kind)
        if kind == "csv" and cells and not _row(cells, words):
            cells = []
        if cells:
            table.append((start, start + len(line), cells))
        elif table and (line.strip() or start == len(text)):
            found += _table(table, words, kind)
            table = []
    return found


def _row(cells: Sequence[str], words: Words) -> bool:
    """Return whether a line with commas may be a row, i.e. has a label, a leading number or a label column."""
    names = (cell.strip(" *_`\"'").casefold() for cell in cells)
    lead = cells[0].rpartition(":")[2]
    return (
        _number(cells[0]) is not None
        or any(words.alone(cell) is not None for cell in (lead, *cells))
        or any(name in LABEL_NAMES for name in names)
    )


def _table(table: _Rows, words: Words, kind: Format) -> list[Found]:
    if (told := _across(table, words, kind)) is not None:
        return [told]
    header = _header(table, words) if len(table) > 1 else None
    if header is not None:
        return _columns(table[1:], words, kind, *header)
    if len(table) == 1:
        start, end, cells = table[0]
        if len(cells) > 1 and words.alone(cells[0]) is None and ":" in cells[0]:
            lead = cells[0].rpartition(":")[2].strip()  # "Labels: support, …"
            cells = [lead, *cells[1:]] if lead else cells[1:]
        pairs = [entry for cell in cells if (entry := numbered(cell, words)) is not None]
        if len(cells) == len(pairs) > 1:  # 1 -> support | 2 -> not_support
            said = [label for _, label in pairs]
            return [Found(kind, start, end, [*said], [*said], [number for number, _ in pairs])]
        labels = [words.alone(cell) for cell in cells]
        if len(cells) == 2 and (number := _number(cells[0])) is not None and labels[1] is not None:
            if words.numeric and labels[0] is not None:
                return []  # "1,2" may be two labels, or the label of one unit
            return [Found(kind, start, end, [cells[1]], [labels[1]], [number])]
        known = sum(label is not None for label in labels)
        if known and all(
            label is not None or (len(cell) <= 30 and len(cell.split()) == 1) or (not cell and known > 1)
            for label, cell in zip(labels, cells, strict=True)
        ):
            return [Found(kind, start, end, [*cells], labels)]
        if len(cells) < 3 or _number(cells[0]) is None:
            return []
    return _columns(table, words, kind, 0, None)


def _columns(table: _Rows, words: Words, kind: Format, number_at: int | None, label_at: int | None) -> list[Found]:
    """Return lists by number; positional ones if a header names a column of labels but none of numbers."""
    runs: list[Found] = []
    for start, end, cells in table:
        number = None
        if number_at is not None:
            number = _number(cells[number_at]) if number_at < len(cells) else None
            if number is None:
                continue
        if label_at is not None:
            item = cells[label_at] if label_at < len(cells) else ""
            label = words.alone(item) or words.beside(item)
        else:
            others = cells[1:]
            told = {found for cell in others if (found := words.alone(cell)) is not None}
            label = told.pop() if len(told) == 1 else None
            item = label or (others[-1] if others else "")
        if not runs or runs[-1].restarts_at(number):
            runs.append(Found(kind, start, end))
        runs[-1].add(number, item, label, end)
    return [found for found in runs if any(found.labels)]


def _across(table: _Rows, words: Words, kind: Format) -> Found | None:
    """Return the list of a table with a column per unit, or with a column per label and a mark in one of them."""
    start, end, head = table[0][0], table[-1][1], table[0][2]
    numbers = [_number(cell) for cell in head]
    if len(table) == 2 and len(head) > 1:
        cells = table[1][2]
        places = [place for place, number in enumerate(numbers) if number is not None and place < len(cells)]
        labels = [words.alone(cells[place]) for place in places]
        if len(places) > 1 and len(places) >= len(head) - 1 and all(labels):
            told = [number for number in numbers[: len(cells)] if number is not None]
            return Found(kind, start, end, [cells[place] for place in places], labels, told)
    columns = {place: label for place, cell in enumerate(head) if (label := words.strong(cell)) is not None}
    if len(columns) < 2 or len(columns) < len(head) - 2 or len(set(columns.values())) < len(columns):
        return None
    found = Found(kind, start, end)
    for _, _, cells in table[1:]:
        number = _number(cells[0]) if cells else None
        if number is None or 0 in columns:
            return None
        marked = [label for place, label in columns.items() if place < len(cells) and _MARKED.fullmatch(cells[place])]
        found.add(number, ", ".join(marked), marked[0] if len(marked) == 1 else None, end)
    return found if any(found.labels) else None


def _header(table: _Rows, words: Words) -> tuple[int | None, int] | None:
    """Return the columns of numbers (or None) and labels if the first row names them, else None."""
    cells = table[0][2]
    names = [re.sub(r"[\s\-]+", "_", cell.strip(" *_`\"'").casefold()) for cell in cells]
    if any(_number(cell) is not None for cell in cells):
        return None
    label_at = next((names.index(name) for name in LABEL_NAMES if name in names), None)
    if label_at is None or len(set(names) & set(words.labels)) > 1:
        return None
    for place, name in enumerate(names):
        if (
            place != label_at
            and name in NUMBER_NAMES
            and all(place < len(row) and _number(row[place]) is not None for _, _, row in table[1:])
        ):
            return place, label_at
    # Without numbers, rows are positional if each clearly belongs to a unit: a table may also explain the labels.
    units = any(name in UNIT_NAMES for name in names) or len(names) == 1
    return (None, label_at) if units and words.alone(cells[label_at]) is None else None


def _number(cell: str) -> int | None:
    match = re.fullmatch(r"[*_`\"'(\[#№]*" + NOUN + r"([0-9]{1,4})[*_`\"')\].:]*", cell.strip())
    return int(match[1]) if match else None

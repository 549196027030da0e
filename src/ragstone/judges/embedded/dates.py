"""Read dates in figures: "2021-05-03", "03.05.2021", "03/05/2021", "05/2021"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ragstone.judges.embedded.words import NUMBER, Token

_YEAR_FIRST: Final = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_YEAR_LAST: Final = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|(?<=[/.])\d\d)(?![\d/])")
_YEAR_MONTH: Final = re.compile(r"(\d{4})[-/](0[1-9]|1[0-2])(?![\d/-])")
_MONTH_YEAR: Final = re.compile(r"(0?[1-9]|1[0-2])/(\d{4})(?![\d/-])")
_MONTHS: Final = 12
_CENTURY: Final = 50  # years of two digits below it are of this century


class Part(NamedTuple):
    """What a figure of a date stands for: a "date" (the day, with its month as the unit), a "month" or a "year".

    ``start`` and ``end`` are the place of what is quoted, for a day all of the date. ``either``: the day and the month
    may be meant the other way round, as in "03/05/2021".
    """

    dimension: str
    value: int
    unit: str
    start: int
    end: int
    either: bool = False


def parts(tokens: Sequence[Token], text: str) -> dict[int, Part | None]:
    """Return by token what the figures of dates stand for; None for a month, which the day includes."""
    found: dict[int, Part | None] = {}
    for i in range(len(tokens) - 1):
        one, other = tokens[i], tokens[i + 1]
        joined = one.kind == other.kind == NUMBER and other.start == one.end + 1 and text[one.end] in "-/."
        if joined and i not in found:
            found.update(_parts(tokens, text, i))
    return found


def _parts(tokens: Sequence[Token], text: str, i: int) -> dict[int, Part | None]:
    start = tokens[i].start
    if whole := _YEAR_FIRST.match(text, start):
        at, year, month, day, sign = (i, i + 1, i + 2), int(whole[1]), int(whole[3]), int(whole[4]), "."
    elif whole := _YEAR_LAST.match(text, start):
        at, year, month, day, sign = (i + 2, i + 1, i), int(whole[4]), int(whole[3]), int(whole[1]), whole[2]
        year += 0 if len(whole[4]) > 2 else 2000 if year < _CENTURY else 1900
        if month > _MONTHS >= day:
            at, month, day = (i + 2, i, i + 1), day, month
    elif short := _YEAR_MONTH.match(text, start) or _MONTH_YEAR.match(text, start):
        first = len(short[1]) > 2
        year, month = (int(short[1]), int(short[2])) if first else (int(short[2]), int(short[1]))
        own, other = tokens[i + (not first)], tokens[i + first]
        return {
            i + (not first): Part("year", year, "", own.start, own.end),
            i + first: Part("month", month, "", other.start, short.end()),
        }
    if not whole or i + 2 >= len(tokens) or not (1 <= month <= _MONTHS and 1 <= day <= 31):
        return {}
    of = tokens[at[0]]
    return {
        at[0]: Part("year", year, "", of.start, of.end),
        at[1]: None,
        at[2]: Part("date", day, str(month), start, whole.end(), sign != "." and day <= _MONTHS and day != month),
    }

"""Read ranges of days in English: "Monday to Friday", "Mon-Fri" and "weekdays" have Tuesday."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import Final

from ragstone.judges.embedded.words import Token

DAY_NAMES: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS: Final = [name[:3] for name in DAY_NAMES]
_IN_RANGES: Final = frozenset((*DAY_NAMES, *_DAYS, "thur", "sit", "weekday"))  # "sit": the stem of "Sat"
_DAY: Final = r"(?:mon|tue|wed|thu|fri|sat|sun)(?:s|rs|(?:s|nes|rs|ur)?days?)?\b"
_DAY_RANGE: Final = re.compile(
    r"\b(?-i:(?!(?:sat|sun|wed) ))"  # not "he sat to"
    rf"(?:(?P<first>{_DAY})\.?\s?(?:[-\u2013\u2014]|to|through|thru|until|till)\s?(?P<last>{_DAY})|weekdays?\b)",
    re.IGNORECASE,
)


def days_of(tokens: Sequence[Token], text: str, stems: Collection[str]) -> list[tuple[str, int]]:
    """Return the stems of the days of ranges, with the place where the range ends: Tuesday in "Mon-Fri".

    ``stems``: those of the tokens.
    """
    made: list[tuple[str, int]] = []
    for found in _DAY_RANGE.finditer(text) if not _IN_RANGES.isdisjoint(stems) else ():
        ends = [(found[end] or day)[:3].lower() for end, day in (("first", "mon"), ("last", "fri"))]
        first, last = map(_DAYS.index, ends)
        at = min(bisect_left(tokens, found.end(), key=lambda token: token.end), len(tokens) - 1)
        days = [DAY_NAMES[(first + k) % 7] for k in range((last - first) % 7 + 1)]
        made += [(day, at) for day in (*days, "weekday")[: len(days) + (ends == ["mon", "fri"])]]
    return made

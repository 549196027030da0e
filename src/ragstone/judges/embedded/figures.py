"""Numbers as texts write them, brought to one form: ``12,000,000``, ``12 million``, ``twelve million``, ``-.5``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

LONGEST: Final = 40
"""Characters of a number that are compared; longer ones are cut."""

DOTTED: Final = frozenset(["ca", "da", "de", "el", "es", "id", "it", "nl", "no", "pt", "ro", "tr", "vi"])
"""Languages that part thousands by a point."""

MONEY: Final = frozenset("$\u20ac\u00a3\u00a5")
"""What stands before or behind an amount."""

SHORTEST: Final = 3
"""Letters of "one" and "two"; "a" is no digit."""

MINUS: Final = ("-", "\u2212")
_BLANKS: Final = {32: None, 0xA0: None, 0x202F: None}
_THOUSANDS: Final = re.compile(r"(?!0)\d{1,3}(?:(?:,\d{3})+|(?:\.\d{3}){2,})")
_DOTTED_THOUSANDS: Final = re.compile(r"(?!0)\d{1,3}(?:\.\d{3})+")
_HYPHENS: Final = frozenset(" -\u2010\u2011")
_NEXT: Final = re.compile(r"[ \u00a0-]([^\W\d_]+)")


class Figure(NamedTuple):
    """A number that more may follow: what is written, where, whether in words, and whether of money."""

    text: str
    start: int
    end: int
    spelled: bool = False
    money: bool = False


class Reading(NamedTuple):
    """How a language writes numbers.

    ``multipliers`` and ``suffixes``: powers of ten as words and right behind a figure, ``powers`` the words of both;
    ``units``: suffixes that are units as well; ``counted``: what is counted by the million in such; ``endings`` belong
    to a figure and say nothing.
    """

    multipliers: Mapping[str, int]
    suffixes: Mapping[str, int]
    powers: frozenset[str]
    units: frozenset[str]
    counted: frozenset[str]
    endings: frozenset[str]
    dotted: bool

    def number(self, figure: Figure) -> str:
        """The number in one form."""
        return number_of(figure.text, dotted=self.dotted)

    def grown(self, figure: Figure, word: str, value: str, text: str, start: int, end: int) -> Figure | None:
        """The figure with the word behind it, if they are one number: "12 million", "$5m", "twenty-five".

        ``value``: what the word is as a number, empty if it is none.
        """
        adjacent = start == figure.end
        low = word.lower()
        power = self._suffix(figure, word, low, text, end) if adjacent else None
        if power is None:
            power = self.multipliers.get(low)
        if power is not None:
            made = number_of(figure.text, power, dotted=self.dotted)[1:]
            return Figure(made, figure.start, end, money=figure.money)
        joined = figure.spelled and text[figure.end : start] in _HYPHENS
        if joined and _tens(figure.text) and len(value) == 1 and len(word) >= SHORTEST:
            return Figure(str(int(figure.text) + int(value)), figure.start, end)
        return None

    def _suffix(self, figure: Figure, word: str, low: str, text: str, end: int) -> int | None:
        """Small letters that are units, too, are powers of ten only of money and of what is counted by the million."""
        if low in self.units and word == low and not figure.money:
            after = _NEXT.match(text, end)
            if after is None or low == "mm" or after[1].lower() not in self.counted:
                return None
        return self.suffixes.get(low)

    def multiplied(self, text: str, end: int) -> bool:
        """Whether a power of ten follows, so that "one" and "a" are a number."""
        after = _NEXT.match(text, end)
        return after is not None and after[1].lower() in self.multipliers


def _tens(text: str) -> bool:
    return len(text) == 2 and text[1] == "0" and text[0] in "23456789"


@lru_cache(maxsize=8192)
def number_of(text: str, power: int = 0, *, dotted: bool = False) -> str:
    """A number in one form, as ``#`` and its plain decimal digits: ``12,000,000`` and ``12`` times 10^6 agree.

    A single comma before one, two or more than three digits is read as a decimal comma, and so is a single point,
    but before three digits where the language parts thousands by it (``dotted``).
    """
    bare = text.translate(_BLANKS)
    sign = "-" if bare.startswith(MINUS) else ""
    bare = bare[len(sign) :]
    if len(bare) > LONGEST:
        return f"#{sign}{bare[:LONGEST]}"
    if _THOUSANDS.fullmatch(bare) or (dotted and _DOTTED_THOUSANDS.fullmatch(bare)):
        bare = bare.replace(",", "").replace(".", "")
    elif "," in bare and "." in bare:
        last = max(bare.rfind(","), bare.rfind("."))
        bare = bare[:last].replace(",", "").replace(".", "") + "." + bare[last + 1 :]
    elif bare.count(",") == 1:
        bare = bare.replace(",", ".")
    if bare.count(".") > 1 or "," in bare or not bare.replace(".", "").isdecimal():
        return f"#{sign}{bare}"
    value = f"{Decimal(bare).scaleb(power):f}"
    if "." in value:
        value = value.rstrip("0").rstrip(".")
    return f"#{sign}{value}" if value != "0" else "#0"

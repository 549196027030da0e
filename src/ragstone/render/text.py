"""Sanitize untrusted text for the terminal and format numbers for people."""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Iterable
from typing import Final

from rich.cells import cell_len

from ragstone.segment import cut
from ragstone.stats.points import Ends, finer, finer_share, points

NBSP: Final = "\u00a0"
"""Keeps a number and its unit together when lines are wrapped; printed as a plain space."""
LONGEST_ID: Final = 40
"""Maximum length of a record's id in a list, in terminal cells."""

_LINE_ENDS: Final = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0 with ESC, DEL, C1
    "\u202a-\u202e\u2066-\u2069"  # direction overrides and isolates
    "\U000e0000-\U000e007f]"  # tags: invisible, but models read them
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def clean(text: object) -> str:
    """Remove everything that a terminal would interpret; keep line breaks.

    Escape, C0 and C1 controls, direction overrides and invisible tags are removed. Tabs become spaces, and lone
    surrogates, which cannot be encoded, become the replacement character.
    """
    plain = _LINE_ENDS.sub("\n", str(text)).replace("\t", "    ")
    return _SURROGATE.sub("\ufffd", _CONTROLS.sub("", plain))


def flat(text: object) -> str:
    """Return the cleaned text on one line."""
    return " ".join(clean(text).split())


def shorten(text: str, cells: int, ellipsis: str = "…") -> str:
    """Return a text on one line of at most ``cells`` terminal cells, cut at a word or before a bracket near them."""
    return _cut(flat(text), cells, ellipsis)


def _cut(text: str, cells: int, ellipsis: str) -> str:
    if cell_len(text) <= cells:
        return text
    room = max(0, cells - cell_len(ellipsis))
    used = end = 0
    for end, character in enumerate(text):  # noqa: B007 - the end is what is looked for
        used += cell_len(character)
        if used > room:
            break
    return cut(text, end) + ellipsis


def middle(text: str, cells: int, ellipsis: str = "…") -> str:
    """Shorten a name to at most ``cells`` terminal cells by omitting its middle: ids differ at their ends."""
    if cell_len(text) <= cells:
        return text
    room = max(0, cells - cell_len(ellipsis))
    start, used = len(text), 0
    while used + cell_len(text[start - 1]) <= room // 2:
        start -= 1
        used += cell_len(text[start])
    return _cut(text, room - used, "") + ellipsis + text[start:]


def short_id(record: str, ellipsis: str = "…", position: int = 0) -> str:
    """Return a record's id on one line, at most ``LONGEST_ID`` cells long: the same on every screen.

    A shortened one, which cannot be typed, follows its ``position`` if that is given.
    """
    whole, place = flat(record), f"#{position} " if position else ""
    if (short := middle(whole, LONGEST_ID, ellipsis)) == whole or not place:
        return short
    return place + middle(whole, LONGEST_ID - len(place), ellipsis)


def paragraph(text: str, width: int) -> list[str]:
    """Wrap our own prose to ``width``; words joined by ``NBSP`` stay on one line if they fit."""
    width = max(20, width)
    words = (word if len(word) <= width else word.replace(NBSP, " ") for word in text.split(" "))
    lines = textwrap.wrap(" ".join(words), width, break_long_words=True, break_on_hyphens=False)
    return [line.replace(NBSP, " ") for line in lines]


def percent(value: float | None, count: int = 0, ends: Ends = None) -> str:
    """Return ``81%``, with one decimal for a mean over 1,000 records or more; a hyphen if there is no value.

    The format is the same on every screen, so that a number can be found again: a single record's value has no
    decimals, and the precision of a mean depends on the number of records and on the ``ends`` of its interval.
    """
    return f"{points(value, count, more=finer_share(ends, count))}%" if value is not None else "-"


def between(low: float, high: float, count: int = 0, dash: str = "\u2013") -> str:
    """Return ``79-83`` with an en dash: both bounds as percentages."""
    more = finer_share((low, high), count)
    return f"{points(low, count, more=more)}{dash}{points(high, count, more=more)}"


def coefficient(value: float | None, ends: Ends = None) -> str:
    """Return ``.71``, ``-.10`` or ``1.00``: from -1 to 1, never rounded up to 1; ``-`` for None.

    It has two decimals, or more to tell the ``ends`` of its interval apart.
    """
    return "-" if value is None else _coefficient(value, finer(ends, _coefficient))


def _coefficient(value: float, more: int) -> str:
    digits = 2 + more
    shown = min(round(value, digits), 1 - 10**-digits) if value < 1 else value
    return f"{shown + 0.0:.{digits}f}".replace("0.", ".", 1)


def number(value: int) -> str:
    """Return ``1,243``."""
    return f"{value:,}"


def grouped(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that have each text, in order, given pairs of a name and its text."""
    found: dict[str, list[str]] = {}
    for name, text in named:
        found.setdefault(text, []).append(name)
    return found


def plural(count: int, one: str, many: str = "") -> str:
    """Return ``1 record`` or ``1,243 records``."""
    return f"{count:,}{NBSP}{one if count == 1 else many or one + 's'}"


def tokens(count: int) -> str:
    """Return ``950``, ``12.4k`` or ``3.1M``."""
    for least, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= least:
            value = count / least
            return f"{value:.0f}{unit}" if value >= 100 else f"{value:.1f}{unit}"
    return str(count)


def size(count: int) -> str:
    """Return ``950 B``, ``1.2 kB`` or ``31 MB``, in the largest unit in which the value is at least 1."""
    amount, units = float(count), ["TB", "GB", "MB", "kB", "B"]
    while amount >= 999.5 and len(units) > 1:
        amount /= 1000
        units.pop()
    return f"{amount:.0f} {units[-1]}" if amount >= 10 or units[-1] == "B" else f"{amount:.1f} {units[-1]}"


def dollars(amount: float | None) -> str:
    """Return ``$1.24``, with more decimals for small amounts, ``free`` for 0, or ``cost unknown`` for None."""
    if amount is None:
        return "cost unknown"
    if amount == 0:
        return "free"
    if amount < 0.000001:
        return "under $0.000001"
    digits = 2 if amount >= 0.1 else 3 if amount >= 0.01 else 4 if amount >= 0.001 else 6
    return f"${amount:,.{digits}f}"


def duration(seconds: float) -> str:
    """Return ``0.8 s``, ``42 s``, ``3:07`` or ``1:02:07``."""
    if seconds < 10:
        return f"{seconds:.1f}{NBSP}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{NBSP}s"
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minutes}:{second:02}"


def moment(seconds: float) -> str:
    """Return the date and time in the local time zone, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))

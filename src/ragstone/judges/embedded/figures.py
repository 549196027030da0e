"""Normalise numbers, dates and times to one form.

``12,000,000``, ``12 million``, ``twelve million`` and ``1200万`` are ``#12000000``; ``3rd`` and ``third`` are ``#3``;
``6 pm``, ``18:00`` and ``18 Uhr`` are ``@18:00``. Lookahead is limited to a few words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

LONGEST: Final = 40  # characters of a number that are compared; longer numbers are truncated
DOTTED: Final = frozenset(["ca", "da", "de", "el", "es", "id", "it", "nl", "no", "pt", "ro", "tr", "vi"])
"""Languages with a point as the thousands separator."""

HOURS: Final = frozenset(["fr", "pt"])  # languages in which "18 h" is a time of day
MONEY: Final = frozenset("$\u20ac\u00a3\u00a5")  # signs before or after an amount
MINUS: Final = ("-", "\u2212")
TIME: Final = "@"  # first character of the stem of a time of day; other numbers have ``#``
_SPACE: Final = " \u00a0\u202f"
_SEPARATORS: Final = {ord(sign): None for sign in f"{_SPACE}_'\u2019"}
_THOUSANDS: Final = re.compile(r"(?!0)\d{1,3}(?:(?:,\d{3})+|(?:\.\d{3}){2,})")
_DOTTED_THOUSANDS: Final = re.compile(r"(?!0)\d{1,3}(?:\.\d{3})+")
_NEXT: Final = re.compile(rf"[{_SPACE}-]([^\W\d_]+)")

# The first three match "13, 000", "$217, 629" and "1 , 177", but no list such as "12, 130 and 400".
AMOUNT: Final = (
    r"(?:(?<!, )\d{1,3}(?: ?, \d{3}){0,3}? ?, 0\d\d(?: ?, \d{3}){0,3}(?![\d/]|[.,]\d)"
    r"|(?:(?<=[$\u20ac\u00a3\u00a5])|(?<=[$\u20ac\u00a3\u00a5] ))\d{1,3}(?: ?, \d{3})+(?![\d/]|[.,]\d)"
    r"|(?<!, )\d{1,3}(?: , \d{3})+(?![\d/]| ?,| (?:and|or|&) \d)"
    rf"|\d{{1,3}}(?:[{_SPACE}'\u2019]\d{{3}})+(?:,\d+)?(?!\d|[.,]\d)|\d{{1,3}}(?:_\d{{3}})+(?!\w)"
    r"|\d+(?:[.,]\d+)*|(?<![\w.])\.\d+)"
)
"""A pattern for an amount in digits, without its sign."""

DATE: Final = r"\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)(?!\.?\d)"
ROMAN: Final = {
    tens + ones: 10 * i + k
    for i, tens in enumerate(("", "X", "XX", "XXX"))
    for k, ones in enumerate(("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"))
    if tens + ones not in ("", "I")
}
"""Values of Roman numerals up to 39, except "I", which is usually a pronoun."""

FRACTION: Final = "[\u00bc-\u00be\u2150-\u215e]"
_HOUR: Final = r"(?:[01]?\d|2[0-4])"
_HALF: Final = r"\s?(?i:[ap]\.m\.|[ap]m\b|Uhr\b)"
_PART: Final = r"\s?(?i:(?:o'clock )?in the (?:morning|afternoon|evening)\b)"
_AT: Final = r"(?i:(?<=\bat |\bby |\bto )|(?<=\bfrom )|(?<=\buntil |\bafter )|(?<=\bbefore ))(?:0?[1-9]|1[0-2])"
"""An hour before such a part of the day, not "12 in the evening", which may be a count."""
_UNTIL: Final = r"\s?(?:[-\u2013]|to|and|until|bis)\s?"


def time_pattern(language: str) -> str:
    """Return a pattern for a time of day."""
    hours = r"|\s?h(?:\s?[0-5]\d)?\b" if language in HOURS else r"|h[0-5]\d\b"
    return (
        rf"(?:{_AT}(?:{_PART}|(?={_UNTIL}{_HOUR}{_PART}))"
        rf"|{_HOUR}(?:(?::[0-5]\d){{1,2}}(?:[.,]\d+)?(?![\d:])(?:{_HALF}|{_PART})?|(?:\.[0-5]\d)?(?:{_HALF}"
        rf"|(?={_UNTIL}{_HOUR}(?:[:.][0-5]\d)?{_HALF})){hours}))"
    )


_CLOCK: Final = re.compile(r"(\d+)(?:[:.]|\s?h\s?)?(\d+)?(?::(\d+))?")
_LATER: Final = re.compile(rf"{_UNTIL}(\d+)[\d:.]*(\s?[ap]\.?m|{_PART})", re.IGNORECASE)
_ADJACENT: Final = re.compile(r"[^\W\d_][^\W_]*")
_BEHIND: Final = re.compile(rf"[{_SPACE}\n-]{{0,2}}([^\W\d_]+)")
_PARTS: Final = re.compile(rf"[{_SPACE}-]?(?:(\d{{1,2}})/(\d{{1,2}})(?![\d/])|({FRACTION}))")
_STEP: Final = re.compile(rf"[{_SPACE}\n\u2010\u2011-]{{1,2}}([^\W\d_]+)(?:[{_SPACE}-]([^\W\d_]+))?")
_HYPHENS: Final = frozenset("-\u2010\u2011")
_POWER: Final = re.compile(
    r"(\s?[\u00d7x*\u00b7]\s?10)?"
    r"(?:\^([-\u2212]?\d{1,2})(?![\d.]\d)|([\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3}))"
)
"""A power of ten after its base, or after a number that it multiplies: "10^6", "2.5 x 10^6"."""

_RAISED: Final = str.maketrans(
    "\u2212\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", "--0123456789"
)
_AND_HALF: Final = re.compile(r"\s(?:and|&) a half\b", re.IGNORECASE)
_NO_ORDINAL: Final = re.compile(r"(?:\b(?:a|an|one|per|each|every|half)[ -]|/)$", re.IGNORECASE)
_RANKED: Final = re.compile(
    r"second (?!(?:of|or|and|as|in|to|for|on|at|by|into|with|from|than|before|after|later|ago|earlier|if|when|while"
    r"|is|was|are|were|has|had|time|delay|under|over|through|during|without|between|against|but|because|so|that|until"
    r"|faster|slower|quicker|longer|shorter|behind|ahead)\b)[a-z]",
    re.IGNORECASE,
)
"""An ordinal with "a" that is no unit of time: "a *second* permit"."""
_DIGITS: Final = {
    digit: value for value, digit in enumerate("\u3007\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d")
}
_DIGITS.update({"\u96f6": 0, "\u4e24": 2, "\u5169": 2})
_TENS: Final = {"\u5341": 10, "\u767e": 100, "\u5343": 1000}
_MYRIADS: Final = {"\u4e07": 4, "\u842c": 4, "\u5104": 8, "\u4ebf": 8, "\u5146": 12}
_ALONE: Final = frozenset((*_TENS, "\u4e00", "\u3007"))
"""Numerals that are not numbers by themselves: "one" is an article, "ten" part of many words."""

_COUNTED: Final = (
    "\u4e2a\u500b\u4eba\u540d\u5e74\u6708\u65e5\u53f7\u865f\u5929\u6b21\u4f4d\u672c\u679a\u56de\u53f0\u6b73\u5c81\u4ef6\u6761\u53ea"
    "\u5f20\u79cd\u7a2e\u79d2\u65f6\u6642\u9031\u5468\u671f\u500d\u5bb6\u6240\u5ea7\u7ea7\u7d1a\u968e\u5206\u56fd\u9805"
)
"""Characters (counters and units) that follow a numeral."""
_CHINESE_DIGIT: Final = f"[{''.join(_DIGITS)}{''.join(_TENS)}{''.join(_MYRIADS)}]"
_MIXED: Final = re.compile(rf"(?:\d+(?:\.\d+)?|{_CHINESE_DIGIT})+")
CHINESE: Final = re.compile(rf"{_CHINESE_DIGIT}{{2,}}|(?<=\u7b2c){_CHINESE_DIGIT}|{_CHINESE_DIGIT}(?=[{_COUNTED}])")
"""A pattern for a possible Chinese numeral: several of its characters, or one before a counter."""


class Reading(NamedTuple):
    """The number notation of a language.

    ``numbers``: words below a hundred, and a hundred where it takes no factor. ``ordinals``: the same for ordinals.
    ``multipliers`` and ``suffixes``: powers of ten as words, and as suffixes of a figure.
    ``units``: suffixes that are also units. ``counted``: things counted in millions with such a suffix.
    ``endings``: suffixes of a figure without a meaning. ``links``: words that join the parts of a number.
    ``dotted``: the thousands separator is a point.
    ``joined``: number words of all languages. Those with another meaning count only after a hyphen
    ("quatre-vingt-dix").
    """

    numbers: Mapping[str, int]
    joined: Mapping[str, int]
    ordinals: Mapping[str, int]
    multipliers: Mapping[str, int]
    suffixes: Mapping[str, int]
    units: frozenset[str]
    counted: frozenset[str]
    endings: frozenset[str]
    links: frozenset[str]
    dotted: bool

    def figure(self, text: str, start: int, end: int, *, money: bool) -> tuple[str, int]:
        """Return the stem of an amount in digits and the end of the whole amount: "12 million", "$5m", "2 1/2"."""
        written = text[start:end]
        if text[end : end + 1] in _TENS or text[end : end + 1] in _MYRIADS:
            mixed = _MIXED.match(text, start)
            value = _chinese(mixed[0]) if mixed and mixed.end() > end else None
            if mixed and value is not None:
                return _stem(value), mixed.end()
        raised = _POWER.match(text, end)
        if raised and (raised[1] or written == "10"):
            exponent = int((raised[2] or raised[3]).translate(_RAISED))
            return number_of(written if raised[1] else "1", exponent, dotted=self.dotted), raised.end()
        parts = _PARTS.match(text, end) if written.isdecimal() else None
        if parts:
            one, other = int(parts[1] or 0), int(parts[2] or 1)
            share = Decimal(_vulgar(parts[3])) if parts[3] else Decimal(one) / max(1, other)
            if share < 1 and (parts[3] or text[end] != "/"):
                return _stem(int(written) + round(share, 6)), parts.end()
        if written.isdecimal() and self._halved(text, end):
            return self._with_half(int(written), text, end)
        power = 0
        word = _ADJACENT.match(text, end)
        if word:
            low = word[0].lower()
            found = self._suffix(word[0], low, text, word.end(), money=money)
            if found is None and low in self.endings:
                return number_of(written, dotted=self.dotted), word.end()
            power, end = (found, word.end()) if found is not None else (0, end)
        while (step := _BEHIND.match(text, end)) and step[1].lower() in self.multipliers:
            power, end = power + self.multipliers[step[1].lower()], step.end()
        return number_of(written, power, dotted=self.dotted), end

    def _suffix(self, word: str, low: str, text: str, end: int, *, money: bool) -> int | None:
        """Return the power of ten of a suffix; lowercase units only count for money and ``counted``."""
        if low in self.units and word == low and not money:
            after = _NEXT.match(text, end)
            if after is None or low == "mm" or after[1].lower() not in self.counted:
                return None
        return self.suffixes.get(low)

    def multiplied(self, text: str, end: int) -> bool:
        """Return whether a power of ten follows, which makes "one" or "a" a number."""
        after = _NEXT.match(text, end)
        return self._halved(text, end) or (after is not None and after[1].lower() in self.multipliers)

    def _halved(self, text: str, end: int) -> bool:
        return "and" in self.links and _AND_HALF.match(text, end) is not None

    def _with_half(self, value: int, text: str, end: int) -> tuple[str, int]:
        """Return the stem of "four and a half" and the like, including its power of ten, and where it ends."""
        found, power = _AND_HALF.match(text, end), 0
        end = found.end() if found else end
        while (step := _BEHIND.match(text, end)) and step[1].lower() in self.multipliers:
            power, end = power + self.multipliers[step[1].lower()], step.end()
        return _stem((value + Decimal("0.5")).scaleb(power)), end

    def ordinal(self, word: str, text: str, start: int) -> int | None:
        """Return the value of an ordinal such as "third", or None if it is a fraction or a unit of time there."""
        value = self.ordinals.get(word.lower())
        part = _NO_ORDINAL.search(text, max(0, start - 7), start) and not _RANKED.match(text, start)
        return None if value in {None, 1} or part else value

    def spelled(self, first: int, text: str, end: int) -> tuple[str, int]:
        """Return the stem of a number in words and its end; its first word has value ``first`` and ends at ``end``."""
        count = _Count(0, first, 99)
        while step := _STEP.match(text, end):
            word, after = step[1].lower(), (step[2] or "").lower()
            if word in self.links:
                made = self._linked(count, word, after, text, step.end(2)) if after else None
                stop = step.end(2)
            else:
                made, stop = self._grown(count, word, joined=text[end] in _HYPHENS), step.end(1)
            if made is None:
                break
            count, end = made, stop
            if (after if word in self.links else word) in self.ordinals:
                break
        whole = count.whole + count.part
        return self._with_half(whole, text, end) if self._halved(text, end) else (_stem(Decimal(whole)), end)

    def _linked(self, count: _Count, link: str, word: str, text: str, end: int) -> _Count | None:
        """Add a word after "and", unless it begins another number: "two hundred and three hundred"."""
        after = _NEXT.match(text, end)
        power = self.multipliers.get(after[1].lower()) if after else None
        if power is not None and (count.part >= 100 if power == 2 else count.whole and power >= count.power):
            return None
        if link == "and" and not (count.part >= 100 or not count.part):
            return None
        return None if word in self.multipliers else self._grown(count, word)

    def _grown(self, count: _Count, word: str, *, joined: bool = False) -> _Count | None:
        whole, part, least = count
        power = self.multipliers.get(word)
        if power == 2:
            return _Count(whole, part * 100, least) if 1 <= part < 100 else None
        if power is not None:
            return _Count(whole + part * 10**power, 0, power) if part and power < least else None
        value = (self.joined if joined else self.numbers).get(word, self.ordinals.get(word))
        if value is None:
            return None
        if value == 100 and 1 < part < 10:
            return _Count(whole, part * 100, least)
        if part == 4 and word.startswith("vingt"):  # in French, 80 is four twenties and 70 is sixty-ten
            return _Count(whole, 80, least)
        below = part % 100
        if not below:
            fits = bool(part or whole) and (value < 100 or (not part and value < 1000))
        elif below in {60, 80} or (below == 10 and value > 6 and joined):
            fits = value < 20 if below > 10 else value < 10
        else:
            fits = below % 10 == 0 and below >= 20 and value < 10
        return _Count(whole, part + value, least) if fits else None


class _Count(NamedTuple):
    """A partly parsed number: its thousands and above, the part below, and the lowest power of ten so far."""

    whole: int
    part: int
    power: int


def _vulgar(sign: str) -> str:
    return str(round(unicodedata.numeric(sign), 6))


def fraction(sign: str) -> str:
    """Return the stem of a single character such as "\u00bd"."""
    return _stem(Decimal(_vulgar(sign)))


def chinese(numeral: str) -> str | None:
    """Return the stem of a Chinese or Japanese numeral, or None if it is not one."""
    value = _chinese(numeral)
    return None if value is None else _stem(value)


def _chinese(numeral: str) -> Decimal | None:
    if len(numeral) > LONGEST or numeral in _ALONE or numeral[0] in _MYRIADS:
        return None
    if all(sign in _DIGITS for sign in numeral):
        return Decimal("".join(str(_DIGITS[sign]) for sign in numeral))
    whole, part, digit = Decimal(0), Decimal(0), ""
    for sign in numeral:
        if sign in _TENS:
            part, digit = part + Decimal(digit or 1) * _TENS[sign], ""
        elif sign in _MYRIADS:
            whole, part, digit = whole + (part + Decimal(digit or 0)).scaleb(_MYRIADS[sign]), Decimal(0), ""
        else:
            digit += str(_DIGITS[sign]) if sign in _DIGITS else sign
    return whole + part + Decimal(digit or 0)


def time_of(text: str, start: int, end: int) -> str:
    """Return the stem of a time of day: ``@`` and the time on a 24-hour clock."""
    written = text[start:end]
    found = _CLOCK.match(written)
    assert found is not None, written
    hour, minute, second = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    rest = _half(written[found.end() :])
    if not rest:  # "6-8 pm"
        later = _LATER.match(text, end, end + 32)
        rest = _half(later[2]) if later else ""
        if later and hour > int(later[1]):
            rest = "a" if rest == "p" else "p"
    if rest in {"a", "p"} and 1 <= hour <= 12:
        hour = hour % 12 + (12 if rest == "p" else 0)
    return f"{TIME}{hour % 24}:{minute:02d}" + (f":{second:02d}" if second else "")


def _half(written: str) -> str:
    """Return "a" for "a.m." or "in the morning", "p" for "pm", "in the afternoon" and the like."""
    low = written.strip().lower()
    return low[:1] if not low.endswith(("ing", "noon")) else "a" if low.endswith("morning") else "p"


def _stem(value: Decimal) -> str:
    written = f"{value:f}"
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "#0" if written in {"0", "-0"} else f"#{written}"


@lru_cache(maxsize=8192)
def number_of(text: str, power: int = 0, *, dotted: bool = False) -> str:
    """Return the normal form of a number, ``#`` and decimal digits: ``12,000,000`` and ``12`` times 10^6 are equal.

    A single comma not followed by exactly three digits is a decimal comma. A single point is a decimal point, unless
    exactly three digits follow and the language uses points as thousands separators (``dotted``).
    """
    bare = text.translate(_SEPARATORS)
    sign = "-" if bare.startswith(MINUS) else ""
    bare = bare[len(sign) :]
    if len(bare) > LONGEST:
        return f"#{sign}{bare[:LONGEST]}"
    if dotted and _DOTTED_THOUSANDS.fullmatch(bare):
        bare = bare.replace(".", "")
    elif _THOUSANDS.fullmatch(bare):
        bare = bare.replace(",", "") if "," in bare else bare.replace(".", "")
    elif "," in bare and "." in bare:
        last = max(bare.rfind(","), bare.rfind("."))
        bare = bare[:last].replace(",", "").replace(".", "") + "." + bare[last + 1 :]
    elif bare.count(",") == 1:
        bare = bare.replace(",", ".")
    if bare.count(".") > 1 or "," in bare or not bare.replace(".", "").isdecimal():
        return f"#{sign}{bare}"
    return _stem(Decimal(sign + bare).scaleb(power))


# ---- dates

_YEAR_FIRST: Final = re.compile(r"(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?!\d)")
_DAY_FIRST: Final = re.compile(r"(?P<d>\d{1,2})([-/.])(?P<m>\d{1,2})\2(?P<y>\d{4}|(?<=[/.])\d\d)(?![\d/])")
_OF_MONTH: Final = re.compile(
    r"(?:(?P<y>\d{4})[-/](?P<m>0[1-9]|1[0-2])|(?P<m2>0?[1-9]|1[0-2])/(?P<y2>\d{4}))(?![\d/-])"
)
_MONTHS: Final = 12
_DAYS: Final = 31
_RECENT: Final = 50  # two-digit years below this are in the 2000s


class DatePart(NamedTuple):
    """The meaning of a number in a date: a "date" (the day, with its month as the unit), a "month" or a "year".

    ``start`` and ``end`` delimit the text to quote; for a day, the whole date.
    ``either``: day and month may be swapped, as in "03/05/2021".
    """

    dimension: str
    value: int
    unit: str
    start: int
    end: int
    either: bool = False


def date_parts(numbers: Mapping[int, tuple[int, int]], text: str) -> dict[int, DatePart | None]:
    """Return the meanings of the numbers in dates: "2021-05-03", "03.05.2021", "03/05/2021", "05/2021".

    ``numbers``: start and end of each number in the text, by token index. None marks the month of a full date, which
    belongs to the part of the day.
    """
    found: dict[int, DatePart | None] = {}
    for i, (start, end) in numbers.items():
        joined = numbers.get(i + 1, (0, 0))[0] == end + 1 and text[end] in "-/."
        if joined and i not in found:
            found.update(_date(numbers, text, i, start))
    return found


def _date(numbers: Mapping[int, tuple[int, int]], text: str, i: int, start: int) -> dict[int, DatePart | None]:
    by_start = {numbers[k][0]: k for k in range(i, i + 3) if k in numbers}
    if short := _OF_MONTH.match(text, start):
        year_name, month_name = ("y", "m") if short["y"] else ("y2", "m2")
        at = by_start[short.start(year_name)]
        return {
            at: DatePart("year", int(short[year_name]), "", *numbers[at]),
            by_start[short.start(month_name)]: DatePart("month", int(short[month_name]), "", *short.span()),
        }
    whole = _YEAR_FIRST.match(text, start) or _DAY_FIRST.match(text, start)
    if not whole or not {*map(whole.start, "ymd")} <= by_start.keys():
        return {}
    of, month, day = int(whole["y"]), int(whole["m"]), int(whole["d"])
    sites = [by_start[whole.start(name)] for name in "ymd"]
    if month > _MONTHS >= day:
        month, day, sites = day, month, [sites[0], sites[2], sites[1]]
    if not (1 <= month <= _MONTHS and 1 <= day <= _DAYS):
        return {}
    if len(whole["y"]) == 2:
        of += 2000 if of < _RECENT else 1900
    either = whole.re is _DAY_FIRST and whole[2] != "." and day <= _MONTHS and day != month
    return {
        sites[0]: DatePart("year", of, "", *numbers[sites[0]]),
        sites[1]: None,
        sites[2]: DatePart("date", day, str(month), *whole.span(), either),
    }

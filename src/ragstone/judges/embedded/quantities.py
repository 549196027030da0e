"""Parse and compare quantities: numbers with units, dates, years, times of day and amounts of money.

Two quantities agree if they measure the same thing and are equal after conversion to one unit ("30 minutes", "half an
hour"). A bare number agrees with an equal number of any unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ragstone.judges.embedded.figures import DatePart, date_parts
from ragstone.judges.embedded.thesaurus import slot_lists, word_set
from ragstone.judges.embedded.words import NAME, NUMBER, Token

YEARS: Final = (1000, 2100)  # bare integers in this range are years
BEFORE: Final = 40  # characters before a number searched for "at least" and the like
ROUND: Final = 10  # numbers from which "more than" may round another number down, ...
ROUNDED: Final = 0.25  # ... by at most this share
HEDGED: Final = 0.05  # relative tolerance of a number with "about" and the like
_JOINED: Final = re.compile(r"[^(]{0,5}")
"""The text between two parts of a duration: "2 hours 15 minutes", but not "5 days (120 hours)"."""
CONVERTED: Final = 0.005  # ... of a converted number: "5 km (3.1 miles)"
MONTHS: Final = 0.02  # ... of a number converted from or to months: "60 days"
TIMES: Final = "times"  # the dimension of frequencies
REACH: Final = 6  # words after a number searched for its period: "1.5 days of paid leave per month"
DAY: Final = 86400.0  # seconds
OPERANDS: Final = 24  # maximum numbers of the evidence combined in calculations
MONTH: Final = "month"  # the dimension of a month with a year: "05/2021", "May 2021"
MEASURED: Final = frozenset(("time", "length", "mass", "volume", "percent", "data", "energy", "power"))
"""Dimensions that a count never has."""
RANK: Final = "rank"  # the dimension of ordinals
PRICE: Final = "price"  # ... of "free"
_NAMED_HOURS: Final = {"noon": 720.0, "midday": 720.0, "midnight": 0.0}
_CURRENCIES: Final = frozenset("$€£¥")
_ONLY: Final = frozenset(("only", "just", "exactly"))
_EACH: Final = frozenset(("per", "each", "every"))
_OFTEN: Final = frozenset(("twice", "thrice"))
_QUARTERS: Final = frozenset(("quarter", "quarters"))
_CENTS: Final = frozenset(("cent", "cents"))
_ARTICLES: Final = frozenset(("a", "an"))
_SINCE: Final = (["earlier"], ["ago"], ["later"], ["before"], ["after"], ["old"], ["long"])  # "a year earlier"
_LINKS: Final = frozenset(("to", "or", "and", "bis", "à", "a", "до"))
_SCALED: Final = re.compile(r"([\d.,]+)[\s\u00a0]+[^\W\d_]+")  # "3 million" is one number
MILLION: Final = 1e6  # minimum of a bare number that is money if its sentence mentions money
SCALE: Final = 1000  # numbers below this share the "million" of the next one
_MONTH_BEFORE: Final = re.compile(r"(?<!\d)(\d{1,2})\s?\u6708\s?\Z")
_DAY_BEHIND: Final = re.compile(r"\u6708\s?\d{1,2}[\u65e5\u53f7\u865f]")
_OF_YEAR: Final = frozenset(("года", "году", "год", "року", "рік"))  # "2021 года" is a year, not a duration
_ALSO_WORDS: Final = frozenset(("may", "march", "mar", "mars", "mai"))
_NO_MORE: Final = re.compile(r"\b(?:not|never|n't|no)\b[^.,;]{0,24}\b(?:more|over|above|exceed)")
_DECADE: Final = re.compile(r"s|\d ?['\u2019]?s\b")  # after a year: "1970s", "1970's"
_LISTED: Final = re.compile(r"\s*(?:,|,?\s(?:or|and|oder|und|ou|et|o|y|e|и|или)\s)\s*")
_UNSHARED: Final = frozenset(("year", "decade", "date", "rank", "times", "price"))
_TH: Final = re.compile(r"\d+(?:st|nd|rd|th)")
_POWERS: Final = {"square": 2, "cubic": 3}
_BLANK: Final = re.compile(r"[\s\u00a0-]*")
_TEMPERATURES: Final = {"c": "celsius", "f": "fahrenheit", "celsius": "celsius", "fahrenheit": "fahrenheit"}


class Quantity(NamedTuple):
    """A number in a text: its token, dimension (empty: a count), value in the base unit and as written, and offsets.

    ``unit`` is the unit's word, or the currency with its country. ``bound`` is 1 for "at least", -1 for "at most".
    ``per`` is the period of a rate in seconds ("5 euros a day", "daily") or the word after "per"; empty if none.
    ``group`` is the token of the last number of an enumeration ("three, five or seven nodes"), -1 for other numbers.
    ``either``: a date whose day and month may be swapped.
    """

    at: int
    last: int
    dimension: str
    value: float
    written: float
    unit: str
    start: int
    end: int
    bound: int
    hedged: bool
    per: float | str = ""
    group: int = -1
    either: bool = False


@lru_cache(maxsize=1)
def _units() -> dict[str, tuple[str, float]]:
    found = {}
    for dimension, words in slot_lists()["units"].items():
        for word, _, factor in (pair.rpartition("=") for pair in words.split()):
            found[word] = (dimension, float(factor))
    return found


@lru_cache(maxsize=1)
def _periods() -> dict[str, float]:
    pairs = (pair.partition("=") for pair in slot_lists()["periods"].split())
    return {word: _units()[of or word][1] if (of or word) in _units() else float(of) for word, _, of in pairs}


@lru_cache(maxsize=1)
def _parting() -> frozenset[str]:
    """Return the words that separate a number from a period."""
    return word_set("breaks") | (word_set("prepositions") - {"of", "per"})


@lru_cache(maxsize=1)
def money_dimensions() -> frozenset[str]:
    """Return the dimensions of amounts of money, one per currency."""
    units = [*slot_lists()["units"]]
    return frozenset(units[units.index("$") :])


@lru_cache(maxsize=1)
def months() -> dict[str, int]:
    """Return month numbers by name, in several languages."""
    return {word: int(number) for word, number in (pair.split("=") for pair in slot_lists()["months"].split())}


@lru_cache(maxsize=1)
def ordinals() -> dict[str, int]:
    """Return the ranks of ordinals ("first"), in several languages."""
    ranks = enumerate(slot_lists()["order"].split("/"))
    return {word: rank for rank, words in ranks for word in words.split()}


@lru_cache(maxsize=1)
def _wordy() -> frozenset[str]:
    """Return the words that may be a quantity without a number."""
    return _EACH.union(
        months(), _NAMED_HOURS, word_set("free"), _QUARTERS, _periods(), ("half", "one", "an", "a", "once")
    )


@lru_cache(maxsize=2)
def _limit(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{slot_lists()[name]})\W*(?:(?!(?:in|on|at)\b)\w+\W+)?$", re.IGNORECASE)


def quantities(tokens: Sequence[Token], low: list[str], text: str) -> list[Quantity]:
    """Return the quantities of a sentence, in order, in linear time; ``low``: its words in lowercase."""
    found: list[Quantity] = []
    dated = date_parts({i: (one.start, one.end) for i, one in enumerate(tokens) if one.kind == NUMBER}, text)
    rated = -1  # the last word of a rate
    for i, token in enumerate(tokens):
        one: Quantity | None = None
        if i <= rated or (token.kind != NUMBER and low[i] not in _wordy()):
            continue
        if i in dated:
            one = _dated(i, dated[i])
        elif token.kind == NUMBER:
            one = _quantity(tokens, low, text, i)
        elif low[i] in months() and _of_year(tokens, low, text, i):
            value = float(months()[low[i]])
            one = Quantity(i, i, MONTH, value, value, "", token.start, token.end, 0, False)
        elif low[i] in _NAMED_HOURS:
            one = Quantity(i, i, "clock", _NAMED_HOURS[low[i]], 0.0, "", token.start, token.end, 0, False)
        elif low[i] in word_set("free"):
            one = Quantity(i, i, PRICE, 0.0, 0.0, "", token.start, token.end, 0, False)
        elif low[i] in {"half", "one", "an", "a"}:
            one = _spelled(tokens, low, i)
        elif low[i] in _QUARTERS and low[i + 1 : i + 2] == ["of"] and low[i + 2 : i + 3] in (["a"], ["an"]):
            one = _quarters(tokens, low, i, found)
        elif low[i] == "once" or low[i] in _EACH or (low[i] in _periods() and low[i].endswith("ly")):
            one = Quantity(i, i, TIMES, 1.0, 1.0, "", token.start, token.end, 0, False)
        if one and one.dimension == "time" and low[one.last + 1 : one.last + 4] == ["and", "a", "half"]:
            more = one.value / (2 * one.written) if one.written else 0.0  # "an hour and a half"
            one = one._replace(value=one.value + more, last=one.last + 3, end=tokens[one.last + 3].end)
        if one and low[i] in _QUARTERS:
            rated = one.last
        elif one:
            one, rated = _rated(one, tokens, low, text)
        last = found[-1] if found else None
        times = one and last and one.dimension == last.dimension == "time" and 0 < one.value < last.value
        if one and last and times and one.at - last.last <= 2 and _JOINED.fullmatch(text, last.end, one.start):
            found[-1] = last._replace(value=last.value + one.value, last=one.last, end=one.end, unit="", hedged=False)
        elif one:  # not the "15 minutes" of "2 hours 15 minutes"
            found.append(one)
    found = _shared(found, tokens, low, text)
    sums = {(one.dimension, one.unit) for one in found if one.dimension in money_dimensions()}
    if len(sums) == 1:  # "31 million dollars, from 38 million"
        ((money, unit),) = sums
        found = [
            one._replace(dimension=money, unit=unit) if one.value >= MILLION and not one.dimension + one.unit else one
            for one in found
        ]
    return found


def _dated(i: int, part: DatePart | None) -> Quantity | None:
    """Return the quantity of a number in a date, or None if another number includes it."""
    if part is None:
        return None
    value = float(part.value)
    return Quantity(i, i, part.dimension, value, value, part.unit, part.start, part.end, 0, False, either=part.either)


def _of_year(tokens: Sequence[Token], low: list[str], text: str, i: int) -> bool:
    """Return whether a month is followed by a year and not preceded by a day: "May 2021"."""
    behind = text[tokens[i + 1].start : tokens[i + 1].end] if i + 1 < len(tokens) else ""
    capital = low[i] not in _ALSO_WORDS or not text[tokens[i].start].islower()
    numbered = any(token.kind == NUMBER for token in tokens[max(0, i - 3) : i])
    return capital and not numbered and behind.isdecimal() and YEARS[0] <= int(behind[:9]) <= YEARS[1]


def _shared(found: Sequence[Quantity], tokens: Sequence[Token], low: list[str], text: str) -> list[Quantity]:
    """Return the quantities, bare ones with a neighbour's unit: "*3* or 5 nodes", "9 points for A and *4* for B"."""
    every = list(found)
    for k in range(len(every) - 2, -1, -1):
        years = [YEARS[0] <= one.written <= YEARS[1] for one in every[k : k + 2]]  # "in 2019 and 3 million in 2020"
        if years[0] == years[1] and _LISTED.fullmatch(text, every[k].end, every[k + 1].start):
            group = max(every[k + 1].group, every[k + 1].at)
            every[k], every[k + 1] = _in_unit_of(every[k], every[k + 1]), every[k + 1]._replace(group=group)
            every[k] = every[k]._replace(group=group)
    for k in range(1, len(every)):
        behind = low[every[k].last + 1 : every[k].last + 3]
        if len(behind) > 1 and behind[0] == "for" and tokens[every[k].last + 2].kind == NAME:
            every[k] = _in_unit_of(every[k], every[k - 1])
    return every


def _in_unit_of(one: Quantity, other: Quantity) -> Quantity:
    if one.dimension or one.unit in months() or other.dimension in _UNSHARED or not (other.dimension or other.unit):
        return one
    factor = other.value / other.written if other.written else 1.0
    return one._replace(dimension=other.dimension, value=one.written * factor, unit=other.unit, per=other.per)


def _rated(one: Quantity, tokens: Sequence[Token], low: list[str], text: str) -> tuple[Quantity | None, int]:
    """Return a quantity with its period, and its last token; None for "each" and the like without a period."""
    often = one.dimension == TIMES and tokens[one.at].kind != NUMBER
    first = one.last + (low[one.at] not in _periods())
    for k in range(first, min(first + (2 if often else REACH), len(tokens))):
        between = text[tokens[k - 1].end : tokens[k].start].strip() if k > one.at else ""
        if tokens[k].kind == NUMBER or low[k] == "once" or between not in ("", "/") or low[k] in _parting():
            break
        if low[k] in _periods():
            article = low[k - 1] in _ARTICLES and low[k + 1 : k + 2] not in _SINCE
            if k == one.at or between or low[k - 1] in _EACH or article or low[k].endswith("ly"):
                return one._replace(per=_periods()[low[k]], end=tokens[k].end), k
            break
        if low[k - 1] == "per" and not often:
            return one._replace(per=tokens[k].stem, end=tokens[k].end), k
    return (None if often else one), one.at


def _quantity(tokens: Sequence[Token], low: list[str], text: str, i: int) -> Quantity | None:
    token = tokens[i]
    if text[token.end : token.end + 2] == ".x" or _DAY_BEHIND.match(text, token.end):
        return None
    clock = token.stem[:1] == "@"
    try:
        hours, _, minutes = token.stem[1:].partition(":")
        value = float(hours) * 60 + float(minutes.replace(":", ".") or 0) if clock else float(token.stem[1:])
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    if i and low[i - 1] == "minus":
        value = -abs(value)
    if i + 2 < len(tokens) and low[i + 1] in _LINKS and value < SCALE:
        value *= _scale(low[i + 2], tokens[i + 2].stem)  # "from 2 to 3 million"
    dimension, factor, unit, last = ("clock", 1.0, "", i) if clock else _unit(tokens, low, text, i, value)
    bound, hedged = _bound(text, token, tokens[last].end)
    start = token.start - (i > 0 and tokens[i - 1].stem in _CURRENCIES and tokens[i - 1].end == token.start)
    of = _MONTH_BEFORE.search(text, 0, start) if dimension == "date" else None
    first, end = of.start() if of else min(start, tokens[last].start), max(token.end, tokens[last].end)
    return Quantity(i, max(i, last), dimension, value * factor, value, unit, first, end, bound, hedged)


def _scale(written: str, stem: str) -> float:
    """Return the power of ten spelled out after a number, or 1 if there is none."""
    found = _SCALED.fullmatch(written)
    try:
        return float(round(float(stem[1:]) / float(found[1]))) if found else 1.0
    except (ValueError, ZeroDivisionError, OverflowError):
        return 1.0


def _unit(tokens: Sequence[Token], low: list[str], text: str, i: int, value: float) -> tuple[str, float, str, int]:
    month = _month(tokens, low, text, i)
    if month is not None and 1 <= value <= 31:
        at, number = month
        return "date", 1.0, str(number), at
    units, size, end = _units(), len(tokens), tokens[i].end
    before, after = low[i - 1] if i else "", low[i + 1 : i + 3]
    mark = text[end : end + 1]
    if low[i] in _OFTEN or after[:1] == ["times"]:
        return TIMES, 1.0, "", i + (low[i] not in _OFTEN)
    if mark == "\u5e74" and YEARS[0] <= value <= YEARS[1]:
        return "year", 1.0, "", i
    if mark in {"\u65e5", "\u53f7", "\u865f"} and (before_day := _MONTH_BEFORE.search(text, 0, tokens[i].start)):
        return "date", 1.0, str(int(before_day[1])), i
    if mark and mark in slot_lists()["counters"]:
        return f"counted {mark}", 1.0, mark, i
    if i and tokens[i - 1].stem in _CURRENCIES and _BLANK.fullmatch(text, tokens[i - 1].end, tokens[i].start):
        sign = tokens[i - 1].stem
        country = low[i - 2] if i > 1 and tokens[i - 2].end == tokens[i - 1].start else ""
        return sign, 1.0, country + sign, i
    if before in units and units[before][0] in {"$", "\u20ac", "\u00a3", "franc"}:
        return (*units[before], before, i)
    if len(after) > 1 and after[0] in _LINKS and tokens[i + 2].kind == NUMBER:
        return (*_unit(tokens, low, text, i + 2, value)[:3], i)
    if after == ["per", "cent"]:
        return "percent", 1.0, "%", i + 2
    if "\u00b0" in text[end : end + 3] or after[:1] == ["degree"] or after[:1] == ["degrees"]:
        at = next((k for k in range(i + 1, min(size, i + 4)) if low[k] in _TEMPERATURES), min(size - 1, i + 1))
        letter = text[end : end + 4].strip(" \u00a0\u00b0\u00ba-").lower()[:1]
        kind = _TEMPERATURES.get(low[at], _TEMPERATURES.get(letter, "degree"))
        return kind, 1.0, kind, at
    timed = _TH.fullmatch(low[i]) and after and after[0] != "century" and units.get(after[0], ("",))[0] == "time"
    if low[i] in ordinals() or timed:
        return RANK, 1.0, "", i  # "the third working day" and "the 72nd minute" are no durations
    reach = i + 1 if text[end : end + 1] in {",", ";"} else i + 3  # "in 2004, two years before the crisis"
    for k in range(i + 1, min(reach, size)):
        named = low[k] in units or tokens[k].stem in units
        if named and (k == i + 1 or (len(low[k]) > 2 and low[i + 1] not in _ARTICLES | _EACH)):
            dimension, factor = units.get(low[k]) or units[tokens[k].stem]
            between = low[i + 1] if k == i + 2 else ""
            if low[k] in _OF_YEAR and YEARS[0] <= value <= YEARS[1]:
                break
            if dimension == "percent" and k + 1 < size and low[k + 1].startswith("point"):
                return "points", 1.0, "points", k + 1
            if between in _POWERS:
                dimension, factor = f"{between} {dimension}", factor ** _POWERS[between]
            return dimension, factor, f"{between} {low[k]}".strip(), k
    written = text[tokens[i].start : end]
    if YEARS[0] <= value <= YEARS[1] and written.removesuffix("s").isdecimal():
        decade = value % 10 == 0 and _DECADE.match(text, end - 1) is not None
        return "decade" if decade else "year", 1.0, "", i
    counted = after and after[0].isalpha() and after[0] not in word_set("function") and tokens[i + 1].kind != NUMBER
    return "", 1.0, after[0] if counted and _BLANK.fullmatch(text, end, tokens[i + 1].start) else "", i


def _month(tokens: Sequence[Token], low: list[str], text: str, i: int) -> tuple[int, int] | None:
    """Return the token and number of the month that a day belongs to, after or before it; None if there is none."""
    known, between = months(), word_set("between")
    for step in (1, -1):
        k = i + step
        while 0 <= k < len(low) and abs(k - i) <= 3 and low[k] in between:
            k += step
        near = 0 <= k < len(low) and low[k] in known and abs(k - i) <= (3 if step > 0 else 1)
        if near and (low[k] not in _ALSO_WORDS or not text[tokens[k].start].islower()):
            return k, known[low[k]]
    return None


def _bound(text: str, token: Token, end: int) -> tuple[int, bool]:
    """Return whether a number is a minimum (1), a maximum (-1) or neither (0), and whether it is approximate."""
    before, behind = text[max(0, token.start - BEFORE) : token.start], text[end : end + 14].lower()
    hedged = not word_set("hedges").isdisjoint(before.lower().split()[-3:])
    if _limit("least").search(before) or " or more" in behind or " or older" in behind:
        return -1 if _NO_MORE.search(before.lower()) else 1, hedged
    most = _limit("most").search(before) or " or less" in behind or " or fewer" in behind
    return -1 if most else 0, hedged


def _spelled(tokens: Sequence[Token], low: list[str], i: int) -> Quantity | None:
    k = i + (2 if low[i] == "half" and low[i + 1 : i + 2] in (["a"], ["an"]) else 1)
    dimension, factor = _units().get(low[k], ("", 0.0)) if k < len(low) else ("", 0.0)
    if low[i] == "one" and i and low[i - 1] in _ONLY and k < len(low) and low[k] not in word_set("function"):
        return Quantity(i, i, "", 1.0, 1.0, low[k], tokens[i].start, tokens[i].end, 0, False)
    if dimension != "time":
        return None
    value, hedged = 0.5 if low[i] == "half" else 1.0, low[i] != "one"
    return Quantity(i, k, "time", value * factor, value, low[k], tokens[i].start, tokens[k].end, 0, hedged)


def _quarters(tokens: Sequence[Token], low: list[str], i: int, found: list[Quantity]) -> Quantity | None:
    """Return "a quarter of an hour" or "three quarters ..."; take the latter's number from ``found``."""
    dimension, factor = _units().get(low[i + 3], ("", 0.0)) if i + 3 < len(low) else ("", 0.0)
    if dimension != "time":
        return None
    count = found.pop() if found and found[-1].at == i - 1 and not found[-1].dimension else None
    value = 0.25 * (count.written if count else 1.0)
    first = i if count is None else i - 1
    start, end = tokens[first].start, tokens[i + 3].end
    return Quantity(i, i + 3, "time", value * factor, value, low[i + 3], start, end, 0, False)


def agree(claim: Quantity, other: Quantity) -> bool:
    """Return whether a quantity of the claim and one of the evidence agree."""
    a, b = claim.dimension, other.dimension
    if a == "decade" and b in ("", "year"):
        return 0 <= other.written - claim.written < 10
    if PRICE in (a, b):
        return a == b
    if {a, b} == {"time", ""} and not (claim.unit if a else other.unit):
        return False  # "2 hours and 51 minutes" and "2"
    if MONTH in (a, b):
        return _same_month(claim, other)
    if TIMES in (a, b) and a != b:  # "six ferries a day", "120 euros when paid annually", "a second voyage"
        told = claim.written == other.written and (RANK in (a, b) or "" in (a, b))
        return claim.per == other.per and (told or (a == TIMES and claim.per != "" and claim.written == 1))
    if "clock" in (a, b) and a != b:
        hours, clock = (other, claim) if a == "clock" else (claim, other)
        spoken = hours.unit[:2] in ("", "\u0447\u0430", "uh", "he", "ho", "or")
        return hours.dimension in ("", "time") and spoken and hours.written * 60 == clock.value
    if {a, b} == {"mass", "£"}:  # "5 pounds" and "£5"
        return claim.written == other.written and "pound" in (claim.unit + other.unit)
    for one, two in ((claim, other), (other, claim)):
        if one.unit in _CENTS and two.dimension in _CURRENCIES:
            return math.isclose(one.written / 100, two.value)
    if a and b and a != b and {a, b} not in ({"degree", "celsius"}, {"degree", "fahrenheit"}):
        return False
    if "date" in (a, b):
        own, days = (claim.written, claim.unit), [(other.written, other.unit)]
        if a == b and claim.either != other.either:
            days.append((float(other.unit), f"{other.written:.0f}"))
        return a == b and own in days
    if a == b and a in _CURRENCIES and claim.unit != other.unit and claim.unit.split()[0] != other.unit.split()[0]:
        return claim.value == other.value and not (len(claim.unit.split()) > 1 and len(other.unit.split()) > 1)
    if claim.per and other.per and claim.per != other.per:
        if isinstance(claim.per, str) or isinstance(other.per, str):
            return False
        return a == b and math.isclose(claim.value / claim.per, other.value / other.per, rel_tol=MONTHS)
    for one, two in ((claim, other), (other, claim)):
        if one.dimension in MEASURED and not two.dimension and two.unit and " " not in one.unit:
            return False  # "5 kg" and "5 apples"
    mine, theirs = (claim.value, other.value) if a and b else (claim.written, other.written)
    converted = a and b and claim.unit != other.unit
    months = converted and _units()["month"][1] in (
        claim.value / (claim.written or 1),
        other.value / (other.written or 1),
    )
    beyond = claim.bound * (theirs - mine) / mine if mine >= ROUND and not other.bound else 0.0
    if 0 < beyond <= ROUNDED and len(f"{claim.written:.10g}".strip("0.")) < len(f"{other.written:.10g}".strip("0.")):
        return True  # "more than 40,000", evidence: "42,000"
    rough = HEDGED if claim.hedged else MONTHS if months else CONVERTED if converted else 1e-9
    return math.isclose(mine, theirs, rel_tol=rough)


def _same_month(claim: Quantity, other: Quantity) -> bool:
    """Return whether one is the month of the other; "2003-04" may also be a range of years."""
    if claim.dimension == other.dimension:
        return claim.written == other.written
    if other.dimension == "date":
        return float(other.unit) == claim.written
    bare = other if claim.dimension == MONTH else claim
    month = claim if claim.dimension == MONTH else other
    return bare.dimension in ("", "year") and bare.written % 100 == month.written


def rivals(claim: Quantity, other: Quantity) -> bool:
    """Return whether two quantities measure the same kind of thing, so one could replace the other."""
    a, b = claim.dimension, other.dimension
    if a == b or (a, b) == (MONTH, "date") or (PRICE in (a, b) and {a, b} & money_dimensions()):
        return True
    if (claim.unit in _CENTS and b in _CURRENCIES) or (other.unit in _CENTS and a in _CURRENCIES):
        return True
    return bool(
        a and a in money_dimensions() and not b and not other.unit and 0.2 < other.value / (claim.value or 1) < 5
    )

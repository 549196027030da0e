"""The quantities of a text: numbers with their unit, dates, years, times of day and amounts of money.

Two quantities agree if they measure the same thing and are equal after their units are brought to one ("30 minutes",
"half an hour"). A bare number agrees with an equal one whatever its unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, NamedTuple

from ragstone.judges.embedded.thesaurus import slot_lists, word_set
from ragstone.judges.embedded.words import NUMBER, Token

YEARS: Final = (1000, 2100)
"""Bare whole numbers between these are read as years."""

BEFORE: Final = 40
"""Characters before a number that are looked at for "at least" and the like."""

HEDGED: Final = 0.05
"""How far, as a share, a number may be off that is said to be "about" so much."""

MEASURED: Final = frozenset(("time", "length", "mass", "volume", "percent"))
"""What a number of something else never is."""

OPERANDS: Final = 24
"""Numbers of the evidence that are combined when one is computed."""

PRICE: Final = "price"
"""The dimension of what is free."""

_NAMED_HOURS: Final = {"noon": 720.0, "midday": 720.0, "midnight": 0.0}
_CURRENCIES: Final = frozenset("$€£¥")
_LINKS: Final = frozenset(("to", "or", "and", "bis", "à", "a", "до"))
_ALSO_WORDS: Final = frozenset(("may", "march", "mar", "mars", "mai"))
_BLANK: Final = re.compile(r"[\s\u00a0-]*")
_TEMPERATURES: Final = {"c": "celsius", "f": "fahrenheit", "celsius": "celsius", "fahrenheit": "fahrenheit"}


class Quantity(NamedTuple):
    """A number of a text: its token, what it measures (empty: a count), its value there and as written, its place.

    ``unit`` is the unit's word or the currency with its country. ``bound`` is 1 for "at least", -1 for "at most".
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


@lru_cache(maxsize=1)
def _units() -> dict[str, tuple[str, float]]:
    found = {}
    for dimension, words in slot_lists()["units"].items():
        for pair in words.split():
            word, _, factor = pair.rpartition("=")
            found[word] = (dimension, float(factor))
    return found


@lru_cache(maxsize=1)
def _money() -> frozenset[str]:
    units = slot_lists()["units"]
    return frozenset(list(units)[list(units).index("$") :])


@lru_cache(maxsize=1)
def _months() -> dict[str, int]:
    return {word: int(number) for word, number in (pair.split("=") for pair in slot_lists()["months"].split())}


@lru_cache(maxsize=1)
def _words() -> tuple[frozenset[str], frozenset[str], re.Pattern[str], re.Pattern[str]]:
    lists = slot_lists()
    least, most = (re.compile(rf"\b(?:{lists[name]})\W*(?:\w+\W+)?$", re.IGNORECASE) for name in ("least", "most"))
    return frozenset(lists["between"].split()), frozenset(lists["hedges"].split()), least, most


def quantities(tokens: Sequence[Token], text: str) -> list[Quantity]:
    """The quantities of a sentence, in order; linear in its tokens."""
    low = [text[token.start : token.end].lower() for token in tokens]
    found: list[Quantity] = []
    for i, token in enumerate(tokens):
        if token.kind == NUMBER:
            one = _quantity(tokens, low, text, i)
            if one is not None:
                found.append(one)
        elif low[i] in _NAMED_HOURS:
            found.append(Quantity(i, i, "clock", _NAMED_HOURS[low[i]], 0.0, "", token.start, token.end, 0, False))
        elif low[i] in word_set("free"):
            found.append(Quantity(i, i, PRICE, 0.0, 0.0, "", token.start, token.end, 0, False))
        elif low[i] in {"half", "one", "an"} or (low[i] == "a" and i + 1 < len(low) and low[i + 1] in _units()):
            one = _spelled(tokens, low, i)
            if one is not None:
                found.append(one)
    return _joined(found, tokens)


def _number(stem: str) -> float | None:
    try:
        value = float(stem[1:])
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _quantity(tokens: Sequence[Token], low: list[str], text: str, i: int) -> Quantity | None:
    token = tokens[i]
    clock = token.stem[:1] == "@"
    if clock:
        hours, _, minutes = token.stem[1:].partition(":")
        value: float | None = float(hours) * 60 + float(minutes or 0) if (hours + minutes).isdecimal() else None
    else:
        value = _number(token.stem)
    if value is None:
        return None
    if i and low[i - 1] == "minus":
        value = -value
    dimension, factor, unit, last = ("clock", 1.0, "", i) if clock else _unit(tokens, low, text, i, value)
    bound, hedged = _bound(text, token, tokens[last].end)
    start = token.start - (i > 0 and tokens[i - 1].stem in _CURRENCIES and tokens[i - 1].end == token.start)
    if dimension == "date":
        start = min(start, tokens[min(i, last)].start)
    first, end = min(start, tokens[last].start), max(token.end, tokens[last].end)
    return Quantity(i, max(i, last), dimension, value * factor, value, unit, first, end, bound, hedged)


def _unit(tokens: Sequence[Token], low: list[str], text: str, i: int, value: float) -> tuple[str, float, str, int]:
    """Dimension, factor, the unit's word, and the last token that belongs to it."""
    month = _month(tokens, low, text, i)
    if month is not None and 1 <= value <= 31 and value == int(value):
        at, number = month
        return "date", 1.0, str(number), at
    units, size = _units(), len(tokens)
    mark = text[tokens[i].end : tokens[i].end + 1]
    if mark and mark in slot_lists()["counters"]:
        return f"counted {mark}", 1.0, mark, i
    if i and tokens[i - 1].stem in _CURRENCIES:
        sign = tokens[i - 1].stem
        country = low[i - 2] if i > 1 and tokens[i - 2].end == tokens[i - 1].start else ""
        return sign, 1.0, (country + sign) if country else sign, i
    if i and low[i - 1] in units and low[i - 1].isalpha() and units[low[i - 1]][0] in {"$", "€", "£", "franc"}:
        return (*units[low[i - 1]], low[i - 1], i)
    if i + 2 < size and low[i + 1] in _LINKS and tokens[i + 2].kind == NUMBER:
        return (*_unit(tokens, low, text, i + 2, value)[:3], i)
    if i + 2 < size and low[i + 1] == "per" and low[i + 2] == "cent":
        return "percent", 1.0, "%", i + 2
    after = text[tokens[i].end : tokens[i].end + 4].strip(" \u00a0°º-").lower()[:1]
    degree = "°" in text[tokens[i].end : tokens[i].end + 3] or (i + 1 < size and low[i + 1].startswith("degree"))
    if degree:
        at = next((k for k in range(i + 1, min(size, i + 4)) if low[k] in _TEMPERATURES), min(size - 1, i + 1))
        kind = _TEMPERATURES.get(low[at], _TEMPERATURES.get(after, "degree"))
        return kind, 1.0, kind, at
    for k in (i + 1, i + 2):
        if k >= size or (k > i + 1 and len(low[k]) < 3):  # "1957 as an extension" is no year in French
            continue
        if (low[k] in units or tokens[k].stem in units) and _near(text, tokens, i, k):
            dimension, factor = units.get(low[k]) or units[tokens[k].stem]
            between = low[i + 1] if k == i + 2 else ""
            if dimension == "percent" and k + 1 < size and low[k + 1].startswith("point"):
                return "points", 1.0, "points", k + 1
            if between in {"square", "cubic"}:
                dimension = f"{between} {dimension}"
            return dimension, factor, f"{between} {low[k]}".strip(), k
    if YEARS[0] <= value <= YEARS[1] and re.match(r"\d{3}0s\b", text[tokens[i].start : tokens[i].start + 6]):
        return "decade", 1.0, "", i
    if YEARS[0] <= value <= YEARS[1] and text[tokens[i].start : tokens[i].end].isdecimal():
        return "year", 1.0, "", i
    return "", 1.0, _counted(tokens, low, text, i), i


def _counted(tokens: Sequence[Token], low: list[str], text: str, i: int) -> str:
    """The word right behind a bare number, unless it is one of grammar: most often what is counted."""
    if i + 1 >= len(low) or low[i + 1] in word_set("function") or not low[i + 1].isalpha():
        return ""
    return low[i + 1] if _BLANK.fullmatch(text, tokens[i].end, tokens[i + 1].start) else ""


def _near(text: str, tokens: Sequence[Token], i: int, k: int) -> bool:
    """Whether nothing but a qualifying word stands between a number and its unit."""
    if k == i + 1:
        return _BLANK.fullmatch(text, tokens[i].end, tokens[k].start) is not None
    between = text[tokens[i].end : tokens[k].start]
    return tokens[i + 1].kind != NUMBER and not any(c in between for c in ",.;:()")


def _month(tokens: Sequence[Token], low: list[str], text: str, i: int) -> tuple[int, int] | None:
    """The month that a day number belongs to, behind it or before it, with its token."""
    months, (between, *_) = _months(), _words()
    for step in (1, -1):
        k = i + step
        while 0 <= k < len(low) and abs(k - i) <= 3 and low[k] in between:
            k += step
        if 0 <= k < len(low) and low[k] in months and abs(k - i) <= 3 and (step > 0 or abs(k - i) == 1):
            if low[k] in _ALSO_WORDS and text[tokens[k].start].islower():
                continue
            return k, months[low[k]]
    return None


def _bound(text: str, token: Token, end: int) -> tuple[int, bool]:
    before = text[max(0, token.start - BEFORE) : token.start]
    _, hedges, least, most = _words()
    words = before.lower().split()
    hedged = any(word in hedges for word in words[-3:])
    behind = text[end : end + 14].lower()
    if least.search(before) or " or more" in behind or " or older" in behind:
        bound = 1
    elif most.search(before) or " or less" in behind or " or fewer" in behind:
        bound = -1
    else:
        return 0, hedged
    if bound == 1 and re.search(r"\b(?:not|never|n't|no)\b[^.;]{0,24}\b(?:more|over|above|exceed)", before.lower()):
        bound = -1
    return bound, hedged


def _spelled(tokens: Sequence[Token], low: list[str], i: int) -> Quantity | None:
    """Of times alone: "half an hour", "one week", "an hour"."""
    units = _units()
    step = 2 if low[i] == "half" and i + 1 < len(low) and low[i + 1] in {"a", "an"} else 1
    k = i + step
    if k >= len(low) or low[k] not in units or units[low[k]][0] != "time":
        return None
    value = 0.5 if low[i] == "half" else 1.0
    return Quantity(
        i, k, "time", value * units[low[k]][1], value, low[k], tokens[i].start, tokens[k].end, 0, low[i] != "one"
    )


def _joined(found: list[Quantity], tokens: Sequence[Token]) -> list[Quantity]:
    """Neighbouring times as one: "2 hours 15 minutes"."""
    made: list[Quantity] = []
    for one in found:
        last = made[-1] if made else None
        if (
            last is not None
            and one.dimension == last.dimension == "time"
            and 0 < one.value < last.value
            and one.at - last.last <= 2
            and tokens[one.at].start - last.end <= 5
        ):
            made[-1] = last._replace(value=last.value + one.value, last=one.last, end=one.end, unit="")
        else:
            made.append(one)
    return made


def agree(claim: Quantity, other: Quantity) -> bool:
    """Whether the evidence's quantity is the claim's."""
    a, b = claim.dimension, other.dimension
    if a == "decade" and b in ("", "year"):
        return 0 <= other.written - claim.written < 10
    if a and b and a != b and "clock" not in (a, b) and {a, b} not in ({"degree", "celsius"}, {"degree", "fahrenheit"}):
        return False
    if PRICE in (a, b):
        return a == b
    if "clock" in (a, b) and a != b:
        hours, clock = (other, claim) if a == "clock" else (claim, other)
        return (
            hours.dimension in ("", "time")
            and hours.unit[:2] in ("", "ча", "uh", "he", "ho", "or")
            and (hours.written * 60 == clock.value)
        )
    if "date" in (a, b):
        return a == b and claim.written == other.written and claim.unit == other.unit
    if a == b and a in _CURRENCIES and claim.unit != other.unit and claim.unit.split()[0] != other.unit.split()[0]:
        return claim.value == other.value and not (len(claim.unit.split()) > 1 and len(other.unit.split()) > 1)
    if (a in MEASURED and not b and other.unit and " " not in claim.unit) or (
        b in MEASURED and not a and claim.unit and " " not in other.unit
    ):
        return False
    one, two = (claim.value, other.value) if a and b else (claim.written, other.written)
    if math.isclose(one, two, rel_tol=1e-3 if a and b and claim.unit != other.unit else 1e-9):
        return True
    if claim.hedged or claim.bound:
        return math.isclose(one, two, rel_tol=HEDGED) and claim.hedged
    return False


def rivals(claim: Quantity, other: Quantity) -> bool:
    """Whether two quantities measure the same kind of thing, so that one could stand in the other's place."""
    a, b = claim.dimension, other.dimension
    if a == b or (PRICE in (a, b) and {a, b} & _money()):
        return True
    return bool(a and a in _money() and not b and not other.unit and 0.2 < other.value / (claim.value or 1) < 5)


def computed(claim: Quantity, evidence: Sequence[Quantity], *, adding: bool) -> bool:
    """Whether the quantity follows from two of the evidence: a difference of times, a share, where asked a sum.

    Few operations are tried, and sums and differences of counts only where the claim has a word that says so: among
    enough numbers any value is some sum.
    """
    known = list(evidence)[:OPERANDS]
    want, slack = claim.value, HEDGED if claim.hedged else 0.006
    for one, other in combinations(known, 2):
        a, b = one.value, other.value
        if one.dimension == other.dimension == "clock" and claim.dimension == "time":
            if math.isclose(abs(a - b) * 60, want, rel_tol=1e-6):
                return True
        elif claim.dimension == "percent" and one.dimension == other.dimension != "year" and a and b:
            shares = (abs(a - b) / abs(a), abs(a - b) / abs(b), a / b, b / a)
            if any(math.isclose(100 * share, want, rel_tol=slack) for share in shares):
                return True
        elif adding and one.dimension == other.dimension and claim.dimension in ("", one.dimension):
            if any(math.isclose(made, want, rel_tol=slack) for made in (a + b, abs(a - b))):
                return True
        elif one.dimension == other.dimension == "year" and abs(a - b) == claim.written:
            return claim.unit.startswith("year")
    return False

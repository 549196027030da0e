"""Locate a judge's quotes in the passages. A quote is trusted only if it is found there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ragstone.types import Passage, Quote, Span

_FOLDS: Final = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"',
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
    }
)  # fmt: skip
_AROUND: Final = " \t\r\n.\u2026\"'\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
"""Ellipses and quotation marks that judges add around a quote."""
_SHORTEST: Final = 2
_SHORTEST_NEAR: Final = 20
"""Minimum number of characters of a quote that may match approximately; in a shorter one, a tenth is no typo."""
_LONGEST_NEAR: Final = 800
_WINDOWS: Final = 60
"""Maximum number of candidate stretches per quote, in all passages together."""
_IN_NUMBER: Final = re.compile(r"\d[.,]?\Z")
_ON_NUMBER: Final = re.compile(r"[.,]?\d")
_WORDS: Final = re.compile(r"[-\u2212]?\d[\d.,]*|\w+", re.UNICODE)
_ARTICLES: Final = frozenset(("the", "a", "an"))
_LETTERS: Final = 5
"""Minimum number of letters of a word in which a typo is tolerated."""


def locate(text: str, passages: Sequence[Passage], claimed: str = "") -> Quote:
    """Locate ``text`` in the passages: verbatim, else folded, else approximately.

    Folding ignores case and differences in white space, quotation marks and dashes. If the text is not found, it is
    tried again without the dots and quotation marks around it. An approximate match differs in at most a tenth of the
    characters, only by typos (see ``same_words``); it has a span and is not verbatim. ``claimed`` is the id of the
    passage named by the judge, which is searched first. The quote has the passage's own wording. If it is not found, it
    keeps the judge's wording and has no span.
    """
    ordered: Sequence[Passage] = passages
    if passages and passages[0].id != claimed:
        named = [passage for passage in passages if passage.id == claimed]
        ordered = [*named, *(passage for passage in passages if passage.id != claimed)] if named else passages
    for wanted in dict.fromkeys((text.strip(), text.strip(_AROUND))):
        # Folded, since white space has a length too.
        if len(_fold(wanted)) >= _SHORTEST and (quote := _found(wanted, ordered)):
            return quote
    return _nearly(text.strip(_AROUND), ordered) or Quote(claimed, None, text, verbatim=False)


def _found(wanted: str, passages: Sequence[Passage]) -> Quote | None:
    for passage in passages:
        at = _standing(wanted, passage.text)
        if at >= 0:
            return Quote(passage.id, Span(at, at + len(wanted)), wanted, verbatim=True)
    folded = _fold(wanted)
    for passage in passages:
        if _standing(folded, _fold(passage.text)) >= 0:
            body, offsets = _traced(passage.text)
            at = _standing(folded, body)
            span = Span(offsets[at], offsets[at + len(folded) - 1] + 1)
            return Quote(passage.id, span, passage.text[span.start : span.end], verbatim=True)
    return None


def _standing(wanted: str, text: str) -> int:
    """Return the offset in the text, but not inside a longer number ("5 %" is not in "15 %"); -1 if absent."""
    at = text.find(wanted)
    while at >= 0:
        before = wanted[0].isdigit() and _IN_NUMBER.search(text, max(0, at - 2), at)
        if not before and not (wanted[-1].isdigit() and _ON_NUMBER.match(text, at + len(wanted))):
            break
        at = text.find(wanted, at + 1)
    return at


def _nearly(wanted: str, passages: Sequence[Passage]) -> Quote | None:
    """Return the stretch of a passage closest to the quote, the first in a tie; None if none is close enough."""
    folded = _fold(wanted)
    if not _SHORTEST_NEAR <= len(folded) <= _LONGEST_NEAR:
        return None
    best: tuple[int, Passage, int, int] | None = None
    windows = _WINDOWS
    for passage in passages:
        body = _fold(passage.text)
        near, looked = nearest(folded, body, len(folded) // 10, windows)
        windows -= looked
        if near and (best is None or near[0] < best[0]) and same_words(folded, body[near[1] : near[2]]):
            best = (near[0], passage, near[1], near[2])
    if best is None:
        return None
    _, passage, start, end = best
    offsets = _traced(passage.text)[1]
    span = Span(offsets[start], offsets[end - 1] + 1)
    return Quote(passage.id, span, passage.text[span.start : span.end], verbatim=False)


def same_words(one: str, other: str) -> bool:
    """Return whether two texts have the same words.

    They may differ by single-letter typos in long words, by articles and by punctuation, but not by a number, sign or
    unit, or by an added or missing "not".
    """
    ours, theirs = ([word for word in _WORDS.findall(text) if word not in _ARTICLES] for text in (one, other))
    # The ends of a stretch may split a word.
    return len(ours) == len(theirs) and all(
        mine == their or (min(len(mine), len(their)) >= _LETTERS and mine.isalpha() and _one_slip(mine, their))
        for mine, their in zip(ours, theirs, strict=True)
    )


def _one_slip(one: str, other: str) -> bool:
    """Return whether the words differ by one letter other than the first, which may be a prefix."""
    if abs(len(one) - len(other)) > 1 or one[0] != other[0]:
        return False
    short, long = sorted((one, other), key=len)
    at = next((place for place, char in enumerate(short) if char != long[place]), len(short))
    return short[at + (len(short) == len(long)) :] == long[at + 1 :]


def nearest(wanted: str, text: str, most: int, windows: int = _WINDOWS) -> tuple[tuple[int, int, int] | None, int]:
    """Return the closest stretch of ``text`` to ``wanted`` and the number of candidates examined.

    The stretch is (edit distance, start, end), or None if every distance exceeds ``most``. At most ``windows``
    candidates are examined.

    A stretch within ``most`` edits contains one of ``most + 1`` pieces of ``wanted`` unchanged, so only the
    surroundings of such pieces are examined, in one pass with a row of the edit matrix in the bits of one number (Myers
    1999, doi 10.1145/316542.316550).
    """
    best: tuple[int, int, int] | None = None
    looked: set[int] = set()
    size = len(wanted)
    for number in range(most + 1):
        begin, end = size * number // (most + 1), size * (number + 1) // (most + 1)
        at = text.find(wanted[begin:end])
        while at >= 0 and len(looked) < windows:
            low = max(0, at - begin - most)
            if low not in looked:
                looked.add(low)
                high = min(len(text), low + size + 2 * most + 1)
                distance, stop = _ending(wanted, text[low:high], most)
                if distance <= most and (best is None or (distance, low) < (best[0], best[1])):
                    back, length = _ending(wanted[::-1], text[low : low + stop][::-1], most)
                    best = (distance, low + stop - length, low + stop) if back == distance else best
            at = text.find(wanted[begin:end], at + 1)
    return best, len(looked)


def _ending(wanted: str, text: str, most: int) -> tuple[int, int]:
    """Return the minimum edit distance of ``wanted`` to a stretch of ``text``, and the end of the first of these."""
    size = len(wanted)
    full = (1 << size) - 1
    top = 1 << (size - 1)
    places: dict[str, int] = {}
    for place, char in enumerate(wanted):
        places[char] = places.get(char, 0) | (1 << place)
    positive, negative, score = full, 0, size
    best, stop = most + 1, 0
    for place, char in enumerate(text, 1):
        equal = places.get(char, 0)
        vertical = equal | negative
        horizontal = (((equal & positive) + positive) ^ positive) | equal
        up = negative | (full & ~(horizontal | positive))
        down = positive & horizontal
        if up & top:
            score += 1
        elif down & top:
            score -= 1
        up = (up << 1) & full
        down = (down << 1) & full
        positive = down | (full & ~(vertical | up))
        negative = up & vertical
        if score < best:
            best, stop = score, place
    return best, stop


@lru_cache(maxsize=256)
def _fold(text: str) -> str:
    """Return the text in lower case, with single spaces and plain quotes and dashes."""
    if text.isascii():  # has no quotes or dashes to translate, which is the slow part
        return " ".join(text.lower().split())
    return " ".join(text.translate(_FOLDS).casefold().split())


def _traced(text: str) -> tuple[str, list[int]]:
    """Return ``_fold(text)`` and the offset of each of its characters in the text. Slow, but rarely needed."""
    out: list[str] = []
    offsets: list[int] = []
    blank = True
    for at, char in enumerate(text.translate(_FOLDS)):
        if char.isspace():
            if not blank:
                out.append(" ")
                offsets.append(at)
            blank = True
            continue
        blank = False
        for lower in char.casefold():
            out.append(lower)
            offsets.append(at)
    if out and out[-1] == " ":
        out.pop()
        offsets.pop()
    return "".join(out), offsets

"""Locate a judge's quotes in the passages. A quote is trusted only if it is found there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
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
_LETTER: Final = r"[^\W\d_\u0590-\u109f\u1100-\u1dff\u2c80-\U0010ffff]"
"""A letter, but not of scripts that write words together, or a short word such as "the" onto the next."""
_IN_WORD: Final = rf"(?<={_LETTER})(?=[-\u2010\u2011]?{_LETTER})|(?<={_LETTER}[-\u2010\u2011])(?={_LETTER})"
_STARTS_INSIDE: Final = re.compile(rf"(?<=\d)(?=\d)|(?<=\d[.,])(?=\d)|(?<=[ (][-\u2212])(?=\d)|{_IN_WORD}")
_ENDS_INSIDE: Final = re.compile(rf"(?<=\d)(?=[.,]?\d)|{_IN_WORD}")
_CUT: Final = re.compile(r"\s*(?:[\[(]\s*(?:\u2026|\.\.\.|\. \. \.)\s*[])]|\u2026|\.{3,})\s*")
_MARKS: Final = re.compile(
    r"!?\[(?=[^][\n]*\]\()|(?<=[^\s[(])\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?: +\"[^\"\n]*\")?\)"
    r"|(?<![\w*])[*_`]+(?=\S)|(?<=[^\s*_`])[*_`]+(?!\w)"
)
"""Marks of links, bold, italics and code in Markdown, without what they mark."""
_MARKING: Final = ("](", "*", "_", "`")
"""Substrings without which ``_MARKS`` cannot match; it takes longer than everything else."""
_WORDS: Final = re.compile(r"[-\u2212]?\d[\d.,]*|\w+", re.UNICODE)
_ARTICLES: Final = frozenset(("the", "a", "an"))
_LETTERS: Final = 5
"""Minimum number of letters of a word in which a typo is tolerated."""


def locate(text: str, passages: Sequence[Passage], claimed: str = "") -> Quote:
    """Locate ``text`` in the passages: verbatim, else folded, else without Markdown, else in parts or approximately.

    Folding ignores case and differences in white space, quotation marks and dashes. A quote does not start or end
    inside a word or number. If the text is not found, it is tried again without the dots and quotation marks around it.
    The parts of a text that is shortened with an ellipsis are in one passage, in this order. An approximate match
    differs in at most a tenth of the characters, only by typos (see ``same_words``). Both have a span and are not
    verbatim. ``claimed`` is the id of the passage named by the judge, which is searched first. The quote has the
    passage's own wording. If it is not found, it keeps the judge's wording and has no span.
    """
    ordered: Sequence[Passage] = passages
    if passages and passages[0].id != claimed:
        named = [passage for passage in passages if passage.id == claimed]
        ordered = [*named, *(passage for passage in passages if passage.id != claimed)] if named else passages
    for wanted in dict.fromkeys((text.strip(), text.strip(_AROUND))):
        # Folded, since white space has a length too.
        if len(_fold(wanted)) >= _SHORTEST and (quote := _found(wanted, ordered)):
            return quote
    bare = text.strip(_AROUND)
    return _shortened(bare, ordered) or _nearly(bare, ordered) or Quote(claimed, None, text, verbatim=False)


def _found(wanted: str, passages: Sequence[Passage]) -> Quote | None:
    for find, passage in product((_exact, _folded), passages):
        if span := find(wanted, passage.text):
            return Quote(passage.id, span, passage.text[span.start : span.end], verbatim=True)
    return None


def _shortened(text: str, passages: Sequence[Passage]) -> Quote | None:
    """Return the stretch of a passage that has the parts of a text with ellipses, in order."""
    parts = [part for piece in _CUT.split(text) if (part := piece.strip(_AROUND))]
    if len(parts) < 2 or len(_fold("".join(parts))) < _SHORTEST_NEAR:
        return None
    for passage in passages:
        spans: list[Span] = []
        for part in parts:
            after = spans[-1].end if spans else 0
            if not (span := _exact(part, passage.text, after) or _folded(part, passage.text, after)):
                break
            spans.append(span)
        else:
            span = Span(spans[0].start, spans[-1].end)
            return Quote(passage.id, span, passage.text[span.start : span.end], verbatim=False)
    return None


def _exact(wanted: str, text: str, after: int = 0) -> Span | None:
    at = text.find(wanted, after)
    while at >= 0:
        if _whole(text, at, at + len(wanted)):
            return Span(at, at + len(wanted))
        at = text.find(wanted, at + 1)
    return None


def _folded(wanted: str, text: str, after: int = 0) -> Span | None:
    """Return where the text has the wanted words in another form: with other case, white space or Markdown."""
    marked = any(mark in text or mark in wanted for mark in _MARKING)
    for fold, trace in ((_fold, _traced), (_plain, _traced_plain)) if marked else ((_fold, _traced),):
        folded = fold(wanted)
        if folded not in fold(text) or len(folded) < _SHORTEST:
            continue
        body, offsets = trace(text)
        at = body.find(folded)
        while at >= 0:
            start, end = offsets[at], offsets[at + len(folded) - 1] + 1
            if start >= after and _whole(text, start, end):
                return Span(start, end)
            at = body.find(folded, at + 1)
    return None


def _whole(text: str, start: int, end: int) -> bool:
    """Return whether a stretch starts and ends outside words and numbers ("5 %" is not in "15 %")."""
    return not (_inside(_STARTS_INSIDE, text, start) or _inside(_ENDS_INSIDE, text, end))


def _inside(pattern: re.Pattern[str], text: str, at: int) -> bool:
    # "HomeAbout" is two words: text of web pages often lacks the space.
    return bool(pattern.match(text, at)) and not (text[at - 1].islower() and text[at].isupper())


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
        if near and (best is None or near[0] < best[0]):
            distance, start, end = near
            while _inside(_STARTS_INSIDE, body, start):
                start -= 1
            while _inside(_ENDS_INSIDE, body, end):
                end += 1
            if same_words(folded, body[start:end]):
                best = (distance, passage, start, end)
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
def _plain(text: str) -> str:
    """Return ``_fold(text)`` without the marks of Markdown."""
    return _fold(_MARKS.sub("", text))


def _traced_plain(text: str) -> tuple[str, list[int]]:
    """Return ``_plain(text)`` and the offset of each of its characters in the text."""
    kept: list[int] = []
    at = 0
    for mark in _MARKS.finditer(text):
        kept += range(at, mark.start())
        at = mark.end()
    kept += range(at, len(text))
    body, offsets = _traced("".join(text[place] for place in kept))
    return body, [kept[place] for place in offsets]


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

"""Find in the passages what a judge says it quotes. A quote is believed only where it stands."""

from __future__ import annotations

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
"""What judges put around a quote that the passage need not have: ellipses and quotation marks."""
_SHORTEST: Final = 2


def locate(text: str, passages: Sequence[Passage], claimed: str = "") -> Quote:
    """Where ``text`` stands in the passages: to the letter first, then with white space, quotes and case folded.

    What is nowhere as it is is looked for without the dots and quotation marks around it. ``claimed`` is the id
    of the passage that the judge named; it is looked through first. The quote's text is the passage's own
    wording. A quote that is nowhere keeps the judge's wording and has no span.
    """
    ordered = sorted(passages, key=lambda passage: passage.id != claimed)
    for wanted in dict.fromkeys((text.strip(), text.strip(_AROUND))):
        if len(wanted) >= _SHORTEST and (quote := _found(wanted, ordered)):
            return quote
    return Quote(claimed, None, text, verbatim=False)


def _found(wanted: str, passages: Sequence[Passage]) -> Quote | None:
    for passage in passages:
        at = passage.text.find(wanted)
        if at >= 0:
            return Quote(passage.id, Span(at, at + len(wanted)), wanted, verbatim=True)
    folded = _fold(wanted)
    for passage in passages:
        if folded in _fold(passage.text):
            body, offsets = _traced(passage.text)
            at = body.find(folded)
            span = Span(offsets[at], offsets[at + len(folded) - 1] + 1)
            return Quote(passage.id, span, passage.text[span.start : span.end], verbatim=True)
    return None


@lru_cache(maxsize=256)
def _fold(text: str) -> str:
    """The text with runs of white space as one blank, plain quotes and lower case."""
    if text.isascii():  # has no quotes or dashes to make plain, and translating is what costs here
        return " ".join(text.lower().split())
    return " ".join(text.translate(_FOLDS).casefold().split())


def _traced(text: str) -> tuple[str, list[int]]:
    """What ``_fold`` gives, and where in the text each of its characters comes from. Slow, and seldom needed."""
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

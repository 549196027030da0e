"""What of a sentence is a statement: without its list mark, its citations and a bow to its source.

"2. According to the provided documents, the fee is 5 dollars [3]." states that the fee is 5 dollars. Which words are a
bow is told by the same lists that abstaining statements are read by.
"""

from __future__ import annotations

import re
from typing import Final

from ragstone.judges.embedded.abstaining import leads, speaks
from ragstone.judges.embedded.words import tokens_of

FARTHEST: Final = 120
"""Characters within which a bow ends."""

_MARK: Final = re.compile(r"\s*(?:>\s+|[-*+\u2022\u2013]\s+|\(?\d{1,3}[.)]\s+|\(?[a-z]\)\s+)")
_CITED: Final = r"(?:[A-Za-z]{1,10}[ _:#.-]?)?\d{1,4}"
_CITATIONS: Final = re.compile(
    rf"\s?(?:\[\s?\^?{_CITED}(?:\s?[,;\u2013-]\s?{_CITED}){{0,20}}\s?\]|\u3010[^\u3011\n]{{1,40}}\u3011)"
)
_COMMA: Final = re.compile(r"[,\uff0c:]\s*(?=\S)")
_SAYS: Final = re.compile(
    r"\b(?:say|state|mention|indicate|note|explain|specif|confirm|show|report|suggest|highlight)\w*\s+that\s+(?=\S)",
    re.IGNORECASE,
)


def unmarked(text: str) -> str:
    """A sentence without its list mark, if it is more than that."""
    mark = _MARK.match(text)
    return text[mark.end() :] if mark and text[mark.end() :].strip() else text


def stated(text: str, language: str) -> str:
    """What a sentence states; the sentence itself where nothing would be left."""
    bare = unmarked(text)
    if "[" in bare or "\u3010" in bare:
        bare = _CITATIONS.sub("", bare)
    bare = bare[_bow(bare, language) :]
    return bare if bare == text or tokens_of(bare, language) else text


def _bow(text: str, language: str) -> int:
    """Where the statement begins behind "Based on the context, ..." or "The document states that ..."; else 0.

    All words before that are of the frame, so that nothing that is said of the matter is lost.
    """
    head = text[:FARTHEST]
    comma = _COMMA.search(head)
    if comma and leads(head[: comma.start()], language):
        return comma.end()
    says = _SAYS.search(head)
    if says and speaks(head[: says.start()], language):
        return says.end()
    return 0

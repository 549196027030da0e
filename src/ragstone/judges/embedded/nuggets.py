"""Nuggets of an answer: its claims, without openers, citations and final points, none of them twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ragstone.judges.embedded.abstaining import abstains
from ragstone.judges.embedded.claims import Claim, clean, write
from ragstone.judges.embedded.model import CONTENT, weigher
from ragstone.judges.embedded.stated import stated
from ragstone.judges.embedded.words import NEGATION, NUMBER, nugget_lexicon, tokens_of
from ragstone.segment import SAMPLE, language_of

SAME: Final = 0.8  # the share of a nugget's content words, by weight, that another one must have to say the same ...
LIGHT: Final = 3.0  # ... and the heaviest word that it may lack
HEAD: Final = 5  # letters by which two stems are taken for forms of one word
COMPARED: Final = 64  # the most nuggets that one is compared with for each of its ``HEAVIEST`` words
HEAVIEST: Final = 4

_LINK: Final = re.compile(r"\[([^\[\]\n]{1,120})\]\([^()\s]{1,300}\)")
_CITED: Final = re.compile(
    r"\s*\((?:[^()]{0,160}\bet al\b[^()]{0,160}|(?:Figs?|Figures?|Tables?|Sections?|Refs?|see|cf)\b\.?[^()]{0,60}"
    r"|[A-Z][\w'-]{1,30}(?:(?: and | & |, )[A-Z][\w'-]{1,30}){0,3},? (?:19|20)\d\d[a-z]?"
    r"|\d{1,3}(?:[,; ]{1,2}\d{1,3}){0,12})\)"
)
_ENDS: Final = " \t\r\n.!;:,\u3002\uff01\uff1b\uff0c\u2026"
_DOTTED: Final = re.compile(r"(?:^|\s)(?:[^\W\d_]\.){2,8}$")


def of_answer(texts: Sequence[str], before: str, known: Sequence[str], most: int) -> list[Claim]:
    """The nuggets of neighbouring sentences that ``known`` does not have, in order.

    ``most`` limits known and new ones together; 0 is no limit.
    """
    language = language_of(" ".join(texts)[:SAMPLE])
    listing = Listing(language, known)
    found: list[Claim] = []
    for claim in write([_LINK.sub(r"\1", text) for text in texts], before):
        if most and len(known) + len(found) >= most:
            break
        asks = claim.text.rstrip("*_ \"'").endswith(("?", "\uff1f"))
        text = "" if asks or abstains(claim.text, language) else put(claim.text, language)
        if text and listing.add(text):
            found.append(claim._replace(text=text))
    return found


def put(text: str, language: str) -> str:
    """A claim as a nugget: on one line, without markers, citations, openers and its final point."""
    bare = _CITED.sub("", clean(text))
    for _ in range(3):
        rest = stated(_opened(bare, language), language).strip()
        if rest == bare:
            break
        bare = rest[:1].upper() + rest[1:] if bare[:1].isupper() else rest
    short = bare.rstrip(_ENDS)
    dotted = bare[len(short) : len(short) + 1] == "." and _DOTTED.search(short[-24:] + ".")
    return short + "." if dotted else short


def _opened(text: str, language: str) -> str:
    """The text without a discourse opener before its first comma."""
    opener, _, rest = text[:80].partition(",")
    known = nugget_lexicon()["openers"]
    listed = f"{known.get(language, '')}|{known['en']}".split("|")
    return rest.lstrip() + text[80:] if rest and opener.lower() in listed else text


class _Content(NamedTuple):
    """What of a nugget is compared: beginnings of content stems with their weights, numbers, odd denials."""

    weights: dict[str, float]
    numbers: frozenset[str]
    denied: bool

    def says(self, other: _Content) -> bool:
        """Whether this one says all that the other says."""
        if self.denied != other.denied or not other.numbers <= self.numbers or not other.weights:
            return False
        lacking = [weight for head, weight in other.weights.items() if head not in self.weights]
        return max(lacking, default=0.0) <= LIGHT and sum(lacking) <= (1 - SAME) * sum(other.weights.values())


class Listing:
    """Nuggets of one language, none of which says what another says."""

    def __init__(self, language: str, texts: Iterable[str] = ()) -> None:
        self.language = language
        self._texts: set[str] = set()
        self._by_word: dict[str, list[_Content]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> bool:
        """Add a nugget, unless one that is there says the same in another order or form. Returns whether it is new."""
        folded = " ".join(text.casefold().split()).rstrip(_ENDS)
        content = self._content(text)
        heaviest = sorted(content.weights, key=lambda head: (-content.weights[head], head))[:HEAVIEST]
        near = (other for head in heaviest for other in self._by_word.get(head, ())[-COMPARED:])
        if folded in self._texts or any(other.says(content) for other in near):
            return False
        self._texts.add(folded)
        for head in content.weights:
            self._by_word.setdefault(head, []).append(content)
        return True

    def _content(self, text: str) -> _Content:
        weight = weigher(self.language)
        tokens = tokens_of(text, self.language)
        every = {token.stem[:HEAD]: weight(token.stem) for token in tokens if token.kind not in {NEGATION, NUMBER}}
        return _Content(
            {head: one for head, one in every.items() if one >= CONTENT} or every,
            frozenset(token.stem for token in tokens if token.kind == NUMBER),
            sum(token.kind == NEGATION for token in tokens) % 2 == 1,
        )

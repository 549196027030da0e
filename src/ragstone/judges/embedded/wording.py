"""How nuggets are put, and when two of them say the same.

A nugget is a sentence without what only tied it to its place: list markers, citations, discourse openers, the
point at its end. Two nuggets are the same where their content words and numbers are, however they are put.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.claims import clean
from ragstone.judges.embedded.model import CONTENT, weigher
from ragstone.judges.embedded.words import NEGATION, NUMBER, nugget_lexicon, tokens_of

SAME: Final = 0.8
"""The share of two nuggets' content words, by weight, from which on they are one nugget."""

HELD: Final = 0.95
"""The share of a nugget's content words that another one must hold to say all of it ..."""

LIKE: Final = 0.75
"""... and the share of the other's that they must make up."""

WORDS: Final = 64
"""The heaviest words of a nugget by which others are found that may say the same ..."""

COMPARED: Final = 64
"""... and the most others that it is compared with; nuggets that are equal but for form are always found."""

HEAD: Final = 5
"""Letters by which two stems are taken for forms of one word."""

LIGHT: Final = 3.0
"""The heaviest word of its own that a nugget may have beside another with one of its own, and be the same."""

_ENDS: Final = " \t\r\n.!;:,\u3002\uff01\uff1b\uff0c\u2026"
_QUOTED: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,120})\]\([^()\s]{1,300}\)")
_NUMBERED: Final = re.compile(r"\s*\[\s?\d{1,3}(?:\s?[,\u2013-]\s?\d{1,3}){0,12}\s?\]")
_CITED: Final = re.compile(
    r"\s*\((?:[^()]{0,160}\bet al\b[^()]{0,160}|(?:see|cf\.?|e\.g\.,? see) [^()]{0,120}"
    r"|(?:Figs?|Figures?|Tables?|Sections?|Eqs?|Equations?|Supplementary|Ref|Refs)\b\.?[^()]{0,60}"
    r"|\d{1,3}(?:\s?[,;\u2013-]\s?\d{1,3}){0,12}"
    r"|[A-Z][\w'-]{1,30}(?:(?: and | & |, )[A-Z][\w'-]{1,30}){0,3},? (?:19|20)\d\d[a-z]?(?:; [^()]{0,160})?)\)"
)
_INSERTED: Final = re.compile(r"\[(?!sic\]|citation needed\])([a-z][a-z' ]{1,20})\]")
_ASIDE: Final = re.compile(r"\s*\([^()\d]{0,200}\)")
_COMMAS: Final = re.compile(r",(?:\s?,)+")
_SHORT_ASIDE: Final = re.compile(r"\s?\((?:e?s|[A-Z][A-Za-z]{0,5}[A-Z][A-Za-z]{0,3})\)")
_SPACED: Final = re.compile(r"\s+([,;:!?%)\]]|\.(?=\s|$))|\s+('s\b|n't\b|'re\b|'ve\b|'ll\b)|([(\[$\u00a3])\s+")
_STAMMERED: Final = re.compile(r"^(\w{3,40}) (?=\1\b)", re.IGNORECASE)
_EMPTY: Final = re.compile(r"\(\s?[\],;:]{1,3}\s?")
_TICKS: Final = re.compile("``\\s?|\\s?''|\"{2,3}")
_PROVIDED: Final = re.compile(
    r"(?:based on|according to|as per|per|from|in) (?:(?:the|these|this|your|all|of|in|given|provided|available"
    r"|information|details|retrieved|search|supplied|above|following) ){0,6}(?:contexts?|documents?|passages?|texts?"
    r"|articles?|sources?|information|results?|excerpts?|snippets?|abstracts?)"
    r"(?: (?:provided|given|above|available|supplied))?[,:] ",
    re.IGNORECASE,
)
_STATED: Final = re.compile(
    r"\b(?:it is (?:stated|mentioned|noted) that|(?:the|this) (?:(?:provided|given) )?"
    r"(?:context|document|passage|text|article|excerpt)s?(?: provided)? (?:also )?(?:states?|mentions?|says?"
    r"|indicates?|notes?|explains?|suggests?|specif(?:y|ies)|advises?) that) ",
    re.IGNORECASE,
)
_DOTTED: Final = re.compile(r"(?:^|\s)(?:[^\W\d_]\.){2,8}$")


def put(text: str, language: str) -> str:
    """A sentence as a nugget: on one line, without markers, citations and openers, and without its final point."""
    if len(text) > _LONGEST:
        return pointless(clean(text))
    bare = clean(_INSERTED.sub(r"\1", _LINK.sub(r"\1", text)))
    if bare:
        bare = _CITED.sub("", _NUMBERED.sub("", bare))
        bare = _EMPTY.sub("(", bare).replace(" ()", "").replace(" ( )", "")
        bare = _SPACED.sub(r"\1\2\3", _TICKS.sub('"', bare))
    twice = _STAMMERED.match(bare)
    if twice:
        bare = bare[0] + bare[twice.end() + 1 :]
    return pointless(opened(bare, language))


_LONGEST: Final = 20_000
"""Characters from which on a sentence is not tidied up beyond what its claims are."""


def without_asides(text: str) -> str:
    """The same without brackets that hold no number. What they say is lost; the rest stays true."""
    if text.count("(") != text.count(")"):
        return text
    return " ".join(_COMMAS.sub(",", _ASIDE.sub("", text)).split())


def without_abbreviations(text: str) -> str:
    """The same without brackets that only give a short form: ``(WHO)``, ``(s)``."""
    return _SHORT_ASIDE.sub("", text)


def opened(text: str, language: str) -> str:
    """The text without discourse openers at its start, its first letter as large as it was."""
    for _ in range(3):
        rest = _rest(text, language)
        found = None if rest else _PROVIDED.match(text) or _STATED.match(text)
        if found:
            rest = text[found.end() :].lstrip()
        if not rest:
            return text
        text = rest[:1].upper() + rest[1:] if text[:1].isupper() else rest
    return text


_JOINING: Final = frozenset({"and", "but", "so", "\u043d\u043e", "\u0438"})
_NOT_JOINING: Final = ("so far", "so that", "so as", "so many", "so much", "so long", "so-", "but for")


def _rest(text: str, language: str) -> str:
    """What follows an opener; empty where none stands there. One word alone opens only before a comma."""
    head = text[:80].translate(_QUOTED).lower()
    best = 0
    for opener in _openers(language):
        if len(opener) > best and head.startswith(opener):
            after = head[len(opener) : len(opener) + 1]
            joins = opener in _JOINING and not head.startswith(_NOT_JOINING)
            if after in {",", ":"} or (after == " " and (joins or opener.endswith((" that", ", что")))):
                best = len(opener)
    return text[best:].lstrip(" ,:") if best else ""


@lru_cache(maxsize=32)
def _openers(language: str) -> tuple[str, ...]:
    known = nugget_lexicon()["openers"]
    return tuple(sorted({opener for code in {language, "en"} for opener in known.get(code, "").split("|") if opener}))


def pointless(text: str) -> str:
    """The text without signs at its end, but for those of an abbreviation or a question."""
    bare = text.strip().rstrip(_ENDS)
    if bare[-2:] in {'."', ".\u201d", ',"'}:
        bare = bare[:-2] + bare[-1]
    point = text[len(bare) : len(bare) + 1] == "."
    return bare + "." if point and _DOTTED.search(bare[-24:] + ".") else bare


def folded(text: str) -> str:
    """What two texts that differ only in case, blanks and final signs have in common."""
    return " ".join(text.translate(_QUOTED).casefold().split()).rstrip(_ENDS)


@dataclass(frozen=True, slots=True)
class Sense:
    """What of a nugget is compared: content stems with their weights, their beginnings, numbers, odd denials."""

    folded: str
    weights: tuple[tuple[str, float], ...]
    weight: float
    stems: frozenset[str]
    heads: frozenset[str]
    numbers: frozenset[str]
    denials: int

    def covers(self, other: Sense) -> bool:
        """Whether this one says all that the other says: word for word and then more, or in other words."""
        if self.folded.startswith(other.folded) and other.stems and self.folded[len(other.folded)] in ",; ":
            return True
        if self.denials != other.denials or not other.numbers <= self.numbers or not other.stems:
            return False
        shared = other.weight - sum(other.apart(self))
        return shared >= HELD * other.weight and other.weight >= LIKE * self.weight

    def apart(self, other: Sense) -> list[float]:
        """Weights of the content words that the other has not, nor one that begins alike."""
        return [w for stem, w in self.weights if stem not in other.stems and stem[:HEAD] not in other.heads]


def sense_of(text: str, language: str) -> Sense:
    """A nugget as it is compared with others of its language."""
    weight = weigher(language)
    tokens = tokens_of(text, language)
    stems = {token.stem: weight(token.stem) for token in tokens if token.kind not in {NEGATION, NUMBER}}
    content = {stem: w for stem, w in stems.items() if w >= CONTENT} or stems
    return Sense(
        folded(text),
        tuple(content.items()),
        math.fsum(content.values()),
        frozenset(content),
        frozenset(stem[:HEAD] for stem in content if len(stem) >= HEAD),
        frozenset(token.stem for token in tokens if token.kind == NUMBER),
        sum(token.kind == NEGATION for token in tokens) % 2,
    )


def alike(one: Sense, other: Sense) -> bool:
    """Whether two nuggets say the same: equal but for form, or nearly the same words with the same numbers.

    Where each has a heavy word that the other lacks, they are two (a prize in physics, a prize in chemistry).
    """
    if one.folded == other.folded:
        return True
    if one.denials != other.denials or one.numbers != other.numbers or not one.stems or not other.stems:
        return False
    mine, theirs = one.apart(other), other.apart(one)
    if min(max(mine, default=0.0), max(theirs, default=0.0)) > LIGHT:
        return False
    shared = one.weight - sum(mine)
    return shared >= SAME * (shared + sum(mine) + sum(theirs))


class Senses:
    """Nuggets that are held already; finds those that say the same without comparing all with all."""

    def __init__(self, language: str, texts: Iterable[str] = ()) -> None:
        self.language = language
        self._folded: set[str] = set()
        self._by_stem: dict[str, list[Sense]] = {}
        for text in texts:
            self.add(sense_of(text, language))

    def add(self, sense: Sense) -> None:
        """Hold one more."""
        self._folded.add(sense.folded)
        for stem in sense.stems:
            self._by_stem.setdefault(stem, []).append(sense)

    def hold(self, sense: Sense) -> bool:
        """Whether one that is held says what this one says."""
        return sense.folded in self._folded or any(
            alike(sense, other) or other.covers(sense) for other in self._near(sense)
        )

    def touch(self, sense: Sense) -> bool:
        """Whether one that is held says what this one says, or this one says hardly more than one that is held."""
        return self.hold(sense) or any(
            sense.covers(other) and sense.numbers == other.numbers for other in self._near(sense)
        )

    def _near(self, sense: Sense) -> list[Sense]:
        """Held nuggets that share a word with this one, by its heaviest words, at most ``COMPARED`` of them."""
        found: dict[int, Sense] = {}
        for stem, _ in sorted(sense.weights, key=lambda pair: (-pair[1], pair[0]))[:WORDS]:
            for other in self._by_stem.get(stem, ())[:COMPARED]:
                found.setdefault(id(other), other)
            if len(found) >= COMPARED:
                break
        return list(found.values())

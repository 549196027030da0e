"""How close a statement is to a question: the share of the question's words that it holds, by their rarity.

It orders nugget banks and makes importance; it depends on nothing but the two texts, so that a list can be put in
order whatever it came from. It is weak: a statement that answers in other words than the question's is not close.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from ragstone.judges.embedded.library import common_language
from ragstone.judges.embedded.model import CONTENT, weigher
from ragstone.judges.embedded.verbs import listed
from ragstone.judges.embedded.words import (
    NAME,
    NEGATION,
    NUMBER,
    Token,
    question_stems,
    stem_of,
    tokens_of,
)
from ragstone.segment import language_of

NUMBER_WEIGHT: Final = 4.0
"""The least that a number of a question weighs."""

ALIKE: Final = 0.65
"""The share of two words' letters that must begin alike for one to count half for the other."""

FLOOR: Final = 0.36
"""The closeness below which a statement is not about the question."""

MOST: Final = 0.5
"""The share of the question's weight that a single shared word must have."""

SHARE: Final = 0.25
"""The share of a question's different words that a statement about it holds, and ..."""

MANY: Final = 3
"""... the most of them that it has to."""

TELLING: Final = 5.0
"""The weight from which on a name of the question is one that a statement about it holds."""

NAMELESS: Final = 0.6
"""The closeness from which on a statement may hold none of the names that the question holds."""

ENOUGH: Final = 24.0
"""The weight of question words beyond which a statement need hold no more to be as close as can be."""

OTHER: Final = 0.25
"""What a word of a name counts where it stands in another name: the Harry of Harry Warnow in Harry Landers."""

TOUCH: Final = 3
"""Characters within which two words of a name follow each other."""

WANTED: Final = 0.2
"""What a number, date or name adds where the question asks for one."""

_NUMBERS: Final = re.compile(
    r"\b(?:how (?:many|much|old|long|far|tall|big|large|often|fast)|when|what (?:year|date|time|percentage|age|number)"
    r"|in which year|population|сколько|когда|в каком году|wann|wie viele?|quand|combien|cuándo|cuánt[oa]s?)\b"
)
_NAMES: Final = re.compile(
    r"\b(?:who|whom|whose|where|which (?:country|city|state|person)|кто|кого|где|wer|wo|qui|où|quién|dónde)\b"
)


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close, in [0, 1]; which of the question's stems are shared, as they are written, heaviest first."""

    value: float
    shared: tuple[str, ...]
    weight: float
    stems: frozenset[str]


class Asked:
    """A question as weighted words.

    The language is that of the texts it is held against: a question is often too short to tell.
    """

    def __init__(self, question: str, texts: Sequence[str] = (), language: str = "") -> None:
        self.language = language or common_language((question, *texts)) or "en"
        weight = weigher(self.language)
        ignored = question_stems(self.language) | _empty(self.language)
        self.weights: dict[str, float] = {}
        self.surfaces: dict[str, str] = {}
        for token in tokens_of(question[:20_000], self.language):
            if token.kind == NEGATION or (token.stem in ignored and token.kind != NUMBER):
                continue
            heavy = max(weight(token.stem), NUMBER_WEIGHT) if token.kind == NUMBER else weight(token.stem)
            if heavy >= CONTENT:
                self.weights.setdefault(token.stem, heavy)
                self.surfaces.setdefault(token.stem, question[token.start : token.end])
        self.total = sum(self.weights.values())
        self._named = frozenset(
            token.stem
            for token in tokens_of(question[:20_000], self.language)
            if token.kind == NAME and token.stem in self.weights and self.weights[token.stem] >= TELLING
        )
        self._names = _names_of(question, self.language, self.weights)
        low = question.lower()
        self._wants = NUMBER if _NUMBERS.search(low) else NAME if _NAMES.search(low) else None
        self._heads: dict[str, list[str]] = {}
        for stem in self.weights:
            if len(stem) >= 5:
                self._heads.setdefault(stem[:4], []).append(stem)

    @classmethod
    def of_each(cls, question: str, texts: Sequence[str]) -> list[Asked]:
        """The question as it is asked of each text, whatever the others are."""
        # Both as one text: a nugget alone is often taken for one of another language.
        languages = [language_of(f"{question} {text}") for text in texts]
        read = {language: cls(question, language=language) for language in set(languages)}
        return [read[language] for language in languages]

    @property
    def blank(self) -> bool:
        """The question has no words to be close to."""
        return not self.weights

    def closeness(self, text: str) -> Closeness:
        """Of one statement."""
        tokens = tokens_of(text, self.language)
        held = {token.stem: self.weights[token.stem] for token in tokens if token.stem in self.weights}
        for token in tokens:
            for stem in self._heads.get(token.stem[:4], ()):
                if stem not in held and _alike(stem, token.stem):
                    held[stem] = self.weights[stem] / 2
        for stem in held:
            if self._another(stem, held, tokens):
                held[stem] *= OTHER
        weight = sum(held.values())
        if not weight:
            return Closeness(0.0, (), 0.0, frozenset())
        value = (1 - WANTED) * min(1.0, weight / min(self.total, ENOUGH)) + WANTED * self._answers(tokens)
        order = sorted(held, key=lambda stem: (-held[stem], stem))
        return Closeness(min(1.0, value), tuple(self.surfaces[stem] for stem in order), weight, frozenset(held))

    def _another(self, stem: str, held: dict[str, float], tokens: list[Token]) -> bool:
        """Whether a word of a longer name stands in the statement only as part of another name."""
        name = self._names.get(stem, frozenset())
        if len(name) < 2 or name <= held.keys():
            return False
        if any(one.startswith("#") and one not in held for one in name):
            return True
        places = [i for i, token in enumerate(tokens) if token.stem == stem]
        return bool(places) and all(
            any(self._foreign(one, other) for one, other in pairwise(tokens[max(0, i - 1) : i + 2])) for i in places
        )

    def _foreign(self, one: Token, other: Token) -> bool:
        """Whether of two words that touch one is a name or number that the question has not."""
        return other.start - one.end < TOUCH and any(
            token.kind in {NAME, NUMBER} and token.stem not in self.weights for token in (one, other)
        )

    def about(self, text: str) -> bool:
        """Whether a statement is close enough to be about the question at all.

        It has to hold two of the question's words, or the better part of a question of one or two.
        """
        found = self.closeness(text)
        needed = min(MANY, max(2, math.ceil(len(self.weights) * SHARE)))
        enough = len(found.shared) >= needed or found.weight >= MOST * self.total
        named = not self._named or bool(self._named & found.stems) or found.value >= NAMELESS
        return enough and named and found.value >= FLOOR

    def _answers(self, tokens: list[Token]) -> float:
        if self._wants is None:
            return 0.5
        return float(any(token.kind == self._wants and token.stem not in self.weights for token in tokens))


def _alike(one: str, other: str) -> bool:
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= ALIKE * max(len(one), len(other))


def _names_of(question: str, language: str, weights: Mapping[str, float]) -> dict[str, frozenset[str]]:
    """For each stem that stands in a name of several words: the stems of that name."""
    found: dict[str, frozenset[str]] = {}
    run: list[Token] = []
    for token in [*tokens_of(question[:20_000], language), None]:
        kinds = {NAME, NUMBER} if run else {NAME}
        if token and token.stem in weights and token.kind in kinds and (not run or token.start - run[-1].end < TOUCH):
            run.append(token)
            continue
        if len(run) > 1:
            stems = frozenset(one.stem for one in run)
            found.update(dict.fromkeys(stems, stems))
        run = [token] if token and token.stem in weights and token.kind == NAME else []
    return found


@lru_cache(maxsize=32)
def _empty(language: str) -> frozenset[str]:
    return frozenset(stem_of(word, language) for word in listed("asking", language))

"""How close a statement is to a question: the share of the question's words that it has, by their rarity.

It selects and orders the nuggets of a bank, and makes importance. It depends on nothing but the two texts. It is weak:
a statement that answers in other words than the question's is not close.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ragstone.judges.embedded.model import CONTENT, weigher
from ragstone.judges.embedded.verbs import listed
from ragstone.judges.embedded.words import NEGATION, NUMBER, question_stems, stem_of, tokens_of
from ragstone.segment import language_of

NUMBER_WEIGHT: Final = 4.0
"""The least that a number of a question weighs."""

ENOUGH: Final = 24.0
"""The weight of question words beyond which a statement need have no more to be as close as can be."""

LONGEST: Final = 20_000
"""Characters of a question that are read."""


class Closeness(NamedTuple):
    """How close, in [0, 1]; the question's words that are shared, as they are written, heaviest first."""

    value: float
    shared: tuple[str, ...]


class QuestionWords:
    """The words that a question asks about, with their weights."""

    def __init__(self, question: str, language: str) -> None:
        self.language = language
        self._written: dict[str, str] = {}
        self._weights: dict[str, float] = {}
        weight = weigher(language)
        empty = question_stems(language) | {stem_of(word, language) for word in listed("asking", language)}
        for token in tokens_of(question[:LONGEST], language):
            number = token.kind == NUMBER
            heavy = max(weight(token.stem), NUMBER_WEIGHT) if number else weight(token.stem)
            if token.kind != NEGATION and heavy >= CONTENT and (number or token.stem not in empty):
                self._weights.setdefault(token.stem, heavy)
                self._written.setdefault(token.stem, question[token.start : token.end])
        self._enough = min(sum(self._weights.values()), ENOUGH)

    @classmethod
    def of_each(cls, question: str, texts: Sequence[str]) -> list[QuestionWords]:
        """The question as it is asked of each text, whatever the others are."""
        # Both as one text: a nugget alone is often taken for one of another language.
        languages = [language_of(f"{question} {text}") for text in texts]
        read = {language: cls(question, language) for language in set(languages)}
        return [read[language] for language in languages]

    def __len__(self) -> int:
        """The number of different words; 0 where there is nothing to be close to."""
        return len(self._weights)

    def closeness(self, text: str) -> Closeness:
        """Of one statement."""
        found = {token.stem for token in tokens_of(text, self.language)} & self._weights.keys()
        order = sorted(found, key=lambda stem: (-self._weights[stem], stem))
        weight = sum(self._weights[stem] for stem in order)
        return Closeness(
            min(1.0, weight / self._enough) if order else 0.0, tuple(self._written[stem] for stem in order)
        )

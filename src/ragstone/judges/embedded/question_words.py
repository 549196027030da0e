"""The words that a question asks about, with their weights, and how close a statement is to them.

Closeness selects and orders the nuggets of a bank, and makes importance. It is weak: a statement that answers in other
words than the question's is not close.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import lru_cache
from heapq import nlargest
from typing import Final, Literal

from ragstone.judges.embedded.model import CONTENT, weigher
from ragstone.judges.embedded.verbs import listed
from ragstone.judges.embedded.words import NEGATION, NUMBER, listed_stems, stem_of, tokens_of

LONGEST: Final = 20_000  # characters of a question that are read
MOST: Final = 200  # the most words of a question that are looked for; of more, the rarest
NUMBER_WEIGHT: Final = 4.0  # the least that a number of a question weighs
ENOUGH: Final = 24.0  # the weight of question words beyond which a statement need have no more to be close


class QuestionWords:
    """The content words of a question, read as a text of some language: their weights, and how they are written.

    ``empty`` is the list of words that say nothing of what is asked about, beside those that ask.
    """

    def __init__(self, question: str, language: str, empty: Literal["asking", "auxiliary"] = "asking") -> None:
        self.language = language
        text, weight = question[:LONGEST], weigher(language)
        ignored = listed_stems("question_words", language) | {
            stem_of(word, language) for word in listed(empty, language)
        }
        weights: dict[str, float] = {}
        self.written: dict[str, str] = {}
        for token in tokens_of(text, language):
            number = token.kind == NUMBER
            heavy = max(weight(token.stem), NUMBER_WEIGHT if number else 0.0)
            if token.kind != NEGATION and heavy >= CONTENT and (number or token.stem not in ignored):
                weights.setdefault(token.stem, heavy)
                self.written.setdefault(token.stem, text[token.start : token.end])
        kept = frozenset(heaviest(weights, weights, MOST))
        self.weights: Mapping[str, float] = {stem: heavy for stem, heavy in weights.items() if stem in kept}
        self.total = math.fsum(self.weights.values()) or 1.0

    def closeness(self, text: str) -> tuple[float, tuple[str, ...]]:
        """How close a statement is, in [0, 1]; the question's words that it shares, heaviest first."""
        found = {token.stem for token in tokens_of(text, self.language)} & self.weights.keys()
        order = heaviest(found, self.weights, len(found))
        value = math.fsum(self.weights[stem] for stem in order) / min(self.total, ENOUGH)
        return min(1.0, value), tuple(self.written[stem] for stem in order)


@lru_cache(maxsize=16)
def question_words(question: str, language: str) -> QuestionWords:
    """The words of a question, kept for the next text that it is asked of."""
    return QuestionWords(question, language)


def heaviest(stems: Collection[str], weights: Mapping[str, float], most: int) -> list[str]:
    """At most so many of some stems, by weight, equal ones by name."""
    return nlargest(most, stems, key=lambda stem: (weights[stem], stem))

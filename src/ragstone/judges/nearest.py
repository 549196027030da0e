"""Find the texts that are most similar to a question: BM25 on the stems of its content words, the same every time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ragstone.judges.embedded.relevance import K1, B, question_words
from ragstone.judges.embedded.words import tokens_of
from ragstone.segment import language_of


def nearest(question: str, texts: Sequence[str], most: int) -> list[int]:
    """The places of at most ``most`` texts, the most similar first; equal ones in their order."""
    language = language_of(f"{question}\n{' '.join(texts)}")
    weights = question_words(question, language).weights
    stems = [[token.stem for token in tokens_of(text, language)] for text in texts]
    usual = sum(map(len, stems)) / max(1, len(stems)) or 1.0

    def score(place: int) -> float:
        norm = K1 * (1 - B + B * len(stems[place]) / usual)
        found = Counter(stem for stem in stems[place] if stem in weights)
        return math.fsum(weights[stem] * count / (count + norm) for stem, count in found.items())

    return sorted(range(len(texts)), key=lambda place: -score(place))[:most]

"""A statement as weighted words, and the windows of sentences that hold the most of them.

A claim costs only the sentences that share a word with it. Nothing depends on the order of the passages.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from ragstone.judges.embedded.library import Analysed, Library, Place
from ragstone.judges.embedded.model import CONTENT
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, WORD, Token, tokens_of

CANDIDATES: Final = 12
"""Sentences around which windows are tried."""


NAMED: Final = 5.0
"""Weight from which a word that begins a sentence with a capital counts as a name."""


def _begins_named(token: Token, text: str, weight: Callable[[str], float]) -> bool:
    """Whether a capital at the start of a sentence is likely to be a name's: the word is rare."""
    return text[token.start].isupper() and weight(token.stem) >= NAMED


class Statement:
    """A claim's words: all in order, and the different content words with their weights."""

    def __init__(self, text: str, library: Library, ignored: frozenset[str] = frozenset()) -> None:
        weight = library.weight
        self.tokens = [
            token._replace(kind=NAME) if token.kind == WORD and _begins_named(token, text, weight) else token
            for token in tokens_of(text, library.language)
        ]
        seen: dict[str, float] = {}
        for token in self.tokens:
            if token.stem not in seen:
                seen[token.stem] = max(weight(token.stem), 4.0) if token.kind == NUMBER else weight(token.stem)
        content = {stem: w for stem, w in seen.items() if w >= CONTENT and stem not in ignored}
        for token in self.tokens:
            if token.kind == NEGATION:
                content.pop(token.stem, None)
        self.functional = len(content) == 0
        self.weights = content or seen
        self.stems = tuple(self.weights)
        self.number = {stem: i for i, stem in enumerate(self.stems)}
        self.w = tuple(self.weights.values())
        self.total = math.fsum(self.w)
        self._shares: dict[int, float] = {0: 0.0}

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Its neighbouring words."""
        return frozenset(pairwise(token.stem for token in self.tokens))

    def alike(self, stems: Sequence[str]) -> int:
        """How many of its neighbouring words are neighbours in a text, too."""
        return len(self.pairs.intersection(pairwise(stems)))

    def share(self, mask: int) -> float:
        """The share of weight of the words in a bit set."""
        known = self._shares.get(mask)
        if known is None:
            held, rest = 0.0, mask
            while rest:
                bit = rest & -rest
                held += self.w[bit.bit_length() - 1]
                rest ^= bit
            known = self._shares[mask] = min(1.0, held / self.total)
        return known


Masks = dict[tuple[int, int], int]


def masks_of(statement: Statement, library: Library) -> tuple[Masks, int]:
    """For each sentence that shares a word with the claim: which words, as bits; and all of them together."""
    masks: Masks = {}
    union = 0
    for i, stem in enumerate(statement.stems):
        bit = 1 << i
        for k, text in enumerate(library.texts):
            hits = text.index.get(stem)
            if hits:
                union |= bit
                for s in hits:
                    masks[k, s] = masks.get((k, s), 0) | bit
    return masks, union


def strongest(statement: Statement, masks: Masks, library: Library) -> Masks:
    """The sentences with the most weight of the claim's words; ties by neighbours and text, never by their place."""
    if len(masks) <= CANDIDATES:
        return masks
    gains = {place: statement.share(mask) for place, mask in masks.items()}
    least = heapq.nlargest(CANDIDATES, gains.values())[-1]
    kept = {place: mask for place, mask in masks.items() if gains[place] > least}
    ties = [place for place in masks if gains[place] == least]
    if len(kept) + len(ties) > CANDIDATES:
        ties.sort(key=lambda place: _order(statement, library.texts[place[0]], place[1]))
        ties = ties[: CANDIDATES - len(kept)]
    kept.update((place, masks[place]) for place in ties)
    return kept


def _order(statement: Statement, text: Analysed, number: int) -> tuple[int, tuple[str, ...], str, int]:
    stems = text.stems[number]
    return -statement.alike(stems), stems, text.text, number


def windows_of(statement: Statement, masks: Masks, library: Library) -> list[tuple[Place, int]]:
    """The best window, and one more if it has words of the claim that the first has not."""
    candidates: dict[Place, int] = {}
    for k, s in strongest(statement, masks, library):
        last = len(library.texts[k].spans) - 1
        for first in range(max(0, s - 2), s + 1):
            for end in range(s, min(last, first + 2) + 1):
                place = Place(k, first, end)
                if place not in candidates:
                    mask = 0
                    for n in range(first, end + 1):
                        mask |= masks.get((k, n), 0)
                    candidates[place] = mask
    shares = {mask: statement.share(mask) for mask in set(candidates.values())}

    def rank(place: Place) -> tuple[int, list[str], str, Place]:
        """Of windows with the same words first the one that puts most of them as the claim does."""
        stems = library.stems(place)
        return -statement.alike(stems), stems, library.text(place), place

    def choose(score: Callable[[Place, int], float]) -> tuple[Place, int] | None:
        top, ties = 0.0, []
        for place, mask in candidates.items():
            value = score(place, mask)
            if value > top:
                top, ties = value, [place]
            elif value == top and top:
                ties.append(place)
        if not ties:
            return None
        return (best := ties[0] if len(ties) == 1 else min(ties, key=rank)), candidates[best]

    best = choose(lambda place, mask: shares[mask] - 0.03 * (place.last - place.first))
    if best is None:
        best = choose(lambda _place, mask: shares[mask])
        if best is None:
            return []
    held = best[1]
    base = shares[held]
    unions = {mask: statement.share(mask | held) - base for mask in shares}
    more = choose(lambda place, mask: unions[mask] - 0.03 * (place.last - place.first + 1))
    return [best] if more is None else [best, more]

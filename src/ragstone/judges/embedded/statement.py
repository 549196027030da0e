"""Split a statement into weighted words and find the windows of sentences that contain most of them.

The time per claim depends only on the sentences that share a word with it. The order of passages has no effect.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from itertools import islice, pairwise
from operator import or_
from typing import Final

from msgspec.structs import replace

from ragstone.judges.embedded.library import Analysed, Library, Stretch
from ragstone.judges.embedded.model import CONTENT
from ragstone.judges.embedded.thesaurus import LANGUAGE, stems_of
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, WORD, tokens_of

CANDIDATES: Final = 12  # maximum sentences around which windows are tried
PROMISING: Final = 24  # sentences with the most weight, from which these are chosen if more than ...
ALL: Final = 128  # ... this many share a word with the claim
NAMED: Final = 5.0  # minimum weight of a capitalised word that counts as a name

_IDEOGRAPHIC: Final = re.compile("[\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff]")
"""Characters of content words; their pairs with hiragana have low weights, but a sentence of these has content."""


class Statement:
    """The words of a claim: all in order, and the distinct content words with their weights."""

    def __init__(self, text: str, library: Library, ignored: frozenset[str] = frozenset()) -> None:
        weight = library.weight
        self.tokens = [*tokens_of(text, library.language)]
        for i, token in enumerate(self.tokens):
            if token.kind == WORD and text[token.start].isupper() and weight(token.stem) >= NAMED:
                self.tokens[i] = replace(token, kind=NAME)
            elif token.stem[:1] == "#" and i and self.tokens[i - 1].stem == "minus":
                self.tokens[i] = replace(token, stem=f"#-{token.stem[1:]}")
        seen: dict[str, float] = {}
        for token in self.tokens:
            if token.stem not in seen:
                seen[token.stem] = max(weight(token.stem), 4.0) if token.kind == NUMBER else weight(token.stem)
        light = ignored | stems_of("weak") if library.language == LANGUAGE else ignored
        content = {stem: w for stem, w in seen.items() if w >= CONTENT and stem not in light}
        for token in self.tokens:
            if token.kind == NEGATION:
                content.pop(token.stem, None)
        self.functional = not content and not any(map(_IDEOGRAPHIC.search, seen))
        self.weights = content or seen
        self.stems = tuple(self.weights)
        self.number = {stem: i for i, stem in enumerate(self.stems)}
        self.w = tuple(self.weights.values())
        self.total = math.fsum(self.w)
        self._shares: dict[int, float] = {0: 0.0}

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of adjacent words."""
        return frozenset(pairwise(token.stem for token in self.tokens))

    def alike(self, stems: Sequence[str]) -> int:
        """Return the number of word pairs that are also adjacent in a text."""
        return len(self.pairs.intersection(pairwise(stems)))

    def share(self, mask: int) -> float:
        """Return the share of the total weight of the words in a bit set."""
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
    """Return the words of the claim in each sentence, and in all of them, as bit sets.

    If many sentences share a word, only the promising ones and their neighbours are listed.
    """
    holders = [library.bits(stem) for stem in statement.stems]
    union = sum(1 << i for i, held in enumerate(holders) if held)
    near = reduce(or_, holders, 0)
    if near.bit_count() > ALL:
        best = promising(statement.w, holders, near)
        near &= best | best << 1 | best << 2 | best >> 1 | best >> 2
    found: dict[int, int] = {}
    for i, held in enumerate(holders):
        for position in _positions(held & near):
            found[position] = found.get(position, 0) | 1 << i
    return {library.sentence(position): mask for position, mask in found.items()}, union


def promising(weights: Sequence[float], holders: Sequence[int], sentences: int) -> int:
    """Return the sentences with the most weight as a bit set; weights are rounded to 1/8, ties limited to ``ALL``.

    ``holders``: the sentences with each word. The weights of all sentences are added at once, as binary numbers whose
    digits are bit sets, so a common word costs no more than a rare one.
    """
    digits: list[int] = []
    for weight, held in zip(weights, holders, strict=True):
        units = round(8 * weight)
        for i in range(units.bit_length()):
            carry, at = held if units >> i & 1 else 0, i
            while carry:
                if at >= len(digits):
                    digits.extend([0] * (at + 1 - len(digits)))
                digits[at], carry = digits[at] ^ carry, digits[at] & carry
                at += 1
    found, left, wanted = 0, sentences, PROMISING
    for digit in reversed(digits):
        more = left & digit
        count = more.bit_count()
        if count > wanted:
            left = more
        else:
            found, left, wanted = found | more, left ^ more, wanted - count
            if not wanted:
                return found
    return reduce(or_, (1 << position for position in islice(_positions(left), ALL)), found)


def _positions(bits: int) -> Iterator[int]:
    digits = bin(bits)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)


def strongest(statement: Statement, masks: Masks, library: Library) -> Masks:
    """Return the sentences with the most weight; ties are broken by adjacent words and text, never by position."""
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
    stems = text.stems(number)
    return -statement.alike(stems), stems, text.text, number


def windows_of(statement: Statement, masks: Masks, library: Library) -> list[tuple[Stretch, int]]:
    """Return the best window, and another one if it has words of the claim that the first lacks."""
    candidates: dict[Stretch, int] = {}
    for k, s in strongest(statement, masks, library):
        last = len(library.texts[k].spans) - 1
        for first in range(max(0, s - 2), s + 1):
            for end in range(s, min(last, first + 2) + 1):
                place = Stretch(k, first, end)
                if place not in candidates:
                    mask = 0
                    for n in range(first, end + 1):
                        mask |= masks.get((k, n), 0)
                    candidates[place] = mask
    shares = {mask: statement.share(mask) for mask in set(candidates.values())}

    def rank(place: Stretch) -> tuple[int, list[str], str, Stretch]:
        """Return the sort key of windows with equal scores: most adjacent word pairs of the claim first."""
        stems = library.stems(place)
        return -statement.alike(stems), stems, library.text(place), place

    def choose(score: Callable[[Stretch, int], float]) -> tuple[Stretch, int] | None:
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

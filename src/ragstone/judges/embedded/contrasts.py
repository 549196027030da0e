"""Words in whose place the evidence has the opposite, or another quantity: rise and fall, all and some."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ragstone.judges.embedded.alignment import (
    FITS,
    Alignment,
    Clash,
    Line,
    around,
    negated,
    word_at,
)
from ragstone.judges.embedded.thesaurus import allies, likes, opposites, slot_lists
from ragstone.judges.embedded.words import (
    NUMBER,
    WORD,
    stem_of,
)


def opposite(aligned: Alignment) -> Clash | None:
    """A word in whose place the evidence has its opposite."""
    own = negated(aligned.tokens, aligned.text)
    stems = {token.stem for token in aligned.tokens}
    for i, token in enumerate(aligned.tokens):
        if token.kind != WORD or _limits(aligned, i):
            continue
        against = opposites(token.stem, aligned.language)
        if not against or against & stems:
            continue
        rival = _best_place(aligned, i, against, own[i])
        if rival is None or rival[0] < FITS or _swapped(aligned, rival[1], i, rival[2]):
            continue
        same = {token.stem} | allies(token.stem, aligned.language) | likes(token.stem, aligned.language).keys()
        mine = _best_place(aligned, i, same, own[i])
        if aligned.carries(rival[1]) and aligned.prefers(i, rival[1:], None if mine is None else mine[1:]):
            _, line, place = rival
            says, has = around(aligned.tokens, aligned.text, i), around(line.tokens, line.text, place)
            return Clash("opposite", says, has, line.passage, line.sentence)
    return None


def _limits(aligned: Alignment, i: int) -> bool:
    """Whether a word is a number's limit ("or more", "at least"), which goes with the number."""
    beside = aligned.tokens[max(0, i - 3) : i + 3]
    word = word_at(aligned.tokens, aligned.text, i)
    return word in slot_lists()["limits"].split() and any(one.kind == NUMBER for one in beside)


def _best_place(aligned: Alignment, i: int, stems: Iterable[str], negation: bool) -> tuple[float, Line, int] | None:
    """Where one of some stems stands in the sentences at the place that corresponds best to a word's."""
    places = [
        (aligned.fit(i, line, p), -line.passage, -line.sentence, -p, line)
        for line in aligned.lines[:4]
        for stem in stems
        if stem in line.places
        for p in line.places[stem]
        if line.negated[p] == negation
    ]
    if not places:
        return None
    fit, _, _, place, line = max(places, key=lambda found: found[:4])
    return fit, line, -place


def _swapped(aligned: Alignment, line: Line, i: int, place: int) -> bool:
    """Whether what stands before a word of the statement stands behind its place in the sentence, and the other way."""

    def beside(order: Iterable[int]) -> int | None:
        for j in order:
            places, _ = aligned.found(j, line)
            if places:
                return min(places, key=lambda p: abs(p - place))
        return None

    left = beside(j for j in reversed(aligned.content) if j < i)
    right = beside(j for j in aligned.content if j > i)
    return left is not None and right is not None and right < place < left


@lru_cache(maxsize=16)
def _ranks(language: str) -> dict[str, tuple[str, int]]:
    return {
        stem_of(word, language): (kind, int(rank))
        for kind, words in slot_lists()["quantities"].items()
        for word, rank in (pair.split("=") for pair in words.split())
    }


def graded(aligned: Alignment) -> Clash | None:
    """All for some, always for sometimes, must for may: before the same word."""
    ranks = _ranks(aligned.language)
    for i, token in enumerate(aligned.tokens):
        mine = ranks.get(token.stem)
        if mine is None:
            continue
        head = next((j for j in aligned.content if i < j <= i + 4 and aligned.tokens[j].stem not in ranks), None)
        best = None if head is None else aligned.best(head)
        if best is None or best[0] < FITS:
            continue
        _, line, place = best
        if not aligned.carries(line):
            continue
        near = [
            (abs(place - p), p, ranks[line.tokens[p].stem])
            for p in range(max(0, place - 5), min(len(line.tokens), place + 2))
            if line.tokens[p].stem in ranks and ranks[line.tokens[p].stem][0] == mine[0]
        ]
        if not near or any(theirs[1] == mine[1] for *_, theirs in near):
            continue
        _, p, theirs = min(near)
        if abs(theirs[1] - mine[1]) >= 2 or (mine[1] == 5 and theirs[1] == 4):
            says, has = around(aligned.tokens, aligned.text, i), around(line.tokens, line.text, p)
            return Clash("quantity", says, has, line.passage, line.sentence)
    return None

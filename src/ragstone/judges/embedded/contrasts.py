"""Words in whose place the evidence has the opposite, or another quantity: rise and fall, all and some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ragstone.judges.embedded.alignment import (
    FITS,
    Alignment,
    Clash,
    Line,
    around,
    whole,
    word_at,
)
from ragstone.judges.embedded.thesaurus import LANGUAGE, allies, likes, opposites, slot_lists, word_set
from ragstone.judges.embedded.words import (
    NEGATION,
    NUMBER,
    WORD,
    Token,
    function_stems,
    stem_of,
)


def opposite(aligned: Alignment) -> Clash | None:
    """A word in whose place the evidence has its opposite."""
    own = aligned.negated
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
        if aligned.speaks_of(i, *rival[1:]) and aligned.prefers(i, rival[1:], None if mine is None else mine[1:]):
            _, line, place = rival
            says, has = around(aligned, i), around(line, place)
            return Clash("opposite", says, has, line.passage, line.sentence)
    return None


def _limits(aligned: Alignment, i: int) -> bool:
    """Whether a word is a number's limit ("or more", "at least"), which goes with the number."""
    beside = aligned.tokens[max(0, i - 3) : i + 3]
    return aligned.words[i] in word_set("limits") and any(one.kind == NUMBER for one in beside)


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
    found: dict[str, tuple[str, int]] = {}
    for kind, words in slot_lists()["quantities"].items():
        for word, rank in (pair.split("=") for pair in words.split()):
            found.setdefault(stem_of(word, language), (kind, int(rank)))
    return found


def graded(aligned: Alignment) -> Clash | None:
    """All for some, always for sometimes, must for may: before the same word."""
    ranks = _ranks(aligned.language)
    for i, token in enumerate(aligned.tokens):
        mine = ranks.get(token.stem)
        if (
            mine is None
            or aligned.text[token.end : token.end + 1] == ","
            or (i and aligned.tokens[i - 1].kind == NEGATION)
        ):
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
            says, has = around(aligned, i), around(line, p)
            return Clash("quantity", says, has, line.passage, line.sentence)
    return None


def compared(aligned: Alignment) -> tuple[Clash | None, bool]:
    """What two things are compared by, where the evidence has them the other way round.

    The flag is true where both the things and the word are turned round: "A is faster than B", "B is slower than A".
    """
    own = _sides(aligned.tokens, aligned.text, aligned.clauses)
    if own is None or any(aligned.negated):
        return None, False
    for line in filter(aligned.carries, aligned.lines[:3]):
        theirs = _sides(line.tokens, line.text, line.clauses)
        if theirs is None or any(line.negated):
            continue
        left, right = own[0] - own[1], own[1] - own[0]
        before, behind = theirs[0] - theirs[1], theirs[1] - theirs[0]
        if not (left & behind and right & before) or left & before or right & behind:
            continue
        if own[2] == theirs[2]:
            return whole("comparison", aligned, line), False
        if theirs[2] in opposites(own[2], aligned.language):
            return None, True
    return None, False


def _sides(
    tokens: Sequence[Token], text: str, numbers: Sequence[int]
) -> tuple[frozenset[str], frozenset[str], str] | None:
    """What stands before and behind "slower than" in its clause, but grammar, and the word that compares."""
    at = next((i for i in range(1, len(tokens) - 1) if word_at(tokens, text, i) == "than"), None)
    if at is None or tokens[at + 1].kind == NUMBER:
        return None
    by = next((i for i in range(at - 1, max(-1, at - 5), -1) if opposites(tokens[i].stem, LANGUAGE)), None)
    if by is None:
        return None
    function = function_stems(LANGUAGE)
    left, right = (
        frozenset(tokens[i].stem for i in span if numbers[i] == numbers[at] and tokens[i].stem not in function)
        for span in (range(by), range(at + 1, len(tokens)))
    )
    return left, right, tokens[by].stem

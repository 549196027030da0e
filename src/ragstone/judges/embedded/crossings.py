"""A statement that takes one half from each of two parallel clauses: "A weighs 5 kg" of "A weighs 3 kg and B 5 kg"."""

from __future__ import annotations

from itertools import combinations
from typing import Final, NamedTuple

from ragstone.judges.embedded.alignment import Alignment, Clash, Line, shortened
from ragstone.judges.embedded.quantities import Quantity, rivals
from ragstone.judges.embedded.thesaurus import word_set
from ragstone.judges.embedded.words import NAME, NUMBER

LONG: Final = 22
"""Words of a sentence above which its clauses are rarely parallel."""

NEARLY: Final = 0.8
"""The share of a statement that must stand in one sentence."""


class Half(NamedTuple):
    """A word of the statement and its only place in a sentence."""

    i: int
    at: int


def crossed(aligned: Alignment) -> Clash | None:
    """Two words of the statement from different clauses, each of which has another one in the first one's place."""
    own = {token.stem for token in aligned.tokens}
    for line in aligned.lines[:2]:
        if not aligned.carries(line, NEARLY) or len(line.tokens) > LONG:
            continue
        quantity = {one.at: one for one in line.quantities}
        for one, other in combinations(_halves(aligned, line), 2):
            here, there = line.clauses[one.at], line.clauses[other.at]
            if here == there or aligned.clauses[one.i] != aligned.clauses[other.i]:
                continue
            first = _instead(aligned, line, one, there, own, quantity)
            second = _instead(aligned, line, other, here, own, quantity)
            if first is not None and second is not None:
                says = aligned.said(aligned.tokens[one.i].start, aligned.tokens[other.i].end)
                low, high = sorted((second, one.at))
                has = shortened(line.text[line.tokens[low].start : line.tokens[high].end])
                return Clash("crossing", says, has, line.passage, line.sentence)
    return None


def _halves(aligned: Alignment, line: Line) -> list[Half]:
    found = []
    limits = word_set("limits")
    for i, token in enumerate(aligned.tokens):
        places = line.places.get(token.stem, ())
        if (
            len(places) == 1
            and token.stem not in limits
            and (i in aligned.content or token.kind in {NUMBER, NAME} or _initial(aligned, i))
        ):
            found.append(Half(i, places[0]))
    return found


def _initial(aligned: Alignment, i: int) -> bool:
    token = aligned.tokens[i]
    return i > 0 and token.end - token.start == 1 and aligned.text[token.start].isupper()


def _instead(
    aligned: Alignment, line: Line, half: Half, clause: int, own: set[str], quantity: dict[int, Quantity]
) -> int | None:
    """A word of another clause, not of the statement, that stands there as the half does in its own."""
    mine = quantity.get(half.at)
    for p, token in enumerate(line.tokens):
        if line.clauses[p] != clause or token.stem in own:
            continue
        if mine is not None:
            theirs = quantity.get(p)
            if theirs is not None and rivals(mine, theirs):
                return p
        elif (
            p not in quantity
            and (aligned.library.weight(token.stem) >= 2 or token.kind == NAME)
            and _alike(line, half.at, p)
        ):
            return p
    return None


def _alike(line: Line, one: int, other: int) -> bool:
    """Whether two words have the same neighbour on one side; all numbers are one, and so are all beginnings."""
    return any(_neighbour(line, one + step) == _neighbour(line, other + step) != "" for step in (-1, 1))


def _neighbour(line: Line, at: int) -> str:
    if not 0 <= at < len(line.tokens):
        return "^" if at < 0 else ""
    return "#" if line.tokens[at].kind == NUMBER else line.tokens[at].stem

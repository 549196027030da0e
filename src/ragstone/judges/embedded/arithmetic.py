"""Compute quantities from those of the evidence: differences, shares, totals, multiples.

Few operations are tried, because among many numbers any value is the result of some operation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Final

from ragstone.judges.embedded.parsed_statement import ParsedStatement
from ragstone.judges.embedded.quantities import DAY, HEDGED, OPERANDS, TIMES, Quantity, money_dimensions
from ragstone.judges.embedded.thesaurus import LANGUAGE, opposites
from ragstone.judges.embedded.words import stem_of

NIGHT: Final = 24 * 60  # minutes of a day, for times on two days: "from 22:40 to 01:10"
FACTORS: Final = {
    "half": 0.5,
    "halved": 0.5,
    "twice": 2.0,
    "double": 2.0,
    "doubled": 2.0,
    "thrice": 3.0,
    "tripled": 3.0,
}
_NOT_SCALED: Final = frozenset((TIMES, "percent", "points", "year", "decade", "date", "rank", "clock"))
_OF_THEM: Final = frozenset(("them", "which", "whom"))


def stepped(claim: Quantity, line: ParsedStatement, before: Sequence[Quantity], *, earlier: bool) -> bool:
    """Return whether a quantity follows from a sentence that names the operation.

    For example "half price", "twice as many", "10 ml four times a day", "two terms of five years each", "improved by
    12 cm", or "26, three of them goalkeepers". ``before`` are the quantities of the preceding sentence, which "twice as
    many" may refer to; ``earlier``: whether the claim is about a value before a change.
    """
    if claim.dimension in _NOT_SCALED:
        return False
    here, known = (
        [one for one in some if one.dimension == claim.dimension]
        for some in (line.quantities, [*before, *line.quantities])
    )
    made = [one.value * FACTORS[word] for word in line.words if word in FACTORS for one in known]
    made += [one.value * factor for factor in _factors(line) for one in here]
    for step, signs in _steps(line):
        made += [one.value + s * step.value for one in here if one is not step for s in ((1, -1) if earlier else signs)]
    made += [one.value - part.value for part in _parts(line) for one in here if one is not part]
    return any(math.isclose(value, claim.value, rel_tol=HEDGED if claim.hedged else 1e-6) for value in made)


def _factors(line: ParsedStatement) -> Iterator[float]:
    """Yield the numbers of times: "four times a day", "two terms of five years each"."""
    each = "each" in line.words
    for one in line.quantities:
        if one.written > 1 and (one.dimension == TIMES or (each and not one.dimension and one.unit)):
            yield one.written


def _steps(line: ParsedStatement) -> Iterator[tuple[Quantity, Sequence[int]]]:
    """Yield the amounts by which something changed, with the sign of the change: "rose by 12 cm"."""
    for one in line.quantities:
        if line.word(one.at - 1) == "by":
            verb = line.tokens[one.at - 2].stem if one.at > 1 else ""
            falls, rises = (verb in opposites(stem_of(word, LANGUAGE), LANGUAGE) for word in ("increase", "decrease"))
            yield one, (1,) * (not falls) + (-1,) * (not rises)


def _parts(line: ParsedStatement) -> list[Quantity]:
    """Return the counts of a part: "three of them"."""
    return [one for one in line.quantities if line.word(one.at + 1) == "of" and line.word(one.at + 2) in _OF_THEM]


def computed(claim: Quantity, evidence: Sequence[Quantity], *, adding: bool) -> bool:
    """Return whether a quantity follows from two others: a difference of times or a share; a sum if ``adding``.

    Few operations are tried. Sums and differences of counts require a word in the claim that says so, because among
    many numbers any value is the sum of some.
    """
    known = list(evidence)[:OPERANDS]
    want, slack = claim.value, HEDGED if claim.hedged else 0.006
    for one, other in combinations(known, 2):
        a, b = one.value, other.value
        if one.dimension == other.dimension == "clock" and claim.dimension == "time":
            if any(math.isclose(apart * 60, want, rel_tol=1e-6) for apart in (abs(a - b), NIGHT - abs(a - b))):
                return True
        elif claim.dimension == "percent" and one.dimension == other.dimension != "year" and a and b:
            shares = (abs(a - b) / abs(a), abs(a - b) / abs(b), a / b, b / a)
            if any(math.isclose(100 * share, want, rel_tol=slack) for share in shares):
                return True
        if adding and one.dimension == other.dimension and claim.dimension in ("", one.dimension):
            if any(math.isclose(made, want, rel_tol=slack) for made in (a + b, abs(a - b))):
                return True
        elif one.dimension == other.dimension == "year" and abs(a - b) == claim.written:
            return claim.unit.startswith("year")
    return False


def shifted(claim: Quantity, sentence: Sequence[Quantity], *, shares: bool) -> bool:
    """Return whether a quantity is a time or date plus a duration or, with ``shares``, a percentage of an amount."""
    clock, money = claim.dimension == "clock", shares and claim.dimension in money_dimensions()
    for one, length in permutations(sentence[:OPERANDS], 2) if clock or money or claim.dimension == "date" else ():
        if money and length.dimension == "percent" and one.dimension == claim.dimension:
            part, slack = one.value * length.value / 100, HEDGED if claim.hedged else 1e-6
            if math.isclose(part, claim.value, rel_tol=slack):
                return True
        if length.dimension == "time" and (one.dimension, one.unit) == (claim.dimension, claim.unit):
            step = length.value / (60 if clock else DAY)
            if one.value + step == claim.value:
                return True
    return False


def multiplied(own: Sequence[Quantity], evidence: Sequence[Quantity]) -> set[Quantity]:
    """Return the quantities of a claim that are a rate times a period: "14 days in 7 weeks", evidence: "2 a week"."""
    found: set[Quantity] = set()
    rates = [(rate, rate.per) for rate in evidence if isinstance(rate.per, float)]
    for rate, per in rates[:OPERANDS]:
        for total, span in permutations(own[:OPERANDS], 2):
            same = total.dimension == rate.dimension and (total.dimension or total.unit[:4] == rate.unit[:4])
            if same and span.dimension == "time" and not total.per and total.written != rate.written:
                made = rate.value * span.value / per
                if math.isclose(total.value, made, rel_tol=HEDGED if total.hedged else 0.006):
                    found |= {total, span}
    return found

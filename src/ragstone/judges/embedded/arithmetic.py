"""Compute quantities from those of the evidence, and check comparisons ("A is larger than B") against them.

Few operations are tried, because among many numbers any value is the result of some operation.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, permutations
from typing import Final

from ragstone.judges.embedded.alignment import FITS, LINES, SPOKEN, Alignment, Clash, Line
from ragstone.judges.embedded.parsed_statement import ParsedStatement
from ragstone.judges.embedded.quantities import DAY, HEDGED, MONTH, OPERANDS, TIMES, Quantity, agree, money_dimensions
from ragstone.judges.embedded.thesaurus import LANGUAGE, likes, opposites, word_set
from ragstone.judges.embedded.words import NAME, NUMBER, function_stems, stem_of
from ragstone.segment import shortened

NIGHT: Final = 24 * 60  # minutes of a day, for times on two days: "from 22:40 to 01:10"
FACTORS: dict[str, float] = dict.fromkeys(("half", "halved"), 0.5) | dict.fromkeys(("twice", "double", "doubled"), 2.0)
FACTORS |= {"thrice": 3.0, "tripled": 3.0}
_ADDING: Final = re.compile(
    r"\b(?:total\w*|together|altogether|combined|sum|in all|overall|other than|the rest|differen\w+"
    r"|lost|gained|left|leaving|surplus|deficit|come to|(?:in|de)crease[sd]? (?:of|by)"
    r"|(?:rise|rose|fell|fall|drop\w*|grew|gap|margin) (?:of|by))\b",
    re.IGNORECASE,
)
_SHARE: Final = re.compile(r"\b(?:share|portion|contribut\w+|amounts? to|comes? to|works out|equals?)\b", re.IGNORECASE)
_BY: Final = re.compile(r"\bby (?:\w+ ){0,2}$")
_NEXT: Final = re.compile(r"\s(\w+)")
_NOT_SCALED: Final = frozenset((TIMES, "percent", "points", "year", "decade", "date", "rank", "clock"))
_OF_THEM: Final = frozenset(("them", "which", "whom"))
REACH: Final = 5  # words before "than" where a number says how much more
FAR: Final = 12  # ... where the word that compares is: "more likely to find work within six months than"
_NO_DEGREES: Final = frozenset(("other", "rather", "under", "over", "after", "never", "ever", "whether", "either"))
_TIMES: Final = frozenset(("year", "date", "clock"))
_AGE: Final = frozenset(("older", "earlier", "younger", "later", "newer"))
_RAPID: Final = frozenset(("often", "frequent", "frequently", "quick", "quickly", "efficient"))
_MONEY: Final = frozenset(("cheaper", "dearer", "costlier", "pricier"))


def derived(aligned: Alignment, one: Quantity, own: Sequence[Quantity], every: Sequence[tuple[Line, Quantity]]) -> bool:
    """Return whether a number of a statement, whose numbers are ``own``, can be computed from those of the evidence."""
    operands, text = _operands(aligned, one, [theirs for _, theirs in every], own), aligned.text
    behind, degrees = _NEXT.match(text, one.end), word_set("larger") | word_set("smaller") | _AGE
    adding = one.dimension != "date" and bool(
        _ADDING.search(text) or _BY.search(text[: one.start]) or (behind and behind[1].lower() in degrees)  # "longer"
    )
    shares = _SHARE.search(text) is not None
    lines = dict.fromkeys(line for line, _ in every)
    earlier = not word_set("earlier").isdisjoint(aligned.words)
    before = {
        line: aligned.line(line.passage, line.sentence - 1).quantities if line.sentence else ()
        for line in (*lines, *aligned.lines)
    }
    made = computed(one, operands, adding=adding, changing=adding or changes(aligned.stems))
    made = (
        made
        or any(shifted(one, line.quantities, shares=shares) for line in lines)
        or one in multiplied(own, operands, lines)
    )
    return made or any(stepped(one, *both, earlier=earlier) for both in before.items())


def _operands(aligned: Alignment, one: Quantity, known: list[Quantity], own: Sequence[Quantity]) -> list[Quantity]:
    """Return the possible operands: ``known``, the statement's quantities that agree with them, and times of day."""
    if one.dimension == "time":
        lines = dict.fromkeys(line for stem in aligned.library.times[: 2 * LINES] for line in aligned.having(stem))
        known = [theirs for line in lines for theirs in line.quantities if theirs.dimension == "clock"] + known
    known = [theirs for theirs in known if theirs.dimension != MONTH]
    return [*known, *(mine for mine in own if any(agree(mine, theirs) for theirs in known))]


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


def computed(claim: Quantity, evidence: Sequence[Quantity], *, adding: bool, changing: bool) -> bool:
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
            shares = (abs(a - b) / abs(a), abs(a - b) / abs(b)) if changing else (a / b, b / a)
            if any(math.isclose(100 * share, want, rel_tol=slack) for share in shares):
                return True
        if adding and one.dimension == other.dimension and claim.dimension in ("", one.dimension):
            exact = HEDGED if claim.hedged else 1e-6
            if any(math.isclose(made, want, rel_tol=exact) for made in (a + b, abs(a - b))):
                return True
        elif one.dimension == other.dimension == "year" and abs(a - b) == claim.written:
            return claim.unit.startswith("year")
    return False


def computable(one: Quantity, other: Quantity, evidence: Sequence[Quantity]) -> bool:
    """Return whether a quantity is another one times a count of the evidence, so that it may be right."""
    counts = (count.written for count in evidence if not count.dimension and count.unit and count.written > 1)
    return one.dimension == other.dimension and any(math.isclose(other.value * count, one.value) for count in counts)


def changes(stems: Sequence[str]) -> bool:
    """Return whether English words speak of a rise or a fall."""
    return not (opposites("increas", LANGUAGE) | opposites("decreas", LANGUAGE)).isdisjoint(stems)


def shifted(claim: Quantity, sentence: Sequence[Quantity], *, shares: bool) -> bool:
    """Return whether a quantity is a time or date plus a duration or, with ``shares``, a percentage of an amount."""
    clock, money = claim.dimension == "clock", shares and claim.dimension in money_dimensions()
    moved = clock or claim.dimension in ("date", "rank")
    for one, length in permutations(sentence[:OPERANDS], 2) if moved or money else ():
        if money and length.dimension == "percent" and one.dimension == claim.dimension:
            part, slack = one.value * length.value / 100, HEDGED if claim.hedged else 1e-6
            if math.isclose(part, claim.value, rel_tol=slack):
                return True
        if length.dimension == "time" and (one.dimension, one.unit) == (claim.dimension, claim.unit):
            ranked = claim.dimension == "rank"  # "the 72nd minute", evidence: "the 67th minute ... five minutes later"
            step = length.written if ranked else length.value / (60 if clock else DAY)
            if one.value + step == claim.value and not (ranked and step == 1):
                return True
    return False


def multiplied(
    own: Sequence[Quantity], evidence: Sequence[Quantity], lines: Collection[ParsedStatement]
) -> set[Quantity]:
    """Return the quantities of a claim that are a rate times a period, or a price times a count.

    "14 days in 7 weeks", evidence: "2 a week"; "three nights cost $36", evidence: "$12 per night".
    """
    found: set[Quantity] = set()
    for total, span in permutations(own[:OPERANDS], 2):
        for one in evidence[:OPERANDS]:
            same = total.dimension == one.dimension and (total.dimension or total.unit[:4] == one.unit[:4])
            if not same or total.per or total.written == one.written:
                continue
            if isinstance(one.per, float) and span.dimension == "time":
                made = one.value * span.value / one.per
                if math.isclose(total.value, made, rel_tol=HEDGED if total.hedged else 0.006):
                    found |= {total, span}
        counted = total.dimension in money_dimensions() and not total.per and span.unit and span.written > 1
        if counted and _priced(total, span, lines):
            found |= {total, span}
    return found


def _priced(total: Quantity, span: Quantity, lines: Collection[ParsedStatement]) -> bool:
    """Return whether an amount is a price times a count of what its sentence names, and no sentence prices that count.

    A period counts only if there is a single price.
    """
    every = [(line, one) for line in lines for one in line.quantities]
    prices = [(line, one) for line, one in every if one.dimension == total.dimension]
    priced = {line for line, _ in prices}
    if any(line in priced and agree(span, one) and one.unit[:4] == span.unit[:4] for line, one in every):
        return False  # "a card for ten lessons costs 300"
    if span.dimension == "time":
        prices = prices if len({one.value for _, one in prices}) == 1 else []
    elif not span.dimension:
        prices = [(line, one) for line, one in prices if any(word[:4] == span.unit[:4] for word in line.words)]
    else:
        return False
    slack = HEDGED if total.hedged else 1e-6
    return any(math.isclose(total.value, one.value * span.written, rel_tol=slack) for _, one in prices)


# ---- comparisons


def measured(aligned: Alignment) -> Clash | bool:
    """Compare the values that passages give for both sides: True if the comparison is right, False if unknown.

    One passage must have exactly one value of a kind for each side, or two passages one side each (`_tables`). The
    statement must be a single clause.
    """
    sides = _sides(aligned) if aligned.language == LANGUAGE and not any((*aligned.clauses, *aligned.negated)) else None
    if sides is None:
        return False
    at = aligned.words.index("than")
    by = next(i for i in range(at - 1, -1, -1) if aligned.tokens[i].stem == sides[2])
    word = aligned.words[by]
    sign = (word in word_set("larger")) - (word in word_set("smaller"))  # 0: "faster" may be more or less
    named = {last + 1 for _, last in aligned.names}  # "the Kestrel 14"
    if any(at - REACH < q.at <= at + 1 and q.dimension not in _TIMES and q.at not in named for q in aligned.quantities):
        return False  # "20% more than", "more than half"
    first, second = sides[0] - sides[1], sides[1] - sides[0]
    opposed = [frozenset(s for s in a if opposites(s, LANGUAGE) & b) for a, b in ((first, second), (second, first))]
    left, right = opposed if all(opposed) else _told_apart(aligned, first & {*aligned.stems[:by]}, second)
    behind = aligned.words[by + 1]  # "more *students* than"
    units = {one.unit for line in aligned.lines for one in line.quantities}
    for values in _tables(aligned, left, right, by) if sign else ():
        both = [(mine, theirs) for (mine,), (theirs,) in values if _fits(mine[1].dimension, word)]
        pairs = [held for held in both if behind not in units or behind in (held[0][1].unit, held[1][1].unit)]
        if len(pairs) != 1:
            continue
        (line, one), (_, other) = pairs[0]
        sign *= -1 if one.dimension == "year" and word in {"older", "younger"} else 1
        if one.value == other.value or (one.dimension == "time" and behind in _RAPID):
            return False  # "runs less often", evidence: "every 15 minutes"
        if (one.value - other.value) * sign > 0:
            aligned.agreed.add(by)
            return True
        joint = " and " if pairs[0][0][0].passage == pairs[0][1][0].passage else ", another passage "
        said = joint.join(shortened(side.text[value.start : value.end]) for side, value in pairs[0])
        says = aligned.quote(by, max(aligned.inside(at)))
        return line.clash("comparison", says, said)._replace(same=True)
    return False


def _tables(
    aligned: Alignment, left: frozenset[str], right: frozenset[str], by: int
) -> Iterator[list[tuple[Held, Held]]]:
    """Yield the values of both sides by dimension if each has one: in each passage, then in passages on one side each.

    Of several values in a passage on one side, that which corresponds best to the word of comparison counts.
    """
    passages = dict.fromkeys(line.passage for line in aligned.lines)
    for passage in passages:
        lines = sorted((line for line in aligned.lines if line.passage == passage), key=lambda line: line.sentence)
        values = (
            tuple(_counting(one, aligned.words[by + 1]) for one in held)
            for held in _values(lines, left, right).values()
        )
        yield [(mine, theirs) for mine, theirs in values if len(mine) == len(theirs) == 1]
    indices = {passage: aligned.library.texts[passage].index for passage in passages}
    sides = [{stem for stem in side if not all(stem in index for index in indices.values())} for side in (left, right)]
    best: dict[int, tuple[float, Line, Quantity]] = {}
    for line in aligned.lines:
        held = [not side.isdisjoint(indices[line.passage]) for side in sides]
        named = {last + 1 for _, last in line.names}
        plain = (one for one in line.quantities if one.at not in named and not (one.bound or _is_step(line, one)))
        for one in plain if sum(held) == 1 else ():
            fit = aligned.fit(by, line, one.at)
            if fit > best.get(held.index(True), (FITS,))[0] and _fits(one.dimension, aligned.words[by]):
                best[held.index(True)] = fit, line, one
    if len(best) == 2 and best[0][2].dimension == best[1][2].dimension and best[0][2].unit[:4] == best[1][2].unit[:4]:
        yield [([best[0][1:]], [best[1][1:]])]


def _counting(held: Held, unit: str) -> Held:
    """Return the values that count what a comparison counts ("more *visitors* than"), if there are any."""
    counts = any(one.unit == unit for _, one in held)
    return [(line, one) for line, one in held if not counts or one.unit == unit]


def _is_step(line: ParsedStatement, one: Quantity) -> bool:
    """Return whether a quantity is a difference: "250 metres lower than"."""
    return line.word(one.last + 2) == "than"


def _told_apart(aligned: Alignment, *sides: frozenset[str]) -> list[frozenset[str]]:
    """Return the stems that tell the sides of a comparison apart: their names, else their numbers, else all words."""
    for kind in (NAME, NUMBER):
        of_kind = {token.stem for token in aligned.tokens if token.kind == kind}
        if all(side & of_kind for side in sides):
            return [side & of_kind for side in sides]
    return [*sides]


def _fits(kind: str, word: str) -> bool:
    """Return whether values of a dimension can be compared by a word: years by "older", money by "cheaper"."""
    if word in _AGE:
        return kind in _TIMES or kind == "time"
    return kind in money_dimensions() if word in _MONEY else kind not in _TIMES


Held = list[tuple[Line, Quantity]]


def _values(lines: Sequence[Line], left: frozenset[str], right: frozenset[str]) -> dict[str, tuple[Held, Held]]:
    """Return the quantities of both sides, by dimension.

    A quantity belongs to the side that was mentioned last, if it is the first of its kind since; in a sentence that
    begins with one, to the next side. One without a unit has that of the quantity before: "330 km and 295".
    """
    found: dict[str, tuple[Held, Held]] = defaultdict(lambda: ([], []))
    side, at, taken = -1, (-1, -1), set[tuple[tuple[int, int], str]]()
    for n, line in enumerate(lines):
        mentions = {i: int(token.stem in right) for i, token in enumerate(line.tokens) if token.stem in left | right}
        values = [one for one in line.quantities if one.at not in mentions and not _is_step(line, one)]
        first = next((one.at for one in values if one.dimension not in _TIMES), len(line.tokens))
        before = not mentions or min(mentions) < first
        last: Quantity | None = None
        for value in values:
            near = [i for i in mentions if (i < value.at) == before]
            if near:
                at = n, max(near) if before else min(near)
                side = mentions[at[1]]
            elif not before:
                side = -1
            one = value
            if last is not None and not (one.dimension or one.unit) and last.written:
                one = one._replace(dimension=last.dimension, value=one.written * last.value / last.written)
            last = one
            if side >= 0 and (at, one.dimension) not in taken:
                taken.add((at, one.dimension))
                found[one.dimension][side].append((line, one))
    return found


def compared(aligned: Alignment) -> Clash | bool | None:
    """Find a comparison that the evidence has reversed.

    Returns True if both the things and the word are reversed: "A is faster than B", "B is slower than A".
    """
    own = _sides(aligned)
    if own is None:
        return _invented(aligned)
    for line in aligned.carriers(3):
        theirs = _sides(line)
        if theirs is None or any(aligned.negated) or any(line.negated):
            continue
        if line.lends == SPOKEN:  # "It stands lower than the other one"
            theirs = theirs[0] | line.before, *theirs[1:]
        left, right = own[0] - own[1] - theirs[0], own[1] - own[0] - theirs[1]
        if not (left & (theirs[1] - theirs[0]) and right & (theirs[0] - theirs[1])):
            continue
        if own[2] == theirs[2]:
            return aligned.whole("comparison", line)
        if theirs[2] in opposites(own[2], aligned.language):
            return True
    return _invented(aligned)


def _invented(aligned: Alignment) -> Clash | None:
    """Find "faster than Ostra" where passages have the name but neither "fast" nor another comparison."""
    at = aligned.words.index("than") if "than" in aligned.words[:-1] and aligned.language == LANGUAGE else 0
    degrees = (i for i in range(at - 1, max(-1, at - 4), -1) if aligned.words[i].endswith("er"))
    by = next((i for i in degrees if aligned.words[i] not in _NO_DEGREES), None) if at else None
    if by is None or aligned.tokens[at + 1].kind != NAME or not aligned.is_known(aligned.stems[at + 1]):
        return None
    spoken = {aligned.stems[by], stem_of(aligned.words[by].removesuffix("er"), LANGUAGE)}
    near = spoken.union(*((*likes(stem, LANGUAGE), *opposites(stem, LANGUAGE)) for stem in spoken))
    if any(not near.isdisjoint(line.places) or "than" in line.words for line in aligned.lines):
        return None
    if any(aligned.clauses) and any(line.quantities for line in aligned.lines[:2]):
        return None  # values may say so
    end = next(last for first, last in aligned.names if first <= at + 1 <= last)
    return Clash("comparison", aligned.quote(by, end))


def _sides(side: ParsedStatement) -> tuple[frozenset[str], frozenset[str], str] | None:
    at = side.words.index("than") if "than" in side.words[:-1] else 0
    near = [i for i in range(at - 1, max(-1, at - FAR), -1) if opposites(side.tokens[i].stem, LANGUAGE)]
    by = next((i for i in near if side.words[i].endswith(("er", "ore", "ess", "orse"))), near[0] if near else None)
    if by is None or side.tokens[at + 1].kind == NUMBER or side.words[at + 1] == "half":
        return None
    light = function_stems(LANGUAGE) | word_set("prepositions")
    stems = {i: side.tokens[i].stem for i in side.inside(at) if side.tokens[i].stem not in light}
    left = frozenset(stem for i, stem in stems.items() if i < at and i != by)
    return left, frozenset(stem for i, stem in stems.items() if i > at), side.tokens[by].stem

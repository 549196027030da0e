"""Facts of a statement that its evidence puts otherwise: a number, date, name, polarity, direction, quantity or role.

A number, a name or a negation is not a matter of probability. Each is a slot that must be filled alike at the
corresponding place of the evidence: the place where the statement's other words stand. A slot that is filled
otherwise, or with a value that no passage has, is a ``Clash`` that names both values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Final

from ragstone.judges.embedded.alignment import (
    FITS,
    LINES,
    MOSTLY,
    Alignment,
    Clash,
    Line,
    is_known,
    shortened,
)
from ragstone.judges.embedded.contrasts import compared, graded, opposite
from ragstone.judges.embedded.crossings import NEARLY, crossed
from ragstone.judges.embedded.denials import doubted, exception, forbidden, polarity
from ragstone.judges.embedded.names import names, roles
from ragstone.judges.embedded.quantities import PRICE, Quantity, agree, computed, rivals
from ragstone.judges.embedded.thesaurus import LANGUAGE, verbal, word_set
from ragstone.judges.embedded.words import NAME, NUMBER, function_stems, stem_of

LIKELY: Final = 0.6
"""How well, of the best place, another must fit for its value to be named where it is closer to the statement's."""


def clash(aligned: Alignment) -> Clash | None:
    """The first slot that the evidence fills otherwise, numbers before names before the rest.

    Of a number and a name that no passage has, both are named.
    """
    found = _clash(aligned) if aligned.lines else None
    if found is None or not found.has:
        return found
    line = aligned.line(found.passage, found.sentence)
    other = {one.at for one in aligned.quantities if not aligned.found(one.at, line)[0]}
    wanted = aligned.total - sum(aligned.weights.get(aligned.tokens[i].stem, 0.0) for i in other)
    share = MOSTLY if found.kind in {"number", "limit", "name"} else NEARLY
    return found._replace(same=aligned.weight_in(line) >= share * wanted)


def _clash(aligned: Alignment) -> Clash | None:
    number, name = _numbers(aligned), None
    if number is None or not number.has:
        name = names(aligned)
    if number is not None and name is not None and not name.has:
        return number._replace(says=shortened(f"{name.says}, {number.says}"))
    if number is not None or name is not None:
        return number or name
    for check in (doubted, _denied, graded, roles, crossed, _addition):
        found = check(aligned)
        if found is not None:
            return found
    return None


def _denied(aligned: Alignment) -> Clash | None:
    """What is denied, excepted, forbidden, or compared or put the other way round, on one side only."""
    for both in (exception, compared):
        found, balanced = both(aligned)
        if found is not None or balanced:
            return found
    return polarity(aligned) or forbidden(aligned) or opposite(aligned)


_ADDING: Final = re.compile(
    r"\b(?:total\w*|together|altogether|combined|sum|in all|overall|differen\w+|(?:in|de)crease[sd]? (?:of|by)"
    r"|(?:rise|rose|fell|fall|drop\w*|grew|gap|margin) (?:of|by))\b",
    re.IGNORECASE,
)


_MARKER: Final = re.compile(r"\b\d{1,2}[.)](?:\s+(?=[^\W\d_a-z])|$)")
"""The number of a list item, at the start of a statement or left over in it."""


def _numbers(aligned: Alignment) -> Clash | None:
    own = [one for one in aligned.quantities if aligned.tokens[one.at].stem not in aligned.asked]
    for one in own:
        if _marks_item(aligned.text, one):
            continue
        found = _number(aligned, one, own)
        if found is not None:
            return found
    return None


def _marks_item(text: str, one: Quantity) -> bool:
    """Whether a number is that of a list item, or the end of a name: "Tetraspanin-3"."""
    if one.start > 1 and text[one.start - 1] == "-" and text[one.start - 2].isalpha():
        return True
    found = None if one.dimension else _MARKER.match(text, one.start)
    if found is None:
        return False
    before = text[: one.start].rstrip()
    if not before or before[-1] in ".!?:\"'\u201d" or found.end() < len(text) or len(_MARKER.findall(text)) > 1:
        return True
    # "Open the list 2.": the marker of the item behind; "is 2." and "of 2." say a number.
    last = before.rpartition(" ")[2].lower()
    return last.isalpha() and stem_of(last, LANGUAGE) not in function_stems(LANGUAGE)


def _number(aligned: Alignment, one: Quantity, own: Sequence[Quantity]) -> Clash | None:
    i = one.at
    spelled = aligned.tokens[i].kind != NUMBER
    lines = list(aligned.lines)
    if not spelled:
        lines = _lines_with(aligned, _written(aligned, one))
    last = max(i, one.last)
    dated = one.dimension == "date" and last + 1 < len(aligned.tokens) and aligned.tokens[last + 1].kind == NUMBER
    itself = frozenset(range(min(i, one.last), last + 1 + dated))
    same: list[tuple[float, Line, Quantity]] = []
    other: list[tuple[float, Line, Quantity]] = []
    for line in lines:
        for theirs in line.quantities:
            if agree(one, theirs):
                same.append((aligned.fit(i, line, theirs.at, itself), line, theirs))
            elif rivals(one, theirs) and not any(agree(mine, theirs) for mine in own):
                other.append((aligned.fit(i, line, theirs.at, itself), line, theirs))
    best = max(same, key=lambda pair: pair[0], default=None)
    rival = max(other, key=lambda pair: pair[0], default=None)
    says = aligned.said(one.start, one.end)
    if best is not None and not spelled:
        aligned.agreed.update(range(min(i, one.last), max(i, one.last) + 1))
    if best is not None and best[2].dimension == "clock" != one.dimension:
        return None
    if best is None:
        twice = aligned.text[one.start : one.end].lower() in {"twice", "thrice"}
        if (spelled and (rival is None or one.hedged)) or (twice and (rival is None or rival[2].unit != "times")):
            return None
        if one.dimension == PRICE:
            return None
        # An equal number with another unit, or one in its place.
        if computed(one, _operands(aligned, own), adding=bool(_ADDING.search(aligned.text))):
            aligned.agreed.update(itself)
            return None
        if i and not one.dimension and aligned.tokens[i - 1].kind == NAME and not spelled:
            return Clash("number", aligned.said(aligned.tokens[i - 1].start, one.end), "", -1, -1)  # "Rule 19"
        swapped = [
            (aligned.fit(i, line, theirs.at, itself), line, theirs)
            for line in lines
            for theirs in line.quantities
            if theirs.written == one.written and theirs.dimension and one.dimension
        ]
        unit = max(swapped, key=lambda pair: pair[0], default=None)
        if unit is None and rival is not None:
            rival = min(
                (pair for pair in other if pair[0] >= LIKELY * rival[0]),
                key=lambda pair: _ratio(pair[2].value, one.value),
            )
        rival = max((pair for pair in (unit, rival) if pair is not None), key=lambda pair: pair[0], default=None)
        if rival is not None and rival[0] >= FITS / 2:
            return _other("number", says, rival[1], rival[2])
        return Clash("number", says, "", -1, -1)
    if one.bound and best[2].bound == -one.bound and best[0] >= FITS and not _limit_there(aligned, one, best[1]):
        return _other("limit", _bounded(one, aligned.text), best[1], best[2], bound=True)
    if rival is None or rival[0] < FITS:
        return None
    counted = one.dimension == "" and _noun(aligned, one)
    if counted and one.unit == best[2].unit != rival[2].unit:
        return None
    apart = (rival[1].passage, rival[1].sentence) != (best[1].passage, best[1].sentence)
    named = counted and apart and one.unit == rival[2].unit != best[2].unit and rival[0] > best[0]
    if named or aligned.prefers(i, (rival[1], rival[2].at), (best[1], best[2].at), itself):
        return _other("number", says, rival[1], rival[2])
    return None


def _lines_with(aligned: Alignment, stems: Iterable[str]) -> list[Line]:
    """The compared sentences, and others that have one of some stems."""
    return list(dict.fromkeys((*aligned.lines, *(line for stem in stems for line in aligned.having(stem)))))


def _written(aligned: Alignment, one: Quantity) -> list[str]:
    """The stems by which sentences with a quantity are looked up: its number, as an hour also the time of day."""
    stem = aligned.stems[one.at]
    hour = one.dimension in ("", "time") and one.written == int(one.written) and 0 <= one.written <= 24
    return [stem, f"@{int(one.written)}:00"] if hour else [stem]


def _noun(aligned: Alignment, one: Quantity) -> bool:
    """Whether the word behind a count is what is counted."""
    k = one.at + 1
    return k < len(aligned.tokens) and aligned.library.weight(aligned.tokens[k].stem) > 1 and len(one.unit) > 2


def _limit_there(aligned: Alignment, one: Quantity, line: Line) -> bool:
    """Whether the words of the statement's limit stand in the sentence, too, if elsewhere."""
    words = word_set("limits").intersection(aligned.words[max(0, one.at - 3) : one.at])
    return any(stem_of(word, aligned.language) in line.places for word in words)


def _ratio(one: float, other: float) -> float:
    """How many times one value is the other, as a logarithm; 9 of values with another sign."""
    return abs(math.log(one / other)) if one * other > 0 else 9.0


def _bounded(one: Quantity, text: str) -> str:
    return shortened(text[max(0, text.rfind(" ", 0, max(0, one.start - 10)) + 1) : one.end])


def _other(kind: str, says: str, line: Line, theirs: Quantity, *, bound: bool = False) -> Clash:
    has = _bounded(theirs, line.text) if bound else line.text[theirs.start : theirs.end]
    return Clash(kind, says, shortened(has), line.passage, line.sentence)


def _operands(aligned: Alignment, own: Sequence[Quantity]) -> list[Quantity]:
    lines = list(aligned.lines)
    if any(one.dimension == "time" for one in own):
        lines = _lines_with(aligned, aligned.library.times[: 2 * LINES])
    known = [theirs for line in lines for theirs in line.quantities]
    known.sort(key=lambda theirs: theirs.dimension != "clock")
    return [*known, *(mine for mine in own if any(agree(mine, theirs) for theirs in known))]


COVERED: Final = 0.7
"""The share of a statement that must be found for a stretch that is not to count as added to it."""


ADDED: Final = 10.0
"""The least weight of such a stretch, of two words or more; verbs, which are often put in other words, add none."""


SPEAKING: Final = 3.5
"""Weight from which a word says something by itself."""


def _addition(aligned: Alignment) -> Clash | None:
    """A stretch of the statement that nothing in the passages is like, while the rest of it is there."""
    if aligned.language != LANGUAGE:
        return None
    covered = total = most = weight = 0.0
    stretch: list[int] = []
    best: list[int] = []
    counted = {k for one in aligned.quantities for k in range(one.at, one.last + 1)}
    for i in aligned.content:
        if i in counted:
            continue
        token = aligned.tokens[i]
        own = aligned.weights[token.stem]
        grade = max((aligned.found(i, line)[1] for line in aligned.lines), default=0.0)
        if not grade and (is_known(aligned, token.stem) or _begun(aligned, token.stem)):
            grade = 0.5
        total += own
        covered += own * grade
        if grade:
            stretch, weight = [], 0.0
        elif own >= SPEAKING:
            stretch, weight = [*stretch, i], weight + (0.0 if verbal(token.stem) else own)
            if weight > most:
                most, best = weight, stretch
    if len(best) < 2 or most < ADDED or covered < COVERED * total:
        return None
    return Clash("addition", aligned.said(aligned.tokens[best[0]].start, aligned.tokens[best[-1]].end), "", -1, -1)


def _begun(aligned: Alignment, stem: str) -> bool:
    """Whether a word of the compared sentences begins alike."""
    head = stem[: max(4, len(stem) - 2)]
    return len(stem) > 4 and any(other.startswith(head) for line in aligned.lines for other in line.places)

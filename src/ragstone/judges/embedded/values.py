"""Find numbers that the evidence states differently, or that no passage has and that cannot be computed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from operator import itemgetter
from typing import Final

from ragstone.judges.embedded.alignment import FITS, MOSTLY, Alignment, Clash, Line
from ragstone.judges.embedded.arithmetic import computable, derived
from ragstone.judges.embedded.conditions import excepted, is_part
from ragstone.judges.embedded.contrasts import foreign
from ragstone.judges.embedded.parsed_statement import ParsedStatement, marks_item, of_name
from ragstone.judges.embedded.quantities import MONTH, PRICE, RANK, Quantity, agree, rivals
from ragstone.judges.embedded.roles import units
from ragstone.judges.embedded.substitutions import SPEAKING
from ragstone.judges.embedded.thesaurus import listed, opposites, synonymous, word_set
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import NAME, NUMBER, WORD, function_stems
from ragstone.segment import shortened

LIKELY: Final = 0.6  # minimum fit, relative to the best place, for a value to be named as the nearest
NEAR: Final = 0.8  # ... for another place of the same value to count like its best one
NEXT: Final = 2  # maximum distance of numbers next to each other: "11 and 15"
NAMED: Final = 3  # minimum length of a name, not "code E 7"
AHEAD: Final = 8  # words around an old value: before it for a verb of change, after it for the new value
LIMIT: Final = 10  # characters before a number that are quoted to show its limit
_HYPHENED: Final = re.compile(r"(?:-[^\W\d_]+)+")
_IN_CODE: Final = re.compile(r"[^\W\d_]-\Z")
_DEFINITE: Final = frozenset(("the", "all", "these"))
_PARTED: Final = frozenset(("which", "whom", "them"))
_SOME: Final = _PARTED | {"some", "many", "few", "several", "most"}
_BINDING: Final = frozenset(("for", "in", "at", "by"))
_NOW: Final = frozenset(("now", "today", "currently", "nowadays", "current"))
_DATED: Final = frozenset(("clock", "date", RANK))
_FIRST: Final = frozenset(("from", "between"))
_LAST: Final = frozenset(("to", "and", "until", "till", "through"))
_FROM: Final = frozenset(("at", "from", "to", "until", "till", "by", "and", "between", "before", "after"))
_ENDS: Final = frozenset(("from", "to"))
_BEYOND: Final = re.compile(r"\b(?:above|over|beyond|below|under|more than|less than) (?:that|this)\b", re.IGNORECASE)
FIT: Final = itemgetter(0)  # the fit of a quantity's place


def values(aligned: Alignment) -> Clash | None:
    """Find the first number that differs from the evidence, or is in no passage and cannot be computed."""
    for i, token in enumerate(aligned.tokens):
        if token.kind == NUMBER and token.stem.count(".") > 1 and not aligned.is_known(token.stem):
            return Clash("number", aligned.quote(i, i))  # "version 2.5.4"
    own = [one for one in aligned.quantities if one.dimension == PRICE or aligned.stems[one.at] not in aligned.asked]
    for one in own:
        known_before = not one.at or aligned.is_known(aligned.stems[one.at])
        in_code = not known_before and _IN_CODE.search(aligned.text, 0, aligned.tokens[one.at].start)
        if in_code and (code := _numbered(aligned, one.at)) is not None:
            return code  # "AES-128", evidence: "AES-256"

    @cache
    def known(line: Line) -> frozenset[int]:
        return frozenset(theirs.at for theirs in line.quantities if any(agree(mine, theirs) for mine in own))

    for one in own:
        refers = not (one.dimension or one.unit) and aligned.words[max(0, one.at - 2) : one.at] == ["of", "the"]
        found = None if refers or marks_item(aligned.text, one) else _number(aligned, one, own, known)
        if found is not None:  # not "the smaller of the *two*"
            return found
    return None


def _numbered(aligned: Alignment, i: int, kind: str = "number") -> Clash | None:
    """Find the number after the same word in the evidence: "Chapter 3" where the evidence has "Chapter 4"."""
    for line in aligned.having(aligned.stems[i - 1]):
        for p in line.places.get(aligned.stems[i - 1], ()):
            if p + 1 < len(line.tokens) and line.tokens[p + 1].kind == NUMBER and len(line.between(p + 1)) < 2:
                return line.clash(kind, aligned.quote(i - 1, i), line.quote(p, p + 1))
    return None


Held = tuple[float, Line, Quantity]
"""The fit of a quantity's place, its sentence, and the quantity."""


Every = Sequence[tuple[Line, Quantity]]
"""All quantities of the compared sentences."""


def _number(
    aligned: Alignment, one: Quantity, own: Sequence[Quantity], known: Callable[[Line], frozenset[int]]
) -> Clash | None:
    i = one.at
    spelled, named = aligned.tokens[i].kind != NUMBER, of_name(aligned, one)
    itself = _tokens_of(aligned, one)
    every: list[tuple[Line, Quantity]] = []
    same: list[Held] = []
    other: list[Held] = []
    hour = one.dimension in ("", "time") and 0 <= one.written <= 24  # "from 10 to 18 hours" may be written as 10:00
    lasting = one.unit.startswith("hour") and aligned.word(i - 1) not in _FROM  # "open for 9 hours", not "from 9 am"
    stems = [aligned.stems[i], f"@{int(one.written)}:00"][: 1 + hour]
    for line in dict.fromkeys((*aligned.lines, *(line for stem in stems for line in aligned.having(stem)))):
        for theirs in line.quantities:
            every.append((line, theirs))
            if theirs.at in known(line):
                if agree(one, theirs) and not (lasting and theirs.dimension == "clock"):
                    same.append((aligned.fit(i, line, theirs.at, itself), line, theirs))
            elif (
                rivals(one, theirs) and (named or not of_name(line, theirs)) and not excepted(aligned, line, theirs.at)
            ):
                other.append((aligned.fit(i, line, theirs.at, itself), line, theirs))
    groups = {(line, theirs.group) for _, line, theirs in same if theirs.group >= 0}
    other = [held for held in other if (held[1], held[2].group) not in groups]  # "3, 5 or 7 nodes"
    best, rival = (max(found, key=FIT, default=None) for found in (same, other))
    says = _written(aligned.text, one)
    if best is None:
        return _absent(aligned, one, own, every, other)
    aligned.agreed.update(itself, (k for k, token in enumerate(aligned.tokens) if one.start <= token.start < one.end))
    if spelled and one.dimension == MONTH:
        return None
    theirs = best[2]
    if theirs.dimension == "clock" != one.dimension:
        return None  # "18 hours" means 18:00 and is not compared with durations
    near = [held for held in same if held[0] >= LIKELY * best[0]]
    end, ends = {aligned.word(i - 1)}, {line.word(theirs.at - 1) for _, line, theirs in near}
    turned = end | ends == _ENDS and end.isdisjoint(ends)  # "rose from 52 to 40", evidence: "from 40 to 52"
    bounds = {theirs.bound for _, _, theirs in near}
    if turned or (one.bound and bounds == {-one.bound} and not any(best[1].negated) and not _beyond(best[1], own)):
        return _other("limit", _limited(one, aligned.text), best)
    parts = [(line, theirs) for _, line, theirs in near if is_part(line, theirs)]
    others = (*(_whole_of(aligned, *part) for part in parts), *(_part_of(aligned, *held[1:]) for held in near))
    if rest := next(filter(None, others), None):
        return _other("number", says, rest)
    if parts or any(_named_by(line, theirs) in aligned.weights for _, line, theirs in near):
        return None  # "12,900 for Quell and 21,050 for Ostra"; "84, 71 of them because of wind"
    if rival is not None and rival[1] is best[1] and _of_own(aligned, best[1], theirs, rival[2]):
        return None  # "children may borrow 6 books", evidence: "adults may borrow 12 books; children 6"
    for check in (_changed, _of_another, _for_another, _counts_another, _in_another_passage):
        if (differs := check(aligned, one, near, every)) is not None:
            return _other("number", *differs)
    found = _displaced(aligned, one, own, same, other)
    later = found is not None and one.dimension in _DATED and derived(aligned, one, own, every)
    return None if later else found  # "at 6", evidence: "leaves at 5 and arrives an hour later", but elsewhere "at 6"


def _displaced(
    aligned: Alignment, one: Quantity, own: Sequence[Quantity], same: Sequence[Held], other: Sequence[Held]
) -> Clash | None:
    """Find another value that corresponds better to a number than its own places do."""
    i, itself, says = one.at, _tokens_of(aligned, one), _written(aligned.text, one)
    best, rival = max(same, key=FIT), max(other, key=FIT, default=None)
    theirs, spelled = best[2], aligned.tokens[i].kind != NUMBER
    near = [held for held in same if held[0] >= LIKELY * best[0]]
    bare = not one.unit and not of_name(best[1], theirs)
    counted = one.dimension == "" and one.unit == theirs.unit and not bare
    if rival is None or rival[0] < FITS or (counted and one.unit != rival[2].unit) or (spelled and one.hedged):
        return None  # "8 new cases", evidence: "12 fever cases, including 8 new cases"; "a month"
    others = [mine for mine in own if mine is not one and mine.dimension != RANK and not of_name(aligned, mine)]
    if any(_together(others, line) and not _together(others, rival[1]) for _, line, _ in near):
        return None  # two numbers of the statement occur in one sentence
    if any(_side_by_side(one, mine, held) for mine in others for held in near):
        return None  # "at 11 a.m. and 3 p.m.", evidence: "at 11:00 and 15:00"
    label = i == 1 and aligned.words[0] == best[1].word(theirs.at - 1)  # "bus 12"
    inside = best[1].words[(clause := best[1].inside(theirs.at)).start : clause.stop]
    now = [not _NOW.isdisjoint(words) for words in (aligned.words, inside, rival[1].words)]
    if now == [True, True, False] and _alike(one, theirs):
        return None  # "now has 45 employees", evidence: "opened with 12 employees. Today it has 45"
    told = best[1] is not rival[1] and (label or any(mine.dimension == one.dimension for mine in others))
    if told and aligned.weight_in(best[1]) > aligned.weight_in(rival[1]):
        return None  # its own sentence has more of the statement
    names = {aligned.stems[k] for k in aligned.content if aligned.tokens[k].kind == NAME and k not in itself}
    names = {stem for stem in names if not opposites(stem, aligned.language)}  # not days
    if any(_of_namesake(best[1], *pair) and _bears(rival[1], *pair) for pair in _variants(aligned)):
        return _other("number", says, rival)  # "the *Rollo XL* has 60", not "the Rollo S has"
    if names <= best[1].places.keys() and best[0] >= NEAR * rival[0]:
        other = [held for held in other if not names or _names(held[1], names)]
    if names and names <= _said(best[1], theirs):  # "the Pro has 1 TB", evidence: "it has 512 GB; the Pro has 1 TB"
        other = [held for held in other if held[1] is not best[1] or names & _said(*held[1:])]
    other = [held for held in other if one.per in {"", held[2].per} or one.per != theirs.per]
    other = [held for held in other if not (_told(one, others, held) or _of_sibling(aligned, itself, held, near))]
    rival = max(other, key=FIT, default=None)
    if rival is None:
        return None
    # "returns within 14 days", evidence: "Returns are accepted within 30 days. Exchanges are accepted within 14 days"
    fitting = {held[1]: held for held in sorted(other, key=FIT)}
    for line, held in reversed(fitting.items()):
        if aligned.outdone(line, [own_line for _, own_line, _ in same], itself):
            return _other("number", says, held)
    if one.dimension == "year" and foreign(aligned, rival[1], rival[2].at):
        return None  # "built in 1961", evidence: "starting in May 1961, ... until it was opened in 1989"
    if all(
        aligned.prefers(i, (*rival[:2], rival[2].at), (*held[:2], held[2].at), itself)
        for held in same
        if held[0] >= NEAR * best[0]
    ):
        return _other("number", says, rival)
    return None


def _variants(aligned: Alignment) -> list[tuple[str, str]]:
    """Return the stems of the last two words of each name of several words: "Rollo S"."""
    every = ((aligned.stems[last - 1], aligned.stems[last]) for first, last in aligned.names if last > first)
    return [pair for pair in every if not listed(pair[0])]


def _bears(line: Line, name: str, variant: str) -> bool:
    return any(p + 1 < len(line.tokens) and line.tokens[p + 1].stem == variant for p in line.places.get(name, ()))


def _of_namesake(line: Line, name: str, variant: str) -> bool:
    """Return whether a sentence has a name with another last word only."""
    behind = [line.tokens[p + 1] for p in line.places.get(name, ()) if p + 1 < len(line.tokens)]
    return bool(behind) and all(token.kind in {NAME, NUMBER} and token.stem != variant for token in behind)


def _of_own(aligned: Alignment, line: Line, one: Quantity, other: Quantity) -> bool:
    """Return whether a statement has the word that the clause of one quantity begins with, not that of the other."""
    if one.unit or one.dimension:
        return False
    before = ((line.tokens[p].stem for p in line.inside(held.at) if p < held.at) for held in (one, other))
    function = function_stems(aligned.language)
    first, second = (next((stem for stem in some if stem not in function), "") for some in before)
    said = [any(stem == one or synonymous(stem, one) for stem in aligned.stems) for one in (first, second)]
    return said == [True, False]


def _whole_of(aligned: Alignment, line: Line, part: Quantity) -> Held | None:
    """Return 140 for the 30 of "employs 140 people, 30 of them in Chile", if a statement has no word of the part."""
    before = [one for one in line.quantities if one.at < part.at and rivals(part, one)]
    told = {line.tokens[p].stem for p in line.inside(part.at) if p > part.at}
    apart = before and told.isdisjoint(aligned.stems) and not line.breaks(part.last + 1)  # not "140, of which 30 are"
    return (0.0, line, before[-1]) if apart and aligned.carries(line, MOSTLY) else None


def _part_of(aligned: Alignment, line: Line, whole: Quantity) -> Held | None:
    """Return 900 for the 4,200 of "4,200 objects, of which 900 are on display", if a statement is about the part."""
    if "part of" in aligned.text or not _SOME.isdisjoint(aligned.words):
        return None  # "some of the 4,200 objects"
    behind = (one for one in line.quantities if one.at > whole.last)
    part = next((one for one in behind if {line.word(one.at - 1), line.word(one.last + 2)} & _PARTED), None)
    light = function_stems(aligned.language)
    before = (
        one for one in line.quantities if 0 < one.at <= one.last == whole.at - 3 and line.word(whole.at - 2) == "of"
    )
    first = next((one for one in before if rivals(whole, one) and line.tokens[one.at].stem not in aligned.stems), None)
    if first is not None and line.tokens[first.at - 1].stem in {*aligned.stems} - light:
        return 0.0, line, first  # "closed 210 stores", evidence: "closed 14 of its 210 stores"
    if part is None or not rivals(whole, part) or line.tokens[part.at].stem in aligned.stems:
        return None
    told = {line.tokens[p].stem for p in line.inside(part.at) if p > part.last} - light
    ahead = {token.stem for token in line.tokens[: part.at]} - light
    said = told.intersection(aligned.stems)
    return (0.0, line, part) if said and 2 * len(said) >= len(told) and not said & ahead else None


def _absent(
    aligned: Alignment, one: Quantity, own: Sequence[Quantity], every: Every, other: Sequence[Held]
) -> Clash | None:
    """Find a number that is in no passage and cannot be computed, with the value in its place."""
    i, says = one.at, _written(aligned.text, one)
    spelled = aligned.tokens[i].kind != NUMBER
    rival = max(other, key=FIT, default=None)
    unit = "" if rival is None else rival[2].unit
    counts = not one.dimension and aligned.words[i].isalpha() and aligned.word(i - 1) in _DEFINITE and unit != one.unit
    free = counts or one.dimension == PRICE or (spelled and (rival is None or one.hedged))
    free = free or (spelled and one.dimension == MONTH and aligned.is_known(aligned.stems[i]))
    if free or aligned.words[i] in {"twice", "thrice"}:
        return None
    if derived(aligned, one, own, every):
        aligned.agreed.update(_tokens_of(aligned, one))
        return None
    if aligned.stems[i] in aligned.premises and (rival is None or rival[0] < FITS):
        return None  # the question says so
    if of_name(aligned, one):
        return _numbered(aligned, i, "name") or Clash("number", aligned.quote(i - 1, i))  # "Rule 19"
    for line in dict.fromkeys(line for line, _ in every):
        if (first := _within(one, line)) is not None:
            aged = aligned.word(i - 1) == line.word(first.at - 1) == "aged" and line.words.count("aged") == 1
            if not aged or not aligned.carries(line, MOSTLY):
                return Clash("number", says)  # the statement may be about a day within a period
            aligned.agreed.add(i)
            return None  # "children aged 8", evidence: "children aged 6 to 12"
    if rival is not None:  # the closest value at the places that fit well
        least = LIKELY * rival[0]
        fitting = (found for found in other if found[0] >= least)
        rival = min(fitting, key=lambda found: _ratio(found[2].value, one.value))
    for line, theirs in every if one.dimension not in ("", "date", MONTH) else ():
        if theirs.written == one.written and theirs.dimension not in ("", RANK):
            bare = "century" if one.dimension == RANK else one.unit.rstrip("\u00b2\u00b3")
            if theirs.unit == bare != one.unit:
                return None  # "18th and 19th centuries"; "150 km" may have lost its superscript
            rival = 1.0, line, theirs  # the same number with another unit
    if rival is None:
        return Clash("number", says)
    inside = rival[2].bound * (one.value - rival[2].value) > 0 == one.bound  # "25 GB", evidence: "larger than 20 GB"
    unsure = inside or computable(one, rival[2], [theirs for _, theirs in every])
    return _other("bound" if unsure else "number", says, rival)


def _tokens_of(aligned: Alignment, one: Quantity) -> frozenset[int]:
    """Return the tokens of a quantity; for a date, including the year after it."""
    last = max(one.at, one.last)
    dated = one.dimension == "date" and last + 1 < len(aligned.tokens) and aligned.tokens[last + 1].kind == NUMBER
    return frozenset(range(min(one.at, one.last), last + 1 + dated))


def _within(one: Quantity, line: Line) -> Quantity | None:
    """Return the start of a range of a sentence that has a value: "15 June to 18 August" has "1 July"."""

    def order(of: Quantity) -> tuple[float, float]:
        return (float(of.unit), of.written) if of.dimension == "date" else (0.0, of.value)

    values = [theirs for theirs in line.quantities if theirs.dimension == one.dimension != RANK]
    within = (
        first
        for first, second in pairwise(values)
        if order(first) < order(one) < order(second)
        and (line.word(first.at - 1) in _FIRST or second.at - first.last <= NEXT)
        and not _LAST.isdisjoint(line.words[first.last + 1 : second.at])
    )
    return next(within, None)


def _together(others: Sequence[Quantity], line: Line) -> bool:
    return any(agree(mine, theirs) for mine in others for theirs in line.quantities)


def _told(one: Quantity, others: Sequence[Quantity], held: Held) -> bool:
    """Return whether a value with another unit stands beside another number of the statement: "60 mg ... and 80 mg"."""
    same = (mine for mine in others if mine.unit == held[2].unit)
    return one.dimension != "date" and "" != one.unit != held[2].unit != "" and _together([*same], held[1])


def _of_sibling(aligned: Alignment, itself: frozenset[int], held: Held, near: Sequence[Held]) -> bool:
    """Return whether a number is that of another day or the like than the statement's, which ``near`` ones are of."""
    there, *theirs = (_clause(line, one) for _, line, one in (held, *near))
    return any(
        not there.isdisjoint(opposites(stem, aligned.language)) and any(stem in some for some in theirs)
        for stem in {aligned.stems[i] for i in aligned.content if i not in itself} - there
    )


def _said(line: Line, one: Quantity) -> set[str]:
    """Return the stems of what is said of one subject, with a number."""
    of = next((unit for unit in units(line) if unit.first <= one.at <= unit.last), None)
    return {token.stem for token in line.tokens[of.first : of.last + 1]} if of else _clause(line, one)


def _clause(line: Line, one: Quantity) -> set[str]:
    """Return the stems of a number's clause."""
    inside = line.inside(one.at)
    return {stem for stem, places in line.places.items() if any(p in inside for p in places)}


def _names(line: Line, names: set[str]) -> bool:
    """Return whether a sentence has one of some names, or none at all, so that it may be about them."""
    return not names.isdisjoint(line.places) or all(
        token.kind != NAME or len(token.stem) < NAMED for token in line.tokens
    )


def _beyond(line: Line, own: Sequence[Quantity]) -> bool:
    """Return whether other numbers of a statement are those of what lies beyond a limit: "1.2% above that"."""
    found = _BEYOND.search(line.text)
    inside = line.inside(line.behind(found.start())[0]) if found else range(0)
    return any(theirs.at in inside and any(agree(mine, theirs) for mine in own) for theirs in line.quantities)


def _side_by_side(one: Quantity, mine: Quantity, held: Held) -> bool:
    """Return whether two numbers stand next to each other both in the statement and in the evidence."""
    _, line, theirs = held
    first, second = sorted((one, mine))
    pair = [(theirs, beside) for beside in line.quantities if beside.at != theirs.at and agree(mine, beside)]
    return second.at - first.last <= NEXT and any(
        max(two).at - min(two).last <= NEXT and (two[0] < two[1]) == (one < mine) for two in pair
    )


def _changed(aligned: Alignment, one: Quantity, near: Sequence[Held], every: Every) -> tuple[str, Held] | None:
    """Find a value that was changed to another one: "8080" where the evidence says "changed from 8080 to 9090"."""
    newer = [(1.0, line, new) for _, line, old in near if (new := _newer(line, old))]
    past = word_set("past") | verbs("past")
    if not _NOW.isdisjoint(aligned.words) and not any(
        past.isdisjoint(line.words) or not _NOW.isdisjoint(line.words) for _, line, _ in near
    ):
        newer += [(1.0, *held) for held in every if not _NOW.isdisjoint(held[0].words) and _alike(one, held[1])]
    if len(newer) < len(near) or not word_set("past").isdisjoint(aligned.words):
        return None
    return _written(aligned.text, one), newer[0]


def _alike(one: Quantity, other: Quantity) -> bool:
    """Return whether two quantities count or measure the same: "12 employees" and "45 people"."""
    people = one.unit in word_set("whatever") or other.unit in word_set("whatever")
    return rivals(one, other) and (one.dimension != "" or one.unit == other.unit or people)


def _newer(line: Line, old: Quantity) -> Quantity | None:
    if line.word(old.at - 1) != "from" or word_set("changing").isdisjoint(line.words[max(0, old.at - AHEAD) : old.at]):
        return None
    behind = (new for new in line.quantities if old.at < new.at <= old.at + AHEAD)
    return next((new for new in behind if line.word(new.at - 1) == "to"), None)


def _of_another(aligned: Alignment, one: Quantity, near: Sequence[Held], every: Every) -> tuple[str, Held] | None:
    """Find "120 g of flour" where the evidence says "250 g of flour with 120 g of butter"."""
    of = _of_what(aligned, one)
    kinds = [_of_what(line, theirs) for _, line, theirs in near]
    if not of or any(not theirs or of & theirs for theirs in kinds):
        return None
    found = ((1.0, line, theirs) for line, theirs in every if rivals(one, theirs) and of & _of_what(line, theirs))
    rival = next(found, None)
    return None if rival is None else (_written(aligned.text, one), rival)


def _for_another(aligned: Alignment, one: Quantity, near: Sequence[Held], every: Every) -> tuple[str, Held] | None:
    """Find "Ostra answered 18,400" (evidence: "Larch answered 18,400, compared with 21,050 for Ostra")."""
    lines = {line for _, line, _ in near}
    own = [mine for mine in aligned.quantities if mine.dimension == one.dimension]
    found = ((1.0, *held) for held in every if held[0] in lines and _named_by(*held) in aligned.weights)
    free = (held for held in found if rivals(one, held[2]) and not any(agree(mine, held[2]) for mine in own))
    rival = next(free, None)
    return None if rival is None else (_written(aligned.text, one), rival)


def _named_by(line: Line, one: Quantity) -> str:
    """Return the stem of whom a quantity is for, if it occurs only there; empty if there is none."""
    behind = (one.last + 1, one.last + 3)[: 1 + bool(one.per)]  # "95 euros per night *for two*"
    at = next((k + 1 for k in behind if line.word(k) in _BINDING), len(line.tokens))
    definite = line.words[at - 1 : at + 1] == ["at", "the"]  # "at the *airport*"
    at += definite
    token = line.tokens[at] if at < len(line.tokens) else None
    named = token and (definite or token.kind != WORD or line.words[at].endswith("s")) and line.words[at].isalpha()
    stem = token.stem if token and named else ""
    return stem if line.places.get(stem) == [at] else ""


def _of_what(side: ParsedStatement, one: Quantity) -> frozenset[str]:
    """Return the stems of what is measured: "250 g of *red lentils*"."""
    behind, found = one.last + 1, set[str]()
    for k in range(behind + 1, min(behind + 3, len(side.tokens))) if side.word(behind) == "of" else ():
        if side.tokens[k].kind != WORD or side.words[k] in word_set("function") or side.between(k).strip():
            break
        found.add(side.tokens[k].stem)
    return frozenset(found)


def _counts_another(aligned: Alignment, one: Quantity, near: Sequence[Held], _every: Every) -> tuple[str, Held] | None:
    """Find "1,204 doctors" (in no passage) where the evidence says "1,204 nurses"."""
    k = one.at + 1
    if one.dimension or not one.unit or aligned.weight.get(k, 0.0) < SPEAKING or aligned.is_known(aligned.stems[k]):
        return None
    said = aligned.words[k] in verbs("sure third past") or not one.written.is_integer()
    if said or (k + 1 in aligned.weight and aligned.between(k + 1) == " "):
        return None  # "12 crew members", "version 1.4 corrected"
    for _fit, line, theirs in near:
        there = line.tokens[theirs.at + 1].stem if theirs.unit and not theirs.dimension else ""
        if not there or there in aligned.weights or aligned.found(k, line)[1]:
            return None
        if not word_set("whatever").isdisjoint((aligned.word(k), line.word(theirs.at + 1))):
            return None  # "50 employees", evidence: "50 people"
    fit, line, theirs = near[0]
    return aligned.quote(one.at, k), (fit, line, theirs._replace(end=line.tokens[theirs.at + 1].end))


def _in_another_passage(
    aligned: Alignment, one: Quantity, near: Sequence[Held], every: Every
) -> tuple[str, Held] | None:
    """Find "45 minutes" of the Corvo 300 where only the passage on another thing has it, and the thing's own has 70."""
    alone = sum(mine.dimension == one.dimension for mine in aligned.quantities) == 1
    if not alone or any(aligned.named(line.passage) for _, line, _ in near):
        return None
    found = [
        (aligned.fit(one.at, line, theirs.at), line, theirs)
        for line, theirs in every
        if rivals(one, theirs) and aligned.named(line.passage) and (one.dimension or one.unit == theirs.unit != "")
    ]
    rival = max(found, key=FIT, default=None)
    least = max(FITS, LIKELY * near[0][0])
    return None if rival is None or rival[0] < least else (_written(aligned.text, one), rival)


def _ratio(one: float, other: float) -> float:
    """Return the absolute log ratio of two values; 9 if their signs differ."""
    return abs(math.log(one / other)) if one * other > 0 else 9.0


def _written(text: str, one: Quantity) -> str:
    """Return a quantity as written, with hyphenated words after it: "ten-year-old"."""
    joined = _HYPHENED.match(text, one.end)
    return shortened(text[one.start : joined.end() if joined else one.end])


def _limited(one: Quantity, text: str) -> str:
    return shortened(text[max(0, text.rfind(" ", 0, max(0, one.start - LIMIT)) + 1) : one.end])


def _other(kind: str, says: str, found: Held) -> Clash:
    _, line, theirs = found
    has = _limited(theirs, line.text) if kind in {"limit", "bound"} else _written(line.text, theirs)
    return line.clash(kind, says, has)

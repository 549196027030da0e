"""Find English statements about one person or thing that the evidence makes about another.

A sentence is divided into units, each with a subject (the words before a finite verb) and all that is said of it; a
name after "by" is an agent. Units compete: if those that have the rest of a statement have another subject or agent of
the same sort, and the statement's own is that of other units, the statement mixes them up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final, NamedTuple

from ragstone.judges.embedded.alignment import Alignment, Clash, Line
from ragstone.judges.embedded.naming import ARTICLES, peoples, spelled_alike
from ragstone.judges.embedded.parsed_statement import COPULAS, ParsedStatement
from ragstone.judges.embedded.thesaurus import (
    LANGUAGE,
    common,
    likes,
    listed,
    opposites,
    siblings,
    singular,
    verbal,
    word_set,
)
from ragstone.judges.embedded.verbs import finite
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, TITLES, WORD, pronouns

SAID: Final = 0.9  # minimum share of a predicate in a unit with another subject
MOST: Final = 0.65  # ... if the unit has a name's verb, or another of the sentence with the own subject has the rest
KNOWN: Final = 0.7  # ... in all passages
LACKS: Final = 0.25  # minimum share that the units with the statement's own subject lack
LEAST: Final = 4.5  # minimum weight of a predicate
ENOUGH: Final = 5.0  # ... of two words or more if neither subject is a name or class
BACK: Final = 3  # preceding sentences searched for the subject that a pronoun refers to
REACH: Final = 4  # words after "by" within which an agent is named: "by the Danish firm *Ravn*"
_OWNED: Final = frozenset(("its", "his", "her", "their", "our", "my", "your"))
_POINTING: Final = frozenset(
    ("this", "these", "that", "those", "there", "such", "both", "each", "who", "which", "what")
)
_ANYONE: Final = frozenset(("you", "we", "i", "one", "others", "another"))
_VAGUE: Final = (pronouns(LANGUAGE) - _OWNED) | _POINTING | _ANYONE
_EVERY: Final = frozenset(("all", "every", "each", "any", "many", "most", "some"))
_HAVING: Final = frozenset(("come", "comes", "get", "gets", "has", "have", "includes", "include", "offers", "offer"))
_CONTRAST: Final = frozenset(("while", "whereas", "but"))
_SUBORDINATE: Final = verbs("subordinators") - {"while", "whereas", "so"}

PLAIN: Final = 12  # maximum words of a statement whose nouns are checked as agent and patient
NEAR: Final = 3  # maximum words from "who" to its verb
_SUBJECTS: Final = frozenset(("he", "she", "it", "they"))
_RELATIVE: Final = frozenset(("who", "which", "that"))

Run = tuple[int, int]
"""Adjacent words: first and last token."""


class Holder(NamedTuple):
    """A subject or agent: its words and their stems."""

    side: ParsedStatement
    run: Run
    stems: frozenset[str]


class Predication(NamedTuple):
    """A part of a sentence that is said of one subject: its first and last word, and its verb (-1 if there is none).

    ``subject`` is None if it is a pronoun or left out. ``linked``: whether the unit may also be about the subject of
    the one before, like a subordinate clause.
    """

    first: int
    last: int
    verb: int
    subject: Holder | None
    agent: Holder | None
    linked: bool

    @property
    def holders(self) -> list[Holder]:
        """The subject and the agent, if named."""
        return [one for one in (self.subject, self.agent) if one is not None]


def units(side: ParsedStatement) -> list[Predication]:
    """Return the units of a sentence."""
    side.units = side.units or list(_divided(side))
    return side.units


def _divided(side: ParsedStatement) -> Iterator[Predication]:
    words, last = side.words, len(side.tokens) - 1
    ends = [*(token.start for token in side.tokens[1:]), len(side.text)]
    raw = [side.text[token.start : end].strip() for token, end in zip(side.tokens, ends, strict=True)]
    raw[1:] = ["X" if word == "A" else word for word in raw[1:]]  # "Model A weighs"
    acts = {k for k in finite(raw) if "-" not in side.between(k)}
    start = i = lead = 0  # ``lead``: where the words before the first verb begin
    subject: Run | None = None
    did, opened, fronted, linked, named = -1, True, False, False, last
    while i <= last:
        behind = range(i + 1, last + 1)
        end = next((k - 1 for k in behind if side.clauses[k] != side.clauses[i] or words[k] == "that"), last)
        a = next((k for k in range(i, end) if words[k] not in word_set("breaks")), end)
        if did >= 0 and (a > i or words[a] == "that" or ";" in side.between(i)):
            lead, opened = a + (words[a] == "that" and a < end), True
        apart = opened and lead < a == i and (did < 0 or any(lead <= run[0] < a for run in side.names))
        apart = apart and words[a] in verbs("auxiliaries sure past third")  # "A, the mayor, opened"
        sure = acts | {a} if apart else acts
        aside = did < 0 and lead < i and (words[i] in ARTICLES or "of" in words[i : i + 3])  # "Ann, wife of Tom, died"
        aside = aside and side.word(end + 1) in verbs("auxiliaries sure past third")
        verb = next((k for k in range(a + (a not in sure), end + 1) if k in sure), None)
        verb = verb or next((k for k in range(a + 1, end) if _does(side, k)), None)
        if aside:
            verb, named = None, min(named, i)
        if verb is not None:
            subordinate = words[a] in _SUBORDINATE or side.word(lead - 1) == "that"
            whole = opened and not fronted and words[lead] not in word_set("prepositions") | _SUBORDINATE
            begin = lead if whole else a
            if words[begin] in word_set("prepositions"):  # "in 2021 Tom Hall became"
                begin = next((first for first, final in side.names if begin < first and final == verb - 1), verb)
            own = [k for k in range(begin, min(verb, named)) if _means(side, k)]
            plain = begin if begin > a else a + (words[a] in _SUBORDINATE)  # "of which Berlin has 60%"
            if own and _VAGUE.isdisjoint(words[plain:verb]):
                if did >= 0:
                    yield _unit(side, start, min(begin, i) - 1, did, subject, linked)
                    start = min(begin, i)
                owned = words[a] in _OWNED and all(side.tokens[k].kind != NAME for k in own)
                linked = owned or ((subordinate or fronted) and did >= 0)
                subject, did, named = (own[0], own[-1]), verb, last
            did, opened, fronted = max(did, verb), False, subordinate and (i == 0 or fronted)
        i = end + 1
    yield _unit(side, start, last, did, subject, linked)


def _unit(side: ParsedStatement, first: int, last: int, verb: int, subject: Run | None, linked: bool) -> Predication:
    by = next((k for k in range(first, last) if side.words[k] == "by"), last)
    acting = side.word(by + 1).endswith("ing") and side.tokens[by + 1].kind != NAME  # "won by beating Olga Varga"
    acting = acting and not (side.word(by - 1) in verbs("past") and side.word(by - 2) in COPULAS)
    agent = next((run for run in side.names if by < run[0] <= min(last, by + REACH) and not acting), None)
    if agent is None and side.word(by + 1) in ARTICLES and side.word(by - 1) in verbs("past"):
        behind = range(by + 2, last + 1)
        end = next((k for k in behind if not _means(side, k) or side.clauses[k] != side.clauses[by]), last + 1)
        agent = (by + 2, end - 1) if end > by + 2 else None
    elif agent is not None and agent[1] < last and side.tokens[agent[1] + 1].kind == NUMBER:
        agent = agent[0], agent[1] + 1  # "by the Vega 1"
    return Predication(first, last, verb, _holder(side, subject), _holder(side, agent), linked)


def _holder(side: ParsedStatement, run: Run | None) -> Holder | None:
    inside = range(run[0], run[1] + 1) if run else ()
    return run and Holder(side, run, frozenset(side.tokens[k].stem for k in inside if _means(side, k)))


def _does(side: ParsedStatement, k: int) -> bool:
    """Return whether a word is likely a finite verb in a clause without a certain one."""
    before, word = side.words[k - 1], side.words[k]
    if side.between(k) != " " or before in verbs("determiners prepositions auxiliaries") or before == "to":
        return False
    plural = before.endswith("s") and not before.endswith(("ss", "us", "is", "'s"))
    acting = verbal(side.tokens[k].stem) and not word.endswith(("ing", "ed"))
    past = word.endswith("ed") and (side.word(k + 1) in verbs("determiners") or side.tokens[k - 1].kind == NAME)
    return acting or past or (plural and word in verbs("base"))


def _means(side: ParsedStatement, k: int) -> bool:
    word = side.words[k]
    return word not in _empty() and not word.endswith("ly") and side.tokens[k].kind != NEGATION


@lru_cache(maxsize=1)
def _empty() -> frozenset[str]:
    return verbs("auxiliaries adverbs").union(TITLES, _OWNED, *map(word_set, ("function", "light", "prepositions")))


def misattributed(aligned: Alignment) -> Clash | None:
    """Find a statement whose words the evidence says of another subject or agent."""
    for unit in units(aligned) if aligned.language == LANGUAGE else ():
        told = [(unit, own) for own in unit.holders]
        for run in aligned.names:  # "the court ordered *Quayline Ltd* to pay"
            to = aligned.word(run[1] + 1) == "to" and aligned.word(run[1] + 2) in verbs("base")
            if to and unit.verb < run[0] <= unit.last and (inner := _holder(aligned, run)):
                told.append((unit._replace(first=run[0]), inner))
        for part, own in told:
            if (found := _competing(aligned, part, own)) is not None:
                return found
    return None


def _competing(aligned: Alignment, unit: Predication, own: Holder) -> Clash | None:
    """Return the clash with the first unit that says the same of another; None if any unit may say it of the own."""
    acting = own is unit.agent
    inside = (j for j in aligned.content if unit.first <= j <= unit.last and aligned.words[j] not in TITLES)
    said = [j for j in inside if not own.run[0] <= j <= own.run[1] and not aligned.need_not(j)]
    if acting:
        said = [j for j in said if aligned.clauses[j] == aligned.clauses[own.run[0]]]
    known = [j for j in said if aligned.is_known(aligned.stems[j])]
    total = sum(aligned.weight[j] for j in known)
    linked = unit.linked and aligned.words[unit.first] != "that"
    telling = {_deed(own)} if aligned.word(unit.verb) in _HAVING else {unit.verb, _deed(own)}
    strange = any(aligned.tokens[j].kind == NUMBER or j in telling for j in said if j not in known)
    least = 1 if acting else LEAST
    if linked or strange or total < max(least, KNOWN * sum(aligned.weight[j] for j in said)):
        return None
    clash: Clash | None = None
    named = _sorts(own) == {"name"} and not acting
    for line in aligned.lines:
        if sum(aligned.weight[j] * aligned.found(j, line)[1] for j in known) < MOST * total:
            continue
        mine = [(line, one) for one in units(line) if any(own.stems <= of.stems for of in one.holders)]
        if acting and _carried(aligned, [j for j in known if j == _deed(own)], mine):
            return None
        numbers = [one.at for one in aligned.quantities if one.at in known and one.dimension not in ("year", "date")]
        told = sum(map(aligned.weight.__getitem__, numbers)) if numbers else math.inf
        same = [held for held in mine if held[1].subject and own.stems <= held[1].subject.stems]
        if _carried(aligned, numbers, same) >= told and _carried(aligned, known, same) >= MOST * total:
            return None  # "the Pro has 32 GB of memory", evidence: "it has 16 GB of memory; the Pro has 32 GB"
        for there in units(line):
            alone, both = (_carried(aligned, known, [(line, there), *some]) for some in ((), mine))
            whole, verb = both >= SAID * total, _carried(aligned, known[:1], [(line, there)])
            if alone < MOST * total or not (whole or (named and verb == aligned.weight[known[0]])):
                continue
            turns = whole and not acting and known[0] == said[0] and (unit.agent is None) == (there.agent is None)
            other = _rival(aligned, unit, own, line, there, known, turns=turns)
            if other is None and whole:
                return None
            if other is not None and clash is None:
                i = next((k for k in known if k > own.run[1]), known[-1])
                says = aligned.quote(min(own.run[0], i), max(own.run[1], i))
                clash = line.clash("subject", says, other.side.quote(*other.run))
    return clash


def _rival(
    aligned: Alignment,
    unit: Predication,
    own: Holder,
    line: Line,
    there: Predication,
    known: Sequence[int],
    *,
    turns: bool,
) -> Holder | None:
    """Return the holder of which a unit says the rest of the statement; None if it may say it of the statement's own.

    ``turns``: whether both may be names that the statement has swapped.
    """
    passive = aligned.word(unit.verb) in COPULAS and aligned.word(unit.verb + 1) in verbs("past")
    others = _others(aligned, line, there, own, acting=own is unit.agent, passive=passive)
    if not others or any(_same(own, one) for one in others):
        return None
    other, only = others[0], own.stems - others[0].stems
    near = only.union(*(likes(stem, LANGUAGE) for stem in only))
    spots = [p for stem in near for p in line.places.get(stem, ()) if there.first <= p <= there.last]
    if other.side is line and _sorts(own) & _sorts(other) >= {"name"}:  # not "Maria Lund, wife of *Tom Berg*, died"
        begin = other.run[1]
        spots = [p for p in spots if not (begin < p < there.verb and "of" in line.words[begin:p])]
    theirs = other.stems - own.stems
    spoken = theirs.intersection(aligned.stems[unit.first : unit.last + 1])
    turns = turns and theirs == spoken and "with" not in aligned.words and _sorts(own) == _sorts(other)
    named = spots and _sorts(own) == {"name"} and _behind(aligned, line, there, known[0], min(spots))
    if turns and (named or (not spots and _acts_on(aligned, unit, line, there, spoken))):
        return other
    deed = _deed(own) if own is unit.agent else unit.verb if not passive else -1
    if spots and deed >= 0 and _undergoes(aligned, line, there, deed, min(spots), acting=own is unit.agent):
        return other
    told = spots or len(theirs) < max(1, 2 * len(spoken))
    return None if told or not _apart(aligned, own, other, line, there, known) else other


def _acts_on(aligned: Alignment, unit: Predication, line: Line, there: Predication, rival: frozenset[str]) -> bool:
    """Return whether the object of a statement's verb is the subject of the same verb: "A paid *B*", "*B* paid"."""
    same = min(unit.verb, there.verb) >= 0 and aligned.stems[unit.verb] == line.tokens[there.verb].stem
    return same and not rival.isdisjoint(aligned.stems[unit.verb + 1 : unit.verb + 3])


def _behind(aligned: Alignment, line: Line, unit: Predication, first: int, place: int) -> bool:
    """Return whether a name follows what is said of a unit's subject: "Ann Lee led it, but disliked *Tom Hall*"."""
    verb = [p for p in line.places.get(aligned.stems[first], ()) if unit.first <= p <= unit.last and p < place]
    named = line.word(place - 1) in COPULAS | {"by", "called", "named"}
    return bool(verb) and line.tokens[place].kind in {NAME, NUMBER} and not named


def _deed(own: Holder) -> int:
    """Return the word before the "by" of an agent."""
    return max((k for k in range(1, own.run[0]) if own.side.words[k] == "by"), default=0) - 1


def _undergoes(aligned: Alignment, line: Line, unit: Predication, verb: int, place: int, *, acting: bool) -> bool:
    """Return whether a place is that of an object or recipient: "Vega 2 replaces *Vega 1*", "it was sold to *A*"."""
    done = [p for p in line.places.get(aligned.stems[verb], ()) if unit.first <= p <= unit.last and p < place]
    between = line.words[done[0] + 1 : place] if done else ["by"]
    patient = acting and unit.agent is None and aligned.words[verb] in verbs("past")
    given = between[-1:] == ["to"] and aligned.words[verb] in word_set("dealing")
    return given or (patient and word_set("prepositions").isdisjoint(between))


def _carried(aligned: Alignment, known: Sequence[int], places: Sequence[tuple[Line, Predication]]) -> float:
    """Return the weight of the words that are in some units."""
    held = 0.0
    for j in known:
        grades = (
            aligned.found(j, line)[1]
            for line, unit in places
            if any(unit.first <= p <= unit.last for p in aligned.found(j, line)[0])
        )
        held += aligned.weight[j] * max(grades, default=0.0)
    return held


def _others(
    aligned: Alignment, line: Line, unit: Predication, own: Holder, *, acting: bool, passive: bool
) -> list[Holder]:
    """Return of whom a unit may be said, likeliest first: its agent, or its subject and those a pronoun may mean."""
    told = unit.subject is None or not unit.subject.stems.isdisjoint(aligned.stems)
    if unit.agent is not None and (acting or (told and not passive)) and unit.agent.stems.isdisjoint(aligned.stems):
        return [unit.agent]
    there, found = units(line), list[Holder]()
    for n in range(there.index(unit), -1, -1):
        if (subject := there[n].subject) is not None:
            found.append(subject)
            if not there[n].linked:
                return found
    for number in range(line.sentence - 1, max(-1, line.sentence - 1 - BACK), -1):
        before = aligned.line(line.passage, number)
        sure = not {"he", "she"}.intersection(line.words).isdisjoint(before.words)
        if not sure and any(token.stem in own.stems for token in before.tokens):
            return []
        every = units(before) if before.tokens else []
        found += [one.subject for one in every if one.subject is not None]
        if every and every[0].subject is not None:
            break
    return found


def _same(own: Holder, other: Holder) -> bool:
    """Return whether two may be the same: one has all words of the other, or they share a name."""
    mine, theirs = (one.stems.union(*(likes(stem, LANGUAGE) for stem in one.stems)) for one in (own, other))
    pairs = [(a, b) for a in own.stems for b in other.stems if a != b and min(len(a), len(b)) > 2]
    alike = any(a.endswith(b) or b.endswith(a) or spelled_alike(a, b) for a, b in pairs)
    if min(len({stem for stem in one.stems if stem[0] == "#"} - of.stems) for one, of in ((own, other), (other, own))):
        return False  # "Vega 1", "Vega 2"
    return alike or own.stems <= theirs or other.stems <= mine or not all(map(common, own.stems & other.stems))


def _apart(aligned: Alignment, own: Holder, other: Holder, line: Line, unit: Predication, known: Sequence[int]) -> bool:
    """Return whether the passages tell two holders apart: no unit with the statement's own names the other as well.

    Both must be names, classes or things of one kind, and units with the own one must lack what the statement says.
    """
    mine, theirs = own.stems - other.stems, other.stems - own.stems
    sorts = _sorts(own), _sorts(other)
    named = "name" in sorts[0] & sorts[1]
    apart = named and not any(map(listed, own.stems | other.stems))  # not "Life of a 16-year-old"
    places: list[tuple[Line, Predication]] = []
    spoken: list[tuple[Line, Predication]] = []
    for near in aligned.having(max(sorted(mine), key=aligned.library.weight)) if mine else ():
        for there in units(near):
            if any(mine <= one.stems or one.stems <= own.stems for one in there.holders):
                acts = apart and there.verb > 0 and near.words[there.verb] not in COPULAS  # not "A is a part of B"
                both = range(there.first, there.verb if acts else there.last + 1)
                if any(p in both for stem in theirs for p in near.places.get(stem, ())):
                    return False
                places.append((near, there))
            elif there.verb < 0 and not near.text.rstrip().endswith((".", "!", ";")):
                return False  # a heading
            elif own.stems <= {token.stem for token in near.tokens[there.first : there.last + 1]}:
                spoken.append((near, there))
    total = sum(aligned.weight[j] for j in known)
    if named:
        places = places or [held for held in spoken if held[1] is not unit]
        if not any(map(aligned.is_known, mine)) or (spoken and not places):
            return True  # in no passage, or "Ann, wife of *Tom*, died"
    if not places or _carried(aligned, known, places) >= (1 - LACKS) * total:
        return False
    kin = siblings(own.side.words[_head(own)])[0]
    if sorts[0] & sorts[1] - {"thing", ""} or singular(other.side.words[_head(other)]) in kin:
        return True
    shared = own.stems & other.stems
    heads, kinds = {of.side.tokens[_head(of)].stem for of in (own, other)}, {_kind(own), _kind(other), ""}
    if (len(own.stems) == len(other.stems) == 2 and len(shared) == 1) or (len(heads) == 1 and len(kinds) > 2):
        return True  # "savings account", "current account"
    if not shared and any(near is other.side and _contrasted(near, unit, there) for near, there in places):
        return True
    words = (of.side.words[of.run[0] : of.run[1] + 1] for of in (own, other))
    plural = [any(word.endswith("s") for word in some) for some in words]  # not a part of the other: "the front seats"
    things = sorts[0] == sorts[1] == {"thing"}
    acts = known[0] == own.run[1] + 1 and aligned.words[known[0]] not in verbs("auxiliaries")
    if sorts[0] | sorts[1] <= {"thing", ""} and other.side is line and acts:
        things = _carried(aligned, known[:1], [(line, unit)]) > 0  # "breakfast costs", "parking costs"
    return things and plural[0] == plural[1] and not shared and len(known) > 1 and SAID * total >= ENOUGH


def _contrasted(line: Line, one: Predication, other: Predication) -> bool:
    """Return whether two units of a sentence are contrasted: "; ...", "while ...", "but ..."."""
    second = max(one.first, other.first)
    return not _CONTRAST.isdisjoint((line.word(second), line.word(second - 1))) or ";" in line.between(second)


def _head(of: Holder) -> int:
    """Return the noun of a holder: "effects" of "side effects of amoxicillin"."""
    side, last, prepositions = of.side, of.run[1], word_set("prepositions")
    last -= of.run[0] < last and side.tokens[last].kind == NUMBER  # "the *Vega* 1"
    ends = (k for k in range(*of.run) if side.word(k + 1) in prepositions or side.between(k + 1).strip(" -"))
    head = next(ends, last)
    named = side.tokens[last].kind == NAME and side.word(head + 1) not in prepositions
    return last if named else head  # "captain, Lars Holm"


def _kind(of: Holder) -> str:
    """Return the stem of the content word before the noun of a holder: "savings" of "the savings account"."""
    stems = {token.stem for token in of.side.tokens[max(of.run[0], _head(of) - 1) : _head(of)]}
    return next(iter(stems & of.stems), "")


def _sorts(of: Holder) -> set[str]:
    """Return whether a holder is a "name", a "class" (a plural without a determiner), or another "thing"."""
    side, head = of.side, _head(of)
    token, word = side.tokens[head], side.words[head]
    determined = (
        side.word(of.run[0] - 1) in (verbs("determiners") | _OWNED) - _EVERY or side.tokens[of.run[0]].kind == NUMBER
    )
    plural = word.endswith("s") and not word.endswith("ss")
    named = token.kind == NAME and token.stem not in peoples() and not (head == 0 and listed(token.stem))
    named = named or (side.text[token.start].isupper() and not listed(token.stem))
    found = {"name"} if named and (plural or not determined or of.run[0] < of.run[1]) else set()  # not "the Oscar"
    if plural and not determined and (token.kind == WORD or not head):
        found.add("class")
    return found or ({"thing"} if determined else {""})


def turned(aligned: Alignment) -> Clash | None:
    """Find two names or things around a verb that the evidence has in swapped roles."""
    plain = aligned.language == LANGUAGE and len(aligned.tokens) <= PLAIN
    nouns = (i for i in aligned.content if aligned.tokens[i].kind == WORD and aligned.word(i - 1) in ARTICLES)
    things = [(i, i) for i in nouns] if plain else []
    for one, other in chain(pairwise(aligned.names), pairwise(things)):
        between = [i for i in aligned.content if one[1] < i < other[0] and aligned.tokens[i].kind == WORD]
        if not any(listed(aligned.stems[i]) or aligned.quote(i, i)[:2].isupper() for _, i in (one, other)):
            between = [i for i in between if verbal(aligned.stems[i])] or between  # "McGregor managed to defeat Cole"
        between = [] if not aligned.same_roles.isdisjoint(between) else between
        near = between and between[0] - one[1] <= 3 and other[0] - between[0] <= 5
        near = near and "and" not in aligned.words[between[0] : other[0]]  # "written in Rust and B in Go"
        stem = aligned.stems[between[0]] if near else ""
        if near and (not listed(stem) or verbal(stem) or aligned.words[between[0]] in word_set("dealing")):
            for line in aligned.lines[:3]:
                found = _swapped(aligned, line, one, other, between[0])
                if found is True:
                    break
                if found:
                    return found
    backward = (_of_relative(aligned, line, i) for line in aligned.carriers(2) for i in aligned.content)
    return next(filter(None, backward), None) if aligned.language == LANGUAGE else None


def _of_relative(aligned: Alignment, line: Line, verb: int) -> Clash | None:
    """Find "the press office informs the mayor" where the evidence says "the mayor, who informs the press office"."""
    places = line.places.get(aligned.stems[verb], ()) if aligned.tokens[verb].kind == WORD else ()
    before = [j for j in aligned.content if j < verb and aligned.clauses[j] == aligned.clauses[verb]] if places else []
    for place in places if before else ():
        first, last = min(line.inside(place)), max(line.inside(place))
        if not first or line.words[first] not in _RELATIVE or place - first > NEAR:
            continue
        holder, doer = line.tokens[first - 1].stem, aligned.stems[before[-1]]
        turned_back = [j for j, stem in enumerate(aligned.stems) if stem == holder]
        spots = line.places.get(doer, [])
        if spots and turned_back and min(spots) > place and min(turned_back) > verb and max(spots) <= last:
            return line.clash("role", aligned.quote(before[-1], turned_back[-1]), line.quote(first - 1, last))
    return None


def _swapped(aligned: Alignment, line: Line, one: Run, other: Run, verb: int) -> Clash | bool:
    """Return the clash with a sentence, or whether it has the same roles."""
    first, second = (line.places.get(aligned.stems[run[1]]) for run in (one, other))
    direct = word_set("prepositions").isdisjoint(set(aligned.words[verb + 1 : other[0]]) - {"by"})
    if bool(first) != bool(second) and direct:  # a pronoun replaces the name that the sentence lacks
        spoken = [k for k, word in enumerate(line.words) if word in _SUBJECTS][:1]
        first, second = first or spoken, second or spoken
    if not first or not second or len(first) + len(second) > 2:
        return False
    low, high = sorted((first[0], second[0]))
    same, forms = first[0] < second[0], frozenset((aligned.stems[verb],))
    if forms.isdisjoint(line.places):  # "sold A to B", evidence: "B bought A"
        meant = frozenset(likes(aligned.stems[verb], aligned.language))
        turns = meant.isdisjoint(line.places)
        same, forms = same != turns, opposites(aligned.stems[verb], aligned.language) if turns else meant
    if "with" in aligned.words[verb + 1 : other[0]]:
        return False  # "was linked with", "shares a border with"
    places = sorted(p for stem in forms for p in line.places.get(stem, ()) if low < p < high)
    if not places or min(places[0] - low, high - places[0]) > 5:
        return False
    passive = "by" in aligned.words[verb + 1 : other[0]]  # "was beaten by"
    if (passive == ("by" in line.words[places[0] + 1 : high])) == same:
        return True
    return line.clash("role", aligned.quote(one[0], other[1]), line.quote(low, high))

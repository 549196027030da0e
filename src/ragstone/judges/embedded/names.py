"""Find names of a statement that no passage has, and names or things that stand in each other's place."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final

from ragstone.judges.embedded.alignment import FITS, MOSTLY, Alignment, Clash, Line, ParsedStatement, Place
from ragstone.judges.embedded.thesaurus import LANGUAGE, likes, listed, opposites, slot_lists, verbal, word_set
from ragstone.judges.embedded.words import NAME, WORD, stem_of

PLAIN: Final = 12  # words of a statement whose nouns are looked at as agent and patient
RARE: Final = 4.0  # weight of a word from which a name is looked at for being mixed of others
REST: Final = 0.9  # the share of a statement but its agent that a sentence must have to name another agent
SURELY: Final = 2.0  # how many times more must speak for another name's place
_PASSIVE: Final = frozenset(("by", "von", "par", "por", "da"))
_ARTICLES: Final = frozenset(("the", "a", "an"))


def names(aligned: Alignment) -> Clash | None:
    """Find a name that the evidence has another one for, else the longest that no passage has."""
    found = [clash for run in aligned.names if (clash := _name(aligned, *run)) is not None]
    return max(found, key=lambda one: (bool(one.has), len(one.says)), default=None)


def _name(aligned: Alignment, first: int, last: int) -> Clash | None:
    stems, says = aligned.stems, aligned.quote(first, last)
    strange = [i for i in range(first, last + 1) if not aligned.is_known(stems[i])]
    if any(i > first or _proper(aligned, i) for i in strange):
        if _is_name(aligned, stems[last]):
            return None
        rival = _rival(aligned, first, last)
        if rival is None:
            subject = first <= 1 and not word_set("pronouns").isdisjoint(aligned.lines[0].places)
            return None if subject else Clash("name", says)  # the best sentence may speak of it by a pronoun
        line, run = rival
        if aligned.carries(line, MOSTLY) and _stands_alike(aligned, first, rival, None):
            return line.clash("name", says, line.quote(*run))
        return Clash("name", says)
    if strange or aligned.library.weight(stems[last]) < RARE:
        return None
    if _mixed(aligned, stems[first : last + 1]):
        return Clash("name", says)
    rival, itself = _rival(aligned, first, last), frozenset(range(first, last + 1))
    places = ((line, p) for line in aligned.having(stems[last]) for p in line.places.get(stems[last], ()))
    best = aligned.best(last, places, itself)
    if rival is None or not _stands_alike(aligned, first, rival, best):
        return None
    line, run = rival
    place = aligned.fit(last, line, run[1], itself), line, run[1]
    surely = place[0] >= FITS and aligned.prefers(last, place, best, itself, SURELY)
    return line.clash("name", says, line.quote(*run)) if surely else None


def _stands_alike(aligned: Alignment, first: int, rival: tuple[Line, tuple[int, int]], own: Place | None) -> bool:
    """Return whether another name stands behind the same word, or in another sentence behind some preposition, too."""
    mine, theirs = aligned.behind(first), rival[0].behind(rival[1][0])
    apart = own is not None and own[1] is not rival[0] and mine != "^"
    return mine != "" and (theirs == mine or (apart and theirs not in ("", "^")))


def _is_name(aligned: Alignment, stem: str) -> bool:
    return any(line.tokens[p].kind == NAME for line in aligned.having(stem) for p in line.places.get(stem, ()))


def _proper(aligned: Alignment, i: int) -> bool:
    """Whether a capitalised word that no passage has is a name: not a common word, and no form of one that is there."""
    token = aligned.tokens[i]
    raw = aligned.text[token.start : token.end]
    common = aligned.language == LANGUAGE and listed(token.stem)
    short = (raw.isupper() and aligned.text[token.start - 1 : token.start] == "(") or (raw.islower() and "." in raw)
    if len(raw) < 2 or common or short or set(raw) <= set("IVX"):
        return False  # "(EU)", "e.g.", "IV"
    alone = i == 0 and (len(aligned.tokens) < 2 or aligned.tokens[1].kind != NAME)
    if alone and not any(c.isdigit() or c.isupper() for c in raw[1:]):
        return False
    peoples = _peoples()
    group = peoples.get(token.stem)
    return group is None or not any(aligned.library.has(stem) for stem, own in peoples.items() if own == group)


@lru_cache(maxsize=1)
def _peoples() -> dict[str, int]:
    groups = slot_lists()["peoples"].split()
    return {stem_of(word, "en"): number for number, group in enumerate(groups) for word in group.split("=")}


def _rival(aligned: Alignment, first: int, last: int) -> tuple[Line, tuple[int, int]] | None:
    """The other name of the evidence that stands best in the place of one."""
    own, itself = set(aligned.stems), frozenset(range(first, last + 1))
    runs = {
        (line, run[1]): run
        for line in aligned.lines[:3]
        for run in line.names
        if not _is_date(line, run[1]) and own.isdisjoint(token.stem for token in line.tokens[run[0] : run[1] + 1])
    }
    best = aligned.best(last, runs, itself)
    return None if best is None else (best[1], runs[best[1:]])


def _is_date(side: ParsedStatement, i: int) -> bool:
    months = (pair.partition("=")[0] for pair in slot_lists()["months"].split())
    return side.words[i] in word_set("weekdays") or side.words[i] in months


def _mixed(aligned: Alignment, own: Iterable[str]) -> bool:
    """Return whether only part of a name stands in the evidence, in another name."""
    every = set(own)
    for one, other in pairwise(own):
        lines = dict.fromkeys(line for stem in (one, other) for line in aligned.having(stem))
        if any(_beside(line, one, other) for line in lines):
            continue
        runs = ({token.stem for token in line.tokens[a : b + 1]} for line in lines for a, b in line.names)
        if any((one in stems) != (other in stems) and not stems <= every for stems in runs):
            return True
    return False


def _beside(line: Line, one: str, other: str) -> bool:
    return any(abs(a - b) <= 2 for a in line.places.get(one, ()) for b in line.places.get(other, ()))


def instead(aligned: Alignment) -> Clash | None:
    """Find an agent in whose place the sentence that says all the rest has another name: who founded, who leads.

    Names that stand together in a sentence may be of one thing, and a name that is also a common word a description.
    """
    for run in aligned.names[:1]:
        name = aligned.stems[run[1]]
        rest = [i for i in aligned.content if i > run[1] or 1 < i < run[0]]  # the first word may be of the name
        if not (_acts(aligned, run) and rest and aligned.library.has(name)):
            continue
        wanted = REST * sum(aligned.weight[i] for i in rest)
        for line in aligned.lines[:2]:
            held = sum(aligned.weight[i] * aligned.found(i, line)[1] for i in rest)
            if held < wanted or not wanted or name in line.places:
                continue
            if any(sum(aligned.weight[i] * bool(aligned.found(i, other)[0]) for i in rest) >= wanted / 2
                   for other in aligned.having(name)):  # fmt: skip
                return None
            for there in line.names:
                theirs = line.tokens[there[1]].stem
                proper = not likes(theirs, LANGUAGE) and theirs not in aligned.stems
                apart = proper and not any(name in other.places for other in aligned.having(theirs))
                if apart and _acts(line, there):
                    return line.clash("name", aligned.quote(*run), line.quote(*there))
    return None


def _acts(side: ParsedStatement, run: tuple[int, int]) -> bool:
    """Whether a name begins its sentence, or is the agent of a passive."""
    before = [word for word in side.words[: run[0]] if word not in _ARTICLES]
    begins = not before or (len(before) == 1 and side.text[side.tokens[run[0] - 1].start].isupper())  # "Bob Stein"
    return begins or before[-1] in _PASSIVE


def roles(aligned: Alignment) -> Clash | None:
    """Find two names or things around a verb, the other way round."""
    plain = aligned.language == LANGUAGE and len(aligned.tokens) <= PLAIN
    things = [(i, i) for i in aligned.content if _is_thing(aligned, i)] if plain else []
    for one, other in chain(pairwise(aligned.names), pairwise(things)):
        between = [i for i in aligned.content if one[1] < i < other[0] and aligned.tokens[i].kind == WORD]
        near = between and between[0] - one[1] <= 3 and other[0] - between[0] <= 5
        stem = aligned.stems[between[0]] if near else ""
        if near and (not listed(stem) or verbal(stem) or aligned.words[between[0]] in word_set("dealing")):
            for line in aligned.lines[:3]:
                found = _turned(aligned, line, one, other, between[0])
                if found is not None:
                    return found
    return None


def _is_thing(aligned: Alignment, i: int) -> bool:
    return aligned.tokens[i].kind == WORD and aligned.word(i - 1) in _ARTICLES


def _turned(aligned: Alignment, line: Line, one: tuple[int, int], other: tuple[int, int], verb: int) -> Clash | None:
    first, second = (line.places.get(aligned.stems[run[1]]) for run in (one, other))
    if not first or not second or len(first) + len(second) > 2:
        return None
    low, high = sorted((first[0], second[0]))
    same, verbs = first[0] < second[0], frozenset((aligned.stems[verb],))
    if verbs.isdisjoint(line.places):  # "sold A to B" of "B bought A"
        same, verbs = not same, opposites(aligned.stems[verb], aligned.language)
    places = sorted(p for stem in verbs for p in line.places.get(stem, ()) if low < p < high)
    if not places or min(places[0] - low, high - places[0]) > 4:
        return None
    if (_is_passive(aligned, verb, other[0]) == _is_passive(line, places[0], high)) == same:
        return None
    return line.clash("role", aligned.quote(one[0], other[1]), line.quote(low, high))


def _is_passive(side: ParsedStatement, verb: int, end: int) -> bool:
    """Return whether a verb is in the passive with its agent before ``end``: "was beaten by"."""
    return not _PASSIVE.isdisjoint(side.words[verb + 1 : end])

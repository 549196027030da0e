"""Find statements that are unconditional or general where the evidence has a condition or an exception."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ragstone.judges.embedded.alignment import (
    LONG,
    MOSTLY,
    NEARLY,
    SAME,
    SPOKEN,
    TOGETHER,
    WHOLE,
    Alignment,
    Clash,
    Line,
)
from ragstone.judges.embedded.contrasts import opposed
from ragstone.judges.embedded.model import CONTENT
from ragstone.judges.embedded.parsed_statement import AUXILIARIES, SCOPE, ParsedStatement
from ragstone.judges.embedded.quantities import PRICE, Quantity, agree
from ragstone.judges.embedded.thesaurus import LANGUAGE, opposites, slot_lists, word_set
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import NAME, function_stems, listed_words, pronouns

EXCEPTED = 0.7  # minimum share of a statement in a sentence for its exception to count
BEHIND = 4  # words after a noun within which a limit belongs to it: "orders over 100 euros"
TELLING = 3.0  # minimum weight of a word that tells what a condition is
_APART = re.compile(r";|,\s(?:and|so|also)\b", re.IGNORECASE)
_ONLY = frozenset(("only", "solely", "exclusively"))
ASIDE = 0.3  # minimum share of a statement in a clause on all others
_OTHERS = frozenset(("other", "others", "else"))
_REST = frozenset(("all", "the", "every", "any", "everyone", "everybody", "anyone", "on", "for"))
_COUNTED = frozenset(("them", "these", "those", "which", "whom"))
_MODALS = frozenset(("can", "may", "must"))
_ALLOWED = frozenset(("allowed", "permitted"))
_FORBIDDEN = frozenset(("forbidden", "prohibited", "banned"))
_BE = frozenset(("is", "are", "be", "not"))
_ALL = frozenset(("all", "both", "every", "each", "either", "any"))
_ANYWAY = re.compile(r"\b(?:even (?:if|with|without)|regardless of|whether or not|without)\b", re.IGNORECASE)
_WHATEVER = re.compile(r"\b(?:even if|regardless of|whether or not)\b", re.IGNORECASE)
_CAUSE = re.compile(r"\b(?:because(?: of)?|due to|owing to)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|provided|unless|as long as|on condition)\b", re.IGNORECASE)


@lru_cache(maxsize=1)
def _excepting() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{slot_lists()['exceptions']})\b(?: for\b)?", re.IGNORECASE)


def exception(aligned: Alignment) -> Clash | bool | None:
    """Find a statement about what the evidence excepts, or about all where the evidence makes an exception.

    Returns True if the statement correctly denies what is excepted; its negation is then no clash.
    """
    if _excepting().search(aligned.text):
        return None
    for line in (one for one in aligned.lines[:2] if aligned.carries(one, EXCEPTED)):
        found = _excepting().search(line.text)
        behind = line.behind(found.end()) if found else []
        if found is None or not behind:
            continue
        begin = behind[0]
        spots = range(begin, min(len(line.tokens), begin + SCOPE))
        spots = range(begin, next((p for p in spots if line.clauses[p] != line.clauses[begin]), spots.stop))
        inside = [
            j for j in aligned.content if (places := aligned.found(j, line)[0]) and all(p in spots for p in places)
        ]
        denied = aligned.denial
        part = 0 < 2 * sum(aligned.weight[j] for j in inside) <= aligned.total
        if found[0].lower() == "unless" and not part and not denied:
            continue  # "it can be cancelled", evidence: "it goes on unless it is cancelled"
        every = [j for j, word in enumerate(aligned.words) if word in word_set("universal")]
        free = [any(one.dimension == PRICE for one in side.quantities) for side in (aligned, line)]
        own = (one for one in line.quantities if one.at > spots[-1])
        said = any(agree(one, theirs) for theirs in own for one in aligned.quantities)  # "except members, who pay 5"
        if inside and (denied or said or free[0] != free[1] or opposed(aligned, line, range(len(aligned.tokens)))):
            return True
        if inside or every:
            has = line.quote(max(0, begin - 1 - found[0].count(" ")), spots[-1])
            return line.clash("exception", aligned.around((inside or every)[0]), has)
    return None


def excepted(aligned: Alignment, line: Line, at: int) -> bool:
    """Return whether a word is not about the statement: "5", of members, in "5 euros, except for members, who ..."."""
    found = None if _excepting().search(aligned.text) else _excepting().search(line.text)
    if found is None or line.tokens[at].start > found.start():
        return False
    behind = line.behind(found.end())
    stems = {line.tokens[p].stem for p in behind if p in line.inside(behind[0])}
    return not stems.isdisjoint(aligned.weights) and stems - function_stems(LANGUAGE) <= {*aligned.stems}


def of_the_rest(aligned: Alignment) -> Clash | bool | None:
    """Find "opens at 7 on Mondays" where the evidence says "closed on Mondays, opens at 7 on all other days".

    Returns True for a day that is one of the others.
    """
    return next((found for found in (_of_the_rest(aligned, line) for line in aligned.lines[:2]) if found), None)


def _of_the_rest(aligned: Alignment, line: Line) -> Clash | bool | None:
    others = (p for p, word in enumerate(line.words) if word in _OTHERS and line.word(p - 1) in _REST)
    at = next((p for p in others if line.words[p] != "other" or line.word(p + 1).endswith("s")), None)
    if at is None or not _OTHERS.isdisjoint(aligned.words) or any(aligned.negated):
        return None
    inside, before = line.inside(at), aligned.line(line.passage, max(0, line.sentence - 1))
    there = {j for j in aligned.content if any(p in inside for p in aligned.found(j, line)[0])}
    beside = {line.tokens[p].stem for p in inside}  # "closes at 7 on Fridays" is another fact than "opens at 7"
    if any(not beside.isdisjoint(opposites(aligned.stems[j], aligned.language)) for j in {*aligned.content} - there):
        return None
    bound = [j for j in aligned.content if _is_bound(aligned, j) and j not in there]
    told = sum(aligned.weight[j] for j in aligned.content if j in there or j in bound or aligned.told(j, line))
    if told < EXCEPTED * aligned.total or sum(aligned.weight[j] for j in there) < ASIDE * aligned.total:
        return None
    for j in bound:
        if any(_is_bound(side, p) for side in (line, before) for p in side.places.get(aligned.stems[j], ())):
            return line.clash("exception", aligned.around(j), line.around(at))
        against = opposites(aligned.stems[j], aligned.language)
        if not aligned.is_known(aligned.stems[j]) and not against.isdisjoint((*before.places, *line.places)):
            aligned.agreed.add(j)
            return True
    return None


@lru_cache(maxsize=2)
def _phrases(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{slot_lists()[name]})\b", re.IGNORECASE)


def separate(aligned: Alignment) -> Clash | None:
    """Find "comes with a rain cover" where the evidence says "a rain cover (sold separately)"."""
    if _phrases("separate").search(aligned.text) or not _phrases("including").search(aligned.text):
        return None
    for line in aligned.lines[:2] if aligned.language == LANGUAGE and not any(aligned.negated) else ():
        found = _phrases("separate").search(line.text)
        behind = line.behind(found.start()) if found else []
        inside = line.inside(behind[0]) if behind else range(0)
        own = [range(inside.start, behind[0])] if behind else []
        if own and not own[0]:  # "a rain cover (sold separately)", "not in the box: a rain cover, a lock"
            end = found.end() if found else 0
            own = [line.inside(inside.start - 1)] if inside.start else [line.inside(p) for p in line.behind(end)]
        for item in own:
            stems = {line.tokens[p].stem for p in item if line.words[p] not in word_set("function")}
            stems = {stem for stem in stems if aligned.library.weight(stem) >= CONTENT}
            if stems and stems <= {*aligned.stems}:
                return line.clash("exception", aligned.around(aligned.stems.index(min(stems))), line.around(behind[0]))
    return None


def _is_bound(side: ParsedStatement, i: int) -> bool:
    """Return whether a word follows a preposition: "on *Mondays*", "for the *children*"."""
    return not word_set("prepositions").isdisjoint(side.words[max(0, i - 2) : i])


def condition(aligned: Alignment) -> Clash | None:
    """Find a statement that holds in any case, for all, or for some only, where the evidence states a condition."""
    if aligned.language != LANGUAGE:
        return None
    for line in aligned.carriers(2):
        found = _in_any_case(aligned, line) or _of_all(aligned, line) or _of_these_only(aligned, line)
        found = found or _of_others_only(aligned, line) or _for_another_reason(aligned, line)
        if found is not None:
            return found
    return _without_limit(aligned)


def _in_any_case(aligned: Alignment, line: Line) -> Clash | None:
    """Find "even if the seal is broken" (evidence: "if it is not broken"), "without a ticket" ("if they have one")."""
    anyway = next((one for one in _ANYWAY.finditer(aligned.text) if one[0].lower() not in line.text.lower()), None)
    on = _CONDITION.search(line.text) if anyway else None
    if anyway is None or on is None or _WHATEVER.search(line.text):
        return None
    inside = [j for j in aligned.behind(anyway.end()) if j in aligned.weight][:SCOPE]
    spots = line.behind(on.end())[: 2 * SCOPE]
    held = sum(aligned.weight[j] for j in inside if not set(spots).isdisjoint(aligned.found(j, line)[0]))
    if not inside or held < MOSTLY * sum(aligned.weight[j] for j in inside):
        return None
    return line.clash("condition", aligned.around(inside[0]), line.around(spots[0]))


def _of_all(aligned: Alignment, line: Line) -> Clash | None:
    """Find "all orders" (evidence: "orders over 100 euros"), "on all plans" ("on the Business plan only")."""
    universal = word_set("universal") | {"both"}
    every = [i for i, word in enumerate(aligned.words[:-1]) if word in universal and not aligned.negated[i]]
    every = [i for i in every if aligned.words[i + 1] != "who"]
    parts = (q for q in line.quantities if is_part(line, q)) if every else ()
    some = [q for q in parts if line.tokens[q.at].stem not in aligned.stems]
    for i in every:
        word = aligned.words[i]
        for part in some:  # "all 84 were", evidence: "84, of which 71 were"
            inside = line.inside(part.at)
            if any(p in inside for j in aligned.content if j > i for p in aligned.found(j, line)[0]):
                return line.clash("quantity", aligned.around(i), line.around(part.at))
        for place in aligned.found(i + 1, line)[0]:
            limit = next((q for q in line.quantities if q.bound and 0 < q.at - place <= BEHIND), None)
            if limit is not None and line.tokens[limit.at].stem not in aligned.stems:
                return line.clash("condition", aligned.quote(i, i + 1), line.quote(place, limit.last))
            only = [p for p in line.inside(place) if line.words[p] in _ONLY]
            if word == "both" and only and "both" not in line.words:  # "both queries", evidence: "read queries only"
                return line.clash(
                    "condition", aligned.quote(i, i + 1), line.quote(min(place, *only), max(place, *only))
                )
            limiting = [p for p in range(max(0, place - 3), place) if line.words[p] in _ONLY]
            if limiting and word != "both" and aligned.tokens[i + 1].kind != NAME:
                return line.clash(
                    "condition", aligned.quote(i, i + 1), line.quote(limiting[0], place)
                )  # "only for members"
            kind, light = line.word(place - 1), {"", *word_set("function")} - {"only"}  # "remote employees"
            if kind in light or line.tokens[place - 1].stem in aligned.stems:
                continue
            spots = {place - 1, place, *only}
            if len(spots) > 2 or kind in _ONLY or place == 1 > i:
                return line.clash("condition", aligned.quote(i, i + 1), line.quote(min(spots), max(spots)))
    return None


def is_part(side: ParsedStatement, one: Quantity) -> bool:
    """Return whether a number counts a part of an earlier number: "*71* of them"."""
    return side.word(one.last + 1) == "of" and side.word(one.last + 2) in _COUNTED


def _of_these_only(aligned: Alignment, line: Line) -> Clash | None:
    """Find "only members may" (evidence: "members may"), or "only the bulbs are" ("all parts are")."""
    only = next((i for i, word in enumerate(aligned.words) if word in _ONLY), None)
    if only is None:
        return None
    rest = [j for j in aligned.content if j > BEHIND]
    if not only and line.word(0) in _ALL and rest and all(aligned.found(j, line)[1] for j in rest):
        return line.clash("quantity", aligned.around(0), line.around(0))
    if not aligned.carries(line, NEARLY) or (only and "also" not in line.words):
        return None
    if not word_set("restricting").isdisjoint(line.words) or line.denial:
        return None
    return line.clash("quantity", aligned.around(only), line.around(0))


@lru_cache(maxsize=1)
def _absolutes() -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """Return patterns for what is said to be without limits, each with a pattern for limits that deny it."""
    pairs = ((rf"\b(?:{one})\b", rf"\b(?:{other})") for one, other in slot_lists()["absolutes"])
    return [(re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE)) for one, other in pairs]


def _without_limit(aligned: Alignment) -> Clash | None:
    """Find "insured worldwide" (evidence: "only within Europe"), "unlimited projects" ("up to three projects")."""
    for absolute, limits in _absolutes():
        said = None if limits.search(aligned.text) else absolute.search(aligned.text)
        own = [i for i, token in enumerate(aligned.tokens) if said and said.start() <= token.start < said.end()]
        if not own or aligned.negated[own[0]] or any(absolute.search(line.text) for line in aligned.lines):
            continue
        rest = [j for j in aligned.content if j not in own]
        for line in aligned.lines[:2]:
            limit = limits.search(line.text)
            spots = line.behind(limit.start()) if limit else []
            held = sum(aligned.weight[j] * aligned.spoken(j, line) for j in rest)
            last = max((p for j in rest for p in aligned.found(j, line)[0] if p not in spots), default=-1)
            if limit and last >= 0 and _APART.search(line.text, line.tokens[last].end, limit.start()):
                continue  # "exits are kept free, and if a fire breaks out ..."
            inside = line.inside(spots[0]) if spots else range(0)
            told = {
                stem for p in inside if p in spots and aligned.library.weight(stem := line.tokens[p].stem) >= TELLING
            }
            if told and told <= aligned.weights.keys() and not any(one.at in inside for one in line.quantities):
                continue  # "always wash it when ...", which the statement names as well
            if spots and rest and held >= MOSTLY * sum(aligned.weight[j] for j in rest):
                return line.clash("condition", aligned.around(own[0]), line.around(spots[0]))
    return None


def _of_others_only(aligned: Alignment, line: Line) -> Clash | None:
    """Find "members can change it" where the evidence says "only the owner can change it"."""
    first, does = (next((i for i, word in enumerate(side.words) if word in AUXILIARIES), 0) for side in (aligned, line))
    if line.word(0) not in _ONLY or not does or not first or "only" in aligned.words:
        return None
    if any(aligned.negated) != any(line.negated):
        return None
    rest = [j for j in aligned.content if j > first]
    holders = {token.stem for token in line.tokens[1:does]} - function_stems(LANGUAGE)
    held = sum(aligned.weight[j] for j in rest if any(p > does for p in aligned.found(j, line)[0]))
    if not rest or not holders.isdisjoint(aligned.stems) or held < NEARLY * sum(aligned.weight[j] for j in rest):
        return None
    return line.clash("condition", aligned.quote(0, first - 1), line.quote(0, does - 1))


def _for_another_reason(aligned: Alignment, line: Line) -> Clash | None:
    """Find "because of a flood" where the evidence says "because of a strike"."""
    cause = _CAUSE.search(aligned.text)
    other = _CAUSE.search(line.text) if cause else None
    if cause is None or other is None:
        return None
    inside = [j for j in aligned.behind(cause.end()) if j in aligned.weight]
    theirs = line.behind(other.end())
    before = [j for j in aligned.content if inside and j < inside[0]]
    held = sum(aligned.weight[j] * bool(aligned.found(j, line)[1]) for j in before)
    same = held >= WHOLE * sum(map(aligned.weight.__getitem__, before))  # else the cause may be that of something else
    told = (aligned.found(j, line)[1] or not (same or not aligned.is_known(aligned.stems[j])) for j in inside)
    if not inside or not theirs or any(told):
        return None
    return line.clash("cause", aligned.around(inside[0]), line.around(theirs[0]))


def permitted(aligned: Alignment) -> Clash | bool | None:
    """Find "bikes may be taken on the buses" (evidence: "bikes cannot be carried on the buses"), or the reverse.

    Returns True if both forbid it.
    """
    own = next(_permissions(aligned), None) if aligned.language == LANGUAGE else None
    known = [j for j in aligned.content if aligned.is_known(aligned.stems[j])]
    subject = [j for j in known if own and j < own[0] and aligned.words[j] not in pronouns(LANGUAGE)]
    rest = [j for j in known if own and j > own[0]]
    if own is None or not subject or not rest:
        return _forbidden(aligned)
    weight = aligned.weight.__getitem__
    for line in dict.fromkeys((*aligned.carriers(2), *aligned.having(aligned.stems[rest[0]]))):
        spoken = line.before if line.lends == SPOKEN else frozenset[str]()
        for theirs in _permissions(line):
            start = theirs[0] + 1
            inside = line.inside(theirs[0])
            if line.word(inside.stop) == "or" and line.word(inside.stop + 1) in verbs("base"):  # "cannot smoke or cook"
                inside = range(inside.start, line.inside(inside.stop).stop)
            told = (aligned.stems[j] in spoken or any(p < start for p in aligned.found(j, line)[0]) for j in subject)
            there = {j: places for j in rest if (places := aligned.found(j, line)[0])}
            held = [j for j, places in there.items() if any(p > start and p in inside for p in places)]
            likely = aligned.words[own[0]] == line.words[theirs[0]] == "may"  # "may" as a possibility, not a permission
            whole = len(held) == len(there)  # not "on the website but not in the app"
            words = {line.tokens[p].stem for p in inside if p >= start} - function_stems(LANGUAGE)
            most = 2 * len(held) >= len(words) or sum(map(weight, held)) >= TOGETHER * sum(map(weight, rest))
            if all(told) and held and whole and most and not likely:
                if own[1] == theirs[1]:
                    return own[1] or None
                return line.clash("negation", aligned.around(own[0]), line.around(theirs[0]))
    return None


def _forbidden(aligned: Alignment) -> Clash | None:
    """Find "bring a stove for cooking" where the evidence says "cooking on stoves is not allowed"."""
    denied = aligned.denial or not _FORBIDDEN.isdisjoint(aligned.words)
    if aligned.language != LANGUAGE or denied:
        return None
    wanted = SAME * sum(weight for j, weight in aligned.weight.items() if aligned.stems[j] not in aligned.asked)
    wanted = max(wanted, NEARLY * max(map(aligned.weight_in, aligned.lines), default=0.0))
    for line in (one for one in aligned.lines if aligned.weight_in(one) >= wanted):
        held = {j: places for j in aligned.content if (places := aligned.found(j, line)[0])}
        enough = len(held) > 1 or held.keys() >= {j for j in aligned.content if aligned.words[j] not in _spare()}
        for at, forbids in _permissions(line) if enough and not _CONDITION.search(line.text) else ():
            turns = [p for p in range(1, len(line.tokens)) if line.turns(p) and line.words[p] != "or"]
            inside = range(
                max((p for p in turns if p <= at), default=0), min((p for p in turns if p > at), default=LONG)
            )
            ruled = forbids and line.words[at] not in {"can", "cannot", "may"}  # these may express a possibility
            numbered = any(one.at in inside for one in line.quantities)  # "must not exceed 9%"
            if ruled and not numbered and all(p in inside for places in held.values() for p in places):
                first = next((j for j in held if aligned.stems[j] not in aligned.asked), 0)
                return line.clash("negation", aligned.around(first), line.around(at))
    return None


@lru_cache(maxsize=1)
def _spare() -> frozenset[str]:
    return pronouns(LANGUAGE) | AUXILIARIES | listed_words("selves", LANGUAGE) | {"you"}


def _permissions(side: ParsedStatement) -> Iterator[tuple[int, bool]]:
    """Yield the index of each word that permits or forbids something, and whether it forbids."""
    for i, word in enumerate(side.words):
        if word == "cannot" or word in _FORBIDDEN:
            yield i, word == "cannot" or side.word(i - 1) != "not"
        elif word in _MODALS and (word != "must" or side.word(i + 1) == "not"):
            yield i, side.word(i + 1) == "not"
        elif word in _ALLOWED and side.word(i - 1) in _BE:
            yield i, side.word(i - 1) == "not"

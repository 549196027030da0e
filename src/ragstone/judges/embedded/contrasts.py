"""Find statements that the evidence denies or replaces with the opposite, and the reverse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations

from ragstone.judges.embedded.alignment import CLOSE, FITS, MOSTLY, NEARLY, SAME, Alignment, Clash, Line, Place
from ragstone.judges.embedded.parsed_statement import SCOPE, ParsedStatement
from ragstone.judges.embedded.quantities import agree, ordinals, rivals
from ragstone.judges.embedded.thesaurus import LANGUAGE, allies, likes, opposites, slot_lists, word_set
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, WORD, function_stems, pronouns, stem_of

ALIKE = 0.6  # minimum similarity to another word for a negation in the statement to count
DENIED = 0.8  # ... for a negation in the evidence to count
FAMILIAR = 0.5  # minimum share of the words beside an opposite that the statement also has
AROUND = 6  # words on either side that count as around a place
NEXT = 4  # ... as next to it
ALL = 5  # the rank of "all" and "every" among amounts
_DETERMINERS = frozenset(["the", "a", "an", "its", "his", "her", "their", "our"])
_DEPENDING = frozenset(("depending", "depends", "if", "whether"))
_BEING = frozenset(("is", "was", "are", "were", "can", "may", "does", "did"))
_GIVING = frozenset(("from", "to"))
_REFERRING = frozenset(("it", "them"))
_LIMITING = frozenset(("most", "least"))
_COMPARING = frozenset(("more", "less", "fewer"))  # these are also parts of limits and comparisons
LONG = 22  # words; the clauses of longer sentences are rarely parallel


# ---- negation


def polarity(aligned: Alignment) -> Clash | None:
    """Find a word that is negated on one side only, unless a sentence that fits nearly as well agrees."""
    own, carriers = aligned.negated, aligned.carriers(4)
    if not (any(own) or any(any(line.negated) for line in carriers)):
        return None
    aligned.agreed.update(i for i in aligned.content if any(_denies_opposite(aligned, i, line) for line in carriers))
    # Without word counts, short words are assumed to be function words.
    shortest = 2 if aligned.language == LANGUAGE or not aligned.text[:1].isascii() else 3
    light = pronouns(aligned.language) | word_set("function")
    for i in aligned.content:
        token = aligned.tokens[i]
        if token.kind not in {WORD, NAME} or len(token.stem) < shortest or aligned.words[i] in light:
            continue
        if any(own[j] != own[i] and aligned.stems[j] == aligned.stems[i] for j in aligned.content):
            continue  # "cannot serve while serving elsewhere"
        denied = [own[i] or _denied(aligned, i, line) for line in carriers]
        found: list[tuple[bool, Place]] = []
        for line, unlike in zip(carriers, denied, strict=True) if any(denied) else ():
            places, grade = aligned.found(i, line)
            places = _before_same(aligned, i, line) or places
            best = aligned.best(i, ((line, p) for p in places if line.words[p] not in word_set("light")))
            if best is None or grade < (ALIKE if own[i] else DENIED):
                continue
            near = [p for p in places if aligned.fit(i, line, p) >= 0.6 * best[0]]
            both = own[i] and any(line.negated[p] for p in near) and (_denials(aligned, i, line) or 0) < 2
            alike = not unlike or both or any(_alike(aligned, i, line, p) for p in near)
            alike = alike or _denies_rest(aligned, i, line)
            found.append((alike, best))
        agrees, best = max(found, key=lambda one: (one[1][0], one[0]), default=(True, None))
        agreeing = [place[1] for ok, place in found if ok]
        if agreeing:  # "fast before A", evidence: "need not fast before A. Fast before B."
            whole = (place for ok, place in found if not ok and aligned.outdone(place[1], agreeing))
            agrees, best, found = next(((False, place, []) for place in whole), (agrees, best, found))
        if agrees or best is None or best[0] < FITS / 2:
            continue
        if any(ok and place[0] >= 0.6 * best[0] for ok, place in found) or not aligned.speaks_of(i, *best[1:]):
            continue
        if _of_another(aligned, i, best[1]):
            continue
        if not opposed(aligned, best[1], range(max(0, i - 2), min(len(aligned.tokens), i + 3))):
            return best[1].clash("negation", aligned.around(i), best[1].around(best[2]))
    return None


def _denies_opposite(aligned: Alignment, i: int, line: Line) -> bool:
    """Return whether one side negates a word and the other has its opposite: "does not open", "is closed"."""
    complement = aligned.words[i] in word_set("complements") and not aligned.found(i, line)[0]
    against = opposites(aligned.stems[i], aligned.language) if complement else ()
    return any(line.negated[p] != aligned.negated[i] for stem in against for p in line.places.get(stem, ()))


def _denies_rest(aligned: Alignment, i: int, line: Line) -> bool:
    """Return whether the evidence negates only a part that the statement has: "on the web but not in the app"."""
    but = line.text.find(" but not ")
    behind = set(line.behind(but)) if but >= 0 and aligned.negated[i] else set()
    return any(places and behind.issuperset(places) for places in (aligned.found(j, line)[0] for j in aligned.content))


def _of_another(aligned: Alignment, i: int, line: Line) -> bool:
    """Return whether one of the next two words is only in other sentences: "not treat *viral* infections"."""
    light = pronouns(aligned.language) | word_set("function")
    beside = (j for j in aligned.content if i < j <= i + 2 and aligned.clauses[j] == aligned.clauses[i])
    beside = (j for j in beside if aligned.words[j] not in light)  # not "read *your* data"
    return any(not aligned.told(j, line) and aligned.library.has(aligned.stems[j]) for j in beside)


def _denied(aligned: Alignment, i: int, line: Line) -> bool:
    """Return whether a sentence negates a word everywhere, or at least wherever the statement's next word follows."""
    places = aligned.found(i, line)[0]
    return len(places) > 0 and all(line.negated[p] for p in _before_same(aligned, i, line) or places)


def _before_same(aligned: Alignment, i: int, line: Line) -> list[int]:
    """Return the places of a word where the statement's next word closely follows."""
    j = next((j for j in aligned.content if j > i), None)
    behind = aligned.found(j, line)[0] if j and j <= i + 2 and aligned.clauses[j] == aligned.clauses[i] else ()
    return [
        p
        for p in aligned.found(i, line)[0]
        if any(p < k <= p + 2 and line.clauses[k] == line.clauses[p] for k in behind)
    ]


def _alike(aligned: Alignment, i: int, line: Line, place: int) -> bool:
    """Return whether a word and its place may have the same negation, in their clauses or with adjacent words."""
    mine, theirs = _denials(aligned, i, line), _denials(line, place, aligned)
    if mine is None or theirs is None or (mine - theirs) % 2 == 0:
        return True
    return sum(_counts(side, k) for side, of in ((aligned, i), (line, place)) for k in _joined(side, of)) % 2 == 0


def _counts(side: ParsedStatement, i: int) -> bool:
    """Return whether a word is a negation of its own; "neither" and "nor" are one."""
    return side.denies(i) and not (side.words[i] == "neither" and "nor" in side.words[i:])


def _joined(side: ParsedStatement, i: int) -> range:
    """Return the words around a word, up to "but", "which", "if", or any mark other than a comma."""
    low = high = i
    while low > 0 and i - low < SCOPE and not _parted(side, low):
        low -= 1
    while high + 1 < len(side.tokens) and high - i < SCOPE and not _parted(side, high + 1):
        high += 1
    return range(low, high + 1)


def _parted(side: ParsedStatement, i: int) -> bool:
    between = side.text[side.tokens[i - 1].end : side.tokens[i].start].strip()
    return side.turns(i) and (between != "," or side.words[i] in word_set("turns"))


def _denials(side: ParsedStatement, i: int, other: ParsedStatement) -> int | None:
    """Return the number of negations in a word's clause, or None if it is unclear because of "not until" and the like.

    Words that both sides have make nothing unclear: "not before the test" denies "before the test".
    """
    until = word_set("until") - word_set("prepositions").intersection(other.words)
    leaving, count = word_set("open").difference(set(other.words) - _DEPENDING), 0
    for k in range(max(0, i - SCOPE), min(len(side.tokens), i + SCOPE)):
        if side.clauses[k] == side.clauses[i]:
            count += _counts(side, k)
            opens = side.words[k] in leaving and k != i and (side.words[k] != "if" or k < i) and not side.denies(k)
            priced = (
                side.words[k] == "free"
                and side.word(k + 1) not in ("of", "from")
                and not (k and side.between(k) == "-")
            )
            if (side.words[k] in until and count) or (opens and not priced):
                return None  # "free of nuts" and "nut-free" are negations, "free on Sundays" is a price
    start = side.inside(i).start
    return count or int(
        side.word(start) == "or" and any(side.negated[start + 1 : start + 2])
    )  # "cannot smoke or *cook*"


def opposed(aligned: Alignment, line: Line, places: Iterable[int]) -> bool:
    """Return whether a sentence has the opposite of a word that it lacks: "closed" for "not open"."""
    return any(
        not line.places.keys().isdisjoint(opposites(aligned.stems[i], aligned.language))
        for i in places
        if aligned.stems[i] not in line.places
    )


# ---- opposites, quantities, comparisons


def opposite(aligned: Alignment) -> Clash | None:
    """Find a word where the evidence has its opposite, or another ordinal before the same word."""
    for i in range(len(aligned.tokens)):
        same, other = _ordinals(aligned, i) or _sides_of(aligned, i)
        rival = aligned.best(i, other)
        if rival is None or rival[0] < FITS:
            continue
        line, place = rival[1:]
        if any(one.start <= line.tokens[place].start < one.end for one in line.quantities if one.dimension == "date"):
            continue  # its month
        hours = [q.at for q in line.quantities if q.dimension == "clock" and line.clauses[q.at] == line.clauses[place]]
        if len(hours) > 1 and not aligned.agreed.isdisjoint(q.at for q in aligned.quantities if q.dimension == "clock"):
            aligned.agreed.add(i)  # "open from 10 to 17" means "closes at 17"
            continue
        if i in aligned.same_roles or _converse(aligned, i, line, place):
            aligned.agreed.add(i)
            continue
        own = aligned.best(i, same)
        if own is not None and _at_its_hour(aligned, *own[1:]):
            continue  # "closes at 16 on Saturdays", evidence: "from 10 to 16 on Saturdays. It is closed on Sundays"
        clear = aligned.prefers(i, rival, own) or (same and aligned.outdone(line, [one for one, _ in same], {i}))
        told = _familiar(aligned, line, place) or _whole_clause(aligned, i, line, place)
        told = told and aligned.speaks_of(i, line, place)
        if clear and told and _same_object(aligned, i, line, place):
            return line.clash("opposite", aligned.around(i), line.around(place))
    return None


def _at_its_hour(aligned: Alignment, line: Line, place: int) -> bool:
    """Return whether the clause of a place has a time of day of the statement."""
    hours = [one for one in line.quantities if one.dimension == "clock" and line.clauses[one.at] == line.clauses[place]]
    return any(agree(own, one) for own in aligned.quantities if own.dimension == "clock" for one in hours)


def _converse(aligned: Alignment, i: int, line: Line, place: int) -> bool:
    """Return whether the roles are swapped too: "A lost to B" and "B beat A", "A bought it" and "it was sold to A"."""
    own, theirs = set(aligned.inside(i)), set(line.inside(place))
    passive = aligned.word(i - 1) in _BEING and not aligned.words[i].endswith("ing")
    by = aligned.words.index("by", i) if passive and "by" in aligned.words[i:] else len(aligned.words)
    doers = [j for j in aligned.content if j in own and (j > by if passive else j < i)]
    others = [j for j in aligned.content if j in own and j > i and aligned.tokens[j].kind == NAME]
    spots = [[p for p in aligned.found(j, line)[0] if p in theirs] for j in doers]
    if not any(spots) or any(p < place for one in spots for p in one):
        return False
    named = any(p < place for j in others for p in aligned.found(j, line)[0])
    dealing = aligned.words[i] in word_set("dealing")
    return named or (dealing and any(not _GIVING.isdisjoint(line.words[place:p]) for one in spots for p in one))


def _beside(aligned: Alignment, line: Line, place: int, most: int) -> Iterator[tuple[float, bool, bool]]:
    """Yield for the words close to a place: rarity, whether the statement has it, whether it is in the clause."""
    for p in range(max(0, place - most), min(len(line.tokens), place + most + 1)):
        token, weight = line.tokens[p], aligned.library.weight(line.tokens[p].stem)
        if p == place or token.kind in {NUMBER, NEGATION} or weight < 1 or token.stem in function_stems(LANGUAGE):
            continue
        known = token.stem in aligned.weights or token.stem in aligned.asked
        known = known or any(token.stem in likes(stem, aligned.language) for stem in aligned.weights)
        yield weight, known, line.clauses[p] == line.clauses[place]


def foreign(aligned: Alignment, line: Line, place: int) -> bool:
    """Return whether the statement has none of the words next to a place in its clause, and there are some."""
    beside = [known for _, known, inside in _beside(aligned, line, place, NEXT) if inside]
    return bool(beside) and not any(beside)


def _familiar(aligned: Alignment, line: Line, place: int) -> bool:
    """Return whether the statement has half of the words around a place; other clauses count only if it has them."""
    beside = list(_beside(aligned, line, place, AROUND))
    close = sum(weight for weight, known, _ in beside if known)
    return close >= FAMILIAR * sum(weight for weight, known, inside in beside if known or inside)


def _whole_clause(aligned: Alignment, i: int, line: Line, place: int) -> bool:
    """Return whether a place's clause has nearly all other words of a statement, close to it."""
    inside = {p for p in line.inside(place) if abs(p - place) <= CLOSE}
    held = sum(
        aligned.weight[j] * aligned.found(j, line)[1]
        for j in aligned.content
        if j != i and not inside.isdisjoint(aligned.found(j, line)[0])
    )
    return held >= NEARLY * (aligned.total - aligned.weight.get(i, 0.0))


def _same_object(aligned: Alignment, i: int, line: Line, place: int) -> bool:
    """Return whether two opposites are about the same thing; "15 minutes before it stops", "stops after 15 minutes"."""
    if aligned.words[i] not in word_set("prepositions"):
        denials, open_words = 0, []
        for side, at in ((aligned, i), (line, place)):
            inside = side.inside(at)
            if "than" not in side.words:  # "no team grew more slowly than"
                denials += sum(side.denies(k) for k in inside if k != at and side.words[k] != "without")
            open_words.append({side.words[k] for k in inside if k != at}.intersection(word_set("open")))
        return denials % 2 == 0 and open_words[0] == open_words[1]
    behind = {p for p in line.inside(place) if place < p <= place + SCOPE}
    heads = [j for j in aligned.inside(i) if i < j <= i + SCOPE and j in aligned.weight]
    return not heads or any(not behind.isdisjoint(aligned.found(j, line)[0]) for j in heads)


Sides = tuple[list[tuple[Line, int]], list[tuple[Line, int]]]
"""The places in the evidence with the meaning of a word, and those with its opposite."""


def _sides_of(aligned: Alignment, i: int) -> Sides:
    stem, language, kind = aligned.tokens[i].stem, aligned.language, aligned.tokens[i].kind
    against = opposites(stem, language) if kind == WORD or (i and kind == NAME) else frozenset()
    limit = aligned.word(i + 1) == "than" and any(one.at == i + 2 and one.bound for one in aligned.quantities)
    limit = limit or (aligned.words[i] in _LIMITING and any(i - 3 <= one.last <= i - 2 for one in aligned.quantities))
    both = not against.isdisjoint(set(aligned.stems) - _COMPARING)
    if not against or both or limit or (aligned.denies(i) and aligned.words[i] not in word_set("complements")):
        return [], []
    against = against - _COMPARING.intersection(aligned.stems)
    other = _places(aligned, i, against)
    return _places(aligned, i, {stem} | allies(stem, language) | likes(stem, language).keys()) if other else [], other


def _places(aligned: Alignment, i: int, stems: Iterable[str]) -> list[tuple[Line, int]]:
    """Return the places of some stems where the negation is the same as that of the word."""
    places = [(line, p) for line in aligned.lines[:4] for stem in line.places.keys() & stems for p in line.places[stem]]
    places.sort(key=lambda place: (place[0].passage, place[0].sentence, place[1]))
    return [(line, p) for line, p in places if line.negated[p] == aligned.negated[i]]


def _ordinals(aligned: Alignment, i: int) -> Sides | None:
    """Return the ordinals before the same word ("the *third* floor"), or None if there are none."""
    order, behind = ordinals(), aligned.stems[i + 1 : i + 2]
    if aligned.words[i] not in order or not behind:
        return None
    spots = [(line, p - 1) for line, p in _places(aligned, i, behind) if line.word(p - 1) in order]
    if not spots and aligned.words[i - 2 : i + 2][1::2] == ["the", "of"]:  # "on the first of the month"
        there = ((line, p) for line in aligned.carriers(2) for p in range(2, len(line.words)) if line.words[p] in order)
        spots = [(line, p) for line, p in there if line.words[p - 2 : p] == aligned.words[i - 2 : i]]
    if not spots:
        return None
    same = [(line, p) for line, p in spots if order[line.word(p)] == order[aligned.words[i]]]
    return same, [spot for spot in spots if spot not in same]


@lru_cache(maxsize=16)
def _ranks(language: str) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for kind, words in slot_lists()["quantities"].items():
        for word, rank in (pair.split("=") for pair in words.split()):
            found.setdefault(stem_of(word, language), (kind, int(rank)))
    return found


def graded(aligned: Alignment) -> Clash | None:
    """Find "all" where the evidence has "some", "always" for "sometimes", or "must" for "may"."""
    ranks = _ranks(aligned.language)
    for i, stem in enumerate(aligned.stems):
        if stem not in ranks or aligned.text[aligned.tokens[i].end : aligned.tokens[i].end + 1] == ",":
            continue
        kind, mine = ranks[stem]
        head = next((j for j in aligned.content if i < j <= i + 4 and aligned.stems[j] not in ranks), None)
        before = [aligned.stems[k] for k in range(max(0, i - 2), i)]
        weaker = any(ranks.get(word, ("", 0))[0] == kind for word in before)  # "may require"
        beside = head == i + 1 and (kind, mine) == ("amount", ALL) and aligned.tokens[head].kind != NUMBER
        if head is None or weaker or aligned.negated[i] or (i and aligned.tokens[i - 1].kind == NEGATION):
            continue
        best = aligned.best(head, ((line, p) for line in aligned.lines for p in aligned.found(head, line)[0]))
        if best is None or best[0] < FITS or not aligned.carries(best[1], SAME if beside else MOSTLY):
            continue
        _, line, place = best
        spots = range(max(0, place - 5), min(len(line.tokens), place + 2))
        ranked = (p for p in spots if line.tokens[p].stem in ranks and not _limits(line, p))
        found = [(abs(place - p), p, ranks[line.tokens[p].stem]) for p in ranked]
        near = [(gap, p, rank) for gap, p, (other, rank) in found if other == kind]
        if not near or any(rank == mine for *_, rank in near):
            continue
        _, p, rank = min(near)
        if abs(rank - mine) >= 2 or (mine, rank) == (5, 4):
            return line.clash("quantity", aligned.around(i), line.around(p))
    return None


def _limits(side: ParsedStatement, i: int) -> bool:
    """Return whether a word is part of a limit: "at most", "no more than"."""
    return side.word(i - 1) == "at" or side.word(i + 1) in {"more", "less", "fewer", "later"}


# ---- two parallel clauses


def crossed(aligned: Alignment) -> Clash | None:
    """Find two words that the evidence has in different clauses, each with a counterpart in the other clause.

    "A weighs 5 kg" mixes both clauses of "A weighs 3 kg and B weighs 5 kg".
    """
    for line in aligned.lines[:2]:
        if not aligned.carries(line, NEARLY) or len(line.tokens) > LONG:
            continue
        stated = (i for i, one in enumerate(aligned.tokens) if i in aligned.content or one.kind in {NUMBER, NAME})
        once = ((i, line.places.get(aligned.stems[i], [])) for i in stated)
        halves = [(i, places[0]) for i, places in once if len(places) == 1]
        acts = [j for j in aligned.content if aligned.words[j] in verbs("sure past")]
        done = {p for j in acts for p in aligned.found(j, line)[0]}
        for (one, here), (other, there) in combinations(halves, 2):
            if line.clauses[here] == line.clauses[there] or aligned.clauses[one] != aligned.clauses[other]:
                continue
            behind = (line.words[p] for p in line.inside(here) if p > here and line.word(p + 1) not in _BEING)
            if there < here and not _REFERRING.isdisjoint(behind):
                continue  # "data is encrypted, so our staff cannot read *it*"
            ended = not done.isdisjoint(line.inside(there))  # "and concluded" for "ended"
            if _goes_on(line, there, verbs("sure past") if ended else frozenset()):
                continue
            if _instead(aligned, line, here, line.clauses[there]) is None or _whole(aligned, line, there):
                continue
            second = _instead(aligned, line, there, line.clauses[here])
            if second is not None:
                return line.clash("crossing", aligned.quote(one, other), line.quote(*sorted((second, here))))
    return None


def _goes_on(line: Line, place: int, done: frozenset[str]) -> bool:
    """Return whether a clause shares the subject of the one before: "and was rebuilt"; ``done`` are extra verbs."""
    first, *rest = line.inside(place)
    going = word_set("light") | _BEING | done
    return line.words[first] in word_set("breaks") and bool(rest) and line.words[rest[0]] in going


def _whole(aligned: Alignment, line: Line, place: int) -> bool:
    """Return whether the statement contains the whole clause of a place: "including 5 new ones"."""
    stems = {line.tokens[p].stem for p in line.inside(place) if line.words[p] != "including"}
    return stems.issubset({*aligned.stems, *function_stems(aligned.language)})


def _instead(aligned: Alignment, line: Line, at: int, clause: int) -> int | None:
    """Return the counterpart of a word in another clause, not in the statement; None if there is none."""
    quantity = {one.at: one for one in line.quantities}
    for p, token in enumerate(line.tokens):
        if line.clauses[p] != clause or token.stem in aligned.stems:
            continue
        if at in quantity or p in quantity:
            if at in quantity and p in quantity and rivals(quantity[at], quantity[p]):
                return p
        elif (aligned.library.weight(token.stem) >= 2 or token.kind == NAME) and any(
            _neighbour(line, at + step, at) == _neighbour(line, p + step, p) != "" for step in (-1, 1)
        ):
            return p
    return None


def _neighbour(line: Line, at: int, of: int) -> str:
    """Return a stem beside a word; all numbers, articles and starts of clauses are treated as equal."""
    if at < of and (at < 0 or line.clauses[at] != line.clauses[of] or line.words[at] in word_set("breaks")):
        return "^"
    if at >= len(line.tokens):
        return ""
    if line.words[at] in _DETERMINERS:
        return "the"
    return "#" if line.tokens[at].kind == NUMBER else line.tokens[at].stem

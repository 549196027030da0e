"""Find a name, agent, rank or ending that differs from that of the evidence, and phrases that it does not have."""

from __future__ import annotations

from ragstone.judges.embedded.alignment import FITS, NEARLY, SAME, Alignment, Clash, Line
from ragstone.judges.embedded.naming import BEGUN, one_change
from ragstone.judges.embedded.parsed_statement import ParsedStatement
from ragstone.judges.embedded.thesaurus import (
    LANGUAGE,
    common,
    likes,
    opposites,
    siblings,
    singular,
    synonymous,
    verbal,
    word_set,
)
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, WORD, function_stems, pronouns

CLEAR = 0.7  # minimum similarity of a synonym in the evidence for a word to be known
ALIKE = 5  # first letters shared by related words: "Europe", "European"
LISTED = 3  # maximum distance of words in one list
SWAPPED = 3  # maximum words around the one in which a statement differs, including it
KEPT = 0.5  # minimum share of the rest of that statement
REACH = 4  # words before a name searched for its verb: "flows into the North Sea"
COVERED = 0.7  # minimum share found of the rest of a statement, of which a phrase counts as added
SPEAKING = 3.5  # minimum weight of a word that is meaningful by itself
RARE = 5.0  # ... that makes a phrase of one or two words an addition
ITEM = 4.5  # ... that makes an item of a list one
_AND = frozenset(("and", "or"))
_ARTICLES = frozenset(("the", "a", "an"))


def replaced(aligned: Alignment) -> Clash | None:
    """Find "into the Baltic Sea" (evidence: "into the North Sea"), "the longest" ("one of the longest"), in English.

    For these, the sentence must have most of the rest of the statement.
    """
    if aligned.language != LANGUAGE:
        return None
    if (other := _sibling(aligned)) is not None:
        return other
    for line in aligned.carriers(2):
        found = _name(aligned, line) or _rank(aligned, line)
        if found is not None:
            return found
    if (agent := _agent(aligned)) is not None:
        return agent
    if other := next((found for found in (_swapped(aligned, line) for line in aligned.lines[:2]) if found), None):
        return other
    return next((found for found in (_ending(aligned, line) for line in aligned.lines[:2]) if found), None)


def _swapped(aligned: Alignment, line: Line) -> Clash | None:
    """Find "the larva lives in fresh water" where the evidence has "the larva lives in salt water".

    All but one word is the same, the word is in no passage and no verb, and the one in its place is not related to it.
    """
    own, theirs = aligned.stems, [token.stem for token in line.tokens]
    first, last, begin, end = one_change(own, theirs)
    if not first or max(last - first, end - begin) > SWAPPED:
        return None
    function = function_stems(LANGUAGE)
    said, has = (
        [i for i in part if side.tokens[i].stem not in function]
        for side, part in ((aligned, range(first, last)), (line, range(begin, end)))
    )
    if len(said) != 1 or not 1 <= len(has) <= 2 or not _is_noun(aligned, i := said[0]):
        return None
    kept = aligned.total - aligned.weight[i] >= KEPT * aligned.total
    plain = word_set("function").union(word_set("opening")).isdisjoint(line.words[k] for k in has)
    plain = plain and not any(line.tokens[k].kind in {NUMBER, NEGATION} or _alike(own[i], theirs[k]) for k in has)
    return line.clash("replaced", aligned.quote(i, i), line.quote(has[0], has[-1])) if kept and plain else None


def _is_noun(aligned: Alignment, i: int) -> bool:
    """Return whether a word that no passage has is a noun or adjective, as far as a list of verbs tells."""
    capital = i > 0 and aligned.text[aligned.tokens[i].start].isupper()  # "on the Team plan"
    telling = capital or aligned.weight.get(i, 0.0) >= SPEAKING
    telling = telling and aligned.tokens[i].kind not in {NUMBER, NEGATION} and i in aligned.weight
    telling = telling and aligned.words[i] not in word_set("framing")
    done = aligned.word(i - 1) == "to" or aligned.words[i] in verbs("sure third past") or verbal(aligned.stems[i])
    return telling and not done and is_strange(aligned, i)


def _alike(one: str, other: str) -> bool:
    """Return whether two words are related: synonyms, words with a synonym in common, or with the same beginning."""
    every = ({word, *likes(word, LANGUAGE)} for word in (one, other))
    return one[:ALIKE] == other[:ALIKE] or synonymous(one, other) or not set.isdisjoint(*every)


def _sibling(aligned: Alignment) -> Clash | None:
    """Find "giraffes" (in no passage) where a sentence on the same topic has "elephants" or another of the kind."""
    for i in aligned.content:
        if aligned.is_known(aligned.stems[i]) or any(aligned.found(i, line)[1] for line in aligned.lines):
            continue
        if (against := _described(aligned, i)) is not None:
            return against
        others, own_kind = siblings(aligned.words[i])
        if not others:
            continue
        own = frozenset(map(singular, aligned.words))
        beside = {aligned.stems[k] for k in _listed_with(aligned, i) if singular(aligned.words[k]) in others}
        rest = aligned.total - aligned.weight[i]
        for line in aligned.lines[:3]:
            if aligned.weight_in(line) < SAME * rest:
                continue
            if not own_kind.isdisjoint(map(singular, line.words)):
                break
            if not beside.isdisjoint(line.places):
                return Clash("addition", aligned.quote(i, i))  # "in grey, blue and red", evidence: "in grey and blue"
            places = [p for p, word in enumerate(line.words) if singular(word) in others - own]
            best = aligned.best(i, ((line, p) for p in places))
            if best is not None and best[0] >= FITS:
                return line.clash("opposite", aligned.quote(i, i), line.quote(best[2], best[2]))
    return None


def _listed_with(aligned: Alignment, i: int) -> list[int]:
    """Return the words listed together with a word: "grey" and "blue" for "red" in "grey, dark blue and red"."""
    near = range(max(0, i - LISTED), min(len(aligned.words), i + LISTED + 1))
    joined = [k for k in range(near.start, near.stop - 1) if "," in aligned.between(k + 1) or aligned.words[k] in _AND]
    return [k for k in near if any(min(i, k) <= j < max(i, k) for j in joined)]


def _described(aligned: Alignment, i: int) -> Clash | None:
    """Find "a noisy motor" (in no passage) where the evidence says "a quiet motor"."""
    if i + 1 not in aligned.weight or aligned.clauses[i] != aligned.clauses[i + 1]:
        return None
    against = () if any(aligned.negated) else opposites(aligned.stems[i], aligned.language)
    for line in aligned.having(aligned.stems[i + 1]) if against else ():
        for p in line.places.get(aligned.stems[i + 1], ()):
            same = p and line.words[p] == aligned.words[i + 1] != "than"
            if same and line.tokens[p - 1].stem in against and not any(map(line.denies, line.inside(p))):
                return line.clash("opposite", aligned.quote(i, i + 1), line.quote(p - 1, p))
    return None


def _name(aligned: Alignment, line: Line) -> Clash | None:
    counted = {k for one in aligned.quantities for k in range(one.at, one.last + 1)}  # "in *June* 2021"
    for first, last in (run for run in aligned.names if run[0] not in counted):
        key, own = _belongs_to(aligned, first), set(aligned.stems[first : last + 1])
        rest = [j for j in aligned.content if not first <= j <= last]
        held = sum(aligned.weight[j] * (aligned.found(j, line)[1] - NEARLY) for j in rest)
        if key is None or held < 0:
            continue
        runs = ((one, a, b) for one in aligned.lines for a, b in one.names)
        if any(_belongs_to(one, a) == key and own & _stems(one, a, b) for one, a, b in runs):
            continue
        for a, b in line.names:
            theirs = _stems(line, a, b)
            same = own & theirs
            if _belongs_to(line, a) != key or (same and not all(map(common, same))) or own <= theirs or theirs <= own:
                continue
            elsewhere = [_belongs_to(line, c) for c, d in line.names if own & _stems(line, c, d)]
            if None not in elsewhere:  # not "starts in Oslo and Bergen"
                return line.clash("name", aligned.quote(max(0, first - 2), last), line.quote(max(0, a - 2), b))
    return None


def _agent(aligned: Alignment) -> Clash | None:
    """Find "Norden is run by Lena Voss" where passages only say "the company is run by Jonas Beck"."""
    for first, last in aligned.names:
        key, own = _belongs_to(aligned, first), set(aligned.stems[first : last + 1])
        if key is None or key[1:] != ("by",):
            continue
        lines = aligned.having(key[0])
        agents = [(line, a, b) for line in lines for a, b in line.names if _belongs_to(line, a) == key]
        if not agents or any(not own.isdisjoint(line.places) for line, *_ in agents):
            continue
        line, a, b = agents[0]
        rest = [j for j in aligned.content if not first <= j <= last and not aligned.found(j, line)[1]]
        if all(aligned.tokens[j].kind == NAME and aligned.is_known(aligned.stems[j]) for j in rest):
            return line.clash("name", aligned.quote(max(0, first - 2), last), line.quote(max(0, a - 2), b))
    return None


def _stems(side: ParsedStatement, first: int, last: int) -> set[str]:
    return {side.tokens[k].stem for k in range(first, last + 1)}


def _belongs_to(side: ParsedStatement, name: int) -> tuple[str, ...] | None:
    """Return the verb of a name with the prepositions between; None if there is no verb, or another word."""
    between: list[str] = []
    for k in range(name - 1, max(-1, name - 1 - REACH), -1):
        if side.clauses[k] != side.clauses[name]:
            return None
        token, word = side.tokens[k], side.words[k]
        if word in word_set("prepositions"):
            between.append(word)
        elif token.stem not in function_stems(LANGUAGE) and word not in _ARTICLES:
            if not between and k == name - 1 and side.word(k - 1) in _ARTICLES:
                continue  # "by the architect Ines Prado"
            doing = verbal(token.stem) or word in verbs("third past")
            return (token.stem, *between) if between and doing and token.kind != NAME else None
    return None


def _ending(aligned: Alignment, line: Line) -> Clash | None:
    """Find "issued as store credit" (in no passage) where the evidence says "issued to the original payment method"."""
    long = (i for i in aligned.content if len(aligned.stems[i]) >= ALIKE)
    begun = {i for i in long if any(one.has_start(aligned.stems[i][:ALIKE]) for one in aligned.lines)}
    known = begun.union(i for i in aligned.content if aligned.is_known(aligned.stems[i]))
    heard = [i for i in aligned.content if aligned.found(i, line)[1] >= CLEAR or i in known]
    if not heard:
        return None
    last = heard[-1]
    tail = [i for i in aligned.content if i > last]
    counted = any(tail and one.at >= tail[0] for one in aligned.quantities)
    measured = any(one.at <= last <= one.last and one.dimension == "time" for one in aligned.quantities)
    if not tail or counted or (measured and last in aligned.agreed):
        return None
    if not all(aligned.found(i, line)[0] for i in heard):
        return None
    place = aligned.found(last, line)[0][0]
    prepositions = word_set("prepositions") | {"as"}
    theirs = [p for p in line.inside(place) if p > place]
    if aligned.word(last + 1) not in prepositions | word_set("absolute") or line.word(place + 1) not in prepositions:
        return None
    other = [p for p in theirs if line.tokens[p].stem not in function_stems(LANGUAGE) and p > place + 1]
    if not other or any(line.tokens[p].stem in aligned.weights for p in other):
        return None
    return line.clash("complement", aligned.quote(last, tail[-1]), line.quote(place, other[-1]))


def _rank(aligned: Alignment, line: Line) -> Clash | None:
    for i, word in enumerate(aligned.words):
        if word not in word_set("superlatives") or aligned.word(i - 1) not in word_set("determiners"):
            continue
        places = line.places.get(aligned.stems[i], [])
        if not aligned.is_known(aligned.stems[i]) and not _ranked(aligned):
            return Clash("quantity", aligned.quote(i - 1, i))
        if places and not _one_of(aligned, i) and all(_one_of(line, p) for p in places):
            return line.clash("quantity", aligned.quote(i - 1, i), line.quote(max(0, places[0] - 3), places[0]))
    return None


def _ranked(aligned: Alignment) -> bool:
    """Return whether a compared sentence contains a ranking."""
    ranks = word_set("ranks")
    return any(word in ranks or word.endswith("est") for line in aligned.lines for word in line.words)


def _one_of(side: ParsedStatement, place: int) -> bool:
    return not {"one", "some", "among"}.isdisjoint(side.words[max(0, place - 3) : place])


# ---- additions


def addition(aligned: Alignment) -> Clash | None:
    """Find a phrase of the statement with no match in the passages, if they have nearly all the rest.

    Phrases begin at prepositions, relative pronouns, conjunctions and punctuation. The first one is the subject, which
    may be named differently. A phrase of one word counts only as an item of a list; elsewhere it may be a paraphrase.
    """
    if aligned.language != LANGUAGE:
        return None
    grades = {i: max((aligned.found(i, line)[1] for line in aligned.lines), default=0.0) for i in aligned.content}
    strange = {i for i, grade in grades.items() if not grade and is_strange(aligned, i)}
    if strange:  # synonyms are not listed in both directions: "written", "write"
        near = {like for line in aligned.lines[:2] for stem in line.places for like in likes(stem, LANGUAGE)}
        strange = {i for i in strange if aligned.stems[i] not in near}
    phrases = [(run[0], [i for i in run if i in grades]) for run in _phrases(aligned)[1:]]
    added = [(first, own) for first, own in phrases if own and strange.issuperset(own)]
    rest = grades.keys() - {i for _, own in added for i in own}
    if not added or sum(aligned.weight[i] * (grades[i] - COVERED) for i in rest if not aligned.need_not(i)) < 0:
        return None
    said = []
    for first, own in added:
        item = aligned.words[first] in _AND or aligned.breaks(first)
        least = SPEAKING if len(own) > 2 else ITEM if item else RARE
        if (item or len(own) > 1) and any(_is_telling(aligned, i, least) for i in own):
            said.append(f'"{aligned.quote(own[0], own[-1])}"')
    return Clash("addition", ", ".join(said)) if said else None


def _is_telling(aligned: Alignment, i: int, least: float) -> bool:
    """Return whether a word is rare and no name, verb or adverb, nor one that introduces what passages say."""
    word, rare = aligned.words[i], aligned.weight[i] >= least and aligned.tokens[i].kind == WORD
    done = verbal(aligned.stems[i]) or word in verbs("past") or aligned.word(i - 1) in pronouns(LANGUAGE)
    return rare and not (done or word.endswith("ly") or word in word_set("framing"))


def _phrases(aligned: Alignment) -> list[list[int]]:
    """Split a statement before prepositions (except "of"), conjunctions and punctuation."""
    found: list[list[int]] = []
    for i, word in enumerate(aligned.words):
        if not found or word in word_set("opening") or word in word_set("breaks") or aligned.breaks(i):
            found.append([])
        found[-1].append(i)
    return found


def is_strange(aligned: Alignment, i: int) -> bool:
    """Return whether the passages do not have a word, and the compared sentences none that begins like it."""
    stem = aligned.stems[i]
    if i in aligned.agreed or aligned.is_known(stem):
        return False
    start = stem[: max(BEGUN, len(stem) - 2)]
    return len(stem) <= BEGUN or not any(line.has_start(start) for line in aligned.lines)

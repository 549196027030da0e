"""Find statements about one person or thing that the evidence makes about another.

The holder of a word is the agent of a verb, or the person or thing that a noun describes, if it can be identified: the
start of the clause ("Canberra is the *capital*", "members *get* free returns"), the name after "by" ("*written* by
Lena Brandt"), or, for a noun, the name after it ("its *architect*, Ines Prado") or after "is" ("the *capital* of
Bolivia is Sucre"). A clash requires a sentence that has all the rest but names another holder, and passages in which
the statement's holder has another role.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Final

from ragstone.judges.embedded.alignment import SPOKEN, Alignment, Clash, Line
from ragstone.judges.embedded.naming import ARTICLES, HELPING, calendar, peoples, spelled_alike
from ragstone.judges.embedded.parsed_statement import ParsedStatement
from ragstone.judges.embedded.thesaurus import LANGUAGE, likes, listed, opposites, verbal, word_set
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import (
    NAME,
    NEGATION,
    NUMBER,
    TITLES,
    WORD,
    function_stems,
    listed_words,
    pronouns,
)

SAID: Final = 0.9  # minimum share of a clause without its holder in a sentence that names another holder
NAMED: Final = 0.75  # ... if both holders are names
ENOUGH: Final = 5.0  # minimum weight of that share, of two words or more
ALMOST: Final = 0.8  # minimum share of the best clause's weight in another clause whose holder also counts
PLAIN: Final = 12  # maximum words of a statement whose nouns are checked as agent and patient
_BY: Final = frozenset(("by", "von", "par", "por", "da"))
_PERSONS: Final = (("he", "his", "him"), ("she", "her", "hers"))
_SUBJECTS: Final = frozenset(("he", "she", "it", "they"))
BACK: Final = 3  # preceding sentences searched for the name that a pronoun refers to
_OWNED: Final = ARTICLES | {"its", "his", "her", "their", "our"}
_IS: Final = frozenset(("is", "was", "are", "were"))
_RELATIVE: Final = frozenset(("who", "which", "that"))
_PLURALS: Final = frozenset(("children", "people", "men", "women"))
_EMPTY: Final = ("function", "light", "universal", "breaks", "turns")

Run = tuple[int, int]
"""Adjacent words: first and last token."""


class _Roles:
    """The holders of one sentence."""

    def __init__(self, side: ParsedStatement, language: str) -> None:
        self.side, self.language, self.words, self.tokens = side, language, side.words, side.tokens
        self.clauses: list[list[int]] = [[] for _ in range(side.clauses[-1] + 1 if side.clauses else 0)]
        for k, clause in enumerate(side.clauses):
            self.clauses[clause].append(k)

    def said(self, clause: int) -> tuple[Run, int] | None:
        """Return the holder that a clause names and the first word about it; None if there is none."""
        inside = self.clauses[clause]
        agent = self._agent(inside)
        if agent is not None:
            rest = self.rest(clause, agent)
            before = [k for k in rest if k < agent[0]]
            if _IS.isdisjoint(self.words[agent[0] - 2 : agent[0]]):
                before = (before or rest)[::-1]  # the verb next to "by", or else the first noun of the clause
            return (agent, before[0]) if before else None
        first = self.subject(inside)
        i = None if first is None else next((k for k in inside if k > first[1] and not self.empty(k)), None)
        if first is None or i is None or self.tokens[i].kind in {NUMBER, NEGATION}:
            return None
        listed_only = self.words[first[1] + 1] in word_set("prepositions") and not any(
            verbal(self.tokens[k].stem) or self.words[k] in verbs("sure third past") for k in inside if k > first[1]
        )
        return None if listed_only else (first, i)  # "bordered by A in the south, B in the north"

    def subject(self, inside: Sequence[int]) -> Run | None:
        """Return the first name or word of a clause, skipping empty words; None after a preposition or pronoun."""
        for k in inside:
            word = self.words[k]
            if word in _OWNED and (run := self._named_noun(k + 1)):
                return run  # "her sister *Marit*"
            if self._verb(k):
                return None
            unclear = word in word_set("prepositions") or word in pronouns(self.language)
            if unclear or word.endswith(("'s", "\u2019s")) or self.tokens[k].kind in {NUMBER, NEGATION}:
                return None
            if not self.empty(k):
                run, beside = self._name_at(k), self._name_at(k + 1)
                if run is None and self._capital(k) and beside and beside[0] == k + 1 and k + 1 in inside:
                    return k, beside[1]  # "Mary" of "Mary Lund" begins the sentence
                return run or (k, self._noun_end(k))
        return None

    def embedded(self, clause: int, own: Run) -> list[tuple[Run, int]]:
        """Return other names of a clause with their verbs: "the court found that *Quayline* was to blame"."""
        inside, found = self.clauses[clause], list[tuple[Run, int]]()
        for run in self.side.names if self.language == LANGUAGE else ():
            behind = [k for k in inside if k > run[1]]
            verb = next((k for k in behind if self.words[k] not in HELPING and not self.empty(k)), None)
            helped = behind and self.words[behind[0]] in HELPING
            done = not _BY.isdisjoint(self.words[k] for k in behind)  # by another agent
            if run != own and run[0] in inside and verb is not None and helped and not done:
                found.append((run, verb))
        return found

    def holders(self, place: int) -> list[Run]:
        """Return the holders of a word, several if they are joined; empty if they cannot be identified."""
        clause = self.side.clauses[place]
        inside = self.clauses[clause]
        before = place - 1
        while before > inside[0] and self.words[before] in HELPING:  # "Lena Brandt had *designed*"
            before -= 1
        beside = self._agent(inside) or next(
            (run for run in self.side.names if run[1] == before and not self._counted(run)), None
        )
        if beside is None and self.side.word(place - 1) in _OWNED:
            beside = self._name_at(place + 1)
        if beside is not None:
            return [(0, beside[1]) if beside[0] == 1 and self._capital(0) and not self.empty(0) else beside]
        start = next((k for k in inside if not self.empty(k)), place)
        begun = start < place and not self._verb(start)  # "became a pianist": the subject precedes it
        done = not _BY.isdisjoint(self.words[place : inside[-1]])  # the clause begins with the patient
        if done or (begun and self.subject(inside) is None):
            return []
        found: list[Run] = []
        for number in range(clause, -1, -1):  # "A, the mayor, opened", "A and B opened"
            first = self.subject(self.clauses[number])
            if first is not None and first[1] < place and (not found or self.said(number) is None):
                found.append(first)
            elif found:
                break
        return found

    def kind(self, run: Run) -> str:
        """Return whether a holder is a "name" or a common "noun"; empty if unclear."""
        first, last, single = self.tokens[run[0]], self.tokens[run[1]], run[0] == run[1]
        if self.words[run[1]] in calendar():
            return ""  # "Earlier Tuesday"
        if self.language != LANGUAGE:
            copulas = listed_words("copulas", self.language)
            told = self.side.word(run[0] - 1) in copulas | _BY or (run[0] == 0 and copulas)  # subject first
            return "name" if self._capital(run[0]) and (not single or first.kind == NAME or told) else ""
        stems, behind = self.stems(run), self.side.word(run[0] - 1) in _BY and first.kind == NAME
        strange = any(not listed(s) and len(s) > 1 and s not in peoples() for s in stems)
        written = (
            not single and all(self._capital(k) for k in range(run[0], run[1] + 1)) and stems.isdisjoint(peoples())
        )
        if behind or (self._capital(run[0]) and (strange or written)):
            part = single and not behind and (self._goes_on(run[1] + 1) or self.side.word(run[0] - 1) in ARTICLES)
            return "" if part else "name"  # "Enterprise plan", "the Oscar winner"
        word = self.words[run[1]]
        plural = word in _PLURALS or (listed(last.stem) and word.endswith("s"))
        told = plural or self.side.word(run[0] - 1) in ARTICLES
        return "noun" if told and first.kind != NAME and not (verbal(last.stem) or self._goes_on(run[1] + 1)) else ""

    def telling(self, run: Run) -> str:
        """Return the stem that identifies a holder: the family name, but "security" in "security team"."""
        return self.tokens[run[self.kind(run) != "noun"]].stem

    def rest(self, clause: int, run: Run) -> list[int]:
        """Return the meaningful words of a clause except for its holder."""
        return [k for k in self.clauses[clause] if not run[0] <= k <= run[1] and not self.empty(k)]

    def stems(self, run: Run) -> set[str]:
        """Return the stems of adjacent words, without titles."""
        return {self.tokens[k].stem for k in range(run[0], run[1] + 1) if self.words[k] not in TITLES}

    def held(self, stem: str) -> list[int]:
        """Return for each place of a stem the clause in which it is the holder, or -1."""
        pairs = {k: self.said(self.side.clauses[k]) for k, token in enumerate(self.tokens) if token.stem == stem}
        return [self.side.clauses[k] if one and one[0][0] <= k <= one[0][1] else -1 for k, one in pairs.items()]

    def empty(self, k: int) -> bool:
        """Return whether a word has no meaning by itself."""
        if self.language != LANGUAGE:
            return self.tokens[k].stem in function_stems(self.language) or self.words[k] in word_set("breaks")
        return self.words[k].endswith("ly") or any(self.words[k] in word_set(name) for name in _EMPTY)

    def _agent(self, inside: Sequence[int]) -> Run | None:
        """Return the name after "by", or after "is" at the end of the clause."""
        for k in inside[1:-1]:
            if self.words[k] in _BY:
                return self._named(k + 1)
            run = self._name_at(k + 1) if self.words[k] in listed_words("copulas", self.language) else None
            if run is not None and run[1] == inside[-1]:
                return run
        return None

    def _named(self, k: int) -> Run | None:
        """Return the name at a place, or after its description: "by the Danish firm *Ravn*"."""
        first = self._name_at(k)
        beyond = next((run for run in self.side.names if run[0] > k), None) if self.language == LANGUAGE else None
        if beyond is None or beyond[0] > k + 4 or self.side.clauses[beyond[0]] != self.side.clauses[k]:
            return first
        plain = all(
            self.tokens[n].kind == WORD and not self.empty(n) for n in range((first or (k, k))[1] + 1, beyond[0])
        )
        return beyond if plain and (first is None or self.tokens[first[1]].stem in peoples()) else first

    def _named_noun(self, k: int) -> Run | None:
        """Return the name that follows a noun: "her sister *Marit*", "the contractor *Quayline*"."""
        run = next((one for one in self.side.names if k < one[0] <= k + 2), None)
        plain = run and all(self.tokens[n].kind == WORD and not self.empty(n) for n in range(k, run[0]))
        return run if plain else None

    def _noun_end(self, k: int) -> int:
        """Return the last word of a compound noun: "the security *team*"."""
        while self.language == LANGUAGE and self._goes_on(k + 1):
            k += 1
        return k

    def _goes_on(self, k: int) -> bool:
        """Return whether a word continues a compound noun: "Enterprise plan"."""
        if (
            k >= len(self.words)
            or self.empty(k)
            or self.side.text[self.tokens[k - 1].end : self.tokens[k].start] != " "
        ):
            return False
        finite = verbal(self.tokens[k].stem) or self.words[k] in verbs("sure third past")
        finite = finite or self.side.word(k + 1) in _OWNED
        return self.words[k].endswith("ing") or not finite

    def _verb(self, k: int) -> bool:
        return self.language == LANGUAGE and self.words[k] in verbs("sure past") and not self._capital(k)

    def _counted(self, run: Run) -> bool:
        """Return whether an apparent name is a unit: "64 MB"."""
        return run[0] > 0 and self.tokens[run[0] - 1].kind == NUMBER

    def _capital(self, k: int) -> bool:
        return self.side.text[self.tokens[k].start].isupper()

    def _name_at(self, k: int) -> Run | None:
        while self.side.word(k) in ARTICLES:
            k += 1
        if self.language == "de":  # common nouns are capitalised too
            last = next((n for n in range(k, len(self.tokens)) if not self._capital(n)), len(self.tokens)) - 1
            return (k, last) if last >= k else None
        return next((run for run in self.side.names if run[0] == k), None)


def misattributed(aligned: Alignment) -> Clash | None:
    """Find a word that the statement says of one holder, and a sentence with all the rest of another."""
    mine = _Roles(aligned, aligned.language)
    for clause in range(len(mine.clauses)):
        pair = mine.said(clause)
        if pair is None or (clause and mine.said(clause - 1) is None and mine.subject(mine.clauses[clause - 1])):
            continue  # "A and B are ..."
        own, i = pair
        if (found := _undergone(aligned, mine, clause, own)) is not None:
            return found
        rest = mine.rest(clause, own)
        if len(rest) < 2 <= clause + 1:  # "the bridge, designed by A"
            rest = mine.rest(clause - 1, own) + rest
        found = _of_holder(aligned, mine, own, i, rest)
        for run, verb in mine.embedded(clause, own):
            found = found or _of_holder(aligned, mine, run, verb, [j for j in rest if j >= verb])
        if found is not None:
            return found
    return None


def _undergone(aligned: Alignment, mine: _Roles, clause: int, agent: Run) -> Clash | None:
    """Find "the Borealis was built by Ulvik" (evidence: "the Aurelia was ...") if the passages have both names."""
    own = mine.subject(mine.clauses[clause])
    if own is None or own == agent or mine.kind(own) != "name" or not aligned.is_known(mine.telling(own)):
        return None
    rest = [j for j in mine.rest(clause, own) if j in aligned.weight and not aligned.need_not(j)]
    for line in aligned.lines[:3]:
        graded = [(aligned.weight[j], aligned.found(j, line)) for j in rest]
        if not graded or sum(weight * (grade - SAID) for weight, (_, grade) in graded) < 0:
            continue
        theirs = _Roles(line, aligned.language)
        places = [p for _, (spots, _) in graded for p in spots]
        other = theirs.subject(theirs.clauses[line.clauses[places[0]]])
        same = mine.telling(own) in line.places or line.lends == SPOKEN
        if same or other is None or theirs.kind(other) != "name":
            return None
        return line.clash("role", aligned.quote(own[0], rest[-1]), f"this of {line.quote(*other)}")
    return None


def _of_holder(aligned: Alignment, mine: _Roles, own: Run, i: int, said: Sequence[int]) -> Clash | None:
    rest = [j for j in said if j in aligned.weight and not aligned.need_not(j)]
    kind = mine.kind(own)
    if not kind or i not in rest or len(rest) < 2 or SAID * sum(aligned.weight[j] for j in rest) < ENOUGH:
        return None
    found = _another(aligned, mine, own, i, rest)
    return found or (_of_next_clause(aligned, mine, own, rest) if kind == "name" else None)


def _of_next_clause(aligned: Alignment, mine: _Roles, own: Run, rest: Sequence[int]) -> Clash | None:
    """Find "A scored in the 88th minute" where the evidence says "A scored twice, and B in the 88th minute"."""
    line = aligned.lines[0]
    theirs = _Roles(line, aligned.language)
    held = [clause for clause in theirs.held(mine.telling(own)) if clause >= 0]
    if len(held) != 1 or any(not aligned.found(j, line)[0] for j in rest):
        return None
    beyond = [j for j in rest if all(line.clauses[p] > held[0] for p in aligned.found(j, line)[0])]
    clauses = {line.clauses[p] for j in beyond for p in aligned.found(j, line)[0]}
    if len(clauses) != 1 or SAID * sum(aligned.weight[j] for j in beyond) < ENOUGH:
        return None
    other = theirs.subject(theirs.clauses[min(clauses)])
    if other is None or theirs.kind(other) != "name" or not mine.stems(own).isdisjoint(theirs.stems(other)):
        return None
    return line.clash("role", aligned.quote(own[0], beyond[-1]), f"this of {line.quote(*other)}")


def _holds_another(aligned: Alignment, stem: str, rest: Sequence[int], *, name: bool) -> bool:
    """Return whether the passages never say the same of a holder, which they have in a role, or which is a name."""
    lines = [(line, _Roles(line, aligned.language)) for line in aligned.having(stem)]
    there = [(line, clause) for line, roles in lines for clause in roles.held(stem) if clause >= 0]
    wanted = SAID * sum(aligned.weight[j] for j in rest)
    strange = name and not aligned.is_known(stem)  # "Peter", evidence: "Anna Berg"
    return strange or (
        bool(lines if name else there) and all(_carried(aligned, line, clause, rest) < wanted for line, clause in there)
    )


def _carried(aligned: Alignment, line: Line, clause: int, rest: Sequence[int]) -> float:
    """Return the weight of the words in a clause of the evidence."""
    return sum(aligned.weight[j] for j in rest if any(line.clauses[p] == clause for p in aligned.found(j, line)[0]))


def _another(aligned: Alignment, mine: _Roles, own: Run, i: int, rest: Sequence[int]) -> Clash | None:
    """Return the clash with the first sentence with the rest but another holder; None if one may have the same."""
    stems, stem, kind = mine.stems(own), mine.telling(own), mine.kind(own)
    heads = stems - {stem} if kind == "noun" else frozenset()
    near = stems.union(*(likes(one, aligned.language) for one in stems))
    if kind == "name":
        near |= {token.stem for line in aligned.lines for token in line.tokens if spelled_alike(token.stem, stem)}
    says = aligned.quote(min(own[0], i), max(own[1], i))
    clash: Clash | None = None
    for line in aligned.lines:
        spoken = line.before if line.lends == SPOKEN else frozenset()  # "It was designed by"
        there = {j: 1.0 if aligned.stems[j] in spoken else aligned.found(j, line)[1] for j in rest}
        least = NAMED if kind == "name" else SAID
        if sum(aligned.weight[j] * (grade - least) for j, grade in there.items()) < 0:
            continue
        theirs = _Roles(line, aligned.language)
        held = {p: _carried(aligned, line, line.clauses[p], rest) for p in aligned.found(i, line)[0]}
        most = max(held.values(), default=0.0)
        alike = (one for p, weight in held.items() if weight >= ALMOST * most for one in _told_of(aligned, theirs, p))
        if any(not near.isdisjoint(of.stems(run) - heads) for of, run in alike):
            # "proposed by A", and later "one proposed by B"
            return None
        for place in (p for p, weight in held.items() if weight >= most):
            runs = _told_of(aligned, theirs, place)
            other = all(of.kind(run) == kind and near.isdisjoint(of.stems(run) - heads) for of, run in runs)
            beside = -1 in theirs.held(stem) and (kind == "name" or any(p < place for p in line.places.get(stem, ())))
            if not runs or not other or beside:
                return None
            if all(of is theirs for of, _ in runs) and not _holds_another(aligned, stem, rest, name=kind == "name"):
                return None
            clash = clash or line.clash("role", says, f"this of {runs[0][0].side.quote(*runs[0][1])}")
    return clash


def _told_of(aligned: Alignment, theirs: _Roles, place: int) -> list[tuple[_Roles, Run]]:
    """Return the holders of a word; for "she discovered", the name at the start of a preceding sentence."""
    found = [(theirs, run) for run in theirs.holders(place)]
    line = theirs.side
    said = {line.words[k] for k in theirs.clauses[line.clauses[place]] if k < place}
    person = next((forms for forms in _PERSONS if not said.isdisjoint(forms[:1])), None)
    if found or not isinstance(line, Line) or person is None:
        return found
    for number in range(line.sentence - 1, max(-1, line.sentence - 1 - BACK), -1):
        before = _Roles(aligned.line(line.passage, number), aligned.language)
        first = before.subject(before.clauses[0]) if before.clauses else None
        if first is not None and before.kind(first) == "name":
            sure = len(before.side.names) == 1 or not set(person).isdisjoint(before.words)
            return [(before, first)] if sure else []
        if before.side.word(0) != person[0]:
            break
    return []


def turned(aligned: Alignment) -> Clash | None:
    """Find two names or things around a verb that the evidence has in swapped roles."""
    plain = aligned.language == LANGUAGE and len(aligned.tokens) <= PLAIN
    things = [(i, i) for i in aligned.content if _is_thing(aligned, i)] if plain else []
    for one, other in chain(pairwise(aligned.names), pairwise(things)):
        between = [i for i in aligned.content if one[1] < i < other[0] and aligned.tokens[i].kind == WORD]
        near = between and between[0] - one[1] <= 3 and other[0] - between[0] <= 5
        stem = aligned.stems[between[0]] if near else ""
        if near and (not listed(stem) or verbal(stem) or aligned.words[between[0]] in word_set("dealing")):
            for line in aligned.lines[:3]:
                found = _swapped(aligned, line, one, other, between[0])
                if found is not None:
                    return found
    backward = (_of_relative(aligned, line, i) for line in aligned.carriers(2) for i in aligned.content)
    return next(filter(None, backward), None) if aligned.language == LANGUAGE else None


def _of_relative(aligned: Alignment, line: Line, verb: int) -> Clash | None:
    """Find "the press office informs the mayor" where the evidence says "the mayor, who informs the press office"."""
    before = [j for j in aligned.content if j < verb and aligned.clauses[j] == aligned.clauses[verb]]
    for place in line.places.get(aligned.stems[verb], ()) if before and aligned.tokens[verb].kind == WORD else ():
        first, last = min(line.inside(place)), max(line.inside(place))
        if not first or line.words[first] not in _RELATIVE or place - first > BACK:
            continue
        holder, doer = line.tokens[first - 1].stem, aligned.stems[before[-1]]
        turned_back = [j for j, stem in enumerate(aligned.stems) if stem == holder]
        spots = line.places.get(doer, [])
        if spots and turned_back and min(spots) > place and min(turned_back) > verb and max(spots) <= last:
            return line.clash("role", aligned.quote(before[-1], turned_back[-1]), line.quote(first - 1, last))
    return None


def _is_thing(aligned: Alignment, i: int) -> bool:
    return aligned.tokens[i].kind == WORD and aligned.word(i - 1) in ARTICLES


def _swapped(aligned: Alignment, line: Line, one: Run, other: Run, verb: int) -> Clash | None:
    first, second = (line.places.get(aligned.stems[run[1]]) for run in (one, other))
    direct = word_set("prepositions").isdisjoint(set(aligned.words[verb + 1 : other[0]]) - _BY)
    if bool(first) != bool(second) and direct:  # a pronoun replaces the name that the sentence lacks
        spoken = [k for k, word in enumerate(line.words) if word in _SUBJECTS][:1]
        first, second = first or spoken, second or spoken
    if not first or not second or len(first) + len(second) > 2:
        return None
    low, high = sorted((first[0], second[0]))
    same, forms = first[0] < second[0], frozenset((aligned.stems[verb],))
    if forms.isdisjoint(line.places):  # "sold A to B", evidence: "B bought A"
        same, forms = not same, opposites(aligned.stems[verb], aligned.language)
    if "with" in aligned.words[verb + 1 : other[0]]:
        return None  # "was linked with", "shares a border with"
    places = sorted(p for stem in forms for p in line.places.get(stem, ()) if low < p < high)
    if not places or min(places[0] - low, high - places[0]) > 4:
        return None
    passive = not _BY.isdisjoint(aligned.words[verb + 1 : other[0]])  # "was beaten by"
    if (passive == (not _BY.isdisjoint(line.words[places[0] + 1 : high]))) == same:
        return None
    return line.clash("role", aligned.quote(one[0], other[1]), line.quote(low, high))

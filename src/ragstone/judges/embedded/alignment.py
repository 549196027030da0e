"""Align a statement word by word with the sentences that may support it.

The counterpart of a word is the place in the evidence where most of the words around it occur, preferably in the same
clause. All functions are pure, and the number of compared words is bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from heapq import nsmallest
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from ragstone.judges.embedded.days import days_of
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.parsed_statement import ParsedStatement
from ragstone.judges.embedded.quantities import Quantity, quantities
from ragstone.judges.embedded.statement import Masks, Statement
from ragstone.judges.embedded.tables import Cell
from ragstone.judges.embedded.thesaurus import likes, listed, verbal, word_set
from ragstone.judges.embedded.words import (
    NAME,
    NEGATION,
    NUMBER,
    TITLES,
    function_stems,
    listed_words,
    pronouns,
    tokens_of,
)
from ragstone.segment import shortened

LINES: Final = 6  # evidence sentences compared word by word with the statement
KEPT: Final = 150_000  # words in parsed evidence sentences cached for the next statement
WORDS: Final = 80  # words of a statement that are compared
LONG: Final = 300  # words of an evidence sentence that are compared
PLACES: Final = 8  # places recorded for each of them
REFERS: Final = 4  # first words of a sentence where a pronoun refers to an earlier sentence: "On Sundays it ..."
CLOSE: Final = 13  # maximum distance between related words

AROUND: Final = 0.4  # weight of a word found in the preceding sentences
SPOKEN: Final = 0.7  # ... if the sentence begins with a pronoun
TABLE: Final = 0.3  # ... in another cell of the row, another column's heading, or the caption
EARLIER: Final = 0.75  # ... in an earlier clause of the sentence
LATER: Final = 0.4  # ... in a later clause
ELSEWHERE: Final = 0.5  # weight of a word in another clause of the statement
NUMBERS: Final = 2.0  # factor for the other numbers of the statement

FITS: Final = 0.18  # minimum fit of a place for its content to contradict the statement
SAME: Final = 0.42  # minimum share of a statement in a sentence that denies it or says the opposite
MOSTLY: Final = 0.6  # ... whose value is reported as the right one
NEARLY: Final = 0.8  # ... that has two clauses the statement mixes up
WHOLE: Final = 0.9  # minimum share of a statement without its value in a sentence that outdoes the value's own sentence
TOGETHER: Final = 0.3  # minimum share of a clause's words close to a place on the same topic
MARGIN: Final = 0.08  # how much better the place of another value must fit than that of the statement's own
APART: Final = 0.4  # how much closer a word must be to one of two places to decide between them alone


class Clash(NamedTuple):
    """A mismatch: the statement ``says`` one thing and the evidence ``has`` another (empty: found in no passage).

    ``same``: that sentence shares enough with the statement to contradict it; otherwise, it is only the nearest one.
    """

    kind: str
    says: str
    has: str = ""
    passage: int = -1
    sentence: int = -1
    same: bool = False


class Line(ParsedStatement):
    """An evidence sentence with an index of its words by stem.

    ``above``: the stems that a table row inherits from its table. ``before``: these and the stems of the two preceding
    sentences. ``heads``: the stems of the column and row headings of each word in a row.
    """

    def __init__(self, library: Library, passage: int, sentence: int) -> None:
        text = library.texts[passage]
        super().__init__(text.tokens(sentence)[:LONG], text.sentence(sentence))
        self.passage, self.sentence = passage, sentence
        self._start = text.spans[sentence].start
        self.places: dict[str, list[int]] = {}
        for i, token in enumerate(self.tokens):
            known = self.places.get(token.stem)
            if known is None:
                self.places[token.stem] = [i]
            elif len(known) < PLACES:
                known.append(i)
        for day, i in days_of(self.tokens, self.text, self.places):
            self.places.setdefault(day, [i])
        self._lent = text.headings(sentence) if sentence in text.rows else []
        self.above = {token.stem for token in self._lent}
        self.before = self.above.union(*map(text.stems, range(max(0, sentence - 2), sentence)))
        # The weight of a word found in the preceding sentences.
        self.lends = SPOKEN if self.word(0) in listed_words("subjects", library.language) else AROUND
        self.refers = not pronouns(library.language).isdisjoint(self.words[:REFERS])
        self.heads = self._heads(library, text.cells(sentence)) if sentence in text.rows else ()

    def has_start(self, start: str) -> bool:
        """Return whether a stem of the sentence begins with some letters."""
        return f" {start}" in self._joined

    @cached_property
    def _joined(self) -> str:
        return " ".join(("", *self.places))

    @cached_property
    def numbers(self) -> list[int]:
        """The positions of numbers, and of words such as "free"."""
        free = word_set("free")
        return [i for i, token in enumerate(self.tokens) if token.kind == NUMBER or self.words[i] in free]

    @cached_property
    def coordinate(self) -> frozenset[int]:
        """The clauses that begin with a conjunction or a number; words about an earlier number do not apply to them."""
        numbers, of = word_set("breaks"), self.clauses
        return frozenset(
            of[i]
            for i in range(1, len(of))
            if of[i] != of[i - 1] and (self.tokens[i].kind == NUMBER or self.words[i] in numbers)
        )

    @cached_property
    def lent(self) -> frozenset[int]:
        """The clauses that end with a bare number and share the words before them: "A costs 3 euros a day, B 5"."""
        lent = set[int]()
        for clause in range(1, self.clauses[-1] + 1 if self.clauses else 0):
            inside = [i for i, one in enumerate(self.clauses) if one == clause]
            spoken = any(self.words[i] in word_set("prepositions") for i in inside)
            if self.tokens[inside[-1]].kind == NUMBER and not spoken:
                lent.add(clause)
        return frozenset(lent)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The quantities; for a table row, also their multiples by the power of ten that the table names."""
        found = quantities(self.tokens, self.words, self.text)
        scaled = {token.start - self._start: token.stem for token in self._lent if token.kind == NUMBER}
        values = [(one, float(scaled[one.start][1:])) for one in found if one.start in scaled]
        return [*found, *(one._replace(value=value, written=value) for one, value in values)]

    def _heads(self, library: Library, cells: Sequence[Cell]) -> tuple[frozenset[str], ...]:
        stems = [
            frozenset(t.stem for t in tokens_of(f"{cell.row_heading} {cell.column_heading}", library.language))
            for cell in cells
        ]
        starts = [token.start + self._start for token in self.tokens]
        return tuple(
            next((own for own, cell in zip(stems, cells, strict=True) if cell.start <= at < cell.end), frozenset())
            for at in starts
        )

    def clash(self, kind: str, says: str, has: str) -> Clash:
        """Return a clash with this sentence."""
        return Clash(kind, says, has, self.passage, self.sentence)


Place = tuple[float, Line, int]
"""A place in the evidence: its fit, its sentence, and the index of its word."""


class _Lines(dict[tuple[int, int], Line]):
    """The parsed evidence sentences by place, with their total number of words."""

    words: int = 0


_read: Final = WeakKeyDictionary[Library, _Lines]()


class Alignment(ParsedStatement):
    """A statement aligned with the sentences that may support it."""

    def __init__(self, text: str, statement: Statement, masks: Masks, library: Library, asked: Collection[str]) -> None:
        super().__init__(statement.tokens[:WORDS], text)
        self.library, self.language = library, library.language
        self.stems = stems = [token.stem for token in self.tokens]
        self.weights = statement.weights
        self.premises = frozenset(stem for stem in asked if stem[:1] in {"#", "@"})  # numbers of the question
        self.asked = frozenset(asked) - self.premises
        self.content = [i for i, stem in enumerate(stems) if stem in self.weights]
        self.weight = {i: self.weights[stems[i]] for i in self.content}
        self.total = sum(self.weight.values())
        if library not in _read or _read[library].words > KEPT:
            _read[library] = _Lines()
        self._lines = _read[library]
        ranked = nsmallest(LINES, masks, key=lambda place: (-statement.share(masks[place]), place))
        self.lines = [self.line(*place) for place in ranked]
        self.agreed: set[int] = set()
        self.same_roles: set[int] = set()  # verbs with the same roles as a converse verb of the evidence
        self._units = {k for one in self.quantities for k in range(one.at + 1, one.last + 1)}
        self._counted = frozenset(k for one in self.quantities for k in range(one.at, one.last + 1))
        self._likes = [
            {} if token.kind in {NUMBER, NEGATION} else likes(token.stem, self.language) for token in self.tokens
        ]
        self._found: dict[Line, list[tuple[Sequence[int], float]]] = {}
        self._near: dict[int, list[tuple[int, float]]] = {}
        self._carried: dict[Line, float] = {}
        self._topics: dict[Line, list[int]] = {}
        self._named: dict[int, frozenset[int]] = {}

    def line(self, passage: int, sentence: int) -> Line:
        """Return an evidence sentence."""
        place = (passage, sentence)
        if place not in self._lines:
            self._lines[place] = Line(self.library, passage, sentence)
            self._lines.words += len(self._lines[place].tokens)
        return self._lines[place]

    def from_start(self, run: tuple[int, int]) -> tuple[int, int]:
        """Return a name with the first word of the statement, if it is a part of it: "*Tom* Holm"."""
        begun = run == (1, 1) and self.between(1) == " " and not listed(self.stems[1]) and self.words[0] not in TITLES
        lines = self.having(self.stems[0]) if begun and 0 in self.weight else []
        places = ((line.tokens, p) for line in lines for p in line.places.get(self.stems[0], ()))
        named = any(NAME in {tokens[p].kind, tokens[p or 1].kind} for tokens, p in places if len(tokens) > 1)
        return (0, run[1]) if named else run

    def having(self, stem: str) -> list[Line]:
        """Return a few of the sentences that contain a stem."""
        return [self.line(*place) for place in self.library.sentences_with(stem, LINES, 2 * LINES)]

    def is_known(self, stem: str) -> bool:
        """Return whether a stem occurs in the question or in a passage."""
        return stem in self.asked or self.library.has(stem)

    def need_not(self, i: int) -> bool:
        """Return whether a word occurs in the question but in no passage, so the evidence need not contain it."""
        return self.stems[i] in self.asked and not self.library.has(self.stems[i])

    def found(self, i: int, line: Line) -> tuple[Sequence[int], float]:
        """Return the places of a word or its synonyms in a sentence, and the weight of the match."""
        return (self._found.get(line) or self._find(line))[i]

    def _find(self, line: Line) -> list[tuple[Sequence[int], float]]:
        found: list[tuple[Sequence[int], float]] = []
        there, words = line.places, line.places.keys()
        for stem, known in zip(self.stems, self._likes, strict=True):
            if stem in there:
                found.append((there[stem], 1.0))
            elif not known or words.isdisjoint(known):
                found.append(((), 0.0))
            else:
                near = [(grade, there[like]) for like, grade in known.items() if like in there]
                found.append(([place for _, places in near for place in places], max(grade for grade, _ in near)))
        self._found[line] = found
        return found

    def told(self, j: int, line: Line, but: Line | None = None) -> float:
        """Return the weight of a word in a sentence or the two before; ``but`` only counts if a pronoun refers back."""
        grade, stem = self.found(j, line)[1], self.stems[j]
        if grade or stem not in line.before:
            return grade
        if line.refers or but is None or but.passage != line.passage or stem in line.above:
            return 1.0
        text, before = self.library.texts[line.passage], range(max(0, line.sentence - 2), line.sentence)
        return float(any(stem in text.stems(n) for n in before if n != but.sentence))

    def spoken(self, j: int, line: Line) -> float:
        """Return the weight of a word in a sentence, or in those before it if a pronoun refers to them."""
        return self.told(j, line) if line.refers else self.found(j, line)[1]

    def near(self, i: int) -> list[tuple[int, float]]:
        """Return the other content words of the statement and their weights, by rarity and distance from a word.

        Numbers count more than words; the units of other numbers do not count.
        """
        known = self._near.get(i)
        if known is None:
            known = self._near[i] = []
            for j in self.content:
                if self.stems[j] == self.stems[i] or j in self._units:
                    continue
                weight = self.weight[j] / (1 + abs(j - i) / 4)
                weight *= NUMBERS if self.tokens[j].kind == NUMBER else 1.0
                known.append((j, weight * (1.0 if self.clauses[j] == self.clauses[i] else ELSEWHERE)))
        return known

    def held(self, j: int, line: Line, place: int) -> float:
        """Return how close a word of the statement is to a place in the evidence, in [0, 1].

        An earlier clause also applies to later ones; a later clause applies less to earlier ones. In a table row, words
        of the column and row headings are next to the place.
        """
        places, grade = self.found(j, line)
        stem = self.stems[j]
        if line.heads:
            headed = stem in line.heads[place] or not line.heads[place].isdisjoint(self._likes[j])
            return 1.0 if headed else TABLE * (bool(places) or stem in line.above)
        if not places:
            return line.lends if stem in line.before else 0.0
        clause_of = line.clauses
        clause, before, gap = clause_of[place], -1, LONG + 1
        for p in places:
            if clause_of[p] == clause:
                gap = min(gap, abs(place - p))
            elif clause_of[p] < clause:
                before = max(before, p)
        if gap <= LONG:
            return grade / (1 + gap / 20)
        if before < 0:
            return grade * LATER
        first = line.numbers[0] if line.numbers else len(line.tokens)
        between = any(before < number < place for number in line.numbers)
        own = clause in line.coordinate and any(clause_of[number] == clause_of[before] for number in line.numbers)
        if min(places) <= first or clause in line.lent or not (between or own):
            return grade * EARLIER
        of = line.word(before - 1) == "of" and any(one.last == before - 2 for one in line.quantities)
        prepositions = word_set("prepositions")
        at = line.tokens[before].kind == NAME and line.word(before - 1) in prepositions
        at = at and prepositions.isdisjoint(line.words[p] for p in line.inside(place) if p < place)
        return grade * (EARLIER if of or at else LATER)  # "5 GB of storage in Oslo, and the other one 10 GB"

    def fit(self, i: int, line: Line, place: int, without: frozenset[int] = frozenset()) -> float:
        """Return how well a place in the evidence corresponds to a word, by the words around both, in [0, 1]."""
        held = total = 0.0
        found, headed = self._found.get(line) or self._find(line), bool(line.heads)
        for j, weight in self.near(i):
            if j not in without:
                total += weight
                if headed or found[j][0]:
                    held += weight * self.held(j, line, place)
                elif self.stems[j] in line.before:
                    held += weight * line.lends
        return held / total if total else 1.0

    def best(self, i: int, places: Iterable[tuple[Line, int]], without: frozenset[int] = frozenset()) -> Place | None:
        """Return the place in the evidence that corresponds best to a word; the first one of equals."""
        return max(
            ((self.fit(i, line, place, without), line, place) for line, place in places),
            key=lambda found: found[0],
            default=None,
        )

    def prefers(self, i: int, rival: Place, own: Place | None, without: frozenset[int] = frozenset()) -> bool:
        """Return whether a rival's place clearly corresponds better to a word than the word's own place.

        The words closer to one place than to the other decide. If the two places are in different passages, the rival
        is never preferred.
        """
        if own is not None and (own[1].passage != rival[1].passage or self._nearest(i, rival, own, without)):
            return False
        ours = theirs = total = 0.0
        beside = False  # a word of the same clause supports the rival; other clauses have other topics
        for j, weight in self.near(i):
            if j in without:
                continue
            total += weight
            gain = self.held(j, *rival[1:]) - (0.0 if own is None else self.held(j, *own[1:]))
            if gain > 0:
                theirs += weight * gain
                beside = beside or self.clauses[j] == self.clauses[i]
            else:
                ours -= weight * gain
        return beside and theirs > ours + MARGIN * total

    def _nearest(self, i: int, rival: Place, own: Place, without: frozenset[int]) -> bool:
        """Return whether the adjacent words, or the nearest word that separates the places, support the word's own."""
        theirs, ours = (line.beside(at) for _, line, at in (rival, own))
        beside = self.beside(i)
        told = not own[1].heads and not self.weights.keys().isdisjoint(beside)  # every price cell has a "$"
        if told and ours == beside != theirs:
            return True
        for j, _ in sorted(self.near(i), key=lambda pair: abs(pair[0] - i)):
            if j not in without and abs(gain := self.held(j, *rival[1:]) - self.held(j, *own[1:])) >= APART:
                return gain < 0
        return False

    def outdone(self, line: Line, mine: Iterable[Line], without: Collection[int] = ()) -> bool:
        """Return whether a sentence has all the statement ``without`` some words, and each of ``mine`` lacks more."""
        units = without or self._counted
        words = [j for j in self.content if j not in units and not self.need_not(j)]
        graded = {j: self.spoken(j, line) for j in words if self.words[j] not in word_set("light")}
        theirs = {j: grade for j, grade in graded.items() if grade or not verbal(self.stems[j])}  # verbs are reworded
        if line.heads or sum(self.weight[j] * (grade - WHOLE) for j, grade in theirs.items()) < 0:
            return False
        gains = [[grade - self.told(j, own, line) for j, grade in theirs.items()] for own in dict.fromkeys(mine)]
        return all(max(own, default=0) >= WHOLE and min(own) > -APART for own in gains)

    def weight_in(self, line: Line) -> float:
        """Return the weight of the statement's words in a sentence; synonyms count in part."""
        known = self._carried.get(line)
        if known is None:
            held = sum(self.weight[j] * self.found(j, line)[1] for j in self.content)
            if line.lends == SPOKEN:
                lent = (j for j in self.content if self.stems[j] in line.before and not self.found(j, line)[1])
                held += SPOKEN * sum(self.weight[j] for j in lent)
            known = self._carried[line] = held
        return known

    def carries(self, line: Line, share: float = SAME) -> bool:
        """Return whether a sentence shares enough with the statement to contradict it."""
        return self.weight_in(line) >= share * (self.total - sum(map(self.weight.__getitem__, self._topic(line))))

    def _topic(self, line: Line) -> list[int]:
        """Return the names that a sentence need not repeat because an earlier sentence of its passage has them."""
        if line not in self._topics:
            index = self.library.texts[line.passage].index
            names = [j for j in self.content if self.tokens[j].kind == NAME and not self.found(j, line)[0]]
            said = (min(index.get(self.stems[j], (line.sentence,))) for j in names)
            self._topics[line] = [j for j, first in zip(names, said, strict=True) if first < line.sentence]
        return self._topics[line]

    def matches(self, line: Line) -> bool:
        """Return whether a sentence has nearly all of the statement's words and hardly any others."""
        light = function_stems(self.language)
        others = {t.stem for t in line.tokens if t.kind != NEGATION} - self.weights.keys() - light
        beyond = sum(
            self.library.weight(stem) for stem in others if not likes(stem, self.language).keys() & self.weights
        )
        return self.carries(line, WHOLE) and beyond <= (1 - WHOLE) * self.total

    def carriers(self, most: int) -> list[Line]:
        """Return those of the ``most`` best sentences that share enough with the statement to contradict it."""
        found = [line for line in self.lines[:most] if self.carries(line)]
        return [
            one for one in found if self.named(one.passage) or not any(self.named(line.passage) for line in self.lines)
        ]

    def named(self, passage: int) -> frozenset[int]:
        """Return which names of the statement, with a number after them, a passage contains: "Corvo 300"."""
        known = self._named.get(passage)
        if known is None:
            index = self.library.texts[passage].index
            runs = [
                (first, last + (last + 1 < len(self.tokens) and self.tokens[last + 1].kind == NUMBER))
                for first, last in self.names
                if not self._counted.intersection(range(first, last + 1))
            ]
            known = frozenset(first for first, last in runs if index.keys() >= {*self.stems[first : last + 1]})
            self._named[passage] = known
        return known

    def speaks_of(self, i: int, line: Line, place: int) -> bool:
        """Return whether a place has the topic of a word's clause: enough words of the clause are close to it."""
        close = total = 0.0
        topic = self._topic(line)
        for j in self.content:
            if j != i and self.clauses[j] == self.clauses[i] and j not in topic:
                weight = self.weight[j]
                places, grade = self.found(j, line)
                total += weight
                lent = line.lends == SPOKEN and self.stems[j] in line.before
                close += weight * (grade * any(abs(p - place) <= CLOSE for p in places) or SPOKEN * lent)
        return close >= TOGETHER * total and self.carries(line)

    def whole(self, kind: str, line: Line) -> Clash:
        """Return a clash of the whole statement with a whole sentence."""
        return line.clash(kind, shortened(self.text), shortened(line.text))

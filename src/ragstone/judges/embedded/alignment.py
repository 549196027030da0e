"""A statement beside the sentences that could carry it, word by word.

What corresponds to a word of the statement is told by the words around it: the place of the evidence where most of them
stand, within the same clause first. Everything here is pure, and bounded in the words that are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from heapq import nsmallest
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.quantities import Quantity, quantities
from ragstone.judges.embedded.statement import Masks, Statement
from ragstone.judges.embedded.tables import Cell
from ragstone.judges.embedded.thesaurus import likes, word_set
from ragstone.judges.embedded.words import NEGATION, NUMBER, Token, tokens_of

LINES: Final = 6
"""Sentences of the evidence that are compared with the statement, word by word."""


KEPT: Final = 150_000
"""Words of sentences of the evidence that are kept for the next statement."""


WORDS: Final = 80
"""Words of a statement whose slots are looked at."""


LONG: Final = 300
"""Words of a sentence of the evidence that are compared, and ..."""


PLACES: Final = 8
"""... places of each."""


AROUND: Final = 0.4
"""What a word counts that stands in the sentence before instead."""


MARGIN: Final = 0.08
"""By how much the place of another value must fit better than that of the statement's own."""


TABLE: Final = 0.3
"""What a word counts that stands in another cell of the row, in the heading of another column, or in the caption."""


NUMBERS: Final = 2.0
"""How many times its rarity another number of the statement counts."""


APART: Final = 0.4
"""By how much nearer a word must stand to one of two places to tell them apart by itself."""


SAME: Final = 0.42
"""The share of a statement that a sentence must have to deny it or to say the opposite."""

ELSEWHERE: Final = 0.5
"""What a word of another clause of the statement counts."""


EARLIER: Final = 0.75


LATER: Final = 0.25
"""What a word counts that stands in an earlier or a later clause of the sentence."""


CLEARLY: Final = 1.0
"""How many times more must speak for another value's place."""


BREAK: Final = 8
"""Letters of the longest conjunction."""


FITS: Final = 0.18
"""How well a place must fit for what stands there to count against the statement."""


SURELY: Final = 2.5
"""The same of another name's place."""


SHOWN: Final = 60
"""Characters of a value that are quoted."""


CLOSE: Final = 10
"""Words between two that are said together."""


MOSTLY: Final = 0.6
"""The share of a statement that a sentence must have for a value there to be given as the right one."""


TOGETHER: Final = 0.3
"""The share of a clause's words that must stand close to a place for what is there to contradict it."""


FAR: Final = LONG + 1
"""Farther than any two words of a sentence stand apart."""


_NOWHERE: Final[tuple[Sequence[int], float]] = ((), 0.0)


class Clash(NamedTuple):
    """What the statement ``says`` and the evidence ``has`` (empty: no passage has it), and the sentence that has it.

    ``same``: whether that sentence has enough of the statement to contradict it; else it is the nearest.
    """

    kind: str
    says: str
    has: str
    passage: int
    sentence: int
    same: bool = True


class Line:
    """A sentence of the evidence and its words by stem.

    ``above``: the stems that a row has from its table; ``around``: these and those of the sentences shortly before.
    """

    def __init__(self, library: Library, passage: int, sentence: int) -> None:
        text = library.texts[passage]
        span = text.spans[sentence]
        self.passage, self.sentence = passage, sentence
        self.text = text.text[span.start : span.end]
        self.tokens: Sequence[Token] = text.tokens(sentence)[:LONG]
        self.places: dict[str, list[int]] = {}
        for i, token in enumerate(self.tokens):
            known = self.places.get(token.stem)
            if known is None:
                self.places[token.stem] = [i]
            elif len(known) < PLACES:
                known.append(i)
        self.clauses = clauses(self.tokens, self.text)
        lent = text.headings(sentence) if sentence in text.rows else []
        self.above = {token.stem for token in lent}
        self.around = self.above.union(*map(text.stems, range(max(0, sentence - 2), sentence)))
        self._scaled = [(token, span.start) for token in lent if token.kind == NUMBER]
        self.heads = self._heads(library, text.cells(sentence)) if sentence in text.rows else ()

    @cached_property
    def numbers(self) -> list[int]:
        """Its numbers, and the words that say that something is free."""
        free = word_set("free")
        return [
            i
            for i, token in enumerate(self.tokens)
            if token.kind == NUMBER or self.text[token.start : token.end].lower() in free
        ]

    @cached_property
    def coordinate(self) -> frozenset[int]:
        """The clauses that a conjunction or a number begins: what is said before of another number is not theirs."""
        breaks = word_set("breaks")
        return frozenset(
            self.clauses[i]
            for i in range(1, len(self.tokens))
            if self.clauses[i] != self.clauses[i - 1]
            and (
                self.tokens[i].kind == NUMBER or self.text[self.tokens[i].start : self.tokens[i].end].lower() in breaks
            )
        )

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Its quantities; of a table's row also those times the power of ten that the table names."""
        found = quantities(self.tokens, self.text)
        scaled = [
            one._replace(value=float(token.stem[1:]), written=float(token.stem[1:]))
            for token, start in self._scaled
            for one in found
            if one.start == token.start - start
        ]
        return found + scaled

    def _heads(self, library: Library, cells: Sequence[Cell]) -> tuple[frozenset[str], ...]:
        """For each word of a table's row the words of its column's heading and of its row's."""
        start = library.texts[self.passage].spans[self.sentence].start
        stems = [
            frozenset(t.stem for t in tokens_of(f"{cell.row_heading} {cell.column_heading}", library.language))
            for cell in cells
        ]
        return tuple(
            next(
                (stems[n] for n, cell in enumerate(cells) if cell.start <= token.start + start < cell.end), frozenset()
            )
            for token in self.tokens
        )

    @cached_property
    def negated(self) -> list[bool]:
        """For each word whether it is denied."""
        return negated(self.tokens, self.text)


class _Lines(dict[tuple[int, int], Line]):
    """The sentences of the evidence that were read, by their place, and how many words they have."""

    words: int = 0


_read: Final = WeakKeyDictionary[Library, _Lines]()


def _lines_of(library: Library) -> _Lines:
    """The sentences that were read for the statements before, if they are few enough."""
    if library not in _read or _read[library].words > KEPT:
        _read[library] = _Lines()
    return _read[library]


def clauses(tokens: Sequence[Token], text: str) -> list[int]:
    """The number of each word's clause: commas and conjunctions part them."""
    found: list[int] = []
    clause = 0
    breaks = word_set("breaks")
    for i, token in enumerate(tokens):
        if i and (
            ((between := text[tokens[i - 1].end : token.start]) != " " and _BREAKS.search(between))
            or (token.end - token.start <= BREAK and text[token.start : token.end].lower() in breaks)
        ):
            clause += 1
        found.append(clause)
    return found


def _signed(tokens: Sequence[Token], text: str, i: int) -> str:
    """A word's stem, of a number behind "minus" that of the negative one."""
    stem = tokens[i].stem
    return f"#-{stem[1:]}" if stem[:1] == "#" and word_at(tokens, text, i - 1) == "minus" else stem


def _neighbours(line: Line, place: int) -> tuple[str, ...]:
    """The stems before and behind a word."""
    before = line.tokens[place - 1].stem if place else ""
    return (before, *(token.stem for token in line.tokens[place + 1 : place + 2]))


class Alignment:
    """A statement beside the sentences that could carry it."""

    def __init__(self, text: str, statement: Statement, masks: Masks, library: Library, asked: Iterable[str]) -> None:
        self.text, self.library = text, library
        self.language = library.language
        self.tokens = statement.tokens[:WORDS]
        self.stems = [_signed(self.tokens, text, i) for i in range(len(self.tokens))]
        self.weights = statement.weights
        self.asked = frozenset(asked)
        self.clauses = clauses(self.tokens, text)
        self.content = [i for i, token in enumerate(self.tokens) if token.stem in self.weights]
        ranked = nsmallest(LINES, masks, key=lambda place: (-statement.share(masks[place]), place))
        self._lines = _lines_of(library)
        self.lines = [self.line(*place) for place in ranked]
        self.agreed: set[int] = set()
        self.quantities = quantities(self.tokens, text)
        self.units = {k for one in self.quantities for k in range(one.at + 1, one.last + 1)}
        self.units |= {i for i in range(len(self.tokens)) if word_at(self.tokens, text, i) == "minus"}
        self._likes = [
            {} if token.kind in {NUMBER, NEGATION} else likes(token.stem, self.language) for token in self.tokens
        ]
        self._found: dict[Line, list[tuple[Sequence[int], float]]] = {}
        self._near: dict[int, list[tuple[int, float]]] = {}
        self._carried: dict[Line, float] = {}

    def line(self, passage: int, sentence: int) -> Line:
        """Any sentence of the evidence."""
        place = (passage, sentence)
        if place not in self._lines:
            self._lines[place] = Line(self.library, passage, sentence)
            self._lines.words += len(self._lines[place].tokens)
        return self._lines[place]

    def having(self, stem: str) -> list[Line]:
        """The sentences that have a stem, few of them; the compared ones first."""
        return [self.line(*place) for place in self.library.sentences_with(stem, LINES, 2 * LINES)]

    def found(self, i: int, line: Line) -> tuple[Sequence[int], float]:
        """Where a word of the statement, or one like it, stands in a sentence, and how much it counts there."""
        return (self._found.get(line) or self._find(line))[i]

    def _find(self, line: Line) -> list[tuple[Sequence[int], float]]:
        """The same of every word."""
        found: list[tuple[Sequence[int], float]] = []
        there, words = line.places, line.places.keys()
        for stem, known in zip(self.stems, self._likes, strict=True):
            if stem in there:
                found.append((there[stem], 1.0))
            elif not known or words.isdisjoint(known):
                found.append(_NOWHERE)
            else:
                near = [(grade, there[like]) for like, grade in known.items() if like in there]
                found.append(([place for _, places in near for place in places], max(grade for grade, _ in near)))
        self._found[line] = found
        return found

    def near(self, i: int) -> list[tuple[int, float]]:
        """The other content words of the statement, each with its weight for a word's place: by rarity and distance.

        Numbers tell more than words; the units of other numbers tell nothing.
        """
        known = self._near.get(i)
        if known is None:
            known = self._near[i] = []
            for j in self.content:
                if self.tokens[j].stem == self.tokens[i].stem or j in self.units:
                    continue
                weight = self.weights[self.tokens[j].stem] / (1 + abs(j - i) / 4)
                weight *= NUMBERS if self.tokens[j].kind == NUMBER else 1.0
                known.append((j, weight * (1.0 if self.clauses[j] == self.clauses[i] else ELSEWHERE)))
        return known

    def held(self, j: int, line: Line, place: int) -> float:
        """How near a word of the statement stands to a place of the evidence; in [0, 1].

        What an earlier clause says holds for the later ones, too, the other way round less.
        """
        places, grade = self.found(j, line)
        if line.heads:
            return self._headed(j, line, place)
        if not places:
            return AROUND if self.tokens[j].stem in line.around else 0.0
        clause_of = line.clauses
        clause, before, gap = clause_of[place], -1, FAR
        for p in places:
            if clause_of[p] == clause:
                gap = min(gap, abs(place - p))
            elif clause_of[p] < clause:
                before = max(before, p)
        if gap < FAR:
            return grade / (1 + gap / 20)
        if before < 0:
            return grade * LATER
        first = line.numbers[0] if line.numbers else len(line.tokens)
        own = any(clause_of[number] == clause_of[before] for number in line.numbers)
        between = any(before < number < place for number in line.numbers)
        shared = min(places) <= first or not (between or (own and clause in line.coordinate))
        return grade * (EARLIER if shared else LATER)

    def _headed(self, j: int, line: Line, place: int) -> float:
        """The same in a row of a table: a word of the column's heading or of the row's stands by the place."""
        heads, stem = line.heads[place], self.tokens[j].stem
        if stem in heads or not heads.isdisjoint(likes(stem, self.language)):
            return 1.0
        return TABLE * (bool(self.found(j, line)[0]) or stem in line.above)

    def fit(self, i: int, line: Line, place: int, without: frozenset[int] = frozenset()) -> float:
        """How well a place of the evidence corresponds to a word's, by the words around both; in [0, 1]."""
        held = total = 0.0
        found, headed = self._found.get(line) or self._find(line), bool(line.heads)
        for j, weight in self.near(i):
            if j not in without:
                total += weight
                if headed or found[j][0]:
                    held += weight * self.held(j, line, place)
                elif self.tokens[j].stem in line.around:
                    held += weight * AROUND
        return held / total if total else 0.0

    def prefers(
        self,
        i: int,
        rival: tuple[Line, int],
        own: tuple[Line, int] | None,
        without: frozenset[int] = frozenset(),
        *,
        surely: bool = False,
    ) -> bool:
        """Whether a rival's place clearly corresponds better to a word's than the place of the word itself.

        What speaks for either place are the words that stand nearer to it than to the other.
        """
        if own is not None and self._nearest(i, rival, own, without):
            return False
        ours = theirs = total = 0.0
        beside = False  # whether a word of the same clause speaks for the rival: others are said of something else
        for j, weight in self.near(i):
            if j in without:
                continue
            total += weight
            gain = self.held(j, *rival) - (0.0 if own is None else self.held(j, *own))
            if gain > 0:
                theirs += weight * gain
                beside = beside or self.clauses[j] == self.clauses[i]
            else:
                ours -= weight * gain
        return beside and theirs > (SURELY if surely else CLEARLY) * ours + (2 if surely else 1) * MARGIN * total

    def _nearest(self, i: int, rival: tuple[Line, int], own: tuple[Line, int], without: frozenset[int]) -> bool:
        """Whether the nearest word that tells the two places apart stands by the word's own."""
        if _neighbours(own[0], own[1]) == (self.stems[i - 1] if i else "", *self.stems[i + 1 : i + 2]):
            return True
        for j, _ in sorted(self.near(i), key=lambda pair: abs(pair[0] - i)):
            if j not in without and abs(gain := self.held(j, *rival) - self.held(j, *own)) >= APART:
                return gain < 0
        return False

    def best(self, i: int) -> tuple[float, Line, int] | None:
        """The place of the evidence that corresponds best to a word that is there."""
        ranked = [(self.fit(i, line, place), line, place) for line in self.lines for place in self.found(i, line)[0]]
        return max(ranked, key=lambda found: found[0]) if ranked else None

    def carries(self, line: Line, share: float = SAME) -> bool:
        """Whether a sentence has so much of the statement that it is about the same, so that it can contradict it."""
        return self.weight_in(line) >= share * self.total

    @cached_property
    def total(self) -> float:
        """The weight of all words of the statement."""
        return sum(self.weights[self.tokens[j].stem] for j in self.content)

    @cached_property
    def words(self) -> list[str]:
        """The words of the statement as they are written, in small letters."""
        return [word_at(self.tokens, self.text, i) for i in range(len(self.tokens))]

    @cached_property
    def negated(self) -> list[bool]:
        """For each word whether it is denied."""
        return negated(self.tokens, self.text)

    def weight_in(self, line: Line) -> float:
        """The weight of the statement's words that a sentence has, alike ones in part."""
        known = self._carried.get(line)
        if known is None:
            held = (self.weights[self.tokens[j].stem] * self.found(j, line)[1] for j in self.content)
            known = self._carried[line] = sum(held)
        return known

    def speaks_of(self, i: int, line: Line, place: int) -> bool:
        """Whether a place is about what a word's clause is about: enough of its words stand close by."""
        close = total = 0.0
        for j in self.content:
            if j != i and self.clauses[j] == self.clauses[i]:
                weight = self.weights[self.tokens[j].stem]
                places, grade = self.found(j, line)
                total += weight
                close += weight * grade * any(abs(p - place) <= CLOSE for p in places)
        return close >= TOGETHER * total and self.carries(line)

    def said(self, start: int, end: int) -> str:
        """A stretch of the statement, on one line and not too long."""
        return shortened(self.text[start:end])


def whole(kind: str, aligned: Alignment, line: Line) -> Clash:
    """A clash of all of a statement with all of a sentence."""
    return Clash(kind, shortened(aligned.text), shortened(line.text), line.passage, line.sentence)


def shortened(text: str) -> str:
    """A text on one line, cut to what is quoted."""
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN else flat[: SHOWN - 1].rstrip() + "\u2026"


def is_known(aligned: Alignment, stem: str) -> bool:
    """Whether the question or some passage has a stem."""
    return stem in aligned.asked or aligned.library.has(stem)


_BREAKS: Final = re.compile(r"[;,.!?()\u2014]|\s-\s")


_TURNS: Final = frozenset(
    "but and or although that which who though while because unless except if aber mais pero ma mas но".split()  # noqa: SIM905 - a list to be read
)


SCOPE: Final = 7
"""Words behind a negation within which it reaches one."""


def word_at(tokens: Sequence[Token], text: str, i: int) -> str:
    """A word as it is written, in small letters; empty beyond either end."""
    return text[tokens[i].start : tokens[i].end].lower() if 0 <= i < len(tokens) else ""


def negated(tokens: Sequence[Token], text: str) -> list[bool]:
    """For each word whether a negation before it in its clause is about it, two negations cancelling out.

    "Not" is about the next content word, "no" and "without" about the next two.
    """
    found = [False] * len(tokens)
    failing, light = word_set("failing"), word_set("light")
    for n, token in enumerate(tokens):
        denial = text[token.start : token.end].lower()
        if token.kind != NEGATION and not (denial in failing and word_at(tokens, text, n + 1) == "to"):
            continue
        heads = 2 if denial in {"no", "without"} or not denial.isascii() else 1
        for i in range(n + 1, min(len(tokens), n + 1 + SCOPE)):
            if _ends(tokens, text, i):
                break
            word = word_at(tokens, text, i)
            found[i] = not found[i]
            heads -= word not in light and (len(word) > 3 or not word.isascii() or word in {"use", "ask", "pay", "run"})
            if not heads:
                break
        if n and (n + 1 == len(tokens) or _ends(tokens, text, n + 1)) and denial in {"not", "cannot"}:
            for i in range(n - 1, -1, -1):  # "but export to Word is not": what is denied was said before
                if _ends(tokens, text, i):
                    break
                found[i] = not found[i]
    return found


def _ends(tokens: Sequence[Token], text: str, i: int) -> bool:
    """Whether a clause ends before a word."""
    between = text[tokens[i - 1].end : tokens[i].start] if i else ""
    return bool(between.strip() and _BREAKS.search(between)) or word_at(tokens, text, i) in _TURNS


def around(side: Alignment | Line, i: int) -> str:
    """What is quoted of a word: its clause, or as many words around it as are shown."""
    low = high = i
    for step in range(1, len(side.tokens)):
        for k in (i - step, i + step):
            inside = 0 <= k < len(side.tokens) and side.clauses[k] == side.clauses[i] and k in (low - 1, high + 1)
            if inside and side.tokens[max(high, k)].end - side.tokens[min(low, k)].start <= SHOWN:
                low, high = min(low, k), max(high, k)
    return shortened(side.text[side.tokens[low].start : side.tokens[high].end])

"""The passages of a question, analysed once: sentences, words, tables, and where each word stands.

Of a text its sentences and an index of its words are kept; the words in order are read again when asked for, since
they take twenty times the memory of the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from itertools import accumulate, chain
from threading import Lock
from typing import Final, NamedTuple

from ragstone.judges.embedded.figures import number_of
from ragstone.judges.embedded.model import weigher
from ragstone.judges.embedded.tables import Cell, TextTable, lines_of, tables_of
from ragstone.judges.embedded.words import NUMBER, Token, power_of, tokens_of
from ragstone.segment import language_of, sentences
from ragstone.types import Span

CACHED: Final = 1_000_000  # characters of passages whose analysis is kept
LONGEST: Final = 16_384  # characters of a sentence; longer ones are cut
BITS: Final = 16_000_000  # bytes of sets of sentences that are kept


class Stretch(NamedTuple):
    """Neighbouring sentences of one passage."""

    passage: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class Analysed:
    """A text, its sentences, and where each stem stands; a row of a table is a sentence.

    ``index``: the sentences that hold a stem, headings included. ``rows``: the tables of those that are rows.
    """

    text: str
    language: str
    spans: tuple[Span, ...]
    index: dict[str, Sequence[int]]
    words: int
    rows: dict[int, TextTable] = field(default_factory=dict)

    def sentence(self, number: int) -> str:
        """The text of a sentence."""
        span = self.spans[number]
        return self.text[span.start : span.end]

    def tokens(self, number: int) -> list[Token]:
        """The words of a sentence alone, with offsets into it."""
        return _row(self.text, self.language, self.spans[number], self.rows.get(number))

    def stems(self, number: int) -> tuple[str, ...]:
        """The stems of a sentence, in order."""
        return tuple([token.stem for token in self.tokens(number)])

    def headings(self, number: int) -> list[Token]:
        """The words that a row has from its table, with offsets into the text; none of any other sentence.

        The caption, the headings of its columns, and its numbers times the power of ten that those name.
        """
        table = self.rows.get(number)
        if table is None:
            return []
        lent = _lent(self.text, self.language, table)
        return [*lent, *_scaled(self.text, self.language, table, lent, self.spans[number])]

    def cells(self, number: int) -> tuple[Cell, ...]:
        """The cells of a row; none of any other sentence."""
        table = self.rows.get(number)
        return () if table is None else table.cells(self.text, self.spans[number])


class _Cache:
    """The latest analysed texts, bounded by their characters; for several threads."""

    def __init__(self, characters: int) -> None:
        self._lock = Lock()
        self._room = characters
        self._held = 0
        self._kept: OrderedDict[tuple[str, str], Analysed] = OrderedDict()

    def get(self, text: str, language: str) -> Analysed:
        key = (text, language)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        made = analyse(text, language)
        with self._lock:
            if len(text) <= self._room and key not in self._kept:
                self._kept[key] = made
                self._held += len(text)
            while self._held > self._room:
                _, dropped = self._kept.popitem(last=False)
                self._held -= len(dropped.text)
        return made


def analyse(text: str, language: str) -> Analysed:
    """Sentences, words and index of a text; linear in its length."""
    tables = tables_of(text, lines_of(text)) if any(sign in text for sign in "|\t;,<") else ()
    spans: list[Span] = []
    at = 0
    for table in tables:
        spans.extend(_sentences(text, at, table.start, language))
        if table.kind == "<":
            spans.extend(filter(None, (table.caption,)))
        if table.kind != "|":
            spans.extend(span for span in table.headings if span.start < span.end)
        elif table.headings:
            spans.append(Span(table.headings[0].start, table.headings[-1].end))
        spans.extend(table.rows)
        at = table.end
    spans.extend(_sentences(text, at, len(text), language))
    return analysed(text, spans, language, tables)


def _sentences(text: str, start: int, end: int, language: str) -> Iterator[Span]:
    """The sentences of a stretch of a text, very long ones cut at blanks."""
    whole = (start, end) == (0, len(text))
    for span in sentences(text if whole else text[start:end], language):
        if whole and span.end - span.start <= LONGEST:
            yield span
            continue
        at, stop = start + span.start, start + span.end
        while stop - at > LONGEST:
            cut = text.rfind(" ", at, at + LONGEST)
            cut = cut if cut > at else at + LONGEST
            yield Span(at, cut)
            at = cut + (text[cut] == " ")
        yield Span(at, stop)


def analysed(text: str, spans: Sequence[Span], language: str, tables: Sequence[TextTable] | None = None) -> Analysed:
    """A text whose sentences are given; its tables are looked for among these unless they are given, too."""
    if tables is None:
        tables = tables_of(text, spans)
    table_of = {row: table for table in tables for row in table.rows}
    rows = {number: table_of[span] for number, span in enumerate(spans) if span in table_of} if table_of else {}
    lent = {id(table): _lent(text, language, table) for table in tables}
    index: dict[str, Sequence[int]] = {}
    words = 0
    for number, span in enumerate(spans):
        table = rows.get(number)
        tokens = _row(text, language, span, table)
        words += len(tokens)
        stems = {token.stem for token in tokens}
        if table is not None:
            heads = lent[id(table)]
            stems.update(token.stem for token in (*heads, *_scaled(text, language, table, heads, span)))
        once = (number,)  # most stems stand in one sentence, and share this
        for stem in stems:
            known = index.setdefault(stem, once)
            if isinstance(known, list):
                known.append(number)
            elif known is not once:
                index[stem] = [*known, number]
    return Analysed(text, language, tuple(spans), index, words, rows)


def _divided(given: Sequence[str], language: str) -> Analysed:
    starts = accumulate((len(text) + 1 for text in given), initial=0)
    spans = [Span(at, at + len(text)) for at, text in zip(starts, given, strict=False)]
    return analysed(" ".join(given), spans, language)


def _row(text: str, language: str, span: Span, table: TextTable | None) -> list[Token]:
    if table is None:
        return tokens_of(text[span.start : span.end], language)
    cells = (Span(cell.start, cell.end) for cell in table.cells(text, span))
    return _words_of(text, language, cells, span.start)


def _scaled(text: str, language: str, table: TextTable, lent: Sequence[Token], row: Span) -> Iterator[Token]:
    """The numbers of a row times the power of ten that its table's caption or headings name: "million crowns"."""
    power = next(filter(None, (power_of(text[token.start : token.end]) for token in lent)), 0)
    for cell in table.cells(text, row) if power else ():
        for token in tokens_of(cell.text, language):
            if token.kind == NUMBER and token.stem.startswith("#") and cell.row_heading:
                stem = number_of(token.stem[1:], power)
                yield Token(stem, cell.start + token.start, cell.start + token.end, NUMBER)


def _lent(text: str, language: str, table: TextTable) -> list[Token]:
    return _words_of(text, language, filter(None, (table.caption, *table.headings)))


def _words_of(text: str, language: str, spans: Iterable[Span], base: int = 0) -> list[Token]:
    return [
        Token(token.stem, span.start - base + token.start, span.start - base + token.end, token.kind)
        for span in spans
        for token in tokens_of(text[span.start : span.end], language)
    ]


class Library:
    """The passages of a question, ready to be held against statements."""

    _cache = _Cache(CACHED)

    def __init__(
        self, passages: Sequence[str], claims: Iterable[str] = (), divided: Sequence[Sequence[str]] = ()
    ) -> None:
        """``divided``: the sentences of each passage, which joins them by blanks, where they are given."""
        self.language = common_language(passages) or common_language(tuple(claims)) or "en"
        self.texts = tuple(_divided(given, self.language) for given in divided) or tuple(
            self._cache.get(text, self.language) for text in passages
        )
        self.weight = weigher(self.language)
        self.words = sum(text.words for text in self.texts)
        self.sentences = sum(len(text.spans) for text in self.texts)

    def window(self, place: Stretch) -> tuple[int, int, int]:
        """Its passage, and where it stands there, as character offsets."""
        spans = self.texts[place.passage].spans
        return place.passage, spans[place.first].start, spans[place.last].end

    def tokens(self, place: Stretch) -> list[Token]:
        """The words of a window in order, with their kinds, after those that rows in it have from their table."""
        text = self.texts[place.passage]
        numbers = range(place.first, place.last + 1)
        lines = [text.tokens(number) for number in numbers]
        if text.rows:
            lines.insert(0, list(dict.fromkeys(chain.from_iterable(map(text.headings, numbers)))))
        return list(chain.from_iterable(lines))

    def stems(self, place: Stretch) -> list[str]:
        """The same as stems."""
        return [token.stem for token in self.tokens(place)]

    def text(self, place: Stretch) -> str:
        """The text of a window."""
        _, start, end = self.window(place)
        return self.texts[place.passage].text[start:end]

    # ---- all sentences as bits, in the order of the passages' texts, so that none depends on that of the passages

    @cached_property
    def _passages(self) -> Mapping[str, Sequence[int]]:
        if len(self.texts) == 1:
            return dict.fromkeys(self.texts[0].index, (0,))
        found: dict[str, list[int]] = {}
        for k, text in enumerate(self.texts):
            for stem in text.index:
                found.setdefault(stem, []).append(k)
        return found

    @cached_property
    def _order(self) -> tuple[list[int], list[int], list[int]]:
        """The passages by their text, the position of each one's first sentence, and that by the passage's number."""
        order = sorted(range(len(self.texts)), key=lambda k: self.texts[k].text)
        starts = list(accumulate((len(self.texts[k].spans) for k in order), initial=0))
        first = [0] * len(order)
        for start, k in zip(starts, order, strict=False):
            first[k] = start
        return order, starts, first

    @cached_property
    def _bits(self) -> dict[str, int]:
        return {}

    def has(self, stem: str) -> bool:
        """Return whether some passage has a stem."""
        return stem in self._passages

    @cached_property
    def times(self) -> list[str]:
        """The stems of times of day."""
        return sorted(stem for stem in self._passages if stem.startswith("@"))

    def sentences_with(self, stem: str, each: int, most: int) -> list[tuple[int, int]]:
        """Passage and number of sentences that have a stem, at most so many of each passage and of all."""
        passages = self._passages.get(stem, ())
        if len(passages) > most:  # which of them does not depend on the order of the passages
            passages = nsmallest(most, passages, key=self._order[2].__getitem__)
        return [(k, s) for k in passages for s in self.texts[k].index[stem][:each]][:most]

    def bits(self, stem: str) -> int:
        """The sentences that hold a stem, as a set of bits, one a position."""
        passages = self._passages.get(stem)
        if passages is None:
            return 0
        found = self._bits.get(stem)
        if found is None:
            first = self._order[2]
            held = bytearray(self.sentences // 8 + 1)
            for k in passages:
                for number in self.texts[k].index[stem]:
                    at = first[k] + number
                    held[at >> 3] |= 1 << (at & 7)
            if len(self._bits) * len(held) > BITS:
                self._bits.clear()
            found = self._bits[stem] = int.from_bytes(held, "little")
        return found

    def sentence(self, position: int) -> tuple[int, int]:
        """The passage and the number of the sentence at a position."""
        order, starts, _ = self._order
        k = bisect_right(starts, position, hi=len(order)) - 1
        return order[k], position - starts[k]


def common_language(texts: Sequence[str]) -> str:
    """The language of most of the texts by their length; empty where they are blank."""
    votes: Counter[str] = Counter()
    for text in texts:
        if text and not text.isspace():
            votes[language_of(text)] += len(text)
    return min(votes, key=lambda code: (-votes[code], code)) if votes else ""

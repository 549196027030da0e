"""Analyse the passages of a question once: sentences, words, tables, and an index of the words.

Only the sentences and the index of a text are kept. The words in order are parsed again on request because they take
twenty times the memory of the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from itertools import accumulate, chain
from threading import Lock
from typing import Final, NamedTuple

from msgspec import Struct, field

from ragstone.judges.embedded.days import days_of
from ragstone.judges.embedded.figures import number_of
from ragstone.judges.embedded.model import weigher
from ragstone.judges.embedded.tables import Cell, TextTable, lines_of, tables_of
from ragstone.judges.embedded.words import NUMBER, Token, power_of, tokens_of
from ragstone.segment import language_of, sentences
from ragstone.types import Span

CACHED: Final = 1_000_000  # total characters of cached passages
LONGEST: Final = 16_384  # characters of a sentence; longer ones are split
BITS: Final = 16_000_000  # total bytes of cached sets of sentences


class Stretch(NamedTuple):
    """Consecutive sentences of one passage."""

    passage: int
    first: int
    last: int


class Analysed(Struct, frozen=True, eq=False):
    """A text with its sentences and an index of stems; a table row is a sentence.

    ``index``: the sentences that contain a stem, including headings. ``rows``: the tables of sentences that are rows.
    """

    text: str
    language: str
    spans: tuple[Span, ...]
    index: dict[str, Sequence[int]]
    words: int
    rows: dict[int, TextTable] = field(default_factory=dict)

    def sentence(self, number: int) -> str:
        """Return the text of a sentence."""
        span = self.spans[number]
        return self.text[span.start : span.end]

    def tokens(self, number: int) -> list[Token]:
        """Return the words of a sentence, with offsets into the sentence."""
        return _row(self.text, self.language, self.spans[number], self.rows.get(number))

    def stems(self, number: int) -> tuple[str, ...]:
        """Return the stems of a sentence, in order."""
        return tuple([token.stem for token in self.tokens(number)])

    def headings(self, number: int) -> list[Token]:
        """Return the words that a row inherits from its table, with offsets into the text; empty for other sentences.

        These are the caption, the column headings, and the row's numbers times the power of ten named there.
        """
        table = self.rows.get(number)
        if table is None:
            return []
        lent = _lent(self.text, self.language, table)
        return [*lent, *_scaled(self.text, self.language, table, lent, self.spans[number])]

    def cells(self, number: int) -> tuple[Cell, ...]:
        """Return the cells of a row; empty for other sentences."""
        table = self.rows.get(number)
        return () if table is None else table.cells(self.text, self.spans[number])


class _Cache:
    """Thread-safe LRU cache of analysed texts, limited by their total characters."""

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
    """Analyse a text: sentences, words and index, in linear time."""
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
    """Yield the sentences in a part of a text, very long ones split at spaces."""
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
    """Analyse a text whose sentences are given; without ``tables``, look for tables among the sentences."""
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
        stems.update(day for day, _ in days_of(tokens, text[span.start : span.end], stems))
        if table is not None:
            heads = lent[id(table)]
            stems.update(token.stem for token in (*heads, *_scaled(text, language, table, heads, span)))
        once = (number,)  # most stems occur in one sentence and share this tuple
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
    """Yield the numbers of a row times the power of ten in the caption or headings: "million crowns"."""
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
    """The analysed passages of a question."""

    _cache = _Cache(CACHED)

    def __init__(
        self, passages: Sequence[str], claims: Iterable[str] = (), divided: Sequence[Sequence[str]] = ()
    ) -> None:
        """``divided``: the sentences of each passage, if given; the passage is these joined by spaces."""
        self.language = common_language(passages) or common_language(tuple(claims)) or "en"
        self.texts = tuple(_divided(given, self.language) for given in divided) or tuple(
            self._cache.get(text, self.language) for text in passages
        )
        self.weight = weigher(self.language)
        self.words = sum(text.words for text in self.texts)
        self.sentences = sum(len(text.spans) for text in self.texts)

    def window(self, place: Stretch) -> tuple[int, int, int]:
        """Return the passage of a window and its character offsets there."""
        spans = self.texts[place.passage].spans
        return place.passage, spans[place.first].start, spans[place.last].end

    def tokens(self, place: Stretch) -> list[Token]:
        """Return the words of a window in order, preceded by those that its rows inherit from their tables."""
        text = self.texts[place.passage]
        numbers = range(place.first, place.last + 1)
        lines = [text.tokens(number) for number in numbers]
        if text.rows:
            lines.insert(0, list(dict.fromkeys(chain.from_iterable(map(text.headings, numbers)))))
        return list(chain.from_iterable(lines))

    def stems(self, place: Stretch) -> list[str]:
        """Return the stems of a window, in the order of ``tokens``."""
        return [token.stem for token in self.tokens(place)]

    def text(self, place: Stretch) -> str:
        """Return the text of a window."""
        _, start, end = self.window(place)
        return self.texts[place.passage].text[start:end]

    # ---- sentences as bits, ordered by the passages' texts so that the order of the passages has no effect

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
        """The passages sorted by text, the positions of their first sentences, and the same by passage number."""
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
        """Return whether a stem occurs in a passage."""
        return stem in self._passages

    @cached_property
    def times(self) -> list[str]:
        """The stems of times of day."""
        return sorted(stem for stem in self._passages if stem.startswith("@"))

    def sentences_with(self, stem: str, each: int, most: int) -> list[tuple[int, int]]:
        """Return passage and number of sentences with a stem, at most ``each`` per passage and ``most`` in total."""
        passages = self._passages.get(stem, ())
        if len(passages) > most:  # chosen independently of the order of the passages
            passages = nsmallest(most, passages, key=self._order[2].__getitem__)
        return [(k, s) for k in passages for s in self.texts[k].index[stem][:each]][:most]

    def bits(self, stem: str) -> int:
        """Return the sentences with a stem as a bit set, one bit per position."""
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
        """Return the passage and number of the sentence at a position."""
        order, starts, _ = self._order
        k = bisect_right(starts, position, hi=len(order)) - 1
        return order[k], position - starts[k]


def common_language(texts: Sequence[str]) -> str:
    """Return the most common language of texts, by length; empty if all are blank."""
    votes: Counter[str] = Counter()
    for text in texts:
        if text and not text.isspace():
            votes[language_of(text)] += len(text)
    return min(votes, key=lambda code: (-votes[code], code)) if votes else ""

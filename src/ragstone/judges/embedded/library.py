"""The passages of a question, analysed once: sentences, words, and where each word stands."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ragstone.judges.embedded.model import weigher
from ragstone.judges.embedded.words import Token, tokens_of
from ragstone.segment import language_of, sentences
from ragstone.types import Span

CACHED: Final = 1_000_000
"""Characters of passages whose analysis is kept: some thirty megabytes."""


class Place(NamedTuple):
    """A stretch of neighbouring sentences of one passage."""

    passage: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class Analysed:
    """A text, its sentences, their words, and where each stem stands."""

    text: str
    language: str
    spans: tuple[Span, ...]
    tokens: tuple[list[Token], ...]
    stems: tuple[tuple[str, ...], ...]
    index: dict[str, list[int]]
    words: int


class _Cache:
    """The latest analysed texts, bounded by their characters."""

    def __init__(self, characters: int) -> None:
        self._room = characters
        self._held = 0
        self._kept: OrderedDict[tuple[str, str], Analysed] = OrderedDict()

    def get(self, text: str, language: str) -> Analysed:
        key = (text, language)
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known
        made = analyse(text, language)
        self._kept[key] = made
        self._held += len(text)
        while self._held > self._room and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._held -= len(dropped.text)
        return made


def analyse(text: str, language: str) -> Analysed:
    """Sentences, words and index of a text; linear in its length."""
    spans = sentences(text, language)
    tokens: list[list[Token]] = []
    index: dict[str, list[int]] = {}
    for number, span in enumerate(spans):
        found = tokens_of(text[span.start : span.end], language)
        tokens.append(found)
        for stem in {token.stem for token in found}:
            index.setdefault(stem, []).append(number)
    return Analysed(
        text=text,
        language=language,
        spans=spans,
        tokens=tuple(tokens),
        stems=tuple(tuple(token.stem for token in line) for line in tokens),
        index=index,
        words=sum(map(len, tokens)),
    )


class Library:
    """The passages of a question, ready to be held against statements."""

    _cache = _Cache(CACHED)

    def __init__(self, passages: Sequence[str], claims: Iterable[str] = ()) -> None:
        self.language = common_language(passages) or common_language(tuple(claims)) or "en"
        self.texts = tuple(self._cache.get(text, self.language) for text in passages)
        self.weight = weigher(self.language)
        self.words = sum(text.words for text in self.texts)
        self.sentences = sum(len(text.spans) for text in self.texts)

    def place(self, place: Place) -> tuple[int, int]:
        """Where a window stands in its passage, as character offsets."""
        spans = self.texts[place.passage].spans
        return spans[place.first].start, spans[place.last].end

    def stems(self, place: Place) -> list[str]:
        """The words of a window in order."""
        text = self.texts[place.passage]
        return [stem for line in text.stems[place.first : place.last + 1] for stem in line]

    def tokens(self, place: Place) -> list[Token]:
        """The words of a window in order, with their kinds."""
        text = self.texts[place.passage]
        return [token for line in text.tokens[place.first : place.last + 1] for token in line]

    def text(self, place: Place) -> str:
        """The text of a window."""
        start, end = self.place(place)
        return self.texts[place.passage].text[start:end]


def common_language(texts: Sequence[str]) -> str:
    """The language of most of the texts by their length; empty where they are blank."""
    votes: Counter[str] = Counter()
    for text in texts:
        if text and not text.isspace():
            votes[language_of(text)] += len(text)
    return min(votes, key=lambda code: (-votes[code], code)) if votes else ""

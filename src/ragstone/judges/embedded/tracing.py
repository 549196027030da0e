"""The raw scores of a trace: how relevant and how used each context sentence is, and what supports the response's.

No labels: ``marks`` makes those when a reply is read. The sentences are those of the question, never split again.
The order of the passages changes nothing, and copies of a sentence in equal surroundings get equal scores. Pure, and
linear in the texts but for the search of ``support``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from ragstone.judges.embedded.library import Analysed, Library, analysed, common_language
from ragstone.judges.embedded.marks import Layout, Relevance, Use, log_odds
from ragstone.judges.embedded.model import CONTENT, DIGITS, weigher
from ragstone.judges.embedded.statement import Statement
from ragstone.judges.embedded.support import held, named
from ragstone.judges.embedded.words import NEGATION, Token, question_stems, tokens_of
from ragstone.types import Span

UNUSED: Final = -6.0  # the log-odds of use below which a sentence counts as not used
USED: Final = -0.85  # the log-odds (a probability of 0.3) that one sentence must reach, else ...
SILENT: Final = -2.2  # ... the response used none, and these are taken for every sentence
ASKED: Final = 20_000  # characters of a question that are read
LEAST: Final = 0.1  # the least rarity among the sentences, so that a word that is in all of them counts a little
CARRY: Final = 0.8  # what a neighbour counts against the sentence next to it
REACH: Final = 4  # sentences to either side that count as around
POSTINGS: Final = 5_000  # occurrences that are followed for one text of the response, rare words first
PIECES: Final = 1000  # the most pieces of a response that are read
PIECE: Final = 3  # the words of a piece that counts in full
_CUT: Final = re.compile(r"[,;:()\n\u3001\uff0c\uff1b\uff1a]")


class Given(Library):
    """Passages whose sentences are given."""

    def __init__(self, passages: Sequence[Sequence[str]], claims: Iterable[str] = ()) -> None:
        joined = [" ".join(passage) for passage in passages]
        self.language = common_language(joined) or common_language(tuple(claims)) or "en"
        self.texts = tuple(_analysed(passage, self.language) for passage in passages)
        self.weight = weigher(self.language)
        self.words = sum(text.words for text in self.texts)
        self.sentences = sum(len(text.spans) for text in self.texts)


def _analysed(passage: Sequence[str], language: str) -> Analysed:
    starts = accumulate((len(text) + 1 for text in passage), initial=0)
    spans = [Span(at, at + len(text)) for at, text in zip(starts, passage, strict=False)]
    return analysed(" ".join(passage), spans, language)


class Contexts:
    """The sentences of all passages in a row: their content words and neighbours, and the words of the question.

    ``asked`` are the question's content words as they are written, by stem, without those that only ask.
    """

    def __init__(self, question: str, passages: Sequence[Sequence[str]], library: Library) -> None:
        self.library = library
        self.layout = Layout(passages)
        self.texts = [text for passage in passages for text in passage]
        question = question[:ASKED]
        statement = Statement(question, library, question_stems(library.language))
        asked = frozenset() if statement.functional else statement.weights.keys()
        self.asked = {t.stem: question[t.start : t.end] for t in statement.tokens if t.stem in asked}
        read = (line for text in library.texts for line in map(text.tokens, range(len(text.spans))))
        known: dict[frozenset[str], frozenset[str]] = {}
        self.content = [known.setdefault(stems, stems) for stems in (content_of(line, library) for line in read)]
        self.index: dict[str, list[int]] = {}
        for i, stems in enumerate(self.content):
            for stem in stems:
                self.index.setdefault(stem, []).append(i)
        self._different = len(known)
        self.counts = Counter(stem for stems in known for stem in stems)

    def weight(self, stem: str) -> float:
        """How rare a stem is in the language, times how rare it is among the different sentences."""
        rarity = math.log((self._different + 1) / (self.counts[stem] + 0.5))
        return self.library.weight(stem) * max(LEAST, round(rarity, DIGITS))

    def total(self, stems: Iterable[str]) -> float:
        """The weight of several stems; the same in whatever order they come."""
        return math.fsum(map(self.weight, stems))

    def smoothed(self, values: Sequence[float]) -> list[float]:
        """Each sentence's mean with those around it in its passage, the near ones counting more."""
        found = []
        for passage in self.layout.passages:
            for i in passage:
                around = range(max(passage.start, i - REACH), min(passage.stop, i + REACH + 1))
                near = [(CARRY ** abs(j - i), values[j]) for j in around]
                found.append(math.fsum(w * x for w, x in near) / math.fsum(w for w, _ in near))
        return found


def content_of(tokens: Sequence[Token], library: Library) -> frozenset[str]:
    """The stems that carry content."""
    return frozenset(t.stem for t in tokens if t.kind != NEGATION and library.weight(t.stem) >= CONTENT)


def use_of(log_odds: Sequence[float | None]) -> list[float]:
    """How far the use of each sentence speaks for its relevance; None is a sentence that shares no word."""
    found = [UNUSED if x is None else max(UNUSED, x) for x in log_odds]
    return found if max(found, default=UNUSED) >= USED else [SILENT] * len(found)


def relevant(contexts: Contexts, used: Sequence[float | None] = ()) -> list[Relevance]:
    """The features of each sentence's relevance to the question; ``used``: log-odds of use, if there are any."""
    cover = [contexts.total(stems & contexts.asked.keys()) for stems in contexts.content]
    best = max(cover, default=0.0) or 1.0
    around = contexts.smoothed([value / best for value in cover])
    return list(map(Relevance, around, use_of(used or [None] * len(around))))


class Said(NamedTuple):
    """One sentence of a response: its text, its raw row of ``support``, and its content words if it states anything."""

    text: str
    row: Mapping[str, Any]
    stems: frozenset[str]


def said(text: str, library: Library, question: str) -> Said:
    """Look for one sentence of a response in the passages."""
    row = held(text, library, trivial=True, question=question)
    return Said(text, row, frozenset() if "trivial" in row else content_of(tokens_of(text, library.language), library))


def utilized(contexts: Contexts, response: Sequence[Said]) -> list[Use | None]:
    """The features of each sentence's use; None where it shares no word with the response."""
    sizes = [contexts.total(stems) for stems in contexts.content]
    part, weights = [0.0] * len(sizes), [0.0] * len(sizes)
    for stem in sorted(frozenset().union(*(one.stems for one in response))):
        weight = contexts.weight(stem)
        for i in contexts.index.get(stem, ()):
            part[i] += weight / contexts.counts[stem]
            weights[i] += weight
    most = max(part, default=0.0) or 1.0
    around = contexts.smoothed([x / size if size else 0.0 for x, size in zip(weights, sizes, strict=True)])
    rows = map(Use, (x / most for x in part), around, _evidence(contexts, response), _pieces(contexts, response))
    return [row if weight else None for row, weight in zip(rows, weights, strict=True)]


def _shared(contexts: Contexts, stems: Iterable[str]) -> dict[int, float]:
    """For each sentence that has some of the stems, their weight; words of very many sentences are left out."""
    found: dict[int, float] = {}
    left = POSTINGS
    for stem in sorted(stems, key=lambda stem: (contexts.counts[stem], stem)):
        places = contexts.index.get(stem, ())
        left -= len(places)
        if left < 0:
            break
        weight = contexts.weight(stem)
        for i in places:
            found[i] = found.get(i, 0.0) + weight
    return found


def _evidence(contexts: Contexts, response: Sequence[Said]) -> list[float]:
    """The share of the response's sentences whose evidence a sentence is in; copies of it are evidence alike."""
    every = [one.row["windows"] for one in response if "x" in one.row and one.stems]
    counts: Counter[str] = Counter()
    for windows in every:
        counts.update({contexts.texts[i] for window in windows for i in contexts.layout.inside(window)})
    return [counts[text] / len(every) if every else 0.0 for text in contexts.texts]


def _pieces(contexts: Contexts, response: Sequence[Said]) -> list[float]:
    """What is said between commas often comes from a sentence of its own."""
    library = contexts.library
    pieces: dict[frozenset[str], None] = {}
    for one in response:
        for text in _CUT.split(one.text) if one.stems else ():
            stems = content_of(tokens_of(text, library.language), library).difference(contexts.asked)
            if stems and len(pieces) < PIECES:
                pieces[stems] = None
    found = [0.0] * len(contexts.texts)
    for stems in pieces:
        shared = _shared(contexts, stems)
        size, most = contexts.total(stems), max(shared.values(), default=0.0)
        whole = min(1.0, len(stems) / PIECE)
        for i, value in shared.items():
            found[i] = max(found[i], whole * value / size * value / most)
    return found


def trace(question: str, passages: Sequence[Sequence[str]], response: Sequence[str]) -> dict[str, Any]:
    """The raw scores of every sentence, in the order given; see ``marks``."""
    library = Given(passages, (question, *response))
    contexts = Contexts(question, passages, library)
    read = {text: said(text, library, question) for text in dict.fromkeys(response)}
    every = [read[text] for text in response]
    used = log_odds("utilized", utilized(contexts, every))
    found: dict[str, Any] = {"relevant": None, "utilized": used, "response": [one.row for one in every]}
    if contexts.asked:
        # A response that only says that something is missing used no sentence of what answers the question.
        found["relevant"] = log_odds(
            "relevant", relevant(contexts, used if any("x" in one.row for one in every) else ())
        )
        for name, there in (("shared", True), ("missing", False)):
            found[name] = named([word for stem, word in contexts.asked.items() if (stem in contexts.index) == there])
    return found

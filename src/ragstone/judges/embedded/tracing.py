"""Label traces: the sentences of the contexts that are relevant or used, and those that support the response's.

The sentences are those of the question, never split again. The order of the passages changes nothing, and copies of a
sentence in equal surroundings get equal scores. TRACe reports shares of sentences, so a sentence is not marked by its
own score alone: the most probable ones are marked, as many as bring relevance, utilization and completeness of the
record closest to their expected values. Linear in the texts, but for the search of ``support``.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, Final, NamedTuple

from ragstone.judges.embedded.evidence import grammar
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.model import CONTENT, DIGITS, Weights, model, probability, weighted
from ragstone.judges.embedded.statement import Statement
from ragstone.judges.embedded.support import SupportOutcome, Window, in_order, judged, named
from ragstone.judges.embedded.words import NEGATION, Token, listed_stems, packaged, tokens_of

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
LEAST_RELEVANT: Final = 0.05  # the least probability of a sentence marked as relevant ...
LEAST_USED: Final = 0.1  # ... and as used, which is easier to tell
CLOSEST: Final = 7  # how many counts of marked sentences are tried, of those closest to the expected one
_CUT: Final = re.compile(r"[,;:()\n\u3001\uff0c\uff1b\uff1a]")

Marked = tuple[frozenset[int], frozenset[int]]  # the sentences marked as relevant, and those marked as used


class Use(NamedTuple):
    """Features of a context sentence for the model of use, all in [0, 1]."""

    share: float  # its part of the response's words, each shared among the sentences that have it, against the best
    held: float  # share of its words that the response has, averaged over the sentences around it
    evidence: float  # share of the response's sentences whose evidence it is in
    piece: float  # best share of a piece of the response between commas that it has, as far as no other has more


class Relevance(NamedTuple):
    """Features of a context sentence for the model of relevance. What was used is the best sign of what answers."""

    around: float  # weight of the question's words, against the best, averaged over the sentences around it
    used: float  # log-odds that the response used it


def numbers() -> Mapping[str, Weights]:
    """The three small models of this version: ``utilized``, ``relevant``, ``completeness``."""
    found: Mapping[str, Weights] = packaged("trace.json")
    return found


class Contexts:
    """The sentences of all passages in a row: their content words and neighbours, and the words of the question.

    ``asked`` are the question's content words as they are written, by stem, without those that only ask.
    """

    def __init__(self, question: str, passages: Sequence[Sequence[str]], response: Sequence[str]) -> None:
        self.library = library = Library([" ".join(one) for one in passages], (question, *response), passages)
        ends = list(accumulate(map(len, passages)))
        self.passages = [range(end - len(passage), end) for end, passage in zip(ends, passages, strict=True)]
        self._starts = [[span.start for span in text.spans] for text in library.texts]
        self.texts = [text for passage in passages for text in passage]
        question = question[:ASKED]
        statement = Statement(question, library, listed_stems("question_words", library.language))
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

    def inside(self, window: Window) -> range:
        """The sentences of a stretch of a passage: numbers in the row of all sentences."""
        passage, start, end = window
        starts, first = self._starts[passage], self.passages[passage].start
        return range(first + bisect_right(starts, start) - 1, first + bisect_left(starts, end))

    def weight(self, stem: str) -> float:
        """Return the rarity of a stem in the language, times its rarity among the different sentences."""
        rarity = math.log((self._different + 1) / (self.counts[stem] + 0.5))
        return self.library.weight(stem) * max(LEAST, round(rarity, DIGITS))

    def total(self, stems: Iterable[str]) -> float:
        """The weight of several stems; the same in whatever order they come."""
        return math.fsum(map(self.weight, stems))

    def smoothed(self, values: Sequence[float]) -> list[float]:
        """Each sentence's mean with those around it in its passage, the near ones counting more."""
        found = []
        for passage in self.passages:
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


class SentenceTrace(NamedTuple):
    """One sentence of a response: its text, its outcome, and its content words if it states anything."""

    text: str
    outcome: SupportOutcome
    stems: frozenset[str]


def said(response: Sequence[str], contexts: Contexts, question: str, keys: Sequence[str]) -> list[SentenceTrace]:
    """Judge the sentences of a response; ``keys`` are those of all sentences of the contexts."""
    library = contexts.library

    def name(window: Window) -> str:
        return _keyed(contexts.inside(window), keys)

    @cache
    def read(text: str) -> SupportOutcome:
        return judged(text, library, name, trivial=True, question=question)

    @cache
    def content(text: str) -> frozenset[str]:
        return content_of(tokens_of(text, library.language), library)

    return [
        SentenceTrace(text, found, frozenset() if found.trivial else content(text))
        for text, found in zip(response, in_order(response, read), strict=True)
    ]


def _keyed(places: Iterable[int], keys: Sequence[str]) -> str:
    return ", ".join(keys[i] for i in places)


def utilized(contexts: Contexts, response: Sequence[SentenceTrace]) -> list[Use | None]:
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
    """Return the weight of the stems by sentence; words of very many sentences are left out."""
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


def _evidence(contexts: Contexts, response: Sequence[SentenceTrace]) -> list[float]:
    """The share of the response's sentences whose evidence a sentence is in; copies of it are evidence alike."""
    every = [one.outcome.found for one in response if one.outcome.found is not None and one.stems]
    counts: Counter[str] = Counter()
    for windows in every:
        counts.update({contexts.texts[i] for window in windows for i in contexts.inside(window)})
    return [counts[text] / len(every) if every else 0.0 for text in contexts.texts]


def _pieces(contexts: Contexts, response: Sequence[SentenceTrace]) -> list[float]:
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


def _log_odds(name: str, rows: Sequence[Use | Relevance | None]) -> list[float | None]:
    """Return the log odds of each sentence, to six decimals; None if it has no features."""
    return [None if row is None else round(weighted(numbers()[name], row._asdict()), 6) for row in rows]


def trace(
    question: str, passages: Sequence[Sequence[str]], response: Sequence[str], keys: Sequence[str]
) -> dict[str, Any]:
    """The marked sentences and the rows of the response's sentences; places are numbers in the row of all sentences.

    ``relevant`` is None where the question has no words to look for.
    """
    contexts = Contexts(question, passages, response)
    every = said(response, contexts, question, keys)
    used = _log_odds("utilized", utilized(contexts, every))
    # A response that only says that something is missing used no sentence of what answers the question.
    answers = any(one.outcome.found is not None for one in every)
    about = _log_odds("relevant", relevant(contexts, used if answers else ())) if contexts.asked else [None] * len(used)
    marks = marked(chances(about), chances(used), numbers()["completeness"])
    rows, drawn = [], set(marks[1])
    for one in every:
        windows, reason = one.outcome.windows, one.outcome.reason
        places = list(dict.fromkeys(i for window in windows for i in contexts.inside(window)))
        if places and (one.outcome.chance or 0.0) >= model().support.yes:  # what supports was used, and the reverse
            drawn.add(max(places, key=lambda i: (i in drawn, used[i] or -math.inf)))
            places = [i for i in places if i in drawn]
            looked = " and ".join(dict.fromkeys(_keyed(contexts.inside(window), keys) for window in windows))
            reason = reason.replace(f"found in {looked}", f"found in {_keyed(places, keys)}", 1)
        rows.append({**one.outcome.row(), "windows": places, "reason": reason})
    words = [(w, stem in contexts.index) for stem, w in contexts.asked.items() if stem not in grammar()]
    held, lost = (", ".join(named([word for word, there in words if there is kept])) for kept in (True, False))
    parts = [f"the passages contain the question's words {held}"] if held else []
    parts += (
        [f"not found: {lost}" if held else f"the passages contain none of the question's words ({lost})"]
        if lost
        else []
    )
    return {
        "relevant": sorted(marks[0]) if contexts.asked else None,
        "utilized": sorted(drawn),
        "response": rows,
        "reason": "; ".join(parts),
    }


# ---- from probabilities to marks


def chances(log_odds: Sequence[float | None]) -> list[float]:
    """Probabilities; 0 where there is no score."""
    return [0.0 if x is None else probability(x, (1.0, 0.0)) for x in log_odds]


def both(relevant: Sequence[float], utilized: Sequence[float]) -> float:
    """The share of the relevant sentences that is used if one says nothing of the other, by the probabilities."""
    total = math.fsum(relevant)
    return math.fsum(r * u for r, u in zip(relevant, utilized, strict=True)) / total if total else 0.0


def marked(relevant: Sequence[float], utilized: Sequence[float], weights: Weights) -> Marked:
    """Choose the sentences to mark, from the probabilities of each and the model of completeness.

    The most probable are marked, so many as relevant and so many as used that the three shares come closest to what is
    expected, in squares; none where none is expected. Equally probable ones are marked together or not at all.
    """
    wanted = min(1.0, max(0.0, weighted(weights, {"both": both(relevant, utilized)})))
    about, used, size = math.fsum(relevant), math.fsum(utilized), max(1, len(utilized))
    by_use, by_relevance = _ordered(utilized, LEAST_USED), _ordered(relevant, LEAST_RELEVANT)
    options: list[tuple[float, int, int, Marked]] = []
    for n in _counts([utilized[i] for i in by_use], used):
        for m in _counts([relevant[i] for i in by_relevance], about):
            marks = frozenset(by_relevance[:m]), frozenset(by_use[:n])
            gap = len(marks[0] & marks[1]) / m - wanted if m else 0.0
            error = ((n - used) ** 2 + (m - about) ** 2) / size**2 + gap**2
            options.append((round(error, DIGITS), n, m, marks))
    return min(options, key=lambda option: option[:3])[3]


def _ordered(chances: Sequence[float], least: float) -> list[int]:
    return sorted((i for i, p in enumerate(chances) if p >= least), key=lambda i: -chances[i])


def _counts(chances: Sequence[float], wanted: float) -> list[int]:
    """How many of the first may be taken without parting equals: the counts closest to a wanted one, or 0 alone."""
    ends = {0, len(chances), *(i for i in range(1, len(chances)) if chances[i] != chances[i - 1])}
    closest = sorted(ends, key=lambda n: (abs(n - wanted), n))[:CLOSEST]
    return [n for n in closest if n] if closest[0] else [0]

"""Label traces: the context sentences that are relevant or used, and those that support the response's sentences.

The sentences are those of the question and are not split again. The order of the passages has no effect, and copies
of a sentence in equal surroundings get equal scores. TRACe reports shares of sentences, so a sentence is not marked by
its own score alone. The most probable sentences are marked, as many as bring the record's relevance, utilization and
completeness closest to their expected values. The time is linear in the texts, except for the search in ``support``.
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
from ragstone.judges.embedded.support import SupportOutcome, Window, in_order, judged, listing
from ragstone.judges.embedded.words import NEGATION, Token, listed_stems, packaged, tokens_of

UNUSED: Final = -6.0  # lower limit of the log-odds of use; at this value a sentence is unused
USED: Final = -0.85  # log-odds (a probability of 0.3) that at least one sentence must reach; otherwise, ...
SILENT: Final = -2.2  # ... the response used none, and every sentence gets these log-odds
ASKED: Final = 20_000  # maximum characters of a question that are read
LEAST: Final = 0.1  # minimum rarity among the sentences, so a word in all of them counts a little
CARRY: Final = 0.8  # weight of each neighbour relative to the one before it
REACH: Final = 4  # sentences on either side that are included in averages
POSTINGS: Final = 5_000  # maximum occurrences looked up for one text of the response, rare words first
PIECES: Final = 1000  # maximum pieces of a response that are read
PIECE: Final = 3  # minimum words of a piece with full weight
LEAST_RELEVANT: Final = 0.05  # minimum probability of a sentence marked as relevant ...
LEAST_USED: Final = 0.1  # ... and as used, which is easier to predict
CLOSEST: Final = 7  # how many counts of marked sentences are tried, closest to the expected count first
_CUT: Final = re.compile(r"[,;:()\n\u3001\uff0c\uff1b\uff1a]")

Marked = tuple[frozenset[int], frozenset[int]]  # the sentences marked as relevant, and as used


class Use(NamedTuple):
    """The features of a context sentence for the model of use, all in [0, 1]."""

    share: float  # its weight of response words, each divided among the sentences that have it, relative to the best
    held: float  # share of its words in the response, averaged over the sentences around it
    evidence: float  # share of the response's sentences whose evidence includes it
    piece: float  # best share of a piece of the response (between commas), reduced if another sentence has more


class Relevance(NamedTuple):
    """The features of a context sentence for the model of relevance. Use is the best sign of an answer."""

    around: float  # weight of the question's words relative to the best, averaged over the sentences around it
    used: float  # log-odds that the response used the sentence


def numbers() -> Mapping[str, Weights]:
    """Return the three small models of this version: ``utilized``, ``relevant``, ``completeness``."""
    found: Mapping[str, Weights] = packaged("trace.json")
    return found


class Contexts:
    """The sentences of all passages in one list, with their content words, and the words of the question.

    ``asked`` are the question's content words as written, by stem, without question words.
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
        """Return the sentences in a window, as indices into the list of all sentences."""
        passage, start, end = window
        starts, first = self._starts[passage], self.passages[passage].start
        return range(first + bisect_right(starts, start) - 1, first + bisect_left(starts, end))

    def weight(self, stem: str) -> float:
        """Return the rarity of a stem in the language times its rarity among the distinct sentences."""
        rarity = math.log((self._different + 1) / (self.counts[stem] + 0.5))
        return self.library.weight(stem) * max(LEAST, round(rarity, DIGITS))

    def total(self, stems: Iterable[str]) -> float:
        """Return the total weight of several stems, independent of their order."""
        return math.fsum(map(self.weight, stems))

    def smoothed(self, values: Sequence[float]) -> list[float]:
        """Return for each sentence the mean with those around it in its passage; closer ones count more."""
        found = []
        for passage in self.passages:
            for i in passage:
                around = range(max(passage.start, i - REACH), min(passage.stop, i + REACH + 1))
                near = [(CARRY ** abs(j - i), values[j]) for j in around]
                found.append(math.fsum(w * x for w, x in near) / math.fsum(w for w, _ in near))
        return found


def content_of(tokens: Sequence[Token], library: Library) -> frozenset[str]:
    """Return the content stems."""
    return frozenset(t.stem for t in tokens if t.kind != NEGATION and library.weight(t.stem) >= CONTENT)


def use_of(log_odds: Sequence[float | None]) -> list[float]:
    """Return the relevance feature of each sentence's use; None in ``log_odds`` is a sentence that shares no word."""
    found = [UNUSED if x is None else max(UNUSED, x) for x in log_odds]
    return found if max(found, default=UNUSED) >= USED else [SILENT] * len(found)


def relevant(contexts: Contexts, used: Sequence[float | None] = ()) -> list[Relevance]:
    """Return the relevance features of each sentence; ``used``: log-odds of use, if any."""
    cover = [contexts.total(stems & contexts.asked.keys()) for stems in contexts.content]
    best = max(cover, default=0.0) or 1.0
    around = contexts.smoothed([value / best for value in cover])
    return list(map(Relevance, around, use_of(used or [None] * len(around))))


class SentenceTrace(NamedTuple):
    """A sentence of a response: its text, its outcome, and its content words if it states anything."""

    text: str
    outcome: SupportOutcome
    stems: frozenset[str]


def said(response: Sequence[str], contexts: Contexts, question: str, keys: Sequence[str]) -> list[SentenceTrace]:
    """Judge the sentences of a response; ``keys`` are those of all context sentences."""
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
    """Return the features of each sentence's use, or None if it shares no word with the response."""
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
    """Return the weight of the stems by sentence; words in very many sentences are left out."""
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
    """Return for each sentence the share of response sentences whose evidence includes it or a copy of it."""
    every = [one.outcome.found for one in response if one.outcome.found is not None and one.stems]
    counts: Counter[str] = Counter()
    for windows in every:
        counts.update({contexts.texts[i] for window in windows for i in contexts.inside(window)})
    return [counts[text] / len(every) if every else 0.0 for text in contexts.texts]


def _pieces(contexts: Contexts, response: Sequence[SentenceTrace]) -> list[float]:
    """Return the feature ``piece``; text between commas often comes from one context sentence."""
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
    """Return the log-odds of each sentence, rounded to six decimals; None if it has no features."""
    return [None if row is None else round(weighted(numbers()[name], row._asdict()), 6) for row in rows]


def trace(
    question: str, passages: Sequence[Sequence[str]], response: Sequence[str], keys: Sequence[str]
) -> dict[str, Any]:
    """Return the marked sentences and the rows of the response; places are indices into all context sentences.

    ``relevant`` is None if the question has no content words.
    """
    contexts = Contexts(question, passages, response)
    every = said(response, contexts, question, keys)
    used = _log_odds("utilized", utilized(contexts, every))
    # A response that only says that something is missing used no sentence that answers the question.
    answers = any(one.outcome.found is not None for one in every)
    about = _log_odds("relevant", relevant(contexts, used if answers else ())) if contexts.asked else [None] * len(used)
    marks = marked(chances(about), chances(used), numbers()["completeness"])
    rows, drawn = [], set(marks[1])
    for one in every:
        windows, reason = one.outcome.windows, one.outcome.reason
        places = list(dict.fromkeys(i for window in windows for i in contexts.inside(window)))
        if places and (one.outcome.chance or 0.0) >= model().support.yes:  # support and use imply each other
            drawn.add(max(places, key=lambda i: (i in drawn, used[i] or -math.inf)))
            places = [i for i in places if i in drawn]
            looked = " and ".join(dict.fromkeys(_keyed(contexts.inside(window), keys) for window in windows))
            reason = reason.replace(f"found in {looked}", f"found in {_keyed(places, keys)}", 1)
        rows.append({**one.outcome.row(), "windows": places, "reason": reason})
    words = [(w, stem in contexts.index) for stem, w in contexts.asked.items() if stem not in grammar()]
    held, lost = (listing([word for word, there in words if there is kept]) for kept in (True, False))
    parts = [f"question words in the passages: {held}"] if held else []
    parts += [f"not found: {lost}" if held else f"no question words in the passages ({lost})"] if lost else []
    return {
        "relevant": sorted(marks[0]) if contexts.asked else None,
        "utilized": sorted(drawn),
        "response": rows,
        "reason": "; ".join(parts),
    }


# ---- from probabilities to marks


def chances(log_odds: Sequence[float | None]) -> list[float]:
    """Return the probabilities of log-odds; 0 for None."""
    return [0.0 if x is None else probability(x, (1.0, 0.0)) for x in log_odds]


def both(relevant: Sequence[float], utilized: Sequence[float]) -> float:
    """Return the expected share of relevant sentences that are used, if the two are independent."""
    total = math.fsum(relevant)
    return math.fsum(r * u for r, u in zip(relevant, utilized, strict=True)) / total if total else 0.0


def marked(relevant: Sequence[float], utilized: Sequence[float], weights: Weights) -> Marked:
    """Choose the sentences to mark, from their probabilities and the model of completeness.

    The most probable are marked as relevant and as used. Their numbers minimise the squared errors of the three shares
    against the expected values; if none is expected, none is marked. Equally probable sentences are marked together or
    not at all.
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
    """Return the counts closest to ``wanted`` that do not separate equal probabilities; only 0 if it is closest."""
    ends = {0, len(chances), *(i for i in range(1, len(chances)) if chances[i] != chances[i - 1])}
    closest = sorted(ends, key=lambda n: (abs(n - wanted), n))[:CLOSEST]
    return [n for n in closest if n] if closest[0] else [0]

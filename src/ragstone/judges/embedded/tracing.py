"""TRACe from the words alone: how relevant, how used and how well supported each sentence is.

Raw scores, no labels: ``marks`` makes those when a reply is read. The sentences are those of the question, never
divided anew. Nothing depends on the order of the passages, and sentences with equal words in equal places are scored
alike. Pure; linear in the texts but for pairs of sentences that share a word.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple

from ragstone.judges.embedded.absence import Absence, absence, denied
from ragstone.judges.embedded.abstaining import abstention
from ragstone.judges.embedded.evidence import Finding, find
from ragstone.judges.embedded.library import Analysed, Library, common_language
from ragstone.judges.embedded.marks import numbers
from ragstone.judges.embedded.model import CONTENT, DIGITS, model, weigher
from ragstone.judges.embedded.stated import stated, unmarked
from ragstone.judges.embedded.trivial import NO_ANSWER, triviality
from ragstone.judges.embedded.verbs import listed
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, question_stems, stem_of, tokens_of
from ragstone.segment import language_of
from ragstone.types import Span

RELEVANT: Final = (
    "cover",    # share of the question's word weight in the sentence
    "carried",  # the same against the record's best, or what the sentences before it leave of theirs
    "around",   # the same, averaged over the sentences around it
    "alike",    # cosine with the best sentences' words that are not the question's
    "others",   # the best share of the question's weight that another passage holds
    "spread",   # log of how many sentences share the question's words evenly
    "names",    # names in the sentence, at most 3
    "ended",    # it ends as a sentence does: no title, no torn passage
    "used",     # log-odds that the response used it, as ``use_of`` puts them
)  # fmt: skip
"""What the model of relevance sees, in order. All but the last are of the question and the passages alone.

What a response used is the best sign of what answers the question, since whoever wrote the response has understood
both. Where nothing was used it says nothing.
"""

UTILIZED: Final = (
    "match",     # best cosine of the sentence and a sentence of the response
    "share",     # its part of the response's words, each shared among the sentences that have it, against the best
    "held",      # share of its words that the response has, averaged over the sentences around it
    "evidence",  # share of the response's sentences whose evidence it is in
    "piece",     # best share of a piece of the response between commas that it has, as far as no other has more
)  # fmt: skip
"""What the model of use sees, in order."""

SUPPORTED: Final = (
    "support",   # log-odds of the support model
    "answer",    # best share of the sentence's words, the question's left out, in one sentence of the passages
    "beside",    # share of its words that are the question's around that sentence
    "question",  # share of the question's words around it
    "passage",   # share of the question's words in its passage
    "about",     # how close the sentences around it are to the question
)  # fmt: skip
"""What the model of full support sees, in order."""

UNUSED: Final = -6.0
"""The log-odds of use below which a sentence is as good as not used."""

SILENT: Final = -3.5
"""What stands for the use of every sentence where the response used none ..."""

USED: Final = -0.85
"""... that is, none with log-odds of at least this (a probability of 0.3)."""

ASKED: Final = 20_000
"""Characters of a question that are read."""

LEAST: Final = 0.1
"""The least rarity among the sentences, so that a word that is in all of them counts a little."""

CARRY: Final = 0.8
"""What is left of a sentence's closeness one sentence further on."""

REACH: Final = 4
"""Sentences to either side that count as around."""

TOP: Final = 20
"""The best sentences that others are compared with."""

PIECES: Final = 1000
"""The most pieces of a response that are looked at."""

PIECE: Final = 3
"""The words of a piece that counts in full."""

_END: Final = re.compile(r"[.!?:\u2026\u3002\uff01\uff1f\uff1a][\"')\]\u00bb\u201d\u2019]*\s*$")
_TAIL: Final = 40
_CUT: Final = re.compile(r"[,;:()\n\u3001\uff0c\uff1b\uff1a]")

Weights = Mapping[str, float]


class Given(Library):
    """Passages whose sentences are given."""

    def __init__(self, passages: Sequence[Sequence[str]], claims: Iterable[str] = ()) -> None:
        self.language = (
            common_language([" ".join(passage) for passage in passages]) or common_language(tuple(claims)) or "en"
        )
        self.texts = tuple(_analysed(passage, self.language) for passage in passages)
        self.weight = weigher(self.language)
        self.words = sum(text.words for text in self.texts)
        self.sentences = sum(len(text.spans) for text in self.texts)


def _analysed(passage: Sequence[str], language: str) -> Analysed:
    spans, tokens = [], []
    index: dict[str, list[int]] = {}
    at = 0
    for number, text in enumerate(passage):
        spans.append(Span(at, at + len(text)))
        at += len(text) + 1
        found = tokens_of(text, language)
        tokens.append(found)
        for stem in {token.stem for token in found}:
            index.setdefault(stem, []).append(number)
    return Analysed(
        text=" ".join(passage),
        language=language,
        spans=tuple(spans),
        tokens=tuple(tokens),
        stems=tuple(tuple(token.stem for token in line) for line in tokens),
        index=index,
        words=sum(map(len, tokens)),
    )


class Place(NamedTuple):
    """A sentence of the contexts: its passage and its number there."""

    passage: int
    sentence: int


class Contexts:
    """The sentences of all passages and the words of the question, weighed."""

    def __init__(self, question: str, library: Library) -> None:
        self.library = library
        self.places = [Place(k, s) for k, text in enumerate(library.texts) for s in range(len(text.spans))]
        self.first = [0]
        for text in library.texts:
            self.first.append(self.first[-1] + len(text.spans))
        self.content = [content_of(library.texts[k].tokens[s], library.weight) for k, s in self.places]
        different = set(self.content)
        self._counts = Counter(stem for stems in different for stem in stems)
        self._different = len(different)
        self.asked = question_words(question, library)
        self.question = frozenset(self.asked)
        self.index: dict[str, list[int]] = {}
        for i, stems in enumerate(self.content):
            for stem in stems:
                self.index.setdefault(stem, []).append(i)

    def __len__(self) -> int:
        return len(self.places)

    def count(self, stem: str) -> int:
        """How many different sentences have a stem."""
        return self._counts.get(stem, 0)

    def local(self, stem: str) -> float:
        """How rare a stem is among the different sentences."""
        return max(LEAST, round(math.log((self._different + 1) / (self.count(stem) + 0.5)), DIGITS))

    def weight(self, stem: str) -> float:
        """How rare it is in the language and among the sentences."""
        return self.library.weight(stem) * self.local(stem)

    def total(self, stems: Iterable[str]) -> float:
        """The weight of several stems; the same in whatever order they come."""
        return math.fsum(self.weight(stem) for stem in stems)

    def around(self, i: int, reach: int = REACH) -> range:
        """The sentences of the same passage within so many of a sentence, itself included."""
        passage = self.places[i].passage
        return range(max(self.first[passage], i - reach), min(self.first[passage + 1], i + reach + 1))

    def smoothed(self, values: Sequence[float]) -> list[float]:
        """Each sentence's mean with those around it, the near ones counting more."""
        found = []
        for i in range(len(values)):
            near = [(CARRY ** abs(j - i), values[j]) for j in self.around(i)]
            found.append(math.fsum(w * x for w, x in near) / math.fsum(w for w, _ in near))
        return found

    @cached_property
    def cover(self) -> list[float]:
        """The share of the question's weight that each sentence holds."""
        weights = {stem: weight * self.local(stem) for stem, weight in self.asked.items()}
        return [share(weights, stems) for stems in self.content]

    @cached_property
    def close(self) -> list[float]:
        """The same against the best sentence of all."""
        best = max(self.cover, default=0.0)
        return [value / best if best else 0.0 for value in self.cover]

    @cached_property
    def about(self) -> list[float]:
        """How close to the question the sentences around each are."""
        return self.smoothed(self.close)

    def text(self, i: int) -> str:
        """A sentence as it is written."""
        passage, sentence = self.places[i]
        text = self.library.texts[passage]
        span = text.spans[sentence]
        return text.text[span.start : span.end]

    @cached_property
    def copies(self) -> dict[str, list[int]]:
        """Where each sentence stands, by its text."""
        found: dict[str, list[int]] = {}
        for i in range(len(self)):
            found.setdefault(self.text(i), []).append(i)
        return found

    @cached_property
    def passages(self) -> list[AbstractSet[str]]:
        """The words of each passage."""
        return [frozenset().union(*self.content[a:b]) for a, b in zip(self.first, self.first[1:], strict=False)]


def content_of(tokens: Sequence[Any], weight: Any) -> frozenset[str]:
    """The stems that carry content."""
    return frozenset(t.stem for t in tokens if t.kind != NEGATION and weight(t.stem) >= CONTENT)


def question_words(question: str, library: Library) -> dict[str, float]:
    """What a question is about: its content words with their weights, without those that only ask."""
    language = library.language
    empty = question_stems(language) | {stem_of(word, language) for word in listed("asking", language)}
    found: dict[str, float] = {}
    for token in tokens_of(question[:ASKED], language):
        number = token.kind == NUMBER
        weight = max(4.0, library.weight(token.stem)) if number else library.weight(token.stem)
        if token.kind != NEGATION and weight >= CONTENT and (number or token.stem not in empty):
            found.setdefault(token.stem, weight)
    return found


def share(weights: Weights, stems: AbstractSet[str]) -> float:
    """The share of some words' weight that lies in a set of them; 1 where there are none."""
    total = math.fsum(weights.values())
    return math.fsum(weight for stem, weight in weights.items() if stem in stems) / total if total else 1.0


# ---- relevance


def use_of(log_odds: Sequence[float | None]) -> list[float]:
    """How far the use of each sentence speaks for its relevance; None is a sentence that shares no word."""
    found = [UNUSED if x is None else max(UNUSED, x) for x in log_odds]
    return found if max(found, default=UNUSED) >= USED else [SILENT] * len(found)


def relevant(contexts: Contexts, used: Sequence[float | None]) -> list[tuple[float, ...]]:
    """The features of each sentence's relevance to the question, as in ``RELEVANT``; ``used``: log-odds of use."""
    use = use_of(used or [None] * len(contexts))
    carried = _carried(contexts)
    alike = _alike(contexts, carried)
    weights = {stem: weight * contexts.local(stem) for stem, weight in contexts.asked.items()}
    held = [share(weights, stems) for stems in contexts.passages]
    most = max(held, default=0.0)
    second = sorted(held)[-2] if len(held) > 1 else 0.0
    summed, squares = math.fsum(contexts.close), math.fsum(x * x for x in contexts.close)
    spread = round(math.log(summed * summed / squares if squares else max(1, len(contexts))), DIGITS)
    rows: list[tuple[float, ...]] = []
    for i, (k, s) in enumerate(contexts.places):
        text = contexts.library.texts[k]
        span = text.spans[s]
        rows.append(
            (
                contexts.cover[i],
                carried[i],
                contexts.about[i],
                alike[i],
                second if held[k] == most else most,
                spread,
                float(min(3, sum(token.kind == NAME for token in text.tokens[s]))),
                float(bool(_END.search(text.text[max(span.start, span.end - _TAIL) : span.end]))),
                use[i],
            )
        )
    return rows


def _carried(contexts: Contexts) -> list[float]:
    found: list[float] = []
    for value, place in zip(contexts.close, contexts.places, strict=True):
        found.append(max(value, CARRY * found[-1]) if place.sentence else value)
    return found


def _alike(contexts: Contexts, carried: Sequence[float]) -> list[float]:
    """Cosine of each sentence with the words that the best ones add to the question; none is its own example."""
    best: dict[frozenset[str], float] = {}
    for stems, value in zip(contexts.content, carried, strict=True):
        if stems and value > best.get(stems, 0.0):
            best[stems] = value
    top = sorted(best.items(), key=lambda pair: (-pair[1], sorted(pair[0])))[:TOP]
    whole = _centre(contexts, top)
    known: dict[frozenset[str], float] = {}
    for stems in set(contexts.content):
        centre, norm = whole
        if any(stems == own for own, _ in top):
            centre, norm = _centre(contexts, [pair for pair in top if pair[0] != stems])
        value = math.fsum(centre[stem] for stem in stems if stem in centre)
        known[stems] = value / norm / math.sqrt(len(stems) + 1) if norm else 0.0
    return [known[stems] for stems in contexts.content]


def _centre(contexts: Contexts, top: Sequence[tuple[frozenset[str], float]]) -> tuple[dict[str, float], float]:
    centre: dict[str, float] = {}
    for stems, value in top:
        for stem in stems:
            if stem not in contexts.asked:
                part = value * contexts.local(stem) / math.sqrt(len(stems) + 1)
                centre[stem] = centre.get(stem, 0.0) + part
    return centre, math.sqrt(math.fsum(x * x for x in centre.values()))


# ---- use


class Said(NamedTuple):
    """One sentence of a response: its text, its content words, what was found for it, and why it needs nothing.

    ``missed`` is what was found of what it says is not there; ``finding`` is then of the rest of the sentence.
    """

    text: str
    stems: frozenset[str]
    finding: Finding | None
    free: str
    missed: Absence | None = None


def said(text: str, library: Library, question: str) -> Said:
    """Read one sentence of a response; one that states nothing needs no support."""
    parts = abstention(text, library.language)
    missed = absence(parts, library, question) if parts and not denied(text, library) else None
    kind = "" if missed is not None else triviality(unmarked(text), language_of(text))
    if kind and kind != NO_ANSWER:
        return Said(text, frozenset(), None, f"states nothing: {kind}")
    bare = stated(text, library.language)
    stems = content_of(tokens_of(bare, library.language), library.weight)
    if missed is not None:
        return Said(text, stems, missed.besides, "", missed)
    return Said(text, stems, find(bare, library), kind)


def utilized(contexts: Contexts, response: Sequence[Said]) -> list[tuple[float, ...] | None]:
    """The features of each sentence's use, as in ``UTILIZED``; None where it shares no word with the response."""
    live = sorted({one.stems for one in response if one.stems}, key=sorted)
    words = frozenset().union(*live)
    sizes = [contexts.total(stems) for stems in contexts.content]
    count = len(contexts)
    match = [0.0] * count
    for stems in live:
        size = contexts.total(stems)
        for i, value in _shared(contexts, stems).items():
            match[i] = max(match[i], value / math.sqrt(size * sizes[i]))
    part = [0.0] * count
    for stem in sorted(words):
        for i in contexts.index.get(stem, ()):
            part[i] += contexts.weight(stem) / contexts.count(stem)
    most = max(part, default=0.0) or 1.0
    held = _shared(contexts, words)
    around = contexts.smoothed([held.get(i, 0.0) / sizes[i] if sizes[i] else 0.0 for i in range(count)])
    evidence, pieces = _evidence(contexts, response), _pieces(contexts, response)
    return [(match[i], part[i] / most, around[i], evidence[i], pieces[i]) if match[i] else None for i in range(count)]


def _shared(contexts: Contexts, stems: Iterable[str]) -> dict[int, float]:
    """For each sentence that has some of the stems, their weight; added in one order, whatever that of the passages."""
    found: dict[int, float] = {}
    for stem in sorted(stems):
        weight = contexts.weight(stem)
        for i in contexts.index.get(stem, ()):
            found[i] = found.get(i, 0.0) + weight
    return found


def _evidence(contexts: Contexts, response: Sequence[Said]) -> list[float]:
    """Copies of a sentence are evidence alike, so that it does not matter which passage comes first."""
    counts: Counter[str] = Counter()
    found = [one.finding for one in response if one.finding is not None and one.stems]
    for finding in found:
        counts.update({contexts.text(i) for i in windows_of(contexts, finding)})
    return [counts[contexts.text(i)] / len(found) if found else 0.0 for i in range(len(contexts))]


def windows_of(contexts: Contexts, finding: Finding) -> list[int]:
    """The sentences of the windows that were found, best window first."""
    return [contexts.first[place.passage] + s for place in finding.windows for s in range(place.first, place.last + 1)]


def _pieces(contexts: Contexts, response: Sequence[Said]) -> list[float]:
    """What is said between commas often comes from a sentence of its own."""
    library = contexts.library
    pieces: dict[frozenset[str], None] = {}
    for one in response:
        for text in _CUT.split(one.text) if one.stems else ():
            stems = content_of(tokens_of(text, library.language), library.weight) - contexts.question
            if stems and len(pieces) < PIECES:
                pieces[stems] = None
    found = [0.0] * len(contexts)
    for stems in pieces:
        shared = _shared(contexts, stems)
        size, most = contexts.total(stems), max(shared.values(), default=0.0)
        whole = min(1.0, len(stems) / PIECE)
        for i, value in shared.items():
            found[i] = max(found[i], whole * value / size * (value / most) ** 2)
    return found


# ---- support


def supported(contexts: Contexts, one: Said) -> tuple[float, ...] | None:
    """The features of one response sentence's support, as in ``SUPPORTED``; None where no passage shares a word."""
    if one.finding is None or not one.finding.windows:
        return None
    answer = one.stems - contexts.question
    asked = {stem: contexts.library.weight(stem) for stem in one.stems & contexts.question}
    weight = math.fsum(contexts.library.weight(stem) for stem in answer)
    # With the copies in other passages: which of them the window is of depends on the order of the passages.
    windows = (contexts.copies[contexts.text(i)] for i in windows_of(contexts, one.finding))
    gains: dict[int, float] = dict.fromkeys(chain.from_iterable(windows), 0.0)
    for stem in sorted(answer):
        for i in contexts.index.get(stem, ()):
            gains[i] = gains.get(i, 0.0) + contexts.library.weight(stem)
    most = max(gains.values())
    best = [i for i, gain in gains.items() if gain >= most - 1e-9]
    near = {i: frozenset().union(*(contexts.content[j] for j in contexts.around(i, 1))) for i in best}
    shares = {i: share(contexts.asked, near[i]) for i in best}
    question = max(shares.values())
    return (
        model().support.log_odds(one.finding.features),
        most / weight if weight else 1.0,
        max(share(asked, near[i]) for i in best if shares[i] == question),
        question,
        max(share(contexts.asked, contexts.passages[contexts.places[i].passage]) for i in best),
        max(contexts.about[i] for i in best),
    )


# ---- the reply


def trace(question: str, passages: Sequence[Sequence[str]], response: Sequence[str]) -> dict[str, Any]:
    """The raw scores of every sentence, in the order given; see ``marks``."""
    library = Given(passages, (question, *response))
    contexts = Contexts(question, library)
    read = {text: said(text, library, question) for text in response}
    every = [read[text] for text in response]
    weigh = numbers()
    used = [None if row is None else round(weigh.utilized.log_odds(row), 6) for row in utilized(contexts, every)]
    found: dict[str, Any] = {"relevant": None, "utilized": used}
    if contexts.asked:
        stated = any(one.stems and one.missed is None and not one.free for one in every)
        rows = relevant(contexts, used if stated else ())
        found["relevant"] = [round(weigh.relevant.log_odds(row), 6) for row in rows]
        found["shared"] = _surfaces(question, contexts, found=True)
        found["missing"] = _surfaces(question, contexts, found=False)
    judged = {text: _row(contexts, one) for text, one in read.items()}
    found["response"] = [judged[text] for text in response]
    return found


def _row(contexts: Contexts, one: Said) -> dict[str, Any]:
    if one.free:
        return {"free": one.free}
    if one.missed is not None:
        absent = {"x": round(one.missed.log_odds, 6), **_holding(contexts, one.missed.finding, one.stems)}
        return {"absent": absent, **({} if one.finding is None else _carried_by(contexts, one, one.finding))}
    if one.finding is None or not one.finding.words:
        return {"blank": True}
    return _carried_by(contexts, one, one.finding)


def _carried_by(contexts: Contexts, one: Said, finding: Finding) -> dict[str, Any]:
    features = supported(contexts, one)
    x = None if features is None else round(numbers().supported.log_odds(features), 6)
    return {"x": x, **_holding(contexts, finding, one.stems)}


def _holding(contexts: Contexts, finding: Finding, stems: frozenset[str]) -> dict[str, Any]:
    """The sentences of what was found that share a word, and the words that none has."""
    holding = [i for i in windows_of(contexts, finding) if contexts.content[i] & stems]
    return {"found": list(dict.fromkeys(holding)), "missing": [word[:40] for word in finding.missing[:5]]}


def _surfaces(question: str, contexts: Contexts, *, found: bool) -> list[str]:
    """The words of the question that some sentence has, or that none has, as they are written."""
    words: dict[str, str] = {}
    for token in tokens_of(question[:ASKED], contexts.library.language):
        if token.stem in contexts.asked and (token.stem in contexts.index) == found:
            words.setdefault(token.stem, question[token.start : token.end][:40])
    return list(words.values())[:5]

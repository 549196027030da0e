"""How relevant texts are to a question: by the question's words, what it asks for, and the other texts of the call.

Texts are compared by words alone. So only a text with the question's words and with what it asks for can get the best
label, and one in other words than the question's is known only by the texts beside it. The time is linear in the texts,
and their order changes nothing.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from importlib.resources import files
from typing import Final, Literal, NamedTuple

import orjson

from ragstone.judges.embedded.abstaining import abstention, names
from ragstone.judges.embedded.library import Analysed, Library
from ragstone.judges.embedded.model import CONTENT, DIGITS, probability
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, question_stems, stem_of, tokens_of
from ragstone.types import Scale

QUESTION: Final = 20_000
"""Characters of a question that are read."""

MOST: Final = 200
"""The most words of a question that are looked for; of more, the rarest."""

NUMBER_WEIGHT: Final = 4.0
"""The least that a number of the question weighs."""

BEGIN: Final = 4
"""Letters with which two words must begin alike to be compared; ``ALIKE`` of all letters make one half of the other."""

ALIKE: Final = 0.65
HEADS: Final = 6
"""The most words of a question with one beginning that are compared with a word."""

K1: Final = 1.2
B: Final = 0.75
USUAL: Final = 120
"""Words of a text that BM25 takes for neither long nor short."""

SHORT: Final = 10
"""The words beyond which a text counts as longer."""

TOUCHED: Final = 0.3
"""The share of the question's weight from which on a sentence counts as one about it."""

NAMED: Final = 5
"""The most words that a reason names."""

NEAR: Final = 0.6
"""The share of the best sentence's from which on what is asked for is looked for in a sentence and beside it."""

STRONG: Final = 0.5
"""The share of the question's weight that a text must hold to get the best label."""

AKIN: Final = 0.08
"""The likeness to passages with the question's words from which on a passage without them may be about it, too."""

REFUSED: Final = 0.3
"""What is left of the probability of a text that says that it cannot answer."""

Level = Literal["passage", "response", "statement"]

Declines = Literal["", "partly", "wholly"]


class Features(NamedTuple):
    """What the models see of one text. Shares are of the weight of the question's words, in [0, 1]."""

    cover: float  # share in the text
    sentence: float  # share in its best sentence
    first: float  # share in its first sentence
    often: float  # logarithm of the sentences about the question
    score: float  # BM25 over the most that it could be
    found: float  # logarithm of the weight of the question's words in the text
    length: float  # logarithm of its words over SHORT: long texts have words in common with any question
    kin: float  # likeness, in other words than the question's, to texts of the call with the question's
    together: float  # ... in all texts of the call
    alone: float  # 1 where there is no other text


class Wanted(NamedTuple):
    """A kind of thing that questions ask for: what a reason calls it, how they ask, and what shows that a text has it.

    ``shown`` is a kind of word, whose absence says that the text lacks it, or a pattern, whose absence says nothing.
    """

    called: str
    asked: re.Pattern[str]
    shown: int | re.Pattern[str]


_WANTED: Final = (
    Wanted(
        "a number",
        re.compile(
            r"\b(?:how (?:many|much|old|long|far|tall|big|large|high|often|fast|soon)|when|which year"
            r"|what (?:year|date|time|age|number|price|temperature|size|rate)"
            r"|what\b[^?.]{1,40}\b(?:times|dates|limits|costs?|percentage)|сколько|когда|wann|wie (?:viele?|lange?|oft)"
            r"|quand|combien|cuándo|cuánt[oa]s?|quando|quant[oiae]s?)\b|多少|几|幾|何時|いつ"
        ),
        NUMBER,
    ),
    Wanted(
        "a reason",
        re.compile(r"\b(?:why|почему|зачем|warum|wieso|pourquoi|por qué|perché)\b|为什么|為什麼|なぜ"),
        re.compile(
            r"\b(?:because|since|due to|therefore|thus|hence|causes?|caused|leads? to|results? (?:in|from)|so that"
            r"|reasons?|потому|так как|weil|denn|car|parce que|porque|perché)\b|因为|因為|から"
        ),
    ),
    Wanted(
        "a name",
        re.compile(
            r"\b(?:who|whom|whose|where|which (?:country|city|state|person)|кто|кого|где|wer|wo|qui|où|quién|dónde|chi"
            r"|dove|quem|onde)\b"
        ),
        NAME,
    ),
    Wanted(
        "a yes or no",
        re.compile(
            r"^\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had|darf|kann|muss|ist"
            r"|sind|est-ce)\b"
        ),
        re.compile(r"^\W*(?:yes|no|да|нет|ja|nein|oui|non|sí|sì|sim|não)\b"),
    ),
    Wanted(
        "steps",
        re.compile(r"\bhow (?:do|does|to|can|could|should)\b"),
        re.compile(
            r"\b(?:first|then|next|press|select|set|click|step|follow|turn|open|choose|push|hold|tap|enter|fill)\b"
        ),
    ),
)
_PLAIN: Final = "i me my mine we us our you your should would may might must shall will have has had get be been"
"""English words of questions that say nothing of what is asked about."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one text: ``best``, the offsets of the sentence with most of the question's words, if any.

    ``shared`` and ``missing`` are words of the question as it writes them. ``wanted`` is what the question asks for,
    empty where that is not known; ``given`` says whether the text has it, None where that cannot be seen.
    ``blank``: the text or the question has no words to compare.
    """

    features: Features
    shared: tuple[str, ...]
    missing: tuple[str, ...]
    best: tuple[int, int] | None
    wanted: str
    given: bool | None
    declines: Declines
    blank: bool

    @property
    def strong(self) -> bool:
        """Whether enough was seen for the best label."""
        return self.given is True and self.features.cover >= STRONG and not self.declines

    @property
    def related(self) -> bool:
        """Whether it may answer in other words than the question's, so that it does not get the worst label."""
        unknown = not self.shared and not self.missing
        return self.declines != "wholly" and (unknown or self.features.kin >= AKIN or self.given is True)


def level_of(levels: Sequence[str]) -> Level:
    """The model for the units of a call, by their levels."""
    if all(level == "passage" for level in levels):
        return "passage"
    return "response" if all(level == "response" for level in levels) else "statement"


class _Question:
    """A question as weighted words; its language is that of the texts, which are longer."""

    def __init__(self, text: str, library: Library) -> None:
        question = text[:QUESTION]
        ignored = question_stems(library.language) | frozenset(stem_of(word, "en") for word in _PLAIN.split())
        weights: dict[str, float] = {}
        self.surfaces: dict[str, str] = {}
        tokens = tokens_of(question, library.language)
        for token in tokens:
            number = token.kind == NUMBER
            if token.kind != NEGATION and (number or token.stem not in ignored):
                weight = max(library.weight(token.stem), NUMBER_WEIGHT if number else 0.0)
                if weight >= CONTENT:
                    weights.setdefault(token.stem, weight)
                    self.surfaces.setdefault(token.stem, question[token.start : token.end])
        kept = frozenset(nlargest(MOST, weights, key=lambda stem: (weights[stem], stem)))
        self.weights: Mapping[str, float] = {stem: weight for stem, weight in weights.items() if stem in kept}
        self.total = math.fsum(self.weights.values()) or 1.0
        self.words = len(tokens)
        low = question.lower()
        self.wanted = next((kind for kind in _WANTED if kind.asked.search(low)), None)
        self._heads: dict[str, list[str]] = {}
        for stem in self.weights:
            if len(stem) > BEGIN:
                self._heads.setdefault(stem[:BEGIN], []).append(stem)
        self._matches: dict[str, tuple[str, float] | None] = {}

    def match(self, stem: str) -> tuple[str, float] | None:
        """The question's word that a word stands for, and how far: 1, or 0.5 where only their beginnings agree."""
        if stem in self.weights:
            return stem, 1.0
        heads = self._heads.get(stem[:BEGIN])
        if heads is None:
            return None
        if stem not in self._matches:
            own = next((head for head in heads[:HEADS] if _alike(head, stem)), None)
            self._matches[stem] = None if own is None else (own, 0.5)
        return self._matches[stem]

    def named(self, stems: Collection[str]) -> tuple[str, ...]:
        """The heaviest of some of its words, in its order and as it writes them."""
        top = frozenset(nlargest(NAMED, stems, key=lambda stem: (self.weights[stem], stem)))
        return tuple(self.surfaces[stem] for stem in self.weights if stem in top)

    def share(self, held: Mapping[str, float]) -> float:
        """The share of the question's weight that some words have, each by how far it was found."""
        return math.fsum(self.weights[stem] * part for stem, part in held.items()) / self.total


def _alike(one: str, other: str) -> bool:
    shared = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= ALIKE * max(len(one), len(other))


class _Text:
    """One text held against the question."""

    def __init__(self, text: Analysed, question: _Question) -> None:
        self.text, self.question = text, question
        self.held: dict[str, float] = {}
        self.shares: list[float] = []
        self.others: Counter[str] = Counter()
        self.counts: dict[str, float] = defaultdict(float)
        for line in map(text.stems, range(len(text.spans))):
            own: dict[str, float] = {}
            for stem in line:
                match = question.match(stem)
                if match is None:
                    self.others[stem] += 1
                    continue
                self.counts[match[0]] += match[1]
                own[match[0]] = max(own.get(match[0], 0.0), match[1])
            for stem, part in own.items():
                self.held[stem] = max(self.held.get(stem, 0.0), part)
            self.shares.append(question.share(own))
        self.cover = question.share(self.held)

    def score(self) -> float:
        """BM25 of the question over the most that it could be, in [0, 1]."""
        norm = K1 * (1 - B + B * self.text.words / USUAL)
        weights = self.question.weights
        return math.fsum(weights[s] * n / (n + norm) for s, n in self.counts.items()) / self.question.total

    def given(self) -> bool | None:
        """Whether what is asked for stands at the beginning, or in or beside a sentence with the question's words."""
        if self.question.wanted is None or not self.shares:
            return None
        shown, least = self.question.wanted.shown, NEAR * max(self.shares, default=0.0)
        core = [i for i, share in enumerate(self.shares) if share >= least]
        near = sorted({0, *(j for i in core for j in (i - 1, i, i + 1) if 0 <= j < len(self.shares))})
        if isinstance(shown, int):
            weights = self.question.weights
            return any(t.kind == shown and t.stem not in weights for i in near for t in self.text.tokens(i))
        text, spans = self.text.text, [self.text.spans[i] for i in near]
        return any(shown.search(text[span.start : span.end].lower()) for span in spans) or None

    def best(self) -> tuple[int, int] | None:
        """The offsets of the first sentence that has most of the question's words."""
        most = max(self.shares, default=0.0)
        if not most:
            return None
        span = self.text.spans[self.shares.index(most)]
        return span.start, span.end

    def declines(self) -> Declines:
        """Whether it says that it cannot answer: in half of its sentences with nothing else beside it, or at all."""
        language = self.text.language
        found = [abstention(self.text.text[span.start : span.end], language) for span in self.text.spans]
        bare = sum(one is not None and not names(one.besides, language) for one in found)
        if bare and 2 * bare >= len(found) and found[0]:
            return "wholly"
        return "partly" if any(found) else ""


def relevance(question: str, texts: Sequence[str], level: Level) -> list[Seen]:
    """What is seen of each text; the others of the same call are its company."""
    library = Library(texts, (question,))
    asked = _Question(question, library)
    held = [_Text(text, asked) for text in library.texts]
    likeness = _likeness(held, library)
    union: dict[str, float] = {}
    for text in held:
        for stem, part in text.held.items():
            union[stem] = max(union.get(stem, 0.0), part)
    together = math.log1p(asked.share(union) * asked.total)
    found: list[Seen] = []
    for text, kin in zip(held, likeness, strict=True):
        given = text.given()
        features = Features(
            cover=text.cover,
            sentence=max(text.shares, default=0.0),
            first=text.shares[0] if text.shares else 0.0,
            often=math.log1p(sum(share >= TOUCHED for share in text.shares)),
            score=text.score(),
            found=math.log1p(text.cover * asked.total),
            length=math.log(max(1.0, text.text.words / SHORT)),
            kin=kin,
            together=together,
            alone=float(len(held) == 1),
        )
        found.append(
            Seen(
                features=features,
                shared=asked.named(text.held.keys()),
                missing=asked.named(asked.weights.keys() - text.held.keys()),
                best=text.best(),
                wanted=asked.wanted.called if asked.wanted else "",
                given=given,
                declines="" if level == "passage" else text.declines(),
                blank=not (asked.words and text.text.words),
            )
        )
    return found


def _likeness(texts: Sequence[_Text], library: Library) -> list[float]:
    """For each text the mean cosine to the others, weighted by how much of the question they hold."""
    made: list[dict[str, float]] = []
    centre: dict[str, float] = {}
    for text in texts:
        vector = {
            stem: library.weight(stem) * (1 + math.log(count))
            for stem, count in text.others.items()
            if library.weight(stem) >= CONTENT
        }
        norm = math.sqrt(math.fsum(value * value for value in vector.values())) or 1.0
        made.append({stem: value / norm for stem, value in vector.items()})
        for stem, value in made[-1].items():
            centre[stem] = centre.get(stem, 0.0) + text.cover * value
    total = math.fsum(text.cover for text in texts)
    found = []
    for text, vector in zip(texts, made, strict=True):
        rest = total - text.cover
        near = math.fsum(value * (centre[stem] - text.cover * value) for stem, value in vector.items())
        found.append(round(max(0.0, near / rest), DIGITS) if rest > 1e-9 else 0.0)
    return found


# ---- from what was seen to a probability


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic model of relevance: a bias and a weight for each feature."""

    bias: float
    weight: Features

    def log_odds(self, features: Features) -> float:
        """The log-odds that a text with these features is relevant."""
        return self.bias + math.fsum(weight * value for weight, value in zip(self.weight, features, strict=True))


@lru_cache(maxsize=1)
def models() -> Mapping[Level, Weights]:
    """The models of this version, read once; ``training/fit_relevance.py`` makes them."""
    raw = orjson.loads(files("ragstone.judges.embedded").joinpath("relevance.json").read_bytes())
    zero = dict.fromkeys(Features._fields, 0.0)
    return {level: Weights(own["bias"], Features(**{**zero, **own["weight"]})) for level, own in raw.items()}


def chance_of(log_odds: float, declines: Declines) -> float:
    """The probability that a text is relevant, less where it says that it cannot answer."""
    return probability(log_odds, (1.0, 0.0)) * (REFUSED if declines == "wholly" else 1.0)


def relevance_label(scale: Scale, chance: float, *, strong: bool, related: bool) -> str:
    """The label whose place on the scale is nearest; of more than two the best only where ``strong``.

    The worst of more than two only where not ``related``.
    """
    best = len(scale.labels) - 1
    near = int(best * chance + 0.5)
    if best > 1:
        near = max(int(related), min(near, best - (not strong)))
    return scale.labels[near]

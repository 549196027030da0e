"""Judge the relevance of texts to a question by the question's words, the kind of answer it asks for, and other texts.

Texts are compared by words only. The best label requires the question's words and the kind of answer it asks for. A
text without the question's words is recognised only by similar texts. The time is linear, and the order of the texts
has no effect. ``QuestionWords`` also selects the nuggets of passages and determines their importance.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from heapq import nlargest
from typing import Any, Final, Literal, NamedTuple

from ragstone.judges.embedded.abstaining import abstention, names
from ragstone.judges.embedded.evidence import WORDS_NAMED
from ragstone.judges.embedded.library import Analysed, Library, analyse
from ragstone.judges.embedded.model import CONTENT, DIGITS, Level, probability, weigher, weighted
from ragstone.judges.embedded.stated import restated
from ragstone.judges.embedded.support import listing
from ragstone.judges.embedded.thesaurus import likes
from ragstone.judges.embedded.thesaurus import listed as is_common
from ragstone.judges.embedded.verbs import listed
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, lexicon, listed_stems, packaged, stem_of, tokens_of
from ragstone.segment import language_of

LONGEST: Final = 20_000  # maximum characters of a question that are read
MOST: Final = 200  # maximum words of a question that are searched for; the rarest are kept
NUMBER_WEIGHT: Final = 4.0  # minimum weight of a number in a question
ENOUGH: Final = 24.0  # weight of shared question words at which closeness is always 1


class QuestionWords:
    """The content words of a question in a given language, with their weights and spellings.

    ``empty`` names the list of words to ignore in addition to question words.
    """

    def __init__(self, question: str, language: str, empty: Literal["asking", "auxiliary"] = "asking") -> None:
        self.language = language
        text, weight = question[:LONGEST], weigher(language)
        ignored = listed_stems("question_words", language) | {
            stem_of(word, language) for word in listed(empty, language)
        }
        weights: dict[str, float] = {}
        self.written: dict[str, str] = {}
        for token in tokens_of(text, language):
            number = token.kind == NUMBER
            heavy = max(weight(token.stem), NUMBER_WEIGHT if number else 0.0)
            if token.kind != NEGATION and heavy >= CONTENT and (number or token.stem not in ignored):
                weights.setdefault(token.stem, heavy)
                self.written.setdefault(token.stem, text[token.start : token.end])
        kept = frozenset(heaviest(weights, weights, MOST))
        self.weights: Mapping[str, float] = {stem: heavy for stem, heavy in weights.items() if stem in kept}
        self.total = math.fsum(self.weights.values()) or 1.0

    def closeness(self, text: str) -> tuple[float, tuple[str, ...]]:
        """Return how close a statement is, in [0, 1], and the question's words that it shares, heaviest first."""
        found = {token.stem for token in tokens_of(text, self.language)} & self.weights.keys()
        order = heaviest(found, self.weights, len(found))
        value = math.fsum(self.weights[stem] for stem in order) / min(self.total, ENOUGH)
        return min(1.0, value), tuple(self.written[stem] for stem in order)


@lru_cache(maxsize=16)
def question_words(question: str, language: str) -> QuestionWords:
    """Return the words of a question; cached for the next text."""
    return QuestionWords(question, language)


def heaviest(stems: Collection[str], weights: Mapping[str, float], most: int) -> list[str]:
    """Return at most ``most`` stems, heaviest first; ties are broken by name."""
    return nlargest(most, stems, key=lambda stem: (weights[stem], stem))


LIKE: Final = 0.8  # minimum similarity of a synonym of a question word
BEGIN: Final = 5  # first letters shared with a question word for a word to count half
K1: Final = 1.2
B: Final = 0.75
USUAL: Final = 120  # average text length in words assumed by BM25
SHORT: Final = 10  # words up to which the length of a text has no effect
TOUCHED: Final = 0.3  # minimum share of the question's weight in a sentence about the question
NEAR: Final = 0.6  # minimum share, relative to the best sentence, to search around a sentence for the answer
STRONG: Final = 0.5  # minimum share of the question's weight in a text for the best label, and ...
LEAST: Final = 0.5  # ... in a sentence near the answer, for a passage to have at least this probability
AKIN: Final = 0.08  # minimum similarity to texts with the question's words for a text without them to be related
KIND: Final = 0.75  # maximum probability of a short answer, of which only the kind is known
REFUSED: Final = 0.3  # factor for the probability of a text that declines to answer

_DECLINES: Final = {
    "": "",
    "wholly": "declines to answer",
    "partly": "answers in part; says that part cannot be answered",
}


class RelevanceFeatures(NamedTuple):
    """The features of one text. Shares are shares of the weight of the question's words, in [0, 1]."""

    cover: float  # share in the text
    sentence: float  # share in its best sentence
    first: float  # share in its first sentence
    often: float  # log of the number of sentences about the question, plus 1
    score: float  # BM25 divided by its maximum
    found: float  # log of the weight of the question's words in the text, plus 1
    length: float  # log of its words divided by SHORT: long texts share words with any question
    kin: float  # similarity, in words not of the question, to the texts of the call that have the question's words
    together: float  # like ``found``, for all texts of the call together
    alone: float  # 1 if there is no other text


class Wanted(NamedTuple):
    """A kind of answer: its name in reasons, a pattern for questions that ask for it, and its sign in a text.

    ``shown`` is a kind of token, whose absence means that the text lacks the answer, or a pattern, whose absence means
    nothing.
    """

    called: str
    asked: re.Pattern[str]
    shown: int | re.Pattern[str]


@lru_cache(maxsize=1)
def _wanted() -> tuple[Wanted, ...]:
    kinds: Mapping[str, int] = {"number": NUMBER, "name": NAME}
    return tuple(
        Wanted(called, re.compile(asked), kinds[shown] if shown in kinds else re.compile(shown))
        for called, (asked, shown) in lexicon()["wanted"].items()
    )


class _Question(QuestionWords):
    """The weighted words of a question, read in the language of the texts because those are longer."""

    def __init__(self, text: str, language: str) -> None:
        super().__init__(text, language, "auxiliary")
        low = text[:LONGEST].lower()
        self.wanted = next((kind for kind in _wanted() if kind.asked.search(low)), None)
        self._begun = {stem[:BEGIN]: stem for stem in reversed(list(self.weights)) if len(stem) >= BEGIN}
        alike = ((stem, *one) for stem in self.weights for one in likes(stem, language).items())
        self._alike = {like: (stem, grade) for stem, like, grade in alike if grade >= LIKE}

    def match(self, stem: str) -> tuple[str, float] | None:
        """Return the question word that a word matches and its grade, 0.5 if only their first letters agree."""
        if stem in self.weights:
            return stem, 1.0
        begun = self._begun.get(stem[:BEGIN])
        return self._alike.get(stem) if begun is None else (begun, 0.5)

    def share(self, held: Mapping[str, float]) -> float:
        """Return the share of the question's weight in some words, each weighted by its grade."""
        return math.fsum(self.weights[stem] * part for stem, part in held.items()) / self.total


class PassageWords:
    """A text compared with the question: the question's words in it, in total and by sentence, and the other words."""

    features: RelevanceFeatures
    """Set once all texts of the call are compared."""

    short = False
    """Whether the text is too short to compare by words; completed from the question if of the requested kind."""

    def __init__(self, text: Analysed, question: _Question, level: Level) -> None:
        self.text, self.question, self.level = text, question, level
        self.held: dict[str, float] = {}  # grade of each question word found
        self.shares: list[float] = []
        self.others: Counter[str] = Counter()
        self.counts: dict[str, float] = defaultdict(float)
        self.shared: dict[str, None] = {}
        self.alike: dict[str, None] = {}
        for number in range(len(text.spans)):
            own: dict[str, float] = {}
            for token in text.tokens(number):
                match = question.match(token.stem)
                if match is None:
                    self.others[token.stem] += 1
                    continue
                self.counts[match[0]] += match[1]
                own[match[0]] = max(own.get(match[0], 0.0), match[1])
                if match[0] == token.stem:
                    self.shared[token.stem] = None
                else:
                    self.alike[text.sentence(number)[token.start : token.end]] = None
            _join(self.held, own)
            self.shares.append(question.share(own))
        self.cover = question.share(self.held)
        self.most = max(self.shares, default=0.0)

    def score(self) -> float:
        """Return the BM25 score divided by its maximum, in [0, 1]."""
        norm = K1 * (1 - B + B * self.text.words / USUAL)
        weights = self.question.weights
        return math.fsum(weights[s] * n / (n + norm) for s, n in self.counts.items()) / self.question.total

    @cached_property
    def given(self) -> bool | None:
        """Whether the requested kind of answer is at the start, or in or next to a sentence with the question's words.

        None if unknown.
        """
        if self.question.wanted is None or not self.shares:
            return None
        core = [i for i, share in enumerate(self.shares) if share >= NEAR * self.most]
        near = sorted({0, *(j for i in core for j in (i - 1, i, i + 1) if 0 <= j < len(self.shares))})
        shown, weights = self.question.wanted.shown, self.question.weights
        if isinstance(shown, int):
            return any(t.kind == shown and t.stem not in weights for i in near for t in self.text.tokens(i))
        return any(shown.search(self.text.sentence(i).lower()) for i in near) or None

    @cached_property
    def declines(self) -> str:
        """Whether the text declines to answer: "wholly" if at the start and in half of its sentences, else "partly"."""
        if self.level == "passage":
            return ""
        language = self.text.language
        found = [abstention(self.text.sentence(i), language) for i in range(len(self.shares))]
        bare = sum(one is not None and not names(one.besides, language) for one in found)
        if bare and 2 * bare >= len(found) and found[0]:
            return "wholly"
        return "partly" if any(found) else ""

    @property
    def strong(self) -> bool:
        """Whether the text qualifies for the best label."""
        return self.given is True and self.features.cover >= STRONG and not self.declines and not self.short

    @property
    def related(self) -> bool:
        """Whether the text may answer without the question's words, so it does not get the worst label."""
        unknown = not self.question.weights or self.short
        return self.declines != "wholly" and (unknown or self.features.kin >= AKIN or self.given is True)

    @property
    def chance(self) -> float:
        """The probability that the text is relevant, reduced if it declines to answer."""
        seen, weights = self.features._asdict(), packaged("relevance.json")[self.level]
        odds = weighted(weights, {name: seen[name] for name in weights if name != "bias"})
        chance = probability(round(odds, 6), (1.0, 0.0)) * (REFUSED if self.declines == "wholly" else 1.0)
        if self.level == "passage" and self.given and self.most >= STRONG:
            return max(chance, LEAST)
        return min(chance, KIND) if self.short else chance

    @property
    def reason(self) -> str:
        """The question's words in the text, and whether it has the requested kind of answer."""
        weights, wanted = self.question.weights, self.question.wanted
        top = heaviest(self.shared or weights, weights, WORDS_NAMED)
        unnamed = len(self.shared or weights) - len(top)
        words = listing([self.question.written[stem] for stem in weights if stem in top], unnamed)
        parts = []
        if wanted and self.given is not None and not self.declines:
            parts.append("includes " + (wanted.called if self.given else f"no {wanted.called.removeprefix('a ')}"))
        if self.short:
            parts.append("short answer")
        elif not words:
            parts.append("the question has no content words")
        else:
            shared = f"words shared with the question ({len(self.shared)} of {len(weights)}): {words}"
            alike = f"words similar to the question's: {listing([*self.alike])}"
            none = alike if self.alike else f"contains none of the question's words ({words})"
            parts.append(shared if self.shared else none)
            if not self.held and self.features.together > 0:
                where = "passages" if self.level == "passage" else "parts of the response"
                parts.append(f"other {where} contain some")
        return "; ".join(filter(None, (_DECLINES[self.declines], *parts)))

    def row(self) -> dict[str, Any]:
        """Return the row of the text in a reply."""
        if not self.text.words:
            return {"reason": "no words to look for" if self.text.text.strip() else "the text is blank"}
        best = self.text.spans[self.shares.index(self.most)] if self.most and self.level == "passage" else None
        windows = [[0, best.start, best.end]] if best else []
        found = {"chance": round(self.chance, 6), "windows": windows, "reason": self.reason}
        return {**found, "strong": self.strong, "related": self.related}


def _completed(answer: PassageWords, question: str) -> PassageWords:
    """Return a short answer of the requested kind completed from the question; any other answer unchanged."""
    said, language, wanted = answer.text.text, answer.text.language, answer.question.wanted
    text = restated(question, said, language, whole=False)
    if text == said or answer.declines:
        return answer
    answer.short = wanted is None
    whole = PassageWords(analyse(text, language), answer.question, answer.level)
    capitals = [token.stem for token in tokens_of(said, language) if said[token.start].isupper()]
    rare = any(weigher(language)(stem) >= CONTENT and not is_common(stem) for stem in capitals)
    named = rare and wanted is not None and wanted.shown == NAME  # "Telford." begins its sentence
    if not (named or answer.given or whole.given):
        return answer
    whole.given = whole.short = True
    return whole


def _join(held: dict[str, float], more: Mapping[str, float]) -> None:
    for stem, part in more.items():
        held[stem] = max(held.get(stem, 0.0), part)


def relevance(question: str, texts: Sequence[str], level: Level) -> list[PassageWords]:
    """Compare each text with the question and with the other texts of the call."""
    library = Library(texts, (question,))
    asked = _Question(question, library.language)
    every = [PassageWords(text, asked, level) for text in library.texts]
    every = every if level == "passage" else [_completed(one, question) for one in every]
    union: dict[str, float] = {}
    for one in every:
        _join(union, one.held)
    for one, kin in zip(every, _likeness(every, library), strict=True):
        one.features = RelevanceFeatures(
            cover=one.cover,
            sentence=one.most,
            first=one.shares[0] if one.shares else 0.0,
            often=math.log1p(sum(share >= TOUCHED for share in one.shares)),
            score=one.score(),
            found=math.log1p(one.cover * asked.total),
            length=math.log(max(1.0, one.text.words / SHORT)),
            kin=kin,
            together=math.log1p(asked.share(union) * asked.total),
            alone=float(len(every) == 1),
        )
    return every


def _likeness(texts: Sequence[PassageWords], library: Library) -> list[float]:
    """Return each text's mean cosine similarity to the others, weighted by their share of the question's words."""
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


# ---- texts by likeness


def nearest(question: str, texts: Sequence[str], most: int) -> list[int]:
    """Return the indices of at most ``most`` texts, the most similar by BM25 first; ties keep their order."""
    language = language_of(f"{question}\n{' '.join(texts)}")
    weights = question_words(question, language).weights
    stems = [[token.stem for token in tokens_of(text, language)] for text in texts]
    usual = sum(map(len, stems)) / max(1, len(stems)) or 1.0

    def score(place: int) -> float:
        norm = K1 * (1 - B + B * len(stems[place]) / usual)
        found = Counter(stem for stem in stems[place] if stem in weights)
        return math.fsum(weights[stem] * count / (count + norm) for stem, count in found.items())

    return sorted(range(len(texts)), key=lambda place: -score(place))[:most]

"""Turn the raw scores of a trace into labels: marked sentences, verdicts on the response, and their reasons.

Shares of sentences are what TRACe reports, so a sentence is not marked by its own score alone: the most probable ones
are marked, as many as make relevance, utilization and completeness of the record come closest to their expected values.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, Final, NamedTuple

import orjson

from ragstone.judges.base import Failed, Reply
from ragstone.judges.embedded.model import DIGITS, Weights, model, probability, weighted
from ragstone.judges.embedded.outcomes import Window, outcome
from ragstone.judges.embedded.words import packaged
from ragstone.questions import YES_NO, Special, Trace, Traced, key_of
from ragstone.types import Quote, Unit, Verdict

Marked = tuple[frozenset[int], frozenset[int]]  # the sentences marked as relevant, and those marked as used

GENERAL: Final[Special] = "general"
"""What a sentence rests on that states nothing, or rightly says that something is not there."""

LEAST_RELEVANT: Final = 0.05  # the least probability of a sentence marked as relevant ...
LEAST_USED: Final = 0.1  # ... and as used, which is easier to tell
CLOSEST: Final = 7  # how many counts of marked sentences are tried, of those closest to the expected one


class Use(NamedTuple):
    """What the model of use sees of a context sentence, all in [0, 1]."""

    share: float  # its part of the response's words, each shared among the sentences that have it, against the best
    held: float  # share of its words that the response has, averaged over the sentences around it
    evidence: float  # share of the response's sentences whose evidence it is in
    piece: float  # best share of a piece of the response between commas that it has, as far as no other has more


class Relevance(NamedTuple):
    """What the model of relevance sees of a context sentence. What was used is the best sign of what answers."""

    around: float  # weight of the question's words, against the best, averaged over the sentences around it
    used: float  # log-odds that the response used it


def numbers() -> Mapping[str, Weights]:
    """The three small models of this version: ``utilized``, ``relevant``, ``completeness``."""
    found: Mapping[str, Weights] = packaged("trace.json")
    return found


def log_odds(name: str, rows: Sequence[Use | Relevance | None]) -> list[float | None]:
    """What a model says of each sentence, to six decimals; None where it has no features."""
    return [None if row is None else round(weighted(numbers()[name], row._asdict()), 6) for row in rows]


class Layout:
    """Where sentences stand in a row of passages, each of which joins its own by a space."""

    def __init__(self, passages: Sequence[Sequence[str]]) -> None:
        ends = list(accumulate(map(len, passages)))
        self.passages = [range(end - len(passage), end) for end, passage in zip(ends, passages, strict=True)]
        self._starts = [list(accumulate((len(text) + 1 for text in passage), initial=0)) for passage in passages]

    def inside(self, window: Window) -> range:
        """The sentences of a stretch of a passage: numbers in the row of all sentences."""
        passage, start, end = window
        starts, first = self._starts[passage], self.passages[passage].start
        return range(first + bisect_right(starts, start) - 1, first + bisect_left(starts, end))


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


def grouped(sentences: Sequence[Unit]) -> list[list[Unit]]:
    """The sentences by their passages, which are in the order in which they begin."""
    passages: dict[str | None, list[Unit]] = {}
    for unit in sentences:
        passages.setdefault(unit.parent, []).append(unit)
    return list(passages.values())


def traced(question: Trace, passages: Sequence[Sequence[Unit]], reply: Reply | Failed, judge: str) -> Traced:
    """The answer to a question from the raw scores of its sentences, which are in the order of ``passages``."""
    sentences = list(chain.from_iterable(passages))
    found = _scores(reply, len(sentences), len(question.response))
    if isinstance(found, str):
        verdicts = tuple(Verdict(unit, None, None, judge, failure=found) for unit in question.response)
        return Traced(None, None, verdicts, ((),) * len(verdicts), failure=found)
    blank = found["relevant"] is None
    about = chances(found["relevant"] or [None] * len(sentences))
    relevant, utilized = marked(about, chances(found["utilized"]), numbers()["completeness"])

    def keys(places: frozenset[int]) -> tuple[str, ...]:
        named = {key_of(sentences[i]) for i in places}
        return tuple(key for unit in question.sentences if (key := key_of(unit)) in named)

    layout = Layout([[unit.text for unit in passage] for passage in passages])
    rows = zip(question.response, found["response"], strict=True)
    pairs = [_read(unit, row, layout, sentences, judge) for unit, row in rows]
    wordless = "the question has no words to look for" if question.question.strip() else "the question is blank"
    return Traced(
        relevant=None if blank else keys(relevant),
        utilized=keys(utilized),
        verdicts=tuple(verdict for verdict, _ in pairs),
        support=tuple(named for _, named in pairs),
        relevance_reason="" if blank else _about(found["shared"], found["missing"]),
        failure=wordless if blank else "",
    )


def _scores(reply: Reply | Failed, sentences: int, response: int) -> dict[str, Any] | str:
    """What the one reply holds, or why it cannot be used."""
    if isinstance(reply, Failed):
        return reply.reason
    try:
        found = orjson.loads(reply.text)
        sizes = [len(found["utilized"]), len(found["response"]), len(found["relevant"] or found["utilized"])]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "the reply cannot be read"
    return found if sizes == [sentences, response, sentences] else "the reply does not fit its question"


def _read(
    unit: Unit, row: Mapping[str, Any], layout: Layout, sentences: Sequence[Unit], judge: str
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict on a sentence of the response, as in the task ``support``, and the keys that it rests on."""
    if "trivial" in row:
        return Verdict(unit, "yes", 1.0, judge, raw=YES_NO.raw("yes"), reason=row["trivial"]), (GENERAL,)
    if "x" not in row and "absent" not in row:
        return Verdict(unit, None, None, judge, failure="no words to look for"), ()
    found = outcome(row, lambda window: ", ".join(key_of(sentences[i]) for i in layout.inside(window)))
    label = "yes" if found.chance >= model().support.yes else "no"
    units = [sentences[i] for i in dict.fromkeys(i for window in found.windows for i in layout.inside(window))]
    quotes = [Quote(one.parent or "", one.span, one.text, verbatim=True) for one in units if one.span is not None]
    verdict = Verdict(
        unit,
        label,
        YES_NO.value(label),
        judge,
        raw=YES_NO.raw(label),
        probability=round(found.chance, 6),
        evidence=tuple(quotes),
        reason=found.reason,
    )
    return verdict, (tuple(map(key_of, units)) or (GENERAL,)) if label == "yes" else ()


def _about(shared: Sequence[str], missing: Sequence[str]) -> str:
    """Which words of the question were looked for, and which no sentence has."""
    parts = (("looked for in the question's words: ", shared), ("in no sentence: ", missing))
    return "; ".join(lead + ", ".join(words) for lead, words in parts if words)

"""TRACe: relevance, utilization, completeness and adherence from one labelling of sentences.

Contexts and response are taken apart in sentences, each with a key; one question asks which of the contexts'
are relevant and used, and what supports each of the response's. The rest is arithmetic, so that another length or
normaliser needs no further call. Source: RAGBench (arXiv 2407.11005).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, Final

from ragstone.metrics.base import EMPTY_VALUE, Flow, Metric, ask, best
from ragstone.metrics.words import FOUND, SUPPORTED, TRUE_TO_PASSAGES, MetricWords, ScoreTable, Sentence
from ragstone.questions import SPECIAL, Trace, Traced, key_of
from ragstone.segment import division, located, sentences, words_in
from ragstone.types import DETAILS, NOTHING, Record, Score, Span, Status, Unit

COLUMNS: Final = (
    "adherence", "relevance", "utilization", "completeness", "average",
    "relevance_share", "utilization_share", "adherence_share",
)  # fmt: skip
TITLES: Final[Mapping[str, str]] = {
    "relevance": "relevant sentences of the contexts, relative to a fixed number",
    "relevance_share": "sentences of the contexts that are relevant",
    "utilization": "used sentences, relative to the relevant ones",
    "utilization_share": "sentences of the contexts that are used",
    "completeness": "relevant sentences that are used",
    "average": "mean of the four measures",
}
LENGTHS: Final[Mapping[str, Callable[[str], int]]] = {
    "sentences": lambda _text: 1,
    "characters": len,
    "tokens": words_in,
}
"""The length of a sentence in the shares: one, its characters, or its words."""

SENTENCES: Final = 100_000
"""Sentences of the contexts that are marked at most; of more nothing is said, so that memory stays bounded."""


@dataclass(frozen=True, slots=True)
class TraceColumn:
    """A value with its bounds, or why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    status: Status = "scored"
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceMetric(Metric):
    """RAGBench's four measures in eight columns, from one call.

    ``normaliser``: number of relevant sentences at which ``relevance`` reaches 1. ``length``: unit of the ``_share``
    columns: ``sentences``, ``characters`` or ``tokens`` (words).
    """

    name = "trace"
    title = "which context sentences are relevant and used, and whether they support the response"
    needs = ("question", "response", "contexts")
    asks = ("trace",)
    suites = ("trace",)
    columns = COLUMNS
    calls = 1
    source = "RAGBench, arXiv 2407.11005"
    synonyms: ClassVar[Mapping[str, str]] = {
        "context_utilization": "in its column trace.utilization",
        **{name: f"in its column trace.{name}" for name in ("adherence", "utilization", "completeness")},
    }
    elsewhere: ClassVar[Mapping[str, str]] = {"RAGBench": "TRACe"}
    group = TRUE_TO_PASSAGES
    heading = "TRACe"
    unit = "sentence"
    rank = 50
    words = MetricWords(
        labels={**SUPPORTED, "no": "not fully supported"},
        titles={
            **TITLES,
            "adherence": "responses with every sentence supported",
            "adherence_share": "sentences of a response that are supported",
        },
        sentences={
            "adherence": Sentence(
                "of the responses have every sentence supported",
                "{have} a sentence that is not fully supported",
                "sentence",
            )
        },
    )
    found_words = MetricWords(
        labels=FOUND,
        titles={
            **TITLES,
            "adherence": "responses with every sentence found in the contexts",
            "adherence_share": "sentences of a response found in the contexts",
        },
        sentences={
            "adherence": Sentence(
                "of the responses have every sentence found in their contexts",
                "{have} a sentence that was not found",
                "sentence",
            )
        },
    )
    main_columns = ("adherence",)
    ranked_by: ClassVar[Mapping[str, str]] = {"adherence": "adherence_share"}
    table: ClassVar[ScoreTable] = ScoreTable(
        {
            "relevance": ("relevance", "relevance_share"),
            "utilization": ("utilization", "utilization_share"),
            "completeness": ("completeness",),
            "adherence": ("adherence", "adherence_share"),
            "average": ("average",),
        },
        ("normalised", "share"),
        "normalised: relevance = relevant {length} / {normaliser}; utilization = used / relevant; completeness = "
        "(relevant and used) / relevant; adherence = 1 only if every sentence is supported. share: fraction of all "
        "{length} that are relevant (relevance), used (utilization) or supported (adherence)",
        {
            "length": {
                "sentences": "sentences",
                "characters": "characters",
                "tokens": "words",
            }
        },
    )

    normaliser: int = 20
    length: str = "sentences"
    least = MappingProxyType({"normaliser": 1})
    choices = MappingProxyType({"length": tuple(LENGTHS)})

    @classmethod
    def stands_on(cls, column: str, unit: Mapping[str, Any]) -> bool:  # noqa: ARG003 - all units are sentences
        """Verdicts are of the response; the other columns are counts over the contexts."""
        return column.startswith("adherence")

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Take apart, ask once, count."""
        contexts = tuple(islice(context_sentences(record), SENTENCES + 1))
        response = tuple(response_units(record))
        if not contexts:
            return self.nothing(record, "empty", "the contexts contain no sentence")
        if not response:
            return self.nothing(record, "empty", "the response contains no sentence")
        if len(contexts) > SENTENCES:
            return self.nothing(record, "judge_failed", f"the contexts contain more than {SENTENCES:,} sentences")
        (answer,) = yield from ask(Trace("trace", record.question or "", contexts, response))
        traced = _checked(answer, {key_of(unit) for unit in contexts})
        found = self._columns(traced, contexts)
        unjudged = sum(verdict.unjudged for verdict in traced.verdicts)
        mapped, scores = sentence_map(traced, contexts), []
        for name, column in found.items():
            about = name.startswith("adherence") or name == "average"
            scores.append(
                Score(
                    metric=f"{self.name}.{name}", record=record.id, value=column.value, status=column.status,
                    asked=len(response) if about else 0, unjudged=unjudged if about else 0,
                    low=column.low, high=column.high, outcome=self.outcome(column.value), reason=column.reason,
                    verdicts=traced.verdicts, detail=mapped,
                )
            )  # fmt: skip
        return self.together(scores)

    def _columns(self, traced: Traced, contexts: tuple[Unit, ...]) -> dict[str, TraceColumn]:
        weigh = LENGTHS[self.length]
        lengths = {key_of(unit): weigh(unit.text) for unit in contexts}
        total = sum(lengths.values())
        found = {**_support(traced, weigh)}
        lost = TraceColumn(None, 0.0, 1.0, "judge_failed", traced.failure or "the judge did not say")
        relevant = None if traced.relevant is None else set(traced.relevant)
        utilized = None if traced.utilized is None else set(traced.utilized)
        value = EMPTY_VALUE[self.on_empty]
        nothing = TraceColumn(value, value, value, "empty", "no sentence is relevant")
        if relevant is None:
            found |= dict.fromkeys(("relevance", "relevance_share", "utilization", "completeness"), lost)
        else:
            found["relevance"] = _exact(min(1.0, len(relevant) / self.normaliser))
            found["relevance_share"] = _exact(_share(relevant, lengths, total))
            if not relevant:
                found |= dict.fromkeys(("utilization", "completeness"), nothing)
            elif utilized is None:
                found |= dict.fromkeys(("utilization", "completeness"), lost)
            else:
                found["utilization"] = _exact(min(1.0, len(utilized) / len(relevant)))
                found["completeness"] = _exact(len(relevant & utilized) / len(relevant))
        found["utilization_share"] = lost if utilized is None else _exact(_share(utilized, lengths, total))
        found["average"] = _average([found[name] for name in ("relevance", "utilization", "completeness", "adherence")])
        return {name: found[name] for name in COLUMNS}


def _checked(traced: Traced, known: AbstractSet[str]) -> Traced:
    """The answer without keys that no sentence has: a judge of the user's own may not look."""

    def of(keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for key in keys if key in known))

    listed = (*(traced.relevant or ()), *(traced.utilized or ()))
    made_up = dict.fromkeys((*traced.dropped, *(key for key in listed if key not in known)))
    return replace(
        traced,
        relevant=None if traced.relevant is None else of(traced.relevant),
        utilized=None if traced.utilized is None else of(traced.utilized),
        support=tuple(tuple(key for key in keys if key in known or key in SPECIAL) for keys in traced.support),
        dropped=tuple(made_up),
    )


def _exact(value: float) -> TraceColumn:
    return TraceColumn(value, value, value)


def _share(keys: set[str], lengths: Mapping[str, int], total: int) -> float:
    return sum(lengths[key] for key in keys) / total if total else 0.0


def _support(traced: Traced, weigh: Callable[[str], int]) -> dict[str, TraceColumn]:
    """Adherence, and its share; what is unjudged is in neither and widens the bounds."""
    weights = [(weigh(v.unit.text), v.value) for v in traced.verdicts]
    judged = [(weight, value) for weight, value in weights if value is not None]
    unjudged = len(weights) - len(judged)
    why = "; ".join(dict.fromkeys(v.failure for v in traced.verdicts if v.failure))
    reason = f"{unjudged} of {len(weights)} unjudged: {why}" if unjudged else ""
    if not judged and traced.overall is not None:  # people may say it of the whole alone
        whole = _exact(float(traced.overall))
        return {"adherence": whole, "adherence_share": TraceColumn(None, 0.0, 1.0, "judge_failed", reason)}
    if not judged:
        lost = TraceColumn(None, 0.0, 1.0, "judge_failed", reason)
        return {"adherence": lost, "adherence_share": lost}
    status: Status = "partial" if unjudged else "scored"
    every = all(value >= 1 for _, value in judged)
    total, known = sum(weight for weight, _ in weights), sum(weight for weight, _ in judged)
    gained = math.fsum(weight * value for weight, value in judged)
    return {
        "adherence": TraceColumn(float(every), float(every and not unjudged), float(every), status, reason),
        "adherence_share": TraceColumn(gained / known, gained / total, best(gained, known, total), status, reason),
    }


def _average(parts: list[TraceColumn]) -> TraceColumn:
    absent = next((part for part in parts if part.value is None), None)
    if absent is not None:
        return TraceColumn(None, absent.low, absent.high, absent.status, absent.reason)

    def mean(of: str) -> float:
        return math.fsum(getattr(part, of) for part in parts) / len(parts)

    partial = next((part for part in parts if part.status == "partial"), None)
    return TraceColumn(
        mean("value"),
        mean("low"),
        mean("high"),
        partial.status if partial else "scored",
        partial.reason if partial else "",
    )


def sentence_map(traced: Traced, contexts: tuple[Unit, ...]) -> dict[str, Any]:
    """Return the map of supporting, relevant and used sentences as plain JSON."""
    relevant = None if traced.relevant is None else set(traced.relevant)
    utilized = None if traced.utilized is None else set(traced.utilized)
    rows = []
    for unit in contexts:
        key = key_of(unit)
        span = unit.span or Span(0, 0)
        rows.append(
            {
                "key": key, "passage": unit.parent, "start": span.start, "end": span.end,
                "relevant": None if relevant is None else key in relevant,
                "utilized": None if utilized is None else key in utilized,
            }
        )  # fmt: skip
    response = [
        {
            "key": key_of(verdict.unit),
            "support": [key for key in keys if key not in SPECIAL],
            "special": [key for key in keys if key in SPECIAL],
            "supported": None if verdict.value is None else verdict.value >= 1,
        }
        for verdict, keys in zip(traced.verdicts, traced.support, strict=True)
    ]
    found: dict[str, Any] = {"contexts": rows, "response": response}
    for name in ("relevance_reason", "support_reason", "failure"):
        if getattr(traced, name):
            found[name] = getattr(traced, name)
    if traced.overall is not None:
        found["overall"] = traced.overall
    if traced.dropped:
        found["dropped"] = list(traced.dropped)
    if traced.parts > 1:
        found["parts"] = traced.parts
    return found


def context_sentences(record: Record) -> Iterator[Unit]:
    """The sentences of all contexts, keyed ``doc_i_sj`` from 0, with their passage and their span in it.

    The keys of a passage that came with its sentences are the places in their list, a blank one's too.
    """
    details = record.meta.get(DETAILS, NOTHING)
    for passage in record.contexts or ():
        detail = details.get(passage.id) if isinstance(details, Mapping) else None
        own = division(detail.get("sentences")) if isinstance(detail, Mapping) else ()
        stem = f"{record.id}/doc_{passage.rank - 1}_s"
        if not own:
            yield from _keyed(stem, passage.text, sentences(passage.text), passage.id)
        for number, (text, span) in enumerate(zip(own, located(passage.text, own), strict=True)):
            if not text.isspace():
                words = passage.text[span.start : span.end] if span else text
                yield Unit(f"{stem}{number}", "sentence", words, span, passage.id)


def response_units(record: Record) -> Iterator[Unit]:
    """The sentences of the response, keyed ``resp_sj`` from 0; a TREC answer's are those it came in."""
    text = record.response or ""
    cited = [citation.span for citation in record.citations]
    yield from _keyed(f"{record.id}/resp_s", text, cited or sentences(text))


def _keyed(stem: str, text: str, spans: Iterable[Span], parent: str | None = None) -> Iterator[Unit]:
    for number, span in enumerate(spans):
        yield Unit(f"{stem}{number}", "sentence", text[span.start : span.end], span, parent)


METRIC = TraceMetric

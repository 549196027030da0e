"""TRACe: relevance, utilization, completeness and adherence from a single labelling of sentences.

Passages and response are split into sentences, each with a key. One question asks which passage sentences are relevant
and used, and which of them support each response sentence. The rest is arithmetic, so changing ``length`` or
``normaliser`` needs no further call. Source: RAGBench (arXiv 2407.11005).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from ragstone.metrics.base import Flow, Metric, ask, best
from ragstone.metrics.words import FOUND, SUPPORTED, TRUE_TO_PASSAGES, Labels, MetricWords, ScoreTable, Sentence
from ragstone.questions import SPECIAL, Trace, Traced, key_of
from ragstone.segment import division, located, sentences, words_in
from ragstone.stats.means import mean
from ragstone.types import DETAILS, NOTHING, Record, Score, Span, Status, Unit

COLUMNS: Final = (
    "adherence", "relevance", "utilization", "completeness", "average",
    "relevance_share", "utilization_share", "adherence_share",
)  # fmt: skip
AVERAGED: Final = ("relevance", "utilization", "completeness", "adherence")
JUDGED: Final = ("adherence", "adherence_share", "average")
"""Columns computed from the verdicts on the response's sentences."""
COUNTS: Final = ("relevance", "relevance_share", "utilization", "utilization_share", "completeness")
"""Columns that count passage sentences."""
TITLES: Final[Mapping[str, str]] = {
    "relevance": "number of relevant passage sentences divided by 20 (parameter `normaliser`), at most 100%",
    "relevance_share": "share of passage sentences that are relevant",
    "utilization": "used passage sentences divided by relevant ones, at most 100%",
    "utilization_share": "share of passage sentences that are used",
    "completeness": "share of relevant sentences that are used",
    "average": "mean of relevance, utilization, completeness and adherence",
}
LENGTHS: Final[Mapping[str, Callable[[str], int]]] = {
    "sentences": lambda _text: 1,
    "characters": len,
    "tokens": words_in,
}
"""The length of a sentence for the shares: 1, its characters, or its words."""

SENTENCES: Final = 100_000
"""Maximum number of passage sentences; records with more are not judged, so that memory stays bounded."""


def _words(labels: Labels, every: str, share: str, of: str, lacking: str) -> MetricWords:
    titles = {
        "adherence": f"share of responses with every sentence {every}",
        "adherence_share": f"share of a response's sentences {share}",
    }
    sentence = Sentence(f"In {{}} of the responses, {of}", f"{{have}} a sentence that {lacking}", "sentence")
    return MetricWords(labels, {**TITLES, **titles}, {"adherence": sentence})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TraceMetric(Metric):
    """RAGBench's four measures, three variants and an average, all from one call.

    ``normaliser``: number of relevant sentences at which ``relevance`` reaches 1. ``length``: unit of the ``_share``
    columns: ``sentences``, ``characters`` or ``tokens`` (words).
    """

    name = "trace"
    title = "which passage sentences are relevant and used, and whether they support the response"
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
    words = _words(
        {**SUPPORTED, "no": "not fully supported"}, "supported", "that are supported",
        "the passages support every sentence", "is not fully supported",
    )  # fmt: skip
    found_words = _words(
        FOUND, "found in the passages", "found in the passages", "every sentence was found in the passages",
        "was not found",
    )  # fmt: skip
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
        "normalised: relevance is relevant {length} / {normaliser}; utilization is used / relevant; completeness is "
        "(relevant and used) / relevant; adherence is 100% only if every sentence is supported. share: fraction of all "
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
        """Return whether a column uses the verdicts on the response; the others count passage sentences."""
        return column.startswith("adherence")

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Split the texts into sentences, ask once and compute the columns."""
        contexts = tuple(islice(context_sentences(record), SENTENCES + 1))
        response = tuple(response_units(record))
        if not contexts:
            return self.nothing(record, "empty", "the passages contain no sentence")
        if not response:
            return self.nothing(record, "empty", "the response contains no sentence")
        if len(contexts) > SENTENCES:
            return self.nothing(record, "judge_failed", f"the passages contain more than {SENTENCES:,} sentences")
        (answer,) = yield from ask(Trace("trace", record.question or "", contexts, response))
        traced = _checked(answer, {key_of(unit) for unit in contexts})
        found = {**self._support(record, traced), **self._use(record, traced, contexts)}
        found["average"] = self._average(record, [found[name] for name in AVERAGED])
        common: dict[str, Any] = {"verdicts": traced.verdicts, "detail": sentence_map(traced, contexts)}
        counts: dict[str, Any] = {"asked": len(response), "unjudged": sum(v.unjudged for v in traced.verdicts)}
        scores = (replace(found[name], **common, **(counts if name in JUDGED else {})) for name in COLUMNS)
        return self.together(scores)

    def _use(self, record: Record, traced: Traced, contexts: tuple[Unit, ...]) -> dict[str, Score]:
        """Return the columns of ``COUNTS``."""
        lengths = {key_of(unit): LENGTHS[self.length](unit.text) for unit in contexts}
        total = sum(lengths.values())
        relevant = None if traced.relevant is None else set(traced.relevant)
        utilized = None if traced.utilized is None else set(traced.utilized)
        found: dict[str, float] = {}
        if relevant is not None:
            found["relevance"] = min(1.0, len(relevant) / self.normaliser)
            found["relevance_share"] = sum(lengths[key] for key in relevant) / total if total else 0.0
        if utilized is not None:
            found["utilization_share"] = sum(lengths[key] for key in utilized) / total if total else 0.0
        if relevant and utilized is not None:
            found["utilization"] = min(1.0, len(utilized) / len(relevant))
            found["completeness"] = len(relevant & utilized) / len(relevant)
        scores = {name: self.exact(record, value, column=name) for name, value in found.items()}
        for name in (name for name in COUNTS if name not in found):
            status: Status = "judge_failed"
            reason = traced.failure or "the judge did not answer this part"
            if relevant == set() and name in ("utilization", "completeness"):
                status, reason = "empty", "no sentence is relevant"
            scores[name] = self.without_value(record, status, reason, column=name)
        return scores

    def _support(self, record: Record, traced: Traced) -> dict[str, Score]:
        """Return adherence and its share; unjudged sentences are excluded and widen the bounds."""
        weigh = LENGTHS[self.length]
        weights = [(weigh(v.unit.text), v.value) for v in traced.verdicts]
        judged = [(weight, value) for weight, value in weights if value is not None]
        unjudged = len(weights) - len(judged)
        why = "; ".join(dict.fromkeys(v.failure for v in traced.verdicts if v.failure))
        reason = f"{unjudged} of {len(weights)} unjudged: {why}" if unjudged else ""
        if not judged:
            lost = {
                name: self.without_value(record, "judge_failed", reason, column=name)
                for name in ("adherence", "adherence_share")
            }
            if traced.overall is not None:  # people may label only the whole response
                lost["adherence"] = self.exact(record, float(traced.overall), column="adherence")
            return lost
        every = all(value >= 1 for _, value in judged)
        total, known = sum(weight for weight, _ in weights), sum(weight for weight, _ in judged)
        gained = math.fsum(weight * value for weight, value in judged)
        ends = {
            "adherence": (float(every), float(every and not unjudged), float(every)),
            "adherence_share": (gained / known, gained / total, best(gained, known, total)),
        }
        return {
            name: self.valued(record, *values, column=name, partial=bool(unjudged), reason=reason)
            for name, values in ends.items()
        }

    def _average(self, record: Record, parts: Sequence[Score]) -> Score:
        if lost := next((part for part in parts if part.value is None), None):
            return replace(lost, metric=self.score_name("average"))
        ends = ([getattr(part, end) for part in parts] for end in ("value", "low", "high"))
        value, low, high = map(mean, ends)
        partial = next((part for part in parts if part.status == "partial"), None)
        reason = partial.reason if partial else ""
        return self.valued(record, value, low, high, column="average", partial=partial is not None, reason=reason)


def _checked(traced: Traced, known: AbstractSet[str]) -> Traced:
    """Return the answer without keys of nonexistent sentences, which a custom judge may not have checked."""

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


def sentence_map(traced: Traced, contexts: tuple[Unit, ...]) -> dict[str, Any]:
    """Return which sentences are relevant, used and supporting, as plain JSON."""
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
    more: dict[str, Any] = {name: getattr(traced, name) for name in ("relevance_reason", "support_reason", "failure")}
    more |= {"overall": traced.overall, "dropped": [*traced.dropped], "parts": traced.parts if traced.parts > 1 else ""}
    given = {name: value for name, value in more.items() if value not in (None, "", [])}
    return {"contexts": rows, "response": response, **given}


def context_sentences(record: Record) -> Iterator[Unit]:
    """Yield the sentences of all passages, keyed ``doc_i_sj`` from 0, with their passage and their span in it.

    If a passage came divided into sentences, the keys are positions in that list, blank sentences included.
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
    """Yield the sentences of the response, keyed ``resp_sj`` from 0; a TREC answer keeps its own division."""
    text = record.response or ""
    cited = [citation.span for citation in record.citations]
    yield from _keyed(f"{record.id}/resp_s", text, cited or sentences(text))


def _keyed(stem: str, text: str, spans: Iterable[Span], parent: str | None = None) -> Iterator[Unit]:
    for number, span in enumerate(spans):
        yield Unit(f"{stem}{number}", "sentence", text[span.start : span.end], span, parent)

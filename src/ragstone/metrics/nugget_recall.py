"""Nugget recall: share of a good answer's facts that the response contains.

One assignment gives the six variants used by TREC RAG and its successors. Denominators are actual counts: unjudged
nuggets are excluded and widen the bounds instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.nuggetset import (
    BankMetric,
    NuggetSet,
    bounds,
    named,
    nuggets_of_record,
    unnamed,
    weighed,
)
from ragstone.metrics.words import COMPLETE, MetricWords, ScoreTable, Sentence, labels
from ragstone.questions import SUPPORT_2, SUPPORT_3, Batch
from ragstone.types import RESPONSE, Importance, Passage, Record, Score, Status, Verdict

COLUMNS: Final = ("all", "strict_all", "vital", "strict_vital", "weighted", "weighted_strict")
TITLES: Final[Mapping[str, str]] = {
    "strict_vital": "share of vital nuggets fully in the response",
    "vital": "share of vital nuggets in the response; partial matches count half",
    "strict_all": "share of nuggets fully in the response",
    "all": "share of nuggets in the response; partial matches count half",
    "weighted_strict": "share of nuggets fully in the response; okay ones count half",
    "weighted": "share of nuggets in the response; okay ones and partial matches count half",
}
LEADING: Final = {"strict_vital": "vital nugget", "strict_all": "nugget"}
"""The columns that may be a run's headline, and what they count."""
GRADES: Final = MappingProxyType({3: SUPPORT_3, 2: SUPPORT_2})


class Held(Struct, frozen=True):
    """A nugget's importance and how far the response contains it; None means unjudged.

    ``lenient`` is 1, 1/2 or 0 for support, partial support and no support; ``strict`` is 1 only for full support.
    """

    importance: Importance | None
    lenient: float | None
    strict: float | None


class Recall(Struct, frozen=True):
    """The value of a column, and its bounds if all unjudged nuggets were missing from the response, or in it.

    ``maybe`` counts the nuggets of unknown importance, which may belong in the column.
    """

    value: float | None
    low: float | None
    high: float | None
    asked: int
    unjudged: int
    maybe: int


def recalls(nuggets: Iterable[Held]) -> dict[str, Recall]:
    """Return all columns; a value is None if no judged nugget counts in it, e.g. if none is vital.

    A nugget of unknown importance may be vital in the bounds. In the value it is not; in the weighted columns it counts
    half, like an okay one.
    Source: the TREC 2024 RAG track (arXiv 2411.09607, 2504.15068).
    """
    listed = tuple(nuggets)
    return {column: _recall(listed, *_COUNTING[column]) for column in COLUMNS}


_COUNTING: Final[Mapping[str, tuple[float, float, bool]]] = {
    "all": (1.0, 1.0, False),
    "strict_all": (1.0, 1.0, True),
    "vital": (1.0, 0.0, False),
    "strict_vital": (1.0, 0.0, True),
    "weighted": (1.0, 0.5, False),
    "weighted_strict": (1.0, 0.5, True),
}
"""For each column: the weight of a vital nugget, the weight of any other, and whether only full support counts."""


def _recall(nuggets: Sequence[Held], vital: float, other: float, strict: bool) -> Recall:
    weighted = [(vital if n.importance == "vital" else other, n.strict if strict else n.lenient) for n in nuggets]
    judged = [(weight, held) for weight, held in weighted if weight and held is not None]
    gained = math.fsum(weight * held for weight, held in judged)
    counted = math.fsum(weight for weight, _ in judged)
    value = gained / counted if counted else None
    # A nugget of unknown importance may be vital.
    most = [vital if n.importance is None else weight for n, (weight, _) in zip(nuggets, weighted, strict=True)]
    asked = [(held, weight, most) for (weight, held), most in zip(weighted, most, strict=True) if most]
    low, high = bounds(asked)
    return Recall(
        value=value,
        low=low,
        high=high if value is None or high is None else min(1.0, max(value, high)),  # sums may be rounded
        asked=len(asked),
        unjudged=len(asked) - len(judged),
        maybe=sum(not least for _, least, _ in asked),
    )


def _words(yes: str, verb: str, lacking: str) -> MetricWords:
    sentences = {
        column: Sentence(f"of a topic's {nugget}s {verb} {yes}", lacking.format(nugget=nugget), nugget)
        for column, nugget in LEADING.items()
    }
    return MetricWords(labels(yes), TITLES, sentences)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NuggetRecall(BankMetric):
    """Share of the nuggets, from the record or a bank file, that the response contains, in six columns.

    ``create``: whether to create a bank from the passages if there is none; always false in a suite or with a bank
    file. ``grades``: 3 (support, partial support, no support) or 2 (support, no support). ``evidence``: whether to ask
    for quotes from the response.
    """

    name = "nugget_recall"
    title = "share of a good answer's facts that the response contains"
    needs = ("response",)
    wants = ("nuggets",)
    instead = ("question", "contexts")
    instead_does = "a judge creates nuggets from the passages"
    asks = ("nuggetize", "importance", "assign")
    brings = ("nuggetize", "importance")
    suites = ("nuggets",)
    columns = COLUMNS
    calls = 2
    unsigned = (*Metric.unsigned, "create")
    in_suites: ClassVar[Mapping[str, Any]] = MappingProxyType({"create": False})
    source = "TREC 2024 RAG track, arXiv 2411.09607, 2504.15068"
    elsewhere: ClassVar[Mapping[str, str]] = {"TREC RAG": "AutoNuggetizer"}
    group = COMPLETE
    unit = "nugget"
    limits = ("keep", "max_nuggets")
    rank = 60
    words = _words("in the response", "are", "{{lack}} one of them")
    found_words = _words("found in the response", "were", "{{have}} a {nugget} that was not fully found")
    table: ClassVar[ScoreTable] = ScoreTable(
        {
            "vital": ("strict_vital", "vital"),
            "all": ("strict_all", "all"),
            "weighted": ("weighted_strict", "weighted"),
        },
        ("strict", "half"),
        "strict: full matches only; half: partial matches count half",
    )

    create: bool = True
    grades: int = 3
    evidence: bool = True
    reasons: bool = False
    batch: Batch = 0
    choices = MappingProxyType({"grades": tuple(GRADES)})

    @classmethod
    def stands_on(cls, column: str, unit: Mapping[str, Any]) -> bool:
        """Return whether a column counts a nugget: the vital columns count only vital ones."""
        return column not in ("vital", "strict_vital") or unit.get("importance") == "vital"

    def nothing(self, record: Record, status: Status, reason: str) -> tuple[Score, ...]:
        """Return all columns without a value; the detail lists the record's own nuggets, if any."""
        scores = super(NuggetRecall, self).nothing(record, status, reason)
        listed = [{"text": n.text, "importance": n.importance} for n in record.nuggets or ()]
        return (replace(scores[0], detail={"bank": "record", "listed": listed}), *scores[1:]) if listed else scores

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Get or create the bank with importance ratings, then assign its nuggets."""
        nuggets, trouble = yield from self.bank(record)
        if trouble:
            return trouble
        whole, scale = (Passage(RESPONSE, record.response or "", 1),), GRADES[self.grades]
        (rated,) = yield from ask(
            self.rate(record, "assign", unnamed(nuggets.units), scale, passages=whole, evidence=self.evidence)
        )
        return self._scores(record, nuggets, named(rated.verdicts, nuggets.units), rated.reason)

    def bank(self, record: Record) -> Flow[tuple[NuggetSet, tuple[Score, ...]]]:
        """Return the nuggets with their importance, or scores that say why there are none."""
        if record.nuggets is not None:
            nuggets = yield from weighed(record, nuggets_of_record(record))
            trouble = () if nuggets.units else self.nothing(record, "empty", "the bank has no nuggets")
            return nuggets, trouble
        if not self.create:
            return NuggetSet(()), self.nothing(record, "missing_field", "no nuggets")
        if not record.passages or not (record.question or "").strip():
            reason = "no nuggets, and no question with contexts to create them from"
            return NuggetSet(()), self.nothing(record, "missing_field", reason)
        created = yield from self.created(record)
        if created.units:
            return created, ()
        if created.failure:
            return created, self.nothing(record, "judge_failed", f"no nuggets: {created.failure}")
        return created, self.nothing(record, "empty", self.why_empty(created))

    def _scores(
        self, record: Record, nuggets: NuggetSet, verdicts: tuple[Verdict, ...], reason: str
    ) -> tuple[Score, ...]:
        # All columns share the verdicts, panel statistics and failures of the mean over all nuggets.
        base = self.mean_score(record, verdicts, reason=reason, incomplete=nuggets.incomplete)
        every = [held(verdict) for verdict in verdicts]
        rows = [{"nugget": v.unit.id, "importance": v.unit.importance, "assignment": v.label} for v in verdicts]
        source = "record" if record.nuggets is not None else "created"
        detail = {**base.detail, "bank": source, **nuggets.counts(), "nuggets": rows}
        return self.together(
            self._column(record, column, recall, base, nuggets, {"verdicts": verdicts, "detail": detail})
            for column, recall in recalls(every).items()
        )

    def _column(
        self, record: Record, column: str, recall: Recall, base: Score, nuggets: NuggetSet, shared: Mapping[str, Any]
    ) -> Score:
        if not recall.asked:
            return self.without_value(record, "empty", "no nugget is vital", column=column, **shared)
        common = {"column": column, "asked": recall.asked, "unjudged": recall.unjudged, **shared}
        vital, other, _ = _COUNTING[column]
        unknown = nuggets.unknown if vital != other else ""
        reason = "; ".join(filter(None, (unknown, base.reason)))
        if recall.value is None:
            status: Status = "judge_failed" if (record.question or "").strip() else "missing_field"
            return self.without_value(record, status, reason, **common)
        assert recall.low is not None
        assert recall.high is not None
        low, high = (0.0, 1.0) if nuggets.failure else (recall.low, recall.high)
        partial = bool(recall.unjudged or unknown or nuggets.failure)
        return self.valued(record, recall.value, low, high, partial=partial, reason=reason, **common)


def held(verdict: Verdict) -> Held:
    """Convert an assignment verdict for counting."""
    strict = float(verdict.label == "support") if verdict.strict is None else verdict.strict
    return Held(verdict.unit.importance, verdict.value, None if verdict.value is None else strict)

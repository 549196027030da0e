"""Nugget support: how well passages support a bank's nuggets, by the best passage and by each nugget's sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.nuggetset import named, nuggets_of_record, unnamed
from ragstone.metrics.words import FOUND, GOOD_RETRIEVAL, SUPPORTED, MetricWords
from ragstone.questions import GRADE_0_3, Batch
from ragstone.types import Record, Score, Verdict

TITLES: Final[Mapping[str, str]] = {
    "best": "how well the best passage supports a nugget",
    "source": "how well the passages that a nugget comes from support it",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NuggetSupport(Metric):
    """Each nugget is graded from 0 to 3 against each passage alone.

    ``nugget_support.best`` is the mean of the nuggets' highest grades, divided by 3. ``nugget_support.source`` is the
    same, but covers only nuggets whose source passages (``docids``) are in the record, and only grades for these.
    """

    name = "nugget_support"
    title = "how well the retrieved passages support a good answer's facts"
    needs = ("contexts", "nuggets")
    asks = ("support",)
    suites = ("retrieval",)
    columns = tuple(TITLES)
    calls = 5
    group = GOOD_RETRIEVAL
    unit = "nugget"
    rank = 65
    words = MetricWords(labels=SUPPORTED, titles=TITLES)
    found_words = MetricWords(labels=FOUND, titles=TITLES)

    reasons: bool = False
    batch: Batch = 0

    @classmethod
    def stands_on(cls, column: str, unit: Mapping[str, Any]) -> bool:  # noqa: ARG003 - all units are nuggets
        """Return whether a column uses the stored verdicts, which are those of the best passages."""
        return column == "best"

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Rate each nugget by each passage alone."""
        units, passages = nuggets_of_record(record).units, record.passages
        if not units:
            return self.nothing(record, "empty", "the bank has no nuggets")
        asked = unnamed(units)
        answers = yield from ask(
            *(self.rate(record, "support", asked, GRADE_0_3, passages=(passage,)) for passage in passages)
        )
        sources = [nugget.sources for nugget in record.nuggets or ()]
        by_nugget = list(zip(*(named(answer.verdicts, units) for answer in answers), strict=True))
        rows, own = [], []
        for unit, ids, verdicts in zip(units, sources, by_nugget, strict=True):
            by_passage = {passage.id: v for passage, v in zip(passages, verdicts, strict=True)}
            values = {name: v.value for name, v in by_passage.items()}
            rows.append({"nugget": unit.id, "importance": unit.importance, "sources": [*ids], "passages": values})
            own.append([by_passage[name] for name in ids if name in by_passage])
        best = self._column(record, "best", by_nugget, {"nuggets": rows})
        if not any(own):
            why = "no nugget comes from one of the passages"
            return best, self.without_value(record, "empty", why, column="source", verdicts_in=best.metric)
        source = self._column(record, "source", [verdicts for verdicts in own if verdicts], {})
        return best, replace(source, verdicts=(), verdicts_in=best.metric)

    def _column(
        self, record: Record, column: str, by_nugget: Sequence[Sequence[Verdict]], detail: Mapping[str, Any]
    ) -> Score:
        """Return the mean of each nugget's best verdict; unjudged pairs raise the upper bound."""
        best = [max(verdicts, key=lambda v: -1.0 if v.value is None else v.value) for verdicts in by_nugget]
        score = self.mean_score(record, best, column=column, detail=detail)
        lost = sum(v.unjudged for verdicts in by_nugget for v in verdicts)
        if score.value is None or not lost:
            return score
        highest = [1.0 if any(v.unjudged for v in verdicts) else v.value or 0.0
                   for v, verdicts in zip(best, by_nugget, strict=True)]  # fmt: skip
        reason = score.reason or f"{lost} of {sum(map(len, by_nugget))} nugget-passage pairs unjudged"
        return replace(score, status="partial", high=math.fsum(highest) / len(highest), reason=reason)

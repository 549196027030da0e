"""Rubric: how well records meet the user's own criteria, with a score for each.

A record's criteria that use the same fields share one question. Criteria from records are untrusted input, so they are
delimited like any text of a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from msgspec.structs import replace

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.criteria import MOST_STEPS, OWN, Criterion, criteria_of
from ragstone.metrics.words import ANY_COLUMN, OWN_CRITERIA, MetricWords, labels
from ragstone.questions import YES_NO, EarlierTurns, Rate, Write, Written, history_of
from ragstone.segment import language_of
from ragstone.types import Record, Score, Status, Unit, is_blank


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RubricMetric(Metric):
    """Each criterion has its own score: the value of the label that the judge chose.

    ``criteria``: a list, as in the configuration; a record's criterion replaces the run's criterion of the same name.
    ``rubric.own`` is the mean of the criteria that only the record has.
    """

    name = "rubric"
    title = "how well the response meets your own criteria"
    needs = ()
    asks = ("rubric",)
    suites = ("rubric",)
    source = "G-Eval, arXiv 2303.16634"
    synonyms: ClassVar[Mapping[str, str]] = dict.fromkeys(("g_eval", "aspect_critique", "custom_criteria"), "")
    elsewhere: ClassVar[Mapping[str, str]] = {
        "deepeval": "GEval",
        "ragas": "aspect_critic, simple_criteria_score, rubrics_score, instance_rubrics",
        "promptfoo": "llm-rubric",
        "MLflow": "Guidelines",
    }
    group = OWN_CRITERIA
    unit = "judgement"
    rank = 90
    words = MetricWords(
        labels=labels("met"),
        titles={
            ANY_COLUMN: "how well responses meet the criterion '{}'",
            OWN: "how well responses meet their own criteria",
        },
    )
    open_columns = True
    hears = False

    criteria: tuple[Criterion, ...] = ()
    reasons: bool = True

    def unset(self) -> str:
        """Return a message if there are no criteria, else empty."""
        wanted = "write [rubric.NAME] tables in ragstone.toml, or specify a file of them with --rubric FILE"
        return "" if self.criteria else f"no criteria; {wanted}"

    def expecting(self, *, overridden: bool) -> Self:
        """Return the metric, with a score for the records' own criteria if any record has them."""
        criteria = (*self.criteria, Criterion(OWN, "", own=True))
        return Metric.with_parameters(self, {"criteria": criteria}) if overridden else self

    def with_parameters(self, parameters: Mapping[str, Any]) -> Self:
        """Return the metric with other criteria or parameters."""
        if "criteria" in parameters:
            parameters = {**parameters, "criteria": criteria_of(parameters["criteria"])}
        return Metric.with_parameters(self, parameters)

    def overridden(self, parameters: Mapping[str, Any]) -> Self:
        """Return the metric with one record's criteria in addition to those of the run."""
        if "criteria" in parameters:
            given = {one.name: one for one in criteria_of(parameters["criteria"])}
            common = [given.pop(one.name, one) for one in self.criteria if one.text]
            parameters = {**parameters, "criteria": [*common, *(replace(one, own=True) for one in given.values())]}
        return self.with_parameters(parameters)

    def gives(self) -> tuple[str, ...]:
        """Return a column per criterion of the run, and one for all of a record's own criteria."""
        return tuple(self._columns())

    def _columns(self) -> dict[str, list[Criterion]]:
        found: dict[str, list[Criterion]] = {}
        for one in self.criteria:
            found.setdefault(one.column, []).append(one)
        return found

    @property
    def writes(self) -> bool:
        """Whether a judge writes the steps of a criterion."""
        return any(one.written for one in self.criteria)

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Ask for the steps to be written, if any, then rate the criteria, one question per set of fields."""
        lacking = {one.name: _lacking(record, one) for one in self.criteria}
        able = [one for one in self.criteria if not lacking[one.name][1]]
        writing = [one for one in able if one.written]
        written: dict[str, Written] = {}
        if writing:
            answers = yield from ask(
                *(
                    Write(
                        "rubric",
                        "step",
                        "",
                        criterion=one.unit(),
                        fields=one.fields,
                        most=MOST_STEPS,
                        lang=language_of(one.text),
                    )
                    for one in writing
                )
            )
            written = {one.name: answer for one, answer in zip(writing, answers, strict=True)}
            lacking |= {
                name: ("judge_failed", f"its steps: {one.failure}") for name, one in written.items() if one.failure
            }
        steps = {name: tuple(unit.text for unit in one.units) for name, one in written.items()}
        groups: dict[tuple[str, ...], list[Unit]] = {}
        for one in able:
            if not lacking[one.name][1]:
                groups.setdefault(one.fields, []).append(one.unit(record.id, steps.get(one.name, ())))
        verdicts = {}
        if groups:
            rated = yield from ask(*(self._question(record, fields, units) for fields, units in groups.items()))
            verdicts = {verdict.unit.id: verdict for answer in rated for verdict in answer.verdicts}
        return tuple(self._scores(record, verdicts, lacking, steps))

    def _question(self, record: Record, fields: Sequence[str], units: Sequence[Unit]) -> Rate:
        def seen(field: str) -> str:
            return getattr(record, field) or "" if field in fields else ""

        return Rate(
            "rubric", tuple(units), units[0].scale or YES_NO, seen("question"),
            record.passages if "contexts" in fields else (), reasons=self.reasons, evidence="response" in fields,
            response=seen("response"), reference=seen("reference"),
            history=history_of(record.meta) if "history" in fields else EarlierTurns(),
        )  # fmt: skip

    def _scores(
        self, record: Record, verdicts: Mapping[str, Any], lacking: Mapping[str, tuple[Status, str]],
        steps: Mapping[str, tuple[str, ...]],
    ) -> Iterator[Score]:  # fmt: skip
        for column, criteria in self._columns().items():
            found = [verdicts[unit] for one in criteria if (unit := one.unit(record.id).id) in verdicts]
            told = {one.name: list(all_of) for one in criteria if (all_of := steps.get(one.name) or one.steps)}
            reasons = dict.fromkeys(lacking[one.name] for one in criteria if lacking[one.name][1])
            if not found:
                status, reason = next(iter(reasons))
                yield self.without_value(record, status, reason, column=column)
                continue
            missing = "; ".join(f"{one.name}: {why}" for one in criteria if (why := lacking[one.name][1]))
            detail = {"steps": told} if told else {}
            yield self.mean_score(record, found, column=column, detail=detail, incomplete=missing)


def _lacking(record: Record, criterion: Criterion) -> tuple[Status, str]:
    """Return why a criterion cannot be judged; the reason is empty if it can. Earlier turns are optional."""
    if not criterion.text:
        return "missing_field", "no criteria of its own"
    for field in criterion.fields:
        if field == "history":
            continue
        if field == "contexts" and not record.passages:
            return "missing_field", "no contexts"
        value = getattr(record, field)
        if value is None:
            return "missing_field", f"no {field}"
        if isinstance(value, str) and is_blank(value):
            return "empty", f"blank {field}"
    return "scored", ""

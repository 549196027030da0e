"""Draw records for people to label blind, with the same question that the judge was asked.

Guarantees: the same run, metric and seed draw the same records in the same order, regardless of input order. A record
is drawn with all of its units, without anything that a judge said about them. Records are in random order, so the first
n of a random draw are a random sample too.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ragstone.analysis.flow_replay import replay
from ragstone.analysis.result import Result
from ragstone.analysis.run import unit_text
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.scored import grouping
from ragstone.errors import InputError
from ragstone.labels import LabelDraw, text_hash
from ragstone.metrics import find, of_score
from ragstone.prompts.choice import Choice
from ragstone.prompts.rubric import Rubric, rubric_of
from ragstone.questions import Rate, Trace, Traced, history_of, in_conversation
from ragstone.result_types import ScoreDict
from ragstone.stats.means import mean
from ragstone.types import RESPONSE, TRIVIAL, Passage, Verdict

RECORDS: Final = 50
"""Default number of records to draw."""
SECONDS: Final = 12
"""Estimated seconds per label."""

Evidence = Literal["passages", "response", "question"]
"""What units are rated against: the passages, the response, or the question alone."""


class LabelUnit(Struct, frozen=True):
    """A unit to label; ``span`` is its place in the response, ``passage`` its id if the unit is a passage."""

    id: str
    level: str
    text: str
    span: tuple[int, int] | None
    passage: str | None

    @property
    def hash(self) -> str:
        """The hash of its text, used to join labels to it."""
        return text_hash(self.text)


class LabelRecord(Struct, frozen=True):
    """A record to label, with its units in reading order."""

    id: str
    question: str
    response: str
    contexts: tuple[Passage, ...]
    units: tuple[LabelUnit, ...]


class LabelSample(Struct, frozen=True):
    """Records to label for a metric's ``task``, in random order.

    ``metric`` is the score with the verdicts, ``unit`` the word for a unit, ``evidence`` what units are rated against,
    and ``rubric`` the labels with their meanings.
    """

    metric: str
    unit: str
    task: str
    evidence: Evidence
    rubric: Rubric
    draw: LabelDraw
    records: tuple[LabelRecord, ...]

    @property
    def units(self) -> int:
        """The number of units."""
        return sum(len(record.units) for record in self.records)

    @property
    def minutes(self) -> int:
        """The estimated minutes of labelling, at 12 seconds per unit."""
        return math.ceil(self.units * SECONDS / 60)


def ratable(run: AnyRun) -> list[str]:
    """Return the scores of a run that have verdicts on units."""
    found: dict[str, None] = {}
    for result in run.results():
        found |= dict.fromkeys(score.get("metric", "") for score in result.typed.get("scores", ()) if _scored(score))
    return [name for name in found if of_score(name).labelled]


def sample(
    run: AnyRun,
    metric: str,
    *,
    n: int = RECORDS,
    seed: int = 0,
    by: str | None = None,
    worst: bool = False,
    against: AnyRun | None = None,
) -> LabelSample:
    """Draw ``n`` records that have the score ``metric``, or all if there are fewer.

    Args:
        run: The run.
        metric: A score with verdicts, one of ``ratable(run)``.
        n: The number of records to draw, at least 1.
        seed: A different number draws different records.
        by: A field (topic, question or meta.NAME); records are drawn in proportion to its values.
        worst: Draw the records on whose units judges disagree most: the members of a panel, or this run and
            ``against``; for a single judge, those with the least certain probabilities.
        against: The run of another judge, for ``worst``.

    Raises:
        InputError: Nothing can be drawn.
    """
    group = grouping(by) if by else lambda _: None
    lots: list[_Lot] = []
    for result in run.results():
        score = _score(result, metric)
        if score is not None and _scored(score):
            doubt = _doubt(result, score, against, metric) if worst else None
            lots.append(_Lot(_hash(f"{seed}/{result['id']}"), result["id"], group(result.typed), doubt))
    if worst:
        drawn = _least_certain(lots, n, against)
    elif by and all(lot.group is None for lot in lots):
        raise InputError(f"--by {by}: no record in the run has this field")
    else:
        drawn = _proportional(lots, n)
    results = [found for lot in sorted(drawn) if (found := run.find(lot.record)) is not None]
    question = _question(run, metric, results)
    draw = LabelDraw("worst" if worst else "random", seed, len(results), len(lots), by or "")
    named = find(metric.partition(".")[0])
    evidence = _evidence(question)
    records = tuple(_record(result, metric, evidence) for result in results)
    return LabelSample(metric, named.unit, named.task(), evidence, _rubric(run, question), draw, records)


# ---- the draw


class _Lot(Struct, frozen=True, order=True):
    """A record in the draw: its random place, its group, and how much its judges disagree."""

    place: str
    record: str
    group: str | None = None
    doubt: float | None = None


def _proportional(lots: Sequence[_Lot], n: int) -> list[_Lot]:
    """Draw from each group in proportion to its size, rounding by the largest remainder method."""
    groups: dict[str | None, list[_Lot]] = defaultdict(list)
    for lot in sorted(lots):
        groups[lot.group].append(lot)
    n = min(n, len(lots))
    shares = {name: divmod(n * len(members), len(lots)) for name, members in groups.items()}
    left = n - sum(whole for whole, _ in shares.values())
    more = sorted(groups, key=lambda name: (-shares[name][1], groups[name][0]))[:left]
    return [lot for name, members in groups.items() for lot in members[: shares[name][0] + (name in more)]]


def _least_certain(lots: Sequence[_Lot], n: int, against: AnyRun | None) -> list[_Lot]:
    known = [(-lot.doubt, lot) for lot in lots if lot.doubt is not None]
    if not known and against is not None:
        raise InputError("no unit has a verdict in both runs; --against needs another run on the same records")
    if not known:
        raise InputError(
            "the judge gave no probabilities, so its least certain records are unknown; "
            "add --against with a run by another judge"
        )
    found = [lot for doubt, lot in sorted(known)[:n] if doubt]
    if not found:
        raise InputError("the judges agree on every unit; leave out --worst to draw at random")
    return found


def _doubt(result: Result, score: ScoreDict, against: AnyRun | None, metric: str) -> float | None:
    """Return the mean disagreement over units, 0 to 1; a mean, since each unit takes the same time to label."""
    if against is None:
        return mean(apart) if (apart := _apart(score)) else None
    other = against.find(result["id"])
    theirs = _score(other, metric) if other is not None else None
    if other is None or theirs is None:
        return None
    values, others = _values(result, score), _values(other, theirs)
    both = [abs(value - others[text]) for text, value in values.items() if text in others]
    return mean(both) if both else None


def _apart(score: ScoreDict) -> list[float]:
    """Return, per unit, how far apart the members of a panel are; without a panel, how uncertain the judge is."""
    panels = [[one["value"] for one in verdict.get("members", ())] for verdict in score["verdicts"]]
    judged = [[value for value in values if value is not None] for values in panels]
    if any(panels):
        return [max(values) - min(values) for values in judged if len(values) > 1]
    sure = [verdict["probability"] for verdict in score["verdicts"] if verdict["label"] != TRIVIAL]
    return [1 - abs(2 * probability - 1) for probability in sure if probability is not None]


def _values(result: Result, score: ScoreDict) -> dict[str, float]:
    """Return the values of verdicts by the text of their units, since another judge's claims have different ids."""
    units = {unit["id"]: unit for unit in result["units"]}
    judged = ((unit_text(result, units[v["unit"]]), v["value"]) for v in score["verdicts"])
    return {text: value for text, value in judged if value is not None}


def _score(result: Result, metric: str) -> ScoreDict | None:
    return next((score for score in result.typed.get("scores", ()) if score.get("metric") == metric), None)


def _scored(score: ScoreDict) -> bool:
    return score.get("value") is not None and bool(score.get("verdicts"))


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


# ---- the records, without judges' verdicts


def _record(result: Result, metric: str, evidence: Evidence) -> LabelRecord:
    units = [_unit(result, unit) for unit in _units(result, metric)]
    shown = evidence == "passages" or any(unit.passage is not None for unit in units)
    # A judge lists its most important units first, so keeping that order would reveal its opinion.
    units.sort(key=lambda unit: (unit.span or (0, 0), "" if unit.span or unit.passage else _hash(unit.id)))
    contexts = (Passage(one["id"], one["text"], one["rank"]) for one in result["contexts"] if one["text"].strip())
    return LabelRecord(
        result["id"], in_conversation(result["question"] or "", history_of(result["meta"])), result["response"] or "",
        tuple(contexts) if shown else (), tuple(units),
    )  # fmt: skip


def _units(result: Result, metric: str) -> Iterator[Mapping[str, Any]]:
    """Return the units with verdicts, each once: a response may have one verdict per wording."""
    score = _score(result, metric)
    judged = {verdict["unit"] for verdict in score["verdicts"]} if score else set()
    return (unit for unit in result["units"] if unit["id"] in judged)


def _unit(result: Result, unit: Mapping[str, Any]) -> LabelUnit:
    passage = unit["parent"] if unit["level"] == "passage" else None
    place = None if unit["start"] is None or passage is not None else (unit["start"], unit["end"])
    return LabelUnit(unit["id"], unit["level"], unit_text(result, unit), place, passage)


# ---- the question


def _question(run: AnyRun, metric: str, results: Sequence[Result]) -> Rate | Trace:
    """Return the question that rates the units, found by replaying the metric; it has the run's scale."""
    name = metric.partition(".")[0]
    made = find(name)().with_parameters(run.spec.get("parameters", {}).get(name, {}))
    for result in results:
        asked = replay(made, result.typed, lambda unit, _: Verdict(unit, None, None, ""), Traced(None, None, (), ()))
        if asked.question is not None:  # else scored without a judge, such as a response that repeats a passage
            own = [asked.units[unit["id"]] for unit in _units(result, metric) if unit["id"] in asked.units]
            if isinstance(asked.question, Rate) and own and own[0].scale:
                return replace(asked.question, units=tuple(own))
            if own or not made.open_columns:
                return asked.question
    if made.open_columns:  # else the page would offer the labels of another criterion
        raise InputError(f"{metric}: a record's own criteria cannot be labelled, since each has a scale of its own")
    raise InputError(f"{metric}: no drawn record was judged, so the scale is unknown; draw more records")


def _evidence(question: Rate | Trace) -> Evidence:
    if isinstance(question, Rate) and not question.passages:
        return "question"
    return "response" if isinstance(question, Rate) and question.passages[0].id == RESPONSE else "passages"


def _rubric(run: AnyRun, question: Rate | Trace) -> Rubric:
    route = run.spec.get("steps", {}).get(question.task) or run.spec.get("default") or {"judges": []}
    judge: Mapping[str, Any] = next((run.spec["judges"].get(name, {}) for name in route["judges"]), {})
    return rubric_of(question, Choice.from_json(judge.get("choice", {})))

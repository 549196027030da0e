"""Labels of people joined to the verdicts of a run, by record, unit and task.

The results are read once. Only labelled units are kept, and a few numbers of every other record. A label that does not
join is refused, counted and listed; none is mapped to another unit or another label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from ragstone.analysis.flow_replay import Judging, Replayed, replay, verdict_of
from ragstone.analysis.reply_formats import Formats
from ragstone.analysis.run import unit_text
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.scored import grouping
from ragstone.errors import InputError
from ragstone.labels import LabelRow, text_hash
from ragstone.metrics import catalogue, column_of
from ragstone.metrics.base import Metric
from ragstone.stats.means import mean
from ragstone.stats.rankings import majority
from ragstone.types import NOTHING, TRIVIAL, Scale, Unit, Verdict

if TYPE_CHECKING:
    from ragstone.result_types import ResultDict, VerdictDict

Problem = Literal[
    "unknown_record", "unknown_unit", "wrong_task", "changed_text", "unknown_label", "other_settings", "cannot_tell"
]
LISTED: Final = 5
"""Rows of each problem that are listed."""
PARTS: Final = ("sentence", "claim")
"""Units of which the worst decides on the whole response; of passages it is the best."""
ROUNDED: Final = 1e-8
"""The largest difference of a value from the one that results are written with."""

_Labels: TypeAlias = dict[str, list[LabelRow]]
"""Rows by unit; those of the whole response are under an empty one."""


@dataclass(slots=True)
class Refused:
    """Rows that did not join for one problem: how many, and the first few."""

    problem: Problem
    count: int = 0
    first: list[LabelRow] = field(default_factory=list)

    def add(self, row: LabelRow) -> None:
        """Count one row."""
        self.count += 1
        if len(self.first) < LISTED:
            self.first.append(row)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"problem": self.problem, "count": self.count, "first": [row.as_json() for row in self.first]}


@dataclass(frozen=True, slots=True)
class LabelledUnit:
    """One unit with people's labels and the judge's verdict.

    ``votes`` are people's labels by annotator; ``gold`` is their majority, None for a tie. ``judged`` is None where the
    judge gave no verdict. ``random`` is False where a worst-first draw chose the unit.
    """

    record: str
    position: int
    unit: str
    text: str
    votes: Mapping[str, str]
    gold: str | None
    judged: str | None
    probability: float | None
    reason: str
    judge: str
    random: bool = True
    group: str | None = None


@dataclass(frozen=True, slots=True)
class RecordValues:
    """One record's value of a score by people and by the judge."""

    record: str
    people: float
    judge: float


@dataclass(slots=True)
class Joined:
    """What was gathered of one metric.

    ``units`` have labels; ``wholes`` are records with a label of the whole response, or of every passage. ``stand`` are
    the scores that stand on labelled units. By score, ``values`` are those of records that people labelled in full,
    ``others`` the judge's of all other scored records. ``part`` counts records that were labelled in part, ``unlike``
    those whose score does not follow from its verdicts with the run's settings. ``passed`` has for each record the
    units without a label of a random draw that the judge passes, and that it gave a value.
    """

    metric: Metric
    scale: Scale | None = None
    units: list[LabelledUnit] = field(default_factory=list)
    wholes: list[LabelledUnit] = field(default_factory=list)
    stand: set[str] = field(default_factory=set)
    values: dict[str, list[RecordValues]] = field(default_factory=lambda: defaultdict(list))
    others: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    passed: list[tuple[int, int]] = field(default_factory=list)
    part: int = 0
    unlike: int = 0


@dataclass(slots=True)
class Gathered:
    """All that the one pass over a run's results leaves.

    ``names`` are all of its metrics, ``example`` is a record's id. ``joined`` holds the identities
    of rows that joined.
    """

    metrics: dict[str, Joined] = field(default_factory=dict)
    refused: dict[Problem, Refused] = field(default_factory=dict)
    formats: Formats = field(default_factory=Formats)
    names: dict[str, None] = field(default_factory=dict)
    joined: set[int] = field(default_factory=set)
    example: str = ""

    def refuse(self, problem: Problem, *rows: LabelRow) -> None:
        """Count rows that did not join."""
        for row in rows:
            self.refused.setdefault(problem, Refused(problem)).add(row)


def join(
    run: AnyRun, rows: Sequence[LabelRow], by: str | None = None, metrics: Collection[str] | None = None
) -> Gathered:
    """Join rows to a run's verdicts of ``metrics`` (all if None); ``by`` is the field that groups records.

    InputError for two labels of one annotator for a unit, a field that cannot group, and results that Ragstone did not
    write.
    """
    waiting: dict[str, list[LabelRow]] = defaultdict(list)
    for row in distinct(rows):
        waiting[row.record].append(row)
    gathered = Gathered()
    grouped = grouping(by) if by is not None else lambda _: None
    parameters = run.spec.get("parameters", {})
    seen: set[str] = set()
    for each in run.results():
        result = each.typed
        if "set_aside" in each:
            continue
        gathered.example = gathered.example or result["id"]
        labelled = waiting.pop(result["id"], [])
        try:
            held = {name: _Held(cls, result) for name, cls in _measured(result).items()}
            own = _sorted(labelled, held, result, gathered)
            gathered.names.update(dict.fromkeys(held))
            for name, one in held.items():
                if metrics is not None and name not in metrics:
                    continue
                if name not in gathered.metrics:
                    settings = {**parameters.get(name, NOTHING), **one.cls.always_asking}
                    gathered.metrics[name] = Joined(one.cls().with_parameters(settings))
                _take(gathered, gathered.metrics[name], one, own[name], grouped(result))
            for call in result.get("calls", []) if labelled else []:
                if call["key"] not in seen:
                    seen.add(call["key"])
                    gathered.formats.add(result["id"], call, 0)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{run.name}: the result of '{each['id']}' is not as ragstone writes it ({error!r})"
            ) from error
    for unread in waiting.values():
        gathered.refuse("unknown_record", *unread)
    return gathered


def distinct(rows: Iterable[LabelRow]) -> Iterator[LabelRow]:
    """The rows, each label once; InputError where one annotator gives a unit two labels."""
    seen: dict[tuple[str, str, str, str], str | None] = {}
    for row in rows:
        key = (row.record, row.unit, row.task, row.annotator)
        if key not in seen:
            seen[key] = row.label
            yield row
        elif seen[key] != row.label:
            who = f"by {row.annotator}" if row.annotator else "without an annotator"
            raise InputError(
                f"{row.unit} ({row.task}) is labelled {seen[key]} and {row.label} {who}; keep one of them, or name the "
                "annotators"
            )


def overall(labels: Collection[str | None], scale: Scale, *, best: bool) -> str | None:
    """The label of a whole: the best of its units, or the worst; None (unjudged) ranks below all labels.

    Of the worst, one that is unjudged leaves the whole so, unless another has the worst label already.
    """
    known = [scale.labels.index(label) for label in labels if label in scale.labels]
    if not known or (not best and None in labels and min(known) > 0):
        return None
    return scale.labels[max(known) if best else min(known)]


class _Held:
    """One metric of one result: its scores by name and its verdicts by unit."""

    def __init__(self, cls: type[Metric], result: ResultDict) -> None:
        self.cls, self.result = cls, result
        self.scores = {s["metric"]: s for s in result["scores"] if s["metric"].partition(".")[0] == cls.name}
        self.verdicts: dict[str, list[VerdictDict]] = defaultdict(list)
        for score in self.scores.values():
            for verdict in score["verdicts"]:
                self.verdicts[verdict["unit"]].append(verdict)

    def by_judge(self) -> Judging:
        """The judge's own verdicts; a unit that was asked about in two wordings has one for each."""
        turns = {unit: cycle(verdicts) for unit, verdicts in self.verdicts.items()}

        def judging(unit: Unit, _: Scale) -> Verdict:
            found = turns.get(unit.id)
            return Verdict(unit, None, None, "") if found is None else verdict_of(unit, next(found))

        return judging

    def verdict(self, unit: str, scale: Scale) -> VerdictDict:
        """The verdict on a unit; of several the label nearest to their mean."""
        first, *more = self.verdicts[unit]
        values = [verdict["value"] for verdict in (first, *more) if verdict["value"] is not None]
        return {**first, "label": scale.nearest(mean(values)), "probability": None} if more and values else first


def _measured(result: ResultDict) -> dict[str, type[Metric]]:
    """The metrics of a result that are installed."""
    names = dict.fromkeys(score["metric"].partition(".")[0] for score in result["scores"])
    return {name: catalogue()[name] for name in names if name in catalogue()}


def _sorted(
    rows: Sequence[LabelRow], held: Mapping[str, _Held], result: ResultDict, gathered: Gathered
) -> dict[str, _Labels]:
    """The rows that join, by metric and unit."""
    found: dict[str, _Labels] = {name: defaultdict(list) for name in held}
    texts = {unit["id"]: unit_text(result, unit) for unit in result["units"]} if rows else {}
    for row in rows:
        tasked = {name: one for name, one in held.items() if one.cls.task() == row.task}
        homes = {name: row.unit for name, one in tasked.items() if row.unit in one.verdicts}
        if not homes and row.unit == f"{result['id']}/response/1":
            homes = {name: "" for name, one in tasked.items() if one.cls.unit in (*PARTS, "passage")}
        if not homes:
            gathered.refuse("unknown_unit" if tasked and row.unit not in texts else "wrong_task", row)
        elif row.hash and row.hash != text_hash(texts.get(row.unit, result["response"] or "")):
            gathered.refuse("changed_text", row)
        elif row.label is None:
            gathered.refuse("cannot_tell", row)
        else:
            for name, unit in homes.items():
                found[name][unit].append(row)
    return found


def _take(gathered: Gathered, joined: Joined, one: _Held, labels: _Labels, group: str | None) -> None:
    """Add one result of a metric, with people's labels of it if there are any."""
    people: dict[str, float] = {}
    gold: dict[str, str] = {}
    if labels:
        again = replay(joined.metric, one.result, one.by_judge())
        joined.scale = joined.scale or again.scale
        if again.scale is None or _foreign(one, again.labels):
            gathered.refuse("other_settings", *(row for rows in labels.values() for row in rows))
        else:
            gold, people = _labelled(gathered, joined, one, again, again.scale, labels, group)
    for name, score in one.scores.items():
        if score["value"] is not None and name in people:
            joined.values[name].append(RecordValues(one.result["id"], people[name], score["value"]))
        elif score["value"] is not None:
            joined.others[name].append(score["value"])
    judged = [verdicts[0]["value"] for unit, verdicts in one.verdicts.items() if unit not in gold]
    known = [value for value in judged if value is not None]
    joined.passed.append((sum(value >= 1 for value in known), len(known)))


def _foreign(one: _Held, labels: Collection[str]) -> bool:
    """Whether the judge used labels that the run's scale does not have: the record has settings of its own."""
    return any(v["label"] not in {*labels, None} for verdicts in one.verdicts.values() for v in verdicts)


def _labelled(
    gathered: Gathered, joined: Joined, one: _Held, again: Replayed, scale: Scale, labels: _Labels, group: str | None
) -> tuple[dict[str, str], dict[str, float]]:
    """Keep the labelled units of a record; return its labels of a random draw, and its values by people."""
    result, about = one.result, {unit["id"]: unit for unit in one.result["units"]}
    units: list[LabelledUnit] = []
    wholes: list[LabelledUnit] = []
    for name, rows in labels.items():
        kept = [row for row in rows if row.label in again.labels]
        gathered.refuse("unknown_label", *(row for row in rows if row not in kept))
        even = [row for row in kept if row.draw is None or row.draw.mode == "random"]
        gathered.joined.update(map(id, kept))
        votes = {row.annotator: row.label or "" for row in even or kept}
        if not votes:
            continue
        gold = cast("str | None", majority([*votes.values()]))
        if not name:
            wholes.append(_whole(one, scale, votes, gold, bool(even), group))
            continue
        verdict = one.verdict(name, scale)
        units.append(LabelledUnit(
            result["id"], result["position"], name, unit_text(result, about[name]), votes, gold, verdict["label"],
            verdict["probability"], verdict["reason"], verdict["judge"], bool(even), group,
        ))  # fmt: skip
    if one.cls.unit == "passage" and not wholes and len(units) == len(one.verdicts):
        best = overall([unit.gold for unit in units], scale, best=True)
        wholes.append(_whole(one, scale, {}, best, all(unit.random for unit in units), group))
    joined.units += units
    joined.wholes += wholes
    fair = {unit.unit: unit.gold for unit in units if unit.random and unit.gold is not None}
    whole = next((one.gold for one in wholes if one.random and one.votes), None)
    return fair, _by_people(joined, one, again, fair, whole)


def _whole(
    one: _Held, scale: Scale, votes: Mapping[str, str], gold: str | None, random: bool, group: str | None
) -> LabelledUnit:
    """A record with the label of its whole response, by people and as it follows from the judge's verdicts."""
    result, verdicts = one.result, [one.verdict(unit, scale) for unit in one.verdicts]
    judged = overall([verdict["label"] for verdict in verdicts], scale, best=one.cls.unit == "passage")
    judge = verdicts[0]["judge"] if verdicts else ""
    return LabelledUnit(
        result["id"], result["position"], f"{result['id']}/response/1", result["response"] or "", votes, gold, judged,
        None, "", judge, random, group,
    )  # fmt: skip


def _by_people(
    joined: Joined, one: _Held, again: Replayed, gold: Mapping[str, str], whole: str | None
) -> dict[str, float]:
    """The record's values by people's labels, by score; none unless all units are labelled and the flow repeats.

    A trace has one value for a label of the whole response alone.
    """
    about = [unit for unit in one.result["units"] if unit["id"] in one.verdicts]
    stand = {score for score in one.scores if any(one.cls.stands_on(column_of(score), unit) for unit in about)}
    if any(unit not in gold for unit in one.verdicts) if gold else whole is None:
        joined.part += bool(gold)
        joined.stand |= stand
        return {}

    def judging(unit: Unit, scale: Scale) -> Verdict:
        label = gold.get(unit.id)
        if label in (None, TRIVIAL):
            return Verdict(unit, label, None, "people")
        return Verdict(unit, label, scale.value(label), "people", raw=scale.raw(label))

    values = {name: score["value"] for name, score in one.scores.items()}
    if not again.exact or any(
        _differ(found.value, values[found.metric]) for found in again.scores if found.metric in stand
    ):
        joined.unlike += 1
        return {}
    best = again.scale.labels[-1] if again.scale else ""
    scores = replay(joined.metric, one.result, judging, whole == best if whole else None).scores
    people = {score.metric: score.value for score in scores if score.metric in stand and score.value is not None}
    joined.stand |= stand if gold else people.keys()
    return people


def _differ(one: float | None, other: float | None) -> bool:
    return one is None or other is None or abs(one - other) > ROUNDED

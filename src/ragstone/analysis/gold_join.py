"""Join people's labels to the verdicts of a run, by record, unit and task.

The results are read once, keeping only labelled units and a few numbers of every other record. A label that does not
match is refused, counted and listed; it is never mapped to another unit or label.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

from msgspec import Struct, field
from msgspec.structs import replace

from ragstone.analysis.flow_replay import JudgedUnits, Replayed, judged_units, overall, replay
from ragstone.analysis.leaderboard import run_of
from ragstone.analysis.reply_formats import Formats
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.scored import grouping
from ragstone.errors import InputError
from ragstone.labels import NO_TASK, LabelRow, each_once, of_topic, text_hash, worst
from ragstone.metrics.base import Metric
from ragstone.questions import YES_NO, Rate, Traced
from ragstone.records.ids import Hashes
from ragstone.result_types import ResultDict
from ragstone.segment import folded
from ragstone.stats.rankings import majority
from ragstone.types import NOTHING, TRIVIAL, Scale, Score, Unit, Verdict

SAID: Final = {
    "unknown_record": "no such record",
    "unknown_unit": "no such unit",
    "wrong_task": "no verdict for that task",
    "changed_text": "text has changed",
    "other_response": "label for a different response",
    "unknown_label": "label not on the scale",
    "other_settings": "record evaluated with its own settings",
    "cannot_tell": 'labelled "cannot tell"',
}
"""Each problem of a row that is refused, in words."""
LISTED: Final = 5
"""Maximum number of rows listed per problem."""
PARTS: Final = ("sentence", "claim")
"""Units of which the worst one sets the label of the whole response; for passages, the best one does."""
ROUNDED: Final = 1e-8
"""The largest difference between a recomputed value and the rounded value in the results."""

_Labels: TypeAlias = dict[str, list[LabelRow]]
"""Rows by unit; those for the whole response have an empty unit."""


class Refused(Struct):
    """Rows refused for one ``problem`` in ``SAID``; ``labels`` are the accepted labels, if the label is the problem."""

    problem: str
    rows: list[LabelRow] = field(default_factory=list)
    labels: dict[str, None] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """The problem in words."""
        return SAID[self.problem] + (f" ({', '.join(self.labels)})" if self.labels else "")

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @property
    def first(self) -> list[LabelRow]:
        """The rows to list."""
        return self.rows[:LISTED]

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"problem": self.problem, "count": self.count, "first": [row.as_json() for row in self.first]}


class LabelledUnit(Struct, frozen=True):
    """A unit with people's labels and the judge's verdict.

    ``votes`` are people's labels by annotator; ``gold`` is their majority, None for a tie. ``judged`` is None without a
    verdict. ``reason`` is empty if the two are the same. ``random`` is False if the unit comes from a worst-first draw.
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


class RecordValues(Struct, frozen=True):
    """A record's value of a score, by people and by the judge.

    With ``tied`` labels, people's value is midway between those by the lowest and by the highest of the tied labels.
    """

    record: str
    people: float
    judge: float
    tied: bool = False


class Joined(Struct):
    """The data of one metric.

    ``units`` have labels; ``wholes`` are records with a label for the whole response or for every passage. ``stand``
    are the scores that depend on labelled units. Nuggets labelled for a whole topic are ``wholes``, too; ``blocks`` are
    the judge's verdicts on them by unit.

    By score: ``values`` are of completely labelled records; ``others`` are the judge's values of all other scored
    records. ``settled`` are of records without verdicts, such as empty ones, which no label changes;
    ``without_verdicts`` are those of them with labels. ``repeats`` are the values of each record that was judged
    several times.

    ``part`` counts partly labelled records; ``unlike`` counts those whose score does not follow from its verdicts with
    the run's settings. Per record, of the units without a label from a random draw, ``judged`` counts those with a
    value and ``passed`` those that pass.
    """

    metric: Metric
    task: str
    unit: str
    scale: Scale | None = None
    units: list[LabelledUnit] = field(default_factory=list)
    wholes: list[LabelledUnit] = field(default_factory=list)
    stand: set[str] = field(default_factory=set)
    values: dict[str, list[RecordValues]] = field(default_factory=lambda: defaultdict(list))
    others: dict[str, array[float]] = field(default_factory=lambda: defaultdict(lambda: array("d")))
    without_verdicts: dict[str, list[RecordValues]] = field(default_factory=lambda: defaultdict(list))
    settled: dict[str, array[float]] = field(default_factory=lambda: defaultdict(lambda: array("d")))
    passed: array[int] = field(default_factory=lambda: array("q"))
    judged: array[int] = field(default_factory=lambda: array("q"))
    repeats: dict[str, list[Sequence[float | None]]] = field(default_factory=lambda: defaultdict(list))
    blocks: dict[str, list[LabelledUnit]] = field(default_factory=lambda: defaultdict(list))
    part: int = 0
    unlike: int = 0


class RecordPlace(NamedTuple):
    """A record's system (empty if not given), its topic, and the hash of its response."""

    system: str
    topic: str
    response: str


class Gathered(Struct):
    """Everything collected in the single pass over a run's results.

    ``names`` are all of its metrics, ``example`` is a record's id. ``joined`` has the identities (``id()``) of matched
    rows, ``places`` the system, topic and response of labelled records, ``topics`` rows of nuggets of a whole topic,
    ``shared`` one copy of the votes, labels and judges that many units have.
    """

    metrics: dict[str, Joined] = field(default_factory=dict)
    refused: dict[str, Refused] = field(default_factory=dict)
    formats: Formats = field(default_factory=Formats)
    names: dict[str, None] = field(default_factory=dict)
    joined: set[int] = field(default_factory=set)
    places: dict[str, RecordPlace] = field(default_factory=dict)
    example: str = ""
    topics: dict[str, list[LabelRow]] = field(default_factory=lambda: defaultdict(list))
    shared: dict[Any, Any] = field(default_factory=dict)

    def refuse(self, problem: str, *rows: LabelRow, labels: Iterable[str] = ()) -> None:
        """Add rows that did not match."""
        if rows:
            refused = self.refused.setdefault(problem, Refused(problem))
            refused.rows += rows
            refused.labels.update(dict.fromkeys(labels))

    def settle(self) -> None:
        """Keep each refused row once, and none that matched another metric of the same task."""
        known = set(self.joined)
        for refused in self.refused.values():
            own = {id(row): row for row in refused.rows if id(row) not in known}
            known |= own.keys()
            refused.rows = [*own.values()]
        self.refused = {problem: refused for problem, refused in self.refused.items() if refused.rows}


def join(
    run: AnyRun, rows: Sequence[LabelRow], by: str | None = None, metrics: Collection[str] | None = None
) -> Gathered:
    """Join rows to a run's verdicts of ``metrics`` (all if None); ``by`` is the field that groups records.

    Raise InputError for two labels of one annotator for a unit, for a field that cannot group, and for results that
    Ragstone did not write.
    """
    waiting: dict[str, list[LabelRow]] = defaultdict(list)
    gathered = Gathered()
    for row in distinct(rows):
        (gathered.topics if of_topic(row) else waiting)[row.record].append(row)
    grouped = grouping(by) if by is not None else lambda _: None
    parameters = run.spec.get("parameters", {})
    tasks, seen = {row.task for row in rows}, Hashes()
    for each in run.results():
        result = each.typed
        if "set_aside" in each:
            continue
        gathered.example = gathered.example or result["id"]
        labelled = waiting.pop(result["id"], [])
        try:
            if labelled:
                system, response = run_of(result["meta"]), text_hash(result["response"] or "")
                gathered.places[result["id"]] = RecordPlace(system, result["topic"], response)
            held = judged_units(result, tasks)
            own = _sorted(labelled, held, result, gathered)
            gathered.names.update(dict.fromkeys(held))
            said = _Said()
            for name, one in held.items():
                if metrics is not None and not {name, one.cls.name} & {*metrics}:
                    continue
                if name not in gathered.metrics:
                    settings = {**parameters.get(one.cls.name, NOTHING), **one.cls.always_asking}
                    gathered.metrics[name] = Joined(one.cls().with_parameters(settings), one.task, one.unit)
                _take(gathered, gathered.metrics[name], one, own[name], said, grouped(result))
            for call in result.get("calls", []) if labelled else []:
                if seen.add(hash(call["key"])):
                    gathered.formats.add(result["id"], call, 0)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{run.name}: the result for '{each['id']}' is not in Ragstone's format ({error!r})"
            ) from error
    for unread in waiting.values():
        gathered.refuse("unknown_record", *unread)
    _join_topics(gathered)
    gathered.settle()
    return gathered


def fair(units: list[LabelledUnit]) -> list[LabelledUnit]:
    """Return the units used for statistics: those from a random draw, or all if there are none."""
    return [unit for unit in units if unit.random] or units


def called(run: AnyRun) -> str:
    """Return what messages call a run: its number, else its name."""
    return f"run {run.id}" if run.id else run.name


def distinct(rows: Iterable[LabelRow]) -> Iterator[LabelRow]:
    """Yield each label once, those of random draws first; raise InputError if an annotator gave a unit two labels."""
    return each_once(("", row) for row in sorted(rows, key=worst))


class _Said(Struct):
    """People's labels of a record's passage sentences, by mark, and the scores computed from them.

    The marks are those by the lowest and by the highest of tied labels.
    """

    marks: tuple[dict[str, tuple[str, ...]], ...] = field(default_factory=lambda: ({}, {}))
    scores: set[str] = field(default_factory=set)


class _People(Struct, frozen=True):
    """People's labels of a record from random draws, by unit, and of the whole response, with one side of each tie."""

    units: dict[str, str]
    whole: str | None

    @classmethod
    def of(cls, units: Sequence[LabelledUnit], wholes: Sequence[LabelledUnit], scale: Scale, side: int) -> _People:
        """Return the labels with the lowest (``side`` 0) or the highest (-1) of tied ones."""
        labels, whole = (
            {unit.unit: ends[side] for unit in every if unit.random and (ends := _ends(unit, scale))}
            for every in (units, [unit for unit in wholes if unit.votes])
        )
        return cls(labels, next(iter(whole.values()), None))


def _ends(unit: LabelledUnit, scale: Scale) -> list[str]:
    """Return people's majority, or the tied labels, lowest first; empty if one of these is not on the scale."""
    if unit.gold is not None:
        return [unit.gold]
    counts = Counter(unit.votes.values())
    tied = {label for label, count in counts.items() if count == max(counts.values())}
    return [label for label in scale.labels if label in tied] if tied <= {*scale.labels} else []


def _sorted(
    rows: Sequence[LabelRow], held: Mapping[str, JudgedUnits], result: ResultDict, gathered: Gathered
) -> dict[str, _Labels]:
    """Return the matching rows by metric and unit, and refuse the others."""
    found: dict[str, _Labels] = {name: defaultdict(list) for name in held}
    texts = {unit: text for one in held.values() for unit, text in one.texts().items()} if rows else {}
    for row in rows:
        tasked = {name: one for name, one in held.items() if one.task == row.task}
        homes = {name: row.unit for name, one in tasked.items() if row.unit in one.verdicts}
        if not homes and row.unit == f"{result['id']}/response/1":
            homes = {name: "" for name, one in tasked.items() if one.unit in (*PARTS, "passage")}
        if row.label is None:  # before what depends on the run: a label may be about another system
            gathered.refuse("cannot_tell", row)
        elif not homes:
            known = row.unit in texts or not (tasked or row.task == NO_TASK)
            gathered.refuse("wrong_task" if known else "unknown_unit", row)
        elif row.hash and row.hash != text_hash(texts.get(row.unit, result["response"] or "")):
            gathered.refuse("changed_text", row)
        elif row.response and row.response != text_hash(result["response"] or ""):
            gathered.refuse("other_response", row)
        else:
            for name, unit in homes.items():
                found[name][unit].append(row)
    return found


def _take(
    gathered: Gathered, joined: Joined, one: JudgedUnits, labels: _Labels, said: _Said, group: str | None
) -> None:
    """Add one result of a metric, with people's labels if there are any."""
    people: dict[str, tuple[float, float]] = {}
    gold: dict[str, str] = {}
    if labels:
        again = replay(joined.metric, one.result, one.by_judge(), one.traced())
        own = next((unit.scale for name, unit in again.units.items() if unit.scale and name in one.verdicts), None)
        if own is not None and isinstance(again.question, Rate):
            again.question = replace(again.question, scale=own)
        scale, allowed = (YES_NO, YES_NO.labels) if one.mark else (again.scale, again.labels)
        joined.scale = joined.scale or scale
        used = {verdict["label"] for verdicts in one.verdicts.values() for verdict in verdicts}
        if scale is None or not used <= {*allowed, None}:  # labels of another scale: the record has its own settings
            gathered.refuse("other_settings", *(row for rows in labels.values() for row in rows))
        else:
            units, wholes = _labelled(gathered, one, scale, allowed, labels, group)
            joined.units += units
            joined.wholes += wholes
            _add_block(joined, one, scale, gathered.topics.get(one.result["topic"], ()), group)
            gold = {unit.unit: unit.gold for unit in units if unit.random and unit.gold is not None}
            if units and not one.mark:
                joined.stand |= one.standing()
            sides = [_People.of(units, wholes, scale, side) for side in (0, -1)]
            people = _by_people(joined, one, again, sides, said)
            joined.stand |= people.keys()
    for name, score in one.scores.items():
        if score["value"] is not None and name in people:
            low, high = people[name]
            joined.values[name].append(RecordValues(one.result["id"], (low + high) / 2, score["value"], low != high))
        elif score["value"] is not None:
            (joined.others if one.verdicts else joined.settled)[name].append(score["value"])
            if not one.verdicts and one.result["id"] in gathered.places:
                joined.without_verdicts[name].append(RecordValues(one.result["id"], score["value"], score["value"]))
        if "repeats" in score:
            joined.repeats[name].append(score["repeats"]["values"])
    judged = [verdicts[0]["value"] for unit, verdicts in one.verdicts.items() if unit not in gold]
    known = [value for value in judged if value is not None]
    joined.passed.append(sum(value >= 1 for value in known))
    joined.judged.append(len(known))


def _add_block(joined: Joined, one: JudgedUnits, scale: Scale, rows: Sequence[LabelRow], group: str | None) -> None:
    """Keep the judge's verdicts on the nuggets of a block that have a label for their topic."""
    result = one.result
    units = {folded(text): unit for unit, text in one.texts().items()} if rows else {}
    for row in rows:
        if row.task == joined.task and (unit := units.get(folded(row.text))):
            verdict = one.verdict(unit, scale)
            joined.blocks[row.unit].append(LabelledUnit(
                result["id"], result["position"], row.unit, row.text, {}, None, verdict["label"], None, "",
                verdict["judge"], group=group,
            ))  # fmt: skip


def _join_topics(gathered: Gathered) -> None:
    """Add the nuggets that have a label for their topic, each with the judge's best label over the topic's blocks."""
    for row in (row for rows in gathered.topics.values() for row in rows):
        homes = [one for one in gathered.metrics.values() if one.task == row.task and row.unit in one.blocks]
        if not homes:
            gathered.refuse("unknown_unit", row)
        for joined in homes:
            scale = joined.scale
            assert scale is not None, "labels of the block have joined"
            if row.label not in scale.labels:
                gathered.refuse("unknown_label", row, labels=scale.labels)
                continue
            gathered.joined.add(id(row))
            blocks = joined.blocks[row.unit]
            blocks[0] = replace(blocks[0], votes={**blocks[0].votes, row.annotator: row.label})
    for joined in gathered.metrics.values():
        for blocks in joined.blocks.values():
            if blocks[0].votes and joined.scale is not None:
                judged = overall([block.judged for block in blocks], joined.scale, best=True)
                gold = cast("str | None", majority([*blocks[0].votes.values()]))
                joined.wholes.append(replace(blocks[0], gold=gold, judged=judged))


def _labelled(
    gathered: Gathered, one: JudgedUnits, scale: Scale, allowed: Collection[str], labels: _Labels, group: str | None
) -> tuple[list[LabelledUnit], list[LabelledUnit]]:
    """Return a record's labelled units and its whole-response label; labels not in ``allowed`` are refused."""
    result, texts = one.result, one.texts()
    units, wholes = list[LabelledUnit](), list[LabelledUnit]()
    for name, rows in labels.items():
        kept = [row for row in rows if row.label in allowed]
        gathered.refuse("unknown_label", *(row for row in rows if row not in kept), labels=allowed)
        gathered.joined.update(map(id, kept))
        if not kept:
            continue
        even = [row for row in kept if not worst(row)]
        votes = {row.annotator: row.label or "" for row in even or kept}
        votes = gathered.shared.setdefault((*votes.items(),), votes)
        gold = cast("str | None", majority([*votes.values()]))
        if not name:
            wholes.append(_whole(one, scale, votes, gold, bool(even), group))
            continue
        verdict = one.verdict(name, scale)
        judged = gathered.shared.setdefault(verdict["label"], verdict["label"])
        judge = gathered.shared.setdefault(verdict["judge"], verdict["judge"])
        units.append(LabelledUnit(
            result["id"], result["position"], name, texts[name], votes, gold, judged, verdict["probability"],
            "" if judged == gold else verdict["reason"], judge, bool(even), group,
        ))  # fmt: skip
    if one.unit == "passage" and not wholes and len(units) == len(one.verdicts):
        best = overall([unit.gold for unit in units], scale, best=True)
        wholes.append(_whole(one, scale, {}, best, all(unit.random for unit in units), group))
    return units, wholes


def _whole(
    one: JudgedUnits, scale: Scale, votes: Mapping[str, str], gold: str | None, random: bool, group: str | None
) -> LabelledUnit:
    """Return the whole response as a unit, with people's label and the one that follows from the judge's verdicts."""
    result, verdicts = one.result, [one.verdict(unit, scale) for unit in one.verdicts]
    judged = overall([verdict["label"] for verdict in verdicts], scale, best=one.unit == "passage")
    judge = verdicts[0]["judge"] if verdicts else ""
    return LabelledUnit(
        result["id"], result["position"], f"{result['id']}/response/1", result["response"] or "", votes, gold, judged,
        None, "", judge, random, group,
    )  # fmt: skip


def _by_people(
    joined: Joined, one: JudgedUnits, again: Replayed, sides: Sequence[_People], said: _Said
) -> dict[str, tuple[float, float]]:
    """Return the record's scores by people's labels, on both sides of ties.

    Empty unless all units are labelled and a replay gives the result's scores. A label of a trace's whole response
    gives one of its scores; labels of passage sentences give others.
    """
    labelled = sides[0].units
    if any(unit not in labelled for unit in one.verdicts) if labelled else sides[0].whole is None:
        joined.part += bool(labelled)
        return {}
    for side, marks in zip(sides, said.marks, strict=True):
        if one.mark:
            marks[one.mark] = tuple(unit.rpartition("/")[2] for unit, label in side.units.items() if label == "yes")
    first, last = zip(sides, said.marks, strict=True)
    low = _replayed(joined, one, again, *first)
    high = low if first == last else _replayed(joined, one, again, *last)
    people = {name: (low[name], high[name]) for name in low if name in high and name not in said.scores}
    if not again.exact or any(_differ(score, one) for score in again.scores if score.metric in people):
        joined.unlike += 1
        return {}
    said.scores |= people.keys()
    return people


def _replayed(
    joined: Joined, one: JudgedUnits, again: Replayed, people: _People, marks: Mapping[str, tuple[str, ...]]
) -> dict[str, float]:
    """Return the values of a metric's scores if people's labels were the judge's."""
    best = again.scale.labels[-1] if again.scale else ""
    overall = people.whole == best if people.whole else None
    traced = Traced(marks.get("relevant"), marks.get("utilized"), (), (), overall=overall)

    def judging(unit: Unit, scale: Scale) -> Verdict:
        label = people.units.get(unit.id)
        if label in (None, TRIVIAL):
            return Verdict(unit, label, None, "people")
        return Verdict(unit, label, scale.value(label), "people", raw=scale.raw(label))

    found = replay(joined.metric, one.result, judging, traced).scores
    return {score.metric: score.value for score in found if score.value is not None}


def _differ(again: Score, one: JudgedUnits) -> bool:
    value = one.scores[again.metric]["value"]
    return value is not again.value if value is None or again.value is None else abs(value - again.value) > ROUNDED

"""Measure how well a run's judge agrees with people, unit by unit, and correct the run's scores accordingly.

Labels that do not match a verdict are refused and counted. Units without a verdict are left out of the measures on the
scale, and counted as an extra class in a second set. Units labelled trivial, by people or the judge, are left out of
both, since trivial is not on the scale. Labels from a worst-first draw are never used for intervals or corrections, and
for other measures only if there are no labels from a random draw.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from heapq import nsmallest
from itertools import combinations
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from ragstone.analysis import ranking_agreement as ranking
from ragstone.analysis.corrected_means import CorrectedMean, Method, corrected_mean
from ragstone.analysis.gold_join import Gathered, Joined, LabelledUnit, Refused, called, distinct, fair, join
from ragstone.analysis.label_agreement import Alphas, LabelAgreement, label_agreement, people_alphas
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.scored import RecordScores, scores_of
from ragstone.errors import InputError
from ragstone.labels import TEXTLESS, LabelRow, textless
from ragstone.metrics import NotInstalled, instead_of, of_score
from ragstone.result_types import AgreementDict, MetricAgreementDict
from ragstone.stats.agreement import Matrix
from ragstone.stats.means import rounded, rounded_in
from ragstone.types import TRIVIAL, Printable, Scale

DISAGREEMENTS: Final = 5
PEOPLE: Final = "people"


class AnnotatorPair(Struct, frozen=True):
    """Agreement of two annotators on the units of a metric that both labelled."""

    metric: str
    first: str
    second: str
    units: int
    kappa: float | None


class Annotator(Struct, frozen=True):
    """Counts for one annotator: labels, labelled records, "cannot tell" answers, and minutes spent."""

    name: str
    labels: int
    records: int
    cannot_tell: int
    minutes: float | None


class GroupAgreement(Struct, frozen=True):
    """Agreement on the records of one group, by the value of a field."""

    group: str
    items: LabelAgreement


class Disagreement(Struct, frozen=True):
    """A unit on which the judge and the majority of people differ.

    ``gap`` is the judge's value minus people's, -1 to 1. ``surprise`` is the distance of the judge's probability of the
    best label from people's value, or 0 without a probability.
    """

    metric: str
    record: str
    position: int
    unit: str
    text: str
    people: str
    votes: dict[str, int]
    judge: str
    reason: str
    gap: float
    surprise: float


class MetricAgreement(Struct, frozen=True):
    """Agreement on one metric's units.

    ``items`` covers the judged units; ``with_unjudged`` also those without a verdict, ranked below the worst label.
    ``wholes`` covers whole responses, or nuggets over all blocks of a topic. The counts of units left out are
    ``unjudged``, ``ties`` among people, ``worst`` (from a worst-first draw) and ``trivial``, by who labelled them so.
    ``people_alphas`` is among people only, None for a single annotator. ``accuracy_lost`` is the loss of accuracy if
    each unit without a verdict counts as an error. ``textless`` counts used labels that also match a
    changed response. ``labelled_in_part`` counts records with labels for only some units; ``unlike`` those whose score
    does not follow from the run's settings. ``systems`` ranks several systems by each score. ``repeats`` has the means
    of each score in repeats; ``at_k`` compares their labels with people's, which ``--repeat`` does not keep.
    """

    metric: str
    task: str
    unit: str
    judge: str
    items: LabelAgreement
    with_unjudged: LabelAgreement
    wholes: LabelAgreement | None
    people_alphas: Alphas | None
    means: tuple[CorrectedMean, ...]
    groups: tuple[GroupAgreement, ...]
    unjudged: int
    ties: int
    worst: int
    trivial: dict[str, int]
    textless: int
    labelled_in_part: int
    unlike: int
    systems: tuple[ranking.RankingAgreement, ...]
    repeats: tuple[ranking.RepeatedMean, ...]
    at_k: tuple[ranking.AtK, ...]

    @property
    def leading(self) -> LabelAgreement:
        """The main agreement: on units, or on whole responses if only those have labels."""
        return self.wholes if self.wholes is not None and not self.items.matrix.n else self.items

    @property
    def whole(self) -> str:
        """What ``wholes`` are called: whole responses, or nuggets of topics."""
        return "topic nugget" if self.unit == "nugget" else "response"

    @property
    def accuracy_lost(self) -> float | None:
        """The accuracy lost if each unjudged unit counts as an error, in [0, 1]; None without units."""
        accuracy, judged = self.items.matrix.accuracy, self.items.matrix.n
        return None if accuracy is None else accuracy * self.unjudged / (judged + self.unjudged)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "metric": self.metric, "task": self.task, "unit": self.unit, "judge": self.judge,
            **self.items.as_json(),
            "with_unjudged": self.with_unjudged.as_json(),
            "wholes": self.wholes and self.wholes.as_json(),
            "people_alpha": rounded_in(self.people_alphas),
            "groups": [{"group": one.group, **one.items.as_json()} for one in self.groups],
            "unjudged": self.unjudged, "accuracy_lost": rounded(self.accuracy_lost),
            "ties": self.ties, "worst": self.worst, "trivial": self.trivial,
            "textless": self.textless, "labelled_in_part": self.labelled_in_part, "unlike": self.unlike,
            **{name: rounded_in(getattr(self, name)) for name in ("means", "systems", "repeats", "at_k")},
        }  # fmt: skip


class ParsedCalls(Struct, frozen=True):
    """Number of calls for labelled records by judge, step, style and format; ``whole`` had no parsing problem."""

    judge: str
    step: str
    style: str
    format: str
    calls: int
    whole: int


class Agreement(Printable, Struct, frozen=True):
    """Agreement of a run's judge with people's labels.

    Of ``rows`` labels, ``joined`` match the run and ``refused`` do not. ``metrics`` are sorted by rank,
    ``disagreements`` by size, largest first. ``notes`` are sentences on the limits of the numbers. ``others`` are the
    runs of other systems and repeats; only a metric's ``systems`` and ``repeats`` cover these. ``labelled_by`` is
    ``people``, or ``run NAME`` if the labels are another judge's verdicts, or both.
    """

    run: int
    name: str
    gold: tuple[str, ...]
    rows: int
    joined: int
    metrics: tuple[MetricAgreement, ...]
    annotators: tuple[Annotator, ...]
    pairs: tuple[AnnotatorPair, ...]
    disagreements: tuple[Disagreement, ...]
    parsed: tuple[ParsedCalls, ...]
    refused: tuple[Refused, ...]
    notes: tuple[str, ...]
    by: str | None = None
    others: tuple[str, ...] = ()
    labelled_by: str = PEOPLE

    def __getitem__(self, metric: str) -> MetricAgreement:
        return {one.metric: one for one in self.metrics}[metric]

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {name: rounded_in(value) for name, value in asdict(self).items()}


def agree(
    run: AnyRun,
    rows: Sequence[LabelRow],
    *,
    gold: Sequence[str] = (),
    labelled_by: str = PEOPLE,
    others: Sequence[tuple[AnyRun, Sequence[LabelRow]]] = (),
    metrics: Sequence[str] | None = None,
    by: str | None = None,
    correction: Method = "ppi",
    disagreements: int = DISAGREEMENTS,
) -> Agreement:
    """Compare a run's verdicts with labels; ``gold`` names their sources. No judge is called.

    ``metrics`` selects the metrics to compare; None means all with labels. ``others`` are runs of other systems or
    repeats by the same judge, with their labels; a label that names no response is about that of ``run``. Raise
    InputError if there are no labels or none match, for a metric that the run lacks, for contradictory labels, and if
    ``others`` used another judge.
    """
    rows = [*distinct(rows)]
    if not rows:
        names = dict.fromkeys(name.partition(".")[0] for name in run.spec.get("signatures", ()))
        raise InputError(f"{', '.join(gold) or 'gold'}: no labels for the units of {called(run)} ({', '.join(names)})")
    gathered = join(run, rows, by, metrics)
    if metrics is not None and (lacking := [name for name in metrics if name not in gathered.metrics]):
        raise InputError(f"metric '{lacking[0]}' is not in {called(run)}{instead_of(lacking[0], [*gathered.names])}")
    met = {name: one for name, one in gathered.metrics.items() if one.units or one.wholes}
    if not met:
        raise InputError(_none_joined(run, rows, gathered, metrics))
    systems = _systems(run, gathered, others, by, metrics)
    if by is not None and all(unit.group is None for one in met.values() for unit in (*one.units, *one.wholes)):
        raise InputError(f"--by {by}: no labelled record has it")
    ranked = sorted(met.items(), key=lambda item: (item[1].metric.rank, item[0]))
    refused = _refused([one.gathered for repeats in systems for one in repeats])
    dropped = sum(one.count for one in gathered.refused.values()) - sum(one.count for one in refused)
    worst = [found for name, one in ranked for found in _disagreements(name, one)]
    bare = Counter(row.task for row in rows if textless(row) and id(row) in gathered.joined)
    return Agreement(
        run.id, run.name, tuple(gold), len(rows) - dropped, len(gathered.joined),
        tuple(_agreement(name, one, correction, systems, bare[one.task]) for name, one in ranked),
        tuple(_annotators(rows)),
        tuple(pair for name, one in ranked for pair in _pairs(name, one)),
        tuple(nsmallest(disagreements, worst, key=lambda found: (-abs(found.gap), found.gap < 0, -found.surprise))),
        tuple(
            ParsedCalls(one.judge, one.step, one.style, one.format, one.calls, one.whole)
            for _, one in sorted(gathered.formats.groups.items())
        ),
        refused,
        tuple(_notes([row for row in rows if id(row) in gathered.joined], min(map(_scored, met.values())), refused)),
        by, tuple(other.name for other, _ in others), labelled_by,
    )  # fmt: skip


def _systems(
    run: AnyRun, gathered: Gathered, others: Sequence[tuple[AnyRun, Sequence[LabelRow]]], by: str | None,
    metrics: Sequence[str] | None,
) -> list[list[ranking.JoinedRun]]:  # fmt: skip
    """Return the run with its repeats, then those of other systems; the scores of a single run are not read."""
    labelled = {name.partition(".")[0] for name in gathered.metrics}

    def read(one: AnyRun) -> Mapping[str, RecordScores]:
        return scores_of(one, lambda name: name.partition(".")[0] in labelled)

    runs = [ranking.JoinedRun(run, gathered, read(run) if others else {})]
    for other, labels in others:
        bound = [
            replace(row, response=gathered.places[row.record].response)
            if row.record in gathered.places and not row.response else row for row in distinct(labels)
        ]  # fmt: skip
        found = join(other, bound, by, metrics)
        if not any(one.units or one.wholes for one in found.metrics.values()):
            raise InputError(_none_joined(other, bound, found, metrics))
        runs.append(ranking.JoinedRun(other, found, read(other)))
    return ranking.systems_of(runs)


def _refused(every: Sequence[Gathered]) -> tuple[Refused, ...]:
    """Return the rows that match none of the runs, by the problem found in the first."""
    first, *others = every
    own = {record: place.response for record, place in first.places.items()}

    def key(row: LabelRow) -> tuple[str, ...]:
        return row.record, row.unit, row.task, row.annotator, row.hash, row.response or own.get(row.record, "")

    left = [{key(row) for one in each.refused.values() for row in one.rows} for each in others]
    kept = [
        replace(one, rows=[row for row in one.rows if all(key(row) in rows for rows in left)])
        for one in first.refused.values()
    ]
    return tuple(sorted((one for one in kept if one.rows), key=lambda one: -one.count))


def attached(found: Agreement) -> AgreementDict:
    """Return what ``--attach`` saves with a run: the agreement and corrected mean of each score.

    Labels that do not name their text may be for other responses: they correct no mean that a gate could use.
    """
    metrics: dict[str, MetricAgreementDict] = {}
    for one in found.metrics:
        items = one.leading
        for mean in one.means:
            metrics[mean.score] = rounded_in({
                "task": one.task, "unit": one.unit if items is one.items else one.whole,
                "judge": one.judge, "labels": items.labels, "counts": items.matrix.counts, "units": items.matrix.n,
                "records": items.records, "unjudged": one.unjudged, "accuracy": items.matrix.accuracy,
                "base_rate": items.matrix.base_rate, "kappa": items.kappa, "interval": items.interval,
                "corrected": None if one.textless else mean.attached(),
                "withheld": mean.withheld or (TEXTLESS if one.textless else ""),
            })  # fmt: skip
    return {
        "gold": list(found.gold), "annotators": [one.name for one in found.annotators if one.name],
        "labelled_by": found.labelled_by, "at": datetime.now(UTC).isoformat(timespec="seconds"), "metrics": metrics,
    }  # fmt: skip


# ---- agreement on one metric


def _agreement(
    name: str, joined: Joined, correction: Method, systems: Sequence[Sequence[ranking.JoinedRun]], bare: int
) -> MetricAgreement:
    scale = joined.scale
    assert scale is not None, "labels have joined"
    kept, wholes = fair(joined.units), fair(joined.wholes)
    repeats = [one.gathered.metrics[name] for one in systems[0] if name in one.gathered.metrics]
    called = [unit for unit in kept if TRIVIAL in (unit.gold, unit.judged)]
    by_group: dict[str, list[LabelledUnit]] = defaultdict(list)
    for unit in kept:
        if unit.group is not None:
            by_group[unit.group].append(unit)
    judges = dict.fromkeys(unit.judge for unit in joined.units or joined.wholes if unit.judged is not None)
    return MetricAgreement(
        name, joined.task, joined.unit, ", ".join(judges),
        label_agreement(kept, scale), label_agreement(kept, scale, unjudged=True),
        label_agreement(wholes, scale) if wholes else None,
        people_alphas(kept, scale),
        tuple(corrected_mean(joined, one, correction) for one in joined.metric.given_names() if one in joined.stand),
        tuple(GroupAgreement(group, label_agreement(units, scale)) for group, units in sorted(by_group.items())),
        unjudged=sum(unit.judged is None and unit.gold in scale.labels for unit in kept),
        ties=sum(unit.gold is None for unit in kept),
        worst=sum(not unit.random for unit in joined.units),
        trivial={
            "both": sum(unit.gold == unit.judged for unit in called),
            "people": sum(unit.judged != TRIVIAL for unit in called),
            "judge": sum(unit.gold != TRIVIAL for unit in called),
        },
        textless=bare, labelled_in_part=joined.part, unlike=joined.unlike,
        systems=ranking.rankings(systems, name), repeats=ranking.repeated(systems[0], name),
        at_k=ranking.at_k(ranking.attempts_of(repeats)) if len(repeats) > 1 else (),
    )  # fmt: skip


def _disagreements(name: str, joined: Joined) -> Iterator[Disagreement]:
    scale = joined.scale
    assert scale is not None, "labels have joined"
    for unit in (*joined.units, *joined.wholes):
        people, judge = (scale.value(label) if label in scale.labels else None for label in (unit.gold, unit.judged))
        if people is not None and judge is not None and people != judge:
            votes = dict(Counter(unit.votes.values()).most_common())
            yield Disagreement(
                name, unit.record, unit.position, unit.unit, unit.text, str(unit.gold), votes, str(unit.judged),
                unit.reason, rounded(judge - people),
                0.0 if unit.probability is None else rounded(abs(unit.probability - people)),
            )  # fmt: skip


# ---- annotators


def _annotators(rows: Sequence[LabelRow]) -> Iterator[Annotator]:
    own: dict[str, list[LabelRow]] = defaultdict(list)
    for row in rows:
        own[row.annotator].append(row)
    for name, given in sorted(own.items(), key=lambda item: -len(item[1])):
        seconds = [row.seconds for row in given if row.seconds is not None]
        unsure = sum(row.label is None for row in given)
        records = len({row.record for row in given})
        yield Annotator(name, len(given) - unsure, records, unsure, sum(seconds) / 60 if seconds else None)


def _pairs(name: str, joined: Joined) -> Iterator[AnnotatorPair]:
    """Yield each pair of annotators, compared on units for which both gave a label of the scale."""
    scale = joined.scale or Scale("", (), (), ())
    places = {label: place for place, label in enumerate(scale.labels)}
    people = dict.fromkeys(name for unit in joined.units for name in unit.votes)
    for first, second in combinations(people, 2):
        both = [
            (places[unit.votes[first]], places[unit.votes[second]])
            for unit in joined.units
            if unit.votes.get(first) in places and unit.votes.get(second) in places
        ]
        if both:
            yield AnnotatorPair(name, first, second, len(both), Matrix.of(both, len(places)).kappa())


# ---- notes on the limits of the numbers


def _scored(joined: Joined) -> int:
    """Return the number of records that can be drawn to label a metric's units."""
    return max((len(joined.values[name]) + len(joined.others[name]) for name in joined.metric.given_names()), default=0)


def _notes(rows: Sequence[LabelRow], scored: int, refused: Sequence[Refused]) -> Iterator[str]:
    if any(one.problem in ("changed_text", "other_response") for one in refused):
        yield "labels for changed texts are unused; if the rest are not a random sample of the run, label a new sample"
    if any(map(textless, rows)):
        yield f"{TEXTLESS}; they are wrong if a response has changed, so --attach and -o omit their corrected means"
    if any(row.draw is None for row in rows):
        yield "the labels do not say how their records were drawn; intervals and corrections assume a random sample"
    if (drawn := min((row.draw.of for row in rows if row.draw), default=scored)) < scored:
        yield f"records were drawn from {drawn:,} of the run's {scored:,}; intervals and corrections assume all of them"
    if fields := dict.fromkeys(row.draw.by for row in rows if row.draw and row.draw.by):
        yield f"records were drawn by {', '.join(fields)}; corrections assume that each group was sampled in proportion"


def _none_joined(run: AnyRun, rows: Sequence[LabelRow], gathered: Gathered, metrics: Sequence[str] | None) -> str:
    said = [(one.said, one.rows) for one in gathered.refused.values()]
    if metrics is not None:
        tasks = {one.task for one in gathered.metrics.values()}
        said = [(why, labels) for why, labels in said if tasks.intersection(row.task for row in labels)]
        refused = {id(row) for one in gathered.refused.values() for row in one.rows}
        others = [row for row in rows if id(row) not in refused]
        said[:0] = [("label for another metric", others)] if others else []
    causes = [
        f"{why} ({len(labels)} label{'s' * (len(labels) != 1)}, first: {labels[0].unit}, {labels[0].task}, "
        f"{labels[0].label or 'no label'})"
        for why, labels in said
    ]
    like = "" if gathered.example else "; it has no results"
    if gathered.example and "unknown_record" in gathered.refused:
        like = f"; its record ids look like '{gathered.example}'"
    elif "unknown_unit" in gathered.refused:
        like = "; the run may lack the metric that was labelled"
    absent = sorted(name for name in run.spec.get("signatures", ()) if of_score(name) is NotInstalled)
    lack = f"; {', '.join(absent)} is not installed, so its scale is unknown" if absent else ""
    of = f"{' or '.join(metrics)} in " if metrics else ""
    return f"no label matches {of}{called(run)}: {', '.join(causes)}{lack or like}"

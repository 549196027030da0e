"""Measure agreement of a judge with people on rankings of systems, and on repeated judging of the same responses.

Values are paired: a record counts only if both the judge and people have a value. Intervals resample whole topics,
since the systems' answers to one topic are not independent. Runs of the same responses are repeats of one system.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ragstone.analysis.compare import VERSION
from ragstone.analysis.gold_join import Gathered, Joined, called, fair
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.scored import RecordScores, signatures_differ
from ragstone.analysis.summary import means_of_repeats
from ragstone.errors import InputError
from ragstone.stats.agreement import cluster_interval
from ragstone.stats.means import kendall_tau, mean, mean_interval, rounded, spread, student_half
from ragstone.stats.rankings import majority, pass_at, spearman, tau_ap

FEWEST: Final = 3
"""Minimum number of systems for a meaningful rank correlation."""
KS: Final = (1, 3, 5, 10)

Correlate = Callable[[Sequence[float], Sequence[float]], float | None]


class SystemValue(NamedTuple):
    """A system's value on one topic, by the judge and by people."""

    system: str
    topic: str
    judged: float
    gold: float


class Correlation(Struct, frozen=True):
    """A rank correlation, -1 to 1, with its 95% interval; None if undefined."""

    value: float | None
    interval: tuple[float, float] | None


class SystemMeans(Struct, frozen=True):
    """A system's mean by the judge and by people, over its ``topics``."""

    system: str
    judged: float
    gold: float
    topics: int


class RankingAgreement(Struct, frozen=True):
    """Agreement on the ranking of systems by one ``score``; ``withheld`` says why there are no correlations.

    ``tau`` (Kendall's tau-b), ``tau_ap`` (tau_ap-b) and ``spearman`` are over the means of systems. ``topic_tau`` is
    the mean tau-b within topics, over the ``ranked_topics`` topics in which both sides rank the systems.
    """

    score: str
    systems: tuple[SystemMeans, ...]
    topics: int
    tau: Correlation | None = None
    tau_ap: Correlation | None = None
    spearman: Correlation | None = None
    topic_tau: Correlation | None = None
    ranked_topics: int = 0
    withheld: str = ""


def rank_systems(score: str, values: Iterable[SystemValue]) -> RankingAgreement:
    """Correlate two rankings of systems; several values of a system on a topic count as their mean."""
    several: dict[tuple[str, str], list[SystemValue]] = defaultdict(list)
    for value in values:
        several[value.topic, value.system].append(value)
    cells = {place: (mean([one.judged for one in of]), mean([one.gold for one in of])) for place, of in several.items()}
    names = tuple(dict.fromkeys(system for _, system in cells))
    topics = tuple(dict.fromkeys(topic for topic, _ in cells))
    # Three columns per system: two sums of its values, and their count.
    parts = [[column for name in names for column in (*cells.get((topic, name), (0.0, 0.0)), (topic, name) in cells)]
             for topic in topics]  # fmt: skip
    judged, gold, counts = _means([sum(column) for column in zip(*parts, strict=True)])
    means = tuple(SystemMeans(*row) for row in zip(names, judged, gold, map(round, counts), strict=True))
    if len(names) < FEWEST:
        few = f"{len(names)} system{'' if len(names) == 1 else 's'}; a rank correlation needs at least {FEWEST}"
        return RankingAgreement(score, means, len(topics), withheld=few)

    def over_means(correlate: Correlate) -> Correlation:
        def measure(sums: Sequence[float]) -> float | None:
            judged, gold, counts = _means(sums)
            return correlate(judged, gold) if len(counts) == len(names) else None

        value, ends = correlate(judged, gold), cluster_interval(parts, measure)
        if value is None or ends is None:
            return Correlation(value, None)
        # Resampled topics are noisier than the sample, so their rankings agree less; the value can exceed all of them.
        return Correlation(value, (min(ends[0], value), max(ends[1], value)))

    within = [kendall_tau(*zip(*found, strict=True)) for topic in topics
              if len(found := [cells[topic, name] for name in names if (topic, name) in cells]) > 1]  # fmt: skip
    taus = [tau for tau in within if tau is not None]
    average = mean_interval(taus) if taus else None
    ends = (average.low, average.high) if average and len(taus) > 1 else None
    return RankingAgreement(
        score, means, len(topics), over_means(kendall_tau), over_means(tau_ap), over_means(spearman),
        Correlation(average.mean if average else None, ends), len(taus),
    )  # fmt: skip


def _means(sums: Sequence[float]) -> tuple[list[float], list[float], list[float]]:
    """Return both means and the count of each system with values; means that differ only by rounding are tied."""
    rows = [row for row in zip(sums[::3], sums[1::3], sums[2::3], strict=True) if row[2]]
    judged, gold = ([rounded(row[at] / row[2]) for row in rows] for at in (0, 1))
    return judged, gold, [row[2] for row in rows]


class RepeatedMean(Struct, frozen=True):
    """A score's mean in each repeat, over records with a value in all, with a 95% Student's t interval.

    The interval covers only the judge's own variation, not the sampling of records.
    """

    score: str
    values: tuple[float, ...]
    mean: float
    deviation: float | None
    interval: tuple[float, float] | None


def repeated_mean(score: str, values: Sequence[float]) -> RepeatedMean:
    """Return the mean of a score's means in repeats, without an interval for only one; raise ValueError for none."""
    centre, half = mean(values), student_half(values)
    interval = None if half is None else (centre - half, centre + half)
    return RepeatedMean(score, tuple(values), centre, spread(values), interval)


class Attempts(NamedTuple):
    """People's label of a unit, and its labels in several runs; None if a run did not judge it."""

    gold: str
    labels: tuple[str | None, ...]


class AtK(Struct, frozen=True):
    """Repeated labels of ``units`` compared with people's.

    ``any_right`` is unbiased pass@k: the probability that k attempts include a correct label. ``average`` (avg@k) is
    the accuracy of the first k attempts. ``majority`` (maj@k) is the share of units whose most frequent label in these
    is correct; ``ties``, and units without any label in these, count as wrong. An unjudged attempt is wrong.
    """

    k: int
    units: int
    any_right: float
    average: float
    majority: float
    ties: int


def attempts_of(repeats: Sequence[Joined]) -> list[Attempts]:
    """Return the repeats' labels for units that people labelled and that have the same text in all repeats.

    As in a confusion matrix, labels from a worst-first draw count only if there are no others.
    """
    found = [{(one.unit, one.text): one for one in fair(joined.units) if one.gold is not None} for joined in repeats]
    return [
        Attempts(unit.gold or "", tuple(units[place].judged for units in found))
        for place, unit in found[0].items()
        if all(place in units for units in found)
    ]


def at_k(attempts: Sequence[Attempts]) -> tuple[AtK, ...]:
    """Return pass@k, avg@k and maj@k for each k of 1, 3, 5 and 10 for which every unit has enough attempts."""
    reach = min((len(one.labels) for one in attempts), default=0)
    return tuple(_at(k, attempts) for k in KS if k <= reach)


def _at(k: int, attempts: Sequence[Attempts]) -> AtK:
    right = [[label == one.gold for label in one.labels] for one in attempts]
    judged = [[label for label in one.labels[:k] if label] for one in attempts]
    chosen = [majority(labels) if labels else None for labels in judged]
    return AtK(
        k,
        len(attempts),
        mean([pass_at(len(one), sum(one), k) for one in right]),
        mean([sum(one[:k]) / k for one in right]),
        mean([float(label == one.gold) for label, one in zip(chosen, attempts, strict=True)]),
        sum(bool(labels) and label is None for labels, label in zip(judged, chosen, strict=True)),
    )


# ---- several runs


class JoinedRun(NamedTuple):
    """A run, the labels joined to it, and its scores by record."""

    run: AnyRun
    gathered: Gathered
    scores: Mapping[str, RecordScores]


def systems_of(runs: Sequence[JoinedRun]) -> list[list[JoinedRun]]:
    """Group runs by system: runs of the same responses are repeats; raise InputError if judges or settings differ."""
    systems: list[list[JoinedRun]] = []
    for one in runs:
        _check_alike(runs[0], one)
        for repeats in systems:
            shared = one.scores.keys() & repeats[0].scores.keys()
            if shared and all(one.scores[name].response == repeats[0].scores[name].response for name in shared):
                repeats.append(one)
                break
        else:
            systems.append([one])
    return systems


def _check_alike(first: JoinedRun, other: JoinedRun) -> None:
    """Raise InputError if the signatures of a labelled score differ between two runs, ignoring Ragstone's version."""
    for score in (score for joined in first.gathered.metrics.values() for score in sorted(joined.stand)):
        ours, theirs = ({one.by_metric[score].signature for one in run.scores.values() if score in one.by_metric}
                        for run in (first, other))  # fmt: skip
        differing = [] if ours & theirs or not (ours and theirs) else signatures_differ(min(ours), min(theirs))
        for part, mine, its in differing:
            if part != VERSION:
                raise InputError(
                    f"{called(other.run)} has {score} with {part} {its or 'default'}, {called(first.run)} with "
                    f"{mine or 'default'}; systems and repeats need the same judge with the same settings"
                )


def rankings(systems: Sequence[Sequence[JoinedRun]], metric: str) -> tuple[RankingAgreement, ...]:
    """Return the ranking of systems by each score of a metric; empty if there is only one system."""
    often = Counter(repeats[0].run.name for repeats in systems)
    found: dict[str, list[SystemValue]] = defaultdict(list)
    for repeats in systems:
        run = repeats[0].run
        name = f"{run.name} (run {run.id})" if often[run.name] > 1 else run.name
        for _, gathered, _ in repeats:
            if (joined := gathered.metrics.get(metric)) is None:
                continue
            for score, values in joined.values.items():
                for one in (*values, *joined.without_verdicts[score]):
                    system, topic, _ = gathered.places[one.record]
                    found[score].append(SystemValue(system or name, topic, one.judge, one.people))
    return tuple(
        rank_systems(score, values) for score, values in found.items()
        if len(systems) > 1 or len({value.system for value in values}) > 1
    )  # fmt: skip


def repeated(repeats: Sequence[JoinedRun], metric: str) -> tuple[RepeatedMean, ...]:
    """Return each score's mean over runs of the same responses; for one run, over its own repeats."""
    first = repeats[0].gathered.metrics[metric]
    found = []
    for score in first.metric.given_names():
        values = first.repeats[score]
        if len(repeats) > 1:
            rows = ([one.scores[name].by_metric.get(score) for one in repeats if name in one.scores]
                    for name in repeats[0].scores)  # fmt: skip
            values = [[one and one.value for one in row] for row in rows if len(row) == len(repeats)]
        if means := means_of_repeats(values):
            found.append(repeated_mean(score, means))
    return tuple(found)

"""Agreement of a judge with people on the ranking of systems, and on repeated judging of the same units.

Values are paired: a record counts where both the judge and people have a value. Intervals draw whole topics, since the
systems' answers to one topic are not independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from ragstone.analysis.leaderboard import run_of
from ragstone.analysis.run import unit_text
from ragstone.analysis.saved import AnyRun
from ragstone.metrics import of_score
from ragstone.stats.agreement import cluster_interval
from ragstone.stats.means import kendall_tau, mean, mean_interval, rounded, spread, t_quantile
from ragstone.stats.rankings import majority, pass_at, spearman, tau_ap

FEWEST: Final = 3
"""Systems below which no rank correlation means anything."""
KS: Final = (1, 3, 5, 10)

Correlate = Callable[[Sequence[float], Sequence[float]], float | None]


class SystemValue(NamedTuple):
    """A system's value on one topic, by the judge and by people."""

    system: str
    topic: str
    judged: float
    gold: float


@dataclass(frozen=True, slots=True)
class Correlation:
    """A rank correlation, -1 to 1, with its 95 % interval; None where undefined."""

    value: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class SystemMeans:
    """A system's mean by the judge and by people, over its ``topics``."""

    system: str
    judged: float
    gold: float
    topics: int


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """Agreement on the ranking of systems; ``withheld`` says why there are no correlations.

    ``tau`` (Kendall's tau-b), ``tau_ap`` (tau_ap-b) and ``spearman`` are over the means of systems. ``topic_tau`` is
    the mean of tau-b within each of ``ranked_topics`` topics, those in which both sides rank the systems.
    """

    systems: tuple[SystemMeans, ...]
    topics: int
    tau: Correlation | None = None
    tau_ap: Correlation | None = None
    spearman: Correlation | None = None
    topic_tau: Correlation | None = None
    ranked_topics: int = 0
    withheld: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def systems_of(run: AnyRun) -> dict[str, tuple[str, str]]:
    """The system and the topic of each record of a run; a record that names no system is the run's own."""
    read = (result for result in run.results() if "set_aside" not in result)
    return {result["id"]: (run_of(result["meta"], run.name), result["topic"]) for result in read}


def rank_systems(values: Iterable[SystemValue]) -> RankingAgreement:
    """Correlate two rankings of systems; several values of a system on a topic count as their mean."""
    several: dict[tuple[str, str], list[SystemValue]] = defaultdict(list)
    for value in values:
        several[value.topic, value.system].append(value)
    cells = {place: (mean([one.judged for one in of]), mean([one.gold for one in of])) for place, of in several.items()}
    names = tuple(dict.fromkeys(system for _, system in cells))
    topics = tuple(dict.fromkeys(topic for topic, _ in cells))
    # Three columns a system: the sums of its values, and how many there are.
    parts = [[column for name in names for column in (*cells.get((topic, name), (0.0, 0.0)), (topic, name) in cells)]
             for topic in topics]  # fmt: skip
    judged, gold, counts = _means([sum(column) for column in zip(*parts, strict=True)])
    means = tuple(SystemMeans(*row) for row in zip(names, judged, gold, map(round, counts), strict=True))
    if len(names) < FEWEST:
        few = f"{len(names)} system{'' if len(names) == 1 else 's'}; a rank correlation needs at least {FEWEST}"
        return RankingAgreement(means, len(topics), withheld=few)

    def over_means(correlate: Correlate) -> Correlation:
        def measure(sums: Sequence[float]) -> float | None:
            judged, gold, counts = _means(sums)
            return correlate(judged, gold) if len(counts) == len(names) else None

        return Correlation(correlate(judged, gold), cluster_interval(parts, measure))

    within = [kendall_tau(*zip(*found, strict=True)) for topic in topics
              if len(found := [cells[topic, name] for name in names if (topic, name) in cells]) > 1]  # fmt: skip
    taus = [tau for tau in within if tau is not None]
    return RankingAgreement(
        means,
        len(topics),
        over_means(kendall_tau),
        over_means(tau_ap),
        over_means(spearman),
        _mean_of(taus),
        len(taus),
    )


def _means(sums: Sequence[float]) -> tuple[list[float], list[float], list[float]]:
    """Both means and the count of each system that has any values; means that differ by rounding alone are tied."""
    rows = [row for row in zip(sums[::3], sums[1::3], sums[2::3], strict=True) if row[2]]
    judged, gold = ([rounded(row[at] / row[2]) for row in rows] for at in (0, 1))
    return judged, gold, [row[2] for row in rows]


def _mean_of(taus: Sequence[float]) -> Correlation:
    if not taus:
        return Correlation(None, None)
    found = mean_interval(taus)
    return Correlation(found.mean, (found.low, found.high) if len(taus) > 1 else None)


@dataclass(frozen=True, slots=True)
class RepeatedMean:
    """The mean of repeated measurements with its 95 % interval by Student's t; of one alone there is no interval."""

    values: tuple[float, ...]
    mean: float
    deviation: float | None
    interval: tuple[float, float] | None

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def repeated_mean(values: Sequence[float]) -> RepeatedMean:
    """The mean of the values of repeats or runs, such as a metric's mean in each; ValueError for none.

    The interval is of the judge's own variation between repeats; it says nothing of other records.
    """
    centre, deviation = mean(values), spread(values)
    if deviation is None:
        return RepeatedMean(tuple(values), centre, None, None)
    half = t_quantile(0.975, len(values) - 1) * deviation / len(values) ** 0.5
    return RepeatedMean(tuple(values), centre, deviation, (centre - half, centre + half))


class Attempts(NamedTuple):
    """People's label of one unit, and its labels in several runs; None where a run did not judge it."""

    gold: str
    labels: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class AtK:
    """Repeated labels of ``units`` against people's.

    ``any_right`` is pass@k without bias: the chance that k attempts hold a right label. ``average`` (avg@k) is the
    accuracy of the first k attempts, ``majority`` (maj@k) the share of units whose most frequent label in these is
    right; the ``ties`` have none and count as wrong. An unjudged attempt is wrong.
    """

    k: int
    units: int
    any_right: float
    average: float
    majority: float
    ties: int

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def attempts_of(runs: Sequence[AnyRun], gold: Mapping[tuple[str, str], str], task: str) -> list[Attempts]:
    """The labels that several runs give to units for a task; ``gold`` is people's, by record and unit.

    Left out are units that a run does not have, or has with another text.
    """
    found: dict[tuple[str, str], list[tuple[str, str | None]]] = defaultdict(list)
    for run in runs:
        for result in run.results():
            texts = {unit["id"]: unit_text(result, unit) for unit in result.get("units", ())}
            labels = {
                verdict["unit"]: verdict["label"]
                for score in result["scores"] if of_score(score["metric"]).task() == task
                for verdict in score["verdicts"]
            }  # fmt: skip
            for unit, label in labels.items():
                if (result["id"], unit) in gold:
                    found[result["id"], unit].append((texts[unit], label))
    return [
        Attempts(gold[place], tuple(label for _, label in labels))
        for place, labels in found.items()
        if len(labels) == len(runs) and len({text for text, _ in labels}) == 1
    ]


def at_k(attempts: Sequence[Attempts]) -> tuple[AtK, ...]:
    """pass@k, avg@k and maj@k for k of 1, 3, 5 and 10, as far as every unit has so many attempts."""
    reach = min((len(one.labels) for one in attempts), default=0)
    return tuple(_at(k, attempts) for k in KS if k <= reach)


def _at(k: int, attempts: Sequence[Attempts]) -> AtK:
    right = [[label == one.gold for label in one.labels] for one in attempts]
    chosen = [
        majority(judged) if (judged := [label for label in one.labels[:k] if label]) else None for one in attempts
    ]
    return AtK(
        k,
        len(attempts),
        mean([pass_at(len(one), sum(one), k) for one in right]),
        mean([sum(one[:k]) / k for one in right]),
        mean([float(label == one.gold) for label, one in zip(chosen, attempts, strict=True)]),
        chosen.count(None),
    )

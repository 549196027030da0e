"""Compare ways to judge by people's labels, and fit the threshold of a judge with probabilities. No judge is called.

The best combination is selected on one half of the records and its results are measured on the other half, so that the
selection does not bias them. Records are always resampled or split as a whole, since their units are not independent. A
unit without a readable verdict counts as a disagreement, so that a judge cannot gain by answering only easy units.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field, to_builtins

from ragstone import metrics
from ragstone.errors import InputError
from ragstone.judges.base import Cuts
from ragstone.labels import LabelRow, read_labels, worst
from ragstone.metrics.base import Metric
from ragstone.stats.agreement import cluster_interval, kappa_interval, kappa_of
from ragstone.stats.paired_tests import least_moved
from ragstone.types import TRIVIAL, Printable

SHUFFLES: Final = 200
"""Maximum number of splits tried until both halves have two different labels."""
FOLDS: Final = 5
LEAST_UNITS: Final = 30
"""Minimum number of labelled units to fit a threshold."""
STEPS: Final = 100
"""Number of steps from 0 to 1 in the grid of thresholds; a finer grid would fit noise."""

Cells = Sequence[int]
"""The counts of a square confusion matrix in row-major order (rows are people's labels, columns the judge's)."""


class TunedUnit(Struct, frozen=True):
    """A labelled unit: people's label and the judge's, as indices on the scale; None if the judge gave none."""

    record: str
    gold: int
    judged: int | None
    probability: float | None = None


class Combination(Struct, frozen=True):
    """A way to judge: a judge, panel or cascade, a prompt style or file, and a format; empty means the judge's own."""

    judge: str
    style: str = ""
    format: str = ""

    def __str__(self) -> str:
        return ", ".join(part for part in (self.judge, self.style, self.format) if part)


class AskedCombination(Struct, frozen=True):
    """The answers of a combination: its run, the labelled units, and the number of all ``judged`` units of the run.

    ``dollars`` is the cost of all replies, including stored ones; None if unknown.
    """

    combination: Combination
    run: int
    units: Sequence[TunedUnit]
    judged: int
    dollars: float | None


class Tried(Struct, frozen=True):
    """The results of one combination.

    ``chosen_on`` is Cohen's kappa on the half used for the selection; ``kappa``, with its 95% ``interval``, is measured
    on the other half. ``behind`` is the interval, also on the other half, of the winner's kappa minus this one; None
    for the winner itself and if fewer than 6 records differ. ``read`` is the share of labelled units that the judge
    labelled, ``cost`` is in dollars per 1,000 units.
    """

    combination: Combination
    run: int
    chosen_on: float
    kappa: float
    interval: tuple[float, float] | None
    behind: tuple[float, float] | None
    read: float
    cost: float | None

    @property
    def equal(self) -> bool:
        """Whether it does not differ significantly from the winner."""
        return self.behind is None or self.behind[0] <= 0 <= self.behind[1]


class FittedThreshold(Struct, frozen=True):
    """The threshold of a judge before and after fitting, each with its kappa and 95% interval on held-out records.

    ``gain`` is the interval of the difference. ``kappa_after`` is pooled over ``folds``: each fold is judged by the
    threshold fitted on the others.
    """

    judge: str
    before: float
    after: float
    folds: int
    units: int
    kappa_before: float
    interval_before: tuple[float, float] | None
    kappa_after: float
    interval_after: tuple[float, float] | None
    gain: tuple[float, float] | None

    @property
    def better(self) -> bool:
        """Whether it agrees better on held-out records, significantly or not."""
        return self.after != self.before and self.kappa_after > self.kappa_before

    @property
    def shown(self) -> bool:
        """Whether the difference is significant."""
        return self.gain is not None and not self.gain[0] <= 0 <= self.gain[1]


class Tuning(Printable, Struct, frozen=True):
    """The results of tuning: the combinations, best first, and fitted thresholds.

    ``units`` is the number of labelled units, from ``records`` records; ``halves`` are the numbers of records used to
    select the winner and to measure the results. ``left_out`` maps combinations that cannot be tried to the reason;
    ``notes`` say which labels were not used. ``estimate`` and ``bill`` are the calls, tokens and dollars of all
    combinations.
    """

    metric: str
    step: str
    labels: tuple[str, ...]
    units: int
    records: int
    halves: tuple[int, int]
    seed: int
    tried: tuple[Tried, ...]
    thresholds: tuple[FittedThreshold, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    estimate: Mapping[str, Any] | None = None
    bill: Mapping[str, Any] = field(default_factory=dict)

    @property
    def winner(self) -> Tried:
        """The combination that agrees best on the half used for the selection."""
        return self.tried[0]

    @property
    def equals(self) -> tuple[Tried, ...]:
        """The other combinations that do not differ significantly from the winner."""
        return tuple(one for one in self.tried[1:] if one.equal)

    @property
    def cheapest(self) -> Tried:
        """The cheapest of the winner and its ``equals``; the winner if its price is unknown."""
        priced = [one for one in (self.winner, *self.equals) if one.cost is not None]
        return min(priced, key=lambda one: one.cost or 0.0) if self.winner.cost is not None else self.winner

    def threshold_of(self, judge: str) -> FittedThreshold | None:
        """Return a judge's fitted threshold, if it agrees better than the previous one; else None."""
        return next((one for one in self.thresholds if one.judge == judge and one.better), None)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        plain = to_builtins(self)
        for told, one in zip(plain["tried"], self.tried, strict=True):
            told["equal"] = one.equal
        for told, fit in zip(plain["thresholds"], self.thresholds, strict=True):
            told |= {"better": fit.better, "shown": fit.shown}
        best = {"winner": self.winner.combination, "cheapest": self.cheapest.combination}
        return {**plain, **to_builtins(best)}


def split(labels: Mapping[str, Collection[int]], seed: int) -> tuple[set[str], set[str]]:
    """Split the records into random halves with two different labels each; raise InputError if that is not possible.

    ``labels`` are people's labels of each record. Judges' answers do not affect the split.
    """
    names = sorted(labels)
    chooser = random.Random(seed)  # noqa: S311 - a draw, no secret
    for _ in range(SHUFFLES):
        chooser.shuffle(names)
        halves = names[: (len(names) + 1) // 2], names[(len(names) + 1) // 2 :]
        if all(len({label for name in half for label in labels[name]}) > 1 for half in halves):
            return set(halves[0]), set(halves[1])
    raise InputError(
        f"the labels of {len(names)} record{'' if len(names) == 1 else 's'} cannot be split: the half to choose "
        "on and the half to report on each need two different labels; label more records"
    )


def ranked(asked: Sequence[AskedCombination], labels: int, seed: int) -> tuple[tuple[Tried, ...], tuple[int, int]]:
    """Rank combinations that were asked about the same units, best first; also return the sizes of both halves.

    Ties are broken by cost, cheapest first. A single combination needs no selection, so its results are over all
    records. Raise InputError if the records cannot be split.
    """
    golds: dict[str, set[int]] = defaultdict(set)
    for unit in asked[0].units:
        golds[unit.record].add(unit.gold)
    choosing, reporting = split(golds, seed) if len(asked) > 1 else (set(golds), set(golds))
    size = labels + 1
    counted = {one.combination: _cells(one.units, labels, lambda unit: unit.judged) for one in asked}

    def kappa(combination: Combination, records: Collection[str]) -> float:
        cells = [counted[combination][record] for record in records if record in counted[combination]]
        return kappa_of(_sum(cells), size) or 0.0

    def order(one: AskedCombination) -> tuple[float, bool, float]:
        cost = _cost(one)
        return (-round(kappa(one.combination, choosing), 9), cost is None, cost or 0.0)

    ordered = sorted(asked, key=order)
    held, best = sorted(reporting), counted[ordered[0].combination]
    tried = []
    for one in ordered:
        own = counted[one.combination]
        behind = None if own is best else _gap([(own[name], best[name]) for name in held], size, seed)
        tried.append(Tried(
            one.combination, one.run, kappa(one.combination, choosing), kappa(one.combination, reporting),
            kappa_interval([own[name] for name in held], size, seed=seed), behind,
            sum(unit.judged is not None for unit in one.units) / len(one.units), _cost(one),
        ))  # fmt: skip
    return tuple(tried), (len(choosing) if len(asked) > 1 else 0, len(reporting))


def fitted(judge: str, units: Sequence[TunedUnit], cuts: Cuts, seed: int) -> FittedThreshold:
    """Fit a judge's threshold on a two-label scale: highest kappa; ties go to the one nearest to the judge's own.

    Its quality is estimated by nested cross-validation over records: each fold is judged by a threshold fitted only on
    the other folds. Kappa is maximised rather than balanced accuracy, because combinations are ranked by it, and it
    weights each label by its frequency.
    """
    names = sorted({unit.record for unit in units})
    random.Random(seed).shuffle(names)  # noqa: S311 - a draw, no secret
    folds = min(FOLDS, len(names))
    fold_of = {name: number % folds for number, name in enumerate(names)}
    fits = [_best([unit for unit in units if fold_of[unit.record] != fold], cuts) for fold in range(folds)]
    before = _cells(units, 2, lambda unit: unit.judged)
    after = _cells(units, 2, lambda unit: _labelled(unit, fits[fold_of[unit.record]]))
    return FittedThreshold(
        judge, cuts.best, _best(units, cuts), folds, len(units),
        kappa_of(_sum(before.values()), 3) or 0.0, kappa_interval([*before.values()], 3, seed=seed),
        kappa_of(_sum(after.values()), 3) or 0.0, kappa_interval([*after.values()], 3, seed=seed),
        _gap([(before[name], after[name]) for name in names], 3, seed),
    )  # fmt: skip


def _best(units: Sequence[TunedUnit], cuts: Cuts) -> float:
    """Return the threshold with the highest kappa; ties go to the one nearest to the judge's own."""
    steps = (step / STEPS for step in range(STEPS + 1))
    grid = {cuts.best, *(cut for cut in steps if cuts.least <= cut <= cuts.most)}

    def order(cut: float) -> tuple[float, float]:
        cells = _sum(_cells(units, 2, lambda unit: _labelled(unit, cut)).values())
        return round(kappa_of(cells, 3) or 0.0, 9), -abs(cut - cuts.best)

    return max(sorted(grid), key=order)


def _labelled(unit: TunedUnit, cut: float) -> int | None:
    return unit.judged if unit.probability is None else int(unit.probability >= cut)


def _cells(units: Iterable[TunedUnit], labels: int, judged: Callable[[TunedUnit], int | None]) -> dict[str, list[int]]:
    """Return the confusion matrix of each record, with an extra label for unread units."""
    size = labels + 1
    found: dict[str, list[int]] = {}
    for unit in units:
        label = judged(unit)
        found.setdefault(unit.record, [0] * size * size)[unit.gold * size + (labels if label is None else label)] += 1
    return found


def _sum(cells: Iterable[Cells]) -> Cells:
    return [sum(column) for column in zip(*cells, strict=True)]


def _gap(pairs: Sequence[tuple[Cells, Cells]], size: int, seed: int) -> tuple[float, float] | None:
    """Return the interval of the second kappa minus the first, resampling the records of both together.

    None if so few records differ that all of them may favour the same side by chance.
    """
    if sum(first != second for first, second in pairs) < least_moved():
        return None
    whole = size * size

    def difference(summed: Cells) -> float | None:
        first, second = kappa_of(summed[:whole], size), kappa_of(summed[whole:], size)
        return None if first is None or second is None else second - first

    return cluster_interval([[*first, *second] for first, second in pairs], difference, seed=seed)


def _cost(one: AskedCombination) -> float | None:
    return None if one.dollars is None else 1000 * one.dollars / max(1, one.judged)


# ---- labels for tuning


def usable_labels(path: Path | str) -> tuple[list[LabelRow], list[str]]:
    """Return the usable labels, and a note on the unusable ones, which come from a worst-first draw.

    Those cover units on which some judges disagree, so they would favour other judges, and their intervals would not
    apply to other records.
    """
    every = [row for row in read_labels(path) if row.label is not None]
    rows = [row for row in every if not worst(row)]
    if not rows:
        what = "all labels come from a worst-first draw" if every else "contains no labels"
        raise InputError(f"{path}: {what}; label a random sample with: ragstone label RUN")
    left = len(every) - len(rows)
    return rows, [f"{left:,} label{'' if left == 1 else 's'} from a worst-first draw not used"] if left else []


def measuring(row: LabelRow) -> list[type[Metric]]:
    """Return the metrics whose verdicts are comparable with a label, by its step and the level of its unit."""
    found = [metric for metric in metrics.catalogue().values() if metric.task() == row.task]
    level = row.unit.removeprefix(f"{row.record}/").partition("/")[0]
    return [metric for metric in found if metric.unit.replace(" ", "_") == level] or (found if len(found) == 1 else [])


def metric_of(rows: Sequence[LabelRow], named: str | None, path: str) -> type[Metric]:
    """Return the metric that labels are for, or the ``named`` one of several; raise InputError if it is unclear."""
    found = Counter(metric for row in rows for metric in measuring(row))
    there = ", ".join(f"{metric.name} ({count:,})" for metric, count in found.items())
    if named:
        metric = metrics.find(named)
        if metric not in found:
            raise InputError(f"{path} has no labels for {metric.name}" + (f"; it has labels for {there}" * bool(found)))
        return metric
    if not found:
        steps = ", ".join(sorted({row.task for row in rows}))
        raise InputError(f"{path}: no label is for a step and unit of a metric; steps: {steps}")
    if len(found) > 1:
        raise InputError(f"{path} has labels for several metrics: {there}; specify one with --metric")
    return next(iter(found))


def check_labels(rows: Sequence[LabelRow], path: str, *, threshold: bool, several: bool) -> None:
    """Raise InputError if kappa, a winner of ``several`` or a threshold cannot be computed, whatever judges answer."""
    rows = [row for row in rows if row.label != TRIVIAL]
    known = sorted({row.label or "" for row in rows})
    by_record: dict[str, set[int]] = {}
    for row in rows:
        by_record.setdefault(row.record, set()).add(known.index(row.label or ""))
    if len(known) < 2:
        every = f"all {len(rows):,} labels are" if len(rows) > 1 else "the only label is"
        one = f"{every} '{known[0]}'" if known else "every label is trivial"
        raise InputError(f"{path}: {one}; agreement needs two different labels")
    if several or threshold:
        split(by_record, 0)
    units = len({(row.record, row.unit) for row in rows})
    if threshold and units < LEAST_UNITS:
        raise InputError(f"--threshold needs at least {LEAST_UNITS} labelled units; {path} has {units}")
    if threshold and len(known) > 2:
        raise InputError(f"--threshold needs labels on a two-label scale; {path} has {', '.join(known)}")


def check_texts(rows: Sequence[LabelRow], path: str, written: Collection[str]) -> None:
    """Raise InputError if rows lack the texts of judge-written units; ``written`` are steps that can write them."""
    level = rows[0].unit.rpartition("/")[0].rpartition("/")[2]
    step = {"claim": "claims", "nugget": "nuggetize"}.get(level)
    if step and step not in written and not any(row.text for row in rows):
        raise InputError(
            f"{path}: no label has a 'text', the {level} to ask judges about; add it, as the page of ragstone label "
            f"does, or name the judge that wrote the {level}s: -j {step}=NAME"
        )

"""The labels that judges are tuned by: which may be used, of which metric they are, and whether there are enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from ragstone import metrics
from ragstone.analysis.tuning import LEAST_UNITS, split
from ragstone.errors import InputError
from ragstone.labels import LabelRow, read_labels, worst
from ragstone.metrics.base import Metric
from ragstone.types import TRIVIAL


def usable_labels(path: Path | str) -> tuple[list[LabelRow], list[str]]:
    """The labels that may be used, and what is said of the others: those of a worst-first draw.

    They are of units that some judges disagree on, so that they would favour other judges, and no interval of theirs
    tells of other records.
    """
    every = [row for row in read_labels(path) if row.label is not None]
    rows = [row for row in every if not worst(row)]
    if not rows:
        what = "all labels come from a worst-first draw; label a random sample" if every else "no labels found"
        raise InputError(f"{path}: {what}, with: ragstone label RUN")
    left = len(every) - len(rows)
    return rows, [f"{left:,} label{'' if left == 1 else 's'} from a worst-first draw not used"] if left else []


def measuring(row: LabelRow) -> list[type[Metric]]:
    """The metrics whose verdicts a label is comparable with, by its step and the level of its unit."""
    found = [metric for metric in metrics.catalogue().values() if metric.task() == row.task]
    level = row.unit.removeprefix(f"{row.record}/").partition("/")[0]
    return [metric for metric in found if metric.unit.replace(" ", "_") == level] or (found if len(found) == 1 else [])


def metric_of(rows: Sequence[LabelRow], named: str | None, path: str) -> type[Metric]:
    """The metric that labels are of, or the ``named`` one of several; InputError where that is not clear."""
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
        raise InputError(f"{path} has labels for several metrics: {there}; name one with --metric")
    return next(iter(found))


def check_labels(rows: Sequence[LabelRow], path: str, *, threshold: bool) -> None:
    """InputError where kappa or a threshold could not be had whatever the judges say."""
    rows = [row for row in rows if row.label != TRIVIAL]
    known = sorted({row.label or "" for row in rows})
    by_record: dict[str, set[int]] = {}
    for row in rows:
        by_record.setdefault(row.record, set()).add(known.index(row.label or ""))
    if len(known) < 2:
        one = f"all {len(rows):,} labels are '{known[0]}'" if known else "every label is trivial"
        raise InputError(f"{path}: {one}; agreement needs two different labels")
    split(by_record, 0)
    units = len({(row.record, row.unit) for row in rows})
    if threshold and units < LEAST_UNITS:
        raise InputError(f"--threshold needs at least {LEAST_UNITS} labelled units; {path} has {units}")
    if threshold and len(known) > 2:
        raise InputError(f"--threshold needs labels on a two-label scale; {path} has {', '.join(known)}")


def check_texts(rows: Sequence[LabelRow], path: str, written: Collection[str]) -> None:
    """InputError for units that a judge wrote whose texts the rows lack; ``written`` are steps that write them."""
    level = rows[0].unit.rpartition("/")[0].rpartition("/")[2]
    step = {"claim": "claims", "nugget": "nuggetize"}.get(level)
    if step and step not in written and not any(row.text for row in rows):
        raise InputError(
            f"{path}: no row has a 'text', the {level} to ask judges about. The page of ragstone label exports it; "
            f"or name the judge that wrote the {level}s: -j {step}=NAME"
        )

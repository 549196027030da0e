"""Compute the summary of a run from its stored scores alone."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import merge
from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import cast

import orjson

from ragstone.metrics.methods import PAIRS, compared
from ragstone.result_types import CostDict, MethodsDict, MetricDict, MetricRepeatsDict, RepeatsDict, SummaryDict
from ragstone.stats.means import Interval, mean, mean_interval, rounded, spread
from ragstone.store.database import ScoreRow, Store


def summarize(store: Store, run: int, signatures: Mapping[str, str], status: str) -> SummaryDict:
    """Return the summary of a run.

    Means, medians and 95% intervals are over records with a value (``scored``); the others are counted by status and
    never imputed. ``total`` counts all records, including unreadable ones. ``low`` and ``high`` are the mean if every
    unjudged unit were worst or best. (A value set by ``on_empty`` counts, since the user requested it.)
    """
    records = store.count(run)
    columns = {name: _Column() for name in signatures}
    metrics = {name: _metric(column, records, signatures[name]) for name, column in columns.items()}
    for name, rows in groupby(store.scores(run), key=attrgetter("metric")):
        column = columns[name] = _Column()
        for row in rows:
            column.add(row)
        metrics[name] = _metric(column, records, signatures.get(name, ""))
    summary = {
        "run": run,
        "status": status,
        "records": records,
        "set_aside": store.set_aside(run),
        "metrics": metrics,
        **({"methods": methods} if (methods := _methods(store, run, columns)) else {}),
        "cost": _cost(columns.values()),
    }
    return cast("SummaryDict", summary)


class _Column:
    """The sums of one metric; rows are not kept, since a run may have a million, and values are freed early."""

    def __init__(self) -> None:
        self.values, self.lows, self.highs = array("d"), array("d"), array("d")
        self.statuses: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.repeats = _Repeats()
        self.asked = self.unjudged = self.calls = self.input_tokens = self.output_tokens = 0
        self.dollars: float | None = 0.0

    def add(self, row: ScoreRow) -> None:
        if row.value is not None:
            self.values.append(row.value)
        if row.low is not None and row.high is not None:
            self.lows.append(row.low)
            self.highs.append(row.high)
        self.statuses[row.status] += 1
        if row.outcome:
            self.outcomes[row.outcome] += 1
        if row.repeats:
            self.repeats.add(orjson.loads(row.repeats))
        self.asked += row.asked
        self.unjudged += row.unjudged
        self.calls += row.calls
        self.input_tokens += row.input_tokens
        self.output_tokens += row.output_tokens
        self.dollars = None if row.dollars is None or self.dollars is None else self.dollars + row.dollars


def _methods(store: Store, run: int, columns: Mapping[str, _Column]) -> dict[str, MethodsDict]:
    """Compare the plain metrics with the nuggetized ones, over records with a value for both."""
    found: dict[str, MethodsDict] = {}
    for aspect, names in PAIRS.items():
        if not all(name in columns and columns[name].statuses for name in names):
            continue
        both = array("d"), array("d")
        rows = merge(*(store.scores(run, name) for name in names), key=attrgetter("position"))
        for _, two in groupby(rows, key=attrgetter("position")):
            values = [row.value for row in two if row.value is not None]
            if len(values) == len(both):
                for column, value in zip(both, values, strict=True):
                    column.append(value)
        means = [mean(column) if column else None for column in both]
        differences = array("d", (100 * (b - a) for a, b in zip(*both, strict=True)))
        interval = _ends(mean_interval(differences) if differences else None)
        told = compared(aspect, means[0], means[1], interval)
        found[aspect] = cast("MethodsDict", {**told, "interval": interval, "records": len(differences)})
    return found


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None or interval.method == "none" else [rounded(interval.low), rounded(interval.high)]


def _metric(column: _Column, records: int, signature: str) -> MetricDict:
    """Return the summary of a metric; the values of its column are freed."""
    low, high = (rounded(mean(ends)) if ends else None for ends in (column.lows, column.highs))
    column.lows, column.highs = array("d"), array("d")  # freed before the median, which sorts a copy of the values
    values, column.values = column.values, array("d")
    interval = mean_interval(values) if values else None
    summary = {
        "mean": rounded(interval.mean) if interval else None,
        "interval": _ends(interval),
        "interval_method": interval.method if interval else "none",
        "median": rounded(median(values)) if values else None,
        "scored": len(values),
        "total": records,
        "below_one": sum(value < 1 for value in values),
        "low": low,
        "high": high,
        "statuses": dict(sorted(column.statuses.items())),
        "units": {"asked": column.asked, "unjudged": column.unjudged},
        "outcomes": dict(sorted(column.outcomes.items())) or None,
        **({"repeats": column.repeats.as_json()} if column.repeats.times else {}),
        "cost": _cost([column]),
        "signature": signature,
    }
    return cast("MetricDict", summary)


def means_of_repeats(rows: Iterable[Sequence[float | None]]) -> list[float]:
    """Return the mean of each repeat, given each record's values.

    Only records with a value in every repeat count, so that the means differ only by the judge.
    """
    whole = [[value for value in row if value is not None] for row in rows if None not in row]
    return [mean(column) for column in zip(*whole, strict=True)]


class _Repeats:
    """The variation of a metric between repeats; only one number per record and repeat is kept, plus its spread."""

    def __init__(self) -> None:
        self.times = self._units = self._flips = self._unmatched = 0
        self._values: list[array[float]] = []
        self._spreads = array("d")

    def add(self, one: RepeatsDict) -> None:
        values = [value for value in one["values"] if value is not None]
        self.times = self.times or len(one["values"])
        self._units += one["units"]
        self._flips += one["flips"]
        self._unmatched += one["unmatched"]
        if len(values) == len(one["values"]):
            self._values = self._values or [array("d") for _ in values]
            for column, value in zip(self._values, values, strict=True):
                column.append(value)
            if (wide := spread(values)) is not None:
                self._spreads.append(wide)

    def as_json(self) -> MetricRepeatsDict:
        means = [mean(column) for column in self._values]
        return {
            "times": self.times,
            "records": len(self._values[0]) if self._values else 0,
            "means": [rounded(value) for value in means],
            "mean": rounded(mean(means)) if means else None,
            "spread": rounded(spread(means)),
            "record_spread": rounded(mean(self._spreads)) if self._spreads else None,
            "units": self._units,
            "flips": self._flips,
            "flip_rate": rounded(self._flips / self._units) if self._units else None,
            "unmatched": self._unmatched,
        }


def _cost(columns: Iterable[_Column]) -> CostDict:
    columns = list(columns)
    dollars = [column.dollars for column in columns if column.dollars is not None]
    counts = {name: sum(getattr(one, name) for one in columns) for name in ("calls", "input_tokens", "output_tokens")}
    return cast("CostDict", counts | {"dollars": rounded(math.fsum(dollars)) if len(dollars) == len(columns) else None})

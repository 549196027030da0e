"""From the scores of a run to its summary: pure arithmetic over what the store holds."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from ragstone.metrics.methods import PAIRS, compared
from ragstone.stats.means import mean, mean_interval, median, spread
from ragstone.store.database import ScoreRow, Store

_PAIRED: Final = frozenset(name for pair in PAIRS.values() for name in pair)
"""The metrics that are held against each other record by record."""


def summarize(store: Store, run: int, signatures: Mapping[str, str], status: str) -> dict[str, Any]:
    """The summary of a run.

    For each metric: mean with its 95 % interval, median, how many are scored of all records of the run (``total``: with
    those that could not be read), the statuses of those that could, the mean that would be if every unjudged unit were
    worst or best, and its share of the cost. A mean never stands on a default: records without a value are counted,
    not filled in. (A value that ``on_empty`` gives was asked for by the user, and counts.)
    """
    columns: dict[str, _Column] = {}
    for row in store.scores(run):
        columns.setdefault(row.metric, _Column(row.metric in _PAIRED)).add(row)
    known = {name: columns.get(name, _Column()) for name in signatures}
    records = store.count(run)
    metrics = {
        name: _metric(column, records, signatures.get(name, "")) for name, column in {**known, **columns}.items()
    }
    return {
        "run": run,
        "status": status,
        "records": records,
        "set_aside": store.set_aside(run),
        "metrics": metrics,
        **({"methods": methods} if (methods := _methods(columns)) else {}),
        "cost": _cost(columns.values()),
    }


class _Column:
    """What the scores of one metric add up to: rows are let go of, since a run may have a million."""

    def __init__(self, paired: bool = False) -> None:
        self.values, self.lows, self.highs = array("d"), array("d"), array("d")
        self.by_position: dict[int, float] | None = {} if paired else None
        self.statuses: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.repeats: list[Any] = []
        self.asked = self.unjudged = self.calls = self.input_tokens = self.output_tokens = 0
        self.dollars: float | None = 0.0

    def add(self, row: ScoreRow) -> None:
        if row.value is not None:
            self.values.append(row.value)
            if self.by_position is not None:
                self.by_position[row.position] = row.value
        if row.low is not None and row.high is not None:
            self.lows.append(row.low)
            self.highs.append(row.high)
        self.statuses[row.status] += 1
        if row.outcome:
            self.outcomes[row.outcome] += 1
        if row.repeats:
            self.repeats.append(orjson.loads(row.repeats))
        self.asked += row.asked
        self.unjudged += row.unjudged
        self.calls += row.calls
        self.input_tokens += row.input_tokens
        self.output_tokens += row.output_tokens
        self.dollars = None if row.dollars is None or self.dollars is None else self.dollars + row.dollars


def _methods(columns: Mapping[str, _Column]) -> dict[str, Any]:
    """The plain triad beside the nuggetized one, over the records that have a value for both."""
    found: dict[str, Any] = {}
    for aspect, (plain, nuggetized) in PAIRS.items():
        if plain not in columns or nuggetized not in columns:
            continue
        values = columns[plain].by_position or {}
        others = columns[nuggetized].by_position or {}
        pairs = [(values[position], value) for position, value in others.items() if position in values]
        means = (mean([a for a, _ in pairs]), mean([b for _, b in pairs])) if pairs else (None, None)
        interval = mean_interval([100 * (b - a) for a, b in pairs]) if pairs else None
        found[aspect] = {
            **compared(aspect, *means),
            "interval": [_rounded(interval.low), _rounded(interval.high)]
            if interval and interval.method != "none"
            else None,
            "records": len(pairs),
        }
    return found


def _metric(column: _Column, records: int, signature: str) -> dict[str, Any]:
    values = column.values
    interval = mean_interval(values) if values else None
    return {
        "mean": _rounded(interval.mean) if interval else None,
        "interval": [_rounded(interval.low), _rounded(interval.high)]
        if interval and interval.method != "none"
        else None,
        "interval_method": interval.method if interval else "none",
        "median": _rounded(median(values)) if values else None,
        "scored": len(values),
        "total": records,
        "low": _rounded(mean(column.lows)) if column.lows else None,
        "high": _rounded(mean(column.highs)) if column.highs else None,
        "statuses": dict(sorted(column.statuses.items())),
        "units": {"asked": column.asked, "unjudged": column.unjudged},
        "outcomes": dict(sorted(column.outcomes.items())) or None,
        **({"repeats": repeats} if (repeats := _repeats(column.repeats)) else {}),
        "cost": _cost([column]),
        "signature": signature,
    }


def _repeats(found: list[Any]) -> dict[str, Any]:
    """How alike a metric comes out when everything is asked again; empty where it was asked once.

    Means are over the records that have a value every time, so that they differ by the judge and by nothing else.
    """
    if not found:
        return {}
    whole = [one["values"] for one in found if None not in one["values"]]
    means = [mean(column) for column in zip(*whole, strict=True)]
    units, flips = sum(one["units"] for one in found), sum(one["flips"] for one in found)
    spreads = [wide for values in whole if (wide := spread(values)) is not None]
    return {
        "times": len(found[0]["values"]),
        "records": len(whole),
        "means": [_rounded(value) for value in means],
        "mean": _rounded(mean(means)) if means else None,
        "spread": None if (wide := spread(means)) is None else _rounded(wide),
        "record_spread": _rounded(mean(spreads)) if spreads else None,
        "units": units,
        "flips": flips,
        "flip_rate": _rounded(flips / units) if units else None,
        "unmatched": sum(one["unmatched"] for one in found),
    }


def _cost(columns: Iterable[_Column]) -> dict[str, Any]:
    columns = list(columns)
    dollars = [column.dollars for column in columns if column.dollars is not None]
    return {
        "calls": sum(column.calls for column in columns),
        "input_tokens": sum(column.input_tokens for column in columns),
        "output_tokens": sum(column.output_tokens for column in columns),
        "dollars": _rounded(math.fsum(dollars)) if len(dollars) == len(columns) else None,
    }


def _rounded(value: float) -> float:
    return round(value, 9)

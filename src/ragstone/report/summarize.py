"""From the scores of a run to its summary: pure arithmetic over what the store holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson

from ragstone.metrics.methods import PAIRS, compared
from ragstone.stats import mean, mean_interval, median, spread
from ragstone.store import ScoreRow, Store


def summarize(store: Store, run: int, signatures: Mapping[str, str], status: str) -> dict[str, Any]:
    """The summary of a run.

    For each metric: mean with its 95 % interval, median, how many are scored of all records of the run (``total``: with
    those that could not be read), the statuses of those that could, the mean that would be if every unjudged unit were
    worst or best, and its share of the cost. A mean never stands on a default: records without a value are counted,
    not filled in. (A value that ``on_empty`` gives was asked for by the user, and counts.)
    """
    columns: dict[str, list[ScoreRow]] = {}
    for row in store.scores(run):
        columns.setdefault(row.metric, []).append(row)
    known = {name: columns.get(name, []) for name in signatures}
    records = store.count(run)
    metrics = {name: _metric(rows, records, signatures.get(name, "")) for name, rows in {**known, **columns}.items()}
    return {
        "run": run,
        "status": status,
        "records": records,
        "set_aside": store.set_aside(run),
        "metrics": metrics,
        **({"methods": methods} if (methods := _methods(columns)) else {}),
        "cost": _cost([row for rows in columns.values() for row in rows]),
    }


def _methods(columns: Mapping[str, list[ScoreRow]]) -> dict[str, Any]:
    """The plain triad beside the nuggetized one, over the records that have a value for both."""
    found: dict[str, Any] = {}
    for aspect, (plain, nuggetized) in PAIRS.items():
        if plain not in columns or nuggetized not in columns:
            continue
        values = {row.position: row.value for row in columns[plain] if row.value is not None}
        pairs = [
            (values[row.position], row.value)
            for row in columns[nuggetized]
            if row.value is not None and row.position in values
        ]
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


def _metric(rows: list[ScoreRow], records: int, signature: str) -> dict[str, Any]:
    values = [row.value for row in rows if row.value is not None]
    bounded = [row for row in rows if row.low is not None and row.high is not None]
    interval = mean_interval(values) if values else None
    outcomes = Counter(row.outcome for row in rows if row.outcome)
    return {
        "mean": _rounded(interval.mean) if interval else None,
        "interval": [_rounded(interval.low), _rounded(interval.high)]
        if interval and interval.method != "none"
        else None,
        "interval_method": interval.method if interval else "none",
        "median": _rounded(median(values)) if values else None,
        "scored": len(values),
        "total": records,
        "low": _rounded(mean([row.low for row in bounded if row.low is not None])) if bounded else None,
        "high": _rounded(mean([row.high for row in bounded if row.high is not None])) if bounded else None,
        "statuses": dict(sorted(Counter(row.status for row in rows).items())),
        "units": {"asked": sum(row.asked for row in rows), "unjudged": sum(row.unjudged for row in rows)},
        "outcomes": dict(sorted(outcomes.items())) or None,
        **({"repeats": repeats} if (repeats := _repeats(rows)) else {}),
        "cost": _cost(rows),
        "signature": signature,
    }


def _repeats(rows: list[ScoreRow]) -> dict[str, Any]:
    """How alike a metric comes out when everything is asked again; empty where it was asked once.

    Means are over the records that have a value every time, so that they differ by the judge and by nothing else.
    """
    found = [orjson.loads(row.repeats) for row in rows if row.repeats]
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


def _cost(rows: list[ScoreRow]) -> dict[str, Any]:
    unknown = any(row.dollars is None for row in rows)
    return {
        "calls": sum(row.calls for row in rows),
        "input_tokens": sum(row.input_tokens for row in rows),
        "output_tokens": sum(row.output_tokens for row in rows),
        "dollars": None if unknown else _rounded(sum(row.dollars or 0.0 for row in rows)),
    }


def _rounded(value: float) -> float:
    return round(value, 9)

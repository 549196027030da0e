"""Draw tables of scores: multi-column metrics in rows of two, ordinary and nugget scores, and repeats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.metrics import column_of, of_score
from ragstone.metrics.base import Metric
from ragstone.metrics.nugget_recall import NuggetRecall
from ragstone.metrics.words import ScoreTable
from ragstone.render.facts import interval_of, possible, possible_mean
from ragstone.render.terminal.screen import DOT, Look, Prose, indented, section
from ragstone.render.terminal.tables import Column, Fitted, table
from ragstone.render.text import flat, grouped, number, percent
from ragstone.stats.points import signed

RECALL: Final = NuggetRecall


def columns_of(score: str) -> type[Metric] | None:
    """Return the metric that a score is a column of; None if it is not a column or its metric defines no table."""
    metric = of_score(score)
    return metric if column_of(score) in metric.columns and metric.table else None


def _table_of(metric: type[Metric]) -> ScoreTable:
    assert metric.table is not None
    return metric.table


def _legend(metric: type[Metric], signature: str) -> str:
    table = _table_of(metric)
    values = {field.name: str(field.default) for field in fields(metric)}
    values |= dict(part.split(":", 1) for part in signature.split("|")[1:] if ":" in part)
    return table.legend.format_map(
        {name: table.values.get(name, {}).get(value, value) for name, value in values.items()}
    )


def _found(metric: type[Metric], entries: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the entries of each row's columns, by row; rows with a missing column are left out."""
    names = {row: [f"{metric.name}.{column}" for column in columns] for row, columns in _table_of(metric).rows.items()}
    return {row: [entries[name] for name in own] for row, own in names.items() if all(name in entries for name in own)}


# ---- of a run


def columns_of_run(metric: type[Metric], entries: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """Return means, intervals, possible means and the number of scored records."""
    rows, drawn = _found(metric, entries), _table_of(metric)
    columns = [Column(Text(metric.name), [f"  {row}" for row in rows])]
    for side, title in enumerate(drawn.titles):
        sides = [found[side] if side < len(found) else None for found in rows.values()]
        means = [percent(entry["mean"], entry["scored"], entry["interval"]) if entry else "" for entry in sides]
        columns.append(Column(title, means, right=True))
        columns.append(Column("95% CI", [interval_of(entry) if entry else "" for entry in sides], right=True, drop=2))
    scored = [_scored(drawn.titles, found) for found in rows.values()]
    could_be = [", ".join(filter(None, map(possible_mean, found))) for found in rows.values()]
    columns += [Column("scored", scored, right=True, drop=1), Column("could be", could_be, right=True, drop=3)]
    below = [
        f"{metric.name}.{name}: {passed(entry)} passed"
        for row, found in rows.items()
        for name, entry in zip(drawn.rows[row], found, strict=True)
        if entry["outcomes"]
    ]
    signature = next((found[-1]["signature"] for found in rows.values()), "")
    notes = [Prose(line, "quiet") for line in [*below, _legend(metric, signature)]]
    styles = ["quiet" if found[0]["mean"] is None else "" for found in rows.values()]
    return Group(Fitted([column for column in columns if any(column.cells)], styles), *notes)


def _scored(titles: Sequence[str], found: Sequence[Mapping[str, Any]]) -> str:
    """Return ``5 of 6``, or ``value 4, share 5 of 6`` if the columns have different counts."""
    counts = [number(entry["scored"]) for entry in found]
    told = counts[0] if len(set(counts)) == 1 else ", ".join(map(" ".join, zip(titles, counts, strict=False)))
    return f"{told} of {number(found[0]['total'])}"


def passed(entry: Mapping[str, Any]) -> str:
    """Return how many records met a threshold, and the threshold; empty without one."""
    outcomes = entry["outcomes"] or {}
    if not outcomes:
        return ""
    of = f"(min {percent(entry['threshold'])})" if "threshold" in entry else f"of {number(sum(outcomes.values()))}"
    return f"{number(outcomes.get('PASSED', 0))} {of}"


# ---- of a record


def columns_of_record(
    metric: type[Metric], scores: Mapping[str, Mapping[str, Any]], look: Look, *, full: bool
) -> RenderableType:
    """Return the values, their range if units are unjudged, the reasons for missing ones and, in full, a legend."""
    rows, drawn = _found(metric, scores), _table_of(metric)
    told = [_told(found, drawn.rows[row]) for row, found in rows.items()]
    wide = max(map(len, rows), default=0) + sum(len(title) + 2 for title in drawn.titles) + 2
    beside = all(4 + wide + len(text) <= look.width - 2 for text in told)
    columns = [Column("", list(rows))]
    for side, title in enumerate(drawn.titles):
        values = [percent(found[side]["value"]) if side < len(found) else "" for found in rows.values()]
        columns.append(Column(title, values, right=True))
    if beside:
        columns.append(Column("", told, style="quiet"))
    notes = [] if beside else [f"{row}: {text}" for row, text in zip(rows, told, strict=True) if text]
    notes += [f"{', '.join(names)}: {flat(why)}" for why, names in _reasons(drawn, rows).items()]
    signature = next((found[-1]["signature"] for found in rows.values()), "")
    notes += [_legend(metric, signature)] if full else []
    return Group(table(columns), *(Prose(line, "quiet") for line in notes))


def _told(found: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    ends = ", ".join(filter(None, (possible(score["value"], score["low"], score["high"]) for score in found)))
    told = [f"could be {ends}% if all units were judged"] if ends else []
    outcomes = [score["outcome"].lower() if score["outcome"] else "" for score in found]
    if len(set(outcomes)) == 1:
        told += outcomes[:1] if outcomes[0] else []
    else:
        told += [f"{name} {outcome}" for name, outcome in zip(names, outcomes, strict=True) if outcome]
    return DOT.join(told)


def _reasons(drawn: ScoreTable, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[str]]:
    """Return why columns have no value, with their names; a reason for a whole row is listed under the row's name."""
    found: dict[str, str | None] = {}
    for row, scores in rows.items():
        why = [score["reason"] if score["value"] is None else None for score in scores]
        found |= {row: why[0]} if len(set(why)) == 1 else dict(zip(drawn.rows[row], why, strict=True))
    return grouped((name, reason) for name, reason in found.items() if reason is not None)


def methods_block(methods: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """Return both values in percent, the difference in points with its interval, and its interpretation."""
    titled = {
        "ordinary": [percent(found["plain"], found.get("records", 1)) for found in methods.values()],
        "nuggets": [percent(found["nuggetized"], found.get("records", 1)) for found in methods.values()],
        "points": [signed(found["difference"], found.get("interval")) for found in methods.values()],
        "95% CI": [
            " to ".join(signed(end, ends) for end in ends) if (ends := found.get("interval")) else ""
            for found in methods.values()
        ],
        "records": [number(found["records"]) if "records" in found else "" for found in methods.values()],
    }
    said = [Prose(f"{aspect}: {flat(found['interpretation'])}") for aspect, found in methods.items()]
    return section("Ordinary and nugget scores", _fitted(methods, titled, ("records", "95% CI")), *said)


def _fitted(names: Iterable[str], titled: Mapping[str, Sequence[str]], drops: Sequence[str]) -> Fitted:
    """Return the names and the columns beside them; ``drops`` are the first to go, in this order."""
    columns = [
        Column(title, cells, right=True, drop=drops.index(title) + 1 if title in drops else 0)
        for title, cells in titled.items()
        if any(cells)
    ]
    return Fitted([Column("", list(names)), *columns])


# ---- repeats


def repeats_block(entries: Mapping[str, Mapping[str, Any]]) -> RenderableType | None:
    """Return the mean, spread, spread per record and flips of each repeated metric; None without repeats.

    They cover the records with a score every time, which are counted if they are fewer than those with a score.
    """
    found = {name: entry["repeats"] for name, entry in entries.items() if entry.get("repeats")}
    if not found:
        return None
    titled = {
        "mean": [percent(one["mean"], one["records"]) for one in found.values()],
        "spread": [_points(one["spread"]) for one in found.values()],
        "per record": [_points(one["record_spread"]) for one in found.values()],
        "flips": [_flips(one) for one in found.values()],
        "records": [
            f"{number(one['records'])} of {number(scored)}"
            if one["records"] < (scored := entries[name]["scored"])
            else ""
            for name, one in found.items()
        ],
    }
    columns = _fitted(found, titled, ("per record", "mean", "spread"))
    times = next(iter(found.values()))["times"]
    said = (
        "mean: over all repeats (other tables use the first); spread: standard deviation over the repeats, in points; "
        "flips: units whose label changed between repeats"
    )
    return section(f"Asked {times} times", indented(columns), indented(Prose(said, "quiet")))


def _points(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _flips(one: Mapping[str, Any]) -> str:
    if not one["units"]:
        return "-"
    return f"{number(one['flips'])} of {number(one['units'])} ({percent(one['flip_rate'], one['units'])})"

"""Plain tables, and the scores of a metric of several columns as rows of two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.metrics import column_of, of_score
from ragstone.metrics.base import Metric
from ragstone.metrics.nugget_recall import NuggetRecall
from ragstone.metrics.words import ScoreTable
from ragstone.render.terminal.screen import Look, prose
from ragstone.render.text import NBSP, between, flat, number, percent
from ragstone.stats.points import points

RECALL: Final = NuggetRecall


def columns_of(score: str) -> type[Metric] | None:
    """The metric that a score is a column of, if it is one and its metric says how they are drawn."""
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
    """By row what there is of its columns; rows of which a column is missing are left out."""
    names = {row: [f"{metric.name}.{column}" for column in columns] for row, columns in _table_of(metric).rows.items()}
    return {row: [entries[name] for name in own] for row, own in names.items() if all(name in entries for name in own)}


# ---- of a run


def columns_of_run(metric: type[Metric], entries: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """Means with their intervals, how many records have one; intervals and possible means where there is room."""
    rows, drawn = _found(metric, entries), _table_of(metric)
    table: dict[str, list[str]] = {metric.name: [f"  {row}" for row in rows]}
    intervals = []
    for side, title in enumerate(drawn.titles):
        sides = [found[side] if side < len(found) else None for found in rows.values()]
        table[title] = [_mean(entry) if entry else "" for entry in sides]
        intervals.append(f"95 %{NBSP * side}")  # two columns of one name
        table[intervals[-1]] = [_interval(entry, look) if entry else "" for entry in sides]
    table["scored"] = [_scored(found) for found in rows.values()]
    possible = {row: _possible_means(found, look) for row, found in rows.items()}
    table["could be"] = list(possible.values())
    if not any(possible.values()):
        del table["could be"]
    below: list[str] = []
    if width_of(table) > look.width and "could be" in table:
        del table["could be"]
        below += [f"{row} could be {ends} % counting unjudged units" for row, ends in possible.items() if ends]
    if width_of(table) > look.width or not any(any(table[title]) for title in intervals):
        for title in intervals:
            del table[title]
    if width_of(table) > look.width:
        scored = table.pop("scored")
        below += [f"{', '.join(names)}: {told} scored" for told, names in _alike(rows, scored).items()]
    below += [
        f"{metric.name}.{name}: {_passed(entry)} passed"
        for row, found in rows.items()
        for name, entry in zip(drawn.rows[row], found, strict=True)
        if entry["outcomes"]
    ]
    signature = next((found[-1]["signature"] for found in rows.values()), "")
    notes = [prose(line, look, "quiet") for line in [*below, _legend(metric, signature)]]
    styles = ["quiet" if mean == "-" else "" for mean in table[drawn.titles[0]]]
    return Group(table_of(table, styles), *notes)


def table_of(cells: Mapping[str, Sequence[str | Text]], styles: Sequence[str] = ()) -> Table:
    """Cells under their titles, the first column to the left; blanks that do not break tell equal titles apart."""
    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    for at, title in enumerate(cells):
        plain = Text(title.rstrip(NBSP), style="" if title and not at else "quiet")
        drawn.add_column(plain, no_wrap=True, justify="right" if at else "left")
    for at, row in enumerate(zip(*cells.values(), strict=True)):
        drawn.add_row(*row, style=styles[at] if styles else "")
    return drawn


def width_of(cells: Mapping[str, Sequence[str | Text]]) -> int:
    """Terminal columns of a table, with the gap after each of its own."""
    return sum(max(len(cell) for cell in (title.rstrip(NBSP), *column)) + 2 for title, column in cells.items())


def _alike(rows: Iterable[str], told: Iterable[str]) -> dict[str, list[str]]:
    """Texts about rows, each once with its rows."""
    found: dict[str, list[str]] = {}
    for row, text in zip(rows, told, strict=True):
        found.setdefault(text, []).append(row)
    return found


def _mean(entry: Mapping[str, Any]) -> str:
    return percent(entry["mean"], entry["scored"]).replace(NBSP, " ")


def _interval(entry: Mapping[str, Any], look: Look) -> str:
    if not entry["interval"]:
        return ""
    low, high = entry["interval"]
    return between(low, high, entry["scored"], look.dash)


def _scored(found: Sequence[Mapping[str, Any]]) -> str:
    counts = ", ".join(dict.fromkeys(number(entry["scored"]) for entry in found))
    return f"{counts} of {number(found[0]['total'])}"


def _passed(entry: Mapping[str, Any]) -> str:
    return f"{number(entry['outcomes'].get('PASSED', 0))} of {number(sum(entry['outcomes'].values()))}"


def _possible_means(found: Sequence[Mapping[str, Any]], look: Look) -> str:
    ends = [
        "" if entry["mean"] is None else _ends(entry["low"], entry["high"], entry["scored"], look) for entry in found
    ]
    return ", ".join(end for end in ends if end)


def _ends(low: float | None, high: float | None, count: int, look: Look) -> str:
    if low is None or high is None or points(low, count) == points(high, count):
        return ""
    return between(low, high, count, look.dash)


# ---- of a record


def columns_of_record(metric: type[Metric], scores: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """The values, what they could be with what is unjudged, and why one is missing, each reason once."""
    rows, drawn = _found(metric, scores), _table_of(metric)
    told = [_told(found, drawn.rows[row], look) for row, found in rows.items()]
    wide = max(map(len, rows), default=0) + sum(len(title) + 2 for title in drawn.titles) + 2
    beside = all(4 + wide + len(text) <= look.width - 2 for text in told)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    table.add_column("", no_wrap=True)
    for title in drawn.titles:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for (row, found), text in zip(rows.items(), told, strict=True):
        values = [percent(score["value"]).replace(NBSP, " ") for score in found]
        values += [""] * (len(drawn.titles) - len(values))
        table.add_row(row, *values, Text(text if beside else "", style="quiet"))
    notes = [] if beside else [f"{row}: {text}" for row, text in zip(rows, told, strict=True) if text]
    notes += [f"{', '.join(names)}: {flat(why)}" for why, names in _reasons(drawn, rows).items()]
    signature = next((found[-1]["signature"] for found in rows.values()), "")
    return Group(table, *(prose(line, look, "quiet", indent=4) for line in [*notes, _legend(metric, signature)]))


def _told(found: Sequence[Mapping[str, Any]], names: Sequence[str], look: Look) -> str:
    ends = [_ends(score["low"], score["high"], 0, look) for score in found if score["value"] is not None]
    told = [f"could be {', '.join(end for end in ends if end)} % counting unjudged units"] if any(ends) else []
    outcomes = [score["outcome"].lower() if score["outcome"] else "" for score in found]
    if len(set(outcomes)) == 1:
        told += outcomes[:1] if outcomes[0] else []
    else:
        told += [f"{name} {outcome}" for name, outcome in zip(names, outcomes, strict=True) if outcome]
    return f" {look.dot} ".join(told)


def _reasons(drawn: ScoreTable, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[str]]:
    """Why columns have no value, with their names: the row's where it is so of all of the row."""
    found: dict[str, list[str]] = {}
    for row, scores in rows.items():
        why = [score["reason"] if score["value"] is None else None for score in scores]
        names = {row: why[0]} if len(set(why)) == 1 else dict(zip(drawn.rows[row], why, strict=True))
        for name, reason in names.items():
            if reason is not None:
                found.setdefault(reason, []).append(name)
    return found

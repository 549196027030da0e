"""The six columns of nugget recall as three lines of two: which nuggets count, and what partial support counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.metrics.nugget_recall import COLUMNS, NuggetRecall
from ragstone.report.terminal.screen import Look, prose
from ragstone.report.terminal.text import NBSP, between, flat, number, percent, points

NAME: Final = NuggetRecall.name
ROWS: Final[Mapping[str, tuple[str, str]]] = {
    "vital": ("strict_vital", "vital"),
    "all": ("strict_all", "all"),
    "weighted": ("weighted_strict", "weighted"),
}
"""Which nuggets count: the column in which support alone counts, and the one in which partial support counts half."""

LEGEND: Final = "strict: support alone counts; half: partial support counts half"
LEADING: Final = tuple(f"{NAME}.{column}" for column in ("strict_vital", "strict_all"))
"""The columns that a run is told by, the first that has a value: that of the TREC RAG track, and the next best."""


def is_column(metric: str) -> bool:
    """Whether a score is one of nugget recall."""
    return metric.startswith(f"{NAME}.")


def folded(names: Iterable[str]) -> list[str]:
    """Names of scores for a sentence: all columns of a metric as the metric, some of them behind its name."""
    found: dict[str, list[str]] = {}
    for name in names:
        metric, dot, column = name.partition(".")
        found.setdefault(metric, []).extend([column] if dot else [])
    every = {NAME: len(COLUMNS)}
    return [
        metric if not columns or len(columns) == every.get(metric) else f"{metric} ({', '.join(columns)})"
        for metric, columns in found.items()
    ]


# ---- of a run


def recall_of_run(entries: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """Means with their intervals, how many records have one; intervals and possible means where there is room."""
    pairs = {
        row: [entries[f"{NAME}.{column}"] for column in columns]
        for row, columns in ROWS.items()
        if all(f"{NAME}.{column}" in entries for column in columns)
    }
    columns: list[tuple[str, list[str]]] = [(NAME, [f"  {row}" for row in pairs])]
    for side, title in enumerate(("strict", "half")):
        columns.append((title, [_mean(pair[side]) for pair in pairs.values()]))
        columns.append(("95 %", [_interval(pair[side], look) for pair in pairs.values()]))
    columns.append(("scored", [_scored(pair[0]) for pair in pairs.values()]))
    possible = [_possible_means(pair, look) for pair in pairs.values()]
    if any(possible):
        columns.append(("could be", possible))
    below: list[Text] = []
    if _wide(columns) > look.width and any(possible):
        columns.pop()
        below = [
            Text(f"{row} could be {ends} % with what is unjudged", style="quiet")
            for row, ends in zip(pairs, possible, strict=True)
            if ends
        ]
    if _wide(columns) > look.width or not any(any(cells) for title, cells in columns if title == "95 %"):
        columns = [column for column in columns if column[0] != "95 %"]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    for title, _ in columns:
        table.add_column(Text(title, style="") if title == NAME else title, no_wrap=True,
                         justify="left" if title == NAME else "right")  # fmt: skip
    for cells in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*cells, style="quiet" if cells[1] == "-" else "")
    below += [
        Text(f"{NAME}.{column}: {_passed(pair[side])} passed", style="quiet")
        for row, pair in pairs.items()
        for side, column in enumerate(ROWS[row])
        if pair[side]["outcomes"]
    ]
    return Group(table, *below, prose(LEGEND, look, "quiet"))


def _wide(columns: Sequence[tuple[str, list[str]]]) -> int:
    return 2 + sum(max(len(cell) for cell in (title, *cells)) + 2 for title, cells in columns)


def _mean(entry: Mapping[str, Any]) -> str:
    return percent(entry["mean"], entry["scored"]).replace(NBSP, " ")


def _interval(entry: Mapping[str, Any], look: Look) -> str:
    if not entry["interval"]:
        return ""
    low, high = entry["interval"]
    return between(low, high, entry["scored"], look.dash)


def _scored(entry: Mapping[str, Any]) -> str:
    return f"{number(entry['scored'])} of {number(entry['total'])}"


def _passed(entry: Mapping[str, Any]) -> str:
    return f"{number(entry['outcomes'].get('PASSED', 0))} of {number(sum(entry['outcomes'].values()))}"


def _possible_means(pair: Sequence[Mapping[str, Any]], look: Look) -> str:
    ends = [
        "" if entry["mean"] is None else _ends(entry["low"], entry["high"], entry["scored"], look) for entry in pair
    ]
    return ", ".join(end for end in ends if end)


def _ends(low: float | None, high: float | None, count: int, look: Look) -> str:
    if low is None or high is None or points(low, count) == points(high, count):
        return ""
    return between(low, high, count, look.dash)


# ---- of a record


def recall_of_record(scores: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """The values, what they could be with what is unjudged, and why one is missing."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    table.add_column("", no_wrap=True)
    table.add_column("strict", justify="right", no_wrap=True)
    table.add_column("half", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for row, names in ROWS.items():
        pair = [score for name in names if (score := scores.get(f"{NAME}.{name}")) is not None]
        if len(pair) == len(names):
            values = [percent(score["value"]).replace(NBSP, " ") for score in pair]
            table.add_row(row, *values, Text(_told(pair, names, look), style="quiet"))
    return Group(table, prose(LEGEND, look, "quiet", indent=4))


def _told(pair: Sequence[Mapping[str, Any]], names: Sequence[str], look: Look) -> str:
    if pair[0]["value"] is None:
        return flat(pair[0]["reason"])
    ends = [_ends(score["low"], score["high"], 0, look) for score in pair]
    told = [f"could be {', '.join(end for end in ends if end)} % with what is unjudged"] if any(ends) else []
    told += [f"{name} {score['outcome'].lower()}" for score, name in zip(pair, names, strict=True) if score["outcome"]]
    return f" {look.dot} ".join(told)

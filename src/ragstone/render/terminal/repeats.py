"""How much came out otherwise when everything was asked again, as a few lines that any screen can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from ragstone.render.terminal.screen import Look, indented, prose, section
from ragstone.render.text import NBSP, number, percent, plural


def repeats_block(entries: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType | None:
    """For each metric of a run that was repeated: the mean of all times, its spread, that of a record, the flips."""
    found = {name: entry["repeats"] for name, entry in entries.items() if entry.get("repeats")}
    if not found:
        return None
    columns = [
        ("mean", [_mean(one) for one in found.values()]),
        ("spread", [_points(one["spread"]) for one in found.values()]),
        ("of a record", [_points(one["record_spread"]) for one in found.values()]),
        ("flips", [_flips(one) for one in found.values()]),
    ]
    names = max(map(len, found))
    while names + sum(2 + max(map(len, (title, *cells))) for title, cells in columns) > look.width - 4:
        columns.pop(2 if len(columns) > 3 else 0)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    table.add_column("", no_wrap=True)
    for title, _ in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for name, *cells in zip(found, *(cells for _, cells in columns), strict=True):
        table.add_row(name, *cells)
    times = next(iter(found.values()))["times"]
    said = "spread: standard deviation over the times, in points; flips: units whose label is not always the same"
    return section(f"Asked {times} times", indented(table), indented(prose(said, look, "quiet", 2)))


def repeats_line(repeats: Mapping[str, Any], look: Look) -> str:
    """One record's score: its values in the order they came, the spread, the flips."""
    values = f" {look.dot} ".join(percent(value) for value in repeats["values"])
    parts = [f"asked {len(repeats['values'])} times: {values}"]
    if repeats["spread"] is not None:
        parts.append(f"spread {_points(repeats['spread'])} points")
    if repeats["units"]:
        parts.append(f"{number(repeats['flips'])} of {plural(repeats['units'], 'unit')} flipped")
    if repeats["unmatched"]:
        parts.append(f"{plural(repeats['unmatched'], 'unit')} not judged every time")
    return ", ".join(parts)


def metrics_repeated(result: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The scores of a record that were asked for several times."""
    return [score for score in result["scores"] if score.get("repeats")]


def _mean(one: Mapping[str, Any]) -> str:
    return percent(one["mean"], one["records"]).replace(NBSP, " ")


def _points(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _flips(one: Mapping[str, Any]) -> str:
    if not one["units"]:
        return "-"
    return f"{number(one['flips'])} of {number(one['units'])} ({percent(one['flip_rate'], one['units'])})".replace(
        NBSP, " "
    )

"""Two small tables: the plain triad beside the nuggetized one, and the spread of scores asked several times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType

from ragstone.render.terminal.columns import table_of, width_of
from ragstone.render.terminal.screen import Look, indented, prose, section
from ragstone.render.text import NBSP, flat, number, percent
from ragstone.stats.points import signed


def methods_block(methods: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """Both values in percent, the difference in points with its interval, and what the difference means."""
    intervals = [_interval(found.get("interval")) for found in methods.values()]
    columns: dict[str, list[str]] = {
        "": list(methods),
        "plain": [_percent(found["plain"], found) for found in methods.values()],
        "nuggets": [_percent(found["nuggetized"], found) for found in methods.values()],
        "points": [signed(found["difference"]) for found in methods.values()],
        "95 %": intervals,
        "records": [number(found["records"]) if "records" in found else "" for found in methods.values()],
    }
    for title in ("95 %", "records"):
        if not any(columns[title]) or width_of(columns) > look.width:
            del columns[title]
    said = []
    for (aspect, found), interval in zip(methods.items(), intervals, strict=True):
        between = f" (95 %: {interval})" if interval and "95 %" not in columns else ""
        said.append(prose(f"{aspect}: {flat(found['interpretation'])}{between}", look))
    return section("Plain, and nugget by nugget", table_of(columns), *said)


def _percent(value: float | None, found: Mapping[str, Any]) -> str:
    return percent(value, found.get("records", 1)).replace(NBSP, " ")


def _interval(ends: tuple[float, float] | None) -> str:
    if not ends:
        return ""
    return f"{signed(ends[0])} to {signed(ends[1])}"


# ---- asked several times


def repeats_block(entries: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType | None:
    """Show for each repeated metric the mean, its spread, that of a record, and the flips."""
    found = {name: entry["repeats"] for name, entry in entries.items() if entry.get("repeats")}
    if not found:
        return None
    columns = {
        "": list(found),
        "mean": [_mean(one) for one in found.values()],
        "spread": [_points(one["spread"]) for one in found.values()],
        "of a record": [_points(one["record_spread"]) for one in found.values()],
        "flips": [_flips(one) for one in found.values()],
    }
    for title in ("of a record", "mean", "spread"):
        if width_of(columns) > look.width - 2:
            del columns[title]
    times = next(iter(found.values()))["times"]
    said = "spread: standard deviation over the times, in points; flips: units whose label is not always the same"
    return section(f"Asked {times} times", indented(table_of(columns)), indented(prose(said, look, "quiet", 2)))


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

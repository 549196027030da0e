"""Two small tables: the plain triad beside the nuggetized one, and the spread of scores asked several times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from ragstone.render.terminal.screen import Look, indented, prose, section
from ragstone.render.terminal.tables import Column, fitting, table
from ragstone.render.text import flat, number, percent
from ragstone.stats.points import signed


def methods_block(methods: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """Both values in percent, the difference in points with its interval, and what the difference means."""
    intervals = [
        " to ".join(map(signed, found["interval"])) if found.get("interval") else "" for found in methods.values()
    ]
    titled = {
        "plain": [percent(found["plain"], found.get("records", 1)) for found in methods.values()],
        "nuggets": [percent(found["nuggetized"], found.get("records", 1)) for found in methods.values()],
        "points": [signed(found["difference"]) for found in methods.values()],
        "95 %": intervals,
        "records": [number(found["records"]) if "records" in found else "" for found in methods.values()],
    }
    columns = _fitting(methods, titled, ("95 %", "records"), look.width - 2, look)
    said = []
    for (aspect, found), interval in zip(methods.items(), intervals, strict=True):
        between = f" (95 %: {interval})" if interval and all(column.title != "95 %" for column in columns) else ""
        said.append(prose(f"{aspect}: {flat(found['interpretation'])}{between}", look))
    return section("Plain, and nugget by nugget", table(columns), *said)


def _fitting(
    names: Iterable[str], titled: Mapping[str, Sequence[str]], drops: Sequence[str], room: int, look: Look
) -> list[Column]:
    """The columns beside the names, as many as there is room for; of ``drops`` the first goes first."""
    columns = [
        Column(title, cells, right=True, drop=drops.index(title) + 1 if title in drops else 0)
        for title, cells in titled.items()
        if any(cells)
    ]
    return fitting([Column("", list(names)), *columns], room, look)


# ---- asked several times


def repeats_block(entries: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType | None:
    """Show for each repeated metric the mean, its spread, that of a record, and the flips."""
    found = {name: entry["repeats"] for name, entry in entries.items() if entry.get("repeats")}
    if not found:
        return None
    titled = {
        "mean": [percent(one["mean"], one["records"]) for one in found.values()],
        "spread": [_points(one["spread"]) for one in found.values()],
        "of a record": [_points(one["record_spread"]) for one in found.values()],
        "flips": [_flips(one) for one in found.values()],
    }
    columns = _fitting(found, titled, ("of a record", "mean", "spread"), look.width - 4, look)
    times = next(iter(found.values()))["times"]
    said = "spread: standard deviation over the times, in points; flips: units whose label is not always the same"
    return section(f"Asked {times} times", indented(table(columns)), indented(prose(said, look, "quiet", 2)))


def _points(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _flips(one: Mapping[str, Any]) -> str:
    if not one["units"]:
        return "-"
    return f"{number(one['flips'])} of {number(one['units'])} ({percent(one['flip_rate'], one['units'])})"

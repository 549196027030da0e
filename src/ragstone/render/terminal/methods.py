"""The plain triad beside the nuggetized one, as a few lines that any screen can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from ragstone.render.terminal.screen import Look, prose, section
from ragstone.render.text import NBSP, flat, number, percent
from ragstone.stats.points import signed


def comparable(told: Mapping[str, Any]) -> bool:
    """Whether a result or a summary has anything by both methods."""
    return any(found["difference"] is not None for found in told.get("methods", {}).values())


def methods_block(methods: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """Both values in percent, the difference in points with its interval, and what the difference means."""
    columns = [
        ("plain", [_percent(found["plain"], found) for found in methods.values()]),
        ("nuggets", [_percent(found["nuggetized"], found) for found in methods.values()]),
        ("points", [signed(found["difference"]) for found in methods.values()]),
    ]
    intervals = [_interval(found.get("interval")) for found in methods.values()]
    if any(intervals):
        columns.append(("95 %", intervals))
    if any("records" in found for found in methods.values()):
        columns.append(("records", [number(found["records"]) for found in methods.values()]))
    while len(columns) > 3 and _wide(methods, columns) > look.width:
        columns.pop(3)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    table.add_column("", no_wrap=True)
    for title, _ in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for aspect, *cells in zip(methods, *(cells for _, cells in columns), strict=True):
        table.add_row(aspect, *cells)
    said = []
    for (aspect, found), interval in zip(methods.items(), intervals, strict=True):
        between = f" (95 %: {interval})" if interval and ("95 %", intervals) not in columns else ""
        said.append(prose(f"{aspect}: {flat(found['interpretation'])}{between}", look))
    return section("Plain, and nugget by nugget", table, *said)


def _wide(methods: Mapping[str, Any], columns: Sequence[tuple[str, list[str]]]) -> int:
    return 2 + max(map(len, methods)) + sum(2 + max(len(cell) for cell in (title, *cells)) for title, cells in columns)


def _percent(value: float | None, found: Mapping[str, Any]) -> str:
    return percent(value, found.get("records", 1)).replace(NBSP, " ")


def _interval(ends: tuple[float, float] | None) -> str:
    if not ends:
        return ""
    return f"{signed(ends[0])} to {signed(ends[1])}"

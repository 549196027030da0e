"""The stored calls: how many of whom, how large, how old, and what goes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.render.terminal.screen import Look, Page, facts, indented, page, prose, section
from ragstone.render.text import NBSP, flat, middle, moment, number, plural

SHORTEST: Final = 24
"""Columns of a judge's id for which others are left out."""
_STEPS = ("bytes", "kB", "MB", "GB", "TB")


def cache_page(told: Mapping[str, Any], look: Look) -> Page:
    """All of ``cache info``."""
    if not told["calls"]:
        return page(
            Text(f"{flat(told['store'])}: no calls are stored; {plural(told['runs'], 'run')}".replace(NBSP, " "))
        )
    rows: list[tuple[str, RenderableType]] = [
        ("Store", Text(f"{flat(told['store'])}, {size(told['bytes'])}", overflow="fold")),
        ("Runs", Text(number(told["runs"]))),
        ("Calls", Text(number(told["calls"]))),
        ("Oldest", Text(moment(told["oldest"]))),
        ("Newest", Text(moment(told["newest"]))),
        ("Unused", _unused(told, look)),
    ]
    if told["unused"]:
        rows.append(("Next", Text("ragstone cache prune --unused --dry-run")))
    return page(facts(rows, 7), section("Calls", indented(_table(told["groups"], look))))


def pruning_page(told: Mapping[str, Any], look: Look) -> Page:
    """What goes, or went."""
    groups = told["groups"]
    what = went(told)
    if not groups and not told["runs"]:
        lines = [Text("There is nothing to delete.")]
    elif not told["done"]:
        lines = [Text(f"{what[:1].upper()}{what[1:]} would be deleted.")]
    else:
        lines = [
            Text(f"{what[:1].upper()}{what[1:]} went: {size(told['bytes'])} before, {size(told['bytes_after'])} now.")
        ]
    if told.get("note"):
        lines.append(prose(flat(told["note"]), look, "quiet"))
    return page(*lines, section("Calls", indented(_table(groups, look))) if groups else None)


def went(told: Mapping[str, Any]) -> str:
    """The calls and runs in a few words."""
    parts = [f"{plural(told['calls'], 'call')} ({size(told['call_bytes'])})"] if told["calls"] else []
    if told["runs"]:
        parts.append(f"the results of {plural(len(told['runs']), 'run')}")
    return (" and ".join(parts) or "nothing").replace(NBSP, " ")


def size(count: int) -> str:
    """Bytes in the largest unit that leaves at least one of it, thousands to a step."""
    amount, step = float(count), 0
    while amount >= 999.5 and step < len(_STEPS) - 1:
        amount, step = amount / 1000, step + 1
    return f"{amount:.0f} {_STEPS[step]}" if amount >= 10 or not step else f"{amount:.1f} {_STEPS[step]}"


def _unused(told: Mapping[str, Any], look: Look) -> RenderableType:
    if not told["unused"]:
        return Text("none")
    words = f"{number(told['unused'])}, {size(told['unused_bytes'])}: no run uses them"
    return prose(words, look, indent=9)


def _table(groups: Sequence[Mapping[str, Any]], look: Look) -> Table:
    """The calls by judge, step and maker; a narrow terminal shows neither maker nor time."""
    columns = {
        "judge": [flat(group["judge"]) for group in groups],
        "step": [group["task"] for group in groups],
        "maker": [flat(group["maker"]) for group in groups],
        "calls": [number(group["calls"]) for group in groups],
        "size": [size(group["bytes"]) for group in groups],
        "newest": [moment(group["newest"]) for group in groups],
    }
    widths = {title: max(map(len, (title, *cells))) + 2 for title, cells in columns.items()}
    judge = min(widths.pop("judge"), SHORTEST)
    for title in ("maker", "newest"):
        if judge + sum(widths.values()) > look.width - 4:
            del widths[title]
    room = look.width - 6 - sum(widths.values())
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    for title in ("judge", *widths):
        style = "quiet" if title == "newest" else ""
        table.add_column(title, justify="right" if title in ("calls", "size") else "left", no_wrap=True, style=style)
    for cells in zip(*(columns[title] for title in ("judge", *widths)), strict=True):
        table.add_row(Text(middle(cells[0], room, look.ellipsis)), *cells[1:])
    return table

"""The stored calls: how many of whom, how large, how old, and what goes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.report.terminal.screen import Look, Page, facts, indented, page, prose, section
from ragstone.report.terminal.text import NBSP, flat, middle, moment, number, plural

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
        lines = [Text(f"{what[:1].upper()}{what[1:]} would go.")]
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
    words = f"{number(told['unused'])}, {size(told['unused_bytes'])}: no result of a run stands on them"
    return prose(words, look, indent=9)


def _table(groups: Sequence[Mapping[str, Any]], look: Look) -> Table:
    """The calls by judge, step and maker; a narrow terminal shows no maker."""
    names = [flat(group["judge"]) for group in groups]
    makers = [flat(group["maker"]) for group in groups]
    fixed = max(map(len, (group["task"] for group in groups))) + 8 + 9 + 12 + 10
    room = look.width - 4 - fixed
    wide = room >= 16 + max(map(len, makers))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    for title in ("judge", "step", *(("maker",) if wide else ())):
        table.add_column(title, no_wrap=True)
    for title in ("calls", "size"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("newest", no_wrap=True)
    left = max(12, room - (max(map(len, makers)) + 2 if wide else 0))
    for group, name, maker in zip(groups, names, makers, strict=True):
        cells = [middle(name, left, look.ellipsis), group["task"], *((maker,) if wide else ())]
        table.add_row(
            *cells, number(group["calls"]), size(group["bytes"]), Text(moment(group["newest"]), style="quiet")
        )
    return table

"""The screens of ``ragstone cache``: the stored calls by judge, and what pruning deletes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from ragstone.render.terminal.screen import Look, Page, facts, indented, page, prose, section
from ragstone.render.terminal.tables import Column, fitting, table
from ragstone.render.text import NBSP, flat, moment, number, plural, size


def cache_page(told: Mapping[str, Any], look: Look) -> Page:
    """All of ``cache info``."""
    if not told["calls"]:
        return page(Text(f"{flat(told['store'])}: no calls are stored; {plural(told['runs'], 'run')}"))
    unused = f"{number(told['unused'])}, {size(told['unused_bytes'])}: no run uses them" if told["unused"] else "none"
    rows: list[tuple[str, RenderableType]] = [
        ("Store", f"{told['store']}, {size(told['bytes'])}"),
        ("Runs", number(told["runs"])),
        ("Calls", number(told["calls"])),
        ("Oldest", moment(told["oldest"])),
        ("Newest", moment(told["newest"])),
        ("Unused", unused),
    ]
    if told["unused"]:
        rows.append(("Next", "ragstone cache prune --unused --dry-run"))
    return page(facts(rows, 7), _groups(told["groups"], look))


def pruning_page(told: Mapping[str, Any], look: Look) -> Page:
    """Show the calls that were deleted, or would be."""
    what = went(told)
    what = what[:1].upper() + what[1:]
    if not told["groups"] and not told["runs"]:
        said = "Nothing to delete."
    elif not told["done"]:
        said = f"{what} would be deleted."
    else:
        said = f"{what} deleted: {size(told['bytes'])} before, {size(told['bytes_after'])} now."
    note = prose(flat(told["note"]), look, "quiet") if told.get("note") else None
    return page(Text(said), note, _groups(told["groups"], look) if told["groups"] else None)


def went(told: Mapping[str, Any]) -> str:
    """The calls and runs that pruning deletes, in a few words."""
    parts = [f"{plural(told['calls'], 'call')} ({size(told['call_bytes'])})"] if told["calls"] else []
    if told["runs"]:
        parts.append(f"the results of {plural(len(told['runs']), 'run')}")
    return (" and ".join(parts) or "nothing").replace(NBSP, " ")


def _groups(groups: Sequence[Mapping[str, Any]], look: Look) -> RenderableType:
    """The calls by judge, step and what made them."""
    columns = [
        Column("judge", [flat(group["judge"]) for group in groups], least=20),
        Column("step", [group["task"] for group in groups]),
        Column("version", [flat(group["maker"]) for group in groups], drop=1),
        Column("calls", [number(group["calls"]) for group in groups], right=True),
        Column("size", [size(group["bytes"]) for group in groups], right=True, drop=3),
        Column("newest", [moment(group["newest"]) for group in groups], drop=2, style="quiet"),
    ]
    return section("Calls", indented(table(fitting(columns, look.width - 4, look))))

"""What is said of a page: where it was written, or where it is served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ragstone.render.terminal.calls import size
from ragstone.render.terminal.screen import Look, Page, facts, page
from ragstone.render.text import flat, plural


def report_written(told: Mapping[str, Any], look: Look) -> Page:
    """A file that was written."""
    what = f"{plural(told['records'], 'record')} of run {told['run']} {look.dot} {size(told['bytes'])}"
    return page(
        facts([("Report", Text(flat(told["written"]), overflow="fold")), ("", Text(what.replace("\u00a0", " ")))])
    )


def serving(address: str, name: str, run: int, look: Look) -> Page:
    """A server that is about to answer."""
    rows = [
        ("Page", Text(address, style="head")),
        ("", Text(f"{flat(name)} {look.dot} run {run} {look.dot} on this machine alone", overflow="fold")),
        ("End", Text("Ctrl-C")),
    ]
    return page(facts(rows))

"""What came of creating banks, and of assigning them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.analysis.run import Run
from ragstone.metrics.words import Labels
from ragstone.render.facts import RunFacts
from ragstone.render.terminal.columns import RECALL, columns_of, columns_of_run
from ragstone.render.terminal.methods import repeats_block
from ragstone.render.terminal.outcome import Place, bill_rows, facts_block, judge_rows, missing_block, title_line
from ragstone.render.terminal.screen import Look, Page, facts, indented, page, prose, section, to_paste
from ragstone.render.text import NBSP, flat, middle, number, percent, plural
from ragstone.render.wording import embedded_among, words_of

GRADES: Final[Mapping[str, str]] = {"support": "yes", "partial_support": "partly", "not_support": "no"}
"""Assignments, and the kind of verdict that each is."""


# ---- created


def created_page(told: Mapping[str, Any], name: str, judges: Sequence[str], look: Look) -> Page:
    """Topics and nuggets, what is missing and why, what it cost, where the banks are, what to do with them.

    ``told`` is what ``nuggets create --json`` prints.
    """
    topics, nuggets = told["topics"], told["nuggets"]
    counts = plural(topics, "topic").replace(NBSP, " ")
    title = Text.assemble((middle(flat(name), look.width - 20, look.ellipsis), "head"), "  ", (counts, "quiet"))
    said = f"{plural(nuggets, 'nugget')} for {plural(topics, 'topic')}: {_importances(told)}." if topics else ""
    rows = [*judge_rows(judges, judges, embedded_among(judges, {}), look), *bill_rows(told["bill"], look)]
    if told["file"]:
        rows.append(("File", Text(flat(told["file"]), overflow="fold")))
    if topics:
        bank = told["file"] or "bank.jsonl"
        following = f"ragstone nuggets assign ANSWERS --nuggets {shlex.quote(bank)}"
        rows.append(("Next", to_paste(following, look)))
    return page(title, prose(said or "No bank could be created.", look), _without(told, look), facts(rows))


def _importances(told: Mapping[str, Any]) -> str:
    parts = [f"{number(told[name])} {name}" for name in ("vital", "okay")]
    return ", ".join([*parts, *([f"{number(told['unweighed'])} of unknown importance"] if told["unweighed"] else [])])


def _without(told: Mapping[str, Any], look: Look) -> RenderableType | None:
    rows = [(count, f"no bank: {reason or 'no reason given'}") for reason, count in told["without"].items()]
    rows.sort(key=lambda row: -row[0])
    for name, words in (
        ("partial", "incomplete: the judge did not answer for some of the passages"),
        ("repeated", "a topic that came before: its bank is made from the first record of it"),
        ("set_aside", "could not be read"),
    ):
        if told[name]:
            rows.append((told[name], words))
    if not rows:
        return None
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    wide = max(len(number(count)) for count, _ in rows)
    for count, words in rows:
        table.add_row(number(count), prose(flat(words), look, indent=4 + wide))
    return section("Without a bank, incomplete, or passed over", indented(table))


# ---- assigned


@dataclass(frozen=True, slots=True)
class Assigned:
    """What was written of assignments: responses, nuggets by grade, those that stayed unjudged, and where to."""

    responses: int
    grades: Mapping[str, int]
    unjudged: int
    file: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def assigned_page(run: Run, assigned: Assigned, look: Look, place: Place) -> Page:
    """How many nuggets were assigned and how, what that means for recall, where it lies, what to do next."""
    told = RunFacts.of(run)
    summary = told.summary
    count = sum(assigned.grades.values())
    said = f"{plural(count, 'nugget')} assigned in {plural(assigned.responses, 'response')}"
    if assigned.unjudged:
        said += f", {number(assigned.unjudged)} unjudged"
    first = RECALL.score_names()[0]
    columns = {name: entry for name, entry in summary["metrics"].items() if columns_of(name) is RECALL}
    return page(
        title_line(told, look),
        prose(f"{said}.", look),
        _grades(assigned, words_of(first, columns[first]["signature"]).labels, look) if count else None,
        columns_of_run(RECALL, columns, look) if count else None,
        repeats_block(columns, look) if count else None,
        missing_block(told, look),
        facts_block(told, place, _next(told, assigned, place), look),
    )


def _next(told: RunFacts, assigned: Assigned, place: Place) -> list[str]:
    run = told.run
    if not any(assigned.grades.values()):
        return [told.next_command(place.options)]
    if assigned.file:
        scored = ["ragstone", "nuggets", "score", assigned.file]
    else:
        scored = ["ragstone", "export", str(run.id), "--format", "assignments", *place.options]
    return [shlex.join(scored), shlex.join(["ragstone", "show", str(run.id), *place.options])]


def _grades(assigned: Assigned, words: Labels, look: Look) -> RenderableType:
    count = sum(assigned.grades.values())
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=1)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for grade, kind in GRADES.items():
        if grade in assigned.grades:
            share = percent(assigned.grades[grade] / count, count).replace(NBSP, " ")
            table.add_row(look.mark(kind), number(assigned.grades[grade]), share, Text(words[kind]))
    return indented(table)

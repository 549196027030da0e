"""Draw the screens of ``ragstone nuggets create`` and ``ragstone nuggets assign``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from rich.console import RenderableType

from ragstone.analysis.run import Run
from ragstone.metrics.words import Labels
from ragstone.render.facts import RunFacts, show_command
from ragstone.render.terminal.columns import RECALL, columns_of, columns_of_run, repeats_block
from ragstone.render.terminal.outcome import Place, bill_rows, facts_block, judge_rows, missing_block, title_line
from ragstone.render.terminal.screen import (
    Command,
    Look,
    Page,
    Prose,
    facts,
    heading,
    indented,
    page,
    section,
    told_rows,
)
from ragstone.render.terminal.tables import grid
from ragstone.render.text import flat, number, percent, plural
from ragstone.render.wording import embedded_among, words_of

GRADES: Final[Mapping[str, str]] = {"support": "yes", "partial_support": "partly", "not_support": "no"}
"""The kind of verdict for each assignment."""
RULES: Final = (
    "Rules extracted these nuggets: some may be headings, some facts may be missing. Check the bank before use."
)


# ---- created


def created_page(told: Mapping[str, Any], name: str, judges: Sequence[str], look: Look) -> Page:
    """Return the screen of created banks: topics, nuggets, missing banks with reasons, cost, file, next command.

    ``told`` is the output of ``nuggets create --json``.
    """
    topics = plural(told["topics"], "topic")
    said = "No bank could be created."
    if told["topics"]:
        parts = [f"{number(told[name])} {name}" for name in ("vital", "okay")]
        parts += [f"{number(told['without_importance'])} of unknown importance"] if told["without_importance"] else []
        said = f"{plural(told['nuggets'], 'nugget')} for {topics}: {', '.join(parts)}."
        said += f" --keep and --max left out {number(told['left_out'])} more." if told["left_out"] else ""
    embedded = embedded_among(judges, {})
    rows = judge_rows(judges, judges, embedded)
    rows += told_rows("", [RULES] if embedded else [], "quiet") + bill_rows(told["bill"])
    if told["file"]:
        rows.append(("File", told["file"]))
    if told["topics"]:
        bank = shlex.quote(told["file"] or "bank.jsonl")
        rows.append(("Next", Command(f"ragstone nuggets assign ANSWERS --nuggets {bank}")))
    return page(heading(name, look, topics), Prose(said), _without(told), facts(rows))


def _without(told: Mapping[str, Any]) -> RenderableType | None:
    rows = [(count, f"no bank: {flat(reason) or 'no reason given'}") for reason, count in told["without"].items()]
    rows.sort(key=lambda row: -row[0])
    rows += [
        (told[name], words)
        for name, words in (
            ("partial", "incomplete: the judge did not answer for some of the passages"),
            ("repeated", "repeated topics: only the first record of each is used"),
            ("set_aside", "unreadable"),
        )
        if told[name]
    ]
    drawn = grid([(number(count), words) for count, words in rows], ">~")
    return section("Topics without a complete bank", indented(drawn)) if rows else None


# ---- assigned


class Assigned(Struct, frozen=True):
    """Counts of the written assignments: responses, nuggets by grade, and unjudged nuggets; and the file."""

    responses: int
    grades: Mapping[str, int]
    unjudged: int
    file: str = ""


def assigned_page(run: Run, assigned: Assigned, look: Look, place: Place) -> Page:
    """Return the screen of assigned nuggets: counts by label, recall, location of the results, next command."""
    told = RunFacts(run)
    summary = told.summary
    count = sum(assigned.grades.values())
    said = f"{plural(count, 'nugget label')} assigned in {plural(assigned.responses, 'response')}"
    if assigned.unjudged:
        said += f", {number(assigned.unjudged)} unjudged"
    first = RECALL.score_names()[0]
    columns = {name: entry for name, entry in summary["metrics"].items() if columns_of(name) is RECALL}
    return page(
        title_line(told, look),
        Prose(f"{said}."),
        _grades(assigned, words_of(first, columns[first]["signature"]).labels, look) if count else None,
        columns_of_run(RECALL, columns) if count else None,
        repeats_block(columns) if count else None,
        missing_block(told, look),
        facts_block(told, place, _next(told, assigned, place)),
    )


def _next(told: RunFacts, assigned: Assigned, place: Place) -> list[str]:
    run = told.run
    if not any(assigned.grades.values()):
        return [told.next_command(place.options)]
    if assigned.file:
        scored = ["ragstone", "nuggets", "score", assigned.file]
    else:
        scored = ["ragstone", "export", str(run.id), "--format", "assignments", *place.options]
    return [shlex.join(scored), show_command(run, place.options)]


def _grades(assigned: Assigned, words: Labels, look: Look) -> RenderableType:
    count = sum(assigned.grades.values())
    rows = [
        (look.mark(kind), number(assigned.grades[grade]), percent(assigned.grades[grade] / count, count), words[kind])
        for grade, kind in GRADES.items()
        if grade in assigned.grades
    ]
    return indented(grid(rows, "<>>~"))

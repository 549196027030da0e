"""A run on one screen: one sentence, its metrics, missing scores, the lowest records, judges, cost and what next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.analysis.run import Run, main_scores
from ragstone.analysis.run_files import ABOUT, PARTIAL, REPORT, RESULTS, ZSTD
from ragstone.records.object_stores import is_address
from ragstone.render.facts import (
    Low,
    RunFacts,
    calls_said,
    comparable,
    cost_said,
    possible_mean,
)
from ragstone.render.terminal.columns import columns_of, columns_of_run, interval, methods_block, passed, repeats_block
from ragstone.render.terminal.screen import (
    Command,
    Look,
    Page,
    Prose,
    Row,
    facts,
    heading,
    indented,
    labelled,
    page,
    section,
    told_rows,
)
from ragstone.render.terminal.tables import Column, beside, fitting, grid, table, unit_lines, used
from ragstone.render.text import NBSP, duration, flat, number, percent, plural, shorten
from ragstone.render.wording import in_words, kind_of

MOST_CAUSES: Final = 8
REASONS: Final = 3
"""As many reasons why a metric was left out are told with the results."""


@dataclass(frozen=True, slots=True)
class Place:
    """The places of results: a folder, a file of lines, a page, if any; ``options`` find the store again.

    ``failed`` is the file, or the folder, that could not be written, if any. ``quiet`` leaves out what judges are like.
    ``source`` is the input as it was typed, if known.
    """

    folder: str = ""
    cases: bool = False
    options: Sequence[str] = ()
    lines: str = ""
    report: bool = False
    comparison: str = ""
    failed: str = ""
    quiet: bool = False
    source: str = ""


def outcome(run: Run, look: Look, place: Place | None = None, *, full: bool = False) -> Page:
    """The whole result of a run; ``full``: with all records that fall short, and all that they fall short in."""
    told = RunFacts(run)
    place = place or Place()
    metrics = told.summary["metrics"]
    return page(
        title_line(told, look),
        Prose(told.said),
        *_tables({name: metrics[name] for name in main_scores(run.spec, metrics)}, look),
        repeats_block(metrics, look),
        methods_block(told.summary["methods"], look) if comparable(told.summary) else None,
        missing_block(told, look),
        _worst(told, look, full=full),
        facts_block(told, place, [told.next_command(place.options)]),
    )


def title_line(told: RunFacts, look: Look) -> Text:
    """The run's name, its number, how many records it has, and how it ended if it did not end well."""
    run = told.run
    parts = [f"run {run.id}", plural(told.summary["records"], "record")]
    parts += [told.part] if told.part else []
    if run.status != "done":
        parts.append(run.status)
    return heading(run.name, look, *parts)


# ---- the metrics


def _tables(entries: Mapping[str, Mapping[str, Any]], look: Look) -> list[RenderableType]:
    """The table of all metrics; one whose columns are all listed has a table of its own, unless it has no value."""
    plain: dict[str, Mapping[str, Any]] = {}
    tables: list[RenderableType] = []
    for name, entry in entries.items():
        metric = columns_of(name)
        found = {other: entries[other] for other in entries if metric and columns_of(other) is metric}
        if metric is None or len(found) < len(metric.columns):
            plain[name] = entry
        elif name == metric.score_names()[0]:
            if all(one["mean"] is None for one in found.values()):
                plain[metric.name] = entry
            else:
                tables.append(columns_of_run(metric, found, look))
    return [metric_table(plain, look), *tables] if plain else tables


def metric_table(entries: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """Mean, interval, how many are scored, what the mean could be, thresholds: columns only where they say something.

    What a narrow terminal has no room for is said below the table.
    """
    told = entries.values()
    columns = [
        Column("", list(entries)),
        Column("mean", [percent(entry["mean"], entry["scored"]) for entry in told], right=True),
        Column("95% CI", [interval(entry) for entry in told], right=True),
        Column("scored", [f"{number(entry['scored'])} of {number(entry['total'])}" for entry in told], right=True),
        Column("could be", [possible_mean(entry) for entry in told], right=True, drop=2),
        Column("passed", [passed(entry) for entry in told], right=True, drop=1),
    ]
    shown = fitting([column for column in columns if any(column.cells) or not column.drop], look.width - 4, look)
    below = [
        Text(
            f"{name} could be {cell}% if all units were judged" if column.drop == 2 else f"{name}: {cell} passed",
            "quiet",
        )
        for column in columns
        if column not in shown
        for name, cell in zip(entries, column.cells, strict=True)
        if cell
    ]
    room = min(25, look.width - used(shown) - 6) // 2 * 2 + 1
    if room >= 11:
        shown.insert(3, Column("", [_whisker(entry, look, room) for entry in told], right=True))
    drawn = table(shown, ["quiet" if entry["mean"] is None else "" for entry in told])
    return Group(drawn, *below) if below else drawn


def _whisker(entry: Mapping[str, Any], look: Look, cells: int) -> Text:
    if entry["mean"] is None:
        return Text("")
    return look.whisker(entry["mean"], tuple(entry["interval"]) if entry["interval"] else None, cells)


# ---- missing scores, lowest records


def missing_block(told: RunFacts, look: Look) -> RenderableType | None:
    """List missing scores with reasons; None if there are none."""
    if not told.missing:
        return None
    rows: list[tuple[str, Text]] = []
    for cause in told.missing[:MOST_CAUSES]:
        reason = f" ({shorten(cause.reason, 2 * look.width, look.ellipsis)})" if cause.reason else ""
        line = Text(f"{cause.status}{reason}: ").append(cause.lacking, style="quiet")
        rows.append((plural(cause.count, "record"), line))
    if len(told.missing) > MOST_CAUSES:
        rows.append(("", Text(f"and {plural(len(told.missing) - MOST_CAUSES, 'more cause')}", style="quiet")))
    return section("Missing or partial scores", indented(grid(rows, ">~")))


def _worst(told: RunFacts, look: Look, *, full: bool) -> RenderableType | None:
    room = look.width - 4 - 7
    lowest = told.lowest(told.summary["records"] if full else 5)
    rows = [(percent(low.score["value"]), _worst_record(low, look, room, full=full)) for low in lowest]
    return section(f"Lowest {told.ranked}", indented(grid(rows, "><"))) if rows else None


def _worst_record(low: Low, look: Look, room: int, *, full: bool) -> Group:
    lines = beside(flat(low.result["id"]), low.shortfall, look, room)
    for verdict, text in low.units if full else low.units[:1]:
        reason = in_words(low.result, verdict["reason"] or "")
        lines += unit_lines(look.mark(kind_of(verdict)), text, reason, look, room, full=full)
    return Group(*lines)


# ---- who, how much, where, what next


def facts_block(told: RunFacts, place: Place, following: Sequence[str]) -> Table:
    """The judges, the calls, the cost, what was left out, where everything lies, and the commands to go on with."""
    run, summary = told.run, told.summary
    rows = judge_rows(told.judged_by, told.judges, "" if place.quiet else told.embedded)
    rows += told_rows("Agreement", [line for one in told.agreement for line in one.lines])
    rows += told_rows("", told.notes, "quiet")
    for answered, sureness, saved in told.cascades:
        rows += [*told_rows("Cascade", [answered]), *told_rows("", [sureness], "quiet")]
        rows += told_rows("Saved", [saved])
    rows += told_rows("Quotes", [told.quotes] if told.quotes else [], "quiet")
    if summary.get("bill"):
        rows += bill_rows(summary["bill"])
    if summary.get("taken_over"):
        words = f"{plural(summary['taken_over'], 'result')} from run {run.spec['only_failed']}"
        rows += told_rows("Reused", [words])
    rows += told_rows("Estimated", [told.estimated] if told.estimated else [], "quiet")
    rows += told_rows("Time", [told.time] if told.time else [])
    rows += told_rows("Skipped", _left_out(told.left_out, place.source), "quiet")
    if place.folder:
        rows += _files(run, place)
    if place.lines:
        rows.append(("File", Text(flat(place.lines), overflow="fold")))
    rows.append(("Store", Text(f"{flat(run.store.path)}, run {run.id}", overflow="fold")))
    if summary.get("stopped"):
        rows += told_rows("Stopped", [flat(summary["stopped"])])
    if run.status != "done":
        rows += told_rows("Resume", ["run the same command; stored replies are free"])
    rows += labelled("Next", [Command(command) for command in following])
    return facts(rows)


def judge_rows(judged_by: Iterable[str], judges: Sequence[str], embedded: str) -> list[Row]:
    """The judges, and the reliability of the embedded judge if it is one."""
    rows = labelled("Judge", [Text(flat(who), overflow="fold") for who in judged_by])
    if embedded:
        models = f"--judge{NBSP}openai:gpt-4o-mini, or{NBSP}ollama:qwen3 on your machine"
        others = f". To use a language model: {models}" if list(judges) == ["embedded"] else ""
        rows += told_rows("", [f"{embedded}{others}"], "quiet")
    return rows


def bill_rows(bill: Mapping[str, Any]) -> list[Row]:
    """The calls and what they cost."""
    return [
        *told_rows("Calls", [calls_said(bill)]),
        *told_rows("Retries", [_retries_said(bill)] if bill["retried"] else []),
        *told_rows("", _bill_notes(bill), "quiet"),
        *told_rows("Cost", [cost_said(bill)]),
    ]


def _retries_said(bill: Mapping[str, Any]) -> str:
    """``HTTP 429 (13), HTTP 500 (11); 0.6 s wait each``: why attempts were made again, and how long they waited."""
    causes = sorted(bill["retry_causes"].items(), key=lambda one: -one[1])
    said = ", ".join(f"{flat(cause)} ({number(count)})" for cause, count in causes)
    waited = bill.get("waited_seconds")  # a bill of an older version has none
    return f"{said}; {duration(waited / bill['retried'])} wait each" if waited else said


def _bill_notes(bill: Mapping[str, Any]) -> list[str]:
    """The first three notes of backends on their replies."""
    notes = [f"{flat(note)} ({plural(count, 'reply', 'replies')})" for note, count in list(bill["notes"].items())[:3]]
    more = len(bill["notes"]) - 3
    return notes + ([f"and {plural(more, 'more note')}, in summary.json"] if more > 0 else [])


def _left_out(reasons: Sequence[tuple[str, str]], source: str) -> list[str]:
    """The metrics that did not run, with the reason that holds for most of them; ``validate`` has all reasons."""
    told = [f"{names}: {why}" for names, why in reasons]
    if len(reasons) <= REASONS:
        return told
    most = max(range(len(reasons)), key=lambda place: reasons[place][0].count(","))
    names = sorted(name for place, (joined, _) in enumerate(reasons) if place != most for name in joined.split(", "))
    file = shlex.quote(flat(source)) if source not in ("", "-") else "FILE"
    return [told[most], f"{', '.join(names)}: to see why, run ragstone validate {file}"]


def _files(run: Run, place: Place) -> list[Row]:
    """The files of the run that are there; that a whole one beside what it leaves is of an earlier run."""
    if is_address(place.folder):
        return [("Files", Text(flat(place.folder), overflow="fold"))]
    folder = Path(place.folder)
    whole = run.status == "done"
    results = [RESULTS, f"{RESULTS}{ZSTD}"]
    names = [*(name if whole else f"{name}{PARTIAL}" for name in results), "summary.json", ABOUT]
    names += [REPORT] if place.report else []
    # They are written one after the other: what comes after one that failed is of an earlier run, if it is there.
    failed = next((at for at, name in enumerate(names) if str(folder / name) == place.failed), len(names))
    names = [name for name in names[:failed] if place.failed != str(folder) and (folder / name).is_file()]
    if place.cases and names:
        names.append("cases/")
    rows: list[Row] = []
    if names:
        rows.append(("Files", Text(f"{flat(place.folder)}: {', '.join(names)}", overflow="fold")))
    if not whole and (older := next((name for name in results if (folder / name).is_file()), "")):
        rows.append(("" if rows else "Files", Prose(f"{older} in this folder is from an earlier run", "quiet")))
    return rows

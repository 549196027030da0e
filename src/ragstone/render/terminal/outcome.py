"""Draw a run on one screen: summary, metrics, missing scores, lowest records, judges, cost and next command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.analysis.run import Run, main_scores
from ragstone.analysis.run_files import ABOUT, PARTIAL, REPORT, RESULTS, ZSTD
from ragstone.records.object_stores import is_address
from ragstone.render.facts import RunFacts, calls_said, comparable, cost_said, interval_of, possible_mean
from ragstone.render.terminal.columns import columns_of, columns_of_run, methods_block, passed, repeats_block
from ragstone.render.terminal.screen import (
    Command,
    Look,
    Page,
    Prose,
    Row,
    facts,
    heading,
    indented,
    page,
    section,
    told_rows,
)
from ragstone.render.terminal.tables import Column, beside, fitting, grid, table, unit_lines, used
from ragstone.render.text import NBSP, duration, flat, number, percent, plural, shorten
from ragstone.render.wording import in_words, kind_of, why

MOST_CAUSES: Final = 8
REASONS: Final = 3
"""Maximum number of reasons for skipped metrics that are all shown with the results."""


class Place(Struct, frozen=True):
    """The locations of results, if any: a folder, a file of lines, a page; ``options`` locate the store.

    ``failed`` is the file or folder that could not be written, if any. ``quiet`` omits the reliability of the embedded
    judge. ``source`` is the input with the options that read it, if known.
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
    """Return the whole screen of a run; ``full`` shows all records with low scores and all their low units."""
    told = RunFacts(run)
    place = place or Place()
    metrics = told.summary["metrics"]
    return page(
        title_line(told, look),
        Prose(told.said),
        *_tables({name: metrics[name] for name in main_scores(run.spec, metrics)}, look),
        repeats_block(metrics),
        methods_block(told.summary["methods"]) if comparable(told.summary) else None,
        missing_block(told, look),
        _worst(told, look, full=full),
        facts_block(told, place, [told.next_command(place.options)]),
    )


def title_line(told: RunFacts, look: Look) -> Text:
    """Return the run's name, its number, its record count and, if it did not finish, its status."""
    return heading(told.run.name, look, *told.about)


# ---- the metrics


def _tables(entries: Mapping[str, Mapping[str, Any]], look: Look) -> list[RenderableType]:
    """Return the table of metrics, and separate tables for metrics whose columns are all listed and have a value."""
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
                tables.append(columns_of_run(metric, found))
    return [metric_table(plain, look), *tables] if plain else tables


def metric_table(entries: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """Return a table of means, intervals, scored records, possible means and thresholds, without empty columns.

    Columns that do not fit on a narrow terminal are printed below the table as text.
    """
    told = entries.values()
    columns = [
        Column("", list(entries)),
        Column("mean", [percent(entry["mean"], entry["scored"], entry["interval"]) for entry in told], right=True),
        Column("95% CI", [interval_of(entry) for entry in told], right=True),
        Column("scored", [f"{number(entry['scored'])} of {number(entry['total'])}" for entry in told], right=True),
        Column("could be", [possible_mean(entry) for entry in told], right=True, drop=2),
        Column("passed", [passed(entry) for entry in told], right=True, drop=1),
    ]
    shown = fitting([column for column in columns if any(column.cells) or not column.drop], look.width - 4, look)
    said = {1: "{}: {} passed", 2: "{} could be {}% if all units were judged"}
    below = [
        Text(said[column.drop].format(name, cell), "quiet")
        for column in columns
        if column not in shown
        for name, cell in zip(entries, column.cells, strict=True)
        if cell
    ]
    room = min(25, look.width - used(shown) - 6) // 2 * 2 + 1
    if room >= 11:
        shown.insert(
            3, Column("", [look.whisker(entry["mean"], entry["interval"], room) for entry in told], right=True)
        )
    drawn = table(shown, ["quiet" if entry["mean"] is None else "" for entry in told])
    return Group(drawn, *below) if below else drawn


# ---- missing scores, lowest records


def missing_block(told: RunFacts, look: Look) -> RenderableType | None:
    """Return the causes of missing scores; None if there are none."""
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
    room, rows = look.width - 4 - 7, []
    for low in told.lowest(told.summary["records"] if full else 5):
        lines = beside(low.result["id"], low.shortfall, look, room, low.result["position"])
        for verdict, text in low.units if full else low.units[:1]:
            reason = in_words(low.result, why(verdict) or "")
            lines += unit_lines(look.mark(kind_of(verdict)), text, reason, look, room, full=full)
        rows.append((percent(low.score["value"]), Group(*lines)))
    return section(f"Lowest {told.ranked}", indented(grid(rows, "><"))) if rows else None


# ---- judges, cost, files, next commands


def facts_block(told: RunFacts, place: Place, following: Sequence[str]) -> Table:
    """Return the judges, the calls, the cost, skipped metrics, locations of the results, and the next commands."""
    run, summary = told.run, told.summary
    rows = judge_rows(told.judged_by, told.judges, "" if place.quiet else told.embedded)
    rows += told_rows("Labels", told.agreement)
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
    rows += told_rows("Skipped", left_out_lines(told.left_out, place.source), "quiet")
    if place.folder:
        rows += _files(run, place)
    if place.lines:
        rows.append(("File", Text(flat(place.lines), overflow="fold")))
    rows.append(("Store", Text(f"{flat(run.store.path)}, run {run.id}", overflow="fold")))
    if summary.get("stopped"):
        rows += told_rows("Stopped", [flat(summary["stopped"])])
    if run.status != "done":
        again = "run the same command again; stored replies are free"
        if run.spec.get("engine", {}).get("cache") == "off":
            again = f"add --only-failed {run.id} to reuse these results; no reply is stored (--no-cache)"
        rows += told_rows("Resume", [again])
    return facts([*rows, ("Next", [Command(command) for command in following])])


def judge_rows(judged_by: Iterable[str], judges: Sequence[str], embedded: str) -> list[Row]:
    """Return the judges and, if the embedded judge is among them, its reliability."""
    rows: list[Row] = [("Judge", [Text(flat(who), overflow="fold") for who in judged_by])]
    if embedded:
        models = f"--judge{NBSP}openai:gpt-4o-mini or{NBSP}--judge{NBSP}ollama:qwen3 (local)"
        others = f" To use a language model: {models}" if list(judges) == ["embedded"] else ""
        rows += told_rows("", [f"{embedded}{others}"], "quiet")
    return rows


def bill_rows(bill: Mapping[str, Any]) -> list[Row]:
    """Return the calls and their cost, with the first three notes of backends on their replies."""
    notes = [f"{flat(note)} ({plural(count, 'reply', 'replies')})" for note, count in list(bill["notes"].items())[:3]]
    if (more := len(bill["notes"]) - 3) > 0:
        notes.append(f"and {plural(more, 'more note')}, in summary.json")
    return [
        *told_rows("Calls", [calls_said(bill)]),
        *told_rows("Retries", [_retries_said(bill)] if bill["retried"] else []),
        *told_rows("", notes, "quiet"),
        *told_rows("Cost", [cost_said(bill)]),
    ]


def _retries_said(bill: Mapping[str, Any]) -> str:
    """Return ``HTTP 429 (13), HTTP 500 (11); average wait 0.6 s``: the causes of retries and the average wait."""
    causes = sorted(bill["retry_causes"].items(), key=lambda one: -one[1])
    said = ", ".join(f"{flat(cause)} ({number(count)})" for cause, count in causes)
    waited = bill["waited_seconds"]
    return f"{said}; average wait {duration(waited / bill['retried'])}" if waited else said


def left_out_lines(reasons: Sequence[tuple[str, str]], source: str) -> list[str | Command]:
    """Return the skipped metrics with the most common reason; ``validate`` shows all reasons."""
    if len(reasons) <= REASONS:
        return [f"{names}: {why}" for names, why in reasons]
    most = max(reasons, key=lambda reason: reason[0].count(","))
    count = sum(names.count(",") + 1 for names, _ in reasons) - most[0].count(",") - 1
    command = Command(f"ragstone validate {source or 'FILE'}")
    return [": ".join(most), f"{plural(count, 'more metric')} skipped; to see why, run:", command]


def _files(run: Run, place: Place) -> list[Row]:
    """Return the existing files of the run; for an unfinished run, note that whole results are from an earlier one."""
    if is_address(place.folder):
        return [("Files", Text(flat(place.folder), overflow="fold"))]
    folder = Path(place.folder)
    whole = run.status == "done"
    results = [RESULTS, f"{RESULTS}{ZSTD}"]
    names = [*(name if whole else f"{name}{PARTIAL}" for name in results), "summary.json", ABOUT]
    names += [REPORT] if place.report else []
    # Files are written in this order: after one that failed, any existing file is from an earlier run.
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

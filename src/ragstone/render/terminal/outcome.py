"""A run: one sentence, its metrics, what is missing and why, where it hurts, who judged, what it cost, what next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone import metrics
from ragstone.analysis.run import Run, part_said, unit_text
from ragstone.analysis.run_files import ABOUT, PARTIAL, REPORT, RESULTS
from ragstone.analysis.verdicts import with_verdicts
from ragstone.render.embedded import embedded_among
from ragstone.render.terminal.bill import bill_rows
from ragstone.render.terminal.cascades import cascade_rows, differs, doubts
from ragstone.render.terminal.columns import (
    ADHERENCE,
    LEADING,
    RECALL,
    TRACE,
    columns_of,
    columns_of_run,
    folded,
)
from ragstone.render.terminal.methods import comparable, methods_block
from ragstone.render.terminal.repeats import repeats_block
from ragstone.render.terminal.screen import LEFT, Look, Page, facts, indented, kind_of, page, prose, section, to_paste
from ragstone.render.terminal.tables import beside, unit_lines
from ragstone.render.text import (
    NBSP,
    between,
    duration,
    flat,
    middle,
    number,
    percent,
    plural,
    shorten,
)
from ragstone.render.vocabulary import by_signature, by_verdicts

LEADS: Final = ("grounding", "groundedness", "response_groundedness", "nugget_groundedness", ADHERENCE, *LEADING)
"""The metrics that the sentence and the worst records are about, the first that there is."""
RANKED: Final[Mapping[str, str]] = {ADHERENCE: TRACE.score("adherence_share")}
"""By what the worst records are found where the metric itself is all or none."""
MOST_CAUSES: Final = 8
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9][\w.:/@%+,-]{0,59}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """Where results lie: a folder of files, a file of lines, a page, if any; ``options`` find the store again.

    ``failed`` is the file, or the folder, that could not be written, if any.
    """

    folder: str = ""
    cases: bool = False
    options: Sequence[str] = ()
    lines: str = ""
    report: bool = False
    comparison: str = ""
    failed: str = ""


def outcome(run: Run, look: Look, place: Place | None = None) -> Page:
    """The whole result of a run."""
    summary = run.summary()
    place = place or Place()
    lowest = ranked_by(lead(summary), summary)
    return page(
        title_line(run, summary, look),
        prose(headline(run, summary, look), look),
        *_tables(summary["metrics"], look),
        repeats_block(summary["metrics"], look),
        methods_block(summary["methods"], look) if comparable(summary) else None,
        missing_block(summary, look),
        _worst(run, lowest, look) if lowest else None,
        facts_block(run, summary, place, [next_command(run, lowest, place)], look),
    )


def lead(summary: Mapping[str, Any]) -> str:
    """The metric that the run is told by: the first of ``LEADS`` that has a mean, else any that has."""
    scored = [name for name, metric in summary["metrics"].items() if metric["mean"] is not None]
    return next((name for name in LEADS if name in scored), scored[0] if scored else "")


def ranked_by(leading: str, summary: Mapping[str, Any]) -> str:
    """The metric by which the worst records are found, for the one that the run is told by."""
    finer = RANKED.get(leading, leading)
    return finer if finer in summary["metrics"] and summary["metrics"][finer]["mean"] is not None else leading


def headline(run: Run, summary: Mapping[str, Any], look: Look) -> str:
    """The run in a few sentences; the number is the mean of the table, and means are over responses."""
    name = lead(summary)
    doubted = doubts(summary.get("cascade", {}), summary["metrics"][name]) if name else ()
    return " ".join([_mean_said(run, summary, look), *doubted])


def _mean_said(run: Run, summary: Mapping[str, Any], look: Look) -> str:
    name = lead(summary)
    if not name:
        return f"Nothing could be scored in {plural(summary['records'], 'record')}."
    metric = summary["metrics"][name]
    scored = metric["scored"]
    value = percent(metric["mean"], scored)
    if metric["interval"]:
        value += f" ({_ends(metric, look)})"
    vocabulary = by_signature(metric["signature"])
    if (said := vocabulary.means.get(name)) is None:
        title = vocabulary.title(name) or name
        return f"{title[:1].upper()}{title[1:]}: {value}, the mean over {plural(scored, 'record')}."
    judged = metric["units"]["asked"] - metric["units"]["unjudged"]
    counted = f"{plural(judged, said.unit)} in " if said.unit and judged else ""
    lower = sum(row.value is not None and row.value < 1 for row in run.store.scores(run.id, name))
    which = f"{number(lower)} of {plural(scored, 'response')}" if lower else "No response"
    short = said.falling_short(lower, metric["signature"])
    return f"{value} {said.of}: {counted}{plural(scored, 'response')}. {which} {short}."


def title_line(run: Run, summary: Mapping[str, Any], look: Look) -> Text:
    """The run's name, its number, how many records it has, and how it ended if it did not end well."""
    parts = [f"run {run.id}", plural(summary["records"], "record").replace(NBSP, " ")]
    parts += [part] if (part := part_said(run.spec.get("extent", {}))) else []
    if run.status != "done":
        parts.append(run.status)
    right = f" {look.dot} ".join(parts)
    name = middle(flat(run.name), max(12, look.width - 6 - len(right)), look.ellipsis)
    return Text.assemble((name, "head"), "  ", (right, "quiet"))


# ---- the metrics


def _tables(entries: Mapping[str, Mapping[str, Any]], look: Look) -> list[RenderableType]:
    """The table of all metrics; one of several columns has a table of its own, unless it has no value at all."""
    plain: dict[str, Mapping[str, Any]] = {}
    tables: list[RenderableType] = []
    for name, entry in entries.items():
        columns = columns_of(name)
        if columns is None:
            plain[name] = entry
        elif name == columns.first:
            found = {other: entries[other] for other in entries if columns_of(other) is columns}
            if all(one["mean"] is None for one in found.values()):
                plain[columns.name] = entry
            else:
                tables.append(columns_of_run(columns, found, look))
    return [metric_table(plain, look), *tables] if plain else tables


def metric_table(entries: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """Mean, interval, how many are scored, what the mean could be, thresholds: columns only where they say something.

    What a narrow terminal has no room for is said below the table.
    """
    names = list(entries)
    possible = [name for name in names if differs(entries[name])]
    decided = [name for name in names if entries[name]["outcomes"]]
    columns = [("", names), ("mean", [_plain(percent(e["mean"], e["scored"])) for e in entries.values()])]
    columns.append(("95 %", [_interval(e, look) for e in entries.values()]))
    columns.append(("scored", [_scored(e) for e in entries.values()]))
    extra = []
    if possible:
        extra.append(("could be", [_possible(e, look) for e in entries.values()]))
    if decided:
        extra.append(("passed", [_passed(e) for e in entries.values()]))
    used = 2 + sum(_width(column) + 2 for column in columns)
    below: list[Text] = []
    for column in extra:
        if used + _width(column) + 2 <= look.width:
            columns.append(column)
            used += _width(column) + 2
        else:
            below += [_said(column[0], name, cell) for name, cell in zip(names, column[1], strict=True) if cell]
    cells = min(25, look.width - used - 2) // 2 * 2 + 1
    whisker = cells >= 11
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    for title, _ in columns:
        table.add_column(title, justify="left" if not title else "right", no_wrap=True)
        if title == "95 %" and whisker:
            table.add_column("", no_wrap=True)
    for number_, name in enumerate(names):
        row: list[str | Text] = [cells_[number_] for _, cells_ in columns]
        if whisker:
            row.insert(3, _whisker(entries[name], look, cells))
        table.add_row(*row, style="quiet" if entries[name]["mean"] is None else "")
    return Group(table, *below) if below else table


def _whisker(entry: Mapping[str, Any], look: Look, cells: int) -> Text:
    if entry["mean"] is None:
        return Text("")
    return look.whisker(entry["mean"], tuple(entry["interval"]) if entry["interval"] else None, cells)


def _interval(entry: Mapping[str, Any], look: Look) -> str:
    return _ends(entry, look) if entry["interval"] else ""


def _ends(entry: Mapping[str, Any], look: Look) -> str:
    low, high = entry["interval"]
    return between(low, high, entry["scored"], look.dash)


def _scored(entry: Mapping[str, Any]) -> str:
    return f"{number(entry['scored'])} of {number(entry['total'])}"


def _possible(entry: Mapping[str, Any], look: Look) -> str:
    return between(entry["low"], entry["high"], entry["scored"], look.dash) if differs(entry) else ""


def _passed(entry: Mapping[str, Any]) -> str:
    outcomes = entry["outcomes"] or {}
    count = sum(outcomes.values())
    return f"{number(outcomes.get('PASSED', 0))} of {number(count)}" if count else ""


def _said(title: str, name: str, cell: str) -> Text:
    words = f"{name} could be {cell} % with what is unjudged" if title == "could be" else f"{name}: {cell} passed"
    return Text(words, style="quiet")


def _width(column: tuple[str, list[str]]) -> int:
    return max(len(cell) for cell in (column[0], *column[1]))


def _plain(text: str) -> str:
    return text.replace(NBSP, " ")


# ---- what is missing


def missing(summary: Mapping[str, Any]) -> list[tuple[int, str, str, str]]:
    """How many scores have no value or stand on less than all: count, status, reason, metrics; the most first."""
    groups: dict[tuple[int, str, str], list[str]] = {}
    causes = summary.get("missing")
    if causes is None:  # the run did not end: the reasons are with its results, the statuses are here
        causes = [
            {"metric": name, "status": status, "reason": "", "count": count}
            for name, metric in summary["metrics"].items()
            for status, count in metric["statuses"].items()
            if status != "scored"
        ]
    for cause in causes:
        key = (cause["count"], cause["status"], flat(cause["reason"]))
        groups.setdefault(key, []).append(cause["metric"])
    if summary["set_aside"]:
        groups[summary["set_aside"], "set_aside", "could not be read"] = ["all metrics"]
    everything = len(summary["metrics"])
    return [
        (*key, "all metrics" if len(names) == everything and everything > 1 else ", ".join(folded(names)))
        for key, names in sorted(groups.items(), key=lambda group: -group[0][0])
    ]


def missing_block(summary: Mapping[str, Any], look: Look) -> RenderableType | None:
    """What is missing, and why; None where there is nothing to tell."""
    shown = missing(summary)
    if not shown:
        return None
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for count, status, reason, who in shown[:MOST_CAUSES]:
        line = Text(f"{status}: {shorten(reason, 2 * look.width, look.ellipsis)}" if reason else status)
        line.append(f"  {who}", style="quiet")
        table.add_row(number(count), line)
    if len(shown) > MOST_CAUSES:
        table.add_row("", Text(f"and {plural(len(shown) - MOST_CAUSES, 'more cause')}", style="quiet"))
    return section("Without a score, or not all judged", indented(table))


# ---- where it hurts


def _worst(run: Run, metric: str, look: Look, count: int = 5) -> RenderableType | None:
    rows = [
        (result, with_verdicts(result, score))
        for result in run.worst(metric, count)
        for score in result["scores"]
        if score["metric"] == metric and score["value"] is not None and score["value"] < 1
    ]
    if not rows:
        return None
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    room = look.width - 4 - 7
    for result, score in rows:
        table.add_row(_plain(percent(score["value"])), _worst_record(result, score, look, room))
    return section(f"Lowest {metric}", indented(table))


def shortfall(result: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    """``1 of 2 claims to check``, of a score with its verdicts; empty where these say no such thing."""
    units = {unit["id"]: unit for unit in result["units"]}
    wanting = _wanting(score)
    level = units[score["verdicts"][0]["unit"]]["level"] if score["verdicts"] else ""
    if score["metric"] == ADHERENCE and not wanting:
        return "not supported, as a whole"
    if level in ("", "response"):
        return ""
    counted = sum(kind_of(v) != "trivial" for v in score["verdicts"])
    kind = f"vital {level}" if score["metric"] == LEADING[0] else level
    return f"{len(wanting)} of {plural(counted, kind)} {_lacking(score['metric'], wanting)}".replace(NBSP, " ")


def _wanting(score: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [v for v in score["verdicts"] if v["value"] is not None and v["value"] < 1]


def _worst_record(result: Mapping[str, Any], score: Mapping[str, Any], look: Look, room: int) -> Group:
    units = {unit["id"]: unit for unit in result["units"]}
    wanting = _wanting(score)
    lines = beside(flat(result["id"]), shortfall(result, score), look, room)
    if wanting:
        worst = min(wanting, key=lambda v: (v["value"], _rank(units[v["unit"]]), v["probability"] or 0.0))
        text = unit_text(result, units[worst["unit"]])
        lines += unit_lines(look.mark(kind_of(worst)), text, worst["reason"] or "", look, room)
    return Group(*lines)


def _rank(unit: Mapping[str, Any]) -> int:
    """A vital nugget goes before another that is as bad."""
    return unit.get("importance") != "vital"


def _lacking(metric: str, wanting: Sequence[Mapping[str, Any]]) -> str:
    return by_verdicts(wanting).of(metric)["no" if all(verdict["value"] <= 0 for verdict in wanting) else "below"]


# ---- who, how much, where, what next


def facts_block(run: Run, summary: Mapping[str, Any], place: Place, following: Sequence[str], look: Look) -> Table:
    """The judges, the calls, the cost, what was left out, where everything lies, and the commands to go on with."""
    left = 12
    rows = judge_rows(judged_by(run.spec), judges_of(run.spec), summary, look)
    rows += [("", prose(flat(note), look, "quiet", left)) for note in summary.get("notes", ())]
    rows += cascade_rows(summary.get("cascade", {}), look, left)
    if told := quotes_said(run, summary):
        rows.append(("Quotes", prose(told, look, "quiet", left)))
    if summary.get("bill"):
        rows += bill_rows(summary["bill"], look)
    if summary.get("taken_over"):
        words = f"{plural(summary['taken_over'], 'result')} of run {run.spec['only_failed']}, as they were"
        rows.append(("Taken over", prose(words, look, indent=left)))
    if summary.get("estimate"):
        from ragstone.render.terminal.estimate import held_said  # noqa: PLC0415 - most runs were not estimated

        rows.append(("Estimated", prose(held_said(summary["estimate"], look), look, "quiet", left)))
    if "seconds" in summary:
        rows.append(("Time", Text(duration(summary["seconds"]).replace(NBSP, " "))))
    reasons: dict[str, list[str]] = {}
    for name, why in summary.get("left_out", {}).items():
        reasons.setdefault(flat(why), []).append(name)
    rows += [
        (label, prose(f"{', '.join(names)}: {why}", look, "quiet", left))
        for label, (why, names) in zip(_first("Left out"), reasons.items(), strict=False)
    ]
    if place.folder:
        rows += _files(run, place, look)
    if place.lines:
        rows.append(("File", Text(flat(place.lines), overflow="fold")))
    rows.append(("Store", Text(f"{flat(run.store.path)}, run {run.id}", overflow="fold")))
    rows += zip(_first("Next"), (to_paste(command, look, left) for command in following), strict=False)
    return facts(rows)


def _files(run: Run, place: Place, look: Look) -> list[tuple[str, RenderableType]]:
    """The files of the run that are there; that a whole one beside what it leaves is of an earlier run."""
    folder = Path(place.folder)
    whole = run.status == "done"
    names = [RESULTS if whole else f"{RESULTS}{PARTIAL}", "summary.json", ABOUT, *([REPORT] if place.report else [])]
    # They are written one after the other: what comes after one that failed is of an earlier run, if it is there.
    failed = next((at for at, name in enumerate(names) if str(folder / name) == place.failed), len(names))
    names = [name for name in names[:failed] if place.failed != str(folder) and (folder / name).is_file()]
    if place.cases and names:
        names.append("cases/")
    rows: list[tuple[str, RenderableType]] = []
    if names:
        rows.append(("Files", Text(f"{flat(place.folder)}: {', '.join(names)}", overflow="fold")))
    if not whole and (folder / RESULTS).is_file():
        rows.append(("" if rows else "Files", prose(f"{RESULTS} there is of an earlier run", look, "quiet", LEFT)))
    return rows


def quotes_said(run: Run, summary: Mapping[str, Any]) -> str:
    """How much of what a language model quoted is there; empty where none was asked, or none named a quote."""
    if {judge["provider"] for judge in run.spec.get("judges", {}).values()} <= {"embedded", "human"}:
        return ""
    quotes = run.quotes()
    if not quotes["named"]:
        return ""
    of_response = [columns_of(name) is RECALL for name in summary["metrics"]]
    where = "the responses" if all(of_response) else "passages and responses" if any(of_response) else "the passages"
    named = quotes["named"]
    said = f"{number(named)} named, {percent(quotes['verified'], named)} found in {where}"
    return f"{said}, {number(quotes['near'])} of them nearly" if quotes["near"] else said


def judge_rows(
    told: Iterable[str], names: Sequence[str], summary: Mapping[str, Any], look: Look, left: int = 12
) -> list[tuple[str, RenderableType]]:
    """Who judged, to stand ``left`` columns from the margin, and what is to be known of the embedded judge."""
    rows: list[tuple[str, RenderableType]] = []
    rows += zip(_first("Judge"), (Text(flat(who), overflow="fold") for who in told), strict=False)
    if known := embedded_among(names, summary):
        models = f"--judge{NBSP}openai:gpt-4o-mini, or{NBSP}ollama:qwen3 on your machine"
        others = f". To ask a language model: {models}" if list(names) == ["embedded"] else ""
        rows.append(("", prose(f"{known}{others}", look, "quiet", left)))
    return rows


def _first(label: str) -> Iterable[str]:
    yield label
    while True:
        yield ""


def judges_of(spec: Mapping[str, Any]) -> list[str]:
    """The names of all judges of a run, each once."""
    routes = [spec["default"], *spec["steps"].values()]
    return list(dict.fromkeys(name for route in routes for name in route["judges"]))


def judged_by(spec: Mapping[str, Any]) -> list[str]:
    """The judges by name; a step that has its own is named, and so is how a panel is put together."""
    steps = spec["steps"]
    parts = [f"{step}: {_route(route)}" for step, route in steps.items()]
    asked = {task for name in spec["chosen"] for task in metrics.find(name).asks} if _known(spec) else set(steps)
    if asked - set(steps) or not steps:
        parts.insert(0, _route(spec["default"]))
    return parts


def _known(spec: Mapping[str, Any]) -> bool:
    return all(name in metrics.catalogue() for name in spec.get("chosen", ()))


def _route(route: Mapping[str, Any]) -> str:
    names = route["judges"]
    if route.get("cascade"):
        return " > ".join(names)
    return str(names[0]) if len(names) == 1 else f"{', '.join(names)} (panel, {route['aggregate']})"


def next_command(run: Run, leading: str, place: Place) -> str:
    """The command that shows the record with the lowest value."""
    rows = run.store.worst(run.id, leading, 1) if leading else []
    position = rows[0].position if rows else 1
    found = run.store.result(run.id, position=position)
    if found is None:
        return shlex.join(["ragstone", "runs", *place.options])
    return shlex.join(["ragstone", "show", str(run.id), handle(found.record, position), *place.options])


def handle(record: str, position: int) -> str:
    """How a record is named on a command line: by its id where that is easily typed, else by its place."""
    return record if _PLAIN_ID.fullmatch(record) else f"#{position}"

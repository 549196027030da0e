"""The tables: runs, metrics, judges, and what an input holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone import metrics as catalogue
from ragstone.analysis.run import Run
from ragstone.judges.spec import KnownJudge
from ragstone.metrics.base import Metric
from ragstone.records import Survey, offered
from ragstone.render.terminal.columns import RECALL
from ragstone.render.terminal.outcome import judged_by, lead
from ragstone.render.terminal.screen import Look, Page, facts, indented, page, prose, section, to_paste
from ragstone.render.text import NBSP, clean, flat, middle, moment, number, percent, plural, shorten
from ragstone.types import NOTHING

MOST_NOTES: Final = 12
LEAST: Final = 8
"""Cells from which on the beginning of a judge's name says something."""
SHORT: Final = RECALL.score("")
"""What is left out of the names of the columns of nugget recall: a table of runs has no room for it."""


# ---- runs


def run_table(runs: Sequence[Run], look: Look) -> Page:
    """All runs, the latest at the bottom, where the prompt is.

    On a narrow terminal there is less of the judges, or nothing, and then no date.
    """
    if not runs:
        return page(Text("No runs yet; make one with: ragstone run FILE"))
    rows = [_run_row(run, look) for run in runs]
    titles = ("", "name", "when", "records", "judge", "status", "mean")
    kept = dict(zip(titles, zip(*rows, strict=True), strict=True))
    for title in ("judge", "when"):
        beyond = sum(_width(name, cells) + 2 for name, cells in kept.items()) - look.width
        room = _width(title, kept[title]) - beyond
        if beyond > 0 and title == "judge" and room >= LEAST:
            kept[title] = tuple(Text(shorten(cell.plain, room, look.ellipsis), style="quiet") for cell in kept[title])
        elif beyond > 0:
            del kept[title]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    for title in kept:
        table.add_column(title, justify="right" if title in ("", "records") else "left", no_wrap=True)
    for cells in zip(*kept.values(), strict=True):
        table.add_row(*cells)
    return page(table)


def _run_row(run: Run, look: Look) -> tuple[Text, ...]:
    summary = run.summary()
    name = lead(summary)
    found = summary["metrics"].get(name)
    mean = percent(found["mean"], found["scored"]).replace(NBSP, " ") if found else "-"
    judge = "; ".join(part.partition("@")[0] for part in judged_by(run.spec))
    return (
        Text(str(run.id)),
        Text(middle(flat(run.name), 20, look.ellipsis), style="head"),
        Text(moment(run.started), style="quiet"),
        Text(number(summary["records"])),
        Text(shorten(flat(judge), 20, look.ellipsis), style="quiet"),
        Text(run.status, style="quiet" if run.status == "done" else "partly"),
        Text(f"{mean:>5} {name.removeprefix(SHORT)}"),
    )


def _width(title: str, cells: Sequence[Text]) -> int:
    return max(len(title), *(cell.cell_len for cell in cells))


# ---- metrics


def metric_list(look: Look) -> Page:
    """Every metric in a few lines, then the suites."""
    blocks: list[RenderableType] = []
    for name, metric in catalogue.catalogue().items():
        head = Text.assemble((name, "head"), "  ", (f"needs {', '.join(metric.needs)}", "quiet"))
        blocks += [head, indented(prose(metric.title, look, indent=2))]
    suites = [(name, Text(", ".join(members), overflow="fold")) for name, members in catalogue.suites().items()]
    auto = prose("every metric whose fields the records have and whose calls are few", look, indent=10)
    return page(
        Group(*blocks),
        section("Suites", indented(facts([("auto", auto), *suites], 7))),
        Text("ragstone metrics NAME describes one", style="quiet"),
    )


def metric_page(metric: type[Metric], look: Look) -> Page:
    """All of one metric."""
    described = " ".join(prose_of(metric).split())
    rows: list[tuple[str, RenderableType]] = [
        ("Needs", Text(", ".join(metric.needs))),
        ("Asks", Text(", ".join(metric.asks))),
        ("Calls", Text(f"about {metric.calls} a record, of ordinary length, to a language model")),
        ("Suites", Text(", ".join((*metric.suites, "all")))),
    ]
    if metric.wants:
        rows.insert(1, ("Wants", Text(f"{', '.join(metric.wants)}, where a suite or auto is to choose it")))
    if metric.columns:
        rows.append(("Scores", Text(", ".join(metric.score_names()), overflow="fold")))
    if metric.blocks:
        rows.append(("Also", Text(f"{', '.join(metric.blocks)}, as the name of a record's own parameters")))
    if metric.source:
        rows.append(("Source", Text(metric.source, overflow="fold")))
    table = Table.grid(padding=(0, 2, 0, 0))
    for parameter in parameters_of(metric):
        fixed = "the same for a whole run" if parameter["fixed"] else ""
        table.add_row(Text(parameter["name"]), Text(parameter["shown"]), Text(fixed, style="quiet"))
    example = f"ragstone run FILE --metrics {metric.name} --set {metric.name}.threshold=0.8"
    return page(
        Text.assemble((metric.name, "head"), "  ", (metric.title, "quiet"), overflow="fold"),
        prose(described, look),
        facts(rows, 7),
        section("Parameters", indented(table)),
        to_paste(example, look, 0),
    )


def prose_of(metric: type[Metric]) -> str:
    """The docstring as running text, without the marks of code."""
    return (metric.__doc__ or "").replace("``", "").strip()


def parameters_of(metric: type[Metric]) -> list[dict[str, Any]]:
    """Name, default, and whether a record may change it."""
    return [
        {
            "name": parameter.name,
            "default": parameter.default,
            "shown": written(parameter.default),
            "fixed": parameter.name in metric.fixed,
        }
        for parameter in fields(metric)
    ]


def written(value: object) -> str:
    """A default as it would be written in ``ragstone.toml``."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(written(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


# ---- judges


def judge_list(judges: Sequence[KnownJudge], look: Look) -> Page:
    """Who can be asked, where, and whether the key's variable is set."""
    blocks: list[RenderableType | None] = [
        _judges([judge for judge in judges if not judge.table], look, look.width - 2)
    ]
    tables = [judge for judge in judges if judge.table]
    if tables:
        blocks.append(section("Of ragstone.toml", indented(_judges(tables, look, look.width - 4))))
    hint = "vllm:MODEL@http://HOST:PORT/v1 is the same at another address. To ask one: "
    hint += f"ragstone{NBSP}judges --check{NBSP}NAME"
    return page(*blocks, prose(hint, look, "quiet"))


def _judges(judges: Sequence[KnownJudge], look: Look, width: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    names = max(len(flat(judge.name)) for judge in judges)
    keys = max(len(judge.variable) for judge in judges) + len(" not set")
    beside = width - names - 2 - keys - 2  # cells for the address, if the key stands beside it
    room = beside if beside >= 24 else width - 2 - names
    for judge in judges:
        lines = [Text(middle(flat(judge.where), room, look.ellipsis), style="quiet")] if judge.where else []
        if judge.model:
            lines.insert(0, Text(flat(judge.model)))
        if judge.price:
            lines.append(Text(flat(judge.price.partition(": ")[2]), style="quiet"))
        if judge.note:
            lines.append(Text(judge.note))
        if judge.variable:
            state = (" set", "") if judge.key_set else (" not set", "quiet")
            key = Text.assemble((judge.variable, "quiet"), state)
            if lines and beside >= 24:
                lines[0] = Text.assemble(lines[0], " " * (room - lines[0].cell_len + 2), key)
            else:
                lines.append(key)
        table.add_row(Text(flat(judge.name)), Group(*lines))
    return table


def judge_checked(judge: str, seconds: float, said: str, look: Look) -> Page:
    """A judge that answered."""
    words = Text.assemble(look.mark("yes"), " ", (flat(judge), "head"), f"  answered in {seconds:.1f} s")
    return page(Group(words, indented(Text(flat(said), style="quiet"))))


# ---- an input


def survey_page(found: Survey, able: Mapping[str, int], named: Mapping[str, str], following: str, look: Look) -> Page:
    """What an input holds, what could be done with it, what is odd about it, what cannot be read.

    ``named`` says of each metric why it runs only where it is named, if so; ``following`` is the command to go on with,
    if there is one.
    """
    counts = plural(found.records, "record").replace(NBSP, " ")
    if found.set_aside:
        counts += f", {number(found.set_aside)} more that cannot be read"
    return page(
        Text.assemble((middle(flat(found.name), look.width - 30, look.ellipsis), "head"), "  ", (counts, "quiet")),
        _shares("Fields", found.present, found.records),
        _shares("Metrics that could run", able, found.records, named),
        _notes("Notes", [*_unmapped(found, able), *warnings(found, MOST_NOTES)], look),
        _notes("Cannot be read", messages(found), look),
        facts([("Next", to_paste(following, look))]) if following else None,
    )


def _unmapped(found: Survey, able: Mapping[str, int]) -> list[str]:
    """What there is to map, where no metric could run on anything."""
    columns = offered(found.columns)
    if any(able.values()) or not columns:
        return []
    return [f"no metric can run; map columns with --field FIELD=COLUMN{flat(columns)}"]


def _shares(title: str, counts: Mapping[str, int], total: int, remarks: Mapping[str, str] = NOTHING) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    digits = len(number(total))
    for name, count in counts.items():
        words = f"all {number(total)}" if count == total else f"{number(count):>{digits}} of {number(total)}"
        remark = remarks.get(name, "") if count else ""
        shown = Text(name, style="" if count else "quiet"), Text(words if count else "none", style="quiet")
        table.add_row(*shown, Text(remark, style="quiet"))
    return section(title, indented(table))


def _notes(title: str, lines: Sequence[str], look: Look) -> RenderableType | None:
    if not lines:
        return None
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=1, no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(Text(look.dot, style="quiet"), Text(clean(line)))
    return section(title, indented(table))


def warnings(found: Survey, most: int) -> list[str]:
    """The survey's warnings, each on as many lines as it needs, no more than ``most`` of them."""
    lines = [flat(line) for line in found.warnings]
    rest = len(lines) - most
    return lines if rest <= 0 else [*lines[:most], f"and {plural(rest, 'more kind')} of notes"]


def messages(found: Survey) -> list[str]:
    """Why records cannot be read, one line each."""
    lines = [flat(line) for line in found.messages]
    rest = found.set_aside - len(lines)
    return [*lines, f"and {number(rest)} more"] if rest > 0 else lines


# ---- a new configuration


def init_page(path: str, look: Look) -> Page:
    """What was written, and what to do with it."""
    words = f"{flat(path)} is written. Every setting in it is commented out, so nothing changes yet."
    return page(prose(words, look), Text("ragstone run FILE", style="quiet"))

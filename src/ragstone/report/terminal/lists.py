"""The tables: runs, metrics, judges, and what an input holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone import metrics as catalogue
from ragstone.metrics.base import Metric
from ragstone.records import Survey
from ragstone.report.known import KnownJudge
from ragstone.report.run import Run
from ragstone.report.terminal.outcome import judged_by, lead
from ragstone.report.terminal.screen import Look, Page, facts, indented, page, prose, section
from ragstone.report.terminal.text import NBSP, clean, flat, middle, moment, number, percent, plural

MOST_NOTES: Final = 12


# ---- runs


def run_table(runs: Sequence[Run], look: Look) -> Page:
    """All runs, the latest at the bottom, where the prompt is."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    wide, middling = look.width >= 96, look.width >= 76
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("name", no_wrap=True)
    if middling:
        table.add_column("when", no_wrap=True)
    table.add_column("records", justify="right", no_wrap=True)
    if wide:
        table.add_column("judge", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("mean", no_wrap=True)
    for run in runs:
        summary = run.summary()
        name = lead(summary)
        mean = summary["metrics"][name]["mean"] if name else None
        said = f"{percent(mean).replace(NBSP, ' '):>5}  {name}" if name else "  -"
        row = [Text(str(run.id)), Text(middle(flat(run.name), 22 if middling else 16, look.ellipsis), style="head")]
        if middling:
            row.append(Text(moment(run.started), style="quiet"))
        row.append(Text(number(summary["records"])))
        if wide:
            row.append(Text(middle(flat("; ".join(judged_by(run.spec))), 24, look.ellipsis), style="quiet"))
        status = Text(run.status, style="quiet" if run.status == "done" else "partly")
        table.add_row(*row, status, Text(said))
    return page(table)


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
        Text("ragstone metrics NAME tells all of one", style="quiet"),
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
        Text(example, style="quiet", overflow="fold"),
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
    blocks: list[RenderableType | None] = [_judges([judge for judge in judges if not judge.table], look)]
    tables = [judge for judge in judges if judge.table]
    if tables:
        blocks.append(section("Of ragstone.toml", indented(_judges(tables, look))))
    hint = "name@http://host:port/v1 is the same dialect at another address. ragstone judges --check NAME asks one."
    return page(*blocks, prose(hint, look, "quiet"))


def _judges(judges: Iterable[KnownJudge], look: Look) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    if look.width >= 76:
        table.add_column(no_wrap=True)
    for judge in judges:
        key = Text()
        if judge.variable:
            state = "set" if judge.key_set else "not set"
            key = Text.assemble((judge.variable, "quiet"), " ", (state, "" if judge.key_set else "quiet"))
        where = Text(flat(judge.where), style="quiet")
        if judge.model:
            where = Text.assemble(flat(judge.model), " at ", where)
        if judge.note:
            where.append((" " if judge.where else "") + judge.note)
        if look.width >= 76:
            table.add_row(Text(flat(judge.name)), where, key)
        else:
            table.add_row(Text(flat(judge.name)), Group(where, key) if judge.variable else where)
    return table


def judge_checked(judge: str, seconds: float, said: str, look: Look) -> Page:
    """A judge that answered."""
    words = Text.assemble(look.mark("yes"), " ", (flat(judge), "head"), f"  answered in {seconds:.1f} s")
    return page(Group(words, indented(Text(flat(said), style="quiet"))))


# ---- an input


def survey_page(found: Survey, able: Mapping[str, int], look: Look) -> Page:
    """What an input holds, what could be done with it, what is odd about it, what cannot be read."""
    counts = plural(found.records, "record").replace(NBSP, " ")
    if found.set_aside:
        counts += f", {number(found.set_aside)} more that cannot be read"
    return page(
        Text.assemble((middle(flat(found.name), look.width - 30, look.ellipsis), "head"), "  ", (counts, "quiet")),
        _shares("Fields", found.present, found.records, look),
        _shares("Metrics that could run", able, found.records, look),
        _notes("Notes", warnings(found, look, MOST_NOTES), look),
        _notes("Cannot be read", messages(found), look),
    )


def _shares(title: str, counts: Mapping[str, int], total: int, look: Look) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for name, count in counts.items():
        words = "all" if count == total and total else "none" if not count else f"of {number(total)}"
        shown = Text(number(count)) if words.startswith("of") else Text("")
        table.add_row(Text(name, style="" if count else "quiet"), shown, Text(words, style="quiet"))
    del look
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


def warnings(found: Survey, look: Look, most: int) -> list[str]:
    """The survey's warnings, each on as many lines as it needs, no more than ``most`` of them."""
    del look
    lines = [flat(line) for line in found.warnings]
    rest = len(lines) - most
    return lines if rest <= 0 else [*lines[:most], f"and {rest} more kinds of notes"]


def messages(found: Survey) -> list[str]:
    """Why records cannot be read, one line each."""
    lines = [flat(line) for line in found.messages]
    rest = found.set_aside - len(lines)
    return [*lines, f"and {number(rest)} more"] if rest > 0 else lines


# ---- a new configuration


def init_page(path: str, look: Look) -> Page:
    """What was written, and what to do with it."""
    words = f"{flat(path)} is written. It changes nothing yet: every setting stands there with its default."
    return page(prose(words, look), Text("ragstone run FILE", style="quiet"))

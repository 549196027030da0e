"""Draw lists of runs, metrics, judges and input fields, and messages about written files and served pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone import metrics as catalogue
from ragstone.analysis.labelling import SECONDS
from ragstone.analysis.run import Run
from ragstone.judges.spec import KnownJudge
from ragstone.metrics.base import HOW_TO_ADD, Metric
from ragstone.metrics.methods import command_of
from ragstone.records import ALIASES, EXPORTS, Survey
from ragstone.records.fields import WORDS
from ragstone.render.agreement import kappa_said
from ragstone.render.facts import judged_by, lead
from ragstone.render.terminal.columns import RECALL
from ragstone.render.terminal.screen import DOT, Command, Look, Page, Prose, facts, heading, indented, page, section
from ragstone.render.terminal.tables import Column, Fitted, grid, marked
from ragstone.render.text import NBSP, clean, flat, grouped, middle, moment, number, percent, plural, size
from ragstone.render.watch import warnings
from ragstone.render.wording import scored_by
from ragstone.types import NOTHING, nouns

MOST_NOTES: Final = 12
NOTHING_SCORED: Final = "nothing scored"
BESIDE: Final = 24
"""Minimum width, in columns, of a judge's address when the name of its key is shown beside it."""


# ---- runs


def run_table(runs: Sequence[Run], look: Look) -> Page:
    """Return a table of all runs, the latest at the bottom, next to the prompt."""
    if not runs:
        return page(Text("No runs yet; to create one, run: ragstone run FILE"))
    rows = [_run_row(run, look) for run in runs]
    number_, name, when, records, judge, status, mean, kappa, command = zip(*rows, strict=True)
    columns = [
        Column("", number_, right=True),
        Column("name", name, least=10, style="head"),
        Column("when", when, drop=2, style="quiet"),
        Column("records", records, right=True),
        Column("judge", judge, drop=1, least=11, style="quiet"),
        Column("status", [Text(one, style="quiet" if one == "done" else "partly") for one in status]),
        Column("mean", [Text(one, style="partly" if one == NOTHING_SCORED else "") for one in mean]),
        *([Column("kappa", kappa, drop=3)] if any(kappa) else []),
        *([Column("command", command, drop=4)] if any(command) else []),
    ]
    return page(Fitted(columns))


def batch_table(batches: Sequence[Mapping[str, Any]]) -> Page:
    """Return a table of all batches, the latest at the bottom."""
    if not batches:
        return page(Text("No batches; to create one, run: ragstone run FILE --batch"))
    columns = [
        Column("batch", [flat(one["remote"] or one["tag"]) for one in batches], style="head"),
        Column("run", [flat(one["run"]) for one in batches], least=10),
        Column("judge", [flat(one["judge"]).partition("@")[0] for one in batches], drop=2, style="quiet"),
        Column("calls", [number(one["calls"]) for one in batches], right=True),
        Column("status", [one["status"] for one in batches]),
        Column("created", [moment(one["made"]) for one in batches], drop=1, style="quiet"),
    ]
    return page(Fitted(columns))


def _run_row(run: Run, look: Look) -> tuple[str, ...]:
    summary = run.summary()
    name = lead(summary)
    found = summary["metrics"].get(name)
    mean = f"{percent(found['mean'], found['scored']):>4} {name.removeprefix(f'{RECALL.name}.')}" if found else ""
    agreed = run.agreement["metrics"] if run.agreement else {}
    one = agreed.get(name) or next(iter(agreed.values()), None)  # of the leading metric, else of the first
    return (
        str(run.id),
        middle(flat(run.name), 40, look.ellipsis),
        moment(run.started),
        number(summary["records"]),
        middle(flat(judges_said(judged_by(run.spec))), 20, look.ellipsis) or "none",
        run.status,
        mean or NOTHING_SCORED,
        kappa_said(one["kappa"], one["interval"]) if one else "",
        command_of(run.spec),
    )


def judges_said(judges: Sequence[str]) -> str:
    """Return the judges of a run without their addresses; a single model is named without its provider."""
    said = "; ".join(judge.partition("@")[0] for judge in judges)
    whole = len(judges) > 1 or " " in said or said.startswith("human:")
    return said if whole else re.split("[:/]", said, maxsplit=1)[-1].rpartition("/")[2]


# ---- metrics


def metric_list() -> Page:
    """Return every metric in a few lines, grouped by user question, then the suites."""
    blocks = [
        section(group, *(indented(_listed(metric)) for metric in members))
        for group, members in catalogue.groups().items()
    ]
    suites = {
        "auto": "every metric whose fields are present and that takes about 2 calls per record or fewer, except those "
        'marked "only if named"',
        **{name: ", ".join(map(_in_suite, members)) for name, members in catalogue.suites().items()},
    }
    return page(
        *blocks,
        section("Suites", indented(facts(suites.items(), max(map(len, suites))))),
        Text("For details: ragstone metrics NAME", style="quiet"),
    )


def _in_suite(name: str) -> str:
    """Return a metric of a suite, with what else it needs to run if the suite alone does not select it."""
    metric = catalogue.find(name)
    if metric().unset():
        return f"{name} (if configured)"
    return f"{name} (only if named: -m {name})" if _only_if_named(metric) else name


def _only_if_named(metric: type[Metric]) -> bool:
    """Return whether a metric does not run with ``auto`` or a suite, even if a record has every field."""
    return bool(metric.lacks(dict.fromkeys(ALIASES, 1)))


def _listed(metric: type[Metric]) -> RenderableType:
    calls = f"{plural(metric.calls, 'call')} per record" if metric.calls else "no judge calls"
    also = f" (auto: also {', '.join(metric.wants)})" if metric.wants else ""
    named = ["only if named"] if _only_if_named(metric) else []
    needs = DOT.join([*([f"needs {', '.join(metric.needs)}{also}"] if metric.needs else []), calls, *named])
    other = catalogue.elsewhere_said(metric)
    lines = [metric.title, *([f"In other tools: {other}"] if other else [])]
    below = (Prose(line, style) for line, style in zip(lines, ("", "quiet"), strict=False))
    return Group(Text.assemble((metric.name, "head"), "  ", (needs, "quiet")), *map(indented, below))


def metric_page(metric: type[Metric]) -> Page:
    """Return the whole screen of one metric."""
    rows = {
        "Needs": ", ".join(metric.needs),
        "Optional": f"{', '.join(metric.wants)} (required by auto and suites)" if metric.wants else "",
        "Steps": ", ".join(metric.asks),
        "Calls": f"about {metric.calls} per record of typical length, with a language model"
        if metric.calls
        else "none",
        "Suites": ", ".join((*metric.suites, "all")),
        "Scores": ", ".join(metric.score_names()) if metric.columns else "",
        "Alias": f"{', '.join(metric.blocks)} (for per-record parameters)" if metric.blocks else "",
        "In other tools": catalogue.elsewhere_said(metric),
        "Source": metric.source,
    }
    explained = catalogue.explained(metric)
    parameters: list[tuple[RenderableType, ...]] = [
        ("", Text("default", style="quiet"), Text("meaning", style="quiet")),
    ]
    parameters += [
        (one.name, written(one.default), Text(explained[one.name].replace("`", ""), style="quiet"))
        for one in fields(metric)
    ]
    return page(
        Text.assemble((metric.name, "head"), "  ", (metric.title, "quiet"), overflow="fold"),
        Prose(about(metric)),
        facts(told := [row for row in rows.items() if row[1]], max(len(label) for label, _ in told)),
        section("Parameters", indented(grid(parameters, "<~~"))),
        Command(f"ragstone run FILE --metrics {metric.name} --set {metric.name}.threshold=0.8"),
    )


def about(metric: type[Metric]) -> str:
    """Return the metric's docstring as running text, without its parameters and code markup."""
    return " ".join(catalogue.PARAMETER.sub("", metric.__doc__ or "").replace("``", "").split())


def written(value: object) -> str:
    """Return a default value as written in ``ragstone.toml``."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(written(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


# ---- judges


def judge_list(judges: Sequence[KnownJudge], look: Look) -> Page:
    """Return the judges, their addresses, and whether the variable of each key is set."""
    tables = [judge for judge in judges if judge.table]
    hint = "To use another address: vllm:MODEL@http://HOST:PORT/v1. To test a judge: "
    return page(
        _judges([judge for judge in judges if not judge.table], look, look.width - 2),
        section("In ragstone.toml", indented(_judges(tables, look, look.width - 4))) if tables else None,
        Prose(f"{hint}ragstone{NBSP}judges --check{NBSP}NAME", "quiet"),
    )


def _judges(judges: Sequence[KnownJudge], look: Look, width: int) -> Table:
    beyond = width - 2 - max(len(flat(judge.name)) for judge in judges)
    keys = max(len(judge.variable) for judge in judges) + len(" not set")
    room = beyond - 2 - keys if beyond - 2 - keys >= BESIDE else beyond  # for the address; the key beside or below it
    rows = []
    for judge in judges:
        lines = [Text(flat(judge.model))] if judge.model else []
        if judge.where:
            lines.append(Text(middle(flat(judge.where), room, look.ellipsis), style="quiet"))
        if judge.price:
            lines.append(Text(f"price: {flat(judge.price.partition(': ')[2])}", style="quiet"))
        if judge.note:
            lines.append(Text(judge.note))
        if judge.variable:
            state = (" set", "") if judge.key_set else (" not set", "quiet")
            key = Text.assemble((judge.variable, "quiet"), state)
            if lines and room < beyond:
                lines[0] = Text.assemble(lines[0], " " * (room - lines[0].cell_len + 2), key)
            else:
                lines.append(key)
        rows.append((flat(judge.name), Group(*lines)))
    return grid(rows, "<~")


def judge_checked(judge: str, seconds: float, said: str, look: Look) -> Page:
    """Return the result of a successful check of a judge."""
    words = Text.assemble(look.mark("yes"), " ", (flat(judge), "head"), f"  answered in {seconds:.1f} s")
    return page(Group(words, indented(Text(flat(said), style="quiet"))))


# ---- an input


def survey_page(found: Survey, able: Mapping[str, int], named: Mapping[str, str], following: str, look: Look) -> Page:
    """Return the fields of an input, the available metrics, notes and unreadable records.

    ``named`` gives the reason why a metric runs only if named, or cannot run; ``following`` is the next command, if
    any.
    """
    counts = plural(found.records, "readable record" if found.set_aside else "record")
    if found.set_aside:
        counts += f", {number(found.set_aside)} unreadable"
    return page(
        heading(found.name, look, counts),
        _fields(found) if found.records else None,
        *(_metrics(able, named, found.records) if any(able.values()) else ()),
        _notes("Notes", warnings(found, MOST_NOTES)),
        _notes("Unreadable records", [*map(flat, found.messages)]),
        facts([("Next", Command(following)), *_unmapped(found)]) if following else None,
    )


def _unmapped(found: Survey) -> Iterable[tuple[str, RenderableType]]:
    """Yield the main fields that the next run lacks: no record has them, and no option is suggested."""
    given = {*found.meant, *(word.partition("=")[0] for word in found.remedy)}
    for name in WORDS if found.records and "records" not in given else ():
        if not (found.present[name] or found.blank.get(name) or name in given):
            what = f"no record has {nouns([name], article=True)[0]}, so some metrics are skipped"
            yield "", Prose(f"{what}; to read the {name} from another field: --field {name}=PATH", "quiet")


def _metrics(able: Mapping[str, int], named: Mapping[str, str], total: int) -> Iterable[RenderableType | None]:
    usual = {name: count for name, count in able.items() if count and not named.get(name)}
    others = {name: count for name, count in able.items() if count and named.get(name)}
    unable = grouped(
        (name, named.get(name) or "no record has all required fields") for name, count in able.items() if not count
    )
    yield _shares("Metrics that run", usual, total) if usual else None
    if others:
        whys = {
            name: named[name].replace(f"with -m {name}, ", "").removesuffix(HOW_TO_ADD.format(name)) for name in others
        }
        yield _shares("Metrics that run if you add their names: -m auto,NAME", others, total, whys)
    if unable:
        lines = [Prose(f"{', '.join(names)}: {why}", "quiet") for why, names in unable.items()]
        yield section("Metrics that cannot run", *map(indented, lines))


def _fields(found: Survey) -> RenderableType:
    read = {
        name: f"from the field{'s' * (len(columns) > 1)} {flat(', '.join(columns))}"
        for name, columns in found.sources.items()
        if columns != (name,)
    }
    return _shares("Fields", {"id": found.identified, **found.present}, found.records, read)


def _shares(title: str, counts: Mapping[str, int], total: int, remarks: Mapping[str, str] = NOTHING) -> RenderableType:
    whole = number(total)
    rows = []
    for name, count in counts.items():
        words = f"all {whole}" if count == total else f"{number(count):>{len(whole)}} of {whole}" if count else "none"
        rows.append((Text(name, "" if count else "quiet"), Text(words, "quiet"), Text(remarks.get(name, ""), "quiet")))
    return section(title, indented(grid(rows, "<<~")))


def _notes(title: str, lines: Sequence[str]) -> RenderableType | None:
    rows = [(Text("·", style="quiet"), clean(line)) for line in lines]
    return section(title, indented(marked(rows, margin=1))) if rows else None


def input_list() -> Page:
    """Return the fields of a record with their aliases, and the supported export formats."""
    names = [(field, Text(", ".join(aliases) or "none")) for field, aliases in ALIASES.items()]
    forms = [(one.name, Group(Text(one.title), Text(one.reads, style="quiet"))) for one in EXPORTS]
    return page(
        section("Fields and their aliases", indented(grid(names, "<~"))),
        section("Formats, detected or set with --from", indented(grid(forms, "<~"))),
        Prose(
            "Case and separators are ignored: retrievedContexts is read as retrieved_contexts. "
            "To see how a file is read: ragstone validate FILE"
        ),
    )


def schema_list(documents: Mapping[str, str]) -> Page:
    """Return the list of documents with a schema."""
    return page(
        section("JSON Schemas", indented(grid(list(documents.items()), "<~"))),
        facts([("Next", Command("ragstone schema result"))], 4),
    )


# ---- written files, served pages


def init_page(path: str) -> Page:
    """Return the message about a new configuration file, with the next command."""
    words = f"Wrote {flat(path)}. Every setting in it is commented out, so nothing changes yet."
    return page(Prose(words), facts([("Next", Command("ragstone run FILE"))], 4))


def run_written(label: str, run: Run, path: Path, *parts: str) -> Page:
    """Return the message about a file (or a folder, whose size is omitted) with a run's results."""
    what = [f"{plural(len(run), 'record')} from run {run.id}", *parts]
    what += [size(path.stat().st_size)] if path.is_file() else []
    return page(facts([(label, str(path)), ("", DOT.join(what))]))


def label_page_written(told: Mapping[str, Any], wanted: int, unit: str) -> Page:
    """Return the message about a written labelling page: the sample, the expected time, and the next step."""
    draw, minutes = told["draw"], told["minutes"]
    how = ", on which judges disagree most or are least certain" if draw["mode"] == "worst" else ", drawn at random"
    every = draw["n"] == draw["of"]
    kept = (
        f"all {plural(draw['n'], 'scored record')}" if every else f"{number(draw['n'])} of {number(draw['of'])} scored"
    )
    few = f" (-n is {number(wanted)})" if draw["n"] < wanted else ""
    by = f" by {flat(draw['by'])}" if draw.get("by") else ""
    lines: list[tuple[str, str | Text]] = [
        ("Page", flat(told["written"])),
        ("", size(told["bytes"])),
        ("Records", kept + ("" if every else f" records{how}{by} (seed {draw['seed']})") + few),
        ("To label", f"{plural(told['units'], unit)}: all {unit}s in these records ({scored_by(told['metric'])})"),
        ("Time", f"about {plural(minutes, 'minute')}, at {SECONDS} s per {unit}"),
    ]
    if draw["mode"] == "worst":
        lines.append(("Note", "not a random sample, so its labels are not used for intervals or corrected means"))
    lines.append(("Next", "open the page in a browser, label, export, then run"))
    return page(facts([*lines, ("", Command(told["next"]))]))


def serving(address: str, run: Run | None) -> Page:
    """Return the address of the served page of a run or, for None, of all runs."""
    which = "all runs in the store" if run is None else f"{flat(run.name)}{DOT}run {run.id}"
    what = f"{which}{DOT}on this machine only"
    return page(facts([("Page", Text(address, style="head")), ("", what), ("Stop", "Ctrl-C")]))


def cache_page(told: Mapping[str, Any]) -> Page:
    """Return the whole screen of ``cache info``."""
    if not told["calls"]:
        return page(Text(f"{flat(told['store'])}: no calls are stored; {plural(told['runs'], 'run')}"))
    unused = f"{number(told['unused'])} ({size(told['unused_bytes'])})" if told["unused"] else "none"
    rows: list[tuple[str, RenderableType]] = [
        ("Store", f"{told['store']}, {size(told['bytes'])}"),
        ("Runs", number(told["runs"])),
        ("Calls", number(told["calls"])),
        ("Oldest", moment(told["oldest"])),
        ("Newest", moment(told["newest"])),
        ("Unused calls", unused),
    ]
    if told["unused"]:
        rows.append(("Next", "ragstone cache prune --unused --dry-run"))
    return page(facts(rows, 12), _groups("Calls by judge, step and version", told["groups"]))


def pruning_page(told: Mapping[str, Any]) -> Page:
    """Return the calls and runs that were deleted, or would be in a dry run."""
    what = went(told)
    if not told["groups"] and not told["runs"]:
        said = "Nothing to delete."
    elif not told["done"]:
        said = f"{what[:1].upper()}{what[1:]} would be deleted."
    else:
        before, after = size(told["bytes"]), size(told["bytes_after"])
        said = f"Deleted {what}." + (f" The store shrank from {before} to {after}." if after != before else "")
    note = Prose(flat(told["note"]), "quiet") if told.get("note") else None
    title = "Deleted calls" if told["done"] else "Calls to delete"
    return page(Prose(said), note, _groups(title, told["groups"]) if told["groups"] else None)


def went(told: Mapping[str, Any]) -> str:
    """Return what pruning deletes, calls and runs, in a few words."""
    parts = [f"{plural(told['calls'], 'call')} ({size(told['call_bytes'])})"] if told["calls"] else []
    if told["runs"]:
        parts.append(f"the results of {plural(len(told['runs']), 'run')}")
    return (" and ".join(parts) or "nothing").replace(NBSP, " ")


def _groups(title: str, groups: Sequence[Mapping[str, Any]]) -> RenderableType:
    columns = [
        Column("judge", [flat(group["judge"]) for group in groups], least=20),
        Column("step", [group["task"] for group in groups]),
        Column("version", [flat(group["maker"]) for group in groups], drop=3, least=20),
        Column("calls", [number(group["calls"]) for group in groups], right=True),
        Column("size", [size(group["bytes"]) for group in groups], right=True, drop=2),
        Column("newest", [moment(group["newest"]) for group in groups], drop=1, style="quiet"),
    ]
    return section(title, indented(Fitted(columns)))

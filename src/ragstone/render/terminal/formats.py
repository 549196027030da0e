"""How the replies of a run were read: a table by judge, below it what went wrong, and what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.analysis.reply_formats import WRITES_NOTHING
from ragstone.analysis.run import Run
from ragstone.render.terminal.outcome import Place
from ragstone.render.terminal.screen import Look, Page, facts, indented, page, prose, section, to_paste
from ragstone.render.text import NBSP, dollars, flat, middle, number, percent, plural, shorten, tokens

LEGEND: Final = (
    "calls: first askings; whole: read without a problem; entries: units that could be used (a list or a trace is "
    "one); left: still missing after asking again; by: the readers"
)
READERS: Final = 16
"""Columns for the readers below which they stand under the table."""
NAMES: Final = ("step", "style", "format")
COUNTS: Final = ("calls", "whole", "entries", "left")
LINES: Final = 2
"""Lines of a reply, and of what is wrong with it."""
_PROBLEMS: Final[Mapping[str, str]] = {
    "format_error": "nothing in it that was asked for",
    "count_mismatch": "another number of labels",
    "truncation": "some units left out",
    "unknown_label": "labels outside the scale, or in doubt",
    "cut_off": "cut off at its length limit",
    "withheld": "withheld by a content filter",
}
"""What the statuses mean."""


def formats_page(run: Run, told: Mapping[str, Any], look: Look, place: Place | None = None) -> Page:
    """The whole screen; ``told`` is what ``formats --json`` prints."""
    groups: Sequence[Mapping[str, Any]] = told["groups"]
    right = f"run {run.id}"
    if groups:
        right += f" {look.dot} {plural(told['calls'], 'call')} read".replace(NBSP, " ")
    several = len({group["judge"] for group in groups}) > 1
    name = middle(flat(run.name), max(12, look.width - 6 - len(right)), look.ellipsis)
    return page(
        Text.assemble((name, "head"), "  ", (right, "quiet")),
        prose(_headline(groups), look) if groups else None,
        *(_table(judge, list(own), look) for judge, own in groupby(groups, lambda group: group["judge"])),
        prose(LEGEND, look, "quiet") if groups else None,
        *(_trouble(group, look, several=several) for group in groups if group["problems"] or group["repairs"]["calls"]),
        *(prose(line, look) for line in _aside(told, run)),
        facts(_next(run, groups, place or Place(), look), 7),
    )


def _headline(groups: Sequence[Mapping[str, Any]]) -> str:
    calls, whole, left = (sum(group[key] for group in groups) for key in ("calls", "whole", "unjudged"))
    again = sum(group["repairs"]["calls"] for group in groups)
    if not calls:
        return f"{plural(again, 'call')} mended others."
    said = f"{percent(whole / calls, calls)} of {plural(calls, 'call')} were read whole at the first asking"
    if again:
        said += f", {plural(again, 'was', 'were')} asked again"
    return f"{said}; {plural(left, 'entry is', 'entries are')} left unjudged." if left else f"{said}."


# ---- the table


def _table(judge: str, groups: Sequence[Mapping[str, Any]], look: Look) -> RenderableType:
    """A row for each step, style and format; on a narrow terminal their names are below each other."""
    names = [(group["step"], flat(group["style"]), group["format"]) for group in groups]
    told = [(f"{group['step']}: ", readers) for group in groups if (readers := _readers(group))]
    wide = [max(len(name) for name in (title, *column)) for title, *column in zip(NAMES, *names, strict=True)]
    room = look.width - 4 - sum(width + 2 for width in wide) - sum(len(title) + 2 for title in COUNTS)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    for title in NAMES if room >= 0 else NAMES[:1]:
        table.add_column(title, no_wrap=room >= 0, overflow="fold")
    for title in COUNTS:
        table.add_column(title, justify="right", no_wrap=True)
    if room >= READERS:
        table.add_column("by", overflow="fold")
    for group, (step, style, form) in zip(groups, names, strict=True):
        cells = [Text(step), Text(style), Text(form)]
        if room < 0:
            cells = [Text.assemble(step, (f"\n  {style}\n  {form}", "quiet"))]
        cells += [
            Text(number(group["calls"])),
            Text(_percent(group["whole_share"], group["calls"])),
            Text(_percent(group["read_share"], group["asked"])),
            Text(number(group["unjudged"]), style="partly" if group["unjudged"] else "quiet"),
        ]
        if room >= READERS:
            cells.append(Text(_readers(group), style="quiet"))
        table.add_row(*cells)
    below = [] if room >= READERS else [prose(f"{step}by {by}", look, "quiet", 2) for step, by in told]
    return section(middle(flat(judge), look.width - 4, look.ellipsis), indented(table), *map(indented, below))


def _percent(share: float | None, count: int) -> str:
    return percent(share, count).replace(NBSP, " ")


def _readers(group: Mapping[str, Any]) -> str:
    """By which readers, with their shares where there are several, or one that read not all."""
    calls = group["calls"]
    shares = [(flat(reader), count) for reader, count in group["readers"].items()]
    if not shares:
        return "nothing read" if calls else ""
    if len(shares) == 1 and shares[0][1] == calls:
        return shares[0][0]
    return ", ".join(f"{reader} {percent(count / calls, calls)}" for reader, count in shares)


# ---- what went wrong


def _trouble(group: Mapping[str, Any], look: Look, *, several: bool) -> RenderableType:
    """The problems of one row, what asking again came to, and samples; with the judge where there are several."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", style="quiet")
    for status, count in group["problems"].items():
        table.add_row(number(count), flat(status), _PROBLEMS.get(status, ""))
    blocks: list[RenderableType] = [table] if group["problems"] else []
    if group["repairs"]["calls"]:
        blocks.append(prose(_repairs(group), look, indent=2))
    for sample in group["samples"]:
        blocks += ["", *_sample(sample, look)]
    title = f" {look.dot} ".join(flat(group[key]) for key in ("step", "style", "format"))
    judge = middle(flat(group["judge"]), max(12, look.width - 4 - len(title)), look.ellipsis) if several else ""
    return section(title, *map(indented, blocks), note=judge)


def _repairs(group: Mapping[str, Any]) -> str:
    """How often it was asked again, what came of it, and what that cost."""
    spent = group["repairs"]
    times = plural(spent["calls"], "time") if spent["calls"] > 1 else "once"
    said = f"asked again {times}, {number(spent['mended'])} mended"
    if group["unjudged"]:
        said += f", {plural(group['unjudged'], 'entry', 'entries')} left unjudged"
    if spent["unmetered_calls"] == spent["calls"]:
        counted = "tokens unknown"
    else:
        counted = f"{tokens(spent['input_tokens'])} tokens in, {tokens(spent['output_tokens'])} out"
        if spent["unmetered_calls"]:
            counted += f" without those of {plural(spent['unmetered_calls'], 'call')}"
    return f"{said}: {counted}, {dollars(spent['dollars'])}"


def _sample(sample: Mapping[str, Any], look: Look) -> Iterable[RenderableType]:
    """Where, what was wrong, and how the reply begins."""
    room = look.width - 6
    after = ", when asked again" if sample["repair"] else ""
    told = f"  {flat(sample['status'])}{after}"
    yield Text.assemble((middle(flat(sample["record"]), max(12, room - len(told)), look.ellipsis), "head"), told)
    reply = _beginning(sample, LINES * room - 2, look)
    problem = flat(sample["problem"])
    if reply:
        problem = problem.partition(" (it begins: ")[0]  # it stands there, and longer
    if problem:
        yield Text(shorten(problem, LINES * room, look.ellipsis), overflow="fold")
    if reply:
        yield Text(reply, style="quiet", overflow="fold")


def _beginning(sample: Mapping[str, Any], room: int, look: Look) -> str:
    """The reply as far as it is shown; of a blank one nothing."""
    if sample["reply"] is None:
        return "the reply is no longer in the store"
    text = flat(sample["reply"])
    opened, closed = look.quotes
    more = look.ellipsis if sample["characters"] > len(sample["reply"]) else ""
    return f"{opened}{shorten(text + more, room, look.ellipsis)}{closed}" if text else ""


# ---- what else


def _aside(told: Mapping[str, Any], run: Run) -> Iterable[str]:
    """What of the calls is not in the table, and why."""
    for judge, calls in told["untold"].items():
        if judge in WRITES_NOTHING:  # their calls come back as data
            yield f"{judge} writes no replies, so there is nothing to read ({plural(calls, 'call')})."
        else:
            yield (
                f"{flat(judge)}: {plural(calls, 'call')} with no record of how the replies were read: made by an "
                "earlier version, or the judge writes none. Repeat the run to read them again from the store."
            )
    if told["failed"]:
        yield f"{plural(told['failed'], 'call')} failed and left no reply; the same run again sends them again."
    if run.status != "done":
        yield (
            f"The run did not end ({run.status}): only calls of its {plural(len(run), 'finished record')} are counted "
            "here. The same command goes on from there."
        )
    elif not (told["groups"] or told["untold"] or told["failed"]):
        yield "No call was made in this run, so there is nothing to read."


def _next(run: Run, groups: Sequence[Mapping[str, Any]], place: Place, look: Look) -> list[tuple[str, RenderableType]]:
    """What to try where figures say so, else the run itself."""
    lines: list[RenderableType] = []
    advised = [(flat(group["advice"]), group) for group in groups if group["advice"]]
    for advice in dict.fromkeys(advice for advice, _ in advised):
        where = [group for words, group in advised if words == advice]
        steps = ", ".join(
            f"{group['step']} ({_percent(group['whole_share'], group['calls'])} read whole)" for group in where
        )
        lines.append(prose(f"try {advice}, for {steps}", look, indent=9))
    if not lines:
        command = shlex.join(["ragstone", "show", str(run.id), *place.options])
        lines = [to_paste(command, look, 9)]
    return [("Next" if not n else "", line) for n, line in enumerate(lines)]

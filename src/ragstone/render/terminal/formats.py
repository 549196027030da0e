"""Draw the parsing statistics of a run: a table by judge, problems below it, and suggestions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from ragstone.analysis.reply_formats import WRITES_NOTHING
from ragstone.analysis.run import Run
from ragstone.render.facts import show_command
from ragstone.render.terminal.outcome import Place
from ragstone.render.terminal.screen import DOT, Command, Look, Page, Prose, facts, heading, indented, page, section
from ragstone.render.terminal.tables import Column, Fitted, beside, grid
from ragstone.render.text import dollars, flat, middle, number, percent, plural, shorten, tokens

LEGEND: Final = (
    "calls: first calls, without repairs; in full: replies parsed in full; units: share parsed (a list or a trace "
    "counts as one); unjudged: units still missing after a repair call"
)
NAMES: Final = {"step": 0, "style": 4, "format": 3}
"""The names of a row, and when a narrow screen drops them."""
LINES: Final = 2
"""Maximum number of lines of a reply, and of its problem."""
_PROBLEMS: Final[Mapping[str, str]] = {
    "format_error": "expected content missing",
    "count_mismatch": "wrong number of labels",
    "truncation": "some units left out",
    "unknown_label": "labels that are unclear or not on the scale",
    "cut_off": "cut off at the length limit",
    "withheld": "withheld by a content filter",
}
"""The meanings of the statuses."""


def formats_page(run: Run, told: Mapping[str, Any], look: Look, place: Place | None = None) -> Page:
    """Return the whole screen; ``told`` is the output of ``formats --json``."""
    groups: Sequence[Mapping[str, Any]] = told["groups"]
    read = [plural(told["calls"], "call")] if groups else []
    several = len({group["judge"] for group in groups}) > 1
    return page(
        heading(run.name, look, f"run {run.id}", *read),
        Prose(_headline(groups)) if groups else None,
        *(_table(judge, list(own), look) for judge, own in groupby(groups, lambda group: group["judge"])),
        Prose(LEGEND, "quiet") if groups else None,
        *(_trouble(group, look, several=several) for group in groups if group["problems"] or group["repairs"]["calls"]),
        *(Prose(line) for line in _aside(told, run)),
        facts([("Next", _next(run, groups, place or Place()))], 7),
    )


def _headline(groups: Sequence[Mapping[str, Any]]) -> str:
    calls, whole, left = (sum(group[key] for group in groups) for key in ("calls", "whole", "unjudged"))
    again = sum(group["repairs"]["calls"] for group in groups)
    if not calls:
        return f"Only repair calls were sent ({number(again)})."
    said = f"{percent(whole / calls, calls)} of {plural(calls, 'first reply', 'first replies')} were parsed in full"
    if again:
        said += f"; {plural(again, 'repair call')} sent"
    return f"{said}; {plural(left, 'unit remains', 'units remain')} unjudged." if left else f"{said}."


# ---- the table


def _table(judge: str, groups: Sequence[Mapping[str, Any]], look: Look) -> RenderableType:
    columns = [
        *(Column(title, [flat(group[title]) for group in groups], drop=drop) for title, drop in NAMES.items()),
        Column("calls", [number(group["calls"]) for group in groups], right=True, drop=2),
        Column("in full", [percent(group["whole_share"], group["calls"]) for group in groups], right=True),
        Column("units", [percent(group["read_share"], group["asked"]) for group in groups], right=True),
        Column("unjudged", [Text(number(left := group["unjudged"]), style="partly" if left else "quiet")
                        for group in groups], right=True),
        Column("parser", [_readers(group) for group in groups], drop=1, least=16, style="quiet"),
    ]  # fmt: skip
    return section(middle(flat(judge), look.width - 4, look.ellipsis), indented(Fitted(columns)))


def _readers(group: Mapping[str, Any]) -> str:
    """Return the readers that parsed the replies, with shares unless a single one parsed all of them."""
    calls = group["calls"]
    shares = [(flat(reader), count) for reader, count in group["readers"].items()]
    if not shares:
        return "nothing parsed" if calls else ""
    if len(shares) == 1 and shares[0][1] == calls:
        return shares[0][0]
    return ", ".join(f"{reader} {percent(count / calls, calls)}" for reader, count in shares)


# ---- problems


def _trouble(group: Mapping[str, Any], look: Look, *, several: bool) -> RenderableType:
    """Return the problems of one row, the outcome of repair calls, and samples; with the judge if there are several."""
    problems = [
        (number(count), flat(status), Text(_PROBLEMS.get(status, ""), style="quiet"))
        for status, count in group["problems"].items()
    ]
    blocks: list[RenderableType] = [grid(problems, "><~")] if problems else []
    if group["repairs"]["calls"]:
        blocks.append(Prose(_repairs(group)))
    for sample in group["samples"]:
        blocks += ["", *_sample(sample, look)]
    title = DOT.join(flat(group[key]) for key in NAMES)
    judge = middle(flat(group["judge"]), max(12, look.width - 4 - len(title)), look.ellipsis) if several else ""
    return section(title, *map(indented, blocks), note=judge)


def _repairs(group: Mapping[str, Any]) -> str:
    spent = group["repairs"]
    said = f"{plural(spent['calls'], 'repair call')}, {number(spent['mended'])} successful"
    if group["unjudged"]:
        said += f", {plural(group['unjudged'], 'unit')} left unjudged"
    if spent["unmetered_calls"] == spent["calls"]:
        counted = "tokens unknown"
    else:
        counted = f"{tokens(spent['input_tokens'])} tokens in, {tokens(spent['output_tokens'])} out"
        if spent["unmetered_calls"]:
            counted += f" excluding {plural(spent['unmetered_calls'], 'call')}"
    return f"{said}: {counted}, {dollars(spent['dollars'])}"


def _sample(sample: Mapping[str, Any], look: Look) -> Iterable[RenderableType]:
    room = look.width - 6
    after = " in a repair call" if sample["repair"] else ""
    yield from beside(sample["record"], f"{flat(sample['status'])}{after}", look, room)
    reply = "the reply is no longer in the store"
    if sample["reply"] is not None:
        more = look.ellipsis if sample["characters"] > len(sample["reply"]) else ""
        text = flat(sample["reply"])
        reply = f"“{shorten(text + more, LINES * room - 2, look.ellipsis)}”" if text else ""
    problem = flat(sample["problem"])
    if reply:
        problem = problem.partition(" (it begins: ")[0]  # more of the reply is shown below
    if problem:
        yield Text(shorten(problem, LINES * room, look.ellipsis), overflow="fold")
    if reply:
        yield Text(reply, style="quiet", overflow="fold")


# ---- other calls, next command


def _aside(told: Mapping[str, Any], run: Run) -> Iterable[str]:
    for judge, calls in told["untold"].items():
        if re.split("[/#]", judge)[0] in WRITES_NOTHING:  # its replies are data
            yield f"{flat(judge)} has no replies to parse ({plural(calls, 'call')})."
        else:
            yield (
                f"{flat(judge)}: no parsing data for {plural(calls, 'call')}, made by an earlier version or by a judge "
                "that writes no replies. Repeat the run to parse the stored replies again."
            )
    if told["failed"]:
        yield f"{plural(told['failed'], 'call')} failed without a reply; run the same command to send them again."
    if run.status != "done":
        yield (
            f"The run did not finish ({run.status}): only calls for its {plural(len(run), 'finished record')} are "
            "counted here. Run the same command to resume."
        )
    elif not (told["groups"] or told["untold"] or told["failed"]):
        yield "This run made no calls, so there is nothing to show."


def _next(run: Run, groups: Sequence[Mapping[str, Any]], place: Place) -> list[RenderableType]:
    """Return suggestions if the figures call for any, else the command that shows the run."""
    advised: dict[str, list[str]] = {}
    for group in groups:
        if group["advice"]:
            whole = percent(group["whole_share"], group["calls"])
            advised.setdefault(flat(group["advice"]), []).append(f"{group['step']} ({whole} parsed in full)")
    if not advised:
        return [Command(show_command(run, place.options))]
    return [Prose(f"for {', '.join(steps)}, try {advice}") for advice, steps in advised.items()]

"""Draw an estimate: calls, cost and time in one sentence and by metric and step, assumptions, and the next command."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace
from rich.console import RenderableType

from ragstone.analysis.run import part_said
from ragstone.forecast.figures import Range, Sum, added
from ragstone.forecast.summary import Estimate, price_said
from ragstone.render.facts import called, left_out_said
from ragstone.render.terminal.outcome import left_out_lines
from ragstone.render.terminal.screen import Command, Look, Page, Prose, facts, heading, page, told_rows
from ragstone.render.terminal.tables import Column, Fitted
from ragstone.render.text import dollars, duration, flat, number, plural, tokens

UNKNOWN: Final = "?"
"""Shown for a cost with an unknown price; a column with nothing else is left out."""
LEAST: Final = 20
"""Minimum width, in columns, of a step with its judge; other columns are dropped to keep it."""


def estimate_page(estimate: Estimate, following: str, look: Look, source: str) -> Page:
    """Return the whole screen of an estimate of ``source``; ``following`` is the command that starts the run."""
    part = part_said(estimate.extent)
    return page(
        heading(estimate.name, look, plural(estimate.records, "record"), *([part] if part else [])),
        Prose(sentence(estimate)),
        _table(estimate) if any(not row.free for row in estimate.rows) else None,
        _facts(estimate, following, source),
    )


def sentence(estimate: Estimate) -> str:
    """Return calls, cost and time in one sentence, with their ranges."""
    total = estimate.total
    stored = f"; {plural(total.stored, 'more call')} {'is' if total.stored == 1 else 'are'} in the store"
    if not total.calls.high:
        asked = any(row.free for row in estimate.rows)
        why = "the judge runs on this machine" if asked and not total.stored else "every reply is in the store"
        took = f"about {duration(estimate.seconds.expected)}" if estimate.seconds.expected >= 1 else "under 1 s"
        return f"Free: {why}. Takes {took}."
    about = "" if estimate.exact else "about "
    took = duration(estimate.seconds.expected)
    ends = f"{duration(estimate.seconds.low)} to {duration(estimate.seconds.high)}"
    said = f"This run would make {about}{plural(round(total.calls.expected), 'call')}"
    if not estimate.exact:
        said += f" ({_ends(total.calls, lambda value: number(round(value)))})"
    money, unknown = "", [price for price in estimate.prices if price.price is None]
    if total.dollars is None:
        meant = [f" (did you mean '{price.nearest}'?)" if price.nearest else "" for price in unknown]
        named = ", ".join(called(price.judge) + near for price, near in zip(unknown, meant, strict=True))
        said = f"Price unknown: {named}. {said}"
    elif total.dollars.expected:
        money = f", cost {about}{dollars(total.dollars.expected)} ({_ends(total.dollars, dollars)})"
    else:
        money = ", cost nothing"
    if estimate.waves:
        last = " and some live calls" if estimate.live else ""
        spent = f"end within {24 * estimate.waves} hours, in {plural(estimate.waves, 'round')} of batches{last}"
    else:
        spent = f"take about {took} ({ends})"
    return f"{said}{money} and {spent}" + (stored if total.stored else "") + "."


def _ends(found: Range, written: Any) -> str:
    return f"{written(found.low)} to {written(found.high)}"


# ---- by metric and step


def _table(estimate: Estimate) -> RenderableType:
    """Return a table with a line per metric, the lines of its steps below it if it has several, and the total."""
    judges = {row.judge for row in estimate.rows}
    lines: list[tuple[str, str, tuple[str, ...]]] = []
    for metric in dict.fromkeys(row.metric for row in estimate.rows):
        lines.append((metric, "head", _cells(estimate.of(metric=metric))))
        steps = [row for row in estimate.rows if row.metric == metric]
        for row in steps if len(steps) > 1 or len(judges) > 1 or steps[0].free else ():
            who = f"  {flat(row.judge).partition('@')[0]}" if len(judges) > 1 else ""
            cells = _cells(added([row]))
            lines.append((f"  {row.step}{who}", "quiet", ("", "", "", "", "free") if row.free else cells))
    lines.append(("total", "head", _cells(estimate.total)))
    names, styles, cells = zip(*lines, strict=True)
    drops = {"calls": 0, "in store": 1, "tokens in": 3, "out": 2, "cost": 0}
    columns = [
        Column(title, column, right=True, drop=drop)
        for (title, drop), column in zip(drops.items(), zip(*cells, strict=True), strict=True)
        if {*column} - {UNKNOWN, ""}
    ]
    return Fitted([Column("", names, least=LEAST), *columns], styles)


def _cells(found: Sum) -> tuple[str, ...]:
    return (
        number(round(found.calls.expected)),
        number(found.stored) if found.stored else "",
        tokens(round(found.input_tokens.expected)),
        tokens(round(found.output_tokens.expected)),
        UNKNOWN if found.dollars is None else dollars(found.dollars.expected),
    )


# ---- assumptions


def _facts(estimate: Estimate, following: str, source: str) -> RenderableType:
    alone = [
        f"{called(one.judge)} for all {step} units: {plural(one.calls, 'call')}, {dollars(one.dollars)}"
        for step, one in estimate.alone.items()
    ]
    judges = {called(row.judge) for row in estimate.rows if not row.free}
    by = f" by {next(iter(judges))}" if len(judges) == 1 else ""  # what was assumed names its judge among several
    assumed = estimate.assumed.items() if judges else ()
    told: dict[str, Iterable[str | Command]] = {
        "Basis": [f"{flat(what.removesuffix(by))}: {how}" for what, how in assumed],
        "Alone": alone,
        "Tokens": [f"{flat(judge).partition('@')[0]}: {how}" for judge, how in estimate.counted.items()],
        "Price": [flat(price_said(replace(price, nearest=""))) for price in estimate.prices],
        "Budget": _budget(estimate),
        "Skipped": left_out_lines([*left_out_said(estimate.left_out)], source),
        "Unreadable": [plural(estimate.set_aside, "record")] if estimate.set_aside else [],
    }
    rows = [row for label, lines in told.items() for row in told_rows(label, lines, "quiet")]
    return facts([*rows, ("Next", Command(following))])


def _budget(estimate: Estimate) -> list[str]:
    if not estimate.limits:
        suggested = next_budget(estimate) is not None
        return (
            ["the suggested --max-cost is the highest estimate plus 10%, plus the maximum cost of one call"]
            if suggested
            else []
        )
    if estimate.limits.cost is not None and estimate.total.dollars is None:
        return ["cannot be checked in dollars: a price is unknown"]
    words = {
        None: "may be reached: the limit is within the range of the estimate",
        True: "enough, even for the highest estimate",
        False: "below the estimate: the run would stop early",
    }
    return [words[estimate.fits()]]


def next_budget(estimate: Estimate) -> float | None:
    """Return a round budget that the run will not reach if the estimate holds; None without a cost to limit."""
    money = estimate.total.dollars
    if money is None or not money.high:
        return None
    enough = 1.1 * money.high + estimate.worst.dollars
    step = 10.0 ** (math.floor(math.log10(enough)) - 1)
    return round(math.ceil(enough / step) * step, 12)

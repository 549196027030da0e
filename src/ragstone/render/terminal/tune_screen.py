"""Draw the screen of ``ragstone tune``: the combination that agrees best with people, the others, and the cost."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.analysis.tuning import Combination, FittedThreshold, Tuning
from ragstone.forecast.summary import Estimate
from ragstone.metrics import find
from ragstone.render.agreement import ends_said, kappa_said
from ragstone.render.terminal.screen import DOT, Command, Look, Page, Prose, facts, indented, page, section
from ragstone.render.terminal.tables import Column, Fitted
from ragstone.render.text import coefficient, dollars, flat, number, percent, plural, shorten

SHOWN: Final = 12
"""Maximum number of combinations listed."""
COUNTED: Final = (
    "A unit without a parsed verdict counts as a disagreement. per 1,000: the cost of judging 1,000 units, with stored "
    "replies counted as if they were paid for again"
)
LEAST: Final = 16
"""Minimum width, in columns, of a judge's name; other columns are dropped to keep it."""
STYLE: Final = 12
"""The same minimum for a style and a format."""


def tune_page(
    found: Tuning, sources: Sequence[str], look: Look, command: Sequence[str], written: tuple[Path, str] | None
) -> Page:
    """Return the whole screen; ``command`` is the next command, ``written`` the settings file and the added lines."""
    units = plural(found.units, find(found.metric).unit)
    about = [f"{found.metric}: {units} from {plural(found.records, 'record')}", *map(flat, sources)]
    source = shorten(DOT.join(about), look.width - 2, look.ellipsis)
    return page(
        Group(Prose(headline(found), "head"), Text(source, style="quiet")),
        Group(*(Prose(line) for line in _noise(found))) if len(found.tried) > 1 and found.winner.read else None,
        Group(_table(found), *(Prose(line, "quiet") for line in _legend(found))),
        *(_threshold(fit) for fit in found.thresholds),
        _left_out(found),
        _written(written),
        facts(_rows(found, command)),
    )


def headline(found: Tuning) -> str:
    """Return ``Winner: openai:gpt-4o with json, kappa .71 … on 20 held-out records``; no winner among equals."""
    winner = found.winner
    if not winner.read:
        return "No unit was judged, so there is nothing to compare."
    won, what = ("No significant winner; chosen: " if found.equals else "Winner: "), "held-out record"
    if len(found.tried) == 1:
        won, what = "", "record"
    kappa = f"kappa {kappa_said(winner.kappa, winner.interval)} on {plural(found.halves[1], what)}"
    return f"{won}{_called(winner.combination)}, {kappa}."


def _called(combination: Combination) -> str:
    chosen = " and ".join(flat(part) for part in (combination.style, combination.format) if part)
    return flat(combination.judge) + (f" with {chosen}" if chosen else "")


def _noise(found: Tuning) -> Iterator[str]:
    """Yield whether the winner is significantly better and, if not, the cheapest of the equally good ones."""
    others, equal = len(found.tried) - 1, len(found.equals)
    other = _called(next(one.combination for one in found.tried if one is not found.winner))
    if not equal:
        yield f"Significantly better than {other if others == 1 else f'all {others} others'}."
        return
    rest = other if others == 1 else f"{equal} of the {others} others" if equal < others else f"any of {others} others"
    yield f"No significant difference from {rest}."
    cheap = found.cheapest
    if dollars(cheap.cost) != dollars(found.winner.cost):  # it is also shown as cheaper
        yield (
            f"The cheapest of these is {_called(cheap.combination)}: kappa {kappa_said(cheap.kappa, cheap.interval)}, "
            f"{dollars(cheap.cost)} instead of {dollars(found.winner.cost)} per 1,000 units."
        )


def _table(found: Tuning) -> RenderableType:
    tried = found.tried[:SHOWN]

    def column(title: str, cells: Sequence[str], drop: int = 0) -> Column:
        return Column(title, cells, right=True, drop=drop, short=title.removesuffix(" kappa"))

    named = {
        "style": [flat(one.combination.style) for one in tried],
        "format": [flat(one.combination.format) for one in tried],
    }
    return Fitted([
        Column("judge", [flat(one.combination.judge) for one in tried], least=LEAST),
        *(Column(title, cells, least=STYLE) for title, cells in named.items() if any(cells)),
        *([column("tuning kappa", [coefficient(one.chosen_on) for one in tried])] if len(tried) > 1 else []),
        column("test kappa" if len(tried) > 1 else "kappa", [coefficient(one.kappa, one.interval) for one in tried]),
        column("95% CI", [ends_said(one.interval) for one in tried], 4),
        Column("", ["" if one is found.winner else "=" if one.equal else "<" for one in tried]),
        column("parsed", [percent(one.read) for one in tried], 2),
        column("per 1,000", ["unknown" if one.cost is None else dollars(one.cost) for one in tried], 3),
        column("run", [str(one.run) for one in tried], 1),
    ])  # fmt: skip


def _legend(found: Tuning) -> Iterator[str]:
    if (more := len(found.tried) - SHOWN) > 0:
        yield f"{plural(more, 'more combination')}: add --json."
    if len(found.tried) == 1:
        yield f"{COUNTED}."
        return
    yield (
        f"The winner was chosen on {plural(found.halves[0], 'record')}; kappa is measured on the other "
        f"{number(found.halves[1])}. {COUNTED}."
    )
    yield (
        "=: not significantly different from the first; <: significantly worse (not adjusted for multiple comparisons)."
    )


def _threshold(fit: FittedThreshold) -> RenderableType:
    held = f"on held-out records ({fit.folds} folds, {plural(fit.units, 'unit')})"
    if fit.after == fit.before:
        said = f"{fit.before:g} is already the best threshold: kappa {coefficient(fit.kappa_before)}."
    else:
        ends = [
            kappa_said(kappa, interval)
            for kappa, interval in ((fit.kappa_before, fit.interval_before), (fit.kappa_after, fit.interval_after))
        ]
        verdict = f"no gain, so keep {fit.before:g}"
        if fit.better:
            verdict = "a significant gain" if fit.shown else "not significant"
        way = "Lowering" if fit.after < fit.before else "Raising"
        moved = f"{way} the threshold from {fit.before:g} to {fit.after:g}"
        said = f"{moved} changes kappa from {ends[0]} to {ends[1]} {held}; {verdict}."
    return section(f"Threshold for {flat(fit.judge)}", indented(Prose(said)))


def _left_out(found: Tuning) -> RenderableType | None:
    if not found.left_out:
        return None
    reasons = Counter(found.left_out.values())
    rows = [Prose(f"{number(count)}: {flat(reason)}", "quiet") for reason, count in reasons.items()]
    title = plural(len(found.left_out), "combination")
    return section(f"{title} left out", indented(Group(*rows)))


def _written(written: tuple[Path, str] | None) -> RenderableType | None:
    if written is None:
        return None
    path, lines = written
    if not lines:
        return Prose(f"{flat(str(path))} already has these settings.")
    return section(f"Added to {flat(str(path))}", indented(Text("\n".join(flat(line) for line in lines.split("\n")))))


def _rows(found: Tuning, command: Sequence[str]) -> Iterator[tuple[str, RenderableType]]:
    bill, estimate = found.bill, found.estimate
    yield "Calls", f"{number(bill['calls'])} sent, {number(bill['tokens'])} tokens"
    told = dollars(bill["dollars"]) if bill["calls"] else "free"
    if estimate is not None and estimate["calls"]["high"]:
        told += f" (estimated: {_money(estimate)})"
    yield "Cost", told
    for note in found.notes:
        yield "Note", Prose(note)
    yield "Next", Command(shlex.join(command))


def _money(estimate: Mapping[str, Any]) -> str:
    money = estimate["dollars"]
    if money is None:
        return "price unknown"
    low, high = dollars(money["low"]), dollars(money["high"])
    return dollars(money["expected"]) if low == high else f"{low} to {high}"


def estimate_lines(
    combinations: Sequence[Combination], estimates: Sequence[Estimate], total: Mapping[str, Any]
) -> Page:
    """Return the estimate of each combination, most expensive first, and of all together."""
    totals = [(combination, estimate.total) for combination, estimate in zip(combinations, estimates, strict=True)]
    dear = sorted(totals, key=lambda pair: -(pair[1].dollars.expected if pair[1].dollars else pair[1].calls.expected))
    drawn = Fitted([
        Column("combination", [flat(str(combination)) for combination, _ in dear[:SHOWN]], least=LEAST),
        Column("calls", [number(round(one.calls.expected)) for _, one in dear[:SHOWN]], right=True),
        Column("tokens", [
            number(round(one.input_tokens.expected + one.output_tokens.expected)) for _, one in dear[:SHOWN]
        ], right=True, drop=1),
        Column("cost", [dollars(one.dollars.expected if one.dollars else None) for _, one in dear[:SHOWN]], right=True),
    ])  # fmt: skip
    count = plural(len(combinations), "combination")
    calls = plural(round(total["calls"]["expected"]), "call")
    more = f" The {SHOWN} that cost most:" if len(dear) > SHOWN else ""
    said = f"{count} would make about {calls}; cost: {_money(total)}.{more}"
    return page(Prose(said), drawn if len(combinations) > 1 else None)

"""Who answered what in a cascade, where the first was sure, and what that saved, as rows among a run's facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.console import RenderableType

from ragstone.analysis.cascades import partial, silent
from ragstone.render.terminal.screen import Look, prose
from ragstone.render.text import NBSP, dollars, flat, number, percent, plural
from ragstone.stats.points import points

LEAST_RATE: Final = 0.0001
"""The lowest rate that is written out."""
Row = tuple[str, RenderableType]


def cascade_rows(told: Mapping[str, Mapping[str, Any]], look: Look, left: int) -> list[Row]:
    """Three rows for each step, to stand ``left`` columns from the margin."""
    rows: list[Row] = []
    for step, found in told.items():
        rows.append(("Cascade", prose(f"{step}: {answered(found)}", look, indent=left)))
        rows.append(("", prose(sureness(found), look, "quiet", left)))
        rows.append(("Saved", prose(saved(found), look, indent=left)))
    return rows


def answered(found: Mapping[str, Any]) -> str:
    """How many units stand by whose word: of a run, or of one record."""
    counts = found["answered"]
    whole = sum(counts.values()) + found["unjudged"]
    (first, own), *others = counts.items()
    share = f" ({percent(own / whole, whole)})" if whole else ""
    parts = [f"{called(first)} answered {number(own)} of {plural(whole, 'unit')}{share}"]
    parts += [f"{called(judge)} {number(count)}" for judge, count in others]
    return ", ".join(parts) + (f", {number(found['unjudged'])} unjudged" if found["unjudged"] else "")


def sureness(found: Mapping[str, Any]) -> str:
    """Which error rate was wanted, and where each judge but the last is sure for it."""
    parts = []
    for judge, band in zip(found["judges"], found["bands"], strict=False):
        yes = "never" if band["above"] is None else f"from {band['above']:g} on"
        no = "never" if band["below"] is None else f"up to {band['below']:g}"
        nothing = band["above"] is None and band["below"] is None
        where = "of nothing" if nothing else f"of a yes {yes}, of a no {no}"
        parts.append(f"{called(judge)} is sure {where}")
    return f"wanted error {rate(found['error'])} where it is sure: {'; '.join(parts)}"


def saved(found: Mapping[str, Any]) -> str:
    """The calls and the money that asking the last judge everything would have taken besides."""
    last, calls, money = called(found["judges"][-1]), found["calls"], found["dollars"]
    if not calls["saved"] and found["answered"][found["judges"][-1]] + found["unjudged"] == found["units"]:
        return f"nothing: {last} was asked everything"
    said = f"{number(calls['saved'])} of {plural(calls['alone'], 'call')}"
    if money["saved"] is None:
        return f"{said} that {last} alone would have taken; how much money is not known"
    if not money["alone"]:
        return f"{said} that {last} alone would have taken; they cost nothing"
    how = "by what its calls cost" if found["by"] == "calls" else "by the estimate"
    share = f"{dollars(max(0.0, money['saved']))} of {dollars(money['alone'])}"
    return f"{said} and {share} that {last} alone would have taken, {how}"


def doubts(told: Mapping[str, Mapping[str, Any]], metric: Mapping[str, Any]) -> list[str]:
    """What takes from a mean in the same breath: that a step's last judge answered nothing, or too little.

    Too little is where the range of the ``metric``, as the summary has it, can be seen.
    """
    said = [
        f"But {called(last)} answered nothing of what {step} left to it: this is of the easy part alone."
        for step, last in silent(told).items()
    ]
    left = partial(told)
    if left and differs(metric):
        said += [
            f"But {called(last)} left {number(lost)} of the {plural(whole, 'unit')} of {step} unjudged that were left "
            "to it: the mean leans to the easy part."
            for step, (last, lost, whole) in left.items()
        ]
    return said


def differs(metric: Mapping[str, Any]) -> bool:
    """Whether the least and the highest that a mean may be look different where they are printed."""
    if metric["low"] is None or metric["mean"] is None:
        return False
    return bool(points(metric["low"], metric["scored"]) != points(metric["high"], metric["scored"]))


def called(judge: str) -> str:
    """A judge's id without its address."""
    return flat(judge).partition("@")[0]


def rate(error: float) -> str:
    """A rate as a percentage with no more digits than it has; nothing is sure at one that is lower than any fitted."""
    if error < LEAST_RATE:
        return f"under {rate(LEAST_RATE)}"
    return f"{100 * error:g}{NBSP}%"

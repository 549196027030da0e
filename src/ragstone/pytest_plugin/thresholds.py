"""Check a score against its threshold, and explain a miss: name each claim that is not supported."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Final, Literal

from ragstone.analysis.result import Result
from ragstone.analysis.run import unit_text
from ragstone.analysis.verdicts import with_verdicts
from ragstone.errors import InputError, RagstoneError
from ragstone.render.facts import handle, shortfall
from ragstone.render.text import flat, shorten
from ragstone.render.wording import kind_of, place, why, word

__tracebackhide__ = methodcaller("errisinstance", RagstoneError)
"""Hides this code from tracebacks of errors that it raises on purpose."""

MOST: Final = 10
"""Units at most that a message names for one score."""
QUOTES: Final = 2
"""Quotes at most for each unit."""
LONG: Final = 240
"""Characters at most of a text."""

_SHOWN: Final = ("no", "partly", "unjudged")


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """Whether a score, given with its verdicts, reaches a threshold; ``unknown`` if what is unjudged decides."""

    score: Mapping[str, Any]
    least: float
    outcome: Literal["yes", "no", "unknown"]


def check_threshold(result: Result, metric: str, least: float) -> ThresholdResult:
    """Check a score; what is unjudged counts neither for the response nor against it.

    InputError if the metric is switched off, or lacks a field.
    """
    try:
        score = with_verdicts(result, result.score(metric))
    except InputError as error:
        raise error.with_traceback(None) from None
    if score["status"] in ("disabled", "missing_field"):
        raise InputError(f"{metric}: {score['status']}: {score['reason']}")
    least = round(least, 9)  # as values are
    if score["status"] == "judge_failed":
        return ThresholdResult(score, least, "unknown")
    if score["value"] is None or (score["high"] or 0.0) < least:
        return ThresholdResult(score, least, "no")
    return ThresholdResult(score, least, "yes" if (score["low"] or 0.0) >= least else "unknown")


def explain(result: Result, found: Sequence[ThresholdResult], options: Sequence[str] | None) -> str:
    """Why thresholds are missed, in plain lines, and the command that shows all, unless its ``options`` are None."""
    lines: list[str] = []
    for one in found:
        if one.outcome != "yes":
            lines.append(_head(one, result))
            lines += _named(result, one.score) if one.score["status"] != "judge_failed" else ()
    if options is not None:
        command = ["ragstone", "show", str(result.run), handle(result["id"], result["position"]), *options]
        lines.append(f"details: {shlex.join(command)}")
    return "\n".join(lines)


def _head(one: ThresholdResult, result: Result) -> str:
    score, name = one.score, one.score["metric"]
    because = _short(score["reason"])
    if score["status"] == "judge_failed":
        return f"{name} could not be judged: {because}"
    if score["value"] is None:
        return f"{name} has no value to compare with {one.least:g} ({score['status']}): {because}"
    if one.outcome == "unknown":
        low, high, least = _apart(score["low"], score["high"], one.least)
        return f"{name} is between {low} and {high}, which does not show whether it reaches {least}: {because}"
    value, least = _apart(score["value"], one.least)
    tally = shortfall(result, score)
    best = f"; even if all unjudged units were good: {_apart(score['high'], one.least)[0]}" if score["unjudged"] else ""
    return f"{name} is {value}, below {least}{': ' if tally else ''}{tally}{best}"


def _named(result: Result, score: Mapping[str, Any]) -> Iterator[str]:
    """The units that are wrong or unjudged, worst first, each with its reason and evidence."""
    units = {unit["id"]: unit for unit in result["units"]}
    verdicts = sorted(
        (verdict for verdict in score["verdicts"] if kind_of(verdict) in _SHOWN), key=lambda v: _SHOWN.index(kind_of(v))
    )
    for verdict in verdicts[:MOST]:
        yield f"  {word(score['metric'], verdict)}: {_short(unit_text(result, units[verdict['unit']]))}"
        if told := _short(why(verdict)):
            yield f"    why: {told}"
        for quote in verdict["evidence"][:QUOTES]:
            yield f'    {place(result, score["metric"], quote)}: "{_short(quote["text"])}"'
    if len(verdicts) > MOST:
        yield f"  and {len(verdicts) - MOST} more"


def _short(text: str) -> str:
    return shorten(flat(text), LONG, "...")


def _apart(*values: float) -> tuple[str, ...]:
    """The numbers with two decimals, or more if different numbers would look the same."""
    digits = 2
    while digits < 9 and len({f"{value:.{digits}f}" for value in values}) < len(set(values)):
        digits += 1
    return tuple(f"{value:.{digits}f}" for value in values)

"""Figures of an estimate: sums over calls, how far each may be off, and by what."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ragstone.questions import Task
from ragstone.tokens import SURE


class Range(NamedTuple):
    """A figure with the ends between which it will be in 19 of 20 runs, if the assumptions hold.

    ``samples`` is how much it stands on, 0 where it is assumed. Of the length of a reply the ends hold for the sum over
    many, and ``scatter`` is the standard deviation of one.
    """

    low: float
    expected: float
    high: float
    samples: int = 0
    scatter: float = 0.0

    def as_json(self, digits: int = 0) -> dict[str, float]:
        """Plain numbers."""
        low, expected, high = (round(value, digits) for value in (self.low, self.expected, self.high))
        return {"low": low, "expected": expected, "high": high}


@dataclass(slots=True)
class Figure:
    """A sum over calls in three worlds: with the fewest answers to expect, as many as expected, and the most.

    ``causes`` say how far it may be off (down, up) for other reasons than the answers. One cause is wrong for all calls
    alike, different causes are independent. ``variance`` is that of single calls.
    """

    worlds: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    causes: dict[str, list[float]] = field(default_factory=dict)
    variance: float = 0.0

    def vary(self, cause: str, low: float, expected: float, high: float) -> None:
        """Count a part of the sum that may be low or high for this cause."""
        ends = self.causes.setdefault(cause, [0.0, 0.0])
        ends[0] += expected - low
        ends[1] += high - expected

    def add(self, other: Figure) -> None:
        """Add the sum over other calls."""
        self.worlds = [one + another for one, another in zip(self.worlds, other.worlds, strict=True)]
        for cause, (down, up) in other.causes.items():
            self.vary(cause, -down, 0.0, up)
        self.variance += other.variance

    def range(self) -> Range:
        """Return the ends: the squares of independent causes add up."""
        low, expected, high = self.worlds
        ends = [*self.causes.values(), [expected - low, high - expected]]
        down, up = (
            math.sqrt(sum(max(0.0, end[side]) ** 2 for end in ends) + SURE**2 * self.variance) for side in (0, 1)
        )
        return Range(max(0.0, expected - down), expected, expected + up)


@dataclass(slots=True)
class Row:
    """Calls of one metric to one judge at one step; ``stored`` calls need not be made.

    ``again`` is what all calls of the expected world would take once more, with their replies in the request: calls,
    input, output, dollars. ``priced``: every price is known.
    """

    metric: str
    step: Task
    judge: str
    free: bool
    stored: int = 0
    calls: Figure = field(default_factory=Figure)
    input: Figure = field(default_factory=Figure)
    output: Figure = field(default_factory=Figure)
    dollars: Figure = field(default_factory=Figure)
    again: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0, 0.0])
    priced: bool = True

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Calls, input, output, dollars."""
        return self.calls, self.input, self.output, self.dollars

    def repair(self, low: float, share: float, high: float) -> None:
        """Add the calls that are repeated, as a share of all."""
        for figure, again in zip(self.figures, self.again, strict=True):
            figure.worlds = [value + share * again for value in figure.worlds]
            figure.vary("repairs", low * again, share * again, high * again)


@dataclass(frozen=True, slots=True)
class Sum:
    """Calls, tokens and dollars of some rows; ``dollars`` is None where a price is unknown."""

    calls: Range
    input_tokens: Range
    output_tokens: Range
    dollars: Range | None
    stored: int

    def as_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "calls": self.calls.as_json(),
            "in_store": self.stored,
            "input_tokens": self.input_tokens.as_json(),
            "output_tokens": self.output_tokens.as_json(),
            "dollars": None if self.dollars is None else self.dollars.as_json(6),
        }


def added(rows: Iterable[Row]) -> Sum:
    """Add up rows, without those of judges in this process."""
    rows = [row for row in rows if not row.free]
    total = Row("", "claims", "", free=False)
    for row in rows:
        for figure, more in zip(total.figures, row.figures, strict=True):
            figure.add(more)
    calls, given, written, money = (figure.range() for figure in total.figures)
    priced = all(row.priced for row in rows)
    return Sum(calls, given, written, money if priced else None, sum(row.stored for row in rows))

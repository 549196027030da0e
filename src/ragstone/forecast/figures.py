"""Figures of an estimate: sums over calls with their margins of error by cause."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import Struct, field

from ragstone.questions import Task
from ragstone.tokens import SURE


class Range(NamedTuple):
    """A figure with the bounds that it stays within in 19 of 20 runs, if the assumptions hold.

    ``samples`` is the number of observations it is based on, 0 if it is assumed. For a reply length, the bounds apply
    to the mean over many replies, and ``scatter`` is the standard deviation of a single reply.
    """

    low: float
    expected: float
    high: float
    samples: int = 0
    scatter: float = 0.0

    def as_json(self, digits: int = 0) -> dict[str, float]:
        """Return plain numbers."""
        low, expected, high = (round(value, digits) for value in (self.low, self.expected, self.high))
        return {"low": low, "expected": expected, "high": high}


class Figure(Struct):
    """A sum over calls in three worlds: with the fewest, the expected and the most answers.

    ``causes`` maps causes other than the answers to the margin (down, up) of the sum. An error of one cause affects all
    calls alike; different causes are independent. ``variance`` is the summed variance of single calls.
    ``saving`` is the part of the expected sum that may be saved whatever the other causes do.
    """

    worlds: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    causes: dict[str, list[float]] = field(default_factory=dict)
    variance: float = 0.0
    saving: float = 0.0

    def vary(self, cause: str, low: float, expected: float, high: float) -> None:
        """Add a part of the sum that may be lower or higher because of this cause."""
        ends = self.causes.setdefault(cause, [0.0, 0.0])
        ends[0] += expected - low
        ends[1] += high - expected

    def add(self, other: Figure) -> None:
        """Add another sum."""
        self.worlds = [one + another for one, another in zip(self.worlds, other.worlds, strict=True)]
        for cause, (down, up) in other.causes.items():
            self.vary(cause, -down, 0.0, up)
        self.variance += other.variance
        self.saving += other.saving

    def scale(self, factor: float) -> None:
        """Multiply the sum and its margins."""
        self.worlds = [factor * value for value in self.worlds]
        self.causes = {cause: [factor * end for end in ends] for cause, ends in self.causes.items()}
        self.variance *= factor**2
        self.saving *= factor

    def range(self) -> Range:
        """Return the expected value with its bounds; independent causes add up as squares."""
        low, expected, high = self.worlds
        ends = [*self.causes.values(), [expected - low, high - expected]]
        down, up = (
            math.sqrt(sum(max(0.0, end[side]) ** 2 for end in ends) + SURE**2 * self.variance) for side in (0, 1)
        )
        least = 1 - self.saving / expected if expected else 1.0
        return Range(max(0.0, expected - down) * least, expected, expected + up)


class Row(Struct):
    """Calls of one metric to one judge at one step; ``stored`` calls are answered from the store.

    In a run in batches, ``wave`` is the round in which they can be asked, from 1.

    ``again`` is the total (calls, input, output, dollars) of repeating all calls of the expected world with their
    replies in the request. ``priced``: every price is known.
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
    wave: int = 0

    def add(self, other: Row) -> None:
        """Add the calls of another wave."""
        for figure, more in zip(self.figures, other.figures, strict=True):
            figure.add(more)
        self.again = [one + another for one, another in zip(self.again, other.again, strict=True)]
        self.stored += other.stored
        self.priced = self.priced and other.priced

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Calls, input, output, dollars."""
        return self.calls, self.input, self.output, self.dollars

    def repair(self, low: float, share: float, high: float) -> None:
        """Add repeated calls as a share of all calls."""
        for figure, again in zip(self.figures, self.again, strict=True):
            figure.worlds = [value + share * again for value in figure.worlds]
            figure.vary("repairs", low * again, share * again, high * again)


class Sum(Struct, frozen=True):
    """Calls, tokens and dollars of some rows; ``dollars`` is None if a price is unknown."""

    calls: Range
    input_tokens: Range
    output_tokens: Range
    dollars: Range | None
    stored: int

    def as_json(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "calls": self.calls.as_json(),
            "in_store": self.stored,
            "input_tokens": self.input_tokens.as_json(),
            "output_tokens": self.output_tokens.as_json(),
            "dollars": None if self.dollars is None else self.dollars.as_json(6),
        }


def added(rows: Iterable[Row]) -> Sum:
    """Return the sum of the rows, without free judges (those in this process)."""
    total = Row("", "claims", "", free=False)
    for row in (row for row in rows if not row.free):
        total.add(row)
    calls, given, written, money = (figure.range() for figure in total.figures)
    return Sum(calls, given, written, money if total.priced else None, total.stored)

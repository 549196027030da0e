"""The settings of the engine and the limits of a run, without the engine: reading a configuration loads no more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import add, sub
from typing import Final, Literal

from msgspec import Struct, field

ROUNDING: Final = 1e-12
"""Rounding error, in dollars, allowed in a sum of floats."""


class Amount(Struct, frozen=True):
    """Dollars, calls and tokens. As a limit, infinity means none."""

    dollars: float = 0.0
    calls: float = 0
    tokens: float = 0

    def __iter__(self) -> Iterator[float]:
        return iter((self.dollars, self.calls, self.tokens))

    def __add__(self, other: Amount) -> Amount:
        return Amount(*map(add, self, other))

    def __sub__(self, other: Amount) -> Amount:
        return Amount(*map(sub, self, other))

    def most(self, other: Amount) -> Amount:
        """Return the field-wise maximum."""
        return Amount(*map(max, self, other))

    def within(self, limit: Amount) -> bool:
        """Return whether no field exceeds its limit."""
        return all(value <= most + ROUNDING for value, most in zip(self, limit, strict=True))


class Limits(Struct, frozen=True):
    """The limits of a run: dollars, calls to endpoints, tokens (in + out). None means no limit."""

    cost: float | None = None
    calls: int | None = None
    tokens: int | None = None

    def __bool__(self) -> bool:
        return (self.cost, self.calls, self.tokens) != (None, None, None)

    def amount(self) -> Amount:
        """Return the limits as numbers."""
        return Amount(*(math.inf if most is None else most for most in (self.cost, self.calls, self.tokens)))

    def divided(self, among: int) -> Limits:
        """Return one of ``among`` equal parts."""
        calls, tokens = (None if most is None else most // among for most in (self.calls, self.tokens))
        return Limits(None if self.cost is None else self.cost / among, calls, tokens)


Cache = Literal["use", "refresh", "off", "offline"]
"""How a run treats stored replies: read and add to them; replace them; ignore them; use nothing else."""


class Settings(Struct, frozen=True):
    """Settings of the engine.

    ``tries`` is the maximum number of attempts per call, not counting those refused with HTTP 429.
    ``deadline`` is the maximum number of seconds from the first attempt of a call to the end of its last, not counting
    pauses of the whole endpoint.
    ``dead_after`` is the number of consecutive failed calls after which an endpoint is considered dead.
    ``ahead`` is the maximum number of finished records that wait for an earlier one to keep the input order, and the
    number of records examined after one that the budget did not cover.
    ``repeat`` is how often each question is asked.
    Replies stored before ``since`` (seconds since 1970) are not used; a refresh starts at that time.
    ``limits`` is the budget of the run.
    """

    tries: int
    deadline: float
    dead_after: int
    ahead: int
    repeat: int = 1
    cache: Cache = "use"
    since: float = 0.0
    limits: Limits = field(default_factory=Limits)

"""Shares as people read them: percentages that are never rounded to 0 or 100, and differences in points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ragstone.stats.means import HAIR

MOST: Final = 4
"""Maximum number of decimals added to tell the ends of an interval apart."""
Ends = Sequence[float | None] | None
"""Both ends of an interval; none if either is None."""


def points(value: float | None, count: int = 0, *, more: int = 0) -> str:
    """Return a share in percent, without the sign; a dash for None.

    It has a decimal if it is based on a ``count`` of at least a thousand, and ``more`` decimals to tell two shares
    apart. A share below 1 is never rounded to 100, nor one above 0 to 0.
    """
    if value is None:
        return "-"
    digits = (1 if count >= 1000 else 0) + more
    step = 10.0**-digits
    shown = _halves_up(100 * value, digits)
    if shown >= 100 > value * 100:
        shown = 100 - step
    elif shown <= 0 < value:
        shown = step
    return f"{shown:.{digits}f}"


def finer(ends: Ends, write: Callable[[float, int], str]) -> int:
    """Return how many more decimals an interval needs so that it does not look like a point; 0 if it is one.

    ``write`` formats an end with a number of additional decimals. The value in the interval should have as many.
    """
    low, high = ends or (None, None)
    if low is None or high is None:
        return 0
    return next((more for more in range(MOST + 1) if write(low, more) != write(high, more)), 0)


def finer_share(ends: Ends, count: int) -> int:
    """Return how many more decimals an interval of shares needs; see ``finer``."""
    return finer(ends, lambda end, more: points(end, count, more=more))


def signed(difference: float | None, ends: Ends = None) -> str:
    """Return a difference in points, with its sign and one decimal, or more to tell ``ends`` apart; a dash for None."""
    if difference is None:
        return "-"
    return _signed(difference, finer(ends, _signed))


def _signed(difference: float, more: int) -> str:
    shown = _halves_up(abs(difference), 1 + more)
    return f"{math.copysign(shown, difference):+.{1 + more}f}" if shown else f"{0:.{1 + more}f}"


def distance(difference: float) -> str:
    """Return a difference in points without its sign: one decimal, or more if it would otherwise be 0.0."""
    found = abs(difference)
    if not 0 < found < 0.05:
        return f"{_halves_up(found, 1):.1f}"
    return f"{found:.2f}" if found >= 0.005 else "under 0.01"


def _halves_up(size: float, digits: int) -> float:
    """Round as the page does; the epsilon is for floats, or means of rounded values, just below a half."""
    return math.floor((size + 100 * HAIR) * 10.0**digits + 0.5) / 10.0**digits

"""Shares as people read them: percentages that are never rounded to 0 or 100, and differences in points."""

from __future__ import annotations

import math

from ragstone.stats.means import HAIR


def points(value: float | None, count: int = 0, *, more: int = 0) -> str:
    """Return a share in percent, without the sign; a dash for None.

    It has a decimal if it is based on a ``count`` of at least a thousand, and ``more`` decimals to tell two shares
    apart. A share below 1 is never rounded to 100, nor one above 0 to 0.
    """
    if value is None:
        return "-"
    digits = (1 if count >= 1000 else 0) + more
    step = 10.0**-digits
    # Halves round up, as in the page: the epsilon is for floats, or means of rounded values, just below a half.
    shown = math.floor((value + HAIR) * 100 * 10**digits + 0.5) / 10**digits
    if shown >= 100 > value * 100:
        shown = 100 - step
    elif shown <= 0 < value:
        shown = step
    return f"{shown:.{digits}f}"


def signed(difference: float | None) -> str:
    """Return a difference in points, with its sign and one decimal; a dash for None."""
    if difference is None:
        return "-"
    return f"{difference:+.1f}" if abs(difference) >= 0.05 else "0.0"


def distance(difference: float) -> str:
    """Return a difference in points without its sign: one decimal, or more if it would otherwise be 0.0."""
    found = abs(difference)
    if not 0 < found < 0.05:
        return f"{found:.1f}"
    return f"{found:.2f}" if found >= 0.005 else "under 0.01"

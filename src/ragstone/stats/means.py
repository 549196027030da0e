"""Means with intervals and rank correlation, in pure Python: seeded, and the same on every machine."""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist, fmean
from typing import Any, overload

from msgspec import Struct
from msgspec.structs import asdict

RESAMPLES = 1000
FEW = 16
"""With at least this many values per distinct value, a resample draws the count of each distinct value."""
HAIR = 1e-9
"""The largest difference that rounding of sums can cause."""
CHUNK = 1000
"""Number of values kept before they are summed."""
LARGE = 1000
"""From this many values on, the percentile and the normal interval differ by less than the noise of the former."""
mean = fmean
"""Return the arithmetic mean, summed without loss; raise ValueError for no values."""


class Interval(Struct, frozen=True):
    """A mean with its 95% interval; ``method`` is ``bootstrap``, ``normal``, or ``none`` for fewer than two values."""

    mean: float
    low: float
    high: float
    method: str


def reaches(value: float, limit: float) -> bool:
    """Return whether a value is at or above a limit, to the nine digits of written results.

    In binary, the mean of .4, 1 and 1 is slightly below .8 and would miss a limit of .8.
    """
    return value >= limit - HAIR


@overload
def rounded(value: float) -> float: ...
@overload
def rounded(value: float | None) -> float | None: ...
def rounded(value: float | None) -> float | None:
    """Return a number as written in results: with nine digits after the point."""
    return None if value is None else round(value, 9)


def rounded_in(value: Any) -> Any:
    """Return a Struct (by its ``as_json``, if it has one) or JSON value as plain JSON with rounded numbers."""
    if hasattr(value, "as_json"):
        return value.as_json()
    if isinstance(value, Struct):
        return rounded_in(asdict(value))
    if isinstance(value, Mapping):
        return {name: rounded_in(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded_in(each) for each in value]
    return rounded(value) if isinstance(value, float) else value


class Mean:
    """The mean of values that arrive one by one, identical to ``mean`` to the last digit."""

    def __init__(self) -> None:
        self._count = 0
        self._part = array("d")

    def add(self, value: float) -> None:
        """Add a value."""
        self._count += 1
        self._part.append(value)
        if len(self._part) > CHUNK:
            total = math.fsum(self._part)
            self._part = array("d", [total, math.fsum((*self._part, -total))])  # keeps what rounding lost

    def mean(self) -> float | None:
        """The mean of all values; None without values."""
        return math.fsum(self._part) / self._count if self._count else None


def mean_interval(values: Sequence[float], *, seed: int = 0) -> Interval:
    """Return the mean and its 95% interval.

    Uses a percentile bootstrap over records (Efron 1979) with a fixed seed; from ``LARGE`` values on, the normal
    interval, mean ± 1.96 standard errors, which is then the same. Neither leaves the range of the values. If there is
    only one value, or all are equal, there is no spread to estimate: the interval is the mean itself.
    """
    centre = mean(values)
    count = len(values)
    least, most = min(values), max(values)
    if count < 2 or least == most:
        return Interval(centre, centre, centre, "none")
    if count >= LARGE:
        variance = math.fsum((value - centre) ** 2 for value in values) / (count - 1)
        half = 1.959964 * math.sqrt(variance / count)
        return Interval(centre, max(centre - half, least), min(centre + half, most), "normal")
    means = sorted(total / count for total in _resampled(values, seed))
    low, high = means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]
    return Interval(centre, max(low, least), min(high, most), "bootstrap")


def _resampled(values: Sequence[float], seed: int) -> Iterator[float]:
    """Yield the sums of ``RESAMPLES`` samples of the same size, drawn with replacement.

    If there are few distinct values, as for most scores, the number of times each occurs is drawn instead of each
    value: the same distribution in a tenth of the time.
    """
    chooser = random.Random(seed)  # noqa: S311 - resampling, not secrets
    pool = list(values)
    often = Counter(pool)
    if FEW * len(often) > len(pool):
        for _ in range(RESAMPLES):
            yield math.fsum(chooser.choices(pool, k=len(pool)))
        return
    ordered = sorted(often.items())
    for _ in range(RESAMPLES):
        draws = among = len(pool)
        parts = []
        for value, times in ordered:
            drawn = binomial(chooser, draws, times, among) if times < among else draws
            parts.append(value * drawn)
            draws, among = draws - drawn, among - times
        yield math.fsum(parts)


def binomial(chooser: random.Random, trials: int, part: int, whole: int) -> int:
    """Return the number of successes in this many trials of probability ``part / whole``, which is less than 1.

    Exact: the binary digits of random numbers, one per trial, are compared with those of the probability until they
    differ; each digit decides half of the remaining trials.
    """
    succeeded = 0
    while trials:
        part *= 2
        ones = chooser.getrandbits(trials).bit_count()
        if part >= whole:  # the probability has a 1 here: trials with a 0 have succeeded
            part -= whole
            succeeded, trials = succeeded + trials - ones, ones
        else:
            trials -= ones
    return succeeded


def spread(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation (n - 1 in the denominator); None for fewer than two values."""
    if len(values) < 2:
        return None
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def student_half(values: Sequence[float]) -> float | None:
    """Return half of the 95% interval of a mean by Student's t; None for fewer than two values."""
    apart = spread(values)
    return None if apart is None else t_quantile(0.975, len(values) - 1) * apart / math.sqrt(len(values))


def agreement(raws: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the share of rater pairs with equal raw scores, and the spread (largest minus smallest).

    Both are None for fewer than two raters.
    """
    if len(raws) < 2:
        return None, None
    pairs = list(combinations(raws, 2))
    return sum(a == b for a, b in pairs) / len(pairs), max(raws) - min(raws)


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same items, in [-1, 1]; None if one of them ties everything.

    Tied pairs count in the denominator as defined for tau-b (Kendall 1945). Raises ValueError for unequal lengths.
    """
    balance = ties_first = ties_second = 0
    pairs = list(combinations(zip(first, second, strict=True), 2))
    for one, other in pairs:
        a, b = one[0] - other[0], one[1] - other[1]
        balance += ((a > 0) - (a < 0)) * ((b > 0) - (b < 0))
        ties_first += a == 0
        ties_second += b == 0
    ranked = (len(pairs) - ties_first) * (len(pairs) - ties_second)
    return balance / math.sqrt(ranked) if ranked else None


def normal_p(deviation: float) -> float:
    """Return the two-sided p of a standard normal deviate."""
    return math.erfc(abs(deviation) / math.sqrt(2))


def t_quantile(share: float, degrees: int) -> float:
    """Return the quantile of Student's t for these degrees of freedom and a ``share`` in (0, 1).

    Found by bisection of the finite sums of Abramowitz and Stegun (1964, 26.7.3 and 26.7.4), to 12 digits; from
    ``LARGE`` degrees on, the normal quantile. Raises ValueError for no degrees.
    """
    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom")
    if degrees >= LARGE:
        return NormalDist().inv_cdf(share)
    if share < 0.5:
        return -t_quantile(1 - share, degrees)
    low, high = 0.0, math.pi / 2  # over the angle, whose tangent is unbounded
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _t_within(angle, degrees) < 2 * share - 1 else (low, angle)
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _t_within(angle: float, degrees: int) -> float:
    """Return the share of Student's t within ± tan(angle) · sqrt(degrees)."""
    cosine, odd = math.cos(angle), degrees % 2
    term = cosine if odd else 1.0
    total = term if degrees > 1 else 0.0
    for step in range(2 + odd, degrees - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    inside = math.sin(angle) * total
    return (angle + inside) * 2 / math.pi if odd else inside

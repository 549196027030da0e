"""Tests and intervals for paired differences, in pure Python: seeded, and the same on every machine.

Two runs score the same records, so each record is its own control: everything works on the differences, second minus
first. If records are grouped (several questions on one topic), whole clusters are resampled and flipped, never records.
docs/tasks/compare-runs.md has the measured coverage and error rates.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import product
from operator import getitem, sub
from typing import Final, Literal

from msgspec import Struct

from ragstone.stats.means import LARGE, RESAMPLES, mean, normal_p, t_quantile

Method = Literal["bootstrap-t", "t", "none"]
Test = Literal["exact", "sampled", "normal", "none"]

LEVEL: Final = 0.05
"""Two-sided significance level of every test; intervals cover 1 - ``LEVEL``."""
POWER: Final = 0.8
FLIPS: Final = 10_000
"""Number of sign vectors drawn if there are too many to enumerate."""
FEW: Final = 10
"""With fewer clusters, resamples often have hardly any spread, and the studentized bootstrap is unstable."""
EXACT: Final = 13
"""Up to this many nonzero differences, all sign vectors are enumerated: fewer than ``FLIPS``."""
_CHUNK: Final = 8
_HAIR: Final = 1e-9
"""Sums that differ by less, relative to their terms, count as equal, because the order of adding floats varies."""


class Paired(Struct, frozen=True):
    """A paired comparison; values and differences are in the unit of the pairs, differences are second minus first.

    ``low`` and ``high`` are the 95% interval of the mean difference, and ``error`` is its standard error; None if all
    pairs differ by the same amount, or if fewer than ``least_moved`` differ, since many resamples would then contain no
    difference. ``p`` is from the two-sided sign-flip test. ``clusters`` is None if pairs are independent; ``moved`` is
    the number of pairs or clusters that differ.
    """

    pairs: int
    clusters: int | None
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    method: Method
    p: float
    test: Test
    wins: int
    ties: int
    losses: int
    moved: int
    error: float | None

    def smallest(self, tests: int = 1) -> float | None:
        """Return the smallest true difference that such a sample detects with 80% power; None without an ``error``.

        It is (t(1 - a/2) + t(.8)) standard errors, with Student's t of n - 1 degrees of freedom and a = .05 divided by
        the number of ``tests`` (Cohen 1988, ch. 2, in the form of Bloom 1995, doi 10.1177/0193841X9501900504).
        """
        if self.error is None:
            return None
        degrees = (self.clusters or self.pairs) - 1
        return (t_quantile(1 - LEVEL / tests / 2, degrees) + t_quantile(POWER, degrees)) * self.error


def paired(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
) -> Paired:
    """Compare pairs of values in [0, 1]; ``clusters`` names the cluster of each pair.

    Raises ValueError for no pairs or unequal lengths.
    """
    if len(first) != len(second) or (clusters is not None and len(clusters) != len(first)):
        raise ValueError(f"{len(first)} values against {len(second)}")
    return paired_by(array("d", map(sub, second, first)), mean(first), mean(second), clusters, seed=seed)


def paired_by(
    differences: Sequence[float],
    first: float,
    second: float,
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
) -> Paired:
    """Compare pairs like ``paired``, given their ``differences`` and both means."""
    # Zero if only the last digits of two sums differ.
    differences = array("d", (value if abs(value) > _HAIR else 0.0 for value in differences))
    sums, sizes = _by_cluster(differences, clusters)
    moved = sum(map(bool, sums))
    p, test = sign_flip(sums, seed=seed)
    centre = mean(differences)
    error = _standard_error(
        array("d", (total - centre * size for total, size in zip(sums, sizes, strict=True))), sum(sizes)
    )
    if moved < least_moved():
        error = 0.0
    low, high, method = _interval(centre, error, sums, sizes, seed=seed)
    return Paired(
        pairs=len(differences),
        clusters=None if clusters is None else len(sums),
        first=first,
        second=second,
        difference=centre,
        low=low,
        high=high,
        method=method,
        p=p,
        test=test,
        wins=sum(value > 0 for value in differences),
        ties=sum(value == 0 for value in differences),
        losses=sum(value < 0 for value in differences),
        moved=moved,
        error=error or None,
    )


def least_moved(tests: int = 1) -> int:
    """Return how many nonzero differences p needs to reach .05 divided by ``tests``: its minimum is 2^(1 - n)."""
    return next(count for count in range(1, 99) if 2.0 ** (1 - count) < LEVEL / tests)


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p-values of simultaneous tests, adjusted for the family-wise error rate (Holm 1979)."""
    adjusted = [0.0] * len(ps)
    before = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        before = max(before, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = before
    return adjusted


# ---- the test


def sign_flip(values: Sequence[float], *, seed: int = 0) -> tuple[float, Test]:
    """Return the two-sided p that a mean is zero, by flipping signs (Fisher 1935), and the method used.

    If neither side is better, each difference could equally have the other sign. Up to ``EXACT`` nonzero values, all
    sign vectors are counted; otherwise ``FLIPS`` of them, drawn with a seed, and the observed one (Phipson and Smyth
    2010). From ``LARGE`` effective values on, the sum under flips is normal to four digits of p, so the normal
    distribution is used.
    """
    moved = array("d", filter(None, values))
    if not moved:
        return 1.0, "none"
    observed = abs(math.fsum(moved)) - _HAIR * math.fsum(map(abs, moved))
    if len(moved) <= EXACT:
        sums = (abs(sum(signed)) for signed in product(*((value, -value) for value in moved)))
        return sum(total >= observed for total in sums) / 2 ** len(moved), "exact"
    squares = math.fsum(value * value for value in moved)
    if squares * squares >= LARGE * math.fsum(value**4 for value in moved):
        return normal_p(abs(math.fsum(moved)) / math.sqrt(squares)), "normal"
    reached = sum(abs(total) >= observed for total in _flipped(moved, seed))
    return (1 + reached) / (1 + FLIPS), "sampled"


def _flipped(values: Sequence[float], seed: int) -> Iterable[float]:
    """Yield sums of the values with random signs; a table gives the sum of eight values for a byte of random bits."""
    tables = []
    for start in range(0, len(values), _CHUNK):
        sums = [0.0]
        for value in values[start : start + _CHUNK]:
            sums = [total + signed for signed in (-value, value) for total in sums]
        tables.append(sums * (2**_CHUNK // len(sums)))
    draw = partial(random.Random(seed).randbytes, len(tables))  # noqa: S311 - resampling, not secrets
    for _ in range(FLIPS):
        yield sum(map(getitem, tables, draw()))


# ---- the interval


def _interval(
    centre: float, error: float, sums: Sequence[float], sizes: Sequence[int], *, seed: int
) -> tuple[float | None, float | None, Method]:
    """Return the 95% interval of the mean difference, within the range of possible differences, and the method used.

    It is the bootstrap of the studentized mean (Efron and Tibshirani 1993, ch. 12.5), which handles the skew of few
    values. With fewer than ``FEW`` values, or if fewer than a quarter differ, the bootstrap is unstable; if nearly all
    differ by the same amount, too many resamples have no spread, and it has no end; and from ``LARGE`` on it agrees
    with Student's t up to its own noise. In these cases, the interval is Student's t.
    """
    count, tail = len(sums), int(LEVEL / 2 * RESAMPLES)
    if not error:
        return None, None, "none"
    if FEW <= count < LARGE and 4 * sum(map(bool, sums)) >= count:
        drawn = sorted(_studentized(centre, sums, sizes, seed))
        if math.isfinite(drawn[-tail - 1]) and math.isfinite(drawn[tail]):
            return max(centre - drawn[-tail - 1] * error, -1.0), min(centre - drawn[tail] * error, 1.0), "bootstrap-t"
    half = t_quantile(1 - LEVEL / 2, count - 1) * error
    return max(centre - half, -1.0), min(centre + half, 1.0), "t"


def _studentized(centre: float, sums: Sequence[float], sizes: Sequence[int], seed: int) -> Iterable[float]:
    """Return the distance of each resample's mean from ``centre``, in its own standard errors.

    A resample whose clusters do not differ has no spread, so its distance is infinite.
    """
    count = len(sums)
    off = [total - centre * size for total, size in zip(sums, sizes, strict=True)]
    squares = [value * value for value in off]
    crossed = [value * size for value, size in zip(off, sizes, strict=True)]
    alone = all(size == 1 for size in sizes)
    scale = _HAIR * math.fsum(squares)
    places = range(count)
    choices = random.Random(seed).choices  # noqa: S311 - resampling, not secrets
    for _ in range(RESAMPLES):
        picked = choices(places, k=count)
        total = sum(map(off.__getitem__, picked))
        if alone:
            size, middle = count, total
            square = float(count)
        else:
            size = sum(map(sizes.__getitem__, picked))
            middle = sum(map(crossed.__getitem__, picked))
            square = float(sum(sizes[place] ** 2 for place in picked))
        shift = total / size
        spread = sum(map(squares.__getitem__, picked)) - 2 * shift * middle + shift * shift * square
        if spread > scale:
            yield shift * size / math.sqrt(spread * count / (count - 1))
        else:
            yield math.copysign(math.inf, shift) if abs(shift) > _HAIR else 0.0


def _standard_error(off: Sequence[float], size: int) -> float:
    """Return the standard error of a mean of clusters, from the deviation of each cluster's sum; 0 for one cluster."""
    squares = math.fsum(value * value for value in off)
    count = len(off)
    if count < 2 or squares <= _HAIR * _HAIR * size:
        return 0.0
    return math.sqrt(squares * count / (count - 1)) / size


def _by_cluster(values: Sequence[float], clusters: Sequence[Hashable] | None) -> tuple[Sequence[float], Sequence[int]]:
    """Return the sum and the number of values of each cluster."""
    if clusters is None:
        return values, b"\1" * len(values)
    found: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        found.setdefault(cluster, []).append(value)
    sums = [math.fsum(members) for members in found.values()]
    return [total if abs(total) > _HAIR else 0.0 for total in sums], [len(members) for members in found.values()]

"""Agreement of two rankings of systems: Kendall's tau-b, AP correlation, Spearman, and top choices. Pure Python."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from math import comb

from ragstone.stats.means import mean


def tau_ap(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return tau_ap-b, the AP correlation with ties (Yilmaz et al. 2008; Urbano and Marrero 2017), symmetric, -1 to 1.

    Higher values rank first, and disagreements near the top count more. None if either side ties everything.
    """
    halves = [_ap_half(first, second), _ap_half(second, first)]
    known = [half for half in halves if half is not None]
    return mean(known) if len(known) == 2 else None


def _ap_half(first: Sequence[float], second: Sequence[float]) -> float | None:
    found = []
    for at, value in enumerate(first):
        above = [other for other, better in enumerate(first) if better > value]
        if above:
            found.append(2 * sum(second[other] > second[at] for other in above) / len(above) - 1)
    return mean(found) if found else None


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation with mid-ranks for ties; None if either side ties everything."""
    one, other = ranks(first), ranks(second)
    left, right = mean(one), mean(other)
    shared = math.fsum((a - left) * (b - right) for a, b in zip(one, other, strict=True))
    size = math.sqrt(math.fsum((a - left) ** 2 for a in one) * math.fsum((b - right) ** 2 for b in other))
    return shared / size if size else None


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from the lowest, starting at 1; ties share their mean rank."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values), 1):
        places.setdefault(value, []).append(place)
    middle = {value: (tied[0] + tied[-1]) / 2 for value, tied in places.items()}
    return [middle[value] for value in values]


def pass_at(attempts: int, right: int, k: int) -> float:
    """Return unbiased pass@k (Chen et al., arXiv 2107.03374): the probability that k attempts contain a correct one.

    Raises ValueError for fewer than ``k`` attempts.
    """
    if not 1 <= k <= attempts:
        raise ValueError(f"k is {k}; expected 1 to {attempts}, the number of attempts")
    return 1 - comb(attempts - right, k) / comb(attempts, k)


def majority(labels: Sequence[Hashable]) -> Hashable | None:
    """Return the most frequent label; None for a tie."""
    ranked = Counter(labels).most_common(2)
    return None if len(ranked) == 2 and ranked[0][1] == ranked[1][1] else ranked[0][0]

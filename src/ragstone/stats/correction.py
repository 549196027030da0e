"""Means corrected for a judge's errors by a labelled random sample, with 95% intervals. Pure Python."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ragstone.stats.means import mean, t_quantile

Z: Final = 1.959963984540054
"""The standard normal quantile of a two-sided 95% interval."""

UNSEEN: Final = 0.5
"""Clusters that the judge gets completely wrong and that are added to the variance of the labelled ones.

A small sample often has none of the judge's rare errors. In simulations of 30 to 100 labelled records, with base rates
of 0.5 to 0.98, intervals then cover the truth in 94 to 100% of cases instead of 53 to 97%.
"""


class Corrected(Struct, frozen=True):
    """A corrected mean with its 95% interval, and the judge's uncorrected one.

    ``power`` is the weight that prediction-powered inference gave to the judge, from 0 (only the labels) to 1; None for
    the Rogan-Gladen correction.
    """

    value: float
    low: float
    high: float
    raw: float
    power: float | None = None


def prediction_powered(
    human: Sequence[float],
    judged: Sequence[float],
    unlabelled: Sequence[float],
    *,
    power: float | None = None,
    clusters: tuple[Sequence[Hashable], Sequence[Hashable]] | None = None,
) -> Corrected:
    """Correct a judge's mean by prediction-powered inference (PPI++, Angelopoulos et al., arXiv 2311.01453).

    Args:
        human: people's values of the labelled items, a random sample of all.
        judged: the judge's values of the same items, in the same order.
        unlabelled: the judge's values of all other items.
        power: the weight of the judge's values, 0 to 1; tuned for the narrowest interval if None.
        clusters: what each labelled and each unlabelled item belongs to (its record); items of one cluster are not
            independent. The interval is then Student's t by the number of labelled clusters, corrected for skewness
            (``score_interval``) and for errors that the sample does not show (``UNSEEN``); it is the paper's normal
            one, of independent items, if None.

    Raises:
        ValueError: no labelled or no unlabelled items, or lists of different lengths.
    """
    if len(human) != len(judged) or not human or not unlabelled:
        raise ValueError("expected as many human as judged values, and at least one of each kind")
    ours, theirs = clusters or (range(len(human)), range(len(human), len(human) + len(unlabelled)))
    share = len(human) / len(unlabelled)
    if power is None:
        power = min(max(_slope(human, judged, unlabelled) / (1 + share), 0.0), 1.0)
    errors = [y - power * f for y, f in zip(human, judged, strict=True)]
    value = power * mean(unlabelled) + mean(errors)
    variance, skew = (power**k * _moment(unlabelled, theirs, k) for k in (2, 3))
    own, own_skew = (_moment(errors, ours, k) for k in (2, 3))
    reach = Z
    if clusters:
        free = max(len(set(ours)) - 2, 1)  # the mean and the power are estimated from the labelled clusters
        reach, own = t_quantile(0.975, free), own * (free + 2) / free + UNSEEN / (free + 2) ** 2
    low, high = score_interval(value, variance + own, skew + own_skew if clusters else 0.0, reach)
    return Corrected(value, low, high, mean([*judged, *unlabelled]), power)


def score_interval(value: float, variance: float, skew: float, reach: float) -> tuple[float, float]:
    """Return the values that lie within ``reach`` of their own standard errors of an estimate.

    ``variance`` and ``skew`` are the estimate's second and third central moments. A skewed estimate varies more on one
    side: as in an exponential family, its variance changes by ``skew / variance`` per unit of its mean. For a share,
    the result is close to Wilson's (1927) interval; without skew, it is ``value`` ± ``reach`` standard errors.
    """
    shift = reach**2 * skew / variance / 2 if variance else 0.0
    width = math.sqrt(reach**2 * variance + shift**2)
    return value + shift - width, value + shift + width


def _slope(human: Sequence[float], judged: Sequence[float], unlabelled: Sequence[float]) -> float:
    """The covariance of people's and the judge's values over the variance of all the judge's values; 0 if these tie."""
    both = [*judged, *unlabelled]
    centre = mean(both)
    spread = math.fsum((value - centre) ** 2 for value in both) / max(len(both) - 1, 1)
    return _covariance(human, judged) / spread if spread else 0.0


def _covariance(first: Sequence[float], second: Sequence[float]) -> float:
    return mean([one * other for one, other in zip(first, second, strict=True)]) - mean(first) * mean(second)


def labels_to_halve(human: Sequence[float], judged: Sequence[float], unlabelled: Sequence[float]) -> int | None:
    """Return how many more labelled items would halve the interval of a tuned prediction-powered mean.

    With n labels for M items, its variance is var(Y) · ((1 - r²)/n + r²/M), where r is the correlation of people's and
    the judge's values: only the first part shrinks with more labels. None if labelling all items would not suffice, or
    if people's values do not differ. Arguments and errors as for ``prediction_powered``; items are independent.
    """
    if len(human) != len(judged) or not human or not unlabelled:
        raise ValueError("expected as many human as judged values, and at least one of each kind")
    n, every = len(human), len(human) + len(unlabelled)
    total = _moment(human, range(n), 2) * n
    shared = max(_covariance(human, judged), 0.0)
    explained = min(_slope(human, judged, unlabelled) * shared / total, 1.0) if total else 1.0
    left = ((1 - explained) / n + explained / every) / 4 - explained / every
    if left <= 0 or (1 - explained) / left > every:
        return None
    return math.ceil((1 - explained) / left) - n


def _moment(values: Sequence[float], clusters: Sequence[Hashable], order: int) -> float:
    """The central moment of the mean, over whole clusters: 2 is its variance, 3 its skew."""
    centre = mean(values)
    sums: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value - centre
    return math.fsum(math.pow(one, order) for one in sums.values()) / math.pow(len(values), order)


class Rates(NamedTuple):
    """Counts of labelled items: those that people pass and fail, and how many of each the judge agrees on."""

    pass_right: int
    pass_total: int
    fail_right: int
    fail_total: int


def rogan_gladen(
    passed: int, judged: int, labelled: Rates,
    clusters: tuple[Sequence[Rates], Sequence[tuple[int, int]]] | None = None,
) -> Corrected:  # fmt: skip
    """Correct a judge's pass rate by its error rates (Rogan and Gladen 1978; interval of arXiv 2511.21140).

    If items are clustered, both parts of the variance are multiplied by their design effects: the linearised variance
    over whole clusters divided by that of as many independent items.

    Args:
        passed: items without labels that the judge passes.
        judged: all items without labels.
        labelled: the items with labels.
        clusters: the same counts of each labelled cluster (record), and ``(passed, judged)`` of each other cluster.
            Each item is its own cluster if None.

    Raises:
        ValueError: no items in one of the three groups, or a judge no better than chance (TPR + TNR at most 1).
    """
    pass_right, pass_total, fail_right, fail_total = labelled
    if not (judged and pass_total and fail_total):
        raise ValueError("the correction needs unlabelled items, items that people pass, and items that they fail")
    rate, sensitivity, specificity = passed / judged, pass_right / pass_total, fail_right / fail_total
    if sensitivity + specificity <= 1:
        raise ValueError(
            f"the judge is no better than chance (TPR {sensitivity:.2f} + TNR {specificity:.2f} is at most 1)"
        )
    value = (rate + specificity - 1) / (sensitivity + specificity - 1)
    items, passes, fails = judged + Z**2, pass_total + 2, fail_total + 2
    rate_, sens, spec = (passed + Z**2 / 2) / items, (pass_right + 1) / passes, (fail_right + 1) / fails
    gain = sens + spec - 1
    centre = (rate_ + spec - 1) / gain
    ours, theirs = clusters or ((), ())
    known = [
        (1 - centre) * (one.fail_right - specificity * one.fail_total) / fail_total
        - centre * (one.pass_right - sensitivity * one.pass_total) / pass_total
        for one in ours
    ]
    of_pass, of_fail = sensitivity * (1 - sensitivity) / pass_total, specificity * (1 - specificity) / fail_total
    effect = _design_effect(known, (1 - centre) ** 2 * of_fail + centre**2 * of_pass)
    others = [(passes - rate * of) / judged for passes, of in theirs]
    of_rate = _design_effect(others, rate * (1 - rate) / judged) * rate_ * (1 - rate_) / items
    of_pass, of_fail = effect * sens * (1 - sens) / passes, effect * spec * (1 - spec) / fails
    shift = 2 * Z**2 * (centre * of_pass - (1 - centre) * of_fail)
    width = Z * math.sqrt(of_rate + (1 - centre) ** 2 * of_fail + centre**2 * of_pass) / gain
    low, high = (min(max(end, 0.0), 1.0) for end in (centre + shift - width, centre + shift + width))
    return Corrected(min(max(value, 0.0), 1.0), low, high, rate)


def _design_effect(parts: Sequence[float], independent: float) -> float:
    """The variance of the sum over whole clusters, divided by that of independent items; at least 1."""
    return max(math.fsum(part**2 for part in parts) / independent, 1.0) if independent else 1.0

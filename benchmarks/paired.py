"""Measure the coverage of the 95% interval of a paired difference on simulated samples.

``python benchmarks/paired.py [SAMPLES]`` draws samples with a known true difference. By kind and size, it prints the
percentage of samples whose interval contains it: for ``ragstone compare``, a percentile bootstrap, and Student's t;
and the percentage where too few pairs differ for an interval. A thousand samples take about five minutes.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable

from ragstone.stats.means import LARGE, mean, mean_interval, spread, t_quantile
from ragstone.stats.paired_tests import Paired, paired

Draw = Callable[[random.Random], tuple[float, float]]
GRADES = (0.0, 1 / 3, 2 / 3, 1.0)


def normal(chooser: random.Random) -> tuple[float, float]:
    return 0.5, 0.5 + chooser.gauss(0.05, 0.1)


def graded(chooser: random.Random) -> tuple[float, float]:
    return chooser.choices(GRADES, (1, 1, 2, 6))[0], chooser.choices(GRADES, (2, 1, 2, 5))[0]


def skewed(chooser: random.Random) -> tuple[float, float]:
    """Near 1, and for half of the pairs one that fell, few of them far."""
    first = 1 - chooser.betavariate(0.4, 3)
    return first, max(0.0, first - (chooser.betavariate(0.4, 4) if chooser.random() < 0.5 else 0.0))


def sparse(chooser: random.Random) -> tuple[float, float]:
    """18 of 100 pairs differ, most of them by all that they can."""
    change = chooser.choices((-1.0, -0.5, 0.0, 0.5, 1.0), (8, 4, 82, 4, 2))[0]
    return (0.0, change) if change > 0 else (-change, 0.0)


def held(found: Paired, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def of_pairs(draw: Draw, count: int, samples: int) -> str:
    chooser = random.Random(1)
    truth = mean([b - a for a, b in (draw(chooser) for _ in range(400_000))])
    hits = percentile = student = given = 0
    for number in range(samples):
        chooser = random.Random(f"{draw.__name__} {count} {number}")
        pairs = [draw(chooser) for _ in range(count)]
        found = paired([a for a, _ in pairs], [b for _, b in pairs], seed=number)
        if found.low is None:
            continue
        given += 1
        differences = [b - a for a, b in pairs]
        interval = mean_interval(differences, seed=number)
        half = t_quantile(0.975, count - 1) * (spread(differences) or 0.0) / math.sqrt(count)
        hits += held(found, truth)
        percentile += interval.low <= truth <= interval.high
        student += abs(interval.mean - truth) <= half
    return _row(f"{count} pairs, {draw.__name__}", given, samples, hits, percentile, student)


def of_groups(groups: int, skew: bool, samples: int) -> str:
    """Groups of 1 to 10 records that share most of what they differ by; the true difference is zero."""
    hits = 0
    for number in range(samples):
        chooser = random.Random(f"groups {groups} {skew} {number}")
        second: list[float] = []
        names: list[int] = []
        for group in range(groups):
            shared = 0.5 / 3.5 - chooser.betavariate(0.5, 3) if skew else chooser.gauss(0, 0.15)
            size = chooser.randint(1, 10)
            second += [0.5 + shared + chooser.gauss(0, 0.1) for _ in range(size)]
            names += [group] * size
        hits += held(paired([0.5] * len(second), second, names, seed=number), 0.0)
    return _row(f"{groups} groups, {'skewed' if skew else 'normal'}", samples, samples, hits)


def _row(name: str, given: int, samples: int, *hits: int) -> str:
    shares = "".join(f"{100 * hit / given:12.1f}" for hit in hits)
    return f"{name:22}{shares:36}{100 * (samples - given) / samples:12.1f}"


def main(samples: int) -> None:
    print(f"{'':22}{'ragstone':>12}{'percentile':>12}{'Student':>12}{'none given':>12}   of {samples} samples, %")
    for count in (20, 40, 100):
        for draw in (normal, graded, skewed, *([sparse] if count > 20 else [])):
            print(of_pairs(draw, count, samples), flush=True)
    assert count < LARGE
    for groups in (8, 15, 30):
        for skew in (False, True):
            print(of_groups(groups, skew, samples), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)

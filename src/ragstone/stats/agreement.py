"""Agreement of two or more raters on labels: accuracy, kappa, alpha, AUROC, calibration. Pure Python.

Labels are numbers from 0, in the order of their scale. An undefined measure (one class only, nothing to compare) is
None, never 0 or 1.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Literal, TypeVar

from msgspec import Struct

from ragstone.stats.means import RESAMPLES, mean
from ragstone.stats.rankings import ranks

Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]
N = TypeVar("N", int, float)


class ClassScores(Struct, frozen=True):
    """Precision, recall and F1 of one label; None if nothing was predicted or nothing is gold."""

    precision: float | None
    recall: float | None
    f1: float | None


class Matrix(Struct, frozen=True):
    """A confusion matrix: ``counts[gold][judged]``, square, in the order of the scale."""

    counts: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]], labels: int) -> Matrix:
        """Count (gold, judged) pairs over this many labels."""
        counted = Counter(pairs)
        return cls(tuple(tuple(counted[gold, judged] for judged in range(labels)) for gold in range(labels)))

    @property
    def n(self) -> int:
        """The number of items."""
        return sum(map(sum, self.counts))

    @property
    def gold(self) -> tuple[int, ...]:
        """Items by gold label."""
        return tuple(map(sum, self.counts))

    @property
    def judged(self) -> tuple[int, ...]:
        """Items by judged label."""
        return tuple(map(sum, zip(*self.counts, strict=True)))

    @property
    def base_rate(self) -> float | None:
        """The accuracy of always answering the most frequent gold label."""
        return max(self.gold) / self.n if self.n else None

    @property
    def accuracy(self) -> float | None:
        """The share of equal labels, which is also the micro-averaged precision, recall and F1."""
        return sum(row[place] for place, row in enumerate(self.counts)) / self.n if self.n else None

    def scores(self, label: int) -> ClassScores:
        """Precision, recall and F1 of one label."""
        right, gold, judged = self.counts[label][label], self.gold[label], self.judged[label]
        return ClassScores(
            right / judged if judged else None,
            right / gold if gold else None,
            2 * right / (gold + judged) if gold + judged else None,
        )

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean recall of the labels that are gold at least once."""
        return self._mean("recall")

    @property
    def macro_f1(self) -> float | None:
        """The mean F1 of the labels that occur on either side."""
        return self._mean("f1")

    def _mean(self, measure: str) -> float | None:
        found = [getattr(self.scores(label), measure) for label in range(len(self.counts))]
        return mean(known) if (known := [value for value in found if value is not None]) else None

    def kappa(self, weights: Weights = "none") -> float | None:
        """Cohen's kappa (Cohen 1960, 1968); None if both sides use the same single label throughout."""
        last, power = len(self.counts) - 1, ("none", "linear", "quadratic").index(weights)

        def apart(one: int, other: int) -> float:
            return (abs(one - other) / last) ** power if one != other else 0.0

        cells, gold, judged = list(product(range(last + 1), repeat=2)), self.gold, self.judged
        expected = math.fsum(apart(i, j) * gold[i] * judged[j] for i, j in cells)
        if not expected:
            return None
        return 1 - self.n * math.fsum(apart(i, j) * self.counts[i][j] for i, j in cells) / expected


def alpha(
    items: Sequence[Sequence[int | None]], labels: int, level: Level, values: Sequence[float] | None = None
) -> float | None:
    """Krippendorff's alpha over items, each with one label (or None) per rater; any number of raters.

    ``values`` are the numbers of the labels, for ``interval``; without them, labels are equally spaced. None if no item
    has two raters, or if all labels are equal (Krippendorff 2004, ch. 11).
    """
    together = [[0.0] * labels for _ in range(labels)]
    for item in items:
        counted = Counter(label for label in item if label is not None)
        raters = counted.total()
        if raters > 1:
            for one, other in product(counted, repeat=2):
                together[one][other] += counted[one] * (counted[other] - (one == other)) / (raters - 1)
    sums = [math.fsum(row) for row in together]
    numbers = list(values) if values is not None else [float(label) for label in range(labels)]

    def apart(one: int, other: int) -> float:
        if level == "nominal":
            return float(one != other)
        if level == "interval":
            return (numbers[one] - numbers[other]) ** 2
        low, high = sorted((one, other))
        return (math.fsum(sums[low : high + 1]) - (sums[low] + sums[high]) / 2) ** 2 if low != high else 0.0

    cells = list(product(range(labels), repeat=2))
    expected = math.fsum(sums[i] * sums[j] * apart(i, j) for i, j in cells)
    if not expected:
        return None
    observed = math.fsum(together[i][j] * apart(i, j) for i, j in cells)
    return 1 - (math.fsum(sums) - 1) * observed / expected


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """The probability that a positive item scores above a negative one; ties count half; None with one class only."""
    first = sum(positive)
    second = len(positive) - first
    if not first or not second:
        return None
    summed = math.fsum(rank for rank, is_positive in zip(ranks(scores), positive, strict=True) if is_positive)
    return (summed - first * (first + 1) / 2) / (first * second)


def calibration_error(probabilities: Sequence[float], outcomes: Sequence[bool]) -> float | None:
    """The expected calibration error over ten equally wide bins (Naeini et al. 2015); None without items."""
    held: list[list[tuple[float, bool]]] = [[] for _ in range(10)]
    for probability, outcome in zip(probabilities, outcomes, strict=True):
        held[min(int(probability * 10), 9)].append((probability, outcome))
    gaps = [abs(math.fsum(p - outcome for p, outcome in one)) for one in held]
    return math.fsum(gaps) / len(probabilities) if probabilities else None


def cluster_interval(
    parts: Sequence[Sequence[N]], measure: Callable[[Sequence[N]], float | None], *, seed: int = 0
) -> tuple[float, float] | None:
    """The 95% percentile bootstrap interval of a measure of sums, resampling whole clusters.

    ``parts`` are the addends of each cluster (e.g. the cells of a record's confusion matrix). None with fewer than two
    clusters, or if the measure is undefined in most resamples.
    """
    if len(parts) < 2:
        return None
    chooser = random.Random(seed)  # noqa: S311 - resampling, no secret
    found = []
    for _ in range(RESAMPLES):
        drawn = chooser.choices(parts, k=len(parts))
        value = measure([sum(column) for column in zip(*drawn, strict=True)])
        if value is not None:
            found.append(value)
    if len(found) * 2 < RESAMPLES:
        return None
    found.sort()
    return found[int(0.025 * len(found))], found[min(int(0.975 * len(found)), len(found) - 1)]


def kappa_of(cells: Sequence[int], size: int) -> float | None:
    """Unweighted Cohen's kappa of a square matrix; None if both sides use the same single label."""
    count = sum(cells)
    chance = sum(sum(cells[at * size : (at + 1) * size]) * sum(cells[at::size]) for at in range(size))
    most = count * count - chance
    return (count * sum(cells[:: size + 1]) - chance) / most if most else None


def kappa_interval(parts: Sequence[Sequence[int]], size: int, *, seed: int = 0) -> tuple[float, float] | None:
    """The 95% interval of Cohen's kappa, resampling whole clusters; ``parts`` are their square matrices, row by row.

    If no cluster has a disagreement, no resample has one. The lower end is then kappa at the largest share of
    disagreeing clusters that would still leave 1 sample in 40 without any. None if all resamples have the same lower
    kappa, for example if one side uses only one label.
    """
    found = cluster_interval(parts, lambda cells: kappa_of(cells, size), seed=seed)
    if found is None or found[0] < found[1]:
        return found
    if found[0] < 1:
        return None
    counts = [sum(column) for column in zip(*parts, strict=True)][:: size + 1]
    by_chance = sum((count / sum(counts)) ** 2 for count in counts)
    return max(1 - (1 - 0.025 ** (1 / len(parts))) / (1 - by_chance), -1.0), 1.0

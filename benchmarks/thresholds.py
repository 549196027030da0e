"""Measure how often ``ragstone check --max-drop X --undecided fail`` fails, by X and the number of records.

``python benchmarks/thresholds.py RAGBENCH`` reads two systems' responses to the same 99 questions, in random order, so
that neither system is better. For samples of these pairs, it prints the percentage that fails if nothing has changed
and if the second system is worse by twice X, and the smallest detectable difference (median of 20 samples).
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

from ragstone import evaluate
from ragstone.stats.paired_tests import paired

SAMPLES = 20_000
SIZES = ((15, 0.02), (10, 0.1), (15, 0.1), (30, 0.1), (50, 0.1), (50, 0.05), (100, 0.05), (400, 0.05), (400, 0.02))


def pairs_of(path: Path) -> list[tuple[float, float]]:
    """Return both systems' grounding, by the embedded judge, of each question that has two responses."""
    asked = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        asked[row["question"], *row["documents"]].append(row)
    rows = [row for rows in asked.values() if len(rows) == 2 for row in rows]
    run = evaluate(rows, "grounding", store=None)
    values = [result["scores"][0]["value"] for result in run.results()]
    return [
        (first, second) for first, second in zip(values[::2], values[1::2], strict=True) if None not in (first, second)
    ]


def sample(
    chooser: random.Random, pairs: list[tuple[float, float]], size: int, worse: float
) -> list[tuple[float, float]]:
    """Draw pairs in random order; a share of the second responses makes only unsupported claims, so the mean falls."""
    share = worse / mean(value for pair in pairs for value in pair)
    drawn = [pair[:: chooser.choice((1, -1))] for pair in chooser.choices(pairs, k=size)]
    return [(first, 0.0 if chooser.random() < share else second) for first, second in drawn]


def fails(drawn: list[tuple[float, float]], limit: float) -> bool:
    return mean(first - second for first, second in drawn) > limit


def main(path: Path) -> None:
    chooser, pairs = random.Random(0), pairs_of(path)
    print(f"{len(pairs)} pairs; records, X: fails if unchanged, if worse by 2 X; smallest detectable difference")
    for size, limit in SIZES:
        shares = [
            mean(fails(sample(chooser, pairs, size, worse), limit) for _ in range(SAMPLES // size))
            for worse in (0.0, 2 * limit)
        ]
        found = [paired(*zip(*sample(chooser, pairs, size, 0.0), strict=True)).smallest() for _ in range(20)]
        smallest = median(one for one in found if one is not None)
        print(f"{size:5} {limit:5}: {shares[0]:6.1%} {shares[1]:6.1%} {smallest:6.1%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

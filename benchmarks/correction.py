"""How often the 95 % intervals of corrected means hold the truth, on made judges with known errors.

``python benchmarks/correction.py [DRAWS]`` draws labelled samples of 30, 100 and 400 records, each with two items
that are alike, from a population whose true mean is known, and counts how often the interval holds it: for
prediction-powered means clustered by record, for the same with items taken as independent, and for Rogan-Gladen with
independent items. 95 % is nominal; 93 to 97 % is expected.
"""

from __future__ import annotations

import random
import sys

from ragstone.stats.correction import prediction_powered, rogan_gladen

OTHERS = 600
"""Records without labels."""
SENSITIVITY, SPECIFICITY = 0.9, 0.75
RATE = 2 / 3
"""The true share of items that people pass."""
Items = tuple[list[int], list[int], list[int]]
"""Of some items: the records, people's labels, the judge's labels."""


def judged(chooser: random.Random, human: int) -> int:
    """A judge's label of an item that people pass (1) or fail (0)."""
    return int(chooser.random() < (SENSITIVITY if human else 1 - SPECIFICITY))


def drawn(chooser: random.Random, records: int) -> Items:
    """Two items a record, which are alike: people pass both, one or none by a rate of the record's own."""
    ids, people, judge = [], [], []
    for record in range(records):
        ease = chooser.betavariate(2, 1)
        for _ in range(2):
            human = int(chooser.random() < ease)
            ids.append(record)
            people.append(human)
            judge.append(judged(chooser, human))
    return ids, people, judge


def powered(ours: Items, theirs: Items, *, clustered: bool) -> bool:
    """Whether the interval from labelled and unlabelled items holds the true mean."""
    clusters = (ours[0], [-1 - record for record in theirs[0]]) if clustered else None
    found = prediction_powered(ours[1], ours[2], theirs[2], clusters=clusters)
    return found.low <= RATE <= found.high


def corrected(chooser: random.Random, n: int) -> bool | None:
    """Whether the interval from ``n`` labelled items and 1,000 others holds a true rate of two thirds."""
    labelled = [int(chooser.random() < RATE) for _ in range(n)]
    told = [(human, judged(chooser, human)) for human in labelled]
    others = sum(judged(chooser, int(chooser.random() < RATE)) for _ in range(1_000))
    try:
        found = rogan_gladen(
            others,
            1_000,
            pass_right=sum(human and judge for human, judge in told),
            pass_total=sum(labelled),
            fail_right=sum(not human and not judge for human, judge in told),
            fail_total=n - sum(labelled),
        )
    except ValueError:
        return None
    return found.low <= RATE <= found.high


def main() -> None:
    """Print a line for each sample size."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    chooser = random.Random(0)
    print(f"share of {draws:,} intervals that hold the truth (95 % nominal)")
    print(f"{'labelled':>9} {'PPI++ by record':>16} {'PPI++ by item':>14} {'Rogan-Gladen':>13}")
    for n in (30, 100, 400):
        samples = [(drawn(chooser, n), drawn(chooser, OTHERS)) for _ in range(draws)]
        by_record, by_item = (sum(powered(*one, clustered=yes) for one in samples) / draws for yes in (True, False))
        rates = [held for held in (corrected(chooser, n) for _ in range(draws)) if held is not None]
        print(f"{n:>9} {by_record:>16.1%} {by_item:>14.1%} {sum(rates) / len(rates):>13.1%}")


if __name__ == "__main__":
    main()

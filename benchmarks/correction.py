"""How often the 95% intervals of corrected means hold the truth, on made judges with known errors.

``python benchmarks/correction.py [DRAWS]`` draws labelled samples of 30, 100 and 400 records from a population whose
true mean is known: two items a record that are alike, each judged three times by a judge that tends to repeat its
errors. It counts how often the interval holds the truth, with rows clustered by record and taken as independent, by
prediction-powered inference and by Rogan-Gladen. 95% is nominal; 93 to 97% is expected of clustered intervals.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import NamedTuple

from ragstone.stats.correction import Corrected, Rates, prediction_powered, rogan_gladen

OTHERS = 600
"""Records without labels."""
ITEMS, REPEATS = 2, 3
SENSITIVITY, SPECIFICITY = 0.9, 0.75
SAME = 2.0
"""Judge's rate of being right on one item: a beta distribution with this sum of parameters; less repeats more."""
TRUTH = 2 / 3
"""The true share of items that people pass."""


class Row(NamedTuple):
    """One repeat of one item: people's label and the judge's."""

    human: int
    judge: int


def drawn(chooser: random.Random, records: int) -> list[list[Row]]:
    """The rows of each record; people pass each of its items by a rate of the record's own."""
    return [list(_record(chooser)) for _ in range(records)]


def _record(chooser: random.Random) -> Iterator[Row]:
    ease = chooser.betavariate(2, 1)
    for _ in range(ITEMS):
        human = int(chooser.random() < ease)
        right = SENSITIVITY if human else SPECIFICITY
        own = chooser.betavariate(right * SAME, (1 - right) * SAME)
        for _ in range(REPEATS):
            yield Row(human, human if chooser.random() < own else 1 - human)


def powered(ours: list[list[Row]], theirs: list[list[Row]], *, clustered: bool) -> Corrected:
    """The prediction-powered mean of all rows."""
    labelled = [(number, row) for number, record in enumerate(ours) for row in record]
    others = [(-1 - number, row.judge) for number, record in enumerate(theirs) for row in record]
    clusters = ([number for number, _ in labelled], [number for number, _ in others])
    return prediction_powered(
        [row.human for _, row in labelled],
        [row.judge for _, row in labelled],
        [judge for _, judge in others],
        clusters=clusters if clustered else None,
    )


def rated(ours: list[list[Row]], theirs: list[list[Row]], *, clustered: bool) -> Corrected | None:
    """The Rogan-Gladen rate of all rows; None where it is refused."""
    rates = [
        Rates(
            sum(row.human and row.judge for row in record),
            sum(row.human for row in record),
            sum(not row.human and not row.judge for row in record),
            sum(not row.human for row in record),
        )
        for record in ours
    ]
    passed = [(sum(row.judge for row in record), len(record)) for record in theirs]
    totals = Rates(*(sum(column) for column in zip(*rates, strict=True)))
    try:
        accepted, judged = map(sum, zip(*passed, strict=True))
        return rogan_gladen(accepted, judged, totals, (rates, passed) if clustered else None)
    except ValueError:
        return None


def main() -> None:
    """Print a line for each sample size."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    chooser = random.Random(0)
    print(f"share of {draws:,} intervals that hold the truth (95% nominal), rows clustered by record or independent")
    names = ("PPI++ clustered", "PPI++ independent", "R-G clustered", "R-G independent", "R-G refused")
    print(f"{'labelled':>9}" + "".join(f"{name:>19}" for name in names))
    for n in (30, 100, 400):
        held, refused = [0] * 4, 0
        for _ in range(draws):
            ours, theirs = drawn(chooser, n), drawn(chooser, OTHERS)
            found = [make(ours, theirs, clustered=yes) for make in (powered, rated) for yes in (True, False)]
            refused += found[2] is None
            for place, one in enumerate(found):
                held[place] += one is not None and one.low <= TRUTH <= one.high
        shares = [*(count / draws for count in held[:2]), *(count / max(draws - refused, 1) for count in held[2:])]
        print(f"{n:>9}" + "".join(f"{share:>19.1%}" for share in shares) + f"{refused:>19}")


if __name__ == "__main__":
    main()

"""Find where the embedded judge is confident enough to be first in a cascade, and write ``band.json``.

    python training/fit_band.py [--data ../shared/data] [--out src/ragstone/judges/embedded/band.json]

Run it after every new fit of the model: the file names the model that it belongs to. It reads only the training claims,
in a five-fold cross-validation over contexts: each fifth is rated by a model fitted to the other four as in
``fit_support.py``, and calibrated like the packaged model. The tenth that the packaged model has not seen is too small
to measure small error rates.

For each accepted error rate, it finds two probabilities: the lowest from which "supported", and the highest up to which
"not supported", is wrong at most that often. Partial support is wrong in both cases. The rate must hold for all rows
together and for those of RAG responses alone, and beyond these rows: the upper end of its 95% interval (Wilson,
one-sided) counts. If no probability achieves this, the judge is never confident about that verdict. ``support`` is
fitted to all rows, ``assign`` to nuggets judged against a summary.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from fit_support import EDITED, bucket, chances, grow, read, support_features, table
from ragstone.judges.embedded.evidence import Features
from ragstone.judges.embedded.model import digest, model

BAND = Path(__file__).parent.parent / "src/ragstone/judges/embedded/band.json"
RATES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
SURE = 1.645
"""Standard deviations of the 95% interval, one-sided."""
PARTS = 5
DIGITS = 3


class Row(NamedTuple):
    """One labelled statement with the probability that the judge gives it."""

    dataset: str
    label: str
    chance: float


Group = Callable[[Row], bool]
TASKS: dict[str, tuple[Group, ...]] = {
    "support": (lambda _row: True, lambda row: row.dataset.startswith("ragbench-")),
    "assign": (lambda row: row.dataset == "scu-realsumm",),
}
"""By task the groups of rows in each of which the rate must hold."""


def unseen(rows: Sequence[dict[str, Any]], jobs: int) -> list[Row]:
    """Every row as weighed by a model that did not see its context."""
    with Pool(jobs) as pool:
        features = np.array(pool.map(support_features, rows, chunksize=200))
    known = table(rows)
    part = np.array([bucket(row["context"][0]) % PARTS for row in rows])
    natural = ~np.char.startswith(known.sets, EDITED)
    found = np.zeros(len(rows))
    for number in range(PARTS):
        learn, test = known.clear & natural & (part != number), part == number
        made = grow(features[learn][:, :-1], known.labels[learn], known.sets[learn])
        found[test] = chances({**made, "calibration": model().support.calibration}, features[test])
    found[features[:, Features._fields.index("words")] == 0] = 0.0
    return [Row(row["dataset"], row["label"], float(x)) for row, x in zip(rows, found, strict=True)]


def highest(wrong: int, count: int) -> float:
    """The upper end of the interval of a share (Wilson 1927)."""
    share, square = wrong / count, SURE * SURE
    middle = share + square / (2 * count)
    return (middle + SURE * math.sqrt(share * (1 - share) / count + square / (4 * count * count))) / (
        1 + square / count
    )


def edge(rows: Iterable[Row], right: str, rate: float, *, above: bool) -> float | None:
    """How far from its end ``right`` can be said of all rows without being wrong too often; None for not at all."""
    ordered = sorted(rows, key=lambda row: -row.chance if above else row.chance)
    found: float | None = None
    wrong = 0
    for count, row in enumerate(ordered, 1):
        wrong += row.label != right
        last = count == len(ordered) or ordered[count].chance != row.chance
        if last and highest(wrong, count) <= rate:
            found = row.chance
    if found is None:
        return None
    scale = 10.0**DIGITS  # rounded to the sure side
    return math.ceil(found * scale) / scale if above else math.floor(found * scale) / scale


def band(rows: Sequence[Row], groups: Sequence[Group], rate: float) -> tuple[float | None, float | None]:
    """The strictest of the groups' edges; a side that one group does not allow is never sure."""
    below = [edge(filter(group, rows), "not_support", rate, above=False) for group in groups]
    above = [edge(filter(group, rows), "support", rate, above=True) for group in groups]
    return (
        None if None in below else min(cut for cut in below if cut is not None),
        None if None in above else max(cut for cut in above if cut is not None),
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--out", type=Path, default=BAND)
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    rows = unseen(read(given.data / "support/train.jsonl"), given.jobs)
    bands = {task: [[rate, *band(rows, groups, rate)] for rate in RATES] for task, groups in TASKS.items()}
    part = given.out.with_suffix(".part")
    part.write_bytes(orjson.dumps({"model": digest(), "bands": bands}) + b"\n")
    part.replace(given.out)
    for task, found in bands.items():
        for rate, below, above in found:
            print(f"{task:8} error {rate:<6} not supported up to {below}, supported from {above}")
    print(f"{given.out}: {len(rows)} rows, model {digest()}")


if __name__ == "__main__":
    main()

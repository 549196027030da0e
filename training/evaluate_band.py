"""Evaluate the embedded judge as the first judge of a cascade: what it answers, and how often it is wrong.

    python training/evaluate_band.py [--data ../shared/data] [--errors 0.05 0.1]

Reads ``support/dev.jsonl``, to which nothing was fitted. For each data set and for all together, prints the share of
statements about which the judge is confident at an accepted error rate, and its error rate on these, in total and for
each verdict. ``*`` marks an exceeded rate. Also checks the nuggets of REALSumm against the band for ``assign``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from evaluate_support import weigh
from fit_band import Row
from fit_support import read
from ragstone.judges.cascade import SureBand
from ragstone.judges.embedded.measured import band_of
from ragstone.judges.embedded.model import digest
from ragstone.questions import Task


def weighed(rows: Sequence[dict[str, Any]], jobs: int) -> list[Row]:
    """What the judge as it is packaged says of rows."""
    with Pool(jobs) as pool:
        found = pool.map(weigh, rows, chunksize=100)
    return [Row(row["dataset"], row["label"], chance) for row, (_, chance) in zip(rows, found, strict=True)]


def share(count: int, whole: int) -> str:
    return f"{count / whole:.3f}" if whole else "-"


def line(name: str, rows: Sequence[Row], band: SureBand, error: float) -> None:
    """What of these rows the judge is sure of, and how much of that is wrong."""
    high = [row for row in rows if band.above is not None and row.chance >= band.above]
    low = [row for row in rows if band.below is not None and row.chance <= band.below]
    wrong_high = sum(row.label != "support" for row in high)
    wrong_low = sum(row.label != "not_support" for row in low)
    sure, wrong = len(high) + len(low), wrong_high + wrong_low
    mark = " *" if sure and wrong / sure > error else ""
    print(
        f"{name:24}{len(rows):7}{share(sure, len(rows)):>10}{share(wrong, sure):>8}{mark:2}"
        f"{len(high):9}{share(wrong_high, len(high)):>8}{len(low):9}{share(wrong_low, len(low)):>8}"
    )


def table(task: Task, rows: Sequence[Row], error: float) -> None:
    band = band_of(task, error) or SureBand()
    print(f"\n{task}, wanted error {error:g}, band {band}")
    print(f"{'data set':24}{'rows':>7}{'answered':>10}{'error':>8}{'yes':>11}{'error':>8}{'no':>9}{'error':>8}")
    names = sorted({row.dataset for row in rows})
    for name in names:
        line(name, [row for row in rows if row.dataset == name], band, error)
    if len(names) > 1:
        line("RAG responses", [row for row in rows if row.dataset.startswith("ragbench-")], band, error)
        line("all", rows, band, error)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--errors", type=float, nargs="*", default=[0.05, 0.1, 0.2])
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    rows = weighed(read(given.data / "support/dev.jsonl"), given.jobs)
    print(f"\nas the first of a cascade, dev.jsonl, model {digest()}")
    for error in given.errors:
        table("support", rows, error)
    for error in given.errors:
        table("assign", [row for row in rows if row.dataset == "scu-realsumm"], error)


if __name__ == "__main__":
    main()

"""Evaluate the embedded judge's support verdicts for each data set, compared with word overlap (the floor).

    python training/evaluate_support.py [--data ../shared/data] [--rows 0] [--write measured.json]

On ``support/dev.jsonl``, prints the AUROC of the floor (the share of the claim's content words found in the context)
and of the judge, the balanced accuracy at the ``yes`` cut, the expected calibration error in ten bins, and the grades
given to partial support (where labelled, in the held-out training contexts). ``--write`` writes the means over the
data sets with human labels, for reports.
"""

from __future__ import annotations

import argparse
import json
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict
from sklearn.metrics import roc_auc_score

from fit_support import HELD, Numbers, bucket, read
from ragstone.judges.base import Reply
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.judges.embedded.compute import reply_to
from ragstone.judges.embedded.evidence import find
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.measured import Measured
from ragstone.judges.embedded.model import label_of, model
from ragstone.questions import GRADE_0_2, YES_NO, Rate
from ragstone.types import Passage, Unit, Verdict
from variations import variations

WRONG = (
    "number", "unit", "date", "name", "stranger", "swapped", "negation", "denied", "refuted", "asked", "opposite",
    "overstated",
)  # fmt: skip


def weigh(row: dict[str, Any]) -> tuple[float, float]:
    """The floor and the judge's probability."""
    finding = find(row["claim"], Library(row["context"], (row["claim"],)))
    return finding.features.words, chance_of(row["claim"], row["context"])


def chance_of(claim: str, context: list[str]) -> float:
    """The probability as in a run; 0 of a claim that there is nothing to look for in."""
    passages = tuple(Passage(f"p{rank}", text, rank) for rank, text in enumerate(context, 1))
    (verdict,) = rated(Rate("support", (Unit("c", "claim", claim),), YES_NO, passages=passages))
    return verdict.probability or 0.0


def rated(question: Rate) -> tuple[Verdict, ...]:
    """The judge's verdicts as in a run, computed at once from its one call."""
    dialogue = EmbeddedJudge().dialogue(question)
    (call,) = next(dialogue)
    try:
        dialogue.send([Reply(reply_to(call.body))])
    except StopIteration as stop:
        verdicts: tuple[Verdict, ...] = stop.value.verdicts
        return verdicts
    raise AssertionError("it asks again")


def table(sets: list[str], labels: Numbers, floor: Numbers, chances: Numbers) -> dict[str, tuple[float, float]]:
    """Print the figures per data set; the AUROC of the floor and of the judge by the name of the set."""
    cut = model().support.yes
    print(f"{'data set':24}{'rows':>7}{'support':>9}{'floor':>8}{'AUROC':>8}{'bal.acc':>9}{'ECE':>7}")
    rates: dict[str, tuple[float, float]] = {}
    means = []
    names = [*sorted(set(sets)), "pooled"]
    for name in names:
        mine = np.array([name in {"pooled", own} for own in sets])
        y, p = labels[mine], chances[mine]
        if len(set(y.tolist())) < 2:
            continue
        below, value = roc_auc_score(y, floor[mine]), roc_auc_score(y, p)
        balanced = ((p[y == 1] >= cut).mean() + (p[y == 0] < cut).mean()) / 2
        bins = np.minimum((p * 10).astype(int), 9)
        error = sum(abs(p[bins == b].mean() - y[bins == b].mean()) * (bins == b).mean() for b in set(bins.tolist()))
        print(f"{name:24}{len(y):7}{y.mean():9.2f}{below:8.3f}{value:8.3f}{balanced:9.3f}{error:7.3f}")
        if name != "pooled":
            rates[name] = (below, value)
            means.append((below, value, balanced, error))
    columns = np.array(means).mean(axis=0)
    print(f"{'mean over data sets':40}{columns[0]:8.3f}{columns[1]:8.3f}{columns[2]:9.3f}{columns[3]:7.3f}")
    return rates


def by_people(rates: dict[str, tuple[float, float]], sets: list[str]) -> Measured:
    """The means over the data sets with human labels: all but RAGBench, which GPT-4 labelled."""
    mine = {name: both for name, both in rates.items() if not name.startswith("ragbench")}
    floor, auroc = (round(float(value), 3) for value in np.mean([*mine.values()], axis=0))
    return Measured(model().digest, len(mine), sum(name in mine for name in sets), auroc, floor)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--rows", type=int, default=0, help="only so many rows, spread evenly; 0: all")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--write", type=Path, help="where the means over human labels go")
    given = arguments.parse_args()
    rows = read(given.data / "support/dev.jsonl")
    rows = rows[:: max(1, len(rows) // given.rows)] if given.rows else rows
    held = [r for r in read(given.data / "support/train.jsonl") if bucket(r["context"][0]) % HELD == 0]
    with Pool(given.jobs) as pool:
        print(f"support, dev.jsonl, model {model().digest}")
        found = np.array(pool.map(weigh, rows, chunksize=100))
        labels = np.array([row["label"] == "support" for row in rows], dtype=np.float64)
        sets = [row["dataset"] for row in rows]
        people = by_people(table(sets, labels, found[:, 0], found[:, 1]), sets)
        print(f"{f'mean over {people.sets} with human labels':40}{people.floor:8.3f}{people.auroc:8.3f}")
        if given.write:
            given.write.write_text(json.dumps(asdict(people)) + "\n")
            return
        wrong = list(variations(rows, dict.fromkeys(WRONG, 1.0)))
        told = np.array(pool.map(weigh, wrong, chunksize=100))[:, 1]
        before = {row["id"]: chance for row, chance in zip(rows, found[:, 1].tolist(), strict=True)}
        print(
            "\nsupported rows of dev.jsonl made wrong by one change: share that is weighed lower, share below the cut"
        )
        for kind in WRONG:
            pairs = [
                (before[row["id"].removesuffix("-" + kind)], chance)
                for row, chance in zip(wrong, told.tolist(), strict=True)
                if row["made"] == kind
            ]
            lower = sum(b < a for a, b in pairs) / len(pairs)
            refused = sum(b < model().support.yes for _, b in pairs) / len(pairs)
            print(f"{kind:18}{len(pairs):6}  lower: {lower:.2f}  below the cut: {refused:.2f}")
        kept = np.array(pool.map(weigh, held, chunksize=100))
        print("\ngrade 0-2 by label, share of rows (training contexts that were kept back)")
        for label in ("not_support", "partial_support", "support"):
            mine = [p for row, p in zip(held, kept[:, 1].tolist(), strict=True) if row["label"] == label]
            grades = [label_of(GRADE_0_2, p, model().support.yes, model().support.maybe) for p in mine]
            print(f"{label:18}{len(mine):6}  " + "  ".join(f"{g}: {grades.count(g) / len(mine):.2f}" for g in "012"))


if __name__ == "__main__":
    main()

"""Evaluate how well the embedded judge assigns nuggets to responses, compared with people.

    python training/evaluate_nuggets.py [--data ../shared/data] [--refit] [--jobs 2]

Reads ``nuggets/realsumm.jsonl``: summaries of 40 news texts by 25 systems, with human labels of which nuggets each
contains. The judge answers as in a run. The topics are split into two halves by a hash of their ids: the cuts are
chosen on the first half (printed as ``best on``), and figures are given for both halves and for all. If
``support/train.jsonl`` exists, topics whose nuggets were used to fit the support model are counted separately, because
only the others are new to it.

With ``--refit``, two more support models are fitted as in ``fit_support.py``: one without rows whose claim is one of
these nuggets, and one without any row of REALSumm. Neither has seen the pairs on which it is evaluated.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from multiprocessing import Pool
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from evaluate_support import rated
from fit_support import Numbers, fit_support, read, support_features
from ragstone.judges.embedded import judge as embedded
from ragstone.judges.embedded import support
from ragstone.judges.embedded.evidence import find
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.model import Logistic, Model, assignment_cuts, model
from ragstone.questions import SUPPORT_3, Rate
from ragstone.types import Passage, Unit

DOUBT = 0.25
"""Where fewer nuggets than this share are held, none is said to be held in part."""

Flags = NDArray[np.bool_]


def first_half(topic: str) -> bool:
    return hashlib.sha256(topic.encode()).digest()[0] % 2 == 0


def folded(text: str) -> str:
    return " ".join(text.lower().split())


def judge(record: dict[str, Any]) -> list[tuple[float, float, float]]:
    """For each nugget: the floor (share of its content words in the response), the probability, the value."""
    texts = [nugget["text"] for nugget in record["nuggets"]]
    units = tuple(Unit(f"nugget/{n}", "nugget", text) for n, text in enumerate(texts, 1))
    passages = (Passage("response", record["response"], 1),)
    verdicts = rated(Rate("assign", units, SUPPORT_3, passages=passages, evidence=True))
    library = Library([record["response"]], texts)
    floors = [find(text, library).features.words for text in texts]
    return [
        (floor, verdict.probability or 0.0, verdict.value or 0.0)
        for floor, verdict in zip(floors, verdicts, strict=True)
    ]


def tau_b(one: Sequence[float], other: Sequence[float]) -> float:
    """Kendall's rank correlation with ties."""
    agree = mine = theirs = 0
    for (a, b), (c, d) in combinations(list(zip(one, other, strict=True)), 2):
        left, right = (a > c) - (a < c), (b > d) - (b < d)
        agree += left * right
        mine += bool(left)
        theirs += bool(right)
    return agree / math.sqrt(mine * theirs)


def means(systems: list[str], values: Numbers) -> dict[str, float]:
    """Per system, the mean over its nuggets."""
    names = np.array(systems)
    return {name: float(values[names == name].mean()) for name in sorted(set(systems))}


def row(name: str, labels: Flags, found: Numbers, systems: list[str], keep: Flags) -> None:
    """One line: how nuggets are told apart, and how systems are ordered by the mean of three grades."""
    y, floor, chance, value = labels[keep], found[keep, 0], found[keep, 1], found[keep, 2]
    said = value == 1.0
    kept = [system for system, mine in zip(systems, keep.tolist(), strict=True) if mine]
    people, judged = means(kept, y.astype(float)), means(kept, value)
    strict = means(kept, said.astype(float))
    print(
        f"{name:22}{len(y):7}{y.mean():7.3f}{said.mean():8.3f}{value.mean():8.3f}"
        f"{roc_auc_score(y, floor):8.3f}{roc_auc_score(y, chance):8.3f}"
        f"{f1_score(y, said):7.3f}{precision_score(y, said):7.3f}{recall_score(y, said):7.3f}"
        f"{tau_b(list(people.values()), list(strict.values())):8.3f}"
        f"{tau_b(list(people.values()), list(judged.values())):8.3f}"
    )


def chosen(labels: Flags, chances: Numbers) -> tuple[float, float]:
    """The cuts that these rows ask for: ``support`` said as often as it is true, ``partial`` from ``DOUBT`` on."""
    steps = [k / 100 for k in range(20, 81)]
    full = min(steps, key=lambda cut: (round(abs(float((chances >= cut).mean() - labels.mean())), 6), cut))

    def share(cut: float) -> float:
        near = (chances >= cut - 0.05) & (chances < cut + 0.05)
        return float(labels[near].mean()) if near.any() else 0.0

    return next((cut for cut in steps if cut < full and share(cut) >= DOUBT), full), full


def answered(records: Sequence[dict[str, Any]], jobs: int) -> Numbers:
    """Floor, probability and value of every nugget, by the packaged support model or one put in its place."""
    with Pool(jobs) as pool:  # forked, so that it has what was put in place
        return np.array([one for answer in pool.map(judge, records, chunksize=20) for one in answer])


def refits(data: Path, nuggets: set[str], jobs: int) -> Iterator[tuple[str, Model]]:
    """The packaged model with a support model that never saw these nuggets, and with one that saw no summary."""
    rows = [row for row in read(data / "support/train.jsonl") if folded(row["claim"]) not in nuggets]
    with Pool(jobs) as pool:
        features = np.array(pool.map(support_features, rows, chunksize=200))
    for name, other in (("refit without these", ""), ("... without REALSumm", "scu-realsumm")):
        keep = [i for i, one in enumerate(rows) if one["dataset"] != other]
        found = fit_support([rows[i] for i in keep], features[keep])
        yield name, replace(model(), support=Logistic(**found))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument(
        "--refit", action="store_true", help="fit two more support models that saw none of these pairs"
    )
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    records = read(given.data / "nuggets/realsumm.jsonl")
    start = time.perf_counter()
    found = answered(records, given.jobs)
    taken = time.perf_counter() - start
    pairs = [(record, nugget) for record in records for nugget in record["nuggets"]]
    labels = np.array([nugget["assignment"] == "support" for _, nugget in pairs])
    systems = [record["run_id"] for record, _ in pairs]
    first = np.array([first_half(record["qid"]) for record, _ in pairs])
    print(f"realsumm, model {model().digest}, cuts {assignment_cuts()}: {len(records)} responses in {taken:.1f} s")
    print(f"best on the first half: {chosen(labels[first], found[first, 1])}\n")
    print(
        f"{'topics':22}{'rows':>7}{'people':>7}{'support':>8}{'graded':>8}{'floor':>8}{'AUROC':>8}{'F1':>7}{'prec':>7}"
        f"{'rec':>7}{'tau':>8}{'graded':>8}"
    )
    row("first half (chosen on)", labels, found, systems, first)
    row("second half", labels, found, systems, ~first)
    row("all", labels, found, systems, np.ones_like(first))
    fitted = given.data / "support/train.jsonl"
    if fitted.exists():
        claims = {folded(claim["claim"]) for claim in read(fitted) if claim["dataset"] == "scu-realsumm"}
        known = {record["qid"] for record, nugget in pairs if folded(nugget["text"]) in claims}
        seen = np.array([record["qid"] in known for record, _ in pairs])
        row("fitted to", labels, found, systems, seen)
        row("new to the model", labels, found, systems, ~seen)
    if given.refit:
        for name, other in refits(given.data, {folded(nugget["text"]) for _, nugget in pairs}, given.jobs):
            with (
                patch.object(support, "model", return_value=other),
                patch.object(embedded, "model", return_value=other),
            ):
                row(name, labels, answered(records, given.jobs), systems, np.ones_like(first))
    print(f"\n{'system':34}{'people':>8}{'support':>9}{'graded':>8}")
    people, strict, graded = (
        means(systems, x) for x in (labels.astype(float), (found[:, 2] == 1.0).astype(float), found[:, 2])
    )
    for name in sorted(people, key=lambda one: -people[one]):
        print(f"{name:34}{people[name]:8.3f}{strict[name]:9.3f}{graded[name]:8.3f}")


if __name__ == "__main__":
    main()

"""Evaluate the embedded judge on statements that the context does not say something.

    python training/evaluate_abstaining.py [--data ../shared/data]

There are three kinds of statements. RAGBench responses in ``support/*.jsonl`` that abstain: few, and nothing was
fitted to them. Questions of ``traces/ragbench_validation.jsonl``, written as "The documents do not say: ..."; wrong if
any sentence is labelled relevant. Claims of ``support/dev.jsonl``, written as "The documents do not mention that ...";
wrong if the claim is labelled supported. *words* is the share of the statement's content words found in the context.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from evaluate_support import weigh
from fit_support import read
from ragstone.judges.embedded.abstaining import abstains
from ragstone.judges.embedded.model import model

LONGEST = 200
"""Characters of a claim that is put as missing."""

Case = tuple[dict[str, Any], bool]
"""A claim with its context, and whether it holds."""


def labelled(data: Path) -> Iterable[Case]:
    for part in ("train", "dev"):
        for row in read(data / f"support/{part}.jsonl"):
            if row["dataset"].startswith("ragbench-") and abstains(row["claim"], "en"):
                yield row, row["label"] == "support"


def questions(data: Path) -> Iterable[Case]:
    for row in read(data / "traces/ragbench_validation.jsonl"):
        claim = f"The documents do not say: {row['question']}"
        yield {"claim": claim, "context": row["documents"]}, not row["labels"]["all_relevant_sentence_keys"]


def claims(data: Path) -> Iterable[Case]:
    for row in read(data / "support/dev.jsonl"):
        if len(row["claim"]) <= LONGEST and not abstains(row["claim"], "en"):
            claim = f"The documents do not mention that {row['claim'][0].lower()}{row['claim'][1:]}"
            yield {"claim": claim, "context": row["context"]}, row["label"] == "not_support"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    cut = model().support.yes
    print(f"{'':28}{'rows':>6}{'hold':>6}{'words':>8}{'AUROC':>8}{'yes, of those that hold':>25}{'of the others':>15}")
    for name, cases in (
        ("labelled, of RAGBench", labelled(given.data)),
        ("made of questions", questions(given.data)),
        ("made of claims", claims(given.data)),
    ):
        every = list(cases)
        with Pool(given.jobs) as pool:
            found = np.array(pool.map(weigh, [row for row, _ in every], chunksize=50))
        y = np.array([holds for _, holds in every])
        floor, chances = found[:, 0], found[:, 1]
        said = chances >= cut
        print(
            f"{name:28}{len(y):6}{y.sum():6}{roc_auc_score(y, floor):8.3f}{roc_auc_score(y, chances):8.3f}"
            f"{said[y].mean():25.2f}{said[~y].mean():15.2f}"
        )


if __name__ == "__main__":
    main()

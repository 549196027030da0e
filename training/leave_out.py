"""Evaluate the support model on data sets that were left out of its fit, compared with word overlap (the floor).

    python training/leave_out.py [--data ../shared/data]

A fifth of the data sets in ``support/train.jsonl`` is left out at a time, with related data sets in different fifths,
and rated by a model fitted to the others as in ``fit_support.py``. ``dev.jsonl`` is not read.
"""

from __future__ import annotations

import argparse
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from fit_support import EDITED, chances, grow, read, support_features, table
from ragstone.judges.embedded.evidence import Features

FIFTHS = (
    ("begin-cmu", "ragbench-emanual", "summedits-podcast", "summedits-scitldr", "fm2"),
    ("begin-wow", "ragbench-covidqa", "ragbench-delucionqa", "summedits-qmsumm", "scifact"),
    ("fever", "ragbench-expertqa", "summedits-sales_call", "wice-claim-oracle"),
    ("scu-realsumm", "ragbench-hagrid", "summedits-samsum", "cg2c_doc"),
    ("faithdial-audit", "ragbench-hotpotqa", "summedits-sales_email"),
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    rows = read(given.data / "support/train.jsonl")
    with Pool(given.jobs) as pool:
        features = np.array(pool.map(support_features, rows, chunksize=200))
    known = table(rows)
    floor = features[:, Features._fields.index("words")]
    print(f"{'data set left out':24}{'rows':>7}{'support':>9}{'floor':>8}{'AUROC':>8}")
    found = []
    for fifth in FIFTHS:
        natural = ~np.char.startswith(known.sets, EDITED)
        learn = known.clear & natural & ~np.isin(known.sets, fifth)
        model = grow(features[learn][:, :-1], known.labels[learn], known.sets[learn])
        for name in fifth:
            mine = (known.sets == name) & known.clear
            y, scores = known.labels[mine], chances(model, features[mine])
            below, value = roc_auc_score(y, floor[mine]), roc_auc_score(y, scores)
            print(f"{name:24}{len(y):7}{y.mean():9.2f}{below:8.3f}{value:8.3f}", flush=True)
            found.append((below, value))
    means = np.array(found).mean(axis=0)
    print(f"{'mean':40}{means[0]:8.3f}{means[1]:8.3f}")


if __name__ == "__main__":
    main()

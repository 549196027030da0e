"""Fit the numbers with which the embedded judge labels traces, and write them to ``trace.json``.

    python training/fit_trace.py [--data ../shared/data] [--out src/ragstone/judges/embedded/trace.json]

Reads ``traces/ragbench_validation.jsonl``. Fits two logistic models of context sentences (used or not, relevant or not)
and a linear model of a record's completeness; ``ragstone.judges.embedded.tracing`` names their features.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge

from ragstone.judges.embedded.model import Weights, weighted
from ragstone.judges.embedded.tracing import (
    Contexts,
    Relevance,
    SentenceTrace,
    Use,
    both,
    chances,
    relevant,
    said,
    use_of,
    utilized,
)

OUT = Path(__file__).parent.parent / "src/ragstone/judges/embedded/trace.json"
SHRINK = 3.0
"""The penalty on squared weights of standardised features of a sentence ..."""

SHRINK_RECORD = 20.0
"""... and of a record."""

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Labelled:
    """A labelled trace: the features of its sentences, those of relevance without use, and its labels."""

    domain: str
    relevant: list[Relevance]
    utilized: list[Use | None]
    response: list[SentenceTrace]
    gold_relevant: list[bool]
    gold_utilized: list[bool]

    def used(self, weights: Weights) -> list[float | None]:
        """The log-odds of use."""
        return [None if row is None else weighted(weights, row._asdict()) for row in self.utilized]

    def about(self, weights: Weights) -> list[Relevance]:
        """The features of relevance, with what the model of use says."""
        use = use_of(self.used(weights))
        return [row._replace(used=x) for row, x in zip(self.relevant, use, strict=True)]

    def probabilities(self, numbers: Mapping[str, Weights]) -> tuple[list[float], list[float]]:
        """That each sentence is relevant, and that it was used."""
        about = [weighted(numbers["relevant"], row._asdict()) for row in self.about(numbers["utilized"])]
        return chances(about), chances(self.used(numbers["utilized"]))


def read(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as lines:
        return [orjson.loads(line) for line in lines]


def labelled(row: Mapping[str, Any]) -> Labelled:
    labels = row["labels"]
    passages = [[text for _, text in document] for document in labels["documents_sentences"]]
    texts = [text for _, text in labels["response_sentences"]]
    contexts = Contexts(row["question"], passages, texts)
    keys = [key for document in labels["documents_sentences"] for key, _ in document]
    every = said(texts, contexts, row["question"], keys)
    return Labelled(
        str(row["dataset"]).removeprefix("ragbench-"),
        relevant(contexts),
        utilized(contexts, every),
        every,
        [key in labels["all_relevant_sentence_keys"] for key in keys],
        [key in labels["all_utilized_sentence_keys"] for key in keys],
    )


def fit(model: Any, features: Sequence[str], rows: Rows, labels: Any, weights: Rows | None = None) -> dict[str, float]:
    """The weights of features, by name, and the bias, of a linear model of standardised rows."""
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1.0
    model.fit((rows - mean) / scale, labels, sample_weight=weights)
    weight = np.ravel(model.coef_) / scale
    bias = np.ravel(model.intercept_)[0] - weight @ mean
    return dict(zip((*features, "bias"), np.round([*weight, bias], 6).tolist(), strict=True))


def fit_sentences(
    features: Sequence[str], rows: Sequence[Sequence[Any]], gold: Sequence[list[bool]]
) -> dict[str, float]:
    """The model of relevance or of use. A record counts as the root of its size; rows that are None do not count."""
    kept = [(row, label, len(labels)) for own, labels in zip(rows, gold, strict=True)
            for row, label in zip(own, labels, strict=True) if row is not None]  # fmt: skip
    weights = np.array([size**-0.5 for *_, size in kept])
    model = LogisticRegression(C=1 / SHRINK, tol=1e-8)
    return fit(model, features, np.array([row for row, *_ in kept]), [y for _, y, _ in kept], weights / weights.mean())


def fit_numbers(traces: Sequence[Labelled]) -> dict[str, Weights]:
    """The content of ``trace.json``, fitted to some traces."""
    used = fit_sentences(Use._fields, [one.utilized for one in traces], [one.gold_utilized for one in traces])
    rows = [one.about(used) for one in traces]
    about = fit_sentences(Relevance._fields, rows, [one.gold_relevant for one in traces])
    found: dict[str, Weights] = {"utilized": used, "relevant": about}
    kept = [one for one in traces if any(one.gold_relevant)]
    shared = np.array([[both(*one.probabilities(found))] for one in kept])
    found["completeness"] = fit(Ridge(SHRINK_RECORD), ("both",), shared, [completeness(one) for one in kept])
    return found


def completeness(one: Labelled) -> float:
    """The labelled share of relevant sentences that were used."""
    both = sum(r and u for r, u in zip(one.gold_relevant, one.gold_utilized, strict=True))
    return both / sum(one.gold_relevant)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--out", type=Path, default=OUT)
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    with Pool(given.jobs) as pool:
        traces = pool.map(labelled, read(given.data / "traces/ragbench_validation.jsonl"), chunksize=10)
    part = given.out.with_suffix(".part")
    part.write_bytes(orjson.dumps(fit_numbers(traces), option=orjson.OPT_INDENT_2) + b"\n")
    part.replace(given.out)
    sys.stdout.write(f"{given.out}: {given.out.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()

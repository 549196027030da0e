"""Fit the numbers that the embedded judge labels traces by, and write them to ``trace.json``.

    python training/fit_trace.py [--data ../shared/data] [--held FOLDER] [--out src/ragstone/judges/embedded/trace.json]

Reads ``traces/ragbench_validation.jsonl`` and the RAGBench rows of ``support/train.jsonl``. Three logistic models
over the features that ``ragstone.judges.embedded.tracing`` names: which sentences are relevant and which were used,
from the labelled sentences of the traces; which response sentences are fully supported, from the labelled claims.

The support model of ``model.json`` has learned from those same claims, so its log-odds on them are kinder than on new
ones. For this fit, and for every figure of adherence that ``evaluate_trace.py`` calls new, six more support models are
fitted, each without any row of one of the six domains, and a claim is weighed by the one that never saw its domain.
They are kept in the folder ``--held``, with the model of full support that was fitted to the other five domains.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import orjson

from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.marks import logistic
from ragstone.judges.embedded.model import Logistic, model, probability
from ragstone.judges.embedded.model import logistic as as_packaged
from ragstone.judges.embedded.tracing import Contexts, Given, Said, relevant, said, supported, use_of, utilized

OUT = Path(__file__).parent.parent / "src/ragstone/judges/embedded/trace.json"
DOMAINS = ("covidqa", "delucionqa", "emanual", "expertqa", "hagrid", "hotpotqa")
LEAST = {"relevant": 0.15, "utilized": 0.15}
"""The least probability of a marked sentence."""

SHRINK = 3.0
"""What keeps weights small: half of it times their squares is added to what is minimised."""

STEPS = 8
NOTHING = -4.0
"""The log-odds that stand for no shared word."""

Row = tuple[float, ...]


@dataclass(frozen=True)
class Heard:
    """A response sentence: free or not, the support model's features, the trace's own; see ``Said`` for the last."""

    free: bool
    features: Row | None
    own: Row | None
    absent: float | None = None


@dataclass(frozen=True)
class Traced:
    """A labelled trace as features; those of relevance without use, see ``with_use``."""

    domain: str
    relevant: list[Row]
    utilized: list[Row | None]
    response: list[Heard]
    gold_relevant: list[bool]
    gold_utilized: list[bool]


def read(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as lines:
        return [orjson.loads(line) for line in lines]


def domain_of(row: dict[str, Any]) -> str:
    return str(row["dataset"]).removeprefix("ragbench-")


def heard(contexts: Contexts, one: Said) -> Heard:
    absent = None if one.missed is None else one.missed.log_odds
    if one.free or one.finding is None:
        return Heard(bool(one.free), None, None, absent)
    return Heard(False, one.finding.features, supported(contexts, one), absent)


def traced(row: dict[str, Any]) -> Traced:
    labels = row["labels"]
    documents = labels["documents_sentences"]
    texts = [text for _, text in labels["response_sentences"]]
    library = Given([[text for _, text in document] for document in documents], (row["question"], *texts))
    contexts = Contexts(row["question"], library)
    every = [said(text, library, row["question"]) for text in texts]
    keys = [key for document in documents for key, _ in document]
    about, used = set(labels["all_relevant_sentence_keys"]), set(labels["all_utilized_sentence_keys"])
    return Traced(
        domain_of(row),
        relevant(contexts, ()),
        utilized(contexts, every),
        [heard(contexts, one) for one in every],
        [key in about for key in keys],
        [key in used for key in keys],
    )


def with_use(traces: Sequence[Traced], weigh: Logistic) -> list[Traced]:
    """The same with what the model of use says among the features of relevance."""
    found = []
    for one in traces:
        use = use_of([None if row is None else weigh.log_odds(row) for row in one.utilized])
        found.append(replace(one, relevant=[(*row[:-1], x) for row, x in zip(one.relevant, use, strict=True)]))
    return found


def claim(row: dict[str, Any]) -> Heard:
    library = Library(row["context"], (row["question"], row["claim"]))
    return heard(Contexts(row["question"], library), said(row["claim"], library, row["question"]))


# ---- fitting, without any library


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a small system of linear equations, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(size):
            if k != i and rows[k][i]:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def fit(rows: Sequence[Row], labels: Sequence[bool], weights: Sequence[float], least: float) -> dict[str, Any]:
    """A logistic model by Newton's steps, its weights kept small; six digits of every number."""
    count, width = len(rows), len(rows[0])
    mean = [round(math.fsum(row[j] for row in rows) / count, 6) for j in range(width)]
    scale = [
        round(math.sqrt(math.fsum((row[j] - mean[j]) ** 2 for row in rows) / count), 6) or 1.0 for j in range(width)
    ]
    data = [[*((x - m) / s for x, m, s in zip(row, mean, scale, strict=True)), 1.0] for row in rows]
    found = [0.0] * (width + 1)
    for _ in range(STEPS):
        slope = [[SHRINK if j == k < width else 0.0 for k in range(width + 1)] for j in range(width + 1)]
        gap = [-SHRINK * value if j < width else 0.0 for j, value in enumerate(found)]
        for row, label, weight in zip(data, labels, weights, strict=True):
            p = probability(sum(a * b for a, b in zip(found, row, strict=True)), (1.0, 0.0))
            error, curve = weight * (label - p), weight * p * (1 - p)
            for j, x in enumerate(row):
                gap[j] += error * x
                line, scaled = slope[j], curve * x
                for k in range(j + 1):
                    line[k] += scaled * row[k]
        for j in range(width + 1):
            for k in range(j):
                slope[k][j] = slope[j][k]
        found = [a + b for a, b in zip(found, solved(slope, gap), strict=True)]
    weight_of, bias = [round(x, 6) for x in found[:-1]], round(found[-1], 6)
    return {"mean": mean, "scale": scale, "weight": weight_of, "bias": bias, "yes": least}


def equal(sizes: Sequence[int]) -> list[float]:
    """Weights for rows in groups of so many, by which a group counts as the root of its size; their mean is 1."""
    weights = [1 / math.sqrt(size) for size in sizes]
    mean = math.fsum(weights) / len(weights)
    return [weight / mean for weight in weights]


def fit_marks(name: str, traces: Sequence[Traced]) -> dict[str, Any]:
    """The model of relevance or of use. A long record does not count more than its share of patience."""
    rows: list[Row] = []
    labels: list[bool] = []
    sizes: list[int] = []
    for one in traces:
        features: Sequence[Row | None] = getattr(one, name)
        gold: list[bool] = getattr(one, f"gold_{name}")
        kept = [(row, label) for row, label in zip(features, gold, strict=True) if row is not None]
        rows.extend(row for row, _ in kept)
        labels.extend(label for _, label in kept)
        sizes.extend([len(features)] * len(kept))
    return fit(rows, labels, equal(sizes), LEAST[name])


def weighed(one: Heard, support: Logistic) -> Row | None:
    """The features of a sentence's support with the log-odds of another support model."""
    if one.own is None or one.features is None:
        return None
    return (support.log_odds(one.features), *one.own[1:])


def fit_support(claims: Sequence[tuple[str, bool, Heard]], models: dict[str, Logistic]) -> dict[str, Any]:
    """The model of full support, and the cut at which ``yes`` is said as often as it is true, mean over domains.

    ``models`` has for each domain the support model that never saw it. Domains count by the root of their size.
    """
    kept = [
        (domain, label, row)
        for domain, label, one in claims
        if domain in models and one.absent is None and (row := weighed(one, models[domain])) is not None
    ]
    sizes = Counter(domain for domain, _, _ in kept)
    found = fit([row for *_, row in kept], [label for _, label, _ in kept], equal([sizes[d] for d, *_ in kept]), 0.5)
    weigh = logistic(found)
    chances = [(domain, label, probability(weigh.log_odds(row), (1.0, 0.0))) for domain, label, row in kept]

    def error(cut: float) -> float:
        gaps = [
            sum((p >= cut) - label for own, label, p in chances if own == domain) / sizes[domain] for domain in sizes
        ]
        return abs(math.fsum(gaps) / len(gaps))

    found["yes"] = min((k / 100 for k in range(30, 91)), key=lambda cut: (round(error(cut), 6), cut))
    return found


def held_support(data: Path, folder: Path, jobs: int) -> None:
    """For each domain a support model fitted without it, as ``fit_support.py`` fits the packaged one."""
    import numpy as np  # noqa: PLC0415 - only this step needs it

    import fit_support as packaged  # noqa: PLC0415 - see above
    from variations import variations  # noqa: PLC0415 - see above

    rows = packaged.read(data / "support/train.jsonl")
    every = [*rows, *variations(rows, packaged.CHANGED)]
    with Pool(jobs) as pool:
        features = np.array(pool.map(packaged.support_features, every, chunksize=200))
    for domain in DOMAINS:
        keep = [i for i, row in enumerate(every) if domain_of(row) != domain]
        found = packaged.fit_support([every[i] for i in keep], features[keep])
        packaged.write_model(folder / f"support-{domain}.json", found)


def support_without(folder: Path, domain: str) -> Logistic:
    """The support model that never saw a domain."""
    return as_packaged(orjson.loads((folder / f"support-{domain}.json").read_bytes()))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--held", type=Path, default=Path("out/held"))
    arguments.add_argument("--out", type=Path, default=OUT)
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    given.held.mkdir(parents=True, exist_ok=True)
    if not all((given.held / f"support-{domain}.json").exists() for domain in DOMAINS):
        held_support(given.data, given.held, given.jobs)
    models = {domain: support_without(given.held, domain) for domain in DOMAINS}
    rows = [row for row in read(given.data / "support/train.jsonl") if row["dataset"].startswith("ragbench-")]
    with Pool(given.jobs) as pool:
        traces = pool.map(traced, read(given.data / "traces/ragbench_validation.jsonl"), chunksize=10)
        answers = pool.map(claim, rows, chunksize=50)
    claims = [(domain_of(row), row["label"] == "support", one) for row, one in zip(rows, answers, strict=True)]
    for domain in DOMAINS:
        found = fit_support([one for one in claims if one[0] != domain], models)
        (given.held / f"supported-{domain}.json").write_bytes(orjson.dumps(found))
    utilized_by = fit_marks("utilized", traces)
    found = {
        "relevant": fit_marks("relevant", with_use(traces, logistic(utilized_by))),
        "utilized": utilized_by,
        "supported": fit_support(claims, models),
    }
    part = given.out.with_suffix(".part")
    part.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")
    part.replace(given.out)
    sys.stdout.write(f"{given.out}: {given.out.stat().st_size} bytes; support model {model().digest}\n")


if __name__ == "__main__":
    main()

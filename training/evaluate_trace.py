"""Evaluate how well the embedded judge labels traces, by domain, compared with other tools' predictions and a floor.

    python training/evaluate_trace.py [--data ../shared/data]

Reads ``traces/ragbench_validation.jsonl``. Relevance, use and completeness of a domain are computed with numbers fitted
to the other five domains (``fit_trace.py``). Adherence comes from the packaged support model, which was trained on
claims of RAGBench: the last line says how many sentences of these responses are among them.

Floors: for relevance, the share of the question's content words that are in the sentence; for use, the share of the
sentence's content words that are in the response; for adherence, the mean share of a response sentence's content words
that are in the contexts. ``same`` predicts the mean of the other domains for every record.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean
from typing import Any

from sklearn.metrics import roc_auc_score

from fit_trace import Labelled, fit_numbers, labelled, read
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.model import model
from ragstone.judges.embedded.support import SupportOutcome
from ragstone.judges.embedded.tracing import content_of, marked
from ragstone.judges.embedded.words import tokens_of

DOMAINS = ("covidqa", "delucionqa", "emanual", "expertqa", "hagrid", "hotpotqa")
STORED = {"relevance": "gpt3_context_relevance", "utilization": "gpt35_utilization", "adherence": "gpt3_adherence"}
"""The stored predictions of GPT-3.5, by measure; those of other tools are for none of these rows."""

Record = Mapping[str, Any]


@dataclass
class Measured:
    """A record: its labels, features, floors of relevance, use and adherence, and the support of each sentence.

    ``main`` sets ``chances`` and ``marks``: the probabilities of each sentence and the marked ones, first for
    relevance, then for use.
    """

    labels: Record
    found: Labelled
    floors: tuple[list[float], list[float], float]
    held: list[float]
    chances: tuple[Sequence[float], Sequence[float]] = ((), ())
    marks: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())

    def gold(self, kind: int) -> list[bool]:
        """The labels of all sentences."""
        return self.found.gold_utilized if kind else self.found.gold_relevant

    def completeness(self) -> float | None:
        """As marked; None where no sentence is marked or labelled as relevant."""
        about, used = self.marks
        return len(about & used) / len(about) if about and any(self.found.gold_relevant) else None


Score = Callable[[Measured], float | None]
Column = Callable[[Sequence[Measured]], float]


def measure(row: Record) -> Measured:
    labels = row["labels"]
    found = labelled(row)
    library = Library([row["question"], row["response"]])

    def words(text: str) -> frozenset[str]:
        return content_of(tokens_of(text, library.language), library)

    question, response = words(row["question"]), words(row["response"])
    sentences = [words(text) for document in labels["documents_sentences"] for _, text in document]
    every = frozenset().union(*sentences)
    said = [words(text) for _, text in labels["response_sentences"]]
    floors = (
        [len(own & question) / max(1, len(question)) for own in sentences],
        [len(own & response) / max(1, len(own)) for own in sentences],
        fmean(len(own & every) / len(own) if own else 1.0 for own in said),
    )
    return Measured(labels, found, floors, [chance(one.outcome) for one in found.response])


def chance(found: SupportOutcome) -> float:
    """The probability of support of a response sentence; 1 where it states nothing, 0 where it has no words."""
    return float(found.trivial) if found.chance is None else found.chance


def auroc(pairs: Iterable[tuple[bool, float | None]]) -> float:
    """The chance that a positive is scored above a negative; ties count half."""
    kept = [(label, score) for label, score in pairs if score is not None]
    labels = [label for label, _ in kept]
    return float(roc_auc_score(labels, [x for _, x in kept])) if len(set(labels)) == 2 else math.nan


def of_sentences(kind: int, scores: Callable[[Measured], Sequence[float]]) -> Column:
    return lambda every: auroc(pair for one in every for pair in zip(one.gold(kind), scores(one), strict=True))


def f1(kind: int) -> Column:
    def column(every: Sequence[Measured]) -> float:
        gold = [{i for i, label in enumerate(one.gold(kind)) if label} for one in every]
        right = sum(len(labels & one.marks[kind]) for labels, one in zip(gold, every, strict=True))
        total = sum(len(labels) + len(one.marks[kind]) for labels, one in zip(gold, every, strict=True))
        return 2 * right / total if total else math.nan

    return column


def adherence(score: Score) -> Column:
    return lambda every: auroc((one.labels["adherence"], score(one)) for one in every)


def rmse(name: str, score: Score) -> Column:
    def column(every: Sequence[Measured]) -> float:
        gaps = [float(one.labels[name]) - x for one in every if (x := score(one)) is not None]
        return math.sqrt(fmean(gap**2 for gap in gaps)) if gaps else math.nan

    return column


def stored(name: str) -> dict[str, Score]:
    return {"gpt-3.5": lambda one: one.labels["baselines"].get(STORED[name])} if name in STORED else {}


def same(name: str, every: Sequence[Measured], among: Score) -> Score:
    """The mean label of the other domains, for the records that another score has."""
    means = {d: fmean(float(one.labels[name]) for one in every if one.found.domain != d) for d in DOMAINS}
    return lambda one: None if among(one) is None else means[one.found.domain]


def table(title: str, every: Sequence[Measured], columns: Mapping[str, Column]) -> None:
    """One line for each domain, one for all, and one for the domains that have stored predictions."""
    print(f"\n{title}\n{'':14}{'rows':>6}" + "".join(f"{name:>11}" for name in columns))
    told = {one.found.domain for one in every if any(x is not None for x in one.labels["baselines"].values())}
    for name, domains in {**{d: {d} for d in DOMAINS}, "pooled": set(DOMAINS), "with stored": told}.items():
        rows = [one for one in every if one.found.domain in domains]
        cells = (column(rows) for column in columns.values())
        print(f"{name:14}{len(rows):6}" + "".join(f"{'-' if math.isnan(x) else f'{x:.3f}':>11}" for x in cells))


def report(every: Sequence[Measured]) -> None:
    yes = model().support.yes
    flag: Score = lambda one: float(all(p >= yes for p in one.held))  # noqa: E731 - a column like the others
    table("AUROC of sentences, and F1 of those marked", every, {
        "rel floor": of_sentences(0, lambda one: one.floors[0]),
        "relevant": of_sentences(0, lambda one: one.chances[0]),
        "F1": f1(0),
        "use floor": of_sentences(1, lambda one: one.floors[1]),
        "utilized": of_sentences(1, lambda one: one.chances[1]),
        "F1 ": f1(1),
    })  # fmt: skip
    scores: dict[str, Score] = {
        "mean": lambda one: fmean(one.held), "least": lambda one: min(one.held), "flag": flag, **stored("adherence"),
    }  # fmt: skip
    floor = {"floor": adherence(lambda one: one.floors[2])}
    table("AUROC of adherence", every, floor | {name: adherence(score) for name, score in scores.items()})
    shares: dict[str, Score] = {
        "relevance": lambda one: len(one.marks[0]) / len(one.chances[0]),
        "utilization": lambda one: len(one.marks[1]) / len(one.chances[1]),
        "completeness": Measured.completeness,
    }
    for name, judge in shares.items():
        columns = {"same": same(name, every, judge), "judge": judge, **stored(name)}
        table(f"RMSE of {name}", every, {tool: rmse(name, score) for tool, score in columns.items()})
    scores = {"same": same("adherence", every, flag), **scores}
    table("RMSE of adherence (0 or 1)", every, {name: rmse("adherence", score) for name, score in scores.items()})
    for name, judge in shares.items():
        kept = [(float(one.labels[name]), x) for one in every if (x := judge(one)) is not None]
        print(f"mean {name}: labelled {fmean(y for y, _ in kept):.3f}, judge {fmean(x for _, x in kept):.3f}")


def overlap(path: Path, rows: Sequence[Record]) -> str:
    """How many of these responses' sentences the packaged support model was trained on."""
    known = {claim["claim"].strip() for claim in read(path) if claim["dataset"].startswith("ragbench-")}
    said = [text.strip() for text in chain(*([t for _, t in row["labels"]["response_sentences"]] for row in rows))]
    return f"{sum(text in known for text in said)} of {len(said)} response sentences are claims of {path.name}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    rows = read(given.data / "traces/ragbench_validation.jsonl")
    with Pool(given.jobs) as pool:
        every = pool.map(measure, rows, chunksize=10)
    for domain in DOMAINS:
        numbers = fit_numbers([one.found for one in every if one.found.domain != domain])
        for one in every:
            if one.found.domain == domain:
                one.chances = one.found.probabilities(numbers)
                one.marks = marked(*one.chances, numbers["completeness"])
    report(every)
    print(overlap(given.data / "support/train.jsonl", rows))


if __name__ == "__main__":
    main()

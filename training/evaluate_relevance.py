"""Evaluate how well the embedded judge recognises what is relevant to a question, compared with plain BM25.

    python training/evaluate_relevance.py [--data ../shared/data]

Uses the half of the RAGBench traces that ``fit_relevance.py`` does not read. Prints the AUROC of passages, in total
and by domain, and how each question's own passages are ranked; responses and sentences of a question's own answer
compared with those of another question; answers compared with refusals that are written here; and how often each
label from 0 to 3 is given.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from fit_relevance import Call, passage_calls, read, response_calls, statement_calls
from ragstone.judges.embedded.model import Level, relevance_label
from ragstone.judges.embedded.relevance import relevance
from ragstone.judges.embedded.words import tokens_of
from ragstone.questions import GRADE_0_3

K1, B = 1.2, 0.75

REFUSALS = (
    "I cannot answer that from the documents.",
    "I'm sorry, but the provided context does not contain any information about this.",
    "The passages do not say: {}.",
    "Unfortunately, I don't have enough information to answer the question: {}?",
    "There is no mention of this in the sources. Please ask something else.",
    "I don't know. The documents do not mention it.",
    'The question "{}" cannot be answered from the given context.',
    "Based on the documents, it is not possible to determine: {}.",
)

Score = Callable[[str, Sequence[str]], list[float]]


def words(text: str) -> Counter[str]:
    return Counter(token.stem for token in tokens_of(text, "en"))


def bm25(texts: Iterable[str]) -> Score:
    """BM25 over a collection, by the stems that the judge compares."""
    known = [words(text) for text in set(texts)]
    having = Counter(stem for text in known for stem in text)
    mean = sum(text.total() for text in known) / len(known)
    rarity = {stem: math.log(1 + (len(known) - n + 0.5) / (n + 0.5)) for stem, n in having.items()}

    def one(asked: Counter[str], text: Counter[str]) -> float:
        norm = K1 * (1 - B + B * text.total() / mean)
        return sum(rarity[s] * text[s] * (K1 + 1) / (text[s] + norm) for s in sorted(asked) if s in rarity)

    return lambda question, texts: [one(words(question), words(text)) for text in texts]


def judge(level: Level) -> Score:
    return lambda question, texts: [seen.chance for seen in relevance(question, texts, level)]


def auroc(calls: Sequence[Call], score: Score) -> float:
    labels = [label for call in calls for label in call.labels]
    return float(roc_auc_score(labels, [value for call in calls for value in score(call.question, call.texts)]))


def ranking(calls: Sequence[Call], score: Score) -> tuple[float, float, int]:
    """AUROC and reciprocal rank of the first relevant text, means over the questions that have both kinds."""
    rates, ranks = [], []
    for call in calls:
        if 0 < sum(call.labels) < len(call.labels):
            values = score(call.question, call.texts)
            rates.append(roc_auc_score(call.labels, values))
            best = max(value for value, label in zip(values, call.labels, strict=True) if label)
            ahead = sum(value >= best for value, label in zip(values, call.labels, strict=True) if not label)
            ranks.append(1 / (1 + ahead))
    return float(np.mean(rates)), float(np.mean(ranks)), len(rates)


def refusals(traces: Sequence[dict[str, Any]]) -> list[Call]:
    """Each response that does not decline by the judge's own rule, and a refusal that was written for its question."""
    calls = []
    for number, trace in enumerate(traces):
        question, response = trace["question"], trace["response"]
        (seen,) = relevance(question, (response,), "response")
        if not seen.declines:
            written = REFUSALS[number % len(REFUSALS)].format(question.strip().rstrip("?"))
            calls += [Call(question, (text,), (label,), 1.0) for text, label in ((response, 1), (written, 0))]
    return calls


def labels(name: str, calls: Sequence[Call], level: Level) -> None:
    """How often each label of 0 to 3 is given to relevant and to other texts."""
    given: dict[int, Counter[str]] = {0: Counter(), 1: Counter()}
    for call in calls:
        for seen, label in zip(relevance(call.question, call.texts, level), call.labels, strict=True):
            given[label][relevance_label(GRADE_0_3, seen.chance, strong=seen.strong, related=seen.related)] += 1
    for label, counts in given.items():
        line(
            f"{name}, {'relevant' if label else 'others'}",
            counts.total(),
            *(counts[g] / counts.total() for g in "0123"),
        )


def line(name: str, texts: int, *figures: float) -> None:
    print(f"{name:44}{texts:7}" + "".join(f"{figure:10.3f}" for figure in figures))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    given = arguments.parse_args()
    every = read(given.data / "traces/ragbench_validation.jsonl")
    traces = every[1::2]
    plain, answers = bm25(d for t in every for d in t["documents"]), bm25(t["response"] for t in every)
    print(f"{'AUROC, the half that nothing was fitted to':44}{'texts':>7}{'BM25':>10}{'judge':>10}")

    def compare(name: str, calls: Sequence[Call], floor: Score, level: Level) -> None:
        line(name, sum(len(call.texts) for call in calls), auroc(calls, floor), auroc(calls, judge(level)))

    passages = list(passage_calls(traces, made=False))
    compare("passages", passages, plain, "passage")
    for domain in sorted({t["dataset"] for t in traces}):
        own = [c for c, t in zip(passages, traces, strict=True) if t["dataset"] == domain]
        compare(f"  {domain}", own, plain, "passage")
    compare(
        "passages, each alone",
        [Call(c.question, (t,), (y,), 1) for c in passages for t, y in zip(c.texts, c.labels, strict=True)],
        plain,
        "passage",
    )
    (floor, floor_rank, count), (value, rank, _) = (ranking(passages, s) for s in (plain, judge("passage")))
    line("passages within a question", count, floor, value)
    line("  reciprocal rank of the first relevant", count, floor_rank, rank)
    compare(
        "passages and those of another question", [c for c in passage_calls(traces) if c.weight < 0.5], plain, "passage"
    )
    declined = refusals(traces)
    clear = {call.texts for call in declined}
    responses = [call for call in response_calls(traces) if call.texts in clear]
    compare("responses, own or another's", responses, answers, "response")
    compare("sentences, own or another's", list(statement_calls(traces)), answers, "statement")
    compare("responses, answers or refusals", declined, answers, "response")
    print(f"\n{'share of each label':44}{'texts':>7}" + "".join(f"{grade:>10}" for grade in "0123"))
    labels("passages", passages, "passage")
    labels("responses", responses, "response")
    labels("answers and refusals", declined, "response")


if __name__ == "__main__":
    main()

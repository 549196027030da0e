"""Fit the embedded judge's relevance models and write them to ``relevance.json``.

    python training/fit_relevance.py [--data ../shared/data] [--out src/ragstone/judges/embedded/relevance.json]

Fits three logistic models over ``ragstone.judges.embedded.relevance.Features``, with sign constraints on the weights,
to every second RAGBench trace; ``evaluate_relevance.py`` reads the others. The rarity of words comes from
``model.json``. Nothing is random: two runs write identical files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from scipy.optimize import minimize

from ragstone.judges.embedded.model import Level
from ragstone.judges.embedded.relevance import RelevanceFeatures, relevance
from ragstone.segment import sentences

FILE = Path(__file__).parent.parent / "src/ragstone/judges/embedded/relevance.json"

SEEN: dict[Level, tuple[str, ...]] = {
    "passage": ("cover", "sentence", "first", "often", "score", "found", "kin", "alone"),
    "response": ("cover", "sentence", "first", "score", "found", "length"),
    "statement": ("cover", "score", "found", "length", "together", "alone"),
}
"""The features that each model has a weight for."""

STRANGE = 0.3
"""What a text that answers another question weighs beside one's own: fewer of them are met than are made here."""

SENSE = {"alone": (None, None), "length": (None, 0.0)}
"""What a weight may be, where that is not 0 and more."""

RIDGE = 1.0
LONGEST = 30
"""Sentences of a response that are rated together."""

Numbers = NDArray[np.float64]


class Call(NamedTuple):
    """Texts that are rated together, whether each is relevant, and what each weighs in the fit."""

    question: str
    texts: tuple[str, ...]
    labels: tuple[int, ...]
    weight: float


def read(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as lines:
        return [orjson.loads(line) for line in lines]


def labelled(trace: dict[str, Any]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The passages, and whether any sentence of each is labelled relevant."""
    keys = trace["labels"]["all_relevant_sentence_keys"]
    numbers = {"".join(c for c in key if c.isdigit()) for key in keys}
    both = [(text, int(str(n) in numbers)) for n, text in enumerate(trace["documents"]) if text.strip()]
    return tuple(text for text, _ in both), tuple(label for _, label in both)


def strangers(traces: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each trace with one of the same domain that asks another question."""
    for number, trace in enumerate(traces):
        others = [o for o in traces if o["dataset"] == trace["dataset"] and o["question"] != trace["question"]]
        yield trace, others[(7 * number + 3) % len(others)]


def passage_calls(traces: Sequence[dict[str, Any]], *, made: bool = True) -> Iterator[Call]:
    """The passages as they were retrieved; with ``made`` also each alone, and those of another question."""
    for trace, other in strangers(traces):
        texts, labels = labelled(trace)
        yield Call(trace["question"], texts, labels, 1.0)
        if made:
            strange = tuple(text for text in labelled(other)[0] if text not in texts)
            yield from (Call(trace["question"], (t,), (y,), 0.5) for t, y in zip(texts, labels, strict=True))
            if strange:
                yield Call(trace["question"], strange, (0,) * len(strange), 0.2)
                yield Call(trace["question"], (*texts, strange[0]), (*labels, 0), 0.3)


def response_calls(traces: Sequence[dict[str, Any]]) -> Iterator[Call]:
    """Each response to its question, and one to another question of the same domain."""
    for trace, other in strangers(traces):
        yield Call(trace["question"], (trace["response"],), (1,), 1.0)
        yield Call(trace["question"], (other["response"],), (0,), STRANGE)


def statement_calls(traces: Sequence[dict[str, Any]]) -> Iterator[Call]:
    """Sentences of a response: together, each alone, all of another response, and with one of another."""
    for trace, other in strangers(traces):
        own, strange = (_sentences(one["response"]) for one in (trace, other))
        if not own or not strange:
            continue
        yield Call(trace["question"], own, (1,) * len(own), 1 / len(own))
        yield Call(trace["question"], strange, (0,) * len(strange), STRANGE / len(strange))
        for label, some, part in ((1, own, 0.5), (0, strange, 0.5 * STRANGE)):
            yield from (Call(trace["question"], (text,), (label,), part / len(some)) for text in some)
        if len(own) > 1:
            at = len(own) // 2
            mixed = (*own[:at], strange[-1], *own[at + 1 :])
            yield Call(trace["question"], mixed, tuple(int(n != at) for n in range(len(own))), 0.4 / len(own))


def _sentences(text: str) -> tuple[str, ...]:
    return tuple(text[s.start : s.end] for s in sentences(text)[:LONGEST] if s.end - s.start > 20)


CALLS: dict[Level, Callable[[Sequence[dict[str, Any]]], Iterator[Call]]] = {
    "passage": passage_calls,
    "response": response_calls,
    "statement": statement_calls,
}


def table(calls: Sequence[Call], level: Level) -> tuple[Numbers, Numbers, Numbers]:
    """Features, labels and weights of all texts."""
    rows = [(s.features, y, c.weight) for c in calls for s, y in zip(relevance(c.question, c.texts, level), c.labels, strict=True)]  # fmt: skip # noqa: E501
    features, labels, weights = zip(*rows, strict=True)
    return np.array(features), np.array(labels, dtype=np.float64), np.array(weights)


def fit(features: Numbers, labels: Numbers, weights: Numbers, seen: Sequence[str]) -> dict[str, Any]:
    """A logistic model with bound weights; being fitted to log-odds it is its own calibration."""
    x = features[:, [RelevanceFeatures._fields.index(name) for name in seen]]
    scale = np.maximum(x.std(axis=0), 1e-3)
    bounds = [SENSE.get(name, (0.0, None)) for name in seen]

    def loss(found: Numbers) -> tuple[float, Numbers]:
        weight, z = found[:-1], x @ found[:-1] + found[-1]
        miss = weights * (1 / (1 + np.exp(-z)) - labels)
        value = np.sum(weights * (np.logaddexp(0, z) - labels * z)) + RIDGE * np.sum((weight * scale) ** 2)
        return float(value), np.append(x.T @ miss + 2 * RIDGE * weight * scale**2, miss.sum())

    found = minimize(loss, np.zeros(len(seen) + 1), jac=True, bounds=[*bounds, (None, None)], method="L-BFGS-B").x
    *weight, bias = found.round(4).tolist()
    return {"bias": bias, **{name: own for name, own in zip(seen, weight, strict=True) if own}}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--out", type=Path, default=FILE)
    given = arguments.parse_args()
    traces = read(given.data / "traces/ragbench_validation.jsonl")[::2]
    found: dict[str, Any] = {}
    for level, calls in CALLS.items():
        features, labels, weights = table(list(calls(traces)), level)
        found[level] = fit(features, labels, weights, SEEN[level])
        print(f"{level}: {len(labels)} texts, {labels.mean():.2f} relevant; {found[level]}")
    given.out.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()

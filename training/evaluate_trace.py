"""How well the embedded judge labels traces, per domain, beside stored predictions of other tools and a floor.

    python training/evaluate_trace.py [--data ../shared/data] [--held out/held] [--rows 0]

Reads ``traces/ragbench_validation.jsonl``. Weights and cuts that are measured on a domain were fitted without it, to
the other five (``fit_trace.py``). For
adherence that needs support models which never saw the domain, and these need other libraries to fit; they are read
from ``--held`` where ``fit_trace.py`` left them. Without them adherence is weighed by the packaged numbers, which have
learned from the very claims, and the table says so.

Floors: for relevance the share of the question's content words in the sentence; for use the share of the sentence's
content words in the response; for adherence the share of a response sentence's content words in the contexts, mean.
``same`` is what the mean of the other half's scores would do for every record.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import orjson

from fit_trace import DOMAINS, Heard, Traced, domain_of, fit_marks, read, support_without, traced, weighed, with_use
from ragstone.judges.base import Reply
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.judges.embedded.compute import reply_to
from ragstone.judges.embedded.evidence import FEATURES
from ragstone.judges.embedded.marks import chances, logistic, marked, numbers
from ragstone.judges.embedded.model import Logistic, model, probability, weigher
from ragstone.judges.embedded.tracing import content_of
from ragstone.judges.embedded.words import tokens_of
from ragstone.questions import Trace
from ragstone.segment import language_of
from ragstone.types import Span, Unit

EVERYWHERE = FEATURES.index("plain_everywhere")
STORED: Mapping[str, Mapping[str, str]] = {
    "relevance": {
        "trulens": "trulens_context_relevance", "ragas": "ragas_context_relevance", "gpt-3.5": "gpt3_context_relevance",
    },
    "utilization": {"gpt-3.5": "gpt35_utilization"},
    "adherence": {"trulens": "trulens_groundedness", "ragas": "ragas_faithfulness", "gpt-3.5": "gpt3_adherence"},
}  # fmt: skip
"""The stored predictions, by measure and tool."""

Record = Mapping[str, Any]
Column = Callable[[int], float | None]
"""A value of a record, by its place; None where there is none."""


# ---- one record


def floors(row: Record) -> tuple[list[float], list[float]]:
    """For each context sentence: the share of the question's words in it, and of its words in the response."""
    language = language_of(row["response"] or row["question"])
    weight = weigher(language)

    def words(text: str) -> frozenset[str]:
        return content_of(tokens_of(text, language), weight)

    question, response = words(row["question"]), words(row["response"])
    sentences = [words(text) for document in row["labels"]["documents_sentences"] for _, text in document]
    return (
        [len(own & question) / max(1, len(question)) for own in sentences],
        [len(own & response) / max(1, len(own)) for own in sentences],
    )


def question_of(row: Record) -> Trace:
    """The record as the question that the metric asks, with the labelled sentences."""
    sentences = []
    for d, document in enumerate(row["labels"]["documents_sentences"]):
        at = 0
        for s, (_, text) in enumerate(document):
            sentences.append(Unit(f"r/doc_{d}_s{s}", "sentence", text, Span(at, at + len(text)), f"d{d}"))
            at += len(text) + 1
    response = tuple(
        Unit(f"r/resp_s{s}", "sentence", text) for s, (_, text) in enumerate(row["labels"]["response_sentences"])
    )
    return Trace("trace", row["question"], tuple(sentences), response)


def labelled(row: Record) -> float:
    """The judge's answer as in a run, with the packaged numbers; the seconds it took."""
    start = time.perf_counter()
    dialogue = EmbeddedJudge().dialogue(question_of(row))
    (call,) = next(dialogue)
    reply = Reply(reply_to(call.body))
    try:
        dialogue.send([reply])
    except StopIteration:
        return time.perf_counter() - start
    raise AssertionError("it asks again")


@dataclass(frozen=True)
class Measured:
    """A record's features, floors and labels."""

    row: Record
    found: Traced
    floor: tuple[list[float], list[float]]
    seconds: float


def measure(row: Record) -> Measured:
    return Measured(row, traced(dict(row)), floors(row), labelled(row))


# ---- figures


def auroc(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """The chance that a positive is scored above a negative; ties count half."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    ranks = [0.0] * len(scores)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and scores[order[end]] == scores[order[at]]:
            end += 1
        for place in order[at:end]:
            ranks[place] = (at + end + 1) / 2
        at = end
    positive = sum(labels)
    if positive in {0, len(labels)}:
        return math.nan
    total = math.fsum(rank for rank, label in zip(ranks, labels, strict=True) if label)
    return (total - positive * (positive + 1) / 2) / (positive * (len(labels) - positive))


def rmse(pairs: Iterable[tuple[float, float]]) -> float:
    squares = [(a - b) ** 2 for a, b in pairs]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else math.nan


def mean(values: Iterable[float]) -> float:
    every = list(values)
    return math.fsum(every) / len(every) if every else math.nan


@dataclass
class Figures:
    """What is weighed for one record, by weights that were fitted without its domain."""

    relevant: list[float]
    utilized: list[float]
    marks: dict[str, set[int]]
    alone: list[float]
    full: list[float]
    said: list[bool]
    floor: float


def figures(one: Measured, weigh: Mapping[str, Logistic], support: Logistic) -> Figures:
    found = one.found
    (seen,) = with_use([found], weigh["utilized"])
    about = chances([weigh["relevant"].log_odds(row) for row in seen.relevant])
    used = chances([None if row is None else weigh["utilized"].log_odds(row) for row in found.utilized])
    full, alone = [], []
    for sentence in found.response:
        row = weighed(sentence, support)
        full.append(chance(sentence, None if row is None else chances([weigh["supported"].log_odds(row)])[0]))
        x = None if sentence.own is None or sentence.features is None else support.log_odds(sentence.features)
        alone.append(chance(sentence, None if x is None else probability(x, support.calibration)))
    return Figures(
        about,
        used,
        {
            "relevant": set(marked(about, weigh["relevant"].yes)),
            "utilized": set(marked(used, weigh["utilized"].yes)),
        },
        alone,
        full,
        [p >= weigh["supported"].yes for p in full],
        mean(1.0 if s.features is None else s.features[EVERYWHERE] for s in found.response),
    )


def chance(sentence: Heard, held: float | None) -> float:
    """The probability of a sentence whose words are held with ``held``: that of the less sure part if it abstains."""
    if sentence.free:
        return 1.0
    if sentence.absent is None:
        return held or 0.0
    (lacking,) = chances([sentence.absent])
    return lacking if held is None else min(lacking, held)


# ---- tables


def table(title: str, every: Sequence[Measured], columns: Mapping[str, Callable[[list[int]], float]]) -> None:
    """One line for each domain, one for all, and one for the domains that have stored predictions."""
    print(f"\n{title}\n{'':14}{'rows':>6}" + "".join(f"{name:>11}" for name in columns))
    stored = [d for d in DOMAINS if any(domain_of(dict(m.row)) == d and predicted(m) for m in every)]
    lines = {**{domain: [domain] for domain in DOMAINS}, "pooled": list(DOMAINS), "with stored": stored}
    for name, domains in lines.items():
        places = [i for i, m in enumerate(every) if m.found.domain in domains]
        cells = (column(places) for column in columns.values())
        print(f"{name:14}{len(places):6}" + "".join(f"{'-' if math.isnan(x) else f'{x:.3f}':>11}" for x in cells))


def predicted(one: Measured) -> bool:
    return any(value is not None for value in one.row["labels"]["baselines"].values())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--held", type=Path, default=Path("out/held"))
    arguments.add_argument("--rows", type=int, default=0, help="only so many rows, spread evenly; 0: all")
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    rows = read(given.data / "traces/ragbench_validation.jsonl")
    rows = rows[:: max(1, len(rows) // given.rows)] if given.rows else rows
    with Pool(given.jobs) as pool:
        every = pool.map(measure, rows, chunksize=10)
    seconds = [one.seconds for one in every]
    held = all((given.held / f"{kind}-{d}.json").exists() for kind in ("support", "supported") for d in DOMAINS)
    fitted: dict[str, tuple[dict[str, Logistic], Logistic]] = {}
    for domain in DOMAINS:
        other = [one.found for one in every if one.found.domain != domain]
        weigh = {"utilized": logistic(fit_marks("utilized", other))}
        weigh["relevant"] = logistic(fit_marks("relevant", with_use(other, weigh["utilized"])))
        weigh["supported"] = (
            logistic(orjson.loads((given.held / f"supported-{domain}.json").read_bytes()))
            if held
            else numbers().supported
        )
        fitted[domain] = weigh, support_without(given.held, domain) if held else model().support
    done = [figures(one, *fitted[one.found.domain]) for one in every]
    report(every, done)
    print(
        f"\nadherence by support models that never saw the domain: {'yes' if held else 'NO: by the packaged ones'}"
        f"\n{len(rows)} records in {sum(seconds):.1f} s of one core, the slowest {max(seconds):.2f} s"
        f" ({max(len(m.found.relevant) for m in every)} sentences at most)"
    )
    overlap(given.data / "support/train.jsonl", rows)


def report(every: Sequence[Measured], done: Sequence[Figures]) -> None:
    labels = [one.row["labels"] for one in every]

    def pooled(gold: str, scores: Callable[[int], Sequence[float]]) -> Callable[[list[int]], float]:
        def column(places: list[int]) -> float:
            y = [label for i in places for label in getattr(every[i].found, gold)]
            return auroc(y, [x for i in places for x in scores(i)])

        return column

    def f1(name: str) -> Callable[[list[int]], float]:
        def column(places: list[int]) -> float:
            right = both = 0
            for i in places:
                gold = {k for k, label in enumerate(getattr(every[i].found, f"gold_{name}")) if label}
                mine = done[i].marks[name]
                right += len(gold & mine)
                both += len(gold) + len(mine)
            return 2 * right / both if both else math.nan

        return column

    def whole(score: Column) -> Callable[[list[int]], float]:
        def column(places: list[int]) -> float:
            pairs = [(labels[i]["adherence"], x) for i in places if (x := score(i)) is not None]
            return auroc([y for y, _ in pairs], [x for _, x in pairs])

        return column

    def off(name: str, score: Column) -> Callable[[list[int]], float]:
        def column(places: list[int]) -> float:
            return rmse((float(labels[i][name]), x) for i in places if (x := score(i)) is not None)

        return column

    def stored(key: str) -> Column:
        return lambda i: labels[i]["baselines"].get(key)

    def same(name: str) -> Column:
        means = {
            domain: mean(
                float(label[name]) for label, one in zip(labels, every, strict=True) if one.found.domain != domain
            )
            for domain in DOMAINS
        }
        return lambda i: means[every[i].found.domain]

    def part(name: str) -> Column:
        return lambda i: len(done[i].marks[name]) / len(every[i].found.relevant)

    def complete(i: int) -> float | None:
        about, used = done[i].marks["relevant"], done[i].marks["utilized"]
        gold = any(every[i].found.gold_relevant)
        return len(about & used) / len(about) if about and gold else None

    table(
        "AUROC of sentences, and F1 of those marked",
        every,
        {
            "rel floor": pooled("gold_relevant", lambda i: every[i].floor[0]),
            "relevant": pooled("gold_relevant", lambda i: done[i].relevant),
            "F1": f1("relevant"),
            "use floor": pooled("gold_utilized", lambda i: every[i].floor[1]),
            "utilized": pooled("gold_utilized", lambda i: done[i].utilized),
            "F1 ": f1("utilized"),
        },
    )
    table(
        "AUROC of adherence",
        every,
        {
            "floor": whole(lambda i: done[i].floor),
            "mean": whole(lambda i: mean(done[i].full)),
            "least": whole(lambda i: min(done[i].full)),
            "product": whole(lambda i: math.prod(done[i].full)),
            "flag": whole(lambda i: float(all(done[i].said))),
            "support": whole(lambda i: mean(done[i].alone)),
            **{tool: whole(stored(key)) for tool, key in STORED["adherence"].items()},
        },
    )
    for name, mark in (("relevance", "relevant"), ("utilization", "utilized")):
        table(
            f"RMSE of {name}, as a share of the sentences",
            every,
            {
                "same": off(name, same(name)),
                "judge": off(name, part(mark)),
                **{tool: off(name, stored(key)) for tool, key in STORED[name].items()},
            },
        )
    table(
        "RMSE of completeness, where any sentence is labelled relevant and any is marked so",
        every,
        {"same": off("completeness", lambda i: None if complete(i) is None else same("completeness")(i)),
         "judge": off("completeness", complete)},
    )  # fmt: skip
    table(
        "RMSE of adherence (0 or 1)",
        every,
        {
            "same": off("adherence", same("adherence")),
            "mean": off("adherence", lambda i: mean(done[i].full)),
            "least": off("adherence", lambda i: min(done[i].full)),
            "flag": off("adherence", lambda i: float(all(done[i].said))),
            **{tool: off("adherence", stored(key)) for tool, key in STORED["adherence"].items()},
        },
    )
    for name in ("relevance", "utilization", "completeness"):
        mine = {"relevance": part("relevant"), "utilization": part("utilized"), "completeness": complete}[name]
        kept = [i for i in range(len(every)) if mine(i) is not None]
        print(
            f"mean {name}: labelled {mean(float(labels[i][name]) for i in kept):.3f}, "
            f"judge {mean(x for i in kept if (x := mine(i)) is not None):.3f}"
        )


def overlap(path: Path, rows: Sequence[Record]) -> None:
    """How many of these responses' sentences the packaged support model was fitted to."""
    if not path.exists():
        return
    known = {folded(claim["claim"]) for claim in read(path) if claim["dataset"].startswith("ragbench-")}
    texts = [[folded(text) for _, text in row["labels"]["response_sentences"]] for row in rows]
    count = sum(text in known for one in texts for text in one)
    print(
        f"{count} of {sum(map(len, texts))} response sentences are claims of support/train.jsonl, "
        f"in {sum(any(text in known for text in one) for one in texts)} of {len(rows)} records"
    )


def folded(text: str) -> str:
    return " ".join(text.lower().split())


if __name__ == "__main__":
    main()

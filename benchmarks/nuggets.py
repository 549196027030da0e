"""Count the calls and prompt tokens of the nuggetized triad for one record, at the endpoint.

    python benchmarks/nuggets.py                  # a record whose response holds 9 nuggets
    python benchmarks/nuggets.py --nuggets 25

A fake endpoint in this process plays a judge that lists all nuggets in its first round and grades them. Ragstone
evaluates one record by ``context_relevance``, ``nugget_groundedness`` and ``nugget_relevance``. Then the same is
asked without sharing and batches: each metric writes and rates its own list, with one call per nugget.
Questions and prompts are the same in both; only the number of calls differs. Counts are deterministic:
run it once.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragstone import evaluate
from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec
from ragstone.questions import GRADE_0_3, IMPORTANCE, Question, Rate, Write
from ragstone.testing import FakeServer
from ragstone.types import Passage, Record, Span, Unit

METRICS = ("context_relevance", "nugget_groundedness", "nugget_relevance")
STEPS = ("nuggetize", "importance", "support", "relevance")
BYTES_PER_TOKEN = 4
"""How the fake endpoint counts tokens; only the ratio of two counts means anything."""


def record(nuggets: int) -> dict[str, Any]:
    """Ten contexts of some 120 words, and a response of one sentence a nugget."""
    facts = [f"The reservoir of valley {n} holds {n * 7 + 3} million litres of water." for n in range(1, nuggets + 1)]
    filler = "It was built by the canton after the flood and is inspected every second spring by two engineers. " * 6
    contexts = [f"{facts[n % nuggets]} {filler}" for n in range(10)]
    return {
        "id": "valleys", "question": "How much water do the reservoirs of the valleys hold?", "contexts": contexts,
        "response": " ".join(facts),
    }  # fmt: skip


def step(request: Mapping[str, Any]) -> str:
    """Which step a request belongs to, by the first words of its prompt."""
    system = request["messages"][0]["content"]
    opening = {"You list": "nuggetize", "You decide": "importance", "You check": "support", "You judge": "relevance"}
    return next(name for words, name in opening.items() if system.startswith(words))


def answer(request: Mapping[str, Any]) -> str:
    """All nuggets in the first round, none in the second; a label for every unit that is asked about."""
    schema = request["response_format"]["json_schema"]["schema"]["properties"]
    if "nuggets" in schema:
        user = request["messages"][1]["content"]
        if "nuggets already listed" in user:
            return json.dumps({"nuggets": []})
        said = re.findall(r"sentence (\d+) of the answer\]\n(.+)", user)
        return json.dumps({"nuggets": [{"sentence": int(n), "nugget": text.rstrip(".")} for n, text in said]})
    verdicts = schema["verdicts"]["properties"]
    label = next(iter(verdicts.values()))["properties"]["label"]["enum"][-1]
    filled = {number: {"evidence": [], "label": label} for number in verdicts}
    return json.dumps({"verdicts": filled})


def together(row: dict[str, Any]) -> tuple[Counter[str], Counter[str], int]:
    """Calls and prompt tokens by step as Ragstone asks, and how many nuggets there were."""
    calls: Counter[str] = Counter()
    tokens: Counter[str] = Counter()

    def count(request: Mapping[str, Any]) -> str:
        calls[step(request)] += 1
        tokens[step(request)] += len("".join(m["content"] for m in request["messages"]).encode()) // BYTES_PER_TOKEN
        return answer(request)

    with FakeServer(answer=count) as server, tempfile.TemporaryDirectory() as folder:
        run = evaluate([row], list(METRICS), f"vllm:m@{server.url}", store=Path(folder) / "store.db")
        scores = {score["metric"]: score for score in run[row["id"]]["scores"]}
        run.store.close()
    assert all(score["value"] == 1.0 for score in scores.values())
    return calls, tokens, scores["nugget_groundedness"]["asked"]


def one_by_one(row: dict[str, Any]) -> tuple[Counter[str], Counter[str]]:
    """The same questions with a list for each metric and a nugget a call."""
    judge = build(Spec("m", model="m"))
    calls: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    passages = tuple(Passage(str(n), text, n) for n, text in enumerate(row["contexts"], 1))
    question = row["question"]
    about = Record(row["id"], question, row["response"], passages)
    spans = [match.span() for match in re.finditer(r"[^.]+\.", about.response or "")]
    texts = [(about.response or "")[start:end].strip() for start, end in spans]
    sentences = tuple(
        Unit(f"s/{n}", "sentence", text, Span(*span))
        for n, (text, span) in enumerate(zip(texts, spans, strict=True), 1)
    )
    units = tuple(Unit(f"n/{n}", "nugget", text.rstrip(".")) for n, text in enumerate(texts, 1))
    known = tuple(unit.text for unit in units)
    written = [Write("nuggetize", "nugget", question, sentences, known=before, most=30) for before in ((), known)]
    weighed = [Rate("importance", (unit,), IMPORTANCE, question) for unit in units]
    asked: list[Question[Any]] = [*written, *weighed] * 2
    asked += [Rate("support", (unit,), GRADE_0_3, passages=passages, evidence=True) for unit in units]
    asked += [Rate("relevance", (unit,), GRADE_0_3, question) for unit in units]
    asked += [Rate("relevance", (Unit(p.id, "passage", p.text),), GRADE_0_3, question) for p in passages]
    for one in asked:
        for call in next(judge.dialogue(one)):
            messages = json.loads(call.body)["messages"]
            calls[one.task] += 1
            tokens[one.task] += len("".join(message["content"] for message in messages).encode()) // BYTES_PER_TOKEN
    return calls, tokens


def main() -> None:
    """Count, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nuggets", type=int, default=9, help="nuggets in the response, from 1 to 30")
    row = record(parser.parse_args().nuggets)
    calls, tokens, nuggets = together(row)
    many, more = one_by_one(row)
    print(f"The nuggetized triad of one record: {nuggets} nuggets, 10 contexts\n")
    print(f"{'step':<12}{'calls':>8}{'prompt tokens':>16}   {'one by one':>12}{'prompt tokens':>16}")
    for name in STEPS:
        print(f"{name:<12}{calls[name]:>8,}{tokens[name]:>16,}   {many[name]:>12,}{more[name]:>16,}")
    ours, theirs = sum(tokens.values()), sum(more.values())
    print(f"{'together':<12}{calls.total():>8,}{ours:>16,}   {many.total():>12,}{theirs:>16,}")
    print(f"\n{many.total() / calls.total():.1f} times the calls and {theirs / ours:.1f} times the prompt tokens.")


if __name__ == "__main__":
    main()

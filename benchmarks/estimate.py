"""Compare estimates with their bills: the error, and whether the range contains the bill.

    python benchmarks/estimate.py FILE...                  # 5 rounds a file: metrics, records and answers change
    python benchmarks/estimate.py FILE... --records 40 --rounds 7

The fake endpoint answers with as many claims, quotes and words as a language model would. Each round takes other
records of the file and other metrics, and estimates them twice: cold, with an empty store, where everything that
depends on answers is assumed; and learned, after other records of the same file were judged. The bill is
the endpoint's count. The estimate does not know how the endpoint counts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ragstone
from ragstone.metrics import find
from ragstone.records import open_records
from ragstone.testing import FakeServer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from realistic import realistic

METRICS = (
    ("context_relevance", "groundedness", "answer_relevance"),
    ("grounding",),
    ("grounding", "claim_relevance", "answer_relevance"),
    ("response_groundedness", "groundedness"),
    ("nugget_groundedness", "nugget_relevance"),
    ("trace",),
    ("nugget_recall",),
)
PRICE = "price = { input = 0.15, output = 0.6 }"


@dataclass(frozen=True)
class Held:
    """One estimate and what came of it."""

    file: str
    metrics: str
    how: str
    calls: tuple[float, int]
    dollars: tuple[float, float, float, float]
    exact: bool
    seconds: float

    @property
    def off(self) -> float:
        """How far the expected value is above the bill, as a share of it."""
        return self.dollars[1] / self.dollars[3] - 1

    @property
    def inside(self) -> bool:
        """Whether the bill is between the ends."""
        return self.dollars[0] <= self.dollars[3] <= self.dollars[2]


def rows(path: Path, form: dict[str, str]) -> list[dict[str, Any]]:
    """The records of a file, with the fields that metrics need."""
    found = []
    with open_records(path, fields=form) as source:
        for record in source:
            contexts = [passage.text for passage in getattr(record, "contexts", None) or ()]
            row: dict[str, Any] = {"id": record.id, "question": getattr(record, "question", None), "contexts": contexts}
            row["response"] = getattr(record, "response", None)
            if nuggets := getattr(record, "nuggets", None):
                row["nuggets"] = [{"text": nugget.text, "importance": nugget.importance} for nugget in nuggets]
            if row["contexts"] and row["response"]:
                found.append({key: value for key, value in row.items() if value})
    return found


def usable(metrics: tuple[str, ...], sample: list[dict[str, Any]]) -> bool:
    """Whether every record has what the metrics need."""
    needed = {need for name in metrics for need in find(name).needs}
    return all(needed <= set(row) for row in sample)


def held(path: Path, sample: list[dict[str, Any]], metrics: tuple[str, ...], folder: Path, how: str) -> Held:
    """Estimate, then run."""
    options: dict[str, Any] = {"config": folder / "ragstone.toml", "store": folder / f"{how}.db"}
    started = time.perf_counter()
    told = ragstone.estimate(sample, list(metrics), "costly", **options)
    seconds = time.perf_counter() - started
    run = ragstone.evaluate(sample, list(metrics), "costly", **options)
    bill = run.summary()["bill"]
    run.store.close()
    total = told.total
    assert total.dollars is not None
    money = (total.dollars.low, total.dollars.expected, total.dollars.high, bill["paid"]["dollars"])
    name = f"{path.stem}"
    return Held(name, "+".join(metrics), how, (total.calls.expected, bill["sent"]), money, told.exact, seconds)


def enough(path: Path, size: int, form: dict[str, str]) -> list[dict[str, Any]]:
    """The usable records of a file; SystemExit where they are too few to estimate some and to learn from others."""
    try:
        every = rows(path, form)
    except ragstone.InputError as error:
        raise SystemExit(f"error: {error}") from None
    if len(every) > size:
        return every
    some = f"--records {len(every) - 1}" if len(every) > 1 else "its fields with --field"
    raise SystemExit(
        f"error: {path}: records with a response and contexts: {len(every)}; rounds of {size} need {size + 1}, "
        f"better {2 * size}, to learn from others; give a longer file, or {some}"
    )


def rounds(
    path: Path, every: list[dict[str, Any]], count: int, size: int, seed: int, server: FakeServer
) -> Iterator[Held]:
    """Cold and learned, for other records and metrics each time."""
    chance = random.Random(seed)
    kinds = itertools.cycle(chance.sample(METRICS, len(METRICS)))
    for number in range(count):
        chosen = chance.sample(every, min(2 * size, len(every)))
        sample, before = chosen[:size], chosen[size:]
        metrics = next(kind for kind in kinds if usable(kind, chosen))
        server.configure(answer=partial(realistic, seed=1000 * seed + number))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            table = f'[judges.costly]\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = ""\n{PRICE}\n'
            (folder / "ragstone.toml").write_text(table, encoding="utf-8")
            yield held(path, sample, metrics, folder, "cold")
            held(path, before, metrics, folder, "learned")
            yield held(path, sample, metrics, folder, "learned")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--records", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--field", action="append", default=[], metavar="FIELD=PATH")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    arguments = parser.parse_args()
    form = dict(pair.split("=", 1) for pair in arguments.field)
    os.environ["RAGSTONE_CONFIG"] = os.devnull
    if arguments.records < 1:
        parser.error("--records takes a number from 1 on")
    files = [(path, enough(path, arguments.records, form)) for path in arguments.files]
    done: list[Held] = []
    print(f"{'file':22}{'metrics':48}{'':9}{'calls':>13}  {'expected':>9} {'bill':>9} {'off':>6}  {'interval':19}")
    with FakeServer(keep=0) as server:
        for number, (path, every) in enumerate(files):
            for each in rounds(path, every, arguments.rounds, arguments.records, arguments.seed + number, server):
                done.append(each)
                low, expected, high, bill = each.dollars
                calls = f"{each.calls[0]:,.0f} {'=' if each.exact else '~'} {each.calls[1]:,}"
                ends = f"{low:.4f} to {high:.4f}" + ("" if each.inside else "  missed")
                print(f"{each.file[:21]:22}{each.metrics[:47]:48}{each.how:9}{calls:>13}  "
                      f"{expected:9.4f} {bill:9.4f} {each.off:+6.1%}  {ends}", flush=True)  # fmt: skip
    for how in ("cold", "learned"):
        some = [each for each in done if each.how == how]
        print(f"\n{how}: the interval held {sum(each.inside for each in some)} of {len(some)} bills; ", end="")
        print(
            "exact where it says so"
            if all(each.calls[0] == each.calls[1] for each in some if each.exact)
            else "NOT exact"
        )
        for name in dict.fromkeys(each.file for each in some):
            own = [each for each in some if each.file == name]
            off = sum(each.dollars[1] for each in own) / sum(each.dollars[3] for each in own) - 1
            worst = max(own, key=lambda each: abs(each.off)).off
            print(f"  {name:24} all rounds {off:+.1%}, the worst {worst:+.1%}")
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(each) for each in done]), encoding="utf-8")


if __name__ == "__main__":
    main()

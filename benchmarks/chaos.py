"""Measure a run at an endpoint that rejects, fails and truncates replies, and check that no label is lost.

    python benchmarks/chaos.py                       # 300 and 1,500 records, three rounds
    python benchmarks/chaos.py --records 300 --rounds 1

Each round evaluates generated records by ``grounding``, about two calls per record, twice at the same endpoint: clean,
then with faults. *mild*: 5% of first attempts get HTTP 429 with a Retry-After of one second, 5% HTTP 500, 3% a
truncated reply, 2% one in a code fence. *severe*: 20, 20, 10 and 2%. Replies take 20 to 100 ms. Compare the ratio of
the two times of one round, because both run on the same machine. A record is *scored*, *named* (it has a reason for the
missing score) or *silent*, which must not happen. *other labels* counts records whose labels differ from the clean
run's, though each reply was readable at the first request; there must be none either.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from engine import records
from ragstone import Run, evaluate
from ragstone.testing import FakeServer

LATENCY = (0.02, 0.1)
FAULTS: dict[str, dict[str, Any]] = {
    "mild": {"rate_429": 0.05, "rate_500": 0.05, "rate_truncated": 0.03},
    "severe": {"rate_429": 0.2, "rate_500": 0.2, "rate_truncated": 0.1},
}
ASKED = {"mild": {300: 2.0, 1500: 1.5}, "severe": {300: 4.0, 1500: 4.0}}
"""The most times that a run may take of its clean time."""


def serve(parent: Connection) -> None:
    """Set a fake endpoint to the faults that come, clear its counts and send its address."""
    with FakeServer(keep=0, latency=LATENCY) as server, suppress(EOFError):
        while True:
            server.configure(**parent.recv())
            server.reset()
            parent.send(server.url)


@contextmanager
def endpoint() -> Iterator[Callable[[dict[str, Any]], str]]:
    """Give a function that sets the faults of an endpoint in its own process, and returns its address."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    process.start()
    theirs.close()

    def faults(some: dict[str, Any]) -> str:
        ours.send(some)
        url: str = ours.recv()
        return url

    try:
        yield faults
    finally:
        ours.close()
        process.join()


def timed(given: list[dict[str, Any]], url: str, folder: Path) -> tuple[Run, float]:
    """Evaluate the records with a store of their own; the run and its seconds."""
    begun = time.perf_counter()
    run = evaluate(given, ["grounding"], f"vllm:m@{url}", store=folder / "store.db", out=folder, report=False)
    return run, time.perf_counter() - begun


def labels(result: dict[str, Any]) -> list[tuple[str, Any]]:
    """The verdicts of a record by unit."""
    return [(verdict["unit"], verdict["label"]) for score in result["scores"] for verdict in score["verdicts"]]


def asked_once(result: dict[str, Any]) -> bool:
    """Whether each reply of a record was read at the first asking."""
    return not any(call.get("reading", {}).get("repair") for call in result["calls"])


def compared(clean: Run, chaos: Run) -> dict[str, int]:
    """What became of the records under faults, and whose labels are others."""
    wanted = {result["id"]: labels(result) for result in clean.results()}
    found = dict.fromkeys(("scored", "named", "silent", "other"), 0)
    for result in chaos.results():
        before = wanted.pop(result["id"])
        for score in result["scores"]:
            found["scored" if score["value"] is not None else "named" if score["reason"] else "silent"] += 1
        found["other"] += asked_once(result) and labels(result) != before
    found["silent"] += len(wanted)
    return found


def measured(count: int, name: str) -> dict[str, Any]:
    """One round: clean, then with faults, at the same endpoint."""
    given = list(records(count, seed=2))
    with tempfile.TemporaryDirectory() as folder, endpoint() as configure:
        times = {}
        runs = {}
        for weather, faults in (("warm", {}), ("clean", {}), ("chaos", {**FAULTS[name], "rate_fenced": 0.02})):
            url = configure({**faults, "retry_after": 1.0})
            (Path(folder) / weather).mkdir()
            some = given[:10] if weather == "warm" else given
            runs[weather], times[weather] = timed(some, url, Path(folder) / weather)
        bill = runs["chaos"].summary()["bill"]
        return {**times, **compared(runs["clean"], runs["chaos"]), "retried": bill["retried"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--records", type=int, nargs="+", default=[300, 1500])
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("records  faults   clean s  chaos s  ratio  worst  asked  retried  scored  named  silent  other labels")
    for name in arguments.faults:
        for count in arguments.records:
            rounds = [measured(count, name) for _ in range(arguments.rounds)]
            rounds.sort(key=lambda found: found["chaos"] / found["clean"])
            one, worst = rounds[len(rounds) // 2], rounds[-1]
            asked, retried = ASKED[name].get(count), statistics.median(found["retried"] for found in rounds)
            print(
                f"{count:7}  {name:7} {one['clean']:8.2f} {one['chaos']:8.2f} {one['chaos'] / one['clean']:6.2f} "
                f"{worst['chaos'] / worst['clean']:6.2f} {asked or '-':>6} {retried:8.0f} {one['scored']:7} "
                f"{one['named']:6} {max(found['silent'] for found in rounds):7} "
                f"{max(found['other'] for found in rounds):13}",
                flush=True,
            )


if __name__ == "__main__":
    main()

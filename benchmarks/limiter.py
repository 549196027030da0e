"""Check that rate limits are kept and used: requests and tokens at the endpoint in any 60 seconds.

    python benchmarks/limiter.py                     # 600 requests and 100,000 tokens a minute, two minutes each
    python benchmarks/limiter.py --minutes 5 --latency 2

The fake endpoint records the time and tokens of each request, reply included.
There are two runs: one with the request limit alone, one with both, where prompts of ordinary length reach the
token limit first. For each, it prints the fullest window of 60 seconds and the use per minute over whole minutes
from the first request on. The figures do not depend on the machine's speed.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from ragstone import evaluate
from ragstone.testing import FakeServer

MINUTE = 60.0
Arrivals = list[tuple[float, int]]


def fullest(arrivals: Arrivals) -> int:
    """The most that any window of 60 seconds holds."""
    most = inside = first = 0
    for at, amount in arrivals:
        inside += amount
        while arrivals[first][0] <= at - MINUTE:
            inside -= arrivals[first][1]
            first += 1
        most = max(most, inside)
    return most


def used(arrivals: Arrivals, minutes: int) -> float:
    """How much came a minute, over so many minutes from the first on."""
    end = arrivals[0][0] + minutes * MINUTE
    return sum(amount for at, amount in arrivals if at < end) / minutes


def run(records: list[dict[str, Any]], rpm: int, tpm: int, latency: float) -> list[tuple[float, int | str, int]]:
    """Weigh the records; what the endpoint saw."""
    with tempfile.TemporaryDirectory() as folder, FakeServer(latency=(latency / 2, latency)) as server:
        server_name = f"vllm:limited@{server.url}"
        evaluate(records, ["response_groundedness"], server_name, rpm=rpm, tpm=tpm, store=Path(folder) / "store.db")
        return server.arrivals


def records(count: int) -> list[dict[str, Any]]:
    """Records whose calls take 400 to 1,000 tokens."""
    return [
        {
            "id": f"r{number}",
            "question": f"What is said of number {number}?",
            "contexts": [" ".join(f"word{number % 97}" for _ in range(number % 401))],
            "response": f"Number {number} is a word that the passage does not explain any further.",
        }
        for number in range(count)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rpm", type=int, default=600)
    parser.add_argument("--tpm", type=int, default=100_000)
    parser.add_argument("--minutes", type=int, default=2)
    parser.add_argument("--latency", type=float, default=1.0)
    arguments = parser.parse_args()
    print(f"{'limits':30}{'':10}{'used a minute':>14}{'fullest':>10}{'allowed':>10}")
    for rpm, tpm, share in ((arguments.rpm, 0, 1.0), (arguments.rpm, arguments.tpm, 0.3)):
        enough = records(int(share * rpm * arguments.minutes) + 64)
        arrivals = run(enough, rpm, tpm, arguments.latency)
        counted = {"requests": ([(at, 1) for at, _, _ in arrivals], rpm)}
        counted["tokens"] = [(at, amount) for at, _, amount in arrivals], tpm
        for what, (seen, limit) in counted.items():
            limits = f"{rpm:,} requests" + (f", {tpm:,} tokens" if tpm else "") if what == "requests" else ""
            allowed = f"{limit:,}" if limit else "any"
            print(
                f"{limits:30}{what:10}{used(seen, arguments.minutes):14,.0f}{fullest(seen):10,}{allowed:>10}",
                flush=True,
            )


if __name__ == "__main__":
    main()

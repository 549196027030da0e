"""Killed with -9 at random moments and started again each time, until it is done.

The results are those of an undisturbed run byte for byte, and the endpoint has answered each call once, but for
those that were on their way, or not yet on disk, when the process was killed. A few kills as a rule;
``RAGSTONE_KILLS=50`` makes it fifty, and the same file is a script that does so and prints what it measured:

    python tests/test_kill.py 50
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from ragstone.store.database import Store
from ragstone.testing import FakeServer

KILLS = int(os.environ.get("RAGSTONE_KILLS", "3"))
RECORDS_PER_KILL = 20
CONCURRENCY = 8
LATENCY = 0.05
SCRIPT = """
import sys
from ragstone import api
url, records, concurrency, place = sys.argv[1:]
rows = [
    {"id": f"r{n}", "question": "What?", "response": f"It is number {n}. It boils.", "contexts": ["A kettle."]}
    for n in range(int(records))
]
api.evaluate(
    rows, ["grounding", "claim_relevance"], f"vllm:any@{url}",
    store=f"{place}.db", out=place, concurrency=int(concurrency), name="r",
)
"""


@dataclass
class Told:
    """What came of it: calls that are needed, requests that the endpoint saw in all, and those lost at each kill."""

    needed: int
    seen: int = 0
    unique: int = 0
    lost: list[int] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    same: bool = False
    seconds: float = 0.0


def begin(server: FakeServer, records: int, place: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT, server.url, str(records), str(CONCURRENCY), str(place)]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def seen(server: FakeServer) -> int:
    """All requests that reached the endpoint, those whose client was gone before the answer too."""
    return sum(server.seen.values())


def finish(process: subprocess.Popen[bytes]) -> None:
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()


def stored(path: Path) -> int:
    """How many calls a store holds, as the next process will find it."""
    if not path.exists():
        return 0
    with Store(path) as store:
        assert store.notes == [], store.notes
        return len(store.call_keys())


def killed(kills: int, folder: Path, seed: int) -> Told:
    """One run that is killed so many times, each time at a random moment of what is left of it."""
    chooser = random.Random(seed)
    records = RECORDS_PER_KILL * kills
    with FakeServer(latency=LATENCY) as server:
        finish(begin(server, records, folder / "whole"))
        told = Told(needed=seen(server))
        server.reset()
        started = time.monotonic()
        kept = 0
        for kill in range(kills):
            process = begin(server, records, folder / "broken")
            before = seen(server)
            # Anywhere: before the first call, in the middle of a commit, when a record is written.
            share = (told.needed - kept) / (kills - kill)
            while seen(server) - before < chooser.uniform(0, 2 * share) * 0.8 and process.poll() is None:
                time.sleep(chooser.uniform(0, 0.005))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert process.returncode == -signal.SIGKILL, "it was over before it could be killed"
            assert not (folder / "broken" / "results.jsonl").exists()
            time.sleep(2 * LATENCY)  # what is at the endpoint is answered to nobody
            now = stored(folder / "broken.db")
            told.lost.append(seen(server) - before - (now - kept))
            kept = now
        finish(begin(server, records, folder / "broken"))
        told.seconds = time.monotonic() - started
        told.seen, told.unique = seen(server), len(server.unique)
    results = [(folder / name / "results.jsonl").read_bytes() for name in ("whole", "broken")]
    told.same = results[0] == results[1]
    with Store(folder / "broken.db") as store:
        assert len(store.call_keys()) == told.needed
        told.runs = [run.status for run in store.runs()]
        last = store.runs()[-1].summary
    assert last is not None
    assert last["bill"]["sent"] < told.needed
    summaries = [orjson.loads((folder / name / "summary.json").read_bytes()) for name in ("whole", "broken")]
    assert summaries[0]["metrics"] == summaries[1]["metrics"]
    return told


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Nothing that was kept is asked again, and what is lost was in flight, or one of a few replies not yet on disk."""
    told = killed(KILLS, tmp_path, seed=random.randrange(10**6))
    assert told.same
    assert told.unique == told.needed
    assert told.seen == told.needed + sum(told.lost)
    assert max(told.lost) <= 2 * CONCURRENCY, told.lost
    assert told.runs[-1] == "done"
    assert set(told.runs[:-1]) <= {"running"}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        measured = killed(int(sys.argv[1]), Path(place), seed=int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(  # noqa: T201 - a script
        f"{len(measured.lost)} kills in {measured.seconds:.0f} s: results {'equal' if measured.same else 'DIFFER'}; "
        f"{measured.needed} calls needed, {measured.seen} requests seen, {sum(measured.lost)} lost at a kill "
        f"(at most {max(measured.lost)} at one, concurrency {CONCURRENCY})"
    )

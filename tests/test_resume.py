"""A run that is killed with -9 goes on: the same results byte for byte, and nothing is paid twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson

from ragstone.store.database import Store
from ragstone.testing import FakeServer

RECORDS = 40
CONCURRENCY = 4
SCRIPT = f"""
import sys
from ragstone import api
url, store, out = sys.argv[1:]
rows = [
    {{"id": f"r{{n}}", "question": "What?", "response": f"It is number {{n}}. It boils.", "contexts": ["A kettle."]}}
    for n in range({RECORDS})
]
metrics = ["grounding", "claim_relevance"]
api.evaluate(rows, metrics, f"vllm:any@{{url}}", store=store, out=out, concurrency={CONCURRENCY}, name="r")
"""


def begin(server: FakeServer, place: Path, store: str, out: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT, server.url, str(place / store), str(place / out)]
    return subprocess.Popen(command, cwd=place, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> None:
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said.decode()


def test_killed_and_started_again(tmp_path: Path) -> None:
    """Killed twice on the way: the end is that of an undisturbed run.

    Each call was answered once, but for those that were in flight when the process was killed.
    """
    with FakeServer(latency=0.01) as server:
        finish(begin(server, tmp_path, "whole.db", "whole"))
        calls = server.count
        assert calls == len(server.unique) == 3 * RECORDS
        server.reset()
        for kill in (1, 2):
            process = begin(server, tmp_path, "broken.db", "broken")
            end = time.monotonic() + 20
            while server.count < kill * calls // 4 and time.monotonic() < end:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert process.returncode == -signal.SIGKILL, "it was over before it could be killed"
            assert not (tmp_path / "broken" / "results.jsonl").exists()
        killed = server.count
        finish(begin(server, tmp_path, "broken.db", "broken"))
        assert len(server.unique) == calls
        # In flight when it was killed: sent, or answered and on the way to the disk.
        assert server.count - calls <= 2 * 3 * CONCURRENCY
        assert killed < calls
    whole, broken = (tmp_path / name / "results.jsonl" for name in ("whole", "broken"))
    assert broken.read_bytes() == whole.read_bytes()
    with Store(tmp_path / "broken.db") as store:
        assert store.notes == []
        runs = store.runs()
        assert [run.status for run in runs] == ["running"] * 2 + ["done"]
        assert runs[-1].summary is not None
        assert runs[-1].summary["bill"]["sent"] < calls
        assert runs[-1].summary["metrics"] == summary(tmp_path / "whole")["metrics"]


def summary(out: Path) -> dict[str, object]:
    found: dict[str, object] = orjson.loads((out / "summary.json").read_bytes())
    return found

"""Shards as tasks of a real Ray on this machine: the bytes of one process, whoever is killed, and nothing paid twice.

Needs the extra (``make test-ray``). ``RAGSTONE_KILLS=20`` makes it twenty kills.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from ragstone import api
from ragstone.options import RunOptions
from ragstone.store.database import Store
from ragstone.testing import FakeServer

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray: make test-ray"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks for the processes of Ray in /proc"),
]
CONCURRENCY = 4
KILLS = int(os.environ.get("RAGSTONE_KILLS", "4"))
QUIET = {
    **os.environ,
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "ab" * 32,
    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Ray with two workers; each run would start its own, which takes ten seconds."""
    port, ray = 20_000 + random.randrange(10_000), str(Path(sys.executable).with_name("ray"))
    command = (
        f"start --head --port {port} --num-cpus 2 --include-dashboard false --object-store-memory 100000000 --block"
    )
    head = subprocess.Popen(
        [ray, *command.split()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=QUIET, start_new_session=True
    )
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            break
        time.sleep(0.1)
    yield f"127.0.0.1:{port}"
    head.terminate()
    head.wait(60)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(latency=0.05, keep=1) as running:
        yield running


def write(path: Path, count: int) -> Path:
    rows = [
        {
            "id": f"r{n}",
            "question": "What?",
            "response": f"It is {n}. It boils.",
            "contexts": [f"A kettle of {n} litres."],
        }
        for n in range(count)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def alone(source: Path, server: FakeServer) -> tuple[bytes, int]:
    """The results of one process, and how many calls they take."""
    server.reset()
    place = source.with_name("alone")
    options = RunOptions("grounding", f"vllm:any@{server.url}", store=f"{place}.db", out=place, report=False)
    api.run(str(source), options).store.close()
    needed = sum(server.seen.values())
    server.reset()
    return (place / "results.jsonl").read_bytes(), needed


def begin(source: Path, server: FakeServer, address: str, more: str = "") -> subprocess.Popen[bytes]:
    words = f"-m grounding --engine ray --workers 2 --concurrency {CONCURRENCY} -o out --store s.db --no-report {more}"
    named = ["--address", address] if address else []
    command = [sys.executable, "-m", "ragstone", "run", source.name, "-j", f"vllm:any@{server.url}", *words.split()]
    return subprocess.Popen(
        [*command, *named], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=QUIET, cwd=source.parent,
        start_new_session=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[bytes], code: int = 0) -> str:
    _, said = process.communicate(timeout=300)
    assert process.returncode == code, said.decode()
    assert b"Traceback" not in said
    return said.decode()


def tasks(folder: Path) -> list[int]:
    """The processes of Ray that evaluate shards in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (
                place.joinpath("cmdline").read_bytes().startswith(b"ray::ragstone")
                and place.joinpath("cwd").readlink() == folder
            ):
                found.append(int(place.name))
        except OSError:
            continue
    return found


def until(server: FakeServer, calls: int, process: subprocess.Popen[bytes]) -> None:
    while sum(server.seen.values()) < calls:
        time.sleep(0.01)
        assert process.poll() is None, process.communicate()[1].decode()


def test_killed_at_random_moments(tmp_path: Path, server: FakeServer, cluster: str) -> None:
    """After kills of workers and of the driver the bytes are those of one process, and nothing is paid twice.

    But for calls that were on their way, or not yet on disk, when their process was killed.
    """
    draw = random.Random(23)
    source = write(tmp_path / "in.jsonl", 60 * KILLS)
    results, needed = alone(source, server)
    at_risk = kills = 0
    process = begin(source, server, cluster)
    while kills < KILLS:
        until(server, sum(server.seen.values()) + draw.randrange(1, needed // KILLS), process)
        victims = tasks(tmp_path)
        if kills % 4 == 3:
            process.kill()
            process.communicate()
            process = begin(source, server, cluster)
            at_risk += 2
        elif victims:
            os.kill(draw.choice(victims), signal.SIGKILL)
            at_risk += 1
        else:
            continue
        kills += 1
    finish(process)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == results
    assert len(server.unique) == needed
    lost = sum(server.seen.values()) - needed
    sys.stderr.write(f"{kills} kills: {needed} calls needed, {lost} lost\n")
    assert lost <= at_risk * 2 * CONCURRENCY
    with Store(tmp_path / "s.db") as store:
        assert len(store.call_keys()) == needed


def test_a_lost_upload(tmp_path: Path, server: FakeServer, cluster: str) -> None:
    """A shard's store that vanishes before its marker is there is handed in again; the bill says what was paid."""
    source = write(tmp_path / "in.jsonl", 40)
    results, needed = alone(source, server)
    lost: list[bool] = []

    def lose() -> None:
        part = tmp_path / "out" / "shards" / "00001-of-00002.db"
        while not lost and process.poll() is None:
            if part.exists():
                part.unlink()
                lost.append(not part.with_suffix(".json").exists())

    process = begin(source, server, cluster)
    thread = threading.Thread(target=lose)
    thread.start()
    finish(process)
    thread.join()
    assert lost
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == results
    assert sum(server.seen.values()) == needed
    bill = orjson.loads((tmp_path / "out" / "summary.json").read_bytes())["bill"]
    assert (bill["sent"], bill["answered"], bill["unseen"]) == (needed, needed, 0)


def test_shared_limits_and_an_interrupt(tmp_path: Path, server: FakeServer, cluster: str) -> None:
    """A budget is that of all workers; what was paid under it is not paid again; Ctrl-C exits 130 and keeps all."""
    source = write(tmp_path / "in.jsonl", 200)
    results, needed = alone(source, server)
    said = finish(begin(source, server, cluster, "--max-calls 30"), 4)
    assert "reached --max-calls 30" in said
    assert 20 <= sum(server.seen.values()) <= 30
    process = begin(source, server, cluster, "--rpm 100000")
    until(server, 100, process)
    os.killpg(process.pid, signal.SIGINT)
    said = finish(process, 130)
    assert "run the same command to continue" in said
    finish(begin(source, server, cluster))
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == results
    assert sum(server.seen.values()) == needed


def test_it_starts_ray_itself(tmp_path: Path, server: FakeServer) -> None:
    """Without an address; a cluster that is not there is one line."""
    source = write(tmp_path / "in.jsonl", 10)
    results, _ = alone(source, server)
    finish(begin(source, server, ""))
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == results
    said = finish(begin(source, server, "127.0.0.1:1"), 2)
    assert said.startswith("error: --engine ray: cannot connect to 127.0.0.1:1")

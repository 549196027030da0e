"""Several processes give what one gives: results, counts and errors, whichever of them is killed or interrupted."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ragstone import api
from ragstone.api import workers
from ragstone.api.plan import planned
from ragstone.engine.tally import Spent, Tally
from ragstone.errors import BudgetReached, ConfigError, WorkerError
from ragstone.judges.base import Usage, processors
from ragstone.options import RunOptions
from ragstone.store.database import Store
from ragstone.testing import FakeServer

CONCURRENCY = 4
KILLS = int(os.environ.get("RAGSTONE_KILLS", "6"))


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{number % (count - 2)}",  # the last two have ids of others
            "question": "What boils?",
            "response": f"Kettle {number} boils. It is lot {number * 7}.",
            "contexts": [f"Kettle {number} boils at noon. The lot is {number * 7 + number % 2}."],
        }
        for number in range(count)
    ]


def file(path: Path, count: int) -> Path:
    lines = [json.dumps(row) for row in rows(count)]
    lines.insert(5, '{"contexts": 3}')
    path.write_text("\n".join(lines))
    return path


def evaluated(folder: Path, source: Path, count: int, **more: Any) -> tuple[bytes, dict[str, Any]]:
    place = folder / f"with-{count}"
    run = api.evaluate(
        source, ["grounding", "groundedness"], workers=count, out=place, store=f"{place}.db", on_error="skip",
        name="r", report=False, **more,
    )  # fmt: skip
    summary: dict[str, Any] = dict(run.summary())
    return (place / "results.jsonl").read_bytes(), summary


def test_the_same_bytes_and_counts(tmp_path: Path) -> None:
    """Three processes give the results, the summary and the bill of one; so do they where all of it is replayed."""
    source = file(tmp_path / "in.jsonl", 40)
    alone, summary = evaluated(tmp_path, source, 1)
    results, shared = evaluated(tmp_path, source, 3)
    assert results == alone
    assert alone.count(b"\n") == 41
    for name in ("metrics", "quotes", "missing", "records", "set_aside"):
        assert shared[name] == summary[name]
    assert shared["bill"]["here"] == summary["bill"]["here"]
    again, replayed = evaluated(tmp_path, source, 3)
    assert again == alone
    assert replayed["bill"]["answered"] == 0
    taken, reused = evaluated(tmp_path, source, 3, only_failed=True)
    assert taken == alone
    assert reused["taken_over"] == 40, "but for the record that cannot be read"


@pytest.mark.parametrize(("judge", "total", "given", "expected"), [
    ("embedded", 100, None, 1),
    ("embedded", 100_000, None, "cores"),
    ("openai:any", 100_000, None, 1),
    ("openai:any", 100_000, 5, 5),
    ("embedded", 3, 5, 3),
])  # fmt: skip
def test_how_many(tmp_path: Path, judge: str, total: int, given: int | None, expected: int | str) -> None:
    """A core each where the judge computes in one thread and the records are worth it; as many as asked for."""
    with planned(rows(3), RunOptions(judge=judge, workers=given, store=tmp_path / "s.db")) as plan:
        found = workers.processes(replace(plan, survey=replace(plan.survey, records=total, set_aside=0)))
    assert found == (processors() if expected == "cores" else expected)


def test_an_error_is_the_same_error(tmp_path: Path) -> None:
    """What ends the run in a worker is raised here, and what was done before it is kept."""
    with FakeServer() as server, pytest.raises(BudgetReached, match="--max-calls") as raised:
        api.evaluate(
            rows(20), "grounding", f"vllm:any@{server.url}", workers=2, max_calls=12, store=tmp_path / "s.db",
        )  # fmt: skip
    assert server.count <= 12
    assert api.open_run(raised.value.run, tmp_path / "s.db").status == "stopped"


def test_limits_are_lent_to_who_needs_them(tmp_path: Path) -> None:
    """A worker whose records need no call leaves all of the budget and of the rate to the other."""
    every = [{**row, "contexts": []} if place % 2 else row for place, row in enumerate(rows(12))]
    with FakeServer() as server:
        run = api.evaluate(
            every, "grounding", f"vllm:any@{server.url}", workers=2, max_calls=12, rpm=12, store=tmp_path / "s.db",
        )  # fmt: skip
        assert server.count == run.summary()["bill"]["sent"] == 12


def test_what_cannot_be_shared(tmp_path: Path) -> None:
    """A store in memory, and objects that cannot be sent, are refused by name if several processes were asked for."""

    class Mine:
        name = id = model = provider = "mine"

    with pytest.raises(ConfigError, match="--workers 2: a store in memory cannot be shared; use --workers 1"):
        api.evaluate(rows(4), "grounding", workers=2, store=":memory:")
    with planned(rows(4), RunOptions("grounding", workers=2, store=tmp_path / "s.db")) as plan:
        unsendable = replace(plan, judges={"mine": Mine()})
        with Store(tmp_path / "s.db") as store, pytest.raises(ConfigError, match="cannot be sent to another process"):
            workers.shared(unsendable, store, None)


def test_one_that_cannot_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends by itself is started again, and ends the run the third time."""
    monkeypatch.setattr(workers, "_BEGIN", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(WorkerError, match=r"ended unexpectedly 3 times \(signal SIGKILL\)"):
        api.evaluate(rows(4), "grounding", workers=2, store=tmp_path / "s.db")


def test_a_sum_of_tallies() -> None:
    """Counts and money of all processes add up; an unknown price makes the sum unknown."""
    one, other, total = Tally(), Tally(), Tally(records=3)
    one.pay("a", "support", Usage(10, 5), 0.5)
    other.pay("a", "support", Usage(1, 2), 0.25)
    other.pay("b", "claims", Usage(3, 3), None)
    other.notes["slow"] = 2
    total.take([one, other])
    assert (total.records, total.replied, total.notes["slow"]) == (3, 3, 2)
    assert total.by_step["a", "support"] == Spent(2, 11, 7, dollars=0.75)
    assert total.paid.dollars is None


# ---- killed and interrupted

SCRIPT = """
import sys
from ragstone import api
source, url, place = sys.argv[1:]
api.evaluate(
    source, "grounding", f"vllm:any@{url}", workers=2, on_error="skip", concurrency=4, name="r", report=False,
    store=f"{place}.db", out=place,
)
"""


def begin(source: Path, url: str, place: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(source), url, str(place)], stderr=subprocess.PIPE)


def children(process: subprocess.Popen[bytes]) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    except OSError:
        return []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for child processes in /proc")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """After kills of workers and of their parent the bytes are those of a run in peace, and nothing is paid twice.

    But for calls that were on their way, or not yet on disk, when their process was killed.
    """
    draw = random.Random(23)
    source = file(tmp_path / "in.jsonl", 15 * KILLS)
    with FakeServer(latency=0.05, keep=1) as server:
        alone = api.evaluate(source, "grounding", f"vllm:any@{server.url}", on_error="skip", name="r",
                             store=tmp_path / "alone.db", out=tmp_path / "alone", report=False)  # fmt: skip
        needed = sum(server.seen.values())
        server.reset()
        kills = 0
        process = begin(source, server.url, tmp_path / "broken")
        while kills < KILLS:
            wanted = sum(server.seen.values()) + draw.randrange(1, needed // KILLS)
            while sum(server.seen.values()) < wanted and process.poll() is None:
                time.sleep(0.01)
            assert process.poll() is None, process.communicate()[1].decode()
            victims = children(process)
            if kills % 4 == 3:
                process.kill()
                process.communicate()
                process = begin(source, server.url, tmp_path / "broken")
            elif victims:
                os.kill(draw.choice(victims), signal.SIGKILL)
            else:
                continue
            kills += 1
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
        assert len(server.unique) == needed
        assert sum(server.seen.values()) <= needed + KILLS * 2 * CONCURRENCY
    assert (tmp_path / "broken" / "results.jsonl").read_bytes() == (tmp_path / "alone" / "results.jsonl").read_bytes()
    with Store(tmp_path / "broken.db") as store:
        assert len(store.call_keys()) == needed
        last = store.runs()[-1]
    assert last.summary is not None
    assert last.summary["metrics"] == alone.summary()["metrics"]


@pytest.mark.skipif(os.name != "posix", reason="signals a group of processes")
def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C ends all processes in order: exit 130, what is done is saved, and calls on their way are kept."""
    source = file(tmp_path / "in.jsonl", 400)
    with FakeServer(latency=0.2) as server:
        words = f"-m grounding --workers 2 --on-error skip --concurrency 8 --store {tmp_path}/s.db"
        command = [sys.executable, "-m", "ragstone", "run", str(source), "-j", f"vllm:any@{server.url}", *words.split()]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        while sum(server.seen.values()) < 60:
            time.sleep(0.05)
            assert process.poll() is None, process.communicate()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate(timeout=60)
        sent = sum(server.seen.values())
    assert process.returncode == 130, said.decode()
    assert b"interrupted" in said
    assert b"Traceback" not in said
    with Store(tmp_path / "s.db") as store:
        (row,) = store.runs()
        assert row.status == "interrupted"
        assert 0 < store.count(row.id) < 401
        assert len(store.call_keys()) == sent

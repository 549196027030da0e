"""Several processes on one store: each call is sent by one of them, and a process that ends gives its calls up."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stage import metrics, prompted, records, weigh

from ragstone.engine.claims import Claims, Elsewhere
from ragstone.judges.base import Failed, Reply, reply_to_json
from ragstone.store.database import CallRow, Store
from ragstone.testing import FakeServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks of bytes")

ALONE = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "RAGSTONE"))}
RECORDS = 40
SCRIPT = """
import sys
from ragstone import api
url, out, records = sys.argv[1:]
rows = [
    {"id": f"r{n}", "question": "What?", "response": f"It is number {n}. It boils.", "contexts": ["A kettle."]}
    for n in range(int(records))
]
api.evaluate(rows, ["grounding", "claim_relevance"], f"vllm:any@{url}", store="s.db", out=out, concurrency=8, name=out)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store("s.db") as opened:
        yield opened


def begin(server: FakeServer, out: str, count: int = RECORDS) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT, server.url, out, str(count)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=ALONE)


def finish(process: subprocess.Popen[bytes]) -> None:
    told = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 0, told


def claims(store: Store) -> Claims:
    claims = Claims(store, since=lambda _key: 0.0)
    claims.open()
    return claims


async def sent(by: Claims, key: bytes, patience: float = 9.0) -> tuple[Reply | Failed, bool]:
    async def send() -> Reply:
        by.claim(key)
        return Reply("sent")

    return await by.once(key, send, patience)


def keep(store: Store, key: bytes, text: str) -> None:
    store.begin()
    store.insert([CallRow(key, "j", "support", "m", b"{}", reply_to_json(Reply(text)))], [])
    store.commit()


def test_processes_with_the_same_input_pay_once() -> None:
    """Begun at the same moment, of a judge that answers otherwise every time: all end well, with what the store holds,
    and each call was sent once."""
    with FakeServer(latency=0.02, vary=True) as server:
        outs = ["one", "two", "three"]
        for process in [begin(server, out) for out in outs]:
            finish(process)
        sent = Counter(map(repr, server.requests))
    assert max(sent.values()) == 1
    assert sent.total() >= 3 * RECORDS
    assert len({Path(out, "results.jsonl").read_bytes() for out in outs}) == 1
    with Store("s.db") as store:
        assert store.notes == []
        assert [run.status for run in store.runs()] == ["done"] * 3
        bills = [(run.summary or {})["bill"] for run in store.runs()]
        assert len(store.call_keys()) == sum(bill["sent"] for bill in bills) == sent.total()


def test_what_a_killed_process_had_under_way_is_sent_by_the_other() -> None:
    """As soon as it is dead, and no sooner."""
    with FakeServer(latency=60.0) as server:
        first = begin(server, "first", 8)
        while len(server.requests) < 8:
            time.sleep(0.01)
        second = begin(server, "second", 8)
        while len(Path("s.db-claims").read_bytes()) < 2:
            time.sleep(0.01)
        time.sleep(0.3)
        assert len(server.requests) == 8
        server.configure(latency=0.0)
        first.kill()
        first.communicate()
        finish(second)
        sent = list(map(repr, server.requests))
    assert all(sent.count(request) == 1 + (request in sent[:8]) for request in sent)


def test_who_is_alone_sends_without_a_look_at_the_store(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    """A look for every call would cost more than the claim."""
    looks: list[bytes] = []
    look = Store.reply

    def counted(self: Store, key: bytes, **how: Any) -> bytes | None:
        looks.append(key)
        return look(self, key, **how)

    monkeypatch.setattr(Store, "reply", counted)
    with FakeServer() as server:
        weigh(records(20), metrics("response_groundedness"), prompted(server), store=store)
        assert len(looks) == 20
        beside = claims(store)
        weigh(records(40), metrics("response_groundedness"), prompted(server), store=store)
        beside.close()
        assert server.count == 40
        assert len(looks) == 20 + 40 + 20, "once more for each call that is sent"


def test_a_call_is_had_by_one_until_it_leaves(store: Store) -> None:
    one, other = claims(store), claims(store)
    one.claim(b"a" * 16)
    one.claim(b"a" * 16)
    other.claim(b"b" * 16)
    for key, who in ((b"a" * 16, other), (b"b" * 16, one)):
        with pytest.raises(Elsewhere):
            who.claim(key)
    other.leave(b"a" * 16)
    with pytest.raises(Elsewhere):
        other.claim(b"a" * 16)
    one.leave(b"a" * 16)
    other.claim(b"a" * 16)
    other.close()
    one.claim(b"a" * 16)
    one.close()


def test_a_reply_that_another_stored_meanwhile_is_not_paid_again(store: Store) -> None:
    """Also where the claim is free again, and where it was waited for."""
    one, other = claims(store), claims(store)
    keep(store, b"a" * 16, "first")
    assert asyncio.run(sent(one, b"a" * 16)) == (Reply("first"), True)
    other.claim(b"b" * 16)

    async def waited() -> tuple[Reply | Failed, bool]:
        waiting = asyncio.create_task(sent(one, b"b" * 16))
        await asyncio.sleep(0.05)
        keep(store, b"b" * 16, "second")
        other.leave(b"b" * 16)
        return await waiting

    assert asyncio.run(waited()) == (Reply("second"), True)
    one.close()
    other.close()


def test_who_does_not_move_on_is_not_waited_for_without_end(store: Store) -> None:
    """A process that was stopped has its calls for as long as a call may take."""
    one, other = claims(store), claims(store)
    one.claim(b"a" * 16)
    assert asyncio.run(sent(other, b"a" * 16, 0.05)) == (Reply("sent"), False)
    other.close()
    one.close()


def test_where_nothing_can_be_locked_all_is_granted(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    """As on some network drives, or where the system has no more locks."""
    one = claims(store)
    monkeypatch.setattr("fcntl.fcntl", refuse)
    monkeypatch.setattr("fcntl.lockf", refuse)
    other = claims(store)
    for who in (one, other, one):
        who.claim(b"a" * 16)
        who.leave(b"a" * 16)
    one.close()
    other.close()


def refuse(*_: object) -> None:
    raise OSError(errno.ENOLCK, "no locks available")

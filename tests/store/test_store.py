"""The store: what is committed stays, damage is set aside, several may use one file, and order is kept."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ragstone.errors import ConfigError, StoreError
from ragstone.store import connection as store_module
from ragstone.store.connection import MAGIC
from ragstone.store.database import CallRow, ResultRow, ScoreRow, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "ragstone.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        yield opened


def call(number: int, reply: bytes = b'{"text":"yes"}') -> CallRow:
    return CallRow(number.to_bytes(16, "big"), "judge", "support", "prompt#1", b'{"n":%d}' % number, reply)


def score(metric: str, position: int, value: float | None, status: str = "scored") -> ScoreRow:
    return ScoreRow(metric, position, value, status, 1, 0, value, value, None, 1, 10, 5, None)


def put(store: Store, *calls: CallRow, results: Any = (), since: float = 0.0) -> dict[bytes, bytes]:
    store.begin()
    others = store.insert(calls, results, since=lambda _key: since)
    store.commit()
    return others


def result(run: int, position: int, *scores: ScoreRow, record: str = "", document: bytes = b"{}") -> Any:
    return run, ResultRow(position, record or f"r{position}", document), scores


# ---- calls


def test_a_call_comes_back_as_it_was(store: Store) -> None:
    """Whatever bytes the request and the reply are, empty and long ones too; one that is not there is None."""
    assert (store.reply(b"0" * 16), store.call(b"0" * 16)) == (None, None)
    for number, reply in enumerate([b"", b"{}", "é世".encode(), b"\0\xff", b"x" * 1_000_000]):
        put(store, call(number, reply))
        assert store.call(call(number).key) == call(number, reply)
        assert store.reply(call(number).key) == reply


def test_the_first_reply_stays(store: Store) -> None:
    """Two processes that paid for one call keep the first answer, and the second is told it: replays do not change."""
    assert put(store, call(1, b"first")) == {}
    assert put(store, call(2), call(1, b"second"), call(3)) == {call(1).key: b"first"}
    assert store.reply(call(1).key) == b"first"
    assert store.call_keys() == [call(1).key, call(2).key, call(3).key]


def test_what_is_too_old_makes_way(store: Store) -> None:
    """A refresh replaces what was stored before it began, and keeps what another one has stored since."""
    put(store, call(1, b"old"))
    assert put(store, call(1, b"new"), since=time.time()) == {}
    assert put(store, call(1, b"newer"), since=time.time() - 60) == {call(1).key: b"new"}
    assert store.reply(call(1).key) == b"new"


def test_a_stored_reply_that_does_not_unpack_ends_the_group(store: Store, path: Path) -> None:
    put(store, call(1, b"first"))
    with sqlite3.connect(path) as other:
        other.execute("UPDATE calls SET reply = x'00'")
    with pytest.raises(StoreError, match="the store is damaged"):
        put(store, call(2), call(1, b"second"))
    assert store.call_keys() == [call(1).key]
    put(store, call(3))


def test_a_group_is_there_when_its_commit_returns(store: Store, path: Path) -> None:
    """Not before, and then for every other opener too."""
    with Store(path) as other:
        store.begin()
        store.insert([call(1), call(2)], [])
        assert other.reply(call(1).key) is None
        store.commit()
        assert other.reply(call(1).key) is not None
        assert other.reply(call(2).key) is not None


def test_a_group_that_was_not_committed_is_lost_as_a_whole(store: Store, path: Path) -> None:
    put(store, call(1))
    run = store.start_run("r", {})
    store.begin()
    store.insert([call(2)], [result(run, 1, score("m", 1, 1.0))])
    store.close()
    with Store(path) as again:
        assert again.call_keys() == [call(1).key]
        assert list(again.scores(run)) == []
        assert list(again.results(run)) == []


def test_a_reply_survives_kill(path: Path) -> None:
    """A process that is killed right after its commit loses nothing of it, and the store opens without a word."""
    script = f"""
import os
from ragstone.store.database import CallRow, Store
store = Store({str(path)!r})
for number in range(50):
    store.begin()
    store.insert([CallRow(number.to_bytes(16, "big"), "j", "support", "p", b"{{}}", b"paid")], [])
    store.commit()
store.begin()
store.insert([CallRow(b"y" * 16, "j", "support", "p", b"{{}}", b"not committed")], [])
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -9
    with Store(path) as store:
        assert store.notes == []
        assert len(store.call_keys()) == 50
        assert store.reply(b"y" * 16) is None


# ---- several at a time


def test_two_stores_write_one_file(store: Store, path: Path) -> None:
    """One waits while the other has a group open."""
    with Store(path) as other:
        store.begin()
        store.insert([call(1)], [])
        thread = threading.Thread(target=put, args=(other, call(2)))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        store.commit()
        thread.join(5)
        assert sorted(store.call_keys()) == [call(1).key, call(2).key]


def test_processes_share_one_store(path: Path) -> None:
    """Four processes that make the store at the same moment and write to it: all is there, nothing is set aside."""
    script = f"""
import sys
from ragstone.store.database import CallRow, Store
me = int(sys.argv[1])
sys.stdin.readline()
with Store({str(path)!r}) as store:
    assert store.notes == [], store.notes
    run = store.start_run(f"run {{me}}", {{}})
    for number in range(25):
        store.begin()
        store.insert([CallRow((me * 1000 + number).to_bytes(16, "big"), "j", "support", "p", b"{{}}", b"r")], [])
        store.commit()
    store.finish_run(run, "done", {{}})
"""
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(me)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for me in range(4)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=30)[1].decode() for process in started]
    assert [process.returncode for process in started] == [0] * 4, ended
    with Store(path) as store:
        assert len(store.call_keys()) == 100
        assert sorted(run.name for run in store.runs()) == [f"run {me}" for me in range(4)]
    assert not list(path.parent.glob("*.damaged*"))


def test_many_begin_one_store_at_the_same_moment(tmp_path: Path) -> None:
    """Whoever comes first makes it, the others wait: tried often, because it is a matter of moments."""
    for attempt in range(15):
        together = threading.Barrier(6)
        troubles: list[BaseException] = []

        def begin(path: Path, together: threading.Barrier, troubles: list[BaseException]) -> None:
            together.wait()
            try:
                with Store(path) as store:
                    store.start_run("r", {})
            except StoreError as error:
                troubles.append(error)

        path = tmp_path / f"{attempt}.db"
        threads = [threading.Thread(target=begin, args=(path, together, troubles)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert troubles == []
        with Store(path) as store:
            assert len(store.runs()) == 6


# ---- the file


def test_the_file_is_the_users_alone(path: Path) -> None:
    """Mode 0600 for the store and what SQLite lays beside it, 0700 for the folder that was made; whatever the umask."""
    before = os.umask(0)
    try:
        with Store(path) as store:
            put(store, call(1))
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert set(modes) == {"ragstone.db", "ragstone.db-wal", "ragstone.db-shm"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_replies_are_written_through(store: Store) -> None:
    """What is committed survives a power cut: the log is synced at every commit."""
    for connection in (store._writer, store._reader):
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("content", [b'{"id": "a"}\n', b"x" * 5000, None])
def test_a_file_that_is_no_store_is_refused_and_left(path: Path, content: bytes | None) -> None:
    """Whatever it is, a database of another program too; nothing lies beside it afterwards."""
    path.parent.mkdir()
    if content is None:
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE customers (name TEXT)")
        content = path.read_bytes()
    path.write_bytes(content)
    for renew in (True, False):
        with pytest.raises(ConfigError, match=r"ragstone\.db: not a Ragstone store; left unchanged$"):
            Store(path, renew=renew)
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == ["ragstone.db"]


@pytest.mark.parametrize("content", [bytes(5000), b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_set_aside_and_said(path: Path, content: bytes) -> None:
    """It is kept under another name as it was, a new store is begun, and a note says both."""
    path.parent.mkdir()
    path.write_bytes(content)
    with Store(path) as store:
        put(store, call(1))
        (note,) = store.notes
        (aside,) = path.parent.glob("ragstone.db.damaged-*")
        assert str(aside) in note
        assert "damaged" in note
        assert aside.read_bytes() == content
        assert store.reply(call(1).key) == call(1).reply
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_damage_twice_in_a_second_keeps_both(path: Path) -> None:
    """What was set aside is never overwritten."""
    path.parent.mkdir()
    for number in range(3):
        path.write_bytes(MAGIC + b"damaged %d" % number * 100)
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        Store(path).close()
    kept = sorted(file.read_bytes()[len(MAGIC) :][:9] for file in path.parent.glob("*.damaged-*"))
    assert kept == [b"damaged 0", b"damaged 1", b"damaged 2"]


def test_a_newer_store_is_refused(path: Path) -> None:
    """It is neither changed nor set aside; the message says to upgrade."""
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(
        StoreError, match=r"made by a newer version of Ragstone \(format 99; this version reads 6\); upgrade"
    ):
        Store(path)
    assert not list(path.parent.glob("*.damaged*"))


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A folder in the store's place, and a file in its folder's place: in words, with what to do."""
    with pytest.raises(StoreError, match="cannot open the store"):
        Store(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"cannot create the store .* choose another place with --store"):
        Store(tmp_path / "file" / "s.db")


@pytest.mark.parametrize("trouble", ["surrogate", "number"])
def test_a_value_that_no_database_holds_is_said(store: Store, trouble: str) -> None:
    """Half of a character in an id, a count beyond 64 bits: a StoreError, and the next group is written."""
    run = store.start_run("r", {})
    row = score("m", 1, 1.0)
    bad = result(run, 1, row._replace(input_tokens=2**63)) if trouble == "number" else result(run, 1, record="\ud800")
    with pytest.raises(StoreError, match="cannot write"):
        put(store, call(1), results=[bad])
    put(store, call(2))
    assert store.call_keys() == [call(2).key]


def test_a_closed_store_says_so(path: Path) -> None:
    store = Store(path)
    store.close()
    with pytest.raises(StoreError):
        store.reply(b"x")
    with pytest.raises(StoreError):
        store.begin()


def test_a_store_that_is_let_go_of_lets_go_of_its_file(path: Path) -> None:
    """As a run does that nobody closes: no open file stays behind, and no warning is raised about one."""
    store = Store(path)
    put(store, call(1))
    connections = (store._reader, store._writer)
    del store
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_in_memory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store(":memory:") as store:
        put(store, call(1))
        assert store.reply(call(1).key) == call(1).reply
        assert store.start_run("r", {}) == 1
    assert list(tmp_path.iterdir()) == []


# ---- runs


def test_a_run_is_entered_and_closed(store: Store) -> None:
    """Running until it is closed; spec and summary come back as they were."""
    first = store.start_run("one", {"metrics": ["grounding"]})
    second = store.start_run("two", {})
    assert [(run.id, run.name, run.status) for run in store.runs()] == [
        (first, "one", "running"), (second, "two", "running"),
    ]  # fmt: skip
    store.finish_run(first, "done", {"mean": 0.5})
    run = store.run(first)
    assert run is not None
    assert (run.status, run.spec, run.summary) == ("done", {"metrics": ["grounding"]}, {"mean": 0.5})
    assert run.finished is not None
    assert run.started <= run.finished
    other = store.run(second)
    assert other is not None
    assert (other.summary, other.finished) == (None, None)
    assert store.run(99) is None


def test_a_run_that_came_to_nothing_is_taken_back(store: Store) -> None:
    """The run is gone; what was paid for it stays. No later run has its number, which files and links may name."""
    first, second = store.start_run("one", {}), store.start_run("two", {})
    put(store, call(1))
    store.drop_run(second)
    assert [run.id for run in store.runs()] == [first]
    third = store.start_run("three", {})
    assert third not in {first, second}
    store.drop_run(third, unused=True)
    assert store.start_run("four", {}) == third, "nothing names a run that did not start"
    last = store.start_run("five", {})
    store.drop_run(third, unused=True)
    assert store.start_run("six", {}) > last
    assert store.reply(call(1).key) is not None


def test_results_come_in_the_order_of_the_input(store: Store) -> None:
    """However they were put, and one run at a time."""
    run, other = store.start_run("r", {}), store.start_run("o", {})
    for position in (3, 1, 10, 2):
        put(store, results=[result(run, position, document=b"%d" % position)])
    put(store, results=[result(other, 1)])
    assert [(row.position, row.record, row.document) for row in store.results(run)] == [
        (1, "r1", b"1"), (2, "r2", b"2"), (3, "r3", b"3"), (10, "r10", b"10"),
    ]  # fmt: skip
    assert list(store.ids(run).values()) == ["r1", "r2", "r3", "r10"]
    assert (store.count(run), store.count(other), store.count(99)) == (4, 1, 0)


def test_one_result_by_id_or_place(store: Store) -> None:
    run = store.start_run("r", {})
    put(store, results=[result(run, 1, record="a", document=b"1"), result(run, 2, record="b", document=b"2")])
    by_id, by_place = store.result(run, record="b"), store.result(run, position=1)
    assert by_id is not None
    assert by_place is not None
    assert (by_id.document, by_place.record) == (b"2", "a")
    assert store.result(run, record="c") is None
    assert store.result(run, position=3) is None
    assert store.result(run + 1, record="a") is None


def test_scores_by_metric_and_place(store: Store) -> None:
    run = store.start_run("r", {})
    for position in (2, 1):
        put(store, results=[result(run, position, score("b", position, 0.5), score("a", position, None, "empty"))])
    assert [(row.metric, row.position) for row in store.scores(run)] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert list(store.scores(run, "b")) == [score("b", 1, 0.5), score("b", 2, 0.5)]


def test_the_worst_come_lowest_first(store: Store) -> None:
    """Records without a value are not the worst; of equal ones the earlier comes first."""
    run = store.start_run("r", {})
    values = {1: 0.5, 2: None, 3: 0.1, 4: 0.5, 5: 0.0, 6: 1.0}
    put(store, results=[result(run, n, score("m", n, value)) for n, value in values.items()])
    assert [row.position for row in store.worst(run, "m", 4)] == [5, 3, 1, 4]
    assert store.worst(run, "other", 4) == []


def test_results_are_read_one_at_a_time(store: Store) -> None:
    """Reading on while another group is written is neither blocked nor disturbed."""
    run = store.start_run("r", {})
    put(store, results=[result(run, n) for n in range(1, 51)])
    rows = store.results(run)
    assert next(rows).position == 1
    put(store, results=[result(run, 51)])
    assert [row.position for row in rows] == list(range(2, 51))


def test_a_result_takes_little_more_than_its_document(tmp_path: Path) -> None:
    """Not a page of the file, of 4,096 bytes, for one of 1,500."""
    with Store(tmp_path / "s.db") as store:
        run = store.start_run("r", {})
        texts = (random.Random(n).randbytes(1500) for n in range(1, 401))
        put(store, results=[(run, ResultRow(n, f"r{n}", text), []) for n, text in enumerate(texts, 1)])
        documents = store._reader.execute("SELECT sum(length(document)) FROM results").fetchone()[0]
        pages, size = (store._reader.execute(f"PRAGMA page_{name}").fetchone()[0] for name in ("count", "size"))
    assert pages * size < 1.5 * documents


def test_only_this_version_is_written() -> None:
    """A change of the schema is a new version with a migration: this test is to be changed with it."""
    assert store_module.VERSION == 6
    with Store(":memory:") as store:
        tables = {
            name: [column[1] for column in store._reader.execute(f"PRAGMA table_info({name})")]
            for (name,) in store._reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    assert tables["calls"] == ["key", "judge", "task", "maker", "request", "reply", "at"]
    assert tables["runs"] == ["id", "name", "started", "finished", "status", "spec", "summary"]
    assert tables["results"] == ["run", "position", "record", "document"]
    assert tables["batches"] == ["id", "run", "judge", "spec", "tag", "remote", "status", "made", "input"]
    assert tables["batch_calls"] == ["key", "batch", "task", "maker", "units", "repeat", "request", "failed", "spent"]
    assert set(tables["scores"]) == {"run", *ScoreRow._fields}

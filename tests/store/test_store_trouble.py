"""A store in trouble: damaged, held by another, not writable, full, shared, old. Said in one line, and nothing lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from ragstone import api
from ragstone.analysis.run import Run
from ragstone.errors import StoreError
from ragstone.store import connection as store_module
from ragstone.store.batches import BatchStore, Owner
from ragstone.store.database import CallRow, ResultRow, Store
from ragstone.testing import FakeServer, ScriptedJudge

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.usefixtures("alone")

WHOLE = "response_groundedness"
PATH = Path("s.db")
ALONE = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "RAGSTONE"))}


def rows(count: int = 5) -> list[dict[str, Any]]:
    return [
        {"id": f"r{n}", "question": "What?", "response": f"It is number {n}.", "contexts": ["A kettle. " * 50]}
        for n in range(count)
    ]


def weigh(judge: Any = None, count: int = 5, **options: Any) -> Run:
    run = api.evaluate(rows(count), WHOLE, judge or ScriptedJudge({"response_support": "2"}), store=PATH, **options)
    run.store.close()
    return run


def aside() -> list[Path]:
    return [path for path in sorted(Path().glob("s.db.damaged-*")) if not path.name.endswith(("-wal", "-shm"))]


def without_log() -> None:
    """Delete what lies beside the store: all of it is in the file."""
    for suffix in ("-wal", "-shm"):
        Path(f"{PATH}{suffix}").unlink(missing_ok=True)


@contextmanager
def opened(path: Path = PATH) -> Iterator[sqlite3.Connection]:
    """SQLite's own view of a file; what is changed is committed."""
    with closing(sqlite3.connect(path)) as connection, connection:
        yield connection


def spoil(table: str, part: slice = slice(None)) -> bytes:
    """Overwrite the pages that a table's rows are in, or a part of them; the bytes of the file as it then is."""
    with opened() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        pages = [row[0] for row in connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (table,))]
    data = bytearray(PATH.read_bytes())
    for page in sorted(pages)[part]:
        data[(page - 1) * size : page * size] = b"\xee" * size
    PATH.write_bytes(data)
    return bytes(data)


def readable(path: Path, table: str) -> int:
    """How many rows of a table can be read of a file that was set aside."""
    with opened(path) as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


def spoilable() -> bool:
    try:
        with sqlite3.connect(":memory:") as connection:
            connection.execute("SELECT * FROM dbstat")
    except sqlite3.Error:
        return False
    return True


needs_dbstat = pytest.mark.skipif(not spoilable(), reason="an SQLite that does not tell where its pages are")


# ---- damaged


@needs_dbstat
@pytest.mark.parametrize("table", ["calls", "runs", "results", "scores"])
def test_damage_in_the_middle_is_said_and_set_aside(table: str) -> None:
    """Whichever table it is in: a run that meets it says so, nothing is overwritten, and what can be read goes on."""
    weigh(count=200)
    without_log()
    damaged = spoil(table)
    with pytest.raises(StoreError, match=r"s\.db: the store is damaged") as caught:
        weigh(count=200)
    assert caught.value.damaged
    (note,) = [note for note in caught.value.__notes__ if "moved aside" in note]
    (kept,) = aside()
    assert str(kept) in note
    assert kept.stat().st_size >= len(damaged)
    assert readable(kept, "results" if table == "calls" else "calls") == 200
    with Store(PATH) as store:
        assert len(store.call_keys()) == (0 if table == "calls" else 200)
        assert [run.id for run in store.runs()] == ([1] if table == "calls" else [])
    assert ("0 calls, 1 of 1 run, 200 results" if table == "calls" else "200 calls, 0 of ") in note
    again = weigh(count=200).summary()
    assert again["metrics"][WHOLE]["scored"] == 200
    assert again["bill"]["replayed"] == (0 if table == "calls" else 200)


@needs_dbstat
def test_what_lies_before_and_behind_the_damage_is_saved() -> None:
    """Calls as they were, in their order; the same command pays for the others only, and a run that is whole stays."""
    first = weigh(count=5, name="small")
    before = first.summary()
    weigh(count=400)
    with Store(PATH) as store:
        calls = {key: store.call(key) for key in store.call_keys()}
    without_log()
    spoil("calls", slice(6, 9))
    with pytest.raises(StoreError, match="the store is damaged"):
        weigh(count=401)
    with Store(PATH) as store:
        saved = store.call_keys()
        assert 100 < len(saved) < 400
        assert saved == [key for key in calls if key in set(saved)]
        assert saved[0] == next(iter(calls))
        assert saved[-1] == list(calls)[-1]
        assert all(store.call(key) == calls[key] for key in saved)
        assert [run.status for run in store.runs()] == ["done", "done", "stopped"]
        assert store.runs()[0].summary == before
        assert [store.count(run) for run in (1, 2)] == [5, 400]
        assert len(list(store.scores(2))) == 400
    assert weigh(count=400).summary()["bill"]["replayed"] == len(saved)


@needs_dbstat
def test_looking_leaves_a_damaged_store_alone() -> None:
    """Commands that only read say that it is damaged; the file stays, byte for byte."""
    weigh()
    without_log()
    damaged = spoil("runs")
    with pytest.raises(StoreError, match=r"s\.db: the store is damaged"):
        api.open_run(store=PATH)
    assert PATH.read_bytes() == damaged
    torn = bytes(1200)
    PATH.write_bytes(torn)
    with pytest.raises(StoreError, match=r"s\.db: the store is damaged"):
        api.open_store(PATH)
    assert PATH.read_bytes() == torn
    assert aside() == []


def test_a_reply_that_does_not_unpack_is_damage() -> None:
    """A run that needs it sets the store aside and says so; it is never read as no reply."""
    weigh()
    with opened() as connection:
        connection.execute("UPDATE calls SET reply = x'0011223344'")
    with pytest.raises(StoreError, match="the store is damaged") as caught:
        weigh()
    assert "1 of 1 run, 5 results" in "".join(caught.value.__notes__)
    assert len(aside()) == 1


def test_damage_that_only_a_sum_shows_is_damage() -> None:
    """One changed letter of a stored reply, which still unpacks to a reply: it is not taken for what was answered."""
    weigh()
    with opened() as connection:
        (reply,) = connection.execute("SELECT reply FROM calls").fetchone()
        assert reply[4] & 4  # the frame has a sum of its content at its end
        another = Store(":memory:")._frame(zstd.decompress(reply).replace(b"2", b"0", 1))
        connection.execute("UPDATE calls SET reply = ?", (another[:-4] + reply[-4:],))
    with pytest.raises(StoreError, match="the store is damaged"):
        weigh()


def test_a_truncated_store_is_set_aside() -> None:
    """Half of a file is kept as it is under another name; the run goes on with a new one and says so."""
    weigh(count=200)
    with opened() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    half = PATH.read_bytes()[: PATH.stat().st_size // 2]
    without_log()
    PATH.write_bytes(half)
    notes: list[str] = []
    weigh(on_start=lambda progress: notes.extend(progress.notes))
    (kept,) = aside()
    assert kept.read_bytes() == half
    (note,) = [note for note in notes if f"moved aside to {kept}" in note]
    with Store(PATH) as store:
        saved = len(store.call_keys())
    assert 5 < saved < 200
    assert f"copied to a new store: {saved} calls, 0 of " in note


# ---- held by another process


@pytest.fixture
def held(alone: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Another process has the store and does not let go."""
    weigh()
    monkeypatch.setattr(store_module, "PATIENCE", 0.2)
    other = sqlite3.connect(PATH, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield other
    other.close()


@pytest.mark.usefixtures("held")
def test_a_store_that_is_held_is_said() -> None:
    """After some patience: who, how long, what to do; nothing is set aside."""
    said = "another process has kept the store busy for 0.2 s; wait for it to end, or choose another place with --store"
    with pytest.raises(StoreError, match=said):
        weigh()
    assert aside() == []


def test_a_store_that_is_let_go_of_in_time_is_waited_for(held: sqlite3.Connection, monkeypatch: Any) -> None:
    monkeypatch.setattr(store_module, "PATIENCE", 20.0)
    held.close()
    other = sqlite3.connect(PATH, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.3, other.execute, ("COMMIT",))
    timer.start()
    assert weigh().status == "done"
    timer.join()
    other.close()


# ---- not writable


def test_a_store_that_cannot_be_written_is_said() -> None:
    """Which path, and what to do."""
    weigh()
    with Store(PATH) as store:
        store._writer.execute("PRAGMA query_only = 1")
        with pytest.raises(StoreError, match=r"s\.db: cannot write .*readonly.* make both writable, or choose another"):
            store.start_run("r", {})


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_read_only_file_or_folder_is_said(what: str) -> None:
    """By the command itself, run by somebody who may not write there: one line, exit code 3."""
    weigh()
    shared = Path(tempfile.mkdtemp())  # the test's own folder may be closed to others as a whole
    shutil.copy(PATH, shared)
    (shared / PATH).chmod(0o444)
    shared.chmod(0o555 if what == "folder" else 0o777)
    script = """
import os, sys
import ragstone.cli.evaluating, ragstone.settings
from ragstone import api
from ragstone.__main__ import main
row = {"id": "r1", "question": "What?", "response": "It is one.", "contexts": ["It is."]}
api.evaluate([row], "response_groundedness", store=":memory:")  # loads what nobody else may read
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.argv = ["ragstone", "run", "-", "--store", sys.argv[1], "-m", "response_groundedness", "-q"]
main()
"""
    data = b'{"id": "r1", "question": "What?", "response": "It is one.", "contexts": ["It is."]}\n'
    command = [sys.executable, "-c", script, str(shared / PATH)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, cwd="/", check=False, env=ALONE)
    finally:
        shared.chmod(0o755)
        shutil.rmtree(shared)
    told = done.stderr.decode()
    assert done.returncode == 3, told
    (line,) = [line for line in told.splitlines() if line.startswith("error: ")]
    assert "s.db" in line
    assert "choose another place with --store" in line
    assert "Traceback" not in told


# ---- full


def test_a_full_disk_ends_the_run_and_loses_nothing_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """One clear error; what was committed is there, and with room the same command pays for the rest alone."""
    weigh(count=5)
    real = store_module.connect

    def small(path: str, **more: Any) -> sqlite3.Connection:
        connection = real(path, **more)
        connection.execute("PRAGMA max_page_count = 25")
        return connection

    with FakeServer() as server:
        judge = f"vllm:m@{server.url}"
        said = r"cannot write \(database or disk is full\); free space or choose another place"
        with monkeypatch.context() as patch:
            patch.setattr(store_module, "connect", small)
            with pytest.raises(StoreError, match=said):
                weigh(judge, 300, concurrency=4, name="full")
        spent = server.count
        with Store(PATH) as store:
            assert store._reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            kept = len(store.call_keys()) - 5
            assert store.runs()[0].status == "done"
        assert 0 < kept <= spent < 300
        assert spent - kept <= 2 * 4  # in flight, and as many not saved yet
        run = weigh(judge, 300, name="full")
        assert server.count - spent == 300 - kept
    assert run.summary()["metrics"][WHOLE]["scored"] == 300


# ---- gone


@pytest.mark.skipif(sys.platform == "win32", reason="an open file can be neither deleted nor renamed there")
@pytest.mark.parametrize("how", ["deleted", "renamed", "replaced"])
def test_a_store_that_is_gone_ends_the_run(how: str, tmp_path: Path) -> None:
    """Nothing more is paid for what nobody would find, and nothing says that it is saved."""
    store, moved = PATH.absolute(), tmp_path / "moved.db"
    results: list[bytes] = []

    def vanish(result: bytes) -> None:
        results.append(result)
        if len(results) > 1:
            return
        os.chdir(tmp_path.parent)  # the path of the store is still that of the same file
        store.rename(moved)
        if how == "deleted":
            moved.unlink()
        elif how == "replaced":
            store.touch()

    with pytest.raises(StoreError, match=r"^s\.db: the store was deleted or renamed during the run; move") as caught:
        weigh(on_result=vanish)
    assert not hasattr(caught.value, "__notes__")
    if how != "deleted":
        moved.replace(store)
        os.chdir(store.parent)
        assert weigh().summary()["bill"]["replayed"] > 0


# ---- old


def test_batches_of_the_fifth_version_are_on_one_bill() -> None:
    """Its tries in a billed batch were on that bill."""
    text = resources.files("ragstone.store").joinpath("schema.sql").read_text(encoding="utf-8")
    with opened() as connection:
        connection.executescript(text.split("-- version 6")[0])
        for number, status in ((1, "billed"), (2, "done")):
            connection.execute("INSERT INTO batches VALUES (?, 'b', 'j', x'', '', NULL, ?, 1.0, '')", (number, status))
            connection.execute("INSERT INTO batch_tries VALUES (?, ?, 2, 'lost')", (b"k%d" % number, number))
        connection.execute("PRAGMA user_version = 5")
    with BatchStore(PATH) as store:
        assert store._reader.execute("SELECT billed FROM batch_tries ORDER BY batch").fetchall() == [(2,), (0,)]
        assert store.uncharged(Owner("b"), 3) == (2, 2)


def test_a_store_of_the_first_version_opens_with_all_it_had() -> None:
    """It is brought up to date in its place: calls, runs, results and scores are there, and new ones can be added."""
    text = resources.files("ragstone.store").joinpath("schema.sql").read_text(encoding="utf-8")
    first = text.split("-- version 1")[1].split("-- version 2")[0]
    packed = Store(":memory:")._frame(b"{}")
    with opened() as connection:
        connection.executescript(first)
        connection.execute("INSERT INTO calls VALUES (?, 'j', 'support', 'p', ?, ?, 5.0)", (b"k" * 16, packed, packed))
        connection.execute("INSERT INTO runs VALUES (1, 'old', 1.0, 2.0, 'done', ?, NULL)", (packed,))
        connection.execute("INSERT INTO results VALUES (1, 1, 'r1', ?)", (packed,))
        connection.execute("INSERT INTO scores VALUES (1, 'm', 1, 0.5, 'scored', 1, 0, 0.5, 0.5, NULL, 1, 10, 5, NULL)")
        connection.execute("PRAGMA user_version = 1")
    shutil.copy(PATH, "old.db")
    for _ in range(2):
        with Store(PATH) as store:
            assert store.notes == []
            assert store.reply(b"k" * 16) == b"{}"
            score = next(store.scores(1))
            assert (score.value, score.repeats) == (0.5, None)
            assert [row.name for row in store.runs()] == ["old"]
            assert next(store.results(1)) == ResultRow(1, "r1", b"{}")
            assert store._reader.execute("PRAGMA user_version").fetchone() == (store_module.VERSION,)
            store.begin()
            new = score._replace(position=2, repeats='{"values":[1.0]}')
            store.insert(
                [CallRow(b"n" * 16, "j", "support", "p", b"{}", b"{}")], [(1, ResultRow(2, "r2", b"{}"), [new])]
            )
            store.commit()
            assert [row.repeats for row in store.scores(1)] == [None, '{"values":[1.0]}']
    with Store(":memory:") as fresh, Store("old.db") as brought:
        for shape in (
            "SELECT name FROM pragma_table_info('scores') ORDER BY name",
            "SELECT name, sql FROM sqlite_master WHERE tbl_name IN ('results', 'runs') ORDER BY name",
        ):
            assert fresh._reader.execute(shape).fetchall() == brought._reader.execute(shape).fetchall()

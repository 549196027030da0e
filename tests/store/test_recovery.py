"""What is copied of a damaged store: what SQLite still reads and checksums hold, and nothing that is not as it was."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ragstone import api
from ragstone.store.database import CallRow, Store
from ragstone.store.recovery import recover
from ragstone.testing import ScriptedJudge

WHOLE = "response_groundedness"
PAGE = 4096
CALLS = 150
Calls = dict[bytes, CallRow]
Damage = Callable[[bytearray, random.Random], object]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Calls, list[Any]]:
    """A store of one run as bytes, with rows of all sizes: its calls, and its scores."""
    made = random.Random(9)
    rows = [
        {
            "id": f"r{n}",
            "question": "What?",
            "response": f"It is number {n}.",
            "contexts": [" ".join(f"{made.getrandbits(40):x}" for _ in range(made.choice((3, 60, 400, 1600))))],
        }
        for n in range(CALLS)
    ]
    path = tmp_path_factory.mktemp("sound") / "s.db"
    api.evaluate(rows, WHOLE, ScriptedJudge({"response_support": "2"}), store=path).store.close()
    return settled(path), *held(path)


def settled(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def held(path: Path) -> tuple[Calls, list[Any]]:
    with Store(path) as store:
        calls = {key: store.call(key) for key in store.call_keys()}
        return {key: call for key, call in calls.items() if call}, [list(store.scores(run.id)) for run in store.runs()]


def recovered(data: bytes, place: Path, log: bytes = b"") -> tuple[str, Calls, list[Any]]:
    damaged, into = place / "damaged.db", place / "new.db"
    for path in place.glob("*.db*"):
        path.unlink()
    damaged.write_bytes(data)
    if log:
        Path(f"{damaged}-wal").write_bytes(log)
    with Store(into) as store:
        said = recover(str(damaged), store._writer)
    assert damaged.read_bytes() == data
    return said, *held(into)


def flipped(data: bytearray, made: random.Random) -> None:
    for _ in range(made.randrange(1, 60)):
        data[made.randrange(len(data))] ^= 1 << made.randrange(8)


def overwritten(data: bytearray, made: random.Random) -> None:
    for _ in range(made.randrange(1, 6)):
        start, length = made.randrange(len(data)), made.choice((10, 512, PAGE, 30_000))
        data[start : start + length] = made.randbytes(1) * len(data[start : start + length])


def pages_gone(data: bytearray, made: random.Random) -> None:
    for page in made.sample(range(2, len(data) // PAGE), 10):  # without the roots of the file and of the calls
        data[page * PAGE : page * PAGE + PAGE] = bytes(PAGE)


def cut_off(data: bytearray, _: random.Random) -> None:
    del data[len(data) // 2 :]


def cut_out(data: bytearray, made: random.Random) -> None:
    start = made.randrange(100, len(data))
    del data[start : start + made.randrange(1, 40_000)]


def beginning_gone(data: bytearray, made: random.Random) -> None:
    length = made.choice((16, 100, PAGE))
    data[:length] = bytes(length)


@pytest.mark.parametrize(
    ("damage", "least"),
    [(flipped, 0), (overwritten, 0), (pages_gone, 0.6), (cut_off, 0.3), (cut_out, 0), (beginning_gone, 1)],
)
def test_what_can_be_read_is_copied_and_nothing_else(damage: Damage, least: float, sound: Any, tmp_path: Path) -> None:
    """Whatever happened to the file: no crash, no reply or score that is not as it was, and most calls are there."""
    before, calls, scores = sound
    for seed in range(8):
        data = bytearray(before)
        damage(data, random.Random(f"{damage.__name__}{seed}"))
        said, got, runs = recovered(bytes(data), tmp_path)
        assert all(calls[key].reply == call.reply for key, call in got.items() if key in calls), seed
        assert [key for key in got if key in calls] == [key for key in calls if key in got], seed
        assert len(calls.keys() & got.keys()) >= least * CALLS, seed
        assert all(run in scores for run in runs), seed
        assert f"copied to a new store: {len(got)} call" in said or not got, seed


def test_a_log_beside_the_file_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    row = {"id": "r", "question": "What?", "response": "It is one.", "contexts": ["It is."]}
    run = api.evaluate([row], WHOLE, ScriptedJudge({"response_support": "2"}), store=path)
    data, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    calls = {key: run.store.call(key) for key in run.store.call_keys()}
    run.store.close()
    place = tmp_path / "place"
    place.mkdir()
    said, got, _ = recovered(data, place, log)
    assert got == calls
    assert said == "copied to a new store: 1 call, 1 of 1 run, 1 result; the rest will be asked again"


def test_a_run_is_copied_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """Not with a result or a score missing or changed, and not without its end; the runs around it are."""
    path = tmp_path / "s.db"
    rows = [{"id": f"r{n}", "question": "What?", "response": f"It is {n}.", "contexts": ["It is."]} for n in range(3)]
    for name in ("whole", "no score", "no result", "other score", "not ended", "unreadable", "also whole"):
        judge = ScriptedJudge({"response_support": "2"})
        api.evaluate(rows, WHOLE, judge, store=path, name=name).store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM scores WHERE run = 2 AND position = 3")
        connection.execute("DELETE FROM results WHERE run = 3 AND position = 3")
        connection.execute("UPDATE scores SET value = 0.25 WHERE run = 4 AND position = 2")
        connection.execute("UPDATE runs SET summary = NULL WHERE id = 5")
        connection.execute("UPDATE runs SET spec = x'0011' WHERE id = 6")
        connection.execute("UPDATE calls SET reply = x'0011' WHERE rowid = 2")
    with Store(path) as store:
        said = store.put_aside()
    (aside,) = tmp_path.glob("s.db.damaged-????????-??????")
    copied = "copied to a new store: 2 calls, 2 of 7 runs, 6 results; the rest will be asked again"
    assert said == f"it was moved aside to {aside}; {copied}"
    with Store(path) as store:
        assert [run.name for run in store.runs()] == ["whole", "also whole"]
        assert [store.count(run.id) for run in store.runs()] == [3, 3]


def test_an_older_store_is_recovered_too(sound: Any, tmp_path: Path) -> None:
    """Its tables lack columns that this version has."""
    path = tmp_path / "s.db"
    path.write_bytes(sound[0])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE scores DROP COLUMN repeats")
        connection.execute("PRAGMA user_version = 1")
    place = tmp_path / "place"
    place.mkdir()
    assert recovered(settled(path), place)[1:] == sound[1:]


@pytest.mark.parametrize("data", [b"", b"\0", b"SQLite format 3\0", b"no database " * 1000, bytes(100_000)])
def test_a_file_that_is_no_store_has_nothing_to_copy(data: bytes, tmp_path: Path) -> None:
    assert recovered(data, tmp_path)[:2] == ("nothing could be recovered; every call will be made again", {})

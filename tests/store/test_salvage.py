"""What is saved of a damaged store: every call that is whole, nothing that is not, and the rest is told."""

from __future__ import annotations

import random
import re
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone import api
from ragstone.store.database import CallRow, Store
from ragstone.store.rows import call_key
from ragstone.store.salvage import Saved, save
from ragstone.testing import ScriptedJudge

WHOLE = "response_groundedness"
Stretch = tuple[int, int]
Calls = dict[bytes, CallRow]


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
        for n in range(150)
    ]
    path = tmp_path_factory.mktemp("sound") / "s.db"
    api.evaluate(rows, WHOLE, ScriptedJudge({"response_support": "2"}), store=path).store.close()
    return settled(path), *held(path)


def settled(path: Path) -> bytes:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.read_bytes()


def held(path: Path) -> tuple[Calls, list[Any]]:
    with Store(path) as store:
        calls = {key: store.call(key) for key in store.call_keys()}
        return {key: call for key, call in calls.items() if call}, [list(store.scores(run.id)) for run in store.runs()]


def salvaged(data: bytes, place: Path, log: bytes = b"") -> tuple[Saved, Calls, list[Any]]:
    damaged, into = place / "damaged.db", place / "new.db"
    for path in place.glob("*.db*"):
        path.unlink()
    damaged.write_bytes(data)
    if log:
        Path(f"{damaged}-wal").write_bytes(log)
    with Store(into) as store:
        saved = save(str(damaged), store._writer, store._unpacked, store._frame)
    assert damaged.read_bytes() == data
    return saved, *held(into)


def places(data: bytes) -> dict[bytes, tuple[int, list[Stretch]]]:
    """Where the file has each call, read by the tree of its pages: the number and the bytes that it stands in."""
    found = {}

    def number(at: int) -> tuple[int, int]:
        value = 0
        while True:
            value, at = value << 7 | data[at] & 127, at + 1
            if data[at - 1] < 128:
                return value, at

    def leaf(at: int) -> None:
        length, begin = number(at)
        row, begin = number(begin)
        least, most = (4096 - 12) * 32 // 255 - 23, 4096 - 35
        here = least + (length - least) % (4096 - 4)
        here = length if length <= most else here if here <= most else least
        stretches, left = [(at, begin + here + (4 if here < length else 0))], length - here
        at = begin + here
        while left:
            start = (int.from_bytes(data[at : at + 4]) - 1) * 4096
            stretches.append((start, start + 4 + min(left, 4092)))
            at, left = start, left - min(left, 4092)
        head = begin + data[begin]
        found[data[head : head + 16]] = (row, stretches)

    def walk(page: int) -> None:
        start = (page - 1) * 4096
        kind, count = data[start], struct.unpack(">H", data[start + 3 : start + 5])[0]
        inner = 12 if kind == 5 else 8
        for cell in struct.unpack(f">{count}H", data[start + inner : start + inner + 2 * count]):
            if kind == 13:
                leaf(start + cell)
            else:
                walk(int.from_bytes(data[start + cell : start + cell + 4]))
        if kind == 5:
            walk(int.from_bytes(data[start + 8 : start + 12]))

    connection = sqlite3.connect(":memory:")
    connection.deserialize(data[:18] + b"\1\1" + data[20:])  # not in write-ahead mode: it is in memory
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'calls'").fetchone()
    connection.close()
    walk(root)
    return found


# ---- damages: the bytes that a file then has, which stretches of it were changed, and where each byte went


def flipped(data: bytearray, made: random.Random) -> list[Stretch]:
    hits = [made.randrange(len(data)) for _ in range(made.randrange(1, 60))]
    for hit in hits:
        data[hit] ^= 1 << made.randrange(8)
    return [(hit, hit + 1) for hit in hits]


def overwritten(data: bytearray, made: random.Random) -> list[Stretch]:
    hits = []
    for _ in range(made.randrange(1, 6)):
        start, length = made.randrange(len(data)), made.choice((10, 512, 4096, 30_000))
        stop = min(len(data), start + length)
        filling = made.choice((b"\0", b"\xee", made.randbytes(1)))
        data[start:stop] = filling * (stop - start)
        hits.append((start, stop))
    return hits


def pages_gone(data: bytearray, made: random.Random) -> list[Stretch]:
    hits = [(page * 4096, page * 4096 + 4096) for page in made.sample(range(len(data) // 4096), made.randrange(1, 40))]
    for start, stop in hits:
        data[start:stop] = bytes(4096)
    return hits


def torn(data: bytearray, made: random.Random) -> list[Stretch]:
    whole, left = len(data), made.randrange(len(data))
    del data[left:]
    return [(left, whole)]


def cut(data: bytearray, made: random.Random) -> list[Stretch]:
    start = made.randrange(100, len(data))
    stop = min(len(data), start + made.randrange(1, 40_000))
    del data[start:stop]
    return [(start, stop)]


def doubled(data: bytearray, made: random.Random) -> list[Stretch]:
    start = made.randrange(100, len(data))
    stop = min(len(data), start + made.choice((1, 100, 4096, 20_000)))
    data[stop:stop] = data[start:stop]
    return [(stop, stop)]


DAMAGES: list[Callable[[bytearray, random.Random], list[Stretch]]]
DAMAGES = [flipped, overwritten, pages_gone, torn, cut, doubled]


def hurt(stretches: list[Stretch], hits: list[Stretch]) -> bool:
    return any(
        (start < to and begin < stop) or (begin == to and start < begin < stop)
        for start, stop in stretches
        for begin, to in hits
    )


@pytest.mark.parametrize("damage", DAMAGES)
def test_all_that_is_whole_is_saved_and_nothing_else(
    damage: Callable[[bytearray, random.Random], list[Stretch]], sound: Any, tmp_path: Path
) -> None:
    """Whatever happened to the file: no crash, no call or score that is not as it was, no whole call missing."""
    before, calls, scores = sound
    where = places(before)
    assert where.keys() == calls.keys()
    for seed in range(12):
        made = random.Random(f"{damage.__name__}{seed}")
        data = bytearray(before)
        hits = damage(data, made)
        if damage in (overwritten, pages_gone) and made.random() < 0.5:
            hits += flipped(data, made)
        saved, got, runs = salvaged(bytes(data), tmp_path)
        assert all(calls[key] == call for key, call in got.items()), seed
        assert all(run in scores for run in runs), seed
        whole = [key for key in calls if not hurt(where[key][1], hits)]
        assert got.keys() >= set(whole), seed
        if not any(hurt([(stretches[0][0], stretches[0][0] + 8)], hits) for _, stretches in where.values()):
            assert list(got) == [key for key in calls if key in got], seed  # their numbers are as they were
        assert (saved.calls, saved.runs) == (len(got), len(runs))
        lost = {where[key][0] for key in calls.keys() - got.keys()}
        assert lost.issuperset(saved.lost), seed
        assert saved.unknown <= len(lost) - len(saved.lost), seed
        assert saved.short == (hits[0][1] - hits[0][0] if damage in (torn, cut) and len(data) >= 100 else 0)


def test_calls_between_two_damaged_places_are_saved_and_the_lost_are_told(sound: Any, tmp_path: Path) -> None:
    """By the numbers that they had; the run that is whole stays."""
    before, calls, scores = sound
    where = places(before)
    gone = [3, 4, 5, 60, 61, 120, 140, 141, 149]
    data = bytearray(before)
    for row, stretches in where.values():
        if row in gone:
            start, stop = stretches[0]
            data[start + 10 : stop] = bytes(stop - start - 10)
    saved, got, runs = salvaged(bytes(data), tmp_path)
    assert list(got) == [key for key in calls if where[key][0] not in gone]
    assert runs == scores
    assert (saved.lost, saved.unknown, saved.short) == (gone, 0, 0)
    assert str(saved) == "141 calls and 1 run"
    assert saved.losses() == ("9 calls could not be read (numbers 3 to 5, numbers 60 to 61, number 120, 2 more places)")


def test_a_torn_file_tells_how_much_it_lacks(sound: Any, tmp_path: Path) -> None:
    """And that more calls than it still names may be lost."""
    before, calls, _ = sound
    left = len(before) // 5
    saved, got, _ = salvaged(before[:left], tmp_path)
    assert 0 < len(saved.lost) <= len(calls) - len(got)
    assert f"the file lacks {len(before) - left:,} bytes at its end; at least " in saved.losses()


def test_the_first_pages_may_be_gone(sound: Any, tmp_path: Path) -> None:
    """Without the file's head and list of tables there are still its calls."""
    before, calls, _ = sound
    where = places(before)
    saved, got, runs = salvaged(bytes(8192) + before[8192:], tmp_path)
    assert got.keys() == {key for key, (_, stretches) in where.items() if not hurt(stretches, [(0, 8192)])}
    assert len(got) > len(calls) - 10
    assert (saved.calls, runs) == (len(got), [])


def test_a_log_beside_the_file_is_read_too(tmp_path: Path) -> None:
    """Calls that are in the log alone, beside a file of which nothing is left."""
    path = tmp_path / "s.db"
    rows = [
        {
            "id": f"r{n}",
            "question": "What?",
            "response": f"It is {n}.",
            "contexts": [random.Random(n).randbytes(k).hex()],
        }
        for n, k in enumerate((10, 3000, 20_000))
    ]
    run = api.evaluate(rows, WHOLE, ScriptedJudge({"response_support": "2"}), store=path)
    log = Path(f"{path}-wal").read_bytes()
    calls = {key: run.store.call(key) for key in run.store.call_keys()}
    run.store.close()
    other = tmp_path / "other"
    other.mkdir()
    _, got, _ = salvaged(bytes(8192), other, log)
    assert got == calls


def test_a_call_may_begin_in_the_log_and_go_on_in_the_file(tmp_path: Path) -> None:
    """Its page was written anew for a call beside it, and is gone from the file; its chain of pages was not."""
    large, small = (made(n, size) for n, size in ((1, 40_000), (2, 10)))
    path = tmp_path / "s.db"
    stored(path, [large], at=0)
    data = bytearray(settled(path))
    with Store(path) as store:
        store.begin()
        store.insert([small], [])
        store.commit()
        log = Path(f"{path}-wal").read_bytes()
    page = data.index(large.key + b"jsupport") // 4096 * 4096
    data[page : page + 4096] = bytes(4096)
    place = tmp_path / "place"
    place.mkdir()
    saved, got, _ = salvaged(bytes(data), place, log)
    assert got == {large.key: large, small.key: small}
    assert saved.losses() == ""


def made(number: int, size: int, reply: int = 1) -> CallRow:
    request = b'{"text":"' + random.Random(number).randbytes(size).hex().encode() + b'"}'
    return CallRow(call_key("j", "p", 0, request), "j", "support", "p", request, b'{"n":%d}' % reply)


def test_calls_of_every_size_are_saved_and_none_is_said_to_be_lost(tmp_path: Path) -> None:
    """From one that is all in a few bytes to one of many pages, over all that a page may be left with."""
    calls = [made(n, size) for n, size in enumerate((*range(0, 40, 3), *range(1800, 2200, 2), 9000, 90_000))]
    path = tmp_path / "s.db"
    for first in range(0, len(calls), 20):
        stored(path, calls[first : first + 20], at=0)
    place = tmp_path / "place"
    place.mkdir()
    saved, got, _ = salvaged(settled(path), place)
    assert list(got.values()) == calls
    assert (saved.losses(), saved.unknown) == ("", 0)


def stored(path: Path, calls: list[CallRow], *, at: float) -> None:
    with Store(path) as store:
        store.begin()
        store.insert(calls, [], since=at)
        store.commit()


def test_of_a_call_that_was_asked_anew_the_later_reply_is_saved(tmp_path: Path) -> None:
    """Also where the bytes of the earlier one are still in the file."""
    old, new = (made(1, 9000, reply) for reply in (1, 2))
    path = tmp_path / "s.db"
    stored(path, [old], at=0)
    image = settled(path)
    stored(path, [new], at=1e12)
    place = tmp_path / "place"
    place.mkdir()
    for data in (settled(path) + image, image + settled(path)):
        _, got, _ = salvaged(data, place)
        assert got == {new.key: new}


def test_a_call_under_another_key_and_a_score_unlike_its_document_are_not_saved(sound: Any, tmp_path: Path) -> None:
    """Nothing in SQLite tells that they are damaged."""
    before, calls, _ = sound
    path = tmp_path / "s.db"
    path.write_bytes(before)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE calls SET key = x'00112233445566778899aabbccddeeff' WHERE rowid = 7")
        connection.execute("UPDATE calls SET judge = 'other' WHERE rowid = 8")
        connection.execute("UPDATE scores SET value = 0.0 WHERE position = 9")
    connection.close()
    place = tmp_path / "place"
    place.mkdir()
    saved, got, runs = salvaged(settled(path), place)
    assert list(got) == [key for n, key in enumerate(calls, 1) if n not in (7, 8)]
    assert saved.lost == [7, 8]
    assert runs == []
    assert re.search(r"1 run of 1 had not ended or could not be read as a whole", saved.losses())


def test_a_run_behind_a_damaged_one_is_saved(tmp_path: Path) -> None:
    """The list of runs is read from both ends, and in between number by number."""
    path = tmp_path / "s.db"
    for n in range(5):
        row = {"id": "r", "question": "What?", "response": f"It is {n}.", "contexts": ["It is."]}
        made = ScriptedJudge({"response_support": "2"})
        api.evaluate([row], WHOLE, made, store=path, name=f"v{n}" + f"{n}" * 2200).store.close()
    data = bytearray(settled(path))
    for n in (1, 3):  # each has a page to itself
        page = data.index(f"v{n}".encode() + f"{n}".encode() * 50) // 4096 * 4096
        data[page : page + 4096] = b"\xee" * 4096
    place = tmp_path / "place"
    place.mkdir()
    saved, got, runs = salvaged(bytes(data), place)
    with Store(place / "new.db") as store:
        assert [run.name[:2] for run in store.runs()] == ["v0", "v2", "v4"]
    assert (len(got), len(runs), saved.named_runs) == (5, 3, 5)


@pytest.mark.parametrize("data", [b"", b"\0", b"SQLite format 3\0", b"no database " * 1000, bytes(100_000)])
def test_a_file_that_is_no_store_has_nothing_to_save(data: bytes, tmp_path: Path) -> None:
    """And nothing that would be known to be lost."""
    saved, got, _ = salvaged(data, tmp_path)
    assert (got, str(saved), saved.losses()) == ({}, "", "")

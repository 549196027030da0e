"""A damaged store: its file gets another name, and what can be read of it is saved.

Promises: the damaged file stays as it is; a call is saved by itself, a run only as a whole, and nothing that does not
unpack; the same commands as before then pay only for what was lost.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from ragstone.errors import StoreError

_GROUP: Final = 1000
"""Calls that are written in one go."""
_CALLS: Final = "SELECT rowid, key, judge, task, maker, request, reply, at FROM calls WHERE rowid > ? ORDER BY rowid"
_CALL: Final = (
    "INSERT OR IGNORE INTO calls (rowid, key, judge, task, maker, request, reply, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT: Final = "INSERT INTO {} VALUES ({})"
_TORN: Final = (sqlite3.Error, StoreError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""What reading damaged rows may come to."""


@dataclass(slots=True)
class Saved:
    """How many calls and runs could be saved."""

    calls: int = 0
    runs: int = 0

    def __str__(self) -> str:
        counts = ((self.calls, "call"), (self.runs, "run"))
        return " and ".join(f"{count:,} {what}{'' if count == 1 else 's'}" for count, what in counts if count)


def move_aside(path: str) -> str:
    """Give a store's file, with what lies beside it, a name that is free, and return that; OSError if it cannot be."""
    aside = first = f"{path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    number = 1
    while os.path.exists(aside):  # noqa: PTH110 - the path is a string with a suffix, not a Path
        number += 1
        aside = f"{first}-{number}"
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):  # noqa: PTH110 - as above
            os.replace(path + suffix, aside + suffix)  # noqa: PTH105 - as above
    return aside


def save(damaged: str, into: sqlite3.Connection, unpacked: Callable[[bytes], bytes]) -> Saved:
    """Copy what can be read of a damaged file into a store of this version; sqlite3.Error where that cannot write."""
    saved = Saved()
    # Without a log there is nothing beside the file to be made or changed by looking at it.
    how = "mode=ro" if os.path.exists(f"{damaged}-wal") else "mode=ro&immutable=1"  # noqa: PTH110 - as above
    with contextlib.closing(sqlite3.connect(f"{Path(damaged).resolve().as_uri()}?{how}", uri=True)) as old:
        with contextlib.suppress(sqlite3.Error):
            old.execute("PRAGMA writable_schema = ON")  # a file that was cut off is read as far as it goes
        group: list[tuple[Any, ...]] = []
        for row in _calls(old, unpacked):
            group.append(row)
            if len(group) == _GROUP:
                saved.calls += _written(into, group)
                group.clear()
        saved.calls += _written(into, group)
        for number in _runs(old, into):
            saved.runs += _run(old, into, number, unpacked)
    return saved


def _calls(old: sqlite3.Connection, unpacked: Callable[[bytes], bytes]) -> Iterator[tuple[Any, ...]]:
    """The calls from the first on as far as they can be read, then from the last on back."""
    last = 0
    for order in ("", " DESC"):
        with contextlib.suppress(sqlite3.Error, UnicodeError):
            for row in old.execute(_CALLS + order, (last,)):
                last = row[0] if not order else last
                if _is_call(row, unpacked):
                    yield row
            return


def _is_call(row: tuple[Any, ...], unpacked: Callable[[bytes], bytes]) -> bool:
    try:
        _, key, *texts, request, reply, at = row
        orjson.loads(unpacked(request))
        whole = isinstance(orjson.loads(unpacked(reply)), dict) and len(key) == 16 and isinstance(at, float)
        return whole and all(isinstance(text, str) for text in texts)
    except _TORN:
        return False


def _written(into: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> int:
    into.execute("BEGIN IMMEDIATE")
    count = into.executemany(_CALL, rows).rowcount
    into.execute("COMMIT")
    return max(0, count)


def _runs(old: sqlite3.Connection, into: sqlite3.Connection) -> list[int]:
    """The runs of which there is a row, if the tables are as they are now."""
    (version,) = into.execute("PRAGMA user_version").fetchone()
    numbers: list[int] = []
    with contextlib.suppress(sqlite3.Error):
        if old.execute("PRAGMA user_version").fetchone() == (version,):
            for (number,) in old.execute("SELECT id FROM runs ORDER BY id"):
                numbers.append(number)
    return numbers


def _run(old: sqlite3.Connection, into: sqlite3.Connection, number: int, unpacked: Callable[[bytes], bytes]) -> bool:
    """Save a run that ended, with its results and scores, if all of it can be read."""
    into.execute("BEGIN IMMEDIATE")
    try:
        for table, row in _rows(old, number, unpacked):
            into.execute(_INSERT.format(table, ", ".join("?" * len(row))), row)
    except _TORN:
        into.execute("ROLLBACK")
        return False
    into.execute("COMMIT")
    return True


def _rows(
    old: sqlite3.Connection, number: int, unpacked: Callable[[bytes], bytes]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The rows of a run with their tables; one of ``_TORN`` where any is missing or damaged."""
    (run,) = old.execute("SELECT * FROM runs WHERE id = ?", (number,)).fetchall()
    orjson.loads(unpacked(run[5]))
    summary = orjson.loads(unpacked(run[6]))
    yield "runs", run
    count = 0
    for result in old.execute("SELECT * FROM results WHERE run = ? ORDER BY position", (number,)):
        scores = old.execute("SELECT * FROM scores WHERE run = ? AND position = ?", (number, result[1])).fetchall()
        if len(scores) != len(orjson.loads(unpacked(result[3]))["scores"]):
            raise ValueError("a score is missing")
        yield "results", result
        yield from (("scores", score) for score in scores)
        count += 1
    if count != summary["records"]:
        raise ValueError("a result is missing")

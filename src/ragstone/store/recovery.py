"""Move a damaged store aside and copy to a new one what SQLite still reads of it.

Promises: the damaged file stays as it is; a call is copied if the checksums of its request and reply hold, a run only
with all of its results and scores, because a run that lacks some would show other means.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from ragstone.stats.means import rounded

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_GROUP: Final = 1000
"""Calls that are copied in one commit."""
_PATIENCE: Final = 20_000
"""Rows in a row that cannot be read, until the rest of a table is given up."""
_UNREADABLE: Final = (sqlite3.Error, zstd.ZstdError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""What reading damaged rows may raise."""

_RESULTS: Final = "SELECT * FROM results WHERE run = ? ORDER BY position"
_SCORES: Final = "SELECT * FROM scores WHERE run = ? AND position = ?"

Row = Mapping[str, Any]


def move_aside(path: str) -> str:
    """Rename a store's file, with what lies beside it, to a free name and return that; OSError if that fails."""
    aside = first = f"{path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    number = 1
    while os.path.exists(aside):  # noqa: PTH110 - the path is a string with a suffix, not a Path
        number += 1
        aside = f"{first}-{number}"
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):  # noqa: PTH110 - as above
            os.replace(path + suffix, aside + suffix)  # noqa: PTH105 - as above
    return aside


def recover(damaged: str, into: sqlite3.Connection) -> str:
    """Copy the readable calls and whole runs of a damaged file to a new store; return what was copied, in words.

    sqlite3.Error where the new store cannot be written.
    """
    with contextlib.closing(_opened(damaged, into)) as old:
        calls = _copy_calls(old, into)
        found = [_copy_run(old, into, run) for run in _readable(old, "runs")]
    whole = [results for results in found if results is not None]
    if not calls and not found:
        return "nothing could be recovered; every call will be made again"
    runs, results = f"{len(whole):,} of {_count(len(found), 'run')}", _count(sum(whole), "result")
    return f"copied to a new store: {_count(calls, 'call')}, {runs}, {results}; the rest will be asked again"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _opened(damaged: str, into: sqlite3.Connection) -> sqlite3.Connection:
    """The damaged file, for reading; where its first page is gone, a copy in memory with the first page of a new store.

    Its tables begin at the same pages, because every store is made by the same statements in the same order.
    """
    # Without a log there is nothing beside the file to be made or changed by looking at it.
    how = "mode=ro" if os.path.exists(f"{damaged}-wal") else "mode=ro&immutable=1"  # noqa: PTH110 - as above
    old = sqlite3.connect(f"{Path(damaged).resolve().as_uri()}?{how}", uri=True)
    try:
        old.execute("PRAGMA writable_schema = ON")  # a file that was cut off is read as far as it goes
        old.execute("SELECT * FROM calls LIMIT 0")
    except sqlite3.Error:
        old.close()
        old = sqlite3.connect(":memory:")
        (size,) = into.execute("PRAGMA page_size").fetchone()
        data = bytearray(Path(damaged).read_bytes())
        pages = max(1, len(data) // size)
        data[:size] = into.serialize()[:size]
        data[18:20] = b"\1\1"  # no log: it is in memory
        data[28:32] = pages.to_bytes(4, "big")
        old.deserialize(bytes(data[: pages * size]))
        old.execute("PRAGMA writable_schema = ON")
    old.row_factory = sqlite3.Row
    return old


def _readable(old: sqlite3.Connection, table: str) -> Iterator[Row]:
    """The rows of a table that can be read, in the order of their numbers; each of the others is stepped over."""
    query = f"SELECT rowid AS number, {table}.* FROM {table} WHERE rowid > ? ORDER BY rowid"
    last, failed = 0, 0
    while failed < _PATIENCE:
        try:
            for row in old.execute(query, (last,)):
                last, failed = max(last, row["number"]), 0
                yield {name: row[name] for name in row.keys()[1:]}
        except (sqlite3.Error, OverflowError):
            last, failed = last + 1, failed + 1
        else:
            return


def _copy_calls(old: sqlite3.Connection, into: sqlite3.Connection) -> int:
    """Copy the calls whose request and reply are whole; how many they were."""
    calls, copied = filter(_is_whole, _readable(old, "calls")), 0
    while group := list(itertools.islice(calls, _GROUP)):
        into.execute("BEGIN IMMEDIATE")
        copied += _insert(into, "calls", group, "OR IGNORE")
        into.execute("COMMIT")
    return copied


def _is_whole(call: Row) -> bool:
    try:
        zstd.decompress(call["request"])
        return isinstance(orjson.loads(zstd.decompress(call["reply"])), dict)
    except _UNREADABLE:
        return False


def _copy_run(old: sqlite3.Connection, into: sqlite3.Connection, run: Row) -> int | None:
    """Copy a run that ended, if all of it can be read; how many results it has, None where it is left out."""
    into.execute("BEGIN IMMEDIATE")
    try:
        orjson.loads(zstd.decompress(run["spec"]))
        records = orjson.loads(zstd.decompress(run["summary"]))["records"]
        _insert(into, "runs", [run])
        results = sum(_copy_result(old, into, row) for row in old.execute(_RESULTS, (run["id"],)))
        if not results or results != records:  # one that the damage ended may have none
            raise ValueError("a result is missing")
    except _UNREADABLE:
        into.execute("ROLLBACK")
        return None
    into.execute("COMMIT")
    return results


def _copy_result(old: sqlite3.Connection, into: sqlite3.Connection, row: sqlite3.Row) -> int:
    """Copy a result with its scores; ValueError where these, which have no checksum, differ from its document."""
    result = dict(row)
    document = orjson.loads(zstd.decompress(result["document"]))
    scores = [dict(score) for score in old.execute(_SCORES, (result["run"], result["position"]))]
    told = {(score["metric"], score["value"], score["status"]) for score in document["scores"]}
    kept = {(score["metric"], rounded(score["value"]), score["status"]) for score in scores}
    if document["position"] != result["position"] or told != kept:
        raise ValueError("a score is missing, or differs from its document")
    _insert(into, "results", [result])
    _insert(into, "scores", scores)
    return 1


def _insert(into: sqlite3.Connection, table: str, rows: Sequence[Row], conflict: str = "") -> int:
    """Add rows by the names of their columns, as an older store may lack some; how many were new."""
    if not rows:
        return 0
    names = list(rows[0])
    marks = ", ".join("?" * len(names))
    statement = f"INSERT {conflict} INTO {table} ({', '.join(names)}) VALUES ({marks})"
    return into.executemany(statement, [[row[name] for name in names] for row in rows]).rowcount

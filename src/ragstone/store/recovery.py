"""Move a damaged store aside and copy what SQLite can still read of it to a new one.

Guarantees: the damaged file is not changed. A call is copied if the checksums of its request and reply match, a run
only with all of its results and scores, because an incomplete run would show different means. Batches are copied, too.
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
"""Calls copied per commit."""
_PATIENCE: Final = 20_000
"""Consecutive unreadable rows after which the rest of a table is skipped."""
_UNREADABLE: Final = (sqlite3.Error, zstd.ZstdError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""Errors that reading damaged rows may raise."""

_RESULTS: Final = "SELECT * FROM results WHERE run = ? ORDER BY position"
_SCORES: Final = "SELECT * FROM scores WHERE run = ? AND position = ?"

Row = Mapping[str, Any]


def move_aside(path: str) -> str:
    """Rename a store's file and the files beside it to a free name and return it; raise OSError if that fails."""
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
    """Copy the readable calls and complete runs of a damaged file to a new store; return what was copied, in words.

    Raises sqlite3.Error if the new store cannot be written.
    """
    with contextlib.closing(_opened(damaged, into)) as old:
        calls = _copy_rows(into, "calls", filter(_is_whole, _readable(old, "calls")))
        batches = _copy_batches(old, into)
        _copy_rows(into, "kept_calls", _until_damage(old, "kept_calls"))
        found = [_copy_run(old, into, run) for run in _readable(old, "runs")]
    whole = [results for results in found if results is not None]
    if not calls and not found and not batches:
        return "nothing could be recovered; every call will be made again"
    runs, results = f"{len(whole):,} of {_count(len(found), 'run')}", _count(sum(whole), "result")
    return f"copied to a new store: {_count(calls, 'call')}, {runs}, {results}; the rest will be asked again"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _opened(damaged: str, into: sqlite3.Connection) -> sqlite3.Connection:
    """Open the damaged file for reading; if its first page is lost, an in-memory copy with that of a new store.

    Its tables start at the same pages, because every store is created by the same statements in the same order.
    """
    # Without a log, reading does not create or change anything beside the file.
    how = "mode=ro" if os.path.exists(f"{damaged}-wal") else "mode=ro&immutable=1"  # noqa: PTH110 - as above
    old = sqlite3.connect(f"{Path(damaged).resolve().as_uri()}?{how}", uri=True)
    try:
        old.execute("PRAGMA writable_schema = ON")  # a truncated file is read to its end
        old.execute("SELECT * FROM calls LIMIT 0")
    except sqlite3.Error:
        old.close()
        old = sqlite3.connect(":memory:")
        (size,) = into.execute("PRAGMA page_size").fetchone()
        data = bytearray(Path(damaged).read_bytes())
        pages = max(1, len(data) // size)
        data[:size] = into.serialize()[:size]
        data[18:20] = b"\1\1"  # no log in memory
        data[28:32] = pages.to_bytes(4, "big")
        old.deserialize(bytes(data[: pages * size]))
        old.execute("PRAGMA writable_schema = ON")
    old.row_factory = sqlite3.Row
    return old


def _readable(old: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Yield the readable rows of a table in the order of their numbers, skipping the others."""
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


def _until_damage(old: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Yield the rows of a table without numbers up to the first unreadable one."""
    with contextlib.suppress(sqlite3.Error):
        for row in old.execute(f"SELECT * FROM {table}"):
            yield dict(row)


def _copy_rows(into: sqlite3.Connection, table: str, rows: Iterator[Row]) -> int:
    """Copy rows in groups, unless they are there already; return their number."""
    copied = 0
    while group := list(itertools.islice(rows, _GROUP)):
        into.execute("BEGIN IMMEDIATE")
        copied += _insert(into, table, group, "OR IGNORE")
        into.execute("COMMIT")
    return copied


def _copy_batches(old: sqlite3.Connection, into: sqlite3.Connection) -> int:
    """Copy the batches with their intact calls, so that these are collected instead of sent again; return how many."""
    batches = {row["id"]: row for row in _readable(old, "batches") if _is_whole(row, "spec")}
    copied = _copy_rows(into, "batches", iter(batches.values()))
    for table, blobs in (("batch_calls", ("request", "spent")), ("batch_tries", ())):
        rows = (row for row in _readable(old, table) if row["batch"] in batches)
        _copy_rows(into, table, (row for row in rows if all(_is_whole(row, name) for name in blobs if row.get(name))))
    return copied


def _is_whole(row: Row, *columns: str) -> bool:
    """Return whether the checksums of these columns match (by default, those of a call, whose reply is an object)."""
    try:
        found = [zstd.decompress(row[name]) for name in columns or ("request", "reply")]
        return bool(columns) or isinstance(orjson.loads(found[-1]), dict)
    except _UNREADABLE:
        return False


def _copy_run(old: sqlite3.Connection, into: sqlite3.Connection, run: Row) -> int | None:
    """Copy a finished run if all of it can be read; return its number of results, or None if it is left out."""
    into.execute("BEGIN IMMEDIATE")
    try:
        orjson.loads(zstd.decompress(run["spec"]))
        records = orjson.loads(zstd.decompress(run["summary"]))["records"]
        _insert(into, "runs", [run])
        results = sum(_copy_result(old, into, row) for row in old.execute(_RESULTS, (run["id"],)))
        if not results or results != records:  # a run ended by the damage may have none
            raise ValueError("a result is missing")
    except _UNREADABLE:
        into.execute("ROLLBACK")
        return None
    into.execute("COMMIT")
    return results


def _copy_result(old: sqlite3.Connection, into: sqlite3.Connection, row: sqlite3.Row) -> int:
    """Copy a result with its scores; raise ValueError if these, which have no checksum, differ from its document."""
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
    """Insert rows by column name, since an older store may lack some columns; return how many were new."""
    if not rows:
        return 0
    names = list(rows[0])
    marks = ", ".join("?" * len(names))
    statement = f"INSERT {conflict} INTO {table} ({', '.join(names)}) VALUES ({marks})"
    return into.executemany(statement, [[row[name] for name in names] for row in rows]).rowcount

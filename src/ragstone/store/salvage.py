"""A damaged store: its file gets another name, and what can be read of it is saved.

Promises: the damaged file stays as it is; every call that is whole is saved, wherever the damage is, and a run only as
a whole; what agrees with its key, its sums or its scores alone counts as whole; what was lost is told, as far as the
file still names it. The same commands as before then pay only for what was lost.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from ragstone.errors import StoreError
from ragstone.store.carving import Carved, Found, carve

_GROUP: Final = 1000
"""Calls that are written in one go."""
_PLACES: Final = 3
"""Places of lost calls that are told one by one."""
_LAST_RUN: Final = ("SELECT max(id) FROM runs", "SELECT max(run) FROM results", "SELECT max(run) FROM scores")
_MOST_RUNS: Final = 100_000
"""Numbers of runs that are tried: one by one, for a list of them breaks off where it is damaged."""
_OLDER: Final = "DELETE FROM calls WHERE key = ? AND at < ?"
# A number that is taken (by another process, or because one of two is damaged) is left to SQLite to choose.
_CALL: Final = (
    "INSERT OR IGNORE INTO calls (rowid, key, judge, task, maker, request, reply, at)"
    " VALUES ((SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM calls WHERE rowid = ?1)), ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
)
_INSERT: Final = "INSERT INTO {} VALUES ({})"
_TORN: Final = (sqlite3.Error, StoreError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""What reading damaged rows may come to."""


@dataclass(slots=True)
class Saved:
    """How many calls and runs were saved, and what is known of those that were not.

    ``lost`` are the numbers of calls that the file names and does not hold; ``unknown`` is how many more calls before
    the last that was saved there is no trace of: lost, or deleted before. ``short`` is how many bytes the file lacks at
    its end; ``named_runs`` counts the runs that were in the list.
    """

    calls: int = 0
    runs: int = 0
    lost: Sequence[int] = ()
    unknown: int = 0
    named_runs: int = 0
    short: int = 0

    def __bool__(self) -> bool:
        return bool(self.calls or self.runs)

    def __str__(self) -> str:
        return " and ".join(_count(count, what) for count, what in ((self.calls, "call"), (self.runs, "run")) if count)

    def losses(self) -> str:
        """What was lost and where, in words; empty where nothing is known to be."""
        parts = []
        if self.short:
            parts.append(f"the file lacks {_count(self.short, 'byte')} at its end")
        if self.lost:
            # A part of the index that is gone, too, named others.
            least = "at least " if self.short or self.unknown else ""
            parts.append(f"{least}{_count(len(self.lost), 'call')} could not be read ({_places(self.lost)})")
        if self.unknown:
            parts.append(f"of {_count(self.unknown, 'more call')} nothing is left, or they had been deleted")
        if left := self.named_runs - self.runs:
            parts.append(f"{_count(left, 'run')} of {self.named_runs:,} had not ended or could not be read as a whole")
        return "; ".join(parts)


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _places(numbers: Sequence[int]) -> str:
    """Numbers of calls as stretches: number 4, numbers 7 to 19, and 3 more places."""
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and number == stretches[-1][-1] + 1:
            stretches[-1] = [stretches[-1][0], number]
        else:
            stretches.append([number])
    told = [
        f"number {first:,}" if first == last else f"numbers {first:,} to {last:,}"
        for first, last in ((stretch[0], stretch[-1]) for stretch in stretches[:_PLACES])
    ]
    more = len(stretches) - _PLACES
    return ", ".join([*told, *([_count(more, "more place")] if more > 0 else [])])


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


def save(
    damaged: str, into: sqlite3.Connection, unpacked: Callable[[bytes], bytes], packed: Callable[[bytes], bytes]
) -> Saved:
    """Copy what can be read of a damaged file into a store of this version; sqlite3.Error where that cannot write."""
    saved = Saved()
    with contextlib.suppress(OSError):
        _save_calls(damaged, into, unpacked, packed, saved)
    # Without a log there is nothing beside the file to be made or changed by looking at it.
    how = "mode=ro" if os.path.exists(f"{damaged}-wal") else "mode=ro&immutable=1"  # noqa: PTH110 - as above
    with contextlib.closing(sqlite3.connect(f"{Path(damaged).resolve().as_uri()}?{how}", uri=True)) as old:
        with contextlib.suppress(sqlite3.Error):
            old.execute("PRAGMA writable_schema = ON")  # a file that was cut off is read as far as it goes
        for number in _runs(old, into):
            named, whole = _run(old, into, number, unpacked)
            saved.named_runs += named
            saved.runs += whole
    return saved


def _save_calls(
    damaged: str,
    into: sqlite3.Connection,
    unpacked: Callable[[bytes], bytes],
    packed: Callable[[bytes], bytes],
    saved: Saved,
) -> None:
    """Save each call once, as the latest that is whole; in the order that they had."""
    seen = Carved()
    numbers: dict[bytes, int] = {}
    times: dict[bytes, float] = {}

    def wanted() -> Iterator[Found]:
        for found in carve(damaged, unpacked, seen):
            if found.at > times.get(found.call.key, -math.inf):
                numbers[found.call.key], times[found.call.key] = found.number, found.at
                yield found

    calls = wanted()
    while group := list(itertools.islice(calls, _GROUP)):
        into.execute("BEGIN IMMEDIATE")
        for number, call, at in group:
            into.execute(_OLDER, (call.key, at))
            into.execute(_CALL, (number, *call[:4], packed(call.request), packed(call.reply), at))
        into.execute("COMMIT")
    saved.calls = len(numbers)
    saved.short = seen.short
    taken = {*numbers.values(), *(seen.named.get(key, 0) for key in numbers)}
    saved.lost = sorted({number for key, number in seen.named.items() if key not in numbers} - taken)
    # A number that only one place has may be damaged, and millions off.
    last = max((number for key, number in numbers.items() if seen.named.get(key) == number), default=0)
    saved.unknown = len(set(range(1, last)) - taken - set(saved.lost))


def _runs(old: sqlite3.Connection, into: sqlite3.Connection) -> range:
    """The numbers that runs may have, if the tables are as they are now."""
    (version,) = into.execute("PRAGMA user_version").fetchone()
    last = 0
    with contextlib.suppress(sqlite3.Error):
        if old.execute("PRAGMA user_version").fetchone() == (version,):
            for query in _LAST_RUN:
                with contextlib.suppress(*_TORN):
                    last = max(last, *old.execute(query).fetchone())
    return range(1, min(last, _MOST_RUNS) + 1)


def _run(
    old: sqlite3.Connection, into: sqlite3.Connection, number: int, unpacked: Callable[[bytes], bytes]
) -> tuple[bool, bool]:
    """Save a run that ended, with its results and scores, if all of it can be read: is there one, and was it?"""
    there = True
    into.execute("BEGIN IMMEDIATE")
    try:
        rows = old.execute("SELECT * FROM runs WHERE id = ?", (number,)).fetchall()
        there = bool(rows)
        for table, row in _rows(old, rows, unpacked):
            into.execute(_INSERT.format(table, ", ".join("?" * len(row))), row)
    except _TORN:
        into.execute("ROLLBACK")
        return there, False
    into.execute("COMMIT")
    return True, True


def _rows(
    old: sqlite3.Connection, runs: Sequence[tuple[Any, ...]], unpacked: Callable[[bytes], bytes]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The rows of a run with their tables; one of ``_TORN`` where any is missing or damaged."""
    (run,) = runs
    number = run[0]
    orjson.loads(unpacked(run[5]))
    summary = orjson.loads(unpacked(run[6]))
    if (number, run[4]) != (summary["run"], summary["status"]):
        raise ValueError("another run's summary")
    yield "runs", run
    count = 0
    for result in old.execute("SELECT * FROM results WHERE run = ? ORDER BY position", (number,)):
        scores = old.execute("SELECT * FROM scores WHERE run = ? AND position = ?", (number, result[1])).fetchall()
        _hold(result, scores, orjson.loads(unpacked(result[3])))
        yield "results", result
        yield from (("scores", score) for score in scores)
        count += 1
    if count != summary["records"]:
        raise ValueError("a result is missing")


def _hold(result: tuple[Any, ...], scores: list[tuple[Any, ...]], document: dict[str, Any]) -> None:
    """Hold the scores of a result, which have no sums, against its document; ValueError where they differ."""
    told = {score["metric"]: score for score in document["scores"]}
    if (document["position"], document["id"], len(told)) != (result[1], result[2], len(scores)):
        raise ValueError("another result, or a score is missing")
    for _, metric, _, value, status, asked, unjudged, low, high, outcome, *_ in scores:
        score = told[metric]
        numbers = [None if number is None else round(number, 9) for number in (value, low, high)]
        kept = [*numbers, status, asked, unjudged, outcome]
        if kept != [score[name] for name in ("value", "low", "high", "status", "asked", "unjudged", "outcome")]:
            raise ValueError("a score is not its document's")
    if scores and sum(score[10] for score in scores) != document["cost"]["calls"]:
        raise ValueError("a cost is not its document's")

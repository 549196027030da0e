"""Count and delete the stored calls."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from msgspec import Struct

from ragstone.store.database import Store


class CallGroup(NamedTuple):
    """Stored calls with the same judge, step and maker: their number, size in bytes, and oldest and newest time."""

    judge: str
    task: str
    maker: str
    calls: int
    bytes: int
    oldest: float
    newest: float


class CallFilter(Struct, frozen=True):
    """Selects stored calls: older than ``before``, by one ``judge``, only ``unused`` ones; by default all."""

    before: float | None = None
    judge: str = ""
    unused: bool = False


class CallStore(Store):
    """A store with what counts and deletes its calls."""

    def mark_needed(self, tasks: Collection[str]) -> None:
        """Mark as used the kept calls, those in batches of unfinished runs, and those for these steps."""
        self._write("CREATE TEMP TABLE IF NOT EXISTS used (key BLOB PRIMARY KEY) WITHOUT ROWID")
        self._change(
            "INSERT OR IGNORE INTO temp.used SELECT key FROM kept_calls UNION SELECT key FROM batch_calls"
            f" UNION SELECT key FROM calls WHERE task IN ({', '.join('?' * len(tasks))})",
            tuple(tasks),
        )

    def mark_used(self, keys: Iterable[bytes]) -> None:
        """Mark more calls as used; ``calls_by`` and ``drop_calls`` treat all others as unused."""
        self._write("BEGIN")
        self._write_many("INSERT OR IGNORE INTO temp.used VALUES (?)", [(key,) for key in keys])
        self._write("COMMIT")

    def calls_by(self, which: CallFilter) -> list[CallGroup]:
        """Count the calls that ``which`` selects, by judge, step and maker."""
        where, parameters = _picked(which)
        counts = "count(*), sum(length(request) + length(reply)), min(at), max(at)"
        alike = "judge, task, maker"
        query = f"SELECT {alike}, {counts} FROM calls WHERE {where} GROUP BY {alike} ORDER BY {alike}"
        return [CallGroup(*row) for row in self._rows(query, parameters, writer=which.unused)]

    def drop_calls(self, which: CallFilter) -> int:
        """Delete the calls that ``which`` selects and return their number."""
        where, parameters = _picked(which)
        return self._change(f"DELETE FROM calls WHERE {where}", parameters).rowcount

    def shrink(self) -> None:
        """Return free space to the disk; raise StoreError if another process is using the store."""
        self._change("VACUUM", ())
        self._change("PRAGMA wal_checkpoint(TRUNCATE)", ())


def _picked(which: CallFilter) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL condition of a filter, with its parameters; fields that are not given match every call."""
    unused = " AND key NOT IN (SELECT key FROM temp.used)" if which.unused else ""
    return f"at < coalesce(?, at + 1) AND judge = coalesce(?, judge){unused}", (which.before, which.judge or None)

"""The batches of a store: calls in progress at a provider, and what came back.

Guarantees: a batch and its calls are on disk before they are sent. A reply is on disk before its batch is closed. A
call that got neither a reply nor a permanent refusal is missing again and no longer in a batch. Only one process at a
time sends and collects; its lock never outlives it (Windows has no such locks).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ragstone.errors import ConfigError
from ragstone.store.database import CallRow, Store

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]


class Owner(NamedTuple):
    """The run of a batch: its name, and what identifies its input if the name is only that of the input."""

    run: str
    input: str = ""


class BatchRow(NamedTuple):
    """One batch. ``calls`` is the number of calls in it, ``remote`` the provider's id (None if unknown)."""

    id: int
    run: str
    input: str
    judge: str
    spec: dict[str, Any]
    tag: str
    remote: str | None
    status: str
    made: float
    calls: int


class BatchCall(NamedTuple):
    """One call of a batch."""

    key: bytes
    task: str
    maker: str
    units: int
    repeat: int
    request: bytes


_SELECT_BATCH = (
    "SELECT id, run, input, judge, spec, tag, remote, status, made,"
    " (SELECT count(*) FROM batch_calls WHERE batch = batches.id) FROM batches"
)


class BatchStore(Store):
    """A store with its batches."""

    @contextlib.contextmanager
    def alone(self, *, wait: bool = False) -> Iterator[None]:
        """Keep other processes from sending and collecting; if one is doing so, ``wait`` or raise ConfigError."""
        with Path(f"{self.path}-batches").open("ab") as lock:
            try:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except OSError as error:
                raise ConfigError(
                    f"{self.path}: another process is sending or collecting batches; wait for it to finish"
                ) from error
            yield

    def batches(self, *statuses: str) -> list[BatchRow]:
        """Return the batches with one of these statuses (all if none is given), oldest first."""
        rows = [BatchRow(*row) for row in self._rows(f"{_SELECT_BATCH} ORDER BY id")]
        rows = [row._replace(spec=orjson.loads(self._unpacked(row.spec))) for row in rows]  # type: ignore[arg-type]
        return [row for row in rows if not statuses or row.status in statuses]

    def make_batch(
        self, owner: Owner, judge: str, spec: Mapping[str, Any], tag: str, status: str, calls: Iterable[BatchCall]
    ) -> int:
        """Insert a batch with its calls, in one commit, and return its number."""
        self.begin()
        cursor = self._change(
            "INSERT INTO batches (run, input, judge, spec, tag, status, made) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*owner, judge, self._frame(orjson.dumps(spec)), tag, status, time.time()),
        )
        number = cursor.lastrowid
        assert number is not None
        self._write_many(
            "INSERT OR REPLACE INTO batch_calls (key, batch, task, maker, units, repeat, request)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(call.key, number, *call[1:5], self._frame(call.request)) for call in calls],
        )
        self.commit()
        return number

    def sent(self, batch: int, remote: str) -> None:
        """Store the provider's id of a batch."""
        self._change("UPDATE batches SET remote = ?, status = 'sent' WHERE id = ?", (remote, batch))

    def calls_of(self, batch: int) -> Iterator[BatchCall]:
        """Return the calls of a batch, in order."""
        query = "SELECT key, task, maker, units, repeat, request FROM batch_calls WHERE batch = ? ORDER BY rowid"
        return (BatchCall(*row)._replace(request=self._unpacked(row[5])) for row in self._rows(query, (batch,)))

    def keys_of(self, batch: int) -> set[bytes]:
        """Return the keys of the calls of a batch."""
        return {key for (key,) in self._rows("SELECT key FROM batch_calls WHERE batch = ?", (batch,))}

    def failed_calls(self, tries: int) -> dict[bytes, str]:
        """Return the keys of calls that will get no usable reply, or got none in ``tries`` batches, with the reason."""
        query = (
            "SELECT key, failed FROM batch_calls WHERE failed IS NOT NULL UNION ALL"
            " SELECT key, reason || ' (batches: ' || tries || ')' FROM batch_tries WHERE tries >= ?"
        )
        return dict(self._rows(query, (tries,)))

    def collect(
        self,
        batch: int,
        replies: Iterable[CallRow],
        failed: Mapping[bytes, tuple[str, bytes | None]],
        missed: Mapping[bytes, str],
    ) -> None:
        """Store the results of a batch and close it; its other calls are missing again.

        ``failed`` has the reason why a call gets no reply, and a reply with the usage if it was charged; ``missed``
        has the reasons of other calls, if there are any.
        A reply replaces one from before the batch was made: that could not be used, or the call would not be in it.
        """
        ((made,),) = self._rows("SELECT made FROM batches WHERE id = ?", (batch,))
        self.begin()
        self.insert(list(replies), [], since=lambda _: made)
        self._write_many(
            "UPDATE batch_calls SET failed = ?, spent = ? WHERE batch = ? AND key = ?",
            [(reason, spent and self._frame(spent), batch, key) for key, (reason, spent) in failed.items()],
        )
        others = "batch = ? AND failed IS NULL AND key NOT IN (SELECT key FROM calls WHERE at >= ?)"
        self._write_many(
            "INSERT INTO batch_tries (key, batch, tries, reason)"
            f" SELECT key, batch, 1, 'the batch has no result' FROM batch_calls WHERE {others}"
            " ON CONFLICT (key) DO UPDATE SET batch = excluded.batch, tries = tries + 1, reason = excluded.reason",
            [(batch, made)],
        )
        self._write_many(
            "UPDATE batch_tries SET reason = ? WHERE key = ?", [(reason, key) for key, reason in missed.items()]
        )
        self._write_many(f"DELETE FROM batch_calls WHERE {others}", [(batch, made)])
        self._write_many("UPDATE batches SET status = 'done' WHERE id = ?", [(batch,)])
        self.commit()

    def drop_batch(self, batch: int) -> None:
        """Delete a batch; its calls are missing again, unless their replies are stored."""
        self._change("DELETE FROM batches WHERE id = ?", (batch,))

    def paid(self, owner: Owner) -> Iterator[tuple[CallRow, bool]]:
        """Return the charged calls of a run's batches that are on no bill yet; true for those with a usable reply."""
        columns = "o.key, b.judge, o.task, o.maker, o.request, coalesce(o.spent, c.reply) AS paid, o.failed IS NULL"
        query = (
            f"SELECT {columns} FROM batches AS b JOIN batch_calls AS o ON o.batch = b.id"
            " LEFT JOIN calls AS c ON c.key = o.key AND o.failed IS NULL"
            " WHERE b.run = ? AND b.input = ? AND b.status = 'done' AND paid NOT NULL ORDER BY o.rowid"
        )
        return ((self._call_row(row[:6]), bool(row[6])) for row in self._rows(query, owner))

    def uncharged(self, owner: Owner, tries: int) -> tuple[int, int]:
        """Return how many requests in a run's batches cost nothing and are on no bill yet, and how many were repeated.

        A call that gets no result is sent at most ``tries`` times.
        """
        batch = " AS o JOIN batches AS b ON b.id = o.batch WHERE b.run = ? AND b.input = ? AND b.status = 'done'"
        counts = "coalesce(sum(tries - billed), 0), coalesce(sum(min(tries, ?) - min(billed, ?)), 0)"
        ((missed, again),) = self._rows(f"SELECT {counts} FROM batch_tries{batch}", (tries - 1, tries - 1, *owner))
        query = f"SELECT count(*) FROM batch_calls{batch} AND o.failed NOT NULL AND o.spent IS NULL"
        ((refused,),) = self._rows(query, owner)
        return missed + refused, again

    def close_batches(self, owner: Owner, *, done: bool) -> None:
        """Mark a run's collected batches as billed; if it is ``done``, delete them."""
        collected = "run = ? AND input = ? AND status = 'done'"
        batches = f"batch IN (SELECT id FROM batches WHERE {collected})"
        self._change(f"UPDATE batch_tries SET billed = tries WHERE {batches}", owner)
        self._change(f"UPDATE batches SET status = 'billed' WHERE {collected}", owner)
        if done:
            self._change("DELETE FROM batches WHERE run = ? AND input = ? AND status = 'billed'", owner)

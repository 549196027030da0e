"""The store: one SQLite file with every paid call and every result.

Guarantees: once ``commit`` returns, the data is on disk and survives kill -9 and a power failure. Several processes may
use the file at the same time. A damaged store is moved aside or left unchanged, never overwritten. The store handles
bytes and rows; it does not depend on judges or metrics.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import orjson
from msgspec import Struct

from ragstone.errors import ConfigError, StoreError
from ragstone.store import connection as file
from ragstone.store.recovery import move_aside, recover

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DEFAULT_PATH: Final = ".ragstone/ragstone.db"
"""The default path of the store."""
TEMPORARY: Final = ""
"""The path that stands for a temporary store of this process."""
LEVEL: Final = 1
"""The fastest zstd level; higher levels save 10% of the space but take twice the time."""

_PACKED: Final[dict[int, int]] = {
    zstd.CompressionParameter.compression_level: LEVEL,
    zstd.CompressionParameter.checksum_flag: 1,  # detects damage that SQLite does not
}


class ScoreRow(NamedTuple):
    """One score, as stored for means and lists; its verdicts are in the result's document.

    ``repeats`` is JSON with the ``values`` of every repeat and the counts of ``units``, ``flips`` and ``unmatched``;
    None without repeats.
    """

    metric: str
    position: int
    value: float | None
    status: str
    asked: int
    unjudged: int
    low: float | None
    high: float | None
    outcome: str | None
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    repeats: str | None = None


class ResultRow(NamedTuple):
    """One record's result: its position in the input (from 1), its id, and its line of results.jsonl."""

    position: int
    record: str
    document: bytes


class CallRow(NamedTuple):
    """One paid call; ``request`` and ``reply`` are JSON."""

    key: bytes
    judge: str
    task: str
    maker: str
    request: bytes
    reply: bytes


class RunRow(Struct, frozen=True):
    """One run; ``summary`` is None while it has not ended."""

    id: int
    name: str
    started: float
    finished: float | None
    status: str
    spec: dict[str, Any]
    summary: dict[str, Any] | None


_CALL = ", ".join(CallRow._fields)
_SCORE = ", ".join(ScoreRow._fields)
_INSERT_CALL = f"INSERT OR IGNORE INTO calls ({_CALL}, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_RESULT = "INSERT OR REPLACE INTO results (run, position, record, document) VALUES (?, ?, ?, ?)"
_INSERT_SCORE = f"INSERT OR REPLACE INTO scores (run, {_SCORE}) VALUES (?{', ?' * len(ScoreRow._fields)})"
_SELECT_CALL = f"SELECT {_CALL} FROM calls"
_SELECT_RUN = "SELECT id, name, started, finished, status, spec, summary FROM runs"
_SELECT_RESULT = "SELECT position, record, document FROM results"
_BETWEEN = "WHERE run = ? AND position > ? AND position <= ? ORDER BY position"
_SELECT_SCORE = f"SELECT {_SCORE} FROM scores WHERE run = ?"
_UNREAD = (
    "SELECT position FROM results AS r WHERE run = ?"
    " AND NOT EXISTS (SELECT 1 FROM scores AS s WHERE s.run = r.run AND s.position = r.position)"
)


class Store:
    """An open store. It has no threads, and waits only for the disk and other processes."""

    def __init__(self, path: Path | str, *, renew: bool = True) -> None:
        """Open or create the store at ``path``; raise StoreError if that fails.

        ``:memory:`` keeps it in memory, ``TEMPORARY`` in a temporary file of SQLite, deleted when it is closed.

        Raises ConfigError if the file is not a store. A damaged store is moved aside and its readable data is copied to
        a new one; ``notes`` say so. Without ``renew`` it is left unchanged and StoreError is raised.
        """
        self._renew = renew
        self.path = str(path)
        self.folder = ""
        """The folder from which the only run in it was loaded, if any."""
        self.notes: list[str] = []
        self._packer = zstd.ZstdCompressor(options=_PACKED)
        if self.path in (":memory:", TEMPORARY):
            self._reader = self._writer = self._open()
        else:
            file.make_private(self.path)
            self._reader = self._open()
            try:
                self._writer = file.connect(self.path)
            except sqlite3.Error as error:
                raise self._trouble(error, "cannot open the store") from error
        self._place = Path(self.path or ":memory:").absolute()  # the working directory may change
        self._identity = file.identity(self._place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; an uncommitted group is lost."""
        self._writer.close()
        self._reader.close()

    def __del__(self) -> None:
        """Close the file, so that callers of ``evaluate`` need not close the store."""
        for connection in (getattr(self, "_writer", None), getattr(self, "_reader", None)):
            if connection is not None:
                connection.close()

    # ---- calls

    def reply(self, key: bytes, *, since: float = 0.0) -> bytes | None:
        """Return the stored reply (JSON) of a call; None if missing or stored before ``since`` (Unix timestamp)."""
        row = self._row("SELECT reply FROM calls WHERE key = ? AND at >= ?", (key, since))
        return None if row is None else self._unpacked(row[0])

    def has_before(self, key: bytes, moment: float) -> bool:
        """Return whether a call was stored before a moment (Unix timestamp)."""
        return self._row("SELECT 1 FROM calls WHERE key = ? AND at < ?", (key, moment)) is not None

    def call(self, key: bytes) -> CallRow | None:
        """Return a stored call, or None."""
        row = self._row(f"{_SELECT_CALL} WHERE key = ?", (key,))
        return None if row is None else self._call_row(row)

    def call_keys(self) -> list[bytes]:
        """Return the keys of all stored calls, oldest first."""
        return [row[0] for row in self._rows("SELECT key FROM calls ORDER BY rowid")]

    def latest_calls(self, judge: str, task: str, most: int) -> Iterator[CallRow]:
        """Return up to ``most`` calls of a judge for a step, latest first."""
        query = f"{_SELECT_CALL} WHERE judge = ? AND task = ? ORDER BY rowid DESC LIMIT ?"
        return map(self._call_row, self._rows(query, (judge, task, most)))

    def judges(self) -> list[str]:
        """Return the ids of all judges with stored calls."""
        return [row[0] for row in self._rows("SELECT DISTINCT judge FROM calls ORDER BY judge")]

    # ---- writing in groups, one at a time: begin, insert, commit (which waits for the disk, on any thread)

    def begin(self, *, wait: bool = True) -> bool:
        """Begin a group of writes; while another connection writes, wait (raise StoreError if long) or return False.

        Raises StoreError if the file was deleted or renamed, because nobody would find what is written to it.
        """
        if not self.is_there():
            lost = "the store was deleted or renamed during the run; move it back to keep its replies and results"
            raise StoreError(f"{self.path}: {lost}")
        try:
            return file.begin(self._writer, wait=wait)
        except sqlite3.Error as error:
            raise self._undone(error) from error

    def insert(
        self,
        calls: Sequence[CallRow],
        results: Sequence[tuple[int, ResultRow, Sequence[ScoreRow]]],
        *,
        since: Callable[[bytes], float] = lambda _key: 0.0,
    ) -> dict[bytes, bytes]:
        """Add paid calls, and results as (run, result, scores), to the group; a StoreError ends the group.

        If a call already has a reply, that is kept unless it was stored before ``since(key)`` (Unix timestamp). Returns
        the kept replies that differ from the given ones, by key.
        """
        now = time.time()
        if stale := [(call.key, at) for call in calls if (at := since(call.key))]:
            self._write_many("DELETE FROM calls WHERE key = ? AND at < ?", stale)
        added = self._write_many(
            _INSERT_CALL,
            [(*call[:4], self._frame(call.request), self._frame(call.reply), now) for call in calls],
        )
        stay = {} if added == len(calls) else self._others(calls)
        self._write_many(
            _INSERT_RESULT, [(run, row.position, row.record, self._frame(row.document)) for run, row, _ in results]
        )
        self._write_many(_INSERT_SCORE, [(run, *score) for run, _, scores in results for score in scores])
        return stay

    def _others(self, calls: Sequence[CallRow]) -> dict[bytes, bytes]:
        """Return the stored replies that differ from the given ones, by key."""
        try:
            query = "SELECT reply FROM calls WHERE key = ?"
            rows = ((call, next(self._rows(query, (call.key,), writer=True))) for call in calls)
            return {call.key: reply for call, (blob,) in rows if (reply := self._unpacked(blob)) != call.reply}
        except StoreError as error:
            raise self._undone(error) from error

    def commit(self) -> None:
        """Return once the group is on disk; if that fails, raise StoreError and keep nothing of it."""
        self._write("COMMIT")

    def _frame(self, data: bytes) -> bytes:
        return self._packer.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)

    def _write(self, statement: str) -> None:
        try:
            self._writer.execute(statement)
        except sqlite3.Error as error:
            raise self._undone(error) from error

    def _write_many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> int:
        try:
            return self._writer.executemany(statement, rows).rowcount
        except (sqlite3.Error, OverflowError, UnicodeError) as error:  # the latter two: values that SQLite cannot store
            raise self._undone(error) from error

    def _undone(self, error: Exception) -> StoreError:
        with contextlib.suppress(sqlite3.Error):
            self._writer.execute("ROLLBACK")
        return error if isinstance(error, StoreError) else self._trouble(error, "cannot write")

    # ---- runs

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read a consistent snapshot inside the context, even if another process writes. Cannot be nested."""
        if self._reader is self._writer:  # in memory or temporary: no other process can write
            yield
            return
        self._reader.execute("BEGIN")
        try:
            yield
        finally:
            self._reader.execute("ROLLBACK")

    def start_run(self, name: str, spec: dict[str, Any], number: int | None = None) -> int:
        """Insert a new run and return its number: ``number`` if given, else the next one."""
        cursor = self._change(
            "INSERT INTO runs (id, name, started, status, spec) VALUES (?, ?, ?, 'running', ?)",
            (number, name, time.time(), self._frame(orjson.dumps(spec))),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def finish_run(self, run: int, status: str, summary: Mapping[str, Any]) -> None:
        """Mark a run as ended, with its status and summary."""
        self._change(
            "UPDATE runs SET finished = ?, status = ?, summary = ? WHERE id = ?",
            (time.time(), status, self._frame(orjson.dumps(summary)), run),
        )

    def change_summary(self, run: int, summary: Mapping[str, Any]) -> None:
        """Replace the summary of an ended run."""
        self._change("UPDATE runs SET summary = ? WHERE id = ?", (self._frame(orjson.dumps(summary)), run))

    def drop_run(self, run: int, *, unused: bool = False) -> None:
        """Delete a run and its results; its calls are kept. If it is ``unused``, the next run may have its number."""
        self._change("DELETE FROM runs WHERE id = ?", (run,))
        if unused:
            self._change("UPDATE sqlite_sequence SET seq = seq - 1 WHERE name = 'runs' AND seq = ?", (run,))

    def keep_calls(self, owner: str, keys: Iterable[bytes]) -> None:
        """Count calls as used though no run has them, instead of those that were kept for this owner before."""
        self.begin()
        self._write_many("DELETE FROM kept_calls WHERE owner = ?", [(owner,)])
        self._write_many("INSERT OR IGNORE INTO kept_calls (owner, key) VALUES (?, ?)", [(owner, key) for key in keys])
        self.commit()

    def runs(self) -> list[RunRow]:
        """Return all runs, oldest first."""
        return [self._run_row(row) for row in self._rows(f"{_SELECT_RUN} ORDER BY id")]

    def run(self, number: int) -> RunRow | None:
        """Return a run, or None."""
        row = self._row(f"{_SELECT_RUN} WHERE id = ?", (number,))
        return None if row is None else self._run_row(row)

    def results(self, run: int, after: int = 0, until: int = sys.maxsize) -> Iterator[ResultRow]:
        """Yield the results of a run in input order, with positions above ``after`` and up to ``until``."""
        return map(self._result_row, self._rows(f"{_SELECT_RESULT} {_BETWEEN}", (run, after, until)))

    def latest_results(self, most: int) -> Iterator[ResultRow]:
        """Yield up to ``most`` results of any run, latest run first."""
        query = f"{_SELECT_RESULT} ORDER BY run DESC, position DESC LIMIT ?"
        return map(self._result_row, self._rows(query, (most,)))

    def result(self, run: int, *, record: str = "", position: int = 0) -> ResultRow | None:
        """Return a result by the record's id or by its position in the input, or None."""
        try:
            record.encode()
        except UnicodeEncodeError:  # a lone surrogate: no stored id has one
            return None
        name = "record" if record else "position"
        row = self._row(f"{_SELECT_RESULT} WHERE run = ? AND {name} = ?", (run, record or position))
        return None if row is None else self._result_row(row)

    def ids(self, run: int, after: int = 0, until: int = sys.maxsize) -> dict[int, str]:
        """Return the ids of a run's records by position, in order, above ``after`` and up to ``until``."""
        return dict(self._rows(f"SELECT position, record FROM results {_BETWEEN}", (run, after, until)))

    def count(self, run: int) -> int:
        """Count the records of a run that have a result, unreadable records included."""
        return self._number("SELECT count(*) FROM results WHERE run = ?", run)

    def last_place(self, run: int) -> int:
        """Return the last position in the input that has a result; 0 if none has."""
        return self._number("SELECT coalesce(max(position), 0) FROM results WHERE run = ?", run)

    def set_aside(self, run: int) -> int:
        """Count the records that could not be read: they have a result and no scores."""
        return self._number(f"SELECT count(*) FROM ({_UNREAD})", run)

    def failed(self, run: int) -> set[int]:
        """Return the positions of records that could not be read or that lack a verdict."""
        query = (
            "SELECT position FROM scores WHERE run = ? AND (status = 'judge_failed' OR unjudged > 0"
            " OR (value IS NOT NULL AND instr(repeats, 'null') > 0))"  # a repeat failed
        )
        return {position for (position,) in self._rows(f"{query} UNION {_UNREAD}", (run, run))}

    def scores(
        self, run: int, metric: str | None = None, after: int = 0, until: int = sys.maxsize
    ) -> Iterator[ScoreRow]:
        """Yield the scores of a run, by metric and position, above ``after`` and up to ``until``."""
        query = f"{_SELECT_SCORE} AND metric = coalesce(?, metric) AND position > ? AND position <= ?"
        rows = self._rows(f"{query} ORDER BY metric, position", (run, metric, after, until))
        return itertools.starmap(ScoreRow, rows)

    def bins(self, run: int, count: int, metric: str | None = None) -> dict[str, list[int]]:
        """Count the values of each metric in ``count`` bins of equal width from 0 to 1, plus one for the value 1."""
        found: dict[str, list[int]] = {}
        query = "SELECT metric, CAST(value * ? AS INTEGER), count(*) FROM scores WHERE run = ? AND value IS NOT NULL"
        rows = self._rows(f"{query} AND metric = coalesce(?, metric) GROUP BY 1, 2", (count, run, metric))
        for name, place, number in rows:
            found.setdefault(name, [0] * (count + 1))[place] = number
        return found

    def worst(self, run: int, metric: str, count: int) -> list[ScoreRow]:
        """Return the ``count`` lowest scores, lowest first; equal ones in input order."""
        query = _SELECT_SCORE + " AND metric = ? AND value IS NOT NULL ORDER BY value, position LIMIT ?"
        return [ScoreRow(*row) for row in self._rows(query, (run, metric, count))]

    # ---- the file

    def is_there(self) -> bool:
        """Return whether the file still has its name."""
        return file.identity(self._place) == self._identity

    def put_aside(self) -> str:
        """Move a damaged store aside, copy its readable data to a new one, and return a description of what was done.

        Raises OSError if the file cannot be renamed; it is then unchanged.
        """
        self.close()
        aside = move_aside(self.path)
        copied = "the same command starts a new one"
        with contextlib.suppress(StoreError, sqlite3.Error, OSError):
            file.make_private(self.path)
            with contextlib.closing(file.connect(self.path, migrate=True)) as fresh:
                copied = recover(aside, fresh)
        return f"it was moved aside to {aside}; {copied}"

    def _open(self) -> sqlite3.Connection:
        found = file.identity(self.path)
        if file.is_foreign(self.path):
            raise ConfigError(
                f"{self.path}: not a Ragstone store; left unchanged", hint="use another file with --store"
            )
        try:
            return file.connect(self.path, migrate=True)
        except sqlite3.Error as error:
            trouble = self._trouble(error, "cannot open the store")
            if not (trouble.damaged and self._renew):
                raise trouble from error
        # If another process was faster, this is already a new file.
        aside = move_aside(self.path) if file.identity(self.path) == found else ""
        file.make_private(self.path)
        try:
            connection = file.connect(self.path, migrate=True)
            if aside:
                copied = recover(aside, connection)
                self.notes.append(f"the store was damaged and was moved aside to {aside}; {copied}")
        except (sqlite3.Error, OSError) as error:
            raise self._trouble(error, "cannot open the store") from error
        return connection

    def _trouble(self, error: Exception, what: str) -> StoreError:
        return file.trouble(self.path, error, what)

    def _rows(self, query: str, parameters: tuple[Any, ...] = (), *, writer: bool = False) -> Iterator[tuple[Any, ...]]:
        """Yield the rows one at a time; raise StoreError at the first row where the file is damaged."""
        try:
            rows = (self._writer if writer else self._reader).execute(query, parameters)
            for row in rows:  # noqa: UP028 - "yield from" would also close the cursor, which fails once the store is closed
                yield row
        except sqlite3.Error as error:
            raise self._trouble(error, "cannot read") from error

    def _row(self, query: str, parameters: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return next(self._rows(query, parameters), None)

    def _number(self, query: str, run: int) -> int:
        ((number,),) = self._rows(query, (run,))
        return int(number)

    def _unpacked(self, data: bytes) -> bytes:
        try:
            return zstd.decompress(data)
        except zstd.ZstdError as error:
            raise file.damaged(self.path, f"cannot unpack: {error}") from error

    def _call_row(self, row: tuple[Any, ...]) -> CallRow:
        return CallRow(*row)._replace(request=self._unpacked(row[4]), reply=self._unpacked(row[5]))

    def _result_row(self, row: tuple[Any, ...]) -> ResultRow:
        return ResultRow(row[0], row[1], self._unpacked(row[2]))

    def _run_row(self, row: tuple[Any, ...]) -> RunRow:
        number, name, started, finished, status, spec, summary = row
        told = None if summary is None else orjson.loads(self._unpacked(summary))
        return RunRow(number, name, started, finished, status, orjson.loads(self._unpacked(spec)), told)

    def _change(self, statement: str, parameters: tuple[Any, ...]) -> sqlite3.Cursor:
        try:
            return self._writer.execute(statement, parameters)
        except sqlite3.Error as error:
            raise self._trouble(error, "cannot write") from error

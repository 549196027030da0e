"""The store: one SQLite file that holds every paid call and every result. The only SQL of the project.

Promises: what ``commit`` has returned for is on disk and survives kill -9 and a power cut; two processes may use
one file; a file that is damaged is set aside, never overwritten; an older file is brought up to date when it
is opened. The store knows bytes and rows, not judges or metrics.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import orjson

from ragstone.errors import StoreError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

VERSION: Final = 1
PATIENCE: Final = 30.0
"""Seconds to wait for another process that writes."""
LEVEL: Final = 1
"""Of compression: the fastest; higher ones save a tenth of the space for twice the time."""

_DAMAGED = ("file is not a database", "malformed", "file is encrypted")
_INSERT_CALL = "INSERT OR IGNORE INTO calls (key, judge, task, maker, request, reply, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_RESULT = "INSERT OR REPLACE INTO results (run, position, record, document) VALUES (?, ?, ?, ?)"
_INSERT_SCORE = (
    "INSERT OR REPLACE INTO scores (run, metric, position, value, status, asked, unjudged, low, high, outcome,"
    " calls, input_tokens, output_tokens, dollars) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT_SCORE = (
    "SELECT metric, position, value, status, asked, unjudged, low, high, outcome,"
    " calls, input_tokens, output_tokens, dollars FROM scores WHERE run = ?"
)


class ScoreRow(NamedTuple):
    """One score as the store keeps it for means and lists; its verdicts are in the result's document."""

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


class ResultRow(NamedTuple):
    """One record's result: its place in the input (from 1), its id, and its line of results.jsonl."""

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


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run; ``summary`` is None while it has not ended."""

    id: int
    name: str
    started: float
    finished: float | None
    status: str
    spec: dict[str, Any]
    summary: dict[str, Any] | None


class Store:
    """An open store. It has no thread of its own and waits for nobody but the disk and other processes."""

    def __init__(self, path: Path | str) -> None:
        """Open or create the store at ``path`` (``:memory:`` keeps it in memory); StoreError if that fails."""
        self.path = str(path)
        self.notes: list[str] = []
        self._packer = zstd.ZstdCompressor(level=LEVEL)
        if self.path == ":memory:":
            self._reader = self._writer = self._open()
        else:
            self._make_private(Path(self.path))
            self._reader = self._open()
            self._writer = self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a group that was not committed is lost."""
        self._writer.close()
        self._reader.close()

    def __del__(self) -> None:
        """Let go of the file: nobody has to close the store of a run that ``evaluate`` returned."""
        for connection in (getattr(self, "_writer", None), getattr(self, "_reader", None)):
            if connection is not None:
                connection.close()

    # ---- calls

    def reply(self, key: bytes) -> bytes | None:
        """The stored reply (JSON) of a call, or None."""
        row = self._row("SELECT reply FROM calls WHERE key = ?", (key,))
        return None if row is None else self._unpacked(row[0])

    def call(self, key: bytes) -> CallRow | None:
        """The whole stored call, or None."""
        row = self._row("SELECT key, judge, task, maker, request, reply FROM calls WHERE key = ?", (key,))
        if row is None:
            return None
        key_, judge, task, maker, request, reply = row
        return CallRow(key_, judge, task, maker, self._unpacked(request), self._unpacked(reply))

    def call_keys(self) -> list[bytes]:
        """The keys of all stored calls, oldest first."""
        return [row[0] for row in self._rows("SELECT key FROM calls ORDER BY rowid")]

    def latest_calls(self, judge: str, task: str, most: int) -> Iterator[CallRow]:
        """At most so many calls of a judge for a step, the latest first."""
        query = "SELECT key, judge, task, maker, request, reply FROM calls WHERE judge = ? AND task = ?"
        for key, judge_, task_, maker, request, reply in self._rows(
            f"{query} ORDER BY rowid DESC LIMIT ?", (judge, task, most)
        ):
            yield CallRow(key, judge_, task_, maker, self._unpacked(request), self._unpacked(reply))

    def judges(self) -> list[str]:
        """The ids of all judges that calls were paid to."""
        return [row[0] for row in self._rows("SELECT DISTINCT judge FROM calls ORDER BY judge")]

    # ---- writing in groups
    #
    # A group is begun, filled and committed by its caller, who may do the first and the last on another thread
    # (both can wait: for another process, for the disk). One group at a time.

    def begin(self) -> None:
        """Begin a group of writes; waits while another process writes. StoreError when it waits too long."""
        self._write("BEGIN IMMEDIATE")

    def insert(self, calls: Sequence[CallRow], results: Sequence[tuple[int, ResultRow, Sequence[ScoreRow]]]) -> None:
        """Add paid calls, and results as (run, result, its scores), to the group; StoreError ends the group."""
        now = time.time()
        self._write_many(
            _INSERT_CALL, [(*call[:4], self._frame(call.request), self._frame(call.reply), now) for call in calls]
        )
        self._write_many(
            _INSERT_RESULT, [(run, row.position, row.record, self._frame(row.document)) for run, row, _ in results]
        )
        self._write_many(_INSERT_SCORE, [(run, *score) for run, _, scores in results for score in scores])

    def commit(self) -> None:
        """Return once the group is on disk; StoreError when it is not, and nothing of it is kept."""
        self._write("COMMIT")

    def _frame(self, data: bytes) -> bytes:
        return self._packer.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)

    def _write(self, statement: str) -> None:
        try:
            self._writer.execute(statement)
        except sqlite3.Error as error:
            raise self._cannot_write(error) from error

    def _write_many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        try:
            self._writer.executemany(statement, rows)
        except (sqlite3.Error, OverflowError, UnicodeError) as error:  # the latter: a value that no database holds
            raise self._cannot_write(error) from error

    def _cannot_write(self, error: Exception) -> StoreError:
        with contextlib.suppress(sqlite3.Error):
            self._writer.execute("ROLLBACK")
        hint = (
            "; free space or choose another place with --store" if isinstance(error, sqlite3.OperationalError) else ""
        )
        return StoreError(f"{self.path}: cannot write ({error}){hint}")

    # ---- runs

    def start_run(self, name: str, spec: dict[str, Any]) -> int:
        """Enter a new run and return its number."""
        cursor = self._change(
            "INSERT INTO runs (name, started, status, spec) VALUES (?, ?, 'running', ?)",
            (name, time.time(), _pack(orjson.dumps(spec))),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def finish_run(self, run: int, status: str, summary: dict[str, Any]) -> None:
        """Close a run with how it ended."""
        self._change(
            "UPDATE runs SET finished = ?, status = ?, summary = ? WHERE id = ?",
            (time.time(), status, _pack(orjson.dumps(summary)), run),
        )

    def forget(self, run: int) -> None:
        """Take back a run that came to nothing; its calls stay."""
        self._change("DELETE FROM runs WHERE id = ?", (run,))

    def runs(self) -> list[RunRow]:
        """All runs, oldest first."""
        rows = self._rows("SELECT id, name, started, finished, status, spec, summary FROM runs ORDER BY id")
        return [self._run_row(row) for row in rows]

    def run(self, number: int) -> RunRow | None:
        """One run, or None."""
        query = "SELECT id, name, started, finished, status, spec, summary FROM runs WHERE id = ?"
        row = self._row(query, (number,))
        return None if row is None else self._run_row(row)

    def results(self, run: int) -> Iterator[ResultRow]:
        """The results of a run in the order of the input, one at a time."""
        query = "SELECT position, record, document FROM results WHERE run = ? ORDER BY position"
        for position, record, document in self._rows(query, (run,)):
            yield ResultRow(position, record, self._unpacked(document))

    def latest_results(self, most: int) -> Iterator[ResultRow]:
        """At most so many results of any run, the latest runs' first."""
        query = "SELECT position, record, document FROM results ORDER BY run DESC, position DESC LIMIT ?"
        for position, record, document in self._rows(query, (most,)):
            yield ResultRow(position, record, self._unpacked(document))

    def result(self, run: int, *, record: str = "", position: int = 0) -> ResultRow | None:
        """One result by the record's id or by its place in the input, or None."""
        try:
            record.encode()
        except UnicodeEncodeError:  # half of a character: no id that was ever kept
            return None
        query = "SELECT position, record, document FROM results WHERE run = ? AND "
        by_id = query + "record = ?"
        by_place = query + "position = ?"
        row = self._row(by_id, (run, record)) if record else self._row(by_place, (run, position))
        return None if row is None else ResultRow(row[0], row[1], self._unpacked(row[2]))

    def record_ids(self, run: int) -> list[str]:
        """The ids of a run's records in the order of the input."""
        return [row[0] for row in self._rows("SELECT record FROM results WHERE run = ? ORDER BY position", (run,))]

    def count(self, run: int) -> int:
        """How many records of a run have a result, set-aside ones included."""
        ((number,),) = self._rows("SELECT count(*) FROM results WHERE run = ?", (run,))
        return int(number)

    def set_aside(self, run: int) -> int:
        """How many records of a run could not be read: they have a result and no scores."""
        query = (
            "SELECT count(*) FROM results AS r WHERE run = ?"
            " AND NOT EXISTS (SELECT 1 FROM scores AS s WHERE s.run = r.run AND s.position = r.position)"
        )
        ((number,),) = self._rows(query, (run,))
        return int(number)

    def scores(self, run: int, metric: str | None = None) -> Iterator[ScoreRow]:
        """The scores of a run, by metric and place."""
        if metric is None:
            rows = self._rows(_SELECT_SCORE + " ORDER BY metric, position", (run,))
        else:
            rows = self._rows(_SELECT_SCORE + " AND metric = ? ORDER BY position", (run, metric))
        for row in rows:
            yield ScoreRow(*row)

    def worst(self, run: int, metric: str, count: int) -> list[ScoreRow]:
        """The scores with the lowest values, lowest first; of equal ones the earlier record's."""
        query = _SELECT_SCORE + " AND metric = ? AND value IS NOT NULL ORDER BY value, position LIMIT ?"
        return [ScoreRow(*row) for row in self._rows(query, (run, metric, count))]

    # ---- the file

    def _make_private(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise StoreError(
                f"{path}: cannot create the store ({error.strerror}); choose another with --store"
            ) from error

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect_current()
        except sqlite3.DatabaseError as error:
            if not any(word in str(error) for word in _DAMAGED):
                raise StoreError(f"{self.path}: cannot open the store ({error})") from error
            self._set_aside()
        try:
            return self._connect_current()
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path}: cannot open the store ({error})") from error

    def _set_aside(self) -> None:
        aside = first = f"{self.path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        number = 1
        while os.path.exists(aside):  # noqa: PTH110 - the path is a string with a suffix, not a Path
            number += 1
            aside = f"{first}-{number}"
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(self.path + suffix):  # noqa: PTH110 - as above
                os.replace(self.path + suffix, aside + suffix)  # noqa: PTH105 - as above
        self._make_private(Path(self.path))
        self.notes.append(f"the store was damaged and is set aside as {aside}; a new one was begun")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            _use_log(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_current(self) -> sqlite3.Connection:
        """A connection to a store of this version."""
        connection = self._connect()
        try:
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise StoreError(
                f"{self.path}: made by a newer Ragstone (format {version}, this one reads {VERSION}); upgrade"
            )
        if version < VERSION:
            connection.execute("BEGIN EXCLUSIVE")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version < VERSION:  # another process may have been faster
                for statement in _statements():
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")

    def _rows(self, query: str, parameters: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows, one at a time; StoreError wherever among them the file is damaged."""
        try:
            yield from self._reader.execute(query, parameters)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot read ({error})") from error

    def _row(self, query: str, parameters: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return next(self._rows(query, parameters), None)

    def _unpacked(self, data: bytes) -> bytes:
        try:
            return zstd.decompress(data)
        except zstd.ZstdError as error:
            raise StoreError(f"{self.path}: cannot read (damaged: {error})") from error

    def _run_row(self, row: tuple[Any, ...]) -> RunRow:
        number, name, started, finished, status, spec, summary = row
        return RunRow(
            id=number,
            name=name,
            started=started,
            finished=finished,
            status=status,
            spec=orjson.loads(self._unpacked(spec)),
            summary=None if summary is None else orjson.loads(self._unpacked(summary)),
        )

    def _change(self, statement: str, parameters: tuple[Any, ...]) -> sqlite3.Cursor:
        try:
            return self._writer.execute(statement, parameters)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot write ({error})") from error


def _use_log(connection: sqlite3.Connection) -> None:
    """Write ahead. Where several begin one store at the same moment SQLite does not wait here by itself."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= end:
                raise
            time.sleep(0.01)
        else:
            return


def _statements() -> list[str]:
    text = resources.files("ragstone").joinpath("schema.sql").read_text(encoding="utf-8")
    lines = [line.split("--")[0] for line in text.splitlines()]
    return [statement for part in "\n".join(lines).split(";") if (statement := part.strip())]


def _pack(data: bytes) -> bytes:
    return zstd.compress(data, LEVEL)

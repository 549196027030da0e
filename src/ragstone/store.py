"""The store: one SQLite file that holds every paid call and every result. The only SQL of the project.

Promises: what ``put`` reports as done is on disk and survives kill -9 and a power cut; two processes may use
one file; a file that is damaged is set aside, never overwritten; an older file is brought up to date when it
is opened. The store knows bytes and rows, not judges or metrics.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
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
GROUP: Final = 256
"""The most writes that share one commit."""

_DAMAGED = ("file is not a database", "malformed", "file is encrypted")
_INSERT_CALL = "INSERT OR IGNORE INTO calls (key, judge, task, maker, request, reply, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_RESULT = "INSERT OR REPLACE INTO results (run, position, record, document) VALUES (?, ?, ?, ?)"
_INSERT_SCORE = (
    "INSERT OR REPLACE INTO scores (run, metric, position, value, status, asked, unjudged, low, high, outcome,"
    " calls, input_tokens, output_tokens, dollars) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_STATEMENTS: Final = (_INSERT_CALL, _INSERT_RESULT, _INSERT_SCORE)
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


@dataclass(frozen=True, slots=True)
class _Write:
    statement: str
    rows: list[tuple[Any, ...]]
    token: object


Deliver = Callable[[Sequence[object], StoreError | None], None]


class Store:
    """An open store. Reads happen on the caller's thread; writes are grouped on one thread of their own."""

    def __init__(self, path: Path | str) -> None:
        """Open or create the store at ``path`` (``:memory:`` keeps it in memory); StoreError if that fails."""
        self.path = str(path)
        self.notes: list[str] = []
        self._writes: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._deliver: Deliver | None = None
        self._memory = self.path == ":memory:"
        self._lock = threading.Lock()
        if not self._memory:
            self._make_private(Path(self.path))
        self._reader = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is queued and close the file."""
        self.stop_writer()
        self._reader.close()

    # ---- calls

    def reply(self, key: bytes) -> bytes | None:
        """The stored reply (JSON) of a call, or None."""
        row = self._read("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
        return None if row is None else zstd.decompress(row[0])

    def call(self, key: bytes) -> CallRow | None:
        """The whole stored call, or None."""
        row = self._read("SELECT key, judge, task, maker, request, reply FROM calls WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        key_, judge, task, maker, request, reply = row
        return CallRow(key_, judge, task, maker, zstd.decompress(request), zstd.decompress(reply))

    def call_keys(self) -> list[bytes]:
        """The keys of all stored calls, oldest first."""
        return [row[0] for row in self._read("SELECT key FROM calls ORDER BY rowid")]

    # ---- the writer

    def start_writer(self, deliver: Deliver) -> None:
        """Start the thread that commits writes in groups.

        ``deliver`` is called on that thread with the tokens of each group once it is on disk, or with the
        error that kept it from getting there.
        """
        self._deliver = deliver
        self._writer = threading.Thread(target=self._write_loop, name="ragstone-store", daemon=True)
        self._writer.start()

    def stop_writer(self) -> None:
        """Commit what is queued and end the thread."""
        if self._writer is not None:
            self._writes.put(None)
            self._writer.join()
            self._writer = None

    def put_call(self, row: CallRow, token: object) -> None:
        """Queue a paid call; ``token`` comes back through ``deliver`` when it is on disk."""
        self._writes.put(_Write(_INSERT_CALL, [(*row, time.time())], token))

    def put_result(self, run: int, row: ResultRow, scores: Sequence[ScoreRow], token: object = None) -> None:
        """Queue the result of one record and its scores."""
        self._writes.put(_Write(_INSERT_RESULT, [(run, *row)], token))
        if scores:
            self._writes.put(_Write(_INSERT_SCORE, [(run, *score) for score in scores], None))

    def _write_loop(self) -> None:
        connection = self._reader if self._memory else self._connect()
        ended = False
        try:
            while not ended:
                group = [self._writes.get()]
                while len(group) < GROUP:
                    try:
                        group.append(self._writes.get_nowait())
                    except queue.Empty:
                        break
                ended = None in group
                writes = [write for write in group if write is not None]
                error = self._commit(connection, writes) if writes else None
                tokens = [write.token for write in writes if write.token is not None]
                if self._deliver is not None and (tokens or error):
                    self._deliver(tokens, error)
        finally:
            if connection is not self._reader:
                connection.close()

    def _commit(self, connection: sqlite3.Connection, writes: Sequence[_Write]) -> StoreError | None:
        try:
            with self._lock if self._memory else contextlib.nullcontext():
                connection.execute("BEGIN IMMEDIATE")
                try:
                    for statement in _STATEMENTS:
                        rows = [_packed(statement, row) for w in writes if w.statement is statement for row in w.rows]
                        if rows:
                            connection.executemany(statement, rows)
                    connection.execute("COMMIT")
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            return StoreError(f"{self.path}: cannot write ({error}); free space or choose another place with --store")
        return None

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

    def runs(self) -> list[RunRow]:
        """All runs, oldest first."""
        rows = self._read("SELECT id, name, started, finished, status, spec, summary FROM runs ORDER BY id")
        return [_run_row(row) for row in rows]

    def run(self, number: int) -> RunRow | None:
        """One run, or None."""
        query = "SELECT id, name, started, finished, status, spec, summary FROM runs WHERE id = ?"
        row = self._read(query, (number,)).fetchone()
        return None if row is None else _run_row(row)

    def results(self, run: int) -> Iterator[ResultRow]:
        """The results of a run in the order of the input, one at a time."""
        query = "SELECT position, record, document FROM results WHERE run = ? ORDER BY position"
        for position, record, document in self._read(query, (run,)):
            yield ResultRow(position, record, zstd.decompress(document))

    def result(self, run: int, *, record: str = "", position: int = 0) -> ResultRow | None:
        """One result by the record's id or by its place in the input, or None."""
        query = "SELECT position, record, document FROM results WHERE run = ? AND "
        by_id = query + "record = ?"
        by_place = query + "position = ?"
        cursor = self._read(by_id, (run, record)) if record else self._read(by_place, (run, position))
        row = cursor.fetchone()
        return None if row is None else ResultRow(row[0], row[1], zstd.decompress(row[2]))

    def record_ids(self, run: int) -> list[str]:
        """The ids of a run's records in the order of the input."""
        return [row[0] for row in self._read("SELECT record FROM results WHERE run = ? ORDER BY position", (run,))]

    def count(self, run: int) -> int:
        """How many records of a run have a result, set-aside ones included."""
        (number,) = self._read("SELECT count(*) FROM results WHERE run = ?", (run,)).fetchone()
        return int(number)

    def set_aside(self, run: int) -> int:
        """How many records of a run could not be read: they have a result and no scores."""
        query = (
            "SELECT count(*) FROM results AS r WHERE run = ?"
            " AND NOT EXISTS (SELECT 1 FROM scores AS s WHERE s.run = r.run AND s.position = r.position)"
        )
        (number,) = self._read(query, (run,)).fetchone()
        return int(number)

    def scores(self, run: int, metric: str | None = None) -> Iterator[ScoreRow]:
        """The scores of a run, by metric and place."""
        if metric is None:
            cursor = self._read(_SELECT_SCORE + " ORDER BY metric, position", (run,))
        else:
            cursor = self._read(_SELECT_SCORE + " AND metric = ? ORDER BY position", (run, metric))
        for row in cursor:
            yield ScoreRow(*row)

    def worst(self, run: int, metric: str, count: int) -> list[ScoreRow]:
        """The scores with the lowest values, lowest first; of equal ones the earlier record's."""
        query = _SELECT_SCORE + " AND metric = ? AND value IS NOT NULL ORDER BY value, position LIMIT ?"
        return [ScoreRow(*row) for row in self._read(query, (run, metric, count))]

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
            return self._migrated(self._connect())
        except sqlite3.DatabaseError as error:
            if not any(word in str(error) for word in _DAMAGED):
                raise StoreError(f"{self.path}: cannot open the store ({error})") from error
            self._set_aside()
        try:
            return self._migrated(self._connect())
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path}: cannot open the store ({error})") from error

    def _set_aside(self) -> None:
        aside = f"{self.path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(self.path + suffix):  # noqa: PTH110 - the path is a string with a suffix, not a Path
                os.replace(self.path + suffix, aside + suffix)  # noqa: PTH105 - as above
        self._make_private(Path(self.path))
        self.notes.append(f"the store was damaged and is set aside as {aside}; a new one was begun")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=30, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _migrated(self, connection: sqlite3.Connection) -> sqlite3.Connection:
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
        return connection

    def _read(self, query: str, parameters: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._reader.execute(query, parameters)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot read ({error})") from error

    def _change(self, statement: str, parameters: tuple[Any, ...]) -> sqlite3.Cursor:
        try:
            with self._lock:
                return self._reader.execute(statement, parameters)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot write ({error})") from error


def _statements() -> list[str]:
    text = resources.files("ragstone").joinpath("schema.sql").read_text(encoding="utf-8")
    lines = [line.split("--")[0] for line in text.splitlines()]
    return [statement for part in "\n".join(lines).split(";") if (statement := part.strip())]


def _packed(statement: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    # Compression happens here, on the writer's thread, where it costs the event loop nothing.
    if statement is _INSERT_CALL:
        return (*row[:4], _pack(row[4]), _pack(row[5]), row[6])
    if statement is _INSERT_RESULT:
        return (*row[:3], _pack(row[3]))
    return row


def _pack(data: bytes) -> bytes:
    return zstd.compress(data, 1)


def _run_row(row: tuple[Any, ...]) -> RunRow:
    number, name, started, finished, status, spec, summary = row
    return RunRow(
        id=number,
        name=name,
        started=started,
        finished=finished,
        status=status,
        spec=orjson.loads(zstd.decompress(spec)),
        summary=None if summary is None else orjson.loads(zstd.decompress(summary)),
    )

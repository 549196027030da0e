"""The store: one SQLite file that holds every paid call and every result. The only SQL of the project.

Promises: what ``commit`` has returned for is on disk and survives kill -9 and a power cut; two processes may use
one file; a store that is damaged is said to be, and set aside or left, never overwritten; a file that never was a store
is refused and stays as it is; an older file is brought
up to date when it is opened; trouble with the file is one line that says what to do. The store knows bytes and
rows, not judges or metrics.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import orjson

from ragstone.errors import ConfigError, StoreError
from ragstone.store.bloom import MOST as SIFTED
from ragstone.store.bloom import Sieve
from ragstone.store.rows import CallGroup, CallRow, ResultRow, RunRow, ScoreRow, Which
from ragstone.store.salvage import Saved, move_aside, save

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["PATIENCE", "USUAL", "VERSION", "CallGroup", "CallRow", "ResultRow", "RunRow", "ScoreRow", "Store", "Which"]

VERSION: Final = 2
USUAL: Final = ".ragstone/ragstone.db"
"""Where the store lies unless another place is named."""
PATIENCE: Final = 30.0
"""Seconds to wait for another process that writes."""
MAGIC: Final = b"SQLite format 3\0"
"""How every SQLite file begins."""
LEVEL: Final = 1
"""Of compression: the fastest; higher ones save a tenth of the space for twice the time."""

_PACKED: Final[dict[int, int]] = {
    zstd.CompressionParameter.compression_level: LEVEL,
    zstd.CompressionParameter.checksum_flag: 1,  # so that damage which SQLite does not see is seen
}
_BUSY = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))
_CLOSED_OFF = frozenset((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN))
_DAMAGED = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_FULL = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR))
_INSERT_CALL = "INSERT OR IGNORE INTO calls (key, judge, task, maker, request, reply, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_RESULT = "INSERT OR REPLACE INTO results (run, position, record, document) VALUES (?, ?, ?, ?)"
_INSERT_SCORE = (
    "INSERT OR REPLACE INTO scores (run, metric, position, value, status, asked, unjudged, low, high, outcome,"
    " calls, input_tokens, output_tokens, dollars, repeats) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT_SCORE = (
    "SELECT metric, position, value, status, asked, unjudged, low, high, outcome,"
    " calls, input_tokens, output_tokens, dollars, repeats FROM scores WHERE run = ?"
)


class Store:
    """An open store. It has no thread of its own and waits for nobody but the disk and other processes."""

    def __init__(self, path: Path | str, *, renew: bool = True) -> None:
        """Open or create the store at ``path`` (``:memory:`` keeps it in memory); StoreError if that fails.

        ConfigError for a file that is something else. A store that is damaged is set aside and a new one begun, which
        ``notes`` tell; without ``renew`` it is left as it is, and a StoreError.
        """
        self._renew = renew
        self.path = str(path)
        self.notes: list[str] = []
        self._packer = zstd.ZstdCompressor(options=_PACKED)
        self._sieve: Sieve | None = None
        self._alone = False
        self._known: tuple[int] | None = None
        if self.path == ":memory:":
            self._reader = self._writer = self._open()
        else:
            self._make_private(Path(self.path))
            self._reader = self._open()
            try:
                self._writer = self._connect()
            except sqlite3.Error as error:
                raise self._trouble(error, "cannot open the store") from error

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

    def reply(self, key: bytes, *, since: float = 0.0, latest: bool = False) -> bytes | None:
        """The stored reply (JSON) of a call, or None; also where it was stored before ``since`` (seconds, UTC).

        Once groups were begun, what another process stores is found from the next one on; at once with ``latest``.
        """
        if self._alone and not latest and self._sifted().lacks(key):
            return None
        row = self._row("SELECT reply FROM calls WHERE key = ? AND at >= ?", (key, since))
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

    def _sifted(self) -> Sieve:
        """The keys of all calls, while this process alone adds to them; a look is dear, for commits empty its cache."""
        if self._sieve is None:
            self._sieve = Sieve(key for (key,) in self._rows("SELECT key FROM calls LIMIT ?", (SIFTED + 1,)))
        return self._sieve

    # ---- upkeep

    def stands_on(self, keys: Iterable[bytes]) -> None:
        """Note calls as used; what ``calls_by`` and ``drop_calls`` take for unused is what was never noted."""
        self._write("CREATE TEMP TABLE IF NOT EXISTS used (key BLOB PRIMARY KEY) WITHOUT ROWID")
        self._write("BEGIN")
        self._write_many("INSERT OR IGNORE INTO temp.used VALUES (?)", [(key,) for key in keys])
        self._write("COMMIT")

    def calls_by(self, which: Which) -> list[CallGroup]:
        """The calls that ``which`` picks, counted by judge, step and maker."""
        where, parameters = _picked(which)
        counts = "count(*), sum(length(request) + length(reply)), min(at), max(at)"
        alike = "judge, task, maker"
        query = f"SELECT {alike}, {counts} FROM calls WHERE {where} GROUP BY {alike} ORDER BY {alike}"  # noqa: S608 - as below
        return [CallGroup(*row) for row in self._rows(query, parameters, writer=which.unused)]

    def drop_calls(self, which: Which) -> int:
        """Delete the calls that ``which`` picks; how many there were."""
        where, parameters = _picked(which)
        return self._change(f"DELETE FROM calls WHERE {where}", parameters).rowcount  # noqa: S608 - of constants

    def drop_runs(self, numbers: Iterable[int]) -> None:
        """Delete runs with their results; their calls stay."""
        for number in numbers:
            self.forget(number)

    def shrink(self) -> None:
        """Give the space of what was deleted back to the disk; StoreError while another process uses the store."""
        self._change("VACUUM", ())
        self._change("PRAGMA wal_checkpoint(TRUNCATE)", ())

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
        version = self._writer.execute("PRAGMA data_version").fetchone()
        if self._known is None:
            self._known, self._alone = version, self.path != ":memory:"
        elif version != self._known:  # another connection has changed the file
            self._alone = False

    def insert(
        self,
        calls: Sequence[CallRow],
        results: Sequence[tuple[int, ResultRow, Sequence[ScoreRow]]],
        *,
        since: float = 0.0,
    ) -> dict[bytes, bytes]:
        """Add paid calls, and results as (run, result, its scores), to the group; StoreError ends the group.

        Of two replies to the same call the first stays, if it was stored ``since`` then (seconds, UTC). Returned are
        the replies that stay in the place of given ones, by their keys.
        """
        if self._alone:
            self._sifted().add(call.key for call in calls)
        now = time.time()
        if since:
            self._write_many("DELETE FROM calls WHERE key = ? AND at < ?", [(call.key, since) for call in calls])
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
        """The stored replies of those calls that have another one than was given."""
        try:
            query = "SELECT reply FROM calls WHERE key = ?"
            rows = ((call, next(self._rows(query, (call.key,), writer=True))) for call in calls)
            return {call.key: reply for call, (blob,) in rows if (reply := self._unpacked(blob)) != call.reply}
        except StoreError as error:
            raise self._undone(error) from error

    def commit(self) -> None:
        """Return once the group is on disk; StoreError when it is not, and nothing of it is kept."""
        self._write("COMMIT")

    def _frame(self, data: bytes) -> bytes:
        return self._packer.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)

    def _write(self, statement: str) -> None:
        try:
            self._writer.execute(statement)
        except sqlite3.Error as error:
            raise self._undone(error) from error

    def _write_many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> int:
        """Write so many rows; how many were."""
        try:
            return self._writer.executemany(statement, rows).rowcount
        except (sqlite3.Error, OverflowError, UnicodeError) as error:  # the latter: a value that no database holds
            raise self._undone(error) from error

    def _undone(self, error: Exception) -> StoreError:
        with contextlib.suppress(sqlite3.Error):
            self._writer.execute("ROLLBACK")
        return error if isinstance(error, StoreError) else self._trouble(error, "cannot write")

    # ---- runs

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """What is read inside is all of one moment, whatever another process writes meanwhile. Not to be nested."""
        if self._reader is self._writer:  # in memory: there is no other process
            yield
            return
        self._reader.execute("BEGIN")
        try:
            yield
        finally:
            self._reader.execute("ROLLBACK")

    def start_run(self, name: str, spec: dict[str, Any]) -> int:
        """Enter a new run and return its number."""
        cursor = self._change(
            "INSERT INTO runs (name, started, status, spec) VALUES (?, ?, 'running', ?)",
            (name, time.time(), _pack(orjson.dumps(spec))),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def finish_run(self, run: int, status: str, summary: Mapping[str, Any]) -> None:
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

    def results(self, run: int, after: int = 0, until: int = sys.maxsize) -> Iterator[ResultRow]:
        """The results of a run in the order of the input, one at a time; also those between two places alone."""
        query = "SELECT position, record, document FROM results WHERE run = ? AND position > ? AND position <= ?"
        for position, record, document in self._rows(f"{query} ORDER BY position", (run, after, until)):
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

    def last_place(self, run: int) -> int:
        """The last place in the input that has a result; 0 where none has."""
        ((place,),) = self._rows("SELECT max(position) FROM results WHERE run = ?", (run,))
        return place or 0

    def places(self, run: int) -> set[int]:
        """The places in the input that have a result."""
        return {place for (place,) in self._rows("SELECT position FROM results WHERE run = ?", (run,))}

    def set_aside(self, run: int) -> int:
        """How many records of a run could not be read: they have a result and no scores."""
        query = (
            "SELECT count(*) FROM results AS r WHERE run = ?"
            " AND NOT EXISTS (SELECT 1 FROM scores AS s WHERE s.run = r.run AND s.position = r.position)"
        )
        ((number,),) = self._rows(query, (run,))
        return int(number)

    def scores_of(self, run: int, position: int) -> list[ScoreRow]:
        """The scores of one record, by metric."""
        query = _SELECT_SCORE + " AND position = ? ORDER BY metric"
        return [ScoreRow(*row) for row in self._rows(query, (run, position))]

    def failed(self, run: int) -> set[int]:
        """The places of the records that could not be read, or of which a judge gave no verdict on something."""
        query = (
            "SELECT position FROM scores WHERE run = ? AND (status = 'judge_failed' OR unjudged > 0"
            " OR (value IS NOT NULL AND instr(repeats, 'null') > 0)) UNION"  # failed at a later time of asking
            " SELECT position FROM results AS r WHERE run = ?"
            " AND NOT EXISTS (SELECT 1 FROM scores AS s WHERE s.run = r.run AND s.position = r.position)"
        )
        return {position for (position,) in self._rows(query, (run, run))}

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
        found = self._file()
        if self._is_foreign():
            raise ConfigError(
                f"{self.path}: not a store of Ragstone, and left as it is; name another file with --store"
            )
        try:
            return self._connect_current()
        except sqlite3.Error as error:
            trouble = self._trouble(error, "cannot open the store")
            if not (trouble.damaged and self._renew):
                raise trouble from error
        # Where another process was faster it is a new file.
        aside = move_aside(self.path) if self._file() == found else ""
        self._make_private(Path(self.path))
        try:
            connection = self._connect_current()
            if aside:
                saved = self._saved(aside, connection)
                begun = (
                    f"a new one was begun with what could be read of it: {saved}" if saved else "a new one was begun"
                )
                told = [f"the store was damaged and is set aside as {aside}", begun, saved.losses()]
                self.notes.append("; ".join(part for part in told if part))
        except sqlite3.Error as error:
            raise self._trouble(error, "cannot open the store") from error
        return connection

    def put_aside(self) -> str:
        """Set a store aside that turned out to be damaged, and begin a new one with what can be read of it.

        Returned is what was done, for the user. OSError where the file cannot be renamed; then it is as it was.
        """
        self.close()
        aside = move_aside(self.path)
        with contextlib.suppress(StoreError, sqlite3.Error), Store(self.path) as fresh:
            if saved := self._saved(aside, fresh._writer):
                read = f"{saved} could be read and are in a new one: the same command goes on"
                return "; ".join(part for part in (f"it is set aside as {aside}", read, saved.losses()) if part)
        return f"it is set aside as {aside}; the same command begins a new one"

    def _saved(self, aside: str, connection: sqlite3.Connection) -> Saved:
        """Save what can be read of a file that was set aside."""
        return save(aside, connection, self._unpacked, self._frame)

    def _file(self) -> int | None:
        """What tells the file from another of its name."""
        try:
            return os.stat(self.path).st_ino  # noqa: PTH116 - the path is a string, :memory: for one
        except OSError:
            return None

    def _is_foreign(self) -> bool:
        """Whether the file is something else: no database, or one of another program.

        A store may have lost its beginning (zeros), or have all it holds in a log beside it. The file is only read.
        """
        path = Path(self.path)
        if self.path == ":memory:" or path.with_name(f"{path.name}-wal").exists():
            return False
        try:
            with path.open("rb") as file:
                head = file.read(len(MAGIC))
            if head != MAGIC:
                return bool(head.strip(b"\0"))
            with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)) as found:
                tables = {name for (name,) in found.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except (OSError, sqlite3.Error):  # what is wrong with it is told when it is opened
            return False
        return bool(tables) and not {"calls", "runs"} <= tables

    def _trouble(self, error: Exception, what: str) -> StoreError:
        """One line on what SQLite says, with what to do about it."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        place = "choose another place with --store"
        if code in _DAMAGED:
            return StoreError(f"{self.path}: the store is damaged ({error})", damaged=True)
        if code in _BUSY:
            return StoreError(
                f"{self.path}: another process has kept the store busy for {PATIENCE:g} s; "
                f"wait for it to end, or {place}"
            )
        hint = ""
        if code in _CLOSED_OFF:
            hint = f"; the file or its folder cannot be written: make both writable, or {place}"
        elif code in _FULL:
            hint = f"; free space or {place}"
        return StoreError(f"{self.path}: {what} ({error}){hint}")

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
                for statement in _statements(version):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")

    def _rows(self, query: str, parameters: tuple[Any, ...] = (), *, writer: bool = False) -> Iterator[tuple[Any, ...]]:
        """The rows, one at a time; StoreError wherever among them the file is damaged."""
        try:
            yield from (self._writer if writer else self._reader).execute(query, parameters)
        except sqlite3.Error as error:
            raise self._trouble(error, "cannot read") from error

    def _row(self, query: str, parameters: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return next(self._rows(query, parameters), None)

    def _unpacked(self, data: bytes) -> bytes:
        try:
            return zstd.decompress(data)
        except zstd.ZstdError as error:
            raise StoreError(f"{self.path}: the store is damaged (cannot unpack: {error})", damaged=True) from error

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
            raise self._trouble(error, "cannot write") from error


def _picked(which: Which) -> tuple[str, tuple[Any, ...]]:
    parts: list[tuple[str, tuple[Any, ...]]] = [("1", ())]
    if which.before is not None:
        parts.append(("at < ?", (which.before,)))
    if which.judge:
        parts.append(("judge = ?", (which.judge,)))
    if which.unused:
        parts.append(("key NOT IN (SELECT key FROM temp.used)", ()))
    return " AND ".join(text for text, _ in parts), tuple(value for _, values in parts for value in values)


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


def _statements(version: int) -> list[str]:
    """What brings a store of this version (0: an empty file) up to date: the later parts of schema.sql, in order."""
    text = resources.files("ragstone.store").joinpath("schema.sql").read_text(encoding="utf-8")
    later = [part for part in text.split("-- version ")[1:] if int(part.split(maxsplit=1)[0]) > version]
    lines = [line.split("--")[0] for part in later for line in part.splitlines()[1:]]
    return [statement for part in "\n".join(lines).split(";") if (statement := part.strip())]


def _pack(data: bytes) -> bytes:
    return zstd.compress(data, options=_PACKED)

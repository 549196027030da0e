"""The SQLite file of a store: open it, migrate it, and describe in one line what is wrong with it.

Guarantees: a file that is not a store is never changed. Opening an older store migrates it; a newer one is rejected.
Only the user can read a new file.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from importlib import resources
from pathlib import Path
from typing import Final

from ragstone.errors import StoreError

VERSION: Final = 6
PATIENCE: Final = 30.0
"""Seconds to wait for another process that is writing."""
ELSEWHERE: Final = "choose another place with --store"
MAGIC: Final = b"SQLite format 3\0"
"""The first bytes of every SQLite file."""

_NETWORK: Final = frozenset(
    "nfs nfs4 cifs smb3 smbfs 9p afs ceph fuse glusterfs lustre gpfs beegfs orangefs ncpfs virtiofs".split()  # noqa: SIM905
)
"""File systems that other machines may write to, where SQLite's locks and shared memory do not work."""
_BUSY = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))
_CLOSED_OFF = frozenset((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN))
_DAMAGED = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_FULL = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR))


def connect(path: str, *, migrate: bool = False) -> sqlite3.Connection:
    """Connect so that writes wait for other processes and reach the disk; ``migrate`` an older store first.

    Raises StoreError for a newer store, sqlite3.Error for other problems.
    """
    connection = sqlite3.connect(
        path, timeout=PATIENCE, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    try:
        _use_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if migrate:
            _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def begin(connection: sqlite3.Connection, *, wait: bool) -> bool:
    """Begin a transaction that writes. While another connection writes, wait, or return False."""
    connection.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE * wait:.0f}")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if wait or error.sqlite_errorcode & 0xFF not in _BUSY:
            raise
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE:.0f}")
    return True


def make_private(path: str) -> None:
    """Create the file, if it does not exist, readable by the user only; raise StoreError if that fails."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not Path(path).exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"{path}: cannot create the store ({error.strerror}); {ELSEWHERE}") from error


def network_mount(path: Path | str) -> str:
    """Return the network file system of a path, as ``nfs4 at /home``; empty if it is on none.

    Also empty where the system does not say (only Linux does).
    """
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    there = Path(os.path.realpath(path))
    found = ("", Path("/"))
    for line in lines:
        mount, _, source = line.partition(" - ")
        place = Path(mount.split(" ")[4].encode("latin-1", "replace").decode("unicode_escape"))
        if there.is_relative_to(place) and len(place.parts) >= len(found[1].parts):
            found = source.split(" ")[0], place
    kind, place = found
    return f"{kind} at {place}" if kind in _NETWORK or kind.startswith("fuse.") else ""


def identity(path: Path | str) -> int | None:
    """Return a number that distinguishes this file from another of the same name; None if there is none."""
    try:
        return os.stat(path).st_ino  # noqa: PTH116 - the path is a string, :memory: for one
    except OSError:
        return None


def is_foreign(path: str) -> bool:
    """Return whether the file is not a store: not a database, or one of another program. Does not change the file.

    A store may have lost its beginning (zeros), or have all of its content in a log beside it.
    """
    if path == ":memory:" or Path(f"{path}-wal").exists():
        return False
    try:
        with Path(path).open("rb") as file:
            head = file.read(len(MAGIC))
        if head != MAGIC:
            return bool(head.strip(b"\0"))
        with contextlib.closing(sqlite3.connect(f"{Path(path).resolve().as_uri()}?immutable=1", uri=True)) as found:
            tables = {name for (name,) in found.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except (OSError, sqlite3.Error):  # opening it reports what is wrong
        return False
    return bool(tables) and not {"calls", "runs"} <= tables


def damaged(path: str, found: str) -> StoreError:
    """Return the error of a damaged store, which the next run replaces."""
    return StoreError(f"{path}: the store is damaged ({found}); to recover it, evaluate again", damaged=True)


def busy(path: str) -> str:
    """Return the message that another connection has been writing for too long."""
    return f"{path}: another process has kept the store busy for {PATIENCE:g} s; wait for it to end, or {ELSEWHERE}"


def trouble(path: str, error: Exception, what: str) -> StoreError:
    """Return the error that says in one line what SQLite could not do and what to do about it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED:
        return damaged(path, str(error))
    if code in _BUSY:
        return StoreError(busy(path))
    hint = ""
    if code in _CLOSED_OFF:
        hint = f"; the file or its folder cannot be written: make both writable, or {ELSEWHERE}"
        if Path(path).is_dir():
            hint = "; this is a folder: specify a file with --store"
    elif code in _FULL:
        hint = f"; free space or {ELSEWHERE}"
    return StoreError(f"{path}: {what} ({error}){hint}")


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError(
            f"{path}: made by a newer version of Ragstone (format {version}; this version reads {VERSION}); upgrade"
        )
    if version < VERSION:
        connection.execute("PRAGMA foreign_keys = OFF")  # dropping a table that is replaced deletes no rows of others
        connection.execute("BEGIN EXCLUSIVE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version < VERSION:  # another process may have done it first
            for statement in _statements(version):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
        connection.execute("PRAGMA foreign_keys = ON")


def _use_log(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log, waiting (as SQLite does not) while other processes create the same store."""
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
    """Return the parts of schema.sql that migrate a store from this version (0: an empty file)."""
    text = resources.files("ragstone.store").joinpath("schema.sql").read_text(encoding="utf-8")
    later = [part for part in text.split("-- version ")[1:] if int(part.split(maxsplit=1)[0]) > version]
    lines = [line.split("--")[0] for part in later for line in part.splitlines()[1:]]
    return [statement for part in "\n".join(lines).split(";") if (statement := part.strip())]

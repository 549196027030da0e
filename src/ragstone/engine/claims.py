"""Send each call once across processes: the sender holds a lock on it until the reply is on disk.

Guarantees: of all processes that share a store, only one sends a given call at a time. When a process ends, for
whatever reason, its locks are free at once. A process that is alone does not look for replies of others. A process
that makes no progress is waited for no longer than a call may take. On systems without such locks (Windows), each
process sends its own calls.

A lock covers one byte of a file beside the store, at an offset derived from the call's key. Each engine that joins
others appends a byte to the file, so its length shows whether another has joined since.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Final

from ragstone.judges.base import Failed, Reply, reply_from_json
from ragstone.store.database import Store

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_PRESENT: Final = 0
"""The byte on which every engine holds a shared lock."""
_CALLS: Final = 1 << 32
"""Offset of the bytes that stand for calls."""
_SOONEST: Final = 0.02
_LATEST: Final = 0.5
"""Seconds between two checks of a call that another process holds: initially, and at most."""


class Elsewhere(Exception):  # noqa: N818 - no error
    """Another process is sending the call or has just stored its reply."""


class Claims:
    """The calls that this engine sends from a store that other processes may use."""

    def __init__(self, store: Store, *, since: Callable[[bytes], float]) -> None:
        """Ignore replies stored before ``since`` of their key (seconds, UTC)."""
        self._store = store
        self._since = since
        self._file: int | None = None
        self._alone = 0
        self._ours: set[bytes] = set()

    def open(self) -> None:
        """Start claiming calls; before that, and where locks are not supported, every claim is granted."""
        if self._store.path == ":memory:" or fcntl is None:
            return
        try:
            self._file = os.open(
                f"{self._store.path}-claims", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
            if self._locked(fcntl.F_WRLCK, _PRESENT) and self._file is not None:
                os.ftruncate(self._file, 0)
                self._alone = 1
            while not self._locked(fcntl.F_RDLCK, _PRESENT):  # another engine is starting
                time.sleep(0.001)
            if self._file is not None:
                os.write(self._file, b"\0")
        except OSError:
            self.close()

    def claim(self, key: bytes) -> None:
        """Claim a call until ``leave``; raise Elsewhere if another process holds it or has stored its reply."""
        if self._file is None or key in self._ours:
            return
        if not self._locked(fcntl.F_WRLCK, _place(key)):
            raise Elsewhere
        self._ours.add(key)
        if self._joined() and self._stored(key) is not None:
            raise Elsewhere

    def leave(self, key: bytes) -> None:
        """Release a call if this engine claimed it."""
        if key in self._ours:
            self._ours.remove(key)
            self._locked(fcntl.F_UNLCK, _place(key))

    async def once(
        self, key: bytes, send: Callable[[], Awaitable[Reply | Failed]], patience: float
    ) -> tuple[Reply | Failed, bool]:
        """Send a call once for all processes; return its outcome and whether another process got the reply.

        If the other process releases the call without a reply, or holds it for over ``patience`` seconds, it is sent
        here.
        """
        try:
            return await send(), False
        except Elsewhere:
            pause = _SOONEST
            while key not in self._ours and patience > 0 and not self._locked(fcntl.F_WRLCK, _place(key)):
                await asyncio.sleep(pause)
                patience -= pause
                pause = min(_LATEST, 1.5 * pause)
        self._ours.add(key)
        stored = self._stored(key)
        return (await send(), False) if stored is None else (reply_from_json(stored), True)

    def _joined(self) -> bool:
        """Return whether another engine has joined since this one started; lseek takes a fifth of fstat's time."""
        return self._file is not None and os.lseek(self._file, 0, os.SEEK_END) != self._alone

    def _stored(self, key: bytes) -> bytes | None:
        return self._store.reply(key, since=self._since(key))

    def close(self) -> None:
        """Release everything."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _locked(self, kind: int, place: int) -> bool:
        """Lock or release a byte; return False if another process holds it, True where locks are not supported."""
        if self._file is None:
            return True
        try:
            if sys.platform == "linux":  # like lockf, but also between two engines in one process
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, struct.pack("hhqqq", kind, os.SEEK_SET, place, 1, 0))
            else:
                held = {fcntl.F_WRLCK: fcntl.LOCK_EX, fcntl.F_RDLCK: fcntl.LOCK_SH, fcntl.F_UNLCK: fcntl.LOCK_UN}
                fcntl.lockf(self._file, held[kind] | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # on some network drives
            self.close()
        return True


def _place(key: bytes) -> int:
    return _CALLS + (int.from_bytes(key[:8], "big") >> 2)

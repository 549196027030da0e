"""Write calls and results to the store in groups: one commit for all that came during the last.

Promises: whoever waits for a reply to be on disk is told when it is, or why it cannot be; where another process was
faster with the same call, they hear its reply, which is the one on disk; the loop never waits for the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Sized
from typing import Final

from ragstone.errors import RagstoneError, StoreError
from ragstone.judges.base import Call, Reply, reply_from_json, reply_to_json
from ragstone.store.database import CallRow, ResultRow, ScoreRow, Store

Durable = Callable[[Reply | StoreError], None]
"""Called with the reply that is on disk, or with the reason why none can be."""

LINGER: Final = 0.02
"""The most seconds that a write waits for others to share its commit."""
SHARE: Final = 0.2
"""The most that this wait may be as a share of a call's usual time."""


class Writer:
    """Write calls and results.

    ``halt`` hears what ends the run. ``flying`` are the calls on their way, until their replies are on disk. A reply
    replaces one that was stored before ``since`` (seconds, UTC).
    """

    def __init__(
        self, store: Store, halt: Callable[[RagstoneError], None], flying: Sized = (), *, since: float = 0.0
    ) -> None:
        self._store = store
        self._halt = halt
        self._flying = flying
        self._since = since
        self._calls: list[tuple[CallRow, Reply, Durable]] = []
        self._results: list[tuple[int, ResultRow, Sequence[ScoreRow]]] = []
        self._usual: float | None = None
        self._dirty = asyncio.Event()
        self._one_group = asyncio.Lock()

    def result(self, run: int, row: ResultRow, scores: Sequence[ScoreRow]) -> None:
        """Write a result with the next group."""
        self._results.append((run, row, scores))
        self._dirty.set()

    def call(self, call: Call, reply: Reply, durable: Durable) -> None:
        """Write a reply with the next group; ``durable`` is called with the outcome."""
        row = CallRow(call.key, call.judge, call.task, call.maker, call.body, reply_to_json(reply, call.units))
        self._calls.append((row, reply, durable))
        self._dirty.set()

    def heed(self, seconds: float) -> None:
        """Take in how long a call took."""
        self._usual = seconds if self._usual is None else 0.95 * self._usual + 0.05 * seconds

    async def write(self) -> None:
        """Write groups as they gather, until cancelled."""
        while True:
            await self._dirty.wait()
            if not self._calls or len(self._flying) > len(self._calls):  # else nobody follows, and all wait for this
                await asyncio.sleep(LINGER if self._usual is None else min(LINGER, SHARE * self._usual))
            await asyncio.shield(asyncio.ensure_future(self.write_group()))

    async def write_group(self) -> None:
        """Write what has gathered, in one commit."""
        async with self._one_group:
            await self._write_what_is_there()

    async def _write_what_is_there(self) -> None:
        self._dirty.clear()
        calls, self._calls = self._calls, []
        results, self._results = self._results, []
        if not calls and not results:
            return
        loop = asyncio.get_running_loop()
        trouble: StoreError | None = None
        others: dict[bytes, bytes] = {}
        try:
            # Beginning and committing can wait for others and for the disk, so they have a thread. The rows are
            # added here: each row would have the thread wait for the interpreter's lock, which this loop holds.
            await loop.run_in_executor(None, self._store.begin)
            others = self._store.insert([row for row, _, _ in calls], results, since=self._since)
            await loop.run_in_executor(None, self._store.commit)
        except StoreError as error:
            trouble = error
        except Exception as error:  # noqa: BLE001 - the edge: whoever waits for the disk must hear of any trouble
            trouble = StoreError(f"{self._store.path}: cannot write ({type(error).__name__}: {error})")
        if trouble is not None:
            self._halt(trouble)
        for row, reply, durable in calls:
            durable(trouble or (reply_from_json(others[row.key]) if row.key in others else reply))

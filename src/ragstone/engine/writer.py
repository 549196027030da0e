"""Write calls and results to the store in groups: one commit for everything that arrived during the previous one.

Guarantees: whoever waits for a reply to reach the disk learns when it has, or why it cannot. If another process
stored a reply to the same call first, they get that reply. The event loop never waits for the disk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence, Sized
from typing import Final

from ragstone.errors import RagstoneError, StoreError
from ragstone.judges.base import Call, Reply, reply_from_json, reply_to_json
from ragstone.store.connection import PATIENCE, busy
from ragstone.store.database import CallRow, ResultRow, ScoreRow, Store

Durable = Callable[[Reply | StoreError], None]
"""Called with the reply that is on disk, or with the error that prevents it."""

LINGER: Final = 0.02
"""Maximum seconds that a write waits for others to share its commit."""
RETRY: Final = 0.005
"""Seconds between attempts to begin a group while another connection writes."""
SHARE: Final = 0.2
"""The same as a share of the usual duration of a call."""


class Writer:
    """Write calls and results.

    ``halt`` is called with the error that ends the run. ``flying`` holds the calls in flight until their replies are
    on disk. A reply replaces one stored before ``since`` of its key (seconds, UTC).
    """

    def __init__(
        self,
        store: Store,
        halt: Callable[[RagstoneError], None],
        flying: Sized = (),
        *,
        since: Callable[[bytes], float] = lambda _key: 0.0,
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
        """Note how long a call took."""
        self._usual = seconds if self._usual is None else 0.95 * self._usual + 0.05 * seconds

    async def write(self) -> None:
        """Write groups as they form, until cancelled."""
        while True:
            await self._dirty.wait()
            if not self._calls or len(self._flying) > len(self._calls):  # else no more will come before this is written
                await asyncio.sleep(LINGER if self._usual is None else min(LINGER, SHARE * self._usual))
            await asyncio.shield(asyncio.ensure_future(self.write_group()))

    async def write_group(self) -> None:
        """Write everything queued, in one commit."""
        async with self._one_group:
            await self._write_what_is_there()

    async def _begun(self) -> None:
        """Begin a group as soon as no other connection writes; raise StoreError after too long a wait."""
        end = time.monotonic() + PATIENCE
        while not self._store.begin(wait=False):
            if time.monotonic() > end:
                raise StoreError(busy(self._store.path))
            await asyncio.sleep(RETRY)

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
            # The commit waits for the disk, so it runs in a thread. Rows are inserted here: in the thread, each row
            # would wait for the interpreter lock that this loop holds. From begin until the commit is handed to its
            # thread, nothing else may run on this loop: a second run that waits for the store would block both.
            await self._begun()
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

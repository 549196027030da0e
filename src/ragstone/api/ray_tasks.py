"""Run the shards of a run as Ray tasks, on this machine or a cluster; an actor lends them shares of the run's limits.

Guarantees: if a shard's process or machine dies, or its upload is lost, it is run again and replays the stored calls.
After an interrupt, every task still hands in what it has. Ray's usage statistics are off. A Ray instance started here
requires a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ragstone.analysis.run import Run
from ragstone.api.shards import Shards
from ragstone.api.workers import DEATHS, LEAST, Ended, portable
from ragstone.engine.leases import Ask, Grant, Ledger, Lender
from ragstone.engine.settings import Limits
from ragstone.engine.tally import Tally
from ragstone.errors import ConfigError, RagstoneError, WorkerError
from ragstone.judges.base import processors
from ragstone.options import RunOptions

Evaluate = Callable[[Any, RunOptions, Lender], Run]
OFTEN: Final = 0.25
"""Seconds between polls of the tasks."""
PATIENCE: Final = 30.0
"""Seconds that interrupted tasks have to hand in their calls."""
REACHED: Final = 10.0
"""Timeout in seconds for connecting to a cluster."""
MEMORY: Final = 100 << 20
"""Size of Ray's object store on this machine in bytes; small, because nothing large is sent."""
_TOKEN: Final = secrets.token_hex(32)


class RayTasks:
    """The tasks of one run; ``tally`` adds up the counts of all tasks."""

    def __init__(self, run: Evaluate, options: RunOptions, limits: Limits, tally: Tally) -> None:
        """Raise ConfigError if Ray is not installed. ``run`` evaluates a shard."""
        self._address = options.address
        self._evaluate = run
        self._options = options
        self._limits = limits
        self._tally = tally
        self._attempts: Counter[int] = Counter()
        self._deaths: Counter[int] = Counter()
        self._earlier = 0
        with self._environment():
            try:
                import ray  # noqa: PLC0415 - an extra
            except ImportError as error:
                raise ConfigError("--engine ray needs Ray; install it with: pip install 'ragstone[ray]'") from error
        self._ray: Any = ray

    @contextlib.contextmanager
    def _environment(self) -> Iterator[None]:
        wanted = {"RAY_USAGE_STATS_ENABLED": "0"}
        if not self._address:  # Ray's ports are open to the network and execute any code they receive
            wanted |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _TOKEN}
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                os.environ.update({} if value is None else {name: value})

    @contextlib.asynccontextmanager
    async def connected(self, records: int) -> AsyncIterator[int]:
        """Connect to the cluster, or start one here; yield the number of shards suitable for this many records."""
        ray, there = self._ray, self._ray.is_initialized()
        here = {"num_cpus": self._options.workers or processors(), "object_store_memory": MEMORY}
        more = {} if self._address else {**here, "include_dashboard": False}
        with self._environment():
            try:
                host, _, port = (self._address or "").rpartition(":")
                if port.isdecimal():
                    socket.create_connection((host, int(port)), REACHED).close()  # Ray itself tries for minutes
                if not there:
                    ray.init(self._address or "local", log_to_driver=False, logging_level="critical", **more)
            except (RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
                told = " ".join(str(error).split())[:200]
                raise ConfigError(f"--engine ray: cannot connect to {self._address or 'Ray'} ({told})") from error
            try:
                self._ledger = ray.remote(num_cpus=0)(_SharedLedger).remote(self._limits)
                yield max(1, min(int(ray.cluster_resources().get("CPU", 1)), records // LEAST))
            finally:
                if there:
                    ray.kill(self._ledger)
                else:
                    ray.shutdown()

    async def evaluate(self, shards: Shards, source: Any, store: Path) -> None:
        """Evaluate the missing shards, and copy the calls of all shards to the store."""
        missing = shards.missing()
        self._earlier = shards.records()
        for left in reversed(range(DEATHS)):
            await self._run(missing, shards.of, source)
            try:
                return shards.unite(store)
            except ConfigError:
                missing = shards.missing()
                if not (missing and left):
                    raise
        return None

    async def _run(self, numbers: list[int], of: int, source: Any) -> None:
        pending = {self._start(number, of, source): number for number in numbers}
        try:
            while pending:
                await asyncio.sleep(OFTEN)
                await self._count()
                for ref in self._ray.wait(list(pending), num_returns=len(pending), timeout=0)[0]:
                    number = pending.pop(ref)
                    if not await self._finished(ref, number, of):
                        pending[self._start(number, of, source)] = number
        except self._ray.exceptions.RayActorError as error:
            hint = "run the same command again: finished work is stored"
            raise WorkerError("the process that enforces the shared limits ended unexpectedly", hint=hint) from error
        finally:
            await self._stop(list(pending))
            with contextlib.suppress(self._ray.exceptions.RayError):
                await self._count()

    def _start(self, number: int, of: int, source: Any) -> Any:
        self._attempts[number] += 1
        without: dict[str, Any] = dict.fromkeys(("engine", "address", "on_start", "on_result"))
        options = replace(self._options, **without, workers=1, estimate=False, shard=f"{number}/{of}")
        task = self._ray.remote(num_cpus=1, max_retries=0)(_evaluate).options(name=f"ragstone {number}/{of}")
        return task.remote(
            self._evaluate, source, options, (number, self._attempts[number]), self._ledger, str(Path.cwd())
        )

    async def _finished(self, ref: Any, number: int, of: int) -> bool:
        """Return True if a shard is done, False if its process or machine died; raise any error that ended it."""
        worker, errors = (number, self._attempts[number]), self._ray.exceptions
        try:
            ended = self._ray.get(ref)
        except errors.RayTaskError:
            raise
        except errors.RayError as error:
            await self._ledger.end.remote(worker)
            told = (await self._ledger.tallies.remote()).get(worker)
            self._deaths[number] = 1 + (0 if told is not None and told.answered else self._deaths[number])
            if self._deaths[number] == DEATHS:
                how = str(error).partition(". ")[0]
                raise WorkerError(f"shard {number}/{of} ended unexpectedly {DEATHS} times ({how})") from error
            return False
        if (trouble := ended.trouble()) is not None:
            vars(trouble).pop("__notes__", None)  # they are about the shard's own run
            raise trouble
        await self._ledger.end.remote(worker)
        return True

    async def _count(self) -> None:
        tallies: dict[tuple[int, int], Tally] = await self._ledger.tallies.remote()
        latest = {shard: tally.records for (shard, _), tally in sorted(tallies.items())}
        self._tally.records = self._earlier + sum(latest.values())
        if tallies:
            self._tally.take(list(tallies.values()))
            self._tally.limit = next((tally.limit for tally in tallies.values() if tally.limit()), str)

    async def _stop(self, pending: list[Any]) -> None:
        """Interrupt tasks, and wait until they have handed in their calls."""
        for ref in pending:
            self._ray.cancel(ref)
        end = time.monotonic() + PATIENCE
        while pending and time.monotonic() < end:
            _, pending = self._ray.wait(pending, num_returns=len(pending), timeout=0)
            await asyncio.sleep(OFTEN)


# ---- in the processes of Ray


class _SharedLedger(Ledger):
    """A ledger that reads the clock itself."""

    def ask(self, asked: Ask) -> Grant:
        return self.trade(time.monotonic(), asked)


def _evaluate(
    run: Evaluate, source: Any, options: RunOptions, worker: tuple[int, int], ledger: Any, folder: str
) -> Ended:
    """Evaluate one shard; errors are returned, because some cannot be pickled directly."""
    from ray.exceptions import RayError  # noqa: PLC0415 - an extra

    async def ask(asked: Ask) -> Grant:
        try:
            grant: Grant = await ledger.ask.remote(asked)
        except RayError as error:
            raise WorkerError("the process that enforces the shared limits cannot be reached") from error
        return grant

    with contextlib.suppress(OSError):  # another machine may not have this folder; it then needs absolute paths
        os.chdir(folder)
    try:
        run(source, options, Lender(worker, ask)).store.close()
    except RagstoneError as error:
        return portable(error)
    return Ended()

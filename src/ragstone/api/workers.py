"""Distribute a run's records over n local processes: each evaluates every n-th, and the parent writes the results.

Guarantees: results come in input order and are byte for byte those of a single process. A killed process is restarted
after the last record it delivered, and replays the calls it had stored. All workers end when the parent does, however
it ends. The number of undelivered results is bounded, so memory use stays flat.

A worker is a new Python process, not a fork: a process with threads and open databases cannot be forked safely, and
multiprocessing would run the caller's script again. It receives the plan on standard input, works until that is closed,
and writes frames to standard output. Rates and budget are lent to it through a separate pipe, because its results may
have to wait. All data is pickled: no other process can access these pipes.
"""

from __future__ import annotations

import asyncio
import contextlib
import copyreg
import os
import pickle
import signal
import struct
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ragstone import metrics
from ragstone.api.jobs import Earlier, Share, jobs_of
from ragstone.api.loop import run_here
from ragstone.api.plan import Plan
from ragstone.engine.document import Weighed
from ragstone.engine.leases import Ask, Grant, Ledger, Lender
from ragstone.engine.run import Engine
from ragstone.engine.tally import Tally
from ragstone.engine.writer import Writer
from ragstone.errors import ConfigError, RagstoneError, WorkerError
from ragstone.judges.base import is_inside, processors
from ragstone.store.database import ResultRow, ScoreRow, Store

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LEAST: Final = 256
"""The number of records that justifies a process, unless the caller sets the number of processes."""
DEATHS: Final = 3
"""Give up after a process has died this many times without a new result or a newly stored reply."""
FEWER: Final = "use fewer --workers if memory is short, or --workers 1 to see the error"

_SIZE: Final = struct.Struct("<Q")
_BEGIN: Final = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from ragstone.api.workers import work; work()"
)


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


class Ended(Struct, frozen=True):
    """The last frame of a worker: its share is done, or an error ended it (class, arguments and attributes)."""

    error: tuple[type[RagstoneError], tuple[Any, ...], dict[str, Any]] | None = None

    def trouble(self) -> RagstoneError | None:
        """Return the error that ended it, if any."""
        if self.error is None:
            return None
        kind, arguments, attributes = self.error
        made = kind.__new__(kind, *arguments)
        made.args = arguments
        made.__dict__.update(attributes)
        return made


def portable(error: RagstoneError) -> Ended:
    """Return an error in a form that another process can read."""
    return Ended((type(error), error.args, error.__dict__))


def processes(plan: Plan) -> int:
    """Return the number of processes that evaluate the records of a plan."""
    wanted = plan.spec.workers
    if wanted is not None:
        return min(wanted, max(1, plan.total))
    computed = all(is_inside(one) and getattr(one, "threads", 1) == 1 for one in plan.routes.backends())
    return max(1, min(processors(), plan.total // LEAST)) if computed else 1


def shared(plan: Plan, store: Store, earlier: Earlier | None) -> Workers | None:
    """Return the workers of a plan, or None if a single process evaluates all records.

    Raises ConfigError if the caller asks for several but they are impossible, e.g. for a store in memory or an object
    that cannot be pickled.
    """
    count = processes(plan)
    if count == 1:
        return None
    trouble = ""
    data = b""
    if os.name != "posix":
        trouble = "this system has no POSIX pipes"
    elif store.path == ":memory:":
        trouble = "a store in memory cannot be shared"
    else:
        try:
            data = pickle.dumps((plan, 0 if earlier is None else earlier.run))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            trouble = f"the judge, the metrics or the input cannot be sent to another process ({error})"
        if b"\x8c\x08__main__" in data:  # the name of a module, as pickle writes it
            trouble = "objects defined in the script itself cannot be sent to another process; move them to a module"
    if not trouble:
        return Workers(plan, store, data, count)
    if plan.spec.workers is None:
        return None
    raise ConfigError(f"--workers {plan.spec.workers}: {trouble}; use --workers 1")


class Workers:
    """The worker processes of one run, with the interface of an engine: ``run``, ``tally`` and ``keep``."""

    def __init__(self, plan: Plan, store: Store, data: bytes, count: int) -> None:
        self.tally = Tally()
        self.tally.limit = self._limit
        limits = plan.spec.engine.limits
        self.tally.budget, self.tally.most_calls, self.tally.most_tokens = limits.cost, limits.calls, limits.tokens
        self._ledger = Ledger(limits)
        self._cascading = plan.routes.cascading()
        self._writer = Writer(store, self._halt)
        self._trouble: RagstoneError | None = None
        self._workers = [
            _Worker(Share(first, count), data, self._ledger, self._count, keeps=plan.spec.engine.cache != "off")
            for first in range(1, count + 1)
        ]

    def keep(self, run: int, row: ResultRow, scores: Sequence[ScoreRow]) -> None:
        """Queue a result for the writer."""
        self.tally.kept += 1
        self._writer.result(run, row, scores)

    async def run(self) -> AsyncGenerator[Weighed, None]:
        """Yield the results in input order, as ``Engine.run`` does, and raise the error that ended the run."""
        writing = asyncio.create_task(self._writer.write())
        done = 0
        ended: BaseException | None = None
        try:
            try:
                await asyncio.gather(*(worker.start() for worker in self._workers))
                while self._trouble is None and (weighed := await self._turn(done).result()) is not None:
                    done += 1
                    yield self._counted(weighed)
            except (asyncio.CancelledError, RagstoneError) as error:
                ended = error
            # Also after an error or interrupt: keep finished results, and wait for calls already sent.
            for weighed in await self._rest(done):
                yield self._counted(weighed)
        finally:
            for worker in self._workers:
                worker.kill()
            writing.cancel()
            await asyncio.gather(writing, *(worker.gone() for worker in self._workers), return_exceptions=True)
            await self._writer.write_group()
        trouble = ended or self._trouble or next(filter(None, (one.error for one in self._workers)), None)
        if trouble is not None:
            raise trouble

    def _turn(self, done: int) -> _Worker:
        return self._workers[done % len(self._workers)]

    async def _rest(self, done: int) -> list[Weighed]:
        """Stop all workers; return the finished results (for a cascade only up to the first gap, as an engine does)."""
        for worker in self._workers:
            worker.stop()
        rest = {worker: await worker.rest() for worker in self._workers}
        if not self._cascading:
            return sorted((weighed for found in rest.values() for weighed in found), key=lambda found: found.position)
        found: list[Weighed] = []
        while following := rest[self._turn(done + len(found))]:
            found.append(following.pop(0))
        return found

    def _counted(self, weighed: Weighed) -> Weighed:
        self.tally.records += 1
        return weighed

    def _count(self) -> None:
        self.tally.take(list(self._ledger.tallies().values()))

    def _limit(self) -> str:
        return ", ".join(dict.fromkeys(filter(None, (tally.limit() for tally in self._ledger.tallies().values()))))

    def _halt(self, error: RagstoneError) -> None:
        self._trouble = self._trouble or error


class _Worker:
    """One process and its share of the records; a restarted process borrows as a new worker."""

    def __init__(self, share: Share, data: bytes, ledger: Ledger, counted: Callable[[], None], *, keeps: bool) -> None:
        self.error: RagstoneError | None = None
        self._ledger = ledger
        self._number = share.first, 0
        self._counted = counted
        self._data = data
        self._share = share
        self._keeps = keeps
        self._process: asyncio.subprocess.Process | None = None
        self._deaths = 0
        self._over = False

    async def result(self) -> Weighed | None:
        """Return its next result, or None if there are no more."""
        while not self._over:
            if self._process is None:
                await self.start()
            frame = await self._frame()
            if isinstance(frame, Weighed):
                self._share = replace(self._share, after=self._share.after + self._share.of)
                self._deaths = 0
                return frame
            if frame is None:
                await self._died()
        return None

    async def rest(self) -> list[Weighed]:
        """Return the results that it still delivers after ``stop``."""
        found = []
        while not self._over and self._process is not None and (frame := await self._frame()) is not None:
            found += [frame] if isinstance(frame, Weighed) else []
        return found

    def stop(self) -> None:
        """Tell it to start no more records."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill it if it is still running."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def gone(self) -> None:
        """Wait until it has ended."""
        if self._process is not None:
            await self._process.wait()

    async def start(self) -> None:
        """Start a process for the rest of its share."""
        from multiprocessing import Pipe  # noqa: PLC0415 - 20 ms to import, for several processes only

        self._number = self._number[0], self._number[1] + 1
        try:
            link, its = Pipe()
            with its:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, "-c", _BEGIN, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                    start_new_session=True, limit=1 << 20,  # a terminal interrupt must only reach the parent
                    pass_fds=(its.fileno(),),
                )  # fmt: skip
                told = pickle.dumps((self._share, self._number, its.fileno()))
        except OSError as error:
            raise WorkerError(f"a worker process cannot be started ({error.strerror})", hint=FEWER) from error
        asyncio.get_running_loop().add_reader(link.fileno(), self._lend, link, self._number)
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # noticed when its frames are read
            self._process.stdin.writelines((pickle.dumps(sys.path), told, self._data))
            await self._process.stdin.drain()

    def _lend(self, link: Connection, number: tuple[int, int]) -> None:
        """Answer one process's request for a share of the limits; what a dead process borrowed stays lent."""
        loop = asyncio.get_running_loop()
        try:
            asked: Ask = link.recv()
            link.send(self._ledger.trade(loop.time(), asked))
        except (EOFError, OSError):
            loop.remove_reader(link.fileno())
            link.close()
            self._ledger.end(number)
        else:
            self._counted()

    async def _frame(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            (size,) = _SIZE.unpack(await self._process.stdout.readexactly(_SIZE.size))
            frame = pickle.loads(await self._process.stdout.readexactly(size))  # noqa: S301 - our own process
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        if isinstance(frame, Ended):
            self._over = True
            self.error = frame.trouble()
        return frame

    async def _died(self) -> None:
        assert self._process is not None
        code = await self._process.wait()
        self._process = None
        told = self._ledger.tallies().get(self._number)
        self._deaths = 1 + (0 if self._keeps and told is not None and told.answered else self._deaths)
        if self._deaths == DEATHS:
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            raise WorkerError(
                f"a worker process ended unexpectedly {DEATHS} times ({how})",
                hint=FEWER,
            )


# ---- in the worker


def work() -> None:
    """Evaluate the share received on standard input, until it is done or standard input is closed."""
    from multiprocessing.connection import Connection  # noqa: PLC0415 - for several processes only

    share, number, link = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own process
    plan, earlier = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own process
    for name in plan.spec.metrics:
        if ":" in name:
            metrics.asked_for(name)  # register it: records may have parameters for it
    frames = os.dup(1)
    os.dup2(2, 1)  # so that prints do not corrupt the frames
    with contextlib.suppress(KeyboardInterrupt, ConnectionError):
        run_here(_work(plan, share, earlier, frames, Lender(number, _asking(Connection(link)))))


def _asking(link: Connection) -> Callable[[Ask], Awaitable[Grant]]:
    turn = threading.Lock()  # the last request may come while the previous one is being cancelled

    def ask(asked: Ask) -> Grant:
        with turn:
            link.send(asked)
            grant: Grant = link.recv()
            return grant

    async def trade(asked: Ask) -> Grant:
        try:
            return await asyncio.to_thread(ask, asked)
        except (EOFError, OSError) as error:
            raise WorkerError("the process that enforces the shared limits ended") from error

    return trade


async def _work(plan: Plan, share: Share, earlier: int, frames: int, lender: Lender) -> None:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(frames, "wb"))
    transport.set_write_buffer_limits(0)  # drain() returns only when everything is written
    out = asyncio.StreamWriter(transport, protocol, None, loop)
    task = asyncio.current_task()
    assert task is not None

    def leash() -> None:
        os.read(0, 1)  # unbuffered: this thread would hold the buffer's lock at exit
        loop.call_soon_threadsafe(task.cancel)

    threading.Thread(target=leash, daemon=True).start()
    with Store(plan.spec.store, renew=False) as store:
        for backend in plan.routes.backends():
            if hasattr(backend, "divide"):
                backend.divide(calls=share.of)
        engine = Engine(plan.routes, store, plan.prices, plan.spec.engine, lender=lender)
        ended = Ended()
        reused = Earlier(store, earlier, banked=plan.bank is not None) if earlier else None
        try:
            async with contextlib.aclosing(engine.run(jobs_of(plan, reused, share))) as results:
                async for weighed in results:
                    scores = tuple(replace(score, verdicts=()) for score in weighed.scores)
                    await _send(out, replace(weighed, taken=True, scores=scores))
        except RagstoneError as error:
            ended = portable(error)
        except asyncio.CancelledError:
            pass  # stopped by the parent; finished results are delivered
        await _send(out, ended)
    transport.close()


async def _send(out: asyncio.StreamWriter, frame: object) -> None:
    data = pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
    out.write(_SIZE.pack(len(data)) + data)
    await out.drain()

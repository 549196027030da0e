"""Run in batches: send the missing calls as one wave and collect the results, until nothing is missing.

To find the calls of a wave, the run is replayed from stored replies. Guarantees: a batch is on disk before it is sent,
and is found again after a crash. A call without a result counts as missing, never as a score. A batch that ends without
any result is an error and is not waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from msgspec.structs import replace

from ragstone.api.jobs import jobs_of, settled
from ragstone.api.loop import wait_for
from ragstone.api.plan import Plan
from ragstone.config import spec_as_json
from ragstone.engine.budget import Budget
from ragstone.engine.calls import Awaited, Missing
from ragstone.engine.run import Engine
from ragstone.engine.settings import Amount
from ragstone.engine.tally import Tally
from ragstone.errors import BackendError, BatchPending, ConfigError, InputError, RagstoneError
from ragstone.judges.base import SMALL, Batching, Call, Failed, Judge, Reply, Usage, reply_from_json, reply_to_json
from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec
from ragstone.options import RunOptions
from ragstone.prompts.choice import Choice
from ragstone.questions import Task
from ragstone.render.text import NBSP, plural
from ragstone.store.batches import BatchCall, BatchRow, BatchStore, Owner
from ragstone.store.database import CallRow

MOST: Final = 50_000
"""Maximum number of calls in a batch."""
LONGEST: Final = 190_000_000
"""Maximum size of a batch in bytes: 95% of OpenAI's limit."""
ALL: Final = 200_000
"""Maximum number of calls in a wave, all batches together, because they are held in memory; the rest wait."""
LEAST: Final = 0.2
"""Minimum share of a budget in money or tokens for another batch of a part of the calls.

A batch uses less than was reserved for it, so the rest of the budget always allows another, smaller one.
"""
POLL: Final = (5.0, 60.0)
"""Seconds between two polls of a batch: initial and maximum."""
WINDOW: Final = "a batch usually takes less than an hour, and at most 24 hours"


async def in_waves(plan: Plan, options: RunOptions) -> list[str]:
    """Collect the batches in the store and send the run's next wave; return notes when the run can be finished live.

    Raises BatchPending while a batch of the run is unfinished, unless ``options.wait``.
    """
    begun, pause, before, notes = time.time(), POLL[0], list[int](), list[str]()
    with BatchStore(plan.spec.store) as store:
        while True:
            try:
                with store.alone(wait=options.wait):
                    rows = await _advanced(plan, store, options, notes)
                if not rows:
                    return notes
                if not options.wait or any(row.status == "export" for row in rows):  # only an import ends an export
                    raise _pending(rows, begun)
                if before != (before := [row.id for row in rows]):
                    pause = POLL[0]
            except RagstoneError as error:
                if not (options.wait and isinstance(error, BackendError) and error.retryable):
                    for note in notes:
                        error.add_note(note)
                    raise
            await asyncio.sleep(pause)
            pause = min(POLL[1], 1.5 * pause)


async def _advanced(plan: Plan, store: BatchStore, options: RunOptions, notes: list[str]) -> list[BatchRow]:
    """Collect what has ended and send a wave if it is time; return the batches that the run waits for."""
    owner = _owner(plan, options)
    judges = {judge.id for judge in plan.routes.judges()}

    def own(row: BatchRow) -> bool:
        return Owner(row.run, row.input) == owner and row.judge in judges

    pending = await _collected(store, own, notes)
    if mine := [row for row in pending if own(row)]:
        return mine
    first = not any(map(own, store.batches()))
    missing, budget = await _missing(plan, store, options)
    flying = {key for row in pending for key in store.keys_of(row.id)}  # of other runs
    wave = {key: call for key, call in missing.items() if key not in flying}
    spent = _spent(plan, store, owner, budget) if budget.limits else Amount()
    fitting = _fitting(wave.values(), budget, spent)
    worth = len(fitting) == len(wave) or (spent + _least(budget)).within(budget.limits.amount())
    if fitting and (first or len(fitting) >= SMALL or (options.finish == "batch" and worth)):
        await _send(plan, store, owner, fitting, pending)
        return [row for row in store.batches("made", "sent", "export") if own(row)] or pending
    return pending if len(wave) < len(missing) else []


def _owner(plan: Plan, options: RunOptions) -> Owner:
    """Return whose batches are the run's own: inputs of one name may differ, unless the user named the run."""
    return Owner(options.name) if options.name else Owner(plan.source.name, plan.source.place or plan.digest)


def add_paid(plan: Plan, options: RunOptions, tally: Tally, budget: Budget) -> None:
    """Charge the run for the answered calls of its batches that are on no bill yet, and not count them as replayed."""
    with BatchStore(plan.spec.store) as store:
        for judge, row, usage, answered in _paid(plan, store, _owner(plan, options)):
            if judge is not None and answered:
                tally.pay(judge.id, row.task, usage, budget.cost(judge, usage))
                tally.sent += 1
                tally.replayed = max(0, tally.replayed - 1)


def refusals(plan: Plan, options: RunOptions, budget: Callable[[], Budget]) -> Missing:
    """Return what decides on the calls that are left after the batches: those that failed there are not sent again.

    If all calls should go in batches, the others are left because they do not fit the budget.
    """
    with BatchStore(plan.spec.store) as store:
        failed = store.failed_calls(plan.spec.engine.tries)

    def refused(judge: Judge, call: Call) -> Failed | None:
        if call.key in failed:
            return Failed(failed[call.key])
        if options.finish == "batch" and budget().limits:
            raise budget().reached(_worst(budget(), judge, call).most(_least(budget())), "batch")
        return None

    return refused


def count_paid(plan: Plan, options: RunOptions, engine: Engine) -> None:
    """Deduct what the run's batches have used from its budget; put their calls without a reply on its bill."""
    with BatchStore(plan.spec.store) as store:
        owner = _owner(plan, options)
        sent, again = store.uncharged(owner, plan.spec.engine.tries)
        engine.tally.sent += sent
        engine.tally.retried += again
        engine.tally.retry_causes.update({"no result in a batch": again} if again else {})
        for judge, row, usage, answered in _paid(plan, store, owner):
            if answered:
                engine.prepaid.add(row.key)
            elif judge is not None:
                engine.tally.waste(judge.id, row.task, usage, engine.budget.cost(judge, usage))
                engine.tally.sent += 1
        if engine.budget.limits:
            engine.budget.settle(Amount(), _spent(plan, store, owner, engine.budget))


def _paid(plan: Plan, store: BatchStore, owner: Owner) -> Iterator[tuple[Judge | None, CallRow, Usage, bool]]:
    """Yield the calls as ``BatchStore.paid`` does, with their judge (None if this run does not use it) and usage."""
    judges = {judge.id: judge for judge in plan.routes.judges()}
    for row, answered in store.paid(owner):
        yield judges.get(row.judge), row, reply_from_json(row.reply).usage, answered


def _spent(plan: Plan, store: BatchStore, owner: Owner, budget: Budget) -> Amount:
    """Return what a run's batches have used of its budget; a reply without usage counts with its worst case."""
    paid = Amount()
    for judge, row, usage, _ in _paid(plan, store, owner):
        if judge is None:
            paid += Amount(0.0, 1, (usage.input or 0) + (usage.output or 0))
        else:
            call = Call(row.judge, cast("Task", row.task), row.maker, row.request)
            paid += budget.taken(judge, call, usage, _worst(budget, judge, call))
    return paid


def _worst(budget: Budget, judge: Judge, call: Call) -> Amount:
    """Return the worst case of a call in a batch."""
    worst = budget.worst(judge, call)
    return replace(worst, dollars=cast("Batching", judge.backend).rate * worst.dollars)


def _least(budget: Budget) -> Amount:
    return Amount(LEAST * (budget.limits.cost or 0.0), 0, LEAST * (budget.limits.tokens or 0))


def close(plan: Plan, options: RunOptions, *, done: bool) -> None:
    """Close the collected batches of a run whose bill is stored; one that is not ``done`` needs their replies again."""
    with BatchStore(plan.spec.store) as store:
        store.close_batches(_owner(plan, options), done=done)


def _pending(rows: Sequence[BatchRow], begun: float) -> BatchPending:
    """Return what to say of the batches that a run waits for; those made since it has ``begun`` are new."""
    counted = plural(sum(row.calls for row in rows), "call").replace(NBSP, " ")
    if exports := [row for row in rows if row.status == "export"]:
        said = f"no results yet for {counted} to {', '.join({row.judge for row in exports})}"
        commands = "'ragstone batch export CALLS', and import the results with 'ragstone batch import RESULTS'"
        hint = f"export the calls with {commands}"
        return BatchPending(said, hint=hint)
    batches, oldest = plural(len(rows), "batch", "batches").replace(NBSP, " "), min(row.made for row in rows)
    minutes = round((time.time() - oldest) / 60) or "less than 1"
    runs = " and ".join(dict.fromkeys(row.run for row in rows))
    said = f"{batches} submitted" if oldest >= begun else f"{batches} of {runs} still running after {minutes} min"
    return BatchPending(f"{said} ({counted})", hint=f"run the same command again to collect the results; {WINDOW}")


# ---- collecting


async def _collected(store: BatchStore, own: Callable[[BatchRow], bool], notes: list[str]) -> list[BatchRow]:
    """Collect the ended batches and return the others. Errors and notes count only if the batch is the run's own."""
    pending = store.batches("export")
    broken: BackendError | None = None
    for row in store.batches("made", "sent"):
        try:
            async with _opened(row) as backend:
                if not await _ended(store, row, backend, notes if own(row) else []):
                    pending.append(row)
        except BackendError as error:
            broken = error if own(row) and (broken is None or broken.retryable) else broken
            pending.append(row)
    if broken is not None:
        raise broken
    return pending


@contextlib.asynccontextmanager
async def _opened(row: BatchRow) -> AsyncGenerator[Batching, None]:
    backend = _judge_of(row.spec).backend
    await backend.open()
    try:
        yield cast("Batching", backend)
    finally:
        await backend.close()


def _judge_of(spec: Mapping[str, Any]) -> Judge:
    return build(Spec(**{**spec, "choice": Choice.from_json(spec.get("choice", {}))}))


async def _ended(store: BatchStore, row: BatchRow, backend: Batching, notes: list[str]) -> bool:
    """Return whether a batch has ended, after collecting what it has; note the calls that it ended without."""
    remote = row.remote
    if remote is None:  # the process ended while sending it
        remote = await backend.find(row.tag, row.made, store.keys_of(row.id))
        if remote is None:
            return False
        if not remote:
            store.drop_batch(row.id)
            return True
        store.sent(row.id, remote)
    try:
        state = await backend.state(remote)
        if not state.ended:
            return False
        lines = await backend.results(state)
    except BackendError as error:
        if error.status != 404:
            raise
        store.drop_batch(row.id)
        raise _lost(row, f"the endpoint no longer has batch {remote} or its results") from error
    if not collect(store, [row], _read(backend, lines, strict=False)):
        store.drop_batch(row.id)
        raise _lost(row, f"batch {remote} ended without a result ({state.said})")
    if missed := row.calls - len(store.keys_of(row.id)):
        said = f"without a result for {missed} of {row.calls} calls, which are sent again"
        notes.append(f"batch {remote} ended ({state.said}) {said} up to the limit 'tries' under [engine]")
    return True


def _lost(row: BatchRow, said: str) -> BackendError:
    hint = "the same command sends its calls again"
    if "token" in said and "limit" in said:
        hint += "; first set batch_tokens in the judge's table to the most tokens that the endpoint queues"
    return BackendError(f"{row.judge}: {said}", judge=row.judge, hint=hint)


def _read(backend: Batching, lines: Iterable[bytes], *, strict: bool) -> list[tuple[str, Reply | BackendError]]:
    """Read results and skip invalid lines; if ``strict``, raise ValueError that starts with the line number."""
    read = []
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                read.append(backend.read_line(line))
        except ValueError as error:
            if strict:
                raise ValueError(f"{number}: {error}") from error
    return read


def collect(store: BatchStore, rows: Sequence[BatchRow], read: Sequence[tuple[str, Reply | BackendError]]) -> int:
    """Store the results of batches and close the batches; return the number of results for known calls."""
    told = sorted(read, key=lambda one: isinstance(one[1], Reply))  # a reply counts, whatever else came for its call
    results = dict(told)
    known = 0
    for row in rows:
        calls = {call.key.hex(): call for call in store.calls_of(row.id)}
        here = {key: found for key, found in results.items() if key in calls}
        known += sum(key in calls for key, _ in read)
        if rows[1:] and not here:
            continue  # results of other batches
        replies = [
            CallRow(call.key, row.judge, call.task, call.maker, call.request, reply_to_json(found, call.units))
            for key, found in here.items()
            if isinstance(found, Reply) and (call := calls[key])
        ]
        errors = {calls[key].key: found for key, found in here.items() if not isinstance(found, Reply)}
        missed = {key: str(found) for key, found in errors.items() if found.retryable and not _charge(found)}
        failed = {key: (str(found), _charge(found)) for key, found in errors.items() if key not in missed}
        if known:
            store.collect(row.id, replies, failed, missed)
    return known


def _charge(error: BackendError) -> bytes | None:
    """Return a reply with the usage of one that cannot be used, for the bill; None if there was none."""
    return reply_to_json(Reply("", usage=Usage(*error.spent or ()))) if error.lost or error.spent else None


# ---- sending


async def _missing(
    plan: Plan, store: BatchStore, options: RunOptions
) -> tuple[dict[bytes, tuple[Judge, Call]], Budget]:
    """Replay the run and return the missing calls for the next wave, with the budget."""
    plan, earlier = settled(plan, store, options)
    failed = store.failed_calls(plan.spec.engine.tries)
    missing: dict[bytes, tuple[Judge, Call]] = {}

    def add(judge: Judge, call: Call) -> NoReturn:
        if call.key not in failed and len(missing) < ALL:
            missing[call.key] = judge, call
        raise Awaited

    engine = Engine(plan.routes, store, plan.prices, plan.spec.engine, add)
    async with contextlib.aclosing(engine.run(jobs_of(plan, earlier))) as results:
        async for _ in results:
            pass
    return missing, engine.budget


def _fitting(wave: Iterable[tuple[Judge, Call]], budget: Budget, held: Amount) -> list[tuple[Judge, Call]]:
    """Return the first calls of a wave, those whose worst cases at batch prices fit the budget besides ``held``."""
    found = []
    for judge, call in wave:
        held += _worst(budget, judge, call)
        if not held.within(budget.limits.amount()):
            break
        found.append((judge, call))
    return found


async def _send(
    plan: Plan, store: BatchStore, owner: Owner, wave: Sequence[tuple[Judge, Call]], pending: Sequence[BatchRow]
) -> None:
    """Send a wave in one or more batches, as far as the tokens of ``pending`` batches allow."""
    for name, judge in {judge.name: judge for judge, _ in wave}.items():
        backend = cast("Batching", judge.backend)
        spec = plan.spec.judges[name]
        calls = [call for asked, call in wave if asked is judge]
        rows = [row for row in pending if row.judge == judge.id] if spec.batch_tokens else []
        queued = sum(_tokens(backend, call.request) for row in rows for call in store.calls_of(row.id))
        for part in split(calls, backend, spec.batch_tokens, queued):
            found = [BatchCall(call.key, call.task, call.maker, call.units, call.repeat, call.body) for call in part]
            tag = f"ragstone-{uuid.uuid4().hex}"
            there = bool(spec.preset.batch)
            number = store.make_batch(
                owner, judge.id, spec_as_json(spec), tag, "made" if there else "export", found
            )  # on disk before it is sent
            if there:
                try:
                    async with _opened(store.batches()[-1]) as opened:
                        remote = await opened.submit([opened.batch_line(call) for call in part], tag)
                except BackendError as error:
                    if not error.lost and error.status < 500:  # refused or never sent, so there is nothing to find
                        store.drop_batch(number)
                    raise
                store.sent(number, remote)


def split(calls: Iterable[Call], backend: Batching, tokens: int, queued: int = 0) -> Iterator[list[Call]]:
    """Split calls into batches by number and bytes.

    With a limit of ``tokens``, stop where they and those already ``queued`` would exceed it.
    """
    part: list[Call] = []
    size = 0
    some = queued > 0
    for call in calls:
        length = len(call.body) + 200  # overhead of the line around the request
        queued += _tokens(backend, call.body) if tokens else 0
        if tokens and queued > tokens and some:
            break
        if part and (len(part) == MOST or size + length > LONGEST):
            yield part
            part, size = [], 0
        part.append(call)
        size += length
        some = True
    if part:
        yield part


def _tokens(backend: Batching, body: bytes) -> int:
    return backend.size(body).at_most // 4


# ---- the commands


def list_batches(store: Path | str | None = None) -> list[BatchRow]:
    """Return the batches in a store that do not belong to a finished run."""
    with _batches(store) as found:
        return found.batches()


def cancel_batches(store: Path | str | None = None) -> int:
    """Cancel all unfinished batches and drop exports; return the number of both. Errors are raised at the end."""

    async def cancel(found: BatchStore) -> int:
        cancelled = 0
        broken: BackendError | None = None
        for row in found.batches("made", "sent", "export"):
            remote = row.remote or ""
            try:
                if row.status != "export":
                    async with _opened(row) as backend:
                        known = remote or await backend.find(row.tag, row.made, found.keys_of(row.id))
                        if known is None:
                            said = (
                                "the batch has no known id until all batches with the same number of calls have ended"
                            )
                            broken = broken or BackendError(f"{row.judge}: {said}", hint="cancel it at the provider")
                            continue
                        if remote := known:
                            await backend.cancel(remote)
            except BackendError as error:
                if error.status not in (400, 404, 409):  # it has ended; the next run collects it
                    broken = broken or error
                continue
            cancelled += 1
            if not remote:
                found.drop_batch(row.id)
        if broken is not None:
            raise broken
        return cancelled

    with _batches(store) as found, found.alone():
        return wait_for(cancel(found))


def export_batches(path: Path, store: Path | str | None = None) -> int:
    """Write the calls waiting for export to a batch file and return their number; ConfigError if there are none."""
    with _batches(store) as found:
        rows = found.batches("export")
        if not rows:
            raise ConfigError(
                "no calls are waiting to be exported; run with --batch and a judge whose provider has no batch API"
            )
        count = 0
        with path.open("wb") as file:
            for row in rows:
                backend = cast("Batching", _judge_of(row.spec).backend)
                for call in found.calls_of(row.id):
                    task = cast("Task", call.task)
                    made = Call(row.judge, task, call.maker, call.request, call.units, call.repeat)
                    file.write(backend.batch_line(made) + b"\n")
                    count += 1
        return count


def import_batches(path: Path, store: Path | str | None = None) -> int:
    """Import the results of exported calls and return their number; InputError names an invalid line."""
    with _batches(store) as found, found.alone():
        rows = found.batches("export")
        if not rows:
            raise ConfigError("no exported calls are waiting for results")
        backend = cast("Batching", _judge_of(rows[0].spec).backend)
        try:
            known = collect(found, rows, _read(backend, path.read_bytes().splitlines(), strict=True))
        except ValueError as error:
            raise InputError(f"{path}:{error}") from error
        if not known:
            raise InputError(f"{path}: no line matches a call in this store's batches")
        return known


@contextlib.contextmanager
def _batches(store: Path | str | None) -> Iterator[BatchStore]:
    from ragstone.api.stored import existing_store  # noqa: PLC0415 - only for these commands

    with BatchStore(existing_store(store)) as found:
        yield found

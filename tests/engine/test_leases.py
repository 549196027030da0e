"""Limits that workers share, in virtual time: kept in every minute, used, and never lent twice, whoever dies."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate

import pytest
import virtual
from msgspec.structs import replace
from stage import QUICK, jobs, metrics, only, record
from test_budget import PRICE, MeteredBackend, MeteredJudge

from ragstone.engine.breaker import Breaker
from ragstone.engine.budget import Budget
from ragstone.engine.leases import BEAT, LIFE, Ask, Borrower, Grant, Ledger, Lender, RateAsk
from ragstone.engine.pace import LATE, MINUTE, LentWindow
from ragstone.engine.queue import Queue
from ragstone.engine.run import Engine
from ragstone.engine.settings import Amount, Limits
from ragstone.engine.tally import Tally
from ragstone.errors import BudgetReached, WorkerError
from ragstone.judges.base import Call, Reply, Usage
from ragstone.judges.openai import OpenAIBackend
from ragstone.judges.spec import Spec
from ragstone.prices import PriceBook
from ragstone.store.database import Store

SECONDS = 122.6  # twice as long as a block counts
SIZE = OpenAIBackend(Spec("m")).size


@dataclass
class Endpoint:
    """What arrived when, and with how many tokens."""

    chance: random.Random
    came: list[tuple[float, int]] = field(default_factory=list)
    trades: int = 0

    def worst(self, tokens: bool) -> int:
        """The most in any 60 seconds that begin with a request."""
        self.came.sort()
        times = [at for at, _ in self.came]
        sums = [0, *accumulate(amount if tokens else 1 for _, amount in self.came)]
        return max(sums[bisect_right(times, at + 60 - 1e-9)] - sums[first] for first, at in enumerate(times))

    def used(self, limit: int, *, tokens: bool) -> float:
        """The share of the limit that a minute uses, over all minutes of the simulation."""
        minutes = SECONDS - 60.0
        inside = sum(
            (amount if tokens else 1) * min(at, 60.0, SECONDS - at, minutes) for at, amount in self.came if at < SECONDS
        )
        return inside / minutes / limit


async def worker(number: tuple[int, int], ledger: Ledger, endpoint: Endpoint, rpm: int, tpm: int) -> None:
    """Send calls as fast as the limits allow, until it is cancelled; then it says nothing more, as if killed."""
    loop, chance = asyncio.get_running_loop(), endpoint.chance

    async def trade(ask: Ask) -> Grant:
        endpoint.trades += 1
        await asyncio.sleep(chance.uniform(0.001, 0.05))
        grant = ledger.trade(loop.time(), ask)
        await asyncio.sleep(chance.uniform(0.001, 0.05))
        return grant

    def halt(error: Exception) -> None:
        raise AssertionError(error)

    tally = Tally()
    borrower = Borrower(Lender(number, trade), Budget(Limits(), PriceBook(), [], tally), tally, halt)
    queue = Queue(16, Breaker(1000, 300.0, wary=False), size=SIZE, rpm=rpm, tpm=tpm, shared=True)
    windows = {"requests": queue.pace.requests, "tokens": queue.pace.tokens}
    borrower.share({unit: (window, queue) for unit, window in windows.items() if isinstance(window, LentWindow)})

    async def calls() -> None:
        while True:
            request, answer = chance.randrange(200, 900), chance.randrange(20, 120)
            call = Call("j", "support", "p", b'{"max_tokens": 400, "x": "%s"}' % (b"x" * 4 * request))
            turn = await queue.enter(call)
            turn.sent = True
            endpoint.came.append((loop.time() + chance.uniform(0, 0.5), request + answer))
            await asyncio.sleep(chance.uniform(0.5, 3))
            reply = Reply("", usage=Usage(request, answer))
            queue.answered(turn, call, reply)

    sending = [asyncio.create_task(calls()) for _ in range(20)]
    try:
        await asyncio.gather(*sending)
    finally:
        for task in (*sending, borrower._task):
            task.cancel()
        await asyncio.gather(*sending, borrower._task, return_exceptions=True)


def simulated(workers: int, rpm: int, tpm: int, *, deaths: float = 0.0, seed: int = 0) -> Endpoint:
    endpoint = Endpoint(random.Random(seed))

    async def work() -> None:
        ledger, loop = Ledger(Limits()), asyncio.get_running_loop()
        running = {(n, 0): asyncio.create_task(worker((n, 0), ledger, endpoint, rpm, tpm)) for n in range(workers)}
        while loop.time() < SECONDS:
            await asyncio.sleep(1.0)
            for who, task in list(running.items()):
                if endpoint.chance.random() < deaths:
                    task.cancel()
                    ledger.end(who)
                    again = who[0], who[1] + 1
                    del running[who]
                    running[again] = asyncio.create_task(worker(again, ledger, endpoint, rpm, tpm))
        for task in running.values():
            task.cancel()
        for ended in await asyncio.gather(*running.values(), return_exceptions=True):
            assert isinstance(ended, asyncio.CancelledError), ended

    virtual.run(work())
    return endpoint


@pytest.mark.parametrize(("workers", "rpm", "tpm"), [(100, 3000, 1_500_000), (20, 600, 0)])
def test_no_minute_is_above_a_shared_limit(workers: int, rpm: int, tpm: int) -> None:
    """While workers die now and then; over 95% of the limit that binds is used, with a message now and then."""
    endpoint = simulated(workers, rpm, tpm, deaths=0.001)
    assert endpoint.worst(tokens=False) <= rpm
    assert not tpm or endpoint.worst(tokens=True) <= tpm
    assert endpoint.used(tpm or rpm, tokens=bool(tpm)) > 0.95
    assert endpoint.trades < workers * SECONDS / BEAT * 1.5


# ---- budgets


@dataclass
class Shards:
    """What shards that share a budget took, and how many of them reached its end."""

    backend: MeteredBackend
    reached: int = 0
    deaths: int = 0


def spent(limits: Limits, *, deaths: int = 0, faults: float = 0.2, seed: int = 0) -> Shards:
    """Evaluate four shards of twenty records; some of their workers die without a word and are begun again."""
    chance = random.Random(seed)
    shards = Shards(MeteredBackend(chance, faults, concurrency=4))
    left = [deaths]

    async def work() -> None:
        ledger, loop = Ledger(limits), asyncio.get_running_loop()

        async def attempt(worker: tuple[int, int], store: Store, *, doomed: bool) -> None:
            dead: list[bool] = []

            async def trade(ask: Ask) -> Grant:
                if dead:
                    raise WorkerError("dead")
                return ledger.trade(loop.time(), ask)

            judge = MeteredJudge(shards.backend)
            engine = Engine(only(judge), store, PriceBook({judge.id: PRICE}), replace(QUICK, limits=limits),
                            lender=Lender(worker, trade))  # fmt: skip
            some = [record(f"s{worker[0]}-{number}", "It boils. " * chance.randint(1, 300)) for number in range(20)]
            async with contextlib.aclosing(engine.run(jobs(some, metrics("response_groundedness")))) as results:
                async for weighed in results:
                    if b"internal error" in weighed.document:
                        raise AssertionError(worker)
                    if doomed and chance.random() < 0.2:
                        dead.append(True)
                        shards.deaths += 1
                        raise WorkerError("killed")
            ledger.end(worker)

        async def shard(number: int) -> None:
            with Store(":memory:") as store:
                for again in range(100):
                    doomed = left[0] > 0
                    left[0] -= 1
                    try:
                        await attempt((number, again), store, doomed=doomed)
                        break
                    except BudgetReached:
                        shards.reached += 1
                        ledger.end((number, again))
                        break
                    except WorkerError:
                        ledger.end((number, again))

        await asyncio.gather(*(shard(number) for number in range(4)))

    virtual.run(work())
    return shards


@pytest.mark.parametrize("deaths", [0, 6])
@pytest.mark.parametrize("seed", range(4))
def test_a_budget_is_kept_by_all_together(deaths: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is charged and whoever dies, it is not passed, and nearly all of it can be spent."""
    monkeypatch.setattr("ragstone.engine.calls._backoff", lambda attempt: 0.01)
    whole = spent(Limits(), seed=seed).backend
    calls, tokens, dollars = whole.calls // 2, whole.tokens // 2, whole.charged / 2
    for limits in (Limits(calls=calls), Limits(tokens=tokens), Limits(cost=dollars)):
        found = spent(limits, deaths=deaths, seed=seed)
        charged = found.backend.charged, found.backend.calls, found.backend.tokens
        took, most = next(pair for pair in zip(charged, limits.amount(), strict=True) if math.isfinite(pair[1]))
        assert took <= most
        assert found.reached
        assert deaths or took > 0.6 * most, "what may have been charged counts at its worst"


def test_a_dead_workers_part_stays_reserved() -> None:
    """It counts as spent, whoever waits; what a worker is done with comes back."""
    ledger, tally = Ledger(Limits(calls=100)), Tally()

    def calls(count: int) -> Amount:
        return Amount(calls=count)

    one = Ask((1, 1), {}, tally, spent=calls(10), held=calls(4), keeps=calls(54), ahead=calls(40))
    assert ledger.trade(0.0, one).lent.calls == 54
    other = Ask((2, 1), {}, tally, need=calls(80))
    grant = ledger.trade(1.0, other)
    assert (grant.lent.calls, grant.others.calls, grant.last) == (0, 54, False)
    ledger.end((1, 1))
    grant = ledger.trade(1.0, other)
    assert (grant.lent.calls, grant.others.calls, grant.last) == (0, 54, True)
    ledger.trade(1.0, replace(one, worker=(1, 2)))
    ledger.trade(2.0, Ask((1, 2), {}, tally, spent=calls(12), keeps=calls(12)))
    ledger.end((1, 2))
    assert ledger.trade(2.0, replace(other, need=calls(34))).lent.calls == 34


def test_a_block_counts_as_used_at_its_end_and_margins_are_kept_free() -> None:
    """The next minute begins when the last call of a block has arrived; what replies may take beyond is not lent."""
    ledger, tally = Ledger(Limits()), Tally()

    def ask(number: int, now: float, need: int, margin: int = 0) -> int:
        grant = ledger.trade(now, Ask((number, 1), {"tokens": RateAsk(1000, need, margin, {})}, tally))
        return grant.blocks.get("tokens", (0, 0))[1]

    assert ask(1, 0.0, 600, margin=300) == 600
    assert ask(2, 1.0, 101) == 0
    assert ask(2, 1.0, 100) == 100
    assert ask(1, MINUTE + LATE + LIFE - 0.01, 901) == 0
    assert ask(1, MINUTE + LATE + LIFE, 900) == 900


def test_who_waits_goes_on_asking_when_a_block_is_over() -> None:
    """And what is left of the block comes back, also what a reply turns out not to have taken."""
    window = LentWindow(100)
    window.lend(7, 30, until=0.8)
    assert window.wait(0.1, 20) == 0
    entry = window.charge(0.1, 15)
    assert window.margin == 5
    assert window.wait(0.1, 20) > 0
    window.close(0.9)
    assert (window.need, window.changes) == (20, {7: -15})
    window.correct(entry, 12)
    assert window.changes == {7: -18}

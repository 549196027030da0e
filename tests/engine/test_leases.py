"""Limits that workers share, in virtual time: kept in every minute, used, and never lent twice, whoever dies."""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate

import virtual

from ragstone.engine.breaker import Breaker
from ragstone.engine.budget import Budget, Limits
from ragstone.engine.leases import Ask, Borrower, Grant, Ledger, Lender
from ragstone.engine.pace import LentWindow
from ragstone.engine.queue import Queue
from ragstone.engine.tally import Tally
from ragstone.judges.base import Call, Reply, Usage
from ragstone.judges.openai import OpenAIBackend
from ragstone.judges.spec import Spec
from ragstone.prices import PriceBook

SECONDS = 184.5  # three times what a block counts for
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
                    ledger.died(who)
                    again = who[0], who[1] + 1
                    del running[who]
                    running[again] = asyncio.create_task(worker(again, ledger, endpoint, rpm, tpm))
        for task in running.values():
            task.cancel()
        for ended in await asyncio.gather(*running.values(), return_exceptions=True):
            assert isinstance(ended, asyncio.CancelledError), ended

    virtual.run(work())
    return endpoint

"""Share the limits of a run among workers: a ledger lends each of them blocks of requests, tokens and money.

Time is always an argument, except in ``Borrower``, the worker's side. Guarantees: together, the workers stay within
the rate limits in any minute and within the budget, even if some die. A worker sends a message every now and then, not
per call. Unused blocks are returned. Budget lent to a worker that died counts as spent, since what it sent is unknown.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ragstone.engine.budget import Budget
from ragstone.engine.pace import LATE, MINUTE, LentWindow, Window
from ragstone.engine.queue import Queue
from ragstone.engine.settings import ROUNDING, Amount, Limits
from ragstone.engine.tally import Tally
from ragstone.errors import RagstoneError

BEAT: Final = 0.5
"""Seconds between two messages from a worker."""
SOONEST: Final = 0.1
"""The same if room is expected sooner."""
LIFE: Final = 0.8
"""Seconds for which a block is valid, long enough for the next to arrive."""
AHEAD: Final = 2.0
"""Maximum size of a block, in seconds at the full rate limit."""
CALLS: Final = 8.0
"""An active worker is lent enough budget for at least this many worst-case calls."""
NOTHING: Final = Amount()


class RateAsk(Struct, frozen=True):
    """A worker's report on one rate limit: what its next call needs (0: none), its margin and ``changes`` by block."""

    limit: int
    need: int
    margin: int
    changes: Mapping[int, int]


class Ask(Struct, frozen=True):
    """A message from a worker, ``(shard, attempt)``: its rate limits, its part of the budget, and its counts so far.

    ``keeps`` is what it may use until the answer arrives; the ledger takes back the rest. ``need`` is what the next
    call may use, if it is waiting for budget, and ``ahead`` what the next seconds may use.
    """

    worker: tuple[int, int]
    rates: Mapping[str, RateAsk]
    tally: Tally
    spent: Amount = NOTHING
    held: Amount = NOTHING
    keeps: Amount = NOTHING
    need: Amount = NOTHING
    ahead: Amount = NOTHING


class Grant(Struct, frozen=True):
    """The answer: new ``blocks`` (number, amount), when to ask again, and the total budget ``lent`` to the worker.

    ``reach`` is what that total may grow to, ``others`` what all others have spent or been lent; ``last``: there will
    be no more.
    """

    blocks: Mapping[str, tuple[int, int]]
    again: float
    lent: Amount
    reach: Amount
    others: Amount
    last: bool


class _Rate:
    """A rate limit of all workers. Its window includes the life of a block, which may be used at the very end."""

    def __init__(self, limit: int) -> None:
        self._window = Window(limit, MINUTE + LATE + LIFE)
        self._blocks: dict[int, list[float]] = {}
        self._margins: dict[tuple[int, int], tuple[float, int]] = {}

    def hear(self, now: float, worker: tuple[int, int], ask: RateAsk) -> None:
        """Record what a worker used and the margin it keeps for its calls in flight."""
        for block, change in ask.changes.items():
            if (entry := self._blocks.get(block)) is not None:
                self._window.correct(entry, int(entry[1]) + change)
        if ask.margin:
            self._margins[worker] = now, ask.margin
        else:
            self._margins.pop(worker, None)

    def lend(self, now: float, number: int, need: int, among: int) -> tuple[int, float]:
        """Return the amount of a new block, and the seconds to wait if it is 0."""
        while self._blocks and (first := next(iter(self._blocks.items())))[1][0] + self._window.span <= now:
            del self._blocks[first[0]]
        self._margins = {who: told for who, told in self._margins.items() if told[0] + MINUTE > now}
        # Each margin is six standard deviations of one worker, so the squares add up.
        margin = math.ceil(math.hypot(*(kept for _, kept in self._margins.values())))
        wait = self._window.wait(now, need + margin)
        if wait > 0:
            return 0, wait
        limit = self._window.limit
        room = limit - self._window.sum - margin
        amount = max(need, min(math.ceil(AHEAD * limit / MINUTE), room // among))
        self._blocks[number] = self._window.charge(now, amount)
        return amount, 0.0


class _Account(Struct):
    """What one worker was lent and has spent."""

    lent: Amount = NOTHING
    spent: Amount = NOTHING
    tally: Tally = field(default_factory=Tally)


def _sum(amounts: Iterable[Amount]) -> Amount:
    return Amount(*map(sum, zip(*amounts, strict=True)))


class Ledger:
    """Everything lent to workers."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.amount()
        self._rates: dict[str, _Rate] = {}
        self._blocks = 0
        self._live: dict[tuple[int, int], _Account] = {}
        self._ended: dict[tuple[int, int], _Account] = {}

    def trade(self, now: float, ask: Ask) -> Grant:
        """Process a worker's message and lend to it; ``now`` is in seconds of a monotonic clock."""
        account = self._live.setdefault(ask.worker, _Account())
        account.tally, account.spent = ask.tally, ask.spent
        blocks, again = {}, BEAT
        for name, asked in ask.rates.items():
            rate = self._rates.setdefault(name, _Rate(asked.limit))
            rate.hear(now, ask.worker, asked)
            if asked.need:
                amount, wait = rate.lend(now, self._blocks + 1, asked.need, len(self._live))
                if amount:
                    self._blocks += 1
                    blocks[name] = self._blocks, amount
                again = min(again, wait or BEAT)
        return self._lent(account, ask, blocks, max(SOONEST, again))

    def _lent(self, account: _Account, ask: Ask, blocks: Mapping[str, tuple[int, int]], again: float) -> Grant:
        others = [one for one in self._live.values() if one is not account]
        owed = _sum(one.lent for one in others)
        taken = owed + _sum(one.lent for one in self._ended.values())
        coming = owed - _sum(one.spent for one in others)
        wanted = ask.spent + ask.held + ask.need
        lent, reach = [], []
        short = last = False
        places = zip(self._most, taken, wanted, ask.need, ask.ahead, coming, strict=True)
        for whole, (most, gone, want, need, ahead, due) in enumerate(places):
            free = math.inf if most == math.inf else most - gone - want
            share = max(0.0, free) / len(self._live)
            part = min(ahead, share)
            reach.append(want + share)
            lent.append(most if most == math.inf else want + (math.floor(part) if whole else part))  # calls, tokens
            if need and free < -ROUNDING:
                short, last = True, last or due <= ROUNDING
        kept = Amount(*map(min, account.lent, ask.keeps))
        account.lent = kept if short else kept.most(Amount(*lent))
        return Grant(blocks, again, account.lent, Amount(*reach), taken, last)

    def end(self, worker: tuple[int, int]) -> None:
        """Count what a dead or finished worker did not return as spent."""
        if worker in self._live:
            self._ended[worker] = ended = self._live.pop(worker)
            ended.tally.limit = str

    def tallies(self) -> dict[tuple[int, int], Tally]:
        """Return the latest counts of every worker so far."""
        return {worker: one.tally for worker, one in (*self._ended.items(), *self._live.items())}


# ---- a worker's side


class Lender(Struct, frozen=True):
    """A worker and its connection to the ledger."""

    worker: tuple[int, int]
    trade: Callable[[Ask], Awaitable[Grant]]


class Borrower:
    """Keeps a worker's engine supplied with limits from the ledger, in its event loop."""

    def __init__(self, lender: Lender, budget: Budget, tally: Tally, halt: Callable[[RagstoneError], None]) -> None:
        budget.borrow()
        self._lender = lender
        self._budget = budget
        self._tally = tally
        self._halt = halt
        self._loop = asyncio.get_running_loop()
        self._lent: Mapping[str, tuple[LentWindow, Queue]] = {}
        self._before = NOTHING
        self._task = self._loop.create_task(self._run())

    def share(self, lent: Mapping[str, tuple[LentWindow, Queue]]) -> None:
        """Start sharing these limits."""
        self._lent = lent

    async def end(self) -> None:
        """Return everything."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(RagstoneError):
            await self._lender.trade(self._ask(over=True))

    async def _run(self) -> None:
        try:
            while True:
                begun = self._loop.time()
                grant = await self._lender.trade(self._ask())
                self._budget.lend(grant.lent, grant.reach, grant.others, last=grant.last)
                for name, (block, amount) in grant.blocks.items():
                    window, queue = self._lent[name]
                    window.lend(block, amount, begun + LIFE)
                    queue.let_in()
                await asyncio.sleep(grant.again)
        except RagstoneError as error:
            self._halt(error)

    def _ask(self, *, over: bool = False) -> Ask:
        now = math.inf if over else self._loop.time()
        rates = {}
        for name, (window, _) in self._lent.items():
            window.close(now)
            changes, window.changes = window.changes, Counter()
            rates[name] = RateAsk(window.limit, 0 if over else window.need, window.margin, changes)
        told = replace(self._tally, limit=partial(str, self._tally.limit()))
        spent, held, need, worst = self._budget.shares()
        if over:
            return Ask(self._lender.worker, rates, told, spent, keeps=spent)
        used = spent + held
        grown = Amount(*((new - old) * AHEAD / BEAT for new, old in zip(spent, self._before, strict=True)))
        self._before = spent
        needed = need + grown
        several = Amount(*(CALLS * most * bool(one) for most, one in zip(worst, needed, strict=True)))
        ahead = grown.most(several)
        keeps = used if any(need) else used + ahead  # a waiting worker returns an allowance that is too small
        self._budget.keep(keeps)
        return Ask(self._lender.worker, rates, told, spent, held, keeps, need, ahead)

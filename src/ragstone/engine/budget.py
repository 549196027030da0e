"""Budget of a run: reserve the worst case before a call is sent, settle to the real cost after it.

Promises: what was charged and what calls in flight may be charged at most never exceed a limit. A call that does not
fit waits for others to settle; only when none is in flight and it still does not fit is the limit reached. An attempt
that no reply came to may have been charged for, so what was reserved for it stays reserved. Records are begun as the
finished ones say that they can be finished.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from operator import add, sub
from types import TracebackType
from typing import Final, Self

from ragstone.engine.tally import Tally
from ragstone.errors import BackendError, BudgetReached, ConfigError
from ragstone.judges.base import Call, Judge, Usage, is_inside, size_of
from ragstone.prices import PriceBook

ROUNDING: Final = 1e-12
"""Dollars that a sum of floats may be off by."""
FIRST: Final = 2
"""Records that are begun under a budget before one has shown what it takes."""
CAUTION: Final = 3.0
"""How many times more a record may take than the only one that is done; of so many that are done a share of that."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Dollars, calls and tokens; as a limit, infinity is none."""

    dollars: float = 0.0
    calls: float = 0
    tokens: float = 0

    def __iter__(self) -> Iterator[float]:
        return iter((self.dollars, self.calls, self.tokens))

    def __add__(self, other: Amount) -> Amount:
        return Amount(*map(add, self, other))

    def __sub__(self, other: Amount) -> Amount:
        return Amount(*map(sub, self, other))

    def most(self, other: Amount) -> Amount:
        """Return the larger of both, field by field."""
        return Amount(*map(max, self, other))

    def within(self, limit: Amount) -> bool:
        """Return whether no field is above its limit."""
        return all(value <= most + ROUNDING for value, most in zip(self, limit, strict=True))


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a run may take: dollars, calls to endpoints, tokens in and out. None sets no limit."""

    cost: float | None = None
    calls: int | None = None
    tokens: int | None = None

    def __bool__(self) -> bool:
        return (self.cost, self.calls, self.tokens) != (None, None, None)

    def amount(self) -> Amount:
        """The limits as numbers."""
        return Amount(*(math.inf if most is None else most for most in (self.cost, self.calls, self.tokens)))

    def divided(self, among: int) -> Limits:
        """Return one of so many equal parts."""
        calls, tokens = (None if most is None else most // among for most in (self.calls, self.tokens))
        return Limits(None if self.cost is None else self.cost / among, calls, tokens)


@dataclass(slots=True)
class Account:
    """What was used for one record; ``open`` once anything was reserved for it."""

    used: Amount = Amount()
    open: bool = False


_ACCOUNT: Final[ContextVar[Account | None]] = ContextVar("account", default=None)
"""That of the record which the task is about, or the task that began it."""


class Budget:
    """The limits of one run, in its event loop. Calls that no endpoint answers (embedded, replay) are not limited."""

    def __init__(
        self, limits: Limits, prices: PriceBook, judges: Iterable[Judge], tally: Tally, *, kept: bool = True
    ) -> None:
        """Raise ConfigError where a cost limit cannot be kept because a judge's price is unknown.

        ``kept`` says whether replies are stored, which is what whoever reaches a limit wants to know.
        """
        self.limits = limits
        self.over: BudgetReached | None = None
        """What ended it; from then on nothing is set aside for a record that nothing was set aside for yet."""
        self._kept = kept
        self._prices = prices
        self._tally = tally
        self._spent = Amount()
        self._unsure = Amount()  # a part of what is spent: what may be charged for and what is, nobody said
        self._held = Amount()
        self._longest: dict[str, int] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._records = 0
        self._taken = Amount()
        self._worst = Amount()
        self._scarce = False
        self._lent = self._reach = limits.amount()
        self._others = Amount()
        self._need = Amount()
        self._last = True
        judges = list(judges)
        self._binds = bool(limits) and not all(judge.backend.free for judge in judges)
        tally.budget, tally.most_calls, tally.most_tokens = limits.cost, limits.calls, limits.tokens
        for judge in judges:
            if hasattr(judge.backend, "bounded"):  # such a budget stands on the longest reply that there can be
                judge.backend.bounded = limits.cost is not None or limits.tokens is not None
        if limits.cost is None:
            return
        for judge in judges:
            if self._price(judge, 0, 0) is None:
                raise ConfigError(
                    f"--max-cost (max_cost of [run]) cannot be enforced: the price of {judge.id} is unknown; "
                    "give it as price = { input = …, output = … } in a [judges.NAME] table, or use --max-tokens"
                )

    def room(self, begun: int) -> bool:
        """Return whether the budget allows one more record beside the ``begun`` ones, judging by those that are done.

        A budget that is spread over many records finishes none of them. Records that took nothing tell nothing.
        """
        self._scarce = False
        if not (self._binds and begun) or self.over is not None:
            return True
        self._scarce = not self._lasts(begun) if self._records else begun >= FIRST
        return not self._scarce

    def _lasts(self, begun: int) -> bool:
        likely = (1 + CAUTION / self._records) / self._records
        sums = zip(self._reach, self._spent, self._taken, self._worst, strict=True)
        # A record's last call is sent only where it fits at its worst.
        return all(
            max(now, done + begun * likely * done) + likely * done + last <= most for most, now, done, last in sums
        )

    def begin(self) -> None:
        """Start a record: what this task and its child tasks use counts for it."""
        if self._binds:
            _ACCOUNT.set(Account())

    def finish(self) -> None:
        """Finish the record of this task."""
        account = _ACCOUNT.get()
        if account is not None and account.used.calls:
            self._records += 1
            self._taken += account.used

    def limit(self) -> str:
        """Say what the budget holds back right now; empty if nothing."""
        if self.over is not None:
            return ""
        if self._waiting:
            return "budget: waiting for other calls to finish"
        return "budget: only a few records at a time" if self._scarce else ""

    async def reserve(self, judge: Judge, call: Call) -> Amount:
        """Wait until the worst case fits and reserve it; raise BudgetReached if it never will."""
        account = _ACCOUNT.get()
        if self.over is not None and account is not None and not account.open:
            raise self.over  # the record would be begun and not be finished
        worst = self.worst(judge, call)
        self._worst = self._worst.most(worst)
        while not self._fits(worst):
            needed = self._others + self._spent + worst
            if not self._held.calls and self._last and not needed.within(self.limits.amount()):
                raise self._reached(worst)
            self._need = self._need.most(worst)
            settled = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled
        self._held += worst
        if account is not None:
            account.open = True
        return worst

    def settle(self, reserved: Amount, taken: Amount) -> None:
        """Replace a reservation by what the attempt really used."""
        self._held -= reserved
        self._spent += taken
        if (account := _ACCOUNT.get()) is not None:
            account.used += taken
        self._tally.charged = int(self._spent.calls)
        self._wake()

    def borrow(self) -> None:
        """Share the limits with other workers: nothing may be spent until it is lent."""
        self._last = False
        self.keep(Amount())

    def shares(self) -> tuple[Amount, Amount, Amount, Amount]:
        """What is spent, held, and needed by a call that waits; the worst call."""
        need, self._need = self._need, Amount()
        return self._spent, self._held, need, self._worst

    def keep(self, most: Amount) -> None:
        """Give back what was lent beyond this, in all."""
        self._lent = self._allowed(Amount(*map(min, self._lent, most)))

    def _allowed(self, lent: Amount) -> Amount:
        every = zip(self.limits.amount(), lent, strict=True)
        return Amount(*(most if most == math.inf else part for most, part in every))

    def lend(self, lent: Amount, reach: Amount, others: Amount, *, last: bool) -> None:
        """Allow so much in all, which may come to ``reach``; ``last``: what waits now will never fit."""
        self._lent = self._allowed(lent)
        self._reach, self._others, self._last = reach, others, last
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)

    def worst(self, judge: Judge, call: Call) -> Amount:
        """Return the worst case of a call: one token per byte, plus the longest reply it allows."""
        if self.limits.cost is None and self.limits.tokens is None:
            return Amount(calls=1)
        size = size_of(judge.backend, call.body)
        given, limit = size.at_most, size.reply
        if limit is None:
            raise BudgetReached(
                f"{judge.name}: its calls have no limit on the reply length, so a budget cannot be enforced",
                hint="set max_tokens in the judge's table, or use --max-calls",
            )
        written = max(limit, self._longest.get(judge.id, 0))
        saved = Usage(saved=given)  # input that is written to the provider's cache costs the most
        dollars = 0.0 if self.limits.cost is None else self._price(judge, given, written, saved) or 0.0
        return Amount(dollars, 1, given + written)

    def taken(self, judge: Judge, usage: Usage, reserved: Amount) -> Amount:
        """Return what an answered attempt used; all that was reserved if the endpoint did not say."""
        if usage.input is None or usage.output is None:
            self._unsure += Amount(tokens=reserved.tokens)
            return reserved
        # An endpoint that goes beyond the limit it was given may do so again.
        self._longest[judge.id] = max(self._longest.get(judge.id, 0), usage.output)
        dollars = self._price(judge, usage.input, usage.output, usage)
        return Amount(0.0 if self.limits.cost is None else dollars or 0.0, 1, usage.input + usage.output)

    def count(self, judge: Judge, requests: int = 1) -> None:
        """Count requests that were sent to an endpoint."""
        if not is_inside(judge.backend):
            self._tally.sent += requests

    def lose(self, reserved: Amount) -> Amount:
        """Count an attempt without a reply: all that was reserved for it may have been charged."""
        self._tally.lose(reserved.dollars if self.limits.cost is not None else None)
        self._unsure += reserved
        return reserved

    def cost(self, judge: Judge, usage: Usage) -> float | None:
        """Return the cost of a reply in dollars; None if unknown."""
        if judge.backend.free or self._prices.costs_nothing(judge.id):
            return 0.0
        if usage.input is None or usage.output is None:
            return None
        return self._price(judge, usage.input, usage.output, usage)

    def _price(self, judge: Judge, given: int, written: int, usage: Usage = Usage()) -> float | None:  # noqa: B008 - a tuple
        if judge.backend.free or self._prices.costs_nothing(judge.id):
            return 0.0
        dollars = self._prices.cost(
            judge.id, judge.provider, judge.model, input_tokens=given, output_tokens=written,
            cached_tokens=usage.cached or 0, saved_tokens=usage.saved or 0,
        )  # fmt: skip
        return None if dollars is None else usage.rate * dollars

    def _fits(self, more: Amount) -> bool:
        """Return whether a call fits in what is lent."""
        return (self._spent + self._held + more).within(self._lent)

    def _reached(self, more: Amount) -> BudgetReached:
        """Say which limit is reached and how to go on; ``more`` is the call that does not fit."""
        limits, spent = self.limits, self._spent + self._others
        if limits.calls is not None and spent.calls + more.calls > limits.calls:
            return BudgetReached(f"reached --max-calls {limits.calls:,}{self._unanswered()}", hint=self._hint())
        if limits.tokens is not None and spent.tokens + more.tokens > limits.tokens:
            limit, needed = f"--max-tokens {limits.tokens:,}", f"{more.tokens:,.0f}"
            alone = more.tokens > limits.tokens > 0
            unsure = f", {self._unsure.tokens:,.0f} more may be" if self._unsure.tokens else ""
            so_far = f"{spent.tokens - self._unsure.tokens:,.0f} are used{unsure}, and the next call may take {needed}"
        else:
            assert limits.cost is not None
            limit, needed = f"--max-cost {limits.cost:g}", f"${_money(more.dollars)}"
            alone = more.dollars - ROUNDING > limits.cost > 0
            so_far = f"${_money(spent.dollars)} has been or may be spent, and the next call may cost {needed}"
        if alone:
            return BudgetReached(
                f"{limit} is less than one call may use: {needed} with the longest allowed reply",
                hint="raise the limit, or set a smaller max_tokens in the judge's table",
            )
        return BudgetReached(f"reached {limit}: {so_far}", hint=self._hint())

    def _unanswered(self) -> str:
        """Count the calls without a usable answer, if any: the bill shows fewer calls than the limit."""
        useless, lost = self._tally.unusable.calls, int(self._unsure.calls)
        if not useless and not lost:
            return ""
        parts = [f"{self._spent.calls - useless - lost:,.0f} answered"]
        parts += [f"{useless:,} with an unusable reply"] if useless else []
        return f": {', '.join([*parts, *([f'{lost:,} without a reply'] if lost else [])])}"

    def _hint(self) -> str:
        if not self._kept:
            return "--no-cache stores no replies: the same command pays for every call again"
        return "run the same command with a new budget to resume; stored replies are free"


class Reservation:
    """Room in the budget for one attempt at its worst: waits for it on entry, settles on exit."""

    __slots__ = ("_budget", "_call", "_judge", "_reserved", "_sent", "_taken")

    def __init__(self, budget: Budget, judge: Judge, call: Call) -> None:
        self._budget = budget
        self._judge = judge
        self._call = call
        self._reserved: Amount | None = None
        self._taken: Amount | None = None
        self._sent = False

    async def __aenter__(self) -> Self:
        if self._budget.limits and not self._judge.backend.free:
            self._reserved = await self._budget.reserve(self._judge, self._call)
        return self

    def send(self) -> None:
        """Mark the attempt as sent: from now on it may cost."""
        self._sent = True

    def settle(self, usage: Usage, requests: int = 1) -> None:
        """Settle an answered attempt with its tokens and the number of requests."""
        self._budget.count(self._judge, requests)
        if self._reserved is not None:
            self._taken = self._budget.taken(self._judge, usage, self._reserved)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, BackendError) and not error.lost:
            if error.spent is not None:
                self.settle(Usage(*error.spent))
            elif error.status:
                self._budget.count(self._judge)
        elif error is not None and self._sent and self._taken is None:
            self._budget.count(self._judge)
            if self._reserved is None:
                if not self._judge.backend.free:
                    self._budget.lose(Amount())
            else:
                self._taken = self._budget.lose(self._reserved)
        if self._reserved is not None:
            self._budget.settle(self._reserved, self._taken or Amount())


def _money(dollars: float) -> str:
    return f"{dollars:.2f}" if dollars >= 1 else f"{dollars:.2g}" if dollars else "0"

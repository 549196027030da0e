"""Budget of a run: reserve the worst case before sending a call, settle the actual cost afterwards.

Guarantees: spending plus the worst case of all calls in flight never exceeds a limit. A call that does not fit waits
for others to settle; the limit is reached only if none is in flight and it still does not fit. An attempt without a
reply may have been charged, so its reservation is kept. A record is started only if the cost of the finished ones
suggests that the budget will cover it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from contextvars import ContextVar
from types import TracebackType
from typing import Final, Self

from msgspec import Struct, field

from ragstone.engine.settings import ROUNDING, Amount, Limits
from ragstone.engine.tally import Tally
from ragstone.errors import BackendError, BudgetReached, ConfigError
from ragstone.judges.base import Call, Judge, Usage, is_inside, size_of
from ragstone.prices import PriceBook

FIRST: Final = 2
"""Records started under a budget before the cost of one is known."""
CAUTION: Final = 3.0
"""Safety margin: after one finished record, the next may cost this many times more; after n records, 1/n of that."""


class Account(Struct):
    """What one record has used; ``open`` once anything is reserved for it."""

    used: Amount = field(default_factory=Amount)
    open: bool = False


_ACCOUNT: Final[ContextVar[Account | None]] = ContextVar("account", default=None)
"""The account of the record that the current task, or its parent, evaluates."""


class Budget:
    """The limits of one run, in its event loop. Calls that need no endpoint (embedded, replay) are not limited."""

    def __init__(
        self, limits: Limits, prices: PriceBook, judges: Iterable[Judge], tally: Tally, *, kept: bool = True
    ) -> None:
        """Raise ConfigError if a cost limit cannot be enforced because a judge's price is unknown.

        ``kept`` tells whether replies are stored; the message about a reached limit depends on it.
        """
        self.limits = limits
        self.over: BudgetReached | None = None
        """The limit that was reached. From then on, nothing is reserved for records that have no reservation yet."""
        self._kept = kept
        self._prices = prices
        self._tally = tally
        self._spent = Amount()
        self._unsure = Amount()  # the part of it that may or may not have been charged
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
            if hasattr(judge.backend, "bounded"):  # the worst case needs a limit on the reply length
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
        """Return whether the budget allows one more record besides the ``begun`` ones, judging by the finished ones.

        A budget spread over too many records would finish none of them. Records that cost nothing do not count.
        """
        self._scarce = False
        if not (self._binds and begun) or self.over is not None:
            return True
        self._scarce = not self._lasts(begun) if self._records else begun >= FIRST
        return not self._scarce

    def _lasts(self, begun: int) -> bool:
        likely = (1 + CAUTION / self._records) / self._records
        sums = zip(self._reach, self._spent, self._taken, self._worst, strict=True)
        # The last call of a record, too, is sent only if its worst case fits.
        return all(
            max(now, done + begun * likely * done) + likely * done + last <= most for most, now, done, last in sums
        )

    def begin(self) -> None:
        """Start a record: charge what this task and its child tasks use to it."""
        if self._binds:
            _ACCOUNT.set(Account())

    def finish(self) -> None:
        """Finish the record of this task."""
        account = _ACCOUNT.get()
        if account is not None and account.used.calls:
            self._records += 1
            self._taken += account.used

    def limit(self) -> str:
        """Describe what the budget currently holds back; empty if nothing."""
        if self.over is not None:
            return ""
        if self._waiting:
            return "budget: waiting for other calls to finish"
        return "budget: only a few records at a time" if self._scarce else ""

    async def reserve(self, judge: Judge, call: Call) -> Amount:
        """Wait until the worst case fits, then reserve it; raise BudgetReached if it never will."""
        account = _ACCOUNT.get()
        if self.over is not None and account is not None and not account.open:
            raise self.over  # the record would be started but not finished
        worst = self.worst(judge, call)
        self._worst = self._worst.most(worst)
        while not self.fits(worst):
            needed = self._others + self._spent + worst
            if not self._held.calls and self._last and not needed.within(self.limits.amount()):
                raise self.reached(worst)
            self._need = self._need.most(worst)
            settled = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled
        self._held += worst
        if account is not None:
            account.open = True
        return worst

    def settle(self, reserved: Amount, taken: Amount) -> None:
        """Replace a reservation with what the attempt actually used."""
        self._held -= reserved
        self._spent += taken
        if (account := _ACCOUNT.get()) is not None:
            account.used += taken
        self._tally.charged = self._spent
        self._wake()

    def borrow(self) -> None:
        """Share the limits with other workers: spend nothing until it is lent."""
        self._last = False
        self.keep(Amount())

    def shares(self) -> tuple[Amount, Amount, Amount, Amount]:
        """Return what is spent, reserved and needed by a waiting call, and the worst call so far."""
        need, self._need = self._need, Amount()
        return self._spent, self._held, need, self._worst

    def keep(self, most: Amount) -> None:
        """Return everything lent beyond this total."""
        self._lent = self._allowed(Amount(*map(min, self._lent, most)))

    def _allowed(self, lent: Amount) -> Amount:
        every = zip(self.limits.amount(), lent, strict=True)
        return Amount(*(most if most == math.inf else part for most, part in every))

    def lend(self, lent: Amount, reach: Amount, others: Amount, *, last: bool) -> None:
        """Set the total allowance, which may grow to ``reach``; ``last``: a call that does not fit now never will."""
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

    def taken(self, judge: Judge, call: Call, usage: Usage, reserved: Amount) -> Amount:
        """Return what an answered attempt used: its whole reservation if the endpoint did not report usage."""
        if usage.input is None or usage.output is None:
            self._unsure += Amount(tokens=reserved.tokens)
            return reserved
        longer = reserved.tokens and usage.output > self._longest.get(judge.id, 0)
        if longer and usage.output > (size_of(judge.backend, call.body).reply or 0):
            self._longest[judge.id] = usage.output  # an endpoint that exceeds its limit once may do so again
        dollars = self._price(judge, usage.input, usage.output, usage)
        return Amount(0.0 if self.limits.cost is None else dollars or 0.0, 1, usage.input + usage.output)

    def count(self, judge: Judge, requests: int = 1) -> None:
        """Count requests sent to an endpoint."""
        if not is_inside(judge.backend):
            self._tally.sent += requests

    def lose(self, reserved: Amount) -> Amount:
        """Count an attempt without a reply: its whole reservation may have been charged."""
        self._tally.lose(reserved.dollars if self.limits.cost is not None else None)
        self._unsure += reserved
        return reserved

    def cost(self, judge: Judge, usage: Usage) -> float | None:
        """Return the cost of a reply in dollars, or None if unknown."""
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

    def fits(self, more: Amount) -> bool:
        """Return whether a call fits into the current allowance."""
        return (self._spent + self._held + more).within(self._lent)

    def reached(self, more: Amount, unit: str = "call") -> BudgetReached:
        """Return the error that names the reached limit and how to continue; ``more`` is the unit that does not fit."""
        limits, spent = self.limits, self._spent + self._others
        if limits.calls is not None and spent.calls + more.calls > limits.calls:
            return BudgetReached(f"reached --max-calls {limits.calls:,}{self._unanswered()}", hint=self._hint())
        if limits.tokens is not None and spent.tokens + more.tokens > limits.tokens:
            limit, needed = f"--max-tokens {limits.tokens:,}", f"{more.tokens:,.0f}"
            alone = more.tokens > limits.tokens > 0
            unsure = f", {self._unsure.tokens:,.0f} more may be" if self._unsure.tokens else ""
            so_far = (
                f"{spent.tokens - self._unsure.tokens:,.0f} are used{unsure}, and the next {unit} may take {needed}"
            )
        else:
            assert limits.cost is not None
            limit, needed = f"--max-cost {limits.cost:g}", f"${_money(more.dollars)}"
            alone = more.dollars - ROUNDING > limits.cost > 0
            so_far = f"${_money(spent.dollars)} has been or may be spent, and the next {unit} may cost {needed}"
        if alone:
            return BudgetReached(
                f"{limit} is less than one call may use: {needed} with the longest allowed reply",
                hint="raise the limit, or set a smaller max_tokens in the judge's table",
            )
        return BudgetReached(f"reached {limit}: {so_far}", hint=self._hint())

    def _unanswered(self) -> str:
        """Describe the calls without a usable answer, if any, since the bill shows fewer calls than the limit."""
        useless, lost = self._tally.unusable.calls, int(self._unsure.calls)
        if not useless and not lost:
            return ""
        parts = [f"{self._spent.calls - useless - lost:,.0f} answered"]
        parts += [f"{useless:,} with an unusable reply"] if useless else []
        return f": {', '.join([*parts, *([f'{lost:,} without a reply'] if lost else [])])}"

    def _hint(self) -> str:
        if not self._kept:
            return "--no-cache stores no replies: the same command pays for every call again"
        return "run the same command again to resume; each run has its own budget, and stored replies are free"


class Reservation:
    """The worst case of one attempt in the budget: waits for room on entry, settles on exit."""

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
        """Mark the attempt as sent: from now on it may be charged."""
        self._sent = True

    def settle(self, usage: Usage, requests: int = 1) -> None:
        """Settle an answered attempt with its tokens and the number of requests."""
        self._budget.count(self._judge, requests)
        if self._reserved is not None:
            self._taken = self._budget.taken(self._judge, self._call, usage, self._reserved)

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

"""Budgets: what is charged never passes a limit, whatever fails and however many calls are in flight."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
import virtual
from msgspec.structs import replace
from stage import GOOD, QUICK, Outcome, jobs, metrics, only, prompted, record, records, weigh

from ragstone.engine import calls as engine_calls
from ragstone.engine.budget import Budget
from ragstone.engine.settings import Amount, Limits
from ragstone.engine.tally import Tally
from ragstone.errors import BackendError, BudgetReached, ConfigError
from ragstone.judges.base import Call, Dialogue, Reply, Usage
from ragstone.judges.spec import Spec
from ragstone.prices import PriceBook
from ragstone.questions import TASKS, Question, Rate, Rated, Task
from ragstone.store.database import Store
from ragstone.testing import FakeServer, Scripted, ScriptedJudge
from ragstone.tokens import Size
from ragstone.types import Record, Verdict

PRICE = (10.0, 40.0)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are short."""
    monkeypatch.setattr(engine_calls, "_backoff", lambda attempt: 0.01)


LONGEST = 400


class MeteredBackend:
    """Answers after a moment, fails as it is told, and keeps the endpoint's own bill."""

    free = False
    timeout: float | None = None

    def __init__(self, chance: random.Random, faults: float, *, concurrency: int = 64, longest: int = LONGEST) -> None:
        self.chance = chance
        self.faults = faults
        self.concurrency = concurrency
        self.longest = longest
        self.flying = self.most = self.calls = self.tokens = 0
        self.charged = 0.0

    async def open(self) -> None: ...
    async def close(self) -> None: ...

    async def send(self, call: Call) -> Reply:
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            await asyncio.sleep(self.chance.choice([0.001, 0.002, 0.004]))
            return self._answered(call)
        finally:
            self.flying -= 1

    def size(self, body: bytes) -> Size:
        return Size(len(body), (), reply=orjson.loads(body).get("max_tokens"))

    def _answered(self, call: Call) -> Reply:
        fate = self.chance.random() / self.faults if self.faults else 1.0
        usage = Usage(self.chance.randint(1, self.size(call.body).at_most), self.chance.randint(1, self.longest))
        assert usage.input is not None
        assert usage.output is not None
        if fate < 0.3:
            raise BackendError("m: HTTP 429", retryable=True, retry_after=0.0)
        self.calls += 1
        self.tokens += usage.input + usage.output
        self.charged += (usage.input * PRICE[0] + usage.output * PRICE[1]) / 1e6
        if fate < 0.6:  # charged for, and of no use
            spent = (usage.input, usage.output, None, None)
            raise BackendError("m: not a chat completion", retryable=True, retry_after=0.0, spent=spent)
        if fate < 1.0:  # the reply got lost on its way
            raise BackendError("m: no reply within 1 s", retryable=True, retry_after=0.0, lost=True)
        return Reply("yes", usage=usage)


class MeteredJudge:
    """Says yes to everything, one call a question, through a backend that costs."""

    name = id = "metered/m"
    model = "m"
    provider = "metered"

    def __init__(self, backend: Any, limit: int | None = LONGEST) -> None:
        self.backend = backend
        self.limit = limit

    def can(self, task: Task) -> bool:
        return task in TASKS

    def maker(self, question: Question[Any]) -> str:
        return "metered"

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        assert isinstance(question, Rate)
        text = " ".join(unit.text for unit in question.units)
        body: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
        if self.limit:
            body["max_tokens"] = self.limit
        (reply,) = yield [Call(self.id, question.task, "metered", orjson.dumps(body), 1, repeat)]
        label = question.scale.labels[-1] if isinstance(reply, Reply) else None
        value = None if label is None else 1.0
        return Rated(tuple(Verdict(unit, label, value, self.id, failure="lost") for unit in question.units))


def spend(limits: Limits, backend: Any, given: Sequence[Record], *, store: Store | None = None) -> Outcome:
    return weigh(
        given, metrics("answer_relevance"), only(MeteredJudge(backend)), store=store,
        settings=replace(QUICK, limits=limits), prices=PriceBook({"metered/m": PRICE}), run=virtual.run,
    )  # fmt: skip


@pytest.mark.parametrize("block", range(4))
def test_the_bill_never_passes_the_budget(block: int) -> None:
    """In 80 random runs: 64 calls in flight, replies of any length, faults that are charged for and others."""
    full = 0
    for seed in range(20 * block, 20 * block + 20):
        chance = random.Random(seed)
        given = [record(f"r{n}", "word " * chance.randint(1, 60) + str(n)) for n in range(chance.randint(70, 120))]
        cost = chance.choice([0.0, 0.01, 0.2, 0.5, 2.0, 5.0]) * chance.uniform(0.5, 1.5)
        backend = MeteredBackend(chance, chance.choice([0.0, 0.1, 0.5]))
        came = spend(Limits(cost=cost), backend, given)
        assert backend.charged <= cost + 1e-9
        assert isinstance(came.error, BudgetReached) or (came.error is None and len(came.weighed) == len(given))
        paid = came.tally.paid.dollars
        assert paid is not None
        assert paid <= cost + 1e-9
        full += backend.most == 64
    assert full >= 1


@pytest.mark.parametrize("seed", range(20))
def test_calls_and_tokens_are_limited_alike(seed: int) -> None:
    """As the endpoint counts them."""
    chance = random.Random(seed)
    limits = Limits(calls=chance.randint(0, 60), tokens=chance.randint(0, 40_000))
    backend = MeteredBackend(chance, 0.2)
    spend(limits, backend, records(60))
    assert limits.calls is not None
    assert limits.tokens is not None
    assert backend.calls <= limits.calls
    assert backend.tokens <= limits.tokens


def test_a_small_budget_is_used_up() -> None:
    """Reservations only make calls wait: at the end less than one worst case is left over."""
    backend = MeteredBackend(random.Random(1), 0.0)
    came = spend(Limits(cost=0.5), backend, records(200))
    assert isinstance(came.error, BudgetReached)
    worst = (Size(120, ()).at_most * PRICE[0] + LONGEST * PRICE[1]) / 1e6
    assert 0.5 - worst < backend.charged <= 0.5


def test_what_is_done_is_kept_and_the_same_command_goes_on() -> None:
    """Budget after budget the run is finished, and nothing is paid twice."""
    with Store(":memory:") as store:
        backend = MeteredBackend(random.Random(2), 0.0)
        runs = 0
        while (came := spend(Limits(calls=7), backend, records(20), store=store)).error is not None:
            assert str(came.error) == "reached --max-calls 7"
            assert "to resume" in came.error.hint
            assert len(came.weighed) == 7 * (runs + 1)
            runs += 1
        assert (runs, backend.calls, len(came.weighed)) == (2, 20, 20)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_half_a_budget_finishes_half_of_the_records(share: float) -> None:
    """And not the first step of all of them, though all would fit side by side."""
    with FakeServer(latency=0.005) as server:
        whole = weigh(records(60), metrics("grounding"), prompted(server))
        limits = Limits(calls=round(share * whole.tally.sent))
        came = weigh(records(60), metrics("grounding"), prompted(server), settings=replace(QUICK, limits=limits))
    assert isinstance(came.error, BudgetReached)
    assert came.tally.sent == limits.calls
    assert len(came.weighed) >= 0.85 * share * 60


def test_a_budget_that_is_resumed_is_not_spread_either() -> None:
    """What was paid before says nothing of what the next records take, and neither does the one that was cut."""
    with FakeServer(latency=0.005) as server, Store(":memory:") as store:
        done = [0]
        for _ in range(4):
            came = weigh(
                records(90), metrics("grounding"), prompted(server), store=store,
                settings=replace(QUICK, limits=Limits(calls=39)),
            )  # fmt: skip
            assert came.tally.sent == 39
            done.append(len(came.weighed))
        assert all(after - before >= 18 for before, after in itertools.pairwise(done)), done


def test_a_small_budget_begins_few_records() -> None:
    """Before one is done, too: sixteen of which none is finished would be sixteen calls for nothing."""
    with FakeServer(latency=0.005) as server:
        came = weigh(
            records(30), metrics("grounding"), prompted(server), settings=replace(QUICK, limits=Limits(calls=7))
        )
    assert came.tally.sent == 7
    assert len(came.weighed) == 3


def test_records_that_cost_nothing_are_done_all_the_same() -> None:
    """Where a budget is reached by the first record, those behind it whose replies are there have their results."""
    with Store(":memory:") as store:
        backend = MeteredBackend(random.Random(2), 0.0)
        spend(Limits(), backend, records(20), store=store)
        unpaid = [record(f"new{number}") for number in range(40)]
        came = spend(Limits(calls=2), backend, [*unpaid, *records(20), record("last")], store=store)
        assert isinstance(came.error, BudgetReached)
        assert came.ids == ["new0", "new1", *(f"r{number}" for number in range(1, 21))]
        assert backend.calls == 22


def test_how_far_is_looked_for_what_costs_nothing_is_limited() -> None:
    """As many records as may wait for one that is not done."""
    backend = MeteredBackend(random.Random(2), 0.0)
    read = []

    def source() -> Any:
        for job in jobs(records(500), metrics("answer_relevance")):
            read.append(job.id)
            yield job

    came = weigh(
        source(), (), only(MeteredJudge(backend)), settings=replace(QUICK, limits=Limits(calls=3), ahead=64),
    )  # fmt: skip
    assert isinstance(came.error, BudgetReached)
    assert len(came.weighed) == 3
    assert len(read) <= 3 + 64


def test_a_budget_of_nothing_sends_nothing() -> None:
    backend = MeteredBackend(random.Random(3), 0.0)
    for limits in (Limits(cost=0.0), Limits(calls=0), Limits(tokens=0)):
        assert isinstance(spend(limits, backend, records(3)).error, BudgetReached)
    assert backend.calls == 0


@pytest.mark.parametrize("limits", [Limits(cost=0.001), Limits(tokens=200)])
def test_a_budget_that_no_call_fits_says_so(limits: Limits) -> None:
    """To give the same command again would change nothing."""
    came = spend(limits, MeteredBackend(random.Random(3), 0.0), records(3))
    assert "is less than one call may use" in str(came.error)
    assert "smaller max_tokens" in came.error.hint  # type: ignore[union-attr]


def test_without_a_cache_nobody_is_told_that_replies_are_kept() -> None:
    settings = replace(QUICK, limits=Limits(calls=3), cache="off")
    came = weigh(
        records(9), metrics("answer_relevance"), only(MeteredJudge(MeteredBackend(random.Random(3), 0.0))),
        settings=settings,
    )  # fmt: skip
    assert "pays for every call again" in came.error.hint  # type: ignore[union-attr]


def test_what_sends_nothing_spends_nothing() -> None:
    """An offline run needs no price, whatever budget the configuration sets."""
    with Store(":memory:") as store:
        backend = MeteredBackend(random.Random(3), 0.0)
        spend(Limits(), backend, records(3), store=store)
        settings = replace(QUICK, limits=Limits(cost=1.0), cache="offline")
        came = weigh(
            records(3), metrics("answer_relevance"), only(MeteredJudge(backend)), store=store, settings=settings
        )
        assert (came.error, len(came.weighed), backend.calls) == (None, 3, 3)


def test_a_budget_says_what_it_holds_back() -> None:
    """Calls that wait for others, and records that are not begun; nothing once all is settled."""

    async def held() -> None:
        tally = Tally()
        judge = MeteredJudge(MeteredBackend(random.Random(3), 0.0))
        budget = Budget(Limits(calls=2), PriceBook(), [judge], tally)
        call = Call(judge.id, "support", "metered", b'{"max_tokens":5}')
        assert budget.limit() == ""
        first, second = [await budget.reserve(judge, call) for _ in range(2)]
        third = asyncio.ensure_future(budget.reserve(judge, call))
        await asyncio.sleep(0)
        assert budget.limit() == "budget: waiting for other calls to finish"
        budget.settle(first, Amount())
        budget.settle(second, Amount(calls=1))
        await third
        assert budget.limit() == ""
        assert [budget.room(begun) for begun in (0, 1, 2)] == [True, True, False]
        assert budget.limit() == "budget: only a few records at a time"
        assert (tally.charged.calls, tally.most_calls) == (1, 2)

    asyncio.run(held())


def test_once_a_limit_is_reached_only_records_that_were_begun_go_on() -> None:
    """A call of another record would fit, and be paid for a record that is not going to be finished."""

    async def after() -> None:
        judge = MeteredJudge(MeteredBackend(random.Random(3), 0.0))
        budget = Budget(Limits(calls=9), PriceBook(), [judge], Tally())
        call = Call(judge.id, "support", "metered", b'{"max_tokens":5}')
        reached = BudgetReached("it is reached")

        async def record(*, before: bool) -> None:
            budget.begin()
            if before:
                budget.settle(await budget.reserve(judge, call), Amount(calls=1))
            budget.over = reached
            await budget.reserve(judge, call)

        await asyncio.create_task(record(before=True))
        with pytest.raises(BudgetReached, match="it is reached"):
            await asyncio.create_task(record(before=False))

    asyncio.run(after())


def test_a_reply_that_is_not_metered_adds_no_tokens_and_is_counted_as_such() -> None:
    tally = Tally()
    tally.pay("j", "support", Usage(10, 5, 4, 2), 0.5)
    tally.pay("j", "support", Usage(), 0.0)
    assert tally.paid.as_json() == {
        "calls": 2, "input_tokens": 10, "output_tokens": 5, "cached_tokens": 4, "reasoning_tokens": 2,
        "unmetered_calls": 1, "dollars": 0.5,
    }  # fmt: skip


def test_an_attempt_without_a_reply_stays_reserved_and_is_told() -> None:
    """It may have been charged for."""
    backend = MeteredBackend(random.Random(4), 1.0)
    came = spend(Limits(cost=0.2), backend, records(50))
    assert came.tally.lost > 0
    assert came.tally.lost_dollars is not None
    assert came.tally.paid.dollars is not None
    assert came.tally.paid.dollars + came.tally.lost_dollars <= 0.2 + 1e-9


@pytest.mark.parametrize("seed", range(4, 8))
def test_the_message_tells_what_is_used_from_what_may_be(seed: int) -> None:
    """The first is what the bill has; the second is what was set aside for attempts that no reply came to."""
    came = spend(Limits(tokens=8_000), MeteredBackend(random.Random(seed), 0.6), records(50))
    found = re.fullmatch(
        r"reached --max-tokens 8,000: ([\d,]+) are used(?:, ([\d,]+) more may be)?, "
        r"and the next call may take ([\d,]+)",
        str(came.error),
    )
    assert found is not None, came.error
    used, unsure, needed = (int((number or "0").replace(",", "")) for number in found.groups())
    assert used == came.tally.paid.input_tokens + came.tally.paid.output_tokens
    assert (unsure > 0) == (came.tally.lost > 0)
    assert used + unsure <= 8_000 < used + unsure + needed


@pytest.mark.parametrize("seed", range(4, 8))
def test_a_limit_on_calls_tells_those_that_brought_no_answer(seed: int) -> None:
    """Answered, of no use and without a reply are together what the limit allows; the first is what the bill has."""
    came = spend(Limits(calls=30), MeteredBackend(random.Random(seed), 0.6), records(50))
    tally = came.tally
    told = f"{tally.answered} answered, {tally.unusable.calls} with an unusable reply, {tally.lost} without a reply"
    assert str(came.error) == f"reached --max-calls 30: {told}"
    assert tally.answered + tally.unusable.calls + tally.lost == 30 == tally.sent


def test_attempts_that_were_charged_in_vain_are_in_the_bill() -> None:
    """The bill is what the endpoint counted, but for replies that got lost."""
    backend = MeteredBackend(random.Random(5), 0.5)
    came = spend(Limits(), backend, records(80))
    bill = came.tally.as_json()
    assert came.error is None
    assert bill["unusable"]["calls"] > 0
    assert bill["paid"]["calls"] == bill["answered"] + bill["unusable"]["calls"]
    assert backend.calls == bill["paid"]["calls"] + bill["lost"]["attempts"] == bill["sent"]
    assert sum(step["dollars"] for step in bill["by_step"]) == pytest.approx(bill["paid"]["dollars"])


def test_an_unknown_price_is_refused_before_anything_is_sent() -> None:
    """A limit on money cannot be kept then; one on calls can."""
    backend = MeteredBackend(random.Random(6), 0.0)
    dear, few = (
        weigh(
            records(3), metrics("answer_relevance"), only(MeteredJudge(backend)), settings=replace(QUICK, limits=limits)
        ).error
        for limits in (Limits(cost=1.0), Limits(calls=5))
    )
    assert isinstance(dear, ConfigError)
    assert "cannot be enforced: the price of metered/m is unknown" in str(dear)
    assert few is None
    assert backend.calls == 3


def test_a_request_without_a_limit_has_no_worst_case() -> None:
    """It is not sent under a budget of money or tokens."""
    backend = MeteredBackend(random.Random(7), 0.0)
    came = weigh(
        records(3), metrics("answer_relevance"), only(MeteredJudge(backend, limit=None)),
        settings=replace(QUICK, limits=Limits(tokens=10**6)),
    )  # fmt: skip
    assert "have no limit on the reply length" in str(came.error)
    assert backend.calls == 0


def test_calls_that_no_endpoint_answers_are_not_limited() -> None:
    """The embedded judge and scripts are asked in this process."""
    came = weigh(
        records(5), metrics("grounding"), ScriptedJudge(GOOD), settings=replace(QUICK, limits=Limits(0.0, 0, 0))
    )
    assert came.error is None
    assert came.values == [1.0] * 5


def test_an_endpoint_that_writes_more_than_it_may_is_expected_to_do_so_again() -> None:
    """The first such reply may pass the budget; from then on its length is reserved."""
    backend = MeteredBackend(random.Random(8), 0.0, concurrency=1, longest=4 * LONGEST)
    came = spend(Limits(tokens=6000), backend, records(40))
    assert isinstance(came.error, BudgetReached)
    assert backend.tokens <= 6000 + 4 * LONGEST


def test_a_long_reply_that_was_allowed_does_not_make_others_expected_to_be_as_long(monkeypatch: Any) -> None:
    """Such as the one to a repair of a reply that was cut off, which has twice the room."""
    judge = MeteredJudge(MeteredBackend(random.Random(3), 0.0))
    monkeypatch.setattr(judge.backend, "size", lambda body: Size(len(body), ("",), 0, orjson.loads(body)["most"]))
    budget = Budget(Limits(tokens=10_000), PriceBook(), [judge], Tally())
    short, repair = (Call(judge.id, "support", "metered", b'{"most":%d}' % most) for most in (400, 800))
    worst = budget.worst(judge, short)
    budget.taken(judge, repair, Usage(1, 700), budget.worst(judge, repair))
    assert budget.worst(judge, short) == worst
    budget.taken(judge, short, Usage(1, 700), worst)
    assert budget.worst(judge, short).tokens == worst.tokens + 300


# ---- against a server


def priced(judge: Any) -> PriceBook:
    return PriceBook({judge.id: PRICE})


@pytest.mark.parametrize("seed", range(3))
def test_the_bill_holds_on_real_sockets(seed: int) -> None:
    """With retries, garbage that is charged for and 64 calls in flight."""
    chance = random.Random(seed)
    cost = chance.uniform(0.3, 2.0)
    faults = {"rate_429": 0.1, "rate_500": 0.05, "rate_garbage": 0.1, "rate_empty_choices": 0.1, "retry_after": 0.0}
    with FakeServer(latency=(0.0, 0.02), seed=seed, obey_max_tokens=True, **faults) as server:  # type: ignore[arg-type]
        judge = prompted(server)
        came = weigh(
            records(40), metrics("grounding"), judge,
            settings=replace(QUICK, limits=Limits(cost=cost)), prices=priced(judge),
        )  # fmt: skip
        assert came.error is None or isinstance(came.error, BudgetReached)
        assert came.tally.paid.dollars is not None
        assert came.tally.paid.dollars <= cost
        assert came.tally.paid.calls == server.count


def test_what_an_unusable_reply_was_charged_is_in_the_bill() -> None:
    """No choice in it, and a count of tokens all the same."""
    empty = Scripted(raw='{"choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 9}}')
    with FakeServer(script=[empty]) as server:
        came = weigh([record("a")], metrics("answer_relevance"), prompted(server))
    assert came.values != [None]
    unusable = came.tally.unusable
    assert (unusable.calls, unusable.input_tokens, unusable.output_tokens) == (1, 70, 9)
    assert came.tally.retried == 1


def test_an_endpoint_that_takes_no_limit_is_not_asked_under_a_budget() -> None:
    """Neither max_tokens nor its other name: one line says so, and nothing more is sent."""
    with FakeServer(refuse_parameters=["max_tokens", "max_completion_tokens"]) as server:
        budget = replace(QUICK, limits=Limits(tokens=10**9))
        came = weigh(records(3), metrics("answer_relevance"), prompted(server), settings=budget)
        assert "a budget cannot be enforced" in str(came.error)
        assert server.count == 0


def test_a_price_of_ones_own_may_know_cached_input() -> None:
    """Three figures; without the third cached input costs what any other does."""
    tokens = {"input_tokens": 1_000_000, "output_tokens": 0, "cached_tokens": 500_000}
    assert PriceBook({"j": (2.0, 8.0, 1.0)}).cost("j", "", "m", **tokens) == pytest.approx(1.5)
    assert PriceBook({"j": (2.0, 8.0)}).cost("j", "", "m", **tokens) == pytest.approx(2.0)
    assert Spec("j", price=(2.0, 8.0, 1.0)).price == (2.0, 8.0, 1.0)


def test_replies_that_nobody_can_read_or_meter_count_for_a_budget_of_calls() -> None:
    """The endpoint answered them, and may charge for them."""
    broken = Scripted(raw='{"choices": [{"message": ')
    asked = itertools.count()
    with FakeServer(answer=lambda _request: broken if next(asked) % 3 == 0 else None, latency=0.01) as server:
        came = weigh(
            records(40), metrics("grounding"), prompted(server), settings=replace(QUICK, limits=Limits(calls=20))
        )
        assert isinstance(came.error, BudgetReached)
        assert 0 < server.count <= 20

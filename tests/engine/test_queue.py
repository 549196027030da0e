"""A queue at work, in virtual time: who waits for what, what holds everybody, and that no turn is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
import virtual
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.engine.breaker import Breaker
from ragstone.engine.queue import Queue, Queues, Turn
from ragstone.errors import BackendError
from ragstone.judges.base import Allowance, Backend, Call, Left, RateLimits, Reply
from ragstone.judges.openai import OpenAIBackend
from ragstone.judges.spec import Spec
from ragstone.testing import ScriptedJudge

CALL = Call("j", "support", "p", b'{"max_tokens": 10}')
LONG = Call("j", "support", "p", b'{"max_tokens": 600}')


def half(attempt: int) -> float:
    return 0.5 * attempt


def queue(concurrency: int = 8, *, wary: bool = False, dead_after: int = 5, rpm: int = 0, tpm: int = 0) -> Queue:
    return Queue(
        concurrency,
        Breaker(dead_after, 300.0, wary=wary),
        size=OpenAIBackend(Spec("m")).size,
        rpm=rpm,
        tpm=tpm,
        name="it",
    )


def within(work: Callable[[], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        await work()

    virtual.run(all_of_it())


def now() -> float:
    return asyncio.get_running_loop().time()


def test_turns_come_in_the_order_of_asking() -> None:
    order: list[int] = []

    async def work() -> None:
        door = queue(1)

        async def one(number: int) -> None:
            turn = await door.enter(CALL)
            order.append(number)
            await asyncio.sleep(1)
            door.answered(turn, CALL, Reply(""))

        await asyncio.gather(*(one(number) for number in range(5)))
        assert now() == pytest.approx(5.0)

    within(work)
    assert order == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("places", [2, 40])
def test_replies_give_their_places_back_while_few_are_not_on_disk(places: int) -> None:
    """Calls under way and replies that are not on disk are never more than twice the places."""

    async def work() -> None:
        door = queue(places)
        turns = [await door.enter(CALL) for _ in range(places)]
        for turn in turns:
            door.answered(turn, CALL, Reply(""), keep=True)
        turns = [await door.enter(CALL) for _ in range(places)]
        door.answered(turns.pop(), CALL, Reply(""), keep=True)
        waiting = [asyncio.ensure_future(door.enter(CALL)) for _ in range(2)]
        await asyncio.sleep(1)
        assert not waiting[0].done()
        door.kept()
        await waiting[0]
        assert (door.in_flight, door.unsaved) == (places, places)
        door.answered(turns.pop(), CALL, Reply(""))
        await waiting[1]

    within(work)


@pytest.mark.parametrize("wait", [4.0, 3600.0])
def test_who_is_refused_waits_alone_while_others_are_taken(wait: float) -> None:
    """However long it is asked to wait, and however many refusals come before the first answer."""

    async def work() -> None:
        door = queue(64)
        turns = [await door.enter(CALL) for _ in range(60)]
        refused = BackendError("HTTP 429", retryable=True, status=429, retry_after=wait)
        for turn in turns[::3]:
            door.refused(turn, CALL, refused, half)
        await door.enter(CALL)
        assert (now(), door.limit()) == (0.0, "")
        assert not door.breaker.dead(now())

    within(work)


def test_where_all_are_refused_all_wait_as_long_as_is_asked_and_one_tries() -> None:
    """Answers to calls that were sent before do not end the pause; one call goes then, and its answer lets all in."""

    async def work() -> None:
        door = queue(32)
        before = await door.enter(CALL)
        turns = [await door.enter(CALL) for _ in range(12)]
        for turn in turns:
            door.refused(turn, CALL, BackendError("HTTP 429", retryable=True, status=429, retry_after=4.0), half)
        waiting = [asyncio.ensure_future(door.enter(CALL)) for _ in range(9)]
        await asyncio.sleep(1)
        assert door.limit() == "every call refused, retrying one call at a time, next in 3 s"
        door.answered(before, CALL, Reply(""))
        turn = await waiting[0]
        paused = [door.pace.paused_since(then, now()) for then in (0.0, 2.0)]
        assert (turn.begun, *paused) == pytest.approx((4.0, 4.0, 2.0))
        await asyncio.sleep(1)
        assert [one.done() for one in waiting] == [True, *[False] * 8]
        door.answered(turn, CALL, Reply(""))
        await asyncio.gather(*waiting)
        assert (now(), door.limit()) == (5.0, "")

    within(work)


def test_a_slow_reply_and_a_model_that_is_loading_are_told() -> None:
    """Of the oldest call that is under way, whether others wait for its place or not."""

    async def work() -> None:
        door = queue(1)
        turn = await door.enter(CALL)
        await asyncio.sleep(9)
        assert door.limit() == ""
        await asyncio.sleep(3)
        assert door.limit() == "waiting 12 s for a reply"
        waiting = asyncio.ensure_future(door.enter(CALL))
        await asyncio.sleep(1)
        assert door.limit() == "concurrency 1, waiting 13 s for a reply"
        waiting.cancel()
        loading = BackendError("Loading model", retryable=True, status=503, loading=True)
        for _ in range(12):
            door.refused(turn, CALL, loading, half)
            turn = await door.enter(CALL)
        door.refused(turn, CALL, loading, half)
        assert door.limit().startswith("model loading, retrying one call at a time, next in ")
        assert not door.breaker.dead(now())

    within(work)


@pytest.mark.parametrize("status", [429, 503, 529])
def test_places_fall_after_what_says_too_many_and_are_told(status: int) -> None:
    async def work() -> None:
        door = queue(64)
        turns = [await door.enter(CALL) for _ in range(64)]
        for turn in turns[:3]:
            door.refused(turn, CALL, BackendError(f"HTTP {status}", retryable=True, status=status), half)
        waiting = [asyncio.ensure_future(door.enter(CALL)) for _ in range(2)]
        await asyncio.sleep(0)
        assert [one.done() for one in waiting] == [True, False], "a place and a half of 64 are gone"
        assert door.limit() == f"concurrency 62 of 64 after HTTP {status}"
        for turn in turns[3:]:
            door.answered(turn, CALL, Reply(""))
        for one in waiting:
            door.abandoned(await one)
        assert door.in_flight == 0

    within(work)


def test_who_is_dismissed_waits_no_more_and_takes_nothing() -> None:
    """Calls to a judge that is given up leave the queue at once, and those of others go on as if they never were."""
    gone = Call("gone", "support", "p", b'{"max_tokens": 10}')

    async def work() -> None:
        door = queue(8, rpm=2)
        turns = [await door.enter(CALL), await door.enter(gone)]
        waiting = [asyncio.ensure_future(door.enter(call)) for call in (gone, CALL, gone, gone)]
        await asyncio.sleep(1)
        door.dismiss("gone", BackendError("HTTP 404", fatal=True))
        heard = await asyncio.gather(waiting[0], waiting[2], waiting[3], return_exceptions=True)
        assert [str(error) for error in heard] == ["HTTP 404"] * 3
        assert now() == pytest.approx(1.0)
        for turn in (*turns, await waiting[1]):
            door.abandoned(turn)
        assert now() == pytest.approx(60.5)

    within(work)


def test_a_turn_that_comes_as_its_call_is_called_off_takes_nothing() -> None:
    async def work() -> None:
        door = queue(1, rpm=2)
        turn = await door.enter(CALL)
        waiting = asyncio.ensure_future(door.enter(CALL))
        await asyncio.sleep(0)
        door.abandoned(turn)  # its place and the last request of the minute go to the one that waits
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await door.enter(CALL)
        assert now() == pytest.approx(0.0)

    within(work)


def test_a_minute_is_told() -> None:
    async def work() -> None:
        door = queue(rpm=60)
        for _ in range(60):
            door.answered(await door.enter(CALL), CALL, Reply(""))
        waiting = asyncio.ensure_future(door.enter(CALL))
        await asyncio.sleep(1)
        assert door.limit() == "60 requests a minute"
        assert (await waiting).begun > 60

    within(work)


def test_a_minute_of_tokens_is_told() -> None:
    async def work() -> None:
        door = queue(tpm=1000)
        waiting = [asyncio.ensure_future(door.enter(LONG)) for _ in range(2)]
        await asyncio.sleep(1)
        assert [one.done() for one in waiting] == [True, False]
        assert door.limit() == "1,000 tokens a minute"
        first = await waiting[0]
        first.sent = True
        door.abandoned(first)
        assert (await waiting[1]).begun > 1

    within(work)


def test_what_the_endpoint_has_left_holds_and_a_reply_lets_go() -> None:
    """Nothing left for a minute, says an early reply; that there is more, says the next."""

    async def work() -> None:
        door = queue()
        first, second = await door.enter(CALL), await door.enter(CALL)
        door.answered(first, CALL, Reply("", allowance=Allowance(requests=Left(0, 50.0))))
        waiting = asyncio.ensure_future(door.enter(CALL))
        await asyncio.sleep(1)
        assert door.limit() == "endpoint has no requests left"
        door.answered(second, CALL, Reply("", allowance=Allowance(requests=Left(5, 50.0))))
        assert (await waiting).begun == pytest.approx(1.0)

    within(work)


def test_the_first_call_goes_alone_for_half_a_second_at_most() -> None:
    begun: list[float] = []

    async def work() -> None:
        door = queue(wary=True)

        async def one() -> None:
            turn = await door.enter(CALL)
            begun.append(turn.begun)
            await asyncio.sleep(5)
            door.answered(turn, CALL, Reply(""))

        await asyncio.gather(*(one() for _ in range(4)))

    within(work)
    assert begun == [0.0, pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0.5)]


def test_a_refused_key_lets_nobody_follow_but_a_check() -> None:
    async def work() -> None:
        door = queue(wary=True)
        turn = await door.enter(CALL)
        waiting = [asyncio.ensure_future(door.enter(CALL)) for _ in range(9)]
        await asyncio.sleep(0.1)
        door.refused(turn, CALL, BackendError("HTTP 401", fatal=True, status=401), half)
        check = await asyncio.wait_for(door.enter(CALL, first=True), 1)
        assert not any(one.done() for one in waiting)
        door.abandoned(check)
        door.resume()
        await asyncio.sleep(0)
        assert sum(one.done() for one in waiting) == 1, "who is told by the engine that there is no endpoint any more"

    within(work)


def test_who_does_not_answer_is_asked_by_one_at_a_time_with_growing_pauses() -> None:
    begun: list[float] = []

    async def work() -> None:
        door = queue(wary=True)

        async def one() -> None:
            while not door.breaker.dead(now()):
                turn = await door.enter(CALL)
                if door.breaker.dead(now()):
                    return door.abandoned(turn)
                begun.append(turn.begun)
                door.refused(turn, CALL, BackendError("cannot reach", retryable=True), half)
                await asyncio.sleep(0.5)
            return None

        await asyncio.gather(*(one() for _ in range(64)))
        assert door.width.now == door.width.most, "calls that go alone say nothing about the width"

    within(work)
    assert begun == pytest.approx([0.0, 0.0, 1.0, 2.5, 4.5, 7.0])


@dataclass
class Visit:
    """One who comes: after a while, for a while, and what becomes of it."""

    gap: float
    stay: float
    end: str
    given_up_after: float


VISITS = st.builds(
    Visit, st.sampled_from([0.0, 0.1, 2.0]), st.sampled_from([0.0, 0.5, 4.0]),
    st.sampled_from(["answer", "answer", "429", "503", "400", "reset", "abandon"]), st.sampled_from([0.3, 3.0, 1e6]),
)  # fmt: skip


@dataclass
class Counted:
    inside: int = 0
    most: int = 0
    ends: list[str] = field(default_factory=list)


@settings(max_examples=100)
@given(st.lists(VISITS, max_size=40), st.integers(1, 6))
def test_no_turn_is_lost_and_no_place_is_given_twice(visits: list[Visit], places: int) -> None:
    """Whatever becomes of calls, and whoever gives up waiting: everybody gets through, never more than places."""
    counted = Counted()
    errors = {
        "429": BackendError("429", retryable=True, status=429, retry_after=1.0),
        "503": BackendError("503", retryable=True, status=503),
        "400": BackendError("400", status=400),
        "reset": BackendError("reset", retryable=True),
    }

    async def stay(door: Queue, visit: Visit) -> None:
        turn: Turn = await door.enter(CALL)
        counted.inside += 1
        counted.most = max(counted.most, counted.inside)
        try:
            await asyncio.sleep(visit.stay)
        except asyncio.CancelledError:
            counted.inside -= 1
            door.abandoned(turn)
            raise
        counted.inside -= 1
        if visit.end == "answer":
            door.answered(turn, CALL, Reply(""))
        elif visit.end == "abandon":
            door.abandoned(turn)
        else:
            door.refused(turn, CALL, errors[visit.end], half)
        counted.ends.append(visit.end)

    async def come(door: Queue, visit: Visit) -> None:
        try:
            await asyncio.wait_for(stay(door, visit), visit.given_up_after)
        except TimeoutError:
            counted.ends.append("gave up")

    async def work() -> None:
        door = queue(places, dead_after=1000)
        tasks = []
        for visit in visits:
            await asyncio.sleep(visit.gap)
            tasks.append(asyncio.ensure_future(come(door, visit)))
        await asyncio.gather(*tasks)
        assert door.in_flight == 0
        assert now() < 1000

    within(work)
    assert len(counted.ends) == len(visits)
    assert counted.most <= places


# ---- whose queue


class At:
    """A backend at an address."""

    free = False
    timeout: float | None = None

    def __init__(self, endpoint: str, concurrency: int = 64, rpm: int = 0) -> None:
        self.concurrency = concurrency
        self.limits = RateLimits(endpoint, rpm=rpm)

    async def open(self) -> None: ...

    async def send(self, call: Call) -> Reply:
        return Reply("")

    async def close(self) -> None: ...


def test_judges_at_one_address_with_one_key_share_the_strictest_limits() -> None:
    async def work() -> None:
        first, second, other = At("a", 8, rpm=100), At("a", 16, rpm=60), At("b")
        alone: Backend = ScriptedJudge("yes").backend  # type: ignore[arg-type]
        named: list[tuple[Backend, str]] = [(first, "x"), (second, "y"), (other, "z"), (alone, "s")]
        gates = Queues(named, 5, 300.0)
        assert gates.of(first) is gates.of(second)
        assert len({id(gates.of(backend)) for backend, _ in named}) == 3
        assert gates.sharing(first) == [first, second]
        shared = gates.of(first)
        assert (shared.width.most, shared.pace.requests and shared.pace.requests.limit) == (8, 60)
        for _ in range(8):
            await shared.enter(CALL)
        await gates.of(other).enter(CALL)
        waiting = asyncio.ensure_future(gates.of(second).enter(CALL))
        await asyncio.sleep(1.5)
        assert gates.limit() == "x: concurrency 8", "named, since there are several"
        waiting.cancel()

    within(work)

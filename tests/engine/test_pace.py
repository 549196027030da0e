"""Limits by the minute, in virtual time: never passed in any 60 seconds, and used to the full."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
from dataclasses import dataclass, field

import pytest
import virtual
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.engine.breaker import Breaker
from ragstone.engine.pace import (
    CAREFUL,
    LATE,
    LONGEST_RESET,
    MEMORY,
    Pace,
    Remaining,
    RunningFit,
    TokenUse,
    Width,
    Window,
    request_tokens,
    room,
)
from ragstone.engine.queue import Queue
from ragstone.judges.base import Allowance, Call, Left, Reply, Usage
from ragstone.judges.openai import OpenAIBackend
from ragstone.judges.spec import Spec


def fullest(log: list[tuple[float, int]], span: float = 60.0) -> int:
    """The most that any window of so many seconds holds; it ends with one of the entries."""
    most = inside = first = 0
    log = sorted(log)
    for at, amount in log:
        inside += amount
        while log[first][0] <= at - span:
            inside -= log[first][1]
            first += 1
        most = max(most, inside)
    return most


# ---- a window


@given(
    st.lists(st.tuples(st.floats(0, 90), st.integers(1, 50), st.floats(0, 1), st.floats(0, LATE * 0.99)), max_size=80),
    st.integers(50, 120),
)
def test_no_minute_holds_more_than_the_limit(given_calls: list[tuple[float, int, float, float]], limit: int) -> None:
    """Whatever is asked when, whatever less it turns out to be, and if it arrives up to half a second late."""
    window, now = Window(limit), 0.0
    arrived: list[tuple[float, int]] = []
    for gap, amount, share, late in given_calls:
        now += gap
        now += window.wait(now, amount)
        while (wait := window.wait(now, amount)) > 0:  # what rounding has left
            now += max(wait, 1e-9)
        entry = window.charge(now, amount)
        actual = int(amount * share)
        window.correct(entry, actual)
        arrived.append((now + late, actual))
    assert fullest(arrived) <= limit


@given(st.lists(st.integers(1, 50), min_size=1, max_size=50), st.integers(50, 100))
def test_the_wait_that_is_named_is_enough_and_not_too_long(amounts: list[int], limit: int) -> None:
    """A moment before, it does not fit; when the time has come, it does."""
    window, now = Window(limit), 0.0
    for amount in amounts:
        wait = window.wait(now, amount)
        if wait > 0:
            assert window.wait(now + wait - 1e-6, amount) > 0
            now += wait + 1e-6
            assert window.wait(now, amount) == 0
        window.charge(now, amount)
        now += 1


def test_a_limit_is_there_at_once_and_whole() -> None:
    window = Window(600)
    assert all(window.wait(0.0, 1) == 0 and window.charge(0.0, 1) for _ in range(600))
    assert window.wait(0.0, 1) == 60 + LATE
    assert window.wait(60 + LATE, 600) == 0


def test_what_is_larger_than_the_limit_goes_alone() -> None:
    """It is not waited with for ever, and nothing goes beside it."""
    window = Window(10)
    window.charge(0.0, 3)
    assert window.wait(1.0, 50) == pytest.approx(59 + LATE)
    assert window.wait(60 + LATE, 50) == 0
    window.charge(60 + LATE, 50)
    assert window.wait(61.0, 1) > 59


def test_a_reply_that_took_more_is_made_up_for() -> None:
    """The excess holds back what follows, and a correction of what counts no more changes nothing."""
    window = Window(100)
    entry = window.charge(0.0, 10)
    window.correct(entry, 95)
    assert window.wait(1.0, 10) == pytest.approx(59 + LATE)
    assert window.wait(70.0, 100) == 0
    window.correct(entry, 1)
    assert window.sum == 0


# ---- what the endpoint says


def test_what_the_endpoint_has_left_is_not_overdrawn() -> None:
    """Two left: two go, the third waits until the endpoint's own reset."""
    pace = Pace()
    first = pace.send(0.0)
    pace.hear(1.0, first, Allowance(requests=Left(2, 30.0)))
    for _ in range(2):
        assert pace.wait(1.0) == 0
        pace.send(1.0)
    assert (pace.wait(2.0), pace.why) == (29.0, "requests left")
    assert pace.wait(31.0) == 0


def test_what_was_sent_since_is_taken_off_until_a_later_reply_says_more() -> None:
    account = Remaining()
    account.spend(1)
    early = account.sent
    for _ in range(5):
        account.spend(1)
    account.hear(0.0, Left(4, 30.0), early)
    assert account.wait(0.0, 1) == 30.0
    account.hear(1.0, Left(3, 30.0), account.sent)
    assert account.wait(1.0, 3) == 0
    assert account.wait(1.0, 4) == 30.0


def test_after_its_reset_there_is_a_whole_limit_and_not_more() -> None:
    """Until the endpoint says otherwise; where it never named its limit, there is no holding back."""
    account = Remaining()
    account.hear(0.0, Left(0, 10.0, limit=3), 0)
    assert account.wait(0.0, 1) == 10.0
    for _ in range(3):
        assert account.wait(10.0, 1) == 0
        account.spend(1)
    assert account.wait(11.0, 1) == 9.0
    account.hear(12.0, Left(0, 10.0), account.sent)
    assert account.wait(22.0, 1_000_000) == 0


def test_the_reset_of_a_day_is_not_waited_for() -> None:
    pace = Pace()
    pace.hear(0.0, pace.send(0.0), Allowance(tokens=Left(0, 86_400.0)))
    assert pace.counts_tokens
    assert pace.wait(0.0, 1) == LONGEST_RESET


def test_what_was_never_sent_takes_nothing() -> None:
    """Its charge is taken back, whichever it is, and only once."""
    pace = Pace(rpm=2, tpm=100)
    first, second = pace.send(0.0, 60), pace.send(1.0, 40)
    assert pace.wait(2.0, 40) == pytest.approx(58.5)
    pace.take_back(first)
    pace.take_back(first)
    assert pace.wait(2.0, 60) == 0.0
    assert pace.wait(2.0, 61) == pytest.approx(59.5)
    pace.take_back(second)
    pace.take_back(Pace().send(0.0))
    assert pace.wait(2.0, 100) == 0.0


def test_a_pause_holds_everything_and_a_shorter_one_does_not_end_it() -> None:
    pace = Pace()
    pace.pause(0.0, 4.0)
    pace.pause(1.0, 1.0)
    assert (pace.wait(1.0), pace.why) == (3.0, "asked")
    assert pace.wait(4.0) == 0


def test_more_requests_than_one_for_a_call_are_counted() -> None:
    """An endpoint that refused a parameter was asked again."""
    pace = Pace(rpm=3)
    pace.settle(pace.send(0.0), requests=3)
    assert pace.wait(1.0) > 59


# ---- how many at a time


@pytest.mark.parametrize(("refused", "least", "most"), [(0.05, 60, 64), (0.1, 55, 64), (0.2, 24, 44), (0.4, 8, 18)])
def test_places_follow_the_share_of_refusals(refused: float, least: int, most: int) -> None:
    """A few refusals cost nothing; where more are refused, fewer are sent, but never one at a time."""
    width, chooser = Width(64), random.Random(1)
    seen = []
    for _ in range(4000):
        if chooser.random() < refused:
            width.fall("HTTP 429")
        else:
            width.grow()
        seen.append(width.now)
    assert least <= statistics.fmean(seen[1000:]) <= most


def test_places_grow_back_to_the_most_and_not_beyond() -> None:
    width = Width(64)
    for _ in range(64):
        width.fall("HTTP 503")
    assert width.now == 32
    answers = 0
    while width.now < 64:
        width.grow()
        answers += 1
    assert answers < 400
    width.grow()
    assert width.now == 64


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 100))
def test_there_is_always_a_place_and_never_more_than_the_most(signs: list[bool], most: int) -> None:
    width = Width(most)
    for good in signs:
        before = width.now
        if good:
            width.grow()
            assert before <= width.now <= before + 1
        else:
            width.fall("HTTP 429")
        assert 1 <= width.now <= most


# ---- what a call takes


@given(st.lists(st.tuples(st.integers(1, 5000), st.floats(-50, 50)), min_size=2, max_size=MEMORY))
def test_a_line_is_the_one_of_least_squares(points: list[tuple[int, float]]) -> None:
    """Through points about a line of its own, as the textbook has it; beyond them at least in proportion."""
    line = RunningFit()
    xs = [float(x) for x, _ in points]
    ys = [100 + 0.8 * x + noise for x, noise in points]
    for x, y in zip(xs, ys, strict=True):
        line.add(x, y)
    if statistics.pstdev(xs) <= 0.01 * statistics.fmean(xs):
        return
    slope, intercept = statistics.linear_regression(xs, ys)
    proportion = statistics.fmean(ys) / statistics.fmean(xs)
    if not 0 <= slope <= 2 * proportion:
        return
    below = min(xs) / 2
    assert line.at(below)[0] == pytest.approx(max(0.0, intercept + slope * below), rel=1e-6, abs=1e-6)
    above = 2 * max(xs)
    assert line.at(above)[0] == pytest.approx(max(intercept + slope * above, proportion * above), rel=1e-6)
    residual = statistics.fmean((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    assert line.at(above)[1] == pytest.approx(residual, rel=1e-4, abs=1e-3)


def test_what_grows_with_the_request_is_foreseen() -> None:
    """Longer and longer requests, with an overhead that the endpoint does not count: none takes more than expected."""
    weight = TokenUse(OpenAIBackend(Spec("m")).size)
    for size in range(0, 4000, 20):
        call = asked(0, size, 1000)
        request = request_tokens(call.body)
        if size > 800:
            expected, variance = weight.of(call)
            assert 0 <= expected + room(variance) - (0.9 * request - 15 + 40) < 0.3 * request + 100
        weight.learn(call, Reply("", usage=Usage(int(0.9 * request) - 15, 40)))


def test_room_is_kept_for_all_that_a_request_allows_until_replies_have_come() -> None:
    weight = TokenUse(OpenAIBackend(Spec("m")).size)
    call = asked(0, 400, 1000)
    assert weight.of(call) == (int(request_tokens(call.body) * CAREFUL) + 1000, 0.0)
    for _ in range(MEMORY):
        assert weight.learn(call, Reply("", usage=Usage(50, 20))) == 70
    expected, variance = weight.of(call)
    assert expected == pytest.approx(70, abs=1)
    assert 0 < room(variance) < 70


def test_what_the_endpoint_does_not_count_is_reckoned_from_bytes() -> None:
    call = asked(0, 400, 1000)
    assert TokenUse(OpenAIBackend(Spec("m")).size).learn(call, Reply("x" * 40)) == request_tokens(call.body) + 11


# ---- a queue with a limit


@dataclass(frozen=True)
class Planned:
    """A call that is asked for after ``gap`` seconds: the bytes of its request, its reply's tokens, its seconds."""

    gap: float
    size: int
    reply: int
    latency: float


@dataclass
class Seen:
    """What an endpoint saw: when each request came, and its tokens in the end."""

    log: list[tuple[float, int]] = field(default_factory=list)
    excess: list[float] = field(default_factory=list)
    """For each request as it came: by how much what was then on its way took more than was kept for it."""
    most: int = 0

    @property
    def requests(self) -> list[tuple[float, int]]:
        return [(at, 1) for at, _ in self.log]


def asked(number: int, size: int, most: int) -> Call:
    request = {"max_tokens": most, "messages": [{"content": f"{number:06}" + "x" * size}]}
    return Call("judge", "support", "p", json.dumps(request).encode())


def through(plan: list[Planned], *, rpm: int = 0, tpm: int = 0, places: int = 64, most: int = 4096) -> Seen:
    """Send the calls through a queue to an endpoint that answers all of them."""
    seen = Seen()
    away: dict[int, tuple[float, int]] = {}

    async def one(queue: Queue, number: int, planned: Planned) -> None:
        call = asked(number, planned.size, most)
        turn = await queue.enter(call)
        request = request_tokens(call.body)
        seen.log.append((turn.begun, request + planned.reply))
        kept = turn.charge.tokens[1] if turn.charge.tokens is not None else 0
        away[number] = (kept, request + planned.reply)
        seen.excess.append(sum(max(0.0, took - kept) for kept, took in away.values()))
        seen.most = max(seen.most, queue.in_flight)
        await asyncio.sleep(planned.latency)
        del away[number]
        queue.answered(turn, call, Reply("", usage=Usage(request, planned.reply)))

    async def all_of_them() -> None:
        queue = Queue(places, Breaker(5, 300.0, wary=True), size=OpenAIBackend(Spec("m")).size, rpm=rpm, tpm=tpm)
        tasks = []
        for number, planned in enumerate(plan):
            if planned.gap:
                await asyncio.sleep(planned.gap)
            tasks.append(asyncio.ensure_future(one(queue, number, planned)))
        await asyncio.gather(*tasks)

    virtual.run(all_of_them())
    return seen


PLANNED = st.builds(Planned, st.sampled_from([0.0, 0.0, 0.5, 20.0]), st.integers(0, 2000), st.integers(0, 4096),
                    st.sampled_from([0.0, 0.1, 3.0, 70.0]))  # fmt: skip


@settings(max_examples=60)
@given(st.lists(PLANNED, max_size=60), st.integers(1, 20))
def test_no_minute_sees_more_requests_than_the_limit(plan: list[Planned], rpm: int) -> None:
    seen = through(plan, rpm=rpm)
    assert len(seen.log) == len(plan)
    assert fullest(seen.requests) <= rpm


@settings(max_examples=60)
@given(st.lists(PLANNED, max_size=60), st.integers(6000, 50_000))
def test_tokens_pass_their_limit_only_by_what_replies_take_unforeseen(plan: list[Planned], tpm: int) -> None:
    """However long replies turn out: no more is passed than those on their way took beyond what was kept for them."""
    seen = through(plan, tpm=tpm)
    assert len(seen.log) == len(plan)
    assert fullest(seen.log) <= tpm + max(seen.excess, default=0.0)


@settings(max_examples=30)
@given(
    st.lists(st.builds(Planned, st.sampled_from([0.0, 0.3, 5.0]), st.integers(0, 2000), st.just(50),
                       st.sampled_from([0.0, 0.5, 3.0])), max_size=150),
    st.integers(6000, 12_000), st.integers(10, 100),
)  # fmt: skip
def test_no_minute_sees_more_tokens_than_the_limit(plan: list[Planned], tpm: int, rpm: int) -> None:
    """Where replies are as long as those before, whatever requests come when."""
    seen = through(plan, tpm=tpm, rpm=rpm)
    assert fullest(seen.log) <= tpm
    assert fullest(seen.requests) <= rpm


@pytest.mark.parametrize("latency", [0.1, 5.0])
@pytest.mark.parametrize(
    ("request_size", "reply", "count"), [(60, 40, 6600), (300, 60, 6600), (3000, 40, 1300), (1600, 400, 1500),
                                         (400, 800, 1300)]
)  # fmt: skip
def test_600_requests_and_100k_tokens_are_used_and_never_passed(
    request_size: int, reply: int, count: int, latency: float
) -> None:
    """Ten minutes of calls of all sizes: at least 95% of whichever limit comes first, and no minute beyond one."""
    chooser = random.Random(request_size)
    plan = [
        Planned(
            0.0,
            int(request_size * chooser.lognormvariate(0, 0.5)),
            min(4096, int(reply * chooser.lognormvariate(0, 0.35))),
            latency * chooser.uniform(0.5, 1.5),
        )
        for _ in range(count)
    ]
    seen = through(plan, rpm=600, tpm=100_000)
    end = 600.0
    assert seen.log[-1][0] > end, "there was always somebody waiting"
    requests = sum(1 for at, _ in seen.log if at < end) / (600 * 10)
    tokens = sum(amount for at, amount in seen.log if at < end) / (100_000 * 10)
    assert max(requests, tokens) >= 0.95
    assert fullest(seen.requests) <= 600
    assert fullest(seen.log) <= 100_000


def test_without_limits_only_the_places_count() -> None:
    seen = through([Planned(0.0, 10, 10, 1.0)] * 100, places=8)
    assert seen.most == 8
    assert seen.log[-1][0] == pytest.approx(12.5), "half a second for the first alone, twelve rounds for the others"

"""Whole runs at an endpoint that refuses calls, in virtual time: nobody waits for another, and none is lost."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import virtual
from stage import GOOD, Outcome, jobs, metrics, only, records

from ragstone import config
from ragstone.engine import pace
from ragstone.engine.breaker import PATIENCE
from ragstone.engine.claims import Claims, Elsewhere
from ragstone.engine.run import Engine
from ragstone.errors import BackendError, RagstoneError
from ragstone.judges.base import Call, RateLimits, Reply
from ragstone.prices import PriceBook
from ragstone.store.database import Store
from ragstone.testing import ScriptedBackend, ScriptedJudge

CALM, HOUR = 0.02, 3600.0
WHOLE = metrics("response_groundedness")


@pytest.fixture(autouse=True)
def same_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jitter of pauses is the same in every run."""
    monkeypatch.setattr(pace, "random", random.Random(1))


def refusal(wait: float | None = None) -> BackendError:
    """As the backend has it."""
    hint = "" if wait == HOUR else "set --rpm"
    return BackendError("m: HTTP 429: slow down", retryable=True, status=429, retry_after=wait, hint=hint)


@dataclass
class Seen:
    """What an endpoint knows of the request that has come: when, with how many others, which asking and its luck."""

    now: float
    inside: int
    asking: int
    luck: float


Fate = Callable[[Seen], BackendError | None]


class Endpoint(ScriptedBackend):
    """Refuses at once and answers after half to one and a half times its latency."""

    limits = RateLimits("there")

    def __init__(self, judge: ScriptedJudge, fate: Fate, latency: float) -> None:
        super().__init__(judge, 64)
        self.fate = fate
        self.latency = latency
        self.asked: Counter[bytes] = Counter()
        self.refused = self.inside = 0

    async def send(self, call: Call) -> Reply:
        self.asked[call.key] += 1
        asking = self.asked[call.key]
        luck = int.from_bytes(hashlib.blake2b(call.key + bytes([asking % 256]), digest_size=4).digest()) / 2**32
        self.inside += 1
        try:
            trouble = self.fate(Seen(asyncio.get_running_loop().time(), self.inside, asking, luck))
            await asyncio.sleep(CALM if trouble else self.latency * (0.5 + luck))
        finally:
            self.inside -= 1
        if trouble is not None:
            self.refused += trouble.status == 429
            raise trouble
        return await super().send(call)


@dataclass
class Passed(Outcome):
    """What came of a run, its seconds, and how many requests were refused."""

    seconds: float = 0.0
    refused: int = 0
    tries: Counter[bytes] = field(default_factory=Counter)


def through(count: int, fate: Fate, *, latency: float = 1.0) -> Passed:
    """Evaluate so many records, each with one call, with the settings of the product."""
    judge, passed = ScriptedJudge(GOOD), Passed()
    judge.backend = endpoint = Endpoint(judge, fate, latency)

    async def work() -> None:
        with Store(":memory:") as store:
            engine = Engine(only(judge), store, PriceBook(), config.ENGINE)
            passed.tally = engine.tally
            try:
                async with contextlib.aclosing(engine.run(jobs(records(count), WHOLE))) as results:
                    async for weighed in results:
                        passed.weighed.append(weighed)
            except RagstoneError as error:
                passed.error = error
            passed.seconds = asyncio.get_running_loop().time()

    virtual.run(work())
    passed.refused, passed.tries = endpoint.refused, endpoint.asked
    return passed


def a_minute(limit: int, *, says: bool) -> Fate:
    """So many requests in any minute, and whether a refusal says when there is room again."""
    taken: deque[float] = deque()

    def fate(seen: Seen) -> BackendError | None:
        while taken and taken[0] <= seen.now - 60:
            taken.popleft()
        if len(taken) >= limit:
            return refusal(taken[0] + 60 - seen.now if says else None)
        taken.append(seen.now)
        return None

    return fate


def by_chance(share: float, wait: float | None, draw: float = 0.0) -> Fate:
    """First askings are refused by chance, and as many fail; the next is answered. Each ``draw`` has other luck."""

    def fate(seen: Seen) -> BackendError | None:
        luck = (7.31 * seen.luck + draw) % 1 if draw else seen.luck
        if seen.asking > 1 or luck >= 2 * share:
            return None
        return refusal(wait) if luck < share else BackendError("m: HTTP 500: no", retryable=True, status=500)

    return fate


@pytest.mark.parametrize(("share", "latency", "longer"), [(0.05, 0.06, 1.5), (0.05, 5.0, 1.2)])
def test_a_share_of_refusals_costs_that_share_and_the_longest_wait(share: float, latency: float, longer: float) -> None:
    """Each refused call waits its second; the others go on, however quick refusals and slow answers are."""
    clean = through(250, lambda seen: None, latency=latency)
    found = through(250, by_chance(share, 1.0), latency=latency)
    assert found.statuses == ["scored"] * 250
    assert found.seconds <= longer * clean.seconds + 1.5
    assert max(found.tries.values()) == 2


def test_many_refusals_cost_little_more_in_any_draw() -> None:
    """One call in five is refused and one in five fails; in some draws these are the first calls, which go alone."""
    clean = through(250, lambda seen: None, latency=5.0).seconds
    found = [through(250, by_chance(0.2, 1.0, draw), latency=5.0) for draw in (0.1, 0.3, 0.4, 0.5, 0.7, 0.9)]
    assert [one.statuses for one in found] == [["scored"] * 250] * len(found)
    assert max(one.seconds / clean for one in found) <= 1.5


@pytest.mark.parametrize("latency", [0.06, 5.0])
@pytest.mark.parametrize("says", [True, False])
def test_five_a_minute_score_all_records_in_their_time(says: bool, latency: float) -> None:
    """Nobody said so before the run, and refusals may not say when there is room: no try is used up by them."""
    found = through(40, a_minute(5, says=says), latency=latency)
    assert found.statuses == ["scored"] * 40
    assert found.seconds <= 1.25 * 60 * (40 / 5 - 1)
    assert found.refused <= 64 + 20 * found.seconds / 60


@pytest.mark.parametrize("says", [True, False])
def test_a_limit_by_the_minute_that_nobody_said_is_used(says: bool) -> None:
    found = through(300, a_minute(60, says=says))
    assert found.statuses == ["scored"] * 300
    assert found.seconds <= 1.25 * 60 * (300 / 60 - 1)


def test_room_for_a_few_at_a_time_is_used() -> None:
    """Eight of 64 are taken, whatever the others are asked to wait."""
    found = through(200, lambda seen: refusal(1.0) if seen.inside > 8 else None)
    assert found.statuses == ["scored"] * 200
    assert found.seconds <= 1.4 * 200 / 8


def test_an_hour_for_a_tenth_fails_that_tenth_by_name_and_ends_nothing() -> None:
    found = through(200, lambda seen: refusal(HOUR) if seen.luck < 0.1 else None)
    assert found.error is None
    assert len(found.statuses) == 200
    assert 5 <= found.statuses.count("judge_failed") <= 40
    assert {reason for reason in found.reasons if reason} == {
        "1 of 1 unjudged: m: HTTP 429: slow down (the endpoint asks to wait 3600 s)"
    }


@pytest.mark.parametrize(
    ("answered", "wait", "seconds"),
    [(0, None, PATIENCE), (0, 30.0, PATIENCE), (0, 120.0, 120), (20, None, config.ENGINE.deadline)],
)
def test_an_endpoint_that_refuses_all_ends_the_run(answered: int, wait: float | None, seconds: float) -> None:
    """Before the deadline if it has answered none in more than a minute; with few requests, and the way out is said."""
    asked = itertools.count()
    found = through(200, lambda seen: refusal(wait) if next(asked) >= answered else None)
    assert isinstance(found.error, BackendError)
    assert "HTTP 429: slow down" in str(found.error)
    assert "set --rpm" in found.error.hint
    assert found.statuses.count("scored") == answered
    assert seconds - 30 <= found.seconds <= seconds + 30
    assert found.refused <= 40 + 4 * answered


def test_one_slow_answer_is_waited_for_while_all_others_are_refused() -> None:
    """A model with room for one call at a time, each of which takes longer than an endpoint may refuse everything."""
    found = through(2, lambda seen: refusal() if seen.inside > 1 else None, latency=1.2 * PATIENCE)
    assert (found.error, found.statuses) == (None, ["scored"] * 2)
    assert found.seconds > PATIENCE


@pytest.mark.parametrize("count", [1, 40])
def test_a_server_that_loads_its_model_is_waited_for(count: int) -> None:
    """Two minutes of HTTP 503, as llama.cpp answers: more attempts than a call has, and no failed one."""
    loading = BackendError("m: HTTP 503: Loading model", retryable=True, status=503, loading=True)
    found = through(count, lambda seen: loading if seen.now < 120 else None)
    assert (found.error, found.statuses) == (None, ["scored"] * count)
    assert 120 < found.seconds < 180


def test_a_call_alone_that_is_always_refused_ends_too() -> None:
    """There is nobody else to tell that the endpoint answers; the record says how to go on."""
    found = through(1, lambda seen: refusal())
    assert found.error is None
    assert found.statuses == ["judge_failed"]
    assert "set --rpm" in found.reasons[0]
    assert found.seconds <= PATIENCE + 30


def test_calls_that_another_process_sends_take_nothing_of_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten a minute are ten that are sent: a turn that is given back as another has the call is no request."""
    claim, given_back = Claims.claim, set[bytes]()

    def elsewhere_at_first(self: Claims, key: bytes) -> None:
        if key not in given_back:
            given_back.add(key)
            raise Elsewhere
        claim(self, key)

    monkeypatch.setattr(Claims, "claim", elsewhere_at_first)
    monkeypatch.setattr(Endpoint, "limits", RateLimits("there", rpm=10))
    found = through(10, lambda seen: None)
    assert (found.statuses, len(given_back)) == (["scored"] * 10, 10)
    assert found.seconds < 10

"""What a run does at an endpoint that limits, refuses or dies: few calls, a clean end, and everything kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from typing import Any

import pytest
from msgspec.structs import replace
from stage import jobs, metrics, only, prompted, records, weigh

from ragstone import config
from ragstone.engine import calls as engine_calls
from ragstone.engine.run import Engine
from ragstone.errors import BackendError
from ragstone.judges.base import Judge
from ragstone.judges.catalogue import build
from ragstone.judges.spec import parse
from ragstone.prices import PriceBook
from ragstone.store.database import Store
from ragstone.testing import FakeServer, Scripted

WHOLE = metrics("response_groundedness")
REAL = replace(config.ENGINE, deadline=10.0)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are short, unless the endpoint names one."""
    monkeypatch.setattr(engine_calls, "_backoff", lambda attempt: 0.01)


def named(server: FakeServer, model: str, **more: int) -> Judge:
    return build(replace(parse(f"vllm:{model}@{server.url}"), **more))


def test_a_wrong_key_is_heard_from_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though 64 could go at a time, and though the refusal takes a while."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with FakeServer(api_key="right", latency=0.1) as server:
        outcome = weigh(records(200), WHOLE, build(parse(f"openai:any@{server.url}")), settings=REAL)
        assert server.seen == {401: 1}
    assert isinstance(outcome.error, BackendError)
    assert outcome.error.hint == "check the key in OPENAI_API_KEY"
    assert outcome.statuses == []
    assert "HTTP 401: Incorrect API key provided." in str(outcome.error)
    assert "sk-wrong" not in f"{outcome.error} {outcome.error.hint} {vars(outcome.error)}"


def test_a_key_that_two_judges_have_is_refused_once() -> None:
    with FakeServer(api_key="right") as server:
        outcome = weigh(records(20), WHOLE, only(named(server, "a"), named(server, "b")), settings=REAL)
        assert server.seen == {401: 1}
    assert outcome.error is not None


def test_an_endpoint_down_from_the_start_is_tried_by_one_call_at_a_time() -> None:
    with FakeServer(dead_after=0) as server:
        outcome = weigh(records(200), WHOLE, prompted(server), settings=REAL)
        assert server.seen == {503: 6}
    assert "HTTP 503: The server is not available. (6 attempts in a row failed)" in str(outcome.error)
    assert outcome.statuses == []


@pytest.mark.parametrize("how", ["503", "refuse"])
def test_an_endpoint_that_dies_half_way_ends_the_run_and_the_next_goes_on(how: str) -> None:
    """What was answered is kept; those in flight and a few more are all that is lost; the rest is paid once."""
    with Store(":memory:") as store:
        with FakeServer(dead_after=50, dead_how=how, latency=0.01, keep=0) as server:  # type: ignore[arg-type]
            first = weigh(records(200), WHOLE, prompted(server), store=store, settings=REAL)
            lost = sum(count for status, count in server.seen.items() if status != 200)
            assert lost < 2 * 64  # 64 in flight and a few; a slow machine sends more before it reads the refusals
        assert "attempts in a row failed" in str(first.error)
        assert set(first.statuses) <= {"scored"}
        assert len(store.call_keys()) == first.tally.answered == 50
        with FakeServer(port=int(server.url.rpartition(":")[2].removesuffix("/v1"))) as again:
            second = weigh(records(200), WHOLE, prompted(again), store=store, settings=REAL)
            assert again.count == 150
    assert second.statuses == ["scored"] * 200


@pytest.mark.parametrize("fault", ["rate_500", "rate_cut", "rate_empty_choices"])
def test_calls_that_always_fail_end_neither_the_run_nor_the_next(fault: str) -> None:
    """They are all that is left in the end: a call that was answered before shows that the endpoint works."""
    with Store(":memory:") as store, FakeServer(**{fault: 0.3}, faulty_attempts=math.inf) as server:  # type: ignore[arg-type]
        first = weigh(records(40), WHOLE, prompted(server), store=store, settings=REAL)
        second = weigh(records(40), WHOLE, prompted(server), store=store, settings=REAL)
        answered = server.seen[200]
    assert (first.error, second.error) == (None, None)
    assert first.statuses == second.statuses
    failed = first.statuses.count("judge_failed")
    assert (failed > 5, first.statuses.count("scored")) == (True, 40 - failed)
    assert first.tally.failed == second.tally.failed == failed
    bills = (first.tally, second.tally)
    assert answered == sum(bill.answered + bill.unusable.calls for bill in bills), "checks are in the bill, as answered"
    notes = (first.tally.notes | second.tally.notes).items()
    assert 0 < sum(count for note, count in notes if "checked with a call" in note) < failed


def test_a_member_that_fails_for_all_at_once_is_checked_and_named_once() -> None:
    """The others wait for the check of the first; the check is in the bill if it was charged for nothing."""
    charged = {"choices": [{"error": "gone"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
    known = set[str]()

    def answer(body: dict[str, Any]) -> Scripted | None:
        if (asked := str(body["messages"])) in known:  # the check
            return Scripted(raw=json.dumps(charged))
        if len(known) == 20:
            return Scripted("no", status=500)
        known.add(asked)
        return None

    with FakeServer() as good, FakeServer(answer=answer) as bad:
        judges = only(named(good, "good"), named(bad, "bad"))
        outcome = weigh(records(200), WHOLE, judges, settings=replace(REAL, tries=1))
        assert bad.seen[200] == 20 + 1
    assert outcome.statuses == ["scored"] * 200
    assert sum("no longer used" in note for note in outcome.tally.notes) == 1
    assert (outcome.tally.unusable.calls, outcome.tally.unusable.input_tokens) == (1, 10)


def test_an_endpoint_that_asks_everybody_for_an_hour_gets_ten_calls() -> None:
    """The run ends, and says for how long."""
    with FakeServer(rate_429=1.0, retry_after=3600, faulty_attempts=math.inf) as server:
        outcome = weigh(records(50), WHOLE, prompted(server), settings=REAL)
        assert server.seen == {429: 10}
    assert isinstance(outcome.error, BackendError)
    assert "asks to wait 3600 s" in outcome.error.hint


def test_the_rate_of_the_endpoint_is_kept_by_what_it_says() -> None:
    """Twenty a second, said in headers: hardly anything is refused, though nobody has told us before."""
    with FakeServer(rpm=20, rate_window=0.5, latency=0.005) as server:
        outcome = weigh(records(80), WHOLE, prompted(server), settings=REAL)
        assert server.seen[429] <= 20
        assert server.count == 80
    assert outcome.statuses == ["scored"] * 80


def test_a_limit_of_ones_own_is_held_and_told() -> None:
    """Five a minute: five are sent, the sixth waits, and what holds it can be read."""

    async def five(engine: Engine) -> str:
        async with contextlib.aclosing(engine.run(jobs(records(9), WHOLE))) as results:
            for _ in range(5):
                await anext(results)
            return engine.tally.limit()

    with FakeServer() as server, Store(":memory:") as store:
        engine = Engine(only(named(server, "m", rpm=5)), store, PriceBook(), REAL)
        assert asyncio.run(five(engine)) == "5 requests a minute"
        assert server.seen == {200: 5}

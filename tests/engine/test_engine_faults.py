"""What fails: tried again where that helps, given up where it does not, said in every case, and never a number."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import re
import socket
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import virtual
from msgspec.structs import replace
from stage import GOOD, QUICK, SlowBackend, about, metrics, only, prompted, record, records, slow_judge, weigh

from ragstone import config
from ragstone.engine import calls as engine_calls
from ragstone.engine.route import Route, Routes
from ragstone.engine.settings import Limits
from ragstone.engine.tally import cause_of
from ragstone.errors import BackendError, ConfigError, TemplateError
from ragstone.judges.base import Call, Dialogue, RateLimits, Reply
from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec, parse
from ragstone.metrics.groundedness import Groundedness
from ragstone.questions import SAMPLE, Question, Task
from ragstone.store.database import Store
from ragstone.testing import FakeServer, Scripted, ScriptedBackend, ScriptedJudge
from ragstone.types import Record

REAL = config.ENGINE
WHOLE = metrics("response_groundedness")
CLAIMS = metrics("grounding", "claim_relevance")


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are short, unless the endpoint names one."""
    monkeypatch.setattr(engine_calls, "_backoff", lambda attempt: 0.01)


@contextlib.contextmanager
def nobody_there() -> Iterator[str]:
    """The address of a port that is taken and not listened on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"vllm:any@http://127.0.0.1:{taken.getsockname()[1]}/v1"


class Stubborn:
    """A script that raises the first ``times`` it is asked about each response."""

    def __init__(self, error: BackendError, times: float = math.inf, hit: str = "") -> None:
        self.error = error
        self.times = times
        self.hit = hit
        self.asked: list[tuple[str, float]] = []

    def __call__(self, question: Question[Any]) -> Any:
        text = about(question)
        before = sum(1 for asked, _ in self.asked if asked == text)
        self.asked.append((text, asyncio.get_running_loop().time()))
        if self.hit in text and before < self.times:
            raise self.error
        return "2"


def retryable(**more: Any) -> BackendError:
    return BackendError("judge: HTTP 500: sorry", retryable=True, **more)


def test_a_server_error_is_tried_again() -> None:
    """Every first attempt fails with 500: all is well in the end, and the retries are counted with their cause."""
    with FakeServer(rate_500=1.0) as server:
        outcome = weigh(records(5), WHOLE, prompted(server))
        assert server.seen == {500: 5, 200: 5}
    assert outcome.statuses == ["scored"] * 5
    assert (outcome.tally.retried, outcome.tally.sent, outcome.tally.failed) == (5, 10, 0)
    assert dict(outcome.tally.retry_causes) == {"HTTP 500": 5}
    long = BackendError(f"judge: cannot connect{', really' * 6}, to the host (said four times)")
    assert cause_of(long) == f"cannot connect{', really' * 5}…", "cut at a word"


@pytest.mark.parametrize("fault", ["rate_reset", "rate_empty_choices"])
def test_a_broken_connection_or_reply_is_tried_again(fault: str) -> None:
    with FakeServer(**{fault: 1.0}) as server:  # type: ignore[arg-type]
        outcome = weigh(records(3), WHOLE, prompted(server))
    assert outcome.statuses == ["scored"] * 3
    assert outcome.tally.retried == 3


@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_obeyed(as_date: bool) -> None:
    """Whether in seconds or as a date, no call is sent again before the time that the endpoint named for it."""
    with FakeServer(rate_429=1.0, retry_after=1, retry_after_date=as_date) as server:
        outcome = weigh(records(2), WHOLE, prompted(server))
        assert server.seen == {429: 2, 200: 2}
    assert outcome.statuses == ["scored"] * 2
    assert outcome.tally.waited > 1, "seconds of both calls, as named"
    assert dict(outcome.tally.retry_causes) == {"HTTP 429": 2}


def test_the_named_pause_is_kept_to_the_moment() -> None:
    script = Stubborn(retryable(retry_after=0.25), times=2)
    outcome = weigh(records(1), WHOLE, ScriptedJudge(script), run=virtual.run)
    assert [at for _, at in script.asked] == pytest.approx([0.0, 0.25, 0.5])
    assert outcome.statuses == ["scored"]


def test_who_waits_to_try_again_holds_no_place() -> None:
    """With one place at the backend, another record's call goes through while the first one pauses."""
    script = Stubborn(retryable(retry_after=0.3), times=1, hit="r1.")
    judge = ScriptedJudge(script, concurrency=1)
    outcome = weigh(records(2), WHOLE, judge)
    assert ["r1" in text for text, _ in script.asked] == [True, False, True]
    assert outcome.statuses == ["scored"] * 2


def test_tries_are_limited() -> None:
    """Three tries, then the record is judge_failed with the cause and how often it was tried."""
    script = Stubborn(retryable())
    outcome = weigh(records(1), WHOLE, ScriptedJudge(script))
    assert len(script.asked) == QUICK.tries == 3
    assert outcome.statuses == ["judge_failed"]
    assert "HTTP 500: sorry (tried 3 times)" in outcome.reasons[0]
    assert (outcome.tally.retried, outcome.tally.failed, outcome.tally.sent) == (2, 1, 0)
    assert outcome.error is None


def test_an_error_is_let_go_of_with_the_reply_that_it_holds() -> None:
    """Not when the collector comes by: with many calls at a time their replies would be in memory together."""
    errors: list[weakref.ref[BackendError]] = []

    def script(_: Question[Any]) -> Any:
        error = BackendError("judge: a reply that is too long", lost=True)
        errors.append(weakref.ref(error))
        raise error

    gc.disable()
    try:
        weigh(records(5), WHOLE, ScriptedJudge(script))
        assert [error() for error in errors] == [None] * 5
    finally:
        gc.enable()


def test_what_another_try_will_not_mend_is_tried_once() -> None:
    """A refusal of one request ends that record alone, with the provider's message and the hint."""
    script = Stubborn(BackendError("judge: HTTP 400: too long", hint="use a longer context"), hit="r2.")
    outcome = weigh(records(3), WHOLE, ScriptedJudge(script))
    assert len(script.asked) == 3
    assert outcome.statuses == ["scored", "judge_failed", "scored"]
    assert "HTTP 400: too long; use a longer context" in outcome.reasons[1]


def test_refusals_of_single_requests_do_not_make_an_endpoint_dead() -> None:
    """Ten records that are too long in a row say nothing about the endpoint's health."""
    script = Stubborn(BackendError("judge: HTTP 400: too long"))
    outcome = weigh(records(10), WHOLE, ScriptedJudge(script), settings=replace(QUICK, dead_after=2))
    assert outcome.error is None
    assert outcome.statuses == ["judge_failed"] * 10


@pytest.mark.parametrize("status", [400, 422])
def test_a_refusal_that_concerns_every_call_ends_the_run(status: int) -> None:
    """After a few single calls and a check with a short one; also where replies of an earlier run are stored."""
    with FakeServer() as server, Store(":memory:") as store:
        for known, given in ((0, records(200)), (1, records(201)[1:])):
            server.configure(answer=lambda _: Scripted("Unknown parameter: 'x'", status=status))
            outcome = weigh(given, WHOLE, prompted(server), store=store, settings=REAL)
            assert isinstance(outcome.error, BackendError)
            assert "Unknown parameter: 'x' (6 attempts in a row failed)" in str(outcome.error)
            assert outcome.error.hint.startswith("check the model and the parameters in the judge's table")
            assert server.seen[status] <= 8 * (known + 1)
            server.configure(answer=None)
            weigh(records(1), WHOLE, prompted(server), store=store)


TEXTS = {
    "unknown": Scripted("Invalid text", status=400),
    "filter": Scripted({"error": {"message": "No.", "code": "content_filter"}}, status=400),
    "length": Scripted("The input token count (9) exceeds the maximum number of tokens allowed (8).", status=400),
    "a minute": Scripted("Request too large for m on tokens per min (TPM): Limit 9, Requested 10.", status=429),
    "node": Scripted("One of many nodes does not know the key.", status=401),
    "firewall": Scripted(raw="<html><body>Request blocked</body></html>", status=403),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_refusal_that_concerns_certain_texts_stops_no_other(name: str) -> None:
    """Be they the first of the run, unless they could be about the key."""
    odd = [f"r{number}." for number in (range(30, 42) if name == "node" else range(1, 13))]

    def answer(request: dict[str, Any]) -> Scripted | None:
        return TEXTS[name] if any(f"It is {one}" in str(request) for one in odd) else None

    with FakeServer(answer=answer) as server:
        outcome = weigh(records(100), WHOLE, prompted(server), settings=REAL)
        assert sum(count for status, count in server.seen.items() if status != 200) == 12
        assert server.seen[200] == 88 if name in ("filter", "length", "a minute") else server.seen[200] <= 100
    assert outcome.error is None
    assert (outcome.statuses.count("scored"), outcome.statuses.count("judge_failed")) == (88, 12)


class CannotBeChecked(ScriptedJudge):
    """It has no prompt for the short text, or its code fails."""

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        if question is SAMPLE:
            raise TemplateError("no prompt")
        return super().dialogue(question, repeat=repeat)


@pytest.mark.parametrize(("known", "said"), [(1, "(5 calls in a row failed"), (0, "(16 attempts in a row failed)")])
def test_a_judge_that_cannot_be_checked_is_lost_with_what_its_calls_said(known: int, said: str) -> None:
    """What the check itself fails at is nobody's concern."""
    seen = list[str]()

    def script(question: Question[Any]) -> Any:
        if about(question) in seen:
            raise ZeroDivisionError
        seen.append(about(question))
        if len(seen) <= known:
            return "2"
        raise retryable(status=500) if known else BackendError("judge: HTTP 400: sorry", status=400, general=True)

    outcome = weigh(records(20), WHOLE, CannotBeChecked(script, concurrency=1), settings=replace(REAL, tries=1))
    assert f"sorry {said}" in str(outcome.error)


def test_a_check_waits_for_the_budget_that_other_calls_hold() -> None:
    """These get their turn meanwhile: the check of the first, a long call, is sent when they have left it room."""
    text = " ".join(["It is long and" + " long" * 3000 + ".", *(f"It is item {number}." for number in range(9))])
    refused = Scripted("No such key.", status=401)
    with FakeServer(answer=lambda request: None if "long long" in str(request) else refused) as server:
        judge = build(Spec("j", model="m", base_url=server.url, concurrency=1))
        metric = Groundedness(batch=1)
        outcome = weigh([record("r1", text)], [metric], judge, settings=replace(REAL, limits=Limits(tokens=40_000)))
        assert (server.seen[200] > 1, server.seen[401]) == (True, 9)
    assert (outcome.error, outcome.statuses) == (None, ["partial"])


def test_a_check_that_the_budget_does_not_allow_leaves_the_error_as_it_was() -> None:
    def answer(request: dict[str, Any]) -> Scripted | None:
        return Scripted("No such key.", status=401) if "It is r2" in str(request) else None

    given = [record("r1", "It boils. " * 2000), record("r2")]
    with FakeServer(answer=answer) as server:
        outcome = weigh(given, WHOLE, prompted(server), settings=replace(REAL, limits=Limits(tokens=28_000)))
        assert server.seen == {200: 1, 401: 1}
    assert str(outcome.error).endswith("HTTP 401: No such key.")


@pytest.mark.parametrize("trouble", [None, ZeroDivisionError("at all"), ConfigError("at all")])
def test_an_attempt_without_a_reply_is_lost_and_takes_from_the_budget(
    trouble: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Be it for its deadline or for an error in the judge's code, which fails that call and no other."""

    def script(_: Question[Any]) -> Any:
        raise trouble or AssertionError

    monkeypatch.setattr(ScriptedBackend, "free", False)
    judge = ScriptedJudge(script) if trouble else slow_judge(lambda _: 1e6)
    outcome = weigh(records(6), WHOLE, judge, settings=replace(QUICK, limits=Limits(calls=3)), run=virtual.run)
    tally = outcome.tally
    assert str(outcome.error) == "reached --max-calls 3: 0 answered, 3 without a reply"
    assert (tally.sent, tally.lost, tally.failed, outcome.statuses) == (3, 3, 3, ["judge_failed"] * 3)


def test_a_judge_that_cannot_be_opened_fails_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    async def opened(_: Any) -> None:
        raise ConfigError("no file")

    monkeypatch.setattr(ScriptedBackend, "open", opened)
    outcome = weigh(records(3), WHOLE, ScriptedJudge(GOOD))
    assert (outcome.error, outcome.tally.failed, outcome.statuses) == (None, 3, ["judge_failed"] * 3)
    assert "scripted: internal error: ConfigError: no file" in outcome.reasons[0]


def test_a_hanging_call_meets_its_deadline() -> None:
    """An endpoint that never answers costs the deadline once, not for ever and not per try."""
    with FakeServer(rate_hang=1.0, faulty_attempts=math.inf) as server:
        outcome = weigh(records(3), WHOLE, prompted(server), settings=replace(QUICK, deadline=0.3))
        assert server.seen["hang"] == 3
    assert outcome.statuses == ["judge_failed"] * 3
    assert all("no reply within the deadline of 0.3 s" in reason for reason in outcome.reasons)


def test_the_deadline_does_not_count_the_queue() -> None:
    """Calls that wait for a place are not late: six of 0.1 s one after another, with 0.3 s each."""
    judge = slow_judge(lambda text: 0.1, concurrency=1)
    outcome = weigh(records(6), WHOLE, judge, settings=replace(QUICK, deadline=0.3))
    assert outcome.statuses == ["scored"] * 6


def test_the_deadline_covers_all_tries() -> None:
    """No try begins that could not end in time."""
    script = Stubborn(retryable(retry_after=0.2))
    settings = replace(QUICK, tries=100, deadline=0.5)
    outcome = weigh(records(1), WHOLE, ScriptedJudge(script), settings=settings, run=virtual.run)
    assert [at for _, at in script.asked] == pytest.approx([0.0, 0.2, 0.4])
    assert outcome.statuses == ["judge_failed"]


def test_an_unknown_model_stops_the_run_at_once() -> None:
    with FakeServer(known_models=["good"]) as server:
        outcome = weigh(records(5), WHOLE, prompted(server, "bad"))
    assert "HTTP 404: The model `bad` does not exist" in str(outcome.error)


@pytest.mark.parametrize("panel", [False, True])
def test_a_rejected_key_is_checked_before_another_call_is_sent(panel: bool) -> None:
    """Only the calls in flight are rejected with the first one; a panel goes on without that judge."""
    with FakeServer() as server:
        server.configure(answer=lambda _: Scripted("No.", status=401) if server.count >= 200 else None, latency=0.02)
        judge = build(Spec("j", model="m", base_url=server.url, concurrency=32))
        good = [ScriptedJudge(GOOD, name="good")] if panel else []
        outcome = weigh(records(500), WHOLE, only(*good, judge), settings=REAL)
        assert server.seen[200] >= 200
        assert server.seen[401] <= 32 + 1, "and the check"
    assert (outcome.error is None, outcome.statuses.count("scored") == 500) == (panel, panel)


def test_nobody_listening_stops_the_run() -> None:
    with nobody_there() as name:
        settings = replace(QUICK, tries=2, dead_after=2)
        outcome = weigh(records(10), WHOLE, build(parse(name)), settings=settings)
    assert isinstance(outcome.error, BackendError)
    assert re.search(r"cannot reach http://127.0.0.1:\S+ \([^()]+; 3 attempts in a row failed\)$", str(outcome.error))
    assert outcome.error.hint.startswith("check that the server is running")
    assert outcome.error.hint.endswith("address is correct"), "nothing was done, so nothing is said to be kept"


def test_a_success_begins_the_count_anew() -> None:
    """Every second call fails for good: the endpoint is not dead."""
    script = Stubborn(retryable(), hit="2.")
    given = [record(f"r{n}{1 + n % 2}") for n in range(20)]
    judge = ScriptedJudge(script, concurrency=1)
    outcome = weigh(given, WHOLE, judge, settings=replace(QUICK, tries=1, dead_after=2))
    assert outcome.error is None
    assert outcome.statuses.count("judge_failed") == 10


def test_what_was_answered_is_on_the_bill_though_the_run_stopped() -> None:
    """Replies that were on their way to the disk when the run ended are stored, and they are paid."""
    script = Stubborn(BackendError("judge: HTTP 401", fatal=True), hit="r3.")
    with Store(":memory:") as store:
        outcome = weigh(records(5), WHOLE, ScriptedJudge(script, concurrency=1), store=store)
        assert outcome.error is not None
        assert outcome.tally.answered == outcome.tally.paid.calls == len(store.call_keys()) == 2


def test_a_panel_goes_on_without_its_dead_member() -> None:
    """The dead one is asked no more, is left out of the mean, and is named in every result and in the notes."""
    good = ScriptedJudge({"response_support": "2"}, name="good")
    script = Stubborn(BackendError("bad: HTTP 401: no", fatal=True))
    bad = ScriptedJudge(script, name="bad", concurrency=1)
    outcome = weigh(records(6), WHOLE, only(good, bad))
    assert outcome.error is None
    assert outcome.values == [1.0] * 6
    assert len(script.asked) == 1
    for document in outcome.documents:
        detail = document["scores"][0]["detail"]
        assert detail["excluded"] == [{"judge": "bad", "cause": "bad: HTTP 401: no"}]
        assert detail["failed_members"] == {"bad": 1}
    assert outcome.tally.notes["bad is no longer used: bad: HTTP 401: no"] == 1
    assert outcome.tally.failed == 6, "those that were not sent, too"


def test_a_dead_member_takes_nothing_of_the_limits_of_another() -> None:
    """Two models at one endpoint with one key: calls to the one that there is not wait for no minute to pass."""
    with FakeServer(known_models=["good"], latency=0.02) as server:
        good, bad = (
            build(Spec(name, model=name, base_url=server.url, rpm=20, concurrency=4)) for name in ("good", "bad")
        )
        outcome = weigh(records(14), WHOLE, only(good, bad))
        assert outcome.error is None
        assert outcome.statuses == ["scored"] * 14
        assert server.seen[200] == 14
        assert server.seen[404] <= 6


def test_a_panel_with_nobody_left_stops_the_run() -> None:
    dead = [
        ScriptedJudge(Stubborn(BackendError(f"{name}: HTTP 401", fatal=True)), name=name, concurrency=1)
        for name in ("a", "b")
    ]
    outcome = weigh(records(6), WHOLE, only(*dead))
    assert isinstance(outcome.error, BackendError)


def test_a_member_that_writes_claims_alone_is_not_dispensable() -> None:
    """The step without another judge ends the run, though the panel of the other step could go on."""
    writer = ScriptedJudge(Stubborn(BackendError("w: HTTP 401", fatal=True)), name="w")
    other = ScriptedJudge(GOOD, name="o")
    routes = Routes(Route((writer, other)), {"claims": Route((writer,))})
    assert str(weigh(records(2), CLAIMS, routes).error) == "w: HTTP 401"


def test_a_member_that_fails_once_is_excluded_once() -> None:
    script = Stubborn(BackendError("b: HTTP 400: too long"), hit="r2.")
    members = ScriptedJudge({"response_support": "0"}, name="a"), ScriptedJudge(script, name="b")
    outcome = weigh(records(3), WHOLE, only(*members))
    assert outcome.values == [0.5, 0.0, 0.5]
    assert [len(document["scores"][0]["detail"]["excluded"]) for document in outcome.documents] == [0, 1, 0]


@pytest.mark.parametrize("fault", ["rate_garbage", "rate_truncated"])
def test_replies_that_cannot_be_read_are_asked_about_again(fault: str) -> None:
    """A second asking mends them; both replies are paid and stored, those in vain are counted, and the second run pays
    nothing."""
    with FakeServer(**{fault: 1.0}) as server, Store(":memory:") as store:  # type: ignore[arg-type]
        outcome = weigh(records(3), WHOLE, prompted(server), store=store)
        paid = server.count
        assert set(outcome.statuses) <= {"scored", "judge_failed"}
        assert outcome.tally.sent == paid == 6
        assert outcome.tally.unusable.calls == 6 - outcome.statuses.count("scored") >= 3
        again = weigh(records(3), WHOLE, prompted(server), store=store)
        assert server.count == paid
        assert again.documents == outcome.documents
        assert again.tally.unusable.calls == 0


def test_a_refused_parameter_is_left_out_with_a_note() -> None:
    """The endpoint will not have a temperature: it is left out after the first refusal, and the run says so."""
    with FakeServer(refuse_parameters=["temperature"]) as server:
        outcome = weigh(records(3), WHOLE, prompted(server))
        assert server.count == 3
        assert outcome.tally.sent == sum(server.seen.values()) > 3
    assert outcome.statuses == ["scored"] * 3
    assert any("temperature is not accepted by the endpoint" in note for note in outcome.tally.notes)


def test_many_faults_at_once_lose_nothing() -> None:
    """A mean endpoint: every record is judged in the end, and each answer is paid once."""
    with FakeServer(rate_429=0.2, rate_500=0.2, rate_reset=0.1, retry_after=0.02, latency=(0.0, 0.01)) as server:
        outcome = weigh(records(60), CLAIMS, prompted(server))
        assert server.count == len(server.unique) == outcome.tally.answered
        assert outcome.tally.sent == sum(server.seen.values())
    assert outcome.ids == [f"r{n}" for n in range(1, 61)]
    assert set(outcome.statuses) == {"scored"} | (set(outcome.statuses) & {"empty"})
    assert outcome.tally.failed == 0


def test_a_step_without_a_judge_is_refused_by_name() -> None:
    """Before the run: the metric, the judge and the step are named."""
    answers: tuple[Task, ...] = ("support",)
    judge = ScriptedJudge(GOOD, name="mine", tasks=answers)
    with pytest.raises(ConfigError, match="claim_relevance: the judge 'mine' cannot answer the step 'claims'"):
        only(judge).check(CLAIMS[1])


def test_a_panel_cannot_write() -> None:
    a, b = ScriptedJudge(GOOD, name="a"), ScriptedJudge(GOOD, name="b")
    with pytest.raises(ConfigError, match="give the step one judge, as in --judge claims=embedded"):
        Routes(Route((a, b)), {}).check(CLAIMS[0])
    Routes(Route((a, b)), {"claims": Route((a,))}).check(CLAIMS[0])


def test_blank_records_need_no_judge() -> None:
    """What is empty or missing is settled without a call, even where the endpoint is dead."""
    with nobody_there() as name:
        given = [Record("a"), replace(record("b"), response=" ")]
        outcome = weigh(given, CLAIMS, build(parse(name)))
    assert outcome.error is None
    assert outcome.statuses == ["missing_field", "missing_field", "empty", "empty"]


def test_a_result_that_cannot_be_written_down_is_set_aside_by_name() -> None:
    """However odd what a record brings along, it has its line, and the others theirs."""
    endless: dict[str, Any] = {}
    endless["k"] = endless
    odd = replace(record("r2"), meta=endless)
    outcome = weigh([record("r1"), odd, record("r3")], WHOLE, ScriptedJudge(GOOD))
    assert outcome.error is None
    assert outcome.ids == ["r1", "r2", "r3"]
    assert "internal error" in outcome.documents[1]["set_aside"]


def test_a_call_that_is_under_way_when_the_run_stops_is_kept() -> None:
    """What is paid for is stored; what was not sent yet is not made."""

    def script(question: Question[Any]) -> Any:
        if "r1." in about(question):
            raise BackendError("HTTP 401: no", fatal=True)
        return "2"

    judge = slow_judge(lambda text: 0.0 if "r1." in text else 0.3, script)
    with Store(":memory:") as store:
        outcome = weigh(records(4), WHOLE, judge, store=store)
        assert str(outcome.error) == "HTTP 401: no"
        assert len(store.call_keys()) == outcome.tally.sent == len(judge.asked) - 1 > 0


def test_a_reply_that_cannot_be_noted_gives_its_place_back() -> None:
    """Its own record is told, and the calls behind it, that wait for the only place at the endpoint, go out."""

    class Odd(SlowBackend):
        limits = RateLimits("there", 0, 0)

        async def send(self, call: Call) -> Reply:
            reply = await super().send(call)
            return reply._replace(notes=None) if "r2." in about(self.expected[call.key]) else reply  # type: ignore[arg-type]

    judge = ScriptedJudge(GOOD)
    judge.backend = backend = Odd(judge, 1, lambda text: 0.01)
    outcome = weigh(records(5), WHOLE, only(judge))
    assert outcome.error is None
    assert sorted(outcome.statuses) == ["judge_failed", *["scored"] * 4]
    assert backend.most == 1  # and no place is given back twice

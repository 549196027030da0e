"""Runs in batches: the results of a live run, each call paid once at half the price, whatever breaks between waves."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import ragstone
from ragstone import api
from ragstone.api import batching
from ragstone.cli.app import app
from ragstone.errors import BackendError, BatchPending, BudgetReached, ConfigError, InputError
from ragstone.judges.http import HttpBackend
from ragstone.judges.messages import MessagesBackend
from ragstone.judges.openai import OpenAIBackend
from ragstone.judges.spec import Spec
from ragstone.options import TRIES
from ragstone.store.batches import BatchStore
from ragstone.testing import FakeServer, Scripted

ROWS = [
    {"id": f"r{n}", "question": "What?", "response": f"Kettle {n} is blue. It holds {n} litres.",
     "contexts": [f"Kettle {n} is blue."]} for n in range(8)
]  # fmt: skip
METRICS = ["grounding", "groundedness"]


class Killed(BaseException):
    """The process is gone at this moment."""


def answer(request: dict[str, Any]) -> Any:
    """The default, but for one record's claims, whose first verdicts cannot be read: a third wave repairs them."""
    said = str(request["messages"])
    if "Kettle 3" in said and "passage 1" in said and len(request["messages"]) == 2:
        return "I would rather not."
    return None


@pytest.fixture(params=["openai", "anthropic"])
def given(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server and the options of runs by a judge there, one for each dialect."""
    monkeypatch.setattr(batching, "POLL", (0.01, 0.01))
    with FakeServer(answer=answer) as server:
        (tmp_path / "r.toml").write_text(
            f'[judges.it]\nprovider = "{request.param}"\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = ""\n'
            "price = { input = 100, output = 100 }\n"
        )
        config = {"config": tmp_path / "r.toml", "metrics": METRICS, "judge": "it", "name": "b"}
        yield server, {**config, "store": tmp_path / "batch.db"}, {**config, "store": tmp_path / "live.db"}


def scores(run: Any) -> Any:
    """All that results say but what it cost."""
    found = []
    for row in run.results():
        told = [{name: value for name, value in score.items() if name != "cost"} for score in row["scores"]]
        found.append((row["id"], row["units"], told))
    return found


def test_three_waves_killed_at_every_step_are_as_a_live_run_for_half(given: Any, monkeypatch: Any) -> None:
    """Killed before and after each write and each request; the estimate said the price and the waves."""
    server, options, live = given
    said = ragstone.estimate(ROWS, batch=True, finish="batch", **options)
    assert (said.waves, said.live) == (3, False)
    steps = ("make_batch", "submit", "sent", "collect")
    kills = {f"{when} {step}" for step in steps for when in ("before", "after")}
    done: set[str] = set()

    def dying(name: str, work: Any) -> Any:
        def before(when: str) -> None:
            if (point := f"{when} {name}") not in done:
                done.add(point)
                raise Killed(point)

        def sync(*given: Any) -> Any:
            before("before")
            found = work(*given)
            before("after")
            return found

        async def waiting(*given: Any) -> Any:
            before("before")
            found = await work(*given)
            before("after")
            return found

        return waiting if name == "submit" else sync

    for name in set(steps) - {"submit"}:
        monkeypatch.setattr(BatchStore, name, dying(name, getattr(BatchStore, name)))
    for backend in ("openai.OpenAIBackend", "messages.MessagesBackend"):
        module, _, cls = f"ragstone.judges.{backend}".rpartition(".")
        owner = getattr(__import__(module, fromlist=[cls]), cls)
        monkeypatch.setattr(owner, "submit", dying("submit", owner.submit))
    run = None
    for _ in range(60):
        try:
            run = ragstone.evaluate(ROWS, batch=True, finish="batch", **options)
            break
        except (Killed, BatchPending):
            continue
    assert run is not None
    assert done == kills
    assert server.count == len(server.unique), "each call is paid once"
    calls = server.count
    bill = run.summary()["bill"]
    reference = ragstone.evaluate(ROWS, **live)
    assert scores(run) == scores(reference)
    dear = reference.summary()["bill"]
    assert (bill["paid"]["calls"], calls) == (dear["paid"]["calls"], dear["paid"]["calls"])
    assert bill["unusable"]["calls"] == dear["unusable"]["calls"] > 0
    assert bill["paid"]["dollars"] == pytest.approx(dear["paid"]["dollars"] / 2)
    assert said.total.dollars is not None
    again = ragstone.estimate(ROWS, **{**live, "store": live["store"].with_name("none.db")}).total.dollars
    assert again is not None
    assert said.total.dollars.expected == pytest.approx(again.expected / 2)
    assert api.list_batches(options["store"]) == []


def test_a_small_last_wave_goes_live_and_wait_waits(given: Any) -> None:
    """The first wave is a batch because it was asked for; what follows it is few."""
    server, options, _ = given
    server.configure(batch_polls=3)
    cold = {**options, "store": options["store"].with_name("cold.db")}
    said = ragstone.estimate(ROWS, batch=True, **cold)
    dear, cheap = ragstone.estimate(ROWS, **cold), ragstone.estimate(ROWS, batch=True, finish="batch", **cold)
    assert (said.waves, said.live) == (1, True)
    run = ragstone.evaluate(ROWS, batch=True, wait=True, **options)
    bill = run.summary()["bill"]["paid"]
    supports = [one.of(metric="grounding", step="support").dollars for one in (said, dear, cheap)]
    assert supports[0] == supports[1] != supports[2], "the second step of grounding goes live"
    firsts = [one.of(step="claims").dollars for one in (said, dear, cheap)]
    assert firsts[0] is not None
    assert firsts[1] is not None
    assert firsts[0].expected == pytest.approx(firsts[1].expected / 2, rel=0.05)
    assert run.status == "done"
    assert server.count == len(server.unique) == bill["calls"]
    assert ragstone.evaluate(ROWS, **options).summary()["bill"]["sent"] == 0


@pytest.mark.parametrize("end", ["partial", "expired", "cancelled"])
def test_what_a_batch_did_not_bring_is_asked_again(given: Any, end: str) -> None:
    """Half came; the others are in the next wave, and nothing is a score before it has a reply. Both are told."""
    server, options, live = given
    server.configure(batch_end=end)
    with pytest.raises(BatchPending, match=r"1 batch submitted \(16 calls\)"):
        ragstone.evaluate(ROWS, batch=True, finish="batch", **options)
    with pytest.raises(BatchPending) as found:
        ragstone.evaluate(ROWS, batch=True, finish="batch", **options)
    assert server.count == 8
    (note,) = found.value.__notes__
    assert re.fullmatch(
        r"batch batch-0 ended \(\w+\) without a result for 8 of 16 calls, which are sent again up to .*", note
    )
    server.configure(batch_end="completed")
    run = ragstone.evaluate(ROWS, batch=True, wait=True, finish="batch", **options)
    bill = run.summary()["bill"]
    assert (bill["retried"], bill["retry_causes"]) == (8, {"no result in a batch": 8})
    assert bill["sent"] - 8 == bill["paid"]["calls"] == server.count == len(server.unique)
    assert scores(run) == scores(ragstone.evaluate(ROWS, **live))


def test_what_a_batch_did_not_bring_is_on_one_bill(given: Any) -> None:
    """Each run counts what its own batches did not bring: first 8 calls, then 6 of the 12 that are left."""
    server, options, _ = given
    server.configure(answer=None, batch_end="partial")
    with pytest.raises(BatchPending):
        ragstone.evaluate(ROWS, batch=True, **options)
    with pytest.raises(BudgetReached):
        ragstone.evaluate(ROWS, batch=True, max_calls=9, **options)
    retried = [ragstone.open_run("last", options["store"]).summary()["bill"]["retried"]]
    with pytest.raises(BatchPending, match=r"1 batch submitted \(12 calls\)"):
        ragstone.evaluate(ROWS, batch=True, finish="batch", **options)
    with pytest.raises(BatchPending, match="without a result for 6 of 12 calls"):
        ragstone.evaluate(ROWS, batch=True, finish="batch", **options)
    server.configure(batch_end="completed")
    run = ragstone.evaluate(ROWS, batch=True, wait=True, finish="batch", **options)
    assert [*retried, run.summary()["bill"]["retried"]] == [8, 6]


@pytest.mark.parametrize(
    ("end", "said"),
    [("failed", "ended without a result"), ("empty", "ended without a result"), ("lost", "no longer has")],
)
def test_a_batch_without_a_result_is_an_error_and_not_a_wait(given: Any, end: str, said: str) -> None:
    server, options, _ = given
    with pytest.raises(BatchPending):
        ragstone.evaluate(ROWS, batch=True, **options)
    server.configure(batch_end=end)
    with pytest.raises(BackendError, match=said) as found:
        ragstone.evaluate(ROWS, batch=True, wait=True, **options)
    assert found.value.hint == "the same command sends its calls again"
    server.configure(batch_end="completed")
    assert ragstone.evaluate(ROWS, batch=True, wait=True, **options).status == "done"
    assert server.count == len(server.unique)


def test_a_batch_whose_results_are_gone_blocks_no_run(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another one lacks is told all the same, because it is collected only once."""
    server, options, _ = given
    server.configure(batch_end="partial")
    monkeypatch.setattr(batching, "MOST", 8)
    with pytest.raises(BatchPending, match="2 batches submitted"):
        ragstone.evaluate(ROWS, batch=True, **options)
    real, asked = HttpBackend.results, list[Any]()

    async def gone(backend: Any, state: Any) -> Any:
        asked.append(state)
        if asked[1:]:
            raise BackendError("HTTP 404", status=404, fatal=True)
        return await real(backend, state)

    with monkeypatch.context() as patch:
        patch.setattr(HttpBackend, "results", gone)
        with pytest.raises(BackendError, match="no longer has batch batch-1 or its results") as found:
            ragstone.evaluate(ROWS, batch=True, wait=True, **options)
    assert "batch batch-0 ended" in found.value.__notes__[0]
    server.configure(batch_end="completed")
    assert ragstone.evaluate(ROWS, batch=True, wait=True, **options).status == "done"


CHOICES = b'{"choices": [{"message": {"content": "x"}}], "took": NaN, "id": 18446744073709551616}'
LINES = {
    b'{"custom_id": "a", "response": {"status_code": "200", "body": %b}}' % CHOICES: "x",
    b'{"custom_id": "a", "response": {"status_code": 201, "body": %b}}' % CHOICES: "x",
    b'{"custom_id": "a", "response": null, "error": {"code": "late"}}': "no result in the batch: late",
    b'{"custom_id": "a", "response": {"status_code": "ok"}}': "not a batch result",
    b'{"custom_id": "a", "response": {"status_code": Infinity}}': "not a batch result",
    b'{"custom_id": "a", "result": {"type": "expired"}}': "no result in the batch: expired",
    b'{"custom_id": "a", "result": {"message": {}}}': "not a batch result",
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_results_is_a_reply_or_the_reason_why_there_is_none(line: bytes) -> None:
    kind = OpenAIBackend if b"response" in line else MessagesBackend
    found: object
    try:
        _, found = kind(Spec("it", model="m", base_url="http://x/v1")).read_line(line)
    except ValueError as error:
        found = error
    assert str(getattr(found, "text", found)).endswith(LINES[line])


NO_CHOICE = {"choices": [], "note": "too strange"}
COUNTS = {"usage": {"prompt_tokens": 7, "completion_tokens": 3, "input_tokens": 7, "output_tokens": 3}}


@pytest.mark.parametrize(
    ("refused", "charged"),
    [
        (Scripted("too strange", status=400), 0),
        (Scripted(raw=json.dumps(NO_CHOICE | COUNTS)), 2),
        (Scripted(raw=json.dumps(NO_CHOICE)), 2),
        (Scripted("too strange", status=500), 0),
    ],
)
def test_a_call_without_an_answer_is_a_failure_and_no_endless_wave(given: Any, refused: Scripted, charged: int) -> None:
    """Refused, or charged for nothing, which is on the bill and counts towards the budget.

    A call that may succeed later is sent as often as a live one.
    """
    server, options, _ = given
    refusals: list[str] = []

    def said(request: Any) -> Scripted | None:
        if "Kettle 5" in str(request):
            refusals.append(str(request))
        return refused if "Kettle 5" in str(request) else None

    server.configure(answer=said)
    run = ragstone.evaluate(ROWS, batch=True, wait=True, finish="batch", **options)
    bill, usage = run.summary()["bill"], "usage" in str(refused.raw)
    assert bill["paid"]["calls"] - bill["answered"] == bill["unusable"]["calls"] == charged
    assert bill["unusable"]["dollars"] == (charged * 10 * 100e-6 / 2 if usage else None if charged else 0)
    assert bill["sent"] == bill["paid"]["calls"] + (0 if charged else len(refusals))
    assert bill["retried"] == (2 * (TRIES - 1) if refused.status == 500 else 0)
    assert server.count == len(server.unique), "what a batch answered is not sent again"
    assert len(refusals) == 2 * (TRIES if refused.status == 500 else 1)
    scored = [(row["id"], score) for row in run.results() for score in row["scores"]]
    failed = {record: score["reason"] for record, score in scored if score["status"] == "judge_failed"}
    assert failed.keys() == {"r5"}
    assert "too strange" in failed["r5"]
    assert server.seen[400] == 0, "what a batch refused is not sent again"
    if charged:
        limited = {**options, "store": options["store"].with_name("limited.db"), "max_calls": 18}
        with pytest.raises(BudgetReached, match="reached --max-calls 18: 16 answered, 2 with an unusable reply"):
            ragstone.evaluate(ROWS, batch=True, wait=True, finish="batch", **limited)


@pytest.mark.parametrize(("end", "finish"), [("completed", "batch"), ("partial", "live")])
def test_unreadable_replies_are_asked_again_once(given: Any, end: Any, finish: Any) -> None:
    """The reply of a batch replaces a stored one that could not be read, so the call is not sent for ever.

    One that did not come is asked again and billed once.
    """
    server, options, _ = given
    server.configure(answer=lambda request: "I would rather not." if "Kettle 5" in str(request) else None)
    ragstone.evaluate(ROWS, **options)
    server.configure(answer=None, batch_end=end)
    server.reset()
    run = ragstone.evaluate(ROWS, batch=True, wait=True, finish=finish, only_failed=True, **options)
    assert {score["status"] for row in run.results() for score in row["scores"]} <= {"scored", "empty"}
    assert server.count == len(server.unique) == run.summary()["bill"]["paid"]["calls"]


def test_pruning_keeps_what_earlier_waves_paid_for(given: Any) -> None:
    server, options, _ = given
    for _ in range(2):
        with pytest.raises(BatchPending):
            ragstone.evaluate(ROWS, batch=True, finish="batch", **options)
    assert api.cache_info(options["store"]).as_json()["unused"] == 0
    assert api.prune_cache(api.Prune(unused=True), options["store"]).calls == 0
    ragstone.evaluate(ROWS, batch=True, wait=True, finish="batch", **options)
    assert server.count == len(server.unique)


@pytest.mark.parametrize("swap", [1, -1])
def test_a_reply_counts_more_than_an_error_for_the_same_call(given: Any, monkeypatch: Any, swap: int) -> None:
    """In either order; lines of other calls are ignored."""
    _, options, live = given
    for kind in (OpenAIBackend, MessagesBackend):
        results = kind.results

        async def twice(backend: Any, state: Any, results: Any = results) -> Any:
            lines = [json.loads(line) for line in await results(backend, state)]
            error = {"type": "invalid_request_error", "message": "no"}
            bad = {"result": {"type": "errored", "error": error}, "response": {"status_code": 400}, "error": error}
            extra = [{**line, **bad} for line in lines] + [{**lines[0], "custom_id": "unknown"}]
            return [json.dumps(line).encode() for line in [*lines, *extra][::swap]]

        monkeypatch.setattr(kind, "results", twice)
    run = ragstone.evaluate(ROWS, batch=True, wait=True, finish="batch", **options)
    assert scores(run) == scores(ragstone.evaluate(ROWS, **live))


def test_a_wave_is_split_and_bound_by_the_budget(given: Any, monkeypatch: Any) -> None:
    """By number; a budget in dollars holds the worst case at the price of a batch, and of replies without usage."""
    server, options, _ = given
    monkeypatch.setattr(batching, "MOST", 5)
    with pytest.raises(BatchPending, match=r"4 batches submitted \(16 calls\)"):
        ragstone.evaluate(ROWS, batch=True, **options)
    ragstone.evaluate(ROWS, batch=True, wait=True, **options)
    monkeypatch.setattr(batching, "MOST", 50_000)
    other = [{**row, "response": str(row["response"]).replace("Kettle", "Pot")} for row in ROWS]
    with pytest.raises(BudgetReached, match=r"--max-cost 0.2 is less than one call may use: \$0\.[34]"):
        ragstone.evaluate(other, batch=True, finish="batch", max_cost=0.2, **options)
    with pytest.raises(BatchPending, match=r"\([23] calls\)"):
        ragstone.evaluate(other, batch=True, max_cost=1.0, **options)
    server.configure(usage=False)
    most = {**options, "max_tokens": 30_000, "finish": "batch", "store": options["store"].with_name("unmetered.db")}
    with pytest.raises(BudgetReached, match="reached --max-tokens 30,000"):
        ragstone.evaluate(other, batch=True, wait=True, **most)
    with pytest.raises(ConfigError, match="remove --refresh"):
        ragstone.evaluate(other, batch=True, refresh=True, **options)
    with pytest.raises(ConfigError, match="a batch covers a whole run"):
        ragstone.evaluate(other, batch=True, shard="1/2", **options)
    with pytest.raises(ConfigError, match="--finish is only for batches; add --batch"):
        ragstone.evaluate(other, finish="batch", **options)


@pytest.mark.parametrize(("limit", "left"), [("max_cost", 0.4), ("max_tokens", 8000)])
def test_waves_that_only_shrink_end_as_a_reached_budget(given: Any, monkeypatch: Any, limit: str, left: float) -> None:
    """What a wave reserved and did not use always allows another, smaller one; a fifth of the budget is left."""
    server, options, _ = given
    config = options["config"]
    config.write_text(config.read_text().replace("price", "max_tokens = 100\nprice"))
    waves: list[int] = []
    send = batching._send

    async def sent(plan: Any, store: Any, owner: Any, wave: Any, pending: Any) -> None:
        waves.append(len(wave))
        await send(plan, store, owner, wave, pending)

    monkeypatch.setattr(batching, "_send", sent)
    rows = [{**ROWS[0], "id": f"r{n}", "response": f"Pot {n} is red."} for n in range(150)]
    options |= {"metrics": "answer_relevance", "batch": True, "wait": True, "finish": "batch", limit: 5 * left}
    with pytest.raises(BudgetReached, match=rf"reached --{limit.replace('_', '-')} .*and the next batch may"):
        ragstone.evaluate(rows, **options)
    assert sum(waves) == server.count < 150
    assert waves[0] > waves[-1] >= waves[0] // 5


def test_a_wave_is_split_by_the_bytes_of_its_lines(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As sent, none is over the limit and none ends before it is full; a call that is longer goes alone, and whole."""
    _, options, _ = given
    limit, sent = 8_000, list[list[bytes]]()
    for kind in (OpenAIBackend, MessagesBackend):
        submit = kind.submit

        async def kept(backend: Any, lines: list[bytes], tag: str, submit: Any = submit) -> str:
            sent.append(lines)
            return str(await submit(backend, lines, tag))

        monkeypatch.setattr(kind, "submit", kept)
    monkeypatch.setattr(batching, "LONGEST", limit)
    long = {**ROWS[3], "id": "long", "contexts": ["Kettle 3 is blue. " * 600]}
    ragstone.evaluate([*ROWS, long, *ROWS[:2]], batch=True, wait=True, finish="batch", **options)
    sizes = [(len(lines), sum(len(line) + 1 for line in lines)) for lines in sent]
    assert {lines for lines, size in sizes if size > limit} == {1}
    first = sent[: next(place for place, lines in enumerate(sent) if len(b"".join(lines)) > limit)]
    assert len(first) > 2
    for lines, following in pairwise(first):
        assert sum(map(len, [*lines, following[0]])) + 200 * (len(lines) + 1) > limit


def test_tokens_in_progress_limit_the_next_batches(given: Any) -> None:
    """Those of all runs that wait at the judge; a call that is longer than the limit goes alone."""
    server, options, _ = given
    server.configure(batch_polls=99)
    table = options["config"].read_text()
    options["config"].write_text(f"{table}batch_tokens = 3000\n")
    with pytest.raises(BatchPending, match=r"1 batch submitted \([2-9] calls\)"):
        ragstone.evaluate(ROWS, batch=True, **options)
    other = [{**row, "response": str(row["response"]).replace("Kettle", "Pot")} for row in ROWS]
    with pytest.raises(BatchPending, match="1 batch of b still running"):
        ragstone.evaluate(other, batch=True, **{**options, "name": "c"})
    options["config"].write_text(f"{table}batch_tokens = 1\n")
    with pytest.raises(BatchPending, match=r"1 batch submitted \(1 call\)"):
        ragstone.evaluate(other, batch=True, **{**options, "store": options["store"].with_name("other.db")})


@pytest.mark.parametrize("finish", ["live", "batch"])
def test_a_batch_run_that_reaches_its_budget_ends_as_a_live_one(given: Any, monkeypatch: Any, finish: str) -> None:
    """With results and a bill; the next run has a budget of its own. A rest too small for a batch goes live."""
    server, options, live = given
    monkeypatch.setattr(batching, "SMALL", 10)
    options = {**options, "batch": True, "finish": finish, "max_calls": 18}
    with pytest.raises(BatchPending, match=r"\(16 calls\)"):
        ragstone.evaluate(ROWS, **options)
    with pytest.raises(BudgetReached, match="reached --max-calls 18") as stopped:
        ragstone.evaluate(ROWS, wait=True, **options)
    assert server.count == 18
    assert stopped.value.hint.startswith("run the same command again")
    runs = [
        ragstone.open_run(stopped.value.run, store=options["store"]),
        ragstone.evaluate(ROWS, wait=True, **options),
    ]
    assert len(runs[0]) > 0
    bills = [run.summary()["bill"] for run in runs]
    assert bills[0]["paid"]["calls"] == 18
    assert [sum(bill[part] for bill in bills) for part in ("sent", "answered")] == [server.count, len(server.unique)]
    assert bills[0]["replayed"] + bills[1]["replayed"] > 16, "in the second bill, those of the batch are replayed"
    assert scores(runs[1]) == scores(ragstone.evaluate(ROWS, **live))


def test_a_long_wait_for_one_wave_does_not_slow_the_next(given: Any, monkeypatch: Any) -> None:
    server, options, _ = given
    server.configure(batch_polls=3)
    pauses: list[float] = []

    async def slept(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(batching, "POLL", (1.0, 60.0))
    monkeypatch.setattr(batching, "asyncio", SimpleNamespace(sleep=slept))
    ragstone.evaluate(ROWS, batch=True, wait=True, finish="batch", **options)
    assert pauses.count(1.0) == 3, "once for each wave"


def test_runs_share_a_store_and_wait_only_for_calls_that_they_need(given: Any) -> None:
    """The second run sends its own calls at once, none that the first has in a batch, and then waits for those."""
    server, options, live = given
    server.configure(batch_polls=2)
    other = [*ROWS[:2], {**ROWS[7], "id": "new", "response": "It is made of steel."}]
    with pytest.raises(BatchPending, match=r"1 batch submitted \(16 calls\)"):
        ragstone.evaluate(ROWS, batch=True, **options)
    with pytest.raises(BatchPending, match=r"1 batch submitted \(2 calls\)"):
        ragstone.evaluate(other, batch=True, **{**options, "name": "c"})
    with pytest.raises(BatchPending, match=r"1 batch of c still running after less than 1 min \(2 calls\)"):
        ragstone.evaluate(other, batch=True, **{**options, "name": "c"})
    assert len(api.list_batches(options["store"])) == 2
    server.configure(batch_polls=0)
    run = ragstone.evaluate(other, batch=True, wait=True, **{**options, "name": "c"})
    ragstone.evaluate(ROWS, batch=True, wait=True, **options)
    assert server.count == len(server.unique), "each call is paid once"
    assert scores(run) == scores(ragstone.evaluate(other, **live))


def test_inputs_of_one_name_share_no_batches(given: Any, tmp_path: Path) -> None:
    """Files in two folders, and two lists: each waits for its own batches, and is billed for them."""
    server, options, _ = given
    unnamed = {name: value for name, value in options.items() if name != "name"}
    sources: list[Any] = [[{**row, "response": f"The {thing} is blue."} for row in ROWS] for thing in ("Pot", "Pan")]
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        sources.append(tmp_path / folder / "in.jsonl")
        rows = [{**row, "response": f"Kettle {folder} is blue."} for row in ROWS]
        sources[-1].write_text("\n".join(map(json.dumps, rows)))
    for source in sources:
        with pytest.raises(BatchPending, match=r"1 batch submitted \(\d+ calls\)"):
            ragstone.evaluate(source, batch=True, **unnamed)
    bills = [ragstone.evaluate(source, batch=True, wait=True, **unnamed).summary()["bill"] for source in sources]
    assert sum(bill["paid"]["calls"] for bill in bills) == server.count == len(server.unique)
    assert len({bill["paid"]["calls"] for bill in bills}) == 1


def test_an_endpoint_that_cannot_be_reached_blocks_no_other_judge(given: Any, monkeypatch: Any) -> None:
    """A wave that was certainly not sent is dropped; one that may have been is kept, for its own judge only."""
    _, options, _ = given
    away = {**options, "judge": "openai:m@http://127.0.0.1:9/v1", "config": None}
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(BackendError, match="cannot reach"):
        ragstone.evaluate(ROWS, batch=True, **away)
    assert api.list_batches(options["store"]) == []
    with monkeypatch.context() as patched:
        patched.setattr(OpenAIBackend, "submit", _failing(BackendError("no reply", lost=True)))
        with pytest.raises(BackendError, match="no reply"):
            ragstone.evaluate(ROWS, batch=True, **away)
    with pytest.raises(BatchPending, match="1 batch submitted"):
        ragstone.evaluate(ROWS, batch=True, **options)
    with pytest.raises(BackendError, match="cannot reach"):
        api.cancel_batches(options["store"])
    with monkeypatch.context() as patched:
        for kind in (OpenAIBackend, MessagesBackend):
            patched.setattr(kind, "cancel", _failing(BackendError("already completed", status=409)))
            patched.setattr(kind, "find", _failing(BackendError("unknown route", status=404)))
        assert api.cancel_batches(options["store"]) == 0
        patched.setattr(OpenAIBackend, "find", lambda *_: asyncio.sleep(0, None))
        with pytest.raises(BackendError, match="the batch has no known id"):
            api.cancel_batches(options["store"])
    assert ragstone.evaluate(ROWS, batch=True, wait=True, **options).status == "done"


def _failing(error: BackendError) -> Any:
    async def fail(*_: Any) -> str:
        raise error

    return fail


def test_wait_outlasts_an_outage_while_a_wave_is_sent(given: Any, monkeypatch: Any) -> None:
    _, options, _ = given
    for kind in (OpenAIBackend, MessagesBackend):
        submit, errors = kind.submit, [BackendError("overloaded", retryable=True, status=503)]

        async def second(*given: Any, submit: Any = submit, errors: Any = errors) -> str:
            if errors:
                raise errors.pop()
            return str(await submit(*given))

        monkeypatch.setattr(kind, "submit", second)
    assert ragstone.evaluate(ROWS, batch=True, wait=True, **options).status == "done"


def test_a_batch_is_found_on_any_page_and_its_files_may_take_long(given: Any, monkeypatch: Any) -> None:
    """No page is read beyond the time when the batch was made. A silence ends a transfer, not its duration."""
    server, _, _ = given
    asked: list[str] = []

    async def told(_: Any, wanted: str, method: str, path: str) -> dict[str, Any]:
        asked.append(path)
        page = len(asked)
        ended = {"processing_status": "ended", "results_url": "there"} if page == 2 else {}
        counts = {"processing": 5 if page == 2 else 1}
        one = {"id": f"b{page}", "created_at": 1000 - 100 * page, "request_counts": counts, **ended,
               "metadata": {"ragstone": f"t{page}"}}  # fmt: skip
        return {"data": [one], "has_more": True, "last_id": f"b{page}"}

    async def results(_: Any, state: Any) -> list[bytes]:
        return [b'{"custom_id": "%x"}' % key for key in b"abcde"] if state.ended else []

    async def endless(*_: Any) -> dict[str, Any]:
        return {"data": [], "has_more": True, "last_id": "b1"}

    def keys_of(calls: str) -> set[bytes]:
        return {call.encode() for call in calls}

    for kind, after in ((OpenAIBackend, "after"), (MessagesBackend, "after_id")):
        asked.clear()
        monkeypatch.setattr(kind, "_told", told)
        monkeypatch.setattr(kind, "results", results)
        backend = kind(Spec("it", model="m", base_url=server.url, timeout=7.0))
        assert asyncio.run(backend.find("t2", 860.0, keys_of("abcde"))) == "b2"
        assert asked[1].endswith(f"?limit=100&{after}=b1")
        for tag, wanted, said in (("t9", "ab", ""), ("t9", "vwxyz", ""), ("t9", "f", None)):
            asked.clear()
            known = "" if kind is OpenAIBackend else said
            assert asyncio.run(backend.find(tag, 860.0, keys_of(wanted))) == known, (
                "another batch, or one that may be another"
            )
            assert len(asked) == 3
        monkeypatch.setattr(kind, "_told", endless)
        assert asyncio.run(backend.find("t9", 860.0, set())) == ""
        waits: list[Any] = []

        async def exchange(*_: Any, waits: Any = waits, **more: Any) -> Any:
            waits.append(more["timeout"])
            return 200, {}, b"{}"

        monkeypatch.setattr(kind, "_exchange", exchange)
        asyncio.run(backend._asked("POST", "/files", b"x" * 1_000_000))
        assert (waits[0].total, waits[0].sock_read) == (None, 17.0)


def test_a_batch_outlasts_damage_to_the_store(given: Any) -> None:
    """The new store collects it; its calls are not sent again, and it has what is counted and kept beside them."""
    server, options, _ = given
    with pytest.raises(BatchPending):
        ragstone.evaluate(ROWS, batch=True, finish="batch", **options)
    with BatchStore(options["store"]) as store:
        sent = store.batches(), [store.keys_of(row.id) for row in store.batches()]
        store.keep_calls("a test", [b"key"])
    beside: list[Any] = [
        ("batch_tries", [(b"other", sent[0][0].id, 2, "no reply", 1)]),
        ("kept_calls", [("a test", b"key")]),
    ]
    with closing(sqlite3.connect(options["store"])) as connection, connection:
        connection.execute("INSERT INTO batch_tries VALUES (?, ?, ?, ?, ?)", beside[0][1][0])
    data = bytearray(options["store"].read_bytes())
    data[:100] = bytes(100)
    options["store"].write_bytes(data)
    with BatchStore(options["store"]) as store:
        assert all(sent[1])
        assert sent[1]
        assert (store.batches(), [store.keys_of(row.id) for row in store.batches()]) == sent
    with closing(sqlite3.connect(options["store"])) as connection:
        assert [(table, connection.execute(f"SELECT * FROM {table}").fetchall()) for table, _ in beside] == beside
    run = ragstone.evaluate(ROWS, batch=True, wait=True, finish="batch", **options)
    assert len(list(options["store"].parent.glob("*damaged*"))) == 1
    assert server.count == len(server.unique) == run.summary()["bill"]["paid"]["calls"]


def test_one_process_at_a_time_sends_and_collects(given: Any) -> None:
    """Else a batch that one is about to send would be sent by the other too."""
    _, options, _ = given
    with BatchStore(options["store"]) as store, store.alone(), pytest.raises(ConfigError, match="another process"):
        ragstone.evaluate(ROWS, batch=True, **options)


def test_a_wave_has_what_panels_cascades_and_repeats_ask(given: Any) -> None:
    """A repeat is a call of its own; what a judge here answers is in no batch."""
    server, options, live = given
    asked = {"judge": ["embedded>it", "relevance=[embedded,it]"], "metrics": ["groundedness", "context_relevance"]}
    run = ragstone.evaluate(ROWS, batch=True, wait=True, finish="batch", **{**options, **asked}, repeat=2)
    assert server.count == run.summary()["bill"]["paid"]["calls"] > 16
    assert scores(run) == scores(ragstone.evaluate(ROWS, **{**live, **asked}, repeat=2))


def test_a_provider_without_batches_takes_a_file(tmp_path: Path) -> None:
    """As vLLM's run-batch reads and writes it; every step from the command line."""
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    store = ["--store", str(tmp_path / "s.db")]

    def ragstone_(*words: str) -> Any:
        return CliRunner().invoke(app, [*words, *store])

    with FakeServer(answer=answer) as server:
        command = ["run", str(tmp_path / "in.jsonl"), "-m", "grounding", "-j", f"vllm:m@{server.url}", "-q",
                   "--batch", "--finish", "batch"]  # fmt: skip
        waves = 0
        assert ragstone_(*command, "--wait").exit_code == 5, "nothing but an import brings it"
        while (found := ragstone_(*command)).exit_code == 5:
            waves += 1
            assert "export the calls with 'ragstone batch export CALLS'" in found.output
            assert ragstone_("batch", "export", str(tmp_path / "calls.jsonl")).exit_code == 0
            lines = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
            assert all(line["url"] == "/v1/chat/completions" and line["method"] == "POST" for line in lines)
            assert "export" in ragstone_("batch", "list").output
            assert ragstone_("batch", "import", str(tmp_path / "calls.jsonl")).exit_code == 2
            with (tmp_path / "results.jsonl").open("w") as file:
                for line in lines[::-1]:
                    file.write(json.dumps(_run_batch(server, line)) + "\n")
            assert ragstone_("batch", "import", str(tmp_path / "results.jsonl")).exit_code == 0
        assert found.exit_code == 0, found.output
    assert (waves, server.count) == (3, len(server.unique))


def _run_batch(server: FakeServer, line: dict[str, Any]) -> dict[str, Any]:
    """A line of vLLM's output file."""
    from urllib.request import Request, urlopen

    with urlopen(Request(f"{server.url}/chat/completions", json.dumps(line["body"]).encode())) as reply:
        response = {"status_code": 200, "request_id": "vllm-batch-1", "body": json.load(reply)}
    return {"id": "vllm-1", "custom_id": line["custom_id"], "response": response, "error": None}


def test_batches_are_cancelled_and_keep_what_they_have(given: Any) -> None:
    server, options, _ = given
    with pytest.raises(ConfigError, match="no store at"):
        api.cancel_batches(options["store"])
    server.configure(batch_polls=9)
    with pytest.raises(BatchPending):
        ragstone.evaluate(ROWS, batch=True, **options)
    assert api.cancel_batches(options["store"]) == 1
    with pytest.raises(BatchPending):
        ragstone.evaluate(ROWS, batch=True, finish="batch", **options)
    assert server.count == 8
    with pytest.raises((ConfigError, InputError), match="no exported calls"):
        api.import_batches(Path("none"), options["store"])

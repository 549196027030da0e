"""The engine drives flows: results in order, each call once, nothing held that is not needed, no record lost."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from stage import (
    GOOD,
    QUICK,
    SlowBackend,
    about,
    jobs,
    limited,
    metrics,
    only,
    prompted,
    record,
    records,
    slow_judge,
    weigh,
)  # fmt: skip

from ragstone.engine.route import Route, Routes
from ragstone.engine.run import Engine, Job
from ragstone.errors import BackendError, RecordError, StoreError
from ragstone.judges.base import Failed
from ragstone.metrics.base import Flow, Metric, ask
from ragstone.prices import PriceBook
from ragstone.questions import YES_NO, Question, Rate, Task
from ragstone.store.database import Store
from ragstone.testing import FakeServer, ScriptedJudge
from ragstone.types import Passage, Record, Score, Unit

GROUNDING = metrics("grounding")
CLAIMS = metrics("grounding", "claim_relevance")
WHOLE = metrics("response_groundedness")


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions(Metric):
    """A metric made of one round of questions about the response; ``trouble`` strikes before or after them."""

    name: ClassVar[str] = "questions"
    title: ClassVar[str] = "a metric for tests"
    needs: ClassVar[tuple[str, ...]] = ("response",)
    asks: ClassVar[tuple[Task, ...]] = ("support",)
    suites: ClassVar[tuple[str, ...]] = ()

    texts: tuple[str, ...] = ("same",)
    trouble: str = ""
    hit: str = "r1"

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        struck = record.id == self.hit
        if self.trouble == "before" and struck:
            raise LookupError("out of order")
        asked = [Rate("support", (Unit(f"u/{text}", "claim", text),), YES_NO) for text in self.texts]
        answers = yield from ask(*asked)
        if self.trouble == "after" and struck:
            raise LookupError("out of order")
        if self.trouble == "nonsense" and struck:
            return None  # type: ignore[return-value]
        return (self.mean_score(record, [verdict for answer in answers for verdict in answer.verdicts]),)


def test_results_come_in_the_order_of_the_input() -> None:
    """However long each takes, results are given out as the records came."""
    chooser = random.Random(1)
    delays: dict[str, float] = {}
    judge = slow_judge(lambda text: delays.setdefault(text, chooser.random() / 20))
    given = records(40)
    outcome = weigh(given, GROUNDING, judge)
    assert outcome.ids == [r.id for r in given]
    assert [weighed.position for weighed in outcome.weighed] == list(range(1, 41))
    assert [document["position"] for document in outcome.documents] == list(range(1, 41))
    assert set(outcome.values) == {1.0}
    assert isinstance(judge.backend, SlowBackend)
    finished = [text for text in judge.backend.order if text.startswith("It is")]
    assert finished != [f"It is {r.id}." for r in given], "nothing was ever out of order, so nothing was tested"


def test_no_more_records_are_read_than_may_wait() -> None:
    """While the oldest record is unfinished at most ``ahead`` are pulled; memory does not grow with the file."""
    ahead, pulled, given_out, most = 8, 0, 0, 0

    def counted() -> Iterator[Job]:
        nonlocal pulled, most
        for job in jobs(records(60), WHOLE):
            pulled += 1
            most = max(most, pulled - given_out)
            yield job

    def seen(_: Any) -> None:
        nonlocal given_out
        given_out += 1

    judge = slow_judge(lambda text: 0.3 if "r1." in text else 0.0, concurrency=64)
    outcome = weigh(counted(), WHOLE, judge, settings=replace(QUICK, ahead=ahead), seen=seen)
    assert len(outcome.ids) == 60
    assert most == ahead


def test_no_more_records_are_begun_than_the_judges_can_take() -> None:
    """About as many as the backend has places, and a few: enough to keep it busy, whatever may wait."""
    pulled: list[str] = []

    def counted() -> Iterator[Job]:
        for job in jobs(records(30), WHOLE):
            pulled.append(job.id)
            yield job

    judge = slow_judge(lambda text: 0.05, concurrency=2)
    before: list[int] = []
    outcome = weigh(counted(), WHOLE, judge, seen=lambda weighed: before.append(len(pulled)))
    assert len(outcome.ids) == 30
    assert before[0] <= 2 * 2 + 8


def test_concurrency_holds_over_sockets() -> None:
    with FakeServer(latency=0.02) as server:
        judge = prompted(server)
        judge.backend.concurrency = 4  # type: ignore[misc]
        outcome = weigh(records(20), WHOLE, judge)
        assert server.max_in_flight == 4
        assert server.count == 20
    assert outcome.error is None


def test_a_backend_that_gives_up_in_time_by_itself_needs_no_second_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Mock(wraps=asyncio.timeout_at)
    monkeypatch.setattr(asyncio, "timeout_at", clock)
    judge = ScriptedJudge(GOOD)
    for timeout, clocks in ((QUICK.deadline, 0), (QUICK.deadline + 1, 2)):
        judge.backend.timeout = timeout
        assert weigh([record("r1")], metrics("grounding"), judge).error is None
        assert clock.call_count == clocks


def test_what_two_metrics_share_is_one_request() -> None:
    """Counted at the server: three requests for a record with both claim metrics, none twice."""
    with FakeServer() as server:
        outcome = weigh(records(4), CLAIMS, prompted(server))
        assert server.count == len(server.unique) == 12
    assert outcome.tally.sent == 12


def test_the_same_call_in_flight_is_sent_once() -> None:
    """Records with the same content wait for one call, and each gets its verdict."""
    judge = slow_judge(lambda text: 0.05)
    outcome = weigh(records(5), (Questions(texts=("same", "same")),), judge)
    assert [about(question) for question in judge.asked] == ["same"]
    assert (outcome.tally.sent, outcome.tally.shared) == (1, 9)  # two askings in each of five records
    assert outcome.values == [1.0] * 5
    assert [len(document["calls"]) for document in outcome.documents] == [1] * 5


def test_what_is_paid_is_on_disk_before_it_is_used(tmp_path: Path) -> None:
    """When a record's result comes out its calls can be read by another process."""
    path = tmp_path / "s.db"

    def seen(weighed: Any) -> None:
        with Store(path) as other:
            for note in outcome_calls(weighed):
                assert other.call(bytes.fromhex(note)) is not None

    with Store(path) as store:
        assert len(weigh(records(3), CLAIMS, ScriptedJudge(GOOD), store=store, seen=seen).ids) == 3


def outcome_calls(weighed: Any) -> list[str]:
    import orjson

    return [call["key"] for call in orjson.loads(weighed.document)["calls"]]


def test_errors_are_never_kept() -> None:
    """What failed is asked again by the next run."""
    with Store(":memory:") as store:
        bad = weigh(records(2), WHOLE, ScriptedJudge({"response_support": Failed("no")}), store=store)
        assert bad.statuses == ["judge_failed"] * 2
        good = weigh(records(2), WHOLE, ScriptedJudge(GOOD), store=store)
        assert (good.tally.sent, good.statuses) == (2, ["scored"] * 2)


@pytest.mark.parametrize("trouble", ["before", "after"])
def test_a_metric_that_breaks_harms_its_own_score_only(trouble: str) -> None:
    """Any exception becomes judge_failed with its name; the record's other metrics and other records are fine."""
    broken = Questions(trouble=trouble, hit="r2")
    outcome = weigh(records(3), (broken, *WHOLE), ScriptedJudge(GOOD))
    assert outcome.error is None
    assert outcome.statuses == ["scored", "scored", "judge_failed", "scored", "scored", "scored"]
    assert outcome.reasons[2] == "internal error: LookupError: out of order"
    assert (outcome.values[2], outcome.weighed[1].scores[0].low, outcome.weighed[1].scores[0].high) == (None, 0.0, 1.0)


def test_a_metric_that_returns_nonsense_loses_no_record() -> None:
    """Whatever comes out of a flow, every record has a result and the run ends."""
    broken = Questions(trouble="nonsense", hit="r1")
    outcome = weigh(records(3), (broken, *WHOLE), ScriptedJudge(GOOD))
    assert outcome.ids == ["r1", "r2", "r3"]
    assert outcome.statuses.count("judge_failed") == 1


def test_a_judge_that_breaks_loses_no_record_and_does_not_stall_the_run() -> None:
    """A fault in a backend's code is judge_failed for all who waited for the call, also more than may be ahead."""

    def script(question: Question[Any]) -> Any:
        raise LookupError("out of order")

    judge = slow_judge(lambda text: 0.02, script)
    metric = (Questions(texts=("same",)),)
    outcome = weigh(records(12), metric, judge, settings=replace(QUICK, ahead=4))
    assert outcome.error is None
    assert outcome.ids == [f"r{n}" for n in range(1, 13)]
    assert outcome.statuses == ["judge_failed"] * 12


def test_a_record_that_breaks_does_not_take_a_shared_call_with_it() -> None:
    """Where one call of a record breaks, another of its calls, for which others wait too, is still answered."""

    def script(question: Question[Any]) -> Any:
        if about(question) == "broken":
            raise LookupError("out of order")
        return "yes"

    judge = slow_judge(lambda text: 0.1 if text == "shared" else 0.0, script)

    first = Questions(texts=("broken", "shared"))
    second = Questions(texts=("shared",))
    work = [
        Job(1, "r1", record("r1"), ((first, "s"),)),
        Job(2, "r2", record("r2"), ((second, "s"),)),
    ]
    outcome = weigh(iter(work), (), judge)
    assert outcome.ids == ["r1", "r2"]
    assert outcome.statuses == ["partial", "scored"]
    assert outcome.values == [1.0, 1.0]


def test_a_record_that_was_set_aside_has_its_line() -> None:
    """Counts add up: what could not be read is in its place, with the reason and no scores."""
    work = [Job(1, "bad", None, error="x.jsonl:1: not JSON"), *list(jobs(records(2), WHOLE))]
    outcome = weigh(iter(work), (), ScriptedJudge(GOOD))
    assert outcome.documents[0] == {"id": "bad", "position": 1, "set_aside": "x.jsonl:1: not JSON", "scores": []}
    assert len(outcome.weighed) == 3
    assert outcome.tally.records == 3


def test_nothing_to_do_is_done_at_once() -> None:
    outcome = weigh(iter(()), WHOLE, ScriptedJudge(GOOD))
    assert (outcome.weighed, outcome.error, outcome.tally.records) == ([], None, 0)


def test_backends_are_opened_and_closed_once() -> None:
    """One backend behind two steps is opened once, and closed when the run ends."""
    judge = ScriptedJudge(GOOD)
    weigh(records(2), CLAIMS, Routes(Route((judge,)), {"claims": Route((judge,)), "support": Route((judge,))}))
    assert (judge.backend.opened, judge.backend.closed) == (1, 1)


def test_a_judge_that_cannot_open_ends_the_run() -> None:
    """Alone, nothing is asked; in a panel it is left out and named. A judge that no step needs is not opened."""

    class Locked(SlowBackend):
        async def open(self) -> None:
            raise BackendError("no key", fatal=True)

    fine, locked = ScriptedJudge(GOOD), ScriptedJudge(GOOD, name="locked")
    locked.backend = Locked(locked, 1, lambda text: 0.0)
    outcome = weigh(records(2), WHOLE, only(locked))
    assert str(outcome.error) == "no key"
    assert locked.asked == []
    outcome = weigh(records(2), WHOLE, only(fine, locked))
    assert outcome.error is None
    assert any("no key" in note for note in outcome.tally.notes)
    assert (fine.backend.opened, fine.backend.closed) == (1, 1)
    idle = ScriptedJudge(GOOD, name="idle")
    outcome = weigh(
        records(2), WHOLE, Routes(Route((idle,)), {"response_support": Route((fine,))}, ("response_support",))
    )
    assert outcome.error is None
    assert idle.backend.opened == 0


def test_leaving_early_cancels_what_is_in_flight() -> None:
    """Whoever stops reading results leaves nothing running and nothing open."""
    judge = slow_judge(lambda text: 0.0 if "r1." in text else 5.0)

    async def first() -> str:
        with Store(":memory:") as store:
            before = len(asyncio.all_tasks())
            engine = Engine(only(judge), store, PriceBook(), QUICK)
            results = engine.run(jobs(records(5), WHOLE))
            weighed = await anext(results)
            await results.aclose()
            assert len(asyncio.all_tasks()) == before
            return weighed.record

    assert asyncio.run(asyncio.wait_for(first(), 3)) == "r1"
    assert judge.backend.closed == 1


def test_a_run_that_is_called_off_again_and_again_leaves_nothing_behind() -> None:
    """Connections are closed and what came is on the disk, and the caller's loop has no task of it any more."""

    class Lingering(SlowBackend):
        async def close(self) -> None:
            await asyncio.sleep(0.05)
            await super().close()

    judge = ScriptedJudge(GOOD)
    judge.backend = Lingering(judge, 8, lambda text: 5.0 if "r2." in text else 0.0)
    given = asyncio.Event()

    async def read(store: Store) -> None:
        engine = Engine(only(judge), store, PriceBook(), QUICK)
        async with contextlib.aclosing(engine.run(jobs(records(6), WHOLE))) as results:
            async for _ in results:
                given.set()

    async def call_off() -> set[asyncio.Task[Any]]:
        with Store(":memory:") as store:
            task = asyncio.create_task(read(store))
            await given.wait()
            while not task.done():
                task.cancel()
                await asyncio.sleep(0.004)
            assert task.cancelled()
            return asyncio.all_tasks() - {asyncio.current_task()}

    with limited(9):
        assert asyncio.run(call_off()) == set()
    assert judge.backend.closed == 1


def test_a_run_that_is_called_off_gives_out_what_is_done() -> None:
    """Records that are done and wait for a slow one before them are results, and the caller hears the end of it."""
    judge = slow_judge(lambda text: 2.0 if "r2." in text else 0.0)
    given: list[str] = []
    seen = given.append

    async def read() -> None:
        with Store(":memory:") as store:
            engine = Engine(only(judge), store, PriceBook(), QUICK)
            async with contextlib.aclosing(engine.run(jobs(records(6), WHOLE))) as results:
                async for weighed in results:
                    seen(weighed.record)

    with limited(9), pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(read(), 1))
    assert given == ["r1", "r3", "r4", "r5", "r6"]


def test_a_store_that_cannot_write_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that cannot be kept is not used: the run stops with the store's words."""

    def full(store: Store) -> None:
        raise StoreError("s.db: cannot write (disk full)")

    monkeypatch.setattr(Store, "commit", full)
    outcome = weigh(records(3), WHOLE, ScriptedJudge(GOOD))
    assert str(outcome.error) == "s.db: cannot write (disk full)"
    assert outcome.ids == []


def test_what_was_done_comes_out_before_the_error() -> None:
    """A run that ends early gives out every record that was finished, then raises."""

    def script(question: Question[Any]) -> Any:
        if "r3." in about(question):
            raise BackendError("HTTP 401: no", fatal=True)
        return "2"

    judge = slow_judge(lambda text: 0.2 if "r3." in text else 0.0, script)
    outcome = weigh(records(5), WHOLE, judge)
    assert str(outcome.error) == "HTTP 401: no"
    assert outcome.ids == ["r1", "r2", "r4", "r5"]


def test_an_error_of_the_source_ends_the_run() -> None:
    """What reading the records raises is not swallowed, and what was done until then is not lost."""
    judge = slow_judge(lambda text: 1.0 if "r1." in text else 0.0)

    def broken() -> Iterator[Job]:
        for job in jobs(records(99), WHOLE):
            if job.position > 40:
                raise RecordError("x.jsonl:41", "not JSON")
            yield job

    outcome = weigh(broken(), WHOLE, judge)
    assert isinstance(outcome.error, RecordError)
    assert len(outcome.ids) > 10
    assert "r1" not in outcome.ids


def test_a_panel_asks_each_of_its_judges() -> None:
    """Every member is asked the same question; the aggregate is the route's."""
    high, low = ScriptedJudge({"response_support": "2"}, name="a"), ScriptedJudge({"response_support": "0"}, name="b")
    ways = (("min", 0.0), ("max", 1.0), ("median", 0.5), ("majority", 0.0))
    for how, weights, value in (("mean", None, 0.5), ("mean", {"a": 3.0}, 0.75), *((how, None, v) for how, v in ways)):
        outcome = weigh(records(1), WHOLE, Routes(Route((high, low), how, weights), {}))  # type: ignore[arg-type]
        assert outcome.values == [value]
        assert [entry["judge"] for entry in outcome.documents[0]["scores"][0]["detail"]["panel"]] == ["a", "b"]


def test_a_question_about_nothing_costs_nothing() -> None:
    """A rating of no units is answered without a call by a judge that asks in batches."""

    class Nothing(Questions):
        def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
            (rated,) = yield from ask(Rate("support", (), YES_NO, passages=(Passage("p", "x", 1),)))
            return (self.mean_score(record, rated.verdicts),)

    with FakeServer() as server:
        outcome = weigh(records(1), (Nothing(),), prompted(server))
        assert server.count == 0
    assert outcome.statuses == ["empty"]

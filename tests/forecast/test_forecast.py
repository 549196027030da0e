"""Estimates: the same calls as the run, real answers where the store has them, assumed ones where it has none."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import ragstone
from ragstone.config import ENGINE
from ragstone.engine.route import Route, Routes
from ragstone.engine.run import Job
from ragstone.forecast.assumed import WRITTEN
from ragstone.forecast.dry_run import Forecaster
from ragstone.forecast.figures import Range
from ragstone.forecast.history import LEAST, History, _line, _share
from ragstone.forecast.summary import Estimate
from ragstone.judges.base import Call, Reply, Usage, reply_to_json
from ragstone.judges.catalogue import build
from ragstone.judges.spec import parse
from ragstone.metrics import catalogue, find
from ragstone.prices import PriceBook
from ragstone.store.database import CallRow, Store
from ragstone.testing import FakeServer, ScriptedJudge
from ragstone.types import Record
from realistic import realistic

TEXT = (
    "The reservoir was finished in 1962 and holds eleven million cubic metres of water. Two turbines below the dam "
    "feed the town, and a third one is kept for dry years. Fishing is allowed from May to September with a licence."
)


def traces(count: int, *, first: int = 0) -> list[dict[str, Any]]:
    """Records of different lengths; their texts differ in a number."""
    return [
        {
            "id": f"r{number}",
            "question": f"What is reservoir {number} used for?",
            "contexts": [f"Site {number}.{place}. {TEXT} {TEXT}" for place in range(1 + number % 4)],
            "response": " ".join(f"At site {number}: {TEXT}" for _ in range(1 + number % 3)),
        }
        for number in range(first, first + count)
    ]


class House:
    """A judge with a price behind an endpoint, with a configuration and a store of its own."""

    def __init__(self, server: FakeServer, folder: Path, discount: str = "") -> None:
        self.server, self.store = server, folder / "store.db"
        self._options: dict[str, Any] = {"judge": "house", "config": folder / "ragstone.toml", "store": self.store}
        price = f"price = {{ input = 0.15, output = 0.6{discount} }}"
        table = f'[judges.house]\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = ""\n{price}\n'
        (folder / "ragstone.toml").write_text(table, encoding="utf-8")

    def estimate(self, rows: Any, metrics: Any, **more: Any) -> Estimate:
        return ragstone.estimate(rows, metrics, **self._options, **more)

    def evaluate(self, rows: Any, metrics: Any, **more: Any) -> ragstone.Run:
        return ragstone.evaluate(rows, metrics, **self._options, **more)

    def bill(self, rows: Any, metrics: Any, **more: Any) -> dict[str, Any]:
        """What a run is billed for."""
        bill: dict[str, Any] = self.evaluate(rows, metrics, **more).summary()["bill"]
        return bill


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with FakeServer(answer=realistic) as server:
        yield House(server, tmp_path)


# ---- exactness


@pytest.mark.parametrize(
    "names", [["groundedness"], ["context_relevance", "answer_relevance"], ["response_groundedness"], ["trace"]]
)
def test_calls_are_exact_where_nothing_depends_on_answers(names: list[str], house: House) -> None:
    """As many as the endpoint is then sent."""
    told = house.estimate(traces(12), names)
    assert not house.store.exists()
    assert house.server.count == 0
    bill = house.bill(traces(12), names)
    assert told.exact
    assert told.total.calls.expected == bill["sent"] == house.server.count


def test_calls_that_depend_on_labels_are_no_exact_number(house: House) -> None:
    """An answer is asked about further and an abstention is not: labels are assumed in turn, and the bill is near."""
    told = house.estimate(traces(12), ["abstention"])
    sent = house.bill(traces(12), ["abstention"])["sent"]
    assert not told.exact
    assert 0.75 * sent <= told.total.calls.expected <= 1.25 * sent


@pytest.mark.parametrize("more", [{"repeat": 3}, {"refresh": True}])
def test_calls_made_before_may_cost_what_cached_input_costs(more: dict[str, Any], house: House, tmp_path: Path) -> None:
    """The low end allows for it, in repeats and in a second run; the expected cost does not count on it."""
    house = House(house.server, tmp_path, ", cached = 0.015")
    house.server.configure(prefix_cache=64)
    if "refresh" in more:
        house.evaluate(traces(12), ["response_groundedness"])
    summary = house.evaluate(traces(12), ["response_groundedness"], **more).summary()
    dollars, paid = summary["estimate"]["dollars"], summary["bill"]["paid"]
    fresh = (0.15 * paid["input_tokens"] + 0.6 * paid["output_tokens"]) / 1e6
    assert dollars["low"] < paid["dollars"] < 0.75 * fresh
    assert fresh < dollars["high"]


def test_what_is_in_the_store_is_free_and_its_answers_are_used(house: House) -> None:
    """After the run nothing is left to do, halfway through the other half is; claims are the real ones."""
    house.bill(traces(6), ["grounding"])
    sent = house.server.count
    again = house.estimate(traces(6), ["grounding"])
    assert (again.total.calls, again.total.stored) == (Range(0.0, 0.0, 0.0), sent)
    assert again.exact
    half = house.estimate(traces(12), ["grounding"])
    assert half.total.stored == sent
    assert half.total.calls.expected >= 12
    shared = house.estimate(traces(6), ["claim_relevance"])
    bill = house.bill(traces(6), ["claim_relevance"])
    assert shared.exact
    assert shared.total.calls.expected == bill["sent"]
    assert shared.of(step="claims").calls.expected == 0


def test_a_call_that_two_metrics_or_records_share_is_counted_once(house: House) -> None:
    """As the engine sends it once."""
    twice = [*traces(3), *({**row, "id": f"again-{row['id']}"} for row in traces(3))]
    told = house.estimate(twice, ["grounding", "claim_relevance", "groundedness"])
    claims = told.of(metric="grounding", step="claims").calls.expected
    assert claims == told.of(step="claims").calls.expected
    assert claims == house.estimate(traces(3), ["grounding"]).of(step="claims").calls.expected


def test_without_a_cache_equal_calls_are_shared_only_while_they_are_under_way(house: House) -> None:
    """Of forty equal records those that are weighed side by side make one call."""
    house.server.configure(latency=0.02)
    equal = [{**row, "id": f"r{number}"} for number, row in enumerate(traces(1) * 40)]
    told = house.estimate(equal, ["answer_relevance"], no_cache=True, concurrency=1)
    bill = house.bill(equal, ["answer_relevance"], no_cache=True, concurrency=1)
    assert told.total.calls.expected == 4
    assert 3 <= bill["sent"] <= 5


def test_judges_on_this_machine_cost_nothing(tmp_path: Path) -> None:
    """And are not among the calls."""
    told = ragstone.estimate(traces(3), ["grounding"], store=tmp_path / "s.db")
    assert told.total.calls.high == 0
    assert told.total.dollars == Range(0.0, 0.0, 0.0)
    assert told.prices == ()


def test_a_local_model_is_called_and_costs_nothing(tmp_path: Path) -> None:
    told = ragstone.estimate(traces(3), ["groundedness"], "ollama:qwen3", store=tmp_path / "s.db")
    assert told.total.calls.expected == 3
    assert told.total.dollars == Range(0.0, 0.0, 0.0)


def test_a_model_that_reasons_may_cost_more(tmp_path: Path) -> None:
    """Nobody knows by how much before its first replies: the high end has room for it, and the basis says so."""
    plain, thinking = (
        ragstone.estimate(traces(3), ["groundedness"], f"openai:{model}", store=tmp_path / "s.db")
        for model in ("gpt-5-chat", "gpt-5")
    )
    more = thinking.total.output_tokens.high - plain.total.output_tokens.high
    assert (round(more, -2), thinking.total.output_tokens.expected) == (3100, plain.total.output_tokens.expected)
    assert ["of which up to 1,024 reasoning" in "".join(one.assumed.values()) for one in (plain, thinking)] == [
        False,
        True,
    ]


def test_an_unknown_price_is_unknown(tmp_path: Path) -> None:
    """Never 0; the calls and tokens are told all the same."""
    told = ragstone.estimate(traces(3), ["groundedness"], "openai:unheard-of", store=tmp_path / "s.db")
    assert told.total.dollars is None
    assert told.as_json()["dollars"] is None
    assert told.total.input_tokens.expected > 500
    assert told.prices[0].price is None


@pytest.mark.parametrize(
    ("names", "calls"),
    [
        *(([name], metric.calls) for name, metric in catalogue().items() if metric.asks),
        (["refmatch"], 0),
        (["answer_correctness", "context_recall", "grounding"], 6),  # claims of both texts, and all that rates them
    ],
)
def test_a_record_takes_the_calls_that_the_docs_say(names: list[str], calls: int, house: House) -> None:
    """As many as are estimated and then sent to an endpoint that finds no further nugget and says that all answer."""

    def settled(request: Mapping[str, Any]) -> Any:
        found = realistic(request)
        if "abstains" in str(request["response_format"]):
            return {"verdicts": {"1": {"label": "answers"}}}
        return {name: [] for name in found} if "nuggets already listed" in str(request["messages"]) else found

    facts = {"nuggets": ["It was finished in 1962.", "It has two turbines."]}
    rows = [
        {
            "question": f"What is reservoir {number} used for?",
            "contexts": [f"Site {number}.{place}. {TEXT}" for place in range(5)],
            "response": f"At site {number} {TEXT} [1] It is full. [2]",
            "reference": f"Of site {number}: {TEXT}",
            **(facts if names[0] in ("nugget_recall", "nugget_support") else {}),
        }
        for number in range(3)
    ]
    criteria = {"rubric": {"criteria": {"x": {"criterion": "So?"}}}}
    house.server.configure(answer=settled)
    told = house.estimate(rows, names, parameters=criteria)
    sent = house.bill(rows, names, parameters=criteria)["sent"]
    assert told.total.calls.expected == sent == house.server.count == 3 * calls


def test_every_metric_can_be_estimated(tmp_path: Path) -> None:
    """No flow is upset by assumed answers, and none goes on for ever."""
    plain = [{**row, "reference": "It was finished in 1962."} for row in traces(3)]
    rows = [{**row, "nuggets": [{"text": "It was finished in 1962.", "importance": "vital"}]} for row in plain]
    criteria = {"rubric": {"criteria": {"x": {"criterion": "So?", "steps": "write"}}}}
    for name in (name for name, metric in catalogue().items() if metric.asks):
        for given in (rows, *([] if "nuggets" in find(name).needs else [plain])):
            told = ragstone.estimate(given, [name], "openai:gpt-4o-mini", parameters=criteria, store=tmp_path / "s.db")
            assert 3 <= told.total.calls.low <= told.total.calls.expected <= told.total.calls.high < 200
            assert told.total.dollars is not None
            assert 0 < told.total.dollars.low < told.total.dollars.expected < told.total.dollars.high


def test_a_panel_asks_each_of_its_members(tmp_path: Path) -> None:
    judge = "[openai:gpt-4o-mini,openai:gpt-4o]"
    told = ragstone.estimate(traces(4), ["groundedness"], judge, store=tmp_path / "s.db")
    for member in ("openai/gpt-4o-mini", "openai/gpt-4o"):
        assert told.of(judge=member).calls.expected == 4
    assert told.exact


# ---- how far off


@pytest.mark.parametrize(
    "names", [["grounding"], ["nugget_groundedness"], ["context_relevance", "groundedness"], ["nugget_recall"]]
)
def test_the_interval_holds_the_bill(names: list[str], house: House) -> None:
    """With an empty store, and after other records, when it is narrower; expected within a fifth."""
    cold = house.estimate(traces(16), names)
    house.bill(traces(16, first=100), names, estimate=False)
    warm = house.estimate(traces(16), names)
    paid = house.bill(traces(16), names)["paid"]["dollars"]
    for told in (cold, warm):
        money = told.total.dollars
        assert money is not None
        assert money.low <= paid <= money.high
        assert money.expected == pytest.approx(paid, rel=0.2)
    assert width(warm) < width(cold)
    assert "estimated from" in warm.counted["house/m@" + house.server.url]
    assert any("learned from" in how for how in warm.assumed.values())
    assert not any("learned from" in how for how in cold.assumed.values())


def width(told: Estimate) -> float:
    money = told.total.dollars
    assert money is not None
    return (money.high - money.low) / money.expected


@pytest.mark.parametrize(
    "name", ["traces/ragbench_validation.jsonl", "traces/mtrag_un.jsonl", "nuggets/realsumm.jsonl"]
)
def test_the_estimate_of_real_traces_is_within_a_fifth_of_the_bill(
    name: str, house: House, outside_data: Callable[[str], Path]
) -> None:
    """So are the calls, of which grounding takes about two a record. benchmarks/estimate.py has more of them."""
    with outside_data(name).open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in itertools.islice(file, 0, 450, 15)]
    told = house.estimate(rows, ["grounding", "groundedness"])
    bill = house.bill(rows, ["grounding", "groundedness"])
    assert told.of(metric="grounding").calls.expected <= 2.2 * len(rows)
    assert told.total.calls.low <= bill["sent"] <= told.total.calls.high
    paid = bill["paid"]["dollars"]
    assert told.total.dollars is not None
    assert told.total.dollars.expected == pytest.approx(paid, rel=0.2)
    assert told.total.dollars.low <= paid <= told.total.dollars.high


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (12, "records with a response and contexts: 12; rounds of 40 need 41, better 80, .* or --records 11"),
        (0, "the input is empty"),
    ],
)
def test_the_benchmark_of_estimates_says_what_it_needs(count: int, told: str, tmp_path: Path) -> None:
    """Of a file that is too small: one line, before anything is run."""
    path = tmp_path / "few.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in traces(count)), encoding="utf-8")
    script = Path(__file__).parents[2] / "benchmarks" / "estimate.py"
    done = subprocess.run([sys.executable, str(script), str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(f"error: .*few.jsonl: .*{told}.*\n", done.stderr)


def test_a_run_is_held_against_its_estimate(house: House, tmp_path: Path) -> None:
    """In the summary and in run.json, with the error as a share of the bill; not where nobody wants it."""
    run = house.evaluate(traces(5), ["groundedness"], out=tmp_path / "out")
    held = run.summary()["estimate"]
    bill = run.summary()["bill"]
    assert held["error"]["calls"] == 0
    assert held["error"]["dollars"] == pytest.approx(
        held["dollars"]["expected"] / bill["paid"]["dollars"] - 1, abs=1e-3
    )
    assert held["held"] is True
    assert json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["estimate"] == held
    unwanted = house.evaluate(traces(5, first=9), ["groundedness"], estimate=False)
    assert "estimate" not in unwanted.summary()
    free = ragstone.evaluate(traces(2), ["groundedness"], store=tmp_path / "free.db")
    assert "estimate" not in free.summary()


def test_a_run_that_stopped_is_not_held_against_anything(house: House) -> None:
    with pytest.raises(ragstone.BudgetReached) as reached:
        house.evaluate(traces(9), ["groundedness"], max_calls=4)
    run = ragstone.open_run(reached.value.run, house.store)
    assert set(run.summary()["estimate"]["error"].values()) == {None}
    assert (run.summary()["status"], len(run)) == ("stopped", 4)


def test_whether_a_budget_is_enough_is_told(house: House) -> None:
    """Yes, no, or perhaps."""

    def fits(**limits: Any) -> bool | None:
        return house.estimate(traces(5), ["grounding"], **limits).fits()

    assert fits(max_cost=100.0, max_calls=1000) is True
    assert fits(max_cost=0.000001) is False
    assert fits(max_calls=4) is False
    assert fits(max_tokens=10) is False
    money = house.estimate(traces(5), ["grounding"]).total.dollars
    assert money is not None
    assert fits(max_cost=money.expected) is None
    longest = 4096 * 0.6 / 1e6  # a reply's, in dollars
    assert fits(max_cost=money.high + 0.9 * longest) is None
    assert fits(max_cost=money.high + 1.5 * longest) is True


# ---- what is learned


def keep(store: Store, judge: str, task: str, rows: list[tuple[str, Usage, int]]) -> None:
    calls = []
    for text, usage, units in rows:
        body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
        key = Call(judge, "support", "p#1", body).key
        calls.append(CallRow(key, judge, task, "p#1", body, reply_to_json(Reply("x", usage=usage), units)))
    store.begin()
    store.insert(calls, [])
    store.commit()


def test_the_length_of_replies_is_learned_by_unit() -> None:
    """A reply about ten units is longer than one about two."""
    with Store(":memory:") as store:
        rows = [(f"text {n}", Usage(50, 20 + 30 * (n % 9 + 1), 10), n % 9 + 1) for n in range(40)]
        judge = build(parse("openai:gpt-4o-mini"))
        keep(store, judge.id, "support", rows)
        habits = History(store).habits(judge, "support")
        assert habits.reply is not None
        assert habits.reply.at(5) == pytest.approx(170)
        assert habits.cached == pytest.approx(0.2)
        assert (habits.asked, habits.repaired) == (40, 0)
        assert habits.ratio is not None


def test_models_of_one_family_count_alike() -> None:
    """Until a judge has calls of its own, and with wider ends."""
    with Store(":memory:") as store:
        keep(store, "openai/gpt-4o", "support", [(f"word {n}", Usage(9, 9), 1) for n in range(2 * LEAST)])
        judge = build(parse("openai:gpt-4o-mini"))
        habits = History(store).habits(judge, "support")
        assert habits.kin == "openai/gpt-4o"
        assert habits.reply is None
        assert History(store).habits(build(parse("mistral:large")), "support").ratio is None


def test_few_calls_teach_nothing() -> None:
    with Store(":memory:") as store:
        judge = build(parse("openai:gpt-4o-mini"))
        keep(store, judge.id, "support", [(f"word {n}", Usage(9, 9), 1) for n in range(LEAST - 1)])
        habits = History(store).habits(judge, "support")
        assert (habits.ratio, habits.reply) == (None, None)
        assert History(store).written(judge, "claims", "claim") is None
        assert History(store).speed(judge) is None


def test_a_line_needs_points_that_differ() -> None:
    """Else replies are of one length, or grow with what they are about."""
    assert _line([(10.0, 100.0)] * 40, flat=True).at(20) == pytest.approx(100)
    assert _line([(10.0, 100.0)] * 40, flat=False).at(20) == pytest.approx(200)
    steep = _line([(float(n), 7 + 3 * float(n)) for n in range(1, 40)], flat=False)
    assert steep.base == pytest.approx(7)
    assert steep.slope == pytest.approx(3)
    assert steep.scatter == pytest.approx(0, abs=1e-9)


def test_a_share_holds_its_value() -> None:
    found = _share([(2.0, 3.0), (4.0, 5.0), (1.0, 2.0)])
    assert found.expected == pytest.approx(10 / 7)
    assert found.low < found.expected < found.high


def test_more_written_is_more_expected(tmp_path: Path) -> None:
    """Low, expected and high worlds are in order, for whatever is assumed."""
    for rate, _ in WRITTEN.values():
        assert 0 < rate.low < rate.expected < rate.high
    few = {"grounding": {"batch": 4}}
    told = ragstone.estimate(traces(30), ["grounding"], "openai:gpt-4o-mini", store=tmp_path / "s.db", parameters=few)
    row = next(row for row in told.rows if row.step == "support")
    assert row.calls.worlds == sorted(row.calls.worlds)
    assert row.calls.worlds[0] < row.calls.worlds[2]
    assert row.input.worlds == sorted(row.input.worlds)


@pytest.mark.parametrize("metric", ["grounding", "nugget_groundedness"])
def test_a_short_response_has_a_claim_and_a_nugget(metric: str, tmp_path: Path) -> None:
    """A few may have none, which the low end has room for."""
    rows = [{**row, "response": "It is a dam."} for row in traces(2)]
    told = ragstone.estimate(rows, [metric], "openai:gpt-4o-mini", store=tmp_path / "s.db")
    calls = {row.step: row.calls.worlds for row in told.rows}
    assert calls["support"][1:] == [2, 2]


def test_claims_that_a_limit_left_out_count_as_written(tmp_path: Path) -> None:
    """How many of them are judged says nothing of how many a judge writes, which is what is learned."""
    rates = []
    for most in (0, 1):
        judge = ScriptedJudge({"claims": ["One.", "Two.", "Three."], "support": "yes"})
        rows = [
            {"id": f"r{n}", "response": f"It is number {n}.", "contexts": ["It is."], "grounding": {"max_claims": most}}
            for n in range(6)
        ]
        run = ragstone.evaluate(rows, "grounding", judge, store=tmp_path / f"{most}.db")
        written = History(run.store).written(judge, "claims", "claim")
        assert written is not None
        rates.append(written[0].expected)
    assert rates[0] == rates[1] > 0


def test_a_judge_that_is_an_object_is_followed_too() -> None:
    """A script's calls are made in this process and are free; a record that cannot be read is counted."""
    judge = ScriptedJudge({"relevance": "3"})

    with Store(":memory:") as store:
        forecaster = Forecaster(Routes(Route((judge,)), {}), store, PriceBook(), ENGINE)
        forecaster.add(Job(1, "a", Record("a", question="q", response="r"), ((find("answer_relevance")(), "s"),)))
        forecaster.add(Job(2, "b", None, error="bad"))
        told = forecaster.estimate()
    assert (told.records, told.set_aside, told.total.calls.expected) == (2, 1, 0)
    assert [row.calls.worlds for row in told.rows] == [[1, 1, 1]]
    assert judge.asked == []


def test_a_call_takes_little_memory() -> None:
    """Of the calls and their shared beginnings, only hashes are kept: of each 12 to 18 bytes."""
    metrics = ((find("answer_relevance")(), "s"),)
    own = [tracemalloc.Filter(inclusive=True, filename_pattern=f"*/{name}.py") for name in ("dry_run", "ids")]
    with Store(":memory:") as store:
        forecaster = Forecaster(Routes(Route((build(parse("openai:gpt-4o-mini")),)), {}), store, PriceBook(), ENGINE)
        for number in range(600):
            forecaster.add(Job(number, "a", Record("a", question=f"Why {number}?", response="So."), metrics))
            if not number:
                tracemalloc.start()  # what the first call loads takes long to trace
        held = tracemalloc.take_snapshot().filter_traces(own).statistics("filename")
        tracemalloc.stop()
        assert forecaster.estimate().total.calls.expected == 600
    assert sum(one.size for one in held) / 600 < 60


def test_asking_several_times_is_estimated_as_often_and_a_refresh_takes_nothing_from_the_store(
    house: House,
) -> None:
    """Each time is a call of its own; what is stored counts for the first time only."""

    def calls(**more: Any) -> float:
        return house.estimate(traces(3), "groundedness", **more).total.calls.expected

    once = calls()
    assert calls(repeat=3) == 3 * once > 0
    house.evaluate(traces(3), "groundedness").store.close()
    assert calls() == 0
    assert calls(repeat=3) == 2 * once
    assert calls(no_cache=True) == once

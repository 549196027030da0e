"""Runs in which one judge answers where it is sure and the next is asked about the rest: who, what, what it saves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

import ragstone
from ragstone.engine.route import Route, Routes, signature_of
from ragstone.errors import BackendError, ConfigError, RagstoneError
from ragstone.judges.base import Failed
from ragstone.judges.cascade import SureBand
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.metrics import find
from ragstone.output.export import export_to
from ragstone.questions import YES_NO, Question, Rate, Rated, Task
from ragstone.testing import FakeServer, ScriptedJudge
from ragstone.types import Verdict
from realistic import realistic

FACTS = (
    "The reservoir was finished in 1962 and holds eleven million cubic metres of water.",
    "Two turbines below the dam feed the town of Ashby.",
    "Fishing is allowed from May to September with a licence.",
)
CHANCES = {"Surely": 0.97, "Never": 0.02, "Perhaps": 0.5}


class Knowing(ScriptedJudge):
    """A scripted judge that is sure of what begins with Surely or Never, and of nothing that begins otherwise."""

    def __init__(self, name: str = "knowing", band: SureBand = SureBand(0.1, 0.9), **more: Any) -> None:  # noqa: B008 - frozen
        super().__init__(self.said, name=name, **more)
        self.sure = band

    def band(self, task: Task, error: float) -> SureBand | None:
        return self.sure if task == "support" else None

    def said(self, question: Question[Any]) -> Rated:
        assert isinstance(question, Rate)
        found = []
        for unit in question.units:
            chance = CHANCES.get(unit.text.split()[0])
            label = question.scale.labels[-1 if (chance or 0.0) >= 0.5 else 0]
            value = question.scale.value(label)
            found.append(Verdict(unit, label, value, self.id, probability=chance, reason=f"so says {self.name}"))
        return Rated(tuple(found))


def record(name: str, *words: str) -> dict[str, Any]:
    """One with a sentence for each word."""
    response = " ".join(f"{word} item {name}{n} is kept in the store." for n, word in enumerate(words))
    return {"id": name, "question": f"What of {name}?", "contexts": [*FACTS], "response": response}


RECORDS = [
    record("a", "Surely", "Never", "Surely"),
    record("b", "Surely", "Perhaps", "Never", "Other"),
    record("c", "Perhaps", "Perhaps"),
]


@pytest.fixture
def house(tmp_path: Path) -> dict[str, Any]:
    return {"config": tmp_path / "ragstone.toml", "store": tmp_path / "store.db", "out": tmp_path / "out"}


def at(url: str, house: dict[str, Any], more: str = "") -> None:
    price = "price = { input = 0.15, output = 0.6 }"
    table = f'{more}[judges.house]\nmodel = "m"\nbase_url = "{url}"\napi_key_env = ""\n{price}\n'
    Path(house["config"]).write_text(table, encoding="utf-8")


def weigh(
    house: dict[str, Any],
    judges: Sequence[Any] = (),
    *,
    records: Sequence[dict[str, Any]] = RECORDS,
    metrics: Sequence[str] = ("groundedness",),
    **more: Any,
) -> tuple[Any, list[Any]]:
    """The summary and the results of a run by ``Knowing`` and then the house's model."""
    judges = judges or [Knowing(), "knowing>house"]
    run = ragstone.evaluate([dict(row) for row in records], list(metrics), list(judges), **{**house, **more})
    found = run.summary(), list(run.results())
    run.store.close()
    return found


def asked(server: FakeServer) -> list[str]:
    """The text of each request."""
    return [json.dumps(body["messages"]) for body in server.requests]


def test_only_the_units_that_remain_are_sent_in_one_call_a_question(house: dict[str, Any]) -> None:
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        summary, results = weigh(house)
        texts = sorted(asked(server), key=len)
    assert len(texts) == 2
    everything = " ".join(texts)
    for unit in ("b1", "b3", "c0", "c1"):
        assert everything.count(f" item {unit} ") == 1, unit
    for unit in ("a0", "a1", "a2", "b0", "b2"):
        assert f" item {unit} " not in everything, unit
    by = [[verdict["judge"] for verdict in result["scores"][0]["verdicts"]] for result in results]
    model = f"house/m@{server.url}"
    assert by == [["knowing"] * 3, ["knowing", model, "knowing", model], [model] * 2]
    assert results[0]["scores"][0]["verdicts"][0]["reason"] == "so says knowing"
    assert results[0]["scores"][0]["verdicts"][0]["probability"] == 0.97
    told = results[1]["cascade"]["support"]
    assert (told["answered"], told["unjudged"], told["error"]) == ({"knowing": 2, model: 2}, 0, 0.05)
    assert [[sent["units"] for sent in told[which]] for which in ("asked", "alone")] == [[2], [4]]
    assert summary["cascade"]["support"]["answered"] == {"knowing": 5, model: 4}
    assert summary["cascade"]["support"]["calls"] == {"made": 2, "alone": 3, "saved": 1}


def test_what_it_saved_is_what_the_last_judge_would_have_been_paid(house: dict[str, Any], tmp_path: Path) -> None:
    """Held against a run in which it is asked everything: calls to the unit, money within a fifth."""
    records = [record(f"r{n}", *("Surely", "Perhaps", "Never", "Perhaps", "Surely")[: 2 + n % 4]) for n in range(40)]
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        told = weigh(house, records=records)[0]["cascade"]["support"]
        paid = weigh({**house, "store": tmp_path / "other.db"}, ["house"], records=records)[0]["bill"]["paid"]
    assert told["calls"]["alone"] == paid["calls"] == 40
    assert told["dollars"]["alone"] == pytest.approx(paid["dollars"], rel=0.2)
    assert told["dollars"]["saved"] == pytest.approx(told["dollars"]["alone"] - told["dollars"]["made"])
    assert 0 < told["dollars"]["made"] < told["dollars"]["alone"]
    assert told["by"] == "calls"


def test_calls_without_an_answer_are_neither_made_nor_saved(house: dict[str, Any], tmp_path: Path) -> None:
    """What was saved does not hang on how many of the calls were answered."""
    records = [
        {"id": f"r{n}", "question": "What?", "contexts": list(FACTS), "response": f"{FACTS[n % 3]} It has {n} floors."}
        for n in range(12)
    ] + [{"id": "sure", "question": "What?", "contexts": list(FACTS), "response": FACTS[0]}]
    judges = ["embedded>house"]
    more: dict[str, Any] = {"records": records, "cascade_error": 0.05}
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        weigh(house, judges, **{**more, "records": records[:5]})
        told = weigh(house, judges, **more, offline=True)[0]["cascade"]["support"]
        none = weigh({**house, "store": tmp_path / "none.db"}, judges, **more, offline=True)[0]["cascade"]["support"]
        whole = weigh(house, judges, **more)[0]["cascade"]["support"]
        paid = weigh({**house, "store": tmp_path / "other.db"}, ["house"], records=records)[0]["bill"]["paid"]
    assert whole["calls"] == {"made": 12, "alone": paid["calls"], "saved": 1}
    assert told["calls"] == {**whole["calls"], "made": 5}
    assert told["dollars"]["alone"] == pytest.approx(paid["dollars"], rel=0.25)
    assert told["dollars"]["saved"] == pytest.approx(whole["dollars"]["saved"], rel=0.25)
    assert told["dollars"]["made"] < whole["dollars"]["made"] / 2
    assert none["calls"] == {**whole["calls"], "made": 0}
    assert none["dollars"] == {"made": 0.0, "alone": None, "saved": None}


def test_equal_calls_of_several_records_are_one(house: dict[str, Any], tmp_path: Path) -> None:
    """As they are to a run in which the last judge is asked everything, and to the estimate."""
    words = (("Surely", "Perhaps", "Never"), ("Surely", "Never"), ("Perhaps", "Other"))
    once = [record(f"r{n}", *said) for n, said in enumerate(words)]
    records = [{**row, "id": f"{row['id']}-{n}"} for n in range(4) for row in once]
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        told = weigh(house, records=records)[0]
        paid = weigh({**house, "store": tmp_path / "other.db"}, ["house"], records=records)[0]["bill"]["paid"]
        alone = weigh({**house, "store": tmp_path / "once.db"}, records=once)[0]["cascade"]["support"]
    found = told["cascade"]["support"]
    assert found["calls"] == alone["calls"] == {"made": 2, "alone": paid["calls"], "saved": 1}
    assert found["dollars"] == alone["dollars"]
    assert found["dollars"]["made"] == pytest.approx(told["bill"]["paid"]["dollars"])
    assert found["dollars"]["alone"] == pytest.approx(paid["dollars"], rel=0.15)


def test_where_nothing_was_asked_the_estimate_says_what_was_saved(house: dict[str, Any]) -> None:
    """Without an estimate nobody can say."""
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        known, _ = weigh(house, records=RECORDS[:1])
        unknown, _ = weigh(house, records=RECORDS[:1], estimate=False)
        assert server.count == 0
    assert known["cascade"]["support"]["by"] == "estimate"
    assert known["cascade"]["support"]["dollars"]["saved"] > 0
    assert unknown["cascade"]["support"]["dollars"] == {"made": 0.0, "alone": None, "saved": None}
    assert unknown["cascade"]["support"]["by"] is None
    assert unknown["cascade"]["support"]["calls"] == {"made": 0, "alone": 1, "saved": 1}


def test_an_unknown_price_stays_unknown(house: dict[str, Any]) -> None:
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        text = Path(house["config"]).read_text(encoding="utf-8").replace("price", "#price")
        Path(house["config"]).write_text(text, encoding="utf-8")
        told = weigh(house)[0]["cascade"]["support"]
    assert told["dollars"] == {"made": None, "alone": None, "saved": None}


def test_the_same_command_again_asks_nobody_and_ends_the_same(house: dict[str, Any]) -> None:
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        before, _ = weigh(house)
        lines = (house["out"] / "results.jsonl").read_bytes()
        sent = server.count
        after, _ = weigh(house)
        assert server.count == sent
    assert (house["out"] / "results.jsonl").read_bytes() == lines
    assert after["bill"]["sent"] == 0
    assert after["cascade"] == before["cascade"]


def test_where_the_last_judge_cannot_be_read_its_units_are_unjudged(house: dict[str, Any]) -> None:
    """And the first one's guess is not taken for it."""
    with FakeServer(answer=lambda _: "I would rather not say.") as server:
        at(server.url, house)
        summary, results = weigh(house)
    verdicts = results[1]["scores"][0]["verdicts"]
    assert [verdict["label"] is None for verdict in verdicts] == [False, True, False, True]
    assert verdicts[1]["judge"] == f"house/m@{server.url}"
    assert verdicts[1]["failure"]
    assert results[1]["scores"][0]["status"] == "partial"
    told = summary["cascade"]["support"]
    assert (told["answered"]["knowing"], told["unjudged"], told["units"]) == (5, 4, 9)


def test_where_the_last_judge_is_down_the_run_stops_and_goes_on_later(house: dict[str, Any]) -> None:
    """As with one judge: what it should answer is not left to the first, and what was done is kept."""
    trouble = [BackendError("last: wrong key", judge="last", fatal=True)]

    def said(question: Question[Any]) -> Any:
        if trouble and isinstance(question, Rate) and "b1" in question.units[0].text:
            raise trouble[0]
        return question.scale.labels[0] if isinstance(question, Rate) else ()

    judges = [Knowing(), ScriptedJudge(said, name="last"), "knowing>last"]
    at("http://127.0.0.1:9/v1", house)
    with pytest.raises(BackendError, match="wrong key"):
        weigh(house, judges)
    trouble.clear()
    summary, results = weigh(house, judges)
    assert summary["cascade"]["support"]["answered"] == {"knowing": 5, "last": 4}
    assert len(results) == len(RECORDS)


def stopped(house: dict[str, Any], judges: Sequence[Any], names: str, **more: Any) -> list[str]:
    """The ids of the results that a run keeps which ends early; its records are named by letters."""
    records = [{**row, "id": name} for name in names for row in RECORDS if row["id"] == name.lower()]
    with pytest.raises(RagstoneError):
        weigh(house, judges, records=records, **more)
    found = ragstone.open_run("last", house["store"])
    kept = [result["id"] for result in found.results()]
    found.store.close()
    return kept


def test_a_run_that_stops_keeps_no_record_only_since_the_first_judge_was_sure_of_it(house: dict[str, Any]) -> None:
    """What is behind the first that is not done would be the easy ones."""

    def said(_: Question[Any]) -> Any:
        raise BackendError("last: wrong key", judge="last", fatal=True)

    judges = [Knowing(), ScriptedJudge(said, name="last"), "knowing>last"]
    at("http://127.0.0.1:9/v1", house)
    assert stopped(house, judges, "abA") == ["a"]


def test_a_budget_in_a_cascade_keeps_the_records_before_it(house: dict[str, Any]) -> None:
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        assert stopped(house, [Knowing(), "knowing>house"], "acbA", max_calls=1, concurrency=1) == ["a", "c"]


def test_offline_what_the_store_lacks_is_unjudged(house: dict[str, Any]) -> None:
    """Of the embedded judge nothing can be lacking."""
    at("http://127.0.0.1:9/v1", house)
    summary, results = weigh(house, ["embedded>house"], offline=True, cascade_error=0.05)
    told = summary["cascade"]["support"]
    assert told["unjudged"] == told["units"] - told["answered"]["embedded"] > 0
    failures = {v["failure"] for r in results for v in r["scores"][0]["verdicts"] if v["label"] is None}
    assert failures == {"offline; the store has no reply from judge 'house'"}


def test_results_that_are_taken_over_are_counted_with_the_others(house: dict[str, Any]) -> None:
    """A record whose units stayed unjudged is asked again, and only of the last judge."""

    silent = [True]

    def said(question: Question[Any]) -> Any:
        assert isinstance(question, Rate)
        return Failed("busy") if silent and "c0" in question.units[0].text else question.scale.labels[0]

    last = ScriptedJudge(said, name="last")
    at("http://127.0.0.1:9/v1", house)
    before, _ = weigh(house, [Knowing(), last, "knowing>last"])
    silent.clear()
    last.asked.clear()
    after, _ = weigh(house, [Knowing(), last, "knowing>last"], only_failed=True)
    assert [unit.text.split()[2] for rate in last.asked if isinstance(rate, Rate) for unit in rate.units] == [
        "c0",
        "c1",
    ]
    assert before["cascade"]["support"]["unjudged"] == 2
    assert after["taken_over"] == 2
    told = after["cascade"]["support"]
    assert (told["units"], told["unjudged"], told["answered"]["knowing"]) == (9, 0, 5)
    assert told["calls"] == {"made": 2, "alone": 3, "saved": 1}


def test_repeats_ask_for_the_remaining_units_again(house: dict[str, Any]) -> None:
    """Units are counted once, calls as often as they are made."""
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        summary, _ = weigh(house, repeat=3)
        assert server.count == 6
    told = summary["cascade"]["support"]
    assert told["units"] == 9
    assert told["calls"] == {"made": 6, "alone": 9, "saved": 3}
    assert summary["metrics"]["groundedness"]["repeats"]["times"] == 3


def test_a_question_that_two_metrics_share_is_counted_once(house: dict[str, Any]) -> None:
    writer = ScriptedJudge({"claims": ["Surely one.", "Perhaps two."]}, name="writer")
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        judges = [Knowing(), writer, "knowing>house", "claims=writer"]
        summary, results = weigh(house, judges, metrics=["grounding", "groundedness"])
    told = summary["cascade"]["support"]
    assert told["units"] == 9 + 2 * len(RECORDS)
    for result in results:
        verdicts = [verdict for score in result["scores"] for verdict in score["verdicts"]]
        assert len(verdicts) == sum(result["cascade"]["support"]["answered"].values())


def test_three_judges_stand_behind_each_other(house: dict[str, Any]) -> None:
    second = Knowing("second", SureBand(0.6, 0.4))
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        summary, results = weigh(house, [Knowing(), second, "knowing>second>house"])
        assert server.count == 1
    told = summary["cascade"]["support"]
    assert told["answered"] == {"knowing": 5, "second": 3, f"house/m@{server.url}": 1}
    (question,) = (q for q in second.asked if isinstance(q, Rate) and len(q.units) == 2 and "b" in q.units[0].id)
    assert [unit.text.split()[0] for unit in question.units] == ["Perhaps", "Other"]
    assert results[1]["cascade"]["support"]["answered"][f"house/m@{server.url}"] == 1


# ---- steps


def test_for_everything_it_is_for_the_steps_that_the_first_can_be_sure_of(house: dict[str, Any]) -> None:
    """What the first cannot be sure of the last answers alone; run.json says which step is which."""
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        weigh(house, ["embedded>house"], metrics=["grounding", "context_relevance"])
    made = orjson.loads((house["out"] / "run.json").read_bytes())
    assert made["steps"]["support"] == {"judges": ["embedded", "house"], "cascade": True}
    assert made["steps"]["claims"]["judges"] == made["steps"]["relevance"]["judges"] == ["house"]
    told = made["cascade"]["support"]
    assert (told["judges"][0], told["error"], len(told["bands"])) == ("embedded", 0.05, 1)
    signature = made["signatures"]["grounding"]
    embedded = EmbeddedJudge().maker(Rate("support", (), YES_NO))
    assert f"|support:embedded+{embedded}@0.05[" in signature
    assert "]>house/m@" in signature
    assert "|claims:house/m@" in signature


@pytest.mark.parametrize(
    ("judges", "metric", "message"),
    [
        (
            ["claims=embedded>house"],
            "grounding",
            "for the step 'claims': 'embedded' has no calibrated confidence",
        ),
        (["relevance=embedded>house"], "context_relevance", "no cascade for the step 'relevance'"),
        (["trace=embedded>house"], "trace", "no cascade for the step 'trace'"),
        (["response_support=embedded>house"], "response_groundedness", "no cascade for the step 'response_support'"),
        (["house>embedded"], "grounding", "cascade house>embedded: 'house' gives no confidence"),
        (["support=embedded>[house,embedded]"], "grounding", "a cascade cannot contain a panel"),
        (["support=embedded>"], "grounding", "names no judge on one side of '>'"),
        (["embedded>embedded"], "grounding", "names the same judge twice"),
    ],
)
def test_what_no_cascade_can_be_is_refused(judges: list[str], metric: str, message: str, house: dict[str, Any]) -> None:
    at("http://127.0.0.1:9/v1", house)
    with pytest.raises(ConfigError) as caught:
        weigh(house, judges, metrics=[metric])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_steps_that_the_records_answer_have_no_judge(house: dict[str, Any]) -> None:
    """They are not asked, and nobody is told to have judged them."""
    nuggets = [{"text": fact, "importance": "vital"} for fact in FACTS]
    records = [{**RECORDS[0], "nuggets": nuggets}]
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        weigh(house, ["embedded>house"], records=records, metrics=["nugget_recall"])
    made = orjson.loads((house["out"] / "run.json").read_bytes())
    assert made["steps"] == {"assign": {"judges": ["embedded", "house"], "cascade": True}}


def test_the_rate_is_part_of_how_a_score_was_made() -> None:
    last = ScriptedJudge({}, name="last")
    made = [
        signature_of(find("groundedness")(), Routes(Route((EmbeddedJudge(), last), error=error), {}))
        for error in (0.05, 0.1, 0.12, 0.2)
    ]
    assert len(set(made)) == 4
    alone = signature_of(find("groundedness")(), Routes(Route((last,)), {}))
    assert alone not in made


def test_the_rate_comes_from_the_flag_then_from_the_file(house: dict[str, Any]) -> None:
    with FakeServer(answer=realistic) as server:
        at(server.url, house, "[cascade]\nerror = 0.1\n")
        first, _ = weigh(house, ["embedded>house"])
        second, _ = weigh(house, ["embedded>house"], cascade_error=0.2)
    assert (first["cascade"]["support"]["error"], second["cascade"]["support"]["error"]) == (0.1, 0.2)


def test_what_the_last_judge_said_can_be_recorded_and_replayed(house: dict[str, Any], tmp_path: Path) -> None:
    """Behind the same first judge and offline: the same scores, made in the same way."""
    recording = tmp_path / "calls.jsonl"
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        run = ragstone.evaluate(RECORDS, ["grounding"], ["embedded>house"], cascade_error=0.2, **house)
        export_to(run, "calls", "scores", recording)
        run.store.close()
    made = scores(house)
    again = {**house, "store": tmp_path / "other.db"}
    weigh(again, [f"embedded>replay:{recording}"], metrics=["grounding"], cascade_error=0.2)
    assert made == scores(house)


def scores(house: dict[str, Any]) -> list[Any]:
    """The scores in the results' file without what they cost."""
    lines = (house["out"] / "results.jsonl").read_bytes().splitlines()
    return [{**score, "cost": None} for line in lines for score in orjson.loads(line)["scores"]]


# ---- estimates


@pytest.mark.parametrize("error", [0.05, 0.2])
def test_an_estimate_is_exact_where_the_first_judge_can_be_asked(error: float, house: dict[str, Any]) -> None:
    """The embedded judge computes here, so it is known what is left to the next."""
    records = [
        {"id": f"r{n}", "question": "What?", "contexts": list(FACTS), "response": f"{FACTS[n % 3]} It is {n} km long."}
        for n in range(8)
    ]
    options = {key: value for key, value in house.items() if key != "out"}
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        told = ragstone.estimate(records, ["groundedness"], ["embedded>house"], cascade_error=error, **options)
        assert server.count == 0
        weigh(house, ["embedded>house"], records=records, cascade_error=error)
        assert told.exact
        assert told.total.calls.expected == server.count
        assert told.alone["support"].calls == len(records)
        again = ragstone.estimate(records, ["groundedness"], ["embedded>house"], cascade_error=error, **options)
    assert (again.total.calls.expected, again.alone["support"].calls) == (0, len(records))


def test_an_estimate_of_what_is_not_known_holds_the_run(house: dict[str, Any]) -> None:
    """Claims that are not written yet, and a first judge that is not asked: between nearly all and nothing is left."""
    options = {key: value for key, value in house.items() if key != "out"}
    records = [record(f"r{n}", *("Surely", "Perhaps", "Never", "Perhaps", "Surely")[: 1 + n % 5]) for n in range(30)]
    judges: list[Any] = [Knowing(), "knowing>house"]
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        told = ragstone.estimate(records, ["groundedness"], judges, **options)
        weigh(house, judges, records=records)
        assert not told.exact
        assert told.total.calls.low <= server.count <= told.total.calls.high
        assert "units of support passed to house/m" in told.assumed
        more = [record(f"s{n}", "Surely", "Perhaps") for n in range(30)]
        learned = ragstone.estimate(more, ["groundedness"], judges, **options)
    assert "learned from 30 results" in learned.assumed["units of support passed to house/m"]


def test_budgets_hold(house: dict[str, Any]) -> None:
    with FakeServer(answer=realistic) as server:
        at(server.url, house)
        with pytest.raises(ragstone.BudgetReached):
            weigh(house, max_calls=1)
        assert server.count <= 1
        summary, _ = weigh(house, max_calls=2)
    assert summary["cascade"]["support"]["calls"]["made"] == 2

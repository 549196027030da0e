"""What a run may do with stored replies: use them, replace them, leave them alone, have nothing else; and take over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragstone import api
from ragstone.analysis.run import Run
from ragstone.errors import BackendError, ConfigError, InputError
from ragstone.judges.base import Failed
from ragstone.questions import Question, Rate
from ragstone.store.database import Store
from ragstone.testing import FakeServer, Scripted, ScriptedJudge

pytestmark = pytest.mark.usefixtures("alone")

WHOLE = "response_groundedness"
STORE = Path(".ragstone/ragstone.db")


def row(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"r{number}", "question": "What?", "response": f"It is number {number}.", "contexts": ["A."], **more}


def rows(count: int = 3) -> list[dict[str, Any]]:
    return [row(number) for number in range(1, count + 1)]


def judge_of(server: FakeServer) -> str:
    return f"vllm:any@{server.url}"


def weigh(judge: Any, source: Any = None, metrics: Any = WHOLE, **options: Any) -> Run:
    run = api.evaluate(rows() if source is None else source, metrics, judge, name="r", **options)
    run.store.close()
    return run


def bill(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = run.summary()["bill"]
    return found


def lines(folder: str) -> list[bytes]:
    return Path(folder, "results.jsonl").read_bytes().splitlines()


def replies() -> list[bytes | None]:
    with Store(STORE) as store:
        return [store.reply(key) for key in store.call_keys()]


# ---- refresh


def test_a_refresh_asks_anew_and_replaces(server: FakeServer) -> None:
    """Every call once, each stored once; the next run replays the new replies."""
    server.configure(vary=True)
    weigh(judge_of(server), out="one")
    before = replies()
    assert bill(weigh(judge_of(server), refresh=True, out="two"))["sent"] == 3
    assert len(replies()) == 3
    assert set(replies()).isdisjoint(before)
    assert bill(weigh(judge_of(server), out="three"))["sent"] == 0
    assert lines("three") == lines("two")


def test_a_refresh_asks_the_same_call_once(server: FakeServer) -> None:
    """Two records that need one call: the second has the reply that came for the first, also when that is done."""
    same = [row(1, response="It is."), row(2, response="It is.")]
    weigh(judge_of(server), same)
    assert bill(weigh(judge_of(server), same, refresh=True, concurrency=1))["sent"] == 1


def test_a_refresh_that_was_broken_off_goes_on(server: FakeServer) -> None:
    """The same command pays for the rest alone; once it has ended, the next refresh asks for everything."""
    weigh(judge_of(server), rows(20))
    server.configure(dead_after=server.count + 8)
    with pytest.raises(BackendError):
        weigh(judge_of(server), rows(20), refresh=True, concurrency=2)
    with Store(STORE) as store:
        (spent,) = [run.summary["bill"]["answered"] for run in store.runs() if run.status == "stopped" and run.summary]
    assert 0 < spent < 20
    server.configure(dead_after=None)
    assert bill(weigh(judge_of(server), rows(20), refresh=True))["sent"] == 20 - spent
    assert bill(weigh(judge_of(server), rows(20), refresh=True))["sent"] == 20


def test_nuggets_can_be_asked_for_anew() -> None:
    """A step that is no run of the store begins to refresh when it begins."""
    source = [row(1, contexts=["A kettle of steel.", "It boils."])]
    judge = ScriptedJudge({"nuggetize": ["A fact."], "importance": "vital"})
    for sent, anew in ((2, False), (0, False), (2, True)):
        written: list[bytes] = []
        made = api.create_nuggets(source, api.RunOptions(judge=judge, refresh=anew), written.append)
        assert (made.tally.sent, len(written)) == (sent, 1)


# ---- no cache


def test_without_a_cache_nothing_is_read_or_kept(server: FakeServer) -> None:
    """The results are kept all the same, and can be shown."""
    weigh(judge_of(server))
    before = replies()
    server.configure(vary=True)
    for _ in range(2):
        run = weigh(judge_of(server), [*rows(), row(4)], no_cache=True, out="out")
        assert (bill(run)["sent"], bill(run)["replayed"]) == (4, 0)
    assert replies() == before
    assert len(lines("out")) == 4
    again = api.open_run()
    assert again["r4"]["scores"][0]["status"] == "scored"
    again.store.close()


# ---- offline


def test_offline_sends_nothing(server: FakeServer) -> None:
    """What is stored is scored; what is not fails with a reason, and is counted."""
    weigh(judge_of(server))
    seen = len(server.requests)
    run = weigh(judge_of(server), rows(5), offline=True)
    assert len(server.requests) == seen
    metric = run.summary()["metrics"][WHOLE]
    assert metric["statuses"] == {"judge_failed": 2, "scored": 3}
    assert (bill(run)["sent"], bill(run)["replayed"], bill(run)["unseen"], bill(run)["failed"]) == (0, 3, 2, 0)
    (cause,) = run.summary()["missing"]
    assert "offline; the store has no reply from judge" in cause["reason"]
    assert bill(weigh(judge_of(server), rows(5)))["sent"] == 2
    with FakeServer() as gone:
        weigh(judge_of(gone))
    for judge in (judge_of(gone), "embedded"):  # nobody is reached for, so nobody has to be there
        assert bill(weigh(judge, offline=True))["unseen"] == 0


@pytest.mark.parametrize("pair", [("refresh", "offline"), ("no_cache", "offline"), ("refresh", "no_cache")])
def test_contradictions_are_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(ConfigError, match="cannot be combined"):
        weigh("embedded", **dict.fromkeys(pair, True))


# ---- repeats


def test_repeats_are_told_everywhere(server: FakeServer) -> None:
    """In the result, the summary and run.json, with the mean, its spread and the flips."""
    import orjson

    server.configure(vary=True)
    run = weigh(judge_of(server), rows(6), repeat=4, out="out")
    told = run.summary()["metrics"][WHOLE]["repeats"]
    documents = [orjson.loads(line) for line in lines("out")]
    entries = [document["scores"][0]["repeats"] for document in documents]
    assert (told["times"], told["records"], told["units"]) == (4, 6, 6)
    assert told["flips"] == sum(entry["flips"] for entry in entries)
    assert told["flip_rate"] == pytest.approx(told["flips"] / 6)
    columns = list(zip(*(entry["values"] for entry in entries), strict=True))
    assert told["means"] == pytest.approx([sum(column) / 6 for column in columns])
    assert told["means"][0] == run.summary()["metrics"][WHOLE]["mean"]
    assert told["record_spread"] == pytest.approx(sum(entry["spread"] for entry in entries) / 6)
    assert orjson.loads(Path("out/run.json").read_bytes())["repeats"] == {WHOLE: told}
    assert orjson.loads(Path("out/run.json").read_bytes())["engine"]["repeat"] == 4


def test_the_embedded_judge_is_asked_once() -> None:
    """One line says why; results and files are those of a plain run."""
    weigh("embedded", out="one")
    notes: list[str] = []
    run = weigh("embedded", repeat=5, out="two", on_start=lambda progress: notes.extend(progress.notes))
    assert lines("one") == lines("two")
    assert notes == ["asked once, not 5 times: replies from embedded are always the same"]
    assert "repeats" not in run.summary()["metrics"][WHOLE]


# ---- what failed, once more


def failing(*failed: str, version: str = "1") -> ScriptedJudge:
    """A judge that cannot answer about the responses that hold one of these words."""

    def script(question: Question[Any]) -> Any:
        assert isinstance(question, Rate)
        if any(word in unit.text for unit in question.units for word in failed):
            return Failed("no luck")
        return "2"

    return ScriptedJudge(script, version=version)


def test_only_what_failed_is_weighed_again() -> None:
    """The others are the same bytes; the new run is a whole one."""
    weigh(failing("number 2"), rows(4), out="one")
    judge = failing()
    run = weigh(judge, rows(4), out="two", only_failed=True)
    assert len(judge.asked) == 1
    one, two = lines("one"), lines("two")
    assert (two[0], two[2], two[3]) == (one[0], one[2], one[3])
    assert two[1] != one[1]
    summary = run.summary()
    assert (summary["taken_over"], summary["records"], summary["metrics"][WHOLE]["scored"]) == (3, 4, 4)
    assert (run.status, run.spec["only_failed"]) == ("done", 1)
    assert summary["metrics"] == weigh(failing(), rows(4)).summary()["metrics"]


def test_what_is_taken_over_is_not_asked_even_anew() -> None:
    """With a refresh only the calls of what failed are made, also those that had an answer."""
    weigh(failing("number 2"), rows(4), [WHOLE, "answer_relevance"])
    judge = ScriptedJudge({"response_support": "2", "relevance": "yes"})
    run = weigh(judge, rows(4), [WHOLE, "answer_relevance"], only_failed=True, refresh=True)
    assert {question.task for question in judge.asked} == {"response_support", "relevance"}
    assert (len(judge.asked), run.summary()["taken_over"]) == (2, 3)


def test_what_was_set_aside_or_never_reached_is_weighed() -> None:
    """A record that can be read by now, and one that came after the end of an interrupted run."""
    broken: list[Any] = [row(1), {"id": "r2", "response": 7}, row(3)]
    weigh(failing(), broken, on_error="skip")
    judge = failing()
    run = weigh(judge, rows(4), only_failed=True)
    assert len(judge.asked) == 2
    assert (run.summary()["set_aside"], run.summary()["metrics"][WHOLE]["scored"]) == (0, 4)


def test_a_record_that_has_changed_is_weighed() -> None:
    """By its id and its place it is the same; by its text it is another."""
    weigh(failing(), rows(3))
    judge = failing()
    changed = [row(1), row(2, response="Something else."), row(3)]
    assert weigh(judge, changed, only_failed=True).summary()["taken_over"] == 2
    assert len(judge.asked) == 1


def test_a_run_that_was_made_otherwise_is_refused() -> None:
    """Another judge, another metric, another number of times: one mean is not to stand on two kinds of scores."""
    weigh(failing("number 2"))
    prompt = r"the judge or prompt for response_support was scripted\+script.v1, now scripted\+script.v2"
    for judge, metrics, options, said in (
        (failing(version="2"), WHOLE, {}, rf"{WHOLE}: {prompt}"),
        (failing(), [WHOLE, "answer_relevance"], {}, f"it used the metrics {WHOLE}"),
        (failing(), WHOLE, {"repeat": 2}, "it asked 1 times"),
    ):
        with pytest.raises(ConfigError, match=rf"run 1 used other settings \({said}\);"):
            weigh(judge, metrics=metrics, only_failed=True, **options)
        assert judge.asked == []


def test_a_run_that_would_do_is_named() -> None:
    """Where the last one was made otherwise, and an earlier one was not."""
    weigh(failing("number 2"))
    weigh(failing(), repeat=3)
    with pytest.raises(
        ConfigError, match=r"it asked 3 times\); use --only-failed=1, which has these settings, or remove"
    ):
        weigh(failing(), only_failed=True)
    assert weigh(failing(), only_failed=1).summary()["taken_over"] == 2


def test_the_run_can_be_named() -> None:
    """By its number or its name; where there is none the message says so, and no run is entered."""
    weigh(failing("number 2"))
    weigh(failing())
    assert weigh(failing(), only_failed=1).summary()["taken_over"] == 2
    assert weigh(failing(), only_failed="r").summary()["taken_over"] == 3
    with pytest.raises(InputError, match="no run '99'"):
        weigh(failing(), only_failed=99)
    with pytest.raises(ConfigError, match="no run of 'other'"):
        api.evaluate(rows(), WHOLE, failing(), name="other", only_failed=True)
    with Store(STORE) as store:
        assert len(store.runs()) == 4


def test_repeats_are_taken_over_too() -> None:
    """With the values of every time, and the summary counts them."""
    weigh(failing("number 2"), repeat=3, out="one")
    run = weigh(failing(), repeat=3, only_failed=True, out="two")
    assert lines("two")[0] == lines("one")[0]
    assert run.summary()["metrics"][WHOLE]["repeats"]["records"] == 3


def test_nuggets_of_a_bank_are_known_and_those_of_a_record_are_not() -> None:
    """A bank's digest is in the signature; another bank is another making, and own nuggets are weighed again."""
    Path("bank.jsonl").write_text(
        "".join(
            f'{{"qid": "r{n}", "query": "What?", "nuggets": [{{"text": "A fact.", "importance": "vital"}}]}}\n'
            for n in (1, 2)
        ),
        encoding="utf-8",
    )
    judge = ScriptedJudge({"assign": "support"})
    banked = {"nuggets": "bank.jsonl", "metrics": "nugget_recall"}
    weigh(judge, rows(2), **banked, out="one")
    run = weigh(judge, rows(2), **banked, only_failed=True, out="two")
    assert run.summary()["taken_over"] == 2
    assert lines("one") == lines("two")
    text = Path("bank.jsonl").read_text(encoding="utf-8")
    Path("bank.jsonl").write_text(text.replace("A fact.", "Another fact."), encoding="utf-8")
    with pytest.raises(ConfigError, match="used other settings"):
        weigh(judge, rows(2), **banked, only_failed=True)
    own = [row(1, nuggets=[{"text": "A fact.", "importance": "vital"}])]
    weigh(judge, own, "nugget_recall")
    assert "taken_over" not in weigh(judge, own, "nugget_recall", only_failed=True).summary()


ONE, BOTH = (f'{{"verdicts":{{{said}}}}}' for said in ('"1":{"label":"3"}', '"1":{"label":"0"},"2":{"label":"0"}'))


@pytest.mark.parametrize(
    ("said", "status", "sent"),
    [
        (["sorry", "sorry"], "judge_failed", 2),
        (["", ""], "judge_failed", 2),
        ([Scripted("", finish="content_filter")], "judge_failed", 1),
        ([ONE, "sorry"], "partial", 2),
    ],
)
def test_replies_that_could_not_be_read_are_asked_for_again(said: list[Any], status: str, sent: int) -> None:
    """They are stored, so the same command replays them; --only-failed sends those calls again, and no others, once.

    What an incomplete reply has is kept: only its repair is asked for again. Offline, nothing is.
    """
    source = [{**row(1), "response": "It is steel. It boils."}]
    with FakeServer(script=said, answer=lambda _: BOTH) as server:

        def after(**options: Any) -> tuple[str, float | None, int]:
            sent = server.count
            run = api.evaluate(source, "groundedness", judge_of(server), name="r", **options)
            score = run["r1"].score("groundedness")
            run.store.close()
            return score["status"], score["value"], server.count - sent

        value, mended = (1.0, 0.5) if status == "partial" else (None, 0.0)
        assert after(estimate=False) == (status, value, sent)
        assert after() == (status, value, 0)
        assert after(only_failed=True, offline=True) == (status, value, 0)
        estimated = api.estimate(source, "groundedness", judge_of(server), name="r", only_failed=True).total.calls
        assert estimated.low <= 1 <= estimated.high
        assert after(only_failed=True) == ("scored", mended, 1)
        assert after(only_failed=True) == ("scored", mended, 0)
        assert after() == ("scored", mended, 0)


def test_a_time_of_asking_that_failed_is_asked_again(server: FakeServer) -> None:
    """Also where the first time was answered."""
    server.configure(vary=True)
    weigh(judge_of(server))
    weigh(judge_of(server), offline=True, repeat=3)
    run = weigh(judge_of(server), repeat=3, only_failed=True)
    assert bill(run)["sent"] == 6
    assert run.summary()["metrics"][WHOLE]["repeats"]["records"] == 3


def test_an_estimate_is_of_the_run_that_is_meant(server: FakeServer) -> None:
    """A refresh takes nothing from the store, what is taken over costs nothing, offline nothing is sent."""
    judge = judge_of(server)
    weigh(judge)

    def calls(**options: Any) -> float:
        return api.estimate(rows(), WHOLE, judge, name="r", **options).total.calls.expected

    assert (calls(), calls(refresh=True), calls(no_cache=True), calls(repeat=2)) == (0, 3, 3, 3)
    assert calls(only_failed=True, refresh=True) == 0
    with pytest.raises(ConfigError, match="sends nothing"):
        calls(offline=True)
    with pytest.raises(InputError, match="no run '99'"):
        calls(only_failed=99)

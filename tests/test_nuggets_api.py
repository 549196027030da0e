"""Nuggets step by step through the engine and the store: banks are created, assigned and scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from ragstone import evaluate
from ragstone.analysis.flow_replay import judged_units, replay
from ragstone.analysis.leaderboard import ALL, OnMissing
from ragstone.api import Prune, RunOptions, assign_nuggets, create_nuggets, prune_cache, score_nuggets
from ragstone.errors import ConfigError
from ragstone.judges.base import Failed, Judge
from ragstone.metrics.nugget_recall import NuggetRecall
from ragstone.output.formats.assignments import assignment as assignment_of
from ragstone.questions import Question, Rate, Write
from ragstone.testing import ScriptedJudge

FACTS = ("The kettle is steel", "It boils in two minutes", "It costs ten")


def judge(**script: Any) -> ScriptedJudge:
    """Lists all facts at once, calls the first vital, and finds in a response what stands in it."""

    def answer(question: Question[Any]) -> Any:
        if question.task in script:
            return script[question.task]
        if isinstance(question, Write):
            return [] if question.known else list(FACTS)
        assert isinstance(question, Rate)
        if question.task == "importance":
            return {unit.text: "vital" if unit.text == FACTS[0] else "okay" for unit in question.units}
        text = " ".join(passage.text for passage in question.passages)
        best, worst = question.scale.labels[-1], question.scale.labels[0]
        if question.task == "relevance":
            return best
        return {unit.text: best if unit.text in text else worst for unit in question.units}

    return ScriptedJudge(answer)


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def topic(name: str, response: str = "", **more: Any) -> dict[str, Any]:
    return {
        "qid": name, "query": f"What of {name}?", "contexts": [". ".join(FACTS)], "response": response, **more,
    }  # fmt: skip


def options(tmp_path: Path, by: ScriptedJudge | None = None, **more: Any) -> RunOptions:
    return RunOptions(judge=by or judge(), store=tmp_path / "store.db", **more)


def created(tmp_path: Path, *rows: dict[str, Any], by: ScriptedJudge | None = None, **more: Any) -> Path:
    """A bank file made of the rows."""
    found: list[bytes] = []
    create_nuggets(list(rows), options(tmp_path, by, **more), found.append)
    path = tmp_path / "bank.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in found))
    return path


def assigned(tmp_path: Path, source: Any, **more: Any) -> list[dict[str, Any]]:
    found: list[bytes] = []
    assign_nuggets(source, options(tmp_path, **more), found.append).store.close()
    return [orjson.loads(line) for line in found]


def test_a_bank_is_a_nugget_record_with_vital_ones_first(tmp_path: Path) -> None:
    bank = created(tmp_path, topic("q1"))
    assert orjson.loads(bank.read_bytes()) == {
        "query": "What of q1?",
        "qid": "q1",
        "nuggets": [{"text": FACTS[0], "importance": "vital"}, *({"text": f, "importance": "okay"} for f in FACTS[1:])],
    }


def test_a_topic_has_one_bank_however_many_systems_answered_it(tmp_path: Path) -> None:
    found: list[bytes] = []
    rows = [topic("q1", run_id=run) for run in "ab"] + [topic("q2")]
    done = create_nuggets(rows, options(tmp_path), found.append)
    assert [orjson.loads(line)["qid"] for line in found] == ["q1", "q2"]
    assert (done.topics, done.nuggets, done.vital, done.repeated) == (2, 6, 2, 1)


def test_what_was_created_before_costs_nothing_again(tmp_path: Path) -> None:
    """Not even after pruning: no run has these calls, and they are in use all the same."""
    by = judge()
    created(tmp_path, topic("q1"), topic("q2"), by=by)
    asked = len(by.asked)
    assert prune_cache(Prune(unused=True), tmp_path / "store.db").calls == 0
    created(tmp_path, topic("q1"), topic("q2"), topic("q3"), by=by)
    assert len(by.asked) == asked * 3 // 2


def test_a_topic_whose_bank_fails_is_not_written_and_is_counted_with_the_reason(tmp_path: Path) -> None:
    found: list[bytes] = []
    rows = [topic("q1"), {**topic("q2"), "contexts": []}, {**topic("q3"), "query": " "}]
    done = create_nuggets(rows, options(tmp_path), found.append)
    assert len(found) == 1
    assert dict(done.without) == {"no contexts": 1, "no question": 1}
    done = create_nuggets(rows[:1], options(tmp_path / "b", judge(nuggetize=[])), found.append)
    assert dict(done.without) == {"the passages contain no nuggets for this question": 1}
    failing = ScriptedJudge(lambda question: Failed(f"{sum(map(ord, repr(question)))} tokens are too many for m-4"))
    done = create_nuggets([topic("q1"), topic("q2")], options(tmp_path / "c", failing), found.append)
    assert dict(done.without) == {"N tokens are too many for m-4": 2}, "as the missing scores of a run are counted"
    assert len(found) == 1


def test_assignments_name_run_topic_and_grade(tmp_path: Path) -> None:
    bank = created(tmp_path, topic("q1"))
    (row,) = assigned(tmp_path, [topic("q1", "The kettle is steel. It costs ten.", run_id="mine")], nuggets=bank)
    assert row == {
        "query": "What of q1?",
        "qid": "q1",
        "run_id": "mine",
        "answer_text": "The kettle is steel. It costs ten.",
        "response_length": 7,
        "nuggets": [
            {"text": FACTS[0], "importance": "vital", "assignment": "support"},
            {"text": FACTS[1], "importance": "okay", "assignment": "not_support"},
            {"text": FACTS[2], "importance": "okay", "assignment": "support"},
        ],
    }


def test_a_nugget_that_stayed_unjudged_is_failed_and_says_why(tmp_path: Path) -> None:
    bank = created(tmp_path, topic("q1"))
    by = judge(assign={FACTS[0]: "support", FACTS[1]: None, FACTS[2]: "nonsense"})
    found: list[bytes] = []
    assign_nuggets([topic("q1", "x")], options(tmp_path, by, nuggets=bank), found.append).store.close()
    nuggets = orjson.loads(found[0])["nuggets"]
    assert [nugget["assignment"] for nugget in nuggets] == ["support", "failed", "failed"]
    assert "not on the scale" in nuggets[2]["failure"]
    path = tmp_path / "assigned.jsonl"
    path.write_bytes(found[0])
    (row, total) = score_nuggets(path).board.score_rows()
    assert (row["strict_all_score"], row["unjudged"], total["strict_all_score"]) == (1.0, 2, 1.0)


def test_a_topic_that_the_bank_lacks_is_not_created_and_has_no_line(tmp_path: Path) -> None:
    bank = created(tmp_path, topic("q1"))
    by = judge()
    rows = [topic("q1", FACTS[0]), topic("q2", FACTS[0]), topic("q3", " ")]
    run = evaluate(rows, "nugget_recall", by, nuggets=bank, store=tmp_path / "s.db")
    assert {question.task for question in by.asked} == {"assign"}
    assert {score["status"] for score in run["q2"]["scores"]} == {"missing_field"}
    run.store.close()
    assert [row["qid"] for row in assigned(tmp_path, rows, nuggets=bank)] == ["q1"]


def test_the_signature_names_the_bank(tmp_path: Path) -> None:
    bank = created(tmp_path, topic("q1"))
    own = topic("q1", "x", nuggets=[{"text": "a", "importance": "vital"}])

    def signature(row: dict[str, Any], **more: Any) -> str:
        run = evaluate([row], "nugget_recall", judge(), store=tmp_path / "s.db", **more)
        found: str = run["q1"]["scores"][0]["signature"]
        assert run.summary()["metrics"]["nugget_recall.vital"]["signature"] == found
        run.store.close()
        return found

    given, brought, written = signature(topic("q1", "x"), nuggets=bank), signature(own), signature(topic("q1", "x"))
    assert "|nuggetize:gold#" in given
    assert given.count("gold#") == 2  # its importance too
    assert "|nuggetize:record|importance:record|" in brought
    assert "|nuggetize:scripted+" in written
    bare = signature({**own, "nuggets": ["a"]})
    assert "|nuggetize:record|importance:scripted+" in bare


def test_a_bank_needs_no_judge_that_could_write_one(tmp_path: Path) -> None:
    own = topic("q1", "x", nuggets=[{"text": "a", "importance": "vital"}])
    only = ScriptedJudge({"assign": "support"}, tasks=["assign"])
    run = evaluate([own], "nugget_recall", only, store=tmp_path / "s.db")
    assert run["q1"]["scores"][0]["value"] == 1.0
    run.store.close()
    with pytest.raises(ConfigError, match="cannot answer the step 'nuggetize'"):
        evaluate([topic("q1", "x")], "nugget_recall", only, store=tmp_path / "s.db")


def test_a_suite_takes_recall_where_there_is_a_bank_and_creates_none(tmp_path: Path) -> None:
    rows = [topic("q1", "x", nuggets=[{"text": "a", "importance": "vital"}]), topic("q2", "y")]
    run = evaluate(rows, "nuggets", judge(), store=tmp_path / "s.db")
    statuses = {score["metric"]: score["status"] for score in run["q2"]["scores"]}
    assert statuses["nugget_recall.all"] == "missing_field"
    run.store.close()
    run = evaluate(rows[1:], "nuggets", judge(), store=tmp_path / "s.db")
    assert "nugget_recall" in run.summary()["left_out"]
    run.store.close()


# ---- scores


def board(tmp_path: Path, *rows: dict[str, Any], **more: Any) -> dict[tuple[str, str], dict[str, Any]]:
    found = score_nuggets(lines(tmp_path / "assigned.jsonl", *rows), **more)
    return {(row["run_id"], row["qid"]): row for row in found.board.score_rows(found.on_missing)}


@pytest.mark.parametrize("labels", ["SSN", "SN", "SPN", "S"])
@pytest.mark.parametrize("weight", [1, 3])
@pytest.mark.parametrize("old", [False, True])
def test_a_file_assigned_by_a_panel_has_the_scores_of_its_run(
    tmp_path: Path, labels: str, weight: int, *, old: bool
) -> None:
    """Its labels are only those nearest to the values of the panel. Earlier versions kept their strict values apart."""
    grades = {"S": "support", "P": "partial_support", "N": "not_support"}
    judges = [ScriptedJudge({"assign": grades[label]}, name=f"j{n}") for n, label in enumerate(labels)]
    (tmp_path / "r.toml").write_text(f"[panel.weights]\nj0 = {weight}\n", encoding="utf-8")
    panel: list[str | Judge] = [*judges, f"assign=[{','.join(one.name for one in judges)}]"]
    bank = created(tmp_path, topic("q1"))
    given = RunOptions(judge=panel, store=tmp_path / "panel.db", nuggets=bank, config=tmp_path / "r.toml")
    found: list[bytes] = []
    run = assign_nuggets([topic("q1", "x", run_id="a")], given, found.append)
    result = run["q1"].typed
    assert json.loads(found[0]) == assignment_of(result)
    for score in result["scores"] if old else ():
        rows = score["detail"].get("nuggets", [])
        for row, verdict in zip(rows, score["verdicts"], strict=True):
            if "strict" in verdict:
                row["strict"] = verdict.pop("strict")
    lines(tmp_path / "assigned.jsonl", assignment_of(result) or {})
    values = score_nuggets(tmp_path / "assigned.jsonl").board.entries["a", "q1"].values
    scores = pytest.approx({score["metric"]: score["value"] for score in result["scores"]})
    assert {f"nugget_recall.{name}": value for name, value in values.items()} == scores
    units = judged_units(result, [])["nugget_recall"]
    again = replay(NuggetRecall(), units.result, units.by_judge(), units.traced())
    assert {score.metric: score.value for score in again.scores} == scores
    run.store.close()


def assignment(run: str, qid: str, letters: str, vital: int = 1) -> dict[str, Any]:
    grades = {"S": "support", "P": "partial_support", "N": "not_support", "F": "failed"}
    nuggets = [
        {"text": f"n{n}", "importance": "vital" if n < vital else "okay", "assignment": grades[letter]}
        for n, letter in enumerate(letters)
    ]
    return {"qid": qid, "run_id": run, "answer_text": "x", "nuggets": nuggets}


MISSING = (assignment("a", "1", "SN"), assignment("a", "2", "SS"), assignment("b", "1", "SS"))


def test_a_blank_answer_is_a_missing_one_and_a_failed_judge_is_not(tmp_path: Path) -> None:
    bank = created(tmp_path, topic("q1"), topic("q2"))
    rows = assigned(tmp_path, [topic("q1", FACTS[0], run_id="a"), topic("q2", " ", run_id="a")], nuggets=bank)
    assert [row.get("status") for row in rows] == [None, "empty"]
    other = assigned(tmp_path, [topic(q, " ".join(FACTS), run_id="b") for q in ("q1", "q2")], nuggets=bank)
    failed = [{**row, "run_id": "c", "nuggets": [{**n, "assignment": "failed"} for n in row["nuggets"]]}
              for row in other[:1]] + [{**other[1], "run_id": "c"}]  # fmt: skip
    found = board(tmp_path, *rows, *other, *failed, on_missing="zero")
    assert found["a", ALL]["strict_all_score"] == pytest.approx(1 / 6)
    assert found["b", ALL]["strict_all_score"] == 1.0
    assert found["c", ALL]["strict_all_score"] == 1.0  # the judge's failure is no zero
    assert found["c", "q1"]["strict_all_score"] is None


# ---- what a review found


def test_zero_counts_topics_that_no_run_has_answered(tmp_path: Path) -> None:
    bank = created(tmp_path, topic("q1"), topic("q2"))
    rows = assigned(tmp_path, [topic("q1", " ".join(FACTS), run_id="a"), topic("q2", " ", run_id="a")], nuggets=bank)
    assert [len(row["nuggets"]) for row in rows] == [3, 3]  # a blank answer still says what it did not hold
    found = board(tmp_path, *rows, on_missing="zero")
    assert (found["a", ALL]["strict_all_score"], found["a", ALL]["strict_vital_score"]) == (0.5, 0.5)
    assert (found["a", "q2"]["strict_all_score"], found["a", "q2"]["status"]) == (0.0, "empty")


def test_ranks_are_compared_on_the_answers_that_both_have_scored(tmp_path: Path) -> None:
    one = [assignment("a", "1", "SS"), assignment("b", "1", "SN")]
    more = [assignment("a", "2", "NN"), assignment("b", "2", "SS"), assignment("a", "3", "NN")]
    ours = lines(tmp_path / "ours.jsonl", *one, *more)
    theirs = lines(tmp_path / "theirs.jsonl", *one)
    found = {agreement.measure: agreement for agreement in score_nuggets(ours, against=theirs).against}
    assert (found["strict_all"].tau, found["strict_all"].topics) == (1.0, 1)


@pytest.mark.parametrize(("on_missing", "tau"), [("warn", 1.0), ("skip", 1.0), ("zero", -1.0)])
def test_ranks_are_compared_as_missing_topics_are_scored(tmp_path: Path, on_missing: OnMissing, tau: float) -> None:
    """Counting the missing topic as 0 puts b below a; a failed judge leaves out the topic on both sides."""
    ours = lines(tmp_path / "ours.jsonl", assignment("a", "3", "FF"), assignment("b", "3", "FF"), *MISSING)
    values = {"a": (0.6, 0.5, 9), "b": (0.9, 0.8, 0)}
    people = [{"run_id": run, "topic_id": str(n), "measure": "m", "value": value}
              for run, every in values.items() for n, value in enumerate(every, 1)]  # fmt: skip
    theirs = lines(tmp_path / "people.jsonl", *people)
    found = {one.measure: one for one in score_nuggets(ours, against=theirs, on_missing=on_missing).against}
    assert (found["strict_all"].tau, found["strict_all"].topics) == (tau, 1 if on_missing == "skip" else 2)


def test_a_bank_brings_the_question_that_a_record_lacks(tmp_path: Path) -> None:
    bank = created(tmp_path, topic("q1"))
    by = judge()
    bare = {"qid": "q1", "response": "x", "run_id": "a"}
    found: list[bytes] = []
    assign_nuggets([bare], options(tmp_path, by, nuggets=bank), found.append).store.close()
    assert orjson.loads(found[0])["query"] == "What of q1?"
    other = {**bare, "question": "Another year's question?"}
    run = evaluate([other], "nugget_recall", judge(), nuggets=bank, store=tmp_path / "s.db")
    assert run["q1"]["notes"] == ["nuggets: the bank has a different question for this topic"]
    run.store.close()


def test_a_topics_file_of_other_topics_is_named(tmp_path: Path) -> None:
    """Not suggested, as if none had been given."""
    path = lines(tmp_path / "topics.jsonl", {"id": "x1", "title": "What?"})
    with pytest.raises(ConfigError, match=r"topics\.jsonl has none of the topics of .*, such as '1'"):
        evaluate([{"id": "1", "response": "It is."}] * 2, "answer_relevance", topics=path, store=tmp_path / "s.db")


def test_empty_lists_are_called_so(tmp_path: Path) -> None:
    bank = lines(tmp_path / "bank.jsonl", {"qid": "q1", "nuggets": []})
    with pytest.raises(ConfigError, match=r"its lists are empty for 1 of 1"):
        assigned(tmp_path, [topic("q1", "x")], nuggets=bank)


def test_a_bank_is_made_of_the_first_record_that_has_what_it_takes(tmp_path: Path) -> None:
    found: list[bytes] = []
    done = create_nuggets([{**topic("q1"), "contexts": []}, topic("q1")], options(tmp_path), found.append)
    assert (done.topics, dict(done.without)) == (1, {})


def test_a_run_may_be_named_by_a_number(tmp_path: Path) -> None:
    rows = board(tmp_path, {**assignment("", "1", "S"), "run_id": 1.5}, {**assignment("", "1", "N"), "run_id": 2.0})
    assert {run for run, _ in rows} == {"1.5", "2"}


def test_standard_input_is_one_thing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="standard input can be used for the records or --nuggets, not both"):
        assigned(tmp_path, "-", nuggets="-")
    with pytest.raises(ConfigError, match="standard input can be used for the records or --topics, not both"):
        evaluate("-", topics="-", store=tmp_path / "s.db")


def test_what_is_odd_in_a_bank_is_said(tmp_path: Path) -> None:
    bank = lines(tmp_path / "b.jsonl", {"qid": "q1", "nuggets": [{"text": "a", "importance": "critical"}, "A."]})
    run = evaluate([topic("q1", "x")], "nugget_recall", judge(), nuggets=bank, store=tmp_path / "s.db")
    notes = " ".join(run.summary()["notes"])
    run.store.close()
    assert "b.jsonl:1: nuggets: importance is neither vital nor okay; ignored" in notes
    assert "nuggets: duplicate nugget left out" in notes

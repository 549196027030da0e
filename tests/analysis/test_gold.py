"""Gold labels from files of any form, from runs, and from fields of a run's records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from labelled import write
from ragstone import Run, agree, evaluate
from ragstone.analysis.gold import gold_rows
from ragstone.analysis.run import find_run
from ragstone.analysis.saved import AnyRun
from ragstone.api.stored import export_run
from ragstone.errors import InputError
from ragstone.labels import LabelRow, text_hash
from ragstone.metrics import of_score
from ragstone.questions import Question, Rate
from ragstone.records.label_imports import import_labels
from ragstone.render.agreement import wholes_said
from ragstone.testing import ScriptedJudge

CITIES = "Paris is the capital of France."
RIVERS = "The Seine flows through Paris."
MARKS = {
    "documents_sentences": [[["0a", "Paris is the capital of France."], ["0b", "It has two million people."]],
                            [["1a", "The Seine flows through Paris."]]],
    "response_sentences": [["a", "Paris is the capital of France."], ["b", "It lies on the Rhine."]],
    "all_relevant_sentence_keys": ["0a"],
    "all_utilized_sentence_keys": ["0a", "1a"],
}  # fmt: skip
TRACE = {
    "id": "t1",
    "question": "What is the capital of France?",
    "documents": [f"{CITIES} It has two million people.", RIVERS],
    "response": f"{CITIES} It lies on the Rhine.",
}


def answers() -> list[dict[str, Any]]:
    """Two systems' answers to one topic, with people's assignments."""
    said = {"a": (CITIES, "support", "not_support"), "b": (RIVERS, "not_support", "partial_support")}
    return [
        {
            "qid": "q1", "query": "What of Paris?", "run_id": system, "answer_text": text,
            "nuggets": [
                {"text": "Paris is the capital of France", "importance": "vital", "assignment": first},
                {"text": "Paris lies on the Seine", "importance": "okay", "assignment": second},
            ],
        }
        for system, (text, first, second) in said.items()
    ]  # fmt: skip


@pytest.fixture
def assigned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run over the two answers, whose input is a file in this folder."""
    monkeypatch.chdir(tmp_path)
    return evaluate(write(tmp_path / "answers.jsonl", answers()), "nugget_recall", store=tmp_path / "store.db")


def traced(tmp_path: Path, labels: Mapping[str, Any], **more: Any) -> Run:
    return evaluate([{**TRACE, **more, "labels": labels}], "trace", store=tmp_path / "store.db")


def gold(given: object, run: AnyRun) -> list[LabelRow]:
    assert isinstance(run, Run)
    return gold_rows(str(given), run, lambda which: find_run(run.store, which)).rows


def labels(rows: list[LabelRow]) -> dict[tuple[str, str], str | None]:
    return {(row.unit, row.task): row.label for row in rows}


HUMAN = {
    ("q1/bank/1", "assign"): "support",
    ("q1/bank/2", "assign"): "not_support",
    ("q1#2/bank/1", "assign"): "not_support",
    ("q1#2/bank/2", "assign"): "partial_support",
}


def test_assignments_are_joined_by_topic_system_and_text(tmp_path: Path, assigned: Run) -> None:
    """From the run's own input or another file, in any order; a changed nugget or response joins no unit."""
    assert labels(gold("nuggets", assigned)) == labels(gold("nuggets[].assignment", assigned)) == HUMAN
    first, second = answers()
    second["nuggets"][0]["text"] = "PARIS is the  capital of France."
    assert labels(gold(write(tmp_path / "other.jsonl", [second, first]), assigned)) == HUMAN
    first["answer_text"] = "Another response."
    second["nuggets"][1]["text"] = "Paris lies on the Rhine"
    rows = gold(write(tmp_path / "other.jsonl", [second, first]), assigned)
    assert [(row.record, row.unit) for row in rows] == [
        ("q1#2", "q1#2/bank/1"),
        ("q1#2", "Paris lies on the Rhine"),
        ("q1#2", "Paris is the capital of France"),  # the file's second record, which fits no result
        ("q1#2", "Paris lies on the Seine"),
    ]
    assert {row.annotator for row in rows} == {"other"}


def test_blocks_are_joined_by_their_text(tmp_path: Path, assigned: Run) -> None:
    """A block is a response; labels of the whole topic join where one record answers it, and else no unit."""
    blocks = [
        {"qid": "q1", "query": "What of Paris?", "block": [answer["answer_text"], [{"url": "x"}]],
         "block_nuggets_assignment": answer["nuggets"]}
        for answer in answers()
    ]  # fmt: skip
    whole = {"global_nuggets_assignment": [{"text": "Paris lies on the Seine", "assignment": "partial_support"}]}
    rows = gold(write(tmp_path / "blocks.jsonl", [blocks[0], {**blocks[1], **whole}]), assigned)
    loose = ("q1/topic/Paris lies on the Seine", "assign")
    assert labels(rows) == {**HUMAN, loose: "partial_support"}
    topic = write(tmp_path / "topic.jsonl", [{"qid": "q1", "query": "What of Paris?", **whole}])
    assert labels(gold(topic, assigned)) == {loose: "partial_support"}
    alone = evaluate(answers()[:1], "nugget_recall", store=tmp_path / "store.db")
    assert labels(gold(topic, alone)) == {("q1/bank/2", "assign"): "partial_support"}


def test_labels_of_a_topic_meet_the_best_verdict_over_its_blocks(tmp_path: Path) -> None:
    """Two blocks of one answer, each with labels of its own, and the same labels of the topic in both."""
    texts = ("Paris lies on the Seine", "Rome is old", "Lima is wet")
    script: dict[str, list[str | None]] = {
        "One.": ["support", "not_support", None], "Two.": ["not_support", "partial_support", None]
    }  # fmt: skip
    said = {"global_nuggets_assignment": [
        {"text": text.upper(), "assignment": label}
        for text, label in zip(texts, ("support", "support", "not_support"), strict=True)
    ]}  # fmt: skip
    blocks = [
        {"qid": "q1", "query": "What?", "block": [block], **said,
         "block_nuggets_assignment": [{"text": text, "assignment": "support"} for text in texts]}
        for block in script
    ]  # fmt: skip

    def answer(question: Question[Any]) -> list[str | None]:
        assert isinstance(question, Rate)
        return script[question.passages[0].text]

    judge = ScriptedJudge(answer)
    store = tmp_path / "store.db"
    records = [
        {"id": "q1", "question": "What?", "response": block, "run_id": "a",
         "nuggets": [{"text": text, "importance": "vital"} for text in texts]}
        for block in script
    ]  # fmt: skip
    run = evaluate(records, "nugget_recall", judge, store=store)
    gold = write(tmp_path / "gold.jsonl", blocks)
    found = agree(run, gold, store=store)
    assert (found.rows, found.joined, found.refused) == (9, 9, ())
    wholes = found["nugget_recall"].wholes
    assert wholes is not None
    assert wholes.matrix.counts == ((0, 0, 0), (0, 0, 0), (0, 1, 1)), "worst first, by people and judge"
    assert wholes_said(found["nugget_recall"]) == "topic nuggets"
    other = {"global_nuggets_assignment": [{"text": texts[0], "assignment": "not_support"}]}
    contradicting = agree(run, write(tmp_path / "other.jsonl", [blocks[0], {**blocks[1], **other}]), store=store)
    assert (contradicting["nugget_recall"].wholes, [one.count for one in contradicting.refused]) == (None, [4])
    absent = [{**block, **other, "qid": "q2"} for block in blocks]  # a topic's label may differ from its block's
    beyond = agree(run, write(tmp_path / "beyond.jsonl", [*blocks, *absent]), store=store)
    assert (beyond.joined, [one.count for one in beyond.refused]) == (9, [8])
    two = evaluate([{**records[0], "run_id": "b"}, records[1]], "nugget_recall", judge, store=store)
    assert agree(two, gold, store=store)["nugget_recall"].wholes is None, "of two systems"


@pytest.mark.parametrize("form", ["blocks", "assignments"])
def test_an_exported_run_is_gold_that_agrees(tmp_path: Path, assigned: Run, form: str) -> None:
    export_run(assigned, form, to=tmp_path / "out.jsonl")
    rows = gold(tmp_path / "out.jsonl", assigned)
    assert len(rows) == 4
    assert labels(rows) == labels(gold(assigned.id, assigned))


def test_only_labels_that_match_no_metric_are_unused(tmp_path: Path) -> None:
    """A label is for all metrics of its task; what the records say of passages is no label by a judge."""
    record = {"question": "Why?", "response": "So.", "contexts": [{"id": "p", "text": "Why? So."}], "relevant": ["p"]}
    run = evaluate([record], ["context_relevance", "retrieval_ranking"], store=tmp_path / "s.db")
    found = agree(run, str(run.id), store=tmp_path / "s.db")
    assert (found.rows, found.joined, found.refused) == (1, 1, ())


def test_qrels_grade_the_passages_that_a_judge_graded(tmp_path: Path) -> None:
    """By topic and passage; those that were not retrieved or not judged have no label, and no metric counts twice."""
    texts = [{"id": name, "text": f"Text {name}."} for name in ("d1", "d2", "d3")]
    rows = [{"id": name, "question": "Why?", "contexts": texts} for name in ("7", "8")]
    judge = ScriptedJudge({"relevance": ["3", "0", "1"]})
    run = evaluate(rows, ["context_relevance", "retrieval_ranking"], judge, store=tmp_path / "s.db")
    path = tmp_path / "nist.txt"
    path.write_text("7 Q0 d1 3\n7 Q0 d2 -1\n7 Q0 d9 2\n9 Q0 d1 1\n")
    found = gold(path, run)
    assert labels(found) == {("7/passage/1", "relevance"): "3", ("7/passage/2", "relevance"): "0"}
    assert {row.annotator for row in found} == {"nist"}
    agreed = agree(run, str(path), store=tmp_path / "s.db")
    assert [one.leading.matrix.accuracy for one in agreed.metrics] == [1.0, 1.0]
    assert (agreed.rows, agreed.joined, agreed.refused) == (2, 2, ())
    path.write_text("9 Q0 d1 1\n")
    with pytest.raises(InputError, match=r"nist\.txt: has no grade for a passage that a judge graded"):
        gold(path, run)


def test_verdicts_of_a_run_are_labels_by_its_judges(tmp_path: Path, assigned: Run) -> None:
    """Each carries the hash of its unit's text, so that a changed unit is refused."""
    rows = gold("last", assigned)
    verdicts = {
        (verdict["unit"], verdict["judge"]): verdict["label"]
        for verdict in assigned.to_pandas("verdicts").to_dict("records")
    }
    assert {(row.unit, row.annotator): row.label for row in rows} == {
        (unit, f"{judge} (run {assigned.id})"): label for (unit, judge), label in verdicts.items()
    }
    assert {row.hash for row in rows} == {text_hash(nugget["text"]) for nugget in answers()[0]["nuggets"]}
    results = write(tmp_path / "results.jsonl", [dict(result) for result in assigned.results()])
    opened: list[str] = []

    def opening(which: str) -> AnyRun:
        opened.append(which)
        return assigned

    gold_rows(results, assigned, opening)
    assert opened == [results]


def test_ragbench_sentences_are_joined_by_text(tmp_path: Path) -> None:
    """Response sentences, context sentences and the whole; from the field, from one of its keys, and from a file."""
    support = [
        {"response_sentence_key": "a", "fully_supported": True},
        {"response_sentence_key": "b", "fully_supported": False},
    ]
    marks = {**MARKS, "sentence_support_information": support, "adherence_score": False, "annotator": "gpt-4"}
    run = traced(tmp_path, marks)
    expected = {
        ("t1/resp_s0", "trace"): "yes", ("t1/resp_s1", "trace"): "no", ("t1/response/1", "trace"): "no",
        ("t1/doc_0_s0", "trace.relevant"): "yes", ("t1/doc_0_s0", "trace.utilized"): "yes",
        ("t1/doc_0_s1", "trace.relevant"): "no", ("t1/doc_0_s1", "trace.utilized"): "no",
        ("t1/doc_1_s0", "trace.relevant"): "no", ("t1/doc_1_s0", "trace.utilized"): "yes",
    }  # fmt: skip
    rows = gold("labels", run)
    assert labels(rows) == expected
    assert {row.annotator for row in rows} == {"gpt-4"}
    flat = write(tmp_path / "ragbench.jsonl", [{**TRACE, **marks}])
    assert labels(gold(flat, run)) == labels(gold("labels.adherence_score", run)) == expected
    other = write(tmp_path / "other.jsonl", [{**TRACE, **marks, "response": "Changed."}])
    assert labels(gold(other, run)) == {("t1/response/1", "trace"): "no"}  # of no response of the run


def test_equal_sentences_get_their_own_labels(tmp_path: Path) -> None:
    """In order; none if the run does not split all of them as the labels do. Labels of equal value need no order."""
    blue, big = "The sky is blue.", "It is big."
    keyed = list(zip("abc", (blue, big, blue), strict=True))
    marks = {
        "response_sentences": keyed, "unsupported_response_sentence_keys": ["b", "c"],
        "documents_sentences": [[(f"{n}{key}", text) for key, text in keyed] for n in range(2)],
        "all_relevant_sentence_keys": ["0c", "1c"], "all_utilized_sentence_keys": ["0a", "0c", "1a", "1c"],
    }  # fmt: skip
    record = {"id": "t1", "question": "?", "response": f"{blue} {big} {blue}",
              "contexts": [f"{blue} {big} {blue}", f"Fig. 1: {blue} {big} {blue}"]}  # fmt: skip
    run = evaluate([{**record, "labels": marks}], "trace", store=tmp_path / "store.db")
    rows = gold("labels", run)
    assert {unit.removeprefix("t1/"): label for (unit, task), label in labels(rows).items() if task == "trace"} == {
        "resp_s0": "yes", "resp_s1": "no", "resp_s2": "no"
    }  # fmt: skip
    relevant, utilized = (
        {unit.removeprefix("t1/doc_"): label for (unit, task), label in labels(rows).items() if task.endswith(part)}
        for part in ("relevant", "utilized")
    )
    assert relevant == {"0_s0": "no", "0_s1": "no", "0_s2": "yes", "1_s1": "no"}, "one of the second is another text"
    assert utilized == {"0_s0": "yes", "0_s1": "no", "0_s2": "yes", "1_s1": "no"}
    assert {row.hash for row in rows} == {text_hash(blue), text_hash(big)}, "so a changed sentence has no label"


def test_adherence_alone_labels_the_whole_response(tmp_path: Path) -> None:
    """Nothing is said of single sentences: labels of supported responses alone would be no sample of them."""
    run = traced(tmp_path, {**MARKS, "adherence": True})
    rows = [row for row in gold("labels", run) if row.task == "trace"]
    assert labels(rows) == {("t1/response/1", "trace"): "yes"}


def test_labels_of_units_name_their_task_or_have_one_verdict(tmp_path: Path) -> None:
    """In a field of the records with short names, and in a table with whole ones."""
    listed = [{"unit": "resp_s0", "label": "yes"}, {"unit": "t1/resp_s1", "label": "no", "annotator": "ann"}]
    run = evaluate([{**TRACE, "labels": listed}], ["trace", "groundedness", "claim_relevance", "grounding"],
                   store=tmp_path / "store.db")  # fmt: skip
    rows = gold("labels", run)
    assert [(row.unit, row.task, row.label, row.annotator) for row in rows] == [
        ("t1/resp_s0", "trace", "yes", "labels"),
        ("t1/resp_s1", "trace", "no", "ann"),
    ]
    table = tmp_path / "labels.csv"
    table.write_text("record,unit,label\nt1,t1/resp_s0,yes\nt1,t1/nothing/1,no\n", encoding="utf-8")
    assert labels(gold(table, run)) == {("t1/resp_s0", "trace"): "yes", ("t1/nothing/1", "unknown"): "no"}
    table.write_text("record,unit,label\nt1,t1/claim/1,yes\n", encoding="utf-8")
    with pytest.raises(
        InputError, match="names no task, and t1/claim/1 has verdicts for relevance and support"
    ) as told:
        gold(table, run)
    assert told.value.hint == (
        "add task to each label (a column or key), or to a whole file: ragstone label import FILE --task support -o "
        "labels.jsonl"
    )
    assert labels(import_labels(table, "support").rows) == {("t1/claim/1", "support"): "yes"}
    tasks = {of_score(score["metric"]).task() for score in run["t1"]["scores"]}
    assert tasks == {"trace", "support", "relevance"}


def test_what_is_no_gold_is_said(tmp_path: Path, assigned: Run) -> None:
    """One line: what was found and what is read."""
    bank = [{"qid": "q1", "nuggets": [{"text": "Paris"}]}]
    for given, message in (
        ("labels", "'labels' is not a file, a run, or a field of the records with labels; other fields are run_id"),
        (write(tmp_path / "bank.jsonl", bank), "contains no labels; its first record has qid, nuggets; expected label"),
        (write(tmp_path / "twice.jsonl", [{"qid": "q1", "block_nuggets_assignment": [{"assignment": "support"}]}]),
         "nugget 1 has no text"),
        (write(tmp_path / "rows.jsonl", [{"record": "q1", "unit": "q1/bank/1", "label": 1}]), "rows.jsonl:1: 'label'"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=re.escape(message)):
            gold(given, assigned)
    broken = {**TRACE, **MARKS, "documents_sentences": [[7]]}
    run = traced(tmp_path, MARKS)
    with pytest.raises(InputError, match=r"t1: unreadable labels \(.*RAGBench's sentence keys"):
        gold(write(tmp_path / "broken.jsonl", [broken]), run)
    (tmp_path / "answers.jsonl").unlink()
    with pytest.raises(InputError, match=r"its input 'answers\.jsonl' is not in this folder; specify the file"):
        gold("nuggets", assigned)

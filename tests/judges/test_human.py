"""The judge that answers from people's labels: a lookup, with no certainty beyond what they said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone import ConfigError, evaluate

RECORDS = [
    {"id": "a", "question": "What?", "response": "It boils. It is hot.", "contexts": ["It boils. It is cold."]},
    {"id": "b", "question": "What?", "response": "It boils.", "contexts": ["It boils."]},
]
LABELS = {
    "id": "a", "relevant": ["doc_0_s0"], "utilized": ["doc_0_s0", "doc_0_s1"],
    "support": {"resp_s0": ["doc_0_s0"], "resp_s1": []}, "supported": False,
}  # fmt: skip


def file(tmp_path: Path, *rows: Any) -> str:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return f"human:{path}"


def scores(tmp_path: Path, judge: str) -> dict[str, dict[str, Any]]:
    run = evaluate(RECORDS, "trace", judge, store=tmp_path / "store.db")
    found = {
        result["id"]: {score["metric"].removeprefix("trace."): score for score in result["scores"]}
        for result in run.results()
    }
    run.store.close()
    return found


def test_labels_are_looked_up_by_record(tmp_path: Path) -> None:
    found = scores(tmp_path, file(tmp_path, LABELS))
    assert {name: score["value"] for name, score in found["a"].items()} == {
        "adherence": 0.0, "relevance": 0.05, "utilization": 1.0, "completeness": 1.0, "average": 0.5125,
        "relevance_share": 0.5, "utilization_share": 1.0, "adherence_share": 0.5,
    }  # fmt: skip
    assert "|trace:human+labels#" in found["a"]["adherence"]["signature"]


def test_what_was_not_said_is_unjudged(tmp_path: Path) -> None:
    found = scores(tmp_path, file(tmp_path, {"id": "a", "supported": True}))
    assert {score["status"] for score in found["b"].values()} == {"judge_failed"}
    assert "no label for this record" in found["b"]["relevance"]["reason"]
    assert (found["a"]["adherence"]["value"], found["a"]["adherence"]["status"]) == (1.0, "scored")
    assert {found["a"][name]["status"] for name in ("adherence_share", "relevance")} == {"judge_failed"}


def test_a_key_that_no_sentence_has_is_dropped_and_named(tmp_path: Path) -> None:
    found = scores(tmp_path, file(tmp_path, {**LABELS, "relevant": ["doc_0_s0", "doc_7_s0"]}))["a"]
    assert found["relevance"]["value"] == 0.05
    assert found["adherence"]["detail"]["dropped"] == ["doc_7_s0"]


def test_labels_keep_the_sentences_that_came_with_the_record(tmp_path: Path) -> None:
    """The text has line breaks where the sentences have none, and other sentences by any splitter."""
    own = ["It boils at", "100 degrees.", "It is cold."]
    record = {**RECORDS[0], "contexts": [{"text": "It boils at\n\n100  degrees. It is cold.", "sentences": own}]}
    labels = file(tmp_path, {**LABELS, "relevant": ["doc_0_s1", "doc_0_s2"], "utilized": ["doc_0_s2"]})
    run = evaluate([record], "trace", labels, store=tmp_path / "store.db")
    (result,) = run.results()
    run.store.close()
    rows = result["scores"][0]["detail"]["contexts"]
    text = result["contexts"][0]["text"]
    assert [(text[row["start"] : row["end"]], row["relevant"], row["utilized"]) for row in rows] == [
        ("It boils at", False, False), ("100  degrees.", True, False), ("It is cold.", True, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["{"], r"labels.jsonl:1: not JSON"),
        (["[]"], r"labels.jsonl:1: no id; expected \{id, relevant"),
        ([LABELS, {"relevant": []}], r"labels.jsonl:2: no id"),
        ([{"id": "a", "relevant": "doc_0_s0"}], r"labels.jsonl:1: field 'relevant' is a str; expected"),
        ([LABELS, LABELS], r"labels.jsonl:2: the record 'a' is labelled twice"),
        ([""], r"labels.jsonl: no labels found"),
    ],
)
def test_a_file_that_holds_no_labels_is_refused_by_line(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate(RECORDS, "trace", file(tmp_path, *rows), store=tmp_path / "s.db")


def test_a_file_must_be_named_be_there_and_have_labels_of_the_step(tmp_path: Path) -> None:
    for judge, metric, message in (
        ("human:", "trace", r"write human:labels\.jsonl"),
        (f"human:{tmp_path / 'none.jsonl'}", "trace", "human: cannot read"),
        (file(tmp_path, LABELS), "groundedness", "cannot answer the step 'support'"),
    ):
        with pytest.raises(ConfigError, match=message):
            evaluate(RECORDS, metric, judge, store=tmp_path / "s.db")

"""Labels of other tools as label rows: what is read, what is skipped, and what is refused with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from own_metric import installed
from ragstone.cli.app import app
from ragstone.errors import InputError
from ragstone.labels import LabelDraw, read_labels, text_hash
from ragstone.records.label_imports import import_labels

UNIT = {"record": "r1", "unit": "r1/claim/1", "task": "support"}


def choice(*labels: str, name: str = "choice") -> dict[str, Any]:
    return {"type": "choices", "from_name": name, "to_name": "text", "value": {"choices": list(labels)}}


def saved(folder: Path, content: object, name: str = "labels.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_label_studio(tmp_path: Path) -> None:
    """Choices are labels, by annotator and question; cancelled annotations and empty ones are not."""
    draw = {"mode": "random", "seed": 0, "n": 50, "of": 200}
    tasks = [
        {
            "id": 1,
            "data": {**UNIT, "draw": draw, "text": "shown"},
            "annotations": [
                {"completed_by": 7, "was_cancelled": False, "result": [choice("yes")], "lead_time": 4.5},
                {"completed_by": {"id": 8, "email": "ann@example.org"}, "result": [choice("?")]},
                {"completed_by": 9, "was_cancelled": True, "result": [choice("no")]},
                {"completed_by": 9, "result": [{"type": "textarea", "value": {"text": ["hm"]}}]},
            ],
        },
        {
            "data": {"record": "r2", "unit": "r2/claim/1"},
            "annotations": [{"result": [choice("yes", name="support"), choice("no", name="relevance")]}],
        },
    ]
    found = import_labels(saved(tmp_path, tasks))
    assert [(row.unit, row.task, row.label, row.annotator, row.seconds) for row in found.rows] == [
        ("r1/claim/1", "support", "yes", "7", 4.5),
        ("r1/claim/1", "support", None, "ann@example.org", None),
        ("r2/claim/1", "support", "yes", "", None),
        ("r2/claim/1", "relevance", "no", "", None),
    ]
    assert found.rows[0].draw == LabelDraw("random", 0, 50, 200)
    assert found.skipped == {"cancelled": 1, "without a label": 1}


@pytest.mark.parametrize(
    "responses",
    [
        [
            {"user_id": "ann", "status": "submitted", "values": {"label": {"value": 2}}},
            {"user_id": "bob", "status": "draft", "values": {"label": {"value": 1}}},
        ],
        {"label": [{"user_id": "ann", "value": 2}, {"user_id": "bob", "value": 1, "status": "discarded"}]},
        [
            {"question_name": "label", "user_id": "ann", "value": 2, "status": "submitted"},
            {"question_name": "label", "user_id": "bob", "value": 1, "status": "draft"},
        ],
    ],
)
def test_argilla(tmp_path: Path, responses: object) -> None:
    """Submitted responses are labels, in the forms of both versions; drafts and discarded ones are not."""
    found = import_labels(saved(tmp_path, [{"fields": {"text": "x"}, "metadata": UNIT, "responses": responses}]))
    assert [(row.unit, row.task, row.label, row.annotator) for row in found.rows] == [
        ("r1/claim/1", "support", "2", "ann")
    ]
    assert found.skipped == {"not submitted": 1}


SHOWN: dict[str, Any] = {**UNIT, "record": 0, "response": "It is red. It is big."}
READ: list[dict[str, Any]] = [
    {"data": {**SHOWN, "text": "It is red."}, "annotations": [{"result": [choice("yes")]}]},
    {
        "fields": {"text": "It is red."},
        "metadata": SHOWN,
        "responses": [{"user_id": "", "values": {"label": {"value": "yes"}}}],
    },
    {**SHOWN, "text": "It is red.", "label": "yes"},
]


@pytest.mark.parametrize("row", READ)
def test_a_label_keeps_the_texts_that_were_read_and_a_record_may_be_a_number(tmp_path: Path, row: object) -> None:
    (found,) = import_labels(saved(tmp_path, [row])).rows
    assert (found.record, found.text, found.hash) == ("0", "It is red.", text_hash("It is red."))
    assert found.response == text_hash("It is red. It is big.")


def test_a_table_becomes_label_rows(tmp_path: Path) -> None:
    """The command writes rows that are read again, and says what it skipped; a unit left blank is no label."""
    table = saved(tmp_path, "record;unit;label;annotator\nr1;r1/claim/1;yes;ann\nr1;r1/claim/2;;ann\n", "labels.csv")
    out = tmp_path / "labels.jsonl"
    done = CliRunner().invoke(app, ["label", "import", str(table), "--task", "support", "-o", str(out)])
    assert (done.exit_code, " ".join(done.stderr.split())) == (
        0,
        "imported: 1 label, 1 unit, 1 annotator; skipped: 1 without a label",
    )
    (row,) = read_labels(out)
    assert row.as_json() == {**UNIT, "label": "yes", "annotator": "ann"}
    assert import_labels(out).rows == [row]
    read = saved(tmp_path, "record,unit,label,text\nr1,r1/claim/1,yes,It is red.\n", "read.csv")
    assert import_labels(read, "support").rows[0].hash == text_hash("It is red.")
    told = CliRunner().invoke(app, ["label", "import", str(table), "--task", "support", "-o", str(out), "--json"])
    assert orjson.loads(told.stdout)["skipped"] == {"without a label": 1}
    empty = saved(tmp_path, "record,unit,label\nr1,r1/claim/1,\n", "empty.csv")
    assert "contains no labels; skipped: 1" in CliRunner().invoke(app, ["label", "import", str(empty)]).stderr


def test_labels_on_a_scale_of_another_package_are_for_agree_to_check(tmp_path: Path) -> None:
    """A scale that only a metric of another package knows; without one, the message says what reads the file."""
    table = saved(tmp_path, "record,unit,label\nr1,r1/figure/1,polite\n", "labels.csv")
    command = ["label", "import", str(table), "--task", "support", "-o", str(tmp_path / "labels.jsonl")]
    with installed(tmp_path / "site"):
        assert CliRunner().invoke(app, command).exit_code == 0
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2
    assert "'polite' is not a label for support; expected no, yes;" in refused.stderr
    assert "hint: labels on a metric's own scale need no import: " in refused.stderr


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": 1, "text": "x"}], r"item 1: not a label \(keys: id, text\); expected label rows"),
        (
            [{"record": "r1", "unit": "r1/claim/1", "label": "yes"}],
            r"the label has no task; add the labelled run or --task: claims",
        ),
        (
            [{"data": UNIT, "annotations": [{"result": [choice("yes", "no")]}]}],
            r"unreadable labels \(2 choices for a unit, not one\)",
        ),
        (
            [{"data": {"record": "r1"}, "annotations": [{"result": [choice("yes", name="support")]}]}],
            "'unit' is missing",
        ),
        ([{"data": UNIT, "annotations": ["x"]}], "unreadable labels"),
        (
            [{"metadata": UNIT, "responses": [{"user_id": "ann", "values": {"q": {"value": ["a"]}}}]}],
            "not a single label",
        ),
        (
            [{**UNIT, "label": "yes"}, {**UNIT, "label": "no"}],
            r"item 2: .* is labelled yes and no without an annotator",
        ),
        ([{**UNIT, "label": "yes", "seconds": "long"}], "could not convert"),
        (
            [{**UNIT, "label": "maybe"}],
            r"item 1: 'maybe' is not a label for support; expected no, yes; or 1, 2, 3, 4, 5;",
        ),
    ],
)
def test_what_is_no_label_is_refused(tmp_path: Path, rows: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_labels(saved(tmp_path, rows))
    with pytest.raises(InputError, match=r"--task weigh: no such step; expected one of claims, "):
        import_labels(saved(tmp_path, rows), "weigh")

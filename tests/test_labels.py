"""Label rows: what is read, what is refused and where."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from msgspec.structs import replace

from ragstone.errors import InputError
from ragstone.judges.human import HumanJudge
from ragstone.labels import LabelDraw, LabelRow, read_labels, text_hash, textless

ROW = LabelRow(
    "r1", "r1/claim/1", "support", "yes", "ana", 4.5, LabelDraw("random", 0, 20, 400), "a1", text_hash("Six."), "Six."
)


def rows(tmp_path: Path, *lines: object) -> list[LabelRow]:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else orjson.dumps(line) for line in lines) + b"\n\n")
    return list(read_labels(path))


def test_a_row_is_read_as_it_was_written(tmp_path: Path) -> None:
    unsure = LabelRow("r1", "r1/claim/2", "support", None)
    assert unsure.as_json() == {"record": "r1", "unit": "r1/claim/2", "task": "support", "label": None}
    assert rows(tmp_path, ROW.as_json(), unsure.as_json(), ROW.as_json()) == [ROW, unsure]
    told = {**unsure.as_json(), "label": "?", "text": "Six.", "response": "Six."}
    assert rows(tmp_path, told) == [replace(unsure, text="Six.", hash=text_hash("Six."), response=text_hash("Six."))]
    marked = b"\xef\xbb\xbf" + orjson.dumps(ROW.as_json()) + b"\r"
    assert rows(tmp_path, marked, unsure.as_json()) == [ROW, unsure], "as an editor on Windows saves it"
    assert HumanJudge("human", str(tmp_path / "labels.jsonl")).can("support")


def test_the_hash_is_of_the_text_without_blank_ends() -> None:
    assert text_hash(" Six.\n") == text_hash("Six.") != text_hash("Six")


@pytest.mark.parametrize("task", ["support", "assign", "rubric"])
def test_a_label_of_a_whole_response_names_it(task: str) -> None:
    """The text of a claim is part of its response; a nugget or a criterion may be of any."""
    row = replace(ROW, task=task)
    assert (textless(row), textless(replace(row, response="a1"))) == (task != "support", False)
    assert textless(replace(row, hash=""))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", r"labels.jsonl:2: not JSON"),
        ([], r":2: a list, not a label"),
        (
            {"record": "r1", "unit": "r1/claim/2", "label": "yes"},
            r":2: 'task' is missing; .*convert other .*: ragstone label import",
        ),
        ({**ROW.as_json(), "label": 1}, r":2: 'label' is missing or not a string"),
        ({**ROW.as_json(), "seconds": -1}, r":2: seconds is -1"),
        ({**ROW.as_json(), "text": ["Six."]}, r":2: 'text' is a list"),
        ({**ROW.as_json(), "draw": {"mode": "best"}}, r":2: 'draw' is"),
        ({**ROW.as_json(), "draw": {"mode": "random", "seed": 0, "n": "20", "of": 400}}, r":2: 'seed', 'n' and 'of'"),
        ({**ROW.as_json(), "label": "no"}, r":2: r1/claim/1 \(support\) is labelled yes and no by ana; keep one"),
    ],
)
def test_a_wrong_row_is_refused_with_its_place(tmp_path: Path, line: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        rows(tmp_path, ROW.as_json(), line)

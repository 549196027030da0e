"""Citations: how they are read, precision and recall, and which sentences should have cited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from material import columns, record

from ragstone import estimate, evaluate
from ragstone.metrics.citation_marks import cited_sentences
from ragstone.metrics.citations import Citations
from ragstone.questions import Rate
from ragstone.testing import ScriptedJudge
from ragstone.types import Citation, Passage, Record, Span

TEXTS = ("The kettle is steel.", "It boils in two minutes.", "It was made in Ulm.")


def about(response: str, *names: str, citations: tuple[Citation, ...] = ()) -> Record:
    contexts = tuple(
        Passage(name, text, rank)
        for rank, (name, text) in enumerate(zip(names or ("1", "2", "3"), TEXTS, strict=True), 1)
    )
    return Record("r", question="What?", response=response, contexts=contexts, citations=citations)


def read(response: str, *names: str, numbering: str = "auto") -> tuple[list[tuple[str, list[int], list[str]]], str]:
    found, by = cited_sentences(about(response, *names), numbering)
    return [(one.unit.text, [p.rank for p in one.passages], list(one.unknown)) for one in found], by


@pytest.mark.parametrize(
    ("response", "wanted", "by"),
    [
        ("It is steel [1].", [("It is steel.", [1], [])], "from 1"),
        ("It is steel.[1] It boils. [2][3]", [("It is steel.", [1], []), ("It boils.", [2, 3], [])], "from 1"),
        ("It is steel [1, 3]. It boils.", [("It is steel.", [1, 3], []), ("It boils.", [], [])], "from 1"),
        ("It is steel [0]. It boils [2].", [("It is steel.", [1], []), ("It boils.", [3], [])], "from 0"),
        ("It is steel [doc2]; it boils [Doc 3].", [("It is steel; it boils.", [2, 3], [])], "from 1"),
        ("It is steel [1-3].", [("It is steel.", [1, 2, 3], [])], "from 1"),
        ("It is steel [1][1].", [("It is steel.", [1], [])], "from 1"),
        ("It is steel [9].", [("It is steel.", [], ["[9]"])], "from 1"),
        ("It is [sic] steel.", [("It is [sic] steel.", [], [])], "none"),
        ("In [2020] it was iron.", [("In [2020] it was iron.", [], [])], "none"),
        ("Use arr[0] for it [1].", [("Use arr[0] for it.", [1], [])], "from 1"),
        ("It is steel[0] and boils[2].", [("It is steel and boils.", [1, 3], [])], "from 0"),
        ("[1] It is steel.", [("It is steel.", [1], [])], "from 1"),
        ("钢制[1]。会沸腾[2]。", [("钢制。", [1], []), ("会沸腾。", [2], [])], "from 1"),
    ],
)
def test_marks(response: str, wanted: Any, by: str) -> None:
    """Numbers count from 0 if 0 is among them, else from 1; a mark after the full stop is of the sentence before it."""
    assert read(response) == (wanted, by)


def test_ids_come_before_numbers() -> None:
    """A mark that is an id of the record means that passage; the numbering may be set."""
    assert read("It is steel [doc3].", "doc3", "b", "7") == ([("It is steel.", [1], [])], "ids")
    assert read("It is steel [7].", "doc3", "b", "7") == ([("It is steel.", [3], [])], "ids")
    assert read("It is steel [1].", numbering="from_0")[0] == [("It is steel.", [2], [])]


def judge(table: dict[tuple[str, str], str], left: str = "not_support") -> Any:
    """Labels by sentence and passages' ranks; every label that is not in the table is ``left``."""

    def answer(question: Any) -> Any:
        ranks = "".join(str(passage.rank) for passage in question.passages)
        return [table.get((unit.text, ranks), left) for unit in question.units]

    return answer


def test_worked_example() -> None:
    """Citations: support, partial, none and one of no passage: (1 + .5 + 0 + 0) / 4. Sentences: 1, .5, 0 of 3."""
    response = "It is steel [1][2]. It boils [2][9]. It is from Ulm."
    table = {
        ("It is steel.", "1"): "support",
        ("It boils.", "2"): "partial_support",
        ("It is from Ulm.", "123"): "support",
    }
    scores, asked = columns(Citations(), about(response), judge(table))
    precision, recall = scores["citation_precision"], scores["citation_recall"]
    assert (precision.value, precision.asked) == (0.375, 4)
    assert (recall.value, recall.asked) == (0.5, 3)
    assert precision.detail["nonexistent"] == ["[9]"]
    assert precision.reason == "passages are numbered from 1; 1 citation to a nonexistent passage: [9]"
    assert [verdict.reason for verdict in precision.verdicts][:2] == ["cites passage 1", "cites passage 2"]
    assert recall.detail["uncited"] == ["r/cited/3"]
    assert recall.reason == "1 sentence lacks a citation: sentence 3"
    assert recall.verdicts[2].reason == "cites nothing"
    assert [len(q.passages) for q in asked if isinstance(q, Rate)] == [1, 1, 3]


def test_passages_that_support_only_together() -> None:
    """A sentence that no cited passage supports alone is asked once more against all that it cites."""
    table = {
        ("It is steel.", "1"): "partial_support",
        ("It is steel.", "2"): "partial_support",
        ("It is steel.", "12"): "support",
    }
    scores, asked = columns(Citations(), about("It is steel [1][2]."), judge(table))
    assert (scores["citation_precision"].value, scores["citation_recall"].value) == (0.5, 1.0)
    assert len(asked) == 3


def test_a_response_without_citations() -> None:
    """It has no precision; all that it states should have cited, and what states nothing need not."""
    scores, asked = columns(Citations(), about("Hello! It is steel."), {"support": ["trivial", "support"]})
    assert (scores["citation_precision"].value, scores["citation_precision"].status) == (None, "empty")
    assert (scores["citation_recall"].value, scores["citation_recall"].asked) == (0.0, 1)
    assert len(asked) == 1


def test_sentences_of_a_trec_answer() -> None:
    """Their citations are those of the record, also one that points to nothing."""
    row = {
        "topic_id": "t", "question": "What?", "references": ["a", "b"],
        "contexts": [{"id": "b", "text": TEXTS[1]}, {"id": "a", "text": TEXTS[0]}],
        "answer": [{"text": "It is steel.", "citations": [0, 7]}, {"text": "It boils.", "citations": [1]}],
    }  # fmt: skip
    run = evaluate([row], "citations", ScriptedJudge({"support": "support"}))
    precision, recall = run["t"]["scores"]
    assert (precision["value"], recall["value"]) == (0.666666667, 1.0)
    assert precision["detail"]["nonexistent"] == ["[7]"]
    assert precision["detail"]["numbering"] == "record"


@given(st.lists(st.sampled_from(["support", "partial_support", "not_support", None]), min_size=3, max_size=3))
def test_a_citation_that_does_not_support_lowers_precision_only(labels: list[Any]) -> None:
    """One more citation of a passage that does not exist leaves recall as it is."""
    base = "It is steel [1]. It boils [2]. It is from Ulm [3]."
    table = dict(zip([("It is steel.", "1"), ("It boils.", "2"), ("It is from Ulm.", "3")], labels, strict=True))
    before, _ = columns(Citations(), about(base), judge(table))
    after, _ = columns(Citations(), about(base.replace("[2]", "[2][8]")), judge(table))
    assert before["citation_recall"].value == after["citation_recall"].value
    first, second = (scores["citation_precision"].value for scores in (before, after))
    assert first is None or (second is not None and second <= first and (second < first or first == 0))


def test_calls_are_one_for_each_passage_cited(tmp_path: Path) -> None:
    """Sentences that cite the same passage go together, those that cite nothing make one call; the estimate agrees."""
    row = {"id": "r", "question": "What?", "contexts": [*TEXTS],
           "response": "It is steel [1]. It is made of steel [1]. It boils [2]. It is from Ulm."}  # fmt: skip
    judged = ScriptedJudge({"support": "support"})
    told = estimate([row], "citations", judged, store=tmp_path / "s.db")
    assert [one.calls.worlds[1] for one in told.rows] == [3]
    assert evaluate([row], "citations", judged).summary()["cost"]["calls"] == 3


def test_a_record_without_contexts_costs_nothing() -> None:
    scores, _ = columns(Citations(), record("It is [1].", no_contexts=True), {})
    assert scores["citation_recall"].reason == "no contexts"


def test_spans_of_the_record() -> None:
    """Ragstone's own citations name passages by id; equal ones count once."""
    cited = (Citation(Span(0, 12), ("2", "2", "x")),)
    found, by = cited_sentences(about("It is steel. It boils.", citations=cited), "auto")
    assert ([p.rank for p in found[0].passages], found[0].unknown, by) == ([2], ("x",), "record")

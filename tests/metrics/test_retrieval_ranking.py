"""Retrieval: trec_eval's numbers, by ids or by a judge's grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from material import columns, nobody, record

from ragstone import evaluate
from ragstone.errors import ConfigError, RecordError
from ragstone.metrics.retrieval_ranking import COLUMNS, RetrievalRanking, measures
from ragstone.questions import Rate
from ragstone.records.topics import read_qrels
from ragstone.render.facts import shortfall
from ragstone.testing import ScriptedJudge
from ragstone.types import Passage, Record

GRADES = st.lists(st.integers(0, 3), min_size=1, max_size=9)


def ranked(relevant: Mapping[str, int] | None, *names: str) -> Record:
    contexts = tuple(Passage(name, f"text of {name}", rank) for rank, name in enumerate(names, 1))
    return Record("r", question="What?", response="It.", contexts=contexts, relevant=relevant)


@pytest.mark.parametrize(
    ("relevant", "run", "k", "level", "wanted"),
    [
        ({"d1": 3, "d2": 2, "d3": 0, "d4": 1}, "d3 d1 d5 d2", 3, 1, (0.39749, 0.333333, 0.333333, 0.5, 0.333333)),
        ({"a": 1, "b": 1, "c": 1}, "x b y a", 5, 1, (0.498189, 0.4, 0.666667, 0.5, 0.333333)),
        ({"a": 2, "b": 1, "c": 3}, "b a z c", 2, 2, (0.530721, 0.5, 0.5, 0.5, 0.5)),
    ],
)
def test_numbers_of_trec_eval(
    relevant: Mapping[str, int], run: str, k: int, level: int, wanted: Sequence[float]
) -> None:
    """As pytrec_eval 0.5 computes ndcg_cut, P, recall, recip_rank and map; it costs no call."""
    scores, _ = columns(RetrievalRanking(k=k, level=level), ranked(relevant, *run.split()), nobody)
    assert [round(scores[name].value or 0.0, 6) for name in COLUMNS] == list(wanted)


@given(GRADES, GRADES, st.integers(1, 10), st.integers(1, 3))
def test_every_number_is_that_of_trec_eval(found: list[int], missed: list[int], k: int, level: int) -> None:
    """Of passages that were retrieved, in their order, and of others that were judged; it has 0 where we have none."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = {f"d{n}": grade for n, grade in enumerate(found + missed)}
    theirs = {
        "ndcg": f"ndcg_cut_{k}", "precision": f"P_{k}", "recall": f"recall_{k}", "mrr": "recip_rank",
        "average_precision": "map",
    }  # fmt: skip
    wanted = {f"ndcg_cut.{k}", f"P.{k}", f"recall.{k}", "recip_rank", "map"}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": qrels}, wanted, relevance_level=level)
    told = evaluator.evaluate({"q": {f"d{n}": float(-n) for n in range(len(found))}})["q"]
    ours = measures(found, found + missed, k, level)
    assert {name: value or 0.0 for name, value in ours.items()} == pytest.approx(
        {name: told[measure] for name, measure in theirs.items()}
    )


@given(GRADES, st.integers(1, 10))
def test_the_ideal_order_is_best(grades: list[int], k: int) -> None:
    """Every measure is in [0, 1], and none is higher in another order than by falling grade."""
    found, ideal = (measures(order, grades, k) for order in (grades, sorted(grades, reverse=True)))
    assert ideal["ndcg"] in (None, pytest.approx(1))
    assert ideal["average_precision"] in (None, pytest.approx(1))
    for name, value in found.items():
        best = ideal[name]
        assert (value is None) is (best is None)
        assert value is None or best is None or 0 <= value <= best + 1e-12 <= 1 + 1e-9


@given(GRADES, st.data())
def test_passages_of_equal_grade_may_change_places(grades: list[int], data: st.DataObject) -> None:
    """Only grades count, not which passage has them."""
    names = [f"d{n}" for n in range(len(grades))]
    swapped = list(names)
    first, second = (data.draw(st.sampled_from(range(len(names)))) for _ in range(2))
    if grades[first] == grades[second]:
        swapped[first], swapped[second] = names[second], names[first]
    relevant = dict(zip(names, grades, strict=True))
    before, after = (columns(RetrievalRanking(), ranked(relevant, *order), nobody)[0] for order in (names, swapped))
    assert {name: one.value for name, one in before.items()} == {name: one.value for name, one in after.items()}


def test_what_is_odd_is_named() -> None:
    """Passages that were not retrieved, came twice or have equal retrieval scores, and too short a ranking."""
    about = ranked({"x": 1, "y": 1}, "x", "x#2", "z")
    about = Record(**{f: getattr(about, f) for f in ("id", "question", "response", "contexts", "relevant")},
                   meta={"context_details": {"x#2": {"score": 0.4}, "z": {"score": 0.4}}})  # fmt: skip
    lead = columns(RetrievalRanking(), about, nobody)[0]["ndcg"]
    assert lead.detail["not_retrieved"] == ["y"]
    assert lead.detail["retrieved_twice"] == ["x"]
    assert lead.detail["with_the_score_of_the_one_before"] == ["z"]
    assert lead.reason == (
        "1 not retrieved: y; 1 retrieved twice: x; 1 tied with the previous passage: z; "
        "3 retrieved, but precision divides by 5"
    )


def test_no_relevant_passage_has_no_recall() -> None:
    """Where a denominator is 0 there is no value; precision and reciprocal rank are 0. Nothing retrieved is 0."""
    scores, _ = columns(RetrievalRanking(), ranked({}, "x"), nobody)
    assert {name: one.value for name, one in scores.items()} == {
        "ndcg": None, "precision": 0.0, "recall": None, "mrr": 0.0, "average_precision": None,
    }  # fmt: skip
    assert (scores["recall"].status, scores["recall"].reason) == ("empty", "no passage is relevant")
    scores, _ = columns(RetrievalRanking(), ranked({"x": 1}), nobody)
    assert {one.value for one in scores.values()} == {0.0}
    scores, _ = columns(RetrievalRanking(), ranked({"x": 1}, "1", "2"), nobody)
    assert {(one.value, one.status) for one in scores.values()} == {(None, "missing_field")}, "no passage has an id"
    assert columns(RetrievalRanking(), ranked({"2": 1, "x": 1}, "1", "2"), nobody)[0]["mrr"].value == 0.5


def test_without_ids_the_grades_of_context_relevance_are_used() -> None:
    """The question is the same, so both cost one call; in a suite it is not asked. What is unjudged is not ranked."""
    about = record("It.", "one", "two", "three")
    scores, (asked,) = columns(RetrievalRanking(), about, {"relevance": ["1", "3", "0"]})
    assert scores["mrr"].value == 0.5
    assert scores["ndcg"].detail["by"] == "labels"
    assert isinstance(asked, Rate)
    scores, _ = columns(RetrievalRanking(ask=False), about, nobody)
    assert scores["mrr"].reason == "no relevant ids"
    judge = ScriptedJudge({"relevance": ["1", "3", "0"]})
    row = {"id": "r", "question": "What?", "response": "It.", "contexts": ["one", "two", "three"]}
    run = evaluate([row], "retrieval_ranking,context_relevance", judge)
    assert run.summary()["cost"]["calls"] == 1
    scores, _ = columns(RetrievalRanking(k=2), record("It.", "one", "two", "three"), {"relevance": ["0", None, "3"]})
    assert (scores["mrr"].value, scores["mrr"].low, scores["mrr"].high) == (0.5, 0.0, 1.0)
    assert (scores["mrr"].status, scores["mrr"].unjudged) == ("partial", 1)


def test_qrels_replace_the_ids_of_records(tmp_path: Path) -> None:
    """They are found by topic, and passages by id, also by that of a text; their digest is in the signature."""
    path = tmp_path / "q.qrels"
    path.write_text("t1 0 reference 1\nt1 0 a 0\nt2 Q0 z 2\n")
    rows = [{"id": name, "question": "What?", "contexts": [{"id": "a", "text": "A."}, {"id": "reference", "text": "B"}]}
            for name in ("t1", "t3")]  # fmt: skip
    run = evaluate(rows, "retrieval_ranking", qrels=path)
    one, other = (run[name]["scores"][3] for name in ("t1", "t3"))
    assert (one["metric"], one["value"]) == ("retrieval_ranking.mrr", 0.5)
    assert f"relevance:qrels#{read_qrels(path).digest}" in one["signature"]
    assert (other["value"], other["status"]) == (None, "missing_field")  # no judge grades it instead
    assert "relevant: topic is not in the qrels" in run["t3"]["notes"]
    with pytest.raises(
        ConfigError, match=r"q\.qrels has no grades for any topic of .*: its topics look like 't1', .* like 't3'"
    ):
        evaluate(rows[1:], "retrieval_ranking", qrels=path)


def test_a_bad_order_of_relevant_passages_lacks_no_passage() -> None:
    row = {"id": "t1", "contexts": [{"id": name, "text": "A."} for name in "ab"], "relevant": {"a": 1, "b": 3}}
    result = evaluate([row], "retrieval_ranking")["t1"]
    assert result.score("retrieval_ranking.ndcg")["value"] < 1
    assert shortfall(result, result.score("retrieval_ranking.ndcg")) == ""  # not "0 of 2 passages not relevant"


def test_a_bank_does_not_stand_for_qrels(tmp_path: Path) -> None:
    """Only a file of relevant ids replaces the judge of this metric."""
    path = tmp_path / "bank.jsonl"
    path.write_text('{"qid": "t1", "nuggets": ["fact"]}')
    row = {"id": "t1", "question": "What?", "contexts": ["A."], "response": "A."}
    run = evaluate([row], ["retrieval_ranking", "nugget_recall"], nuggets=path)
    assert run["t1"]["scores"][0]["value"] is not None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("t1 0 a", "'t1 0 a' is not a relevance judgment"),
        ("t1 0 a x", "'t1 0 a x' is not a relevance judgment"),
        ("t1 0 a 1\nt1 0 a 2", "'a' of topic 't1' is graded 2 here, but has a different grade above"),
        ("\n", "contains no rows"),
    ],
)
def test_qrels_that_cannot_be_read(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "q.qrels"
    path.write_text(text)
    with pytest.raises(RecordError, match=found):
        read_qrels(path)


@pytest.mark.parametrize(
    "given", [["a", "b"], {"a": 1, "b": 1}, [{"id": "a"}, {"docid": "b", "grade": 1}], [{"doc_id": "a"}, "b"]]
)
def test_forms_of_relevant_ids(given: object) -> None:
    row = {"id": "r", "contexts": [{"id": "b", "text": "B."}], "relevant_ids": given}
    assert evaluate([row], "retrieval_ranking")["r"]["relevant"] == {"a": 1, "b": 1}

"""The words of every screen: what the embedded judge alone says is found, what others say is supported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from page_blocks import drawn, unpacked
from ragstone import compare, evaluate
from ragstone.judges.base import Judge
from ragstone.metrics.words import FOUND, SUPPORTED
from ragstone.questions import Question, Rate, Write
from ragstone.render.facts import RunFacts
from ragstone.render.html.case import case_of
from ragstone.render.html.document import to_json
from ragstone.render.html.overview import overview_of
from ragstone.render.html.rows import RowCounts
from ragstone.render.terminal.case import case
from ragstone.render.terminal.compare_screen import compare_page
from ragstone.render.terminal.outcome import outcome
from ragstone.render.terminal.screen import Look
from ragstone.render.wording import by_embedded, in_words, labels_of, why, word
from ragstone.testing import ScriptedJudge

METRICS = ("grounding", "groundedness", "response_groundedness")
PAGE = "The kettle is made of steel. It holds two litres."
RECORDS = [
    {"id": "good", "question": "Steel?", "response": "The kettle is made of steel.", "contexts": [PAGE, "Else."]},
    {"id": "bad", "question": "Jazz?", "response": "Purple elephants invented jazz in Lisbon.", "contexts": [PAGE]},
]


def model(question: Question[Any]) -> list[str]:
    """What a language model would say of the records: the claim on elephants has no support."""
    if isinstance(question, Write):
        return [sentence.text for sentence in question.sentences]
    assert isinstance(question, Rate)
    labels = question.scale.labels
    return [labels[0] if "elephants" in unit.text else labels[-1] for unit in question.units]


@pytest.mark.parametrize("judge", ["embedded", ScriptedJudge(model)], ids=["embedded", "model"])
def test_the_embedded_judge_alone_finds_and_a_model_supports(judge: str | Judge, tmp_path: Path) -> None:
    """In the headline, the tables, the page's sentence and cards, the notebook and every record."""
    parameters = {"response_groundedness": {"shortcuts": False}}
    run = evaluate(RECORDS, METRICS, judge, parameters=parameters, store=tmp_path / "s.db")
    first = overview_of(RunFacts(run), RowCounts())
    told = "".join(part["text"] for part in first["sentence"]) + "".join(one["title"] for one in first["metrics"])
    told += drawn(outcome(run, Look(80))).partition("  Judge")[0] + run._repr_html_().partition("judged by")[0]
    records = "".join(drawn(case(result, 2, run.id, Look(80))) for result in run.results())
    records += "".join(result._repr_html_() for result in run.results())
    records += "".join(to_json(case_of(result, {})["scores"]).decode() for result in run.results())
    alone = judge == "embedded"
    assert ("support" in told) is not alone
    assert ("claim that was not found" in told) is alone
    assert ("✗ not found" in records) is alone
    for words in ("excellent", "everything the response says", "not supported", "✓ supported"):
        assert (words in records) is not alone


def test_a_contradicted_claim_is_called_so(tmp_path: Path) -> None:
    """In the run, its records, its notebook and a comparison; beside one that is not found, each has its own word."""
    passage = "The car costs 38 euros."
    responses = ("The car costs 410 euros.", "The car costs 410 euros. Ferries sail.")
    told = []
    for said in (passage, *responses):
        row = {"id": "r", "question": "q", "response": said, "contexts": [passage]}
        told.append(evaluate([row], "grounding", "embedded", store=tmp_path / "s.db"))
    right, one, both = told
    shown = drawn(case(one["r"], 1, 1, Look(80)))
    assert "✗ contradicted" in shown
    assert "not found" not in shown
    assert "1 of 1 claim contradicted" in drawn(outcome(one, Look(80)))
    assert "✗ contradicted" in one["r"]._repr_html_()
    assert "Legend: ✗ contradicted or not found" in drawn(case(both["r"], 1, 1, Look(80)))
    assert "2 of 2 claims contradicted or not found" in drawn(outcome(both, Look(80)))
    compared = drawn(compare_page(compare(right, one, out=tmp_path / "c.html"), right, one, Look(80)))
    assert "Legend: ✗ contradicted" in compared
    page = unpacked((tmp_path / "c.html").read_bytes())
    (record,) = page[page["first"]["moved"]["grounding"]["block"]]
    assert [side["word"] for row in record["changed"] for side in row["sides"] if side] == ["contradicted"]


def test_a_citation_of_nothing_and_one_that_does_not_exist_have_the_words_of_the_others(tmp_path: Path) -> None:
    """No judge gave the verdict on ``[9]``; the signature says whose words to use."""
    record = {"question": "Q?", "response": "The lid is steel. It is grey [9].", "contexts": ["The lid is steel."]}
    result = evaluate([record], "citations", store=tmp_path / "s.db").find("#1")
    assert result
    score = result["scores"][1]
    words = [word(score["metric"], verdict, score["signature"]) for verdict in score["verdicts"]]
    assert words == ["not matched by a cited passage"] * 2


def test_a_grade_is_said_beside_its_value(tmp_path: Path) -> None:
    """A reason that tells of support beside a value of 0% is then read as what the grade was made of."""
    names = ["response_groundedness", "answer_relevance"]
    run = evaluate(RECORDS[1:], names, ScriptedJudge(model), store=tmp_path / "s.db")
    (result,) = run.results()
    told = drawn(case(result, 1, run.id, Look(80)))
    run.store.close()
    assert "response_groundedness    0%  rated 0 out of 2" in told
    assert [score.get("grade") for score in case_of(result, {})["scores"]] == ["rated 0 out of 2", "rated 0 out of 3"]


@pytest.mark.parametrize(("step", "alone"), [
    ("claims:m@x+p#1|support:embedded+embedded-6#cf3dca", True),
    ("response_support:embedded+embedded-6#a+embedded-6#a", True),
    ("claims:embedded+embedded-6#a|support:m@x+p#1", False),
    ("support:embedded+embedded-6#a@0.05[0.1]>m@x+p#1", False),
    ("support:[embedded+embedded-6#a,m@x+p#1]mean", False),
    ("support:embedded+embedded-6#a.b,cut=0.62", True),
    ("trace:human+labels#0f", False),
    ("assign:gold#81be0c", False),
])  # fmt: skip
def test_the_judges_of_the_verdicts_decide(step: str, alone: bool) -> None:
    """Not those of other steps; in a cascade each verdict has the words of its own judge."""
    assert by_embedded(f"m|threshold:0.8|{step}|v:0.1.0") is alone
    assert labels_of("grounding", [{"judge": "m@x"}, {"judge": "embedded"}]) is FOUND
    assert labels_of("grounding", [{"judge": "m@x"}, {"judge": "embedded+m@x"}]) is SUPPORTED


def test_sentences_of_one_passage_are_named_together(tmp_path: Path) -> None:
    """With the verb in the plural; a single one is named as it is."""
    result = evaluate(RECORDS[:1], "trace", store=tmp_path / "s.db")["good"]
    assert in_words(result, "found in doc_0_s0 and doc_0_s1") == "found in passage 1, sentences 1 and 2"
    found = in_words(result, "doc_0_s0, doc_0_s1 says two; nearest: doc_1_s0")
    assert found == "passage 1, sentences 1 and 2 say two; nearest: passage 2, sentence 1"


def test_the_reason_of_a_panel_begins_with_the_members_it_agrees_with() -> None:
    """A member who disagrees is named with its label, so that its reason does not pass for that of the verdict."""
    yes = {"judge": "embedded", "label": "yes", "reason": "found in passage 1"}
    no = {"judge": "a/m@http://h:1", "label": "no", "reason": ""}
    lost = {"judge": "b/m@http://h:2", "label": None, "reason": "", "failure": "no reply"}
    panel = {"judge": "p", "label": "no", "reason": "", "members": [yes, no, lost]}
    assert why(panel) == "a/m no; embedded yes: found in passage 1; b/m: no reply"
    assert why({**panel, "members": [no, {**no, "judge": "a/m@http://h:2"}]}) == "a/m@http://h:1 no; a/m@http://h:2 no"
    assert why({**lost, "members": []}) == "no reply"

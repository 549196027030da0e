"""The RAG triad: passages and response against the question, sentences against the contexts, grades 0 to 3."""

from __future__ import annotations

from typing import Any

import pytest
from material import CONTEXTS, QUESTION, RESPONSE, record, weigh

from ragstone.metrics import find
from ragstone.questions import GRADE_0_3
from ragstone.types import Span

SENTENCES = ["The kettle is steel.", "It boils fast.", "It costs ten."]
BY_NAME = pytest.mark.parametrize("name", ["groundedness", "context_relevance", "answer_relevance"])


def only(asked: list[Any]) -> Any:
    (question,) = asked
    assert question.scale == GRADE_0_3
    return question


def test_groundedness_rates_each_sentence_against_all_contexts() -> None:
    """Grades 3, 1, 2 are 1, 1/3, 2/3; the mean is 2/3. Sentences carry where they stand."""
    score, asked = weigh(find("groundedness")(), record(), {"support": ["3", "1", "2"]})
    assert score.value == pytest.approx(2 / 3)
    assert [verdict.raw for verdict in score.verdicts] == [3, 1, 2]
    question = only(asked)
    assert [unit.text for unit in question.units] == SENTENCES
    assert [unit.id for unit in question.units] == [f"r/sentence/{n}" for n in (1, 2, 3)]
    assert [passage.text for passage in question.passages] == list(CONTEXTS)
    assert (question.task, question.evidence, question.skippable, question.reasons) == ("support", True, True, False)
    question = only(weigh(find("groundedness")(), record(), {"support": "3"})[1])
    spans = [unit.span for unit in question.units]
    assert spans == [Span(0, 20), Span(21, 35), Span(36, 49)]
    assert [RESPONSE[span.start : span.end] for span in spans if span] == SENTENCES


def test_trivial_sentences_are_left_out_counted_and_listed() -> None:
    """They leave the denominator; the detail says which they are."""
    score, _ = weigh(find("groundedness")(), record(), {"support": ["trivial", "3", "0"]})
    assert (score.value, score.asked, score.unjudged) == (0.5, 2, 0)
    assert score.detail["trivial"] == ["r/sentence/1"]
    assert len(score.verdicts) == 3


def test_context_relevance_keeps_the_value_of_each_passage() -> None:
    """Each against the question, and their mean; a blank one is left out, an unjudged one has no value, ranks stay."""
    score, asked = weigh(find("context_relevance")(), record(), {"relevance": ["3", "1"]})
    assert score.value == pytest.approx(2 / 3)
    assert score.detail["passages"] == {"p1": 1.0, "p2": pytest.approx(1 / 3)}
    question = only(asked)
    assert (question.task, question.question, question.passages) == ("relevance", QUESTION, ())
    assert [(unit.id, unit.parent, unit.text) for unit in question.units] == [
        ("r/passage/1", "p1", CONTEXTS[0]), ("r/passage/2", "p2", CONTEXTS[1]),
    ]  # fmt: skip
    score, asked = weigh(find("context_relevance")(), record("A.", " ", "Text."), {"relevance": "3"})
    assert [unit.id for unit in only(asked).units] == ["r/passage/2"]
    assert score.detail["passages"] == {"p2": 1.0}
    score, _ = weigh(find("context_relevance")(), record(), {"relevance": ["3", None]})
    assert (score.value, score.status) == (1.0, "partial")
    assert score.detail["passages"] == {"p1": 1.0, "p2": None}


@pytest.mark.parametrize(("grade", "value"), [("0", 0.0), ("1", 1 / 3), ("2", 2 / 3), ("3", 1.0)])
def test_answer_relevance_grades_the_whole_response(grade: str, value: float) -> None:
    score, asked = weigh(find("answer_relevance")(), record(), {"relevance": grade})
    assert score.value == pytest.approx(value)
    question = only(asked)
    assert (question.task, question.question) == ("relevance", QUESTION)
    assert [(unit.id, unit.level, unit.text, unit.span) for unit in question.units] == [
        ("r/response/1", "response", RESPONSE, Span(0, len(RESPONSE)))
    ]


@BY_NAME
def test_reasons_and_a_threshold_are_set_on_request(name: str) -> None:
    script = {"support": "3", "relevance": "3"}
    score, asked = weigh(find(name)(), record(), script)
    assert (only(asked).reasons, score.outcome, "trivial" in score.detail) == (False, None, False)
    assert weigh(find(name)().with_parameters({"threshold": 0.9}), record(), script)[0].outcome == "PASSED"
    assert only(weigh(find(name)().with_parameters({"reasons": True}), record(), script)[1]).reasons is True

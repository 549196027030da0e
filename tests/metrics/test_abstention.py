"""Abstention: four outcomes, from the questions of other metrics and one of its own."""

from __future__ import annotations

from typing import Any

import pytest
from material import DOWN, columns, record
from msgspec.structs import replace

from ragstone import evaluate
from ragstone.metrics.abstention import COLUMNS, AbstentionRates
from ragstone.questions import ANSWERED, Write
from ragstone.testing import ScriptedJudge
from ragstone.types import Record


def script(answers: Any, support: Any = (), relevance: Any = ()) -> Any:
    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return [f"Claim {n}." for n in range(len(support))]
        if question.scale == ANSWERED:
            return answers
        return list(support if question.task == "support" else relevance)

    return answer


def falls(about: Record, *answers: Any) -> tuple[str, list[str]]:
    """The column that a record falls into, and the steps that were asked."""
    scores, asked = columns(AbstentionRates(), about, script(*answers))
    assert sum(score.value or 0.0 for score in scores.values()) == 1
    return next(name for name, score in scores.items() if score.value), [question.task for question in asked]


@pytest.mark.parametrize(
    ("about", "answers", "column", "steps"),
    [
        (record(), ("answers", ["yes", "yes"]), "answered_supported", ["relevance", "claims", "support"]),
        (record(), ("answers", ["yes", "no", "no"]), "answered_unsupported", ["relevance", "claims", "support"]),
        (record(), ("abstains", (), ["1", "1"]), "abstained_rightly", ["relevance", "relevance"]),
        (record(), ("abstains", (), ["0", "2"]), "abstained_wrongly", ["relevance", "relevance"]),
        (record(answerable=False), ("abstains",), "abstained_rightly", ["relevance"]),
        (record(answerable=True), ("abstains",), "abstained_wrongly", ["relevance"]),
        (record(no_contexts=True), ("abstains",), "abstained_rightly", ["relevance"]),
        (replace(record(), contexts=()), ("answers", ["yes"]), "answered_unsupported", ["relevance", "claims"]),
        (record(), ("answers", ["yes", "yes", "yes", None]), "answered_supported", ["relevance", "claims", "support"]),
    ],
)
def test_outcomes(about: Record, answers: Any, column: str, steps: list[str]) -> None:
    """Supported from .6 of the claims on; answerable as the record says, else by a passage of grade 2."""
    assert falls(about, *answers) == (column, steps)


@pytest.mark.parametrize(
    ("answers", "status", "reason"),
    [
        ((DOWN,), "judge_failed", "the endpoint is down"),
        (("answers", DOWN), "judge_failed", "claims not extracted: the endpoint is down"),
        (("answers", []), "empty", "the response answers but makes no claims"),
        (("abstains", (), ["1", None]), "judge_failed", "1 of 2 passages unjudged"),
        (("answers", ["yes", None, None]), "judge_failed", "2 of 3 unjudged"),
        (("answers", [None]), "judge_failed", "1 of 1 unjudged"),
    ],
)
def test_what_cannot_be_told_is_no_outcome(answers: Any, status: str, reason: str) -> None:
    def answer(question: Any) -> Any:
        if isinstance(question, Write) and answers[1:] == (DOWN,):
            return DOWN
        return script(*answers)(question)

    scores, _ = columns(AbstentionRates(), record(), answer)
    if status == "judge_failed" and answers != (DOWN,):  # whether rightly or not: it is an answer, or is none
        others = COLUMNS[:2] if answers[0] == "abstains" else COLUMNS[2:]
        assert [scores.pop(column).value for column in others] == [0, 0]
    assert {score.value for score in scores.values()} == {None}
    assert {score.status for score in scores.values()} == {status}
    assert all(score.reason.startswith(reason) for score in scores.values())


def test_an_answer_without_the_field_contexts_is_not_unsupported() -> None:
    """Contexts that the file lacks are no retriever that found nothing; claims that failed are not supported claims."""
    scores, _ = columns(AbstentionRates(), record(no_contexts=True), script("answers", ["yes"]))
    assert [(score.value, score.status) for score in scores.values()] == [
        (None, "missing_field"), (None, "missing_field"), (0, "scored"), (0, "scored"),
    ]  # fmt: skip

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return ["It is steel."] if question.part == 1 else DOWN
        return "answers" if question.scale == ANSWERED else "yes"

    scores, asked = columns(AbstentionRates(), record("The kettle is made of steel. " * 120), answer)
    assert sum(isinstance(question, Write) for question in asked) > 1
    assert [score.status for score in scores.values()] == ["judge_failed", "judge_failed", "scored", "scored"]


def test_rates_have_intervals_and_questions_are_shared() -> None:
    """Beside grounding and context_relevance it costs one call a record; rates are means over records."""
    rows = [{"id": name, "question": "What?", "contexts": ["Steel."], "response": f"It is {name}."} for name in "abcd"]

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return ["A claim."]
        if question.scale == ANSWERED:
            return "abstains" if "It is a." in question.units[0].text else "answers"
        return "yes" if question.task == "support" else "3"

    run = evaluate(rows, "grounding,context_relevance,abstention", ScriptedJudge(answer))
    told = run.summary()["metrics"]
    means = {name: told[f"abstention.{name}"]["mean"] for name in COLUMNS}
    assert means == {
        "answered_supported": 0.75, "answered_unsupported": 0, "abstained_rightly": 0, "abstained_wrongly": 0.25,
    }  # fmt: skip
    assert told["abstention.answered_supported"]["interval"] == [0.25, 1.0]
    assert {run[name]["cost"]["calls"] for name in "abcd"} == {2 + 1 + 1}


@pytest.mark.parametrize(
    ("passage", "column"),
    [
        ("Anna Holm owns the mill.", "abstained_wrongly"),
        ("Tea is a shrub.", "abstained_rightly"),
        ("The mill is old. Whoever owns the mill must keep the roof of the mill in repair.", ""),
        ("The late fee of the mill is two euros a day.", ""),
    ],
)
def test_the_embedded_judge_calls_no_abstention_wrong_for_shared_words_alone(passage: str, column: str) -> None:
    """A passage with the question's words and without what it asks for may answer or not: which it is has no value."""
    row = {"id": "r", "question": "Who owns the mill?", "contexts": [passage], "response": "I could not find this."}
    scores = evaluate([row], "abstention")["r"]["scores"]
    assert [score["metric"].partition(".")[2] for score in scores if score["value"]] == [column] * bool(column)
    if not column:
        assert [score["value"] for score in scores] == [0, 0, None, None]
        assert [score["status"] for score in scores] == ["scored", "scored", "judge_failed", "judge_failed"]
        assert scores[0]["reason"] == "abstained"
        assert scores[2]["reason"].startswith("passage 1 shares words with the question, so it may")


@pytest.mark.parametrize(
    ("response", "answers"),
    [
        ("I'm sorry, but I cannot answer that from the documents.", False),
        ("The context does not mention the owner.", False),
        ("Anna Holm owns the mill.", True),
        ("Anna Holm owns it. The documents do not say since when.", True),
    ],
)
def test_the_embedded_judge_recognises_abstaining(response: str, answers: bool) -> None:
    row = {"id": "r", "question": "Who owns the mill?", "contexts": ["Anna Holm owns the mill."], "response": response}
    lead = evaluate([row], "abstention")["r"]["scores"][0]
    assert [verdict["label"] for verdict in lead["verdicts"]] == ["answers" if answers else "abstains"]

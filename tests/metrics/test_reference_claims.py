"""Answer correctness and context recall: the claims of a reference, and what they share with other metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from material import REFERENCE, Script, columns, passages, record, weigh
from msgspec.structs import replace

from ragstone import evaluate
from ragstone.judges.base import Failed
from ragstone.metrics import find
from ragstone.metrics.base import Metric
from ragstone.metrics.twotexts import f1
from ragstone.questions import Rate, Rated, Write
from ragstone.testing import ScriptedJudge
from ragstone.types import Quote, Record, Score, Span, Verdict

OWN = ["The kettle is steel.", "It boils fast.", "It costs ten."]
GOLD = ["The kettle is steel.", "It boils in two minutes.", "It holds a litre.", "It is made in Sweden."]
LABELS = st.lists(st.sampled_from(["yes", "no"]), min_size=1, max_size=8)


def metric(name: str = "answer_correctness", **parameters: Any) -> Metric:
    return find(name)().with_parameters(parameters)


def of_reference(question: Any) -> bool:
    """Whether claims are written from the reference, or are rated by it."""
    if isinstance(question, Write):
        return "/reference_sentence/" in question.sentences[0].id
    return bool(question.passages[0].id == "reference")


def judge(own: Any, gold: Any, precision: Any, recall: Any) -> Any:
    """A script: the claims of response and reference, and the labels of each by the other text."""

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return gold if of_reference(question) else own
        return precision if of_reference(question) else recall

    return answer


def f1_of(precision: Sequence[str], recall: Sequence[str], **parameters: Any) -> dict[str, Score]:
    names = [f"Own {n}." for n in range(len(precision))], [f"Gold {n}." for n in range(len(recall))]
    return columns(metric(**parameters), record(), judge(*names, list(precision), list(recall)))[0]


def test_worked_numbers() -> None:
    """2 of 3 claims of the response in the reference, 2 of 4 of the reference in the response: .667, .5, F1 .571."""
    scores = f1_of(["yes", "yes", "no"], ["yes", "no", "yes", "no"])
    assert {name: round(score.value or 0, 3) for name, score in scores.items()} == {
        "f1": 0.571, "precision": 0.667, "recall": 0.5,
    }  # fmt: skip
    assert [(s.asked, len(s.verdicts), s.verdicts_in) for s in scores.values()] == [
        (7, 7, ""), (3, 0, "answer_correctness.f1"), (4, 0, "answer_correctness.f1"),
    ]  # fmt: skip
    assert [row["verdict"] for row in scores["f1"].detail["claims"]].count("ACCEPTED") == 4
    assert {name: score.outcome for name, score in scores.items()} == {
        "f1": "FAILED", "precision": "PASSED", "recall": "FAILED",
    }  # fmt: skip


def test_each_claim_is_rated_by_the_other_text() -> None:
    """Both are written at once, then rated at once; only claims of the response have a place in it."""
    _, asked = weigh(metric(), record(), judge(OWN, GOLD, "yes", "yes"))
    rates = [question for question in asked if isinstance(question, Rate)]
    assert [(q.task, [(p.id, p.text) for p in q.passages], q.evidence) for q in rates] == [
        ("support", [("reference", REFERENCE)], True), ("support", [("response", record().response)], True),
    ]  # fmt: skip
    assert [[unit.text for unit in q.units] for q in rates] == [OWN, GOLD]
    assert rates[0].units[0].id == "r/claim_by_reference/1"
    assert rates[1].units[3].id == "r/reference_claim_by_response/4"
    assert all(unit.span is None and unit.parent is None for unit in rates[1].units)


def test_columns_stand_on_their_own_claims() -> None:
    kind = find("answer_correctness")
    for column, ids in (("precision", ["own"]), ("recall", ["gold"]), ("f1", ["own", "gold"])):
        units = {"own": "a/b/claim_by_reference/1", "gold": "a/b/reference_claim_by_response/1"}
        assert [name for name, unit in units.items() if kind.stands_on(column, {"id": unit})] == ids


def test_reference_metrics_ask_for_claims_in_equal_questions() -> None:
    """The response's claims are those of grounding; the reference's are those of context recall: each paid once."""

    def written(name: str) -> list[Any]:
        return [q for q in weigh(metric(name), record(), judge(OWN, GOLD, "yes", "yes"))[1] if isinstance(q, Write)]

    assert written("answer_correctness") == [*written("grounding"), *written("context_recall")]


def test_context_recall_worked_numbers() -> None:
    """3 of 4 claims of the reference in the contexts; no response is needed."""
    about = replace(record(), response=None)
    score, asked = weigh(metric("context_recall"), about, judge([], GOLD, "no", ["yes", "no", "yes", "yes"]))
    assert (score.value, score.outcome) == (0.75, "PASSED")
    (rate,) = (question for question in asked if isinstance(question, Rate))
    assert rate.passages == record().passages
    assert rate.units[0].id == "r/reference_claim/1"


@pytest.mark.parametrize(
    ("own", "gold", "precision", "recall", "expected"),
    [
        ([], GOLD, "yes", "no", {"f1": ("scored", 0.0), "precision": ("empty", None), "recall": ("scored", 0.0)}),
        ([], GOLD, "yes", "yes", {"f1": ("empty", None), "precision": ("empty", None), "recall": ("scored", 1.0)}),
        (OWN, [], "yes", "yes", {"f1": ("empty", None), "precision": ("scored", 1.0), "recall": ("empty", None)}),
        (Failed("late"), GOLD, "yes", "no",
         {"f1": ("partial", 0.0), "precision": ("judge_failed", None), "recall": ("scored", 0.0)}),
        (Failed("late"), GOLD, "yes", "yes",
         {"f1": ("judge_failed", None), "precision": ("judge_failed", None), "recall": ("scored", 1.0)}),
        (OWN, GOLD, Failed("late"), "yes",
         {"f1": ("judge_failed", None), "precision": ("judge_failed", None), "recall": ("scored", 1.0)}),
    ],
)  # fmt: skip
def test_one_side_without_a_value(own: Any, gold: Any, precision: Any, recall: Any, expected: Any) -> None:
    """F1 is known where the other side is 0: no precision could raise it. Else it has no value either."""
    scores, _ = columns(metric(), record(), judge(own, gold, precision, recall))
    assert {name: (score.status, score.value) for name, score in scores.items()} == expected
    if scores["f1"].value is None and scores["f1"].status == "judge_failed":
        assert (scores["f1"].low, scores["f1"].high) == (0.0, 1.0)


@pytest.mark.parametrize(("policy", "value"), [("null", None), ("zero", 0.0), ("one", 1.0)])
def test_no_claims_of_one_text_follow_on_empty(policy: str, value: float | None) -> None:
    scores, _ = columns(metric(on_empty=policy), record(), judge([], GOLD, "yes", "yes"))
    assert [(scores[name].status, scores[name].value) for name in ("f1", "precision")] == [("empty", value)] * 2


def test_an_unjudged_claim_widens_f1() -> None:
    """P of 1, could be .5 to 1; R of .5, could be 1/3 to 2/3: F1 could be .4 to .8. Grades make an F1 of means."""
    scores = columns(
        metric(), record(), judge(OWN[:2], GOLD[:3], ["yes", None], ["yes", "no", None])
    )[0]  # fmt: skip
    assert (scores["f1"].status, scores["f1"].unjudged, scores["f1"].asked) == ("partial", 2, 5)
    assert [scores["f1"].value, scores["f1"].low, scores["f1"].high] == pytest.approx([2 / 3, 0.4, 0.8])
    scores = f1_of(["5", "1"], ["3"], scoring_mode="scale_1_5")
    assert [score.value for score in scores.values()] == [0.5, 0.5, 0.5]


@given(LABELS, LABELS)
def test_the_texts_swapped_swap_precision_and_recall(own: list[str], gold: list[str]) -> None:
    there, back = f1_of(own, gold), f1_of(gold, own)
    assert there["precision"].value == back["recall"].value
    assert there["recall"].value == back["precision"].value
    assert there["f1"].value == back["f1"].value


@given(st.one_of(st.none(), st.floats(0, 1)), st.one_of(st.none(), st.floats(0, 1)))
def test_f1_lies_between_both(precision: float | None, recall: float | None) -> None:
    value = f1(precision, recall)
    assert value == f1(recall, precision)
    if value is not None and precision is not None and recall is not None and min(precision, recall) > 1e-300:
        assert min(precision, recall) <= value + 1e-12
        assert value <= max(precision, recall) + 1e-12


def labels(rows: Sequence[tuple[str, str, str]], file: Path) -> str:
    lines = [
        orjson.dumps({"record": "r", "unit": f"r/{unit}", "task": "support", "label": label, "text": text})
        for unit, label, text in rows
    ]
    file.write_bytes(b"\n".join(lines))
    return f"human:{file}"


def test_people_can_judge_them(tmp_path: Path) -> None:
    """Labels name the claims of each text; those of another metric on equal claims are others."""
    rows = [("claim/1", "no", OWN[0]), ("claim/2", "no", OWN[1])]
    rows += [("claim_by_reference/1", "yes", OWN[0]), ("claim_by_reference/2", "no", OWN[1])]
    rows += [("reference_claim_by_response/1", "yes", GOLD[0]), ("reference_claim/1", "no", GOLD[0])]
    row = {"id": "r", "question": "What?", "response": " ".join(OWN[:2]), "reference": GOLD[0], "contexts": ["A cup."]}
    names = ["answer_correctness", "context_recall", "grounding"]
    run = evaluate([row], names, labels(rows, tmp_path / "labels.jsonl"), out=tmp_path / "run")
    values = {score["metric"]: round(score["value"], 3) for score in run["r"]["scores"]}
    assert values == {
        "answer_correctness.f1": 0.667, "answer_correctness.precision": 0.5, "answer_correctness.recall": 1.0,
        "context_recall": 0.0, "grounding": 0.0,
    }  # fmt: skip


def test_quotes_name_the_text_that_they_stand_in(tmp_path: Path) -> None:
    """The embedded judge finds claims in the reference and in the response, and says so."""
    row = {
        "id": "r", "question": "Where is the Eiffel Tower?", "response": "The Eiffel Tower stands in Paris.",
        "reference": "The Eiffel Tower stands in Paris and is 330 metres high.", "contexts": ["The Seine is long."],
    }  # fmt: skip
    run = evaluate([row], ["answer_correctness"], out=tmp_path / "run")
    score = run["r"]["scores"][0]
    assert {quote["passage"] for verdict in score["verdicts"] for quote in verdict["evidence"]} <= {
        "reference", "response",
    }  # fmt: skip
    assert "the reference" in score["verdicts"][0]["reason"]
    assert "passage" not in " ".join(verdict["reason"] for verdict in score["verdicts"])


@pytest.mark.parametrize(
    ("question", "response", "reference", "expected"),
    [
        ("What is the capital of Australia?", "Canberra.", "The capital of Australia is Canberra.", 1.0),
        ("What is the capital of Australia?", "The capital of Australia is Canberra.", "Canberra", 1.0),
        ("What is the capital of Australia?", "Canberra", "canberra.", 1.0),
        ("What is the capital of Australia?", "Sydney", "Canberra", 0.0),
        ("When was the bridge built?", "in 1932", "The bridge was built in 1932.", 1.0),
        ("When was the bridge built?", "in 1932", "The bridge was built in 1931.", 0.0),
        ("Is the museum open on Mondays?", "No.", "The museum is open on Mondays.", 0.0),
        ("Какая столица Австралии?", "Канберра", "Столица Австралии — Канберра.", 1.0),
        ("What is the capital of Australia?", "I don't know.", "Canberra is the capital of Australia.", 0.0),
    ],
)
def test_the_embedded_judge_compares_terse_texts(
    tmp_path: Path, question: str, response: str, reference: str, expected: float
) -> None:
    row = {"id": "r", "question": question, "response": response, "reference": reference}
    run = evaluate([row], "answer_correctness", out=tmp_path / "run")
    assert run["r"]["scores"][0]["value"] == expected


def test_the_calls_are_those_that_are_announced(tmp_path: Path) -> None:
    """Four, two and, with grounding, five in all: the response's and the reference's claims are written once."""
    script: Script = {"claims": ["One.", "Two."], "support": "yes"}
    row = {"id": "r", "question": "What?", "response": "One. Two.", "reference": "Two. Three.", "contexts": ["One."]}
    for names, calls in (
        (["answer_correctness"], 4), (["context_recall"], 2),
        (["answer_correctness", "context_recall", "grounding"], 6),
    ):  # fmt: skip
        run = evaluate([row], names, ScriptedJudge(script), out=tmp_path / "-".join(names))
        assert len(run["r"]["calls"]) == calls, names


def test_a_terse_text_is_read_after_the_question() -> None:
    """ "Canberra." answers a question and states nothing alone; quotes stand in the text all the same."""
    about = Record(
        "r", "What is the capital?", "In Canberra.", reference="The capital of Australia is Canberra, I know."
    )
    asked_of = {}

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return ["One."]
        (text,) = question.passages
        asked_of[text.id] = text.text
        places = [Span(0, 20), Span(8, len(text.text)), Span(24, len(text.text)), None]
        quotes = [Quote(text.id, at, text.text[at.start : at.end] if at else "?", bool(at)) for at in places]
        return Rated((Verdict(question.units[0], "yes", 1.0, "j", evidence=tuple(quotes)),))

    score, _ = weigh(metric(), about, answer)
    assert asked_of == {"response": "What is the capital: In Canberra.", "reference": about.reference}
    recall = score.verdicts[1].evidence
    assert [(quote.span, quote.text) for quote in recall] == [
        (Span(0, 12), "In Canberra."), (Span(3, 12), "Canberra."), (None, "?"),
    ]  # fmt: skip
    assert len(score.verdicts[0].evidence) == 4
    weigh(metric(), replace(about, question="Is it Canberra?", response="No."), answer)
    assert asked_of["response"] == "Is it Canberra?\nNo.", "not as a statement"
    unasked, _ = weigh(metric(), replace(about, question=None), answer)
    assert asked_of["response"] == "In Canberra."
    assert unasked.value == 1.0
    about = Record("r", response="One.", reference="Two.", contexts=passages("Two."))
    assert weigh(metric(), about, judge(["One."], ["Two."], "no", "no"))[0].value == 0.0

"""The scale of supported, not mentioned and contradicted: values as with yes and no, and the share contradicted."""

from __future__ import annotations

from typing import Any, cast

import pytest
from material import DOWN, RESPONSE, claims, columns, metric, record

from ragstone import check, evaluate
from ragstone.metrics import find
from ragstone.metrics.base import Metric
from ragstone.questions import SUPPORT_CONTRADICT, Rate, Write
from ragstone.testing import ScriptedJudge

MODE = {"scoring_mode": "support_contradict"}
LABELS = ["supported", "contradicted", "not_mentioned", None]


def made(name: str, **more: Any) -> Metric:
    return metric(name, **MODE, **more)


def test_the_share_contradicted_stands_beside_the_value() -> None:
    """Of four claims one is supported, one contradicted, one missing and one unjudged: 1/3 each, 1/4 to 2/4."""
    scores, asked = columns(made("grounding"), record(), claims(LABELS))
    own, share = scores["grounding"], scores["contradicted"]
    assert (own.value, own.low, own.high) == (1 / 3, 1 / 4, 2 / 4)
    assert (share.value, share.low, share.high, share.status) == (1 / 3, 1 / 4, 2 / 4, "partial")
    assert (share.asked, share.unjudged, share.verdicts_in, share.outcome) == (4, 1, "grounding", None)
    assert [row["verdict"] for row in own.detail["claims"]] == ["ACCEPTED", "REJECTED", "REJECTED", None]
    assert [q.scale for q in asked if isinstance(q, Rate)] == [SUPPORT_CONTRADICT]


def test_missing_claims_and_an_unjudged_one_leave_the_share_open() -> None:
    """A part whose claims could not be written may hold any number of contradicted ones."""

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return ["One.", "Two.", "Three."] if question.part == 1 else DOWN
        return ["supported", "contradicted", None]

    scores, _ = columns(made("grounding", part_tokens=10), record("It is steel, and heavy, and loud. " * 5), answer)
    assert {(score.status, score.low, score.high) for score in scores.values()} == {("partial", 0.0, 1.0)}


def test_sentences_that_state_nothing_count_in_neither() -> None:
    scores, _ = columns(made("groundedness"), record(), {"support": ["trivial", "contradicted", "supported"]})
    assert (scores["groundedness"].value, scores["contradicted"].value) == (0.5, 0.5)


@pytest.mark.parametrize("name", ["grounding", "groundedness"])
def test_without_the_scale_there_is_one_score(name: str) -> None:
    assert find(name)().gives() == ("",)
    assert made(name).gives() == ("", "contradicted")


def test_nothing_to_judge_is_as_good_or_bad_as_on_empty_says() -> None:
    """``one`` is the best value, which is 0 for what should not be."""
    scores, _ = columns(made("groundedness", on_empty="one"), record(" "), {})
    assert (scores["groundedness"].value, scores["contradicted"].value) == (1.0, 0.0)
    scores, _ = columns(made("grounding"), record(), claims([]))
    assert (scores["contradicted"].status, scores["contradicted"].value) == ("empty", None)


def test_the_embedded_judge_names_what_differs() -> None:
    """A fact that the passages state differently is contradicted, one that they lack is not mentioned."""
    row = {
        "id": "mill", "question": "When?", "contexts": ["Anna Holm built the mill in 1712."],
        "response": "Anna Holm built the mill in 1742. The miller kept two cats. Anna Holm built the mill.",
    }  # fmt: skip
    run = evaluate([row], "groundedness", parameters={"groundedness": MODE})
    own, share = run["mill"]["scores"]
    assert [verdict["label"] for verdict in own["verdicts"]] == ["contradicted", "not_mentioned", "supported"]
    assert own["verdicts"][0]["reason"].startswith("contradicted: says 1742; passage 1 says 1712")
    assert share["value"] == own["value"] == pytest.approx(1 / 3, abs=1e-6)


def test_a_run_fails_where_too_much_is_contradicted() -> None:
    """A column's name alone is that of every metric; the units named are the contradicted ones."""
    row = {"id": "r", "question": "What?", "contexts": ["Steel."], "response": RESPONSE}
    run = evaluate(
        [row],
        "groundedness",
        ScriptedJudge({"support": ["contradicted", "not_mentioned", "supported"]}),
        parameters={"groundedness": MODE},
    )
    (decision,) = check(run, max={"contradicted": 0}).decisions
    assert (decision.threshold.metric, decision.outcome) == ("groundedness.contradicted", "failed")
    assert decision.said == "mean 33% over 1 record; required: at most 0%"
    assert [[unit.text for unit in worst.wanting] for worst in decision.worst] == [["The kettle is steel."]]
    assert check(run, max={"contradicted": 0.34}).passed


def test_records_that_fell_out_could_be_contradicted() -> None:
    """A most is not met by luck: with the unjudged record at its worst the mean could be above the limit."""
    rows = [{"id": n, "question": "What?", "contexts": ["Steel."], "response": f"It is {n}."} for n in "ab"]
    judge = ScriptedJudge(lambda q: ["supported" if "a." in unit.text else None for unit in cast("Rate", q).units])
    run = evaluate(rows, "groundedness", judge, parameters={"groundedness": MODE})
    (decision,) = check(run, max={"contradicted": 0.2}).decisions
    assert decision.outcome == "error"
    assert "the mean could be 50%" in decision.notes[0], "said once"

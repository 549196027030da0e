"""Nugget groundedness, relevance and support: how nuggets are written, weighed, rated and put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from material import DOWN, Writer, columns, metric, record, weigh
from msgspec.structs import replace

from ragstone.judges.base import Failed
from ragstone.metrics import find
from ragstone.metrics.methods import compare_methods, interpretation
from ragstone.questions import Rate, Write
from ragstone.types import Nugget, Record

BOTH = ("nugget_groundedness", "nugget_relevance")
EACH = pytest.mark.parametrize("name", BOTH)
TASK = {"nugget_groundedness": "support", "nugget_relevance": "relevance"}


def judged(nuggets: Sequence[tuple[str | None, str | None]], name: str = BOTH[0], **parameters: Any) -> Any:
    """The score of nuggets with these importances and grades."""
    texts = [f"nugget {n}" for n in range(len(nuggets))]
    importance = {text: given for text, (given, _) in zip(texts, nuggets, strict=True)}
    grades = {text: grade for text, (_, grade) in zip(texts, nuggets, strict=True)}
    score, _ = weigh(metric(name, **parameters), record(), Writer(texts, importance=importance, labels=grades))
    return score


@EACH
def test_the_worked_number(name: str) -> None:
    """Scores 2/3 vital, 1 vital, 1 okay: (2*2/3 + 2*1 + 1*1) / 5 = .8667."""
    score = judged([("vital", "2"), ("vital", "3"), ("okay", "3")], name)
    assert score.value == pytest.approx((2 * 2 / 3 + 2 + 1) / 5)
    assert round(score.value or 0, 4) == 0.8667
    assert [row["weight"] for row in score.detail["nuggets"]] == [2.0, 2.0, 1.0]
    assert (score.detail["vital"], score.detail["okay"], score.detail["unweighed"]) == (2, 1, 0)


def test_weights_can_be_set() -> None:
    nuggets = [("vital", "3"), ("okay", "0")]
    assert judged(nuggets).value == pytest.approx(2 / 3)
    assert judged(nuggets, weights=[3, 1]).value == pytest.approx(3 / 4)
    assert judged(nuggets, weights={"vital": 1, "okay": 1}).value == pytest.approx(1 / 2)


def test_an_importance_that_stayed_unjudged_weighs_1_and_is_marked() -> None:
    """Where all of it failed, weights are equal."""
    score = judged([(None, "3"), ("vital", "0")])
    assert (score.value, score.low, score.high) == pytest.approx((1 / 3, 1 / 3, 1 / 2))
    assert score.status == "partial"
    assert score.reason == "1 of 2 nuggets of unknown importance: the script leaves it unjudged"
    assert score.detail["unweighed"] == 1
    assert score.detail["why_unweighed"] == "the script leaves it unjudged"
    assert [row["importance"] for row in score.detail["nuggets"]] == [None, "vital"]
    texts = {"One": "3", "Two": "0"}
    score, _ = weigh(metric(BOTH[0]), record(), Writer(list(texts), importance=DOWN, labels=texts))
    assert (score.value, score.status, score.detail["unweighed"]) == (0.5, "partial", 2)
    assert (score.low, score.high) == pytest.approx((1 / 3, 2 / 3))
    assert score.detail["why_unweighed"] == "the endpoint is down"


def test_an_unjudged_nugget_leaves_the_mean_and_widens_the_bounds_by_its_weight() -> None:
    score = judged([("vital", None), ("okay", "3")])
    assert (score.value, score.status, score.asked, score.unjudged) == (1.0, "partial", 2, 1)
    assert score.low == pytest.approx(1 / 3)
    assert score.high == 1.0


def test_both_metrics_ask_for_one_and_the_same_list() -> None:
    """Writing and importance are equal questions, which an engine pays for once."""
    asked = [weigh(metric(name), record(), Writer(["One", "Two"], importance="vital", labels="3"))[1] for name in BOTH]
    shared = [[q for q in questions if q.task in ("nuggetize", "importance")] for questions in asked]
    assert shared[0] == shared[1]
    assert len(shared[0]) == 3  # a round, the round that brings nothing, the importance
    assert {q.task for q in asked[0]} - {q.task for q in asked[1]} == {"support"}


def test_rounds_go_on_until_one_brings_nothing_new() -> None:
    judge = Writer(["One fact", "Two facts"], ["Three facts", "one FACT."], ["Two  facts"], labels="3")
    score, asked = weigh(metric(BOTH[0]), record(), judge)
    writes = [q for q in asked if isinstance(q, Write)]
    assert [q.known for q in writes] == [(), ("One fact", "Two facts"), ("One fact", "Two facts", "Three facts")]
    assert {q.most for q in writes} == {30}
    assert [v.unit.text for v in score.verdicts] == ["One fact", "Two facts", "Three facts"]
    assert [v.unit.id for v in score.verdicts] == ["r/nugget/1", "r/nugget/2", "r/nugget/3"]
    assert score.detail["rounds"] == 3


def test_the_list_is_full_at_its_limit_and_what_is_left_out_is_counted() -> None:
    """A judge that never ends is ended by it."""
    judge = Writer(["a", "b"], ["c", "d", "e"], ["f"], labels="3")
    score, asked = weigh(metric(BOTH[0], max_nuggets=3), record(), judge)
    assert [v.unit.text for v in score.verdicts] == ["a", "b", "c"]
    assert score.detail["left_out"] == 2
    assert sum(isinstance(q, Write) for q in asked) == 2
    assert all(q.most == 3 for q in asked if isinstance(q, Write))
    judge = Writer(*([f"fact {n}"] for n in range(100)), labels="3")
    score, asked = weigh(metric(BOTH[0]), record(), judge)
    assert len(score.verdicts) == 30
    assert sum(isinstance(q, Write) for q in asked) == 30
    assert score.reason == "reached max_nuggets (30), so the response may contain more nuggets"
    assert score.detail["limit_reached"] is True  # by one that writes no more than it is allowed to, none is left out
    short, _ = weigh(metric(BOTH[0]), record(), Writer(["a"], [], labels="3"))
    assert "limit_reached" not in short.detail


@EACH
def test_no_nuggets_is_empty_and_a_failure_is_none(name: str) -> None:
    empty, asked = weigh(metric(name), record(), Writer([], labels="3"))
    assert (empty.status, empty.value, empty.reason) == ("empty", None, "the response contains no nuggets")
    assert [q.task for q in asked] == ["nuggetize"]
    failed, asked = weigh(metric(name), record(), {"nuggetize": DOWN})
    assert (failed.status, failed.value, failed.low, failed.high) == ("judge_failed", None, 0.0, 1.0)
    assert failed.reason == "no nuggets: the endpoint is down"
    assert [q.task for q in asked] == ["nuggetize"]


def test_a_later_round_that_fails_leaves_what_is_there_and_no_certainty() -> None:
    score, _ = weigh(metric(BOTH[0]), record(), Writer(["One"], Failed("cut off"), labels="3"))
    assert (score.value, score.status, score.low, score.high) == (1.0, "partial", 0.0, 1.0)
    assert score.reason == "not all nuggets: cut off"


@EACH
def test_who_rates_the_nuggets_does_not_see_their_importance(name: str) -> None:
    score, asked = weigh(metric(name), record(), Writer(["One", "Two"], vital=["One"], labels="3"))
    (rate,) = [q for q in asked if isinstance(q, Rate) and q.task == TASK[name]]
    assert [unit.importance for unit in rate.units] == [None, None]
    assert [v.unit.importance for v in score.verdicts] == ["vital", "okay"]


def test_groundedness_is_asked_of_contexts_and_question_and_relevance_of_the_question() -> None:
    """So a response without contexts has relevance, and no groundedness."""
    _, asked = weigh(metric(BOTH[0]), record(), Writer(["One"], labels="3"))
    rate = asked[-1]
    assert (rate.passages, rate.question, rate.evidence) == (record().passages, record().question, True)
    _, asked = weigh(metric(BOTH[1]), record(), Writer(["One"], labels="3"))
    rate = asked[-1]
    assert (rate.passages, rate.question, rate.evidence) == ((), record().question, False)
    bare: Record = replace(record(), contexts=None)
    assert weigh(metric(BOTH[0]), bare, Writer(["One"], labels="3"))[0].status == "missing_field"
    assert weigh(metric(BOTH[1]), bare, Writer(["One"], labels="3"))[0].value == 1.0


def test_a_nugget_keeps_the_sentence_that_it_comes_from() -> None:
    score, _ = weigh(metric(BOTH[0]), record(), Writer(["It boils fast"], labels="3"))
    span = score.verdicts[0].unit.span
    assert (record().response or "")[span.start : span.end] == "It boils fast"


# ---- the two triads side by side


def test_methods_are_compared_in_points_with_sign() -> None:
    """Only what has a value both ways is compared."""
    block = compare_methods(
        {"groundedness": 0.9, "nugget_groundedness": 0.75, "answer_relevance": 2 / 3, "nugget_relevance": 0.7}
    )
    assert block["groundedness"]["difference"] == -15.0
    assert block["groundedness"]["interpretation"].startswith("15.0 points lower with nuggets; ")
    assert block["relevance"]["difference"] == pytest.approx(100 * (0.7 - 2 / 3))
    assert block["relevance"]["interpretation"] == "similar"
    assert compare_methods({"groundedness": 1.0, "nugget_relevance": 1.0}) == {}
    (pair,) = compare_methods({"groundedness": None, "nugget_groundedness": 0.5}).values()
    assert (pair["plain"], pair["difference"]) == (None, None)
    assert pair["interpretation"] == "cannot be compared: one of the two has no value"


@pytest.mark.parametrize(
    ("points", "begins"),
    [(10.0, "similar"), (-10.0, "similar"), (0.0, "similar"), (10.1, "10.1 points higher"), (-10.1, "10.1 points low")],
)
@pytest.mark.parametrize("aspect", ["groundedness", "relevance"])
def test_a_gap_is_one_over_ten_points(aspect: str, points: float, begins: str) -> None:
    assert interpretation(aspect, points).startswith(begins)


@pytest.mark.parametrize(
    ("points", "interval", "said"),
    [
        (
            20.0,
            (-1.0, 41.0),
            "20.0 points higher with nuggets, but the interval includes 0",
        ),
        (4.0, (0.0, 8.0), "no significant difference; the interval includes 0"),
        (4.0, (1.0, 8.0), "higher, by at most 10 points"),
        (-9.9, (-16.0, -4.9), "9.9 points lower with nuggets; the true difference could exceed 10"),
        (0.0, (0.0, 0.0), "similar"),
    ],
)
def test_a_difference_whose_interval_includes_0_is_not_told_as_one(
    points: float, interval: tuple[float, float], said: str
) -> None:
    assert interpretation("relevance", points, interval) == said


def test_each_gap_has_a_meaning_of_its_own() -> None:
    meanings = {interpretation(aspect, points) for aspect in ("groundedness", "relevance") for points in (20, -20)}
    assert len(meanings) == 4


NUGGETS = (
    Nugget("One", "vital", None, ("p1",)),
    Nugget("Two", None, None, ("p1", "p9")),
    Nugget("Three", None, None, ("p9",)),
)


def about(*nuggets: Nugget) -> Record:
    return record(None, nuggets=nuggets)


def grades(**by_passage: Any) -> Any:
    """A judge that grades by the one passage that it is shown."""

    def answer(question: Any) -> Any:
        (passage,) = question.passages
        return by_passage[passage.id]

    return answer


def test_worked_numbers() -> None:
    """Best (1 + 2/3 + 1/3) / 3, source (1 + 0) / 2: the third nugget's passage was not retrieved."""
    found, asked = columns(find("nugget_support")(), about(*NUGGETS), grades(p1=["3", "0", "1"], p2=["0", "2", "0"]))
    assert found["best"].value == pytest.approx(2 / 3)
    assert (found["source"].value, found["source"].asked) == (0.5, 2)
    assert [verdict.value for verdict in found["best"].verdicts] == [1.0, pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert found["best"].detail["nuggets"][1] == {
        "nugget": "r/bank/2", "importance": None, "sources": ["p1", "p9"],
        "passages": {"p1": 0.0, "p2": pytest.approx(2 / 3)},
    }  # fmt: skip
    assert len(asked) == 2, "a call for each passage"
    assert all(unit.importance is None for question in asked if isinstance(question, Rate) for unit in question.units)
    assert found["best"].verdicts[0].unit.importance == "vital"


def test_a_pair_that_is_unjudged_might_have_been_the_best() -> None:
    found, _ = columns(find("nugget_support")(), about(*NUGGETS), grades(p1=["3", "0", None], p2=[None, None, None]))
    best = found["best"]
    assert (best.status, best.value, best.unjudged) == ("partial", 0.5, 1)
    assert best.low == pytest.approx(1 / 3)
    assert best.high == 1.0
    assert found["source"].status == "scored"
    found, _ = columns(find("nugget_support")(), about(*NUGGETS), grades(p1=["3", "0", "0"], p2=["0", None, "0"]))
    assert found["best"].status == "partial"
    assert found["best"].high == pytest.approx(2 / 3)
    assert found["best"].reason == "1 of 6 nugget-passage pairs unjudged"


def test_nuggets_that_name_no_passage_have_no_source_value() -> None:
    """Without nuggets nothing is asked."""
    found, _ = columns(find("nugget_support")(), about(Nugget("One")), grades(p1="3", p2="0"))
    assert found["best"].value == 1.0
    assert (found["source"].status, found["source"].value) == ("empty", None)
    assert found["source"].reason == "no nugget comes from one of the passages"
    for nuggets, status in ((None, "missing_field"), ((), "empty")):
        score, asked = weigh(find("nugget_support")(), record(nuggets=nuggets), {})
        assert (score.status, asked) == (status, [])

"""Nugget recall: the six columns, where the bank comes from, and what an unjudged nugget does to each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from material import DOWN, Writer, columns, metric, nobody, record

from ragstone.analysis.leaderboard import of_nuggets
from ragstone.judges.base import Failed
from ragstone.judges.panel import Aggregate, combine
from ragstone.metrics.nugget_recall import COLUMNS, Held, NuggetRecall, recalls
from ragstone.metrics.nuggetset import NuggetBank
from ragstone.questions import SUPPORT_2, SUPPORT_3, Rated, Write
from ragstone.types import RESPONSE, Importance, Nugget, Record, Score, Verdict

HELD: dict[str, tuple[float | None, float | None]] = {
    "S": (1.0, 1.0), "P": (0.5, 0.0), "N": (0.0, 0.0), "?": (None, None),
}  # fmt: skip
NAMED = {"S": "support", "P": "partial_support", "N": "not_support", "?": None}
LETTERS = st.lists(st.tuples(st.sampled_from(["vital", "okay", None]), st.sampled_from("SPN?")), max_size=12)


def bank(vital: str, okay: str = "", unknown: str = "") -> list[Held]:
    """A bank from letters: S support, P partial support, N none, ? unjudged."""
    kinds: list[tuple[Importance | None, str]] = [("vital", vital), ("okay", okay), (None, unknown)]
    return [Held(importance, *HELD[letter]) for importance, letters in kinds for letter in letters]


def values(nuggets: Sequence[Held]) -> dict[str, float | None]:
    return {column: recall.value for column, recall in recalls(nuggets).items()}


def of(pairs: Sequence[tuple[Any, str]]) -> list[Held]:
    return [Held(importance, *HELD[letter]) for importance, letter in pairs]


def test_the_worked_numbers() -> None:
    """V: S S P N, O: S N; with one vital nugget, supported, and none okay all is 1, not two thirds."""
    assert set(values(bank("S")).values()) == {1.0}
    assert {name: round(value or 0, 4) for name, value in values(bank("SSPN", "SN")).items()} == {
        "strict_vital": 0.5, "vital": 0.625, "strict_all": 0.5, "all": 0.5833, "weighted": 0.6,
        "weighted_strict": 0.5,
    }  # fmt: skip


def test_without_a_vital_nugget_the_vital_columns_are_absent() -> None:
    found = values(bank("", "SP"))
    assert (found["vital"], found["strict_vital"]) == (None, None)
    assert (found["all"], found["strict_all"], found["weighted"], found["weighted_strict"]) == (0.75, 0.5, 0.75, 0.5)
    assert set(values([]).values()) == {None}


def test_an_unjudged_nugget_leaves_the_denominator_and_widens_the_bounds() -> None:
    found = recalls(bank("S?", "N"))
    assert (found["vital"].value, found["vital"].low, found["vital"].high) == (1.0, 0.5, 1.0)
    assert (found["all"].value, found["all"].low, found["all"].high) == (0.5, 1 / 3, 2 / 3)
    assert found["weighted"].value == pytest.approx(2 / 3)
    assert found["weighted"].low == pytest.approx(0.4)
    assert (found["all"].asked, found["all"].unjudged, found["vital"].asked) == (3, 1, 2)


def test_a_nugget_of_unknown_importance_counts_as_one_of_all_and_half_a_vital_one() -> None:
    found = recalls(bank("N", "", "S"))
    assert (found["all"].value, found["vital"].value) == (0.5, 0.0)
    weighted = found["weighted"]
    assert (weighted.value, weighted.low, weighted.high) == pytest.approx((1 / 3, 1 / 3, 1 / 2))
    weighted = recalls(bank("", "", "SN"))["weighted"]
    assert (weighted.value, weighted.low, weighted.high) == pytest.approx((1 / 2, 1 / 3, 2 / 3))


@given(LETTERS)
def test_every_column_is_in_range_and_strict_is_never_above_lenient(pairs: list[tuple[Any, str]]) -> None:
    found: dict[str, Any] = {**recalls(of(pairs))}
    for recall in found.values():
        if recall.value is not None:
            assert 0 <= recall.low <= recall.value + 1e-12 <= recall.high + 2e-12 <= 1 + 3e-12
    for strict, lenient in (("strict_all", "all"), ("strict_vital", "vital"), ("weighted_strict", "weighted")):
        if found[lenient].value is not None:
            assert (found[strict].value or 0.0) <= (found[lenient].value or 0.0) + 1e-12


@given(LETTERS, st.randoms(use_true_random=False))
def test_the_order_of_nuggets_does_not_matter(pairs: list[tuple[Any, str]], chooser: Any) -> None:
    before = recalls(of(pairs))
    chooser.shuffle(pairs)
    assert recalls(of(pairs)) == before


@given(LETTERS, st.sampled_from(["vital", "okay", None]))
def test_a_supported_nugget_more_never_lowers_recall(pairs: list[tuple[Any, str]], importance: Any) -> None:
    before, after = values(of(pairs)), values(of([*pairs, (importance, "S")]))
    for column in COLUMNS:
        if before[column] is not None:
            assert (after[column] or 0.0) >= (before[column] or 0.0) - 1e-12


@given(LETTERS)
def test_unjudged_never_counts(pairs: list[tuple[Any, str]]) -> None:
    judged = [pair for pair in pairs if pair[1] != "?"]
    for column, value in values(of(judged)).items():
        assert values(of(pairs))[column] == pytest.approx(value)


# ---- the metric


def with_bank(*nuggets: tuple[str, Importance | None], **more: Any) -> Record:
    return record(nuggets=tuple(Nugget(text, importance) for text, importance in nuggets), **more)


def weighed(about: Record, script: Any, **parameters: Any) -> tuple[dict[str, Score], list[Any]]:
    return columns(metric("nugget_recall", **parameters), about, script)


FOUR = with_bank(("a", "vital"), ("b", "okay"), ("c", "vital"), ("d", "okay"))
ASSIGNED = {"a": "support", "b": "partial_support", "c": "not_support", "d": None}


def test_a_record_with_its_bank_is_assigned_and_nothing_else_is_asked() -> None:
    """The verdicts stand with the first column, as the others say; two grades are another scale."""
    scores, asked = weighed(FOUR, {"assign": ASSIGNED})
    (question,) = asked
    assert (question.task, question.scale, question.question) == ("assign", SUPPORT_3, FOUR.question)
    assert [(p.id, p.text) for p in question.passages] == [(RESPONSE, FOUR.response)]
    assert [unit.importance for unit in question.units] == [None] * 4  # the assigner does not see it
    assert {name: score.value for name, score in scores.items()} == {
        "all": 0.5, "strict_all": pytest.approx(1 / 3), "vital": 0.5, "strict_vital": 0.5,
        "weighted": pytest.approx((1 + 0.25) / 2.5), "weighted_strict": pytest.approx(1 / 2.5),
    }  # fmt: skip
    assert {score.status for name, score in scores.items() if "vital" not in name} == {"partial"}
    assert (scores["vital"].status, scores["vital"].unjudged) == ("scored", 0)
    scores, _ = weighed(FOUR, {"assign": ASSIGNED})
    assert [v.unit.importance for v in scores["all"].verdicts] == ["vital", "okay", "vital", "okay"]
    assert [row["assignment"] for row in scores["all"].detail["nuggets"]] == list(ASSIGNED.values())
    assert scores["all"].detail["bank"] == "record"
    assert all(not scores[c].verdicts and scores[c].verdicts_in == "nugget_recall.all" for c in COLUMNS[1:])
    _, (question,) = weighed(FOUR, {"assign": "support"}, grades=2)
    assert question.scale is SUPPORT_2


def test_importance_is_asked_for_where_the_bank_has_none() -> None:
    about = with_bank(("a", None), ("b", "okay"))
    scores, asked = weighed(about, {"importance": "vital", "assign": "support"})
    assert [q.task for q in asked] == ["importance", "assign"]
    assert [unit.text for unit in asked[0].units] == ["a"]
    assert scores["strict_vital"].value == 1.0


def test_without_a_question_importance_stays_unknown_and_the_rest_is_scored() -> None:
    about = with_bank(("a", None), ("b", None), question=None)
    scores, asked = weighed(about, {"assign": {"a": "support", "b": "not_support"}})
    assert [q.task for q in asked] == ["assign"]
    assert (scores["all"].value, scores["weighted"].value) == (0.5, 0.5)
    assert (scores["all"].status, scores["weighted"].status) == ("scored", "partial")
    vital = scores["vital"]
    assert (vital.status, vital.value, vital.asked, vital.unjudged) == ("missing_field", None, 2, 2)
    assert vital.reason == "2 of 2 nuggets of unknown importance: no question, so importance cannot be rated"
    assert scores["all"].detail["why_unweighed"] == "no question, so importance cannot be rated"


@pytest.mark.parametrize(
    ("importance", "assign", "status", "value", "bounds"),
    [
        (DOWN, {"a": "support", "b": "not_support"}, "judge_failed", None, (0, 1)),
        ({"a": "vital"}, {"a": "support", "b": "not_support"}, "partial", 1.0, (0.5, 1)),
        ({"a": "vital"}, {"a": "support", "b": "support"}, "partial", 1.0, (1, 1)),
        ({"a": "vital"}, {"a": "not_support", "b": "support"}, "partial", 0.0, (0, 0.5)),
        ({"a": "okay"}, {"a": "support", "b": "support"}, "judge_failed", None, (0, 1)),
        ({"a": "okay", "b": "okay"}, {"a": "support", "b": "support"}, "empty", None, (None, None)),
    ],
)
def test_a_nugget_of_unknown_importance_may_be_vital(
    importance: Any, assign: Any, status: str, value: float | None, bounds: tuple[float | None, float | None]
) -> None:
    """An importance that was not judged is neither "no nugget is vital" nor a certain value of those that are."""
    scores, _ = weighed(with_bank(("a", None), ("b", None)), {"importance": importance, "assign": assign})
    vital = scores["vital"]
    assert (vital.status, vital.value, (vital.low, vital.high)) == (status, value, bounds)
    assert (vital.reason == "no nugget is vital") == (status == "empty")
    assert scores["all"].status == "scored"
    assert scores["weighted"].status == ("scored" if status == "empty" else "partial")


def test_a_leaderboard_counts_no_unanswered_topic_for_vital_nuggets_that_may_not_exist() -> None:
    """With --on-missing zero, only measures that an answer could have count as 0."""
    entry = of_nuggets("run", "topic", [Nugget("a", None, "support")])
    assert entry.possible == {"all", "strict_all", "weighted", "weighted_strict"}


def test_an_empty_bank_is_empty_and_costs_nothing() -> None:
    scores, _ = weighed(record(nuggets=()), nobody)
    assert {(score.status, score.value, score.reason) for score in scores.values()} == {
        ("empty", None, "the bank has no nuggets")
    }


def test_every_nugget_unjudged_is_a_failure_and_no_zero() -> None:
    scores, _ = weighed(FOUR, {"assign": DOWN})
    assert {(s.status, s.value, s.low, s.high) for s in scores.values()} == {("judge_failed", None, 0.0, 1.0)}
    assert "the endpoint is down" in scores["strict_vital"].reason
    counted = {name: (score.asked, score.unjudged) for name, score in scores.items()}
    assert counted == {name: (2, 2) if "vital" in name else (4, 4) for name in COLUMNS}
    assert {score.verdicts_in for name, score in scores.items() if name != "all"} == {"nugget_recall.all"}


@pytest.mark.parametrize(
    ("how", "letters", "weights", "value", "strict"),
    [
        ("mean", "SSN", {}, 2 / 3, 2 / 3),
        ("mean", "SPN", {}, 1 / 2, 1 / 3),
        ("mean", "SN", {"j0": 3.0}, 3 / 4, 3 / 4),
        ("mean", "SNS", {"j1": 2.0}, 1 / 2, 1 / 2),
        ("mean", "SP?", {"j1": 3.0, "j2": 9.0}, 5 / 8, 1 / 4),
        ("median", "SPN", {}, 1 / 2, 0),  # the mean of its values, too, and no votes count
        ("median", "PPSN", {}, 1 / 2, 0),
        ("median", "SSPN", {}, 3 / 4, 1 / 2),
        ("median", "SSN?", {}, 1, 1),
        ("majority", "PPSN", {}, 1 / 2, 0),
        ("majority", "SSN", {}, 1, 1),
        ("min", "SSN", {}, 0, 0),
        ("max", "SPN", {}, 1, 1),
    ],
)
def test_strict_recall_combines_the_strict_values_of_a_panel_as_the_panel_does(
    how: Aggregate, letters: str, weights: dict[str, float], value: float, strict: float
) -> None:
    def panel(question: Any) -> Rated:
        (unit,) = question.units
        answers = [(f"j{n}", Rated((Verdict(unit, NAMED[letter], HELD[letter][0], f"j{n}"),)))
                   for n, letter in enumerate(letters)]  # fmt: skip
        return combine(question, answers, how, weights)

    scores, _ = weighed(with_bank(("a", "vital")), panel)
    assert (scores["vital"].value, scores["strict_vital"].value) == pytest.approx((value, strict))


# ---- a bank that is created


def many_passages(count: int, **more: Any) -> Record:
    return record("x", *(f"passage {n}" for n in range(1, count + 1)), **more)


def created(about: Record, writer: Writer, **parameters: Any) -> tuple[dict[str, Any], list[Write]]:
    scores, asked = columns(NuggetBank().with_parameters(parameters), about, writer)
    (score,) = scores.values()
    return dict(score.detail) | {"status": score.status, "reason": score.reason}, [
        q for q in asked if isinstance(q, Write)
    ]


def texts(detail: dict[str, Any]) -> list[str]:
    return [row["text"] for row in detail["nuggets"]]


def test_windows_of_ten_go_in_order_and_each_gets_the_list_so_far() -> None:
    detail, asked = created(many_passages(23), Writer(["a", "b"], ["b", "a", "c"], ["d", "a"]))
    assert [len(q.passages) for q in asked] == [10, 10, 3]
    assert [q.passages[0].text for q in asked] == ["passage 1", "passage 11", "passage 21"]
    assert [q.known for q in asked] == [(), ("a", "b"), ("b", "a", "c")]
    assert texts(detail) == ["d", "a"]  # the last list is the whole list


def test_two_windows_in_a_row_that_change_nothing_end_it() -> None:
    """Those that find nothing yet do not, and a failure breaks the row."""
    detail, asked = created(many_passages(60), Writer(["a"], ["a", "b"], ["A", "B."], ["a", "b"], ["never asked"]))
    assert len(asked) == 4
    assert texts(detail) == ["a", "b"]
    detail, asked = created(many_passages(40), Writer([], [], [], ["a"]))
    assert (len(asked), texts(detail)) == (4, ["a"])
    detail, asked = created(many_passages(60), Writer(["a"], ["a"], Failed("x"), ["a"], ["b", "a"], ["b", "a"]))
    assert (len(asked), texts(detail)) == (6, ["b", "a"])


def test_passages_judged_low_are_left_out_and_those_without_a_judgment_stay() -> None:
    details = {"p1": {"judgment": 0}, "p2": {"judgment": "3"}, "p3": {"judgement": 1.9}, "p4": {"judgment": "n/a"}}
    about = record("x", *"abcde", meta={"context_details": details})
    _, (asked,) = created(about, Writer(["fact"]))
    assert [passage.text for passage in asked.passages] == ["b", "d", "e"]
    _, (asked,) = created(about, Writer(["fact"]), min_judgment=0)
    assert len(asked.passages) == 5


def test_vital_first_then_the_first_twenty_are_kept() -> None:
    listed = [f"n{n}" for n in range(30)]
    detail, _ = created(record(), Writer(listed, vital=["n29", "n25"]))
    assert texts(detail) == ["n25", "n29", *(f"n{n}" for n in range(18))]
    assert detail["left_out"] == 10
    everything, _ = created(record(), Writer(listed, vital=["n29"]), keep=0)
    assert len(everything["nuggets"]) == 30


def test_a_list_beyond_the_limit_that_the_prompt_names_is_cut_there() -> None:
    """What one window cut is counted, though later ones forget it."""
    detail, (asked,) = created(record(), Writer([f"n{n}" for n in range(9)]), max_nuggets=5, keep=0)
    assert asked.most == 5
    assert (len(detail["nuggets"]), detail["left_out"]) == (5, 4)
    listed = [f"n{n}" for n in range(8)]
    detail, _ = created(many_passages(30), Writer(listed, listed[:5], [*listed[:4], "n7"]), max_nuggets=5, keep=0)
    assert detail["left_out"] == 2  # n5 and n6; n7 came back
    assert detail["passages"] == {"read": 30, "of": 30}


def test_a_window_that_fails_or_lists_nothing_takes_nothing_back() -> None:
    detail, _ = created(many_passages(40), Writer(["a", "b"], Failed("cut off"), [], ["a", "b", "c"]))
    assert texts(detail) == ["a", "b", "c"]
    assert (detail["status"], detail["reason"]) == ("partial", "cut off")


def test_recall_of_a_bank_that_is_not_whole_is_partial_and_could_be_anything() -> None:
    """What the lost window would have asked for, nobody knows."""
    scores, _ = weighed(many_passages(20), Writer(["a", "b"], Failed("cut off"), vital=["a"]))
    assert {(s.value, s.low, s.high, s.status, s.unjudged) for s in scores.values()} == {(1.0, 0.0, 1.0, "partial", 0)}
    assert scores["vital"].reason == "not all nuggets: cut off"


def test_no_nugget_at_all_is_empty_and_a_failure_is_a_failure() -> None:
    empty, _ = columns(NuggetBank(), record(), Writer([]))
    assert [(s.status, s.reason) for s in empty.values()] == [
        ("empty", "the passages contain no nuggets for this question")
    ]
    low = record("x", *"ab", meta={"context_details": {"p1": {"judgment": 1}, "p2": {"judgment": 0}}})
    for made in (NuggetBank(), NuggetRecall()):
        unread, _ = columns(made, low, Writer(["never asked"]))
        assert {(s.status, s.reason) for s in unread.values()} == {
            ("empty", "every passage has a judgment below min_judgment (2)")
        }
    failed, _ = columns(NuggetBank(), record(), {"nuggetize": DOWN})
    assert [(s.status, s.reason) for s in failed.values()] == [("judge_failed", "the endpoint is down")]


def test_recall_creates_the_bank_where_the_record_brings_none() -> None:
    scores, asked = weighed(record(), Writer(["a", "b"], vital=["b"]))
    assert [q.task for q in asked] == ["nuggetize", "importance", "assign"]
    assert scores["all"].detail["bank"] == "created"
    assert [v.unit.text for v in scores["all"].verdicts] == ["b", "a"]
    assert [v.unit.id for v in scores["all"].verdicts] == ["r/bank/1", "r/bank/2"]


def test_recall_that_may_not_create_says_what_is_missing() -> None:
    scores, _ = columns(metric("nugget_recall", create=False), record(), nobody)
    assert {(score.status, score.reason) for score in scores.values()} == {("missing_field", "no nuggets")}


@pytest.mark.parametrize("lacking", [{"no_contexts": True}, {"question": None}, {"question": "  "}])
def test_a_bank_needs_a_question_and_contexts(lacking: dict[str, Any]) -> None:
    scores, _ = weighed(record(**lacking), nobody)
    assert {score.reason for score in scores.values()} == {
        "no nuggets, and no question with contexts to create them from"
    }


def test_the_vital_columns_stand_on_vital_nuggets() -> None:
    """Both of them: an okay nugget that is missing takes nothing from either."""
    okay = {column for column in COLUMNS if NuggetRecall.stands_on(column, {"importance": "okay"})}
    assert set(COLUMNS) - okay == {"vital", "strict_vital"}
    assert all(NuggetRecall.stands_on(column, {"importance": "vital"}) for column in COLUMNS)

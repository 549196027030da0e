"""Laws that hold for every metric and any verdicts, whoever judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from material import claims, columns, made, passages, record, weigh

from ragstone.engine.route import Route, Routes, signature_of
from ragstone.judges.catalogue import build
from ragstone.judges.spec import parse
from ragstone.metrics import catalogue, find
from ragstone.metrics.base import Metric, best
from ragstone.questions import ANSWERED, TASKS, Rate, Rated, Trace, Write, key_of
from ragstone.types import TRIVIAL, Nugget, Unit, Verdict

NAMES = st.sampled_from(sorted(catalogue()))
TEXTS = st.text(alphabet="ab c.\n!?1é世", max_size=60)
VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12)
Weighted = tuple[float | None, float]
WEIGHTED = st.lists(st.tuples(st.none() | st.floats(0, 1), st.sampled_from([1.0, 2.0, 3.5])), max_size=12)
LABELS = st.lists(st.sampled_from(["yes", "no", None]), min_size=1, max_size=12)


def verdicts(values: Sequence[float | None]) -> list[Verdict]:
    return [
        Verdict(Unit(f"r/claim/{n}", "claim", str(n)), None if value is None else "x", value, "j")
        for n, value in enumerate(values, 1)
    ]


def metric() -> Metric:
    return catalogue()["answer_relevance"]()


def mean(units: Sequence[Weighted]) -> Any:
    """The mean of units with weights, as nuggets have."""
    return metric().mean_score(record(), verdicts([value for value, _ in units]), weights=[each for _, each in units])


@given(NAMES, TEXTS, st.lists(TEXTS, max_size=4), st.data())
def test_any_record_and_any_verdicts_give_a_value_in_range(
    name: str, response: str, contexts: list[str], data: st.DataObject
) -> None:
    """The value is in [0, 1] or absent, between low and high, and the counts fit the verdicts."""

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return data.draw(st.lists(TEXTS, max_size=4))
        if isinstance(question, Trace):
            keys = st.none() | st.lists(st.sampled_from([*map(key_of, question.sentences), "made_up"]), max_size=4)
            support = {key_of(unit): data.draw(keys) for unit in question.response}
            return {"relevant": data.draw(keys), "utilized": data.draw(keys), "support": support}
        labels = [*question.scale.labels, None, "nonsense", *([TRIVIAL] if question.skippable else [])]
        return [data.draw(st.sampled_from(labels)) for _ in question.units] or "0"

    bank = (Nugget("One", sources=("p1",)), Nugget("Two")) if "nuggets" in find(name).needs else None
    scores, _ = columns(made(name), record(response, *(contexts or ["x"]), nuggets=bank), answer)
    for score in scores.values():
        if score.value is None:
            assert score.status not in ("scored", "partial")
            assert score.outcome is None
        else:
            assert 0 <= score.low <= score.value <= score.high <= 1
            assert score.status in ("scored", "partial")
        counted = [verdict for verdict in score.verdicts if not verdict.trivial]
        if not score.verdicts_in:
            assert (score.asked, score.unjudged) == (len(counted), sum(verdict.unjudged for verdict in counted))
    assert not any(score.verdicts and score.verdicts_in for score in scores.values())


@given(VALUES)
def test_low_and_high_are_the_extremes(values: list[float | None]) -> None:
    """They are what the mean would be with every unjudged unit at 0 and at 1, and hold the value between them."""
    score, worst, best = (
        mean([(unjudged if value is None else value, 1.0) for value in values]) for unjudged in (None, 0.0, 1.0)
    )
    if score.value is None:
        return
    assert abs(score.low - worst.value) < 1e-12
    assert abs(score.high - best.value) < 1e-12
    assert score.low <= score.value <= score.high
    if score.unjudged == 0:
        assert score.low == score.value == score.high


@given(WEIGHTED, st.integers(0, 12))
def test_an_unjudged_unit_never_moves_the_value(units: list[Weighted], place: int) -> None:
    """Added anywhere it changes the bounds and the counts, and not the value of those that are judged."""
    before, after = mean(units), mean([*units[:place], (None, 2.0), *units[place:]])
    assert after.value == before.value
    assert after.unjudged == before.unjudged + 1


@given(WEIGHTED, st.randoms(use_true_random=False))
def test_the_order_of_the_units_does_not_move_the_value(units: list[Weighted], chooser: Any) -> None:
    shuffled = list(units)
    chooser.shuffle(shuffled)
    before, after = mean(units), mean(shuffled)
    assert (after.value, after.low, after.high) == (before.value, before.low, before.high)


@given(st.permutations(["Steel it is.", "It boils water.", "It is dear.", "Nothing of use."]), st.data())
def test_the_order_of_passages_changes_no_arithmetic(texts: list[str], data: st.DataObject) -> None:
    """The same grades for the same passages, in whatever order, give the same context relevance."""
    grades = {text: data.draw(st.sampled_from("0123")) for text in sorted(texts)}
    plain, _ = weigh(find("context_relevance")(), record("x", *sorted(texts)), {"relevance": grades})
    moved, asked = weigh(find("context_relevance")(), record("x", *texts), {"relevance": grades})
    assert moved.value == plain.value
    (question,) = asked
    assert [unit.text for unit in question.units] == texts


@given(st.permutations(["Steel it is.", "It boils water.", "It is dear."]))
def test_the_order_of_passages_is_kept_in_questions_about_them(texts: list[str]) -> None:
    """Grounding asks about the passages as the record has them, and nothing but their order differs."""
    _, asked = weigh(find("grounding")(), record("x", *texts), claims(["yes", "no"]))
    assert [q.passages for q in asked if isinstance(q, Rate)] == [passages(*texts)]


@given(NAMES, TEXTS, st.lists(TEXTS, max_size=3))
def test_equal_records_give_equal_questions(name: str, response: str, contexts: list[str]) -> None:
    """Nothing in a question depends on anything but the record and the parameters."""

    def asked() -> list[Any]:
        script: dict[str, Any] = {task: [None] for task in TASKS}
        script.update(claims=["One."], nuggetize=["One."], trace={})
        return columns(made(name), record(response, *(contexts or ["x"])), script)[1]

    first, second = asked(), asked()
    assert first == second
    assert [hash(question) for question in first] == [hash(question) for question in second]


@pytest.mark.parametrize("name", sorted(catalogue()))
@pytest.mark.parametrize("answers", [True, False])
def test_every_prompt_that_a_metric_uses_is_in_its_signature(name: str, answers: bool) -> None:
    """Also of a second question of the same step, as abstention's about the passages."""
    judge = build(parse("openai:gpt-x"))
    bank = (Nugget("It is steel."),)
    about = record("It is steel. [1]", nuggets=bank if name == "nugget_recall" else None, relevant={"p1": 1})

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return [] if question.known else ["It is steel."]
        if isinstance(question, Trace):
            return {}
        return ("answers" if answers else "abstains") if question.scale is ANSWERED else question.scale.labels[-1]

    _, asked = columns(made(name), about, answer)
    signature = signature_of(made(name), Routes(Route((judge,)), {}))
    assert {judge.maker(question) for question in asked if judge.maker(question) not in signature} == set()


@given(st.lists(st.sampled_from([("yes", 1.0), ("no", 0.0)]), min_size=1, max_size=10))
def test_the_decisions_add_up(labels: list[tuple[str, float]]) -> None:
    """Accepted and rejected are all claims; in yes-or-no mode the value is the accepted share."""
    score, _ = weigh(find("grounding")(), record(), claims([label for label, _ in labels]))
    assert score.detail["accepted"] + score.detail["rejected"] == len(labels)
    assert score.value == sum(value for _, value in labels) / len(labels)
    assert Rated(score.verdicts).verdicts == score.verdicts


@pytest.mark.parametrize(
    ("gained", "known", "total", "most"),
    [(4 / 3, 4 / 3, 3.6666666666666665, 1.0), (0.8333333333333333, 0.8333333333333333, 3.6666666666666665, 1.0),
     (1.0, 2.0, 4.0, 0.75), (2.0, 3.0, 3.0, 2 / 3)],
)  # fmt: skip
def test_what_a_value_could_be_is_never_below_what_it_is(
    gained: float, known: float, total: float, most: float
) -> None:
    """To the last bit, whatever the weights of nuggets sum to."""
    assert best(gained, known, total) == most >= gained / known

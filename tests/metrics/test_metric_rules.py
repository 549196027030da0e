"""The rules and laws that hold for every metric and any verdicts: when it asks, and when it has a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from material import DOWN, EVERYTHING_DOWN, claims, columns, made, nobody, passages, record, weigh
from msgspec.structs import replace

from ragstone.engine.route import Route, Routes, signature_of
from ragstone.judges.catalogue import build
from ragstone.judges.spec import parse
from ragstone.metrics import catalogue, find
from ragstone.metrics.base import Metric, ask, best
from ragstone.questions import ANSWERED, GRADE_0_3, TASKS, Rate, Rated, Trace, Write, key_of
from ragstone.types import TRIVIAL, Nugget, Record, Unit, Verdict

METRICS = sorted(catalogue().items())
BY_NAME = pytest.mark.parametrize("metric", [made(name) for name, _ in METRICS], ids=[name for name, _ in METRICS])
BY_JUDGE = pytest.mark.parametrize(
    "metric", [made(name) for name, kind in METRICS if kind.asks], ids=[name for name, kind in METRICS if kind.asks]
)
FINE = {
    "claims": ["One.", "Two."], "nuggetize": ["One.", "Two."], "importance": "vital", "support": "yes",
    "assign": "support", "relevance": "yes", "response_support": "2", "rubric": "yes",
    "trace": {
        "relevant": ["doc_0_s0"], "utilized": ["doc_0_s0"],
        "support": {f"resp_s{n}": ["doc_0_s0"] for n in range(3)},
    },
}  # fmt: skip
CITED = "The kettle is steel [1]. It boils fast [2]. It costs ten [1]."


def good_script(question: Any) -> Any:
    """The best label of the question's own scale."""
    return question.scale.labels[-1] if isinstance(question, Rate) else FINE[question.task]


def full(metric: Metric, *texts: str) -> Record:
    """A record that has everything that the metric needs; a bank only where it is needed, since it saves questions."""
    cited = (CITED,) if metric.unit == "citation" else ()
    return record(*(texts or cited), nuggets=(Nugget("One."),) if "nuggets" in metric.needs else None)


def with_field(metric: Metric, name: str, value: str | None) -> Record:
    changed: dict[str, Any] = {name: value}
    return replace(full(metric), **changed)


def verdict(value: float | None, *, trivial: bool = False, failure: str = "") -> Verdict:
    label = TRIVIAL if trivial else None if value is None else GRADE_0_3.nearest(value)
    return Verdict(Unit("r/claim/1", "claim", "x"), label, value, "j", failure=failure)


@BY_JUDGE
def test_a_full_record_is_scored(metric: Metric) -> None:
    """With everything there and every verdict best the value is 1, and low and high agree."""
    score, asked = weigh(metric, full(metric), good_script)
    assert (score.value, score.status, score.low, score.high, score.unjudged) == (1.0, "scored", 1.0, 1.0, 0)
    assert (score.metric, score.record, score.signature) == (metric.score_name(metric.gives()[0]), "r", "")
    assert score.asked == sum(not v.trivial for v in score.verdicts) > 0
    assert {question.task for question in asked} == set(metric.asks)


@BY_NAME
def test_an_absent_field_is_said_and_costs_nothing(metric: Metric) -> None:
    """Each gives ``missing_field`` by its name, whatever ``on_empty`` says: no value, no call, no bounds."""
    for needed in metric.needs:
        score, _ = weigh(metric, with_field(metric, needed, None), nobody)
        assert (score.status, score.value, score.low, score.high) == ("missing_field", None, None, None)
        assert score.reason == f"no {needed}"
        assert score.outcome is None
    score, _ = weigh(metric.with_parameters({"on_empty": "one"}), Record("r"), nobody)
    assert (score.status, score.value) == ("missing_field", None)
    assert score.reason == "no " + " and no ".join(
        metric.needs or ["question" if metric.name == "rubric" else "contexts"]
    )


@BY_NAME
@pytest.mark.parametrize("blank", ["", "   ", "\n\t ", "\ufeff\u200b\u2060 \xad\0"])
def test_a_blank_field_is_empty_and_costs_nothing(metric: Metric, blank: str) -> None:
    for needed in metric.needs:
        if needed == "contexts":
            continue
        score, _ = weigh(metric, with_field(metric, needed, blank), nobody)
        assert (score.status, score.value, score.reason) == ("empty", None, f"blank {needed}")


@BY_NAME
def test_contexts_without_text_are_no_contexts(metric: Metric) -> None:
    """An empty list and blank passages are as good as no contexts."""
    if "contexts" not in metric.needs:
        return
    for about in (replace(full(metric), contexts=()), full(metric, "A b c.", " ", "\n", "\u200b")):
        score, _ = weigh(metric, about, nobody)
        assert (score.status, score.reason) == ("missing_field", "no contexts")


@BY_NAME
@pytest.mark.parametrize(("policy", "value"), [("null", None), ("zero", 0.0), ("one", 1.0)])
def test_on_empty_is_one_policy_for_all(metric: Metric, policy: Any, value: float | None) -> None:
    """The value of an empty record is what the policy says; its status stays ``empty``."""
    blank = next(
        (needed for needed in metric.needs if needed != "contexts"), "response" if metric.name == "rubric" else ""
    )
    about = with_field(metric, blank, " ") if blank else replace(record(), relevant={})  # of retrieval_ranking alone
    score, _ = weigh(metric.with_parameters({"on_empty": policy}), about, nobody)
    assert (score.status, score.value, score.low, score.high) == ("empty", value, value, value)


@BY_JUDGE
def test_a_judge_that_is_down_is_no_zero(metric: Metric) -> None:
    """No verdict at all: no value, any value possible, the cause said, and neither PASSED nor FAILED."""
    script = {**EVERYTHING_DOWN, "claims": DOWN}
    score, asked = weigh(metric.with_parameters({"threshold": 0.5, "on_empty": "one"}), full(metric), script)
    assert {question.task for question in asked} <= set(metric.asks), "routes are checked by them before a run"
    assert (score.status, score.value, score.outcome) == ("judge_failed", None, None)
    assert (score.low, score.high) == (0.0, 1.0)
    assert "the endpoint is down" in score.reason


@BY_NAME
def test_disabled_asks_nothing(metric: Metric) -> None:
    """And does not complain of what is missing."""
    for about in (record(), Record("r")):
        score, _ = weigh(metric.with_parameters({"enabled": False}), about, nobody)
        assert (score.status, score.value, score.low, score.high, score.outcome) == ("disabled", None, None, None, None)


def toy(threshold: float | None = None) -> Metric:
    return catalogue()["answer_relevance"](threshold=threshold)


def test_the_mean_stands_on_the_judged_alone() -> None:
    """Unjudged units leave the denominator and widen the bounds; equal causes are said once; the order stays."""
    score = toy().mean_score(record(), [verdict(1.0), verdict(None, failure="late"), verdict(0.0), verdict(1.0)])
    assert score.value == pytest.approx(2 / 3)
    assert (score.low, score.high) == (0.5, 0.75)
    assert (score.status, score.asked, score.unjudged) == ("partial", 4, 1)
    assert score.reason == "1 of 4 unjudged: late"
    verdicts = [verdict(None, failure="late"), verdict(None, failure="late"), verdict(None), verdict(1.0)]
    assert toy().mean_score(record(), verdicts).reason == "3 of 4 unjudged: late; no answer"
    given = [verdict(0.0), verdict(None), verdict(1.0), verdict(1 / 3)]
    assert list(toy().mean_score(record(), given).verdicts) == given


def test_trivial_units_are_left_out_and_kept() -> None:
    """A trivial unit is listed and counts neither in the mean nor as asked; a response of nothing else is empty."""
    score = toy().mean_score(record(), [verdict(None, trivial=True), verdict(1.0)])
    assert (score.value, score.asked, score.unjudged, score.status) == (1.0, 1, 0, "scored")
    assert len(score.verdicts) == 2
    score = toy().mean_score(record(), [verdict(None, trivial=True)])
    assert (score.status, score.value) == ("empty", None)
    assert len(score.verdicts) == 1


@pytest.mark.parametrize(
    ("threshold", "value", "outcome"),
    [(0.5, 0.5, "PASSED"), (0.5, 0.499, "FAILED"), (0.0, 0.0, "PASSED"), (1.0, 1.0, "PASSED"), (None, 1.0, None)],
)
def test_the_outcome_compares_with_the_threshold(threshold: float | None, value: float, outcome: str | None) -> None:
    """PASSED at or above the threshold; without one there is no outcome."""
    assert toy(threshold).mean_score(record(), [verdict(value)]).outcome == outcome


def test_missing_units_make_a_score_partial() -> None:
    """``incomplete`` says that units are missing altogether; with none at all the judge has failed."""
    score = toy().mean_score(record(), [verdict(1.0)], incomplete="one part is missing")
    assert (score.status, score.value, score.reason) == ("partial", 1.0, "one part is missing")
    score = toy().mean_score(record(), [], incomplete="all parts are missing")
    assert (score.status, score.value, score.reason) == ("judge_failed", None, "all parts are missing")


def test_a_panel_is_described_over_all_units() -> None:
    """Agreement is averaged over units, the spread is the largest, failures are counted by member."""
    unit = Unit("r/claim/1", "claim", "x")

    def member(judge: str, raw: int | None) -> Verdict:
        value = None if raw is None else raw / 3
        return Verdict(unit, None if raw is None else str(raw), value, judge, raw=raw)

    first = replace(verdict(1.0), members=(member("a", 3), member("b", 3), member("c", None)))
    second = replace(verdict(0.5), members=(member("a", 0), member("b", 3), member("c", None)))
    detail = toy().mean_score(record(), [first, second]).detail
    assert detail == {"agreement": 0.5, "spread": 3, "failed_members": {"c": 2}}


def test_ask_hands_the_answers_back_in_order() -> None:
    """``ask`` yields all its questions at once and returns their answers as they were sent."""
    questions = [Rate("support", (), GRADE_0_3, question=str(n)) for n in range(3)]
    flow = ask(*questions)
    assert list(next(flow)) == questions
    answers = [Rated((), str(n)) for n in range(3)]
    with pytest.raises(StopIteration) as stop:
        flow.send(answers)
    assert stop.value.value == tuple(answers)


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

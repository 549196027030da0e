"""The rules that hold for every metric: when it asks, when it has a value, and what it says when it has none."""

from __future__ import annotations

from typing import Any

import pytest
from material import DOWN, EVERYTHING_DOWN, made, nobody, record, weigh
from msgspec.structs import replace

from ragstone.metrics import catalogue
from ragstone.metrics.base import Metric, ask
from ragstone.questions import GRADE_0_3, Rate, Rated
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

"""A cascade: one verdict for each unit, the first judge's where it is sure, the last one's everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.judges.cascade import Calibrated, SureBand, cascade, is_sure
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.judges.embedded.measured import band_of
from ragstone.judges.embedded.model import digest
from ragstone.judges.embedded.words import packaged
from ragstone.questions import GRADE_0_3, LIKERT, SUPPORT_3, TASKS, YES_NO, Rate, Rated, Task
from ragstone.types import TRIVIAL, Scale, Unit, Verdict

BAND = SureBand(0.1, 0.9)
RATES = st.floats(0.001, 0.499)


def units(count: int) -> tuple[Unit, ...]:
    return tuple(Unit(f"r/claim/{n}", "claim", f"claim {n}") for n in range(1, count + 1))


def verdict(unit: Unit, chance: float | None, label: str | None, judge: str, scale: Scale = YES_NO) -> Verdict:
    value = None if label in (None, TRIVIAL) else scale.value(str(label))
    return Verdict(unit, label, value, judge, probability=chance, failure="" if label else f"{judge} failed")


def run(
    question: Rate, bands: Sequence[SureBand], judges: Sequence[Callable[[Rate], Rated]]
) -> tuple[Rated, list[tuple[str, ...]]]:
    """The answer, and the texts that each judge was asked about."""
    asked: list[tuple[str, ...]] = []
    going = cascade(question, bands)
    part = next(going)
    try:
        while True:
            asked.append(tuple(unit.text for unit in part.units))
            part = going.send(judges[len(asked) - 1](part))
    except StopIteration as stop:
        answer: Rated = stop.value
        return answer, asked


def scripted(judge: str, said: Mapping[str, tuple[float | None, str | None]]) -> Callable[[Rate], Rated]:
    def answer(question: Rate) -> Rated:
        verdicts = tuple(verdict(unit, *said[unit.text], judge) for unit in question.units)
        return Rated(verdicts, f"in short, {judge}")

    return answer


def test_each_judge_is_asked_what_those_before_it_are_not_sure_of() -> None:
    question = Rate("support", units(4), YES_NO, question="Why?", reasons=True)
    said = {"claim 1": (0.95, "yes"), "claim 2": (0.5, "no"), "claim 3": (0.05, "no"), "claim 4": (0.89, "yes")}
    second = scripted("b", {"claim 2": (0.5, "no"), "claim 4": (0.8, "yes")})
    last = scripted("c", {"claim 2": (None, "yes")})
    answer, asked = run(question, [BAND, SureBand(0.2, 0.8)], [scripted("a", said), second, last])
    assert asked == [("claim 1", "claim 2", "claim 3", "claim 4"), ("claim 2", "claim 4"), ("claim 2",)]
    assert [found.judge for found in answer.verdicts] == ["a", "c", "a", "b"]
    assert [found.label for found in answer.verdicts] == ["yes", "yes", "no", "yes"]
    assert answer.reason == "in short, a in short, b in short, c"


def test_nobody_is_asked_where_nothing_is_left_and_the_same_question_where_all_is() -> None:
    question = Rate("support", units(2), YES_NO)
    sure = scripted("a", {"claim 1": (0.99, "yes"), "claim 2": (0.01, "no")})
    answer, asked = run(question, [BAND], [sure])
    assert len(asked) == 1
    assert answer.reason == "in short, a"
    going = cascade(question, [SureBand()])
    assert next(going) is question
    assert going.send(sure(question)) is question


def test_unjudged_trivial_and_uncalibrated_units_go_to_the_next() -> None:
    """Where the last fails the unit is unjudged: an earlier guess is not taken."""
    question = Rate("support", units(4), YES_NO)
    first = {"claim 1": (None, None), "claim 2": (None, TRIVIAL), "claim 3": (None, "yes"), "claim 4": (0.89, "yes")}
    last = {**{f"claim {n}": (None, "yes") for n in (1, 2, 3)}, "claim 4": (None, None)}
    answer, asked = run(question, [BAND], [scripted("a", first), scripted("b", last)])
    assert asked[1] == asked[0]
    assert {found.judge for found in answer.verdicts} == {"b"}
    found = answer.verdicts[3]
    assert (found.label, found.value, found.failure) == (None, None, "b failed")


@pytest.mark.parametrize("scale", [YES_NO, SUPPORT_3, LIKERT, GRADE_0_3])
def test_only_the_ends_of_a_scale_are_sure(scale: Scale) -> None:
    """A label between is doubt whatever its probability, and an end that does not fit its probability is not sure."""
    (unit,) = units(1)
    for label in scale.labels:
        sure = [is_sure(verdict(unit, chance, label, "a", scale), scale, BAND) for chance in (0.0, 0.1, 0.5, 0.9, 1.0)]
        if label == scale.labels[-1]:
            assert sure == [False, False, False, True, True]
        elif label == scale.labels[0]:
            assert sure == [True, True, False, False, False]
        else:
            assert not any(sure)


@given(
    st.lists(st.tuples(st.none() | st.floats(0, 1), st.sampled_from([None, *YES_NO.labels])), max_size=12),
    st.none() | st.floats(0, 0.4),
    st.none() | st.floats(0.6, 1),
)
def test_each_unit_has_one_verdict_in_its_place(
    said: list[tuple[float | None, str | None]], below: float | None, above: float | None
) -> None:
    question = Rate("support", units(len(said)), YES_NO)
    band = SureBand(below, above)
    first = scripted("a", {f"claim {n}": one for n, one in enumerate(said, 1)})
    last = scripted("b", {f"claim {n}": (None, "yes") for n in range(1, len(said) + 1)})
    answer, asked = run(question, [band], [first, last])
    assert tuple(found.unit for found in answer.verdicts) == question.units
    left = {text for texts in asked[1:] for text in texts}
    for found in answer.verdicts:
        assert (found.judge == "b") == (found.unit.text in left)
        assert found.judge == "b" or is_sure(found, YES_NO, band)


# ---- where the embedded judge is sure


def test_the_band_belongs_to_the_model() -> None:
    """After a new fit of the model: python training/fit_band.py."""
    assert packaged("band.json")["model"] == digest()


def test_the_embedded_judge_can_be_first_for_support_and_assignment_alone() -> None:
    judge = EmbeddedJudge()
    assert isinstance(judge, Calibrated)
    assert {task for task in TASKS if judge.band(task, 0.1) is not None} == {"support", "assign"}


@pytest.mark.parametrize("task", ["support", "assign"])
@given(rates=st.tuples(RATES, RATES))
def test_a_stricter_rate_is_never_sure_of_more(task: Task, rates: tuple[float, float]) -> None:
    strict, loose = (band_of(task, rate) for rate in sorted(rates))
    assert strict
    assert loose
    assert strict.above is None or (loose.above is not None and loose.above <= strict.above)
    assert strict.below is None or (loose.below is not None and loose.below >= strict.below)


def test_between_the_rates_that_were_fitted_the_stricter_one_holds() -> None:
    rows = packaged("band.json")["bands"]["support"]
    for (rate, below, above), (following, _, _) in pairwise(rows):
        assert band_of("support", rate) == band_of("support", (rate + following) / 2) == SureBand(below, above)
    assert band_of("support", rows[0][0] / 2) == SureBand()
    assert str(SureBand()) == "-,-"
    assert str(SureBand(0.05, 0.9)) == "0.05,0.9"
    found = band_of("support", 0.2)
    assert found is not None
    assert found.above is not None
    assert 0.5 < found.above < 1

"""A panel: every member kept, the failed left out and named, one verdict of what is there."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.judges.panel import AGGREGATES, Aggregate, combine
from ragstone.questions import GRADE_0_2, GRADE_0_3, LIKERT, SUPPORT_CONTRADICT, YES_NO, Rate, Rated
from ragstone.types import TRIVIAL, Quote, Scale, Span, Unit, Verdict

UNIT = Unit("r/response/1", "response", "x")


def verdict(label: str | None, judge: str, scale: Scale, **more: object) -> Verdict:
    if label is None:
        return Verdict(UNIT, None, None, judge, failure=f"{judge} is down")
    if label == TRIVIAL:
        return Verdict(UNIT, label, None, judge)
    evidence = (Quote("p", Span(0, 1), judge, verbatim=True),)
    return Verdict(UNIT, label, scale.value(label), judge, scale.raw(label), None, evidence, f"reason of {judge}")


def panel(
    labels: list[str | None], how: Aggregate = "mean", scale: Scale = GRADE_0_3, weights: dict[str, float] | None = None
) -> Verdict:
    answers = [
        (f"j{n}", Rated((verdict(label, f"id{n}", scale),), f"summary {n}" if label else ""))
        for n, label in enumerate(labels, 1)
    ]
    answer = combine(Rate("support", (UNIT,), scale), answers, how, weights)
    assert len(answer.verdicts) == 1
    return answer.verdicts[0]


def test_the_worked_example_raws_2_and_1_and_one_failure_are_three_quarters() -> None:
    found = panel(["2", "1", None], scale=GRADE_0_2)
    assert (found.value, found.raw, found.judge) == (0.75, 1.5, "id1+id2+id3")
    assert [member.judge for member in found.members if member.unjudged] == ["id3"]
    assert found.failure == ""
    assert len(found.members) == 3


def test_when_all_members_fail_there_is_no_value_and_every_cause_is_named() -> None:
    found = panel([None, None])
    assert (found.label, found.value, found.raw, found.unjudged, len(found.members)) == (None, None, None, True, 2)
    assert found.failure == "every judge in the panel failed (id1: id1 is down; id2: id2 is down)"


@pytest.mark.parametrize(
    ("labels", "how", "value", "label"),
    [
        (["1", "0", "2", "3"], "mean", 0.5, "1"),
        (["1", "0", "3"], "median", 1 / 3, "1"),
        (["0", "1", "2", "3"], "median", 0.5, "1"),  # of an even number between the middle two
        (["0", "3", "0", "2", "3", "1", None], "majority", 0.0, "0"),
        (["1", "0", "2", "3"], "min", 0.0, "0"),
        (["1", "0", "2", "3"], "max", 1.0, "3"),
    ],
)
def test_each_way_of_putting_verdicts_together(
    labels: list[str | None], how: Aggregate, value: float, label: str
) -> None:
    found = panel(labels, how)
    assert found.value == pytest.approx(value)
    assert found.label == label


def test_of_labels_with_as_many_votes_the_worse_is_taken_whatever_the_order() -> None:
    for order in permutations(["3", "1", "3", "1", "2"]):
        assert panel(list(order), "majority").label == "1"


def test_of_two_labels_as_near_the_worse_is_named() -> None:
    assert panel(["yes", "no"], scale=YES_NO).label == "no"
    assert panel(["2", "1"], scale=GRADE_0_2).label == "1"


@pytest.mark.parametrize(
    ("labels", "how", "weights", "value"),
    [
        (["3", "0"], "mean", {"j1": 3}, 0.75),
        (["3", "0", "0"], "mean", {"j1": 2, "id2": 100}, 0.5),  # by the judge's name, not by its id
        (["3", "0", None], "mean", {"j3": 100}, 0.5),
        (["3", "0", "0"], "majority", {"j1": 2.5}, 1.0),
        (["3", "0", "0"], "majority", {"j1": 2}, 0.0),
        (["3", "3", "0"], "majority", {"j1": 0.1, "j2": 0.2, "j3": 0.3}, 0.0),  # a tie, although 0.1 + 0.2 > 0.3
        ([TRIVIAL, TRIVIAL, "3"], "mean", {"j1": 0.1, "j2": 0.2, "j3": 0.3}, 1.0),
        ([TRIVIAL, "3"], "mean", None, 1.0),  # half is not most
        ([TRIVIAL, TRIVIAL, "3"], "mean", {"j3": 2}, 1.0),
        ([TRIVIAL, "3", None, None], "mean", None, 1.0),
    ],
)
def test_votes_and_means_are_weighed_and_trivial_ones_do_not_count(
    labels: list[str | None], how: Aggregate, weights: dict[str, float] | None, value: float
) -> None:
    found = panel(labels, how, weights=weights)
    assert (found.value, len(found.members)) == (value, len(labels))


def test_most_calling_a_unit_trivial_makes_it_trivial() -> None:
    assert panel([TRIVIAL, None]).trivial, "the others failed"
    found = panel([TRIVIAL, TRIVIAL, "3"])
    assert (found.label, found.value, found.raw, found.trivial) == (TRIVIAL, None, None, True)
    assert len(found.members) == 3


def test_evidence_and_reason_are_of_the_member_nearest_to_the_aggregate() -> None:
    found = panel(["0", "2", "3"], "median")
    assert (found.reason, found.evidence[0].text) == ("reason of id2", "id2")


@pytest.mark.parametrize("how", AGGREGATES)
def test_evidence_and_reason_are_of_a_member_that_gave_the_label(how: Aggregate) -> None:
    for labels in (["yes", "no"], ["no", "yes"]):
        found = panel([*labels], how, YES_NO)
        assert found.reason == f"reason of id{labels.index(found.label or '') + 1}"


UNEVEN = Scale("own", ("bad", "fair", "good"), (0.0, 0.3, 1.0), (0, 1, 2))


@pytest.mark.parametrize(
    ("labels", "scale", "how", "raw"),
    [
        (["5", "4"], LIKERT, "mean", 4.5),
        (["1", "1"], LIKERT, "mean", 1.0),
        (["1", "5"], LIKERT, "mean", 3.0),
        (["fair", "fair"], UNEVEN, "mean", 1.0),
        (["fair", "good"], UNEVEN, "mean", 1.5),
        (["bad", "fair", "good"], UNEVEN, "median", 1.0),
        (["bad", "fair", "fair"], UNEVEN, "majority", 1.0),
        (["bad", "fair"], UNEVEN, "max", 1.0),
        (["fair", "good"], UNEVEN, "min", 1.0),
    ],
)
def test_the_raw_number_is_on_the_scale_of_the_members(
    labels: list[str | None], scale: Scale, how: Aggregate, raw: float
) -> None:
    assert panel(labels, how, scale).raw == raw


def test_units_keep_their_order_and_summaries_say_whose_they_are() -> None:
    units = tuple(Unit(f"r/claim/{n}", "claim", "x") for n in (1, 2))
    first = Rated((Verdict(units[0], "yes", 1.0, "a"), Verdict(units[1], "no", 0.0, "a")), "fine")
    second = Rated((Verdict(units[0], "yes", 1.0, "b"), Verdict(units[1], None, None, "b", failure="?")))
    answer = combine(Rate("support", units, YES_NO), [("A", first), ("B", second)])
    assert [(v.unit, v.value) for v in answer.verdicts] == [(units[0], 1.0), (units[1], 0.0)]
    assert answer.reason == "A: fine"


LABELS = st.lists(st.sampled_from(["0", "1", "2", "3", None]), min_size=1, max_size=6)


@given(LABELS, st.sampled_from(AGGREGATES))
def test_a_failed_member_changes_nothing_but_the_list(labels: list[str | None], how: Aggregate) -> None:
    alone, beside = panel(labels, how), panel([*labels, None], how)
    assert (alone.value, alone.label, alone.raw) == (beside.value, beside.label, beside.raw)


@given(LABELS, st.sampled_from(AGGREGATES))
def test_the_aggregate_lies_between_the_members_and_its_label_is_the_nearest(
    labels: list[str | None], how: Aggregate
) -> None:
    found = panel(labels, how)
    values = [member.value for member in found.members if member.value is not None]
    if not values:
        assert found.unjudged
        return
    assert found.value is not None
    assert min(values) - 1e-9 <= found.value <= max(values) + 1e-9
    assert found.label == GRADE_0_3.nearest(found.value)


@given(LABELS, st.sampled_from(AGGREGATES), st.randoms())
def test_the_order_of_the_members_does_not_matter(labels: list[str | None], how: Aggregate, random: object) -> None:
    shuffled = list(labels)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = panel(labels, how), panel(shuffled, how)
    assert first.label == second.label
    assert first.value == pytest.approx(second.value)


@pytest.mark.parametrize("how", AGGREGATES)
def test_of_labels_with_one_value_the_one_most_members_gave_counts(how: Aggregate) -> None:
    """Two members who miss a fact do not contradict it; of as many votes the worse label stands."""
    assert panel(["not_mentioned"] * 2, how, SUPPORT_CONTRADICT).label == "not_mentioned"
    assert panel(["not_mentioned", "contradicted", "contradicted"], how, SUPPORT_CONTRADICT).label == "contradicted"

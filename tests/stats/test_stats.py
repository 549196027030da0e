"""Means, intervals and agreement: known values, seeds, and the edges."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.stats.means import LARGE, agreement, binomial, kendall_tau, mean, mean_interval

NUMBERS = st.lists(st.floats(0, 1), min_size=1, max_size=30)
HAIR = 1e-12


def half_width(values: Sequence[float]) -> float:
    """Of the normal 95 % interval."""
    return 1.96 * statistics.stdev(values) / math.sqrt(len(values))


def test_mean_loses_nothing_to_rounding() -> None:
    """Ten tenths are one; the order does not matter."""
    assert mean([0.1] * 10) == 0.1
    assert mean([1e16, 1.0, -1e16]) == pytest.approx(1 / 3)
    assert mean([0.75, 0.0, 1.0]) == pytest.approx(0.5833, abs=5e-5)


def test_nothing_has_no_mean() -> None:
    """No default stands in for it."""
    for function in (mean, mean_interval):
        with pytest.raises(ValueError, match="no values"):
            function([])


@given(NUMBERS)
def test_the_mean_lies_within_the_values(values: list[float]) -> None:
    assert min(values) - HAIR <= mean(values) <= max(values) + HAIR


def test_the_interval_is_seeded() -> None:
    """The same values give the same interval in every run; another seed another one."""
    chooser = random.Random(1)
    values = [chooser.random() for _ in range(40)]
    assert mean_interval(values) == mean_interval(list(values))
    assert mean_interval(values, seed=1) != mean_interval(values)
    before = random.getstate()
    mean_interval(values)
    assert random.getstate() == before, "the global generator is not touched"


@pytest.mark.parametrize("count", [30, 100, 400, LARGE - 1])
def test_the_bootstrap_interval_is_about_the_normal_one(count: int) -> None:
    """Of values that are anything but normal its ends are within a fifth of a half width of the normal ends."""
    chooser = random.Random(count)
    values = [chooser.choice((0.0, 0.0, 1 / 3, 1.0)) for _ in range(count)]
    found = mean_interval(values)
    half = half_width(values)
    assert found.method == "bootstrap"
    assert found.mean == mean(values)
    assert found.low == pytest.approx(found.mean - half, abs=0.2 * half)
    assert found.high == pytest.approx(found.mean + half, abs=0.2 * half)


def test_the_interval_holds_the_true_mean_about_as_often_as_it_says() -> None:
    """Of 200 samples of 50 from a known distribution between 90 and 99 % of the intervals hold its mean."""
    chooser = random.Random(7)
    hits = 0
    for number in range(200):
        values = [chooser.random() for _ in range(50)]
        found = mean_interval(values, seed=number)
        hits += found.low <= 0.5 <= found.high
    assert 180 <= hits <= 198


def test_many_values_have_the_normal_interval() -> None:
    """From ``LARGE`` on: mean ± 1.96 standard errors."""
    chooser = random.Random(3)
    values = [chooser.random() for _ in range(LARGE)]
    found = mean_interval(values)
    assert found.method == "normal"
    assert found.high - found.mean == pytest.approx(half_width(values), rel=1e-4)
    assert found.mean - found.low == pytest.approx(half_width(values), rel=1e-4)


def test_the_interval_does_not_leave_the_range_of_the_values() -> None:
    """Of many ones and a single zero no mean above 1 is possible."""
    found = mean_interval([0.0, *[1.0] * (LARGE * 2)])
    assert found.high <= 1.0
    assert found.low < found.mean < 1.0


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5], [1.0] * (LARGE + 1)])
def test_equal_values_have_no_spread_to_estimate(values: list[float]) -> None:
    found = mean_interval(values)
    assert (found.method, found.low, found.high) == ("none", found.mean, found.mean)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_the_interval_holds_the_mean(values: list[float]) -> None:
    found = mean_interval(values)
    assert found.low <= found.high
    assert min(values) - HAIR <= found.low
    assert found.high <= max(values) + HAIR


@pytest.mark.parametrize(
    ("raws", "share", "spread"),
    [([1, 1], 1.0, 0), ([2, 1], 0.0, 1), ([1, 1, 2], 1 / 3, 1), ([0, 1, 2], 0.0, 2), ([1, 1, 1, 2], 0.5, 1)],
)
def test_agreement_is_the_share_of_equal_pairs(raws: list[float], share: float, spread: float) -> None:
    found, width = agreement(raws)
    assert found == pytest.approx(share)
    assert width == spread


@pytest.mark.parametrize("raws", [[], [1]])
def test_one_rater_agrees_with_nobody(raws: list[float]) -> None:
    assert agreement(raws) == (None, None)


def test_ties_count_in_the_agreement_of_ranks_as_tau_b_has_them() -> None:
    """Tied pairs shrink the scale of the side that has them; where one side ranks nothing there is no agreement."""
    assert kendall_tau([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(4 / 6)
    assert kendall_tau([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(5 / math.sqrt(5 * 6))
    assert kendall_tau([1, 2, 2, 2], [4, 3, 3, 1]) == pytest.approx(-3 / math.sqrt(3 * 5))
    assert kendall_tau([1, 1, 1], [1, 2, 3]) is None
    assert kendall_tau([1, 2, 3], [2, 2, 2]) is None


@given(st.integers(0, 200), st.integers(1, 50), st.integers(1, 50), st.integers())
def test_successes_are_never_more_than_trials(trials: int, part: int, more: int, seed: int) -> None:
    assert 0 <= binomial(random.Random(seed), trials, part, part + more) <= trials


def test_successes_come_as_often_as_their_chance_says() -> None:
    chooser = random.Random(1)
    for trials, part, whole in ((10, 1, 3), (300, 7, 300), (50, 49, 50), (8, 1, 2)):
        drawn = [binomial(chooser, trials, part, whole) for _ in range(5000)]
        chance = part / whole
        spread = math.sqrt(trials * chance * (1 - chance))
        assert math.isclose(mean(drawn), trials * chance, abs_tol=4 * spread / math.sqrt(5000))
        assert math.isclose(statistics.stdev(drawn), spread, rel_tol=0.06)
        counts = [math.comb(trials, n) * chance**n * (1 - chance) ** (trials - n) for n in range(trials + 1)]
        for number in (0, 1, trials // 2, trials):
            share = drawn.count(number) / 5000
            assert math.isclose(share, counts[number], abs_tol=0.005 + 4 * math.sqrt(counts[number] / 5000))


def test_many_values_of_few_kinds_have_the_interval_that_drawing_each_would_give() -> None:
    chooser = random.Random(2)
    values = [chooser.choice((0.0, 0.25, 0.5, 1.0)) for _ in range(400)]
    nearly = [value + chooser.uniform(-1e-9, 1e-9) for value in values]  # all different, so that each is drawn
    few, each = mean_interval(values), mean_interval(nearly)
    assert few.method == each.method == "bootstrap"
    assert math.isclose(few.low, each.low, abs_tol=0.01)
    assert math.isclose(few.high, each.high, abs_tol=0.01)
    assert mean_interval(list(reversed(values))) == few, "the order of the records does not matter"

"""Paired differences: worked values, laws, the numbers of scipy, and that intervals and p keep what they promise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st
from scipy import stats

from ragstone.stats.means import LARGE, normal_p, t_quantile
from ragstone.stats.paired_tests import EXACT, FLIPS, holm, least_moved, paired, sign_flip

Draw = Callable[[random.Random], tuple[float, float]]
VALUES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12)


def test_what_pairs_say() -> None:
    """Worked: of eight pairs six went up by a tenth, one down by two tenths, one stayed."""
    first = [0.5] * 8
    second = [0.6] * 6 + [0.3, 0.5]
    found = paired(first, second)
    assert (found.pairs, found.wins, found.ties, found.losses, found.moved) == (8, 6, 1, 1, 7)
    assert found.first == 0.5
    assert found.difference == pytest.approx(0.05)
    # Of the 128 ways to sign six tenths and two tenths, those whose sum is at least four tenths off zero: all six of
    # one sign (4); five of one sign, or four, and the two tenths of the same (2 * 6 + 2 * 15).
    assert (found.p, found.test) == ((4 + 12 + 30) / 128, "exact")


@pytest.mark.parametrize(("count", "p"), [(1, 1.0), (2, 0.5), (5, 0.0625), (6, 0.03125)])
def test_so_many_equal_differences_have_the_least_p(count: int, p: float) -> None:
    """Both ways in which all have one sign, of all ways; zeros change nothing."""
    assert sign_flip([0.25] * count) == (p, "exact")
    assert sign_flip([0.0, *[0.25] * count, 0.0]) == (p, "exact")
    assert (p < 0.05) == (count >= least_moved())


def test_where_nothing_differs_nothing_is_tested() -> None:
    """No p below 1, no interval, no smallest difference; the last digits of a sum are no difference."""
    found = paired([0.1 + 0.2, 0.5], [0.3, 0.5])
    assert (found.p, found.test, found.ties) == (1.0, "none", 2)
    assert (found.low, found.high, found.smallest(), found.method) == (None, None, None, "none")


def test_where_too_few_differ_there_is_no_interval() -> None:
    """Five of a hundred: a resample without any is common."""
    found = paired([1.0] * 100, [0.0] * 5 + [1.0] * 95)
    assert (found.moved, found.low, found.smallest()) == (5, None, None)
    assert least_moved() == 6
    assert found.p == 0.0625


@pytest.mark.parametrize(
    ("moved", "count", "method"), [(9, 9, "t"), (10, 10, "bootstrap-t"), (9, 40, "t"), (10, 40, "bootstrap-t")]
)
def test_the_interval_is_resampled_where_ten_are_there_and_a_quarter_differ(
    moved: int, count: int, method: str
) -> None:
    """With fewer it is Student's, whose error alone makes it wide enough."""
    found = paired([0.0] * count, [0.5 + n / 50 for n in range(moved)] + [0.0] * (count - moved))
    assert (found.moved, found.method) == (moved, method)


@pytest.mark.parametrize(("moved", "count"), [(7, 10), (11, 12), (17, 20), (28, 30)])
def test_where_nearly_all_fall_by_the_same_the_interval_shows_a_fall(moved: int, count: int) -> None:
    """A resample of equal differences has no spread: the more records fell, the more of these there are."""
    found = paired([1.0] * count, [0.0] * moved + [1.0] * (count - moved))
    assert found.high is not None
    assert found.high < -0.25


def test_where_all_differ_by_the_same_the_test_speaks_alone() -> None:
    """There is no spread to estimate an interval from."""
    found = paired([0.5] * 8, [0.6] * 8)
    assert (found.low, found.method) == (None, "none")
    assert found.p == 2 / 2**8


@given_any(VALUES)
def test_turning_the_runs_round_turns_the_difference(pairs: list[tuple[float, float]]) -> None:
    """And nothing else: p, ties and the smallest difference stay."""
    one = paired([a for a, _ in pairs], [b for _, b in pairs])
    other = paired([b for _, b in pairs], [a for a, _ in pairs])
    assert other.difference == pytest.approx(-one.difference)
    assert (other.wins, other.ties, other.losses) == (one.losses, one.ties, one.wins)
    assert other.p == one.p
    assert other.smallest() == (None if one.error is None else pytest.approx(one.smallest()))
    assert 0 < one.p <= 1


@given_any(VALUES)
def test_the_interval_holds_the_difference(pairs: list[tuple[float, float]]) -> None:
    """And goes nowhere where no difference can be."""
    found = paired([a for a, _ in pairs], [b for _, b in pairs])
    if found.low is not None and found.high is not None:
        assert -1 <= found.low <= found.high <= 1
        assert found.low - 1e-9 <= found.difference <= found.high + 1e-9


def test_clusters_of_one_are_no_clusters() -> None:
    """The same numbers, but for the count of clusters."""
    chooser = random.Random(4)
    first, second = ([chooser.random() for _ in range(30)] for _ in range(2))
    alone, named = paired(first, second), paired(first, second, list(range(30)))
    assert (alone.clusters, named.clusters) == (None, 30)
    assert (named.p, named.low, named.high, named.error) == (alone.p, alone.low, alone.high, alone.error)


def test_what_belongs_together_counts_once() -> None:
    """Each of 12 records copied ten times: as records a sure thing, as clusters what the 12 say."""
    chooser = random.Random(2)
    first = [chooser.random() for _ in range(12)]
    second = [max(0.0, value - 0.08 * chooser.random() + 0.02) for value in first]
    copies = [number for number in range(12) for _ in range(10)]
    once = paired(first, second)
    as_records = paired([first[n] for n in copies], [second[n] for n in copies])
    as_clusters = paired([first[n] for n in copies], [second[n] for n in copies], copies)
    assert as_clusters.p == once.p
    assert as_clusters.low == pytest.approx(once.low)
    assert as_clusters.high == pytest.approx(once.high)
    assert as_clusters.smallest() == pytest.approx(once.smallest())
    assert as_records.p < once.p
    assert as_records.error is not None
    assert once.error is not None
    assert as_records.error < once.error / 2


def test_the_mean_is_over_pairs_and_not_over_clusters() -> None:
    """A cluster of three counts three times."""
    found = paired([0.0] * 4, [1.0, 0.0, 0.0, 0.0], ["a", "b", "b", "b"])
    assert (found.difference, found.clusters) == (0.25, 2)


def test_drawn_signs_come_close_to_all_signs() -> None:
    """One value more than ``EXACT``: the drawn p is within four standard errors of the one that goes through all."""
    chooser = random.Random(9)
    values = [chooser.gauss(0.4, 1) for _ in range(EXACT + 1)]
    ways = [sum(values[i] * (1 if way >> i & 1 else -1) for i in range(len(values))) for way in range(2 ** len(values))]
    exact = sum(abs(total) >= abs(sum(values)) - 1e-9 for total in ways) / len(ways)
    p, test = sign_flip(values)
    assert test == "sampled"
    assert abs(p - exact) < 4 * math.sqrt(exact * (1 - exact) / FLIPS)
    assert sign_flip(values) == (p, test), "seeded"
    assert sign_flip(values, seed=1) != (p, test)


def test_of_many_values_p_is_normal() -> None:
    """Where as many as ``LARGE`` weigh in it agrees with drawn signs; where few outweigh the rest, signs are drawn."""
    chooser = random.Random(6)
    values = [chooser.uniform(-1, 1.03) for _ in range(2 * LARGE)]
    p, test = sign_flip(values)
    assert test == "normal"
    assert p == pytest.approx(normal_p(math.fsum(values) / math.sqrt(math.fsum(v * v for v in values))))
    assert sign_flip([*values, 200.0])[1] == "sampled"


def test_holm_raises_each_p_by_the_tests_that_are_left() -> None:
    """Worked, after Holm 1979; never above 1, and in the order of the raw ones."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_many_tests_ask_for_more() -> None:
    """More pairs that differ, and a larger difference, as if each test were made at .05 over their number."""
    assert [least_moved(tests) for tests in (1, 2, 7, 17)] == [6, 7, 9, 10]
    chooser = random.Random(8)
    found = paired([0.5] * 40, [chooser.random() for _ in range(40)])
    smallest = [found.smallest(tests) for tests in (1, 5, 20)]
    assert None not in smallest
    assert smallest == sorted(smallest, key=lambda value: value or 0.0)


@pytest.mark.parametrize("count", [6, 9])
def test_of_very_few_the_interval_is_students(count: int) -> None:
    """Mean ± t standard errors; a bootstrap of them runs wild."""
    values = [0.5 + number / 20 for number in range(1, count + 1)]
    found = paired([0.5] * count, values)
    error = (sum((v - sum(values) / count) ** 2 for v in values) / (count - 1) / count) ** 0.5
    assert found.method == "t"
    assert found.error == pytest.approx(error)
    assert found.low == pytest.approx(found.difference - t_quantile(0.975, count - 1) * error)


@pytest.mark.parametrize("count", [0, 1])
def test_quantiles_and_pairs_need_something(count: int) -> None:
    with pytest.raises(ValueError, match=r"degrees|data point|against"):
        paired([], []) if count else t_quantile(0.975, 0)
    with pytest.raises(ValueError, match="1 values against 0"):
        paired([0.5], [])


# ---- what is promised, held against simulation


def skewed(chooser: random.Random) -> tuple[float, float]:
    """A value near 1, and for half of the records one that fell, few of them far: as grounding is."""
    first = 1 - chooser.betavariate(0.4, 3)
    return first, max(0.0, first - (chooser.betavariate(0.4, 4) if chooser.random() < 0.5 else 0.0))


def graded(chooser: random.Random) -> tuple[float, float]:
    """Four grades, independent of each other."""
    grades = (0.0, 1 / 3, 2 / 3, 1.0)
    return chooser.choices(grades, (1, 1, 2, 6))[0], chooser.choices(grades, (2, 1, 2, 5))[0]


def level(chooser: random.Random) -> tuple[float, float]:
    """Differences of a normal distribution."""
    first = 0.4 + 0.2 * chooser.random()
    return first, first + chooser.gauss(0.05, 0.1)


def true_difference(draw: Draw) -> float:
    """The mean difference of so many pairs that it is the true one for samples of a few dozen."""
    chooser = random.Random(1)
    pairs = [draw(chooser) for _ in range(50_000)]
    return math.fsum(b - a for a, b in pairs) / len(pairs)


SAMPLES = 1000


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer signs and resamples: p and interval hold as often (Phipson and Smyth 2010; Hall 1986), with fewer digits.

    The fifth of 199 resamples from either end leaves 5 of 200 beyond it, which is exactly 2.5 %.
    """
    monkeypatch.setattr("ragstone.stats.paired_tests.FLIPS", 999)
    monkeypatch.setattr("ragstone.stats.paired_tests.RESAMPLES", 199)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("draw", [skewed, graded, level])
def test_the_interval_holds_the_true_difference_95_times_in_100(draw: Draw) -> None:
    """Of samples of 20, between 93 and 97 in 100, where values are skewed, graded, or just few."""
    truth = true_difference(draw)
    hits = given = 0
    for number in range(SAMPLES):
        chooser = random.Random(f"{draw.__name__} {number}")
        pairs = [draw(chooser) for _ in range(20)]
        found = paired([a for a, _ in pairs], [b for _, b in pairs], seed=number)
        if found.low is not None and found.high is not None:
            given += 1
            hits += found.low <= truth <= found.high
    assert given >= 0.97 * SAMPLES
    assert 0.93 <= hits / given <= 0.97


@pytest.mark.usefixtures("few_draws")
def test_the_interval_of_clusters_holds_it_too() -> None:
    """Of 25 topics with 1 to 10 records each, which share most of what they differ by, and skewed."""
    hits = 0
    for number in range(SAMPLES):
        chooser = random.Random(f"clusters {number}")
        second: list[float] = []
        topics: list[int] = []
        for topic in range(25):
            shared = 0.5 / 3.5 - chooser.betavariate(0.5, 3)
            size = chooser.randint(1, 10)
            second += [0.5 + shared + chooser.gauss(0, 0.1) for _ in range(size)]
            topics += [topic] * size
        found = paired([0.5] * len(second), second, topics, seed=number)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0 <= found.high
    assert 0.93 <= hits / SAMPLES <= 0.97


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("clustered", [False, True])
def test_of_a_thousand_null_comparisons_five_in_a_hundred_have_a_small_p(clustered: bool) -> None:
    """Two runs of one system: between 3 and 7 in 100 have p under .05."""
    small = 0
    for number in range(1000):
        chooser = random.Random(f"null {clustered} {number}")
        sums = []
        for _ in range(25):
            shared = chooser.gauss(0, 0.2) if clustered else 0.0
            size = chooser.randint(1, 6) if clustered else 1
            values = [(chooser.betavariate(2, 0.6), chooser.betavariate(2, 0.6)) for _ in range(size)]
            sums.append(math.fsum(b - a + shared for a, b in values))
        small += sign_flip(sums, seed=number)[0] < 0.05
    assert 30 <= small <= 70


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 8, 19, 60, 301, 998])
@pytest.mark.parametrize("share", [0.025, 0.2, 0.5, 0.8, 0.975, 0.9995])
def test_quantiles_of_students_t(degrees: int, share: float) -> None:
    """To ten digits; from a thousand degrees on it is the normal one."""
    assert t_quantile(share, degrees) == pytest.approx(stats.t.ppf(share, degrees), rel=1e-10, abs=1e-10)
    assert t_quantile(share, 1000) == pytest.approx(stats.norm.ppf(share), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("deviation", [0.0, 0.7, -1.96, 5.0])
def test_p_of_a_normal_deviate(deviation: float) -> None:
    assert normal_p(deviation) == pytest.approx(2 * stats.norm.sf(abs(deviation)))


@pytest.mark.parametrize("seed", range(8))
def test_p_by_all_signs_is_that_of_the_permutation_test(seed: int) -> None:
    """Exactly, with ties and zeros among the differences."""
    chooser = random.Random(seed)
    values = [chooser.choice((-1, -0.5, 0, 0, 0.25, 0.5, 1)) + (0.3 if seed % 2 else 0.0) for _ in range(3 + seed)]
    oracle = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(values)[0] == pytest.approx(oracle.pvalue)


@pytest.mark.parametrize("count", [20, 60, 200])
@pytest.mark.parametrize("tests", [1, 10])
def test_the_smallest_difference_is_shown_four_times_in_five(count: int, tests: int) -> None:
    """The power of the t test at it, by the noncentral t distribution, is .8, from about twenty pairs on."""
    chooser = random.Random(count)
    found = paired([0.5] * count, [chooser.random() for _ in range(count)])
    shown = found.smallest(tests)
    assert shown is not None
    assert found.error is not None
    critical, away = stats.t.ppf(1 - 0.025 / tests, count - 1), shown / found.error
    power = stats.nct.sf(critical, count - 1, away) + stats.nct.cdf(-critical, count - 1, away)
    assert power == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("tests", [1, 10])
def test_the_smallest_difference_of_few_has_a_degree_less_than_there_are_groups(size: int, tests: int) -> None:
    """As the docs give it, with both quantiles; of records that belong together the groups count."""
    changes = [0.1, 0.2, 0.15, -0.05, 0.3, 0.25, 0.1]
    values = [0.5 + change for change in changes for _ in range(size)]
    found = paired([0.5] * len(values), values, [n // size for n in range(len(values))] if size > 1 else None)
    assert found.error == pytest.approx(stats.sem(changes))
    quantiles = stats.t.ppf(1 - 0.025 / tests, len(changes) - 1) + stats.t.ppf(0.8, len(changes) - 1)
    assert found.smallest(tests) == pytest.approx(quantiles * stats.sem(changes))


def studentized(values: Any, clusters: Any, *, seed: int, draws: int = 4000) -> tuple[float, float]:
    """The studentized bootstrap of a mean of clusters, over all draws at once."""
    generator = np.random.default_rng(seed)
    names, which = np.unique(clusters, return_inverse=True)
    sums, sizes = np.bincount(which, values), np.bincount(which)
    picked = generator.integers(0, len(names), (draws, len(names)))

    def errors(total: Any, size: Any) -> tuple[Any, Any]:
        centre = total.sum(-1) / size.sum(-1)
        off = total - centre[..., None] * size if total.ndim > 1 else total - centre * size
        count = total.shape[-1]
        return centre, np.sqrt((off**2).sum(-1) * count / (count - 1)) / size.sum(-1)

    centre, error = errors(sums, sizes)
    means, spreads = errors(sums[picked], sizes[picked])
    low, high = np.quantile((means - centre) / spreads, [0.025, 0.975])
    return float(centre - high * error), float(centre - low * error)


@pytest.mark.parametrize("most", [1, 8])
def test_intervals_are_those_of_a_direct_computation(most: int) -> None:
    """On skewed values, alone or in clusters that differ in size: both ends within a twelfth of the width."""
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, most + 1, 40)
    topics = np.repeat(np.arange(40), sizes)
    values = np.repeat(generator.gamma(1, 0.1, 40) - 0.08, sizes) + generator.normal(0, 0.05, len(topics))
    found = paired([0.5] * len(values), list(0.5 + values), list(topics) if most > 1 else None)
    low, high = studentized(values, topics, seed=2)
    assert found.method == "bootstrap-t"
    assert found.low == pytest.approx(low, abs=(high - low) / 12)
    assert found.high == pytest.approx(high, abs=(high - low) / 12)

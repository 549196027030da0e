"""Means, intervals and agreement of raters: known values, oracles, seeds, and the edges."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy

from ragstone.stats.agreement import Matrix, alpha, auroc, calibration_error, cluster_interval, kappa_interval, kappa_of
from ragstone.stats.correction import Rates, labels_to_halve, prediction_powered, rogan_gladen, score_interval
from ragstone.stats.means import LARGE, agreement, binomial, kendall_tau, mean, mean_interval
from ragstone.stats.rankings import majority, pass_at, spearman, tau_ap

HAIR = 1e-12


def half_width(values: Sequence[float]) -> float:
    """Of the normal 95 % interval."""
    return 1.96 * statistics.stdev(values) / math.sqrt(len(values))


def test_nothing_has_no_mean() -> None:
    """No default stands in for it."""
    for function in (mean, mean_interval):
        with pytest.raises(ValueError, match="at least one data point"):
            function([])


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


COUNTS = ((20, 5, 1), (4, 15, 6), (2, 3, 44))
PAIRS = [(gold, judged) for gold, row in enumerate(COUNTS) for judged, count in enumerate(row) for _ in range(count)]


def test_a_matrix_has_the_worked_measures() -> None:
    matrix = Matrix.of(PAIRS, 3)
    assert (matrix.counts, matrix.n, matrix.base_rate) == (COUNTS, 100, 0.49)
    kappas = [matrix.kappa("none"), matrix.kappa("linear"), matrix.kappa("quadratic")]
    assert kappas == [pytest.approx(value, abs=5e-5) for value in (0.6640, 0.7288, 0.7865)]
    assert kappa_of([count for row in COUNTS for count in row], 3) == pytest.approx(kappas[0])
    measures = [matrix.accuracy, matrix.balanced_accuracy, matrix.macro_f1]
    assert measures == [pytest.approx(value, abs=5e-5) for value in (0.79, 0.7557, 0.7581)]
    alphas = [alpha(PAIRS, 3, "nominal"), alpha(PAIRS, 3, "ordinal"), alpha(PAIRS, 3, "interval")]
    assert alphas == [pytest.approx(value, abs=5e-5) for value in (0.6656, 0.7914, 0.7875)]


def test_alpha_of_several_raters_is_krippendorffs_own_example() -> None:
    """Four raters, twelve units, missing labels: .743, .815 and .849 (Krippendorff 2011, computing alpha)."""
    rows: list[list[int | None]] = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    items = [[None if label is None else label - 1 for label in item] for item in zip(*rows, strict=True)]
    found = [alpha(items, 5, "nominal"), alpha(items, 5, "ordinal"), alpha(items, 5, "interval")]
    assert found == [pytest.approx(value, abs=5e-4) for value in (0.743, 0.815, 0.849)]


@pytest.mark.parametrize("pairs", [[], [(1, 1)] * 4])
def test_what_is_undefined_is_none(pairs: list[tuple[int, int]]) -> None:
    matrix = Matrix.of(pairs, 2)
    assert (matrix.kappa(), alpha(pairs, 2, "nominal"), auroc([0.1, 0.2], [True, True])) == (None, None, None)
    assert matrix.scores(0).precision is None
    assert (tau_ap([1, 1], [1, 2]), spearman([1, 1], [1, 2]), calibration_error([], [])) == (None, None, None)


def test_probabilities_are_measured_as_scipy_does() -> None:
    chooser = random.Random(7)
    scores = [round(chooser.random(), 1) for _ in range(200)]
    right = [chooser.random() < score for score in scores]
    ones, zeros = ([s for s, r in zip(scores, right, strict=True) if r is side] for side in (True, False))
    found = scipy.mannwhitneyu(ones, zeros).statistic / (len(ones) * len(zeros))
    assert auroc(scores, right) == pytest.approx(found)
    assert calibration_error([0.9, 0.9, 0.1, 0.1], [True, False, False, False]) == pytest.approx(0.25)


@pytest.mark.parametrize("swapped", [(0, 0.7778), (8, 0.97531)])
def test_a_swap_at_the_top_counts_more(swapped: tuple[int, float]) -> None:
    at, expected = swapped
    ranks = list(range(10, 0, -1))
    other = [*ranks[:at], ranks[at + 1], ranks[at], *ranks[at + 2 :]]
    assert tau_ap(ranks, other) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([9, 4, 9, 9, 7, 1, 2, 4, 5, 10], [8, 4, 8, 10, 7, 1, 4, 5, 6, 10], 0.7321),
        ([3, 6, 2, 9, 6, 2, 7, 8, 7, 4], [3, 8, 7, 9, 1, 1, 5, 6, 10, 6], 0.2970),
        ([2, 6, 9, 1, 5, 6, 8, 4, 10, 4], [8, 3, 3, 9, 6, 3, 2, 9, 0, 2], -0.7047),
    ],
)
def test_rankings_with_ties(first: list[float], second: list[float], expected: float) -> None:
    """The figures of the R package ircor, by the measure's authors."""
    assert tau_ap(first, second) == tau_ap(second, first) == pytest.approx(expected, abs=5e-5)
    assert spearman(first, second) == pytest.approx(scipy.spearmanr(first, second).statistic)


def test_repeated_attempts() -> None:
    assert [pass_at(5, 2, k) for k in (1, 3, 5)] == [pytest.approx(0.4), pytest.approx(0.9), 1.0]
    drawn = [any(one < 2 for one in some) for some in combinations(range(5), 3)]
    assert pass_at(5, 2, 3) == pytest.approx(sum(drawn) / len(drawn))
    assert (majority(["a", "b", "a"]), majority(["a", "b"])) == ("a", None)
    with pytest.raises(ValueError, match="expected 1 to 2"):
        pass_at(2, 1, 3)


HUMAN, JUDGED = [1, 0, 1, 1, 0, 1, 1, 0, 1, 1], [1, 0, 1, 1, 1, 1, 1, 0, 1, 0]
OTHERS = [1] * 24 + [0] * 6


@pytest.mark.parametrize(
    ("power", "value", "low", "high"),
    [(None, 0.746129, 0.4947, 0.9975), (1.0, 0.8, 0.4880, 1.1120), (0.0, 0.7, 0.4160, 0.9840)],
)
def test_prediction_powered_means(power: float | None, value: float, low: float, high: float) -> None:
    found = prediction_powered(HUMAN, JUDGED, OTHERS, power=power)
    assert found.value == pytest.approx(value, abs=5e-7)
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)
    assert found.power == pytest.approx(0.4613 if power is None else power, abs=5e-5)
    assert found.raw == pytest.approx(31 / 40)


def test_items_of_one_record_are_not_independent() -> None:
    """Each item asked three times over has the interval of the item asked once."""
    ours, theirs = list(range(10)), list(range(10, 40))
    once = prediction_powered(HUMAN, JUDGED, OTHERS, clusters=(ours, theirs))
    ids = (ours * 3, theirs * 3)
    thrice = prediction_powered(HUMAN * 3, JUDGED * 3, OTHERS * 3, power=once.power, clusters=ids)
    assert thrice.low == pytest.approx(once.low)
    assert thrice.high == pytest.approx(once.high)
    even, others = [0, 1] * 5, [0, 1] * 15  # no skew
    normal, apart = (prediction_powered(even, even, others, power=0, clusters=c) for c in (None, (ours, theirs)))
    wider = scipy.t(8).ppf(0.975) / 1.959964 * math.sqrt(10 / 8 + 0.5 / 100 / (0.25 / 10))
    assert (apart.high - apart.low) / (normal.high - normal.low) == pytest.approx(wider)
    with pytest.raises(ValueError, match="as many human"):
        prediction_powered([1], [], [1])


@pytest.mark.parametrize(("base", "right"), [(0.5, (0.8, 0.8)), (0.8, (0.9, 0.7)), (0.8, (0.95, 0.3))])
@pytest.mark.parametrize("times", [1, 3])
def test_corrected_intervals_cover_the_truth(base: float, right: tuple[float, float], times: int) -> None:
    """With 30 labelled records, in 93 to 99% of draws; also if each is asked three times."""
    draw, covered, drawn = random.Random(5), 0, 0
    while drawn < 300:
        people = [float(draw.random() < base) for _ in range(200)]
        judge = [one if draw.random() < right[one == 0] else 1 - one for one in people for _ in range(times)]
        human = [one for one in people[:30] for _ in range(times)]
        if len(set(human)) < 2:
            continue  # no interval is shown
        drawn += 1
        ids = [record for record in range(200) for _ in range(times)]
        cut = len(human)
        found = prediction_powered(human, judge[:cut], judge[cut:], clusters=(ids[:cut], ids[cut:]))
        covered += found.low <= base <= found.high
    assert 0.93 <= covered / drawn <= 0.99


def test_the_interval_of_a_skewed_estimate_is_nearly_wilsons() -> None:
    """45 of 50: Wilson's interval is .7864 to .9565; Student's t reaches from .81 to .99."""
    assert score_interval(0.9, 0.09 / 50, -0.072 / 2500, 1.959964) == pytest.approx((0.7864, 0.9565), abs=0.01)


def test_how_many_labels_would_halve_the_interval() -> None:
    """30 more labels are just too few, as copies of the labelled items show; with 40 items in all none would do."""
    widths = {}
    for times in (1, 4, 5):
        found = prediction_powered(HUMAN * times, JUDGED * times, JUDGED * (400 - times))
        widths[times] = found.high - found.low
    more = labels_to_halve(HUMAN, JUDGED, JUDGED * 399)
    assert more is not None
    assert 30 < more < 40
    assert widths[4] > widths[1] / 2 > widths[5]
    assert labels_to_halve(HUMAN, JUDGED, OTHERS) is None
    assert labels_to_halve([1, 1], [0, 1], OTHERS) is None
    with pytest.raises(ValueError, match="as many human"):
        labels_to_halve([1], [], [1])


def rates(passed: int = 320, clusters: Any = None, **changed: int) -> Any:
    return rogan_gladen(passed, 400, Rates(78, 80, 30, 40)._replace(**changed), clusters)


def test_a_rate_corrected_for_errors() -> None:
    found = rates()
    assert (found.value, found.low, found.high) == tuple(pytest.approx(v, abs=6e-4) for v in (0.7586, 0.673, 0.841))
    assert Matrix(((30, 10), (2, 78))).kappa() == pytest.approx(0.763, abs=5e-4)
    assert rates(passed=250, pass_right=60, fail_right=30).value == pytest.approx(0.75)
    counts = (Rates(1, 1, 0, 0), Rates(0, 1, 0, 0), Rates(0, 0, 1, 1), Rates(0, 0, 0, 1))
    ours = [one for one, times in zip(counts, (78, 2, 30, 10), strict=True) for _ in range(times)]
    theirs = [(1, 1)] * 320 + [(0, 1)] * 80
    assert rates(clusters=(ours, theirs)).low == pytest.approx(found.low)  # each item on its own
    pairs = [Rates(*(2 * count for count in one)) for one in ours[::2]]
    clustered = rates(clusters=(pairs, [(2 * passes, 2) for passes, _ in theirs[::2]]))
    assert clustered.value == found.value
    assert 1.4 < (clustered.high - clustered.low) / (found.high - found.low) < 1.5  # √2, of half as many
    with pytest.raises(ValueError, match=r"TPR 0\.25 \+ TNR 0\.75"):
        rates(pass_right=20)
    with pytest.raises(ValueError, match="items that they fail"):
        rates(fail_total=0)


def test_intervals_draw_whole_records() -> None:
    """Copies of a record say nothing new; two records that say the same leave no width."""
    parts = [(8, 1, 2, 9), (3, 3, 1, 5), (6, 0, 0, 4), (1, 2, 2, 1)] * 5

    def kappa(cells: Sequence[int]) -> float | None:
        return kappa_of(cells, 2)

    found = cluster_interval(parts, kappa)
    assert kappa_interval(parts, 2) == found
    assert found is not None
    low, high = found
    assert low < (kappa([sum(column) for column in zip(*parts, strict=True)]) or 0) < high
    assert cluster_interval([(1, 0, 0, 1)] * 3, kappa) == (1.0, 1.0)
    assert cluster_interval(parts[:1], kappa) is None
    assert cluster_interval([(1, 0, 0, 0)] * 2, kappa) is None


def test_agreement_without_an_exception_is_no_certainty() -> None:
    """With records alone that agree throughout: .025^(1/n) of records is how many may, over agreement by chance."""
    for records, low in ((3, 1 - (1 - 0.025 ** (1 / 3)) * 2), (60, 1 - (1 - 0.025 ** (1 / 60)) * 2)):
        assert kappa_interval([(1, 0, 0, 1)] * records, 2) == pytest.approx((low, 1.0))
    assert kappa_interval([(4, 0, 2, 0)] * 40, 2) is None, "the judge gives one label only"

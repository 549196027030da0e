"""The same numbers as scipy's and numpy's: quantiles, permutations, power, and resampled intervals."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ragstone.stats.means import normal_p, t_quantile
from ragstone.stats.paired_tests import paired, sign_flip


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

"""The numbers of tuning: what is chosen on one half is reported on the other, and a threshold on folds of its own."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from ragstone.analysis.tuning import AskedCombination, Combination, TunedUnit, fitted, ranked, split
from ragstone.errors import InputError
from ragstone.judges.base import Cuts
from ragstone.stats.agreement import kappa_of
from ragstone.stats.means import mean


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals are tested elsewhere; here they only have to be there."""
    monkeypatch.setattr("ragstone.stats.agreement.RESAMPLES", 100)


def asked(name: str, units: list[TunedUnit], dollars: float | None = 0.0) -> AskedCombination:
    return AskedCombination(Combination(name), 1, units, len(units), dollars)


def units(golds: list[int], judged: Sequence[int | None], size: int = 2) -> list[TunedUnit]:
    """Units of records of so many each."""
    pairs = enumerate(zip(golds, judged, strict=True))
    return [TunedUnit(f"r{at // size}", gold, label) for at, (gold, label) in pairs]


def test_halves_have_two_labels_each_and_come_from_the_seed() -> None:
    labels = {f"r{n}": {n % 2} for n in range(9)}
    first = split(labels, 3)
    assert first == split(dict(reversed(labels.items())), 3)
    assert first != split(labels, 4)
    assert sorted(first[0] | first[1]) == sorted(labels)
    assert (len(first[0]), len(first[1])) == (5, 4)
    with pytest.raises(InputError, match="cannot be split: the half to choose on"):
        split({"a": {0, 1}, "b": {1}, "c": {1}}, 0)


def test_the_winner_of_noise_has_no_agreement_where_it_was_not_chosen() -> None:
    """Twelve judges that guess: the best one looks good where it was chosen and is a guess on the other half."""
    chosen, held = [], []
    for seed in range(12):
        draws = random.Random(seed)
        golds = [draws.randrange(2) for _ in range(48)]
        guesses = [asked(f"j{n}", units(golds, [draws.randrange(2) for _ in golds])) for n in range(12)]
        tried, halves = ranked(guesses, 2, seed)
        assert halves == (12, 12)
        chosen.append(tried[0].chosen_on)
        held.append(tried[0].kappa)
    assert mean(chosen) > 0.25
    assert abs(mean(held)) < 0.1


def test_a_unit_that_was_not_read_is_a_disagreement() -> None:
    """Else a judge would win by answering the easy ones alone."""
    golds = [0, 1] * 8
    whole = asked("whole", units(golds, [*golds[:14], 1, 0]))
    part = asked("part", units(golds, [*golds[:8], *[None] * 8]))
    first, second = ranked([part, whole], 2, 0)[0]
    assert (first.combination.judge, second.combination.judge) == ("whole", "part")
    assert (first.read, second.read) == (1, 0.5)
    assert second.chosen_on < 1


@pytest.mark.parametrize(("records", "behind"), [(12, (2, 2)), (10, None)])
def test_of_equals_the_cheaper_comes_first_and_is_not_shown_to_differ(
    records: int, behind: tuple[float, float] | None
) -> None:
    """Nor is any other if fewer than six of the held-out records differ: five may all favour one judge by chance."""
    golds = [0, 1] * records
    tried, _ = ranked([
        asked("dear", units(golds, golds), 2.0), asked("cheap", units(golds, golds), 1.0),
        asked("wrong", units(golds, [1 - gold for gold in golds]), 0.0),
    ], 2, 0)  # fmt: skip
    assert [(one.combination.judge, one.equal) for one in tried] == [
        ("cheap", True), ("dear", True), ("wrong", behind is None),
    ]  # fmt: skip
    assert [one.cost for one in tried] == [500 / records, 1000 / records, 0.0]
    assert tried[2].behind == behind


def sample(seed: int, *, noise: bool) -> list[TunedUnit]:
    """Units that people accept from .7 on, or at random, and the judge from .5 on."""
    draws = random.Random(seed)
    made = []
    for at in range(60):
        chance = draws.random()
        gold = draws.randrange(2) if noise else int(chance >= 0.7)
        made.append(TunedUnit(f"r{at // 3}", gold, int(chance >= 0.5), chance))
    return made


def test_a_threshold_is_found_where_people_begin_to_accept() -> None:
    fit = fitted("j", sample(0, noise=False), Cuts(0.0, 0.5, 0.0), 0)
    assert fit.before == 0.5
    assert fit.after == pytest.approx(0.7, abs=0.03)
    assert fit.kappa_before < 0.7
    assert fit.kappa_after > 0.85
    assert fit.better
    assert fit.shown


def test_a_threshold_that_is_fitted_to_noise_shows_no_gain() -> None:
    """On the units that it is fitted to it looks better; on the folds that it was not, it does not."""
    apparent, held = [], []
    for seed in range(20):
        guessed = sample(seed, noise=True)
        fit = fitted("j", guessed, Cuts(0.0, 0.5, 0.0), seed + 100)
        own = [(unit.gold, (unit.probability or 0) >= fit.after) for unit in guessed]
        apparent.append(kappa_of([own.count((gold, label)) for gold in (0, 1) for label in (False, True)], 2) or 0.0)
        held.append(fit.kappa_after)
    assert mean(apparent) > 0.12
    assert abs(mean(held)) < 0.07


def test_no_threshold_is_one_that_the_judge_does_not_take_and_units_without_a_probability_keep_their_label() -> None:
    accepted = [TunedUnit(f"r{n}", int(n % 4 > 0), 0, 0.1 * (n % 4)) for n in range(40)]
    assert fitted("j", accepted, Cuts(0.0, 0.5, 0.0), 0).after == pytest.approx(0.1)
    assert fitted("j", accepted, Cuts(0.3, 0.5, 0.0), 0).after == pytest.approx(0.3)
    assert 0.5 < fitted("j", sample(0, noise=False), Cuts(0.0, 0.5, 0.0, most=0.6), 0).after <= 0.6
    stated = [TunedUnit(unit.record, unit.gold, unit.gold) for unit in accepted]
    assert fitted("j", stated, Cuts(0.0, 0.5, 0.0), 0).kappa_after == 1

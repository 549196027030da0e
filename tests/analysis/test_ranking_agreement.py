"""Agreement on the ranking of systems and on repeated judging, against scipy and by counting."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from scipy import stats as scipy

import run_folders
from ragstone.analysis.ranking_agreement import (
    Attempts,
    Correlation,
    SystemMeans,
    SystemValue,
    at_k,
    attempts_of,
    rank_systems,
    repeated_mean,
    systems_of,
)
from ragstone.analysis.saved import SavedRun
from ragstone.stats.rankings import tau_ap

SYSTEMS, TOPICS = "abcde", range(12)


def drawn(noise: float) -> list[SystemValue]:
    """Five systems of rising quality on twelve topics, judged with noise."""
    chooser = random.Random(1)
    values = []
    for topic in TOPICS:
        ease = chooser.random()
        for place, system in enumerate(SYSTEMS):
            gold = round(ease + place / 4 + chooser.random(), 1)
            values.append(SystemValue(system, str(topic), gold + noise * chooser.random(), gold))
    return values


def test_rankings_by_means_and_by_topic() -> None:
    """scipy's figures, each in an interval that draws topics; a worse judge agrees less."""
    values = drawn(2.0)
    found = rank_systems(values)
    assert [one.system for one in found.systems] == list(SYSTEMS)
    judged, gold = [one.judged for one in found.systems], [one.gold for one in found.systems]
    assert found.tau is not None
    assert found.tau_ap is not None
    assert found.spearman is not None
    assert found.topic_tau is not None
    assert found.tau.value == pytest.approx(scipy.kendalltau(judged, gold).statistic)
    assert found.spearman.value == pytest.approx(scipy.spearmanr(judged, gold).statistic)
    assert found.tau_ap.value == tau_ap(judged, gold)
    rows = [[value for value in values if value.topic == str(topic)] for topic in TOPICS]
    taus = [scipy.kendalltau([v.judged for v in row], [v.gold for v in row]).statistic for row in rows]
    assert found.topic_tau.value == pytest.approx(sum(taus) / len(taus))
    assert found.ranked_topics == found.topics == 12
    for correlation in (found.tau, found.tau_ap, found.spearman, found.topic_tau):
        assert correlation.interval is not None
        assert correlation.interval[0] <= (correlation.value or 0) <= correlation.interval[1]
    better = rank_systems(drawn(0.0))
    assert better.tau == better.spearman == better.topic_tau == Correlation(1.0, (1.0, 1.0))
    assert found.as_json()["systems"][0]["topics"] == 12


def test_repeated_answers_to_a_topic_say_nothing_new() -> None:
    """Three copies of each value, in another order, have the intervals of one; means that tie stay tied."""
    values = drawn(2.0)
    assert rank_systems(values * 3) == rank_systems(values)
    level = [SystemValue(system, str(topic), (topic * (place + 1) % 3) / 10, 0.1 * (topic % 3))
             for place, system in enumerate("ab") for topic in range(3)]  # fmt: skip
    lower = [SystemValue("c", str(topic), 0.0, 0.0) for topic in range(3)]
    found = rank_systems([*level, *lower])
    assert found.tau is not None
    assert found.tau.value == 1.0  # a and b tie on both sides


def test_two_systems_are_no_ranking() -> None:
    found = rank_systems([value for value in drawn(0.0) if value.system in "ab"])
    assert found.withheld == "2 systems; a rank correlation needs at least 3"
    assert found.tau is None
    assert [one.topics for one in found.systems] == [12, 12]
    assert rank_systems([]).withheld.startswith("0 systems")
    lone = rank_systems([SystemValue(system, "q1", place, place) for place, system in enumerate("abc")])
    assert lone.tau == lone.topic_tau == Correlation(1.0, None)
    assert lone.systems[2] == SystemMeans("c", 2.0, 2.0, 1)


def test_the_mean_of_repeats() -> None:
    values = [0.71, 0.74, 0.69, 0.73]
    found = repeated_mean(values)
    assert found.deviation == pytest.approx(scipy.tstd(values))
    expected = scipy.t.interval(0.95, 3, loc=found.mean, scale=scipy.sem(values))
    assert found.interval == pytest.approx(expected)
    assert repeated_mean([0.7]).as_json() == {"values": (0.7,), "mean": 0.7, "deviation": None, "interval": None}


def test_attempts_against_people() -> None:
    """By counting all choices of k attempts; ties and unjudged attempts are no right answers."""
    attempts = [
        Attempts("yes", ("yes", "no", "yes", "no", "yes")),
        Attempts("no", ("yes", "yes", "yes", "no", "no")),
        Attempts("yes", (None, "yes", "no", None, None)),
    ]
    one, three, five = at_k(attempts)
    assert [found.k for found in (one, three, five)] == [1, 3, 5]
    chances = [sum(attempt.gold in some for some in combinations(attempt.labels, 3)) / 10 for attempt in attempts]
    assert three.any_right == pytest.approx(sum(chances) / 3)
    assert [one.average, three.average] == pytest.approx([1 / 3, (2 / 3 + 0 + 1 / 3) / 3])
    assert [three.majority, three.ties] == pytest.approx([1 / 3, 1])  # of yes and no, the third has one each
    assert (five.any_right, five.units) == (1.0, 3)
    assert [one.majority, one.ties] == pytest.approx([1 / 3, 1])
    assert at_k([]) == ()
    assert five.as_json()["average"] == pytest.approx((3 / 5 + 2 / 5 + 1 / 5) / 3)


def judged(path: Path, labels: Mapping[str, str | None], *, text: str = "Paris.", run: str = "") -> SavedRun:
    """A run with one record, whose claims have these labels."""
    units: list[dict[str, Any]] = [
        {"id": unit, "level": "claim", "text": text if unit.endswith("1") else "Rome.", "parent": None}
        for unit in labels
    ]
    verdicts = [{"unit": unit, "label": label} for unit, label in labels.items()]
    scores = [run_folders.score("grounding", 1.0, verdicts=verdicts)]
    meta = {"run_id": run} if run else {}
    return SavedRun(Path(run_folders.folder(path, [run_folders.result("r1", 1, scores, units=units, meta=meta)])))


def test_attempts_are_of_the_same_units(tmp_path: Path) -> None:
    """A unit that a run lacks or words in another way is left out; a run without a name is a system of its own."""
    claims = {"r1/claim/1": "yes", "r1/claim/2": "no"}
    gold = {("r1", "r1/claim/1"): "yes", ("r1", "r1/claim/2"): "yes", ("r1", "r1/claim/3"): "no"}
    first = judged(tmp_path / "first", claims, run="bm25")
    second = judged(tmp_path / "second", {"r1/claim/1": None, "r1/claim/2": "yes"})
    assert attempts_of([first, second], gold, "support") == [
        Attempts("yes", ("yes", None)),
        Attempts("yes", ("no", "yes")),
    ]
    assert attempts_of([first, second], gold, "relevance") == []
    reworded = judged(tmp_path / "third", claims, text="Paris is a city.")
    assert attempts_of([first, second, reworded], gold, "support") == [Attempts("yes", ("no", "yes", "no"))]
    assert systems_of(first) == {"r1": ("bm25", "r1")}
    assert systems_of(second) == {"r1": ("second", "r1")}

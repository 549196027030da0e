"""Summaries: means that stand on what was scored, coverage, bounds, outcomes and money."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from ragstone.analysis.summary import summarize
from ragstone.result_types import SummaryDict
from ragstone.store.database import ResultRow, ScoreRow, Store


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(":memory:") as opened:
        yield opened


def score(position: int, value: float | None, status: str = "scored", metric: str = "m", **more: Any) -> ScoreRow:
    fields: dict[str, Any] = {
        "asked": 1, "unjudged": 0, "low": value, "high": value, "outcome": None,
        "calls": 0, "input_tokens": 0, "output_tokens": 0, "dollars": 0.0,
    }  # fmt: skip
    return ScoreRow(metric, position, value, status, **{**fields, **more})


def keep(store: Store, rows: dict[int, list[ScoreRow]]) -> int:
    """A run with these scores by place in the input."""
    run = store.start_run("r", {})
    store.begin()
    store.insert((), [(run, ResultRow(n, f"r{n}", b"{}"), scores) for n, scores in rows.items()])
    store.commit()
    return run


def summary(store: Store, *scores: ScoreRow, signatures: dict[str, str] | None = None) -> SummaryDict:
    rows: dict[int, list[ScoreRow]] = {}
    for row in scores:
        rows.setdefault(row.position, []).append(row)
    return summarize(store, keep(store, rows), signatures or {"m": "m|v:1"}, "done")


def metric(store: Store, *scores: ScoreRow) -> Any:
    return summary(store, *scores)["metrics"]["m"]


@pytest.mark.parametrize(("scores", "said"), [
    ([score(1, 1.0), score(2, 0.0), score(3, None, "judge_failed", low=0.0, high=1.0), score(4, None, "empty"),
      score(5, None, "missing_field"), score(6, 0.5, "partial", low=0.25, high=0.75)],
     {"mean": 0.5, "median": 0.5, "scored": 3, "total": 6, "below_one": 2, "signature": "m|v:1",
      "statuses": {"empty": 1, "judge_failed": 1, "missing_field": 1, "partial": 1, "scored": 2}}),
    # A record that failed could have been anything: the bounds of the mean say so.
    ([score(1, 1.0), score(2, None, "judge_failed", low=0.0, high=1.0)], {"mean": 1.0, "low": 0.5, "high": 1.0}),
    ([score(1, None, "empty"), score(2, None, "missing_field")],
     {"mean": None, "median": None, "interval": None, "low": None, "high": None, "scored": 0, "total": 2,
      "interval_method": "none"}),
    # ``on_empty = zero`` gives empty records a value, which the user asked for.
    ([score(1, 1.0), score(2, 0.0, "empty")], {"mean": 0.5, "scored": 2}),
    ([score(1, 0.5), score(2, 0.5)], {"interval": None, "interval_method": "none"}),
    # Nine digits: no noise of the last bits in a file that people compare.
    ([score(1, 0.1), score(2, 0.2), score(3, 0.3)], {"mean": 0.2}),
    ([score(1, 1.0, asked=4, unjudged=1, outcome="PASSED"), score(2, 0.1, asked=2, outcome="FAILED"),
      score(3, 0.2, asked=1, outcome="FAILED"), score(4, None, "judge_failed", asked=3, unjudged=3)],
     {"units": {"asked": 10, "unjudged": 4}, "outcomes": {"FAILED": 2, "PASSED": 1}}),
    ([score(1, 1.0)], {"outcomes": None}),
    # One unknown price makes the sum unknown, never 0; the calls and tokens are known still.
    ([score(1, 1.0, dollars=None, calls=1), score(2, 1.0, dollars=0.5, calls=1)],
     {"cost": {"calls": 2, "input_tokens": 0, "output_tokens": 0, "dollars": None}}),
])  # fmt: skip
def test_figures_stand_on_the_scored_alone(store: Store, scores: list[ScoreRow], said: dict[str, Any]) -> None:
    """Empty, missing and failed records are counted beside them and not filled in."""
    found = metric(store, *scores)
    assert {name: found[name] for name in said} == said


def test_a_metric_without_a_single_row_is_there(store: Store) -> None:
    """A run that was stopped at once names its metrics, with nothing in them."""
    found = summary(store, signatures={"a": "a|v", "b": "b|v"})
    assert list(found["metrics"]) == ["a", "b"]
    assert found["metrics"]["a"]["total"] == 0
    assert found["metrics"]["a"]["cost"] == {"calls": 0, "input_tokens": 0, "output_tokens": 0, "dollars": 0}


def test_intervals_are_given_where_there_is_a_spread(store: Store) -> None:
    spread = metric(store, *(score(n, float(n % 2)) for n in range(1, 21)))
    assert spread["interval_method"] == "bootstrap"
    low, high = spread["interval"]
    assert low < 0.5 < high


def test_cost_is_the_sum_of_the_shares(store: Store) -> None:
    """By metric and for the run."""
    first = score(1, 1.0, metric="a", calls=2, input_tokens=10, output_tokens=3, dollars=0.25)
    second = score(1, 1.0, metric="b", calls=1, input_tokens=5, output_tokens=2, dollars=0.5)
    found = summary(store, first, second)
    assert found["cost"] == {"calls": 3, "input_tokens": 15, "output_tokens": 5, "dollars": 0.75}
    assert found["metrics"]["a"]["cost"] == {"calls": 2, "input_tokens": 10, "output_tokens": 3, "dollars": 0.25}


def test_records_that_were_set_aside_are_counted(store: Store) -> None:
    run = keep(store, {1: [score(1, 1.0)], 2: [], 3: []})
    found = summarize(store, run, {"m": ""}, "stopped")
    assert (found["run"], found["status"], found["records"], found["set_aside"]) == (run, "stopped", 3, 2)
    assert (found["metrics"]["m"]["scored"], found["metrics"]["m"]["total"]) == (1, 3)


def test_both_triads_are_compared_over_the_records_that_have_both(store: Store) -> None:
    """In points, nuggetized less plain; where plain is always 0 the interval is that of the nuggetized mean."""
    plain = [score(n, 0.0, metric="groundedness") for n in range(1, 21)]
    nuggets = [score(n, 0.25 if n % 2 else 0.75, metric="nugget_groundedness") for n in range(1, 21)]
    alone = [score(21, 1.0, metric="groundedness"), score(21, None, "empty", metric="nugget_groundedness")]
    found = summary(store, *plain, *nuggets, *alone)
    told = found["methods"]["groundedness"]
    assert (told["plain"], told["nuggetized"], told["difference"], told["records"]) == (0.0, 0.5, 50.0, 20)
    low, high = found["metrics"]["nugget_groundedness"]["interval"] or (0.0, 0.0)
    assert told["interval"] == pytest.approx([100 * low, 100 * high])
    assert "relevance" not in found["methods"]


def test_one_record_that_was_asked_twice_has_its_repeats_told(store: Store) -> None:
    times = b'{"values": [1.0, 0.5], "units": 4, "flips": 1, "unmatched": 2}'
    found = metric(store, score(1, 1.0, repeats=times.decode()))["repeats"]
    assert (found["times"], found["records"], found["means"], found["mean"]) == (2, 1, [1.0, 0.5], 0.75)
    assert found["spread"] == found["record_spread"] == pytest.approx(0.125**0.5)
    assert (found["units"], found["flips"], found["flip_rate"], found["unmatched"]) == (4, 1, 0.25, 2)


def test_a_long_run_is_summed_up_and_not_held(store: Store) -> None:
    """Of one metric at a time a few numbers stay, or a million records with a dozen metrics would be gigabytes."""
    count, names = 20_000, ("answer_relevance", "groundedness", "m")
    run = keep(
        store,
        {n: [score(n, n % 7 / 6, low=0.0, high=1.0, metric=name) for name in names] for n in range(1, count + 1)},
    )
    tracemalloc.start()
    try:
        found = summarize(store, run, {"m": "m|v:1"}, "done")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found["metrics"]["m"]["scored"] == found["metrics"]["groundedness"]["scored"] == count
    assert peak / count < 50

"""Asking several times: the first answer stands, and how far the others agree is counted by what each unit is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from stage import GOOD, QUICK, metrics, records, weigh

from ragstone.engine.document import CallNote
from ragstone.engine.repeats import repeated
from ragstone.judges.base import Failed, Usage
from ragstone.questions import Question, Rate
from ragstone.stats.means import spread
from ragstone.store.database import Store
from ragstone.testing import ScriptedJudge
from ragstone.types import Repeats, Score, Unit, Verdict

WHOLE = metrics("response_groundedness")
CLAIMS = metrics("grounding", "claim_relevance")
LABELS = st.sampled_from(["yes", "no", None])


def verdict(text: str, label: str | None, number: int = 1) -> Verdict:
    value = None if label is None else float(label == "yes")
    return Verdict(Unit(f"r/claim/{number}", "claim", text), label, value, "j")


def score(value: float | None, *verdicts: Verdict) -> Score:
    return Score("m", "r", value, "scored", verdicts=verdicts)


def note(key: str) -> CallNote:
    return CallNote(key, "j", "support", "p", Usage(1, 1), "stop", 0.0)


def agreement(*scores: Score) -> Repeats:
    ((found, _),) = repeated([[(each, ())] for each in scores])
    assert found.repeats is not None
    return found.repeats


def test_a_single_round_is_as_it_was() -> None:
    """No word of repeats: the document of a plain run does not change."""
    first = [(score(0.5, verdict("a", "yes")), (note("1"),))]
    assert repeated([first]) == first


def test_the_first_time_stands_with_the_calls_of_all() -> None:
    """Value, verdicts and evidence are of one asking; the cost is of all."""
    ((found, notes),) = repeated(
        [[(score(1.0, verdict("a", "yes")), (note("1"),))], [(score(0.0, verdict("a", "no")), (note("2"), note("1")))]]
    )
    assert (found.value, found.verdicts[0].label) == (1.0, "yes")
    assert found.repeats == Repeats((1.0, 0.0), units=1, flips=1, unmatched=0)
    assert [each.key for each in notes] == ["1", "2"]


def test_units_are_known_by_their_text() -> None:
    """Claims in another order are the same claims; one that was written once is not matched, and no flip."""
    once = score(0.5, verdict("a", "yes", 1), verdict("b", "no", 2))
    again = score(0.5, verdict("b", "no", 1), verdict("c", "yes", 2), verdict("a", "no", 3))
    assert agreement(once, again) == Repeats((0.5, 0.5), units=2, flips=1, unmatched=1)


def test_the_same_text_twice_is_two_units() -> None:
    once = score(0.5, verdict("a", "yes", 1), verdict("a", "no", 2))
    assert agreement(once, once) == Repeats((0.5, 0.5), units=2, flips=0, unmatched=0)


def test_an_unjudged_unit_does_not_flip() -> None:
    """No verdict is not another verdict."""
    assert agreement(score(1.0, verdict("a", "yes")), score(None, verdict("a", None))) == Repeats((1.0, None), 0, 0, 1)


@given(st.lists(st.lists(LABELS, min_size=3, max_size=3), min_size=2, max_size=5))
def test_flips_are_counted_whatever_the_order(times: list[list[str | None]]) -> None:
    """No more flips than units, none where all agree, and the order of the times does not matter."""
    scores = [score(0.5, *(verdict(str(n), label, n) for n, label in enumerate(labels))) for labels in times]
    found = agreement(*scores)
    assert 0 <= found.flips <= found.units
    assert found.units + found.unmatched == 3
    assert replace(agreement(*scores[::-1]), values=found.values) == found
    assert agreement(scores[0], scores[0]).flips == 0


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_the_spread_is_that_of_a_sample(values: list[float]) -> None:
    """As the statistics module has it; nothing for a single value."""
    import statistics

    assert spread(values) == pytest.approx(statistics.stdev(values), abs=1e-12)
    assert spread(values[:1]) is None


# ---- through the engine


def moody(labels: dict[str, list[str]]) -> Any:
    """A script that answers a step differently every time it is asked about the same."""
    asked: dict[Any, Any] = {}

    def script(question: Question[Any]) -> Any:
        if question.task not in labels:
            return GOOD[question.task]
        assert isinstance(question, Rate)
        times = asked.setdefault(question, count())
        return [labels[question.task][next(times)]] * len(question.units)

    return script


def test_each_time_is_asked_and_kept_apart() -> None:
    """Three answers to one question, from the judge and then from the store."""
    with Store(":memory:") as store:
        for sent in (6, 0):
            judge = ScriptedJudge(moody({"response_support": ["2", "0", "2"]}), concurrency=1)
            outcome = weigh(records(2), WHOLE, judge, store=store, settings=replace(QUICK, repeat=3))
            assert outcome.tally.sent == sent
            for document in outcome.documents:
                (entry,) = document["scores"]
                assert entry["value"] == entry["repeats"]["values"][0]
                assert sorted(entry["repeats"]["values"]) == [0.0, 1.0, 1.0]
                assert (entry["repeats"]["units"], entry["repeats"]["flips"]) == (1, 1)
                assert entry["repeats"]["spread"] == pytest.approx(0.577350269)
                assert entry["cost"]["calls"] == document["cost"]["calls"] == 3


def test_the_first_time_is_the_plain_run() -> None:
    """Nothing is paid twice, and but for what is told of the repeats the documents are the same."""
    with Store(":memory:") as store:
        plain = weigh(records(2), CLAIMS, ScriptedJudge(GOOD), store=store)
        again = weigh(records(2), CLAIMS, ScriptedJudge(GOOD), store=store, settings=replace(QUICK, repeat=2))
    assert again.tally.sent == plain.tally.sent
    for before, after in zip(plain.documents, again.documents, strict=True):
        assert [(s["value"], s["verdicts"]) for s in before["scores"]] == [
            (s["value"], s["verdicts"]) for s in after["scores"]
        ]
        assert all(s["repeats"]["flips"] == 0 for s in after["scores"])
        assert all("repeats" not in s for s in before["scores"])


def test_a_time_that_failed_is_a_gap() -> None:
    """Not a number: the others are told."""
    replies: Iterator[Any] = iter(["2", Failed("gone"), "2"])
    judge = ScriptedJudge(lambda question: next(replies), concurrency=1)
    (document,) = weigh(records(1), WHOLE, judge, settings=replace(QUICK, repeat=3)).documents
    (entry,) = document["scores"]
    values = entry["repeats"]["values"]
    assert sorted(values, key=str) == [1.0, 1.0, None]
    assert (entry["repeats"]["units"], entry["repeats"]["unmatched"], entry["repeats"]["spread"]) == (0, 1, 0.0)


def test_who_is_steady_is_asked_once() -> None:
    """A judge that always answers the same, in a run whose other judge does not."""
    judge = ScriptedJudge(GOOD)
    judge.backend.steady = True  # type: ignore[attr-defined]
    assert weigh(records(2), WHOLE, judge, settings=replace(QUICK, repeat=3)).tally.sent == 2

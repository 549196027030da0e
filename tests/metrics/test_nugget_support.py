"""Nugget support: every nugget against each passage, the best of them and those that it names."""

from __future__ import annotations

from typing import Any

import pytest
from material import columns, record, weigh

from ragstone.metrics import find
from ragstone.questions import Rate
from ragstone.types import Nugget, Record

NUGGETS = (
    Nugget("One", "vital", None, ("p1",)),
    Nugget("Two", None, None, ("p1", "p9")),
    Nugget("Three", None, None, ("p9",)),
)


def about(*nuggets: Nugget) -> Record:
    return record(None, nuggets=nuggets)


def grades(**by_passage: Any) -> Any:
    """A judge that grades by the one passage that it is shown."""

    def answer(question: Any) -> Any:
        (passage,) = question.passages
        return by_passage[passage.id]

    return answer


def test_worked_numbers() -> None:
    """Best (1 + 2/3 + 1/3) / 3, source (1 + 0) / 2: the third nugget's passage was not retrieved."""
    found, asked = columns(find("nugget_support")(), about(*NUGGETS), grades(p1=["3", "0", "1"], p2=["0", "2", "0"]))
    assert found["best"].value == pytest.approx(2 / 3)
    assert (found["source"].value, found["source"].asked) == (0.5, 2)
    assert [verdict.value for verdict in found["best"].verdicts] == [1.0, pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert found["best"].detail["nuggets"][1] == {
        "nugget": "r/bank/2", "importance": None, "sources": ["p1", "p9"],
        "passages": {"p1": 0.0, "p2": pytest.approx(2 / 3)},
    }  # fmt: skip
    assert len(asked) == 2, "a call for each passage"
    assert all(unit.importance is None for question in asked if isinstance(question, Rate) for unit in question.units)
    assert found["best"].verdicts[0].unit.importance == "vital"


def test_a_pair_that_is_unjudged_might_have_been_the_best() -> None:
    found, _ = columns(find("nugget_support")(), about(*NUGGETS), grades(p1=["3", "0", None], p2=[None, None, None]))
    best = found["best"]
    assert (best.status, best.value, best.unjudged) == ("partial", 0.5, 1)
    assert best.low == pytest.approx(1 / 3)
    assert best.high == 1.0
    assert found["source"].status == "scored"
    found, _ = columns(find("nugget_support")(), about(*NUGGETS), grades(p1=["3", "0", "0"], p2=["0", None, "0"]))
    assert found["best"].status == "partial"
    assert found["best"].high == pytest.approx(2 / 3)
    assert found["best"].reason == "1 of 6 nugget-passage pairs unjudged"


def test_nuggets_that_name_no_passage_have_no_source_value() -> None:
    """Without nuggets nothing is asked."""
    found, _ = columns(find("nugget_support")(), about(Nugget("One")), grades(p1="3", p2="0"))
    assert found["best"].value == 1.0
    assert (found["source"].status, found["source"].value) == ("empty", None)
    assert found["source"].reason == "no nugget comes from a passage in the contexts"
    for nuggets, status in ((None, "missing_field"), ((), "empty")):
        score, asked = weigh(find("nugget_support")(), record(nuggets=nuggets), {})
        assert (score.status, asked) == (status, [])

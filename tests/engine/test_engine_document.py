"""A result's line: everything a reader needs, the same bytes from the same verdicts, and costs that add up."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.engine.document import CallNote, result_document, set_aside_document, to_json
from ragstone.judges.base import Usage
from ragstone.types import Passage, Quote, Record, Score, Span, Unit, Verdict

RECORD = Record(
    "r", question="q", response="It boils.", contexts=(Passage("p1", "It boils water.", 1),), where="x.jsonl:1",
    meta={"topic": "tea"}, notes=("a note",), reference="It does.",
)  # fmt: skip
CLAIM = Unit("r/claim/1", "claim", "It boils.", Span(0, 9), "r/sentence/1", 0.9, 1)
VERDICT = Verdict(
    CLAIM, "yes", 1.0, "j", raw=1, probability=0.75, reason="it says so",
    evidence=(Quote("p1", Span(0, 8), "It boils", verbatim=True), Quote("", None, "never said", verbatim=False)),
)  # fmt: skip


def score(metric: str = "m", *verdicts: Verdict, **more: Any) -> Score:
    return Score(metric, "r", 1.0, "scored", len(verdicts), 0, 1.0, 1.0, verdicts, signature=f"{metric}|v", **more)


def note(key: str, dollars: float | None = 0.5, step: str = "support", **more: Any) -> CallNote:
    return CallNote(key, "j", step, "prompt#1", Usage(10, 5), "stop", dollars, **more)


def document(*scored: Any, record: Record = RECORD) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(result_document(record, 1, scored).document)
    return found


def test_a_line_holds_the_record_and_its_scores() -> None:
    """Every field of the record, the score with its verdicts and evidence, the units, the cost, the calls."""
    assert document((score("m", VERDICT, outcome="PASSED", detail={"n": 1}), [note("k")])) == {
        "id": "r", "topic": "r", "position": 1, "where": "x.jsonl:1", "question": "q", "response": "It boils.",
        "reference": "It does.", "contexts": [{"id": "p1", "rank": 1, "text": "It boils water."}],
        "scores": [
            {
                "metric": "m", "value": 1.0, "status": "scored", "asked": 1, "unjudged": 0, "low": 1.0, "high": 1.0,
                "outcome": "PASSED", "reason": "", "detail": {"n": 1},
                "verdicts": [
                    {
                        "unit": "r/claim/1", "label": "yes", "value": 1.0, "raw": 1, "probability": 0.75, "judge": "j",
                        "reason": "it says so",
                        "evidence": [
                            {"passage": "p1", "start": 0, "end": 8, "text": "It boils", "verbatim": True},
                            {"passage": "", "start": None, "end": None, "text": "never said", "verbatim": False},
                        ],
                    }
                ],
                "cost": {"calls": 1, "input_tokens": 10, "output_tokens": 5, "dollars": 0.5},
                "signature": "m|v",
            }
        ],
        "units": [
            {
                "id": "r/claim/1", "level": "claim", "text": "It boils.", "start": 0, "end": 9,
                "parent": "r/sentence/1", "confidence": 0.9, "part": 1,
            }
        ],
        "cost": {"calls": 1, "input_tokens": 10, "output_tokens": 5, "dollars": 0.5},
        "calls": [
            {
                "key": "k", "judge": "j", "step": "support", "metrics": ["m"], "maker": "prompt#1",
                "input_tokens": 10, "output_tokens": 5, "dollars": 0.5, "finish": "stop",
            }
        ],
        "meta": {"topic": "tea"}, "notes": ["a note"],
    }  # fmt: skip


def test_a_unit_stands_once() -> None:
    """Two scores of the same claims share their units."""
    assert len(document((score("a", VERDICT), []), (score("b", VERDICT), []))["units"]) == 1


def test_what_stands_in_the_record_is_not_repeated() -> None:
    """A passage and the whole response are there already; a part of the response is not."""
    units = [
        Unit("r/passage/1", "passage", "It boils water.", Span(0, 15), "p1"),
        Unit("r/response/1", "response", "It boils.", Span(0, 9)),
        Unit("r/response/2", "response", "It.", Span(0, 3)),
    ]
    found = document((score("m", *(Verdict(unit, "yes", 1.0, "j") for unit in units)), []))
    assert [unit["text"] for unit in found["units"]] == [None, None, "It."]


def test_shares_add_up_and_calls_stand_once() -> None:
    """A call that two scores stand on is in the first one's share; both tell it as their cost."""
    first, shared, second = note("1"), note("2"), note("3")
    weighed = result_document(RECORD, 1, [(score("a"), [first, shared]), (score("b"), [shared, second])])
    assert [share["calls"] for share in weighed.shares] == [2, 1]
    found = orjson.loads(weighed.document)
    assert [each["cost"]["calls"] for each in found["scores"]] == [2, 2]
    assert found["cost"]["calls"] == sum(share["calls"] for share in weighed.shares) == len(found["calls"]) == 3
    assert found["cost"]["dollars"] == 1.5


def test_a_call_names_the_metrics_that_stand_on_it() -> None:
    """Each once, in the order of the scores; the columns of a metric are one."""
    notes = {"a": [note("1"), note("2")], "b.x": [note("2"), note("3")], "b.y": [note("3")]}
    found = document(*((score(metric), of) for metric, of in notes.items()))
    assert {call["key"]: call["metrics"] for call in found["calls"]} == {"1": ["a"], "2": ["a", "b"], "3": ["b"]}


def test_calls_are_in_an_order_of_their_own() -> None:
    """Whatever came first, the bytes are the same."""
    notes = [note("b"), note("a"), note("c", step="claims")]
    found = [result_document(RECORD, 1, [(score(), given)]).document for given in (notes, notes[::-1])]
    assert found[0] == found[1]
    assert [call["key"] for call in orjson.loads(found[0])["calls"]] == ["c", "a", "b"]


def test_one_unknown_price_makes_the_cost_unknown() -> None:
    found = document((score(), [note("1"), note("2", None)]))
    assert (found["cost"]["dollars"], found["calls"][1]["dollars"], found["cost"]["calls"]) == (None, None, 2)


def test_a_failed_call_and_an_unjudged_unit_tell_why() -> None:
    verdict = Verdict(CLAIM, None, None, "j", failure="HTTP 500")
    found = document((score("m", verdict), [note("1", 0.0, error="HTTP 500")]))
    assert found["scores"][0]["verdicts"][0]["failure"] == "HTTP 500"
    assert found["calls"][0]["error"] == "HTTP 500"
    assert "failure" not in document((score("m", VERDICT), []))["scores"][0]["verdicts"][0]


def test_members_of_a_panel_are_kept() -> None:
    verdict = Verdict(CLAIM, "yes", 0.5, "a+b", members=(VERDICT, Verdict(CLAIM, None, None, "b", failure="no")))
    members = document((score("m", verdict), []))["scores"][0]["verdicts"][0]["members"]
    assert [member["judge"] for member in members] == ["j", "b"]
    assert members[1]["failure"] == "no"


def test_numbers_have_nine_digits() -> None:
    """No noise of the last bits: two thirds is the same on every machine."""
    found = document((Score("m", "r", 2 / 3, "scored", low=1 / 3, high=0.1 + 0.2), [note("1", 0.1 + 0.2)]))
    assert (found["scores"][0]["value"], found["scores"][0]["low"]) == (0.666666667, 0.333333333)
    assert (found["scores"][0]["high"], found["cost"]["dollars"]) == (0.3, 0.3)


def test_what_was_set_aside_has_no_scores() -> None:
    weighed = set_aside_document("x", 7, "x.jsonl:7: not JSON")
    assert (weighed.scores, weighed.shares, weighed.position) == ((), (), 7)
    assert orjson.loads(weighed.document) == {
        "id": "x", "position": 7, "set_aside": "x.jsonl:7: not JSON", "scores": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": Decimal("1.5")}, b'{"a":"1.5"}'),
        ({"a": dt.date(2024, 1, 2)}, b'{"a":"2024-01-02"}'),
        ({"a": MappingProxyType({"b": (1, 2)})}, b'{"a":{"b":[1,2]}}'),
        ({"a": {3}}, b'{"a":[3]}'),
        ({1: "a", None: "b"}, b'{"1":"a","null":"b"}'),
        ({"a": 2**70}, b'{"a":1180591620717411303424}'),
        (
            {"a": 2**70, 3: (float("nan"), {float("-inf")}, None)},
            b'{"a":1180591620717411303424,"3":[null,[null],null]}',
        ),
        ({"a": 2**70, dt.date(2024, 1, 2): True}, b'{"a":1180591620717411303424,"2024-01-02":true}'),
        ({"a": float("nan")}, b'{"a":null}'),
        ({"a": "\ud800"}, b'{"a":"?"}'),
        ({"a": b"xy"}, b'{"a":"b\'xy\'"}'),
    ],
)
def test_what_json_does_not_have_is_written_plainly(value: Any, written: bytes) -> None:
    assert to_json(value) == written


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner)
       | st.dictionaries(st.text(), inner), max_leaves=10))  # fmt: skip
def test_any_meta_makes_one_line_of_json(value: Any) -> None:
    """Never NaN, never a line break, always UTF-8 that can be read again."""
    record = Record("r", meta={"x": value})
    line = result_document(record, 1, []).document
    assert b"\n" not in line
    line.decode()
    orjson.loads(to_json({"x": None}))
    json.loads(line, parse_constant=pytest.fail)

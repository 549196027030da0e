"""Values made from a schema fit it, and realistic ones are as long as a language model's."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Client, asking

from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec
from ragstone.questions import YES_NO, Question, Rate, Trace, Write
from ragstone.testing import FakeServer, fitting
from ragstone.types import Passage, Span, Unit
from realistic import WORDS_A_CLAIM, realistic, written

SEEDS = range(50)
CHECKS: dict[str, Any] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
}


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """A second opinion: whether the value is what the schema asks for."""
    if "enum" in schema:
        return value in schema["enum"]
    parts = [CHECKS[schema["type"]](value)]
    if isinstance(value, dict):
        properties = schema["properties"]
        parts.append(set(value) == set(properties))
        parts += [fits(inner, properties[name]) for name, inner in value.items()]
    elif isinstance(value, list):
        parts.append(schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf))
        parts += [fits(item, schema["items"]) for item in value]
    elif isinstance(value, str):
        parts.append(len(value) <= schema.get("maxLength", math.inf))
    else:
        parts.append(value <= schema.get("maximum", math.inf))
    return all(parts)


def within(kind: str, name: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.integers(0, 60).map(lambda most: {"type": kind, name: most})


scalars = st.one_of(
    st.sampled_from([{"type": "boolean"}, {"type": "string"}, {"type": "integer"}, {"type": "number"}]),
    st.lists(st.one_of(st.text(max_size=5), st.integers()), min_size=1, max_size=4).map(lambda some: {"enum": some}),
    within("integer", "maximum"),
    within("number", "maximum"),
    within("string", "maxLength"),
)


def nest(inner: Any) -> Any:
    """Schemas of objects and arrays around others."""
    objects = st.dictionaries(st.text(max_size=4), inner, max_size=4).map(
        lambda found: {"type": "object", "properties": found, "required": list(found), "additionalProperties": False}
    )
    bounds = [{}, {"minItems": 3}, {"maxItems": 0}, {"maxItems": 1}, {"minItems": 2, "maxItems": 4}]
    arrays = st.tuples(inner, st.sampled_from(bounds)).map(
        lambda drawn: {"type": "array", "items": drawn[0]} | drawn[1]
    )
    return objects | arrays


@settings(deadline=None)  # a busy machine is no fault of the schema's
@given(schema=st.recursive(scalars, nest, max_leaves=12), seed=st.integers())
def test_any_value_fits_its_schema(schema: dict[str, Any], seed: int) -> None:
    """Whatever the schema and the seed, the value fits, can be sent, and is made again from the same two."""
    value = fitting(schema, seed)
    assert fits(value, schema)
    assert json.loads(json.dumps(value)) == value
    assert fitting(schema, seed) == value


def test_every_choice_is_made_by_some_seed() -> None:
    """Labels, lengths and both truths all occur."""
    kinds = {
        "label": {"enum": ["a", "b", "c"]},
        "sure": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
    }
    made = [fitting({"type": "object", "properties": kinds}, seed) for seed in SEEDS]
    assert {value["label"] for value in made} == {"a", "b", "c"}
    assert {value["sure"] for value in made} == {True, False}
    assert {len(value["list"]) for value in made} == {1, 2}


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {}}, "$defs"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}]}}, "anyOf"),
        ({"type": ["string", "null"]}, "type: ['string', 'null']"),
        ({"type": "array"}, "type: None"),
    ],
)
def test_a_schema_beyond_its_keywords_is_refused_by_name(schema: dict[str, Any], found: str) -> None:
    """With status 400, unless the answer is given."""
    with asking() as client:
        got = client.chat(schema=schema)
        assert (got.status, got.error["param"]) == (400, "response_format")
        assert got.error["message"] == f"FakeServer cannot fill this JSON schema ({found}); pass answer= or script="
        client.server.configure(answer=lambda _: "mine")
        assert client.chat(schema=schema).content == "mine"


LONG = " ".join(f"word{number}" for number in range(4 * WORDS_A_CLAIM))
JUDGE = build(Spec("m", model="m"))


def asked(question: Question[Any]) -> dict[str, Any]:
    """The request of a language model's judge."""
    (call,) = next(JUDGE.dialogue(question))
    request: dict[str, Any] = json.loads(call.body)
    return request


def answer(question: Question[Any], seed: int) -> Any:
    request = asked(question)
    return written(request["response_format"]["json_schema"]["schema"], request, seed)


def sentence(number: int, text: str) -> Unit:
    return Unit(f"r/sentence/{number}", "sentence", text, Span(0, len(text)))


def test_a_long_sentence_makes_more_claims_than_a_short_one() -> None:
    """About one for each thirteen words, each of a sentence that there is."""
    question = Write("claims", "claim", "What?", (sentence(1, LONG), sentence(2, "It boils.")))
    counts = [0, 0]
    for seed in range(40):
        for claim in answer(question, seed)["claims"]:
            counts[claim["sentence"] - 1] += 1
            assert len(claim["claim"].split()) >= 3
    assert 3 * 40 <= counts[0] <= 5 * 40
    assert counts[1] < 40


def test_verdicts_have_quotes_of_the_request() -> None:
    """One as a rule, sometimes two or none; and a label of the scale for each unit."""
    units = (sentence(1, "It boils."), sentence(2, "It is steel."))
    question = Rate("support", units, YES_NO, passages=(Passage("p", LONG, 1),), evidence=True, reasons=True)
    seen = set()
    for seed in range(60):
        verdicts = answer(question, seed)["verdicts"]
        assert set(verdicts) == {"1", "2"}
        for verdict in verdicts.values():
            assert verdict["label"] in YES_NO.labels
            assert 12 <= len(verdict["reason"].split()) <= 34
            seen.add(len(verdict["evidence"]))
            assert all(7 <= len(quote["quote"].split()) <= 26 for quote in verdict["evidence"])
    assert seen == {0, 1, 2}


def test_a_trace_names_keys_that_there_are() -> None:
    sentences = tuple(Unit(f"r/sentence/doc_0_s{n}", "sentence", "Steel it is.", Span(0, 12), "p") for n in range(9))
    response = (Unit("r/sentence/resp_s0", "sentence", "It boils.", Span(0, 9)),)
    known = {f"doc_0_s{n}" for n in range(9)}
    for seed in range(20):
        found = answer(Trace("trace", "What?", sentences, response), seed)
        assert set(found["relevant"]) | set(found["utilized"]) <= known
        assert set(found["sentences"]["resp_s0"]["support"]) <= known


def test_a_server_answers_so_and_always_the_same() -> None:
    """Longer than it does by itself."""
    schema = {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}
    with FakeServer(answer=realistic) as server:
        client = Client(server)
        texts = [json.loads(client.chat(LONG, schema).content)["reason"] for _ in range(2)]
        client.connection.close()
    assert texts[0] == texts[1]
    assert len(texts[0].split()) >= 12

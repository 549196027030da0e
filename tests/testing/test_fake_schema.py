"""Values made from a schema fit it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import asking

from ragstone.testing import fitting

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

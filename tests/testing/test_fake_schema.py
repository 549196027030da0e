"""Values made from a schema fit it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.testing import fitting

SEEDS = range(50)
CHECKS: dict[str, Any] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def fits(value: Any, schema: Any) -> bool:
    """A second opinion: whether the value is what the schema asks for."""
    if not isinstance(schema, Mapping):
        return True
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    parts = [
        "const" not in schema or value == schema["const"],
        "enum" not in schema or value in schema["enum"],
        not kinds or any(CHECKS[kind](value) for kind in kinds),
        "anyOf" not in schema or any(fits(value, branch) for branch in schema["anyOf"]),
    ]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        parts.append(set(schema.get("required", ())) <= set(value))
        parts.append(schema.get("additionalProperties", True) is not False or set(value) <= set(properties))
        parts += [fits(inner, properties.get(name)) for name, inner in value.items()]
    elif isinstance(value, list):
        parts.append(schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf))
        parts.append(not schema.get("uniqueItems") or len({json.dumps(item) for item in value}) == len(value))
        parts += [fits(item, schema.get("items")) for item in value]
    elif isinstance(value, str):
        parts.append(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        parts.append(schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf))
        parts.append(schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf))
        parts.append("multipleOf" not in schema or value % schema["multipleOf"] == 0)
    return all(parts)


numbers = st.integers(-50, 50)
scalars = st.one_of(
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": "string"}, {"type": ["string", "null"]}]),
    st.lists(st.one_of(st.text(max_size=5), numbers), min_size=1, max_size=4).map(lambda values: {"enum": values}),
    numbers.map(lambda value: {"const": value}),
    st.tuples(st.sampled_from(["integer", "number"]), numbers, st.integers(0, 20)).map(
        lambda drawn: {"type": drawn[0], "minimum": drawn[1], "maximum": drawn[1] + drawn[2]}
    ),
    st.tuples(numbers, st.integers(2, 20)).map(
        lambda drawn: {"type": "integer", "exclusiveMinimum": drawn[0], "exclusiveMaximum": drawn[0] + drawn[1]}
    ),
    st.tuples(st.integers(0, 60), st.integers(0, 60)).map(
        lambda drawn: {"type": "string", "minLength": drawn[0], "maxLength": sum(drawn)}
    ),
)


def nest(inner: Any) -> Any:
    """Schemas of objects, arrays and choices around others."""
    objects = st.dictionaries(st.text(max_size=4), inner, max_size=4).map(
        lambda found: {
            "type": "object",
            "properties": found,
            "required": list(found)[:2],
            "additionalProperties": False,
        }
    )
    arrays = st.tuples(inner, st.integers(0, 3), st.integers(0, 3)).map(
        lambda drawn: {"type": "array", "items": drawn[0], "minItems": drawn[1], "maxItems": drawn[1] + drawn[2]}
    )
    return st.one_of(objects, arrays, st.lists(inner, min_size=1, max_size=3).map(lambda found: {"anyOf": found}))


@settings(deadline=None)  # a busy machine is no fault of the schema's
@given(schema=st.recursive(scalars, nest, max_leaves=12), seed=st.integers())
def test_any_value_fits_its_schema(schema: dict[str, Any], seed: int) -> None:
    """Whatever the schema and the seed, the value fits, can be sent, and is made again from the same two."""
    value = fitting(schema, seed)
    assert fits(value, schema)
    assert json.loads(json.dumps(value)) == value
    assert fitting(schema, seed) == value


def items(**more: Any) -> dict[str, Any]:
    inner = {"type": "object", "properties": {"id": {"type": "integer", "minimum": 3, "maximum": 7}}}
    return {"type": "array", "items": inner, **more}


@pytest.mark.parametrize(
    ("schema", "ids"),
    [
        (items(minItems=5, maxItems=5), [3, 4, 5, 6, 7]),
        (items(), [3, 4, 5, 6, 7]),
        (items(maxItems=2), [3, 4]),
        (items(minItems=7, maxItems=7), [3, 4, 5, 6, 7, 3, 4]),
    ],
)
def test_items_with_bounded_ids_are_numbered(schema: dict[str, Any], ids: list[int]) -> None:
    """Ids between bounds count up from the least, and all of them are there unless the schema wants fewer."""
    for seed in SEEDS:
        assert [item["id"] for item in fitting(schema, seed)] == ids


def test_every_choice_is_made_by_some_seed() -> None:
    """Labels, branches, lengths and both truths all occur."""
    schema = {
        "type": "object",
        "properties": {
            "label": {"enum": ["a", "b", "c"]},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "sure": {"type": "boolean"},
            "list": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        },
    }
    made = [fitting(schema, seed) for seed in SEEDS]
    assert {value["label"] for value in made} == {"a", "b", "c"}
    assert {value["maybe"] is None for value in made} == {True, False}
    assert {value["sure"] for value in made} == {True, False}
    assert len({len(value["list"]) for value in made}) > 1


def test_references_and_merged_parts_are_followed() -> None:
    """A reference stands for what it points at, and allOf for all of its parts."""
    schema = {
        "$defs": {"a/b": {"enum": ["x"]}, "base": {"properties": {"one": {"const": 1}}, "required": ["one"]}},
        "type": "object",
        "properties": {
            "kind": {"$ref": "#/$defs/a~1b"},
            "both": {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"two": {"const": 2}}, "required": ["two"]}]},
            "numbered": {"type": "array", "items": {"$ref": "#/$defs/base"}, "minItems": 2, "maxItems": 2},
        },
    }
    made = fitting(schema, 1)
    assert made == {"kind": "x", "both": {"one": 1, "two": 2}, "numbered": [{"one": 1}, {"one": 1}]}


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    """Trees are finite for every seed."""
    tree = {
        "type": "object",
        "properties": {
            "value": {"type": "integer"},
            "children": {"type": "array", "items": {"$ref": "#"}},
            "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
        },
        "required": ["value"],
    }
    for seed in range(5):
        assert isinstance(fitting(tree, seed)["value"], int)


def test_distinct_items_are_distinct() -> None:
    """With uniqueItems nothing comes twice, even where few values exist."""
    schema = {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3, "maxItems": 3}
    for seed in SEEDS:
        assert sorted(fitting(schema, seed)) == [1, 2, 3]


def test_a_tuple_has_its_items_in_order() -> None:
    """prefixItems are made one by one."""
    schema = {"type": "array", "prefixItems": [{"const": "a"}, {"type": "integer"}], "items": False}
    first, second = fitting(schema, 3)
    assert (first, type(second)) == ("a", int)


@pytest.mark.parametrize("schema", [True, {}, {"description": "anything"}])
def test_what_is_not_said_becomes_a_sentence(schema: Any) -> None:
    """Where anything goes, a short sentence comes."""
    assert fitting(schema, 0).endswith(".")

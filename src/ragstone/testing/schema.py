"""A value that fits a JSON Schema, always the same one for the same seed.

It knows what schemas for model answers are written with: ``type`` (one or several), ``enum``, ``const``,
``properties``, ``required``, ``items``, ``prefixItems``, ``minItems``, ``maxItems``, ``uniqueItems``, bounds of
numbers, ``multipleOf`` of integers, ``minLength``, ``maxLength``, ``anyOf``, ``oneOf``, ``allOf`` (of objects),
``$ref`` into the same document. It does not know ``pattern``, ``format``, ``not`` or ``if``: strings are short
plain sentences, whatever these say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

MASK: Final = (1 << 64) - 1
KINDS: Final = (
    "amber", "broad", "cold", "dusty", "early", "faint", "green", "heavy", "idle", "joint", "keen", "late",
    "mild", "narrow", "old", "pale", "quiet", "round", "steep", "tall", "upper", "vivid", "warm", "young",
)  # fmt: skip
THINGS: Final = (
    "anchor", "basin", "cedar", "delta", "engine", "fjord", "garden", "harbour", "island", "juniper", "kettle", "lantern",
    "meadow", "needle", "orchard", "pebble", "quarry", "river", "saddle", "tower", "urn", "valley", "willow", "yarrow",
)  # fmt: skip
DEEDS: Final = ("holds", "needs", "covers", "gains", "loses", "meets", "outlasts", "weighs")
DEEP: Final = 24
"""From this depth on a schema that refers to itself is answered as shortly as it allows."""


class Draws:
    """A stream of pseudo-random numbers (splitmix64): tiny to seed, and the same on every machine."""

    __slots__ = ("state",)

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK

    def below(self, bound: int) -> int:
        """An integer from 0 to ``bound`` - 1; 0 when there is nothing to choose from."""
        self.state = state = (self.state + 0x9E3779B97F4A7C15) & MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        return (state ^ (state >> 31)) % bound if bound > 1 else 0

    def share(self) -> float:
        """A number in [0, 1)."""
        return self.below(1 << 53) / (1 << 53)


def fitting(schema: Mapping[str, Any] | bool, seed: int) -> Any:
    """A value that ``schema`` accepts; equal arguments give equal values."""
    return _Maker(schema, Draws(seed)).make(schema)


class _Maker:
    """One walk over one schema."""

    __slots__ = ("draws", "root")

    def __init__(self, root: Mapping[str, Any] | bool, draws: Draws) -> None:
        self.root = root
        self.draws = draws

    def make(self, schema: Any, depth: int = 0) -> Any:
        if not isinstance(schema, Mapping):
            return self._sentence()
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][self.draws.below(len(schema["enum"]))]
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.make(self._branch(schema[key], depth), depth + 1)
        return self._typed(self._type(schema), schema, depth)

    def _typed(self, kind: str, schema: Mapping[str, Any], depth: int) -> Any:
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer":
                return self._integer(schema)
            case "number":
                return self._number(schema)
            case "boolean":
                return self.draws.below(2) == 1
            case "null":
                return None
            case _:
                return self._string(schema)

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema that a reference points at, with the parts of ``allOf`` laid over each other."""
        while "$ref" in schema:
            node: Any = self.root
            for step in str(schema["$ref"]).lstrip("#/").split("/"):
                node = node[step.replace("~1", "/").replace("~0", "~")] if step else node
            schema = node if isinstance(node, Mapping) else {}
        if "allOf" not in schema:
            return schema
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            for key, value in self._resolved(part).items():
                if key == "properties":
                    merged[key] = {**merged.get(key, {}), **value}
                elif key == "required":
                    merged[key] = [*merged.get(key, []), *value]
                else:
                    merged[key] = value
        return merged

    def _branch(self, branches: Sequence[Any], depth: int) -> Any:
        if depth > DEEP:
            for branch in branches:
                if isinstance(branch, Mapping) and branch.get("type") not in ("object", "array") and "$ref" not in branch:
                    return branch
        return branches[self.draws.below(len(branches))]

    def _type(self, schema: Mapping[str, Any]) -> str:
        kind = schema.get("type")
        if isinstance(kind, str):
            return kind
        if kind:
            return str(kind[self.draws.below(len(kind))])
        if "properties" in schema or "required" in schema:
            return "object"
        if "items" in schema or "prefixItems" in schema:
            return "array"
        return "number" if "minimum" in schema or "maximum" in schema else "string"

    def _object(self, schema: Mapping[str, Any], depth: int, *, number: int | None = None) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", ())
        made: dict[str, Any] = {}
        for name, inner in properties.items():
            if depth > DEEP and name not in required:
                continue
            made[name] = number if number is not None and name == "id" else self.make(inner, depth + 1)
        for name in required:
            if name not in made:
                made[name] = self.make(schema.get("additionalProperties", True), depth + 1)
        return made

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        first = schema.get("prefixItems", ())
        made = [self.make(inner, depth + 1) for inner in first]
        items = schema.get("items", True)
        if items is False:
            return made
        items = self._resolved(items) if isinstance(items, Mapping) else items
        numbers = self._numbers(items)
        most = schema.get("maxItems", math.inf)
        least = schema.get("minItems", min(most, len(numbers) or 1))
        if depth > DEEP:
            most = least = schema.get("minItems", 0)
        count = least if "minItems" not in schema and numbers else least + self.draws.below(int(min(most, least + 2) - least) + 1)
        distinct = schema.get("uniqueItems", False)
        for place in range(count - len(made)):
            if numbers:
                made.append(self._object(items, depth + 1, number=numbers[place % len(numbers)]))
                continue
            value = self.make(items, depth + 1)
            for _ in range(200 if distinct else 0):
                if value not in made:
                    break
                value = self.make(items, depth + 1)
            if not distinct or value not in made:
                made.append(value)
        return made

    def _numbers(self, items: Any) -> range:
        """The ids of the items, where they are objects with an integer ``id`` between two bounds."""
        properties = items.get("properties") if isinstance(items, Mapping) else None
        inner = properties.get("id") if isinstance(properties, Mapping) else None
        if not isinstance(inner, Mapping) or inner.get("type") != "integer":
            return range(0)
        if "minimum" not in inner or "maximum" not in inner:
            return range(0)
        return range(inner["minimum"], inner["maximum"] + 1)

    def _integer(self, schema: Mapping[str, Any]) -> int:
        step = int(schema.get("multipleOf", 1)) or 1
        least, most = _bounds(schema, 1)
        low = math.ceil(least if least is not None else (most - 100 if most is not None else 0))
        high = math.floor(most if most is not None else low + 100)
        low, high = -(-low // step), high // step
        return (low + self.draws.below(max(high - low + 1, 1))) * step

    def _number(self, schema: Mapping[str, Any]) -> float:
        least, most = _bounds(schema, 1e-6)
        low = least if least is not None else (most - 1.0 if most is not None else 0.0)
        high = most if most is not None else low + 1.0
        return min(high, max(low, round(low + (high - low) * self.draws.share(), 4)))

    def _string(self, schema: Mapping[str, Any]) -> str:
        text = self._sentence()
        while len(text) < schema.get("minLength", 0):
            text = f"{text} {self._sentence()}"
        return text[: schema["maxLength"]] if "maxLength" in schema else text

    def _sentence(self) -> str:
        """One of some 10 million: one draw, cut into its digits."""
        draw = self.draws.below(MASK)
        kind, thing, deed, other = KINDS[draw % 24], THINGS[draw // 24 % 24], DEEDS[draw >> 20 & 7], THINGS[draw // 576 % 24]
        return f"The {kind} {thing} {deed} {draw >> 23 & 127} {other}s."


def _bounds(schema: Mapping[str, Any], gap: float) -> tuple[float | None, float | None]:
    """Least and most, both allowed; ``gap`` is how far an excluded bound moves."""
    lows = [schema["minimum"]] if "minimum" in schema else []
    highs = [schema["maximum"]] if "maximum" in schema else []
    if "exclusiveMinimum" in schema:
        lows.append(schema["exclusiveMinimum"] + gap)
    if "exclusiveMaximum" in schema:
        highs.append(schema["exclusiveMaximum"] - gap)
    return max(lows, default=None), min(highs, default=None)

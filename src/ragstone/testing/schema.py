"""A value that fits a JSON Schema, always the same one for the same seed.

It knows what schemas for model answers are written with: ``type`` (one or several), ``enum``, ``const``,
``properties``, ``required``, ``items``, ``prefixItems``, ``minItems``, ``maxItems``, ``uniqueItems``, bounds of
numbers, ``multipleOf`` of integers, ``minLength``, ``maxLength``, ``anyOf``, ``oneOf``, ``allOf`` (of objects),
``$ref`` into the same document. It does not know ``pattern``, ``format``, ``not`` or ``if``: strings are short
plain sentences, whatever these say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

MASK: Final = (1 << 64) - 1
KINDS: Final = (
    "amber", "broad", "cold", "dusty", "early", "faint", "green", "heavy", "idle", "joint", "keen", "late",
    "mild", "narrow", "old", "pale", "quiet", "round", "steep", "tall", "upper", "vivid", "warm", "young",
)  # fmt: skip
THINGS: Final = (
    "anchor", "basin", "cedar", "delta", "engine", "fjord", "garden", "harbour", "island", "jar", "kettle", "lamp",
    "meadow", "needle", "orchard", "pebble", "quill", "river", "saddle", "tower", "urn", "vine", "willow", "yarn",
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


Maker = Callable[[Draws, int], Any]
"""Makes a value, given where the numbers come from and how deep in the value it stands."""


def fitting(schema: Mapping[str, Any] | bool, seed: int) -> Any:
    """A value that ``schema`` accepts; equal arguments give equal values."""
    return compiled(schema)(seed)


def compiled(schema: Mapping[str, Any] | bool) -> Callable[[int], Any]:
    """The same as a function of the seed, some three times as fast where one schema serves many requests."""
    make = _Compiler(schema).compile(schema)
    return lambda seed: make(Draws(seed), 0)


class _Compiler:
    """Turns the parts of one schema into makers; a part that is referred to becomes one maker."""

    def __init__(self, root: Mapping[str, Any] | bool) -> None:
        self.root = root
        self.known: dict[str, Maker] = {}

    def compile(self, schema: Any) -> Maker:
        if not isinstance(schema, Mapping):
            return _sentence
        if "$ref" in schema:
            return self._reference(str(schema["$ref"]))
        schema = self._merged(schema)
        if "const" in schema:
            return _one_of([schema["const"]])
        if "enum" in schema:
            return _one_of(schema["enum"])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._branches(schema[key])
        kind = schema.get("type") or _implied(schema)
        if isinstance(kind, str):
            return self._typed(kind, schema)
        return self._branches([{**schema, "type": one} for one in kind])

    def _typed(self, kind: str, schema: Mapping[str, Any]) -> Maker:
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                return self._array(schema)
            case "integer":
                return _integer(schema)
            case "number":
                return _number(schema)
            case "boolean":
                return _one_of([False, True])
            case "null":
                return _one_of([None])
            case _:
                return _string(schema)

    def _target(self, reference: str) -> Any:
        node: Any = self.root
        for step in reference.removeprefix("#").removeprefix("/").split("/"):
            node = node[step.replace("~1", "/").replace("~0", "~")] if step else node
        return node

    def _reference(self, reference: str) -> Maker:
        """A maker that is compiled when first needed, since a schema may refer to itself."""
        known = self.known

        def make(draws: Draws, depth: int) -> Any:
            if reference not in known:
                known[reference] = self.compile(self._target(reference))
            return known[reference](draws, depth + 1)

        return make

    def _merged(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema with the parts of its ``allOf`` laid over each other."""
        if "allOf" not in schema:
            return schema
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            whole = self._target(part["$ref"]) if "$ref" in part else part
            for key, value in self._merged(whole).items():
                if key == "properties":
                    merged[key] = {**merged.get(key, {}), **value}
                elif key == "required":
                    merged[key] = [*merged.get(key, []), *value]
                else:
                    merged[key] = value
        return merged

    def _branches(self, branches: Sequence[Any]) -> Maker:
        makers = [self.compile(branch) for branch in branches]
        flat = [
            maker
            for branch, maker in zip(branches, makers, strict=True)
            if isinstance(branch, Mapping) and branch.get("type") not in ("object", "array") and "$ref" not in branch
        ]
        count = len(makers)
        return lambda draws, depth: (
            flat[0](draws, depth) if flat and depth > DEEP else makers[draws.below(count)](draws, depth + 1)
        )

    def _object(self, schema: Mapping[str, Any]) -> Maker:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = list(schema.get("required", ()))
        other = self.compile(schema.get("additionalProperties", True))
        makers = {name: self.compile(inner) for name, inner in properties.items()}
        makers.update({name: other for name in required if name not in makers})
        pairs = list(makers.items())
        short = [(name, maker) for name, maker in pairs if name in required]

        def make(draws: Draws, depth: int) -> dict[str, Any]:
            return {name: maker(draws, depth + 1) for name, maker in (short if depth > DEEP else pairs)}

        return make

    def _array(self, schema: Mapping[str, Any]) -> Maker:
        first = [self.compile(inner) for inner in schema.get("prefixItems", ())]
        items = schema.get("items", True)
        numbers = _numbers(self._target(items["$ref"]) if isinstance(items, Mapping) and "$ref" in items else items)
        item = self.compile(items)
        most = schema.get("maxItems", math.inf)
        if items is False:
            most = min(most, len(first))
        least = schema.get("minItems", min(most, len(numbers) or max(len(first), 1)))
        more = 0 if numbers and "minItems" not in schema else int(min(most - least, 1))
        floor = schema.get("minItems", 0)
        distinct = schema.get("uniqueItems", False)

        def make(draws: Draws, depth: int) -> list[Any]:
            count = floor if depth > DEEP else least + draws.below(more + 1)
            made = [maker(draws, depth + 1) for maker in first[:count]]
            tries = 200
            while len(made) < count and tries:
                value = item(draws, depth + 1)
                if numbers:
                    value["id"] = numbers[len(made) % len(numbers)]
                if distinct and value in made:
                    tries -= 1
                    continue
                made.append(value)
            return made

        return make


def _implied(schema: Mapping[str, Any]) -> str:
    """The type of a schema that does not say one."""
    if "properties" in schema or "required" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "number" if "minimum" in schema or "maximum" in schema else "string"


def _numbers(items: Any) -> range:
    """The ids of an array's items, where they are objects with an integer ``id`` between two bounds."""
    properties = items.get("properties") if isinstance(items, Mapping) else None
    inner = properties.get("id") if isinstance(properties, Mapping) else None
    if not isinstance(inner, Mapping) or inner.get("type") != "integer":
        return range(0)
    if "minimum" not in inner or "maximum" not in inner:
        return range(0)
    return range(inner["minimum"], inner["maximum"] + 1)


def _one_of(values: Sequence[Any]) -> Maker:
    count = len(values)
    return lambda draws, _: values[draws.below(count)]


def _integer(schema: Mapping[str, Any]) -> Maker:
    step = int(schema.get("multipleOf", 1)) or 1
    least, most = _bounds(schema, 1)
    low = math.ceil(least if least is not None else (most - 100 if most is not None else 0))
    high = math.floor(most if most is not None else low + 100)
    low, high = -(-low // step), high // step
    return lambda draws, _: (low + draws.below(high - low + 1)) * step


def _number(schema: Mapping[str, Any]) -> Maker:
    least, most = _bounds(schema, 1e-6)
    low = least if least is not None else (most - 1.0 if most is not None else 0.0)
    high = most if most is not None else low + 1.0
    return lambda draws, _: min(high, max(low, round(low + (high - low) * draws.share(), 4)))


def _bounds(schema: Mapping[str, Any], gap: float) -> tuple[float | None, float | None]:
    """Least and most, both allowed; ``gap`` is how far an excluded bound moves."""
    lows = [schema["minimum"]] if "minimum" in schema else []
    highs = [schema["maximum"]] if "maximum" in schema else []
    if "exclusiveMinimum" in schema:
        lows.append(schema["exclusiveMinimum"] + gap)
    if "exclusiveMaximum" in schema:
        highs.append(schema["exclusiveMaximum"] - gap)
    return max(lows, default=None), min(highs, default=None)


def _string(schema: Mapping[str, Any]) -> Maker:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if not least and most is None:
        return _sentence

    def make(draws: Draws, depth: int) -> str:
        text = _sentence(draws, depth)
        while len(text) < least:
            text = f"{text} {_sentence(draws, depth)}"
        return text[:most]

    return make


def _sentence(draws: Draws, _: int) -> str:
    """One of some 14 million: one draw, cut into its digits."""
    draw = draws.below(MASK)
    kind, thing, other = KINDS[draw % 24], THINGS[draw // 24 % 24], THINGS[draw // 576 % 24]
    return f"The {kind} {thing} {DEEDS[draw >> 20 & 7]} {draw >> 23 & 127} {other}s."

"""Write replies as a model would: a value that fits a JSON schema, or labels in any format requested from judges.

``fitting`` supports the JSON Schema keywords common in model APIs: ``type`` (one or several), ``enum``, ``const``,
``properties``, ``required``, ``items``, ``prefixItems``, ``minItems``, ``maxItems``, ``uniqueItems``, numeric bounds,
``minLength``, ``maxLength``, ``anyOf``, ``oneOf``, ``allOf`` (of objects) and ``$ref`` into the same document. Strings
are short plain sentences; ``pattern`` and ``format`` are ignored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ragstone.parsing import Format

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
"""Below this depth, a recursive schema is filled as briefly as it allows."""


class Draws:
    """A stream of pseudo-random numbers (splitmix64): cheap to seed and identical on every machine."""

    __slots__ = ("state",)

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK

    def below(self, bound: int) -> int:
        """Return an integer from 0 to ``bound`` - 1; 0 if ``bound`` is 0."""
        self.state = state = (self.state + 0x9E3779B97F4A7C15) & MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        return (state ^ (state >> 31)) % bound if bound > 1 else 0

    def share(self) -> float:
        """Return a number in [0, 1)."""
        return self.below(1 << 53) / (1 << 53)


def fitting(schema: Mapping[str, Any] | bool, seed: int) -> Any:
    """Return a value that ``schema`` accepts; equal arguments give equal values."""
    return _Filler(schema, Draws(seed)).value(schema, 0)


class _Filler:
    """Makes values for one schema; ``depth`` is the nesting depth in the whole value."""

    def __init__(self, root: Mapping[str, Any] | bool, draws: Draws) -> None:
        self.root = root
        self.draws = draws

    def value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping):
            return self._sentence()
        if "$ref" in schema:
            return self.value(self._resolved(schema), depth + 1)
        schema = self._merged(schema)
        if "const" in schema:
            return self._one_of([schema["const"]])
        if "enum" in schema:
            return self._one_of(schema["enum"])
        kind = schema.get("type") or _implied(schema)
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches is None and not isinstance(kind, str):
            branches = [{**schema, "type": one} for one in kind]
        if branches is not None:
            return self._branch(branches, depth)
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer" | "number":
                return self._number(schema, whole=kind == "integer")
            case "boolean":
                return self._one_of([False, True])
            case "null":
                return self._one_of([None])
            case _:
                return self._string(schema)

    def _resolved(self, schema: Any) -> Any:
        """Return the schema that a reference points to; other schemas unchanged."""
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        node: Any = self.root
        for step in str(schema["$ref"]).removeprefix("#").removeprefix("/").split("/"):
            node = node[step.replace("~1", "/").replace("~0", "~")] if step else node
        return node

    def _merged(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the schema with the parts of its ``allOf`` merged."""
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema.get("allOf", ()):
            for key, value in self._merged(self._resolved(part)).items():
                if key == "properties":
                    merged[key] = {**merged.get(key, {}), **value}
                elif key == "required":
                    merged[key] = [*merged.get(key, []), *value]
                else:
                    merged[key] = value
        return merged

    def _branch(self, branches: Sequence[Any], depth: int) -> Any:
        flat = [
            branch
            for branch in branches
            if isinstance(branch, Mapping) and branch.get("type") not in ("object", "array") and "$ref" not in branch
        ]
        if flat and depth > DEEP:
            return self.value(flat[0], depth)
        return self.value(self._one_of(branches), depth + 1)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        inner = dict(schema.get("properties", {}))
        for name in required:
            inner.setdefault(name, schema.get("additionalProperties", True))
        return {name: self.value(inner[name], depth + 1) for name in inner if depth <= DEEP or name in required}

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        first = schema.get("prefixItems", ())
        items = schema.get("items", True)
        numbers = _numbers(self._resolved(items))
        most = min(schema.get("maxItems", math.inf), len(first) if items is False else math.inf)
        least = schema.get("minItems", min(most, len(numbers) or max(len(first), 1)))
        more = 0 if numbers and "minItems" not in schema else int(min(most - least, 1))
        count = schema.get("minItems", 0) if depth > DEEP else least + self.draws.below(more + 1)
        made = [self.value(part, depth + 1) for part in first[:count]]
        for _ in range(200 + count):
            if len(made) >= count:
                break
            value = self.value(items, depth + 1)
            if numbers:
                value["id"] = numbers[len(made) % len(numbers)]
            if value not in made or not schema.get("uniqueItems", False):
                made.append(value)
        return made

    def _one_of(self, values: Sequence[Any]) -> Any:
        return values[self.draws.below(len(values))]

    def _number(self, schema: Mapping[str, Any], *, whole: bool) -> float:
        gap, width = (1.0, 100.0) if whole else (1e-6, 1.0)
        low: float = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf) + gap)
        high: float = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf) - gap)
        if low == -math.inf:
            low = 0.0 if high == math.inf else high - width
        high = low + width if high == math.inf else high
        if not whole:
            return min(high, max(low, round(low + (high - low) * self.draws.share(), 4)))
        step: int = int(schema.get("multipleOf", 1)) or 1
        first, last = -(-math.ceil(low) // step), math.floor(high) // step
        return (first + self.draws.below(last - first + 1)) * step

    def _string(self, schema: Mapping[str, Any]) -> str:
        text = self._sentence()
        while len(text) < schema.get("minLength", 0):
            text = f"{text} {self._sentence()}"
        return text[: schema.get("maxLength")]

    def _sentence(self) -> str:
        """Return one of about 14 million sentences, selected by a single draw."""
        draw = self.draws.below(MASK)
        kind, thing, other = KINDS[draw % 24], THINGS[draw // 24 % 24], THINGS[draw // 576 % 24]
        return f"The {kind} {thing} {DEEDS[draw >> 20 & 7]} {draw >> 23 & 127} {other}s."


_END: Final = re.compile(r"\[\w+ (?:end|конец) ")
_LABELS: Final = re.compile(r'^- "([^"\n]+)": ', re.MULTILINE)
_NUMBERED: Final = re.compile(r"^\[\w+ [^\d\n]+ (\d+)\]$", re.MULTILINE)


def material(text: str) -> list[str]:
    """Return the lines of a prompt between marks, i.e. the record's texts; answers quote nothing else."""
    inside, found = False, []
    for line in text.splitlines():
        if line.startswith("["):
            inside = not _END.match(line)
        elif inside:
            found.append(line)
    return found


def described(request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the verdicts that a prompt describes in words, or None if it describes none."""
    prompt = "\n".join(str(turn.get("content")) for turn in request["messages"])
    *_, asked = prompt.rpartition('{"verdicts": {"1": {')
    labels = _LABELS.findall(prompt)
    if asked == prompt or not labels:
        return None
    text = {"type": "string"}
    quote = _object({"passage": {"type": "integer"}, "quote": text}) if '"quote"' in asked else text
    shape = {"evidence": {"type": "array", "items": quote}, "reason": text, "label": {**text, "enum": labels}}
    entry = _object({name: kind for name, kind in shape.items() if f'"{name}": ' in asked})
    count = max(map(int, _NUMBERED.findall(asked)), default=1)
    return _object({"verdicts": _object({str(number): entry for number in range(1, count + 1)})})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _implied(schema: Mapping[str, Any]) -> str:
    if "properties" in schema or "required" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "number" if "minimum" in schema or "maximum" in schema else "string"


def _numbers(items: Any) -> range:
    """Return the ids of an array's items if they are objects with a bounded integer ``id``, else an empty range."""
    properties = items.get("properties") if isinstance(items, Mapping) else None
    inner = properties.get("id") if isinstance(properties, Mapping) else None
    if not isinstance(inner, Mapping) or inner.get("type") != "integer" or not {"minimum", "maximum"} <= set(inner):
        return range(0)
    return range(inner["minimum"], inner["maximum"] + 1)


_WRITERS: Final[Mapping[Format, Callable[[Sequence[str]], str]]] = {
    "object": lambda labels: json.dumps({"verdicts": {str(n): {"label": label} for n, label in enumerate(labels, 1)}}),
    "json": lambda labels: json.dumps(list(labels)),
    "keyed": lambda labels: json.dumps({str(n): label for n, label in enumerate(labels, 1)}),
    "python_list": lambda labels: "[" + ", ".join(f"'{label}'" for label in labels) + "]",
    "markdown": lambda labels: "\n".join(f"- **{n}**: {label}" for n, label in enumerate(labels, 1)),
    "numbered": lambda labels: "\n".join(f"{n}. {label}" for n, label in enumerate(labels, 1)),
    "yaml": lambda labels: "\n".join(f"{n}: {label}" for n, label in enumerate(labels, 1)),
    "csv": lambda labels: "\n".join(["number,label", *(f"{n},{label}" for n, label in enumerate(labels, 1))]),
    "tsv": lambda labels: "\n".join(["number\tlabel", *(f"{n}\t{label}" for n, label in enumerate(labels, 1))]),
    "pipe": lambda labels: "\n".join(
        ["| number | label |", "| --- | --- |", *(f"| {n} | {label} |" for n, label in enumerate(labels, 1))]
    ),
    "xml": lambda labels: "\n".join(
        ["<labels>", *(f'<label number="{n}">{label}</label>' for n, label in enumerate(labels, 1)), "</labels>"]
    ),
}
REPLY_FORMATS: Final[tuple[Format, ...]] = tuple(_WRITERS)
"""The formats that ``labels_reply`` writes."""


def labels_reply(labels: Sequence[str], fmt: Format = "json") -> str:
    """Write the labels of units 1, 2, … in one of ``REPLY_FORMATS``; raise ValueError for another format."""
    if fmt not in _WRITERS:
        raise ValueError(f"no reply in the format {fmt!r}; known: {', '.join(REPLY_FORMATS)}")
    return _WRITERS[fmt](labels)

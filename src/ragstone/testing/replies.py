"""Write replies as a model would: a value that fits a JSON schema, or labels in any format requested from judges.

``fitting`` supports the keywords in the schemas of Ragstone's judges. Strings are short plain sentences.
"""

from __future__ import annotations

import json
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
KEYWORDS: Final = frozenset((
    "type", "enum", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "maximum",
    "maxLength", "title", "description",
))  # fmt: skip
"""The keywords of JSON Schema that ``fitting`` supports."""


class SchemaError(ValueError):
    """A schema that ``fitting`` does not support."""


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


def fitting(schema: Mapping[str, Any], seed: int) -> Any:
    """Return a value that ``schema`` accepts; equal arguments give equal values.

    Raises:
        SchemaError: the schema or a part has a keyword that is not in ``KEYWORDS``, or not exactly one type.
    """
    return _value(schema, Draws(seed))


def _value(schema: Any, draws: Draws) -> Any:
    schema = schema if isinstance(schema, Mapping) else {}
    unknown = sorted(set(schema) - KEYWORDS)
    match "" if unknown else "enum" if "enum" in schema else schema.get("type"):
        case "enum":
            return schema["enum"][draws.below(len(schema["enum"]))]
        case "object":
            return {name: _value(inner, draws) for name, inner in schema.get("properties", {}).items()}
        case "array":
            most = schema.get("maxItems", 2)
            least = schema.get("minItems", min(most, 1))
            count = least + draws.below(2 if most > least else 1)
            return [_value(schema.get("items"), draws) for _ in range(count)]
        case "integer":
            return schema.get("maximum", 100) - 100 + draws.below(101)
        case "number":
            return min(round(draws.share(), 4), schema.get("maximum", 1))
        case "boolean":
            return draws.below(2) == 1
        case "string":
            return _sentence(draws)[: schema.get("maxLength")]
    found = ", ".join(unknown) or f"type: {schema.get('type')!r}"
    raise SchemaError(f"FakeServer cannot fill this JSON schema ({found}); pass answer= or script=")


def _sentence(draws: Draws) -> str:
    """Return one of about 14 million sentences, selected by a single draw."""
    draw = draws.below(MASK)
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

"""JSON schemas of answers, and the typical length of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from ragstone.judges.base import Schema
from ragstone.questions import Question, Rate, Trace, Write, key_of
from ragstone.types import TRIVIAL, Scale

QUOTES: Final = 40
WORDS: Final = 14
REASON: Final = 33
LABEL: Final = 10
"""Typical tokens of the quotes, the copied words, the reason and the label of one verdict."""
VERDICT: Final = LABEL + QUOTES + REASON
OF_RESPONSE: Final = ("assign", "rubric")
"""Tasks whose evidence is words from the response."""


def verdict_tokens(question: Rate) -> int:
    """Return the typical output tokens of a verdict on one unit."""
    evidence = 0 if not question.evidence else WORDS if question.task in OF_RESPONSE else QUOTES
    return LABEL + evidence + (REASON if question.reasons else 0)


TEXT: Final = 160
"""Characters of a quote or a reason in a bounded schema."""
LISTED: Final = 2
"""Quotes per verdict in a bounded schema, as many as the prompts ask for."""
WRITTEN: Final = 600
"""Characters of a claim or nugget in a bounded schema: longer than any single fact, so that none is truncated."""
CLAIMS: Final = 20
"""Claims or nuggets in a bounded schema: per sentence; for all passages together."""
THINKING: Final = 1024
"""Room for reasoning tokens in a first reply."""


def filled_tokens(question: Rate) -> int:
    """Return the output tokens of a verdict that fills a bounded schema at one token per character (``1.1.1.1``)."""
    return 3 * LABEL + TEXT * (LISTED * question.evidence + question.reasons)


@lru_cache(maxsize=512)
def rate_schema(
    numbers: tuple[int, ...], scales: tuple[Scale, ...], skippable: bool, evidence: str, reasons: bool, summary: bool
) -> Schema:
    """Require one entry per unit number, so that no unit is skipped or shifted.

    ``scales`` are those of the units, in the order of their numbers. ``evidence`` is ``quotes`` with passage numbers,
    ``words`` from the only text, or empty.
    """
    fields: dict[str, Any] = {}
    if evidence:
        words: dict[str, Any] = {"type": "string"}
        quote = words if evidence == "words" else _object({"passage": {"type": "integer"}, "quote": words})
        fields["evidence"] = {"type": "array", "items": quote}
    if reasons:
        fields["reason"] = {"type": "string"}
    more = [TRIVIAL] if skippable else []
    enums = ({"type": "string", "enum": [*scale.labels, *more]} for scale in scales)
    entries = {str(number): _object({**fields, "label": enum}) for number, enum in zip(numbers, enums, strict=True)}
    parts: dict[str, Any] = {"verdicts": _object(entries)}
    if summary:
        parts["summary"] = {"type": "string"}
    return _schema("verdicts", _object(parts))


@lru_cache(maxsize=512)
def labels_schema(numbers: tuple[int, ...] | int, scale: Scale, skippable: bool) -> Schema:
    """Require one label per number and nothing else, or a list of that length, which OpenAI-style endpoints reject."""
    label = {"type": "string", "enum": [*scale.labels, *([TRIVIAL] if skippable else [])]}
    if isinstance(numbers, int):
        return _schema("labels", {"type": "array", "items": label, "minItems": numbers, "maxItems": numbers})
    return _schema("labels", _object({str(number): label for number in numbers}))


def trace_schema(part: Trace, only: Sequence[str] = ()) -> Schema:
    """Require one entry per response sentence; in a repair turn, only for the missing ones."""
    keys: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
    text, truth = {"type": "string"}, {"type": "boolean"}
    entry = _object({"support": keys, "explanation": text, "fully_supported": truth})
    entries = _object(dict.fromkeys(only or map(key_of, part.response), entry))
    if only:
        return _schema("trace", _object({"sentences": entries}))
    fields = {
        "relevance_explanation": text, "relevant": keys, "support_explanation": text, "sentences": entries,
        "utilized": keys, "overall_supported": truth,
    }  # fmt: skip
    return _schema("trace", _object(fields))


@lru_cache(maxsize=256)
def write_schema(level: str, sentences: int) -> Schema:
    """Require a list of entries with their sentence number, or of texts if there are no sentences."""
    item: dict[str, Any] = {"type": "string"}
    if sentences:
        place = {"type": "integer", "enum": list(range(1, sentences + 1))}
        item = {"sentence": place, level: item, **({"confidence": {"type": "number"}} if level == "claim" else {})}
        item = _object(item)
    return _schema(f"{level}s", _object({f"{level}s": {"type": "array", "items": item}}))


def bounded(schema: Schema, question: Question[Any]) -> Schema:
    """Limit every free text and list in a schema, so that a model that repeats itself stops.

    For servers that enforce it; OpenAI-style endpoints reject a schema with ``maxLength``.
    """
    if isinstance(question, Write):
        return _bounded(
            schema, WRITTEN, question.most or len(question.known) + CLAIMS * max(1, len(question.sentences))
        )
    return _bounded(schema, TEXT, len(question.sentences) if isinstance(question, Trace) else LISTED)


@lru_cache(maxsize=512)
def _bounded(schema: Schema, text: int, items: int) -> Schema:
    def limited(node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        added: dict[str, Any] = {"maxItems": node.get("maxItems", items)} if node.get("type") == "array" else {}
        if node.get("type") == "string" and "enum" not in node:
            added["maxLength"] = text
        if node.get("type") == "integer" and "enum" not in node:
            added["maximum"] = 999
        return {name: limited(value) for name, value in node.items()} | added

    return _schema(schema.name, limited(orjson.loads(schema.json)))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _schema(name: str, schema: dict[str, Any]) -> Schema:
    return Schema(name, orjson.dumps(schema))

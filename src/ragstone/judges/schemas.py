"""JSON schemas of answers, and the usual length of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from ragstone.judges.base import Schema
from ragstone.questions import Rate, Trace, key_of
from ragstone.types import TRIVIAL, Scale

QUOTES: Final = 40
WORDS: Final = 14
REASON: Final = 33
LABEL: Final = 10
"""Tokens of the quotes, the copied words, the reason and the label of one verdict, as is usual."""


def verdict_tokens(question: Rate) -> int:
    """Return the usual output tokens of a verdict on one unit."""
    evidence = 0 if not question.evidence else WORDS if question.task == "assign" else QUOTES
    return LABEL + evidence + (REASON if question.reasons else 0)


@lru_cache(maxsize=512)
def rate_schema(
    numbers: tuple[int, ...], scale: Scale, skippable: bool, evidence: str, reasons: bool, summary: bool
) -> Schema:
    """Require one entry per unit number, so that no unit is skipped or shifted.

    ``evidence`` is ``quotes`` with the number of their passage, ``words`` of the one text there is, or empty.
    """
    fields: dict[str, Any] = {}
    if evidence:
        words: dict[str, Any] = {"type": "string"}
        quote = words if evidence == "words" else _object({"passage": {"type": "integer"}, "quote": words})
        fields["evidence"] = {"type": "array", "items": quote}
    if reasons:
        fields["reason"] = {"type": "string"}
    fields["label"] = {"type": "string", "enum": [*scale.labels, *([TRIVIAL] if skippable else [])]}
    parts: dict[str, Any] = {"verdicts": _object({str(number): _object(fields) for number in numbers})}
    if summary:
        parts["summary"] = {"type": "string"}
    return _schema("verdicts", _object(parts))


@lru_cache(maxsize=512)
def keyed_schema(numbers: tuple[int, ...], scale: Scale, skippable: bool) -> Schema:
    """Require a label under each number and nothing else."""
    label = {"type": "string", "enum": [*scale.labels, *([TRIVIAL] if skippable else [])]}
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


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _schema(name: str, schema: dict[str, Any]) -> Schema:
    return Schema(name, orjson.dumps(schema))

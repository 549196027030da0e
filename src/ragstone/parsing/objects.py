"""Read the one JSON object that a reply was asked for, whatever stands around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from ragstone.errors import ParseError
from ragstone.parsing.reasoning import strip_reasoning

RESTARTS: Final = 64
"""How often reading starts anew after a brace that opens nothing; keeps the time linear in the text."""
LONGEST: Final = 2_000_000
"""Characters of a reply that are looked at; a judge's answer is never near it."""


def read_object(text: str, key: str) -> dict[str, Any]:
    """The last well-formed JSON object in the text that has ``key``; failing that, the last one mended.

    Reasoning blocks are left out first. ParseError when there is none: its message says what stands there
    instead.
    """
    answer = strip_reasoning(text[:LONGEST])
    if not answer:
        raise ParseError("the reply is empty" if not text.strip() else "the reply is reasoning only", reply=text)
    whole = _loaded(answer)
    if isinstance(whole, dict) and key in whole:
        return whole
    candidates = list(_objects(answer))
    for piece, closed in reversed(candidates):
        found = _loaded(piece) if closed else None
        if isinstance(found, dict) and key in found:
            return found
    for piece, _ in reversed(candidates):
        found = _mended(piece)
        if isinstance(found, dict) and key in found:
            return found
    if candidates:
        raise ParseError(f"no readable JSON object with '{key}' in the reply", reply=text)
    raise ParseError(f"no JSON object in the reply (it begins: {answer[:60]!r})", reply=text)


def _loaded(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _mended(text: str) -> Any:
    from json_repair import repair_json  # noqa: PLC0415 - 40 ms to import, and seldom needed

    try:
        return repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError, KeyError):
        return None


def _objects(text: str) -> Iterator[tuple[str, bool]]:
    """The outermost brace pairs in order, each with whether it is closed.

    A brace in prose that never closes must not swallow what follows, so reading starts again behind it.
    """
    start = text.find("{")
    for _ in range(RESTARTS):
        if start < 0:
            return
        end = _closing(text, start)
        if end is None:
            yield text[start:], False
            start = text.find("{", start + 1)
        else:
            yield text[start:end], True
            start = text.find("{", end)


def _closing(text: str, start: int) -> int | None:
    depth = 0
    quoted = False
    at = start
    while at < len(text):
        char = text[at]
        if quoted:
            if char == "\\":
                at += 1
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None

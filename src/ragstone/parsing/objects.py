"""Parse the requested JSON object from a reply, ignoring the text around it.

A reply may repeat untrusted texts that contain JSON and reasoning tags. Therefore a tag inside the answer's own object
is plain text, an object that begins inside a string is ignored, and of several objects the last counts, even if it must
be repaired and an earlier one is valid.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, NoReturn

import orjson

from ragstone.errors import ParseError
from ragstone.parsing.reasoning import NEXT_TURN, TAG, strip_reasoning

LONGEST: Final = 400_000
"""Maximum number of characters of a reply; no real answer is nearly as long."""
RESTARTS: Final = 16
"""Maximum number of restarts after a brace that is never closed."""
MENDABLE: Final = 6_000
"""Maximum number of characters passed to json_repair, which takes quadratic time on some texts."""
MENDINGS: Final = 2
"""Maximum number of a reply's objects passed to json_repair."""

_MARK: Final = re.compile(r'[{}"]|\\.', re.DOTALL)
_OPENING: Final = re.compile(r"\{(?!\s*\\)")
"""Matches a brace that may open an object; one before a backslash is inside a string of another object."""
_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])', re.DOTALL)
_LISTS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]]', re.DOTALL)
"""Matches strings, and brackets outside strings."""
_NAME: Final = re.compile(r"(?:[{,]\s*[\"'\u201c]?|[\"'\u201c])([^\W_][\w ]{0,40})[\"'\u201d]?\s*:")
"""Matches the name of a field, also in malformed JSON."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read_object(text: str, key: str, material: Callable[[], Sequence[str]] = tuple) -> dict[str, Any]:
    """Return the last JSON object in the text that has ``key``, repaired if it is malformed.

    ``material`` returns the texts that the reply is about: an object copied verbatim from one of them is not the
    model's answer, unless the reply consists only of it.

    Reasoning blocks are removed first. A key that occurs twice in one object with different values counts as absent.
    Raise ParseError if there is no such object; its message describes what was found instead.
    """
    if len(text) > LONGEST:
        raise ParseError(f"the reply has {len(text)} characters; at most {LONGEST} are read", reply=text[:LONGEST])
    whole = _loaded(text)
    if isinstance(whole, str):  # the object as a JSON string
        whole = _loaded(whole)
    if isinstance(whole, dict) and key in whole:
        return whole
    answer = strip_reasoning(text, _quoting(text, key) if TAG.search(text) else ())
    if not answer:
        raise ParseError("the reply is empty" if not text.strip() else "the reply contains only reasoning", reply=text)
    mendings = 0
    for stretch, closed in reversed(_first_turn(answer, key)):
        piece = answer[stretch.start : stretch.stop]
        if key not in piece or any(_folded(piece) in _folded(other) for other in material()):
            continue
        found = _nearly(piece) if closed else None
        if found is None and len(piece) <= MENDABLE and mendings < MENDINGS and (closed or _nearly_closed(piece)):
            mendings += 1
            found = _mended(piece)
        if isinstance(found, dict) and key in found:
            return found
    if "{" in answer:
        raise ParseError(f"no readable JSON object with '{key}' in the reply", reply=text)
    raise ParseError(f"no JSON object in the reply (it begins: {answer[:60]!r})", reply=text)


def rest_of(text: str, key: str) -> str:
    """Return the text after the last object that has ``key``."""
    with suppress(orjson.JSONDecodeError):
        if isinstance(orjson.loads(text), dict):  # most replies are one object; finding its end takes longer
            return ""
    ends = [stretch.stop for stretch, closed in _objects(text) if closed and key in text[stretch.start : stretch.stop]]
    return text[ends[-1] :] if ends else ""


def _first_turn(answer: str, key: str) -> list[tuple[range, bool]]:
    """Return the objects up to an invented further turn after one that has ``key``, each with whether it is closed."""
    found = list(_objects(answer))
    for stretch, closed in found[:-1]:
        if closed and key in answer[stretch.start : stretch.stop]:
            turn = NEXT_TURN.search(answer, stretch.stop)
            return found if turn is None else [one for one in found if one[0].start < turn.start()]
    return found


@lru_cache(maxsize=128)
def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _quoting(text: str, key: str) -> list[range]:
    """Return the positions of answers with a reasoning tag inside one of their strings."""
    stretches = []
    for stretch, closed in _objects(text):
        piece = text[stretch.start : stretch.stop]
        if not closed or key not in piece or not TAG.search(piece):
            continue
        if _nearly(piece) is None:
            raise ParseError("a reasoning tag stands inside an object that is not well-formed", reply=text)
        stretches.append(stretch)
    return stretches


def _objects(text: str) -> Iterator[tuple[range, bool]]:
    """Yield the outermost pairs of braces in order, each with whether it is closed.

    An unclosed brace in prose must not swallow the text after it, so reading restarts after it.
    """
    restarts = 0
    ends: dict[int, int] = {}
    opening = _OPENING.search(text)
    while opening and restarts <= RESTARTS:
        start = opening.start()
        if start not in ends:
            _close(text, start, ends)
        end = ends[start] or None
        if end is None:
            restarts += 1
            yield range(start, len(text)), False
        else:
            yield range(start, end), True
        opening = _OPENING.search(text, end or start + 1)


def _close(text: str, start: int, ends: dict[int, int]) -> None:
    """Record the end of the object that begins at ``start`` and of the objects inside it; 0 if it is never closed."""
    begun: list[int] = []
    quoted = False
    for mark in _MARK.finditer(text, start):
        char = mark[0]
        if char == '"':
            quoted = not quoted
        elif quoted or char[0] == "\\":
            continue
        elif char == "{":
            begun.append(mark.start())
        else:
            ends[begun.pop()] = mark.end()
            if not begun:
                return
    ends.update(dict.fromkeys(begun, 0))


def _loaded(text: str) -> Any:
    """Parse the text as JSON; None if it is not JSON."""
    try:
        orjson.loads(text)  # no lone surrogates, no NaN
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _nearly(text: str) -> Any:
    """Parse the text as JSON, tolerating trailing commas and line breaks inside strings."""
    found = _loaded(text)
    if found is None:
        try:
            loose = json.loads(_COMMA.sub(r"\1", text), strict=False, object_pairs_hook=_once, parse_constant=_refused)
            return _clean(loose)
        except (ValueError, RecursionError):
            return None
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        for key, value in pairs:
            if key in found and found[key] != value:
                del found[key]
    return found


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_once)
"""Created once: ``json.loads`` with a hook creates a decoder per text, which takes as long as parsing a short one."""


def _refused(name: str) -> NoReturn:
    raise ValueError(name)


def _nearly_closed(text: str) -> bool:
    """Return whether an unclosed object lacks only braces at its end.

    An object truncated inside a text, a label or a list has lost the rest; repaired, it would be half an answer that
    looks complete.
    """
    body = text.rstrip("` \t\r\n")
    lists = end = 0
    for mark in _LISTS.finditer(body):
        lists += {"[": 1, "]": -1}.get(mark[0], 0)
        end = mark.end()
    return lists <= 0 and (body.endswith("}") or end == len(body))


def _mended(text: str) -> Any:
    from json_repair import repair_json  # noqa: PLC0415 - 40 ms to import, and seldom needed

    try:
        found = _clean(repair_json(text, return_objects=True, skip_json_loads=True))
    except (ValueError, RecursionError, IndexError, TypeError, KeyError):
        return None
    # Of fields with the same name, json_repair keeps the last one only.
    kept, given = (Counter(_NAME.findall(one)) for one in (json.dumps(found, ensure_ascii=False), text))
    return None if any(given[name] > count for name, count in kept.items()) else found


def _clean(value: Any) -> Any:
    """Return the value with lone surrogates replaced, since they cannot be encoded."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value

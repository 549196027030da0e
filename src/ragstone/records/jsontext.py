"""Parse JSON strictly: anything that another parser might read differently is rejected with a specific message.

Rejected: NaN and infinities, a key given twice in an object at any level, lone surrogates, bytes that are not UTF-8,
NUL bytes, numbers that do not fit a double, and nesting deeper than `MAX_DEPTH`. An integer beyond 64 bits is kept as a
string of its digits, because a float could make two ids equal.

orjson does the parsing, but it keeps the last of two equal keys and silently rounds large integers. So each parsed
value is traversed once, and its keys are compared with the number of possible keys in the text (`KEY` may over-count
but never under-counts). If the counts differ or an integer was rounded, the text is parsed again with the standard
library, which can return pairs. The check is cheap: the pattern runs faster than the parser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import orjson

from ragstone.errors import RecordError
from ragstone.records.ids import first_repeated
from ragstone.records.limits import MAX_DEPTH

KEY: Final = re.compile(rb'"\s*:')
WALKED: Final = frozenset((dict, list, float))
INTEGERS: Final = 2.0**63
LONGEST_INTEGER: Final = 20
"""Characters (digits and sign) of the longest integer that fits into 64 bits."""


class RefusedError(Exception):
    """The text contains something that is not allowed."""


def row(raw: bytes, where: str) -> dict[str, Any] | RecordError:
    """Parse one JSON object; return the error if it is not one, so that one bad row does not end a file."""
    try:
        return as_row(decode(raw, where), where)
    except RecordError as error:
        return error.with_traceback(None)


def as_row(value: Any, where: str) -> dict[str, Any] | RecordError:
    """Return the value as a row, or the error that explains why it is not one."""
    if isinstance(value, dict):
        return value
    return RecordError(where, f"expected an object, found {kind(value)}", "each record must be a JSON object: {...}")


def decode(raw: bytes, where: str, *, field: str = "") -> Any:
    """Parse any JSON value; otherwise raise a RecordError that names ``where`` and ``field``."""
    try:
        value = orjson.loads(raw)
        keys, exact = survey_of(value)
        if not exact or keys != len(KEY.findall(raw)):
            value = json.loads(raw, object_pairs_hook=_unique, parse_int=_integer, parse_constant=_constant)
    except orjson.JSONDecodeError as error:
        found, expected = _diagnosis(raw, error, whole=not field)
    except RefusedError as error:
        found, expected = error.args
    else:
        return value
    raise RecordError(where, found, expected, field=field)


def opened(value: Any) -> Any:
    """Return the list or object that a JSON string contains, else the value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return decode(value.encode(), "")
        except (RecordError, UnicodeEncodeError):
            return value
    return value


def unquoted(value: Any) -> Any:
    """Return the text in a JSON string (``'"text"'``), else the value unchanged."""
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"':
        inner = opened(f"[{value}]")
        return inner[0] if isinstance(inner, list) and len(inner) == 1 else value
    return value


def kind(value: object) -> str:
    """Return the type of a JSON value in words: ``a string``, ``a list of strings``, ``a list``..."""
    name = _type(value)
    items = {_type(item) for item in value} if isinstance(value, list | tuple) else set()
    return f"{name} of {_PLURALS[items.pop()]}" if len(items) == 1 and items <= _PLURALS.keys() else name


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return f"a {type(value).__name__}"


_KINDS: Final[Sequence[tuple[Any, str]]] = (
    (str, "a string"),
    (int | float, "a number"),
    (list | tuple, "a list"),
    (dict, "an object"),
    (type(None), "null"),
)
_PLURALS: Final = {"a string": "strings", "a number": "numbers", "an object": "objects"}
"""Plurals for the items of a list that are all of one type."""


def survey_of(value: Any) -> tuple[int, bool]:
    """Return the number of keys at all levels, and whether no integer was rounded.

    Works level by level, so that the depth is known and deeply nested input cannot exhaust the stack.
    """
    level, keys, exact, depth = [value], 0, True, 0
    while level:
        depth += 1
        if depth > MAX_DEPTH and any(type(item) is not float for item in level):
            raise RefusedError(f"JSON nested deeper than {MAX_DEPTH} levels", "flatten it")
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                keys += len(item)
                below += [child for child in item.values() if type(child) in WALKED]
            elif type(item) is list:
                below += [child for child in item if type(child) in WALKED]
            elif type(item) is float:
                exact = exact and -INTEGERS <= item < INTEGERS
        level = below
    return keys, exact


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = first_repeated(key for key, _ in pairs)
        raise RefusedError(f"the key {excerpt(twice or '')} is given twice in one object", "keep one of them")
    return found


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONGEST_INTEGER and -(2**63) <= int(digits) < 2**63 else digits


def _constant(name: str) -> NoReturn:
    raise RefusedError(f"{name}, which is not JSON", "expected a number, or null if there is no value")


def excerpt(text: str) -> str:
    """Return untrusted text shortened for a message, quoted, on one line."""
    return repr(text if len(text) <= 40 else text[:39] + "…")


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 record``, ``1,243 records``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def not_text(raw: bytes, of: str = "") -> tuple[str, str] | None:
    """Return why bytes are not text and what to do, or None if they are. ``of`` names their line for the message."""
    if b"\0" in raw:
        return f"a NUL byte at byte {raw.index(0) + 1}{of}", "expected UTF-8 text; is this a binary or UTF-16 file?"
    try:
        raw.decode()
    except UnicodeDecodeError as wrong:
        return f"byte {wrong.start + 1}{of} (0x{raw[wrong.start]:02x}) is not valid UTF-8", "save the file as UTF-8"
    return None


def _diagnosis(raw: bytes, error: orjson.JSONDecodeError, *, whole: bool) -> tuple[str, str]:
    """Return why the text could not be parsed and what was expected, more clearly than orjson does."""
    if wrong := not_text(raw):
        return wrong
    text = raw.decode()
    try:
        json.loads(text, parse_int=_integer, parse_constant=_constant)
    except RefusedError as refused:
        return refused.args[0], refused.args[1]
    except RecursionError:
        return f"JSON nested deeper than {MAX_DEPTH} levels", "flatten it"
    except json.JSONDecodeError as bad:
        place = f"column {bad.colno}" if bad.lineno == 1 else f"line {bad.lineno} of it, column {bad.colno}"
        message = bad.msg.removesuffix(" at").removesuffix(" starting")
        message = "more text after the first value" if message == "Extra data" else message
        return f"invalid JSON at {place}: {message[:1].lower()}{message[1:]}", _hint(text, whole=whole)
    if "surrogate" in error.msg:
        at = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno} of it, column {error.colno}"
        return f"a lone surrogate (half of a character, \\ud800-\\udfff) at {at}", "write the whole character"
    return f"not usable as JSON: {error.msg.split(': line')[0]}", "a number that a double can hold"


def _hint(text: str, *, whole: bool) -> str:
    """Return what to do; the text is a ``whole`` record or a cell of a table."""
    start = text[:2]
    if not whole:
        return "write lists and objects as JSON"
    if start[:1] == "[":
        return "a file that is one JSON array needs a name that ends in .json"
    if start == "{'":
        return "a Python dict is not JSON: write it with json.dumps"
    return "each record must be one complete JSON object"

"""Parse lists and objects as models write them: JSON, Python, and variants of them.

Accepts any quotes, bare words, trailing or missing commas and comments, but guesses nothing. A truncated list returns
its complete items. The time is linear in the text: each part is read once, and the number of restarts after a bracket
that is no list is limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

DEEPEST: Final = 12
"""Maximum nesting depth of lists and objects."""
RESTARTS: Final = 24
"""Maximum number of restarts after a bracket that is no list or is never closed."""

_QUOTES: Final = {
    '"': '"', "'": "'", "`": "`", "\u201c": '\u201c\u201d"', "\u201d": '\u201d"', "\u2018": "\u2018\u2019'",
    "\u2019": "\u2019'", "\u201e": '\u201c\u201d"', "\u00ab": "\u00bb",
}  # fmt: skip
_BLANK: Final = re.compile(r"(?:[\s\u00a0\ufeff]+|//[^\n]*|/\*.*?\*/|#[^\n]*)+", re.DOTALL)
_BARE: Final = re.compile(r"[^,\[\]{}():\n\"\u201c\u201d]+")
_AFTER: Final = re.compile(r"[\s\u00a0]*(?:[,:\])}\n#]|//|/\*|$)")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?")
_COMMENT: Final = re.compile(r"\s(?:#|//)")
_CLOSING: Final = {"[": "]", "{": "}", "(": ")"}
_OPENING: Final = re.compile(r"[\[{]")


class _Nothing:
    """A bare ``None`` or ``null``: no value, or the word itself in a list of bare words."""

    def __repr__(self) -> str:
        return "none"


NONE: Final = _Nothing()


class _NoListError(Exception):
    """The text at this position is not a list or an object."""


class _CutError(Exception):
    """The text ended early; ``value`` is the complete part of the list or object, None for anything else."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Literal(Struct, frozen=True):
    """A list or an object in a text.

    ``closed`` is false if it is truncated. ``bare``: it has no quotes. ``single``: it has single quotes, as in Python.
    """

    start: int
    end: int
    value: Any
    closed: bool
    bare: bool = False
    single: bool = False


class Pairs(Struct, frozen=True):
    """An object as pairs in order, since its reader decides about duplicate keys."""

    items: tuple[tuple[Any, Any], ...]


def literals(text: str) -> Iterator[Literal]:
    """Yield the outermost lists and objects of the text, in order."""
    restarts = 0
    at = 0
    while restarts <= RESTARTS and (opening := _OPENING.search(text, at)):
        reader = _Reader(text)
        start = opening.start()
        try:
            value, at = reader.value(start, 0)
        except _NoListError:
            pass
        except _CutError as cut:
            yield Literal(start, len(text), cut.value, closed=False, bare=not reader.quotes)
        else:
            yield Literal(start, at, value, closed=True, bare=not reader.quotes, single="'" in reader.quotes)
            continue
        restarts += 1
        at = start + 1


class _Reader:
    """Parses one literal, starting at its opening bracket."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.quotes: set[str] = set()

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        char = self.text[at]
        if char in "[{" or (char == "(" and depth):
            return self._items(at + 1, depth, _CLOSING[char])
        if char in _QUOTES:
            return self._string(at)
        match = _BARE.match(self.text, at)
        if not match:
            raise _NoListError
        if match.end() == len(self.text):
            raise _CutError
        return _bare(match[0]), match.end()

    def _skip(self, at: int) -> int:
        match = _BLANK.match(self.text, at)
        at = match.end() if match else at
        if at >= len(self.text):
            raise _CutError
        return at

    def _items(self, at: int, depth: int, closing: str) -> tuple[Any, int]:
        """Return the items of a list or the pairs of an object, and the offset after its closing bracket."""
        if depth >= DEEPEST:
            raise _NoListError
        keyed = closing == "}"
        items: list[Any] = []
        key: Any = None
        comma = True
        try:
            while True:
                key = None
                at = self._skip(at)
                char = self.text[at]
                if char == closing:
                    return Pairs(tuple(items)) if keyed else items, at + 1
                if char == ",":
                    if comma and not keyed:
                        items.append(None)  # an empty item still takes a position
                    comma = True
                    at += 1
                    continue
                comma = False
                if char in ("]:[{" if keyed else "}:])"):
                    raise _NoListError
                value, at = self.value(at, depth + 1)
                if keyed:
                    at = self._skip(at)
                    if self.text[at] != ":":
                        raise _NoListError
                    at = self._skip(at + 1)
                    if self.text[at] in "]},":
                        raise _NoListError
                    key = value
                    value, at = self.value(at, depth + 1)
                items.append((key, value) if keyed else value)
        except _CutError as cut:
            if cut.value is not None and (key is not None or not keyed):
                items.append((key, cut.value) if keyed else cut.value)
            raise _CutError(Pairs(tuple(items)) if keyed else items) from None

    def _string(self, at: int) -> tuple[str, int]:
        """Return the string and the offset after it.

        A closing quote other than ``"`` counts only before a comma, bracket, colon, quote or line end.
        """
        opening = self.text[at]
        self.quotes.add(opening)
        closing = _QUOTES[opening]
        end = at + 1
        text = self.text
        while end < len(text):
            char = text[end]
            if char == "\\":
                end += 2
                continue
            if char in closing and (
                opening == '"' or _AFTER.match(text, end + 1) or text[end + 1 : end + 2] in _QUOTES
            ):
                return _unescaped(text[at + 1 : end]), end + 1
            end += 1
        raise _CutError


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    try:
        found = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text.replace("\\", "")
    return found.encode("utf-8", "replace").decode() if isinstance(found, str) else text


def _bare(word: str) -> Any:
    word = _COMMENT.split(word, maxsplit=1)[0].strip()
    if _NUMBER.fullmatch(word):
        return float(word) if "." in word else int(word)
    return {"true": True, "false": False, "null": NONE, "none": NONE}.get(word.casefold(), word)

"""Lists and objects as models write them: JSON, Python, and what lies between and beside them.

Reads what is there and mends nothing by guessing: quotes of any kind, bare words, trailing or missing commas,
comments. A list that the text ends in the middle of gives what stands complete before the end. The time is linear
in the text: each stretch is read once, and reading starts anew behind a bracket that leads nowhere only so often.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

DEEPEST: Final = 12
"""How deep lists and objects may stand inside each other."""
RESTARTS: Final = 24
"""How often reading starts anew after a bracket that is no list."""

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
    """A bare ``None`` or ``null``: no value, or in a list of bare words the word itself."""

    def __repr__(self) -> str:
        return "none"


NONE: Final = _Nothing()


class _NoListError(Exception):
    """The text that begins here is not a list or an object."""


class _CutError(Exception):
    """The text ended in the middle; ``value`` is what is complete of the list or object, None of anything else."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


@dataclass(frozen=True, slots=True)
class Literal:
    """A list or an object in a text.

    ``closed`` is false where the text ended in it. ``bare``: no word of it is quoted; ``single``: one is, as in Python.
    """

    start: int
    end: int
    value: Any
    closed: bool
    bare: bool = False
    single: bool = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """An object as its pairs in order, for a key that stands twice is told apart by its reader."""

    items: tuple[tuple[Any, Any], ...]


def literals(text: str) -> Iterator[Literal]:
    """The outermost lists and objects of the text, in order."""
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
    """One reading from one bracket on."""

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
        """The items of a list, or the pairs of an object, up to the bracket that closes it."""
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
                        items.append(None)  # nothing stands there, and it is a place all the same
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
        """Up to the quote that closes it: one that a comma, a bracket, a colon or a line's end comes after."""
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

"""Resolve dotted paths into a row: ``a.b``, ``docs[].text`` (each item), ``docs[0]``, ``messages[-1].content``.

Paths reach into objects and lists that are written as JSON strings. A literal key takes precedence over a path, so
``meta.topic`` finds both a nested topic and a column of that name.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ragstone.records.jsontext import opened

MISSING: Final = object()
"""Marks a missing value, as opposed to null."""

_INDEX: Final = re.compile(r"\[(-?\d{0,9})\]\.?")


@functools.lru_cache(4096)
def folded(name: str) -> str:
    """Return a name in lower case without underscores, hyphens and spaces.

    So ``retrievedContexts`` equals ``retrieved_contexts``.
    """
    return name.replace("_", "").replace("-", "").replace(" ", "").casefold()


def find(value: Any, path: str) -> Any:
    """Return the value at the path, or `MISSING`.

    ``[]`` returns a list with one entry per item (None if an item lacks the rest of the path); nested lists are
    flattened. A path may lead into a JSON string.
    """
    if not path:
        return value
    value = opened(value)
    if path.startswith("["):
        return _item(value, path)
    if isinstance(value, dict):
        for key, rest in _readings(path):
            if key in value and (found := find(value[key], rest)) is not MISSING:
                return found
    return MISSING


def find_first(value: Any, paths: Iterable[str]) -> Any:
    """Return the first value at one of the paths that is not None, or None."""
    return next((found for path in paths if (found := find(value, path)) is not MISSING and found is not None), None)


def without(value: Any, path: str) -> Any:
    """Return a copy without the value at the path, or `MISSING` if nothing is left; the original is unchanged."""
    if not path or value is MISSING:
        return MISSING
    if isinstance(value, str) or find(value, path) is MISSING:
        return value
    value = opened(value)
    if path.startswith("["):
        return _without_items(value, path)
    for key, rest in _readings(path):
        if key in value and find(value[key], rest) is not MISSING:
            kept = without(value[key], rest)
            copy = {name: item for name, item in value.items() if name != key or kept is not MISSING}
            if key in copy:
                copy[key] = kept
            return copy or MISSING
    return value


def root(path: str) -> str:
    """Return the first key of a path, judging by the path alone."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _readings(path: str) -> Iterator[tuple[str, str]]:
    """Yield each split of the path into a key and the remaining path, longest key first."""
    yield path, ""
    for at in range(len(path) - 1, 0, -1):
        if path[at] in ".[":
            yield path[:at], path[at:].removeprefix(".")


def _item(value: Any, path: str) -> Any:
    match = _INDEX.match(path)
    if match is None or not isinstance(value, list):
        return MISSING
    rest = path[match.end() :]
    if match[1] in ("", "-"):
        return _each([find(item, rest) for item in value], flat="[]" in rest)
    try:
        return find(value[int(match[1])], rest)
    except IndexError:
        return MISSING


def _each(found: list[Any], *, flat: bool) -> Any:
    if found and all(item is MISSING for item in found):
        return MISSING
    if flat:
        return [inner for item in found if isinstance(item, list) for inner in item]
    return [None if item is MISSING else item for item in found]


def _without_items(value: list[Any], path: str) -> Any:
    """Take a path that is there from the items of a list."""
    match = _INDEX.match(path)
    assert match is not None, path
    rest = path[match.end() :]
    places = range(len(value))
    chosen = places if match[1] in ("", "-") else (places[int(match[1])],)
    kept = [without(item, rest) if number in chosen else item for number, item in enumerate(value)]
    left = [None if item is MISSING else item for item in kept]
    return MISSING if all(item is None for item in left) else left

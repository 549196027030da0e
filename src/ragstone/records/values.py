"""The value of one field, from what JSON brings to what a Record holds.

Each function takes the value and a list to which it adds notes, and raises Unfit for a value of the wrong
type. Notes name no place and no content, so that they can be counted over a whole file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ragstone.records.jsontext import kind
from ragstone.records.names import Names
from ragstone.types import Citation, Nugget, Passage, Span

PASSAGE_IDS: Final = ("id", "docid", "doc_id", "pid", "passage_id", "document_id", "chunk_id", "segment_id")
PASSAGE_TEXTS: Final = ("text", "segment", "content", "contents", "passage", "page_content")
NUGGET_TEXTS: Final = ("text", "nugget")
ELSEWHERE: Final = "use a field mapping to read another column"


class UnfitError(Exception):
    """A value cannot be what its field is; ``found`` and ``expected`` as in RecordError."""

    def __init__(self, found: str, expected: str = ELSEWHERE) -> None:
        self.found = found
        self.expected = expected
        super().__init__(found)


def identifier(value: Any, notes: list[str]) -> str:
    """An id: a string as it is, a number as its digits (2.0, as tables with gaps have it, as 2)."""
    del notes
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnfitError(f"{kind(value)} where a string or a number is due")
    return str(int(value) if value == int(value) else value)


def text(value: Any, notes: list[str]) -> str:
    """A text, exactly as it came; a number is not taken for one, since its digits could be written in many ways."""
    del notes
    if isinstance(value, str):
        return value
    raise UnfitError(f"{kind(value)} where a string is due")


def passages(value: Any, notes: list[str]) -> tuple[tuple[Passage, ...], dict[str, dict[str, Any]]]:
    """Contexts in the order of their list, and by passage id what else their objects say (score, title...)."""
    if isinstance(value, str):
        value = [value] if value.strip() else []
    if not isinstance(value, list):
        raise UnfitError(f"{kind(value)} where a list of passages, or one string, is due")
    found = [_passage(item, number) for number, item in enumerate(value, 1)]
    if any(not body.strip() for _, body, _ in found):
        notes.append("contexts: a blank passage")
    names = _unique([name for name, _, _ in found], notes)
    made = tuple(
        Passage(name, body, rank) for rank, (name, (_, body, _)) in enumerate(zip(names, found, strict=True), 1)
    )
    return made, {name: rest for name, (_, _, rest) in zip(names, found, strict=True) if rest}


def _passage(item: Any, number: int) -> tuple[str, str, dict[str, Any]]:
    if item is None:
        return "", "", {}
    if isinstance(item, str):
        return "", item, {}
    if not isinstance(item, dict):
        raise UnfitError(f"{kind(item)} as passage {number}", "a string or an object with a text")
    key = _first(item, PASSAGE_TEXTS)
    if key is None:
        raise UnfitError(f"passage {number} is an object without a text", f"one of {', '.join(PASSAGE_TEXTS)}")
    body = item[key]
    if body is not None and not isinstance(body, str):
        raise UnfitError(f"{kind(body)} as '{key}' of passage {number}", "a string")
    label = next((name for name in PASSAGE_IDS if _names(item.get(name))), None)
    rest = {name: entry for name, entry in item.items() if name not in (key, label)}
    return str(item[label]) if label else "", body or "", rest


def _first(item: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    """The first of the keys that holds anything, else the first that is there."""
    there = [key for key in keys if key in item]
    return next((key for key in there if item[key]), there[0] if there else None)


def _names(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def _unique(names: list[str], notes: list[str]) -> list[str]:
    """Ids as given, the later of two equal ones with ``#2``; where none was given, the rank."""
    if not any(names):
        return [str(rank) for rank in range(1, len(names) + 1)]
    given = Names()
    result = [""] * len(names)
    by_own_id_first = sorted(range(len(names)), key=lambda at: not names[at])
    for at in by_own_id_first:
        result[at] = given.unique(names[at] or str(at + 1))
        if names[at] and result[at] != names[at]:
            notes.append("contexts: two passages with one id; the later got '#2'")
    return result


def nuggets(value: Any, notes: list[str]) -> tuple[Nugget, ...]:
    """Nuggets in their order; blank ones are left out, since nothing can be said of them."""
    if not isinstance(value, list):
        raise UnfitError(f"{kind(value)} where a list of nuggets is due")
    found = tuple(_nugget(item, number) for number, item in enumerate(value, 1))
    kept = tuple(nugget for nugget in found if nugget.text.strip())
    if len(kept) < len(found):
        notes.append("nuggets: a blank one, left out")
    return kept


def _nugget(item: Any, number: int) -> Nugget:
    if isinstance(item, str):
        return Nugget(item)
    if not isinstance(item, dict):
        raise UnfitError(f"{kind(item)} as nugget {number}", "a string or {text, importance?, assignment?}")
    key = _first(item, NUGGET_TEXTS)
    if key is None or not isinstance(item[key], str):
        raise UnfitError(f"nugget {number} has no text", "a string or {text, importance?, assignment?}")
    return Nugget(
        item[key], _optional(item, "importance", f"nugget {number}"), _optional(item, "assignment", f"nugget {number}")
    )


def _optional(item: Mapping[str, Any], key: str, whose: str) -> str | None:
    value = item.get(key)
    if value is None or isinstance(value, str):
        return value or None
    raise UnfitError(f"{kind(value)} as '{key}' of {whose}", "a string, or nothing")


def citations(value: Any, notes: list[str]) -> tuple[Citation, ...]:
    """Citations as Ragstone writes them: ``{span: {start, end}, passages: [id]}``."""
    del notes
    try:
        return tuple(_citation(item) for item in value)
    except (KeyError, TypeError):
        raise UnfitError("not a list of {span: {start, end}, passages}") from None


def _citation(item: Any) -> Citation:
    start, end = item["span"]["start"], item["span"]["end"]
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise TypeError
    return Citation(Span(start, end), tuple(_name(name) for name in item["passages"]))


def _name(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError


def overrides(value: Any, notes: list[str]) -> dict[str, dict[str, Any]]:
    """Parameters by metric: an object of objects."""
    del notes
    if not isinstance(value, dict):
        raise UnfitError(f"{kind(value)} where an object is due", "{metric: {parameter: value}}")
    for metric, parameters in value.items():
        if not isinstance(parameters, dict):
            raise UnfitError(f"{kind(parameters)} for '{metric}'", "an object {parameter: value}")
    return value

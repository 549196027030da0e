"""The reasoning block that a style asks for: what a reply says of each unit before it gives the labels.

Nothing in the block is ever a label. What is read of it are reasons and quotes, and the decisions, which are held
against the labels: where the two differ, the label is in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_OPEN: Final = re.compile(r"<\s?reasoning\s?>", re.IGNORECASE)
_CLOSE: Final = re.compile(r"</\s?reasoning\s?>", re.IGNORECASE)
_THINKING: Final = re.compile(r"<(/?)\s?(?:think|thinking|thought)\s?>", re.IGNORECASE)
_ITEM: Final = re.compile(r"[\s*_#>\-]*(?:[^\W\d_]{2,12}\s*)?#?([0-9]{1,4})[*_]*\s*[.):]?[*_]*\s*(.*)")
_FIELD: Final = re.compile(
    r"[\s*_>\-\"'`]*(nugget|statement|passage|answer|claim|snippet|quote|rationale|reason|decision|label)[*_\"'`]*\s*[:=]\s*[*_]*\s*(.*)",
    re.IGNORECASE,
)
_NAMES: Final = {
    "statement": "nugget", "passage": "nugget", "answer": "nugget", "claim": "nugget", "quote": "snippet",
    "reason": "rationale", "label": "decision",
}  # fmt: skip
_NONE: Final = frozenset(("", "none", "n/a", "-", "no", "nothing", "null", "[]", "нет", "\u2014", "\u2013"))
_AROUND: Final = " \t\"'`*\u201c\u201d\u201e\u00ab\u00bb"


@dataclass(frozen=True, slots=True)
class Thought:
    """The reasoning about one unit; fields left out are empty."""

    snippet: str = ""
    rationale: str = ""
    decision: str = ""


def read_block(text: str, asked: Sequence[int]) -> dict[int, Thought]:
    """The thoughts by the number of their unit, from the last whole block outside of any thinking.

    Empty where there is no such block, or where its numbers are not those that were asked about.
    """
    if not (block := _block(text)):
        return {}
    found: dict[int, dict[str, str]] = {}
    number: int | None = None
    name = ""
    for line in block.splitlines():
        inner = _FIELD.fullmatch(line)
        if inner is None and (item := _ITEM.fullmatch(line)):
            inner = _FIELD.fullmatch(item[2])
            if inner or not item[2].strip():
                number, name = int(item[1]), ""
                if number in found:
                    return {}
                found[number] = {}
        if inner is not None:
            name = inner[1].casefold()
            name = _NAMES.get(name, name)
            fields = found.get(number) if number is not None else None
            if fields is None or (name == "nugget" and name in fields):
                number = len(found) + 1
                if number in found:
                    return {}
                fields = found[number] = {}
            fields.setdefault(name, inner[2].strip())
        elif name and number in found and line.strip():
            found[number][name] = f"{found[number][name]} {line.strip()}".strip()
    if not set(found) <= set(asked):
        return {}
    return {number: _thought(fields) for number, fields in found.items()}


def _thought(fields: dict[str, str]) -> Thought:
    snippet = fields.get("snippet", "").strip(_AROUND)
    return Thought(
        "" if snippet.casefold().strip(".") in _NONE else snippet,
        fields.get("rationale", "").strip(" \t*"),
        fields.get("decision", "").strip(_AROUND + "."),
    )


def _block(text: str) -> str:
    """Return the text of the last complete block, without the thinking before it."""
    depth = 0
    begin = 0
    for tag in _THINKING.finditer(text):
        depth = max(0, depth + (-1 if tag[1] else 1))
        if depth == 0:
            begin = tag.end()
    if depth:
        return ""
    ends = [tag.start() for tag in _CLOSE.finditer(text, begin)]
    starts = [tag.end() for tag in _OPEN.finditer(text, begin, ends[-1])] if ends else []
    return text[starts[-1] : ends[-1]] if starts else ""

"""Take away what is no answer or hides it: a model's reasoning, wide letters, invisible signs, TeX, what is struck.

And read the reasoning block that a style asks for: what a reply says of each unit before it gives the labels. Nothing
in the block is ever a label. What is read of it are reasons and quotes, and the decisions, which are compared with the
labels: where the two differ, the label is in doubt.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

TAG: Final = re.compile(
    r"[<\[](/?)\s?(?:(?<=[<\/\s])(?:think|thinking|thought|reasoning|reason|reflection|scratchpad)\s?>|(?<=[\[\/])think\])",
    re.IGNORECASE,
)
BESIDE: Final = 8
"""Characters beside a tag by which it is known again."""
_BOXED: Final = re.compile(r"\$*\\(?:boxed|fbox)\s*\{((?:[^{}]|\{[^{}]*\})*)\}\$*")
_COMMAND: Final = re.compile(r"\$?\\(?:text|textbf|textit|texttt|mathrm|mathbf|emph)\s*\{([^{}]*)\}\$?")
_ESCAPED: Final = re.compile(r"\\([_*#~-])")
_STRUCK: Final = re.compile(r"~~[^~\n]{1,200}~~")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_DRESSED: Final = re.compile(r"[^\x00-\x7f]|\\[\w*#~-]|~~|<!|<br|&lt;", re.IGNORECASE)
_INVISIBLE: Final = frozenset(("Cf", "Mn", "Me"))


def strip_reasoning(text: str, quoted: Sequence[range] = ()) -> str:
    """The text without its reasoning blocks.

    A block that is opened and never closed reaches to the end; a closing tag that nothing opened ends a block
    that began with the text (some chat templates open it before the first token). Blocks may nest. A tag that
    stands inside one of the ``quoted`` stretches, which are in order, is a word of the text and no tag.
    """
    kept: list[str] = []
    depth = 0
    at = 0
    for tag in TAG.finditer(text):
        nearest = bisect_right(quoted, tag.start(), key=lambda stretch: stretch.start) - 1
        if nearest >= 0 and tag.start() in quoted[nearest]:
            continue
        if not tag[1]:
            if depth == 0:
                kept.append(text[at : tag.start()])
            depth += 1
        elif depth == 0:
            kept.clear()
        else:
            depth -= 1
        at = tag.end()
    if depth == 0:
        kept.append(text[at:])
    return "".join(kept).strip()


def quoted_tags(text: str, material: Sequence[str]) -> list[range]:
    """Return where the text quotes a tag from its material.

    A judge that quotes a record which pretends to end its reasoning has not ended it.
    """
    if not material or not TAG.search(text):
        return []
    suspects = [other for other in material if TAG.search(other)]
    found = []
    for tag in TAG.finditer(text) if suspects else ():
        around = (text[max(0, tag.start() - BESIDE) : tag.end()], text[tag.start() : tag.end() + BESIDE])
        if any(piece in other for other in suspects for piece in around if piece.strip() != tag[0]):
            found.append(range(tag.start(), tag.end()))
    return found


def unopened(text: str) -> bool:
    """Return whether a reasoning block is closed that was not opened."""
    depth = 0
    for tag in TAG.finditer(text):
        depth += -1 if tag[1] else 1
        if depth < 0:
            return True
    return False


@lru_cache(maxsize=512)
def plain(text: str) -> str:
    """The same words as plain letters. Takes time linear in the text."""
    if not _DRESSED.search(text):
        return text
    if not text.isascii():
        # Accents stay, being letters' own; what is dropped are joiners, marks of direction and the boxes of keycaps.
        text = unicodedata.normalize("NFKC", text).replace("\u3001", ",")
        text = "".join(char for char in text if char.isascii() or not _invisible(char))
    if "&lt;" in text and "<" not in text:
        text = html.unescape(text)
    text = text.replace("<![CDATA[", "").replace("]]>", "")
    text = _COMMENT.sub(" ", text)
    text = _STRUCK.sub("", text)
    text = _BREAK.sub(" \u2014 ", text)
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
        text = _COMMAND.sub(r"\1", text)
        text = _BOXED.sub(r"\nanswer: \1\n", text)
        text = _COMMAND.sub(r"\1", text)
    return text


@lru_cache(maxsize=4096)
def _invisible(char: str) -> bool:
    return unicodedata.category(char) in _INVISIBLE and char not in "\u0301\u0306"


# ---- the block that a style asks for

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

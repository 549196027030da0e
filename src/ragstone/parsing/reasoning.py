"""Remove what is not the answer or obscures it: reasoning, wide letters, invisible characters, TeX, struck-out text.

Also parse the reasoning block that some styles request, with reasoning about each unit before the labels. Nothing in
the block is ever a label. It provides reasons and quotes, and decisions to compare with the labels: if they differ, the
label is not trusted.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

TAG: Final = re.compile(
    r"[<\[](/?)\s?(?:(?<=[<\/\s])(?:think|thinking|thought|reasoning|reason|reflection|scratchpad)\s?>|(?<=[\[\/])think\])",
    re.IGNORECASE,
)
BESIDE: Final = 8
"""Number of characters beside a tag by which it is recognized."""
NEXT_TURN: Final = re.compile(
    r"<\|(?:im_start|start_header_id)\|>\s*(?:user|human|system)|<start_of_turn>\s*user|<\|(?:user|human)\|>|\[INST\]|"
    r"^(?:#{1,4}\s*(?:Instruction|Input|User|Human)\b|[*_>\s]{0,3}(?:User|Human|Question|Query|Вопрос)[*_\s]{0,3}:)",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches the start of a further turn that a model without a stop token invents after its answer."""
_BOXED: Final = re.compile(r"\$*\\(?:boxed|fbox)\s*\{((?:[^{}]|\{[^{}]*\})*)\}\$*")
_COMMAND: Final = re.compile(r"\$?\\(?:text|textbf|textit|texttt|mathrm|mathbf|emph)\s*\{([^{}]*)\}\$?")
_ESCAPED: Final = re.compile(r"\\([_*#~-])")
_STRUCK: Final = re.compile(r"~~[^~\n]{1,200}~~")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_DRESSED: Final = re.compile(r"[^\x00-\x7f]|\\[\w*#~-]|~~|<!|<br|&lt;", re.IGNORECASE)
_INVISIBLE: Final = frozenset(("Cf", "Mn", "Me"))


def strip_reasoning(text: str, quoted: Sequence[range] = ()) -> str:
    """Return the text without its reasoning blocks.

    An unclosed block extends to the end of the text. An unopened closing tag ends a block that began with the text
    (some chat templates open it before the first token). Blocks may be nested. A tag inside one of the ``quoted``
    ranges, which are in order, is plain text.
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
    """Return the positions of tags that the text quotes from its material.

    A record may contain a tag that pretends to end the judge's reasoning; quoting it does not end the reasoning.
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
    """Return whether the text has a closing reasoning tag without an opening one."""
    depth = 0
    for tag in TAG.finditer(text):
        depth += -1 if tag[1] else 1
        if depth < 0:
            return True
    return False


@lru_cache(maxsize=512)
def plain(text: str) -> str:
    """Return the text in plain characters, without markup. Takes time linear in the text."""
    if not _DRESSED.search(text):
        return text
    if not text.isascii():
        # Keep accents, which belong to letters; drop joiners, direction marks and keycap boxes.
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


class Thought(Struct, frozen=True):
    """The reasoning about one unit; missing fields are empty."""

    snippet: str = ""
    rationale: str = ""
    decision: str = ""


def read_block(text: str, asked: Sequence[int]) -> dict[int, Thought]:
    """Return the thoughts by unit number, from the last complete block outside of any thinking.

    Empty if there is no such block, or if it has numbers that were not asked about.
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
    """Return the text of the last complete block after any thinking; empty if there is none."""
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

"""Take a model's reasoning away from its answer, so that nothing in it is ever read as the answer."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

TAG: Final = re.compile(
    r"[<\[](/?)\s?(?:(?<=[<\/\s])(?:think|thinking|thought|reasoning|reason|reflection|scratchpad)\s?>|(?<=[\[\/])think\])",
    re.IGNORECASE,
)
BESIDE: Final = 8
"""Characters beside a tag by which it is known again."""


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

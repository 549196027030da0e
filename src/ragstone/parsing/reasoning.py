"""Take a model's reasoning away from its answer, so that nothing in it is ever read as the answer."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

TAG: Final = re.compile(r"<(/?)\s?(?:think|thinking|thought|reasoning|reason|reflection|scratchpad)\s?>", re.IGNORECASE)


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

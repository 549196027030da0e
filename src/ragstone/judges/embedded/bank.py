"""A bank of nuggets from passages: the statements that may stand alone and are close to the question.

Most of a passage is left out on purpose. A sentence becomes a nugget only if its form leaves little doubt that a
reader who sees nothing else understands it; nothing is written that no passage says. Which nuggets are chosen
depends on the texts alone, not on the order of the passages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ragstone.judges.embedded.closeness import Asked
from ragstone.judges.embedded.prose import statements
from ragstone.judges.embedded.verbs import plain
from ragstone.judges.embedded.wording import Senses, sense_of

RELATIVE: Final = 0.65
"""The share of the closest statement's closeness that a new one must have ..."""

LIGHTEST: Final = 0.4
"""... and the share of the weight that the one with most of the question's words holds of them."""

PASSAGE: Final = 0.6
"""The share of the weight of the passage with most of the question's words that another must have to be read."""

WORDING: Final = 0.15
"""What good wording adds to closeness in the order."""

_HOW: Final = re.compile(
    r"\b(?:how (?:do|to|can|should|would|does|is|are|could)|steps?|procedure|what to do"
    r"|(?:can|do|should|could|must|may|would|shall) (?:i|you|we|one|someone|somebody))\b"
)


def of_passages(question: str, passages: Sequence[str], known: Sequence[str], most: int) -> list[str]:
    """The whole updated list: what is known and what the passages add, closest to the question first.

    Of nuggets that say the same the one that is closer and better worded stays. ``most`` limits the list; 0 is no
    limit. A question without words to be close to adds nothing.
    """
    asked = Asked(question, (*passages, *known))
    had = {text for text in known if text.strip()}
    new: set[str] = set()
    if not asked.blank:
        instructing = bool(_HOW.search(question.lower()))
        weights = {passage: asked.closeness(passage).weight for passage in passages}
        enough = PASSAGE * max(weights.values(), default=0.0)
        for passage in (one for one, weight in weights.items() if weight >= enough):
            new.update(text for text in statements(passage, instructing=instructing) if asked.about(text))
    found = {text: asked.closeness(text) for text in had | new}
    least = RELATIVE * max((one.value for one in found.values()), default=0.0)
    lightest = LIGHTEST * max((one.weight for one in found.values()), default=0.0)
    near = {text for text in new if found[text].value >= least and found[text].weight >= lightest}
    order = {text: round(found[text].value + WORDING * wording(text), 9) for text in had | near}
    held = Senses(asked.language)
    chosen: list[str] = []
    for text in sorted(order, key=lambda one: (-order[one], one not in had, len(one), one)):
        sense = sense_of(text, asked.language)
        if held.touch(sense):
            continue
        held.add(sense)
        chosen.append(text)
        if most and len(chosen) >= most:
            break
    return chosen


def wording(text: str) -> float:
    """How much a statement looks like a nugget, in [0, 1]: of six to sixteen words, without asides or pronouns."""
    words = [plain(word) for word in text.split()]
    value = 1.0
    if len(words) > 16:
        value -= 0.06 * min(10, len(words) - 16)
    elif len(words) < 6:
        value -= 0.15
    if any(word in {"it", "they", "them", "its", "their", "he", "she", "his", "her", "him"} for word in words):
        value -= 0.2
    if any(word in {"you", "your"} for word in words):
        value -= 0.15
    if any(sign in text for sign in ';("'):
        value -= 0.15
    return max(0.0, value)

"""Find what stands in the place of something else in scripts without capitals, where a name looks like any word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import commonprefix
from typing import Final

from ragstone.judges.embedded.alignment import Alignment, Clash, Line

UNSPACED: Final = frozenset(("zh", "ja", "th", "km", "lo", "my"))
UNCASED: Final = UNSPACED | {"ko", "ar", "fa", "he", "hi"}
VERB_LAST: Final = frozenset(("ja", "ko", "fa", "hi"))  # here a sentence ends with a verb, which has many forms
SHORT: Final = 80  # the most characters, or words, of a statement that is compared
PLACE: Final = (3, 12)  # the most words, or characters, that stand in the place of others
_END: Final = "\n"
_MARKS: Final = re.compile(
    r"[.,;:!?()\u060c\u061b\u061f\u0964\u3001\u3002\u300c\u300d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]+\s*"
)


def exchanged(aligned: Alignment) -> Clash | None:
    """Find "the museum is in Shanghai" of "the museum is in Beijing", in Chinese and the like.

    Between words that a sentence has, too, stands one stretch that no passage has, where the sentence has another one.
    """
    if aligned.language not in UNCASED or aligned.text.lower() != aligned.text.upper():
        return None
    return next((found for found in (_exchanged(aligned, line) for line in aligned.lines[:2]) if found), None)


def _exchanged(aligned: Alignment, line: Line) -> Clash | None:
    joint = "" if aligned.language in UNSPACED else " "
    own, theirs = (_units(side.text, joint) for side in (aligned, line))
    if not 0 < len(own) <= SHORT:
        return None
    first = next(n for n in range(len(own), -1, -1) if _place(theirs, own[:n]) >= 0)
    begin = _place(theirs, own[:first]) + first
    last = next(n for n in range(first, len(own) + 1) if _place(theirs, own[n:], begin) >= 0)
    end = _place(theirs, own[last:], begin) if last < len(own) else [*theirs, _END].index(_END, begin)
    if not first:
        begin = max((i + 1 for i in range(end) if theirs[i] == _END), default=0)
    says, has = own[first:last], theirs[begin : max(begin, end)]
    of_verb = aligned.language in VERB_LAST and last == len(own)
    if of_verb or 2 * len(says) > len(own) or not _differ(says, has, joint):
        return None
    written = joint.join(says)
    known = any(written in text.text for text in aligned.library.texts)
    return None if known else line.clash("name", written, joint.join(has))


def _units(text: str, joint: str) -> list[str]:
    """Return the words or the characters of a text, and where there are marks between them."""
    marked = _MARKS.sub(_END, text).strip()
    return marked.replace(_END, f" {_END} ").split(" ") if joint else ["" if one == " " else one for one in marked]


def _place(units: Sequence[str], part: Sequence[str], start: int = 0) -> int:
    """Return where some units stand in others; -1 if they do not."""
    last = len(units) - len(part)
    return next((i for i in range(start, last + 1) if units[i : i + len(part)] == part), -1)


def _differ(says: Sequence[str], has: Sequence[str], joint: str) -> bool:
    """Return whether two stretches are different things, and not two forms of a word."""
    if not says or not has or any(one == _END or one.isdecimal() for one in (*says, *has)) or max(len(says), len(has)) > PLACE[not joint]:
        return False
    if not joint:
        return min(len(says), len(has)) > 1 or all(one.isnumeric() for one in (*says, *has))
    one, other = (words[0].removeprefix("\u0627\u0644") for words in (says, has))
    return 2 * len(commonprefix([one, other])) < min(len(one), len(other))

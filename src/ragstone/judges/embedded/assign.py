"""Nuggets that offer a choice of words.

People who write nuggets join with a slash what an answer may say instead: "Bieber / the singer was turned away". A
response that says either holds the nugget, so each reading is looked for.
"""

from __future__ import annotations

import re
from itertools import islice, product
from typing import Final

from ragstone.judges.embedded.verbs import plain, verbs

READINGS: Final = 8
"""The most readings of one nugget."""

PHRASE: Final = 5
"""The most words that one side of a slash is taken to be."""

_SLASH: Final = re.compile(r"(?<=[^\W_])(?:\s/\s|/)(?=[^\W_])|(?<=['\u2019)])\s/\s")
_LONGEST: Final = 2000
"""Characters from which on a nugget has one reading, as it stands."""

_KEPT: Final = re.compile(
    r"\d/\d|\band/or\b|\b\w/|/\w\b(?![^\W_])|\b[A-Z]{2,}/[A-Z]{2,}\b|://|\b(?:he|she|him|his)/(?:she|he|her)\b"
)


def readings(text: str) -> tuple[str, ...]:
    """The ways in which a nugget can be read; itself where its slashes, if any, join no words."""
    if "/" not in text or len(text) > _LONGEST or (_KEPT.search(text) and " / " not in text):
        return (text,)
    words = _SLASH.sub(" / ", text).split()
    parts: list[list[str]] = []
    done = at = 0
    while at < len(words):
        if words[at] != "/" or at == done or at + 1 >= len(words):
            at += 1
            continue
        start, end = _left(words, at, done), _right(words, at + 1)
        sides = [" ".join(words[start:at])]
        while end < len(words) - 1 and words[end] == "/":
            sides.append(" ".join(words[at + 1 : end]))
            at, end = end, _right(words, end + 1)
        sides.append(" ".join(words[at + 1 : end]))
        owner = next((mark for mark in ("'s", "\u2019s") if sides[-1].endswith(mark)), "")
        sides = [side if side.endswith(owner) else side + owner for side in sides]
        head, _, tail = sides[-1].partition(" ")
        counted = sides[0].isdecimal()
        if head[:1].islower() and (counted or plain(head) not in verbs().determiners):  # the cars of "red/blue cars"
            sides = [f"{side} {tail}" if " " not in side and not side[:1].isupper() else side for side in sides]
        parts.extend(([" ".join(words[done:start])], sides))
        done = at = end
    if any(not side.strip(" /") for part in parts[1::2] for side in part):
        return (text,)
    parts.append([" ".join(words[done:])])
    return tuple(" ".join(" ".join(chosen).split()) for chosen in islice(product(*parts), READINGS))


def _bounds(low: str) -> bool:
    known = verbs()
    if low in known.auxiliaries | known.sure | known.past | known.determiners or low in {"and", "that", "to", "/"}:
        return True
    return len(low) > 4 and low.endswith("ed")


def _left(words: list[str], at: int, least: int) -> int:
    """Where the side before a slash begins: after the last verb, preposition or sign."""
    start = at - 1
    while start > least and at - start < PHRASE:
        before = words[start - 1]
        low = plain(before)
        if low not in {"the", "a", "an"} and (_bounds(low) or (low in verbs().prepositions and low != "of")):
            break
        if before.endswith((",", ";", ":", ".")) or (
            low in verbs().base and start > 1 and plain(words[start - 2]) == "to"
        ):
            break
        start -= 1
    return start


def _right(words: list[str], start: int) -> int:
    """Where the side after a slash ends: before the next verb, or after a word where none comes soon.

    A name ends where its large words do.
    """
    first = start + 1 if plain(words[start]) in verbs().determiners and start + 1 < len(words) else start
    name = words[first][:1].isupper()
    soon = words[start : start + PHRASE + 1]
    if name and "/" not in soon and words[first].endswith(("'s", "\u2019s")):
        return first + 1
    for end in range(first + 1, min(first + PHRASE + 1, len(words) + 1)):
        if end == len(words) or words[end] == "/" or words[end - 1].endswith((",", ";", ".")):
            return end
        low = plain(words[end])
        inner = low in {"and", "of"} and end + 1 < len(words)
        if not inner and (
            _bounds(low) or low in verbs().prepositions or (name and not words[end][:1].isupper() and "/" not in soon)
        ):
            return end
    return first + 1

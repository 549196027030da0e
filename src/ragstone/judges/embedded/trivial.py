"""Which sentences state nothing that could be supported: greetings, headings, announcements, questions back.

So does one that says that there is no answer, without a word on what is missing.
Conservative: whatever holds a number, or is long, is taken to state something, and so is what holds a name, but for
"I don't know who A was".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.abstaining import Abstention, abstention, begins_ignorant, names
from ragstone.judges.embedded.words import NAME, NUMBER, Token, lexicon, tokens_of

_ENDS: Final = (
    " \t\r\n\u00a0#*_`>~-\u2013\u2014\u2022.!,:;\u2026\u3002\uff01\uff0c\uff1a()[]\"'\u00ab\u00bb\u201c\u201d"
)
_CITATION: Final = re.compile(r"\[[^\[\]\n]{1,24}\]")
NO_ANSWER: Final = "says that there is no answer"
_IGNORANT: Final = 16
"""Words of a sentence that may say no more than that its speaker does not know something."""

_LONGEST: Final = 30
"""Words from which on a sentence is never trivial."""


@lru_cache(maxsize=64)
def _phrases(language: str) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    words = lexicon()

    def split(kind: str) -> tuple[str, ...]:
        own = words[kind].get(language, "") + ("|" + words[kind]["en"] if language != "en" else "")
        return tuple(phrase for phrase in own.split("|") if phrase)

    return frozenset(split("trivial")), split("trivial_starts"), split("announcements")


def _unanswering(parts: Abstention, tokens: Sequence[Token], language: str) -> bool:
    """Whether a sentence that abstains says no more than that; "I don't know who A was" does not, if it is short."""
    if names(parts.besides, language):
        return False
    if not names(parts.topic, language):
        return True
    short = len(tokens) <= _IGNORANT and not any(token.kind == NUMBER for token in tokens)
    return parts.personal and short and begins_ignorant(parts.topic)


def triviality(text: str, language: str) -> str:
    """Why a sentence states nothing, in a word or two; empty if it may state something."""
    if len(text) > 400:
        return ""
    bare = _CITATION.sub(" ", text).strip()
    tokens = tokens_of(bare, language)
    if not tokens or not any(c.isalpha() for c in bare):
        return "" if any(token.kind == NUMBER for token in tokens) else "no words"
    parts = abstention(bare, language)
    if parts is not None and _unanswering(parts, tokens, language):
        return NO_ANSWER
    if len(tokens) > _LONGEST:
        return ""
    whole, starts, announcements = _phrases(language)
    plain = " ".join(bare.replace("\u2019", "'").casefold().strip(_ENDS).split())
    if plain.replace(",", "") in whole or all(
        piece.strip(_ENDS) in whole for piece in re.split("[!.,;]", plain) if piece.strip(_ENDS)
    ):
        return "greeting or label"
    if any(token.kind == NUMBER for token in tokens):
        return ""
    named = any(token.kind == NAME and token.end - token.start > 1 for token in tokens)  # "I" is no name
    if not named and plain.startswith(starts):
        return "courtesy"
    end = bare.rstrip("*_ ")[-1:]
    heading = bare.startswith("#") or (bare.startswith("**") and bare.endswith(("**", "**:")))
    if heading and len(tokens) <= 12 and end not in ".!?\u3002":
        return "heading"
    if end in ":\uff1a":
        if len(tokens) <= 4 or any(phrase in plain for phrase in announcements):
            return "heading of a list"
        return ""
    if end in "?\uff1f" and not named:
        return "question"
    if len(tokens) <= 6 and plain.startswith(announcements) and not named and len(tokens) > 2:
        return "announcement" if end in ".!" and len(tokens) <= 4 else ""
    return ""

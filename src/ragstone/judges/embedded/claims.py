"""Sentences to claims: each by itself something that the answer asserts.

A sentence is taken apart by its clauses where its form leaves little doubt, else it is one claim as it stands.
The rules for clauses know English; in every other language a claim is a sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ragstone.judges.embedded.clauses import SUPPLIED, WHOLE, split
from ragstone.judges.embedded.grammar import grammar_of
from ragstone.judges.embedded.pronouns import resolved_by
from ragstone.judges.embedded.trivial import triviality
from ragstone.segment import language_of, sentences

_MARKER: Final = re.compile(r"\s*(?:#{1,6}\s+|>\s+|[-*+\u2022\u2013]\s+|\(?\d{1,3}[.)]\s+|\(?[a-z]\)\s+)")
_CITATIONS: Final = re.compile(r"\s?(?:\[[^\[\]\n]{1,24}\]|\u3010[^\u3011\n]{1,40}\u3011)")
_EMPHASIS: Final = re.compile(r"\*\*|__|`")
_BEFORE: Final = 2000
"""Characters of the text before that are looked at for what a pronoun refers to."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim's text, the number of its sentence (from 0), and how sure its form is, in [0, 1]."""

    text: str
    sentence: int
    confidence: float


def write(texts: list[str], before: str = "") -> list[Claim]:
    """The claims of neighbouring sentences, in order; trivial sentences make none."""
    language = language_of(" ".join(texts))
    grammar = grammar_of(language)
    tail = before[-_BEFORE:]
    spans = sentences(tail, language) if grammar else ()
    last = clean(tail[spans[-1].start : spans[-1].end]) if spans else ""
    found: list[Claim] = []
    for number, text in enumerate(texts):
        if triviality(text, language):
            last = ""  # what a pronoun after a heading means is not said before it
            continue
        bare = clean(text) or text.strip()
        if grammar is None:
            found.append(Claim(bare, number, WHOLE))
            continue
        resolved = resolved_by(bare, last, grammar)
        sure = WHOLE if resolved == bare else SUPPLIED
        pieces = split(resolved, grammar)
        found.extend(Claim(piece, number, min(sure, confidence)) for piece, confidence in pieces)
        last = resolved
    return found


def clean(text: str) -> str:
    """The sentence without list marker, emphasis and citation markers, on one line."""
    marker = _MARKER.match(text)
    bare = text[marker.end() :] if marker else text
    return " ".join(_EMPHASIS.sub("", _CITATIONS.sub("", bare)).split())

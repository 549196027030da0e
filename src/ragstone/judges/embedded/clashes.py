"""What speaks against a statement whose words are there: rivals beside them, doubt, overstatement.

Everything is told by place and by small word lists that exist for several languages; where a language has none, the
features that need one stay at the value that means nothing. Nothing depends on the order of the passages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.library import Library, Place
from ragstone.judges.embedded.statement import Masks, Statement
from ragstone.judges.embedded.words import NAME, NUMBER, Token, lexicon, stem_of

BESIDE: Final = 3
"""Words around a matched neighbour, and places of it, where a rival of a missing number or name is looked for."""

_ASKING: Final = ("?", "\uff1f", "\u061f")
_ENDED: Final = re.compile(r"[.!?\uff1f\u061f]\s")
"""A sentence that another one follows."""

CLASHES: Final = (
    "rival_number",   # missing numbers with another number beside a matched neighbour, at most 3
    "rival_name",     # the same of names
    "overstated",     # the claim says all, only, always ... and the window does not
    "doubted",        # the window says false, denied, myth ... and the claim does not
    "asked",          # the sentence that carries most is a question
    "asks",           # the claim is nothing but a question
    "own_voice",      # the claim speaks of its speaker, and no passage of one
)  # fmt: skip
"""What ``clashes`` returns, in order."""


def clashes(
    claim: str,
    statement: Statement,
    library: Library,
    masks: Masks,
    place: Place | None,
) -> tuple[float, ...]:
    """The features named in ``CLASHES``, of a claim and its best window; ``masks`` are of the strongest sentences."""
    window = library.tokens(place) if place else []
    content = [token for token in statement.tokens if token.stem in statement.weights]
    places: dict[str, list[int]] = {}
    for i, token in enumerate(window):
        places.setdefault(token.stem, []).append(i)
    own = {token.stem for token in statement.tokens}
    lists = _lists(library.language)
    return (
        _rivals(content, NUMBER, places, window, own),
        _rivals(content, NAME, places, window, own),
        float(any(stem in own and stem not in places for stem in lists["strong"])),
        _only_there(lists["doubts"], own, places),
        _asked(place, masks, statement, library),
        float((said := claim.strip()).endswith(_ASKING) and not _ENDED.search(said)),
        float(any(stem in own for stem in lists["selves"]) and not _has(lists["selves"], library)),
    )


@lru_cache(maxsize=64)
def _lists(language: str) -> dict[str, frozenset[str]]:
    words = lexicon()
    return {
        kind: frozenset(stem_of(word, language) for word in words[kind].get(language, "").split())
        for kind in ("strong", "doubts", "selves")
    }


def _rivals(
    content: Sequence[Token], kind: int, places: dict[str, list[int]], window: Sequence[Token], own: set[str]
) -> float:
    """Missing words of a kind that have another of their kind beside a matched neighbour."""
    found = 0
    for i, token in enumerate(content):
        if token.kind != kind or token.stem in places:
            continue
        beside = [one.stem for one in content[max(0, i - 1) : i + 2] if one.stem in places]
        found += any(
            other.kind == kind and other.stem not in own
            for stem in beside
            for at in places[stem][:BESIDE]
            for other in window[max(0, at - BESIDE) : at + BESIDE + 1]
        )
    return min(3.0, found)


def _only_there(words: frozenset[str], own: set[str], places: dict[str, list[int]]) -> float:
    return float(bool(words) and words.isdisjoint(own) and any(stem in words for stem in places))


def _has(stems: frozenset[str], library: Library) -> bool:
    return any(stem in text.index for text in library.texts for stem in stems)


def _asked(place: Place | None, masks: Masks, statement: Statement, library: Library) -> float:
    if place is None:
        return 0.0
    inside = range(place.first, place.last + 1)
    most = max(statement.share(masks.get((place.passage, s), 0)) for s in inside)
    text = library.texts[place.passage]
    spans = [text.spans[s] for s in inside if statement.share(masks.get((place.passage, s), 0)) == most]
    return float(all(text.text[span.start : span.end].endswith(_ASKING) for span in spans))

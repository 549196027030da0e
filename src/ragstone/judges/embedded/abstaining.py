"""Statements that the evidence does not say something, or that no answer can be given: what they say is not there.

Phrases, and the words for sources, in the languages for which they are listed. They are known in every text: a
sentence is too short to be sure of its language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.words import function_stems, lexicon, question_stems, stem_of, tokens_of

LONGEST: Final = 400
"""Characters beyond which a statement is no sentence that abstains, but a text that may do so among other things."""

WITHIN: Final = 5
"""Words after "not mentioned in" among which the source is looked for."""

ENGLISH: Final = "en"
_EDGES: Final = ".,;:!?()\"'\u201c\u201d\u2026"
_BREAK: Final = r"[,;]\s+|[\uff0c\uff1b\u3002]\s*|(?<=[^\W\d_][.!?])(?:\s+|(?=[A-Z]))"
_JOINT: Final = ",\uff0c"


@dataclass(frozen=True, slots=True)
class Abstention:
    """A statement in two: what it says is not there, and what it says besides; either may be empty.

    ``personal``: it names no evidence, but the ignorance of who speaks ("I don't know who wrote it").
    """

    topic: str
    besides: str
    personal: bool = False


def abstains(text: str, language: str) -> bool:
    """Whether a sentence says that the evidence does not say, or that no answer can be given."""
    return abstention(text, language) is not None


def abstention(text: str, language: str) -> Abstention | None:
    """The parts of a statement that abstains; None of any other."""
    if len(text) > LONGEST or not _may(text):
        return None
    words = _words(text)
    sources = _sources()
    sourced = next((i for i, word in enumerate(words) if word in sources), None)
    topic: list[str] = []
    besides: list[str] = []
    seen = 0
    evident = False
    for piece in _pieces(text, language):
        low = _words(piece)
        here = sourced is not None and sourced < seen
        declines = _declines(low, language, before=here, named=sourced is not None)
        evident = evident or declines
        (topic if declines or _ignorant(low, language) else besides).append(piece)
        seen += len(low)
    personal = sourced is None and not evident
    return Abstention(" ".join(topic), " ".join(besides), personal) if topic else None


def names(text: str, language: str) -> bool:
    """Whether a part of such a statement has words of its own; "I cannot answer that from the documents" has none."""
    framing = frames(language)
    return any(token.stem not in framing for token in tokens_of(text, language))


@lru_cache(maxsize=64)
def frames(language: str) -> frozenset[str]:
    """Stems of the words that frame such a statement: the sources, their saying, the answering."""
    kinds = ("sources", "frames", "contrasts", "concessions")
    words = frozenset(stem_of(word, language) for kind in kinds for word in _listed(kind, language))
    return words | function_stems(language) | question_stems(language)


def _both(language: str) -> tuple[str, ...]:
    return (language,) if language == ENGLISH else (language, ENGLISH)


def _words(text: str) -> list[str]:
    return [word.strip(_EDGES) for word in text.lower().replace("\u2019", "'").split()]


@lru_cache(maxsize=8)
def _phrases(kind: str) -> frozenset[str]:
    return frozenset(phrase for known in lexicon()[kind].values() for phrase in known.split("|") if phrase)


@lru_cache(maxsize=1)
def _sources() -> frozenset[str]:
    return frozenset(word for known in lexicon()["sources"].values() for word in known.split())


@lru_cache(maxsize=256)
def _listed(kind: str, language: str) -> frozenset[str]:
    known = lexicon()[kind]
    return frozenset(word for code in _both(language) for word in known.get(code, "").split())


def _may(text: str) -> bool:
    """Whether any of the phrases may be in a text: most texts lack what all of them have."""
    low = " ".join(text.lower().replace("\u2019", "'").split())
    return any(mark in low for mark in _marks())


@lru_cache(maxsize=1)
def _marks() -> tuple[str, ...]:
    return tuple(mark for known in lexicon()["lacks"].values() for mark in known.split("|"))


def _hits(kind: str, low: str) -> Iterator[tuple[str, int]]:
    """The phrases of one kind that a text has, each with its first place where a word begins.

    In scripts without blanks that is any place.
    """
    for phrase in _phrases(kind):
        at = low.find(phrase)
        while at > 0 and phrase[0] < "\u0e00" and low[at - 1].isalnum():
            at = low.find(phrase, at + 1)
        if at >= 0:
            yield phrase, at


def _pieces(text: str, language: str) -> list[str]:
    """The stretches of a sentence that words of contrast part: "A, but B", "while A, B", "A; B"."""
    contrasts, concessions = _listed("contrasts", language), _listed("concessions", language)
    found: list[str] = []
    start = 0
    conceding = _first(text) in concessions
    for cut in _breaks(language).finditer(text):
        after = _first(text[cut.end() :])
        if conceding or after in contrasts or after in concessions or cut[0][:1] not in _JOINT:
            found.append(text[start : cut.start()])
            start, conceding = cut.end(), after in concessions
    found.append(text[start:])
    return [piece for piece in found if piece.strip()]


@lru_cache(maxsize=64)
def _breaks(language: str) -> re.Pattern[str]:
    """Where a stretch may end: at a comma, a semicolon, the end of a sentence, or before a word of contrast."""
    words = "|".join(map(re.escape, sorted(_listed("contrasts", language))))
    return re.compile(rf"{_BREAK}|\s+(?=(?:{words})\s)", re.IGNORECASE)


def _first(text: str) -> str:
    words = text.split(maxsplit=1)
    return words[0].lower().strip(_EDGES) if words else ""


def _ignorant(words: Sequence[str], language: str) -> bool:
    """Whether a stretch says that who speaks does not know or cannot answer."""
    if not words or words[0] in _listed("provisos", language):
        return False
    return any(_hits("ignorance", " ".join(words)))


def _declines(words: Sequence[str], language: str, *, before: bool, named: bool) -> bool:
    """Whether a stretch abstains; ``before``: a source was named ahead of it, ``named``: anywhere in the sentence."""
    if not words or words[0] in _listed("provisos", language):
        return False
    low = " ".join(words)
    if any(_hits("declining", low)):
        return True
    sources = _sources()
    if any(before or any(word in sources for word in low[:at].split()) for _, at in _hits("silent", low)):
        return True
    return named and any(
        not phrase.endswith(" in") or any(word in sources for word in low[at + len(phrase) :].split()[:WITHIN])
        for phrase, at in _hits("abstaining", low)
    )

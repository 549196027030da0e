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

from ragstone.judges.embedded.words import (
    NEGATION,
    NUMBER,
    function_stems,
    lexicon,
    question_stems,
    stem_of,
    tokens_of,
)

LONGEST: Final = 400
"""Characters beyond which a statement is no sentence that abstains, but a text that may do so among other things."""

WITHIN: Final = 5
"""Words after "not mentioned in" among which the source is looked for."""

AHEAD: Final = 5
"""Words that may stand ahead of "I don't know": I am sorry, but unfortunately."""

ENGLISH: Final = "en"
_EDGES: Final = ".,;:!?()[]*_`\"'\u201c\u201d\u2018\u2026\u00ab\u00bb"
_BREAK: Final = r"[,;]\s+|[\uff0c\uff1b\u3002]\s*|(?<=[^\W\d_][.!?])(?:\s+|(?=[A-Z]))"
_REFERRING: Final = frozenset({"they", "it", "these"})
_SAYING: Final = ("say", "mention", "state", "specif")
_GOES_ON: Final = re.compile(
    r"(?:so|therefore|thus|hence|instead)\b|and (?:it|they|he|she|you|we|this|these|that|there|so|therefore|thus)\b",
    re.IGNORECASE,
)
"""How English goes on with another statement; other languages are parted at words of contrast alone."""

_DETERMINERS: Final = frozenset({"the", "this", "that", "these", "those", "your"})
"""Words at which the English words that say what a source is like begin."""

_JOINT: Final = ",\uff0c"
"""Breaks that part a sentence only before a word that says so."""


@dataclass(frozen=True, slots=True)
class Abstention:
    """A statement in two: what it says is not there, and what it says besides, which may be empty.

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
    sources, provisos = _everywhere("sources"), _listed("provisos", language)
    sourced = next((i for i, word in enumerate(words) if word in sources), len(words))
    topic: list[str] = []
    besides: list[str] = []
    led, referred = _leads(words, language), _first(text) in _REFERRING
    seen = 0
    personal = sourced == len(words)
    for piece in _pieces(text, language):
        low = _words(piece)
        stated = bool(low) and low[0] not in provisos
        declines = stated and _declines(" ".join(low), provisos, before=sourced < seen, referred=referred, led=led)
        personal = personal and not declines
        (topic if declines or (stated and _ignorant(" ".join(low))) else besides).append(piece)
        seen += len(low)
    return Abstention(" ".join(topic), " ".join(besides), personal) if topic else None


def begins_ignorant(text: str) -> bool:
    """Whether a statement begins with the ignorance of who speaks: "Sorry, I don't know ..."."""
    low = " ".join(_words(text))
    return any(low[:at].count(" ") <= AHEAD for kind in ("ignorance", "wanting") for _, at in _hits(kind, low))


def names(text: str, language: str) -> bool:
    """Whether a part of such a statement has words of its own; "I cannot answer that from the documents" has none."""
    framing = frames(language)
    return any(token.stem not in framing for token in tokens_of(text, language))


def leads(text: str, language: str) -> bool:
    """Whether a stretch is a bow to the evidence and no more: "Based on the provided context"."""
    if not _leads(_words(text), language):
        return False
    framing = frames(language)
    return not any(
        token.kind == NEGATION or (token.kind != NUMBER and token.stem not in framing)
        for token in tokens_of(text, language)
    )


def speaks(text: str, language: str) -> bool:
    """Whether a stretch names the evidence and no more, as it stands before what it says: "The given document also"."""
    words = _words(text)
    sources = _everywhere("sources")
    framing = function_stems(language) | frozenset(stem_of(word, language) for word in _listed("bows", language))
    own = any(
        token.kind == NEGATION or (token.kind != NUMBER and token.stem not in framing)
        for token in tokens_of(" ".join(word for word in words if word not in sources), language)
    )
    return not own and not sources.isdisjoint(words)


@lru_cache(maxsize=64)
def frames(language: str) -> frozenset[str]:
    """Stems of the words that frame such a statement: the sources, their saying, the answering."""
    kinds = ("sources", "frames", "contrasts", "concessions")
    words = frozenset(stem_of(word, language) for kind in kinds for word in _listed(kind, language))
    return words | function_stems(language) | question_stems(language)


def _both(language: str) -> tuple[str, ...]:
    return (language,) if language == ENGLISH else (language, ENGLISH)


def _words(text: str) -> list[str]:
    low = " ".join(word.strip(_EDGES) for word in text.lower().replace("\u2019", "'").split())
    return re.sub(r"\bcan not\b", "cannot", low).split()


@lru_cache(maxsize=8)
def _phrases(kind: str) -> frozenset[str]:
    return frozenset(phrase for known in lexicon()[kind].values() for phrase in known.split("|") if phrase)


@lru_cache(maxsize=8)
def _everywhere(*kinds: str) -> frozenset[str]:
    """The words of some kinds in all languages."""
    return frozenset(word for kind in kinds for known in lexicon()[kind].values() for word in known.split())


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
    """The phrases of one kind that a text has, each with its first place where a word begins."""
    for phrase in _phrases(kind):
        at = low.find(phrase)
        while at > 0 and low[at - 1].isalnum():
            at = low.find(phrase, at + 1)
        if at >= 0:
            yield phrase, at


def _pieces(text: str, language: str) -> list[str]:
    """The stretches of a sentence that words of contrast part: "A, but B", "while A, B", "if A, B", "A; B"."""
    contrasts, concessions = _listed("contrasts", language), _listed("concessions", language)
    opening = concessions | _listed("provisos", language)
    found: list[str] = []
    start = 0
    conceding = _first(text) in opening
    for cut in _breaks(language).finditer(text):
        after = _first(text[cut.end() :])
        joined = _GOES_ON.match(text, cut.end()) is not None
        if conceding or joined or after in contrasts or after in concessions or cut[0][:1] not in _JOINT:
            found.append(text[start : cut.start()])
            start, conceding = cut.end(), after in opening
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


def _ignorant(low: str) -> bool:
    """Whether a stretch says that who speaks does not know or cannot answer."""
    if any(_hits("ignorance", low)):
        return True
    known = _everywhere("sources", "knowledge")
    return any(not known.isdisjoint(low[at + len(phrase) :].split()[:WITHIN]) for phrase, at in _hits("wanting", low))


def _declines(low: str, provisos: frozenset[str], *, before: bool, referred: bool, led: bool) -> bool:
    """Whether a stretch abstains.

    ``before``: a source was named in a stretch ahead of it. ``referred``: the sentence begins with a pronoun, which
    may stand for one where something is not said ("They say nothing about ..."). ``led``: the sentence begins with
    one ("based on the context, ..."). Else a source must be the subject, or follow closely.
    """
    if any(_hits("declining", low)):
        return True
    sources = _everywhere("sources")
    for kind in ("silent", "abstaining"):
        for phrase, at in _hits(kind, low):
            subject, after = low[:at].split(), low[at + len(phrase) :].split()[:WITHIN]
            if not provisos.isdisjoint(subject):
                continue
            said = referred and any(verb in phrase for verb in _SAYING)
            near = kind == "abstaining" and (led or not sources.isdisjoint(after))
            if near or _of_source(subject, before=before or said, active=kind == "silent"):
                return True
    return False


def _of_source(subject: Sequence[str], *, before: bool, active: bool) -> bool:
    """Whether what stands before a phrase ends with a source, but for words that frame it.

    "The context provided also ..." does, "the context menu" and "according to the context, the plan" do not.
    ``active``: the phrase says what its subject does not hold, so that it matters whose documents these are: "the
    travel documents do not include" does not end with a source, "dosage information is not provided" does.
    """
    sources, framing = _everywhere("sources"), _everywhere("frames", "contrasts", "concessions")
    for i in range(len(subject) - 1, -1, -1):
        if subject[i] in sources:
            return not active or _of_evidence(subject[:i])
        if subject[i] not in framing:
            return False
    return before


def _of_evidence(ahead: Sequence[str]) -> bool:
    """Whether the words ahead of a source leave it the evidence: "the provided" does, "plant protein" does not."""
    telling = _everywhere("sources", "frames", "contrasts", "concessions", "kinds")
    for word in reversed(ahead):
        if word in _DETERMINERS:
            return True
        if word.removesuffix("'s") not in telling:
            return False
    return True


def _leads(words: Sequence[str], language: str) -> bool:
    """Whether a sentence begins by naming its source."""
    attributions, sources = _listed("attributions", language), _everywhere("sources")
    first = next((i for i, word in enumerate(words[:3]) if word in attributions), None)
    return first is not None and not sources.isdisjoint(words[first : first + WITHIN + 2])

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
    listed_phrases,
    listed_stems,
    listed_words,
    tokens_of,
)
from ragstone.segment import language_of

LONGEST: Final = 400  # characters beyond which a text may abstain among other things
WITHIN: Final = 5  # words after "not mentioned in" among which the source is looked for
AHEAD: Final = 5  # words that may stand ahead of "I don't know": I am sorry, but unfortunately
ENGLISH: Final = "en"
_EDGES: Final = ".,;:!?()[]*_`\"'\u201c\u201d\u2018\u2026\u00ab\u00bb\u3001\u3002\uff0c\uff1a\uff1b\uff1f\uff01"
_BREAK: Final = r"[,;]\s+|[\uff0c\uff1b\u3002]\s*|(?<=[^\W\d_][.!?])(?:\s+|(?=[A-Z]))"
_REFERRING: Final = frozenset({"they", "it", "these"})
_SAYING: Final = ("say", "mention", "state", "specif")
_TELLING: Final = (*_SAYING, "address", "discuss", "describe", "cover", "explain", "indicate", "answer")
_PASSIVE: Final = ("not ", "is not ", "are not ")  # how phrases begin whose subject is what is missing
UNSPACED: Final = re.compile("[\u3040-\u9fff]")  # letters of the languages that put no blanks between words
_CANNOT: Final = re.compile(r"\bcan(?: not|'t)\b")
_NOT: Final = re.compile(r"n't\b")
_GOES_ON: Final = re.compile(
    r"(?:so|therefore|thus|hence|instead)\b|and (?:it|they|he|she|you|we|this|these|that|there|so|therefore|thus)\b",
    re.IGNORECASE,
)
"""How English goes on with another statement; other languages are parted at words of contrast alone."""

_DETERMINERS: Final = frozenset({"the", "this", "that", "these", "those", "your"})  # before what a source is like
_JOINT: Final = ",\uff0c"  # breaks that part a sentence only before a word that says so


@dataclass(frozen=True, slots=True)
class Abstention:
    """A statement in two: what it says is not there, and what it says besides, which may be empty.

    ``personal``: it names no evidence, but the ignorance of who speaks ("I don't know who wrote it").
    """

    topic: str
    besides: str
    personal: bool = False


def abstains(text: str, language: str) -> bool:
    """Return whether a sentence says that the evidence does not say, or that no answer can be given."""
    return abstention(text, language) is not None


def abstention(text: str, language: str) -> Abstention | None:
    """The parts of a statement that abstains; None of any other."""
    return None if len(text) > LONGEST else _abstention(text, language)


@lru_cache(maxsize=1024)  # whoever judges a statement asks this, and so does whoever tells if it is trivial
def _abstention(text: str, language: str) -> Abstention | None:
    low = _full(" ".join(text.lower().replace("\u2019", "'").split()))
    if not any(mark in low for mark in listed_phrases("lacks")):
        return None  # most texts lack what all of the phrases have
    words = _words(text)
    sources, provisos = listed_words("sources"), listed_words("provisos", language, ENGLISH)
    sourced = next((i for i, word in enumerate(words) if word in sources), len(words))
    topic: list[str] = []
    besides: list[str] = []
    led, referred = _leads(words, language), _first(text) in _REFERRING
    seen = 0
    personal = sourced == len(words)
    for piece in _pieces(text, language):
        own = _words(piece)
        stated, low = bool(own) and own[0] not in provisos, " ".join(own)
        declines = stated and _declines(low, provisos, before=sourced < seen, referred=referred, led=led)
        personal = personal and not declines
        (topic if declines or (stated and _ignorant(low)) else besides).append(piece)
        seen += len(own)
    if not topic:
        return None
    missing = " ".join(topic)
    return Abstention(_unframed(missing).strip() or missing, " ".join(besides), personal)


def begins_ignorant(text: str) -> bool:
    """Return whether a statement begins with the ignorance of who speaks: "Sorry, I don't know ..."."""
    low = " ".join(_words(text))
    return any(low[:at].count(" ") <= AHEAD for kind in ("ignorance", "wanting") for _, at in _hits(kind, low))


def names(text: str, language: str) -> bool:
    """Whether a part of such a statement has words of its own; "I cannot answer that from the documents" has none."""
    bare = _unframed(text)
    codes = {language, language_of(text)}  # the passages may be in another one
    return all(any(token.stem not in frames(code) for token in tokens_of(bare, code)) for code in codes)


def leads(text: str, language: str) -> bool:
    """Return whether a stretch only leads to a statement: "Based on the provided context", "Here is the answer".

    All its words are of the frame, and one names the evidence or what is given.
    """
    words = _words(text)
    if (listed_words("sources") | listed_words("signals", language, ENGLISH)).isdisjoint(words):
        return False
    framing = frames(language) | listed_stems("leading signals", language, ENGLISH)
    return not any(
        token.kind == NEGATION or (token.kind != NUMBER and token.stem not in framing)
        for token in tokens_of(_unframed(text), language)
    )


@lru_cache(maxsize=64)
def frames(language: str) -> frozenset[str]:
    """Stems of the words that frame such a statement: the sources, their saying, the answering."""
    framing = listed_stems("sources frames contrasts concessions", language, ENGLISH)
    return function_stems(language) | listed_stems("question_words", language) | framing


def _words(text: str) -> list[str]:
    """The words in small letters with negations in full; between ideographs and kana, what is listed is a word."""
    low = _full(text.lower().replace("\u2019", "'"))
    if UNSPACED.search(low):
        low = _unspaced_words().sub(r" \g<0> ", low)
    return [bare for word in low.split() if (bare := word.strip(_EDGES))]


def _full(low: str) -> str:
    return _NOT.sub(" not", _CANNOT.sub("cannot", low)) if "'t" in low or "can not" in low else low


def _unframed(text: str) -> str:
    """A text without blanks between words without what frames a statement; any other as it is."""
    return _unspaced_words().sub(" ", text) if UNSPACED.search(text) else text


@lru_cache(maxsize=1)
def _unspaced_words() -> re.Pattern[str]:
    """Return the listed words of languages without blanks between words, longest first."""
    kinds = "sources attributions contrasts concessions provisos frames leading signals declining ignorance abstaining"
    listed = {word for entry in listed_words(kinds) for word in entry.split("|")}
    return re.compile("|".join(sorted(filter(UNSPACED.match, listed), key=lambda word: (-len(word), word))))


def _hits(kind: str, low: str) -> Iterator[tuple[str, int]]:
    """The phrases of one kind that a text has, each with its first place where a word begins."""
    for phrase in listed_phrases(kind):
        at = low.find(phrase)
        while at > 0 and low[at - 1].isalnum() and not UNSPACED.match(phrase):
            at = low.find(phrase, at + 1)
        if at >= 0:
            yield phrase, at


def _pieces(text: str, language: str) -> list[str]:
    """The stretches of a sentence that words of contrast part: "A, but B", "while A, B", "if A, B", "A; B"."""
    joining = listed_words("contrasts concessions", language, ENGLISH)
    opening = listed_words("concessions provisos", language, ENGLISH)
    found: list[str] = []
    start = 0
    conceding = _first(text) in opening
    for cut in _breaks(language).finditer(text):
        after = _first(text[cut.end() :])
        joined = _GOES_ON.match(text, cut.end()) is not None
        if conceding or joined or after in joining or cut[0][:1] not in _JOINT:
            found.append(text[start : cut.start()])
            start, conceding = cut.end(), after in opening
    found.append(text[start:])
    return [piece for piece in found if piece.strip()]


@lru_cache(maxsize=64)
def _breaks(language: str) -> re.Pattern[str]:
    words = "|".join(map(re.escape, sorted(listed_words("contrasts", language, ENGLISH))))
    return re.compile(rf"{_BREAK}|\s+(?=(?:{words})\s)", re.IGNORECASE)


def _first(text: str) -> str:
    return next(iter(_words(text[:40])), "")


def _ignorant(low: str) -> bool:
    if any(_hits("ignorance", low)):
        return True
    known = listed_words("sources knowledge")
    return any(not known.isdisjoint(low[at + len(phrase) :].split()[:WITHIN]) for phrase, at in _hits("wanting", low))


def _declines(low: str, provisos: frozenset[str], *, before: bool, referred: bool, led: bool) -> bool:
    """Return whether a stretch abstains.

    ``before``: a source was named in a stretch ahead of it. ``referred``: the sentence begins with a pronoun, which
    may stand for one where something is not said ("They say nothing about ..."). ``led``: the sentence begins with
    one ("based on the context, ..."). Else a source must be the subject, or follow closely.
    """
    sources, words = listed_words("sources"), low.split()
    named = words[1:2] if words[1:2] not in (["of"], ["in"]) else words[2:WITHIN]  # but "No, the text says"
    nothing = words[0] in listed_words("nothing") and not sources.isdisjoint(named)
    if any(_hits("declining", low)) or (nothing and any(word.startswith(_TELLING) for word in words)):
        return True
    for kind in ("silent", "abstaining"):
        for phrase, at in _hits(kind, low):
            subject, after = low[:at].split(), low[at + len(phrase) :].split()[:WITHIN]
            if not provisos.isdisjoint(subject):
                continue
            said = referred and any(verb in phrase for verb in _SAYING)
            near = kind == "abstaining" and (led or not sources.isdisjoint(after))
            passive = kind == "abstaining" and phrase.startswith(_PASSIVE)
            if near or _of_source(subject, before=before or said, active=kind == "silent", passive=passive):
                return True
    return False


def _of_source(subject: Sequence[str], *, before: bool, active: bool, passive: bool) -> bool:
    """Return whether what stands before a phrase ends with a source, but for words that frame it.

    "The context provided also ..." does, "the context menu" and "according to the context, the plan" do not.
    ``active``: the phrase says what its subject does not hold, so that it matters whose documents these are: "the
    travel documents do not include" does not end with a source, "dosage information is not provided" does.
    ``passive``: its subject is what is missing, and may be information but no document: "the documents are not included
    in the fee" is about documents.
    """
    sources, framing = listed_words("sources"), listed_words("frames contrasts concessions")
    for i in range(len(subject) - 1, -1, -1):
        if subject[i] in sources:
            return _of_evidence(subject[:i]) if active else not passive or subject[i] in listed_words("matter")
        if subject[i] not in framing:
            return False
    return before


def _of_evidence(ahead: Sequence[str]) -> bool:
    """Whether the words ahead of a source leave it the evidence: "the provided" does, "plant protein" does not."""
    telling = listed_words("sources frames contrasts concessions kinds")
    for word in reversed(ahead):
        if word in _DETERMINERS:
            return True
        if word.removesuffix("'s") not in telling:
            return False
    return True


def _leads(words: Sequence[str], language: str) -> bool:
    attributions, sources = listed_words("attributions", language, ENGLISH), listed_words("sources")
    first = next((i for i, word in enumerate(words[:3]) if word in attributions), None)
    if first is None:
        return not sources.isdisjoint(words[:3]) and UNSPACED.match(words[0]) is not None
    return not sources.isdisjoint(words[first : first + WITHIN + 2])

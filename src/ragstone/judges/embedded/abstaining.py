"""Detect abstentions, and extract what they say is missing.

An abstention says that the evidence does not contain something, or that no answer can be given. Detection relies on
lists of phrases and words for sources, in several languages. All lists apply to every text, because the language of
a single sentence is uncertain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

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

LONGEST: Final = 400  # characters; a longer text is never an abstention, since it may say much else
WITHIN: Final = 5  # words after "not mentioned in" that are searched for the source
AHEAD: Final = 5  # words that may precede "I don't know": "I am sorry, but unfortunately"
ENGLISH: Final = "en"
_EDGES: Final = ".,;:!?()[]*_`\"'\u201c\u201d\u2018\u2026\u00ab\u00bb\u3001\u3002\uff0c\uff1a\uff1b\uff1f\uff01"
_BREAK: Final = r"[,;]\s+|[\uff0c\uff1b\u3002]\s*|(?<=[^\W\d_][.!?])(?:\s+|(?=[A-Z]))"
_REFERRING: Final = frozenset({"they", "it", "these"})
_SAYING: Final = ("say", "mention", "state", "specif")
_PAPER: Final = re.compile(
    r"the (?:manual|handbook|guide(?:lines)?|policy|contract|agreement|terms|catalogu?e?|leaflet|brochure|report|paper"
    r"|page|website|listing|faq|instructions|documentation|datasheet|materials?|files?|records?) (?=(?:does|do|did)\b)",
    re.IGNORECASE,
)
"""Kinds of documents that are the evidence if they do not say something: "the policy does not mention refunds"."""
_TELLING: Final = (*_SAYING, "address", "discuss", "describe", "cover", "explain", "indicate", "answer")
_PASSIVE: Final = ("not ", "is not ", "are not ")  # prefixes of phrases whose subject is what is missing
UNSPACED: Final = re.compile("[\u3040-\u9fff]")  # characters of languages written without spaces
_UNSAID: Final = re.compile(r"\w (?:is|are|was|were) not (?:\w+ly )?(?:mentioned|stated|specified)\Z")
_CANNOT: Final = re.compile(r"\bcan(?: not|'t)\b")
_NOT: Final = re.compile(r"n't\b")
_GOES_ON: Final = re.compile(
    r"(?:so|therefore|thus|hence|instead)\b|and (?:it|they|he|she|you|we|this|these|that|there|so|therefore|thus)\b",
    re.IGNORECASE,
)
"""How another English statement begins after a break; other languages are split at words of contrast only."""

_DETERMINERS: Final = frozenset({"the", "this", "that", "these", "those", "your"})  # before a source's description
_JOINT: Final = ",\uff0c"  # breaks that split a sentence only before a joining word


class Abstention(Struct, frozen=True):
    """An abstention in two parts: what it says is missing, and what else it says (may be empty).

    ``personal``: it mentions no evidence, only that the speaker does not know ("I don't know who wrote it").
    """

    topic: str
    besides: str
    personal: bool = False


def abstains(text: str, language: str) -> bool:
    """Return whether a sentence says that the evidence lacks something, or that no answer can be given."""
    return abstention(text, language) is not None


def abstention(text: str, language: str) -> Abstention | None:
    """Return the parts of an abstention, or None for any other statement."""
    return None if len(text) > LONGEST else _abstention(text, language)


@lru_cache(maxsize=1024)  # asked when judging a statement and when checking whether it is trivial
def _abstention(text: str, language: str) -> Abstention | None:
    low = _full(" ".join(text.lower().replace("\u2019", "'").split()))
    if not any(mark in low for mark in listed_phrases("lacks")):
        return None  # every phrase contains one of these marks; most texts do not
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
    missing = _PAPER.sub("", " ".join(topic), 1)
    return Abstention(_unframed(missing).strip() or missing, " ".join(besides), personal)


def begins_ignorant(text: str) -> bool:
    """Return whether a statement begins by saying that the speaker does not know: "Sorry, I don't know ..."."""
    low = " ".join(_words(text))
    return any(low[:at].count(" ") <= AHEAD for kind in ("ignorance", "wanting") for _, at in _hits(kind, low))


def names(text: str, language: str) -> bool:
    """Return whether part of an abstention has content words; "I cannot answer that from the documents" has none."""
    bare = _unframed(text)
    codes = {language, language_of(text)}  # the passages may be in another language
    return all(any(token.stem not in frames(code) for token in tokens_of(bare, code)) for code in codes)


def leads(text: str, language: str) -> bool:
    """Return whether text only introduces a statement: "Based on the provided context", "Here is the answer".

    All its words must be framing words, and one must name the evidence or announce what follows.
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
    """Return the stems of framing words: sources, verbs of saying and answering, and function words."""
    framing = listed_stems("sources frames contrasts concessions", language, ENGLISH)
    return function_stems(language) | listed_stems("question_words", language) | framing


def _words(text: str) -> list[str]:
    """Return the lowercased words with negations expanded; in ideographs and kana, listed words are split off."""
    low = _full(text.lower().replace("\u2019", "'"))
    if UNSPACED.search(low):
        low = _unspaced_words().sub(r" \g<0> ", low)
    return [bare for word in low.split() if (bare := word.strip(_EDGES))]


def _full(low: str) -> str:
    return _NOT.sub(" not", _CANNOT.sub("cannot", low)) if "'t" in low or "can not" in low else low


def _unframed(text: str) -> str:
    """Return a text in a language without spaces stripped of its framing words; other texts unchanged."""
    return _unspaced_words().sub(" ", text) if UNSPACED.search(text) else text


@lru_cache(maxsize=1)
def _unspaced_words() -> re.Pattern[str]:
    """Return a pattern for the listed words of languages without spaces, longest first."""
    kinds = "sources attributions contrasts concessions provisos frames leading signals declining ignorance abstaining"
    listed = {word for entry in listed_words(kinds) for word in entry.split("|")}
    return re.compile("|".join(sorted(filter(UNSPACED.match, listed), key=lambda word: (-len(word), word))))


def _hits(kind: str, low: str) -> Iterator[tuple[str, int]]:
    """Yield the phrases of one kind found in a text, each with its first position at the start of a word."""
    for phrase in listed_phrases(kind):
        at = low.find(phrase)
        while at > 0 and low[at - 1].isalnum() and not UNSPACED.match(phrase):
            at = low.find(phrase, at + 1)
        if at >= 0:
            yield phrase, at


def _pieces(text: str, language: str) -> list[str]:
    """Split a sentence at words of contrast and the like: "A, but B", "while A, B", "if A, B", "A; B"."""
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
    """Return whether a piece of a sentence abstains.

    ``before``: an earlier piece named a source. ``referred``: the sentence begins with a pronoun, which may stand for
    a source in phrases of saying ("They say nothing about ..."). ``led``: the sentence begins with a source ("based on
    the context, ..."). Otherwise, a source must be the subject or follow closely.
    """
    sources, words = listed_words("sources"), low.split()
    named = words[1:2] if words[1:2] not in (["of"], ["in"]) else words[2:WITHIN]  # not "No, the text says"
    nothing = words[0] in listed_words("nothing") and not sources.isdisjoint(named)
    if (
        any(_hits("declining", low))
        or _UNSAID.search(low)
        or (nothing and any(word.startswith(_TELLING) for word in words))
    ):
        return True
    for kind in ("silent", "abstaining"):
        for phrase, at in _hits(kind, low):
            subject, after = low[:at].split(), low[at + len(phrase) :].split()[:WITHIN]
            if not provisos.isdisjoint(subject):
                continue
            said = any(verb in phrase for verb in _SAYING)
            told = before or (referred and said)
            near = kind == "abstaining" and (led or not sources.isdisjoint(after))
            passive = kind == "abstaining" and phrase.startswith(_PASSIVE)
            paper = said and _PAPER.match(low) is not None
            if near or paper or _of_source(subject, before=told, active=kind == "silent", passive=passive):
                return True
    return False


def _of_source(subject: Sequence[str], *, before: bool, active: bool, passive: bool) -> bool:
    """Return whether the words before a phrase end with a source, ignoring framing words.

    "The context provided also ..." does; "the context menu" and "according to the context, the plan" do not.
    ``active``: the phrase says what its subject does not contain, so the subject must be the evidence itself: "the
    travel documents do not include" does not count, "dosage information is not provided" does.
    ``passive``: the subject is what is missing. It may be information but not a document: "the documents are not
    included in the fee" is about documents.
    """
    sources, framing = listed_words("sources"), listed_words("frames contrasts concessions")
    for i in range(len(subject) - 1, -1, -1):
        if subject[i] in sources:
            return _of_evidence(subject[:i]) if active else not passive or subject[i] in listed_words("matter")
        if subject[i] not in framing:
            return False
    return before


def _of_evidence(ahead: Sequence[str]) -> bool:
    """Return whether a source preceded by these words is still the evidence: "the provided" yes, "plant protein" no."""
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

"""What he, she, it and they at the start of a clause stand for: the subject before, where nothing else can be meant."""

# ruff: noqa: SIM905 - word lists, written as text to be read

from __future__ import annotations

from typing import Final

from ragstone.judges.embedded.grammar import ARTICLES, TIMES, UNSHARED, Grammar, is_past, is_plural, is_verb, subject_of
from ragstone.judges.embedded.verbs import plain, verbs

_BE: Final = frozenset({"is", "are", "was", "were"})
_EXPLETIVE: Final = frozenset(
    "important possible necessary essential recommended clear likely unclear worth also not true known best"
    " difficult easy advisable crucial common estimated believed said thought".split()
)
_ABSTRACT: Final = frozenset(
    "fact case shame surprise pity wonder problem myth mistake view belief claim idea law rule requirement".split()
)
_RISING: Final = _BE | {"may", "might", "can", "could", "would", "will", "should", "must", "seems", "became", "takes"}
"""Verbs after which "it" may stand for what only comes after "to" or "that"."""

_PLACING: Final = frozenset({"in", "at", "near", "on", "during", "since", "until"})
"""What a name after them is a place or a time, no person."""

_COUNTING: Final = frozenset({"some", "many", "most", "several", "any", "every", "each"})
"""First words of a subject that another sentence would begin to count anew."""

_PEOPLE: Final = frozenset(
    "man woman boy girl child baby father mother brother sister son daughter husband wife uncle aunt cousin friend"
    " king queen prince princess president minister mayor governor senator judge lawyer officer general captain"
    " soldier doctor nurse teacher professor student scientist actor actress singer writer author poet director"
    " producer player coach boss owner manager chairman founder partner colleague rival leader pope bishop priest"
    " emperor duke lord lady earl driver pilot patient victim suspect murderer composer painter artist editor".split()
)
_POINTING: Final = frozenset(
    "the a an another any each either every his her its my neither no our some such that their this your one".split()
)
"""What stands before one thing, which a later "it" may mean."""


def resolved_by(text: str, before: str, grammar: Grammar) -> str:
    """The sentence with a pronoun at its start replaced by the subject of the one before.

    Only where that is obvious: the subject fits, and after its verb nothing is named that would fit as well.
    """
    words = text.split()
    if len(words) < 3:
        return text
    pronoun, verb = words[0].lower(), plain(words[1])
    if words[0] != words[0].capitalize() or pronoun not in grammar.pronouns or not is_verb(verb, grammar):
        return text
    subject = subject_of(before, grammar)
    if not subject or not _fits(pronoun, subject.split(), before) or (pronoun == "it" and _rises(words)):
        return text
    if _others(pronoun, before.split()[len(subject.split()) :]):
        return text
    return " ".join((subject, *words[1:]))


def _fits(pronoun: str, heads: list[str], before: str) -> bool:
    """Whether the words of a subject are such that the pronoun can stand for them."""
    if plain(heads[0]) in UNSHARED | _COUNTING:
        return False
    named = all(word[:1].isupper() for word in heads) and heads[0].lower() not in ARTICLES
    if pronoun in {"he", "she"}:
        return named and len(heads) <= 4
    lows = [plain(word) for word in heads]
    within = next((i for i, low in enumerate(lows) if i and low in verbs().prepositions | {"and"}), len(lows))
    verb = plain(before.split()[len(heads)])
    if pronoun == "they":
        return is_plural(lows[within - 1]) and not named and verb not in {"is", "was", "has"}
    more = heads[within:]  # "the wall of the house": either may be meant
    placed = bool(more) and plain(more[0]) in _PLACING
    if any((word[:1].isupper() and not placed) or plain(word) in _POINTING for word in more) or "and" in lows:
        return False
    return verb not in {"are", "were", "have"} and (named or not is_plural(lows[within - 1]))


def _rises(words: list[str]) -> bool:
    """Whether "it" stands for nothing, or for what comes later in its own sentence."""
    lows = [plain(word) for word in words[1:10]]
    if lows[0] not in _RISING:
        return False
    that = lows.index("that") if "that" in lows[:5] else 0
    if lows[1] in _EXPLETIVE or (that and (lows[1] not in ARTICLES or lows[that - 1] in _ABSTRACT)):
        return True  # but "is a system that involves" is of a thing
    to = lows.index("to") if "to" in lows else 0
    return to > 0 and not is_past(lows[to - 1])  # "is used to" is of a thing, "is the aim to" need not be


def _others(pronoun: str, said: list[str]) -> bool:
    """Whether what is said of a subject names something else that the pronoun may mean."""
    lows = [plain(word) for word in said]
    describing = len(lows) > 1 and lows[0] in _BE and not is_past(lows[1])
    if pronoun in {"it", "they"} and describing:
        return False  # what it is called besides is no other thing, and the text is about it
    if pronoun == "they":
        return any(is_plural(low) and not word[:1].isupper() for low, word in zip(lows[1:], said[1:], strict=True))
    start = 3 if describing and lows[1] in ARTICLES else 1
    while describing and start < len(said) and said[start][:1].isupper():
        start += 1  # "was Polish" is of the subject
    if pronoun == "it":
        return any(low in _POINTING or _names(said[i]) for i, low in enumerate(lows) if i >= start)
    return any(low in _PEOPLE for low in lows[start:]) or _person(said[start - 1 :], lows[start - 1 :])


def _names(word: str) -> bool:
    return word.lstrip("\"'\u201c")[:1].isupper() and plain(word) not in TIMES


def _person(said: list[str], lows: list[str]) -> bool:
    """Whether a name is among the words that by what stands before it is not that of a place, a time or a thing."""
    placed = False
    for i in range(1, len(said)):
        if not _names(said[i]):
            placed = placed and lows[i] in {"of", "the", "and", "in", "at"}
            continue
        follows = _names(said[i - 1])
        if not (follows or placed) and lows[i - 1] not in _PLACING | ARTICLES:
            return True
        placed = placed or lows[i - 1] in _PLACING | ARTICLES
    return False

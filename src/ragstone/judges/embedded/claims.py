"""Sentences to claims: clauses that share a subject, inserted relative clauses, enumerations, pronouns.

Rules, not understanding: a sentence is taken apart only where its form leaves little doubt, else it is one
claim as it stands. The rules for clauses know English; in every other language a claim is a sentence.
"""

# ruff: noqa: SIM905 - word lists, written as text to be read

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.trivial import triviality
from ragstone.judges.embedded.words import lexicon
from ragstone.segment import language_of, sentences

WHOLE: Final = 1.0
"""Confidence of a sentence taken as it stands."""

CLAUSE: Final = 0.9
"""Confidence of a clause that brings its own subject."""

SUPPLIED: Final = 0.8
"""Confidence of a claim whose subject was supplied by rule."""

_MARKER: Final = re.compile(r"\s*(?:#{1,6}\s+|>\s+|[-*+\u2022\u2013]\s+|\(?\d{1,3}[.)]\s+|\(?[a-z]\)\s+)")
_CITATIONS: Final = re.compile(r"\s?(?:\[[^\[\]\n]{1,24}\]|\u3010[^\u3011\n]{1,40}\u3011)")
_EMPHASIS: Final = re.compile(r"\*\*|__|`")
_LONGEST: Final = 400
"""Words from which on a sentence is not taken apart."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim's text, the number of its sentence (from 0), and how sure its form is, in [0, 1]."""

    text: str
    sentence: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Grammar:
    """The word lists by which the sentences of a language are taken apart."""

    coordinators: frozenset[str]
    relatives: frozenset[str]
    verbs: frozenset[str]
    enumerating: frozenset[str]
    pronouns: frozenset[str]
    prepositions: frozenset[str]


@lru_cache(maxsize=8)
def grammar_of(language: str) -> Grammar | None:
    """The grammar of a language, None where none is known."""
    words = lexicon()
    if language not in words["verbs"]:
        return None

    def known(kind: str) -> frozenset[str]:
        return frozenset(words[kind].get(language, "").split())

    return Grammar(
        known("coordinators"),
        known("relatives"),
        known("verbs"),
        known("enumerating"),
        known("pronouns"),
        known("prepositions"),
    )


def write(texts: list[str], before: str = "") -> list[Claim]:
    """The claims of neighbouring sentences, in order; trivial sentences make none."""
    language = language_of(" ".join(texts))
    grammar = grammar_of(language)
    earlier = [before[span.start : span.end] for span in sentences(before[-2000:], language)] if grammar else []
    subject = subject_of(clean(earlier[-1]), grammar) if earlier and grammar else ""
    found: list[Claim] = []
    for number, text in enumerate(texts):
        if triviality(text, language):
            continue
        bare = clean(text) or text.strip()
        if grammar is None:
            found.append(Claim(bare, number, WHOLE))
            continue
        resolved = resolved_by(bare, subject, grammar)
        sure = WHOLE if resolved == bare else SUPPLIED
        pieces = split(resolved, grammar)
        found.extend(Claim(piece, number, min(sure, confidence)) for piece, confidence in pieces)
        subject = subject_of(resolved, grammar)
    return found


def clean(text: str) -> str:
    """The sentence without list marker, emphasis and citation markers, on one line."""
    marker = _MARKER.match(text)
    bare = text[marker.end() :] if marker else text
    return " ".join(_EMPHASIS.sub("", _CITATIONS.sub("", bare)).split())


def plain(word: str) -> str:
    """A written word without the signs around it, in small letters."""
    return word.strip(",;:.!?\"'()").lower()


def is_verb(word: str, grammar: Grammar) -> bool:
    """Whether a plain word is one of the grammar's verbs or has the form of a past."""
    return word in grammar.verbs or (len(word) > 4 and word.endswith("ed") and word.isalpha())


def subject_of(text: str, grammar: Grammar) -> str:
    """The words before the first verb, if they are few and look like a noun phrase; else empty."""
    words = text.split()
    for i, word in enumerate(words[:8]):
        low = plain(word)
        if i and is_verb(low, grammar) and plain(words[i - 1]) not in _ARTICLES:  # "the estimated rate" is no clause
            phrase = words[:i]
            return "" if unfit(phrase, grammar) else " ".join(phrase).rstrip(",")
        if low in grammar.coordinators or low in grammar.relatives or word.endswith((",", ";", ":")):
            return ""
    return ""


_ARTICLES: Final = frozenset({"the", "a", "an"})
_VAGUE: Final = frozenset(
    "this that these those there here what when where who which how why if in on at by for from to with as also "
    "however and but so then thus therefore it he she they i we you although because while since after before "
    "during".split()
)


def unfit(phrase: list[str], grammar: Grammar) -> bool:
    """Whether a phrase cannot stand for a subject elsewhere: it points, or begins small."""
    first = plain(phrase[0])
    return first in _VAGUE or first in grammar.pronouns or not phrase[0][:1].isupper()


def resolved_by(text: str, subject: str, grammar: Grammar) -> str:
    """The sentence with a pronoun at its start replaced by the subject before, where that is obvious."""
    words = text.split(None, 2)
    if not subject or len(words) < 3:
        return text
    pronoun, verb = words[0].lower(), plain(words[1])
    if words[0] != words[0].capitalize() or pronoun not in grammar.pronouns or not is_verb(verb, grammar):
        return text
    heads = subject.split()
    named = all(word[:1].isupper() for word in heads) and heads[0].lower() not in _ARTICLES
    plural = pronoun == "they"
    if pronoun in {"he", "she"} and not (named and len(heads) <= 4):
        return text
    if plural and not (heads[-1].endswith("s") and not named):
        return text
    if pronoun == "it" and (verb in {"is", "was"} and plain(words[2].split()[0]) in _EXPLETIVE):
        return text
    return " ".join((subject, *words[1:]))


_JOINING: Final = frozenset({"and", "or", "each", "with", "which", "such", "including", "but", "as"})
_EXPLETIVE: Final = frozenset(
    "important possible necessary essential recommended clear likely unclear worth also not true known best"
    " difficult easy advisable crucial common estimated believed said thought".split()
)


def split(text: str, grammar: Grammar) -> list[tuple[str, float]]:
    """A sentence's clauses, each a sentence of its own, with how sure its form is; itself where it stays whole."""
    words = text.split()
    if not 6 <= len(words) <= _LONGEST or text.count('"') or "(" in text:
        return [(text, WHOLE)]
    inserted = _relative(words, grammar)
    if inserted:
        return inserted
    clauses = _clauses(words, grammar)
    if len(clauses) > 1:
        return clauses
    items = _enumeration(words, grammar)
    return items or [(text, WHOLE)]


def _sentence(words: list[str]) -> str:
    text = " ".join(words).rstrip(" ,;")
    return text if text.endswith((".", "!", "?")) else text + "."


def _relative(words: list[str], grammar: Grammar) -> list[tuple[str, float]]:
    """``X, which A, B`` as ``X A`` and ``X B``, where X begins the sentence and B begins with a verb."""
    for i in range(1, min(7, len(words) - 2)):
        if plain(words[i]) in grammar.relatives and words[i - 1].endswith(","):
            head = [*words[: i - 1], words[i - 1].rstrip(",")]
            if unfit(head, grammar) or any(is_verb(plain(word), grammar) for word in head):
                return []
            for j in range(i + 2, len(words) - 1):
                if words[j - 1].endswith(",") and is_verb(plain(words[j]), grammar):
                    first, rest = words[i + 1 : j], words[j:]
                    if is_verb(plain(first[0]), grammar):
                        return [(_sentence([*head, *rest]), CLAUSE), (_sentence([*head, *first]), SUPPLIED)]
            return []
    return []


def _clauses(words: list[str], grammar: Grammar) -> list[tuple[str, float]]:
    """Coordinated clauses; one that begins with its verb is given the subject of the first."""
    subject = subject_of(" ".join(words), grammar)
    pieces: list[tuple[list[str], float]] = []
    start, supplied = 0, False
    has_verb = False
    for i, word in enumerate(words):
        low = plain(word)
        semicolon = i > start and words[i - 1].endswith(";")
        joint = low in grammar.coordinators and i > start + 1 and i + 2 < len(words)
        if (joint or semicolon) and has_verb:
            after = i + 1 if joint else i
            kind = _opens(words, after, subject, grammar, strict=not (semicolon or words[i - 1].endswith(",")))
            if kind:
                pieces.append(_piece(words[start:i], subject, supplied))
                start, supplied, has_verb = after, kind == "verb", False
        has_verb = has_verb or (i > start and is_verb(low, grammar)) or (supplied and i == start)
    if not pieces or not has_verb:
        return []
    pieces.append(_piece(words[start:], subject, supplied))
    done = [(_sentence(piece), confidence) for piece, confidence in pieces]
    for i, (text, confidence) in enumerate(done[1:], 1):
        resolved = resolved_by(text, subject, grammar)
        done[i] = (resolved, confidence if resolved == text else SUPPLIED)
    return done


def _piece(words: list[str], subject: str, supplied: bool) -> tuple[list[str], float]:
    if supplied:
        return [*subject.split(), *words], SUPPLIED
    return [words[0][:1].upper() + words[0][1:], *words[1:]], CLAUSE


def _opens(words: list[str], at: int, subject: str, grammar: Grammar, *, strict: bool) -> str:
    """How a new clause opens here: with a verb (``verb``), with a subject of its own (``own``), or not at all."""
    if at >= len(words) - 1:
        return ""
    first = plain(words[at])
    if subject and first in grammar.verbs:
        return "verb"
    if (
        subject
        and is_verb(first, grammar)
        and plain(words[at + 1]) in grammar.prepositions | _ARTICLES | {"his", "her"}
    ):
        return "verb"
    if strict and not (words[at][:1].isupper() or first in grammar.pronouns):
        return ""
    for i in range(at + 1, min(at + 6, len(words))):
        low = plain(words[i])
        if low in grammar.verbs:
            return "own"
        if low in grammar.coordinators or words[i - 1].endswith((",", ";")) or low in grammar.prepositions:
            return ""
    return ""


def _enumeration(words: list[str], grammar: Grammar) -> list[tuple[str, float]]:
    """``X include A, B, and C`` as three claims, if the items are short and there are at least three."""
    verb = next((i for i, word in enumerate(words[:12]) if word.lower() in grammar.enumerating), 0)
    if not verb or verb > len(words) - 4:
        return []
    head = words[: verb + 1]
    if any(word.endswith((",", ";", ":")) for word in head) or plain(words[0]) in {"which", "that", "if"}:
        return []
    rest = " ".join(words[verb + 1 :]).rstrip(".")
    items = [item.strip() for item in rest.split(",")]
    if len(items) == 2:
        return []
    last = items[-1].split()
    if last and last[0].lower() in {"and", "or"}:
        items[-1] = " ".join(last[1:])
    else:
        return []
    if len(items) < 3 or any(not 0 < len(item.split()) <= 8 or item.split()[0] in _JOINING for item in items):
        return []
    return [(_sentence([*head, item]), CLAUSE) for item in items]

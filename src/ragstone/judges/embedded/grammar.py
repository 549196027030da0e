"""The word lists by which sentences are taken apart, and what of a sentence is its subject."""

# ruff: noqa: SIM905 - word lists, written as text to be read

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.verbs import is_auxiliary, plain, verbs
from ragstone.judges.embedded.words import lexicon

ARTICLES: Final = frozenset({"the", "a", "an"})

OPENING: Final = frozenset(
    "that which who whom whose what when whenever where wherever why how if unless whether until because since"
    " after before although though lest whichever whatever whoever".split()
)
"""Words that open a clause within another one, or may."""

TIMES: Final = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday"
    " thursday friday saturday sunday".split()
)
"""Names that are neither of persons nor of things."""

_NOUNS: Final = frozenset({"family", "assembly", "supply", "reply", "anomaly", "monopoly"})
"""Nouns in the form of adverbs."""

UNSHARED: Final = frozenset({"no", "none", "nobody", "nothing", "neither", "few", "little", "only", "not", "either"})
"""First words of a subject of which two things are said together."""

_TELLING: Final = frozenset("say think believe know argue suggest insist".split())
"""Plural verbs after which the subject of another clause stands."""

_VAGUE: Final = frozenset(
    "this that these those there here what when where who which how why if in on at by for from to with as also "
    "however and but so then thus therefore it he she they i we you although because while since after before "
    "during".split()
)


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


def is_verb(word: str, grammar: Grammar) -> bool:
    """Whether a plain word is one of the grammar's verbs, an auxiliary, or has the form of a past."""
    return word in grammar.verbs or is_auxiliary(word.replace("\u2019", "'")) or _regular(word)


def _regular(word: str) -> bool:
    return len(word) > 4 and word.endswith("ed") and word.isalpha()


def is_past(word: str) -> bool:
    """Whether a plain word may be a participle as well as a past: ``owned``, ``sold``, ``born``."""
    known = verbs()
    return word in known.past | known.participles or _regular(word)


def is_plural(word: str) -> bool:
    """Whether a plain noun has the form of a plural."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def subject_of(text: str, grammar: Grammar) -> str:
    """The words before the first verb, if they are few and look like a noun phrase; else empty."""
    words, known = text.split(), verbs()
    for i, word in enumerate(words[:8]):
        low, before = plain(word), plain(words[i - 1])
        described = before in ARTICLES or (before in known.determiners and is_past(low))
        if i and is_verb(low, grammar) and not described:  # "the estimated rate" is no clause
            phrase = words[:i]
            return "" if unfit(phrase, grammar) or _verbal(phrase) else " ".join(phrase).rstrip(",")
        if low in grammar.coordinators | grammar.relatives | OPENING | _TELLING or word.endswith((",", ";", ":")):
            return ""
        if i and low in known.sure:
            return ""
    return ""


def _verbal(phrase: list[str]) -> bool:
    """Whether a phrase holds more than a subject: "never", "quickly", or a verb that was taken for a noun."""
    known = verbs()
    after = [plain(word) for word in phrase[1:]]
    if set(after) & {"never", "hardly", "rarely", "seldom", "scarcely", "only", "not"}:
        return True
    if after and phrase[-1].islower() and after[-1].endswith("ly") and after[-1] not in _NOUNS:
        return True
    inner = zip(phrase[1:], after, after[1:], strict=False)
    return any(
        one in known.third and word[:1].islower() and other not in known.prepositions for word, one, other in inner
    )


def unfit(phrase: list[str], grammar: Grammar) -> bool:
    """Whether a phrase cannot stand for a subject elsewhere: it points, or begins small."""
    first = plain(phrase[0])
    contracted = is_auxiliary(first.replace("\u2019", "'"))
    return contracted or first in _VAGUE or first in grammar.pronouns or not phrase[0][:1].isupper()

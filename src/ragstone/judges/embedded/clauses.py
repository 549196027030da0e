"""English sentences to clauses: coordinated clauses, shared subjects, enumerations.

In doubt a sentence stays whole: about one in forty is taken apart, and figures for whole sentences are as good. A
clause must be asserted by the sentence, so nothing is split where a condition, somebody's words, a clause within or a
negation may reach over both parts.
"""

# ruff: noqa: SIM905 - word lists, written as text to be read

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.verbs import imperative, is_auxiliary, plain, verbs
from ragstone.judges.embedded.words import lexicon

WHOLE: Final = 1.0  # confidence of a sentence taken as it stands
CLAUSE: Final = 0.9  # confidence of a clause that brings its own subject
SUPPLIED: Final = 0.8  # confidence of a claim whose subject was supplied by rule
_LONGEST: Final = 400  # words from which on a sentence is not taken apart
_UNCLEAR: Final = re.compile(r"[\"\u201c\u201d(]|\?(?:\s|$)|\bnot only\b")
_CONDITIONS: Final = frozenset("if unless whether until whenever provided except lest when where once".split())
_SCOPING: Final = _CONDITIONS.union(
    "because since although though wherever assuming given without only that who whom whose what which how why either"
    " neither nor both between never hardly rarely seldom after before".split()
)
"""Words whose reach in a sentence may be more than one clause."""

_ATTRIBUTING: Final = frozenset(
    "say says said think thinks thought believe believes believed claims claimed argue argues argued states stated"
    " suggest suggests suggested show shows showed reports reported deny denies denied according doubts hope hopes"
    " fears assume assumes mean means know knows knew insists predicts estimates implies seems tells told warns".split()
)
_VAGUE: Final = frozenset(
    "this that these those there here it he she they i we you as also however and but so then thus therefore no none"
    " nobody nothing few little not like under both some many most several any every each".split()
)
"""First words of a phrase that stands for no subject elsewhere."""

_NO_SUBJECT: Final = frozenset({"not", "nor", "or", "than", "now"})
_NEGATIONS: Final = frozenset({"not", "no", "nor", "cannot"})
_SINGULAR: Final = frozenset({"is", "was", "has", "does"})
_PLURAL: Final = frozenset({"are", "were", "have", "do"})
_ARTICLES: Final = frozenset({"the", "a", "an"})
_OWNING: Final = _ARTICLES | {"his", "her", "its", "their", "our", "my", "your", "to"}
_GIVING: Final = frozenset("assigned given awarded named called elected offered sent paid shown taught".split())
"""Participles that have an object: "was hired and given the keys"."""

_JOINING: Final = frozenset({"and", "or", "each", "with", "such", "including", "but", "as", "so", "then"})
_GOVERNING: Final = frozenset({"across", "within", "throughout", "around", "like", "including"})


@dataclass(frozen=True, slots=True)
class Grammar:
    """The word lists by which the sentences of a language are taken apart."""

    coordinators: frozenset[str]
    verbs: frozenset[str]
    enumerating: frozenset[str]
    prepositions: frozenset[str]


@lru_cache(maxsize=8)
def grammar_of(language: str) -> Grammar | None:
    """The grammar of a language, None where none is known."""
    words = lexicon()
    if language not in words["verbs"]:
        return None
    kinds = ("coordinators", "verbs", "enumerating", "prepositions")
    return Grammar(*(frozenset(words[kind].get(language, "").split()) for kind in kinds))


def split(text: str, grammar: Grammar) -> list[tuple[str, float]]:
    """A sentence's clauses, each a sentence of its own, with how sure its form is; itself where it stays whole."""
    words = text.split()
    if not 6 <= len(words) <= _LONGEST or _UNCLEAR.search(text):
        return [(text, WHOLE)]
    lows = [plain(word) for word in words]
    return _clauses(words, lows, grammar) or _enumeration(words, lows, grammar) or [(text, WHOLE)]


def _sentence(words: Sequence[str]) -> str:
    text = " ".join(words).rstrip(" ,;")
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!")) else ".")


def _is_past(word: str) -> bool:
    return word in verbs().past | verbs().participles or (len(word) > 4 and word.endswith("ed") and word.isalpha())


def _subject(words: Sequence[str], grammar: Grammar) -> int:
    """How many words come before a verb that can only be theirs; 0 where that is not clear."""
    known = verbs()
    lows = [plain(word).replace("\u2019", "'") for word in words[:9]]
    if not lows or "'" in lows[0] or lows[0] in _NO_SUBJECT | grammar.prepositions | known.auxiliaries:
        return 0
    for i in range(1, len(lows) - 1):
        low, before = lows[i], lows[i - 1]
        if words[i - 1].endswith((",", ";", ":")) or low in grammar.coordinators | _SCOPING | {"or", "to"}:
            return 0
        if (low in grammar.verbs or low in known.auxiliaries or low in known.sure) and before not in _OWNING:
            return i
        if _is_past(low) and before not in known.determiners:
            return i if _begins_object(words[i + 1]) else 0
    return 0


def _begins_object(word: str) -> bool:
    return plain(word) in verbs().determiners or word[:1].isupper() or word[:1].isdigit()


def _clauses(words: list[str], lows: list[str], grammar: Grammar) -> list[tuple[str, float]]:
    """Coordinated clauses; one that begins with its verb is given the subject of the first."""
    if lows[0] in _SCOPING | {"according", "in", "as", "had", "should", "were", "while", "whereas"}:
        return []
    pieces: list[tuple[list[str], float]] = []
    clause, start, sure = list[str](), 0, CLAUSE
    scoping = _SCOPING | _ATTRIBUTING
    for i in range(2, len(words) - 2):
        joined = lows[i] in grammar.coordinators
        if i < start + 2 or not (joined or words[i - 1].endswith(";")):
            continue
        said, rest = [*clause, *words[start:i]], words[i + 1 :] if joined else words[i:]
        loose = said[-1].endswith((",", ";"))
        contrasted = loose and lows[i] == "but"
        cased = (word.strip(",;:") for word in words[start:i])  # "the United States" states nothing
        if not contrasted and not (scoping.isdisjoint(cased) and _CONDITIONS.isdisjoint(lows[i:])):
            continue
        own = loose and lows[-len(rest)] not in _VAGUE - {"i", "we", "you"} and _subject(rest, grammar) > 0
        own = own and (contrasted or _full(said, grammar))
        subject = [] if own else _shared(said, rest, grammar)
        if own or subject:
            pieces.append((said, sure))
            start, clause, sure = len(words) - len(rest), subject, CLAUSE if own else SUPPLIED
    if not pieces:
        return []
    pieces.append(([*clause, *words[start:]], sure))
    return [(_sentence(piece), confidence) for piece, confidence in pieces]


def _full(said: Sequence[str], grammar: Grammar) -> bool:
    """Whether what was said so far is a statement, perhaps after "In 1990,"."""
    if imperative(said):
        return False
    comma = next((i for i, word in enumerate(said[:-3]) if word.endswith(",")), -1)
    return _subject(said, grammar) > 0 or (comma >= 0 and _subject(said[comma + 1 :], grammar) > 0)


def _shared(said: Sequence[str], rest: Sequence[str], grammar: Grammar) -> list[str]:
    """The subject that a clause which begins with its verb shares with the one before; empty in doubt."""
    known, lows, low = verbs(), [plain(word) for word in said], plain(rest[0])
    at, commas = _subject(said, grammar), sum(word.endswith(",") for word in said)
    if not at or lows[0] in _VAGUE or not said[0][:1].isupper() or commas > said[-1].endswith(","):
        return []
    # "Anna of the club", "the oven built by Raytheon": which of two is the subject is not certain.
    if any(_is_past(word) or word in {"and", "of", "in"} for word in lows[1:at]) or not _NEGATIONS.isdisjoint(lows):
        return []
    if is_auxiliary(lows[-1]) or any(_subject(said[i:], grammar) for i in range(at + 1, len(said))):
        return []
    if {lows[at], low} & _PLURAL and {lows[at], low} & _SINGULAR:
        return []
    if low in known.auxiliaries or low in known.sure or (low in grammar.verbs and low.endswith("s")):
        return list(said[:at]) if plain(rest[1]) not in grammar.prepositions or low in known.auxiliaries else []
    simple = lows[at] not in known.auxiliaries or (lows[at] in {"was", "were"} and low not in _GIVING)
    return list(said[:at]) if simple and _is_past(low) and _begins_object(rest[1]) else []


def _enumeration(words: list[str], lows: list[str], grammar: Grammar) -> list[tuple[str, float]]:
    """``X include A, B, and C`` as three claims, if the items are short and there are at least three."""
    comma = next((i for i, word in enumerate(words) if word.endswith((",", ";", ":"))), 0)
    verb = max((i for i, low in enumerate(lows[: min(comma + 1, 12)]) if low in grammar.enumerating and i), default=0)
    scoped = not _CONDITIONS.isdisjoint(lows) or lows[0] in {"in", "as"} or {"not", "no", "only"} & set(lows[:verb])
    if scoped or not 0 < verb < len(words) - 3 or {lows[verb - 1], lows[verb - 2]} & {"that", "which", "who"}:
        return []
    items = [item.strip(" .") for item in " ".join(words[verb + 1 :]).split(", ")]
    joining, _, last = items[-1].partition(" ")
    allowed = {"and", "or"} if lows[verb - 1] in {"can", "may", "could", "might"} else {"and"}
    if len(items) < 3 or joining not in allowed or not last:
        return []
    items[-1] = last
    if any(_unlike(item, grammar) for item in items) or _leads(items, grammar):
        return []
    return [(_sentence([*words[: verb + 1], item]), CLAUSE) for item in items]


def _unlike(item: str, grammar: Grammar) -> bool:
    """Whether a stretch between commas is no item of a list: empty, long, or with a verb of its own."""
    lows = [plain(word) for word in item.split()]
    if not 0 < len(lows) <= 8 or lows[0] in _JOINING or item in {"more", "others"}:
        return True
    if len(lows) > 1 and _is_past(lows[0]) and lows[1] in grammar.prepositions | _ARTICLES:
        return True
    return len(lows) > 1 and any(low in grammar.verbs | verbs().auxiliaries | verbs().sure for low in lows)


def _leads(items: list[str], grammar: Grammar) -> bool:
    """Whether a word of the first item may belong to the others, too: ``people from Ohio, Texas, and Maine``."""
    governing = _GOVERNING | grammar.prepositions
    first, second = (any(plain(word) in governing for word in item.split()[1:-1]) for item in items[:2])
    # "the sales, finance, and research teams"
    return (items[0].startswith("the ") and not items[1].startswith("the ")) or (first and not second)

"""Part a long English sentence into the clauses that it asserts, each of them a statement of its own.

It is parted where "and", "but" or "while" joins clauses, or verbs of one subject, which is repeated; no other word is
left out or added. A sentence with a condition, an exception or what somebody says stays whole, and so does every other
one that is in doubt: a wrong statement is worse than a long one.
"""

# ruff: noqa: SIM905 - word lists, written as text to be read

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ragstone.judges.embedded.verbs import LANGUAGE, finite, imperative, is_auxiliary, listed, plain

LONG: Final = 12  # words beyond which a sentence is parted ...
LONGEST: Final = 80  # ... and those of no sentence, but of a list or a whole text

_UNCUT: Final = re.compile(r"[\"\u201c\u201d\u00ab\u00bb?!:;|]|\s[-\u2013]\s|\u2014")
"""Signs of quotations, questions, lists, and dashes."""

_LIMITS: Final = frozenset(
    "if unless except excluding provided providing until till assuming whether otherwise without subject when whenever "
    "where wherever once although though according so then neither nor either "
    "said says say claims claimed believe believes believed think thinks thought denied denies suggest suggests "
    "suggested argue argues argued reported reports reportedly allegedly told expects expected concluded "
    "likely unlikely".split()
)
"""Words that may limit more than the clause they stand in, and words of what somebody says."""

_TELLING: Final = frozenset({"that", "would"})
_COUNTING: Final = frozenset("or no not none few only some any each half many most all both there".split())
_POINTING: Final = frozenset("it they he she him her them this these those others its their his".split())
_AND: Final = frozenset({"and", "but"})
_WHILE: Final = frozenset({"while", "whereas"})


def parted(text: str, language: str) -> list[str]:
    """The clauses of a long sentence, in order; itself where it is short or cannot be parted without a doubt."""
    words = text.split()
    if (
        language != LANGUAGE
        or not LONG < len(words) <= LONGEST
        or _UNCUT.search(text)
        or _LIMITS & {plain(word) for word in words}
    ):
        return [text]
    clauses = (" ".join(clause).rstrip(" ,") for clause in _clauses(words))
    return [clause[:1].upper() + clause[1:] for clause in clauses]


def _clauses(words: list[str]) -> list[list[str]]:
    for at in range(2, len(words) - 2 if len(words) > LONG else 0):
        left, joint, right = words[:at], plain(words[at]), words[at + 1 :]
        if joint in _AND and (subject := _shared_subject(left, right)):
            return [left, *_clauses([*subject, *right])]
        if joint in _AND | _WHILE and left[-1].endswith(",") and _are_clauses(left, right, joint):
            return [left, *_clauses(right)]
    return [words]


def _shared_subject(left: Sequence[str], right: Sequence[str]) -> Sequence[str]:
    """The subject of a clause if what is joined to it is another verb of that; else no words."""
    begins = next((i for i, word in enumerate(right) if plain(word) not in listed("adverbs")), 0)
    end, verbs = _subject(left), finite(left)
    if not end or len(verbs) > 1 or begins + 1 not in finite(["it", *right]) or right[begins].endswith(","):
        return ()
    verb, other, past = plain(left[verbs[0]]), plain(right[begins]), listed("past")
    participle = other in past and (is_auxiliary(verb) or verb not in past)
    listing = any("," in word for word in left[:-1])
    pointing = not (_POINTING - {"its", "their"}).isdisjoint(map(plain, right)) or not _TELLING.isdisjoint(
        map(plain, left)
    )
    counted = not _COUNTING.isdisjoint(map(plain, left[:end]))
    return () if participle or listing or pointing or counted else left[:end]


def _are_clauses(left: Sequence[str], right: Sequence[str], joint: str) -> bool:
    lows = {plain(word) for word in left}
    listing = joint == "and" and (any("," in word for word in left[:-1]) or not _TELLING.isdisjoint(lows))
    if listing or plain(right[0]) in _POINTING | listed("prepositions"):
        return False
    if imperative(left) or imperative(right):
        return imperative(left) and imperative(right) and right[0].islower() and "it" not in right
    return _is_clause(left) and _is_clause(right)


def _subject(words: Sequence[str]) -> int:
    """How many words stand before the first verb and are its subject for sure; else 0."""
    end = next(iter(finite(words)), 0)
    before = [plain(word) for word in words[: end + 1]]
    while end and (before[end - 1] in listed("adverbs") or before[end - 1].endswith("ly")):
        end -= 1
    verbal = any(one in listed("third") and other in listed("base") for one, other in pairwise(before))
    led = before[:1] == ["with"] or any("," in word for word in words[:end])
    return 0 if verbal or led or not {"to", "who", "which"}.isdisjoint(before) else end


def _is_clause(words: Sequence[str]) -> bool:
    """Whether words have a subject and a verb that is no participle behind a noun ("a method designed to")."""
    if not _subject(words):
        return False
    verb = finite(words)[0]
    after = plain(words[verb + 1]) if verb + 1 < len(words) else ""
    return plain(words[verb]) not in listed("past") or after in listed("determiners")

"""Find the verbs of an English sentence, and decide whether it is a full statement.

This uses word lists and adjacent words, not a tagger. In doubt it finds no verb, because the result decides whether a
part of a passage can be used alone.
"""

# ruff: noqa: SIM905 - word lists, written as text for readability

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from ragstone.judges.embedded.words import lexicon, nugget_lexicon

LANGUAGE: Final = "en"  # the only language with known verbs
_PLURALS: Final = frozenset("people men women children data bacteria criteria media police they you we who".split())
_RELATIVE: Final = frozenset(
    "which who whose whom that because although though unless whereas if when whenever where wherever while".split()
)
_CONTRACTED: Final = ("'re", "'ll", "'ve", "n't")
_SUBJECT_IS: Final = frozenset({"it's", "that's", "there's", "he's", "she's", "what's", "who's"})


def plain(word: str) -> str:
    """Return a word in lowercase without surrounding punctuation."""
    return word.strip(",;:.!?\"'()").lower()


@lru_cache(maxsize=256)
def listed(kinds: str, language: str = LANGUAGE) -> frozenset[str]:
    """Return the listed words of some kinds (separated by spaces) for a language.

    English verbs: ``sure`` are finite wherever they follow a subject, ``third`` may be plural nouns, ``past`` may be
    participles, ``base`` are infinitives, imperatives and plural presents, ``nominal`` are also nouns.
    """
    if " " in kinds:
        return frozenset().union(*(listed(kind, language) for kind in kinds.split()))
    return frozenset((nugget_lexicon().get(kinds) or lexicon()[kinds]).get(language, "").split())


def is_auxiliary(word: str) -> bool:
    """Return whether a plain word is a form of be, have or do, or a modal; it may be contracted."""
    return word in listed("auxiliaries") or word.endswith(_CONTRACTED) or word in _SUBJECT_IS


def finite(words: Sequence[str]) -> list[int]:
    """Return the indices of finite verbs, ignoring the first word; of a group ("has been found"), the first verb."""
    lows = [plain(word).replace("\u2019", "'") for word in words]
    return [i for i in range(1, len(lows)) if _is_finite(words, lows, i)]


def _is_finite(words: Sequence[str], lows: Sequence[str], i: int) -> bool:
    low = lows[i]
    if not (low in listed("sure base third past") or is_auxiliary(low)):
        return False
    back = i - 1
    while back > 0 and (lows[back] in listed("adverbs") or lows[back].endswith("ly")):
        back -= 1
    before, after = lows[back], lows[i + 1] if i + 1 < len(lows) else ""
    if before == "to" or before in listed("determiners") or (back and is_auxiliary(before)):
        return False
    if is_auxiliary(low) or low in listed("sure"):
        return words[i] != "May"
    if back and before in _RELATIVE:
        return low in listed("base third past")
    if words[i][:1].isupper() or words[i - 1].endswith((",", ";", ":", ")")) or before in listed("prepositions"):
        return False
    if low in listed("past"):
        return after not in {"", "by", "as"}
    plural = before in _PLURALS or (before.endswith("s") and not before.endswith(("ss", "us", "is")))
    if low in listed("third"):
        alone = after in listed("prepositions") and low not in listed("leading")  # "notes for devices"
        return not (plural or alone or after == "" or after in listed("auxiliaries"))
    verbal = low not in listed("nominal") or before in _PLURALS or after in listed("determiners prepositions")
    return low in listed("base") and plural and verbal


def states(text: str) -> bool:
    """Return whether an English sentence is a full statement: a subject and a verb outside relative clauses."""
    words = text.split()
    lows, places = [plain(word) for word in words], finite(words)
    relative = (low in _RELATIVE and not after.endswith("ing") for low, after in pairwise([*lows, ""]))
    opened = sum(relative) - sum(pair == ("that", "of") for pair in pairwise(lows))  # "twice that of others"
    if len(places) <= opened or (lows[0].endswith("ing") and lows[places[0]] in listed("past")):
        return False
    grammar = listed("determiners prepositions adverbs subordinators")
    subject = [low for low in lows[: places[0]] if low not in grammar and low[:1].isalnum() and not low.endswith("ly")]
    return bool(subject) or (lows[0] in {"there", "it", "you"} and places[0] == 1)


def imperative(words: Sequence[str]) -> bool:
    """Return whether an English sentence begins with an imperative."""
    if len(words) < 3:
        return False
    first, second = plain(words[0]), plain(words[1])
    if first in {"always", "never", "do", "don't"}:
        return second in listed("base") | {"not"}
    acts = next((i for i in finite(words[:6]) if i < 4), 0)
    if acts and second != "sure" and not listed("subordinators") & {plain(word) for word in words[1:acts]}:
        return False
    if first not in listed("base") or words[0].endswith((",", ":")) or is_auxiliary(second):
        return False
    if first in listed("nominal"):
        return second in listed("determiners prepositions") | {"up", "down", "off", "out", "sure", "that", "and"}
    return second not in listed("sure third") or second in listed("nominal")


def purposeful(words: Sequence[str]) -> bool:
    """Return whether an English sentence is an instruction with a purpose: ``To open the lid, press the latch``."""
    if plain(words[0]) not in {"to", "if", "when", "before", "after", "for"}:
        return False
    for i, word in enumerate(words[:16]):
        if word.endswith(","):
            rest = list(words[i + 1 :])
            return bool(rest) and (imperative(rest) or (plain(rest[0]) == "then" and imperative(rest[1:])))
    return False

"""Which words of an English sentence are its verbs, and whether it is a full statement.

Word lists and neighbours, no tagger: it errs towards finding no verb, because what it finds decides whether a
stretch of a passage may stand alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.words import lexicon, nugget_lexicon

LANGUAGE: Final = "en"
"""The one language whose verbs are known."""

_PLURALS: Final = frozenset(
    {
        "people",
        "men",
        "women",
        "children",
        "data",
        "bacteria",
        "criteria",
        "media",
        "police",
        "they",
        "you",
        "we",
        "who",
    }
)
_CONTRACTED: Final = ("'re", "'ll", "'ve", "n't")
_SUBJECT_IS: Final = frozenset({"it's", "that's", "there's", "he's", "she's", "what's", "who's"})


def plain(word: str) -> str:
    """A written word without the signs around it, in small letters."""
    return word.strip(",;:.!?\"'()").lower()


@lru_cache(maxsize=256)
def listed(kind: str, language: str = LANGUAGE) -> frozenset[str]:
    """The words of one kind that are listed for a language."""
    return frozenset(nugget_lexicon()[kind].get(language, "").split())


@dataclass(frozen=True, slots=True)
class Verbs:
    """English words by what they may be.

    ``sure`` are finite wherever they stand after a subject, ``third`` may be plural nouns, ``past`` may be
    participles, ``participles`` are never finite, ``base`` are infinitives, imperatives and plural presents,
    ``nominal`` those of them that are nouns, too.
    """

    auxiliaries: frozenset[str]
    sure: frozenset[str]
    third: frozenset[str]
    past: frozenset[str]
    participles: frozenset[str]
    base: frozenset[str]
    nominal: frozenset[str]
    determiners: frozenset[str]
    prepositions: frozenset[str]
    adverbs: frozenset[str]
    subordinators: frozenset[str]


def _third(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def _past(verb: str) -> set[str]:
    if verb.endswith("e"):
        return {verb + "d"}
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return {verb[:-1] + "ied"}
    doubled = verb + verb[-1] + "ed" if verb[-1] in "bdglmnprt" and verb[-2] in "aeiou" else verb + "ed"
    return {verb + "ed", doubled}


@lru_cache(maxsize=1)
def verbs() -> Verbs:
    """The verbs of the word lists with their forms."""
    only, nominal = listed("verbs"), listed("verbs_or_nouns")
    auxiliaries = listed("auxiliaries")
    sure = {_third(verb) for verb in only} - {"analyses", "belongings"}
    past: set[str] = set()
    participles: set[str] = set()
    irregular = set()
    for entry in nugget_lexicon()["irregular"][LANGUAGE].split():
        verb, _, forms = entry.partition("=")
        was, _, done = forms.partition("/")
        irregular.add(verb)
        if was == done:
            past.add(was)
        else:
            sure.add(was)
            participles.add(done)
    for verb in (only | nominal) - irregular:
        past |= _past(verb)
    base = (only | nominal) - auxiliaries
    return Verbs(
        auxiliaries=auxiliaries,
        sure=frozenset(sure - auxiliaries - base),
        third=frozenset({_third(verb) for verb in nominal} - sure),
        past=frozenset(past - auxiliaries),
        participles=frozenset(participles - base),
        base=frozenset(base),
        nominal=nominal,
        determiners=listed("determiners"),
        prepositions=frozenset(lexicon()["prepositions"][LANGUAGE].split()),
        adverbs=listed("adverbs"),
        subordinators=listed("subordinators"),
    )


def is_auxiliary(word: str) -> bool:
    """Whether a plain word is a form of be, have or do, or a modal, contracted or not."""
    return word in verbs().auxiliaries or word.endswith(_CONTRACTED) or word in _SUBJECT_IS


def finite(words: Sequence[str]) -> list[int]:
    """The places of the verbs that make clauses, the first word left out.

    Of a verb group (``has been found``) only the first place is given.
    """
    lows = [plain(word).replace("\u2019", "'") for word in words]
    found = [i for i in range(len(lows)) if _surely(words, lows, i)]
    opened = sum(_opens(lows, i) for i in range(len(lows)))
    if len(found) > opened:
        return found
    return sorted({*found, *(i for i in range(1, len(lows)) if _likely(words, lows, i))})


def _opens(lows: Sequence[str], i: int) -> bool:
    """Whether a clause with a verb of its own is likely to begin here."""
    low = lows[i]
    after = lows[i + 1] if i + 1 < len(lows) else ""
    if low in {"which", "who", "whose", "whom"} | listed("conditional"):
        return after != "of"
    if low == "that":
        return i > 0
    return low in {"when", "where", "while"} and not after.endswith("ing")


def _surely(words: Sequence[str], lows: Sequence[str], i: int) -> bool:
    known, low = verbs(), lows[i]
    if low in _SUBJECT_IS or (low.endswith(("'re", "'ll", "'ve")) and len(low) > 4):
        return True
    if i == 0:
        return False
    before = lows[i - 1]
    if is_auxiliary(low):
        noun = low in {"will", "can", "may", "might", "must"} and (before in known.determiners or words[i] == "May")
        return not (noun or before == "to" or _grouped(lows, i))
    return low in known.sure and before not in known.determiners | {"to"} and not _grouped(lows, i)


def _grouped(lows: Sequence[str], i: int) -> bool:
    """Whether a verb continues the group of an auxiliary before it."""
    known = verbs()
    back = i - 1
    while back > 0 and i - back < 3 and (lows[back] in known.adverbs or lows[back].endswith("ly")):
        back -= 1
    return is_auxiliary(lows[back])


def _likely(words: Sequence[str], lows: Sequence[str], i: int) -> bool:
    known, low, before = verbs(), lows[i], lows[i - 1]
    back = i - 1
    while back > 0 and (lows[back] in known.adverbs or lows[back].endswith("ly")):
        back -= 1
    if lows[back] in {"which", "who", "that"} and back > 0:
        return low in known.base | known.third | known.past
    if words[i][:1].isupper() or (words[i - 1].endswith((",", ";", ":", ")")) and low not in known.past):
        return False
    if before in known.determiners | known.prepositions | {"to", "and", "or"} or _grouped(lows, i):
        return False
    after = lows[i + 1] if i + 1 < len(lows) else ""
    follows = (
        after in known.determiners | known.prepositions | known.adverbs | {"that", "to", "it", "them", "him", "you"}
        or after.endswith("ly")
        or (i + 1 < len(words) and (words[i + 1][:1].isupper() or words[i + 1][:1].isdigit()))
    )
    plural = before in _PLURALS or (before.endswith("s") and not before.endswith(("ss", "us", "is")))
    if low in known.past:
        return follows and after not in {"by", "as"} and low not in listed("attributes")
    if low in known.third:
        if plural or not after or after in known.auxiliaries or before.endswith(_ADJECTIVES):
            return False
        return after not in known.prepositions or low in listed("leading")
    if low in known.base:
        return plural and (follows or low not in known.nominal) and after not in known.auxiliaries
    return False


_ADJECTIVES: Final = ("ive", "ous", "ful", "ible", "able", "ical", "ary", "less")


def states(text: str) -> bool:
    """Whether an English sentence is a full statement: a subject with a verb that is not only a relative clause's."""
    words = text.split()
    places = finite(words)
    if not places:
        return False
    lows = [plain(word) for word in words]
    first = places[0]
    known = verbs()
    opened = sum(_opens(lows, i) for i in range(len(lows)))
    if len(places) <= opened:
        return False
    if lows[0].endswith("ing") and lows[first] in known.past - known.sure and not is_auxiliary(lows[first]):
        return False
    within = listed("conditional") | {"until", "when", "while", "where"}
    inner = next((i for i in range(1, len(lows) - 1) if lows[i] in within and lows[i + 1][-3:] != "ing"), len(lows))
    if inner < first and lows[0] not in known.subordinators:
        return False
    grammar = known.determiners | known.prepositions | known.adverbs | known.subordinators
    subject = [low for low in lows[:first] if low not in grammar and low[:1].isalnum() and not low.endswith("ly")]
    return bool(subject) or (lows[0] in {"there", "it", "you"} and first == 1)


def imperative(words: Sequence[str]) -> bool:
    """Whether an English sentence begins with a verb that tells somebody what to do."""
    known = verbs()
    if len(words) < 3:
        return False
    first, second = plain(words[0]), plain(words[1])
    if first in {"always", "never"}:
        return second in known.base
    if first in {"do", "don't"}:
        return first == "don't" or second == "not"
    acts = next((i for i in finite(words[:6]) if i < 4), 0)
    if acts and second != "sure" and not known.subordinators & {plain(word) for word in words[1:acts]}:
        return False
    if first not in known.base or words[0].endswith((",", ":")) or is_auxiliary(second):
        return False
    if first in known.nominal:
        return second in known.determiners | known.prepositions | {"up", "down", "off", "out", "sure", "that", "and"}
    return second not in known.sure | known.third or second in known.nominal


def purposeful(words: Sequence[str]) -> bool:
    """Whether an English sentence says what to do to an end: ``To open the lid, press the latch``."""
    if plain(words[0]) not in {"to", "if", "when", "before", "after", "for"}:
        return False
    for i, word in enumerate(words[:16]):
        if word.endswith(","):
            rest = list(words[i + 1 :])
            return bool(rest) and (imperative(rest) or (plain(rest[0]) == "then" and imperative(rest[1:])))
    return False

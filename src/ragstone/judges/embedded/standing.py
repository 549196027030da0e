"""Whether a statement can be read alone: full, of a nugget's length, and pointing to nothing outside itself.

The rules for what points, dangles or is torn know English; in other languages only the words that begin a
sentence by pointing, and those of a speaker, are known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ragstone.judges.embedded.abstaining import abstains
from ragstone.judges.embedded.verbs import LANGUAGE, finite, imperative, listed, plain, purposeful, states, verbs

SHORTEST: Final = 4
"""Words."""

LONGEST: Final = 26
"""Words."""

CHARACTERS: Final = (6, 90)
"""The same where words are not separated."""

INSTRUCTION: Final = 8
"""The words of an instruction without its purpose that are too few to tell it from a heading."""

_UNSPACED: Final = frozenset({"zh", "ja", "th", "km", "lo", "my"})
_TORN: Final = re.compile(r"[\u2013-][A-Z]$|\d [A-Z][a-z]+ [A-Z][a-z]+ The |\b(?:to|of|the|an?|from|than|is|are|and),")
_BACK: Final = re.compile(
    r"that (?:point|case|time|way|reason|purpose|period|year|day|date|moment|extent|sense|regard|respect|context"
    r"|process|information|same|one|place|area|end|number|group|study|country|city|effect)"
    r"|(?:as|previously|just|already|earlier) (?:described|mentioned|noted|shown|discussed|stated|explained|outlined"
    r"|seen)"
    r"|the (?:others?|former|latter|same|remaining)|of (?:them|these|those|it|which)"
)
_PRONOUNS: Final = frozenset({"he", "she", "it", "they", "him", "them", "his", "her", "its", "their"})
_PEOPLE: Final = frozenset({"he", "she", "his", "her", "him", "himself", "herself"})
_NEAR: Final = frozenset(
    {"this", "these", "those", "here", "above", "below", "former", "latter", "herein", "aforementioned"}
)


def stands(text: str, language: str, *, instructing: bool = False) -> bool:
    """Whether a statement may be a nugget as it is; instructions only where they are asked for."""
    if not text or "?" in text or "!" in text or "\uff1f" in text or text.count('"') % 2:
        return False
    if language in _UNSPACED:
        return CHARACTERS[0] <= len(text) <= CHARACTERS[1]
    words = text.split()
    begun = text[0].isupper() or text[0].isdigit() or text[0] in "\"'\u201c\u00ab" or not text[0].isascii()
    ended = text[-1].isalnum() or text[-1] in ")%\"'.\u201d\u00bb"
    if not SHORTEST <= len(words) <= LONGEST or not begun or not ended:
        return False
    lows = [plain(word).replace("\u2019", "'").partition("'")[0] for word in words]
    if lows[0] in listed("pointing", language) or abstains(text, language):
        return False
    speakers = listed("speakers", language)
    if any(low in speakers and word != "US" for low, word in zip(lows, words, strict=True)):
        return False
    return language != LANGUAGE or _full(lows, words, instructing=instructing)


def _full(lows: Sequence[str], words: Sequence[str], *, instructing: bool) -> bool:
    """Whether an English statement is one, says of what, and points to nothing outside."""
    if (words[0].endswith(",") and lows[0] in verbs().base) or _torn(lows, words) or _points(lows, words):
        return False
    to_an_end = purposeful(words)
    if to_an_end or imperative(words):
        return instructing and (to_an_end or len(words) > INSTRUCTION)
    return all(states(part) for part in " ".join(words).split(";")) and not _bare(lows, words)


def _torn(lows: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words were lost: an end that goes on, an article without its noun."""
    known = verbs()
    unfinished = listed("unfinished")
    if lows[-1] in unfinished or (lows[0] in unfinished and lows[0] not in known.prepositions | known.determiners):
        return True
    if _TORN.search(" ".join(words)) or (words[-2] == "and" and lows[-1] in known.sure):
        return True
    verbal = known.auxiliaries | known.prepositions | known.sure | {"and", "or", "the", "a", "an"}
    return any(
        (one in {"the", "a", "an"} and other in verbal)
        or (one == other and one in known.prepositions | {"is", "are", "to", "and"})
        for one, other in pairwise(lows)
    )


def _points(lows: Sequence[str], words: Sequence[str]) -> bool:
    """Whether something within points outside: this, these, here, above, or a pronoun before what it stands for."""
    if any(_BACK.fullmatch(f"{one} {other}") for one, other in pairwise(lows)):
        return True
    verb = (finite(words) or [len(words)])[0]
    for i, low in enumerate(lows):
        after = lows[i + 1] if i + 1 < len(lows) else ""
        if low in _NEAR or (i > 0 and low in {"following", "such"} and after not in {"as", "a", "the", "an"}):
            return True
        if 0 < i < 16 and low in {"it", "they", "he", "she"} and words[i - 1].endswith(",") and verb >= i:
            return True
    known = verbs()
    small = known.determiners | known.prepositions | known.adverbs | known.subordinators | known.auxiliaries | _PRONOUNS
    for i, low in enumerate(lows[:6]):
        if low in _PRONOUNS:
            return not any(one not in small and len(one) > 2 for one in lows[:i])
    person = next((i for i, low in enumerate(lows) if low in _PEOPLE), 0)
    return person > 0 and not any(word[:1].isupper() for word in words[:person])


def _bare(lows: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the subject is "the study", "many types" and the like, which only its text knows."""
    known = verbs()
    counting, bare = listed("counting"), listed("bare")
    acting = known.auxiliaries | known.sure | known.third | known.past | known.adverbs
    for i in range(min(14, len(lows) - 2)):
        if lows[i] in counting and lows[i + 1] in bare and (lows[i + 2] in acting or words[i + 1].endswith(",")):
            return i == 0 or words[i - 1].endswith(",")
    return False

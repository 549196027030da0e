"""What an English sentence means by the pronoun or the "this thing" that it begins with.

Only the sentence before is asked, and only where form leaves little doubt: a pronoun stands for its subject, and
"these funds" for the last funds that it named more fully. Where there is doubt the sentence stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ragstone.judges.embedded.verbs import finite, listed, plain, verbs

SUBJECT: Final = 8
"""The most words of a subject that is put in a pronoun's place."""

PERSON: Final = 4
"""The most words of a person's name."""

_OWNERS: Final = {"his": "he", "her": "she", "its": "it", "their": "they"}
_SAYING: Final = frozenset({"is", "was", "are", "were", "can", "could", "may", "will", "might", "should", "must"})
_BRACKETS: Final = re.compile(r"\s*\([^()]{0,200}\)")
_SMALL: Final = frozenset({"of", "the", "de", "van", "von", "der", "al", "bin", "and", "for", "in"})
_IMPERSONAL: Final = frozenset(
    {"important", "possible", "necessary", "essential", "recommended", "clear", "likely", "unclear", "worth", "not",
     "true", "known", "best", "difficult", "easy", "advisable", "crucial", "common", "estimated", "believed", "said",
     "thought", "impossible", "unlikely", "expected", "hoped", "assumed", "reported", "suggested", "about", "too",
     "hard", "safe", "better", "good", "critical", "vital", "time"}
)  # fmt: skip


def subject_of(text: str) -> str:
    """The subject of a sentence, if it could stand for itself in another one; else empty."""
    words = _BRACKETS.sub("", text[:400]).split()[:40]
    if words and plain(words[0]) in verbs().prepositions:
        comma = next((i for i, word in enumerate(words[:9]) if word.endswith(",")), -1)
        words = words[comma + 1 :] if comma >= 0 else []
    places = finite(words)
    if not places:
        return ""
    phrase = words[: places[0]]
    known = verbs()
    while phrase and (plain(phrase[-1]) in known.adverbs or plain(phrase[-1]).endswith("ly")):
        phrase = phrase[:-1]
    comma = next((i for i, word in enumerate(phrase) if word.endswith((",", ";", ":"))), -1)
    if comma >= 0:
        apposed = plain(phrase[comma + 1]) in {"a", "an", "the"} if comma + 1 < len(phrase) else True
        phrase = [*phrase[:comma], phrase[comma].rstrip(",;:")] if apposed else []
    lows = [plain(word) for word in phrase]
    if not 0 < len(phrase) <= SUBJECT or any(low in known.subordinators for low in lows):
        return ""
    if lows[0] in listed("pointing") | listed("speakers") | {"you", "your", "there"} or lows[0] in known.adverbs:
        return ""
    head = phrase[0].lstrip("\"'\u201c\u2018")
    return " ".join(phrase) if head[:1].isupper() or head[:1].isdigit() else ""


def named(phrase: Sequence[str]) -> bool:
    """Whether a phrase is a name: all its words begin large, but for small ones like "of" within it."""
    first = phrase[0]
    return (
        first[:1].isupper()
        and plain(first) not in verbs().determiners
        and all(word[:1].isupper() or plain(word) in _SMALL for word in phrase)
    )


def resolved(text: str, before: str, subject: str) -> str:
    """The sentence with what it begins by pointing at put in words; itself where that is not obvious.

    ``before`` is the sentence before it, ``subject`` that one's subject (which may come from further back).
    """
    words = text.split()
    if len(words) < 3:
        return text
    first = plain(words[0])
    if first in {"this", "these"} and before:
        return _thing(words, before) or text
    if not subject or words[0] != words[0].capitalize():
        return text
    if first in _OWNERS and _fits(_OWNERS[first], subject.split()) and plain(words[1]) not in verbs().auxiliaries:
        own = subject + ("'" if subject.endswith("s") else "'s")
        return " ".join((own, *words[1:]))
    if first not in {"he", "she", "it", "they"} or not _fits(first, subject.split()) or not _acts(words):
        return text
    if first == "it" and not _is_about(before, subject):
        return text
    if (
        first == "it"
        and plain(words[1]) in {"is", "was", "has", "can", "may", "will", "takes", "seems"}
        and (plain(words[2]) in _IMPERSONAL or any(plain(word) in {"that", "to"} for word in words[2:5]))
    ):
        return text
    return " ".join((subject, *words[1:]))


def _is_about(before: str, subject: str) -> bool:
    """Whether a sentence begins with its subject and says what that is or can: the next "it" is hardly another."""
    if not before.startswith(subject):
        return False
    words = before.split()[:40]
    places = finite(words)
    return bool(places) and plain(words[places[0]]) in _SAYING


class Topics:
    """What "the film" and "the company" stand for in a passage: the names that were said to be one.

    ``Aftermath is an album`` makes ``The album sold well`` say ``Aftermath sold well``. A word that two names
    share stands for neither.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def note(self, text: str, subject: str) -> None:
        """Take in a sentence with its subject."""
        heads = subject.split()
        if not heads or (plain(heads[0]) not in {"the", "a", "an"} and not named(heads)):
            return
        known = verbs()
        nouns = {plain(heads[-1])} if len(heads) > 1 else set()
        words = _BRACKETS.sub("", text[len(subject) : len(subject) + 300]).split()
        low = [plain(word) for word in words[:16]]
        verb = next((i for i, word in enumerate(low) if word in {"is", "was", "are", "were"}), -1)
        if named(heads) and 0 <= verb < len(low) - 2 and low[verb + 1] in {"a", "an", "the", "one"}:
            start = verb + 1
            ends = known.prepositions | known.subordinators | known.past | known.participles | {"and", "located", "or"}
            last = next(
                (i for i in range(start + 1, len(low)) if low[i] in ends or words[i - 1].endswith((",", ".", ";"))),
                len(low),
            )
            if low[last - 1] not in known.determiners and last - 1 > start:
                nouns.add(low[last - 1])
        for noun in nouns:
            self._names[noun] = subject if self._names.get(noun, subject) == subject else ""

    def put(self, text: str) -> str:
        """The sentence with such a name for its subject; itself where there is none."""
        words = text.split(None, 2)
        if len(words) < 3 or words[0] != "The":
            return text
        noun, own = words[1].lower(), ""
        for ending in ("'s", "\u2019s"):
            if noun.endswith(ending):
                noun, own = noun[: -len(ending)], "'s"
        name = self._names.get(noun, "")
        second = plain(words[2].split()[0])
        known = verbs()
        acting = known.auxiliaries | known.sure | known.third | known.past | known.adverbs
        if not name or name.lower() == f"the {noun}" or not (own or second in acting or second.endswith("ly")):
            return text
        return f"{name}{own} {words[2]}"


def _acts(words: Sequence[str]) -> bool:
    """Whether a verb follows the first word, perhaps after an adverb."""
    known = verbs()
    at = 2 if plain(words[1]) in known.adverbs or plain(words[1]).endswith("ly") else 1
    low = plain(words[at]) if at < len(words) else ""
    return low in known.auxiliaries | known.sure | known.third | known.past | known.base


def _fits(pronoun: str, subject: Sequence[str]) -> bool:
    name = named(subject)
    last = plain(subject[-1])
    plural = (last.endswith("s") and not last.endswith(("ss", "us", "is"))) or "and" in subject
    if pronoun in {"he", "she"}:
        return name and len(subject) <= PERSON
    if pronoun == "they":
        return plural and not name
    return not plural or name


def _thing(words: Sequence[str], before: str) -> str:
    """``These funds are`` as ``The endowment care funds are``, if the sentence before names such funds; else empty."""
    noun = plain(words[1])
    if not noun.isalpha() or words[1].endswith((",", ".", ";", ":", "'s")) or noun in listed("bare_always"):
        return ""
    said = before.split()
    known = verbs()
    stops = known.determiners | known.prepositions | known.auxiliaries | known.sure | known.adverbs
    stops = stops | known.subordinators | {"and", "or", "but", "to", "called", "named", "than"}
    for i in range(len(said) - 1, 0, -1):
        if plain(said[i]) != noun:
            continue
        start = i
        while start > 0 and i - start < 5 and plain(said[start - 1]) not in stops and said[start - 1][-1:].isalnum():
            start -= 1
        phrase = [*said[start:i], noun if not said[i][:1].isupper() else plain(said[i]).capitalize()]
        if len(phrase) < 2 or plain(phrase[0]) in known.past | known.third or phrase[0][:1].isdigit():
            return ""
        return " ".join(("The", *phrase, *words[2:]))
    return ""

"""English words that mean nearly the same, and words that mean the opposite.

``thesaurus.txt`` has a line for a stem: "v" if it is mostly a verb, its likes in four grades, the nearest first, and
its opposites. It was made from
WordNet 3.0 and the word vectors of all-MiniLM-L6-v2 by ``training/make_thesaurus.py``. The groups of opposites of
``slots.json`` come on top, in several languages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, cast

from ragstone.judges.embedded.words import packaged, stem_of

LANGUAGE: Final = "en"
GRADES: Final = (0.85, 0.7, 0.6, 0.5)  # how much a like word counts of the word itself, by its grade
REMEMBERED: Final = 8192
_NONE: Final = (frozenset[str](), frozenset[str]())
Sides = tuple[frozenset[str], frozenset[str]]
"""Words that stand against a word, and those beside it."""
_PREFIXES: Final = ("un", "non", "in", "im", "ir", "il", "dis")


def slot_lists() -> dict[str, Any]:
    """The word lists of ``slots.json``: units, months, opposites, quantifiers."""
    return cast("dict[str, Any]", packaged("slots.json"))


@lru_cache(maxsize=64)
def word_set(name: str) -> frozenset[str]:
    """The words of one of those lists that is plain words between blanks."""
    return frozenset(slot_lists()[name].split())


@lru_cache(maxsize=1)
def weak() -> frozenset[str]:
    """Stems of English words that say little of what a text is about, as "however"."""
    return frozenset(stem_of(word, LANGUAGE) for word in word_set("weak"))


@lru_cache(maxsize=1)
def _lines() -> dict[str, str]:
    text = files("ragstone.judges.embedded").joinpath("thesaurus.txt").read_text("ascii")
    return {line[:bar]: line[bar + 1 :] for line in text.splitlines() if (bar := line.find("|")) > 0}


@lru_cache(maxsize=REMEMBERED)
def likes(stem: str, language: str) -> dict[str, float]:
    """Stems that mean nearly the same, with how nearly, in (0, 1); none that is an opposite."""
    if language != LANGUAGE:
        return {}
    against = opposites(stem, language)
    grades = _lines().get(stem, "").split("|")[1 : 1 + len(GRADES)]
    return {
        like: grade for line, grade in zip(grades, GRADES, strict=False) for like in line.split() if like not in against
    }


def listed(stem: str) -> bool:
    """Return whether a stem is a common English word's, so that a capital makes it no name."""
    return stem in _lines()


def common(stem: str) -> bool:
    """Return whether an English word ends names of several things, as "Stadium" does: it tells none of them."""
    return listed(stem) or stem in _kinds()


@lru_cache(maxsize=1)
def _kinds() -> frozenset[str]:
    return frozenset(stem_of(word, LANGUAGE) for word in word_set("kinds"))


def verbal(stem: str) -> bool:
    """Return whether an English stem is more often a verb than anything else, by WordNet's counts."""
    return _lines().get(stem, "").startswith("v|")


@lru_cache(maxsize=REMEMBERED)
def opposites(stem: str, language: str) -> frozenset[str]:
    """Stems that mean the opposite, by the groups, by the thesaurus, and by a prefix ("un-", "non-")."""
    found = _groups(language).get(stem, _NONE)[0]
    if language != LANGUAGE:
        return found
    unopposed = word_set("unopposed")
    listed = [] if stem in unopposed else _lines().get(stem, "").split("|")[1 + len(GRADES) :]
    cut = {stem.removeprefix(prefix) for prefix in _PREFIXES} - {stem}
    prefixed = {one for one in cut if len(one) > 3 and one in _lines()}
    if len(stem) > 3:
        prefixed.update(prefix + stem for prefix in _PREFIXES)
    return found.union(*(line.split() for line in listed), prefixed)


@lru_cache(maxsize=REMEMBERED)
def allies(stem: str, language: str) -> frozenset[str]:
    """Stems that stand on the same side of a group of opposites."""
    return _groups(language).get(stem, _NONE)[1]


def siblings(word: str) -> tuple[frozenset[str], frozenset[str]]:
    """English words for other things of a word's kind, as "giraffe" is one beside "elephants", and those for itself."""
    return _siblings().get(singular(word), _NONE)


def singular(word: str) -> str:
    """A word that names a kind of thing as it is listed, if its plural is written; else the word itself."""
    word = word.removesuffix("'s").removesuffix("\u2019s")
    forms = (word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word))
    return next((form for form in forms if form in _siblings()), word)


@lru_cache(maxsize=1)
def _siblings() -> dict[str, Sides]:
    return _grouped([[frozenset(side.split()) for side in group.split("/")] for group in slot_lists()["siblings"]])


@lru_cache(maxsize=16)
def _groups(language: str) -> dict[str, Sides]:
    groups = (group.split("/") for group in slot_lists()["opposites"])
    return _grouped([[frozenset(stem_of(word, language) for word in side.split()) for side in one] for one in groups])


def _grouped(groups: Sequence[Sequence[frozenset[str]]]) -> dict[str, Sides]:
    """Return for each word those of the other sides of its groups, and those of its own."""
    found: dict[str, Sides] = {}
    for sides in groups:
        every = frozenset[str]().union(*sides)
        for one in sides:
            for word in one:
                against, beside = found.get(word, _NONE)
                found[word] = (against | (every - one), beside | one)
    return {word: (against - beside, beside) for word, (against, beside) in found.items()}

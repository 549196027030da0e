"""Look up synonyms and opposites of English words.

``thesaurus.txt`` has one line per stem: "v" if it is mostly a verb or "n" if it is a name, its synonyms in four
grades, closest first, and its opposites. ``training/make_thesaurus.py`` made it from WordNet 3.0 and the word vectors
of all-MiniLM-L6-v2. ``slots.json`` adds groups of opposites in several languages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from typing import Any, Final, cast

from ragstone.judges.embedded.words import packaged, stem_of

LANGUAGE: Final = "en"
GRADES: Final = (0.85, 0.7, 0.6, 0.5)  # weights of synonyms relative to the word itself, by grade
REMEMBERED: Final = 2048
Sides = tuple[frozenset[str], frozenset[str]]
"""The opposites of a word, and the words on its own side."""
Groups = dict[str, list[Sequence[frozenset[str]]]]
"""The groups that have each word; a group is the sides of an opposition."""
_PREFIXES: Final = ("un", "non", "in", "im", "ir", "il", "dis")


def slot_lists() -> dict[str, Any]:
    """Return the word lists of ``slots.json``: units, months, opposites, quantifiers."""
    return cast("dict[str, Any]", packaged("slots.json"))


@lru_cache(maxsize=64)
def word_set(name: str) -> frozenset[str]:
    """Return the words of one of those lists, if it is words separated by spaces."""
    return frozenset(slot_lists()[name].split())


@lru_cache(maxsize=8)
def stems_of(name: str) -> frozenset[str]:
    """Return the stems of the English words of one of those lists."""
    return frozenset(stem_of(word, LANGUAGE) for word in word_set(name))


@lru_cache(maxsize=1)
def _lines() -> dict[str, str]:
    text = files("ragstone.judges.embedded").joinpath("thesaurus.txt").read_text("ascii")
    return {line[:bar]: line[bar + 1 :] for line in text.splitlines() if (bar := line.find("|")) > 0}


@lru_cache(maxsize=REMEMBERED)
def likes(stem: str, language: str) -> dict[str, float]:
    """Return the synonyms of a stem with their similarity, in (0, 1), excluding its opposites."""
    if language != LANGUAGE:
        return {}
    grades = _lines().get(stem, "").split("|")[1 : 1 + len(GRADES)]
    against = opposites(stem, language) if grades else frozenset()
    return {
        like: grade for line, grade in zip(grades, GRADES, strict=False) for like in line.split() if like not in against
    }


def listed(stem: str) -> bool:
    """Return whether a stem is that of a common English word, which is not a name even if capitalised."""
    return not _lines().get(stem, "n|").startswith("n|")


def common(stem: str) -> bool:
    """Return whether an English word is common in names, such as "Stadium", so it does not identify one."""
    return listed(stem) or stem in stems_of("kinds")


def verbal(stem: str) -> bool:
    """Return whether an English stem is more often a verb than anything else, by WordNet's counts."""
    return _lines().get(stem, "").startswith("v|")


@lru_cache(maxsize=REMEMBERED)
def opposites(stem: str, language: str) -> frozenset[str]:
    """Return the opposites of a stem: from the groups, the thesaurus, and prefixes ("un-", "non-")."""
    found = _sides(stem, _groups(language))[0]
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
    """Return the stems on the same side of a group of opposites."""
    return _sides(stem, _groups(language))[1]


def synonymous(one: str, other: str) -> bool:
    """Return whether two English stems mean the same in everyday texts, where WordNet does not say so: "app"."""
    return any(other in words for (words,) in _synonyms().get(one, ()))


def siblings(word: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return English words for other things of the same kind ("giraffe" for "elephants"), and for the thing itself."""
    return _sides(singular(word), _siblings())


def singular(word: str) -> str:
    """Return the listed singular of a word that names a kind of thing, or the word itself if it is not listed."""
    word = word.removesuffix("'s").removesuffix("\u2019s")
    forms = (word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word))
    return next((form for form in forms if form in _siblings()), word)


@lru_cache(maxsize=1)
def _siblings() -> Groups:
    return _grouped([[frozenset(side.split()) for side in group.split("/")] for group in slot_lists()["siblings"]])


@lru_cache(maxsize=1)
def _synonyms() -> Groups:
    groups = " / ".join(slot_lists()["synonyms"]).split(" / ")
    return _grouped([[frozenset(stem_of(word, LANGUAGE) for word in group.split())] for group in groups])


@lru_cache(maxsize=16)
def _groups(language: str) -> Groups:
    groups = (group.split("/") for group in slot_lists()["opposites"])
    return _grouped([[frozenset(stem_of(word, language) for word in side.split()) for side in one] for one in groups])


def _grouped(groups: Sequence[Sequence[frozenset[str]]]) -> Groups:
    """Return the groups that have each word."""
    found: Groups = {}
    for sides in groups:
        for word in chain.from_iterable(sides):
            found.setdefault(word, []).append(sides)
    return found


def _sides(word: str, groups: Groups) -> Sides:
    """Return the words on the other sides of a word's groups, and those on its own side."""
    known = groups.get(word, ())
    beside = frozenset[str]().union(*(side for sides in known for side in sides if word in side))
    return frozenset[str]().union(*chain.from_iterable(known)) - beside, beside

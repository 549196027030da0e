"""English words that mean nearly the same, and words that mean the opposite.

``thesaurus.txt`` has a line for a stem: "v" if it is mostly a verb, its likes in four grades, the nearest first, and
its opposites. It was made from
WordNet 3.0 and the word vectors of all-MiniLM-L6-v2 by ``training/make_thesaurus.py``. The groups of opposites of
``slots.json`` come on top, in several languages.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, cast

from ragstone.judges.embedded.words import packaged, stem_of

LANGUAGE: Final = "en"
GRADES: Final = (0.85, 0.7, 0.6, 0.5)  # how much a like word counts of the word itself, by its grade
REMEMBERED: Final = 8192
_PREFIXES: Final = ("un", "non", "in", "im", "ir", "il", "dis")


def slot_lists() -> dict[str, Any]:
    """The word lists of ``slots.json``: units, months, opposites, quantifiers."""
    return cast("dict[str, Any]", packaged("slots.json"))


@lru_cache(maxsize=64)
def word_set(name: str) -> frozenset[str]:
    """The words of one of those lists that is plain words between blanks."""
    return frozenset(slot_lists()[name].split())


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
    found = _groups(language).get(stem, (frozenset(), frozenset()))[0]
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
    return _groups(language).get(stem, (frozenset(), frozenset()))[1]


@lru_cache(maxsize=16)
def _groups(language: str) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    found: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    for group in slot_lists()["opposites"]:
        sides = [frozenset(stem_of(word, language) for word in side.split()) for side in group.split("/")]
        every = frozenset().union(*sides)
        for one in sides:
            for stem in one:
                against, beside = found.get(stem, (frozenset(), frozenset()))
                found[stem] = (against | (every - one), beside | one)
    return {stem: (against - beside, beside) for stem, (against, beside) in found.items()}

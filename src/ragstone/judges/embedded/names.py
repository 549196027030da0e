"""Find names of a statement that no passage has, or only as parts of others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Final

from ragstone.judges.embedded.alignment import Alignment, Clash, Line
from ragstone.judges.embedded.thesaurus import LANGUAGE, listed, slot_lists, word_set
from ragstone.judges.embedded.words import NAME, stem_of

RARE: Final = 4.0  # weight of a word from which a name is looked at for being mixed of others


def names(aligned: Alignment) -> Clash | None:
    """Find the longest name that no passage has."""
    found = [clash for run in aligned.names if (clash := _name(aligned, *run)) is not None]
    return max(found, key=lambda one: len(one.says), default=None)


def _name(aligned: Alignment, first: int, last: int) -> Clash | None:
    stems, says = aligned.stems, aligned.quote(first, last)
    strange = [i for i in range(first, last + 1) if not aligned.is_known(stems[i])]
    if any(i > first or _proper(aligned, i) for i in strange):
        if _is_name(aligned, stems[last]):
            return None
        spoken = not word_set("pronouns").isdisjoint(aligned.lines[0].places)
        spoken = spoken and not (last in strange and len(strange) <= last - first)  # "Nicola Ferri" of "Nicola Ferro"
        return None if first <= 1 and spoken else Clash("name", says)  # the best sentence may speak of it by a pronoun
    if strange or aligned.library.weight(stems[last]) < RARE:
        return None
    return Clash("name", says) if _mixed(aligned, stems[first : last + 1]) else None


def _is_name(aligned: Alignment, stem: str) -> bool:
    return any(line.tokens[p].kind == NAME for line in aligned.having(stem) for p in line.places.get(stem, ()))


def _proper(aligned: Alignment, i: int) -> bool:
    """Whether a capitalised word that no passage has is a name: not a common word, and no form of one that is there."""
    token = aligned.tokens[i]
    raw = aligned.text[token.start : token.end]
    common = aligned.language == LANGUAGE and listed(token.stem)
    short = (raw.isupper() and aligned.text[token.start - 1 : token.start] == "(") or (raw.islower() and "." in raw)
    if len(raw) < 2 or common or short or set(raw) <= set("IVX"):
        return False  # "(EU)", "e.g.", "IV"
    alone = i == 0 and (len(aligned.tokens) < 2 or aligned.tokens[1].kind != NAME)
    if alone and not any(c.isdigit() or c.isupper() for c in raw[1:]):
        return False
    groups = peoples()
    group = groups.get(token.stem)
    return group is None or not any(aligned.library.has(stem) for stem, own in groups.items() if own == group)


@lru_cache(maxsize=1)
def peoples() -> dict[str, int]:
    """The number of its group by the stem of a country or of its people."""
    groups = slot_lists()["peoples"].split()
    return {stem_of(word, "en"): number for number, group in enumerate(groups) for word in group.split("=")}


def _mixed(aligned: Alignment, own: Iterable[str]) -> bool:
    """Return whether only part of a name stands in the evidence, in another name."""
    every = set(own)
    for one, other in pairwise(own):
        lines = dict.fromkeys(line for stem in (one, other) for line in aligned.having(stem))
        if any(_beside(line, one, other) for line in lines):
            continue
        runs = ({token.stem for token in line.tokens[a : b + 1]} for line in lines for a, b in line.names)
        if any((one in stems) != (other in stems) and not stems <= every for stems in runs):
            return True
    return False


def _beside(line: Line, one: str, other: str) -> bool:
    return any(abs(a - b) <= 2 for a in line.places.get(one, ()) for b in line.places.get(other, ()))

"""Find phrases that a statement adds to what the passages say: "with the help of the local police"."""

from __future__ import annotations

from typing import Final

from ragstone.judges.embedded.alignment import Alignment, Clash
from ragstone.judges.embedded.naming import BEGUN
from ragstone.judges.embedded.parsed_statement import shortened
from ragstone.judges.embedded.thesaurus import LANGUAGE, verbal, word_set
from ragstone.judges.embedded.words import WORD, pronouns

COVERED: Final = 0.7  # minimum share found of the rest of a statement, of which a phrase counts as added
SPEAKING: Final = 3.5  # minimum weight of a word that is meaningful by itself
RARE: Final = 5.0  # ... that makes a phrase of one or two words an addition
ITEM: Final = 4.5  # ... that makes an item of a list one
_JOINING: Final = frozenset(("and", "or"))


def addition(aligned: Alignment) -> Clash | None:
    """Find a phrase of the statement with no match in the passages, if they have nearly all the rest.

    Phrases begin at prepositions, relative pronouns, conjunctions and punctuation. The first one is the subject, which
    may be named differently. A phrase of one word counts only as an item of a list; elsewhere it may be a paraphrase.
    """
    if aligned.language != LANGUAGE:
        return None
    grades = {i: max((aligned.found(i, line)[1] for line in aligned.lines), default=0.0) for i in aligned.content}
    strange = {i for i, grade in grades.items() if not grade and is_strange(aligned, i)}
    phrases = [(run[0], [i for i in run if i in grades]) for run in _phrases(aligned)[1:]]
    added = [(first, own) for first, own in phrases if own and strange.issuperset(own)]
    rest = grades.keys() - {i for _, own in added for i in own}
    if not added or sum(aligned.weight[i] * (grades[i] - COVERED) for i in rest if not aligned.need_not(i)) < 0:
        return None
    said = []
    for first, own in added:
        item = aligned.words[first] in _JOINING or aligned.breaks(first)
        least = SPEAKING if len(own) > 2 else ITEM if item else RARE
        if (item or len(own) > 1) and any(_is_telling(aligned, i, least) for i in own):
            said.append(aligned.quote(own[0], own[-1]))
    return Clash("addition", shortened(", ".join(said))) if said else None


def _is_telling(aligned: Alignment, i: int, least: float) -> bool:
    """Return whether a word is rare and no name, verb or adverb, nor one that introduces what passages say."""
    word, rare = aligned.words[i], aligned.weight[i] >= least and aligned.tokens[i].kind == WORD
    done = verbal(aligned.stems[i]) or aligned.word(i - 1) in pronouns(LANGUAGE)
    return rare and not (done or word.endswith("ly") or word in word_set("framing"))


def _phrases(aligned: Alignment) -> list[list[int]]:
    """Split a statement before prepositions (except "of"), conjunctions and punctuation."""
    found: list[list[int]] = []
    for i, word in enumerate(aligned.words):
        if not found or word in word_set("opening") or word in word_set("breaks") or aligned.breaks(i):
            found.append([])
        found[-1].append(i)
    return found


def is_strange(aligned: Alignment, i: int) -> bool:
    """Return whether the passages do not have a word, and the compared sentences none that begins like it."""
    stem = aligned.stems[i]
    if i in aligned.agreed or aligned.is_known(stem):
        return False
    start = stem[: max(BEGUN, len(stem) - 2)]
    return len(stem) <= BEGUN or not any(one.startswith(start) for line in aligned.lines for one in line.places)

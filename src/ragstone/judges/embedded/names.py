"""Names of a statement that the evidence has another one for, or none, and names in each other's place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final

from ragstone.judges.embedded.alignment import (
    FITS,
    MOSTLY,
    Alignment,
    Clash,
    Line,
    is_known,
    shortened,
    word_at,
)
from ragstone.judges.embedded.thesaurus import LANGUAGE, listed, slot_lists, verbal, word_set
from ragstone.judges.embedded.words import (
    NAME,
    WORD,
    Token,
    function_stems,
    stem_of,
)

PLAIN: Final = 12
"""Words of a statement whose nouns are looked at as agent and patient."""

RARE: Final = 4.0
"""Weight of a word from which a name is looked at for its place."""


def names(aligned: Alignment) -> Clash | None:
    """The first name that the evidence has another one for, else the longest that no passage has."""
    found = [one for run in name_runs(aligned.tokens, aligned.text) if (one := _name(aligned, *run)) is not None]
    return next((one for one in found if one.has), max(found, key=lambda one: len(one.says), default=None))


_PARTICLES: Final = frozenset(("van", "von", "de", "da", "di", "del", "du", "la", "le", "bin", "ibn", "al"))


def name_runs(tokens: Sequence[Token], text: str) -> list[tuple[int, int]]:
    """Neighbouring names as one: first and last token."""
    runs: list[tuple[int, int]] = []
    for i, token in enumerate(tokens):
        if token.kind != NAME:
            continue
        last = runs[-1][1] if runs else i
        if last == i - 2 and text[tokens[last].end : token.start].strip() in _PARTICLES:
            last += 1
        if last == i - 1 and text[tokens[i - 1].end : token.start] in {" ", "-", " - "}:
            runs[-1] = (runs[-1][0], i)
        else:
            runs.append((i, i))
    return runs


def _name(aligned: Alignment, first: int, last: int) -> Clash | None:
    tokens, library = aligned.tokens, aligned.library
    strange = [i for i in range(first, last + 1) if not is_known(aligned, tokens[i].stem)]
    says = aligned.said(tokens[first].start, tokens[last].end)
    itself = frozenset(range(first, last + 1))
    lost = [i for i in strange if (first < i and last > first) or (0 < first < last) or _proper(aligned, i)]
    rival = _rival_name(aligned, last, itself)
    if lost:
        if (
            (lost[-1] != last and _named(aligned, tokens[last].stem))
            or _acronym(aligned, says)
            or (first <= 1 and rival is None and _pronoun(aligned))
        ):
            return None
        stands = _position(tokens, aligned.text, first)
        if rival is not None and aligned.carries(rival[1], MOSTLY) and stands and _stands_alike(stands, rival, None):
            return Clash("name", says, _run_text(rival[1], rival[2]), rival[1].passage, rival[1].sentence)
        return Clash("name", says, "", -1, -1)
    if strange or library.weight(tokens[last].stem) < RARE:
        return None
    if _mixed(aligned, first, last):
        return Clash("name", says, "", -1, -1)
    places = [
        (aligned.fit(last, line, p, itself), line, p)
        for line in aligned.having(tokens[last].stem)
        for p in line.places.get(tokens[last].stem, ())
    ]
    best = max(places, key=lambda found: found[0], default=None)
    own = None if best is None else (best[1], best[2])
    stands = _position(tokens, aligned.text, first)
    if (
        rival is not None
        and rival[0] >= FITS
        and stands
        and _stands_alike(stands, rival, own)
        and aligned.prefers(last, (rival[1], rival[2][1]), own, itself, surely=True)
    ):
        return Clash("name", says, _run_text(rival[1], rival[2]), rival[1].passage, rival[1].sentence)
    return None


def _named(aligned: Alignment, stem: str) -> bool:
    """Whether a stem stands in the evidence as a name."""
    return any(line.tokens[p].kind == NAME for line in aligned.having(stem) for p in line.places.get(stem, ()))


def _position(tokens: Sequence[Token], text: str, i: int) -> str:
    """What a name stands behind: a preposition, the beginning ("^"), or something else."""
    while i and text[tokens[i - 1].start : tokens[i - 1].end].lower() in {"the", "a", "an"}:
        i -= 1
    word = text[tokens[i - 1].start : tokens[i - 1].end].lower() if i else "^"
    return word if word == "^" or word in word_set("prepositions") else ""


def _pronoun(aligned: Alignment) -> bool:
    """Whether the best sentence may speak of the statement's subject by a pronoun."""
    return not word_set("pronouns").isdisjoint(aligned.lines[0].places)


def _stands_alike(stands: str, rival: tuple[float, Line, tuple[int, int]], own: tuple[Line, int] | None) -> bool:
    """Whether another name stands behind the same word, or in another sentence behind some preposition, too."""
    theirs = _position(rival[1].tokens, rival[1].text, rival[2][0])
    apart = own is not None and own[0] is not rival[1]
    return theirs == stands or (apart and theirs not in ("", "^") and stands != "^")


def _mixed(aligned: Alignment, first: int, last: int) -> bool:
    """Whether only part of a name stands in the evidence, in another name."""
    own = [aligned.tokens[i].stem for i in range(first, last + 1)]
    if len(own) < 2:
        return False
    for one, other in pairwise(own):
        runs = [
            (line, {token.stem for token in line.tokens[first : last + 1]})
            for stem in (one, other)
            for line in aligned.having(stem)
            for first, last in name_runs(line.tokens, line.text)
        ]
        if any(one in stems and other in stems for _, stems in runs):
            continue
        if any(line.places.get(one) and line.places.get(other) and _beside(line, one, other) for line, _ in runs):
            continue
        for _, stems in runs:
            if aligned.language == LANGUAGE and listed(other if one in stems else one):
                continue  # a common word with a capital is at times left out of a name
            if (one in stems) != (other in stems) and len(stems) > 1 and not stems <= set(own):
                return True
    return False


def _beside(line: Line, one: str, other: str) -> bool:
    return any(abs(a - b) <= 2 for a in line.places.get(one, ()) for b in line.places.get(other, ()))


def _rival_name(aligned: Alignment, i: int, itself: frozenset[int]) -> tuple[float, Line, tuple[int, int]] | None:
    own = {token.stem for token in aligned.tokens}
    best: tuple[float, Line, tuple[int, int]] | None = None
    for line in aligned.lines[:3]:
        for run in name_runs(line.tokens, line.text):
            if _calendar(line.tokens[run[1]], line.text) or any(
                line.tokens[p].stem in own for p in range(run[0], run[1] + 1)
            ):
                continue
            fit = aligned.fit(i, line, run[1], itself)
            if best is None or fit > best[0]:
                best = (fit, line, run)
    return best


def _run_text(line: Line, run: tuple[int, int]) -> str:
    return shortened(line.text[line.tokens[run[0]].start : line.tokens[run[1]].end])


_ROMAN: Final = re.compile(r"[IVX]+")


def _proper(aligned: Alignment, i: int) -> bool:
    """Whether a capitalised word that no passage has is a name: not a common word, and no form of one that is there."""
    token = aligned.tokens[i]
    raw = aligned.text[token.start : token.end]
    if (
        len(raw) < 2
        or (raw.islower() and "." in raw)
        or (aligned.language == LANGUAGE and listed(token.stem) and not (raw.isupper() and i))
    ):
        return False
    if _ROMAN.fullmatch(raw) or (raw.isupper() and aligned.text[token.start - 1 : token.start] == "("):
        return False
    alone = i == 0 and (len(aligned.tokens) < 2 or aligned.tokens[1].kind != NAME)
    if alone and not any(c.isdigit() or c.isupper() for c in raw[1:]):
        return False
    if i == 0 and (aligned.language != LANGUAGE or token.stem in function_stems(LANGUAGE) or len(token.stem) < 4):
        return False
    if any(_same_name(token.stem, stem) for stem in aligned.library.alike(token.stem)):
        return False
    peoples = _peoples()
    group = peoples.get(token.stem)
    return group is None or not any(aligned.library.has(stem) for stem, own in peoples.items() if own == group)


@lru_cache(maxsize=1)
def _peoples() -> dict[str, int]:
    groups = slot_lists()["peoples"].split()
    return {stem_of(word, "en"): number for number, group in enumerate(groups) for word in group.split("=")}


@lru_cache(maxsize=8192)
def _same_name(one: str, other: str) -> bool:
    """Whether two names are forms of one: "Kenya", "Kenyan"; cases where a language has them."""
    short, long = sorted((one, other), key=len)
    if len(short) >= 4 and len(long) - len(short) <= 4 and long.startswith(short):
        return True
    cut = max(4, len(short) - 2)
    return not one.isascii() and len(long) - len(short) <= 2 and one[:cut] == other[:cut]


def _acronym(aligned: Alignment, says: str) -> bool:
    """Whether the name is the initials of words of the evidence, or the evidence has its initials."""
    words = [word for word in re.split(r"[\s-]+", says) if word[:1].isupper()]
    initials = "".join(word[0] for word in words).lower()
    if len(initials) > 1 and is_known(aligned, stem_of(initials, aligned.language)):
        return True
    if len(words) == 1 and words[0].isupper() and 2 <= len(words[0]) <= 6:
        pattern = r"\b" + r"\w*[\s-]+(?:(?:of|the|and|for|de|du)\s+)?".join(map(re.escape, words[0])) + r"\w+"
        return any(re.search(pattern, line.text, re.IGNORECASE) for line in aligned.lines)
    return False


@lru_cache(maxsize=16)
def _inverse(language: str) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for number, group in enumerate(slot_lists()["inverse"]):
        for side, words in enumerate(group.split("/")):
            for word in words.split():
                found[stem_of(word, language)] = (number, side)
    return found


def roles(aligned: Alignment) -> Clash | None:
    """Two names or things around a verb, the other way round."""
    runs = [run for run in name_runs(aligned.tokens, aligned.text) if is_known(aligned, aligned.tokens[run[1]].stem)]
    runs = [run for run in runs if not _calendar(aligned.tokens[run[1]], aligned.text)]
    plain = aligned.language == LANGUAGE and len(aligned.tokens) <= PLAIN
    things = [(i, i) for i in aligned.content if _thing(aligned, i)] if plain else []
    for one, other in chain(pairwise(runs), pairwise(things)):
        between = [i for i in aligned.content if one[1] < i < other[0] and aligned.tokens[i].kind == WORD][:1]
        if not between or between[0] - one[1] > 3 or other[0] - between[0] > 5 or not _acts(aligned, between[0]):
            continue
        for line in aligned.lines[:3]:
            found = _turned(aligned, line, one, other, between)
            if found is not None:
                return found
    return None


def _acts(aligned: Alignment, i: int) -> bool:
    """Whether a word may be a verb; where no thesaurus tells, it may."""
    stem = aligned.tokens[i].stem
    return aligned.language != LANGUAGE or not listed(stem) or verbal(stem) or stem in _inverse(LANGUAGE)


def _thing(aligned: Alignment, i: int) -> bool:
    """Whether a word behind an article is a noun that some passage has."""
    token = aligned.tokens[i]
    article = word_at(aligned.tokens, aligned.text, i - 1) in {"the", "a", "an"}
    return article and token.kind == WORD and not verbal(token.stem) and aligned.library.has(token.stem)


def _calendar(token: Token, text: str) -> bool:
    """Whether a word names a month or a day of the week."""
    return text[token.start : token.end].lower() in _dates()


@lru_cache(maxsize=1)
def _dates() -> frozenset[str]:
    lists = slot_lists()
    return frozenset((*(pair.partition("=")[0] for pair in lists["months"].split()), *lists["weekdays"].split()))


def _turned(
    aligned: Alignment, line: Line, one: tuple[int, int], other: tuple[int, int], between: Sequence[int]
) -> Clash | None:
    first, second = (line.places.get(aligned.tokens[run[1]].stem) for run in (one, other))
    if not first or not second or len(first) > 1 or len(second) > 1:
        return None
    low, high = sorted((first[0], second[0]))
    inverse = _inverse(aligned.language)
    for i in between:
        stem = aligned.tokens[i].stem
        turned = False
        places = [p for p in line.places.get(stem, ()) if low < p < high]
        if not places and stem in inverse:
            number, side = inverse[stem]
            for p in range(low + 1, high):
                theirs = inverse.get(line.tokens[p].stem)
                if theirs is not None and theirs[0] == number:
                    places, turned = [p], theirs[1] != side
                    break
        if not places and stem not in inverse:
            continue
        if not places:
            continue
        if min(places[0] - low, high - places[0]) > 4:
            continue
        mine = _passive(aligned.tokens, aligned.text, i, other[0])
        theirs_passive = _passive(line.tokens, line.text, places[0], high)
        same_order = first[0] < second[0]
        flips = (mine != theirs_passive) + turned + (not same_order)
        if flips % 2:
            says = aligned.said(aligned.tokens[one[0]].start, aligned.tokens[other[1]].end)
            has = shortened(line.text[line.tokens[low].start : line.tokens[high].end])
            return Clash("role", says, has, line.passage, line.sentence)
    return None


def _passive(tokens: Sequence[Token], text: str, i: int, end: int) -> bool:
    """Whether a verb is in the passive with its agent before ``end``: "was beaten by"."""
    after = {text[token.start : token.end].lower() for token in tokens[i + 1 : end]}
    return not after.isdisjoint(("by", "von", "par", "por", "da"))

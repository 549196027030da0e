"""What a statement asserts and its evidence denies, forbids, doubts or only asks, or the other way round."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.alignment import (
    FITS,
    SCOPE,
    Alignment,
    Clash,
    Line,
    around,
    shortened,
    whole,
    word_at,
)
from ragstone.judges.embedded.thesaurus import LANGUAGE, opposites, slot_lists, word_set
from ragstone.judges.embedded.words import (
    NAME,
    NEGATION,
    WORD,
    Token,
    lexicon,
    stem_of,
)

ALIKE: Final = 0.6
"""How nearly a word must mean another one for its negation to count."""


NEARLY: Final = 0.8
"""The same of a word of the evidence that is denied."""


def polarity(aligned: Alignment) -> Clash | None:
    """A word that is denied on one side only, where no sentence that fits nearly as well agrees."""
    own = aligned.negated
    if not word_set("open").isdisjoint(aligned.words):
        return None
    for i in aligned.content:
        token = aligned.tokens[i]
        if token.kind not in {WORD, NAME} or len(token.stem) < _shortest(aligned):
            continue
        if not own[i] and not any(
            all(line.negated[p] for p in places)
            for line in filter(aligned.carries, aligned.lines[:4])
            if (places := aligned.found(i, line)[0])
        ):
            continue
        mine = _denials(aligned.tokens, aligned.text, aligned.clauses, i)
        if mine is None:
            continue
        found: list[tuple[float, bool, Line, int]] = []
        for line in filter(aligned.carries, aligned.lines[:4]):
            places, grade = aligned.found(i, line)
            if not places or grade < (ALIKE if own[i] else NEARLY):
                continue
            place = max(places, key=lambda p: aligned.fit(i, line, p))
            theirs = _denials(line.tokens, line.text, line.clauses, place)
            agrees = theirs is None or (mine - theirs) % 2 == 0 or not (own[i] or line.negated[place])
            found.append((aligned.fit(i, line, place), agrees, line, place))
        best = max(found, key=lambda one: one[:2], default=None)
        if best is None or best[0] < FITS / 2 or best[1] or any(ok and fit >= 0.6 * best[0] for fit, ok, *_ in found):
            continue
        _, _, line, place = best
        if not aligned.speaks_of(i, line, place) or _opposed(aligned, line, aligned.tokens[max(0, i - 2) : i + 3]):
            continue
        says = around(aligned, i)
        return Clash("negation", says, around(line, place), line.passage, line.sentence)
    return None


def _shortest(aligned: Alignment) -> int:
    """Letters of a word that may be denied: where rarity is not known, short words are most often grammar's."""
    return 2 if aligned.language == LANGUAGE or not aligned.text[:1].isascii() else 5


def _denials(tokens: Sequence[Token], text: str, numbers: Sequence[int], i: int) -> int | None:
    """How many words of a word's clause deny something; None where "not until" and the like leave it open."""
    failing, until, leaving = word_set("failing"), word_set("until"), word_set("open")
    count = 0
    for k in range(max(0, i - SCOPE), min(len(tokens), i + SCOPE)):
        if numbers[k] != numbers[i]:
            continue
        word = text[tokens[k].start : tokens[k].end].lower()
        count += tokens[k].kind == NEGATION or (word in failing and word_at(tokens, text, k + 1) == "to")
        if (word in until and count) or word in leaving:
            return None
    return count


def _opposed(aligned: Alignment, line: Line, tokens: Sequence[Token]) -> bool:
    """Whether a sentence has the opposite of a word that it lacks: "closed" where the statement has "not open"."""
    return any(
        opposite in line.places
        for token in tokens
        if token.stem not in line.places
        for opposite in opposites(token.stem, aligned.language)
    )


@lru_cache(maxsize=1)
def _excepting() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{slot_lists()['exceptions']})\b(?: for\b)?", re.IGNORECASE)


def exception(aligned: Alignment) -> tuple[Clash | None, bool]:
    """A statement of what the evidence excepts, or of all where the evidence excepts some.

    The flag is true where the statement denies what is excepted, as it should: its negation is no clash then.
    """
    if _excepting().search(aligned.text):
        return None, False
    for line in filter(aligned.carries, aligned.lines[:2]):
        found = _excepting().search(line.text)
        if found is None:
            continue
        begin = next((p for p, token in enumerate(line.tokens) if token.start >= found.end()), len(line.tokens))
        spots = range(begin, min(len(line.tokens), begin + SCOPE))
        last = next((p for p in spots[1:] if line.clauses[p] != line.clauses[begin]), spots.stop)
        spots = range(begin, last)
        held = {j: aligned.found(j, line)[0] for j in aligned.content}
        inside = [j for j, places in held.items() if places and all(p in spots for p in places)]
        says = next((j for j, word in enumerate(aligned.words) if word in word_set("universal")), None)
        has = shortened(line.text[found.start() : line.tokens[spots[-1]].end]) if spots else ""
        if inside and has:
            denied = _denies(aligned) or _opposed(aligned, line, aligned.tokens)
            spoken = around(aligned, inside[0])
            return (None, True) if denied else (Clash("exception", spoken, has, line.passage, line.sentence), False)
        if says is not None and has:
            return Clash("exception", around(aligned, says), has, line.passage, line.sentence), False
    return None, False


def _denies(aligned: Alignment) -> bool:
    return any(token.kind == NEGATION for token in aligned.tokens)


def forbidden(aligned: Alignment) -> Clash | None:
    """A statement that allows or asks for what the best sentence forbids."""
    banned, allowed = word_set("forbidden"), word_set("allowed")
    if not banned.isdisjoint(aligned.words) or _denies(aligned):
        return None
    for line in aligned.lines[:2]:
        for p in range(len(line.tokens)):
            word = word_at(line.tokens, line.text, p)
            if not (word in banned or (word in allowed and line.negated[p])):
                continue
            held = {
                aligned.tokens[j].stem: aligned.weights[aligned.tokens[j].stem]
                for j in aligned.content
                for k in aligned.found(j, line)[0]
                if line.clauses[k] == line.clauses[p]
            }
            if len(held) >= 3 and sum(held.values()) >= BANNED:
                return whole("negation", aligned, line)
    return None


CARRIES: Final = 0.6
"""The share of a statement that a sentence must have for its being asked or doubted to count."""


SHORT: Final = 40
"""Words of such a sentence; a longer one says more besides."""

_ASKING: Final = ("?", "\uff1f", "\u061f")


@lru_cache(maxsize=16)
def _doubts(language: str) -> frozenset[str]:
    return frozenset(stem_of(word, language) for word in lexicon()["doubts"].get(language, "").split())


def doubted(aligned: Alignment) -> Clash | None:
    """A statement that the evidence only asks, or calls false, where no other sentence says nearly as much of it."""
    doubts = _doubts(aligned.language)
    asks = aligned.text.rstrip().endswith(_ASKING) or not doubts.isdisjoint(token.stem for token in aligned.tokens)
    if asks or not aligned.total:
        return None
    best: tuple[float, Line] | None = None
    for line in aligned.lines[:4]:
        held = aligned.weight_in(line)
        asked = line.text.rstrip().endswith(_ASKING) or not doubts.isdisjoint(line.places)
        questionable = asked and len(line.tokens) <= SHORT
        if best is None:
            if not questionable or held < CARRIES * aligned.total:
                return None
            best = held, line
        elif not questionable and held >= 0.8 * best[0]:
            return None
    assert best is not None
    return whole("doubt", aligned, best[1])


BANNED: Final = 10.0
"""The weight of a statement's words, three at least, that must stand in the clause that forbids."""

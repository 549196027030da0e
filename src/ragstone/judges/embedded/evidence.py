"""Find the best window of sentences for a statement, with the statement's words that it has and lacks."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec import Struct

from ragstone.judges.embedded.alignment import Alignment, Clash
from ragstone.judges.embedded.library import Library, Stretch
from ragstone.judges.embedded.modality import asks, doubted
from ragstone.judges.embedded.qualified import unqualified
from ragstone.judges.embedded.slots import clash
from ragstone.judges.embedded.statement import Masks, Statement, masks_of, windows_of
from ragstone.judges.embedded.thesaurus import LANGUAGE, likes, opposites, word_set
from ragstone.judges.embedded.words import (
    NAME,
    NEGATION,
    NUMBER,
    WORD,
    Token,
    listed_stems,
    listed_words,
    pronouns,
    stem_of,
)

_JOINED: Final = re.compile(r"(?:-\w+)+")
WORDS_NAMED: Final = 5  # maximum words named in a reason
LITTLE: Final = 0.1  # minimum share of a statement that a second window, or part of one, must add to be quoted
TELLING: Final = 3.0  # minimum weight of a word that is meaningful by itself
BRIEF: Final = 3  # content words of a statement that is supported only if the windows have ...
MOST: Final = 0.7  # ... this share of them
BEHIND: Final = 3  # maximum distance of what a statement says of its subject from "is"
ALIKE: Final = 0.85  # minimum similarity of two spellings of a word: "haemophilia", "hemophilia"
QUOTED: Final = 240  # characters of a sentence that is quoted in clauses
GAP: Final = 40  # maximum characters between two parts that are quoted together
SHORTEST: Final = 80  # minimum characters of a part of a sentence; shorter clauses stay with the next one
_CLAUSE: Final = re.compile(r"[,;:.!?)]['\"\u201d\u2019]*\s+|\s[-\u2013\u2014]\s|\n\s*|(?<=[\u3001\u3002\uff0c\uff1b])")
_BETWEEN: Final = " \n,;:-\u2013\u2014"
"""Signs between two clauses, which are not quoted."""


class Features(NamedTuple):
    """The features of the support model, all in [0, 1]."""

    words: float  # share of the statement's distinct content words found anywhere in the passages
    everywhere: float  # the same, weighted by rarity
    near: float  # the same in the best window and the one that adds most to it; synonyms count in part
    pairs: float  # share of adjacent word pairs that are also adjacent in the best window
    middle: float  # share of the statement's middle third found in these windows
    last: float  # ... and of the last third
    heaviest: float  # weight of the rarest word found in no passage, divided by 10
    overstated: float  # 1 if the statement has a word such as "all", "only" or "always" that the windows lack
    doubted: float  # 1 if the best window only doubts or asks what the statement says
    voice: float  # 1 if the statement is in the first person and no passage is


WORSE: Final = frozenset(("heaviest", "overstated", "doubted", "voice"))
"""Features whose increase never raises the probability of support."""


class Finding(Struct, frozen=True):
    """The result of looking up one statement: features, best windows, and words found in no passage, in order.

    There are at most ``WORDS_NAMED`` ``missing`` words: numbers first, then names, then the rarest; ``unnamed`` counts
    the others. ``telling`` are those of them that are meaningful by themselves. ``echoed``: all of them occur in the
    question. ``clash`` is a fact that the evidence states differently. ``quotes`` are the parts of the windows that
    decide. ``partial``: a word that a brief statement is about is missing, so it cannot be supported ("The lid is gold"
    by "The lid is made of steel").
    """

    features: Features
    windows: tuple[Stretch, ...]
    missing: tuple[str, ...]
    shared: tuple[str, ...]
    words: int
    share: float
    clash: Clash | None = None
    telling: tuple[str, ...] = ()
    echoed: bool = False
    quotes: tuple[tuple[int, int, int], ...] = ()
    partial: bool = False
    unnamed: int = 0


def find(
    claim: str,
    library: Library,
    ignored: frozenset[str] = frozenset(),
    *,
    asked: Collection[str] = (),
    slots: bool = True,
) -> Finding:
    """Look up one statement in the passages; ``ignored`` are stems that do not count as its content.

    ``asked`` are stems of the question, which the passages need not contain. ``slots``: whether to look for facts that
    the evidence states differently.
    """
    statement = Statement(claim, library, ignored)
    masks, union = masks_of(statement, library)
    windows = windows_of(statement, masks, library)
    in_best = windows[0][1] if windows else 0
    surfaces: dict[str, str] = {}
    for token in statement.tokens:
        joined = _JOINED.match(claim, token.end) if token.end - token.start == 1 else None  # "e-bikes"
        surfaces.setdefault(token.stem, claim[token.start : joined.end() if joined else token.end])
    shared = tuple(surfaces[s] for i, s in enumerate(statement.stems) if in_best >> i & 1)
    # Function words are in every text, so finding only them means nothing.
    least = statement.share(in_best) + LITTLE
    kept = [
        place for n, (place, mask) in enumerate(windows) if mask and (not n or statement.share(mask | in_best) >= least)
    ]
    places = () if statement.functional else tuple(kept)
    found = None
    if slots and places:
        aligned = Alignment(claim, statement, masks, library, asked)
        copied = _copied(statement, library.tokens(places[0])) and not _bridged(aligned)
        found = doubted(aligned) or unqualified(aligned) if copied else clash(aligned)
        agreed = sum(
            {1 << statement.number[s] for i in aligned.agreed if (s := aligned.tokens[i].stem) in statement.weights}
        )
        union |= agreed
        windows = [(where, mask | agreed) for where, mask in windows]
    lost, unnamed = _telling(statement, union, asked)
    missing = tuple(surfaces[statement.stems[i]] for i in lost)
    telling = tuple(surfaces[statement.stems[i]] for i in lost if statement.w[i] >= TELLING)
    features = _features(claim, statement, library, union, windows)
    echoed = all(statement.stems[i] in asked for i in lost)
    share = statement.share(in_best)
    parts = tuple(quote for place in places for quote in _quotes(statement, masks, place, library))
    brief = len(statement.stems) <= BRIEF and features.near < MOST
    partial = brief and _lacks(claim, statement, union, places, library)
    words = len(statement.tokens)
    return Finding(features, places, missing, shared, words, share, found, telling, echoed, parts, partial, unnamed)


def _quotes(statement: Statement, masks: Masks, place: Stretch, library: Library) -> list[tuple[int, int, int]]:
    """Return passage, start and end of the parts of a window to quote: those that add most to the statement, in order.

    Close ones are joined.
    """
    parts = list(_parts(statement, masks, place, library))
    chosen: list[tuple[int, int, int]] = []
    held = 0
    while len(chosen) < len(parts):
        best = max(parts, key=lambda part: statement.share(held | part[2]))
        if chosen and statement.share(held | best[2]) < statement.share(held) + LITTLE:
            break
        chosen.append(best)
        held |= best[2]
    found: list[tuple[int, int, int]] = []
    for start, end, _ in sorted(chosen):
        if found and start - found[-1][2] <= GAP:
            found[-1] = (place.passage, found[-1][1], end)
        else:
            found.append((place.passage, start, end))
    return found


def _parts(statement: Statement, masks: Masks, place: Stretch, library: Library) -> Iterator[tuple[int, int, int]]:
    """Yield start and end of each sentence of a window, or clause of a long one, with the statement's words in it."""
    text = library.texts[place.passage]
    for number in range(place.first, place.last + 1):
        span, sentence = text.spans[number], text.sentence(number)
        cuts = _cuts(sentence) if len(sentence) > QUOTED and number not in text.rows else []
        if len(cuts) <= 2:
            yield span.start, span.end, masks.get((place.passage, number), 0)
            continue
        held = [0] * (len(cuts) - 1)
        for token in text.tokens(number):
            if (bit := statement.number.get(token.stem)) is not None:
                held[bisect_right(cuts, token.start) - 1] |= 1 << bit
        for (start, end), mask in zip(pairwise(cuts), held, strict=True):
            words = sentence[start:end].rstrip("" if end == len(sentence) else _BETWEEN)
            yield span.start + start, span.start + start + len(words), mask


def _cuts(sentence: str) -> list[int]:
    """Return the offsets between the clauses of a sentence, with both of its ends."""
    cuts = [0]
    for clause in _CLAUSE.finditer(sentence):
        if clause.end() - cuts[-1] >= SHORTEST and len(sentence) - clause.end() >= SHORTEST:
            cuts.append(clause.end())
    return [*cuts, len(sentence)]


def _copied(statement: Statement, window: Sequence[Token]) -> bool:
    """Return whether a window contains the statement verbatim and not negated, so it can only ask or doubt it."""
    own, theirs = ("\0".join(("", *(token.stem for token in some), "")) for some in (statement.tokens, window))
    at = theirs.find(own)
    return at == 0 or (at > 0 and window[theirs.count("\0", 0, at) - 1].kind != NEGATION)


def _bridged(aligned: Alignment) -> bool:
    """Return whether a copy leaves out a comma behind a name: "Tom founded it" of "Ann, sister of Tom, founded it"."""
    line, own = aligned.lines[0], aligned.stems
    at = next((k for k in range(1, len(line.tokens)) if [t.stem for t in line.tokens[k : k + len(own)]] == own), 0)
    ends = [last + 1 for _, last in aligned.names[:1] if last + 1 < len(own)]
    return at > 0 and any("," in line.between(at + k) and "," not in aligned.between(k) for k in ends)


@lru_cache(maxsize=1)
def grammar() -> frozenset[str]:
    """Return the stems that a reason never names: function words, pronouns and the like."""
    telling = {"only", "all", "both", "every", "each", "able", "allowed"}
    kinds = map(word_set, ("prepositions", "function", "light", "unnamed"))
    every = pronouns(LANGUAGE).union(*kinds)
    return frozenset(stem_of(word, LANGUAGE) for word in every - telling) | listed_stems("selves", LANGUAGE)


def _telling(statement: Statement, union: int, asked: Collection[str]) -> tuple[list[int], int]:
    """Return the missing words to name, by index, and how many others are missing.

    Words of the question are named and counted only if there are no others.
    """
    every = [i for i, stem in enumerate(statement.stems) if not union >> i & 1 and stem not in grammar()]
    lost = [i for i in every if statement.stems[i] not in asked] or every
    kinds = {token.stem: token.kind for token in statement.tokens}

    def told(i: int) -> tuple[bool, bool, float, int]:
        kind = kinds[statement.stems[i]]
        return kind == NUMBER, kind == NAME, statement.w[i], -i

    best = sorted(nlargest(WORDS_NAMED, lost, told))
    return best, len(lost) - len(best)


def _lacks(claim: str, statement: Statement, union: int, places: Sequence[Stretch], library: Library) -> bool:
    """Return whether the windows lack a word behind "is" or the like, its opposite and other spellings of it.

    A negated statement may be true because they lack it, so this returns False.
    """
    words = [claim[token.start : token.end].lower() for token in statement.tokens]
    copulas = listed_words("copulas", library.language)
    there = grammar().union(token.stem for where in places for token in library.tokens(where))
    return all(token.kind != NEGATION for token in statement.tokens) and any(
        not copulas.isdisjoint(words[max(0, i - BEHIND) : i])
        and there.isdisjoint(opposites(token.stem, library.language))
        and not get_close_matches(token.stem, there, 1, ALIKE)
        for i, token in enumerate(statement.tokens)
        if token.kind == WORD and token.stem in statement.weights and not union >> statement.number[token.stem] & 1
    )


def _features(
    claim: str, statement: Statement, library: Library, union: int, windows: list[tuple[Stretch, int]]
) -> Features:
    place, held = windows[0] if windows else (None, 0)
    both = held | (windows[1][1] if len(windows) > 1 else 0)
    there = {token.stem for where, _ in windows for token in library.tokens(where)}
    own = [token.stem for token in statement.tokens]
    grade = _grades(statement, library, there, both)
    content = [stem for stem in own if stem in statement.weights]
    lost = (w for i, w in enumerate(statement.w) if not union >> i & 1)
    strong, selves = (listed_stems(kind, library.language) for kind in ("strong", "selves"))

    def share(words: Sequence[str]) -> float:
        total = math.fsum(statement.weights[stem] for stem in words)
        return math.fsum(statement.weights[stem] * grade[stem] for stem in words) / total if total else 1.0

    third = len(content) // 3, 2 * len(content) // 3
    return Features(
        words=union.bit_count() / (len(statement.stems) or 1),
        everywhere=statement.share(union),
        near=min(1.0, share(statement.stems)) if statement.stems else 0.0,
        pairs=_pairs(own, library.stems(place) if place else []),
        middle=share(content[third[0] : third[1]]),
        last=share(content[third[1] :]),
        heaviest=max(lost, default=0.0) / 10,
        overstated=float(any(s in own and s not in there for s in strong)),
        doubted=_doubted(claim, own, there, place, library),
        voice=float(any(s in own for s in selves) and not any(map(library.has, selves))),
    )


def _grades(statement: Statement, library: Library, there: set[str], mask: int) -> dict[str, float]:
    """Return the grade of each content word in the windows: 1 if found, else that of its closest synonym."""
    grades: dict[str, float] = {}
    for i, stem in enumerate(statement.stems):
        if mask >> i & 1:
            grades[stem] = 1.0
        else:
            like = likes(stem, library.language) if stem[:1] not in "#@" else {}
            grades[stem] = max((grade for other, grade in like.items() if other in there), default=0.0)
            if not grades[stem] and len(stem) > 5 and any(other.startswith(stem[:5]) for other in there):
                grades[stem] = 0.5
    return grades


def _pairs(own: Sequence[str], window: Sequence[str]) -> float:
    mine = set(pairwise(own))
    return len(mine & set(pairwise(window))) / len(mine) if mine else 0.0


def _doubted(claim: str, own: Sequence[str], there: set[str], place: Stretch | None, library: Library) -> float:
    doubts = listed_stems("doubts", library.language)
    if doubts and doubts.isdisjoint(own) and not doubts.isdisjoint(there):
        return 1.0
    if asks(claim) or place is None:
        return float(place is not None)
    text = library.texts[place.passage]
    return float(all(asks(text.sentence(n)) for n in range(place.first, place.last + 1)))

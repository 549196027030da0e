"""How far passages carry a statement: the best window of sentences, what of the statement it has, and what it lacks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise
from typing import Final, NamedTuple

from ragstone.judges.embedded.alignment import Alignment, Clash
from ragstone.judges.embedded.denials import doubted
from ragstone.judges.embedded.library import Library, Place
from ragstone.judges.embedded.slots import clash
from ragstone.judges.embedded.statement import Statement, masks_of, windows_of
from ragstone.judges.embedded.thesaurus import likes
from ragstone.judges.embedded.words import NAME, NUMBER, lexicon, stem_of
from ragstone.segment import sentences

WORDS_NAMED: Final = 5
"""The most words that a reason names."""

TELLING: Final = 3.0
"""The weight of a word that says something by itself."""

LONG: Final = 24
"""Words from which a statement's own sentences are looked for one by one."""

_ASKING: Final = ("?", "\uff1f", "\u061f")


class Features(NamedTuple):
    """What the support model sees, all of it in [0, 1]. More is never worse, but of the last five."""

    words: float
    """Share of the statement's different content words that stand anywhere in the passages."""
    everywhere: float
    """The same by their rarity."""
    window: float
    """Share, by rarity, in the best window of one to three neighbouring sentences."""
    two: float
    """The same in the best window and the one that adds most to it."""
    near: float
    """In these, words that mean nearly the same counted in part."""
    pairs: float
    """Share of neighbouring words that are neighbours in the best window, too."""
    close: float
    """Share of neighbouring content words that stand close together there."""
    middle: float
    """Share found of the middle third of the statement, in these windows."""
    last: float
    """... and of the last third."""
    weakest: float
    """Share found of the statement's own sentence of which least is found."""
    gap: float
    """The longest run of content words that nothing in the passages is like, by rarity."""
    heaviest: float
    """The rarest word that no passage has, by its rarity, over 10."""
    overstated: float
    """1 if the statement says all, only, always, and the window does not."""
    doubted: float
    """1 if the window doubts or only asks what the statement says."""
    voice: float
    """1 if the statement speaks of its speaker, and no passage of one."""


WORSE: Final = frozenset(("gap", "heaviest", "overstated", "doubted", "voice"))
"""The features of which more is never held in a statement's favour."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found for one statement: the features, the best windows, the words that no passage has, in order.

    Of the ``missing`` words there are at most ``WORDS_NAMED``: numbers, else names, else the rarest; ``telling`` are
    those of them that say something by themselves. ``clash`` is a fact that the evidence puts otherwise.
    """

    features: Features
    windows: tuple[Place, ...]
    missing: tuple[str, ...]
    shared: tuple[str, ...]
    words: int
    clash: Clash | None = None
    telling: tuple[str, ...] = ()


def find(
    claim: str,
    library: Library,
    ignored: frozenset[str] = frozenset(),
    *,
    asked: Iterable[str] = (),
    slots: bool = True,
) -> Finding:
    """Hold one statement against the passages; ``ignored`` are stems that do not count as its content.

    ``asked`` are stems of the question, which the statement need not get from the passages. ``slots``: whether to
    look for facts that the evidence puts otherwise.
    """
    statement = Statement(claim, library, ignored)
    masks, union = masks_of(statement, library)
    windows = windows_of(statement, masks, library)
    in_best = windows[0][1] if windows else 0
    surfaces: dict[str, str] = {}
    for token in statement.tokens:
        surfaces.setdefault(token.stem, claim[token.start : token.end])
    lost = _telling(statement, union)
    missing = tuple(surfaces[statement.stems[i]] for i in lost)
    telling = tuple(surfaces[statement.stems[i]] for i in lost if statement.w[i] >= TELLING)
    shared = tuple(surfaces[s] for i, s in enumerate(statement.stems) if in_best >> i & 1)
    # Words of grammar alone are in every text: to find them is to find nothing.
    places = () if statement.functional else tuple(place for place, mask in windows if mask)
    found = None
    if slots and places:
        aligned = Alignment(claim, statement, masks, library, asked)
        found = doubted(aligned) if _copied(statement, library.stems(places[0])) else clash(aligned)
        agreed = sum(
            {1 << statement.number[s] for i in aligned.agreed if (s := aligned.tokens[i].stem) in statement.weights}
        )
        union |= agreed
        windows = [(where, mask | agreed) for where, mask in windows]
    features = _features(claim, statement, library, union, windows)
    return Finding(features, places, missing, shared, len(statement.tokens), found, telling)


def _copied(statement: Statement, window: Sequence[str]) -> bool:
    """Whether a window has the statement word for word, so that it can only ask or doubt it."""
    return "\0".join(("", *(token.stem for token in statement.tokens), "")) in "\0".join(("", *window, ""))


def _telling(statement: Statement, union: int) -> list[int]:
    """The words that no passage has, by number, as many as a reason names."""
    lost = [i for i in range(len(statement.stems)) if not union >> i & 1]
    if len(lost) <= WORDS_NAMED:
        return lost
    kinds = {token.stem: token.kind for token in statement.tokens}

    def told(i: int) -> tuple[bool, bool, float, int]:
        kind = kinds[statement.stems[i]]
        return kind == NUMBER, kind == NAME, statement.w[i], -i

    return sorted(nlargest(WORDS_NAMED, lost, told))


def _features(
    claim: str, statement: Statement, library: Library, union: int, windows: list[tuple[Place, int]]
) -> Features:
    place, held = windows[0] if windows else (None, 0)
    both = held | (windows[1][1] if len(windows) > 1 else 0)
    line = [token for where, _ in windows for token in library.tokens(where)]
    first = library.tokens(place) if place else []
    own = [token.stem for token in statement.tokens]
    count = len(statement.stems) or 1
    there = {token.stem for token in line}
    grade = _grades(statement, library, there, both)
    total = statement.total or 1.0
    thirds = _thirds(statement, own, grade)
    stems = [token.stem for token in first]
    two = statement.share(both)
    lists = _lists(library.language)
    return Features(
        words=union.bit_count() / count,
        everywhere=statement.share(union),
        window=statement.share(held),
        two=two,
        near=min(1.0, math.fsum(statement.weights[s] * g for s, g in grade.items()) / total),
        pairs=_pairs(own, stems),
        close=_close(statement, stems),
        middle=thirds[1],
        last=thirds[2],
        weakest=_weakest(claim, library) if len(own) > LONG else two,
        gap=_gap(statement, grade, union),
        heaviest=max((statement.w[i] for i in range(len(statement.stems)) if not union >> i & 1), default=0.0) / 10,
        overstated=float(any(s in own and s not in there for s in lists["strong"])),
        doubted=_doubted(claim, own, there, place, library),
        voice=float(any(s in own for s in lists["selves"]) and not _has(lists["selves"], library)),
    )


def _grades(statement: Statement, library: Library, there: set[str], mask: int) -> dict[str, float]:
    """How much of each content word the windows have: 1, or the grade of the word most like it."""
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


def _gap(statement: Statement, grades: dict[str, float], union: int) -> float:
    """Weight of the heaviest run of neighbouring content words that nothing is like, over 30, at most 1."""
    most = run = 0.0
    for token in statement.tokens:
        if token.stem not in statement.weights:
            continue
        if grades[token.stem] or union >> statement.number[token.stem] & 1:
            run = 0.0
        else:
            run += statement.weights[token.stem]
            most = max(most, run)
    return min(1.0, most / 30)


def _thirds(statement: Statement, own: Sequence[str], grades: dict[str, float]) -> tuple[float, float, float]:
    content = [s for s in own if s in statement.weights]
    shares = []
    for part in range(3):
        words = content[part * len(content) // 3 : (part + 1) * len(content) // 3]
        total = math.fsum(statement.weights[s] for s in words)
        shares.append(math.fsum(statement.weights[s] * grades[s] for s in words) / total if total else 1.0)
    return shares[0], shares[1], shares[2]


def _pairs(own: Sequence[str], window: Sequence[str]) -> float:
    mine = set(pairwise(own))
    return len(mine & set(pairwise(window))) / len(mine) if mine else 0.0


def _close(statement: Statement, window: Sequence[str]) -> float:
    """Neighbouring content words whose first places in the window are at most six words apart."""
    content = [token.stem for token in statement.tokens if token.stem in statement.weights]
    if len(content) < 2:
        return 1.0
    places: dict[str, int] = {}
    for i, stem in enumerate(window):
        places.setdefault(stem, i)
    near = sum(abs(places[a] - places[b]) <= 6 for a, b in pairwise(content) if a in places and b in places)
    return near / (len(content) - 1)


def _weakest(claim: str, library: Library) -> float:
    shares = [1.0]
    for text in {claim[span.start : span.end] for span in sentences(claim, library.language)}:
        statement = Statement(text, library)
        masks, _ = masks_of(statement, library)
        windows = windows_of(statement, masks, library)
        if statement.total:
            shares.append(statement.share(windows[0][1]) if windows else 0.0)
    return min(shares)


@lru_cache(maxsize=64)
def _lists(language: str) -> dict[str, frozenset[str]]:
    words = lexicon()
    return {
        kind: frozenset(stem_of(word, language) for word in words[kind].get(language, "").split())
        for kind in ("strong", "doubts", "selves")
    }


def _has(stems: frozenset[str], library: Library) -> bool:
    return any(map(library.has, stems))


def _doubted(claim: str, own: Sequence[str], there: set[str], place: Place | None, library: Library) -> float:
    doubts = _lists(library.language)["doubts"]
    if doubts and doubts.isdisjoint(own) and not doubts.isdisjoint(there):
        return 1.0
    if claim.rstrip().endswith(_ASKING) or place is None:
        return float(place is not None)
    text = library.texts[place.passage]
    return float(all(text.text[s.start : s.end].endswith(_ASKING) for s in text.spans[place.first : place.last + 1]))

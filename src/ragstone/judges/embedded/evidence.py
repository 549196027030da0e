"""How well passages carry a statement: the best window of sentences, and what of the statement it lacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise
from typing import Final

from ragstone.judges.embedded.clashes import CLASHES, clashes
from ragstone.judges.embedded.library import Library, Place
from ragstone.judges.embedded.model import CONTENT, DIGITS
from ragstone.judges.embedded.statement import Masks, Statement, masks_of, strongest, windows_of
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, WORD, lexicon, negated, stem_of
from ragstone.segment import sentences

CLOSE: Final = 6
"""Words within which two neighbours of a claim are looked for in a window."""

PLACES: Final = 6
"""Places of a word in a window that are looked at."""

WORDS_NAMED: Final = 5
"""The most words that a reason names."""

ALIGNED: Final = 256
"""Words of a claim or a window that are compared in order."""

_PLAIN: Final = (
    "best_one",            # share of the claim's word weight in the best single sentence
    "best_window",         # ... in the best window of one to three neighbouring sentences
    "best_two",            # ... in the best window and one more that adds most to it
    "everywhere",          # ... in all passages together
    "plain_window",        # share of its different content words in the best window
    "plain_everywhere",
    "near",                # best window, counting words that share a long beginning as half
    "missing_count",       # content words in no passage, at most 8
    "missing_weight",      # weight of the heaviest of them
    "window_missing",      # content words not in the best window, at most 8
    "window_missing_weight",
    "window_missing_mean",
    "numbers",             # numbers in the claim, at most 4
    "numbers_missing",     # of them, in no passage
    "numbers_astray",      # of them, not in the best window
    "names",               # names in the claim, at most 6
    "names_missing",
    "names_astray",
    "negation_clash",      # a shared word is negated on one side only
    "negation_claim",
    "negation_window",
    "opposite",            # the window has the opposite of a word that the claim has and it lacks
    "pairs",               # share of neighbouring word pairs of the claim that are neighbours in the window
    "content_pairs",       # the same, function words left out
    "order",               # longest common subsequence of all words over the claim's length
    "content_order",
    "run",                 # longest run of the claim's words that the window has, over the claim's length
    "density",             # matched words over the stretch of window that they lie in
    "first_third",         # weight found of the claim's first, middle and last third
    "middle_third",
    "last_third",
    "grammar",             # share of the claim's function words in the window
    "parts_mean",          # over the claim's own sentences: mean of their best windows
    "parts_least",         # ... and the worst
    "length",              # log of the claim's words
    "content_length",
    "claim_sentences",
    "context_length",      # log of the passages' words
    "context_sentences",
    "window_words",
    "tail_missing",        # the claim's last content word is not in the window
    "cohesion",  # share of neighbouring content words of the claim that stand close together in the window
    "loosest",  # the same for the worst word, by its two neighbours
    "loosest_number",  # ... for the worst number, 1 without numbers
    "loosest_name",  # ... for the worst name, 1 without names
    "reversed",  # share of neighbouring content words that stand close, in the other order
    "unmatched_window",    # weight of the window's words that the claim lacks, near its matches
)  # fmt: skip

FEATURES: Final = (*_PLAIN, *CLASHES)
"""What the support model sees, in order."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found for one statement: the features, the best windows, and words that no passage has, in order.

    Of the ``missing`` words there are at most ``WORDS_NAMED``: numbers, else names, else the rarest.
    """

    features: tuple[float, ...]
    windows: tuple[Place, ...]
    missing: tuple[str, ...]
    shared: tuple[str, ...]
    words: int


def find(claim: str, library: Library, ignored: frozenset[str] = frozenset()) -> Finding:
    """Hold one statement against the passages; ``ignored`` are stems that do not count as its content."""
    statement = Statement(claim, library, ignored)
    masks, union = masks_of(statement, library)
    windows = windows_of(statement, masks, library)
    best = windows[0] if windows else None
    strong = strongest(statement, masks, library)
    one = max((statement.share(mask) for mask in strong.values()), default=0.0)
    features = _features(claim, statement, library, union, windows, one, strong)
    in_best = best[1] if best else 0
    surfaces: dict[str, str] = {}
    for token in statement.tokens:
        surfaces.setdefault(token.stem, claim[token.start : token.end])
    missing = tuple(surfaces[statement.stems[i]] for i in _telling(statement, union))
    shared = tuple(surfaces[s] for i, s in enumerate(statement.stems) if in_best >> i & 1)
    # Words of grammar alone are in every text: to find them is to find nothing.
    places = () if statement.functional else tuple(place for place, mask in windows if mask)
    return Finding(features, places, missing, shared, len(statement.tokens))


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
    claim: str,
    statement: Statement,
    library: Library,
    union: int,
    windows: list[tuple[Place, int]],
    one: float,
    strong: Masks,
) -> tuple[float, ...]:
    tokens = statement.tokens
    place, held = windows[0] if windows else (None, 0)
    line = library.tokens(place) if place else []
    window = [token.stem for token in line]
    inside = set(window)
    stems, w = statement.stems, statement.w
    count = len(stems) or 1
    functional = _functional(library)
    lost = [i for i in range(len(stems)) if not union >> i & 1]
    astray = [i for i in range(len(stems)) if not held >> i & 1]
    near = _near([stems[i] for i in astray], inside)
    numbers = {t.stem for t in tokens if t.kind == NUMBER}
    names = {t.stem for t in tokens if t.kind == NAME}
    anywhere = {s for i, s in enumerate(stems) if union >> i & 1}
    claim_negated = negated(tokens, functional)
    window_negated = negated(line, functional)
    window_negations = sum(t.kind == NEGATION for t in line)
    claim_negations = sum(t.kind == NEGATION for t in tokens)
    own = [t.stem for t in tokens]
    content = [s for s in own if s in statement.weights]
    window_content = [s for s in window if library.weight(s) >= CONTENT]
    thirds = _thirds(statement, own, inside)
    grammar = {s for s in own if s not in statement.weights}
    by_part = _by_part(claim, library) if len(tokens) > 24 else []
    share = statement.share(held)
    opposites = _opposites(library.language)
    return (
        one,
        share,
        statement.share(held | (windows[1][1] if len(windows) > 1 else 0)),
        statement.share(union),
        held.bit_count() / count if stems else 0.0,
        union.bit_count() / count if stems else 0.0,
        share + 0.5 * math.fsum(w[statement.number[s]] for s in near) / statement.total if statement.total else 0.0,
        min(8.0, len(lost)),
        max((w[i] for i in lost), default=0.0),
        min(8.0, len(astray)),
        max((w[i] for i in astray), default=0.0),
        math.fsum(w[i] for i in astray) / len(astray) if astray else 0.0,
        min(4.0, len(numbers)),
        min(4.0, len(numbers - anywhere)),
        min(4.0, len(numbers - inside)),
        min(6.0, len(names)),
        min(6.0, len(names - anywhere - inside)),
        min(6.0, len(names - inside)),
        float(bool((claim_negated ^ window_negated) & inside & set(own))),
        float(min(2, claim_negations)),
        float(min(2, window_negations)),
        float(any(opposites.get(s, frozenset()) & inside for s in own if s not in inside)),
        _pairs(own, window),
        _pairs(content, window_content),
        _subsequence(own, window),
        _subsequence(content, window_content),
        _run(own, window),
        _density(statement, window),
        *thirds,
        len(grammar & inside) / len(grammar) if grammar else 0.5,
        math.fsum(by_part) / len(by_part) if by_part else share,
        min(by_part, default=share),
        _log(len(tokens)),
        _log(len(stems)),
        min(8.0, len(by_part) or 1),
        _log(library.words),
        _log(library.sentences),
        _log(len(window)),
        float(bool(content) and content[-1] not in inside),
        *_cohesion(statement, window),
        _between(statement, window, library),
        *clashes(claim, statement, library, strong, place),
    )


def _log(count: int) -> float:
    """Rounded, since the last bit of a logarithm may differ between machines."""
    return round(math.log1p(count), DIGITS)


def _functional(library: Library) -> Callable[[str], bool]:
    weight = library.weight
    return lambda stem: weight(stem) < CONTENT


def _near(missing: list[str], inside: set[str]) -> list[str]:
    """Of the missing words, those that share a long beginning with a word of the window."""
    heads: dict[str, list[str]] = {}
    for stem in inside:
        if len(stem) >= 5:
            heads.setdefault(stem[:4], []).append(stem)
    return [
        stem for stem in missing if len(stem) >= 5 and any(_alike(stem, other) for other in heads.get(stem[:4], ()))
    ]


def _alike(one: str, other: str) -> bool:
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= 0.65 * max(len(one), len(other))


def _thirds(statement: Statement, own: list[str], inside: set[str]) -> tuple[float, float, float]:
    cut = max(1, math.ceil(len(own) / 3))
    shares = []
    for start in (0, cut, 2 * cut):
        weights = [(statement.weights[s], s in inside) for s in own[start : start + cut] if s in statement.weights]
        total = math.fsum(x for x, _ in weights)
        shares.append(math.fsum(x for x, found in weights if found) / total if total else 1.0)
    return shares[0], shares[1], shares[2]


def _pairs(own: list[str], window: list[str]) -> float:
    mine = set(pairwise(own))
    return len(mine & set(pairwise(window))) / len(mine) if mine else 0.0


def _places(stems: list[str]) -> dict[str, int]:
    """Where each stem stands, as bits."""
    where: dict[str, int] = {}
    for i, stem in enumerate(stems):
        where[stem] = where.get(stem, 0) | 1 << i
    return where


def _subsequence(own: list[str], window: list[str]) -> float:
    """Longest common subsequence over the claim's length, by bits: linear in the window for a bounded claim."""
    own, window = own[:ALIGNED], window[:ALIGNED]
    if not own:
        return 0.0
    where = _places(own)
    full = (1 << len(own)) - 1
    row = full
    for stem in window:
        hit = row & where.get(stem, 0)
        row = ((row + hit) | (row - hit)) & full
    return (len(own) - row.bit_count()) / len(own)


def _run(own: list[str], window: list[str]) -> float:
    own, window = own[:ALIGNED], window[:ALIGNED]
    if not own:
        return 0.0
    where = _places(own)
    best = 0
    current = rows = [where.get(stem, 0) for stem in window]
    while any(current):
        best += 1
        current = [a << 1 & b for a, b in zip(current, rows[best:], strict=False)]
    return best / len(own)


def _density(statement: Statement, window: list[str]) -> float:
    places = [i for i, stem in enumerate(window) if stem in statement.weights]
    if not places:
        return 0.0
    return len({window[i] for i in places}) / (places[-1] - places[0] + 1)


def _cohesion(statement: Statement, window: list[str]) -> tuple[float, float, float, float, float]:
    """Whether words that stand together in the claim stand together in the window, too.

    Two neighbours agree if some of their first places in the window are at most ``CLOSE`` words apart.
    """
    tokens = [token for token in statement.tokens if token.stem in statement.weights][:ALIGNED]
    if len(tokens) < 2:
        return 1.0, 1.0, 1.0, 1.0, 0.0
    places: dict[str, list[int]] = {}
    for i, stem in enumerate(window):
        if stem in statement.weights:
            known = places.setdefault(stem, [])
            if len(known) < PLACES:
                known.append(i)
    agree: list[bool] = []
    turned = 0
    for one, other in pairwise(tokens):
        gaps = [b - a for a in places.get(one.stem, ()) for b in places.get(other.stem, ())]
        gap = min(gaps, key=abs, default=None)
        close = gap is not None and abs(gap) <= CLOSE
        agree.append(close)
        turned += close and gap is not None and gap < 0
    least = {WORD: 1.0, NUMBER: 1.0, NAME: 1.0, NEGATION: 1.0}
    for i, token in enumerate(tokens):
        sides = agree[max(0, i - 1) : i + 1]
        least[token.kind] = min(least[token.kind], sum(sides) / len(sides))
    return sum(agree) / len(agree), min(least.values()), least[NUMBER], least[NAME], turned / len(agree)


def _between(statement: Statement, window: list[str], library: Library) -> float:
    """Weight per word of what stands between matched words and is not in the claim."""
    places = [i for i, stem in enumerate(window) if stem in statement.weights]
    if len(places) < 2:
        return 0.0
    inner = [library.weight(s) for s in window[places[0] : places[-1]] if s not in statement.weights]
    return math.fsum(x for x in inner if x >= CONTENT) / len(window)


def _by_part(claim: str, library: Library) -> list[float]:
    shares: list[float] = []
    known: dict[str, list[float]] = {}
    for span in sentences(claim, library.language):
        text = claim[span.start : span.end]
        if text not in known:
            statement = Statement(text, library)
            masks, _ = masks_of(statement, library)
            windows = windows_of(statement, masks, library)
            found = statement.share(windows[0][1]) if windows else 0.0
            known[text] = [found] if statement.total else []
        shares.extend(known[text])
    return shares


@lru_cache(maxsize=16)
def _opposites(language: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in lexicon()["opposites"].split():
        one, other = (stem_of(word, language) for word in pair.split("/"))
        if one != other:
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return {stem: frozenset(others) for stem, others in found.items()}

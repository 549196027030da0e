"""Load and apply the fitted numbers of the embedded judge.

``model.json`` contains the rarity of English stems and the support model with its calibration and cuts. It is made by
``training/``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal

from msgspec import Struct

from ragstone.judges.embedded.words import function_stems, nugget_lexicon, packaged
from ragstone.types import Scale

PLAIN_WEIGHT: Final = 4.0  # weight of a word in a language without counts; with counts, 0 to about 9
SHORT_WEIGHT: Final = 2.0  # ... of a word of four letters
FUNCTION_WEIGHT: Final = 0.5

_PARTICLES: Final = frozenset("的是在了和与或也都就把被从到对以及而之其这那有")  # Chinese function characters
CONTENT: Final = 2.0  # words with a lower weight are function words
DIGITS: Final = 9
"""Decimals to which logarithms and exponentials are rounded, since their last bit may differ between machines."""

_FILES: Final = (
    "model.json", "lexicon.json", "nuggets.json", "relevance.json", "slots.json", "thesaurus.txt", "trace.json",
)  # fmt: skip


Level = Literal["passage", "response", "statement"]  # the relevance models, by the kind of text
Weights = Mapping[str, float]  # feature weights of a small model by name, and its ``bias``


class Logistic(Struct, frozen=True):
    """A logistic model of standardised features, with its calibration and cuts.

    A unit gets the best label from ``yes`` and a middle one from ``maybe`` (if calibrated).
    """

    mean: Sequence[float]
    scale: Sequence[float]
    weight: Sequence[float]
    bias: float
    calibration: Sequence[float]
    yes: float
    maybe: float | None = None

    def log_odds(self, features: Sequence[float]) -> float:
        """Return the uncalibrated log-odds of the best label for a unit with these features."""
        rows = zip(self.weight, features, self.mean, self.scale, strict=True)
        return self.bias + math.fsum(weight * (x - mean) / scale for weight, x, mean, scale in rows if weight)


class Model(Struct, frozen=True):
    """The content of the model file. ``digest``: six hex digits that depend on all the data files."""

    digest: str
    language: str
    documents: int
    counts: Mapping[str, float]
    support: Logistic


@lru_cache(maxsize=1)
def digest() -> str:
    """Return six hex digits for the numbers and word lists of the judge."""
    folder = files("ragstone.judges.embedded")
    made = hashlib.sha256()
    for name in _FILES:
        made.update(folder.joinpath(name).read_bytes())
    return made.hexdigest()[:6]


@lru_cache(maxsize=1)
def model() -> Model:
    """Return the model of this version; it is read only once."""
    raw = packaged("model.json")
    rarity = raw["rarity"]
    return Model(
        digest=digest(),
        language=rarity["language"],
        documents=rarity["documents"],
        counts={stem: int(tenths) / 10 for tenths, stems in rarity["tenths"].items() for stem in stems.split()},
        support=Logistic(**raw["support"]),
    )


@lru_cache(maxsize=64)
def weigher(language: str) -> Callable[[str], float]:
    """Return a function from stems to weights: counted rarity, or an estimate by kind and length."""
    numbers = model()
    counts, rarest = numbers.counts, round(math.log(numbers.documents + 1), DIGITS)
    functional = function_stems(language)

    def by_kind(stem: str) -> float:
        """Return a low weight for listed function words and words like them: up to three letters, or with hiragana."""
        first = stem[0]
        short = first < "\u0e00" and first.isalpha()
        grammar = len(stem) <= 3 if short else any("\u3041" <= c <= "\u309f" or c in _PARTICLES for c in stem)
        if stem in functional or (grammar and (short or first >= "\u0e00")):
            return FUNCTION_WEIGHT
        return SHORT_WEIGHT if short and len(stem) == 4 else PLAIN_WEIGHT

    return (lambda stem: counts.get(stem, rarest)) if language == numbers.language else by_kind


def weighted(weights: Weights, features: Mapping[str, float]) -> float:
    """Return the weighted sum of the features plus the bias."""
    return weights["bias"] + math.fsum(weights[name] * x for name, x in features.items())


def probability(log_odds: float, calibration: Sequence[float]) -> float:
    """Return the calibrated probability of log-odds; always in [0, 1]."""
    slope, shift = calibration
    x = slope * log_odds + shift
    if math.isnan(x):
        return 0.0
    return round(1 / (1 + math.exp(-x)), DIGITS) if x > -700 else 0.0


def cuts_of(scale: Scale, yes: float, maybe: float | None = None) -> tuple[float, ...]:
    """Return the lowest probabilities of the second, third, ... label of a scale.

    Below ``maybe`` (half of ``yes`` if not calibrated) is the worst label, from ``yes`` the best; the range between is
    divided evenly. On a scale of five, 4 begins at ``yes``, so a claim is accepted on both scales or on neither, and 5
    begins halfway from there to 1.
    """
    low = yes / 2 if maybe is None else min(maybe, yes)
    steps = len(scale.labels) - 1
    if steps == 4:
        return (low, (low + yes) / 2, yes, (1 + yes) / 2)
    return (*(low + (yes - low) * step / (steps - 1) for step in range(steps - 1)), yes)


def label_of(scale: Scale, chance: float, yes: float, maybe: float | None = None) -> str:
    """Return the label for a probability."""
    return scale.labels[sum(chance >= cut for cut in cuts_of(scale, yes, maybe))]


def assignment_cuts() -> tuple[float, float]:
    """Return the lowest probabilities at which a response contains a nugget partly, and fully."""
    found = nugget_lexicon()["assign"]
    return found["partial"], found["support"]


def is_vital(closeness: float) -> bool:
    """Return whether a nugget is close enough to the question to be important."""
    return bool(closeness >= nugget_lexicon()["importance"]["vital"])


def level_of(levels: Sequence[str]) -> Level:
    """Return the level of the relevance model for the units of a call."""
    if all(level == "passage" for level in levels):
        return "passage"
    return "response" if all(level == "response" for level in levels) else "statement"


def relevance_label(scale: Scale, chance: float, *, strong: bool, related: bool, cut: float = 0.5) -> str:
    """Return the label closest to a probability.

    With more than two labels, the best requires ``strong``, and the worst requires not ``related``. ``cut`` is where
    the upper half of the scale begins; the labels keep their shares of each half.
    """
    chance = 0.5 * chance / cut if chance < cut else 0.5 + 0.5 * (chance - cut) / max(1 - cut, 1e-9)
    best = len(scale.labels) - 1
    near = int(best * chance + 0.5)
    if best > 1:
        near = max(int(related), min(near, best - (not strong)))
    return scale.labels[near]

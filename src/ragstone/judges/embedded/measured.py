"""Accuracy of the embedded judge on human labels, and the probabilities at which it is sure.

``docs/embedded-judge.md`` has all figures. ``training/evaluate_support.py --write`` computes those here on claims that
were not used for fitting. ``training/fit_band.py`` computes the bands on held-out training data. Error rates may
differ on other kinds of text.
"""

from __future__ import annotations

from msgspec import Struct

from ragstone.judges.cascade import SureBand
from ragstone.judges.embedded.words import packaged
from ragstone.questions import Task


class Measured(Struct, frozen=True):
    """Means over ``sets`` public data sets with human labels, ``rows`` claims in total.

    ``auroc`` is how often a supported claim scores above an unsupported one, in [0, 1], 0.5 by chance. ``floor`` is the
    AUROC of a baseline: the share of a claim's words found in the context. ``model`` is the digest of the measured
    model.
    """

    model: str
    sets: int
    rows: int
    auroc: float
    floor: float


def measured() -> Measured:
    """Return the figures of this version's model."""
    return Measured(**packaged("measured.json"))


def band_of(task: Task, error: float) -> SureBand | None:
    """Return the band fitted for the highest error rate up to ``error``, or None for a task without bands."""
    bands = packaged("band.json")["bands"].get(task)
    if bands is None:
        return None
    found = SureBand()
    for rate, below, above in bands:
        if rate <= error + 1e-9:
            found = SureBand(below, above)
    return found

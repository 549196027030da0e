"""Figures of the embedded judge on human labels, and the probabilities at which it is sure.

``docs/embedded-judge.md`` has the whole.

``training/evaluate_support.py --write`` makes the figures, of claims that nothing was fitted to, and
``training/fit_band.py`` the bands, of training data that was kept back. On texts of another kind their rates may not
hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragstone.judges.cascade import SureBand
from ragstone.judges.embedded.words import packaged
from ragstone.questions import Task


@dataclass(frozen=True, slots=True)
class Measured:
    """Means over ``sets`` public data sets with human labels, ``rows`` claims in all.

    ``auroc`` is how often the judge weighs a supported claim above one that is not, in [0, 1], 0.5 by chance; ``floor``
    is the same of the share of a claim's words that the context has. ``model`` is the digest of what was measured.
    """

    model: str
    sets: int
    rows: int
    auroc: float
    floor: float


def measured() -> Measured:
    """The figures of this version's model."""
    return Measured(**packaged("measured.json"))


def band_of(task: Task, error: float) -> SureBand | None:
    """The band of the next stricter error rate that was fitted; None of a task without bands."""
    bands = packaged("band.json")["bands"].get(task)
    if bands is None:
        return None
    found = SureBand()
    for rate, below, above in bands:
        if rate <= error + 1e-9:
            found = SureBand(below, above)
    return found

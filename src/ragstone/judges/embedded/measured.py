"""How the embedded judge does on human labels, and where it is sure; ``docs/embedded-judge.md`` has the whole.

``training/evaluate_support.py --write`` makes the figures, of claims that nothing was fitted to, and
``training/fit_band.py`` the bands, of training data that was kept back. On texts of another kind their rates may not
hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragstone.judges.cascade import Band
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


def bands() -> Mapping[str, Any]:
    """The ``model`` that the bands were fitted for, and by task the ``bands`` as (rate, below, above)."""
    found: Mapping[str, Any] = packaged("band.json")
    return found


def has_band(task: Task) -> bool:
    """Whether it was fitted for the task."""
    return task in bands()["bands"]


def band_of(task: Task, error: float) -> Band:
    """Where it errs at most so often, by the next stricter rate that was fitted; KeyError where ``has_band`` is not."""
    found = Band()
    for rate, below, above in bands()["bands"][task]:
        if rate <= error + 1e-9:
            found = Band(below, above)
    return found

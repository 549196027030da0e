"""How the embedded judge does on human labels: what reports say of it; ``docs/embedded-judge.md`` has the whole.

``python training/evaluate_support.py --write FILE`` makes the numbers, of claims that nothing was fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import orjson


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


@lru_cache(maxsize=1)
def measured() -> Measured:
    """The figures of this version's model."""
    raw = orjson.loads(files("ragstone.judges.embedded").joinpath("measured.json").read_bytes())
    return Measured(**raw)

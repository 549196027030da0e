"""Where the embedded judge is sure, for a wanted error rate; ``training/fit_band.py`` makes the numbers.

They are of training data that was kept back. On texts of another kind the rate may not hold; ``docs/embedded-judge.md``
has how it does on data sets that nothing was fitted to.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson

from ragstone.judges.cascade import Band
from ragstone.questions import Task


@lru_cache(maxsize=1)
def fitted() -> dict[str, Any]:
    """The file: the ``model`` that it was fitted for, and by task the ``bands`` as (rate, below, above)."""
    raw: dict[str, Any] = orjson.loads(files("ragstone.judges.embedded").joinpath("band.json").read_bytes())
    return raw


def has_band(task: Task) -> bool:
    """Whether it was fitted for the task."""
    return task in fitted()["bands"]


def band_of(task: Task, error: float) -> Band:
    """Where it errs at most so often, by the next stricter rate that was fitted; KeyError where ``has_band`` is not."""
    found = Band()
    for rate, below, above in fitted()["bands"][task]:
        if rate <= error + 1e-9:
            found = Band(below, above)
    return found

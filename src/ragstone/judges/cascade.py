"""Judges in a cascade: the first answers what it is confident of, the next the rest.

A verdict is confident if it has the best or the worst label of the scale and its probability lies in the judge's band
for the accepted error rate; labels in between express doubt. Unjudged units and verdicts without a probability also go
to the next judge. The last judge decides: if it fails, the unit is unjudged, and no earlier judge's guess replaces it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from ragstone.questions import Rate, Rated, Task
from ragstone.types import Scale, Verdict


class SureBand(Struct, frozen=True):
    """The probabilities below and above which a judge is confident; None: never confident on that side."""

    below: float | None = None
    above: float | None = None

    def __str__(self) -> str:
        """Format for signatures: ``0.041,0.912``, with ``-`` for never."""
        return ",".join("-" if edge is None else f"{edge:g}" for edge in (self.below, self.above))


@runtime_checkable
class Calibrated(Protocol):
    """A judge with calibrated probabilities, which can come first in a cascade."""

    def band(self, task: Task, error: float) -> SureBand | None:
        """Return the band with at most this error rate (0-1) on either side; None for a task without calibration."""
        ...


def cascade(question: Rate, bands: Sequence[SureBand]) -> Generator[Rate, Rated, Rated]:
    """Yield the question for each next judge, receive its answer, and return the combined answer.

    ``bands`` are those of all judges except the last. A judge is not asked if no units are left for it.
    """
    found: dict[int, Verdict] = {}
    reasons: list[str] = []
    left: Sequence[int] = range(len(question.units))
    for band in (*bands, None):
        part = question if not found else replace(question, units=tuple(question.units[n] for n in left))
        answer = yield part
        taken = {
            n: verdict
            for n, verdict in zip(left, answer.verdicts, strict=True)
            if band is None or is_sure(verdict, question.scale, band)
        }
        if taken and answer.reason:
            reasons.append(answer.reason)
        found.update(taken)
        left = [n for n in left if n not in taken]
        if not left:
            break
    return Rated(tuple(found[n] for n in range(len(question.units))), " ".join(reasons))


def is_sure(verdict: Verdict, scale: Scale, band: SureBand) -> bool:
    """Return whether the verdict stands without asking the next judge."""
    chance = verdict.probability
    if chance is None:
        return False
    if verdict.label == scale.labels[-1]:
        return band.above is not None and chance >= band.above
    return verdict.label == scale.labels[0] and band.below is not None and chance <= band.below

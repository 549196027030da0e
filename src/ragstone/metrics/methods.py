"""Compare ordinary scores with nugget scores: the same two metrics, judged as a whole and fact by fact.

The interpretation is written by rules, never by a model, so it cannot contradict the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from ragstone.stats.means import rounded
from ragstone.stats.points import distance

PAIRS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "groundedness": ("groundedness", "nugget_groundedness"),
        "relevance": ("answer_relevance", "nugget_relevance"),
    }
)
"""The plain and the nuggetized metric by aspect."""
METHODS: Final = ("context_relevance", *(name for pair in PAIRS.values() for name in pair))
"""The metrics of both methods."""

GAP: Final = 10.0
"""Difference in points above which the two are reported as different."""

_MEANING: Final[Mapping[tuple[str, bool], str]] = MappingProxyType(
    {
        ("groundedness", True): "sentences lose points for some of their parts, while the vital nuggets score well",
        ("groundedness", False): "whole sentences score better than the nuggets in them, so check each nugget",
        ("relevance", True): "the nuggets are relevant, but the whole response leaves part of the question open",
        ("relevance", False): "responses score higher when rated as a whole than nugget by nugget",
    }
)


def command_of(spec: Mapping[str, Any]) -> str:
    """Return the command that made a run, from its specification; empty if it is an ordinary evaluation."""
    if spec.get("parameters", {}).get("nugget_recall", {}).get("create") is False:
        return "nuggets assign"
    return "compare-methods" if tuple(spec.get("metrics", ())) == METHODS else ""


def compare_methods(values: Mapping[str, float | None]) -> dict[str, dict[str, Any]]:
    """Compare each pair of metrics that are both in ``values`` (by metric name, in [0, 1] or None).

    ``difference`` is nuggetized minus plain in points (hundredths), or None if one has no value. Without a pair, the
    result is empty.
    """
    found: dict[str, dict[str, Any]] = {}
    for aspect, (plain, nuggetized) in PAIRS.items():
        if plain in values and nuggetized in values:
            found[aspect] = compared(aspect, values[plain], values[nuggetized])
    return found


def compared(
    aspect: str, plain: float | None, nuggetized: float | None, interval: Sequence[float] | None = None
) -> dict[str, Any]:
    """Return the values of a pair with an interpretation; ``interval`` is that of the difference."""
    difference = points_between(plain, nuggetized)
    return {
        "plain": rounded(plain),
        "nuggetized": rounded(nuggetized),
        "difference": difference,
        "interpretation": interpretation(aspect, difference, interval),
    }


def points_between(plain: float | None, nuggetized: float | None) -> float | None:
    """Return the second value minus the first in points (hundredths); None if one is missing."""
    return None if plain is None or nuggetized is None else round(100 * (nuggetized - plain), 6)


def interpretation(aspect: str, difference: float | None, interval: Sequence[float] | None = None) -> str:
    """Describe a difference in points: a gap if over ten either way, else a small difference or similar.

    The text also says if the interval includes 0 (unless it is just 0), or if it extends beyond ten points.
    """
    if difference is None:
        return "cannot be compared: one of the two has no value"
    direction = "higher" if difference > 0 else "lower"
    gap = f"{distance(difference)} points {direction} with nuggets" if abs(difference) > GAP else ""
    if interval is not None and interval[0] <= 0 <= interval[1] and interval[0] < interval[1]:
        what = f"{gap}, but" if gap else "no significant difference;"
        return f"{what} the interval includes 0"
    if gap:
        return f"{gap}; {_MEANING[aspect, difference > 0]}"
    if not (interval and difference):
        return "similar"
    if max(map(abs, interval)) > GAP:
        return f"{distance(difference)} points {direction} with nuggets; the true difference could exceed {GAP:g}"
    return f"{direction}, by at most {GAP:g} points"

"""The plain triad beside the nuggetized one: the same two questions, asked of the whole and fact by fact.

Pure arithmetic and a sentence by rule, never by a model, so that the sentence cannot contradict the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from ragstone.stats.means import rounded

PAIRS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "groundedness": ("groundedness", "nugget_groundedness"),
        "relevance": ("answer_relevance", "nugget_relevance"),
    }
)
"""The plain and the nuggetized metric by aspect."""
METHODS: Final = ("context_relevance", *(name for pair in PAIRS.values() for name in pair))
"""The metrics of both triads."""

GAP: Final = 10.0
"""Points from which a difference is said to be one."""

_MEANING: Final[Mapping[tuple[str, bool], str]] = MappingProxyType(
    {
        ("groundedness", True): "sentences lose points for some of their parts, while the vital facts score well",
        ("groundedness", False): "whole sentences score better than the facts in them, so check the facts one by one",
        ("relevance", True): "the facts are relevant, but the whole answer leaves part of the question open",
        ("relevance", False): "the whole answer is relevant, but many of its facts are not",
    }
)


def command_of(spec: Mapping[str, Any]) -> str:
    """The command that made a run, by its specification; empty for an evaluation with metrics of the user's choice."""
    if spec.get("parameters", {}).get("nugget_recall", {}).get("create") is False:
        return "nuggets assign"
    return "compare-methods" if tuple(spec.get("metrics", ())) == METHODS else ""


def compare_methods(values: Mapping[str, float | None]) -> dict[str, dict[str, Any]]:
    """Each pair whose both metrics are among the values, by metric name, in [0, 1] or None.

    ``difference`` is nuggetized less plain in points (hundredths), None where one has no value. Empty if there is
    no pair.
    """
    found: dict[str, dict[str, Any]] = {}
    for aspect, (plain, nuggetized) in PAIRS.items():
        if plain in values and nuggetized in values:
            found[aspect] = compared(aspect, values[plain], values[nuggetized])
    return found


def compared(
    aspect: str, plain: float | None, nuggetized: float | None, interval: Sequence[float] | None = None
) -> dict[str, Any]:
    """One pair, with the sentence that says what the difference means; ``interval`` is that of the difference."""
    difference = points_between(plain, nuggetized)
    return {
        "plain": rounded(plain),
        "nuggetized": rounded(nuggetized),
        "difference": difference,
        "interpretation": interpretation(aspect, difference, interval),
    }


def points_between(plain: float | None, nuggetized: float | None) -> float | None:
    """Return the second less the first in points (hundredths); None if one has no value."""
    return None if plain is None or nuggetized is None else round(100 * (nuggetized - plain), 6)


def interpretation(aspect: str, difference: float | None, interval: Sequence[float] | None = None) -> str:
    """Explain a difference in points: over ten either way is a gap, else the two are similar or differ by less.

    Where its interval includes 0, and is more than that one point, it says that the sample cannot tell; where the
    interval reaches beyond ten points, that the difference may.
    """
    if difference is None:
        return "cannot be compared: one of the two has no value"
    direction = "higher" if difference > 0 else "lower"
    gap = f"{abs(difference):.1f} points {direction} with nuggets" if abs(difference) > GAP else ""
    if interval is not None and interval[0] <= 0 <= interval[1] and interval[0] < interval[1]:
        what = f"{gap}, but" if gap else "no significant difference;"
        return f"{what} the interval includes 0"
    if gap:
        return f"{gap}; {_MEANING[aspect, difference > 0]}"
    if not (interval and difference):
        return "similar"
    if max(map(abs, interval)) > GAP:
        return f"{abs(difference):.1f} points {direction} with nuggets; the true difference could exceed {GAP:g}"
    return f"{direction}, by at most {GAP:g} points"

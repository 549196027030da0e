"""Panel of judges: keep every member's verdict and combine them into one.

A member that failed is left out of the aggregate and named; it never becomes a number. If all members failed, the unit
is unjudged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, Literal, get_args

from msgspec.structs import replace

from ragstone.questions import Rate, Rated
from ragstone.types import TRIVIAL, Scale, Verdict

Aggregate = Literal["mean", "median", "majority", "min", "max"]
AGGREGATES: Final[tuple[Aggregate, ...]] = get_args(Aggregate)


def combine(
    question: Rate,
    answers: Sequence[tuple[str, Rated]],
    how: Aggregate = "mean",
    weights: Mapping[str, float] | None = None,
) -> Rated:
    """Combine answers; ``answers`` are (judge's name, its answer) in the order of the panel.

    ``weights`` by judge's name (1 where absent) count for ``mean`` and ``majority``; a judge of weight 0 is shown
    and does not count.
    """
    weighed = [(weights or {}).get(name, 1.0) for name, _ in answers]
    verdicts = [
        _combined(question.scale_of(question.units[n]), [answer.verdicts[n] for _, answer in answers], weighed, how)
        for n in range(len(question.units))
    ]
    reasons = [f"{name}: {answer.reason}" for name, answer in answers if answer.reason]
    return Rated(tuple(verdicts), " ".join(reasons))


def _combined(scale: Scale, members: Sequence[Verdict], weights: Sequence[float], how: Aggregate) -> Verdict:
    unit = members[0].unit
    name = "+".join(member.judge for member in members)
    base = Verdict(unit, None, None, name, members=tuple(members))
    present = [
        (member, weight) for member, weight in zip(members, weights, strict=True) if not member.unjudged and weight > 0
    ]
    if not present:
        causes = "; ".join(f"{member.judge}: {member.failure or 'its weight is 0'}" for member in members)
        return replace(base, failure=f"every judge in the panel failed ({causes})")
    trivial = sum(weight for member, weight in present if member.trivial)
    rated = [(member, weight) for member, weight in present if member.value is not None]
    if trivial > sum(weight for _, weight in rated) or not rated:
        return replace(base, label=TRIVIAL)
    value, label = _aggregate(scale, rated, how)
    lead = min(rated, key=lambda pair: abs((pair[0].value or 0.0) - value))[0]
    low, high = scale.raws[0], scale.raws[-1]
    raw = round(low + value * (high - low), 6)  # on every scale they are evenly spaced
    return replace(base, label=label, value=value, raw=raw, evidence=lead.evidence, reason=lead.reason)


def _aggregate(scale: Scale, rated: Sequence[tuple[Verdict, float]], how: Aggregate) -> tuple[float, str]:
    values = [verdict.value for verdict, _ in rated if verdict.value is not None]
    if how == "majority":
        votes: dict[str, float] = {}
        for verdict, weight in rated:
            votes[verdict.label or ""] = votes.get(verdict.label or "", 0.0) + weight
            # In a tie, the worse label wins: doubt is not credited to the response.
        label = min(votes, key=lambda vote: (-votes[vote], scale.value(vote)))
        return scale.value(label), label
    if how == "mean":
        total = sum(weight for _, weight in rated)
        value = sum((verdict.value or 0.0) * weight for verdict, weight in rated) / total
    elif how == "median":
        value = median(values)
    else:
        value = min(values) if how == "min" else max(values)
    near = scale.value(scale.nearest(value))
    same = [label for label in scale.labels if scale.value(label) == near]
    # Of labels with the same value, the one with the most votes; in a tie, the worse.
    return value, max(same, key=lambda label: sum(weight for verdict, weight in rated if verdict.label == label))

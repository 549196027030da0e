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
    values = [(member.value or 0.0, weight) for member, weight in rated]
    raws = [(scale.raw(member.label or ""), weight) for member, weight in rated]
    votes: dict[str, float] = {}
    for member, weight in rated:
        votes[member.label or ""] = votes.get(member.label or "", 0.0) + weight
    if how == "majority":
        # In a tie, the worse label wins: doubt is not credited to the response.
        label = min(votes, key=lambda vote: (-votes[vote], scale.value(vote)))
        value, raw = scale.value(label), float(scale.raw(label))
    else:
        value, raw = _aggregate(values, how), _aggregate(raws, how)
        near = scale.value(scale.nearest(value))
        same = [label for label in scale.labels if scale.value(label) == near]
        # Of labels with the same value, the one with the most votes; in a tie, the worse.
        label = max(same, key=lambda label: votes.get(label, 0.0))
    # The reason must be of the label, if a member gave that.
    lead = min((member for member, _ in rated), key=lambda one: (one.label != label, abs((one.value or 0.0) - value)))
    return replace(base, label=label, value=value, raw=round(raw, 6), evidence=lead.evidence, reason=lead.reason)


def _aggregate(numbers: Sequence[tuple[float, float]], how: Aggregate) -> float:
    """Combine pairs of number and weight."""
    if how == "mean":
        return sum(number * weight for number, weight in numbers) / sum(weight for _, weight in numbers)
    every = [number for number, _ in numbers]
    return median(every) if how == "median" else min(every) if how == "min" else max(every)

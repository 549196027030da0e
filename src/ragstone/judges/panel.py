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
from ragstone.stats.means import rounded
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

    ``weights`` by judge's name (1 where absent), all positive, count for ``mean`` and ``majority``.
    """
    given = weights if weights and how in ("mean", "majority") else {}
    verdicts = [
        _combined(
            question.scale_of(unit),
            [
                replace(answer.verdicts[n], weight=given[name]) if name in given else answer.verdicts[n]
                for name, answer in answers
            ],
            how,
        )
        for n, unit in enumerate(question.units)
    ]
    reasons = [f"{name}: {answer.reason}" for name, answer in answers if answer.reason]
    return Rated(tuple(verdicts), " ".join(reasons))


def _combined(scale: Scale, members: Sequence[Verdict], how: Aggregate) -> Verdict:
    unit = members[0].unit
    name = "+".join(member.judge for member in members)
    base = Verdict(unit, None, None, name, members=tuple(members))
    present = [member for member in members if not member.unjudged]
    if not present:
        causes = "; ".join(f"{member.judge}: {member.failure}" for member in members)
        return replace(base, failure=f"every judge in the panel failed ({causes})")
    votes: dict[str, float] = {}
    for member in present:
        votes[member.label or ""] = rounded(votes.get(member.label or "", 0.0) + member.weight)
    trivial = votes.pop(TRIVIAL, 0.0)
    if trivial > rounded(sum(votes.values())):
        return replace(base, label=TRIVIAL)
    rated = [member for member in present if not member.trivial]
    if how == "majority":
        # In a tie, the worse label wins: doubt is not credited to the response.
        label = min(votes, key=lambda vote: (-votes[vote], scale.value(vote)))
        value, raw, strict = scale.value(label), float(scale.raw(label)), None
    else:
        value = _aggregate([(member.value or 0.0, member.weight) for member in rated], how)
        raw = _aggregate([(scale.raw(member.label or ""), member.weight) for member in rated], how)
        near = scale.value(scale.nearest(value))
        same = [label for label in scale.labels if scale.value(label) == near]
        # Of labels with the same value, the one with the most votes; in a tie, the worse.
        label = max(same, key=lambda label: votes.get(label, 0.0))
        best = scale.labels[-1]
        strict = _aggregate([(float(member.label == best), member.weight) for member in rated], how)
        strict = None if strict == float(label == best) else strict
    # The reason must be of the label, if a member gave that.
    lead = min(rated, key=lambda one: (one.label != label, abs((one.value or 0.0) - value)))
    return replace(
        base, label=label, value=value, raw=round(raw, 6), strict=strict, evidence=lead.evidence, reason=lead.reason
    )


def _aggregate(numbers: Sequence[tuple[float, float]], how: Aggregate) -> float:
    """Combine pairs of number and weight."""
    if how == "mean":
        return sum(number * weight for number, weight in numbers) / sum(weight for _, weight in numbers)
    every = [number for number, _ in numbers]
    return median(every) if how == "median" else min(every) if how == "min" else max(every)

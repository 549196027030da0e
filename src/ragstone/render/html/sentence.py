"""The run in one sentence, made by rule from its numbers, with what each number stands on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ragstone.render.facts import Headline
from ragstone.render.html.rows import PageRow
from ragstone.render.text import number, percent, plural
from ragstone.stats.means import mean, mean_interval, spread

FEWEST: Final = 5
"""Records that a group has at least to be named the worst."""
NORMAL: Final = 1.959964
"""Standard errors on each side of a mean in its 95 % interval."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some words of a sentence; ``to`` is the filter that shows the records they are about, if they are a number."""

    text: str
    to: Mapping[str, str] | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"text": self.text, **({"to": dict(self.to)} if self.to else {})}


@dataclass(frozen=True, slots=True)
class Group:
    """Records with one value of a field, and the mean of a metric over those that have a value."""

    field: str
    value: str
    mean: float
    count: int


def worst_group(rows: Sequence[PageRow], fields: Iterable[str], metric: str, whole: float) -> Group | None:
    """The lowest group of any field whose 95 % interval lies below the mean of all records.

    A group whose values are all the same has no interval of its own: it is given that which the spread of all records
    would give it. None where no field has such a group.
    """
    among = [value for row in rows if (value := _value(row, metric)) is not None]
    lowest = [found for field in fields if (found := _lowest(rows, field, metric)) is not None]
    for group, values in sorted(lowest, key=lambda found: (found[0].mean, -found[0].count)):
        interval = mean_interval(values)
        high = interval.high
        if interval.method == "none":
            high += NORMAL * (spread(among) or 0.0) / math.sqrt(group.count)
        if high < whole:
            return group
    return None


def _lowest(rows: Iterable[PageRow], field: str, metric: str) -> tuple[Group, list[float]] | None:
    """The lowest of a field's large enough groups, with its values; None if there are fewer than two."""
    found: dict[str, list[float]] = {}
    for row in rows:
        value = _value(row, metric)
        if value is not None and field in row.fields:
            found.setdefault(row.fields[field], []).append(value)
    groups = [
        (Group(field, name, mean(values), len(values)), values)
        for name, values in found.items()
        if len(values) >= FEWEST
    ]
    return min(groups, key=lambda group: group[0].mean) if len(groups) > 1 else None


def _value(row: PageRow, metric: str) -> float | None:
    return row.scores[metric][0] if metric in row.scores else None


def sentence(records: int, head: Headline | None, doubts: Iterable[str], group: Group | None) -> list[Part]:
    """On how many records it stands, what its mean says, how many fall short, and a group that stands out.

    Then what makes the mean doubtful: a cascade whose last judge answered nothing of what was left to it.
    """
    if not records:
        return [Part("The run has no records.")]
    every = plural(records, "record")
    if head is None:
        return [Part(f"Nothing could be scored in {every}.")]
    stands_on = every if head.scored == records else f"{number(head.scored)} of {every}"
    value = f"{head.value} ({head.interval})" if head.interval else head.value
    parts = [
        Part("On "),
        Part(stands_on, {"sort": "position"}),
        Part(", "),
        Part(value, {"sort": head.metric}),
        Part(f" {head.sentence.of if head.sentence else f'is the mean of {head.metric}, {head.title}'}; "),
    ]
    if head.lower:
        parts += [
            Part(plural(head.lower, "response"), {"below": head.metric, "sort": head.metric}),
            Part(f" {head.short}"),
        ]
    else:
        parts.append(Part(f"no response {head.short}"))
    if group is not None:
        parts += [
            Part(f"; worst {group.field}: "),
            Part(group.value, {"field": group.field, "value": group.value, "sort": head.metric}),
            Part(f" ({percent(group.mean, group.count)}, n {number(group.count)})"),
        ]
    return [*parts, Part("."), *(Part(f" {doubt}") for doubt in doubts)]

"""Build the data of the first screen: title, one sentence, a card per metric, judges and cost, missing scores.

Guarantees: the data is plain JSON. Every number that counts records has the filter of the page that shows them
(``to``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from ragstone import __version__
from ragstone.render.agreement import agreement_of
from ragstone.render.facts import Headline, Low, RunFacts, cost_said
from ragstone.render.html.rows import STATUSES, RowCounts, beginning
from ragstone.render.text import number, percent, plural
from ragstone.render.wording import card_order, in_words, kind_of, measures, title_of, why
from ragstone.stats.means import mean, mean_interval, spread

BINS: Final = 20
"""Number of bins of a distribution, each 0.05 wide; the last also contains the value 1."""
WORST: Final = 10
"""Maximum number of records in the printed version."""
LONGEST: Final = 240
"""Maximum length, in characters, of each of their texts."""


def overview_of(told: RunFacts, counted: RowCounts, *, live: bool = False) -> dict[str, Any]:
    """Return the whole first screen; groups and replies are omitted unless all records of the run were counted.

    A ``live`` page computes distributions itself and requests the lowest records once it has all rows: doing either
    here would read every score before anything is shown.
    """
    run, summary, leading = told.run, told.summary, told.lead
    counts = None if live else run.store.bins(run.id, BINS)
    names = sorted(summary["metrics"], key=lambda name: (*_lacking(summary["metrics"][name]), card_order(name)))
    mean = summary["metrics"][leading]["mean"] if leading else None
    whole = len(counted) == summary["records"]
    group = worst_group(counted, mean) if whole and mean is not None else None
    return {
        "ragstone": __version__,
        "run": run.id,
        "store": run.elsewhere,
        "name": run.name,
        "started": run.started,
        "status": run.status,
        "records": summary["records"],
        "set_aside": summary["set_aside"],
        "input": run.spec.get("input", run.name),
        "judge": ", ".join(told.judges),
        "panel": len(told.judges) > 1,
        "lead": leading,
        "ranked": told.ranked,
        "sentence": sentence(summary["records"], told.headline, told.doubts, group),
        "metrics": [_metric(name, summary["metrics"][name], counts) for name in names],
        "measures": measures([*names, *summary.get("left_out", {})]),
        "facts": _facts(told, counted if whole else RowCounts()),
        "steps": (summary.get("bill") or {}).get("by_step", []),
        "missing": [
            asdict(cause) | {"what": cause.what} | ({"status": "set_aside"} if cause.status == "unreadable" else {})
            for cause in told.missing
        ],
        "methods": summary.get("methods"),
        "left_out": summary.get("left_out", {}),
        "agreement": agreement_of(run.agreement, summary["metrics"]),
        "notes": told.notes,
        # The field that the first sentence names comes first.
        "fields": sorted(counted.names, key=lambda name: group is None or name != group.field),
        "ungrouped": counted.others,
        "statuses": list(STATUSES),
        "worst": [] if live else worst_of(told),
    }


def _lacking(entry: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return a sort key that puts metrics last that have no value, or values for fewer than half of the records."""
    return not entry["scored"], 2 * entry["scored"] < entry["total"]


def _metric(name: str, entry: Mapping[str, Any], counts: Mapping[str, Sequence[int]] | None) -> dict[str, Any]:
    bins = [0] * (BINS + 1) if counts is None else counts.get(name, [0] * (BINS + 1))
    kept = ("mean", "interval", "interval_method", "median", "scored", "total", "low", "high", "statuses", "units",
            "outcomes", "threshold", "signature")  # fmt: skip
    return {
        "name": name,
        "title": title_of(name, entry["signature"]),
        **{key: entry.get(key) for key in kept},
        "bins": None if counts is None else [*bins[:-2], bins[-2] + bins[-1]],
        **({"repeats": entry["repeats"]} if "repeats" in entry else {}),
    }


def _fact(label: str, text: str, note: str = "") -> dict[str, str]:
    return {"label": label, "text": text, "note": note}


def _facts(told: RunFacts, rows: RowCounts) -> list[dict[str, str]]:
    bill = told.summary.get("bill")
    first = next((place for place, who in enumerate(told.judged_by) if "embedded" in who), None)
    facts = [_fact("Judge", who, told.embedded if place == first else "") for place, who in enumerate(told.judged_by)]
    facts.append(_fact("Input", told.part))
    if bill:
        cost, _, counted = cost_said(bill).partition("; ")
        facts += [_fact("Cost", cost, counted), _fact("Estimated", told.estimated)]
        replies = bill["answered"] + bill["replayed"]
        if replies:
            share = percent(bill["replayed"] / replies, replies)
            facts.append(_fact("Cache", f"{share} of {plural(replies, 'reply', 'replies')}", "already in the store"))
        if bill["failed"]:
            facts.append(_fact("Failed", plural(bill["failed"], "call")))
    for answered, sureness, saved in told.cascades:
        facts += [_fact("Cascade", answered, sureness), _fact("Saved", saved)]
    facts.append(_fact("Time", told.time))
    if rows.replies:
        unread = f"{number(rows.unread)} of {plural(rows.replies, 'reply', 'replies')}"
        note = "not parsed in full; replies to repair calls are included" if rows.unread else ""
        facts.append(_fact("Unparsed", unread, note))
    facts.append(_fact("Quotes", told.quotes))
    return [fact for fact in facts if fact["text"]]


def worst_of(told: RunFacts) -> list[dict[str, Any]]:
    """Return the lowest records, each with its worst unit, for printing."""
    return [_worst(low) for low in told.lowest(WORST)]


def _worst(low: Low) -> dict[str, Any]:
    return {
        "position": low.result["position"],
        "id": low.result["id"],
        "question": beginning(low.result["question"], LONGEST),
        "value": low.score["value"],
        "unit": beginning(low.units[0][1], LONGEST) if low.units else "",
        "kind": kind_of(low.units[0][0]) if low.units else "",
        "reason": beginning(in_words(low.result, why(low.units[0][0]) or ""), LONGEST) if low.units else "",
    }


# ---- in one sentence


FEWEST: Final = 5
"""Minimum number of records for a group to be named the worst."""
NORMAL: Final = 1.959964
"""The half-width of a 95% interval, in standard errors."""


Part = dict[str, Any]
"""Part of a sentence; if it is a number of records, ``to`` is the filter that shows them."""


def _part(text: str, **to: str) -> Part:
    return {"text": text, **({"to": to} if to else {})}


class Group(Struct, frozen=True):
    """The records with one value of a field, and a metric's mean over those that have a score."""

    field: str
    value: str
    mean: float
    count: int


def worst_group(groups: RowCounts, whole: float) -> Group | None:
    """Return the lowest group of any field whose 95% interval is below the mean of all records, or None.

    A group whose values are all the same has no interval of its own; its interval is computed from the spread of all
    records.
    """
    lowest = [found for field in groups.names if (found := _lowest(field, groups.values(field))) is not None]
    for group, values in sorted(lowest, key=lambda found: (found[0].mean, -found[0].count)):
        interval = mean_interval(values)
        high = interval.high
        if interval.method == "none":
            high += NORMAL * (spread(groups.values()[""]) or 0.0) / math.sqrt(group.count)
        if high < whole:
            return group
    return None


def _lowest(field: str, found: Mapping[str, list[float]]) -> tuple[Group, list[float]] | None:
    """Return the lowest of a field's sufficiently large groups, with its values; None if there are fewer than two."""
    groups = [
        (Group(field, name, mean(values), len(values)), values)
        for name, values in found.items()
        if len(values) >= FEWEST
    ]
    return min(groups, key=lambda group: group[0].mean) if len(groups) > 1 else None


def sentence(records: int, head: Headline | None, doubts: Iterable[str], group: Group | None) -> list[Part]:
    """Return the headline sentence: number of records, mean, number of low responses, and a conspicuously low group.

    It is followed by reasons to doubt the mean, e.g. a cascade whose last judge judged none of the units passed to it.
    """
    if not records:
        return [_part("The run has no records.")]
    every = plural(records, "record")
    if head is None:
        return [_part(f"Nothing could be scored in {every}.")]
    counted = every if head.scored == records else f"{number(head.scored)} of {every}"
    value = f"{head.value} (95% CI {head.interval})" if head.interval else head.value
    before, after = head.sentence.around if head.sentence else ("", f" is the mean of {head.metric}, {head.title}")
    parts = [
        *([_part(before)] if before else []),
        _part(value, sort=head.metric),
        _part(f"{after} ("),
        _part(counted, sort="position"),
        _part("). "),
    ]
    if head.lower:
        parts += [
            _part(plural(head.lower, "response"), below=head.metric, sort=head.metric),
            _part(f" {head.short}."),
        ]
    else:
        parts.append(_part(f"{head.short}."))
    if group is not None:
        parts += [
            _part(f" Lowest {group.field}: "),
            _part(group.value, field=group.field, value=group.value, sort=head.metric),
            _part(f" ({percent(group.mean, group.count)} over {plural(group.count, 'record')})."),
        ]
    return [*parts, *(_part(f" {doubt}") for doubt in doubts)]

"""Describe a comparison of two runs, or a check: headline, caveats, and what was left out.

The terminal and the page use the same wording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from ragstone.analysis.check import DROPS, CheckResult, Decision, Threshold, Worst
from ragstone.analysis.compare import NOT_SHOWN, SAME_IDS, VERSION, Compared, Comparison, Finding, points_apart, said
from ragstone.analysis.pairing import MetricSide
from ragstone.analysis.threshold_words import drop_said, limit_said
from ragstone.analysis.verdicts import Wanting
from ragstone.questions import TASKS
from ragstone.render.facts import possible
from ragstone.render.text import NBSP, flat, grouped, number, percent, plural, short_id
from ragstone.render.wording import folded, lead_order
from ragstone.stats.points import signed

_REQUIRED: Final = {
    "min": "mean at least {}%",
    "max": "mean at most {}%",
    "min_corrected": "lower bound of the corrected mean at least {}%",
    "min_coverage": "at least {}% of records scored",
}
_FOUND: Final = {
    "higher": "Higher in {label}",
    "lower": "Lower in {label}",
    "none": "No significant difference",
    "too_few": "Too few {few} to reach significance ({needed})",
    "same": "Unchanged",
    "nothing": "No value in both runs",
}
"""Text for each finding; ``label`` is the label of the second run, ``few`` is what the test lacks."""
IDS: Final = 3
"""Maximum number of ids listed for records that only one run has."""
GROUPS: Final = 20
"""With fewer clusters, tests are unreliable (Cameron, Gelbach and Miller 2008 find trouble below about 20)."""


def leading_of(found: Comparison) -> Compared | None:
    """Return the headline metric: by rank, the first that differs significantly, else the first that changed."""
    ranked = sorted(found.metrics, key=lambda one: lead_order(one.metric))
    records = [one for one in ranked if one.unit == "record" and one.paired is not None]
    shown = [one for one in records if one.finding in ("higher", "lower")]
    return next(iter([*shown, *(one for one in records if one.moved), *records]), None)


def headline(found: Comparison, leading: Compared | None, called: Callable[[str], str] = str) -> str:
    """Summarize the comparison in one or two sentences; ``called`` returns how a metric is named."""
    if leading is None or leading.paired is None:
        return "No record has a value for the same metric in both runs."
    pairs, metric = leading.paired, called(leading.metric)
    counted = plural(pairs.pairs, "paired record")
    if found.overlapping:
        counted = f"{number(pairs.pairs)} of {plural(max(found.first.records, found.second.records), 'record')} paired"
    if pairs.low is not None and pairs.high is not None:
        counted = f"95% CI {interval_said(leading)}, {counted}"
    finding = said(leading, found.second.label)
    apart = points_apart(pairs.difference, found.second.label) if pairs.difference else ""
    if leading.finding in ("higher", "lower"):
        words = f"{metric} is {finding} ({counted})"
    elif not leading.tested:
        mean = apart or ("unchanged on average" if pairs.moved else "unchanged")
        words = f"{metric} is {mean} ({counted}). {finding[:1].upper()}{finding[1:]}"
    elif leading.only_alone:
        adjusting = f"but not after adjusting for {number(leading.tests)} metrics (p {p_said(leading.adjusted)}"
        words = f"{metric} is {apart}: significant on its own (p {p_said(pairs.p)}), {adjusting}; {counted})"
    else:
        words = f"{metric}: {f'{apart}; ' * bool(apart)}{finding} ({counted})".replace(") (", "; ")
    if pairs.wins or pairs.losses:
        higher = f"{plural(pairs.wins, 'record')} {'scores' if pairs.wins == 1 else 'score'} higher"
        words += f". {higher}, {number(pairs.ties)} the same, {number(pairs.losses)} lower"
    return f"{words}."


def notes(found: Comparison) -> list[str]:
    """Explain the p values: the test, the adjustment, and metrics that are below .05 only before adjustment."""
    told = []
    if alone := [one.metric for one in found.metrics if one.only_alone]:
        told.append(
            f"Significant only before adjustment (p < 0.05): {', '.join(folded(alone))}. To test one metric alone, "
            "select it with -m before you look at the results."
        )
    if found.tests > 1:
        told.append(f"p: paired sign-flip test, Holm-adjusted for the {number(found.tests)} tested metrics.")
        told.append("Intervals, and thresholds of ragstone check, are not adjusted for multiple metrics.")
    elif found.tests:
        told.append("p: paired sign-flip test.")
    if found.by is not None:
        what = "Intervals and tests are clustered" if _inferred(found) else "Records are grouped"
        told.append(f"{what} by {flat(found.by)} ({plural(found.groups or 0, 'group')}).")
    return told


def _inferred(found: Comparison) -> bool:
    """Return whether the comparison shows a p value or an interval."""
    return found.tests > 0 or any(map(interval_said, found.metrics))


def differences_said(one: Compared) -> list[str]:
    """Return the difference and both ends of its interval in points, with a sign; empty where there is none."""
    if one.paired is None:
        return ["", "", ""]
    found = one.paired.difference, one.paired.low, one.paired.high
    ends = [None if end is None else 100 * end for end in found[1:]]
    return ["" if value is None else signed(100 * value, ends) for value in found]


def interval_said(one: Compared) -> str:
    """Return ``+3.8 to +37.0``, in points; empty without an interval."""
    return " to ".join(filter(None, differences_said(one)[1:]))


def ways_said(one: Compared) -> str:
    """Return ``13/5/3``: the number of pairs that are better, the same and worse."""
    return "/".join(map(number, one.ways)) if one.paired else ""


def p_said(p: float | None) -> str:
    """Return ``0.012``, or ``<0.001`` instead of 0; empty without a p value."""
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def findings(found: Comparison, only: Finding | None = None) -> list[str]:
    """Describe which metrics differ and which do not, with the smallest difference that could be detected."""
    titles: dict[str, list[Compared]] = {}
    metrics = [one for one in found.metrics if only in (None, one.finding)]
    for one in sorted(metrics, key=lambda one: ([*_FOUND].index(one.finding), one.aside)):
        title = _FOUND[one.finding].format(label=found.second.label, needed=one.needed, few=one.too_few)
        titles.setdefault(f"{title}{one.aside}", []).append(one)
    lines = []
    for title, ones in titles.items():
        every = len(ones) == len(found.metrics) > 2
        names = "all metrics" if every else ", ".join(folded(one.metric for one in ones))
        if ones[0].finding == "none":
            names = "; ".join(f"{one.metric}{said(one, '').removeprefix(NOT_SHOWN)}" for one in ones)
        lines.append(f"{title}: {names}.")
    return lines


def moved_title(one: Compared) -> str:
    """Return the title above a metric's changed records."""
    return f"Largest changes in {one.metric} (points)"


def contexts_said(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Return ``4 of 5 passages unchanged`` for a record's results with different passages; empty for the same."""
    first, second = ([context["text"] for context in result.get("contexts", ())] for result in (ours, theirs))
    if first == second:
        return ""
    same = (Counter(first) & Counter(second)).total()
    if same == len(first) == len(second):
        return "the same passages in another order"
    return f"{number(same)} of {plural(max(len(first), len(second)), 'passage')} unchanged".replace(NBSP, " ")


def limits(found: Comparison) -> dict[str, list[str]]:
    """Return the caveats of a comparison and what was left out, by title."""
    return {"Before you rely on these results": in_the_way(found), "Not compared": left_out(found)}


def in_the_way(found: Comparison) -> list[str]:
    """List caveats of a comparison: other judges, prompts or parameters, an early end, unjudged units."""
    lines = [f"{flat(warning[:1].upper() + warning[1:])}." for warning in found.warnings]
    parts: dict[tuple[str, str, str], list[str]] = {}
    for one in found.metrics:
        for differing in one.signatures:
            parts.setdefault((differing.part, differing.first, differing.second), []).append(one.metric)
    for (part, ours, theirs), names in parts.items():
        of = f"the judge or prompt for {part}" if part in TASKS else flat(part)
        what = "Ragstone's version" if part == VERSION else f"{', '.join(folded(names))}: {of}"
        lines.append(f"{what} changed from {flat(ours) or 'the default'} to {flat(theirs) or 'the default'}.")
    if not found.same_texts and any(not one.same_ruler for one in found.metrics):
        lines.append("These settings, not the system, may explain part of the difference.")
    sides = [(one, ((found.first, one.first), (found.second, one.second))) for one in found.metrics]
    for one, halves in sides:
        unjudged = [_unjudged(half, side.label, one) for side, half in halves if half.unjudged or half.low != half.high]
        lines += [f"{one.metric}: {', '.join(unjudged)}."] if unjudged else []
    if found.groups is not None and found.groups < GROUPS and _inferred(found):
        lines.append(
            f"Only {plural(found.groups, 'group')}: with fewer than about {GROUPS}, p and intervals are approximate."
        )
    if found.ungrouped:
        lines.append(f"{plural(found.ungrouped, 'record')} without {flat(found.by)}; each counts as its own group.")
    return lines


def _unjudged(half: MetricSide, label: str, one: Compared) -> str:
    """Return how many units have no verdict, or that units are missing altogether, so that nothing was asked."""
    left = f"{number(half.unjudged)} of {plural(half.asked, 'unit')} unjudged" if half.unjudged else "units missing"
    could = possible(half.mean, half.low, half.high, one.pairs)
    return f"{left} in {label}" + (f" (the mean could be {could}%)" if could else "")


def left_out(found: Comparison) -> list[str]:
    """List records and values that only one run has: they are left out, never counted as 0."""
    lines = []
    for side, ids in ((found.first, found.only_first), (found.second, found.only_second)):
        if ids:
            named = ", ".join(short_id(one) for one in ids[:IDS])
            more = f" and {number(len(ids) - IDS)} more" if len(ids) > IDS else ""
            lines.append(f"{plural(len(ids), 'record')} only in {side.label}: {named}{more}.")
    if found.overlapping:
        lines.append(f"To pair all records, {SAME_IDS}.")
    for side, names in ((found.first, found.metrics_first), (found.second, found.metrics_second)):
        if names:
            lines.append(f"Only {side.label} has {', '.join(folded(names))}.")
    lines += [
        f"{one.metric}: {plural(one.unmatched, 'nugget')} in one bank only, or unjudged."
        for one in found.metrics
        if one.unmatched
    ]
    records = (one for one in found.metrics if one.unit == "record")
    lacking = grouped((one.metric, told) for one in records if (told := _lacking(one, found)))
    return [*lines, *(f"{', '.join(folded(names))}: {told}." for told, names in lacking.items())]


def _lacking(one: Compared, found: Comparison) -> str:
    """Return ``1 of 22 records has no score in run 1 (empty)``; empty if every record has one."""
    if (
        one.first.statuses == one.second.statuses and one.first.scored == one.pairs < found.shared
    ):  # of the same records
        return _have_no(found.shared, one.first, "either run")
    halves = ((found.first.label, one.first), (found.second.label, one.second))
    return "; ".join(_have_no(half.records, half, run) for run, half in halves if half.records > half.scored)


def _have_no(records: int, half: MetricSide, where: str) -> str:
    lacking, why = half.records - half.scored, half.statuses
    told = ", ".join([*why] if len(why) == 1 else [f"{number(count)} {status}" for status, count in why.items()])
    has = "has" if lacking == 1 else "have"
    return f"{number(lacking)} of {plural(records, 'record')} {has} no score in {where} ({flat(told)})"


# ---- a run against thresholds


def required_said(threshold: Threshold) -> str:
    """Return ``mean at least 80%`` or ``must not drop by more than 2 points``."""
    if threshold.kind in DROPS:
        return drop_said(threshold.kind, threshold.limit)
    return _REQUIRED[threshold.kind].format(limit_said(threshold.limit))


def threshold_said(decision: Decision) -> str:
    """Return ``grounding: mean at least 80%``."""
    return f"{decision.threshold.metric}: {required_said(decision.threshold)}"


def worst_said(decision: Decision) -> str:
    """Return ``Lowest grounding (threshold: mean at least 80%)``."""
    kind, metric = decision.threshold.kind, decision.threshold.metric
    titles = {"max": f"Highest {metric}", "min_coverage": f"Records without a score for {metric}"}
    title = f"Largest drops in {metric}" if kind in DROPS else titles.get(kind, f"Lowest {metric}")
    more = f"; {plural(decision.more, 'more record')} not listed" if decision.more else ""
    return f"{title} (threshold: {required_said(decision.threshold)}{more})"


class Behind(Struct, frozen=True):
    """A threshold that was not met, the records behind it, and the units to list for each.

    ``as_for`` names the earlier threshold with the same records, which are then not listed again.
    """

    decision: Decision
    records: list[tuple[Worst, tuple[Wanting, ...]]]
    as_for: str = ""


def behind(gate: CheckResult, units: int | None = None) -> Iterator[Behind]:
    """Yield the thresholds that list records, with at most so many ``units`` of a record; each unit is listed once."""
    told: dict[tuple[str, ...], str] = {}
    shown: set[tuple[str, str]] = set()
    for decision in gate.decisions:
        named = (decision.threshold.metric, *(f"{one.record} {record_said(one)}" for one in decision.worst))
        if decision.worst and named in told:
            yield Behind(decision, [], told[named])
        elif decision.worst:
            told[named] = threshold_said(decision)
            new = [
                (one, tuple(unit for unit in one.wanting[:units] if (one.record, unit.text) not in shown))
                for one in decision.worst
            ]
            shown.update((one.record, unit.text) for one, some in new for unit in some)
            yield Behind(decision, new)


def outcome_said(gate: CheckResult) -> str:
    """Return ``1 of 3 thresholds was not met``; errors are counted separately from failures."""
    total = len(gate.decisions)
    found = Counter(decision.outcome for decision in gate.decisions)
    of = f"{total} thresholds"
    if gate.outcome == "passed":
        return {1: "the threshold was met", 2: "both thresholds were met"}.get(total, f"all {of} were met")
    if found["failed"] == total:
        return {1: "the threshold was not met", 2: "neither threshold was met"}.get(total, f"none of the {of} was met")
    then, among = "met" if gate.undecided == "pass" else "not met", ""
    if then == "not met" and found["failed"] and (undecided := found.pop("undecided", 0)):
        among, found["failed"] = f", {undecided} of them undecided", found["failed"] + undecided
    told = [
        (found["failed"], "was not met", f"were not met{among}"),
        (found["undecided"], f"is undecided (counted as {then})", f"are undecided (counted as {then})"),
        (found["error"], "could not be decided", "could not be decided"),
    ]
    counted = [(count, one if count == 1 else several) for count, one, several in told if count]
    if total == 1:
        return f"the threshold {counted[0][1]}"
    return "; ".join(f"{count} {said}" for count, said in counted).replace(" ", f" of {of} ", 1)


def record_said(worst: Worst) -> str:
    """Return a record's value and, if there is one, the reason."""
    if worst.value is None:
        return flat(worst.reason)
    before = f"{percent(worst.before)} to " if worst.before is not None else ""
    reason = f": {flat(worst.reason)}" if worst.reason else ""
    return f"{before}{percent(worst.value)}".replace(NBSP, " ") + reason

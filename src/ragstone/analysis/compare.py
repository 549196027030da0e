"""Compare two runs over the same records: which metrics differ significantly, and which records changed.

Guarantees: records are paired by id, and values missing in one run never count as 0. A difference is reported only if
it is significant after adjusting for all tests made; otherwise, the smallest detectable difference is given. Scores
computed with different settings are never compared silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ragstone.analysis.counts import absences
from ragstone.analysis.pairing import MetricSide, Moved, SharedRecords, SignaturePart
from ragstone.analysis.run import main_scores, part_said
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.scored import RecordScores, each_scores
from ragstone.errors import InputError
from ragstone.metrics import best_at_zero, column_of, instead_of, of_score
from ragstone.records.fields import closest
from ragstone.stats.paired_tests import LEVEL, Paired, holm, least_moved
from ragstone.stats.points import distance
from ragstone.types import PrintableAsMarkdown

Finding = Literal["higher", "lower", "none", "same", "too_few", "nothing"]
"""How the second run differs. ``none``: not significantly; ``same``: no pair differs; ``too_few``: too few pairs differ
for a test, or for this number of tests; ``nothing``: no pair has both values."""

LONGEST: Final = 24
"""Maximum length of names that label runs."""
MOVED: Final = 5
"""Default number of records listed per metric."""
NOT_SHOWN: Final = "no significant difference"
SAME_IDS: Final = (
    "give each record the same id in both runs: --field id=NAME with the name of a field, such as that of the question "
    "(without an id, a changed response gets a new one)"
)
NUGGETS: Final = "nuggets"
VITAL: Final = "vital nuggets"
VERSION: Final = "v"
"""The part of a signature with Ragstone's version."""


class NoSharedRecordError(InputError):
    """No record is in both runs, so none can be paired."""


class Side(Struct, frozen=True):
    """One of the two runs: its number in its store (0: unknown), name, status, records, and label for messages.

    ``place`` is its number if the numbers differ, else ``the first`` or ``the second``.
    """

    run: int
    name: str
    status: str
    records: int
    label: str
    place: str


class Compared(Struct, frozen=True):
    """A metric of both runs, or all single nuggets of their banks; ``unit`` says what was paired.

    ``adjusted`` is p, Holm-adjusted over all ``tests`` of the comparison; it decides the ``finding`` and is None if no
    test was possible. ``smallest`` is the smallest difference detectable with 80% power. ``signatures`` are the parts
    that differ. ``unmatched`` nuggets are in the bank of only one run, or unjudged in one.
    """

    metric: str
    unit: Literal["record", "nugget"]
    finding: Finding
    paired: Paired | None
    adjusted: float | None
    tests: int
    smallest: float | None
    first: MetricSide
    second: MetricSide
    signatures: tuple[SignaturePart, ...] = ()
    moved: tuple[Moved, ...] = ()
    unmatched: int = 0

    @property
    def pairs(self) -> int:
        """The number of records or nuggets with a value in both runs."""
        return self.paired.pairs if self.paired else 0

    @property
    def tested(self) -> bool:
        """Whether a test was possible: enough pairs, or groups of pairs, differ to show a difference."""
        return self.adjusted is not None

    @property
    def needed(self) -> str:
        """How many records must change before a difference can be shown; more if several metrics are tested."""
        tests = self.tests if self.tested else 1
        given = f"with {tests} metrics, " if tests > 1 else ""
        return f"{given}at least {least_moved(tests)} must change"

    @property
    def tested_unit(self) -> str:
        """What the test counts: single records or nuggets, or clusters of them."""
        if self.paired is None or self.paired.clusters is None:
            return self.unit
        return "topic" if self.unit == "nugget" else "group"

    @property
    def why(self) -> str:
        """Why no difference could be shown, as a clause; empty if it was tested but not significant."""
        pairs = self.paired
        if pairs is None:
            return f"no {self.unit} has a value in both runs"
        count, unit = pairs.clusters or pairs.pairs, self.tested_unit
        if not pairs.moved:
            return f"every {unit} has the same value in both runs"
        if self.finding != "too_few":
            return ""
        if count < least_moved():
            return f"only {records_said(count, f'paired {unit}')}; {self.needed}"
        return f"only {records_said(pairs.moved, unit)} changed; {self.needed}"

    @property
    def too_few(self) -> str:
        """What a test lacks: ``paired records`` or ``records changed``."""
        few = self.paired is not None and (self.paired.clusters or self.paired.pairs) < least_moved()
        return f"paired {self.tested_unit}s" if few else f"{self.tested_unit}s changed"

    @property
    def only_alone(self) -> bool:
        """Whether the difference would be significant if it were the only test."""
        return self.finding in ("none", "too_few") and self.paired is not None and self.paired.p < LEVEL

    @property
    def worth(self) -> Literal["better", "worse", ""]:
        """Whether the second run is significantly better or worse; empty for any other finding."""
        if self.finding not in ("higher", "lower"):
            return ""
        return "worse" if (self.finding == "lower") != best_at_zero(self.metric) else "better"

    @property
    def aside(self) -> str:
        """``, which is worse`` or better: for a significant difference if 0 is the score's best value; else empty."""
        return f", which is {self.worth}" if self.worth and best_at_zero(self.metric) else ""

    @property
    def ways(self) -> tuple[int, int, int]:
        """The numbers of pairs that are better, the same and worse in the second run."""
        if self.paired is None:
            return 0, 0, 0
        up, same, down = self.paired.wins, self.paired.ties, self.paired.losses
        return (down, same, up) if best_at_zero(self.metric) else (up, same, down)

    @property
    def same_ruler(self) -> bool:
        """Whether both values were computed with the same settings, ignoring Ragstone's version."""
        return all(one.part == VERSION for one in self.signatures)


class Comparison(PrintableAsMarkdown, Struct, frozen=True):
    """Comparison of two runs, metric by metric.

    ``shared`` is the number of records in both; ``only_first`` and ``only_second`` are the ids of the rest. ``groups``
    is the number of clusters by the field ``by``, None if records are not grouped; ``ungrouped`` records lack the
    field. Of the shared records, ``same_responses`` have the same response in both, ``other_questions`` a different
    question and ``other_contexts`` different passages under the same id. ``metrics_first`` and ``metrics_second`` are
    the metrics of only one run. ``warnings`` are sentences on the limits of the comparison. ``overlapping`` says
    whether each run has records that the other lacks; it is False if all of these records are unreadable.
    """

    first: Side
    second: Side
    shared: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    by: str | None
    groups: int | None
    ungrouped: int
    metrics: tuple[Compared, ...]
    metrics_first: tuple[str, ...]
    metrics_second: tuple[str, ...]
    tests: int
    same_responses: int
    other_questions: int
    other_contexts: int
    warnings: tuple[str, ...]
    overlapping: bool

    @property
    def same_texts(self) -> bool:
        """Whether all shared records have the same response and passages in both runs."""
        return self.same_responses == self.shared and not self.other_contexts

    def __getitem__(self, metric: str) -> Compared:
        return {one.metric: one for one in self.metrics}[metric]

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data, with each finding also in words."""
        plain: dict[str, Any] = to_builtins(self)
        for found, metric in zip(plain["metrics"], self.metrics, strict=True):
            found["said"] = said(metric, self.second.label)
        return plain


def compare(
    first: AnyRun,
    second: AnyRun,
    *,
    by: str | None = None,
    metrics: Sequence[str] | None = None,
    moved: int = MOVED,
    known: tuple[Mapping[str, RecordScores], Mapping[str, RecordScores]] | None = None,
) -> Comparison:
    """Compare two runs; ``metrics`` are names of metrics or columns, by default all that both runs have.

    If neither run named its metrics, the default is only the main columns of each. ``known`` are both runs'
    scores, if they were already read. Raise InputError if the runs share no record or no metric, or lack a named one.
    """

    def wanted(name: str) -> bool:
        if metrics is not None:
            return any(_is(name, one) for one in metrics)
        return bool(main_scores(first.spec, [name]) or main_scores(second.spec, [name]))

    ours, theirs = ((each_scores(run, by) for run in (first, second)) if known is None
                    else (scores.items() for scores in known))  # fmt: skip
    shared = SharedRecords(ours, theirs, by, wanted, moved)
    sides = _sides(first, second, *(shared.records + len(ids) for ids in shared.alone))
    if not shared.records:
        raise NoSharedRecordError(_apart(sides, *shared.alone))
    for one, other in sorted(shared.matches):
        if one and other and one != other and (one in shared.systems[1] or other in shared.systems[0]):
            raise InputError(
                f"records of system '{one}' in {sides[0].label} have the ids of system '{other}' in {sides[1].label}: "
                "repeated ids are numbered in the order of the files; evaluate the same files in the same order, or "
                "each system in a run of its own"
            )
    if by is not None and shared.ungrouped == shared.records:
        told = next((result.typed.get("meta", {}) for result in first.results()), {})
        raise InputError(
            f"--by {by}: no record has it{closest(by, ['topic', 'question', *(f'meta.{name}' for name in told)])}"
        )
    names = [name for name in _names(*shared.seen, metrics, sides) if name in shared.metrics]
    found = [_untested(name, shared) for name in names]
    whole = names if metrics is None else [name for name in metrics if not column_of(name)]
    if any(of_score(name).task() == "assign" for name in whole):  # a named column is the only test wanted
        found += _nuggets(shared)
    found = _tested(found)
    comparison = Comparison(
        *sides,
        shared=shared.records,
        only_first=tuple(shared.alone[0]),
        only_second=tuple(shared.alone[1]),
        by=by,
        groups=None if by is None else len(shared.clusters),
        ungrouped=0 if by is None else shared.ungrouped,
        metrics=tuple(found),
        metrics_first=tuple(name for name in shared.seen[0] if name not in shared.seen[1]),
        metrics_second=tuple(name for name in shared.seen[1] if name not in shared.seen[0]),
        tests=sum(one.adjusted is not None for one in found),
        same_responses=shared.same_responses,
        other_questions=shared.other_questions,
        other_contexts=shared.other_contexts,
        warnings=(),
        overlapping=all(shared.alone) and shared.read_alone,
    )
    return replace(comparison, warnings=tuple(_warnings(comparison, first, second)))


def said(found: Compared, label: str) -> str:
    """Return the finding in words; ``label`` names the second run."""
    pairs = found.paired
    if pairs is None or found.why:
        if found.finding != "too_few":
            return found.why
        if found.tested:
            return f"{NOT_SHOWN} ({found.why})"
        return f"no test possible: {found.why}"
    if found.finding in ("higher", "lower"):
        return f"{points_apart(pairs.difference, label)}{found.aside}"
    return NOT_SHOWN + (
        "" if found.smallest is None else f" (smallest detectable difference: {distance(100 * found.smallest)} points)"
    )


def points_apart(difference: float, label: str) -> str:
    """Return ``3.1 points higher in run 2``."""
    return f"{distance(100 * difference)} points {'higher' if difference > 0 else 'lower'} in {label}"


# ---- pairing


def _sides(first: AnyRun, second: AnyRun, ours: int, theirs: int) -> tuple[Side, Side]:
    """Return both runs, labelled by their names if these are short and differ, else by their numbers."""
    apart = first.id and second.id and first.id != second.id
    places = [f"run {run.id}" for run in (first, second)] if apart else ["the first", "the second"]
    names = [first.name, second.name]
    short = all(name.isprintable() and 0 < len(name) <= LONGEST for name in names)
    labels = names if short and names[0] != names[1] else places
    return (
        Side(first.id, first.name, first.status, ours, labels[0], places[0]),
        Side(second.id, second.name, second.status, theirs, labels[1], places[1]),
    )


def _apart(sides: tuple[Side, Side], ours: Sequence[str], theirs: Sequence[str]) -> str:
    empty = next((side.label for side, found in zip(sides, (ours, theirs), strict=True) if not found), "")
    if empty:
        return f"{empty} has no results; nothing can be compared"
    return (
        f"the runs have no record ids in common: ids look like '{ours[0]}' in {sides[0].label} and '{theirs[0]}' in "
        f"{sides[1].label}; {SAME_IDS}"
    )


def _names(
    ours: Mapping[str, None], theirs: Mapping[str, None], wanted: Sequence[str] | None, sides: tuple[Side, Side]
) -> list[str]:
    """Return the metrics to compare, in the order of the first run."""
    shared = [name for name in ours if name in theirs]
    if not shared:
        raise InputError(f"{sides[0].label} and {sides[1].label} have no metric in common")
    if wanted is None:
        return shared
    for name in wanted:
        if not any(_is(one, name) for one in shared):
            lacking = [s for s, of in zip(sides, (ours, theirs), strict=True) if not any(_is(one, name) for one in of)]
            called = " and ".join(side.label for side in lacking)
            have = "has" if len(lacking) == 1 else "have"
            raise InputError(f"{called} {have} no metric '{name}'{instead_of(name, shared)}")
    return [one for one in shared if any(_is(one, name) for name in wanted)]


def _is(score: str, name: str) -> bool:
    return score == name or score.startswith(f"{name}.")


def _untested(metric: str, shared: SharedRecords) -> Compared:
    """Return a metric whose finding is still open, since it depends on the number of tests."""
    values = shared.metrics[metric]
    sides = zip(values.sides, shared.unreadable, strict=True)
    first, second = (side.told(shared.records, unreadable) for side, unreadable in sides)
    return Compared(
        metric, "record", "nothing", values.paired(), None, 0, None, first, second, values.signatures(), values.moved()
    )


def _nuggets(shared: SharedRecords) -> Iterator[Compared]:
    """Compare single nuggets that both runs assigned, clustered by topic: all of them, and the vital ones."""
    for name, nuggets in ((NUGGETS, shared.nuggets), (VITAL, shared.vital)):
        if (found := nuggets.paired()) is not None:
            first, second = nuggets.sides()
            yield Compared(name, "nugget", "nothing", found, None, 0, None, first, second, unmatched=nuggets.unmatched)


# ---- findings


def _tested(found: Sequence[Compared]) -> list[Compared]:
    """Return each with its finding and adjusted p, which is None if too few pairs differ for a test."""
    ps = {one.metric: one.paired.p for one in found if one.paired is not None and one.paired.moved >= least_moved()}
    adjusted = dict(zip(ps, holm(list(ps.values())), strict=True))
    told = []
    for one in found:
        pairs, p = one.paired, adjusted.get(one.metric)
        smallest = pairs.smallest(len(ps)) if pairs is not None and p is not None else None
        told.append(replace(one, adjusted=p, tests=len(ps), smallest=smallest, finding=_finding(pairs, p, len(ps))))
    return told


def _finding(pairs: Paired | None, adjusted: float | None, tests: int) -> Finding:
    if pairs is None:
        return "nothing"
    if not pairs.moved:
        return "same"
    if adjusted is not None and adjusted < LEVEL:
        return "higher" if pairs.difference > 0 else "lower"
    return "too_few" if pairs.moved < least_moved(max(1, tests)) else "none"


def _warnings(found: Comparison, first: AnyRun, second: AnyRun) -> Iterable[str]:
    """Yield sentences on the limits of the comparison, except differing signatures."""
    for side, run in ((found.first, first), (found.second, second)):
        if side.status != "done":
            yield f"the results of {side.label} are incomplete ({side.status}): {records_said(side.records)}"
        if part := part_said(run.spec.get("extent", {})):
            yield f"the results of {side.label} cover only part of its input: {part}"
        yield from (f"in {side.label}: {lost}" for lost in absences(run.summary()))
    for count, what in ((found.other_questions, "a different question"), (found.other_contexts, "different passages")):
        if count:
            have = f"{count:,} of {records_said(found.shared, 'paired record')} {'has' if count == 1 else 'have'}"
            yield f"{have} {what} in {found.second.label} than in {found.first.label}"
    if found.same_texts and any(not one.same_ruler for one in found.metrics):
        yield (
            "responses and passages are the same in both runs: differences come from the evaluation settings, not "
            "from the system"
        )
    yield from _settings_differ(first.spec, second.spec)


def records_said(count: int, kind: str = "record") -> str:
    """Format a count, e.g. ``1 record``, ``1,243 records`` or ``21 paired records``."""
    return f"1 {kind}" if count == 1 else f"{count:,} {kind}s"


def _settings_differ(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterable[str]:
    """Return differing settings that are not in signatures: ``max_tokens``, extra fields and panel weights."""
    ours, theirs = first.get("judges") or {}, second.get("judges") or {}
    for name in ours:
        for setting in ("max_tokens", "extra"):
            if name in theirs and ours[name].get(setting) != theirs[name].get(setting):
                before, now = ours[name].get(setting), theirs[name].get(setting)
                yield f"the judge {name}: {setting} changed from {before} to {now}"
    weights = [{"default": spec.get("default"), **(spec.get("steps") or {})} for spec in (first, second)]
    for step, route in weights[0].items():
        other = weights[1].get(step)
        if route and other and route["judges"] == other["judges"] and route.get("weights") != other.get("weights"):
            yield f"the {step} panel's weights changed from {route.get('weights')} to {other.get('weights')}"

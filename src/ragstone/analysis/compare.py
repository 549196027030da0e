"""Two runs over the same records: what differs, whether that can be told from chance, and where it comes from.

Promises: records are paired by id, and nothing that one run lacks is counted as 0; what cannot be paired is said. No
difference is called one that could have come about by chance over all the tests made, and where none is shown it is
said how large one would have had to be. Two numbers that were made otherwise are never compared silently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from ragstone.analysis.saved import Weighed
from ragstone.analysis.scored import One, Scores, scores_of, signatures_differ
from ragstone.errors import InputError
from ragstone.metrics import of_score
from ragstone.render.wording import part_said
from ragstone.stats.means import mean
from ragstone.stats.paired_tests import LEVEL, Paired, holm, least_moved, paired

Pair = tuple[str, Scores, Scores]
"""A record's id, and its scores in both runs."""

Finding = Literal["higher", "lower", "none", "same", "too_few", "nothing"]
"""What is found of a metric in the second run. ``none``: no difference could be shown; ``same``: no pair differs;
``too_few``: so few differ that this could not be shown among so many tests; ``nothing``: no pair has both values."""

MOVED: Final = 5
"""Records that are listed of each metric unless more are asked for."""
NOT_SHOWN: Final = "no difference could be shown"
NUGGETS: Final = "nuggets"
VITAL: Final = "vital nuggets"
VERSION: Final = "v"
"""The part of a signature that names Ragstone's version."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs: its number in its store (0: not known), name, how it ended, and its records."""

    run: int
    name: str
    status: str
    records: int
    label: str


@dataclass(frozen=True, slots=True)
class Half:
    """One side of a metric.

    ``scored`` of the ``records`` that both runs have; ``statuses`` of the others. Of the pairs: the mean, what it would
    be if every unjudged unit were worst or best (``low``, ``high``), and how many units were ``asked`` and stayed
    ``unjudged``. Of nuggets: how many of the banks' ``records`` nuggets have a verdict.
    """

    records: int
    scored: int
    statuses: Mapping[str, int]
    mean: float | None
    low: float | None
    high: float | None
    asked: int
    unjudged: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A record and its two values; ``difference`` is second less first."""

    record: str
    first: float
    second: float
    difference: float


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A part of a signature that differs in so many ``pairs``; a side that does not name it is empty: its default."""

    part: str
    first: str
    second: str
    pairs: int


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric of both runs, or the nuggets of all banks one by one.

    ``unit`` says what was paired. ``adjusted`` is p by Holm over all ``tests`` of the comparison, and what ``finding``
    stands on; ``smallest`` is the smallest difference that could have been shown among them, four times in five.
    ``signatures`` are their parts that differ. ``unmatched`` nuggets are in one run's bank alone, or unjudged in one.
    """

    metric: str
    unit: Literal["record", "nugget"]
    finding: Finding
    paired: Paired | None
    adjusted: float | None
    tests: int
    smallest: float | None
    first: Half
    second: Half
    signatures: tuple[Otherwise, ...] = ()
    moved: tuple[Moved, ...] = ()
    unmatched: int = 0

    @property
    def only_alone(self) -> bool:
        """Whether this would be called a difference if nothing else had been tested."""
        return self.finding in ("none", "too_few") and self.paired is not None and self.paired.p < LEVEL

    @property
    def same_ruler(self) -> bool:
        """Whether both values were made in one way, Ragstone's version aside."""
        return all(one.part == VERSION for one in self.signatures)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, metric by metric.

    ``shared`` records are in both; ``only_first`` and ``only_second`` are ids. ``groups`` is the number of clusters by
    the field ``by``, None where each record stands for itself; ``ungrouped`` records lack the field. ``tests`` were
    made. Of the shared records ``same_responses`` have the same response in both, ``other_questions`` another question
    under the same id. ``metrics_first`` and ``metrics_second`` are only in one. ``warnings`` are sentences on what
    makes the numbers hard to compare.
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
    warnings: tuple[str, ...]

    def __getitem__(self, metric: str) -> Compared:
        for found in self.metrics:
            if found.metric == metric:
                return found
        raise KeyError(metric)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON, with each finding also in words."""
        plain = asdict(self)
        for found, metric in zip(plain["metrics"], self.metrics, strict=True):
            found["said"] = said(metric, self.second.label)
        return plain


def compare(
    first: Weighed,
    second: Weighed,
    *,
    by: str | None = None,
    metrics: Sequence[str] | None = None,
    moved: int = MOVED,
    known: Mapping[str, Scores] | None = None,
) -> Comparison:
    """Hold the second run against the first; ``metrics`` are names of metrics or of their columns, all unless named.

    ``known`` are the second's scores where they were read before. InputError where the runs share no record or no
    metric, or one is named that they do not share.
    """
    ours, theirs = scores_of(first, by), scores_of(second, by) if known is None else known
    sides = _sides(first, second, len(ours), len(theirs))
    shared = [record for record in ours if record in theirs]
    if not shared:
        raise InputError(_apart(sides, ours, theirs))
    pairs = [(record, ours[record], theirs[record]) for record in shared]
    names = _names(pairs, metrics, sides)
    groups = _groups(pairs, by) if by is not None else None
    found = [_compared(name, pairs, groups, moved) for name in names]
    if any(of_score(name).task() == "assign" for name in names):
        found += _nuggets(pairs, groups)
    found = _judged(found)
    seen = _metrics_of(a for _, a, _ in pairs), _metrics_of(b for _, _, b in pairs)
    comparison = Comparison(
        *sides,
        shared=len(shared),
        only_first=tuple(record for record in ours if record not in theirs),
        only_second=tuple(record for record in theirs if record not in ours),
        by=by,
        groups=None if groups is None else len(set(groups)),
        ungrouped=sum(a.group is None for _, a, _ in pairs) if by is not None else 0,
        metrics=tuple(found),
        metrics_first=tuple(name for name in seen[0] if name not in seen[1]),
        metrics_second=tuple(name for name in seen[1] if name not in seen[0]),
        tests=sum(one.adjusted is not None for one in found),
        same_responses=sum(a.response == b.response for _, a, b in pairs),
        other_questions=sum(a.question != b.question for _, a, b in pairs),
        warnings=(),
    )
    return replace(comparison, warnings=tuple(_warnings(comparison, first.spec, second.spec)))


def said(found: Compared, label: str) -> str:
    """The finding in words; ``label`` is what the second run is called."""
    pairs = found.paired
    if pairs is None:
        return f"no {found.unit} has a value in both"
    points = f"{abs(100 * pairs.difference):.1f} points"
    if found.finding in ("higher", "lower"):
        return f"{points} {found.finding} in {label}"
    if found.finding == "same":
        return f"the same in every {found.unit}"
    if found.finding == "too_few":
        unit = "topic" if found.unit == "nugget" else found.unit if pairs.clusters is None else "group"
        changed = f"only {pairs.moved} {unit}{'' if pairs.moved == 1 else 's'} changed"
        return f"{NOT_SHOWN} ({changed}; at least {least_moved(found.tests)} are needed for a test)"
    return NOT_SHOWN + ("" if found.smallest is None else f" (smallest that could: {100 * found.smallest:.1f} points)")


# ---- pairing


def _sides(first: Weighed, second: Weighed, ours: int, theirs: int) -> tuple[Side, Side]:
    """Both runs, called by their numbers where these tell them apart."""
    apart = first.id and second.id and first.id != second.id
    labels = [f"run {run.id}" for run in (first, second)] if apart else ["the first", "the second"]
    return (
        Side(first.id, first.name, first.status, ours, labels[0]),
        Side(second.id, second.name, second.status, theirs, labels[1]),
    )


def _apart(sides: tuple[Side, Side], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    empty = next((side.label for side, found in zip(sides, (ours, theirs), strict=True) if not found), "")
    if empty:
        return f"{empty} has no results; nothing can be compared"
    return (
        f"no record is in both: ids are like '{next(iter(ours))}' in {sides[0].label} and like '{next(iter(theirs))}' "
        f"in {sides[1].label}; name the field that holds the id when you run, with --field id=COLUMN"
    )


def _metrics_of(records: Iterable[Scores]) -> dict[str, None]:
    return dict.fromkeys(name for scores in records for name in scores.by_metric)


def _names(pairs: Sequence[Pair], wanted: Sequence[str] | None, sides: tuple[Side, Side]) -> list[str]:
    """The metrics to compare, in the order of the first run."""
    theirs = _metrics_of(b for _, _, b in pairs)
    shared = [name for name in _metrics_of(a for _, a, _ in pairs) if name in theirs]
    if not shared:
        raise InputError(f"{sides[0].label} and {sides[1].label} have no metric in common")
    if wanted is None:
        return shared
    for name in wanted:
        if not any(_is(one, name) for one in shared):
            raise InputError(f"metric '{name}' is not in both runs; those are {', '.join(shared)}")
    return [one for one in shared if any(_is(one, name) for name in wanted)]


def _is(score: str, name: str) -> bool:
    return score == name or score.startswith(f"{name}.")


def _groups(pairs: Sequence[Pair], by: str) -> list[str]:
    """The cluster of each pair; a record without the field is one of its own."""
    if all(a.group is None for _, a, _ in pairs):
        raise InputError(f"--by {by}: no record has it")
    return [f"record {record}" if a.group is None else f"group {a.group}" for record, a, _ in pairs]


def _compared(metric: str, pairs: Sequence[Pair], groups: Sequence[str] | None, moved: int) -> Compared:
    kept: list[tuple[One, One]] = []
    values: list[tuple[float, float]] = []
    clusters: list[str] = []
    ranked: list[Moved] = []
    parts: Counter[tuple[str, str, str]] = Counter()
    for place, (record, ours, theirs) in enumerate(pairs):
        a, b = ours.by_metric.get(metric), theirs.by_metric.get(metric)
        if a is None or b is None or a.value is None or b.value is None:
            continue
        kept.append((a, b))
        values.append((a.value, b.value))
        clusters += [groups[place]] if groups is not None else []
        ranked += [Moved(record, a.value, b.value, b.value - a.value)] if a.value != b.value else []
        parts.update(signatures_differ(a.signature, b.signature) if a.signature != b.signature else ())
    return Compared(
        metric,
        "record",
        "nothing",  # found once all metrics are tested
        _paired(values, clusters if groups is not None else None),
        None,
        0,
        None,
        _half([scores.by_metric.get(metric) for _, scores, _ in pairs], [a for a, _ in kept]),
        _half([scores.by_metric.get(metric) for _, _, scores in pairs], [b for _, b in kept]),
        signatures=tuple(Otherwise(*part, count) for part, count in parts.items()),
        moved=tuple(sorted(ranked, key=lambda one: -abs(one.difference))[:moved]),
    )


def _paired(values: Sequence[tuple[float, float]], clusters: Sequence[str] | None) -> Paired | None:
    return paired([a for a, _ in values], [b for _, b in values], clusters) if values else None


def _half(every: Sequence[One | None], kept: Sequence[One]) -> Half:
    return Half(
        records=len(every),
        scored=sum(one is not None and one.value is not None for one in every),
        statuses=dict(Counter(one.status for one in every if one is not None and one.value is None)),
        mean=_mean(kept, lambda one: one.value),
        low=_mean(kept, lambda one: one.value if one.low is None else one.low),
        high=_mean(kept, lambda one: one.value if one.high is None else one.high),
        asked=sum(one.asked for one in kept),
        unjudged=sum(one.unjudged for one in kept),
    )


def _mean(kept: Sequence[One], end: Callable[[One], float | None]) -> float | None:
    values = [value for one in kept if (value := end(one)) is not None]
    return mean(values) if values else None


def _nuggets(pairs: Sequence[Pair], groups: Sequence[str] | None) -> list[Compared]:
    """The nuggets that both runs assigned, one by one within their topics: all of them, and the vital ones."""
    found = []
    for name in (NUGGETS, VITAL):
        banks = [tuple(_bank(scores.nuggets, only_vital=name == VITAL) for scores in both) for _, *both in pairs]
        values: list[tuple[float, float]] = []
        clusters: list[str] = []
        for place, (ours, theirs) in enumerate(banks):
            for text, value in ours.items():
                other = theirs.get(text)
                if value is not None and other is not None:
                    values.append((value, other))
                    clusters.append(groups[place] if groups is not None else pairs[place][0])
        if values:
            halves = (
                _half_of_banks([ours for ours, _ in banks], [a for a, _ in values]),
                _half_of_banks([theirs for _, theirs in banks], [b for _, b in values]),
            )
            unmatched = sum(half.records for half in halves) - 2 * len(values)
            result = _paired(values, clusters)
            found.append(Compared(name, "nugget", "nothing", result, None, 0, None, *halves, unmatched=unmatched))
    return found


def _bank(nuggets: Mapping[str, tuple[float | None, bool]], *, only_vital: bool) -> dict[str, float | None]:
    return {text: value for text, (value, vital) in nuggets.items() if vital or not only_vital}


def _half_of_banks(banks: Sequence[Mapping[str, float | None]], values: Sequence[float]) -> Half:
    asked = sum(map(len, banks))
    judged = sum(value is not None for bank in banks for value in bank.values())
    return Half(asked, judged, {}, mean(values), None, None, asked, asked - judged)


# ---- what it comes to


def _judged(found: Sequence[Compared]) -> list[Compared]:
    """Each with its finding, p raised for the number of tests; where nothing differs nothing was tested."""
    tested = [one for one in found if one.paired is not None and one.paired.test != "none"]
    tests = len(tested)
    raised = dict(
        zip((one.metric for one in tested), holm([one.paired.p for one in tested if one.paired]), strict=True)
    )
    return [
        replace(
            one,
            adjusted=(p := raised.get(one.metric)),
            tests=tests,
            smallest=one.paired.smallest(tests) if one.paired is not None and p is not None else None,
            finding=_finding(one.paired, p, tests),
        )
        for one in found
    ]


def _finding(pairs: Paired | None, adjusted: float | None, tests: int) -> Finding:
    if pairs is None:
        return "nothing"
    if adjusted is None:
        return "same"
    if adjusted < LEVEL:
        return "higher" if pairs.difference > 0 else "lower"
    return "too_few" if pairs.moved < least_moved(tests) else "none"


def _warnings(found: Comparison, first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterable[str]:
    """What makes the numbers hard to compare; parts of signatures that differ are with each metric."""
    for side, spec in ((found.first, first), (found.second, second)):
        if side.status != "done":
            yield f"{side.label} did not end: it is {side.status}, and has {_records(side.records)}"
        if part := part_said(spec.get("extent", {})):
            yield f"{side.label} is not of its whole input: {part}"
    if found.other_questions:
        have = f"{_records(found.other_questions)} {'has' if found.other_questions == 1 else 'have'}"
        yield f"{have} another question in {found.second.label} than in {found.first.label}"
    if found.same_responses == found.shared and any(not one.same_ruler for one in found.metrics):
        yield "the responses are the same in both: a difference is one of the judges, not of the system"
    yield from _settings_differ(first, second)


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _settings_differ(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterable[str]:
    """Settings that no signature holds: a judge's ``max_tokens`` and further fields, and the weights of panels."""
    ours, theirs = first.get("judges") or {}, second.get("judges") or {}
    for name in ours:
        for setting in ("max_tokens", "extra"):
            if name in theirs and ours[name].get(setting) != theirs[name].get(setting):
                yield f"{setting} of the judge {name} was {ours[name].get(setting)} and is {theirs[name].get(setting)}"
    weights = [{"default": spec.get("default"), **(spec.get("steps") or {})} for spec in (first, second)]
    for step, route in weights[0].items():
        other = weights[1].get(step)
        if route and other and route["judges"] == other["judges"] and route.get("weights") != other.get("weights"):
            yield f"the panel of {step} was weighted {route.get('weights')} and is {other.get('weights')}"

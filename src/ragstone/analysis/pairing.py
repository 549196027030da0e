"""Pair the records of two runs while reading both, and collect the values to compare.

Guarantees: if both runs have the same records in the same order, a record takes 8 bytes of memory per metric, and
some more for each of its nuggets; 8 more if records are grouped.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from heapq import nsmallest
from itertools import chain
from typing import Final, NamedTuple

from msgspec import Struct

from ragstone.analysis.scored import Kept, RecordScores, ScoreNumbers, signatures_differ
from ragstone.stats.means import Mean, mean
from ragstone.stats.paired_tests import Paired, paired, paired_by

MOST_SYSTEMS: Final = 1000
"""Maximum number of systems that are told apart; a field with more names something else."""


class Pair(NamedTuple):
    """A record's scores in both runs, and the number of its cluster for resampling."""

    record: str
    first: RecordScores
    second: RecordScores
    cluster: int


def side_by_side(
    first: Iterable[tuple[str, RecordScores]], second: Iterable[tuple[str, RecordScores]]
) -> Iterator[tuple[str, RecordScores | None, RecordScores | None]]:
    """Yield the scores of each record in both runs while reading both; None for a run that lacks the record."""
    following, ahead = iter(second), Kept()
    for record, ours in first:
        theirs = ahead.pop(record, None)
        while theirs is None and (one := next(following, None)) is not None:
            if one[0] == record:
                theirs = one[1]
            else:
                ahead.add(*one)
        yield record, ours, theirs
    yield from ((record, None, theirs) for record, theirs in chain(ahead.items(), following))


class MetricSide(Struct, frozen=True):
    """One run's values of a metric.

    Of the ``records`` in both runs, ``scored`` have a value; ``statuses`` counts the others, as in
    ``RecordScores.why_without``. Over the pairs: the ``mean``, the mean if every unjudged unit were worst or best
    (``low``, ``high``), and the units ``asked`` and ``unjudged``. For nuggets, ``records`` counts the nuggets of all
    banks, and ``scored`` those with a verdict.
    """

    records: int
    scored: int
    statuses: Mapping[str, int]
    mean: float | None
    low: float | None
    high: float | None
    asked: int
    unjudged: int


class Moved(Struct, frozen=True):
    """A record and its two values; ``difference`` is second minus first."""

    record: str
    first: float
    second: float
    difference: float


class SignaturePart(Struct, frozen=True):
    """A part of a signature that differs, and in how many ``pairs``; empty on a side where it has its default."""

    part: str
    first: str
    second: str
    pairs: int


class SharedRecords:
    """The ``records`` in both runs; ``alone`` has the ids in one run only, ``seen`` all metrics of each run.

    ``systems`` are the systems of the records in each run, ``matches`` those of paired records. ``metrics`` are the
    ``wanted`` ones; ``nuggets`` are the single nuggets of the records' banks, ``vital`` those of them that are.
    ``unreadable`` counts, for each run, those without any score. ``clusters`` numbers the groups by ``by``.
    ``read_alone`` says whether any record in one run only was readable.
    """

    def __init__(
        self,
        first: Iterable[tuple[str, RecordScores]],
        second: Iterable[tuple[str, RecordScores]],
        by: str | None,
        wanted: Callable[[str], bool],
        moved: int,
    ) -> None:
        self.records = self.ungrouped = self.same_responses = self.other_questions = self.other_contexts = 0
        self.alone: tuple[list[str], list[str]] = [], []
        self.seen: tuple[dict[str, None], dict[str, None]] = {}, {}
        self.systems: tuple[set[str], set[str]] = set(), set()
        self.matches: set[tuple[str, str]] = set()
        self.metrics: dict[str, Values] = {}
        self.nuggets, self.vital = Nuggets(), Nuggets()
        self.clusters: dict[str, int] = {}
        self.read_alone = False
        self.unreadable = [0, 0]
        self._new = partial(Values, moved, clustered=by is not None)
        for record, ours, theirs in side_by_side(first, second):
            for scores, systems, alone in zip((ours, theirs), self.systems, self.alone, strict=True):
                if scores is not None and len(systems) < MOST_SYSTEMS:
                    systems.add(scores.system)
                if scores is not None and (ours is None or theirs is None):
                    alone.append(record)
                    self.read_alone = self.read_alone or scores.read
            if ours is not None and theirs is not None:
                cluster = self.records
                if by is not None:  # a record without the field is a cluster of its own
                    name = f"record {record}" if ours.group is None else f"group {ours.group}"
                    cluster = self.clusters.setdefault(name, len(self.clusters))
                self._add(Pair(record, ours, theirs, cluster), wanted)

    def _add(self, pair: Pair, wanted: Callable[[str], bool]) -> None:
        for side, (seen, scores) in enumerate(zip(self.seen, (pair.first, pair.second), strict=True)):
            self.unreadable[side] += not scores.read
            for name in scores.by_metric:
                if name not in seen:
                    seen[name] = None
                    if name not in self.metrics and wanted(name):
                        self.metrics[name] = self._new()
        for name, values in self.metrics.items():
            values.add(pair, pair.first.by_metric.get(name), pair.second.by_metric.get(name))
        if len(self.matches) < MOST_SYSTEMS:
            self.matches.add((pair.first.system, pair.second.system))
        self.records += 1
        self.ungrouped += pair.first.group is None
        self.same_responses += pair.first.response == pair.second.response
        self.other_questions += pair.first.question != pair.second.question
        self.other_contexts += pair.first.contexts != pair.second.contexts
        self.nuggets.add(pair)
        self.vital.add(pair, only_vital=True)


class Values:
    """A metric's values in records of both runs: ``sides``, and the differences of records with both values."""

    def __init__(self, moved: int, *, clustered: bool) -> None:
        self.sides = _Sums(), _Sums()
        self._differences = array("d")
        self._clusters = array("q") if clustered else None
        self._parts: Counter[tuple[str, str, str]] = Counter()
        self._most = moved
        self._moved: list[Moved] = []

    def add(self, pair: Pair, first: ScoreNumbers | None, second: ScoreNumbers | None) -> None:
        """Add a record's scores."""
        for side, score in zip(self.sides, (first, second), strict=True):
            side.add(score)
        if first is None or second is None or first.value is None or second.value is None:
            return
        self.sides[0].keep(first, first.value)
        self.sides[1].keep(second, second.value)
        difference = second.value - first.value
        self._differences.append(difference)
        if self._clusters is not None:
            self._clusters.append(pair.cluster)
        if first.signature != second.signature:
            self._parts.update(signatures_differ(first.signature, second.signature))
        if difference:
            self._moved.append(Moved(pair.record, first.value, second.value, difference))
            if len(self._moved) > 2 * self._most + 100:
                self._moved = list(self.moved())

    def signatures(self) -> tuple[SignaturePart, ...]:
        """Return the parts of signatures that differ."""
        return tuple(SignaturePart(*part, count) for part, count in self._parts.items())

    def moved(self) -> tuple[Moved, ...]:
        """Return the records that differ most, largest difference first, up to the maximum."""
        return tuple(nsmallest(self._most, self._moved, key=lambda one: -abs(one.difference)))

    def paired(self) -> Paired | None:
        """Return the paired test; None if no record has both values."""
        first, second = (side.value.mean() for side in self.sides)
        if first is None or second is None:
            return None
        return paired_by(self._differences, first, second, self._clusters)


class Nuggets:
    """Values of single nuggets in the banks of both runs, paired by text and clustered by topic."""

    def __init__(self) -> None:
        self._asked, self._judged = [0, 0], [0, 0]
        self._values = array("d"), array("d")
        self._clusters = array("q")

    def add(self, pair: Pair, *, only_vital: bool = False) -> None:
        """Add the nuggets of a record, or only its vital ones."""
        ours, theirs = (
            {text: value for text, (value, vital) in scores.nuggets.items() if vital or not only_vital}
            for scores in (pair.first, pair.second)
        )
        for side, bank in enumerate((ours, theirs)):
            self._asked[side] += len(bank)
            self._judged[side] += sum(value is not None for value in bank.values())
        for text, value in ours.items():
            if value is not None and (other := theirs.get(text)) is not None:
                for values, one in zip(self._values, (value, other), strict=True):
                    values.append(one)
                self._clusters.append(pair.cluster)

    @property
    def unmatched(self) -> int:
        """The number of nuggets in the bank of only one run, or unjudged in one."""
        return sum(self._asked) - 2 * len(self._clusters)

    def sides(self) -> Iterator[MetricSide]:
        """Yield both sides of the comparison."""
        for asked, judged, values in zip(self._asked, self._judged, self._values, strict=True):
            yield MetricSide(asked, judged, {}, mean(values), None, None, asked, asked - judged)

    def paired(self) -> Paired | None:
        """Return the paired test; None if no nugget has a verdict in both runs."""
        return paired(*self._values, self._clusters) if self._clusters else None


class _Sums:
    def __init__(self) -> None:
        self._scored = self._asked = self._unjudged = 0
        self._statuses: Counter[str] = Counter()
        self.value, self._low, self._high = Mean(), Mean(), Mean()

    def add(self, score: ScoreNumbers | None) -> None:
        """Count a score."""
        if score is not None and score.value is None:
            self._statuses[score.status] += 1
        elif score is not None:
            self._scored += 1

    def keep(self, score: ScoreNumbers, value: float) -> None:
        """Add the value of a score that has a value in both runs."""
        self.value.add(value)
        self._low.add(value if score.low is None else score.low)
        self._high.add(value if score.high is None else score.high)
        self._asked += score.asked
        self._unjudged += score.unjudged

    def told(self, records: int, unreadable: int) -> MetricSide:
        """Return this side of the comparison, for a number of ``records``, some of them ``unreadable``."""
        mean, low, high = (one.mean() for one in (self.value, self._low, self._high))
        others = records - self._scored - self._statuses.total() - unreadable
        statuses = self._statuses + Counter(unreadable=unreadable, not_computed=others)  # without zeros
        return MetricSide(records, self._scored, dict(statuses), mean, low, high, self._asked, self._unjudged)

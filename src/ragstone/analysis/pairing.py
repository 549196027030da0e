"""Pair the records of two runs while reading both, and collect the values to compare.

Guarantees: if both runs have the same records in the same order, a record takes 8 bytes of memory per metric.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from heapq import nsmallest
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from ragstone.analysis.scored import Kept, RecordScores, ScoreNumbers, signatures_differ
from ragstone.stats.means import Mean
from ragstone.stats.paired_tests import Paired, paired_by


class Pair(NamedTuple):
    """A record's scores in both runs, and its cluster for resampling."""

    record: str
    first: RecordScores
    second: RecordScores
    cluster: str | None


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

    ``metrics`` are the ``wanted`` ones, ``banks`` the pairs with nuggets. ``unreadable`` counts, for each run, those
    without any score. ``read_alone`` says whether any record in one run only was readable.
    """

    def __init__(
        self,
        first: Iterator[tuple[str, RecordScores]],
        second: Iterator[tuple[str, RecordScores]],
        by: str | None,
        wanted: Callable[[str], bool],
        moved: int,
    ) -> None:
        self.records = self.ungrouped = self.same_responses = self.other_questions = self.other_contexts = 0
        self.alone: tuple[list[str], list[str]] = [], []
        self.seen: tuple[dict[str, None], dict[str, None]] = {}, {}
        self.metrics: dict[str, Values] = {}
        self.banks: list[Pair] = []
        self.clusters: set[str | None] = set()
        self.read_alone = False
        self.unreadable = [0, 0]
        ahead = Kept()
        for record, ours in first:
            theirs = ahead.pop(record, None)
            while theirs is None and (following := next(second, None)) is not None:
                if following[0] == record:
                    theirs = following[1]
                else:
                    ahead.add(*following)
            if theirs is None:
                self._leave(0, record, ours)
            else:
                self._add(Pair(record, ours, theirs, _cluster(record, ours, by)), wanted, moved)
        for record, theirs in chain(ahead.items(), second):
            self._leave(1, record, theirs)

    def _leave(self, side: int, record: str, scores: RecordScores) -> None:
        self.alone[side].append(record)
        self.read_alone = self.read_alone or bool(scores.by_metric)

    def _add(self, pair: Pair, wanted: Callable[[str], bool], moved: int) -> None:
        for side, (seen, scores) in enumerate(zip(self.seen, (pair.first, pair.second), strict=True)):
            self.unreadable[side] += not scores.by_metric
            for name in scores.by_metric:
                if name not in seen:
                    seen[name] = None
                    if name not in self.metrics and wanted(name):
                        self.metrics[name] = Values(moved)
        for name, values in self.metrics.items():
            values.add(pair, pair.first.by_metric.get(name), pair.second.by_metric.get(name))
        self.records += 1
        self.ungrouped += pair.first.group is None
        self.same_responses += pair.first.response == pair.second.response
        self.other_questions += pair.first.question != pair.second.question
        self.other_contexts += pair.first.contexts != pair.second.contexts
        if pair.cluster is not None:
            self.clusters.add(pair.cluster)
        if pair.first.nuggets or pair.second.nuggets:
            self.banks.append(pair)


class Values:
    """A metric's values in records of both runs: ``sides``, and the differences of records with both values."""

    def __init__(self, moved: int) -> None:
        self.sides = _Sums(), _Sums()
        self._differences = array("d")
        self._clusters: list[str | None] = []
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
        if pair.cluster is not None:
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
        return paired_by(self._differences, first, second, self._clusters or None)


class _Sums:
    """Sums over one run's scores of a metric."""

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


def _cluster(record: str, scores: RecordScores, by: str | None) -> str | None:
    """Return a record's cluster by a field; a record without the field is its own cluster."""
    if by is None:
        return None
    return f"record {record}" if scores.group is None else f"group {scores.group}"

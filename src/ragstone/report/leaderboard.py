"""Systems side by side: what each scored on each topic, and their means, as TREC compares runs.

A mean never stands on a default unless that was asked for: ``on_missing`` says what a topic does that a run has not
answered. A judge that failed is not a missing answer, and is never a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from ragstone.errors import InputError
from ragstone.metrics.nugget_recall import COLUMNS, Held, recalls
from ragstone.questions import SUPPORT_3
from ragstone.records import Row
from ragstone.stats import kendall_tau, mean
from ragstone.types import Nugget

OnMissing = Literal["error", "warn", "skip", "zero"]
ON_MISSING: Final[tuple[OnMissing, ...]] = get_args(OnMissing)
ALL: Final = "all"
"""The topic of the rows that hold a run's means."""
NAMED: Final = 3
"""Runs or topics that a message names."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One run on one topic: a value by measure, None where there is none. ``answered`` is False for a blank answer."""

    run: str
    topic: str
    values: Mapping[str, float | None]
    answered: bool = True
    nuggets: int | None = None
    unjudged: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """The means of one run by measure, and the number of topics that each stands on."""

    run: str
    means: Mapping[str, float | None]
    topics: Mapping[str, int]
    missing: int = 0


@dataclass(slots=True)
class Leaderboard:
    """Entries as they come; memory grows by a few numbers an entry."""

    measures: tuple[str, ...] = ()
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Add one; InputError where the run has been scored on the topic before."""
        if (entry.run, entry.topic) in self.entries:
            raise InputError(f"run '{entry.run}' has two answers to topic '{entry.topic}'")
        self.entries[entry.run, entry.topic] = entry
        self.measures = tuple(dict.fromkeys((*self.measures, *entry.values)))

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs in the order in which they came."""
        return tuple(dict.fromkeys(run for run, _ in self.entries))

    def topics(self) -> tuple[str, ...]:
        """The topics of all runs in the order in which they came."""
        return tuple(dict.fromkeys(topic for _, topic in self.entries))

    def missing(self) -> dict[str, list[str]]:
        """By run the topics that others have answered and it has not; runs that miss none are left out."""
        topics = self.topics()
        found = {
            run: [topic for topic in topics if (entry := self.entries.get((run, topic))) is None or not entry.answered]
            for run in self.runs
        }
        return {run: lost for run, lost in found.items() if lost}

    def standings(self, on_missing: OnMissing = "warn") -> tuple[Standing, ...]:
        """The means of each run.

        A topic that a run has not answered: ``error`` is an InputError; ``warn`` leaves it out of that run's means;
        ``skip`` leaves it out of every run's; ``zero`` counts it as 0 in every measure that has a value for another
        run on that topic.
        """
        missing = self.missing()
        if missing and on_missing == "error":
            raise InputError(f"{missed(missing)}; --on-missing warn, skip or zero goes on")
        skipped = {topic for lost in missing.values() for topic in lost} if on_missing == "skip" else set()
        valued = {
            (topic, measure)
            for (_, topic), entry in self.entries.items()
            for measure, value in entry.values.items()
            if value is not None
        }
        by_run: dict[str, list[Entry]] = {}
        for (run, _), entry in self.entries.items():
            by_run.setdefault(run, []).append(entry)
        zeroed = valued if on_missing == "zero" else set()
        return tuple(
            self._standing(run, entries, missing.get(run, []), skipped, zeroed) for run, entries in by_run.items()
        )

    def _standing(
        self, run: str, entries: list[Entry], lost: list[str], skipped: set[str], zeroed: set[tuple[str, str]]
    ) -> Standing:
        left_out = skipped.union(lost)
        counted: dict[str, list[float]] = {measure: [] for measure in self.measures}
        for entry in entries:
            if entry.topic not in left_out:
                for measure, value in entry.values.items():
                    if value is not None:
                        counted[measure].append(value)
        for topic in lost:
            for measure in self.measures:
                if (topic, measure) in zeroed:
                    counted[measure].append(0.0)
        return Standing(
            run,
            {measure: mean(values) if values else None for measure, values in counted.items()},
            {measure: len(values) for measure, values in counted.items()},
            len(lost),
        )

    def rows(self, on_missing: OnMissing = "warn") -> Iterator[Row]:
        """Every value by run, topic and measure, then the means under the topic ``all``; what is absent is left out."""
        for entry in self.entries.values():
            for measure, value in entry.values.items():
                if value is not None:
                    yield Row(entry.run, entry.topic, _written(measure), value)
        for standing in self.standings(on_missing):
            for measure, value in standing.means.items():
                if value is not None:
                    yield Row(standing.run, ALL, _written(measure), value)

    def score_rows(self, on_missing: OnMissing = "warn") -> Iterator[dict[str, Any]]:
        """A row per run and topic, then one per run with the means, as nugget tools write them."""
        for entry in self.entries.values():
            scores = {_written(measure): entry.values.get(measure) for measure in self.measures}
            yield {
                "run_id": entry.run, "qid": entry.topic, **scores,
                "nuggets": entry.nuggets, "unjudged": entry.unjudged,
                **({} if entry.answered else {"status": "empty"}),
            }  # fmt: skip
        for standing in self.standings(on_missing):
            scores = {_written(measure): standing.means.get(measure) for measure in self.measures}
            yield {
                "run_id": standing.run, "qid": ALL, **scores,
                "topics": max(standing.topics.values(), default=0), "missing": standing.missing,
            }  # fmt: skip


def _written(measure: str) -> str:
    """A measure's name in a file: ``all_score``, since ``all`` is the topic of the means there."""
    return f"{measure}_score" if measure in COLUMNS else measure


def _read(measure: str) -> str:
    name = measure.removesuffix("_score")
    return name if name in COLUMNS else measure


def missed(missing: Mapping[str, list[str]]) -> str:
    """One line on who misses which topics."""
    parts = []
    for run, topics in list(missing.items())[:NAMED]:
        more = f" and {len(topics) - NAMED} more" if len(topics) > NAMED else ""
        parts.append(f"run '{run}' has no answer to {', '.join(topics[:NAMED])}{more}")
    more = f"; and {len(missing) - NAMED} more runs" if len(missing) > NAMED else ""
    return "; ".join(parts) + more


def from_rows(rows: Iterable[Row]) -> Leaderboard:
    """A leaderboard that was read; its own ``all`` rows are left out, since means are made of the topics.

    Where there are only such rows they are the one topic.
    """
    listed = list(rows)
    topics = [row for row in listed if row.topic != ALL] or listed
    values: dict[tuple[str, str], dict[str, float | None]] = {}
    for row in topics:
        values.setdefault((row.run, row.topic), {})[_read(row.measure)] = row.value
    board = Leaderboard()
    for (run, topic), found in values.items():
        board.add(Entry(run, topic, found))
    return board


def of_nuggets(run: str, topic: str, nuggets: Iterable[Nugget], *, answered: bool = True) -> Entry:
    """The recall of one run on one topic, from nuggets with their assignments."""
    listed = tuple(nuggets)
    held = [
        Held(
            nugget.importance,
            None if nugget.assignment is None else SUPPORT_3.value(nugget.assignment),
            None if nugget.assignment is None else float(nugget.assignment == "support"),
        )
        for nugget in listed
    ]
    values = {column: recall.value for column, recall in recalls(held).items()}
    return Entry(run, topic, values, answered, len(listed), sum(one.lenient is None for one in held))


@dataclass(frozen=True, slots=True)
class Agreement:
    """How alike two leaderboards rank the runs that both have: Kendall's tau-b of two measures, None if undefined."""

    measure: str
    other: str
    runs: int
    tau: float | None


def rank_agreement(ours: Iterable[Standing], theirs: Iterable[Standing]) -> list[Agreement]:
    """Tau of each measure that both have by name; where they share none, of each with each."""
    mine = {standing.run: standing.means for standing in ours}
    other = {standing.run: standing.means for standing in theirs}
    shared = [run for run in mine if run in other]
    left = tuple(dict.fromkeys(measure for run in shared for measure in mine[run]))
    right = tuple(dict.fromkeys(measure for run in shared for measure in other[run]))
    pairs = [(a, a) for a in left if a in right] or [(a, b) for a in left for b in right]
    found = []
    for a, b in pairs:
        values = [
            (x, y) for run in shared if (x := mine[run].get(a)) is not None and (y := other[run].get(b)) is not None
        ]
        tau = kendall_tau([x for x, _ in values], [y for _, y in values]) if len(values) > 1 else None
        found.append(Agreement(a, b, len(values), tau))
    return found

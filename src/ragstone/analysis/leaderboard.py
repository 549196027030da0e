"""Build leaderboards: the scores of each system on each topic and their means, as TREC compares runs.

Means never include default values unless requested: ``on_missing`` says how to treat topics that a run did not answer.
A judge failure is not a missing answer, and never counts as zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

from msgspec import Struct, field

from ragstone.errors import InputError
from ragstone.metrics.nugget_recall import COLUMNS, Held, NuggetRecall, recalls
from ragstone.questions import SUPPORT_3
from ragstone.records.leaderboards import SCORE, LeaderboardRow
from ragstone.stats.means import kendall_tau, mean, rounded
from ragstone.types import NOTHING, Nugget

OnMissing = Literal["error", "warn", "skip", "zero"]
ALL: Final = "all"
"""The topic of rows with a run's means."""
NAMED: Final = 3
"""Maximum number of runs, and of topics per run, listed in a message."""


_Counted: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Values by run, topic and measure."""


class Entry(Struct, frozen=True):
    """The values of one run on one topic by measure; None means no value.

    ``answered`` is False for a blank answer; ``possible`` are the measures that an answer to the topic can have.
    """

    run: str
    topic: str
    values: Mapping[str, float | None]
    answered: bool = True
    nuggets: int | None = None
    unjudged: int = 0
    possible: frozenset[str] = frozenset()

    @property
    def known(self) -> Mapping[str, float]:
        """Its values that are not None."""
        if None in self.values.values():
            return {measure: value for measure, value in self.values.items() if value is not None}
        return cast("Mapping[str, float]", self.values)

    @property
    def status(self) -> str:
        """Why there is no value: ``empty`` for a blank answer, ``no_nuggets`` for an empty bank; else ``""``."""
        return "empty" if not self.answered else "no_nuggets" if self.nuggets == 0 else ""


class Standing(Struct, frozen=True):
    """A run's means by measure, and the number of topics behind each."""

    run: str
    means: Mapping[str, float | None]
    topics: Mapping[str, int]
    missing: int = 0


class Leaderboard(Struct):
    """Entries in the order added; each takes only a few numbers of memory. ``notes`` report oddities in the input."""

    measures: tuple[str, ...] = ()
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def add(self, entry: Entry) -> None:
        """Add an entry; raise InputError for a second answer of a run to the same topic."""
        if (entry.run, entry.topic) in self.entries:
            raise InputError(f"system '{entry.run}' has two answers for topic '{entry.topic}'")
        self.entries[entry.run, entry.topic] = entry
        self.measures = tuple(dict.fromkeys((*self.measures, *entry.values)))

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs, in the order of their first entries."""
        return tuple(dict.fromkeys(run for run, _ in self.entries))

    def topics(self) -> tuple[str, ...]:
        """Return the topics of all runs, in the order of their first entries."""
        return tuple(dict.fromkeys(topic for _, topic in self.entries))

    def missing(self) -> dict[str, list[str]]:
        """Return, by run, the topics that it has not answered; runs that answered all topics are left out."""
        topics = self.topics()
        found = {
            run: [topic for topic in topics if (entry := self.entries.get((run, topic))) is None or not entry.answered]
            for run in self.runs
        }
        return {run: lost for run, lost in found.items() if lost}

    def standings(self, on_missing: OnMissing = "warn") -> tuple[Standing, ...]:
        """Return the means of each run over the values of ``counted``."""
        return self._standings(self.counted(on_missing))

    def _standings(self, counted: _Counted) -> tuple[Standing, ...]:
        missing = self.missing()
        found = []
        for run, topics in counted.items():
            columns = {m: [values[m] for values in topics.values() if m in values] for m in self.measures}
            means = {measure: mean(values) if values else None for measure, values in columns.items()}
            counts = {measure: len(values) for measure, values in columns.items()}
            found.append(Standing(run, means, counts, len(missing.get(run, ()))))
        return tuple(found)

    def counted(self, on_missing: OnMissing = "warn") -> dict[str, dict[str, Mapping[str, float]]]:
        """Return the values that count, by run and topic.

        For a topic that a run has not answered, ``error`` raises InputError, ``warn`` omits it for that run, and
        ``zero`` counts it as 0 in every measure that an answer to the topic can have. ``skip`` omits, for all runs,
        each topic and measure without a value in any run, so that all are compared on the same data.
        """
        missing = self.missing()
        if missing and on_missing == "error":
            raise InputError(f"{missed(missing)}; to continue, use --on-missing warn, skip or zero")
        found: dict[str, dict[str, Mapping[str, float]]] = {run: {} for run in self.runs}
        for (run, topic), entry in self.entries.items():
            if entry.answered:
                found[run][topic] = entry.known
        if on_missing == "zero":
            possible = self._possible()
            for run, topics in missing.items():
                for topic in topics:
                    found[run][topic] = {m: 0.0 for m in self.measures if (topic, m) in possible}
        if on_missing == "skip":
            for topic in self.topics():
                shared = set.intersection(*(set(values.get(topic, ())) for values in found.values()))
                for values in found.values():
                    values[topic] = {m: value for m, value in values.get(topic, {}).items() if m in shared}
        return found

    def _possible(self) -> set[tuple[str, str]]:
        """Return pairs of a topic and a measure that an answer to it can have, according to any run."""
        return {
            (topic, measure)
            for (_, topic), entry in self.entries.items()
            for measure in (*entry.possible, *(m for m, value in entry.values.items() if value is not None))
        }

    def rows(self, on_missing: OnMissing = "warn") -> Rows:
        """Return each value that counts by run, topic and measure, then the means of these values as topic ``all``."""
        counted = self.counted(on_missing)
        return Rows(counted, self._standings(counted))

    def score_rows(self, on_missing: OnMissing = "warn") -> Iterator[dict[str, Any]]:
        """Yield a row per run and topic with the values that count, then one per run with the means of these values."""
        counted = self.counted(on_missing)
        for run, topics in counted.items():
            for topic in self.topics():
                entry = self.entries.get((run, topic))
                if entry is None and topic not in topics:
                    continue
                status = entry.status if entry else "missing"
                scores = {_written(measure): topics.get(topic, {}).get(measure) for measure in self.measures}
                yield {
                    "run_id": run, "qid": topic, **scores,
                    "nuggets": entry.nuggets if entry else None, "unjudged": entry.unjudged if entry else 0,
                    **({"status": status} if status else {}),
                }  # fmt: skip
        for standing in self._standings(counted):
            scores = {_written(measure): standing.means.get(measure) for measure in self.measures}
            yield {
                "run_id": standing.run, "qid": ALL, **scores,
                "topics": max(standing.topics.values(), default=0), "missing": standing.missing,
            }  # fmt: skip


class Rows(Struct, frozen=True):
    """The rows of a leaderboard, which can be read several times."""

    counted: _Counted
    standings: Sequence[Standing]

    def by_run(self) -> dict[str, Rows]:
        """Return the rows of each run that has any."""
        means = {one.run: one for one in self.standings}
        return {run: Rows({run: topics}, [means[run]]) for run, topics in self.counted.items() if any(topics.values())}

    def __iter__(self) -> Iterator[LeaderboardRow]:
        for run, topics in self.counted.items():
            for topic, values in topics.items():
                for measure, value in values.items():
                    yield LeaderboardRow(run, topic, _written(measure), value)
        for standing in self.standings:
            for measure, mean_value in standing.means.items():
                if mean_value is not None:
                    yield LeaderboardRow(standing.run, ALL, _written(measure), mean_value)


def run_of(meta: Mapping[str, Any], default: str = "") -> str:
    """Return the system named in a record's ``run_id``; a whole number from a table (2.0) becomes ``2``."""
    given = meta.get("run_id")
    if isinstance(given, bool) or not isinstance(given, str | int | float) or given == "":
        return default
    return str(int(given) if isinstance(given, float) and given.is_integer() else given)


def _written(measure: str) -> str:
    """Return a measure's name in files, e.g. ``all_score``, since ``all`` is the topic of the means there."""
    return f"{measure}{SCORE}" if measure in COLUMNS else measure


def missed(missing: Mapping[str, list[str]]) -> str:
    """Return one line that lists runs with their missing topics."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for run, topics in missing.items():
        runs.setdefault(tuple(topics), []).append(f"'{run}'")
    parts = [
        f"{'system' if len(names) == 1 else 'systems'} {_listed(names)} "
        f"{'has' if len(names) == 1 else 'have'} no answer for {_listed(topics)}"
        for topics, names in list(runs.items())[:NAMED]
    ]
    rest = sum(map(len, list(runs.values())[NAMED:]))
    more = [f"and {rest} more {'system' if rest == 1 else 'systems'}"] if rest else []
    return "; ".join([*parts, *more])


def _listed(names: Sequence[str]) -> str:
    """Return ``a, b and c``, with at most ``NAMED`` names, or ``a, b, c and 2 more``."""
    shown = [*names[:NAMED], *([f"{len(names) - NAMED} more"] if len(names) > NAMED else [])]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def from_rows(rows: Iterable[LeaderboardRow]) -> Leaderboard:
    """Build a leaderboard from rows that were read; ``all`` rows are ignored, since means are computed from topics.

    If a run has only ``all`` rows, they count as its only topic.
    """
    listed = list(rows)
    detailed = {row.run for row in listed if row.topic != ALL}
    values: dict[tuple[str, str], dict[str, float | None]] = {}
    for row in listed:
        if row.topic != ALL or row.run not in detailed:
            name = row.measure.removeprefix(f"{NuggetRecall.name}.").removesuffix(SCORE)
            values.setdefault((row.run, row.topic), {})[name if name in COLUMNS else row.measure] = row.value
    board = Leaderboard()
    for (run, topic), found in values.items():
        board.add(Entry(run, topic, found))
    return board


def of_nuggets(run: str, topic: str, nuggets: Iterable[Nugget], *, answered: bool = True) -> Entry:
    """Return the nugget recall of one run on one topic, from assigned nuggets."""
    listed = tuple(nuggets)
    held = [_held(nugget) for nugget in listed]
    found = recalls(held)
    values = {column: recall.value for column, recall in found.items()}
    possible = frozenset(column for column, recall in found.items() if recall.asked > recall.maybe)
    unjudged = sum(one.lenient is None for one in held) if answered else 0
    return Entry(run, topic, values, answered, len(listed), unjudged, possible)


def _held(nugget: Nugget) -> Held:
    if nugget.assignment is None:
        return Held(nugget.importance, None, None)
    lenient = SUPPORT_3.value(nugget.assignment) if nugget.value is None else nugget.value
    strict = float(nugget.assignment == "support") if nugget.strict is None else nugget.strict
    return Held(nugget.importance, lenient, min(strict, lenient))


class BoardAgreement(Struct, frozen=True):
    """Rank agreement of two leaderboards on their common runs: Kendall's tau-b, None if undefined.

    ``topics`` is the number of topics behind the means; None if each leaderboard has its own.
    """

    measure: str
    other: str
    runs: int
    tau: float | None
    topics: int | None = None


def rank_agreement(ours: Leaderboard, theirs: Leaderboard, on_missing: OnMissing = "warn") -> list[BoardAgreement]:
    """Return tau for each measure that both have; if they share none, for each pair of measures.

    Means are over the topics of a run on which both measures have a value; ``on_missing`` applies to ``ours``. If a
    leaderboard has only means, or they share no topic, the means of each are compared as they are.
    """
    if ALL in (*ours.topics(), *theirs.topics()) or not ours.entries.keys() & theirs.entries.keys():
        return _agreements(_only_means(ours, on_missing), _only_means(theirs), by_topic=False)
    return _agreements(ours.counted(on_missing), theirs.counted(), by_topic=True)


def _only_means(board: Leaderboard, on_missing: OnMissing = "warn") -> _Counted:
    """Return the means of each run by measure, as those of its only topic."""
    return {
        standing.run: {ALL: {measure: value for measure, value in standing.means.items() if value is not None}}
        for standing in board.standings(on_missing)
    }


def _agreements(ours: _Counted, theirs: _Counted, *, by_topic: bool) -> list[BoardAgreement]:
    runs = [run for run in ours if run in theirs]
    left, right = (
        dict.fromkeys(measure for run in runs for values in board[run].values() for measure in values)
        for board in (ours, theirs)
    )
    found = []
    for a, b in [(a, a) for a in left if a in right] or [(a, b) for a in left for b in right]:
        both = {
            run: {t: (v[a], w[b]) for t, v in ours[run].items() if a in v and b in (w := theirs[run].get(t, NOTHING))}
            for run in runs
        }
        # Means that differ only by the rounding of their sums are tied.
        means = [
            [rounded(mean(side)) for side in zip(*pairs.values(), strict=True)] for pairs in both.values() if pairs
        ]
        tau = kendall_tau(*zip(*means, strict=True)) if len(means) > 1 else None
        topics = len({topic for pairs in both.values() for topic in pairs}) if by_topic else None
        found.append(BoardAgreement(a, b, len(means), tau, topics))
    return found

"""Nuggets step by step: create banks, assign them to responses, score runs; and the two triads side by side.

Each step streams: a line is written as soon as it is there. Replies are kept in the store, so that a step that
was broken off goes on where it stopped and pays for nothing twice.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from ragstone import metrics
from ragstone.analysis.assignments import assignment, run_of
from ragstone.analysis.leaderboard import Agreement, Leaderboard, OnMissing, from_rows, of_nuggets, rank_agreement
from ragstone.analysis.run import Run
from ragstone.api.estimating import dry_run, forecast, looked_at
from ragstone.api.options import Options, Progress
from ragstone.api.plan import check_overrides, make_routes, opened, prices_of
from ragstone.api.running import run, set_aside_if_damaged, uncascaded, wait_for
from ragstone.config import RunSpec, resolve
from ragstone.engine import Engine, Job, Routes, Tally, signature_of
from ragstone.errors import ConfigError, InputError
from ragstone.forecast.summary import Estimate
from ragstone.judges.base import Judge
from ragstone.metrics.methods import PAIRS
from ragstone.metrics.nugget_bank import NuggetBank
from ragstone.records import (
    Form,
    SetAside,
    Source,
    Survey,
    autojudge_line,
    bank_line,
    has,
    offered,
    open_records,
    read_leaderboard,
    survey,
)
from ragstone.store.database import Store
from ragstone.types import Nugget, Record

Write = Callable[[bytes], object]
"""Where lines go; each is whole, without its line end."""

PARAMETERS: Final = ("window", "max_nuggets", "keep", "min_judgment")
"""The parameters of nugget_recall that creating a bank shares with it."""
METHODS: Final = ("context_relevance", *(name for pair in PAIRS.values() for name in pair))
"""The metrics of both triads."""


@dataclass(slots=True)
class Created:
    """What came of creating banks.

    ``topics`` have a bank, with ``nuggets`` in all, some ``vital``, some ``unweighed``; ``partial`` banks lack what a
    window would have added. ``without`` counts topics that have none, by reason. ``repeated`` records have a topic
    that came before.
    """

    topics: int = 0
    nuggets: int = 0
    vital: int = 0
    unweighed: int = 0
    partial: int = 0
    without: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    set_aside: int = 0
    tally: Tally = field(default_factory=Tally)


def create_nuggets(source: Any, options: Options, write: Write, *, form: str = "nuggets") -> Created:
    """Create a bank for each topic of the input from its contexts, and write each as a line when it is there.

    The first record of a topic gives its contexts. ``form`` is ``nuggets`` (a nugget record of TREC RAG) or
    ``autojudge`` (a bank of TREC AutoJudge). A topic whose bank could not be created is not written: it is counted
    with the reason, and the same command tries it again. Parameters are those of nugget_recall.
    """
    return wait_for(_create(source, options, write, form))


@dataclass(frozen=True, slots=True)
class _Creating:
    """How banks are created: from these records, with this flow, by these judges."""

    spec: RunSpec
    records: Source
    survey: Survey
    maker: NuggetBank
    judges: Mapping[str, Judge]
    routes: Routes


@contextlib.contextmanager
def _creating(source: Any, options: Options) -> Iterator[_Creating]:
    """All that can be refused is refused here, before a call is made."""
    spec = resolve(options.flags())
    wanted = spec.parameters.get("nugget_recall", {})
    maker = NuggetBank().with_parameters({name: wanted[name] for name in PARAMETERS if name in wanted})
    with opened(source, spec, check_overrides) as records:
        judges, routes = make_routes(spec, {judge.name: judge for judge in options.objects()})
        found = survey(records)
        for needed in maker.needs:
            if not found.present[needed]:
                raise ConfigError(
                    f"{records.name}: no record has {needed}; name the column with --field {needed}=COLUMN"
                    f"{offered(found.columns)}"
                )
        routes.check(maker)
        yield _Creating(spec, records, found, maker, judges, replace(routes, asked=maker.asks))


async def _create(source: Any, options: Options, write: Write, form: str) -> Created:
    lines: Mapping[str, Callable[[str, str, Sequence[Nugget]], bytes]] = {
        "nuggets": bank_line, "autojudge": autojudge_line,
    }  # fmt: skip
    if form not in lines:
        raise InputError(f"no form '{form}' of banks; there are {', '.join(lines)}")
    done = Created()
    with (
        _creating(source, options) as plan,
        contextlib.closing(Store(plan.spec.store)) as store,
        set_aside_if_damaged(store),
    ):
        engine = Engine(plan.routes, store, prices_of(plan.spec, plan.judges), plan.spec.engine)
        done.tally = engine.tally
        if options.on_start is not None:
            options.on_start(
                Progress(
                    0,
                    plan.survey.total,
                    engine.tally,
                    (plan.maker.name,),
                    tuple(name for name, judge in plan.judges.items() if judge in plan.routes.judges()),
                    {},
                    replace(plan.survey, renamed=0),
                    [*store.notes, *uncascaded(plan.spec, plan.routes, options)],
                )
            )
        topics: dict[int, tuple[str, str]] = {}
        jobs = _topics(plan, topics, done)
        async with contextlib.aclosing(engine.run(jobs)) as results:
            async for weighed in results:
                topic, question = topics.pop(weighed.position)
                (score,) = weighed.scores
                nuggets = tuple(Nugget(row["text"], row["importance"]) for row in score.detail.get("nuggets", ()))
                if not nuggets:
                    done.without[score.reason] += 1
                    continue
                write(lines[form](topic, question, nuggets).rstrip(b"\n"))
                done.topics += 1
                done.nuggets += len(nuggets)
                done.vital += sum(nugget.importance == "vital" for nugget in nuggets)
                done.unweighed += sum(nugget.importance is None for nugget in nuggets)
                done.partial += score.status == "partial"
    return done


def forecast_banks(source: Any, options: Options) -> Estimate:
    """What ``create_nuggets`` would take; nobody is asked."""
    with _creating(source, options) as plan, looked_at(plan.spec.store) as store:
        jobs = _topics(plan, {}, Created())
        prices = prices_of(plan.spec, plan.judges)
        return dry_run(plan.records, jobs, plan.routes, store, prices, plan.spec.engine)


def _topics(plan: _Creating, topics: dict[int, tuple[str, str]], done: Created) -> Iterator[Job]:
    """A job for the first record of each topic; ``topics`` gets its topic and question by the job's position."""
    maker, signature = plan.maker, signature_of(plan.maker, plan.routes)
    seen: set[str] = set()
    lacking: dict[str, str] = {}
    for position, record in enumerate(plan.records, 1):
        if isinstance(record, SetAside):
            done.set_aside += 1
            continue
        topic = record.topic or record.id
        if topic in seen:
            done.repeated += 1
            continue
        absent = [needed for needed in maker.needs if not has(record, needed)]
        if absent:  # another record of the topic may have it
            lacking.setdefault(topic, f"no {' and no '.join(absent)}")
            continue
        seen.add(topic)
        topics[position] = (topic, record.question or "")
        yield Job(position, record.id, record, ((maker, signature),))
    done.without.update(reason for topic, reason in lacking.items() if topic not in seen)


def assign_nuggets(source: Any, options: Options, write: Write) -> Run:
    """Assign the nuggets of each record's topic to its response; each assignment record is written when it is there.

    ``source`` may be a tuple of files, one a run. Nuggets are those of ``options.nuggets``, else the records' own;
    none are created. ConfigError where there are none at all.
    """

    def line(document: bytes) -> None:
        found = assignment(orjson.loads(document))
        if found is not None:
            write(orjson.dumps(found))

    return run(source, replace(_assigning(options), on_result=line))


def forecast_assignments(source: Any, options: Options) -> Estimate:
    """What ``assign_nuggets`` would take; nobody is asked."""
    return forecast(source, _assigning(options))


def _assigning(options: Options) -> Options:
    parameters = {
        **options.parameters,
        "nugget_recall": {"create": False, **options.parameters.get("nugget_recall", {})},
    }
    return replace(options, metrics=("nugget_recall",), parameters=parameters)


@dataclass(slots=True)
class Scored:
    """Systems side by side, and how alike another leaderboard ranks them."""

    board: Leaderboard
    on_missing: OnMissing = "warn"
    against: Sequence[Agreement] = ()


def score_nuggets(
    source: Any,
    *,
    on_missing: OnMissing = "warn",
    against: Path | str | None = None,
    form: Form | Literal["auto"] = "auto",
) -> Scored:
    """Score assignment records: no judge is asked.

    ``source`` is a file or a tuple of files. ``against`` is a leaderboard, in one of ``records.FORMS`` or told
    apart by its content, or a file of assignment records; the ranks of the runs are compared, on the topics that both
    have scored. InputError names
    the record whose nuggets are not assigned.
    """
    board = leaderboard_of(source)
    board.standings(on_missing)  # says what is missing, where that is an error
    if against is None:
        return Scored(board, on_missing)
    theirs = from_rows(read_leaderboard(against, form)) if _is_board(against, form) else leaderboard_of(against)
    return Scored(board, on_missing, rank_agreement(board, theirs))


def leaderboard_of(source: Any) -> Leaderboard:
    """The runs of some files of assignment records; InputError where no nugget of a record is assigned."""
    board = Leaderboard()
    with open_records(source, blocks=metrics.blocks()) as records:
        name = Path(records.name).name.partition(".")[0] or records.name
        for record in records:
            assert isinstance(record, Record)
            nuggets = record.nuggets or ()
            answered = record.meta.get("status") != "empty"
            if record.nuggets is None and answered:  # an empty list is a topic without nuggets, which has no recall
                raise InputError(
                    f"{record.where}: no nuggets; expected assignment records, as ragstone nuggets assign writes"
                )
            board.add(of_nuggets(run_of(record.meta, name), record.topic or record.id, nuggets, answered=answered))
        if all(entry.unjudged == (entry.nuggets or 0) for entry in board.entries.values()):
            raise InputError(f"{records.name}: no nugget is assigned; assign them with: ragstone nuggets assign")
    return board


def _is_board(path: Path | str, form: str) -> bool:
    """Whether a file is a leaderboard and not assignment records: those are JSON objects with nuggets."""
    if form != "auto" or Path(path).is_dir():
        return True
    try:
        with open_records(path) as records:
            first = next(iter(records))
            return isinstance(first, SetAside) or first.nuggets is None
    except InputError:
        return True


def compare_methods(source: Any, options: Options) -> Run:
    """Weigh by the plain triad and the nuggetized one; each result and the summary hold them side by side."""
    return run(source, replace(options, metrics=METHODS))


def forecast_methods(source: Any, options: Options) -> Estimate:
    """What ``compare_methods`` would take; nobody is asked."""
    return forecast(source, replace(options, metrics=METHODS))

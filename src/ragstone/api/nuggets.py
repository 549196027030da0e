"""Nuggets step by step: create banks, assign them to responses, score runs.

Each step streams its output: a line is written as soon as it is ready. Replies are stored, so an interrupted step
resumes where it stopped and pays for nothing twice.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import orjson
from msgspec import Struct, field
from msgspec.structs import replace

from ragstone import metrics
from ragstone.analysis.counts import Causes
from ragstone.analysis.leaderboard import (
    BoardAgreement,
    Leaderboard,
    OnMissing,
    from_rows,
    of_nuggets,
    rank_agreement,
    run_of,
)
from ragstone.analysis.run import Run
from ragstone.api.estimating import estimate_of, forecast, store_for_reading
from ragstone.api.loop import wait_for
from ragstone.api.plan import Plan, check_overrides, make_routes, open_source, without_effect
from ragstone.api.running import progress_of, run, set_aside_if_damaged
from ragstone.config import objects, resolve
from ragstone.engine.run import Engine, Job
from ragstone.engine.tally import Tally
from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.forecast.summary import Estimate
from ragstone.metrics.nuggetset import NuggetBank
from ragstone.options import RunOptions
from ragstone.output.formats.assignments import assignment
from ragstone.records import SetAside, has, offered, open_records, survey, values
from ragstone.records.banks import autojudge_line, bank_line
from ragstone.records.leaderboards import Form, read_leaderboard
from ragstone.records.survey import Notes
from ragstone.store.database import Store
from ragstone.types import Nugget, Record, nouns

Write = Callable[[bytes], object]
"""Receives each output line, without its line end."""

OTHER_NUGGETS: Final = "nuggets: differ from those of another system for this topic; their scores are not comparable"
SOME_RATED: Final = "nuggets: some have no importance; they count as okay"
OF_SCORES: Final = (values.NO_ASSIGNMENT, values.NO_IMPORTANCE, values.SAME_NUGGET, values.BOTH)
"""Notes on nuggets that affect scores."""

PARAMETERS: Final = ("window", "max_nuggets", "keep", "min_judgment")
"""The parameters of nugget_recall that also apply to creating a bank."""


class Created(Struct):
    """The outcome of creating banks.

    ``topics`` is the number of banks; together they have ``nuggets``, of which ``vital`` are vital and
    ``without_importance`` have no importance; ``left_out`` more were beyond a limit. ``partial`` banks lack the nuggets
    of at least one window. ``without`` counts topics without a bank, by reason, in which ``N`` stands for numbers that
    differ. ``repeated`` counts records whose topic was seen before.
    """

    topics: int = 0
    nuggets: int = 0
    vital: int = 0
    without_importance: int = 0
    left_out: int = 0
    partial: int = 0
    without: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    set_aside: int = 0
    tally: Tally = field(default_factory=Tally)


def create_nuggets(source: Any, options: RunOptions, write: Write, *, form: str = "nuggets") -> Created:
    """Create a bank for each topic of the input from its passages, and write each as a line when it is ready.

    The passages of a topic are those of its first record. ``form`` is ``nuggets`` (a nugget record of TREC RAG) or
    ``autojudge`` (a bank of TREC AutoJudge). If a bank cannot be created, its topic is counted by reason instead, and
    the same command tries it again. Parameters are those of nugget_recall.
    """
    return wait_for(_create(source, options, write, form))


@contextlib.contextmanager
def _creating(source: Any, options: RunOptions) -> Iterator[Plan]:
    """Plan the creation of banks; everything that can be rejected is rejected here, before the first call."""
    spec = resolve(options)
    wanted = spec.parameters.get("nugget_recall", {})
    maker = NuggetBank().with_parameters({name: wanted[name] for name in PARAMETERS if name in wanted})
    with open_source(source, spec, check_overrides) as records:
        judges, routes = make_routes(spec, objects(options.judge))
        found = survey(records).readable()
        for needed in maker.needs:
            if not found.present[needed]:
                (absent,) = nouns([needed], article=True)
                raise ConfigError(
                    f"{records.name}: no record has {absent}; specify the column with --field {needed}=COLUMN"
                    f"{offered(found.columns)}"
                )
        routes.check(maker)
        told = tuple(note for note in found.notes if "response" not in note.text)  # responses are not used
        routes, found = replace(routes, asked=maker.asks), replace(found, renamed=0, notes=told)
        plan = Plan(spec, records, found, judges, routes, (maker,), {}, {})
        yield replace(plan, notes=tuple(without_effect(plan, options)))


async def _create(source: Any, options: RunOptions, write: Write, form: str) -> Created:
    lines: Mapping[str, Callable[[str, str, Sequence[Nugget]], bytes]] = {
        "nuggets": bank_line, "autojudge": autojudge_line,
    }  # fmt: skip
    if form not in lines:
        raise InputError(f"no bank format '{form}'; expected one of {', '.join(lines)}")
    done = Created()
    with (
        _creating(source, options) as plan,
        contextlib.closing(Store(plan.spec.store)) as store,
        set_aside_if_damaged(store),
    ):
        engine = Engine(plan.routes, store, plan.prices, plan.spec.engine)
        done.tally = engine.tally
        if options.on_start is not None:
            options.on_start(progress_of(plan, store, engine.tally))
        topics: dict[int, tuple[str, str]] = {}
        causes = Causes()
        jobs = _topics(plan, topics, done)
        async with contextlib.aclosing(engine.run(jobs)) as results:
            async for weighed in results:
                topic, question = topics.pop(weighed.position)
                (score,) = weighed.scores
                nuggets = tuple(Nugget(row["text"], row["importance"]) for row in score.detail.get("nuggets", ()))
                if not nuggets:
                    causes.add(weighed.scores)
                    continue
                write(lines[form](topic, question, nuggets).rstrip(b"\n"))
                done.topics += 1
                done.nuggets += len(nuggets)
                done.vital += sum(nugget.importance == "vital" for nugget in nuggets)
                done.without_importance += sum(nugget.importance is None for nugget in nuggets)
                done.left_out += score.detail.get("left_out", 0)
                done.partial += score.status == "partial"
        for cause in causes.as_json():
            done.without[cause["reason"]] += cause["count"]
    return done


def forecast_banks(source: Any, options: RunOptions) -> Estimate:
    """Estimate ``create_nuggets``; calls no judge."""
    with _creating(source, options) as plan, store_for_reading(plan.spec.store) as store:
        return estimate_of(plan, _topics(plan, {}, Created()), store)


def _topics(plan: Plan, topics: dict[int, tuple[str, str]], done: Created) -> Iterator[Job]:
    """Yield a job for the first record of each topic; add its topic and question to ``topics`` by job position."""
    (maker,) = plan.metrics
    signature = plan.signature(maker)
    seen: set[str] = set()
    lacking: dict[str, str] = {}
    for position, record in enumerate(plan.source, 1):
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


def assign_nuggets(source: Any, options: RunOptions, write: Write) -> Run:
    """Assign the nuggets of each record's topic to its response; write each assignment record when it is ready.

    ``source`` may be a tuple of files, one per run. Nuggets come from ``options.nuggets``, else from the records; none
    are created. Raises ConfigError if there are none at all.
    """

    def line(document: bytes) -> None:
        found = assignment(orjson.loads(document))
        if found is not None:
            write(orjson.dumps(found))

    return run(source, replace(_assigning(options), on_result=line))


def forecast_assignments(source: Any, options: RunOptions) -> Estimate:
    """Estimate ``assign_nuggets``; calls no judge."""
    return forecast(source, _assigning(options))


def _assigning(options: RunOptions) -> RunOptions:
    parameters = {
        **(options.parameters or {}),
        "nugget_recall": {"create": False, **(options.parameters or {}).get("nugget_recall", {})},
    }
    return replace(options, metrics=("nugget_recall",), parameters=parameters)


class Scored(Struct):
    """A leaderboard of systems, and its rank agreement with another one."""

    board: Leaderboard
    on_missing: OnMissing = "warn"
    against: Sequence[BoardAgreement] = ()


def score_nuggets(
    source: Any,
    *,
    on_missing: OnMissing = "warn",
    against: Path | str | None = None,
    form: Form | Literal["auto"] = "auto",
) -> Scored:
    """Score assignment records; calls no judge.

    ``source`` is a file or a tuple of files. ``against`` is a leaderboard, in one of ``records.FORMS`` or detected from
    its content, or a file of assignment records. Ranks are compared on the topics that both have scored. Raises
    InputError if a record has no nuggets, which it names, or if no nugget is assigned.
    """
    board = leaderboard_of(source)
    board.counted(on_missing)  # raises an error for missing assignments, if they are an error
    if against is None:
        return Scored(board, on_missing)
    theirs = from_rows(read_leaderboard(against, form)) if _is_board(against, form) else leaderboard_of(against)
    board.notes += theirs.notes
    return Scored(board, on_missing, rank_agreement(board, theirs, on_missing))


def leaderboard_of(source: Any) -> Leaderboard:
    """Return the leaderboard of assignment records; InputError if a record has no nuggets or none is assigned."""
    board, notes, banks = Leaderboard(), Notes(), dict[str, int]()
    with open_records(source, blocks=metrics.blocks()) as records:
        name = Path(records.name).name.partition(".")[0] or records.name
        for record in records:
            assert isinstance(record, Record)
            nuggets = record.nuggets or ()
            answered = record.meta.get("status") != "empty"
            if record.nuggets is None and answered:  # an empty list is valid: a topic without nuggets has no recall
                raise InputError(
                    f"{record.where}: no nuggets; expected assignment records, as written by ragstone nuggets assign"
                )
            topic = record.topic or record.id
            try:
                board.add(of_nuggets(run_of(record.meta, name), topic, nuggets, answered=answered))
            except InputError as error:
                raise RecordError(record.where, str(error), "keep one of them") from None
            told = [note for note in record.notes if note in OF_SCORES]
            told += [SOME_RATED] if len({nugget.importance is None for nugget in nuggets}) > 1 else []
            bank = hash(frozenset((nugget.text, nugget.importance) for nugget in nuggets))
            if nuggets and answered and banks.setdefault(topic, bank) != bank:
                told.append(OTHER_NUGGETS)
            for note in told:
                notes.add(note, record.where)
        board.notes = tuple(map(str, notes.ranked()))
        if all(entry.unjudged == (entry.nuggets or 0) for entry in board.entries.values() if entry.answered):
            why = board.notes[0] if board.notes else "assign them with: ragstone nuggets assign"
            raise InputError(f"{records.name}: no nugget is assigned; {why}")
    return board


def _is_board(path: Path | str, form: str) -> bool:
    """Return whether a file is a leaderboard, not assignment records (JSON objects with nuggets)."""
    if form != "auto" or Path(path).is_dir():
        return True
    try:
        with open_records(path) as records:
            first = next(iter(records))
            return isinstance(first, SetAside) or first.nuggets is None
    except InputError:
        return True

"""Execute a run from its input to its summary: plan it, drive the engine, store the results."""

from __future__ import annotations

import contextlib
import difflib
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
from msgspec.structs import asdict, astuple, replace

from ragstone import metrics
from ragstone.analysis.cascades import Cascades, warnings
from ragstone.analysis.counts import Causes, Quotes
from ragstone.analysis.result import Result
from ragstone.analysis.run import Run, find_run
from ragstone.analysis.summary import summarize
from ragstone.api import batching
from ragstone.api.jobs import Earlier, jobs_of, settled
from ragstone.api.keywords import takes
from ragstone.api.loop import wait_for
from ragstone.api.plan import Plan, check_overrides, named_file, open_source, planned
from ragstone.api.progress import drawn
from ragstone.api.workers import Workers, shared
from ragstone.config import resolve
from ragstone.engine.document import Weighed
from ragstone.engine.leases import Lender
from ragstone.engine.run import Engine
from ragstone.engine.tally import Tally
from ragstone.errors import BudgetReached, InputError, OutputError, RagstoneError, StoreError
from ragstone.judges.base import Judge
from ragstone.options import Progress, RunOptions
from ragstone.output.files import Folder
from ragstone.records import Survey, has, survey
from ragstone.records.fields import FIELD_OF
from ragstone.records.object_stores import is_address
from ragstone.records.paths import folded
from ragstone.store.database import ResultRow, ScoreRow, Store
from ragstone.types import Record

if TYPE_CHECKING:
    from ragstone.api.shards import Shards
    from ragstone.forecast.summary import Estimate

QUICKLY: Final = 200
"""Runs of at most this many records estimate their cost by default, if they cost anything: about a second."""


@takes(RunOptions)
def evaluate(source: Any, options: RunOptions) -> Run:
    """Evaluate records and return the run.

    ``source`` is a path, ``-``, an iterable of dicts or Records, or a pandas, polars or datasets table. ``metrics`` and
    ``judge`` are one name or several. Every other option is a keyword, as in ``RunOptions``. This also works inside a
    running event loop. Raises InputError if the input or an option is wrong, and BackendError if a judge cannot be
    reached. Completed work is kept.
    """
    with _in_python(options) as shown:
        return run(source, shown)


@takes(RunOptions)
async def aevaluate(source: Any, options: RunOptions) -> Run:
    """Evaluate records as ``evaluate`` does, from a coroutine."""
    with _in_python(options) as shown:
        return await _evaluated(source, shown)


@contextlib.contextmanager
def _in_python(options: RunOptions) -> Iterator[RunOptions]:
    """Yield the options with progress; add the Python spelling to an error that suggests ``--field``."""
    with drawn(options) as shown:
        try:
            yield shown
        except InputError as error:
            if "--field " in str(error):
                error.add_note('in Python, --field FIELD=COLUMN is fields={"FIELD": "COLUMN"}')
            raise


def score(
    *,
    question: object = None,
    contexts: object = None,
    response: object = None,
    reference: object = None,
    history: object = None,
    metrics: Sequence[str] | str | None = None,
    judge: Sequence[str | Judge] | str | Judge | None = None,
    **options: Any,
) -> Result:
    """Evaluate one record and return its result. The ``status`` of each score says whether a field was missing.

    ``contexts`` are texts, dicts, or the documents of a framework. ``history`` has the earlier turns of a conversation,
    as ``{"role": "user", "content": "…"}``. ``options`` are those of ``evaluate``.
    """
    given = {
        "question": question, "contexts": contexts, "response": response, "reference": reference, "history": history,
    }  # fmt: skip
    for name in options:
        meant = FIELD_OF.get(folded(name)) or next(iter(difflib.get_close_matches(name, given, 1)), "")
        if meant in given and name not in RunOptions.__struct_fields__:
            raise TypeError(f"unknown option {name}; did you mean {meant}=?")
    record = {name: value for name, value in given.items() if value is not None}
    made = RunOptions.called(**{"on_error": "skip", "metrics": metrics, "judge": judge, **options})
    return next(run([record], made).results())


def run(source: Any, options: RunOptions, lender: Lender | None = None) -> Run:
    """Evaluate records, with the options as one value; a ``lender`` may provide the limits of a shard."""
    return wait_for(_evaluated(source, options, lender))


@takes(RunOptions)
def validate(source: Any, options: RunOptions) -> tuple[Survey, dict[str, int]]:
    """Check an input without calling a judge; return a survey of it and how many records each metric can score.

    The survey has the input's fields and problems.
    """
    spec = resolve(options)
    asking = {
        name: metric for name, metric in metrics.catalogue().items()
        if not metric().with_parameters(spec.parameters.get(name, {})).unset()
    }  # fmt: skip
    usual, able = Counter[str](), Counter[str]()

    def inspect(record: Record) -> None:
        check_overrides(record)
        for name, metric in asking.items():
            ready = all(has(record, needed) for needed in metric.needs)
            wanted = all(has(record, field) for field in metric.wants)
            usual[name] += ready and wanted
            able[name] += ready and (wanted or all(has(record, field) for field in metric.instead))

    bank, qrels = named_file(spec, source, "nuggets"), named_file(spec, source, "qrels")
    with open_source(source, spec, inspect, bank, qrels) as records:
        found = survey(records)
    # A metric that a suite selects for the records with all wanted fields leaves the others without a value.
    return found, {name: usual[name] or able[name] for name in asking}


# ---- the run


@contextlib.contextmanager
def set_aside_if_damaged(store: Store) -> Iterator[None]:
    """Rename the store if it turns out to be damaged, so that the next run can start."""
    try:
        yield
    except StoreError as error:
        if error.damaged:
            try:
                error.add_note(store.put_aside())
            except OSError as refused:
                error.add_note(
                    f"it cannot be renamed ({refused.strerror}); move it away, or use another store with --store"
                )
        raise


async def _evaluated(source: Any, options: RunOptions, lender: Lender | None = None) -> Run:
    if options.engine == "ray":
        return await _on_ray(source, options)
    sharded = options.shard is not None
    with planned(source, options, digest=sharded or (options.batch and not options.name)) as plan:
        if not sharded:
            return await _stored(plan, options)
        from ragstone.api.shards import ShardRun  # noqa: PLC0415 - few runs are sharded

        part = ShardRun(plan, source, options, lender)
        if part.is_done():
            return part.run()
        try:
            finished = await _stored(part.plan, replace(options, out=None))
        except BaseException as error:
            if isinstance(error, BudgetReached) and lender is None:
                error.add_note("each shard has an equal part of the limits")
            with contextlib.suppress(RagstoneError, OSError):  # report only what ended the run
                part.hand_in(done=False)
            raise
        part.hand_in(done=True)
        return finished


def merge(place: Path | str, source: Any, options: RunOptions) -> Run:
    """Merge the shards in a folder and write the results there, as a run on one machine would have.

    Sends no calls. ``source`` is the input if its name has changed since the shards ran, else None. Only the options
    for the store, the output, the workers, the report and the callbacks are used. Raises ConfigError if shards are
    missing.
    """
    from ragstone.api.shards import Shards  # noqa: PLC0415 - few runs are sharded

    shards = Shards.found(str(place))
    shards.unite(resolve(options).store)
    return wait_for(_merged(shards, shards.source if source is None else source, replace(options, out=place)))


async def _merged(shards: Shards, source: Any, options: RunOptions, before: Progress | None = None) -> Run:
    """Replay the combined calls of all shards; ``before`` is the progress of the shards."""
    kept = "store out workers report zstd on_start on_result".split()  # noqa: SIM905
    options = replace(shards.options(), offline=True, **{name: getattr(options, name) for name in kept})
    with planned(source, options, digest=True) as plan:
        shards.check(plan)
        return await _stored(replace(plan, before=before), options)


async def _on_ray(source: Any, options: RunOptions) -> Run:
    from ragstone.api.ray_tasks import RayTasks  # noqa: PLC0415 - an extra
    from ragstone.api.shards import Shards  # noqa: PLC0415 - few runs are sharded

    paid, spec = Tally(), resolve(options)
    options = replace(options, workers=spec.workers)
    tasks = RayTasks(run, options, spec.engine.limits, paid)
    with planned(source, options, digest=True) as plan:
        async with tasks.connected(plan.total) as worth:
            shards = Shards.begun(plan, source, options, options.workers, worth)
            with Store(plan.spec.store) as store:
                progress = progress_of(plan, store, paid)
            paid.budget, paid.most_calls, paid.most_tokens = astuple(plan.spec.engine.limits)
            if options.on_start is not None:
                options.on_start(progress)
            await tasks.evaluate(shards, source, plan.spec.store)
    paid.limit = partial(str, "merging the shards")
    return await _merged(shards, source, replace(options, workers=None, on_start=None), progress)


async def _stored(plan: Plan, options: RunOptions) -> Run:
    if is_address(options.out):  # write locally, then copy
        from ragstone.output.shared_folder import SharedFolder  # noqa: PLC0415 - few runs write to one

        with tempfile.TemporaryDirectory(prefix="ragstone-") as folder:
            place = SharedFolder(str(options.out))
            place.read("run.json")  # a missing bucket ends the run before it costs anything
            try:
                finished = await _stored(plan, replace(options, out=folder))
            except BaseException:
                with contextlib.suppress(RagstoneError):  # report only what ended the run
                    place.put_all(Path(folder))
                raise
            place.put_all(Path(folder))
            return finished
    store = Store(plan.spec.store)
    try:
        with set_aside_if_damaged(store), contextlib.ExitStack() as held:
            if options.batch:
                plan = replace(plan, notes=(*plan.notes, *await batching.in_waves(plan, options)))
            return await _drive(plan, store, options, held)
    except BaseException:
        store.close()
        raise


async def _drive(plan: Plan, store: Store, options: RunOptions, held: contextlib.ExitStack) -> Run:
    """Run the engine on a plan; ``held`` holds the lock on the output folder."""
    plan, earlier = settled(plan, store, options)
    estimated = _estimated(plan, store, options, earlier)
    engine = _engine(plan, store, options, earlier)
    if estimated is not None and estimated.total.dollars is not None:
        engine.tally.expected = estimated.total.dollars.expected
    details = {**plan.as_json(), **({} if earlier is None else {"only_failed": earlier.run})}
    folder = (
        None
        if options.out is None
        else held.enter_context(Folder(Path(options.out), cases=options.cases, compressed=options.zstd).claimed())
    )
    number = store.start_run(options.name or plan.source.name, details)
    progress = progress_of(plan, store, engine.tally, number)
    causes, quotes, cascades = Causes(), Quotes(), Cascades(plan.cascades())
    status, stopped = "interrupted", dict[str, str]()
    try:
        if options.on_start is not None:
            options.on_start(progress)
        with folder or contextlib.nullcontext():
            evaluated = engine.run() if isinstance(engine, Workers) else engine.run(jobs_of(plan, earlier))
            async with contextlib.aclosing(evaluated) as results:
                async for weighed in results:
                    _keep(engine, number, weighed)
                    causes.add(weighed.scores)
                    quotes.add_weighed(weighed)
                    cascades.add_weighed(weighed)
                    if folder is not None:
                        folder.add(weighed.record, weighed.document)
                    if options.on_result is not None:
                        options.on_result(weighed.document)
        status = "done"
    except RagstoneError as error:
        status, stopped = "stopped", {"stopped": str(error)}
        if engine.tally.anything and not getattr(error, "damaged", False) and store.is_there():
            if isinstance(error, BudgetReached):
                error.run = number
            error.add_note(_what_is_kept(number, store.count(number), replies=plan.spec.engine.cache != "off"))
        raise
    finally:
        if status != "done" and not engine.tally.anything:
            store.drop_run(number, unused=True)
        else:
            # If a full or damaged store ended the run, do not report it twice.
            with contextlib.suppress(*([StoreError] if status == "stopped" else [])):
                if options.batch and isinstance(engine, Engine):
                    batching.add_paid(plan, options, engine.tally, engine.budget)
                counted = {"missing": causes.as_json(), "quotes": quotes.as_json(), **stopped}
                counted |= (told := _cascaded(cascades, plan, estimated))
                counted |= {"panel": members} if (members := quotes.members()) else {}
                progress.notes.extend(warnings(told.get("cascade", {})))
                _close(store, plan, status, progress, folder, counted, estimated, report=options.report)
                if options.batch:
                    batching.close(plan, options, done=status == "done")
    return find_run(store, number)


def _engine(plan: Plan, store: Store, options: RunOptions, earlier: Earlier | None) -> Engine | Workers:
    """Return worker processes if they pay off, else a single engine, which a batch always needs."""
    if not options.batch and (workers := shared(plan, store, earlier)) is not None:
        return workers
    missing = batching.refusals(plan, options, lambda: engine.budget) if options.batch else None
    engine = Engine(plan.routes, store, plan.prices, plan.spec.engine, missing, plan.lender)
    if options.batch:
        batching.count_paid(plan, options, engine)
    return engine


def _what_is_kept(run: int, records: int, *, replies: bool) -> str:
    if not records:
        return "no record was finished; stored replies are kept" if replies else "no record was finished"
    kept = f"finished records are saved as run {run} ({records} record{'' if records == 1 else 's'})"
    return kept if replies else f"{kept}: --only-failed {run} reuses them and evaluates the rest"


def progress_of(plan: Plan, store: Store, tally: Tally, run: int = 0) -> Progress:
    """Return the progress of a plan that is about to start; ``run`` is 0 if no run is stored."""
    asked = plan.routes.judges()
    return Progress(
        run,
        store.path,
        plan.total,
        tally,
        tuple(metric.name for metric in plan.metrics),
        tuple(name for name, judge in plan.judges.items() if run or judge in asked),
        plan.left_out,
        plan.survey,
        [*store.notes, *plan.notes],
    )


def _close(
    store: Store,
    plan: Plan,
    status: str,
    progress: Progress,
    folder: Folder | None,
    counted: Mapping[str, Any],
    estimated: Estimate | None,
    *,
    report: bool,
) -> None:
    if plan.before is not None:  # the replay was free, but the shards were not
        progress.tally.take([plan.before.tally, Tally(unseen=progress.tally.unseen)])
        progress.started = plan.before.started
    bill = progress.tally.as_json()
    seconds = round(time.monotonic() - progress.started, 3)
    held = estimated.against(bill, seconds, whole=status == "done") if estimated is not None else None
    found = summarize(store, progress.run, plan.signatures, status)
    thresholds = {name: metric.threshold for metric in plan.metrics for name in metric.score_names()}
    for name, entry in found["metrics"].items():
        if entry["outcomes"] and (least := thresholds.get(name)) is not None:
            entry["threshold"] = least
    summary = {
        **found,
        "bill": bill,
        **({"estimate": held} if held is not None else {}),
        "left_out": dict(plan.left_out),
        **({"taken_over": taken} if (taken := progress.tally.taken_over) else {}),
        **counted,
        "notes": list(progress.notes),
        "seconds": seconds,
    }
    store.finish_run(progress.run, status, summary)
    if folder is not None:
        try:
            _write(find_run(store, progress.run), summary, folder, report=report)
        except OutputError as error:
            if status == "done":  # else report only what ended the run
                error.run = progress.run
                error.add_note(f"run {progress.run} is done and saved in the store")
                raise


def _write(run: Run, summary: Mapping[str, Any], folder: Folder, *, report: bool) -> None:
    """Write the files of a finished run, except its results, which are already written."""
    agreement = {name: metric["repeats"] for name, metric in summary["metrics"].items() if "repeats" in metric}
    by_whom = {
        step: {**told, **{name: summary["cascade"][step][name] for name in ("units", "answered", "unjudged")}}
        for step, told in run.spec.get("cascade", {}).items()
        if step in summary.get("cascade", {})
    }
    more = {
        **({"repeats": agreement} if agreement else {}),
        **({"cascade": by_whom} if by_whom else {}),
        **({"estimate": summary["estimate"]} if "estimate" in summary else {}),
    }
    folder.finish(summary, {"run": run.id, "name": run.name, "status": run.status, **run.spec, **more})
    if report:
        from ragstone.api.pages import write_beside  # noqa: PLC0415 - a run without a folder has no page

        write_beside(run, folder.path)


def _estimated(plan: Plan, store: Store, options: RunOptions, earlier: Earlier | None) -> Estimate | None:
    """Estimate the run if requested, or by default if that is quick."""
    if plan.spec.engine.cache == "offline" or options.batch:  # nothing is sent, or only in batches
        return None
    prices = plan.prices
    costs = any(not judge.backend.free and not prices.costs_nothing(judge.id) for judge in plan.routes.judges())
    wanted = options.estimate if options.estimate is not None else costs and plan.survey.total <= QUICKLY
    if not wanted:
        return None
    from ragstone.api.estimating import estimate_of  # noqa: PLC0415 - where nothing is paid nothing is estimated

    return estimate_of(plan, jobs_of(plan, earlier), store)


def _cascaded(cascades: Cascades, plan: Plan, estimated: Estimate | None) -> dict[str, Any]:
    """Return the results of cascades; empty if there are none."""
    judges = {judge.id: judge for judge in plan.judges.values()}
    alone = estimated.alone if estimated is not None else {}
    told = cascades.as_json(plan.prices, judges, {step: found.dollars for step, found in alone.items()})
    return {"cascade": told} if told else {}


def _keep(engine: Engine | Workers, run: int, weighed: Weighed) -> None:
    rows = [
        ScoreRow(
            score.metric, weighed.position, score.value, score.status, score.asked, score.unjudged,
            score.low, score.high, score.outcome,
            share["calls"], share["input_tokens"], share["output_tokens"], share["dollars"],
            orjson.dumps(asdict(score.repeats)).decode() if score.repeats else None,
        )
        for score, share in zip(weighed.scores, weighed.shares, strict=True)
    ]  # fmt: skip
    engine.keep(run, ResultRow(weighed.position, weighed.record, weighed.document), rows)

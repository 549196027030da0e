"""A run from its input to its summary."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from ragstone import metrics
from ragstone.analysis.cascades import Cascades, warnings
from ragstone.analysis.counts import Causes, Quotes
from ragstone.analysis.run import Run, find_run
from ragstone.analysis.summary import summarize
from ragstone.api.earlier import earlier_run, settled
from ragstone.api.loop import run_here
from ragstone.api.options import Options, Progress
from ragstone.api.plan import (
    Plan,
    Takeover,
    bank_of,
    check_overrides,
    jobs_of,
    judging_itself,
    make_plan,
    opened,
    prices_of,
)
from ragstone.config import RunSpec, resolve
from ragstone.engine import Engine, Routes, Weighed
from ragstone.errors import BudgetReached, OutputError, RagstoneError, StoreError
from ragstone.judges.base import Judge
from ragstone.judges.prompting import is_prompted
from ragstone.output.files import Folder
from ragstone.prices import PriceBook
from ragstone.questions import TASKS
from ragstone.records import Bank, Source, Survey, has, offered, survey
from ragstone.store.database import ResultRow, ScoreRow, Store
from ragstone.types import Record

if TYPE_CHECKING:
    from ragstone.forecast.summary import Estimate

R = TypeVar("R")
GENERATORS: Final = 1000
"""The most different names of generators that are looked at."""
QUICKLY: Final = 200
"""The most records for which a run estimates its cost unasked, if it costs anything: about a second."""


def evaluate(
    source: Any,
    metrics: Sequence[str] | str | None = None,
    judge: Sequence[str | Judge] | str | Judge | None = None,
    **options: Any,
) -> Run:
    """Weigh records and return the run.

    ``source`` is a path, ``-``, an iterable of dicts or Records, or a pandas, polars or datasets table.
    ``metrics`` and ``judge`` are one name or several; further keywords are those of ``Options``. Works also
    while an event loop runs in this thread. Raises InputError for what the caller can mend, BackendError
    when the judge cannot be reached: what was done until then is kept.
    """
    return wait_for(aevaluate(source, metrics, judge, **options))


async def aevaluate(
    source: Any,
    metrics: Sequence[str] | str | None = None,
    judge: Sequence[str | Judge] | str | Judge | None = None,
    **options: Any,
) -> Run:
    """``evaluate`` for those who are in an event loop already."""
    return await weigh(source, Options.called(metrics, judge, **options))


def run(source: Any, options: Options) -> Run:
    """``weigh`` for the command line: in an event loop of its own, so that Ctrl-C ends it in order."""
    return run_here(weigh(source, options))


async def weigh(source: Any, options: Options) -> Run:
    """Weigh records as the options say: survey, choose, check, then run."""
    spec = resolve(options.flags())
    generators: set[str] = {options.generator} - {""}

    def inspect(record: Record) -> None:
        check_overrides(record)
        generator = record.meta.get("generator")
        if isinstance(generator, str) and len(generators) < GENERATORS:
            generators.add(generator)

    bank = bank_of(spec, source)
    with opened(source, spec, inspect, bank) as records:
        plan = make_plan(spec, records, {judge.name: judge for judge in options.objects()}, bank)
        store = Store(spec.store)
        try:
            with set_aside_if_damaged(store), contextlib.ExitStack() as held:
                notes = [
                    *judging_itself(plan.judges.values(), generators),
                    *_odd(bank),
                    *_absent(plan),
                    *_unread(plan, options),
                    *uncascaded(plan.spec, plan.routes, options),
                ]
                return await _run(plan, records, store, options, notes, held)
        except BaseException:
            store.close()
            raise


def validate(source: Any, options: Options) -> tuple[Survey, dict[str, int]]:
    """Read all of the input and call nobody: the survey, and on how many records each metric could run."""
    spec = resolve(options.flags())
    able: dict[str, int] = dict.fromkeys(metrics.catalogue(), 0)

    def inspect(record: Record) -> None:
        check_overrides(record)
        for name, metric in metrics.catalogue().items():
            ready = all(has(record, needed) for needed in metric.needs)
            made = all(has(record, wanted) for wanted in metric.wants) or all(has(record, f) for f in metric.instead)
            able[name] += ready and made

    bank = bank_of(spec, source)
    with opened(source, spec, inspect, bank) as records:
        return survey(records), able


# ---- the run


@contextlib.contextmanager
def set_aside_if_damaged(store: Store) -> Iterator[None]:
    """Where the store turns out to be damaged on the way: give it another name, so that the next run can begin."""
    try:
        yield
    except StoreError as error:
        if error.damaged:
            try:
                error.add_note(store.put_aside())
            except OSError as refused:
                error.add_note(f"it cannot be renamed ({refused.strerror}); move it away, or name another with --store")
        raise


async def _run(
    plan: Plan, source: Source, store: Store, options: Options, hints: Sequence[str], held: contextlib.ExitStack
) -> Run:
    """The run itself; what it alone may use until it is over goes into ``held``."""
    notes = [*hints]
    name = options.name or source.name
    plan = settled(plan, store, name, notes)
    earlier = earlier_run(store, plan, name, options.only_failed)
    if earlier is not None:
        notes.append(earlier.told())
    estimated = _estimated(plan, source, store, options, earlier)
    prices = prices_of(plan.spec, plan.judges)
    engine = Engine(plan.routes, store, prices, plan.spec.engine)
    if estimated is not None and estimated.total.dollars is not None:
        engine.tally.expected = estimated.total.dollars.expected
    details = {**plan.as_json(source.name), **({} if earlier is None else {"only_failed": earlier.run})}
    folder = (
        None if options.out is None else held.enter_context(Folder(Path(options.out), cases=options.cases).claimed())
    )
    number = store.start_run(name, details)
    progress = Progress(
        number,
        plan.survey.total,
        engine.tally,
        tuple(metric.name for metric in plan.metrics),
        tuple(plan.judges),
        plan.left_out,
        plan.survey,
        [*store.notes, *notes],
    )
    causes, quotes, cascades = Causes(), Quotes(), Cascades(plan.cascades())
    status = "interrupted"
    try:
        if options.on_start is not None:
            options.on_start(progress)
        with folder or contextlib.nullcontext():
            async with contextlib.aclosing(engine.run(jobs_of(source, plan, earlier))) as results:
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
        status = "stopped"
        if engine.tally.anything and not getattr(error, "damaged", False):
            if isinstance(error, BudgetReached):
                error.run = number
            error.add_note(_what_is_kept(number, store.count(number), replies=plan.spec.engine.cache != "off"))
        raise
    finally:
        if status != "done" and not engine.tally.anything:
            store.drop_run(number)
        else:
            # A store that is full or damaged is what ended the run, and is not to be told of twice.
            with contextlib.suppress(*([StoreError] if status == "stopped" else [])):
                counted = {"missing": causes.as_json(), "quotes": quotes.as_json()}
                counted |= (told := _cascaded(cascades, plan, prices, estimated))
                progress.notes.extend(warnings(told.get("cascade", {})))
                _close(store, plan, status, progress, folder, counted, estimated, report=options.report)
    return find_run(store, number)


def _what_is_kept(run: int, records: int, *, replies: bool) -> str:
    """What a run leaves that did not end, for the user."""
    if not records:
        return "no record was done; the replies that came are kept" if replies else "no record was done"
    kept = f"what was done is kept as run {run} ({records} record{'' if records == 1 else 's'})"
    return kept if replies else f"{kept}: --only-failed {run} takes that over and asks for the rest"


def _unread(plan: Plan, options: Options) -> list[str]:
    """Flags about prompts where no judge is asked with any."""
    said = {"--prompt": options.prompts, "--format": options.format, "--structured": options.structured}
    named = [flag for flag, value in said.items() if value]
    if not named or any(is_prompted(spec) for spec in plan.spec.judges.values()):
        return []
    return [
        f"{' and '.join(named)} changed nothing: no judge of this run is a language model that is asked with prompts"
    ]


def uncascaded(spec: RunSpec, routes: Routes, options: Options) -> list[str]:
    """Where a cascade was named and no step that is asked can have one; an error rate without a cascade."""
    if routes.cascading():
        return []
    if spec.default.cascade:
        sure = [task for task in TASKS if routes.default.able(task).error is not None]
        named = ">".join(spec.default.judges)
        return [f"no step of this run has the cascade {named}: it is for {' and '.join(sure)} alone"]
    changed = options.cascade_error is not None
    return ["--cascade-error changed nothing: no step of this run has a cascade"] if changed else []


def _absent(plan: Plan) -> list[str]:
    """The fields that metrics of this run need and no record has: then every record says so by its status."""
    needed = dict.fromkeys(name for metric in plan.metrics for name in metric.needs)
    found = plan.survey
    absent = [name for name in needed if not found.present[name] and not found.blank.get(name)]
    return [f"no record has {' or '.join(absent)}{offered(found.columns)}"] if absent else []


def _odd(bank: Bank | None) -> list[str]:
    """What is odd about a bank, for the user."""
    return [f"{bank.name}: {note}" for note in bank.notes] if bank else []


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
    bill = progress.tally.as_json()
    seconds = round(time.monotonic() - progress.started, 3)
    held = estimated.against(bill, seconds, whole=status == "done") if estimated is not None else None
    summary = {
        **summarize(store, progress.run, plan.signatures, status),
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
            if status == "done":  # else it is told why the run ended
                error.run = progress.run
                error.add_note(f"run {progress.run} is done, and all of it is kept in the store")
                raise


def _write(run: Run, summary: Mapping[str, Any], folder: Folder, *, report: bool) -> None:
    """The files of a run that is over, but for its results, which are there."""
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


def _estimated(plan: Plan, source: Source, store: Store, options: Options, earlier: Takeover | None) -> Estimate | None:
    """The estimate that a run is held against: where one is wanted, or nobody said and it is made quickly."""
    if plan.spec.engine.cache == "offline":  # nothing is sent
        return None
    prices = prices_of(plan.spec, plan.judges)
    costs = any(not judge.backend.free and not prices.costs_nothing(judge.id) for judge in plan.routes.judges())
    wanted = options.estimate if options.estimate is not None else costs and plan.survey.total <= QUICKLY
    if not wanted:
        return None
    from ragstone.api.estimating import estimate_of  # noqa: PLC0415 - where nothing is paid nothing is estimated

    return estimate_of(plan, source, store, earlier)


def _cascaded(cascades: Cascades, plan: Plan, prices: PriceBook, estimated: Estimate | None) -> dict[str, Any]:
    """What cascades came to; nothing where there is none."""
    judges = {judge.id: judge for judge in plan.judges.values()}
    alone = estimated.alone if estimated is not None else {}
    told = cascades.as_json(prices, judges, {step: found.dollars for step, found in alone.items()})
    return {"cascade": told} if told else {}


def _keep(engine: Engine, run: int, weighed: Weighed) -> None:
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


def wait_for(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run the coroutine in a loop of its own; on a thread of its own where a loop runs in this one already."""
    if not _in_a_loop():
        return run_here(coroutine)
    outcome: list[R] = []
    trouble: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread as it is
            trouble.append(error)

    thread = threading.Thread(target=work, name="ragstone-evaluate")
    thread.start()
    thread.join()
    if trouble:
        raise trouble[0]
    return outcome[0]


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

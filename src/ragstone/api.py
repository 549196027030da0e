"""What the command line and users call: one function a command.

``evaluate`` is ``aevaluate`` in an event loop of its own, so that it works in a script, in a notebook and
inside a running loop alike, and patches nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import IO, Any, Final, Literal, Self

from ragstone import __version__, metrics
from ragstone.config import FILE, Flags, RunSpec, Step, assignments, choose, resolve
from ragstone.engine import Engine, Job, Route, Routes, Tally, Weighed, signature_of
from ragstone.errors import ConfigError, RagstoneError, RecordError
from ragstone.judges.base import Judge
from ragstone.judges.catalogue import build
from ragstone.judges.spec import PRESETS, Spec
from ragstone.metrics.base import Metric
from ragstone.prices import PriceBook
from ragstone.questions import YES_NO, Rate
from ragstone.records import SetAside, Source, Survey, has, open_records, survey
from ragstone.report.causes import Causes
from ragstone.report.export import export, export_to
from ragstone.report.files import Folder
from ragstone.report.known import KnownJudge
from ragstone.report.run import Run, find_run
from ragstone.report.summarize import summarize
from ragstone.store import ResultRow, ScoreRow, Store
from ragstone.types import NOTHING, Passage, Record, Span, Unit

GENERATORS: Final = 1000
"""The most different names of generators that are looked at."""


@dataclass(slots=True)
class Progress:
    """A run while it goes on, for whoever draws it: ``tally`` counts, ``total`` is the number of records."""

    run: int
    total: int
    tally: Tally
    metrics: tuple[str, ...]
    judges: tuple[str, ...]
    left_out: Mapping[str, str]
    survey: Survey
    notes: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is started.

    ``metrics`` are names, suites or ``auto``; ``judges`` are ``NAME``, or ``STEP=NAME`` for one step, and
    ``[A,B,C]`` in the place of a name is a panel put together by ``aggregate``. A judge may also be an object;
    alone it answers every step, and its name may stand wherever a name may. ``parameters`` maps a metric
    to changed parameters, ``fields`` a canonical field to a column. ``out`` is a folder for the files,
    ``cases`` adds a file a record. ``generator`` is the model that wrote the responses, where the records do
    not say so in ``meta.generator``; a judge that is the same model is warned of. ``on_start`` is shown the
    progress when the first call is about to be made.
    """

    metrics: Sequence[str] | None = None
    judges: Sequence[str | Judge] | None = None
    aggregate: str | None = None
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: NOTHING)
    fields: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    on_error: Literal["stop", "skip"] | None = None
    on_empty: Literal["null", "zero", "one"] | None = None
    concurrency: int | None = None
    store: Path | str | None = None
    config: Path | str | None = None
    out: Path | str | None = None
    cases: bool = False
    name: str = ""
    generator: str = ""
    on_start: Callable[[Progress], None] | None = None

    @classmethod
    def written(cls, *, sets: Sequence[str] = (), fields: Sequence[str] = (), **rest: Any) -> Self:
        """Options from what is written on a command line: ``METRIC.PARAMETER=VALUE`` and ``FIELD=PATH``."""
        mapping = {}
        for pair in fields:
            name, equals, path = pair.partition("=")
            if not (equals and name.strip() and path.strip()):
                raise ConfigError(f"--field {pair!r}; expected FIELD=PATH, as in question=user.query")
            mapping[name.strip()] = path.strip()
        return cls(parameters=assignments(sets), fields=mapping, **rest)

    @property
    def skips(self) -> bool:
        """Whether a record that cannot be read is set aside, by the flag or by the configuration."""
        return resolve(self.flags()).on_error == "skip"

    def objects(self) -> list[Judge]:
        """The judges that were brought as objects."""
        return [judge for judge in self.judges or () if not isinstance(judge, str)]

    def flags(self) -> Flags:
        """What of this the configuration merges."""
        objects = [judge.name for judge in self.objects()]
        names = [judge for judge in self.judges or () if isinstance(judge, str)]
        # An object that no name speaks of is the judge of every step that is not named.
        loose = [name for name in objects if not any(name in text for text in names)]
        judges = [*([f"[{','.join(loose)}]"] if loose else []), *names] or None
        return Flags(
            metrics=self.metrics,
            judges=judges,
            given=frozenset(objects),
            aggregate=self.aggregate,
            parameters=self.parameters,
            fields=self.fields,
            on_error=self.on_error,
            on_empty=self.on_empty,
            concurrency=self.concurrency,
            store=self.store,
            config=self.config,
        )


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
    coroutine = aevaluate(source, metrics, judge, **options)
    return _in_thread(coroutine) if _in_a_loop() else asyncio.run(coroutine)


async def aevaluate(
    source: Any,
    metrics: Sequence[str] | str | None = None,
    judge: Sequence[str | Judge] | str | Judge | None = None,
    **options: Any,
) -> Run:
    """``evaluate`` for those who are in an event loop already."""
    unknown = set(options) - set(Options.__dataclass_fields__)
    if unknown:
        known = ", ".join(sorted(Options.__dataclass_fields__))
        raise TypeError(f"unknown option {', '.join(sorted(unknown))}; options are {known}")
    if metrics is not None:
        options["metrics"] = [metrics] if isinstance(metrics, str) else list(metrics)
    if judge is not None:
        options["judges"] = list(judge) if isinstance(judge, Sequence) and not isinstance(judge, str) else [judge]
    return await weigh(source, Options(**options))


def run(source: Any, options: Options) -> Run:
    """``weigh`` for the command line: in an event loop of its own, so that Ctrl-C ends it in order."""
    return asyncio.run(weigh(source, options))


async def weigh(source: Any, options: Options) -> Run:
    """Weigh records as the options say: survey, choose, check, then run."""
    spec = resolve(options.flags())
    generators: set[str] = {options.generator} - {""}

    def inspect(record: Record) -> None:
        _check_overrides(record)
        generator = record.meta.get("generator")
        if isinstance(generator, str) and len(generators) < GENERATORS:
            generators.add(generator)

    with _opened(source, spec, inspect) as opened:
        plan = _plan(spec, opened, {judge.name: judge for judge in options.objects()})
        store = Store(spec.store)
        try:
            return await _run(plan, opened, store, options, _judging_itself(plan.judges.values(), generators))
        except BaseException:
            store.close()
            raise


def validate(source: Any, options: Options) -> tuple[Survey, dict[str, int]]:
    """Read all of the input and call nobody: the survey, and on how many records each metric could run."""
    spec = resolve(options.flags())
    able: dict[str, int] = dict.fromkeys(metrics.catalogue(), 0)

    def inspect(record: Record) -> None:
        _check_overrides(record)
        for name, metric in metrics.catalogue().items():
            able[name] += all(has(record, needed) for needed in metric.needs)

    with _opened(source, spec, inspect) as opened:
        return survey(opened), able


def open_run(which: str | int = "last", store: Path | str | None = None) -> Run:
    """A run of the store by number, name, or ``last``; InputError names what there is."""
    return find_run(open_store(store), which)


def open_store(path: Path | str | None = None) -> Store:
    """The store for reading; ConfigError when there is none, so that looking creates nothing."""
    where = resolve(Flags(store=path)).store
    if not Path(where).exists():
        raise ConfigError(f"no store at {where}; make a run first (ragstone run FILE) or name another with --store")
    return Store(where)


def export_run(run: Run, form: str, rows: str = "scores", to: Path | IO[bytes] | None = None) -> None:
    """Write a run as ``jsonl``, ``csv``, ``parquet`` or ``calls`` (a recording that ``replay:FILE`` answers from).

    ``rows`` of a table are ``scores`` or ``verdicts``. ``to`` is a file's path or a binary stream; Parquet needs
    a path. InputError for what there is not.
    """
    if isinstance(to, Path):
        export_to(run, form, rows, to)
    elif to is None or form == "parquet":
        raise ConfigError(f"{form} is written to a file; name it with -o")
    else:
        export(run, form, rows, to)


def write_config(path: Path | str = FILE, *, force: bool = False) -> Path:
    """Write a commented configuration that changes nothing; ConfigError when the file is there and not forced."""
    target = Path(path)
    if target.exists() and not force:
        raise ConfigError(f"{target} is there already; --force writes it anew")
    try:
        target.write_text(resources.files("ragstone").joinpath(FILE).read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{target}: cannot be written ({error.strerror})") from error
    return target


# ---- judges: who can be asked, and whether one answers


def known_judges(config: Path | str | None = None) -> list[KnownJudge]:
    """The judges that are known by name, then those of the configuration's ``[judges.NAME]`` tables."""
    resolve(Flags(config=config))  # says what is wrong with the file, if anything
    path = Path(config or os.environ.get("RAGSTONE_CONFIG") or FILE)
    tables = tomllib.loads(path.read_text(encoding="utf-8")).get("judges", {}) if path.exists() else {}
    own = [resolve(Flags(config=config, judges=[name])).judges[name] for name in tables]
    return [
        KnownJudge("embedded", note="needs no key and no network; no language model"),
        KnownJudge("replay:FILE", note="answers from ragstone export RUN --format calls"),
        *(_known(f"{name}:MODEL", Spec(name, provider=name), table=False) for name in PRESETS),
        *(_known(spec.name, spec, table=True) for spec in own),
    ]


def _known(name: str, spec: Spec, *, table: bool) -> KnownJudge:
    variable = spec.preset.key if spec.api_key_env is None else spec.api_key_env
    return KnownJudge(
        name,
        where=spec.base_url or spec.preset.base_url,
        variable=variable,
        key_set=bool(os.environ.get(variable, "").strip()) if variable else None,
        model=spec.model,
        table=table,
        note="" if spec.base_url or spec.preset.base_url else "azure:MODEL@ADDRESS",
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of one tiny question to a judge: the call's seconds and tokens, and what was said."""

    judge: str
    seconds: float
    said: str
    input_tokens: int | None
    output_tokens: int | None


def check_judge(name: str, config: Path | str | None = None) -> Checked:
    """Ask a judge one tiny question, once; BackendError says why no answer came, ConfigError who there is.

    Nothing is stored, and a judge that costs money is paid for this one call.
    """
    spec = resolve(Flags(config=config, judges=[name]))
    return asyncio.run(_asked(build(spec.judges[spec.default.judges[0]])))


async def _asked(judge: Judge) -> Checked:
    unit = Unit("check/claim/1", "claim", "The sky is blue.", Span(0, 16))
    question = Rate("support", (unit,), YES_NO, passages=(Passage("1", "On a clear day the sky is blue.", 1),))
    if not judge.can("support"):
        raise ConfigError(f"the judge '{judge.name}' cannot answer the step 'support'")
    dialogue = judge.dialogue(question)
    (call,) = next(dialogue)
    started = time.monotonic()
    try:
        await judge.backend.open()
        reply = await judge.backend.send(call)
    finally:
        await judge.backend.close()
    seconds = time.monotonic() - started
    try:
        dialogue.send([reply])
        said = "the answer cannot be read as it was asked for"
    except StopIteration as stop:
        (verdict,) = stop.value.verdicts
        said = f"unjudged: {verdict.failure}" if verdict.unjudged else f"'{unit.text}' is supported: {verdict.label}"
    return Checked(judge.id, seconds, said, reply.usage.input, reply.usage.output)


# ---- the plan: everything that can be refused is refused before a call is made


@dataclass(frozen=True, slots=True)
class _Plan:
    spec: RunSpec
    survey: Survey
    judges: Mapping[str, Judge]
    routes: Routes
    metrics: tuple[Metric, ...]
    left_out: Mapping[str, str]
    signatures: Mapping[str, str]

    def as_json(self, source: str) -> dict[str, Any]:
        """For the store and run.json."""
        return {
            **self.spec.as_json(),
            "input": source,
            "chosen": [metric.name for metric in self.metrics],
            "left_out": dict(self.left_out),
            "signatures": dict(self.signatures),
            "ragstone": __version__,
            "python": platform.python_version(),
        }


def _plan(spec: RunSpec, source: Source, given: Mapping[str, Judge]) -> _Plan:
    judges = {name: given[name] if name in given else build(judge) for name, judge in spec.judges.items()}
    routes = Routes(_route(spec.default, judges), {task: _route(step, judges) for task, step in spec.steps.items()})
    found = survey(source)
    paid = any(not judge.backend.free for judge in judges.values())
    chosen, left_out = choose(spec, found.present, paid=paid)
    if not chosen:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise ConfigError(f"{source.name}: no metric can run ({reasons}); map columns with --field")
    for metric in chosen:
        routes.check(metric)
    routes = replace(routes, asked=tuple(dict.fromkeys(task for metric in chosen for task in metric.asks)))
    return _Plan(spec, found, judges, routes, chosen, left_out, {m.name: signature_of(m, routes) for m in chosen})


def _route(step: Step, judges: Mapping[str, Judge]) -> Route:
    return Route(tuple(judges[name] for name in step.judges), step.aggregate, dict(step.weights))


def _judging_itself(judges: Iterable[Judge], generators: Iterable[str]) -> list[str]:
    """A warning for each judge that is the model whose responses it judges: models favour their own."""
    ours = {generator.rpartition("/")[2].casefold() for generator in generators}
    return [
        f"the judge {judge.name} is the model that wrote the responses; models rate their own answers too well"
        for judge in judges
        if judge.model and judge.model.rpartition("/")[2].casefold() in ours
    ]


def _opened(source: Any, spec: RunSpec, inspect: Callable[[Record], None]) -> Source:
    """The source; what ``inspect`` refuses is refused in every reading of it alike."""
    return open_records(source, fields=spec.fields, blocks=metrics.blocks(), on_error=spec.on_error, inspect=inspect)


def _check_overrides(record: Record) -> None:
    for name, parameters in record.overrides.items():
        try:
            metrics.find(name)().overridden(parameters)
        except ConfigError as error:
            raise RecordError(record.where, str(error), field=name) from error


# ---- the run


async def _run(plan: _Plan, source: Source, store: Store, options: Options, notes: Sequence[str]) -> Run:
    spec = plan.spec
    prices = PriceBook({judge.id: price for name, judge in plan.judges.items() if (price := spec.judges[name].price)})
    engine = Engine(plan.routes, store, prices, spec.engine)
    details = plan.as_json(source.name)
    folder = Folder(Path(options.out), cases=options.cases) if options.out is not None else None
    number = store.start_run(options.name or source.name, details)
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
    causes = Causes()
    status = "interrupted"
    try:
        if options.on_start is not None:
            options.on_start(progress)
        with folder or contextlib.nullcontext():
            async with contextlib.aclosing(engine.run(_jobs(source, plan))) as results:
                async for weighed in results:
                    _keep(engine, number, weighed)
                    causes.add(weighed.scores)
                    if folder is not None:
                        folder.add(weighed.record, weighed.document)
        status = "done"
    except RagstoneError as error:
        status = "stopped"
        if engine.tally.anything:
            error.add_note(f"what was done is kept as run {number} ({engine.tally.records} records)")
        raise
    finally:
        if status != "done" and not engine.tally.anything:
            store.forget(number)
        else:
            _close(store, plan, status, progress, folder, causes)
    return find_run(store, number)


def _close(store: Store, plan: _Plan, status: str, progress: Progress, folder: Folder | None, causes: Causes) -> None:
    summary = {
        **summarize(store, progress.run, plan.signatures, status),
        "bill": progress.tally.as_json(),
        "left_out": dict(plan.left_out),
        "missing": causes.as_json(),
        "notes": list(progress.notes),
        "seconds": round(time.monotonic() - progress.started, 3),
    }
    store.finish_run(progress.run, status, summary)
    if folder is not None:
        row = store.run(progress.run)
        assert row is not None
        folder.finish(summary, {"run": row.id, "name": row.name, "status": status, **row.spec})


def _jobs(source: Source, plan: _Plan) -> Iterator[Job]:
    base = tuple((metric, plan.signatures[metric.name]) for metric in plan.metrics)
    for position, record in enumerate(source, 1):
        if isinstance(record, SetAside):
            yield Job(position, record.id, None, error=record.error)
        elif record.overrides:
            changed = tuple(metric.overridden(record.overrides.get(metric.name, NOTHING)) for metric in plan.metrics)
            yield Job(position, record.id, record, tuple((m, signature_of(m, plan.routes)) for m in changed))
        else:
            yield Job(position, record.id, record, base)


def _keep(engine: Engine, run: int, weighed: Weighed) -> None:
    rows = [
        ScoreRow(
            score.metric, weighed.position, score.value, score.status, score.asked, score.unjudged,
            score.low, score.high, score.outcome,
            share["calls"], share["input_tokens"], share["output_tokens"], share["dollars"],
        )
        for score, share in zip(weighed.scores, weighed.shares, strict=True)
    ]  # fmt: skip
    engine.keep(run, ResultRow(weighed.position, weighed.record, weighed.document), rows)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_thread(coroutine: Any) -> Run:
    """Run the coroutine in a loop of its own on a thread of its own, and wait for it."""
    outcome: list[Run] = []
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

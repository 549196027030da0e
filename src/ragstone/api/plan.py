"""Plan a run: everything that can be rejected is rejected here, before the first call."""

from __future__ import annotations

import contextlib
import platform
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from ragstone import __version__, metrics
from ragstone.config import RunSpec, Step, objects, resolve
from ragstone.engine.document import input_of, to_json
from ragstone.engine.leases import Lender
from ragstone.engine.route import Route, Routes, signature_of
from ragstone.errors import ConfigError, RecordError
from ragstone.judges.base import Judge, is_inside
from ragstone.judges.cascade import Calibrated
from ragstone.judges.catalogue import build
from ragstone.judges.prompting import is_prompted
from ragstone.metrics.base import HOW_TO_ADD, Metric
from ragstone.options import Progress, RunOptions, option_named
from ragstone.prices import PriceBook
from ragstone.questions import TASKS, Task
from ragstone.records import Source, Survey, offered, open_records, survey
from ragstone.records.fields import FIELD_OF, Fields
from ragstone.records.paths import folded
from ragstone.segment import record_language
from ragstone.signature import TEXT_LIBRARIES, version_of
from ragstone.types import NOTHING, Record, either, nouns

if TYPE_CHECKING:
    from ragstone.records.banks import Bank
    from ragstone.records.topics import Qrels

AUTO_CALLS: Final = 2
"""``auto`` chooses only metrics with at most this many LLM calls per record."""
FILES: Final = {"nuggets": "nuggets", "relevant": "qrels"}
"""Fields that can come from a file, with the name of its option."""
GENERATORS: Final = 1000
"""The maximum number of distinct generator names to collect."""
LIBRARIES: Final = (*TEXT_LIBRARIES, "json-repair", "jinja2", "genai-prices")
"""Libraries whose version can affect a run's scores or cost."""


class Plan(Struct, frozen=True):
    """The plan of a run: its metrics, the judges of each step, and why metrics are left out.

    ``given`` has the steps that every record already answers, with the source of these answers. ``notes`` are warnings
    for the user. ``digest`` is the digest of all records, if requested. A ``lender`` may provide the limits of a shard.
    For a merge, ``before`` is the progress of its shards.
    """

    spec: RunSpec
    source: Source
    survey: Survey
    judges: Mapping[str, Judge]
    routes: Routes
    metrics: tuple[Metric, ...]
    left_out: Mapping[str, str]
    given: Mapping[Task, str]
    bank: Bank | None = None
    qrels: Qrels | None = None
    notes: tuple[str, ...] = ()
    digest: str = ""
    lender: Lender | None = None
    before: Progress | None = None

    @property
    def total(self) -> int:
        """The number of records that the run evaluates."""
        return self.survey.total if self.survey.in_shard is None else self.survey.in_shard

    @property
    def prices(self) -> PriceBook:
        """The price book, including the prices of judges from the configuration."""
        own = ((judge.id, self.spec.judges[name].price) for name, judge in self.judges.items())
        return PriceBook({judge: price for judge, price in own if price})

    def signature(self, metric: Metric, record: Record | None = None, lang: str = "") -> str:
        """Return the signature of the metric's scores: for the whole run, for a language, or for one record."""
        if record is None:
            return signature_of(metric, self.routes, self.given, lang)
        lang = record_language(record.meta, record.question, record.response)
        return signature_of(metric, self.routes, _answers_of(record, self.bank, self.qrels), lang)

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each score, by score name."""
        return {name: self.signature(metric) for metric in self.metrics for name in metric.given_names()}

    def cascades(self) -> dict[str, Any]:
        """Return, for each step with a cascade, its judges' ids, the accepted error rate and the confidence bands.

        The last judge has no band.
        """
        found = {task: self.routes.of(task) for task in self.routes.asked}
        return {
            task: {
                "judges": [judge.id for judge in route.judges],
                "error": route.error,
                "bands": [asdict(band) for band in route.bands(task)],
            }
            for task, route in found.items()
            if route.error is not None
        }

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON for the store and run.json."""
        return {
            **self.spec.as_json(),
            **({"bank": {"name": self.bank.name, "digest": self.bank.digest}} if self.bank else {}),
            "input": self.source.name,
            **({"extent": dict(self.source.extent)} if self.source.extent else {}),
            **({"cascade": self.cascades()} if self.cascades() else {}),
            "chosen": [metric.name for metric in self.metrics],
            "left_out": dict(self.left_out),
            "signatures": self.signatures,
            "ragstone": __version__,
            "python": platform.python_version(),
            "libraries": {name: version_of(name) for name in LIBRARIES},
        }


@contextlib.contextmanager
def planned(source: Any, options: RunOptions, *, digest: bool = False) -> Iterator[Plan]:
    """Plan a run; its input stays open inside the context. ``digest``: compute the digest of all records."""
    spec = resolve(options)
    if isinstance(source, list | Mapping | Iterator):  # the configured mapping is only for files and tables
        spec = replace(spec, fields=options.fields or {})
    generators = _Generators({options.generator or ""} - {""}, sharded=spec.shard is not None)
    bank, qrels = named_file(spec, source, "nuggets"), named_file(spec, source, "qrels")
    with open_source(source, spec, generators, bank, qrels) as records:
        blocks = metrics.blocks()
        spec = replace(spec, fields=records.mapper.fields.paths, layout=records.layout)
        plan = _plan(spec, records, objects(options.judge), bank, qrels, sha256() if digest else None)
        notes = [
            *_judging_itself(plan.judges.values(), generators.names),
            *(map(str, bank.notes) if bank else []),
            *(f"{name} is short for {own}" for name, own in blocks.items() if name in spec.metrics and name != own),
            *_absent(plan),
            *_unread(plan, options),
            *without_effect(plan, options),
            *(f"{one.name}: {note}" for one in plan.judges.values() if (note := getattr(one, "note", ""))),
            *(
                f"{one.name}: price unknown; did you mean '{near}'?"
                for one in plan.judges.values()
                if (near := plan.prices.nearest(one.id, one.provider, one.model))
            ),
        ]
        yield replace(plan, notes=tuple(notes))


class _Generators(Struct, frozen=True):
    """Checks each record, and collects the names of the models that wrote the responses."""

    names: set[str]
    sharded: bool

    def __call__(self, record: Record) -> None:
        check_overrides(record, sharded=self.sharded)
        generator = record.meta.get("generator")
        if isinstance(generator, str) and len(self.names) < GENERATORS:
            self.names.add(generator)


def _plan(
    spec: RunSpec, source: Source, given: Mapping[str, Judge], bank: Bank | None, qrels: Qrels | None, digest: Any
) -> Plan:
    judges, routes = make_routes(spec, given)
    brought = _Brought(bank, qrels)

    def look(record: Record) -> None:
        brought.add(record)
        if digest is not None:
            more = (record.nuggets, record.citations, record.overrides, record.meta)
            digest.update(to_json([{**input_of(record, 0), "where": ""}, *more]))  # wherever the input lies

    found = survey(source, look, spec.shard)
    if bank is not None and not found.present["nuggets"]:
        raise ConfigError(f"{bank.name} has no nuggets for any topic of {source.name}: {brought.trouble(bank.nuggets)}")
    if qrels is not None and not found.present["relevant"]:
        raise ConfigError(f"{qrels.name} has no grades for any topic of {source.name}: {brought.trouble(qrels.grades)}")
    if spec.topics is not None and not found.present["question"]:
        raise ConfigError(f"{spec.topics} has none of the topics of {source.name}, such as '{brought.topic}'")
    answers = brought.given()
    chosen, left_out = _chosen(spec, found, lambda metric: routes.lacking(metric, answers), loose=source.loose)
    chosen = tuple(metric.expecting(overridden=metric.name in brought.overridden) for metric in chosen)
    if not chosen:
        recognised = "".join(f"; {line}" for line in found.recognised)
        raise ConfigError(f"{source.name}: no metric can run: {_reasons(left_out, found)}{recognised}; {found.advice}")
    for metric in chosen:
        if wanted := metric.unset():
            raise ConfigError(f"{metric.name}: {wanted}")
        routes.check(metric, answers)
        _check_shard(metric, sharded=spec.shard is not None)
    asked = (task for metric in chosen for task in metric.asks if not (task in answers and task in metric.brings))
    routes = replace(routes, asked=tuple(asked))
    if spec.default.cascade:  # some steps do not use it, so list the judges of each step
        tasks = [task for task in dict.fromkeys(routes.asked) if task not in spec.steps]
        spec = replace(spec, steps={**{task: _step(routes.of(task)) for task in tasks}, **spec.steps})
    told = "" if digest is None else digest.hexdigest()
    return Plan(spec, source, found, judges, routes, chosen, left_out, answers, bank, qrels, digest=told)


def _chosen(
    spec: RunSpec, found: Survey, unable: Callable[[type[Metric]], str], *, loose: bool
) -> tuple[tuple[Metric, ...], dict[str, str]]:
    """Choose the metrics of a run, with reasons for those left out.

    In records passed as Python objects (``loose``), a blank field counts as present. If the records lack the fields of
    every metric, all metrics are tried, unless several records have other columns that could be mapped. Each record's
    status then names the missing fields.
    """
    pick = partial(choose, spec, unable=unable, columns=found.columns, meant=found.meant)
    if not loose:
        return pick(found.readable().present)
    there = {name: count + found.blank.get(name, 0) for name, count in found.present.items()}
    loose = found.total < 2 or all(folded(column) in FIELD_OF for column in found.columns)
    chosen, left_out = pick(there, loose=loose)
    if chosen or not loose:
        return chosen, left_out
    return pick({**there, **dict.fromkeys(found.blank, found.total)}, loose=True)


def _reasons(left_out: Mapping[str, str], found: Survey) -> str:
    """Return why no metric can run: missing fields once, other reasons by metric."""
    known = [metrics.find(name) for name in left_out]
    absent = {
        metric.name: [needed for needed in (*metric.needs, *metric.wants) if not found.present.get(needed)]
        for metric in known
    }
    fields = dict.fromkeys(field for needed in absent.values() for field in needed)
    others = [f"{name}: {why}" for name, why in left_out.items() if not absent[name]]
    return "; ".join([*([unfound([*fields], found.columns)] if fields else []), *others])


def choose(
    spec: RunSpec,
    present: Mapping[str, int],
    *,
    unable: Callable[[type[Metric]], str] = lambda _metric: "",
    columns: Sequence[str] = (),
    meant: Mapping[str, Sequence[str]] = NOTHING,
    loose: bool = False,
) -> tuple[tuple[Metric, ...], dict[str, str]]:
    """Choose the metrics of a run, with reasons for those that ``auto`` leaves out.

    ``present`` counts the records with each field. ``unable`` returns why the judges cannot evaluate a metric.
    ``columns`` are the columns to suggest for a missing field, ``meant`` the option that would provide it. The choice
    of ``auto`` does not depend on a judge's cost, so two judges are compared on the same metrics. Raises ConfigError if
    no record has the fields of a metric given by name, unless the records are ``loose``: Python dicts, whose fields are
    not mapped and whose status names the missing ones.
    """
    suites = metrics.suites()
    ready = {
        name: metric().with_parameters(spec.parameters.get(name, {})) for name, metric in metrics.catalogue().items()
    }
    silent = {name for name, metric in ready.items() if metric.unset()}
    wanted: dict[str, bool] = {}
    left_out: dict[str, str] = {}
    for name in spec.metrics:
        if name == "auto":
            for metric in metrics.catalogue().values():
                reason = unsuitable(metric, present) or unable(metric)
                if metric.name in silent:
                    continue
                if reason:
                    left_out[metric.name] = reason
                else:
                    wanted.setdefault(metric.name, False)
        elif name in suites and name not in metrics.catalogue():
            wanted.update((member, False) for member in suites[name] if member not in {*wanted, *silent})
        else:
            wanted[metrics.asked_for(name).name] = True
    chosen: list[Metric] = []
    for name, by_name in wanted.items():
        metric = metrics.find(name)
        absent = [needed for needed in metric.needs if not present.get(needed)]
        if absent and by_name and not loose:
            unnamed = [field for field in absent if field not in columns]
            hint = f"; specify the column with --field {unnamed[0]}=COLUMN{offered(columns)}" if unnamed else ""
            if option := meant.get(unnamed[0]) if unnamed else None:
                hint = f"; did you mean {shlex.join(option)}?"
            raise ConfigError(f"{name} needs {' and '.join(metric.needs)}; {unfound(absent, columns)}{hint}")
        if not by_name and (lacks := metric.lacks(present)):
            left_out[name] = lacks
        else:
            from_file = any(getattr(spec, FILES.get(field, ""), None) for field in metric.wants)
            careful = {} if by_name and not from_file else metric.in_suites
            made = metric().with_parameters({**careful, **spec.parameters.get(name, {})})
            lacking = [wanted for wanted in metric.wants if not present.get(wanted)]
            if lacking and metric.in_suites.items() <= made.parameters().items():
                needed = f"{name} needs {' and '.join(lacking)}; no record has any"
                raise ConfigError(f"{needed}; specify a file with --{FILES[lacking[0]]}")
            chosen.append(made)
    for name, parameters in spec.parameters.items():
        if parameters and name not in wanted and name not in left_out:
            left_out[name] = "has parameters, but is not a metric in this run"
    return tuple(chosen), {name: why for name, why in left_out.items() if name not in {m.name for m in chosen}}


def unfound(fields: Sequence[str], columns: Sequence[str]) -> str:
    """Return a message that no record has these fields, or that a column is blank in all records."""
    blank = [field for field in fields if field in columns]
    absent = [field for field in fields if field not in columns]
    said = [f"{' and '.join(blank)} {'is' if len(blank) == 1 else 'are'} blank in every record"] if blank else []
    return ", and ".join([*said, *([f"no record has {either(nouns(absent, article=True))}"] if absent else [])])


def unsuitable(metric: type[Metric], present: Mapping[str, int]) -> str:
    """Return why ``auto`` leaves a metric out, given the number of records with each field; empty if it does not."""
    if lacks := metric.lacks(present):
        return lacks
    if metric.calls > AUTO_CALLS:
        calls = f"about {metric.calls} calls per record; metrics with more than {AUTO_CALLS} do not run by default"
        return calls + HOW_TO_ADD.format(metric.name)
    for field in metric.needs:
        if field not in ("question", "response", "contexts") and 2 * present[field] < (most := max(present.values())):
            have = "has" if present[field] == 1 else "have"
            only = f"only {present[field]} of {most} records {have} {nouns([field], article=True)[0]}"
            return f"{only}{HOW_TO_ADD.format(metric.name)}"
    return ""


def make_routes(spec: RunSpec, given: Mapping[str, Judge]) -> tuple[dict[str, Judge], Routes]:
    """Build the judges that the caller does not pass, by name, and the route of each step."""
    judges = {name: given[name] if name in given else build(judge) for name, judge in spec.judges.items()}
    steps = {task: _route(step, judges, spec.cascade_error) for task, step in spec.steps.items()}
    default = _route(spec.default, judges, spec.cascade_error)
    if default.error is not None:
        steps = {**{task: default.able(task) for task in TASKS}, **steps}
    return judges, Routes(default, steps)


class _Brought:
    """Counts the steps whose answers come with the records."""

    def __init__(self, bank: Bank | None, qrels: Qrels | None) -> None:
        self._bank, self._qrels = bank, qrels
        self._counts: Counter[Task] = Counter()
        self._tokens: dict[Task, str] = {}
        self._records = self._empty = 0
        self.topic = ""
        self.overridden: set[str] = set()

    def add(self, record: Record) -> None:
        """Count one record."""
        self._records += 1
        self.topic = self.topic or record.topic
        self._empty += record.nuggets == ()
        self.overridden.update(record.overrides)
        self._tokens |= (found := _answers_of(record, self._bank, self._qrels))
        self._counts.update(found.keys())

    def given(self) -> dict[Task, str]:
        """Return the steps that every record answers, with the source of the answers."""
        return {task: self._tokens[task] for task, count in self._counts.items() if count == self._records}

    def trouble(self, by_topic: Mapping[str, Any]) -> str:
        """Return why a file has nothing for these records: its lists are empty, or its topics differ."""
        if self._empty and self._bank is not None and by_topic is self._bank.nuggets:
            return f"its lists are empty for {self._empty} of {self._records} records"
        return f"its topics look like '{next(iter(by_topic), '')}', the records' like '{self.topic}'"


def _answers_of(record: Record, bank: Bank | None, qrels: Qrels | None) -> dict[Task, str]:
    """Return the steps that a record answers: relevant ids, nuggets, and their importance if all have one."""
    found: dict[Task, str] = {}
    if record.relevant is not None:
        found["relevance"] = f"qrels#{qrels.digest}" if qrels else "record"
    if record.nuggets is None:
        return found
    found["nuggetize"] = token = f"gold#{bank.digest}" if bank else "record"
    if all(nugget.importance for nugget in record.nuggets):
        found["importance"] = token
    return found


def _step(route: Route) -> Step:
    return Step(tuple(judge.name for judge in route.judges), cascade=route.error is not None)


def _route(step: Step, judges: Mapping[str, Judge], error: float) -> Route:
    found = tuple(judges[name] for name in step.judges)
    if step.cascade:
        for judge in found[:-1]:
            if not isinstance(judge, Calibrated):
                raise ConfigError(
                    f"cascade {'>'.join(step.judges)}: '{judge.name}' gives no confidence, so it "
                    "can only be the last judge; put the embedded judge first"
                )
    return Route(found, step.aggregate, dict(step.weights), error if step.cascade else None)


# ---- warnings


def _judging_itself(judges: Iterable[Judge], generators: Iterable[str]) -> list[str]:
    """Warn about each judge that wrote the responses: models favour their own."""
    ours = {generator.rpartition("/")[2].casefold() for generator in generators}
    return [
        f"the judge {judge.name} is the model that wrote the responses; models overrate their own answers"
        for judge in judges
        if judge.model and judge.model.rpartition("/")[2].casefold() in ours
    ]


def _absent(plan: Plan) -> list[str]:
    """Warn about fields that metrics need and no record has; each record's status says so, too."""
    needed = dict.fromkeys(name for metric in plan.metrics for name in metric.needs)
    found = plan.survey
    absent = [name for name in needed if not found.present[name] and not found.blank.get(name)]
    return [f"no record has {either(nouns(absent, article=True))}{offered(found.columns)}"] if absent else []


def _unread(plan: Plan, options: RunOptions) -> list[str]:
    """Warn about prompt options if no judge uses prompts."""
    named = [
        option_named(name).flags[0] for name in ("prompts", "pack", "format", "structured") if getattr(options, name)
    ]
    if not named or any(is_prompted(spec) for spec in plan.spec.judges.values()):
        return []
    have = "has" if len(named) == 1 else "have"
    return [f"{' and '.join(named)} {have} no effect: no judge in this run uses prompts"]


def without_effect(plan: Plan, options: RunOptions) -> list[str]:
    """Warn about a cascade that no step can use, and about options that have no effect."""
    spec, routes = plan.spec, plan.routes
    panels = [step for step in (spec.default, *spec.steps.values()) if len(step.judges) > 1 and not step.cascade]
    told = ["--panel has no effect: no step in this run has several judges; name them as --judge '[A,B]'"]
    told = told if options.aggregate is not None and not panels else []
    if spec.default.cascade and not routes.cascading():
        sure = [task for task in TASKS if routes.default.able(task).error is not None]
        named = ">".join(spec.default.judges)
        told.append(f"no step in this run uses the cascade {named}: it only applies to {' and '.join(sure)}")
    elif options.cascade_error is not None and not routes.cascading():
        told.append("--cascade-error has no effect: no step in this run uses a cascade")
    if options.batch and all(map(is_inside, routes.backends())):
        told.append("--batch has no effect: no judge in this run uses an API")
    return told


# ---- the input


def open_source(
    source: Any,
    spec: RunSpec,
    inspect: Callable[[Record], None],
    bank: Bank | None = None,
    qrels: Qrels | None = None,
) -> Source:
    """Open the source; ``inspect`` checks each record every time it is read. A tuple of paths is read as one source."""
    more: dict[str, Any] = {
        "fields": Fields(spec.fields, spec.field_files), "blocks": metrics.blocks(), "on_error": spec.on_error,
        "inspect": inspect, "bank": bank, "cut": spec.cut, "layout": spec.layout,
        "topics": named_file(spec, source, "topics"), "qrels": qrels,
    }  # fmt: skip
    return open_records(source, **more)


def _check_shard(metric: Metric, *, sharded: bool) -> None:
    """Raise ConfigError if each shard would write its own version of something; a merge can keep only one."""
    if sharded and metric.writes:
        said = 'each shard would write its own; list the steps in place of "write"'
        raise ConfigError(f'{metric.name}: steps = "write" cannot be used with --shard: {said}')


def named_file(spec: RunSpec, source: Any, name: Literal["nuggets", "topics", "qrels"]) -> Any:
    """Read the bank of nuggets, the questions or the relevance judgments that the options name, if any.

    Raises ConfigError if the file and the records are both standard input.
    """
    path = getattr(spec, name)
    if path is None:
        return None
    if str(path) == "-" and "-" in (source if isinstance(source, tuple) else (source,)):
        raise ConfigError(f"standard input can be used for the records or --{name}, not both")
    from ragstone.records.banks import read_bank  # noqa: PLC0415 - few runs have such a file
    from ragstone.records.topics import read_qrels, read_topics  # noqa: PLC0415 - as above

    readers = {"nuggets": read_bank, "topics": read_topics, "qrels": read_qrels}
    return readers[name](path)


def check_overrides(record: Record, *, sharded: bool = False) -> None:
    """Raise RecordError if a record has parameters that a metric does not accept, or not in a shard."""
    for name, parameters in record.overrides.items():
        try:
            _check_shard(metrics.find(name)().overridden(parameters), sharded=sharded)
        except ConfigError as error:
            raise RecordError(record.where, str(error).removeprefix(f"{name}: "), field=name) from error

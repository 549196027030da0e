"""What a run will do: everything that can be refused is refused before a call is made."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Protocol

from ragstone import __version__, metrics
from ragstone.config import RunSpec, Step, choose, unfound
from ragstone.engine import Job, Route, Routes, Weighed, signature_of
from ragstone.errors import ConfigError, RecordError
from ragstone.judges.base import Judge
from ragstone.judges.cascade import Calibrated
from ragstone.judges.catalogue import build
from ragstone.judges.openai import OpenAIBackend
from ragstone.metrics.base import Metric
from ragstone.prices import PriceBook
from ragstone.questions import TASKS, Task
from ragstone.records import Bank, SetAside, Source, Survey, offered, open_records, read_bank, survey
from ragstone.signature import TEXT_LIBRARIES, version_of
from ragstone.types import NOTHING, Record

LIBRARIES: Final = (*TEXT_LIBRARIES, "json-repair", "jinja2", "genai-prices")
"""What a run's numbers and its bill pass through."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will do: who judges what, which metrics there are and why not others, how scores are made.

    ``given`` names what stands in a judge's place where every record brings a step's answer. ``extent`` is what part of
    the input is read, empty for all of it.
    """

    spec: RunSpec
    survey: Survey
    judges: Mapping[str, Judge]
    routes: Routes
    metrics: tuple[Metric, ...]
    left_out: Mapping[str, str]
    given: Mapping[Task, str]
    bank: Bank | None = None
    extent: Mapping[str, int] = field(default_factory=lambda: NOTHING)

    def signature(self, metric: Metric, record: Record | None = None) -> str:
        """How the metric's scores are made, of the whole run or of one record."""
        return signature_of(metric, self.routes, self.given if record is None else _brought(record, self.bank))

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each score by its name."""
        return {name: self.signature(metric) for metric in self.metrics for name in metric.score_names()}

    def cascades(self) -> dict[str, Any]:
        """By step that has a cascade: its judges' ids, how often one may err, and where each but the last is sure."""
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

    def as_json(self, source: str) -> dict[str, Any]:
        """For the store and run.json."""
        return {
            **self.spec.as_json(),
            **({"bank": {"name": self.bank.name, "digest": self.bank.digest}} if self.bank else {}),
            "input": source,
            **({"extent": dict(self.extent)} if self.extent else {}),
            **({"cascade": self.cascades()} if self.cascades() else {}),
            "chosen": [metric.name for metric in self.metrics],
            "left_out": dict(self.left_out),
            "signatures": self.signatures,
            "ragstone": __version__,
            "python": platform.python_version(),
            "libraries": {name: version_of(name) for name in LIBRARIES},
        }


def make_plan(spec: RunSpec, source: Source, given: Mapping[str, Judge], bank: Bank | None = None) -> Plan:
    """Everything that can be refused is refused here, before a call is made."""
    judges, routes = make_routes(spec, given)
    brought = Brought(bank)
    found = survey(source, brought.add)
    if bank is not None and not found.present["nuggets"]:
        raise ConfigError(f"{bank.name} has no nuggets for any record of {source.name}: {brought.trouble()}")
    answers = brought.given()
    chosen, left_out = _chosen(spec, found, lambda metric: routes.lacking(metric, answers), loose=source.loose)
    if not chosen:
        reasons, there = _reasons(left_out, found), offered(found.columns)
        raise ConfigError(f"{source.name}: no metric can run: {reasons}; map columns with --field FIELD=COLUMN{there}")
    for metric in chosen:
        routes.check(metric, answers)
    asked = (task for metric in chosen for task in metric.asks if not (task in answers and task in metric.brings))
    routes = replace(routes, asked=tuple(dict.fromkeys(asked)))
    if spec.default.cascade:  # not every step has one, so that each is told by name
        tasks = [task for task in routes.asked if task not in spec.steps]
        spec = replace(spec, steps={**{task: _step(routes.of(task)) for task in tasks}, **spec.steps})
    return Plan(spec, found, judges, routes, chosen, left_out, answers, bank, source.extent)


def _chosen(
    spec: RunSpec, found: Survey, unable: Callable[[type[Metric]], str], *, loose: bool
) -> tuple[tuple[Metric, ...], dict[str, str]]:
    """The metrics of the run, and why not others.

    Of a program's own records (``loose``) a blank field is there, and where none has what any metric needs every metric
    is tried: each record's status says what it lacks.
    """
    if not loose:
        return choose(spec, found.present, unable=unable, columns=found.columns)
    there = {name: count + found.blank.get(name, 0) for name, count in found.present.items()}
    chosen, left_out = choose(spec, there, unable=unable, loose=True)
    if chosen:
        return chosen, left_out
    return choose(spec, {**there, **dict.fromkeys(found.blank, found.records)}, unable=unable, loose=True)


def _reasons(left_out: Mapping[str, str], found: Survey) -> str:
    """Why no metric can run: the fields that are not there once for all of them, other reasons by metric."""
    known = [metrics.find(name) for name in left_out]
    absent = {
        metric.name: [needed for needed in (*metric.needs, *metric.wants) if not found.present.get(needed)]
        for metric in known
    }
    fields = dict.fromkeys(field for needed in absent.values() for field in needed)
    others = [f"{name}: {why}" for name, why in left_out.items() if not absent[name]]
    return "; ".join([*([unfound([*fields], found.columns)] if fields else []), *others])


def make_routes(spec: RunSpec, given: Mapping[str, Judge]) -> tuple[dict[str, Judge], Routes]:
    """The judges by name, those that the caller brought among them, and who is asked which step."""
    judges = {name: given[name] if name in given else build(judge) for name, judge in spec.judges.items()}
    limits = spec.engine.limits
    for judge in judges.values():
        if isinstance(judge.backend, OpenAIBackend):  # such a budget stands on the longest reply that there can be
            judge.backend.bounded = limits.cost is not None or limits.tokens is not None
    steps = {task: _route(step, judges, spec.cascade_error) for task, step in spec.steps.items()}
    default = _route(spec.default, judges, spec.cascade_error)
    if default.error is not None:
        steps = {**{task: default.able(task) for task in TASKS}, **steps}
    return judges, Routes(default, steps)


class Brought:
    """Counts which steps' answers the records bring themselves."""

    def __init__(self, bank: Bank | None) -> None:
        self._bank = bank
        self._counts: Counter[Task] = Counter()
        self._records = 0
        self._topic = ""
        self._empty = 0

    def add(self, record: Record) -> None:
        """Count one record."""
        self._records += 1
        self._topic = self._topic or record.topic
        self._empty += record.nuggets == ()
        self._counts.update(_brought(record, self._bank).keys())

    def given(self) -> dict[Task, str]:
        """The steps that every record brings, with what stands in the judge's place."""
        token = _token(self._bank)
        return {task: token for task, count in self._counts.items() if count == self._records}

    def trouble(self) -> str:
        """Why a bank has nothing for these records: lists that are empty, or topics that are others."""
        assert self._bank is not None
        if self._empty:
            return f"its lists are empty for {self._empty} of {self._records}"
        first = next(iter(self._bank.nuggets), "")
        return f"its topics are like '{first}', those of the records like '{self._topic}'"


def _brought(record: Record, bank: Bank | None) -> dict[Task, str]:
    """The steps whose answer a record brings: its nuggets, and their importance where all have one."""
    if record.nuggets is None:
        return {}
    token = _token(bank)
    found: dict[Task, str] = {"nuggetize": token}
    if all(nugget.importance for nugget in record.nuggets):
        found["importance"] = token
    return found


def _token(bank: Bank | None) -> str:
    return f"gold#{bank.digest}" if bank else "record"


def _step(route: Route) -> Step:
    return Step(tuple(judge.name for judge in route.judges), cascade=route.error is not None)


def _route(step: Step, judges: Mapping[str, Judge], error: float) -> Route:
    found = tuple(judges[name] for name in step.judges)
    if step.cascade:
        for judge in found[:-1]:
            if not isinstance(judge, Calibrated):
                raise ConfigError(
                    f"cascade {'>'.join(step.judges)}: '{judge.name}' gives no confidence, so it "
                    "can only be the last judge; the embedded judge gives one"
                )
    return Route(found, step.aggregate, dict(step.weights), error if step.cascade else None)


def judging_itself(judges: Iterable[Judge], generators: Iterable[str]) -> list[str]:
    """A warning for each judge that is the model whose responses it judges: models favour their own."""
    ours = {generator.rpartition("/")[2].casefold() for generator in generators}
    return [
        f"the judge {judge.name} is the model that wrote the responses; models rate their own answers too well"
        for judge in judges
        if judge.model and judge.model.rpartition("/")[2].casefold() in ours
    ]


def opened(source: Any, spec: RunSpec, inspect: Callable[[Record], None], bank: Bank | None = None) -> Source:
    """The source; what ``inspect`` refuses is refused in every reading of it alike. A tuple of paths is read as one."""
    return open_records(
        source, fields=spec.fields, blocks=metrics.blocks(), on_error=spec.on_error, inspect=inspect, bank=bank,
        cut=spec.cut,
    )  # fmt: skip


def bank_of(spec: RunSpec, source: Any) -> Bank | None:
    """The bank of nuggets that was named, if any; ConfigError where it and the records are both standard input."""
    if spec.nuggets is None:
        return None
    if str(spec.nuggets) == "-" and "-" in (source if isinstance(source, tuple) else (source,)):
        raise ConfigError("standard input can be only one of the records and --nuggets")
    return read_bank(spec.nuggets)


def check_overrides(record: Record) -> None:
    """RecordError where a record brings parameters that a metric does not take."""
    for name, parameters in record.overrides.items():
        try:
            metrics.find(name)().overridden(parameters)
        except ConfigError as error:
            raise RecordError(record.where, str(error), field=name) from error


def prices_of(spec: RunSpec, judges: Mapping[str, Judge]) -> PriceBook:
    """The price book with the prices that the configuration gives for judges of its own."""
    return PriceBook({judge.id: price for name, judge in judges.items() if (price := spec.judges[name].price)})


class Takeover(Protocol):
    """An earlier run, of which results may be taken over."""

    def result(self, position: int, record: Record, metrics: Sequence[tuple[Metric, str]]) -> Weighed | None:
        """The record's result if it can be taken over as it is."""
        ...


def jobs_of(source: Source, plan: Plan, earlier: Takeover | None = None) -> Iterator[Job]:
    """What is done with each record; a result of an ``earlier`` run may stand for it."""
    for job in _all_jobs(source, plan):
        done = earlier.result(job.position, job.record, job.metrics) if earlier and job.record else None
        yield job if done is None else replace(job, done=done)


def _all_jobs(source: Source, plan: Plan) -> Iterator[Job]:
    base = tuple((metric, plan.signature(metric)) for metric in plan.metrics)
    for position, record in enumerate(source, 1):
        if isinstance(record, SetAside):
            yield Job(position, record.id, None, error=record.error)
        elif record.overrides:
            changed = tuple(metric.overridden(record.overrides.get(metric.name, NOTHING)) for metric in plan.metrics)
            yield Job(position, record.id, record, tuple((m, plan.signature(m, record)) for m in changed))
        elif record.nuggets is not None and not plan.given:  # some records bring a bank, and some do not
            yield Job(position, record.id, record, tuple((m, plan.signature(m, record)) for m in plan.metrics))
        else:
            yield Job(position, record.id, record, base)

"""Which judges answer which step."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ragstone.errors import ConfigError
from ragstone.judges.base import Backend, Call, Judge, Shared, lacks, refusal_of
from ragstone.judges.cascade import Calibrated, SureBand
from ragstone.judges.panel import Aggregate
from ragstone.metrics.base import Metric
from ragstone.questions import GRADE_0_3, TASKS, Question, Rate, Task, Trace, Write
from ragstone.signature import signature
from ragstone.types import Passage

ALONE: Final[Mapping[Task, str]] = MappingProxyType(
    {"claims": "extract claims", "nuggetize": "create nuggets", "trace": "mark sentences"}
)
"""Steps that need a single judge because the answers of two cannot be combined, with what each step does."""


ABOUT_PASSAGES: Final[tuple[Task, ...]] = ("support", "response_support")
"""Steps whose prompts share a prefix if the passages are the same."""


class Route(Struct, frozen=True):
    """The judges of one step: a single judge, a panel and how to combine its verdicts, or a cascade.

    In a cascade, each judge is asked what the previous ones are not confident of. ``error`` is their accepted error
    rate; None if this is not a cascade.
    """

    judges: tuple[Judge, ...]
    aggregate: Aggregate = "mean"
    weights: Mapping[str, float] | None = None
    error: float | None = None

    def bands(self, task: Task) -> list[SureBand]:
        """Return the confident bands of all judges of a cascade except the last."""
        return [band for judge in self.judges[:-1] if (band := self._band(judge, task)) is not None]

    def able(self, task: Task) -> Route:
        """Return the route for this step, without judges that give no confidence for it."""
        if self.error is None:
            return self
        sure = tuple(judge for judge in self.judges[:-1] if self._band(judge, task) is not None)
        return replace(self, judges=(*sure, self.judges[-1]), error=self.error if sure else None)

    def _band(self, judge: Judge, task: Task) -> SureBand | None:
        if self.error is None or task in ALONE or not isinstance(judge, Calibrated):
            return None
        return judge.band(task, self.error)


class Routes(Struct, frozen=True):
    """The judges of every step; a step that is not listed goes to ``default``."""

    default: Route
    steps: Mapping[Task, Route]
    asked: tuple[Task, ...] = TASKS
    """The steps that the run's metrics may ask, once per metric; judges of other steps are not opened."""

    def in_use(self) -> tuple[Route, ...]:
        """Return the routes of the steps in use, each once."""
        return tuple({id(route): route for route in map(self.of, self.asked)}.values())

    def shared(self, call: Call) -> Shared | None:
        """Return the call's shared prefix, or None if no other call of the run is known to share it."""
        if call.shared is None or call.shared.sure:
            return call.shared
        others = call.task in ABOUT_PASSAGES and sum(task in ABOUT_PASSAGES for task in self.asked) > 1
        return call.shared if others else None

    def cascading(self) -> bool:
        """Return whether any step in use has a cascade."""
        return any(route.error is not None for route in self.in_use())

    def of(self, task: Task) -> Route:
        """Return the route of a step."""
        return self.steps.get(task, self.default)

    def judges(self) -> tuple[Judge, ...]:
        """Return every judge that may be asked, each once."""
        return tuple({id(judge): judge for route in self.in_use() for judge in route.judges}.values())

    def backends(self) -> tuple[Backend, ...]:
        """Return the backends of these judges, each once."""
        return tuple({id(judge.backend): judge.backend for judge in self.judges()}.values())

    def abreast(self) -> int:
        """Return how many records to evaluate concurrently: two per slot of every backend, and a few more."""
        return 2 * sum(backend.concurrency for backend in self.backends()) + 8

    def lacking(self, metric: type[Metric] | Metric, given: Collection[Task] = ()) -> str:
        """Explain why a step of the metric has no suitable judge; empty if each step has one."""
        for task in metric.asks:
            if task in given and task in metric.brings:
                continue
            route = self.of(task)
            for judge in route.judges:
                if not judge.can(task):
                    return f"the judge '{judge.name}' cannot answer the step '{task}'{lacks(judge, task)}"
            if route.error is not None:
                if len(route.able(task).judges) < len(route.judges):
                    sure = ", ".join(repr(judge.name) for judge in route.judges[:-1])
                    return f"no cascade for the step '{task}': {sure} has no calibrated confidence; give it one judge"
                continue
            if task in ALONE and len(route.judges) > 1:
                return f"a panel can rate but not {ALONE[task]}; give the step one judge, as in --judge {task}=embedded"
        return ""

    def check(self, metric: Metric, given: Collection[Task] = ()) -> None:
        """Raise ConfigError if a step of the metric has no judge that can answer it.

        Steps in ``given`` are skipped because every record brings their answer.
        """
        refused = (
            refusal
            for task in metric.asks
            for judge in self.of(task).judges
            for sample in _samples(task, metric)
            if (refusal := refusal_of(judge, sample))
        )
        if reason := self.lacking(metric, given) or next(refused, ""):
            raise ConfigError(f"{metric.name}: {reason}")


def signature_of(metric: Metric, routes: Routes, given: Mapping[Task, str] | None = None, lang: str = "") -> str:
    """Return the signature of a metric: its changed parameters, and the judge of each step.

    ``given`` names what replaces the judge of a step whose answer the records bring, such as ``gold#81be0c``.
    ``lang`` is the language of the prompts; empty for English.
    """
    changed = {name: value for name, value in metric.changed().items() if name not in metric.unsigned}
    steps = []
    for task in metric.asks:
        if given and task in given and task in metric.brings:
            steps.append((task, given[task]))
            continue
        route = routes.of(task)
        samples = [replace(sample, lang=sample.lang or lang) for sample in _samples(task, metric)]
        who = [f"{judge.id}+{'+'.join(judge.maker(sample) for sample in samples)}" for judge in route.judges]
        if route.error is not None:
            sure = [f"{one}@{route.error:g}[{band}]" for one, band in zip(who, route.bands(task), strict=False)]
            steps.append((task, ">".join([*sure, who[-1]])))
            continue
        steps.append((task, who[0] if len(who) == 1 else f"[{','.join(who)}]{route.aggregate}{_weights(route)}"))
    return signature(metric.name, {**changed, **metric.made_with()}, steps)


def _weights(route: Route) -> str:
    weights = route.weights or {}
    return "".join(f"*{weights.get(judge.name, 1.0):g}" for judge in route.judges) if weights else ""


def _samples(task: Task, metric: Metric) -> list[Question[Any]]:
    """Return sample questions that cover all prompts of the step."""
    if task == "claims":
        return [Write("claims", "claim", "")]
    if task == "nuggetize":
        passages = (Passage("", "", 1),) if task in metric.brings else ()  # a bank is created from passages
        return [Write("nuggetize", "nugget", "", passages=passages)]
    if task == "trace":
        return [Trace("trace", "", (), ())]
    temperature = getattr(metric, "temperature", None)
    written: list[Question[Any]] = [Write(task, "step", "")] if metric.writes else []
    rated = [
        Rate(task, (), scale, wording=wording, temperature=temperature)
        for scale in metric.scales.get(task) or (getattr(metric, "scale", GRADE_0_3),)
        for wording in metric.wordings
    ]
    return [*written, *rated]

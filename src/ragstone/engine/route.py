"""Which judges answer which step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragstone.errors import ConfigError
from ragstone.judges.base import Judge
from ragstone.judges.panel import Aggregate
from ragstone.metrics.base import Metric
from ragstone.questions import GRADE_0_3, TASKS, Question, Rate, Task, Write
from ragstone.signature import signature


@dataclass(frozen=True, slots=True)
class Route:
    """The judges of one step: one, or a panel with how its verdicts are put together."""

    judges: tuple[Judge, ...]
    aggregate: Aggregate = "mean"
    weights: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Routes:
    """Every step's judges. A step that is not named goes to ``default``."""

    default: Route
    steps: Mapping[Task, Route]
    asked: tuple[Task, ...] = TASKS
    """The steps that the metrics of the run may ask; the judges of others are not opened."""

    def in_use(self) -> tuple[Route, ...]:
        """The routes of the steps that are asked, each once."""
        return tuple({id(route): route for route in map(self.of, self.asked)}.values())

    def of(self, task: Task) -> Route:
        """The route of a step."""
        return self.steps.get(task, self.default)

    def judges(self) -> tuple[Judge, ...]:
        """Every judge that may be asked, each once."""
        return tuple({id(judge): judge for route in self.in_use() for judge in route.judges}.values())

    def check(self, metric: Metric) -> None:
        """ConfigError, by name, when a step of the metric has no judge that can answer it."""
        for task in metric.asks:
            route = self.of(task)
            for judge in route.judges:
                if not judge.can(task):
                    raise ConfigError(f"{metric.name}: the judge '{judge.name}' cannot answer the step '{task}'")
            if task == "claims" and len(route.judges) > 1:
                raise ConfigError("a panel can rate but not write: give the step 'claims' one judge")


def signature_of(metric: Metric, routes: Routes) -> str:
    """How this metric's scores are made: its parameters that are not defaults, and who answers each step."""
    changed = {name: value for name, value in metric.changed().items() if name not in metric.unsigned}
    steps = []
    for task in metric.asks:
        route = routes.of(task)
        samples = [_sample(task, metric, wording) for wording in metric.wordings]
        who = [f"{judge.id}+{'+'.join(judge.maker(sample) for sample in samples)}" for judge in route.judges]
        steps.append((task, who[0] if len(who) == 1 else f"[{','.join(who)}]{route.aggregate}{_weights(route)}"))
    return signature(metric.name, changed, steps)


def _weights(route: Route) -> str:
    weights = route.weights or {}
    return "".join(f"*{weights.get(judge.name, 1.0):g}" for judge in route.judges) if weights else ""


def _sample(task: Task, metric: Metric, wording: int) -> Question[Any]:
    """A question of the step that is enough to name its prompt by."""
    if task == "claims":
        return Write("claims", "claim", "", ())
    return Rate(task, (), GRADE_0_3, wording=wording, temperature=getattr(metric, "temperature", None))

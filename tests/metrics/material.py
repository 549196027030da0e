"""Records and a way to weigh one, for tests of metrics without any engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragstone.judges.base import Failed
from ragstone.metrics import find
from ragstone.metrics.base import Metric
from ragstone.questions import TASKS, Answer, Question, Write
from ragstone.testing import drive
from ragstone.types import Passage, Record, Score

Script = Callable[[Question[Any]], Any] | Mapping[Any, Any]

QUESTION = "What kettle is it?"
RESPONSE = "The kettle is steel. It boils fast. It costs ten."
REFERENCE = "The kettle is steel and boils water in two minutes."
CONTEXTS = ("The kettle is made of steel.", "Water boils in it within two minutes.")


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(f"p{rank}", text, rank) for rank, text in enumerate(texts, 1))


def record(
    response: str | None = RESPONSE,
    *contexts: str,
    question: str | None = QUESTION,
    no_contexts: bool = False,
    **more: Any,
) -> Record:
    """A record that has everything; contexts as texts."""
    texts = contexts or CONTEXTS
    more.setdefault("reference", REFERENCE)
    return Record("r", question=question, response=response, contexts=None if no_contexts else passages(*texts), **more)


def metric(name: str = "grounding", **parameters: Any) -> Metric:
    """A metric by its name, with parameters."""
    return find(name)().with_parameters(parameters)


def made(name: str) -> Metric:
    """A metric by its name, with what it cannot do without."""
    return metric(name, criteria={"x": {"criterion": "So?"}}) if find(name)().unset() else metric(name)


def weigh(metric: Metric, about: Record, script: Script) -> tuple[Any, list[Any]]:
    """The score of a metric, the first of its columns where it has several, and every question that it asked.

    Columns that have no verdicts to stand on must agree on that.
    """
    scores, asked = drive(metric.flow(about), script)
    assert tuple(score.metric for score in scores) == tuple(map(metric.score_name, metric.gives()))
    if not scores[0].verdicts and metric.asks:
        assert len({(_goodness(metric, score), score.status, score.reason) for score in scores}) == 1
    return scores[0], asked


def _goodness(metric: Metric, score: Score) -> float | None:
    lower = score.value is not None and score.metric.partition(".")[2] in metric.lower_is_better
    return 1 - (score.value or 0.0) if lower else score.value


def columns(metric: Metric, about: Record, script: Script) -> tuple[dict[str, Any], list[Any]]:
    """The scores of a metric by their column, the metric's own name where it has none, and what was asked."""
    scores, asked = drive(metric.flow(about), script)
    assert tuple(score.metric for score in scores) == tuple(map(metric.score_name, metric.gives()))
    return {score.metric.partition(".")[2] or score.metric: score for score in scores}, asked


def nobody(question: Any) -> Answer:
    """A script for metrics that must ask nothing."""
    raise AssertionError(f"asked for nothing: {question}")


def claims(labels: Sequence[str | None]) -> Script:
    """A script that writes a claim for each label and judges it so."""
    written = [f"Claim {n}." for n in range(len(labels))]
    return lambda question: written if isinstance(question, Write) else list(labels)


class Writer:
    """A script that writes one list of nuggets a question while there are any, weighs them and labels them."""

    def __init__(self, *lists: Any, importance: Any = "okay", vital: Sequence[str] = (), labels: Any = "support"):
        self.lists, self.importance, self.vital, self.labels = list(lists), importance, vital, labels

    def __call__(self, question: Any) -> Any:
        if isinstance(question, Write):
            return self.lists.pop(0) if self.lists else []
        if question.task == "importance" and self.vital:
            return ["vital" if unit.text in self.vital else "okay" for unit in question.units]
        return self.importance if question.task == "importance" else self.labels


DOWN = Failed("the endpoint is down")
EVERYTHING_DOWN = dict.fromkeys(TASKS, DOWN)

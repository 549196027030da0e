"""A judge that answers from a script, and a driver that runs one metric by hand.

Both accept answers in the same short forms:

- to a ``Rate``: one label for all units; a sequence of labels in the order of the units, repeated if it is shorter; or
  a mapping from a unit's text to its label (missing units stay unjudged);
- to a ``Write``: a text, or a sequence of texts, one per unit;
- to a ``Trace``: a mapping with ``relevant`` and ``utilized`` (keys of context sentences; None if not given) and
  ``support``, which maps the key of a response sentence to the keys that support it. A sentence with any keys is
  supported; a sentence that is not in the mapping is unjudged;
- to any question: a complete ``Rated``, ``Written`` or ``Traced``, or ``Failed(reason)`` for no answer.

A unit stays unjudged if its label is None or not on the scale.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec import convert, to_builtins

from ragstone.errors import BackendError
from ragstone.judges.base import Call, Dialogue, Failed, Reply, Usage
from ragstone.questions import (
    TASKS,
    YES_NO,
    Answer,
    Question,
    Rate,
    Rated,
    Task,
    Trace,
    Traced,
    Write,
    Written,
    key_of,
)
from ragstone.types import TRIVIAL, Scale, Span, Unit, Verdict

R = TypeVar("R")
Labels = str | Sequence[str | None] | Mapping[str, Any]
Script = Callable[[Question[Any]], Answer | Labels | Failed] | Mapping[Task, Answer | Labels | Failed]
"""The answers: a function of the question, or a mapping by task."""

NO_SCRIPT: Final = "the script has no answer to this question"


def drive(
    flow: Generator[Sequence[Question[Any]], Sequence[Answer], R], script: Script
) -> tuple[R, list[Question[Any]]]:
    """Run a metric's flow to its end; return its result (the scores) and every question that it asked."""
    asked: list[Question[Any]] = []
    try:
        questions = next(flow)
        while True:
            asked.extend(questions)
            questions = flow.send([scripted_answer(question, script) for question in questions])
    except StopIteration as stop:
        result: R = stop.value
        return result, asked


def scripted_answer(question: Question[Any], script: Script, *, judge: str = "scripted") -> Answer:
    """Return the script's answer to a question."""
    return _answer(question, _look_up(question, script), judge)


class ScriptedJudge:
    """A judge without a network: it answers from the script, and runs in the engine like any other judge.

    ``asked`` has the questions that it received, in order. It answers only ``tasks``. ``version`` is part of the
    store's keys: change it if the script changes and the store is kept.
    """

    model = "scripted"
    provider = "scripted"

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        tasks: Collection[Task] = TASKS,
        version: str = "1",
        concurrency: int = 64,
    ) -> None:
        self.name = name
        self.id = name
        self.script = script
        self.tasks = frozenset(tasks)
        self.version = version
        self.asked: list[Question[Any]] = []
        self.backend = ScriptedBackend(self, concurrency)

    def can(self, task: Task) -> bool:
        """Return whether the judge answers the task."""
        return task in self.tasks

    def maker(self, question: Question[Any]) -> str:  # noqa: ARG002 - the protocol's signature
        """Return the script's version."""
        return f"script.v{self.version}"

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """Make one call for the question, then return its answer."""
        body = json.dumps({"shape": type(question).__name__, **to_builtins(question)}, sort_keys=True).encode()
        units = len(question.units) if isinstance(question, Rate) else 1
        call = Call(self.id, question.task, self.maker(question), body, units, repeat)
        self.backend.expected[call.key] = question
        (reply,) = yield (call,)
        if isinstance(reply, Failed):
            return _answer(question, reply, self.id)
        return convert(json.loads(reply.text), _ANSWERS[type(question)])


class ScriptedBackend:
    """The backend of a ``ScriptedJudge``. It evaluates the script only on a call, so stored replies do not need it.

    ``Failed`` in the script is raised as a ``BackendError`` that is not retried. The script may also raise its own
    ``BackendError``, to test how the engine handles a retryable or fatal one.
    """

    free = True
    timeout: float | None = None

    def __init__(self, judge: ScriptedJudge, concurrency: int) -> None:
        self.judge = judge
        self.concurrency = concurrency
        self.expected: dict[bytes, Question[Any]] = {}
        self.opened = 0
        self.closed = 0

    async def open(self) -> None:
        """Count the call; there is nothing to open."""
        self.opened += 1

    async def send(self, call: Call) -> Reply:
        """Return the scripted answer as JSON."""
        question = self.expected[call.key]
        self.judge.asked.append(question)
        found = _look_up(question, self.judge.script)
        if isinstance(found, Failed):
            raise BackendError(found.reason, judge=self.judge.id)
        text = json.dumps(to_builtins(_answer(question, found, self.judge.id)))
        return Reply(text, usage=Usage(input=len(call.body) // 4, output=len(text) // 4))

    async def close(self) -> None:
        """Count the call; there is nothing to close."""
        self.closed += 1


def _look_up(question: Question[Any], script: Script) -> Answer | Labels | Failed:
    if isinstance(script, Mapping):
        return script.get(question.task, Failed(NO_SCRIPT))
    return script(question)


def _answer(question: Question[Any], found: Answer | Labels | Failed, judge: str) -> Answer:
    if isinstance(found, Rated | Written | Traced):
        if isinstance(found, Rated) and isinstance(question, Rate) and len(found.verdicts) != len(question.units):
            raise ValueError(f"the script has {len(found.verdicts)} verdicts for {len(question.units)} units")
        return found
    if isinstance(question, Trace):
        return _traced(question, found, judge)
    if isinstance(question, Write):
        if isinstance(found, Failed):
            return Written((), found.reason)
        texts = [found] if isinstance(found, str) else [text for text in found if text is not None]
        return Written(tuple(_written(text, n, question) for n, text in enumerate(texts, 1)))
    assert isinstance(question, Rate), f"cannot answer a {type(question).__name__}"
    return Rated(
        tuple(_verdict(unit, n, found, question.scale_of(unit), judge) for n, unit in enumerate(question.units))
    )


def _traced(question: Trace, found: Labels | Failed, judge: str) -> Traced:
    if isinstance(found, Failed):
        verdicts = tuple(Verdict(unit, None, None, judge, failure=found.reason) for unit in question.response)
        return Traced(None, None, verdicts, ((),) * len(verdicts), failure=found.reason)
    assert isinstance(found, Mapping), "a trace is a mapping with relevant, utilized and support"
    support = found.get("support", {})
    rows = [(unit, support.get(key_of(unit))) for unit in question.response]
    return Traced(
        relevant=None if found.get("relevant") is None else tuple(found["relevant"]),
        utilized=None if found.get("utilized") is None else tuple(found["utilized"]),
        verdicts=tuple(
            _verdict(unit, 0, None if keys is None else "yes" if keys else "no", YES_NO, judge) for unit, keys in rows
        ),
        support=tuple(tuple(keys or ()) for _, keys in rows),
    )


def _written(text: str, number: int, question: Write) -> Unit:
    """Return the unit of a written text, located where it occurs verbatim, else at the part's first sentence."""
    for sentence in question.sentences:
        start = sentence.text.find(text)
        if start >= 0:
            base = sentence.span.start if sentence.span is not None else 0
            span = Span(base + start, base + start + len(text))
            return Unit(f"claim/{number}", question.level, text, span, sentence.id, part=question.part)
    first = question.sentences[0] if question.sentences else None
    return Unit(
        f"claim/{number}", question.level, text, first.span if first else None, first.id if first else None,
        part=question.part,
    )  # fmt: skip


def _verdict(unit: Unit, number: int, found: Labels | Failed | None, scale: Scale, judge: str) -> Verdict:
    if isinstance(found, Failed):
        return Verdict(unit, None, None, judge, failure=found.reason)
    if isinstance(found, Mapping):
        label = found.get(unit.text)
    elif found is None or isinstance(found, str):
        label = found
    else:
        label = found[number % len(found)] if found else None
    if label is None:
        return Verdict(unit, None, None, judge, failure="the script leaves it unjudged")
    if label == TRIVIAL:
        return Verdict(unit, TRIVIAL, None, judge)
    if label not in scale.labels:
        wrong = f"the script's label {label!r} is not on the scale {scale.name}: {', '.join(scale.labels)}"
        return Verdict(unit, None, None, judge, failure=wrong)
    return Verdict(unit, label, scale.value(label), judge, raw=scale.raw(label))


_ANSWERS: Final[Mapping[type[Question[Any]], type[Answer]]] = {Rate: Rated, Trace: Traced, Write: Written}
"""The type of answer to each type of question."""

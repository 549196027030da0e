"""The judge that asks a language model: question to prompt, completion to verdicts.

Promises: nothing here waits or sends; a label is given to the unit whose number it stands under or to none;
a reply that cannot be read is asked about once more, for the missing units only, and after that they are
unjudged with the reason; a cut-off reply is asked again with twice the room instead of being mended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

import orjson

from ragstone import prompts
from ragstone.errors import TemplateError
from ragstone.judges.base import Backend, Call, Dialogue, Failed, Replies, Reply
from ragstone.judges.readings import Manner, Reading, read_rate, read_units
from ragstone.judges.schemas import keyed_schema, rate_schema, trace_schema, verdict_tokens, write_schema
from ragstone.judges.spec import Structured
from ragstone.judges.tracing import Labelling, halved, pieces, read_trace, traced
from ragstone.parsing import Format
from ragstone.prompts import Template
from ragstone.prompts.choice import Choice
from ragstone.prompts.material import form_of, rate_variables, trace_variables, write_variables
from ragstone.questions import TASKS, Question, Rate, Rated, Readout, Task, Trace, Write, Written
from ragstone.types import NOTHING, Scale, Unit

ANSWERS: Final[frozenset[Task]] = frozenset(TASKS)
MAX_TOKENS: Final = 4096
REPEATED: Final = 20_000
"""Characters of a reply that are said again before a repair turn."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is sent along with every prompt.

    ``temperature`` is used where the question wants none of its own; None sends none at all, so that the
    endpoint's own default holds. ``extra`` goes into the request as is
    (seed, reasoning effort, a provider's own fields). ``structured`` says whether a JSON schema is sent along where
    the answer's form has one. ``choice`` are the prompts and the format of labels; with ``case_sensitive`` only the
    exact words of a scale are labels. ``context`` is how many tokens of material the model takes at once (0: not
    known), for what can be asked in pieces.
    """

    model: str
    temperature: float | None = 0.0
    max_tokens: int = MAX_TOKENS
    structured: Structured = "auto"
    context: int = 0
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING, hash=False)
    choice: Choice = field(default_factory=Choice)
    case_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class _Batch:
    """Some units of a question with the call that asks about them."""

    units: tuple[Unit, ...]
    call: Call


class PromptedJudge:
    """A language model behind a backend."""

    def __init__(self, name: str, identity: str, provider: str, settings: Settings, backend: Backend) -> None:
        self.name = name
        self.id = identity
        self.model = settings.model
        self.provider = provider
        self.settings = settings
        self.backend = backend
        self._templates: dict[tuple[str, str], tuple[Template, Format]] = {}

    def can(self, task: Task) -> bool:
        """Every task that has a prompt."""
        return task in ANSWERS

    def maker(self, question: Question[Any]) -> str:
        """The prompt's id with its hash, the format of labels, and the sampling that matters."""
        made = self._maker(question)
        return f"{made},exact" if self.settings.case_sensitive and isinstance(question, Rate) else made

    def _maker(self, question: Question[Any]) -> str:
        """What makes the calls: all that changes a request, and nothing of how its reply is read."""
        temperature = self._temperature(question)
        sampling = "" if temperature is None else f",t={temperature:g}"
        if self.settings.max_tokens != MAX_TOKENS:
            sampling += f",max={self.settings.max_tokens}"
        if self.settings.extra:
            extra = orjson.dumps(dict(self.settings.extra), option=orjson.OPT_SORT_KEYS)
            sampling += f",x#{hashlib.blake2b(extra, digest_size=3).hexdigest()}"
        template, fmt = self._template(question)
        form = "" if fmt == "object" else f"/{fmt}#{prompts.shape(fmt, template.language).digest[:4]}"
        return template.id + form + sampling

    def _template(self, question: Question[Any]) -> tuple[Template, Format]:
        """The prompt and the format of labels; TemplateError when what was chosen cannot be used."""
        at = (question.task, form_of(cast("Rate | Write | Trace", question)))
        if at not in self._templates:
            template, fmt = self.settings.choice.template(*at)
            if self.settings.structured == "schema" and not _has_schema(template, fmt):
                raise TemplateError(
                    f"structured = schema: the prompt '{template.name}' of the step '{at[0]}' with the format '{fmt}' "
                    "has no schema; keyed has one where no reasoning block is asked for, and so has the default prompt"
                )
            self._templates[at] = template, fmt
        return self._templates[at]

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """Ask in batches, read the replies, ask once more for what is missing."""
        if isinstance(question, Rate):
            return (yield from self._rate(question, repeat))
        if isinstance(question, Trace):
            return (yield from self._trace(question, repeat))
        assert isinstance(question, Write)
        return (yield from self._write(question, repeat))

    # ---- rating

    def _rate(self, question: Rate, repeat: int) -> Dialogue:
        template, fmt = self._template(question)
        block = bool(template.gives) and fmt != "object"
        manner = Manner(self.id, template.wording, fmt, block=block, exact=self.settings.case_sensitive)
        batches = self._batches(question, template, fmt, repeat)
        replies = yield [batch.call for batch in batches]
        readings = [
            read_rate(question, batch.units, reply, manner) for batch, reply in zip(batches, replies, strict=True)
        ]
        readouts = [
            _readout(batch.call, template, fmt, reading, len(batch.units))
            for batch, reading in zip(batches, readings, strict=True)
        ]
        again = [
            self._again(question, template, fmt, batch, reading, repeat)
            for batch, reading in zip(batches, readings, strict=True)
        ]
        second: Replies = ()
        if any(again):
            second = yield [call for call in again if call is not None]
        answers: Iterator[Reply | Failed] = iter(second)
        for batch, reading, call in zip(batches, readings, again, strict=True):
            if call is not None:
                asked = list(reading.missing)
                later = read_rate(question, batch.units, next(answers), manner, asked)
                readouts.append(replace(_readout(call, template, fmt, later, len(asked)), repair=True))
                reading.add(later)
        verdicts = [
            verdict
            for batch, reading in zip(batches, readings, strict=True)
            for verdict in reading.verdicts(batch.units, self.id)
        ]
        return Rated(tuple(verdicts), " ".join(r.summary for r in readings if r.summary), tuple(readouts))

    def _batches(self, question: Rate, template: Template, fmt: Format, repeat: int) -> list[_Batch]:
        batches: list[_Batch] = []
        most = self._most(question, template)
        for start in range(0, len(question.units), most):
            units = question.units[start : start + most]
            messages = template.render(rate_variables(question, units, fmt, template.language))
            schema = self._schema(question, template, fmt, range(1, len(units) + 1))
            batches.append(_Batch(units, self._call(question, messages, schema, repeat, len(units))))
        return batches

    def _most(self, question: Rate, template: Template) -> int:
        """The most units of one call: as many as the question wants, else as the prompt takes and a reply has room for.

        Half of the room is kept, since some verdicts are twice as long as is usual.
        """
        room = self.settings.max_tokens // (2 * verdict_tokens(question))
        return question.batch or max(1, min(template.batch, room))

    def _schema(
        self, question: Rate, template: Template, fmt: Format, numbers: Iterable[int]
    ) -> orjson.Fragment | None:
        if self.settings.structured == "off" or not _has_schema(template, fmt):
            return None
        if fmt == "keyed":
            return keyed_schema(tuple(numbers), question.scale, question.skippable)
        return rate_schema(tuple(numbers), *_shape(question))

    def _again(
        self, question: Rate, template: Template, fmt: Format, batch: _Batch, reading: Reading, repeat: int
    ) -> Call | None:
        if not reading.missing or reading.unreachable:
            return None
        if reading.cut_off:
            schema = self._schema(question, template, fmt, range(1, len(batch.units) + 1))
            return self._call(question, _messages(batch.call), schema, repeat, len(batch.units), twice=True)
        all_missing = len(reading.missing) == len(batch.units)
        turn = _repair_turn(
            "default" if fmt == "object" else "labels", template.language, reading.problem,
            () if all_missing and fmt != "object" else reading.missing,
            **({} if fmt == "object" else {"positional": fmt in prompts.POSITIONAL, "n": len(batch.units)}),
        )  # fmt: skip
        messages = _followed(batch.call, reading.reply, turn)
        schema = self._schema(question, template, fmt, reading.missing)
        return self._call(question, messages, schema, repeat, len(reading.missing))

    # ---- writing

    def _write(self, question: Write, repeat: int) -> Dialogue:
        template, _ = self._template(question)
        schema = write_schema(question.level, len(question.sentences)) if self._schemas else None
        call = self._call(question, template.render(write_variables(question)), schema, repeat, 1)
        (reply,) = yield [call]
        read = read_units(question, reply, template.wording)
        readouts = [_whole_readout(call, template, reply, read)]
        if isinstance(read, str) and isinstance(reply, Reply) and reply.finish != "content_filter":
            if reply.finish == "length":
                call = self._call(question, _messages(call), schema, repeat, 1, twice=True)
            else:
                turn = _repair_turn("default", template.language, read, ())
                messages = _followed(call, reply.text, turn)
                call = self._call(question, messages, schema, repeat, 1)
            (reply,) = yield [call]
            read = read_units(question, reply, template.wording)
            readouts.append(replace(_whole_readout(call, template, reply, read), repair=True))
        if isinstance(read, str):
            return Written((), read, tuple(readouts))
        return Written(read, readouts=tuple(readouts))

    # ---- tracing

    def _trace(self, question: Trace, repeat: int) -> Dialogue:
        """Label in as few pieces as the model takes, halving what is too long; ask once more for what is missing."""
        template, _ = self._template(question)
        waiting = pieces(question, self.settings.context)
        done: list[tuple[Call, Labelling]] = []
        readouts: list[Readout] = []
        while waiting:
            calls = [
                self._call(part, template.render(trace_variables(part)), self._trace_schema(part), repeat, 1)
                for part in waiting
            ]
            replies = yield calls
            shorter: list[Trace] = []
            for part, call, reply in zip(waiting, calls, replies, strict=True):
                halves = halved(part) if isinstance(reply, Failed) and reply.too_long else None
                if halves:
                    shorter += halves
                else:
                    done.append((call, read_trace(part, reply, template.wording)))
                    readouts.append(_whole_readout(call, template, reply, done[-1][1].problem))
            waiting = shorter
        again = [(labelling, self._label_again(call, labelling, template, repeat)) for call, labelling in done]
        asked = [(labelling, call) for labelling, call in again if call is not None]
        if asked:
            replies = yield [call for _, call in asked]
            for (labelling, call), reply in zip(asked, replies, strict=True):
                only = labelling.missing if _only_sentences(labelling) else ()
                later = read_trace(labelling.part, reply, template.wording, only)
                readouts.append(replace(_whole_readout(call, template, reply, later.problem), repair=True))
                labelling.add(later)
        order = {unit.id: place for place, unit in enumerate(question.sentences)}
        labellings = sorted((labelling for _, labelling in done), key=lambda one: order[one.part.sentences[0].id])
        return replace(traced(question, labellings, self.id), readouts=tuple(readouts))

    def _label_again(self, call: Call, labelling: Labelling, template: Template, repeat: int) -> Call | None:
        if labelling.whole or labelling.unreachable:
            return None
        part = labelling.part
        if labelling.cut_off:
            return self._call(part, _messages(call), self._trace_schema(part), repeat, 1, twice=True)
        only = labelling.missing if _only_sentences(labelling) else []
        turn = _repair_turn("trace", template.language, labelling.problem, only)
        messages = _followed(call, labelling.reply, turn)
        return self._call(part, messages, self._trace_schema(part, only), repeat, 1)

    def _trace_schema(self, part: Trace, only: Sequence[str] = ()) -> orjson.Fragment | None:
        return trace_schema(part, only) if self._schemas else None

    @property
    def _schemas(self) -> bool:
        return self.settings.structured != "off"

    # ---- calls

    def _call(
        self,
        question: Question[Any],
        messages: Sequence[dict[str, str]],
        schema: orjson.Fragment | None,
        repeat: int,
        units: int,
        *,
        twice: bool = False,
    ) -> Call:
        body: dict[str, Any] = {"model": self.settings.model, "messages": messages}
        temperature = self._temperature(question)
        if temperature is not None:
            body["temperature"] = temperature
        extra = self.settings.extra
        limit = "max_completion_tokens" if "max_completion_tokens" in extra else "max_tokens"
        body[limit] = self.settings.max_tokens
        body.update(extra)
        if twice:  # whichever limit holds: the user's own too
            body[limit] = 2 * body[limit] if isinstance(body[limit], int) else 2 * self.settings.max_tokens
        if schema is not None:
            body["response_format"] = schema
        # orjson gives back its working buffer, many times the size of what is in it; a call is kept for a while.
        exact = memoryview(orjson.dumps(body)).tobytes()
        return Call(self.id, question.task, self._maker(question), exact, units, repeat)

    def _temperature(self, question: Question[Any]) -> float | None:
        wanted = question.temperature if isinstance(question, Rate) else None
        if self.settings.temperature is None or wanted is None:
            return self.settings.temperature
        return wanted


def _shape(question: Rate) -> tuple[Scale, bool, str, bool, bool]:
    summary = question.reasons and question.task != "response_support"  # one unit: its reason says it all
    evidence = "" if not question.evidence else "words" if question.task == "assign" else "quotes"
    return question.scale, question.skippable, evidence, question.reasons, summary


def _messages(call: Call) -> list[dict[str, str]]:
    """The messages of a call, for the few that are asked again: not kept beside the request for all the others."""
    messages: list[dict[str, str]] = orjson.loads(call.body)["messages"]
    return messages


def _followed(call: Call, reply: str, turn: dict[str, str]) -> list[dict[str, str]]:
    """The messages of a call, what was answered, and what is said to that."""
    return [*_messages(call), {"role": "assistant", "content": reply[:REPEATED]}, turn]


def _repair_turn(name: str, language: str, problem: str, missing: Sequence[int | str], **more: Any) -> dict[str, str]:
    """What is said after an answer that cannot be used as it stands."""
    template = prompts.repair(name, language)
    return template.render({"problem": problem, "missing": list(missing), **more})[1]


def _has_schema(template: Template, fmt: Format) -> bool:
    """Whether the whole reply is one JSON object: no reasoning block stands before it."""
    return fmt == "object" or (fmt == "keyed" and not template.gives)


def _only_sentences(labelling: Labelling) -> bool:
    return labelling.relevant is not None and labelling.utilized is not None


def _readout(call: Call, template: Template, fmt: Format, reading: Reading, asked: int) -> Readout:
    return Readout(
        call.key.hex(), template.name, fmt, reading.reader, reading.status, asked - len(reading.missing), asked,
        error=reading.problem,
    )  # fmt: skip


def _whole_readout(call: Call, template: Template, reply: Reply | Failed, read: object) -> Readout:
    """How a reply was read that is one object; ``read`` says what is wrong with it, if it is a text."""
    problem = read if isinstance(read, str) else ""
    finish = reply.finish if isinstance(reply, Reply) else "failed"
    status = {"length": "cut_off", "content_filter": "withheld", "failed": "failed"}.get(finish)
    status = status or ("format_error" if problem else "ok")
    reader = "object" if status == "ok" else ""
    return Readout(call.key.hex(), template.name, "object", reader, status, int(not problem), 1, error=problem)

"""A judge that asks a language model: questions become prompts, completions become verdicts.

Guarantees: this module does no I/O. A label is assigned only to the unit with its number. After an unreadable reply,
the missing units are asked about once more; those still missing are unjudged, with the reason. A truncated reply is not
repaired but requested again with twice the limit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import orjson
from msgspec.structs import replace

from ragstone import prompts
from ragstone.errors import TemplateError
from ragstone.judges import schemas
from ragstone.judges.base import Call, Dialect, Dialogue, Failed, Prompt, Reply, Schema, Shared
from ragstone.judges.readings import Ratings, ReplyReading, Setup, UnitList, read_rate, read_units
from ragstone.judges.spec import MAX_TOKENS, Spec
from ragstone.judges.tracing import Labelling, halved, pieces, read_trace, traced
from ragstone.parsing import Format
from ragstone.prompts import Template
from ragstone.prompts.material import form_of, texts_of, variables_of
from ragstone.prompts.packs import Pack, read_pack
from ragstone.questions import ALL, TASKS, Answer, Question, Rate, Rated, Readout, Task, Trace, Write, Written
from ragstone.tokens import SCHEMA_FIRST, usual_tokens
from ragstone.types import Unit

ANSWERS: Final[frozenset[Task]] = frozenset(TASKS)
UNSUMMED: Final = ("response_support", "rubric")
"""Tasks without a summary: they have one unit, or criteria that have nothing in common."""
REPEATED: Final = 20_000
"""Maximum number of characters of a reply that are repeated before a repair turn."""
SCHEMA_LEADS: Final = (*SCHEMA_FIRST, "anthropic")
"""Providers that put the schema before the prompt: since few calls have the same schema, no prefix is shared."""
CACHED: Final = 1024
"""Minimum tokens of a shared prefix: no provider caches a shorter one."""


class _Part(NamedTuple):
    """The part of a question in one call: some units of a ``Rate``, a piece of a ``Trace``, or a ``Write``."""

    question: Rate | Write | Trace
    units: tuple[Unit, ...] = ()

    @property
    def asked(self) -> int:
        return len(self.units) if isinstance(self.question, Rate) else 1


class PromptedJudge:
    """A language model, called through a backend."""

    def __init__(self, spec: Spec, backend: Dialect) -> None:
        self.name = spec.name
        self.id = spec.id
        self.model = spec.model
        self.provider = spec.provider
        self.spec = spec
        self.backend = backend
        self._pack = read_pack(spec.choice.pack) if spec.choice.pack else None
        self._setups: dict[tuple[str, str, str, float | None], Setup] = {}

    def can(self, task: Task) -> bool:
        """Return whether the task has a prompt."""
        return task in ANSWERS

    def maker(self, question: Question[Any]) -> str:
        """Identify the prompt with its hash, the label format and the sampling settings."""
        made = self._setup(question).maker
        return f"{made},exact" if self.spec.case_sensitive and isinstance(question, Rate) else made

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """Ask about each part, split parts that are too long, and ask once more for missing units."""
        setup = self._setup(question)
        done: list[tuple[_Part, ReplyReading]] = []
        readouts: list[Readout] = []
        waiting = self._parts(question, setup)
        several = len(waiting) > 1
        while waiting:
            calls = [self._call(part, setup, repeat, several=several) for part in waiting]
            replies = yield calls
            shorter: list[_Part] = []
            for part, call, reply in zip(waiting, calls, replies, strict=True):
                if halves := _halves(part, reply):
                    shorter += halves
                    continue
                reading = _read(part, setup, reply)
                readouts.append(_readout(call, setup, reading))
                done.append((part, reading))
            waiting = shorter
        again = [
            (part, reading, self._call(part, setup, repeat, reading, several=several))
            for part, reading in done
            if reading.again
        ]
        if again:
            replies = yield [call for _, _, call in again]
            for (part, reading, call), reply in zip(again, replies, strict=True):
                later = _read(part, setup, reply, reading.wanted)
                readouts.append(_readout(call, setup, later)._replace(repair=True))
                reading.add(later)
        return self._answer(question, done, tuple(readouts))

    def _setup(self, question: Question[Any]) -> Setup:
        """Return the settings for the question; raise TemplateError if the chosen prompt cannot be used."""
        spec = self.spec
        wanted = question.temperature if isinstance(question, Rate) else None
        temperature = spec.temperature if spec.temperature is None or wanted is None else wanted
        form = form_of(cast("Rate | Write | Trace", question))
        at = (question.task, form, question.lang, temperature)
        if at not in self._setups:
            template, fmt = spec.choice.template(question.task, form, question.lang)
            if spec.structured == "schema" and not _has_schema(template, fmt, local=spec.preset.local):
                raise TemplateError(
                    f"structured = schema: the prompt '{template.name}' of the step '{question.task}' with the format "
                    f"'{fmt}' has no schema; use the default prompt, or the format keyed without a "
                    "reasoning block"
                )
            maker = template.id
            maker += "" if fmt == "object" else f"/{fmt}#{prompts.shape(fmt, template.language).digest[:4]}"
            maker += "" if temperature is None else f",t={temperature:g}"
            maker += "" if spec.max_tokens == MAX_TOKENS else f",max={spec.max_tokens}"
            if self._pack is not None:
                maker += f",pack={self._pack.name}" + f":{spec.choice.pack_examples}" * bool(spec.choice.pack_examples)
            if spec.extra:
                extra = orjson.dumps(dict(spec.extra), option=orjson.OPT_SORT_KEYS)
                maker += f",x#{hashlib.blake2b(extra, digest_size=3).hexdigest()}"
            block = bool(template.gives) and fmt != "object"
            self._setups[at] = Setup(self.id, template, fmt, temperature, maker, block, spec.case_sensitive)
        return self._setups[at]

    def _parts(self, question: Question[Any], setup: Setup) -> list[_Part]:
        if isinstance(question, Trace):
            return [_Part(piece) for piece in pieces(question, self.spec.context)]
        if isinstance(question, Write):
            return [_Part(question)]
        assert isinstance(question, Rate)
        # Plan for half of the reply's limit, since some verdicts are twice the usual length. On a local server, whose
        # schema bounds every text, plan for the longest possible verdicts.
        room = self.spec.max_tokens // (
            _most(question, setup) if self.spec.preset.local else 2 * schemas.verdict_tokens(question)
        )
        batch = len(question.units) if question.batch == ALL else question.batch
        most = batch or max(1, min(setup.template.batch, room))
        return [_Part(question, question.units[n : n + most]) for n in range(0, len(question.units), most)]

    def _shared(self, part: _Part, messages: Sequence[Mapping[str, str]], code: str, several: bool) -> Shared | None:
        """Return the prompt prefix up to the last passage; None if no other prompt can share it.

        Prompts of other questions can share it if their delimiters have the same ``code``, that of the passages.
        """
        system, user = messages[0]["content"], messages[1]["content"]
        question = part.question
        if not isinstance(question, Rate) or not question.passages or not (several or code in system):
            return None
        last = question.passages[-1].text
        end = user.find("\n", user.find(last) + len(last) + 1) + 1  # including the passage's closing line
        tokens = usual_tokens(system) + usual_tokens(user[:end])
        # The code is a hash of the passages; hashing the prefix itself takes longer than rendering it.
        return Shared(hash((self.id, system, code, end)), end, tokens, several) if tokens >= CACHED else None

    def _call(
        self, part: _Part, setup: Setup, repeat: int, reading: ReplyReading | None = None, *, several: bool
    ) -> Call:
        """Build the first call about a part; with ``reading``, the repair call."""
        variables = variables_of(part.question, setup.format, setup.template.language, part.units)
        messages = setup.template.render(variables)
        if self._pack is not None:
            messages[0]["content"] += f"\n\n{self._pack.section(self._examples(self._pack, part.question))}"
        wanted: Sequence[int | str] = ()
        cut_off = reading is not None and reading.status == "cut_off"
        if reading is not None and not cut_off:
            wanted = reading.wanted
            said = {"role": "assistant", "content": reading.reply[:REPEATED]}
            messages += [said, _repair_turn(part, setup, reading)]
        spec = self.spec
        schema = None if spec.structured == "off" else _schema(part, setup, wanted, local=spec.preset.local)
        most = spec.max_tokens
        if spec.preset.local:  # hosted endpoints reject a bounded schema and are fast enough without one
            schema = schema and schemas.bounded(schema, part.question)
            if most == MAX_TOKENS and isinstance(part.question, Rate) and not (reading and reading.thought):
                most = min(most, schemas.THINKING + part.asked * _most(part.question, setup))
        room = 2 if cut_off else 1
        body = self.backend.prepare(Prompt(spec.model, messages, most, setup.temperature, schema, spec.extra, room))
        units = len(wanted) if wanted and part.units else part.asked
        led = schema is not None and self.provider in SCHEMA_LEADS
        shared = None if led else self._shared(part, messages, variables.get("code", ""), several)
        return Call(self.id, part.question.task, setup.maker, body, units, repeat, shared)

    def _examples(self, pack: Pack, question: Rate | Write | Trace) -> list[int] | None:
        """Return the examples most similar to the question, or to its texts if it is empty; None for all."""
        most = self.spec.choice.pack_examples
        if not most or most >= len(pack.examples):
            return None
        from ragstone.judges.embedded.relevance import nearest  # noqa: PLC0415 - loads its word lists

        return nearest(question.question or " ".join(texts_of(question)), pack.examples, most)

    def _answer(
        self, question: Question[Any], done: Sequence[tuple[_Part, ReplyReading]], readouts: tuple[Readout, ...]
    ) -> Answer:
        if isinstance(question, Trace):
            labellings = [reading for _, reading in done if isinstance(reading, Labelling)]
            order = {unit.id: place for place, unit in enumerate(question.sentences)}
            labellings.sort(key=lambda one: order[one.part.sentences[0].id])
            return replace(traced(question, labellings, self.id), readouts=readouts)
        if isinstance(question, Write):
            ((_, listing),) = done
            assert isinstance(listing, UnitList)
            return Written(() if listing.problem else listing.units, listing.problem, readouts)
        rated = [(part, reading) for part, reading in done if isinstance(reading, Ratings)]
        verdicts = tuple(verdict for part, reading in rated for verdict in reading.verdicts(part.units, self.id))
        return Rated(verdicts, " ".join(reading.summary for _, reading in rated if reading.summary), readouts)


def _most(question: Rate, setup: Setup) -> int:
    """Return the maximum output tokens of a verdict with a bounded schema; without one, three times the usual."""
    if setup.format == "object":
        return schemas.filled_tokens(question)
    return 3 * (schemas.VERDICT if setup.block else schemas.LABEL)


def _read(part: _Part, setup: Setup, reply: Reply | Failed, wanted: Sequence[int | str] = ()) -> Any:
    question = part.question
    if isinstance(question, Rate):
        return read_rate(question, part.units, reply, setup, cast("Sequence[int]", wanted))
    if isinstance(question, Trace):
        return read_trace(question, reply, setup.template.wording, cast("Sequence[str]", wanted))
    return read_units(question, reply, setup.template.wording)


def _schema(part: _Part, setup: Setup, wanted: Sequence[int | str], *, local: bool) -> Schema | None:
    """Return the schema of the answer about the ``wanted`` units; if empty, about the whole part."""
    question = part.question
    if isinstance(question, Trace):
        return schemas.trace_schema(question, cast("Sequence[str]", wanted))
    if isinstance(question, Write):
        return schemas.write_schema(question.level, len(question.sentences))
    if not _has_schema(setup.template, setup.format, local=local):
        return None
    numbers = cast("tuple[int, ...]", tuple(wanted)) or tuple(range(1, len(part.units) + 1))
    if setup.format != "object":
        numbered = numbers if setup.format == "keyed" else len(numbers)
        return schemas.labels_schema(numbered, question.scale, question.skippable)
    summary = question.reasons and question.task not in UNSUMMED
    evidence = "" if not question.evidence else "words" if question.task in schemas.OF_RESPONSE else "quotes"
    scales = tuple(question.scale_of(part.units[number - 1]) for number in numbers)
    return schemas.rate_schema(numbers, scales, question.skippable, evidence, question.reasons, summary)


def _repair_turn(part: _Part, setup: Setup, reading: ReplyReading) -> dict[str, str]:
    """Return the message that asks the model to repair its answer."""
    name, missing, more = "default", list(reading.wanted), {}
    if isinstance(part.question, Trace):
        name = "trace"
    elif isinstance(part.question, Rate) and setup.format != "object":
        name, more = "labels", {"positional": setup.format in prompts.POSITIONAL, "n": len(part.units)}
        missing = [] if len(missing) == len(part.units) else missing
    template = prompts.repair(name, setup.template.language)
    return template.render({"problem": reading.problem, "missing": missing, **more})[1]


def _halves(part: _Part, reply: Reply | Failed) -> list[_Part]:
    """Split a part that was too long for the model; empty if it was not or cannot be split."""
    if not (isinstance(part.question, Trace) and isinstance(reply, Failed) and reply.too_long):
        return []
    return [_Part(half) for half in halved(part.question) or ()]


def _has_schema(template: Template, fmt: Format, *, local: bool) -> bool:
    """Return whether the whole reply is JSON, without a reasoning block; lists count only on a local server."""
    return fmt == "object" or (fmt in ("keyed", *(["json"] if local else [])) and not template.gives)


def _readout(call: Call, setup: Setup, reading: ReplyReading) -> Readout:
    fmt = setup.format if isinstance(reading, Ratings) else "object"
    return Readout(
        call.key.hex(), setup.template.name, fmt, reading.reader, reading.status, call.units - reading.left, call.units,
        error=reading.problem,
    )  # fmt: skip

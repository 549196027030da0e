"""The judge that asks a language model: question to prompt, completion to verdicts.

Promises: nothing here waits or sends; a label is given to the unit whose number it stands under or to none;
a reply that cannot be read is asked about once more, for the missing units only, and after that they are
unjudged with the reason; a cut-off reply is asked again with twice the room instead of being mended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, cast

import orjson

from ragstone import prompts
from ragstone.judges.base import Backend, Call, Dialogue, Failed, Replies, Reply
from ragstone.judges.readings import Reading, read_rate, read_units
from ragstone.judges.tracing import Labelling, halved, pieces, read_trace, traced
from ragstone.questions import TASKS, Question, Rate, Rated, Task, Trace, Write, Written, key_of
from ragstone.types import NOTHING, TRIVIAL, Passage, Scale, Unit

ANSWERS: Final[frozenset[Task]] = frozenset(TASKS)
STYLES: Final = {1: "default", 2: "second"}
MAX_TOKENS: Final = 4096


@dataclass(frozen=True, slots=True)
class Settings:
    """What is sent along with every prompt.

    ``temperature`` is used where the question wants none of its own; None sends none at all, so that the
    endpoint's own default holds. ``extra`` goes into the request as is
    (seed, reasoning effort, a provider's own fields). ``structured`` asks for the JSON schema to be enforced.
    ``context`` is how many tokens of material the model takes at once (0: not known), for what can be asked in
    pieces.
    """

    model: str
    temperature: float | None = 0.0
    max_tokens: int = MAX_TOKENS
    structured: bool = True
    context: int = 0
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING, hash=False)


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

    def can(self, task: Task) -> bool:
        """Every task that has a prompt."""
        return task in ANSWERS

    def maker(self, question: Question[Any]) -> str:
        """The prompt's id with its hash, and the sampling that matters."""
        temperature = self._temperature(question)
        sampling = "" if temperature is None else f",t={temperature:g}"
        if self.settings.max_tokens != MAX_TOKENS:
            sampling += f",max={self.settings.max_tokens}"
        if self.settings.extra:
            extra = orjson.dumps(dict(self.settings.extra), option=orjson.OPT_SORT_KEYS)
            sampling += f",x#{hashlib.blake2b(extra, digest_size=3).hexdigest()}"
        return prompts.load(question.task, _style(question)).id + sampling

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
        batches = self._batches(question, repeat)
        replies = yield [batch.call for batch in batches]
        readings = [
            read_rate(question, batch.units, reply, self.id) for batch, reply in zip(batches, replies, strict=True)
        ]
        again = [
            self._again(question, batch, reading, repeat) for batch, reading in zip(batches, readings, strict=True)
        ]
        second: Replies = ()
        if any(again):
            second = yield [call for call in again if call is not None]
        answers: Iterator[Reply | Failed] = iter(second)
        for batch, reading, call in zip(batches, readings, again, strict=True):
            if call is not None:
                reading.add(read_rate(question, batch.units, next(answers), self.id, reading.missing))
        verdicts = [
            verdict
            for batch, reading in zip(batches, readings, strict=True)
            for verdict in reading.verdicts(batch.units, self.id)
        ]
        return Rated(tuple(verdicts), " ".join(r.summary for r in readings if r.summary))

    def _batches(self, question: Rate, repeat: int) -> list[_Batch]:
        template = prompts.load(question.task, _style(question))
        nonce = _nonce(question)
        level = question.units[0].level if question.units else "claim"
        passages = _numbered(question.passages)
        batches: list[_Batch] = []
        for start in range(0, len(question.units), template.batch):
            units = question.units[start : start + template.batch]
            messages = template.render(
                {
                    "units": _numbered(units), "passages": passages, "question": question.question,
                    "scale": question.scale, "reasons": question.reasons, "evidence": question.evidence,
                    "skippable": question.skippable, "level": level, "nonce": nonce, "n": len(units),
                }
            )  # fmt: skip
            schema = self._schema(question, range(1, len(units) + 1))
            batches.append(_Batch(units, self._call(question, messages, schema, repeat, len(units))))
        return batches

    def _schema(self, question: Rate, numbers: Iterable[int]) -> orjson.Fragment | None:
        return _rate_schema(tuple(numbers), *_shape(question)) if self.settings.structured else None

    def _again(self, question: Rate, batch: _Batch, reading: Reading, repeat: int) -> Call | None:
        if not reading.missing or reading.unreachable:
            return None
        if reading.cut_off:
            schema = self._schema(question, range(1, len(batch.units) + 1))
            return self._call(question, _messages(batch.call), schema, repeat, len(batch.units), twice=True)
        messages = _repair(_messages(batch.call), reading.reply, reading.problem, reading.missing)
        return self._call(question, messages, self._schema(question, reading.missing), repeat, len(reading.missing))

    # ---- writing

    def _write(self, question: Write, repeat: int) -> Dialogue:
        schema = _write_schema(question.level, len(question.sentences)) if self.settings.structured else None
        call = self._call(question, self._asking(question), schema, repeat, 1)
        (reply,) = yield [call]
        read = read_units(question, reply)
        if isinstance(read, str) and isinstance(reply, Reply) and reply.finish != "content_filter":
            if reply.finish == "length":
                call = self._call(question, _messages(call), schema, repeat, 1, twice=True)
            else:
                call = self._call(question, _repair(_messages(call), reply.text, read, ()), schema, repeat, 1)
            (reply,) = yield [call]
            read = read_units(question, reply)
        return Written((), read) if isinstance(read, str) else Written(read)

    def _asking(self, question: Write) -> list[dict[str, str]]:
        return prompts.load(question.task, _style(question)).render(
            {
                "question": question.question, "sentences": _numbered(question.sentences),
                "before": question.before, "passages": _numbered(question.passages), "known": question.known,
                "most": question.most, "nonce": _nonce(question), "n": len(question.sentences),
            }
        )  # fmt: skip

    # ---- tracing

    def _trace(self, question: Trace, repeat: int) -> Dialogue:
        """Label in as few pieces as the model takes, halving what is too long; ask once more for what is missing."""
        waiting = pieces(question, self.settings.context)
        done: list[tuple[Call, Labelling]] = []
        while waiting:
            calls = [self._call(part, self._labelling(part), self._trace_schema(part), repeat, 1) for part in waiting]
            replies = yield calls
            shorter: list[Trace] = []
            for part, call, reply in zip(waiting, calls, replies, strict=True):
                halves = halved(part) if isinstance(reply, Failed) and reply.too_long else None
                if halves:
                    shorter += halves
                else:
                    done.append((call, read_trace(part, reply)))
            waiting = shorter
        again = [(labelling, self._label_again(call, labelling, repeat)) for call, labelling in done]
        asked = [(labelling, call) for labelling, call in again if call is not None]
        if asked:
            replies = yield [call for _, call in asked]
            for (labelling, _), reply in zip(asked, replies, strict=True):
                only = labelling.missing if _only_sentences(labelling) else ()
                labelling.add(read_trace(labelling.part, reply, only))
        order = {unit.id: place for place, unit in enumerate(question.sentences)}
        labellings = sorted((labelling for _, labelling in done), key=lambda one: order[one.part.sentences[0].id])
        return traced(question, labellings, self.id)

    def _labelling(self, part: Trace) -> list[dict[str, str]]:
        documents = [
            (number, [(key_of(unit), " ".join(unit.text.split())) for unit in units])
            for number, units in groupby(part.sentences, key=lambda unit: key_of(unit).split("_")[1])
        ]
        response = [(key_of(unit), " ".join(unit.text.split())) for unit in part.response]
        return prompts.load(part.task).render(
            {"question": part.question, "documents": documents, "response": response, "nonce": _nonce(part)}
        )

    def _label_again(self, call: Call, labelling: Labelling, repeat: int) -> Call | None:
        if labelling.whole or labelling.unreachable:
            return None
        part = labelling.part
        if labelling.cut_off:
            return self._call(part, _messages(call), self._trace_schema(part), repeat, 1, twice=True)
        only = labelling.missing if _only_sentences(labelling) else []
        turn = prompts.load("repair", "trace").render({"problem": labelling.problem, "missing": only})[1]
        messages = [*_messages(call), {"role": "assistant", "content": labelling.reply[:20_000]}, turn]
        return self._call(part, messages, self._trace_schema(part, only), repeat, 1)

    def _trace_schema(self, part: Trace, only: Sequence[str] = ()) -> orjson.Fragment | None:
        """One required entry per response sentence; where only some are asked about again, nothing but those."""
        if not self.settings.structured:
            return None
        keys: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
        text, truth = {"type": "string"}, {"type": "boolean"}
        entry = _object({"support": keys, "explanation": text, "fully_supported": truth})
        entries = _object(dict.fromkeys(only or map(key_of, part.response), entry))
        if only:
            return _format("trace", _object({"sentences": entries}))
        fields = {
            "relevance_explanation": text, "relevant": keys, "support_explanation": text, "sentences": entries,
            "utilized": keys, "overall_supported": truth,
        }  # fmt: skip
        return _format("trace", _object(fields))

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
        return Call(self.id, question.task, self.maker(question), exact, units, repeat)

    def _temperature(self, question: Question[Any]) -> float | None:
        wanted = question.temperature if isinstance(question, Rate) else None
        if self.settings.temperature is None or wanted is None:
            return self.settings.temperature
        return wanted


def _numbered(items: Sequence[Unit | Passage]) -> list[tuple[int, str]]:
    """Texts with the numbers by which the prompt and the reply speak of them."""
    return list(enumerate((item.text for item in items), 1))


def _style(question: Question[Any]) -> str:
    if isinstance(question, Rate):
        return STYLES.get(question.wording, "default")
    if question.task == "nuggetize":
        return "passages" if cast("Write", question).passages else "answer"
    return "default"


def _shape(question: Rate) -> tuple[Scale, bool, str, bool, bool]:
    summary = question.reasons and question.task != "response_support"  # one unit: its reason says it all
    evidence = "" if not question.evidence else "words" if question.task == "assign" else "quotes"
    return question.scale, question.skippable, evidence, question.reasons, summary


def _messages(call: Call) -> list[dict[str, str]]:
    """The messages of a call, for the few that are asked again: not kept beside the request for all the others."""
    messages: list[dict[str, str]] = orjson.loads(call.body)["messages"]
    return messages


def _repair(
    messages: Sequence[dict[str, str]], reply: str, problem: str, missing: Sequence[int]
) -> list[dict[str, str]]:
    turn = prompts.load("repair").render({"problem": problem, "missing": list(missing)})[1]
    return [*messages, {"role": "assistant", "content": reply[:20_000]}, turn]


def _only_sentences(labelling: Labelling) -> bool:
    return labelling.relevant is not None and labelling.utilized is not None


def _nonce(question: Rate | Write | Trace) -> str:
    """A code that the material cannot hold: it would have to contain a keyed hash of itself."""
    digest = hashlib.blake2b(key=b"ragstone", digest_size=6)
    if isinstance(question, Rate):
        for passage in question.passages:
            digest.update(passage.text.encode("utf-8", "replace"))
        for unit in question.units:
            digest.update(unit.text.encode("utf-8", "replace"))
    elif isinstance(question, Trace):
        for unit in (*question.sentences, *question.response):
            digest.update(unit.text.encode("utf-8", "replace"))
    else:
        for item in (*question.sentences, *question.passages):
            digest.update(cast("Unit | Passage", item).text.encode("utf-8", "replace"))
        for text in (*question.known, question.before):
            digest.update(text.encode("utf-8", "replace"))
    digest.update(question.question.encode("utf-8", "replace"))
    return digest.hexdigest()


@lru_cache(maxsize=512)
def _rate_schema(
    numbers: tuple[int, ...], scale: Scale, skippable: bool, evidence: str, reasons: bool, summary: bool
) -> orjson.Fragment:
    """One required entry per unit number, so that an endpoint that enforces it can neither skip nor shift.

    ``evidence`` is ``quotes`` with the number of their passage, ``words`` of the one text there is, or empty.
    """
    fields: dict[str, Any] = {}
    if evidence:
        words: dict[str, Any] = {"type": "string"}
        quote = words if evidence == "words" else _object({"passage": {"type": "integer"}, "quote": words})
        fields["evidence"] = {"type": "array", "items": quote}
    if reasons:
        fields["reason"] = {"type": "string"}
    fields["label"] = {"type": "string", "enum": [*scale.labels, *([TRIVIAL] if skippable else [])]}
    parts: dict[str, Any] = {"verdicts": _object({str(number): _object(fields) for number in numbers})}
    if summary:
        parts["summary"] = {"type": "string"}
    return _format("verdicts", _object(parts))


@lru_cache(maxsize=256)
def _write_schema(level: str, sentences: int) -> orjson.Fragment:
    """A list of entries with the number of their sentence, or of texts where there are no sentences."""
    item: dict[str, Any] = {"type": "string"}
    if sentences:
        place = {"type": "integer", "enum": list(range(1, sentences + 1))}
        item = {"sentence": place, level: item, **({"confidence": {"type": "number"}} if level == "claim" else {})}
        item = _object(item)
    return _format(f"{level}s", _object({f"{level}s": {"type": "array", "items": item}}))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _format(name: str, schema: dict[str, Any]) -> orjson.Fragment:
    return orjson.Fragment(
        orjson.dumps({"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}})
    )

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
from typing import Any, Final, cast

import orjson

from ragstone import prompts
from ragstone.errors import ParseError
from ragstone.judges.base import Backend, Call, Dialogue, Failed, Replies, Reply
from ragstone.parsing import locate, read_object
from ragstone.questions import Question, Rate, Rated, Task, Write, Written
from ragstone.types import NOTHING, TRIVIAL, Passage, Quote, Scale, Unit, Verdict

ANSWERS: Final[frozenset[Task]] = frozenset({"claims", "support", "response_support", "relevance"})
STYLES: Final = {1: "default", 2: "second"}
MAX_TOKENS: Final = 4096
QUOTES: Final = 4
"""The most quotes that are looked for per verdict, whatever the reply holds."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is sent along with every prompt.

    ``temperature`` is used where the question wants none of its own; None sends none at all, so that the
    endpoint's own default holds. ``extra`` goes into the request as is
    (seed, reasoning effort, a provider's own fields). ``structured`` asks for the JSON schema to be enforced.
    """

    model: str
    temperature: float | None = 0.0
    max_tokens: int = MAX_TOKENS
    structured: bool = True
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
        assert isinstance(question, Write)
        return (yield from self._write(question, repeat))

    # ---- rating

    def _rate(self, question: Rate, repeat: int) -> Dialogue:
        batches = self._batches(question, repeat)
        replies = yield [batch.call for batch in batches]
        readings = [_read_rate(question, batch, reply, self.id) for batch, reply in zip(batches, replies, strict=True)]
        again = [
            self._again(question, batch, reading, repeat) for batch, reading in zip(batches, readings, strict=True)
        ]
        second: Replies = ()
        if any(again):
            second = yield [call for call in again if call is not None]
        answers: Iterator[Reply | Failed] = iter(second)
        for batch, reading, call in zip(batches, readings, again, strict=True):
            if call is not None:
                reading.add(_read_rate(question, batch, next(answers), self.id, reading.missing))
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

    def _again(self, question: Rate, batch: _Batch, reading: _Reading, repeat: int) -> Call | None:
        if not reading.missing or reading.unreachable:
            return None
        if reading.cut_off:
            schema = self._schema(question, range(1, len(batch.units) + 1))
            return self._call(question, _messages(batch.call), schema, repeat, len(batch.units), twice=True)
        messages = _repair(_messages(batch.call), reading.reply, reading.problem, reading.missing)
        return self._call(question, messages, self._schema(question, reading.missing), repeat, len(reading.missing))

    # ---- writing

    def _write(self, question: Write, repeat: int) -> Dialogue:
        schema = _claims_schema(len(question.sentences)) if self.settings.structured else None
        call = self._call(question, self._asking(question), schema, repeat, 1)
        (reply,) = yield [call]
        read = _read_claims(question, reply)
        if isinstance(read, str) and isinstance(reply, Reply) and reply.finish != "content_filter":
            if reply.finish == "length":
                call = self._call(question, _messages(call), schema, repeat, 1, twice=True)
            else:
                call = self._call(question, _repair(_messages(call), reply.text, read, ()), schema, repeat, 1)
            (reply,) = yield [call]
            read = _read_claims(question, reply)
        return Written((), read) if isinstance(read, str) else Written(read)

    def _asking(self, question: Write) -> list[dict[str, str]]:
        return prompts.load(question.task, _style(question)).render(
            {
                "question": question.question, "sentences": _numbered(question.sentences),
                "before": question.before, "nonce": _nonce(question),
                "n": len(question.sentences),
            }
        )  # fmt: skip

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


@dataclass(slots=True)
class _Reading:
    """What could be read of the replies about one batch, by the unit's number in it."""

    found: dict[int, Verdict]
    missing: list[int]
    problem: str = ""
    reply: str = ""
    summary: str = ""
    cut_off: bool = False
    unreachable: bool = False

    def add(self, later: _Reading) -> None:
        """Take from a second reply what the first did not give, and its reason for what is missing still."""
        for number in self.missing:
            if number in later.found:
                self.found[number] = later.found[number]
        self.missing = [number for number in self.missing if number not in self.found]
        self.problem = later.problem or self.problem
        self.summary = self.summary or later.summary

    def verdicts(self, units: Sequence[Unit], judge: str) -> Iterator[Verdict]:
        for number, unit in enumerate(units, 1):
            verdict = self.found.get(number)
            yield verdict or Verdict(unit, None, None, judge, failure=self.problem or "the reply has no verdict on it")


def _numbered(items: Sequence[Unit | Passage]) -> list[tuple[int, str]]:
    """Texts with the numbers by which the prompt and the reply speak of them."""
    return list(enumerate((item.text for item in items), 1))


def _style(question: Question[Any]) -> str:
    return STYLES[question.wording] if isinstance(question, Rate) and question.wording in STYLES else "default"


def _shape(question: Rate) -> tuple[Scale, bool, bool, bool, bool]:
    summary = question.reasons and question.task != "response_support"  # one unit: its reason says it all
    return question.scale, question.skippable, question.evidence, question.reasons, summary


def _read_rate(question: Rate, batch: _Batch, reply: Reply | Failed, judge: str, asked: Sequence[int] = ()) -> _Reading:
    numbers = list(asked or range(1, len(batch.units) + 1))
    if isinstance(reply, Failed):
        return _Reading({}, numbers, problem=reply.reason, unreachable=True)
    reading = _Reading({}, numbers, reply=reply.text, cut_off=reply.finish == "length")
    if reply.finish == "content_filter":
        reading.problem = "the endpoint's content filter withheld the reply"
        reading.unreachable = True
        return reading
    if reading.cut_off:
        reading.problem = "the reply was cut off at its length limit"
        return reading
    try:
        answer = read_object(reply.text, "verdicts")
    except ParseError as error:
        reading.problem = str(error)
        return reading
    entries = _by_number(answer["verdicts"])
    labels = _labels(question)
    unknown: list[str] = []
    for number in numbers:
        entry = entries.get(number)
        if entry is None:
            continue
        label = _label(entry.get("label"), labels)
        if label is None:
            unknown.append(f"{number}: {str(entry.get('label'))[:40]!r}")
            continue
        reading.found[number] = _verdict(question, batch.units[number - 1], label, entry, judge)
    reading.missing = [number for number in numbers if number not in reading.found]
    problems = []
    if absent := [str(number) for number in reading.missing if number not in entries]:
        problems.append(f"no verdict on {', '.join(absent)}")
    if unknown:
        problems.append(f"labels outside the scale ({'; '.join(unknown)}); expected {', '.join(labels)}")
    reading.problem = "; ".join(problems)
    summary = answer.get("summary")
    reading.summary = summary if isinstance(summary, str) else ""
    return reading


def _by_number(entries: object) -> dict[int, Mapping[str, Any]]:
    """Entries by unit number. A number that is given twice with different labels is given to nobody.

    A reply that counts from 0 has every label under its neighbour's number, so that none of it is taken.
    """
    pairs: list[tuple[object, object]] = []
    if isinstance(entries, dict):
        pairs = list(entries.items())
    elif isinstance(entries, list):
        pairs = [(entry.get("id", entry.get("number")), entry) for entry in entries if isinstance(entry, dict)]
    found: dict[int, Mapping[str, Any]] = {}
    contested: set[int] = set()
    for key, entry in pairs:
        text = str(key).strip()
        if isinstance(entry, str | int) and not isinstance(entry, bool):
            entry = {"label": entry}  # noqa: PLW2901 - a bare label under its number is as good
        if not (text.isascii() and text.isdigit()) or len(text) > 6 or not isinstance(entry, dict):
            continue
        number = int(text)
        if number in found and found[number].get("label") != entry.get("label"):
            contested.add(number)
        found[number] = entry
    return {} if 0 in found else {number: entry for number, entry in found.items() if number not in contested}


def _labels(question: Rate) -> tuple[str, ...]:
    return (*question.scale.labels, TRIVIAL) if question.skippable else question.scale.labels


def _label(given: object, labels: Sequence[str]) -> str | None:
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    label = str(given).strip().strip("\"'*`.").lower()
    return label if label in labels else None


def _verdict(question: Rate, unit: Unit, label: str, entry: Mapping[str, Any], judge: str) -> Verdict:
    reason = entry.get("reason")
    trivial = label == TRIVIAL
    return Verdict(
        unit,
        label,
        None if trivial else question.scale.value(label),
        judge,
        raw=None if trivial else question.scale.raw(label),
        evidence=() if trivial or not question.evidence else _evidence(question, unit, entry.get("evidence")),
        reason=reason.strip() if isinstance(reason, str) else "",
    )


def _evidence(question: Rate, unit: Unit, named: object) -> tuple[Quote, ...]:
    passages: Sequence[Passage] = question.passages
    if unit.level == "passage":
        passages = [Passage(unit.id, unit.text, 1)]
    quotes: dict[Quote, None] = {}
    for item in (named if isinstance(named, list) else [])[:QUOTES]:
        text = item.get("quote") if isinstance(item, dict) else item
        if not isinstance(text, str) or not text.strip():
            continue
        number = item.get("passage") if isinstance(item, dict) else None
        known = isinstance(number, int) and 1 <= number <= len(passages)
        quotes[locate(text, passages, passages[cast("int", number) - 1].id if known else "")] = None
    return tuple(quotes)


def _read_claims(question: Write, reply: Reply | Failed) -> tuple[Unit, ...] | str:
    """The claims, or what is wrong with the reply."""
    if isinstance(reply, Failed):
        return reply.reason
    if reply.finish == "length":
        return "the reply was cut off at its length limit"
    if reply.finish == "content_filter":
        return "the endpoint's content filter withheld the reply"
    try:
        entries = read_object(reply.text, "claims")["claims"]
    except ParseError as error:
        return str(error)
    if not isinstance(entries, list):
        return "'claims' is not a list"
    units: list[Unit] = []
    for entry in entries:
        text = entry.get("claim") if isinstance(entry, dict) else entry
        if not isinstance(text, str):
            return f"an entry of 'claims' has no text: {str(entry)[:60]!r}"
        if not text.strip():
            continue
        sentence = _sentence(question, entry)
        units.append(
            Unit(
                f"claim/{len(units) + 1}",
                "claim",
                text.strip(),
                sentence.span if sentence else None,
                sentence.id if sentence else None,
                _confidence(entry),
                question.part,
            )
        )
    return tuple(units)


def _sentence(question: Write, entry: object) -> Unit | None:
    number = entry.get("sentence") if isinstance(entry, dict) else None
    if isinstance(number, int) and 1 <= number <= len(question.sentences):
        return question.sentences[number - 1]
    return question.sentences[0] if len(question.sentences) == 1 else None


def _confidence(entry: object) -> float | None:
    given = entry.get("confidence") if isinstance(entry, dict) else None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        return None
    return float(given)


def _messages(call: Call) -> list[dict[str, str]]:
    """The messages of a call, for the few that are asked again: not kept beside the request for all the others."""
    messages: list[dict[str, str]] = orjson.loads(call.body)["messages"]
    return messages


def _repair(
    messages: Sequence[dict[str, str]], reply: str, problem: str, missing: Sequence[int]
) -> list[dict[str, str]]:
    turn = prompts.load("repair").render({"problem": problem, "missing": list(missing)})[1]
    return [*messages, {"role": "assistant", "content": reply[:20_000]}, turn]


def _nonce(question: Rate | Write) -> str:
    """A code that the material cannot hold: it would have to contain a keyed hash of itself."""
    digest = hashlib.blake2b(key=b"ragstone", digest_size=6)
    if isinstance(question, Rate):
        for passage in question.passages:
            digest.update(passage.text.encode("utf-8", "replace"))
        for unit in question.units:
            digest.update(unit.text.encode("utf-8", "replace"))
    else:
        for sentence in question.sentences:
            digest.update(sentence.text.encode("utf-8", "replace"))
        digest.update(question.before.encode("utf-8", "replace"))
    digest.update(question.question.encode("utf-8", "replace"))
    return digest.hexdigest()


@lru_cache(maxsize=512)
def _rate_schema(
    numbers: tuple[int, ...], scale: Scale, skippable: bool, evidence: bool, reasons: bool, summary: bool
) -> orjson.Fragment:
    """One required entry per unit number, so that an endpoint that enforces it can neither skip nor shift."""
    fields: dict[str, Any] = {}
    if evidence:
        quote = _object({"passage": {"type": "integer"}, "quote": {"type": "string"}})
        fields["evidence"] = {"type": "array", "items": quote}
    if reasons:
        fields["reason"] = {"type": "string"}
    fields["label"] = {"type": "string", "enum": [*scale.labels, *([TRIVIAL] if skippable else [])]}
    parts: dict[str, Any] = {"verdicts": _object({str(number): _object(fields) for number in numbers})}
    if summary:
        parts["summary"] = {"type": "string"}
    return _format("verdicts", _object(parts))


@lru_cache(maxsize=256)
def _claims_schema(sentences: int) -> orjson.Fragment:
    claim = _object(
        {
            "sentence": {"type": "integer", "enum": list(range(1, sentences + 1))},
            "claim": {"type": "string"},
            "confidence": {"type": "number"},
        }
    )
    return _format("claims", _object({"claims": {"type": "array", "items": claim}}))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _format(name: str, schema: dict[str, Any]) -> orjson.Fragment:
    return orjson.Fragment(
        orjson.dumps({"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}})
    )

"""The built-in judge, which looks for the words of a statement in its evidence. It needs no key, network or setup.

It is not a language model: it compares words, numbers, names and negations, not meaning. Its accuracy on public human
labels is in ``docs/embedded-judge.md``. It is deterministic.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import orjson

from ragstone.errors import ConfigError
from ragstone.judges.base import Call, Cuts, Dialogue, Failed, Replies, Reply
from ragstone.judges.cascade import SureBand
from ragstone.judges.embedded.measured import band_of
from ragstone.judges.embedded.model import assignment_cuts, digest, label_of, level_of, model, relevance_label
from ragstone.judges.spec import UNCOMPUTED
from ragstone.questions import (
    ANSWERED,
    SUPPORT_CONTRADICT,
    TASKS,
    TEXTS,
    YES_NO,
    Question,
    Rate,
    Rated,
    Special,
    Task,
    Trace,
    Traced,
    Write,
    Written,
    key_of,
)
from ragstone.signature import text_libraries
from ragstone.types import TRIVIAL, Passage, Quote, Scale, Span, Unit, Verdict

VERSION: Final = "embedded-30"
GENERAL: Final[Special] = "general"
"""The support of a sentence that states nothing, or correctly says that something is missing."""

CONTRADICTED: Final = "contradicted"
DECLINED: Final = ("declines to answer", "does not answer")
"""The prefixes of reasons for a fact that the evidence states differently, and for a text that declines to answer.

The second form of the latter occurs in replies stored by earlier versions.
"""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class EmbeddedBackend:
    """Backend that computes in its own threads to keep the event loop free."""

    threads: int = 1
    concurrency: int = 2
    free: bool = True
    inside: bool = True
    steady: bool = True
    timeout: float | None = None

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    async def open(self) -> None:
        """Do nothing; threads start with the first call."""

    async def send(self, call: Call) -> Reply:
        """Return the reply to one call."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(self.threads, thread_name_prefix="ragstone-judge")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.reply, call)

    def reply(self, call: Call) -> Reply:
        """Return the reply to one call, computed in the caller's thread."""
        from ragstone.judges.embedded.compute import reply_to  # noqa: PLC0415 - loaded with the first call

        return Reply(reply_to(call.body))

    async def close(self) -> None:
        """Stop the threads."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None


class ComputedJudge:
    """Base of judges that compute in this process, with one call whose reply contains probabilities and places.

    All such judges interpret replies in the same way, except for ``own_cuts``. ``threshold`` overrides the judge's own
    lowest probability of the best label; a reply works for every threshold.
    """

    id: str
    backend: EmbeddedBackend

    def __init__(self, name: str, threshold: float | None) -> None:
        """Raise ConfigError if ``threshold`` is outside the judge's range for support."""
        self.name, self.threshold = name, threshold
        if threshold is None or (own := self.own_cuts("support")) is None:
            return
        if not own.least <= threshold <= own.most:
            raise ConfigError(
                f"judges.{name}.threshold {threshold:g}; expected a number from {own.least:g} to {own.most:g}"
            )

    def lacks(self, task: Task) -> str:
        """Return why the judge cannot do a task (custom criteria); empty for other tasks."""
        return "criteria need a language model or human:FILE" if task in UNCOMPUTED else ""

    def version(self) -> str:
        """Return the version of everything that affects the replies."""
        raise NotImplementedError

    def own_cuts(self, task: Task) -> Cuts | None:
        """Return the default cuts between the labels of a task, or None for a task without a probability."""
        raise NotImplementedError

    def cuts(self, task: Task) -> Cuts | None:
        """Return the cuts between the labels of a task, or None for a task without a probability."""
        own = self.own_cuts(task)
        if own is None or self.threshold is None:
            return own
        return own._replace(best=max(self.threshold, own.least))

    def maker(self, question: Question[Any]) -> str:
        """Return the version, with the threshold if it is set and the task has a probability."""
        cuts = self.cuts(question.task)
        return self.version() if cuts is None or self.threshold is None else f"{self.version()},cut={cuts.best:g}"

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """Yield one call, then return the answer."""
        if isinstance(question, Rate):
            return (yield from self._rate(question, repeat))
        if isinstance(question, Trace):
            return (yield from self._trace(question, repeat))
        assert isinstance(question, Write)
        return (yield from self._write(question, repeat))

    def _call(self, question: Question[Any], body: dict[str, Any], repeat: int, units: int = 1) -> Call:
        packed = orjson.dumps(_encodable({"task": question.task, **body}), option=orjson.OPT_SORT_KEYS)
        return Call(self.id, question.task, self.version(), packed, units, repeat)

    def _rate(self, question: Rate, repeat: int) -> Dialogue:
        units = question.units
        if not units:
            return Rated(())
        body: dict[str, Any] = {"units": [unit.text for unit in units], "question": question.question}
        if question.task == "relevance":
            body["level"] = level_of([unit.level for unit in units])
        elif question.task != "importance":
            body["passages"] = [passage.text for passage in question.passages]
            body["ranks"] = [TEXTS.get(passage.id, passage.rank) for passage in question.passages]
            body["trivial"] = question.skippable and all(unit.level == "sentence" for unit in units)
        replies = yield (self._call(question, body, repeat, len(units)),)
        found = _read(replies, units=len(units))
        rows = [{"reason": found}] * len(units) if isinstance(found, str) else found["units"]
        return Rated(tuple(self._verdict(question, unit, row) for unit, row in zip(units, rows, strict=True)))

    def _verdict(self, question: Rate, unit: Unit, row: dict[str, Any]) -> Verdict:
        if row.get("trivial"):
            return Verdict(unit, TRIVIAL, None, self.id, reason=row["reason"])
        if "chance" not in row:
            return Verdict(unit, None, None, self.id, failure=row["reason"])
        passages = question.passages
        if question.task == "relevance":
            passages = (Passage(unit.parent or unit.id, unit.text, 1),)
        evidence = [_quote(passages[number], Span(start, end)) for number, start, end in row["windows"]]
        return self._labelled(question.task, unit, question.scale, row, evidence)

    def _labelled(
        self, task: Task, unit: Unit, scale: Scale, row: dict[str, Any], evidence: Sequence[Quote]
    ) -> Verdict:
        """Return the verdict of a row. If the threshold changed the label, the reason says so."""
        cuts, changed = self.cuts(task), ""
        label = _label(task, scale, row, cuts)
        if cuts is not None and label != _label(task, scale, row, self.own_cuts(task)):
            changed = f"; {'reaches' if row['chance'] >= cuts.best else 'below'} the threshold of {cuts.best:g}"
        # Closeness is not a probability, and that of relevance is not that of answering or of the highest grade.
        chance = None if "vital" in row or (task == "relevance" and scale != YES_NO) else row["chance"]
        begun = "" if task != "relevance" or chance is None else f"relevant with probability {chance:.2f}; "
        return Verdict(
            unit,
            label,
            scale.value(label),
            self.id,
            raw=scale.raw(label),
            probability=chance,
            evidence=tuple(evidence),
            reason=begun + row["reason"] + changed,
            by_words=not row.get("strong", True),
        )

    def _write(self, question: Write, repeat: int) -> Dialogue:
        """Write new units from sentences, or the whole updated list from passages; a blank question adds nothing."""
        nuggets = question.task == "nuggetize"
        if question.passages:
            body: dict[str, Any] = {
                "question": question.question,
                "passages": [passage.text for passage in question.passages],
            }
        else:
            body = {"sentences": [sentence.text for sentence in question.sentences], "before": question.before}
        if nuggets:
            body |= {"known": list(question.known), "most": question.most}
        replies = yield (self._call(question, body, repeat),)
        found = _read(replies, **{question.task if not nuggets else "nuggets": None})
        if isinstance(found, str):
            return Written((), found)
        rows = found["nuggets" if nuggets else "claims"]
        if question.passages:
            units = (Unit(f"nugget/{number}", "nugget", text) for number, text in enumerate(rows, 1))
            return Written(tuple(units), "" if question.question.strip() else "the question is blank")
        written = []
        for number, (text, index) in enumerate(rows, 1):
            one, name = question.sentences[index], f"{question.level}/{number}"
            written.append(Unit(name, question.level, text, one.span, parent=one.id, part=question.part))
        return Written(tuple(written))

    def _trace(self, question: Trace, repeat: int) -> Dialogue:
        if not question.sentences and not question.response:
            return Traced((), (), (), ())
        passages: dict[str | None, list[Unit]] = {}
        for unit in question.sentences:
            passages.setdefault(unit.parent, []).append(unit)
        sentences = list(chain.from_iterable(passages.values()))
        body = {
            "question": question.question,
            "passages": [[unit.text for unit in passage] for passage in passages.values()],
            "keys": [key_of(unit) for unit in sentences],
            "response": [unit.text for unit in question.response],
        }
        replies = yield (self._call(question, body, repeat),)
        found = _read(replies, response=len(question.response))
        if isinstance(found, str):
            verdicts = tuple(Verdict(unit, None, None, self.id, failure=found) for unit in question.response)
            return Traced(None, None, verdicts, ((),) * len(verdicts), failure=found)

        def keys(places: Sequence[int]) -> tuple[str, ...]:
            marked = {key_of(sentences[i]) for i in places}
            return tuple(key for unit in question.sentences if (key := key_of(unit)) in marked)

        rows = zip(question.response, found["response"], strict=True)
        pairs = [self._traced(unit, row, sentences) for unit, row in rows]
        blank = "the question has no words to look for" if question.question.strip() else "the question is blank"
        return Traced(
            relevant=None if found["relevant"] is None else keys(found["relevant"]),
            utilized=keys(found["utilized"]),
            verdicts=tuple(verdict for verdict, _ in pairs),
            support=tuple(named for _, named in pairs),
            relevance_reason=found["reason"],
            failure=blank if found["relevant"] is None else "",
        )

    def _traced(self, unit: Unit, row: dict[str, Any], sentences: Sequence[Unit]) -> tuple[Verdict, tuple[str, ...]]:
        """Return the verdict on a response sentence, as in the task ``support``, and the keys that support it."""
        if row.get("trivial"):
            return Verdict(unit, "yes", 1.0, self.id, raw=YES_NO.raw("yes"), reason=row["reason"]), (GENERAL,)
        if "chance" not in row:
            return Verdict(unit, None, None, self.id, failure=row["reason"]), ()
        units = [sentences[i] for i in row["windows"]]
        quotes = [Quote(one.parent or "", one.span, one.text, verbatim=True) for one in units if one.span is not None]
        verdict = self._labelled("trace", unit, YES_NO, row, quotes)
        return verdict, (tuple(map(key_of, units)) or (GENERAL,)) if verdict.label == "yes" else ()


class EmbeddedJudge(ComputedJudge):
    """The judge ``embedded``; see the module."""

    id: str = "embedded"
    model: str = VERSION
    provider: str = ""

    def __init__(self, name: str = "embedded", threshold: float | None = None) -> None:
        super().__init__(name, threshold)
        self.backend = EmbeddedBackend()

    def can(self, task: Task) -> bool:
        """Return whether the judge can do a task: all but custom criteria."""
        return task in TASKS and task not in UNCOMPUTED

    def band(self, task: Task, error: float) -> SureBand | None:
        """Return the probabilities at which the judge is sure, or None for tasks other than support and assignment."""
        return band_of(task, error)

    def version(self) -> str:
        """Return the version with the hashes of the data files and of the libraries that split texts."""
        return f"{VERSION}#{digest()}.{divided_by()}"

    def own_cuts(self, task: Task) -> Cuts | None:
        """Return the fitted cuts.

        Statements that the evidence contradicts are below the lowest threshold. So are whole responses with an
        unsupported sentence, so their threshold can only be raised.
        """
        yes, maybe = model().support.yes, model().support.maybe or 0.0
        partial, full = assignment_cuts()
        fitted: dict[Task, Cuts] = {
            "support": Cuts(maybe, yes, maybe), "trace": Cuts(maybe, yes, maybe),
            "response_support": Cuts(yes, yes, maybe), "assign": Cuts(maybe, full, partial),
            "relevance": Cuts(0.0, 0.5, 0.0),
        }  # fmt: skip
        return fitted.get(task)


def _read(replies: Replies, **lists: int | None) -> dict[str, Any] | str:
    """Return the content of the only reply, or why it is unusable; ``lists``: required lists and their lengths."""
    (reply,) = replies
    if isinstance(reply, Failed):
        return reply.reason
    try:
        found: dict[str, Any] = orjson.loads(reply.text)
        rows = [(found[name], count) for name, count in lists.items()]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "the reply cannot be read"
    if any(not isinstance(row, list) or (count is not None and len(row) != count) for row, count in rows):
        return "the reply does not fit its question"
    return found


def _label(task: Task, scale: Scale, row: dict[str, Any], cuts: Cuts | None) -> str:
    if cuts is None:
        return scale.labels[-1 if row["vital"] else 0]
    if scale == ANSWERED:
        return scale.labels[not row["reason"].startswith(DECLINED)]
    if scale == SUPPORT_CONTRADICT and row["chance"] < cuts.best:
        return scale.labels[not row["reason"].startswith(CONTRADICTED)]
    if task == "relevance":
        return relevance_label(scale, row["chance"], strong=row["strong"], related=row["related"], cut=cuts.best)
    return label_of(scale, row["chance"], cuts.best, cuts.worst)


def _quote(passage: Passage, span: Span) -> Quote:
    return Quote(passage.id, span, passage.text[span.start : span.end], verbatim=True)


@lru_cache(maxsize=1)
def divided_by() -> str:
    """Return four hex digits for the libraries that split texts, so answers of other versions are not reused."""
    return hashlib.sha256(text_libraries().encode()).hexdigest()[:4]


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value

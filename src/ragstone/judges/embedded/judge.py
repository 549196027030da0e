"""The judge that needs no key, no network and no set-up: it looks for the words of a statement in its evidence.

It is not a language model. It reads no meaning, only words, numbers, names and negations; ``docs/embedded-judge.md``
says how well that does on public human labels. The same question always gets the same answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Final

import orjson

from ragstone.judges.base import Call, Dialogue, Failed, Replies, Reply
from ragstone.judges.cascade import Band
from ragstone.judges.embedded.marks import grouped, traced
from ragstone.judges.embedded.measured import band_of, has_band
from ragstone.judges.embedded.model import (
    assignment_cuts,
    digest,
    importance_of,
    label_of,
    model,
)
from ragstone.judges.embedded.outcomes import outcome, supported_chance
from ragstone.judges.embedded.relevance import chance_of, level_of, relevance_label
from ragstone.questions import TASKS, Question, Rate, Rated, Task, Trace, Traced, Write, Written
from ragstone.signature import text_libraries
from ragstone.types import TRIVIAL, Quote, Scale, Span, Unit, Verdict

VERSION: Final = "embedded-6"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
WEAK: Final = "weak rule"  # what is said of every verdict on importance
_DECLINES: Final = {
    "wholly": "does not answer: says it cannot",
    "partly": "answers in part: says that something cannot be answered",
}

QUOTES: Final = 3  # the most quotes a whole response is given as evidence


class EmbeddedBackend:
    """Runs the computation in one thread of its own, so that the event loop stays free."""

    concurrency: int = 2
    free: bool = True
    inside: bool = True
    steady: bool = True
    timeout: float | None = None

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    async def open(self) -> None:
        """Nothing to connect to; the thread starts with the first call."""

    async def send(self, call: Call) -> Reply:
        """The reply to one call."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="ragstone-embedded")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.reply, call)

    def reply(self, call: Call) -> Reply:
        """The same in the thread of the caller."""
        from ragstone.judges.embedded.compute import reply_to  # noqa: PLC0415 - read when the first call is made

        return Reply(reply_to(call.body))

    async def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None


class EmbeddedJudge:
    """Answers every task from the words alone; see the module."""

    name: str = "embedded"
    id: str = "embedded"
    model: str = VERSION
    provider: str = ""

    def __init__(self) -> None:
        self.backend = EmbeddedBackend()

    def can(self, task: Task) -> bool:
        """Every task there is."""
        return task in TASKS

    def band(self, task: Task, error: float) -> Band | None:
        """Where it is sure of support and assignment; on other tasks it has no probability to be sure by."""
        return band_of(task, error) if has_band(task) else None

    def maker(self, question: Question[Any]) -> str:  # noqa: ARG002 - of all tasks
        """The version, the hash of the numbers and word lists, and what divides texts."""
        return f"{VERSION}#{digest()}.{_divided_by()}"

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """One call, then the answer."""
        if isinstance(question, Rate):
            return (yield from self._rate(question, repeat))
        if isinstance(question, Trace):
            return (yield from self._trace(question, repeat))
        assert isinstance(question, Write)
        return (yield from self._write(question, repeat))

    def _call(self, question: Question[Any], body: dict[str, Any], units: int, repeat: int) -> Call:
        packed = orjson.dumps(_encodable({"task": question.task, **body}), option=orjson.OPT_SORT_KEYS)
        return Call(self.id, question.task, self.maker(question), packed, units, repeat)

    def _rate(self, question: Rate, repeat: int) -> Dialogue:
        units = question.units
        if not units:
            return Rated(())
        body: dict[str, Any] = {"units": [unit.text for unit in units], "question": question.question}
        if question.task == "relevance":
            body["level"] = level_of([unit.level for unit in units])
        elif question.task != "importance":
            body["passages"] = [passage.text for passage in question.passages]
        if question.task == "support":
            body["trivial"] = question.skippable and all(unit.level == "sentence" for unit in units)
        replies = yield (self._call(question, body, len(units), repeat),)
        rows = _rows(replies, "units", len(units))
        if isinstance(rows, str):
            return Rated(tuple(Verdict(unit, None, None, self.id, failure=rows) for unit in units))
        return Rated(tuple(self._verdict(question, unit, row) for unit, row in zip(units, rows, strict=True)))

    def _write(self, question: Write, repeat: int) -> Dialogue:
        if question.passages:
            return (yield from self._bank(question, repeat))
        nuggets = question.task == "nuggetize"
        body: dict[str, Any] = {
            "sentences": [sentence.text for sentence in question.sentences],
            "before": question.before,
        }
        if nuggets:
            body |= {"known": list(question.known), "most": question.most}
        replies = yield (self._call(question, body, 1, repeat),)
        rows = _rows(replies, "nuggets" if nuggets else "claims", None)
        if isinstance(rows, str):
            return Written((), rows)
        found = ((f"{question.level}/{n}", text, question.sentences[index]) for n, (text, index) in enumerate(rows, 1))
        units = (
            Unit(name, question.level, text, one.span, parent=one.id, part=question.part) for name, text, one in found
        )
        return Written(tuple(units))

    def _bank(self, question: Write, repeat: int) -> Dialogue:
        """The whole updated list; without a question nothing is added to it."""
        body = {
            "question": question.question,
            "passages": [passage.text for passage in question.passages],
            "known": list(question.known),
            "most": question.most,
        }
        replies = yield (self._call(question, body, 1, repeat),)
        rows = _rows(replies, "nuggets", None)
        if isinstance(rows, str):
            return Written((), rows)
        units = (Unit(f"nugget/{number}", "nugget", text) for number, text in enumerate(rows, 1))
        return Written(tuple(units), "" if question.question.strip() else "the question is blank")

    def _trace(self, question: Trace, repeat: int) -> Dialogue:
        """One call for all sentences; the marks are made from the raw scores when they are read."""
        if not question.sentences and not question.response:
            return Traced((), (), (), ())
        passages = grouped(question.sentences)
        body = {
            "question": question.question,
            "passages": [[unit.text for unit in passage] for passage in passages],
            "response": [unit.text for unit in question.response],
        }
        (reply,) = yield (self._call(question, body, 1, repeat),)
        return traced(question, passages, reply, self.id)

    # ---- reading one row

    def _verdict(self, question: Rate, unit: Unit, row: dict[str, Any]) -> Verdict:
        if "sentences" in row:
            return self._response(question, unit, row["sentences"])
        if "trivial" in row:
            return Verdict(unit, TRIVIAL, None, self.id, reason=row["trivial"])
        if "close" in row:
            return self._important(question, unit, row)
        if "absent" in row:
            return self._supported(question, unit, row)
        if "x" not in row:
            return Verdict(unit, None, None, self.id, failure=_nothing(question, unit))
        if question.task == "assign":
            return self._assigned(question, unit, row)
        if question.task == "support":
            return self._supported(question, unit, row)
        return self._relevant(question, unit, row)

    def _relevant(self, question: Rate, unit: Unit, row: dict[str, Any]) -> Verdict:
        """By the words of the question; the reason tells what was seen."""
        chance, scale = chance_of(row["x"], row["declines"]), question.scale
        label = relevance_label(scale, chance, strong=row["strong"], related=row["related"])
        evidence: tuple[Quote, ...] = ()
        if unit.level == "passage" and row["best"]:
            start, end = row["best"]
            evidence = (Quote(unit.parent or unit.id, Span(start, end), unit.text[start:end], verbatim=True),)
        return self._labelled(unit, scale, label, chance, evidence, _about(row))

    def _supported(self, question: Rate, unit: Unit, row: dict[str, Any]) -> Verdict:
        found = outcome(row, lambda window: f"passage {question.passages[window[0]].rank}")
        return self._graded(question, unit, found.chance, found.windows, found.reason)

    def _important(self, question: Rate, unit: Unit, row: dict[str, Any]) -> Verdict:
        """By closeness to the question, which is no probability."""
        scale = question.scale
        label = importance_of(scale, row["close"])
        near = "close to" if label == scale.labels[-1] else "not close to"
        shared = f": {', '.join(row['shared'])}" if row["shared"] else ""
        reason = f"{near} the question ({row['close']:.2f}, {WEAK}){shared}"
        return Verdict(unit, label, scale.value(label), self.id, raw=scale.raw(label), reason=reason)

    def _assigned(self, question: Rate, unit: Unit, row: dict[str, Any]) -> Verdict:
        """As support by the one passage that is the response, with cuts of its own."""
        chance = supported_chance(row)
        partial, full = assignment_cuts()
        windows = row["windows"] if chance >= partial else []
        missing = f"; missing: {', '.join(row['missing'])}" if row["missing"] else ""
        if chance >= full:
            reason = f"found in the response ({chance:.2f})"
        elif chance >= partial:
            reason = f"partly found in the response ({chance:.2f}){missing}"
        else:
            reason = f"not found in the response ({chance:.2f}){missing}"
        label, scale = label_of(question.scale, chance, full, partial), question.scale
        return self._labelled(unit, scale, label, chance, _quotes(question, windows), reason)

    def _response(self, question: Rate, unit: Unit, rows: Sequence[dict[str, Any]]) -> Verdict:
        """The mean over the sentences; the reason names the worst, the evidence is that of the best."""

        def place(window: Sequence[int]) -> str:
            return f"passage {question.passages[window[0]].rank}"

        rated = [(outcome(row, place), row["at"]) for row in rows if "x" in row or "absent" in row]
        if not rated and any("trivial" in row for row in rows):
            return Verdict(unit, TRIVIAL, None, self.id, reason="no sentence states anything")
        if not rated:
            return Verdict(unit, None, None, self.id, failure=_nothing(question, unit))
        chance = math.fsum(found.chance for found, _ in rated) / len(rated)
        worst, (start, end) = min(rated, key=lambda pair: pair[0].chance)
        if worst.chance < model().support.yes:  # all of it is there only if each of its sentences is
            chance = min(chance, model().support.yes - 0.01)
        count = f"{len(rated)} sentence{'s' if len(rated) > 1 else ''}"
        reason = f"{count}, mean {chance:.2f}; lowest: {_short(unit.text[start:end])} ({worst.reason})"
        best = sorted((found for found, _ in rated if found.chance > 0), key=lambda found: -found.chance)
        windows = [window for found in best for window in found.windows[:1]]
        unique = list(dict.fromkeys(map(tuple, windows)))[:QUOTES]
        return self._graded(question, unit, chance, unique, reason)

    def _graded(
        self, question: Rate, unit: Unit, chance: float, windows: Sequence[Sequence[int]], reason: str
    ) -> Verdict:
        """By the cuts of support."""
        weigh, scale = model().support, question.scale
        label = label_of(scale, chance, weigh.yes, weigh.maybe)
        return self._labelled(unit, scale, label, chance, _quotes(question, windows), reason)

    def _labelled(
        self, unit: Unit, scale: Scale, label: str, chance: float, evidence: tuple[Quote, ...], reason: str
    ) -> Verdict:
        return Verdict(
            unit,
            label,
            scale.value(label),
            self.id,
            raw=scale.raw(label),
            probability=round(chance, 6),
            evidence=evidence,
            reason=reason,
        )


def _rows(replies: Replies, name: str, count: int | None) -> list[Any] | str:
    """The rows of the one reply, or why there are none."""
    (reply,) = replies
    if isinstance(reply, Failed):
        return reply.reason
    try:
        rows = orjson.loads(reply.text)[name]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "the reply cannot be read"
    if not isinstance(rows, list) or (count is not None and len(rows) != count):
        return "the reply does not fit its question"
    return rows


@lru_cache(maxsize=1)
def _divided_by() -> str:
    """Four hex digits for the libraries that divide texts, so that a store gives no answers of other versions."""
    return hashlib.sha256(text_libraries().encode()).hexdigest()[:4]


def _encodable(value: Any) -> Any:
    """The same with lone surrogates, which no JSON can carry, replaced one for one."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value


def _quotes(question: Rate, windows: Sequence[Sequence[int]]) -> tuple[Quote, ...]:
    quotes = []
    for number, start, end in windows:
        passage = question.passages[number]
        quotes.append(Quote(passage.id, Span(start, end), passage.text[start:end], verbatim=True))
    return tuple(quotes)


def _about(row: dict[str, Any]) -> str:
    """What of the question a text has: words, and the kind of thing that is asked for."""
    parts = [_DECLINES[row["declines"]]] if row["declines"] else []
    if row["shared"]:
        parts.append("shares with the question: " + ", ".join(row["shared"]))
    else:
        lacks = ", ".join(row["missing"])
        parts.append(f"lacks: {lacks}" if lacks else "the question has no content words")
        parts.extend(["texts beside it share words with the question"] * row["beside"])
    if row["given"] is not None and not row["declines"]:
        parts.append(f"gives {row['wanted']}" if row["given"] else "gives no " + row["wanted"].removeprefix("a "))
    return "; ".join(parts)


def _nothing(question: Rate, unit: Unit) -> str:
    if question.task in {"relevance", "importance"} and not question.question.strip():
        return "the question is blank"
    if question.task == "importance" and unit.text.strip():
        return "the question has no words to look for"
    return "the text is blank" if not unit.text.strip() else "no words to look for"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else flat[:79].rstrip() + "\u2026"

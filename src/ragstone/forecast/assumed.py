"""Assume the answers and reply lengths of calls that are not in the store.

Guarantees: every assumption has a low, an expected and a high value. They are learned from earlier runs in the store if
there are any, else they are defaults. The estimate lists all of them. A stored reply is never replaced.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, cast

from ragstone.engine.route import Route
from ragstone.forecast.figures import Range
from ragstone.forecast.history import DRIFT, WRITES, History, Kind
from ragstone.judges.base import Call, Judge, size_of
from ragstone.judges.schemas import REASON, THINKING, verdict_tokens
from ragstone.questions import Answer, Question, Rate, Rated, Task, Trace, Traced, Write, Written
from ragstone.tokens import text_length
from ragstone.types import Unit, Verdict

World = Literal[0, 1, 2]
"""One of three scenarios for how much a judge writes: low, expected or high."""

WRITTEN: Final[dict[Kind, tuple[Range, float]]] = {
    "claim": (Range(0.8, 1.25, 1.9), 85),
    "nugget": (Range(0.7, 1.15, 1.7), 60),
    "bank": (Range(0.12, 0.3, 0.6), 50),
}
"""Defaults: units per 100 characters of text, and the characters of one unit."""
AGAIN: Final = Range(0.0, 0.25, 0.6)
"""The probability that one more list of a response's nuggets contains a new one."""
REPAIRS: Final = Range(0.0, 0.0, 0.05)
"""The share of calls that are repeated because the reply cannot be read."""
LEFT: Final = Range(0.1, 0.7, 1.0)
"""The share of a cascade's units that are passed to the last judge."""
OVERALL: Final = 200
"""Tokens of the explanations for a whole response."""
STEPS: Final = tuple(Unit(f"step/{number}", "step", f"Step {number} of a criterion") for number in range(1, 5))
STEP: Final = 20.0
"""Tokens per step of a criterion; `STEPS` are the assumed steps."""
CLAIM: Final = 14
NUGGET: Final = 10
SENTENCE: Final = 60
"""Tokens per traced sentence; `CLAIM` and `NUGGET` are tokens per unit in addition to its text."""
USUAL: Final = Range(0.6, 1.0, 1.7)
"""Factors by which all replies may be shorter or longer than the default."""
REASONING: Final = re.compile(
    r"(^|/)(o\d|gpt-5(?!-chat)|gpt-[6-9]|gpt-oss|deepseek-r\d|magistral|qwq|qwen3|gemini-(2\.5|[3-9])|grok-[4-9])|reason|think"
)
"""Judge ids of models that reason before they reply unless told not to; reasoning is billed as output."""


class Assumptions:
    """Assumptions about the answers of judges and the length of their replies.

    ``told`` describes each assumption; ``lengths`` counts the calls that reply lengths were learned from.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._written: dict[tuple[str, Task, Kind], tuple[Range, float]] = {}
        self.told: dict[str, str] = {}
        self.lengths: dict[tuple[str, Task], int] = {}

    # ---- answers

    def answer(self, judge: Judge, question: Question[Any], world: World) -> Answer:
        """Return a made-up answer: as many units as the judge may write, and labels that cycle through the scale."""
        if isinstance(question, Write):
            return Written(STEPS if question.criterion else tuple(self._units(judge, question, world)))
        if isinstance(question, Trace):
            verdicts = tuple(Verdict(unit, None, None, judge.id) for unit in question.response)
            return Traced((), (), verdicts, ((),) * len(verdicts))
        assert isinstance(question, Rate)
        first = drawn(question.units[0].text) if question.units else 0
        rated = []
        for number, unit in enumerate(question.units):
            scale = question.scale_of(unit)
            label = scale.labels[(int(first * len(scale.labels)) + number) % len(scale.labels)]
            rated.append(Verdict(unit, label, scale.value(label), judge.id, raw=scale.raw(label)))
        return Rated(tuple(rated))

    def _units(self, judge: Judge, question: Write, world: World) -> Iterator[Unit]:
        kind = _kind(question)
        read = _read(question)
        rate, length = self._rate(judge, question.task, kind)
        luck = zlib.crc32(f"{len(question.known)} {read}".encode("utf-8", "replace"))
        expected = rate[world] * text_length(read) / 100
        if kind == "nugget" and question.known:
            expected = self._again(judge)[world]
        count = int(expected * (0.6 + 0.8 * (luck % 997) / 996) + (luck >> 10) % 1009 / 1009)
        if kind == "bank":
            yield from (Unit("", "nugget", text) for text in question.known)
        room = question.most - len(question.known) if question.most else count
        texts = _pieces(read, int(length), luck)
        # Assume at least one claim or nugget per response; only the low scenario allows none, as in refusals.
        least = 1 if world and kind != "bank" and not question.known and read.strip() else 0
        for number in range(max(least, min(count, room))):
            sentence = question.sentences[number % len(question.sentences)] if question.sentences else None
            text = f"{number + 1}{len(question.known) or ''} {next(texts)}"
            yield Unit(
                f"{question.level}/{number + 1}", question.level, text,
                sentence.span if sentence else None, sentence.id if sentence else None, part=question.part,
            )  # fmt: skip

    def _rate(self, judge: Judge, task: Task, kind: Kind) -> tuple[Range, float]:
        at = (judge.id, task, kind)
        if at not in self._written:
            rate, length = self._history.written(judge, task, kind) or WRITTEN[kind]
            self._written[at] = rate, length
            text = "passage" if kind == "bank" else "response"
            said = f"{rate.expected:.2g} ({rate.low:.2g} to {rate.high:.2g})"
            units = {"claim": "claims", "nugget": "nuggets", "bank": "nuggets"}[kind]
            what = f"{units} per 100 characters of {text} by {judge.id.partition('@')[0]}"
            self.told[what] = f"{said}, {source(rate.samples, 'result')}"
        return self._written[at]

    # ---- lengths

    def length(self, judge: Judge, question: Question[Any], call: Call) -> Range:
        """Estimate the length of the reply to a call."""
        if isinstance(question, Write) and question.level == "nugget" and not question.passages:
            return self._listed(judge, question)
        line = self._history.habits(judge, question.task).reply
        self.lengths[judge.id, question.task] = line.samples if line else 0
        if line is not None:
            written = question.task in WRITES
            expected = line.at(size_of(judge.backend, call.body).usual if written else float(call.units))
            low, high = expected * max(0.0, 1 - line.margin), expected * (1 + line.margin)
            return Range(low, expected, high, scatter=line.scatter)
        expected = self._usual(judge, question, call.units)
        return Range(USUAL.low * expected, expected, USUAL.high * expected + thought(judge.id))

    def _again(self, judge: Judge) -> Range:
        found = self._history.lists(judge)
        return Range(found.again / 2, found.again, min(0.9, found.again * 1.3 + 0.1)) if found else AGAIN

    def _listed(self, judge: Judge, question: Write) -> Range:
        """Estimate the length of a list of nuggets: the first grows with the response, later ones are short."""
        found = self._history.lists(judge)
        self.lengths[judge.id, question.task] = found.samples if found else 0
        rate, length = self._rate(judge, question.task, "nugget")
        count = min(rate.expected * text_length(_read(question)) / 100, question.most or math.inf)
        if question.known:
            count = self._again(judge).expected
        expected = 5 + count * (found.each if found else NUGGET + length / 4)
        if found:
            return Range((1 - DRIFT) * expected, expected, (1 + DRIFT) * expected)
        return Range(USUAL.low * expected, expected, USUAL.high * expected + thought(judge.id))

    def _usual(self, judge: Judge, question: Question[Any], units: int) -> float:
        if isinstance(question, Write) and question.criterion:
            return STEP * len(STEPS)
        if isinstance(question, Write):
            kind = _kind(question)
            rate, length = self._rate(judge, question.task, kind)
            expected = rate.expected * text_length(_read(question)) / 100
            if kind == "bank":
                expected += len(question.known)
            if question.most:
                expected = min(expected, question.most)
            return 5 + max(expected, 1.0) * ((CLAIM if kind == "claim" else NUGGET) + length / 4)
        if isinstance(question, Trace):
            return OVERALL + 3 * len(question.sentences) + SENTENCE * len(question.response)
        assert isinstance(question, Rate)
        return 5 + verdict_tokens(question) * units + (REASON if question.reasons else 0)

    def left(self, route: Route, task: Task) -> Range:
        """Estimate the share of a cascade's units that are passed to its last judge."""
        assert route.error is not None
        share = self._history.left(task, [judge.id for judge in route.judges], route.error) or LEFT
        last = route.judges[-1].id.partition("@")[0]
        low, mean, high = (f"{100 * end:.0f}%" for end in share[:3])
        self.told[f"units of {task} passed to {last}"] = f"{mean} ({low} to {high}), {source(share.samples, 'result')}"
        return share

    def repairs(self, judge: Judge, task: Task) -> Range:
        """Estimate the share of calls that are repeated because the reply cannot be read."""
        habits = self._history.habits(judge, task)
        if habits.reply is None:
            return REPAIRS
        share = habits.repaired / habits.asked
        margin = 2 * (max(share, 1 / habits.asked) / habits.asked) ** 0.5
        return Range(max(0.0, share - margin), share, min(1.0, share + margin), habits.asked)


def thought(judge: str) -> int:
    """Return the reasoning tokens included in the high end of an assumed reply; 0 for a model that does not reason."""
    return THINKING if REASONING.search(judge) else 0


def drawn(text: str) -> float:
    """Return a pseudo-random number in [0, 1) that depends only on the text."""
    return zlib.crc32(text.encode("utf-8", "replace")) / 2**32


def _kind(question: Write) -> Kind:
    if question.level == "claim":
        return "claim"
    return "bank" if question.passages else "nugget"


def _read(question: Write) -> str:
    """Return the text that the units are extracted from."""
    items = cast("Sequence[Any]", question.passages or question.sentences)
    return " ".join(item.text for item in items)


def _pieces(text: str, length: int, luck: int) -> Iterator[str]:
    """Yield pieces of the text of up to ``length`` characters, endlessly."""
    at = luck % 7
    while True:
        if at + length > len(text):
            at = luck % 5
        yield text[at : at + length] or "-"
        at += length


def source(samples: int, what: str) -> str:
    """Return where a figure comes from, in words."""
    return f"learned from {samples:,} {what}{'' if samples == 1 else 's'}" if samples else "assumed"

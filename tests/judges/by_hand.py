"""Judges and their dialogues driven by hand: no event loop, no server."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from ragstone.judges.base import Call, Failed, Judge, Reply
from ragstone.judges.catalogue import build
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.judges.spec import Spec
from ragstone.questions import GRADE_0_3, YES_NO, Answer, Question, Rate, Rated, Write, Written
from ragstone.types import Passage, Scale, Span, Unit

Replying = Callable[[Call], Reply | Failed | str]
Round = Replying | Sequence[Reply | Failed | str]

PASSAGES = (Passage("a", "The fox ran over the hill.", 1), Passage("b", "The dog slept all day.", 2))
SENTENCES = (
    Unit("r/sentence/4", "sentence", "The fox ran.", Span(30, 42)),
    Unit("r/sentence/5", "sentence", "The dog slept.", Span(43, 57)),
)


def judge(**settings: Any) -> Judge:
    return build(Spec("mine", provider="openai", model="m", **settings))


def claims(count: int) -> tuple[Unit, ...]:
    return tuple(Unit(f"r/claim/{n}", "claim", f"Claim number {n}.") for n in range(1, count + 1))


def support(count: int = 2, scale: Scale = YES_NO, **options: Any) -> Rate:
    return Rate("support", claims(count), scale, **{"passages": PASSAGES, **options})


def graded(count: int = 2, **options: Any) -> Rate:
    return support(count, GRADE_0_3, **options)


def write(**options: Any) -> Write:
    return Write("claims", "claim", "What did they do?", SENTENCES, **options)


def drive(asked: Question[Any], *rounds: Round, by: Judge | None = None) -> tuple[Answer, list[list[Call]]]:
    """The answer, and the calls of every round; each round's replies are a list or made from each call."""
    dialogue = (by or judge()).dialogue(asked)
    calls: list[list[Call]] = [list(next(dialogue))]
    for replies in rounds:
        made = [replies(call) for call in calls[-1]] if callable(replies) else replies
        ready = [Reply(reply) if isinstance(reply, str) else reply for reply in made]
        assert len(ready) == len(calls[-1]), "as many replies as calls"
        try:
            calls.append(list(dialogue.send(ready)))
        except StopIteration as stop:
            assert replies is rounds[-1], "the dialogue ended before its replies did"
            return stop.value, calls
    raise AssertionError(f"it still asks: {body(calls[-1][0])['messages'][-1]['content']}")


def answered(asked: Question[Any], *replies: str, by: Judge | None = None) -> Answer:
    """The answer where each call of a round has that round's reply; the dialogue may end before the last one."""
    dialogue = (by or judge()).dialogue(asked)
    calls = next(dialogue)
    try:
        for reply in replies:
            calls = dialogue.send([Reply(reply)] * len(calls))
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer
    raise AssertionError("it still asks")


def computed(by: Any, asked: Question[Any]) -> Any:
    """The answer of a judge whose backend replies at once, from one round of calls or without any."""
    dialogue = by.dialogue(asked)
    try:
        dialogue.send([by.backend.reply(call) for call in next(dialogue)])
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it asks again")


def embedded(asked: Question[Any]) -> Any:
    return computed(EmbeddedJudge(), asked)


def rated(asked: Rate, *rounds: Round, by: Judge | None = None) -> Rated:
    answer, _ = drive(asked, *rounds, by=by)
    assert isinstance(answer, Rated)
    assert [verdict.unit for verdict in answer.verdicts] == list(asked.units)
    return answer


def written(asked: Write, *rounds: Round, by: Judge | None = None) -> Written:
    answer, _ = drive(asked, *rounds, by=by)
    assert isinstance(answer, Written)
    return answer


def labels(answer: Answer) -> list[str | None]:
    assert isinstance(answer, Rated)
    return [verdict.label for verdict in answer.verdicts]


def verdicts(**by_number: Any) -> str:
    """``verdicts(n1="yes")``: the reply that a judge should give."""
    return json.dumps({"verdicts": {name[1:]: {"label": label} for name, label in by_number.items()}})


def all_of(label: str) -> Replying:
    """Every unit that the schema asks for gets this label."""
    return lambda call: json.dumps({"verdicts": {number: {"label": label} for number in numbers(call)}})


def body(call: Call) -> Any:
    return orjson.loads(call.body)


def numbers(call: Call) -> list[str]:
    """The unit numbers that the schema of a call requires."""
    schema = body(call)["response_format"]["json_schema"]["schema"]
    found: list[str] = schema["properties"]["verdicts"]["required"]
    return found


def said(call: Call, turn: int = -1) -> str:
    text: str = body(call)["messages"][turn]["content"]
    return text

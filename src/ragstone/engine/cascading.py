"""Ask the judges of a cascade; record how many units each decided and which calls to the last judge were saved.

To know the saved calls, the last judge's prompts for the whole question are rendered as well, but not sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from ragstone.engine.document import CascadeNote, Note, Sent
from ragstone.engine.route import Route
from ragstone.judges.base import Call, Judge, is_steady
from ragstone.judges.cascade import cascade
from ragstone.questions import Answer, Rate, Rated


class Answered(NamedTuple):
    """An answer with notes on its calls."""

    answer: Answer
    notes: tuple[Note, ...]


async def in_cascade(
    route: Route,
    question: Rate,
    repeat: int,
    consult: Callable[[Judge, Rate, int], Awaitable[Answered]],
) -> Answered:
    """Ask each judge about the units that are still undecided; ``consult`` asks one judge."""
    notes: list[Note] = []
    asked: list[Rate] = []
    going = cascade(question, route.bands(question.task))
    try:
        part = next(going)
        while True:
            judge = route.judges[len(asked)]
            asked.append(part)
            consulted = await consult(judge, part, repeat)
            assert isinstance(consulted.answer, Rated)
            notes += consulted.notes
            part = going.send(consulted.answer)
    except StopIteration as stop:
        return Answered(stop.value, (*notes, cascade_note(route, asked, stop.value, repeat)))


def cascade_note(route: Route, asked: Sequence[Rate], rated: Rated, repeat: int) -> CascadeNote:
    """Return the note on one question; ``asked`` holds what each judge was asked, in order."""
    question, last = asked[0], route.judges[-1]
    alone = first_turn(last, question, repeat)
    sent: tuple[Sent, ...] = ()
    if len(asked) == len(route.judges):
        sent = alone if asked[-1] is question else first_turn(last, asked[-1], repeat)
    unjudged = sum(verdict.unjudged for verdict in rated.verdicts)
    left = [len(part.units) for part in asked] + [0] * (len(route.judges) - len(asked)) + [unjudged]
    answered = {judge.id: left[n] - left[n + 1] for n, judge in enumerate(route.judges)}
    if repeat:
        answered, unjudged = dict.fromkeys(answered, 0), 0
    assert route.error is not None
    return CascadeNote(f"{hash(question):x}.{repeat}", question.task, route.error, answered, unjudged, sent, alone)


def first_turn(judge: Judge, question: Rate, repeat: int) -> tuple[Sent, ...]:
    """Return the first calls of a judge; repair calls are not known in advance."""
    return tuple(Sent(call.key.hex(), len(call.body), call.units) for call in first_calls(judge, question, repeat))


def first_calls(judge: Judge, question: Rate, repeat: int) -> Sequence[Call]:
    """Return the first calls of a dialogue."""
    dialogue = judge.dialogue(question, repeat=0 if is_steady(judge.backend) else repeat)
    try:
        calls = next(dialogue)
    except StopIteration:  # nothing to ask
        return ()
    dialogue.close()
    return calls

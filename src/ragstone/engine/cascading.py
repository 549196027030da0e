"""What a cascade comes to: who answered how much of a question, and what the last judge was spared.

Spared is what it would have been sent if it had been asked the whole question: its prompts are rendered for that too,
and sent to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragstone.engine.document import CascadeNote, Sent
from ragstone.engine.route import Route
from ragstone.judges.base import Judge, is_steady
from ragstone.questions import Rate, Rated


def cascade_note(route: Route, asked: Sequence[Rate], rated: Rated, repeat: int) -> CascadeNote:
    """The note of one question: ``asked`` has, judge by judge, what each was asked, beginning with the whole of it."""
    question, last = asked[0], route.judges[-1]
    alone = first_turn(last, question, repeat)
    sent = Sent()
    if len(asked) == len(route.judges):
        sent = alone if asked[-1] is question else first_turn(last, asked[-1], repeat)
    unjudged = sum(verdict.unjudged for verdict in rated.verdicts)
    left = [len(part.units) for part in asked] + [0] * (len(route.judges) - len(asked)) + [unjudged]
    answered = {judge.id: left[n] - left[n + 1] for n, judge in enumerate(route.judges)}
    if repeat:
        answered, unjudged = dict.fromkeys(answered, 0), 0
    assert route.error is not None
    return CascadeNote(f"{hash(question):x}.{repeat}", question.task, route.error, answered, unjudged, sent, alone)


def first_turn(judge: Judge, question: Rate, repeat: int) -> Sent:
    """What the judge would be sent at first; turns that mend a reply are not known before it is there."""
    dialogue = judge.dialogue(question, repeat=0 if is_steady(judge.backend) else repeat)
    try:
        calls = next(dialogue)
    except StopIteration:  # there is nothing to ask
        return Sent()
    dialogue.close()
    return Sent(len(calls), sum(len(call.body) for call in calls), sum(call.units for call in calls))

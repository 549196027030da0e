"""The scripted judge answers what its script says, and the driver runs a metric by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from ragstone.errors import BackendError
from ragstone.judges.base import Backend, Call, Failed, Judge, Reply
from ragstone.questions import GRADE_0_3, YES_NO, Answer, Rate, Rated, Write, Written
from ragstone.testing import Script, ScriptedJudge, drive, scripted_answer
from ragstone.types import Passage, Quote, Span, Unit, Verdict

TEXT = "The kettle is steel. It boils fast."
SENTENCES = (
    Unit("r/sentence/1", "sentence", TEXT[:20], Span(0, 20)),
    Unit("r/sentence/2", "sentence", TEXT[21:], Span(21, 35)),
)
WRITE = Write("claims", "claim", "What kettle?", SENTENCES, part=2)
UNITS = tuple(Unit(f"r/claim/{n}", "claim", text) for n, text in enumerate("abc", 1))
RATE = Rate("support", UNITS, YES_NO, passages=(Passage("p1", "some text", 1),))


def through(judge: ScriptedJudge, question: Any, repeat: int = 0) -> Answer:
    """Ask as the engine does, with a reply that went through a store."""
    dialogue = judge.dialogue(question, repeat=repeat)
    (call,) = next(dialogue)
    reply: Reply | Failed
    try:
        reply = asyncio.run(judge.backend.send(call))
    except BackendError as error:
        reply = Failed(str(error))
    with pytest.raises(StopIteration) as stop:
        dialogue.send((reply,))
    answer: Answer = stop.value.value
    return answer


def labels(answer: Answer) -> list[str | None]:
    assert isinstance(answer, Rated)
    return [verdict.label for verdict in answer.verdicts]


def test_it_is_a_judge() -> None:
    """It has everything that the engine asks of a judge and of a backend."""
    scripted = ScriptedJudge({})
    judge: Judge = scripted
    assert isinstance(scripted.backend, Backend)
    assert (judge.name, judge.id, judge.backend.free) == ("scripted", "scripted", True)
    assert ScriptedJudge({}, name="other").id == "other"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("yes", ["yes", "yes", "yes"]),
        (["yes", "no"], ["yes", "no", "yes"]),
        (["no", None, "yes"], ["no", None, "yes"]),
        ({"a": "yes", "c": "no"}, ["yes", None, "no"]),
        ("trivial", ["trivial", "trivial", "trivial"]),
        ([], [None, None, None]),
    ],
)
def test_labels_come_in_any_short_form(found: Any, expected: list[str | None]) -> None:
    """One label for all, labels in order, or labels by text; by task or by a function of the question."""
    scripts: tuple[Script, ...] = ({"support": found}, lambda _: found)
    for script in scripts:
        answer = through(ScriptedJudge(script), RATE)
        assert labels(answer) == expected
        assert answer == scripted_answer(RATE, script)


def test_a_verdict_has_the_value_and_the_raw_number_of_its_label() -> None:
    """Values follow the scale of the question."""
    answer = scripted_answer(replace(RATE, scale=GRADE_0_3), lambda _: ["3", "1", "trivial"])
    assert isinstance(answer, Rated)
    assert [(verdict.value, verdict.raw) for verdict in answer.verdicts] == [(1.0, 3), (1 / 3, 1), (None, None)]
    assert [verdict.unit for verdict in answer.verdicts] == list(UNITS)
    assert {verdict.judge for verdict in answer.verdicts} == {"scripted"}


def test_a_label_that_is_not_on_the_scale_leaves_its_unit_unjudged() -> None:
    """The failure names the label and the scale, and the other units keep theirs."""
    answer = scripted_answer(RATE, lambda _: ["yes", "perhaps", "no"])
    assert isinstance(answer, Rated)
    assert labels(answer) == ["yes", None, "no"]
    assert "'perhaps' is not on the scale yes_no: no, yes" in answer.verdicts[1].failure


def test_texts_become_claims_that_know_their_sentence() -> None:
    """A text that stands in the part gets its own span; another that of the first sentence."""
    written = through(ScriptedJudge({"claims": ["It boils", "Steel lasts."]}), WRITE)
    assert written == Written(
        (
            Unit("claim/1", "claim", "It boils", Span(21, 29), "r/sentence/2", part=2),
            Unit("claim/2", "claim", "Steel lasts.", Span(0, 20), "r/sentence/1", part=2),
        )
    )
    assert scripted_answer(WRITE, lambda _: "One.") == Written(
        (Unit("claim/1", "claim", "One.", Span(0, 20), "r/sentence/1", part=2),)
    )


def test_a_ready_answer_is_passed_on_whole() -> None:
    """Evidence, reasons, probabilities and the members of a panel survive the store."""
    quote = Quote("p1", Span(0, 4), "some", verbatim=True)
    lost = Quote("", None, "elsewhere", verbatim=False)
    member = Verdict(UNITS[0], "no", 0.0, "b", raw=0)
    verdicts = (
        Verdict(UNITS[0], "yes", 1.0, "x", 1, 0.9, (quote, lost), "because", members=(member,)),
        Verdict(UNITS[1], None, None, "x", failure="tired"),
        Verdict(UNITS[2], "no", 0.0, "x"),
    )
    answer = through(ScriptedJudge(lambda _: Rated(verdicts, "all in all"), name="x"), RATE)
    assert answer == Rated(verdicts, "all in all")
    units = (Unit("claim/1", "claim", "t", Span(0, 1), "r/sentence/1", 0.5, 2), Unit("claim/2", "claim", "u"))
    assert through(ScriptedJudge(lambda _: Written(units, "cut off")), WRITE) == Written(units, "cut off")


def test_an_answer_for_other_units_is_an_error() -> None:
    """Too few verdicts are the script's mistake, and it is told."""
    with pytest.raises(ValueError, match="1 verdicts for 3 units"):
        scripted_answer(RATE, lambda _: Rated((Verdict(UNITS[0], "yes", 1.0, "x"),)))


def test_a_failure_leaves_everything_unjudged() -> None:
    """Failed in the script is a call that failed: no labels, no claims, and the reason."""
    judge = ScriptedJudge({"support": Failed("down"), "claims": Failed("out")})
    rated, written = through(judge, RATE), through(judge, WRITE)
    assert isinstance(rated, Rated)
    assert [(verdict.label, verdict.value, verdict.failure) for verdict in rated.verdicts] == [(None, None, "down")] * 3
    assert written == Written((), "out")
    assert through(ScriptedJudge({}), WRITE) == Written((), "the script has no answer to this question")


def test_a_script_may_raise_errors_of_its_own() -> None:
    """A retryable error goes to the engine as it is."""

    def script(_: object) -> str:
        raise BackendError("busy", retryable=True)

    judge = ScriptedJudge(script)
    (call,) = next(judge.dialogue(RATE))
    with pytest.raises(BackendError, match="busy") as caught:
        asyncio.run(judge.backend.send(call))
    assert caught.value.retryable


def test_calls_are_told_apart_by_question_repeat_and_version() -> None:
    """Equal questions are one call; another question, repeat, version or name is another."""

    def key(question: Any = RATE, repeat: int = 0, **more: str) -> bytes:
        (call,) = next(ScriptedJudge({}, **more).dialogue(question, repeat=repeat))  # type: ignore[arg-type]
        assert isinstance(call, Call)
        return call.key

    keys = [key(), key(replace(RATE, reasons=True)), key(WRITE), key(repeat=1), key(version="2"), key(name="b")]
    assert len(set(keys)) == len(keys)
    assert key() == key()
    (call,) = next(ScriptedJudge({}).dialogue(RATE))
    assert (call.task, call.units) == ("support", 3)


def test_it_remembers_what_it_was_asked_and_can_be_limited() -> None:
    """Questions are listed in order; tasks that it was not given it cannot."""
    judge = ScriptedJudge({"support": "yes", "claims": "c"}, tasks=("support", "claims"))
    through(judge, RATE)
    through(judge, WRITE)
    assert judge.asked == [RATE, WRITE]
    assert judge.can("claims")
    assert not judge.can("relevance")


def flow() -> Generator[Sequence[Any], Sequence[Answer], float]:
    """A metric in small: write claims, rate what was written."""
    (written,) = yield (WRITE,)
    assert isinstance(written, Written)
    if not written.units:
        return 0.0
    first, second = yield (replace(RATE, units=written.units), replace(RATE, units=written.units, wording=2))
    return float(labels(first).count("yes") + labels(second).count("yes"))


def test_a_flow_is_driven_to_its_end() -> None:
    """The driver answers every question and returns what the flow returns, and the questions."""

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return ["one", "two"]
        return ["yes", "no"] if question.wording == 1 else "yes"

    scores, asked = drive(flow(), answer)
    assert scores == 3.0
    assert [type(question).__name__ for question in asked] == ["Write", "Rate", "Rate"]
    script: Script = {"claims": [], "support": "yes"}
    assert drive(flow(), script) == (0.0, [WRITE])


def test_a_flow_without_questions_is_driven_too() -> None:
    """A flow that returns at once has asked nothing."""

    def silent() -> Generator[Sequence[Any], Sequence[Answer], str]:
        return "done"
        yield ()

    assert drive(silent(), {}) == ("done", [])

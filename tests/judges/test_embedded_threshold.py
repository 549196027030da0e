"""The threshold of the embedded judge: it moves the labels, not the probabilities, and the signature has it."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragstone
from ragstone.errors import ConfigError
from ragstone.judges.base import Call, Reply
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.judges.embedded.compute import reply_to
from ragstone.questions import GRADE_0_2, GRADE_0_3, LIKERT, YES_NO, Rate, Rated, Task, Trace, Traced, Write
from ragstone.types import Passage, Scale, Span, Unit, Verdict

HALF = "Moscow is a capital with many bridges."
CONTEXT = "Moscow is the capital of Russia. It has 12,000,000 inhabitants and many parks."


def ask(question: Rate | Trace, threshold: float | None) -> tuple[Call, Rated | Traced]:
    dialogue = EmbeddedJudge(threshold=threshold).dialogue(question)
    (call,) = next(dialogue)
    with pytest.raises(StopIteration) as stop:
        dialogue.send([Reply(reply_to(call.body))])
    return call, stop.value.value


def rated(text: str, threshold: float | None, task: Task = "support", scale: Scale = YES_NO) -> Verdict:
    unit = (Unit("r/claim/1", "claim", text),)
    passages = (Passage("p", CONTEXT, 1),)
    _, answer = ask(Rate(task, unit, scale, question="What is Moscow?", passages=passages), threshold)
    (verdict,) = answer.verdicts
    return verdict


@pytest.mark.parametrize("task", ["support", "assign", "response_support", "relevance"])
def test_yes_begins_at_the_threshold(task: Task) -> None:
    """The probability and the call stay; the reason says what the threshold has changed, and only then."""
    own = rated(HALF, None, task)
    assert own.probability is not None
    assert own.label == "yes"
    at, above = rated(HALF, own.probability, task), rated(HALF, own.probability + 1e-6, task)
    assert (at.label, above.label) == ("yes", "no")
    assert at.reason == own.reason
    assert above.reason == f"{own.reason}; below the threshold of {own.probability + 1e-6:g}"
    assert own.probability == at.probability == above.probability


def test_a_lower_threshold_accepts_more_and_says_so() -> None:
    text = "Moscow remains a capital of many bridges."
    own = rated(text, None)
    assert own.probability is not None
    assert own.label == "no"
    assert own.probability > 0.35
    lower = rated(text, 0.35)
    assert lower.label == "yes"
    assert lower.reason.endswith("; reaches the threshold of 0.35")


def test_a_contradicted_fact_is_refused_at_any_threshold() -> None:
    """A threshold that could let one pass is an error; a whole response with one keeps the judge's own cut."""
    text = "Moscow is the capital of Russia and has 13,000,000 inhabitants and many parks."
    for scale in (YES_NO, GRADE_0_2, LIKERT):
        assert rated(text, 0.35, scale=scale).label == scale.labels[0]
    whole = f"Moscow is the capital of Russia. {text}"
    assert rated(whole, 0.35, "response_support").label == "no"
    with pytest.raises(ConfigError, match=r"judges\.loose\.threshold 0\.2; expected a number from 0\.35 to 1"):
        EmbeddedJudge("loose", 0.2)


def test_of_more_labels_the_upper_half_begins_there() -> None:
    """Support keeps where its worst label ends; relevance parts each half of its scale as before."""
    own = rated(HALF, None)
    assert own.probability is not None
    higher = (own.probability + 1) / 2
    assert [rated(HALF, higher, scale=scale).label for scale in (GRADE_0_2, LIKERT)] == ["1", "3"]
    about = rated("Moscow is a large city.", None, "relevance", YES_NO)
    assert about.probability is not None
    low = rated("Moscow is a large city.", min(1.0, about.probability + 0.01), "relevance", GRADE_0_3)
    assert low.label in GRADE_0_3.labels[:2]


def test_a_trace_has_it_too() -> None:
    sentence = Unit("r/sentence/1", "sentence", HALF, Span(0, len(HALF)))
    context = Unit("p/1", "sentence", CONTEXT, Span(0, len(CONTEXT)), parent="p")
    question = Trace("trace", "What is Moscow?", (context,), (sentence,))
    first, own = ask(question, None)
    second, strict = ask(question, 1.0)
    assert isinstance(own, Traced)
    assert isinstance(strict, Traced)
    assert first.key == second.key
    assert [answer.verdicts[0].label for answer in (own, strict)] == ["yes", "no"]
    assert (bool(own.support[0]), strict.support[0]) == (True, ())


def test_only_steps_with_a_probability_name_it() -> None:
    """So that the signature changes where labels may, and stored claims stay what they are."""
    strict, own = EmbeddedJudge("strict", 0.62), EmbeddedJudge()
    for task in ("support", "assign", "response_support", "relevance"):
        question = Rate(task, (), YES_NO)
        assert strict.maker(question) == f"{own.maker(question)},cut=0.62"
    for other in (Write("claims", "claim", ""), Rate("importance", (), YES_NO)):
        assert strict.maker(other) == own.maker(other)


@pytest.mark.usefixtures("alone")
def test_a_table_sets_it_and_compare_says_so() -> None:
    """``[judges.NAME]`` names it; a run with it takes the stored calls and is not comparable with one without."""
    Path("ragstone.toml").write_text('[judges.strict]\nprovider = "embedded"\nthreshold = 0.99\n', encoding="utf-8")
    rows = [{"question": "What is Moscow?", "response": HALF, "contexts": [CONTEXT]}]
    first = ragstone.evaluate(rows, "grounding", "embedded")
    second = ragstone.evaluate(rows, "grounding", ["embedded", "support=strict"])
    assert [run.summary()["metrics"]["grounding"]["mean"] for run in (first, second)] == [1, 0]
    assert (second.summary()["bill"]["here"], second.summary()["bill"]["replayed"]) == ({}, 2)
    (part,) = ragstone.compare(first, second)["grounding"].signatures
    assert part.part == "support"
    assert part.second == f"{part.first},cut=0.99"

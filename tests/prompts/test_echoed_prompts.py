"""A small model says its prompt again instead of answering: nothing of that is a label, a quote, a reason or a text."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest
from prompt_cases import ASSIGNED, CASES, STYLED

from ragstone.judges.base import Call, Judge, Reply
from ragstone.judges.catalogue import build
from ragstone.judges.readings import read_units
from ragstone.judges.spec import Spec
from ragstone.parsing import LABEL_FORMATS
from ragstone.prompts import parse
from ragstone.prompts.choice import Choice
from ragstone.questions import GRADE_0_3, LIKERT, YES_NO, Question, Rate, Rated, Traced, Write, Written
from ragstone.types import Passage, Unit

ASKED: dict[str, tuple[Question[Any], Choice]] = {
    **{
        name + language: (case, Choice(f"default{language}"))
        for name, case in CASES.items()
        for language in ("", ".ru")
    },
    **{
        f"{question.task}-{style}-{fmt}": (question, Choice(style, format=fmt))
        for question in (ASSIGNED, STYLED["relevance"])
        for style in ("no_reasoning", "short_cot", "long_cot", *(("legacy", "optimized") * (question is ASSIGNED)))
        for fmt in LABEL_FORMATS
    },
}


def judge(choice: Choice) -> Judge:
    return build(Spec("judge", model="m", choice=choice))


def answered(question: Question[Any], choice: Choice, *said: str) -> tuple[Any, int]:
    """The answer to a model that says these, the last one for ever, and how often it was asked."""
    dialogue = judge(choice).dialogue(question)
    calls = next(dialogue)
    rounds = 0
    try:
        while True:
            text = said[min(rounds, len(said) - 1)]
            rounds += 1
            calls = dialogue.send([Reply(text) for _ in calls])
    except StopIteration as stop:
        return stop.value, rounds


def nothing(answer: Rated | Written | Traced) -> bool:
    if isinstance(answer, Written):
        return bool(answer.failure) and not answer.units
    unjudged = all(verdict.unjudged and verdict.failure for verdict in answer.verdicts)
    return unjudged and (isinstance(answer, Rated) or answer.relevant is answer.utilized is None)


def messages(call: Call) -> list[str]:
    return [message["content"] for message in orjson.loads(call.body)["messages"]]


def echoes(call: Call) -> dict[str, str]:
    """What may be said again of a prompt: all of it, a part, the form of the answer, and that form as good JSON."""
    system, user = messages(call)
    found = {"system": system, "user": user, "all": f"{system}\n\n{user}"}
    asked = user if "1" in user.rpartition("]")[2] else system
    found["last lines"] = "\n".join(asked.splitlines()[-6:])
    for line in system.splitlines():
        if line.startswith('{"'):
            found["form"] = line
            found["form as JSON"] = re.sub(r', "?\w*"?:? ?…', "", line.replace("<number>", "1")).replace(
                "<0 to 1>", "1"
            )
    return found


@pytest.mark.parametrize("name", ASKED)
def test_a_prompt_that_is_said_again_is_asked_about_once_more_and_then_unjudged(name: str) -> None:
    question, choice = ASKED[name]
    for what, text in echoes(next(judge(choice).dialogue(question))[0]).items():
        answer, rounds = answered(question, choice, text)
        assert nothing(answer), (what, answer)
        assert rounds == 2, what


FILLED = {
    "quote": {"evidence": [{"passage": 1, "quote": "<copied words>"}], "reason": "It is stated."},
    "bare quote": {"evidence": [{"passage": 1, "quote": "copied words"}], "reason": "It is stated."},
    "words of the prompt": {"evidence": [{"passage": 2, "quote": "at most two short quotes, copied exactly"}]},
    "reason": {"evidence": [], "reason": "<one sentence>"},
    "reason of the prompt": {"evidence": [], "reason": "Why the label applies, naming anything that is missing"},
    "dots": {"evidence": [{"passage": 1, "quote": "…"}], "reason": "..."},
}


@pytest.mark.parametrize("scale", [YES_NO, LIKERT, GRADE_0_3])
@pytest.mark.parametrize("fields", FILLED.values(), ids=FILLED)
def test_a_label_beside_a_placeholder_is_none(fields: dict[str, Any], scale: Any) -> None:
    """As gemma-3-270m answers where a schema holds it to the labels."""
    case = CASES["support-yes_no-evidence-reasons"]
    assert isinstance(case, Rate)
    question = Rate("support", case.units, scale, passages=case.passages, evidence=True, reasons=True)
    label = scale.labels[1]
    good = {"evidence": [{"passage": 1, "quote": "Bern is the capital"}], "reason": "It is stated.", "label": label}
    first = orjson.dumps({"verdicts": {"1": good, "2": {**fields, "label": label}}}).decode()
    second = orjson.dumps({"verdicts": {"2": {**fields, "label": label}}}).decode()
    answer, rounds = answered(question, Choice("default"), first, second)
    assert [verdict.label for verdict in answer.verdicts] == [label, None]
    assert rounds == 2
    assert "2: " in answer.verdicts[1].failure
    assert "prompt" in answer.verdicts[1].failure
    repaired = orjson.dumps({"verdicts": {"2": good}}).decode()
    answer, _ = answered(question, Choice("default"), first, repaired)
    assert [verdict.label for verdict in answer.verdicts] == [label, label]


OF_THE_PROMPT = "A claim is one fact in one short sentence"


@pytest.mark.parametrize("words", ["<text>", "text", "…", OF_THE_PROMPT])
def test_a_claim_that_is_the_prompts_is_none(words: str) -> None:
    said = orjson.dumps({"claims": [{"sentence": 1, "claim": words, "confidence": 1}]}).decode()
    answer, rounds = answered(CASES["claims-first_part"], Choice("default"), said)
    assert nothing(answer)
    assert rounds == 2


def test_a_claim_of_the_text_is_one_though_the_prompt_says_it_too() -> None:
    said = orjson.dumps({"claims": [{"sentence": 1, "claim": OF_THE_PROMPT, "confidence": 1}]}).decode()
    part = (Unit("r/sentence/1", "sentence", f"{OF_THE_PROMPT}."),)
    answer, rounds = answered(Write("claims", "claim", "", part), Choice("default"), said)
    assert ([unit.text for unit in answer.units], rounds) == ([OF_THE_PROMPT], 1)


@pytest.mark.parametrize("fmt", LABEL_FORMATS)
def test_a_reasoning_block_that_is_the_prompts_gives_no_labels(fmt: Any) -> None:
    said = (
        '<reasoning>\n1.\n   nugget: the nugget as given\n   snippet: "the few words of the passage"'
        "\n   rationale: one sentence naming what is stated\n   decision: support\n</reasoning>\n"
    )
    question = Rate("assign", ASSIGNED.units[:1], ASSIGNED.scale, ASSIGNED.question, ASSIGNED.passages, evidence=True)
    answer, rounds = answered(question, Choice("short_cot", format=fmt), f'{said}["support"]')
    assert nothing(answer)
    assert rounds == 2


def test_what_a_passage_holds_is_a_quote_however_it_looks() -> None:
    """Pages in angle brackets are quoted as they are, and one may be about how prompts are written."""
    passage = Passage("page", "Set <b>bold</b> by <strong>; one sentence says why the label applies.", 1)
    case = CASES["support-yes_no-evidence-reasons"]
    assert isinstance(case, Rate)
    question = Rate("support", case.units[:1], YES_NO, passages=(passage,), evidence=True, reasons=True)
    for quote in ("<strong>", "<b>bold</b>", "one sentence", "why the label applies"):
        entry = {"evidence": [{"passage": 1, "quote": quote}], "reason": "It is there.", "label": "yes"}
        answer, rounds = answered(question, Choice("default"), orjson.dumps({"verdicts": {"1": entry}}).decode())
        assert (answer.verdicts[0].label, rounds) == ("yes", 1)
        assert answer.verdicts[0].evidence[0].verbatim


def test_an_answer_over_the_lines_of_the_form_is_one() -> None:
    """A prompt may show its form over several lines, and a model fill it in as it is."""
    shown = '{\n  "claims": [\n    {\n      "claim": "<text>"\n    }\n  ]\n}'
    wording = parse(
        f"---\ntask: claims\nstyle: own\n---\n=== system ===\nSay:\n{shown}\n=== user ===\nx\n", "own"
    ).wording
    case = CASES["claims-first_part"]
    assert isinstance(case, Write)
    units = read_units(case, Reply(shown.replace("<text>", "It rains.")), wording).units
    assert [unit.text for unit in units] == ["It rains."]
    assert (
        read_units(case, Reply(shown), wording).problem
        == "the reply repeats words of the prompt instead of a claim: '<text>'"
    )


@pytest.mark.parametrize(
    ("reason", "summary", "kept"),
    [
        *((reason, "", "") for reason in ("The passages state it.", "None of it is in the passages.", "yes")),
        ("supported", "<one sentence on all of them>", ""),
        ("It is stated.", "All is stated.", "All is stated."),
    ],
)
def test_a_reason_in_the_words_of_a_label_is_a_reason_and_a_placeholder_no_summary(
    reason: str, summary: str, kept: str
) -> None:
    good = {"evidence": [], "reason": reason, "label": "yes"}
    said = orjson.dumps({"verdicts": {"1": good, "2": good}, "summary": summary}).decode()
    answer, rounds = answered(CASES["support-yes_no-evidence-reasons"], Choice("default"), said)
    assert [(verdict.label, verdict.reason) for verdict in answer.verdicts] == [("yes", reason)] * 2
    assert (answer.reason, rounds) == (kept, 1)

"""Answers as long as a language model's: by the texts of the request, and always the same."""

from __future__ import annotations

import json
from typing import Any

from loopback import Client

from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec
from ragstone.questions import GRADE_0_3, YES_NO, Question, Rate, Trace, Write
from ragstone.testing import FakeServer
from ragstone.testing.realistic import WORDS_A_CLAIM, realistic
from ragstone.types import Passage, Span, Unit

LONG = " ".join(f"word{number}" for number in range(4 * WORDS_A_CLAIM))
JUDGE = build(Spec("m", model="m"))


def asked(question: Question[Any]) -> dict[str, Any]:
    """The request of a language model's judge."""
    (call,) = next(JUDGE.dialogue(question))
    request: dict[str, Any] = json.loads(call.body)
    return request


def answer(question: Question[Any], seed: int) -> Any:
    request = asked(question)
    return realistic(request["response_format"]["json_schema"]["schema"], request, seed)


def sentence(number: int, text: str) -> Unit:
    return Unit(f"r/sentence/{number}", "sentence", text, Span(0, len(text)))


def test_a_long_sentence_makes_more_claims_than_a_short_one() -> None:
    """About one for each thirteen words, each of a sentence that there is."""
    question = Write("claims", "claim", "What?", (sentence(1, LONG), sentence(2, "It boils.")))
    counts = [0, 0]
    for seed in range(40):
        for claim in answer(question, seed)["claims"]:
            counts[claim["sentence"] - 1] += 1
            assert len(claim["claim"].split()) >= 3
    assert 3 * 40 <= counts[0] <= 5 * 40
    assert counts[1] < 40


def test_verdicts_have_quotes_of_the_request() -> None:
    """One as a rule, sometimes two or none; and a label of the scale for each unit."""
    units = (sentence(1, "It boils."), sentence(2, "It is steel."))
    question = Rate("support", units, YES_NO, passages=(Passage("p", LONG, 1),), evidence=True, reasons=True)
    seen = set()
    for seed in range(60):
        verdicts = answer(question, seed)["verdicts"]
        assert set(verdicts) == {"1", "2"}
        for verdict in verdicts.values():
            assert verdict["label"] in YES_NO.labels
            assert 12 <= len(verdict["reason"].split()) <= 34
            seen.add(len(verdict["evidence"]))
            assert all(7 <= len(quote["quote"].split()) <= 26 for quote in verdict["evidence"])
    assert seen == {0, 1, 2}


def test_a_further_list_of_nuggets_is_mostly_empty() -> None:
    """What is listed already is not listed again."""
    first = Write("nuggetize", "nugget", "What?", (sentence(1, LONG),), most=30)
    again = Write("nuggetize", "nugget", "What?", (sentence(1, LONG),), most=30, known=("It boils",))
    assert sum(len(answer(first, seed)["nuggets"]) for seed in range(20)) >= 40
    assert sum(len(answer(again, seed)["nuggets"]) for seed in range(20)) <= 5


def test_a_bank_grows_with_what_is_read() -> None:
    """It begins with what was on the list."""
    question = Write(
        "nuggetize", "nugget", "What?", passages=(Passage("p", LONG * 4, 1),), known=("It boils",), most=30
    )
    nuggets = answer(question, 1)["nuggets"]
    assert nuggets[0] == "It boils"
    assert 2 <= len(nuggets) <= 30


def test_a_trace_names_keys_that_there_are() -> None:
    sentences = tuple(Unit(f"r/sentence/doc_0_s{n}", "sentence", "Steel it is.", Span(0, 12), "p") for n in range(9))
    response = (Unit("r/sentence/resp_s0", "sentence", "It boils.", Span(0, 9)),)
    known = {f"doc_0_s{n}" for n in range(9)}
    for seed in range(20):
        found = answer(Trace("trace", "What?", sentences, response), seed)
        assert set(found["relevant"]) | set(found["utilized"]) <= known
        assert set(found["sentences"]["resp_s0"]["support"]) <= known


def test_equal_requests_have_equal_answers() -> None:
    question = Rate("relevance", (sentence(1, LONG),), GRADE_0_3, question="What?")
    assert answer(question, 3) == answer(question, 3)
    assert realistic({"type": "array", "items": {"type": "integer"}}, {}, 3) == realistic(
        {"type": "array", "items": {"type": "integer"}}, {"messages": "none"}, 3
    )


def test_the_server_answers_so_when_it_is_told() -> None:
    """Longer than it does otherwise."""
    schema = {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}
    with FakeServer(realistic=True) as server:
        client = Client(server)
        text = json.loads(client.chat(LONG, schema).content)["reason"]
        assert len(text.split()) >= 12
        server.configure(realistic=False)
        assert len(json.loads(client.chat(LONG, schema).content)["reason"].split()) < 12
        client.connection.close()

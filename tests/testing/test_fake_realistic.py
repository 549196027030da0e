"""Answers as long as a language model's: by the texts of the request, and always the same."""

from __future__ import annotations

import json
from typing import Any

from loopback import Client

from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec
from ragstone.questions import YES_NO, Question, Rate, Trace, Write
from ragstone.testing import FakeServer
from ragstone.types import Passage, Span, Unit
from realistic import WORDS_A_CLAIM, realistic, written

LONG = " ".join(f"word{number}" for number in range(4 * WORDS_A_CLAIM))
JUDGE = build(Spec("m", model="m"))


def asked(question: Question[Any]) -> dict[str, Any]:
    """The request of a language model's judge."""
    (call,) = next(JUDGE.dialogue(question))
    request: dict[str, Any] = json.loads(call.body)
    return request


def answer(question: Question[Any], seed: int) -> Any:
    request = asked(question)
    return written(request["response_format"]["json_schema"]["schema"], request, seed)


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


def test_a_trace_names_keys_that_there_are() -> None:
    sentences = tuple(Unit(f"r/sentence/doc_0_s{n}", "sentence", "Steel it is.", Span(0, 12), "p") for n in range(9))
    response = (Unit("r/sentence/resp_s0", "sentence", "It boils.", Span(0, 9)),)
    known = {f"doc_0_s{n}" for n in range(9)}
    for seed in range(20):
        found = answer(Trace("trace", "What?", sentences, response), seed)
        assert set(found["relevant"]) | set(found["utilized"]) <= known
        assert set(found["sentences"]["resp_s0"]["support"]) <= known


def test_a_server_answers_so_and_always_the_same() -> None:
    """Longer than it does by itself."""
    schema = {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}
    with FakeServer(answer=realistic) as server:
        client = Client(server)
        texts = [json.loads(client.chat(LONG, schema).content)["reason"] for _ in range(2)]
        client.connection.close()
    assert texts[0] == texts[1]
    assert len(texts[0].split()) >= 12

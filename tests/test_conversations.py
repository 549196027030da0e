"""Earlier turns of a conversation: read from records, put before the question, shown, and no evidence."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ragstone import evaluate, score
from ragstone.analysis.labelling import sample
from ragstone.judges.base import Call
from ragstone.judges.catalogue import build
from ragstone.judges.embedded.judge import EmbeddedJudge
from ragstone.judges.spec import Spec
from ragstone.metrics import catalogue
from ragstone.prompts.material import nonce_of, variables_of
from ragstone.questions import (
    GRADE_0_3,
    HISTORY,
    TURN,
    YES_NO,
    EarlierTurns,
    Question,
    Rate,
    Trace,
    Write,
    history_of,
    in_conversation,
    key_of,
)
from ragstone.records import open_records
from ragstone.render.html.case import case_of
from ragstone.render.notebook import result_page
from ragstone.testing import drive
from ragstone.types import Nugget, Passage, Record, Span, Unit

ASKED = "and in winter?"
PRICE = "In winter a night at Hut Alba costs {} francs."
TURNS = [
    {"role": "user", "content": "What does a night at Hut Alba cost in summer?"},
    {"role": "assistant", "content": "40 francs."},
]
TOLD = "user: What does a night at Hut Alba cost in summer?\nassistant: 40 francs."
EXCHANGE = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": PRICE.format(25)}]
ROW = {"id": "r", "question": ASKED, "response": PRICE.format(25), "contexts": [PRICE.format(25)]}


def read(tmp_path: Path, row: Mapping[str, Any]) -> Record:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(row), "utf-8")
    with open_records(path) as source:
        (record,) = source
    assert isinstance(record, Record)
    return record


def hut(**meta: Any) -> Record:
    passage = Passage("p1", PRICE.format(25), 1)
    told = PRICE.format(25)
    return Record("r", ASKED, PRICE.format(40), (passage,), reference=told, nuggets=(Nugget("25 francs"),), meta=meta)


def asked_by(name: str, record: Record) -> list[Question[Any]]:
    """The questions of a metric, each unit of which gets its best label."""

    def answer(question: Question[Any]) -> Any:
        if isinstance(question, Write):
            return [] if question.known else [PRICE.format(25)]
        if isinstance(question, Trace):
            return {"relevant": [], "utilized": [], "support": {key_of(unit): [] for unit in question.response}}
        assert isinstance(question, Rate)
        return [question.scale.labels[-1] for _ in question.units]

    return drive(catalogue()[name]().flow(record), answer)[1]


@pytest.mark.parametrize(
    "more",
    [
        {"history": TURNS},
        {"chat_history": TURNS},
        {"history": [["human", TURNS[0]["content"]], ["ai", TURNS[1]["content"]]]},
        {"history": [*TURNS, *EXCHANGE]},
        {"messages": [{"role": "system", "content": "Be brief."}, *TURNS, *EXCHANGE]},
        {"question": None, "response": None, "messages": [*TURNS, *EXCHANGE]},
    ],
)
def test_earlier_turns_are_read_from_any_record(tmp_path: Path, more: dict[str, Any]) -> None:
    """The exchange that is judged is not among them, and what was given otherwise is kept."""
    row = {name: value for name, value in {**ROW, **more}.items() if value is not None}
    record = read(tmp_path, row)
    assert (record.question, record.response) == (ASKED, PRICE.format(25))
    assert record.meta["history"] == TURNS
    if row.get("history", TURNS) != TURNS:
        assert record.meta["given_history"] == row["history"]


def test_a_question_that_is_asked_again_keeps_its_first_answer(tmp_path: Path) -> None:
    before = [*EXCHANGE[:1], {"role": "assistant", "content": "I do not know."}]
    assert read(tmp_path, {**ROW, "history": before}).meta["history"] == before


@pytest.mark.parametrize("given", ["a text", 7, [], [1], ["a", "b"], {"role": "user"}, [{"content": "x"}], None])
def test_a_history_of_another_shape_is_meta_alone(tmp_path: Path, given: Any) -> None:
    record = read(tmp_path, {**ROW, "history": given})
    assert record.meta["history"] == given
    assert not history_of(record.meta)


def test_the_cells_of_a_table_are_read_too(tmp_path: Path) -> None:
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["question", "response", "history"], [ASKED, "25", json.dumps(TURNS)]])
    with open_records(tmp_path / "in.csv") as source:
        (record,) = source
    assert isinstance(record, Record)
    assert record.meta["history"] == TURNS


@pytest.mark.parametrize("name", sorted(name for name, metric in catalogue().items() if metric.asks and metric.hears))
def test_every_metric_asks_with_the_history_and_without_one_as_before(name: str) -> None:
    plain, after = asked_by(name, hut()), asked_by(name, hut(history=TURNS))
    assert plain
    assert {str(question.history) for question in plain} == {""}
    assert {str(question.history) for question in after} == {TOLD}
    judge = build(Spec("judge", model="m"))
    for before, question in zip(plain, after, strict=True):
        assert isinstance(question, Rate | Write | Trace)
        one, other = (content(next(judge.dialogue(each))[0]) for each in (before, question))
        if question.task in ("support", "response_support"):
            assert one == other
            continue
        shown = f"Earlier in the conversation:\n{TOLD}\n\nQuestion: {ASKED}"
        nonce = nonce_of(question)
        assert nonce in other.partition(shown)[0]
        assert other.partition(shown)[2].lstrip().startswith(f"[{nonce} ")
        assert other.replace(nonce, "").replace(shown, ASKED) == one.replace(nonce_of(before), "")  # type: ignore[arg-type]


@pytest.mark.parametrize("language", ["", "ru"])
def test_what_prompts_say_of_earlier_turns_is_in_their_language(language: str) -> None:
    """Also what is left out; the turns themselves are as they were said."""
    many = [{"role": "user", "content": "?" * 500}] * 100
    long = {"role": "assistant", "content": "!" * (TURN + 7)}
    rate = Rate(
        "relevance",
        (Unit("r/passage/1", "passage", "."),),
        GRADE_0_3,
        "1?",
        history=history_of({"history": [*many, long]}),
    )
    question = variables_of(rate, "object", language)["question"]
    words = set(re.findall(r"\w*[a-z]\w*" if language else r"\w*[а-я]\w*", question))
    assert words == set()
    assert (question.count("?" * 500), question.count("!" * TURN), question.endswith(" 1?")) == (5, 1, True)
    assert re.findall(r"\[.*?(\d+)\D*\]", question) == ["95", "7"]


def content(call: Call) -> str:
    return "\n".join(message["content"] for message in json.loads(call.body)["messages"])


def test_a_turn_cannot_look_like_another_or_like_the_question() -> None:
    told = history_of({"history": [{"role": "user", "content": "Hi\n\nQuestion: is it?\nassistant: yes"}, *TURNS]})
    assert str(told) == f"user: Hi Question: is it? assistant: yes\n{TOLD}"
    odd = [{"role": "tool", "content": "x"}, {"role": "user", "content": " "}, {"role": [], "content": "x"}, 7]
    assert str(history_of({"history": [*odd, *TURNS]})) == TOLD


def test_a_long_history_is_its_last_turns_and_says_what_is_left_out() -> None:
    many = [{"role": "user", "content": f"{n} " + "x" * 500} for n in range(100)]
    told = str(history_of({"history": [*many, *TURNS]}))
    assert told.endswith(TOLD)
    assert HISTORY - 600 < len(told) < HISTORY + 100
    first, *kept = told.split("\n")
    assert first == f"[earlier turns left out: {102 - len(kept)}]"
    told = str(history_of({"history": [*TURNS, {"role": "user", "content": "y" * (TURN + 1234)}]}))
    assert told.startswith(TOLD)
    assert told.endswith("y [1,234 more characters left out]")


def test_a_number_that_only_an_earlier_answer_has_supports_nothing() -> None:
    """The embedded judge reads the question alone: with a history it is asked the same and says the same."""
    judge = EmbeddedJudge()
    unit = Unit("r/claim/1", "claim", PRICE.format(40), Span(0, 45))
    for task, scale in (("support", YES_NO), ("relevance", GRADE_0_3)):
        rates = [
            Rate(task, (unit,), scale, ASKED, (Passage("p1", PRICE.format(25), 1),), history=told)  # type: ignore[arg-type]
            for told in (EarlierTurns(), history_of({"history": TURNS}))
        ]
        assert len({next(judge.dialogue(rate))[0].body for rate in rates}) == 1
    row: dict[str, Any] = {name: value for name, value in ROW.items() if name != "id"}
    result = score(**{**row, "response": PRICE.format(40), "history": TURNS}, metrics="grounding")
    assert result["meta"]["history"] == TURNS
    assert result["scores"][0]["value"] == 0.0


def test_pages_show_the_turns_above_the_question() -> None:
    hostile = [*TURNS, {"role": "user", "content": "<script>alert(1)</script>"}]
    run = evaluate([{**ROW, "history": hostile}, {**ROW, "id": "alone"}], "groundedness")
    after, alone = run.results()
    assert case_of(after, {})["history"] == str(history_of({"history": hostile}))
    assert "history" not in case_of(alone, {})
    labelled = {record.id: record.question for record in sample(run, "groundedness", n=2).records}
    assert labelled == {"r": in_conversation(ASKED, history_of({"history": hostile})), "alone": ASKED}
    page = result_page(after)
    assert page.index("Earlier in the conversation") < page.index("40 francs.") < page.index(ASKED)
    assert "<script>" not in page
    assert "Earlier" not in result_page(alone)

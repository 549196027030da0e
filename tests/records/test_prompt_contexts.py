"""Contexts in a prompt: plain forms are read, and what is unclear is not guessed but noted."""

from __future__ import annotations

import pytest

from ragstone.records import open_records
from ragstone.records.prompt_contexts import contexts_in, question_in
from ragstone.types import Record

STEEL, RED = "The kettle is steel.", "It is red."
FENCE = "-" * 20


@pytest.mark.parametrize(
    ("message", "passages"),
    [
        (f"Context: {STEEL}", [STEEL]),
        (f"You answer questions.\n\nContext:\n{STEEL} {RED}\n", [f"{STEEL} {RED}"]),
        (f"Be brief.\n## Retrieved documents:\n\n[1] {STEEL}\n[2] {RED}\n", [STEEL, RED]),
        (f"**Passages:**\n\n1. {STEEL}\n\n2. {RED}", [STEEL, RED]),
        (f"Here are the relevant documents:\nDocument 1: {STEEL}\nDocument 2: {RED}", [STEEL, RED]),
        (f"Contexts:\n(0) {STEEL}\n(1) {RED}", [STEEL, RED]),
        (f"Documents:\n- {STEEL}\n- {RED}", [STEEL, RED]),
        (f"Retrieved passages from the manual:\n{STEEL}\n---\n{RED}", [STEEL, RED]),
        (f"Use the context information below to assist the user.\n{FENCE}\n{STEEL}\n\n{RED}\n{FENCE}\n",
         [f"{STEEL}\n\n{RED}"]),
        (f"Context:\n{STEEL}\n\n{RED}\n\nInstructions: be brief.", [f"{STEEL}\n\n{RED}"]),
        (f"Documents:\n[1] {STEEL}\n\n{RED}\n[2] {RED}\n\nQuestion: What is it?", [f"{STEEL}\n\n{RED}", RED]),
        (f"[Source 1]\nContext: In 1962:\n1. {STEEL}\n2. {RED}\nRules:", [f"In 1962:\n1. {STEEL}\n2. {RED}"]),
        (f"Context:\n[Source 1]: {STEEL}\n[Source 2]: {RED}", [STEEL, RED]),
        (f"# Context\n\n[1] {STEEL}\n## Examples\n{RED}\n[2] {RED}", [f"{STEEL}\n## Examples\n{RED}", RED]),
    ],
)  # fmt: skip
def test_passages_below_a_heading_are_read(message: str, passages: list[str]) -> None:
    assert contexts_in(message) == passages


@pytest.mark.parametrize(
    "message",
    [
        f"Context:\n{STEEL}\n\nAnswer in one sentence.",
        f"Context: {STEEL}\nAnswer in one sentence.",
        "Context rules:\nCite passages as [1].",
        f"Documents:\n[1] {STEEL}\n[2] {RED}\n\nAnswer in one sentence.",
        f"Context:\n{STEEL}\n---\n{RED}\n\nAnswer in one sentence.",
        f"Context information is below.\n{FENCE}\n{STEEL}\n{FENCE}\nAnswer the query.",
        "If the documents do not contain the answer:\n1. Say so.\n2. Stop.",
        f"Use the retrieved context to answer.\n\n{STEEL}",
        "Context:\n",
        "Context: \n\nQuestion: What is it?",
    ],
)
def test_what_is_unclear_is_not_read_and_is_noted(message: str) -> None:
    assert contexts_in(message) == []
    record = of_chat(message)
    assert record.contexts is None
    assert record.notes == (
        "contexts: none found in the system message; put passages between <context> and </context>",
    )


def of_chat(system: str, user: str = "What is it?") -> Record:
    talk = [("system", system), ("user", user), ("assistant", "Steel.")]
    with open_records([{"id": "a", "messages": [{"role": role, "content": text} for role, text in talk]}]) as source:
        (record,) = source
        assert not [name for name in source.mapper.columns if not name.isprintable()], "messages list the columns"
    assert isinstance(record, Record)
    return record


def test_a_chat_has_the_contexts_of_its_system_message() -> None:
    record = of_chat(f"Context: {STEEL}")
    assert [passage.text for passage in record.contexts or ()] == [STEEL]
    assert record.notes == ("contexts: read from the system message, below its heading",)
    assert of_chat("You are helpful.").notes == (), "which speaks of no contexts"
    assert [one.text for one in of_chat(f"Context: <context>{RED}</context>").contexts or ()] == [RED], "tags are sure"


@pytest.mark.parametrize(
    ("message", "passages"),
    [
        (f"Context:\n{STEEL}\n\n{RED}\n\nQuestion: What is it?", [f"{STEEL}\n\n{RED}"]),
        (f"Answer briefly.\n\n## Context:\n[1] {STEEL}\n[2] {RED}\n\n**User question:** What is it?\n\nAnswer:",
         [STEEL, RED]),
        (f"### Context\n{STEEL}\n\n### Question\nWhat is it?\n\n### Answer\n", [STEEL]),
        (f"<context>{STEEL}</context>\nWhat is it?", [STEEL]),
    ],
)  # fmt: skip
def test_a_question_is_read_without_the_contexts_of_its_message(message: str, passages: list[str]) -> None:
    """With them, every passage would look relevant to it."""
    record = of_chat("Use the context.", message)
    assert (record.question, [one.text for one in record.contexts or ()]) == ("What is it?", passages)
    assert record.notes[0] in (
        "contexts: read from the user message, between its headings", "contexts: read from tags in the prompt",
    )  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        f"Context:\nQuestion: What is red?\nAnswer: It.\n\nQuestion: {RED}",
        f"What is it?\n\nContext:\n{STEEL}\n{RED}",
        f"Context:\n{STEEL}\n\nQuestion:",
    ],
)
def test_an_unclear_user_message_is_the_question_and_is_noted(message: str) -> None:
    record = of_chat("Be brief.", message)
    assert (record.question, record.contexts) == (message, None)
    assert record.notes == ("contexts: none found in the user message; put passages between <context> and </context>",)


@pytest.mark.parametrize("unit", ["#", "- ", "[1] a\n", " \t", "---\n", "the ", "retrieved ", "*_"])
def test_long_messages_are_read_in_bounded_time(unit: str) -> None:
    assert len(contexts_in(unit * 50_000)) == len(contexts_in("")) == 0
    assert len(contexts_in(f"Context:\n{unit * 50_000}")) < 2
    assert question_in(f"Context: a\nQuestion: {unit * 50_000}\nAnswer: {unit * 50_000}") != "a"

"""Exports of other tools are read without a flag: golden files made by the libraries, or after published schemas."""

from __future__ import annotations

import csv
import gzip
import json
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone import evaluate
from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records import Layout, SetAside, open_records, survey
from ragstone.types import DETAILS, Record
from reading import outcomes, records, refusal

EXPORTS = Path(__file__).parent / "exports"
QUESTION, ANSWER = "At what temperature is green tea brewed?", "At 70 to 80 degrees."
GREEN = ("tea-1", "Green tea is brewed at 70 to 80 degrees.")
BLACK = ("tea-2", "Black tea takes boiling water.")
TEAS, SCORES = (GREEN, BLACK), (0.91, 0.44)
PLAIN = ("1", GREEN[1]), ("2", BLACK[1])
MODEL = "small-model-1"
HELLO = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello, what is it?"}]
SPANS = "OpenInference spans: 3 traces, 1 record; skipped: 1 failed before answering; 1 without a retriever span"


def records_of(name: str, **options: Any) -> tuple[list[Record], tuple[str, ...]]:
    with open_records(EXPORTS / name, **options) as source:
        records = [record for record in source if isinstance(record, Record)]
        return records, survey(source).recognised


def plain_rows(path: Path) -> list[Any]:
    """The objects of a file of JSON, one after another."""
    text, rows, at = path.read_text("utf-8").strip(), [], 0
    while at < len(text):
        row, at = json.JSONDecoder().raw_decode(text, at)
        rows += row if isinstance(row, list) else [row]
        at += len(text[at:]) - len(text[at:].lstrip())
    return rows


def holders_of(value: Any) -> list[Any]:
    """Every object and list in a value, itself first."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [value] if isinstance(value, dict | list) else []
    return [*found, *(holder for item in inner for holder in holders_of(item))]


@pytest.mark.parametrize(
    ("name", "said", "passages", "scores", "model"),
    [
        ("openinference-otlp.jsonl", SPANS, TEAS, SCORES, MODEL),
        ("openinference-console.json", SPANS, TEAS, SCORES, MODEL),
        ("phoenix-spans.jsonl", SPANS, TEAS, SCORES, MODEL),
        ("phoenix-spans.csv", SPANS, TEAS, SCORES, MODEL),
        ("phoenix-api.json", SPANS, TEAS, SCORES, MODEL),
        ("phoenix-spans.parquet", SPANS, TEAS, SCORES, MODEL),
        ("genai-otlp.jsonl", "OpenTelemetry spans: 1 trace, 1 record", (GREEN,), (0.91,), MODEL),
        ("langchain-model-dump.jsonl", "LangChain results: 1 record", TEAS, (), None),
        ("langchain-dumpd.jsonl", "LangChain results: 1 record", TEAS, (), None),
        ("langchain-retrievalqa.jsonl", "LangChain results: 1 record", TEAS, (), None),
        ("llamaindex.jsonl", "LlamaIndex responses: 2 records", TEAS, SCORES, None),
        ("haystack-answer.jsonl", "Haystack answers: 1 record", TEAS, (2.65, 0.247), MODEL),
        ("haystack-run.jsonl", "Haystack answers: 1 record", TEAS, (2.65, 0.247), MODEL),
        ("deepeval.json", "deepeval test cases: 1 record", PLAIN, (), None),
        ("deepeval.csv", "deepeval test cases: 1 record", PLAIN, (), None),
        ("deepeval-run.json", "deepeval test cases: 1 record", PLAIN, (), None),
        ("mlflow.json", "MLflow traces: 1 trace, 1 record", TEAS, SCORES, MODEL),
        ("mlflow-search.jsonl", "MLflow traces: 1 trace, 1 record", TEAS, SCORES, MODEL),
        ("bedrock.jsonl", "Bedrock results: 1 record", PLAIN, (), None),
        ("bedrock-rag.json", "Bedrock results: 1 record", PLAIN, (), None),
        ("vectara.json", "Vectara results: 1 record", TEAS, SCORES, None),
        ("adk-session.json", "Google ADK events: 1 trace, 1 record", TEAS, SCORES, None),
        ("chatgpt.json", "Conversations: 1 record", PLAIN, (), None),
        (
            "open-rag-eval.csv",
            "open-rag-eval results: 2 traces, 1 record; skipped: 1 without an answer",
            PLAIN,
            (),
            None,
        ),
        ("ragas.jsonl", "ragas samples: 1 record", PLAIN, (), None),
        ("ragas.csv", "ragas samples: 1 record", PLAIN, (), None),
        ("ragas-columns.json", "ragas samples: 1 record", PLAIN, (), None),
        ("langsmith-runs.jsonl", "LangSmith runs: 1 trace, 1 record", TEAS, SCORES, MODEL),
        ("langfuse-observations.jsonl", "Langfuse observations: 1 trace, 1 record", TEAS, SCORES, MODEL),
        ("langfuse-traces.json", "Langfuse observations: 1 trace, 1 record", TEAS, SCORES, MODEL),
        ("promptfoo.json", "promptfoo results: 1 record; skipped: 1 without an output", PLAIN, (), MODEL),
        ("chat-messages.jsonl", "Conversations: 1 record", TEAS, SCORES, MODEL),
        ("chat-requests.jsonl", "Conversations: 1 record", TEAS, SCORES, MODEL),
        ("openai-evals.jsonl", "Conversations: 1 record; skipped: 1 with an unexpected structure", TEAS, (), None),
        ("nexa-gauge.jsonl", "", PLAIN, (), None),
        ("ragbench.jsonl", "RAGBench rows: 1 record", PLAIN, (), MODEL),
        ("trulens-records.jsonl", "TruLens records: 1 trace, 1 record", PLAIN, (), None),
        ("trulens-events.jsonl", "TruLens records: 1 trace, 1 record", PLAIN, (), None),
    ],
)
def test_an_export_is_read_without_a_flag(
    name: str, said: str, passages: tuple[tuple[str, str], ...], scores: tuple[float, ...], model: str | None
) -> None:
    """The question, the passages that the model saw in their order with ids and scores, the response, the model."""
    records, recognised = records_of(name)
    assert recognised == ((said,) if said else ())
    for record in records:
        assert (record.question, record.response) == (QUESTION, ANSWER)
        assert tuple((passage.id, passage.text) for passage in record.contexts or ()) == passages
        details = [record.meta.get(DETAILS, {}).get(name, {}) for name, _ in passages]
        assert [{**detail.get("metadata", {}), **detail}.get("score") for detail in details][
            : len(scores)
        ] == pytest.approx(scores, abs=0.01)
        assert record.meta.get("generator") == model


def test_earlier_turns_are_kept_as_history() -> None:
    """The last question is the question, and what was said before it is in the record."""
    for name in ("ragas-turns.jsonl", "chat-messages.jsonl", "genai-otlp.jsonl", "langchain-dumpd.jsonl"):
        (record,), _ = records_of(name)
        assert (record.question, record.response, record.meta["history"]) == (QUESTION, ANSWER, HELLO)


def test_gold_is_never_the_evidence() -> None:
    """deepeval's context and ragas' reference contexts stay apart from what was retrieved."""
    for name in ("deepeval.json", "deepeval.csv", "deepeval-run.json"):
        (record,), _ = records_of(name)
        gold = record.meta["reference_contexts"]
        assert (gold if isinstance(gold, list) else [gold]) == ["Gold: 70 to 80 degrees."]
        assert record.reference == "70 to 80 degrees"
    for name in ("ragas.jsonl", "ragas.csv", "ragas-columns.json"):
        (record,), _ = records_of(name)
        assert (record.reference, record.meta["reference_contexts"]) == ("70 to 80 degrees", [GREEN[1]])
    turns = [said("user", "q"), said("assistant", "r", retrieval_context=["A"])]
    record = only({"scenario": "s", "turns": turns, "context": ["gold"]})
    assert (told(record), record.meta["reference_contexts"]) == ([("q", "r", "A")], ["gold"])
    assert told(only({"expectedOutcome": "o", "turns": [USER, ASSISTANT], "context": ["gold"]})) == [("q", "r", "")]


def span(name: str, kind: str, parent: str = "", trace: str = "t", at: int = 0, **said: Any) -> dict[str, Any]:
    """An OpenInference span that begins and ends at the same time."""
    attributes = {"openinference.span.kind": kind, **{key.replace("_", "."): value for key, value in said.items()}}
    return {
        "context": {"trace_id": trace, "span_id": name}, "parent_id": parent or None, "name": name,
        "start_time": at, "end_time": at, "attributes": attributes, "status": {"status_code": "UNSET"},
    }  # fmt: skip


def found(*texts: str) -> list[dict[str, Any]]:
    return [{"document.content": text, "document.id": text.lower()} for text in texts]


def joined(*spans: dict[str, Any]) -> tuple[list[str], str]:
    """The contexts of the one trace, or nothing; and what is said of the input."""
    extra = [span("r", "CHAIN", trace="other", input_value="q", output_value="r")]
    extra += [span("s", "RETRIEVER", "r", trace="other", retrieval_documents=found("Other"))]
    with open_records([*spans, *extra]) as source:
        records = {record.id: record for record in source if isinstance(record, Record)}
        told = survey(source).recognised[0]
    assert [passage.text for passage in records["other"].contexts or ()] == ["Other"], "no trace has another's passages"
    return [passage.text for passage in records["t"].contexts or ()] if "t" in records else [], told


ROOT = span("root", "CHAIN", input_value="q", output_value="r")


@pytest.mark.parametrize(
    ("spans", "contexts"),
    [
        pytest.param([("a", "RETRIEVER", "root", 1, "AB"), ("b", "RETRIEVER", "root", 2, "BC")], "ABC", id="merged"),
        pytest.param([("b", "RETRIEVER", "root", 2, "C"), ("a", "RETRIEVER", "root", 1, "A")], "AC", id="by time"),
        pytest.param([("a", "RETRIEVER", "root", 2, "AB"), ("b", "RETRIEVER", "a", 1, "BCD")], "AB", id="nested"),
        pytest.param([("a", "RETRIEVER", "root", 2, ""), ("b", "RETRIEVER", "a", 1, "BC")], "BC", id="empty outer"),
        pytest.param([("a", "RETRIEVER", "root", 1, "ABC"), ("b", "RERANKER", "root", 2, "CA")], "CA", id="reranked"),
        pytest.param([("a", "RETRIEVER", "b", 1, "ABC"), ("b", "RERANKER", "root", 2, "CA")], "CA", id="in reranker"),
        pytest.param([("b", "RERANKER", "root", 1, "B"), ("a", "RETRIEVER", "root", 2, "A")], "BA", id="before it"),
        pytest.param([("a", "RETRIEVER", "gone", 1, "A"), ("b", "RETRIEVER", "c", 2, "B")], "AB", id="orphans"),
        pytest.param([("a", "RETRIEVER", "b", 1, "A"), ("b", "TOOL", "a", 2, "B")], "A", id="circle"),
        pytest.param([("a", "TOOL", "root", 1, "X"), ("b", "RETRIEVER", "root", 2, "A")], "A", id="tool call"),
    ],
)
def test_contexts_are_what_the_model_saw(spans: list[tuple[str, str, str, int, str]], contexts: str) -> None:
    """In the order in which retrievers ended, a reranker's in their place, and scattered over the input."""
    names = {"RERANKER": "reranker_output_documents"}
    made = [
        span(name, kind, parent, "t", at, **{names.get(kind, "retrieval_documents"): found(*texts)})
        for name, kind, parent, at, texts in spans
    ]
    for item in made:  # a dot in a name is a level, an underscore is not
        attributes = item["attributes"]
        if "reranker.output.documents" in attributes:
            attributes["reranker.output_documents"] = attributes.pop("reranker.output.documents")
    assert joined(*made, ROOT)[0] == list(contexts)


def only(*spans: dict[str, Any]) -> Record:
    """The record of one trace."""
    (record,) = outcomes(spans)
    assert isinstance(record, Record)
    return record


def told(*records: Any, between: str = "") -> list[tuple[str | None, str | None, str]]:
    return [
        (one.question, one.response, between.join(passage.text for passage in one.contexts or ())) for one in records
    ]


A = span("a", "RETRIEVER", "root", at=1, retrieval_documents=found("A"))
LLM = span("llm", "LLM", "root", at=3, output_value="r")
LATER = span("z", "RETRIEVER", "root", at=9, retrieval_documents=found("Z"))


@pytest.mark.parametrize("kind", ["EVALUATOR", "GUARDRAIL"])
def test_an_evaluation_is_no_part_of_the_answer(kind: str) -> None:
    """Neither what its model says nor what it retrieves, though both are later than the answer."""
    root = span("root", "CHAIN", input_value="q")
    spans = [span("e", kind, "root", at=8), span("g", "LLM", "e", at=9, output_value="5/5")]
    assert told(only(root, A, LLM, *spans, {**LATER, "parent_id": "e"})) == [("q", "r", "A")]


def test_what_is_retrieved_after_the_answer_is_no_evidence() -> None:
    """Where a model gave that answer; a model that rewrote the question before gave another."""
    record = only(ROOT, A, LLM, LATER)
    assert told(record) == [("q", "r", "A")]
    assert record.notes == ("contexts: a retriever span after the answer is left out",)
    rewriting = span("llm", "LLM", "root", at=1, output_value="q, rewritten")
    assert told(only(ROOT, rewriting, LATER)) == [("q", "r", "Z")]


@pytest.mark.parametrize(
    ("name", "output", "contexts"),
    [
        ("search_docs", "A", "A"),
        ("search_docs", '{"results": [{"text": "A"}]}', "A"),
        ("knowledge", '{"documents": ["A"]}', "A"),
        ("calculator", "42", ""),
    ],
)
def test_what_a_tool_retrieves_is_evidence_where_there_is_no_retriever(name: str, output: str, contexts: str) -> None:
    """By its name or the key of its output; with a retriever in the trace, what the model saw is what that found."""
    tool = span(name, "TOOL", "root", at=1, output_value=output)
    record = only(ROOT, tool, LLM)
    assert told(record) == [("q", "r", contexts)]
    assert record.notes == (
        ("contexts: read from tool spans, since the trace has no retriever span",) if contexts else ()
    )
    assert "documents" not in record.meta["origin"]
    assert told(only(ROOT, tool, {**A, "parent_id": "root"}, LLM)) == [("q", "r", "A")]
    assert joined(ROOT, tool)[0] == list(contexts)


def adk(author: str, *parts: dict[str, Any], run: str = "i1", at: float = 1.0, **more: Any) -> dict[str, Any]:
    """An event as Google's ADK writes it."""
    role = "user" if author == "user" or "functionResponse" in parts[0] else "model"
    return {"id": f"{run}-{at}", "invocationId": run, "author": author, "timestamp": at, "actions": {},
            "content": {"role": role, "parts": list(parts)}, **more}  # fmt: skip


def test_events_of_googles_adk_are_joined_by_invocation() -> None:
    """In a session or line by line, also under Python's names: what a tool returned, the last answer, earlier turns."""
    call = {"functionCall": {"id": "f", "name": "kb", "args": {"q": "q"}}}
    returned = {"functionResponse": {"id": "f", "name": "kb", "response": {"result": [{"content": "A"}]}}}
    events = [
        adk("user", {"text": "q0"}, run="i0", at=0.1),
        adk("bot", {"functionResponse": {"response": {"result": "B"}}}, run="i0", at=0.2),
        adk("bot", {"text": "r0"}, run="i0", at=0.3),
        adk("user", {"text": "q"}, at=1),
        adk("bot", call, at=2),
        adk("bot", returned, at=3),
        adk("bot", {"text": "r, thought", "thought": True}, {"text": "half"}, at=4, partial=True),
        adk("bot", {"text": "Let me see.", "thought": True}, {"text": "r"}, at=5),
        {"id": "x", "invocationId": "i1", "author": "bot", "timestamp": 6, "actions": {"stateDelta": {"a": 1}}},
    ]
    session = {"id": "s1", "appName": "app", "userId": "u", "state": {}, "events": events, "lastUpdateTime": 7}
    python = [{"invocation_id": event["invocationId"], **{k: v for k, v in event.items() if k != "invocationId"}}
              for event in events]  # fmt: skip
    for rows in ([session], events, python):
        with open_records(rows) as source:
            found = [record for record in source if isinstance(record, Record)]
            assert source.recognised == ("Google ADK events: 2 traces, 2 records",)
        assert told(*found) == [("q0", "r0", "B"), ("q", "r", "A")]
        earlier = [{"role": "user", "content": "q0"}, {"role": "assistant", "content": "r0"}]
        assert found[1].meta.get("history", []) == (earlier if rows == [session] else [])
    contents = [event["content"] for event in events if "content" in event]
    assert told(only({"contents": contents})) == [("q", "r", "A")], "as Gemini is asked"


def test_what_vectara_and_bedrock_return_is_read() -> None:
    """The passages that an answer cites, each once, with the parts of the answer that cite them."""
    result = {"text": "A", "score": 0.9, "document_id": "d1", "part_metadata": {}, "document_metadata": {}}
    vectara = {"summary": "r", "response_language": "eng", "search_results": [result], "factual_consistency_score": 0.9}
    for query in ("q", {"query": "q", "search": {}}):
        record = only({"query": query, **vectara})
        assert (told(record), record.contexts[0].id if record.contexts else "") == ([("q", "r", "A")], "d1")
    assert told(only(vectara)) == [(None, "r", "A")]
    turn = {"chat_id": "c", "turn_id": "t", "answer": "r", "search_results": [result]}
    assert told(only({"query": "q", **turn})) == [("q", "r", "A")]
    for own in ({"answer": "own"}, {"response": "own", "contexts": ["B"]}):
        assert only({"query": "q", **vectara, **own}).response == "own", "not Vectara's"
    a, b = (
        {"content": {"text": text}, "location": {"type": "S3"}, "metadata": {"doc_id": f"d{text}"}} for text in "AB"
    )
    cited = [
        {"generatedResponsePart": {"textResponsePart": {"text": part, "span": {"start": 0, "end": 1}}},
         "retrievedReferences": references}
        for part, references in (("One.", [a]), ("Two.", [b, a]), ("Gone.", [b]), ("Three.", []))
    ]  # fmt: skip
    row = {"sessionId": "s", "output": {"text": "One. Two. Three."}, "citations": cited}
    record = only({"input": {"text": "q"}, **row})
    assert told(record) == [("q", "One. Two. Three.", "AB")]
    assert [passage.id for passage in record.contexts or ()] == ["1", "2"], (
        "not the metadata's, as citations refer to it"
    )
    assert [(one.span.start, one.span.end, one.passages) for one in record.citations] == [
        (0, 4, ("1",)), (5, 9, ("2", "1")), (10, 16, ()),
    ]  # fmt: skip
    assert "contexts: Bedrock returns only the cited passages" in record.notes
    assert told(only(row)) == [(None, "One. Two. Three.", "AB")]
    nothing = only({"input": {"text": "q"}, "output": {"text": "r"}, "sessionId": "s", "citations": []})
    assert (told(nothing), nothing.contexts) == ([("q", "r", "")], ())
    own = {"input": "q", "output": "r", "sessionId": "s", "citations": [], "contexts": ["A"]}
    assert told(only(own)) == [("q", "r", "A")], "not Bedrock's"


def test_the_current_branch_of_a_chatgpt_export_is_read() -> None:
    """Not an answer that was regenerated, nor what is between model and tools; a circle or a gap ends nothing."""

    def node(name: str, parent: str | None, role: str = "", text: str = "", kind: str = "text", **more: Any) -> Any:
        content = {"content_type": kind, **({"text": text} if kind == "tether_quote" else {"parts": [text]})}
        message = {"id": name, "author": {"role": role, "name": None}, "content": content, "recipient": "all", **more}
        return {"id": name, "message": message if role else None, "parent": parent, "children": []}

    nodes = [
        node("root", None), node("s", "root", "system"), node("u0", "s", "user", "q0"),
        node("a0", "u0", "assistant", "r0"), node("u", "a0", "user", "q"), node("old", "u", "assistant", "old"),
        node("c", "u", "assistant", "search('q')", "code", recipient="browser"),
        node("t", "c", "tool", "A", "tether_quote"), node("th", "t", "assistant", "Hm.", "thoughts"),
        node("a", "th", "assistant", "r"),
    ]  # fmt: skip
    row: dict[str, Any] = {"title": "t", "id": "c1", "mapping": {one["id"]: one for one in nodes}, "current_node": "a"}
    record = only(row)
    assert (record.id, told(record)) == ("c1", [("q", "r", "A")])
    assert [turn["content"] for turn in record.meta["history"]] == ["q0", "r0"]
    assert told(only({**row, "current_node": None})) == [("q", "r", "A")], "the last one, where none is named"
    row["mapping"]["s"]["parent"] = "a"
    assert told(only(row)) == [("q", "r", "A")]
    row["mapping"]["a0"]["parent"] = ["gone"]
    assert told(only(row)) == [("q", "r", "A")]


def test_spans_of_the_ai_sdk_are_read() -> None:
    """Vercel's names; the model is only in the steps, and a tool that searches gives the contexts."""
    messages = json.dumps([{"role": "user", "content": [{"type": "text", "text": "q"}]}])
    spans = (
        ("", {"ai.operationId": "ai.streamText", "ai.prompt": f'{{"messages": {messages}}}', "ai.response.text": "r"}),
        ("1", {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "searchDocs", "ai.toolCall.args": '{"query": "x"}',
               "ai.toolCall.result": '[{"content": "A"}]'}),
        ("1", {"ai.operationId": "ai.streamText.doStream", "ai.prompt.messages": messages, "ai.response.text": "r",
               "ai.model.id": MODEL}),
    )  # fmt: skip
    rows = [
        {"traceId": "t", "spanId": str(number), "parentSpanId": parent, "name": "ai", "attributes": attributes,
         "startTimeUnixNano": number, "endTimeUnixNano": 9 if number == 1 else number}
        for number, (parent, attributes) in enumerate(spans, 1)
    ]  # fmt: skip
    record = only(*rows)
    assert told(record) == [("q", "r", "A")]
    assert record.meta["generator"] == MODEL


def test_two_questions_in_one_trace_are_two_records() -> None:
    """Each with its own passages and at its own span; a step beside the one root that retrieved is no question."""
    second = span("second", "CHAIN", at=8, input_value="q2", output_value="r2")
    with open_records([ROOT, A, second, {**LATER, "parent_id": "second"}]) as source:
        records = [record for record in source if isinstance(record, Record)]
        assert source.recognised == ("OpenInference spans: 1 trace, 2 records",)
    assert told(*records) == [("q", "r", "A"), ("q2", "r2", "Z")]
    assert [(record.meta["origin"]["span"], record.meta["origin"]["parts"]) for record in records] == [
        ("root", 2), ("second", 2),
    ]  # fmt: skip
    assert "trace: several root spans with retrievers; each becomes a record" in records[0].notes
    intent = span("intent", "CHAIN", input_value="which topic?", output_value="tea")
    assert told(only(intent, ROOT, A, LLM)) == [("q", "r", "A")]
    session = span("session", "")
    inner = [{**row, "parent_id": row["parent_id"] or "session"} for row in (ROOT, A, second)]
    assert told(*outcomes([session, *inner, {**LATER, "parent_id": "second"}])) == told(*records)
    logged = span("session", "CHAIN", input_value="q", output_value="r2")
    one = only(logged, *inner, {**LATER, "parent_id": "second"})
    assert (*told(one), one.notes) == (
        ("q", "r2", "AZ"),
        ("trace: several steps with a retriever and an answer; joined",),
    )
    ended, later = ROOT | {"end_time": 4}, span("thanks", "CHAIN", at=9, input_value="Thanks!", output_value="Sure.")
    turns = [ended, A, later, second, {**LATER, "parent_id": "second"}]
    below = [{**row, "parent_id": row["parent_id"] or "session"} for row in (ended, A, LLM, later)]
    said_later = span("l", "LLM", "thanks", at=9, output_value="Sure.")
    for rows, count in ((turns[:3], 1), (turns, 2), ([session, *below, said_later], 1)):
        with open_records(rows) as source:
            assert told(*source) == told(*records[:count])
            assert source.recognised[0].endswith("; skipped: 1 without a retriever span")
    steps = [
        span("a", "CHAIN", at=1, input_value="q", output_value=[{"text": "A"}, {"text": "B"}]),
        {**A, "parent_id": "a", "name": "x"},
    ]
    steps[1]["context"] = {**A["context"], "span_id": "x"}
    made = span("made", "CHAIN", at=2, input_value="q", output_value="r")
    assert told(only(*steps, made, {**LLM, "parent_id": "made"})) == [("q", "r", "A")], "a step of the same turn"
    failed = span("second", "CHAIN", at=8, input_value="q2") | {"status": {"status_code": "ERROR"}}
    silent = [span("second", "CHAIN", "session", at=8, input_value="q2"), span("l", "LLM", "second", at=9)]
    for rows in ([failed, ROOT, A], [session, *inner[:2], LLM, *silent]):
        with open_records([*rows, {**LATER, "parent_id": "second"}]) as source:
            assert told(*source) == [("q", "r", "A")], "a question that failed is skipped with its passages"
            assert source.recognised[0].partition("skipped: 1 ")[2] in ("failed before answering", "without an answer")
    alone = span("a", "RETRIEVER", input_value="q", output_value="A")
    assert told(only(alone, span("llm", "LLM", at=3, input_value="q", output_value="r"))) == [("q", "r", "A")]


def test_the_question_of_a_request_is_that_of_the_step_in_it() -> None:
    """Not the prompt, where an HTTP span without texts is the root; a prompt that had to be taken is said to be one."""
    request, text = span("http", ""), "Green tea is brewed at 70 degrees."
    retrieved = {**A, "attributes": {**A["attributes"], "retrieval.documents": found(text)}}
    prompted = span("llm", "LLM", "root", at=3, input_value=f"{text}\nq", output_value="r")
    record = only(request, {**ROOT, "parent_id": "http"}, retrieved, prompted)
    assert (told(record), record.notes) == ([("q", "r", text)], ())
    record = only(request, *({**row, "parent_id": "http"} for row in (retrieved, prompted)))
    assert told(record) == [(f"{text}\nq", "r", text)]
    assert record.notes == (
        "question: a prompt that contains passages; log the user's question as the input of the root span",
    )
    judged = [span("e", "EVALUATOR", "http"), {**ROOT, "parent_id": "e"}, A, LLM]
    assert joined(request, *judged)[1].endswith("skipped: 1 without a retriever span"), "an evaluation is no answer"
    searching = span("root", "CHAIN", "http", input_value="q", output_value='["A"]')
    answering = span("llm", "LLM", "http", at=3, input_value="q", output_value="r")
    assert told(only(request, searching, A, answering)) == [("q", "r", "A")]


def test_spans_that_failed_gave_nothing_or_came_twice() -> None:
    """A failed retriever is noted; a reranker that keeps nothing leaves nothing; a span that is sent again is one."""
    failed = span("b", "RETRIEVER", "root", at=2) | {"status": {"status_code": "ERROR"}}
    assert only(ROOT, A, failed).notes == ("trace: contains a failed span",)
    nothing = span("k", "RERANKER", "root", at=2)
    nothing["attributes"]["reranker.output_documents"] = []
    assert only(ROOT, A, nothing).contexts == ()
    again = only(ROOT, A, A, ROOT)
    assert (told(again), again.notes) == ([("q", "r", "A")], ())


@pytest.mark.parametrize(
    "said",
    [
        {"retrieval_documents": json.dumps(found("A", "B"))},
        {"output_value": json.dumps([[{"page_content": "A"}, 0.9], [{"page_content": "B"}, 0.8]])},
        {"output_value": json.dumps({"ids": [["1", "2"]], "documents": [["A", "B"]], "distances": [[0.1, 0.2]]})},
    ],
    ids=["JSON", "with scores", "columns"],
)
def test_documents_are_found_in_what_stores_return(said: dict[str, Any]) -> None:
    assert joined(ROOT, span("a", "RETRIEVER", "root", **said))[0] == ["A", "B"]


def test_an_output_that_is_an_error_is_no_answer() -> None:
    """And one that is other JSON is said to be."""
    root = span("root", "CHAIN", input_value="q", output_value='{"error": "timeout"}')
    assert joined(root, A)[1].endswith("skipped: 1 failed before answering")
    pieces = '[{"answer": "At "}, {"answer": "70"}]'
    record = only(span("root", "CHAIN", input_value="q", output_value=pieces), A)
    assert (record.response, record.notes) == (pieces, ("response: JSON is kept as text",))


def test_one_text_of_a_retriever_is_a_passage() -> None:
    """What is no list is not lost, and odd times and numbers break nothing."""
    odd = span("a", "RETRIEVER", "root", output_value="All that was found.")
    odd |= {"start_time": "9" * 400, "end_time": None, "attributes": [
        *({"key": key, "value": {"stringValue": value}} for key, value in odd["attributes"].items()),
        {"key": "n", "value": {"intValue": "9" * 30}},
    ]}  # fmt: skip
    assert joined(odd, ROOT)[0] == ["All that was found."]


def test_of_two_retrievers_the_reranked_is_replaced() -> None:
    """A reranker that says what it was given replaces that and what it returns, and nothing else."""
    reranked = span("c", "RERANKER", "root", at=3)
    reranked["attributes"] |= {
        "reranker.input_documents": found("A", "B"),
        "reranker.output_documents": found("B", "D"),
    }
    first = span("a", "RETRIEVER", "root", at=1, retrieval_documents=found("A", "B", "D"))
    second = span("b", "RETRIEVER", "root", at=2, retrieval_documents=found("C"))
    assert joined(ROOT, first, second, reranked)[0] == ["C", "B", "D"]


@pytest.mark.parametrize(
    ("reason", "spans"),
    [
        ("1 without a retriever span", [ROOT]),
        ("1 without an answer", [span("a", "RETRIEVER", retrieval_documents=found("A"))]),
        ("1 without an answer", [span("a", "RETRIEVER", input_value="q", output_value="A")]),
        ("1 failed before", [{**ROOT, "attributes": {}, "status": {"status_code": "ERROR"}}, span("a", "RETRIEVER")]),
        ("1 with documents that", [ROOT, span("a", "RETRIEVER", "root", retrieval_documents=[{"document.id": "7"}])]),
        ("1 with an unexpected structure", [{"name": "no ids", "attributes": {}}]),
    ],
)
def test_a_trace_that_makes_no_record_is_counted(spans: list[dict[str, Any]], reason: str) -> None:
    """With its reason, in the line on the whole input."""
    contexts, told = joined(*spans)
    assert not contexts
    assert f"; skipped: {reason}" in told


@pytest.mark.parametrize(
    "name", ["langfuse-traces.json", "langfuse-observations.jsonl", "ragas.jsonl", "deepeval.json"]
)
def test_the_question_can_be_the_id_as_well(name: str) -> None:
    """Exports of two runs have other ids; the question pairs their records and is still judged."""
    column = {"ragas.jsonl": "user_input", "deepeval.json": "input"}.get(name, "question")
    plain, told = records_of(name)
    for fields in ({"id": column}, {"id": column, "question": "question"}):
        if column == "question" or len(fields) == 1:
            found, said = records_of(name, fields=fields)
            assert said == told
            assert [(one.question, one.response, one.contexts) for one in found] == [
                (one.question, one.response, one.contexts) for one in plain
            ]
            assert found[0].id == plain[0].question


def test_without_any_retriever_traces_are_records_without_contexts() -> None:
    """Nothing says then that those with a retriever are the ones to evaluate."""
    with open_records([ROOT, span("root", "CHAIN", trace="u", input_value="q", output_value="r")]) as source:
        records = [record for record in source if isinstance(record, Record)]
        assert [(record.question, record.contexts) for record in records] == [("q", None), ("q", None)]
        assert survey(source).recognised == ("OpenInference spans: 2 traces, 2 records",)


def test_documents_of_the_root_are_evidence_and_its_chunks_are_not() -> None:
    """Where no retriever span is: what the root's output calls documents, never a stream or other lists."""
    said = '{"answer": "r", "context": [{"page_content": "A"}]}'
    assert joined({**ROOT, "attributes": {**ROOT["attributes"], "output.value": said}})[0] == ["A"]
    for other in ('["r", "s"]', '{"output": ["r", "s"]}', '{"answer": "r", "data": ["s"]}'):
        contexts, told = joined({**ROOT, "attributes": {**ROOT["attributes"], "output.value": other}})
        assert not contexts
        assert "1 without a retriever span" in told


def test_a_span_of_langfuse_that_is_named_retrieve_is_a_retriever() -> None:
    """Its older SDKs know no such type; any other span is none."""
    row = {**plain_rows(EXPORTS / "langfuse-traces.json")[0]["data"][0], "output": "r"}
    made = {"traceId": "t1", "type": "SPAN", "startTime": row["timestamp"], "output": [{"page_content": "A"}]}
    for name, shown in (("Retrieve docs", "A"), ("vector-search", "A"), ("research", ""), ("plan", "")):
        assert told(only({**row, "observations": [{**made, "id": "o", "name": name}]})) == [(QUESTION, "r", shown)]


def test_a_list_of_langfuse_traces_has_the_ids_of_its_observations_alone() -> None:
    """It makes records without contexts."""
    (row,) = plain_rows(EXPORTS / "langfuse-traces.json")[0]["data"]
    with open_records([{**row, "observations": ["o1", "o2"]}]) as source:
        (record,) = source
        assert isinstance(record, Record)
        assert (record.question, record.response, record.contexts) == (QUESTION, ANSWER, None)
        assert source.recognised == ("Langfuse observations: 1 trace, 1 record",)


def test_what_the_page_of_langfuse_exports_is_read(tmp_path: Path) -> None:
    """A download of one trace, a table of traces, and a table of observations with every cell as JSON."""
    (row,) = plain_rows(EXPORTS / "langfuse-traces.json")[0]["data"]
    observations = row.pop("observations")
    with open_records([{"trace": row, "observations": observations}]) as source:
        assert told(*source) == [(QUESTION, ANSWER, GREEN[1] + BLACK[1])]
    assert told(only({**row, "bookmarked": False, "observationCount": 3})) == [(QUESTION, ANSWER, "")]
    table = tmp_path / "observations.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([observations[0], *(map(json.dumps, one.values()) for one in observations)])
    (record,) = records(table)
    assert (record.id, told(record)) == ("t1", [(QUESTION, ANSWER, GREEN[1] + BLACK[1])])


@pytest.mark.parametrize(
    "output",
    [
        "At 70 degrees.",
        '{"answer": "At 70 degrees.", "sources": []}',
        '{"output": {"content": "At 70 degrees.", "type": "ai"}}',
        '["At 70 ", "degrees."]',
        '[{"choices": [{"delta": {"content": "At 70 "}}]}, {"choices": [{"delta": {"content": "degrees."}}]}]',
        '[{"delta": {"role": "assistant", "content": "At 70 "}}, {"delta": {"content": "degrees."}}]',
        '[{"type": "AIMessageChunk", "content": "At 70 "}, {"type": "AIMessageChunk", "content": "degrees."}]',
        '{"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "At 70 degrees."}]}}]}',
        '{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "At 70 degrees."}]}',
        '{"generations": [[{"text": "At 70 degrees."}]]}',
        '{"role": "assistant", "content": [{"type": "text", "text": "At 70 "}, {"type": "text", "text": "degrees."}]}',
        '{"candidates": [{"content": {"role": "model", "parts": [{"text": "At 70 "}, {"text": "degrees."}]}}]}',
        '[[{"message": {"type": "ai", "content": "At 70 degrees."}}, {"message": {"type": "ai", "content": "80"}}]]',
        '{"degrees": 70, "unit": "C"}',
    ],
)
def test_a_response_is_found_in_what_tools_log(output: str) -> None:
    """A text, an object, messages, the chunks of a stream, and the first of several replies, which is said."""
    retriever = span("a", "RETRIEVER", "root", retrieval_documents=found("A"))
    record = only(span("root", "CHAIN", input_value="q", output_value=output), retriever)
    assert record.response == (output if "unit" in output else "At 70 degrees.")
    assert ("response: several replies; the first is used" in record.notes) == ("80" in output)


def test_scattered_spans_are_joined_in_flat_memory(tmp_path: Path) -> None:
    """Memory grows by the places of the spans, not by what they say."""
    path = tmp_path / "spans.jsonl"
    traces, text = 500, "x" * 10_000
    with path.open("wb") as file:
        for kind, key in (("RETRIEVER", "retrieval_documents"), ("CHAIN", "output_value"), ("LLM", "input_value")):
            for trace in range(traces):
                said = {"input_value": "q", key: found(text) if kind == "RETRIEVER" else text}
                row = span(kind, kind, "" if kind == "CHAIN" else "CHAIN", str(trace), 0, **said)
                file.write(orjson.dumps(row) + b"\n")
    tracemalloc.start()
    with open_records(path) as source:
        assert sum(1 for _ in source) == traces
        assert source.recognised == ("OpenInference spans: 500 traces, 500 records",)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 8


class Dumped:
    """An object of a framework, such as a LangChain document."""

    def __init__(self, **held: Any) -> None:
        self._held = held

    def model_dump(self) -> dict[str, Any]:
        return self._held


def test_a_trace_may_be_in_several_files_of_a_folder(tmp_path: Path) -> None:
    """As a collector writes them; a broken file does not part them. Files of records are read one by one."""
    parts = {"1.jsonl": [LLM, A], "3.json": [ROOT, LATER | {"start_time": 2, "end_time": 2}]}
    for name, rows in parts.items():
        dumped = json.dumps(rows) if name.endswith(".json") else "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name).write_text(dumped)
    assert told(*records(tmp_path)) == [("q", "r", "AZ")]
    (tmp_path / "4.jsonl.gz").write_bytes(gzip.compress(b"{}" * 9)[:12])
    with open_records(tmp_path, on_error="skip") as source:
        broken, whole = source
        assert isinstance(broken, SetAside)
        assert broken.where.startswith("4.jsonl.gz")
        assert told(whole) == [("q", "r", "AZ")]
        assert source.recognised == ("OpenInference spans: 1 trace, 1 record",)
    (tmp_path / "4.jsonl.gz").unlink()
    (tmp_path / "5.jsonl").write_text(json.dumps(RECORD))
    assert [record.id for record in records(tmp_path)] == ["t", "t#2", "a"]


def test_results_of_frameworks_go_in_as_they_are() -> None:
    """Objects that say what they hold, in a row or as the row."""
    document = Dumped(id="tea-1", page_content="Green tea.", metadata={"source": "tea.pdf"}, type="Document")
    node = {"node": Dumped(id_="n", text="Green tea.", embedding=[0.1]), "score": 0.5}
    rows: list[Any] = [
        {"input": "q", "context": [document], "answer": "r"},
        Dumped(query="q", result="r", source_documents=[document]),
        {"question": "q", "response": Dumped(response="r", source_nodes=[node], metadata={})},
        {"question": "q", "contexts": [document], "response": Dumped(content="r", type="ai")},
        {"answers": [Dumped(data="r", query="q", documents=[{"content": "Green tea."}])]},
    ]
    for row in rows:
        record = only(row)
        assert (record.question, record.response) == ("q", "r")
        assert [passage.text for passage in record.contexts or ()] == ["Green tea."]
        assert "embedding" not in str(record.meta)
    assert "found an object" in refusal([{"question": "q", "response": Dumped(content="r", type="human")}])


def said(role: str, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": role, **({"content": content} if content is not None or "refusal" in more else {}), **more}


def text(of: str) -> dict[str, Any]:
    return {"type": "text", "text": of}


USER, ASSISTANT, FOUND = said("user", "q"), said("assistant", "r"), said("tool", "A")
IMAGE = said("user", [{"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}])


@pytest.mark.parametrize(
    ("messages", "read"),
    [
        ([USER, FOUND, ASSISTANT, said("user", "q2")], ("q", "r", "A")),
        ([USER, ASSISTANT, IMAGE, said("assistant", "a cat")], "without a user message"),
        ([said("user", [{"type": "text", "text": "q"}, *IMAGE["content"]]), ASSISTANT], ("q", "r", "")),
        ([USER, said("assistant", "Let me look.", tool_calls=[{}]), FOUND], "without an assistant answer"),
        ([USER, said("user", [{"type": "tool_result", "content": [{"type": "text", "text": "A"}]}]), ASSISTANT],
         ("q", "r", "A")),
        ([USER, said("tool", "[]"), ASSISTANT], ("q", "r", "")),
        ([USER, said("assistant", "r", retrieval_context=["A"])], ("q", "r", "A")),
        ([{"from": "human", "value": "q"}, {"from": "gpt", "value": "r"}], ("q", "r", "")),
        ([USER, said("tool", [text("A"), text('[{"text": "B"}]')]), ASSISTANT], ("q", "r", "A|B")),
        ([USER, said("tool", '{"results": [{"excerpt": "A"}]}'), ASSISTANT],
         ("q", "r", '{"results": [{"excerpt": "A"}]}')),
        ([USER, said("assistant", "r", sources=[{"snippet": "A"}])], ("q", "r", "A")),
        ([USER, said("assistant", "r", sources=["a.pdf"])], ("q", "r", "")),
        ([USER, said("assistant", "r", sources=[{"document": ["A", "B"], "metadata": [{}, {}]}])], ("q", "r", "A|B")),
        ([said("userMessage", "q"), said("apiMessage", "r", sourceDocuments=[{"pageContent": "A"}])], ("q", "r", "A")),
        ([{"sender": "User", "text": "q", "isCreatedByUser": True},
          {"sender": "GPT-4o", "text": "r", "isCreatedByUser": False}], ("q", "r", "")),
        ([said("user", [{"type": "search_result", "title": "t", "content": [text("A"), text("B")]},
                        {"type": "document", "source": {"type": "text", "data": "C"}},
                        {"type": "document", "source": {"type": "content", "content": "one text"}},
                        {"type": "document", "source": {"type": "content", "content": True}}, text("q")]), ASSISTANT],
         ("q", "r", "A\nB|C|one text")),
        ([USER, said("assistant", [{"type": "thinking", "thinking": "x"}, text("r"), text("2")])], ("q", "r2", "")),
        ([USER, said("assistant", parts=[{"type": "reasoning", "content": "x"}, {"type": "text", "content": "r"}])],
         ("q", "r", "")),
        ([USER, said("model", parts=[{"text": "x", "thought": True}, {"text": "r"}])], ("q", "r", "")),
        ([USER, said("assistant", blocks=[{"block_type": "thinking", "content": "x"},
                                          {"block_type": "text", "text": "r"}])], ("q", "r", "")),
        ([USER, said("assistant", None, refusal="r")], ("q", "r", "")),
        ([USER, {"type": "reasoning", "summary": [text("x")]}, {"type": "function_call", "name": "f"},
          {"type": "function_call_output", "output": "A"}, ASSISTANT], ("q", "r", "A")),
    ],
    ids=["ends with the user", "image", "text and image", "ends with a tool", "Anthropic", "nothing found", "deepeval",
         "ShareGPT", "parts of a tool", "unknown results", "sources", "names of sources", "Open WebUI", "Flowise",
         "LibreChat", "attached", "thinking", "reasoning", "thought", "blocks", "refusal", "Responses API"],
)  # fmt: skip
def test_a_conversation_is_its_last_whole_exchange(messages: list[Any], read: Any) -> None:
    """A question is never joined with the answer to another; what is left out is said."""
    with open_records([{"messages": messages}, {"messages": [said("user", "q9"), said("assistant", "r9")]}]) as source:
        *first, last = [record for record in source if isinstance(record, Record)]
        line = source.recognised[0]
    assert told(last) == [("q9", "r9", "")]
    assert told(*first, between="|") == ([] if isinstance(read, str) else [read])
    assert line.endswith("2 records" if first else f"1 record; skipped: 1 {read}")
    unread = "conversation: later user turns have no answer; the last exchange before them is used"
    assert (unread in [note for record in first for note in record.notes]) == (messages[-1].get("content") == "q2")


@pytest.mark.parametrize("name", ["prompt", "input", "question", "query"])
def test_contexts_in_a_prompt_without_messages_are_read(name: str) -> None:
    """Unless the row has contexts or a question of its own, or the prompt has no question below the contexts."""
    prompt = "Answer from the context.\n\nContext:\nA\n\nQuestion: q\nAnswer:"
    assert told(only({name: prompt, "response": "r"})) == [("q", "r", "A")]
    for row in ({name: prompt, "contexts": ["B"]}, {name: "q", "user_input" if name == "input" else "input": prompt}):
        assert "A" not in [passage.text for passage in only({"response": "r", **row}).contexts or ()]
    plain = {name: "Context:\nA", "response": "r"}
    assert told(only(plain)) == [(plain[name], "r", "")]


def test_what_is_next_to_messages_belongs_to_them() -> None:
    """Documents in a request, and earlier turns under any usual name."""
    documents = [{"id": "d", "data": {"text": "A"}}, {"data": {"title": "t", "snippet": "B"}}]
    reply: dict[str, Any] = {"message": said("assistant", [text("r")])}
    row: dict[str, Any] = {"request": {"messages": [USER], "documents": documents}, "response": reply}
    assert told(only(row), between="|") == [("q", "r", "A|B")]
    gold = {"messages": [USER], "reference": [{"text": "The expected passage."}]}
    assert told(only({"request": gold, "response": reply})) == [("q", "r", "")]
    places: tuple[tuple[dict[str, Any], ...], ...] = (
        ({"search_results": [{"snippet": "A"}], "citations": ["https://x"]}, {}, {}),
        ({}, {"sources": [{"text": "A"}]}, {}),
        ({}, {}, {"context": {"citations": [{"content": "A"}]}}),
    )
    for more, choice, message in places:
        reply = {"choices": [{"message": said("assistant", "r", **message), **choice}], **more}
        assert told(only({"request": {"messages": [USER]}, "response": reply})) == [("q", "r", "A")]
    gemini = {"candidates": [{"content": {"role": "model", "parts": [{"text": "r"}]}}]}
    row = {"request": {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}, "response": gemini}
    assert told(only(row)) == [("q", "r", "")]
    chunks = [{"retrievedContext": {"uri": "gs://a", "title": "a", "text": "A"}}, {"web": {"uri": "https://b"}}]
    gemini["candidates"][0]["groundingMetadata"] = {"groundingChunks": chunks}
    assert told(only(row)) == [("q", "r", "A")]
    azure = said("assistant", "r", context={"citations": [{"content": "A"}], "intent": "x"})
    assert told(only({"messages": [USER, azure]})) == [("q", "r", "A")]
    searched = {"type": "file_search_call", "results": [{"text": "A"}]}
    row = {
        "id": "r1",
        "input": "q",
        "output": [searched, {"type": "message", "role": "assistant", "content": [text("r")]}],
    }
    assert told(only(row)) == [("q", "r", "A")]
    completion = {"object": "chat.completion", "choices": [{"index": 0, "message": said("assistant", "r")}]}
    for whole in (completion, {"status_code": 200, "body": completion}):
        assert told(only({"question": "q", "contexts": ["A"], "response": whole})) == [("q", "r", "A")]
    claude = [{"sender": "human", "text": "q"}, {"sender": "assistant", "text": "r", "content": [text("r")]}]
    assert told(only({"uuid": "u", "name": "n", "chat_messages": claude})) == [("q", "r", "")]
    assert told(only({"id": "c", "chat": {"title": "t", "messages": [USER, ASSISTANT]}})) == [("q", "r", "")]
    earlier = [said("user", "q0"), said("assistant", "r0")]
    record = only({"question": "q", "response": "r", "conversation_history": earlier})
    assert record.meta["history"] == earlier


@pytest.mark.parametrize(
    ("components", "contexts"),
    [
        ({"a": "AB", "ranker": "B"}, "B"),
        ({"a": "A", "b": "B", "joiner": "BA"}, "BA"),
        ({"a": "A", "b": "B"}, "AB"),
    ],
    ids=["ranker", "joiner", "two retrievers"],
)
def test_documents_of_haystack_are_what_the_model_saw(components: dict[str, str], contexts: str) -> None:
    """Of several replies the first is read; they are answers to choose from, not parts of one."""
    made = {name: {"documents": [{"id": t, "content": t} for t in texts]} for name, texts in components.items()}
    record = only({**made, "llm": {"replies": ["r", "other"]}, "query": "q"})
    assert told(record) == [("q", "r", contexts)]
    assert "response: several replies; the first is used" in record.notes


def test_documents_in_an_output_of_promptfoo_are_evidence_unless_given() -> None:
    """An application that promptfoo called returns an object with its answer and sources."""
    row = {"vars": {"query": "q"}, "provider": "p", "response": {"output": {"answer": "r", "sources": [{"text": "A"}]}}}
    assert told(only(row)) == [("q", "r", "A")]
    assert told(only({**row, "vars": {"query": "q", "context": ["B"]}})) == [("q", "r", "B")]


def test_a_name_of_deepeval_is_the_id() -> None:
    """It is the same in every run of the test case; a record without one, or with its own id, is as it was."""
    row = plain_rows(EXPORTS / "deepeval.json")[0]
    assert [only(given).id for given in ({**row, "name": "tea"}, {**row, "name": "tea", "id": "a"})] == ["tea", "a"]
    assert len(only(row).id) == 12


def test_what_deepeval_joined_is_split_and_said() -> None:
    """A note is no part of the content that a record without an id is named after."""
    row = {"input": "q", "actual_output": "r", "retrieval_context": "A|B"}
    record = only(row)
    assert record.notes[0] == "contexts: split at each |, which deepeval's CSV puts between passages"
    assert record.id == only({**row, "retrieval_context": ["A", "B"]}).id


def test_several_ground_truths_are_kept_and_said() -> None:
    """One is the reference; of several none is chosen."""
    row = {"question": "q", "answer": "r", "contexts": ["A"]}
    assert only({**row, "ground_truths": ["g"]}).reference == "g"
    record = only({**row, "ground_truths": ["g", "h"]})
    assert (record.reference, record.meta) == (None, {"ground_truths": ["g", "h"]})
    assert record.notes[0] == "reference: 'ground_truths' has several entries, so it is kept in meta"


def test_contexts_of_a_test_set_are_gold_until_there_is_an_answer() -> None:
    row = {"question": "q", "contexts": ["A"], "ground_truth": "g", "evolution_type": "simple"}
    record = only(row)
    assert (record.contexts, record.reference, record.meta["reference_contexts"]) == (None, "g", ["A"])
    assert all(told(only({**row, name: "r"})) == [("q", "r", "A")] for name in ("answer", "response"))


def test_turns_of_bedrock_before_the_last_are_its_history() -> None:
    turns = [{"prompt": {"content": [text(t)]}, "output": {"text": a}} for t, a in (("q0", "r0"), ("q", "r"))]
    record = only({"conversationTurns": turns})
    assert told(record) == [("q", "r", "")]
    assert record.meta["history"] == [said("user", "q0"), said("assistant", "r0")]
    assert "history" not in only({"conversationTurns": turns[1:]}).meta
    assert only({**RECORD, "conversationTurns": ["q0"]}).response == RECORD["response"]


def test_the_file_of_a_trace_in_the_artifacts_of_mlflow_is_read() -> None:
    """It has no id of its own; the spans do."""
    trace = plain_rows(EXPORTS / "mlflow.json")[0]
    spans = [{**span, "attributes": {**span["attributes"], "mlflow.traceRequestId": '"tr-1"'}}
             for span in trace["data"]["spans"]]  # fmt: skip
    record = only({"spans": spans, "request": "{}", "response": '"r"'})
    assert (record.id, record.question, record.response) == ("tr-1", QUESTION, ANSWER)


def test_items_of_the_evals_api_are_conversations() -> None:
    sample = {"input": [said("user", "q")], "output": [said("assistant", "r")]}
    row = {"object": "eval.run.output_item", "id": "a", "datasource_item": {"question": "q"}, "sample": sample}
    assert told(only(row)) == [("q", "r", "")]


def test_what_a_file_search_of_the_responses_api_found_is_evidence() -> None:
    """In the reply itself, or in a log of the request and its reply."""
    search = {"type": "file_search_call", "queries": ["q"], "results": [{"file_id": "f", "score": 0.9, "text": "A"}]}
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "r"}]}
    for reply in ({"output": [search, message]}, {"response": {"output": [search, message]}}):
        assert told(only({"id": "a", "input": [USER], **reply})) == [("q", "r", "A")]
    for request in ({"input": [USER]}, {"model": "m", "input": "q"}):
        log = {"id": "a", "request": request, "response": {"output": [search, message]}}
        assert told(only(log)) == [("q", "r", "A")]


@pytest.mark.parametrize("written", [json.dumps, str])
def test_contexts_that_are_a_list_in_a_text_are_a_list(written: Any) -> None:
    """As JSON or as Python prints it; a text that only begins like one stays a passage."""
    for passages in (["It's A", 'B "b"'], [{"id": "1", "text": "A"}], []):
        record = only({**RECORD, "contexts": written(passages)})
        assert (len(record.contexts or ()), len(record.notes)) == (len(passages), 1)
        assert "contexts: a list given as a string was read as a list" in record.notes
    printed = "[{'text': 'A', 'score': np.float64(0.5)}, {'text': 'np.int64(1)', 'score': np.int64(-1)}]"
    assert told(only({**RECORD, "contexts": printed})) == [("q", "r", "Anp.int64(1)")]
    for text in ("[1] A passage", "[sic] 'A'", "[1, 2]", "[np.load('A')]"):
        assert told(only({**RECORD, "contexts": text})) == [("q", "r", text)]


def test_printed_absences_and_arrays_of_a_table_are_no_passages(tmp_path: Path) -> None:
    """None and nan in a column of lists are nothing; a printed array cannot be told apart and is refused."""
    (tmp_path / "t.csv").write_text("question,response,contexts\nq,r,None\nq,r,nan\nq,r,\"[None, 'A']\"\n")
    assert told(*records(tmp_path / "t.csv")) == [("q", "r", ""), ("q", "r", ""), ("q", "r", "A")]
    for cell in (
        "[Document(metadata={}, page_content='A')]",
        "array(['A', 'B'], dtype=object)",
        "[array(['A', 'B'], dtype=object)]",
        "['A' 'B']",
    ):
        (tmp_path / "t.csv").write_text(f'question,response,contexts\nq,r,"{cell}"\n')
        assert "field 'contexts': not JSON, and " in refusal(tmp_path / "t.csv")


RECORD = {"id": "a", "question": "q", "response": "r", "contexts": ["c"]}


def ids_of(rows: list[Any], **options: Any) -> list[str]:
    return [record.id for record in outcomes(rows, **options)]


@pytest.mark.parametrize(
    "wrapped",
    [
        {"data": [RECORD, {**RECORD, "id": "b"}], "meta": {"page": 1}},
        {"testRunData": {"testFile": None, "testCases": [RECORD, {**RECORD, "id": "b"}]}, "testRunLink": None},
        {"results": {"version": 3, "results": [RECORD, {**RECORD, "id": "b"}]}},
        {key: [value, "b" if key == "id" else value] for key, value in RECORD.items()},
        {key: {"0": value, "1": "b" if key == "id" else value} for key, value in RECORD.items()},
        {"columns": list(RECORD), "index": [0, 1], "data": [list(RECORD.values()), ["b", "q", "r", ["c"]]]},
        {name: {key: value for key, value in RECORD.items() if key != "id"} for name in "ab"},
    ],
    ids=["data", "deepeval", "nested", "Dataset.to_dict", "DataFrame.to_json", "split", "by id"],
)
def test_rows_are_taken_out_of_what_wraps_them(wrapped: dict[str, Any]) -> None:
    """One object of many rows, by rows or by columns."""
    found = records([wrapped])
    assert [record.id for record in found] == ["a", "b"]
    assert {(record.question, record.response, len(record.contexts or ())) for record in found} == {("q", "r", 1)}


@pytest.mark.parametrize("more", [{}, {"context": "A"}])
def test_parts_of_one_record_are_no_records(more: dict[str, str]) -> None:
    row = {"inputs": {"question": "q", **more}, "outputs": {"answer": "r", **more}}
    assert [record.meta for record in records([row])] == [row]


def test_the_user_says_where_the_rows_are_and_what_they_are() -> None:
    """--records for a list of any name, --from for a format; a mapping of fields describes plain rows."""
    assert ids_of([{"deep": {"mine": [RECORD]}}], layout=Layout(path="deep.mine[]")) == ["a"]
    with pytest.raises(RecordError, match=r"item 1: --records deep\.other: nothing found there; expected the path"):
        ids_of([{"deep": {"mine": [RECORD]}}], layout=Layout(path="deep.other[]"))
    with pytest.raises(ConfigError, match="--from langfuze: no such format; did you mean 'langfuse'"):
        Layout("langfuze")
    with pytest.raises(
        RecordError,
        match=r"no usable records \(Langfuse observations: 0 traces, 0 records; skipped: 1 with an unexpected",
    ):
        ids_of([RECORD], layout=Layout("langfuse"))
    assert ids_of([{**ROOT, "id": "plain"}], layout=Layout("records")) == ["plain"]
    assert ids_of([{**ROOT, "id": "plain"}], fields={"question": "name"}) == ["plain"]
    assert ids_of([{"data": [{}], "id": "whole"}], fields={"contexts": "data[].text"}) == ["whole"]


def test_a_row_of_another_shape_is_read_or_counted() -> None:
    """Among results of a framework a plain record is one; what has no field at all is counted."""
    result = {"id": "x", "query": "q", "result": "r", "source_documents": []}
    with open_records([result, RECORD, {"total": 2}]) as source:
        assert [record.id for record in source] == ["x", "a"]
        assert source.recognised == ("LangChain results: 2 records; skipped: 1 with an unexpected structure",)


def test_results_are_not_records(tmp_path: Path) -> None:
    """Whatever the format is said to be, and a folder of them neither; the input of the run is."""
    evaluate(
        [{"id": "a", **RECORD}, {"id": "b", "contexts": 5}], "grounding", on_error="skip", store=None, out=tmp_path
    )
    path = tmp_path / "results.jsonl"
    scored, aside = map(orjson.loads, path.read_bytes().splitlines())
    for source, place in (
        (path, "results.jsonl:1"),
        (tmp_path / "summary.json", "summary.json:1 item 1"),
        (tmp_path / "run.json", "run.json:1 item 1"),
        ([scored], ""),
        ([aside], ""),
        (tmp_path, f"{tmp_path}"),
    ):
        for layout in (None, Layout("records")):
            with pytest.raises(InputError) as caught:
                records(source, layout=layout, on_error="skip")
            told = f"{place}: contains the results of a run, not records; specify the input of that run"
            assert str(caught.value).endswith(told)


def test_names_are_matched_in_any_spelling() -> None:
    """Case, underscores, hyphens and blanks make no other name; the canonical spelling comes first."""
    row = {"ID": "a", "userInput": "q", "Actual Output": "r", "retrieved-contexts": ["c"], "Ground_Truth": "g", "My": 1}
    record = only(row)
    assert (record.id, record.question, record.response, record.reference) == ("a", "q", "r", "g")
    assert (len(record.contexts or ()), record.meta) == (1, {"My": 1})
    record = only({**RECORD, "Contexts": ["x"], "Answer": "other"})
    assert [passage.text for passage in record.contexts or ()] == ["c"]
    assert record.meta == {"Contexts": ["x"], "Answer": "other"}
    said = "'Answer' also fits and is kept in meta; if it is the expected answer, add --field reference=Answer"
    assert record.notes == (f"response: read from 'response'; {said}",)
    with pytest.raises(RecordError, match="field 'Response': expected a string or a list"):
        ids_of([{"Response": 7}])


def test_a_near_miss_is_suggested() -> None:
    """The one column that could be a field that no record has; for a question the topics, where an id is a topic's.

    Gold data, names and ids are never suggested as texts.
    """
    topics = "no question; did you mean --topics QUESTIONS_FILE?"
    answer = {"answer": [{"text": "r", "citations": []}], "references": []}
    docs = "no contexts; did you mean --field "
    asked, said_by = "no question; did you mean --field question=", "no response; did you mean --field response="
    qr, cr = {"question": "q", "response": "r"}, {"contexts": ["c"], "response": "r"}
    for row, said in (
        ({**qr, "retrievedDocs": ["c"]}, f"{docs}contexts=retrievedDocs?"),
        ({**cr, "customer_query": "q"}, f"{asked}customer_query?"),
        ({**qr, "retrieval": {"query": "q", "docs": ["c"]}}, f"{docs}contexts=retrieval.docs?"),
        ({**qr, "Doc 1": "c", "Doc 2": "", "gold_doc 1": "g"}, f"{docs}'contexts=Doc 1' --field 'contexts=Doc 2'?"),
        ({**qr, "passage1": "c", "page": "2"}, f"{docs}contexts=passage1?"),
        ({**qr, "docs_a": ["c"], "docs_b": ["c"]}, ""),
        (
            {**qr, "retrieval_gt": [["id"]], "retrieved_ids": ["a-1"], "retrieved_texts": ["c"]},
            f"{docs}contexts=retrieved_texts?",
        ),
        ({**qr, "retrieved": [{"rank": 1, "section": "A long title", "chunk_id": "a-1"}], "retrieval": "hybrid"}, ""),
        ({**cr, "question_type": "metrics"}, ""),
        ({**cr, "质问": "q", "": "q"}, ""),
        ({**cr, "input": {"text": "q", "id": "x"}}, f"{asked}input.text?"),
        ({**cr, "inputs": '{"question": "q"}'}, f"{asked}inputs.question?"),
        ({"contexts": ["c"], "question": "q", "answer_language": "eng", "output": {"model": "m-1"}}, ""),
        ({**qr, "hits": [{"score": 0.3}]}, ""),  # nothing in them can be read as a passage
        ({**qr, "hits": [{"score": 0.3}], "docs": ["c"]}, f"{docs}contexts=docs?"),
        ({**qr, "kb_hits": [{"url": "u", "extract": "long"}]}, f"{docs}'contexts=kb_hits[].extract'?"),
        ({**qr, "hits": [{"doc": "u", "url": "/long/url", "snip": "a text"}]}, f"{docs}'contexts=hits[].snip'?"),
        ({"contexts": ["c"], "metadata": {"run_id": "x", "narrative_id": 7}, **answer}, topics),
        ({**cr, "query_id": "7"}, topics),
        ({**cr, "qestion": "q"}, f"{asked}qestion?"),
        ({**qr, "contxts": ["c"], "content": "t", "retriever": "bm25"}, f"{docs}contexts=contxts?"),
        ({**qr, "content": "t", "retriever": "bm25"}, ""),
        ({"contexts": ["c"], "question": "q", "respones": "r"}, f"{said_by}respones?"),
        (cr, ""),
        ({"contexts": ["c"], "question": "q", "text": "It is.", "chatId": "c"}, f"{said_by}text?"),
        ({"contexts": ["c"], "question": "q", "text": "It is.", "message": "It is."}, ""),
        (
            {"contexts": ["c"], "question": "q", "answer": "It is.", "prediction": "It was.", "supporting_facts": []},
            f"{said_by}prediction?",
        ),
        ({"question": "q", "final_decision": "yes", "long_answer": "It is."}, ""),
        ({"question": "q", "contexts": ["c"], "best_answer": "It is."}, ""),
        ({**qr, "matches": [{"metadata": {"text": "c"}}]}, f"{docs}contexts=matches?"),
        ({"question": "q", "reference": "g", "supporting_documents": ["c"], "hits": ["c"]}, f"{docs}contexts=hits?"),
        ({**qr, "reference_contexts": ["c"]}, ""),
        ({**qr, "positive_passages": [{"text": "A text."}]}, ""),
        ({**qr, "search_query": "What is it?"}, ""),
        ({"contexts": ["c"], "question": "q", "incorrect_answer": "It is."}, ""),
        ({**cr, "user": {"name": "n", "id": "u"}, "agent_text": "t"}, ""),
        ({**cr, "userText": "t", "search_query": "q"}, f"{asked}search_query?"),
        ({**cr, "customer": {"said": "q", "name": "n"}}, f"{asked}customer.said?"),
        ({**cr, "inputs": '{"query": "q"}'}, f"{asked}inputs.query?"),
        ({"contexts": ["c"], "question": "q", "bot": {"message": "r", "name": "n"}}, f"{said_by}bot.message?"),
        ({"contexts": ["c"], "question": "q", "reply": {"model": "m 1", "text": "r"}}, f"{said_by}reply.text?"),
        ({"contexts": ["c"], "question": "q", "reply": {"model": "m-1", "full": "It is."}}, f"{said_by}reply.full?"),
        ({"contexts": ["c"], "question": "q", "reply": {"model": "m 1", "full": "It is."}}, ""),
    ):
        with open_records([{"id": "a", **row}]) as source:
            assert survey(source).near_misses == ((said,) if said else ())
    for parts, several in (({"x": {"answer": "r"}, "y": {"answer": "r"}}, ["x.answer or y.answer"]), ({"x": {}}, [])):
        with open_records([{"contexts": ["c"], "question": "q", **parts}]) as source:
            notes = [note.text for note in survey(source).notes if "it may be" in note.text]
        assert notes == [f"no response; it may be {paths}: add --field response=PATH" for paths in several]
    for holder, path in (
        ({"train": [RECORD], "test": [RECORD]}, "train"),
        ({"version": 1, "other": [{"x": 1}], "data": {"mine": [RECORD]}}, "data.mine"),
        ({"meta": {"version": 1}, "result": {"talks": [{"user": {"text": "q"}}]}}, "result.talks"),
        ({"data": [{"title": "t", "parts": [RECORD]}, {"title": "u", "parts": [RECORD, RECORD]}]}, "data[].parts"),
    ):
        with open_records([holder]) as source:
            assert survey(source).near_misses == (f"no records; did you mean --records '{path}[]'?",)
        fields = {"question": "user.text"} if path == "result.talks" else {}
        with open_records([holder], layout=Layout(path=f"{path}[]"), fields=fields) as source:
            assert all(isinstance(record, Record) and record.question == "q" for record in source)
    with open_records([{"x": 1, "tags": [{"y": "z"}]}, {"x": 2, "tags": [{"y": "z"}]}]) as source:
        assert survey(source).near_misses == (), "several rows are no wrappers"


@pytest.mark.parametrize(
    ("contexts", "said"),
    [
        (["<p>Tea is a shrub.</p>"], "a passage with markup (HTML or XML)"),
        (['{"text": "Tea is a shrub."}'], "a passage that is JSON; specify its text with --field contexts=PATH[].text"),
        ("Tea.\n\nMint.", "one text that looks like several joined passages; give a list"),
        (["Tea.\n---\nMint."], "one text that looks like several joined passages; give a list"),
        (["Tea.\n|||\nMint."], "one text that looks like several joined passages; give a list"),
        (["Tea [SEP] Mint."], "one text that looks like several joined passages; give a list"),
        (["Tea.<br>Mint."], "a passage with markup (HTML or XML)"),
        (["page_content='Tea.' metadata={}"], "a passage is a printed document object; export its text instead"),
        (["Node ID: 7\nText: Tea.\nScore: 0.5\n"], "a passage is a printed document object; export its text instead"),
        ([{"text": "Tea.", "rank": 2}, {"text": "Mint.", "rank": 1}],
         "passages are not in the order of their ranks; the order of the list is used"),
        (["Tea < mint.\n\nIt is [1].", "[1] Mint."], None),
        (["\n\nTea.\n---\n"], None),
    ],
)  # fmt: skip
def test_passages_that_are_no_plain_text_are_noted(contexts: Any, said: str | None) -> None:
    """Markup, JSON, and several passages in one text are read as they are, and said."""
    record = only({**RECORD, "contexts": contexts})
    assert record.notes == ((f"contexts: {said}",) if said else ())


@pytest.mark.parametrize(
    "text", ["\n" * 10**5, "\n " * 10**5, "a\n" + "-" * 10**5, "<br " * 10**5, "</a" + " " * 10**5]
)
def test_a_passage_of_blanks_is_read_at_once(text: str) -> None:
    """Neither a hostile text nor a broken one stops the reading."""
    started = time.monotonic()
    only({**RECORD, "contexts": [f"a{text}b"]})
    assert time.monotonic() - started < 2


SAMPLES = [row for path in sorted(EXPORTS.glob("*.json*")) for row in plain_rows(path)]
KEYS = sorted({key for row in SAMPLES for holder in holders_of(row) if isinstance(holder, dict) for key in holder})
json_values = st.recursive(
    st.none()
    | st.integers(-5, 2**80)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a", "[1]", '{"a": 1}', *KEYS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300)
@given(st.sampled_from(SAMPLES), st.lists(st.tuples(st.integers(0, 400), json_values), min_size=1, max_size=4))
def test_a_damaged_export_is_records_or_one_clear_line(row: Any, damage: list[tuple[int, Any]]) -> None:
    """Whatever stands in the place of any value of a real export: no other error than one that says where."""
    row = orjson.loads(orjson.dumps(row))
    for place, value in damage:
        holders = [holder for holder in holders_of(row) if holder]
        holder = holders[place % len(holders)] if holders else row
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if keys:
            holder[keys[place % len(keys)]] = value
    with suppress(RecordError):
        for outcome in open_records([row], on_error="skip"):
            assert "\n" not in getattr(outcome, "error", "")

"""Exports of other tools are read without a flag: golden files made by the libraries, or after published schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragstone.records import open_records, survey
from ragstone.types import DETAILS, Record

EXPORTS = Path(__file__).parent / "exports"
QUESTION, ANSWER = "How hot is green tea brewed?", "At 70 to 80 degrees."
GREEN = ("tea-1", "Green tea is brewed at 70 to 80 degrees.")
BLACK = ("tea-2", "Black tea takes boiling water.")
FIRST, SECOND = ("1", GREEN[1]), ("2", BLACK[1])
MODEL = "small-model-1"
HELLO = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello, what is it?"}]
SPANS = "OpenInference spans: 3 traces, 1 record; 1 failed before an answer; 1 without a retriever span: set aside"


def records_of(name: str, **options: Any) -> tuple[list[Record], tuple[str, ...]]:
    with open_records(EXPORTS / name, **options) as source:
        records = [record for record in source if isinstance(record, Record)]
        return records, survey(source).recognised


@pytest.mark.parametrize(
    ("name", "said", "passages", "scores", "model"),
    [
        ("openinference-otlp.jsonl", SPANS, (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("openinference-console.json", SPANS, (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("phoenix-spans.jsonl", SPANS, (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("phoenix-spans.csv", SPANS, (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("phoenix-api.json", SPANS, (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("phoenix-spans.parquet", SPANS, (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("genai-otlp.jsonl", "OpenTelemetry spans: 1 trace, 1 record", (GREEN,), (0.91,), MODEL),
        ("langchain-dump.jsonl", "LangChain results: 1 record", (GREEN, BLACK), (), None),
        ("langchain-dumpd.jsonl", "LangChain results: 1 record", (GREEN, BLACK), (), None),
        ("langchain-retrievalqa.jsonl", "LangChain results: 1 record", (GREEN, BLACK), (), None),
        ("llamaindex.jsonl", "LlamaIndex responses: 2 records", (GREEN, BLACK), (0.91, 0.44), None),
        ("haystack-answer.jsonl", "Haystack answers: 1 record", (GREEN, BLACK), (2.65, 0.247), MODEL),
        ("haystack-run.jsonl", "Haystack answers: 1 record", (GREEN, BLACK), (2.65, 0.247), MODEL),
        ("deepeval.json", "deepeval test cases: 1 record", (FIRST, SECOND), (), None),
        ("deepeval.csv", "deepeval test cases: 1 record", (FIRST, SECOND), (), None),
        ("deepeval-run.json", "deepeval test cases: 1 record", (FIRST, SECOND), (), None),
        ("mlflow.json", "MLflow traces: 1 trace, 1 record", (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("mlflow-search.jsonl", "MLflow traces: 1 trace, 1 record", (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("ragas.jsonl", "ragas samples: 1 record", (FIRST, SECOND), (), None),
        ("ragas.csv", "ragas samples: 1 record", (FIRST, SECOND), (), None),
        ("ragas-columns.json", "ragas samples: 1 record", (FIRST, SECOND), (), None),
        ("langsmith-runs.jsonl", "LangSmith runs: 1 trace, 1 record", (GREEN, BLACK), (0.91, 0.44), MODEL),
        (
            "langfuse-observations.jsonl",
            "Langfuse observations: 1 trace, 1 record",
            (GREEN, BLACK),
            (0.91, 0.44),
            MODEL,
        ),
        ("langfuse-traces.json", "Langfuse observations: 1 trace, 1 record", (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("promptfoo.json", "promptfoo results: 1 record; 1 without an output: set aside", (FIRST, SECOND), (), MODEL),
        ("chat-messages.jsonl", "Conversations: 1 record", (GREEN, BLACK), (0.91, 0.44), MODEL),
        ("chat-requests.jsonl", "Conversations: 1 record", (GREEN, BLACK), (0.91, 0.44), MODEL),
        (
            "openai-evals.jsonl",
            "Conversations: 1 record; 1 of another shape: set aside",
            (GREEN, BLACK),
            (),
            None,
        ),
        ("nexa-gauge.jsonl", "", (FIRST, SECOND), (), None),
        ("ragbench.jsonl", "RAGBench rows: 1 record", (FIRST, SECOND), (), MODEL),
        ("trulens-records.jsonl", "TruLens records: 1 trace, 1 record", (FIRST, SECOND), (), None),
        ("trulens-events.jsonl", "TruLens records: 1 trace, 1 record", (FIRST, SECOND), (), None),
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

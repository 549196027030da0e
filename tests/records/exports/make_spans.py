"""Write span exports with opentelemetry-sdk and openinference-instrumentation: run it where both are installed.

Two questions. The first has two retrievers, a reranker after them, a tool call and an evaluator; the second fails.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from openinference.instrumentation import OITracer, TraceConfig, get_retriever_attributes, using_session
from openinference.semconv.trace import SpanAttributes
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Status, StatusCode

HERE = Path(__file__).parent
GREEN = {"document.id": "tea-1", "document.content": "Green tea is brewed at 70 to 80 degrees.", "document.score": 0.91}
BLACK = {"document.id": "tea-2", "document.content": "Black tea takes boiling water.", "document.score": 0.44}
MINT = {"document.id": "herb-7", "document.content": "Mint is a herb.", "document.score": 0.12}
QUESTION, ANSWER = "At what temperature is green tea brewed?", "At 70 to 80 degrees."


class Counted(IdGenerator):
    """Ids that are the same each time."""

    def __init__(self) -> None:
        self.trace = self.span = 0

    def generate_trace_id(self) -> int:
        self.trace += 1
        return 0xA0000000000000000000000000000000 + self.trace

    def generate_span_id(self) -> int:
        self.span += 1
        return 0xB000000000000000 + self.span


def named(*documents: dict) -> list[dict]:
    """Documents as the instrumentation takes them."""
    return [{key.partition(".")[2]: value for key, value in item.items()} for item in documents]


def with_hex_ids(value):
    """OTLP's JSON has ids as hexadecimal digits, where protobuf's own has base64."""
    if isinstance(value, list):
        return [with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(item).hex() if key in ("traceId", "spanId", "parentSpanId") else with_hex_ids(item)
        for key, item in value.items()
    }


def listed(prefix: str, documents: list[dict]) -> dict:
    return {f"{prefix}.{n}.{key}": value for n, item in enumerate(documents) for key, value in item.items()}


def answer(tracer: OITracer) -> None:
    with using_session("session-1"), tracer.start_as_current_span("rag", openinference_span_kind="chain") as root:
        root.set_input({"question": QUESTION, "top_k": 2})
        with tracer.start_as_current_span("vectors", openinference_span_kind="retriever") as span:
            span.set_input(QUESTION)
            span.set_attributes(get_retriever_attributes(documents=named(GREEN, MINT)))
        with tracer.start_as_current_span("words", openinference_span_kind="retriever") as span:
            span.set_input("green tea")
            span.set_attributes(get_retriever_attributes(documents=named(BLACK, GREEN)))
        with tracer.start_as_current_span("rerank", openinference_span_kind="reranker") as span:
            span.set_attribute("reranker.query", QUESTION)
            span.set_attributes(listed("reranker.input_documents", [GREEN, MINT, BLACK]))
            span.set_attributes(listed("reranker.output_documents", [GREEN, BLACK]))
        with tracer.start_as_current_span("clock", openinference_span_kind="tool") as span:
            span.set_input("now")
            span.set_output("10 o'clock")
        with tracer.start_as_current_span("llm", openinference_span_kind="llm") as span:
            span.set_attribute(SpanAttributes.LLM_MODEL_NAME, "small-model-1")
            span.set_input({"messages": [{"role": "user", "content": f"Passages: ... {QUESTION}"}]})
            span.set_output(ANSWER)
        root.set_output(ANSWER)
        root.set_status(Status(StatusCode.OK))


def fail(tracer: OITracer) -> None:
    with tracer.start_as_current_span("rag", openinference_span_kind="chain") as root:
        root.set_input("Is mint a herb?")
        with tracer.start_as_current_span("vectors", openinference_span_kind="retriever") as span:
            span.set_attributes(get_retriever_attributes(documents=named(MINT)))
        root.set_status(Status(StatusCode.ERROR, "the model did not answer"))


def chat(tracer: OITracer) -> None:
    with tracer.start_as_current_span("hello", openinference_span_kind="chain") as root:
        root.set_input("Hello")
        root.set_output("Hello, what would you like to know?")


def genai(tracer) -> None:
    """GenAI semantic conventions, messages as JSON in attributes."""
    with tracer.start_as_current_span("invoke_agent tea") as root:
        root.set_attribute("gen_ai.operation.name", "invoke_agent")
        with tracer.start_as_current_span("retrieval tea") as span:
            span.set_attribute("gen_ai.operation.name", "retrieval")
            span.set_attribute("gen_ai.retrieval.query.text", QUESTION)
            documents = [{"id": "tea-1", "score": 0.91, "content": GREEN["document.content"]}]
            span.set_attribute("gen_ai.retrieval.documents", json.dumps(documents))
        with tracer.start_as_current_span("chat small-model-1") as span:
            span.set_attribute("gen_ai.operation.name", "chat")
            span.set_attribute("gen_ai.request.model", "small-model-1")
            said = [
                {"role": "user", "parts": [{"type": "text", "content": "Hello"}]},
                {"role": "assistant", "parts": [{"type": "text", "content": "Hello, what is it?"}]},
                {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
            ]
            made = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}]
            span.set_attribute("gen_ai.input.messages", json.dumps(said))
            span.set_attribute("gen_ai.output.messages", json.dumps(made))


def traced(*steps, plain: bool = False) -> list:
    kept = InMemorySpanExporter()
    provider = TracerProvider(id_generator=Counted(), resource=Resource({}))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("tea")
    for step in steps:
        step(tracer if plain else OITracer(tracer, config=TraceConfig()))
    return list(kept.get_finished_spans())


spans = traced(answer, fail, chat)
(HERE / "openinference-console.json").write_text("\n".join(span.to_json() for span in spans) + "\n")
otlp = with_hex_ids(MessageToDict(encode_spans(spans)))
(HERE / "openinference-otlp.jsonl").write_text(json.dumps(otlp) + "\n")
(HERE / "genai-otlp.jsonl").write_text(
    json.dumps(with_hex_ids(MessageToDict(encode_spans(traced(genai, plain=True))))) + "\n"
)

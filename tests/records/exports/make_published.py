"""Write exports of tools that have no library to make them with, after their published schemas."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
QUESTION, ANSWER = "How hot is green tea brewed?", "At 70 to 80 degrees."
GREEN, BLACK = "Green tea is brewed at 70 to 80 degrees.", "Black tea takes boiling water."
MODEL = "small-model-1"


def write(name: str, *rows: object) -> None:
    (HERE / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def observation(number: int, kind: str, name: str, parent: str | None, given: object, made: object) -> dict:
    """An observation of Langfuse's public API (``GET /api/public/observations``)."""
    return {
        "id": f"o{number}", "traceId": "t1", "type": kind, "name": name, "parentObservationId": parent,
        "startTime": f"2026-01-02T10:00:0{number}.000Z", "endTime": f"2026-01-02T10:00:0{number}.500Z",
        "completionStartTime": None, "model": MODEL if kind == "GENERATION" else None, "modelParameters": {},
        "input": given, "output": made, "metadata": {}, "level": "DEFAULT", "statusMessage": None,
        "environment": "default", "usageDetails": {}, "costDetails": {},
    }  # fmt: skip


HITS = [
    {"id": "tea-1", "page_content": GREEN, "metadata": {}, "score": 0.91},
    {"id": "tea-2", "page_content": BLACK, "metadata": {}, "score": 0.44},
]
SAID = [{"role": "user", "content": f"Passages: ... {QUESTION}"}]
OBSERVATIONS = [
    observation(1, "SPAN", "ask", None, {"question": QUESTION}, {"answer": ANSWER}),
    observation(2, "RETRIEVER", "retrieve", "o1", QUESTION, HITS),
    observation(3, "GENERATION", "generate", "o1", SAID, {"role": "assistant", "content": ANSWER}),
]
TRACE = {
    "id": "t1", "timestamp": "2026-01-02T10:00:00.000Z", "name": "ask", "input": {"question": QUESTION},
    "output": {"answer": ANSWER}, "sessionId": "session-1", "userId": None, "metadata": {}, "tags": ["tea"],
    "public": False, "environment": "default", "htmlPath": "/project/p/traces/t1", "latency": 2.5, "totalCost": 0,
}  # fmt: skip

write("langfuse-observations.jsonl", *reversed(OBSERVATIONS))
write("langfuse-traces.json", {"data": [{**TRACE, "observations": OBSERVATIONS, "scores": []}], "meta": {"page": 1}})

TEST = {"query": QUESTION, "context": [GREEN, BLACK]}
RESULT = {
    "promptIdx": 0, "testIdx": 0, "id": "r1", "testCase": {"vars": TEST, "assert": []}, "promptId": "p1",
    "provider": {"id": MODEL, "label": ""}, "prompt": {"raw": "Passages: ...", "label": "rag"}, "vars": TEST,
    "response": {"output": ANSWER, "tokenUsage": {}, "cached": False}, "success": True, "score": 1,
    "namedScores": {}, "latencyMs": 12, "cost": 0, "gradingResult": None, "metadata": {}, "failureReason": 0,
}  # fmt: skip
FAILED = {**RESULT, "id": "r2", "response": {"error": "no answer"}, "error": "no answer", "success": False, "score": 0}
results = {"version": 3, "timestamp": "2026-01-02T10:00:00.000Z", "prompts": [], "results": [RESULT, FAILED]}
(HERE / "promptfoo.json").write_text(json.dumps({"evalId": "eval-1", "results": results, "config": {}}) + "\n")

TALK = [
    {"role": "system", "content": "Answer from the passages."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hello, what is it?"},
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {}}]},
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(HITS)},
    {"role": "assistant", "content": ANSWER},
]
write("chat-messages.jsonl", {"messages": TALK, "model": MODEL})
reply = {"id": "x", "object": "chat.completion", "model": MODEL, "choices": [{"index": 0, "message": TALK[-1]}]}
write("chat-requests.jsonl", {"request": {"messages": TALK[:-1], "model": MODEL}, "response": reply})
sample = {"prompt": TALK[:-1], "sampled": [ANSWER]}
event = {"run_id": "r", "event_id": 0, "sample_id": "tea.1", "type": "sampling", "data": sample}
write("openai-evals.jsonl", event, {**event, "event_id": 1, "type": "match", "data": {"correct": True}})
write("nexa-gauge.jsonl", {"case_id": "1", "question": QUESTION, "generation": ANSWER, "context": [GREEN, BLACK]})
sentences = [[["0a", GREEN]], [["1a", BLACK]]]
bench = {"id": "1", "question": QUESTION, "documents": [GREEN, BLACK], "response": ANSWER}
bench |= {"generation_model_name": MODEL, "documents_sentences": sentences, "response_sentences": [["a", ANSWER]]}
write("ragbench.jsonl", bench)

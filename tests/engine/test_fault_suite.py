"""Everything at once: an endpoint that fails in every way, 300 records, and not one label that it did not give."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ragstone import Run, evaluate
from ragstone.engine import calls as engine_calls
from ragstone.testing import FakeServer

RECORDS = 300
METRICS = ["grounding", "answer_relevance"]
FAULTS: dict[str, Any] = {
    "rate_429": 0.05, "retry_after": 0.05, "rate_500": 0.05, "rate_truncated": 0.01, "rate_malformed": 0.01,
    "rate_garbage": 0.01, "rate_think_fenced": 0.02, "rate_hang": 0.01, "rate_reset": 0.005, "rate_cut": 0.005,
    "seed": 2,
}  # fmt: skip


def answer(request: dict[str, Any]) -> Any:
    """What the schema asks for, every label by its place and the first messages: asked again, it is the same."""
    first = json.dumps(request["messages"][:2])
    return _value(request["response_format"]["json_schema"]["schema"], first, "")


def _value(schema: dict[str, Any], about: str, path: str) -> Any:
    chance = hashlib.blake2b(f"{about}\0{path}".encode(), digest_size=8).digest()
    if "enum" in schema:
        return schema["enum"][chance[0] % len(schema["enum"])]
    match schema.get("type"):
        case "object":
            return {name: _value(inner, about, f"{path}/{name}") for name, inner in schema["properties"].items()}
        case "array":
            return [_value(schema["items"], about, f"{path}/{number}") for number in range(2)]
        case "integer" | "number":
            return 1
        case "boolean":
            return bool(chance[0] % 2)
        case _:
            return f"A statement of {chance.hex()} and no more."


def records() -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{number}",
            "question": f"What is said of kettle {number}?",
            "contexts": [f"Kettle {number} is made of steel. It boils in a minute.", "Lids are glass."],
            "response": f"Kettle {number} is made of steel. Its lid floats on water.",
        }
        for number in range(RECORDS)
    ]


def judged(folder: Path, server: FakeServer, dialect: str) -> Run:
    config = folder / "ragstone.toml"
    config.write_text(
        f'[judges.it]\n{dialect}\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = ""\ntimeout = 2\n'
    )
    return evaluate(records(), METRICS, "it", config=config, store=folder / "store.db", out=folder)


def labels(score: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(verdict["unit"], verdict["label"]) for verdict in score["verdicts"]]


@pytest.mark.parametrize("dialect", ["", 'provider = "anthropic"'], ids=["openai", "messages"])
def test_a_judge_that_fails_in_every_way_costs_no_label_and_gives_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    """Every record is scored or says why not, what is scored is as in calm weather, and the run comes to its end.

    5 % 429 with Retry-After, 5 % 500, 3% truncated or malformed, 2% fenced after a reasoning block, 1% hung
    connections, 1% resets, before a reply or in the middle of it.
    """
    monkeypatch.setattr(engine_calls, "_backoff", lambda attempt: 0.05)
    for name in ("calm", "storm"):
        (tmp_path / name).mkdir()
    with FakeServer(answer=answer) as server:
        calm = judged(tmp_path / "calm", server, dialect)
        needed = server.count
        server.configure(**FAULTS)
        server.reset()
        storm = judged(tmp_path / "storm", server, dialect)
        seen = server.seen
        # What comes after its two seconds, on a busy machine, is asked for again; nothing else is paid twice.
        assert server.count - len(server.unique) <= 0.005 * needed
    assert calm.status == storm.status == "done"
    for fault, share in ((429, 0.05), (500, 0.05), ("hang", 0.01), ("reset", 0.005), ("cut", 0.005)):
        assert seen[fault] > 0.4 * share * needed, f"{fault} was among the faults"
    expected = {result["id"]: result["scores"] for result in calm.results()}
    assert {score["status"] for scores in expected.values() for score in scores} == {"scored"}
    found = {result["id"]: result["scores"] for result in storm.results()}
    assert len(found) == RECORDS
    whole = 0
    for name, scores in found.items():
        whole += all(score["status"] == "scored" for score in scores)
        for score, wanted in zip(scores, expected[name], strict=True):
            if score["status"] == "scored":
                assert labels(score) == labels(wanted)
                assert score["value"] == wanted["value"]
            else:
                assert score["status"] == "judge_failed"
                assert score["reason"]
    assert whole >= 0.995 * RECORDS

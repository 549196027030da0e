"""A run against an endpoint that answers every call in another format ends with every label right."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ragstone import evaluate
from ragstone.questions import SUPPORT_3
from ragstone.testing import REPLY_FORMATS, FakeServer, Scripted, labels_reply

FORMATS = [fmt for fmt in REPLY_FORMATS if fmt != "object"]
RECORDS = [
    {
        "id": f"r{number}",
        "question": f"What is kettle {number}?",
        "response": f"Kettle {number} is steel.",
        "nuggets": [
            {"text": f"Kettle {number} has quality {n}", "importance": "vital"} for n in range(1, 3 + number % 11)
        ],
    }
    for number in range(1, 61)
]


def truth(nugget: str) -> str:
    """The label that the endpoint means for a nugget: any, and always the same."""
    return SUPPORT_3.labels[zlib.crc32(nugget.encode()) % 3]


def shown(request: dict[str, Any]) -> list[str]:
    material = next(message["content"] for message in request["messages"] if message["role"] == "user")
    return re.findall(r"\[\w+ nugget \d+\]\n(.*)", material)


def dressed(reply: str, way: int) -> str:
    """As models put it: bare, in a fence, after thinking, between polite words."""
    ways = (
        reply,
        f"```\n{reply}\n```",
        f"<think>1. not so sure about 2.</think>\n{reply}",
        f"Sure!\n\n{reply}\n\nDone.",
    )
    return ways[way % len(ways)]


@pytest.mark.parametrize("asked", ["adaptive", "json", "keyed", "csv"])
def test_a_run_that_is_answered_in_a_random_format_per_call_has_every_label_right(asked: str, tmp_path: Path) -> None:
    used: Counter[str] = Counter()

    def answer(request: dict[str, Any]) -> str:
        nuggets = shown(request)
        seed = zlib.crc32(nuggets[0].encode() + asked.encode())
        fmt = FORMATS[seed % len(FORMATS)]
        used[fmt] += 1
        return dressed(labels_reply([truth(nugget) for nugget in nuggets], fmt), seed // 16)

    with FakeServer(answer=answer) as server:
        run = evaluate(
            RECORDS, "nugget_recall", f"vllm:any@{server.url}", store=tmp_path / "s.db", format=asked,
            structured="off",
        )  # fmt: skip
    assert set(used) == set(FORMATS)
    for result in run.results():
        units = {unit["id"]: unit["text"] for unit in result["units"]}
        verdicts = result["scores"][0]["verdicts"]
        assert len(verdicts) == len(next(r["nuggets"] for r in RECORDS if r["id"] == result["id"]))
        assert [verdict["label"] for verdict in verdicts] == [truth(units[verdict["unit"]]) for verdict in verdicts]
        assert all(call["reading"]["status"] == "ok" for call in result["calls"])


def test_readings_say_what_was_mended_and_at_what_cost(tmp_path: Path) -> None:
    def answer(request: dict[str, Any]) -> str | Scripted:
        nuggets = shown(request)
        if len(request["messages"]) > 2:
            return "2: support"
        return labels_reply([truth(nuggets[0]), "unclear", *map(truth, nuggets[2:])], "yaml")

    with FakeServer(answer=answer) as server:
        run = evaluate(
            RECORDS[:3], "nugget_recall", f"vllm:any@{server.url}", store=tmp_path / "s.db",
            prompts=["assign=optimized"], format="yaml",
        )  # fmt: skip
    for result in run.results():
        first, second = sorted((call["reading"] for call in result["calls"]), key=lambda reading: "repair" in reading)
        asked = len(result["scores"][0]["verdicts"])
        assert (first["style"], first["format"], first["reader"]) == ("optimized", "yaml", "yaml")
        assert (first["status"], first["read"], first["asked"]) == ("unknown_label", asked - 1, asked)
        assert "2: 'unclear'" in first["problem"]
        assert (second["status"], second["read"], second["asked"], second["repair"]) == ("ok", 1, 1, True)
        assert result["scores"][0]["unjudged"] == 0

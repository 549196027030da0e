"""The example traces and the guide to testing are what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ragstone import testing
from ragstone.testing import Knobs

EXAMPLES = Path(__file__).parents[2] / "examples"
TRACES: list[dict[str, Any]] = [
    json.loads(line) for line in (EXAMPLES / "traces.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_every_trace_is_described_once() -> None:
    """The table names the ids of the file, in their order, and nothing else."""
    table = re.findall(r"^\| `([a-z0-9-]+)` \|", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert table == [trace["id"] for trace in TRACES]
    assert len(set(table)) == len(table) >= 20


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: str(trace["id"]))
def test_a_trace_is_complete(trace: dict[str, Any]) -> None:
    """Each has a domain, a question and two to four contexts of readable length."""
    assert trace["domain"]
    assert trace["question"].endswith("?")
    assert 2 <= len(trace["contexts"]) <= 4
    assert all(40 <= len(context.split()) <= 150 for context in trace["contexts"])


def test_the_special_cases_are_there() -> None:
    """A blank response, a verbatim one, a list, Russian, and a record with parameters of its own."""
    by_id = {trace["id"]: trace for trace in TRACES}
    assert [trace["id"] for trace in TRACES if not trace["response"]] == ["tomato-blight"]
    copies = [
        trace["id"]
        for trace in TRACES
        if any(trace["response"] and trace["response"] in context for context in trace["contexts"])
    ]
    assert copies == ["tea-water"]
    assert by_id["hut-packing"]["response"].count("\n- ") == 5
    assert re.search("[а-я]", by_id["muzej-chasy"]["response"])
    assert by_id["cello-strings"]["grounding"] == {"scoring_mode": "scale_1_5", "include_reasoning": True}


GUIDE = Path(__file__).parents[2] / "docs" / "testing.md"


def test_the_examples_of_the_guide_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of Python in the guide runs, one after the other, as a reader would."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 3
    names: dict[str, Any] = {"__name__": "guide"}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{GUIDE.name} block {number}", "exec"), names)


def test_the_reference_names_every_knob() -> None:
    """No keyword of the server is missing from the reference, which is the docstring of Behaviour."""
    text = (GUIDE.parent / "reference" / "testing.md").read_text(encoding="utf-8")
    assert [name for name in Knobs.__annotations__ if f"`{name}`" not in text and f"{name}=" not in text] == []


def test_the_public_names_are_there() -> None:
    """What the kit exports exists, without repetition."""
    assert len(testing.__all__) == len(set(testing.__all__))
    assert all(hasattr(testing, name) for name in testing.__all__)

"""The guide to testing tells the truth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ragstone import testing
from ragstone.testing import Knobs

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

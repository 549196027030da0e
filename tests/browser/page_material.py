"""What the pages of the tests are made from: example traces in groups, and a judge of another opinion."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from ragstone import Run
from ragstone.questions import Question, Rate

TRACES: Final = Path(__file__).parents[2] / "examples" / "traces.jsonl"
Serious: TypeAlias = Callable[[], list[tuple[str, str]]]
"""What axe finds serious on the page that is open."""


@dataclass(frozen=True)
class Shown:
    """A run and the address of its page."""

    run: Run
    path: Path

    @property
    def address(self) -> str:
        return self.path.as_uri()

    def at(self, fragment: str) -> str:
        return f"{self.address}#{fragment}"


def contrary(question: Question[Any]) -> Any:
    """A second opinion: every other unit gets the worst label, and one in five none."""
    assert isinstance(question, Rate)
    worst, best = question.scale.labels[0], question.scale.labels[-1]
    return [None if number % 5 == 4 else (worst, best)[number % 2] for number, _ in enumerate(question.units)]


def rows() -> list[dict[str, Any]]:
    """The example traces, some with nuggets of their own."""
    found = [json.loads(line) for line in TRACES.read_text("utf-8").splitlines()]
    for number, row in enumerate(found):
        if number < 4:
            row["nuggets"] = [{"text": row["response"].split(".")[0], "importance": "vital"},
                              {"text": "Something that no response says.", "importance": "okay"}]  # fmt: skip
    return found


def seen(text: str) -> str:
    """A text as a page draws it: what turns its direction is a sign."""
    return "".join("\u21c4" if "\u202a" <= one <= "\u202e" or "\u2066" <= one <= "\u2069" else one for one in text)

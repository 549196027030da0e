"""Shared parts of lists and tables of labels: rows, field names, lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

LABEL_NAMES: Final[tuple[str, ...]] = (
    "final_label", "final_decision", "final_verdict", "label", "decision", "verdict", "assignment", "judgment",
    "judgement", "status", "grade", "rating", "score", "support", "classification", "result", "category",
    "importance", "relevance", "supported", "is_supported", "метка", "решение", "оценка", "вердикт",
)  # fmt: skip
"""What the field or column of the label is called, the likeliest first."""
NUMBER_NAMES: Final[tuple[str, ...]] = (
    "number", "id", "no", "n", "index", "nugget_id", "nugget_number", "nugget_no", "statement_id", "claim_id", "num",
    "unit", "item", "nugget", "statement", "claim", "passage", "#", "№", "номер",
)  # fmt: skip
"""What the field or column of the unit's number is called."""
OTHER_NAMES: Final = frozenset(
    (
        "text", "reason", "reasoning", "rationale", "explanation", "snippet", "quote", "evidence", "justification",
        "comment", "notes", "confidence", "answer", "why", "факт", "обоснование", "цитата", "причина", "пояснение",
    )
)  # fmt: skip
"""What further fields of a unit are called."""
UNIT_NAMES: Final = frozenset(
    ("nugget", "statement", "claim", "passage", "item", "fact", "text", "sentence", "факт", "наггет")
)
"""What the column with the units themselves is called."""
NOUN: Final = r"(?:(?:[^\W\d_]{1,14}\.?[\s_]*[#№]?\s*){1,2}|[#№]\s*)?"
"""Words before the number of a unit: ``Nugget 1``, ``Факт №1``."""
DASHES: Final = "-\u2013\u2014"


@dataclass(slots=True)
class Rows:
    """Entries that belong together, with their stretch of the text: by number, or by place where there are none.

    ``kind`` is how they are written; ``items`` is what stood in the place of each label.
    """

    kind: str
    start: int
    end: int
    numbers: list[int] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with where it begins."""
    at = 0
    for line in text.splitlines(keepends=True):
        yield at, line.rstrip("\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
        at += len(line)


@dataclass(slots=True)
class Course:
    """The run of a list's numbers, to tell a restarted list from a repeated number."""

    first: int | None = None
    several: bool = False

    def add(self, number: int | None) -> None:
        """Note the next number."""
        if self.first is None:
            self.first = number
        self.several = self.several or number != self.first

    def anew(self, number: int | None) -> bool:
        """Return whether a number begins the list anew: it is the first once more, and others stand between."""
        return number is not None and self.several and number == self.first

"""Shared parts of the label readers: formats, results, field names, lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, get_args

from msgspec import Struct, field

Format = Literal[
    "object", "json", "keyed", "python_list", "xml", "numbered", "markdown", "yaml", "pipe", "tsv", "csv", "adaptive"
]
"""The formats in which labels can be requested. ``object`` is an entry with label, reason and evidence per number;
``adaptive`` leaves the format to the model."""

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
LABEL_FORMATS: Final[tuple[Format, ...]] = tuple(name for name in FORMATS if name != "object")
MOST: Final = 10_000
"""The highest number of a unit that is read."""

LABEL_NAMES: Final[tuple[str, ...]] = (
    "final_label", "final_decision", "final_verdict", "label", "decision", "verdict", "assignment", "judgment",
    "judgement", "status", "grade", "rating", "score", "support", "classification", "result", "category",
    "importance", "relevance", "supported", "is_supported", "метка", "решение", "оценка", "вердикт",
)  # fmt: skip
"""Names of the field or column of the label, most likely first."""
NUMBER_NAMES: Final[tuple[str, ...]] = (
    "number", "id", "no", "n", "index", "nugget_id", "nugget_number", "nugget_no", "statement_id", "claim_id", "num",
    "unit", "item", "nugget", "statement", "claim", "sentence", "fact", "passage", "#", "№", "номер",
)  # fmt: skip
"""Names of the field or column of the unit's number."""
OTHER_NAMES: Final = frozenset(
    (
        "text", "reason", "reasoning", "rationale", "explanation", "snippet", "quote", "evidence", "justification",
        "comment", "notes", "confidence", "answer", "why", "факт", "обоснование", "цитата", "причина", "пояснение",
    )
)  # fmt: skip
"""Names of other fields of a unit."""
UNIT_NAMES: Final = frozenset(
    ("nugget", "statement", "claim", "passage", "item", "fact", "text", "sentence", "факт", "наггет")
)
"""Names of the column of the units' texts."""
NOUN: Final = r"(?:(?:[^\W\d_]{1,14}\.?[\s_]*[#№]?\s*){1,2}|[#№]\s*)?"
"""Matches words before the number of a unit: ``Nugget 1``, ``Факт №1``."""
DASHES: Final = "-\u2013\u2014"


class Found(Struct):
    """One list of labels in a reply, with its position in the text. ``numbers`` is empty for a positional list.

    ``raw`` holds the original text of each label. ``strict``: the list is delimited by brackets or tags. ``closed``: it
    is not truncated.
    """

    reader: Format
    start: int
    end: int
    raw: list[str | None] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    strict: bool = False
    closed: bool = True

    def add(self, number: int | None, item: str, label: str | None, end: int) -> None:
        """Append an entry that ends at ``end``."""
        self.raw.append(item)
        self.labels.append(label)
        self.end = end
        if number is not None:
            self.numbers.append(number)

    def restarts_at(self, number: int | None) -> bool:
        """Return whether the number starts the list over: it is the first number again, with others in between."""
        return bool(self.numbers) and number == self.numbers[0] != self.numbers[-1]

    def overlaps(self, other: Found) -> bool:
        """Return whether the two lists overlap in the text."""
        return self.start < other.end and other.start < self.end

    def placed(self, asked: Sequence[int]) -> tuple[dict[int, str | None], dict[int, str | None]] | None:
        """Return labels and their original texts by unit number; None if the list does not fit ``asked``."""
        if not self.numbers:
            if len(self.labels) > len(asked):
                return None
            return dict(zip(asked, self.labels)), dict(zip(asked, self.raw))  # noqa: B905 - a short list is allowed
        numbers = self.numbers
        # A complete list that counts from 0 equals one from 1; one with gaps is ambiguous.
        if (
            None not in self.labels
            and numbers == list(range(len(asked)))
            and list(asked) == list(range(1, len(asked) + 1))
        ):
            numbers = [number + 1 for number in numbers]
        if not set(numbers) <= set(asked):
            return None
        labels: dict[int, str | None] = {}
        raw: dict[int, str | None] = {}
        for number, label, word in zip(numbers, self.labels, self.raw, strict=True):
            if number in labels and labels[number] != label:
                label = None  # noqa: PLW2901 - said twice with two labels: given to nobody
            labels[number], raw[number] = label, word
        return labels, raw


ORDINALS: Final = {
    word: rank
    for rank, words in enumerate(
        (
            "first a i", "second b ii", "third c iii", "fourth d iv", "fifth e v", "sixth f vi", "seventh g vii",
            "eighth h viii", "ninth ix", "tenth x", "last",
        ),
        1,
    )
    for word in words.split()
}  # fmt: skip
_WORD: Final = r"\b(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last)\b"
_LETTER: Final = r"(?:^[\W_]*|[.,;]\s+|[\"'(*])([A-H]|[IVX]{1,4})[*_`\"']{0,3}[.):,}]"
_DIGITS: Final = r"(?<![\w.])([0-9]{1,3})(?:st|nd|rd|th)?(?![\w%]|[.,][0-9])"
_PLACES: Final = re.compile(rf"{_WORD}|{_LETTER}", re.IGNORECASE | re.MULTILINE)
_ALL_PLACES: Final = re.compile(rf"{_WORD}|{_LETTER}|{_DIGITS}", re.IGNORECASE | re.MULTILINE)


def in_sequence(text: str, *, digits: bool) -> bool:
    """Return whether a text mentions units by ordinals and letters, and with ``digits`` by numbers, in their order."""
    told = ("".join(found).casefold() for found in (_ALL_PLACES if digits else _PLACES).findall(text))
    places = [int(word) if word.isdigit() else ORDINALS.get(word, 0) for word in told]
    return places == sorted(places)


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its offset."""
    at = 0
    for line in text.splitlines(keepends=True):
        yield at, line.rstrip("\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
        at += len(line)

"""What can be read of a model's reply: verdicts by the number of their unit, or the units that it wrote.

Pure. A label is given to the unit whose number it stands under or to none; what cannot be read is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from ragstone.errors import ParseError
from ragstone.judges.base import Failed, Reply
from ragstone.parsing import locate, read_object
from ragstone.questions import Rate, Write
from ragstone.types import TRIVIAL, Passage, Quote, Unit, Verdict

QUOTES: Final = 4
"""The most quotes that are looked for per verdict, whatever the reply holds."""

SPELLINGS: Final[Mapping[str, str]] = {"ok": "okay"}
"""Other spellings of labels that mean nothing else."""


@dataclass(slots=True)
class Reading:
    """What could be read of the replies about one batch of units, by the unit's number in it."""

    found: dict[int, Verdict]
    missing: list[int]
    problem: str = ""
    reply: str = ""
    summary: str = ""
    cut_off: bool = False
    unreachable: bool = False

    def add(self, later: Reading) -> None:
        """Take from a second reply what the first did not give, and its reason for what is missing still."""
        for number in self.missing:
            if number in later.found:
                self.found[number] = later.found[number]
        self.missing = [number for number in self.missing if number not in self.found]
        self.problem = later.problem or self.problem
        self.summary = self.summary or later.summary

    def verdicts(self, units: Sequence[Unit], judge: str) -> Iterator[Verdict]:
        """A verdict for each unit, in order; unjudged with the reason where there is none."""
        for number, unit in enumerate(units, 1):
            verdict = self.found.get(number)
            yield verdict or Verdict(unit, None, None, judge, failure=self.problem or "the reply has no verdict on it")


def read_rate(
    question: Rate, units: Sequence[Unit], reply: Reply | Failed, judge: str, asked: Sequence[int] = ()
) -> Reading:
    """The verdicts on a batch of units, of which those with the numbers ``asked`` were asked about, or all."""
    numbers = list(asked or range(1, len(units) + 1))
    if isinstance(reply, Failed):
        return Reading({}, numbers, problem=reply.reason, unreachable=True)
    reading = Reading({}, numbers, reply=reply.text, cut_off=reply.finish == "length")
    if reply.finish == "content_filter":
        reading.problem = "the endpoint's content filter withheld the reply"
        reading.unreachable = True
        return reading
    if reading.cut_off:
        reading.problem = "the reply was cut off at its length limit"
        return reading
    try:
        answer = read_object(reply.text, "verdicts")
    except ParseError as error:
        reading.problem = str(error)
        return reading
    entries = _by_number(answer["verdicts"])
    labels = _labels(question)
    unknown: list[str] = []
    for number in numbers:
        entry = entries.get(number)
        if entry is None:
            continue
        label = _label(entry.get("label"), labels)
        if label is None:
            unknown.append(f"{number}: {str(entry.get('label'))[:40]!r}")
            continue
        reading.found[number] = _verdict(question, units[number - 1], label, entry, judge)
    reading.missing = [number for number in numbers if number not in reading.found]
    problems = []
    if absent := [str(number) for number in reading.missing if number not in entries]:
        problems.append(f"no verdict on {', '.join(absent)}")
    if unknown:
        problems.append(f"labels outside the scale ({'; '.join(unknown)}); expected {', '.join(labels)}")
    reading.problem = "; ".join(problems)
    summary = answer.get("summary")
    reading.summary = summary if isinstance(summary, str) else ""
    return reading


def _by_number(entries: object) -> dict[int, Mapping[str, Any]]:
    """Entries by unit number. A number that is given twice with different labels is given to nobody.

    A reply that counts from 0 has every label under its neighbour's number, so that none of it is taken.
    """
    pairs: list[tuple[object, object]] = []
    if isinstance(entries, dict):
        pairs = list(entries.items())
    elif isinstance(entries, list):
        pairs = [(entry.get("id", entry.get("number")), entry) for entry in entries if isinstance(entry, dict)]
    found: dict[int, Mapping[str, Any]] = {}
    contested: set[int] = set()
    for key, entry in pairs:
        text = str(key).strip()
        if isinstance(entry, str | int) and not isinstance(entry, bool):
            entry = {"label": entry}  # noqa: PLW2901 - a bare label under its number is as good
        if not (text.isascii() and text.isdigit()) or len(text) > 6 or not isinstance(entry, dict):
            continue
        number = int(text)
        if number in found and found[number].get("label") != entry.get("label"):
            contested.add(number)
        found[number] = entry
    return {} if 0 in found else {number: entry for number, entry in found.items() if number not in contested}


def _labels(question: Rate) -> tuple[str, ...]:
    return (*question.scale.labels, TRIVIAL) if question.skippable else question.scale.labels


def _label(given: object, labels: Sequence[str]) -> str | None:
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    label = re.sub(r"[\s-]+", "_", str(given).strip().strip("\"'*`.").lower())
    label = SPELLINGS.get(label, label)
    return label if label in labels else None


def _verdict(question: Rate, unit: Unit, label: str, entry: Mapping[str, Any], judge: str) -> Verdict:
    reason = entry.get("reason")
    trivial = label == TRIVIAL
    return Verdict(
        unit,
        label,
        None if trivial else question.scale.value(label),
        judge,
        raw=None if trivial else question.scale.raw(label),
        evidence=() if trivial or not question.evidence else _evidence(question, unit, entry.get("evidence")),
        reason=reason.strip() if isinstance(reason, str) else "",
    )


def _evidence(question: Rate, unit: Unit, named: object) -> tuple[Quote, ...]:
    passages: Sequence[Passage] = question.passages
    if unit.level == "passage":
        passages = [Passage(unit.id, unit.text, 1)]
    quotes: dict[Quote, None] = {}
    for item in (named if isinstance(named, list) else [])[:QUOTES]:
        text = item.get("quote") if isinstance(item, dict) else item
        if not isinstance(text, str) or not text.strip():
            continue
        number = item.get("passage") if isinstance(item, dict) else None
        known = isinstance(number, int) and 1 <= number <= len(passages)
        quotes[locate(text, passages, passages[cast("int", number) - 1].id if known else "")] = None
    return tuple(quotes)


def read_units(question: Write, reply: Reply | Failed) -> tuple[Unit, ...] | str:
    """The claims or nuggets that a reply lists, or what is wrong with it."""
    if isinstance(reply, Failed):
        return reply.reason
    if reply.finish == "length":
        return "the reply was cut off at its length limit"
    if reply.finish == "content_filter":
        return "the endpoint's content filter withheld the reply"
    level = question.level
    try:
        entries = read_object(reply.text, f"{level}s")[f"{level}s"]
    except ParseError as error:
        return str(error)
    if not isinstance(entries, list):
        return f"'{level}s' is not a list"
    units: list[Unit] = []
    for entry in entries:
        text = entry.get(level) if isinstance(entry, dict) else entry
        if not isinstance(text, str):
            return f"an entry of '{level}s' has no text: {str(entry)[:60]!r}"
        if not text.strip():
            continue
        sentence = _sentence(question, entry)
        units.append(
            Unit(
                f"{level}/{len(units) + 1}",
                level,
                " ".join(text.split()) if level == "nugget" else text.strip(),
                sentence.span if sentence else None,
                sentence.id if sentence else None,
                _confidence(entry),
                question.part,
            )
        )
    return tuple(units)


def _sentence(question: Write, entry: object) -> Unit | None:
    number = entry.get("sentence") if isinstance(entry, dict) else None
    if isinstance(number, int) and 1 <= number <= len(question.sentences):
        return question.sentences[number - 1]
    return question.sentences[0] if len(question.sentences) == 1 else None


def _confidence(entry: object) -> float | None:
    given = entry.get("confidence") if isinstance(entry, dict) else None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        return None
    return float(given)

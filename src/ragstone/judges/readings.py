"""Parse verdicts and lists of units from a model's reply.

Pure. A label is assigned only to the unit with its number; everything unreadable is reported.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar, cast

from msgspec import Struct, field

from ragstone.errors import ParseError
from ragstone.judges.base import Failed, Reply
from ragstone.parsing import (
    Format,
    Thought,
    Wording,
    Words,
    locate,
    read_block,
    read_labels,
    read_object,
    rest_of,
    taken_back,
    words_of,
)
from ragstone.prompts import Template
from ragstone.prompts.material import texts_of
from ragstone.questions import Rate, Write
from ragstone.types import RESPONSE, TRIVIAL, Passage, Quote, Scale, Unit, Verdict

Key = TypeVar("Key", bound=Hashable)
UNUSABLE: Final = {
    "content_filter": ("withheld", "the model, or the endpoint's content filter, refused to answer"),
    "length": ("cut_off", "the reply was cut off at its length limit"),
}
"""Maps the ``finish`` of replies that are not read to their status and problem."""
UNREACHABLE: Final = ("failed", "withheld")
"""Statuses after which asking again is pointless."""
_NUMBER: Final = re.compile(
    r"(?:(?:claim|statement|nugget|sentence|unit|item)[\s_#-]{0,2}|#)?([0-9]{1,6})", re.IGNORECASE | re.ASCII
)
"""Matches the key of a unit: ``1``, ``claim_1``, ``Nugget 1``."""
QUOTES: Final = 4
"""Maximum number of quotes located per verdict."""


class Setup(Struct, frozen=True):
    """Settings of one kind of question: the prompt, the label format, the temperature.

    ``maker`` identifies everything that affects a request. ``block``: the labels follow a reasoning block. ``exact``:
    only the exact words of the scale are labels.
    """

    judge: str
    template: Template
    format: Format
    temperature: float | None
    maker: str
    block: bool
    exact: bool


class ReplyReading(Struct):
    """Parsed replies about one part of a question.

    ``status`` is ``ok`` or the kind of problem, ``problem`` its description. ``reader`` is the reader that parsed the
    first reply. ``thought``: the reply has reasoning, which counts towards its limit.
    """

    problem: str = ""
    reply: str = ""
    status: str = "ok"
    reader: str = ""
    thought: bool = False

    @property
    def left(self) -> int:
        """The number of units without an answer."""
        return 1 if self.problem else 0

    @property
    def wanted(self) -> Sequence[int | str]:
        """The units to ask about again; empty for all."""
        return ()

    @property
    def again(self) -> bool:
        """Whether to ask once more."""
        return self.left > 0 and self.status not in UNREACHABLE

    def begin(self, reply: Reply | Failed) -> bool:
        """Store a reply; return False if it has nothing to read."""
        if isinstance(reply, Failed):
            self.status, self.problem = "failed", reply.reason
            return False
        self.reply, self.thought = reply.text, bool(reply.reasoning) or "<think" in reply.text
        if reply.finish in UNUSABLE:
            self.status, self.problem = UNUSABLE[reply.finish]
            return False
        return True

    def add(self, later: Any) -> None:
        """Fill gaps from a second reading of the same kind."""
        raise NotImplementedError

    def fail(self, problem: str) -> None:
        """Record that the reply cannot be read."""
        self.status, self.problem = "format_error", problem


class Ratings(ReplyReading):
    """Verdicts on a batch of units, by the unit's number in the batch.

    ``echoed`` lists words of the prompt found in place of an answer.
    """

    found: dict[int, Verdict] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)
    summary: str = ""
    echoed: list[str] = field(default_factory=list)

    @property
    def left(self) -> int:
        """The number of units without a verdict."""
        return len(self.missing)

    @property
    def wanted(self) -> Sequence[int | str]:
        """The numbers of units without a verdict."""
        return tuple(self.missing)

    def add(self, later: Ratings) -> None:
        """Fill gaps from a second reply, and take its reason for what is still missing."""
        self.found = {**later.found, **self.found}
        self.missing = later.missing
        self.problem = later.problem or self.problem
        self.summary = self.summary or later.summary

    def take(self, number: int, read: Verdict | str) -> None:
        """Store a verdict, or the words of the prompt found in its place."""
        if isinstance(read, str):
            self.echoed.append(f"{number}: {read[:40]!r}")
        else:
            self.found[number] = read

    def note(self, problem: str) -> None:
        """Record a problem with some of the labels."""
        self.problem = "; ".join(filter(None, (self.problem, problem)))
        self.status = "unknown_label" if self.status == "ok" else self.status

    def verdicts(self, units: Sequence[Unit], judge: str) -> Iterator[Verdict]:
        """Yield a verdict for each unit, in order; one without a verdict is unjudged, with the reason."""
        for number, unit in enumerate(units, 1):
            verdict = self.found.get(number)
            yield verdict or Verdict(unit, None, None, judge, failure=self.problem or "the reply has no verdict on it")


class UnitList(ReplyReading):
    """The units listed in a reply."""

    units: tuple[Unit, ...] = ()

    def add(self, later: UnitList) -> None:
        """Replace the first reply by the second."""
        self.units, self.problem = later.units, later.problem


def read_rate(
    question: Rate, units: Sequence[Unit], reply: Reply | Failed, setup: Setup, asked: Sequence[int] = ()
) -> Ratings:
    """Parse the verdicts on a batch of units; ``asked`` are the numbers asked about; empty for all."""
    numbers = list(asked or range(1, len(units) + 1))
    reading = Ratings(missing=numbers)
    if reading.begin(reply):
        read = _read_entries if setup.format == "object" else _read_labels
        read(question, units, reading.reply, setup, reading)
        if reading.echoed:
            reading.note(
                f"the reply repeats words of the prompt instead of answering ({'; '.join(reading.echoed[:5])})"
            )
        reading.missing = [number for number in numbers if number not in reading.found]
    return reading


def _words(question: Rate, scale: Scale, setup: Setup) -> Words:
    return words_of(scale, (TRIVIAL,) if question.skippable else (), exact=setup.exact)


def _read_entries(question: Rate, units: Sequence[Unit], text: str, setup: Setup, reading: Ratings) -> None:
    """Parse an object with an entry for each number."""
    try:
        answer = read_object(text, "verdicts", partial(texts_of, question))
    except ParseError as error:
        reading.fail(str(error))
        return
    reading.reader = "object"
    entries = _by_number(answer["verdicts"])
    asked = set(reading.missing)
    others = sorted(entries.keys() - asked)
    if others and (asked - entries.keys() or not 1 <= others[0] <= others[-1] <= len(units)):
        # The labels may be of the units next to those that the numbers name.
        reading.fail(f"verdicts under numbers that were not asked about ({', '.join(map(str, others[:20]))})")
        reading.status = "count_mismatch"
        return
    labels: dict[Words, dict[int, str | None]] = {}
    unknown: list[str] = []
    expected: dict[str, None] = {}
    absent: list[str] = []
    texts = {unit.text.strip() for unit in units}
    for number in reading.missing:
        entry = entries.get(number)
        own = units[number - 1].text.strip()
        repeated = {value.strip() for value in (entry or {}).values() if isinstance(value, str)}
        if entry is None or (own not in repeated and repeated & texts):  # it repeats the text of another unit
            absent.append(str(number))
            continue
        words = _words(question, question.scale_of(units[number - 1]), setup)
        label = words.alone(entry.get("label"))
        if label is None:
            unknown.append(f"{number}: {str(entry.get('label'))[:40]!r}")
            expected[", ".join(words.labels)] = None
            continue
        labels.setdefault(words, {})[number] = label
        said = entry.get("reason"), entry.get("evidence")
        reading.take(number, _verdict(question, units[number - 1], label, setup, *said))
    if absent:
        reading.status, reading.problem = "truncation", f"no verdict on {', '.join(absent)}"
    rest = rest_of(text, "verdicts")  # empty for most replies
    back = [number for words, given in labels.items() for number in taken_back(rest, given, words)] if rest else []
    if back:
        reading.found = {number: verdict for number, verdict in reading.found.items() if number not in back}
        reading.note(f"labels that the reply retracts ({', '.join(map(str, back))})")
    if unknown:
        reading.note(f"labels outside the scale ({'; '.join(unknown)}); expected {' or '.join(expected)}")
    summary = answer.get("summary")
    reading.summary = summary if isinstance(summary, str) and not setup.template.wording.shows(summary) else ""


def _read_labels(question: Rate, units: Sequence[Unit], text: str, setup: Setup, reading: Ratings) -> None:
    """Parse labels, alone or after a reasoning block with reasons and quotes."""
    words = _words(question, question.scale, setup)
    numbers = reading.missing
    texts = [units[number - 1].text for number in numbers]
    level = units[0].level
    parsed = read_labels(text, numbers, words, setup.format, texts_of(question), units=texts, level=level)
    thoughts = read_block(text, numbers) if setup.block else {}
    reading.problem, reading.status, reading.reader = parsed.error, parsed.status, parsed.format_used
    doubtful: list[str] = []
    for number, label in zip(numbers, parsed.labels, strict=True):
        thought = thoughts.get(number, Thought())
        decided = words.alone(thought.decision) or words.beside(thought.decision)
        if label is not None and decided not in (None, label):
            doubtful.append(f"{number}: decided {decided}, labelled {label}")
        elif label is not None:
            quotes = [thought.snippet] if thought.snippet else []
            reading.take(number, _verdict(question, units[number - 1], label, setup, thought.rationale, quotes))
    if doubtful:
        reading.note(f"labels that contradict the reasoning ({'; '.join(doubtful[:5])})")


def _by_number(entries: object) -> dict[int, Mapping[str, Any]]:
    """Map unit numbers to entries. A number with two different labels is dropped."""
    pairs: list[tuple[object, object]] = []
    if isinstance(entries, dict):
        pairs = list(entries.items())
    elif isinstance(entries, list):
        pairs = [(entry.get("id", entry.get("number")), entry) for entry in entries if isinstance(entry, dict)]
    numbered: list[tuple[int, Mapping[str, Any]]] = []
    for key, entry in pairs:
        number = _NUMBER.fullmatch(str(key).strip())
        if isinstance(entry, str | int) and not isinstance(entry, bool):
            entry = {"label": entry}  # noqa: PLW2901 - a bare label under its number is as good
        if number is None or not isinstance(entry, dict):
            continue
        own = _NUMBER.fullmatch(str(entry.get("id", entry.get("number", key))).strip())
        if own is None or own[1] == number[1]:  # else it is unclear which of the two units it is about
            numbered.append((int(number[1]), entry))
    return uncontested(reversed(numbered), "label")


def uncontested(entries: Iterable[tuple[Key, Mapping[str, Any]]], field: str) -> dict[Key, Mapping[str, Any]]:
    """Return the first entry of each key; drop keys whose entries differ in ``field``."""
    found: dict[Key, Mapping[str, Any]] = {}
    contested: set[Key] = set()
    for key, entry in entries:
        if found.setdefault(key, entry).get(field) != entry.get(field):
            contested.add(key)
    return {key: entry for key, entry in found.items() if key not in contested}


def _verdict(question: Rate, unit: Unit, label: str, setup: Setup, reason: object, quotes: object) -> Verdict | str:
    """Return the verdict; if its reason or a quote repeats the prompt, return those words."""
    trivial, scale = label == TRIVIAL, question.scale_of(unit)
    reason = reason.strip() if isinstance(reason, str) else ""
    evidence = _evidence(question, unit, quotes) if question.evidence else ()
    if reason and setup.template.wording.shows(reason):
        return reason
    for quote in evidence:
        if quote.span is None and setup.template.wording.says(quote.text):
            return quote.text
    return Verdict(
        unit,
        label,
        None if trivial else scale.value(label),
        setup.judge,
        raw=None if trivial else scale.raw(label),
        evidence=() if trivial else evidence,
        reason=reason,
    )


def _evidence(question: Rate, unit: Unit, named: object) -> tuple[Quote, ...]:
    passages: Sequence[Passage] = question.passages
    if unit.level == "passage":
        passages = [Passage(unit.id, unit.text, 1)]
    elif question.response:
        passages = [Passage(RESPONSE, question.response, 1)]
    quotes: dict[Quote, None] = {}
    for item in (named if isinstance(named, list) else [])[:QUOTES]:
        text = item.get("quote") if isinstance(item, dict) else item
        if not isinstance(text, str) or not text.strip():
            continue
        number = item.get("passage") if isinstance(item, dict) else None
        known = isinstance(number, int) and 1 <= number <= len(passages)
        quotes[locate(text, passages, passages[cast("int", number) - 1].id if known else "")] = None
    return tuple(quotes)


def read_units(question: Write, reply: Reply | Failed, wording: Wording) -> UnitList:
    """Parse the claims or nuggets of a reply; ``wording`` is the prompt's own text."""
    reading = UnitList()
    if reading.begin(reply):
        read = _units(question, reading.reply, wording)
        if isinstance(read, str):
            reading.fail(read)
        else:
            reading.units, reading.reader = read, "object"
    return reading


def _units(question: Write, reply: str, wording: Wording) -> tuple[Unit, ...] | str:
    """Return the units, or the problem with the reply."""
    level = question.level
    try:
        entries = read_object(wording.left_out(reply), f"{level}s", partial(texts_of, question))[f"{level}s"]
    except ParseError as error:
        return str(error)
    if not isinstance(entries, list):
        return f"'{level}s' is not a list"
    # Such numbers are off by one.
    from_zero = any(isinstance(entry, dict) and entry.get("sentence") == 0 for entry in entries)
    units: list[Unit] = []
    for entry in entries:
        text = entry.get(level) if isinstance(entry, dict) else entry
        if not isinstance(text, str):
            return f"an entry of '{level}s' has no text: {str(entry)[:60]!r}"
        if not text.strip():
            continue
        if wording.says(text) and not any(text.strip() in one for one in texts_of(question)):
            return f"the reply repeats words of the prompt instead of a {level}: {text[:60]!r}"
        sentence = None if from_zero else _sentence(question, entry)
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

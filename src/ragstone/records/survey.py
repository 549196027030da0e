"""Read a source once before any cost arises, and report present, missing and unusual data."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from ragstone.errors import RecordError
from ragstone.records.cut import Shard
from ragstone.records.fields import (
    MARKS,
    WORDS,
    candidates,
    is_gold,
    list_of_records,
    near_miss,
    numbers_records,
    offered,
    other_answer,
)
from ragstone.records.ids import REPEATED, Hashes, Names
from ragstone.records.jsontext import counted
from ragstone.records.mapping import NO_ID
from ragstone.records.paths import folded, root
from ragstone.records.source import Inspect, SetAside, Source
from ragstone.types import Record, is_blank

MAX_MESSAGES: Final = 20
MAX_NOTES: Final = 50
MAX_CHOICES: Final = 4
"""Maximum number of columns to name that may provide the same field."""
SURVEYED: Final = ("question", "response", "contexts", "reference", "nuggets", "citations", "relevant")
EXPECTED: Final = ("question", "response", "contexts")
"""Fields whose absence is noted if other records have them."""
MAY_BE_BLANK: Final = {
    "question": "blank question",
    "response": "blank response",
    "reference": "blank reference",
    "contexts": "no contexts, or all blank",
}
"""Notes on fields that are present but blank."""


class Note(Struct, frozen=True):
    """A note on some records: its text, their number, and the place of the first."""

    text: str
    count: int
    example: str

    def __str__(self) -> str:
        if self.count == 1:
            return f"{self.example}: {self.text}"
        return f"{self.text} ({counted(self.count, 'record')}, the first at {self.example})"


class Survey(Struct, frozen=True):
    """Counts from one pass over a source; its size does not depend on that of the source."""

    name: str
    records: int
    """Number of usable records."""
    set_aside: int
    messages: tuple[str, ...]
    """Why records were set aside: the first `MAX_MESSAGES` reasons, each with its first record and a count."""
    renamed: int
    """Number of records that repeat an id."""
    duplicates: Mapping[str, int]
    """The first few repeated ids with their counts."""
    present: Mapping[str, int]
    """Canonical field to the number of records in which it is not blank."""
    blank: Mapping[str, int]
    """Canonical field to the number of records in which it is present but blank."""
    overridden: int
    """Number of records with parameters for a metric."""
    notes: tuple[Note, ...]
    """Notes, most frequent first."""
    columns: tuple[str, ...] = ()
    """The keys of the first row, to help map fields; empty if the input consists of Records."""
    recognised: tuple[str, ...] = ()
    """One line per export of another tool: its format, the number of traces and records, and skipped ones."""
    in_shard: int | None = None
    """Number of records in the shard, including those set aside; None without a shard."""
    meant: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Main fields (and the id) that no record has, mapped to the words of the option that probably provides them."""
    identified: int = 0
    """Number of records with their own id."""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Canonical field to the columns or paths it is read from."""
    remedy: tuple[str, ...] = ()
    """The words of the option that would probably make all records that were set aside readable."""

    @property
    def total(self) -> int:
        """Number of all records in the input: usable and set aside."""
        return self.records + self.set_aside

    def readable(self) -> Survey:
        """Return the survey; raise RecordError with the first reason if all records were set aside."""
        if not self.records:
            raise RecordError(self.name, f"no readable records; {self.messages[0]}")
        return self

    @property
    def options(self) -> list[str]:
        """The words of the options that probably provide missing or unreadable fields."""
        return [word for option in (self.remedy, *self.meant.values()) for word in option]

    @property
    def advice(self) -> str:
        """Advice if no metric can run: one question with all of `options`, else how to add or map fields."""
        if self.options:
            return f"did you mean {shlex.join(self.options)}?"
        if self.present["reference"] and not self.present["response"] and not self.blank.get("response"):
            answers = (f"response={name}" for name in self.sources.get("reference", ()) if folded(name) == "answer")
            mapping = "".join(f", or add --field {shlex.quote(path)} if they are in that field" for path in answers)
            return f"the records have expected answers only; add your system's answers as 'response'{mapping}"
        return f"map fields with --field FIELD=PATH{offered(self.columns)}"

    @property
    def near_misses(self) -> tuple[str, ...]:
        """A question for each main field that no record has and an option could provide."""
        return tuple(f"no {name}; did you mean {shlex.join(option)}?" for name, option in self.meant.items())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Lines for the user: recognised exports, suggested options, repeated ids, then the notes."""
        lines = [*(f"recognised: {line}" for line in self.recognised), *self.near_misses]
        if self.renamed:
            first, count = next(iter(self.duplicates.items()))
            said = f"{counted(count, 'record')} have the id '{first}'; repeats get a suffix: '{first}#2'"
            if self.renamed >= count:
                shown = ", ".join(f"'{name}' ({n} records)" for name, n in list(self.duplicates.items())[:3])
                repeated = counted(self.renamed, "record")
                said = f"{repeated} repeat an id: {shown}; repeats get a suffix: '{first}#2'"
            lines.append(said)
        lines += map(str, self.notes)
        return tuple(lines)


def survey(source: Source, inspect: Inspect | None = None, shard: Shard | None = None) -> Survey:
    """Read a source completely once; memory grows only by a hash per id.

    ``inspect`` is called with each record. An InputError it raises becomes a RecordError, or the record is counted as
    set aside if the source skips errors. Raise ConfigError for a mapped path that no record has. Other errors are those
    of the source.
    """
    names = Names()
    records = set_aside = overridden = in_shard = identified = 0
    refusals = Notes(MAX_MESSAGES)
    options: set[tuple[str, ...]] = set()
    present, blank = dict.fromkeys(SURVEYED, 0), dict.fromkeys(MAY_BE_BLANK, 0)
    notes, missing = Notes(), Notes()
    numbering: dict[str, Hashes] | None = None
    for outcome in source.read(names, inspect):
        in_shard += shard is not None and shard.has(outcome.id)
        if isinstance(outcome, SetAside):
            set_aside += 1
            refusals.add(outcome.error.removeprefix(outcome.where), outcome.error)
            options.add(outcome.option)
            continue
        records += 1
        numbering = _numbering(outcome, numbering)
        overridden += bool(outcome.overrides)
        identified += NO_ID not in outcome.notes
        for name in SURVEYED:
            there = has(outcome, name)
            present[name] += there
            if not there and name in MAY_BE_BLANK and getattr(outcome, name) is not None:
                blank[name] += 1
                notes.add(MAY_BE_BLANK[name], outcome.where)
            elif not there and name in EXPECTED:
                missing.add(f"{name}: missing", outcome.where)
        for text in outcome.notes:
            if text != REPEATED:
                notes.add(text, outcome.where)
    if misses := source.mapper.misses():
        raise misses
    remedy = options.pop() if len(options) == 1 else ()
    given = {word.partition("=")[0] for word in remedy} | source.mapper.fields.paths.keys()
    absent = [name for name in WORDS if not present[name] and not blank.get(name) and name not in given]
    meant = _meant(source, absent, notes, numbering or {}, referenced=present["reference"] > 0, alone=records == 1)
    told = [note for note in notes.ranked(missing.ranked(below=records)) if note.text != NO_ID or "id" not in meant]
    return Survey(
        source.name, records, set_aside, _counted(refusals.listed, set_aside), names.renamed, dict(names.repeats),
        present, blank, overridden, tuple(told), source.mapper.columns, source.recognised,
        None if shard is None else in_shard, meant, identified,
        {name: tuple(columns) for name, columns in source.mapper.sources.items()}, remedy,
    )  # fmt: skip


def _meant(
    source: Source, absent: list[str], notes: Notes, numbering: Mapping[str, Hashes], *, referenced: bool, alone: bool
) -> dict[str, tuple[str, ...]]:
    """Return the options that probably provide the absent fields or the id; add notes on uncertain ones.

    Gold data are never suggested: evidence next to a reference (``referenced``), or answers of a data set of questions.
    """
    places = source.mapper.places
    marked = not MARKS.isdisjoint(folded(name) for path in places for name in (root(path), path.rpartition(".")[2]))
    if marked or referenced:
        places = {path: value for path, value in places.items() if not is_gold(path)}
    near = {
        name: near_miss(name, places) for name in absent if name != "response" or not marked or other_answer(places)
    }
    meant = {name: option for name, option in near.items() if option}
    for name in near:
        if 1 < len(paths := candidates(name, places)) <= MAX_CHOICES and name not in meant:
            notes.add(f"no {name}; it may be {' or '.join(paths)}: add --field {name}=PATH", source.name)
    if len(absent) == len(WORDS) and (path := list_of_records(places, alone=alone and not meant)):
        meant = {"records": ("--records", f"{source.within}{path}[]")}
    elif numbering and len(absent) - len(meant) < 2:  # otherwise a run needs other columns first
        meant["id"] = ("--field", f"id={next(iter(numbering))}")
    from_answer = any(folded(path) == "answer" for path in source.mapper.sources.get("response", ()))
    if from_answer and "response" not in source.mapper.fields.paths and (other := other_answer(places)):
        said = shlex.join(["--field", f"response={other}", *([] if referenced else ["--field", "reference=answer"])])
        notes.add(f"response: read from 'answer'; if that is the expected answer, add {said}", source.name)
    return meant


def _numbering(record: Record, found: Mapping[str, Hashes] | None) -> dict[str, Hashes]:
    """Return the columns that may hold ids, while no record has its own: a fitting name and no repeated value so far.

    ``found`` are the candidates after the previous records, with the hashes of their values; None before the first.
    """
    if NO_ID not in record.notes:
        return {}
    if found is None:
        found = {name: Hashes() for name in record.meta if numbers_records(name)}
    values = {name: value for name in found if isinstance(value := record.meta.get(name), str | int)}
    return {name: found[name] for name, value in values.items() if str(value).strip() and found[name].add(hash(value))}


class Notes:
    """Counts notes and keeps the place of each note's first record; at most ``most`` different notes."""

    def __init__(self, most: int = MAX_NOTES) -> None:
        self._most = most
        self._found: dict[str, tuple[int, str]] = {}

    def add(self, text: str, where: str) -> None:
        """Count a note."""
        if text in self._found or len(self._found) < self._most:
            count, example = self._found.get(text, (0, where))
            self._found[text] = (count + 1, example)

    @property
    def listed(self) -> list[Note]:
        """The notes in the order in which they were added."""
        return [Note(text, count, example) for text, (count, example) in self._found.items()]

    def ranked(self, others: Iterable[Note] = (), below: float = math.inf) -> tuple[Note, ...]:
        """Return these and other notes, most frequent first, without those on ``below`` or more records."""
        found = (note for note in (*self.listed, *others) if note.count < below)
        return tuple(sorted(found, key=lambda note: -note.count))


def has(record: Record, field: str) -> bool:
    """Return whether a record's field is present and not blank; for contexts, whether any passage is not blank."""
    if field == "contexts":
        return not all(is_blank(passage.text) for passage in record.contexts or ())
    value = getattr(record, field)
    if field == "relevant":  # an empty mapping means no relevant passages
        return value is not None
    return not is_blank(value) if isinstance(value, str) else bool(value)


def _counted(refusals: Sequence[Note], total: int) -> tuple[str, ...]:
    lines = [
        note.example + (f" ({counted(note.count, 'record')} like this)" if note.count > 1 else "") for note in refusals
    ]
    rest = total - sum(note.count for note in refusals)
    return (*lines, f"and {rest:,} more") if rest else tuple(lines)

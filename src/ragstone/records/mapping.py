"""Map one row to one Record: assign keys to fields, reject invalid values, and keep the rest as ``meta``.

The canonical name comes first, then the aliases. The first value that is neither null nor blank becomes the field, and
a note names other keys that would also fit. A canonical or mapped field of the wrong type is an error. An alias of the
wrong type (``label: 1``, ``topic: {...}``) probably means something else: it stays in ``meta``, with a note if the
field is missing; so does a reference of the wrong type, which only some metrics need. Gold passages are not evidence:
deepeval's ``context`` becomes ``meta.reference_contexts``. Keys that no field uses become ``meta``, so nothing is lost.
TREC formats are normalised first (`trec`).
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Final, TypeVar

import orjson

from ragstone.errors import ConfigError, RecordError
from ragstone.records import autojudge, trec, values
from ragstone.records.fields import (
    ALIASES,
    GOLD,
    GOLD_BESIDE,
    GOLD_KEPT,
    LANGUAGE,
    LISTS,
    NOTES,
    REFERENCES,
    SPELLINGS,
    TOPIC,
    WORDS,
    Fields,
    closest,
    gold_marks,
    near_miss,
    places_of,
)
from ragstone.records.jsontext import kind
from ragstone.records.logged_texts import answered, turns, turns_before
from ragstone.records.paths import MISSING, find, folded, root, without
from ragstone.records.values import SEVERAL_TEXTS, UnfitError
from ragstone.types import DETAILS, NOTHING, Citation, Nugget, Passage, Record, nouns

T = TypeVar("T")
Row = dict[str, Any]
Item = tuple[str, Row | Record | RecordError]
"""An item that a reader yields: a place (``traces.jsonl:12``), and its row, record or error."""

Rows = Generator[Item, None, None]
"""The type of a reader; closing it closes the file."""

CELLS: Final = frozenset(("messages", "conversation", "turns", "history", "spans", "observations", "referencecontexts"))
"""More columns (folded names) whose CSV cells are lists; `CELL_ENDINGS` are suffixes of such names."""
CELL_ENDINGS: Final = ("documents", "messages", "history", "nodes")

SAID_GOLD: Final = (
    f"contexts: '{GOLD}' holds gold passages; kept as meta.{GOLD_KEPT}; the evidence is '{GOLD_BESIDE[0]}'"
)
NO_ID: Final = (
    "no id: records are identified by their content, so compare cannot pair a record whose response changes; "
    "to specify an id, add --field id=NAME with the name of a field, such as that of the question"
)
PRINTED: Final = "response: a printed message object; export its content instead"
KNOWN: Final = frozenset(SPELLINGS.values())
UNREAD: Final = {"without a text": "holds objects without a text", SEVERAL_TEXTS: SEVERAL_TEXTS}
"""The ends of errors, and what a note says of such a value."""

TARGETS: Final = "eval"
"""A key that may hold parameter blocks of several metrics; otherwise it is an ordinary key."""
SCORED: Final = frozenset(("score", "rating", "verdict", "passed"))
"""Keys of a judgment, of which no metric has a parameter."""
MAX_SOURCES: Final = 8
MAX_KEYS: Final = 1000
"""Maximum number of row keys remembered to suggest one for a mapping that matches none."""


class Mapper:
    """Maps rows to records with the mapping of a run; remembers which mapped paths were found, and the first keys."""

    def __init__(self, fields: Fields, blocks: Mapping[str, str]) -> None:
        """Store the mapping; ``blocks`` maps each key that may hold a metric's parameters to the metric's name.

        ``claimed`` are the mapped paths. A column that is only the id, such as the question, remains a field as well.
        """
        self.fields = fields
        self._paths = fields.each
        self._blocks = {name: metric for name, metric in blocks.items() if name not in ALIASES}
        self._unseen = set(fields.each)
        self._missed: set[tuple[str, str]] = set()
        self._keys: dict[str, None] = {}
        self.places: dict[str, str | int | list[Any]] = {}
        """Strings, integers and lists by path, from the first row and later rows while a mapped path is missing."""
        self.sources: dict[str, dict[str, None]] = {}
        """The first columns or paths that each field was read from."""
        self.mapped_fields = frozenset(field for field, _ in fields.each)
        self.claimed = frozenset(path for field, path in fields.each if field != "id")
        self.roots = frozenset(map(root, self.claimed))
        self._names = {
            field: tuple(name for name in (field, *aliases) if name not in self.claimed)
            for field, aliases in ALIASES.items()
            if field not in self.mapped_fields
        }
        self._row_keys: tuple[str, ...] = ()
        self._there: dict[str, tuple[str, ...]] = {}

    def record(self, where: str, row: Row) -> Record:
        """Return the record, with an id that is not yet unique; raise a RecordError that names an unreadable field."""
        reading = _Reading(self, where, row)
        contexts, details = reading.take("contexts", values.passages) or (None, {})
        response, citations = self._response(reading, contexts or ())
        nuggets = reading.take("nuggets", _nuggets)
        written = reading.take("citations", values.citations, lenient=True)
        if written and (response is None or max(citation.span.end for citation in written) > len(response)):
            found = "a span beyond the end of the response"
            raise RecordError(where, found, "offsets in characters", field="citations")
        question = reading.take("question", values.text)
        reference = reading.take("reference", values.reference, lenient=True)
        relevant = reading.take("relevant", values.grades, lenient=True)
        answerable = reading.take("answerable", values.truth, lenient=True)
        overrides = self._overrides(reading)
        name = reading.take("id", values.identifier) or ""
        language = reading.take(LANGUAGE, values.text) if LANGUAGE in self.mapped_fields else None
        meta = _unfolded(reading.rest()) | ({LANGUAGE: language} if language else {})
        if meta and (earlier := turns_before(meta, question or "", response or "")):
            if "history" in meta and meta["history"] != list(earlier):
                meta["given_history"] = meta["history"]
            meta["history"] = list(earlier)
        if details:
            meta.setdefault(DETAILS, details)
        for field, source in reading.sources.items():
            if len(known := self.sources.setdefault(field, {})) < MAX_SOURCES:
                known[source] = None
        if not name.strip():
            name = content_hash(row)
            reading.notes.append(NO_ID)
        return Record(
            id=name, question=question, response=response, contexts=contexts, reference=reference, nuggets=nuggets,
            citations=citations or written or (), relevant=relevant, answerable=answerable, overrides=overrides,
            meta=meta, where=where, notes=tuple(dict.fromkeys(reading.notes)), topic=str(row.get(TOPIC, name)),
        )  # fmt: skip

    def names_in(self, row: Row) -> Mapping[str, tuple[str, ...]]:
        """Return the names of each field that a row has; cached, because rows of a file share their keys."""
        keys = tuple(row)
        if keys != self._row_keys:
            self._row_keys = keys
            every = ((field, tuple(filter(row.__contains__, names))) for field, names in self._names.items())
            self._there = {field: there for field, there in every if there}
        return self._there

    def spelled(self, row: Row) -> tuple[Row, Mapping[str, str]]:
        """Return the row with known names in their usual spelling, and the input's spelling of renamed keys."""
        renamed: dict[str, str] = {}
        for key in row:
            if key in KNOWN or (name := SPELLINGS.get(folded(key))) is None:
                continue
            if name not in row and name not in renamed and key not in self.roots and name not in self.roots:
                renamed[name] = key
        if not renamed:
            return row, NOTHING
        back = {key: name for name, key in renamed.items()}
        return {back.get(key, key): value for key, value in row.items()}, renamed

    def name(self, where: str, row: Row) -> str:
        """Return the id of a row that cannot become a record: its own id if readable, else its place."""
        try:
            found = _Reading(self, where, row).take("id", values.identifier)
        except RecordError:
            return where
        return found if found and found.strip() else where

    def structured(self, header: Iterable[str]) -> frozenset[str]:
        """Return the columns of a CSV file whose cells are parsed if they look like JSON."""
        columns = set(header)
        found = {name for field in LISTS for name in self._names.get(field, ())} | set(self._blocks) | {REFERENCES}
        for field, path in self._paths:
            if path not in columns:
                found.add(root(path))
            elif field in LISTS:
                found.add(path)
        known = set(map(folded, found)) | CELLS
        return frozenset(name for name in columns if folded(name) in known or folded(name).endswith(CELL_ENDINGS))

    @property
    def columns(self) -> tuple[str, ...]:
        """The keys of the first row and of later rows while a mapped path is missing; empty before the first row."""
        return tuple(islice((key for key in self._keys if key != NOTES), MAX_KEYS))

    def misses(self) -> ConfigError | None:
        """Return an error that names each mapped path that no row had so far; None before the first row.

        An empty list does not count as having a path into its entries.
        """
        found: dict[tuple[str, str], list[str]] = {}
        for field, path in self._paths:
            if (field, path) in self._unseen & self._missed:
                file, said = self.fields.files.get(field, ""), self.fields.written(field, path)
                names = found.setdefault((file, self._miss(path)), [])
                names.append(said.removeprefix(f"{file}: [fields] ") if names else said)
        told = [f"{', '.join(names)}: {why}" for (_, why), names in found.items()]
        file = next((file for file, _ in found if file), "")
        hint = f"{file} applies to every input; if its mapping is for another file, use another folder or --config FILE"
        return ConfigError("; ".join(told), hint=hint if file else "") if told else None

    def _miss(self, path: str) -> str:
        start = root(path)
        if start != path and start in self._keys:
            inner = [place for place in self.places if place != start and root(place) == start]
            return f"records have '{start}', but not the rest of the path{closest(path, inner)}"
        return f"not found in any record{closest(start, self._keys)}"

    def mapped(self, row: Row) -> dict[str, dict[str, Any]]:
        """Return the value at each path of each mapped field."""
        found = {(field, path): find(row, path) for field, path in self._paths}
        if self._unseen or not self._keys:
            self._missed |= {pair for pair, value in found.items() if value is MISSING}
            self._unseen -= {
                pair for pair, value in found.items() if value is not MISSING and not ("[]" in pair[1] and value == [])
            }
            if len(self._keys) < MAX_KEYS:
                self._keys.update(dict.fromkeys(row))
            if len(self.places) < MAX_KEYS:
                for path, value in places_of(row).items():
                    self.places.setdefault(path, value)
        by_field: dict[str, dict[str, Any]] = {}
        for (field, path), value in found.items():
            by_field.setdefault(field, {})[path] = value
        return by_field

    def _overrides(self, reading: _Reading) -> dict[str, dict[str, Any]]:
        """Return parameters by metric, from blocks and ``overrides``; raise RecordError if one has two values.

        A null is no value: in a table, a row has nulls for all that only other rows give.
        """
        names = sorted(name for name in self._blocks.keys() & reading.row if _sets(reading.row[name]))
        for name in names:
            reading.consume(name)
        given = [*(reading.take("overrides", values.overrides) or {}).items()]
        if self._is_blocks(reading.row.get(TARGETS)):
            reading.consume(TARGETS)
            given += reading.row[TARGETS].items()
        given += [(name, reading.row[name]) for name in names]
        found: dict[str, dict[str, Any]] = {}
        for name, parameters in given:
            metric = self._blocks.get(name, name)
            for parameter, value in (parameters or {}).items():
                if value is not None and found.setdefault(metric, {}).setdefault(parameter, value) != value:
                    raise RecordError(reading.where, f"'{parameter}' is given twice", "keep one of them", field=metric)
        return found

    def _is_blocks(self, value: Any) -> bool:
        """Return whether a value contains only parameters by metric."""
        named = isinstance(value, dict) and bool(value) and value.keys() <= self._blocks.keys()
        return named and all(parameters is None or _sets(parameters) for parameters in value.values())

    def _response(
        self, reading: _Reading, contexts: tuple[Passage, ...]
    ) -> tuple[str | None, tuple[Citation, ...] | None]:
        def read(value: Any, notes: list[str]) -> tuple[str, tuple[Citation, ...]]:
            if value == [] or trec.is_answer(value):
                return trec.answer(value, reading.row.get(REFERENCES), contexts, notes)
            if isinstance(value, str):
                notes += [PRINTED] if value.startswith("content=") and "additional_kwargs=" in value else []
                return value, ()
            said = turns([value]) if isinstance(value, dict) else []  # such as LangChain's AIMessage
            if said and said[0].role == "assistant":
                return said[0].text, ()
            reply = value.get("body", value) if isinstance(value, dict) else None  # an HTTP response, such as OpenAI's
            if isinstance(reply, dict) and "choices" in reply and (text := answered(reply, notes)) is not None:
                return text, ()
            raise UnfitError(f"expected a string or a list of {{text, citations}}, found {kind(value)}")

        return reading.take("response", read) or (None, None)


class _Reading:
    """One row while it is being read, with its consumed keys and notes."""

    def __init__(self, mapper: Mapper, where: str, row: Row) -> None:
        self.where = where
        self._mapped = mapper.mapped(row)
        row, self._spelled = mapper.spelled(row)
        self.row, lifted = trec.lifted(row, mapper.mapped_fields, mapper.roots)
        # The input keys of renamed and lifted fields.
        self._lifted = {**self._spelled, **lifted}
        self._names = mapper.names_in(self.row)
        given = row.get(NOTES, ())  # an input may use that key too
        self.notes = [str(note) for note in given] if isinstance(given, list) else []
        self._consumed: set[str] = {NOTES, TOPIC}
        self._gold: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self._gold_known = "reference" in self._mapped or any(map(self._gives, self._names.get("reference", ())))
        if self._gives("answer") and not self._gold_known:
            self._read_answer_as_reference()
        said = "contexts" in mapper.mapped_fields or GOLD in mapper.roots
        if row.get(GOLD) and not said and not row.keys().isdisjoint(GOLD_BESIDE):
            # Keep gold passages apart from the retrieved ones.
            self._gold = {GOLD if GOLD_KEPT in row else GOLD_KEPT: row[GOLD]}
            self.consume(GOLD)
            self.notes.append(SAID_GOLD)

    def _gives(self, name: str) -> bool:
        return self.row.get(name) is not None and not _is_blank(self.row[name])

    def _read_answer_as_reference(self) -> None:
        """Read ``answer`` as the reference if no mapping reads it and other columns show that it is expected."""
        names = self._names.get("response", ())
        if "answer" not in names or not (marks := gold_marks(self.row)):
            return
        others = tuple(name for name in names if name != "answer")
        self._names = {**self._names, "response": others, "reference": ("answer",)}
        spelled = self._spelled.get("answer", "answer")
        because = " and ".join(f"'{mark}'" for mark in marks) + (" suggest" if len(marks) > 1 else " suggests")
        self.notes.append(
            f"reference: read from '{spelled}', because {because} a data set with expected answers; "
            f"for a system's responses, add --field {shlex.quote(f'response={spelled}')}"
        )

    def consume(self, name: str) -> None:
        self._consumed.add(name)

    def take(self, field: str, read: Callable[[Any, list[str]], T], *, lenient: bool = False) -> T | None:
        """Return the field's value, or None if the row has none; ``lenient``: treat a wrong type as missing."""
        if self._mapped and (mapped := self._mapped.get(field)):
            there = [value for value in mapped.values() if value is not MISSING and value is not None]
            whole = there[0] if len(mapped) == 1 and there else _collected(there)
            self.sources[field] = ", ".join(mapped)
            return self._read(field, ", ".join(mapped), whole, read) if there else None
        blank: str | None = None
        doubt = ""
        for name in (names := self._names.get(field, ())):
            value = self.row[name]
            if value is None or name in self._consumed:
                continue
            if _is_blank(value):
                blank = blank or name
                continue
            try:
                found = self._read(field, name, value, read)
            except RecordError as error:
                if name == field and not lenient:
                    raise
                known = (said for end, said in UNREAD.items() if error.found.endswith(end))
                what = next(known, f"is {kind(value)}, not in the expected form")
                doubt = doubt or f"{field}: '{self._spelled.get(name, name)}' {what}, so it is kept in meta"
                continue
            self.consume(name)
            self.sources[field] = self._lifted.get(name, name)
            if len(names) > 1:
                self._say_others(field, name, read)
            return found
        if doubt:
            self.notes.append(doubt)
        if blank is None:
            return None
        try:  # blank is not missing: an empty answer is an answer
            found = self._read(field, blank, self.row[blank], read)
        except RecordError:
            if blank == field and not lenient:
                raise
            return None
        self.consume(blank)
        return found

    def _say_others(self, field: str, taken: str, read: Callable[[Any, list[str]], Any]) -> None:
        """Add a note for each other name of the field whose value also fits but differs.

        A ``topic`` next to a ``question`` is not noted: it is used for grouping.
        """
        for name in self._names.get(field, ()) if field != "id" else ():
            value = self.row[name]
            if (
                value is None
                or (taken, name) == ("question", "topic")
                or name in self._consumed
                or _is_blank(value)
                or value == self.row[taken]
            ):
                continue
            with suppress(UnfitError):
                read(value, [])
                used, other = self._spelled.get(taken, taken), self._spelled.get(name, name)
                note = f"{field}: read from '{used}'; '{other}' also fits and is kept in meta"
                if name == "answer" and not self._gold_known:
                    note += f"; if it is the expected answer, add --field {shlex.quote(f'reference={other}')}"
                self.notes.append(note)

    def rest(self) -> dict[str, Any]:
        """Return the keys that no field used, without null fields."""
        left: Any = {
            self._spelled.get(name, name): value
            for name, value in self.row.items()
            if name not in self._consumed and (value is not None or name not in KNOWN)
        }
        for path, value in (pair for places in self._mapped.values() for pair in places.items()):
            if value is not MISSING:
                left = without(left, path)
        return {**({} if left is MISSING else left), **self._gold}

    def _read(self, field: str, name: str, value: Any, read: Callable[[Any, list[str]], T]) -> T:
        try:
            return read(value, self.notes)
        except UnfitError as error:
            place = error.field or self._lifted.get(name, name)
            inner = f"{place}{'.' if '[]' in place else '[].'}{error.text_key}"
            option: tuple[str, ...] = ("--field", f"contexts={inner}") if error.text_key else ()
            if isinstance(value, dict) and field in WORDS:
                option = near_miss(field, places_of({place: value}))
            expected = error.expected or f"to read the {nouns([field])[0]} from another field: --field {field}=PATH"
            raise RecordError(self.where, error.found, expected, field=place, option=option) from None


def _sets(block: Any) -> bool:
    """Return whether a value under a metric's name holds parameters, not a score given by another tool."""
    return isinstance(block, dict) and SCORED.isdisjoint(block)


def _nuggets(value: Any, notes: list[str]) -> tuple[Nugget, ...]:
    return values.nuggets(autojudge.flat(value, notes) if isinstance(value, autojudge.Parts) else value, notes)


def _unfolded(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the meta data with the content of a nested ``meta`` object moved up to the top level.

    If a key exists in both, the outer one keeps its name and the inner one stays in ``meta``.
    """
    inner = meta.get("meta")
    if not isinstance(inner, dict):
        return meta
    twice = {name: value for name, value in inner.items() if name in meta or name == "meta"}
    rest = {name: value for name, value in meta.items() if name != "meta"}
    freed = {name: value for name, value in inner.items() if name not in twice}
    return {**freed, **rest, **({"meta": twice} if twice else {})}


def _collected(found: Iterable[Any]) -> list[Any]:
    """Return the non-blank values of several paths as one list."""
    lists = (value if isinstance(value, list) else [value] for value in found)
    return [one for values in lists for one in values if not _is_blank(one)]


def _is_blank(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list | dict) and not value


def content_hash(row: Row) -> str:
    """Return a hash of 12 hexadecimal digits of a row's content, independent of the order of its keys."""
    content = {name: value for name, value in row.items() if name != NOTES}
    return hashlib.blake2b(orjson.dumps(content, option=orjson.OPT_SORT_KEYS), digest_size=6).hexdigest()

"""Read and write nugget banks: the nuggets of each topic, read once and added to the records of all systems.

A bank is any file of records with an id and nuggets: nugget records, AutoJudge banks, or traces that repeat the nuggets
of their topic. All records of a topic must have the same nuggets. Their order is that of the topic's first record.
Assignments are dropped because they belong to a single response.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

import orjson
from msgspec import Struct
from msgspec.structs import replace

from ragstone.errors import RecordError
from ragstone.records import autojudge, values
from ragstone.records.bytestream import files_in
from ragstone.records.file_formats import READERS, stem_of
from ragstone.records.jsontext import excerpt
from ragstone.records.mapping import NO_ID
from ragstone.records.source import SetAside, open_records
from ragstone.records.survey import Note, Notes
from ragstone.segment import folded
from ragstone.types import Nugget, Record

OF_NUGGETS: Final = frozenset(
    (values.BLANK_NUGGET, values.SAME_NUGGET, values.BOTH, values.LONG_NUGGET, values.NO_IMPORTANCE, autojudge.NEGATED)
)
"""Notes on nuggets that apply to a bank; those on assignments do not."""


class Bank(Struct, frozen=True):
    """Nuggets by topic, and the question of each topic that has one.

    ``digest`` is a hash of six hexadecimal digits over topics, texts and importances, independent of their order; it
    shows whether two scores used the same bank. ``notes`` report oddities in the bank, most frequent first.
    """

    name: str
    nuggets: Mapping[str, tuple[Nugget, ...]]
    questions: Mapping[str, str]
    digest: str
    notes: tuple[Note, ...] = ()

    def given_to(self, record: Record) -> Record:
        """Return the record with its topic's nuggets in place of its own; None and a note if the topic has none.

        A record without a question gets the bank's. If both have one and they differ, a note says so: topics of
        different years may share a number.
        """
        topic = record.topic or record.id
        found = self.nuggets.get(topic)
        notes = [note for note in record.notes if note not in OF_NUGGETS and note != values.NO_ASSIGNMENT]
        if found is None:
            notes.append("nuggets: the bank has no nuggets for this topic")
        question, asked = record.question, self.questions.get(topic, "")
        if found is not None and asked:
            if not (question or "").strip():
                question = asked
            elif not folded(question or "").startswith(folded(asked)):  # a title may start the full request
                notes.append("nuggets: the bank has a different question for this topic")
        return replace(record, question=question, nuggets=found, notes=tuple(notes))


def read_bank(source: Any) -> Bank:
    """Read a bank: a path, ``-``, a folder of ``<topic>.json`` or ``.jsonl`` files, an iterable of dicts...

    Accepts everything that `open_records` accepts; files may be compressed. In a folder, nuggets without an id belong
    to the topic that their file is named after.

    Raises:
        RecordError: a file cannot be read, no record has nuggets, nuggets have no topic, or a topic is repeated
            with different nuggets.
        InputError: the object is not a source of records.
    """
    folder = Path(source) if isinstance(source, str | os.PathLike) else None
    if folder is None or str(source) == "-" or not folder.is_dir():
        with open_records(source) as records:
            return _Gathered(records.name).read(records).bank()
    gathered = _Gathered(folder.name or str(folder))
    files = files_in(folder)
    banks = [path for path in files if path.name.removeprefix(stem_of(path).name).lower().startswith(tuple(READERS))]
    if not banks:
        found = "there is no bank in this folder"
        raise RecordError(str(folder), found, "expected files such as <topic>.json or .jsonl.gz")
    for path in banks:
        with open_records(path) as records:
            gathered.read(records, topic=stem_of(path).name)
    return gathered.bank()


class _Gathered:
    """A bank while it is being read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nuggets: dict[str, tuple[Nugget, ...]] = {}
        self._questions: dict[str, str] = {}
        self._notes = Notes()

    def read(self, records: Iterable[Record | SetAside], topic: str = "") -> Self:
        """Add all records of one file; ``topic`` is used for nuggets that name none."""
        for record in records:
            assert isinstance(record, Record), "a source that stops sets nothing aside"
            if record.nuggets is None:
                self._notes.add("nuggets: skipped a record without nuggets", record.where)
            else:
                self._add(record, topic)
        return self

    def _add(self, record: Record, topic: str) -> None:
        name = record.topic or record.id
        if NO_ID in record.notes:
            name = topic
        if not name:
            expected = "expected an id next to them: qid, topic_id, ..."
            raise RecordError(record.where, "nuggets without a topic", expected)
        nuggets = tuple(replace(nugget, assignment=None) for nugget in record.nuggets or ())
        known = self._nuggets.get(name)
        if known is None:
            self._nuggets[name] = nuggets
            for note in record.notes:
                if note in OF_NUGGETS:
                    self._notes.add(note, record.where)
            if not nuggets:
                self._notes.add("nuggets: the list is empty", record.where)
        elif _canonical(known) != _canonical(nuggets):
            found = f"the nuggets of topic {excerpt(name)} differ from an earlier list ({_difference(known, nuggets)})"
            raise RecordError(record.where, found, "expected one list of nuggets for each topic")
        question = record.question or ""
        if question.strip() and self._questions.setdefault(name, question) != question:
            self._notes.add("question: differs from that of the topic's first record, which is used", record.where)

    def bank(self) -> Bank:
        if not self._nuggets:
            raise RecordError(self._name, "contains no nuggets", "expected records with an id and nuggets")
        canonical = sorted([topic, _canonical(listed)] for topic, listed in self._nuggets.items())
        digest = hashlib.blake2b(orjson.dumps(canonical), digest_size=3).hexdigest()
        nuggets, questions = MappingProxyType(self._nuggets), MappingProxyType(self._questions)
        return Bank(self._name, nuggets, questions, digest, self._notes.ranked())


def _canonical(nuggets: Iterable[Nugget]) -> list[list[str]]:
    return sorted([nugget.text, nugget.importance or ""] for nugget in nuggets)


def _difference(known: tuple[Nugget, ...], nuggets: tuple[Nugget, ...]) -> str:
    """Describe one difference between two lists of nuggets."""
    before, now = {nugget.text: nugget for nugget in known}, {nugget.text: nugget for nugget in nuggets}
    for text, nugget in now.items():
        if text not in before:
            return f"{excerpt(text)} is new"
        if before[text].importance != nugget.importance:
            was, now_is = before[text].importance, nugget.importance
            return f"{excerpt(text)} was {was or 'unspecified'}, is {now_is or 'unspecified'}"
    return next((f"{excerpt(text)} is missing" for text in before if text not in now), "one is listed twice")


def bank_line(topic: str, question: str | None, nuggets: Iterable[Nugget]) -> bytes:
    """Return a nugget record as a JSON line, ``{query, qid, nuggets: [{text, importance}]}``; omit unknown values."""
    listed = [
        {"text": _whole(nugget.text)} | ({"importance": nugget.importance} if nugget.importance else {})
        for nugget in nuggets
    ]
    asked = {"query": _whole(question)} if question else {}
    return orjson.dumps({**asked, "qid": _whole(topic), "nuggets": listed}) + b"\n"


def autojudge_line(topic: str, question: str | None, nuggets: Iterable[Nugget]) -> bytes:
    """Return an AutoJudge bank (v3) as a JSON line; each nugget is a claim whose id is the MD5 of its text."""
    claims = {}
    for nugget in nuggets:
        text = _whole(nugget.text)
        name = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        claims[text] = {"claim": text, "claim_id": name, "query_id": _whole(topic)}
        if nugget.importance:
            claims[text]["importance"] = nugget.importance
    asked = {"title_query": _whole(question)} if question else {}
    bank = {"query_id": _whole(topic), **asked, "format_version": autojudge.VERSION, autojudge.CLAIMS: claims}
    return orjson.dumps(bank) + b"\n"


def _whole(text: str) -> str:
    """Return the text with lone surrogates, which models may write, replaced so that UTF-8 can encode it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

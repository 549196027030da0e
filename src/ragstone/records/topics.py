"""Read the questions of topics and their relevant passages (TREC qrels) from separate files.

A topics file is any file of records with an id and a question, or of requests of TREC AutoJudge and RAGTIME:
``{request_id, title, problem_statement, background}``, whose three texts form the question, one per line. TREC RAG 2024
has lines of an id, a tab and a question, without a header.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ragstone.errors import RecordError
from ragstone.records.bytestream import origin_of
from ragstone.records.fields import FIELD_OF
from ragstone.records.jsontext import excerpt, not_text
from ragstone.records.leaderboards import cells_of, filled_lines
from ragstone.records.mapping import NO_ID
from ragstone.records.paths import folded
from ragstone.records.source import open_records
from ragstone.types import Record, passage_id

REQUEST: Final = ("title", "problem_statement", "background")


class Topics(Struct, frozen=True):
    """The question of each topic."""

    questions: Mapping[str, str]

    def given_to(self, record: Record) -> Record:
        """Return the record, with its topic's question if it has none of its own; add a note if that is unknown."""
        if (record.question or "").strip():
            return record
        question = self.questions.get(record.topic or record.id)
        if question is None:
            return replace(record, notes=(*record.notes, "question: topic is not in the topics file"))
        return replace(record, question=question)


def read_topics(source: Any) -> Topics:
    """Read topics from any source that `open_records` accepts.

    Raise RecordError for a topic without an id or a question, or one repeated with a different question.
    """
    questions: dict[str, str] = {}
    for where, name, question in _of_lines(source) or _of_records(source):
        if questions.setdefault(name, question) != question:
            found = f"topic {excerpt(name)} is repeated with a different question"
            raise RecordError(where, found, "expected one question for each topic")
    return Topics(questions)


def _of_lines(source: Any) -> list[tuple[str, str, str]]:
    """Return place, topic and question of each line; empty if the file has a header or another format."""
    if not isinstance(source, str | os.PathLike) or not Path(source).is_file():
        return []
    origin = origin_of(Path(source))
    found: list[tuple[str, str, str]] = []
    for where, line in filled_lines(origin) if origin.suffix in (".tsv", ".txt") else ():
        name, _, question = (line.decode() if not_text(line) is None else "").strip().partition("\t")
        if not question or (not found and {folded(name), folded(question)} & FIELD_OF.keys()):
            return []
        found.append((where, name.strip(), question.strip()))
    return found


def _of_records(source: Any) -> Iterator[tuple[str, str, str]]:
    with open_records(source) as records:
        for record in records:
            assert isinstance(record, Record), "a source that stops sets nothing aside"
            texts = [] if record.question else [record.meta.get(name) for name in REQUEST]
            question = record.question or "\n".join(text for text in texts if isinstance(text, str) and text.strip())
            name = record.topic or record.id
            if NO_ID in record.notes or not question.strip():
                what = "without an id" if question.strip() else "without a question"
                raise RecordError(record.where, f"a topic {what}", "expected {request_id, title} or {id, question}")
            yield record.where, name, question


class Qrels(Struct, frozen=True):
    """The grades of judged passages by topic. ``digest`` is a hash of six hexadecimal digits over all grades."""

    name: str
    grades: Mapping[str, Mapping[str, int]]
    digest: str

    def given_to(self, record: Record) -> Record:
        """Return the record with its topic's grades in place of its own; None and a note if the topic is not judged."""
        found = self.grades.get(record.topic or record.id)
        notes = record.notes if found is not None else (*record.notes, "relevant: topic is not in the qrels")
        return replace(record, relevant=found, notes=notes)


def is_qrels(path: Path) -> bool:
    """Return whether a file begins with a relevance judgment."""
    cells = origin_of(path).head().partition(b"\n")[0].split()
    return len(cells) == 4 and cells[3].removeprefix(b"-").isdigit()


def read_qrels(path: Path | str) -> Qrels:
    """Read a qrels file of four columns, plain or compressed.

    Raise a RecordError that names a line which is not a relevance judgment or repeats a passage with another grade.
    """
    origin = origin_of(Path(os.fspath(path)))
    grades: dict[str, dict[str, int]] = {}
    for where, cells in cells_of(filled_lines(origin)):
        if len(cells) != 4 or not (whole := cells[3].removeprefix("-")).isdecimal() or len(whole) > 9:
            found = f"{excerpt(' '.join(cells))} is not a relevance judgment"
            raise RecordError(where, found, "expected TOPIC ITERATION ID GRADE, as in: 1 0 doc7 2")
        topic, _, name, grade = cells
        name = passage_id(name)
        if grades.setdefault(topic, {}).setdefault(name, int(grade)) != int(grade):
            found = f"{excerpt(name)} of topic {excerpt(topic)} is graded {grade} here, but has a different grade above"
            raise RecordError(where, found, "keep one grade for each passage")
    judged = sorted(f"{topic}\0{name}\0{grade}" for topic, own in grades.items() for name, grade in own.items())
    return Qrels(origin.name, grades, hashlib.blake2b("\n".join(judged).encode(), digest_size=3).hexdigest())

"""Questions by topic, for runs that name a topic and leave what was asked to another file.

A topics file is any file of records with an id and a question, or of the requests of TREC AutoJudge and RAGTIME:
``{request_id, title, problem_statement, background}``, whose three texts are the question, a line each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ragstone.errors import RecordError
from ragstone.records.jsontext import excerpt
from ragstone.records.mapping import NO_ID
from ragstone.records.source import open_records
from ragstone.types import Record

REQUEST: Final = ("title", "problem_statement", "background")
UNKNOWN: Final = "question: the topics have no such topic"


@dataclass(frozen=True, slots=True)
class Topics:
    """The question of each topic."""

    questions: Mapping[str, str] = field(hash=False)

    def given_to(self, record: Record) -> Record:
        """The record, with the question of its topic if it has none; a note where that is not known."""
        if (record.question or "").strip():
            return record
        question = self.questions.get(record.topic or record.id)
        if question is None:
            return replace(record, notes=(*record.notes, UNKNOWN))
        return replace(record, question=question)


def read_topics(source: Any) -> Topics:
    """Read whatever `open_records` takes.

    RecordError for a topic without an id or a question, or one that is repeated with another question.
    """
    questions: dict[str, str] = {}
    with open_records(source) as records:
        for record in records:
            assert isinstance(record, Record), "a source that stops sets nothing aside"
            question = record.question or _request(record.meta)
            name = record.topic or record.id
            if NO_ID in record.notes or not question.strip():
                what = "without an id" if question.strip() else "without a question"
                raise RecordError(record.where, f"a topic {what}", "expected {request_id, title} or {id, question}")
            if questions.setdefault(name, question) != question:
                found = f"topic {excerpt(name)} is repeated with another question"
                raise RecordError(record.where, found, "expected one question for each topic")
    return Topics(questions)


def _request(row: Mapping[str, Any]) -> str:
    texts = (row.get(name) for name in REQUEST)
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())

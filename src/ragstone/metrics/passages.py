"""The passages of a record as units, and the question about their relevance, asked once whichever metric asks."""

from __future__ import annotations

from ragstone.questions import GRADE_0_3, Rate
from ragstone.types import Passage, Record, Span, Unit


def passage_unit(record: Record, passage: Passage) -> Unit:
    """A passage as a unit; its parent is its id."""
    whole = Span(0, len(passage.text))
    return Unit(f"{record.id}/passage/{passage.rank}", "passage", passage.text, whole, passage.id)


def passage_relevance(record: Record, *, reasons: bool = False) -> Rate:
    """Every passage that is not blank against the question, on 0-3."""
    units = tuple(passage_unit(record, passage) for passage in record.passages)
    return Rate("relevance", units, GRADE_0_3, question=record.question or "", reasons=reasons)

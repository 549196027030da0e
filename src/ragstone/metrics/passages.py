"""Turn passages into units and ask about their relevance, once for all metrics that need it."""

from __future__ import annotations

from ragstone.questions import GRADE_0_3, Rate
from ragstone.types import Passage, Record, Span, Unit


def passage_unit(record: Record, passage: Passage) -> Unit:
    """Return a passage as a unit whose parent is the passage id."""
    whole = Span(0, len(passage.text))
    return Unit(f"{record.id}/passage/{passage.rank}", "passage", passage.text, whole, passage.id)


def passage_relevance(record: Record, *, reasons: bool = False) -> Rate:
    """Return the question that grades each non-blank passage from 0 to 3 by the record's question."""
    units = tuple(passage_unit(record, passage) for passage in record.passages)
    return Rate("relevance", units, GRADE_0_3, question=record.question or "", reasons=reasons)

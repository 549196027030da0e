"""Answers of the TREC RAG track: a list of sentences, each with what it cites.

``answer: [{text, citations: [0, 2]}], references: [docid, ...]``. Citations are places in ``references``,
from 0; in some years' files they are the ids themselves, or an object of ids with weights.
"""

from __future__ import annotations

from typing import Any

from ragstone.records.jsontext import kind
from ragstone.records.values import UnfitError
from ragstone.types import Citation, Passage, Span


def is_answer(value: Any) -> bool:
    """Whether a value is such a list, by its first sentence."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "text" in value[0]


def answer(
    value: list[Any], references: Any, contexts: tuple[Passage, ...], notes: list[str]
) -> tuple[str, tuple[Citation, ...]]:
    """The sentences joined by single spaces, and one Citation for each, also where it cites nothing.

    Places point into ``references``, or, where the record has none, into its contexts. One that points
    nowhere is left out, with a note. A blank sentence is passed over.
    """
    places = _ids(references) or [passage.id for passage in contexts]
    known = frozenset(places)
    parts: list[str] = []
    found: list[Citation] = []
    start = 0
    for number, sentence in enumerate(value, 1):
        body = sentence.get("text") if isinstance(sentence, dict) else None
        if not isinstance(body, str):
            raise UnfitError(f"sentence {number} of the answer has no text", "a string or a list of {text, citations}")
        if body.strip():
            parts.append(body)
            cited = _cited(sentence.get("citations"), places, known, number, notes)
            found.append(Citation(Span(start, start + len(body)), cited))
            start += len(body) + 1
    return " ".join(parts), tuple(found)


def _ids(references: Any) -> list[str]:
    if not isinstance(references, list):
        return []
    return [str(name) if isinstance(name, str | int) else "" for name in references]


def _cited(citations: Any, places: list[str], known: frozenset[str], number: int, notes: list[str]) -> tuple[str, ...]:
    if citations is None:
        return ()
    if not isinstance(citations, list | dict):
        raise UnfitError(f"{kind(citations)} as citations of sentence {number}", "a list of numbers or ids")
    found: dict[str, None] = {}  # in their order, each once
    for citation in citations:
        name = _name(citation, places, known)
        if name:
            found[name] = None
        else:
            notes.append("response: a citation that points to nothing, left out")
    return tuple(found)


def _name(citation: Any, places: list[str], known: frozenset[str]) -> str:
    if isinstance(citation, str) and (citation in known or not citation.isdecimal()):
        return citation.strip()
    if isinstance(citation, bool) or not isinstance(citation, int | str):
        return ""
    if not places:
        return str(citation)
    place = int(citation) if len(str(citation)) < 10 else -1
    return places[place] if 0 <= place < len(places) else ""

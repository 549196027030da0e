"""Convert the record formats of TREC tracks and their tools to the names that the mapping expects.

Answers in the RAG track are lists of sentences with citations: ``answer: [{text, citations: [0, 2]}],
references: [docid, ...]``. Citations are indexes into ``references``, from 0. In the files of some years they are ids,
or an object with ids as keys and weights as values.

Later years and AutoJudge put ids and the question into a ``metadata`` object, name the sentences ``responses``, and
have ``documents`` by id; nuggetizer has the question as ``query: {qid, text}``. Such values are lifted to where the
mapping looks for them. A field that the row already has under one of its names, or that is mapped, is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ragstone.records import autojudge
from ragstone.records.fields import ALIASES
from ragstone.records.jsontext import kind
from ragstone.records.values import PASSAGE_TEXTS, UnfitError
from ragstone.types import NOTHING, Citation, Passage, Span, passage_id

RUN: Final = "run_id"
"""The key of ``meta`` that names the system that answered."""

BLOCK: Final = "metadata"
TOPICS: Final = ("topic_id", "narrative_id", "request_id")
"""The names of a topic's id in the metadata block."""

OF_A_RUN: Final = frozenset(("team_id", RUN, *TOPICS))
SENTENCES: Final = ("responses", "answer")
OBJECTS: Final = ("query", "documents", BLOCK)

HELD: Final[Mapping[str, Any]] = {
    "id": str | int | float,
    "question": str,
    "response": str | list,
    "contexts": str | list,
}
"""The types that a field may have under an alias; a value of another type is not that field."""


def lifted(
    row: dict[str, Any], mapped: frozenset[str] = frozenset(), claimed: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Return the row, or a copy with values of known formats lifted to where the mapping looks for them.

    Also return the original place of each lifted field. ``mapped`` are fields that the user mapped and ``claimed`` the
    keys that such mappings read; neither is changed.
    """
    if autojudge.KEYS.isdisjoint(row) and not any(isinstance(row.get(name), dict) for name in OBJECTS):  # by far most
        return row, NOTHING
    lift = _Lift(dict(row), mapped, claimed)
    block = lift.object(BLOCK)
    bank = autojudge.is_bank(row) and not claimed & autojudge.KEYS
    if bank:
        lift.bank()
    if block and (bank or _is_report(row, block)):
        lift.block(block)
    if block and isinstance(block.get(RUN), str | int) and not _holds(row.get(RUN)):
        lift.row[RUN] = block[RUN]
    if block and _is_report(row, block):
        lift.sentences()
    lift.query()
    lift.documents()
    return lift.row, lift.names


def _is_report(row: Mapping[str, Any], block: Mapping[str, Any]) -> bool:
    """Return whether a row has a metadata block of a run and a list of sentences, which may be empty."""
    return not OF_A_RUN.isdisjoint(block) and any(row.get(name) == [] or is_answer(row.get(name)) for name in SENTENCES)


def _holds(value: Any) -> bool:
    """Return whether a value is not empty; every number counts, including 0."""
    if isinstance(value, str):
        return bool(value.strip())
    return bool(value) or (isinstance(value, int | float) and value is not False)


class _Lift:
    """One row while its values are being lifted."""

    def __init__(self, row: dict[str, Any], mapped: frozenset[str], claimed: frozenset[str]) -> None:
        self.row = row
        self.names: dict[str, str] = {}
        self._mapped = mapped
        self._claimed = claimed

    def object(self, name: str) -> dict[str, Any]:
        """Return the object under a key; empty if there is none or a mapping reads it."""
        value = self.row.get(name)
        return value if isinstance(value, dict) and name not in self._claimed else {}

    def free(self, field: str) -> bool:
        """Return whether the row has the field under none of its names and no mapping reads it."""
        if field in self._mapped or _holds(self.row.get(field)):
            return False
        others = [self.row.get(name) for name in ALIASES[field] if name not in self._claimed]
        return not any(_holds(value) and isinstance(value, HELD[field]) for value in others)

    def put(self, field: str, value: Any, name: str) -> None:
        self.row[field] = value
        self.names[field] = name

    def part(self, owner: str, key: str, field: str, same: Sequence[str] = ()) -> None:
        """Lift one entry of an object if it is not empty and the field is free.

        The other entries of the object stay, except for the keys in ``same``.
        """
        value = self.row[owner].get(key)
        if _holds(value) and self.free(field):
            self.put(field, value, f"{owner}.{key}")
            left = {name: entry for name, entry in self.row[owner].items() if name != key and name not in same}
            self.row[owner] = left
            if not left:
                del self.row[owner]

    def block(self, block: Mapping[str, Any]) -> None:
        """Lift the topic's id and the question from the metadata block, and drop other names of the same id."""
        if isinstance(block.get("narrative"), str):
            self.part(BLOCK, "narrative", "question")
        key = next((key for key in TOPICS if _holds(block.get(key))), "")
        if key:
            self.part(BLOCK, key, "id", [other for other in TOPICS if str(block.get(other)) == str(block[key])])

    def sentences(self) -> None:
        """Lift the list of sentences as the response; an empty list becomes an empty response."""
        there = [name for name in SENTENCES if name not in self._claimed and name in self.row]
        if not self.free("response"):
            if len(there) == 2 and self.row["responses"] == self.row["answer"]:  # written under both names
                del self.row["responses"]
            return
        for name in there:
            if is_answer(self.row[name]):
                self.put("response", self.row.pop(name), name)
            elif self.row[name] == []:
                del self.row[name]
                if "response" not in self.names:
                    self.put("response", "", name)

    def query(self) -> None:
        """Lift ``{qid, text}`` as id and question."""
        if isinstance(self.object("query").get("text"), str):
            self.part("query", "text", "question")
            if "qid" in self.object("query"):
                self.part("query", "qid", "id")

    def documents(self) -> None:
        """Lift documents by id as contexts, in order; the key becomes the id because citations refer to it."""
        found = self.object("documents")
        texts = [[item.get(key) for key in PASSAGE_TEXTS] if isinstance(item, dict) else [] for item in found.values()]
        if found and all(any(isinstance(text, str) for text in each) for each in texts) and self.free("contexts"):
            del self.row["documents"]
            own = {key: {"document_id": item["id"]} for key, item in found.items() if item.get("id") not in (None, key)}
            self.put("contexts", [{**item, "id": key, **own.get(key, {})} for key, item in found.items()], "documents")

    def bank(self) -> None:
        """Lift topic id, title and nuggets of an AutoJudge bank."""
        if _holds(self.row.get("query_id")) and self.free("id"):
            self.put("id", self.row.pop("query_id"), "query_id")
        for name in ("title_query", "full_query"):
            value = self.row.get(name)
            if _holds(value) and (name == "title_query" or isinstance(value, str)) and self.free("question"):
                self.put("question", self.row.pop(name), name)
        if "nuggets" not in self._mapped and not _holds(self.row.get("nuggets")):
            parts = autojudge.Parts(self.row.pop(autojudge.QUESTIONS, None), self.row.pop(autojudge.CLAIMS, None))
            self.put("nuggets", parts, autojudge.QUESTIONS)


def is_answer(value: Any) -> bool:
    """Return whether a value is a list of sentences, judging by the first one."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "text" in value[0]


def answer(
    value: list[Any], references: Any, contexts: tuple[Passage, ...], notes: list[str]
) -> tuple[str, tuple[Citation, ...]]:
    """Return the sentences joined by single spaces, with one Citation per sentence, even if it cites nothing.

    Citations are indexes into ``references`` or, without references, into the contexts. A citation without a target is
    kept in brackets, with a note. Blank sentences are skipped.
    """
    ids = references if isinstance(references, list) else []
    places = [str(name) if isinstance(name, str | int) else "" for name in ids] or [one.id for one in contexts]
    known = frozenset(places)
    parts: list[str] = []
    found: list[Citation] = []
    start = 0
    for number, sentence in enumerate(value, 1):
        body = sentence.get("text") if isinstance(sentence, dict) else None
        if not isinstance(body, str):
            expected = "expected a string or a list of {text, citations}"
            raise UnfitError(f"sentence {number} of the answer has no text", expected)
        if body.strip():
            parts.append(body)
            cited = _cited(sentence.get("citations"), places, known, number, notes)
            found.append(Citation(Span(start, start + len(body)), cited))
            start += len(body) + 1
    return " ".join(parts), tuple(found)


def _cited(citations: Any, places: list[str], known: frozenset[str], number: int, notes: list[str]) -> tuple[str, ...]:
    if citations is None:
        return ()
    if not isinstance(citations, list | dict):
        raise UnfitError(f"'citations' of sentence {number} is {kind(citations)}", "expected a list of numbers or ids")
    found: dict[str, None] = {}  # ordered, without duplicates
    for given in citations:
        citation = int(given) if isinstance(given, float) and given.is_integer() else given  # as tables write it
        name = _name(citation, places, known)
        if not name:
            notes.append("response: a citation without a target")
            name = f"[{citation}]" if type(citation) in (int, str) and str(citation).strip() else ""
        if name:
            found[passage_id(name)] = None
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

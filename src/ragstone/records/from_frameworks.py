"""Read results of LangChain chains, LlamaIndex responses, and Haystack answers and pipelines."""

from __future__ import annotations

from typing import Any, Final

from ragstone.records.fields import NOTES
from ragstone.records.jsontext import opened
from ragstone.records.logged_texts import SEVERAL, answered, asked, documents
from ragstone.records.mapping import Row

QUESTIONS: Final = ("input", "query", "question")
ANSWERS: Final = ("answer", "result", "output", "response")
DOCUMENTS: Final = ("context", "source_documents", "documents")
HISTORY: Final = "chat_history"

NODES: Final = "source_nodes"
"""The key of the documents in a LlamaIndex response."""

GENERATED: Final = ("data", "query", "documents")
SETTINGS: Final = "init_parameters"
"""The key under which ``to_dict`` of some versions puts the fields of a Haystack answer (``GENERATED``)."""


def is_langchain(row: Row) -> bool:
    """Return whether a row has an answer and LangChain documents."""
    if "source_documents" in row and "result" in row:
        return True
    return any(row.get(name) is not None for name in ANSWERS) and any(_has_pages(row.get(name)) for name in DOCUMENTS)


def _has_pages(value: object) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    inner = first.get("kwargs", first) if isinstance(first, dict) else None
    return isinstance(inner, dict) and "page_content" in inner


def langchain_row(row: Row) -> Row:
    """Return the row with canonical names; question and answer may be messages."""
    question = next((name for name in QUESTIONS if row.get(name) is not None), "")
    answer = next((name for name in ANSWERS if row.get(name) is not None), "")
    pages = next((name for name in DOCUMENTS if documents(row.get(name)) is not None), "")
    found = asked({name: row[name] for name in (question, HISTORY) if name in row})
    response = answered(row.get(answer))
    read = {question if found else "", answer if response is not None else "", pages, HISTORY if found else ""}
    made: Row = {name: value for name, value in row.items() if name not in read}
    if found is not None:
        made["question"] = found.question
        made |= {"history": list(found.history)} if found.history else {}
    made |= {} if response is None else {"response": response}
    return {**made, **({"contexts": documents(row[pages])} if pages else {})}


def is_llamaindex(row: Row) -> bool:
    """Return whether a row is a response, or holds one under one of its keys."""
    return any(isinstance(opened(part.get(NODES)), list) for part in (row, *_responses(row).values()))


def llamaindex_row(row: Row) -> Row:
    """Return the row with canonical names."""
    inner = _responses(row)
    made = {name: value for name, value in row.items() if name not in inner}
    for part in inner.values():
        made = {**part, **made}
    return {**{name: value for name, value in made.items() if name != NODES}, "contexts": opened(made[NODES])}


def _responses(row: Row) -> dict[str, Row]:
    return {name: row[name] for name in ANSWERS if isinstance(row.get(name), dict) and NODES in row[name]}


def is_haystack(row: Row) -> bool:
    """Return whether a row is an answer, or pipeline outputs that contain one."""
    return _generated(row) is not None or bool(_of_components(row, "replies"))


def haystack_row(row: Row) -> Row:
    """Return the row with canonical names.

    From pipeline outputs, take the answer, else the replies and the last documents.
    """
    answer = _generated(row)
    if answer is not None:
        rest = {name: value for name, value in {**answer, **row}.items() if name not in (*GENERATED, SETTINGS, "type")}
        found = {"question": answer["query"], "response": answer["data"], "contexts": answer["documents"]}
        metas = [answer.get("meta")]
    else:
        rest = {name: value for name, value in row.items() if not isinstance(value, dict)}
        shown, metas = _last_seen(_of_components(row, "documents")), next(iter(_of_components(row, "meta")), [])
        replies = _of_components(row, "replies")[-1]
        found = {"response": answered(replies[:1])}
        found |= {"contexts": shown} if shown else {}
        found |= {NOTES: [SEVERAL]} if len(replies) > 1 else {}
    model = metas[0].get("model") if metas and isinstance(metas[0], dict) else None
    return {**rest, **found, **({"generator": model} if isinstance(model, str) else {})}


def _generated(row: Row) -> Row | None:
    """Return the answer that a row is or that one of its components returned, or None."""
    inner: Any = row.get(SETTINGS, row)
    if isinstance(inner, dict) and all(name in inner for name in GENERATED) and isinstance(inner["documents"], list):
        return inner
    first = next(iter(_of_components({"": row, **row}, "answers")), [None])[0]
    return _generated(first) if isinstance(first, dict) else None


def _last_seen(found: list[list[Any]]) -> list[Any]:
    """Return the documents after the last component.

    The output of a component with no new documents, or with all earlier ones, replaces the earlier documents.
    """
    shown: list[Any] = []
    for given in found:
        known = [_name(item) for item in shown]
        new = [item for item in given if _name(item) not in known]
        replaced = not new or len(given) - len(new) == len(shown)
        shown = given if replaced else [*shown, *new]
    return shown


def _name(document: Any) -> Any:
    return (document.get("id") or document.get("content")) if isinstance(document, dict) else document


def _of_components(row: Row, name: str) -> list[list[Any]]:
    """Return the non-empty lists of this name that components returned, in the order in which they ran."""
    parts = (value.get(name) for value in row.values() if isinstance(value, dict))
    return [part for part in parts if isinstance(part, list) and part]

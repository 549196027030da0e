"""Read results of LangChain, LlamaIndex and Haystack, events of Google's ADK, and LangSmith runs.

Functions that read a row return it with canonical names, or None if it has another format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ragstone.records.fields import NOTES
from ragstone.records.jsontext import opened
from ragstone.records.logged_texts import SEVERAL, ChatTurn, answered, asked, documents, turns
from ragstone.records.mapping import Row
from ragstone.records.paths import find, find_first, folded
from ragstone.records.span_join import KINDS, LLM, RERANKER, RETRIEVER, TraceSpan, moment

QUESTIONS: Final = ("input", "query", "question")
ANSWERS: Final = ("answer", "result", "output", "response")
DOCUMENTS: Final = ("context", "source_documents", "documents")
HISTORY: Final = "chat_history"

MODELS: Final = ("extra.metadata.ls_model_name", "extra.invocation_params.model", "extra.invocation_params.model_name")

NODES: Final = "source_nodes"
"""The key of the documents in a LlamaIndex response."""

GENERATED: Final = ("data", "query", "documents")
SETTINGS: Final = "init_parameters"
"""The key under which ``to_dict`` of some versions puts the fields of a Haystack answer (``GENERATED``)."""


def _has_pages(value: object) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    inner = first.get("kwargs", first) if isinstance(first, dict) else None
    return isinstance(inner, dict) and "page_content" in inner


def langchain_row(row: Row) -> Row | None:
    """Read an answer with LangChain documents; question and answer may be messages."""
    held = any(row.get(name) is not None for name in ANSWERS) and any(_has_pages(row.get(name)) for name in DOCUMENTS)
    if not held and not {"source_documents", "result"} <= row.keys():
        return None
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


def llamaindex_row(row: Row) -> Row | None:
    """Read a response, or a row that holds one under one of its keys."""
    inner = {name: row[name] for name in ANSWERS if isinstance(row.get(name), dict) and NODES in row[name]}
    if not any(isinstance(opened(part.get(NODES)), list) for part in (row, *inner.values())):
        return None
    made = {name: value for name, value in row.items() if name not in inner}
    for part in inner.values():
        made = {**part, **made}
    return {**{name: value for name, value in made.items() if name != NODES}, "contexts": opened(made[NODES])}


def haystack_row(row: Row) -> Row | None:
    """Read an answer, or from the outputs of a pipeline its answer, else the replies and the last documents."""
    answer, written = _generated(row), _of_components(row, "replies")
    if answer is None and not written:
        return None
    if answer is not None:
        rest = {name: value for name, value in {**answer, **row}.items() if name not in (*GENERATED, SETTINGS, "type")}
        found = {"question": answer["query"], "response": answer["data"], "contexts": answer["documents"]}
        metas = [answer.get("meta")]
    else:
        rest = {name: value for name, value in row.items() if not isinstance(value, dict)}
        shown, metas = _last_seen(_of_components(row, "documents")), next(iter(_of_components(row, "meta")), [])
        replies = written[-1]
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


def is_adk(row: Row) -> bool:
    """Return whether a row is an event, or a session with events."""
    events = _events(row)
    return bool(events) and {"invocationid", "author"} <= events[0].keys()


def adk_spans(row: Row) -> Iterator[TraceSpan]:
    """Yield the question of each invocation as a root span, what its tools returned and what its agents answered."""
    events, before = _events(row), list[dict[str, str]]()
    session = {"session": row["id"]} if "events" in row and isinstance(row.get("id"), str) else {}
    for number, event in enumerate(events):
        trace, at = str(event.get("invocationid")), moment(event.get("timestamp"))
        said = [] if event.get("partial") is True else turns([event.get("content")])
        role, text, passages = said[0] if said else ChatTurn("", "")
        before += [{"role": role, "content": text}] if text else []
        if role == "user" and text:
            yield TraceSpan(trace, trace, start=at, input=before[:], meta=session)
            continue
        kind, name = LLM if text else RETRIEVER if passages else "", str(event.get("id") or number)
        yield TraceSpan(trace, name, trace, kind, "", at, at, False, None, text or None, list(passages) or None)


def _events(row: Row) -> list[Row]:
    """Return the events of a session, or the row, with folded names, because Python and JSON spell them differently."""
    events = row["events"] if isinstance(row.get("events"), list) else [row]
    return [{folded(key): value for key, value in event.items()} for event in events if isinstance(event, dict)]


def is_langsmith(row: Row) -> bool:
    """Return whether a row is a LangSmith run."""
    return "run_type" in row and "inputs" in row and "id" in row


def langsmith_spans(row: Row, trace: str = "", parent: str = "") -> Iterator[TraceSpan]:
    """Yield a run of the SDK, API or bulk export, and its nested child runs."""
    name = str(row.get("id"))
    trace = str(row.get("trace_id") or trace or name)
    kind = KINDS.get(str(row.get("run_type")).lower(), "")
    if kind == RETRIEVER and "rerank" in str(row.get("name")).lower():
        kind = RERANKER
    made = opened(row.get("outputs"))
    extra = {**row, "extra": opened(row.get("extra"))}
    session = find(extra, "extra.metadata.session_id")
    yield TraceSpan(
        trace, name, str(row.get("parent_run_id") or parent), kind, str(row.get("name") or ""),
        moment(row.get("start_time")), moment(row.get("end_time")), bool(row.get("error")),
        row.get("inputs"), made or None, made if kind in (RETRIEVER, RERANKER) else None,
        str(find_first(extra, MODELS) or ""), {"session": session} if isinstance(session, str) else {},
    )  # fmt: skip
    children = row.get("child_runs")
    for child in children if isinstance(children, list) else []:
        if isinstance(child, dict):
            yield from langsmith_spans(child, trace, name)

"""Read LangSmith runs from its SDK, API and bulk export, including runs with nested ``child_runs``."""

from __future__ import annotations

from collections.abc import Iterator

from ragstone.records.jsontext import opened
from ragstone.records.mapping import Row
from ragstone.records.paths import find, find_first
from ragstone.records.span_join import KINDS, RETRIEVER, TraceSpan, moment

MODELS = ("extra.metadata.ls_model_name", "extra.invocation_params.model", "extra.invocation_params.model_name")


def is_run(row: Row) -> bool:
    """Return whether a row is a run."""
    return "run_type" in row and "inputs" in row and "id" in row


def spans(row: Row, trace: str = "", parent: str = "") -> Iterator[TraceSpan]:
    """Yield a run and its child runs."""
    name = str(row.get("id"))
    trace = str(row.get("trace_id") or trace or name)
    kind = KINDS.get(str(row.get("run_type")).lower(), "")
    if kind == RETRIEVER and "rerank" in str(row.get("name")).lower():
        kind = "reranker"
    made = opened(row.get("outputs"))
    extra = {**row, "extra": opened(row.get("extra"))}
    session = find(extra, "extra.metadata.session_id")
    yield TraceSpan(
        trace,
        name,
        str(row.get("parent_run_id") or parent),
        kind,
        str(row.get("name") or ""),
        moment(row.get("start_time")),
        moment(row.get("end_time")),
        bool(row.get("error")),
        row.get("inputs"),
        made or None,
        made if kind in (RETRIEVER, "reranker") else None,
        str(find_first(extra, MODELS) or ""),
        {"session": session} if isinstance(session, str) else {},
    )
    children = row.get("child_runs")
    for child in children if isinstance(children, list) else []:
        if isinstance(child, dict):
            yield from spans(child, trace, name)

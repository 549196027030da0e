"""Read Langfuse data: observations and traces from its API, table exports, trace downloads and blob storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragstone.records.jsontext import opened, unquoted
from ragstone.records.logged_texts import documents
from ragstone.records.mapping import Row
from ragstone.records.paths import folded
from ragstone.records.span_join import KINDS, RETRIEVAL, RETRIEVER, TraceSpan, moment
from ragstone.records.values import readable

OBSERVATIONS = "observations"
TABLE = frozenset(("id", "timestamp", "bookmarked", "input", "output"))
"""Columns of the table of traces, whose exports have no observations."""
TYPES = frozenset(
    ("span", "generation", "event", "retriever", "agent", "tool", "chain", "evaluator", "embedding", "guardrail")
)


def is_langfuse(row: Row) -> bool:
    """Return whether a row is a trace, or one observation."""
    said = _named(row)
    held = said.get(OBSERVATIONS)
    if TABLE.issubset(said):
        return True
    if isinstance(held, list) and "id" in said and all(isinstance(item, dict | str) for item in held):
        return "timestamp" in said or (bool(held) and isinstance(held[0], dict))
    return "traceid" in said and str(said.get("type")).lower() in TYPES and ("input" in said or "output" in said)


def spans(row: Row) -> Iterator[TraceSpan]:
    """Yield a trace as a root span followed by its observations, or a single observation."""
    said = _named(row)
    if "traceid" in said:
        yield _span(said, str(said["traceid"]))
        return
    held = said.get(OBSERVATIONS) or []
    name = str(said["id"])
    meta = {key: found for key in ("tags", "metadata", "sessionid") if (found := opened(said.get(key)))}
    if "sessionid" in meta:
        meta["session"] = meta.pop("sessionid")
    root = f"trace {name}"
    inner = [_span(_named(item), name) for item in held if isinstance(item, dict)]  # lists of traces have only ids
    start = min((span.start for span in inner), default=0.0)
    yield TraceSpan(name, root, start=start, input=said.get("input"), output=said.get("output"), meta=meta)
    known = {span.id for span in inner}
    yield from (span if span.parent in known else span._replace(parent=root) for span in inner)


def _named(row: Row) -> Row:
    """Return the row with folded names (``traceId``, ``trace_id``), and without the JSON quotes of CSV exports.

    A trace download has its observations next to the trace.
    """
    trace = row.get("trace")
    row = {**trace, OBSERVATIONS: row[OBSERVATIONS]} if isinstance(trace, dict) and OBSERVATIONS in row else row
    return {folded(key): unquoted(value) for key, value in row.items()}


def _span(said: Row, trace: str) -> TraceSpan:
    kind = KINDS.get(str(said.get("type")).lower(), "")
    made: Any = said.get("output")
    if said.get("type") == "SPAN" and RETRIEVAL.search(str(said.get("name"))):
        kind = RETRIEVER if (found := documents(made)) and readable(found) else ""  # older SDKs have no retriever type
    return TraceSpan(
        trace, str(said.get("id")), str(said.get("parentobservationid") or ""), kind, str(said.get("name") or ""),
        moment(said.get("starttime")), moment(said.get("endtime")), said.get("level") == "ERROR",
        said.get("input"), made, made if kind == RETRIEVER else None,
        str(said.get("model") or said.get("providedmodelname") or ""),
    )  # fmt: skip

"""MLflow traces: ``Trace.to_json`` and the rows of ``search_traces``; inputs and outputs are JSON texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragstone.records.from_spans import attributes_of, span_of
from ragstone.records.jsontext import opened
from ragstone.records.mapping import Row
from ragstone.records.paths import MISSING, find
from ragstone.records.span_join import TraceSpan

SPANS = ("data.spans", "spans")
IDS = ("info.trace_id", "info.request_id", "trace_id", "request_id")


def is_trace(row: Row) -> bool:
    """Return whether a row is a whole trace of MLflow."""
    row = _whole(row)
    found, name = _first(row, SPANS), _first(row, IDS)
    return isinstance(found, list) and isinstance(name, str)


def spans(row: Row) -> Iterator[TraceSpan]:
    """The spans of a trace; the trace's own request and response where it has no span at all."""
    row = _whole(row)
    name = str(_first(row, IDS))
    found = [span for span in _first(row, SPANS) or [] if isinstance(span, dict)]
    for span in found:
        yield span_of(span, name, attributes_of(span))
    if not found:
        request, response = _first(row, ("data.request", "request")), _first(row, ("data.response", "response"))
        yield TraceSpan(name, name, input=request, output=response)


def _whole(row: Row) -> Row:
    """The trace that a row of ``search_traces`` holds as JSON beside its own columns, else the row."""
    trace = opened(row.get("trace"))
    return trace if isinstance(trace, dict) and "data" in trace else row


def _first(row: Row, paths: tuple[str, ...]) -> Any:
    values = (opened(find(row, path)) for path in paths)
    return next((value for value in values if value is not MISSING and value is not None), None)

"""MLflow traces: ``Trace.to_json`` and the rows of ``search_traces``; inputs and outputs are JSON texts."""

from __future__ import annotations

from collections.abc import Iterator

from ragstone.records.from_spans import attributes_of, span_of
from ragstone.records.jsontext import opened
from ragstone.records.mapping import Row
from ragstone.records.paths import find_first
from ragstone.records.span_join import TraceSpan

SPANS = ("data.spans", "spans")
IDS = ("info.trace_id", "info.request_id", "trace_id", "request_id")


def is_trace(row: Row) -> bool:
    """Return whether a row is a whole trace of MLflow."""
    row = _whole(row)
    found, name = opened(find_first(row, SPANS)), find_first(row, IDS)
    return isinstance(found, list) and isinstance(name, str)


def spans(row: Row) -> Iterator[TraceSpan]:
    """The spans of a trace; the trace's own request and response where it has no span at all."""
    row = _whole(row)
    name = str(find_first(row, IDS))
    found = [span for span in opened(find_first(row, SPANS)) or [] if isinstance(span, dict)]
    for span in found:
        yield span_of(span, name, attributes_of(span))
    if not found:
        request, response = (find_first(row, (f"data.{part}", part)) for part in ("request", "response"))
        yield TraceSpan(name, name, input=opened(request), output=opened(response))


def _whole(row: Row) -> Row:
    """The trace that a row of ``search_traces`` holds as JSON beside its own columns, else the row."""
    trace = opened(row.get("trace"))
    return trace if isinstance(trace, dict) and "data" in trace else row

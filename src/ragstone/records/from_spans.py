"""Read OpenTelemetry spans: OTLP JSON, the console exporter, Phoenix exports and frames, and MLflow traces.

Attributes are read under the names of OpenInference, the GenAI semantic conventions (attributes and the older events),
OpenLLMetry, MLflow, TruLens and Vercel's AI SDK.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ragstone.records.jsontext import opened, unquoted
from ragstone.records.mapping import Row
from ragstone.records.paths import MISSING, find, find_first
from ragstone.records.span_join import KINDS, RERANKER, RETRIEVER, TraceSpan, moment

KIND: Final = ("openinference.span.kind", "mlflow.spanType", "ai.observability.span_type", "gen_ai.operation.name",
               "traceloop.span.kind", "langfuse.observation.type", "ai.operationId")  # fmt: skip
INPUT: Final = ("input.value", "mlflow.spanInputs", "ai.observability.record_root.input", "gen_ai.input.messages",
                "gen_ai.retrieval.query.text", "ai.observability.retrieval.query_text", "gen_ai.prompt",
                "llm.input_messages", "traceloop.entity.input", "langfuse.observation.input",
                "gen_ai.tool.call.arguments", "ai.prompt", "ai.prompt.messages", "ai.toolCall.args")  # fmt: skip
OUTPUT: Final = ("output.value", "mlflow.spanOutputs", "ai.observability.record_root.output", "gen_ai.output.messages",
                 "gen_ai.completion", "llm.output_messages", "traceloop.entity.output",
                 "langfuse.observation.output", "gen_ai.tool.call.result", "ai.response.text",
                 "ai.response.object", "ai.toolCall.result")  # fmt: skip
DOCUMENTS: Final = ("reranker.output_documents", "retrieval.documents", "gen_ai.retrieval.documents",
                    "ai.observability.retrieval.retrieved_contexts")  # fmt: skip
RERANKED: Final = ("reranker.input_documents",)
MODEL: Final = ("llm.model_name", "gen_ai.response.model", "gen_ai.request.model", "mlflow.llm.model",
                "ai.observability.cost.model", "langfuse.observation.model.name", "ai.model.id")  # fmt: skip
TOOL_NAME: Final = ("ai.toolCall.name",)
SESSION: Final = ("session.id", "gen_ai.conversation.id")

TRACE_ID: Final = ("traceId", "trace_id", "context.trace_id")
SPAN_ID: Final = ("spanId", "span_id", "context.span_id")
PARENT_ID: Final = ("parentSpanId", "parent_span_id", "parent_id", "parentId")
STARTED: Final = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "start_timestamp")
ENDED: Final = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "timestamp")
STATUS: Final = ("status.status_code", "status.code", "status_code", "statusCode", "status")
MLFLOW_SPANS: Final = ("data.spans", "spans")
MLFLOW_IDS: Final = ("info.trace_id", "info.request_id", "trace_id", "request_id",
                     "spans[0].attributes.mlflow.traceRequestId")  # fmt: skip
ATTRIBUTES: Final = "attributes"
INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
DEEPEST: Final = 12
"""Maximum number of levels in a dotted key; longer keys are not split."""


def is_span(row: Row) -> bool:
    """Return whether a row is a span or an OTLP envelope of spans."""
    if "resourceSpans" in row or "resource_spans" in row:
        return True
    has_attributes = isinstance(opened(row.get(ATTRIBUTES)), dict | list) or any(
        key.startswith("attributes.") for key in row
    )
    return has_attributes and _first(row, TRACE_ID) is not None and _first(row, SPAN_ID) is not None


def is_openinference(row: Row) -> bool:
    """Return whether a span, or one in an envelope, follows OpenInference."""
    return is_span(row) and any(
        find(span, "attributes.openinference.span.kind") is not MISSING
        or "span_kind" in span
        or _first(nested(attributes_of(span)), KIND[:1]) is not None
        for span, _ in _bare(row)
    )


def spans(row: Row) -> Iterator[TraceSpan]:
    """Yield the spans of a row."""
    for span, resource in _bare(row):
        trace, name = _first(span, TRACE_ID), _first(span, SPAN_ID)
        if trace is not None and name is not None:
            yield span_of(span, str(trace), attributes_of(span), resource)


def is_mlflow(row: Row) -> bool:
    """Return whether a row is a whole MLflow trace, from ``Trace.to_json`` or ``search_traces``."""
    row = _mlflow_trace(row)
    return isinstance(opened(find_first(row, MLFLOW_SPANS)), list) and isinstance(find_first(row, MLFLOW_IDS), str)


def mlflow_spans(row: Row) -> Iterator[TraceSpan]:
    """Yield the spans of a trace, which may be a JSON string; without spans, the trace's own request and response."""
    row = _mlflow_trace(row)
    name = str(unquoted(find_first(row, MLFLOW_IDS)))
    found = [span for span in opened(find_first(row, MLFLOW_SPANS)) or [] if isinstance(span, dict)]
    yield from (span_of(span, name, attributes_of(span)) for span in found)
    if not found:
        request, response = (opened(find_first(row, (f"data.{part}", part))) for part in ("request", "response"))
        yield TraceSpan(name, name, input=request, output=response)


def _mlflow_trace(row: Row) -> Row:
    """Return the trace that a row of ``search_traces`` holds as JSON next to its own columns, else the row."""
    trace = opened(row.get("trace"))
    return trace if isinstance(trace, dict) and "data" in trace else row


def span_of(span: Row, trace: str, attributes: Row, resource: Row | None = None) -> TraceSpan:
    """Return a span built from its attributes under any of the known names."""
    said = nested(attributes)
    kind = KINDS.get(str(_first(said, KIND) or span.get("span_kind") or "").lower(), "")
    given, made = _first(said, INPUT), _first(said, OUTPUT)
    found = nested(opened(_first(said, DOCUMENTS)))
    events = span.get("events") or []
    if isinstance(events := opened(events), list) and events:
        messages, queried = _logged([event for event in events if isinstance(event, dict)])
        given = messages or None if given is None else given
        found = queried or None if found is None else found
        made = messages or None if made is None else made
        kind = kind or (RETRIEVER if queried else "")
    session = _first(said, SESSION)
    own, service = opened(said.get("metadata")), (resource or {}).get("service.name")
    named = service and not str(service).startswith("unknown_service")  # the SDK's default
    meta = {
        **({"session": session} if session else {}),
        **({"service": service} if named else {}),
        **({"metadata": own} if isinstance(own, dict) and own else {}),
    }
    return TraceSpan(
        trace, str(_first(span, SPAN_ID) or ""), str(_first(span, PARENT_ID) or ""),
        kind or (RETRIEVER if found is not None else ""),
        str(_first(said, TOOL_NAME) or span.get("name") or ""),
        moment(_first(span, STARTED)), moment(_first(span, ENDED)),
        str(_first(span, STATUS)).upper().endswith("ERROR") or _first(span, STATUS) == 2,
        _first(said, RERANKED) if kind == RERANKER else given, made,
        made if found is None and kind in (RETRIEVER, RERANKER) else found, str(_first(said, MODEL) or ""), meta,
    )  # fmt: skip


def _bare(row: Row) -> Iterator[tuple[Row, Row]]:
    """Yield each span with the attributes of its resource."""
    envelopes = row.get("resourceSpans") or row.get("resource_spans")
    if envelopes is None:
        yield row, {}
        return
    for envelope in envelopes if isinstance(envelopes, list) else []:
        resource = _plain(find(envelope, "resource.attributes"))
        for key in ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
            found = find(envelope, f"{key}[].spans[]")
            for span in found if isinstance(found, list) else []:
                if isinstance(span, dict):
                    yield span, resource


def attributes_of(span: Row) -> Row:
    """Return a span's attributes by name, from an object, an OTLP list, a JSON string or the columns of a frame."""
    given = opened(span.get(ATTRIBUTES))
    if given is None:
        prefix = f"{ATTRIBUTES}."
        return {
            key[len(prefix) :]: value for key, value in span.items() if key.startswith(prefix) and value is not None
        }
    return _plain(given)


def _plain(attributes: Any) -> Row:
    if isinstance(attributes, dict):
        return attributes
    pairs = attributes if isinstance(attributes, list) else []
    return {str(pair["key"]): _value(pair.get("value")) for pair in pairs if isinstance(pair, dict) and "key" in pair}


def _value(value: Any) -> Any:
    """Return an OTLP value such as ``{"stringValue": "x"}`` as a plain value."""
    if not isinstance(value, dict):
        return value
    for key, inner in value.items():
        if key.startswith(("array", "kvlist")) and isinstance(inner, dict):
            values = inner.get("values") or []
            return _plain(values) if key.startswith("kvlist") else [_value(item) for item in values]
        return int(inner) if key.startswith("int") and isinstance(inner, str) and INTEGER.fullmatch(inner) else inner
    return None


def nested(value: Any) -> Any:
    """Expand dotted keys to nested objects, and numeric keys to lists: ``documents.0.document.id``."""
    return _listed(_levels(value))


def _levels(value: Any) -> Any:
    if isinstance(value, list):
        return [_levels(item) for item in value]
    if not isinstance(value, dict):
        return value
    found: Row = {}
    for key, item in value.items():
        *above, last = key.split(".") if key.count(".") < DEEPEST else [key]
        level = found
        for part in above:
            inner = level.setdefault(part, {})
            if not isinstance(inner, dict):  # a plain value has this key too
                level, last = found, key
                break
            level = inner
        if isinstance(level.get(last), dict) and isinstance(item, dict):
            level[last].update(_levels(item))
        else:
            level.setdefault(last, _levels(item))
    return found


def _listed(value: Any) -> Any:
    if isinstance(value, list):
        return [_listed(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: _listed(item) for key, item in value.items()}
    if inner and all(key.isdecimal() and key.isascii() and len(key) < 7 for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


def _first(row: Mapping[str, Any], paths: tuple[str, ...]) -> Any:
    """Return the first value found at one of the paths; MLflow writes strings as JSON, in quotes."""
    for path in paths:
        value = _at(row, path)
        if value is not None and value != "":
            return unquoted(value)
    return None


def _at(row: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path without lists; a key with exactly that name wins.

    Unlike `paths.find`, this does not try every split of the path.
    """
    if path in row or "." not in path:
        return row.get(path)
    value: Any = row
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _logged(events: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return messages in events of the older GenAI conventions, and vector store hits (OpenLLMetry)."""
    messages: list[Row] = []
    hits: list[Row] = []
    for event in events:
        name = str(event.get("name") or "")
        said = _plain(event.get(ATTRIBUTES))
        if name == "db.query.result":
            hit = {key.rpartition(".")[2]: value for key, value in said.items()}
            hits.append({**hit, "text": hit.get("document")} if isinstance(hit.get("document"), str) else hit)
        elif name == "gen_ai.choice":
            message = opened(said.get("message"))
            content = message.get("content") if isinstance(message, dict) else said.get("content", message)
            messages.append({"role": "assistant", "content": content})
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            messages.append({"role": name.split(".")[1], "content": said.get("content")})
    return messages, hits

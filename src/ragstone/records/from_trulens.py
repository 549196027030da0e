"""Read TruLens data: spans of version 2 (``session.get_events``), and older records, alone or as ``record_json``.

The contexts of an older record are the results of its retrieval calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ragstone.records.from_spans import span_of
from ragstone.records.jsontext import opened
from ragstone.records.logged_texts import documents
from ragstone.records.mapping import Row
from ragstone.records.span_join import LLM, RETRIEVER, TraceSpan, moment

RETRIEVAL: Final = re.compile(r"retriev|search|get_relevant", re.IGNORECASE)
MODEL: Final = "model"
EVENT: Final = "record_attributes"


def is_record(row: Row) -> bool:
    """Return whether a row is a span or a record, or contains a record as JSON."""
    record = _record(row)
    if isinstance(opened(row.get(EVENT)), dict) and "trace" in row:
        return True
    return "main_input" in record and "calls" in record


def spans(row: Row) -> Iterator[TraceSpan]:
    """Yield the span, or the record as a root followed by its outermost retrieval calls."""
    record = _record(row)
    if EVENT in row:
        event: Row = {name: opened(value) for name, value in row.items()}
        ids = event["trace"] if isinstance(event["trace"], dict) else {}
        told = {**event, **(event["record"] if isinstance(event.get("record"), dict) else {}), **ids}
        yield span_of(told, str(ids.get("trace_id")), event[EVENT])
        return
    name = str(record.get("record_id") or row.get("record_id") or "")
    root = f"record {name}"
    meta = {
        key: row[key] for key in ("app_name", "app_version", "app_id", "tags") if row.get(key) not in (None, "-", "")
    }
    yield TraceSpan(
        name, root, failed=bool(record.get("main_error")), meta=meta,
        input=record.get("main_input"), output=record.get("main_output"),
    )  # fmt: skip
    calls = record.get("calls")
    for number, call in enumerate(calls if isinstance(calls, list) else []):
        steps = [_step(frame) for frame in call.get("stack") or []] if isinstance(call, dict) else []
        found = documents(call.get("rets")) if steps else None
        if found and RETRIEVAL.search(steps[-1]) and not any(map(RETRIEVAL.search, steps[:-1])):
            perf = call.get("perf") or {}
            times = moment(perf.get("start_time")), moment(perf.get("end_time"))
            yield TraceSpan(name, f"call {number}", root, RETRIEVER, steps[-1], *times, documents=found)
    cost = opened(row.get("cost_json"))
    if isinstance(cost, dict) and isinstance(cost.get(MODEL), str):
        yield TraceSpan(name, "model", root, LLM, model=cost[MODEL])


def _record(row: Row) -> Row:
    record: Any = opened(row.get("record_json"))
    return record if isinstance(record, dict) else row


def _step(frame: Any) -> str:
    """Return the method of a call, with the path of its object in the app for generic methods such as ``invoke``."""
    method = frame.get("method") if isinstance(frame, dict) else None
    name = str(method.get("name")) if isinstance(method, dict) else ""
    return f"{frame.get('path')} {name}" if name in ("invoke", "ainvoke", "__call__", "run") else name

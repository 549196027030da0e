"""Pull spans of a project's traces from Phoenix; push annotations of root spans and documents.

API: ``/v1/projects/{project}/traces`` and ``/spans``, ``/v1/span_annotations`` and ``/v1/document_annotations``, of
Phoenix 13 and later. Phoenix keeps one annotation per span, name and identifier, so sending one again replaces it. For
documents it keeps one per position and name, without an identifier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from ragstone.services.base import (
    OWNER,
    Flow,
    Pushed,
    Request,
    Service,
    TraceQuery,
    TraceScore,
    Write,
    instant,
)

TRACES: Final = 50
"""Traces per request for spans; limited because their ids are part of the URL."""
SPANS: Final = 200
"""Spans per reply."""


class Phoenix(Service):
    """Arize Phoenix, self-hosted or at app.phoenix.arize.com."""

    name = "phoenix"
    title = "Phoenix"
    format = "openinference"
    address = "http://localhost:6006"
    addresses = ("PHOENIX_ENDPOINT", "PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_BASE_URL")
    keys = ("PHOENIX_API_KEY",)

    def authorization(self, keys: Mapping[str, str]) -> str:
        """Return the header with the key, if there is one."""
        key = keys["PHOENIX_API_KEY"]
        return f"Bearer {key}" if key else ""

    def pull(self, wanted: TraceQuery, write: Write) -> Flow[tuple[int, int]]:
        """Write the newest traces first, each with all its spans ordered by start time."""
        project = f"/v1/projects/{quote(self.needed(wanted.project), safe='')}"
        window = [("end_time", instant(wanted.until))]
        window += [("start_time", instant(wanted.since))] if wanted.since else []
        seen = bare = 0
        cursor: str | None = ""
        while cursor is not None and seen != wanted.limit:
            limit = min(TRACES, (wanted.limit or seen + TRACES) - seen)
            (page,) = yield [Request(f"{project}/traces", _page(window, limit, cursor))]
            names = [trace["trace_id"] for trace in page["data"]]
            spans = yield from self._spans(project, names)
            for name in names:
                for span in sorted(spans[name], key=lambda span: (span["start_time"], span["context"]["span_id"])):
                    write(span)
            bare += sum(not spans[name] for name in names)
            seen, cursor = seen + len(names), page["next_cursor"]
        return seen, bare

    def _spans(self, project: str, names: Sequence[str]) -> Flow[dict[str, list[dict[str, Any]]]]:
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        chosen = [("trace_id", name) for name in names]
        cursor: str | None = "" if names else None
        while cursor is not None:
            (page,) = yield [Request(f"{project}/spans", _page(chosen, SPANS, cursor))]
            for span in page["data"]:
                found[span["context"]["trace_id"]].append(span)
            cursor = page["next_cursor"]
        return found

    def push(self, scores: Sequence[TraceScore]) -> Flow[Pushed]:
        """Annotate root spans and documents; only annotations of root spans are counted."""
        pushed = yield from self._sent("span", [(score.trace, _of_span(score)) for score in scores], (404,))
        documents = [(score.trace, annotation) for score in scores for annotation in _of_documents(score)]
        if documents:  # 422: Phoenix has no document at that position
            yield from self._sent("document", documents, (404, 422))
        return pushed

    def _sent(self, what: str, rows: Sequence[tuple[str, dict[str, Any]]], absent: Sequence[int]) -> Flow[Pushed]:
        """Send all annotations in one request; if a span does not exist, bisect to find it."""
        body = {"data": [row for _, row in rows]}
        (answer,) = yield [Request(f"/v1/{what}_annotations", [("sync", "true")], "POST", body, absent=absent)]
        if answer is not None:
            return Pushed(len(rows))
        spans = list(dict.fromkeys(row["span_id"] for _, row in rows))
        if len(spans) == 1:
            return Pushed(missing=(rows[0][0],))
        half = set(spans[: len(spans) // 2])
        first = yield from self._sent(what, [row for row in rows if row[1]["span_id"] in half], absent)
        rest = yield from self._sent(what, [row for row in rows if row[1]["span_id"] not in half], absent)
        return first.plus(rest)


def _page(params: Sequence[tuple[str, str]], limit: int, cursor: str) -> list[tuple[str, str]]:
    return [*params, ("limit", str(limit)), *([("cursor", cursor)] if cursor else [])]


def _annotation(score: TraceScore, value: float, label: str, explanation: str | None, **place: Any) -> dict[str, Any]:
    return {
        **place,
        "name": score.name,
        "annotator_kind": score.judged_by,
        "result": {"score": value, "label": label or None, "explanation": explanation},
        "metadata": dict(score.metadata),
    }


def _of_span(score: TraceScore) -> dict[str, Any]:
    place = {"span_id": score.span, "identifier": OWNER}
    return _annotation(score, score.value, score.label, score.explanation, **place)


def _of_documents(score: TraceScore) -> list[dict[str, Any]]:
    return [
        _annotation(score, one.value, one.label, one.explanation or None, span_id=one.span, document_position=one.place)
        for one in score.passages
    ]

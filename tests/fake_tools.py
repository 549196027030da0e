"""Phoenix, MLflow and Langfuse as far as their published APIs are used here: what those do not describe is refused.

Each remembers what is stored, as ``(trace, name, value, label, explanation)``, and can be told to fail first.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

PROJECT = "tea room"
START = datetime(2025, 3, 1, 10, tzinfo=UTC)
ANSWER = "Green tea is brewed at 70 to 80 degrees. It was invented on Mars."
PASSAGE = "Green tea is brewed at 70 to 80 degrees."
Stored = tuple[str, str, float, str, str]


def question(number: int) -> str:
    return f"How hot is green tea brewed, asked {number}?"


def began(number: int) -> datetime:
    """Trace n began n hours after the first."""
    return START + timedelta(hours=number)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Refused(Exception):
    def __init__(self, status: int, body: Any) -> None:
        self.status, self.body = status, body


def only(params: list[tuple[str, str]], *names: str) -> dict[str, str]:
    """The parameters as a dict; 422 for one that is not in the API, or is given twice."""
    found = dict(params)
    if not found.keys() <= set(names) or len(found) != len(params):
        raise Refused(422, {"detail": f"parameters {params}"})
    return found


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


class FakeTool:
    """A server on loopback. ``faults``: what the next requests get instead of an answer; ``asked``: all requests."""

    authorization = ""
    environment: Mapping[str, str] = {}
    project = PROJECT

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.asked: list[tuple[str, str]] = []
        self.faults: list[Any] = []

    def __enter__(self) -> Self:
        tool = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, headers, answer = tool.handle(self.command, self.path, self.headers, body)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                if status:
                    self.send_response(status)
                    for name, value in {**headers, "Content-Length": str(len(data))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(data)

            do_GET = do_POST = do_PATCH = handle_any

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def handle(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], Any]:
        parts = urlsplit(target)
        self.asked.append((method, parts.path))
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, tuple):
            return fault
        if self.authorization and headers.get("Authorization") != self.authorization:
            return 401, {}, {"message": f"Invalid credentials {headers.get('Authorization')}", "error": "Unauthorized"}
        if body and headers.get("Content-Type") != "application/json":
            return 415, {}, {"message": "JSON only"}
        try:
            params = parse_qsl(parts.query, keep_blank_values=True)
            answer = self.answer(method, unquote(parts.path), params, json.loads(body) if body else None)
        except Refused as refused:
            return refused.status, {}, refused.body
        except ValidationError as error:
            return 422, {}, {"detail": str(error)}
        return fault(answer) if fault else (200, {}, answer)

    def answer(self, method: str, path: str, params: list[tuple[str, str]], body: Any) -> Any:
        raise NotImplementedError

    def seed(self, count: int) -> None:
        self.numbers = list(range(count))

    def trace(self, number: int) -> str:
        return f"{number:032x}"


# ---- Phoenix


class Result(Strict):
    label: str | None = None
    score: float | None = None
    explanation: str | None = None


class Annotation(Strict):
    span_id: str
    name: str
    annotator_kind: Literal["LLM", "CODE", "HUMAN"]
    result: Result | None = None
    metadata: dict[str, Any] | None = None
    identifier: str = ""


class Annotations(Strict):
    data: list[Annotation]


class DocumentAnnotation(Strict):
    span_id: str
    document_position: int
    name: str
    annotator_kind: Literal["LLM", "CODE", "HUMAN"]
    result: Result | None = None
    metadata: dict[str, Any] | None = None
    identifier: Literal[""] = ""


class DocumentAnnotations(Strict):
    data: list[DocumentAnnotation]


class FakePhoenix(FakeTool):
    service = "phoenix"
    environment: Mapping[str, str] = {"PHOENIX_API_KEY": "phoenix-secret-key"}
    authorization = "Bearer phoenix-secret-key"

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str, str], Annotation] = {}
        self.documents: dict[tuple[str, int, str], DocumentAnnotation] = {}

    def span(self, number: int) -> str:
        return f"{number:015x}a"

    def add_other(self, number: int, name: str) -> None:
        self.kept[self.span(number), name, "ana"] = Annotation(
            span_id=self.span(number), name=name, annotator_kind="HUMAN", result=Result(score=1.0)
        )

    def stored(self) -> list[Stored]:
        traces = {self.span(number): self.trace(number) for number in self.numbers}
        return sorted(
            (traces[one.span_id], one.name, one.result.score, one.result.label, one.result.explanation)  # type: ignore[union-attr, misc]
            for (_, _, owner), one in self.kept.items()
            if owner == "ragstone"
        )

    def stored_documents(self) -> list[tuple[Any, ...]]:
        return sorted((*key, one.result.score, one.result.label) for key, one in self.documents.items() if one.result)

    def answer(self, method: str, path: str, params: list[tuple[str, str]], body: Any) -> Any:
        if (method, path) == ("POST", "/v1/span_annotations"):
            only(params, "sync")
            found = Annotations.model_validate(body).data
            known = {self.span(number) for number in self.numbers}
            if missing := {one.span_id for one in found} - known:
                raise Refused(404, {"detail": f"Spans with IDs {', '.join(missing)} do not exist."})
            for one in found:
                self.kept[one.span_id, one.name, one.identifier] = one
            return {"data": [{"id": str(place)} for place in range(len(found))]}
        if (method, path) == ("POST", "/v1/document_annotations"):
            only(params, "sync")
            noted = DocumentAnnotations.model_validate(body).data
            if {one.span_id for one in noted} - {f"{number:015x}b" for number in self.numbers}:
                raise Refused(404, {"detail": "Spans do not exist."})
            if any(one.document_position for one in noted):
                raise Refused(422, {"detail": "Document position is out of bounds"})
            self.documents |= {(one.span_id, one.document_position, one.name): one for one in noted}
            return {"data": [{"id": str(place)} for place in range(len(noted))]}
        place = re.fullmatch(r"/v1/projects/([^/]+)/(traces|spans)", path)
        if method != "GET" or place is None:
            raise Refused(404, {"detail": "Not Found"})
        if place[1] != self.project:
            raise Refused(404, {"detail": f"Project with name {place[1]} not found"})
        if place[2] == "traces":
            given = only(params, "start_time", "end_time", "limit", "cursor")
            since, until = moment(given.get("start_time", "2000-01-01T00:00Z")), moment(given["end_time"])
            rows = [{"trace_id": self.trace(n)} for n in reversed(self.numbers) if since <= began(n) < until]
        else:
            wanted = {value for name, value in params if name == "trace_id"}
            given = only([pair for pair in params if pair[0] != "trace_id"], "limit", "cursor")
            rows = [span for n in self.numbers if self.trace(n) in wanted for span in reversed(phoenix_spans(n))]
        first, limit = int(given.get("cursor", 0)), int(given["limit"])
        if not 0 < limit <= 1000:
            raise Refused(422, {"detail": "limit"})
        more = len(rows) > first + limit
        return {"next_cursor": str(first + limit) if more else None, "data": rows[first : first + limit]}


def phoenix_spans(number: int) -> list[dict[str, Any]]:
    """What ``POST /v1/projects/{project}/spans`` takes and the spans API returns."""
    times = {"start_time": began(number).isoformat(), "end_time": (began(number) + timedelta(seconds=2)).isoformat()}
    trace, root = f"{number:032x}", f"{number:015x}a"
    both: dict[str, Any] = {**times, "status_code": "OK", "status_message": "", "events": []}
    documents = {"retrieval.documents.0.document.id": "tea-1", "retrieval.documents.0.document.content": PASSAGE}
    return [
        {
            **both, "name": "ask", "context": {"trace_id": trace, "span_id": root}, "span_kind": "CHAIN",
            "parent_id": None, "attributes": {"input.value": question(number), "output.value": ANSWER},
        },
        {
            **both, "name": "search", "context": {"trace_id": trace, "span_id": f"{number:015x}b"},
            "span_kind": "RETRIEVER", "parent_id": root, "attributes": documents,
        },
    ]  # fmt: skip


# ---- MLflow


class Source(Strict):
    source_type: Literal["HUMAN", "LLM_JUDGE", "CODE"]
    source_id: str


class Feedback(Strict):
    value: float


class Assessment(Strict):
    assessment_id: str = ""
    assessment_name: str
    trace_id: str
    source: Source
    feedback: Feedback
    rationale: str = ""
    metadata: dict[str, str] = Field(default_factory=dict)


class Creation(Strict):
    assessment: Assessment


class Update(Strict):
    assessment: Assessment
    update_mask: str


class Place(Strict):
    experiment_id: str


class Location(Strict):
    type: Literal["MLFLOW_EXPERIMENT"]
    mlflow_experiment: Place


class Search(Strict):
    locations: list[Location]
    filter: str
    max_results: int = Field(le=500)
    order_by: list[Literal["timestamp_ms DESC"]]
    page_token: str | None = None


class FakeMLflow(FakeTool):
    service = "mlflow"
    environment: Mapping[str, str] = {"MLFLOW_TRACKING_USERNAME": "ana", "MLFLOW_TRACKING_PASSWORD": "mlflow-secret"}
    authorization = "Basic " + base64.b64encode(b"ana:mlflow-secret").decode()

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Assessment] = []
        self.filed: set[int] = set()
        self.running: set[int] = set()

    def trace(self, number: int) -> str:
        return f"tr-{number:032x}"

    def _add(self, one: Assessment) -> dict[str, Any]:
        self.kept.append(one.model_copy(update={"assessment_id": f"a-{len(self.kept)}"}))
        return {"assessment": self.kept[-1].model_dump()}

    def add_other(self, number: int, name: str) -> None:
        source = Source(source_type="HUMAN", source_id="ana")
        trace = self.trace(number)
        self._add(Assessment(assessment_name=name, trace_id=trace, source=source, feedback=Feedback(value=1.0)))

    def stored(self) -> list[Stored]:
        return sorted(
            (one.trace_id, one.assessment_name, one.feedback.value, one.metadata["label"], one.rationale)
            for one in self.kept
            if one.source.source_id == "ragstone"
        )

    def answer(self, method: str, path: str, params: list[tuple[str, str]], body: Any) -> Any:
        api = "/api/3.0/mlflow/traces"
        by_name = {self.trace(number): number for number in self.numbers}
        if (method, path) == ("GET", "/api/2.0/mlflow/experiments/get-by-name"):
            name = only(params, "experiment_name")["experiment_name"]
            if name != self.project:
                said = f"Could not find experiment with name '{name}'"
                raise Refused(404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": said})
            return {"experiment": {"experiment_id": "7", "name": name}}
        if (method, path) == ("POST", f"{api}/search"):
            return self._search(Search.model_validate(body))
        if (method, path) == ("GET", f"{api}/batchGet"):
            assert {name for name, _ in params} == {"trace_ids"}
            numbers = [by_name[name] for _, name in reversed(params)]
            if not self.filed.isdisjoint(numbers):
                raise Refused(400, {"message": "Trace data not stored in tracking store"})
            found_traces = [self._whole(number) for number in numbers if number not in self.running]
            return {"traces": found_traces} if found_traces else {}
        if (method, path) == ("GET", "/ajax-api/3.0/mlflow/get-trace-artifact"):
            return {"spans": self._whole(by_name[only(params, "request_id")["request_id"]])["spans"]}
        found = re.fullmatch(rf"{api}/([^/]+)(?:/assessments(?:/([^/]+))?)?", path)
        if not found or found[1] not in by_name:
            raise Refused(404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": f"no trace at {path}"})
        if method == "GET" and found[0].endswith(found[1]):
            return {"trace": {"trace_info": self._info(by_name[found[1]])}}
        if method == "POST" and path.endswith("/assessments"):
            return self._add(Creation.model_validate(body).assessment)
        assert method == "PATCH"
        update = Update.model_validate(body)
        assert update.update_mask.split(",") == ["feedback", "rationale", "metadata"]
        (place,) = (n for n, one in enumerate(self.kept) if one.assessment_id == found[2])
        self.kept[place] = update.assessment
        return {"assessment": update.assessment.model_dump()}

    def _search(self, search: Search) -> Any:
        before = re.fullmatch(r"timestamp_ms < (\d+)(?: AND timestamp_ms >= (\d+))?", search.filter)
        assert before, search.filter
        times = {number: began(number).timestamp() * 1000 for number in self.numbers}
        fits = [n for n in reversed(self.numbers) if int(before[2] or 0) <= times[n] < int(before[1])]
        first = int(search.page_token or 0)
        last = first + search.max_results
        page = {"traces": [self._info(number) for number in fits[first:last]]}
        return {**page, "next_page_token": str(last)} if len(fits) > last else page

    def _info(self, number: int) -> dict[str, Any]:
        own = [one.model_dump() for one in self.kept if one.trace_id == self.trace(number)]
        tags = {} if number in self.filed else {"mlflow.trace.spansLocation": "TRACKING_STORE"}
        info = {"trace_id": self.trace(number), "request_time": began(number).isoformat(), "tags": tags}
        return {**info, "assessments": own} if own else info

    def _whole(self, number: int) -> dict[str, Any]:
        def text(value: str) -> dict[str, str]:
            return {"string_value": value}

        def span(name: str, kind: str, given: Any, made: Any, parent: str = "") -> dict[str, Any]:
            said = {"mlflow.spanType": text(kind), "mlflow.spanInputs": given, "mlflow.spanOutputs": made}
            attributes = [{"key": key, "value": value} for key, value in said.items()]
            start = int(began(number).timestamp() * 1e9)
            found = {"span_id": name, "name": name, "start_time_unix_nano": start, "attributes": attributes}
            return {**found, "parent_span_id": parent} if parent else found

        document = {"kvlist_value": {"values": [{"key": "page_content", "value": text(PASSAGE)}]}}
        asked = {"kvlist_value": {"values": [{"key": "question", "value": text(question(number))}]}}
        found = {"array_value": {"values": [document]}}
        spans = [span("ask", "CHAIN", asked, text(ANSWER)), span("search", "RETRIEVER", asked, found, "ask")]
        return {"trace_info": self._info(number), "spans": spans}


# ---- Langfuse


class Score(Strict):
    id: str
    traceId: str
    observationId: str | None = None
    name: str
    value: float
    dataType: Literal["NUMERIC"]
    comment: str | None = None
    metadata: dict[str, Any] | None = None


class FakeLangfuse(FakeTool):
    service = "langfuse"
    environment: Mapping[str, str] = {"LANGFUSE_PUBLIC_KEY": "pk-lf-tea", "LANGFUSE_SECRET_KEY": "sk-lf-secret"}
    authorization = "Basic " + base64.b64encode(b"pk-lf-tea:sk-lf-secret").decode()

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Score] = {}

    def add_other(self, number: int, name: str) -> None:
        self.kept["of-ana"] = Score(id="of-ana", traceId=self.trace(number), name=name, value=1.0, dataType="NUMERIC")

    def stored(self) -> list[Stored]:
        return sorted(
            (one.traceId, one.name, one.value, (one.metadata or {})["label"], (one.comment or "").partition(": ")[2])
            for one in self.kept.values()
            if one.id != "of-ana"
        )

    def answer(self, method: str, path: str, params: list[tuple[str, str]], body: Any) -> Any:
        api = "/api/public"
        if (method, path) == ("POST", f"{api}/scores"):
            score = Score.model_validate(body)
            self.kept[score.id] = score
            return {"id": score.id}
        assert method == "GET"
        if path == f"{api}/projects":
            return {"data": [{"id": "p-1", "name": self.project}]}
        by_name = {self.trace(number): number for number in self.numbers}
        if path == f"{api}/traces":
            given = only(params, "page", "limit", "fromTimestamp", "toTimestamp", "orderBy", "fields")
            assert (given["orderBy"], given["fields"]) == ("timestamp.desc", "core")
            since, until = moment(given.get("fromTimestamp", "2000-01-01T00:00Z")), moment(given["toTimestamp"])
            fits = [name for name, n in reversed(by_name.items()) if since <= began(n) < until]
            page, limit = int(given["page"]), int(given["limit"])
            rows = [{"id": name, "observations": [], "scores": []} for name in fits[(page - 1) * limit : page * limit]]
            pages = -(-len(fits) // limit)
            return {"data": rows, "meta": {"page": page, "limit": limit, "totalItems": len(fits), "totalPages": pages}}
        name = path.removeprefix(f"{api}/traces/")
        if name not in by_name:
            raise Refused(
                404, {"message": "Trace not found within authorized project", "error": "LangfuseNotFoundError"}
            )
        return self._whole(name, by_name[name])

    def _whole(self, name: str, number: int) -> dict[str, Any]:
        start = began(number).isoformat()
        observed = {
            "id": f"{name}-2", "traceId": name, "type": "RETRIEVER", "name": "search", "startTime": start,
            "endTime": start, "parentObservationId": None, "input": question(number), "output": [{"content": PASSAGE}],
        }  # fmt: skip
        scores = [one.model_dump() for one in self.kept.values() if one.traceId == name]
        shown = {"input": {"question": question(number)}, "output": {"answer": ANSWER}}
        return {"id": name, "timestamp": start, **shown, "scores": scores, "observations": [observed]}

"""Pull traces of an experiment from MLflow, in the format of ``Trace.to_json``; push feedback assessments.

API: ``/api/3.0/mlflow/traces`` of MLflow 3 with a database as its store. The server assigns the ids of assessments, so
Ragstone's are looked up by name and source first: equal ones are kept, others are updated.
"""

from __future__ import annotations

import base64
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
)

TRACES: Final = 50
"""Traces per reply."""
API: Final = "/api/3.0/mlflow/traces"
SOURCES: Final = {"LLM": "LLM_JUDGE", "CODE": "CODE", "HUMAN": "HUMAN"}
FILES: Final = "/ajax-api/3.0/mlflow/get-trace-artifact"
"""Path of spans that were logged by clients before 3.5 or that the server keeps in files."""
PLACE, IN_FILES = "mlflow.trace.spansLocation", "ARTIFACT_REPO"
CHANGED: Final = ("feedback", "rationale", "metadata")
"""The fields of an assessment that Ragstone sets."""


class MLflow(Service):
    """An MLflow tracking server."""

    name = "mlflow"
    title = "MLflow"
    format = "mlflow"
    address = "http://localhost:5000"
    addresses = ("MLFLOW_TRACKING_URI",)
    keys = ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN")

    def authorization(self, keys: Mapping[str, str]) -> str:
        """Return the header with user and password, else with the token, else none, as MLflow's own client does."""
        user, password, token = (keys[name] for name in self.keys)
        if user and password:
            return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        return f"Bearer {token}" if token else ""

    def pull(self, wanted: TraceQuery, write: Write) -> Flow[tuple[int, int]]:
        """Write the newest traces first."""
        named = [("experiment_name", self.needed(wanted.project))]
        (found,) = yield [Request("/api/2.0/mlflow/experiments/get-by-name", named)]
        place = {"experiment_id": found["experiment"]["experiment_id"]}
        window = f"timestamp_ms < {wanted.until.timestamp() * 1000:.0f}"
        window += f" AND timestamp_ms >= {wanted.since.timestamp() * 1000:.0f}" if wanted.since else ""
        search: dict[str, Any] = {
            "locations": [{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": place}],
            "filter": window,
            "order_by": ["timestamp_ms DESC"],
        }
        seen = bare = 0
        token: str | None = ""
        while token is not None and seen != wanted.limit:
            limit = min(TRACES, (wanted.limit or seen + TRACES) - seen)
            body = {**search, "max_results": limit, **({"page_token": token} if token else {})}
            (page,) = yield [Request(f"{API}/search", method="POST", body=body)]
            infos = page.get("traces", ())
            bare += yield from self._traces(infos, write)
            seen, token = seen + len(infos), page.get("next_page_token")
        return seen, bare

    def _traces(self, infos: Sequence[Mapping[str, Any]], write: Write) -> Flow[int]:
        """Write a page of traces with their spans; return how many have none."""
        kept = [info["trace_id"] for info in infos if info.get("tags", {}).get(PLACE, IN_FILES) != IN_FILES]
        filed = [info["trace_id"] for info in infos if info["trace_id"] not in kept]
        requests = [Request(FILES, [("request_id", name)], absent=(404,)) for name in filed]
        if kept:
            requests.append(Request(f"{API}/batchGet", [("trace_ids", name) for name in kept]))
        answers = (yield requests) if requests else []
        found = {name: answer or {} for name, answer in zip(filed, answers, strict=False)}
        for trace in answers[-1].get("traces", ()) if kept else ():  # running traces are not included
            found[trace["trace_info"]["trace_id"]] = trace
        for info in infos:
            # A push must not change what the next pull returns.
            others = [each for each in info.get("assessments", ()) if not _is_ours(each)]
            about = {key: value for key, value in info.items() if key != "assessments"}
            about |= {"assessments": others} if others else {}
            write({"info": about, "data": {"spans": found.get(info["trace_id"], {}).get("spans", [])}})
        return sum(not found.get(info["trace_id"], {}).get("spans") for info in infos)

    def push(self, scores: Sequence[TraceScore]) -> Flow[Pushed]:
        """Send the scores that differ from those on the server."""
        by_trace: dict[str, list[TraceScore]] = {}
        for score in scores:
            by_trace.setdefault(score.trace, []).append(score)
        places = {name: f"{API}/{quote(name, safe='')}" for name in by_trace}
        answers = yield [Request(place, absent=(404,)) for place in places.values()]
        found = dict(zip(by_trace, answers, strict=True))
        requests: list[Request] = []
        known = 0
        for name, answer in found.items():
            if answer is not None:
                there = answer["trace"]["trace_info"].get("assessments", ())
                ours = {
                    (each["assessment_name"], (each.get("metadata") or {}).get("span", "")): each
                    for each in there
                    if _is_ours(each)
                }
                for score in by_trace[name]:
                    requests += _change(places[name], score, ours.get((score.name, score.part)))
                known += len(by_trace[name])
        if requests:
            yield requests
        missing = tuple(name for name, answer in found.items() if answer is None)
        return Pushed(len(requests), known - len(requests), missing)


def _is_ours(assessment: Mapping[str, Any]) -> bool:
    return bool(assessment.get("source", {}).get("source_id") == OWNER)


def _change(place: str, score: TraceScore, there: Mapping[str, Any] | None) -> list[Request]:
    """Return the request that makes the existing assessment equal to the score; none if it is equal."""
    wanted: dict[str, Any] = {
        "trace_id": score.trace,
        "assessment_name": score.name,
        "source": {"source_type": SOURCES[score.judged_by], "source_id": OWNER},
        "feedback": {"value": score.value},
        "rationale": score.explanation,
        "metadata": score.labelled(),
    }
    if there is None:
        body = {"assessment": wanted}
        return [Request(f"{place}/assessments", method="POST", body=body, once=True)]
    if all(there.get(name) == wanted[name] for name in CHANGED):
        return []
    name = there["assessment_id"]
    change = {"assessment": {**wanted, "assessment_id": name}, "update_mask": ",".join(CHANGED)}
    return [Request(f"{place}/assessments/{quote(name, safe='')}", method="PATCH", body=change)]

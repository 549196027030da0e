"""The batch APIs of the fake server: OpenAI's files and batches, and Anthropic's Message Batches.

When a batch ends, its lines are answered as single calls would be; ``batch_end`` says how it ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from ragstone.testing.behaviour import Behaviour, Outcome

Answer = Callable[[Mapping[str, str], bytes], Outcome]
"""Answers the body of one call."""

BATCH_PATHS: Final = ("/v1/files", "/v1/batches", "/v1/messages/batches")
_CONTENT: Final = re.compile(rb'name="file".*?\r\n\r\n(.*)\r\n--', re.DOTALL)
_ROUTE: Final = re.compile(r"/v1/(?P<kind>files|batches|messages/batches)(?:/(?P<id>[\w-]+))?(?:/(?P<more>\w+))?")


class FakeBatches:
    """The batches and files of one server."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, dict[str, Any]] = {}

    def reply(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, now: Behaviour, answer: Answer
    ) -> Outcome | None:
        """Answer a request to these APIs; return None for another request or a missing object."""
        found = _ROUTE.fullmatch(path)
        if found is None:
            return None
        kind, name, more = found["kind"], found["id"], found["more"]
        if kind == "files":
            if method == "POST":
                given = _CONTENT.search(body)
                name = f"file-{len(self._files)}"
                self._files[name] = given[1] if given else b""
                return _json({"id": name, "object": "file"})
            return Outcome(200, self._files[name]) if name in self._files and more == "content" else None
        if method == "POST" and name is None:
            return _json(self._made(kind, orjson.loads(body)))
        if name is None:
            known = [one for one in self._batches.values() if one["kind"] == kind]
            return _json({"data": [self._polled(one, headers, now, answer) for one in known]})
        if name not in self._batches or now.batch_end == "lost":
            return None
        batch = self._batches[name]
        if more == "cancel":
            batch["cancelled"] = True
        elif more == "results":
            return Outcome(200, batch["results"])
        return _json(self._polled(batch, headers, now, answer))

    def _polled(
        self, batch: dict[str, Any], headers: Mapping[str, str], now: Behaviour, answer: Answer
    ) -> dict[str, Any]:
        batch["polls"] += 1
        if not batch["ended"] and (batch["polls"] > now.batch_polls or batch["cancelled"]):
            self._end(batch, "cancelled" if batch["cancelled"] else now.batch_end, headers, answer)
        return _told(batch)

    def _made(self, kind: str, request: dict[str, Any]) -> dict[str, Any]:
        lines = request.get("requests") or [
            orjson.loads(line) for line in self._files[request["input_file_id"]].splitlines()
        ]
        ids = [line["custom_id"] for line in lines]
        assert len(set(ids)) == len(ids), "the ids of a batch are unique"
        made: dict[str, Any] = {
            "kind": kind, "id": f"batch-{len(self._batches)}", "lines": lines, "polls": 0, "ended": "",
            "cancelled": False, "files": {}, "metadata": request.get("metadata"), "at": datetime.now(UTC).isoformat(),
        }  # fmt: skip
        self._batches[made["id"]] = made
        return _told(made)

    def _end(self, batch: dict[str, Any], how: str, headers: Mapping[str, str], answer: Answer) -> None:
        """Answer all, half or none of the lines; expired ones get a line that says so, other missing ones get none."""
        lines = batch["lines"][::-1]
        done = lines if how == "completed" else [] if how in ("failed", "empty") else lines[: len(lines) // 2 or 1]
        told = [line for line in lines if line not in done] if how == "expired" else []
        batch["ended"] = how
        if batch["kind"] == "messages/batches":
            good = [_message_line(line, answer(headers, orjson.dumps(line["params"]))) for line in done]
            bad = [{"custom_id": line["custom_id"], "result": {"type": "expired"}} for line in told]
            batch["results"] = b"\n".join(map(orjson.dumps, good + bad))
            return
        good = [_chat_line(line, answer(headers, orjson.dumps(line["body"]))) for line in done]
        bad = [{"custom_id": line["custom_id"], "response": None, "error": {"code": "batch_expired"}} for line in told]
        refused = [line for line in good if line["response"]["status_code"] != 200]
        for part, found in (
            ("output_file_id", [one for one in good if one not in refused]),
            ("error_file_id", refused + bad),
        ):
            if found:
                name = f"file-{len(self._files)}"
                self._files[name] = b"\n".join(map(orjson.dumps, found))
                batch["files"][part] = name


def _chat_line(line: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    response = {"status_code": outcome.status, "request_id": "x", "body": orjson.loads(outcome.body)}
    return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}


def _message_line(line: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    said = orjson.loads(outcome.body)
    result = {"type": "succeeded", "message": said} if outcome.status == 200 else {"type": "errored", "error": said}
    return {"custom_id": line["custom_id"], "result": result}


def _told(batch: dict[str, Any]) -> dict[str, Any]:
    if batch["kind"] == "messages/batches":
        ended = bool(batch["ended"])
        return {"id": batch["id"], "processing_status": "ended" if ended else "in_progress", "created_at": batch["at"],
                "request_counts": {"processing": len(batch["lines"])},
                "results_url": "https://elsewhere/results" if ended and batch["results"] else None}  # fmt: skip
    state = {"": "in_progress", "partial": "completed", "empty": "completed"}
    errors = {"errors": {"data": [{"message": "Line 1 is not a valid request."}]}} if batch["ended"] == "failed" else {}
    return {"id": batch["id"], "status": state.get(batch["ended"], batch["ended"]), "metadata": batch["metadata"],
            **batch["files"], **errors}  # fmt: skip


def _json(value: Any) -> Outcome:
    return Outcome(200, orjson.dumps(value))

"""The OpenAI chat-completions dialect, which most endpoints speak.

Guarantees: reasoning is kept separate from the answer. No other module reads this JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import orjson

from ragstone.errors import BackendError
from ragstone.judges.base import BatchState, Call, Prompt, Reply, Usage
from ragstone.judges.http import HttpBackend, object_in, whole_number
from ragstone.judges.http_errors import json_in, said_by
from ragstone.tokens import Size

LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""The parameters that limit the length of a reply."""
ROUTE: Final = "/v1/chat/completions"
"""The route named in batches, regardless of the base URL."""
TAG: Final = "ragstone"
"""The key of a batch's tag in its metadata."""
ENDED: Final = ("completed", "failed", "expired", "cancelled", "canceled")
_TEXTS: Final = ("text", "output_text")


class OpenAIBackend(HttpBackend):
    """One endpoint with this dialect."""

    path = "/chat/completions"
    schema = "response_format"
    optional: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (), "response_format": ("json_schema", "structured output", "guided"),
        "max_tokens": (), "seed": (), "top_p": (), "max_completion_tokens": (),
    }  # fmt: skip
    reply_limits = LIMITS

    # ---- requests

    def prepare(self, prompt: Prompt) -> bytes:
        """Return the request; keys of stored calls depend on the order of its fields."""
        body: dict[str, Any] = {"model": prompt.model, "messages": prompt.messages}
        if prompt.temperature is not None:
            body["temperature"] = prompt.temperature
        limit = LIMITS[1] if LIMITS[1] in prompt.extra else LIMITS[0]
        body[limit] = prompt.max_tokens
        body.update(prompt.extra)
        if prompt.room != 1:
            body[limit] = prompt.room * (body[limit] if isinstance(body[limit], int) else prompt.max_tokens)
        if prompt.schema is not None:
            schema = orjson.Fragment(prompt.schema.json)
            named = {"name": prompt.schema.name, "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
            # Copied because orjson returns its much larger working buffer, and a call is kept for a while.
        return memoryview(orjson.dumps(body)).tobytes()

    def size(self, body: bytes) -> Size:
        """Return the texts of all messages and the longest reply that the limits together allow."""
        try:
            request = orjson.loads(body)
            given = [request[name] for name in LIMITS if request.get(name) is not None]
        except (orjson.JSONDecodeError, AttributeError):
            return Size(len(body), (body.decode("utf-8", "replace"),))
        try:
            texts = tuple(text for message in request["messages"] for text in _texts(message["content"]))
        except (KeyError, TypeError):
            texts = (body.decode("utf-8", "replace"),)
        form = request.get("response_format")
        replies = request.get("n") or 1
        usable = given and all(isinstance(limit, int) and limit > 0 for limit in (*given, replies))
        return Size(len(body), texts, len(orjson.dumps(form)) if form else 0, max(given) * replies if usable else None)

    def in_tier(self, body: bytes, tier: str) -> bytes:
        """Add the tier, which is not part of the request's key because the answer is the same."""
        return body if tier == "standard" else body[:-1] + f',"service_tier":"{tier}"}}'.encode()

    # ---- answers

    def tier_of(self, answer: Any) -> str:
        """Return the tier that was charged."""
        said = answer.get("service_tier") if isinstance(answer, dict) else None
        return said if isinstance(said, str) else ""

    def read(self, answer: Any) -> Reply:
        """Read the first choice; Gemini sends none, and counts no output, if it withholds the reply."""
        if not answer["choices"] and object_in(answer, "usage").get("completion_tokens") == 0:
            return Reply("", "stop")
        choice = answer["choices"][0]
        # Gemini adds what was found ("content_filter: RECITATION"), and may leave out the message.
        finish = str(choice.get("finish_reason") or "stop").partition(":")[0]
        message = choice["message"] if finish != "content_filter" else choice.get("message") or {}
        content = _text(message.get("content"))
        if not content and (content := _text(message.get("refusal"))):
            finish = "content_filter"
        if (error := choice.get("error")) or finish == "error":
            return Reply(said_by(error) if isinstance(error, dict) else str(error or content), "error")
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        return Reply(content, finish, thought if isinstance(thought, str) else "")

    def rejected(self, error: Mapping[str, Any]) -> str | None:
        """Return the reply that Groq checked against the schema, or failed to finish."""
        return str(error.get("failed_generation") or "") if error.get("code") == "json_validate_failed" else None

    def usage(self, answer: Any) -> Usage:
        """Return the usage; counts that are not whole numbers are ignored."""
        used = object_in(answer, "usage")
        given, output, total = (whole_number(used.get(f"{name}_tokens")) for name in ("prompt", "completion", "total"))
        if given is not None and total is not None:
            output = max(output or 0, total - given)  # Gemini and xAI count reasoning only in the total
        cached = object_in(used, "prompt_tokens_details").get("cached_tokens", used.get("prompt_cache_hit_tokens"))
        return Usage(
            input=given,
            output=output,
            cached=whole_number(cached),  # DeepSeek counts hits
            reasoning=whole_number(object_in(used, "completion_tokens_details").get("reasoning_tokens")),
        )

    # ---- batches

    def batch_line(self, call: Call) -> bytes:
        """Return a line of a batch file, which vLLM's ``run-batch`` reads as well."""
        body = orjson.Fragment(self.fitted(call.body))
        return orjson.dumps({"custom_id": call.key.hex(), "method": "POST", "url": ROUTE, "body": body})

    def read_line(self, line: bytes) -> tuple[str, Reply | BackendError]:
        """Read a line of an output or error file."""
        try:
            entry = json_in(line)
            key, answer = str(entry["custom_id"]), entry["response"] or {}
            status, body = int(answer.get("status_code") or 0), answer.get("body") or {}
        except (ArithmeticError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError("not a batch result") from error
        return key, self.of_batch(status, body, entry.get("error") or body)

    async def submit(self, lines: Sequence[bytes], tag: str) -> str:
        """Upload the file, then create the batch with the tag in its metadata."""
        parts = {"purpose": b"batch", "file": b"\n".join(lines)}
        named = {"purpose": "", "file": f'; filename="{tag}.jsonl"\r\nContent-Type: application/jsonl'}
        form = b"".join(
            f'--{tag}\r\nContent-Disposition: form-data; name="{name}"{named[name]}\r\n\r\n'.encode() + part + b"\r\n"
            for name, part in parts.items()
        )
        whole = form + f"--{tag}--\r\n".encode()
        file = await self._told("id", "POST", "/files", whole, form=f"multipart/form-data; boundary={tag}")
        made = {"input_file_id": file["id"], "endpoint": ROUTE, "completion_window": "24h"}
        return str((await self._told("id", "POST", "/batches", {**made, "metadata": {TAG: tag}}))["id"])

    async def find(self, tag: str, since: float, keys: set[bytes]) -> str | None:  # noqa: ARG002 - the tag is enough
        """Find the tag among the batches made since then."""
        async for one in self._listed("/batches", since, "after"):
            if (one.get("metadata") or {}).get(TAG) == tag:
                return str(one["id"])
        return ""

    async def state(self, remote: str) -> BatchState:
        """Return the state of a batch; both files count in every state."""
        found = await self._told("status", "GET", f"/batches/{remote}")
        errors = [str(error.get("message")) for error in (found.get("errors") or {}).get("data") or []]
        names = (str(found[name]) for name in ("output_file_id", "error_file_id") if found.get(name))
        files = tuple(f"/files/{name}/content" for name in names)
        said = str(found.get("status"))
        return BatchState(said in ENDED, "; ".join([said, *errors]), files)

    async def cancel(self, remote: str) -> None:
        """Cancel a batch; it ends with the results so far."""
        await self._asked("POST", f"/batches/{remote}/cancel")


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [str(part.get("text") or "") for part in content]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # content parts, some of which may be reasoning
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type", "text") in _TEXTS]
        return "".join(text for text in texts if isinstance(text, str))
    return ""

"""Anthropic's Messages dialect of the fake server: requests are converted to OpenAI's dialect, outcomes converted back.

Both dialects therefore have the same answers, faults and refusals for the same messages.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from msgspec.structs import replace

from ragstone.judges.limits import duration
from ragstone.testing.behaviour import Outcome

ENDS: Final = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
KINDS: Final = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
_UNKNOWN: Final = re.compile(r'"((?:min|max)(?:Items|Length|imum))":')
"""Schema properties that the Messages API does not support."""
_LIMIT: Final = re.compile(r"x-ratelimit-(limit|remaining|reset)-(\w+)")


def as_chat(headers: Mapping[str, str], request: Any) -> dict[str, Any] | str:
    """Return the request in OpenAI's dialect, or an error message."""
    if not isinstance(request, dict):
        return "The body of the request must be a JSON object."
    turns = request.get("messages")
    if "anthropic-version" not in headers:
        return "anthropic-version: header is required"
    if not isinstance(request.get("max_tokens"), int):
        return "max_tokens: Field required"
    if not isinstance(turns, list) or not turns:
        return "messages: Field required"
    cache_to = _marked([request.get("system"), *(turn.get("content") for turn in turns)])
    turns = [{**turn, "content": _text(turn.get("content"))} for turn in turns]
    if any(turn.get("role") not in ("user", "assistant") for turn in turns):
        return "messages: roles must be user or assistant"
    if not all(turn["content"].strip() for turn in turns):
        return "messages: text content blocks must be non-empty"
    if "system" in request:
        turns.insert(0, {"role": "system", "content": _text(request["system"])})
    chat = {name: value for name, value in request.items() if name not in ("system", "messages", "output_config")}
    form = request.get("output_config", {}).get("format")
    if form is not None:
        if found := _UNKNOWN.search(orjson.dumps(form).decode()):
            return f"output_config.format.schema: property '{found[1]}' is not supported"
        chat["response_format"] = {"type": "json_schema", "json_schema": {"name": "x", "schema": form["schema"]}}
    return {**chat, "messages": turns, "cache_to": cache_to}


def _marked(contents: list[Any]) -> int:
    """Return the number of bytes of text up to the end of the last block marked for the cache."""
    bytes_so_far = marked = 0
    for content in contents:
        for block in content if isinstance(content, list) else [{"text": content or ""}]:
            bytes_so_far += len(str(block.get("text", "")).encode())
            marked = bytes_so_far if "cache_control" in block else marked
    return marked


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(str(block.get("text", "")) for block in content or ())


def from_chat(outcome: Outcome) -> Outcome:
    """Convert an outcome from OpenAI's dialect; a scripted raw body stays unchanged."""
    headers = dict(_header(name, value) for name, value in outcome.headers.items())
    try:
        said = orjson.loads(outcome.body)
    except orjson.JSONDecodeError:
        return replace(outcome, headers=headers)
    if isinstance(said, dict) and said.get("object") == "chat.completion":
        return replace(outcome, headers=headers, body=orjson.dumps(_message(said)))
    error = said.get("error") if isinstance(said, dict) else None
    if not isinstance(error, dict) or set(error) != {"message", "type", "param", "code"}:
        return replace(outcome, headers=headers)
    message = str(error["message"]).replace("response_format", "output_config.format")
    kind = KINDS.get(int(outcome.status), "api_error")
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}
    return replace(outcome, headers=headers, body=orjson.dumps(body))


def _message(completion: dict[str, Any]) -> dict[str, Any]:
    choice = (completion["choices"] or [{"message": {}}])[0]
    said = choice["message"]
    content = [{"type": "thinking", "thinking": said["reasoning_content"]}] if said.get("reasoning_content") else []
    content += [{"type": "text", "text": said["content"]}] if said.get("content") else []
    finish = choice.get("finish_reason")
    message = {
        "id": completion["id"], "type": "message", "role": "assistant", "model": completion["model"],
        "content": content, "stop_reason": ENDS.get(finish, finish), "stop_sequence": None,
    }  # fmt: skip
    if usage := completion.get("usage"):
        details = usage.get("prompt_tokens_details", {})
        read, saved = details.get("cached_tokens", 0), details.get("saved_tokens", 0)
        message["usage"] = {
            "input_tokens": usage["prompt_tokens"] - read - saved, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": saved, "output_tokens": usage["completion_tokens"],
        }  # fmt: skip
    return message


def _header(name: str, value: str) -> tuple[str, str]:
    if not (found := _LIMIT.fullmatch(name)):
        return name, value
    if found[1] == "reset":
        value = datetime.fromtimestamp(time.time() + (duration(value) or 0.0), UTC).isoformat()
    return f"anthropic-ratelimit-{found[2]}-{found[1]}", value

"""The OpenAI chat-completions dialect, which most endpoints speak.

Promises: reasoning is kept apart from the answer. No other module reads this JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import orjson

from ragstone.judges.base import Prompt, Reply, Usage
from ragstone.judges.http import HttpBackend, whole_number
from ragstone.tokens import Size

LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""The parameters that limit the length of a reply."""
_TEXTS: Final = ("text", "output_text")


class OpenAIBackend(HttpBackend):
    """One endpoint that speaks it."""

    path = "/chat/completions"
    schema = "response_format"
    optional: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (), "response_format": ("json_schema", "structured output", "guided"),
        "max_tokens": (), "seed": (), "top_p": (), "max_completion_tokens": (),
    }  # fmt: skip
    reply_limits = LIMITS

    # ---- requests

    def prepare(self, prompt: Prompt) -> bytes:
        """The request in the order of its fields that keys of stored calls stand on."""
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
        # orjson gives back its working buffer, many times the size of what is in it; a call is kept for a while.
        return memoryview(orjson.dumps(body)).tobytes()

    def size(self, body: bytes) -> Size:
        """The texts of all messages, and the longest reply that all the limits allow together."""
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
        """The tier is no part of the request's key: the answer is the same."""
        return body if tier == "standard" else body[:-1] + f',"service_tier":"{tier}"}}'.encode()

    # ---- answers

    def tier_of(self, answer: Any) -> str:
        """The tier that it was charged for."""
        said = answer.get("service_tier") if isinstance(answer, dict) else None
        return said if isinstance(said, str) else ""

    def read(self, answer: Any) -> Reply:
        """The first choice."""
        choice = answer["choices"][0]
        message = choice["message"]
        content = _text(message.get("content")) or _text(message.get("refusal"))
        if choice.get("finish_reason") == "error" or choice.get("error"):
            return Reply(str(choice.get("error") or content), "error")
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        return Reply(content, str(choice.get("finish_reason") or "stop"), thought if isinstance(thought, str) else "")

    def usage(self, answer: Any) -> Usage:
        """Counts that are no whole numbers are as if they were not said."""
        usage = answer.get("usage") if isinstance(answer, dict) else None
        if not isinstance(usage, dict):
            return Usage()
        return Usage(
            input=whole_number(usage, "prompt_tokens"),
            output=whole_number(usage, "completion_tokens"),
            cached=whole_number(usage.get("prompt_tokens_details"), "cached_tokens"),
            reasoning=whole_number(usage.get("completion_tokens_details"), "reasoning_tokens"),
        )


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [str(part.get("text") or "") for part in content]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # content parts, of which some may be reasoning
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type", "text") in _TEXTS]
        return "".join(text for text in texts if isinstance(text, str))
    return ""

"""The OpenAI chat-completions dialect, which most endpoints speak.

Promises: what an endpoint refuses (a schema, a temperature, ``max_tokens``) is left out after its first refusal, once
for all calls, with a note on the replies; reasoning is kept apart from the answer. No other module reads this JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from ragstone.judges.base import Prompt, Reply, Usage
from ragstone.judges.http import HttpBackend, said_by
from ragstone.judges.spec import Spec
from ragstone.tokens import Size

OPTIONAL: Final = ("temperature", "response_format", "max_tokens", "seed", "top_p", "max_completion_tokens")
"""Parameters of a request that it can do without."""
LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""The parameters that limit the length of a reply."""
_TEXTS: Final = ("text", "output_text")


class OpenAIBackend(HttpBackend):
    """One endpoint that speaks it."""

    path = "/chat/completions"

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._refused: dict[str, str] = {}

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

    def fitted(self, body: bytes) -> bytes:
        """The request without what the endpoint has refused, or under the name that it takes."""
        if not self._refused:
            return body
        request = orjson.loads(body)
        for name, instead in self._refused.items():
            value = request.pop(name, None)
            if instead and value is not None:
                request.setdefault(instead, value)
        return orjson.dumps(request)

    def refusal(self, status: int, error: Mapping[str, Any], body: bytes) -> bool:
        """Find which parameter the endpoint will not take, and remember it; BackendError where it is needed."""
        if status not in (400, 404, 415, 422, 501):
            return False
        sent, said = orjson.loads(body), said_by(error)
        message, named = said.lower(), str(error.get("param") or "").partition(".")[0]
        for name in OPTIONAL:
            if name not in sent:
                continue
            aliases = (name, "json_schema", "structured output", "guided") if name == "response_format" else (name,)
            blamed = named == name or any(re.search(rf"\b{re.escape(alias)}\b", message) for alias in aliases)
            if not blamed or (name in LIMITS and "context" in message):
                continue
            if self.strict and name == "response_format":
                # As it was said, not folded: a key in other letters is not known again, and would be shown.
                told = " ".join(self.without_key(said).split())[:200]
                hint = "structured = auto goes on without a schema"
                raise self.trouble(f"the endpoint rejects {name}: {told}", fatal=True, hint=hint)
            instead = LIMITS[1] if name == LIMITS[0] and LIMITS[1] in message else ""
            if self.bounded and name in LIMITS and not instead:
                raise self.trouble(
                    "the endpoint accepts no limit on the reply length, so a budget cannot be kept",
                    fatal=True,
                    hint="run without --max-cost and --max-tokens, or ask another endpoint",
                )
            self._refused[name] = instead
            return True
        return False

    def notes(self) -> tuple[str, ...]:
        """List parameters left out of requests or sent under another name."""
        return tuple(
            f"{name} is not accepted by the endpoint; {f'sent as {instead}' if instead else 'left out'}"
            for name, instead in self._refused.items()
        )

    # ---- answers

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
            input=_number(usage, "prompt_tokens"),
            output=_number(usage, "completion_tokens"),
            cached=_number(usage.get("prompt_tokens_details"), "cached_tokens"),
            reasoning=_number(usage.get("completion_tokens_details"), "reasoning_tokens"),
        )


def _number(holder: object, name: str) -> int | None:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [str(part.get("text") or "") for part in content]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # content parts, of which some may be reasoning
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type", "text") in _TEXTS]
        return "".join(text for text in texts if isinstance(text, str))
    return ""

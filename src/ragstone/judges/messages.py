"""Anthropic's Messages dialect, also used by Amazon Bedrock's Mantle endpoint.

Source: the API's reference at platform.claude.com/docs (version 2023-06-01; ``output_config.format``; prompt caching).

Guarantees: answers are structured without tools. Only a prompt prefix shared with other calls is marked for the
provider's cache, since writing to it costs extra. Usage counts all input, cached or not, as in the other dialect. No
other module reads this JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import orjson

from ragstone.errors import BackendError
from ragstone.judges.base import BatchState, Call, Prompt, Reply, Usage
from ragstone.judges.http import HttpBackend, object_in, whole_number
from ragstone.judges.http_errors import json_in
from ragstone.tokens import Size

FINISHES: Final[Mapping[str | None, str]] = {
    "end_turn": "stop", "stop_sequence": "stop", None: "stop", "max_tokens": "length",
    "model_context_window_exceeded": "length", "refusal": "content_filter",
}  # fmt: skip
"""Maps its ``stop_reason`` to the terms of the other dialect."""
BATCHES: Final = "/messages/batches"


class MessagesBackend(HttpBackend):
    """One endpoint with this dialect."""

    path = "/messages"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": "2023-06-01"}
    schema = "output_config"
    optional: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (), "top_p": (), "top_k": (), "seed": (),
        "output_config": ("output_format", "json_schema", "structured output", "structured outputs", "grammar"),
    }  # fmt: skip

    def prepare(self, prompt: Prompt) -> bytes:
        """Return the request; keys of stored calls depend on the order of its fields."""
        system, *turns = prompt.messages
        body: dict[str, Any] = {"model": prompt.model, "max_tokens": prompt.max_tokens, "system": system["content"]}
        # Blank text is rejected, such as that of an empty reply repeated in a repair turn.
        body["messages"] = [turn for turn in turns if turn["content"].strip()]
        if prompt.temperature is not None:
            body["temperature"] = prompt.temperature
        body.update(prompt.extra)
        if isinstance(body["max_tokens"], int):
            body["max_tokens"] *= prompt.room
        if prompt.schema is not None:
            form = {"type": "json_schema", "schema": orjson.Fragment(prompt.schema.json)}
            body["output_config"] = {**body.get("output_config", {}), "format": form}
        return memoryview(orjson.dumps(body)).tobytes()

    def begun_alike(self, body: bytes, chars: int) -> bytes:
        """Mark the end of the shared prefix for the provider's cache."""
        request = orjson.loads(body)
        text = request["messages"][0]["content"]
        marked = {"type": "text", "text": text[:chars], "cache_control": {"type": "ephemeral"}}
        request["messages"][0]["content"] = [marked, {"type": "text", "text": text[chars:]}]
        return orjson.dumps(request)

    def size(self, body: bytes) -> Size:
        """Return the texts of all messages and the longest reply that the limit allows."""
        try:
            request = orjson.loads(body)
            contents = [request.get("system", ""), *(message["content"] for message in request["messages"])]
            texts = tuple(_said(content) for content in contents)
            limit = request["max_tokens"]
        except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
            return Size(len(body), (body.decode("utf-8", "replace"),))
        form = request.get("output_config")
        usable = isinstance(limit, int) and limit > 0
        return Size(len(body), texts, len(orjson.dumps(form)) if form else 0, limit if usable else None)

    def read(self, answer: Any) -> Reply:
        """Read all text blocks, and thinking separately."""
        blocks = [block for block in answer["content"] if isinstance(block, dict)]
        if answer.get("type") == "error":
            return Reply(str(answer.get("error")), "error")
        thought = "".join(str(block.get("thinking") or "") for block in blocks if block.get("type") == "thinking")
        reason = answer.get("stop_reason")
        return Reply(_said(blocks), FINISHES.get(reason, str(reason)), thought)

    def usage(self, answer: Any) -> Usage:
        """Return the usage; counts that are not whole numbers are ignored."""
        used = object_in(answer, "usage")
        parts = (used.get(f"{name}input_tokens") for name in ("", "cache_read_", "cache_creation_"))
        fresh, read, saved = map(whole_number, parts)
        whole = None if fresh is None else fresh + (read or 0) + (saved or 0)
        return Usage(input=whole, output=whole_number(used.get("output_tokens")), cached=read, saved=saved)

    # ---- batches

    def batch_line(self, call: Call) -> bytes:
        """Return one of the ``requests`` of a batch."""
        return orjson.dumps({"custom_id": call.key.hex(), "params": orjson.Fragment(self.fitted(call.body))})

    def read_line(self, line: bytes) -> tuple[str, Reply | BackendError]:
        """Read a line of results: succeeded, errored, canceled or expired."""
        try:
            entry = json_in(line)
            key, result = str(entry["custom_id"]), entry["result"]
            end, error = result["type"], result.get("error") or {}
            kind = error.get("error", error).get("type")
        except (ValueError, KeyError, TypeError, AttributeError) as trouble:
            raise ValueError("not a batch result") from trouble
        refused = end == "errored" and kind == "invalid_request_error"
        status = 200 if end == "succeeded" else 400 if refused else 0
        return key, self.of_batch(status, result.get("message"), error or {"message": end})

    async def submit(self, lines: Sequence[bytes], tag: str) -> str:  # noqa: ARG002 - it keeps none
        """Submit all calls in one request."""
        made = await self._told("id", "POST", BATCHES, b'{"requests":[' + b",".join(lines) + b"]}")
        return str(made["id"])

    async def find(self, tag: str, since: float, keys: set[bytes]) -> str | None:  # noqa: ARG002 - it keeps none
        """Find the batch among those with as many calls since then; only the results of an ended one name its calls."""
        unsure = False
        async for one in self._listed(BATCHES, since, "after_id"):
            if sum((one.get("request_counts") or {}).values()) == len(keys):
                state = _state(one)
                unsure |= not state.ended
                told = re.findall(rb'"custom_id" *: *"(\w+)"', b"\n".join(await self.results(state)))
                if not {key.hex().encode() for key in keys}.isdisjoint(told):
                    return str(one["id"])
        return None if unsure else ""

    async def state(self, remote: str) -> BatchState:
        """Return the state of a batch; results are available once processing has ended."""
        return _state(await self._told("processing_status", "GET", f"{BATCHES}/{remote}"))

    async def cancel(self, remote: str) -> None:
        """Cancel a batch; it ends with the results so far."""
        await self._asked("POST", f"{BATCHES}/{remote}/cancel")


def _state(found: Mapping[str, Any]) -> BatchState:
    said = str(found.get("processing_status"))
    # Fetched from the same address, whatever URL the answer names, so that the key goes nowhere else.
    places = (f"{BATCHES}/{found.get('id')}/results",) if found.get("results_url") else ()
    return BatchState(said == "ended", said, places)


def _said(content: Any) -> str:
    """Return the text of a message, whether plain or in blocks."""
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text") or "") for block in content if block.get("type") == "text")

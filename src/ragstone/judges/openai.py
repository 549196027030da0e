"""Any endpoint that speaks the OpenAI chat-completions dialect, over aiohttp.

Promises: a key is read when the first call needs it and stands in no message, log or stored row; what an
endpoint refuses (a schema, a temperature, ``max_tokens``) is left out after its first refusal, once for all
calls, with a note on the replies; reasoning is kept apart from the answer; errors are sorted into those worth
another try, those that end one call, and those that end the run; redirects are not followed.
"""

from __future__ import annotations

import email.utils
import os
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from ragstone.errors import BackendError
from ragstone.judges.base import Call, Reply, Usage

if TYPE_CHECKING:
    import aiohttp

RETRYABLE: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
LONGEST: Final = 8_000_000
"""Bytes of a response body that are read."""
OPTIONAL: Final = ("temperature", "response_format", "max_tokens", "seed", "top_p", "max_completion_tokens")
"""Parameters of a request that it can do without."""


class OpenAIBackend:
    """One endpoint with one key."""

    free = False

    def __init__(
        self,
        base_url: str,
        *,
        judge: str,
        key_variable: str = "",
        headers: Mapping[str, str] | None = None,
        key_header: str = "Authorization",
        concurrency: int = 64,
        timeout: float = 120.0,
    ) -> None:
        self.url = base_url.rstrip("/") + "/chat/completions"
        self.judge = judge
        self.key_variable = key_variable
        self.key_header = key_header
        self.concurrency = concurrency
        self.timeout = timeout
        self.free = False
        self._headers = dict(headers or {})
        self._refused: dict[str, str] = {}
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Read the key and make the connection pool; BackendError when the key's variable is not set."""
        import aiohttp  # noqa: PLC0415 - 130 ms to import, for LLM judges only

        headers = {"Content-Type": "application/json", **self._headers}
        if self.key_variable:
            key = os.environ.get(self.key_variable, "").strip()
            if not key:
                raise BackendError(
                    f"{self.judge}: no key: the variable {self.key_variable} is not set",
                    judge=self.judge,
                    fatal=True,
                    hint=f"export {self.key_variable}=…, or use the embedded judge, which needs none",
                )
            headers[self.key_header] = f"Bearer {key}" if self.key_header == "Authorization" else key
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=self.timeout),
            headers=headers,
            auto_decompress=True,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, call: Call) -> Reply:
        """Ask once; BackendError for anything but an answer."""
        body = self._fitting(call.body) if self._refused else call.body
        while True:
            status, headers, data = await self._post(body)
            if status == 200:
                return self._reply(data)
            refused = self._refusal(status, data, body)
            if refused is None:
                raise self._error(status, headers, data)
            self._refused.update(refused)
            body = self._fitting(call.body)

    async def _post(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        import aiohttp  # noqa: PLC0415 - loaded already by open

        assert self._session is not None, "send before open"
        try:
            async with self._session.post(self.url, data=body, allow_redirects=False) as response:
                data = await response.read()
                return response.status, response.headers, data[:LONGEST]
        except TimeoutError as error:
            raise BackendError(
                f"{self.judge}: no reply within {self.timeout:g} s", judge=self.judge, retryable=True
            ) from error
        except aiohttp.ClientError as error:
            hint = "is the server running, and is the address right?"
            raise BackendError(
                f"{self.judge}: cannot reach {self.url} ({_brief(error)})", judge=self.judge, retryable=True, hint=hint
            ) from error

    # ---- requests

    def _fitting(self, body: bytes) -> bytes:
        """The request without what the endpoint has refused."""
        request = orjson.loads(body)
        for name, instead in self._refused.items():
            value = request.pop(name, None)
            if instead and value is not None:
                request[instead] = value
        return orjson.dumps(request)

    def _refusal(self, status: int, data: bytes, body: bytes) -> dict[str, str] | None:
        """Which parameter the endpoint will not take, with its other name or ""; None if it is something else."""
        if status not in (400, 404, 415, 422, 501):
            return None
        sent = orjson.loads(body)
        error = _error_object(data)
        message = str(error.get("message", "")).lower()
        named = str(error.get("param") or "")
        for name in OPTIONAL:
            if name not in sent:
                continue
            aliases = (name, "json_schema", "structured output", "guided") if name == "response_format" else (name,)
            blamed = named.partition(".")[0] == name or any(
                re.search(rf"\b{re.escape(alias)}\b", message) for alias in aliases
            )
            if not blamed or (name == "max_tokens" and "context" in message):
                continue
            if name == "max_tokens" and "max_completion_tokens" in message:
                return {name: "max_completion_tokens"}
            return {name: ""}
        return None

    # ---- answers

    def _reply(self, data: bytes) -> Reply:
        try:
            answer = orjson.loads(data)
            choice = answer["choices"][0]
            message = choice["message"]
        except (orjson.JSONDecodeError, KeyError, IndexError, TypeError) as error:
            found = data[:80].decode("utf-8", "replace")
            raise BackendError(
                f"{self.judge}: not a chat completion: {found!r}", judge=self.judge, retryable=True
            ) from error
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        notes = tuple(
            f"{name} is not taken by the endpoint; {f'sent as {instead}' if instead else 'left out'}"
            for name, instead in self._refused.items()
        )
        return Reply(
            text=_text(message.get("content")) or _text(message.get("refusal")),
            finish=str(choice.get("finish_reason") or "stop"),
            reasoning=reasoning if isinstance(reasoning, str) else "",
            usage=_usage(answer.get("usage")),
            notes=notes,
        )

    def _error(self, status: int, headers: Mapping[str, str], data: bytes) -> BackendError:
        error = _error_object(data)
        said = " ".join(str(error.get("message") or data[:200].decode("utf-8", "replace")).split())[:300]
        code = str(error.get("code") or error.get("type") or "")
        hint = ""
        fatal = False
        retryable = status in RETRYABLE
        if status in (401, 403):
            fatal, hint = (
                True,
                f"check the key in {self.key_variable}" if self.key_variable else "the endpoint wants a key",
            )
        elif status == 404:
            fatal, hint = True, "check the model's name and the base URL"
        elif status == 402 or code == "insufficient_quota":
            fatal, retryable, hint = True, False, "the account has no credit left"
        elif "context_length" in code or ("context" in said.lower() and "token" in said.lower()):
            hint = "the record is too long for this model; use one with a longer context"
        elif 300 <= status < 400:
            fatal, hint = True, "the address redirects elsewhere; give the final base URL"
        return BackendError(
            f"{self.judge}: HTTP {status}: {said or 'no message'}",
            judge=self.judge,
            retryable=retryable,
            fatal=fatal,
            retry_after=_retry_after(headers) if retryable else None,
            hint=hint,
        )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # content parts
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()

    def number(holder: object, name: str) -> int | None:
        value = holder.get(name) if isinstance(holder, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    return Usage(
        input=number(usage, "prompt_tokens"),
        output=number(usage, "completion_tokens"),
        cached=number(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning=number(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _error_object(data: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    if isinstance(body, list) and body:  # some endpoints wrap the error in a list
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else {}
    return error if isinstance(error, dict) else {"message": str(error)}


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from either form of Retry-After (RFC 9110, 10.2.3)."""
    given = headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__

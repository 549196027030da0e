"""Any endpoint that speaks the OpenAI chat-completions dialect, over aiohttp.

Promises: a key is read when the first call needs it and stands in no message, log or stored row; what an
endpoint refuses (a schema, a temperature, ``max_tokens``) is left out after its first refusal, once for all
calls, with a note on the replies; reasoning is kept apart from the answer; errors are sorted into those worth
another try, those that end one call, and those that end the run; redirects are not followed.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from ragstone.errors import BackendError
from ragstone.judges.base import Allowance, Call, Limits, Reply, Usage
from ragstone.judges.limits import allowance, retry_after

if TYPE_CHECKING:
    import aiohttp
    import yarl

RETRYABLE: Final = frozenset({408, 409, 425, 429, *range(500, 600)} - {501, 505})
"""Statuses after which the same request may succeed; what a server does not implement it will not have later."""
LONGEST: Final = 8_000_000
"""Bytes of a response body; a longer one is an error."""
SECRET_LENGTH: Final = 12
"""Characters of a key from which on it is left out of replies: a shorter one (EMPTY, none) is a word of theirs."""
OPTIONAL: Final = ("temperature", "response_format", "max_tokens", "seed", "top_p", "max_completion_tokens")
"""Parameters of a request that it can do without."""
LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""The parameters that limit the length of a reply."""
MINUTE: Final = 60.0
"""Seconds that a limit by the minute may ask to wait; a longer wait is of another limit."""
_TEXTS: Final = ("text", "output_text")
_MODERATED: Final = re.compile(r"moderat|flagged|content.polic|safety", re.IGNORECASE)
"""What a 403 says when it is about one text and not about the key."""
_WRONG_KEY: Final = re.compile(
    r"api.key.{0,20}(?:not valid|invalid)|(?:incorrect|invalid|wrong) api.key", re.IGNORECASE
)
"""What some endpoints say with status 400 instead of 401."""


class OpenAIBackend:
    """One endpoint with one key.

    Of ``required`` parameters none is left out: a refusal of one ends the run. ``bounded`` says that a budget counts on
    the limit of a reply's length: an endpoint that takes none is not asked.
    """

    free: bool = False

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
        required: Sequence[str] = (),
        bounded: bool = False,
        rpm: int = 0,
        tpm: int = 0,
    ) -> None:
        self.url = base_url.rstrip("/") + "/chat/completions"
        self.judge = judge
        self.key_variable = key_variable
        self.key_header = key_header
        self.concurrency = concurrency
        self.timeout: float | None = timeout
        self.bounded = bounded
        self.rpm = rpm
        self.tpm = tpm
        self._headers = dict(headers or {})
        self._required = frozenset(required)
        self._refused: dict[str, str] = {}
        self._key = ""
        self._session: aiohttp.ClientSession | None = None
        self._address: yarl.URL | None = None

    @property
    def limits(self) -> Limits:
        """Its limits, shared by all that have the same address and key."""
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=8).hexdigest()
        return Limits(f"{self.url} {digest}", self.rpm, self.tpm)

    async def open(self) -> None:
        """Read the key and make the connection pool; BackendError when the key's variable is not set."""
        import aiohttp  # noqa: PLC0415 - 130 ms to import, for LLM judges only
        import yarl  # noqa: PLC0415 - part of aiohttp

        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip", **self._headers}
        if self.key_variable:
            key = os.environ.get(self.key_variable, "").strip()
            if not key:
                raise BackendError(
                    f"{self.judge}: no key: the variable {self.key_variable} is not set",
                    judge=self.judge,
                    fatal=True,
                    hint=f"export {self.key_variable}=…, or use the embedded judge, which needs none",
                )
            if not key.isprintable():  # it would break the header's line
                raise BackendError(
                    f"{self.judge}: the key in the variable {self.key_variable} holds a line break or the like",
                    judge=self.judge,
                    fatal=True,
                    hint=f"set {self.key_variable} to one key, on one line",
                )
            self._key = key
            headers[self.key_header] = f"Bearer {key}" if self.key_header == "Authorization" else key
        self._address = yarl.URL(self.url)
        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=self.timeout),
            headers=headers,
            auto_decompress=False,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, call: Call) -> Reply:
        """Ask once; BackendError for anything but an answer."""
        body = self._fitting(call.body) if self._refused else call.body
        for requests in itertools.count(1):
            status, headers, data = await self._post(body)
            if status == 200:
                return self._reply(data, requests, allowance(headers))
            refused = self._refusal(status, data, body)
            if refused is None:
                raise self._error(status, headers, data)
            if self.bounded and "" in {refused.get(name) for name in LIMITS if name in refused}:
                raise BackendError(
                    f"{self.judge}: the endpoint takes no limit on the length of a reply, so no budget can be kept",
                    judge=self.judge,
                    fatal=True,
                    hint="run without --max-cost and --max-tokens, or ask another endpoint",
                )
            self._refused.update(refused)
            body = self._fitting(call.body)
        raise AssertionError("there is always another request, or an end")

    async def _post(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        import aiohttp  # noqa: PLC0415 - loaded already by open

        assert self._session is not None, "send before open"
        assert self._address is not None, "send before open"
        begun = False
        try:
            async with self._session.post(self._address, data=body, allow_redirects=False) as response:
                begun = True
                data = bytearray()
                packing = response.headers.get("Content-Encoding")
                # Unpacked here, as far as it may be long: a small packed piece may be a thousand times its size.
                unpacking = zlib.decompressobj(wbits=47) if packing not in (None, "identity") else None
                while chunk := await response.content.readany():  # what ``iter_any`` does, with half the coroutines
                    data += unpacking.decompress(chunk, LONGEST + 1 - len(data)) if unpacking else chunk
                    if len(data) > LONGEST:
                        raise BackendError(
                            f"{self.judge}: a reply of more than {LONGEST} bytes", judge=self.judge, lost=True
                        )
                return response.status, response.headers, bytes(data)
        except TimeoutError as error:
            raise BackendError(
                f"{self.judge}: no reply within {self.timeout:g} s", judge=self.judge, retryable=True, lost=True
            ) from error
        except (aiohttp.ClientError, zlib.error) as error:
            raise self._broken_off(error, begun=begun) from error

    def _broken_off(self, error: Exception, *, begun: bool) -> BackendError:
        """What a connection that gave no whole reply means; ``begun`` says whether the reply's head came."""
        import aiohttp  # noqa: PLC0415 - loaded already by open

        never = isinstance(error, aiohttp.ClientConnectorError)
        hint = "the server was reached; its log, or that of a proxy before it, may say why"
        if isinstance(error, zlib.error):
            said = "a reply that cannot be unpacked"
        elif begun:
            said = "the connection was closed in the middle of the reply"
        elif not never and isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError):
            said = f"{self.url} closed the connection before it replied"
        else:
            said = f"cannot reach {self.url} ({_brief(error)})"
            hint = "is the server running, and is the address right?"
        # What took the request may charge for it, whatever it replied.
        return BackendError(f"{self.judge}: {said}", judge=self.judge, retryable=True, hint=hint, lost=not never)

    # ---- requests

    def _fitting(self, body: bytes) -> bytes:
        """The request without what the endpoint has refused."""
        request = orjson.loads(body)
        for name, instead in self._refused.items():
            value = request.pop(name, None)
            if instead and value is not None:
                request.setdefault(instead, value)
        return orjson.dumps(request)

    def _refusal(self, status: int, data: bytes, body: bytes) -> dict[str, str] | None:
        """Which parameter the endpoint will not take, with its other name or ""; None if it is something else."""
        if status not in (400, 404, 415, 422, 501):
            return None
        sent = orjson.loads(body)
        error = _error_object(data)
        said = _said(error)
        message = said.lower()
        named = str(error.get("param") or "")
        for name in OPTIONAL:
            if name not in sent:
                continue
            aliases = (name, "json_schema", "structured output", "guided") if name == "response_format" else (name,)
            blamed = named.partition(".")[0] == name or any(
                re.search(rf"\b{re.escape(alias)}\b", message) for alias in aliases
            )
            if not blamed or (name.startswith("max_") and "context" in message):
                continue
            if name in self._required:
                # As it was said, not folded: a key in other letters is not known again, and would be shown.
                told = " ".join(self._without_key(said).split())[:200]
                raise BackendError(
                    f"{self.judge}: the endpoint does not take {name}: {told}",
                    judge=self.judge, fatal=True, hint="structured = auto goes on without a schema",
                )  # fmt: skip
            if name == "max_tokens" and "max_completion_tokens" in message:
                return {name: "max_completion_tokens"}
            return {name: ""}
        return None

    # ---- answers

    def _reply(self, data: bytes, requests: int, left: Allowance | None) -> Reply:
        try:
            answer = orjson.loads(data)
            choice = answer["choices"][0]
            message = choice["message"]
            content = _text(message.get("content")) or _text(message.get("refusal"))
        except (orjson.JSONDecodeError, KeyError, IndexError, TypeError, AttributeError) as error:
            found = self._without_key(data[:2000].decode("utf-8", "replace"))[:80]
            raise BackendError(
                f"{self.judge}: not a chat completion: {found!r}", judge=self.judge, retryable=True, **_charged(data)
            ) from error
        if choice.get("finish_reason") == "error" or choice.get("error"):  # a failure that came with status 200
            said = self._without_key(str(choice.get("error") or content or "no message"))[:200]
            message = f"{self.judge}: the endpoint failed: {said}"
            raise BackendError(message, judge=self.judge, retryable=True, **_charged(data))
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        reasoning = thought if isinstance(thought, str) else ""
        if len(self._key) >= SECRET_LENGTH:  # a reply is kept
            content, reasoning = self._without_key(content), self._without_key(reasoning)
        notes = tuple(
            f"{name} is not taken by the endpoint; {f'sent as {instead}' if instead else 'left out'}"
            for name, instead in self._refused.items()
        )
        return Reply(
            text=content,
            finish=str(choice.get("finish_reason") or "stop"),
            reasoning=reasoning,
            usage=_usage(answer.get("usage")),
            notes=notes,
            requests=requests,
            allowance=left,
        )

    def _error(self, status: int, headers: Mapping[str, str], data: bytes) -> BackendError:
        error = _error_object(data)
        whole = _said(error) or data[:2000].decode("utf-8", "replace")
        said = " ".join(self._without_key(whole).split())[:300]
        code = str(error.get("code") or error.get("type") or "")
        hint = ""
        fatal = too_long = False
        retryable = status in RETRYABLE
        wait = retry_after(headers)
        if status in (401, 403) and not _MODERATED.search(said):
            fatal, hint = (
                True,
                f"check the key in {self.key_variable}" if self.key_variable else "the endpoint wants a key",
            )
        elif status == 404:
            fatal, hint = True, "check the model's name and the base URL"
        elif status == 402 or code == "insufficient_quota":
            fatal, retryable, hint = True, False, "the account has no credit left"
        elif status == 400 and _WRONG_KEY.search(said):
            fatal, hint = True, f"check the key in {self.key_variable}"
        elif "context_length" in code or ("context" in said.lower() and "token" in said.lower()):
            too_long = True
            hint = "the record is too long for this model; use one with a longer context"
        elif 300 <= status < 400:
            fatal, hint = True, "the address redirects elsewhere; give the final base URL"
        elif status == 429 and (wait or 0.0) <= MINUTE:
            hint = "set --rpm (or rpm in the judge's table) to the requests a minute that the endpoint allows"
        return BackendError(
            f"{self.judge}: HTTP {status}: {said or 'no message'}",
            judge=self.judge,
            retryable=retryable,
            fatal=fatal,
            retry_after=wait if retryable else None,
            hint=hint,
            too_long=too_long,
            status=status,
            allowance=allowance(headers),
        )

    def _without_key(self, text: str) -> str:
        """The text as it may be shown: some endpoints say the key back, and not always in its own letters."""
        if not self._key or self._key.lower() not in text.lower():
            return text
        return re.sub(re.escape(self._key), "[key]", text, flags=re.IGNORECASE)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # content parts, of which some may be reasoning
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type", "text") in _TEXTS]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()

    def number(holder: object, name: str) -> int | None:
        value = holder.get(name) if isinstance(holder, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None

    return Usage(
        input=number(usage, "prompt_tokens"),
        output=number(usage, "completion_tokens"),
        cached=number(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning=number(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _charged(data: bytes) -> dict[str, Any]:
    """What an answer that cannot be used took, or that nobody knows: it was given, and may be charged for."""
    spent = _spent(data)
    return {"spent": spent, "lost": spent is None}


def _spent(data: bytes) -> tuple[int | None, int | None, int | None, int | None] | None:
    """The tokens that an unusable reply was counted with all the same, if it was."""
    try:
        answer = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    usage = _usage(answer.get("usage") if isinstance(answer, dict) else None)
    return None if usage == Usage() else (usage.input, usage.output, usage.cached, usage.reasoning)


def _error_object(data: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    if isinstance(body, list) and body:  # some endpoints wrap the error in a list
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else {}
    return error if isinstance(error, dict) else {"message": str(error or "")}


def _said(error: Mapping[str, Any]) -> str:
    """The message of an error; servers on FastAPI call it ``detail`` and may give a list with places."""
    said = error.get("message") or error.get("detail") or ""
    if isinstance(said, dict):
        said = said.get("detail") or said
    if isinstance(said, list):
        entries = [entry for entry in said if isinstance(entry, dict)]
        said = "; ".join(f"{_place(entry.get('loc'))}: {entry.get('msg', '')}" for entry in entries)
    return str(said)


def _place(loc: object) -> str:
    return ".".join(map(str, loc)) if isinstance(loc, list) else str(loc)


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__

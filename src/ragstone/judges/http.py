"""An HTTP endpoint with a key: connections, limits, secrets and errors, independent of the dialect.

A dialect is a subclass that prepares, measures and reads requests and replies (``prepare``, ``size``, ``usage``,
``read``). It also defines the ``path`` after the base URL and the optional parameters.

Guarantees: a key is read when the first call needs it, and never appears in a message, log or stored row. Each error
is retryable, ends one call, or ends the run. Redirects are not followed. A parameter that the endpoint refuses is left
out of all later calls, with a note on the replies.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import math
import os
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

import orjson

from ragstone.errors import BackendError
from ragstone.judges.base import Allowance, BatchState, Call, Prompt, RateLimits, Reply, Usage
from ragstone.judges.http_errors import error_in, json_in, meaning, said_by, shown, status_of
from ragstone.judges.limits import allowance, retry_after
from ragstone.judges.spec import Spec
from ragstone.tokens import Size

if TYPE_CHECKING:
    import aiohttp
    import yarl

LONGEST: Final = 8_000_000
"""Maximum size of a response body in bytes; a longer one is an error."""
RESULTS: Final = 2_000_000_000
"""Maximum size of a batch's results in bytes."""
LATE: Final = 60.0
"""Seconds by which a provider's clock may lag behind this one."""
SLOWEST: Final = 100_000
"""Minimum speed at which a batch is expected to be uploaded, in bytes per second."""
SECRET_LENGTH: Final = 12
"""Minimum length of a key that is removed from replies: a shorter one (EMPTY, none) may be an ordinary word there."""
LONG: Final = 10_000
"""Bytes of a request that a server may truncate."""
NOT_THE_API: Final = "check the base URL: it is the address of the API, which usually ends in /v1"
PROXY: Final = "check the proxy in the environment variables HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
TRUNCATED: Final = "the server read less than half of the request; raise its context length, then add --refresh"
"""The note on a reply whose request was silently truncated, as Ollama does."""


class HttpBackend(ABC):
    """One endpoint with one key. ``strict``: a schema is always sent; if the endpoint refuses it, the run ends."""

    free: bool = False
    bounded: bool = False
    path: ClassVar[str]
    """The path after the base URL."""
    headers: ClassVar[Mapping[str, str]] = {}
    """Headers of every request, in addition to the key's."""
    optional: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Optional parameters of a request, with other words that errors use for them."""
    schema: ClassVar[str] = ""
    """The optional parameter that holds the schema of the answer."""
    reply_limits: ClassVar[tuple[str, ...]] = ()
    """The optional parameters that limit the reply's length; if another is refused, the last may be sent instead."""

    def __init__(self, spec: Spec) -> None:
        preset = spec.preset
        self.judge = spec.name
        self.base = (spec.base_url or preset.base_url).rstrip("/")
        self.url = self.base + self.path
        self.key_variable = preset.key if spec.api_key_env is None else spec.api_key_env
        self.concurrency = spec.concurrency
        self.timeout: float | None = spec.timeout
        self._limits = spec.rpm, spec.tpm
        self.strict = spec.structured == "schema"
        self.key_header = preset.key_header
        self._rates = {"flex": preset.flex, "batch": preset.batch or 1.0}
        self.batch, self.batch_tokens = spec.batch, spec.batch_tokens
        self.live_rate = self._rates.get(spec.tier, 1.0)
        self.rate = self._rates["batch"] if spec.batch else self.live_rate
        self._tier = spec.tier
        self._local = preset.local
        self._falls_back = spec.tier_fallback
        self._refused: dict[str, str] = {}
        self._key = ""
        self._session: aiohttp.ClientSession | None = None
        self._address: yarl.URL | None = None

    # ---- the dialect

    @abstractmethod
    def prepare(self, prompt: Prompt) -> bytes:
        """Return the canonical request: equal prompts give equal bytes."""

    @abstractmethod
    def size(self, body: bytes) -> Size:
        """Return the size of a request, even of one in another dialect."""

    @abstractmethod
    def usage(self, answer: Any) -> Usage:
        """Return the token counts of an answer, which may be any JSON."""

    def in_tier(self, body: bytes, tier: str) -> bytes:  # noqa: ARG002 - see a dialect
        """Return the request for a service tier of the provider."""
        return body

    def tier_of(self, answer: Any) -> str:  # noqa: ARG002 - see a dialect
        """Return the tier that an answer reports; empty if it reports none."""
        return ""

    @abstractmethod
    def read(self, answer: Any) -> Reply:
        """Read the text, the reasoning and the finish, which is ``error`` if the text is an error message.

        Raise KeyError, IndexError, TypeError or AttributeError for any other JSON.
        """

    def rejected(self, error: Mapping[str, Any]) -> str | None:  # noqa: ARG002 - see a dialect
        """Return the reply that an error quotes because it does not fit the schema; None if there is none."""
        return None

    def fitted(self, body: bytes) -> bytes:
        """Return the request with refused parameters left out or renamed."""
        if not self._refused:
            return body
        request = orjson.loads(body)
        for name, instead in self._refused.items():
            value = request.pop(name, None)
            if instead and value is not None:
                request.setdefault(instead, value)
        return orjson.dumps(request)

    def begun_alike(self, body: bytes, chars: int) -> bytes:  # noqa: ARG002 - for dialects that have to mark it
        """Return the request with its shared prefix of ``chars`` characters marked for the provider's cache."""
        return body

    def refusal(self, status: int, error: Mapping[str, Any], body: bytes) -> bool:
        """Return whether an optional parameter was refused, and remember it; raise BackendError if it is needed."""
        if status not in (400, 404, 415, 422, 501) or not self.optional:
            return False
        sent, said = orjson.loads(body), said_by(error)
        message, named = said.lower(), str(error.get("param") or "").partition(".")[0]
        for name, others in self.optional.items():
            if name not in sent:
                continue
            aliases = (name, *others)
            blamed = named == name or any(re.search(rf"\b{re.escape(alias)}\b", message) for alias in aliases)
            if not blamed or (name in self.reply_limits and "context" in message):
                continue
            if self.strict and name == self.schema:
                # Quote the original text, not the lower-cased message.
                told = " ".join(self.without_key(said).split())[:200]
                hint = "structured = auto continues without a schema"
                raise self.trouble(f"the endpoint rejects {name}: {told}", fatal=True, hint=hint)
            newer = self.reply_limits[-1] if name in self.reply_limits[:-1] else ""
            instead = newer if newer in message else ""
            if self.bounded and name in self.reply_limits and not instead:
                raise self.trouble(
                    "the endpoint accepts no limit on the reply length, so a budget cannot be enforced",
                    fatal=True,
                    hint="run without --max-cost and --max-tokens, or use another endpoint",
                )
            self._refused[name] = instead
            return True
        return False

    def notes(self) -> tuple[str, ...]:
        """Return a note on each parameter that is left out of requests or sent under another name."""
        return tuple(
            f"{name} is not accepted by the endpoint; {f'sent as {instead}' if instead else 'left out'}"
            for name, instead in self._refused.items()
        )

    # ---- the connection

    @property
    def limits(self) -> RateLimits:
        """The rate limits, shared by all backends with the same address and key."""
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=8).hexdigest()
        return RateLimits(f"{self.url} {digest}", *self._limits)

    def divide(self, *, calls: int = 1, rates: int = 1) -> None:
        """Divide its concurrency by ``calls`` and its rate limits by ``rates``; keep at least 1 of each."""
        self.concurrency = max(1, self.concurrency // calls)
        rpm, tpm = (limit and max(1, limit // rates) for limit in self._limits)
        self._limits = rpm, tpm

    async def open(self) -> None:
        """Read the key and create the connection pool; raise BackendError if the key's variable is not set."""
        import aiohttp  # noqa: PLC0415 - 130 ms to import, for LLM judges only
        import yarl  # noqa: PLC0415 - part of aiohttp

        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip", **self.headers}
        if self.key_variable:
            key = os.environ.get(self.key_variable, "").strip()
            if not key:
                raise self.trouble(
                    f"no API key: the environment variable {self.key_variable} is not set",
                    fatal=True,
                    hint=f"export {self.key_variable}=…, or use the embedded judge, which needs none",
                )
            if not key.isprintable():  # it would break the header's line
                raise self.trouble(
                    f"the key in {self.key_variable} contains a line break or control character",
                    fatal=True,
                    hint=f"set {self.key_variable} to one key, on one line",
                )
            self._key = key
            headers[self.key_header] = f"Bearer {key}" if self.key_header == "Authorization" else key
        self._address = yarl.URL(self.url)
        proxy = _proxy(self._address)
        kind = (proxy or "http").partition(":")[0].lower()
        if kind not in ("http", "https"):
            said = f"the proxy for {self.url} is of the kind {kind}; only HTTP proxies are supported"
            raise self.trouble(said, fatal=True, hint=f"{PROXY}, or add the host to NO_PROXY")
        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=self.timeout),
            headers=headers,
            auto_decompress=False,
            proxy=proxy,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, call: Call) -> Reply:
        """Send one call; raise BackendError if the reply is not an answer."""
        assert self._address is not None, "send before open"
        tier, requests = self._tier, 0
        while True:
            requests += 1
            body = self.fitted(call.body)
            if call.shared is not None:
                body = self.begun_alike(body, call.shared.chars)
            sent = self.in_tier(body, tier)
            status, headers, data = await self._exchange("POST", self._address, sent, LONGEST)
            if (status := status_of(status, data)) == 200:
                reply = self._reply(data, requests, allowance(headers), tier)
                counted = reply.usage.input if self._local and len(body) > LONG else None
                short = counted is not None and counted < self.size(body).usual / 2
                return reply._replace(notes=(*reply.notes, TRUNCATED)) if short else reply
            error = error_in(data)
            if (written := self.rejected(error)) is not None:
                return Reply(self.without_key(written), "stop", notes=self.notes(), requests=requests)
            if self.refusal(status, error, body):
                continue
            found = self._error(status, headers, error, data, tier)
            if not (tier != "standard" and self._falls_back and (found.no_capacity or "service_tier" in str(found))):
                raise found
            tier = "standard"

    async def _asked(
        self, method: str, path: str, body: Any = None, *, form: str = "", longest: int = LONGEST
    ) -> bytes:
        """Return the response body of another route; raise BackendError for any status but 200."""
        import aiohttp  # noqa: PLC0415 - loaded already by open

        sent = body if isinstance(body, bytes) else None if body is None else orjson.dumps(body)
        # A large file takes longer than a call, so only a silence ends a download.
        silence = (self.timeout or 0.0) + len(sent or b"") / SLOWEST
        more: dict[str, Any] = {"timeout": aiohttp.ClientTimeout(total=None, sock_read=silence)}
        more |= {"headers": {"Content-Type": form}} if form else {}
        status, headers, data = await self._exchange(method, self.base + path, sent, longest, **more)
        if status != 200:
            raise self._error(status, headers, error_in(data), data, "standard")
        return data

    async def results(self, state: BatchState) -> Sequence[bytes]:
        """Return the lines of an ended batch, of both replies and errors."""
        texts = [await self._asked("GET", place, longest=RESULTS) for place in state.places]
        return [line for text in texts for line in text.splitlines() if line.strip()]

    async def _listed(self, path: str, since: float, after: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the batches made since then, newest first; ``after`` is the parameter that asks for the next page."""
        page = ""
        while True:
            found = await self._told("data", "GET", f"{path}?limit=100{page}")
            for one in found["data"] or []:
                made = one.get("created_at") or math.inf
                made = datetime.fromisoformat(made).timestamp() if isinstance(made, str) else made
                if made < since - LATE:
                    return
                yield one
            before, page = page, f"&{after}={found.get('last_id') or ''}"
            if not (found.get("has_more") and found.get("last_id")) or page == before:
                return

    async def _told(self, wanted: str, method: str, path: str, body: Any = None, *, form: str = "") -> dict[str, Any]:
        """Return the JSON object of another route; raise BackendError if it lacks the field ``wanted``."""
        data = await self._asked(method, path, body, form=form)
        try:
            found = json_in(data)
        except ValueError:
            found = None
        if not isinstance(found, dict) or wanted not in found:
            shown = self.without_key(data[:2000].decode("utf-8", "replace"))[:80]
            raise self.trouble(f"{path}: a reply without '{wanted}': {shown!r}", retryable=True)
        return found

    async def _exchange(
        self, method: str, address: yarl.URL | str, body: bytes | None, longest: int, **more: Any
    ) -> tuple[int, Mapping[str, str], bytes]:
        import aiohttp  # noqa: PLC0415 - loaded already by open

        assert self._session is not None, "send before open"
        begun = False
        sent = None if body is None else aiohttp.BytesPayload(body)  # else aiohttp looks for the type of payload
        try:
            async with self._session.request(method, address, data=sent, allow_redirects=False, **more) as response:
                begun = True
                data = bytearray()
                packing = response.headers.get("Content-Encoding")
                # Decompress here, up to the limit: a small compressed chunk may expand a thousandfold.
                unpacking = zlib.decompressobj(wbits=47) if packing not in (None, "identity") else None
                while not response.content.at_eof():
                    chunk = await response.content.readany()  # like ``iter_any``, with half the coroutines
                    data += unpacking.decompress(chunk, longest + 1 - len(data)) if unpacking else chunk
                    if len(data) > longest:
                        raise self.trouble(f"a reply of more than {longest} bytes", lost=True)
                return response.status, response.headers, bytes(data).removeprefix(codecs.BOM_UTF8)
        except TimeoutError as error:
            raise self.trouble(f"no reply within {self.timeout:g} s", retryable=True, lost=True) from error
        except (aiohttp.ClientError, zlib.error) as error:
            raise self._broken_off(error, begun=begun) from error

    def _broken_off(self, error: Exception, *, begun: bool) -> BackendError:
        """Return the error for a broken connection; ``begun``: the headers of the reply had arrived."""
        import aiohttp  # noqa: PLC0415 - loaded already by open

        never = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError | aiohttp.InvalidURL)
        fatal = False
        hint = "the server was reached; its log, or that of a proxy in front of it, may say why"
        if isinstance(error, zlib.error):
            said = "a reply that cannot be decompressed"
        elif begun:
            said = "the connection was closed in the middle of the reply"
        elif isinstance(error, aiohttp.ClientHttpProxyError):
            fatal, said = error.status in (403, 407), f"the proxy answers HTTP {error.status}: {error.message}"
            hint = meaning(407, "", "", wait=None, variable="")["hint"] if error.status == 407 else PROXY
        elif isinstance(error, aiohttp.InvalidURL):  # the proxy's, which may contain a password
            fatal, said, hint = True, "the address of the proxy is not a valid URL", PROXY
        elif isinstance(error, aiohttp.ClientConnectorCertificateError):
            fatal, said = True, f"cannot verify the certificate of {self.url} ({_reason(error.certificate_error)})"
            hint = "set SSL_CERT_FILE to a file with the certificate of the server or of its issuer"
        elif not never and isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError):
            said = f"{self.url} closed the connection before it replied"
        else:
            proxied = isinstance(error, aiohttp.ClientProxyConnectionError)
            said = f"cannot reach {'the proxy for ' if proxied else ''}{self.url} ({_reason(error)})"
            hint = PROXY if proxied else "check that the server is running and that the address is correct"
        # A server that received the request may charge for it.
        return self.trouble(said, retryable=not fatal, fatal=fatal, hint=hint, lost=not never)

    # ---- answers

    def _reply(self, data: bytes, requests: int, left: Allowance | None, tier: str) -> Reply:
        answer: Any = None
        try:
            answer = json_in(data)
            read = self.read(answer)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            told = self.without_key(said_by(error_in(data)))[:200]
            found = told or repr(self.without_key(shown(data))[:80])
            raise self._unusable(f"not a chat completion: {found}", answer, tier, hint=NOT_THE_API) from error
        text, reasoning = read.text, read.reasoning
        if read.finish == "error":  # a failure that came with status 200
            raise self._unusable(f"the endpoint failed: {self.without_key(text or 'no message')[:200]}", answer, tier)
        if len(self._key) >= SECRET_LENGTH:  # replies are stored
            text, reasoning = self.without_key(text), self.without_key(reasoning)
        notes = self.notes()
        if tier != self._tier:
            notes += (f"the {self._tier} tier had no capacity; used the {tier} tier",)
        return Reply(text, read.finish, reasoning, self._charged(answer, tier), notes, requests, left)

    def _charged(self, answer: Any, tier: str) -> Usage:
        """Return the usage at the price of the tier that the answer reports, else of ``tier``.

        No request has 0 tokens: a server that says so does not count them.
        """
        if (usage := self.usage(answer)).input == 0:
            return Usage()
        rate = self._rates.get(tier if tier == "batch" else self.tier_of(answer) or tier, 1.0)
        return usage if rate == usage.rate or usage == Usage() else usage._replace(rate=rate)

    def _unusable(self, said: str, answer: Any, tier: str, hint: str = "") -> BackendError:
        """Return the error for an unusable reply, with its usage, since it may be charged."""
        usage = self._charged(answer, tier)
        spent = None if usage == Usage() else usage
        return self.trouble(said, retryable=True, spent=spent, lost=spent is None, hint=hint)

    def of_batch(self, status: int, answer: Any, error: Any) -> Reply | BackendError:
        """Return the outcome of a call in a batch, as of a single call; a status of 0 means none and is retryable."""
        try:
            if 200 <= status < 300:
                return self._reply(json.dumps(answer).encode(), 1, None, "batch")
        except BackendError as unusable:
            return unusable
        told = error_in(json.dumps(error).encode())
        if not status:
            said = self.without_key(said_by(told) or str(told.get("code") or "no reason"))[:300]
            return self.trouble(f"no result in the batch: {said}", retryable=True)
        return self._error(status, {}, told, b"", "batch")

    def trouble(self, said: str, **more: Any) -> BackendError:
        """Return a BackendError of this judge."""
        return BackendError(f"{self.judge}: {said}", judge=self.judge, **more)

    def _error(
        self, status: int, headers: Mapping[str, str], error: Mapping[str, Any], data: bytes, tier: str
    ) -> BackendError:
        said = " ".join(self.without_key(said_by(error) or shown(data)).split())
        if 300 <= status < 400 and (place := headers.get("Location", "")):
            said = f"redirects to {self.without_key(place.partition('?')[0])[:200]}"
        code = f"{error.get('code')} {error.get('type')}"
        wait = retry_after(headers)
        flex, page, left = tier == "flex", data.lstrip().startswith(b"<"), allowance(headers)
        more = meaning(status, code, said, wait=wait, variable=self.key_variable, flex=flex, page=page)
        return self.trouble(f"HTTP {status}: {said[:300] or 'no message'}", status=status, allowance=left, **more)

    def without_key(self, text: str) -> str:
        """Remove the key from a text, in any case: some endpoints repeat it in their messages."""
        if not self._key or self._key.lower() not in text.lower():
            return text
        return re.sub(re.escape(self._key), "[key]", text, flags=re.IGNORECASE)


def object_in(value: Any, name: str) -> dict[str, Any]:
    """Return the object under a name in an object; empty if there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def whole_number(value: Any) -> int | None:
    """Return a count; None if it is not a whole number."""
    return int(value) if type(value) in (int, float) and 0 <= value < 2**53 and value == int(value) else None


def _reason(error: Exception) -> str:
    """Return why there is no connection, in the words of the system."""
    import ssl  # noqa: PLC0415 - loaded already by aiohttp

    cause = getattr(error, "os_error", error)
    if isinstance(cause, ssl.SSLError):
        return getattr(cause, "verify_message", "") or str(getattr(cause, "reason", None) or cause).lower().replace(
            "_", " "
        )
    number = getattr(cause, "errno", None) or 0  # of the system; DNS errors have negative ones
    said = os.strerror(number) if number > 0 else getattr(cause, "strerror", None) or str(cause)
    return " ".join(said.lower().split())[:200] or "connection closed"


def _proxy(address: yarl.URL) -> str | None:
    """Return the proxy that the environment names for an address; None for an address of this machine."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - loaded already by aiohttp

    host = address.host or ""
    local = host in ("localhost", "::1") or host.startswith("127.")
    bypassed, proxies = local or proxy_bypass(f"{host}:{address.port}"), getproxies()
    found = "" if bypassed else proxies.get(address.scheme) or proxies.get("all", "")
    return f"http://{found}" if found and "://" not in found else found or None

"""The connection to a service: sends the requests of its flows and turns errors into one clear line.

Guarantees: keys are read from the environment when the connection is created and appear in no message. Redirects are
not followed, so that no key is sent elsewhere. A request is retried only if that cannot execute it twice.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from ragstone.errors import ConfigError, ServiceError
from ragstone.judges.http_errors import RETRYABLE, said_by
from ragstone.judges.limits import retry_after
from ragstone.judges.spec import check_address
from ragstone.services.base import Flow, Request, Service

if TYPE_CHECKING:
    import aiohttp

R = TypeVar("R")
AT_ONCE: Final = 4
"""Maximum number of parallel requests; hosted services refuse more than a few hundred per minute."""
PATIENCE: Final = 60.0
"""Read timeout in seconds, and the longest wait that a server may ask for."""
WAITS: Final = (0.5, 2.0, 8.0)
"""Seconds before each retry."""
LONGEST: Final = 256 * 1024 * 1024
"""Maximum size of a reply in bytes."""


class _Passing(Exception):  # noqa: N818 - no error yet
    """A failure that a retry may fix; ``arrived``: the request may have been executed."""

    def __init__(self, error: ServiceError, *, arrived: bool, wait: float | None = None) -> None:
        self.error = error
        self.arrived = arrived
        self.wait = wait


class Connection:
    """A service at ``url``, else at the address in its variable, else at its default address.

    Raises ConfigError for an invalid address or key.
    """

    def __init__(self, service: Service, url: str | None = None) -> None:
        named = ((name, os.environ.get(name, "").strip()) for name in service.addresses)
        where, found = ("--url", url) if url else next((one for one in named if one[1]), ("", service.address))
        check_address(found, where or service.title)
        self.url = found.rstrip("/").removesuffix("/v1/traces")  # the path for span exporters
        self._service = service
        keys = {name: os.environ.get(name, "").strip() for name in service.keys}
        for name, key in keys.items():
            if not key.isprintable():  # it would break the header
                raise ConfigError(
                    f"the key in the environment variable {name} contains a line break or control character"
                )
        said = service.authorization(keys)
        self._headers = {"Accept": "application/json", **({"Authorization": said} if said else {})}
        self._secrets = [key for key in (*keys.values(), said.partition(" ")[2]) if key]

    async def run(self, flow: Flow[R]) -> R:
        """Send the requests of a flow until it returns; raise ServiceError if one fails."""
        import aiohttp  # noqa: PLC0415 - 130 ms to import

        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=PATIENCE)
        jar, places = aiohttp.DummyCookieJar(), asyncio.Semaphore(AT_ONCE)
        async with aiohttp.ClientSession(headers=self._headers, timeout=timeout, cookie_jar=jar) as session:

            async def answer(request: Request) -> Any:
                async with places:
                    return await self._answer(session, request)

            try:
                requests = next(flow)
                while True:
                    found = await asyncio.gather(*map(answer, requests), return_exceptions=True)
                    for each in found:
                        if isinstance(each, BaseException):
                            raise each
                    requests = flow.send(found)
            except StopIteration as end:
                result: R = end.value
                return result
            except (KeyError, TypeError, AttributeError) as error:
                raise self._error(
                    f"a reply does not match its API ({error!r})",
                    f"is {self.url} the address of {self._service.title}, and is it up to date?",
                ) from error

    async def _answer(self, session: aiohttp.ClientSession, request: Request) -> Any:
        for wait in (*WAITS, None):
            try:
                return await self._send(session, request)
            except _Passing as passing:
                if wait is None or (request.once and passing.arrived) or (passing.wait or 0.0) > PATIENCE:
                    raise passing.error from passing
                await asyncio.sleep(max(wait, passing.wait or 0.0))
        raise AssertionError("the last try returns or raises")

    async def _send(self, session: aiohttp.ClientSession, request: Request) -> Any:
        import aiohttp  # noqa: PLC0415 - loaded already

        body = None if request.body is None else orjson.dumps(request.body)
        headers = {"Content-Type": "application/json"} if body else {}
        try:
            async with session.request(
                request.method, self.url + request.path, params=list(request.params), data=body, headers=headers,
                allow_redirects=False,
            ) as response:  # fmt: skip
                data = bytearray()
                async for chunk in response.content.iter_any():
                    data += chunk
                    if len(data) > LONGEST:
                        raise self._error(
                            f"a reply of more than {LONGEST:,} bytes", "pull a shorter period with --since"
                        )
                return self._read(request, response.status, response.headers, bytes(data))
        except TimeoutError as error:
            late = self._error(f"no reply from {self.url} within {PATIENCE:g} s", "try again later")
            raise _Passing(late, arrived=True) from error
        except aiohttp.ClientConnectorError as error:
            raise self._error(
                f"cannot reach {self.url} ({self._plain(str(error))})",
                f"is {self._service.title} running? To use another address, set --url or {self._service.addresses[0]}",
            ) from error
        except aiohttp.ClientError as error:
            broken = self._error(f"{self.url} closed the connection ({self._plain(str(error))})", "try again later")
            raise _Passing(broken, arrived=True) from error

    def _read(self, request: Request, status: int, headers: Mapping[str, str], data: bytes) -> Any:
        if status in request.absent:
            return None
        try:
            answer = orjson.loads(data) if data else {}
        except orjson.JSONDecodeError:
            answer = None
        if 200 <= status < 300 and answer is not None:
            return answer
        said = _message(answer) or data[:2000].decode("utf-8", "replace")
        error = self._refused(status, self._plain(said))
        if status in RETRYABLE:
            raise _Passing(error, arrived=status != 429, wait=retry_after(headers))
        raise error

    def _refused(self, status: int, said: str) -> ServiceError:
        keys, hint = " and ".join(self._service.keys), ""
        if status in (401, 403):
            hint = f"check {keys}"
        elif status == 404:
            hint = f"check --project and --url ({self.url})"
        elif 300 <= status < 400:
            hint = "the address redirects elsewhere; give the final one with --url"
        elif status < 300:
            return self._error(f"not a reply of its API: {said[:80]!r}", f"check --url ({self.url})")
        return self._error(f"HTTP {status}: {said or 'no message'}", hint)

    def _plain(self, said: str) -> str:
        """Return a message as one short line without the keys."""
        for secret in self._secrets:
            said = said.replace(secret, "[key]")
        return " ".join(said.split())[:300]

    def _error(self, said: str, hint: str) -> ServiceError:
        return ServiceError(f"{self._service.title}: {said}", hint=hint)


def _message(answer: Any) -> str:
    if not isinstance(answer, dict):
        return ""
    inner = answer.get("error")
    return said_by(inner if isinstance(inner, dict) else answer) or str(inner or "")

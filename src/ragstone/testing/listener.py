"""Serve a fake endpoint over HTTP, including dropped connections."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from ragstone.testing.behaviour import CUT, HANG, RESET, Outcome
from ragstone.testing.endpoint import Endpoint

_JSON: Final = {"Content-Type": "application/json"}


class Listener:
    """A listening socket for an endpoint. ``errors`` has exceptions raised by answers; their clients get no reply."""

    def __init__(self, endpoint: Endpoint, host: str, port: int) -> None:
        self.endpoint = endpoint
        self.host = host
        self.port = port
        self.errors: list[Exception] = []
        self._server: web.Server | None = None
        self._sockets: asyncio.Server | None = None
        endpoint.on_death = self.close

    async def open(self) -> None:
        """Start listening; raise OSError if the port is taken."""
        self._server = server = web.Server(self._handle, handler_cancellation=True, access_log=None)

        def connected() -> asyncio.BaseProtocol:
            self.endpoint.books.connections += 1
            return server()

        loop = asyncio.get_running_loop()
        self._sockets = await loop.create_server(connected, self.host, self.port, backlog=1024)
        self.port = self._sockets.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Stop listening and close every connection; waiting requests get no reply."""
        if self._sockets is not None:
            self._sockets.close()
        for connection in self._server.connections if self._server else ():
            if connection.transport is not None:
                connection.transport.close()

    async def end(self) -> None:
        """Close, and wait until no more requests are being served."""
        self.close()
        if self._server is not None:
            await self._server.shutdown(0.0)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        endpoint = self.endpoint
        body = await request.content.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        endpoint.arrive()
        try:
            outcome = endpoint.reply(request.method, request.path_qs, headers, body)
            if outcome.status == HANG:
                endpoint.books.seen[HANG] += 1
                await asyncio.Event().wait()
            if outcome.delay:
                await asyncio.sleep(outcome.delay)
        except asyncio.CancelledError:
            endpoint.leave()
            raise
        except Exception as error:  # noqa: BLE001 - a test's own answer: it is raised where the server is stopped
            self.errors.append(error)
            outcome = Outcome(RESET)
        response = await _sent(request, endpoint.settle(outcome))
        if endpoint.dead and endpoint.behaviour.dead_how == "refuse":
            self.close()
        return response


async def _sent(request: web.BaseRequest, outcome: Outcome) -> web.StreamResponse:
    assert request.transport is not None
    if outcome.status == RESET:
        request.transport.abort()
        return web.Response()
    if outcome.status == CUT:
        response = web.StreamResponse(headers={**_JSON, "Content-Length": str(len(outcome.body))})
        await response.prepare(request)
        await response.write(outcome.body[: len(outcome.body) // 2])
        request.transport.close()
        return response
    status = int(outcome.status)

    whole = web.Response(status=status, body=outcome.body, headers={**_JSON, **outcome.headers})
    await whole.prepare(request)
    await whole.write_eof()
    return whole

"""HTTP/1.1 over asyncio, as little of it as a server of small JSON replies needs.

Keep-alive, ``Content-Length`` and chunked request bodies, ``Expect: 100-continue``. One request of a connection
is answered at a time; what arrives meanwhile waits in the buffer. There is no coroutine here: a request costs
one callback, and one timer if it has to wait.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from ragstone.testing.endpoint import CUT, HANG, RESET, Endpoint, Outcome

LARGEST_HEAD: Final = 64 * 1024
LARGEST_BODY: Final = 50 * 1024 * 1024
GRACE: Final = 2.0
"""Seconds in which a client that was refused can read why."""
REASONS: Final = {status.value: status.phrase for status in HTTPStatus}
NO_BODY: Final = b'{"error":{"message":"%s","type":"invalid_request_error","param":null,"code":null}}'


class BadRequestError(Exception):
    """Bytes that are no request which this server takes; the connection ends with this status."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class Connection(asyncio.Protocol):
    """One client. ``everyone`` holds the open connections.

    A request is ``booked``, which is to say counted, unless it asks the server about itself.
    """

    def __init__(self, endpoint: Endpoint, everyone: set[Connection]) -> None:
        self.endpoint = endpoint
        self.everyone = everyone
        self.buffer = bytearray()
        self.transport: asyncio.Transport | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.busy = False
        self.booked = False
        self.over = False
        self._next()

    def _next(self) -> None:
        """Be ready for the head of another request."""
        self.line: list[str] = []
        self.headers: dict[str, str] = {}
        self.length = 0
        self.chunks: bytearray | None = None
        self.scanned = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.everyone.add(self)
        self.endpoint.books.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The client has gone; if it waited for a reply, nobody will get that."""
        self.everyone.discard(self)
        if self.timer is not None:
            self.timer.cancel()
        if self.busy and self.booked:
            self.endpoint.leave()
        self.busy = False
        self.transport = None
        self.over = True

    def data_received(self, data: bytes) -> None:
        """Bytes of one or more requests."""
        if self.over:
            return
        self.buffer += data
        if not self.busy:
            self._advance()

    def _advance(self) -> None:
        """Serve what the buffer holds, up to the first request that has to wait."""
        try:
            while not (self.busy or self.over) and (self.line or self._head()):
                body = self._body()
                if body is None:
                    return
                self.busy = True
                method, path, _ = self.line
                self.booked = not path.startswith("/_")
                if self.booked:
                    self.endpoint.arrive()
                outcome = self.endpoint.reply(method, path, self.headers, body)
                if outcome.status == HANG:
                    self.endpoint.books.seen[HANG] += 1
                    return
                if outcome.delay:
                    loop = asyncio.get_running_loop()
                    self.timer = loop.call_later(outcome.delay, self._resume, outcome)
                    return
                self._finish(outcome)
        except BadRequestError as error:
            self._refuse(error)

    def _refuse(self, error: BadRequestError) -> None:
        """Say what is wrong, then let the client finish what it is sending, so that it reads that."""
        self.over = True
        self.endpoint.books.seen[error.status] += 1
        self._write(Outcome(error.status, NO_BODY % str(error).encode()), close=True)
        if self.transport is not None:
            self.timer = asyncio.get_running_loop().call_later(GRACE, self.transport.close)

    def _resume(self, outcome: Outcome) -> None:
        self.timer = None
        self._finish(outcome)
        self._advance()

    def _finish(self, outcome: Outcome) -> None:
        self.busy = False
        if self.booked:
            outcome = self.endpoint.settle(outcome)
        if self.transport is None:
            return
        if outcome.status == RESET:
            self.over = True
            self.transport.abort()
            return
        if outcome.status == CUT:
            self.over = True
            self._write(outcome, close=True)
            self.transport.close()
            return
        wish = self.headers.get("connection", "").lower()
        close = wish == "close" or self.line[0] == "HEAD" or (self.line[2] == "HTTP/1.0" and wish != "keep-alive")
        self._write(outcome, close=close)
        if close:
            self.over = True
            self.transport.close()
        self._next()
        if self.endpoint.dead and self.endpoint.behaviour.dead_how == "refuse":
            self.endpoint.on_death()

    def _write(self, outcome: Outcome, *, close: bool) -> None:
        assert self.transport is not None
        status = 200 if outcome.status == CUT else int(outcome.status)
        head = f"HTTP/1.1 {status} {REASONS.get(status, 'Unknown')}\r\nContent-Length: {len(outcome.body)}\r\n"
        for name, value in {"Content-Type": "application/json", **outcome.headers}.items():
            head += f"{name}: {value}\r\n"
        head += "Connection: close\r\n\r\n" if close else "\r\n"
        body = outcome.body[: len(outcome.body) // 2] if outcome.status == CUT else outcome.body
        self.transport.write(head.encode("latin-1") + body)

    def _head(self) -> bool:
        """Read the head of a request, if all of it is there."""
        buffer = self.buffer
        end = buffer.find(b"\r\n\r\n", max(self.scanned - 3, 0))
        if end < 0:
            if len(buffer) > LARGEST_HEAD:
                raise BadRequestError(431, "the head of the request is too large")
            self.scanned = len(buffer)
            return False
        lines = buffer[:end].decode("latin-1").lstrip("\r\n").split("\r\n")
        del buffer[: end + 4]
        line = lines[0].split(" ")
        if len(line) != 3 or not line[2].startswith("HTTP/1."):
            raise BadRequestError(400, "this is no HTTP/1.1 request")
        for text in lines[1:]:
            name, colon, value = text.partition(":")
            if not colon:
                raise BadRequestError(400, "a header has no colon")
            self.headers[name.lower()] = value.strip()
        self.line = line
        self.scanned = 0
        length = self.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise BadRequestError(400, "Content-Length is not a number")
        self.length = int(length)
        if self.length > LARGEST_BODY:
            raise BadRequestError(413, "the body of the request is too large")
        if "transfer-encoding" in self.headers:
            if self.headers["transfer-encoding"].lower() != "chunked":
                raise BadRequestError(501, "only chunked is known as a transfer encoding")
            self.chunks = bytearray()
        if self.headers.get("expect", "").lower() == "100-continue" and self.transport is not None:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _body(self) -> bytes | None:
        """The body of the request, or None while it is not all there."""
        if self.chunks is not None:
            return self._chunked(self.chunks)
        if len(self.buffer) < self.length:
            return None
        body = bytes(self.buffer[: self.length])
        del self.buffer[: self.length]
        return body

    def _chunked(self, chunks: bytearray) -> bytes | None:
        buffer = self.buffer
        while True:
            end = buffer.find(b"\r\n", 0, LARGEST_HEAD)
            if end < 0:
                if len(buffer) > LARGEST_HEAD:
                    raise BadRequestError(400, "a chunk has no size")
                return None
            if self.length < 0:  # the trailer, after the last chunk
                line = bytes(buffer[:end])
                del buffer[: end + 2]
                if not line:
                    return bytes(chunks)
                continue
            try:
                size = int(bytes(buffer[:end]).split(b";")[0], 16)
            except ValueError:
                raise BadRequestError(400, "the size of a chunk is not a number") from None
            if size < 0 or len(chunks) + size > LARGEST_BODY:
                raise BadRequestError(413, "the body of the request is too large")
            if not size:
                self.length = -1
                del buffer[: end + 2]
                continue
            if len(buffer) < end + size + 4:
                return None
            chunks += buffer[end + 2 : end + 2 + size]
            if buffer[end + 2 + size : end + size + 4] != b"\r\n":
                raise BadRequestError(400, "a chunk does not end where it says")
            del buffer[: end + size + 4]

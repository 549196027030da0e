"""A client that says exactly what it means, for tests of the fake server."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Unpack
from urllib.parse import urlsplit

from ragstone.testing import FakeServer, Knobs

PATIENCE = 10.0


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def choice(self) -> Any:
        return self.json["choices"][0]

    @property
    def content(self) -> Any:
        return self.choice["message"]["content"]

    @property
    def error(self) -> Any:
        return self.json["error"]


class Client:
    """One keep-alive connection to a fake server."""

    def __init__(self, server: FakeServer) -> None:
        self.server = server
        address = urlsplit(server.url)
        assert address.hostname is not None
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Got:
        self.connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
        reply = self.connection.getresponse()
        return Got(reply.status, {name.lower(): text for name, text in reply.getheaders()}, reply.read())

    def chat(self, text: str = "hello", schema: Any = None, headers: dict[str, str] | None = None, **more: Any) -> Got:
        request = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
        if schema is not None:
            form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
            request["response_format"] = form
        return self.send("POST", "/v1/chat/completions", json.dumps(request), **(headers or {}))


@contextmanager
def asking(keep: int = 10_000, **knobs: Unpack[Knobs]) -> Iterator[Client]:
    """A client of a fake server of its own."""
    with FakeServer(keep=keep, **knobs) as server:
        client = Client(server)
        yield client
        client.connection.close()

"""A dialect in one file, as another package would write it, and a server that speaks it and no other."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from ragstone.judges.base import Prompt, Reply, Usage
from ragstone.judges.http import HttpBackend
from ragstone.judges.spec import Preset
from ragstone.testing import fitting
from ragstone.tokens import Size


class EchoBackend(HttpBackend):
    """``{"to", "said", "form", "longest"}`` is answered by ``{"echo", "end", "took"}``."""

    path = "/echo"

    def prepare(self, prompt: Prompt) -> bytes:
        form = orjson.Fragment(prompt.schema.json) if prompt.schema else None
        said = [message["content"] for message in prompt.messages]
        request = {"to": prompt.model, "said": said, "form": form, "longest": prompt.room * prompt.max_tokens}
        return orjson.dumps({**request, **prompt.extra})

    def size(self, body: bytes) -> Size:
        request = orjson.loads(body)
        return Size(len(body), tuple(request["said"]), reply=request["longest"])

    def usage(self, answer: Any) -> Usage:
        return Usage(*answer["took"]) if isinstance(answer, dict) and "took" in answer else Usage()

    def read(self, answer: Any) -> Reply:
        return Reply(answer["echo"], answer["end"])


ECHO = Preset("http://127.0.0.1:9", local=True, backend="echo_dialect:EchoBackend")


@contextlib.contextmanager
def echo_server(asked: list[Any]) -> Iterator[str]:
    """Answers what fits the form, 30 tokens for 100; ``asked`` grows by each request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(request)
            echo = orjson.dumps(fitting(request["form"], len(asked))).decode()
            self.send_response(200 if self.path == "/echo" else 404)
            self.end_headers()
            self.wfile.write(orjson.dumps({"echo": echo, "end": "stop", "took": [100, 30]}))

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()

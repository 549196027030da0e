"""The same page from a server on this machine, for runs that are too large for one file.

Promises: it listens on the loopback address alone and answers only requests that were sent to it by that name, so that
no page of another site can read a run by pointing a name of its own here; it reads the store piece by piece and writes
nothing. Of a run that is being written, every load of the page shows the records that there are then, and no others.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any, Final

import orjson

from ragstone import __version__
from ragstone.analysis.run import Run
from ragstone.render.html.build import ROWS, surveyed
from ragstone.render.html.case import calls_of, case_of, keys_of
from ragstone.render.html.document import page, to_json
from ragstone.render.html.overview import overview_of
from ragstone.render.html.rows import block_of, row_of
from ragstone.render.html.texts import text_of

HOST: Final = "127.0.0.1"
SURVEYED: Final = 5_000
"""Results that are read before the first answer, to know what records can be grouped by."""

_PIECE: Final = re.compile(r"/data/(rows|texts|record|calls)-(0|[1-9][0-9]{0,9})")
_HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Live(ThreadingHTTPServer):
    """Serves one run until it is closed; OSError where the port is taken."""

    daemon_threads = True

    def __init__(self, run: Run, port: int = 0) -> None:
        super().__init__((HOST, port), _Answer)
        self._run = run
        self._lock = threading.Lock()  # the store is read by one thread at a time
        self._look()

    def _look(self) -> None:
        """Read what the first screen shows, all of one moment; a run that is being written is another the next time."""
        with self._run.store.snapshot():
            row = self._run.store.run(self._run.id)
            self._run = run = Run(self._run.store, row) if row else self._run
            told = surveyed(islice(run.results(), SURVEYED))
            # Of a run that goes on, the table keeps to the records that the figures are of.
            self._places = run.store.places(run.id) if run.status == "unfinished" else None
            self._fields = told.fields
            self._first = {
                **overview_of(run, told.rows, told.fields, told.readings if len(told.rows) == len(run) else None),
                "live": True,
                "row_blocks": (blocks := -(-run.store.last_place(run.id) // ROWS)),
                "text_blocks": blocks,
            }
        self._metrics = [metric["name"] for metric in self._first["metrics"]]
        self._signatures = run.spec.get("signatures", {})

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader who goes away while an answer is sent is no error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"http://{HOST}:{self.server_address[1]}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which it may be called."""
        return f"{HOST}:{self.server_address[1]}", f"localhost:{self.server_address[1]}"

    def answer(self, path: str) -> tuple[str, bytes] | None:
        """The kind and the content of what stands at a path; None for nothing."""
        if path == "/":
            with self._lock:
                if self._run.status == "unfinished":
                    self._look()
                return "text/html; charset=utf-8", b"".join(page("run", self._run.name, self._first, (), live=True))
        piece = _PIECE.fullmatch(path)
        if piece is None:
            return None
        with self._lock:
            found = self._piece(piece[1], int(piece[2]))
        return None if found is None else ("application/json", to_json(found))

    def _piece(self, kind: str, number: int) -> Any:
        if kind in ("rows", "texts"):
            found = self._run.store.results(self._run.id, number * ROWS, (number + 1) * ROWS)
            kept = [row for row in found if self._places is None or row.position in self._places]
            results = (orjson.loads(row.document) for row in kept)
            if kind == "texts":
                return [[result["position"], text_of(result)] for result in results]
            return block_of([row_of(result) for result in results], self._metrics, self._fields)
        row = self._run.store.result(self._run.id, position=number)
        if row is None:
            return None
        result = orjson.loads(row.document)
        return case_of(result, self._signatures) if kind == "record" else calls_of(keys_of(result), self._run.store)


class _Answer(BaseHTTPRequestHandler):
    """One request: GET alone, to this machine by name."""

    server: Live
    server_version = f"ragstone/{__version__}"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Answer, or say why not."""
        if self.headers.get("Host", "").lower() not in self.server.hosts:
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"this server answers to its own address only\n")
            return
        found = self.server.answer(self.path.partition("?")[0])
        if found is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"there is nothing here\n")
        else:
            self._send(HTTPStatus.OK, *found)

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the name that the base class gives it
        """Say nothing: the address is all that is printed."""

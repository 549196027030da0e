"""The runs of a store as pages from a server on this machine: their list, each run, two compared, and labels.

Promises: it listens on the loopback address alone and answers only requests that were sent to it by that name, so that
no page of another site can read a run by pointing a name of its own here; all that it writes are labels, for its own
pages alone; it reads the store piece by piece.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Protocol
from urllib.parse import unquote

from ragstone import __version__
from ragstone.analysis.compare import compare
from ragstone.analysis.result import Result
from ragstone.analysis.run import Run
from ragstone.errors import RagstoneError
from ragstone.metrics import catalogue
from ragstone.render.html.case import calls_of, keys_of
from ragstone.render.html.comparing import comparison_page
from ragstone.render.html.document import page, to_json
from ragstone.render.html.runs import runs_page
from ragstone.render.html.served_run import ServedRun
from ragstone.store.database import Store

HOST: Final = "127.0.0.1"
OPEN: Final = 3
"""Runs of which what was read is kept."""
MOST_LABELS: Final = 20_000_000
"""Bytes of labels that are taken at once."""

_NUMBER: Final = r"([1-9][0-9]{0,9})"
_RUN: Final = rf"/run/{_NUMBER}/"
_LABELS: Final = rf"{_RUN}label/data/labels-([^/]{{0,300}})"
_HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"
NOTHING_THERE: Final = (
    b"<!doctype html><html lang=en><meta charset=utf-8><title>Not found</title>"
    b"<p>There is no such run or page. <a href=/>All runs</a></p></html>\n"
)
LINES: Final = "application/jsonl"
Answer = tuple[str, bytes]
"""The kind and the content of what stands at a path."""


class _AbsentError(Exception):
    """There is no such run or record."""


class LabelDesk(Protocol):
    """Where people's labels of a run are made and kept."""

    def page(self, run: Run) -> list[bytes]:
        """The parts of the page to label on; InputError if there is nothing to label."""

    def kept(self, run: Run, annotator: str) -> bytes:
        """The labels of an annotator, as lines; empty if there are none."""

    def keep(self, run: Run, annotator: str, lines: bytes) -> None:
        """Replace the labels of an annotator; InputError for lines that are none."""

    def files(self, run: Run) -> list[dict[str, Any]]:
        """Who labelled how much, in which file."""

    def of_record(self, run: Run, result: Result) -> list[dict[str, Any]]:
        """All labels of a record's units as they are now."""


class Live(ThreadingHTTPServer):
    """Serves the runs of a store until it is closed; OSError where the port is taken."""

    daemon_threads = True

    def __init__(self, store: Store, desk: LabelDesk, port: int = 0) -> None:
        super().__init__((HOST, port), _Answer)
        catalogue()  # read before the first page is asked for
        self._store = store
        self._desk = desk
        self._lock = threading.Lock()  # the store is read by one thread at a time
        self._runs: OrderedDict[int, ServedRun] = OrderedDict()
        self._routes: list[tuple[str, Callable[..., Answer]]] = [
            ("/", self._list),
            (_RUN, self._run_page),
            (rf"{_RUN}data/(rows|more|record|calls)-(0|[1-9][0-9]{{0,9}})", self._data),
            (rf"{_RUN}data/(worst)-(0)", self._data),
            (rf"{_RUN}data/(lines)-([1-9][0-9]{{0,9}}(?:,[1-9][0-9]{{0,9}}){{0,99}})", self._data),
            (rf"{_RUN}data/(search)-([^/]{{1,3000}})", self._data),
            (rf"{_RUN}label/", self._label_page),
            (_LABELS, self._labels),
            (rf"/compare/{_NUMBER}/{_NUMBER}/", self._compared),
        ]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader who goes away while an answer is sent is no error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """The address for a browser."""
        return f"http://{HOST}:{self.server_address[1]}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which it may be called."""
        return f"{HOST}:{self.server_address[1]}", f"localhost:{self.server_address[1]}"

    def answer(self, path: str) -> Answer | None:
        """What stands at a path; None for nothing. InputError where it cannot be shown."""
        with self._lock, suppress(_AbsentError):
            for pattern, answered in self._routes:
                if found := re.fullmatch(pattern, path):
                    return answered(*found.groups())
        return None

    def keep_labels(self, path: str, lines: bytes) -> bool:
        """Keep labels at their path; False where there is none. InputError for lines that are none."""
        with self._lock, suppress(_AbsentError):
            if found := re.fullmatch(_LABELS, path):
                self._desk.keep(self._run(found[1]), unquote(found[2]), lines)
                return True
        return False

    # ---- what stands where

    def _run(self, number: str) -> Run:
        row = self._store.run(int(number))
        if row is None:
            raise _AbsentError
        return Run(self._store, row)

    def _served(self, number: str, *, fresh: bool = False) -> ServedRun:
        """The run as it was when its page was loaded last."""
        key = int(number)
        held = self._runs.get(key)
        if held is None or (fresh and held.run.status == "unfinished"):
            held = self._runs[key] = ServedRun(self._run(number))
        self._runs.move_to_end(key)
        while len(self._runs) > OPEN:
            self._runs.popitem(last=False)
        return held

    def _list(self) -> Answer:
        return HTML, b"".join(runs_page(self._store))

    def _run_page(self, number: str) -> Answer:
        held = self._served(number, fresh=True)
        first = {**held.first, "root": "../../", "labels": self._desk.files(held.run)}
        return HTML, b"".join(page("run", held.run.name, first, (), live=True))

    def _data(self, number: str, kind: str, of: str) -> Answer:
        held = self._served(number)
        if kind == "rows":
            return JSON, to_json(held.rows(int(of)))
        if kind == "more":
            return JSON, held.more(int(of))
        if kind == "worst":
            return JSON, to_json(held.worst())
        if kind == "lines":
            return JSON, to_json(held.lines([int(place) for place in of.split(",")]))
        if kind == "search":
            return JSON, to_json(held.search(unquote(of)))
        result = held.result(int(of))
        if result is None:
            raise _AbsentError
        if kind == "calls":
            return JSON, to_json(calls_of(keys_of(result), self._store))
        return JSON, to_json({**held.case(result), "labels": self._desk.of_record(held.run, result)})

    def _label_page(self, number: str) -> Answer:
        return HTML, b"".join(self._desk.page(self._run(number)))

    def _labels(self, number: str, annotator: str) -> Answer:
        return LINES, self._desk.kept(self._run(number), unquote(annotator))

    def _compared(self, first: str, second: str) -> Answer:
        one, other = self._run(first), self._run(second)
        return HTML, b"".join(comparison_page(compare(one, other, moved=20), one, other, root="../../../"))


class _Answer(BaseHTTPRequestHandler):
    """One request to this machine by name: GET for reading, PUT for labels."""

    server: Live
    server_version = f"ragstone/{__version__}"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Answer, or say why not."""
        if not self._is_ours():
            return
        try:
            found = self.server.answer(self.path.partition("?")[0])
        except RagstoneError as error:
            self._send(HTTPStatus.CONFLICT, "text/plain; charset=utf-8", f"{error}\n".encode("utf-8", "replace"))
            return
        if found is None:
            self._send(HTTPStatus.NOT_FOUND, HTML, NOTHING_THERE)
        else:
            self._send(HTTPStatus.OK, *found)

    def do_PUT(self) -> None:
        """Keep labels, from a page of this server alone."""
        if not self._is_ours():
            return
        size = self.headers.get("Content-Length", "")
        own = self.headers.get("Origin", "").removeprefix("http://") in self.server.hosts
        if not own or not size.isdecimal() or int(size) > MOST_LABELS:
            self.close_connection = True  # what is not read would be taken for the next request
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"labels come from the pages of this server\n")
            return
        try:
            kept = self.server.keep_labels(self.path, self.rfile.read(int(size)))
        except RagstoneError as error:
            self._send(HTTPStatus.BAD_REQUEST, "text/plain; charset=utf-8", f"{error}\n".encode("utf-8", "replace"))
            return
        self._send(HTTPStatus.OK if kept else HTTPStatus.NOT_FOUND, "text/plain", b"kept\n" if kept else b"nothing\n")

    def _is_ours(self) -> bool:
        """Whether the request calls this server by its own name; else it is refused."""
        if self.headers.get("Host", "").lower() in self.server.hosts:
            return True
        self.close_connection = True
        self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"this server answers to its own address only\n")
        return False

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the name that the base class gives it
        """Say nothing: the address is all that is printed."""

"""Serve the runs of a store as local web pages: their list, each run, comparisons of two, and labelling.

Guarantees: the server listens only on the loopback address and answers only requests addressed to it by that name, so
that no other site can read a run through DNS rebinding. It writes only labels, sent by its own pages. It reads the
store piece by piece.
"""

from __future__ import annotations

import html
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote

from ragstone import __version__
from ragstone.analysis.compare import compare
from ragstone.analysis.result import Result
from ragstone.analysis.run import Run
from ragstone.analysis.saved import SavedRun
from ragstone.errors import InputError, RagstoneError
from ragstone.metrics import catalogue
from ragstone.metrics.methods import command_of
from ragstone.render.facts import judges_of, lead
from ragstone.render.html.case import calls_of, keys_of
from ragstone.render.html.comparing import comparison_page
from ragstone.render.html.document import page, to_json
from ragstone.render.html.served_run import ServedRun
from ragstone.render.wording import card_order, measures
from ragstone.store.database import Store

HOST: Final = "127.0.0.1"
OPEN: Final = 3
"""Maximum number of runs whose data is kept in memory."""
MOST_LABELS: Final = 20_000_000
"""Maximum size, in bytes, of labels in one request."""
MOST_RUNS: Final = 500
"""Maximum number of runs listed, the latest ones."""

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
_MESSAGE: Final = """<!doctype html>
<html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">
<meta name=color-scheme content="light dark"><title>Ragstone</title>
<body style="font: 16px/24px system-ui; max-width: 65ch; margin: 48px auto; padding: 0 16px; overflow-wrap: anywhere">
<main><h1 style="font-size: 20px">{title}</h1><p>{text}</p><p><a href=/>All runs</a></p></main></html>
"""
LINES: Final = "application/jsonl"
Answer = tuple[str, bytes]
"""The content type and the content at a path."""


class _AbsentError(Exception):
    """The run or record does not exist."""


class LabelDesk(Protocol):
    """Creates labelling pages for runs and stores people's labels."""

    def page(self, run: Run) -> list[bytes]:
        """Return the parts of the labelling page; raise InputError if there is nothing to label."""

    def kept(self, run: Run, annotator: str) -> bytes:
        """Return the labels of an annotator, as lines; empty if there are none."""

    def keep(self, run: Run, annotator: str, lines: bytes) -> None:
        """Store new labels of an annotator, and delete those of lines without one; InputError for invalid lines."""

    def files(self, run: Run) -> list[dict[str, Any]]:
        """Return the annotators, each with the number of labels and the command that compares the judge with them."""

    def of_record(self, run: Run, result: Result) -> list[dict[str, Any]]:
        """Return all current labels of a record's units."""


class Live(ThreadingHTTPServer):
    """Serves the runs of a store until it is closed; raises OSError if the port is in use."""

    daemon_threads = True

    def __init__(self, store: Store, desk: LabelDesk, port: int = 0) -> None:
        super().__init__((HOST, port), _Answer)
        catalogue()  # loaded before the first request
        self._store = store
        self._desk = desk
        self._lock = threading.Lock()  # only one thread at a time reads the store
        self._runs: OrderedDict[int, ServedRun] = OrderedDict()
        self._routes: list[tuple[str, Callable[..., Answer]]] = [
            ("/", lambda: (HTML, b"".join(runs_page(store)))),
            (_RUN, self._run_page),
            (rf"{_RUN}data/(rows|more|record|calls)-(0|[1-9][0-9]{{0,9}})", self._data),
            (rf"{_RUN}data/(worst)-(0)", self._data),
            (rf"{_RUN}data/(lines)-([1-9][0-9]{{0,9}}(?:,[1-9][0-9]{{0,9}}){{0,99}})", self._data),
            (rf"{_RUN}data/(search)-([0-9]{{1,9}}-[^/]{{1,3000}})", self._data),
            (rf"{_RUN}label/", lambda run: (HTML, b"".join(desk.page(self._run(run))))),
            (_LABELS, lambda run, annotator: (LINES, desk.kept(self._run(run), unquote(annotator)))),
            (rf"/compare/{_NUMBER}/{_NUMBER}/", self._compared),
        ]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect while a response is being sent."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"http://{HOST}:{self.server_address[1]}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """The host names by which requests may address it."""
        return f"{HOST}:{self.server_address[1]}", f"localhost:{self.server_address[1]}"

    def answer(self, path: str) -> Answer | None:
        """Return the content at a path, or None if there is none; raise InputError if it cannot be shown."""
        with self._lock, suppress(_AbsentError):
            for pattern, answered in self._routes:
                if found := re.fullmatch(pattern, path):
                    return answered(*found.groups())
        return None

    def keep_labels(self, path: str, lines: bytes) -> bool:
        """Store labels sent to a path; return False for other paths, raise InputError for invalid lines."""
        with self._lock, suppress(_AbsentError):
            if found := re.fullmatch(_LABELS, path):
                self._desk.keep(self._run(found[1]), unquote(found[2]), lines)
                return True
        return False

    # ---- routes

    def _run(self, number: str) -> Run:
        row = self._store.run(int(number))
        if row is None:
            raise _AbsentError
        return Run(self._store, row)

    def _served(self, number: str, *, fresh: bool = False) -> ServedRun:
        """Return the run as it was when its page was last loaded; raise InputError if it was deleted since."""
        key = int(number)
        held = self._runs.get(key)
        if held is None or fresh:
            run = self._run(number)
            _renew(run)
            # A run that has ended or got an agreement since is read again.
            old = None if held is None else (held.run.status, held.run.agreement)
            if held is None or run.status == "unfinished" or (run.status, run.agreement) != old:
                held = self._runs[key] = ServedRun(run)
        elif self._store.run(key) is None:
            raise InputError(f"run {key} ({held.run.name}) has been deleted")
        self._runs.move_to_end(key)
        while len(self._runs) > OPEN:
            self._runs.popitem(last=False)
        return held

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
            blocks, _, words = of.partition("-")
            return JSON, to_json(held.search(unquote(words), int(blocks)))
        result = held.run.at(int(of))
        if result is None:
            raise _AbsentError
        if kind == "calls":
            return JSON, to_json(calls_of(keys_of(result), self._store))
        return JSON, to_json({**held.case(result), "labels": self._desk.of_record(held.run, result)})

    def _compared(self, first: str, second: str) -> Answer:
        one, other = self._run(first), self._run(second)
        return HTML, b"".join(comparison_page(compare(one, other, moved=20), one, other, root="../../../"))


def _renew(run: Run) -> None:
    """Take over the agreement that was attached to a run's folder since it was loaded from there."""
    with suppress(InputError):  # the folder is gone or another run's: the page shows what was loaded
        saved = SavedRun(Path(run.store.folder)) if run.store.folder else None
        # Checked first: whether an agreement is current takes a hash of all results.
        if saved and saved.summary().get("agreement") != run.agreement and saved.agreement:
            run.attach(saved.agreement)


def _message(title: str, text: str) -> bytes:
    return _MESSAGE.format(title=title, text=html.escape(text)).encode("utf-8", "replace")


class _Answer(BaseHTTPRequestHandler):
    server: Live
    server_version = f"ragstone/{__version__}"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Send the content of the path or an error."""
        if not self._is_ours():
            return
        path = self.path.partition("?")[0]
        try:
            found = self.server.answer(path)
        except RagstoneError as error:
            if path.endswith("/"):  # opened by a person; data is requested by a page, which shows the text itself
                self._send(HTTPStatus.CONFLICT, HTML, _message("This page cannot be shown", str(error)))
            else:
                self._send(HTTPStatus.CONFLICT, "text/plain; charset=utf-8", f"{error}\n".encode("utf-8", "replace"))
            return
        if found is None:
            self._send(HTTPStatus.NOT_FOUND, HTML, _message("Not found", "There is no such run or page."))
        else:
            self._send(HTTPStatus.OK, *found)

    def do_PUT(self) -> None:
        """Store labels if a page of this server sent them."""
        if not self._is_ours():
            return
        size = self.headers.get("Content-Length", "")
        own = self.headers.get("Origin", "").removeprefix("http://") in self.server.hosts
        if not own or not size.isdecimal() or int(size) > MOST_LABELS:
            self.close_connection = True  # the unread body would be parsed as the next request
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"labels come from the pages of this server\n")
            return
        try:
            kept = self.server.keep_labels(self.path, self.rfile.read(int(size)))
        except RagstoneError as error:
            self._send(HTTPStatus.BAD_REQUEST, "text/plain; charset=utf-8", f"{error}\n".encode("utf-8", "replace"))
            return
        self._send(HTTPStatus.OK if kept else HTTPStatus.NOT_FOUND, "text/plain", b"kept\n" if kept else b"nothing\n")

    def _is_ours(self) -> bool:
        """Return whether the request addresses this server by its own name; refuse it otherwise."""
        if self.headers.get("Host", "").lower() in self.server.hosts:
            return True
        self.close_connection = True
        self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"request rejected: unexpected Host header\n")
        return False

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class's name
        """Log nothing: only the address is printed."""


# ---- the list of runs, built only from summaries


def runs_page(store: Store) -> list[bytes]:
    """Return the parts of the page of a store's runs."""
    rows = store.runs()
    runs = [_row(Run(store, row)) for row in rows[-MOST_RUNS:]]
    names = dict.fromkeys(name for run in runs for name in run["metrics"])
    first = {
        "ragstone": __version__,
        "root": "./",
        "store": store.path,
        "all": len(rows),
        "runs": runs[::-1],
        "metrics": sorted(names, key=card_order),
        "measures": measures(names),
    }
    return page("runs", "Runs", first, (), live=True)


def _row(run: Run) -> dict[str, Any]:
    summary = run.summary()
    bill = summary.get("bill") or {}
    return {
        "run": run.id,
        "name": run.name,
        "command": command_of(run.spec),
        "started": run.started,
        "status": run.status,
        "input": [run.spec.get(part) for part in ("input", "extent", "bank")],
        "records": summary["records"],
        "judges": judges_of(run.spec),
        "lead": lead(summary),
        "dollars": bill["paid"]["dollars"] if bill else None,
        "seconds": summary.get("seconds"),
        "metrics": {
            name: [entry["mean"], *(entry["interval"] or (None, None)), entry["scored"], entry["signature"]]
            for name, entry in summary["metrics"].items()
            if entry["mean"] is not None
        },
    }

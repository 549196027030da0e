"""The real Phoenix and MLflow on loopback, each with SQLite in a temporary folder, started by a Python that has it."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.error import URLError
from urllib.parse import quote, urlencode

import pytest

from fake_tools import ANSWER, PASSAGE, PROJECT, Stored, began, phoenix_spans, question

PATIENCE = 120
"""Seconds for a server to start, or to take in what it was sent."""

_SEED = """
import json, sys
import mlflow
project, traces = json.load(sys.stdin)
mlflow.set_experiment(project)
for asked, passage, answer, start in traces:
    root = mlflow.start_span_no_context("ask", span_type="CHAIN", inputs={"question": asked}, start_time_ns=start)
    found = mlflow.start_span_no_context("search", span_type="RETRIEVER", parent_span=root, inputs={"question": asked},
                                         start_time_ns=start)
    found.end(outputs=[{"page_content": passage}], end_time_ns=start + 10**9)
    root.end(outputs=answer, end_time_ns=start + 2 * 10**9)
    print(root.trace_id)
mlflow.flush_trace_async_logging()
"""


class RealServer:
    """A server that is started for a test. ``variable`` names the Python that has the package."""

    variable: ClassVar[str]
    service: ClassVar[str]
    environment: ClassVar[dict[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self.python = os.environ.get(self.variable, "")
        if not self.python:
            pytest.skip(f"{self.variable} names no Python with {self.service}; make test-services does")
        self.folder = folder
        self.traces: list[str] = []
        with socket.socket() as free, socket.socket() as second:
            free.bind(("127.0.0.1", 0))
            second.bind(("127.0.0.1", 0))
            self.port, self.second = free.getsockname()[1], second.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def command(self) -> tuple[list[str], dict[str, str]]:
        raise NotImplementedError

    def __enter__(self) -> Self:
        words, place = self.command()
        log = (self.folder / "server.log").open("wb")
        environment = {**os.environ, **place}
        self.process = subprocess.Popen([self.python, *words], env=environment, cwd=self.folder, stdout=log, stderr=log)
        log.close()
        until(lambda: self.process.poll() is None and self._ready())
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(self.url, timeout=5):
                return True
        except (URLError, OSError):
            return False

    def ask(self, path: str, body: Any = None, **params: Any) -> Any:
        address = f"{self.url}{path}" + (f"?{urlencode(params, doseq=True)}" if params else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def trace(self, number: int) -> str:
        return self.traces[number]


def until(holds: Any) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.2)


class RealPhoenix(RealServer):
    variable = "RAGSTONE_PHOENIX_PYTHON"
    service = "phoenix"

    def command(self) -> tuple[list[str], dict[str, str]]:
        place = {"PHOENIX_WORKING_DIR": str(self.folder), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(self.port)}
        more = {"PHOENIX_GRPC_PORT": str(self.second), "PHOENIX_TELEMETRY_ENABLED": "false"}
        return ["-m", "phoenix.server.main", "serve"], {**place, **more}

    def seed(self, count: int) -> None:
        spans = [span for number in range(count) for span in phoenix_spans(number)]
        self.traces = [f"{number:032x}" for number in range(count)]
        place = f"/v1/projects/{quote(PROJECT)}/spans"
        self.ask(place, {"data": spans})
        until(lambda: self._count(place) == len(spans))

    def _count(self, place: str) -> int:
        try:
            return len(self.ask(place, limit=1000)["data"])
        except URLError:  # the project comes with the first span
            return 0

    def add_other(self, number: int, name: str) -> None:
        one = {"span_id": f"{number:015x}a", "name": name, "annotator_kind": "HUMAN", "result": {"score": 1.0}}
        self.ask("/v1/span_annotations?sync=true", {"data": [one]})

    def stored(self) -> list[Stored]:
        spans = {f"{number:015x}a": name for number, name in enumerate(self.traces)}
        place = f"/v1/projects/{quote(PROJECT)}/span_annotations"
        found = self.ask(place, span_ids=list(spans), limit=1000)["data"]
        return sorted(
            (spans[one["span_id"]], one["name"], *(one["result"][key] for key in ("score", "label", "explanation")))
            for one in found
            if one["identifier"] == "ragstone"
        )

    def stored_documents(self) -> list[tuple[Any, ...]]:
        """Of its database: the API does not list them."""
        said = "SELECT s.span_id, d.document_position, d.name, d.score, d.label FROM document_annotations d"
        with closing(sqlite3.connect(self.folder / "phoenix.db")) as database:
            return sorted(database.execute(f"{said} JOIN spans s ON s.id = d.span_rowid"))


class RealMLflow(RealServer):
    variable = "RAGSTONE_MLFLOW_PYTHON"
    service = "mlflow"

    def command(self) -> tuple[list[str], dict[str, str]]:
        store = f"sqlite:///{self.folder / 'mlflow.db'}"
        words = ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        more = ["--backend-store-uri", store, "--default-artifact-root", str(self.folder / "artifacts")]
        return words + more, {"MLFLOW_DISABLE_TELEMETRY": "true"}

    def seed(self, count: int) -> None:
        rows = [(question(n), PASSAGE, ANSWER, int(began(n).timestamp() * 1e9)) for n in range(count)]
        environment = {**os.environ, "MLFLOW_TRACKING_URI": self.url, "MLFLOW_DISABLE_TELEMETRY": "true"}
        made = subprocess.run(
            [self.python, "-c", _SEED], input=json.dumps([PROJECT, rows]), env=environment, text=True, check=True,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        self.traces = made.stdout.split()

    def add_other(self, number: int, name: str) -> None:
        trace = self.traces[number]
        one = {"assessment_name": name, "trace_id": trace, "feedback": {"value": 1.0}}
        source = {"source_type": "HUMAN", "source_id": "ana"}
        self.ask(f"/api/3.0/mlflow/traces/{trace}/assessments", {"assessment": {**one, "source": source}})

    def stored(self) -> list[Stored]:
        infos = [self.ask(f"/api/3.0/mlflow/traces/{name}")["trace"]["trace_info"] for name in self.traces]
        return sorted(
            (
                info["trace_id"],
                one["assessment_name"],
                one["feedback"]["value"],
                one["metadata"]["label"],
                one["rationale"],
            )
            for info in infos
            for one in info.get("assessments", ())
            if one["source"]["source_id"] == "ragstone"
        )

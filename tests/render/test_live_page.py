"""The served page: on this machine alone, by its own name, for reading, piece by piece."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live_run import served
from ragstone import api, evaluate
from ragstone.analysis.run import find_run
from ragstone.errors import ConfigError
from ragstone.render.html.build import ROWS
from ragstone.render.html.live import Live
from ragstone.store.database import ResultRow, Store
from ragstone.testing import ScriptedJudge

RECORDS = 5


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server of a small run."""
    with served(tmp_path_factory.mktemp("l"), RECORDS) as server:
        yield server


def ask(live: Live, path: str, method: str = "GET", host: str | None = None) -> tuple[int, dict[str, str], bytes]:
    """One request, with any Host."""
    connection = http.client.HTTPConnection("127.0.0.1", live.server_address[1], timeout=30)
    connection.request(method, path, headers={"Host": host} if host is not None else {})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def test_it_listens_on_this_machine_alone(live: Live) -> None:
    """Bound to the loopback address, at a port of its own."""
    assert live.server_address[0] == "127.0.0.1"
    assert live.address == f"http://127.0.0.1:{live.server_address[1]}/"


def test_the_page_may_ask_its_own_server_and_nobody_else(live: Live) -> None:
    """No other site may frame it, read it or be told of it."""
    status, headers, content = ask(live, "/")
    assert status == 200
    assert b"connect-src &#x27;self&#x27;" in content
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "", "127.0.0.1.evil.example"])
def test_another_name_is_turned_away(live: Live, host: str) -> None:
    """A name that was pointed here by somebody else gets nothing, also not the data."""
    for path in ("/", "/data/record-1"):
        status, _, content = ask(live, path, host=host)
        assert status == 421
        assert b"r0" not in content


def test_its_own_names_are_answered(live: Live) -> None:
    """The number and localhost, with the port."""
    for host in (f"127.0.0.1:{live.server_address[1]}", f"LOCALHOST:{live.server_address[1]}"):
        assert ask(live, "/", host=host)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_nothing_but_reading(live: Live, method: str) -> None:
    """There is no other method."""
    assert ask(live, "/", method)[0] == 501


@pytest.mark.parametrize("path", [
    "/data/record-6", "/data/record-0", "/data/record-01", "/data/calls-99999999999", "/data/rows--1", "/x",
    "/../../etc/passwd", "/data/record-1/../../..", "/data/record-%31", "/data/", "/report.html",
])  # fmt: skip
def test_there_is_nothing_else(live: Live, path: str) -> None:
    """No file is read: paths name pieces of the run, and anything else is not there."""
    assert ask(live, path)[0] == 404


def test_pieces_are_the_runs(live: Live) -> None:
    """Rows, whole texts, a record, its calls; a block beyond the last is empty."""

    def piece(name: str) -> Any:
        status, headers, content = ask(live, f"/data/{name}")
        assert (status, headers["Content-Type"]) == (200, "application/json")
        return json.loads(content)

    assert piece("rows-0")["position"] == [1, 2, 3, 4, 5]
    assert piece("rows-1")["position"] == []
    assert [position for position, _ in piece("texts-0")] == [1, 2, 3, 4, 5]
    assert piece("texts-0")[1][1].startswith("r1\n")
    assert piece("texts-1") == []
    assert piece("record-2")["id"] == "r1"
    assert [call["request"]["task"] for call in piece("calls-2")] == ["support"]


def test_rows_come_by_place(tmp_path: Path) -> None:
    """A run whose places have gaps, as one that was cut off, has every record in one block."""
    run = evaluate([{"id": "a", "question": "q", "response": "It is.", "contexts": ["It is."]}], "groundedness",
                   ScriptedJudge({"support": "3"}), store=tmp_path / "s.db")  # fmt: skip
    number = run.store.start_run("gaps", dict(run.spec))
    (row,) = run.store.results(run.id)
    run.store.begin()
    run.store.insert([], [(number, row._replace(position=at, record=f"r{at}"), []) for at in (1, ROWS, ROWS + 1)])
    run.store.commit()
    assert run.store.last_place(number) == ROWS + 1
    assert [found.position for found in run.store.results(number, ROWS, 2 * ROWS)] == [ROWS + 1]
    run.store.close()


def test_a_run_that_is_being_written_is_one_run(tmp_path: Path) -> None:
    """Each load shows what there is by then; the table holds the records that the figures are of."""
    rows = [{"id": f"r{n}", "question": "q", "response": "It is.", "contexts": ["It is."]} for n in range(3)]
    run = evaluate(rows, "groundedness", ScriptedJudge({"support": "3"}), store=tmp_path / "s.db")
    number = run.store.start_run("growing", dict(run.spec))
    (result, *_) = run.store.results(run.id)
    scores = list(run.store.scores(run.id, until=1))

    def written(*places: int) -> None:
        documents = {at: json.dumps({**json.loads(result.document), "position": at}).encode() for at in places}
        rows = [(number, ResultRow(at, f"r{at}", document), [score._replace(position=at) for score in scores])
                for at, document in documents.items()]  # fmt: skip
        run.store.begin()
        run.store.insert([], rows)
        run.store.commit()

    def told(live: Live) -> dict[str, Any]:
        _, page = live.answer("/") or ("", b"")
        found = re.search(rb'id="first">(.*?)</script>', page, re.DOTALL)
        assert found is not None
        return dict(json.loads(found[1]))

    def listed(live: Live, blocks: int) -> list[int]:
        content = [(live.answer(f"/data/rows-{block}") or ("", b""))[1] for block in range(blocks)]
        return [place for block in content for place in json.loads(block)["position"]]

    written(1, 3)
    with Store(tmp_path / "s.db") as other, api.serving(other) as live:
        first = told(live)
        written(2, 4, ROWS + 1)
        assert (first["records"], first["metrics"][0]["scored"], first["status"]) == (2, 2, "unfinished")
        assert listed(live, first["row_blocks"]) == [1, 3]
        first = told(live)
        assert (first["records"], first["metrics"][0]["scored"], first["row_blocks"]) == (5, 5, 2)
        assert listed(live, 2) == [1, 2, 3, 4, ROWS + 1]
        run.store.finish_run(number, "done", find_run(run.store, number).summary())
        assert told(live)["status"] == "done"
        assert listed(live, 2) == [1, 2, 3, 4, ROWS + 1]
    run.store.close()


def test_what_is_read_together_is_of_one_moment(tmp_path: Path) -> None:
    """Results that another process writes between two questions are in the answer of neither."""
    rows = [{"id": "r", "question": "q", "response": "It is.", "contexts": ["It is."]}]
    run = evaluate(rows, "groundedness", ScriptedJudge({"support": "3"}), store=tmp_path / "s.db")
    (result,) = run.store.results(run.id)
    with Store(tmp_path / "s.db") as other:
        with other.snapshot():
            assert other.count(run.id) == 1
            run.store.begin()
            run.store.insert([], [(run.id, result._replace(position=2, record="r2"), [])])
            run.store.commit()
            assert other.count(run.id) == 1
            assert other.ids(run.id) == {1: "r"}
        assert other.ids(run.id) == {1: "r", 2: "r2"}
    run.store.close()


def test_a_port_that_is_taken_is_said(live: Live, tmp_path: Path) -> None:
    """In one line, with what to do."""
    run = evaluate([{"id": "a", "response": "It is.", "contexts": ["It is."]}], "groundedness",
                   ScriptedJudge({"support": "3"}), store=tmp_path / "s.db")  # fmt: skip
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with (
            pytest.raises(ConfigError, match="choose another with --port"),
            api.serving(run.store, taken.getsockname()[1]),
        ):
            pass
    run.store.close()

"""The served page: on this machine alone, by its own name, for reading, piece by piece."""

from __future__ import annotations

import http.client
import json
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attached import agreement, corrected
from live_run import listening, served, stored
from page_blocks import unpacked
from ragstone import api, evaluate
from ragstone.analysis.run import find_run
from ragstone.analysis.saved import SavedRun
from ragstone.api.agreeing import attach_agreement
from ragstone.errors import ConfigError
from ragstone.render.html.live import Live
from ragstone.render.html.served_run import ROWS
from ragstone.store.database import ResultRow, Store
from ragstone.testing import ScriptedJudge

RECORDS = 5


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server of a small run, in a folder with a space in its name."""
    with served(tmp_path_factory.mktemp("my runs"), RECORDS) as server:
        yield server


def ask(
    live: Live, path: str, method: str = "GET", host: str | None = None, **more: Any
) -> tuple[int, dict[str, str], bytes]:
    """One request, with any Host."""
    connection = http.client.HTTPConnection("127.0.0.1", live.server_address[1], timeout=30)
    own = {"Host": host} if host is not None else {}
    connection.request(method, path, headers={**own, **more.get("headers", {})}, body=more.get("body"))
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def test_the_page_may_ask_its_own_server_and_nobody_else(live: Live) -> None:
    """It is bound to the loopback address; no other site may frame it, read it or be told of it."""
    assert live.server_address[0] == "127.0.0.1"
    assert live.address == f"http://127.0.0.1:{live.server_address[1]}/"
    status, headers, content = ask(live, "/")
    assert status == 200
    assert b"connect-src &#x27;self&#x27;" in content
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "", "127.0.0.1.evil.example"])
def test_another_name_is_turned_away(live: Live, host: str) -> None:
    """A name that was pointed here by somebody else gets nothing, also not the data; its own names are answered."""
    for path in ("/", "/run/1/", "/run/1/data/record-1"):
        status, _, content = ask(live, path, host=host)
        assert status == 421
        assert b"r0" not in content
    for own in (f"127.0.0.1:{live.server_address[1]}", f"LOCALHOST:{live.server_address[1]}"):
        assert ask(live, "/", host=own)[0] == 200


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_nothing_but_reading(live: Live, method: str) -> None:
    """There is no other method."""
    assert ask(live, "/", method)[0] == 501


@pytest.mark.parametrize("path", [
    "/run/1/data/record-6", "/run/1/data/record-0", "/run/1/data/record-01", "/run/1/data/calls-99999999999", "/x",
    "/run/1/data/rows--1", "/run/2/", "/run/0/", "/run/1", "/run/2/data/rows-0", "/compare/1/2/", "/run/2/label/",
    "/../../etc/passwd", "/run/1/data/record-1/../../..", "/run/1/data/record-%31", "/run/1/data/", "/report.html",
    f"/run/1/data/lines-{','.join('1' * 101)}", "/run/1/label/data/labels-a/b",
])  # fmt: skip
def test_there_is_nothing_else(live: Live, path: str) -> None:
    """No file is read: paths name pieces of the run, and anything else is not there."""
    status, headers, body = ask(live, path)
    assert (status, headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert b"<a href=/>All runs</a>" in body


def test_a_page_that_cannot_be_shown_says_why_and_leads_back(tmp_path: Path) -> None:
    """As text on a page, with a link to the runs; what a page asks for is answered in plain text."""
    store = stored(tmp_path).store
    store.start_run("<b>empty</b>", dict(find_run(store, 1).spec))
    with listening(store) as live:
        for path, said in (("/compare/1/2/", " has no results"), ("/run/2/label/", ": no record has a score with ")):
            status, headers, body = ask(live, path)
            assert (status, headers["Content-Type"]) == (409, "text/html; charset=utf-8")
            assert f"&lt;b&gt;empty&lt;/b&gt;{said}" in body.decode()
            assert b"<a href=/>All runs</a>" in body


def test_pieces_are_the_runs(live: Live) -> None:
    """Rows, what results say besides, lines, found words, a record, its calls; a block beyond the last is empty."""

    def piece(name: str) -> Any:
        status, headers, content = ask(live, f"/run/1/data/{name}")
        assert (status, headers["Content-Type"]) == (200, "application/json")
        return json.loads(content)

    assert piece("rows-0")["position"] == [1, 2, 3, 4, 5]
    assert piece("rows-0")["values"]["groundedness"] == [1.0] * 5
    assert "question" not in piece("rows-0")
    assert piece("rows-1")["position"] == []
    assert piece("search-0-r1") == {"found": [], "read": 0}  # nothing was read so far
    assert piece("search-1-r1") == {"found": [2], "read": 5}  # what the page has read is read again for it
    assert piece("more-0")["verdicts"] == {"groundedness": [8] * 5}
    assert piece("search-1-IT%20r1") == {"found": [2], "read": 5}
    (line,) = piece("lines-2")
    assert line[:3] == [2, "q", "It is."]
    assert line[3].startswith("r1\n")
    assert piece("record-2")["id"] == "r1"
    assert [call["request"]["task"] for call in piece("calls-2")] == ["support"]


def test_labels_come_from_its_own_pages_alone(live: Live) -> None:
    """Checked, one file an annotator beside the store; shown with the record while its text is the same."""
    place, own = "/run/1/label/data/labels-Ann%20B", {"Origin": live.address.rstrip("/")}
    record = json.loads(ask(live, "/run/1/data/record-1")[2])
    row = {
        "record": "r0",
        "unit": f"r0/{record['units'][0]['id']}",
        "task": "support",
        "label": "3",
        "annotator": "Ann B",
    }
    good = json.dumps(row).encode()
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        assert ask(live, place, "PUT", headers=headers, body=good)[0] == 403
    assert ask(live, place, "PUT", host="evil.example", headers=own, body=good)[0] == 421
    for body, said in ((b"{", "not JSON"), (json.dumps({**row, "annotator": "x"}).encode(), "an annotator other than")):
        status, _, content = ask(live, place, "PUT", headers=own, body=body)
        assert status == 400
        assert said in content.decode()
    assert record["labels"] == json.loads(ask(live, "/run/1/data/record-1")[2])["labels"] == []
    assert ask(live, "/run/1/label/data/", "PUT", headers=own, body=good)[0] == 404
    for about, shown in (({"response": "00"}, 0), ({}, 1), ({"hash": "00"}, 0)):
        line = json.dumps({**row, **about}).encode()
        assert ask(live, place, "PUT", headers=own, body=line)[0] == 200
        assert len(json.loads(ask(live, "/run/1/data/record-1")[2])["labels"]) == shown
    assert json.loads(ask(live, place)[2])["annotator"] == "Ann B"
    store = Path(live._store.path)
    (told,) = unpacked(ask(live, "/run/1/")[2])["first"]["labels"]
    assert shlex.split(told["command"]) == [
        "ragstone", "agree", "1", str(store.with_name("labels-1-Ann-B.jsonl")), "--store", str(store)
    ]  # fmt: skip
    assert ask(live, "/run/1/label/data/labels-Ann-B")[2] == b""  # of the same file, and not of this name
    first = unpacked(ask(live, "/run/1/label/")[2])["first"]
    (unit, *_), name = first["records"][0]["units"], first["records"][0]["id"]
    about = {"record": name, "unit": unit["id"], "hash": unit["hash"], "rubric": first["rubric"]}
    new, undone = {**row, **about}, {**row, **about}
    del undone["label"]
    # A label that is not sent again stays: another browser may have sent it. One that is undone is gone.
    for sent, labels in (
        (new, ["3", "3"]), ({**new, "label": "1"}, ["3", "1"]), ({**new, "unit": "r0/sentence/9"}, ["3", "1", "3"]),
        (undone, ["3", "3"]),
    ):  # fmt: skip
        assert ask(live, place, "PUT", headers=own, body=json.dumps(sent).encode())[0] == 200
        assert [json.loads(line)["label"] for line in ask(live, place)[2].splitlines()] == labels
    assert ask(live, place, "PUT", headers=own, body=b"{}")[0] == 400


def test_a_run_that_is_being_written_is_one_run(tmp_path: Path) -> None:
    """Each load shows what there is by then; the table has the records that the figures are of, in blocks."""
    run = stored(tmp_path, 3)
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
        _, page = live.answer(f"/run/{number}/") or ("", b"")
        return dict(unpacked(page)["first"])

    def listed(live: Live, blocks: int) -> list[int]:
        content = [(live.answer(f"/run/{number}/data/rows-{block}") or ("", b""))[1] for block in range(blocks)]
        return [place for block in content for place in json.loads(block)["position"]]

    written(1, 3)
    with Store(tmp_path / "s.db") as other, api.serving(other) as live:
        first = told(live)
        written(2, 4, ROWS, ROWS + 1)
        assert (first["records"], first["metrics"][0]["scored"], first["status"]) == (2, 2, "unfinished")
        assert listed(live, first["row_blocks"]) == [1, 3]
        first = told(live)
        assert (first["records"], first["metrics"][0]["scored"], first["row_blocks"]) == (6, 6, 2)
        assert [listed(live, blocks) for blocks in (1, 2)] == [[1, 2, 3, 4, ROWS], [1, 2, 3, 4, ROWS, ROWS + 1]]
        run.store.finish_run(number, "done", find_run(run.store, number).summary())
        assert told(live)["status"] == "done"
        assert listed(live, 2) == [1, 2, 3, 4, ROWS, ROWS + 1]


def test_a_page_is_of_the_run_as_it_is_now(tmp_path: Path) -> None:
    """An agreement attached since is on it; an open page of a deleted run gets nothing more."""
    run = stored(tmp_path, 2)

    def first(live: Live, path: str) -> dict[str, Any]:
        status, _, content = ask(live, path)
        return dict(unpacked(content)["first"]) if status == 200 else {"status": status, "said": content.decode()}

    with listening(Store(tmp_path / "s.db")) as live:
        assert first(live, "/run/1/")["agreement"] is None
        assert first(live, "/run/1/label/")["draw"]["of"] == 2
        run.attach(agreement())
        assert first(live, "/run/1/")["agreement"]["blocks"]
        run.store.drop_run(1)
        assert first(live, "/run/1/data/rows-0") == {"status": 409, "said": "run 1 (records) has been deleted\n"}
        assert first(live, "/run/1/")["status"] == 404
        assert stored(tmp_path, 3).id == 2
        assert first(live, "/run/1/label/")["status"] == 404


def test_an_agreement_attached_to_a_folder_since_is_on_its_page(tmp_path: Path) -> None:
    rows = [{"question": "q", "response": "It is.", "contexts": ["It is."]}]
    evaluate(rows, "groundedness", ScriptedJudge({"support": "3"}), store=tmp_path / "s.db", out=tmp_path / "out")
    run = api.run_to_show(str(tmp_path / "out"))
    with listening(run.store) as live:
        for share in (74, 50):
            attach_agreement(SavedRun(tmp_path / "out"), agreement(corrected(share / 100, 0.4, 0.8)))
            assert f"corrected {share}%" in str(unpacked(ask(live, f"/run/{run.id}/")[2])["first"]["agreement"])


def test_the_first_screen_of_a_finished_run_reads_no_score(tmp_path: Path) -> None:
    """A run of a million has its figures in its summary; its lowest records, for paper, come later."""
    with stored(tmp_path, 2, "0").store as store:
        queries: list[str] = []
        store._reader.set_trace_callback(queries.append)
        with api.serving(store) as live:
            _, page = live.answer("/run/1/") or ("", b"")
            assert b'"worst":[]' in page
            assert [query for query in queries if "scores" in query] == []
            _, lowest = live.answer("/run/1/data/worst-0") or ("", b"")
        assert [one["id"] for one in json.loads(lowest)] == ["r0", "r1"]


def test_what_is_read_together_is_of_one_moment(tmp_path: Path) -> None:
    """Results that another process writes between two questions are in the answer of neither."""
    run = stored(tmp_path)
    (result,) = run.store.results(run.id)
    with Store(tmp_path / "s.db") as other:
        with other.snapshot():
            assert other.count(run.id) == 1
            run.store.begin()
            run.store.insert([], [(run.id, result._replace(position=2, record="r2"), [])])
            run.store.commit()
            assert other.count(run.id) == 1
            assert other.ids(run.id) == {1: "r0"}
        assert other.ids(run.id) == {1: "r0", 2: "r2"}


def test_a_port_that_is_taken_is_said(live: Live, tmp_path: Path) -> None:
    """In one line, with what to do."""
    run = stored(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with (
            pytest.raises(ConfigError, match="choose another with --port"),
            api.serving(run.store, taken.getsockname()[1]),
        ):
            pass

"""``ragstone report`` and ``ragstone view``: where a page goes, and how serving one ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from terminal import TRACES, done, ragstone, refused

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("alone")


def test_a_report_is_named_after_its_run(weighed: Path) -> None:
    """Unless it is named; a folder gets report.html, and is made where it is written as one."""
    came = done("report", "--store", str(weighed))
    assert "report-1.html" in came.out
    assert "22 records from run 1" in came.out
    for given, written in (("x.html", "x.html"), ("new/", "new/report.html"), (".", "report.html")):
        came = ragstone("report", "1", "-o", given, "--store", str(weighed), "--json")
        assert came.json == {"written": written, "bytes": Path(written).stat().st_size, "run": 1, "records": 22}
        assert Path(written).read_bytes().startswith(b"<!DOCTYPE html>")


def test_a_folder_is_shown_as_the_run_that_was_written_there() -> None:
    """Without the store; what was asked and replied is not in it. A run of the store goes before a folder."""
    row = {"id": "a", "response": "It is steel. It is red.", "contexts": ["It is steel."]}
    Path("a.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    for compressed in (("--zstd",), ()):
        assert ragstone("run", "a.jsonl", "-q", "-o", "out", *compressed).code == 0
        number = ragstone("show", "last", "--json").json["run"]
        for command in (("show",), ("show", "a"), ("report", "-o", "x.html")):
            (name, *more), store = command, ("--store", "none.db")
            of_store, of_folder = (ragstone(name, run, *more, "--json", *where).json
                                   for run, where in ((str(number), ()), ("out", store)))  # fmt: skip
            assert {**of_store, "bytes": 0, "agreement": None} == {**of_folder, "bytes": 0, "agreement": None}
        told = ragstone("show", "out/", "--store", "none.db").out
        assert f"run {number} · 1 record" in told
        assert "Next        ragstone show out/ a" in told
    assert not Path("none.db").exists()
    assert ragstone("run", "a.jsonl", "-q", "--name", "out").code == 0
    assert [ragstone("show", which, "--json").json["run"] for which in ("out", "./out")] == [3, 2]
    (result,) = map(json.loads, Path("out/results.jsonl").read_text("utf-8").splitlines())
    for key, without in (("units", result), ("metric", result["scores"][0])):
        del without[key]
        Path("out/results.jsonl").write_text(json.dumps(result) + "\n", "utf-8")
        for which in ("show ./out", "show ./out a", "report ./out -o x.html", "label ./out"):
            came = ragstone(*which.split())
            assert came.code == 2, came.err
            assert came.err.startswith("error: out/results.jsonl"), "the file, not a fault of the program"


def test_the_demo_makes_two_runs_that_can_be_compared() -> None:
    """From an empty folder: both runs of the same judge in the store, their pages, and what to type next."""
    came = done("demo", "-o", "out")
    assert all(Path("out", name).read_bytes().endswith(b"</html>\n") for name in ("report.html", "compare.html"))
    assert "ragstone view" in came.out
    runs = ragstone("runs", "--json").json
    assert [(run["name"], run["records"], run["judges"]) for run in runs] == [
        ("demo", 22, ["embedded"]), ("demo-copied", 22, ["embedded"]),
    ]  # fmt: skip
    found = {one["metric"]: one["finding"] for one in ragstone("compare", "1", "2", "--json").json["metrics"]}
    assert found["response_groundedness"] == "higher"
    topics = ragstone("compare", "1", "2", "--by", "meta.topic")
    assert "6 groups" in topics.out
    assert "also fits" not in came.err


def test_no_calls_makes_it_smaller(weighed: Path) -> None:
    """What was asked and replied is left out."""
    sizes = [ragstone("report", "1", "--store", str(weighed), "--json", *more).json["bytes"]
             for more in ((), ("--no-calls",))]  # fmt: skip
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(("out", "said"), [
    ("-", "a page needs an output file"),
    ("nowhere/report.html", "cannot be written"),
])  # fmt: skip
def test_where_it_cannot_go_is_one_line(weighed: Path, out: str, said: str) -> None:
    """With the code for usage."""
    assert said in refused("report", "-o", out, "--store", str(weighed))


def test_the_store_is_not_written_over(weighed: Path) -> None:
    """Whatever was typed."""
    before = weighed.read_bytes()
    assert "would be overwritten" in refused("report", "-o", str(weighed), "--store", str(weighed))
    assert weighed.read_bytes() == before


def test_a_run_that_is_not_there_is_said(weighed: Path) -> None:
    """By both commands, as by any other."""
    for command in ("report", "view"):
        assert "no run '99'" in refused(command, "99", "--store", str(weighed))


def test_run_leaves_the_report_out_where_it_is_not_wanted() -> None:
    """And says what it wrote."""
    Path("a.jsonl").write_text('{"id": "a", "response": "It is.", "contexts": ["It is."]}\n', "utf-8")
    for flag, there in (("--report", True), ("--no-report", False)):
        came = done("run", "a.jsonl", "-o", flag[2:], flag)
        assert Path(flag[2:], "report.html").exists() == there
        assert ("report.html" in came.out) == there


@pytest.mark.parametrize("of_folder", [False, True])
def test_serving_ends_calmly(weighed: Path, of_folder: bool) -> None:
    """The address is printed, the page is there, of a folder too, and Ctrl-C is no error."""
    which = ["1", "--store", str(weighed)]
    if of_folder:
        assert ragstone("run", str(TRACES), "-q", "-m", "grounding", "-o", "out", "--store", "other.db").code == 0
        which = ["out/"]
    command = [sys.executable, "-m", "ragstone", "view", *which, "--no-open", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}
    ) as process:
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("}"):
                    break
            told = json.loads("".join(lines))
            place = urlsplit(told["address"])
            assert place.hostname == "127.0.0.1"
            connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=30)
            connection.request("GET", f"{place.path}data/rows-0")
            assert len(json.loads(connection.getresponse().read())["position"]) == told["records"] == 22
            connection.close()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()  # else a failure would wait for it for ever
    assert process.returncode == 0, err
    assert out == ""
    assert err == "note: stopped serving; the runs stay in the store\n"

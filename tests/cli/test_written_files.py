"""What ``-o`` leaves: a place of one's own while it is written, and a screen that names what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import ragstone, refused, row, write

from ragstone.output.files import Folder

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("alone")


def test_a_folder_that_another_run_writes_to_is_refused_before_anything_is_done() -> None:
    """One line; the store has no run, and what the other has written is as it was."""
    with Folder(Path("out"), cases=False).claimed() as other, other:
        other.add("r9", b'{"id":"r9"}')
        told = refused("run", write("a.jsonl", row(1)), "-o", "out", "-q")
        assert told == (
            "error: out: another run is writing there; wait for it to end, or choose another folder with -o\n"
        )
    assert Path("out/results.jsonl").read_bytes() == b'{"id":"r9"}\n'
    assert "No runs yet" in ragstone("runs").out
    assert ragstone("run", "a.jsonl", "-o", "out", "-q").code == 0


# ---- what ended early


def test_a_run_that_stopped_names_the_file_that_it_left(fake: str) -> None:
    """Its results are in the partial file; what has the final name is of an earlier run, and is told to be."""
    rows = [row(n) for n in range(1, 9)]
    options = ("-j", fake, "-m", "groundedness", "-q", "--max-calls", "3")
    came = ragstone("run", write("a.jsonl", *rows), *options, "-o", "fresh")
    assert came.code == 4
    assert "Files       fresh: results.jsonl.partial, summary.json, run.json, report.html\n" in came.out
    assert "earlier run" not in came.out
    assert ragstone("run", write("b.jsonl", row(1)), "-o", "used", "-q").code == 0
    came = ragstone("run", "a.jsonl", *options, "--no-cache", "-o", "used")
    assert came.code == 4
    assert "Files       used: results.jsonl.partial, summary.json, run.json, report.html\n" in came.out
    assert "              results.jsonl in this folder is from an earlier run\n" in came.out


def test_a_run_that_is_done_names_no_earlier_one() -> None:
    for _ in range(2):
        came = ragstone("run", write("a.jsonl", row(1)), "-o", "out", "--cases", "--no-report", "-q")
        assert "Files       out: results.jsonl, summary.json, run.json, cases/\n" in came.out
        assert "earlier run" not in came.out


# ---- where there is no room


FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")


@needs_full
def test_results_that_do_not_fit_are_told_with_what_is_kept() -> None:
    """The folder, the cause, what to do, the run, which is whole: its screen comes first, and no file is left."""
    Path("out").mkdir()
    Path("out/results.jsonl.partial").symlink_to(FULL)
    rows = [row(n, response=f"Number {n} boils. " + "It is a kettle. " * 99) for n in range(20)]
    came = ragstone("run", write("a.jsonl", *rows), "-m", "answer_relevance", "-o", "out", "-q")
    assert came.code == 2
    assert came.err == (
        "error: out: cannot write there (No space left on device); free space or choose another folder with -o\n"
        "note: run 1 is done and saved in the store\n"
    )
    assert "run 1 · 20 records\n" in came.out
    assert "Files" not in came.out
    assert list(Path("out").iterdir()) == []


@pytest.mark.parametrize("name", ["summary.json", "report.html"])
def test_a_file_that_cannot_be_written_loses_no_run(name: str) -> None:
    """The screen of the finished run, with the files that are there, and after it what failed."""
    assert ragstone("run", write("b.jsonl", row(1)), "-o", "out", "-q").code == 0
    Path(f"out/{name}.partial").mkdir()
    came = ragstone("run", write("a.jsonl", row(1), row(2)), "-o", "out", "-q")
    assert came.code == 2
    assert came.err == (
        f"error: out/{name}: cannot be written (Is a directory); choose another folder with -o\n"
        "note: run 2 is done and saved in the store\n"
    )
    assert "run 2 · 2 records\n" in came.out
    there = ", ".join(["results.jsonl", *(["summary.json", "run.json"] if name == "report.html" else [])])
    assert f"Files       out: {there}\n" in came.out
    assert len(Path("out/results.jsonl").read_text().splitlines()) == 2


@needs_full
def test_lines_that_do_not_fit_are_told_with_their_file(fake: str) -> None:
    came = ragstone("nuggets", "create", write("a.jsonl", row(1)), "-j", fake, "-o", str(FULL), "-q")
    assert came.code == 2
    said = "error: /dev/full: cannot be written (No space left on device); free space or choose another file\n"
    assert said in came.err
    assert "Calls       2 sent" in came.err

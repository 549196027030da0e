"""What ``-o`` leaves: a place of one's own while it is written, and a screen that names what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import ragstone, row, write

from ragstone.report.files import Folder

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("home")


def test_a_folder_that_another_run_writes_to_is_refused_before_anything_is_done() -> None:
    """One line; the store has no run, and what the other has written is as it was."""
    with Folder(Path("out"), cases=False).claimed() as other, other:
        other.add("r9", b'{"id":"r9"}')
        came = ragstone("run", write("a.jsonl", row(1)), "-o", "out", "-q")
        assert came.code == 2
        said = "error: out: another run is writing there; wait for it to end, or choose another folder with -o\n"
        assert (came.out, came.err) == ("", said)
    assert Path("out/results.jsonl").read_bytes() == b'{"id":"r9"}\n'
    assert "No runs yet" in ragstone("runs").out
    assert ragstone("run", "a.jsonl", "-o", "out", "-q").code == 0

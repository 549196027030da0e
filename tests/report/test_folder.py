"""The files of a run: whole under their names, harmless names, one file a record on request."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import ConfigError
from ragstone.report.files import Folder, file_name


def test_results_stand_under_their_name_when_they_are_whole(tmp_path: Path) -> None:
    """Until the end they are in a partial file; then that is gone."""
    folder = Folder(tmp_path / "a" / "b", cases=False)
    target = tmp_path / "a" / "b" / "results.jsonl"
    with folder:
        folder.add("r1", b'{"id":"r1"}')
        assert not target.exists()
        folder.add("r2", b'{"id":"r2"}')
    assert target.read_bytes() == b'{"id":"r1"}\n{"id":"r2"}\n'
    assert [path.name for path in target.parent.iterdir()] == ["results.jsonl"]


def test_a_run_that_broke_off_leaves_the_earlier_results(tmp_path: Path) -> None:
    """What stood under the name stays; what came this time is in the partial file."""
    (tmp_path / "results.jsonl").write_bytes(b"earlier\n")
    folder = Folder(tmp_path, cases=False)

    def interrupted() -> None:
        with folder:
            folder.add("r1", b"{}")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "results.jsonl").read_bytes() == b"earlier\n"
    assert (tmp_path / "results.jsonl.partial").read_bytes() == b"{}\n"


def test_summary_and_run_are_written_readably(tmp_path: Path) -> None:
    folder = Folder(tmp_path, cases=False)
    with folder:
        pass
    folder.finish({"mean": 0.5}, {"run": 1, "status": "done"})
    assert orjson.loads((tmp_path / "summary.json").read_bytes()) == {"mean": 0.5}
    kept = '{\n  "run": 1,\n  "status": "done",\n  "results": "results.jsonl"\n}\n'
    assert (tmp_path / "run.json").read_text() == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.jsonl", "run.json", "summary.json"]


def test_a_file_a_record_on_request(tmp_path: Path) -> None:
    """Named by the record's id, readable, and never outside the folder."""
    folder = Folder(tmp_path, cases=True)
    with folder:
        folder.add("r1", b'{"id":"r1"}')
        folder.add("../../etc/passwd", b'{"id":"x"}')
    cases = tmp_path / "cases"
    assert (cases / "r1.json").read_text() == '{\n  "id": "r1"\n}\n'
    assert len(list(cases.iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir() if path.name != "cases"] == ["results.jsonl"]


@pytest.mark.parametrize("record", ["r1", "a-b_c.2", "R2D2", "0", "x" * 100])
def test_harmless_ids_are_their_names(record: str) -> None:
    assert file_name(record) == record


@pytest.mark.parametrize(
    "record",
    ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "a b", "c:x", "con", "NUL", "com1.txt", "x.", "-rf",
     ".hidden", "é", "日本", "a\0b", "a\nb", "x" * 101, "\ud800", "a:b", "a*b"],
)  # fmt: skip
def test_other_ids_become_harmless_names(record: str) -> None:
    """Letters, digits and a hash: no path, no reserved name, no hidden file, and different for different ids."""
    name = file_name(record)
    assert name.isascii()
    assert name.replace("-", "").replace("_", "").isalnum()
    assert not name.startswith("-")
    assert len(name) <= 80
    assert name.lower() not in ("con", "nul")
    assert name != file_name(record + "x")


@given(st.text(max_size=120), st.text(max_size=120))
def test_different_ids_have_different_names(one: str, other: str) -> None:
    if one != other:
        assert file_name(one) != file_name(other)


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    """Before anything is weighed, with what to do."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match=r"cannot write there .*; choose another folder with -o"):
        Folder(tmp_path / "file" / "out", cases=False)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl.partial").mkdir()
    with pytest.raises(ConfigError, match="cannot write there"), Folder(tmp_path, cases=False):
        pass

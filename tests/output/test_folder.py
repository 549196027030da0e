"""The files of a run: whole under their names, harmless names, one file a record on request."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.analysis.saved import SavedRun
from ragstone.errors import ConfigError
from ragstone.output import target as output_target
from ragstone.output.files import Folder, file_name
from ragstone.output.target import whole


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


def test_compressed_results_are_read_as_the_others(tmp_path: Path) -> None:
    """The last run's form is the one that is there; a comparison reads both alike, and one that is cut off is named."""
    lines = [orjson.dumps({"id": f"r{number}", "position": number, "scores": []}) for number in range(1, 2001)]
    for compressed in (False, True, False, True):
        folder = Folder(tmp_path, cases=False, compressed=compressed)
        with folder:
            for line in lines:
                folder.add("", line)
        folder.finish({}, {"run": 1, "status": "done"})
        found = SavedRun(tmp_path)
        name = "results.jsonl.zst" if compressed else "results.jsonl"
        assert found.path.name == name
        assert [path.name for path in tmp_path.glob("results*")] == [name]
        assert [result["id"] for result in found.results()] == [f"r{number}" for number in range(1, 2001)]
        last = found.find("r2000")
        assert last is not None
        assert last["position"] == 2000
    path = tmp_path / "results.jsonl.zst"
    assert path.stat().st_size < sum(map(len, lines)) / 3
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ConfigError, match=r"results\.jsonl\.zst: cannot be read"):
        list(SavedRun(tmp_path).results())


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
    """Named by the record's id, readable, never outside the folder, and unique without regard to case."""
    folder = Folder(tmp_path, cases=True)
    with folder:
        folder.add("r1", b'{"id":"r1"}')
        folder.add("../../etc/passwd", b'{"id":"x"}')
        folder.add("R1", b'{"id":"R1"}')
    cases = tmp_path / "cases"
    assert (cases / "r1.json").read_text() == '{\n  "id": "r1"\n}\n'
    assert len({path.name.casefold() for path in cases.iterdir()}) == 3
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


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    """One that is no folder before anything is evaluated, with what to do."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match=r"cannot write to this folder .*; choose another folder with -o"):
        Folder(tmp_path / "file" / "out", cases=False)
    with pytest.raises(ConfigError, match=r"/file: is not a folder; choose another folder with -o"):
        Folder(tmp_path / "file", cases=False)
    (tmp_path / "results.jsonl.partial").mkdir()
    with pytest.raises(ConfigError, match="cannot write to this folder"), Folder(tmp_path, cases=False):
        pass


# ---- two who write to one place


HOLDING = """
import os, sys
from pathlib import Path
from ragstone.output.files import Folder
from ragstone.output.target import whole
place = Path(sys.argv[2])
with Folder(place, cases=False).claimed() if sys.argv[1] == "folder" else whole(place, keep=True) as held:
    if sys.argv[1] == "file":
        held.write(b"of the first\\n")
        held.flush()
    print("held", flush=True)
    sys.stdin.read(1)
    os._exit(9)  # as one that is killed: nothing is put in order
"""


def holding(kind: str, place: Path) -> subprocess.Popen[bytes]:
    """Another process that writes there until it is told to die."""
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDING, kind, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    return other


def test_a_folder_belongs_to_one_run_at_a_time(tmp_path: Path) -> None:
    """Another process is refused in one line; when the first was killed nothing is in the way."""
    with holding("folder", tmp_path) as other:
        refused = "another run is writing there; wait for it to end, or choose another folder with -o"
        with pytest.raises(ConfigError, match=refused), Folder(tmp_path, cases=False).claimed():
            pass
        other.communicate(b"x")
    with Folder(tmp_path, cases=False).claimed() as folder:
        with folder:
            folder.add("r1", b"{}")
        # Until its summary is written, too, it is nobody else's.
        with pytest.raises(ConfigError, match="another run"), Folder(tmp_path, cases=False).claimed():
            pass
        folder.finish({}, {"status": "done"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.jsonl", "run.json", "summary.json"]


def test_a_file_belongs_to_one_command_at_a_time(tmp_path: Path) -> None:
    """What the first has written stays as it is while another is refused; when it was killed, the next one writes."""
    target = tmp_path / "bank.jsonl"
    with holding("file", target) as other:
        refused = r"bank\.jsonl: another command is writing it; wait for it to end, or choose another file"
        with pytest.raises(ConfigError, match=refused), whole(target):
            pass
        assert (tmp_path / "bank.jsonl.partial").read_bytes() == b"of the first\n"
        other.communicate(b"x")
    with whole(target) as file:
        file.write(b"2\n")
    assert target.read_bytes() == b"2\n"
    assert [path.name for path in tmp_path.iterdir()] == ["bank.jsonl"]


def _many(place: Path, letter: bytes, times: int) -> None:
    for _ in range(times):
        try:
            with whole(place) as file:
                for _ in range(20):
                    file.write(letter * 999 + b"\n")
                    file.flush()
        except ConfigError as error:
            assert "another command is writing it" in str(error)  # noqa: PT017 - most are refused, not all


def test_whoever_writes_a_file_writes_all_of_it(tmp_path: Path) -> None:
    """However two processes meet, the file is of one of them."""
    place = tmp_path / "f"
    context = multiprocessing.get_context("fork")
    others = [context.Process(target=_many, args=(place, letter, 200)) for letter in (b"a", b"b")]
    for other in others:
        other.start()
    of_one = [20 * (letter * 999 + b"\n") for letter in (b"a", b"b")]
    while any(other.is_alive() for other in others):
        assert not place.exists() or place.read_bytes() in of_one
    for other in others:
        other.join()
        assert other.exitcode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("keep", [False, True])
def test_without_locks_the_last_one_wins_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, keep: bool) -> None:
    """As on Windows: each writes to a name of its own, and what breaks off is found where it is told to be."""
    monkeypatch.setattr(output_target, "fcntl", None)
    target = tmp_path / "f"
    with whole(target, keep=keep) as first, whole(target, keep=keep) as second:
        first.write(b"first\n")
        second.write(b"second\n")
        first.write(b"and last\n")
    assert target.read_bytes() == b"first\nand last\n"

    def breaks_off() -> None:
        with whole(target, keep=keep) as file:
            file.write(b"third\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        breaks_off()
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert left == {"f": b"first\nand last\n", **({"f.partial": b"third\n"} if keep else {})}


def test_without_locks_two_runs_end_with_whole_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: the last one's, and of one that broke off the partial file."""
    monkeypatch.setattr(output_target, "fcntl", None)

    def broken(folder: Folder) -> None:
        with folder:
            folder.add("c", b"c")
            raise KeyboardInterrupt

    with Folder(tmp_path, cases=False).claimed() as one, Folder(tmp_path, cases=False).claimed() as other:
        with one, other:
            one.add("a", b"a")
            other.add("b", b"b")
            one.add("a", b"a")
        with pytest.raises(KeyboardInterrupt):
            broken(one)
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert left == {"results.jsonl": b"a\na\n", "results.jsonl.partial": b"c\n"}

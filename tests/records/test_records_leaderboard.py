"""Scores by run and topic, in the forms that evaluation tools exchange."""

from __future__ import annotations

import gzip
import json
import math
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.analysis.leaderboard import Entry, Leaderboard
from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records.leaderboards import FORMS, lines, read_leaderboard
from ragstone.records.leaderboards import LeaderboardRow as Row

T = TypeVar("T")

ROWS = [
    Row("a", "t1", "vital", 0.1 + 0.2),
    Row("a", "t2", "vital", 1.0),
    Row("a", "all", "vital", 1e-300),
    Row("a", "t1", "f1", -0.0),
    Row("a", "all", "f1", 2.0),
]


def row(value: float = 1, run: str = "a") -> Row:
    return Row(run, "t", "m", value)


def written(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refusal(path: Path, form: Any = "auto") -> str:
    with pytest.raises(RecordError) as caught:
        read_leaderboard(path, form)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 400
    return text


def outcome(do: Callable[[], T]) -> T | str:
    """What comes of it, or what the user is told."""
    try:
        return do()
    except InputError as error:
        return str(error)


@pytest.mark.parametrize(
    ("form", "first"),
    [
        ("trec_eval", "vital\tt1\t0.30000000000000004"),
        ("tot", "a\tvital\tt1\t0.30000000000000004"),
        ("ir_measures", "a\tt1\tvital\t0.30000000000000004"),
        ("jsonl", '{"run_id":"a","topic_id":"t1","measure":"vital","value":0.30000000000000004}'),
    ],
)
def test_each_form_is_written_and_read_again(tmp_path: Path, form: Any, first: str) -> None:
    """A line a row; plain or compressed, the same numbers are read. Two forms need not be named."""
    found = list(lines(ROWS, form))
    assert found[0] == first.encode() + b"\n"
    data = b"".join(found)
    for path, raw in ((tmp_path / "a", data), (tmp_path / "a.txt", data), (tmp_path / "a.tsv.gz", gzip.compress(data))):
        for wanted in (form, *(("auto",) if form in ("trec_eval", "jsonl") else ())):
            assert read_leaderboard(written(path, raw), wanted) == ROWS
    assert set(FORMS) == {"trec_eval", "tot", "ir_measures", "jsonl"}


numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(max_size=5)
rows = st.lists(st.builds(Row, names, names, names, numbers), min_size=1, max_size=6, unique_by=lambda row: row[:3])


@given(rows, st.sampled_from(FORMS))
def test_any_rows_are_read_as_they_were_written(wanted: Any, form: Any) -> None:
    """Values to the last bit; names too, but for what the form cannot hold; or the rows are refused beforehand."""
    if form == "trec_eval":
        wanted = list({row[1:3]: row._replace(run="r") for row in wanted}.values())
    data = outcome(lambda: b"".join(lines(wanted, form)))
    if isinstance(data, str):
        assert "would become the same row" in data
        return
    scores = [row for row in wanted if form != "trec_eval" or row.measure != "runid"]
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "r", data)
        found = read_leaderboard(path, form) if scores else []
    assert [row.value.hex() for row in found] == [row.value.hex() for row in scores]
    for row, read in zip(scores, found, strict=True):
        for name, again in zip(row[:3], read[:3], strict=True):
            if form == "jsonl":
                assert again == name
            else:
                assert len(again) == max(len(name), 1)
                assert all(sign in (was, "_") for sign, was in zip(again, name, strict=False))
                assert again == name or not name or any(sign.isspace() or not sign.isprintable() for sign in name)


def test_names_lose_what_columns_cannot_hold(tmp_path: Path) -> None:
    """Blanks, line ends, control signs, half characters; JSON keeps all but the halves."""
    row = Row("my run", "a\tb\u2028", "\0m\ud800", 1)
    (line,) = lines([row], "tot")
    assert line == b"my_run\t_m_\ta_b_\t1.0\n"
    assert read_leaderboard(written(tmp_path / "x", b"".join(lines([row], "jsonl")))) == [
        Row("my run", "a\tb\u2028", "\0m\ufffd", 1.0)
    ]
    (line,) = lines([Row("", "", "", 0.5)], "ir_measures")
    assert line == b"_\t_\t_\t0.5\n"


@pytest.mark.parametrize(
    ("rows", "form", "message"),
    [
        ([row(run="a b"), row(run="a_b")], "tot", "would become the same row of the leaderboard; rename one"),
        ([row(1), row(2)], "jsonl", "has two values, 1 and 2; keep one"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_first_line(rows: Any, form: Any, message: str) -> None:
    """Nothing has been given out by then."""
    with pytest.raises(ConfigError) as caught:
        lines([*rows], form)
    assert message in str(caught.value)


def test_a_leaderboard_of_many_topics_is_written_in_little_memory() -> None:
    """Under 100 bytes a row beside the values themselves, of which there may be a million."""
    board, names = Leaderboard(), [f"m{number}" for number in range(25)]
    for topic in range(1000):
        board.add(Entry("a", f"t{topic}", dict.fromkeys(names, topic / 1000)))
    tracemalloc.start()
    count = sum(1 for _ in lines(board.rows(), "tot"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 25_000 + len(names)
    assert peak / count < 100


def test_four_columns_need_a_format(tmp_path: Path) -> None:
    """Whatever they hold; named, the file is read."""
    path = written(tmp_path / "r", "r  101   all  1\r\n\r\nr\t102\tall\tTrue\r\n")
    assert refusal(path) == "r: four columns in an unknown order; specify it with --against-format tot or ir_measures"
    assert [row.topic for row in read_leaderboard(path, "tot")] == ["all", "all"]
    assert [row.topic for row in read_leaderboard(path, "ir_measures")] == ["101", "102"]


def json_row(value: str, topic: str = '"t"') -> str:
    return f'{{"run_id":"a","topic_id":{topic},"measure":"m","value":{value}}}'


NO_BOARDS: list[tuple[Any, str]] = [
    ("m t 1\nm t2 nan\n", "r:2: 'nan' as the value; expected a finite number"),
    ("m t inf\n", "'inf' as the value"),
    ("m t 1e999\n", "'1e999' as the value"),
    ("m t 1_000\n", "'1_000' as the value"),
    ("m t \u0661\n", "as the value"),
    ("m t x\n", "r:1: 'x' as the value"),
    ("m t " + "9" * 1_000_000, "as the value"),
    ("m t 1\nm t 2\n", "r:2: 'm' of system 'r' on topic 't' is 2.0 here and 1.0 before; keep one of them"),
    ("m t\n", "r:1: expected 3 or 4 columns, found 2; trec_eval: measure topic value"),
    ("x\n", "expected 3 or 4 columns, found 1"),
    ("m t 1\n\na m t 1\n", "r:3: 4 columns but the first row has 3"),
    ("measure topic value\n", "r:1: 'value' as the value"),
    ("runid all STANDARD\n", "r: contains no row with a value"),
    (" \n\n", "r: contains no rows"),
    ("", "the input is empty"),
    (b"m t 1\nm \xff 1\n", "r:2: byte 3 (0xff) is not valid UTF-8"),
    (b"m t\0 1\n", "a NUL byte"),
    ("a".encode("utf-16"), "UTF-16"),
    ('{"run_id": "a"}', "r:1: field 'topic_id': missing; expected {run_id, topic_id, measure, value}"),
    (json_row("NaN"), "r:1: NaN, which is not JSON"),
    (json_row('"x"'), "r:1: 'x' as the value"),
    (json_row("[]"), "field 'value': expected a number, found a list"),
    (json_row("1", "{}"), "field 'topic_id': expected a string or a number, found an object"),
    (json_row("1") + "\n[]", "r:2: expected an object, found a list"),
    ('{"a":' + "[" * 300, "r:1: invalid JSON"),
]


@pytest.mark.parametrize(
    ("data", "form", "message"),
    [
        *((data, "auto", message) for data, message in NO_BOARDS),
        ("m t 1\n", "tot", "3 columns, but tot has run measure topic value; use another format"),
        ("a m t 1\n", "trec_eval", "4 columns, but trec_eval has measure topic value"),
        ("m t 1\n", "jsonl", "r:1: invalid JSON"),
    ],
)
def test_what_is_no_leaderboard_is_one_line(tmp_path: Path, data: Any, form: Any, message: str) -> None:
    """The file, the line, what stands there."""
    assert message in refusal(written(tmp_path / "r", data), form)


def test_values_that_tools_write_are_read(tmp_path: Path) -> None:
    """Whole numbers, exponents, truths; in JSON numbers as text too, and ids that are numbers."""
    path = written(tmp_path / "r", "m 1 1\nm 2 +.5\nm 3 -2.\nm 4 1E-3\nm 5 True\nm 6 False\nm 6 False\n")
    assert [row.value for row in read_leaderboard(path)] == [1.0, 0.5, -2.0, 0.001, 1.0, 0.0]
    line = {"run_id": 7, "topic_id": 28, "measure": "m", "value": "0.5"}
    path = written(tmp_path / "r", json.dumps(line) + "\n\n" + json.dumps(line | {"topic_id": 2.0, "value": True}))
    assert read_leaderboard(path) == [Row("7", "28", "m", 0.5), Row("7", "2", "m", 1.0)]


def test_a_folder_holds_a_run_a_file(tmp_path: Path) -> None:
    """Each run is named after its file without endings; trec_eval's own row of the name is passed over."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, value in (("b.v2", 1), ("a.txt", 2), ("c.eval.gz", 3), (".hidden", 4)):
        data = f"runid                 \tall\tSTANDARD\nmap                   \tall\t{value}.0000\n".encode()
        written(folder / name, gzip.compress(data) if name.endswith(".gz") else data)
    (folder / "deeper").mkdir()
    wanted = [Row(run, "all", "map", value) for run, value in (("a", 2.0), ("b.v2", 1.0), ("c", 3.0))]
    assert read_leaderboard(folder) == read_leaderboard(str(folder), "trec_eval") == wanted
    written(folder / "a", "map all 7\n")
    assert "a.txt:2: 'map' of system 'a' on topic 'all' is 2.0 here and 7.0 before" in refusal(folder)
    assert "this folder contains no files" in refusal(folder / "deeper")
    assert "no such file" in refusal(folder / "nowhere")


def test_a_form_that_there_is_not_is_refused(tmp_path: Path) -> None:
    """Before anything is read."""
    form: Any = "ranking"
    with pytest.raises(ConfigError, match="no leaderboard format 'ranking'"):
        read_leaderboard(tmp_path / "nowhere", form)


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read into memory whole."""
    monkeypatch.setattr("ragstone.records.leaderboards.MAX_RECORD_BYTES", 50)
    assert "r:2: a line of more than 50 bytes" in refusal(written(tmp_path / "r", "m t 1\n" + "m" * 60 + " t 1\n"))


@given(
    st.binary(max_size=60) | st.text('amt1. \n{}":,[]', max_size=60).map(str.encode), st.sampled_from(["auto", *FORMS])
)
def test_any_bytes_are_rows_or_one_line(data: bytes, form: Any) -> None:
    """No other error than RecordError, whatever the file holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "r", data)
        found = outcome(lambda: read_leaderboard(path, form))
    assert "\n" not in found if isinstance(found, str) else all(math.isfinite(row.value) for row in found)

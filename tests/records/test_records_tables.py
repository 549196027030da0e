"""CSV, TSV, Parquet and compressed files."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.errors import ConfigError, RecordError
from ragstone.records import SetAside, open_records, survey
from ragstone.types import Passage
from reading import outcomes, refusal, written

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def test_columns_are_fields(tmp_path: Path) -> None:
    """List columns are JSON, other cells are texts as they are, and the rest is meta."""
    data = (
        'id,question,contexts,response,lang,grounding\r\n'
        '1,"What, ""now""?","[""a"", {""docid"": ""d"", ""text"": ""b""}]",'
        '"[1] two\nlines",x,"{""enabled"": false}"\r\n'
        '2,,plain [1],,,\r\n'
        "3,q,[1] cited,r,y,0.5\r\n"
        "4,q,,r,y,\r\n"
    )  # fmt: skip
    first, second, third, fourth = outcomes(written(tmp_path, data, "x.csv"), blocks={"grounding": "grounding"})
    assert (first.id, first.question, first.response) == ("1", 'What, "now"?', "[1] two\nlines")
    assert first.contexts == (Passage("1", "a", 1), Passage("d", "b", 2))
    assert (first.overrides, first.meta) == ({"grounding": {"enabled": False}}, {"lang": "x"})
    assert (second.question, second.response, second.contexts) == ("", "", (Passage("1", "plain [1]", 1),))
    assert third.contexts == (Passage("1", "[1] cited", 1),)
    assert third.meta["grounding"] == "0.5"
    assert fourth.contexts is None
    assert [record.where for record in (first, second, third)] == ["x.csv:2", "x.csv:4", "x.csv:5"]


def test_tabs_and_marks(tmp_path: Path) -> None:
    """A TSV file with a byte order mark, blank lines and rows, and a nameless first column, as pandas writes."""
    (record,) = outcomes(written(tmp_path, b"\xef\xbb\xbf\tid \tquery\n\n0\ta\tWhy, then?\n\t \t\n\n", "x.tsv"))
    assert (record.id, record.question, record.meta) == ("a", "Why, then?", {"column_1": "0"})


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.csv.gz", "x"])
def test_the_delimiter_is_that_of_the_header(tmp_path: Path, name: str, delimiter: str) -> None:
    """Whatever the file is called; the cells hold the other ones, quotes, line ends, and this one in quotes."""
    question = f'Is it "3,5; or 4\t"?{delimiter}\nOr so?'
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([("id", "question", "contexts"), (1, question, '["a; b, c", "d"]'), (2, "", "a")])
    data = text.getvalue().encode()
    first, second = outcomes(written(tmp_path, gzip.compress(data) if name.endswith(".gz") else data, name))
    assert (first.id, first.question, [passage.text for passage in first.contexts]) == ("1", question, ["a; b, c", "d"])
    assert (second.id, second.question, second.meta) == ("2", "", {})


@pytest.mark.parametrize(
    ("data", "name", "keys"),
    [
        ("a;b,c\n1,2\n", "x.csv", {"a;b": "1", "c": "2"}),
        ('"a;b"\n1;2\n', "x.csv", {"a;b": "1;2"}),
        ("a;\n1;2\n", "x.csv", {"a;": "1;2"}),
        ("a,b\tc\n1\t2\n", "x.tsv", {"a,b": "1", "c": "2"}),
        ("a,b;c;d\n1,2;3;4\n", "x.tsv", {"a,b": "1,2", "c": "3", "d": "4"}),
        ("sep=;\r\na,c;b\r\n1;2\r\n", "x.csv", {"a,c": "1", "b": "2"}),
        ("a|b\n1|2\n", "x.csv", {"a": "1", "b": "2"}),
    ],
)
def test_a_header_that_has_its_delimiter_keeps_it(tmp_path: Path, data: str, name: str, keys: dict[str, str]) -> None:
    """Nor is a cell in quotes taken apart, or one with nothing behind a semicolon."""
    (record,) = outcomes(written(tmp_path, data, name))
    assert record.meta == keys


def test_a_survey_names_the_columns(tmp_path: Path) -> None:
    with open_records(written(tmp_path, "frage;antwort\nq;a\n", "x.csv")) as source:
        assert survey(source).columns == ("frage", "antwort")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("id,question\n", "x.csv: contains no records"),
        ("\n\n", "x.csv:1: no header"),
        ("id,id\n1,2\n", "x.csv:1: two columns are named 'id'"),
        ("id,question\n1,a,b\n", "x.csv:2: 3 cells, but the header has 2"),
        ('id,question\n1,a\n2,"open\n3,b\n', "x.csv:3: not CSV: a quote is opened in this row and never closed"),
        ('id,question\n1,"a"b\n', "x.csv:2: not CSV: text between a closing quote and the next delimiter"),
        ('id;question\n1;"a"b\n', "x.csv:2: not CSV: text between a closing quote and the next delimiter"),
        ("id,question\n1,a\0b\n", "x.csv:2: a NUL byte"),
        (b"id,question\n1,caf\xe9\n", "x.csv:2: byte 6 of line 2 (0xe9) is not valid UTF-8"),
        ("id,contexts\n1,\"['a' 'b']\"\n", "x.csv:2: field 'contexts': not JSON, and a printed array, whose items"),
        ("id,contexts\n1,\"['a', f('b')]\"\n", "x.csv:2: field 'contexts': not JSON, and not a Python literal"),
        (
            'id,contexts\n1,"[""a"", ""b"\n',
            "x.csv:2: field 'contexts': invalid JSON at column 7: unterminated string; write lists and objects as JSON",
        ),
        ('id,contexts\n1,"[{""text"": NaN}]"\n', "x.csv:2: field 'contexts': NaN, which is not JSON"),
    ],
)
def test_a_bad_table_is_named(tmp_path: Path, data: Any, message: Any) -> None:
    """File, line, and what was found."""
    assert refusal(written(tmp_path, data, "x.csv")).startswith(message)


def test_a_bad_row_costs_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows around it are read; a row that would swallow the file is cut off at the limit."""
    monkeypatch.setattr("ragstone.records.delimited.MAX_RECORD_BYTES", 50)
    rows = ["id,question", "1,a", "2,b,c", "3,a\0", f"4,{'x' * 300_000}", "5,e", '6,"' + "y\n" * 30, "7,g"]
    found = outcomes(written(tmp_path, "\n".join(rows), "x.csv"), on_error="skip")
    assert [outcome.id for outcome in found if not isinstance(outcome, SetAside)][:2] == ["1", "5"]
    errors = [outcome.error for outcome in found if isinstance(outcome, SetAside)]
    assert "3 cells" in errors[0]
    assert "NUL" in errors[1]
    assert "a row of more than 50 bytes; is a quote left open?" in errors[2]
    assert errors[3].startswith("x.csv:7: a row of more than 50 bytes")


def test_a_short_row_lacks_its_last_cells(tmp_path: Path) -> None:
    """Spreadsheets leave trailing blanks away."""
    (record,) = outcomes(written(tmp_path, "id,question,response\n1,q\n", "x.csv"))
    assert (record.question, record.response) == ("q", None)


@pytest.mark.parametrize("written_as", [orjson.dumps, str])
@pytest.mark.parametrize("key", ["documents", "text"])
def test_an_object_in_a_cell_is_refused_with_the_path_of_its_passages(
    tmp_path: Path, written_as: Any, key: str
) -> None:
    """And can be read with that path, whether JSON or Python wrote it."""
    cell = written_as({key: ["It's tea."], "n": 1})
    text = (cell if isinstance(cell, str) else cell.decode()).replace('"', '""')
    path = written(tmp_path, f'id,contexts\n1,"{text}"\n', "x.csv")
    assert refusal(path) == (
        "x.csv:2: field 'contexts': expected a list of passages or one string, found an object; "
        f"did you mean --field contexts=contexts.{key}?"
    )
    (record,) = outcomes(path, fields={"contexts": f"contexts.{key}"})
    assert (record.contexts, record.meta) == ((Passage("1", "It's tea.", 1),), {"contexts": {"n": 1}})


def test_a_cell_may_be_longer_than_pythons_default(tmp_path: Path) -> None:
    """131,072 characters are little for a list of passages."""
    (record,) = outcomes(written(tmp_path, f"id,contexts\n1,{'x' * 1_000_000}\n", "x.csv"))
    assert len(record.contexts[0].text) == 1_000_000


def test_a_mapping_reaches_into_json_cells(tmp_path: Path) -> None:
    """A column is parsed where a path goes into it, and is a text where it does not."""
    data = 'id,payload,note\n1,"{""docs"": [{""t"": ""x""}], ""k"": 1}","[""text""]"\n'
    (record,) = outcomes(written(tmp_path, data, "x.csv"), fields={"contexts": "payload.docs[].t", "question": "note"})
    assert record.contexts == (Passage("1", "x", 1),)
    assert (record.question, record.meta) == ('["text"]', {"payload": {"k": 1}})


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5), st.sampled_from([",", "\t"]))
@settings(max_examples=50, deadline=None)
def test_what_csv_writes_is_read(tmp_path_factory: pytest.TempPathFactory, rows: Any, delimiter: Any) -> None:
    """Any cells that Python's writer quotes come back; line ends within them too."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("id", "question", "response"), *((n, *row) for n, row in enumerate(rows))])
    path = tmp_path_factory.mktemp("csv") / ("x.csv" if delimiter == "," else "x.tsv")
    path.write_bytes(text.getvalue().encode())
    assert [(record.question, record.response) for record in outcomes(path)] == rows


ROWS = [
    {"id": "a", "question": "q", "contexts": ["x", "y"], "score": 0.5, "tags": {"k": [1, None]}},
    {"id": "b", "question": None, "contexts": None, "score": None, "tags": {"k": None}},
]


def as_parquet(rows: list[dict[str, Any]] | pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


FORMS = {
    "x.jsonl": b"\n".join(orjson.dumps(row) for row in ROWS),
    "x.json": orjson.dumps(ROWS),
    "x.csv": b'id,question,contexts\na,q,"[""x"", ""y""]"\nb,,\n',
    "x.parquet": as_parquet(ROWS),
}


@pytest.mark.parametrize("name", FORMS)
def test_compressed_is_as_plain(tmp_path: Path, name: Any) -> None:
    """Every format reads the same plain, as .gz, as .zst, in several members or frames, and without extension."""
    data = FORMS[name]
    half = len(data) // 2
    plain = outcomes(written(tmp_path, data, name))
    assert [record.id for record in plain] == ["a", "b"]
    for form, suffix in [
        (gzip.compress(data), ".gz"),
        (zstd.compress(data), ".zst"),
        (gzip.compress(data[:half]) + gzip.compress(data[half:]), ".gz"),
        (zstd.compress(data[:half]) + zstd.compress(data[half:]), ".zst"),
    ]:
        assert [strip(r) for r in outcomes(written(tmp_path, form, name + suffix))] == [strip(r) for r in plain]
        assert [strip(r) for r in outcomes(written(tmp_path, form, "bare"))] == [strip(r) for r in plain]


def strip(record: Any) -> Any:
    return {name: getattr(record, name) for name in record.__slots__ if name != "where"}


LINES = b"\n".join(b'{"id": "%d", "question": "%s"}' % (n, str(n**9 + n).encode() * 9) for n in range(3000))


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".zst", zstd.compress)])
def test_a_file_that_ends_early_is_named(tmp_path: Path, suffix: Any, compress: Any) -> None:
    """The message says how far it could be read; with skip what came before is kept."""
    data = compress(LINES)
    path = written(tmp_path, data[: len(data) * 3 // 4], "x.jsonl" + suffix)
    with pytest.raises(RecordError, match=r"x.jsonl.* after line \d+: the compressed data ends early"):
        outcomes(path)
    *before, last = outcomes(path, on_error="skip")
    assert len(before) > 1000
    assert [record.id for record in before] == [str(number) for number in range(len(before))]
    assert "ends early" in last.error


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".zst", zstd.compress)])
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x.parquet"])
def test_damaged_data_is_one_kind_of_error(tmp_path: Path, name: Any, suffix: Any, compress: Any) -> None:
    """Wherever a byte is wrong or the file is cut, the error is a RecordError or the data is as it was."""
    data = compress(FORMS[name])
    messages = []
    for at in range(4, len(data), max(1, len(data) // 40)):
        for bad in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
            try:
                outcomes(written(tmp_path, bad, name + suffix))
            except RecordError as error:
                messages.append(str(error))
    assert messages
    assert not any("\n" in message for message in messages)


def test_a_name_that_promises_compression_must_hold_it(tmp_path: Path) -> None:
    """A browser may have unpacked the file; the message says so in its way."""
    with pytest.raises(RecordError, match=r"named \.gz, but not gzip data"):
        outcomes(written(tmp_path, b'{"id":"a"}', "x.jsonl.gz"))


def test_parquet_rows_are_records(tmp_path: Path) -> None:
    """Types become what JSON has; nothing is lost but what has no text."""
    table = pa.table(
        {
            "id": [1, 2],
            "contexts": pa.array([[{"docid": "d", "text": "x"}], []]),
            "when": pa.array([0, None], pa.timestamp("s")),
            "took": pa.array([1500, None], pa.duration("ms")),
            "score": [float("nan"), float("inf")],
            "raw": [b"abc", None],
        }
    )
    first, second = outcomes(written(tmp_path, as_parquet(table), "x.parquet"))
    assert (first.id, first.contexts) == ("1", (Passage("d", "x", 1),))
    assert first.meta == {"when": "1970-01-01T00:00:00", "took": 1.5, "score": None, "raw": {"bytes": 3}}
    assert (second.contexts, second.where) == ((), "x.parquet row 2")


def test_parquet_reads_as_json_lines_where_rows_give_different_keys(tmp_path: Path) -> None:
    """A struct has every key in every row: what only another row gives is null, which is no value."""
    passages = {"contexts": [{"docid": "d", "text": "x"}, {"docid": "e", "text": "y"}]}
    rows: list[dict[str, Any]] = [
        {"id": "a", **passages, "relevant": {"d": 1}, "overrides": {"m": {"x": 1}}, "eval": {"n": {"y": 2}}},
        {"id": "b", **passages, "relevant": {"e": 0}, "overrides": {"o": {"z": 1}}, "eval": {"m": {"z": 2}}},
        {"id": "c", **passages, "relevant": None, "overrides": {"m": {"z": 1}}, "m": {"y": 2}, "n": {"x": 1}},
        {"id": "d", **passages, "m": {"x": 2}, "qrels": [{"id": "d", "grade": 2}, {"id": "e"}]},
    ]
    keys = dict.fromkeys(key for row in rows for key in row)
    forms = {
        "x.jsonl": b"\n".join(orjson.dumps(row) for row in rows),
        "x.parquet": as_parquet([keys | row for row in rows]),
    }
    blocks = {name: name for name in ("m", "n", "o")}
    plain, table = (outcomes(written(tmp_path, data, name), blocks=blocks) for name, data in forms.items())
    assert [record.overrides for record in plain] == [record.overrides for record in table]
    assert [record.relevant for record in plain] == [record.relevant for record in table]
    assert [(record.relevant, bool(record.overrides)) for record in table] == [
        ({"d": 1}, True), ({"e": 0}, True), (None, True), ({"d": 2, "e": 1}, True),
    ]  # fmt: skip


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    """Cut, or not Parquet at all, or with a name twice."""
    for data, message in [
        (FORMS["x.parquet"][:-30], "not readable as Parquet"),
        (b"hello", "not readable as Parquet"),
        (
            as_parquet(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])),
            "two columns are named 'a'",
        ),
        (as_parquet(pa.table({"id": pa.array([], pa.string())})), "contains no records"),
    ]:
        with pytest.raises(RecordError, match=message):
            outcomes(written(tmp_path, data, "x.parquet"))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'ragstone\[parquet\]'"):
        outcomes(written(tmp_path, FORMS["x.parquet"], "x.parquet"))


def test_a_wrong_type_in_parquet_names_the_row(tmp_path: Path) -> None:
    """Skip goes on behind it."""
    path = written(tmp_path, as_parquet([{"id": "a", "question": 1}, {"id": "b", "question": None}]), "x.parquet")
    with pytest.raises(RecordError, match=r"x\.parquet row 1: field 'question': expected a string, found a number"):
        outcomes(path)
    found = survey(open_records(path, on_error="skip"))
    assert (found.records, found.set_aside) == (1, 1)

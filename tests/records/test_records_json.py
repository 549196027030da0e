"""JSON Lines and JSON arrays: what is read, what is refused, and in which words."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.errors import RecordError
from ragstone.records import SetAside, json_files, jsontext, limits, open_records, survey
from ragstone.records.bytestream import Stream
from ragstone.types import Record
from reading import outcomes, refusal, written


def test_lines_become_records_in_order(tmp_path: Path) -> None:
    """Each line is a record, with its place; blank lines count as lines and are no records."""
    path = written(tmp_path, '{"id": "a", "question": "q"}\n\n   \n{"id": "b", "response": "é"}')
    first, second = outcomes(path)
    assert (first.id, first.question, first.response, first.where) == ("a", "q", None, "x.jsonl:1")
    assert (second.id, second.response, second.where) == ("b", "é", "x.jsonl:4")


@pytest.mark.parametrize("data", [b'{"id":"a"}\r\n{"id":"b"}\r\n', b'\xef\xbb\xbf{"id":"a"}\n{"id":"b"}'])
@pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "x.json", "x.JSONL", "x", "x.data"])
def test_line_ends_and_a_byte_order_mark_are_accepted(tmp_path: Path, data: Any, name: Any) -> None:
    """CRLF, a missing last line end and a UTF-8 mark change nothing, under any name."""
    assert [record.id for record in outcomes(written(tmp_path, data, name))] == ["a", "b"]


BAD_LINES = {
    "not UTF-8": (b'{"id":"\xe9"}', "byte 8 (0xe9) is not valid UTF-8"),
    "NUL": (b'{"id":"a\0b"}', "a NUL byte at byte 9"),
    "NaN": (b'{"id":"a","x":NaN}', "NaN, which is not JSON"),
    "nested infinity": (b'{"x":[{"y":-Infinity}]}', "-Infinity, which is not JSON"),
    "too large a number": (b'{"x":1e400}', "not usable as JSON: number is infinity"),
    "too many digits": (b'{"x":' + b"1" * 5000 + b"}", "not usable as JSON: number is infinity"),
    "key twice": (b'{"id":"a","id":"b"}', "the key 'id' is given twice"),
    "key twice, spelled differently": (b'{"id":"a","\\u0069d" : "b"}', "the key 'id' is given twice"),
    "nested key twice": (b'{"x":[{"y":{"k":1,"k":1}}]}', "the key 'k' is given twice"),
    "lone surrogate": (b'{"question":"\\ud800"}', "a lone surrogate"),
    "second half alone": (b'{"question":"\\udc00!"}', "a lone surrogate"),
    "list": (b'["a"]', "expected an object, found a list of strings; each record must be a JSON object: {...}"),
    "number": (b"3", "expected an object, found a number"),
    "null": (b"null", "expected an object, found null"),
    "array over lines": (b"[", "a file that is one JSON array needs a name that ends in .json"),
    "python": (b"{'id': 1}", "write it with json.dumps"),
    "cut": (b'{"id":"a","question":"wh', "invalid JSON at column 22: unterminated string"),
    "two on a line": (b'{"id":"a"} {"id":"b"}', "invalid JSON at column 12: more text after the first value"),
    "deep": (b'{"x":' + b"[" * 200 + b"]" * 200 + b"}", "nested deeper than 100 levels"),
    "very deep": (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested deeper than 100 levels"),
    "question is a list": (
        b'{"question":["a"]}',
        "field 'question': expected a string, found a list of strings; to read the question",
    ),
    "question is empty list": (b'{"question":[]}', "field 'question': expected a string, found a list"),
    "response is a number": (
        b'{"response":42}',
        "field 'response': expected a string or a list of {text, citations}, found a number",
    ),
    "contexts is an object": (
        b'{"contexts":{"a":1}}',
        "field 'contexts': expected a list of passages or one string, found an object",
    ),
    "passage is a number": (b'{"contexts":["a",7]}', "field 'contexts': passage 2 is a number"),
    "passage without text": (b'{"contexts":[{"id":"a"}]}', "field 'contexts': passage 1 is an object without a text"),
    "id is an object": (b'{"id":{"a":1}}', "field 'id': expected a string or a number, found an object"),
    "id is true": (b'{"id":true}', "field 'id': expected a string or a number, found true or false"),
    "nuggets is a string": (b'{"nuggets":"a"}', "field 'nuggets': expected a list of nuggets, found a string"),
    "importance is a list": (b'{"nuggets":[{"text":"a","importance":[]}]}', "'importance' of nugget 1 is a list"),
    "overrides is a list": (
        b'{"overrides":[1]}',
        "field 'overrides': expected an object {metric: {parameter: value}}, found a list of numbers",
    ),
    "override is a number": (b'{"overrides":{"grounding":1}}', "field 'overrides': a number for 'grounding'"),
}


@pytest.mark.parametrize(("line", "message"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_named_and_costs_one_record(tmp_path: Path, line: Any, message: Any) -> None:
    """The error says file, line and what was found; with skip the rest is read, and the counts add up to the lines."""
    path = written(tmp_path, b'{"id":"a"}\n' + line + b'\n{"id":"b"}\n')
    text = refusal(path)
    assert text.startswith("x.jsonl:2: ")
    assert message in text
    assert len(text) < 250
    with pytest.raises(RecordError) as caught:
        outcomes(path)
    assert caught.value.hint == ("" if caught.value.option else "to skip unreadable records, add --on-error skip")
    first, aside, last = outcomes(path, on_error="skip")
    assert (first.id, last.id, last.where) == ("a", "b", "x.jsonl:3")
    assert isinstance(aside, SetAside)
    assert (aside.where, aside.error) == ("x.jsonl:2", text)
    found = survey(open_records(path, on_error="skip"))
    assert (found.records, found.set_aside, found.total, found.messages) == (2, 1, 3, (text,))
    # Between the commas of an array it is refused as on a line; balanced ones let the rest be read.
    path = written(tmp_path, b'[{"id":"a"},\n' + line + b',\n{"id":"b"}]', "x.json")
    assert refusal(path).startswith("x.json:2 item 2: ")
    first, aside, *_ = outcomes(path, on_error="skip")
    assert first.id == "a"
    assert isinstance(aside, SetAside)


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x.parquet", "x.jsonl.gz", "x", "x.weird"])
def test_an_empty_file_is_an_error(tmp_path: Path, name: Any) -> None:
    """Also with skip: nothing can be set aside."""
    for on_error in ("stop", "skip"):
        with pytest.raises(RecordError, match="the input is empty"):
            outcomes(written(tmp_path, b"", name), on_error=on_error)


@pytest.mark.parametrize(
    ("name", "data"), [("x.jsonl", b"\n \n"), ("x.json", b" [ \n] "), ("x.json", b"\n"), ("x", b" ")]
)
def test_a_file_without_records_is_an_error(tmp_path: Path, name: Any, data: Any) -> None:
    """White space and an empty array hold no record."""
    assert refusal(written(tmp_path, data, name)) == f"{name}: contains no records; expected at least one"


@pytest.mark.parametrize("data", ['{"id":"a"}'.encode("utf-16"), b"\xff\xfe{\0"])
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x"])
def test_utf16_is_named(tmp_path: Path, data: Any, name: Any) -> None:
    """Windows programs write it; the message says what to do."""
    assert "text in UTF-16 or UTF-32; save the file as UTF-8" in refusal(written(tmp_path, data, name))


def test_files_that_are_not_there_or_not_files(tmp_path: Path) -> None:
    """They are refused when the source is opened, by name."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    written(tmp_path / "mixed", b'{"id":"a"}', "a.jsonl")
    written(tmp_path / "mixed", b"# Read me", "README.md")
    for path, message in [
        (tmp_path / "none.jsonl", "no such file"),
        (tmp_path / "empty", "this folder contains no files"),
        (tmp_path / "mixed", r"mixed/README.md: unknown .*'.md'; .*; a folder may contain only files with records"),
        ("http://a/b.jsonl", "^http://a/b.jsonl: not a supported address"),
        ("a\0b", "not a file name"),
        (written(tmp_path, b"hello, world", "x.txt"), "unknown file format '.txt'; supported: .jsonl"),
        (
            written(tmp_path, b'[fields]\nid = "x"\n', "x.toml"),
            "unknown file format '.toml'; supported: .jsonl",
        ),
        (written(tmp_path, b"[a link](x)", "x.md"), "unknown file format '.md'; supported: .jsonl"),
        (written(tmp_path, b"hello", "noext"), "the format cannot be detected"),
    ]:
        with pytest.raises(RecordError, match=message):
            open_records(path)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("traces_none.jsonl", "did you mean {}/traces.jsonl?"),
        ("trace.json", "did you mean {}/traces.jsonl?"),
        ("traces", "or folder; did you mean {}/traces.jsonl?"),
        ("ragstones.jsonl", "{} has traces.jsonl"),
    ],
)
def test_a_file_of_a_similar_name_is_suggested(tmp_path: Path, typed: str, said: str) -> None:
    """With the same extension, unless the rest of the name is almost the same."""
    written(tmp_path, b"{}", "traces.jsonl")
    written(tmp_path, b"", "ragstone.toml")
    assert refusal(tmp_path / typed).endswith(said.format(tmp_path))


def test_no_permission_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreadable file is an error of one line."""

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    path = written(tmp_path, b"{}")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(RecordError, match="no permission to read it"):
        open_records(path)


def test_a_long_line_is_accepted_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of exactly the limit is read; one byte more is refused by its size, and the next line is read."""
    monkeypatch.setattr("ragstone.records.json_files.MAX_RECORD_BYTES", 1000)
    fits = b'{"id":"' + b"a" * 991 + b'"}'
    assert len(fits) == 1000
    path = written(tmp_path, fits + b"\n" + fits + b" \n" + b'{"id":"' + b"a" * 500_000 + b'"}\n{"id":"z"}')
    first, second, third, last = outcomes(path, on_error="skip")
    assert first.id == "a" * 991
    assert "a line of more than 1,000 bytes" in second.error
    assert "a line of more than 1,000 bytes" in third.error
    assert (last.id, last.where) == ("z", "x.jsonl:4")


def test_a_line_of_fifty_megabytes_is_read(tmp_path: Path) -> None:
    """The limit is 64 MiB, so that a very long document is no error."""
    text = "x" * 50_000_000
    (record,) = outcomes(written(tmp_path, orjson.dumps({"id": "a", "contexts": [text]})))
    assert record.contexts[0].text == text
    assert limits.MAX_RECORD_BYTES == 64 * 2**20


def test_large_integers_keep_their_digits(tmp_path: Path) -> None:
    """Two ids that differ in the 20th digit stay two ids; what fits into 64 bits stays a number."""
    path = written(
        tmp_path, '{"id": 123456789012345678901, "n": {"x": -9223372036854775808, "y": 18446744073709551616}}'
    )
    (record,) = outcomes(path)
    assert record.id == "123456789012345678901"
    assert record.meta == {"n": {"x": -9223372036854775808, "y": "18446744073709551616"}}


def test_texts_are_kept_exactly(tmp_path: Path) -> None:
    """Escapes, U+2028, surrogate pairs, NUL as an escape and space at the ends come through unchanged."""
    text = ' \u2028a\x85b\n\t\0\\u0041 🪨 "x": '
    (record,) = outcomes(written(tmp_path, json.dumps({"id": "a", "question": text, "response": text})))
    assert (record.question, record.response) == (text, text)


@pytest.mark.parametrize("name", ["x.json", "x.jsonl"])
def test_one_object_over_lines_is_one_record(tmp_path: Path, name: str) -> None:
    """A file may be one object, pretty-printed, or several after one another."""
    one = json.dumps({"id": "a", "contexts": ["x", "y"]}, indent=2)
    (record,) = outcomes(written(tmp_path, one, name))
    assert [passage.text for passage in record.contexts] == ["x", "y"]
    assert [record.id for record in outcomes(written(tmp_path, one + "\n" + one, name))] == ["a", "a#2"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('[{"id":"a"}', "x.json:1: the array is not closed"),
        ('[{"id":"a"},', "x.json:1: the array is not closed"),
        ('[{"id":"a"}\n,{"id":"b"', "x.json:2 item 2: invalid JSON"),
        ('[{"id":"a"}] x', "x.json:1: text after the end of the array"),
        ('[{"id":"a"},]', "x.json:1 item 2: nothing before this comma or ]"),
        ('[,{"id":"a"}]', "x.json:1 item 1: nothing before this comma or ]"),
        ('[{"id":"a"} {"id":"b"}]', "x.json:1 item 1: invalid JSON at column 12: more text"),
        ('{"id":"a"', "x.json:1 item 1: invalid JSON"),
        ('{"id":\n"a"}\n}', "x.json:3 item 2: invalid JSON"),
        ('{"id":\n"a"}\nxyz', "x.json:3 item 2: invalid JSON"),
        ('[{"id":"a}]', "x.json:1 item 1: invalid JSON at column 7: unterminated string"),
        ('[{"id":"a"}}, 1]', "x.json:1 item 1: invalid JSON"),
    ],
)
def test_a_broken_array_is_named(tmp_path: Path, data: Any, message: Any) -> None:
    """Truncation, stray commas and text around the array are errors with a place."""
    assert refusal(written(tmp_path, data, "x.json")).startswith(message)


def test_what_was_read_before_a_break_is_kept(tmp_path: Path) -> None:
    """With skip, a file that breaks off gives its records and one set aside that says where."""
    first, aside = outcomes(written(tmp_path, '[{"id":"a"},', "x.json"), on_error="skip")
    assert first.id == "a"
    assert (aside.where, aside.error[-32:]) == ("x.json:1", "expected a ] after the last item")


def test_an_item_beyond_the_limit_is_dropped_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next items are read; nothing of the large one is held."""
    monkeypatch.setattr("ragstone.records.json_files.MAX_RECORD_BYTES", 100)
    data = b'[{"id":"a"}, {"id":"' + b"x" * 2_000_000 + b'"} , {"id":"b"}]'
    first, aside, last = outcomes(written(tmp_path, data, "x.json"), on_error="skip")
    assert (first.id, last.id) == ("a", "b")
    assert "x.json:1 item 2: an item of more than 100 bytes" in aside.error


class Pieces:
    """A handle that gives its bytes in pieces of the lengths that a test wants."""

    def __init__(self, data: bytes, cuts: list[int]) -> None:
        edges = [0, *sorted(cuts), len(data)]
        self._pieces = [data[start:end] for start, end in pairwise(edges) if end > start]

    def read1(self, size: int) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def cut_up(data: bytes, cuts: list[int]) -> list[Any]:
    stream = Stream("x", Pieces(data, cuts), ())  # type: ignore[arg-type]
    items = json_files._Cutter("x", array=data.lstrip().startswith(b"[")).items(stream)
    return [(where, value if isinstance(value, dict) else str(value)) for where, value in items]


TRICKY = (
    '\n [ {"a": "x\\\\", "b": ["]", "}\\""]} ,\n{"c": {"d": [1, [2, {}]], "é": "\\u00e9,"}}, 7, "s,]", {} ] \n'.encode()
)


def test_an_array_may_be_cut_anywhere(tmp_path: Path) -> None:
    """The reader gives the same items wherever a chunk of the file ends."""
    whole = cut_up(TRICKY, [])
    assert [value for _, value in whole if isinstance(value, dict)] == [json.loads(TRICKY)[at] for at in (0, 1, 4)]
    for at in range(len(TRICKY)):
        for width in (1, 2, 5):
            assert cut_up(TRICKY, [at, min(at + width, len(TRICKY))]) == whole
    assert cut_up(TRICKY, list(range(len(TRICKY)))) == whole


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.floats(-1e300, 1e300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
ROWS = st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=5), min_size=1, max_size=5)


@given(ROWS, st.data(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_any_array_is_cut_into_its_items(rows: Any, data: Any, ascii_only: Any) -> None:
    """For any JSON, any spacing and any chunks, the items are what json.loads gives."""
    text = json.dumps(rows, ensure_ascii=ascii_only, indent=data.draw(st.sampled_from([None, 1]))).encode()
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    assert [value for _, value in cut_up(text, cuts)] == rows


@given(JSON)
@settings(max_examples=100, deadline=None)
def test_strict_reading_refuses_nothing_that_is_sound(value: Any) -> None:
    """Whatever json.dumps writes is read as it was; the search for keys given twice has no false alarm."""
    assert jsontext.decode(json.dumps(value).encode(), "x") == value


@given(st.binary(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_a_row_or_an_error(data: Any) -> None:
    """No bytes make the reader raise anything else."""
    found = jsontext.row(data, "x")
    assert isinstance(found, dict | RecordError)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.lists(st.tuples(TEXT, TEXT, st.none() | st.lists(TEXT, max_size=3)), min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_canonical_rows_come_back_as_they_are(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    """Question, response and contexts survive a JSON Lines file, whatever characters they hold."""
    path = tmp_path_factory.mktemp("rows") / "x.jsonl"
    path.write_bytes(
        b"\n".join(
            orjson.dumps({"id": str(number), "question": q, "response": r, "contexts": c})
            for number, (q, r, c) in enumerate(rows)
        )
    )
    for record, (question, response, contexts) in zip(outcomes(path), rows, strict=True):
        assert isinstance(record, Record)
        assert (record.question, record.response) == (question, response)
        assert (record.contexts and [p.text for p in record.contexts]) == (
            contexts if contexts is None else contexts or ()
        )

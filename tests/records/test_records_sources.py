"""Python objects, standard input, the hub, ids, and the survey."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records import SetAside, Source, open_records, survey
from ragstone.records.ids import Names
from ragstone.records.leaderboards import read_leaderboard
from ragstone.records.limits import CHUNK
from ragstone.types import Citation, Nugget, Passage, Record, Span
from reading import outcomes, record_of, records

LOOP: list[Any] = []
LOOP.append(LOOP)
DEEP: Any = []
for _ in range(150):
    DEEP = [DEEP]


def ids(source: Source) -> list[str]:
    return [outcome.id for outcome in source]


def test_a_list_of_dicts_is_read_as_often_as_wanted() -> None:
    """Each reading gives the same records, also two at a time."""
    with open_records([{"id": "a"}, {"id": "a"}, {"question": "q"}]) as source:
        assert source.name == "records"
        first, second = iter(source), iter(source)
        assert next(first) == next(second)
        assert ids(source) == ids(source)
        assert [record.where for record in source if isinstance(record, Record)][1] == "records item 2"


def test_an_iterator_is_kept_in_a_private_file_until_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, Records and rows that cannot be read come back in order; nobody else may read the file."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    full = Record(
        id="r", question="q", response="abc", contexts=(Passage("d", "x", 1),), nuggets=(Nugget("n", "vital"),),
        citations=(Citation(Span(0, 3), ("d",)),), overrides={"m": {"x": 1}}, meta={"k": [1]}, where="w", notes=("n",),
    )  # fmt: skip
    with open_records(iter([{"id": "a", "x": 1}, full, Record(id="bare"), 7]), on_error="skip") as source:
        (path,) = tmp_path.iterdir()
        assert path.stat().st_mode & 0o077 == 0
        for _ in range(2):
            row, record, bare, aside = source
            assert (row.id, record) == ("a", full)
            assert bare == Record(id="bare", where="list_iterator item 3")
            assert isinstance(aside, SetAside)
            assert "expected an object, found a number" in aside.error
    assert not path.exists()
    with pytest.raises(ValueError, match="closed"):
        list(source)


def test_a_source_that_is_dropped_deletes_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when nobody closes it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = open_records(row for row in [{"id": "a"}])
    assert len(list(tmp_path.iterdir())) == 1
    del source
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "\ud800"}, "a lone surrogate"),
        ({"x": object()}, "a value that JSON cannot represent: Type is not JSON serializable: object"),
        ([1], "expected an object, found a list"),
        ("text", "expected an object, found a string"),
        ({"x": LOOP}, "nested deeper than 100 levels"),
        ({"x": DEEP}, "nested deeper than 100 levels"),
    ],
    ids=["half a character", "object", "list", "text", "refers to itself", "deep"],
)
def test_a_bad_row_of_python_is_named(row: Any, message: Any) -> None:
    """The item's number and what is wrong; read through an iterator it is the same."""
    for source in ([{"id": "a"}, row], iter([{"id": "a"}, row])):
        with pytest.raises(RecordError, match=message) as caught, open_records(source) as opened:
            list(opened)
        assert "item 2" in str(caught.value)


class Dataset:
    """What a datasets.Dataset is to a reader: rows, as often as wanted."""

    features = ("id",)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        yield from ({"id": "a"}, {"id": "b"})


def test_a_data_set_is_a_source() -> None:
    """It is read anew each time; of several splits one is to be chosen."""
    with open_records(Dataset()) as source:
        assert (source.name, ids(source), ids(source)) == ("Dataset", ["a", "b"], ["a", "b"])
    with pytest.raises(InputError, match="several splits: choose one of train, test"):
        open_records({"train": Dataset(), "test": Dataset()})


def test_the_real_library_reads_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built of columns, saved and loaded, streamed, of one split, and by an address that a folder answers."""
    datasets = pytest.importorskip("datasets", reason="the extra hf is not installed", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    table = datasets.Dataset.from_dict(
        {"id": ["a", "b"], "question": ["Tea?", None], "response": ["Yes.", "No."], "contexts": [["p", "q"], []]}
    )
    table.save_to_disk("saved")
    table.to_json("org/name/train.jsonl")
    both = datasets.DatasetDict({"train": table, "test": table})
    both.pop("test").to_json("org/two/test.jsonl")
    both["train"].to_json("org/two/train.jsonl")
    saved = datasets.load_from_disk("saved")
    for source in (table, saved, table.to_iterable_dataset(), both, "hf://org/name", "hf://org/two@test"):
        first, second = records(source)
        assert records(source) == [first, second]
        assert (first.id, first.question, first.response) == ("a", "Tea?", "Yes.")
        assert [passage.text for passage in first.contexts or ()] == ["p", "q"]
        assert (second.id, second.question, second.contexts) == ("b", None, ())
    with pytest.raises(InputError, match="specify a split: hf://org/two@train or hf://org/two@test"):
        list(open_records("hf://org/two"))
    with pytest.raises(InputError, match="hf://org/name@nope: cannot be opened: Bad split: nope"):
        list(open_records("hf://org/name@nope"))
    with pytest.raises(InputError, match="hf://org/name/conf: cannot be opened: BuilderConfig 'conf' not found"):
        list(open_records("hf://org/name/conf"))


def test_hostile_numbers_of_equal_names_take_linear_time() -> None:
    """Passages of one id, citations of many references, and a header of many columns."""
    many = 50_000
    contexts = [{"id": "d", "text": "x"}] * many
    answer = [{"text": "x", "citations": [str(n) for n in range(many)]}]
    row = {"id": "a", "contexts": contexts, "answer": answer, "references": [f"d{n}" for n in range(many)]}
    record = record_of(row)
    assert record.contexts is not None
    assert record.contexts[-1].id == f"d#{many}"
    assert len(record.citations[0].passages) == many


def test_a_frame_is_a_source() -> None:
    """pandas and polars give the same records; what is missing is absent, an index with a name is a column."""
    rows = {"id": ["a", "b"], "question": ["q", None], "contexts": [["x", "y"], []], "n": [1.5, float("nan")]}
    for frame in (pd.DataFrame(rows), pl.DataFrame(rows), pd.DataFrame(rows).set_index("id")):
        first, second = records(frame)
        assert (first.id, first.question, first.meta) == ("a", "q", {"n": 1.5})
        assert first.contexts == (Passage("1", "x", 1), Passage("2", "y", 2))
        assert (second.question, second.contexts, second.meta) == (None, (), {"n": None})
        assert first.where == "DataFrame row 1"
    with pytest.raises(InputError, match=r"call collect\(\)"):
        open_records(pl.DataFrame(rows).lazy())
    with pytest.raises(RecordError, match="two columns are named 'a'"):
        list(open_records(pd.DataFrame([[1, 2]], columns=["a", "a"])))


def test_values_of_pandas_have_a_form() -> None:
    """Times, missing values, categories and large integers."""
    frame = pd.DataFrame(
        {
            "id": pd.array([1, 2], dtype="Int64"),
            "t": pd.Series([pd.Timestamp("2024-01-02"), pd.NaT]),
            "c": pd.Categorical(["x", None]),
            "b": pd.array([True, None], dtype="boolean"),
            "big": [10**30, 1],
        }
    )
    first, second = records(frame)
    assert first.id == "1"
    assert first.meta == {"t": "2024-01-02T00:00:00", "c": "x", "b": True, "big": str(10**30)}
    assert second.meta == {"t": None, "c": None, "b": None, "big": 1}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (7, "a number is not a source of records"),
        (b"x", "a bytes is not a source"),
        ({"question": "q"}, "put it in a list"),
    ],
)
def test_other_objects_are_refused(source: Any, message: Any) -> None:
    """With what is expected instead."""
    with pytest.raises(InputError, match=message):
        open_records(source)


def test_no_records_is_an_error() -> None:
    """An empty list is a mistake to be told of, not a mean of nothing."""
    sources: list[Any] = [[], iter([]), pd.DataFrame()]
    for source in sources:
        with pytest.raises(RecordError, match="contains no records"):
            survey(open_records(source))


def give_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    "data",
    [
        b'{"id":"a"}\n{"id":"b"}',
        b'[{"id":"a"},{"id":"b"}]',
        b"id,question\na,q\nb,q\n",
        b"question\tid\nq\ta\nq\tb\n",
        gzip.compress(b'{"id":"a"}\n{"id":"b"}'),
    ],
    ids=["lines", "array", "commas", "tabs", "gzip"],
)
def test_standard_input_is_read_twice_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any
) -> None:
    """Its format is told from how it begins."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    give_input(monkeypatch, data)
    with open_records("-") as source:
        assert source.name == "stdin"
        assert ids(source) == ids(source) == ["a", "b"]
        assert next(iter(source)).where.startswith("stdin:")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "stdin: the input is empty"),
        (b"hello", "the format cannot be detected"),
        (b'{"id":"aaaaaaaa"}', "more than 10 bytes"),
    ],
)
def test_unusable_standard_input_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any, message: Any
) -> None:
    """The temporary file is deleted when the source cannot be opened, or would fill the disk."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("ragstone.records.bytestream.MAX_SPOOL_BYTES", 10)
    give_input(monkeypatch, data)
    with pytest.raises(RecordError, match=message):
        open_records("-")
    assert list(tmp_path.iterdir()) == []


def test_a_named_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    """Without a writer it would be waited for without end."""
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    for read in (open_records, read_leaderboard):
        with pytest.raises(RecordError) as caught:
            read(path)
        said = "this is a pipe, which can be read only once; use standard input (-) or a file"
        assert str(caught.value) == f"{path}: {said}"


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "start"),
    [("a.jsonl", b""), ("a.jsonl", b'{"id":"a"}\n'), ("a.json", b"["), ("a.csv", b"id,x\na,1\n"), ("a", b"")],
)
def test_white_space_is_not_read_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, start: bytes, packed: str
) -> None:
    """Packed it is a small file."""
    monkeypatch.setattr("ragstone.records.bytestream.MAX_BLANK_BYTES", 1000)
    data = start + b"\n" * (2 * CHUNK)
    path = tmp_path / (name + packed)
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(RecordError, match="more than 1,000 bytes of white space; expected a record"):
        ids(open_records(path))


def hub(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    library = types.ModuleType("datasets")
    library.load_dataset = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", library)


def test_the_hub_is_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name, configuration and split are handed on; a data set with one split needs no name for it."""
    calls = []

    def load(*args: Any, **options: Any) -> Any:
        calls.append((args, options))
        return [{"id": "a"}] if options["split"] else {"train": [{"id": "t"}]}

    hub(monkeypatch, load)
    assert ids(open_records("hf://org/name/conf@test")) == ["a"]
    assert ids(open_records("hf://org/name")) == ["t"]
    assert calls == [
        (("org/name", "conf"), {"split": "test", "streaming": True}),
        (("org/name", None), {"split": None, "streaming": True}),
    ]
    (record,) = open_records("hf://org/name@x")
    assert record.where == "hf://org/name@x row 1"


def test_what_goes_wrong_with_the_hub_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """No library, no such data set, several splits, a bad address, a connection that breaks."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigError, match=r"pip install 'ragstone\[hf\]'"):
        list(open_records("hf://org/name"))
    for address in ("hf://name", "hf://org/name@", "hf://org/../x/y", "hf://"):
        with pytest.raises(ConfigError, match="expected hf://org/name"):
            open_records(address)

    def broken() -> Any:
        yield {"id": "a"}
        raise ConnectionError("gone\naway")

    def load(name: str, _: Any, *, split: Any, streaming: bool) -> Any:
        if name == "org/missing":
            raise FileNotFoundError("no such data set")
        return broken() if split else {"a": [], "b": []}

    hub(monkeypatch, load)
    with pytest.raises(InputError, match="hf://org/missing: cannot be opened: no such data set"):
        list(open_records("hf://org/missing"))
    with pytest.raises(InputError, match="specify a split: hf://org/name@a or hf://org/name@b"):
        list(open_records("hf://org/name"))
    with pytest.raises(RecordError, match="hf://org/name@x after row 1: cannot be read further: gone"):
        list(open_records("hf://org/name@x"))
    assert len(list(open_records("hf://org/name@x", on_error="skip"))) == 2


def test_ids_that_come_again_get_a_number() -> None:
    """Both records are kept, also where the numbered id is the own id of another record."""
    found = ids(open_records([{"id": name} for name in ["a", "a", "a#2", "a", "b", "a#2"]]))
    assert found == ["a", "a#2", "a#2#2", "a#3", "b", "a#2#3"]
    found = ids(open_records([{"id": name} for name in ["a#2", "a", "a"]]))
    assert found == ["a#2", "a", "a#3"]


@given(st.lists(st.sampled_from(["a", "a#2", "a#3", "a#2#2", "b"]), max_size=12))
def test_names_are_unique_and_repeatable(wanted: Any) -> None:
    """Whatever ids come, in whatever order; the first of each that is free keeps its own."""
    first, second = Names(), Names()
    given_names = [first.unique(name) for name in wanted]
    assert given_names == [second.unique(name) for name in wanted]
    assert len(set(given_names)) == len(wanted)
    assert first.renamed == sum(name != old for name, old in zip(given_names, wanted, strict=True))


def test_many_records_of_one_id_take_no_longer_each() -> None:
    """The next free number is remembered."""
    names = Names()
    assert [names.unique("a") for _ in range(100_000)][-1] == "a#100000"
    assert names.repeats == {"a": 100_000}


def test_a_record_set_aside_has_an_id_of_its_own() -> None:
    """Its own where it could be read, else its place; unique like all others."""
    rows = [{"id": "a"}, {"id": "a", "question": 1}, {"id": [1]}, 5, Record(id="a")]
    outcomes = list(open_records(rows, on_error="skip"))
    assert [outcome.id for outcome in outcomes] == ["a", "a#2", "records item 3", "records item 4", "a#3"]
    assert [isinstance(outcome, SetAside) for outcome in outcomes] == [False, True, True, True, False]


def test_the_survey_counts_what_is_there() -> None:
    """Fields that are there and not blank, ids that came before, notes with one example each."""
    rows = [
        {"id": "a", "question": "q", "response": "r", "contexts": ["x", ""], "nuggets": ["n"], "reference": "f"},
        {"id": "a", "question": " ", "response": "", "contexts": ["", " "]},
        {"id": "a", "answer": [{"text": "s", "citations": [0]}], "contexts": []},
        {"question": "q", "overrides": {"m": {"x": 1}}},
        {"id": "e", "question": 5},
    ]
    found = survey(open_records(rows, on_error="skip"))
    assert (found.name, found.records, found.set_aside, found.total) == ("records", 4, 1, 5)
    once = dict.fromkeys(("contexts", "reference", "nuggets", "citations"), 1)
    assert found.present == {"question": 2, "response": 2, "relevant": 0, **once}
    assert (found.renamed, found.duplicates, found.overridden) == (2, {"a": 3}, 1)
    assert [(note.text, note.count, note.example) for note in found.notes] == [
        ("contexts: a blank passage", 2, "records item 1"),
        ("no contexts, or all blank", 2, "records item 2"),
        ("blank question", 1, "records item 2"),
        ("blank response", 1, "records item 2"),
        (
            (
                "no id: records are identified by their content, so compare cannot pair a record whose response "
                "changes; to specify an id, add --field id=NAME with the name of a field, "
                "such as that of the question"
            ),
            1,
            "records item 4",
        ),
        ("question: missing", 1, "records item 3"),
        ("response: missing", 1, "records item 4"),
        ("contexts: missing", 1, "records item 4"),
    ]
    assert found.warnings[0] == "3 records have the id 'a'; repeats get a suffix: 'a#2'"
    assert len(found.warnings) == 9
    assert len(found.messages) == 1


def test_the_survey_stays_small() -> None:
    """Messages, examples of ids and kinds of notes are bounded."""
    rows = [{"id": f"{n // 2}", "contexts": ["c"] * n + [5]} for n in range(100)]
    rows += [{"id": f"x{n // 2}"} for n in range(100)]
    found = survey(open_records(rows, on_error="skip"))
    assert (len(found.messages), found.set_aside, found.renamed, len(found.duplicates)) == (21, 100, 100, 10)
    assert found.messages[-1] == "and 80 more"


def test_an_inspection_sets_records_aside_or_stops() -> None:
    """Parameters that no metric has are an error of the record that brings them, in every reading."""

    def inspect(record: Record) -> None:
        if record.overrides:
            raise ConfigError("grounding.threshold: 7 is not usable")

    rows = [{"id": "a"}, {"id": "b", "overrides": {"grounding": {"threshold": 7}}}]
    with pytest.raises(RecordError, match=r"records item 2: grounding\.threshold: 7 is not usable"):
        survey(open_records(rows), inspect)
    found = survey(open_records(rows, on_error="skip"), inspect)
    assert (found.records, found.set_aside) == (1, 1)
    first, aside = open_records(rows, on_error="skip", inspect=inspect)
    assert (first.id, aside.id, isinstance(aside, SetAside)) == ("a", "b", True)


def test_records_of_python_keep_their_place() -> None:
    """A Record that knows where it came from still does; another is told."""
    known, told = open_records([Record(id="a", where="here"), Record(id="b")])
    assert (known.where, told.where) == ("here", "records item 2")
    assert replace(told, where="") == Record(id="b")


def test_importing_is_cheap() -> None:
    """No library for tables, data sets or decompression is imported before it is needed."""
    code = (
        "import sys, ragstone.records; "
        "print([m for m in ('pyarrow','pandas','polars','datasets','numpy','backports.zstd','tempfile')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "count", "present"),
    [
        ("traces/ragbench_validation.jsonl", 720, {"question": 720, "response": 720, "contexts": 720}),
        ("traces/mtrag_un.jsonl", 507, {"question": 507, "response": 507, "contexts": 377}),
        ("nuggets/realsumm.jsonl", 1000, {"response": 1000, "contexts": 1000, "nuggets": 1000}),
    ],
)
def test_real_traces_are_read(name: Any, count: Any, present: Any, outside_data: Callable[[str], Path]) -> None:
    """Every record of the data at hand, with the fields that it has and all else in meta."""
    path = outside_data(name)
    with open_records(path) as source:
        found = survey(source)
        assert (found.records, found.set_aside) == (count, 0)
        assert {field: number for field, number in found.present.items() if number} == present
        line = orjson.loads(path.read_bytes().partition(b"\n")[0])
        first = next(iter(source))
    assert isinstance(first, Record)
    assert first.response == line["response"]
    fields = {"id", "qid", "question", "documents", "retrieved_contexts", "response", "nuggets"}
    assert set(first.meta) == set(line) - fields


def test_what_an_iterator_brings_is_bounded_and_has_a_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Record with a value that JSON has not, and a row beyond the limit, are errors of one record each."""
    monkeypatch.setattr("ragstone.records.python_values.MAX_RECORD_BYTES", 100)
    rows = [Record(id="a", meta={"x": object()}), {"id": "b", "x": "y" * 200}, {"id": "c", "x": {3, 1}}]
    first, second, third = outcomes(iter(rows), on_error="skip")
    assert "a Record that JSON cannot represent" in first.error
    assert "a record of 217 bytes; expected at most 100" in second.error
    assert third.meta == {"x": [1, 3]}

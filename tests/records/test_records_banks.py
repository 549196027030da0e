"""Banks of nuggets by topic, records that are given them, and the runs of several systems as one source."""

from __future__ import annotations

import gzip
import io
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records import SetAside, open_records, survey
from ragstone.records.banks import Bank, autojudge_line, bank_line, read_bank
from ragstone.records.topics import read_topics
from ragstone.segment import folded
from ragstone.types import Nugget, Record
from reading import outcomes, records

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROWS: list[dict[str, Any]] = [
    {
        "qid": "1",
        "query": "why?",
        "nuggets": [{"text": "a", "importance": "vital"}, {"text": "b", "importance": "okay"}],
    },
    {"qid": 2, "query": "how?", "nuggets": [{"text": "c", "importance": "OK"}]},
]
NUGGETS = {"1": (Nugget("a", "vital"), Nugget("b", "okay")), "2": (Nugget("c", "okay"),)}


def written(path: Path, rows: Iterable[Any]) -> Path:
    data = b"".join(orjson.dumps(row) + b"\n" for row in rows)
    if path.suffix == ".gz":
        data = gzip.compress(data)
    if path.suffix == ".zst":
        data = zstd.compress(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["bank.jsonl", "bank.json", "bank.jsonl.gz", "bank.json.zst", "bank"])
def test_a_file_of_nugget_records_is_a_bank(tmp_path: Path, name: str) -> None:
    """By topic, each with its question, however it is packed."""
    bank = read_bank(written(tmp_path / name, ROWS))
    assert (bank.name, bank.nuggets, bank.questions) == (name, NUGGETS, {"1": "why?", "2": "how?"})
    assert re.fullmatch("[0-9a-f]{6}", bank.digest)
    assert bank.notes == ()


def test_a_table_and_standard_input_are_banks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever can be read as records."""
    path = tmp_path / "bank.csv"
    path.write_text('qid,nuggets\n1,"[""a"", ""b""]"\n', encoding="utf-8")
    assert read_bank(path).nuggets == {"1": (Nugget("a"), Nugget("b"))}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"".join(orjson.dumps(row) + b"\n" for row in ROWS))))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert read_bank("-").nuggets == NUGGETS
    assert list(tmp_path.iterdir()) == [path]
    assert read_bank(ROWS).nuggets == NUGGETS


def test_a_folder_of_files_is_a_bank(tmp_path: Path) -> None:
    """A file a topic, which may be named by its file alone; hidden and other files are no banks."""
    folder = tmp_path / "banks"
    for number, name in enumerate(["1.json", "2.jsonl", "3.json.gz", "x.y.jsonl.zst"]):
        written(folder / name, [{"query_id": str(number), "claim_bank": [{"claim": name}]}])
    written(folder / "by name.json", [{"nuggets": ["n"]}])
    (folder / ".hidden.json").write_text("{", encoding="utf-8")
    (folder / "README.txt").write_text("text", encoding="utf-8")
    (folder / "more.json").mkdir()
    bank = read_bank(str(folder))
    assert bank.name == "banks"
    assert {topic: nuggets[0].text for topic, nuggets in bank.nuggets.items()} == {
        "0": "1.json", "1": "2.jsonl", "2": "3.json.gz", "3": "x.y.jsonl.zst", "by name": "n",
    }  # fmt: skip
    (tmp_path / "none").mkdir()
    with pytest.raises(RecordError, match="none: there is no bank in this folder"):
        read_bank(tmp_path / "none")
    written(folder / "2 again.json", [{"query_id": "1", "claim_bank": []}])
    with pytest.raises(RecordError, match=r"2\.jsonl:1: the nuggets of topic '1' differ from an earlier list"):
        read_bank(folder)


def test_rows_of_many_systems_are_one_bank() -> None:
    """The nuggets of a topic are read once, in the first order, without assignments; all rows must agree."""
    rows = [
        {"qid": qid, "run_id": run, "nuggets": [{"text": text, "assignment": degree} for text in texts]}
        for run, degree, texts in [("r", "support", "ab"), ("s", "not_support", "ba"), ("t", "failed", "ab")]
        for qid in ("1", "2")
    ]
    bank = read_bank(rows)
    assert bank.nuggets == {"1": (Nugget("a"), Nugget("b")), "2": (Nugget("a"), Nugget("b"))}
    assert bank.notes == ()
    for nuggets, message in [
        (["a"], r"differ from an earlier list \('b' is missing\)"),
        (["a", "b", "c"], r"differ from an earlier list \('c' is new\)"),
        (["a", {"text": "b", "importance": "okay"}], r"'b' was unspecified, is okay"),
        ([], r"'a' is missing"),
    ]:
        with pytest.raises(RecordError, match=message) as caught:
            read_bank([*rows, {"qid": "2", "nuggets": nuggets}])
        assert "records item 7: the nuggets of topic '2'" in str(caught.value)
    assert read_bank([*rows, Record(id="1", nuggets=(Nugget("b"), Nugget("a")))]) == bank
    twice = Record(id="1", nuggets=(Nugget("a"), Nugget("b"), Nugget("b")))
    with pytest.raises(RecordError, match="one is listed twice"):
        read_bank([*rows, twice])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"qid": "1"}], "records: contains no nuggets"),
        ([{"nuggets": ["a"]}], "records item 1: nuggets without a topic; expected an id next to them"),
        ([{"qid": "1", "nuggets": "a"}], "field 'nuggets': expected a list of nuggets, found a string"),
        ([{"query_id": "1", "nugget_bank": 5}], "field 'nugget_bank': found a number"),
        ([], "contains no records"),
    ],
)
def test_what_is_no_bank_is_told(rows: Any, message: Any) -> None:
    """One line that names the place."""
    with pytest.raises(RecordError, match=re.escape(message)):
        read_bank(rows)


def test_other_things_are_no_banks(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(RecordError, match="no such file"):
        read_bank(tmp_path / "nowhere.jsonl")
    with pytest.raises(InputError, match="is not a source of records"):
        read_bank(7)


def test_what_is_odd_in_a_bank_is_noted() -> None:
    """Counted once a topic, most frequent first, and only what is said of nuggets."""
    rows: list[dict[str, Any]] = [
        {"qid": "1", "query": "why?", "nuggets": [{"text": "a", "importance": 5}, "A."], "contexts": [""]},
        {"qid": "1", "query": "WHY?", "nuggets": [{"text": "a", "importance": 5}]},
        {"qid": "2", "query": "why?", "nuggets": [{"text": "a", "importance": 5, "assignment": "failed"}]},
        {"qid": "3", "nuggets": []},
        {"qid": "3", "query": "late", "nuggets": []},
        {"qid": "4"},
    ]
    bank = read_bank(rows)
    assert bank.nuggets == {"1": (Nugget("a"),), "2": (Nugget("a"),), "3": ()}
    assert bank.questions == {"1": "why?", "2": "why?", "3": "late"}
    assert [(note.text.partition(",")[0], note.count, note.example) for note in bank.notes] == [
        ("nuggets: importance is neither vital nor okay; ignored", 2, "records item 1"),
        ("nuggets: duplicate nugget left out", 1, "records item 1"),
        ("question: differs from that of the topic's first record", 1, "records item 2"),
        ("nuggets: the list is empty", 1, "records item 4"),
        ("nuggets: skipped a record without nuggets", 1, "records item 6"),
    ]
    assert str(bank.notes[3]) == "records item 4: nuggets: the list is empty"


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(str.strip)
nuggets = st.lists(
    st.builds(Nugget, names.filter(folded), st.sampled_from([None, "vital", "okay"])),
    max_size=5,
    unique_by=lambda n: folded(n.text),
).map(tuple)
banks = st.dictionaries(names, st.tuples(st.none() | names, nuggets), min_size=1, max_size=4)


@given(banks, st.sampled_from([bank_line, autojudge_line]))
def test_a_bank_that_was_written_is_read_again(wanted: Any, line: Any) -> None:
    """Topics, questions, texts, importances and their order, in both forms; the digest too."""
    data = b"".join(line(topic, question, listed) for topic, (question, listed) in wanted.items())
    assert data.count(b"\n") == len(wanted)
    rows = [orjson.loads(row) for row in data.splitlines()]
    bank = read_bank(rows)
    assert bank.nuggets == {topic: listed for topic, (_, listed) in wanted.items()}
    assert bank.questions == {topic: question for topic, (question, _) in wanted.items() if question}
    backward = {topic: listed[::-1] for topic, (_, listed) in reversed(wanted.items())}
    again = read_bank([orjson.loads(line(topic, None, listed)) for topic, listed in backward.items()])
    assert again.digest == bank.digest


@pytest.mark.parametrize("line", [bank_line, autojudge_line])
def test_a_written_bank_is_a_file_like_others(tmp_path: Path, line: Any) -> None:
    """Also with a megabyte, NUL and half a character in its texts, as a model may write them."""
    texts = ("word " * 200_000, "a\0b", 'x": "y', "half \ud800 one", "\ud83d\ude00")
    path = tmp_path / "bank.jsonl"
    path.write_bytes(line("t", "why\udfff?", [Nugget(text, "vital") for text in texts]))
    bank = read_bank(path)
    assert [nugget.text for nugget in bank.nuggets["t"]] == [*texts[:3], "half \ufffd one", "\U0001f600"]
    assert bank.questions == {"t": "why\ufffd?"}


def test_an_autojudge_bank_names_its_claims() -> None:
    """Each claim is keyed by its text, with the MD5 of it as id and the topic's."""
    bank = orjson.loads(autojudge_line("t", "why?", [Nugget("Tea is hot.", "okay"), Nugget("x")]))
    assert bank == {
        "query_id": "t",
        "title_query": "why?",
        "format_version": "v3",
        "claim_bank": {
            "Tea is hot.": {
                "claim": "Tea is hot.",
                "claim_id": "95943c1823e0ddd0612e3de04c6e0de6",
                "query_id": "t",
                "importance": "okay",
            },
            "x": {"claim": "x", "claim_id": "9dd4e461268c8034f5c8564e155c67a6", "query_id": "t"},
        },
    }
    assert orjson.loads(bank_line("t", "", [Nugget("x", "okay", "support"), Nugget("y")])) == {
        "qid": "t",
        "nuggets": [{"text": "x", "importance": "okay"}, {"text": "y"}],
    }


def test_the_digest_depends_on_what_is_scored() -> None:
    """Topics, texts and importances change it; order, questions and assignments do not."""
    digest = read_bank(ROWS).digest
    same = [{**row, "query": "x", "nuggets": row["nuggets"][::-1]} for row in reversed(ROWS)]
    same[0]["nuggets"] = [{**nugget, "assignment": "support"} for nugget in same[0]["nuggets"]]
    assert read_bank(same).digest == digest == "eb8756"
    others: list[list[dict[str, Any]]] = [
        [{**ROWS[0], "qid": "3"}, ROWS[1]],
        [ROWS[0], {"qid": "2", "nuggets": [{"text": "C", "importance": "okay"}]}],
        [ROWS[0], {"qid": "2", "nuggets": [{"text": "c", "importance": "vital"}]}],
        [ROWS[0], {"qid": "2", "nuggets": ["c"]}],
        [ROWS[0]],
    ]
    assert len({read_bank(rows).digest for rows in others} | {digest}) == 6


def test_records_are_given_the_nuggets_of_their_topic() -> None:
    """The bank wins over what they bring; a topic that it lacks has none, with a note; repeated ids share a topic."""
    bank = read_bank([*ROWS, {"qid": "empty", "nuggets": []}])
    rows: list[Any] = [
        {"id": "1", "nuggets": ["own", {"text": "own too", "importance": 5, "assignment": "failed"}]},
        {"id": 1},
        {"id": "x", "nuggets": ["own"]},
        {"question": "q"},
        {"id": "empty"},
        Record(id="2"),
        Record(id="r", topic="2", notes=("kept",)),
    ]
    found = records(rows, bank=bank)
    assert [record.nuggets for record in found] == [
        NUGGETS["1"], NUGGETS["1"], None, None, (), NUGGETS["2"], NUGGETS["2"],
    ]  # fmt: skip
    assert [record.id for record in found][:2] == ["1", "1#2"]
    assert found[0].notes == ()
    assert found[2].notes == ("nuggets: the bank has no nuggets for this topic",)
    assert found[3].notes[1:] == found[2].notes
    assert found[6].notes == ("kept",)
    notes = {note.text: note.count for note in survey(open_records(rows, bank=bank)).notes}
    assert notes["nuggets: the bank has no nuggets for this topic"] == 2


def test_half_a_character_in_a_nugget_is_named() -> None:
    """Also in a Record of Python's, which no file could hold."""
    for record in (Record(id="1", nuggets=(Nugget("\ud800"),)), Record(id="1", topic="\ud800", nuggets=())):
        for read in (read_bank, lambda rows: list(open_records(rows))):
            with pytest.raises(RecordError, match="records item 1: a lone surrogate"):
                read([record])


def test_what_looks_at_records_sees_the_bank() -> None:
    """An inspection is shown the record as metrics will see it."""
    seen: list[Any] = []
    survey(open_records([{"id": "1"}], bank=read_bank(ROWS), inspect=lambda record: seen.append(record.nuggets)))
    assert seen == [NUGGETS["1"]]


def test_a_bank_is_a_value() -> None:
    """Nothing of it can be changed."""
    bank = read_bank(ROWS)
    assert bank == read_bank(ROWS)
    nuggets: Any = bank.nuggets
    with pytest.raises(TypeError):
        nuggets["1"] = ()
    assert Bank("b", {}, {}, "000000") != bank


def test_the_nuggets_of_real_runs_are_one_bank(outside_data: Callable[[str], Path]) -> None:
    """25 systems on 40 topics: 40 lists of nuggets, which every row is given again."""
    path = outside_data("nuggets/realsumm.jsonl")
    bank = read_bank(path)
    assert len(bank.nuggets) == 40
    assert sum(map(len, bank.nuggets.values())) == 426
    assert all(nugget.assignment is None for nuggets in bank.nuggets.values() for nugget in nuggets)
    found = survey(open_records(path, bank=bank))
    assert (found.records, found.present["nuggets"], found.notes) == (1000, 1000, ())


def test_several_runs_are_one_source(tmp_path: Path) -> None:
    """In their order, ids unique over all, each record with its own run or that of its file."""
    paths = [
        written(tmp_path / "one.v2.jsonl", [{"qid": "1"}, {"qid": "2", "run_id": "own"}]),
        written(
            tmp_path / "two.jsonl.gz", [{"qid": "1", "run_id": " "}, {"qid": "2", "metadata": {"run_id": "block"}}]
        ),
        written(tmp_path / "three.json", [{"qid": "1", "run_id": 3}]),
        written(tmp_path / "four", [{"qid": "1"}]),
    ]
    with open_records(paths) as source:
        assert source.name == "one.v2.jsonl, two.jsonl.gz, three.json and 1 more"
        assert list(source) == list(source)
    found = records([str(path) for path in paths], bank=read_bank(ROWS))
    assert [record.id for record in found] == ["1", "2", "1#2", "2#2", "1#3", "1#4"]
    assert [record.topic for record in found] == ["1", "2", "1", "2", "1", "1"]
    assert [record.meta["run_id"] for record in found] == ["one.v2", "own", "two", "block", 3, "four"]
    assert [record.where for record in found] == [
        "one.v2.jsonl:1", "one.v2.jsonl:2", "two.jsonl.gz:1", "two.jsonl.gz:2", "three.json:1", "four:1",
    ]  # fmt: skip
    assert [len(record.nuggets or ()) for record in found] == [2, 1, 2, 1, 2, 2]
    assert survey(open_records(paths)).records == 6


def test_one_run_is_named_in_a_list_only(tmp_path: Path) -> None:
    """A list holds the runs of systems, also if it is of one; a file by itself gets no name."""
    path = written(tmp_path / "one.jsonl", [{"qid": "1"}])
    for paths, meta in (([path], {"run_id": "one"}), ((str(path),), {"run_id": "one"}), (str(path), {})):
        (record,) = records(paths)
        assert (record.meta, open_records(paths).name) == (meta, "one.jsonl")


def test_runs_of_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their folders, in messages and in the names of their systems."""
    monkeypatch.chdir(tmp_path)
    for name in ("a/run.jsonl", "b/run.jsonl", "b/run.json"):
        written(tmp_path / name, [{"qid": "1"}])
    found = records(["a/run.jsonl", "b/run.jsonl"])
    assert [record.meta["run_id"] for record in found] == ["a/run", "b/run"]
    assert [record.where for record in found] == ["a/run.jsonl:1", "b/run.jsonl:1"]
    found = records(["b/run.json", "b/run.jsonl"])
    assert [record.meta["run_id"] for record in found] == ["b/run.json", "b/run.jsonl"]
    assert [record.where for record in found] == ["run.json:1", "run.jsonl:1"]


def test_runs_that_cannot_be_meant_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them twice however it is spelled, one that is not there or has nothing in it."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.jsonl", [{"qid": "1"}])
    (tmp_path / "blank.jsonl").write_text("\n\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="given twice"):
        open_records(["a.jsonl", "./a.jsonl"])
    with pytest.raises(RecordError, match=r"nowhere\.jsonl: no such file"):
        open_records(["a.jsonl", "nowhere.jsonl"])
    with pytest.raises(RecordError, match="records item 1: expected an object, found a string"):
        list(open_records(["a.jsonl", {"qid": "1"}]))
    for paths in (["a.jsonl", "blank.jsonl"], ["blank.jsonl", "a.jsonl"]):
        with pytest.raises(RecordError, match=r"blank\.jsonl: contains no records"):
            survey(open_records(paths, on_error="skip"))


def test_a_run_that_breaks_off_costs_what_is_left_of_it(tmp_path: Path) -> None:
    """With skip the rest of that file is one record that is set aside, and the next file is read."""
    rows = [{"qid": str(number), "text": "x" * 50_000} for number in range(20)]
    broken = written(tmp_path / "broken.jsonl.gz", rows)
    broken.write_bytes(broken.read_bytes()[:-20])
    paths = [broken, written(tmp_path / "whole.jsonl", [{"qid": "w"}, {"qid": 5, "question": 5}])]
    found = outcomes(paths, on_error="skip")
    asides = [outcome for outcome in found if isinstance(outcome, SetAside)]
    assert [aside.error.partition(" ")[0] for aside in asides] == ["broken.jsonl.gz", "whole.jsonl:2:"]
    assert [outcome.id for outcome in found][-2:] == ["w", "5#2"]
    with pytest.raises(RecordError, match=r"broken\.jsonl\.gz after line \d+: the compressed data ends early"):
        survey(open_records(paths))


def test_runs_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was copied is deleted when the source is closed, dropped, or could not be opened."""
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    path = written(tmp_path / "a.jsonl", [{"qid": "1"}])

    def give() -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"qid": "1"}')))

    give()
    with open_records(["-", path]) as source:
        assert len(list(spool.iterdir())) == 1
        found = list(source)
        assert [record.meta["run_id"] for record in found if isinstance(record, Record)] == ["stdin", "a"]
    assert list(spool.iterdir()) == []
    with pytest.raises(ValueError, match="closed"):
        list(source)
    give()
    dropped = open_records(["-", path])
    del dropped
    assert list(spool.iterdir()) == []
    give()
    with pytest.raises(RecordError, match="no such file"):
        open_records(["-", tmp_path / "nowhere"])
    assert list(spool.iterdir()) == []


def test_a_mapped_path_may_be_in_any_of_the_runs(tmp_path: Path) -> None:
    """It is missed only where no record of any file has it."""
    paths = [written(tmp_path / "a.jsonl", [{"x": "q"}]), written(tmp_path / "b.jsonl", [{"y": "q"}])]
    assert survey(open_records(paths, fields={"question": "y"})).present["question"] == 1
    with pytest.raises(ConfigError, match="not found in any record"):
        survey(open_records(paths, fields={"question": "z"}))


# ---- questions by topic


def test_a_run_that_names_topics_gets_its_questions_of_their_file() -> None:
    """A record's own question stays; an unknown topic has a note; a bank's title is the same question."""
    requests = [
        {"request_id": 28, "title": "Tea", "limit": 200, "problem_statement": "How is it brewed?", "background": " "},
        {"id": "29", "question": "Which teas are there?"},
        {"topic_id": "29", "narrative": "Which teas are there?"},
    ]
    answers: list[dict[str, Any]] = [
        {"metadata": {"run_id": "one", "topic_id": name}, "responses": [{"text": "Hot."}], "references": []}
        for name in ("28", "29", "30")
    ]
    answers.append({"topic_id": "28", "question": "Why?", "response": "So."})
    titles = [{"query_id": "28", "title_query": "tea", "claim_bank": [{"claim": "It takes hot water"}]}]
    found = records(answers, topics=read_topics(requests), bank=read_bank(titles))
    asked = ["Tea\nHow is it brewed?", "Which teas are there?", None, "Why?"]
    assert [record.question for record in found] == asked
    assert [[note for note in record.notes if "topic" in note and "no nuggets" not in note] for record in found] == [
        [],
        [],
        ["question: topic is not in the topics file"],
        ["nuggets: the bank has a different question for this topic"],
    ]
    assert found[0].nuggets == (Nugget("It takes hot water"),)


@pytest.mark.parametrize("name", ["t.tsv", "topics.rag24.test.txt"])
def test_topics_are_lines_of_an_id_a_tab_and_a_question(name: str, tmp_path: Path) -> None:
    """As TREC RAG 2024 has them; a table with a header is read as one."""
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf2024-1\twhat is tea?\r\n\n2024-2\tQuestion\tand answer\n")
    assert read_topics(path).questions == {"2024-1": "what is tea?", "2024-2": "Question\tand answer"}
    (tmp_path / "h.tsv").write_text("qid\tquery\n7\tWhat?\n")
    assert read_topics(tmp_path / "h.tsv").questions == {"7": "What?"}
    path.write_text("7\tWhat?\n7\tWhy?\n")
    with pytest.raises(RecordError, match=r":2: topic '7' is repeated with a different question"):
        read_topics(path)
    path.write_text("no tab\n")
    with pytest.raises(RecordError):
        read_topics(path)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"request_id": "1", "limit": 3}], "item 1: a topic without a question; expected {request_id, title}"),
        ([{"title": "Tea"}], "item 1: a topic without an id"),
        (
            [{"id": "1", "query": "a"}, {"qid": 1, "query": "b"}],
            "item 2: topic '1' is repeated with a different question",
        ),
    ],
)
def test_a_topic_that_asks_nothing_or_two_things_is_refused(rows: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(RecordError, match=re.escape(said)):
        read_topics(rows)

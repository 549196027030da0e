"""``ragstone export`` and other files: the same run for other programs, and a recording that answers in its place."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from terminal import TRACES, done, ragstone, refused, row, write

from ragstone import evaluate
from ragstone.analysis.run import SCORE_COLUMNS, SENTENCE_COLUMNS, UNIT_COLUMNS
from ragstone.judges.base import Failed
from ragstone.output import export
from ragstone.output import formats as packaged
from ragstone.output.files import Folder
from ragstone.output.formats.csv_parquet import harmless
from ragstone.records.leaderboards import read_leaderboard
from ragstone.testing import ScriptedJudge

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("alone")


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def metrics_of(store: Path) -> int:
    """How many scores a record of the run has."""
    return len(ragstone("show", "--json", "--store", str(store)).json["metrics"])


def scores(path: Path) -> list[Any]:
    return [json.loads(line)["scores"] for line in path.read_bytes().splitlines()]


def test_json_lines_are_those_of_results_jsonl() -> None:
    """Byte for byte."""
    assert ragstone("run", write("a.jsonl", row(1), row(2)), "-q", "-o", "out").code == 0
    for out in ((), ("-o", "-")):
        assert ragstone("export", *out).out == Path("out/results.jsonl").read_text(encoding="utf-8")
    assert not Path("-").exists()
    said = ragstone("export", "1", "-o", "copy.jsonl").flat
    assert said.startswith("Export copy.jsonl 2 records from run 1 · jsonl · ")
    assert Path("copy.jsonl").read_bytes() == Path("out/results.jsonl").read_bytes()


def test_tables_of_scores_and_of_verdicts(weighed: Path) -> None:
    """Every column, a row each, numbers as numbers."""
    rows = table(ragstone("export", "-f", "csv", "--store", str(weighed)).out)
    assert tuple(rows[0]) == SCORE_COLUMNS
    assert len(rows) == 22 * metrics_of(weighed)
    assert all(0 <= float(one["value"]) <= 1 for one in rows if one["value"])
    verdicts = table(ragstone("export", "-f", "csv", "--rows", "verdicts", "--store", str(weighed)).out)
    assert tuple(verdicts[0]) == UNIT_COLUMNS
    assert {one["verbatim"] for one in verdicts} <= {"true", "false", ""}


def test_verdicts_of_claims_and_nuggets_have_what_their_metric_says_of_them() -> None:
    """Decision and tokens of a claim; importance, weight and difference of a nugget, whose mean is the record's.

    A metric may only count its claims, as abstention does.
    """
    metrics = "claims,nugget_groundedness,groundedness,abstention"
    assert ragstone("run", write("a.jsonl", row(1)), "-q", "-m", metrics).code == 0
    result = ragstone("show", "1", "r1", "--json").json
    rows = table(ragstone("export", "-f", "csv", "--rows", "verdicts").out)
    claims = [one for one in rows if one["metric"] == "grounding"]
    (score,) = (score for score in result["scores"] if score["metric"] == "grounding")
    assert [(one["verdict"], one["tokens"]) for one in claims] == [
        (claim["verdict"], str(claim["tokens"])) for claim in score["detail"]["claims"]
    ]
    nuggets = [one for one in rows if one["metric"] == "nugget_groundedness"]
    weights = [float(one["weight"]) for one in nuggets]
    assert {(one["importance"], one["weight"]) for one in nuggets} <= {("vital", "2.0"), ("okay", "1.0")}
    differences = [weight * float(one["difference"]) for weight, one in zip(weights, nuggets, strict=True)]
    assert sum(differences) / sum(weights) == pytest.approx(result["methods"]["groundedness"]["difference"], abs=1e-5)


def test_scores_say_which_calls_cost_nothing_and_where_claims_are_missing() -> None:
    judge = ScriptedJudge({"claims": Failed("the endpoint is down")})
    evaluate([row(1)], "grounding,claim_relevance", judge, store="s.db").store.close()
    first, second = table(ragstone("export", "-f", "csv", "--store", "s.db").out)
    assert (first["status"], first["extraction_failed"], second["extraction_failed"]) == (
        "judge_failed",
        "true",
        "true",
    )
    assert ragstone("run", write("a.jsonl", row(1)), "-q", "-m", "grounding,claim_relevance").code == 0
    assert ragstone("run", write("a.jsonl", row(1)), "-q", "-m", "grounding,claim_relevance").code == 0
    paid, replayed = (table(ragstone("export", run, "-f", "csv").out) for run in ("1", "2"))
    told = [[(one["calls"], one["shared"], one["cached"]) for one in rows] for rows in (paid, replayed)]
    assert told == [[("2", "0", "0"), ("2", "1", "0")], [("2", "0", "2"), ("2", "1", "2")]]
    assert {one["extraction_failed"] for one in paid} == {"false"}


def test_every_sentence_of_a_trace_is_a_row_and_a_row_of_ragbench() -> None:
    """The mapping as a table; RAGBench's form of it says the same, and is read back as labels that agree."""
    assert ragstone("run", write("a.jsonl", row(1), row(2)), "-q", "-m", "trace").code == 0
    traced = ragstone("show", "1", "r1", "--json").json["scores"][0]["detail"]
    rows = [one for one in table(ragstone("export", "-f", "csv", "--rows", "sentences").out) if one["record"] == "r1"]
    assert tuple(rows[0]) == SENTENCE_COLUMNS
    keyed = {one["key"]: one for one in rows}
    assert list(keyed) == [one["key"] for one in (*traced["contexts"], *traced["response"])]
    for one in traced["response"]:
        assert keyed[one["key"]]["supported_by"].split() == [*one["support"], *one["special"]]
        assert all(one["key"] in keyed[key]["supports"].split() for key in one["support"])
    assert ragstone("export", "-f", "ragbench", "-o", "traces.jsonl").code == 0
    bench = json.loads(Path("traces.jsonl").read_text(encoding="utf-8").splitlines()[0])
    for name, mark in (("all_relevant_sentence_keys", "relevant"), ("all_utilized_sentence_keys", "utilized")):
        assert bench[name] == [key for key, one in keyed.items() if one[mark] == "true"]
    support = {one["response_sentence_key"]: one for one in bench["sentence_support_information"]}
    assert {key: str(one["fully_supported"]).lower() for key, one in support.items()} == {
        key: one["supported"] for key, one in keyed.items() if key.startswith("resp_")
    }
    assert dict(line for lines in bench["documents_sentences"] for line in lines) == {
        key: one["text"] for key, one in keyed.items() if key.startswith("doc_")
    }
    agreed = ragstone("agree", "1", "traces.jsonl", "--json").json
    assert agreed["joined"] == agreed["rows"] > 0
    assert [metric["accuracy"] for metric in agreed["metrics"]] == [1.0, 1.0, 1.0]


def test_what_a_judge_did_not_mark_is_null_in_rows_of_ragbench() -> None:
    """An empty list would say that every sentence is supported, and that none is relevant."""
    evaluate([row(1)], "trace", ScriptedJudge({"trace": Failed("it is down")}), store="s.db").store.close()
    bench = json.loads(ragstone("export", "-f", "ragbench", "--store", "s.db").out)
    marks = [value for name, value in bench.items() if name.endswith(("_score", "sentence_keys", "supported"))]
    assert marks == [None] * 8
    assert {one["fully_supported"] for one in bench["sentence_support_information"]} == {None}


def test_a_run_without_traces_has_no_rows_of_ragbench() -> None:
    assert ragstone("run", write("a.jsonl", row(1)), "-q", "-m", "grounding").code == 0
    assert "no traces; to create them, run: ragstone run FILE -m trace" in refused("export", "-f", "ragbench")


def test_the_format_is_what_the_ending_says(weighed: Path) -> None:
    """Where none is given; a folder's name and a strange ending say nothing."""
    for name in ("s.csv", "S.CSV"):
        assert ragstone("export", "-o", name, "--store", str(weighed)).code == 0
        assert tuple(table(Path(name).read_text(encoding="utf-8"))[0]) == SCORE_COLUMNS
    assert ragstone("export", "-o", "s.parquet", "--store", str(weighed)).code == 0
    assert pq.read_table("s.parquet").column_names == list(SCORE_COLUMNS)
    for name in ("s.jsonl", "s.ndjson", "s.json", "s.lines", "s"):
        assert ragstone("export", "-o", name, "--store", str(weighed)).code == 0
        assert len(scores(Path(name))) == 22


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (("-f", "csv", "-o", "x.jsonl"), "'.jsonl' does not match --format csv; use -o x.csv"),
        (("-f", "jsonl", "-o", "x.parquet"), "'.parquet' does not match --format jsonl; use -o x.jsonl"),
        (("--json", "-o", "x.csv"), "'.csv' does not match --format jsonl"),
        (("-f", "calls", "-o", "x.csv"), "'.csv' does not match --format calls; use -o x.jsonl"),
        (("-f", "tot", "-o", "x.csv"), "'.csv' does not match --format tot; use -o x.tsv"),
        (("-o", "x.tsv"), "'.tsv' could be trec_eval or tot or ir_measures; choose one with --format"),
        (("--rows", "verdicts"), "jsonl has no rows of verdicts; write a table with --format csv or parquet"),
        (("--rows", "scores", "-o", "x.jsonl"), "jsonl has no rows of scores"),
        (("-f", "csv", "-o", "x/"), "x/: is a folder, and csv writes one file; name it, as in -o x/run-1.csv"),
        (("-o", "x.csv.gz"), "compressed output is not supported; name it without '.gz'"),
    ],
)
def test_a_format_that_the_ending_belies_is_refused(weighed: Path, wanted: tuple[str, ...], said: str) -> None:
    assert said in refused("export", *wanted, "--store", str(weighed))
    assert not list(Path().glob("x*"))


@pytest.mark.parametrize("command", ["report", "label"])
def test_a_page_is_html(weighed: Path, command: str) -> None:
    assert "'.csv' files; use one of .html" in refused(command, "-o", "x.csv", "--store", str(weighed))
    assert not Path("x.csv").exists()


def test_a_format_is_one_file(weighed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, listed in the help and in messages, found by its extension, and written; no other file knows it."""
    (tmp_path / "toy.py").write_text(
        "from ragstone.output.export import ExportFormat\n"
        "def write(run, rows, target):\n"
        "    target.writelines(f'{rows} {result[\"id\"]}\\n'.encode() for result in run.results())\n"
        "FORMATS = [ExportFormat('toy', ('.toy',), 'ids alone', write)]\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(packaged, "__path__", [*packaged.__path__, str(tmp_path)])
    export.formats.cache_clear()
    try:
        for wanted in (("-f", "toy", "-o", "plain"), ("-o", "ids.toy")):
            assert ragstone("export", *wanted, "--store", str(weighed)).code == 0
            assert Path(wanted[-1]).read_text(encoding="utf-8").startswith("scores kettle-descale\n")
        assert ragstone("export", "--format", "toy", "--store", str(weighed)).out.count("\n") == 22
        assert "toy: ids alone" in ragstone("export", "--help").flat
        told = refused("export", "-f", "toys", "--store", str(weighed))
        assert "no format 'toys'; expected one of jsonl, assignments, blocks, calls, csv" in told
        assert ", toy\n" in told
    finally:
        sys.modules.pop(f"{packaged.__name__}.toy", None)
        export.formats.cache_clear()


def test_no_file_holds_what_its_ending_belies() -> None:
    """Nothing here writes CSV; lines of banks and assignments are no table either."""
    nugget = {"text": "It boils.", "importance": "vital", "assignment": "support"}
    write("a.jsonl", {**row(1), "run_id": "a", "nuggets": [nugget]})
    cases = (
        (("score", "a.jsonl", "-o", "x.csv"), "this command does not write '.csv' files; use one of .jsonl"),
        (("score", "a.jsonl", "-f", "tot", "-o", "x.jsonl"), "'.jsonl' does not match --format tot"),
        (("score", "a.jsonl", "-o", "x.tsv"), "choose one with --format"),
        (("create", "a.jsonl", "-o", "x.csv"), "this command does not write '.csv' files"),
        (("assign", "a.jsonl", "-o", "x.parquet"), "this command does not write '.parquet' files"),
    )
    for words, said in cases:
        assert said in refused("nuggets", *words)
    assert not list(Path().glob("x.*"))
    assert ragstone("nuggets", "score", "a.jsonl", "-o", "x.eval").code == 0
    assert {found.run for found in read_leaderboard("x.eval")} == {"x"}


@given(st.text())
@example("|cmd /c calc")
def test_no_cell_is_a_formula(text: str) -> None:
    """What begins like one gets an apostrophe; everything else stays as it is."""
    cell = harmless(text)
    assert isinstance(cell, str)
    assert not cell.startswith(("=", "+", "-", "@", "|", "\t", "\r"))
    assert cell in (text, f"'{text}")


def test_numbers_are_no_formulas() -> None:
    """A negative number stays one."""
    assert harmless(-1.5) == -1.5
    assert harmless(None) is None


def test_formulas_of_a_record_are_defused_in_the_file() -> None:
    """In ids and in texts, also behind a carriage return, which ends a row outside of quotes."""
    evil = '=HYPERLINK("http://evil","x")'
    assert ragstone("run", write("a.jsonl", row(1, id=evil), row(2, id="a\r=1+1")), "-q", "-m", "grounding").code == 0
    assert ragstone("export", "-o", "s.csv").code == 0
    first, second = table(Path("s.csv").read_bytes().decode())
    assert (first["record"], second["record"]) == (f"'{evil}", "a\r=1+1")


def test_parquet_has_the_same_rows_with_types(weighed: Path) -> None:
    """In batches, into a file only."""
    assert ragstone("export", "-f", "parquet", "-o", "s.parquet", "--store", str(weighed)).code == 0
    read = pq.read_table("s.parquet")
    assert tuple(read.column_names) == SCORE_COLUMNS
    assert read.num_rows == 22 * metrics_of(weighed)
    assert str(read.schema.field("value").type) == "double"
    assert str(read.schema.field("asked").type) == "int64"
    assert "-o" in refused("export", "-f", "parquet", "--store", str(weighed))


def test_without_pyarrow_the_message_says_what_to_install(weighed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no half file is left."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'ragstone[parquet]'" in refused(
        "export", "-f", "parquet", "-o", "s.parquet", "--store", str(weighed)
    )
    assert list(Path().iterdir()) == []


def test_a_target_that_cannot_be_written_is_named(weighed: Path) -> None:
    """With what to do."""
    assert "choose another file" in refused("export", "-o", "no/such/folder/x.jsonl", "--store", str(weighed))


@pytest.mark.parametrize("judge", ["embedded", "fake"])
def test_a_recording_answers_in_the_place_of_the_judge(judge: str, fake: str) -> None:
    """The same scores, byte for byte, the judges' names and signatures included, from a store that knows nothing."""
    name = fake if judge == "fake" else judge
    assert ragstone("run", str(TRACES), "-q", "-j", name, "-o", "first").code == 0
    assert ragstone("export", "-f", "calls", "-o", "calls.jsonl").code == 0
    done("run", str(TRACES), "-q", "-j", "replay:calls.jsonl", "-o", "second", "--store", "other.db")
    assert Path("second/results.jsonl").read_bytes() == Path("first/results.jsonl").read_bytes()


def test_a_recording_of_two_judges_answers_each_step_as_before(fake: str) -> None:
    """Verdicts and values are the same; the signature names both judges at every step."""
    judges = ("-j", fake, "-j", "claims=embedded")
    assert ragstone("run", str(TRACES), "-q", "-m", "grounding", *judges, "-o", "first").code == 0
    assert ragstone("export", "-f", "calls", "-o", "calls.jsonl").code == 0
    more = ("-m", "grounding", "-j", "replay:calls.jsonl", "--store", "other.db")
    assert ragstone("run", str(TRACES), "-q", *more, "-o", "second").code == 0
    for first, second in zip(scores(Path("first/results.jsonl")), scores(Path("second/results.jsonl")), strict=True):
        for one, other in zip(first, second, strict=True):
            assert {**one, "signature": ""} == {**other, "signature": ""}


def test_each_call_is_recorded_once() -> None:
    """Two records that share a call share its line."""
    assert ragstone("run", write("a.jsonl", row(1, id="a"), row(1, id="b")), "-q").code == 0
    lines = [json.loads(line) for line in ragstone("export", "-f", "calls").out.splitlines()]
    assert lines[0]["ragstone_calls"] == 1
    keys = [line["key"] for line in lines[1:]]
    assert len(keys) == len(set(keys)) > 0
    assert set(lines[1]) == {"key", "judge", "task", "maker", "request", "reply"}


def test_a_judge_of_the_callers_own_cannot_be_recorded(weighed: Path) -> None:
    """No file could name it."""
    assert "'scripted' was a Python object" in refused("export", "-f", "calls", "--store", str(weighed))


def test_a_panel_cannot_be_recorded_as_one_judge(fake: str) -> None:
    """It is said so before anything is written."""
    more = ("-m", "response_groundedness", "-j", f"response_support=[embedded,{fake}]")
    assert ragstone("run", write("a.jsonl", row(1)), "-q", *more).code == 0
    assert "panel" in refused("export", "-f", "calls", "-o", "calls.jsonl")
    assert not Path("calls.jsonl").exists()


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
        "error: out: cannot write to this folder (No space left on device); free space or choose "
        "another folder with -o\n"
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

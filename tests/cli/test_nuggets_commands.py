"""``ragstone nuggets create``, ``assign`` and ``score``: what is written, what is printed, with which exit code."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal import ALONE, COMMAND, done, ragstone, refused, row, write

from ragstone.analysis.leaderboard import Entry, Leaderboard
from ragstone.records.banks import read_bank
from ragstone.records.leaderboards import read_leaderboard
from ragstone.render.terminal.leaderboard_table import order
from ragstone.testing import FakeServer
from realistic import realistic

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("alone")

WORKED = (
    ("vital", "support"), ("vital", "support"), ("vital", "partial_support"), ("vital", "not_support"),
    ("okay", "support"), ("okay", "not_support"),
)  # fmt: skip
"""The worked example of the metric: .5, .625, .5, .5833, .6 and .5."""


def assigned(run: str, topic: str, *nuggets: tuple[str | None, str | None], **more: Any) -> dict[str, Any]:
    """An assignment record."""
    listed = [
        {
            "text": f"fact {n} of {topic}",
            **({"importance": importance} if importance else {}),
            **({"assignment": assignment} if assignment else {}),
        }
        for n, (importance, assignment) in enumerate(nuggets, 1)
    ]
    return {"query": "What?", "qid": topic, "run_id": run, "answer_text": "It is.", "nuggets": listed, **more}


def share(run: str, topic: str, held: int, of: int = 4, **more: Any) -> dict[str, Any]:
    """An assignment record of vital nuggets, so many of which are held."""
    return assigned(run, topic, *[("vital", "support" if n < held else "not_support") for n in range(of)], **more)


def lines_of(path: str | Path) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def means(document: Mapping[str, Any], measure: str) -> dict[str, float | None]:
    return {run["run"]: run["means"][measure] for run in document["runs"]}


# ---- score


def test_the_worked_example_is_scored_as_it_is_worked() -> None:
    """Six measures, in percent with one decimal, strict beside half."""
    write("a.jsonl", assigned("sys", "t1", *WORKED))
    came = done("nuggets", "score", "a.jsonl")
    assert re.search(r"^  system +strict +half +strict +half +strict +half$", came.out, re.MULTILINE)
    assert re.search(r"^  sys +50\.0 +62\.5 +50\.0 +58\.3 +50\.0 +60\.0$", came.out, re.MULTILINE)
    (run,) = ragstone("nuggets", "score", "a.jsonl", "--json").json["runs"]
    assert run["means"]["weighted"] == pytest.approx(0.6)
    assert (run["topics"]["vital"], run["missing"], run["unjudged"]) == (1, 0, 0)


def test_runs_are_sorted_by_what_says_most() -> None:
    """By strict_vital, or by the measure that is asked for; a run without a value is the last."""
    write(
        "a.jsonl",
        assigned("none", "t", ("okay", "support")),
        assigned("low", "t", ("vital", "partial_support"), ("okay", "support")),
        assigned("high", "t", ("vital", "support"), ("okay", "not_support")),
    )
    document = ragstone("nuggets", "score", "a.jsonl", "--json").json
    assert (document["sorted_by"], list(means(document, "strict_vital"))) == ("strict_vital", ["high", "low", "none"])
    document = ragstone("nuggets", "score", "a.jsonl", "--json", "--sort", "all").json
    assert list(means(document, "all").items()) == [("none", 1.0), ("low", 0.75), ("high", 0.5)]
    assert "--sort 'recall': no such measure; expected one of all, strict_all, " in refused(
        "nuggets", "score", "a.jsonl", "--sort", "recall"
    )


def test_without_importance_only_what_has_a_value_is_shown() -> None:
    """The vital columns are empty, the weighted ones the same as all: both are said, and not drawn."""
    write("a.jsonl", assigned("sys", "t1", (None, "support"), (None, "partial_support")))
    came = ragstone("nuggets", "score", "a.jsonl")
    assert re.search(r"^  sys +50\.0 +75\.0$", came.out, re.MULTILINE)
    assert "sorted by strict all" in came.out
    assert "no nugget is marked vital, so the vital columns are omitted and weighted equals all" in came.flat
    assert "--sort vital: no nugget is marked vital" in refused("nuggets", "score", "a.jsonl", "--sort", "vital")


def test_what_a_run_has_not_answered_is_treated_as_asked() -> None:
    """Left out of its means and told; left out of all; counted as 0; or an error that names the run and the topic."""
    write("a.jsonl", share("a", "t1", 4), share("a", "t2", 2), share("b", "t1", 1))
    found = {
        how: means(ragstone("nuggets", "score", "a.jsonl", "--on-missing", how, "--json").json, "strict_vital")
        for how in ("warn", "skip", "zero")
    }
    assert found == {"warn": {"a": 0.75, "b": 0.25}, "skip": {"a": 1.0, "b": 0.25}, "zero": {"a": 0.75, "b": 0.125}}
    told = done("nuggets", "score", "a.jsonl")
    assert "System 'b' has no answer for t2. Unanswered topics are excluded from a system's means." in told.flat
    assert re.search(r"^  b +1 +25\.0", told.out, re.MULTILINE)
    assert "Unanswered topics count as 0." in ragstone("nuggets", "score", "a.jsonl", "--on-missing", "zero").flat
    for how, status in (("warn", None), ("zero", "missing")):
        assert ragstone("nuggets", "score", "a.jsonl", "-o", "rows.jsonl", "--on-missing", how).code == 0
        rows = {(found["run_id"], found["qid"]): found for found in lines_of("rows.jsonl")}
        assert rows.get(("b", "t2"), {}).get("status") == status
        assert (rows["a", "all"]["missing"], rows["b", "all"]["missing"]) == (0, 1)
    assert "system 'b' has no answer for t2" in refused("nuggets", "score", "a.jsonl", "--on-missing", "error")
    write("a.jsonl", *(share("a", f"t{n}", 4) for n in range(5)), share("b", "t0", 1), share("c", "t0", 1))
    lacking = refused("nuggets", "score", "a.jsonl", "--on-missing", "error")
    assert "systems 'b' and 'c' have no answer for t1, t2, t3 and 1 more" in lacking


def test_an_empty_list_of_nuggets_is_a_status() -> None:
    """It has no recall, is no zero, and does not refuse the others; a file of such lists alone is refused."""
    empty = {**share("a", "t2", 0), "nuggets": []}
    write("a.jsonl", share("a", "t1", 4), empty)
    came = done("nuggets", "score", "a.jsonl", "-o", "rows.jsonl", "--on-missing", "zero")
    assert "1 answer without nuggets is excluded" in came.flat
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["qid"], row.get("status"), row["all_score"]) for row in rows] == [
        ("t1", None, 1.0), ("t2", "no_nuggets", None), ("all", None, 1.0),
    ]  # fmt: skip
    write("b.jsonl", empty)
    assert "no nugget is assigned" in ragstone("nuggets", "score", "b.jsonl").err


def test_unjudged_nuggets_are_counted_and_in_no_mean() -> None:
    """A column for them where there are any, and none where there is none."""
    write("a.jsonl", assigned("sys", "t1", ("vital", "support"), ("vital", "failed"), ("okay", "not_support")))
    came = ragstone("nuggets", "score", "a.jsonl")
    assert re.search(r"^  sys +1 +100\.0 +100\.0 +50\.0", came.out, re.MULTILINE)
    assert "unjudged nuggets are excluded" in came.flat
    write("b.jsonl", share("sys", "t1", 1))
    assert "unjudged" not in ragstone("nuggets", "score", "b.jsonl").out


@pytest.mark.parametrize(
    ("nuggets", "said"),
    [
        ([("vital", "support"), ("okay", "1")], "assignment is not support, partial_support or not_support; ignored"),
        ([("vital", "support"), (None, "support")], "some have no importance; they count as okay"),
        ([("vital", "support"), ("vital", "failed")], "differ from those of another system for this topic"),
        ([("vital", "support"), ("okay", "failed")], ""),
    ],
)
def test_odd_nuggets_are_noted(nuggets: list[tuple[str | None, str]], said: str) -> None:
    """A label that is not known is no judge's failure, and systems with other nuggets cannot be compared."""
    write("a.jsonl", assigned("a", "t", ("vital", "support"), ("okay", "support")), assigned("b", "t", *nuggets))
    notes = ragstone("nuggets", "score", "a.jsonl", "--json").json["notes"]
    assert bool(said) == bool(notes)
    assert not said or f"a.jsonl:2: nuggets: {said}" in " ".join(notes)
    assert all(note in done("nuggets", "score", "a.jsonl").flat for note in notes)


@pytest.mark.parametrize("form", ["tot", "ir_measures", "jsonl"])
def test_rows_are_written_in_forms_that_others_read(form: Any) -> None:
    """The same numbers come back, the means under the topic all."""
    write("a.jsonl", share("a", "t1", 4), share("a", "t2", 2), share("b", "t1", 1), share("b", "t2", 2))
    came = done("nuggets", "score", "a.jsonl", "--format", form, "-o", "board.txt")
    assert "File   board.txt" in came.out
    read = {(found.run, found.topic, found.measure): found.value for found in read_leaderboard("board.txt", form)}
    assert read["a", "all", "strict_vital_score"] == 0.75
    assert read["b", "t1", "weighted_score"] == 0.25
    assert len(read) == 6 * (4 + 2)
    assert [path.name for path in Path().glob("board*")] == ["board.txt"]


def test_a_form_without_runs_takes_a_folder_of_files() -> None:
    """One file a run, named harmlessly; in one file it is refused, and the other forms are named."""
    write("a.jsonl", share("a", "t1", 4), share("../evil run", "t1", 1))
    for where in ((), ("-o", "one.txt")):
        told = refused("nuggets", "score", "a.jsonl", "--format", "trec_eval", *where)
        assert "no column for the system, and there are 2 systems" in told
        assert "or use another format, e.g. --format tot" in told
    assert not Path("one.txt").exists()
    came = done("nuggets", "score", "a.jsonl", "--format", "trec_eval", "-o", "boards/")
    assert re.search(r"Files +boards: 2 files, one per system", came.flat)
    written = sorted(path.name for path in Path("boards").iterdir())
    assert (len(written), written[0]) == (2, "a.eval")
    assert re.fullmatch(r"evil-run-[0-9a-f]{12}\.eval", written[1])
    assert {found.run for found in read_leaderboard("boards")} == {"a", written[1].removesuffix(".eval")}
    assert "strict_vital_score\tall\t1.0\n" in Path("boards/a.eval").read_text(encoding="utf-8")
    write("b.jsonl", share("a", "t1", 3))
    assert ragstone("nuggets", "score", "b.jsonl", "--format", "trec_eval", "-o", "a.eval").code == 0
    assert {(found.run, found.value) for found in read_leaderboard("a.eval")} == {("a", 0.75)}, "one needs no folder"


def test_with_a_form_alone_the_rows_are_the_output() -> None:
    """On standard output nothing else, the table on standard error."""
    write("a.jsonl", share("a", "t1", 3))
    came = ragstone("nuggets", "score", "a.jsonl", "--format", "ir_measures")
    assert [line.split("\t")[:2] for line in came.out.splitlines()] == [["a", "t1"]] * 6 + [["a", "all"]] * 6
    assert "Nugget recall" in came.err


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
def test_what_is_no_ordinary_file_is_written_to_as_it_is() -> None:
    """A pipe stays a pipe: nothing takes its place."""
    write("a.jsonl", share("a", "t1", 3))
    os.mkfifo("pipe")
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(Path("pipe").read_text, encoding="utf-8")
        assert ragstone("nuggets", "score", "a.jsonl", "-o", "pipe").code == 0
        assert len(reading.result(timeout=20).splitlines()) == 2
    assert Path("pipe").is_fifo()


def test_ranks_are_compared_with_another_leaderboard() -> None:
    """1 with itself, -1 with the reverse; what is in one of the two only is said."""
    write("a.jsonl", *(share(run, "t1", held) for run, held in (("a", 3), ("b", 2), ("c", 1))))
    write("back.jsonl", *(share(run, "t1", held) for run, held in (("a", 1), ("b", 2), ("c", 3))))
    write("other.jsonl", share("x", "t1", 1))
    ragstone("nuggets", "score", "back.jsonl", "--format", "jsonl", "-o", "board.jsonl")
    ragstone("nuggets", "score", "back.jsonl", "-o", "rows.jsonl")
    for against, tau in (("a.jsonl", 1.0), ("back.jsonl", -1.0), ("board.jsonl", -1.0), ("rows.jsonl", -1.0)):
        found = ragstone("nuggets", "score", "a.jsonl", "--against", against, "--json").json["against"]
        by_measure = {one["measure"]: (one["runs"], one["tau"]) for one in found}
        assert by_measure["strict_vital"] == (3, tau)
    told = ragstone("nuggets", "score", "a.jsonl", "--against", "back.jsonl")
    assert "Kendall's tau with back.jsonl 3 systems and 1 topic in common" in told.flat
    assert re.search(r"^    strict_vital +-1\.000$", told.out, re.MULTILINE)
    write("one.jsonl", share("a", "t1", 1))
    told = done("nuggets", "score", "a.jsonl", "--against", "one.jsonl")
    assert "at least 2 systems in common are needed; found 1" in told.flat
    assert "no system in common" in ragstone("nuggets", "score", "a.jsonl", "--against", "other.jsonl").out


def test_another_board_with_other_measures_is_compared_each_with_each() -> None:
    """And its form may be named."""
    write("a.jsonl", share("a", "t1", 3), share("b", "t1", 1))
    Path("people.txt").write_text("a\tpreference\t301\t5\nb\tpreference\t301\t2\n", encoding="utf-8")
    came = ragstone("nuggets", "score", "a.jsonl", "--against", "people.txt", "--against-format", "tot")
    assert re.search(r"^    strict_vital by preference +1\.000$", came.out, re.MULTILINE)


@pytest.mark.parametrize("columns", [50, 60, 80, 120])
def test_twenty_five_systems_fit_and_can_be_told_apart(columns: int) -> None:
    """No line is too wide; long names are shortened in the middle; what has no room is named."""
    names = [f"abs_a_rather_long_name_of_a_system_number_{n}_out" for n in range(25)]
    write("a.jsonl", *(share(name, "t1", n % 5) for n, name in enumerate(names)))
    came = done("nuggets", "score", "a.jsonl", columns=columns)
    shown = re.findall(r"^  (abs\S+)", came.out, re.MULTILINE)
    assert len(shown) == 25
    if columns >= 60:
        assert len(set(shown)) == 25
    assert ("idden at this width" in came.flat) == (columns < 80)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1))
def test_the_best_is_first_and_what_has_no_value_last(values: list[float | None]) -> None:
    """Equal ones stay as they came."""
    board = Leaderboard()
    for number, value in enumerate(values):
        board.add(Entry(f"{number:09}", "t", {"all": value}))
    ordered = [(found.means["all"], found.run) for found in order(board.standings(), "all")]
    ranked = [(value, run) for value, run in ordered if value is not None]
    assert ordered[: len(ranked)] == ranked
    assert ranked == sorted(ranked, key=lambda pair: (-pair[0], pair[1]))


def test_bad_input_of_score_is_one_line() -> None:
    """What it is, where, and what to do; with 2."""
    write("bare.jsonl", assigned("a", "t1", ("vital", None)))
    write("twice.jsonl", share("a", "t1", 1), share("a", "t1", 2))
    write("a.jsonl", share("a", "t1", 1))
    write("labels.jsonl", assigned("a", "t1", ("vital", "Supported")), share("a", "t2", 0, 1, status="empty"))
    write("traces.jsonl", row(1))
    Path("four.txt").write_text("a b c 0.5\n", encoding="utf-8")
    for arguments, said in (
        (("none.jsonl",), "none.jsonl: no such file"),
        (("bare.jsonl",), "no nugget is assigned; assign them with: ragstone nuggets assign"),
        (("traces.jsonl",), "traces.jsonl:1: no nuggets; expected assignment records"),
        (("twice.jsonl",), "twice.jsonl:2: system 'a' has two answers for topic 't1'; keep one of them"),
        (("labels.jsonl",), "no nugget is assigned; labels.jsonl:1: nuggets: assignment is not support"),
        (("a.jsonl", "a.jsonl"), "given twice"),
        (("a.jsonl", "--against", "four.txt"), "specify it with --against-format tot or ir_measures"),
        (("a.jsonl", "-o", "a.jsonl"), "would be overwritten"),
        (("a.jsonl", "-o", "no/such/x.jsonl"), "choose another file"),
    ):
        assert said in refused("nuggets", "score", *arguments)
    assert lines_of("a.jsonl") == [share("a", "t1", 1)]
    assert ragstone("nuggets", "score", "a.jsonl", "--on-missing", "guess").code == 2


def test_the_labels_of_people_are_scored_as_they_stand(outside_data: Callable[[str], Path]) -> None:
    """25 systems on 40 topics: each mean is that of the topics' shares of support, counted here."""
    shares: dict[str, list[float]] = {}
    realsumm = outside_data("nuggets/realsumm.jsonl")
    for record in lines_of(realsumm):
        held = Counter(nugget["assignment"] for nugget in record["nuggets"])
        shares.setdefault(record["run_id"], []).append(held["support"] / held.total())
    document = ragstone("nuggets", "score", str(realsumm), "--json").json
    assert len(shares) == 25
    assert means(document, "strict_all") == pytest.approx(
        {run: sum(values) / len(values) for run, values in shares.items()}
    )
    values = list(means(document, "strict_all").values())
    assert values == sorted(values, key=lambda value: -(value or 0.0))
    assert document["missing"] == {}


# ---- create


@pytest.fixture
def topics() -> str:
    """Three topics, one of them twice, one without contexts."""
    rows = [
        row(1, topic="unused"),
        row(2, response=" "),
        row(1),
        {"id": "r3", "question": "What?", "response": "It is."},
    ]
    return write("topics.jsonl", *rows)


def test_banks_are_lines_and_what_is_missing_is_told(topics: str, fake: str) -> None:
    """In a file that the next step reads; topics without a bank have a reason, repeated ones are counted."""
    came = done("nuggets", "create", topics, "-j", fake, "-o", "bank.jsonl")
    banks = lines_of("bank.jsonl")
    assert [bank["qid"] for bank in banks] == ["r1", "r2"]
    assert "response" not in came.err, "responses are not used"
    assert all(nugget["importance"] in ("vital", "okay") for bank in banks for nugget in bank["nuggets"])
    count = sum(len(bank["nuggets"]) for bank in banks)
    vital = sum(nugget["importance"] == "vital" for bank in banks for nugget in bank["nuggets"])
    assert f"{count} nuggets for 2 topics: {vital} vital, {count - vital} okay." in came.flat
    assert "1 no bank: no contexts" in came.flat
    assert "1 repeated topics" in came.flat
    assert "Next        ragstone nuggets assign ANSWERS --nuggets bank.jsonl" in came.out
    assert set(read_bank("bank.jsonl").nuggets) == {"r1", "r2"}
    assert not list(Path().glob("*.partial"))
    rules = "These nuggets were extracted by rules: some may be headings, and some facts may be missing."
    assert rules not in came.flat
    assert rules in ragstone("nuggets", "create", topics, "-o", "embedded.jsonl").flat
    again = ragstone("nuggets", "create", topics, "-j", fake, "-o", "bank.jsonl", "--json").json
    assert (again["topics"], again["nuggets"], again["vital"]) == (2, count, vital)
    assert (again["without"], again["repeated"], again["bill"]["sent"]) == ({"no contexts": 1}, 1, 0)
    assert (again["left_out"], "left out" in came.flat) == (0, False)
    fewer = ragstone("nuggets", "create", topics, "-j", fake, "-o", "fewer.jsonl", "--keep", "1")
    assert f"okay. --keep and --max left out {count - 2} more." in fewer.flat


def test_without_a_file_the_lines_are_the_output(topics: str, fake: str) -> None:
    """The report is on standard error, and with --quiet nowhere."""
    came = ragstone("nuggets", "create", topics, "-j", fake)
    assert [json.loads(line)["qid"] for line in came.out.splitlines()] == ["r1", "r2"]
    assert "nuggets for 2 topics" in came.err
    assert ragstone("nuggets", "create", topics, "-j", fake, "-q").err == ""
    assert "add -o FILE for the lines" in refused("nuggets", "create", topics, "-j", fake, "--json")


def test_banks_of_autojudge_hold_the_same(topics: str, fake: str) -> None:
    """Read back they are the same nuggets."""
    for form in ("nuggets", "autojudge"):
        assert ragstone("nuggets", "create", topics, "-j", fake, "-q", "-o", f"{form}.jsonl", "-f", form).code == 0
    (first, *_) = lines_of("autojudge.jsonl")
    assert (first["query_id"], first["format_version"]) == ("r1", "v3")
    assert read_bank("autojudge.jsonl").nuggets == read_bank("nuggets.jsonl").nuggets


def test_limits_reach_the_bank() -> None:
    """How many are kept, and passages that somebody judged irrelevant."""
    contexts = [
        {"text": f"Kettle {n} is made of steel and holds {n + 2} litres of water.", "judgment": n} for n in range(4)
    ]
    write("a.jsonl", {"id": "r1", "question": "How many litres does a kettle hold?", "response": "Two.",
                      "contexts": contexts})  # fmt: skip
    counts = {}
    for name, more in {"all": (), "one": ("--keep", "1"), "judged": ("--min-judgment", "3")}.items():
        assert ragstone("nuggets", "create", "a.jsonl", "-q", "-o", f"{name}.jsonl", *more).code == 0
        counts[name] = [nugget["text"] for nugget in lines_of(f"{name}.jsonl")[0]["nuggets"]]
    assert len(counts["one"]) == 1 < len(counts["all"])
    assert all("Kettle 3" in text for text in counts["judged"])
    for arguments in (("--keep", "-1"), ("--window", "0"), ("--max", "none")):
        assert ragstone("nuggets", "create", "a.jsonl", *arguments).code == 2


def test_create_names_only_judges_that_it_asks(topics: str) -> None:
    """No step of it can have a cascade: the last judge answers all, and is told as the judge."""
    with FakeServer(answer=lambda request: realistic(request, seed=1)) as server:
        house = f"vllm:m@{server.url}"
        came = ragstone("nuggets", "create", topics, "-j", f"embedded>{house}", "-o", "bank.jsonl")
        step = ragstone("nuggets", "create", topics, "-j", house, "-j", f"assign=embedded>{house}", "-o", "bank.jsonl")
    assert came.code == step.code == 0
    assert f"no step in this run uses the cascade embedded>{house}: it only applies to support and assign" in came.err
    assert "embedded" not in came.out
    assert "embedded" not in step.out


def test_where_no_bank_could_be_created_the_code_is_3(topics: str) -> None:
    """An earlier file stays, and no empty one takes its place."""
    Path("bank.jsonl").write_text("earlier\n", encoding="utf-8")
    with FakeServer(rate_garbage=1.0) as server:
        came = ragstone("nuggets", "create", topics, "-j", f"vllm:m@{server.url}", "-o", "bank.jsonl")
    assert came.code == 3
    assert "No bank could be created." in came.out
    assert "2 no bank: " in came.flat
    assert "ragstone nuggets assign" not in came.out
    assert Path("bank.jsonl").read_text(encoding="utf-8") == "earlier\n"
    assert not Path("bank.jsonl.partial").exists()


def test_bad_input_of_create_is_one_line(topics: str) -> None:
    """With 2, before anything is asked."""
    write("bare.jsonl", {"id": "1", "question": "What?", "response": "It is."})
    for arguments, said in (
        (("none.jsonl",), "none.jsonl: no such file"),
        (("bare.jsonl",), "no record has contexts"),
        ((topics, "-o", topics), "would be overwritten"),
        ((topics, "-o", "no/such/bank.jsonl"), "choose another file"),
        ((topics, "-j", "gpt-4o"), "no judge 'gpt-4o'"),
    ):
        assert said in refused("nuggets", "create", *arguments)
    assert len(lines_of(topics)) == 4


@pytest.mark.parametrize("step", [("create",), ("assign", "-q")])
def test_an_interrupted_step_says_what_is_kept_and_goes_on(step: tuple[str, ...]) -> None:
    """Exit code 130; lines stay in the partial file, replies in the store; the same command ends the work."""
    write("a.jsonl", *(row(n, nuggets=[{"text": "It is made of steel."}]) for n in range(40)))
    with FakeServer(latency=0.2) as server:
        arguments = ("nuggets", *step, "a.jsonl", "-j", f"vllm:m@{server.url}", "--concurrency", "4", "-o", "out.jsonl")
        with subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True, env=ALONE) as process:
            while not Path("out.jsonl.partial").exists() or len(lines_of("out.jsonl.partial")) < 4:
                time.sleep(0.01)
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            told = process.communicate(timeout=20)[1]
        assert process.returncode == 130
        assert "Traceback" not in told
        assert "run the same command to continue" in told
        assert "the lines so far are in out.jsonl.partial" in told
        assert not Path("out.jsonl").exists()
        paid = server.count
        server.configure(latency=0.0)
        assert ragstone(*arguments).code == 0
        assert server.count < paid + 2 * 40 - 4
    assert len(lines_of("out.jsonl")) == 40
    assert not Path("out.jsonl.partial").exists()


# ---- assign


@pytest.fixture
def answers() -> tuple[str, str, str]:
    """Two systems on two topics, and a bank."""
    held, lacks = "The kettle is made of steel and boils in two minutes.", "I like mushrooms."
    first = write(
        "first.jsonl", *({"id": f"t{n}", "question": "What of the kettle?", "response": held} for n in (1, 2))
    )
    second = write(
        "second.jsonl", *({"id": f"t{n}", "question": "What of the kettle?", "response": lacks} for n in (1, 2))
    )
    nuggets = [
        {"text": "The kettle is made of steel", "importance": "vital"},
        {"text": "The kettle boils in two minutes", "importance": "okay"},
    ]
    bank = write("bank.jsonl", *({"qid": f"t{n}", "query": "What of the kettle?", "nuggets": nuggets} for n in (1, 2)))
    return first, second, bank


def test_several_files_are_several_systems(answers: tuple[str, str, str]) -> None:
    """Named after their files; what is written is scored as it is, and is a run of the store."""
    first, second, bank = answers
    came = done("nuggets", "assign", first, second, "--nuggets", bank, "-o", "assigned.jsonl")
    rows = lines_of("assigned.jsonl")
    assert [(found["run_id"], found["qid"]) for found in rows] == [
        (run, f"t{n}") for run in ("first", "second") for n in (1, 2)
    ]
    assert "8 nugget labels assigned in 4 responses." in came.out
    grades = Counter(nugget["assignment"] for found in rows for nugget in found["nuggets"])
    for grade, words in (("support", "found in the response"), ("not_support", "not found in the response")):
        assert re.search(rf" {grades[grade]} +\d+% +{words}$", came.out, re.MULTILINE)
    assert "Next        ragstone nuggets score assigned.jsonl\n              ragstone show 1\n" in came.out
    scored = ragstone("nuggets", "score", "assigned.jsonl", "--json").json
    assert means(scored, "strict_vital") == {"first": 1.0, "second": 0.0}
    assert ragstone("export", "1", "--format", "assignments").out == Path("assigned.jsonl").read_text(encoding="utf-8")
    done("export", "1", "--format", "ir_measures", "-o", "board.tsv")  # its measures are those of the table
    again = done(
        "nuggets", "score", "assigned.jsonl", "--against", "board.tsv", "--against-format", "ir_measures"
    )  # fmt: skip
    assert re.search(r"^    strict_vital +1\.000$", again.out, re.MULTILINE)
    done("nuggets", "assign", first, "--nuggets", bank, "-o", "one.jsonl")
    assert {found["run_id"] for found in lines_of("one.jsonl")} == {"first"}
    for kind in ("scores", "verdicts"):  # the id t1#2 does not tell the system
        listed = csv.DictReader(ragstone("export", "1", "--format", "csv", "--rows", kind).out.splitlines())
        assert list(dict.fromkeys((each["record"], each["topic"], each["run_id"]) for each in listed)) == [
            ("t1", "t1", "first"), ("t2", "t2", "first"), ("t1#2", "t1", "second"), ("t2#2", "t2", "second"),
        ]  # fmt: skip
    assert "50% (95% CI 0–100) of a topic's vital nuggets were found in the response" in ragstone("show", "1").flat


def test_what_was_assigned_is_counted_in_json_or_printed(answers: tuple[str, str, str]) -> None:
    """The summary of the run, with what was written; without a file the lines are the output, the rest beside it."""
    first, _, bank = answers
    came = ragstone("nuggets", "assign", first, "--nuggets", bank)
    assert len([json.loads(line) for line in came.out.splitlines()]) == 2
    assert "ragstone export 1 --format assignments" in came.err
    document = ragstone("nuggets", "assign", first, "--nuggets", bank, "-o", "a.jsonl", "--json").json
    assert document["assigned"] == {"responses": 2, "grades": {"support": 4}, "unjudged": 0, "file": "a.jsonl"}
    assert document["metrics"]["nugget_recall.all"]["mean"] == 1.0


def test_two_grades_and_no_evidence(answers: tuple[str, str, str], fake: str) -> None:
    """Both are parameters of the run."""
    first, second, bank = answers
    more = ("--grades", "2", "--no-evidence", "--name", "plain", "-j", fake)
    assert ragstone("nuggets", "assign", first, second, "--nuggets", bank, "-o", "a.jsonl", *more).code == 0
    assert {nugget["assignment"] for found in lines_of("a.jsonl") for nugget in found["nuggets"]} <= {
        "support", "not_support",
    }  # fmt: skip
    (score,) = [s for s in ragstone("show", "plain", "#1", "--json").json["scores"] if s["verdicts"]]
    assert all(not verdict["evidence"] for verdict in score["verdicts"])
    assert ragstone("nuggets", "assign", first, "--nuggets", bank, "--grades", "4").code == 2


def test_where_nothing_could_be_assigned_the_code_is_3(answers: tuple[str, str, str]) -> None:
    """Unjudged nuggets are marked as such in what is written; none counts as not held."""
    first, _, bank = answers
    with FakeServer(rate_garbage=1.0) as server:
        came = ragstone("nuggets", "assign", first, "--nuggets", bank, "-j", f"vllm:m@{server.url}", "-o", "a.jsonl")
    assert came.code == 3
    assert "0 nugget labels assigned in 2 responses, 4 unjudged." in came.out
    assert {nugget["assignment"] for found in lines_of("a.jsonl") for nugget in found["nuggets"]} == {"failed"}
    assert ragstone("nuggets", "score", "a.jsonl").code == 2


def test_bad_input_of_assign_is_one_line(answers: tuple[str, str, str]) -> None:
    """With 2, before anything is asked."""
    first, _, bank = answers
    write("other.jsonl", {"qid": "x9", "nuggets": [{"text": "It is."}]})
    for arguments, said in (
        ((first,), "--nuggets"),
        ((first, "--nuggets", "none.jsonl"), "none.jsonl: no such file"),
        ((first, "--nuggets", "other.jsonl"), "its topics look like 'x9', the records' like 't1'"),
        ((first, first, "--nuggets", bank), "given twice"),
        ((first, "--nuggets", bank, "-o", bank), "would be overwritten"),
        ((first, "--nuggets", bank, "--json"), "add -o FILE for the lines"),
    ):
        assert said in refused("nuggets", "assign", *arguments)


def test_a_run_takes_a_bank_too(answers: tuple[str, str, str]) -> None:
    """Beside whatever else it weighs."""
    first, _, bank = answers
    came = done("run", first, "-q", "-m", "answer_relevance,nuggets", "--nuggets", bank)
    assert re.search(r"^    vital +100% .* 2 of 2$", came.out, re.MULTILINE)
    assert came.out.count("nugget_recall") <= 2

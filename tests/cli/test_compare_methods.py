"""``ragstone compare-methods``, and nuggets wherever a run or a record is shown or exported."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from terminal import HOSTILE, TRACES, ragstone, row, write
from terminal import answers as usual

from ragstone import evaluate
from ragstone.questions import IMPORTANCE, Question, Rate, Rated, Task, Traced, Write, Written
from ragstone.records.leaderboards import read_leaderboard
from ragstone.render.terminal.nuggets import grade
from ragstone.stats.points import points as percent_points
from ragstone.testing import FakeServer, ScriptedJudge
from ragstone.types import RESPONSE, Quote, Span, Unit, Verdict

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("home")

FACTS = ("The kettle is steel", "It boils in two minutes", "Elephants invented jazz")
GRADES = {"support": ("3", "2", "0"), "relevance": ("3", "1", "0"), "assign": ("support", "partial_support", None)}


def nuggets_of_a_kettle(question: Question[Any]) -> Rated | Traced | Written:
    """Three facts: vital, okay, of unknown importance; graded, assigned and quoted as told above."""
    if isinstance(question, Write):
        if question.task != "nuggetize" or question.known:
            return Written(()) if question.known else usual(question)
        return Written(tuple(Unit(f"n/{n}", "nugget", text) for n, text in enumerate(FACTS, 1)))
    assert isinstance(question, Rate)
    if question.scale is IMPORTANCE:
        labels: Sequence[str | None] = ("vital", "okay", None)
    elif any(unit.level != "nugget" for unit in question.units):
        return usual(question)
    else:
        labels = GRADES[question.task]
    return Rated(tuple(verdict(question, unit, label) for unit, label in zip(question.units, labels, strict=False)))


def verdict(question: Rate, unit: Unit, label: str | None) -> Verdict:
    if label is None:
        return Verdict(unit, None, None, "scripted", failure="the reply was cut short")
    evidence: tuple[Quote, ...] = ()
    if question.task == "assign":
        evidence = (
            Quote(RESPONSE, Span(0, 19), question.passages[0].text[:19], verbatim=True),
            Quote("", None, "words nowhere", verbatim=False),
        )
    reason = f"why {question.task} of {unit.text}"
    return Verdict(unit, label, question.scale.value(label), "scripted", None, None, evidence, reason)


def kettle(number: int = 1, **more: Any) -> dict[str, Any]:
    response = "The kettle is steel. It boils in two minutes. Elephants invented jazz."
    return row(number, response=response, nuggets=[{"text": text} for text in FACTS], **more)


def judged(path: str, metrics: Any, script: Any, **options: Any) -> None:
    """A run in the store s.db by a judge that says what the script says."""
    judge = ScriptedJudge(script, version=str(options.pop("version", 1)))
    evaluate(path, metrics=metrics, judge=judge, store="s.db", **options).store.close()


@pytest.fixture
def weighed_kettle() -> None:
    """A run over one record by all of the triads and recall."""
    names = ["context_relevance", "groundedness", "answer_relevance", "nuggets"]
    judged(write("a.jsonl", kettle()), names, nuggets_of_a_kettle, name="kettle")


# ---- the comparison


def test_both_methods_stand_side_by_side() -> None:
    """Percent, points with sign and interval, the sentence of the summary, and the widest five."""
    came = ragstone("compare-methods", str(TRACES), "-q")
    assert came.code == 0
    summary = ragstone("show", "--json").json
    for aspect, found in summary["methods"].items():
        line = next(line for line in came.out.splitlines() if re.match(rf"  {aspect} +\d", line))
        plain, nuggets, points = re.match(r" +\w+ +([\d.]+)% +([\d.]+)% +(\S+)", line).groups()  # type: ignore[union-attr]
        assert (plain, nuggets) == (percent_points(found["plain"]), percent_points(found["nuggetized"]))
        assert points == (f"{found['difference']:+.1f}" if abs(found["difference"]) >= 0.05 else "0.0")
        assert line.endswith(f" {found['records']}")
        assert f"{aspect}: {found['interpretation']}" in came.flat
    assert came.out.partition("Largest differences")[2].count("with nuggets") == 5
    assert "Largest differences" in came.out
    assert re.search(r"Next +ragstone show 1 ", came.out)
    assert "compare-methods" in ragstone("runs").flat


def test_the_widest_are_the_records_with_the_largest_difference() -> None:
    """Of either aspect, without regard to sign, the widest first; equal to what each record's result says."""
    document = ragstone("compare-methods", str(TRACES), "-q", "--json").json
    found: dict[str, float] = {}
    for place in range(1, document["records"] + 1):
        result = ragstone("show", "1", f"#{place}", "--json").json
        apart = [abs(one["difference"]) for one in result["methods"].values() if one["difference"] is not None]
        found[result["id"]] = max(apart, default=0.0)
    widest = document["widest"]
    assert [abs(gap["difference"]) for gap in widest] == pytest.approx(sorted(found.values(), reverse=True)[:5])
    assert all(found[gap["record"]] == pytest.approx(abs(gap["difference"])) for gap in widest)


def test_one_record_is_compared_with_its_nuggets(fake: str) -> None:
    """Each with both scores in percent, its weight and its importance."""
    came = ragstone("compare-methods", write("a.jsonl", row(1)), "-q", "-j", fake)
    assert came.code == 0
    result = ragstone("show", "1", "r1", "--json").json
    texts = [unit["text"] for unit in result["units"] if unit["level"] == "nugget"]
    assert texts
    for text in texts:
        assert re.search(rf"\d+% +\d+% +(2  vital|1  okay) +{re.escape(text[:20])}", came.out)
    assert "Largest differences" not in came.out


def test_the_same_block_is_shown_with_the_run_and_the_record(weighed_kettle: None) -> None:
    """Worked: (2·1 + 1·2/3 + 1·0) / 4 against the plain value; the unknown importance weighs 1."""
    shown = ragstone("show", "kettle", "--store", "s.db")
    record = ragstone("show", "kettle", "r1", "--store", "s.db")
    for came in (shown, record):
        assert re.search(r"^  groundedness +100% +67% +-33\.3", came.out, re.MULTILINE)
        assert "groundedness: 33.3 points lower with nuggets" in came.flat


def test_where_nothing_can_be_compared_the_code_is_3() -> None:
    """And no empty table is drawn."""
    with FakeServer(rate_garbage=1.0) as server:
        came = ragstone("compare-methods", write("a.jsonl", row(1)), "-q", "-j", f"vllm:m@{server.url}")
    assert came.code == 3
    assert "Nothing could be compared." in came.out
    assert "with nuggets" not in came.out


# ---- nuggets on the screen of a record


def test_nuggets_of_the_response_have_both_grades(weighed_kettle: None) -> None:
    """Sign of the first, scores in percent, weight, importance or a question mark; why, unless it is supported."""
    came = ragstone("show", "kettle", "r1", "--store", "s.db")
    for sign, grounded, relevant, importance, text in (
        ("✓", 100, 100, "2  vital", FACTS[0]), ("~", 67, 33, "1  okay", FACTS[1]), ("✗", 0, 0, r"1  \?", FACTS[2]),
    ):  # fmt: skip
        expected = rf"^    {sign} +{grounded}% +{relevant}% +{importance} +{text}$"
        assert re.search(expected, came.out, re.MULTILINE)
    assert "Nuggets of the response  1 vital, 1 okay, 1 of unknown importance" in came.out
    assert came.flat.count("? importance unknown: the reply was cut short") == 2  # those of the bank are others
    assert f"why support of {FACTS[1]}" in came.out
    assert f"relevance: why relevance of {FACTS[1]}" in came.flat
    assert f"why support of {FACTS[0]}" not in came.out
    assert f"why support of {FACTS[0]}" in ragstone("show", "kettle", "r1", "--full", "--store", "s.db").out


def test_nuggets_of_the_bank_have_the_words_that_hold_them(weighed_kettle: None) -> None:
    """In the response, and not in a passage; what is quoted wrongly is said to be nowhere in it."""
    came = ragstone("show", "kettle", "r1", "--store", "s.db")
    section = came.out.partition("Nuggets of the bank")[2].partition("Scores")[0]
    assert re.search(rf"✓  vital  {FACTS[0]}$", section, re.MULTILINE)
    assert re.search(rf"~  okay   {FACTS[1]}$", section, re.MULTILINE)
    assert re.search(rf"\?  \?      {FACTS[2]}\n +unjudged: the reply was cut short$", section, re.MULTILINE)
    assert "response “The kettle is steel”" in section
    assert "not found in the response “words nowhere”" in section
    assert "passage" not in section
    assert "✓ 1 in the response   ~ 1 partly in the response   ? 1 unjudged" in section


def test_the_columns_of_recall_are_a_small_table(weighed_kettle: None) -> None:
    """Strict beside half, with what they could be; the name of the metric stands there once."""
    came = ragstone("show", "kettle", "r1", "--store", "s.db")
    section = came.out.partition("Scores")[2].partition("Plain, and")[0]
    assert section.count("nugget_recall") == 1
    # The third nugget has no importance, and may be a vital one.
    assert re.search(r"vital +100% +100% +could be 50–100, 50–100% if all units were judged$", section, re.MULTILINE)
    assert re.search(r"all +50% +75% +could be 33–67, 50–83% if all units were judged$", section, re.MULTILINE)
    assert section.count("1 of 3 unjudged: the reply was cut short") == 1


def test_the_columns_of_recall_are_three_lines_of_a_run(weighed_kettle: None) -> None:
    """And whatever is missing is said of the metric, not six times."""
    came = ragstone("show", "kettle", "--store", "s.db")
    table = came.out.partition("nugget_recall")[2]
    for line in ("vital +100% +100% +1 of 1", "all +50% +75% +1 of 1 +33–67, 50–83", "weighted +67% +83%"):
        assert re.search(rf"^    {line}", table, re.MULTILINE), line
    assert "nugget_recall (all)" in came.flat
    assert "nugget_recall (vital, weighted)" in came.flat
    assert "nugget_recall." not in came.out


def test_a_run_of_recall_alone_is_told_by_its_vital_nuggets(weighed_kettle: None) -> None:
    """The sentence, the lowest records with the vital nuggets that are not held, and the list of runs."""
    script: dict[Task, str | Sequence[str]] = {"importance": "vital", "assign": ("support", "not_support")}
    judged(write("b.jsonl", kettle(1), kettle(2)), "nugget_recall", script, name="recall", version=2)
    came = ragstone("show", "recall", "--store", "s.db")
    said = "67% of a topic's vital nuggets are in the response (6 vital nuggets in 2 responses). 2 of 2 responses"
    assert said in came.flat
    assert "Lowest nugget_recall.strict_vital" in came.out
    assert "1 of 3 vital nuggets not in the response" in came.out
    assert f"✗ {FACTS[1]}" in came.out
    assert re.search(r"recall +.*67% strict_vital$", ragstone("runs", "--store", "s.db").out, re.MULTILINE)


def test_a_record_without_a_bank_says_so_once() -> None:
    """Six columns, one line."""
    judged(write("a.jsonl", row(1)), "nugget_recall", {})
    shown = ragstone("show", "1", "r1", "--store", "s.db")
    assert re.search(r"nugget_recall +- +judge_failed", shown.out)
    assert shown.out.count("nugget_recall") == 1
    assert ragstone("show", "1", "--store", "s.db").out.count("nugget_recall") == 1


def test_foreign_nuggets_command_no_terminal() -> None:
    """Their text, reasons and quotes are printed as text; in ASCII where nothing else can be shown."""

    def hostile(question: Question[Any]) -> Rated | Written:
        found = nuggets_of_a_kettle(question)
        if isinstance(found, Written):
            return Written(tuple(replace(unit, text=f"{unit.text} {HOSTILE}") for unit in found.units))
        return Rated(tuple(replace(one, reason=f"{one.reason} {HOSTILE}") for one in found.verdicts))

    bad = {**kettle(), "nuggets": [{"text": f"{text} {HOSTILE}"} for text in FACTS], "run_id": f"sys {HOSTILE}"}
    judged(write("a.jsonl", bad), ["triad", "nuggets"], hostile)
    for arguments in (("show", "1"), ("show", "1", "r1"), ("show", "1", "r1", "--full")):
        for charset in ("utf-8", "ascii"):
            came = ragstone(*arguments, "--store", "s.db", charset=charset)
            assert came.code == 0


def test_a_grade_is_a_percentage() -> None:
    """What is unjudged is a question mark, what was not asked a dash."""
    shown = [grade(one and {"value": one[0], "label": one[1]}).plain for one in (
        (2 / 3, "2"), (0.0, "0"), (1.0, "3"), (0.5, "1"), (None, None), None)]  # fmt: skip
    assert shown == ["67%", "0%", "100%", "50%", "?", "-"]


# ---- exported


@pytest.mark.parametrize("form", ["tot", "ir_measures", "trec_eval"])
def test_a_run_is_exported_as_a_leaderboard(form: Any) -> None:
    """Each score's name is a measure; the rows of all topics are the means of the summary."""
    judged(str(TRACES), "triad", usual, name="mine")
    assert ragstone("export", "--format", form, "-o", "board.txt", "--store", "s.db").code == 0
    rows = read_leaderboard("board.txt", form)
    summary = ragstone("show", "--json", "--store", "s.db").json
    assert {found.measure: found.value for found in rows if found.topic == "all"} == pytest.approx(
        {name: metric["mean"] for name, metric in summary["metrics"].items()}
    )
    assert {found.run for found in rows} == ({"board"} if form == "trec_eval" else {"mine"})
    counts = {name: sum(found.measure == name for found in rows) - 1 for name in summary["metrics"]}
    assert counts == {name: metric["scored"] for name, metric in summary["metrics"].items()}
    piped = ragstone("export", "--format", form, "--store", "s.db")
    assert piped.out == Path("board.txt").read_text(encoding="utf-8")


def test_systems_of_one_run_are_exported_apart() -> None:
    """By their names; as trec_eval into a folder, and nowhere else."""
    write("a.jsonl", kettle(1, run_id="x/one", topic_id="t1"), kettle(1, run_id="two", topic_id="t1"))
    judged("a.jsonl", "nugget_recall", nuggets_of_a_kettle)
    came = ragstone("export", "--format", "trec_eval", "-o", "board.txt", "--store", "s.db")
    assert (came.code, came.err.count("\n")) == (2, 1)
    assert "write one file per system with -o" in came.err
    assert ragstone("export", "--format", "trec_eval", "-o", "boards/", "--store", "s.db").code == 0
    assert {found.measure for found in read_leaderboard("boards")} >= {"nugget_recall.strict_vital"}
    assert len(list(Path("boards").iterdir())) == 2
    rows = ragstone("export", "--format", "ir_measures", "--store", "s.db").out.splitlines()
    assert {line.split("\t")[0] for line in rows} == {"x/one", "two"}


def test_a_topic_that_comes_twice_has_no_place_in_a_leaderboard() -> None:
    """It is said so, with what to do."""
    judged(write("a.jsonl", row(1), row(1)), "triad", usual)
    came = ragstone("export", "--format", "tot", "--store", "s.db")
    assert (came.code, came.out) == (2, "")
    assert "two answers for topic 'r1'" in came.err
    assert "csv" in came.err


def test_assignments_are_exported_and_scored(weighed_kettle: None) -> None:
    """What is unjudged is marked; a run without nuggets has none."""
    assert ragstone("export", "kettle", "--format", "assignments", "-o", "a.jsonl", "--store", "s.db").code == 0
    (record,) = [json.loads(line) for line in Path("a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [nugget["assignment"] for nugget in record["nuggets"]] == ["support", "partial_support", "failed"]
    (run,) = ragstone("nuggets", "score", "a.jsonl", "--json").json["runs"]
    assert (run["means"]["strict_all"], run["unjudged"]) == (0.5, 1)
    evaluate("a.jsonl", metrics="answer_relevance", judge=ScriptedJudge(usual), store="t.db").store.close()
    came = ragstone("export", "--format", "assignments", "--store", "t.db")
    assert came.code == 2
    assert "ragstone nuggets assign" in came.err

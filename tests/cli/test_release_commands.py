"""``ragstone compare`` and ``check`` on runs as people have them, with what CI reads."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal import answers, done, harsh, ragstone, refused, row, write

from labelled import write as write_lines
from ragstone import check, compare, evaluate
from ragstone.analysis.check import CheckResult, Decision, Threshold, Worst
from ragstone.analysis.compare import SAME_IDS
from ragstone.analysis.threshold_words import told_apart
from ragstone.analysis.verdicts import Wanting
from ragstone.errors import BackendError, ConfigError, InputError
from ragstone.questions import Question, Rated, Traced, Written
from ragstone.render.ci import junit, markdown
from ragstone.stats.points import points as percent_points
from ragstone.testing import ScriptedJudge

pytestmark = pytest.mark.usefixtures("alone")

HOSTILE = "</failure>\x1b[31m\x00\u202e<script>alert(1)</script> ]]> & | `x` [a](http://x) @all #1 \ud800\ufffe *b*"


def unable(question: Question[Any]) -> Rated | Traced | Written:
    raise BackendError("no answer came")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with two runs over 30 records, which also lie in folders; the second has a record less."""
    home = tmp_path_factory.mktemp("runs")
    rows = [row(n, meta_topic=n // 3, response=f"Kettle {n} is made of steel. It holds {n} litres.") for n in range(30)]
    metrics = ["grounding", "groundedness", "context_relevance"]
    for name, judge, some in (("main", answers, rows), ("new", harsh, rows[1:])):
        judged = ScriptedJudge(judge, version="1")
        kept: dict[str, Any] = {"store": home / "s.db", "name": name, "out": home / name}
        evaluate(some, metrics, judged, no_cache=True, **kept).store.close()  # the two would share their replies
    return home


def in_store(runs: Path, *arguments: str, run: Callable[..., Any] = ragstone, **more: Any) -> Any:
    return run(*arguments, "--store", str(runs / "s.db"), **more)


# ---- compare


def test_two_runs_stand_side_by_side(runs: Path) -> None:
    """Means, points and p as in the JSON; what could not be paired; the record that moved most, and how to see it."""
    came = in_store(runs, "compare", "main", "new", columns=100)
    told = in_store(runs, "compare", "main", "new", "--json").json
    assert came.code == 0
    assert "main  run 1 · 30 records" in came.out
    assert "hidden at this width" not in came.out
    assert "columns hidden at this width (95% CI" in in_store(runs, "compare", "main", "new", columns=60).flat
    assert "1 record only in main: r0." in came.out
    assert "no significant difference" not in came.flat
    for found in told["metrics"]:
        line = next(line for line in came.out.splitlines() if re.match(rf"  {found['metric']} +\d", line))
        first, second, points = re.match(r" +\w+ +([\d.]+)% +([\d.]+)% +(\S+)", line).groups()  # type: ignore[union-attr]
        assert first == percent_points(found["paired"]["first"])
        assert second == percent_points(found["paired"]["second"])
        assert float(points) == pytest.approx(100 * found["paired"]["difference"], abs=0.051)
        assert f"{found['paired']['wins']}/{found['paired']['ties']}/{found['paired']['losses']}" in line
    grounding = next(found for found in told["metrics"] if found["metric"] == "grounding")
    assert grounding["finding"] == "lower"
    assert grounding["said"] in came.flat
    assert f"ragstone show 2 {grounding['moved'][0]['record']} --store" in came.flat
    assert "so it seems" in came.out


def test_runs_are_named_by_number_by_name_or_by_folder(runs: Path) -> None:
    """All lead to the same numbers; from Python too, and with runs that are open."""
    by_name = in_store(runs, "compare", "main", "new", "--json").json
    by_number = in_store(runs, "compare", "1", "last", "--json").json
    by_folder = ragstone("compare", str(runs / "main"), str(runs / "new" / "results.jsonl"), "--json").json
    assert by_name == by_number == by_folder
    assert ragstone("compare", str(runs / "main"), str(runs / "new")).code == 0
    Path("main").mkdir()  # no run in it: a run of the store goes before a folder of its name
    found = compare("main", 2, store=runs / "s.db")
    assert json.loads(json.dumps(found.as_json())) == by_name
    assert found["grounding"].paired is not None
    with pytest.raises(InputError, match=r"main/?: contains no results\.jsonl"):
        compare("./main", 2, store=runs / "s.db")


def test_a_comparison_is_also_a_page(runs: Path) -> None:
    """In the file or the folder that is named, which the screen says; the JSON stays as it is."""
    came = in_store(runs, "compare", "main", "new", "-o", "pages/")
    assert came.code == 0
    assert "Page        pages/compare.html" in came.out
    page = Path("pages/compare.html").read_bytes()
    assert page.endswith(b"</html>\n")
    assert b"<title>main and new</title>" in page
    told = in_store(runs, "compare", "main", "new", "--json", "-o", "c.html")
    assert told.json == in_store(runs, "compare", "main", "new", "--json").json
    assert Path("c.html").read_bytes() == page
    by_folder = done("compare", str(runs / "main"), str(runs / "new"), "-o", "f.html")
    assert "Page        f.html" in by_folder.out
    over = in_store(runs, "compare", "main", "new", "-o", str(runs / "s.db"), run=refused)
    assert "would be overwritten" in over


def test_metrics_and_groups_can_be_chosen(runs: Path) -> None:
    """Fewer tests raise p less; records that belong together are one."""
    alone = in_store(runs, "compare", "main", "new", "-m", "grounding", "--by", "meta.meta_topic", "--moved", "2")
    assert "p: paired sign-flip test." in alone.flat
    assert "Intervals and tests are clustered by meta.meta_topic (10 groups)." in alone.flat
    assert "Only 10 groups" in alone.flat
    assert alone.out.count("so it seems") == 2
    same = in_store(runs, "compare", "main", "main", "--by", "meta.meta_topic")
    assert "Records are grouped by meta.meta_topic (10 groups)." in same.flat
    assert "Only 10 groups" not in same.flat
    both = in_store(runs, "compare", "main", "new", "-m", "grounding,groundedness")
    assert "p: paired sign-flip test, Holm-adjusted for the 2 tested metrics." in both.flat
    assert "context_relevance" not in both.out


def test_a_difference_that_cannot_be_told_from_chance_is_not_called_one(runs: Path) -> None:
    """A run against itself is the same; numbers made in two ways are said to be."""
    same = in_store(runs, "compare", "main", "main")
    assert "Unchanged: all metrics." in same.flat
    write("a.jsonl", *(row(n) for n in range(8)))
    for number, mode in enumerate(("binary_yes_no", "scale_1_5")):
        done(
            "run", "a.jsonl", "-q", "-m", "grounding", "--set", f"grounding.scoring_mode={mode}", "--name", f"n{number}"
        )
    found = ragstone("compare", "n0", "n1").flat
    assert "grounding: scoring_mode changed from the default to scale_1_5." in found
    assert "Responses and passages are the same in both runs" in found


def test_records_without_a_common_id_are_named_with_the_remedy() -> None:
    """Without ids, a changed response is another record; the comparison says so rather than leave it out quietly."""
    rows = [{"question": f"How many litres does kettle {n} hold?", "contexts": [f"Kettle {n} holds {n} litres."]}
            for n in range(3)]  # fmt: skip
    for name, first in (("a", "It holds 7 litres."), ("b", "It holds 0 litres.")):
        said = [first, "It holds 1 litre.", "It holds 2 litres."]
        write(f"{name}.jsonl", *({**one, "response": text} for one, text in zip(rows, said, strict=True)))
        assert ragstone("run", f"{name}.jsonl", "-m", "grounding", "-q").code == 0
    came = ragstone("compare", "a", "b")
    assert "1 record only in a.jsonl" in came.flat
    assert f"To pair all records, {SAME_IDS}." in came.flat
    one = ["--field", "id=question"]
    for name in "ab":
        assert ragstone("run", f"{name}.jsonl", "-m", "grounding", "-q", *one).code == 0
    assert (
        "grounding is 33.3 points higher in b.jsonl (3 paired records). No test possible: only 3 paired records;"
        in ragstone("compare", "3", "4").flat
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "main", "nine"), "no run 'nine'"),
        (("compare", "main", "nine/"), "error: no folder or run 'nine/' in "),
        (
            ("compare", "main", "new", "-m", "grunding"),
            "have no metric 'grunding'; did you mean 'grounding'?",
        ),
        (("compare", "main", "new", "--by", "topics"), "--by topics: no record has it; did you mean 'topic'"),
        (("compare", "main", "."), ".: contains no results.jsonl"),
        (("compare", "main", "new", "-o", "-"), "a page needs an output file, e.g. -o compare.html"),
        (("compare", "main", "new", "-o", "no/where.html"), "no/where.html: cannot be written"),
        (("check", "new"), "nothing to check"),
        (("check", "new", "--min", "grounding"), "expected METRIC=NUMBER"),
        (("check", "new", "--min", "grounding=high"), "expected METRIC=NUMBER"),
        (("check", "new", "--min", "grounding=80"), "expected a number from 0 to 1 (80% is 0.8)"),
        (("check", "new", "--min", "grounding=nan"), "expected a number from 0 to 1"),
        (("check", "new", "--min", "a=0", "--min", "a=1"), "--min a is given twice"),
        (
            ("check", "new", "--min", "recall=0.8"),
            "has no metric 'recall'; available: grounding, groundedness, context_relevance",
        ),
        (
            ("check", "new", "--max", "contradicted=0"),
            "no metric 'contradicted'; evaluate with --set grounding.scoring_mode=support_contradict",
        ),
        (
            ("check", "new", "--min", "groundedness.contradicted=0"),
            "evaluate with --set groundedness.scoring_mode=support_contradict",
        ),
        (("check", "new", "--max", "grounding.contradicts=0"), "did you mean 'grounding.contradicted'?"),
        (("check", "new", "--max", "abstained_wrongly=0"), "'abstained_wrongly'; evaluate with -m abstention"),
        (("check", "new", "--max-drop", "grounding=0.1"), "specify it with --baseline"),
        (("check", "new", "--min", "grounding=0.1", "--baseline", "main"), "--baseline is only for drops"),
        (("check", "new", "--min", "grounding=0.1", "--junit", "no/where.xml"), "no/where.xml: cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_line(runs: Path, arguments: tuple[str, ...], message: str) -> None:
    """And the code is that of bad input, never that of a failed threshold."""
    assert message.replace(". no", ".: no") in in_store(runs, *arguments, run=refused)


# ---- check


def test_thresholds_that_are_held(runs: Path) -> None:
    """0, each with what was found."""
    came = in_store(runs, "check", "main", "--min", "groundedness=0.9", "--min-coverage", "groundedness=1")
    assert came.code == 0
    assert "passed  groundedness: mean at least 90%" in came.out
    assert "at least 100% of records scored 30 of 30 records scored, 100%" in came.flat
    assert "Both thresholds were met." in came.out


def test_a_threshold_that_failed(runs: Path) -> None:
    """1, with the records behind it and their units; the same in JSON and in both files."""
    asked = ("check", "new", "--min", "grounding=0.9", "--min", "context_relevance=0.1")
    came = in_store(runs, *asked, "--junit", "check.xml", "--markdown", "check.md")
    assert came.code == 1
    assert "failed  grounding: mean at least 90%" in came.out
    assert "passed  context_relevance" in came.out
    assert "1 of 2 thresholds was not met." in came.out
    told = in_store(runs, *asked, "--json")
    assert (told.code, told.json["outcome"]) == (1, "failed")
    worst = told.json["decisions"][0]["worst"][0]
    claim = worst["wanting"][0]["text"]
    more = told.json["decisions"][0]["more"]
    assert more > 0
    assert f"Lowest grounding (threshold: mean at least 90%; {more} more records not listed)" in came.flat
    suite = ET.parse("check.xml").getroot().find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "2",
        "failures": "1",
        "errors": "0",
    }
    first, second = suite.findall("testcase")
    failure = first.find("failure")
    assert failure is not None
    assert "required: at least 90%" in (failure.get("message") or "")
    assert claim in (failure.text or "")
    assert second.find("failure") is None
    text = Path("check.md").read_text(encoding="utf-8")
    assert text.startswith("## Ragstone: 1 of 2 thresholds was not met\n")
    assert "| **failed** | grounding | mean at least 90% |" in text
    assert claim.split(".")[0] in text
    assert f"ragstone show 2 {worst['record']}" in came.flat


def test_only_a_drop_that_is_shown_fails(runs: Path) -> None:
    """One beyond what is allowed does, in the words of the records that fell; a run is not its own baseline."""
    fell = in_store(runs, "check", "new", "--max-drop", "grounding=0.05", "--baseline", "main")
    assert fell.code == 1
    assert re.search(
        r"-[0-9.]+ points compared with the baseline \(95% CI -[0-9.]+ to -[0-9.]+\) over 29 paired records", fell.flat
    )
    assert "100% to 0%" in fell.out
    assert "so it seems" in fell.out
    drop = ("--min", "grounding=1", "--max-drop", "grounding=0.05", "--baseline", "main")
    lowest, drops = in_store(runs, "check", "new", *drop, "--markdown", "c.md", "--junit", "c.xml").out.split(
        "Largest drops"
    )
    for name, split in (("c.md", "Largest drops"), ("c.xml", "must not drop by more than 5 points")):
        first, second = (set(part.splitlines()) for part in Path(name).read_text("utf-8").split(split, 1))
        again = {line for line in first & second if line.startswith("  - ")}
        assert (any(line.startswith("  - ") for line in first), again) == (True, set()), name
    assert in_store(runs, "show", "new").out.split("✗")[1].split("\n")[0] in lowest, "the same claim as in show"
    repeated = {line for line in drops.splitlines() if line.startswith("    ✗")} & {*lowest.splitlines()}
    assert ("✗" in lowest, "100% to 0%" in drops, repeated) == (True, True, set()), "a claim is listed once"
    allowed = in_store(runs, "check", "new", "--max-drop", "grounding=0.9", "--baseline", str(runs / "main"))
    assert allowed.code == 0
    assert "would be detected with 80% power" in allowed.flat
    rose = in_store(runs, "check", "main", "--max-drop", "grounding=0", "--baseline", "new")
    assert rose.code == 0
    assert re.search(r"\+[0-9.]+ points compared with the baseline", rose.flat)
    same = in_store(runs, "check", "main", "--max-drop", "grounding=0", "--baseline", "main", run=refused)
    assert "main (run 1) is its own baseline; specify an earlier run" in same


def test_a_baseline_that_was_judged_otherwise_is_refused(runs: Path) -> None:
    """With the part that differs; a drop would say nothing of the system."""
    assert ragstone("run", write("a.jsonl", row(1), row(2)), "-q", "-m", "grounding", "-o", "out").code == 0
    told = in_store(runs, "check", "new", "--max-drop", "grounding=0.05", "--baseline", "out", run=refused)
    assert "used different settings (claims: embedded" in told
    with pytest.raises(InputError, match="evaluate it again"):
        check("new", max_drop={"grounding": 0.05}, baseline="out", store=runs / "s.db")


def test_a_threshold_without_its_metric_is_refused(runs: Path) -> None:
    with pytest.raises(ConfigError, match=r"min 0\.8; expected numbers by metric"):
        check("new", min=0.8, store=runs / "s.db")  # type: ignore[arg-type]


def test_a_first_run_is_told_what_to_do_without_a_baseline(runs: Path) -> None:
    came = in_store(runs, "check", "new", "--max-record-drop", "grounding=0.1", "--baseline", "main-out/")
    assert (came.code, came.err.splitlines()[1:]) == (
        2,
        ["hint: no baseline yet? Check this run without drops; it can then be the baseline for the next run"],
    )


def test_where_nothing_was_scored_it_is_an_error_and_no_failure() -> None:
    """3, an error in JUnit; beside a threshold that did fail the code is 1."""
    records = [row(1), row(2)]
    evaluate(records, "grounding", ScriptedJudge(unable), store="s.db").store.close()
    came = ragstone("check", "--min", "grounding=0.5", "--junit", "c.xml", "--markdown", "c.md", "--store", "s.db")
    assert came.code == 3
    assert "error   grounding: mean at least 50%" in came.out
    assert "nothing was scored (2 judge_failed)" in came.out
    suite = ET.parse("c.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    assert "| **error** | grounding |" in Path("c.md").read_text(encoding="utf-8")
    assert ragstone("compare", "1", "1", "--store", "s.db").code == 3


def test_a_run_that_did_not_end_decides_nothing(runs: Path) -> None:
    results = (runs / "new" / "results.jsonl").read_bytes()
    Path("part").mkdir()
    Path("part/results.jsonl.partial").write_bytes(results)
    Path("part/run.json").write_text(
        '{"run": 7, "name": "part", "status": "interrupted", "results": "results.jsonl.partial"}'
    )
    came = ragstone("check", "part/results.jsonl.partial", "--min", "grounding=0.01")
    assert came.code == 3
    assert "did not finish (interrupted), so nothing can be decided" in came.flat


def test_low_coverage_fails_with_the_reasons() -> None:
    """The share is of all records, those without a value for whatever reason included."""
    records = [row(1), row(2), row(3, response=" "), row(4, response="")]
    evaluate(records, "grounding", "embedded", store="s.db").store.close()
    came = ragstone("check", "--min-coverage", "grounding=0.75", "--store", "s.db")
    assert came.code == 1
    assert "at least 75% of records scored 2 of 4 records scored, 50% (2 empty)" in came.flat
    assert "r3 empty: blank response" in came.flat


def test_thresholds_stand_in_the_configuration(runs: Path) -> None:
    """A flag wins over the file for its metric; the rest of the file holds."""
    Path("ragstone.toml").write_text(
        '[check]\nmin = { grounding = 0.99, groundedness = 0.01 }\nmax_drop = { grounding = 0.9 }\nbaseline = "main"\n'
    )
    assert in_store(runs, "check", "new").code == 1
    came = in_store(runs, "check", "new", "--min", "grounding=0.01")
    assert came.code == 0
    assert came.out.count("passed") == 3
    Path("ragstone.toml").write_text("[check]\nmin = { grounding = 2 }\n")
    assert "check.min.grounding = 2: expected a number of at most 1" in in_store(runs, "check", "new").err


def test_a_record_without_units_has_the_reason_of_its_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An abstention's column is of the response as a whole; one column has the reason for all."""
    monkeypatch.chdir(tmp_path)
    ragstone("run", write("a.jsonl", row(1) | {"response": "The guide does not sell."}), "-m", "abstention", "-q")
    came = ragstone("check", "last", "--max", "answered_unsupported=0")
    assert came.code == 1
    assert "100%: answered unsupported" in came.out.replace("\u00a0", " ")


# ---- hostile texts


def gate_of(text: str) -> CheckResult:
    """A gate all of whose texts are this one."""
    worst = Worst(text, 0.0, 1.0, (Wanting(text, 0.0, text),))
    decision = Decision(Threshold("min", text, 0.5), "failed", 0.1, None, None, 3, text, "", (text,), (worst,))
    return CheckResult(
        1, text, 3, text, (decision, Decision(Threshold("min", "m", 0.5), "error", None, None, None, 0, text))
    )


@given(st.text())
def test_any_text_gives_files_that_can_be_read(text: str) -> None:
    """XML that holds nothing that a terminal obeys; in Markdown no text ends its row, its cell or its item."""
    lines = markdown(gate_of(text)).decode().splitlines()
    assert [line.count("|") for line in lines if line.startswith("|")] == [5] * 4
    assert sum(line.startswith("- ") for line in lines) == 1 or not text
    document = junit(gate_of(text))
    root = ET.fromstring(document)
    assert len(root.findall("./testsuite/testcase")) == 2
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", document.decode())


def test_hostile_texts_are_text_in_both_files() -> None:
    """No element of the XML comes from a record, and in Markdown there is no markup, no link, no mention."""
    gate = gate_of(HOSTILE)
    root = ET.fromstring(junit(gate))
    assert {element.tag for element in root.iter()} == {"testsuites", "testsuite", "testcase", "failure", "error"}
    assert "<script>alert(1)</script>" in (root.findtext("./testsuite/testcase/failure") or "")
    text = markdown(gate).decode()
    for sign in ("<", "`", "[", "]", "@", "&amp", "://", "*b", "\x1b", "\u202e"):
        assert sign not in text, sign
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.count("|") == 5 for line in rows)
    assert "&#60;script&#62;" in text


def test_a_comparison_is_written_as_markdown(runs: Path) -> None:
    """A row for each metric with the numbers of the screen, signs as they are, and no file that is read is replaced."""
    came = in_store(runs, "compare", "main", "new", "--markdown", "c.md", columns=120)
    text = Path("c.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert rows
    assert all(" ".join(row.replace("|", " ").split()) in came.flat for row in rows)
    assert "&#" not in text
    assert "\nCompared: main (run 1, 30 records) and new (run 2, 29 records)\n" in text
    assert "\n| metric | main | new |" in text
    assert "\n### Not compared\n\n- 1 record only in main: r0.\n" in text
    changed = text.partition("### Largest changes in ")[2].splitlines()[2:]
    assert [line.split(":")[0].removeprefix("- ") in came.out for line in changed] == [True] * 5
    over = in_store(runs, "compare", "main", "new", "--markdown", str(runs / "s.db"), run=refused)
    assert "would be overwritten" in over


def test_a_text_of_a_megabyte_is_cut() -> None:
    """Whoever reads a job's page reads no such word."""
    gate = gate_of("x" * 1_000_000)
    assert len(junit(gate)) < 10_000
    assert max(len(line) for line in markdown(gate).decode().splitlines()) < 2000


def test_hostile_results_are_text_on_both_screens(runs: Path) -> None:
    """Ids, texts, reasons, statuses, names and settings of a run that somebody else wrote."""
    evil = "\x1b[31m\x9b2J\u202e[bold]x[/]\n"
    for name, value in (("a", 1.0), ("b", 0.0)):
        Path(name).mkdir()
        lines = []
        for number in range(8):
            unit = {"id": "u", "level": "claim", "text": evil, "parent": None}
            scored = {
                "metric": "m", "value": value if number < 7 else None, "low": value, "high": 1.0,
                "asked": 2, "unjudged": 1, "status": evil, "signature": f"m|{evil}:{evil}{name}|v:1", "reason": evil,
                "verdicts": [{"unit": "u", "label": "no", "value": value, "reason": evil}],
            }  # fmt: skip
            lines.append(
                {
                    "id": f"{evil}{number}",
                    "position": number + 1,
                    "units": [unit],
                    "meta": {evil: evil},
                    "scores": [scored],
                }
            )
        lines.append({"id": f"{evil}{name}", "position": 9, "set_aside": evil})
        write_lines(f"{name}/results.jsonl", lines)
        about = {"run": 1, "name": evil, "status": "done", "judges": {evil: {"max_tokens": f"{evil}{name}"}}}
        Path(name, "run.json").write_text(json.dumps(about), encoding="utf-8")
    for arguments in (("compare", "a", "b"), ("check", "b", "--min", "m=1")):
        came = ragstone(*arguments, "--store", "none.db")
        assert came.code in (0, 1), came.err
        assert "[bold]x[/]" in came.out
    assert ragstone("check", "b", "--max-drop", "m=0", "--baseline", "a", "--store", "none.db").code == 2


def test_what_is_read_is_not_written_over(runs: Path) -> None:
    """No store, no results, no settings; and not one file for two things."""
    before = {path: path.read_bytes() for path in (runs / "s.db", runs / "new" / "results.jsonl")}
    store, results = (str(path) for path in before)
    for run, *more in (
        ("new", "--junit", store),
        (f"{runs / 'new'}/", "--junit", results),
        ("new", "--junit", "same", "--markdown", "same"),
    ):
        told = refused("check", run, "--store", store, "--min", "grounding=0.1", *more)
        assert "would be overwritten" in told or "named twice" in told
    assert {path: path.read_bytes() for path in before} == before
    assert not Path("same").exists()


def test_a_mean_is_the_same_number_on_every_screen(runs: Path) -> None:
    """No decimals that one screen has and another has not, though the mean has some."""
    summary = in_store(runs, "show", "new", "--json").json["metrics"]["grounding"]
    assert (100 * summary["mean"]) % 1
    told = f"{percent_points(summary['mean'])}%"
    assert re.search(rf"^  grounding +{told} ", in_store(runs, "show", "new").out, re.MULTILINE)
    assert re.search(rf"^  grounding +{told} +{told} ", in_store(runs, "compare", "new", "new").out, re.MULTILINE)
    assert f" mean {told} (" in in_store(runs, "check", "new", "--min", "grounding=0.1").flat
    assert f"{told} grounding" in in_store(runs, "runs").out


@pytest.mark.parametrize(
    ("value", "limit", "count", "told"),
    [
        (0.8667, 0.8, 12, ("87%", "80%")),
        (0.8667, 0.8, 1000, ("86.7%", "80%")),
        (0.7996, 0.8, 12, ("79.96%", "80%")),
        (0.8, 0.8, 12, ("80%", "80%")),
        (0.804, 0.8035, 12, ("80.4%", "80.35%")),
        (0.9999, 1.0, 12, ("99%", "100%")),
    ],
)
def test_a_value_has_more_decimals_only_where_fewer_would_lie(
    value: float, limit: float, count: int, told: tuple[str, str]
) -> None:
    """Of a value just below its limit it is never said that it is the limit."""
    assert told_apart(value, limit, count) == told


def test_all_screens_count_the_same_records(tmp_path: Path) -> None:
    """Those that could not be read are among them, wherever it says of how many."""
    rows = [row(n) for n in range(4)] + [{"id": f"bad{n}", "question": 3, "response": ["no"]} for n in range(2)]
    out = tmp_path / "out"
    run = evaluate(rows, ["grounding"], store=tmp_path / "s.db", on_error="skip", out=out)
    assert ">4 of 6<" in run._repr_html_()
    (entry,) = json.loads((out / "summary.json").read_text(encoding="utf-8"))["metrics"].values()
    assert (entry["scored"], entry["total"]) == (4, 6)
    assert "4 of 6" in ragstone("show", "last", "--store", str(tmp_path / "s.db")).out
    checked = ragstone("check", "last", "--store", str(tmp_path / "s.db"), "--min-coverage", "grounding=0.99")
    assert "4 of 6 records scored, 67% (2 unreadable)" in checked.flat
    assert "bad0" in checked.out
    (decision,) = check("last", store=tmp_path / "s.db", min={"grounding": 0.0}).decisions
    assert decision.notes == ("2 of 6 records have no score (2 unreadable)",)
    rows[0]["grounding"] = {"scoring_mode": "support_contradict"}
    run = evaluate(rows, ["grounding"], store=tmp_path / "s.db", on_error="skip")
    (decision,) = check(run.id, store=tmp_path / "s.db", max={"contradicted": 1.0}).decisions
    assert decision.notes == ("5 of 6 records have no score (3 not_computed, 2 unreadable)",)
    half = compare(run, run, store=tmp_path / "s.db")["grounding.contradicted"].first
    assert half.statuses == {"unreadable": 2, "not_computed": 3}


def half_down(question: Question[Any]) -> Rated | Traced | Written:
    """Does not answer where it would say of a unit that it is not supported."""
    found = harsh(question)
    if isinstance(found, Rated) and any(not verdict.value for verdict in found.verdicts):
        raise BackendError("no answer came")
    return found


@pytest.mark.parametrize("kind", ["judge_failed", "set aside"])
def test_a_mean_is_not_passed_because_records_fell_out(kind: str, tmp_path: Path) -> None:
    """What would fail if they were the worst is undecided, and with a least coverage the user has said how many may."""
    bad = [{"id": f"bad{n}", "question": 3, "response": ["no"]} for n in range(3)]
    rows = [row(n, response=f"Kettle {n} is made of steel.") for n in range(20)]
    judge = ScriptedJudge(half_down if kind == "judge_failed" else answers, version="1")
    store = tmp_path / "s.db"
    rows += bad if kind == "set aside" else []
    evaluate(rows, ["grounding"], judge, store=store, on_error="skip").store.close()
    (decision,) = check("last", store=store, min={"grounding": 0.9}).decisions
    assert decision.outcome == "error"
    assert decision.value is not None
    assert decision.value >= 0.9
    assert "could not be read or fully judged: the mean could be" in " ".join(decision.notes)
    written = tmp_path / "c.md"
    came = ragstone("check", "--min", "grounding=0.9", "--store", str(store), "--markdown", str(written))
    assert came.code == 3
    assert "nothing can be decided; to decide without them, add --min-coverage grounding=X" in came.flat
    assert decision.notes[-1].partition("(")[0] in written.read_text(encoding="utf-8"), "no note is cut off"
    (lacking,) = check("last", store=store, min_coverage={"grounding": 1}).decisions
    assert all(worst.reason for worst in lacking.worst)
    (easy,) = check("last", store=store, min={"grounding": 0.1}).decisions
    assert easy.outcome == "passed"
    said = check("last", store=store, min={"grounding": 0.9}, min_coverage={"grounding": 0.2})
    assert said.outcome == "passed"


def test_a_drop_is_not_hidden_by_records_that_fell_out(tmp_path: Path) -> None:
    rows = [row(n, response=f"Kettle {n} is made of steel.") for n in range(40)]
    store = tmp_path / "s.db"
    for name, judge in (("main", answers), ("new", half_down)):
        judged = ScriptedJudge(judge, version="1")
        evaluate(rows, ["grounding"], judged, store=store, name=name, no_cache=True).store.close()
    found = check("new", store=store, max_drop={"grounding": 0.02}, baseline="main")
    assert found.outcome == "error"
    assert "fully judged: the drop could be" in found.decisions[0].notes[-2]
    loose = check("new", store=store, max_drop={"grounding": 0.9}, baseline="main")
    assert loose.outcome == "passed"
    covered = check("new", store=store, max_drop={"grounding": 0.02}, min_coverage={"grounding": 0.1}, baseline="main")
    assert covered.outcome == "passed"


def test_a_record_with_two_results_is_refused(runs: Path, tmp_path: Path) -> None:
    lines = (runs / "new" / "results.jsonl").read_bytes().splitlines(keepends=True)
    twice = tmp_path / "results.jsonl"
    twice.write_bytes(b"".join([*lines, lines[0]]))
    with pytest.raises(InputError, match="has two results"):
        check(twice, min={"grounding": 0.1})


@pytest.mark.parametrize(
    ("policy", "code", "tag", "said"), [("pass", 0, "skipped", "met"), ("fail", 1, "failure", "not met")]
)
def test_an_undecided_drop_is_seen_in_ci(policy: str, code: int, tag: str, said: str) -> None:
    """On the screen, in JUnit and in Markdown; the exit code follows the policy."""
    for name, values in (("before", "111111001"), ("after", "000011111")):
        Path(name).mkdir()
        lines = [
            {"id": f"r{n}", "position": n, "units": [], "meta": {},
             "scores": [{"metric": "m", "value": int(value), "low": None, "high": None, "asked": 1,
             "unjudged": 0, "status": "scored", "signature": "m", "reason": "", "verdicts": []}]}
            for n, value in enumerate(values)
        ]  # fmt: skip
        write_lines(f"{name}/results.jsonl", lines)
    came = ragstone(
        "check", "after/", "--max-drop", "m=0", "--baseline", "before/", "--undecided", policy,
        "--junit", "c.xml", "--markdown", "c.md", columns=58,
    )  # fmt: skip
    assert (came.code, came.err) == (code, "")
    said_of_it = came.out.partition("undecided  m: must not drop\n")[2].partition("\n\n")[0].splitlines()
    assert all(line.startswith(" " * 13) and " " in line.strip() for line in said_of_it), "wrapped once"
    assert f"The threshold is undecided (counted as {said})." in came.out
    suite = ET.parse("c.xml").getroot().find("testsuite")
    assert suite is not None
    (case,) = suite.iter("testcase")
    assert [child.tag for child in case] == [tag]
    assert case[0].get("message", "").startswith("undecided: -22.2 points compared with the baseline")
    assert suite.get("skipped" if tag == "skipped" else "failures") == "1"
    assert "| **undecided** | m | must not drop |" in Path("c.md").read_text(encoding="utf-8")

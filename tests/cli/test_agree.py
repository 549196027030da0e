"""``ragstone label``, ``agree`` and ``tune``: the screens of a judge against people, and labels attached to a run."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pytest
from terminal import HOSTILE, WIDTHS, Came, answers, done, pasted, ragstone, refused, row

from attached import SAID, WITHHELD, agreement, corrected, of_metric
from labelled import city_records, city_rows, two_models, write
from ragstone import Run, check, evaluate, open_run
from ragstone.api import opened
from ragstone.api.agreeing import attach_agreement
from ragstone.cli import label_commands
from ragstone.errors import ConfigError, InputError
from ragstone.labels import LabelDraw, LabelRow
from ragstone.render.agreement import agreements
from ragstone.render.text import coefficient
from ragstone.testing import FakeServer, ScriptedJudge

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("alone")

DRAW = LabelDraw("random", 0, 12, 12)
Labels = Callable[..., str]


@pytest.fixture
def store(weighed: Path, home: None) -> str:
    """The store of a run, with a short name."""
    return shutil.copy(weighed, "s.db")


@pytest.fixture
def labels(store: str) -> Labels:
    """A file with people's labels of the first example traces: ``yes`` for every claim but some, by each annotator."""

    def written(*annotators: str, records: int = 5, more: tuple[LabelRow, ...] = ()) -> str:
        run = open_run("last", store)
        rows = list(more)
        for who in annotators:
            for result in islice(run.results(), records):
                for n, verdict in enumerate(result.score("grounding")["verdicts"]):
                    label = "no" if (result["position"] + n) % 3 == 0 else "yes"
                    rows.append(LabelRow(result["id"], verdict["unit"], "support", label, who, 9.0, DRAW))
        Path("labels.jsonl").write_bytes(b"\n".join(orjson.dumps(row.as_json()) for row in rows))
        return "labels.jsonl"

    return written


@pytest.mark.parametrize("width", WIDTHS)
def test_the_screen_says_how_far_to_trust_the_judge(store: str, labels: Labels, width: int) -> None:
    """The sentence first; then the table, the matrix, the people, the disagreements, and what to do next."""
    came = ragstone("agree", "last", labels("ana", "ben"), "--store", store, columns=width)
    assert (came.code, came.err) == (0, "")
    assert came.flat.startswith(
        "Too few labels to tell if the judge agrees with people: kappa .26 (95% CI .00–.67) on 16 claims from 5 "
        "records; always answering 'yes' would be right 69% of the time. "
    )
    for part in (
        "people in rows, judge in columns",
        "Krippendorff's alpha of the judge and all annotators ",
        "ana and ben: kappa 1.00",
        "to halve each interval, label this many more records: grounding 15",
    ):
        assert part in came.flat, part
    table = came.out.partition("guess: ")[0]
    assert all(title in table for title in ("units", "accuracy", "kappa", "95% CI", "mean", "corrected"))
    assert "…" not in table
    (titles,) = (line for line in table.splitlines() if " corrected " in line)
    assert titles.replace("kappa 95% CI", "").count("95% CI") == 1
    assert ("columns hidden at this width (units" in came.flat) == (width == 60)
    (command,) = pasted(came.out)
    assert command[:2] == ["show", "1"]
    shown = done(*command)
    assert came.out.partition("Largest disagreements")[2].split()[0] in shown.out
    assert ragstone("agree", "last", labels("ana"), "--store", store, columns=width, charset="ascii").code == 0
    of_one = ragstone("agree", "last", labels("ana", records=1), "--store", store, columns=width)
    assert of_one.flat.startswith("Agreement with people: kappa "), "one record has no interval, so nothing is claimed"


def test_json_has_every_measure(store: str, labels: Labels) -> None:
    came = ragstone("agree", "last", labels("ana"), "--store", store, "--json", "--disagreements", "1")
    (metric,) = came.json["metrics"]
    assert metric["metric"] == "grounding"
    assert metric["units"] == sum(map(sum, metric["counts"]))
    assert metric["means"][0]["method"] == "labels"
    assert len(came.json["disagreements"]) == 1


def test_what_did_not_join_is_listed(store: str, labels: Labels) -> None:
    """With a text that a terminal would obey in the place of an id, a label and an annotator."""
    strays = tuple(LabelRow(f"{HOSTILE}{n % 2}", f"x/{n}", "support", "yes", HOSTILE, draw=DRAW) for n in range(9))
    run = open_run("last", store)
    first = next(run.results())
    unit = first.score("grounding")["verdicts"][0]["unit"]
    strays += (LabelRow(first["id"], unit, "support", HOSTILE, "zoe", draw=DRAW),)
    came = done("agree", "last", labels("ana", more=strays), "--store", store)
    assert "Unused labels 10 of" in came.flat.partition("accuracy")[0], "it comes before the numbers"
    assert "9 no such record: [31mred" in came.flat
    assert came.flat.partition("no such record: ")[2].partition(" not on the scale")[0].count("[31mred") == 2
    assert "1  label not on the scale (no, yes, trivial): " in came.out


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_left_out_is_told(store: str, labels: Labels, width: int) -> None:
    """Units without a verdict and their cost, ties, records that are not used, parsed replies; groups of a folder."""
    path = labels(
        "ana", more=(LabelRow("kettle-descale", "kettle-descale/claim/1", "support", "no", "ben", draw=DRAW),)
    )
    run = open_run("last", store)
    reading = {"style": "short_cot", "format": "keyed", "reader": "", "status": "cut_off", "read": 0, "asked": 1}
    call = {"key": "a1", "judge": "one", "step": "support", "input_tokens": 1, "output_tokens": 1, "dollars": None}
    lines = []
    for result in run.results():
        grounding = result.score("grounding")
        for verdict in grounding["verdicts"][-1:]:
            verdict.update(label=None, value=None, failure="cut off")
        changed = {
            "calls": [{**call, "reading": reading}],
            "meta": {
                "expert": bool(result["position"] % 2),
                "run_id": f"{HOSTILE} {result['position'] % 2}",
            },
        }
        lines.append(orjson.dumps({**result, **changed}))
    Path("out").mkdir()
    Path("out/results.jsonl").write_bytes(b"\n".join(lines))
    came = ragstone("agree", "out", path, "--by", "meta.expert", columns=width)
    assert (came.code, came.err) == (0, "")
    for part in (
        "unjudged no yes", "grounding by meta.expert 2 groups", "false", "true",
        "Systems by grounding 2 systems", "rank correlation needs at least 3",
        "left out (scored with settings other than the run's)",
        "Replies parsed in full one support short_cot keyed 0 of 1",
        "grounding: 5 claims without a verdict; counting them as errors, accuracy is",
        "6 claims left out (1 tied between annotators, 5 without a verdict).",
    ):  # fmt: skip
        assert part in came.flat, part
    assert "Next" not in came.out, "a run in a folder has no number to show it by"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["last", "labels.jsonl", "-m", "nothing"], "error: metric 'nothing' is not in run 1; available: "),
        (["last", "missing.jsonl"], "error: missing.jsonl: no such file"),
        (["99", "labels.jsonl"], "error: no run '99' in "),
        (["last", "labels.jsonl", "--correction", "magic"], "'magic' is not one of 'ppi', 'rogan-gladen'"),
        (["last", "empty.jsonl"], "error: empty.jsonl: contains no records; expected at least one"),
        (["last", "nobody.json"], "error: nobody.json: no labels for the units of run 1 (answer_relevance, "),
        (["last", "other.jsonl"], "error: no label matches run 1: no such record (1 label, first: "),
        (["last", "labels.jsonl", "-m", "answer_relevance"], "answer_relevance in run 1: label for another metric (1"),
    ],
)
def test_a_mistake_is_one_line(store: str, labels: Labels, arguments: list[str], said: str) -> None:
    labels("ana", more=(LabelRow("tea-water", "tea-water/claim/1", "support", None, "ben"),))
    Path("empty.jsonl").write_text("\n")
    Path("nobody.json").write_text('[{"data": {"record": "a", "unit": "b"}, "annotations": []}]')
    Path("other.jsonl").write_bytes(orjson.dumps(LabelRow(HOSTILE, HOSTILE, "support", "yes").as_json()))
    came = ragstone("agree", *arguments, "--store", store)
    assert came.code == 2
    assert said in came.err
    assert "cannot tell" not in came.err, "the metric has no such label"


METRICS = ["grounding", "context_relevance", "groundedness"]


def made(name: str = "main") -> Run:
    """A run of three records, in s.db and in out/."""
    rows = [row(n, response=f"Kettle {n} is made of steel. It holds {n} litres.") for n in range(3)]
    return evaluate(rows, METRICS, ScriptedJudge(answers, version="1"), store="s.db", name=name, out="out")


def plain(text: str) -> str:
    return " ".join(text.split())


def test_a_run_and_a_folder_keep_the_last_agreement_that_was_attached() -> None:
    run = made()
    assert run.agreement is None
    for one in (agreement(), agreement(corrected(0.5, 0.4, 0.6))):
        attach_agreement(run, one)
        with opened("out/") as folder:
            attach_agreement(folder, one)
        with opened("out/") as folder:
            assert folder.agreement is not None
            assert folder.agreement["metrics"] == one["metrics"]
        assert run.agreement == open_run("main", "s.db").agreement == one
    assert run.summary()["metrics"]["grounding"]["scored"] == 3


def test_agree_attaches_and_writes_its_page() -> None:
    """To the run or the folder that is named; the page goes to a file or a folder, and never over an input."""
    labels = [
        {"record": result["id"], "unit": verdict["unit"], "task": "support", "label": "yes", "annotator": "Ann"}
        for result in made().results()
        for verdict in result.score("grounding")["verdicts"]
    ]
    write("labels.jsonl", labels)
    for which, out, page in (("main", "p.html", "p.html"), ("out/", "out/", "out/agree.html")):
        asked = ("agree", which, "labels.jsonl", "--store", "s.db", "-m", "grounding")
        assert ragstone(*asked).code == 0
        with opened(which, "s.db") as run:
            assert run.agreement is None
        assert ragstone(*asked, "--attach", "-o", out).code == 0
        with opened(which, "s.db") as run:
            assert run.agreement is not None
            (name,) = run.agreement["metrics"]
            assert (name, run.agreement["metrics"][name]["units"]) == ("grounding", 6)
        assert Path(page).read_bytes().startswith(b"<!DOCTYPE html>")
        for taken in ("labels.jsonl", "out/summary.json" if which == "out/" else "s.db"):
            Path("page.html").symlink_to(taken)
            assert "would be overwritten" in refused(*asked, "-o", "page.html")
            Path("page.html").unlink()
    assert "only one label occurs on 6 claims, so kappa is undefined" in ragstone("show", "--store", "s.db").flat


def test_it_is_dropped_where_the_results_change() -> None:
    """A run again writes another summary; another file of results is not what people's labels were held against."""
    made()
    with opened("out/") as folder:
        attach_agreement(folder, agreement())
    results = Path("out/results.jsonl")
    kept = results.read_bytes()
    results.write_bytes(kept.replace(b"steel", b"brass"))
    with opened("out/") as folder:
        assert folder.agreement is None
    results.write_bytes(kept)
    with opened("out/") as folder:
        assert folder.agreement is not None
    again = made("again")
    assert again.agreement is None
    with opened("out/") as folder:
        assert folder.agreement is None


def test_a_run_without_a_summary_gets_one_line() -> None:
    store = made().store
    number = store.start_run("cut off", {})
    with pytest.raises(
        InputError, match=rf"^run {number} \(cut off\) did not finish, so it has no summary to attach to"
    ):
        attach_agreement(open_run(number, "s.db"), agreement())
    Path("out/summary.json").unlink()
    with opened("out/") as folder:
        assert folder.agreement is None
        with pytest.raises(InputError, match=r"results\.jsonl: no summary\.json of this run next to it to attach to"):
            attach_agreement(folder, agreement())


def screens(run: Run) -> tuple[list[Came], list[str]]:
    """The screens of ``show``, ``runs`` and ``check``; and all texts that tell of the agreement, blanks as one."""
    gate = ("check", "--min", "grounding=0.1", "--markdown", "c.md", "--junit", "c.xml")
    came = [ragstone(*words, "--store", "s.db") for words in (("show",), ("runs",), gate)]
    files = [Path(name).read_text(encoding="utf-8").replace("&#8211;", "\u2013") for name in ("c.md", "c.xml")]
    return came, [came[0].flat, came[2].flat, plain(str(run._repr_html_())), *map(plain, files)]


def test_every_screen_shows_it_where_it_is_attached_and_only_there() -> None:
    run = made()
    came, told = screens(run)
    assert not any("kappa" in text for text in (*told, came[1].out))
    assert "agreement" not in ragstone("check", "--min", "grounding=0", "--store", "s.db", "--json").json
    attach_agreement(run, agreement())
    came, told = screens(run)
    assert f"Labels {SAID[0]} {SAID[1]} {SAID[2]} Quotes" in told[0]
    for text in told:
        assert SAID[0].partition(":")[2] in text
        assert SAID[1] in text
    assert [one.get("name") for one in ET.parse("c.xml").iter("property")] == ["agreement"] * 2
    assert ".71 (95% CI .58\u2013.82)\n" in came[1].out
    assert ragstone("show", "--store", "s.db", "--json").json["agreement"] == agreement()
    assert ragstone("runs", "--store", "s.db", "--json").json[0]["kappas"]["grounding"] == 0.7095
    gate = ragstone("check", "--min", "grounding=0", "--store", "s.db", "--json").json
    assert list(gate["agreement"]["metrics"]) == ["grounding"]
    assert ".71 (95% CI .58-.82)" in ragstone("show", "--store", "s.db", charset="ascii").out


def test_metrics_with_the_same_verdicts_are_told_of_once_and_nothing_is_claimed_that_is_not_shown() -> None:
    told = agreement()
    told["metrics"] = {
        "nugget_recall.all": of_metric(task="assign", unit="nugget", mean=corrected(-0.2, -0.4, 1.2)),
        "nugget_recall.vital": of_metric(task="assign", unit="nugget", mean=corrected(0.5, 0.4, 0.6, "labels")),
    }
    (one,) = agreements(told)
    assert plain(one.lines[0]) == "Agreement with people: kappa .71 (95% CI .58\u2013.82) on 214 nuggets"
    assert plain(one.lines[1]) == (
        "nugget_recall.all 78%, corrected 0% (95% CI 0\u2013100); "
        "nugget_recall.vital 78%, from labels alone 50% (95% CI 40\u201360)"
    )
    told["metrics"].pop("nugget_recall.all")
    told["metrics"]["nugget_recall.vital"] |= {"kappa": None, "interval": None}
    assert "only one label occurs on 214" in agreements(told)[0].said
    told["metrics"]["nugget_recall.vital"] |= {"units": 0}
    assert "no nugget has both a label and a verdict" in agreements(told)[0].said
    assert [coefficient(value) for value in (0.7095, -0.1, 0.999, 1, -0.001)] == [".71", "-.10", ".99", "1.00", ".00"]


def decided(where: str = "main", **limits: float) -> Any:
    return check(where, min=limits, corrected=True, store="s.db")


def test_check_compares_the_lower_end_of_the_corrected_mean() -> None:
    """The judge's own mean is 100%, so that a gate on it would pass; a limit at the lower bound itself is met."""
    attach_agreement(made(), agreement())
    (passed,) = decided(grounding=0.6612).decisions
    assert (passed.outcome, passed.value, passed.low, passed.count) == ("passed", 0.7412, 0.6612, 500)
    (failed,) = decided(grounding=0.6613).decisions
    assert plain(failed.said) == (
        "corrected mean 74% (95% CI 66 to 81), raw mean 78% over 500 records, 60 labelled by people; "
        "required: lower bound at least 66.13%"
    )
    attach_agreement(open_run("main", "s.db"), {**agreement(), "labelled_by": "people and run other"})
    assert "60 labelled by people and run other" in decided(grounding=0).decisions[0].found
    assert check("main", min={"grounding": 0.99}, store="s.db").passed
    attach_agreement(open_run("main", "s.db"), agreement(corrected(0.5, 0.4, 0.6, "labels")))
    found = decided(grounding=0.4).decisions[0].found
    assert found == "mean of 60 labelled records 50% (95% CI 40 to 60), raw mean 78% over 500 records"
    came = ragstone("check", "--min", "grounding=0.7", "--corrected", "--store", "s.db")
    assert came.code == 1
    assert "failed grounding: lower bound of the corrected mean at least 70%" in came.flat


def test_what_has_no_corrected_mean_is_an_error_and_never_a_pass() -> None:
    made()
    (error,) = decided(grounding=0).decisions
    assert (error.outcome, error.found) == ("error", "no corrected mean: no labels are attached")
    assert error.notes == ("attach labels: ragstone agree 1 labels.jsonl --attach --store s.db",)
    assert decided("out/", grounding=0).decisions[0].notes == (
        "attach labels: ragstone agree out labels.jsonl --attach",
    )
    attach_agreement(open_run("main", "s.db"), agreement())
    assert [one.outcome for one in decided(grounding=0, context_relevance=0, groundedness=0).decisions] == [
        "passed", "error", "error",
    ]  # fmt: skip
    assert decided(context_relevance=0).decisions[0].found == f"no corrected mean: {WITHHELD}"
    assert ragstone("check", "--min", "groundedness=0", "--corrected", "--store", "s.db").code == 3
    attach_agreement(open_run("main", "s.db"), agreement(corrected(0.9, 0.8, 1, "rogan_gladen")))
    (error,) = decided(grounding=0.5).decisions
    assert (error.outcome, "corrects the share that passes, not the mean" in error.found) == ("error", True)


def test_records_that_fell_out_never_let_a_corrected_mean_pass() -> None:
    """With 0 for each of them the lower bound could be below the limit, unless a least coverage allows them."""
    rows = [row(n) for n in range(3)]
    run = evaluate([*rows, row(9, contexts=7)], ["grounding"], "embedded", store="s.db", name="main", on_error="skip")
    few = {**corrected(0.9, 0.8, 1.0), "records": 3}
    attach_agreement(run, agreement(few))  # type: ignore[arg-type]
    (error,) = decided(grounding=0.7).decisions
    assert (error.outcome, "the lower bound could be 60%" in error.notes[0]) == ("error", True)
    assert decided(grounding=0.6).passed
    assert check("main", min={"grounding": 0.7}, min_coverage={"grounding": 0.5}, corrected=True, store="s.db").passed


def test_a_corrected_check_is_refused_where_nothing_reads_it() -> None:
    made()
    with pytest.raises(ConfigError, match="a drop, which compares raw means"):
        check("main", min={"grounding": 0}, max_drop={"grounding": 0}, baseline="main", corrected=True, store="s.db")
    with pytest.raises(ConfigError, match=r"--corrected is only for means; add --min"):
        check("main", min_coverage={"grounding": 0}, corrected=True, store="s.db")
    Path("ragstone.toml").write_text("[check]\ncorrected = true\nmin = { grounding = 0.0 }\n", encoding="utf-8")
    assert ragstone("check", "--store", "s.db").code == 3
    assert ragstone("check", "--raw", "--store", "s.db").code == 0


def test_a_run_may_stand_in_the_place_of_the_command(weighed: Path) -> None:
    """It says what was drawn, how long it takes and what comes next."""
    short, whole = (ragstone("label", *command, "1", "-n", "8", "--store", str(weighed), "-o", "x/", "--json").json
                    for command in ((), ("page",)))  # fmt: skip
    assert short == whole
    assert Path("x/label.html").stat().st_size == short["bytes"]
    assert short["draw"] == {"mode": "random", "seed": 0, "n": 8, "of": 21}
    assert short["next"] == f"ragstone agree 1 labels-NAME.jsonl --store {weighed}"
    came = done("label", "--store", str(weighed), "--annotator", "ann b", "-n", "99")
    assert "all 21 scored records (-n is 99)" in " ".join(came.out.split())
    assert "at 12 s per claim" in came.out
    assert f"ragstone agree 1 labels-ann-b.jsonl --store {weighed}" in came.out.replace("\\\n", "").replace("  ", "")
    assert b'"annotator":"ann b"' in Path("label.html").read_bytes()
    assert "page" in ragstone("label", "--help").out


@pytest.mark.parametrize(("words", "said"), [
    (["-m", "trase"], "no verdicts for 'trase' to label; there are verdicts for"),
    (["--by", "kind", "--worst"], "--by is for a random draw"),
    (["--against", "1"], "--against is only for --worst"),
    (["-o", "-"], "a page needs an output file"),
    (["99"], "no run '99'"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_one_line(weighed: Path, words: list[str], said: str) -> None:
    """With the code for usage."""
    assert said in refused("label", *words, "--store", str(weighed))


def test_a_run_without_scores_is_one_line() -> None:
    """Nothing was judged, so there is nothing to label; the folder of a run is a run too."""
    Path("a.jsonl").write_text('{"id": "a", "question": "Is it?", "response": "?", "contexts": ["It is."]}\n', "utf-8")
    ragstone("run", "a.jsonl", "-m", "grounding", "-o", "out")
    assert "no record has a score with verdicts" in refused("label", "./out")


def test_imported_labels_may_be_for_a_run(weighed: Path) -> None:
    """In either order; steps come from the run, other labels are counted, and a run alone is one line."""
    store = ("--store", str(weighed))
    unit = "kettle-descale,kettle-descale/claim"
    rows = f"record,unit,task,label\n{unit}/1,support,yes\n{unit}/2,support,\nelsewhere,x,support,yes\n"
    Path("labels.csv").write_text(rows, encoding="utf-8")
    for order in (("labels.csv", "1", "--task", "support"), ("1", "labels.csv")):
        came = ragstone("label", "import", *order, *store, "-o", "labels.jsonl")
        assert "imported: 1 label, 1 unit, 0 annotators; skipped: 1 without a label, 1 no such record" in came.err
    assert "missing.csv: no such file" in refused("label", "import", "last", "missing.csv", *store)
    assert "last is a run; add the file" in refused("label", "import", "last")


TUNE = ("tune", "labels.jsonl", "records.jsonl")
STYLES = ("-j", "good", "-j", "bad", "--styles", "default,no_reasoning,short_cot", "--formats", "json,yaml")


@pytest.fixture
def judged(server: FakeServer) -> FakeServer:
    return two_models(server, 4)


def test_the_screen_says_who_agrees_best_what_is_noise_and_what_to_type(judged: FakeServer) -> None:
    """The same sentences at every width, and the command under Next writes the winner."""
    for width in WIDTHS:
        came = done(*TUNE, *STYLES, columns=width)
        assert came.flat.startswith("No significant winner; chosen: good with short_cot and ")
        assert ", kappa 1.00 (95% CI -.26 to 1.00) on 2 held-out records." in came.flat
        assert "No significant difference from any of 7 others" in came.flat
        assert " nuggets from 4 records" in came.flat
        assert "4 combinations left out" in came.flat
        assert "does not support format 'yaml'" in came.flat
        heads, first = (line.split() for line in came.out.split("\n  judge ")[1].splitlines()[:2])
        assert heads[2].startswith("tuning"), "the table is sorted by it"
        assert first[3:5] == ["1.00", "1.00"]
    assert judged.count == 8 * 4
    options = ["--set", "nugget_recall.threshold=0.7", "--structured", "off", "--on-error", "skip"]
    (words,) = pasted(ragstone(*TUNE, *STYLES, *options).out)
    assert words[-1] == "--write"
    written = ragstone(*words)
    assert 'Added to ragstone.toml [judges.good.prompts] assign = "short_cot"' in written.flat
    (following,) = pasted(written.out)
    assert following[:4] == ["run", "records.jsonl", "-m", "nugget_recall"]
    assert sorted(following[4:]) == sorted(options), "the run is what was measured"
    other = ragstone(*TUNE, "-j", "bad", "--styles", "short_cot", "--write", "-q")
    assert (other.code, other.flat.startswith("bad with short_cot, kappa ")) == (2, True)
    assert other.err.startswith('error: ragstone.toml sets steps.assign to "good", not "bad"')
    assert judged.count == 8 * 4  # json is the format of that style by itself


def test_the_estimate_comes_first_and_what_is_refused_sends_nothing(
    judged: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a terminal it asks before it spends money, unless told not to; where nobody sits it does not."""
    monkeypatch.setattr(label_commands, "at_a_terminal", lambda: True)
    came = ragstone(*TUNE, *STYLES)  # the input is empty, which is no
    assert (came.code, judged.count) == (130, 0)
    assert "8 combinations would make about 32 calls; cost: $0.0" in " ".join(came.err.split())
    assert came.err.endswith("nothing was sent\n")
    came = ragstone(*TUNE, *STYLES, "--yes", "-q", "--json")
    assert (came.code, judged.count, came.err) == (0, 32, "")
    assert (came.json["winner"]["judge"], came.json["bill"]["calls"], came.json["written"]) == ("good", 32, None)
    assert ragstone(*TUNE, *STYLES, "-q").code == 0  # all replies are there


def test_offline_says_what_it_lacks_and_writes_nothing(judged: FakeServer) -> None:
    before = Path("ragstone.toml").read_bytes()
    came = ragstone(*TUNE, "-j", "good", "--styles", "legacy", "--offline", "--write", "-q")
    assert came.code == 3
    assert came.flat.startswith("No unit was judged, so there is nothing to compare.")
    assert "offline: 4 calls have no stored reply" in " ".join(came.err.split())
    assert Path("ragstone.toml").read_bytes() == before
    assert judged.count == 0


def test_a_budget_is_left_with_4_and_a_bad_style_with_one_line(judged: FakeServer) -> None:
    came = ragstone(*TUNE, *STYLES, "--max-calls", "5", "-q")
    assert (came.code, judged.count) == (4, 5)
    came = ragstone(*TUNE, "-j", "good", "--styles", "short_cut")
    assert came.code == 2
    assert came.err.startswith("error: no prompt style 'short_cut' for the step 'assign'; known: ")


def test_a_fitted_threshold_is_said_with_what_it_gains() -> None:
    write("labels.jsonl", city_rows())
    write("records.jsonl", city_records())
    came = done(*TUNE, "-j", "embedded", "--threshold", "--write", "-q")
    assert "Lowering the threshold from 0.5 to 0.39 changes kappa from .50 to 1.00 (95% CI .18–1.00)" in came.flat
    assert "a significant gain" in came.flat
    assert 'Added to ragstone.toml [judges.tuned_support] provider = "embedded" threshold = 0.39' in came.flat

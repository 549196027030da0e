"""Agreement with people that stays with a run: where it is kept, when it is dropped, who prints it, what it gates."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from terminal import Came, answers, ragstone, refused, row

from attached import SAID, WITHHELD, agreement, corrected, of_metric
from labelled import write
from ragstone import Run, check, evaluate
from ragstone.api import open_run, opened
from ragstone.api.agreeing import attach_agreement
from ragstone.errors import ConfigError, InputError
from ragstone.render.agreement import agreements
from ragstone.render.text import coefficient
from ragstone.testing import ScriptedJudge

pytestmark = pytest.mark.usefixtures("alone")

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

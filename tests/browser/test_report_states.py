"""Runs that are empty, partial or failed have pages that say so and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium
from page_material import Shown

from ragstone import Run, evaluate
from ragstone.analysis.run import find_run
from ragstone.api import write_report
from ragstone.judges.base import Failed
from ragstone.questions import Question, Task
from ragstone.testing import ScriptedJudge

pytest_plugins = ["page_fixtures"]

Opened = Callable[..., Chromium]


def record(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"r{number}", "question": "How long?", "response": "Two years.", "contexts": ["Two years."], **more}


@pytest.fixture
def opened(browser: Chromium, tmp_path: Path) -> Opened:
    """Opens the report of a run, or of records by one metric and a judge that supports whatever it is asked of."""

    def opened(source: Any, metrics: Any = "groundedness", judge: Any = None, **more: Any) -> Chromium:
        judge = judge or ScriptedJudge({"support": "3"})
        run = source if isinstance(source, Run) else evaluate(source, metrics, judge, store=tmp_path / "s.db", **more)
        browser.open(write_report(run, tmp_path / "report.html").as_uri())
        assert browser.troubles() == []
        return browser

    return opened


def test_nothing_could_be_scored(opened: Opened) -> None:
    """Words in the place of cards, and each cause with its records."""

    def answer(question: Question[Any]) -> Failed:
        return Failed("the judge is out" if "Three years." in str(question) else "the judge is in")

    page = opened([record(1, response="Three years."), record(2), record(3)], judge=ScriptedJudge(answer))
    assert page.text(".sentence") == "Nothing could be scored in 3\u00a0records."
    assert "There is no value to show" in page.text(".first")
    assert "ragstone formats 1" in page.text(".first"), "the judge failed, so its replies say why"
    assert "the judge failed (the judge is out)" in page.text(".missing")
    assert page.all(".card") == []
    assert page.all(".hurts") == [], "no empty groups"
    for place, count in ((1, 2), (2, 1)):
        page.click(f".causes li:nth-child({place}) a")
        page.until(f"document.querySelectorAll('.lines tbody tr').length === {count}")
    assert "(the judge is out)" in page.text(".chips")


def test_judged_in_part(opened: Opened) -> None:
    """A card without full coverage says so in words, and what the mean could be."""
    half = {"Two years.": "3", "Or three.": None}
    page = opened([record(1), record(2, response="Two years. Or three.")], judge=ScriptedJudge({"support": half}))
    coverage = page.text(".coverage").replace("\u00a0", " ")
    assert coverage.startswith("2 of 2 scored · 1 partly judged · could be 75–100%")
    page.click(".lines tbody tr:last-child")
    page.until("document.querySelector('.left .mark.unjudged, #step-k')")


def test_a_record_that_could_not_be_read(opened: Opened, tmp_path: Path) -> None:
    """It has its line and its page, which say why."""
    source = tmp_path / "bad.jsonl"
    source.write_text('{"id": "a", "question": "q", "response": "It is.", "contexts": ["It is."]}\n[]\n', "utf-8")
    page = opened(source, on_error="skip")
    assert "unreadable" in page.text(".missing")
    page.open(f"{(tmp_path / 'report.html').as_uri()}#record=2")
    assert "Unreadable record" in page.text("main")


def test_no_response_is_not_a_blank_one(opened: Opened, tmp_path: Path) -> None:
    """The table tells a record that lacks it from one whose system said nothing; no search finds the word for it."""
    page = opened([record(1, response=None), record(2, response=" "), record(3)])
    assert page.all(".texts .soft") == ["no response", "blank response"]
    page.open(f"{(tmp_path / 'report.html').as_uri()}#q=null")
    assert page.all(".lines tbody tr") == []


def test_earlier_turns_stand_above_the_question_and_long_ones_are_folded(opened: Opened, tmp_path: Path) -> None:
    turns = [[{"role": "user", "content": f"<b>Hi</b> {'x' * size}"}] for size in (1, 700)]
    page = opened([record(number, history=one) for number, one in enumerate(turns, 1)])
    for number, is_open in ((1, True), (2, False)):
        page.open(f"{(tmp_path / 'report.html').as_uri()}#record={number}")
        assert page.evaluate("document.querySelector('.earlier').open") is is_open
        assert page.evaluate("document.querySelector('.earlier').textContent").find("user: <b>Hi</b>") > 0
    assert page.troubles() == []


def test_a_run_that_was_cut_off(opened: Opened, tmp_path: Path) -> None:
    """The first thing that is said; the figures are of what there is."""

    run = evaluate([record(1), record(2)], "groundedness", ScriptedJudge({"support": "3"}), store=tmp_path / "s.db")
    number = run.store.start_run("cut off", dict(run.spec))
    run.store.begin()
    rows = [
        (number, row, [*run.store.scores(run.id, after=row.position - 1, until=row.position)])
        for row in run.store.results(run.id, 0, 1)
    ]
    run.store.insert([], rows)
    run.store.commit()
    page = opened(find_run(run.store, number))
    assert page.text(".notice").startswith("This run has not finished")
    assert page.text(".sentence").partition("(")[2].startswith("1\u00a0record)")
    assert len(page.all(".lines tbody tr")) == 1


def test_a_run_without_records(opened: Opened, tmp_path: Path) -> None:
    """As when it ended before the first: nothing is drawn, and that is said."""
    run = evaluate([record(1)], "groundedness", store=tmp_path / "s.db")
    number = run.store.start_run("empty", dict(run.spec))
    page = opened(find_run(run.store, number))
    assert page.text(".sentence") == "The run has no records."
    assert "The run has no records" in page.text(".records .empty")


def test_fields_that_make_no_groups_are_named(opened: Opened) -> None:
    page = opened([record(n, team="a", ticket=f"T-{n}") for n in range(4)])
    said = "Cannot group by team, ticket: several records must share a value"
    assert said in page.text(".groups")


def test_one_metric_and_no_groups(opened: Opened) -> None:
    """Without both, there is no section; without one, it says what it would need, and the other has the whole width."""
    page = opened([record(1)])
    assert page.all(".hurts") == []
    page = opened([record(1)], "groundedness,context_relevance", ScriptedJudge({"support": "3", "relevance": "3"}))
    assert "No field to group by; add one to the records, e.g. topic." in page.text(".groups")
    page = opened([record(n, topic="ab"[n % 2]) for n in range(4)])
    assert "Only one metric has values" in page.text(".hurts")
    widths = [page.evaluate(f"document.querySelector('{name}').clientWidth") for name in (".hurts", ".groups", ".told")]
    assert widths[0] == widths[1]
    assert page.evaluate("document.querySelector('.card').clientWidth") == widths[2]


def test_metrics_that_were_left_out_are_folded(opened: Opened, tmp_path: Path) -> None:
    """They would take the middle of the page from the records."""
    run = evaluate([record(1)], store=tmp_path / "s.db")
    page = opened(run)
    assert page.text(".missing details") == f"{len(run.spec['left_out'])}\u00a0metrics skipped"
    page.click(".missing summary")
    assert page.all(".missing details li")[0].startswith("Abstention: about 3 calls per record")


def test_a_record_reads_as_it_was_judged(browser: Chromium, tmp_path: Path) -> None:
    """A contradiction is called one; a table keeps its words whole; blank lines are one, and quotes stay in place."""
    table = "| Passengers travelling | Motorhomes | Bicycles | Motorcycles |\n|---|---|---|---|\n| 1 || 3 | 4"
    passage = f"\n \nPrices\n\n \n\n\n{table}\n\n\nThe car costs 38 euros.\n\n\n\nThe end."
    one = {"id": "r", "question": "q", "response": "The car costs 410 euros. Ferries sail.", "contexts": [passage]}
    run = evaluate([one, record(2)], "grounding", store=tmp_path / "s.db")
    for width in (1280, 420):
        browser.size(width, 900)
        browser.open(f"{write_report(run, tmp_path / 'report.html').as_uri()}#record=1")
        assert browser.all(".units .verdict") == ["\u2717 contradicted", "\u2717 not found"]
        assert browser.text(".steps .number") == "1 of 2 by grounding"
        assert browser.text(".right .evidence") == "The car costs 38 euros."
        written = browser.evaluate("document.querySelector('.right .prose').textContent")
        assert written.startswith("Prices")
        assert "\n\n\n" not in written
        assert browser.evaluate("document.querySelector('.drawn-table th').getBoundingClientRect().height") < 60
        assert [cell.strip() for cell in browser.all(".drawn-table td")] == ["1", "", "3", "4"]
        assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_a_place_that_is_not_there(browser: Chromium, shown: Shown) -> None:
    """An address may come from anywhere."""
    browser.open(shown.at("record=999"))
    assert "There is no record #999" in browser.text("main")
    browser.open(shown.at("record=1.5"))
    assert browser.text("h1") == shown.run.find("#1")["id"]  # type: ignore[index]
    for fragment in (
        "status=nothing",
        "sort=nothing&page=99&in=x:0-1&by=nowhere&tab=none",
        "%ff%00=%&record=-1&in=grounding:9-",
        "in=a",
    ):
        browser.open(shown.at(fragment))
        assert browser.troubles() == []
        assert len(browser.all(".lines tbody tr")) == 22


def test_a_search_says_what_it_looks_at(browser: Chromium, shown: Shown) -> None:
    """Nothing found is nothing in all the texts of a record."""
    browser.open(shown.at("q=nowhere"))
    searched = "ids, questions, responses, references, passages and judged units"
    assert searched in browser.text(".records .empty")
    browser.open(shown.at("in=grounding:0.001-0.002"))
    assert browser.text(".records .empty") == "No records match these filters. Clear the filters to see all."


def test_a_record_that_is_opened_by_its_link_keeps_the_focus(browser: Chromium, shown: Shown) -> None:
    """Also when the lines have come, and with them the records before and after it."""
    browser.open(shown.at("record=3"))
    browser.until("document.querySelector('#step-j')")
    assert browser.evaluate("document.activeElement.id") == "record-title"


@pytest.mark.parametrize("calls", [True, False])
def test_what_does_not_fit_is_said(browser: Chromium, shown: Shown, tmp_path: Path, calls: bool) -> None:
    """A file without raw calls says where they are; one that is too small holds the lowest records alone."""
    path = write_report(shown.run, tmp_path / "small.html", calls=False)
    if calls:
        from ragstone.render.html.build import report

        path.write_bytes(b"".join(report(shown.run, largest=len(b"".join(report(shown.run, calls=False))) - 20_000)))
    browser.open(f"{path.as_uri()}#record=1&tab=calls")
    if calls:
        assert "This file has room only for the lowest-scoring records" in browser.text("main")
        assert f"ragstone view {shown.run.id} --store {shown.run.store.path}." in browser.text("main")
        browser.open(path.as_uri())
        assert "lowest-scoring can be opened in this file." in browser.text(".records .shown")
    else:
        browser.click(".calls summary")
        browser.until("document.querySelector('.calls details[open] .empty')")
        told = browser.text(".calls details[open]")
        assert "without raw calls" in told
        assert f"ragstone view {shown.run.id} --store {shown.run.store.path}" in told


def test_no_mean_of_a_group_is_of_the_lowest_records_alone(
    browser: Chromium, shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.render.html.build.MOST_ROWS", 9)
    browser.open(write_report(shown.run, tmp_path / "many.html").as_uri())
    browser.until("document.querySelectorAll('.lines tbody tr').length === 9")
    assert browser.all(".groups .rows") == []
    assert "Means by group need all records" in browser.text(".groups")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_id_is_a_short_heading(opened: Opened, width: int) -> None:
    """Two lines of it, with all of it on pointing, in what is copied, and behind a button, which a short one lacks."""
    long = "user-" + "0123456789abcdef/" * 40
    page = opened([record(1, id=long), record(2)])
    page.size(width, 900)
    address, height = page.evaluate("location.href"), "document.querySelector('h1').clientHeight"
    page.open(f"{address}#record=1")
    page.until("!document.querySelector('.case-head button').hidden")
    assert page.evaluate(height) == 72
    assert page.all("h1", "title") == [long]
    copied = "(getSelection().selectAllChildren(document.querySelector('h1')), String(getSelection()))"
    assert page.evaluate(copied) == long
    for lines, told in ((3, "true"), (2, "false")):
        page.click(".case-head button")
        assert page.all(".case-head button", "ariaExpanded") == [told]
        assert (page.evaluate(height) >= 36 * 3) == (lines == 3)
    page.open(f"{address}#record=2")
    page.until("document.querySelector('h1').textContent === 'r2'")
    assert page.all(".case-head button", "hidden") == [True]


def test_a_value_that_is_best_at_0_has_the_colour_of_what_it_means(opened: Opened) -> None:
    """In the table and above the record; of columns that exclude each other a 0 has none; its figure sorts by it."""
    page = opened([record(1)], "abstention", "embedded")
    styles = page.all(".lines .number.toned", "style.cssText")
    assert ["good" in style for style in styles] == [True, True, False, True]
    assert [re.findall(r"--share: *(\d)", style) for style in styles] == [["1"], ["0"], ["0"], ["0"]]
    page.click(".card:nth-child(2) .mean a")
    page.until("document.querySelector('.shown').textContent.includes('highest first')")


def test_groups_of_a_value_that_is_best_at_0_stand_worst_first(opened: Opened, tmp_path: Path) -> None:
    """The marked group is the one with the higher mean; each column filters by the verdict that its metric holds."""
    rows = [record(n, topic="xy"[n < 6], response="Two years." if n < 6 else "Red.") for n in range(12)]
    page = opened(rows, "abstention", "embedded")
    page.open(f"{(tmp_path / 'report.html').as_uri()}#of=abstention.answered_unsupported")
    assert page.all(".rows .name bdi") == ["x", "y"]
    assert page.all(".rows .weak .name") == ["x"]
    assert "an interval entirely above it" in page.text(".groups .note")
    page.open(f"{(tmp_path / 'report.html').as_uri()}#verdict=yes&judged=abstention.answered_unsupported")
    assert len(page.all(".lines tbody tr")) == 12


def test_what_few_records_have_comes_last(opened: Opened, tmp_path: Path) -> None:
    """A metric of one record in three is no first card; a record that lacks its field says so among the scores only."""
    source = [record(1, reference="Two years."), record(2), record(3)]
    page = opened(source, ["answer_correctness", "context_relevance"], "embedded")
    assert page.all(".card h2")[:2] == ["Context relevance", "Answer correctness: f1"]
    page.open(f"{(tmp_path / 'report.html').as_uri()}#record=2")
    assert page.all(".score-line dt") == ["Context relevance"]


def test_a_rubric_of_many_criteria_fits_and_underlines_nothing(opened: Opened) -> None:
    """Each criterion is a row with one verdict, not a column of its own."""
    criteria = {f"criterion_{n}": {"criterion": f"Criterion {n} is met.", "scale": "yes_no"} for n in range(12)}
    judge = ScriptedJudge({"rubric": "no"})
    page = opened([record(1)], "rubric", judge, parameters={"rubric": {"criteria": criteria}})
    page.click(".lines tbody tr")
    page.until("document.querySelector('.units')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.all(".units thead th") == ["Verdict", "Judgement", "Reasons and evidence"]
    assert page.text(".units tbody td.given").startswith("Rubric: criterion 0\n\u2717 not met")
    assert page.all(".left .mark, .left .legend, .left select") == []


def test_nuggets_of_the_response_are_underlined_before_those_of_a_bank(opened: Opened) -> None:
    """Those of a bank that only the passages may hold have no place in the response."""
    bank = [{"text": "It is red.", "importance": "vital"}]
    page = opened([record(1, nuggets=bank)], ["nugget_support", "nugget_groundedness"], "embedded")
    page.click(".lines tbody tr")
    page.until("document.querySelector('.left .mark')")
    assert page.evaluate("document.querySelector('.left select').value") == "nugget_groundedness"


def test_a_panel_names_who_said_what_and_prints_its_own_verdicts(opened: Opened) -> None:
    tasks: tuple[Task, ...] = ("support",)
    said = {"q/Q@h:1": "yes", "q/Q@h:2": "yes", "a/L@h:2": "no"}
    others = [ScriptedJudge({"support": label}, name=name, tasks=tasks) for name, label in said.items()]
    panel = f"support=[embedded,{','.join(said)}]"
    page = opened([record(1), record(2)], "grounding", ["embedded", panel, *others])
    assert "at least one claim that is not fully supported" in page.text(".sentence")
    assert page.all(".paper .sign") == ["~", "~"]
    assert page.all(".paper .note")[0].startswith("embedded yes: found in passage 1")
    page.click(".lines tbody tr")
    page.until("document.querySelector('.because')")
    assert page.text(".because").startswith("embedded: found in passage 1")
    page.click("#tab-panel")
    assert page.all(".judges thead th")[1:-1] == ["embedded", "Q@h:1", "Q@h:2", "L"], "hosts only where models coincide"


def test_the_group_of_the_first_sentence_is_the_one_that_is_drawn(opened: Opened) -> None:
    """Also one whose values are all the same, which has no interval of its own."""
    rows = [
        record(n, batch="ab"[n % 2], topic="xy"[n < 6], response="Two years." if n < 6 else "Red.") for n in range(12)
    ]
    page = opened(rows, "grounding", "embedded")
    assert "Lowest topic: x" in page.text(".sentence")
    assert page.evaluate("document.querySelector('.groups select').value") == "topic"
    assert page.all(".rows .weak .name") == ["x"]


def test_figures_of_groups_of_many_records_do_not_overlap(page: Chromium) -> None:
    assert page.evaluate(
        """[...document.querySelectorAll('.groups .rows li a')].map((row) => {
          const cells = [...row.querySelectorAll('.number')];
          cells[0].textContent = '100.0% (99.9\\u2013100.0)';
          cells[1].textContent = '125,195';
          return cells.every((cell) => cell.scrollWidth <= cell.clientWidth);
        }).join()"""
    ).startswith("true,true")

"""The page of two runs in a browser: it opens without a network, says what the comparison says, and harms nobody."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium
from msgspec.structs import replace
from page_material import rows, seen
from test_report_hostile import ALL, PAYLOADS, answer, harmless, row

from ragstone import Comparison, Run, compare, evaluate
from ragstone.analysis.compare import said
from ragstone.judges.base import Failed
from ragstone.questions import Question, Rate, Rated
from ragstone.render.html.comparing import comparison_page
from ragstone.testing import ScriptedJudge
from run_folders import folder, result, score

pytest_plugins = ["page_fixtures"]

LIE = " It was first made in Lisbon in 1974."
METRICS = ["triad", "grounding", "trace", "nugget_recall"]


@dataclass(frozen=True)
class Held:
    """Two runs, what was found, and the page of it."""

    first: Run
    second: Run
    found: Comparison
    page: Path

    def at(self, fragment: str = "") -> str:
        return f"{self.page.as_uri()}{fragment}"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Held:
    """The example traces, and the same with a sentence that no context holds in every second response."""
    folder = tmp_path_factory.mktemp("held")
    changed = rows()
    for number, one in enumerate(changed):
        if number % 2:
            one["response"] += LIE
    first = evaluate(rows(), METRICS, store=folder / "s.db", name="main")
    second = evaluate(changed[:-1], METRICS, store=folder / "s.db", name="new & <b>bold</b>")
    return Held(first, second, compare(first, second, out=folder / "compare.html"), folder / "compare.html")


@pytest.fixture
def page(browser: Chromium, held: Held) -> Chromium:
    """The browser with that page open."""
    browser.open(held.at())
    return browser


def shown_row(page: Chromium, name: str) -> str:
    """The text of a metric's row."""
    (found,) = [text for text in page.all(".differences tbody tr") if text.startswith(f"{name}main")]
    return str(found).replace("\u00a0", " ").replace("\u2212", "-")


def test_it_opens_without_a_network(browser: Chromium, held: Held) -> None:
    """Nothing is asked for but the file, and the console stays empty."""
    browser.offline()
    browser.open(held.at())
    assert [address for address in browser.requests() if not address.startswith("data:")] == [held.at()]
    assert browser.troubles() == []
    assert browser.text("h1") == "new & <b>bold</b> compared with main"
    assert "21\u00a0records in both, matched by id \u00b7 1 only in main" in browser.text(".runs")
    assert "10\u00a0responses differ" in browser.text(".runs")


def test_every_metric_has_the_figures_of_the_comparison(page: Chromium, held: Held) -> None:
    """Difference, interval, p, counts, and the finding in words: those of the comparison, and no others."""
    assert (
        page.text(".sentence")
        .replace("\u00a0", " ")
        .startswith("Grounding is 9.0 points lower in new & <b>bold</b> (95% CI")
    )
    for one in held.found.metrics:
        name = {"groundedness": "Groundedness", "grounding": "Grounding", "trace.adherence": "TRACe: adherence"}.get(
            one.metric
        )
        if name is None or one.paired is None:
            continue
        text = shown_row(page, name)
        assert f"{100 * one.paired.difference:+.1f}" in text
        assert ("too few records changed" if one.finding == "too_few" else said(one, "new & <b>bold</b>")) in text
        assert f"{one.paired.wins} better{one.paired.ties} same{one.paired.losses} worse" in text
        assert one.adjusted is None or ("<0.001" if one.adjusted < 0.001 else f"{one.adjusted:.3f}") in text
        if one.paired.low is not None and one.paired.high is not None:
            assert f"95% CI {100 * one.paired.low:+.1f} to {100 * one.paired.high:+.1f}" in text
    assert len(page.all(".differences tbody tr:not(.block)")) == len(held.found.metrics)
    few = {one.needed for one in held.found.metrics if one.finding == "too_few"}
    assert {page.text("main").count(needed) for needed in few} == {1}, "it is said once"


def test_nuggets_stand_one_by_one(page: Chromium, held: Held) -> None:
    """In a block of their own, with as many pairs as nuggets."""
    names = [one.metric for one in held.found.metrics if one.unit == "nugget"]
    assert names == ["nuggets", "vital nuggets"]
    pairs = held.found["nuggets"].paired
    assert pairs is not None
    assert f"nuggets{pairs.pairs}" in shown_row(page, "Individual nuggets: all")


def test_records_that_moved_stand_side_by_side(page: Chromium, held: Held) -> None:
    """Question, both responses, the values, and the verdict that changed with its reason."""
    leading = held.found["groundedness"]
    page.open(held.at(f"#moved={leading.metric}"))
    assert page.all(".moved-record h3") == [moved.record for moved in leading.moved]
    told = held.second[leading.moved[0].record]
    assert page.text(".moved-record .question") == told["question"]
    sides = page.evaluate(
        "[...document.querySelector('.moved-record').querySelectorAll('.side .prose')].map((text) => {"
        " const own = text.cloneNode(true); own.querySelectorAll('.unseen').forEach((one) => one.remove());"
        " return own.textContent; })"
    )
    assert sides == [held.first[told["id"]]["response"], told["response"]]
    assert sides[1].endswith(LIE)
    code = f"ragstone show {held.second.id} '#{told['position']}' --store {held.second.store.path}"
    assert page.text(".moved-record .note code") == code
    changes = page.text(".moved-record .changes tbody tr")
    assert LIE.strip() in changes
    assert "not in this response" in changes
    assert "not found" in changes
    assert page.text(".moved-record .side:last-child .mark.no").startswith(LIE.strip())


def test_another_metric_is_chosen(page: Chromium, held: Held) -> None:
    """By its name in the table and by the list; the address keeps it, whatever else stands there."""
    wanted = [one.metric for one in held.found.metrics if one.moved]
    for metric in (wanted[0], wanted[-1]):
        page.click(f".differences a[href='#moved={metric}']")
        page.until(f"document.querySelector('#choose-metric').value === '{metric}'")
        page.until(f"document.querySelectorAll('.moved-record').length === {len(held.found[metric].moved)}")
    for fragment in ("#moved=constructor", "#moved=%ff%", "#moved=", "#__proto__"):
        page.open(held.at(fragment))
        assert page.troubles() == []
        assert page.all(".moved-record")


def test_the_keyboard_goes_from_record_to_record(page: Chromium) -> None:
    """Forward and back, and no further than the last."""
    ids = page.all(".moved-record h3")
    page.press("j")
    assert page.evaluate("document.activeElement.textContent") == ids[0]
    for _ in ids:
        page.press("j")
    assert page.evaluate("document.activeElement.textContent") == ids[-1]
    page.press("k")
    assert page.evaluate("document.activeElement.textContent") == ids[-2]


def test_groups_are_listed_with_their_means(
    browser: Chromium, held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where records belong together: each group's means and pairs, the lowest difference on top."""
    found = compare(held.first, held.second, by="meta.topic", out=tmp_path / "by.html")
    browser.open((tmp_path / "by.html").as_uri())
    cells = browser.evaluate(
        "[...document.querySelectorAll('.apart-groups tbody tr')].map((row) =>"
        " [row.cells[0].textContent, Number(row.cells[3].textContent.replace('\\u2212', '-')),"
        " Number(row.cells[5].textContent)])"
    )
    assert {name for name, _, _ in cells} == {"culture", "food", "products", "science", "travel", "work and law"}
    assert [points for _, points, _ in cells] == sorted(points for _, points, _ in cells)
    leading = found["grounding"].paired
    assert leading is not None
    assert sum(pairs for _, _, pairs in cells) == leading.pairs
    assert f"Only {found.groups} groups" in browser.text(".notice").replace("\u00a0", " ")
    assert browser.text(".apart-groups .note").startswith("Means of")
    monkeypatch.setattr("ragstone.render.html.comparing.MOST_GROUPS", 2)
    compare(held.first, held.second, by="meta.topic", out=tmp_path / "two.html")
    browser.open((tmp_path / "two.html").as_uri())
    assert browser.text(".apart-groups .note").startswith("The 2 of 6 groups with the largest differences. Means of")
    assert browser.troubles() == []


@pytest.mark.parametrize("width", [360, 800, 1000])
def test_it_fits_a_narrow_screen(page: Chromium, held: Held, width: int) -> None:
    """Nothing has to be scrolled sideways, and the table is still one for who reads by ear."""
    page.size(width, 740)
    page.open(held.at())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        page.evaluate("document.querySelector('.differences tbody tr:not(.block) td').getAttribute('role')") == "cell"
    )
    for table in (".differences", ".changes"):
        assert page.all(f"{table} thead, {table} thead tr", "role")[:2] == ["rowgroup", "row"]
        assert set(page.all(f"{table} thead th", "role")) == {"columnheader"}


def test_it_prints(page: Chromium) -> None:
    """On paper it is light, and the records are there; what can only be clicked is not."""
    page.prefers("dark")
    shown = page.on_paper(".differences", ".moved-record", ".choices", ".top")
    assert shown == ("rgb(255, 255, 255)", [".differences", ".moved-record"])
    assert page.pdf().startswith(b"%PDF-")


# ---- hostile, and states


def test_hostile_texts_are_texts(browser: Chromium, tmp_path: Path) -> None:
    """Names, ids, questions, responses, reasons, quotes and groups of two runs of payloads."""
    texts = (*PAYLOADS, ALL)

    def kind(question: Question[Any]) -> Any:
        rated = answer(question)
        if not isinstance(question, Rate):
            return rated
        best, most = question.scale.labels[-1], question.scale.values[-1]
        return Rated(tuple(replace(verdict, label=best, value=most) for verdict in rated.verdicts))

    source = [row(number, text) for number, text in enumerate(texts)]
    other = [{**one, "question": f"{one['question']}!"} for one in source]
    metrics = ["groundedness", "response_groundedness"]
    first = evaluate(source, metrics, ScriptedJudge(kind), store=tmp_path / "a.db", name=ALL)
    second = evaluate(other, metrics, ScriptedJudge(answer), store=tmp_path / "b.db", name=PAYLOADS[1])
    found = compare(first, second, by="meta.group", moved=99, out=tmp_path / "hostile.html")
    assert len(found["groundedness"].moved) == len(texts)
    browser.open((tmp_path / "hostile.html").as_uri())
    harmless(browser)
    while browser.all(".moved-box > button"):
        browser.click(".moved-box > button")
        browser.until("document.activeElement.tagName === 'H3'")
    assert set(browser.all(".moved-record h3")) == {seen(result["id"]) for result in first.results()}
    assert seen(ALL) in browser.text(".moved")
    harmless(browser)


def records(*responses: str) -> list[dict[str, Any]]:
    return [{"id": f"r{number}", "question": "How long?", "response": response, "contexts": ["Two years."]}
            for number, response in enumerate(responses, 1)]  # fmt: skip


def opened(browser: Chromium, first: Run, second: Run, path: Path, **how: Any) -> Comparison:
    found = compare(first, second, out=path, **how)
    browser.open(path.as_uri())
    assert browser.troubles() == []
    return found


def test_no_pair_has_both_values(browser: Chromium, tmp_path: Path) -> None:
    """A judge that was out: the page says so in the place of figures, and why."""

    def out(question: Question[Any]) -> Failed:
        return Failed("the judge is out")

    first = evaluate(records("Two years."), "groundedness", store=tmp_path / "s.db", name="a")
    second = evaluate(records("Two years."), "groundedness", ScriptedJudge(out), store=tmp_path / "s.db", name="b")
    opened(browser, first, second, tmp_path / "c.html")
    assert browser.text(".sentence") == "No record has a value for the same metric in both runs."
    assert "no record has a value in both runs" in browser.text(".differences")
    assert "groundedness: 1 of 1\u00a0record has no score in b (judge_failed)" in browser.text(".left-out-list")
    assert browser.all(".moved") == []


def test_a_metric_that_one_run_lacks(browser: Chromium, tmp_path: Path) -> None:
    """It is named, and what both have is compared."""
    first = evaluate(records("Two years."), ["groundedness", "grounding"], store=tmp_path / "s.db", name="a")
    second = evaluate(records("Two years."), "groundedness", store=tmp_path / "s.db", name="b")
    opened(browser, first, second, tmp_path / "c.html")
    assert "Only a has grounding." in browser.text(".left-out-list")
    assert browser.all(".differences tbody th") == ["Groundedness"]
    assert "every record has the same value in both runs" in browser.text(".differences")


def test_two_judges_of_one_system(browser: Chromium, tmp_path: Path) -> None:
    """Which part of the signature differs is said first; the response stands once, the verdicts of both beside it."""
    first = evaluate(records("Two years.", "Nine."), "groundedness", store=tmp_path / "s.db", name="a")
    judge = ScriptedJudge({"support": {"Two years.": "0", "Nine.": None}})
    second = evaluate(records("Two years.", "Nine."), "groundedness", judge, store=tmp_path / "s.db", name="b")
    opened(browser, first, second, tmp_path / "c.html")
    assert "groundedness: the judge or prompt for support changed from embedded" in browser.text(".notice")
    assert "Responses and passages are the same in both runs" in browser.text(".notice")
    assert len(browser.all(".moved-record:first-child .side")) == 1
    cells = browser.all(".moved-record:first-child .changes tbody td")
    assert [("✗ not supported" in cell, "✓ found" in cell) for cell in cells] == [(False, True), (True, False)]
    assert "of 2" in browser.text(".differences .pairs")


def test_what_does_not_fit_is_said(browser: Chromium, held: Held, tmp_path: Path) -> None:
    """The figures stay; the records that there is no room for are named."""
    path = tmp_path / "small.html"
    path.write_bytes(b"".join(comparison_page(held.found, held.first, held.second, largest=100)))
    browser.open(path.as_uri())
    assert "do not fit in this file" in browser.text(".moved-box")
    assert len(browser.all(".differences tbody tr")) >= 4


def test_earlier_turns_stand_above_the_question(browser: Chromium, tmp_path: Path) -> None:
    """Once where both runs have the same, else those of each run; a record without any has none."""
    one, other = ([{"role": "user", "content": f"<b>{text}</b>"}] for text in ("Hi", "Ho"))
    before = [row | {"history": turns} for row, turns in zip(rows()[:3], (one, one, None), strict=True)]
    after = [row | {"history": turns} for row, turns in zip(rows()[:3], (one, other, None), strict=True)]
    first = evaluate(before, "grounding", store=tmp_path / "s.db")
    second = evaluate(
        [row | {"response": row["response"] + LIE} for row in after], "grounding", store=tmp_path / "s.db"
    )
    opened(browser, first, second, tmp_path / "c.html")
    cards = range(1, 1 + len(browser.all(".moved-record")))
    told = sorted(tuple(browser.all(f".moved-record:nth-child({n}) .earlier")) for n in cards)
    head = "Earlier in the conversation"
    assert told == [
        (),
        (f"{head}, in run 1user: <b>Hi</b>", f"{head}, in run 2user: <b>Ho</b>"),
        (f"{head}user: <b>Hi</b>",),
    ]


def test_a_rise_of_a_score_that_is_best_at_0_looks_worse(browser: Chromium, tmp_path: Path) -> None:
    """In its row, in its counts and at its records."""
    name = "grounding.contradicted"
    folders = [
        folder(tmp_path / str(least), [result(f"r{n}", n, [score(name, least + n / 100)]) for n in range(1, 9)])
        for least in (0.1, 0.4)
    ]
    compare(*folders, out=tmp_path / "compare.html")
    browser.open((tmp_path / "compare.html").as_uri())
    row = browser.text("tr.worse")
    assert "30.0 points higher in 0.4, which is worse" in row
    assert "0 better\n0 same\n8 worse" in row
    assert len(browser.all(".moved-record b.wrong")) == 5

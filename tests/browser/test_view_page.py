"""The pages of ``ragstone view``: the list of runs, two side by side, filters, labels; in any look, offline."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from chromium import PATIENCE, Chromium
from page_material import Serious, Shown

from live_run import listening
from page_blocks import unpacked
from ragstone.metrics.methods import METHODS
from ragstone.render.html.live import OPEN, Live
from ragstone.render.wording import kind_of
from ragstone.store.database import Store

pytest_plugins = ["page_fixtures"]

RUNS = 50
OTHERS: dict[int, dict[str, Any]] = {7: {"metrics": METHODS}, 42: {"extent": {"sample": 22, "of": 90, "seed": 1}}}
"""What differs in the settings of some runs."""
VIEWS = ("", "run/1/#verdict=apart", "run/1/#record=1&tab=trace", "compare/1/2/", "run/1/label/")
EMPTY = """[...document.querySelectorAll('h2, h3, h4')].filter((one) => {
  const box = one.closest('section, article, header:not(.head), .column, .start, .case') || one.parentElement;
  return one.getClientRects().length && !one.closest('.unseen') && !box.innerText.replace(one.innerText, '').trim(); })
  .map((one) => one.innerText)"""
"""Headings that are seen, of which nothing else is seen."""
CUT = """[...document.querySelectorAll('.wide, .column, #response, .unit-text, body')].filter((one) =>
  one.scrollWidth > one.clientWidth
    || (one.scrollHeight > one.clientHeight && getComputedStyle(one).overflowY !== 'visible'))
  .map((one) => one.className || one.tagName)"""
"""What is wider than paper, or would have to be scrolled."""
SMALL = """[...document.querySelectorAll('svg text')].filter((one) => one.getBoundingClientRect().height < 10)
  .map((one) => one.outerHTML)"""
"""Words of charts that are too small to read."""
NARROW = """[...document.querySelectorAll('.answered, .tabbed')].map((one) => one.clientWidth)
  .filter((width) => width < 300)"""
"""Widths of the parts of a record that paper would squeeze."""
SLOW = """const fetched = fetch;
window.fetch = (name) => name.includes('lines-') ? new Promise((then) => {
  window.arrive = async () => { const found = await fetched(name); const data = await found.json();
    then({ok: true, status: 200, json: async () => data}); }; }) : fetched(name);"""


@contextmanager
def slow(browser: Chromium) -> Iterator[Callable[[], object]]:
    """Pages on which the texts of the lines that are shown come when what is yielded is called."""
    script = browser.send("Page.addScriptToEvaluateOnNewDocument", source=SLOW)["identifier"]
    yield lambda: browser.evaluate("window.arrive().then(() => new Promise(setTimeout))")
    browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


@pytest.fixture(scope="module")
def fifty(shown: Shown) -> Iterator[str]:
    """The address of a store with fifty runs: one that was judged, and others with its results or none."""
    with Store(shown.run.store.path) as store:
        results = [(row, [*store.scores(1, after=row.position - 1, until=row.position)]) for row in store.results(1)]
        for number in range(2, RUNS + 1):
            more = OTHERS.get(number, {})
            run = store.start_run(f"{'copied' if number == 44 else 'nightly'} {number}", {**shown.run.spec, **more})
            if number == 2:
                store.begin()
                store.insert([], [(run, row, scores) for row, scores in results])
                store.commit()
            summary: dict[str, Any] = dict(shown.run.summary())
            entry = summary["metrics"]["groundedness"]
            other = {"mean": number / 100, "signature": entry["signature"] + ("" if number % 2 else "|other")}
            summary["metrics"] = {**summary["metrics"], "groundedness": {**entry, **other}}
            summary["metrics"] = {"citations.f1": entry} if number == 43 else summary["metrics"]
            summary |= {"records": 1} if number == 46 else {}
            store.finish_run(run, "done", summary)
        with listening(store) as server:
            yield server.address


def test_runs_are_listed_with_the_trend_of_one_input_and_signature(browser: Chromium, fifty: str) -> None:
    """The latest first; every point of a trend has one name and as many records of one input; a search narrows both."""
    browser.open(fifty)
    assert len(browser.all(".runs-table tbody tr")) == RUNS
    assert browser.all(".runs-table tbody th a")[0] == "nightly 50"
    trend = ".trends .card:nth-child(2)"
    assert browser.all(f"{trend} h3") == ["Groundedness"]
    assert browser.text(f"{trend} .mean").startswith("50% +2.0 points since run 48")
    assert len(browser.all(f"{trend} circle")) == RUNS / 2 - 3, "none of one record, another system or another sample"
    assert browser.text(f"{trend} .coverage") == (
        "22 runs with the same input, signature and name (a number at its end does not count). "
        "Not shown: 27\u00a0other runs."
    )
    lead = browser.all(".runs-table thead th").index("Main metric") + 1
    mains = browser.all(f".runs-table tbody tr > :nth-child({lead})")
    assert len(mains) == RUNS
    assert "citations" in mains[RUNS - 43].lower(), "a run without the metrics of the columns shows its mean, too"
    browser.click("#search")
    browser.type("nightly #7")
    assert browser.all(".runs-table tbody th a") == ["nightly 7"]
    assert browser.text(".records .shown").replace("\u00a0", " ").startswith(f"1 of {RUNS} runs, latest first")
    assert browser.text(".runs-table tbody .note").startswith("run 7 · compare-methods · ")
    assert browser.all(".trends *") == [], "one run is no trend"
    assert browser.all(".trends", "hidden") == [True], "a region without its heading"
    assert browser.troubles() == []


def test_two_runs_are_compared_and_lead_to_a_record_and_back(browser: Chromium, fifty: str) -> None:
    """Of three choices the last two count; every page knows the way to the list."""
    browser.open(fifty)
    for run in (9, 1, 2):
        browser.click(f"[aria-label^='Compare run {run},']")
    assert 0 <= browser.evaluate("document.querySelector('.compare-link').getBoundingClientRect().top") < 900
    browser.click(".compare-link")
    browser.until("document.querySelector('.compare')")
    assert browser.evaluate("location.pathname") == "/compare/1/2/"
    with slow(browser) as arrive:
        browser.click(".runs a.name")
        browser.until("document.querySelector('.cards') && location.pathname === '/run/1/'")
        browser.until("document.querySelector('.lines .id') && window.arrive")
        browser.click(".lines .id", meanwhile=arrive)
    browser.until("document.querySelector('.case .right')")
    browser.click(".wordmark")
    browser.until("document.querySelector('.runs-table')")
    assert browser.troubles() == []


def test_records_are_filtered_by_verdict_metric_and_panel(browser: Chromium, fifty: str, shown: Shown) -> None:
    """By what the results say; a word may stand in a passage; each filter has its way out and is in the address."""
    results = list(shown.run.results())

    def places(metric: str, kind: str) -> set[int]:
        def fits(verdict: dict[str, Any]) -> bool:
            labels = {member["label"] for member in verdict.get("members", ())} - {None}
            return len(labels) > 1 if kind == "apart" else kind_of(verdict) == kind

        return {
            result["position"]
            for result in results
            for score in result["scores"]
            if score["metric"] == metric and any(fits(verdict) for verdict in score["verdicts"])
        }

    found: set[int] = set()
    for kind in ("no", "partly", "apart"):
        browser.open(f"{fifty}run/1/#verdict={kind}&judged=groundedness")
        browser.until("!document.querySelector('.shown').textContent.includes('reading')")
        found = {int(place) for place in browser.all(".lines tbody tr", "dataset.record")}
        assert found == places("groundedness", kind), kind
    assert 0 < len(found) < len(results)
    assert browser.all("#choose-verdict, #choose-of", "value") == ["apart", "groundedness"]
    with slow(browser) as arrive:
        browser.open(f"{fifty}run/1/#verdict=apart&judged=groundedness")
        browser.click(".chips a", meanwhile=arrive)
    browser.until("document.querySelectorAll('.lines tbody tr').length === 22")
    browser.open(f"{fifty}run/1/#q=blanket")
    browser.until("document.querySelector('.shown').textContent.startsWith('3 of 22')")
    within = {row["position"] for row in results if any("blanket" in one["text"].lower() for one in row["contexts"])}
    assert {int(place) for place in browser.all(".lines tbody tr", "dataset.record")} == within
    browser.open(f"{fifty}run/1/")
    for run in range(2, 3 + OPEN):
        urlopen(f"{fifty}run/{run}/").close()
    browser.evaluate("location.hash = 'q=blanket'")
    browser.until("document.querySelector('.shown').textContent.startsWith('3 of 22')")
    assert "reading" not in browser.text(".shown"), "although the server has let go of the run"


def beside_verdicts(browser: Chromium, address: str, file: Path, label: str | None) -> list[str]:
    """What the page of a record shows beside its verdicts if all labels of a file are this one."""
    kept = file.read_text()
    file.write_text("".join(json.dumps(json.loads(line) | {"label": label}) + "\n" for line in kept.splitlines()))
    browser.open(address)
    file.write_text(kept)
    return browser.all(".people")


def test_labels_are_made_and_shown(browser: Chromium, fifty: str, shown: Shown) -> None:
    """Kept beside the store as they are given, found again by another browser, and shown beside the verdict."""
    browser.open(f"{fifty}run/1/label/")
    browser.evaluate("localStorage.clear()")
    browser.open(f"{fifty}run/1/label/")
    browser.type("Ann")
    browser.press("Enter")
    browser.until("document.querySelector('.work')")
    record = browser.text(".place").partition("\u00b7 ")[2]
    browser.press("1")
    browser.until("document.querySelector('.progress').ariaValueNow === '1'")
    file = shown.path.parent / "labels-1-Ann.jsonl"
    while not file.exists() or b"Ann" not in file.read_bytes():
        browser.evaluate("new Promise((then) => setTimeout(then, 20))")
    browser.evaluate("localStorage.clear()")
    browser.open(f"{fifty}run/1/label/")
    browser.type("Ann")
    browser.press("Enter")
    browser.until("document.querySelector('.progress').ariaValueNow === '1'")
    drawn = unpacked(urlopen(f"{fifty}run/1/label/").read())["first"]["records"][-1]
    unit = drawn["units"][-1]
    other = json.loads(file.read_text()) | {"record": drawn["id"], "unit": unit["id"], "hash": unit["hash"]}
    file.write_text(file.read_text() + json.dumps(other) + "\n")  # by another browser
    browser.press("u")
    browser.until("document.querySelector('.progress').ariaValueNow === '0'")  # its record is loaded
    browser.press("2")
    before = other["label"]
    browser.until("Object.values(localStorage).some((kept) => kept.includes('\"unsent\":[]'))")
    labels = [json.loads(line)["label"] for line in file.read_text().splitlines()]
    assert len(labels) == 2
    assert labels[0] == before != labels[1]
    address = f"{fifty}run/1/#record={shown.run[record]['position']}"
    assert beside_verdicts(browser, address, file, "yes") in (["Ann: yes (agrees)"], ["Ann: yes (disagrees)"])
    assert beside_verdicts(browser, address, file, None) == ["Ann: cannot tell"]
    browser.open(f"{fifty}run/1/")
    assert "2 by Ann" in browser.text(".facts")
    assert f"ragstone agree 1 {file}" in browser.text(".facts")
    left = file.read_text().splitlines(keepends=True)[0]
    file.write_text(left)  # undone by another browser
    browser.open(f"{fifty}run/1/label/")
    browser.until("document.querySelector('.progress').ariaValueNow")
    assert browser.evaluate("document.querySelector('.progress').ariaValueNow") == "0"
    browser.evaluate("new Promise((then) => setTimeout(then, 200))")
    assert file.read_text() == left
    # A label that waits for the answer to an earlier one is sent when the page closes.
    browser.evaluate("{ const real = fetch; let sent = 0; window.fetch = (url, given) => "
                     "given?.method === 'PUT' && !sent++ ? new Promise(() => {}) : real(url, given); }")  # fmt: skip
    browser.press("1")
    browser.open(f"{fifty}run/1/")
    end = time.monotonic() + PATIENCE
    while file.read_text() == left and time.monotonic() < end:
        time.sleep(0.02)
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize("view", VIEWS)
def test_each_page_is_well_made(browser: Chromium, fifty: str, serious: Serious, view: str) -> None:
    """Nothing serious for axe in either look, no wider than a telephone, and on paper no empty heading or control."""
    browser.open(f"{fifty}{view}")
    for look, width in product(("light", "dark"), (1280, 390)):
        browser.prefers(look)
        browser.size(width, 844)
        browser.until(f"matchMedia('(prefers-color-scheme: {look})').matches")
        assert serious() == [], (look, width)
    for width in (320, 390):
        browser.size(width, 844)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    sideways = "[...document.querySelectorAll('.runs-list .wide')].filter((one) => one.scrollWidth > one.clientWidth)"
    assert browser.evaluate(f"{sideways}.length") == 0
    browser.size(600, 844)
    assert browser.evaluate(f"{sideways}.length") == 0
    browser.size(390, 844)
    assert browser.evaluate(SMALL) == []
    browser.size(1280, 900)
    assert browser.troubles() == []
    browser.size(720, 1000)  # as wide as an A4 page between its margins
    browser.send("Emulation.setEmulatedMedia", media="print")
    controls = "button:not(.sentence, .choices-list *), input, select, label, .keys, .tabs, .pager"
    assert browser.evaluate(f"[...document.querySelectorAll('{controls}')].filter((one) => one.getClientRects().length)"
                         ".map((one) => one.outerHTML)") == []  # fmt: skip
    assert browser.evaluate(EMPTY) == []
    assert browser.evaluate(CUT) == []
    assert browser.evaluate(NARROW) == []
    browser.send("Emulation.setEmulatedMedia", media="")
    browser.size(1280, 900)
    assert browser.pdf().startswith(b"%PDF-")


def test_a_record_that_could_not_be_fetched_is_asked_for_again(browser: Chromium, live: Live) -> None:
    """Once the network is back; meanwhile its page says what is wrong and leads back."""
    browser.open(f"{live.address}run/1/")
    browser.offline()
    try:
        browser.evaluate("location.hash = 'record=2'")
        browser.until("document.querySelector('main .empty')?.textContent.startsWith('The server cannot be reached')")
        assert browser.text("h1") == "r1"
        assert browser.all("#back", "getAttribute('href')") == ["#"]
    finally:
        browser.offline(cut=False)
    browser.evaluate("location.hash = 'record=1'")
    browser.until("document.querySelector('h1')?.textContent === 'r0' && document.querySelector('.left')")
    browser.evaluate("location.hash = 'record=2'")
    browser.until("document.querySelector('h1')?.textContent === 'r1' && document.querySelector('.left')")


def test_a_record_that_is_not_there_is_said_as_in_a_file(browser: Chromium, live: Live) -> None:
    """The server is well: how many records there are, under a heading, with the way back."""
    browser.open(f"{live.address}run/1/#record=99999")
    browser.until("document.querySelector('main .empty')?.innerText.startsWith('There is no record')")
    assert browser.text("main .empty").replace("\u00a0", " ") == "There is no record #99,999: the run has 3 records."
    assert browser.text("h1") == "#99999"
    browser.click("#back")
    browser.until("document.querySelectorAll('.lines tbody tr').length === 3")

"""The page to label on, in a browser without a network: by keyboard alone, over a reload, with what nobody expects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium
from msgspec.structs import replace
from page_material import Serious, seen
from test_report_hostile import ALL, PAYLOADS, harmless, row

from page_blocks import unpacked
from ragstone import LabelSample, Run, evaluate
from ragstone import label as write_page
from ragstone.analysis.labelling import sample
from ragstone.labels import LabelRow, read_labels, text_hash
from ragstone.questions import Question, Rate, Rated, Write
from ragstone.render.html.labelling import label_page
from ragstone.testing import ScriptedJudge
from ragstone.types import Quote, Span, Verdict

pytest_plugins = ["page_fixtures"]

TABLE = "\n \n| Part | Weight |\n|---|---|\n| lid \U0001fad6 | 20 g |\n\nIt is silver."
LONG = " ".join(f"Sentence {number} of a long passage says little about kettles." for number in range(220))


def judge(best: bool) -> ScriptedJudge:
    """Gives every unit the best label, or the worst, with reasons, quotes and probabilities that are its own."""

    def answer(question: Question[Any]) -> Any:
        if isinstance(question, Write):
            return [sentence.text for sentence in question.sentences]
        assert isinstance(question, Rate)
        place = -1 if best else 0
        quotes = tuple(Quote(one.id, Span(0, 7), one.text[:7], verbatim=True) for one in question.passages[:1])
        return Rated(tuple(
            Verdict(unit, question.scale.labels[place], question.scale.values[place], "secret-judge",
                    probability=0.123456, reason=f"SECRET {best}", evidence=quotes)
            for unit in question.units
        ))  # fmt: skip

    return ScriptedJudge(answer, name="secret-judge")


def rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"kettle-{number}", "question": "What is the kettle like?",
            "response": "".join(f"Part {number}.{part} of the kettle is steel. " for part in range(5)),
            "contexts": ["The kettle is steel.", LONG if number % 2 else "It weighs a kilogram.", TABLE],
        }
        for number in range(11)
    ]  # fmt: skip


OTHER_TAB = """(() => {
  const key = Object.keys(localStorage).find((one) => one.endsWith('/Ann B'));
  const kept = JSON.parse(localStorage.getItem(key));
  kept.given.%s;
  localStorage.setItem(key, JSON.stringify(kept));
  dispatchEvent(new StorageEvent('storage', {key})); })()"""
"""Another tab with the page changes the labels."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[LabelSample, Path, Run]:
    """Ten records of five claims each, drawn from eleven, and their page."""
    folder = tmp_path_factory.mktemp("label")
    run = evaluate(rows(), "grounding", judge(best=True), store=folder / "s.db", name="kettles")
    return write_page(run, folder / "label.html", n=10), folder / "label.html", run


@pytest.fixture
def page(browser: Chromium, drawn: tuple[LabelSample, Path, Run], tmp_path: Path) -> Chromium:
    """The page as a new reader finds it; what it exports goes to a folder."""
    browser.open(drawn[1].as_uri())
    browser.evaluate("localStorage.clear()")
    browser.open(drawn[1].as_uri())
    browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    return browser


def start(page: Chromium, name: str = "Ann B") -> None:
    page.type(name)
    page.press("Enter")
    page.until("document.querySelector('.work')")


def label(page: Chromium, key: str, done: int) -> None:
    """Press a key and wait until so many units are labelled."""
    page.press(key)
    page.until(f"document.querySelector('.progress').getAttribute('aria-valuenow') === '{done}'")
    page.until("document.querySelector('#unit, .end')")


def exported(page: Chromium, folder: Path) -> list[LabelRow]:
    page.click("#finish, #export")
    page.until("document.querySelector('.status').textContent.includes('exported to labels-Ann-B.jsonl')")
    path = folder / "labels-Ann-B.jsonl"
    while not path.exists() or not path.read_bytes().endswith(b"\n"):  # it is there before it is written
        page.seen("Page.downloadProgress")
    return list(read_labels(path))


def test_fifty_units_by_keyboard_alone(page: Chromium, drawn: tuple[LabelSample, Path, Run], tmp_path: Path) -> None:
    """One key a unit; undo, a way back, a reload in the middle; every label is exported as it was given, and read."""
    told = drawn[0]
    assert "10 of 11\u00a0scored records, drawn at random." in page.text(".start")
    start(page)
    choices = [one.strip() for one in page.all(".column.left > .choices-list b")]
    assert choices == ["yes", "no", "trivial", "cannot tell"]
    assert dict(told.rubric.labels)["no"] in page.text(".column.left > .choices-list")
    keys = ["1", "3", "?", "2", "1"] * 10
    for number, key in enumerate(keys[:20]):
        unit = told.records[number // 5].units[number % 5]
        assert page.text(".unit-text") == page.text(".unit-mark").strip() == unit.text
        label(page, key, number + 1)
    label(page, "u", 19)
    assert page.text(".unit-text") == told.records[3].units[4].text
    page.press("ArrowLeft")
    page.until("document.querySelector('[data-key=\"2\"]').ariaPressed === 'true'")
    page.press("1")  # a second thought on the unit before
    page.until(f"document.querySelector('.unit-text').textContent === {json.dumps(told.records[3].units[4].text)}")
    page.press("2")
    page.until("document.querySelector('.progress').ariaValueNow === '20'")
    page.open(drawn[1].as_uri())  # the browser was closed; no name is asked for again
    assert page.text(".unit-text") == told.records[4].units[0].text
    for change, pressed in (("push([20, 'yes'])", "true"), ("pop()", "false")):
        page.evaluate(OTHER_TAB % change)
        assert page.evaluate("document.querySelector('[data-key=\"1\"]').ariaPressed") == pressed
    for number, key in enumerate(keys[20:], 20):
        label(page, key, number + 1)
    assert page.text("h1") == "Done: all 50\xa0claims are labelled"
    assert f"ragstone agree 1 labels-Ann-B.jsonl --store {drawn[2].store.path}" in page.text(".end")
    keys[18:20] = ["1", "2"]
    found = exported(page, tmp_path)
    units = [(record.id, unit) for record in told.records for unit in record.units]
    assert [(row.record, row.unit, row.hash, row.text) for row in found] == [
        (record, unit.id, text_hash(unit.text), unit.text) for record, unit in units
    ]
    assert [row.label for row in found] == [{"1": "yes", "2": "no", "3": "trivial", "?": None}[key] for key in keys]
    assert all(row.seconds is not None and 0 <= row.seconds < 60 for row in found)
    same = {(row.task, row.annotator, row.rubric, row.draw) for row in found}
    assert same == {("support", "Ann B", told.rubric.hash, told.draw)}
    assert page.troubles() == []
    assert page.requests() == [drawn[1].as_uri()]


@pytest.mark.parametrize(
    ("scale", "keys"),
    [
        ([str(grade) for grade in range(1, 11)], "0987654321"),
        (["0", "0.5", "1"], "150"),
        (["unsure", "1", "2"], "abc"),
        (["level 10", "level 20", "none"], "abc"),
        (["none", "level 1", "level 2"], "21n"),
        ([f"word-{letter}" for letter in "abcdefghij"], "1234567890"),
    ],
)
def test_each_label_has_a_key_of_its_own(browser: Chromium, tmp_path: Path, scale: list[str], keys: str) -> None:
    """Also grades of two digits and halves, which begin with the same digit as others."""
    criteria = {"tone": {"criterion": "It is polite.", "scale": scale}}
    by = ScriptedJudge({"rubric": scale[:1]})
    run = evaluate(rows(), "rubric", by, store=tmp_path / "s.db", parameters={"rubric": {"criteria": criteria}})
    told = write_page(run, tmp_path / "label.html", annotator="Ann B", n=len(scale))
    browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.open((tmp_path / "label.html").as_uri())
    browser.until("document.querySelector('.work')")
    for done, key in enumerate(keys, 1):
        label(browser, key, done)
    assert [row.label for row in exported(browser, tmp_path)] == [name for name, _ in told.rubric.labels]


def test_labels_come_back_from_a_file(page: Chromium, drawn: tuple[LabelSample, Path, Run], tmp_path: Path) -> None:
    """Of this sample and annotator alone; what is there stays; a storage that is full is told, and export works."""
    start(page)
    for number, key in enumerate("12?"):
        label(page, key, number + 1)
    found = exported(page, tmp_path)
    lines = (tmp_path / "labels-Ann-B.jsonl").read_text("utf-8").splitlines()
    changed = [json.loads(line) for line in lines]
    changed += [{**changed[0], "annotator": "Bob"}, {**changed[0], "hash": "0" * 16}, {**changed[0], "label": "maybe"}]
    (tmp_path / "again.jsonl").write_text("\n".join(map(json.dumps, changed)), encoding="utf-8")
    page.evaluate("localStorage.clear()")
    page.open(drawn[1].as_uri())
    page.evaluate("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }")
    start(page)
    assert "is not saving your labels" in page.text(".status")
    label(page, "2", 1)
    chosen = page.send("Runtime.evaluate", expression="document.querySelector('#file')")["result"]["objectId"]
    page.send("DOM.setFileInputFiles", files=[str(tmp_path / "again.jsonl")], objectId=chosen)
    page.until("document.querySelector('.status').textContent.includes('imported')")
    assert "2\xa0labels imported, 1 already here, 3 left out (another sample or annotator)" in page.text(".status")
    page.click("#who")
    page.press("Enter")  # nothing is kept, and what was labelled is still there
    page.until("document.querySelector('.work')")
    (tmp_path / "labels-Ann-B.jsonl").unlink()
    again = exported(page, tmp_path)
    assert [row.label for row in again] == ["no", "no", None]
    assert [row.seconds for row in again[1:]] == [row.seconds for row in found[1:]]
    assert page.troubles() == []


def test_passages_are_searched_and_opened(page: Chromium, drawn: tuple[LabelSample, Path, Run]) -> None:
    """A long passage is folded until it is wanted; keys in the field are text and no labels."""
    start(page)
    long = next(number for number, record in enumerate(drawn[0].records) if record.contexts[1].text == LONG)
    for _ in range(5 * long):
        page.press("ArrowRight")
    page.until(f"document.querySelector('.place').textContent.includes('Record {long + 1} ')")
    assert len(page.all(".passage.folded")) == 1
    assert page.all(".passage td") == [" lid \U0001fad6 ", " 20 g "], "as on the page of the record"
    page.press("/")
    page.type("20 g")
    page.until("document.querySelector('td mark')?.textContent === '20 g'")
    page.press("Escape")
    page.press("Escape")
    page.press("/")
    page.type("sentence 211")
    page.until("document.querySelector('.found').textContent === '1\\u00a0match'")
    assert page.all(".passage:not([hidden]) .rank") == ["2"]
    page.press("1")
    page.press("Enter")
    page.until("document.querySelector('mark.here') || document.querySelector('.found').textContent === 'no match'")
    page.press("Escape")
    page.press("ArrowRight")
    page.until("document.querySelector('#unit').textContent === 'Claim 2 of 5'")
    assert page.evaluate("document.querySelector('#search').value") == "sentence 2111"
    page.press("Escape")
    assert len(page.all(".passage:not([hidden])")) == 3
    assert page.evaluate("document.querySelector('.progress').ariaValueNow") == "0"
    page.press("e")
    assert len(page.all(".passage.folded")) == 1
    page.press("e")
    assert page.all(".passage.folded") == []


@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_serious(page: Chromium, serious: Serious, width: int) -> None:
    """At the start, at a unit and at the end, in both looks, wide and narrow; the focus moves along."""

    def fine(where: str) -> None:
        for look in ("light", "dark"):
            page.prefers(look)
            assert serious() == [], (where, look)
        assert page.evaluate(f"document.documentElement.scrollWidth <= {width}"), where

    page.size(width, 800)
    fine("start")
    start(page)
    assert page.evaluate("document.activeElement.id") == "unit"
    label(page, "1", 1)
    assert page.evaluate("document.activeElement.id") == "unit"
    fine("unit")
    for number in range(1, 50):
        label(page, "1", number + 1)
    fine("end")


def test_hostile_texts_are_texts(browser: Chromium, tmp_path: Path) -> None:
    """Ids, questions, responses, passages, claims and the annotator's name are payloads; every unit shows its own."""
    word = "w" * 10_000
    source = [row(number, text) for number, text in enumerate((*PAYLOADS, ALL, word, "\u05d0\u05d1 kettle \U0001f600"))]
    run = evaluate(source, ["grounding", "context_relevance"], judge(best=False), store=tmp_path / "s.db", name=ALL)
    for metric in ("grounding", "context_relevance"):
        told = write_page(run, tmp_path / "label.html", metric=metric, n=99, annotator=ALL)
        browser.size(360, 800)
        browser.open((tmp_path / "label.html").as_uri())
        for number, record in enumerate(told.records, 1):
            browser.until(f"document.querySelector('.place')?.textContent.startsWith('Record {number} ')")
            assert browser.evaluate("document.querySelector('.prose.question').textContent") == seen(record.question)
            if metric == "grounding":
                text = browser.evaluate("document.querySelector('.unit-text').textContent")
                assert text == seen(record.units[0].text)
                assert browser.evaluate("document.querySelector('#response').textContent") == seen(record.response)
            shown = browser.all(".passage .prose")
            assert shown == [seen(passage.text) for passage in record.contexts]
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
            harmless(browser)
            for _ in record.units:
                browser.press("ArrowRight")


def test_nothing_of_the_judge_is_in_the_file(drawn: tuple[LabelSample, Path, Run], tmp_path: Path) -> None:
    """Judges of opposite opinions give the same page, byte for byte, but for what is not theirs."""
    other = evaluate(rows(), "grounding", judge(best=False), store=tmp_path / "s.db", name="kettles")
    assert drawn[2].summary()["metrics"]["grounding"]["mean"] == 1
    assert other.summary()["metrics"]["grounding"]["mean"] == 0
    pages = [b"".join(label_page(sample(run, "grounding", n=10), "kettles", "next")) for run in (drawn[2], other)]
    assert pages[0] == pages[1]
    data = json.dumps(unpacked(pages[0]))
    assert all(text in data for text in ("kettle-3", LONG, drawn[0].rubric.hash))
    for word in ("SECRET", "secret-judge", "0.1234", "probability", "verdict", "reason", "score", "importance"):
        assert word not in data, word
        assert word.encode() not in pages[0] or word.islower(), word
    unsure = replace(drawn[0].draw, mode="worst")
    assert b"disagree most" in b"".join(label_page(replace(drawn[0], draw=unsure), "kettles", "next"))

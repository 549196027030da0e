"""The search of the table goes through whole texts, also in a served page, and says where it found a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium

from ragstone import Run, api, evaluate
from ragstone.questions import Question, Rate, Write
from ragstone.render.html import build
from ragstone.render.html.live import Live
from ragstone.testing import ScriptedJudge

pytest_plugins = ["page_fixtures"]

ROWS = ".lines tbody tr"
FAR = "\u0130zmir FARAWAY and back again"
"""With a letter that is two when it is small."""


def answers(question: Question[Any]) -> Any:
    """Every response makes one claim, in words of its own."""
    if isinstance(question, Write):
        return ["A claim about a zebra."]
    assert isinstance(question, Rate)
    return [question.scale.labels[0]] * len(question.units)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three records; the second says something after many words, the third asks it."""
    long = "Nothing is said here yet. " * 20
    rows = [
        {"id": "plain", "question": "Why?", "response": "Because.", "contexts": ["Passages hold a walrus."]},
        {
            "id": "answers",
            "question": "What?",
            "response": f"{long}It is <b>Faraway</b>, {long}",
            "contexts": ["It is."],
        },
        {"id": "asks", "question": f"{long}{FAR}?", "response": "No.", "contexts": ["It is."]},
    ]
    return evaluate(rows, "grounding", ScriptedJudge(answers), store=tmp_path_factory.mktemp("s") / "s.db")


@pytest.fixture(scope="module")
def address(run: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    return api.write_report(run, tmp_path_factory.mktemp("page") / "report.html").as_uri()


def found(page: Chromium, words: str) -> list[str]:
    """The ids that a search leaves, in the order of the table."""
    page.evaluate("document.querySelector('#search').select()")
    page.type(words)
    page.until("!document.querySelector('.shown').textContent.includes('reading')")
    return page.all(f"{ROWS} .id")


def test_words_anywhere_in_a_text_are_found(browser: Chromium, address: str) -> None:
    """In the middle of a response or a question, in a claim, in a passage; all words have to be there."""
    browser.open(address)
    browser.click("#search")
    assert sorted(found(browser, "faraway")) == ["answers", "asks"]
    assert found(browser, "faraway because") == []
    assert found(browser, "zebra because") == ["plain"]
    assert found(browser, "walrus") == ["plain"]
    assert found(browser, "nowhere") == []
    assert browser.troubles() == []


def test_a_search_says_where_a_word_stands_that_the_line_does_not_show(browser: Chromium, address: str) -> None:
    """With what is around it, as text; a line that shows the word says it once."""
    browser.open(f"{address}#q=faraway")
    lines = dict(
        zip(browser.all(f"{ROWS} .id"), browser.all(ROWS, "querySelector('.found')?.textContent"), strict=True)
    )
    assert lines["answers"].startswith("\u2026")
    assert "It is <b>Faraway</b>, Nothing is said" in lines["answers"]
    assert lines["asks"] is None
    assert browser.all(".found mark") == ["Faraway"]
    browser.open(f"{address}#q=because")
    assert browser.all(".found") == []


def test_the_next_record_is_one_that_was_found(browser: Chromium, address: str) -> None:
    """Also where the address of a record is what was opened first."""
    browser.open(f"{address}#q=faraway&record=2")
    browser.until("document.querySelector('.steps .number')?.textContent === '1 of 2 shown by grounding'")
    assert browser.all("#step-j", "getAttribute('href')") == ["#q=faraway&record=3"]


def test_records_without_whole_texts_are_counted(
    browser: Chromium, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that has no room for them says of how many records it searched the beginnings alone."""
    monkeypatch.setattr(build, "CHUNK", 1)
    whole = build.report(run, calls=False)
    parts = build.report(run, calls=False, largest=sum(map(len, whole)) - 1_000)
    path = tmp_path / "small.html"
    path.write_bytes(b"".join(parts))
    browser.open(f"{path.as_uri()}#q=plain")
    assert "only the beginning of 3\xa0records could be searched" in browser.text(".shown")


def test_a_served_page_searches_whole_texts_once_they_can_be_had(browser: Chromium, live: Live) -> None:
    """Without its server it says so, once, and finds nothing; the next search asks again."""
    browser.open(f"{live.address}run/1/")
    browser.offline()
    try:
        browser.click("#search")
        for words in ("r", "r1"):
            assert found(browser, words) == []
            browser.until("document.querySelector('#trouble')?.textContent.startsWith('The server cannot be reached')")
        assert len(browser.all(".notice")) == 1
        assert "no text of 3\xa0records could be searched" in browser.text(".shown")
    finally:
        browser.offline(cut=False)
    browser.evaluate("document.querySelector('#search').select()")
    browser.type("r1")
    browser.until("!/could be searched|reading/.test(document.querySelector('.shown').textContent)")
    assert browser.all(f"{ROWS} .id") == ["r1"]

"""The served page where the server, the network or the run is not as a reader would like it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chromium import Chromium

from live_run import served
from ragstone.render.html.live import Live

pytest_plugins = ["page_fixtures"]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server of a run of three records."""
    with served(tmp_path_factory.mktemp("l"), 3) as server:
        yield server


def test_a_record_that_could_not_be_fetched_is_asked_for_again(browser: Chromium, live: Live) -> None:
    """Once the network is back; meanwhile its page says what is wrong and leads back."""
    browser.offline(cut=False)
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
    browser.offline(cut=False)
    browser.open(f"{live.address}run/1/#record=99999")
    browser.until("document.querySelector('main .empty')?.innerText.startsWith('There is no record')")
    assert browser.text("main .empty").replace("\u00a0", " ") == "There is no record #99,999: the run has 3 records."
    assert browser.text("h1") == "#99999"
    browser.click("#back")
    browser.until("document.querySelectorAll('.lines tbody tr').length === 3")

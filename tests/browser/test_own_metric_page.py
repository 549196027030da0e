"""The page of a run by a metric of another package: its card, its column, its record, all in its own words."""

from __future__ import annotations

from pathlib import Path

from chromium import Chromium

from own_metric import RECORDS, installed
from ragstone import evaluate
from ragstone.api import write_report

pytest_plugins = ["page_fixtures"]


def test_the_page_says_what_the_metric_says(browser: Chromium, tmp_path: Path) -> None:
    """The first card, the headline, the tab of its units with their words and quotes, the band."""
    with installed(tmp_path / "site"):
        run = evaluate(RECORDS, ["figure_support", "groundedness"], store=tmp_path / "s.db", name="figures")
        address = write_report(run, tmp_path / "report.html").as_uri()
    browser.open(address)
    assert "of a response\u2019s figures" in browser.text(".sentence").replace("'", "\u2019")
    assert browser.all(".card h2")[0] == "Figure support"
    assert browser.all(".card .meaning")[0] == "share of the response's figures that the contexts state"
    browser.open(f"{address}#record=2")
    assert browser.all(".tabs button")[0].startswith("Figures")
    assert browser.all(".units thead th") == ["Figure support", "Figure", "Reasons and evidence"]
    assert [text.strip()[2:] for text in browser.all(".units .verdict")] == ["stated", "not stated", "not stated"]
    assert browser.all(".column.left .mark") != []
    assert "figures by figure support" in browser.text(".column.left")
    browser.click("#tab-scores")
    assert "doubtful: check the figures against the contexts" in browser.text("#panel")
    assert browser.troubles() == []

"""Agreement with people in a browser: a section of the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Chromium
from page_material import Serious
from test_report_hostile import ALL, harmless, row

from attached import SAID, agreement
from ragstone import evaluate
from ragstone.api import write_report
from ragstone.result_types import AgreementDict

pytest_plugins = ["page_fixtures"]


def hostile() -> AgreementDict:
    """An agreement of which every text is a payload."""
    told = agreement()
    for one in told["metrics"].values():
        one |= {"judge": ALL, "withheld": ALL, "labels": [ALL, *one["labels"][1:]]}
    return {**told, "gold": [ALL], "annotators": [ALL, "Ann"]}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """The reports of one run without an agreement, with one, and with a hostile one."""
    folder = tmp_path_factory.mktemp("agreement")
    run = evaluate([row(n, "steel") for n in range(3)], ["grounding", "context_relevance"], store=folder / "s.db")
    paths = []
    for number, told in enumerate((None, agreement(), hostile())):
        if told is not None:
            run.attach(told)
        paths.append(write_report(run, folder / f"{number}.html"))
    yield paths
    run.store.close()


def test_the_report_has_a_section_where_it_is_attached(
    browser: Chromium, reports: list[Path], serious: Serious
) -> None:
    """The sentence, the matrix with shades and numbers, both means; in both looks, narrow; hostile texts stay text."""
    bare, told, worse = (path.as_uri() for path in reports)
    browser.open(bare)
    assert browser.all(".agreement") == []
    browser.size(400, 900)
    browser.open(told)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 400
    said = " ".join(browser.text(".agreement").replace("\u00a0", " ").split())
    for part in (f"{SAID[0]}.", f"{SAID[2]}.", "The same label on 84 %; always giving the most frequent one: 65 %."):
        assert part in said
    for part in ("raw 78 %", "by people 74 % (66\u201381)", "corrected by PPI++; 60 of 500 records labelled"):
        assert part in said
    cells = browser.all(".matrix tbody tr:first-child td")[:3]
    assert [cell.replace("\u00a0", " ") for cell in cells] == ["3075 %", "615 %", "410 %"]
    for look in ("light", "dark"):
        browser.prefers(look)
        browser.open(told)
        assert serious() == [], look
    browser.open(worse)
    harmless(browser)
    assert "<script>window.hit = 1</script>" in browser.text(".matrix")
    browser.size(1280, 900)
    browser.prefers("light")

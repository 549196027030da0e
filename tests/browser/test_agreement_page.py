"""Agreement with people in a browser: a section of the report, and a page of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Chromium
from page_material import Serious, seen
from test_report_hostile import ALL, PAYLOADS, answer, harmless, row

from attached import SAID, agreement
from labelled import write
from ragstone import agree, evaluate
from ragstone.api import write_report
from ragstone.labels import text_hash
from ragstone.result_types import AgreementDict
from ragstone.testing import ScriptedJudge

pytest_plugins = ["page_fixtures"]


def hostile() -> AgreementDict:
    """An agreement of which every text is a payload."""
    told = agreement()
    for one in told["metrics"].values():
        one |= {"judge": ALL, "withheld": ALL, "labels": [ALL, *one["labels"][1:]]}
    return {**told, "gold": [ALL], "annotators": [ALL, "Ann"]}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The reports of one run without an agreement, with one, and with a hostile one."""
    folder = tmp_path_factory.mktemp("agreement")
    run = evaluate([row(n, "steel") for n in range(3)], ["grounding", "context_relevance"], store=folder / "s.db")
    paths = []
    for number, told in enumerate((None, agreement(), hostile())):
        if told is not None:
            run.attach(told)
        paths.append(write_report(run, folder / f"{number}.html"))
    return paths


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
    for part in (
        f"{SAID[0]}.",
        f"{SAID[2]}.",
        "Same label in 84% of cases; always giving the most frequent label would be right in 65%.",
    ):
        assert part in said
    for part in ("raw 78%", "corrected 74% (66\u201381)", "corrected by PPI++; 60 of 500 records labelled"):
        assert part in said
    cells = browser.all(".matrix tbody tr:first-child td")[:3]
    assert [cell.replace("\u00a0", " ") for cell in cells] == ["3075%", "615%", "410%"]
    for look in ("light", "dark"):
        browser.prefers(look)
        browser.open(told)
        assert serious() == [], look
    browser.open(worse)
    harmless(browser)
    assert "<script>window.hit = 1</script>" in browser.text(".matrix")


def test_the_page_shows_who_differs_where_and_executes_nothing(
    browser: Chromium, serious: Serious, tmp_path: Path
) -> None:
    """Every record, unit, reason, quote, annotator and refused label is a payload; the page asks for nothing."""
    source = [{**row(n, text), "run_id": f"{ALL} {n % 4}", "team": f"{ALL} {n % 2}"} for n, text in enumerate(PAYLOADS)]
    run = evaluate(source, ["grounding"], ScriptedJudge(answer), store=tmp_path / "s.db", name=ALL)
    labels = []
    for result in run.results():
        for verdict in result.score("grounding")["verdicts"]:
            unit = next(unit for unit in result["units"] if unit["id"] == verdict["unit"])
            common = {"record": result["id"], "unit": unit["id"], "task": "support", "hash": text_hash(unit["text"])}
            labels += [
                {**common, "label": label, "annotator": who}
                for label, who in (("yes", ALL), ("no", "Ann"), ("yes", "B"))
            ]
    labels.append({**labels[0], "label": ALL, "annotator": "C"})
    del labels[-2]
    gold = write(tmp_path / "labels.jsonl", labels)
    found = agree(run, gold, by="meta.team", out=tmp_path / "agree.html", disagreements=2)
    assert len(found.disagreements) == 2
    browser.offline()
    for width, look in ((1280, "light"), (400, "dark")):
        browser.size(width, 900)
        browser.prefers(look)
        browser.open((tmp_path / "agree.html").as_uri())
        harmless(browser)
        assert serious() == [], look
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert len(browser.all(".differing li")) == min(100, found["grounding"].items.matrix.n)
    first = browser.text(".differing li")
    for part in ("people\nyes (2 of 3)", "judge\nno (stricter)", "<script>window.hit = 1</script>", "passage 1"):
        assert part in first
    assert browser.evaluate("document.querySelector('h1').textContent") == seen(run.name)
    assert "tau_ap-b" in browser.text("section:has(#figures0)")
    assert len(browser.all("section:has(#figures0) tbody tr")) == 4
    assert len(browser.all("section:has(#figures1) tbody tr")) == 2, "the groups"
    assert "grounding: 1\u00a0claim left out (tied between annotators)." in browser.all("p.note")
    assert "label not on the scale (no, yes, trivial)" in browser.text("section:has(#refused)")
    assert browser.all("section:has(#refused) ~ section:has(#numbers) .matrix"), (
        "labels that are not used stand before the numbers"
    )
    assert "Cannot tell" in (titles := browser.text("section:has(#annotators) thead"))
    assert "Minutes" not in titles
    assert len(browser.all("section:has(#annotators) tbody tr")) == 4

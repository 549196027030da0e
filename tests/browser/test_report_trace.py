"""What a judge says of sentences by their keys is said by the names that a reader knows, on every page."""

from __future__ import annotations

from typing import Any

import pytest
from chromium import Chromium
from page_material import Shown

from ragstone import api, compare, evaluate
from ragstone.questions import YES_NO, Question, Trace, Traced, key_of
from ragstone.testing import ScriptedJudge
from ragstone.types import Verdict

pytest_plugins = ["page_fixtures"]

ROW = {
    "id": "lid",
    "question": "Is it steel?",
    "response": "The lid is steel. It boils fast.",
    "contexts": ["The lid is steel. It weighs ninety grams.", "The kettle boils. Its cord is short."],
}
WHY = "Unlike resp_s0, it is only near doc_1_s0; doc_9_s9 and xdoc_1_s0 are no sentences."
NAME = ".units tr:last-child .called:last-of-type"
SAID = (
    "Unlike sentence 1 of the response, it is only near passage 2, sentence 1; doc_9_s9 and xdoc_1_s0 are no sentences."
)


def traced(question: Question[Any]) -> Traced:
    """Of two sentences the second is not supported."""
    assert isinstance(question, Trace)
    labels = ("yes", "no")
    verdicts = tuple(
        Verdict(unit, label, YES_NO.value(label), "scripted", reason=WHY if label == "no" else f"By {key_of(unit)}.")
        for unit, label in zip(question.response, labels, strict=True)
    )
    about = "doc_0_s1 is beside the point."
    return Traced(("doc_0_s0",), ("doc_0_s0",), verdicts, (("doc_0_s0",), ()), about, "All but resp_s1 hold.")


@pytest.fixture(scope="module")
def lid(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A traced record, and its page."""
    folder = tmp_path_factory.mktemp("lid")
    run = evaluate([ROW], "trace", ScriptedJudge(traced), store=folder / "s.db")
    return Shown(run, api.write_report(run, folder / "report.html"))


def test_reasons_name_sentences_as_a_reader_finds_them(browser: Chromium, lid: Shown) -> None:
    """Passage and number, with the sentence itself on pointing at it; what is no key of the record stays as it was."""
    browser.open(lid.at("record=1&tab=trace"))
    said = browser.all("#panel .said")
    assert said == [
        "Relevance: passage 1, sentence 2 is beside the point.",
        "Support: All but sentence 2 of the response hold.",
    ]
    assert SAID in browser.all("#panel .because p")
    titles = dict(zip(browser.all(".called"), browser.all(".called", "title"), strict=True))
    assert titles["passage 2, sentence 1"] == "The kettle boils."
    assert titles["sentence 2 of the response"] == "It boils fast."
    assert browser.troubles() == []


def test_a_named_sentence_is_lit_where_it_stands(browser: Chromium, lid: Shown) -> None:
    """In its passage or in the response, and on the map, by pointing or by keyboard; a click keeps it lit."""
    browser.open(lid.at("record=1&tab=trace"))
    browser.hover(NAME)
    assert browser.all(".right .lit") == ["The kettle boils."]
    assert browser.all(".map .lit", "dataset.key") == ["doc_1_s0"]
    browser.hover("h1")
    assert browser.all(".lit") == []
    browser.evaluate("document.querySelector('.said:last-of-type .called').focus()")
    assert browser.all(".left .mark.lit", "firstChild.textContent") == ["It boils fast."]
    browser.click(NAME)
    browser.hover("h1")
    assert browser.all(".right .lit") == ["The kettle boils."]
    assert browser.all(".answered .lit") == []


def test_pages_without_the_passages_say_the_same(browser: Chromium, lid: Shown) -> None:
    """The lowest records on paper, and two runs side by side."""
    browser.open(lid.address)
    assert browser.all(".paper .note") == [SAID]
    held = {"resp_s0": ["doc_0_s0"], "resp_s1": ["doc_1_s0"]}
    judge = ScriptedJudge({"trace": {"relevant": [], "utilized": [], "support": held}}, version="2")
    other = evaluate([ROW], "trace", judge, store=lid.path.parent / "s.db")
    page = lid.path.parent / "compare.html"
    compare(other, lid.run, out=page)
    browser.open(page.as_uri())
    assert SAID in browser.all(".changes .reason")

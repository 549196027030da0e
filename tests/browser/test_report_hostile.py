"""Texts of records, models and users are texts on the page: they execute nothing, load nothing and lead nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from chromium import Chromium
from page_material import Shown, seen

from ragstone import evaluate
from ragstone.api import write_report
from ragstone.questions import Question, Rate, Rated, Write
from ragstone.testing import ScriptedJudge
from ragstone.types import Quote, Span, Verdict

pytest_plugins = ["page_fixtures"]

PAYLOADS: Final = (
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 2</script>",
    "<img src=x onerror='window.hit = 3'>",
    "<svg onload=window.hit=4>",
    "javascript:window.hit=5",
    "'\"><iframe srcdoc='<script>top.hit = 6</script>'></iframe>",
    "<!--<script>window.hit = 7//",
    "{{constructor.constructor('window.hit = 8')()}} ${window.hit = 8}",
    "../../x",
    '=HYPERLINK("http://127.0.0.1:9/?"&A1,"open")',
    "\u202egnp.exe \u2066abc \u200f\u05d0",
    "</style><style>*{display:none}</style><base href=http://127.0.0.1:9/>",
    '<a href="javascript:window.hit=9" id=first>x</a><form id=rows-0 action=http://127.0.0.1:9/>',
    "\x00\x1b[31m\u2028\u2029\ud7ff\ufffe",
    "__proto__",
)  # fmt: skip
ALL: Final = " ".join(PAYLOADS)
WORD: Final = "w" * 1_000_000


def answer(question: Question[Any]) -> Any:
    """Verdicts whose reasons and quotes are payloads too."""
    if isinstance(question, Write):
        return [f"{ALL} {sentence.text[:200]}" for sentence in question.sentences] or [ALL]
    assert isinstance(question, Rate)
    first = question.passages[0] if question.passages else None
    quotes = [Quote(PAYLOADS[1], None, ALL, verbatim=False)]
    if first is not None:
        quotes.append(Quote(first.id, Span(0, min(40, len(first.text))), first.text[:40], verbatim=True))
    return Rated(
        tuple(
            Verdict(unit, question.scale.labels[0], 0.0, "scripted", raw=0, evidence=tuple(quotes), reason=ALL)
            for unit in question.units
        )
    )


def row(number: int, text: str) -> dict[str, Any]:
    short = text[:2000]
    return {
        "id": f"{short[:400]} {number}", "question": short, "response": f"{text}. {ALL}",
        "contexts": [text, f"\U0001d504\U0001d505 {short}"], "reference": short,
        text[:60]: text[:300], "group": PAYLOADS[number % 3], "<b>": {text[:40]: "<i>"},
        "__proto__": PAYLOADS[number % 2], "constructor": {"toString": PAYLOADS[number % 4], "__proto__": "x"},
    }  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A run of nothing but payloads, and one word of a megabyte."""
    folder = tmp_path_factory.mktemp("hostile")
    source = [row(number, text) for number, text in enumerate((*PAYLOADS, ALL, WORD))]
    metrics = ["triad", "grounding", "claim_relevance", "response_groundedness"]
    run = evaluate(source, metrics, ScriptedJudge(answer), store=folder / "store.db", name=ALL)
    return Shown(run, write_report(run, folder / "report.html"))


def harmless(browser: Chromium) -> None:
    """Nothing ran, nothing was asked for, and there is no element that a payload would have made."""
    assert browser.evaluate("window.hit ?? null") is None
    assert browser.troubles() == []
    assert [address for address in browser.requests() if not address.startswith(("file:", "data:"))] == []
    assert browser.all("img, iframe, object, embed, form, base, style:not(head > style)") == []
    scripts = browser.evaluate("[...document.scripts].filter((one) => !one.type).length")
    assert scripts == 1
    assert [address for address in browser.all("a", "href.baseVal ?? ''") if address] == []
    assert [address for address in browser.all("a", "getAttribute('href')") if not str(address).startswith("#")] == []


def test_the_overview_shows_them_as_text(browser: Chromium, hostile: Shown) -> None:
    """Name, groups, ids, questions."""
    browser.open(hostile.address)
    harmless(browser)
    assert browser.evaluate("document.querySelector('h1').textContent") == seen(hostile.run.name)
    assert "<script>window.hit = 1</script>" in browser.evaluate("document.querySelector('.lines').textContent")
    assert len(browser.all(".rows .name")) >= 3
    for number in range(3):
        browser.open(hostile.address)
        browser.click(f".rows li:nth-child({number + 1}) a")
        browser.until("document.querySelector('.chips')")
        harmless(browser)


@pytest.mark.parametrize(("name", "groups"), [("__proto__", 2), ("constructor.toString", 4)])
def test_a_field_may_have_any_name(browser: Chromium, hostile: Shown, name: str, groups: int) -> None:
    """Also that of something which every object of the language has."""
    browser.open(hostile.at(urlencode({"by": name})))
    assert browser.all(".notice") == []
    assert len(browser.all(".rows li:not(.scale)")) == groups
    browser.click(".rows li a")
    browser.until("document.querySelector('.chips')")
    assert 0 < len(browser.all(".lines tbody tr")) < len(hostile.run)
    harmless(browser)


def test_records_show_them_as_text(browser: Chromium, hostile: Shown) -> None:
    """Every record with every field, reason, quote and raw call."""
    for result in hostile.run.results():
        browser.open(hostile.at(f"record={result['position']}"))
        assert browser.evaluate("document.querySelector('h1').textContent") == seen(result["id"])
        response = browser.evaluate(
            "(() => { const text = document.querySelectorAll('.left .prose')[1].cloneNode(true);"
            " text.querySelectorAll('.unseen').forEach((one) => one.remove()); return text.textContent; })()"
        )
        assert response == seen(result["response"])
        for tab in ("claims", "sentences", "scores", "calls"):
            browser.click(f"#tab-{tab}")
            browser.until(f"document.querySelector('#tab-{tab}').ariaSelected === 'true'")
            if tab != "calls":
                browser.hover(".left .mark")
                harmless(browser)
        browser.click(".calls summary")
        browser.until("document.querySelector('.calls details[open] pre')")
        harmless(browser)


def test_a_text_that_turns_direction_turns_itself_alone(browser: Chromium, hostile: Shown) -> None:
    """Whatever came from outside stands apart from what is around it."""
    browser.open(hostile.address)
    places = browser.evaluate("[...document.querySelectorAll('bdi')].map((one) => getComputedStyle(one).unicodeBidi)")
    assert places
    assert set(places) == {"isolate"}
    browser.open(hostile.at("record=11"))
    apart = browser.evaluate(
        "[...document.querySelectorAll('.prose, .mark')].map((one) => getComputedStyle(one).unicodeBidi)"
    )
    assert set(apart) == {"isolate"}


def test_a_text_of_marks_alone_has_the_direction_of_its_first_letter(browser: Chromium, tmp_path: Path) -> None:
    """Also where all of it is marked: a part with a direction of its own says nothing of the whole."""
    arabic, hebrew = "\u0645\u0631\u062d\u0628\u0627", "\u05e9\u05dc\u05d5\u05dd"
    source = [
        {"id": str(number), "response": text, "contexts": [text]}
        for number, text in enumerate((f"{arabic} one. {arabic} two.", f"\u201c{hebrew}.", f"One {arabic}. {arabic}."))
    ]
    run = evaluate(source, "groundedness", store=tmp_path / "s.db")
    page = Shown(run, write_report(run, tmp_path / "report.html"))
    for number, way in enumerate(("rtl", "rtl", "ltr"), 1):
        browser.open(page.at(f"record={number}"))
        found = browser.evaluate(
            "['.left .prose:has(.mark)', '.right .prose']"
            ".map((one) => getComputedStyle(document.querySelector(one)).direction)"
        )
        assert found == [way, way]


def test_a_word_of_a_megabyte_is_broken(browser: Chromium, hostile: Shown) -> None:
    """It makes nothing wider than the screen, also on a narrow one."""
    last = len(hostile.run)
    for width in (1280, 360):
        browser.size(width, 900)
        for address in (hostile.address, hostile.at(f"record={last}")):
            browser.open(address)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_places_are_counted_in_characters(browser: Chromium, hostile: Shown) -> None:
    """A quote after letters beyond the basic plane still lights its own words."""
    browser.open(hostile.at("record=9"))
    quoted = browser.all(".right .evidence", "firstChild.textContent")
    assert quoted[0] == hostile.run.find("#9")["contexts"][0]["text"][:40]  # type: ignore[index]

"""The report in a browser: it opens without a network, and every part of it does what it says."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium
from page_material import Shown

from own_metric import RECORDS, installed
from ragstone import evaluate
from ragstone.api import write_report

pytest_plugins = ["page_fixtures"]

ROWS = ".lines tbody tr"
TABS = ("claims", "sentences", "nuggets", "bank", "trace", "methods", "panel", "scores", "calls")


def places(browser: Chromium) -> list[int]:
    """The records of the table, by their places in the input."""
    return [int(place) for place in browser.all(ROWS, "dataset.record")]


def values(shown: Shown, metric: str) -> dict[int, float | None]:
    return {row.position: row.value for row in shown.run.scores if row.metric == metric}


def score(result: dict[str, Any], metric: str) -> dict[str, Any]:
    (found,) = [one for one in result["scores"] if one["metric"] == metric]
    return dict(found)


def test_it_opens_without_a_network(browser: Chromium, shown: Shown) -> None:
    """Nothing is asked for but the file, the console stays empty, and the first screen is there."""
    browser.offline()
    browser.open(shown.address)
    assert [address for address in browser.requests() if not address.startswith("data:")] == [shown.address]
    assert browser.troubles() == []
    assert browser.text("h1") == "twenty-two traces"
    assert browser.text(".sentence").startswith("On average, 53% ")
    cards = browser.all(".card h2")
    assert cards[:2] == ["Grounding", "Groundedness"]
    assert len(cards) == 6
    mean = shown.run.summary()["metrics"]["grounding"]["mean"]
    assert mean is not None
    assert browser.text(".card .mean a") == f"{mean * 100:.0f}%"
    assert len(browser.all(ROWS)) == 22


def test_the_plain_and_the_nuggetized_triad_are_side_by_side(page: Chromium, shown: Shown) -> None:
    """On the first page, in percent, with what the difference of the run means."""
    rows = page.all("section[aria-labelledby=methods] tbody tr", "innerText")
    methods = shown.run.summary()["methods"]
    assert len(rows) == len(methods) == 2
    for said, found in zip(rows, methods.values(), strict=True):
        assert f"{(found['plain'] or 0) * 100:.0f}%" in said
        assert found["interpretation"] in said
        ends = [f"{end:+.1f}".replace("-", "\u2212") for end in found["interval"] or ()]
        assert f"{ends[0]} to {ends[1]}\t{found['records']}" in said.replace("\u00a0", " ")


def test_every_number_of_the_sentence_leads_to_its_records(page: Chromium, shown: Shown) -> None:
    """The responses that fall short are those below the highest value, lowest first."""
    short = {place: value for place, value in values(shown, "grounding").items() if value is not None and value < 1}
    assert page.text(".sentence .wrong").startswith(str(len(short)))
    page.click(".sentence .wrong")
    page.until("location.hash.includes('below=grounding')")
    page.until("document.querySelector('.chips')")
    assert sorted(places(page)) == sorted(short)
    found = [short[place] for place in places(page)]
    assert found == sorted(found)
    cells = [text.split() for text in page.all(".lines td.toned .value", "innerText")]
    signs = {("100", "\u2713"), ("0", "\u2717")}
    for sign, value in (cell for cell in cells if len(cell) == 2):
        assert ((value, sign) in signs) if value in ("0", "100") else sign == "~"


def test_words_are_searched_and_stand_in_the_address(page: Chromium, shown: Shown) -> None:
    """The search keeps what is typed, narrows the table, and its address opens the same view again."""
    page.click("#search")
    page.type("limescale")
    page.until("document.querySelector('.shown').textContent.startsWith('1 of 22')")
    assert page.evaluate("document.activeElement.id") == "search"
    assert page.all(f"{ROWS} .id") == ["kettle-descale"]
    address = page.evaluate("location.href")
    assert address.endswith("#q=limescale")
    page.open(address)
    assert page.all(f"{ROWS} .id") == ["kettle-descale"]
    page.click(".chips a")
    page.until("document.querySelectorAll('.lines tbody tr').length === 22")


def test_a_status_filters(page: Chromium, shown: Shown) -> None:
    """The record whose response is blank is the one with nothing to judge."""
    page.open(shown.at("status=empty"))
    empty = {row.position for row in shown.run.scores if row.status == "empty"}
    assert set(places(page)) == empty


def test_every_count_on_the_first_screen_leads_to_as_many_records(page: Chromium, shown: Shown) -> None:
    """Those that a card, a bin of its distribution or a cause counts, of its own metric."""
    for where in (".coverage", ".causes"):
        links = page.all(f"{where} a.figure", "getAttribute('href')")
        for address, said in zip(links, page.all(f"{where} a.figure"), strict=True):
            page.open(f"{shown.address}{address}")
            number = int(said.replace("\u00a0", " ").split()[0])
            assert number == len(places(page)), address
            status, metric = (page.evaluate(f"new URLSearchParams(location.hash.slice(1)).get('{key}')")
                              for key in ("status", "judged"))  # fmt: skip
            of = {row.position for row in shown.run.scores if (row.status, row.metric) == (status, metric)}
            assert set(places(page)) <= of, address
            page.open(shown.address)
    for place in range(len(page.all(".card:first-child .bin"))):
        title = page.all(".card:first-child .bin title")[place]
        page.evaluate(f"document.querySelectorAll('.card:first-child .bin')[{place}].dispatchEvent(new Event('click'))")
        page.until("location.hash.includes('in=grounding')")
        page.until(f"document.querySelectorAll('{ROWS}').length === {title.split()[1].split()[0]}")


def test_scores_filter_by_form_and_by_box(page: Chromium, shown: Shown) -> None:
    """The fields keep what lies between two values; a box in the scatter does so for two metrics."""
    assert page.evaluate("[...document.querySelectorAll('.range input')].map((one) => one.value)") == ["", ""]
    low = {place for place, value in values(shown, "grounding").items() if value is not None and value <= 0.5}
    for button in (True, False):
        page.click("[aria-label='to, in percent']")
        page.type("50")
        if button:
            page.click(".range button")
        else:
            page.press("Enter")
        page.until("location.hash.includes('in=grounding')")
        assert set(places(page)) == low
        page.open(shown.address)
    page.evaluate("document.querySelector('.scatter svg').scrollIntoView({block: 'center'})")
    left, top, width, height = page.evaluate(
        "(() => { const box = document.querySelector('.scatter svg').getBoundingClientRect();"
        " return [box.left, box.top, box.width, box.height]; })()"
    )
    page.drag((left + 4, top + height - 4), (left + width * 0.6, top + 4))
    page.until("location.hash.includes('in=groundedness')")
    page.until("document.querySelector('.chips')")
    metrics = ("grounding", "groundedness")
    assert all(f"in={metric}" in page.evaluate("location.hash").replace("%3A", ":") for metric in metrics)
    assert 0 < len(places(page)) < 21
    assert page.evaluate("document.querySelectorAll('.dot.out').length") > 0


def test_groups_stand_worst_first_and_filter(page: Chromium, shown: Shown) -> None:
    """The default field is the topic of the traces; the means of its groups are those of their records."""
    names = page.all(".rows .name bdi")
    kinds = {result["position"]: result["meta"]["topic"] for result in shown.run.results()}
    assert sorted(names) == sorted(set(kinds.values()))
    assert page.text("#hurts") == ("Weak groups and metrics" if page.all(".rows .weak") else "Groups and metrics")
    means = [float(text.split("%")[0]) for text in page.all(".rows li a > .number:not(.size)")]
    assert means == sorted(means)
    page.click(".rows li a")
    page.until("document.querySelector('.chips')")
    assert {kinds[place] for place in places(page)} == {names[0]}
    grounding = [values(shown, "grounding")[place] for place in places(page)]
    found = [value for value in grounding if value is not None]
    assert means[0] == pytest.approx(100 * sum(found) / len(found), abs=0.51)


def test_headings_sort_both_ways(page: Chromium, shown: Shown) -> None:
    """The first click sorts by a metric, the second turns it round; records without a value come last."""
    heading = ".lines thead th:nth-child(4) a"
    known = values(shown, "groundedness")
    for turn, order in (("ascending", 1), ("descending", -1)):
        page.click(heading)
        page.until(f"document.querySelector('.lines thead th:nth-child(4)').ariaSort === '{turn}'")
        found = [value for place in places(page) if (value := known[place]) is not None]
        assert found == sorted(found, key=lambda value: order * value)
        assert known[places(page)[-1]] is None


def test_keys_move_open_and_return(page: Chromium, shown: Shown) -> None:
    """Down goes to the next line, Enter opens it, j and k go on, Escape returns to the line."""
    order = places(page)
    page.evaluate("document.querySelector('.lines tbody tr').focus()")
    page.press("ArrowDown")
    page.press("Enter")
    page.until("document.querySelector('.case-head')")
    assert page.evaluate("location.hash") == f"#record={order[1]}"
    page.press("j")
    page.until(f"location.hash === '#record={order[2]}'")
    page.press("k")
    page.until(f"location.hash === '#record={order[1]}'")
    page.until(f"document.querySelector('h1').textContent === '{shown.run.result(f'#{order[1]}')['id']}'")
    page.press("Escape")
    page.until("document.querySelector('.lines')")
    assert page.evaluate("document.activeElement.dataset.record") == str(order[1])


def test_a_record_opens_on_its_first_claim_to_check(page: Chromium, shown: Shown) -> None:
    """Its words, its evidence and its row are lit, and its evidence is scrolled to; where none is, nothing is lit."""
    page.size(1280, 200)
    for result in shown.run.results():
        verdicts = score(result, "grounding")["verdicts"]
        if not verdicts:
            continue
        page.open(shown.at(f"record={result['position']}"))
        wrong = next(
            (v["unit"] for most in (0, 0.99) for v in verdicts if v["value"] is not None and v["value"] <= most), None
        )
        unit = next((unit for unit in result["units"] if unit["id"] == wrong), None)
        text = [result["response"][unit["start"] : unit["end"]]] if unit else []
        assert page.all(".left .mark.lit", "firstChild.textContent") == text
        assert len(page.all(".units tr.lit")) == len(text)
        for side in (".left", ".right"):
            bottom = f"document.querySelector('.column{side}').getBoundingClientRect().bottom"
            place = f"document.querySelector('{side} .lit')"
            page.until(f"!{place} || {place}.getBoundingClientRect().top < {bottom}")


def test_a_claim_lights_its_evidence(page: Chromium, shown: Shown) -> None:
    """Pointing at words of the response lights the quotes of their claims, no others, and their rows below."""
    result = shown.run["lease-deposit"]
    page.open(shown.at(f"record={result['position']}"))
    verdicts = {verdict["unit"]: verdict for verdict in score(result, "grounding")["verdicts"]}
    claims = [unit for unit in result["units"] if unit["id"] in verdicts]
    place = claims[0]["start"], claims[0]["end"]
    same = [unit["id"] for unit in claims if (unit["start"], unit["end"]) == place]
    quoted = {(quote["passage"], quote["start"], quote["end"]) for unit in same for quote in verdicts[unit]["evidence"]}
    contexts = {context["id"]: context["text"] for context in result["contexts"]}
    page.hover(".left .mark")
    assert page.all(".left .mark.lit", "firstChild.textContent") == [result["response"][slice(*place)]]
    lit = "".join(page.all(".right .evidence.lit"))
    assert lit
    assert all(contexts[passage][start:end] in lit for passage, start, end in quoted)
    assert len(lit) <= sum(end - start for _, start, end in quoted)
    assert len(page.all(".units tr.lit")) == len(same)
    page.hover("h1")
    assert page.all(".lit") == []


def test_a_quote_lights_what_leans_on_it(page: Chromium, shown: Shown) -> None:
    """And back: pointing at evidence lights the words that it was named for; whoever has no pointer sees the same."""
    page.open(shown.at(f"record={shown.run['lease-deposit']['position']}"))
    page.hover(".right .evidence")
    assert page.all(".left .mark.lit")
    assert page.all(".right .evidence.lit")
    page.hover("h1")
    assert page.all(".lit") == []
    page.evaluate("document.querySelector('.left .mark').focus()")
    assert page.all(".right .evidence.lit")


def test_a_pinned_claim_stays_lit(page: Chromium, shown: Shown) -> None:
    """Through other tabs and other records, until it is clicked again; each record has its own."""

    def lit(name: str) -> list[str]:
        page.evaluate(f"location.hash = 'record={shown.run[name]['position']}'")
        page.until(f"document.querySelector('h1').textContent === '{name}' && document.querySelector('.left')")
        return list(page.all(".left .mark.lit", "firstChild.textContent"))

    page.open(shown.address)
    lit("stone-bridge")
    page.click(".left .mark")
    page.hover("h1")
    pinned = page.all(".left .mark.lit", "firstChild.textContent")
    assert pinned
    for tab in ("scores", "nuggets", "claims"):
        page.click(f"#tab-{tab}")
        page.until(f"document.querySelector('#tab-{tab}').ariaSelected === 'true'")
        page.hover("h1")
        assert page.all(".left .mark.lit", "firstChild.textContent") == ([] if tab == "nuggets" else pinned)
    assert page.all(".units tr.lit")
    assert lit("kettle-descale") != pinned
    assert lit("stone-bridge") == pinned
    page.click(".left .mark")
    page.hover("h1")
    assert page.all(".lit") == []


def test_verdicts_are_underlined_and_worded(page: Chromium, shown: Shown) -> None:
    """Each stretch has the kind of its worst verdict, in a line and in words that are read aloud."""
    result = shown.run["stone-bridge"]
    page.open(shown.at(f"record={result['position']}&tab=trace"))
    kinds = ["yes" if verdict["value"] == 1 else "no" for verdict in score(result, "trace.adherence")["verdicts"]]
    assert page.all(".left .prose .mark", "classList[1]") == kinds
    assert "[not found]" in page.evaluate("document.querySelector('.left').textContent")
    styles = "getComputedStyle(document.querySelector('.left .prose .mark.no')).textDecorationStyle"
    assert page.evaluate(styles) == "solid"


def test_every_tab_is_filled(page: Chromium, shown: Shown) -> None:
    """Each can be opened by its button, says what it is for, fits a narrow screen, and troubles nobody."""
    page.size(360, 740)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.open(shown.at("record=1"))
    for tab in TABS:
        page.click(f"#tab-{tab}")
        page.until(f"document.querySelector('#tab-{tab}').ariaSelected === 'true'")
        assert len(page.text("#panel")) > 60
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.troubles() == []


def test_another_tab_leaves_the_passages_where_they_are(page: Chromium, shown: Shown) -> None:
    """What was scrolled to stays in sight."""
    page.size(1280, 300)
    page.open(shown.at("record=1"))
    style = "const sheet = new CSSStyleSheet(); sheet.replaceSync('.column { max-height: 60px; overflow-y: auto }');"
    page.evaluate(f"(() => {{ {style} document.adoptedStyleSheets = [sheet]; }})()")
    page.evaluate("document.querySelector('.column.right').scrollTop = 40")
    page.click("#tab-scores")
    page.until("document.querySelector('#tab-scores').ariaSelected === 'true'")
    assert page.evaluate("document.querySelector('.column.right').scrollTop") == 40


def test_the_map_ties_a_sentence_to_what_it_rests_on(page: Chromium, shown: Shown) -> None:
    """A square for each sentence; pointing at one of the response draws a line to each that supports it."""
    result = shown.run["kettle-descale"]
    detail = score(result, "trace.adherence")["detail"]
    page.open(shown.at(f"record={result['position']}&tab=trace"))
    assert len(page.all("button.sentence")) == len(detail["contexts"]) + len(detail["response"])
    for row in detail["response"]:
        page.hover(f"button.sentence[data-key='{row['key']}']")
        assert len(page.all(".ties path")) == len(row["support"])
        assert len(page.all("button.sentence.tied")) == 1 + len(row["support"])
    page.press("Tab")


def test_vital_nuggets_come_first(page: Chromium, shown: Shown) -> None:
    """Of every response and of the bank."""
    told = {
        result["position"]: [unit["importance"] for unit in result["units"] if unit["id"].split("/")[1] == "nugget"]
        for result in shown.run.results()
    }
    mixed = next(place for place, found in told.items() if found != sorted(found, key=("vital", "okay").index))
    for tab in (f"record={mixed}&tab=nuggets", "record=1&tab=bank"):
        page.open(shown.at(tab))
        found = page.all(".units tbody .importance")
        assert found == sorted(found, key=["vital", "okay", "unknown"].index)
        assert "vital" in found


def test_disagreements_of_a_panel_are_marked_and_first(page: Chromium, shown: Shown) -> None:
    """A column for each judge, and the word, not only a colour."""
    page.open(shown.at("record=1&tab=panel"))
    heads = page.all(".panel:first-child thead th")
    assert heads == ["Unit", "embedded", "second", "Panel"]
    apart = page.evaluate(
        "[...document.querySelectorAll('.panel tbody tr')].map((row) => row.classList.contains('apart'))"
    )
    assert any(apart)
    assert [row.startswith("disagree") for row in page.all(".panel tbody tr")] == apart


def test_raw_calls_are_a_click_away(page: Chromium, shown: Shown) -> None:
    """What was asked and what came back, as the store has it."""
    result = shown.run["kettle-descale"]
    page.open(shown.at(f"record={result['position']}&tab=calls"))
    assert len(page.all(".calls details")) == len(result["calls"])
    stood = [f"for {', '.join(metric.replace('_', ' ') for metric in call['metrics'])}" for call in result["calls"]]
    assert page.all(".calls .served") == [told.replace("trace", "TRACe") for told in stood]
    assert any("claim relevance, grounding" in told for told in stood)
    page.click(".calls summary")
    page.until("document.querySelector('.calls details[open] pre')")
    stored = shown.run.store.call(bytes.fromhex(result["calls"][0]["key"]))
    assert stored is not None
    asked = page.evaluate("JSON.parse(document.querySelector('.calls details[open] pre').textContent)")
    assert asked == json.loads(stored.request)


def test_the_look_follows_the_system_and_the_reader(page: Chromium) -> None:
    """Dark where the system is dark; the button turns it round."""

    def brightness() -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return int(colour.removeprefix("rgb(").split(",")[0])

    assert brightness() > 200
    page.prefers("dark")
    assert brightness() < 60
    page.click("#look")
    assert brightness() > 200
    page.prefers("light")
    page.click("#look")
    assert brightness() < 60
    assert page.text("#look") == "Light"
    page.open(page.evaluate("location.href"))
    assert brightness() < 60, "it stays as it was chosen"
    page.evaluate("localStorage.clear()")
    page.open(page.evaluate("location.href"))
    for look, other in (("dark", "Light"), ("light", "Dark")):
        page.prefers(look)
        page.until(f"document.querySelector('#look').innerText === '{other}'")


def test_it_prints(page: Chromium) -> None:
    """On paper: first screen, groups, and the worst records, which are not on the screen; light in any case."""
    page.prefers("dark")
    shown = page.on_paper(".first", ".groups", ".paper", ".records", ".scatter", ".top")
    assert shown == ("rgb(255, 255, 255)", [".first", ".groups", ".paper"])
    assert len(page.all(".paper tr")) == 10
    assert page.pdf().startswith(b"%PDF-")


def test_the_groups_are_drawn_on_paper(page: Chromium) -> None:
    """With backgrounds left out, as browsers print: a whisker for each group, and which field and metric it is of."""

    def filled() -> int:
        """Rectangles of a colour; a background that is left out is drawn in white."""
        parts = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", page.pdf(), re.DOTALL)
        drawn = b"\n".join(zlib.decompressobj().decompress(part) for part in parts if part[:1] == b"x")
        found, colour = 0, b""
        for step in re.finditer(rb"([\d.]+ [\d.]+ [\d.]+) rg\b|\sre\s+f\b", drawn):
            colour = step[1] or colour
            found += step[1] is None and colour != b"1 1 1"
        return found

    whole = filled()
    groups = len(page.all(".rows .reach"))
    page.evaluate("document.querySelectorAll('.rows .reach').forEach((one) => one.remove())")
    assert groups == 6
    assert whole - filled() == groups
    page.send("Emulation.setEmulatedMedia", media="print")
    told = page.text(".groups .on-paper")
    page.send("Emulation.setEmulatedMedia", media="")
    assert told == "Grounding by topic"


def test_the_page_says_what_a_metric_of_another_package_says(browser: Chromium, tmp_path: Path) -> None:
    """The first card, the headline, the tab of its units with their words and quotes, the band."""
    with installed(tmp_path / "site"):
        run = evaluate(RECORDS, ["figure_support", "groundedness"], store=tmp_path / "s.db", name="figures")
        address = write_report(run, tmp_path / "report.html").as_uri()
    browser.open(address)
    assert "of a response\u2019s figures" in browser.text(".sentence").replace("'", "\u2019")
    assert browser.all(".card h2")[0] == "Figure support"
    assert browser.all(".card .meaning")[0] == "share of the response's figures that the passages state"
    browser.open(f"{address}#record=2")
    assert browser.all(".tabs button")[0].startswith("Figures")
    assert browser.all(".units thead th") == ["Figure support", "Figure", "Reasons and evidence"]
    assert [text.strip()[2:] for text in browser.all(".units .verdict")] == ["stated", "not stated", "not stated"]
    assert browser.all(".column.left .mark") != []
    assert "figures (Figure support)" in browser.text(".column.left")
    browser.click("#tab-scores")
    assert "doubtful: check the figures against the passages" in browser.text("#panel")
    assert browser.troubles() == []

"""Whoever reads with a screen reader or by keyboard alone: axe finds nothing serious on any view."""

from __future__ import annotations

import pytest
from chromium import Chromium
from page_material import Serious, Shown

pytest_plugins = ["page_fixtures"]

TABS = ("claims", "sentences", "nuggets", "bank", "trace", "methods", "panel", "scores", "calls")
VIEWS = ("", "q=nowhere", "below=grounding", *(f"record=1&tab={tab}" for tab in TABS), "record=999")


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(browser: Chromium, shown: Shown, serious: Serious, view: str) -> None:
    """Names, roles, contrast: on every view, in both looks."""
    browser.open(shown.at(view))
    for look in ("light", "dark"):
        browser.prefers(look)
        browser.until(f"matchMedia('(prefers-color-scheme: {look})').matches")
        assert serious() == [], look


@pytest.mark.parametrize("view", ["", *(f"record=1&tab={tab}" for tab in ("claims", "panel", "scores"))])
def test_heads_of_tables_say_their_roles(page: Chromium, shown: Shown, view: str) -> None:
    """Also where a narrow screen makes blocks of a table, which takes its roles away in some browsers."""
    page.open(shown.at(view))
    heads = page.all("thead", "role")
    assert heads
    assert {*heads, *page.all("thead tr", "role")} == {"rowgroup", "row"}
    assert set(page.all("thead th", "role")) == {"columnheader"}


def test_forced_colours_leave_what_is_lit_chosen_and_drawn(page: Chromium, shown: Shown) -> None:
    """They take every background: the lit claim has a frame, one tab a line, and a group its interval."""

    def styles(selector: str, name: str) -> list[str]:
        found = f"[...document.querySelectorAll('{selector}')].map((one) => getComputedStyle(one).{name})"
        return list(page.evaluate(found))

    page.send("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
    assert set(styles(".rows .reach", "backgroundColor")).isdisjoint(styles("body", "backgroundColor"))
    page.open(shown.at("record=1&tab=claims"))
    assert set(styles(".lit", "outlineStyle")) == {"solid"}
    assert len({*styles(".tabs button", "borderBottomColor")} - {*styles("body", "backgroundColor")}) == 1
    page.send("Emulation.setEmulatedMedia", features=[])


def test_everything_can_be_reached_by_tab(page: Chromium) -> None:
    """From the top through look, signature, figures, choices and search to the first line of the table."""
    reached = []
    for _ in range(60):
        page.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"look", "search", "choose-field", "choose-status", "SUMMARY", "TR"} <= set(reached)

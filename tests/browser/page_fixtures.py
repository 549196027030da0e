"""Runs to look at, their pages, and a browser to look with; one of each for all tests of a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, installed
from page_material import Serious, Shown, contrary, rows

from live_run import served
from ragstone import evaluate
from ragstone.api import write_report
from ragstone.judges.base import Judge
from ragstone.questions import Task
from ragstone.render.html.live import Live
from ragstone.testing import ScriptedJudge


@pytest.fixture(scope="session")
def running() -> Iterator[Chromium]:
    """A browser; its absence is an error where CI says that it should be there."""
    program = installed()
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium is installed; .ci/run installs it")
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with Chromium(program) as found:
        yield found


@pytest.fixture
def browser(running: Chromium) -> Chromium:
    """The browser as each test finds it: wide, light and with a network, which pages do not need."""
    running.size(1280, 900)
    running.prefers("light")
    running.offline(cut=False)
    return running


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A run with all metrics, of which a panel judged support, and one judge importance; and its page."""
    folder = tmp_path_factory.mktemp("shown")
    tasks: tuple[Task, ...] = ("support", "importance")
    second = ScriptedJudge(contrary, name="second", tasks=tasks)
    judges: list[str | Judge] = ["embedded", "support=[embedded,second]", "importance=second", second]
    run = evaluate(rows(), "all", judges, store=folder / "store.db", name="twenty-two traces")
    return Shown(run, write_report(run, folder / "report.html"))


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server of a run of three records."""
    with served(tmp_path_factory.mktemp("live"), 3) as server:
        yield server


@pytest.fixture
def page(browser: Chromium, shown: Shown) -> Chromium:
    """The browser with the page of that run open, and nothing filtered."""
    browser.open(shown.address)
    return browser


@pytest.fixture
def serious(browser: Chromium) -> Serious:
    """What axe-core, which comes with a package of the development environment, finds at least moderate on the page."""
    spec = find_spec("axe_core_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe_core_python is not installed: pip install axe-core-python")
    axe = (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")

    def look() -> list[tuple[str, str]]:
        browser.evaluate(f"{axe}; 0")
        found: list[dict[str, Any]] = browser.evaluate("axe.run().then((told) => told.violations)")
        # Names of regions need not be unique: a run may have the name of a section.
        worst = [one for one in found if one["impact"] != "minor" and one["id"] != "landmark-unique"]
        return [(one["id"], one["nodes"][0]["html"][:200]) for one in worst]

    return look

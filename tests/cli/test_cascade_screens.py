"""A cascade as it is met on the command line: the run, the record, the estimate, and what is said of odd ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from terminal import TRACES, WIDTHS, ragstone

from ragstone.render.facts import answered, saved, sureness
from ragstone.testing import FakeServer
from realistic import realistic

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("home")

CASCADE = ("-j", "embedded>house", "--cascade-error", "0.2")


def configure(url: str, more: str = "") -> None:
    table = f'[judges.house]\nmodel = "m"\nbase_url = "{url}"\napi_key_env = ""\n'
    Path("ragstone.toml").write_text(f"{more}{table}price = {{ input = 0.15, output = 0.6 }}\n", encoding="utf-8")


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_screens_of_a_cascade(columns: int) -> None:
    """The run, a record, and the estimate."""
    with FakeServer(answer=realistic) as server:
        configure(server.url)
        dry = ragstone("estimate", str(TRACES), "-m", "grounding,groundedness", *CASCADE, columns=columns)
        came = ragstone("run", str(TRACES), "-m", "grounding,groundedness", *CASCADE, "-q", columns=columns)
        shown = ragstone("show", "last", "#2", "--full", columns=columns)
    for screen in (dry, came, shown):
        assert screen.code == 0, screen.err
    assert "support: embedded > house" in came.flat
    assert "Cascade support: embedded answered " in came.flat
    assert "at an accepted error rate of 20%, embedded decides yes if its score is at least 0." in came.flat
    assert "alone would have needed, based on the cost of its calls" in came.flat
    assert "Judged support: embedded answered " in shown.flat
    assert "by embedded: " in shown.flat or "by house/m" in shown.flat
    assert "Alone house/m for all support units: " in dry.flat
    assert "--cascade-error 0.2" in dry.flat


def test_a_last_judge_that_answers_nothing_is_no_success() -> None:
    """What the first was sure of is the easy part, and its mean is not shown as if it were the whole."""
    with FakeServer(answer=lambda _: "I would rather not say.") as server:
        configure(server.url)
        came = ragstone("run", str(TRACES), "-m", "groundedness", *CASCADE, "-q", "-o", "out")
    assert came.code == 3
    doubt = "house/m judged none of the support units passed to it; the mean covers only the easy units."
    assert doubt in came.flat
    assert doubt in Path("out/report.html").read_text("utf-8")
    assert "the mean covers only the easy units" in came.flat


def test_a_last_judge_that_answers_in_part_is_told_with_the_mean() -> None:
    """What it left is the harder part; how much that is stands in the sentence and in run.json."""

    def some(request: dict[str, Any]) -> Any:
        silent = any(word in json.dumps(request) for word in ("kettle", "Titan", "Karsholm", "cello", "Norvik"))
        return "I would rather not say." if silent else realistic(request)

    with FakeServer(answer=some) as server:
        configure(server.url)
        came = ragstone("run", str(TRACES), "-m", "groundedness", *CASCADE, "-q", "-o", "out")
    told = json.loads(Path("out/run.json").read_text(encoding="utf-8"))["cascade"]["support"]
    left = told["units"] - told["answered"]["embedded"]
    assert 0 < told["unjudged"] < left
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))["cascade"]["support"]
    assert told.items() <= summary.items()
    said = f"house/m left {told['unjudged']} of the {left} support units passed to it unjudged"
    assert f"{said}; the mean favours the easy units." in came.flat


def test_what_came_of_it_is_told_in_words() -> None:
    house = "house/m@http://127.0.0.1:1/v1"
    told: dict[str, Any] = {
        "judges": ["embedded", house],
        "error": 0.05,
        "bands": [{"below": None, "above": 0.9}],
        "units": 10,
        "answered": {"embedded": 6, house: 3},
        "unjudged": 1,
        "calls": {"made": 2, "alone": 5, "saved": 3},
        "dollars": {"made": 0.5, "alone": 2.0, "saved": 1.5},
        "by": "calls",
    }
    assert answered(told).replace("\u00a0", " ") == "embedded answered 6 of 10 units (60%), house/m 3, 1 unjudged"
    said = sureness(told).replace("\u00a0", " ")
    assert said == "at an accepted error rate of 5%, embedded decides yes if its score is at least 0.9"
    assert (
        sureness({**told, "error": 1e-9})
        .replace("\u00a0", " ")
        .startswith("at an accepted error rate of under 0.01%, ")
    )
    assert sureness({**told, "bands": [{"below": None, "above": None}]}).endswith("embedded decides nothing")
    assert (
        saved(told).replace("\u00a0", " ").startswith("3 of 5 calls and $1.50 of $2.00 that house/m alone would have")
    )
    assert saved({**told, "by": "estimate"}).endswith("based on the estimate")
    unknown = {"made": None, "alone": None, "saved": None}
    assert saved({**told, "dollars": unknown}).endswith("the saved cost is unknown")
    nothing = {"made": 0.0, "alone": 0.0, "saved": 0.0}
    assert saved({**told, "dollars": nothing}).endswith("they are free")
    whole = {**told, "answered": {"embedded": 0, told["judges"][1]: 9}, "calls": {"made": 5, "alone": 5, "saved": 0}}
    assert saved(whole) == "nothing: every unit went to house/m"
    empty = {**told, "answered": {"embedded": 0, told["judges"][1]: 0}, "unjudged": 0}
    assert answered(empty).startswith("embedded answered 0 of 0")


def test_the_file_may_name_a_cascade() -> None:
    """As the judge of everything, or of a step; a rate that cannot be is refused by name."""
    with FakeServer(answer=realistic) as server:
        configure(server.url, '[run]\njudge = "embedded > house"\n[cascade]\nerror = 0.15\n')
        first = ragstone("run", str(TRACES), "-m", "groundedness", "-q", columns=120)
        configure(server.url, '[steps]\nsupport = "embedded>house"\n')
        second = ragstone("run", str(TRACES), "-m", "grounding", "-q", columns=120)
    assert "accepted error rate of 15%" in first.flat
    assert "Judge embedded support: embedded > house" in second.flat
    configure("http://127.0.0.1:9/v1", "[cascade]\nerror = 0.7\n")
    refused = ragstone("run", str(TRACES), "-q")
    assert "cascade.error = 0.7" in refused.err


def test_a_rate_without_a_cascade_is_told_to_change_nothing() -> None:
    came = ragstone("run", str(TRACES), "-m", "groundedness", "--cascade-error", "0.1", "--panel", "min", "--batch")
    assert "--panel has no effect: no step in this run has several judges" in came.err
    assert "--cascade-error has no effect: no step in this run uses a cascade" in came.err
    assert "--batch has no effect: no judge in this run uses an API" in came.err


def test_judges_are_checked_one_at_a_time() -> None:
    configure("http://127.0.0.1:9/v1")
    came = ragstone("judges", "--check", "embedded>house")
    assert came.code == 2
    assert "check them one at a time: --check house" in came.err

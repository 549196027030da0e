"""What the commands beside ``run`` would take, and their budgets; and a repeated assignment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from terminal import pasted, ragstone, refused, row, write

from ragstone.testing import FakeServer
from realistic import realistic

pytestmark = pytest.mark.usefixtures("alone")

STEPS = (
    ("nuggets", "create", "a.jsonl", "-o", "out.jsonl", "--window", "1", "--keep", "0", "--format", "autojudge"),
    ("nuggets", "assign", "a.jsonl", "-o", "out.jsonl", "--nuggets", "bank.jsonl", "--repeat", "2"),
    ("compare-methods", "a.jsonl", "-o", "out", "--on-empty", "zero"),
)
STEP = pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])


@pytest.fixture(autouse=True)
def inputs(alone: Path) -> None:
    """Twelve records of as many topics, and a bank for them."""
    facts = ("It is made of steel.", "It holds two litres.", "It boils in four minutes.")
    write(
        "a.jsonl", *(row(number, contexts=[f"Kettle {number}: {fact} " * 12 for fact in facts]) for number in range(12))
    )
    nuggets = [{"text": fact, "importance": "vital"} for fact in facts]
    write("bank.jsonl", *({"query": "What?", "qid": f"r{number}", "nuggets": nuggets} for number in range(12)))


def configure(server: FakeServer) -> None:
    price = "price = { input = 0.15, output = 0.6 }"
    table = (
        f'[run]\njudge = "house"\n[judges.house]\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = ""\n{price}\n'
    )
    Path("ragstone.toml").write_text(table, encoding="utf-8")


def lines(path: str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


@STEP
def test_a_dry_run_asks_nobody_and_holds_what_the_run_takes(step: tuple[str, ...]) -> None:
    """The command that is named as the next one is the run that was estimated; after it all is in the store."""
    with FakeServer(answer=realistic) as server:
        configure(server)
        came = ragstone(*step, "--dry-run", columns=100)
        told = ragstone(*step, "--dry-run", "--json").json
        assert (came.code, came.err, server.count) == (0, "", 0)
        assert not Path(".ragstone").exists()
        (typed,) = pasted(came.out)
        at = typed.index("--max-cost")
        assert at == (2 if step[0] == "nuggets" else 1)
        assert sorted(typed[:at] + typed[at + 2 :]) == sorted(step)
        assert ragstone(*step, "-q").code == 0
        assert 0 < told["calls"]["low"] <= server.count <= told["calls"]["high"]
        if told["exact"]:
            assert told["calls"]["expected"] == server.count
        assert "Free: every reply is in the store" in ragstone(*step, "--dry-run").flat
        again = ragstone(*step, "--dry-run", "--refresh", "--json").json
        assert (again["in_store"], again["calls"]["low"] > 0) == (0, True)


@STEP
def test_a_dry_run_is_refused_as_the_run_would_be(step: tuple[str, ...]) -> None:
    """By one line."""
    for options, said in (
        (("--offline",), "an offline run sends nothing"),
        (("-j", "nobody:knows"), "nobody"),
    ):
        assert said in refused(*step, *options, "--dry-run")


@STEP
@pytest.mark.parametrize("limit", [("--max-calls", "7"), ("--max-tokens", "15000"), ("--max-cost", "0.005")])
def test_a_budget_holds_and_the_same_command_goes_on(step: tuple[str, ...], limit: tuple[str, str]) -> None:
    """Whichever it is: exit code 4, what was done is kept, nothing is paid twice."""
    with FakeServer(answer=realistic) as server:
        configure(server)
        came = ragstone(*step, *limit, "-q")
        assert came.code == 4
        assert f"reached {limit[0]} " in came.err
        assert "run the same command again to resume; each run has its own budget" in came.err
        shown = step[0] != "nuggets" and "no record was finished" not in came.err
        assert ("Resume run the same command again;" in came.flat) == shown
        paid = server.count
        assert 0 < paid <= 7 or limit[0] != "--max-calls"
        if step[0] == "nuggets":
            assert lines("out.jsonl.partial")
        assert ragstone(*step, "-q").code == 0
        bodies = [json.dumps(request) for request in server.requests]
        assert len(bodies) == len(set(bodies)) * (2 if "--repeat" in step else 1)
        assert not Path("out.jsonl.partial").exists()


def test_a_repeated_assignment_is_that_of_the_first_time_and_says_what_flipped() -> None:
    """The lines are those of a plain one, and it pays for the other times only."""
    step = ("nuggets", "assign", "a.jsonl", "--nuggets", "bank.jsonl")
    with FakeServer(vary=True) as server:
        configure(server)
        assert ragstone(*step, "-o", "once.jsonl", "-q").code == 0
        paid = server.count
        came = ragstone(*step, "-o", "thrice.jsonl", "--repeat", "3", columns=100)
        assert server.count >= 3 * paid
        assert lines("thrice.jsonl") == lines("once.jsonl")
        assert "Asked 3 times" in came.out
        assert "flip" in came.out
        summary = ragstone(*step, "-o", "thrice.jsonl", "--repeat", "3", "--json").json
        assert summary["metrics"]["nugget_recall.strict_vital"]["repeats"]["times"] == 3

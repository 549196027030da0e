"""``ragstone estimate`` and budgets, as they are met on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from terminal import WIDTHS, pasted, ragstone, refused, row, write

from ragstone.engine.settings import Amount
from ragstone.engine.tally import Tally
from ragstone.judges.base import Usage
from ragstone.render.watch import Watch
from ragstone.testing import FakeServer

pytestmark = pytest.mark.usefixtures("alone")

PRICE = "price = { input = 0.15, output = 0.6, cached = 0.05 }"


def configure(url: str, more: str = "") -> None:
    table = f'[judges.house]\nmodel = "m"\nbase_url = "{url}"\napi_key_env = ""\n{PRICE}\n'
    Path("ragstone.toml").write_text(more + table, encoding="utf-8")


def records(count: int) -> str:
    return write("a.jsonl", *(row(number) for number in range(count)))


@pytest.mark.parametrize("columns", [40, *WIDTHS])
@pytest.mark.parametrize("judge", ["openai:gpt-4o-mini", "openai:unheard-of", "openai:gpt-4o"])
def test_no_cell_of_an_estimate_is_cut_off(judge: str, columns: int) -> None:
    """Whatever the price is, free or unknown."""
    came = ragstone("estimate", records(3), "-j", judge, "-j", "claims=embedded", columns=columns)
    assert (came.code, came.err) == (0, "")
    assert re.search(r"^ +calls .*cost$", came.out, re.MULTILINE)
    assert re.search(r"^  total +\d+ .*(\$\S*\d|\?|free)$", came.out, re.MULTILINE)


def test_an_estimate_says_what_it_stands_on() -> None:
    """Exact calls, the price with its source, how tokens were counted, and the run to make, as it can be typed."""
    configure("http://127.0.0.1:9/v1")
    came = ragstone("estimate", records(4), "-m", "groundedness", "-j", "house", columns=100)
    assert "This run would make 4 calls, cost $0.00" in came.flat
    assert "per million tokens, $0.15 in, $0.60 out, $0.05 cached (ragstone.toml)" in came.flat
    assert "house/m: estimated from text length" in came.flat
    assert "tokens per reply (step support): " in came.flat
    ((first, flag, most, *words),) = pasted(came.out)
    assert (first, flag) == ("run", "--max-cost")
    assert words == ["a.jsonl", "-m", "groundedness", "-j", "house"]
    found = ragstone("estimate", "a.jsonl", "-m", "groundedness", "-j", "house", "--json").json
    last = 4096 * 0.6 / 1e6  # dollars of the longest reply, which has to fit to the end
    assert found["dollars"]["high"] + last < float(most) < 1.5 * (found["dollars"]["high"] + last)
    assert found["exact"] is True
    assert found["metrics"][0]["steps"][0]["step"] == "support"
    assert not Path(".ragstone").exists()


def test_an_estimate_names_the_option_that_brings_a_field() -> None:
    """As the run would: the metrics that need it are left out of both."""
    write("a.jsonl", {"id": "a", "question": "q", "response": "r", "retrievedDocs": ["c"]})
    told = "note: no contexts; did you mean --field contexts=retrievedDocs?\n"
    assert ragstone("estimate", "a.jsonl").err == told
    assert told in ragstone("run", "a.jsonl").err


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_run_to_make_can_be_pasted(columns: int) -> None:
    """At any width it is one command; the budget stands in its first line, so that half of it has a limit, too."""
    configure("http://127.0.0.1:9/v1")
    Path("ragstone.toml").rename("of the house.toml")
    options = ("-m", "groundedness", "-j", "house", "--config", "of the house.toml", "--store", "s" * 70 + ".db")
    came = ragstone("estimate", records(4), *options, columns=columns)
    ((first, flag, _, *words),) = pasted(came.out)
    assert (first, flag) == ("run", "--max-cost")
    assert sorted(words) == sorted(["a.jsonl", *options])
    line = next(line for line in came.out.splitlines() if "Next " in line)
    assert " --max-cost 0." in line


@pytest.mark.parametrize("limit", ["--max-calls", "--max-tokens", "--max-cost"])
def test_a_budget_that_was_given_goes_before_all_else(limit: str) -> None:
    configure("http://127.0.0.1:9/v1")
    came = ragstone("estimate", records(4), "-m", "groundedness", "-j", "house", limit, "70000")
    assert pasted(came.out) == [["run", limit, "70000", "a.jsonl", "-m", "groundedness", "-j", "house"]]
    low = ragstone("estimate", "a.jsonl", "-m", "groundedness", "-j", "house", limit, "0")
    assert "Budget below the estimate: the run would stop early" in low.flat
    ((_, flag, most, *_),) = pasted(low.out)
    assert (flag, float(most) > 0) == ("--max-cost", True)


def test_an_unknown_price_is_said_to_be_unknown() -> None:
    """Once, before the sentence, and not in every row; with a budget in dollars also that it cannot be kept."""
    came = ragstone("estimate", records(2), "-m", "groundedness", "-j", "openai:unheard-of", "--max-cost", "1")
    assert came.flat.count("rice unknown") == 1
    assert "Price unknown: openai/unheard-of. This run would make" in came.flat
    assert "cannot be checked in dollars" in came.flat
    assert "free" not in came.flat
    assert "cannot be enforced: the price of openai/unheard-of is unknown" in refused(
        "run", "a.jsonl", "-m", "groundedness", "-j", "openai:unheard-of", "--max-cost", "1"
    )


def test_a_budget_ends_a_run_with_4_and_what_was_done() -> None:
    """The result of what is done, the reason, and what to do next; the same command again goes on."""
    with FakeServer() as server:
        configure(server.url)
        asked = ("run", records(9), "-m", "groundedness", "-j", "house", "--max-calls", "6", "-q")
        came = ragstone(*asked)
        assert came.code == 4
        assert "6 records · stopped" in came.out
        assert "error: reached --max-calls 6" in came.err
        assert "hint: run the same command again to resume; each run has its own budget" in came.err
        assert "finished records are saved as run 1 (6 records)" in came.err
        assert ragstone(*asked).code == 0
        assert server.count == 9
        assert len(ragstone("runs", "--json").json) == 2


def test_a_budget_reached_as_json() -> None:
    """The summary of what is done, and the code."""
    with FakeServer() as server:
        configure(server.url, "[run]\nmax_calls = 2\n")
        came = ragstone("run", records(5), "-m", "groundedness", "-j", "house", "--json", "-q")
        assert came.code == 4
        assert (came.json["status"], came.json["records"]) == ("stopped", 2)


def test_a_budget_of_nothing_leaves_nothing_behind() -> None:
    """No call, no run."""
    with FakeServer() as server:
        configure(server.url)
        came = ragstone("run", records(5), "-m", "groundedness", "-j", "house", "--max-cost", "0", "-q")
        assert (came.code, came.out, server.count) == (4, "", 0)
        assert "reached --max-cost 0" in came.err
        assert "No runs yet" in ragstone("runs").out


def test_a_flag_wins_over_the_file_limit_by_limit() -> None:
    with FakeServer() as server:
        configure(server.url, "[run]\nmax_calls = 2\nmax_tokens = 1000000\n")
        asked = ("run", records(3), "-m", "groundedness", "-j", "house", "--max-calls", "50", "-q", "-o", "out")
        assert ragstone(*asked).code == 0
        limits = json.loads(Path("out/run.json").read_text(encoding="utf-8"))["engine"]["limits"]
        assert limits == {"cost": None, "calls": 50, "tokens": 1000000}


def test_compare_methods_shows_what_was_done_within_a_budget() -> None:
    with FakeServer() as server:
        configure(server.url)
        asked = ("compare-methods", records(9), "-j", "house", "-q")
        assert ragstone(*asked, "--store", "all.db").code == 0
        came = ragstone(*asked, "--max-calls", str(server.count - 1))
        assert came.code == 4
        assert "8 records · stopped" in came.out


def test_the_bill_is_told_with_its_estimate() -> None:
    """After a run that costs, unless it is not wanted; cached tokens are a part of the input."""
    with FakeServer(cached_share=0.5) as server:
        configure(server.url)
        came = ragstone("run", records(4), "-m", "groundedness", "-j", "house", "-q")
        assert "Estimated" in came.out
        assert "the bill" in came.flat
        assert "cached)" in came.flat
        came = ragstone("run", "a.jsonl", "-m", "answer_relevance", "-j", "house", "-q", "--no-estimate")
        assert "Estimated" not in came.out
        assert "Estimated" not in ragstone("run", "a.jsonl", "-q").out
        assert "Estimated" in ragstone("run", "a.jsonl", "-m", "groundedness", "-q", "--estimate").out


def test_the_price_of_a_judge_of_ones_own_is_listed() -> None:
    """With where it is from; unknown where it is."""
    configure("http://127.0.0.1:9/v1", '[judges.other]\nmodel = "x"\nbase_url = "http://127.0.0.1:9/v1"\n')
    came = ragstone("judges", columns=100)
    assert "per million tokens, $0.15 in, $0.60 out, $0.05 cached (ragstone.toml)" in came.flat
    assert "price: unknown; set it in a [judges.NAME] table" in came.flat


def test_money_is_shown_against_the_budget_or_the_estimate() -> None:
    """While the run goes on; where there is neither, alone."""
    tally = Tally()
    tally.pay("j", "support", Usage(10, 10), 0.5)
    watch = Watch(tally, 3, "a")
    assert "$0.50" in watch.counts()
    tally.expected = 2.0
    assert "$0.50 of about $2.00" in watch.counts()
    tally.budget = 2.5
    assert "$0.50 of at most $2.50" in watch.counts()
    tally.most_calls, tally.most_tokens, tally.charged = 500, 10_000, Amount(calls=7)
    assert "7 of at most 500 calls" in watch.counts()
    assert "10 in, 10 out of at most 10.0k tokens" in watch.counts()


def test_a_part_of_the_input_is_estimated_run_and_told() -> None:
    """The estimate is of the sample, the command to paste has it, and the run says of how many records it is."""
    came = ragstone("estimate", records(8), "-m", "groundedness", "--sample", "3", "--seed", "5", columns=100)
    assert "3 records · sample of 8 (seed 5)" in came.flat
    ((_, *words),) = pasted(came.out)
    assert words == ["a.jsonl", "-m", "groundedness", "--sample", "3", "--seed", "5"]
    ran = ragstone("run", *words, "-q", "-o", "out")
    assert "run 1 · 3 records · sample of 8 (seed 5)" in ran.flat
    assert json.loads(Path("out/run.json").read_bytes())["extent"] == {"sample": 3, "of": 8, "seed": 5}
    assert '"Input"' in Path("out/report.html").read_text(encoding="utf-8")
    assert "7 records · first 7 only" in ragstone("run", "a.jsonl", "-m", "groundedness", "--limit", "7", "-q").flat
    told = refused("run", "a.jsonl", "-m", "groundedness", "--only-failed", columns=200)
    assert "it used part of the input: first 7 only" in told
    compared = ragstone("compare", "out/", "2").flat
    assert "The results of run 1 cover only part of its input: sample of 8 (seed 5)." in compared
    assert "The results of run 2 cover only part of its input: first 7 only." in compared

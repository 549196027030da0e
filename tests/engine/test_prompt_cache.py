"""Calls that begin alike use the provider's prompt cache: one goes first, and the bill and the estimate know."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ragstone
from ragstone import prompts
from ragstone.testing import FakeServer

sys.path.insert(0, str(Path(__file__).parents[1]))
from realistic import realistic

OFF = 'prompts = { structured = "off" }'
OWN = 'prompts = { support = "./own.md" }'
DIALECTS = pytest.mark.parametrize("dialect", ["openai", "anthropic"])
PASSAGE = " ".join(f"Kettle {number} holds {number} litres and is made of steel." for number in range(165))
SHORT = "It holds 5 litres and is made of steel. It was sold in three shops in 1999, at half the usual price."
RESPONSE = " ".join(f"Kettle {number} holds {number} litres." for number in range(50))


def rows(response: str, passage: str = PASSAGE) -> list[dict[str, Any]]:
    return [
        {"id": f"r{n}", "question": "What?", "contexts": [f"Shop {n}. {passage}"], "response": f"Shop {n}. {response}"}
        for n in range(4)
    ]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(prefix_cache=1024, latency=0.02, answer=realistic) as ready:
        yield ready


def settings(folder: Path, server: FakeServer, dialect: str, more: str = "") -> dict[str, Any]:
    (folder / "r.toml").write_text(
        f'[judges.it]\nprovider = "{dialect}"\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = ""\n'
        f"price = {{ input = 10, output = 0, cached = 1 }}\n{more}\n"
    )
    return {"config": folder / "r.toml", "store": folder / "s.db"}


def paid(records: list[dict[str, Any]], metrics: str, given: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """The bill, and the cost that a cold estimate expected."""
    expected = ragstone.estimate(records, metrics.split(), "it", **given).total.dollars
    assert expected is not None
    return ragstone.evaluate(records, metrics.split(), "it", **given).summary()["bill"]["paid"], expected.expected


@DIALECTS
def test_the_first_of_calls_that_begin_alike_goes_alone(tmp_path: Path, dialect: str, server: FakeServer) -> None:
    """50 sentences are three calls: two find the first one's passages in the cache, which bill and estimate price."""
    given = settings(tmp_path, server, dialect, OFF)
    bill, expected = paid(rows(RESPONSE), "groundedness", given)
    assert (bill["calls"], server.count) == (12, 12)
    assert 0.45 * bill["input_tokens"] < bill["cached_tokens"] < 0.67 * bill["input_tokens"]
    cost = (10 * (bill["input_tokens"] - bill["cached_tokens"]) + bill["cached_tokens"]) / 1e6
    if dialect == "anthropic":  # also charges a quarter more for writing to the cache
        assert cost < bill["dollars"] < 1.25 * cost
    else:
        assert bill["dollars"] == pytest.approx(cost)
    assert expected == pytest.approx(bill["dollars"], rel=0.1), "it does not know how the endpoint counts"
    again = ragstone.estimate(rows(RESPONSE), "groundedness", "it", refresh=True, **given).total.dollars
    assert again is not None
    assert again.expected == pytest.approx(bill["dollars"], rel=0.02)


@DIALECTS
def test_metrics_share_the_passages_of_a_record(tmp_path: Path, dialect: str, server: FakeServer) -> None:
    """The second step about the same passages finds them in the cache; the call that needs none of them does not."""
    metrics = "groundedness response_groundedness"
    bill, expected = paid(rows(SHORT), metrics, settings(tmp_path, server, dialect, OFF))
    assert (bill["calls"], server.count) == (8, 8)
    assert 0.4 < bill["cached_tokens"] / bill["input_tokens"] < 0.5
    assert expected == pytest.approx(bill["dollars"], rel=0.1)


@DIALECTS
@pytest.mark.parametrize(
    ("metrics", "passage", "more"),
    [
        ("groundedness", PASSAGE, OFF),
        ("groundedness response_groundedness", PASSAGE[:3000], OFF),
        ("groundedness grounding", PASSAGE, ""),
        ("groundedness grounding", PASSAGE, OWN),
    ],
)
def test_a_call_that_shares_nothing_goes_out_as_it_is(
    alone: Path, dialect: str, server: FakeServer, metrics: str, passage: str, more: str
) -> None:
    """A call alone, passages too short, a schema that is read before them, a code of each call's own before them."""
    text = prompts.load("support").text.replace("{{ code }}", "{{ nonce }}")
    (alone / "own.md").write_text(text, encoding="utf-8")
    bill, expected = paid(rows(SHORT, passage), metrics, settings(alone, server, dialect, more))
    assert not bill["cached_tokens"]
    assert expected == pytest.approx(bill["dollars"], rel=0.1)
    assert "cache_control" not in str(server.requests)
    assert more == OFF or all("json_schema" in str(request) for request in server.requests)


@DIALECTS
def test_the_order_of_metrics_does_not_change_the_expected_cost(
    tmp_path: Path, dialect: str, server: FakeServer
) -> None:
    """Passages that a metric about assumed claims puts into the cache are read there by the next metric."""
    given = settings(tmp_path, server, dialect, OFF)
    costs = [
        ragstone.estimate(rows(SHORT), metrics.split(), "it", **given).total.dollars
        for metrics in ("grounding groundedness", "groundedness grounding")
    ]
    assert costs[0] is not None
    assert costs[1] is not None
    assert costs[0].expected == pytest.approx(costs[1].expected, rel=0.01)
    assert costs[0].high == pytest.approx(costs[1].high, rel=0.01)

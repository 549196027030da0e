"""Calls that begin alike use the provider's prompt cache: one goes first, and the bill and the estimate know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragstone
from ragstone.testing import FakeServer

PASSAGE = " ".join(f"Kettle {number} holds {number} litres and is made of steel." for number in range(160))
RESPONSE = " ".join(f"Kettle {number} holds {number} litres." for number in range(50))
RECORDS = [
    {"id": f"r{n}", "question": "What?", "contexts": [f"Shop {n}. {PASSAGE}"], "response": RESPONSE} for n in range(4)
]


def settings(folder: Path, server: FakeServer, dialect: str) -> dict[str, Any]:
    (folder / "r.toml").write_text(
        f'[judges.it]\nprovider = "{dialect}"\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = ""\n'
        "price = { input = 10, output = 0, cached = 1 }\n"
    )
    return {"config": folder / "r.toml", "store": folder / "s.db"}


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_the_first_of_calls_that_begin_alike_goes_alone(tmp_path: Path, dialect: str) -> None:
    """50 sentences are three calls: two find the first one's passages in the cache, which bill and estimate price.

    A call alone shares nothing, and has no mark for a cache, since writing to one costs more.
    """
    with FakeServer(prefix_cache=1024, latency=0.02) as server:
        given = settings(tmp_path, server, dialect)
        fresh = ragstone.estimate(RECORDS, "groundedness", "it", **given).total.dollars
        paid = ragstone.evaluate(RECORDS, "groundedness", "it", **given).summary()["bill"]["paid"]
        assert (paid["calls"], server.count) == (12, 12)
        assert 0.5 * paid["input_tokens"] < paid["cached_tokens"] < 0.67 * paid["input_tokens"]
        cost = (10 * (paid["input_tokens"] - paid["cached_tokens"]) + paid["cached_tokens"]) / 1e6
        assert paid["dollars"] == pytest.approx(cost)
        again = ragstone.estimate(RECORDS, "groundedness", "it", refresh=True, **given).total.dollars
        assert fresh is not None
        assert again is not None
        assert again.expected == pytest.approx(cost, rel=0.02)
        assert again.expected < 0.6 * fresh.expected
        server.reset()
        ragstone.evaluate([{**RECORDS[0], "response": "It boils."}], "groundedness", "it", **given)
        assert "cache_control" not in str(server.requests)

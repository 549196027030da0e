"""The flex tier: half the price for the same answers, later, and the standard tier where the user wants that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragstone
from ragstone.config import resolve
from ragstone.engine import calls as engine_calls
from ragstone.errors import ConfigError
from ragstone.options import RunOptions
from ragstone.testing import FakeServer, Scripted

ROWS = [{"id": f"r{n}", "question": "What?", "response": f"It is {n}.", "contexts": [f"It is {n}."]} for n in range(6)]
FULL = Scripted("Resource Unavailable", status=429)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setattr(engine_calls, "_backoff", lambda attempt: 0.01)


def given(folder: Path, server: FakeServer, table: str = "") -> dict[str, Any]:
    """The options of a run by a judge at this server with a tier of its own."""
    (folder / "r.toml").write_text(
        f'[judges.it]\nprovider = "openai"\nmodel = "gpt-4o-mini"\nbase_url = "{server.url}"\n{table}\n'
    )
    return {"metrics": "grounding", "judge": "it", "config": folder / "r.toml", "store": folder / "s.db"}


def bill(options: dict[str, Any], **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = ragstone.evaluate(ROWS, **options, **more).summary()["bill"]
    return found


def test_flex_costs_half_as_the_estimate_said_and_asks_nothing_again(tmp_path: Path) -> None:
    """The tier is no part of a call: a run of the other tier finds its replies, and what they cost is kept."""
    with FakeServer() as server:
        options = given(tmp_path, server)
        paid = bill(options, tier="flex")["paid"]
        assert {request["service_tier"] for request in server.requests} == {"flex"}
        calls = server.count
        assert bill(options)["sent"] == 0
        kept = [call["dollars"] for result in ragstone.evaluate(ROWS, **options).results() for call in result["calls"]]
        assert sum(kept) == pytest.approx(paid["dollars"])
        assert bill(options, refresh=True, tier="standard")["paid"]["dollars"] == pytest.approx(2 * paid["dollars"])
        assert server.count == 2 * calls
        assert "service_tier" not in server.requests[-1]
        said, dear = (ragstone.estimate(ROWS, tier=tier, refresh=True, **options) for tier in ("flex", "standard"))
    found, standard = said.total.dollars, dear.total.dollars
    assert found is not None
    assert standard is not None
    assert found.low <= paid["dollars"] <= found.high
    assert found.expected == pytest.approx(standard.expected / 2)
    assert said.prices[0].as_json()["source"] == "genai-prices, flex"
    assert said.prices[0].price == pytest.approx((0.075, 0.3, 0.0375))


def test_a_tier_without_capacity_is_waited_for(tmp_path: Path) -> None:
    """That costs no try, and is told apart from a rate limit."""
    with FakeServer(script=[FULL] * 9) as server:
        found = bill(given(tmp_path, server, 'tier = "flex"'))
    assert (found["failed"], found["retry_causes"]) == (0, {"no flex capacity": 9})


def test_the_standard_tier_is_asked_only_on_request(tmp_path: Path) -> None:
    """At its own price, with a note; also where the model has no flex tier at all."""
    unknown = Scripted("Invalid service_tier argument: flex is not available for this model", status=400)

    def answer(request: dict[str, Any]) -> Any:
        if "service_tier" not in request:
            return None
        return FULL if "It is 1" in str(request["messages"]) else unknown

    with FakeServer(answer=answer) as server:
        options = given(tmp_path, server, 'tier = "flex"\ntier_fallback = true')
        found = bill(options)
        cheap = bill(options, refresh=True, tier="standard")
        assert found["paid"]["dollars"] == pytest.approx(cheap["paid"]["dollars"])
        assert sum(found["notes"].values()) == found["answered"]
        assert "the flex tier had no capacity; used the standard tier" in next(iter(found["notes"]))
        failed = ragstone.evaluate(ROWS[2:], **given(tmp_path, server, 'tier = "flex"'), refresh=True)
        reasons = [score["reason"] for result in failed.results() for score in result["scores"]]
    assert all("tier_fallback = true" in reason for reason in reasons)


def test_a_tier_has_the_providers_price_and_patience(tmp_path: Path) -> None:
    def spec(judge: str, **more: Any) -> Any:
        found = resolve(RunOptions(judge=judge, config=more.pop("config", None), **more))
        return next(iter(found.judges.values())), found.engine.deadline

    made, deadline = spec("openai:m", tier="flex")
    assert (made.tier, made.timeout, deadline) == ("flex", 900.0, 900.0)
    assert spec("groq:m", tier="flex")[0].preset.flex == 1.0
    with FakeServer() as server:
        given(tmp_path, server, 'tier = "flex"\ntimeout = 1000')
    made, deadline = spec("it", config=tmp_path / "r.toml")
    assert (made.tier, made.timeout, deadline) == ("flex", 1000.0, 1000.0)
    assert spec("it", config=tmp_path / "r.toml", tier="standard")[0].tier == "standard"
    assert spec("embedded", tier="flex")[0].tier == "standard"
    with pytest.raises(
        ConfigError,
        match="judge 'anthropic:m': its provider has no flex tier; providers with one: azure, gemini, groq, ",
    ):
        spec("anthropic:m", tier="flex")

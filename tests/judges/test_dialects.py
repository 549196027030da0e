"""A second dialect takes one file and one entry point, and everything that a run does works with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from echo_dialect import echo_server

import ragstone
from ragstone.engine.queue import Queues
from ragstone.errors import ConfigError
from ragstone.judges.catalogue import build
from ragstone.judges.spec import parse, providers
from ragstone.questions import YES_NO, Rate
from ragstone.types import Unit

ROWS = [{"id": f"r{n}", "question": "What?", "response": f"It is {n}.", "contexts": [f"It is {n}."]} for n in range(6)]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with an entry point, which a test may change, is installed."""
    info = tmp_path / "echo-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ragstone.judges]\necho = echo_dialect:ECHO\n")
    monkeypatch.syspath_prepend(tmp_path)
    providers.cache_clear()
    yield info / "entry_points.txt"
    providers.cache_clear()


def weigh(folder: Path, **options: Any) -> Any:
    return ragstone.evaluate(
        ROWS, ["grounding"], "mine", config=folder / "r.toml", store=folder / "s.db", out=folder / "o", **options
    )


def test_a_run_asks_paces_bills_and_caches_through_another_dialect(installed: Path, tmp_path: Path) -> None:
    """With a limit of tokens a minute, a price and a budget of its own."""
    asked: list[Any] = []
    with echo_server(asked) as url:
        (tmp_path / "r.toml").write_text(
            f'[judges.mine]\nprovider = "echo"\nmodel = "m"\nbase_url = "{url}"\ntpm = 10000000\n'
            "price = { input = 10, output = 100 }\n"
        )
        bill = weigh(tmp_path, max_cost=100).summary()["bill"]
        calls = len(asked)
        assert calls >= len(ROWS)
        assert all(set(request) == {"to", "said", "form", "longest"} for request in asked)
        assert (bill["sent"], bill["paid"]["input_tokens"], bill["paid"]["output_tokens"]) == (
            calls, 100 * calls, 30 * calls,
        )  # fmt: skip
        assert bill["paid"]["dollars"] == pytest.approx(calls * 0.004)
        again = weigh(tmp_path).summary()["bill"]
        assert (again["sent"], len(asked)) == (0, calls)
        with pytest.raises(ragstone.BudgetReached, match="less than one call may use"):
            weigh(tmp_path, max_cost=0.01, refresh=True)
        assert len(asked) == calls


def test_pacing_and_estimates_read_the_size_of_a_request(installed: Path) -> None:
    """The longest reply that it allows is kept free until some have come; only its texts are counted."""
    judge = build(parse("echo:m"))
    (call,) = next(judge.dialogue(Rate("relevance", (Unit("u", "claim", "It boils."),), YES_NO, question="Why?")))

    async def expected() -> int:
        return Queues([(judge.backend, "m")], 5, 60.0).of(judge.backend).tokens.of(call)[0]

    tokens = asyncio.run(expected())
    assert 1054 < tokens < 1054 + len(call.body)
    assert b"longest" in call.body


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo = echo_dialect:NOTHING", "has no attribute 'NOTHING'"),
        ("echo = echo_dialect:EchoBackend", "not a Preset"),
    ],
)
def test_an_entry_point_that_is_no_provider_is_refused_by_name(installed: Path, line: str, said: str) -> None:
    installed.write_text(f"[ragstone.judges]\n{line}\n")
    with pytest.raises(ConfigError, match=f"the provider 'echo'.*{said}"):
        parse("echo:m")

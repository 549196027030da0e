"""Tokens to money: the user's own prices, the public ones, and the unknown, which are never 0."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.prices import PriceBook

TOKENS = st.integers(0, 10_000_000)


def test_the_users_price_is_per_million_tokens() -> None:
    """Two dollars in, eight out: a million of each is ten dollars."""
    book = PriceBook({"mine/m": (2.0, 8.0)})
    assert book.cost("mine/m", "", "m", input_tokens=1_000_000, output_tokens=1_000_000) == 10.0
    assert book.cost("mine/m", "", "m", input_tokens=500, output_tokens=25) == pytest.approx(0.0012)
    assert book.cost("mine/m", "", "m", input_tokens=0, output_tokens=0) == 0.0


def test_the_users_price_wins_over_the_public_one() -> None:
    own = PriceBook({"openai/gpt-4o-mini": (100.0, 100.0)})
    price = own.cost("openai/gpt-4o-mini", "openai", "gpt-4o-mini", input_tokens=1000, output_tokens=0)
    assert price == pytest.approx(0.1)


def test_anthropic_charges_for_writing_to_its_cache_whoever_gives_the_price() -> None:
    """Input that is written there costs a quarter more, in the user's own prices as in the public ones."""
    tokens = {"input_tokens": 10_000, "output_tokens": 100, "cached_tokens": 2_000, "saved_tokens": 5_000}
    own = PriceBook({"mine": (3.0, 15.0, 0.3)}).cost("mine", "anthropic", "claude-sonnet-4-5", **tokens)
    public = PriceBook().cost("anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5", **tokens)
    assert own == pytest.approx(public)
    assert own == pytest.approx((3_000 * 3 + 5_000 * 3.75 + 2_000 * 0.3 + 100 * 15) / 1e6)


def test_free_is_a_price() -> None:
    """A price of 0 that the user gave is 0, not unknown."""
    assert PriceBook({"m": (0.0, 0.0)}).cost("m", "", "m", input_tokens=99, output_tokens=99) == 0.0


def test_a_public_price_is_known_offline() -> None:
    """gpt-4o-mini: 0.15 dollars a million in, 0.60 out, half of the input's for what the cache served."""
    book = PriceBook()

    def cost(**tokens: int) -> float | None:
        return book.cost("openai/gpt-4o-mini", "openai", "gpt-4o-mini", **{"output_tokens": 0, **tokens})

    assert cost(input_tokens=1_000_000) == pytest.approx(0.15)
    assert cost(input_tokens=0, output_tokens=1_000_000) == pytest.approx(0.60)
    assert cost(input_tokens=1_000_000, cached_tokens=1_000_000) == pytest.approx(0.075)
    assert cost(input_tokens=1_000_000, cached_tokens=400_000) == pytest.approx(0.6 * 0.15 + 0.4 * 0.075)


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "no-such-model-at-all"), ("no-such-provider", "gpt-4o"), ("", "gpt-4o"), ("openai", ""), ("vllm", "x")],
)
def test_an_unknown_price_is_unknown(provider: str, model: str) -> None:
    """None, never 0."""
    assert PriceBook().cost(f"{provider}/{model}", provider, model, input_tokens=1, output_tokens=1) is None


def test_a_misspelt_model_has_a_nearest_one() -> None:
    """Of its provider, where no price is known; a name like no other has none."""
    asked = [
        ("openai", "gpt-4o-mni"),
        ("gemini", "gemini-2.5-flsh"),
        ("openai", "gpt-4o"),
        ("openai", "x"),
        ("vllm", "m"),
    ]
    found = [PriceBook().nearest(f"{provider}/{model}", provider, model) for provider, model in asked]
    assert found == ["gpt-4o-mini", "gemini-2.5-flash", "", "", ""]


def test_the_provider_of_a_preset_is_found_under_its_public_name() -> None:
    """Gemini's prices stand under Google."""
    book = PriceBook()
    price = book.cost("gemini/x", "gemini", "gemini-2.0-flash", input_tokens=1_000_000, output_tokens=0)
    assert price is not None
    assert price > 0


def test_more_cached_than_sent_is_taken_as_all() -> None:
    """An endpoint that counts wrong makes no negative price."""
    book = PriceBook()
    price = book.cost(
        "openai/gpt-4o-mini", "openai", "gpt-4o-mini", input_tokens=100, output_tokens=0, cached_tokens=10**6
    )
    assert price == pytest.approx(100 * 0.075 / 1e6)


@given(TOKENS, TOKENS, TOKENS)
def test_more_tokens_never_cost_less(given: int, written: int, more: int) -> None:
    book = PriceBook({"m": (0.15, 0.6)})

    def cost(given: int, written: int) -> float:
        price = book.cost("m", "", "m", input_tokens=given, output_tokens=written)
        assert price is not None
        return price

    assert 0 <= cost(given, written) <= cost(given + more, written)
    assert cost(given, written) <= cost(given, written + more)


def test_long_requests_may_cost_more() -> None:
    """Gemini 2.5 Pro doubles its price of input beyond 200,000 tokens, for the whole request."""
    book = PriceBook()

    def cost(length: int) -> float:
        found = book.cost("gemini/x", "gemini", "gemini-2.5-pro", input_tokens=length, output_tokens=0)
        assert found is not None
        return found / length * 1_000_000

    assert cost(100_000) == pytest.approx(1.25)
    assert cost(200_000) == pytest.approx(1.25)
    assert cost(200_001) == pytest.approx(2.5)
    assert len(book.prices("gemini/x", "gemini", "gemini-2.5-pro")) == 2


def test_where_a_price_is_from_is_told() -> None:
    book = PriceBook({"mine": (1.0, 2.0)})
    assert book.source("mine", "", "m") == "ragstone.toml"
    assert book.source("openai/gpt-4o-mini", "openai", "gpt-4o-mini") == "genai-prices"
    assert book.source("openai/x", "openai", "no-such-model-at-all") == ""
    assert book.source("a judge of one's own name", "openai", "gpt-4o-mini") == "genai-prices"

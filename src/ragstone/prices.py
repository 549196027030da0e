"""Tokens to money, in US dollars. An unknown price is None, said to be unknown, and never 0."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

_PER = Decimal(1_000_000)


class PriceBook:
    """What calls cost, by judge.

    ``own`` maps a judge's id to the (input, output) dollars per million tokens that the user gave; everything
    else is looked up offline by provider and model in genai-prices.
    """

    def __init__(self, own: Mapping[str, tuple[float, float]] | None = None) -> None:
        self._own = dict(own or {})
        self._known: dict[tuple[str, str, str], tuple[Decimal, Decimal, Decimal] | None] = {}

    def costs_nothing(self, judge: str) -> bool:
        """Whether the user's own price for the judge is nothing, whatever its usage."""
        return self._own.get(judge) == (0.0, 0.0)

    def cost(
        self, judge: str, provider: str, model: str, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0
    ) -> float | None:
        """Dollars for one call; None when the price is unknown.

        ``cached_tokens`` are the part of the input that the provider served from its prefix cache.
        """
        price = self._price(judge, provider, model)
        if price is None:
            return None
        fresh, output, cached = price
        cached_tokens = min(cached_tokens, input_tokens)
        total = fresh * (input_tokens - cached_tokens) + cached * cached_tokens + output * output_tokens
        return float(total / _PER)

    def _price(self, judge: str, provider: str, model: str) -> tuple[Decimal, Decimal, Decimal] | None:
        at = (judge, provider, model)
        if at not in self._known:
            self._known[at] = self._look_up(*at)
        return self._known[at]

    def _look_up(self, judge: str, provider: str, model: str) -> tuple[Decimal, Decimal, Decimal] | None:
        if judge in self._own:
            fresh, output = (Decimal(str(dollars)) for dollars in self._own[judge])
            return fresh, output, fresh
        if not provider or not model:
            return None
        from genai_prices import Usage, calc_price  # noqa: PLC0415 - 120 ms to import, and only where money is spent

        def dollars(usage: Usage) -> Decimal:
            return calc_price(usage, model_ref=model, provider_id=_provider(provider)).total_price

        million = 1_000_000
        try:
            fresh = dollars(Usage(input_tokens=1000)) * 1000
            output = dollars(Usage(output_tokens=million))
            cached = dollars(Usage(input_tokens=1000, cache_read_tokens=1000)) * 1000
        except (LookupError, ValueError):
            return None
        return fresh, output, cached


def _provider(provider: str) -> str:
    return {"gemini": "google"}.get(provider, provider)

"""Prices of tokens in US dollars. An unknown price is None, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final

from msgspec import Struct

_PER: Final = Decimal(1_000_000)
_PUBLIC: Final = {"gemini": "google"}
"""Providers that have another name in genai-prices."""
_SAVED: Final = {"anthropic": Decimal("1.25")}
"""The price of input written to the provider's cache, as a multiple of other input, unless it is the same."""


class Price(Struct, frozen=True):
    """Dollars per million tokens, for requests with more than ``above`` input tokens.

    ``cached`` is for input that the provider reads from its prefix cache, ``saved`` for input that it writes there.
    """

    input: Decimal
    output: Decimal
    cached: Decimal
    saved: Decimal
    above: int = 0


class PriceBook:
    """Prices of calls, by judge.

    ``own`` maps a judge's id to the user's own prices in dollars per million tokens: (input, output) or (input, output,
    cached input). Everything else is looked up offline in genai-prices, by provider and model.
    """

    def __init__(self, own: Mapping[str, Sequence[float]] | None = None) -> None:
        self._own = {judge: tuple(price) for judge, price in (own or {}).items()}
        self._known: dict[tuple[str, str, str], tuple[Price, ...]] = {}

    def costs_nothing(self, judge: str) -> bool:
        """Return whether the user's own price for the judge is 0."""
        return judge in self._own and not any(self._own[judge])

    def cost(
        self,
        judge: str,
        provider: str,
        model: str,
        *,
        input_tokens: int,
        output_tokens: int,
        cached_tokens: int = 0,
        saved_tokens: int = 0,
    ) -> float | None:
        """Return the dollars of one call; None if the price is unknown.

        ``cached_tokens`` are the part of the input that the provider read from its prefix cache, ``saved_tokens`` the
        part that it wrote there.
        """
        prices = self.prices(judge, provider, model)
        if not prices:
            return None
        price = next(band for band in reversed(prices) if input_tokens > band.above or not band.above)
        cached_tokens = min(cached_tokens, input_tokens)
        saved_tokens = min(saved_tokens, input_tokens - cached_tokens)
        total = price.input * (input_tokens - cached_tokens - saved_tokens)
        total += price.cached * cached_tokens + price.saved * saved_tokens
        return float((total + price.output * output_tokens) / _PER)

    def prices(self, judge: str, provider: str, model: str) -> tuple[Price, ...]:
        """Return the judge's prices, with those for the longest requests last; empty if unknown."""
        at = (judge, provider, model)
        if at not in self._known:
            self._known[at] = self._look_up(*at)
        return self._known[at]

    def source(self, judge: str, provider: str, model: str) -> str:
        """Return the source of the judge's price: ``ragstone.toml``, ``genai-prices``, or empty if unknown."""
        if judge in self._own:
            return "ragstone.toml"
        return "genai-prices" if self.prices(judge, provider, model) else ""

    def nearest(self, judge: str, provider: str, model: str) -> str:
        """Return the provider's model with the most similar name if the price is unknown; empty if there is none."""
        if not provider or not model or self.prices(judge, provider, model):
            return ""
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - only a mistake needs it

        try:
            known = get_snapshot().find_provider(None, _PUBLIC.get(provider, provider), None)
        except LookupError:
            return ""
        return next(iter(get_close_matches(model, [one.id for one in known.models], n=1, cutoff=0.85)), "")

    def _look_up(self, judge: str, provider: str, model: str) -> tuple[Price, ...]:
        if judge in self._own:
            fresh, output, *cached = (Decimal(str(dollars)) for dollars in self._own[judge])
            return (Price(fresh, output, cached[0] if cached else fresh, fresh * _SAVED.get(provider, 1)),)
        if not provider or not model:
            return ()
        from genai_prices import Usage, calc_price  # noqa: PLC0415 - 120 ms to import, and only where money is spent

        def dollars(**usage: int) -> Any:
            return calc_price(Usage(**usage), model_ref=model, provider_id=_PUBLIC.get(provider, provider))

        def band(above: int) -> Price:
            length = above + 1 if above else 1000
            alone = dollars(input_tokens=length).total_price
            written = dollars(input_tokens=length, output_tokens=1_000_000).total_price - alone
            cached = dollars(input_tokens=length, cache_read_tokens=length).total_price
            saved = dollars(input_tokens=length, cache_write_tokens=length).total_price
            return Price(alone * _PER / length, written, cached * _PER / length, saved * _PER / length, above)

        try:
            tiers = vars(dollars(input_tokens=1000).model_price).values()
            starts = {tier.start for price in tiers for tier in getattr(price, "tiers", ())}
            return tuple(band(start) for start in sorted({0, *starts}))
        except (LookupError, ValueError):
            return ()

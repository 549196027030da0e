"""The result of an estimate: by metric and step, as JSON, and compared with the actual bill of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from ragstone.engine.settings import Amount, Limits
from ragstone.forecast.figures import Range, Row, Sum, added
from ragstone.types import NOTHING, Printable


class JudgePrice(Struct, frozen=True):
    """Price of a judge: dollars per million tokens of input, output and cached input, or None if unknown.

    ``source`` is ``ragstone.toml`` or ``genai-prices``. ``tiers``: long requests cost more. ``nearest`` is the
    model with the most similar name, suggested if the price is unknown.
    """

    judge: str
    price: tuple[float, ...] | None
    source: str
    tiers: bool = False
    nearest: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        names = ("input", "output", "cached")
        price = None if self.price is None else dict(zip(names, self.price, strict=True))
        return {"judge": self.judge, "price": price, "source": self.source, "tiers": self.tiers}


class Alone(Struct):
    """The calls that a cascade's last judge would need on its own, and their expected price (None if unknown)."""

    judge: str
    calls: int = 0
    dollars: float | None = 0.0

    def add(self, dollars: float | None) -> None:
        """Count a call."""
        self.calls += 1
        self.dollars = None if self.dollars is None or dollars is None else self.dollars + dollars


class Estimate(Printable, Struct, frozen=True):
    """Estimated calls, tokens, dollars and seconds of a run, each low, expected and high.

    ``total`` covers the whole run, ``of`` one metric, step or judge. ``exact``: the number of calls does not depend on
    replies. ``assumed`` maps each assumption to its value and source, ``counted`` each judge to how its tokens were
    counted. ``worst`` is the maximum that a single call may use; its dollars are 0 if a price is unknown. ``limits`` is
    the budget of the run, ``extent`` the part of the input that it would read (empty for all of it). ``alone`` holds,
    for each step with a cascade, the calls that its last judge would need on its own with an empty store. ``waves`` is
    the number of rounds of a run in batches, including one for retries of unparsed replies; 0 without batches.
    ``live``: the calls after these rounds are so few that they are sent live. ``notes`` name the options that would
    probably map fields that no record has.
    """

    rows: Sequence[Row]
    records: int
    set_aside: int
    seconds: Range
    exact: bool
    assumed: Mapping[str, str]
    counted: Mapping[str, str]
    worst: Amount
    limits: Limits
    alone: Mapping[str, Alone]
    waves: int
    live: bool
    name: str = ""
    prices: tuple[JudgePrice, ...] = ()
    left_out: Mapping[str, str] = NOTHING
    extent: Mapping[str, int] = NOTHING
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> Sum:
        """The total calls to endpoints, tokens and dollars."""
        return added(self.rows)

    def of(self, **wanted: str) -> Sum:
        """Return the sum of the rows with this metric, step or judge."""
        return added([row for row in self.rows if all(getattr(row, name) == value for name, value in wanted.items())])

    def fits(self) -> bool | None:
        """Return True if the budget covers the high estimate, False if it does not cover the low one, else None.

        To be enough, it must also cover the worst case of the last call.
        """
        limits, total, worst = self.limits, self.total, self.worst
        tokens = Range(*(
            getattr(total.input_tokens, end) + getattr(total.output_tokens, end) for end in ("low", "expected", "high")
        ))  # fmt: skip
        figures = (
            (limits.calls, total.calls, 0), (limits.tokens, tokens, worst.tokens),
            (limits.cost, total.dollars, worst.dollars),
        )  # fmt: skip
        wanted = [(most, found, last) for most, found, last in figures if most is not None]
        if any(found is not None and found.low > most for most, found, _ in wanted):
            return False
        return True if all(found is not None and found.high + last <= most for most, found, last in wanted) else None

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON; money to a millionth of a dollar."""
        alone = {
            step: {**asdict(one), "dollars": None if one.dollars is None else round(one.dollars, 6)}
            for step, one in self.alone.items()
        }
        return {
            "input": self.name,
            **({"extent": dict(self.extent)} if self.extent else {}),
            "records": self.records,
            "set_aside": self.set_aside,
            "exact": self.exact,
            **self.total.as_json(),
            "seconds": self.seconds.as_json(1),
            **({"waves": self.waves} if self.waves else {}),
            "metrics": [
                {
                    "metric": metric,
                    **self.of(metric=metric).as_json(),
                    "steps": [
                        {"step": row.step, "judge": row.judge, **added([row]).as_json()}
                        for row in self.rows
                        if row.metric == metric
                    ],
                }
                for metric in dict.fromkeys(row.metric for row in self.rows)
            ],
            **({"alone": alone} if alone else {}),
            "assumed": dict(self.assumed),
            "tokens": dict(self.counted),
            "prices": [price.as_json() for price in self.prices],
            "left_out": dict(self.left_out),
        }

    def against(self, bill: Mapping[str, Any], seconds: float, *, whole: bool) -> dict[str, Any]:
        """Compare the estimate with the run's bill.

        ``error`` is relative to the bill and positive if less was paid than expected. An error is None if there was
        nothing to pay, a price is unknown, or the run did not finish (``whole``). ``held``: the bill in dollars, else
        in input tokens, is within the bounds.
        """
        total, paid = self.total, bill["paid"]
        sent = sum(step["calls"] for step in bill["by_step"] if step["judge"] in {p.judge for p in self.prices})
        figures: dict[str, tuple[Range | None, float | None]] = {
            "calls": (total.calls, sent),
            "input_tokens": (total.input_tokens, paid["input_tokens"]),
            "output_tokens": (total.output_tokens, paid["output_tokens"]),
            "dollars": (total.dollars, paid["dollars"]),
            "seconds": (self.seconds, seconds),
        }
        error = {
            name: round(found.expected / real - 1, 4) if whole and found is not None and real else None
            for name, (found, real) in figures.items()
        }
        found, real = figures["dollars"]
        if found is None or real is None:
            found, real = figures["input_tokens"]
        held = found.low <= real <= found.high if whole and found is not None and real is not None else None
        return {**total.as_json(), "seconds": self.seconds.as_json(1), "error": error, "held": held}


def _rate(dollars: float) -> str:
    """Return a price with at least two decimals: ``$0.60``, ``$0.075``."""
    return f"${dollars:.2f}" if round(dollars, 2) == dollars else f"${dollars:g}"


def price_said(price: JudgePrice) -> str:
    """Return a line with a judge's price and its source."""
    name = price.judge.partition("@")[0]
    if price.price is None:
        meant = f"; did you mean '{price.nearest}'? Otherwise," if price.nearest else ";"
        return f"{name}: unknown{meant} set it in a [judges.NAME] table: price = {{ input = …, output = … }}"
    if not any(price.price):
        return f"{name}: free"
    given, written, cached = price.price
    parts = [f"{_rate(given)} in", f"{_rate(written)} out"] + ([f"{_rate(cached)} cached"] if cached != given else [])
    more = "; more for long requests" if price.tiers else ""
    return f"{name}: per million tokens, {', '.join(parts)} ({price.source}{more})"

"""What cascades came to in a run: who answered how much, and what that saved beside asking the last judge everything.

Calls are counted: the last judge's prompts were rendered for the whole of each question too. Money is scaled from what
its calls of this run took: input by the bytes of the requests, output by the units asked about. Where it was not asked
at all, the run's estimate stands in, if there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ragstone.engine import Weighed
from ragstone.judges.base import Judge
from ragstone.prices import PriceBook


@dataclass(slots=True)
class _Totals:
    answered: Counter[str] = field(default_factory=Counter)
    unjudged: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    paid: Counter[str] = field(default_factory=Counter)
    dollars: float | None = 0.0


class Cascades:
    """Adds up the results of a run whose cascades are ``told`` by step, as run.json has them."""

    def __init__(self, told: Mapping[str, Mapping[str, Any]]) -> None:
        self._told = told
        self._steps = {step: _Totals(Counter(dict.fromkeys(one["judges"], 0))) for step, one in told.items()}

    def add_weighed(self, weighed: Weighed) -> None:
        """Take in one record's result."""
        if self._told:
            self.add_result(orjson.loads(weighed.document))

    def add_result(self, result: Mapping[str, Any]) -> None:
        """Take in one record's result, as results.jsonl has it."""
        for step, found in result.get("cascade", {}).items():
            totals = self._steps.get(step)
            if totals is None:  # of a result that was taken over, for a metric that this run has not
                continue
            totals.answered.update(found["answered"])
            totals.unjudged += found["unjudged"]
            totals.asked.update(found["asked"])
            totals.alone.update(found["alone"])
        for call in result.get("calls", ()):
            step = call["step"]
            if step in self._steps and not call.get("error"):
                self._pay(self._steps[step], call, self._told[step]["judges"][-1])

    def _pay(self, totals: _Totals, call: Mapping[str, Any], last: str) -> None:
        dollars = call["dollars"]
        totals.dollars = None if totals.dollars is None or dollars is None else totals.dollars + dollars
        if call["judge"] == last:
            tokens = ("input_tokens", "output_tokens", "cached_tokens")
            totals.paid.update({"calls": 1, **{name: call.get(name) or 0 for name in tokens}})

    def as_json(
        self, prices: PriceBook, judges: Mapping[str, Judge], estimated: Mapping[str, float | None] | None = None
    ) -> dict[str, Any]:
        """Plain JSON by step; ``judges`` are by id, ``estimated`` dollars for asking the last judge everything.

        Of ``calls`` and ``dollars``, ``made`` is what was asked, now or before, ``alone`` what asking the last judge
        everything would have taken, ``saved`` the difference; None where it cannot be told. ``by`` says how money was.
        """
        return {step: self._step(step, prices, judges, estimated or {}) for step in self._steps}

    def _step(
        self, step: str, prices: PriceBook, judges: Mapping[str, Judge], estimated: Mapping[str, float | None]
    ) -> dict[str, Any]:
        totals, told = self._steps[step], self._told[step]
        made = totals.dollars
        if totals.asked["calls"]:
            alone, by = _scaled(totals, prices, judges[told["judges"][-1]]), "calls"
        else:
            alone, by = estimated.get(step), "estimate"
        saved = None if made is None or alone is None else round(alone - made, 9)
        calls, whole = totals.asked["calls"], totals.alone["calls"]
        return {
            **told,
            "units": totals.answered.total() + totals.unjudged,
            "answered": dict(totals.answered),
            "unjudged": totals.unjudged,
            "calls": {"made": calls, "alone": whole, "saved": whole - calls},
            "dollars": {"made": _money(made), "alone": _money(alone), "saved": saved},
            "by": by if alone is not None else None,
        }


def _scaled(totals: _Totals, prices: PriceBook, judge: Judge) -> float | None:
    """What asking the judge everything would have cost, by what its calls did; None where none has a price."""
    paid, asked, alone = totals.paid, totals.asked, totals.alone
    if totals.dollars is None or not paid["calls"]:
        return None
    if not totals.dollars:
        return 0.0
    given, written, cached = (
        round(paid[name] / paid["calls"]) for name in ("input_tokens", "output_tokens", "cached_tokens")
    )
    at = (judge.id, judge.provider, judge.model)
    whole = prices.cost(*at, input_tokens=given, output_tokens=written, cached_tokens=cached)
    for_input = prices.cost(*at, input_tokens=given, output_tokens=0, cached_tokens=cached)
    if not whole or for_input is None:
        return None
    share = for_input / whole
    return totals.dollars * (share * alone["bytes"] / asked["bytes"] + (1 - share) * alone["units"] / asked["units"])


def _money(value: float | None) -> float | None:
    return None if value is None else round(value, 9)

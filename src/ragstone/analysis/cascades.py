"""What cascades came to in a run: who answered how much, and what that saved beside asking the last judge everything.

Calls are counted: the last judge's prompts were rendered for the whole of each question too. Equal calls are one, as
they are for a run. Money is scaled from what its answered calls of this run took: input by the bytes of the requests,
output by the units asked about. Where it was not asked at all, the run's estimate stands in, if there is one.
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
class _Calls:
    """Calls, each counted once: how many, the bytes of their requests, the units that they ask about."""

    seen: set[bytes] = field(default_factory=set)
    calls: int = 0
    units: int = 0
    bytes: int = 0

    def add(self, call: Mapping[str, Any]) -> None:
        """Count a call that was not counted before."""
        if (key := bytes.fromhex(call["key"])) not in self.seen:
            self.seen.add(key)
            self.calls += 1
            self.bytes += call["bytes"]
            self.units += call["units"]


@dataclass(slots=True)
class _Totals:
    """What a step came to; ``made`` are those of the ``asked`` calls that were answered.

    ``dollars`` is what the last judge took, ``others`` what those before it did; None where a price is unknown.
    """

    answered: Counter[str] = field(default_factory=Counter)
    unjudged: int = 0
    asked: _Calls = field(default_factory=_Calls)
    made: _Calls = field(default_factory=_Calls)
    alone: _Calls = field(default_factory=_Calls)
    tokens: Counter[str] = field(default_factory=Counter)
    paid: set[bytes] = field(default_factory=set)
    last: int = 0
    dollars: float | None = 0.0
    others: float | None = 0.0


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
            failed = {call["key"] for call in result.get("calls", ()) if call.get("error")}
            for sent in found["asked"]:
                totals.asked.add(sent)
                if sent["key"] not in failed:
                    totals.made.add(sent)
            for sent in found["alone"]:
                totals.alone.add(sent)
        for call in result.get("calls", ()):
            step = call["step"]
            if step in self._steps and not call.get("error"):
                self._pay(self._steps[step], call, self._told[step]["judges"][-1])

    def _pay(self, totals: _Totals, call: Mapping[str, Any], last: str) -> None:
        if (key := bytes.fromhex(call["key"])) in totals.paid:
            return
        totals.paid.add(key)
        if call["judge"] != last:
            totals.others = _sum(totals.others, call["dollars"])
            return
        totals.dollars = _sum(totals.dollars, call["dollars"])
        totals.last += 1
        tokens = ("input_tokens", "output_tokens", "cached_tokens")
        totals.tokens.update({name: call.get(name) or 0 for name in tokens})

    def as_json(
        self, prices: PriceBook, judges: Mapping[str, Judge], estimated: Mapping[str, float | None] | None = None
    ) -> dict[str, Any]:
        """Plain JSON by step; ``judges`` are by id, ``estimated`` dollars for asking the last judge everything.

        Of ``calls`` and ``dollars``, ``made`` is what was asked and answered, now or before, ``alone`` what asking the
        last judge everything would have taken, ``saved`` what it was not asked: the difference, if every call was
        answered. None where it cannot be told. ``by`` says how money was.
        """
        return {step: self._step(step, prices, judges, estimated or {}) for step in self._steps}

    def _step(
        self, step: str, prices: PriceBook, judges: Mapping[str, Judge], estimated: Mapping[str, float | None]
    ) -> dict[str, Any]:
        totals, told = self._steps[step], self._told[step]
        made = _sum(totals.dollars, totals.others)
        asked: float | None
        if totals.asked.calls:
            judge = judges[told["judges"][-1]]
            asked, alone = (_scaled(totals, calls, prices, judge) for calls in (totals.asked, totals.alone))
            by = "calls"
        else:
            asked, alone, by = 0.0, estimated.get(step), "estimate"
        taken = _sum(asked, totals.others)
        saved = None if taken is None or alone is None else alone - taken
        return {
            **told,
            "units": totals.answered.total() + totals.unjudged,
            "answered": dict(totals.answered),
            "unjudged": totals.unjudged,
            "calls": {
                "made": totals.made.calls,
                "alone": totals.alone.calls,
                "saved": totals.alone.calls - totals.asked.calls,
            },
            "dollars": {"made": _money(made), "alone": _money(alone), "saved": _money(saved)},
            "by": by if alone is not None else None,
        }


def silent(told: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """By step of a summary's cascades whose last judge answered nothing of what was left to it: that judge's id.

    Means are of what the judges before it were sure of then, which is no fair part.
    """
    lasts = {step: found["judges"][-1] for step, found in told.items() if found["unjudged"]}
    return {step: last for step, last in lasts.items() if not told[step]["answered"][last]}


def partial(told: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, int, int]]:
    """By step whose last judge answered only some of what was left to it: that judge, the units it left, of how many.

    What the judges before it were sure of is whole, and easy: means lean to it.
    """
    lasts = {step: (found["judges"][-1], found) for step, found in told.items() if found["unjudged"]}
    return {
        step: (last, found["unjudged"], found["answered"][last] + found["unjudged"])
        for step, (last, found) in lasts.items()
        if found["answered"][last]
    }


def warnings(told: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is to be known of the means of such steps, for the user."""
    return [
        f"{step}: {last.partition('@')[0]} answered nothing of what was left to it ({told[step]['unjudged']:,}); "
        "the rest is what was easy to judge, so its mean says little"
        for step, last in silent(told).items()
    ]


def _scaled(totals: _Totals, calls: _Calls, prices: PriceBook, judge: Judge) -> float | None:
    """What these calls would have cost the judge, by what those did that it answered; None where none has a price."""
    made = totals.made
    if totals.dollars is None or not totals.last or not made.calls:
        return None
    if not totals.dollars:
        return 0.0
    given, written, cached = (
        round(totals.tokens[name] / totals.last) for name in ("input_tokens", "output_tokens", "cached_tokens")
    )
    at = (judge.id, judge.provider, judge.model)
    whole = prices.cost(*at, input_tokens=given, output_tokens=written, cached_tokens=cached)
    for_input = prices.cost(*at, input_tokens=given, output_tokens=0, cached_tokens=cached)
    if not whole or for_input is None:
        return None
    share = for_input / whole
    return totals.dollars * (share * calls.bytes / made.bytes + (1 - share) * calls.units / made.units)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _money(value: float | None) -> float | None:
    return None if value is None else round(value, 9)

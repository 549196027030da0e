"""Count the units each judge of a cascade answered, and the calls saved over asking only the last judge.

For comparison, the last judge's prompts are also rendered for each whole question; identical calls count once. Cost is
scaled from its answered calls: input by request bytes, output by units. If it was not asked at all, the run's estimate
is used, if there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson
from msgspec import Struct, field

from ragstone.judges.base import Judge
from ragstone.prices import PriceBook
from ragstone.result_types import CallDict, SentDict
from ragstone.stats.means import rounded

if TYPE_CHECKING:
    from ragstone.engine.document import Weighed

TOKENS: Final = ("input_tokens", "output_tokens", "cached_tokens")


class _Calls(Struct):
    """Unique calls, with the bytes of their requests and the number of units in them."""

    seen: set[bytes] = field(default_factory=set)
    calls: int = 0
    units: int = 0
    bytes: int = 0

    def add(self, call: SentDict) -> None:
        if (key := bytes.fromhex(call["key"])) not in self.seen:
            self.seen.add(key)
            self.calls += 1
            self.bytes += call["bytes"]
            self.units += call["units"]


class _Totals(Struct):
    """The totals of a step; ``made`` are the ``asked`` calls that were answered.

    ``dollars`` is the cost of the last judge, ``others`` that of the judges before it; None if unknown.
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
    """The totals of a run; ``told`` has its cascades by step, as in run.json."""

    def __init__(self, told: Mapping[str, Mapping[str, Any]]) -> None:
        self._told = told
        self._steps = {step: _Totals(Counter(dict.fromkeys(one["judges"], 0))) for step, one in told.items()}

    def add_weighed(self, weighed: Weighed) -> None:
        """Add the result of one evaluated record."""
        if self._told:
            self.add_result(orjson.loads(weighed.document))

    def add_result(self, result: Mapping[str, Any]) -> None:
        """Add one record's result as in results.jsonl."""
        for step, found in result.get("cascade", {}).items():
            totals = self._steps.get(step)
            if totals is None:  # a result reused from an earlier run, for a metric that this run lacks
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

    def _pay(self, totals: _Totals, call: CallDict, last: str) -> None:
        if (key := bytes.fromhex(call["key"])) in totals.paid:
            return
        totals.paid.add(key)
        if call["judge"] != last:
            totals.others = _sum(totals.others, call["dollars"])
            return
        totals.dollars = _sum(totals.dollars, call["dollars"])
        totals.last += 1
        totals.tokens.update({name: call.get(name) or 0 for name in TOKENS})

    def as_json(
        self, prices: PriceBook, judges: Mapping[str, Judge], estimated: Mapping[str, float | None] | None = None
    ) -> dict[str, Any]:
        """Return plain JSON by step; ``judges`` are by id, ``estimated`` is the cost of the last judge alone.

        For ``calls`` and ``dollars``, ``made`` counts those answered, now or before, ``alone`` is the total if the last
        judge were asked everything, and ``saved`` is the difference. Unknown values are None. ``by`` says how the cost
        was derived.
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
            "dollars": {"made": rounded(made), "alone": rounded(alone), "saved": rounded(saved)},
            "by": by if alone is not None else None,
        }


def warnings(told: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a warning for each step whose last judge answered none of the units passed to it.

    Means then cover only units of which earlier judges were confident, which is not a fair sample.
    """
    return [
        f"{last.partition('@')[0]} judged none of the {step} units passed to it; the mean covers only the easy units"
        for step, (last, answered, _) in _left(told).items()
        if not answered
    ]


def partial(told: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, int, int]]:
    """Return, by step, the id of a last judge that answered only some units, the number unjudged, and the total.

    Means are then biased towards units of which earlier judges were confident, which are the easy ones.
    """
    return {
        step: (last, unjudged, answered + unjudged)
        for step, (last, answered, unjudged) in _left(told).items()
        if answered
    }


def _left(told: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, int, int]]:
    """For each step with unjudged units, return the last judge's id and the numbers of units answered and unjudged."""
    return {
        step: (last := found["judges"][-1], found["answered"][last], found["unjudged"])
        for step, found in told.items()
        if found["unjudged"]
    }


def _scaled(totals: _Totals, calls: _Calls, prices: PriceBook, judge: Judge) -> float | None:
    """Return the cost of these calls, scaled from the answered ones; None if the price is unknown."""
    made = totals.made
    if totals.dollars is None or not totals.last or not made.calls:
        return None
    if not totals.dollars:
        return 0.0
    given, written, cached = (round(totals.tokens[name] / totals.last) for name in TOKENS)
    at = (judge.id, judge.provider, judge.model)
    whole = prices.cost(*at, input_tokens=given, output_tokens=written, cached_tokens=cached)
    for_input = prices.cost(*at, input_tokens=given, output_tokens=0, cached_tokens=cached)
    if not whole or for_input is None:
        return None
    share = for_input / whole
    return totals.dollars * (share * calls.bytes / made.bytes + (1 - share) * calls.units / made.units)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other

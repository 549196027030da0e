"""The first screen as data: title, one sentence, a card a metric, who judged at what cost, what is missing.

Promises: plain JSON; every number that stands on records says on which, as a filter of the page (``to``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from ragstone import __version__
from ragstone.analysis.run import Run
from ragstone.render.agreement import agreement_of
from ragstone.render.facts import Low, RunFacts, answered_now, cost_said
from ragstone.render.html.rows import STATUSES, PageRow
from ragstone.render.html.sentence import sentence, worst_group
from ragstone.render.text import number, percent, plural
from ragstone.render.wording import card_order, in_words, measures, title_of
from ragstone.store.database import ScoreRow

BINS: Final = 20
"""Bins of a distribution, each five hundredths wide; the last also holds the value 1."""
WORST: Final = 10
"""Records that are printed."""


@dataclass(slots=True)
class Readings:
    """Counts of a language model's replies and of those that could not be read whole."""

    replies: int = 0
    unread: int = 0

    def add(self, result: Mapping[str, Any]) -> None:
        """Count one record's."""
        told = [call["reading"] for call in result.get("calls", ()) if "reading" in call]
        unread = sum(reading["status"] != "ok" for reading in told)
        self.replies += len(told)
        self.unread += unread


@dataclass(frozen=True, slots=True)
class CardFact:
    """A line of the column at the right: a label, what is to be said, and a quieter word on it."""

    label: str
    text: str
    note: str = ""

    def as_json(self) -> dict[str, str]:
        """Plain JSON."""
        return {"label": self.label, "text": self.text, "note": self.note}


def overview_of(run: Run, rows: Sequence[PageRow], fields: Sequence[str], readings: Readings | None) -> dict[str, Any]:
    """All of the first screen; ``rows`` may be fewer than the run has, and then no group is named.

    ``readings`` is None where not all replies were looked at.
    """
    told = RunFacts.of(run)
    summary, leading = told.summary, told.lead
    scores: dict[str, list[ScoreRow]] = {}
    for row in run.store.scores(run.id):
        scores.setdefault(row.metric, []).append(row)
    names = sorted(summary["metrics"], key=lambda name: (not summary["metrics"][name]["scored"], card_order(name)))
    whole = len(rows) == summary["records"]
    mean = summary["metrics"][leading]["mean"] if leading else None
    group = worst_group(rows, fields, leading, mean) if whole and mean is not None else None
    return {
        "ragstone": __version__,
        "run": run.id,
        "store": run.elsewhere,
        "name": run.name,
        "started": run.started,
        "status": run.status,
        "records": summary["records"],
        "set_aside": summary["set_aside"],
        "input": run.spec.get("input", run.name),
        "judge": ", ".join(told.judges),
        "lead": leading,
        "ranked": told.ranked,
        "sentence": [part.as_json() for part in sentence(summary["records"], told.headline, told.doubts, group)],
        "metrics": [_metric(name, summary["metrics"][name], scores.get(name, ())) for name in names],
        "measures": measures([*names, *summary.get("left_out", {})]),
        "facts": [fact.as_json() for fact in _facts(told, readings)],
        "missing": [asdict(cause) for cause in told.missing],
        "methods": summary.get("methods"),
        "left_out": summary.get("left_out", {}),
        "agreement": agreement_of(run.agreement, summary["metrics"]),
        "notes": told.notes,
        "fields": list(fields),
        "statuses": list(STATUSES),
        "worst": [_worst(low) for low in told.lowest(WORST)],
    }


def _metric(name: str, entry: Mapping[str, Any], scores: Sequence[ScoreRow]) -> dict[str, Any]:
    bins = [0] * BINS
    for row in scores:
        if row.value is not None:
            bins[min(BINS - 1, int(row.value * BINS))] += 1
    kept = ("mean", "interval", "interval_method", "median", "scored", "total", "low", "high", "statuses", "units",
            "outcomes", "signature")  # fmt: skip
    return {
        "name": name,
        "title": title_of(name, entry["signature"]),
        **{key: entry.get(key) for key in kept},
        "bins": bins,
        **({"repeats": entry["repeats"]} if "repeats" in entry else {}),
    }


def _facts(told: RunFacts, readings: Readings | None) -> list[CardFact]:
    """The facts at the right: judges, cost and estimate, cache, time, unread replies."""
    bill = told.summary.get("bill")
    first = next((place for place, who in enumerate(told.judged_by) if "embedded" in who), None)
    facts = [
        CardFact("Judge", who, told.embedded if place == first else "") for place, who in enumerate(told.judged_by)
    ]
    if told.part:
        facts.append(CardFact("Input", told.part))
    if bill:
        cost, _, counted = cost_said(bill).partition("; ")
        facts.append(CardFact("Cost", cost, counted))
        if told.estimated:
            facts.append(CardFact("Estimated", told.estimated))
        replies = answered_now(bill) + bill["replayed"]
        if replies:
            share = percent(bill["replayed"] / replies, replies)
            facts.append(
                CardFact("Cache", f"{share} of {plural(replies, 'reply', 'replies')}", "were in the store already")
            )
        if bill["failed"]:
            facts.append(CardFact("Failed", plural(bill["failed"], "call")))
    for answered, sureness, saved in told.cascades:
        facts += [CardFact("Cascade", answered, sureness), CardFact("Saved", saved)]
    if told.time:
        facts.append(CardFact("Time", told.time))
    if readings is not None and readings.replies:
        unread = f"{number(readings.unread)} of {plural(readings.replies, 'reply', 'replies')}"
        facts.append(
            CardFact("Unread", unread, "not parsed in full, even after a repair call" if readings.unread else "")
        )
    if told.quotes:
        facts.append(CardFact("Quotes", told.quotes))
    return facts


def _worst(low: Low) -> dict[str, Any]:
    """A record with the unit that fares worst in it, for paper."""
    return {
        "position": low.result["position"],
        "id": low.result["id"],
        "question": _cut(low.result["question"]),
        "value": low.score["value"],
        "unit": _cut(low.text),
        "reason": _cut(in_words(low.result, low.worst["reason"] or "")) if low.worst else "",
    }


def _cut(text: str | None, most: int = 240) -> str:
    found = " ".join((text or "")[: 4 * most].split())
    return f"{found[: most - 1]}…" if len(found) > most else found

"""The first screen as data: title, one sentence, a card a metric, who judged at what cost, what is missing.

Promises: plain JSON; every number that stands on records says on which, as a filter of the page (``to``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ragstone import __version__
from ragstone.analysis.run import Run, part_said, unit_text
from ragstone.render.embedded import embedded_among
from ragstone.render.html.rows import STATUSES, Row
from ragstone.render.html.sentence import sentence, worst_group
from ragstone.render.terminal.bill import answered_now, cost_said
from ragstone.render.terminal.cascades import answered, saved, sureness
from ragstone.render.terminal.columns import ADHERENCE, LEADING
from ragstone.render.terminal.estimate import held_said
from ragstone.render.terminal.outcome import judged_by, judges_of, lead, quotes_said, ranked_by
from ragstone.render.terminal.screen import Look
from ragstone.render.text import duration, number, percent, plural
from ragstone.render.vocabulary import by_signature, words_as_json
from ragstone.render.wording import in_words
from ragstone.store.database import ScoreRow

BINS: Final = 20
"""Bins of a distribution, each five hundredths wide; the last also holds the value 1."""
CARDS: Final = 6
"""The most metrics on the first screen."""
WORST: Final = 10
"""Records that are printed."""

FIRST: Final = (
    "grounding", "groundedness", "answer_relevance", "context_relevance", ADHERENCE, *LEADING[:1],
    "response_groundedness", "nugget_groundedness", "nugget_relevance", "claim_relevance",
)  # fmt: skip
"""The order in which metrics get a card."""


@dataclass(slots=True)
class Readings:
    """How many replies of language models there are, and how many could not be read whole, as results come by."""

    replies: int = 0
    unread: int = 0

    def add(self, result: Mapping[str, Any]) -> None:
        """Count one record's."""
        told = [call["reading"] for call in result.get("calls", ()) if "reading" in call]
        unread = sum(reading["status"] != "ok" for reading in told)
        self.replies += len(told)
        self.unread += unread


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the column at the right: a label, what is to be said, and a quieter word on it."""

    label: str
    text: str
    note: str = ""

    def as_json(self) -> dict[str, str]:
        """Plain JSON."""
        return {"label": self.label, "text": self.text, "note": self.note}


def overview_of(run: Run, rows: Sequence[Row], fields: Sequence[str], readings: Readings | None) -> dict[str, Any]:
    """All of the first screen; ``rows`` may be fewer than the run has, and then no group is named.

    ``readings`` is None where not all replies were looked at.
    """
    summary = run.summary()
    leading = lead(summary)
    scores = _by_metric(run)
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
        "judge": ", ".join(judges_of(run.spec)),
        "lead": leading,
        "ranked": ranked_by(leading, summary),
        "sentence": [part.as_json() for part in sentence(summary, leading, scores.get(leading, ()), group)],
        "metrics": [
            _metric(name, summary["metrics"][name], scores.get(name, ())) for name in _ordered(summary["metrics"])
        ],
        "facts": [fact.as_json() for fact in _facts(run, summary, readings)],
        "missing": _missing(summary),
        "methods": summary.get("methods"),
        "left_out": summary.get("left_out", {}),
        "notes": list(summary.get("notes", ())),
        "fields": list(fields),
        "statuses": list(STATUSES),
        "words": words_as_json(),
        "worst": _worst(run, ranked_by(leading, summary)) if leading else [],
    }


def _ordered(entries: Mapping[str, Any]) -> list[str]:
    """The metrics as they get cards: the known order, then that of the run; those without any value come last."""
    known = [name for name in FIRST if name in entries]
    every = [*known, *(name for name in entries if name not in known)]
    return sorted(every, key=lambda name: not entries[name]["scored"])


def _by_metric(run: Run) -> dict[str, list[ScoreRow]]:
    found: dict[str, list[ScoreRow]] = {}
    for row in run.store.scores(run.id):
        found.setdefault(row.metric, []).append(row)
    return found


def _metric(name: str, entry: Mapping[str, Any], scores: Sequence[ScoreRow]) -> dict[str, Any]:
    bins = [0] * BINS
    for row in scores:
        if row.value is not None:
            bins[min(BINS - 1, int(row.value * BINS))] += 1
    kept = (
        "mean",
        "interval",
        "median",
        "scored",
        "total",
        "low",
        "high",
        "statuses",
        "units",
        "outcomes",
        "signature",
    )
    return {
        "name": name,
        "title": by_signature(entry["signature"]).title(name),
        **{key: entry.get(key) for key in kept},
        "interval_method": entry["interval_method"],
        "bins": bins,
        **({"repeats": entry["repeats"]} if "repeats" in entry else {}),
    }


def _facts(run: Run, summary: Mapping[str, Any], readings: Readings | None) -> list[Fact]:
    """Who judged, what it cost beside what was estimated, what the cache gave, how long it took, what was unread."""
    judges = judged_by(run.spec)
    first = next((place for place, who in enumerate(judges) if "embedded" in who), None)
    note = embedded_among(judges_of(run.spec), summary)
    facts = [Fact("Judge", who, note if place == first else "") for place, who in enumerate(judges)]
    if part := part_said(run.spec.get("extent", {})):
        facts.append(Fact("Input", part))
    bill = summary.get("bill")
    if bill:
        cost, _, told = cost_said(bill).partition("; ")
        facts.append(Fact("Cost", cost, told))
        if summary.get("estimate"):
            facts.append(Fact("Estimated", held_said(summary["estimate"], Look())))
        replies = answered_now(bill) + bill["replayed"]
        if replies:
            share = percent(bill["replayed"] / replies, replies)
            facts.append(
                Fact("Cache", f"{share} of {plural(replies, 'reply', 'replies')}", "were in the store already")
            )
        if bill["failed"]:
            facts.append(Fact("Failed", plural(bill["failed"], "call")))
    for step, found in summary.get("cascade", {}).items():
        facts.append(Fact("Cascade", f"{step}: {answered(found)}", sureness(found)))
        facts.append(Fact("Saved", saved(found)))
    if "seconds" in summary:
        facts.append(Fact("Time", duration(summary["seconds"])))
    if readings is not None and readings.replies:
        unread = f"{number(readings.unread)} of {plural(readings.replies, 'reply', 'replies')}"
        facts.append(
            Fact("Unread", unread, "not read whole at the first asking or a repair" if readings.unread else "")
        )
    if told := quotes_said(run, summary):
        facts.append(Fact("Quotes", told))
    return facts


def _missing(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What has no value or stands on less than all, by cause; without reasons where the run did not end."""
    told = summary.get("missing")
    if told is None:
        told = [
            {"metric": name, "status": status, "reason": "", "count": count}
            for name, entry in summary["metrics"].items()
            for status, count in entry["statuses"].items()
            if status != "scored"
        ]
    return list(told)


def _worst(run: Run, metric: str) -> list[dict[str, Any]]:
    """The lowest records with the unit that fared worst in each, for paper."""
    found = []
    for result in run.worst(metric, WORST):
        scores = {score["metric"]: score for score in result["scores"]}
        score = scores[metric]
        if score["value"] >= 1:
            continue
        holder = scores.get(score.get("verdicts_in") or metric, score)
        wanting = [v for v in holder["verdicts"] if v["value"] is not None and v["value"] < 1]
        worst = min(wanting, key=lambda v: (v["value"], v["probability"] or 0.0), default=None)
        units = {unit["id"]: unit for unit in result["units"]}
        found.append(
            {
                "position": result["position"],
                "id": result["id"],
                "question": _cut(result["question"]),
                "value": score["value"],
                "unit": _cut(unit_text(result, units[worst["unit"]])) if worst else "",
                "reason": _cut(in_words(result, worst["reason"] or "")) if worst else "",
            }
        )
    return found


def _cut(text: str | None, most: int = 240) -> str:
    found = " ".join((text or "")[: 4 * most].split())
    return f"{found[: most - 1]}…" if len(found) > most else found

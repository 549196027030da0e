"""What a run sent and what it cost, in words: the same on the screen, the page, in a notebook and after tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.console import RenderableType

from ragstone.render.terminal.screen import Look, prose
from ragstone.render.text import dollars, duration, flat, number, plural, tokens

_JUDGES: Final[Mapping[str, str]] = {"embedded": "the embedded judge"}
"""How a judge that sends nothing is called where its name alone says little."""


def bill_rows(bill: Mapping[str, Any], look: Look, left: int = 12) -> list[tuple[str, RenderableType]]:
    """The calls and what they cost, to stand ``left`` columns from the margin."""
    rows: list[tuple[str, RenderableType]] = [("Calls", prose(calls_said(bill), look, indent=left))]
    if bill["retried"]:
        rows.append(("Retries", prose(retries_said(bill), look, indent=left)))
    rows += [("", prose(flat(note), look, "quiet", left)) for note in _notes(bill)]
    return [*rows, ("Cost", prose(cost_said(bill), look, indent=left))]


def answered_now(bill: Mapping[str, Any]) -> int:
    """How many calls of a bill were answered in its run; that of an older version has all of them as sent."""
    return int(bill.get("answered", bill["sent"] + sum(bill.get("here", {}).values())))


def calls_said(bill: Mapping[str, Any]) -> str:
    """``12 sent, 3 replayed``: the calls of a bill; those that a judge here answered are not among those sent."""
    here = [f"{number(count)} by {_JUDGES.get(who, flat(who))}" for who, count in bill.get("here", {}).items()]
    parts = [f"{number(bill['sent'])} sent", *here] if bill["sent"] or not here else [*here, "none sent"]
    unusable = bill.get("unusable", {})
    if count := unusable.get("calls"):
        cost = f" ({dollars(unusable['dollars'])})" if unusable["dollars"] else ""
        parts.append(f"{number(count)} unusable{cost}")
    parts += [f"{number(bill[what])} {what}" for what in ("replayed", "retried", "failed") if bill[what]]
    if bill.get("unseen"):  # a bill of an older version has no count of them
        parts.append(f"{number(bill['unseen'])} not in the store")
    return ", ".join(parts)


def retries_said(bill: Mapping[str, Any]) -> str:
    """``HTTP 429 (13), HTTP 500 (11); 0.6 s wait each``: why attempts were made again, and how long they waited."""
    causes = sorted(bill["retry_causes"].items(), key=lambda one: -one[1])
    said = ", ".join(f"{flat(cause)} ({number(count)})" for cause, count in causes)
    waited = bill.get("waited_seconds")  # a bill of an older version has none
    return f"{said}; {duration(waited / bill['retried'])} wait each" if waited else said


def _notes(bill: Mapping[str, Any]) -> list[str]:
    notes = [f"{note} ({plural(count, 'reply', 'replies')})" for note, count in list(bill["notes"].items())[:3]]
    return notes + (
        [f"and {plural(len(bill['notes']) - 3, 'more note')}, in summary.json"] if len(bill["notes"]) > 3 else []
    )


def cost_said(bill: Mapping[str, Any]) -> str:
    """``$0.0012; 1.2k tokens in, 300 out``: what they cost, or why nothing."""
    paid, lost = bill["paid"], bill.get("lost", {}).get("attempts")
    if not paid["calls"] and not lost:
        if bill.get("unseen"):
            return "nothing: offline"
        if bill["sent"]:
            return "nothing: no call was answered"
        return "nothing: every reply was in the store" if bill["replayed"] else "nothing: no call was needed"
    parts = [dollars(paid["dollars"])] if paid["calls"] else []
    if paid["input_tokens"] or paid["output_tokens"]:
        cached, thought = paid.get("cached_tokens"), paid.get("reasoning_tokens")
        parts.append(
            f"{tokens(paid['input_tokens'])} tokens in"
            + (f" ({tokens(cached)} cached)" if cached else "")
            + f", {tokens(paid['output_tokens'])} out"
            + (f" ({tokens(thought)} reasoning)" if thought else "")
        )
    if paid["unmetered_calls"] and paid["dollars"] != 0:
        parts.append(f"{plural(paid['unmetered_calls'], 'call')} came without token counts")
    if lost:
        also = " too" if parts else ""
        parts.append(f"{plural(lost, 'attempt')} without a whole reply may have been charged{also}")
    return "; ".join(parts)

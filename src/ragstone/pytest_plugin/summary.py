"""Write the summary of a test session: responses, mean scores, outcomes, calls and cost.

It is built from notes: the scores, judges and bill of each response, and the outcome of each threshold check. They are
plain values, which pytest-xdist can send between processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ragstone.analysis.run import Run, main_scores
from ragstone.render.facts import calls_said, cost_said, judges_of
from ragstone.render.text import between, flat, percent, plural
from ragstone.stats.means import mean

OUTCOMES: Final[Mapping[str, str]] = {"yes": "met", "no": "not met", "unknown": "could not be decided"}


def note_of(run: Run) -> dict[str, Any]:
    """Return the note for the run of one response."""
    summary = run.summary()
    shown = main_scores(run.spec, summary["metrics"])
    bill = {name: value for name, value in summary["bill"].items() if name != "by_step"}
    kept = ("metric", "signature", "value", "status", "low", "high")
    scores = [{name: row[name] for name in kept} for row in run.score_rows() if row["metric"] in shown]
    return {"scores": scores, "judges": judges_of(run.spec), "bill": bill}


def summary_lines(notes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the summary."""
    scored = [note for note in notes if "scores" in note]
    judges = dict.fromkeys(flat(judge) for note in scored for judge in note["judges"])
    yield _plain(
        f"{plural(len(scored), 'response')} evaluated" + (f", judged by {', '.join(judges)}" if judges else "")
    )
    yield from _table([score for note in scored for score in note["scores"]])
    outcomes = Counter(note["outcome"] for note in notes if "outcome" in note)
    if outcomes:
        counts = (f"{outcomes[kind]} {word}" for kind, word in OUTCOMES.items() if outcomes[kind])
        yield f"thresholds: {', '.join(counts)}"
    if scored:
        bill = _added([note["bill"] for note in scored])
        yield _plain(f"calls: {calls_said(bill)}; cost: {cost_said(bill)}")


def _table(scores: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line per score and signature, since scores with different signatures are not comparable."""
    groups: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for score in scores:
        groups.setdefault(score["metric"], {}).setdefault(score["signature"], []).append(score)
    rows = [
        (name, *_cells(found, _particular(signature, ways)))
        for name, ways in sorted(groups.items())
        for signature, found in sorted(ways.items())
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)] if rows else []
    for name, value, scored, rest in rows:
        line = f"  {name:<{widths[0]}}  mean {value:>{widths[1]}}  {scored:<{widths[2]}}"
        yield f"{line}  {rest}".rstrip()


def _particular(signature: str, ways: Iterable[str]) -> str:
    """Return the parts of a signature that are not common to all."""
    shared = set.intersection(*(set(way.split("|")) for way in ways))
    return flat("|".join(part for part in signature.split("|") if part not in shared))


def _cells(found: Sequence[Mapping[str, Any]], particular: str) -> tuple[str, str, str]:
    values = [score["value"] for score in found if score["value"] is not None]
    bounded = [(score["low"], score["high"]) for score in found if score["low"] is not None]
    rest = []
    if bounded and any(low != high for low, high in bounded):
        ends = between(mean([low for low, _ in bounded]), mean([high for _, high in bounded]), len(bounded), "-")
        rest.append(f"could be {ends}%")
    lacking = Counter(score["status"] for score in found if score["value"] is None)
    rest += [f"{count} {status}" for status, count in sorted(lacking.items())]
    rest += [particular] if particular else []
    return (
        _plain(percent(mean(values) if values else None, len(values))),
        f"{len(values)} of {len(found)} scored",
        ", ".join(rest),
    )


def _added(bills: Sequence[Any]) -> Any:
    """Return the sum of bills, number by number; a number that is None in any bill is None in the sum."""
    if isinstance(bills[0], Mapping):
        names = dict.fromkeys(name for bill in bills for name in bill)
        return {name: _added([bill[name] for bill in bills if name in bill]) for name in names}
    return None if None in bills else sum(bills)


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ")

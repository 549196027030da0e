"""Combine the scores of a record that was evaluated several times.

The score, its verdicts and its evidence are those of the first repeat, so that verdicts always explain their own
number. The values of all repeats, and how many units changed their label, are kept beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from ragstone.engine.document import Note
from ragstone.types import Repeats, Score, Verdict

Scored = tuple[Score, tuple[Note, ...]]


def repeated(rounds: Sequence[Sequence[Scored]]) -> list[Scored]:
    """Return the scores of the first round, each with its repeats and the calls of all rounds."""
    first = list(rounds[0])
    if len(rounds) == 1:
        return first
    by_name = [{score.metric: (score, notes) for score, notes in scored} for scored in rounds]
    return [_together([found[score.metric] for found in by_name]) for score, _ in first]


def _together(times: Sequence[Scored]) -> Scored:
    calls = {note.key: note for _, notes in times for note in notes}
    return replace(times[0][0], repeats=_repeats([score for score, _ in times])), tuple(calls.values())


def _repeats(scores: Sequence[Score]) -> Repeats:
    labels = [_labels(score.verdicts) for score in scores]
    units = {unit for found in labels for unit in found}
    compared = [unit for unit in units if all(found.get(unit) is not None for found in labels)]
    return Repeats(
        values=tuple(score.value for score in scores),
        units=len(compared),
        flips=sum(len({found[unit] for found in labels}) > 1 for unit in compared),
        unmatched=len(units) - len(compared),
    )


def _labels(verdicts: Sequence[Verdict]) -> dict[tuple[str, str, int], str | None]:
    """Return labels by level and text, since claims are extracted anew in each round and their numbers differ."""
    met: Counter[tuple[str, str]] = Counter()
    found: dict[tuple[str, str, int], str | None] = {}
    for verdict in verdicts:
        what = (verdict.unit.level, verdict.unit.text)
        met[what] += 1
        found[(*what, met[what])] = verdict.label
    return found

"""What the raw row of a statement comes to: its probability, its windows as evidence, and why.

``support`` makes the rows. A reason begins with what came of it: found, not found, or contradicted. A statement with a
fact that the evidence puts otherwise, or that no passage has, gets the worst label whatever else was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragstone.judges.embedded.model import model, probability

Window = Sequence[int]
"""Number of the passage, start and end of a stretch of it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The calibrated probability of support, the windows to quote, and the reason in words."""

    chance: float
    windows: Sequence[Window]
    reason: str


def supported_chance(row: Mapping[str, Any]) -> float:
    """The calibrated probability; 0 where no passage shares a word with the statement, less than half with a clash."""
    if not row["windows"]:
        return 0.0
    weigh = model().support
    chance = probability(row["x"], weigh.calibration)
    return chance * (weigh.maybe or weigh.yes / 2) if "clash" in row else chance


def outcome(row: Mapping[str, Any], name: Callable[[Window], str]) -> Outcome:
    """Of a row with ``x`` or ``absent``; of both the weaker part. ``name`` says where a window is: "passage 2"."""
    found = [_found(row, name)] if "x" in row else []
    if "absent" in row:
        found.append(_absent(row, name))
    return min(found, key=lambda one: one.chance)


def _found(row: Mapping[str, Any], name: Callable[[Window], str]) -> Outcome:
    chance = supported_chance(row)
    windows = row["windows"] if chance > 0 else []
    missing = ", ".join(row["missing"])
    clash = row.get("clash")
    if clash and "has" in clash:
        windows = [clash["at"], *(window for window in windows if window != clash["at"])]
        where = f"{name(clash['at'])} says {clash['has']} ({chance:.2f})"
        says = clash["says"]
        reason = f"contradicted: says {says}; {where}" if clash["same"] else f"not found: {says}; nearest: {where}"
    elif clash:
        reason = f"not found: {clash['says']} ({chance:.2f}; nearest: {name(windows[0])})"
    elif not row["windows"]:
        reason = f"not found: {missing}" if missing else "not found"
    elif chance >= model().support.yes:
        places = " and ".join(dict.fromkeys(map(name, windows)))
        rest = f", except: {', '.join(row['telling'])}" if row["telling"] else ""
        reason = f"found in {places}{rest} ({chance:.2f})"
    elif missing:
        reason = f"not found: {missing} ({chance:.2f}; nearest: {name(windows[0])})"
    else:
        reason = f"same words, different statement, in {name(windows[0])} ({chance:.2f})"
    return Outcome(chance, windows, reason)


def _absent(row: Mapping[str, Any], name: Callable[[Window], str]) -> Outcome:
    """Why a statement that something is not there holds or not."""
    part = row["absent"]
    yes = model().support.yes
    chance = probability(part["x"], (1.0, math.log(yes / (1 - yes))))  # even odds are where ``yes`` begins
    if chance >= yes:
        reason = f"says it is missing, and the contexts do not have it ({chance:.2f})"
        return Outcome(chance, row.get("windows", []), reason)
    place = f"{name(part['windows'][0])} has" if part["windows"] else "the contexts have"
    reason = f"says it is missing, but {place}: {', '.join(part['shared'])} ({chance:.2f})"
    return Outcome(chance, part["windows"], reason)

"""Learn from earlier runs in the store how a judge counts tokens, how much it writes and how often it repairs.

Promises: no judge is called; fewer than ``LEAST`` calls teach nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import orjson

from ragstone.forecast.figures import Range
from ragstone.judges.base import Judge, Usage, size_of
from ragstone.questions import TASKS, Task
from ragstone.store.database import Store
from ragstone.tokens import SURE, Ratio, family, learned, text_length

LEAST: Final = 5
"""Calls or results below which nothing is learned."""
MOST: Final = 400
"""Calls of a judge and step, and results, that are looked at: the latest."""
DRIFT: Final = 0.1
"""The share by which a figure learned from one input may be off for another."""
WRITES: Final[frozenset[Task]] = frozenset({"claims", "nuggetize", "trace"})
"""Steps whose replies grow with the text that is read; those of the others with the units that are asked about."""

Kind = Literal["claim", "nugget", "bank"]
"""What is written: claims or nuggets of a response, or a bank of nuggets of passages."""


@dataclass(frozen=True, slots=True)
class FittedLine:
    """Output tokens of a reply: ``base`` and ``slope`` for each unit, or for each token that is read.

    ``margin`` is how far, as a share, the sum over many replies may be off; ``scatter`` the standard deviation of one.
    """

    base: float
    slope: float
    margin: float
    scatter: float
    samples: int

    def at(self, x: float) -> float:
        """The expected tokens of one reply."""
        return max(1.0, self.base + self.slope * x)


@dataclass(frozen=True, slots=True)
class Habits:
    """Statistics of a judge at one step; None and 0 if unknown.

    ``kin`` names the models whose calls the ratio was learned from, where they are not the judge's own. ``repaired`` is
    how many of ``asked`` calls had to be made again, ``cached`` the share of input that was read from
    the provider's cache, ``saved`` the share that was written to it.
    """

    ratio: Ratio | None = None
    kin: str = ""
    reply: FittedLine | None = None
    asked: int = 0
    repaired: int = 0
    cached: float = 0.0
    saved: float = 0.0


@dataclass(frozen=True, slots=True)
class Lists:
    """``again``: how likely a further list still holds something new. ``each``: output tokens for each nugget."""

    again: float
    each: float
    samples: int


class History:
    """Learn from a store, each figure once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._habits: dict[tuple[str, Task], Habits] = {}
        self._results: list[dict[str, Any]] | None = None

    def habits(self, judge: Judge, task: Task) -> Habits:
        """Learn from the judge's calls for a step; the token ratio also from models of its family."""
        at = (judge.id, task)
        if at not in self._habits:
            found = _habits(self._calls(judge, judge.id, task), task)
            if found.ratio is None:
                ratio, kin = self._of_kin(judge, task)
                found = Habits(ratio, kin)
            self._habits[at] = found
        return self._habits[at]

    def written(self, judge: Judge, task: Task, kind: Kind) -> tuple[Range, float] | None:
        """Learn how many units the judge writes for each 100 characters of text, and the mean characters of one."""
        pairs: list[tuple[float, float]] = []
        lengths: list[int] = []
        for document in self._documents():
            wrote = any(call["step"] == task and call["judge"] == judge.id and not call.get("error")
                        for call in document.get("calls", ()))  # fmt: skip
            if not wrote:
                continue
            texts = [unit["text"] or "" for unit in document["units"] if unit["id"].split("/")[-2:-1] == [kind]]
            if kind == "bank":
                read = " ".join(passage["text"] for passage in document["contexts"])
            else:
                read = document["response"] or ""
            if texts or kind == "claim":
                pairs.append((text_length(read) / 100, float(len(texts) + _left_out(document, kind))))
                lengths += map(len, texts)
        if len(pairs) < LEAST or not lengths:
            return None
        return _share(pairs), sum(lengths) / len(lengths)

    def lists(self, judge: Judge) -> Lists | None:
        """Learn how the judge lists the nuggets of a response, in several replies."""
        calls = nuggets = tokens = count = 0
        for document in self._documents():
            own = [call for call in document.get("calls", ()) if call["step"] == "nuggetize"]
            texts = sum(unit["id"].split("/")[-2:-1] == ["nugget"] for unit in document.get("units", ()))
            if texts and own and all(call["judge"] == judge.id and not call.get("error") for call in own):
                count += 1
                calls += len(own)
                nuggets += texts
                tokens += sum(call["output_tokens"] or 0 for call in own)
        if count < LEAST or not tokens:
            return None
        later = calls / count - 1
        return Lists(1 - 1 / later if later > 1 else 0.0, tokens / nuggets, count)

    def left(self, task: Task, judges: Sequence[str], error: float) -> Range | None:
        """Learn the share of units that the same cascade left to its last judge."""
        pairs = []
        for document in self._documents():
            told = document.get("cascade", {}).get(task)
            if told and list(told["answered"]) == list(judges) and told["error"] == error:
                units = sum(told["answered"].values()) + told["unjudged"]
                pairs.append((float(units), float(told["answered"][judges[-1]] + told["unjudged"])))
        if len(pairs) < LEAST or not any(units for units, _ in pairs):
            return None
        found = _share(pairs)
        return found._replace(expected=min(1.0, found.expected), high=min(1.0, found.high))

    def speed(self, judge: Judge) -> Range | None:
        """Learn the calls per second that a judge answered: the median of the latest runs."""
        rates = []
        for run in reversed(self._store.runs()):
            bill = (run.summary or {}).get("bill")
            seconds = (run.summary or {}).get("seconds", 0.0)
            steps = [step for step in bill["by_step"] if step["judge"] == judge.id] if bill else []
            calls = sum(step["calls"] for step in steps)
            if calls >= 4 * LEAST and seconds > 0:
                rates.append(calls / seconds)
            if len(rates) == LEAST:
                break
        if not rates:
            return None
        middle = sorted(rates)[len(rates) // 2]
        return Range(min(rates) / 1.5, middle, max(rates) * 1.3, len(rates))

    def _calls(self, judge: Judge, name: str, task: Task) -> list[_Earlier]:
        """The latest calls of the judge of that name, which is this one or its kin."""
        return [_earlier(judge, row.request, row.reply) for row in self._store.latest_calls(name, task, MOST)]

    def _of_kin(self, judge: Judge, task: Task) -> tuple[Ratio | None, str]:
        """Learn the ratio from another step of the judge, else from models of its family."""
        name = family(judge.model)
        others = [other for other in self._store.judges() if other == judge.id or (name and family(other) == name)]
        for other in sorted(others, key=lambda other: other != judge.id):
            for step in TASKS:
                if (step, other) != (task, judge.id) and (ratio := _ratio(self._calls(judge, other, step))) is not None:
                    wider = Ratio(ratio.value, 0.93 * ratio.low, 1.07 * ratio.high, ratio.samples)
                    return wider, "" if other == judge.id else other.partition("@")[0]
        return None, ""

    def _documents(self) -> list[dict[str, Any]]:
        if self._results is None:
            self._results = [orjson.loads(row.document) for row in self._store.latest_results(MOST)]
        return self._results


def _left_out(document: Mapping[str, Any], kind: Kind) -> int:
    """Count the units that were written and not judged, because of a limit."""
    counts = [
        score["detail"].get("left_out", 0)
        for score in document["scores"]
        if any(verdict["unit"].split("/")[-2:-1] == [kind] for verdict in score["verdicts"][:1])
    ]
    return max(counts, default=0)


class _Earlier(NamedTuple):
    """One earlier call: its usual tokens, what was counted, how many units it asked about, whether it was a repair."""

    usual: float
    given: int | None
    written: int | None
    cached: int
    saved: int
    units: int
    repair: bool


def _earlier(judge: Judge, request: bytes, reply: bytes) -> _Earlier:
    kept = orjson.loads(reply)
    usage = Usage(*kept["usage"])
    size = size_of(judge.backend, request)
    repair = len(size.texts) > 2  # a prompt has two messages; what follows them asks again
    cached, saved = usage.cached or 0, usage.saved or 0
    return _Earlier(size.usual, usage.input, usage.output, cached, saved, kept.get("units", 0), repair)


def _ratio(calls: Iterable[_Earlier]) -> Ratio | None:
    pairs = [(call.usual, call.given) for call in calls if call.given is not None]
    return learned(pairs) if len(pairs) >= LEAST else None


def _habits(calls: Sequence[_Earlier], task: Task) -> Habits:
    first = [call for call in calls if not call.repair]
    given = sum(call.given or 0 for call in calls)
    points = [
        (call.usual if task in WRITES else float(call.units), float(call.written))
        for call in first
        if call.written is not None and (task in WRITES or call.units)
    ]
    return Habits(
        ratio=_ratio(calls),
        reply=_line(points, flat=task in WRITES) if len(points) >= LEAST else None,
        asked=len(first),
        repaired=len(calls) - len(first),
        cached=sum(call.cached for call in calls) / given if given else 0.0,
        saved=sum(call.saved for call in calls) / given if given else 0.0,
    )


def _line(points: Sequence[tuple[float, float]], *, flat: bool) -> FittedLine:
    """Fit a straight line by least squares.

    Too few or too similar points give replies of one length (``flat``), or a length in proportion to the units.
    """
    count = len(points)
    x_mean, y_mean = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in points) / spread if spread else 0.0
    base = y_mean - slope * x_mean
    if count < 3 * LEAST or math.sqrt(spread / count) < 0.05 * x_mean or slope < 0 or (not flat and base < 0):
        base, slope = (y_mean, 0.0) if flat else (0.0, y_mean / x_mean)
    scatter = math.sqrt(sum((y - base - slope * x) ** 2 for x, y in points) / max(1, count - 2))
    margin = SURE * scatter / math.sqrt(count) / y_mean + DRIFT if y_mean else DRIFT
    return FittedLine(base, slope, margin, scatter, count)


def _share(pairs: Sequence[tuple[float, float]]) -> Range:
    """Divide the sum of the second values by that of the first, with a margin."""
    count = len(pairs)
    whole = sum(x for x, _ in pairs)
    value = sum(y for _, y in pairs) / whole if whole else 0.0
    off = math.sqrt(sum((y - value * x) ** 2 for x, y in pairs) / max(1, count - 1) / count) / (whole / count or 1.0)
    margin = SURE * off + DRIFT * value
    return Range(max(0.0, value - margin), value, value + margin, count)

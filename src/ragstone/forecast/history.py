"""Learn from earlier runs in the store how a judge counts tokens, how much it writes and how often it repairs.

Guarantees: no judge is called, and nothing is learned from fewer than ``LEAST`` calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import orjson
from msgspec import Struct

from ragstone.forecast.figures import Range
from ragstone.judges.base import Judge, Usage, size_of
from ragstone.questions import TASKS, Task
from ragstone.store.database import Store
from ragstone.tokens import SURE, Ratio, family, learned, text_length

LEAST: Final = 5
"""Minimum number of calls or results to learn from."""
MOST: Final = 400
"""Maximum number of calls per judge and step, and of results, to learn from; the latest ones are used."""
DRIFT: Final = 0.1
"""Relative error of a figure learned from one input when applied to another."""
WRITES: Final[frozenset[Task]] = frozenset({"claims", "nuggetize", "trace"})
"""Steps whose replies grow with the text they read; replies of other steps grow with the number of units."""

Kind = Literal["claim", "nugget", "bank"]
"""The kind of unit written: claims or nuggets of a response, or a bank of nuggets from passages."""


class FittedLine(Struct, frozen=True):
    """Output tokens of a reply: ``base`` plus ``slope`` per unit or per token read.

    ``margin`` is the relative error of the sum over many replies; ``scatter`` is the standard deviation of one reply.
    """

    base: float
    slope: float
    margin: float
    scatter: float
    samples: int

    def at(self, x: float) -> float:
        """Return the expected tokens of a reply."""
        return max(1.0, self.base + self.slope * x)


class Habits(Struct, frozen=True):
    """Statistics of a judge at one step; None or 0 if unknown.

    ``kin`` names the model whose calls the ratio was learned from, if it is not the judge's own. ``repaired`` is the
    number of the ``asked`` calls that had to be repeated. ``cached`` is the share of input read from the provider's
    cache, ``saved`` the share written to it.
    """

    ratio: Ratio | None = None
    kin: str = ""
    reply: FittedLine | None = None
    asked: int = 0
    repaired: int = 0
    cached: float = 0.0
    saved: float = 0.0


class Lists(Struct, frozen=True):
    """``again``: probability that one more list contains new nuggets. ``each``: output tokens per nugget."""

    again: float
    each: float
    samples: int


class History:
    """Learns figures from a store and caches what it has read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._habits: dict[tuple[str, Task], Habits] = {}
        self._results: list[dict[str, Any]] | None = None

    def habits(self, judge: Judge, task: Task) -> Habits:
        """Return statistics of the judge's calls for a step; the token ratio may come from models of its family."""
        at = (judge.id, task)
        if at not in self._habits:
            found = _habits(self._calls(judge, judge.id, task), task)
            if found.ratio is None:
                ratio, kin = self._of_kin(judge, task)
                found = Habits(ratio, kin)
            self._habits[at] = found
        return self._habits[at]

    def written(self, judge: Judge, task: Task, kind: Kind) -> tuple[Range, float] | None:
        """Return how many units the judge writes per 100 characters and their mean length, or None if unknown."""
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
        """Return statistics of how the judge lists the nuggets of a response in several replies."""
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
        """Return the share of units that the same cascade passed to its last judge."""
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
        """Return the calls per second that a judge answered: the median of the latest runs."""
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
        """Return the latest calls of the named judge, which is ``judge`` itself or one of its family."""
        return [_earlier(judge, row.request, row.reply) for row in self._store.latest_calls(name, task, MOST)]

    def _of_kin(self, judge: Judge, task: Task) -> tuple[Ratio | None, str]:
        """Return the token ratio from another step of the judge, else from a model of its family, and that model."""
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
    """Return the number of units that were written but not judged because of a limit."""
    counts = [
        score["detail"].get("left_out", 0)
        for score in document["scores"]
        if any(verdict["unit"].split("/")[-2:-1] == [kind] for verdict in score["verdicts"][:1])
    ]
    return max(counts, default=0)


class _Earlier(NamedTuple):
    """One earlier call: estimated and reported tokens, number of units, and whether it was a repair."""

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
    repair = len(size.texts) > 2  # a prompt has two messages; later ones are repairs
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

    With too few or too similar points, assume a constant length (``flat``), or one proportional to the units.
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
    """Return the ratio of the sums of second and first values, with a margin."""
    count = len(pairs)
    whole = sum(x for x, _ in pairs)
    value = sum(y for _, y in pairs) / whole if whole else 0.0
    off = math.sqrt(sum((y - value * x) ** 2 for x, y in pairs) / max(1, count - 1) / count) / (whole / count or 1.0)
    margin = SURE * off + DRIFT * value
    return Range(max(0.0, value - margin), value, value + margin, count)

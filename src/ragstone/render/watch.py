"""Describe a run's progress and speed, and the findings of an input's survey, as text."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from ragstone.render.text import NBSP, dollars, duration, flat, number, plural, tokens

if TYPE_CHECKING:
    from ragstone.engine.tally import Tally
    from ragstone.records.survey import Survey

WINDOW: Final = 20.0
"""Length, in seconds, of the window used to estimate the speed and the time left."""
SURE: Final = 2.0
"""Seconds before a speed or the time left is shown."""


class Watch(Struct):
    """Samples a tally from time to time and computes how fast it grows."""

    tally: Tally
    total: int
    name: str
    started: float = field(default_factory=time.monotonic)
    _seen: deque[tuple[float, int, int]] = field(default_factory=deque)

    def look(self) -> tuple[float, float | None]:
        """Return the calls per second and the seconds left (None while unknown)."""
        now = time.monotonic()
        self._seen.append((now, self.tally.records, self.tally.answered + self.tally.replayed))
        while len(self._seen) > 2 and self._seen[1][0] < now - WINDOW:
            self._seen.popleft()
        then, records, calls = self._seen[0]
        passed = now - then
        if passed < SURE:
            return 0.0, None
        done = self.tally.records - records
        left = (self.total - self.tally.records) * passed / done if done else None
        return (self.tally.answered + self.tally.replayed - calls) / passed, left

    def counts(self) -> list[str]:
        """Return the progress counts, most important first."""
        tally = self.tally
        speed, _ = self.look()
        of_calls = tally.most_calls is not None
        parts = [f"{number(int(tally.charged.calls))} of at most {number(tally.most_calls or 0)} calls" if of_calls
                 else f"{number(tally.answered)} calls"]  # fmt: skip
        rest = {"replayed": tally.replayed, "retried": tally.retried, "failed": tally.failed}
        parts += [f"{number(count)} {what}" for what, count in rest.items() if count]
        if speed >= 0.05:
            parts.append(f"{speed:.0f}/s" if speed >= 10 else f"{speed:.1f}/s")
        if tally.paid.input_tokens or tally.paid.output_tokens:
            most = "" if tally.most_tokens is None else f" of at most {tokens(tally.most_tokens)} tokens"
            parts.append(f"{tokens(tally.paid.input_tokens)} in, {tokens(tally.paid.output_tokens)} out{most}")
        if tally.replied and tally.paid.dollars != 0:
            budget = f" of at most {dollars(tally.budget)}" if tally.budget is not None else ""
            about = f" of about {dollars(tally.expected)}" if tally.expected and not budget else ""
            parts.append(f"{dollars(tally.paid.dollars)}{budget}{about}")
        return parts

    def limit(self) -> str:
        """Return what currently limits the run's speed; empty if nothing does."""
        limit = self.tally.limit()
        return f"limit: {flat(limit)}" if limit else ""

    def line(self) -> str:
        """Return one line of text for a log."""
        _, left = self.look()
        parts = [f"{number(self.tally.records)} of {plural(self.total, 'record')}", *self.counts()]
        if left is not None:
            parts.append(f"{duration(left)} left")
        if limit := self.limit():
            parts.append(limit)
        return ", ".join(parts).replace(NBSP, " ")


def warnings(found: Survey, most: int) -> list[str]:
    """Return at most ``most`` of the survey's warnings and, if there are more, a line with their number."""
    lines = [flat(line) for line in found.warnings]
    rest = len(lines) - most
    return lines if rest <= 0 else [*lines[:most], f"and {plural(rest, 'more kind')} of notes"]

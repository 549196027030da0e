"""A run while it goes on: two lines that are drawn again and again, or now and then one line of text."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ragstone.engine import Tally
from ragstone.render.terminal.screen import Look
from ragstone.render.text import NBSP, dollars, duration, flat, middle, number, plural, tokens

WINDOW: Final = 20.0
"""Seconds that speed and time left are estimated from: what was long ago says little of what is to come."""
SURE: Final = 2.0
"""Seconds before any speed or time left is shown."""


@dataclass(slots=True)
class Watch:
    """Looks at a tally now and then and tells how fast it grows."""

    tally: Tally
    total: int
    name: str
    started: float = field(default_factory=time.monotonic)
    _seen: deque[tuple[float, int, int]] = field(default_factory=deque)

    def look(self) -> tuple[float, float | None]:
        """Calls a second, and the seconds that are left (None while that cannot be said)."""
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
        """What has been done so far, the most important first."""
        tally = self.tally
        speed, _ = self.look()
        if tally.most_calls is None:
            parts = [f"{number(tally.answered)} calls"]
        else:
            parts = [f"{number(tally.charged)} of at most {number(tally.most_calls)} calls"]
        parts += [f"{number(count)} {what}" for count, what in self._rest() if count]
        if speed >= 0.05:
            parts.append(f"{speed:.0f}/s" if speed >= 10 else f"{speed:.1f}/s")
        if tally.paid.input_tokens or tally.paid.output_tokens:
            most = "" if tally.most_tokens is None else f" of at most {tokens(tally.most_tokens)} tokens"
            parts.append(f"{tokens(tally.paid.input_tokens)} in, {tokens(tally.paid.output_tokens)} out{most}")
        if tally.replied and tally.paid.dollars != 0:
            parts.append(dollars(tally.paid.dollars) + self._of())
        return parts

    def _of(self) -> str:
        """What the money is to be held against: the budget, else what it was estimated at."""
        if self.tally.budget is not None:
            return f" of at most {dollars(self.tally.budget)}"
        return f" of about {dollars(self.tally.expected)}" if self.tally.expected else ""

    def limit(self) -> str:
        """What holds the run at this moment; empty when nothing does."""
        limit = self.tally.limit()
        return f"limit: {flat(limit)}" if limit else ""

    def _rest(self) -> list[tuple[int, str]]:
        return [(self.tally.replayed, "replayed"), (self.tally.retried, "retried"), (self.tally.failed, "failed")]

    def line(self) -> str:
        """One line of text for a log."""
        _, left = self.look()
        parts = [f"{number(self.tally.records)} of {plural(self.total, 'record')}", *self.counts()]
        if left is not None:
            parts.append(f"{duration(left)} left")
        if limit := self.limit():
            parts.append(limit)
        return ", ".join(parts).replace(NBSP, " ")


@dataclass(slots=True)
class Bar:
    """The live view of a watch."""

    watch: Watch

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        look = Look(options.max_width, not console.encoding.casefold().startswith("utf"))
        yield from drawn(self.watch, look)


def drawn(watch: Watch, look: Look) -> tuple[Text, ...]:
    """The bar, the counts below it, and what limits the run: behind the counts, or below them if they leave no room."""
    counts = watch.counts()
    _, left = watch.look()
    done, total = watch.tally.records, max(1, watch.total)
    right = f"{number(done)} of {number(watch.total)}"
    if left is not None:
        right += f"  {duration(left)} left".replace(NBSP, " ")
    name = middle(flat(watch.name), max(10, look.width // 4), look.ellipsis)
    cells = max(8, min(40, look.width - len(name) - len(right) - 8))
    full = min(cells, done * cells // total)
    filled, empty = ("=", "-") if look.ascii else ("━", "─")
    bar = Text.assemble("  ", (name, "head"), "  ", filled * full, (empty * (cells - full), "quiet"), "  ", right)
    below = Text("  ", style="quiet")
    separator = f" {look.dot} "
    for number_, part in enumerate(counts):
        piece = (separator if number_ else "") + part
        if below.cell_len + len(piece) > look.width:
            break
        below.append(piece)
    limit = watch.limit()
    if limit and below.cell_len + len(separator) + len(limit) <= look.width:
        below.append(separator + limit)
    elif limit:
        return bar, below, Text(f"  {middle(limit, look.width - 2, look.ellipsis)}", style="quiet")
    return bar, below

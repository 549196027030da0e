"""Show the progress of a run on standard error: two updated lines on a terminal, else a line every ten seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from msgspec import Struct, field
from rich.console import Group
from rich.live import Live
from rich.text import Text

from ragstone import api
from ragstone.api.progress import again_and_again
from ragstone.cli.exit_codes import say
from ragstone.render.terminal.screen import DOT, Look, Screen, screen
from ragstone.render.text import NBSP, duration, flat, middle, number, plural
from ragstone.render.watch import Watch, warnings

EVERY: Final = 10.0
"""Seconds between lines if no progress bar can be shown."""
FRAMES: Final = 6
"""Updates of the progress bar per second."""
MOST_WARNINGS: Final = 4


class RunDisplay(Struct):
    """Shows a run on standard error; with ``quiet``, it only tracks the progress.

    ``forgets``: replies are not stored.
    """

    name: str
    quiet: bool = False
    forgets: bool = False
    console: Screen = field(default_factory=lambda: screen(stderr=True))
    progress: api.Progress | None = None
    _live: bool = False
    _watch: Watch | None = None

    def start(self, progress: api.Progress) -> None:
        """Print notes on the records, which have now been counted, and start the progress display."""
        self.progress = progress
        if self.quiet:
            return
        self._watch = Watch(progress.tally, progress.total, flat(progress.survey.name))
        lines = [*progress.notes, *progress.survey.messages[:MOST_WARNINGS]]
        lines += warnings(progress.survey, MOST_WARNINGS)
        for line in lines:
            self.console.print(Text.assemble(("note: ", "quiet"), flat(line)), soft_wrap=not self.console.is_terminal)
        if not self._live:
            judges = f"judge{'s' if len(progress.judges) > 1 else ''}: {', '.join(progress.judges)}"
            counted, scored = plural(progress.total, "record"), plural(len(progress.metrics), "metric")
            self._print(f"Evaluating {counted} with {scored} ({judges})".replace(NBSP, " "))

    def going_on(self) -> AbstractContextManager[None]:
        """Show progress until the block ends: a live bar on a terminal, else a line every ``EVERY`` seconds."""
        if self.quiet:
            return nullcontext()
        if sys.stderr.isatty() and not self.console.is_dumb_terminal:
            return self._live_view()
        return again_and_again(self._log, EVERY)

    def say_interrupted(self, kept: str = "") -> None:
        """Print how far an interrupted run got and where its results are."""
        progress = self.progress
        if progress is None:
            say("note", "interrupted before the first call; nothing was sent")
            return
        count = progress.tally.kept if progress.run else progress.tally.records
        done = (
            f"{count:,} of {progress.total:,} records are {f'saved as run {progress.run}' if progress.run else 'done'}"
        )
        replies = "all replies are stored; run the same command to continue"
        if self.forgets:
            replies = "no reply is stored (--no-cache)"
            replies += f"; add --only-failed {progress.run} to reuse these results" if progress.run and count else ""
        where = f"; the lines so far are in {kept}" if kept else ""
        say("note", f"interrupted: {done if count else 'no record is done'}; {replies}{where}")

    @contextmanager
    def _live_view(self) -> Iterator[None]:
        self._live = True
        with Live(console=self.console, get_renderable=self._view, refresh_per_second=FRAMES, transient=True):
            yield

    def _view(self) -> Group:
        if self._watch is None:
            return Group(Text(f"  reading {self.name}", style="quiet"))
        return Group(*drawn(self._watch, Look.of(self.console)))

    def _log(self) -> None:
        if self._watch is not None:
            self._print(self._watch.line())

    def _print(self, line: str) -> None:
        self.console.print(Text(flat(line), style="quiet"), soft_wrap=True)


def drawn(watch: Watch, look: Look) -> tuple[Text, ...]:
    """Return the bar, the counts below it, and what limits the run: after the counts, or below if there is no room."""
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
    below = counts[0]
    for part in counts[1:]:
        if len(longer := f"{below}{DOT}{part}") > look.width - 2:
            break
        below = longer
    limit = watch.limit()
    beside = f"{below}{DOT}{limit}" if limit else below
    lines = [beside] if len(beside) <= look.width - 2 else [below, middle(limit, look.width - 2, look.ellipsis)]
    return bar, *(Text(f"  {line}", style="quiet") for line in lines)

"""What is seen on standard error while a command asks its questions."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final

from rich.live import Live
from rich.text import Text

from ragstone import api
from ragstone.cli.ending import say
from ragstone.cli.progress_bar import Bar, Watch
from ragstone.render.terminal.lists import messages, warnings
from ragstone.render.terminal.screen import Screen, screen
from ragstone.render.text import NBSP, flat, plural

EVERY: Final = 10.0
"""Seconds between two lines where nothing can be drawn over."""
FRAMES: Final = 6
"""Drawings a second."""
MOST_WARNINGS: Final = 4


@dataclass(slots=True)
class Drawn:
    """What is seen of a run on standard error; of ``quiet`` nothing, but it knows how far the run came.

    ``forgets``: no reply is kept.
    """

    name: str
    quiet: bool = False
    forgets: bool = False
    console: Screen = field(default_factory=lambda: screen(stderr=True))
    progress: api.Progress | None = None
    _live: Live | None = None

    def start(self, progress: api.Progress) -> None:
        """The records are surveyed: tell what is odd about them, and begin to draw."""
        self.progress = progress
        if self.quiet:
            return
        lines = [*progress.notes, *messages(progress.survey)[:MOST_WARNINGS]]
        lines += warnings(progress.survey, MOST_WARNINGS)
        for line in lines:
            self.console.print(Text.assemble(("note: ", "quiet"), flat(line)), soft_wrap=not self.console.is_terminal)
        if self._live is not None:
            self._live.update(Bar(self._watch()))
        else:
            judged = ", ".join(progress.judges)
            run = f"run {progress.run}: " if progress.run else ""
            counted = plural(progress.total, "record").replace(NBSP, " ")
            self._print(f"{run}{counted}, {', '.join(progress.metrics)}, by {judged}")

    def going_on(self) -> AbstractContextManager[None]:
        """Draw for as long as this lasts: over and over on a terminal, else a line now and then."""
        if self.quiet:
            return nullcontext()
        return self._live_view() if sys.stderr.isatty() and not self.console.is_dumb_terminal else self._log()

    def say_interrupted(self, kept: str = "") -> None:
        """How far the run came, where what came of it is, and that nothing was lost."""
        progress = self.progress
        if progress is None:
            say("note", "interrupted before the first call; nothing was sent")
            return
        done_so_far = progress.tally.kept if progress.run else progress.tally.records
        if not done_so_far:
            left = (
                "no reply is kept (--no-cache)"
                if self.forgets
                else "the replies that came are kept, the same command goes on"
            )
            say("note", f"interrupted before a record was done; {left}")
            return
        done = f"{done_so_far:,} of {progress.total:,} records are "
        done += f"kept as run {progress.run}" if progress.run else "done"
        where = f"; the lines so far are in {kept}" if kept else ""
        on = "and every reply is kept; the same command goes on from there"
        if self.forgets:
            on = "but no reply (--no-cache)"
            on += f"; --only-failed {progress.run} takes them over and asks for the rest" if progress.run else ""
        say("note", f"interrupted: {done}, {on}{where}")

    @contextmanager
    def _live_view(self) -> Iterator[None]:
        reading = Text(f"  reading {self.name}", style="quiet")
        with Live(reading, console=self.console, refresh_per_second=FRAMES, transient=True) as self._live:
            yield

    @contextmanager
    def _log(self) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=self._lines, args=(over,), name="ragstone-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _lines(self, over: threading.Event) -> None:
        watch: Watch | None = None
        while not over.wait(EVERY):
            if self.progress is not None:
                watch = watch or self._watch()
                self._print(watch.line())

    def _watch(self) -> Watch:
        assert self.progress is not None
        return Watch(self.progress.tally, self.progress.total, flat(self.progress.survey.name))

    def _print(self, line: str) -> None:
        self.console.print(Text(flat(line), style="quiet"), soft_wrap=True)

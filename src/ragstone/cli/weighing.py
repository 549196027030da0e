"""``ragstone run``: draw the run while it goes on, then what came of it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import typer
from rich.live import Live
from rich.text import Text

from ragstone import api
from ragstone.cli.ending import INTERRUPTED, UNJUDGED, say
from ragstone.cli.output import show, show_json
from ragstone.report.terminal.lists import messages, warnings
from ragstone.report.terminal.live import Bar, Watch
from ragstone.report.terminal.outcome import Place, lead, outcome
from ragstone.report.terminal.screen import Screen, screen
from ragstone.report.terminal.text import flat

EVERY: Final = 10.0
"""Seconds between two lines where nothing can be drawn over."""
FRAMES: Final = 6
"""Drawings a second."""
MOST_WARNINGS: Final = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say of output."""

    out: Path | None
    cases: bool
    store: Path | None
    config: Path | None
    quiet: bool
    as_json: bool


def run(file: str, wanted: Wanted, **options: Any) -> None:
    """Weigh, show progress, show the result; leave with 3 when nothing could be scored or no call was answered."""
    drawn = Drawn(flat(file))
    on_start = None if wanted.quiet else drawn.start
    started = api.Options.written(
        out=wanted.out, cases=wanted.cases, store=wanted.store, config=wanted.config, on_start=on_start, **options
    )
    try:
        with drawn.going_on() if not wanted.quiet else _nothing():
            finished = api.run(file, started)
    except KeyboardInterrupt:
        _interrupted(drawn)
        raise typer.Exit(INTERRUPTED) from None
    with closing(finished.store):
        summary = finished.summary()
        if wanted.as_json:
            show_json(summary)
        else:
            elsewhere = wanted.store or (wanted.config and finished.store.path)
            place = Place(str(wanted.out or ""), wanted.cases, ("--store", str(elsewhere)) if elsewhere else ())
            show(lambda look: outcome(finished, look, place))
        if not lead(summary) or _unanswered(summary["bill"]):
            raise typer.Exit(UNJUDGED)


def _unanswered(bill: Mapping[str, Any]) -> bool:
    """Whether not one call was answered, though some were made: what has a score then had it without the judge."""
    return bool(bill["failed"]) and not bill["sent"] and not bill["replayed"]


@dataclass(slots=True)
class Drawn:
    """What is seen of a run on standard error."""

    name: str
    console: Screen = field(default_factory=lambda: screen(stderr=True))
    progress: api.Progress | None = None
    _live: Live | None = None

    def start(self, progress: api.Progress) -> None:
        """The records are surveyed: tell what is odd about them, and begin to draw."""
        self.progress = progress
        lines = [*progress.notes, *messages(progress.survey)[:MOST_WARNINGS]]
        lines += warnings(progress.survey, MOST_WARNINGS)
        for line in lines:
            self.console.print(Text.assemble(("note: ", "quiet"), flat(line)), soft_wrap=not self.console.is_terminal)
        if self._live is not None:
            self._live.update(Bar(self._watch()))
        else:
            judged = ", ".join(progress.judges)
            self._print(f"run {progress.run}: {progress.total:,} records, {', '.join(progress.metrics)}, by {judged}")

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Draw for as long as this lasts: over and over on a terminal, else a line now and then."""
        if sys.stderr.isatty() and not self.console.is_dumb_terminal:
            reading = Text(f"  reading {self.name}", style="quiet")
            with Live(reading, console=self.console, refresh_per_second=FRAMES, transient=True) as self._live:
                yield
            return
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


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _interrupted(drawn: Drawn) -> None:
    progress = drawn.progress
    if progress is None:
        say("note", "interrupted before the first call; nothing was sent")
        return
    if not progress.tally.records:
        say("note", "interrupted before a record was done; the replies that came are kept, the same command goes on")
        return
    done = f"{progress.tally.records:,} of {progress.total:,} records are kept as run {progress.run}"
    say("note", f"interrupted: {done}, and so is every reply; the same command goes on from there")

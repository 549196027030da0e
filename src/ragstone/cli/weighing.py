"""``ragstone run`` and ``compare-methods``: draw the run while it goes on, then what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ragstone import api
from ragstone.analysis.cascades import silent
from ragstone.analysis.run import Run
from ragstone.cli.exit_codes import INTERRUPTED, UNJUDGED, say_unseen, undisturbed
from ragstone.cli.output import show, show_json
from ragstone.cli.progress import RunDisplay
from ragstone.config import Flags, resolve
from ragstone.errors import OutputError, RagstoneError, StoreError
from ragstone.render.facts import answered_now, comparable, lead
from ragstone.render.terminal.outcome import Place, bill_rows, outcome
from ragstone.render.terminal.screen import Look, Page, facts, indented
from ragstone.render.text import flat


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say of output."""

    out: Path | None = None
    cases: bool = False
    report: bool = True
    store: Path | None = None
    config: Path | None = None
    quiet: bool = False
    as_json: bool = False
    dry_run: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """Those of them that say where results go, as they are written."""
        return (*(("-o", str(self.out)) if self.out else ()), *(("--cases",) if self.cases else ()))


def run(file: str, wanted: Wanted, **options: Any) -> None:
    """Weigh, show progress, show the result; leave with 3 when nothing could be scored or no call was answered."""
    finished = weighed(partial(api.run, file), file, wanted, **options)
    with closing(finished.store):
        _show(finished, wanted)
        leave(finished)


def _show(finished: Run, wanted: Wanted) -> None:
    if wanted.as_json:
        show_json(finished.summary())
    else:
        show(lambda look: outcome(finished, look, place_of(finished, wanted)))


def compare_methods(file: str, wanted: Wanted, **options: Any) -> None:
    """Weigh by both triads and show them side by side; leave with 3 also where nothing can be compared."""
    if wanted.dry_run:
        from ragstone.cli.estimating import tell  # noqa: PLC0415 - a run does not need it

        tell(
            ("compare-methods",), (file,), partial(api.forecast_methods, file), as_json=wanted.as_json,
            own=wanted.words, store=wanted.store, config=wanted.config, **options,
        )  # fmt: skip
        return
    from ragstone.render.terminal.methods_screen import comparison, widest_apart  # noqa: PLC0415 - run shows another page

    finished = weighed(partial(api.compare_methods, file), file, wanted, comparison, **options)
    with closing(finished.store):
        if wanted.as_json:
            show_json({**finished.summary(), "widest": [gap.as_json() for gap in widest_apart(finished)]})
        else:
            show(lambda look: comparison(finished, look, place_of(finished, wanted)))
        leave(finished)
        if not comparable(finished.summary()):
            raise typer.Exit(UNJUDGED)


def weighed(
    work: Callable[[api.Options], Run],
    source: str,
    wanted: Wanted,
    page: Callable[[Run, Look, Place], Page] | None = outcome,
    kept: Callable[[], str] = str,
    **options: Any,
) -> Run:
    """Do the work while it is drawn; what ends it early shows on ``page`` what there is, or its bill alone.

    An interrupt says what is kept (``kept`` where lines are), and leaves with 130.
    """
    drawn = RunDisplay(flat(source), wanted.quiet, forgets=bool(options.get("no_cache")))
    started = api.Options.written(
        out=wanted.out, cases=wanted.cases, report=wanted.report, store=wanted.store, config=wanted.config,
        on_start=drawn.start, **options,
    )  # fmt: skip
    try:
        with drawn.going_on():
            return work(started)
    except KeyboardInterrupt:
        with undisturbed():
            drawn.say_interrupted(kept())
            if not kept():
                _show_partial(drawn.progress, wanted, page)
        raise typer.Exit(INTERRUPTED) from None
    except RagstoneError as error:
        # The message comes after it: a run that was paid for is not lost for its report.
        if not isinstance(error, StoreError):
            _show_partial(drawn.progress, wanted, page, failed=error.path if isinstance(error, OutputError) else "")
        raise


def _show_partial(
    progress: api.Progress | None,
    wanted: Wanted,
    page: Callable[[Run, Look, Place], Page] | None,
    failed: str = "",
) -> None:
    """What was done until a run ended early, as a whole run is shown; of one that did no record, its bill.

    Nothing where nothing is kept, or a second interrupt left no summary. ``failed`` is a file that was not written.
    """
    if progress is None or not progress.tally.anything:
        return
    done = api.open_run(progress.run, resolve(Flags(store=wanted.store, config=wanted.config)).store)
    with closing(done.store):
        row = done.store.run(progress.run)
        if row is None or row.summary is None:
            return
        if wanted.as_json:
            show_json(done.summary())
        elif page and len(done):
            show(lambda look: page(done, look, replace(place_of(done, wanted), failed=failed)))
        else:
            show_bill(progress)


def show_bill(progress: api.Progress | None) -> None:
    """What was sent and what it cost, on standard error, of work that ended before there was a result to show."""
    if progress is not None and progress.tally.anything:
        bill = progress.tally.as_json()
        show(lambda look: Page(indented(facts(bill_rows(bill, look)))), stderr=True)


def place_of(finished: Run, wanted: Wanted) -> Place:
    """Where the results lie, and what finds them again."""
    elsewhere = wanted.store or (wanted.config and finished.store.path)
    options = ("--store", str(elsewhere)) if elsewhere else ()
    return Place(str(wanted.out or ""), wanted.cases, options, report=wanted.report)


def leave(finished: Run) -> None:
    """Leave with 3 when nothing could be scored, no call was answered, or an offline run lacked one.

    So also where the last judge of a cascade answered nothing of what was left to it.
    """
    summary = finished.summary()
    if unseen := summary["bill"].get("unseen"):
        say_unseen(unseen)
        raise typer.Exit(UNJUDGED)
    if not lead(summary) or _unanswered(summary["bill"]) or silent(summary.get("cascade", {})):
        raise typer.Exit(UNJUDGED)


def _unanswered(bill: Mapping[str, Any]) -> bool:
    """Whether not one call was answered, though some were made: what has a score then had it without the judge."""
    return bool(bill["failed"]) and not answered_now(bill) and not bill["replayed"]

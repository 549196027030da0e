"""Run or estimate on the command line: show the progress and the result, and set the exit code."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from msgspec.structs import replace

from ragstone import api
from ragstone.analysis.cascades import warnings
from ragstone.analysis.run import Run
from ragstone.analysis.run_files import ABOUT
from ragstone.cli.exit_codes import INTERRUPTED, UNJUDGED, say, say_unseen, undisturbed
from ragstone.cli.options import again, wants_json
from ragstone.cli.output import answer, show, show_json
from ragstone.cli.progress import RunDisplay
from ragstone.errors import OutputError, RagstoneError, StoreError
from ragstone.options import Progress, RunOptions, options_of
from ragstone.render.facts import RunFacts, lead
from ragstone.render.terminal.outcome import Place, bill_rows, outcome
from ragstone.render.terminal.screen import Look, Page, facts, indented
from ragstone.render.text import flat, plural, shorten
from ragstone.types import NOTHING

if TYPE_CHECKING:
    from ragstone.forecast.summary import Estimate

LONGEST_CAUSE: Final = 100
"""Maximum length, in characters, of a cause in an error message; the screen has the whole text."""
Draw = Callable[[Run, Look, Place], Page]
SHARDED: Final = "without --shard and --engine, with the same --store"
"""How to run again so that missing calls of shards are sent, for a message."""


def show_result(
    finished: Run,
    options: RunOptions,
    page: Draw,
    *,
    quiet: bool = False,
    failed: str = "",
    source: str = "",
    more: Mapping[str, Any] = NOTHING,
) -> None:
    """Print a result on its page, or as JSON with ``more``; ``failed`` is the file that could not be written."""
    named = finished.store.runs() if options.name else []
    if before := [run.id for run in named if run.name == options.name and run.id != finished.id]:
        say(
            "note",
            f"the name '{options.name}' now refers to run {finished.id}; "
            f"the previous run of this name is run {before[-1]}",
        )
    read = reading(source, options) if source else reading_of(finished)
    place = replace(place_of(finished, options), failed=failed, quiet=quiet, source=read)
    answer({**finished.summary(), **more}, lambda look: page(finished, look, place))


def evaluated(
    work: Callable[[RunOptions], Run],
    source: str,
    options: RunOptions,
    page: Draw | None,
    *,
    quiet: bool,
    kept: Callable[[], str] = str,
) -> Run:
    """Do the work and show its progress; if a run ends early, show what is done on ``page``, or only its bill.

    An interrupt prints what is saved (``kept`` returns the file with the lines so far), and exits with 130.
    """
    drawn = RunDisplay(flat(source), quiet, forgets=options.no_cache)
    earlier = _run_in(options.out)
    store = str(earlier.get("store", ""))
    left = f", which are still in the store (run {earlier.get('run')} in {store})" if Path(store).is_file() else ""
    try:
        with drawn.going_on():
            finished = work(replace(options, on_start=drawn.start))
    except KeyboardInterrupt:
        with undisturbed():
            drawn.say_interrupted(kept())
            if not kept():
                _show_partial(drawn.progress, options, page)
        raise typer.Exit(INTERRUPTED) from None
    except RagstoneError as error:
        # Show partial results before the error: they have been paid for.
        if isinstance(error, StoreError):  # they may be unreadable
            if wants_json() and drawn.progress is not None and drawn.progress.run:
                bill = drawn.progress.tally.as_json()
                show_json({"run": drawn.progress.run, "status": "stopped", "stopped": str(error), "bill": bill})
            else:
                show_bill(drawn.progress)
        else:
            failed = error.path if isinstance(error, OutputError) else ""
            _show_partial(drawn.progress, options, page, failed=failed)
        raise
    if earlier.get("input", "") not in ("", finished.spec.get("input")):
        say("note", f"{options.out}: replaced the results for {earlier['input']}{left}")
    return finished


def _run_in(folder: Path | str | None) -> Mapping[str, Any]:
    """Return the run.json of an output folder; empty without a readable one."""
    with suppress(OSError, ValueError):
        found = json.loads(Path(folder or "", ABOUT).read_bytes()) if folder else None
        return found if isinstance(found, dict) else {}
    return {}


def _show_partial(progress: Progress | None, options: RunOptions, page: Draw | None, *, failed: str = "") -> None:
    """Show the results of a run that ended early, or its bill if nothing is scored.

    Shows nothing if nothing was saved, or if a second interrupt prevented the summary. ``failed`` is the file that
    could not be written.
    """
    if progress is None or not progress.tally.anything:
        return
    if not progress.run:
        show_bill(progress)
        return
    done = api.open_run(progress.run, progress.store)
    with closing(done.store):
        row = done.store.run(progress.run)
        if row is None or row.summary is None:
            return
        if wants_json() or (page and lead(row.summary)):
            show_result(done, options, page or outcome, failed=failed)
        else:
            show_bill(progress)


def show_bill(progress: Progress | None) -> None:
    """Show calls and cost on standard error, for work that ended without a result."""
    if progress is not None and progress.tally.asked:
        bill = progress.tally.as_json()
        show(lambda _: Page(indented(facts(bill_rows(bill)))), stderr=True)


def place_of(finished: Run, options: RunOptions) -> Place:
    """Return where the results are, with the options to find them again; those of a shard are only in its store."""
    if options.shard is not None:
        options = replace(options, out=None, store=finished.store.path)
    elsewhere = options.store or (options.config and finished.store.path)
    return Place(str(options.out or ""), options.cases, again(elsewhere), report=options.report)


def reading(file: str, options: RunOptions) -> str:
    """Return a file and the options with which it is read, for another command."""
    others = [one.name for one in options_of(RunOptions) if "validate" not in one.commands]
    return shlex.join(["FILE" if file == "-" else file, *options.words(without=others)])


def reading_of(run: Run) -> str:
    """Return the input of a run with the options that read it; empty if the file is in another folder."""
    spec, file = run.spec, str(run.spec.get("input", ""))  # without its folder
    layout = spec.get("layout", NOTHING)
    given: dict[str, Any] = {name: spec.get(name) for name in ("fields", "nuggets", "topics", "qrels")}
    options = RunOptions(**given, input_format=layout.get("name"), records_path=layout.get("path"))
    return reading(file, options) if Path(file).is_file() else ""


def exit_if_unjudged(finished: Run, instead: str = "without --offline") -> None:
    """Exit with 3 if nothing could be scored, no call was answered, or an offline run lacked a reply.

    Also exit with 3 if the last judge of a cascade answered none of the units passed on to it.
    """
    summary = finished.summary()
    bill = summary["bill"]
    if unseen := bill.get("unseen"):
        say_unseen(unseen, instead)
        raise typer.Exit(UNJUDGED)
    unanswered = bill["failed"] and not bill["answered"] and not bill["replayed"]  # scored without the judge
    if not lead(summary):
        causes = [*dict.fromkeys(cause.reason or cause.status for cause in RunFacts(finished).missing)]
        most = shorten(causes[0], LONGEST_CAUSE) if causes else "there are no records"
        more = f" (and {plural(len(causes) - 1, 'more cause')})" if len(causes) > 1 else ""
        say("error", f"nothing was evaluated: {most}{more}")
    if not lead(summary) or unanswered or warnings(summary.get("cascade", {})):
        raise typer.Exit(UNJUDGED)


# ---- estimates

BUDGET = ("max_cost", "max_calls", "max_tokens")


def estimate(
    command: str,
    files: Sequence[str],
    forecast: Callable[[RunOptions], Estimate],
    options: RunOptions,
    *,
    own: Sequence[str] = (),
    without: Sequence[str] = (),
) -> None:
    """Show the estimate of a command, and the command to run: plus ``own`` words, minus the ``without`` options."""
    from ragstone.render.terminal.estimate import estimate_page, next_budget

    found = forecast(options)
    for note in found.notes:
        say("note", note)
    if wants_json():
        show_json(found.as_json())
        return
    # The budget comes first, so that even a partly copied command has it.
    limits = RunOptions(**{name: getattr(options, name) for name in BUDGET})
    if not limits.words() or found.fits() is False:
        limits = RunOptions(max_cost=next_budget(found))
    words = options.words(without=(*BUDGET, *without))
    typed = shlex.join(["ragstone", *command.split(), *limits.words(), *files, *words, *own])
    show(lambda look: estimate_page(found, typed, look, reading(files[0], options)))

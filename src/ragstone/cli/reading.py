"""The commands that read: an input, the store, a run, a record."""

from __future__ import annotations

import shlex
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from ragstone import api
from ragstone.analysis.reply_formats import how_read
from ragstone.analysis.run import Run
from ragstone.cli.exit_codes import USAGE
from ragstone.cli.output import binary_output, show, show_json
from ragstone.config import unsuitable
from ragstone.metrics import catalogue
from ragstone.output.export import form_of, format_named
from ragstone.output.export import formats as export_formats
from ragstone.render.facts import judges_of
from ragstone.render.terminal.case import case
from ragstone.render.terminal.formats import formats_page
from ragstone.render.terminal.lists import run_table, survey_page
from ragstone.render.terminal.outcome import Place, outcome


def validate(file: str, *, fields: list[str], on_error: str | None, config: Path | None, as_json: bool) -> None:
    """Show what an input holds; leave with 2 when it could not be run as it is."""
    wanted = api.Options.written(fields=fields, on_error=on_error, config=config)
    found, able = api.validate(file, api.Options.written(fields=fields, on_error="skip", config=config))
    if as_json:
        show_json({**asdict(found), "total": found.total, "able": able})
    else:
        mapped = [part for field in fields for part in ("--field", field)]
        skipping = ["--on-error", "skip"] if on_error == "skip" or (found.set_aside and not wanted.skips) else []
        options = [*mapped, *skipping, *(["--config", str(config)] if config else [])]
        # What came by a pipe is gone, and what no metric can use has to be mapped first.
        following = shlex.join(["ragstone", "run", file, *options]) if file != "-" and any(able.values()) else ""
        named = {name: unsuitable(metric, found.present) for name, metric in catalogue().items()}
        show(lambda look: survey_page(found, able, named, following, look))
    if found.set_aside and (not found.records or not wanted.skips):
        raise typer.Exit(USAGE)


def runs(store: Path | None, *, as_json: bool) -> None:
    """List all runs."""
    with closing(api.open_store(store)) as opened:
        found = [Run(opened, row) for row in opened.runs()]
        if as_json:
            show_json([_brief(run) for run in found])
        else:
            show(lambda look: run_table(found, look))


def show_run(which: str, record: str | None, *, full: bool, store: Path | None, as_json: bool) -> None:
    """Show a run, or one of its records."""
    opened = api.open_run(which, store)
    with closing(opened.store):
        if record is None:
            if as_json:
                show_json({**opened.summary(), "quotes": opened.quotes()})
            else:
                place = Place(options=("--store", str(store)) if store else ())
                show(lambda look: outcome(opened, look, place))
            return
        result = opened.result(record)
        if as_json:
            show_json(result)
        else:
            show(lambda look: case(result, len(opened), opened.id, look, full=full))


def formats(which: str, samples: int, store: Path | None, *, as_json: bool) -> None:
    """Show how a run's replies were read."""
    opened = api.open_run(which, store)
    with closing(opened.store):
        told = how_read(opened, samples)
        if as_json:
            show_json(told)
        else:
            place = Place(options=("--store", str(store)) if store else ())
            show(lambda look: formats_page(opened, told, look, place))


def export(which: str, form: str | None, rows: str, out: str | None, store: Path | None) -> None:
    """Write a run to a file, a leaderboard also to a folder, or to standard output."""
    form = form_of(out, form, {name: found.extensions for name, found in export_formats().items()})
    opened = api.open_run(which, store)
    with closing(opened.store):
        if out is not None or not format_named(form).pipes:
            api.export_run(opened, form, rows, out)
        else:
            stream = binary_output()
            api.export_run(opened, form, rows, stream)
            stream.flush()


def _brief(run: Run) -> dict[str, Any]:
    summary = run.summary()
    return {
        "run": run.id,
        "name": run.name,
        "started": run.started,
        "finished": run.finished,
        "status": run.status,
        "records": summary["records"],
        "judges": judges_of(run.spec),
        "means": {name: metric["mean"] for name, metric in summary["metrics"].items()},
    }

"""Define the commands for files and runs.

``app`` has only these, so that they start without importing all other commands; ``cli.app`` has all of them.
"""

from __future__ import annotations

import shlex
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Literal

import typer
from msgspec import to_builtins
from msgspec.structs import replace

from ragstone import __version__, api
from ragstone.cli.exit_codes import UNJUDGED, USAGE, Commands, say
from ragstone.cli.options import (
    HELP,
    BareOptions,
    DryRun,
    Exporting,
    File,
    Quiet,
    StorePath,
    Which,
    WhichOrFolder,
    again,
    arg,
    command,
    flag,
    opt,
    unless_dash,
    wants_json,
    with_options,
)
from ragstone.cli.output import answer, binary_output, show
from ragstone.errors import ConfigError
from ragstone.options import RunOptions

app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings=HELP,
    epilog="Start with: ragstone demo",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragstone {__version__}")
        raise typer.Exit


@app.callback()
def ragstone(
    *,
    version: bool = flag("--version", "Print the version and exit.", callback=_version, is_eager=True),
) -> None:
    """Evaluate RAG answers against the passages they were generated from.

    The results show which claims the passages support, how confident each verdict is, and what the evaluation cost.
    """
    del version


@command(
    app,
    "ragstone run traces.jsonl",
    "ragstone run traces.jsonl -m triad -j openai:gpt-4o-mini -o out/",
    "ragstone run traces.jsonl -j 'support=[openai:gpt-4o-mini,ollama:qwen3]'",
    "ragstone run traces.jsonl -j ollama:qwen3 --prompt short_cot --format yaml",
    "ragstone run traces.jsonl -j openai:gpt-4o-mini --max-cost 2.50",
    "ragstone run traces.jsonl --field question=user.query",
    "ragstone run traces.jsonl -m grounding --set grounding.threshold=0.8",
    "ragstone run traces.jsonl -j openai:gpt-4o-mini --only-failed",
    "ragstone run traces.jsonl -j openai:gpt-4o-mini --repeat 3",
    cls=BareOptions,
)
@with_options("run")
def run(file: File, options: RunOptions, *, quiet: Quiet = False) -> None:
    """Evaluate records and print the scores.

    By default, the embedded judge computes the metrics that fit the records' fields: no key, no network, no cost.
    Replies are cached, so the same command resumes where it stopped.
    """
    from ragstone.cli.evaluating import SHARDED, evaluated, exit_if_unjudged, show_result
    from ragstone.render.terminal.outcome import outcome

    finished = evaluated(partial(api.run, file), file, options, outcome, quiet=quiet)
    with closing(finished.store):
        show_result(finished, options, outcome, quiet=quiet, source=file)
        if options.shard is not None:
            told = f"shard {options.shard} finished; once all shards have finished, run"
            say("note", f"{told}: ragstone merge {shlex.quote(str(options.out))}")
        if options.shard is None or len(finished):  # a shard may have no records
            exit_if_unjudged(finished, *([SHARDED] if options.engine == "ray" else []))


@command(app, "ragstone merge results/")
@with_options(
    "merge",
    zstd="Write results.jsonl.zst, about a tenth as large.",
    report="Also write report.html [default: yes]",
)
def merge(
    place: str = arg("DIR", "Output folder of the shards (run --shard I/N -o DIR)."),
    file: str | None = arg("FILE", "Input file, if it was moved or renamed after the shards ran.", default=None),
    *,
    options: RunOptions,
    quiet: Quiet = False,
) -> None:
    """Merge the shards of a run and write the results.

    No judge is called. If a shard is missing, the command to run it is printed, and the exit code is 2.
    """
    from ragstone.cli.evaluating import SHARDED, evaluated, exit_if_unjudged, show_result
    from ragstone.render.terminal.outcome import outcome

    finished = evaluated(partial(api.merge, place, file), place, options, outcome, quiet=quiet)
    with closing(finished.store):
        show_result(finished, replace(options, out=place), outcome, quiet=quiet)
        exit_if_unjudged(finished, SHARDED)


@command(app, "ragstone validate traces.jsonl --field 'contexts=retrieval.docs[].text'")
@with_options("validate")
def validate(file: File, options: RunOptions) -> None:
    """Check a file without calling a judge.

    The exit code is 2 if a record is unreadable (with --on-error skip: if every record is unreadable), or if no metric
    can run.
    """
    from ragstone.api.plan import choose, make_routes, unsuitable
    from ragstone.config import resolve
    from ragstone.metrics import catalogue
    from ragstone.render.terminal.lists import survey_page

    spec = resolve(options)
    skips = spec.on_error == "skip"
    found, able = api.validate(
        file, fields=options.fields, input_format=options.input_format, records_path=options.records_path,
        on_error="skip", config=options.config, topics=options.topics, qrels=options.qrels, nuggets=options.nuggets,
    )  # fmt: skip
    following = ""
    if file != "-" and (found.options or any(able.values())):  # a pipe is gone; unread columns must be mapped first
        needed = options.on_error == "skip" or (found.set_aside and found.records and not skips and not found.remedy)
        remapped = {word.partition("=")[0] for word in found.options}
        kept = {name: path for name, path in (options.fields or {}).items() if name not in remapped}
        given = replace(options, on_error="skip" if needed else None, fields=kept or None)
        following = shlex.join(["ragstone", "run", file, *given.words(), *found.options])
    routes = make_routes(spec, {})[1]
    unjudged = {name: routes.lacking(metric, metric.brings) for name, metric in catalogue().items()}
    named = {name: unsuitable(catalogue()[name], found.present) or unjudged[name] for name in able}
    able = {name: 0 if unjudged[name] else count for name, count in able.items()}
    left_out = {name: why for name, why in named.items() if why}
    told = {**to_builtins(found), "total": found.total, "able": able, "left_out": left_out}
    answer(told, lambda look: survey_page(found, able, named, following, look))
    chosen, _ = choose(
        spec, found.present, unable=lambda metric: unjudged[metric.name], columns=found.columns, meant=found.meant
    )
    if not chosen and found.records:
        raise ConfigError(f"{found.name}: no metric can run; {found.advice}")
    if found.set_aside and (not found.records or not skips):
        raise typer.Exit(USAGE)


@command(
    app,
    "ragstone estimate traces.jsonl -j openai:gpt-4o-mini",
    "ragstone estimate traces.jsonl -m grounding -j openai:gpt-4o --max-cost 2.50",
)
@with_options(
    "estimate",
    RunOptions,
    max_cost="Compare the estimated cost with this limit.",
    max_calls="Compare the estimated number of calls with this limit.",
    max_tokens="Compare the estimated number of tokens with this limit.",
    refresh="Estimate a --refresh run, which uses no stored replies.",
    no_cache="Estimate a --no-cache run, which uses no stored replies.",
    batch="Estimate a --batch run.",
    repeat="Estimate K repeats.",
)
def estimate(file: File, options: RunOptions) -> None:
    """Estimate the calls, tokens, cost and time of a run.

    Every prompt is built, but no judge is called, so no key and no network are needed. Stored replies are free. Counts
    that depend on replies are assumed, or taken from earlier runs in the store.
    """
    from ragstone.cli import evaluating

    evaluating.estimate("run", [file], partial(api.forecast, file), options)


@command(app, "ragstone show", "ragstone show 3 kettle-descale", "ragstone show last '#12' --full", name="show")
def show_run(
    which: WhichOrFolder = "last",
    record: str | None = arg("RECORD", "Record id, or position, e.g. '#12'.", default=None),
    *,
    full: bool = flag(
        "--full",
        "For a run, list all records below 100% in its main metric, with everything that lowers the score; for a "
        "record, print its texts in full.",
    ),
    store: StorePath = None,
) -> None:
    """Show a run, or one record with its evidence."""
    from ragstone.cli.evaluating import reading_of
    from ragstone.render.terminal.case import case
    from ragstone.render.terminal.outcome import Place, outcome

    run = api.run_to_show(which, store)
    with closing(run.store):
        if record is None:
            told = {**run.summary(), "quotes": run.quotes()}
            place = Place(options=again(store), source=reading_of(run))
            answer(told, lambda look: outcome(run, look, place, full=full))
        else:
            result = run.result(record)
            answer(result, lambda look: case(result, len(run), run.id, look, full=full))


@command(
    app,
    "ragstone compare-methods traces.jsonl",
    "ragstone compare-methods traces.jsonl -j openai:gpt-4o-mini -o out/",
    name="compare-methods",
    cls=BareOptions,
)
@with_options("compare-methods")
def compare_methods(file: File, options: RunOptions, *, dry_run: DryRun = False, quiet: Quiet = False) -> None:
    """Compare ordinary scores with nugget scores.

    Ordinary scores rate the whole response (relevance) and its sentences (groundedness). Nugget scores rate each fact,
    and vital facts count twice. The output also lists the records whose two scores differ most.
    """
    from ragstone.cli import evaluating
    from ragstone.metrics.methods import METHODS
    from ragstone.render.facts import comparable
    from ragstone.render.terminal.nugget_screens import methods_page, widest_apart

    options = replace(options, metrics=METHODS)
    if dry_run:
        forecast = partial(api.forecast, file)
        evaluating.estimate("compare-methods", [file], forecast, options, without=("metrics",))
        return
    finished = evaluating.evaluated(partial(api.run, file), file, options, methods_page, quiet=quiet)
    with closing(finished.store):
        widest = {"widest": widest_apart(finished)} if wants_json() else {}
        evaluating.show_result(finished, options, methods_page, quiet=quiet, more=widest)
        evaluating.exit_if_unjudged(finished)
        if not comparable(finished.summary()):
            raise typer.Exit(UNJUDGED)


@command(app, "ragstone runs")
def runs(*, store: StorePath = None) -> None:
    """List the runs in the store, newest last."""
    from ragstone.analysis.run import Run
    from ragstone.render.terminal.lists import run_table

    with closing(api.open_store(store)) as opened:
        found = [Run(opened, row) for row in opened.runs()]
        answer([_brief(run) for run in found], lambda look: run_table(found, look))


def _brief(run: Any) -> dict[str, Any]:
    from ragstone.metrics.methods import command_of
    from ragstone.render.facts import judges_of

    summary = run.summary()
    return {
        "run": run.id,
        "name": run.name,
        "started": run.started,
        "finished": run.finished,
        "status": run.status,
        "records": summary["records"],
        "judges": judges_of(run.spec),
        "command": command_of(run.spec) or None,
        "means": {name: metric["mean"] for name, metric in summary["metrics"].items()},
        **(
            {"kappas": {name: one["kappa"] for name, one in told["metrics"].items()}} if (told := run.agreement) else {}
        ),
    }


@command(app, "ragstone formats", "ragstone formats 3 --samples 10")
def formats(
    which: Which = "last",
    *,
    samples: int = opt("--samples", "N", "Unparsed replies to show per row", default=3, min=0),
    store: StorePath = None,
) -> None:
    """Show how the replies of a run were parsed.

    For each judge, step, style and format, the output shows how many replies were parsed in full and by which parsers,
    what went wrong, and what repair calls cost. It ends with samples of unparsed replies. No judge is called.
    """
    from ragstone.analysis.reply_formats import how_read
    from ragstone.render.terminal.formats import formats_page
    from ragstone.render.terminal.outcome import Place

    run = api.open_run(which, store)
    with closing(run.store):
        told = how_read(run, samples)
        answer(told, lambda look: formats_page(run, told, look, Place(options=again(store))))


@command(
    app,
    "ragstone export 3 --rows verdicts -o verdicts.csv",
    "ragstone export 3 --format ir_measures -o board.tsv",
    "ragstone export 3 --format calls -o calls.jsonl",
    "ragstone run traces.jsonl --judge replay:calls.jsonl",
    cls=Exporting,
    json="Same as --format jsonl.",
)
def export(
    which: Which = "last",
    *,
    form: str | None = opt("--format -f", "FORMAT", "Format [default: by file extension, else jsonl]"),
    rows: Literal["scores", "verdicts", "sentences"] | None = opt(
        "--rows", "scores|verdicts|sentences", "Rows of a csv or parquet table [default: scores]"
    ),
    out: str | None = opt(
        "--out -o", "FILE|DIR/", "File, or folder for leaderboards [default: standard output]", callback=unless_dash
    ),
    store: StorePath = None,
) -> None:
    """Export the results or the calls of a run."""
    from ragstone.output.export import form_of, format_named, formats
    from ragstone.render.terminal.lists import run_written

    chosen = form_of(
        out, "jsonl" if wants_json() else form, {name: found.extensions for name, found in formats().items()}
    )
    run = api.open_run(which, store)
    with closing(run.store):
        if out is not None or not format_named(chosen).pipes:
            api.export_run(run, chosen, rows, out)
            show(lambda _: run_written("Export", run, Path(out or ""), chosen))
        else:
            stream = binary_output()
            api.export_run(run, chosen, rows, stream)
            stream.flush()

"""The commands and their options, as ``--help`` tells them. What they do is in the modules they call."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ragstone import __version__
from ragstone.cli import (
    cache_commands,
    compare_commands,
    nugget_commands,
    page_commands,
    prompt_commands,
    setup_commands,
)
from ragstone.cli.exit_codes import Commands
from ragstone.cli.options import (
    HELP,
    AsJson,
    Bank,
    CascadeError,
    Cases,
    Concurrency,
    Configuration,
    DryRun,
    Estimated,
    Exporting,
    Fields,
    File,
    Generator,
    Judges,
    LabelFormat,
    Limit,
    MaxCalls,
    MaxCost,
    MaxTokens,
    Name,
    NoCache,
    Offline,
    OnEmpty,
    OnError,
    OnlyFailed,
    OutFolder,
    Panel,
    Prompts,
    Quiet,
    Refresh,
    Repeat,
    Report,
    Rpm,
    Sample,
    Seed,
    Sets,
    StorePath,
    StructuredAnswers,
    TakingOver,
    Tpm,
    Which,
    examples,
    run_of,
)

app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings=HELP,
    epilog="Start with: ragstone run examples/traces.jsonl",
)
app.add_typer(nugget_commands.nuggets, name="nuggets")
app.add_typer(prompt_commands.prompts, name="prompts")
app.add_typer(cache_commands.cache, name="cache")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragstone {__version__}")
        raise typer.Exit


@app.callback()
def ragstone(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Evaluate the answers of RAG systems against their evidence.

    Reports which claims the contexts support, how confident each verdict is, and what it cost.
    """
    del version


@app.command(
    cls=TakingOver,
    epilog=examples(
        "ragstone run traces.jsonl",
        "ragstone run traces.jsonl -m triad -j openai:gpt-4o-mini -o out/",
        "ragstone run traces.jsonl -j 'support=[openai:gpt-4o-mini,ollama:qwen3]'",
        "ragstone run traces.jsonl -j ollama:qwen3 --prompt short_cot --format yaml",
        "ragstone run traces.jsonl -j openai:gpt-4o-mini --max-cost 2.50",
        "ragstone run traces.jsonl --field question=user.query",
        "ragstone run traces.jsonl -m grounding --set grounding.threshold=0.8",
        "ragstone run traces.jsonl -j openai:gpt-4o-mini --only-failed",
        "ragstone run traces.jsonl -j openai:gpt-4o-mini --repeat 3",
    ),
)
def run(
    file: File,
    *,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics", "-m", metavar="NAMES", help="Metrics or suites, e.g. grounding,triad [default: auto]"
        ),
    ] = None,
    nuggets: Bank = None,
    judge: Judges = None,
    panel: Panel = None,
    cascade_error: CascadeError = None,
    prompt: Prompts = None,
    label_format: LabelFormat = None,
    structured: StructuredAnswers = None,
    sets: Sets = None,
    fields: Fields = None,
    on_error: OnError = None,
    on_empty: OnEmpty = None,
    concurrency: Concurrency = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = None,
    estimated: Estimated = None,
    rpm: Rpm = None,
    tpm: Tpm = None,
    out: OutFolder = None,
    cases: Cases = False,
    report: Report = True,
    name: Name = "",
    generator: Generator = "",
    repeat: Repeat = None,
    only_failed: OnlyFailed = None,
    refresh: Refresh = False,
    no_cache: NoCache = False,
    offline: Offline = False,
    store: StorePath = None,
    config: Configuration = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate records and print the scores.

    By default, runs every metric whose fields the records have, with the embedded judge: no key, no network, no cost.
    Replies are cached, so the same command resumes where it stopped.
    """
    from ragstone.cli import weighing  # noqa: PLC0415 - see the module

    weighing.run(
        file,
        weighing.Wanted(out=out, cases=cases, report=report, store=store, config=config, quiet=quiet, as_json=as_json),
        sets=sets or [],
        fields=fields or [],
        metrics=metrics,
        judges=judge,
        aggregate=panel,
        cascade_error=cascade_error,
        prompts=prompt,
        format=label_format,
        structured=structured,
        on_error=on_error,
        on_empty=on_empty,
        concurrency=concurrency,
        max_cost=max_cost,
        max_calls=max_calls,
        max_tokens=max_tokens,
        limit=limit,
        sample=sample,
        seed=seed,
        estimate=estimated,
        rpm=rpm,
        tpm=tpm,
        nuggets=nuggets,
        name=name,
        generator=generator,
        repeat=repeat,
        only_failed=run_of(only_failed),
        refresh=refresh,
        no_cache=no_cache,
        offline=offline,
    )


@app.command(
    epilog=examples(
        "ragstone validate traces.jsonl --field contexts=retrieval.docs[].text",
    )
)
def validate(
    file: File,
    *,
    fields: Fields = None,
    on_error: OnError = None,
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """Check a file without calling a judge.

    Exits 2 if a record cannot be read; with --on-error skip, only if none can.
    """
    from ragstone.cli import reading  # noqa: PLC0415 - see the module

    reading.validate(file, fields=fields or [], on_error=on_error, config=config, as_json=as_json)


@app.command(
    epilog=examples(
        "ragstone estimate traces.jsonl -j openai:gpt-4o-mini",
        "ragstone estimate traces.jsonl -m grounding -j openai:gpt-4o --max-cost 2.50",
    )
)
def estimate(
    file: File,
    *,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics", "-m", metavar="NAMES", help="Metrics or suites, e.g. grounding,triad [default: auto]"
        ),
    ] = None,
    nuggets: Bank = None,
    judge: Judges = None,
    panel: Panel = None,
    cascade_error: CascadeError = None,
    prompt: Prompts = None,
    label_format: LabelFormat = None,
    structured: StructuredAnswers = None,
    sets: Sets = None,
    fields: Fields = None,
    on_error: OnError = None,
    on_empty: OnEmpty = None,
    concurrency: Concurrency = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = None,
    repeat: Repeat = None,
    refresh: Refresh = False,
    no_cache: NoCache = False,
    store: StorePath = None,
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the calls, tokens, cost and time of a run.

    Renders every prompt and calls no judge: no key, no network. Stored replies are free. Counts that depend on
    replies are assumed, or taken from earlier runs in the store.
    """
    from ragstone.cli import estimating  # noqa: PLC0415 - see the module

    estimating.estimate(
        file,
        store=store,
        config=config,
        as_json=as_json,
        sets=sets or [],
        fields=fields or [],
        metrics=metrics,
        judges=judge,
        aggregate=panel,
        cascade_error=cascade_error,
        prompts=prompt,
        format=label_format,
        structured=structured,
        on_error=on_error,
        on_empty=on_empty,
        concurrency=concurrency,
        max_cost=max_cost,
        max_calls=max_calls,
        max_tokens=max_tokens,
        limit=limit,
        sample=sample,
        seed=seed,
        repeat=repeat,
        refresh=refresh,
        no_cache=no_cache,
        nuggets=nuggets,
    )


@app.command(
    epilog=examples(
        "ragstone show",
        "ragstone show 3 kettle-descale",
        "ragstone show last '#12' --full",
    )
)
def show(
    which: Which = "last",
    record: Annotated[
        str | None, typer.Argument(metavar="RECORD", help="A record's id, or its position, e.g. '#12'.")
    ] = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="Print contexts, reasons and quotes in full.")] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Show a run, or one record with its evidence."""
    from ragstone.cli import reading  # noqa: PLC0415 - see the module

    reading.show_run(which, record, full=full, store=store, as_json=as_json)


page_commands.add_to(app)
compare_commands.add_to(app)


@app.command(
    name="compare-methods",
    cls=TakingOver,
    epilog=examples(
        "ragstone compare-methods traces.jsonl",
        "ragstone compare-methods traces.jsonl -j openai:gpt-4o-mini -o out/",
    ),
)
def compare_methods(
    file: File,
    *,
    judge: Judges = None,
    panel: Panel = None,
    cascade_error: CascadeError = None,
    prompt: Prompts = None,
    label_format: LabelFormat = None,
    structured: StructuredAnswers = None,
    sets: Sets = None,
    fields: Fields = None,
    on_error: OnError = None,
    on_empty: OnEmpty = None,
    concurrency: Concurrency = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = None,
    estimated: Estimated = None,
    dry_run: DryRun = False,
    rpm: Rpm = None,
    tpm: Tpm = None,
    out: OutFolder = None,
    cases: Cases = False,
    report: Report = True,
    name: Name = "",
    generator: Generator = "",
    repeat: Repeat = None,
    only_failed: OnlyFailed = None,
    refresh: Refresh = False,
    no_cache: NoCache = False,
    offline: Offline = False,
    store: StorePath = None,
    config: Configuration = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate with both triads, plain and nuggetized.

    The plain triad rates the whole answer and its sentences. The nuggetized triad rates each of its facts, and vital
    facts count twice. A difference over 10 points means that the triads disagree.
    """
    from ragstone.cli import weighing  # noqa: PLC0415 - see the module

    weighing.compare_methods(
        file,
        weighing.Wanted(
            out=out,
            cases=cases,
            report=report,
            store=store,
            config=config,
            quiet=quiet,
            as_json=as_json,
            dry_run=dry_run,
        ),
        sets=sets or [],
        fields=fields or [],
        judges=judge,
        aggregate=panel,
        cascade_error=cascade_error,
        prompts=prompt,
        format=label_format,
        structured=structured,
        on_error=on_error,
        on_empty=on_empty,
        concurrency=concurrency,
        max_cost=max_cost,
        max_calls=max_calls,
        max_tokens=max_tokens,
        limit=limit,
        sample=sample,
        seed=seed,
        estimate=estimated,
        rpm=rpm,
        tpm=tpm,
        name=name,
        generator=generator,
        repeat=repeat,
        only_failed=run_of(only_failed),
        refresh=refresh,
        no_cache=no_cache,
        offline=offline,
    )


@app.command(
    epilog=examples(
        "ragstone runs",
    )
)
def runs(*, store: StorePath = None, as_json: AsJson = False) -> None:
    """List the runs in the store, latest last."""
    from ragstone.cli import reading  # noqa: PLC0415 - see the module

    reading.runs(store, as_json=as_json)


@app.command(
    epilog=examples(
        "ragstone formats",
        "ragstone formats 3 --samples 10",
    )
)
def formats(
    which: Which = "last",
    *,
    samples: Annotated[
        int,
        typer.Option(
            "--samples", metavar="N", min=0, show_default=False, help="Unparsed replies to show per row [default: 3]"
        ),
    ] = 3,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Show how the replies of a run were parsed.

    By judge, step, style and format: replies parsed in full and by which reader, problems, the cost of asking again,
    and samples of unparsed replies. Calls no judge.
    """
    from ragstone.cli import reading  # noqa: PLC0415 - see the module

    reading.formats(which, samples, store, as_json=as_json)


@app.command(
    cls=Exporting,
    epilog=examples(
        "ragstone export 3 --rows verdicts -o verdicts.csv",
        "ragstone export 3 --format ir_measures -o board.tsv",
        "ragstone export 3 --format calls -o calls.jsonl",
        "ragstone run traces.jsonl --judge replay:calls.jsonl",
    ),
)
def export(
    which: Which = "last",
    *,
    form: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="FORM", help="Format [default: by file extension, else jsonl]"),
    ] = None,
    rows: Annotated[
        Literal["scores", "verdicts"],
        typer.Option("--rows", metavar="scores|verdicts", help="Rows of a csv or parquet table."),
    ] = "scores",
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE|DIR/", help="File, or folder for leaderboards [default: standard output]"
        ),
    ] = None,
    store: StorePath = None,
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format jsonl.")] = False,
) -> None:
    """Export the results of a run, or its calls."""
    from ragstone.cli import reading  # noqa: PLC0415 - see the module

    reading.export(which, "jsonl" if as_json else form, rows, out, store)


setup_commands.add_to(app)

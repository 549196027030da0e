"""The commands and their options, as ``--help`` tells them. What they do is in the modules they call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from ragstone import __version__
from ragstone.cli.ending import Commands

app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: ragstone run examples/traces.jsonl",
)


def _examples(*commands: str) -> str:
    """Examples that stand below the options, one a line and not reflowed."""
    return "\b\n" + "\n".join(["Example:" if len(commands) == 1 else "Examples:", *(f"  {c}" for c in commands)])


File: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Records as .jsonl, .json, .csv or .parquet, also .gz or .zst; - is stdin."),
]
Which: TypeAlias = Annotated[str, typer.Argument(metavar="[RUN]", help="A run's number or name, or last.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
StorePath: TypeAlias = Annotated[
    Path | None, typer.Option("--store", metavar="PATH", help="The store; .ragstone/ragstone.db unless configured.")
]
Configuration: TypeAlias = Annotated[
    Path | None, typer.Option("--config", metavar="PATH", help="The configuration; ragstone.toml where there is one.")
]
Fields: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="FIELD=PATH", help="Where a field stands, as in question=user.query. Repeatable."),
]
OnError: TypeAlias = Annotated[
    Literal["stop", "skip"] | None,
    typer.Option("--on-error", metavar="stop|skip", help="What a record that cannot be read does."),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragstone {__version__}")
        raise typer.Exit


@app.callback()
def ragstone(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="The version, then exit.")
    ] = False,
) -> None:
    """Weigh the answers of RAG systems against their evidence.

    Which claims do the contexts support, which do they not, how sure is that, and what did it cost?
    """
    del version


@app.command(
    epilog=_examples(
        "ragstone run traces.jsonl",
        "ragstone run traces.jsonl -m triad -j openai:gpt-4o-mini -o out/",
        "ragstone run traces.jsonl -j 'support=[openai:gpt-4o-mini,ollama:qwen3]'",
        "ragstone run traces.jsonl --field question=user.query --set grounding.threshold=0.8",
    )
)
def run(
    file: File,
    *,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", "-m", metavar="NAMES", help="Metrics or suites, as in grounding,triad; else auto."),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge", "-j", metavar="[STEP=]NAME", help="Who judges, all or a step; [A,B] is a panel. Repeatable."
        ),
    ] = None,
    panel: Annotated[
        str | None, typer.Option("--panel", metavar="HOW", help="A panel's verdict: mean, median, majority, min, max.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="METRIC.NAME=VALUE", help="A metric's parameter for this run. Repeatable."),
    ] = None,
    fields: Fields = None,
    on_error: OnError = None,
    on_empty: Annotated[
        Literal["null", "zero", "one"] | None,
        typer.Option("--on-empty", metavar="null|zero|one", help="The value where there is nothing to judge."),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", metavar="N", min=1, help="The most calls at a time to each judge.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="A folder for the results, the summary, the run.")
    ] = None,
    cases: Annotated[bool, typer.Option("--cases", help="With -o: also a file for each record.")] = False,
    name: Annotated[str, typer.Option("--name", help="A name for the run; the input's unless given.")] = "",
    generator: Annotated[
        str,
        typer.Option(
            "--generator", metavar="MODEL", help="Who wrote the responses, to warn of a judge that is the same."
        ),
    ] = "",
    store: StorePath = None,
    config: Configuration = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Weigh records and print what came of it.

    Without options every metric runs whose fields the records have, judged by the embedded judge: no key, no
    network, no cost. What was asked once is kept, so the same command again goes on where it stopped.
    """
    from ragstone.cli import weighing  # noqa: PLC0415 - see the module

    weighing.run(
        file,
        weighing.Wanted(out=out, cases=cases, store=store, config=config, quiet=quiet, as_json=as_json),
        sets=sets or [],
        fields=fields or [],
        metrics=metrics,
        judges=judge,
        aggregate=panel,
        on_error=on_error,
        on_empty=on_empty,
        concurrency=concurrency,
        name=name,
        generator=generator,
    )


@app.command(
    epilog=_examples(
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
    """Read an input, call nobody, say what could be done.

    Leaves with 2 when a record cannot be read; where such records are skipped, when none can.
    """
    from ragstone.cli import reading  # noqa: PLC0415 - see the module

    reading.validate(file, fields=fields or [], on_error=on_error, config=config, as_json=as_json)


@app.command(
    epilog=_examples(
        "ragstone runs",
    )
)
def runs(*, store: StorePath = None, as_json: AsJson = False) -> None:
    """List the runs of the store, the latest last."""
    from ragstone.cli import reading  # noqa: PLC0415 - see the module

    reading.runs(store, as_json=as_json)


@app.command(
    epilog=_examples(
        "ragstone show",
        "ragstone show 3 kettle-descale",
        "ragstone show last '#12' --full",
    )
)
def show(
    which: Which = "last",
    record: Annotated[
        str | None, typer.Argument(metavar="[RECORD]", help="A record's id, or its place as '#12'.")
    ] = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="All of every context, reason and quote.")] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Show a run, or one record with its evidence."""
    from ragstone.cli import reading  # noqa: PLC0415 - see the module

    reading.show_run(which, record, full=full, store=store, as_json=as_json)


@app.command(
    epilog=_examples(
        "ragstone export 3 --format csv --rows verdicts -o verdicts.csv",
        "ragstone export 3 --format calls -o calls.jsonl",
        "ragstone run traces.jsonl --judge replay:calls.jsonl",
    )
)
def export(
    which: Which = "last",
    *,
    form: Annotated[
        Literal["jsonl", "csv", "parquet", "calls"],
        typer.Option("--format", "-f", metavar="jsonl|csv|parquet|calls", help="calls is a recording for replay:FILE."),
    ] = "jsonl",
    rows: Annotated[
        Literal["scores", "verdicts"],
        typer.Option("--rows", metavar="scores|verdicts", help="What is a row of a csv or parquet table."),
    ] = "scores",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to; standard output unless parquet.")
    ] = None,
    store: StorePath = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
) -> None:
    """Write a run for other programs, or its calls."""
    from ragstone.cli import reading  # noqa: PLC0415 - see the module

    reading.export(which, "jsonl" if as_json else form, rows, out, store)


@app.command(
    epilog=_examples(
        "ragstone metrics",
        "ragstone metrics grounding",
    )
)
def metrics(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One metric, with its parameters.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Say what each metric means, needs and asks."""
    from ragstone.cli import knowing  # noqa: PLC0415 - see the module

    knowing.metrics(name, as_json=as_json)


@app.command(
    epilog=_examples(
        "ragstone judges",
        "ragstone judges --check openai:gpt-4o-mini",
    )
)
def judges(
    *,
    check: Annotated[
        str | None, typer.Option("--check", metavar="NAME", help="Ask this judge one tiny question.")
    ] = None,
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """List the judges, or check that one answers.

    A check asks once and stores nothing; it leaves with 3 when no answer comes.
    """
    from ragstone.cli import knowing  # noqa: PLC0415 - see the module

    knowing.judges(check, config, as_json=as_json)


@app.command(
    epilog=_examples(
        "ragstone init",
    )
)
def init(
    *,
    force: Annotated[bool, typer.Option("--force", help="Also over a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented ragstone.toml with every setting."""
    from ragstone.cli import knowing  # noqa: PLC0415 - see the module

    knowing.init(force=force, as_json=as_json)

"""``ragstone nuggets``: its commands and their options, as ``--help`` tells them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import typer

from ragstone.cli.options import (
    HELP,
    AsJson,
    CascadeError,
    Concurrency,
    Configuration,
    DryRun,
    Fields,
    File,
    Judges,
    LabelFormat,
    Limit,
    MaxCalls,
    MaxCost,
    MaxTokens,
    Name,
    NoCache,
    Offline,
    OnError,
    OnlyFailed,
    OutFile,
    Panel,
    Prompts,
    Quiet,
    Refresh,
    Repeat,
    Rpm,
    Sample,
    Seed,
    Sets,
    StorePath,
    StructuredAnswers,
    TakingOver,
    Tpm,
    examples,
    run_of,
)

nuggets = typer.Typer(
    help="Create nuggets, assign them, score runs by them.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings=HELP,
    epilog=examples(
        "ragstone nuggets create topics.jsonl -o bank.jsonl",
        "ragstone nuggets assign a.jsonl --nuggets bank.jsonl -o assigned.jsonl",
        "ragstone nuggets score assigned.jsonl",
    ),
)

Runs: TypeAlias = Annotated[list[str], typer.Argument(metavar="FILE", help="Records, as for run; one file per system.")]


@nuggets.command(
    epilog=examples(
        "ragstone nuggets create topics.jsonl -o bank.jsonl",
        "ragstone nuggets create topics.jsonl -j openai:gpt-4o --keep 0 -o bank.jsonl",
        "ragstone nuggets create topics.jsonl -j openai:gpt-4o-mini | head -3",
    )
)
def create(
    file: File,
    *,
    out: OutFile = None,
    form: Annotated[
        Literal["nuggets", "autojudge"],
        typer.Option(
            "--format", "-f", metavar="nuggets|autojudge", help="Write nugget records or TREC AutoJudge banks."
        ),
    ] = "nuggets",
    window: Annotated[
        int | None, typer.Option("--window", metavar="N", min=1, help="Passages per call [default: 10]")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--max", metavar="N", min=1, help="Max nuggets while writing a bank [default: 30]")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option("--keep", metavar="N", min=0, help="Nuggets to keep, vital first; 0 is all [default: 20]"),
    ] = None,
    min_judgment: Annotated[
        float | None,
        typer.Option("--min-judgment", metavar="X", help="Skip passages with a lower judgment [default: 2]"),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            "-j",
            metavar="[STEP=]NAME",
            help="Judge of all steps or one; importance=[A,B]: a panel. Repeatable.",
        ),
    ] = None,
    panel: Panel = None,
    prompt: Prompts = None,
    structured: StructuredAnswers = None,
    fields: Fields = None,
    on_error: OnError = None,
    concurrency: Concurrency = None,
    refresh: Refresh = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Bypass the cache.")] = False,
    offline: Offline = False,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = None,
    rpm: Rpm = None,
    tpm: Tpm = None,
    dry_run: DryRun = False,
    store: StorePath = None,
    config: Configuration = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Create a bank of nuggets for each topic.

    Nuggets are the facts that a good answer contains, taken from the contexts of a topic's first record. Each bank is
    one line, written as soon as it is done. Replies are cached, so the same command resumes where it stopped. Exits 3
    if no bank could be created.
    """
    from ragstone.cli import nuggets as steps  # noqa: PLC0415 - see the module

    given = {"window": window, "max_nuggets": most, "keep": keep, "min_judgment": min_judgment}
    sets = [f"nugget_recall.{parameter}={value}" for parameter, value in given.items() if value is not None]
    steps.create(
        file,
        steps.Wanted(out=out, store=store, config=config, quiet=quiet, as_json=as_json, dry_run=dry_run),
        form=form,
        sets=sets,
        judges=judge,
        aggregate=panel,
        prompts=prompt,
        structured=structured,
        fields=fields or [],
        on_error=on_error,
        concurrency=concurrency,
        refresh=refresh,
        no_cache=no_cache,
        offline=offline,
        max_cost=max_cost,
        max_calls=max_calls,
        max_tokens=max_tokens,
        limit=limit,
        sample=sample,
        seed=seed,
        rpm=rpm,
        tpm=tpm,
    )


@nuggets.command(
    cls=TakingOver,
    epilog=examples(
        "ragstone nuggets assign answers.jsonl --nuggets bank.jsonl -o assigned.jsonl",
        "ragstone nuggets assign a.jsonl b.jsonl --nuggets bank.jsonl -o out.jsonl",
        "ragstone nuggets assign a.jsonl -j openai:gpt-4o --no-evidence -o out.jsonl",
    ),
)
def assign(
    files: Runs,
    *,
    bank: Annotated[
        str | None,
        typer.Option("--nuggets", metavar="FILE", help="Nuggets by topic [default: the records' own]"),
    ] = None,
    out: OutFile = None,
    grades: Annotated[
        int | None,
        typer.Option("--grades", metavar="3|2", min=2, max=3, help="3 with partial support, 2 without [default: 3]"),
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence/--no-evidence", help="Ask for quotes that contain a nugget.")
    ] = True,
    judge: Judges = None,
    panel: Panel = None,
    cascade_error: CascadeError = None,
    prompt: Prompts = None,
    label_format: LabelFormat = None,
    structured: StructuredAnswers = None,
    sets: Sets = None,
    fields: Fields = None,
    on_error: OnError = None,
    concurrency: Concurrency = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = None,
    rpm: Rpm = None,
    tpm: Tpm = None,
    dry_run: DryRun = False,
    name: Name = "",
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
    """Assign nuggets to responses.

    Finds which nuggets of its topic each response contains. Each response is one line, written as soon as it is done.
    The run is saved in the store, for show and export. Exits 3 if nothing could be assigned.
    """
    from ragstone.cli import nuggets as steps  # noqa: PLC0415 - see the module

    steps.assign(
        tuple(files),
        steps.Wanted(out=out, store=store, config=config, quiet=quiet, as_json=as_json, dry_run=dry_run),
        bank=bank,
        sets=[
            *(sets or []),
            *([f"nugget_recall.grades={grades}"] if grades is not None else []),
            *([] if evidence else ["nugget_recall.evidence=false"]),
        ],
        judges=judge,
        aggregate=panel,
        cascade_error=cascade_error,
        prompts=prompt,
        format=label_format,
        structured=structured,
        fields=fields or [],
        on_error=on_error,
        concurrency=concurrency,
        max_cost=max_cost,
        max_calls=max_calls,
        max_tokens=max_tokens,
        limit=limit,
        sample=sample,
        seed=seed,
        rpm=rpm,
        tpm=tpm,
        name=name,
        repeat=repeat,
        only_failed=run_of(only_failed),
        refresh=refresh,
        no_cache=no_cache,
        offline=offline,
    )


@nuggets.command(
    epilog=examples(
        "ragstone nuggets score assigned.jsonl",
        "ragstone nuggets score assigned.jsonl --sort vital -o scores.jsonl",
        "ragstone nuggets score assigned.jsonl --format trec_eval -o boards/",
        "ragstone nuggets score assigned.jsonl --against people.jsonl",
    )
)
def score(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Assignment records, from nuggets assign.")],
    *,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE|DIR/", help="Write rows to a file, or to a folder with one file per run."
        ),
    ] = None,
    form: Annotated[
        Literal["scores", "trec_eval", "tot", "ir_measures", "jsonl"] | None,
        typer.Option(
            "--format", "-f", metavar="FORM", help="scores, trec_eval, tot, ir_measures or jsonl [default: scores]"
        ),
    ] = None,
    on_missing: Annotated[
        Literal["error", "warn", "skip", "zero"],
        typer.Option("--on-missing", metavar="HOW", help="If a run lacks a topic: error, warn, skip or zero."),
    ] = "warn",
    against: Annotated[
        str | None, typer.Option("--against", metavar="FILE", help="Compare ranks with this leaderboard.")
    ] = None,
    against_form: Annotated[
        Literal["auto", "trec_eval", "tot", "ir_measures", "jsonl"],
        typer.Option(
            "--against-format", metavar="FORM", help="Its format: auto, trec_eval, tot, ir_measures or jsonl."
        ),
    ] = "auto",
    sort: Annotated[
        str | None,
        typer.Option("--sort", metavar="MEASURE", help="Sort by this measure [default: strict_vital, if any]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score systems by their assigned nuggets.

    Prints a table of systems by six measures. Calls no judge. Means cover the topics that a run answered. With
    --on-missing skip, a topic that one run lacks is left out of all runs; with zero, it counts as 0. With --format and
    no -o, rows go to standard output.
    """
    from ragstone.cli import nuggets as steps  # noqa: PLC0415 - see the module

    steps.score(
        tuple(files), out=out, form=form, on_missing=on_missing, against=against, against_form=against_form, sort=sort,
        as_json=as_json,
    )  # fmt: skip

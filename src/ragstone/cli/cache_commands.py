"""``ragstone cache``: its commands and their options, as ``--help`` tells them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from ragstone.cli.options import HELP, AsJson, Configuration, StorePath, examples

cache = typer.Typer(
    help="Count and delete stored calls.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings=HELP,
    epilog=examples(
        "ragstone cache info",
        "ragstone cache prune --older-than 30d --unused --dry-run",
        "ragstone cache clear --yes",
    ),
)

DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Print what would be deleted; delete nothing.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Delete without confirmation.")]


@cache.command(epilog=examples("ragstone cache info"))
def info(*, store: StorePath = None, as_json: AsJson = False) -> None:
    """Count the stored calls.

    By judge, step and maker: number, size and age, and how many no run uses.
    """
    from ragstone.cli import caching  # noqa: PLC0415 - see the module

    caching.info(store, as_json=as_json)


@cache.command(
    epilog=examples(
        "ragstone cache prune --older-than 30d",
        "ragstone cache prune --unused --dry-run",
        "ragstone cache prune --keep-runs 10 --unused --yes",
    )
)
def prune(
    *,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Delete calls older than this, e.g. 12h, 30d or 8w.")
    ] = "",
    unused: Annotated[bool, typer.Option("--unused", help="Delete calls that no kept run uses.")] = False,
    judge: Annotated[
        str, typer.Option("--judge", "-j", metavar="NAME", help="Delete calls of this judge, by name or id.")
    ] = "",
    keep_runs: Annotated[
        int | None,
        typer.Option("--keep-runs", metavar="N", min=0, help="Delete the results of all but the latest N runs."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: StorePath = None,
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """Delete stored calls, or results of old runs.

    Deletes the calls that match all of --older-than, --unused and --judge. Deleted calls are paid for again when they
    are needed. Asks for confirmation.
    """
    from ragstone.cli import caching  # noqa: PLC0415 - see the module

    caching.prune(
        store, dry_run=dry_run, yes=yes, as_json=as_json, config=config,
        older_than=older_than, unused=unused, judge=judge, keep_runs=keep_runs,
    )  # fmt: skip


@cache.command(
    epilog=examples(
        "ragstone cache clear --dry-run",
        "ragstone cache clear --runs --yes",
    )
)
def clear(
    *,
    runs: Annotated[bool, typer.Option("--runs", help="Also delete all runs and their results.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Delete all stored calls.

    Keeps results, unless --runs is given. Deleted calls are paid for again when they are needed. Asks for
    confirmation.
    """
    from ragstone.cli import caching  # noqa: PLC0415 - see the module

    caching.prune(store, dry_run=dry_run, yes=yes, as_json=as_json, everything=True, runs=runs)

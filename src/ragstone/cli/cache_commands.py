"""``ragstone cache``: its commands and their options, as ``--help`` tells them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from ragstone.cli.options import HELP, AsJson, Configuration, StorePath, examples

cache = typer.Typer(
    help="Look at the stored calls, and delete what is no longer wanted.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings=HELP,
    epilog=examples(
        "ragstone cache info",
        "ragstone cache prune --older-than 30d --unused --dry-run",
        "ragstone cache clear --yes",
    ),
)

DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Say what would go, and delete nothing.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@cache.command(epilog=examples("ragstone cache info"))
def info(*, store: StorePath = None, as_json: AsJson = False) -> None:
    """Count the stored calls.

    By judge, step and maker: how many, how large, how old; and how many no result of a run stands on.
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
        str, typer.Option("--older-than", metavar="AGE", help="Calls from longer ago, as in 12h, 30d or 8w.")
    ] = "",
    unused: Annotated[bool, typer.Option("--unused", help="Calls that no result of a kept run stands on.")] = False,
    judge: Annotated[
        str, typer.Option("--judge", "-j", metavar="NAME", help="Calls of this judge, by name or id.")
    ] = "",
    keep_runs: Annotated[
        int | None, typer.Option("--keep-runs", metavar="N", min=0, help="The results of all but the latest N runs.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: StorePath = None,
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """Delete stored calls, or results of old runs.

    Of calls those go that all of --older-than, --unused and --judge are true of. What is deleted is asked and paid
    for again when it is needed again. Asks before it deletes.
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
    runs: Annotated[bool, typer.Option("--runs", help="Also all runs with their results.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Delete all stored calls.

    Results stay, unless --runs is given. Every call is asked and paid for again when it is needed again. Asks before
    it deletes.
    """
    from ragstone.cli import caching  # noqa: PLC0415 - see the module

    caching.prune(store, dry_run=dry_run, yes=yes, as_json=as_json, everything=True, runs=runs)

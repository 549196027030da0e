"""``ragstone cache``: count the stored calls, and delete what the user agrees to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ragstone import api
from ragstone.cli.exit_codes import say
from ragstone.cli.options import HELP, AsJson, Configuration, StorePath, examples, opt
from ragstone.cli.output import answer
from ragstone.errors import ConfigError

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

DryRun: TypeAlias = Annotated[bool, opt("--dry-run", help="Print what would be deleted; delete nothing.")]
Yes: TypeAlias = Annotated[bool, opt("--yes", "-y", help="Delete without confirmation.")]


@cache.command(epilog=examples("ragstone cache info"))
def info(*, store: StorePath = None, as_json: AsJson = False) -> None:
    """Count the stored calls.

    Shows their number, size and age by judge, step and version, and how many are not used by any run.
    """
    from ragstone.render.terminal.lists import cache_page

    told = api.cache_info(store).as_json()
    answer(told, lambda _: cache_page(told), as_json=as_json)


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
        str, opt("--older-than", metavar="AGE", help="Delete calls older than this, e.g. 12h, 30d or 8w.")
    ] = "",
    unused: Annotated[bool, opt("--unused", help="Delete calls that none of the kept runs uses.")] = False,
    judge: Annotated[str, opt("--judge", "-j", metavar="NAME", help="Delete calls by this judge (name or id).")] = "",
    keep_runs: Annotated[
        int | None,
        opt("--keep-runs", metavar="N", help="Delete the results of all but the latest N runs.", least=0),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: StorePath = None,
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """Delete stored calls, or results of old runs.

    Deletes the calls that match all given filters: --older-than, --unused and --judge. A deleted call is paid for again
    if a run needs it. Asks for confirmation.
    """
    wanted = api.Prune(older_than=older_than, unused=unused, judge=judge, keep_runs=keep_runs)
    _delete(wanted, store, config, dry_run=dry_run, yes=yes, as_json=as_json)


@cache.command(
    epilog=examples(
        "ragstone cache clear --dry-run",
        "ragstone cache clear --runs --yes",
    )
)
def clear(
    *,
    runs: Annotated[bool, opt("--runs", help="Also delete all runs and their results.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Delete all stored calls.

    Keeps results, unless --runs is given. A deleted call is paid for again if a run needs it. Asks for confirmation.
    """
    _delete(api.Prune(everything=True, runs=runs), store, None, dry_run=dry_run, yes=yes, as_json=as_json)


def _delete(
    wanted: api.Prune, store: Path | None, config: Path | None, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Count what would be deleted, ask, delete."""
    from ragstone.render.terminal.lists import pruning_page, went

    planned = api.prune_cache(wanted, store, dry_run=True, config=config)
    told = planned.as_json()
    if not dry_run and (planned.calls or planned.runs):
        if not yes and not _confirmed(went(told)):
            say("note", "nothing was deleted")
            return
        told = api.prune_cache(wanted, store, config=config).as_json()
    answer(told, lambda _: pruning_page(told), as_json=as_json)


def _confirmed(what: str) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError(f"cannot ask for confirmation to delete {what}; use --yes to delete, --dry-run to list")
    return typer.confirm(f"Delete {what}?", default=False, err=True)

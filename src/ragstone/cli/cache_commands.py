"""``ragstone cache``: count stored calls, and delete them after confirmation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ragstone import api
from ragstone.cli.exit_codes import say
from ragstone.cli.options import AsJson, Configuration, StorePath, command, flag, group, opt
from ragstone.cli.output import answer
from ragstone.errors import ConfigError

cache = group(
    "Count or delete stored calls.",
    "ragstone cache info",
    "ragstone cache prune --older-than 30d --unused --dry-run",
    "ragstone cache clear --yes",
)

DryRun: TypeAlias = Annotated[bool, flag("--dry-run", "Print what would be deleted; delete nothing.", default=...)]
Yes: TypeAlias = Annotated[bool, flag("--yes -y", "Delete without confirmation.", default=...)]


@command(cache, "ragstone cache info")
def info(*, store: StorePath = None, as_json: AsJson = False) -> None:
    """Count the stored judge calls.

    The output shows their number, size and age by judge, step and version, and how many are not used by any
    run.
    """
    from ragstone.render.terminal.lists import cache_page

    told = api.cache_info(store).as_json()
    answer(told, lambda _: cache_page(told), as_json=as_json)


@command(
    cache,
    "ragstone cache prune --older-than 30d",
    "ragstone cache prune --unused --dry-run",
    "ragstone cache prune --keep-runs 10 --unused --yes",
)
def prune(
    *,
    older_than: str = opt("--older-than", "AGE", "Delete calls older than this, e.g. 12h, 30d or 8w.", default=""),
    unused: bool = flag("--unused", "Delete calls that no remaining run uses."),
    judge: str = opt("--judge -j", "NAME", "Delete calls by this judge (name or id).", default=""),
    keep_runs: int | None = opt("--keep-runs", "N", "Delete the results of all but the latest N runs.", min=0),
    dry_run: DryRun = False,
    yes: Yes = False,
    store: StorePath = None,
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """Delete stored calls, or results of old runs.

    A call is deleted if it matches all given filters: --older-than, --unused and --judge. If a run needs a deleted
    call later, the call is sent and paid for again. You are asked for confirmation.
    """
    wanted = api.Prune(older_than=older_than, unused=unused, judge=judge, keep_runs=keep_runs)
    _delete(wanted, store, config, dry_run=dry_run, yes=yes, as_json=as_json)


@command(cache, "ragstone cache clear --dry-run", "ragstone cache clear --runs --yes")
def clear(
    *,
    runs: bool = flag("--runs", "Also delete all runs and their results."),
    dry_run: DryRun = False,
    yes: Yes = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Delete all stored calls.

    Results are kept unless --runs is given. If a run needs a deleted call later, the call is sent and paid for again.
    You are asked for confirmation.
    """
    _delete(api.Prune(everything=True, runs=runs), store, None, dry_run=dry_run, yes=yes, as_json=as_json)


def _delete(
    wanted: api.Prune, store: Path | None, config: Path | None, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
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
        raise ConfigError(f"cannot ask for confirmation without a terminal; to delete {what}, add --yes")
    return typer.confirm(f"Delete {what}?", default=False, err=True)

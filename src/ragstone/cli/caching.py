"""``ragstone cache``: count what is stored, and delete of it what the user agrees to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from ragstone import api
from ragstone.cli.ending import say
from ragstone.cli.output import show, show_json
from ragstone.errors import ConfigError
from ragstone.render.terminal.stored_calls import cache_page, pruning_page, went


def info(store: Path | None, *, as_json: bool) -> None:
    """Count the stored calls."""
    told = api.cache_info(store).as_json()
    if as_json:
        show_json(told)
    else:
        show(lambda look: cache_page(told, look))


def prune(
    store: Path | None, *, dry_run: bool, yes: bool, as_json: bool, config: Path | None = None, **wanted: Any
) -> None:
    """Count what would go, ask, delete."""
    prune = api.Prune(**wanted)
    planned = api.prune_cache(prune, store, dry_run=True, config=config)
    told = planned.as_json()
    if not dry_run and (planned.calls or planned.runs):
        if not yes and not _agreed(went(told)):
            say("note", "nothing was deleted")
            return
        told = api.prune_cache(prune, store, config=config).as_json()
    if as_json:
        show_json(told)
    else:
        show(lambda look: pruning_page(told, look))


def _agreed(what: str) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError(f"cannot ask for confirmation to delete {what}; use --yes to delete, --dry-run to list")
    return typer.confirm(f"Delete {what}?", default=False, err=True)

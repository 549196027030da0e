"""``metrics``, ``judges``, ``fields``, ``schema``, ``init`` and ``cache``: list what a run can use, and set it up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ragstone import api
from ragstone.cli.exit_codes import say
from ragstone.cli.options import Configuration, StorePath, arg, command, flag, group, opt
from ragstone.cli.output import answer, show_json
from ragstone.cli.run_commands import app
from ragstone.errors import ConfigError

if TYPE_CHECKING:
    from ragstone.metrics.base import Metric


@command(app, "ragstone metrics", "ragstone metrics grounding")
def metrics(
    name: str | None = arg("NAME", "Describe this metric and its parameters.", default=None),
) -> None:
    """List the metrics, or describe one."""
    from ragstone.metrics import catalogue, find
    from ragstone.render.terminal.lists import metric_list, metric_page

    if name is None:
        answer([_described(metric) for metric in catalogue().values()], lambda _: metric_list())
    else:
        metric = find(name)
        answer(_described(metric), lambda _: metric_page(metric))


@command(app, "ragstone judges", "ragstone judges --check openai:gpt-4o-mini")
def judges(
    *,
    check: str | None = opt("--check", "NAME", "Ask this judge one short question."),
    config: Configuration = None,
) -> None:
    """List the judges, or check that a judge answers.

    --check sends one question and stores nothing. The exit code is 3 if the judge does not answer.
    """
    from msgspec.structs import asdict

    from ragstone.render.terminal.lists import judge_checked, judge_list

    if check is None:
        known = api.known_judges(config)
        answer([asdict(judge) for judge in known], lambda look: judge_list(known, look))
    else:
        one = api.check_judge(check, config)
        answer(asdict(one), lambda look: judge_checked(one.judge, one.seconds, one.said, look))


@command(app, "ragstone fields")
def fields() -> None:
    """List record fields, their aliases, and input formats."""
    from ragstone.records import ALIASES, EXPORTS
    from ragstone.render.terminal.lists import input_list

    told = [{"name": one.name, "title": one.title, "reads": one.reads} for one in EXPORTS]
    answer({"fields": dict(ALIASES), "formats": told}, lambda _: input_list())


@command(app, "ragstone schema", "ragstone schema result > result.schema.json")
def schema(
    name: str | None = arg("NAME", "record, label, result, summary or run.", default=None),
) -> None:
    """List the JSON Schemas of inputs and outputs, or print one."""
    from ragstone.output.schema import DOCUMENTS, schema_of
    from ragstone.render.terminal.lists import schema_list

    if name is None:
        answer(dict(DOCUMENTS), lambda _: schema_list(DOCUMENTS))
    else:
        show_json(schema_of(name))


@command(app, "ragstone init")
def init(
    *,
    force: bool = flag("--force", "Overwrite an existing file."),
) -> None:
    """Write a ragstone.toml with every setting commented out."""
    from ragstone.render.terminal.lists import init_page

    path = str(api.write_config(force=force))
    answer({"written": path}, lambda _: init_page(path))


def _described(metric: type[Metric]) -> dict[str, Any]:
    from dataclasses import fields

    from ragstone.metrics import explained
    from ragstone.render.terminal.lists import about

    meanings = explained(metric)
    return {
        "name": metric.name,
        "title": metric.title,
        "group": metric.group,
        "about": about(metric),
        "needs": metric.needs,
        "wants": metric.wants,
        "asks": metric.asks,
        "suites": (*metric.suites, "all"),
        "calls": metric.calls,
        "scores": metric.score_names(),
        "elsewhere": dict(metric.elsewhere),
        "source": metric.source,
        "parameters": {
            one.name: {"default": one.default, "fixed": one.name in metric.fixed, "meaning": meanings[one.name]}
            for one in fields(metric)
        },
    }


cache = group(
    "Count or delete stored calls.",
    "ragstone cache info",
    "ragstone cache prune --older-than 30d --unused --dry-run",
    "ragstone cache clear --yes",
)

DryRun: TypeAlias = Annotated[bool, flag("--dry-run", "Print what would be deleted; delete nothing.", default=...)]
Yes: TypeAlias = Annotated[bool, flag("--yes -y", "Delete without confirmation.", default=...)]


@command(cache, "ragstone cache info")
def info(*, store: StorePath = None) -> None:
    """Count the stored judge calls.

    The output shows their number, size and age by judge, step and version, and how many are not used by any
    run.
    """
    from ragstone.render.terminal.lists import cache_page

    told = api.cache_info(store).as_json()
    answer(told, lambda _: cache_page(told))


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
) -> None:
    """Delete stored calls, or results of old runs.

    A call is deleted if it matches all given filters: --older-than, --unused and --judge. If a run needs a deleted
    call later, the call is sent and paid for again. You are asked for confirmation.
    """
    wanted = api.Prune(older_than=older_than, unused=unused, judge=judge, keep_runs=keep_runs)
    _delete(wanted, store, config, dry_run=dry_run, yes=yes)


@command(cache, "ragstone cache clear --dry-run", "ragstone cache clear --runs --yes")
def clear(
    *,
    runs: bool = flag("--runs", "Also delete all runs and their results."),
    dry_run: DryRun = False,
    yes: Yes = False,
    store: StorePath = None,
) -> None:
    """Delete all stored calls.

    Results are kept unless --runs is given. If a run needs a deleted call later, the call is sent and paid for again.
    You are asked for confirmation.
    """
    _delete(api.Prune(everything=True, runs=runs), store, None, dry_run=dry_run, yes=yes)


def _delete(wanted: api.Prune, store: Path | None, config: Path | None, *, dry_run: bool, yes: bool) -> None:
    from ragstone.render.terminal.lists import pruning_page, went

    planned = api.prune_cache(wanted, store, dry_run=True, config=config)
    told = planned.as_json()
    if not dry_run and (planned.calls or planned.runs):
        if not yes and not _confirmed(went(told)):
            say("note", "nothing was deleted")
            return
        told = api.prune_cache(wanted, store, config=config).as_json()
    answer(told, lambda _: pruning_page(told))


def _confirmed(what: str) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError(f"cannot ask for confirmation without a terminal; to delete {what}, add --yes")
    return typer.confirm(f"Delete {what}?", default=False, err=True)

"""``ragstone estimate`` and ``--dry-run``: what a run would take, and nobody is asked."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ragstone import api
from ragstone.cli.output import show, show_json
from ragstone.forecast.summary import Estimate
from ragstone.render.terminal.estimate import estimate_page, next_budget

_LISTS: Final = {"-m": "metrics", "-j": "judges", "--prompt": "prompts", "--set": "sets", "--field": "fields"}
_VALUES: Final = {
    "--panel": "aggregate", "--cascade-error": "cascade_error", "--format": "format", "--structured": "structured",
    "--nuggets": "nuggets",
    "--on-error": "on_error", "--on-empty": "on_empty", "--concurrency": "concurrency", "--rpm": "rpm", "--tpm": "tpm",
    "--repeat": "repeat", "--limit": "limit", "--sample": "sample", "--seed": "seed",
    "--name": "name", "--generator": "generator", "--store": "store", "--config": "config",
}  # fmt: skip
_BUDGETS: Final = {"--max-cost": "max_cost", "--max-calls": "max_calls", "--max-tokens": "max_tokens"}
_SWITCHES: Final = {"--refresh": "refresh", "--no-cache": "no_cache"}
"""The options that the run has to be given too, for it to be the one that was estimated."""


def estimate(file: str, *, as_json: bool, **options: Any) -> None:
    """Estimate a run, then tell."""
    tell(("run",), (file,), partial(api.forecast, file), as_json=as_json, **options)


def tell(
    command: Sequence[str],
    files: Sequence[str],
    forecast: Callable[[api.Options], Estimate],
    *,
    as_json: bool,
    own: Sequence[str] = (),
    **options: Any,
) -> None:
    """Estimate what a command on files would take, then tell, with what to type; ``own`` are words beside options."""
    found = forecast(api.Options.written(**options))
    if as_json:
        show_json(found.as_json())
        return
    words: list[str] = []
    for flag, name in _LISTS.items():
        words += [word for value in options.get(name) or () for word in (flag, value)]
    for flag, name in _VALUES.items():
        value = options.get(name)
        words += [flag, _written(value)] * (value not in (None, ""))
    words += [flag for flag, name in _SWITCHES.items() if options.get(name)]
    if taken := options.get("only_failed"):
        words.append("--only-failed" if taken is True else f"--only-failed={taken}")
    words += own
    typed = shlex.join(["ragstone", *command, *_limits(found, options), *files, *words])
    show(lambda look: estimate_page(found, typed, look))


def _limits(found: Estimate, options: Mapping[str, Any]) -> list[str]:
    """The budget, as it was given or as the estimate suggests it: before all else, so that half a command has it."""
    given = {flag: options[name] for flag, name in _BUDGETS.items() if options.get(name) is not None}
    if not given and (most := next_budget(found)) is not None:
        given = {"--max-cost": most}
    return [word for flag, most in given.items() for word in (flag, _written(most))]


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

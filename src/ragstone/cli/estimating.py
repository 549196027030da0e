"""``ragstone estimate`` and ``--dry-run``: what a run would take, and nobody is asked."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from ragstone import api
from ragstone.cli.output import show, show_json
from ragstone.report.estimate import Estimate
from ragstone.report.terminal.estimate import estimate_page, next_budget

_LISTS: Final = {"-m": "metrics", "-j": "judges", "--prompt": "prompts", "--set": "sets", "--field": "fields"}
_VALUES: Final = {
    "--panel": "aggregate", "--cascade-error": "cascade_error", "--format": "format", "--structured": "structured",
    "--nuggets": "nuggets",
    "--on-error": "on_error", "--on-empty": "on_empty", "--concurrency": "concurrency", "--rpm": "rpm", "--tpm": "tpm",
    "--repeat": "repeat", "--max-cost": "max_cost", "--max-calls": "max_calls", "--max-tokens": "max_tokens",
    "--name": "name", "--generator": "generator", "--store": "store", "--config": "config",
}  # fmt: skip
_SWITCHES: Final = {"--refresh": "refresh", "--no-cache": "no_cache"}
"""The options that the run has to be given too, for it to be the one that was estimated."""


def estimate(file: str, *, as_json: bool, **options: Any) -> None:
    """Estimate a run, then tell."""
    tell(("run", file), partial(api.forecast, file), as_json=as_json, **options)


def tell(
    command: Sequence[str],
    forecast: Callable[[api.Options], Estimate],
    *,
    as_json: bool,
    own: Sequence[str] = (),
    **options: Any,
) -> None:
    """Estimate what a command would take, then tell, with the command to give; ``own`` are its words beside options."""
    found = forecast(api.Options.written(**options))
    if as_json:
        show_json(found.as_json())
        return
    words = ["ragstone", *command]
    for flag, name in _LISTS.items():
        words += [word for value in options.get(name) or () for word in (flag, value)]
    for flag, name in _VALUES.items():
        value = options.get(name)
        words += [flag, f"{value:g}" if isinstance(value, float) else str(value)] * (value not in (None, ""))
    words += [flag for flag, name in _SWITCHES.items() if options.get(name)]
    if taken := options.get("only_failed"):
        words.append("--only-failed" if taken is True else f"--only-failed={taken}")
    words += own
    if not any(options.get(name) is not None for name in ("max_cost", "max_calls", "max_tokens")):
        most = next_budget(found)
        words += ["--max-cost", f"{most:g}"] if most is not None else []
    show(lambda look: estimate_page(found, shlex.join(words), look))

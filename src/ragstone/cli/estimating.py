"""``ragstone estimate``: what a run would take, and nobody is asked."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Final

from ragstone import api
from ragstone.cli.output import show, show_json
from ragstone.report.terminal.estimate import estimate_page, next_budget

_LISTS: Final = {"-m": "metrics", "-j": "judges", "--prompt": "prompts", "--set": "sets", "--field": "fields"}
_VALUES: Final = {
    "--panel": "aggregate", "--cascade-error": "cascade_error", "--format": "format", "--structured": "structured",
    "--nuggets": "nuggets",
    "--on-error": "on_error", "--on-empty": "on_empty", "--concurrency": "concurrency", "--repeat": "repeat",
    "--max-cost": "max_cost", "--max-calls": "max_calls", "--max-tokens": "max_tokens",
}  # fmt: skip
_SWITCHES: Final = {"--refresh": "refresh", "--no-cache": "no_cache"}
"""The options that the run has to be given too, for it to be the one that was estimated."""


def estimate(file: str, *, store: Path | None, config: Path | None, as_json: bool, **options: Any) -> None:
    """Estimate, then tell."""
    found = api.forecast(file, api.Options.written(store=store, config=config, **options))
    if as_json:
        show_json(found.as_json())
        return
    words = ["ragstone", "run", file]
    for flag, name in _LISTS.items():
        words += [word for value in options[name] or () for word in (flag, value)]
    for flag, name in _VALUES.items():
        words += [flag, f"{options[name]:g}" if isinstance(options[name], float) else str(options[name])] * (
            options[name] is not None
        )
    words += [flag for flag, name in _SWITCHES.items() if options[name]]
    for flag, where in (("--store", store), ("--config", config)):
        words += [flag, str(where)] if where else []
    if not any(options[name] is not None for name in ("max_cost", "max_calls", "max_tokens")):
        most = next_budget(found)
        words += ["--max-cost", f"{most:g}"] if most is not None else []
    show(lambda look: estimate_page(found, shlex.join(words), look))

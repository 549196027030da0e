"""``ragstone estimate``: what a run would take, and nobody is asked."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from ragstone import api
from ragstone.cli.output import show, show_json
from ragstone.report.terminal.estimate import estimate_page, next_budget


def estimate(file: str, *, store: Path | None, config: Path | None, as_json: bool, **options: Any) -> None:
    """Estimate, then tell."""
    found = api.forecast(file, api.Options.written(store=store, config=config, **options))
    if as_json:
        show_json(found.as_json())
        return
    words = ["ragstone", "run", file]
    for flag, values in (("-m", options["metrics"]), ("-j", options["judges"]), ("--set", options["sets"])):
        words += [word for value in values or () for word in (flag, value)]
    for flag, where in (("--nuggets", options["nuggets"]), ("--store", store), ("--config", config)):
        words += [flag, str(where)] if where else []
    most = next_budget(found)
    words += ["--max-cost", f"{most:g}"] if most is not None and options["max_cost"] is None else []
    words += [word for pair in options["fields"] for word in ("--field", pair)]
    if options["max_cost"] is not None:
        words += ["--max-cost", f"{options['max_cost']:g}"]
    show(lambda look: estimate_page(found, shlex.join(words), look))

"""What ``ragstone compare`` and ``check`` do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import typer

from ragstone import api
from ragstone.analysis.check import CheckResult, Undecided
from ragstone.analysis.run_files import ABOUT, COMPARISON, REPORT, RESULTS
from ragstone.api.comparing import weighed
from ragstone.cli.ending import FAILED, UNJUDGED
from ragstone.cli.output import html_file, show, show_json
from ragstone.errors import ConfigError
from ragstone.output.target import refuse_inputs, whole
from ragstone.render import ci
from ragstone.render.terminal.gate import gate_page
from ragstone.render.terminal.outcome import Place
from ragstone.render.terminal.side_by_side import side_by_side

WRITTEN: Final = (RESULTS, ABOUT, REPORT, "summary.json")
"""The files of a run's folder."""


def compare(
    first: str,
    second: str,
    *,
    metrics: Sequence[str] | None,
    by: str | None,
    moved: int,
    out: str | None,
    store: Path | None,
    as_json: bool,
) -> None:
    """Show two runs side by side, and write the page if one is named; leave with 3 where no metric has both values."""
    names = [name for item in metrics or () for name in re.split(r"[,\s]+", item) if name] or None
    target = html_file(out, COMPARISON)
    with weighed(first, store) as one, weighed(second, store) as other:
        found = api.compare(one, other, by=by, metrics=names, moved=moved, out=target)
        if as_json:
            show_json(found.as_json())
        else:
            options = ("--store", str(store)) if store else ()
            place = Place(options=options, comparison="" if target is None else str(target))
            show(lambda look: side_by_side(found, one, other, look, place))
    if all(metric.paired is None for metric in found.metrics):
        raise typer.Exit(UNJUDGED)


def check(
    which: str,
    limits: Mapping[str, Sequence[str] | None],
    baseline: str | None,
    undecided: Undecided | None,
    files: Mapping[str, Path | None],
    *,
    store: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Show what was found and write it to the files; leave with 1 for a failure, and else with 3 for an error."""
    found = {kind: _limits(kind, written or ()) for kind, written in limits.items()}
    _refuse_inputs([path for path in files.values() if path is not None], [which, baseline], config)
    with weighed(which, store) as run:
        gate = api.check(run, **found, baseline=baseline, undecided=undecided, store=store, config=config)
        _write(gate, files)
        if as_json:
            show_json(gate.as_json())
        else:
            options = ("--store", str(store)) if store else ()
            show(lambda look: gate_page(gate, run, look, options))
    if not gate.passed:
        raise typer.Exit(UNJUDGED if gate.outcome == "error" else FAILED)


def _refuse_inputs(paths: Sequence[Path], runs: Sequence[str | None], config: Path | None) -> None:
    """ConfigError where what is read, or what has just been written, would be overwritten."""
    folders = [Path(name) for name in runs if name]
    inputs = [config, *folders, *(folder / name for folder in folders for name in WRITTEN)]
    for number, path in enumerate(paths):
        if str(path) == "-":
            raise ConfigError("--junit and --markdown are written to files; name them")
        refuse_inputs(path, inputs)
        if path in paths[:number]:
            raise ConfigError(f"{path}: is to be written twice; give --junit and --markdown files of their own")


def _write(gate: CheckResult, files: Mapping[str, Path | None]) -> None:
    for form, write in (("junit", ci.junit), ("markdown", ci.markdown)):
        path = files.get(form)
        if path is not None:
            with whole(path) as target:
                target.write(write(gate))


def _limits(kind: str, written: Sequence[str]) -> dict[str, float]:
    """``METRIC=X`` by metric; ConfigError for what is written otherwise, and for one metric twice."""
    flag = f"--{kind.replace('_', '-')}"
    found: dict[str, float] = {}
    for text in written:
        metric, _, number = (part.strip() for part in text.rpartition("="))
        try:
            limit = float(number)
        except ValueError:
            metric = ""
            limit = 0.0
        if not metric:
            raise ConfigError(f"{flag} {text!r}; expected METRIC=NUMBER, as in grounding=0.8")
        if metric in found:
            raise ConfigError(f"{flag} {metric} is given twice")
        found[metric] = limit
    return found

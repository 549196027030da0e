"""Two runs held against each other, and a run against thresholds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from ragstone.analysis.check import Gate, Kind, Undecided, decide, thresholds
from ragstone.analysis.compare import MOVED, Comparison
from ragstone.analysis.compare import compare as compare_runs
from ragstone.analysis.run import Run
from ragstone.analysis.saved import ABOUT, SavedRun, Weighed, saved
from ragstone.api.stored import open_run
from ragstone.config import file_settings
from ragstone.errors import ConfigError, InputError
from ragstone.options import RunOptions
from ragstone.output.target import refuse_inputs, whole
from ragstone.types import NOTHING


def compare(
    first: str | int | Path | Weighed,
    second: str | int | Path | Weighed,
    *,
    by: str | None = None,
    metrics: Sequence[str] | str | None = None,
    moved: int = MOVED,
    out: Path | str | None = None,
    store: Path | str | None = None,
) -> Comparison:
    """Hold the second run against the first: by number, by name, ``last``, or the folder that it was written to.

    ``by`` is a field by which records belong together, as ``meta.topic``; ``metrics`` are those to compare, all that
    both have unless named; ``moved`` how many records are listed of each that moved most. With ``out`` it is also
    written as an HTML file that needs nothing else. InputError where nothing can be paired, ConfigError where the file
    cannot be written.
    """
    wanted = [metrics] if isinstance(metrics, str) else metrics
    with weighed(first, store) as one, weighed(second, store) as other:
        found = compare_runs(one, other, by=by, metrics=wanted, moved=moved)
        if out is not None:
            _write_page(found, one, other, Path(out))
        return found


def _sources(run: Weighed) -> list[Path]:
    """The files that a run is read from."""
    if isinstance(run, Run):
        return [Path(run.store.path)]
    return [run.path, run.path.with_name(ABOUT)] if isinstance(run, SavedRun) else []


def _write_page(found: Comparison, first: Weighed, second: Weighed, path: Path) -> None:
    from ragstone.render.html.comparing import comparison_page  # noqa: PLC0415 - only where a page is asked for

    refuse_inputs(path, [source for run in (first, second) for source in _sources(run)])
    parts = comparison_page(found, first, second)
    with whole(path) as file:
        file.writelines(parts)


def check(
    run: str | int | Path | Weighed = "last",
    *,
    min: Mapping[str, float] = NOTHING,  # noqa: A002 - what the flag and the setting are called
    min_coverage: Mapping[str, float] = NOTHING,
    max_drop: Mapping[str, float] = NOTHING,
    baseline: str | int | Path | Weighed | None = None,
    undecided: Undecided | None = None,
    store: Path | str | None = None,
    config: Path | str | None = None,
) -> Gate:
    """Hold a run against thresholds by metric, each from 0 to 1; see ``analysis.check``.

    What is not given here is taken from ``[check]`` in the configuration, metric by metric. ``undecided`` says whether
    a drop that is larger than allowed and could be chance lets the run pass: ``pass`` (unless configured) or ``fail``.
    InputError where there is no threshold at all, for a metric that the run does not have, and for a baseline that was
    judged otherwise.
    """
    table = file_settings(RunOptions(config=config))[0].get("check", {})
    limits: dict[Kind, Mapping[str, float]] = {
        "min": {**table.get("min", {}), **min},
        "min_coverage": {**table.get("min_coverage", {}), **min_coverage},
        "max_drop": {**table.get("max_drop", {}), **max_drop},
    }
    wanted = thresholds(limits)
    policy = undecided or table.get("undecided", "pass")
    if policy not in get_args(Undecided):
        raise ConfigError(f"undecided '{policy}'; expected {' or '.join(get_args(Undecided))}")
    if not wanted:
        raise ConfigError(
            "nothing to check; give --min, --min-coverage or --max-drop METRIC=NUMBER, or [check] settings"
        )
    if not limits["max_drop"]:
        if baseline is not None:
            raise ConfigError("a baseline is only for drops; say how large one may be, with --max-drop METRIC=NUMBER")
        with weighed(run, store) as one:
            return decide(one, wanted, undecided=policy)
    before = baseline if baseline is not None else table.get("baseline")
    if before is None:
        raise ConfigError("a drop is measured from another run; name it with --baseline")
    with weighed(run, store) as one, weighed(before, store) as other:
        return decide(one, wanted, other, policy)


@contextmanager
def weighed(which: str | int | Path | Weighed, store: Path | str | None = None) -> Iterator[Weighed]:
    """A run of the store, or of the folder of that name; what is opened here is closed again.

    A run goes before a folder of its name; what is written as a path (``./main``, ``out/``) is a folder.
    """
    if not isinstance(which, str | int | Path):
        yield which
        return
    found = _found(which, store)
    try:
        yield found
    finally:
        if isinstance(found, Run):
            found.store.close()


def _found(which: str | int | Path, store: Path | str | None) -> Run | SavedRun:
    is_path = isinstance(which, Path) or (isinstance(which, str) and any(sign in which for sign in ("/", os.sep)))
    if is_path and (folder := saved(str(which))) is not None:
        return folder
    try:
        return open_run(which if isinstance(which, int) else str(which), store)
    except InputError:
        folder = saved(which) if isinstance(which, str) else None
        if folder is None:
            raise
        return folder

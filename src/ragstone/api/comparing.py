"""Compare two runs, and check a run against thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias, get_args

from ragstone.analysis.check import DROPS, CheckResult, Kind, Undecided, check_run, thresholds
from ragstone.analysis.compare import MOVED, Comparison
from ragstone.analysis.compare import compare as compare_runs
from ragstone.analysis.run import Run
from ragstone.analysis.run_files import ABOUT, SUMMARY
from ragstone.analysis.saved import AnyRun
from ragstone.api.stored import run_named
from ragstone.config import file_settings
from ragstone.errors import ConfigError, InputError
from ragstone.options import RunOptions
from ragstone.output.target import write_parts
from ragstone.types import NOTHING

RunChoice: TypeAlias = str | int | Path | AnyRun
"""A run: its number, name or folder, ``last``, or an opened run."""


def compare(
    first: RunChoice,
    second: RunChoice,
    *,
    by: str | None = None,
    metrics: Sequence[str] | str | None = None,
    moved: int = MOVED,
    out: Path | str | None = None,
    store: Path | str | None = None,
) -> Comparison:
    """Compare two runs, record by record; no judge is called.

    Differences are the second run minus the first, over the records in both, with 95% intervals and p values::

        ragstone.compare("main", "last", metrics=["grounding"], by="meta.topic")

    Args:
        first: The baseline run: its number, name or folder, ``last``, or an opened run.
        second: The run to compare with it.
        by: A field that groups the records: ``topic``, ``question`` or ``meta.NAME``.
        metrics: The metrics to compare. Default: all that both runs have.
        moved: How many changed records to list, largest change first.
        out: Also write the comparison to this HTML file.
        store: The store of the runs. Default: the configured one.

    Returns:
        The differences by metric and group, and the records that changed most.

    Raises:
        InputError: A run is not found, or the runs have no record ids in common.
        ConfigError: The file cannot be written.
    """
    with opened(first, store) as one, opened(second, store) as other:
        found = compare_runs(one, other, by=by, metrics=[metrics] if isinstance(metrics, str) else metrics, moved=moved)
        if out is not None:
            from ragstone.render.html.comparing import comparison_page  # noqa: PLC0415 - only for a page

            write_parts(Path(out), comparison_page(found, one, other), [*sources(one), *sources(other)])
        return found


def sources(run: AnyRun) -> list[Path]:
    """Return the files of a run."""
    if isinstance(run, Run):
        return [Path(run.store.path)]
    return [run.path, *(run.path.with_name(name) for name in (ABOUT, SUMMARY))]


def check(
    run: RunChoice = "last",
    *,
    min: Mapping[str, float] = NOTHING,  # noqa: A002 - what the flag and the setting are called
    max: Mapping[str, float] = NOTHING,  # noqa: A002 - the same
    min_coverage: Mapping[str, float] = NOTHING,
    max_drop: Mapping[str, float] = NOTHING,
    max_record_drop: Mapping[str, float] = NOTHING,
    baseline: RunChoice | None = None,
    undecided: Undecided | None = None,
    corrected: bool | None = None,
    store: Path | str | None = None,
    config: Path | str | None = None,
) -> CheckResult:
    """Check a run against thresholds, for CI; no judge is called.

    Thresholds are shares from 0 to 1 by metric. Those that are not given are taken from ``[check]`` in the
    configuration, metric by metric::

        gate = ragstone.check("last", min={"grounding": 0.8}, max_drop={"grounding": 0.02}, baseline="main")
        assert gate.passed

    Args:
        run: The run: its number, name or folder, ``last``, or an opened run.
        min: The minimum mean of a metric, from 0 to 1, e.g. ``{"grounding": 0.8}``.
        max: The maximum mean of a metric, e.g. ``{"contradicted": 0}``; a column name alone stands for that column of
            every metric.
        min_coverage: The minimum share of records with a value, from 0 to 1, e.g. ``{"grounding": 0.95}``.
        max_drop: The largest drop of a mean below the baseline's, from 0 to 1, e.g. ``{"grounding": 0.02}``. The check
            fails only if the drop is significantly larger.
        max_record_drop: The largest drop of any single record's value below the baseline's, from 0 to 1; with 0, no
            record may drop.
        baseline: The run that drops are measured from.
        undecided: The outcome if the drop exceeds the limit but its interval includes it: ``pass``
            (the default) or ``fail``.
        corrected: Compare the lower bound of each corrected mean's interval with ``min``, instead of the raw mean. It
            is an error if no agreement is attached (``ragstone agree RUN labels.jsonl --attach``).
        store: The store of the runs. Default: the configured one.
        config: The configuration file. Default: ``ragstone.toml``.

    Returns:
        The decision on each threshold, and whether the run passes.

    Raises:
        InputError: The run lacks a metric, or the baseline was evaluated with different settings.
        ConfigError: There is no threshold, one is outside the range from 0 to 1, a drop has no baseline, or
            ``corrected`` is given with a drop or without ``min``.
    """
    table = file_settings(RunOptions(config=config))[0].get("check", {})
    by_people = bool(table.get("corrected", False) if corrected is None else corrected)
    least: Kind = "min_corrected" if by_people else "min"
    given: dict[Kind, Any] = {
        "min": min, "max": max, "min_coverage": min_coverage, "max_drop": max_drop, "max_record_drop": max_record_drop,
    }  # fmt: skip
    if wrong := next((kind for kind, one in given.items() if not isinstance(one, Mapping)), None):
        raise ConfigError(f"{wrong} {given[wrong]!r}; expected numbers by metric, as in {{'METRIC': 0.8}}")
    limits = {least if kind == "min" else kind: {**table.get(kind, {}), **one} for kind, one in given.items()}
    drops = any(limits[kind] for kind in DROPS)
    wanted = thresholds(limits)
    policy = undecided or table.get("undecided", "pass")
    if policy not in get_args(Undecided):
        raise ConfigError(f"undecided '{policy}'; expected {' or '.join(get_args(Undecided))}")
    if not wanted:
        raise ConfigError(
            "nothing to check; add a threshold, as in --min METRIC=NUMBER, or a [check] table to ragstone.toml"
        )
    if by_people and drops:
        raise ConfigError(
            "--corrected cannot be combined with a drop, which compares raw means; check drops in a second command"
        )
    if by_people and not limits[least]:
        raise ConfigError("--corrected is only for means; add --min METRIC=NUMBER")
    if baseline is not None and not drops:
        raise ConfigError("--baseline is only for drops; add --max-drop METRIC=NUMBER")
    before = table.get("baseline") if baseline is None and drops else baseline
    with opened(run, store) as one, ExitStack() as stack:
        try:
            other = None if before is None else stack.enter_context(opened(before, store))
        except InputError as error:
            error.hint = "no baseline yet? Check this run without drops; it can then be the baseline for the next run"
            raise
        return check_run(one, wanted, other, policy)


@contextmanager
def opened(which: RunChoice, store: Path | str | None = None) -> Iterator[AnyRun]:
    """Open a run as ``run_named`` does; close it afterwards unless it was already open."""
    if not isinstance(which, str | int | Path):
        yield which
        return
    found = run_named(which, store)
    try:
        yield found
    finally:
        if isinstance(found, Run):
            found.store.close()

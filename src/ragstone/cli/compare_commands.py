"""``ragstone compare`` and ``check``: compare two runs, and check a run against thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import typer

from ragstone import api
from ragstone.cli.exit_codes import FAILED, UNJUDGED
from ragstone.cli.options import (
    Configuration,
    GroupBy,
    StorePath,
    WhichOrFolder,
    again,
    arg,
    command,
    flag,
    names,
    opt,
)
from ragstone.cli.output import answer, html_file
from ragstone.cli.run_commands import app
from ragstone.errors import ConfigError


@command(
    app,
    "ragstone compare 3 last",
    "ragstone compare baseline last -m grounding --by meta.topic",
    "ragstone compare main last -o compare.html",
    "ragstone compare main-out/ out/ --json",
)
def compare(
    first: str = arg("FIRST", "First run, the baseline: number, name, 'last', or a folder written by run -o."),
    second: str = arg("SECOND", "Second run, compared with the baseline."),
    *,
    metrics: list[str] | None = opt(
        "--metrics --metric -m", "NAMES", "Compare only these metrics; fewer tests give more power."
    ),
    by: GroupBy = None,
    moved: int = opt("--moved", "N", "Number of changed records to list, largest change first", default=5, min=0),
    out: str | None = opt("--out -o", "FILE|DIR/", "Also write an HTML report."),
    markdown: Path | None = opt("--markdown", "FILE", "Also write Markdown, for a pull request."),
    store: StorePath = None,
) -> None:
    """Compare two runs, record by record.

    For each metric, the output shows the difference (second minus first) over the records in both runs, with its
    interval and p value. If the difference is not significant, it also shows the smallest detectable difference. No
    judge is called.
    """
    from ragstone.analysis.run_files import COMPARISON
    from ragstone.output.target import whole
    from ragstone.render import ci
    from ragstone.render.terminal.compare_screen import compare_page
    from ragstone.render.terminal.outcome import Place

    page = html_file(out, COMPARISON)
    place = Place(options=again(store), comparison=str(page or ""))
    _refuse_inputs([path for path in (markdown, page) if path], [first, second], None)
    with api.opened(first, store) as one, api.opened(second, store) as other:
        found = api.compare(one, other, by=by, metrics=names(metrics) or None, moved=moved, out=page)
        if markdown is not None:
            with whole(markdown) as target:
                target.write(ci.compared(found))
        answer(found.as_json(), lambda look: compare_page(found, one, other, look, place))
    if all(metric.paired is None for metric in found.metrics):
        raise typer.Exit(UNJUDGED)


@command(
    app,
    "ragstone check last --min grounding=0.8 --min-coverage grounding=0.95",
    "ragstone check last --max-drop grounding=0.02 --baseline main",
    "ragstone check out/ --min grounding=0.8 --junit out.xml --markdown out.md",
    "ragstone check last --min grounding=0.8 --corrected",
)
def check(
    which: WhichOrFolder = "last",
    *,
    least: list[str] | None = opt("--min", "METRIC=X", "Minimum mean, from 0 to 1. Repeatable."),
    most: list[str] | None = opt("--max", "METRIC=X", "Maximum mean, for metrics where lower is better. Repeatable."),
    coverage: list[str] | None = opt(
        "--min-coverage", "METRIC=X", "Minimum share of records with a value. Repeatable."
    ),
    drop: list[str] | None = opt(
        "--max-drop",
        "METRIC=X",
        "Maximum drop in the mean; fails if the whole 95% CI of the drop is above X (see --undecided). Repeatable.",
    ),
    record_drop: list[str] | None = opt(
        "--max-record-drop", "METRIC=X", "Maximum drop in any single record. Repeatable."
    ),
    baseline: str | None = opt("--baseline", "RUN", "Baseline run, for --max-drop and --max-record-drop."),
    undecided: Literal["pass", "fail"] | None = opt(
        "--undecided",
        "pass|fail",
        "Outcome of undecided thresholds, e.g. a drop above X whose 95% CI includes X [default: pass]",
    ),
    corrected: bool | None = flag(
        "--corrected/--raw",
        "Apply --min to the lower bound of the mean corrected with human labels (from ragstone agree --attach).",
        default=None,
    ),
    junit: Path | None = opt("--junit", "FILE", "Also write JUnit XML, one test case per threshold."),
    markdown: Path | None = opt("--markdown", "FILE", "Also write Markdown, for a job summary."),
    store: StorePath = None,
    config: Configuration = None,
) -> None:
    """Check a run against thresholds, for CI.

    The exit code is 0 if every threshold is met or undecided, and 1 if any failed (with --undecided fail, also if any
    is undecided). It is 2 for wrong usage or an unknown metric or run. It is 3 if none failed but some could not be
    checked, for example because too few records were scored. Thresholds can also be set under [check] in the
    configuration.
    """
    from ragstone.output.target import whole
    from ragstone.render import ci
    from ragstone.render.terminal.compare_screen import check_page

    limits = {
        "min": _limits("--min", least), "max": _limits("--max", most),
        "min_coverage": _limits("--min-coverage", coverage), "max_drop": _limits("--max-drop", drop),
        "max_record_drop": _limits("--max-record-drop", record_drop),
    }  # fmt: skip
    files = [(path, write) for path, write in ((junit, ci.junit), (markdown, ci.markdown)) if path is not None]
    _refuse_inputs([path for path, _ in files], [which, baseline], config)
    with api.opened(which, store) as run:
        gate = api.check(
            run, **limits, baseline=baseline, undecided=undecided, corrected=corrected, store=store, config=config
        )
        for path, write in files:
            with whole(path) as target:
                target.write(write(gate))
        answer(gate.as_json(), lambda look: check_page(gate, run, look, again(store)))
    if not gate.passed:
        raise typer.Exit(UNJUDGED if gate.outcome == "error" else FAILED)


def _refuse_inputs(paths: Sequence[Path], runs: Sequence[str | None], config: Path | None) -> None:
    """Raise ConfigError if an output file is standard output, an input, or another output."""
    from ragstone.analysis.run_files import ABOUT, REPORT, RESULTS, SUMMARY, ZSTD
    from ragstone.output.target import refuse_inputs

    folders = [Path(name) for name in runs if name]
    of_runs = [folder / name for folder in folders for name in (RESULTS, f"{RESULTS}{ZSTD}", ABOUT, REPORT, SUMMARY)]
    for number, path in enumerate(paths):
        if str(path) == "-":
            raise ConfigError("--junit and --markdown write to files; specify file names")
        refuse_inputs(path, [config, *folders, *of_runs])
        if path in paths[:number]:
            raise ConfigError(f"{path} is named twice; use different files")


def _limits(flag: str, written: Sequence[str] | None) -> dict[str, float]:
    """Parse ``METRIC=X`` into thresholds by metric; raise ConfigError for another form or a repeated metric."""
    from ragstone.analysis.check import SHARE

    found: dict[str, float] = {}
    for text in written or ():
        metric, _, number = (part.strip() for part in text.rpartition("="))
        try:
            limit = float(number)
        except ValueError:
            metric, limit = "", 0.0
        if not metric:
            raise ConfigError(f"{flag} {text!r}; expected METRIC=NUMBER, as in grounding=0.8")
        if not 0 <= limit <= 1:
            raise ConfigError(f"{flag} {text}; {SHARE}")
        if metric in found:
            raise ConfigError(f"{flag} {metric} is given twice")
        found[metric] = limit
    return found

"""``ragstone compare`` and ``check``, with their options: what decides on a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ragstone.cli.options import AsJson, Configuration, StorePath, examples

RUN = "A run's number or name, last, or its -o folder."


def add_to(app: typer.Typer) -> None:
    """Add the commands to the group of all."""
    app.command(
        epilog=examples(
            "ragstone compare 3 last",
            "ragstone compare baseline last -m grounding --by meta.topic",
            "ragstone compare main last -o compare.html",
            "ragstone compare main-out/ out/ --json",
        )
    )(compare)
    app.command(
        epilog=examples(
            "ragstone check last --min grounding=0.8 --min-coverage grounding=0.95",
            "ragstone check last --max-drop grounding=0.02 --baseline main",
            "ragstone check out/ --min grounding=0.8 --junit out.xml --markdown out.md",
        )
    )(check)


def compare(
    first: Annotated[str, typer.Argument(metavar="RUN", help=RUN)],
    second: Annotated[str, typer.Argument(metavar="RUN", help="The run to compare with it.")],
    *,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", "-m", metavar="NAMES", help="Compare only these; fewer tests have more power."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="FIELD", help="Group records by topic, question or meta.NAME."),
    ] = None,
    moved: Annotated[
        int,
        typer.Option(
            "--moved", metavar="N", min=0, show_default=False, help="Most changed records to show [default: 5]"
        ),
    ] = 5,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE|DIR/", help="Also write one HTML file.")
    ] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Compare two runs, record by record.

    Prints for each metric the difference (second minus first) on the records in both, its interval and a p value. If
    no difference is shown, also the smallest that could have been. Calls no judge.
    """
    from ragstone.cli import deciding  # noqa: PLC0415 - loaded when it is called for

    deciding.compare(first, second, metrics=metrics, by=by, moved=moved, out=out, store=store, as_json=as_json)


def check(
    which: Annotated[str, typer.Argument(metavar="RUN", help=RUN)] = "last",
    *,
    least: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="METRIC=X", help="Min mean, from 0 to 1. Repeatable."),
    ] = None,
    coverage: Annotated[
        list[str] | None,
        typer.Option("--min-coverage", metavar="METRIC=X", help="Min share of records with a value. Repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--max-drop", metavar="METRIC=X", help="Fail if the drop is shown to exceed X. Repeatable."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="RUN", help="Baseline run for --max-drop.")
    ] = None,
    undecided: Annotated[
        Literal["pass", "fail"] | None,
        typer.Option("--undecided", metavar="pass|fail", help="Outcome of a drop that could be chance [default: pass]"),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also write JUnit XML, one test case per threshold.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Also write Markdown, for a job summary.")
    ] = None,
    store: StorePath = None,
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """Check a run against thresholds, for CI.

    Exits 0 if every threshold is met, 1 if one failed, 2 for an unknown metric or run, 3 if nothing was scored: an
    error is never a failure. Thresholds can also be set under [check] in the configuration.
    """
    from ragstone.cli import deciding  # noqa: PLC0415 - loaded when it is called for

    deciding.check(
        which,
        {"min": least, "min_coverage": coverage, "max_drop": drop},
        baseline,
        undecided,
        {"junit": junit, "markdown": markdown},
        store=store,
        config=config,
        as_json=as_json,
    )

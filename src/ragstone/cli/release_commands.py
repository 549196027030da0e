"""``ragstone compare`` and ``check``, with their options: what decides on a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ragstone.cli.options import AsJson, Configuration, StorePath, examples

RUN = "A run's number or name, last, or the folder of a run -o."


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
    second: Annotated[str, typer.Argument(metavar="RUN", help="The run to hold against it.")],
    *,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", "-m", metavar="NAMES", help="Only these; the fewer tests, the more they can show."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="FIELD", help="By which records belong together: topic, question or meta.NAME."),
    ] = None,
    moved: Annotated[
        int,
        typer.Option("--moved", metavar="N", min=0, show_default=False, help="Records shown that moved most; 5."),
    ] = 5,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE|DIR/", help="Also as one HTML file, to send or to keep.")
    ] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Hold one run against another, record by record.

    By metric the difference of the second from the first on the records that both have, with its interval, and whether
    it could be chance; where none can be shown, how large one would have had to be. Nobody is asked anything.
    """
    from ragstone.cli import deciding  # noqa: PLC0415 - loaded when it is called for

    deciding.compare(first, second, metrics=metrics, by=by, moved=moved, out=out, store=store, as_json=as_json)


def check(
    which: Annotated[str, typer.Argument(metavar="RUN", help=RUN)] = "last",
    *,
    least: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="METRIC=X", help="The least mean, from 0 to 1. Repeatable."),
    ] = None,
    coverage: Annotated[
        list[str] | None,
        typer.Option("--min-coverage", metavar="METRIC=X", help="The least share of records with a value. Repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--max-drop", metavar="METRIC=X", help="Fail on a drop shown to be larger than X. Repeatable."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="RUN", help="The run that drops are measured from.")
    ] = None,
    undecided: Annotated[
        Literal["pass", "fail"] | None,
        typer.Option(
            "--undecided", metavar="pass|fail", help="Whether a drop that could be chance passes [default: pass]."
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also as JUnit XML, a test case a threshold.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Also as Markdown, for a job's summary.")
    ] = None,
    store: StorePath = None,
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """Hold a run against thresholds, for CI.

    Leaves with 0 when all are held, 1 when one failed, 2 for a metric or a run that is not there, 3 when nothing was
    scored: an error is never a failure. Thresholds may also stand in [check] of the configuration.
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

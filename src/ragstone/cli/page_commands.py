"""The commands that show a run as a page, and their options, as ``--help`` tells them."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ragstone.cli.options import AsJson, StorePath, Which, examples

OF_REPORT: Final = examples("ragstone report", "ragstone report 3 -o report.html")
OF_VIEW: Final = examples("ragstone view", "ragstone view 3 --port 8080 --no-open")


def report(
    which: Which = "last",
    *,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE|DIR/", help="The file to write; report-RUN.html unless named."),
    ] = None,
    calls: Annotated[
        bool,
        typer.Option("--calls/--no-calls", help="Whether it holds what was asked and replied.", show_default=False),
    ] = True,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Write a run as one HTML file.

    It needs no network and no other file: send it, or open it in any browser. What would make it larger than 50 MB is
    left out, and it says so; view shows all of any run.
    """
    from ragstone.cli import pages  # noqa: PLC0415 - see the module

    pages.report(which, out, calls=calls, store=store, as_json=as_json)


def view(
    which: Which = "last",
    *,
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", min=0, max=65535, show_default=False, help="The port to listen on; 0, any free one."
        ),
    ] = 0,
    browser: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Whether to open a browser; else where this is a terminal."),
    ] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Show a run in the browser, of any size.

    The page of report, served on this machine alone and read from the store piece by piece, until Ctrl-C.
    """
    from ragstone.cli import pages  # noqa: PLC0415 - see the module

    pages.view(which, port=port, browser=browser, store=store, as_json=as_json)

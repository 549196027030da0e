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
        typer.Option("--out", "-o", metavar="FILE|DIR/", help="Output file [default: report-RUN.html]"),
    ] = None,
    calls: Annotated[
        bool,
        typer.Option("--calls/--no-calls", help="Include prompts and replies [default: yes]", show_default=False),
    ] = True,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Write a run as one HTML file.

    Opens in any browser, without network or other files. Content beyond 50 MB is left out, with a note; view shows
    all of it.
    """
    from ragstone.cli import pages  # noqa: PLC0415 - see the module

    pages.report(which, out, calls=calls, store=store, as_json=as_json)


def view(
    which: Which = "last",
    *,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            metavar="N",
            min=0,
            max=65535,
            show_default=False,
            help="Port to listen on [default: 0, any free one]",
        ),
    ] = 0,
    browser: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open a browser [default: if this is a terminal]"),
    ] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Show a run of any size in the browser.

    Serves the page of report on this machine only, reading from the store as needed, until Ctrl-C.
    """
    from ragstone.cli import pages  # noqa: PLC0415 - see the module

    pages.view(which, port=port, browser=browser, store=store, as_json=as_json)

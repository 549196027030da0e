"""``ragstone demo``, ``report`` and ``view``: show runs as HTML pages, in a file or served on this machine."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, TypeAlias

from ragstone import api
from ragstone.cli.exit_codes import say, undisturbed
from ragstone.cli.options import RUN, StorePath, WhichOrFolder, arg, command, flag, opt
from ragstone.cli.output import answer, html_file
from ragstone.cli.run_commands import app

Browser: TypeAlias = Annotated[
    bool | None, flag("--open/--no-open", "Open a browser [default: if started from a terminal]", default=...)
]


@command(app, "ragstone demo")
def demo(
    *,
    out: str = opt("--out -o", "DIR/", "Folder for the pages", default="ragstone-demo"),
    browser: Browser = None,
    store: StorePath = None,
) -> None:
    """Evaluate example traces of two systems and compare them.

    With the embedded judge, this takes seconds: no key, no network, no cost. A report and a comparison are written as
    HTML files.
    """
    from ragstone.analysis.run_files import COMPARISON, REPORT
    from ragstone.render.terminal.compare_screen import demo_page

    pages = [html_file(f"{out}/", name) or Path() for name in (REPORT, COMPARISON)]
    first, second = api.demo(store)
    with closing(first.store), closing(second.store):
        api.write_report(first, pages[0])
        found = api.compare(first, second, out=pages[1])
        written = [str(path) for path in pages]
        told = {"runs": [first.id, second.id], "written": written, "comparison": found.as_json()}
        answer(told, lambda look: demo_page(found, (first, second), written, look))
    _open(pages[0].absolute().as_uri(), browser)


def _open(address: str, wanted: bool | None) -> None:
    """Open a page in the browser if requested, or by default on a terminal."""
    import webbrowser

    if wanted if wanted is not None else sys.stdout.isatty():
        webbrowser.open(address)


@command(app, "ragstone report", "ragstone report 3 -o report.html")
def report(
    which: WhichOrFolder = "last",
    *,
    out: str | None = opt("--out -o", "FILE|DIR/", "Output file [default: report-RUN.html]"),
    calls: bool = flag("--calls/--no-calls", "Include prompts and replies [default: yes]", default=True),
    store: StorePath = None,
) -> None:
    """Write a run as one HTML file.

    The file is self-contained and works offline. Content beyond 50 MB is left out, with a note; ragstone view shows all
    of it.
    """
    from ragstone.analysis.run_files import REPORT
    from ragstone.output.target import refuse_inputs
    from ragstone.render.terminal.lists import run_written

    opened = api.run_to_show(which, store)
    with closing(opened.store):
        target = html_file(out, REPORT) or Path(f"report-{opened.id}.html")
        refuse_inputs(target, [opened.store.path])
        api.write_report(opened, target, calls=calls)
        told = {"written": str(target), "bytes": target.stat().st_size, "run": opened.id, "records": len(opened)}
        answer(told, lambda _: run_written("Report", opened, target))


@command(app, "ragstone view", "ragstone view 3 --port 8080 --no-open")
def view(
    which: str | None = arg("RUN", f"{RUN} [default: the list of runs]", default=None),
    *,
    port: int = opt("--port", "N", "Port to listen on [default: any free port]", default=0, min=0, max=65535),
    browser: Browser = None,
    store: StorePath = None,
) -> None:
    """Browse runs in a web browser.

    The pages are a list of runs with trends, a page for each run, and a comparison of two runs. You can also label
    records; labels are saved in files next to the store. Pages are served on this machine only, until you press Ctrl-C.
    """
    from ragstone.render.terminal.lists import serving

    run = None if which is None else api.run_to_show(which, store)
    opened = api.open_store(store) if run is None else run.store
    with closing(opened), api.serving(opened, port) as server:
        address = server.address if run is None else f"{server.address}run/{run.id}/"
        about = {"runs": len(opened.runs())} if run is None else {"run": run.id, "records": len(run)}
        answer({"address": address, **about}, lambda _: serving(address, run))
        _open(address, browser)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            with undisturbed():
                say("note", "stopped serving; the runs stay in the store")

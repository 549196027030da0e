"""``ragstone report`` and ``ragstone view``: a run as a page, in a file or served on this machine."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import closing
from pathlib import Path

from ragstone import api
from ragstone.analysis.run_files import REPORT
from ragstone.cli.ending import say, undisturbed
from ragstone.cli.output import html_file, show, show_json
from ragstone.output.target import refuse_inputs
from ragstone.render.terminal.pages import report_written, serving


def report(which: str, out: str | None, *, calls: bool, store: Path | None, as_json: bool) -> None:
    """Write the page of a run."""
    opened = api.open_run(which, store)
    with closing(opened.store):
        target = html_file(out, REPORT) or Path(f"report-{opened.id}.html")
        refuse_inputs(target, [opened.store.path])
        api.write_report(opened, target, calls=calls)
        told = {"written": str(target), "bytes": target.stat().st_size, "run": opened.id, "records": len(opened)}
    if as_json:
        show_json(told)
    else:
        show(lambda look: report_written(told, look))


def view(which: str, *, port: int, browser: bool | None, store: Path | None, as_json: bool) -> None:
    """Serve the page of a run until Ctrl-C."""
    opened = api.open_run(which, store)
    with closing(opened.store), api.serving(opened, port) as server:
        if as_json:
            show_json({"address": server.address, "run": opened.id, "records": len(opened)})
        else:
            show(lambda look: serving(server.address, opened.name, opened.id, look))
        if browser if browser is not None else sys.stdout.isatty():
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            with undisturbed():
                say("note", "no longer served; the run stays in the store")

"""Write a run as an HTML page, or serve it on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ragstone.analysis.run import Run
from ragstone.analysis.run_files import REPORT
from ragstone.api.label_desk import Desk
from ragstone.errors import ConfigError
from ragstone.output.target import OTHER_FOLDER, whole, write_parts
from ragstone.render.html.build import report
from ragstone.render.html.live import HOST, Live
from ragstone.store.database import Store


def write_report(run: Run, path: Path | str, *, calls: bool = True) -> Path:
    """Write a run as one self-contained HTML file of at most 50 MB.

    ``calls``: include prompts and replies. What does not fit is left out, raw calls before records and high scores
    before low ones, and the page says so. ConfigError if the file cannot be written.
    """
    target = Path(path)
    write_parts(target, report(run, calls=calls))
    return target


def write_beside(run: Run, folder: Path) -> None:
    """Write the page to a run's folder; OutputError if it cannot be written."""
    with whole(folder / REPORT, instead=OTHER_FOLDER) as file:
        file.writelines(report(run))


@contextlib.contextmanager
def serving(store: Store, port: int = 0) -> Iterator[Live]:
    """A server of a store's runs, not yet serving; ``port`` 0 is any free one. ConfigError if the port is taken."""
    try:
        server = Live(store, Desk(), port)
    except OSError as error:
        raise ConfigError(
            f"{HOST}:{port}: cannot listen there ({error.strerror}); choose another with --port"
        ) from error
    with server:
        yield server

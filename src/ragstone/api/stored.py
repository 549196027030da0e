"""Open and export the runs of a store, and write the commented configuration."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from ragstone.analysis.run import Run, find_run
from ragstone.config import resolve
from ragstone.errors import ConfigError
from ragstone.options import FILE, RunOptions
from ragstone.output.export import export_to, format_named
from ragstone.store.database import Store


def open_run(which: str | int = "last", store: Path | str | None = None) -> Run:
    """Return a run from the store by number, name or ``last``; InputError lists the runs if it is not there."""
    return find_run(open_store(store), which)


def open_store(path: Path | str | None = None) -> Store:
    """Open the store for reading; ConfigError if there is none: reading creates nothing."""
    where = resolve(RunOptions(store=path)).store
    if not Path(where).exists():
        raise ConfigError(
            f"no store at {where}; evaluate records first (ragstone run FILE), or name a store with --store"
        )
    return Store(where, renew=False)


def export_run(run: Run, form: str, rows: str = "scores", to: Path | str | IO[bytes] | None = None) -> None:
    """Export a run to a file or a binary stream (``to``); Parquet needs a path.

    ``form`` is ``jsonl``, ``csv``, ``parquet``, ``calls`` (a recording that ``replay:FILE`` answers from),
    ``assignments`` or ``blocks`` (of nuggets), or a leaderboard: ``trec_eval``, ``tot``, ``ir_measures``. ``rows`` of
    a table are ``scores`` or ``verdicts``. A leaderboard may go to a folder, written with a ``/`` at its end.
    InputError if the run has no such results.
    """
    if isinstance(to, str | Path):
        export_to(run, form, rows, to)
        return
    wanted = format_named(form)
    if to is None or not wanted.pipes:
        raise ConfigError(f"{form} needs an output file; add -o FILE")
    wanted.write(run, rows, to)


def write_config(path: Path | str = FILE, *, force: bool = False) -> Path:
    """Write a commented configuration with all defaults; ConfigError if the file exists, unless forced."""
    target = Path(path)
    if target.exists() and not force:
        raise ConfigError(f"{target} exists; --force overwrites it")
    from ragstone.settings import commented  # noqa: PLC0415 - pydantic is for whoever reads or writes the file

    try:
        target.write_text(commented(), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{target}: cannot be written ({error.strerror})") from error
    return target

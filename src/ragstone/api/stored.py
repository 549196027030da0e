"""What is done with runs that are in the store, and the commented configuration."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from ragstone.analysis.run import Run, find_run
from ragstone.config import resolve
from ragstone.errors import ConfigError
from ragstone.options import FILE, RunOptions
from ragstone.output.export import export, export_to
from ragstone.store.database import Store


def open_run(which: str | int = "last", store: Path | str | None = None) -> Run:
    """A run of the store by number, name, or ``last``; InputError names what there is."""
    return find_run(open_store(store), which)


def open_store(path: Path | str | None = None) -> Store:
    """The store for reading; ConfigError when there is none, so that looking creates nothing."""
    where = resolve(RunOptions(store=path)).store
    if not Path(where).exists():
        raise ConfigError(f"no store at {where}; make a run first (ragstone run FILE) or name another with --store")
    return Store(where, renew=False)


def export_run(run: Run, form: str, rows: str = "scores", to: Path | str | IO[bytes] | None = None) -> None:
    """Write a run for others.

    ``form`` is ``jsonl``, ``csv``, ``parquet``, ``calls`` (a recording that ``replay:FILE`` answers from),
    ``assignments`` (of nuggets), or a leaderboard: ``trec_eval``, ``tot``, ``ir_measures``. ``rows`` of a table are
    ``scores`` or ``verdicts``. ``to`` is a file's path or a binary stream; Parquet needs a path; of a leaderboard
    it may be a folder, written with a ``/`` at its end. InputError for what there is not.
    """
    if isinstance(to, str | Path):
        export_to(run, form, rows, to)
    elif to is None or form == "parquet":
        raise ConfigError(f"{form} is written to a file; name it with -o")
    else:
        export(run, form, rows, to)


def write_config(path: Path | str = FILE, *, force: bool = False) -> Path:
    """Write a commented configuration that changes nothing; ConfigError when the file is there and not forced."""
    target = Path(path)
    if target.exists() and not force:
        raise ConfigError(f"{target} exists; --force overwrites it")
    from ragstone.settings import commented  # noqa: PLC0415 - pydantic is for whoever reads or writes the file

    try:
        target.write_text(commented(), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{target}: cannot be written ({error.strerror})") from error
    return target

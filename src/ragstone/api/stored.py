"""Open and export the runs of a store, and write the commented configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import orjson

from ragstone.analysis.run import Run, find_run
from ragstone.analysis.saved import SavedRun, saved
from ragstone.analysis.summary import summarize
from ragstone.config import resolve
from ragstone.errors import ConfigError, InputError
from ragstone.options import FILE, RunOptions
from ragstone.output.export import export_to, format_named
from ragstone.store.database import TEMPORARY, ResultRow, ScoreRow, Store


def open_run(which: str | int = "last", store: Path | str | None = None) -> Run:
    """Return a run from the store by number, name or ``last``; if it is missing, raise InputError listing the runs."""
    return find_run(open_store(store), which)


def run_to_show(which: str = "last", store: Path | str | None = None) -> Run:
    """Return a run as ``run_named`` does; one in a folder, with its run.json, is loaded into a temporary store."""
    read = run_named(which, store, whole=True)
    return read if isinstance(read, Run) else _loaded(read, which)


def run_named(which: str | int | Path, store: Path | str | None, *, whole: bool = False) -> Run | SavedRun:
    """Return the run with this number, name or folder (if ``whole``, with its run.json); raise InputError if none.

    A run in the store takes precedence over a folder of the same name; a path (``./main``, ``out/``) is a folder.
    """
    is_path = isinstance(which, Path) or "/" in str(which) or os.sep in str(which)
    if is_path and (folder := saved(str(which))) is not None and (folder.spec or not whole):
        return folder
    try:
        return open_run(which if isinstance(which, int) else str(which), store)
    except InputError:
        if not is_path and (folder := saved(str(which))) is not None and (folder.spec or not whole):
            return folder
        raise


def _loaded(read: SavedRun, folder: str) -> Run:
    store = Store(TEMPORARY)
    store.path, store.folder = str(read.path), folder
    run = store.start_run(read.name, dict(read.spec), read.id or None)
    store.begin()
    for result in read.results():
        try:
            scores = [_score_row(result["position"], score) for score in result.get("scores", ())]
        except (KeyError, TypeError) as error:
            raise InputError(f"{read.path}: record '{result['id']}' has a score without {error}") from error
        store.insert([], [(run, ResultRow(result["position"], result["id"], orjson.dumps(result)), scores)])
    store.commit()
    summary = read.summary() or summarize(store, run, read.spec.get("signatures", {}), read.status)
    store.finish_run(run, read.status, {**summary, "agreement": read.agreement})
    return find_run(store)


def _score_row(position: int, score: Mapping[str, Any]) -> ScoreRow:
    flat = {**score, **score["cost"], "position": position}
    repeats = orjson.dumps(score["repeats"]).decode() if "repeats" in score else None
    return ScoreRow._make((*(flat[name] for name in ScoreRow._fields[:-1]), repeats))


def existing_store(path: Path | str | None = None) -> Path:
    """Return the path of the store; raise ConfigError if there is none, because reading must not create one."""
    where = Path(resolve(RunOptions(store=path)).store)
    if not where.exists():
        raise ConfigError(
            f"no store at {where}",
            hint="evaluate records first with 'ragstone run FILE', or specify a store with --store",
        )
    return where


def open_store(path: Path | str | None = None) -> Store:
    """Open the store for reading; raise ConfigError if there is none."""
    return Store(existing_store(path), renew=False)


def export_run(run: Run, form: str, rows: str | None = None, to: Path | str | IO[bytes] | None = None) -> None:
    """Export a run to a file or a binary stream (``to``); Parquet needs a path.

    ``form`` is ``jsonl``, ``csv``, ``parquet``, ``calls`` (a recording for ``replay:FILE``), ``assignments`` or
    ``blocks`` (of nuggets), or a leaderboard: ``trec_eval``, ``tot``, ``ir_measures``. The ``rows`` of a table are
    ``scores`` (the default), ``verdicts`` or ``sentences``. A leaderboard can be written to a folder, given with a
    trailing ``/``. Raises InputError if the run has no such results, ConfigError for ``rows`` of another format.
    """
    wanted = format_named(form)
    if rows is not None and not wanted.table:
        raise ConfigError(f"{form} has no rows of {rows}; write a table with --format csv or parquet")
    rows = rows or "scores"
    if isinstance(to, str | Path):
        export_to(run, form, rows, to)
        return
    if to is None or not wanted.pipes:
        raise ConfigError(f"{form} needs an output file; add -o FILE")
    wanted.write(run, rows, to)


def write_config(path: Path | str = FILE, *, force: bool = False) -> Path:
    """Write a commented configuration with all defaults; raise ConfigError if the file exists, unless ``force``."""
    target = Path(path)
    if target.exists() and not force:
        raise ConfigError(f"{target} already exists", hint="use --force to overwrite it")
    from ragstone.settings import commented  # noqa: PLC0415 - pydantic is for whoever reads or writes the file

    try:
        target.write_text(commented(), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{target}: cannot be written ({error.strerror})") from error
    return target

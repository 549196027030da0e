"""Export leaderboards in the formats of TREC tools: the scores of each system on each topic, with their means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, cast

import orjson

from ragstone.analysis.leaderboard import Entry, Leaderboard, OnMissing, run_of
from ragstone.analysis.run import Run
from ragstone.errors import ConfigError, InputError
from ragstone.output.export import LINES, ExportFormat
from ragstone.output.files import FileNames
from ragstone.output.target import closed_folder, is_folder, whole
from ragstone.records.leaderboards import FORMS, Form, LeaderboardRow, lines

SCORES: Final = "scores"
"""The score format of nugget tools: one JSON object per run and topic."""
WITHOUT_RUN: Final = "trec_eval"
"""The format without a column for the run."""
EXTENSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    SCORES: LINES, WITHOUT_RUN: (".eval", ".tsv"), "tot": (".tsv",), "ir_measures": (".tsv",), "jsonl": LINES,
}  # fmt: skip


def board_of(run: Run) -> Leaderboard:
    """Return a run's scores as a leaderboard; each score name is a measure, the system is ``meta.run_id`` or the run.

    Raise InputError if a system has two records on one topic.
    """
    board = Leaderboard()
    names: dict[str, str] = {}  # results repeat the same strings, so share one copy
    for result in run.results():
        if "set_aside" in result:
            continue
        name = run_of(result["meta"], run.name)
        values = {
            names.setdefault(score["metric"], score["metric"]): score["value"] for score in result.typed["scores"]
        }
        try:
            board.add(Entry(name, result["topic"], values))
        except InputError as error:
            raise InputError(f"run {run.id}: {error}; a leaderboard has one row, csv a row for each record") from error
    return board


def write_board(board: Leaderboard, form: str, target: IO[bytes], on_missing: OnMissing = "warn") -> None:
    """Write a leaderboard as ``scores`` or in one of ``FORMS``; raise ConfigError if it does not fit the format."""
    if form == WITHOUT_RUN and len(board.runs) > 1:
        raise ConfigError(
            f"{form} has no column for the system, and there are {len(board.runs)} systems; write one file per system "
            "with -o DIR/, or use another format, e.g. --format tot"
        )
    rows = board.score_rows(on_missing) if form == SCORES else board.rows(on_missing)
    target.writelines(_lines(rows, form))


def write_board_to(board: Leaderboard, form: str, to: str, on_missing: OnMissing = "warn") -> list[Path]:
    """Write a leaderboard to a file, or to a folder with one file per run; return the paths written.

    Each run's means are over the topics on which it would be compared.
    """
    if not is_folder(to):
        with whole(Path(to)) as target:
            write_board(board, form, target, on_missing)
        return [Path(to)]
    folder = Path(to)
    by_run = {run: _lines(own, form) for run, own in _by_run(board, form, on_missing).items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise closed_folder(folder, error) from error
    written, names = [], FileNames()
    for name, found in by_run.items():
        written.append(folder / f"{names.of(name)}{EXTENSIONS[form][0]}")
        with whole(written[-1]) as target:
            target.writelines(found)
    return written


def _by_run(board: Leaderboard, form: str, on_missing: OnMissing) -> Mapping[str, Iterable[Any]]:
    if form != SCORES:
        return board.rows(on_missing).by_run()
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in board.score_rows(on_missing):
        rows.setdefault(row["run_id"], []).append(row)
    return rows


def _lines(rows: Iterable[LeaderboardRow | dict[str, Any]], form: str) -> Iterable[bytes]:
    if form == SCORES:
        return (orjson.dumps(row) + b"\n" for row in rows)
    return lines(cast("Iterable[LeaderboardRow]", rows), cast("Form", form))


def _write(form: str, run: Run, _rows: str, target: IO[bytes]) -> None:
    write_board(board_of(run), form, target)


def _to_folder(form: str, run: Run, folder: str) -> None:
    write_board_to(board_of(run), form, folder)


FORMATS: Final = tuple(
    ExportFormat(form, EXTENSIONS[form], "leaderboard", partial(_write, form), partial(_to_folder, form))
    for form in FORMS
    if form != "jsonl"
)

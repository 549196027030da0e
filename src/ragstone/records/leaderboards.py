"""Read and write leaderboards: the score of each run on each topic, as used by trec_eval, ir_measures and AutoJudge.

Three formats have columns separated by white space, one is JSON lines. A row over all topics has the topic ``all``.
Values round-trip exactly. Files have no header. Which of the four-column formats a file has is not guessed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import orjson

from ragstone.errors import ConfigError, RecordError
from ragstone.records import values
from ragstone.records.bytestream import Origin, files_in, origin_of
from ragstone.records.file_formats import stem_of
from ragstone.records.ids import Hashes
from ragstone.records.jsontext import counted, decode, excerpt, kind, not_text
from ragstone.records.limits import MAX_RECORD_BYTES

Form = Literal["trec_eval", "tot", "ir_measures", "jsonl"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)

COLUMNS: Final[Mapping[Form, tuple[str, ...]]] = {
    "trec_eval": ("measure", "topic", "value"),
    "tot": ("run", "measure", "topic", "value"),
    "ir_measures": ("run", "topic", "measure", "value"),
}
OWN_NAME: Final = "runid"
"""The measure of trec_eval's first row, whose value is the run's name rather than a number."""

ENDINGS: Final = frozenset((".txt", ".tsv", ".eval"))
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LONGEST_NUMBER: Final = 100
TRUTHS: Final = {"True": 1.0, "False": 0.0}
"""Values that AutoJudge writes for boolean measures."""

SCORE: Final = "_score"
"""The end of a measure's name in files."""

_WANTED: Final = "expected {run_id, topic_id, measure, value}"

NO_NAME: Final = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff\ufeff]")
"""Characters that a column separated by white space cannot contain."""

HALVES: Final = re.compile(r"[\ud800-\udfff]")


class LeaderboardRow(NamedTuple):
    """The value of a measure for one run on one topic, or on the topic ``all``."""

    run: str
    topic: str
    measure: str
    value: float


def lines(rows: Iterable[LeaderboardRow], form: Form) -> Iterator[bytes]:
    """Return the rows as lines of the given format, in order; all rows are checked before the first line is returned.

    They are read twice, so they cannot be an iterator: there may be a million, of which only hashes are kept.
    White space and characters that a column cannot contain become ``_`` in names, as do empty names. ``trec_eval`` has
    no column for the run: name the file after it.

    Raises:
        ConfigError: two names would become the same, or a run has two values for a topic and measure.
    """
    assert iter(rows) is not rows
    seen = Hashes()
    repeated = {named for row in rows if not seen.add(hash(named := _named(row, form)))}
    written: dict[tuple[str, str, str], LeaderboardRow] = {}
    for row in rows if repeated else ():
        if (named := _named(row, form)) not in repeated:
            continue
        first = written.setdefault(named, row)
        if first[:3] != row[:3]:
            raise ConfigError(
                f"{_place(first)} and {_place(row)} would become the same row of the leaderboard; rename one"
            )
        if first != row:
            raise ConfigError(f"{_place(row)} has two values, {first.value} and {row.value}; keep one")
    return (_line(row, form) for row in rows)


def _place(row: LeaderboardRow) -> str:
    return f"{excerpt(row.measure)} of system {excerpt(row.run)} on topic {excerpt(row.topic)}"


def _named(row: LeaderboardRow, form: Form) -> tuple[str, str, str]:
    """Return run, topic and measure in writable form."""
    found, sign = (HALVES, "\ufffd") if form == "jsonl" else (NO_NAME, "_")
    run, topic, measure = (found.sub(sign, name) for name in (row.run, row.topic, row.measure))
    return (run, topic, measure) if form == "jsonl" else (run or "_", topic or "_", measure or "_")


def _line(row: LeaderboardRow, form: Form) -> bytes:
    run, topic, measure = _named(row, form)
    value = float(row.value)
    if form == "jsonl":
        return orjson.dumps({"run_id": run, "topic_id": topic, "measure": measure, "value": value}) + b"\n"
    cells = {"run": run, "topic": topic, "measure": measure, "value": repr(value)}
    return "\t".join(cells[column] for column in COLUMNS[form]).encode() + b"\n"


def read_leaderboard(path: str | os.PathLike[str], form: Form | Literal["auto"] = "auto") -> list[LeaderboardRow]:
    """Read a leaderboard, plain or compressed, or a folder of them, in the order of the file names.

    ``auto``: JSON lines begin with ``{``; three columns are ``trec_eval``; with four columns, the format must be given.
    In ``trec_eval`` the run is the file's name without ``.gz``, ``.zst``, ``.txt``, ``.tsv`` and ``.eval``, and the row
    ``runid`` is skipped. Repeated rows are read once.

    Raises:
        ConfigError: unknown format.
        RecordError: a file cannot be read or has no rows, a row has other columns, a value is not a finite number,
            a run has two values for a topic and measure, or four columns have no format; the message names the line.
    """
    if form not in ("auto", *FORMS):
        raise ConfigError(f"no leaderboard format {form!r}; expected one of {', '.join(FORMS)}")
    folder = Path(path)
    files = files_in(folder) if folder.is_dir() else [folder]
    if not files:
        raise RecordError(str(path), "this folder contains no files", "expected one leaderboard per file")
    found: dict[tuple[str, str, str], LeaderboardRow] = {}
    for where, row in (entry for file in files for entry in _read(file, form)):
        known = found.setdefault(row[:3], row)
        if known.value != row.value:
            said = f"{_place(row)} is {row.value} here and {known.value} before"
            raise RecordError(where, said, "keep one of them")
    return list(found.values())


def filled_lines(origin: Origin) -> list[tuple[str, bytes]]:
    """Return the non-blank lines of a file, each with its place; raise RecordError if there are none."""
    found: list[tuple[str, bytes]] = []
    with origin.open() as stream:
        for where, line in stream.filled_lines(MAX_RECORD_BYTES, "expected one value per line"):
            if isinstance(line, RecordError):
                raise line
            found.append((where, line))
    if not found:
        raise RecordError(origin.name, "contains no rows", "expected at least one")
    return found


def cells_of(lines: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, list[str]]]:
    """Yield the cells of each line, separated by white space, with its place; raise RecordError if it is not text."""
    for where, text in lines:
        if wrong := not_text(text):
            raise RecordError(where, *wrong)
        yield where, text.decode().split()


def _cells(lines: Iterable[tuple[str, bytes]]) -> list[tuple[str, list[str]]]:
    """Return the cells of each line; raise RecordError unless all lines have the same 3 or 4 columns."""
    found = list(cells_of(lines))
    wide = len(found[0][1])
    if wide not in (3, 4):
        shown = "; ".join(f"{form}: {' '.join(columns)}" for form, columns in COLUMNS.items())
        raise RecordError(found[0][0], f"expected 3 or 4 columns, found {wide}", shown)
    for where, cells in found:
        if len(cells) != wide:
            said = f"{counted(len(cells), 'column')} but the first row has {wide}"
            raise RecordError(where, said, "expected one value per line")
    return found


def _read(path: Path, form: Form | Literal["auto"]) -> Iterator[tuple[str, LeaderboardRow]]:
    """Yield the rows of one file, each with its place."""
    origin = origin_of(path)
    lines = filled_lines(origin)
    if form == "jsonl" or (form == "auto" and lines[0][1].startswith(b"{")):
        yield from ((where, row) for where, text in lines for row in _of_json(text, where))
        return
    found = _cells(lines)
    wide = len(found[0][1])
    if form == "auto" and wide == 4:
        advice = "specify it with --against-format tot or ir_measures"
        raise RecordError(origin.name, "four columns in an unknown order", advice)
    columns = COLUMNS["trec_eval" if form == "auto" else form]
    if len(columns) != wide:
        said = f"{counted(wide, 'column')}, but {form} has {' '.join(columns)}"
        raise RecordError(found[0][0], said, "use another format")
    named = [(where, dict(zip(columns, cells, strict=True))) for where, cells in found]
    scores = [(where, row) for where, row in named if "run" in row or row["measure"] != OWN_NAME]
    if not scores:
        raise RecordError(origin.name, "contains no row with a value", "expected at least one")
    run = stem_of(path, ENDINGS).name.encode("utf-8", "replace").decode()
    for where, row in scores:
        value = _number(row["value"], where)
        yield where, LeaderboardRow(row.get("run", run), row["topic"], row["measure"], value)


def _number(cell: str, where: str) -> float:
    if cell in TRUTHS:
        return TRUTHS[cell]
    value = float(cell) if len(cell) <= LONGEST_NUMBER and NUMBER.fullmatch(cell) else math.nan
    if not math.isfinite(value):
        raise RecordError(where, f"{excerpt(cell)} as the value", "expected a finite number")
    return value


def _of_json(text: bytes, where: str) -> Iterator[LeaderboardRow]:
    """Yield the row of a line, or a row per measure of a line that ``nuggets score -o`` wrote: ``{qid, …_score}``."""
    row: Any = decode(text, where)
    if not isinstance(row, dict):
        raise RecordError(where, f"expected an object, found {kind(row)}", _WANTED)
    if "qid" not in row or "measure" in row:
        yield _of_object(row, where)
        return
    for measure, value in row.items():
        if measure.endswith(SCORE) and value is not None:
            topic = {"run_id": row.get("run_id"), "topic_id": row["qid"]}
            yield _of_object({**topic, "measure": measure, "value": value}, where)


def _of_object(row: Mapping[str, Any], where: str) -> LeaderboardRow:
    for key in ("run_id", "topic_id", "measure", "value"):
        if row.get(key) is None:
            raise RecordError(where, "missing", _WANTED, field=key)
    value = row["value"]
    if not isinstance(value, str | int | float):
        raise RecordError(where, f"expected a number, found {kind(value)}", field="value")
    names = []
    for key in ("run_id", "topic_id", "measure"):
        try:
            names.append(values.identifier(row[key], []))
        except values.UnfitError as error:
            raise RecordError(where, error.found, field=key) from None
    run, topic, measure = names
    return LeaderboardRow(run, topic, measure, _number(value, where) if isinstance(value, str) else float(value))

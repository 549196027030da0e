"""A run in the formats of others: JSON lines, CSV, Parquet, leaderboards, assignment records, a recording of its calls.

Promises: everything is written as it is read, so that a run of any size can be exported (a leaderboard holds a few
numbers a record); no cell of a CSV file is a formula to a spreadsheet; a file stands under its name only when it
is whole.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, Literal, cast, get_args

import orjson

from ragstone import metrics
from ragstone.analysis.assignments import assignment, run_of
from ragstone.analysis.leaderboard import Entry, Leaderboard, OnMissing
from ragstone.analysis.run import COLUMN_KINDS, Run
from ragstone.errors import ConfigError, InputError
from ragstone.output.files import file_name
from ragstone.output.target import is_folder, whole
from ragstone.output.unwritable import closed_folder
from ragstone.records import COMPRESSIONS, FORMS, Form, LeaderboardRow, lines
from ragstone.store.database import CallRow

Format = Literal["jsonl", "csv", "parquet", "calls", "trec_eval", "tot", "ir_measures", "assignments"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
BOARDS: Final[tuple[Form, ...]] = tuple(form for form in FORMS if form in FORMATS and form != "jsonl")
"""The formats in which a run is a leaderboard."""
SCORES: Final = "scores"
"""The format in which nugget tools write what each run scored: a JSON object a run and topic."""
WITHOUT_RUN: Final = "trec_eval"
"""The format whose rows do not say which run they are of."""
ENDINGS: Final[Mapping[str, str]] = {SCORES: ".jsonl", "jsonl": ".jsonl", WITHOUT_RUN: ".eval"}
LINES: Final = ("jsonl", SCORES, "calls", "assignments")
"""The formats of which each line is a JSON object."""
MEANT: Final[Mapping[str, Sequence[str]]] = {
    ".jsonl": LINES, ".ndjson": LINES, ".json": LINES, ".csv": ("csv",), ".parquet": ("parquet",),
    ".tsv": (WITHOUT_RUN, "tot", "ir_measures"), ".eval": (WITHOUT_RUN,),
}  # fmt: skip
"""The formats that a file's ending may stand for; another ending says nothing."""
RECORDING: Final = 1
BATCH: Final = 1000
"""Rows of a table that are held at a time."""
FORMULA: Final = ("=", "+", "-", "@", "|", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - spreadsheets take the wide forms too
"""What a spreadsheet takes for the beginning of a formula, or for white space before one (OWASP)."""


def export(run: Run, form: str, rows: str, target: IO[bytes]) -> None:
    """Write a run to a binary stream; InputError for a format or rows that there are not."""
    writers: dict[str, Callable[[], None]] = {
        "jsonl": lambda: _written((line + b"\n" for line in run.lines()), target),
        "csv": lambda: _csv(run, rows, target),
        "parquet": lambda: _parquet(run, rows, target),
        "calls": lambda: _written(_recording(run), target),
        "assignments": lambda: _written(_assignments(run), target),
        **{board: partial(write_board, board_of(run), board, target) for board in BOARDS if board == form},
    }
    if form not in writers:
        raise InputError(f"no format '{form}'; there are {', '.join(FORMATS)}")
    writers[form]()


def export_to(run: Run, form: str, rows: str, path: Path | str) -> None:
    """Write a run to a file, which is there only when all of it is; ConfigError when it cannot be written.

    A leaderboard may also be written to a folder, a file for each system.
    """
    if form in BOARDS:
        write_board_to(board_of(run), form, str(path))
        return
    with whole(Path(path)) as target:
        export(run, form, rows, target)


def form_of(out: str | None, given: str | None, known: Sequence[str]) -> str:
    """The format of a file: what is given, else what its ending says, else the first of those that are known.

    ConfigError where the two do not agree: whoever reads the file takes its ending for what is in it.
    """
    ending = "" if out is None or is_folder(out) else Path(out).suffix.lower()
    if ending in COMPRESSIONS:
        raise ConfigError(f"{out}: nothing is compressed while it is written; name it without '{ending}'")
    fitting = [form for form in known if form in MEANT.get(ending, known)]
    if given in fitting:
        return str(given)
    if given is not None:
        right = next(other for other, forms in MEANT.items() if given in forms)
        raise ConfigError(f"{out}: '{ending}' is no ending of the format {given}; name it as in -o {_stem(out)}{right}")
    if not fitting:
        ends = ", ".join(other for other, forms in MEANT.items() if set(forms) & set(known))
        raise ConfigError(f"{out}: nothing that this command writes ends in '{ending}'; endings are {ends}")
    if known[0] not in fitting and len(fitting) > 1:
        raise ConfigError(f"{out}: '{ending}' may be {' or '.join(fitting)}; say which with --format")
    return known[0] if known[0] in fitting else fitting[0]


def _stem(out: str | None) -> str:
    return Path(out or "").stem


def harmless(cell: object) -> object:
    """A cell that a spreadsheet takes for text: what begins like a formula gets an apostrophe; numbers stay."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _written(lines: Generator[bytes, None, None], target: IO[bytes]) -> None:
    with contextlib.closing(lines):  # whoever reads may go away before the end
        for line in lines:
            target.write(line)


def _csv(run: Run, rows: str, target: IO[bytes]) -> None:
    columns, source = run.rows(rows)
    text = io.TextIOWrapper(target, encoding="utf-8", errors="replace", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        with contextlib.closing(source):
            for row in source:
                writer.writerow([_cell(row[column]) for column in columns])
        text.flush()
    finally:
        with contextlib.suppress(ValueError, OSError):
            text.detach()  # the stream is the caller's to close


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return harmless(value)


def _parquet(run: Run, rows: str, target: IO[bytes]) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError("Parquet needs pyarrow; install it with: pip install 'ragstone[parquet]'") from error
    types = {"number": pa.float64(), "count": pa.int64(), "truth": pa.bool_()}
    columns, source = run.rows(rows)
    schema = pa.schema([(column, types.get(COLUMN_KINDS.get(column, ""), pa.string())) for column in columns])
    with contextlib.closing(source), pq.ParquetWriter(target, schema) as writer:
        for batch in _batches(source):
            typed = [{column: _typed(column, row[column]) for column in columns} for row in batch]
            writer.write_table(pa.Table.from_pylist(typed, schema))


def _typed(column: str, value: Any) -> Any:
    return float(value) if value is not None and COLUMN_KINDS.get(column) == "number" else value


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    source = iter(rows)
    while batch := list(islice(source, BATCH)):
        yield batch


# ---- leaderboards and assignments


def board_of(run: Run) -> Leaderboard:
    """The scores of a run as a leaderboard, each score's name a measure; the system is ``meta.run_id``, or the run.

    InputError where a system has two records of one topic.
    """
    board = Leaderboard()
    for result in run.results():
        if "set_aside" in result:
            continue
        name = run_of(result["meta"], run.name)
        values = {score["metric"]: score["value"] for score in result["scores"]}
        try:
            board.add(Entry(name, result["topic"], values))
        except InputError as error:
            raise InputError(f"run {run.id}: {error}; a leaderboard has one row, csv a row for each record") from error
    return board


def write_board(board: Leaderboard, form: str, target: IO[bytes], on_missing: OnMissing = "warn") -> None:
    """Write a leaderboard as ``scores`` or in one of ``records.FORMS``; ConfigError where the form cannot hold it."""
    if form == WITHOUT_RUN and len(board.runs) > 1:
        others = ", ".join(other for other in (SCORES, *FORMS) if other != form)
        raise ConfigError(
            f"{form} has no column for the run, and there are {len(board.runs)}: "
            f"name a folder with -o, as in -o out/, or another format with --format ({others})"
        )
    if form == SCORES:
        target.writelines(orjson.dumps(row) + b"\n" for row in board.score_rows(on_missing))
    else:
        target.writelines(lines(board.rows(on_missing), cast("Form", form)))


def write_board_to(board: Leaderboard, form: str, to: str, on_missing: OnMissing = "warn") -> list[Path]:
    """Write a leaderboard to a file, or to a folder a file for each run; returns what was written."""
    if not is_folder(to):
        with whole(Path(to)) as target:
            write_board(board, form, target, on_missing)
        return [Path(to)]
    folder = Path(to)
    by_run = _by_run(board, form, on_missing)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise closed_folder(folder, error) from error
    written = []
    for name, found in by_run.items():
        written.append(folder / f"{file_name(name)}{ENDINGS.get(form, '.tsv')}")
        with whole(written[-1]) as target:
            target.writelines(found)
    return written


def _by_run(board: Leaderboard, form: str, on_missing: OnMissing) -> dict[str, list[bytes]]:
    """The lines of each run; its means stand on the topics that it would be compared on."""
    if form == SCORES:
        scores: dict[str, list[bytes]] = {}
        for score in board.score_rows(on_missing):
            scores.setdefault(score["run_id"], []).append(orjson.dumps(score) + b"\n")
        return scores
    rows: dict[str, list[LeaderboardRow]] = {}
    for row in board.rows(on_missing):
        rows.setdefault(row.run, []).append(row)
    return {name: list(lines(found, cast("Form", form))) for name, found in rows.items()}


def _assignments(run: Run) -> Generator[bytes, None, None]:
    """An assignment record for each result that has one; InputError where none has."""
    found = False
    for result in run.results():
        record = assignment(result)
        if record is not None:
            found = True
            yield orjson.dumps(record) + b"\n"
    if not found:
        raise InputError(f"run {run.id} has no assigned nuggets; assign them with: ragstone nuggets assign")


# ---- a recording


def _recording(run: Run) -> Generator[bytes, None, None]:
    """The head with the judges and their steps, then each call that the results stand on, once."""
    yield orjson.dumps({"ragstone_calls": RECORDING, "judges": _judges(run)}) + b"\n"
    written: set[str] = set()
    for result in run.results():
        for call in result.get("calls", ()):
            key = call["key"]
            if key in written:
                continue
            written.add(key)
            row = run.store.call(bytes.fromhex(key))
            if row is not None:  # a call that failed has no reply, and fails again when it is replayed
                yield _call(key, row)


def _call(key: str, row: CallRow) -> bytes:
    return (
        orjson.dumps(
            {
                "key": key,
                "judge": row.judge,
                "task": row.task,
                "maker": row.maker,
                "request": orjson.Fragment(row.request),
                "reply": orjson.Fragment(row.reply),
            }
        )
        + b"\n"
    )


def _judges(run: Run) -> list[dict[str, Any]]:
    """Each judge's settings with the steps it answered, of a cascade the last one's; InputError for a panel."""
    spec = run.spec
    steps: dict[str, Sequence[str]] = {}
    for step in dict.fromkeys(task for name in spec["chosen"] for task in metrics.find(name).asks):
        route = spec["steps"].get(step, spec["default"])
        # The first judges of a cascade are there again when it is replayed.
        steps[step] = route["judges"][-1:] if route.get("cascade") else route["judges"]
    for task, names in steps.items():
        if len(names) > 1:
            raise InputError(
                f"run {run.id}: the step '{task}' was answered by a panel ({', '.join(names)}); "
                "a recording holds one judge a step"
            )
    named = dict.fromkeys(names[0] for names in steps.values())
    for name in named:
        if spec["judges"][name]["provider"] == "given":
            raise InputError(f"run {run.id}: the judge '{name}' was an object of the caller's, which no file can name")
    return [
        {"judge": spec["judges"][name], "tasks": [task for task, names in steps.items() if names[0] == name]}
        for name in named
    ]

"""A run in the formats of others: JSON lines, CSV, Parquet, and a recording of its calls.

Promises: everything is written as it is read, so that a run of any size can be exported; no cell of a CSV
file is a formula to a spreadsheet; a file stands under its name only when it is whole.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, Literal, get_args

import orjson

from ragstone import metrics
from ragstone.errors import ConfigError, InputError
from ragstone.report.run import Run
from ragstone.store import CallRow

Format = Literal["jsonl", "csv", "parquet", "calls"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
RECORDING: Final = 1
BATCH: Final = 1000
"""Rows of a table that are held at a time."""
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - spreadsheets take the wide forms too
"""What a spreadsheet takes for the beginning of a formula, or for white space before one (OWASP)."""

_TYPES: Final[Mapping[str, str]] = {
    "value": "number", "low": "number", "high": "number", "raw": "number", "probability": "number",
    "dollars": "number", "asked": "count", "unjudged": "count", "calls": "count", "input_tokens": "count",
    "output_tokens": "count", "start": "count", "end": "count", "verbatim": "truth",
}  # fmt: skip
"""What a column holds where it is not text."""


def export(run: Run, form: str, rows: str, target: IO[bytes]) -> None:
    """Write a run to a binary stream; InputError for a format or rows that there are not."""
    writers: dict[str, Callable[[], None]] = {
        "jsonl": lambda: _written((line + b"\n" for line in run.lines()), target),
        "csv": lambda: _csv(run, rows, target),
        "parquet": lambda: _parquet(run, rows, target),
        "calls": lambda: _written(_recording(run), target),
    }
    if form not in writers:
        raise InputError(f"no format '{form}'; there are {', '.join(FORMATS)}")
    writers[form]()


def export_to(run: Run, form: str, rows: str, path: Path) -> None:
    """Write a run to a file, which is there only when all of it is; ConfigError when it cannot be written."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb") as target:
            export(run, form, rows, target)
        partial.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror}); choose another file with -o") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


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
    schema = pa.schema([(column, types.get(_TYPES.get(column, ""), pa.string())) for column in columns])
    with contextlib.closing(source), pq.ParquetWriter(target, schema) as writer:
        for batch in _batches(source):
            typed = [{column: _typed(column, row[column]) for column in columns} for row in batch]
            writer.write_table(pa.Table.from_pylist(typed, schema))


def _typed(column: str, value: Any) -> Any:
    return float(value) if value is not None and _TYPES.get(column) == "number" else value


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    source = iter(rows)
    while batch := list(islice(source, BATCH)):
        yield batch


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
    """Each judge's settings with the steps it answered; InputError for a panel, which cannot be replayed as one."""
    spec = run.spec
    steps: dict[str, Sequence[str]] = {}
    for step in dict.fromkeys(task for name in spec["chosen"] for task in metrics.find(name).asks):
        steps[step] = spec["steps"].get(step, spec["default"])["judges"]
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

"""Write a run as an HTML page, or serve runs on this machine and save the labels given in the browser."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from ragstone.analysis.labelling import sample
from ragstone.analysis.result import Result
from ragstone.analysis.run import Run, unit_text
from ragstone.analysis.run_files import REPORT
from ragstone.api.labelling import agree_command, holder
from ragstone.errors import ConfigError, InputError
from ragstone.labels import LabelRow, read_labels, row_from_json, text_hash
from ragstone.output.target import OTHER_FOLDER, whole, write_parts
from ragstone.render.html.build import report
from ragstone.render.html.labelling import label_page
from ragstone.render.html.live import HOST, Live
from ragstone.store.database import Store


def write_report(run: Run, path: Path | str, *, calls: bool = True) -> Path:
    """Write a run as one self-contained HTML file of at most 50 MB.

    ``calls``: include prompts and replies. What does not fit is left out: raw calls before records, and high scores
    before low ones. The page says so. Raises ConfigError if the file cannot be written.
    """
    target = Path(path)
    write_parts(target, report(run, calls=calls))
    return target


def write_beside(run: Run, folder: Path) -> None:
    """Write the report to a run's folder; raise OutputError if that fails."""
    with whole(folder / REPORT, instead=OTHER_FOLDER) as file:
        file.writelines(report(run))


@contextlib.contextmanager
def serving(store: Store, port: int = 0) -> Iterator[Live]:
    """Yield a server for a store's runs, not yet serving; ``port`` 0: any free port. ConfigError if it is taken."""
    try:
        server = Live(store, Desk(), port)
    except OSError as error:
        raise ConfigError(
            f"{HOST}:{port}: cannot listen there ({error.strerror}); choose another with --port"
        ) from error
    with server:
        yield server


class Desk:
    """Serves label pages and saves their labels, in the rows that ``ragstone agree`` reads."""

    def __init__(self) -> None:
        self._pages: dict[tuple[int, str], list[bytes]] = {}
        self._read: dict[Path, tuple[int, list[LabelRow]]] = {}

    def page(self, run: Run) -> list[bytes]:
        """Return the page to label a random sample for the main metric; InputError if there is nothing to label.

        It is drawn again once the run has ended.
        """
        key = run.id, run.status
        if key not in self._pages:
            drawn, file = sample(run, holder(run, None)), _file(run, "NAME")
            self._pages[key] = label_page(drawn, run.name, agree_command(run, file), file=file.name, root="../../../")
        return self._pages[key]

    def kept(self, run: Run, annotator: str) -> bytes:
        """Return the labels of an annotator, as JSON lines; empty if there are none."""
        return _lines([row for row in self._rows(_file(run, annotator)) if row.annotator == annotator])

    def keep(self, run: Run, annotator: str, lines: bytes) -> None:
        """Store new labels of an annotator in place of those of the same units; InputError for invalid lines.

        A line without a label deletes that of its unit. All others stay: another browser may have sent them.
        """
        file = _file(run, annotator)
        given = [_row(line, number) for number, line in enumerate(lines.splitlines(), 1)]
        if any(row.annotator != annotator for row, _ in given):
            raise InputError(f"a label by an annotator other than '{annotator}'")
        again = {(row.record, row.unit, row.task): row.hash for row, _ in given}

        def replaced(row: LabelRow) -> bool:
            new = again.get((row.record, row.unit, row.task))
            return row.annotator == annotator and new is not None and (not new or row.hash in ("", new))

        others = [row for row in self._rows(file) if not replaced(row)]
        with whole(file) as target:
            target.write(_lines([*others, *(row for row, labelled in given if labelled)]))

    def files(self, run: Run) -> list[dict[str, Any]]:
        """Return each annotator with the number of labels and the command that compares the judge with them."""
        found: dict[tuple[str, str], int] = {}
        for file in _files(run):
            for row in self._rows(file):
                found[row.annotator, str(file)] = found.get((row.annotator, str(file)), 0) + 1
        return [
            {"annotator": who, "labels": count, "command": agree_command(run, file)}
            for (who, file), count in found.items()
        ]

    def of_record(self, run: Run, result: Result) -> list[dict[str, Any]]:
        """Return all labels of a record's units for its texts and its response: unit, task, label and annotator."""
        texts = {unit["id"]: text_hash(unit_text(result, unit)) for unit in result.get("units", ())}
        about = ("", text_hash(result.get("response") or ""))
        rows = (row for file in _files(run) for row in self._rows(file) if row.record == result["id"])
        return [
            {
                "unit": row.unit.removeprefix(f"{result['id']}/"),
                "task": row.task,
                "label": row.label,
                "annotator": row.annotator,
            }
            for row in rows
            if row.unit in texts and row.hash in ("", texts[row.unit]) and row.response in about
        ]

    def _rows(self, file: Path) -> list[LabelRow]:
        """Return the rows of a file, reading it again if it has changed."""
        if not file.exists():
            return []
        changed = file.stat().st_mtime_ns
        if self._read.get(file, (0, []))[0] != changed:
            self._read[file] = changed, list(read_labels(file))
        return self._read[file][1]


def _file(run: Run, annotator: str) -> Path:
    name = re.sub(r"[^\w.-]+", "-", annotator)[:80]
    return Path(run.store.path).with_name(f"labels-{run.id}{f'-{name}' if name else ''}.jsonl")


def _files(run: Run) -> list[Path]:
    own = re.compile(rf"labels-{run.id}(?:-.*)?\.jsonl")
    return sorted(path for path in Path(run.store.path).parent.glob("labels-*.jsonl") if own.fullmatch(path.name))


def _row(line: bytes, number: int) -> tuple[LabelRow, bool]:
    """Return a row, and whether it has a label."""
    try:
        found = orjson.loads(line)
        undone = isinstance(found, dict) and "label" not in found
        return row_from_json({**found, "label": None} if undone else found, f"label {number}"), not undone
    except orjson.JSONDecodeError as error:
        raise InputError(f"label {number}: not JSON ({error})") from error


def _lines(rows: list[LabelRow]) -> bytes:
    return b"".join(orjson.dumps(row.as_json()) + b"\n" for row in rows)

"""Labels that people give in the pages of ``ragstone view``: files of JSON lines beside the store, one an annotator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from ragstone.analysis.labelling import sample
from ragstone.analysis.result import Result
from ragstone.analysis.run import Run, unit_text
from ragstone.api.labelling import agree_command, holder
from ragstone.errors import InputError
from ragstone.labels import LabelRow, read_labels, row_from_json, text_hash
from ragstone.output.target import whole
from ragstone.render.html.labelling import LABELS, label_page


class Desk:
    """Makes and keeps labels; rows are those that ``ragstone agree`` reads."""

    def __init__(self) -> None:
        self._pages: dict[int, list[bytes]] = {}
        self._read: dict[Path, tuple[int, list[LabelRow]]] = {}

    def page(self, run: Run) -> list[bytes]:
        """The page to label a random sample on, for the metric that leads; InputError if there is nothing to label."""
        if run.id not in self._pages:
            file = _file(run, "NAME")
            following = agree_command(run).replace(LABELS, str(file))
            self._pages[run.id] = label_page(
                sample(run, holder(run, None)), run.name, following, file=file.name, root="../../../"
            )
        return self._pages[run.id]

    def kept(self, run: Run, annotator: str) -> bytes:
        """The labels of an annotator, as lines; empty if there are none."""
        return _lines([row for row in self._rows(_file(run, annotator)) if row.annotator == annotator])

    def keep(self, run: Run, annotator: str, lines: bytes) -> None:
        """Replace the labels of an annotator; InputError for lines that are none."""
        file = _file(run, annotator)
        given = [_row(line, number) for number, line in enumerate(lines.splitlines(), 1)]
        if any(row.annotator != annotator for row in given):
            raise InputError(f"a label of another annotator than '{annotator}'")
        others = [row for row in self._rows(file) if row.annotator != annotator]
        with whole(file) as target:
            target.write(_lines([*others, *given]))

    def files(self, run: Run) -> list[dict[str, Any]]:
        """Who labelled how many units, in which file."""
        found: dict[tuple[str, str], int] = {}
        for file in _files(run):
            for row in self._rows(file):
                found[row.annotator, str(file)] = found.get((row.annotator, str(file)), 0) + 1
        return [{"annotator": who, "file": file, "labels": count} for (who, file), count in found.items()]

    def of_record(self, run: Run, result: Result) -> list[dict[str, Any]]:
        """All labels of a record's units as they are now: unit, task, label, annotator."""
        texts = {unit["id"]: text_hash(unit_text(result, unit)) for unit in result.get("units", ())}
        rows = (row for file in _files(run) for row in self._rows(file) if row.record == result["id"])
        return [
            {
                "unit": row.unit.removeprefix(f"{result['id']}/"),
                "task": row.task,
                "label": row.label,
                "annotator": row.annotator,
            }
            for row in rows
            if row.unit in texts and row.hash in ("", texts[row.unit])
        ]

    def _rows(self, file: Path) -> list[LabelRow]:
        """The rows of a file, which are read again when it changes."""
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


def _row(line: bytes, number: int) -> LabelRow:
    try:
        return row_from_json(orjson.loads(line), f"label {number}")
    except orjson.JSONDecodeError as error:
        raise InputError(f"label {number}: not JSON ({error})") from error


def _lines(rows: list[LabelRow]) -> bytes:
    return b"".join(orjson.dumps(row.as_json()) + b"\n" for row in rows)
